//! Sums of columns and a constant.

use std::collections::HashMap;

/// A sum of multiples of columns, by position in the model, and a constant.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::program) struct Affine {
    pub terms: Vec<(usize, f64)>,
    pub constant: f64,
}

impl Affine {
    pub fn of(terms: impl IntoIterator<Item = (usize, f64)>, constant: f64) -> Self {
        Affine {
            terms: terms.into_iter().collect(),
            constant,
        }
    }

    pub fn column(position: usize) -> Self {
        Self::of([(position, 1.0)], 0.0)
    }

    pub fn constant(constant: f64) -> Self {
        Self::of([], constant)
    }

    pub fn times(&self, factor: f64) -> Self {
        let terms = self.terms.iter().map(|&(j, v)| (j, factor * v));
        Self::of(terms, factor * self.constant)
    }

    pub fn plus(&self, other: &Affine) -> Self {
        let terms = self.terms.iter().chain(&other.terms).copied();
        Self::of(terms, self.constant + other.constant)
    }

    pub fn minus(&self, other: &Affine) -> Self {
        self.plus(&other.times(-1.0))
    }

    /// The sum with a multiple of a column added.
    pub fn and(mut self, position: usize, factor: f64) -> Self {
        self.terms.push((position, factor));
        self
    }

    /// Terms, each column once, in order of first mention.
    pub fn merged(&self) -> Vec<(usize, f64)> {
        let mut place = HashMap::new();
        let mut merged: Vec<(usize, f64)> = Vec::with_capacity(self.terms.len());
        for &(j, v) in &self.terms {
            let k = *place.entry(j).or_insert(merged.len());
            match merged.get_mut(k) {
                Some(term) => term.1 += v,
                None => merged.push((j, v)),
            }
        }
        merged.retain(|term| term.1 != 0.0);
        merged
    }

    /// Value at a point.
    pub fn value(&self, x: &[f64]) -> f64 {
        let terms = self.terms.iter().map(|&(j, v)| v * x[j]);
        self.constant + terms.sum::<f64>()
    }
}
