//! Equations over integer columns, implied by equations that also have continuous columns:
//! combinations that cancel the latter (Gauss), in fractions.

use crate::mip::exact::{Rational, one};
use num_traits::Zero;
use std::collections::BTreeMap;

/// A combination of equations.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Combination {
    /// Positions of the equations, and their multipliers.
    pub parts: Vec<(usize, Rational)>,
    /// Columns and coefficients, in order.
    pub entries: Vec<(usize, Rational)>,
    pub side: Rational,
}

/// An equation during elimination.
struct WorkingEquation {
    parts: BTreeMap<usize, Rational>,
    entries: BTreeMap<usize, Rational>,
    side: Rational,
}

fn add(into: &mut BTreeMap<usize, Rational>, from: &BTreeMap<usize, Rational>, factor: &Rational) {
    for (&k, v) in from {
        let entry = into.entry(k).or_insert_with(Rational::zero);
        *entry += factor * v;
        if entry.is_zero() {
            into.remove(&k);
        }
    }
}

/// The combinations of equations that remain after each column that `goes` has been cancelled by
/// one of them. Together with the equations used up, they are equivalent to the given ones.
pub(crate) fn without(
    equations: impl Iterator<Item = (Vec<(usize, Rational)>, Rational)>,
    goes: impl Fn(usize) -> bool,
) -> Vec<Combination> {
    let mut rows: Vec<WorkingEquation> = equations
        .enumerate()
        .map(|(k, (entries, side))| WorkingEquation {
            parts: BTreeMap::from([(k, one())]),
            entries: entries.into_iter().collect(),
            side,
        })
        .collect();
    let mut left = Vec::new();
    while let Some(row) = rows.pop() {
        let pivot = row.entries.iter().find(|(j, _)| goes(**j));
        let Some((j, a)) = pivot.map(|(&j, a)| (j, a.clone())) else {
            left.push(row);
            continue;
        };
        for other in &mut rows {
            let Some(b) = other.entries.get(&j) else {
                continue;
            };
            let factor = -(b / &a);
            add(&mut other.parts, &row.parts, &factor);
            add(&mut other.entries, &row.entries, &factor);
            other.side += &factor * &row.side;
        }
    }
    let done = left.into_iter().rev().map(|row| Combination {
        parts: row.parts.into_iter().collect(),
        entries: row.entries.into_iter().collect(),
        side: row.side,
    });
    done.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn q(v: i64) -> Rational {
        Rational::from(v)
    }

    #[test]
    fn continuous_columns_cancel() {
        // x integer, s and t continuous: 4 x + s + t = 3, 2 x + s - t = 5, 3 s = 7.
        let rows = [
            (vec![(0, q(4)), (1, q(1)), (2, q(1))], q(3)),
            (vec![(0, q(2)), (1, q(1)), (2, q(-1))], q(5)),
            (vec![(1, q(3))], q(7)),
        ];
        let left = without(rows.iter().cloned(), |j| j > 0);
        let [one] = &left[..] else {
            panic!("{left:?}");
        };
        assert_eq!(one.entries.len(), 1);
        // 6 x = 8 - 2 * 7 / 3, up to scale.
        assert_eq!(&one.side / &one.entries[0].1, q(10) / q(18));
        let mut sum = vec![Rational::zero(); 3];
        for (k, y) in &one.parts {
            for (j, a) in &rows[*k].0 {
                sum[*j] += y * a;
            }
        }
        assert!(sum[1].is_zero() && sum[2].is_zero());
        assert_eq!(sum[0], one.entries[0].1);
    }

    #[test]
    fn equations_without_such_columns_stay() {
        let rows = [(vec![(0, q(4))], q(3)), (vec![(0, q(2)), (1, q(1))], q(5))];
        let left = without(rows.iter().cloned(), |j| j == 1);
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].parts, [(0, q(1))]);
    }
}
