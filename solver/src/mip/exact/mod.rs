//! Rational numbers for exact results.

pub(crate) mod elimination;
pub(crate) mod lattice;

use dashu_int::ops::BitTest;
use dashu_int::{IBig, UBig};
use num_traits::{Signed, Zero};
use std::collections::BTreeMap;

pub(crate) use remat_lp::rational::{Rational, decimal, one, total};
pub(crate) type Integer = IBig;

/// The double nearest to a number.
pub(crate) fn double(v: &Rational) -> f64 {
    v.to_f64().value()
}

/// The largest integer not above it.
pub(crate) fn floor(v: &Rational) -> Rational {
    v.floor().into()
}

/// The smallest integer not below it.
pub(crate) fn ceiling(v: &Rational) -> Rational {
    v.ceil().into()
}

/// A power of ten that makes decimals integral, if they have at most nine places. `None` if a
/// scaled number exceeds 1e15.
pub(crate) fn decimal_scale(values: &[f64]) -> Option<f64> {
    let mut scale = 1.0;
    for _ in 0..10 {
        if values.iter().all(|&v| scaled(v, scale).is_some()) {
            return Some(scale);
        }
        scale *= 10.0;
    }
    None
}

/// `v * scale` as an integer, if `v` is the double nearest to a decimal that the scale makes
/// integral.
pub(crate) fn scaled(v: f64, scale: f64) -> Option<f64> {
    // Powers of ten up to 1e22 are exact, so the quotient is the double nearest to the decimal.
    let whole = (v * scale).round();
    (whole.abs() <= 1e15 && whole / scale == v).then_some(whole)
}

/// A multiplier: a double, rounded to `places` binary places. Fewer places mean shorter proofs.
pub(crate) fn binary(v: f64, places: Option<i32>) -> Option<Rational> {
    let v = match places {
        Some(p) => {
            let scale = 2f64.powi(p);
            (v * scale).round() / scale
        }
        None => v,
    };
    Rational::try_from(v).ok()
}

/// A short fraction near a double: the quotient of small integers that it approximates, else its
/// first binary digits. `None` for infinities and NaN.
pub(crate) fn nearby(v: f64) -> Option<Rational> {
    if !v.is_finite() {
        return None;
    }
    // Convergents of the continued fraction, in integers that doubles represent exactly.
    let (mut p, mut q) = ((1.0f64, v.floor()), (0.0f64, 1.0f64));
    let mut rest = v - v.floor();
    while q.1 <= 1e4 && p.1.abs() <= 1e12 {
        if (p.1 / q.1 - v).abs() <= 1e-12 * v.abs().max(1e-3) {
            let (p, q) = (Integer::from(p.1 as i64), UBig::from(q.1 as u64));
            return Some(Rational::from_parts(p, q));
        }
        if rest <= 1e-12 {
            break;
        }
        let next = (1.0 / rest).floor();
        rest = 1.0 / rest - next;
        p = (p.1, next * p.1 + p.0);
        q = (q.1, next * q.1 + q.0);
    }
    Some(shortened(&Rational::try_from(v).ok()?, 32, false))
}

/// Rounds, up or down, to a binary fraction of `bits` significant bits. Shorter numbers are
/// unchanged.
pub(crate) fn shortened(v: &Rational, bits: usize, up: bool) -> Rational {
    let (above, below) = (v.numerator().bit_len(), v.denominator().bit_len());
    if above + below <= bits {
        return v.clone();
    }
    let power = UBig::ONE << above.abs_diff(below + bits);
    let unit = match above >= below + bits {
        true => Rational::from(power),
        false => Rational::from_parts(Integer::ONE, power),
    };
    let steps = v / &unit;
    let steps = if up { steps.ceil() } else { steps.floor() };
    Rational::from(steps) * unit
}

/// The largest number that divides all given ones; zero for an empty list.
pub(crate) fn common_step<'a>(numbers: impl Iterator<Item = &'a Rational>) -> Rational {
    let mut step = Rational::zero();
    for n in numbers {
        let (mut a, mut b) = (step, n.abs());
        while !b.is_zero() {
            let rest = &a - floor(&(&a / &b)) * &b;
            (a, b) = (b, rest);
        }
        step = a;
    }
    step
}

/// Solves a square system given as rows of (column, coefficient) and a right-hand side; `None` if
/// it is singular.
pub(crate) fn solve_square(
    rows: Vec<BTreeMap<usize, Rational>>,
    side: Vec<Rational>,
) -> Option<Vec<Rational>> {
    let n = rows.len();
    let (x, rank) = solve_any(rows, side)?;
    (rank == n).then_some(x)
}

/// A solution of a system with as many unknowns as rows, and its rank; `None` if there is none.
pub(crate) fn solve_any(
    mut rows: Vec<BTreeMap<usize, Rational>>,
    mut side: Vec<Rational>,
) -> Option<(Vec<Rational>, usize)> {
    let n = rows.len();
    let mut pivots: Vec<(usize, usize)> = Vec::with_capacity(n);
    let mut open: Vec<usize> = (0..n).collect();
    while !open.is_empty() {
        // Takes the shortest row: little fill, small numbers.
        let at = (0..open.len()).min_by_key(|&k| rows[open[k]].len())?;
        let r = open.swap_remove(at);
        let Some((&c, _)) = rows[r].iter().next() else {
            if side[r].is_zero() {
                continue;
            }
            return None;
        };
        let pivot_row = rows[r].clone();
        let pivot = pivot_row[&c].clone();
        for &o in &open {
            let Some(v) = rows[o].get(&c) else { continue };
            let f = v / &pivot;
            for (&j, a) in &pivot_row {
                let entry = rows[o].entry(j).or_insert_with(Rational::zero);
                *entry -= &f * a;
                if entry.is_zero() {
                    rows[o].remove(&j);
                }
            }
            let change = &f * &side[r];
            side[o] -= change;
        }
        pivots.push((r, c));
    }
    let mut x = vec![Rational::zero(); n];
    for &(r, c) in pivots.iter().rev() {
        let mut v = side[r].clone();
        for (&j, a) in &rows[r] {
            if j != c {
                v -= a * &x[j];
            }
        }
        x[c] = v / &rows[r][&c];
    }
    Some((x, pivots.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn q(a: i64, b: i64) -> Rational {
        Rational::from_parts_signed(a.into(), b.into())
    }

    #[test]
    fn decimals_are_what_was_written() {
        assert_eq!(decimal(0.1), Some(q(1, 10)));
        assert_eq!(decimal(-12.375), Some(q(-99, 8)));
        assert_eq!(decimal(3e-7), Some(q(3, 10_000_000)));
        assert_eq!(
            decimal(2.5e20),
            Some(Rational::from(
                Integer::from(25) * Integer::from(10).pow(19)
            ))
        );
        assert_eq!(decimal(f64::INFINITY), None);
        assert_eq!(binary(0.3, Some(2)), Some(q(1, 4)));
        assert_ne!(binary(0.3, None), Some(q(3, 10)));
    }

    #[test]
    fn decimals_become_whole_numbers() {
        assert_eq!(decimal_scale(&[0.1, 2.35, -7.0]), Some(100.0));
        assert_eq!(decimal_scale(&[3.0, 1e9]), Some(1.0));
        assert_eq!(decimal_scale(&[1.0 / 3.0]), None);
        assert_eq!(decimal_scale(&[f64::INFINITY]), None);
        assert_eq!(scaled(0.07, 100.0), Some(7.0));
        assert_eq!(scaled(0.1 + 0.2, 10.0), None);
    }

    #[test]
    fn doubles_become_short_fractions() {
        assert_eq!(nearby(1.0 / 3.0), Some(q(1, 3)));
        assert_eq!(nearby(-17.0 / 7.0), Some(q(-17, 7)));
        assert_eq!(nearby(2.5e9), Some(q(2_500_000_000, 1)));
        assert_eq!(nearby(0.0), Some(q(0, 1)));
        assert_eq!(nearby(f64::NAN), None);
        let pi = nearby(std::f64::consts::PI).unwrap();
        assert!(
            pi.numerator().bit_len() <= 33 && pi <= binary(std::f64::consts::PI, None).unwrap()
        );
        for v in [
            q(1_000, 3),
            q(-1_000, 3),
            q(123_456_789, 7),
            q(1, 1_000_003),
        ] {
            let (low, high) = (shortened(&v, 10, false), shortened(&v, 10, true));
            assert!(low < v && v < high);
            assert!(&high - &low <= v.abs() * q(1, 256));
        }
        assert_eq!(shortened(&q(5, 7), 10, true), q(5, 7));
    }

    #[test]
    fn steps_and_systems_are_exact() {
        assert_eq!(common_step([q(3, 2), q(-5, 2), q(0, 1)].iter()), q(1, 2));
        assert_eq!(common_step([q(6, 1), q(9, 1)].iter()), q(3, 1));
        let row = |e: &[(usize, i64)]| -> BTreeMap<usize, Rational> {
            e.iter().map(|&(j, v)| (j, q(v, 1))).collect()
        };
        // 2x + y = 1, x - 3z = 0, y + z = 2.
        let rows = vec![
            row(&[(0, 2), (1, 1)]),
            row(&[(0, 1), (2, -3)]),
            row(&[(1, 1), (2, 1)]),
        ];
        let x = solve_square(rows, vec![q(1, 1), q(0, 1), q(2, 1)]).unwrap();
        assert_eq!(x, [q(-3, 5), q(11, 5), q(-1, 5)]);
        let singular = vec![row(&[(0, 1), (1, 2)]), row(&[(0, 2), (1, 4)])];
        assert!(solve_square(singular.clone(), vec![q(1, 1), q(2, 1)]).is_none());
        let (x, rank) = solve_any(singular.clone(), vec![q(1, 1), q(2, 1)]).unwrap();
        assert_eq!((&x[0] + q(2, 1) * &x[1], rank), (q(1, 1), 1));
        assert!(solve_any(singular, vec![q(1, 1), q(3, 1)]).is_none());
    }
}
