//! Cutting stock: rolls of one width, items of some widths, each with a demand; fewest rolls.
//!
//! A column is a pattern (Gilmore & Gomory 1961): how many of each item are cut from a roll. The items of a pattern are laid
//! out from the left by decreasing width, so a pattern is a path in the graph of positions, and branching is on the flow
//! through its arcs (Valério de Carvalho 1999): how many rolls have item `i` starting at position `p`. The pricer is
//! a longest path over items and positions, and an arc's dual is paid where the path takes the arc. All data are
//! integers, and so is the arithmetic of the bound.

use remat_lp::Bounds;
use remat_solver::pricing::{Branching, Domain, FixedPoint, Phase, Point, Priced, Pricer, Prices};
use std::collections::BTreeMap;

/// An instance, items by decreasing width.
#[derive(Clone, Debug)]
pub struct CuttingStock {
    /// Width of a roll.
    pub roll: u32,
    /// Width of each item, decreasing.
    pub widths: Vec<u32>,
    /// Demand of each item.
    pub demands: Vec<u32>,
    /// Whether points are rounded down and filled up.
    pub rounding: bool,
}

/// How many of each item.
pub type Pattern = Vec<u32>;

/// A row of the master.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The demand of an item is met.
    Demand(usize),
    /// Rolls with an item at a position: at most `count`, or at least.
    Arc {
        item: usize,
        position: u32,
        at_least: bool,
        count: u32,
    },
}

/// The longest path of a pricing.
struct Paths {
    /// Best value of a path ending at each position, after the last item.
    value: Vec<i128>,
    /// How many of item `i` lie behind position `p` on the best path that ends there, `taken[i][p]`.
    taken: Vec<Vec<u32>>,
}

impl CuttingStock {
    /// An instance from items in any order; equal widths are merged.
    pub fn new(roll: u32, items: &[(u32, u32)]) -> Self {
        let mut merged: BTreeMap<u32, u32> = BTreeMap::new();
        for &(width, demand) in items {
            *merged.entry(width).or_default() += demand;
        }
        CuttingStock {
            roll,
            widths: merged.keys().rev().copied().collect(),
            demands: merged.values().rev().copied().collect(),
            rounding: true,
        }
    }

    /// Most copies of an item in a pattern.
    fn most(&self, item: usize) -> u32 {
        (self.roll / self.widths[item]).min(self.demands[item])
    }

    /// As many rolls suffice if each is cut into one kind of item; no optimal solution needs more.
    pub fn enough_rolls(&self) -> u32 {
        (0..self.widths.len())
            .map(|i| self.demands[i].div_ceil(self.most(i).max(1)))
            .sum()
    }

    /// Whether a pattern has an item starting at a position.
    fn starts_at(&self, pattern: &Pattern, item: usize, position: u32) -> bool {
        let before: u32 = (0..item).map(|i| pattern[i] * self.widths[i]).sum();
        let width = self.widths[item];
        position >= before
            && (position - before).is_multiple_of(width)
            && (position - before) / width < pattern[item]
    }

    fn longest_paths(&self, prices: &Prices<'_, Row>, f: FixedPoint) -> Paths {
        let n = self.widths.len();
        let end = self.roll as usize + 1;
        let mut item_price = vec![0i128; n];
        let mut arc_price = vec![vec![0i128; end]; n];
        for p in prices.iter() {
            match *p.row {
                Row::Demand(i) => item_price[i] += f.dual(p.dual),
                Row::Arc { item, position, .. } => {
                    arc_price[item][position as usize] += f.dual(p.dual);
                }
            }
        }
        const NONE: i128 = i128::MIN / 4;
        let mut value = vec![NONE; end];
        value[0] = 0;
        let mut taken = Vec::with_capacity(n);
        for i in 0..n {
            let width = self.widths[i] as usize;
            let mut next = value.clone();
            let mut count = vec![0u32; end];
            for (from, &start) in value.iter().enumerate() {
                if start == NONE {
                    continue;
                }
                let mut sum = start;
                for c in 1..=self.most(i) {
                    let at = from + c as usize * width;
                    if at >= end {
                        break;
                    }
                    sum += item_price[i] + arc_price[i][at - width];
                    if sum > next[at] {
                        next[at] = sum;
                        count[at] = c;
                    }
                }
            }
            value = next;
            taken.push(count);
        }
        Paths { value, taken }
    }

    fn trace(&self, paths: &Paths, end: usize) -> Pattern {
        let mut pattern = vec![0; self.widths.len()];
        let mut at = end;
        for i in (0..self.widths.len()).rev() {
            pattern[i] = paths.taken[i][at];
            at -= (pattern[i] * self.widths[i]) as usize;
        }
        pattern
    }

    fn lagrangian(&self, prices: &Prices<'_, Row>, paths: &Paths, f: FixedPoint) -> f64 {
        let best = paths.value.iter().copied().max().unwrap_or(0).max(0);
        let priced: i128 = prices.iter().map(|p| f.dual(p.dual) * p.side as i128).sum();
        let cost = match prices.phase {
            Phase::Cost => f.one(),
            Phase::Farkas => 0,
        };
        // At most so many rolls are cut, each into a pattern of reduced cost `cost - best` or more.
        let rolls = i128::from(self.enough_rolls());
        let mut total = priced + rolls * (cost - best).min(0);
        if prices.phase == Phase::Cost && best > cost && priced > 0 {
            // Farley 1990: divided by the best pattern's worth, the duals are feasible.
            total = total.max((priced * f.one()).div_euclid(best));
        }
        f.down(total)
    }

    /// Fills rolls with what is still missing, widest items first.
    fn fill(&self, mut missing: Vec<u32>) -> Vec<Pattern> {
        let mut patterns = Vec::new();
        while missing.iter().any(|&d| d > 0) {
            let mut left = self.roll;
            let mut pattern = vec![0; self.widths.len()];
            for i in 0..self.widths.len() {
                pattern[i] = missing[i].min(left / self.widths[i]);
                left -= pattern[i] * self.widths[i];
                missing[i] -= pattern[i];
            }
            if pattern.iter().all(|&c| c == 0) {
                return Vec::new();
            }
            patterns.push(pattern);
        }
        patterns
    }

    /// Flow through each arc at a point.
    fn flows(&self, point: &Point<'_, Self>) -> BTreeMap<(usize, u32), f64> {
        let mut flows = BTreeMap::new();
        for (pattern, value) in point.columns {
            let mut at = 0;
            for (i, &count) in pattern.iter().enumerate() {
                for _ in 0..count {
                    *flows.entry((i, at)).or_insert(0.0) += value;
                    at += self.widths[i];
                }
            }
        }
        flows
    }

    /// Takes an integral flow apart into paths.
    fn decompose(&self, flows: &BTreeMap<(usize, u32), f64>) -> Vec<Pattern> {
        let mut left: BTreeMap<(u32, usize), u32> = flows
            .iter()
            .map(|(&(i, p), &v)| ((p, i), v.round() as u32))
            .filter(|e| e.1 > 0)
            .collect();
        let mut patterns = Vec::new();
        while left.keys().any(|k| k.0 == 0) {
            let mut pattern = vec![0; self.widths.len()];
            let mut at = 0;
            while let Some((&key, _)) = left.range((at, 0)..(at + 1, 0)).next() {
                pattern[key.1] += 1;
                at += self.widths[key.1];
                if let Some(count) = left.get_mut(&key) {
                    *count -= 1;
                    if *count == 0 {
                        left.remove(&key);
                    }
                }
            }
            patterns.push(pattern);
        }
        patterns
    }
}

const DIGITS: u32 = 32;

impl Pricer for CuttingStock {
    type Column = Pattern;
    type Row = Row;

    fn cost(&self, _column: &Pattern) -> f64 {
        1.0
    }

    fn row_bounds(&self, row: &Row) -> Bounds {
        match *row {
            Row::Demand(i) => (f64::from(self.demands[i])..).into(),
            Row::Arc {
                at_least: true,
                count,
                ..
            } => (f64::from(count)..).into(),
            Row::Arc { count, .. } => (..=f64::from(count)).into(),
        }
    }

    fn coefficient(&self, row: &Row, column: &Pattern) -> f64 {
        match *row {
            Row::Demand(i) => f64::from(column[i]),
            Row::Arc { item, position, .. } => {
                f64::from(u8::from(self.starts_at(column, item, position)))
            }
        }
    }

    fn price(&self, prices: &Prices<'_, Row>) -> Priced<Pattern> {
        let f = FixedPoint::new(DIGITS);
        let paths = self.longest_paths(prices, f);
        // The best patterns that end at each position.
        let mut ends: Vec<usize> = (1..paths.value.len())
            .filter(|&p| paths.value[p] > 0)
            .collect();
        ends.sort_by_key(|&p| (-paths.value[p], p));
        Priced {
            columns: ends
                .iter()
                .take(5)
                .map(|&p| self.trace(&paths, p))
                .collect(),
            estimate: self.lagrangian(prices, &paths, f),
        }
    }

    fn bound(&self, prices: &Prices<'_, Row>) -> f64 {
        let f = FixedPoint::new(DIGITS);
        self.lagrangian(prices, &self.longest_paths(prices, f), f)
    }
}

impl Domain for CuttingStock {
    fn rows(&self) -> Vec<Row> {
        (0..self.widths.len()).map(Row::Demand).collect()
    }

    fn objective_step(&self) -> f64 {
        1.0
    }

    fn branch(&self, point: &Point<'_, Self>) -> Vec<Branching<Row>> {
        let mut fractional: Vec<(f64, u32, usize, f64)> = self
            .flows(point)
            .into_iter()
            .map(|((i, p), v)| ((v - v.floor() - 0.5).abs(), p, i, v))
            .filter(|c| c.0 < 0.5 - 1e-6)
            .collect();
        fractional.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let split = |&(_, position, item, v): &(f64, u32, usize, f64)| {
            let arc = |at_least, count: f64| Row::Arc {
                item,
                position,
                at_least,
                count: count as u32,
            };
            Branching {
                children: vec![vec![arc(true, v.ceil())], vec![arc(false, v.floor())]],
            }
        };
        fractional.iter().take(10).map(split).collect()
    }

    fn round(&self, point: &Point<'_, Self>) -> Vec<Vec<(Pattern, f64)>> {
        let flows = self.flows(point);
        if flows.values().all(|v| (v - v.round()).abs() < 1e-6) {
            let patterns = self.decompose(&flows);
            return vec![patterns.into_iter().map(|p| (p, 1.0)).collect()];
        }
        if !self.rounding {
            return Vec::new();
        }
        let mut missing = self.demands.clone();
        let mut chosen: Vec<(Pattern, f64)> = Vec::new();
        for (pattern, value) in point.columns {
            let times = (value + 1e-6).floor();
            if times > 0.0 {
                chosen.push(((**pattern).clone(), times));
                for (m, c) in missing.iter_mut().zip(&**pattern) {
                    *m = m.saturating_sub(c * times as u32);
                }
            }
        }
        chosen.extend(self.fill(missing).into_iter().map(|p| (p, 1.0)));
        vec![chosen]
    }

    fn check(&self, columns: &[(Pattern, f64)]) -> Option<f64> {
        let mut rolls = 0u64;
        let mut made = vec![0u64; self.widths.len()];
        for (pattern, value) in columns {
            if pattern.len() != made.len() || value.fract() != 0.0 || !(0.0..1e6).contains(value) {
                return None;
            }
            let widths = pattern.iter().zip(&self.widths);
            let width: u64 = widths.map(|(&c, &w)| u64::from(c) * u64::from(w)).sum();
            if width > u64::from(self.roll) {
                return None;
            }
            rolls += *value as u64;
            for (m, &c) in made.iter_mut().zip(pattern) {
                *m += u64::from(c) * *value as u64;
            }
        }
        let enough = made
            .iter()
            .zip(&self.demands)
            .all(|(m, d)| *m >= u64::from(*d));
        enough.then_some(rolls as f64)
    }
}
