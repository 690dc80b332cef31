//! A solution of a restricted program, and points between solutions.

use super::Program;

/// Less than this is nothing, in a mixture.
const NOTHING: f64 = 1e-4;

/// Values of intervals and choices.
#[derive(Clone, Debug)]
pub struct Values<C> {
    /// Intervals that are there, in order.
    columns: Vec<(C, f64)>,
    choices: Vec<f64>,
}

impl<C: Copy + Ord> Values<C> {
    /// Of intervals that are different from each other, and of all choices.
    pub fn new(columns: impl Iterator<Item = (C, f64)>, choices: &[f64]) -> Self {
        let mut columns: Vec<_> = columns.filter(|c| c.1 > 0.0).collect();
        columns.sort_unstable_by_key(|c| c.0);
        Values {
            columns,
            choices: choices.to_vec(),
        }
    }

    /// The point that is so far on the way to another one, from 0 for this one to 1 for the other.
    pub fn towards(&self, other: &Self, share: f64) -> Self {
        let scaled = |values: &Self, by: f64| {
            let columns = values.columns.iter().map(move |c| (c.0, by * c.1));
            columns.collect::<Vec<_>>()
        };
        let mut columns = scaled(self, 1.0 - share);
        columns.extend(scaled(other, share));
        // Two runs that are in order: as fast as a merge.
        columns.sort_by_key(|c| c.0);
        crate::entries::add_up(&mut columns);
        columns.retain(|c| c.1 > NOTHING);
        let choices = self.choices.iter().zip(&other.choices);
        Values {
            columns,
            choices: choices.map(|(x, y)| x + share * (y - x)).collect(),
        }
    }

    /// The program's view of it.
    pub fn point<P: Program<Column = C>>(&self, program: &P) -> P::Point {
        program.point(&mut self.columns.iter().copied(), &self.choices)
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
        assert_eq!(between.choices, [0.75, 0.25]);
        assert_eq!(one.towards(&other, 0.0).columns, one.columns);
        assert_eq!(one.towards(&other, 1.0).columns, other.columns);
    }
}
