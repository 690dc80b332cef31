//! Sparse elimination in the integers modulo `2^61 - 1`, where zeros are exact.
//!
//! Every entry is stored twice. The residue modulo the prime distinguishes cancellation from a
//! small remainder, and a dependent equation from a nearly dependent one. The double gives the size
//! by which pivots are chosen, so that solutions stay small. Callers verify the results in
//! integers.

use dashu_int::{IBig, Sign, Word};

/// The Mersenne prime `2^61 - 1`: multiplying by a power of two is a rotation, so doubles need no
/// common denominator.
pub(super) const PRIME: u64 = (1 << 61) - 1;
/// An entry below this share of the largest in its equation cannot be a pivot.
const THRESHOLD: f64 = 0.05;

/// The residue of `v`; two folds suffice up to 68 bits.
fn fold(v: u128) -> u64 {
    let v = (v & PRIME as u128) + (v >> 61);
    let v = (v & PRIME as u128) as u64 + (v >> 61) as u64;
    if v >= PRIME { v - PRIME } else { v }
}

fn mul(a: u64, b: u64) -> u64 {
    fold(a as u128 * b as u128)
}

fn sub(a: u64, b: u64) -> u64 {
    if a >= b { a - b } else { a + PRIME - b }
}

/// The inverse, by Fermat's little theorem.
fn inverse(a: u64) -> u64 {
    let (mut base, mut power, mut out) = (a, PRIME - 2, 1);
    while power > 0 {
        if power & 1 == 1 {
            out = mul(out, base);
        }
        base = mul(base, base);
        power >>= 1;
    }
    out
}

/// The residue of `mantissa * 2^exponent`.
pub(super) fn residue(mantissa: &IBig, exponent: i64) -> u64 {
    let (sign, words) = mantissa.as_sign_words();
    let words = words.iter().rev();
    let size = words.fold(0, |acc, &word| {
        fold(((acc as u128) << Word::BITS) + word as u128)
    });
    let size = mul(size, 1 << exponent.rem_euclid(61));
    if sign == Sign::Negative && size != 0 {
        PRIME - size
    } else {
        size
    }
}

/// One entry of an equation: its variable, its value, its residue.
#[derive(Clone, Copy, Debug)]
pub(super) struct EquationEntry {
    pub var: u32,
    pub value: f64,
    pub residue: u64,
}

#[derive(Clone, Debug)]
struct Pivot {
    equation: u32,
    var: u32,
    inverse: u64,
    /// Multiples subtracted from later equations: (equation, multiple).
    below: Vec<(u32, u64)>,
    /// The pivot's equation without the pivot.
    rest: Vec<(u32, u64)>,
}

/// Triangular factors of the independent equations, in as many of their variables.
#[derive(Clone, Debug)]
pub(super) struct Elimination {
    pivots: Vec<Pivot>,
}

impl Elimination {
    /// Eliminates; dependent equations are left out. Returns `None` if it takes more than `work`
    /// operations.
    pub fn new(mut equations: Vec<Vec<EquationEntry>>, vars: usize, mut work: u64) -> Option<Self> {
        let mut holders: Vec<Vec<u32>> = vec![Vec::new(); vars];
        for (e, entries) in equations.iter_mut().enumerate() {
            entries.retain(|x| x.residue != 0);
            for x in entries.iter() {
                holders[x.var as usize].push(e as u32);
            }
        }
        let mut open: Vec<u32> = (0..equations.len() as u32).collect();
        let mut pivots = Vec::new();
        // Position of each variable in the equation that is being changed.
        let mut place = vec![usize::MAX; vars];
        loop {
            open.retain(|&e| !equations[e as usize].is_empty());
            let Some(&e) = open.iter().min_by_key(|&&e| equations[e as usize].len()) else {
                break;
            };
            open.retain(|&o| o != e);
            let entries = std::mem::take(&mut equations[e as usize]);
            let pivot = choose(&entries, &holders);
            for x in &entries {
                holders[x.var as usize].retain(|&h| h != e);
            }
            let inverse = inverse(pivot.residue);
            let mut below = Vec::new();
            for &f in &holders[pivot.var as usize].clone() {
                let target = &mut equations[f as usize];
                work = work.checked_sub((target.len() + entries.len()) as u64)?;
                for (k, x) in target.iter().enumerate() {
                    place[x.var as usize] = k;
                }
                let at = place[pivot.var as usize];
                let factor = mul(target[at].residue, inverse);
                let ratio = target[at].value / pivot.value;
                for x in &entries {
                    let change = mul(factor, x.residue);
                    match place[x.var as usize] {
                        usize::MAX => {
                            target.push(EquationEntry {
                                var: x.var,
                                value: -ratio * x.value,
                                residue: sub(0, change),
                            });
                            holders[x.var as usize].push(f);
                        }
                        k => {
                            target[k].value -= ratio * x.value;
                            target[k].residue = sub(target[k].residue, change);
                        }
                    }
                }
                for x in target.iter().filter(|x| x.residue == 0) {
                    holders[x.var as usize].retain(|&h| h != f);
                }
                for x in target.iter() {
                    place[x.var as usize] = usize::MAX;
                }
                target.retain(|x| x.residue != 0);
                below.push((f, factor));
            }
            let others = entries.iter().filter(|x| x.var != pivot.var);
            pivots.push(Pivot {
                equation: e,
                var: pivot.var,
                inverse,
                below,
                rest: others.map(|x| (x.var, x.residue)).collect(),
            });
        }
        Some(Elimination { pivots })
    }

    /// The independent equations and a variable for each.
    pub fn pivots(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.pivots
            .iter()
            .map(|p| (p.equation as usize, p.var as usize))
    }

    /// Renumbers the equations and variables of the pivots; equations and variables numbered
    /// `u32::MAX` are dropped.
    pub fn renumbered(mut self, equations: &[u32], vars: &[u32]) -> Self {
        for p in &mut self.pivots {
            p.equation = equations[p.equation as usize];
            p.var = vars[p.var as usize];
            for (numbers, list) in [(equations, &mut p.below), (vars, &mut p.rest)] {
                list.retain_mut(|x| {
                    x.0 = numbers[x.0 as usize];
                    x.0 != u32::MAX
                });
            }
        }
        self
    }

    /// Entries of both factors.
    pub fn len(&self) -> usize {
        let entries = self.pivots.iter().map(|p| 1 + p.below.len() + p.rest.len());
        entries.sum()
    }

    /// Solves for the pivots' variables, with all others zero. Reads the right sides by equation
    /// and overwrites them; writes `x` by variable.
    pub fn solve(&self, right: &mut [u64], x: &mut [u64]) {
        for p in &self.pivots {
            let v = right[p.equation as usize];
            if v != 0 {
                for &(f, factor) in &p.below {
                    right[f as usize] = sub(right[f as usize], mul(factor, v));
                }
            }
        }
        for p in self.pivots.iter().rev() {
            let mut v = right[p.equation as usize];
            for &(var, residue) in &p.rest {
                v = sub(v, mul(residue, x[var as usize]));
            }
            x[p.var as usize] = mul(v, p.inverse);
        }
    }
}

/// The variable that occurs in the fewest equations, among those whose entry is large enough.
fn choose(entries: &[EquationEntry], holders: &[Vec<u32>]) -> EquationEntry {
    let largest = entries.iter().fold(0.0f64, |a, x| a.max(x.value.abs()));
    let large = |x: &&EquationEntry| x.value.abs() >= THRESHOLD * largest;
    *entries
        .iter()
        .filter(large)
        .min_by_key(|x| (holders[x.var as usize].len(), x.var))
        .unwrap_or(&entries[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn residues_agree_with_integers() {
        for v in [0i64, 1, -1, 7, -12345, i64::MAX, i64::MIN] {
            let r = residue(&IBig::from(v), 0);
            assert_eq!(r as i128, (v as i128).rem_euclid(PRIME as i128), "{v}");
        }
        // 3 * 2^-5 * 2^5 = 3, and (2^130 + 1) / 2^130 as a sum of residues.
        assert_eq!(mul(residue(&IBig::from(3), -5), 32), 3);
        let big = (IBig::from(1) << 130) + 1;
        assert_eq!(residue(&big, 0), residue(&IBig::from(1), 130) + 1);
        // Digits that fold to more than 64 bits: (p - 1) 2^64 + 2^64 - 1.
        let wide = (IBig::from(PRIME) << 64) - 1;
        assert_eq!(residue(&wide, 0), PRIME - 1);
        assert_eq!(mul(inverse(12345), 12345), 1);
    }

    #[test]
    fn dependent_equations_are_left_out() {
        let entry = |var: u32, v: i64| EquationEntry {
            var,
            value: v as f64,
            residue: residue(&IBig::from(v), 0),
        };
        let equations = vec![
            vec![entry(0, 1), entry(1, 2), entry(2, 3)],
            vec![entry(0, 2), entry(1, 4), entry(2, 6)],
            vec![entry(1, 5), entry(2, -1)],
            vec![entry(0, 1), entry(1, 7), entry(2, 2)],
        ];
        let e = Elimination::new(equations.clone(), 3, 1000).unwrap();
        assert_eq!(e.pivots().count(), 2);
        assert!(Elimination::new(equations, 3, 1).is_none());
    }
}
