//! Rolls, items and the patterns that rolls are cut into.

use std::collections::BTreeMap;

/// An instance, items by decreasing width.
#[derive(Clone, Debug)]
pub struct CuttingStock {
    /// Width of a roll.
    pub roll: usize,
    /// Width of each item, decreasing.
    pub widths: Vec<usize>,
    /// Demand of each item.
    pub demands: Vec<u32>,
}

/// Number of each item.
pub type Pattern = Vec<u32>;
/// A position, and an item that starts there.
pub type Arc = (usize, usize);

impl CuttingStock {
    /// An instance from items in any order; equal widths are merged.
    pub fn new(roll: usize, items: &[(usize, u32)]) -> Self {
        let mut merged: BTreeMap<usize, u32> = BTreeMap::new();
        for &(width, demand) in items {
            *merged.entry(width).or_default() += demand;
        }
        let (widths, demands) = merged.into_iter().rev().unzip();
        CuttingStock {
            roll,
            widths,
            demands,
        }
    }

    /// Limit on the copies of an item in a pattern.
    pub fn most(&self, item: usize) -> u32 {
        ((self.roll / self.widths[item]) as u32).min(self.demands[item])
    }

    /// Number of rolls if each is cut into one kind of item; no optimal solution needs more.
    pub fn enough_rolls(&self) -> u32 {
        let rolls = |i: usize| self.demands[i].div_ceil(self.most(i).max(1));
        (0..self.widths.len()).map(rolls).sum()
    }

    /// The arcs of a pattern.
    pub fn arcs(&self, pattern: &Pattern) -> Vec<Arc> {
        let mut at = 0;
        let items = (0..pattern.len()).flat_map(|i| (0..pattern[i]).map(move |_| i));
        let arcs = items.map(|i| {
            at += self.widths[i];
            (at - self.widths[i], i)
        });
        arcs.collect()
    }

    /// Number of rolls with an item at a position.
    pub fn flows(&self, point: &[(Pattern, f64)]) -> BTreeMap<Arc, f64> {
        let mut flows = BTreeMap::new();
        for (pattern, value) in point {
            let arcs = self.arcs(pattern).into_iter();
            arcs.for_each(|arc| *flows.entry(arc).or_insert(0.0) += value);
        }
        flows
    }

    /// Decomposes an integral flow of rolls into patterns.
    pub fn decomposed(&self, mut rolls: BTreeMap<Arc, f64>) -> Vec<Pattern> {
        let mut patterns = Vec::new();
        loop {
            let (mut at, mut pattern) = (0, vec![0; self.widths.len()]);
            while let Some((&arc, flow)) =
                rolls.range_mut((at, 0)..(at + 1, 0)).find(|f| *f.1 > 0.5)
            {
                *flow -= 1.0;
                pattern[arc.1] += 1;
                at += self.widths[arc.1];
            }
            if at == 0 {
                return patterns;
            }
            patterns.push(pattern);
        }
    }

    /// Rounds down, and fills rolls with the missing items, widest first.
    pub fn filled(&self, point: &[(Pattern, f64)]) -> Vec<Pattern> {
        let mut missing = self.demands.clone();
        let whole = |(p, v): &(Pattern, f64)| vec![p.clone(); (v + 1e-6) as usize];
        let mut patterns: Vec<Pattern> = point.iter().flat_map(whole).collect();
        for p in &patterns {
            let items = missing.iter_mut().zip(p);
            items.for_each(|(m, c)| *m = m.saturating_sub(*c));
        }
        loop {
            let mut left = self.roll;
            let mut pattern = vec![0; missing.len()];
            for (i, width) in self.widths.iter().enumerate() {
                pattern[i] = missing[i].min((left / width) as u32);
                left -= pattern[i] as usize * width;
                missing[i] -= pattern[i];
            }
            if left == self.roll {
                return patterns;
            }
            patterns.push(pattern);
        }
    }
}
