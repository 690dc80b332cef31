//! Exact 0/1 knapsacks, for torch's own decision on saved tensors.

use crate::numbers::whole;
use crate::program::arrays::indices;
use crate::relay::apart;
use crate::trouble::Trouble;
use pyo3::prelude::*;

/// Most states of a search, after which it returns the best choice so far.
const STATES: usize = 1 << 24;

/// A set of the first items: its weight, its profit, and its link.
#[derive(Clone, Copy)]
struct ItemSet {
    weight: u64,
    profit: u64,
    link: u32,
}

/// The link of a state: the state that it was made from, and the item that was added.
type Link = (u32, u32);

const NONE: u32 = u32::MAX;

/// The choice of items with the largest sum of profits within a capacity.
///
/// Items are taken in the order of their densities. Of the sets of the first items two kinds are
/// dropped. Another set has no more weight and no less profit (Nemhauser and Ullmann, Management
/// Science 1969), or the bound, with the last item taken in part (Dantzig, Operations Research
/// 1957), is not above the best choice so far.
struct ItemChoice<'a> {
    weights: &'a [u64],
    profits: &'a [u64],
    capacity: u64,
    /// Items with a weight and a profit that fit, the densest first.
    order: Vec<u32>,
    /// Sums of weights and profits of the first items in this order.
    sums: Vec<(u64, u64)>,
    links: Vec<Link>,
    best: u64,
    best_link: u32,
    /// Range in the order of the items that the best choice has in addition to its state's.
    best_run: (usize, usize),
}

impl<'a> ItemChoice<'a> {
    fn new(weights: &'a [u64], profits: &'a [u64], capacity: u64) -> Self {
        let fits = |k: &u32| {
            let (weight, profit) = (weights[*k as usize], profits[*k as usize]);
            (1..=capacity).contains(&weight) && profit > 0
        };
        let mut order: Vec<u32> = (0..weights.len() as u32).filter(fits).collect();
        let density = |a: u32, b: u32| {
            let (a, b) = (a as usize, b as usize);
            let left = u128::from(profits[a]) * u128::from(weights[b]);
            let right = u128::from(profits[b]) * u128::from(weights[a]);
            right.cmp(&left).then(weights[b].cmp(&weights[a]))
        };
        order.sort_by(|a, b| density(*a, *b).then(a.cmp(b)));
        let mut sums = vec![(0, 0)];
        for &k in &order {
            let (weight, profit) = sums[sums.len() - 1];
            sums.push((weight + weights[k as usize], profit + profits[k as usize]));
        }
        ItemChoice {
            weights,
            profits,
            capacity,
            order,
            sums,
            links: Vec::new(),
            best: 0,
            best_link: NONE,
            best_run: (0, 0),
        }
    }

    /// Upper bound on completions of a set of the first `next` items; records a better choice.
    fn bound(&mut self, state: ItemSet, next: usize) -> u64 {
        let (weight, profit) = self.sums[next];
        let room = self.capacity - state.weight;
        // The last place up to which all items fit.
        let end = next + self.sums[next..].partition_point(|s| s.0 - weight <= room) - 1;
        let whole = self.sums[end].1 - profit + state.profit;
        if whole > self.best {
            self.best = whole;
            self.best_link = state.link;
            self.best_run = (next, end);
        }
        let Some(&k) = self.order.get(end) else {
            return whole;
        };
        let rest = u128::from(room - (self.sums[end].0 - weight));
        let part =
            rest * u128::from(self.profits[k as usize]) / u128::from(self.weights[k as usize]);
        whole + part as u64
    }

    /// Searches; returns false if it ended early, so that a better choice may exist.
    fn run(&mut self) -> bool {
        let start = ItemSet {
            weight: 0,
            profit: 0,
            link: NONE,
        };
        let mut states = vec![start];
        self.bound(start, 0);
        for place in 0..self.order.len() {
            let item = self.order[place];
            let (weight, profit) = (self.weights[item as usize], self.profits[item as usize]);
            let mut next: Vec<ItemSet> = Vec::with_capacity(states.len() + 1);
            let (mut without, mut with) = (0, 0);
            loop {
                // Both lists are sorted by weight: the lighter state is next, or the more
                // profitable of equal ones.
                let old = states.get(without);
                let new = states
                    .get(with)
                    .map(|s| (s.weight + weight, s.profit + profit, s.link));
                let new = new.filter(|n| n.0 <= self.capacity);
                let is_old = match (old, &new) {
                    (Some(o), Some(n)) => (o.weight, n.1) <= (n.0, o.profit),
                    (Some(_), None) => true,
                    (None, Some(_)) => false,
                    (None, None) => break,
                };
                let found = match (old, new) {
                    (Some(o), _) if is_old => {
                        without += 1;
                        *o
                    }
                    (_, Some((weight, profit, link))) => {
                        with += 1;
                        let link = (link, item);
                        let state = ItemSet {
                            weight,
                            profit,
                            link: self.links.len() as u32,
                        };
                        self.links.push(link);
                        state
                    }
                    _ => break,
                };
                let beaten = next.last().is_some_and(|last| last.profit >= found.profit);
                if !beaten && self.bound(found, place + 1) > self.best {
                    next.push(found);
                }
            }
            states = next;
            if self.links.len() > STATES {
                return false;
            }
            if states.is_empty() {
                return true;
            }
        }
        true
    }

    /// The items of the best choice.
    fn chosen(&self) -> Vec<usize> {
        let (from, to) = self.best_run;
        let mut found: Vec<usize> = self.order[from..to].iter().map(|k| *k as usize).collect();
        let mut link = self.best_link;
        while link != NONE {
            let (before, item) = self.links[link as usize];
            found.push(item as usize);
            link = before;
        }
        found
    }
}

/// Chooses the items of a 0/1 knapsack: indices in order, and true if the choice is proven optimal.
#[pyfunction]
pub fn knapsack(
    py: Python<'_>,
    weights: &Bound<'_, PyAny>,
    profits: &Bound<'_, PyAny>,
    capacity: &Bound<'_, PyAny>,
) -> PyResult<(Vec<usize>, bool)> {
    let weights: Vec<u64> = indices("weights", weights)?;
    let profits: Vec<u64> = indices("profits", profits)?;
    let capacity: u64 = whole("capacity", capacity)?;
    if weights.len() != profits.len() {
        let words = format!("{} items have {} profits", weights.len(), profits.len());
        return Err(Trouble::argument("profits", words).into());
    }
    let total = |values: &[u64]| values.iter().try_fold(0u64, |sum, v| sum.checked_add(*v));
    let sums = total(&weights).zip(total(&profits));
    if sums.is_none() || capacity.checked_add(sums.unwrap_or_default().0).is_none() {
        let words = "sums of weights, profits or capacity are above 2^64";
        return Err(Trouble::argument("weights", words).into());
    }
    Ok(apart(py, || {
        // Items without weight are always taken.
        let free = |k: &usize| weights[*k] == 0;
        let mut search = ItemChoice::new(&weights, &profits, capacity);
        let exact = search.run();
        let mut found = search.chosen();
        found.extend((0..weights.len()).filter(free));
        found.sort_unstable();
        (found, exact)
    })?)
}
