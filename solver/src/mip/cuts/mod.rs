//! Cutting planes at the root: separators find violated inequalities, and the pool keeps the
//! deepest cuts that differ enough.

mod accumulator;
mod aggregate;
mod clique;
mod cover;
pub(crate) mod gomory;
mod implications;
mod implied;
mod mir;
mod mixed_cover;
mod pool;
mod shift;
mod sum;
#[cfg(test)]
mod tests;
mod zerohalf;

use crate::mip::cliques::CliqueTable;
use crate::mip::problem::Problem;
use crate::mip::statistics::{Component, Statistics};
use remat_lp::{Model, RowId, Solution};
use std::cell::{Cell, RefCell};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use accumulator::Accumulator;
use aggregate::VariableBounds;
use implications::Implication;
pub(crate) use pool::CutPool;
use sum::Sum;

/// A valid inequality `entries . x <= rhs`.
#[derive(Clone, Debug)]
pub(crate) struct Cut {
    pub entries: Vec<(u32, f64)>,
    pub rhs: f64,
    /// Distance by which it cuts off the point that it separates.
    pub efficacy: f64,
    /// Name of its separator.
    pub found_by: &'static str,
}

/// Globally valid implications between pairs of columns, derived from rows.
pub(crate) struct Tables {
    variable_bounds: VariableBounds,
    cliques: CliqueTable,
    implications: Vec<Implication>,
}

impl Tables {
    /// Derives the tables under globally valid bounds.
    pub fn new(p: &Problem, bounds: (&[f64], &[f64]), probing: bool, stop: &AtomicBool) -> Tables {
        let implications = if probing {
            implications::probe(p, bounds, stop)
        } else {
            Vec::new()
        };
        let pairs: Vec<_> = implications
            .iter()
            .filter_map(|i| i.pair(p, bounds.0, bounds.1))
            .collect();
        Tables {
            variable_bounds: VariableBounds::new(p, &implications),
            cliques: CliqueTable::new(p, bounds.0, bounds.1, &pairs),
            implications,
        }
    }
}

/// Input of the separators: the relaxation with the cuts so far, its solution, and globally valid
/// bounds.
pub(crate) struct Context<'a> {
    pub problem: &'a Problem,
    pub model: &'a Model,
    pub solution: &'a Solution,
    pub lower: &'a [f64],
    pub upper: &'a [f64],
    pub tables: &'a Tables,
    /// Rows whose slack takes only integer values.
    pub integral_rows: Vec<bool>,
    /// Multipliers of rows that yield tableau rows of fractional basic columns.
    pub tableau: Vec<Vec<f64>>,
    pub effort: SeparationEffort,
    /// Ticks of separation so far, approximately.
    pub spent: Cell<u64>,
    /// A buffer for sums of rows, empty between uses.
    scratch: RefCell<Accumulator>,
}

/// Effort of a round of separation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SeparationEffort {
    /// The root of a program.
    Root,
    /// A node, or the root of a restricted program: such rounds are many, and few of their cuts are
    /// kept.
    Brief,
}

impl SeparationEffort {
    /// Limit on the entries visited by aggregation, for a matrix of this size.
    fn aggregation_limit(self, nonzeros: usize) -> usize {
        match self {
            SeparationEffort::Root => 100 * nonzeros + 3_000_000,
            SeparationEffort::Brief => 20 * nonzeros + 300_000,
        }
    }
}

/// Coefficients up to this share of the largest one leave a cut.
const TINY: f64 = 1e-6;

/// Efficacy that a new cut exceeds.
const LEAST_EFFICACY: f64 = 1e-4;

/// Limit on the rounding in a cut whose largest coefficient is 1.
const NOISE_LIMIT: f64 = 1e-7;

impl<'a> Context<'a> {
    pub fn new(
        problem: &'a Problem,
        model: &'a Model,
        solution: &'a Solution,
        (lower, upper): (&'a [f64], &'a [f64]),
        tables: &'a Tables,
        tableau: Vec<Vec<f64>>,
        effort: SeparationEffort,
    ) -> Self {
        let integral_rows = (0..model.num_rows())
            .map(|i| {
                let b = model.row_bounds(RowId(i as u32));
                let whole = |v: f64| !v.is_finite() || v.fract() == 0.0;
                whole(b.lower)
                    && whole(b.upper)
                    && model
                        .row(RowId(i as u32))
                        .all(|(j, a)| problem.integer[j.index()] && a.fract() == 0.0)
            })
            .collect();
        Context {
            problem,
            model,
            solution,
            lower,
            upper,
            tables,
            integral_rows,
            tableau,
            effort,
            spent: Cell::new(0),
            scratch: RefCell::new(Accumulator::new(problem.num_cols())),
        }
    }

    /// Unit of a column: the unit of a continuous one is arbitrary, so its present value sets it.
    fn unit(&self, j: usize) -> f64 {
        if self.problem.integer[j] {
            1.0
        } else {
            self.solution.x[j].abs().clamp(1.0, 1e6)
        }
    }

    /// Distance by which `entries . x <= rhs` cuts off the point.
    fn efficacy(&self, entries: &[(u32, f64)], rhs: f64) -> f64 {
        let (mut activity, mut norm) = (0.0, 0.0);
        for &(j, a) in entries {
            activity += a * self.solution.x[j as usize];
            let scaled = a * self.unit(j as usize);
            norm += scaled * scaled;
        }
        (activity - rhs) / f64::sqrt(norm)
    }

    /// Returns whether a candidate may cut off the point deep enough for [`Context::finish`], which
    /// only weakens it.
    fn is_violated(&self, sum: &Accumulator) -> bool {
        let largest = sum.entries().fold(0.0f64, |m, e| m.max(e.1.abs()));
        let (mut activity, mut norm) = (0.0, 0.0);
        for (j, a) in sum.entries() {
            activity += a * self.solution.x[j as usize];
            if a.abs() > TINY * largest {
                let scaled = a * self.unit(j as usize);
                norm += scaled * scaled;
            }
        }
        let error = 1e-9 * (sum.side.value.abs() + largest);
        activity - sum.side.value + error > LEAST_EFFICACY * f64::sqrt(norm)
    }

    /// Cleans and measures a candidate. Returns it if it cuts deep enough and is numerically
    /// harmless.
    pub fn finish(&self, mut entries: Vec<(u32, f64)>, side: Sum) -> Option<Cut> {
        let mut rhs = side.value;
        let largest = entries.iter().fold(0.0f64, |m, e| m.max(e.1.abs()));
        if !(largest > 1e-9 && largest < 1e12 && rhs.is_finite()) {
            return None;
        }
        // Tiny coefficients are replaced by the column's least contribution.
        let mut bad = false;
        entries.retain(|&(j, a)| {
            if a == 0.0 {
                return false;
            }
            if a.abs() > TINY * largest {
                return true;
            }
            let bound = if a > 0.0 {
                self.lower[j as usize]
            } else {
                self.upper[j as usize]
            };
            if bound.is_finite() && bound.abs() < 1e7 {
                rhs -= a * bound;
            } else {
                bad = true;
            }
            false
        });
        let limit = 200 + self.problem.num_cols() / 2;
        if bad || entries.is_empty() || entries.len() > limit {
            return None;
        }
        entries.sort_unstable_by_key(|e| e.0);
        let scale = 1.0 / largest;
        // A remainder of larger numbers is rounding, not a cut.
        let noise = scale * side.noise();
        if noise > NOISE_LIMIT {
            return None;
        }
        for e in &mut entries {
            e.1 *= scale;
        }
        rhs *= scale;
        // A generous allowance for rounding in the derivation of the cut.
        let reach = |j: u32| {
            let (l, u) = (self.lower[j as usize], self.upper[j as usize]);
            if l.is_finite() && u.is_finite() {
                l.abs().max(u.abs()).min(1e6)
            } else {
                1.0
            }
        };
        let off = |&(j, a): &(u32, f64)| (1e-12 * a.abs() + noise) * reach(j);
        let margin: f64 = noise + entries.iter().map(off).sum::<f64>();
        rhs += margin + 1e-9 * rhs.abs().max(1e-1);
        let efficacy = self.efficacy(&entries, rhs);
        (efficacy > LEAST_EFFICACY).then_some(Cut {
            entries,
            rhs,
            efficacy,
            found_by: "",
        })
    }
}

/// Finds cuts with every separator, and keeps the best ones that differ enough.
pub(crate) fn separate(
    c: &Context<'_>,
    pool: &mut CutPool,
    statistics: Option<&Statistics>,
) -> Vec<Cut> {
    let mut found = Vec::new();
    for (name, separate) in SEPARATORS {
        let (begun, before) = (Instant::now(), found.len());
        separate(c, &mut found);
        let new = &mut found[before..];
        new.iter_mut().for_each(|cut| cut.found_by = name);
        if let Some(statistics) = statistics {
            let count = new.len() as u64;
            statistics.call(Component::Separator, name, begun, |tally| {
                tally.found += count;
                tally.successes += u64::from(count > 0);
            });
        }
    }
    let found = pool.exchange(c, found);
    let taken = select(c, found, 60 + c.problem.num_rows() / 3);
    if let Some(statistics) = statistics {
        for cut in &taken {
            statistics.add(Component::Separator, cut.found_by, |tally| tally.kept += 1);
        }
    }
    taken
}

type Separate = fn(&Context<'_>, &mut Vec<Cut>);

/// The separators, in their order.
const SEPARATORS: [(&str, Separate); 6] = [
    ("implied bounds", implied::separate),
    ("cliques", clique::separate),
    ("covers", cover::separate),
    ("aggregations", aggregate::separate),
    ("zero-half", zerohalf::separate),
    ("Gomory", gomory::separate),
];

/// Selects cuts greedily by efficacy; a cut too parallel to a selected one is dropped.
fn select(c: &Context<'_>, mut found: Vec<Cut>, most: usize) -> Vec<Cut> {
    let n = c.problem.num_cols();
    let density = |c: &Cut| 0.1 * c.entries.len() as f64 / (n as f64 + 1.0);
    found.sort_by(|a, b| {
        (b.efficacy - density(b))
            .total_cmp(&(a.efficacy - density(a)))
            .then(a.entries.len().cmp(&b.entries.len()))
    });
    let best = found.first().map_or(0.0, |c| c.efficacy);
    let mut taken: Vec<Cut> = Vec::new();
    let mut dense = vec![0.0; n];
    for cut in found {
        if taken.len() >= most {
            break;
        }
        for &(j, a) in &cut.entries {
            dense[j as usize] = a * c.unit(j as usize) * c.unit(j as usize);
        }
        let norm = |cut: &Cut| {
            let square = |e: &(u32, f64)| (e.1 * c.unit(e.0 as usize)).powi(2);
            cut.entries.iter().map(square).sum::<f64>().sqrt()
        };
        let own = norm(&cut);
        let limit = if cut.efficacy > 0.9 * best { 0.9 } else { 0.6 };
        let parallel = taken.iter().any(|t| {
            let dot: f64 = t.entries.iter().map(|&(j, a)| a * dense[j as usize]).sum();
            dot > limit * own * norm(t)
        });
        for &(j, _) in &cut.entries {
            dense[j as usize] = 0.0;
        }
        if !parallel {
            taken.push(cut);
        }
    }
    taken
}
