//! Exact solutions of square systems by lifting (Dixon, *Exact solution of linear equations using
//! p-adic expansions*, 1982).
//!
//! One elimination modulo a prime gives one digit of the solution after the other. Once there are
//! enough digits, the rational numbers are reconstructed (Wang's algorithm) and verified in
//! integers.

use super::modular::{Elimination, PRIME, residue};
use dashu_int::IBig;
use dashu_int::ops::BitTest;
use num_traits::{One, Signed, Zero};

/// A square system in integers: equations by (variable, coefficient), and right sides.
#[derive(Clone, Debug)]
pub(super) struct System {
    pub equations: Vec<Vec<(usize, IBig)>>,
    /// Equation `k` here is the equation of the elimination divided by `2^exponents[k]`.
    pub exponents: Vec<i64>,
    pub right: Vec<IBig>,
    pub vars: usize,
}

/// Numerators over one positive denominator.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rationals {
    pub numerators: Vec<IBig>,
    pub denominator: IBig,
}

impl System {
    /// Solves the system with the elimination of the same equations modulo the prime, and verifies
    /// the result. Returns `None` if the prime was unlucky or if more than `work` operations would
    /// be needed.
    pub fn solve(&self, elimination: &Elimination, mut work: u64) -> Option<Rationals> {
        let prime = IBig::from(PRIME);
        let mut rest = self.right.clone();
        let mut digits: Vec<Vec<i64>> = Vec::new();
        let mut residues = vec![0; self.equations.len()];
        let mut x = vec![0; self.vars];
        let entries: usize = self.equations.iter().map(Vec::len).sum();
        let step = (10 * entries + elimination.len()) as u64;
        let mut wanted = 4;
        let enough = self.bits() / 30 + 4;
        loop {
            while digits.len() < wanted {
                work = work.checked_sub(step)?;
                for ((r, v), &e) in residues.iter_mut().zip(&rest).zip(&self.exponents) {
                    *r = residue(v, e);
                }
                elimination.solve(&mut residues, &mut x);
                let digit: Vec<i64> = x.iter().map(|&v| balanced(v)).collect();
                for (r, equation) in rest.iter_mut().zip(&self.equations) {
                    for (var, coefficient) in equation {
                        if digit[*var] != 0 {
                            *r -= coefficient * digit[*var];
                        }
                    }
                    *r /= &prime;
                }
                digits.push(digit);
            }
            let square = (digits.len() * digits.len()) as u64;
            work = work.checked_sub(square * self.vars as u64 / 2)?;
            if let Some(found) = self.recognise(&digits, &prime)
                && self.holds(&found)
            {
                return Some(found);
            }
            if wanted as u64 > enough {
                return None;
            }
            wanted *= 2;
        }
    }

    /// Upper bound on the bits of the solution's numerators and denominator, by Hadamard's
    /// inequality.
    fn bits(&self) -> u64 {
        let row = |r: &Vec<(usize, IBig)>| {
            let largest = r.iter().map(|e| e.1.bit_len() as u64).max().unwrap_or(0);
            largest + u64::from((r.len() + 1).ilog2()) + 1
        };
        let right = self
            .right
            .iter()
            .map(|v| v.bit_len() as u64)
            .max()
            .unwrap_or(0);
        self.equations.iter().map(row).sum::<u64>() + right + u64::from((self.vars + 1).ilog2())
    }

    /// Reconstructs the rationals with these leading digits, if they are clearly smaller than the
    /// digits could represent.
    fn recognise(&self, digits: &[Vec<i64>], prime: &IBig) -> Option<Rationals> {
        let modulus = prime.pow(digits.len());
        let half = &modulus >> 1;
        // A wrong number passes this limit by chance once in 2^64.
        let limit = IBig::one() << ((modulus.bit_len().saturating_sub(64)) / 2);
        let mut denominator = IBig::one();
        let mut found: Vec<(IBig, IBig)> = Vec::with_capacity(self.vars);
        for var in 0..self.vars {
            let horner = |acc: IBig, d: &Vec<i64>| acc * prime + d[var];
            let value = digits.iter().rev().fold(IBig::zero(), horner);
            let mut scaled = (value * &denominator) % &modulus;
            if scaled > half {
                scaled -= &modulus;
            } else if scaled < -&half {
                scaled += &modulus;
            }
            if scaled.abs() > limit {
                let (n, d) = fraction(scaled, &modulus, &limit)?;
                denominator *= d;
                if denominator > limit {
                    return None;
                }
                scaled = n;
            }
            found.push((scaled, denominator.clone()));
        }
        let numerators = found.into_iter().map(|(n, d)| {
            if d == denominator {
                n
            } else {
                n * (&denominator / d)
            }
        });
        Some(Rationals {
            numerators: numerators.collect(),
            denominator,
        })
    }

    fn holds(&self, found: &Rationals) -> bool {
        self.equations.iter().zip(&self.right).all(|(row, right)| {
            let products = row.iter().map(|(var, c)| c * &found.numerators[*var]);
            products.sum::<IBig>() == right * &found.denominator
        })
    }
}

fn balanced(v: u64) -> i64 {
    if v > PRIME / 2 {
        v as i64 - PRIME as i64
    } else {
        v as i64
    }
}

/// Numerator and positive denominator, both at most `limit`, of the fraction congruent to `value`
/// modulo `modulus`.
fn fraction(value: IBig, modulus: &IBig, limit: &IBig) -> Option<(IBig, IBig)> {
    let (mut high, mut low) = (modulus.clone(), value);
    let (mut before, mut now) = (IBig::zero(), IBig::one());
    if low.is_negative() {
        low += modulus;
    }
    while &low > limit {
        let quotient = &high / &low;
        let next = &high - &quotient * &low;
        high = std::mem::replace(&mut low, next);
        let next = &before - &quotient * &now;
        before = std::mem::replace(&mut now, next);
    }
    if now.is_zero() || &now.abs() > limit {
        return None;
    }
    Some(if now.is_negative() {
        (-low, -now)
    } else {
        (low, now)
    })
}

#[cfg(test)]
mod tests {
    use super::super::modular::EquationEntry;
    use super::*;

    fn eliminated(system: &System) -> Elimination {
        let equations = system.equations.iter().map(|row| {
            let entry = |(var, c): &(usize, IBig)| EquationEntry {
                var: *var as u32,
                value: c.to_string().parse().unwrap(),
                residue: residue(c, 0),
            };
            row.iter().map(entry).collect()
        });
        Elimination::new(equations.collect(), system.vars, u64::MAX).unwrap()
    }

    #[test]
    fn hilbert_matrices_are_solved_exactly() {
        // Rows of the Hilbert matrix of order 12, multiplied by their denominators; the sum of each
        // row on the right: all ones.
        let n = 12usize;
        let product: IBig = (1..2 * n as i64).map(IBig::from).product();
        let equations: Vec<Vec<(usize, IBig)>> = (0..n)
            .map(|i| (0..n).map(|j| (j, &product / (i + j + 1))).collect())
            .collect();
        let right = equations
            .iter()
            .map(|r| r.iter().map(|e| e.1.clone()).sum())
            .collect();
        let mut system = System {
            equations,
            exponents: vec![0; n],
            right,
            vars: n,
        };
        let elimination = eliminated(&system);
        assert_eq!(elimination.pivots().count(), n);
        let found = system.solve(&elimination, u64::MAX).unwrap();
        assert!(found.numerators.iter().all(|v| *v == found.denominator));
        // With the first unit vector on the right: the first column of the inverse, whose first
        // entry is n^2.
        system.right = vec![IBig::zero(); n];
        system.right[0] = product;
        let found = system.solve(&elimination, u64::MAX).unwrap();
        assert_eq!(found.numerators[0], &found.denominator * (n * n));
        assert!(system.solve(&elimination, 10).is_none());
    }

    #[test]
    fn fractions_are_recognised() {
        let mut seed = 5u64;
        let mut next = |below: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % below
        };
        for _ in 0..200 {
            let n = 2 + next(5) as usize;
            let equations: Vec<Vec<(usize, IBig)>> = (0..n)
                .map(|i| {
                    let value = |j: usize| next(2001) as i64 - 1000 + 5000 * i64::from(i == j);
                    (0..n).map(value).map(IBig::from).enumerate().collect()
                })
                .collect();
            let system = System {
                equations,
                exponents: vec![0; n],
                right: (0..n).map(|_| IBig::from(next(999))).collect(),
                vars: n,
            };
            // Diagonally dominant, or nearly: never singular here.
            let found = system.solve(&eliminated(&system), u64::MAX).unwrap();
            assert!(system.holds(&found) && found.denominator.is_positive());
        }
    }
}
