//! Probing: fixes a binary both ways, propagates, and keeps the common consequences (Savelsbergh
//! 1994). A column that is fixed in both cases is an affine function of the binary.

use super::Infeasible;
use super::unlocked::Unlocked;
use crate::mip::domain::Domain;
use crate::mip::problem::Problem;
use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};

/// A column that is `constant + factor * x[binary]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Affine {
    pub col: u32,
    pub binary: u32,
    pub constant: f64,
    pub factor: f64,
}

/// Ticks without a gain after which probing ends, in addition to some for each entry of the rows;
/// and the limit as a multiple of both. 100 million ticks take about 0.7 s.
const PATIENCE: u64 = 20_000_000;
const MOST_PATIENCE: u64 = 20;

/// Limit on the stored implications.
const IMPLICATIONS: usize = 1_000_000;

/// Limit on passes over the rows that require one of their columns to be 1.
const CHOICE_PASSES: u32 = 4;

/// Tightens the domain by probing, binaries with the most rows first, within a tick limit. Returns
/// columns that are functions of binaries, each at most once; such a binary is never a function
/// itself.
pub(crate) fn run(
    p: &Problem,
    d: &mut Domain,
    movable: &[bool],
    stop: &AtomicBool,
) -> Result<Vec<Affine>, Infeasible> {
    let mut found = ProbingFindings::new(p);
    let mut unlocked = Unlocked::new(p);
    // Without a lower bound on the objective, an optimum may not exist.
    let moves = d.floor() > f64::NEG_INFINITY;
    let patience = PATIENCE + 20 * p.rows.index.len() as u64;
    let most = d.ticks + MOST_PATIENCE * patience;
    let mut limit = d.ticks + patience;
    for j in p.binaries_by_rows(&d.lower, &d.upper) {
        if d.ticks > limit || stop.load(Ordering::Relaxed) {
            break;
        }
        if d.is_fixed(j) {
            continue;
        }
        let gains = (found.all.len(), d.mark());
        let mark = d.mark();
        let mut side = |d: &mut Domain, found: &mut ProbingFindings, value: f64| {
            d.fix(p, j, value);
            let mut open = d.propagate(p);
            let plain = d.mark();
            if open && moves {
                open = unlocked.fix(p, d, mark, movable);
            }
            if open && d.mark() > plain {
                found.note(p, d, (j, value), mark);
            }
            open
        };
        let zero = side(d, &mut found, 0.0);
        let implied: Vec<(u32, f64, f64)> = d.trail[mark..]
            .iter()
            .map(|c| (c.col, d.lower[c.col as usize], d.upper[c.col as usize]))
            .collect();
        d.undo(p, mark);
        let one = side(d, &mut found, 1.0);
        let mut common: Vec<(usize, f64, f64)> = Vec::new();
        if zero && one {
            for &(k, l0, u0) in &implied {
                let k = k as usize;
                if k == j {
                    continue;
                }
                if p.integer[k] || p.cost[k] != 0.0 {
                    common.push((k, l0.min(d.lower[k]), u0.max(d.upper[k])));
                }
                if l0 == u0 && d.lower[k] == d.upper[k] {
                    found.affine(k, j, l0, d.lower[k]);
                }
            }
        }
        d.undo(p, mark);
        match (zero, one) {
            (false, false) => return Err(Infeasible),
            (false, true) => d.fix(p, j, 1.0),
            (true, false) => d.fix(p, j, 0.0),
            (true, true) => {
                for (k, l, u) in common {
                    d.tighten_lower(p, k, l);
                    d.tighten_upper(p, k, u);
                }
            }
        }
        if d.infeasible || !d.propagate(p) {
            return Err(Infeasible);
        }
        if gains != (found.all.len(), d.mark()) {
            limit = most.min(d.ticks + patience);
        }
    }
    // A bound may follow from rows that come later in the order.
    for _ in 0..CHOICE_PASSES {
        let before = (d.floor(), d.mark());
        choices(p, d, (patience, most), stop)?;
        if before == (d.floor(), d.mark()) {
            break;
        }
    }
    Ok(found.all)
}

/// Columns that are functions of binaries, and implications that may yield more.
struct ProbingFindings {
    all: Vec<Affine>,
    /// Columns that are functions of others, and columns that others are functions of.
    taken: Vec<bool>,
    base: Vec<bool>,
    /// Pairs of literals (twice the column plus the value). The first one implies the second one by
    /// optimality.
    implied: HashSet<(u32, u32)>,
}

impl ProbingFindings {
    fn new(p: &Problem) -> ProbingFindings {
        ProbingFindings {
            all: Vec::new(),
            taken: vec![false; p.num_cols()],
            base: vec![false; p.num_cols()],
            implied: HashSet::new(),
        }
    }

    /// Adds a column that has one value if a binary is 0 and another one if it is 1.
    fn affine(&mut self, col: usize, binary: usize, zero: f64, one: f64) {
        if zero == one || self.taken[binary] || self.taken[col] || self.base[col] {
            return;
        }
        (self.taken[col], self.base[binary]) = (true, true);
        self.all.push(Affine {
            col: col as u32,
            binary: binary as u32,
            constant: zero,
            factor: one - zero,
        });
    }

    /// Notes the binaries fixed by a probe. Two binaries that imply each other become one.
    fn note(&mut self, p: &Problem, d: &Domain, (j, value): (usize, f64), mark: usize) {
        let literal = |j: usize, value: f64| 2 * j as u32 + u32::from(value == 1.0);
        for c in &d.trail[mark..] {
            let k = c.col as usize;
            let binary = p.integer[k] && p.lower[k] == 0.0 && p.upper[k] == 1.0;
            if k == j || !binary || !d.is_fixed(k) || self.implied.len() >= IMPLICATIONS {
                continue;
            }
            let (from, to) = (literal(j, value), literal(k, d.lower[k]));
            self.implied.insert((from, to));
            if self.implied.contains(&(to, from)) {
                let here = d.lower[k];
                let (zero, one) = match value == 0.0 {
                    true => (here, 1.0 - here),
                    false => (1.0 - here, here),
                };
                self.affine(k, j, zero, one);
            }
        }
    }
}

/// Probes rows of which at least one column is 1: bounds common to all choices hold. With many
/// choices, fixing one binary to 0 implies little, so probing single binaries misses them.
fn choices(
    p: &Problem,
    d: &mut Domain,
    (patience, most): (u64, u64),
    stop: &AtomicBool,
) -> Result<(), Infeasible> {
    let mut limit = d.ticks + patience;
    for i in 0..p.num_rows() {
        if d.ticks > limit || stop.load(Ordering::Relaxed) {
            break;
        }
        let (index, value) = p.rows.vector(i);
        let one_of = p.row_lower[i] == 1.0
            && (index.iter().zip(value)).all(|(&j, &a)| {
                let j = j as usize;
                a == 1.0 && p.integer[j] && d.lower[j] >= 0.0 && d.upper[j] <= 1.0
            });
        // Two choices are the two values of a binary.
        if !one_of || index.len() < 3 || index.iter().any(|&j| d.lower[j as usize] == 1.0) {
            continue;
        }
        let mark = d.mark();
        // Bounds common to all choices so far.
        let mut common: Option<Vec<(u32, f64, f64)>> = None;
        for &j in index {
            let j = j as usize;
            if d.upper[j] == 0.0 {
                continue;
            }
            d.fix(p, j, 1.0);
            if d.propagate(p) {
                match &mut common {
                    Some(all) => all.retain_mut(|(k, l, u)| {
                        let k = *k as usize;
                        (*l, *u) = (l.min(d.lower[k]), u.max(d.upper[k]));
                        true
                    }),
                    None => {
                        let changed = d.trail[mark..].iter().map(|c| c.col);
                        let bounds = |k: u32| (k, d.lower[k as usize], d.upper[k as usize]);
                        common = Some(changed.map(bounds).collect());
                    }
                }
                d.undo(p, mark);
            } else {
                d.undo(p, mark);
                d.tighten_upper(p, j, 0.0);
                if d.infeasible {
                    return Err(Infeasible);
                }
                // Bounds that follow here hold for every choice, so they stay.
                if mark != d.mark() {
                    break;
                }
            }
            if let Some(all) = &mut common {
                all.retain(|&(k, l, u)| l > d.lower[k as usize] || u < d.upper[k as usize]);
                if all.is_empty() {
                    break;
                }
            }
        }
        if mark == d.mark() {
            for (k, l, u) in common.unwrap_or_default() {
                d.tighten_lower(p, k as usize, l);
                d.tighten_upper(p, k as usize, u);
            }
        }
        if d.infeasible || !d.propagate(p) {
            return Err(Infeasible);
        }
        if d.mark() != mark {
            limit = most.min(d.ticks + patience);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_follow_a_binary_are_found() {
        // x turns y on, z is both; without x, w must be 0.
        let text = "Minimize\n c: x + y + z + w\nSubject To\n on: y - x >= 0\n a: z - x <= 0\n b: z - y <= 0\n \
                    c: z - x - y >= -1\n d: w - 3 x <= 0\n e: w - x - y - 5 z >= -4\nBounds\n w <= 3\nBinary\n x\n y\n z\n\
                    General\n w\nEnd\n";
        let model = remat_lp::lp_format::parse(text, "case").unwrap();
        let p = Problem::from_model(&model);
        let mut d = Domain::new(&p);
        let found = run(&p, &mut d, &[true; 4], &AtomicBool::new(false))
            .ok()
            .unwrap();
        let of = |col: u32| found.iter().find(|one| one.col == col || one.binary == col);
        // z equals x; the order of probes decides which one is replaced.
        let z = of(2).expect("z follows x");
        assert_eq!((z.constant, z.factor), (0.0, 1.0));
        assert_eq!(z.col + z.binary, 2);
        let w = found
            .iter()
            .find(|one| one.col == 3)
            .expect("w is three times x");
        assert_eq!((w.constant, w.factor), (0.0, 3.0));
    }
}
