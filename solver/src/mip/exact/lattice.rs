//! The integer points of a system of equations, in integers of any size.
//!
//! Unimodular column operations bring the matrix into echelon form (Hermite 1851; Schrijver,
//! *Theory of linear and integer programming*, 1986, sections 4.1 and 5.3). Either a combination of
//! the equations has integer coefficients and a fractional side, so that it has no integer point.
//! Or all integer points are `base + integer multiples of a basis`. The basis is shortened
//! (Lenstra, Lenstra & Lovász 1982, in the integral form of de Weger 1989), and the base is moved
//! near the bounds: Aardal, Hurkens & Lenstra, *Solving a system of linear Diophantine equations
//! with lower and upper bounds on the variables*, 2000.

use crate::mip::exact::{Integer, Rational, one};
use dashu_int::ops::DivEuclid;
use num_traits::{Signed, Zero};

/// The integer points of equations over `n` columns, `base + multipliers . basis`, and the inverse
/// map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lattice {
    /// One point, `n` long.
    pub base: Vec<Integer>,
    /// Vectors in the kernel of the equations, each `n` long.
    pub basis: Vec<Vec<Integer>>,
    /// For each vector of the basis, the row (`n` long) that yields its multiplier from a point
    /// minus the base.
    pub inverse: Vec<Vec<Integer>>,
}

/// Solution of equations over the integers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum IntegerPoints {
    /// Integer points exist.
    Lattice(Lattice),
    /// No integer point exists: the equations with these multipliers add up to integer coefficients
    /// and a fractional side.
    None(Vec<Rational>),
}

/// Groups of equations connected by common columns, in linear time.
pub(crate) fn connected<E>(
    equations: Vec<E>,
    columns_of: impl Fn(&E) -> Vec<usize>,
    columns: usize,
) -> Vec<Vec<E>> {
    let mut of_column = vec![Vec::new(); columns];
    for (k, e) in equations.iter().enumerate() {
        columns_of(e).iter().for_each(|&j| of_column[j].push(k));
    }
    let mut left: Vec<Option<E>> = equations.into_iter().map(Some).collect();
    let mut systems = Vec::new();
    for first in 0..left.len() {
        let mut system: Vec<E> = left[first].take().into_iter().collect();
        let mut at = 0;
        while at < system.len() {
            for j in columns_of(&system[at]) {
                let others = std::mem::take(&mut of_column[j]);
                system.extend(others.into_iter().filter_map(|k| left[k].take()));
            }
            at += 1;
        }
        systems.push(system);
    }
    systems.retain(|s| !s.is_empty());
    systems
}

/// `target -= q * vector`.
fn subtract(target: &mut [Integer], vector: &[Integer], q: &Integer) {
    for (t, v) in target.iter_mut().zip(vector) {
        if !v.is_zero() {
            *t -= q * v;
        }
    }
}

/// Two vectors at different positions of a list: the first one mutable, the second one shared.
fn pair(
    list: &mut [Vec<Integer>],
    change: usize,
    read: usize,
) -> (&mut Vec<Integer>, &Vec<Integer>) {
    if change < read {
        let (low, high) = list.split_at_mut(read);
        (&mut low[change], &high[0])
    } else {
        let (low, high) = list.split_at_mut(change);
        (&mut high[0], &low[read])
    }
}

/// The integer nearest to a quotient; the divisor is positive.
fn nearest(a: &Integer, b: &Integer) -> Integer {
    (Integer::from(2) * a + b).div_euclid(Integer::from(2) * b)
}

fn dot(a: &[Integer], b: &[Integer]) -> Integer {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Columns of the matrix under unimodular operations, with the operations and their inverse.
struct LatticeColumns {
    /// Each column of the matrix, over the equations.
    image: Vec<Vec<Integer>>,
    /// Each column of the unimodular matrix.
    unit: Vec<Vec<Integer>>,
    /// Each row of its inverse.
    inverse: Vec<Vec<Integer>>,
}

impl LatticeColumns {
    fn new(rows: &[Vec<(usize, Integer)>], n: usize) -> LatticeColumns {
        let mut image = vec![vec![Integer::zero(); rows.len()]; n];
        for (i, row) in rows.iter().enumerate() {
            for (j, a) in row {
                image[*j][i] = a.clone();
            }
        }
        let unit: Vec<Vec<Integer>> = (0..n)
            .map(|j| (0..n).map(|k| Integer::from(u8::from(j == k))).collect())
            .collect();
        LatticeColumns {
            image,
            inverse: unit.clone(),
            unit,
        }
    }

    /// Subtracts `q` times column `b` from column `a`.
    fn reduce(&mut self, a: usize, b: usize, q: &Integer) {
        for list in [&mut self.image, &mut self.unit] {
            let (target, vector) = pair(list, a, b);
            subtract(target, vector, q);
        }
        let (target, vector) = pair(&mut self.inverse, b, a);
        subtract(target, vector, &-q);
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.image.swap(a, b);
        self.unit.swap(a, b);
        self.inverse.swap(a, b);
    }

    /// Clears an equation from all columns from `first` on but one, which moves to `first`. Returns
    /// whether such a column exists.
    fn echelon(&mut self, i: usize, first: usize) -> bool {
        loop {
            let live = (first..self.image.len()).filter(|&k| !self.image[k][i].is_zero());
            let Some(least) = live.min_by_key(|&k| self.image[k][i].abs()) else {
                return false;
            };
            self.swap(first, least);
            let mut clean = true;
            for k in first + 1..self.image.len() {
                if self.image[k][i].is_zero() {
                    continue;
                }
                let pivot = self.image[first][i].clone();
                let sign = Integer::from(if pivot.is_negative() { -1 } else { 1 });
                let q = nearest(&(&self.image[k][i] * &sign), &pivot.abs());
                self.reduce(k, first, &q);
                clean &= self.image[k][i].is_zero();
            }
            if clean {
                return true;
            }
        }
    }
}

/// The integer points of `rows . x = sides` over `n` columns.
pub(crate) fn integer_points(
    rows: &[Vec<(usize, Integer)>],
    sides: &[Integer],
    n: usize,
) -> IntegerPoints {
    let mut columns = LatticeColumns::new(rows, n);
    // For each column of the echelon form, the combination of the equations that is 1 in this
    // column and 0 in the others.
    let mut seen: Vec<Vec<Rational>> = Vec::new();
    let mut coordinates: Vec<Integer> = Vec::new();
    for i in 0..rows.len() {
        let rank = coordinates.len();
        // The rest of the equation after the earlier columns.
        let mut multipliers = vec![Rational::zero(); rows.len()];
        multipliers[i] = one();
        let mut rest = sides[i].clone();
        for k in 0..rank {
            let a = &columns.image[k][i];
            rest -= a * &coordinates[k];
            for (m, s) in multipliers.iter_mut().zip(&seen[k]) {
                *m -= Rational::from(a.clone()) * s;
            }
        }
        if !columns.echelon(i, rank) {
            if rest.is_zero() {
                continue;
            }
            // No column is left, but the side is nonzero: scaled to one half, no integer point
            // attains it.
            let half = Rational::from_parts_signed(Integer::ONE, Integer::from(2) * &rest);
            return IntegerPoints::None(multipliers.into_iter().map(|m| m * &half).collect());
        }
        let pivot = columns.image[rank][i].clone();
        let share = Rational::from_parts_signed(Integer::ONE, pivot.clone());
        let multipliers: Vec<Rational> = multipliers.into_iter().map(|m| m * &share).collect();
        if !rest.is_multiple_of(&pivot) {
            return IntegerPoints::None(multipliers);
        }
        coordinates.push(rest / pivot);
        seen.push(multipliers);
    }
    let rank = coordinates.len();
    let mut base = vec![Integer::zero(); n];
    for (k, c) in coordinates.iter().enumerate() {
        subtract(&mut base, &columns.unit[k], &-c);
    }
    IntegerPoints::Lattice(Lattice {
        base,
        basis: columns.unit.split_off(rank),
        inverse: columns.inverse.split_off(rank),
    })
}

impl Lattice {
    /// Shortens the basis.
    pub fn shorten(&mut self) {
        let n = self.basis.len();
        // Determinants of the leading Gram matrices, starting with 1 for the empty one.
        // `lambda[k][j]` is the Gram-Schmidt coefficient times `d[j + 1]`.
        let mut d = vec![Integer::ONE];
        let mut lambda = vec![vec![Integer::zero(); n]; n];
        let mut k = 0;
        while k < n {
            if d.len() == k + 1 {
                for j in 0..=k {
                    let mut u = dot(&self.basis[k], &self.basis[j]);
                    for i in 0..j {
                        u = (&d[i + 1] * u - &lambda[k][i] * &lambda[j][i]) / &d[i];
                    }
                    if j < k {
                        lambda[k][j] = u;
                    } else {
                        d.push(u);
                    }
                }
            }
            if k == 0 {
                k = 1;
                continue;
            }
            self.reduce(&mut lambda, &d, k, k - 1);
            let l = lambda[k][k - 1].clone();
            let short = Integer::from(4) * (&d[k + 1] * &d[k - 1] + &l * &l)
                < Integer::from(3) * &d[k] * &d[k];
            if !short {
                for j in (0..k - 1).rev() {
                    self.reduce(&mut lambda, &d, k, j);
                }
                k += 1;
                continue;
            }
            self.basis.swap(k, k - 1);
            self.inverse.swap(k, k - 1);
            let (low, high) = lambda.split_at_mut(k);
            for (a, b) in low[k - 1][..k - 1].iter_mut().zip(&mut high[0][..k - 1]) {
                std::mem::swap(a, b);
            }
            let b = (&d[k - 1] * &d[k + 1] + &l * &l) / &d[k];
            for row in lambda.iter_mut().take(d.len() - 1).skip(k + 1) {
                let t = row[k].clone();
                row[k] = (&d[k + 1] * &row[k - 1] - &l * &t) / &d[k];
                row[k - 1] = (&b * t + &l * &row[k]) / &d[k + 1];
            }
            d[k] = b;
            k = (k - 1).max(1);
        }
    }

    /// Size-reduces vector `k` by vector `j`.
    fn reduce(&mut self, lambda: &mut [Vec<Integer>], d: &[Integer], k: usize, j: usize) {
        if Integer::from(2) * lambda[k][j].abs() <= d[j + 1] {
            return;
        }
        let q = nearest(&lambda[k][j], &d[j + 1]);
        let (target, vector) = pair(&mut self.basis, k, j);
        subtract(target, vector, &q);
        let (target, vector) = pair(&mut self.inverse, j, k);
        subtract(target, vector, &-&q);
        let (low, high) = lambda.split_at_mut(k);
        subtract(&mut high[0][..j], &low[j][..j], &q);
        high[0][j] -= &q * &d[j + 1];
    }

    /// Moves the base towards a point by integer multiples of the basis, starting with the nearest
    /// plane of the last vector (Babai 1986). Floating point suffices, because any base is valid.
    pub fn centre(&mut self, target: &[f64]) {
        let float = |v: &[Integer]| -> Vec<f64> { v.iter().map(|x| x.to_f64().value()).collect() };
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
        let mut orthogonal: Vec<Vec<f64>> = Vec::new();
        for v in &self.basis {
            let mut o = float(v);
            for p in &orthogonal {
                let share = dot(&o, p) / dot(p, p);
                for (x, y) in o.iter_mut().zip(p) {
                    *x -= share * y;
                }
            }
            orthogonal.push(o);
        }
        for (v, o) in self.basis.iter().zip(&orthogonal).rev() {
            let off: Vec<f64> = float(&self.base)
                .iter()
                .zip(target)
                .map(|(b, t)| b - t)
                .collect();
            let steps = (dot(&off, o) / dot(o, o)).round();
            if steps.is_finite() && steps.abs() < 1e15 {
                subtract(&mut self.base, v, &Integer::from(steps as i64));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_xoshiro::Xoshiro256PlusPlus;
    use rand_xoshiro::rand_core::{RngCore, SeedableRng};

    type System = (Vec<Vec<(usize, Integer)>>, Vec<Integer>, usize);

    /// A number from `-most` to `most`.
    fn draw(rng: &mut Xoshiro256PlusPlus, most: i64) -> i64 {
        (rng.next_u64() % (2 * most as u64 + 1)) as i64 - most
    }

    fn random(rng: &mut Xoshiro256PlusPlus) -> System {
        let (m, n) = (
            1 + rng.next_u64() as usize % 3,
            1 + rng.next_u64() as usize % 5,
        );
        let rows = (0..m)
            .map(|_| {
                (0..n)
                    .filter_map(|j| {
                        let a = draw(rng, 12);
                        (a != 0).then(|| (j, Integer::from(a)))
                    })
                    .collect()
            })
            .collect();
        let sides = (0..m).map(|_| Integer::from(draw(rng, 30))).collect();
        (rows, sides, n)
    }

    fn activity(row: &[(usize, Integer)], x: &[Integer]) -> Integer {
        row.iter().map(|(j, a)| a * &x[*j]).sum()
    }

    #[test]
    fn points_and_refusals_of_random_systems_are_right() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut solvable = 0;
        for _ in 0..3000 {
            let (rows, sides, n) = random(&mut rng);
            match integer_points(&rows, &sides, n) {
                IntegerPoints::None(y) => {
                    let mut form = vec![Rational::zero(); n];
                    let mut side = Rational::zero();
                    for ((row, s), y) in rows.iter().zip(&sides).zip(&y) {
                        row.iter()
                            .for_each(|(j, a)| form[*j] += y * Rational::from(a.clone()));
                        side += y * Rational::from(s.clone());
                    }
                    assert!(form.iter().all(|v| v.is_int()) && !side.is_int());
                }
                IntegerPoints::Lattice(mut lattice) => {
                    solvable += 1;
                    let long: Integer = lattice.basis.iter().map(|v| dot(v, v)).sum();
                    lattice.shorten();
                    let short: Integer = lattice.basis.iter().map(|v| dot(v, v)).sum();
                    assert!(short <= long || lattice.basis.len() > 1);
                    let target: Vec<f64> = (0..n).map(|_| draw(&mut rng, 50) as f64).collect();
                    lattice.centre(&target);
                    for (row, s) in rows.iter().zip(&sides) {
                        assert_eq!(activity(row, &lattice.base), *s);
                        assert!(lattice.basis.iter().all(|v| activity(row, v).is_zero()));
                    }
                    // The inverse map, which also shows that no point is missing.
                    for (i, row) in lattice.inverse.iter().enumerate() {
                        for (k, v) in lattice.basis.iter().enumerate() {
                            assert_eq!(dot(row, v), Integer::from(u8::from(i == k)));
                        }
                    }
                }
            }
        }
        assert!(solvable > 300 && solvable < 2700, "{solvable}");
    }

    #[test]
    fn a_system_that_has_points_is_never_refused() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(2);
        for _ in 0..1000 {
            let (rows, _, n) = random(&mut rng);
            let x: Vec<Integer> = (0..n).map(|_| Integer::from(draw(&mut rng, 99))).collect();
            let sides: Vec<Integer> = rows.iter().map(|r| activity(r, &x)).collect();
            let IntegerPoints::Lattice(mut lattice) = integer_points(&rows, &sides, n) else {
                panic!("{rows:?} {sides:?}");
            };
            lattice.shorten();
            let off: Vec<Integer> = x.iter().zip(&lattice.base).map(|(a, b)| a - b).collect();
            let mut back = lattice.base.clone();
            for (v, row) in lattice.basis.iter().zip(&lattice.inverse) {
                subtract(&mut back, v, &-dot(row, &off));
            }
            assert_eq!(back, x);
        }
    }
}
