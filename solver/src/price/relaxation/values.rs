//! A solution of a restricted master, and points between solutions.

use crate::entries::add_up;
use crate::price::Program;

/// Value below which a column is left out of a mixture.
const MIXTURE_TOLERANCE: f64 = 1e-4;

/// Values of columns and static columns.
#[derive(Clone, Debug)]
pub(in crate::price) struct Values<C> {
    /// Columns with positive values, in order.
    columns: Vec<(C, f64)>,
    statics: Vec<f64>,
}

impl<C: Clone + Ord> Values<C> {
    /// Values of distinct columns and of all static columns.
    pub fn new(columns: impl Iterator<Item = (C, f64)>, statics: &[f64]) -> Self {
        let mut columns: Vec<_> = columns.filter(|c| c.1 > 0.0).collect();
        columns.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        Values {
            columns,
            statics: statics.to_vec(),
        }
    }

    /// The point on the way to `other`: this one for `share` 0, the other for 1.
    pub fn towards(&self, other: &Self, share: f64) -> Self {
        let scaled = |values: &Self, by: f64| {
            let columns = values.columns.iter().map(move |c| (c.0.clone(), by * c.1));
            columns.collect::<Vec<_>>()
        };
        let mut columns = scaled(self, 1.0 - share);
        columns.extend(scaled(other, share));
        // The list is two sorted runs, which sort as fast as a merge.
        columns.sort_by(|a, b| a.0.cmp(&b.0));
        add_up(&mut columns);
        columns.retain(|c| c.1 > MIXTURE_TOLERANCE);
        let statics = self.statics.iter().zip(&other.statics);
        Values {
            columns,
            statics: statics.map(|(x, y)| x + share * (y - x)).collect(),
        }
    }

    /// The value of a column.
    pub fn of(&self, column: &C) -> f64 {
        let at = self.columns.binary_search_by(|c| c.0.cmp(column));
        at.map_or(0.0, |k| self.columns[k].1)
    }

    /// The values of static columns.
    pub fn statics(&self) -> &[f64] {
        &self.statics
    }

    /// The columns.
    pub fn list(&self) -> Vec<C> {
        self.columns.iter().map(|c| c.0.clone()).collect()
    }

    /// The values as a point of the program.
    pub fn point<P: Program<Column = C>>(&self, program: &P) -> P::Point {
        program.point(&mut self.columns.iter().cloned(), &self.statics)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn between_two_points_each_counts_by_its_share() {
        let one = Values::new([(3, 1.0), (1, 0.5), (7, 0.0)].into_iter(), &[1.0, 0.0]);
        let other = Values::new([(2, 1.0), (3, 0.5)].into_iter(), &[0.0, 1.0]);
        let between = one.towards(&other, 0.25);
        assert_eq!(between.columns, [(1, 0.375), (2, 0.25), (3, 0.875)]);
        assert_eq!(between.statics, [0.75, 0.25]);
        assert_eq!(one.towards(&other, 0.0).columns, one.columns);
        assert_eq!(one.towards(&other, 1.0).columns, other.columns);
    }
}
