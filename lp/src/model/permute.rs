//! Models with rows and columns in another order.

use super::{Model, ModelBuilder};
use crate::ids::{Bounds, ColId};
use crate::random::SplitMix64;

/// A permutation of the rows and columns of a model.
///
/// ```
/// use remat_lp::{ModelBuilder, Sense};
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let cols: Vec<_> = (0..5).map(|k| b.add_col(f64::from(k), 0.0..)).collect();
/// b.add_row(1.0.., [(cols[1], 2.0), (cols[4], 3.0)]);
/// let model = b.build().unwrap();
/// let (other, order) = model.permuted(7);
/// let x = [0.0, 0.1, 0.2, 0.3, 0.4];
/// assert_eq!(other.objective(&order.permute(&x)), model.objective(&x));
/// assert_eq!(order.restore(&order.permute(&x)), x);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    /// Position in the original model of each row of the permuted one.
    rows: Vec<u32>,
    /// The same for columns.
    cols: Vec<u32>,
}

impl Permutation {
    /// A random order of `rows` rows and `cols` columns (Fisher & Yates).
    fn random(rows: usize, cols: usize, seed: u64) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut order = |n: usize| {
            let mut all: Vec<u32> = (0..n as u32).collect();
            for k in (1..n).rev() {
                all.swap(k, random.below(k + 1));
            }
            all
        };
        Permutation {
            rows: order(rows),
            cols: order(cols),
        }
    }

    /// Position in the original model of each row of the permuted one.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Position in the original model of each column of the permuted one.
    pub fn cols(&self) -> &[u32] {
        &self.cols
    }

    /// Values of the original model's columns, in the order of the permuted model.
    ///
    /// # Panics
    /// If there are fewer values than columns.
    pub fn permute(&self, x: &[f64]) -> Vec<f64> {
        self.cols.iter().map(|&j| x[j as usize]).collect()
    }

    /// Values of the permuted model's columns, in the order of the original model.
    ///
    /// # Panics
    /// If there are fewer values than columns.
    pub fn restore(&self, x: &[f64]) -> Vec<f64> {
        let mut out = vec![0.0; self.cols.len()];
        for (&j, &v) in self.cols.iter().zip(x) {
            out[j as usize] = v;
        }
        out
    }
}

impl Model {
    /// The model with its rows and columns in a random order, which depends only on the seed. Names
    /// move along.
    ///
    /// Optimal values are equal, but ties and solution paths differ: results over several seeds
    /// separate a solver's performance from chance.
    pub fn permuted(&self, seed: u64) -> (Model, Permutation) {
        let order = Permutation::random(self.num_rows(), self.num_cols(), seed);
        let mut b = ModelBuilder::new(self.sense);
        b.set_name(self.name.clone());
        b.set_offset(self.offset);
        let mut place = vec![ColId(0); self.num_cols()];
        for &j in &order.cols {
            let j = j as usize;
            let col = b.add_col(
                self.cost[j],
                Bounds::new(self.col_lower[j], self.col_upper[j]),
            );
            b.set_integer(col, self.integer[j]);
            if !self.col_names.is_empty() {
                b.set_col_name(col, self.col_names[j].clone());
            }
            place[j] = col;
        }
        for &i in &order.rows {
            let i = i as usize;
            let entries = self.row_entries(i).map(|(j, v)| (place[j], v));
            let row = b.add_row(Bounds::new(self.row_lower[i], self.row_upper[i]), entries);
            if !self.row_names.is_empty() {
                b.set_row_name(row, self.row_names[i].clone());
            }
        }
        // All numbers come from a valid model.
        let model = b.build().expect("an order of a valid model is valid");
        (model, order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RowId;
    use crate::model::Sense;

    #[test]
    fn the_same_model_in_another_order() {
        let mut random = SplitMix64::new(3);
        for seed in 0..50 {
            let mut b = ModelBuilder::new(Sense::Maximise);
            let n = 1 + random.below(7);
            let cols: Vec<_> = (0..n)
                .map(|_| b.add_col(random.below(9) as f64, -1.0..=random.below(5) as f64))
                .collect();
            b.set_integer(cols[random.below(n)], true);
            for i in 0..random.below(6) {
                let there: Vec<_> = cols.iter().filter(|_| random.below(2) == 0).collect();
                let entries = there.into_iter().map(|&c| (c, 1.5 + c.0 as f64));
                let row = b.add_row(..=i as f64, entries.collect::<Vec<_>>());
                b.set_row_name(row, format!("row{i}"));
            }
            let model = b.build().unwrap();
            let (other, order) = model.permuted(seed);
            assert_eq!(other, model.permuted(seed).0);
            for (k, &j) in order.cols().iter().enumerate() {
                let (k, j) = (ColId(k as u32), ColId(j));
                assert_eq!(other.col_bounds(k), model.col_bounds(j));
                assert_eq!(other.is_integer(k), model.is_integer(j));
                assert_eq!(other.costs()[k.index()], model.costs()[j.index()]);
            }
            for (k, &i) in order.rows().iter().enumerate() {
                let (k, i) = (RowId(k as u32), RowId(i));
                assert_eq!(other.row_name(k), model.row_name(i));
                assert_eq!(other.row_bounds(k), model.row_bounds(i));
                let back = other.row(k).map(|(c, v)| (order.cols()[c.index()], v));
                let mut back: Vec<_> = back.collect();
                back.sort_by_key(|e| e.0);
                let own: Vec<_> = model.row(i).map(|(c, v)| (c.0, v)).collect();
                assert_eq!(back, own);
            }
        }
        let some: Vec<_> = (0..20)
            .map(|seed| Permutation::random(0, 6, seed).cols)
            .collect();
        assert!(some.windows(2).any(|w| w[0] != w[1]));
    }
}
