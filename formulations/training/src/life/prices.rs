//! Payments of rows to atoms, from duals: all that pricing and bounds see of rows.

use super::byte_prices::BytePrices;
use super::{Atom, Lives, Which};
use remat_solver::price::Number;
use std::collections::BTreeMap;
use std::ops::Add;

/// A payment to starts in a stage of `first..=last`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StartPayment<T> {
    pub first: u32,
    pub last: u32,
    pub which: Which,
    pub paid: T,
    /// In addition, for each byte of the workspace.
    pub for_workspace: T,
}

/// Lists of payments by tensor, each in the order of the rows.
#[derive(Clone, Debug)]
pub(crate) struct ByTensor<E> {
    first: Vec<u32>,
    entries: Vec<E>,
}

impl<E: Copy> ByTensor<E> {
    fn new(tensors: usize, all: &[(u32, E)]) -> Self {
        let mut first = vec![0; tensors + 1];
        for (node, _) in all {
            first[*node as usize + 1] += 1;
        }
        for node in 0..tensors {
            first[node + 1] += first[node];
        }
        let mut next = first.clone();
        let mut entries: Vec<E> = all.iter().map(|entry| entry.1).collect();
        for (node, entry) in all {
            let at = &mut next[*node as usize];
            entries[*at as usize] = *entry;
            *at += 1;
        }
        ByTensor { first, entries }
    }

    fn range(&self, node: u32) -> std::ops::Range<usize> {
        let node = node as usize;
        self.first[node] as usize..self.first[node + 1] as usize
    }

    /// The entries of a tensor.
    pub fn of(&self, node: u32) -> &[E] {
        &self.entries[self.range(node)]
    }

    /// Sorts the entries of each tensor.
    pub fn sort_by_key<K: Ord>(&mut self, key: impl Fn(&E) -> K) {
        for node in 0..self.first.len() - 1 {
            let range = self.range(node as u32);
            self.entries[range].sort_unstable_by_key(&key);
        }
    }
}

/// Payments to all atoms. They lower the price of stretches.
#[derive(Clone, Debug)]
pub(crate) struct AtomPrices<T> {
    /// One unit of cost.
    pub one: T,
    /// For starts.
    pub starts: ByTensor<StartPayment<T>>,
    /// For being on the device when a stage begins.
    pub crosses: ByTensor<(u32, T)>,
    /// For being there at a moment.
    pub at: ByTensor<(u32, T)>,
    /// By stage and choice.
    pub choices: Vec<Vec<T>>,
    /// For bytes, by each gauge in use.
    pub bytes: Vec<BytePrices<T>>,
}

impl<T: Number> AtomPrices<T> {
    /// Payment for a tensor of so many bytes by each gauge over all moments before a turn in a
    /// stage together.
    #[inline]
    pub fn bytes_before(&self, stage: u32, turn: u32, bytes: impl Fn(u32) -> i64) -> T {
        let of = |m: &BytePrices<T>| m.before(stage, turn).times(bytes(m.gauge));
        self.bytes.iter().map(of).fold(T::ZERO, Add::add)
    }

    /// Payments of rows with their duals, of any sign: at most 0 for memory, per byte.
    pub fn new<'a, P: Lives>(
        program: &P,
        one: T,
        rows: impl Iterator<Item = (&'a P::Row, T)>,
    ) -> Self
    where
        P::Row: 'a,
    {
        let (mut starts, mut crosses, mut at) = (Vec::new(), Vec::new(), Vec::new());
        let mut choices: Vec<Vec<T>> = program.choices().map(|ways| vec![T::ZERO; ways]).collect();
        let mut bytes: BTreeMap<u32, Vec<(u32, T)>> = BTreeMap::new();
        for (row, y) in rows.filter(|r| r.1 != T::ZERO) {
            program.terms(row, |term| {
                let paid = y.times(term.coefficient);
                match term.atom {
                    Atom::Start {
                        node,
                        first,
                        last,
                        which,
                    } => {
                        let has_workspace = which == Which::WithWorkspace;
                        let payment = StartPayment {
                            first,
                            last,
                            which,
                            paid,
                            for_workspace: if has_workspace { y } else { T::ZERO },
                        };
                        starts.push((node, payment));
                    }
                    Atom::Crosses { node, stage } => crosses.push((node, (stage, paid))),
                    Atom::At { node, moment } => at.push((node, (moment, paid))),
                    Atom::Choice { stage, way } => {
                        let slot = &mut choices[stage as usize][way as usize];
                        *slot = *slot + paid;
                    }
                    Atom::Bytes { moment, gauge } => {
                        bytes.entry(gauge).or_default().push((moment, paid));
                    }
                }
            });
        }
        let tensors = program.blocks();
        let (stages, turns) = program.moments();
        let bytes = bytes.into_iter();
        let of = |(gauge, paid)| BytePrices::new(gauge, stages, turns, paid);
        let mut prices = AtomPrices {
            one,
            starts: ByTensor::new(tensors, &starts),
            crosses: ByTensor::new(tensors, &crosses),
            at: ByTensor::new(tensors, &at),
            choices,
            bytes: bytes.map(of).collect(),
        };
        P::prepare(&mut prices);
        prices
    }
}

/// Working memory of [`Lives::walk`].
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch<T> {
    pub starts: StartPrices<T>,
    pub changes: Vec<u32>,
    pub by_stage: [Vec<T>; 2],
}

/// Payments to the starts of one tensor, stage by stage.
#[derive(Clone, Debug, Default)]
pub(crate) struct StartPrices<T> {
    first: u32,
    /// To all starts, to starts that are not in place, to starts in place.
    by_kind: [Vec<T>; 3],
    /// For a byte of workspace.
    workspace: Vec<T>,
    /// In a stage, to starts with at least so much workspace.
    at_least: Vec<(u32, i64, T)>,
}

impl<T: Number> StartPrices<T> {
    /// Sets the payments to a tensor's starts in stages `first..=last`.
    pub fn fill(&mut self, own: &[StartPayment<T>], first: u32, last: u32) {
        self.first = first;
        let width = (last + 2 - first) as usize;
        let lists = self.by_kind.iter_mut().chain([&mut self.workspace]);
        lists.for_each(|list| list.clear());
        self.at_least.clear();
        let slot = |stage: u32| (stage - first) as usize;
        for &StartPayment {
            first: from,
            last: to,
            which,
            paid,
            for_workspace,
        } in own
        {
            let (from, to) = (from.max(first), to.min(last));
            if from > to {
                continue;
            }
            if which == Which::WithWorkspace {
                self.workspace.resize(width, T::ZERO);
                self.workspace[slot(from)] = self.workspace[slot(from)] + for_workspace;
            }
            let kind = match which {
                Which::AtLeast(bytes) => {
                    self.at_least.push((from, bytes, paid));
                    continue;
                }
                Which::All | Which::WithWorkspace => 0,
                Which::Plain => 1,
                Which::InPlace => 2,
            };
            // By differences.
            let list = &mut self.by_kind[kind];
            list.resize(width, T::ZERO);
            list[slot(from)] = list[slot(from)] + paid;
            list[slot(to + 1)] = list[slot(to + 1)] - paid;
        }
        self.at_least.sort_by_key(|w| w.0);
        for list in &mut self.by_kind {
            let mut sum = T::ZERO;
            for paid in list {
                sum = sum + *paid;
                *paid = sum;
            }
        }
    }

    /// Payment to all starts in a stage.
    pub fn to_all(&self, stage: u32) -> T {
        of(&self.by_kind[0], (stage - self.first) as usize)
    }

    /// The price of a start in a stage that costs so much, by the payments to starts like it.
    #[inline]
    pub fn price(&self, cost: T, stage: u32, in_place: bool, workspace: i64) -> T {
        let slot = (stage - self.first) as usize;
        let kind = of(&self.by_kind[1 + usize::from(in_place)], slot);
        let scratch = of(&self.workspace, slot).times(workspace);
        let begin = self.at_least.partition_point(|w| w.0 < stage);
        let here = self.at_least[begin..].iter().take_while(|w| w.0 == stage);
        let above = here.filter(|w| workspace >= w.1);
        let above = above.fold(T::ZERO, |sum, w| sum + w.2);
        cost - self.to_all(stage) - kind - scratch - above
    }
}

/// An entry of a list; a missing entry is a payment of 0.
fn of<T: Number>(list: &[T], slot: usize) -> T {
    list.get(slot).copied().unwrap_or(T::ZERO)
}
