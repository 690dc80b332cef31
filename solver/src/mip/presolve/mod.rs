//! Reductions before the search, and the maps back to the original model.
//!
//! Rounds over working lists of rows, until they change little: bound propagation, redundant and
//! singleton rows, coefficient tightening (Savelsbergh 1994), dual fixing, slack columns, doubleton
//! equations, implied free columns, implied integers, parallel rows and columns, dominated columns
//! (Achterberg et al. 2020, *Presolve reductions in mixed integer programming*), probing; then
//! products and their recurrences, and equations added to other rows where that cancels entries.

mod coefficients;
mod columns;
mod dominance;
mod eliminated;
mod equations;
mod implied;
mod literals;
mod matrix;
mod postsolve;
mod precision;
mod probing;
mod products;
mod recurrences;
mod rows;
mod sparsify;
mod substitution;
mod unlocked;

pub(crate) use postsolve::{Postsolve, PostsolveStep};

use self::matrix::{ColumnLists, Entries, RowLists};
use self::probing::Affine;
use crate::mip::domain::Domain;
use crate::mip::problem::{Problem, SIDE_ROUNDING, Sparse, exact_scale, objective_step};
use crate::mip::settings::Settings;
use crate::mip::statistics::{Component, Statistics};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Relative improvement that probing must achieve on a continuous column's bound.
const LEAST_PROBED: f64 = 1e-3;

/// Rounding of a side, in integer units, below which the side equals its decimal.
const UNIT_ROUNDING: f64 = 1e-3;

/// Result of presolve.
pub(crate) enum PresolveEnd {
    Infeasible,
    Reduced(Box<Problem>, Postsolve),
}

/// The constraints are infeasible.
pub(crate) struct Infeasible;

/// The problem under reduction: rows as lists, and marks of removed rows and columns.
pub(crate) struct WorkingProblem {
    pub cost: Vec<f64>,
    pub offset: f64,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub integer: Vec<bool>,
    pub rows: RowLists,
    /// The columns of the rows at the time of the last call.
    columns: ColumnLists,
    pub row_lower: Vec<f64>,
    pub row_upper: Vec<f64>,
    pub row_alive: Vec<bool>,
    /// Accumulated rounding in the sides of each row, from reductions.
    pub row_rounding: Vec<f64>,
    pub col_alive: Vec<bool>,
    pub steps: Vec<PostsolveStep>,
    pub changes: usize,
    /// Columns that extensions need, as if they were in unknown rows; empty without extensions.
    needed: Vec<bool>,
    /// Collector of step counts.
    statistics: Option<Arc<Statistics>>,
    /// Limit on the objective of useful points.
    pub cutoff: f64,
    /// [`Problem::unit`].
    unit: f64,
}

impl WorkingProblem {
    fn new(p: &Problem) -> WorkingProblem {
        WorkingProblem {
            cost: p.cost.clone(),
            offset: p.offset,
            lower: p.lower.clone(),
            upper: p.upper.clone(),
            integer: p.integer.clone(),
            rows: (0..p.num_rows())
                .map(|i| p.rows.iter(i).map(|(j, v)| (j as u32, v)).collect())
                .collect(),
            columns: ColumnLists::default(),
            row_lower: p.row_lower.clone(),
            row_upper: p.row_upper.clone(),
            row_alive: vec![true; p.num_rows()],
            row_rounding: vec![0.0; p.num_rows()],
            col_alive: vec![true; p.num_cols()],
            steps: Vec::new(),
            changes: 0,
            needed: Vec::new(),
            statistics: None,
            cutoff: f64::INFINITY,
            unit: p.unit,
        }
    }

    /// Returns whether an extension needs a column.
    fn is_needed(&self, j: usize) -> bool {
        self.needed.get(j).copied().unwrap_or(false)
    }

    /// Runs a step and counts it.
    fn step<T>(&mut self, name: &'static str, take: impl FnOnce(&mut Self) -> T) -> T {
        let Some(statistics) = self.statistics.clone() else {
            let done = take(self);
            debug_assert!(self.has_numbers(), "{name} leaves a bound that is none");
            return done;
        };
        let (begun, before) = (Instant::now(), self.changes);
        let done = take(self);
        statistics.call(Component::Presolve, name, begun, |tally| {
            tally.found += (self.changes - before) as u64;
            tally.successes += u64::from(self.changes > before);
        });
        done
    }

    fn add_row(&mut self, entries: Vec<(u32, f64)>, lower: f64, upper: f64) {
        self.rows.push(entries);
        self.row_lower.push(lower);
        self.row_upper.push(upper);
        self.row_alive.push(true);
        self.row_rounding.push(0.0);
        self.changes += 1;
    }

    /// Returns whether no bound or side is NaN.
    fn has_numbers(&self) -> bool {
        let bounds = self.lower.iter().chain(&self.upper);
        let sides = self.row_lower.iter().chain(&self.row_upper);
        !bounds.chain(sides).any(|v| v.is_nan())
    }

    /// Adds an integer column without bounds, cost or rows. It equals `constant + terms` in the
    /// earlier columns.
    fn add_column(&mut self, constant: f64, terms: Vec<(u32, f64)>) {
        let col = self.cost.len() as u32;
        self.cost.push(0.0);
        self.lower.push(f64::NEG_INFINITY);
        self.upper.push(f64::INFINITY);
        self.integer.push(true);
        self.col_alive.push(true);
        self.steps.push(PostsolveStep::Added {
            col,
            constant,
            terms,
        });
    }

    /// Rows of each column; later edits may remove the column from them.
    fn occurrences(&mut self) -> Vec<Vec<u32>> {
        let columns = self.columns().iter();
        let rows_of = |column: &Entries| column.iter().map(|e| e.0).collect();
        columns.map(rows_of).collect()
    }

    /// The entries of every column, by row.
    fn columns(&mut self) -> &[Entries] {
        self.columns.follow(&mut self.rows, &self.integer);
        self.columns.all()
    }

    /// Lends the columns to a function that changes the rest of the problem, but not the rows.
    fn with_columns(&mut self, look: impl FnOnce(&mut Self, &[Entries])) {
        self.columns();
        let columns = self.columns.take();
        look(self, &columns);
        self.columns.put(columns);
    }

    /// Returns whether an entry left by a sum of this size is rounding, and too small to matter:
    /// dropping it moves the sides by its range.
    fn is_cancelled(&self, j: u32, left: f64, size: f64) -> bool {
        let range = self.largest_value(j);
        left.abs() <= 1e-12 * size
            && (left.abs() <= 4.0 * f64::EPSILON * size
                || left.abs() * range <= 0.1 * SIDE_ROUNDING)
    }

    /// Adds `factor * terms` to a row; cancelled entries are removed.
    fn add_multiple(&mut self, i: usize, terms: &[(u32, f64)], factor: f64) {
        let mut row = std::mem::take(&mut self.rows[i]);
        row.extend(terms.iter().map(|&(j, v)| (j, factor * v)));
        row.sort_by_key(|e| e.0);
        let mut kept: Vec<(u32, f64)> = Vec::with_capacity(row.len());
        for &(j, v) in row.iter() {
            match kept.last_mut() {
                Some(last) if last.0 == j => {
                    let size = last.1.abs() + v.abs();
                    last.1 += v;
                    if self.is_cancelled(j, last.1, size) {
                        last.1 = 0.0;
                    }
                }
                _ => kept.push((j, v)),
            }
        }
        kept.retain(|e| e.1 != 0.0);
        self.rows[i] = kept;
    }

    /// Moves the cost of a column that equals `constant + terms` to these columns.
    fn shift_cost(&mut self, terms: &[(u32, f64)], constant: f64, cost: f64) {
        if cost == 0.0 {
            return;
        }
        self.offset += cost * constant;
        for &(j, f) in terms {
            let old = self.cost[j as usize];
            let new = old + cost * f;
            // Cancelled costs become zero, not noise.
            let noise = 1e-12 * (old.abs() + (cost * f).abs());
            self.cost[j as usize] = if new.abs() <= noise { 0.0 } else { new };
        }
    }

    /// The power of ten that makes a row integral, if the row can be tested without tolerance
    /// ([`Problem::exact`]).
    fn exact_scale(&self, i: usize) -> Option<f64> {
        let sides = [self.row_lower[i], self.row_upper[i]];
        let scale = exact_scale(&self.rows[i], sides, &self.integer)?;
        // Rounded sides may look like decimals by chance.
        (self.row_rounding[i] * scale <= UNIT_ROUNDING).then_some(scale)
    }

    fn kill_row(&mut self, i: usize) {
        self.row_alive[i] = false;
        self.rows[i].clear();
        self.changes += 1;
    }

    /// The present problem, and the original column of each of its columns.
    fn assemble(&mut self) -> (Problem, Vec<u32>) {
        self.columns();
        let kept: Vec<u32> = (0..self.cost.len() as u32)
            .filter(|&j| self.col_alive[j as usize])
            .collect();
        let mut place = vec![u32::MAX; self.cost.len()];
        for (k, &j) in kept.iter().enumerate() {
            place[j as usize] = k as u32;
        }
        let pick = |v: &[f64]| kept.iter().map(|&j| v[j as usize]).collect::<Vec<f64>>();
        let mut rows = Sparse::default();
        let (mut row_lower, mut row_upper) = (Vec::new(), Vec::new());
        let mut exact = Vec::new();
        let mut row_place = vec![u32::MAX; self.rows.len()];
        let mut columns = std::mem::take(&mut self.columns);
        for i in 0..self.rows.len() {
            if self.row_alive[i] {
                row_place[i] = row_lower.len() as u32;
                let judged = [self.row_lower[i], self.row_upper[i], self.row_rounding[i]];
                exact.push(columns.is_exact(i, judged, || self.exact_scale(i).is_some()));
                let mut entries: Vec<(u32, f64)> = self.rows[i]
                    .iter()
                    .map(|&(j, v)| (place[j as usize], v))
                    .collect();
                entries.sort_unstable_by_key(|e| e.0);
                rows.push(entries);
                row_lower.push(self.row_lower[i]);
                row_upper.push(self.row_upper[i]);
            }
        }
        self.columns = columns;
        let mut cols = Sparse::default();
        for &j in &kept {
            let column = self.columns.all()[j as usize].iter();
            let column = column.map(|&(i, a)| (row_place[i as usize], a));
            cols.push(column);
        }
        debug_assert_eq!(cols, rows.transpose(kept.len()));
        let mut p = Problem {
            cost: pick(&self.cost),
            offset: self.offset,
            lower: pick(&self.lower),
            upper: pick(&self.upper),
            integer: kept.iter().map(|&j| self.integer[j as usize]).collect(),
            row_lower,
            row_upper,
            rows,
            cols,
            exact,
            unit: self.unit,
            objective_step: 0.0,
        };
        p.objective_step = objective_step(&p.cost, &p.integer, p.unit);
        (p, kept)
    }

    /// Propagates. Keeps the bounds of integer and fixed columns, and the bounds that limit the
    /// objective.
    fn propagate(&mut self) -> Result<(), Infeasible> {
        let (p, kept, d) = self.propagated()?;
        self.take_bounds(&p, &kept, &d);
        Ok(())
    }

    /// The present problem with the positions of its columns, and its domain after propagation.
    fn propagated(&mut self) -> Result<(Problem, Vec<u32>, Domain), Infeasible> {
        let (p, kept) = self.assemble();
        let mut d = Domain::new(&p);
        d.set_cutoff(self.cutoff);
        d.enqueue_all(&p);
        d.takes_small_gains = true;
        let is_feasible = d.propagate(&p);
        d.takes_small_gains = false;
        match is_feasible {
            true => Ok((p, kept, d)),
            false => Err(Infeasible),
        }
    }

    fn take_bounds(&mut self, p: &Problem, kept: &[u32], d: &Domain) {
        for (k, &j) in kept.iter().enumerate() {
            let j = j as usize;
            let fixed = d.lower[k] == d.upper[k];
            if p.integer[k] || fixed {
                if d.lower[k] > self.lower[j] || d.upper[k] < self.upper[j] {
                    self.changes += 1;
                }
                self.lower[j] = self.lower[j].max(d.lower[k]);
                self.upper[j] = self.upper[j].min(d.upper[k]);
            } else if p.cost[k] > 0.0 {
                self.lower[j] = self.lower[j].max(d.lower[k]);
            } else if p.cost[k] < 0.0 {
                self.upper[j] = self.upper[j].min(d.upper[k]);
            }
        }
    }

    /// Takes bounds of continuous columns that single rows do not imply.
    fn take_probed(&mut self, p: &Problem, kept: &[u32], d: &Domain, plain: &[Vec<f64>; 2]) {
        for (k, &j) in kept.iter().enumerate() {
            let j = j as usize;
            let more = |a: f64, b: f64| (a - b).abs() > LEAST_PROBED * a.abs().max(1e-2);
            if p.integer[k] || d.lower[k] == d.upper[k] {
                continue;
            }
            if d.lower[k] > self.lower[j] && more(d.lower[k], plain[0][k]) {
                self.lower[j] = d.lower[k];
            }
            if d.upper[k] < self.upper[j] && more(d.upper[k], plain[1][k]) {
                self.upper[j] = d.upper[k];
            }
        }
    }

    /// Adds the equations of columns that are functions of binaries; doubleton removal then uses
    /// them.
    fn take_affine(&mut self, kept: &[u32], affine: &[Affine]) {
        for one in affine {
            let [col, binary] = [one.col, one.binary].map(|k| kept[k as usize]);
            let free = |j: u32| self.lower[j as usize] < self.upper[j as usize];
            if free(col) && free(binary) {
                let row = vec![(col, 1.0), (binary, -one.factor)];
                self.add_row(row, one.constant, one.constant);
            }
        }
    }
}

fn reduce(
    work: &mut WorkingProblem,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<(), Infeasible> {
    if settings.nesting == 0 {
        // Must run before columns are fixed and rounded.
        work.step("implied equations", |work| {
            eliminated::run(work, settings.feasibility_tolerance)
        })?;
    }
    rounds(work, settings, stop)?;
    let before = work.changes;
    work.step("dual fixing", columns::fix)?;
    work.step("equations", equations::reduce)?;
    work.step("products", products::run);
    if work.changes > before {
        rounds(work, settings, stop)?;
    }
    work.step("coefficients", coefficients::run)?;
    work.step("sparsify", sparsify::run);
    // Fixed columns must not remain.
    work.step("dual fixing", columns::fix)?;
    work.step("rows", rows::simplify)?;
    Ok(())
}

/// Rounds of all cheap reductions, then probing, until little changes.
fn rounds(
    work: &mut WorkingProblem,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<(), Infeasible> {
    for round in 0..12 {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let before = work.changes;
        work.step("bounds", WorkingProblem::propagate)?;
        work.step("rows", rows::simplify)?;
        work.step("dual fixing", columns::fix)?;
        work.step("parallel rows", rows::parallel)?;
        work.step("implied integers", implied::run);
        work.step("parallel columns", dominance::merge_parallel);
        work.step("dominated columns", dominance::fix_dominated);
        work.step("slacks", columns::slacks)?;
        work.step("doubletons", columns::doubletons)?;
        work.step("implied free columns", substitution::run);
        let quiet = work.changes - before < 1 + work.cost.len() / 200;
        if quiet && settings.probing && round < 11 {
            let before = work.changes;
            work.step("probing", |work| {
                let (p, kept, mut domain) = work.propagated()?;
                let plain = [domain.lower.clone(), domain.upper.clone()];
                let movable: Vec<bool> =
                    kept.iter().map(|&j| !work.is_needed(j as usize)).collect();
                let affine = probing::run(&p, &mut domain, &movable, stop)?;
                work.take_bounds(&p, &kept, &domain);
                work.take_probed(&p, &kept, &domain, &plain);
                work.take_affine(&kept, &affine);
                Ok(())
            })?;
            if work.changes == before {
                break;
            }
            if round >= 4 {
                break;
            }
        } else if quiet {
            break;
        }
    }
    Ok(())
}

/// Input of a presolve from outside the problem.
#[derive(Default)]
pub(crate) struct PresolveContext {
    /// Columns that extensions need; empty without extensions.
    pub needed: Vec<bool>,
    /// Collector of step counts.
    pub statistics: Option<Arc<Statistics>>,
}

/// Reduces a problem; points with an objective above `cutoff` may be lost. Without `reduce_it`,
/// only bounds of integer columns are tightened.
pub(crate) fn run(
    p: Problem,
    settings: &Settings,
    reduce_it: bool,
    cutoff: f64,
    stop: &AtomicBool,
    context: PresolveContext,
) -> PresolveEnd {
    // No column can take an infinite value.
    let is_empty = |l: f64, u: f64| l > u || l == f64::INFINITY || u == f64::NEG_INFINITY;
    let crossed = |l: &[f64], u: &[f64]| l.iter().zip(u).any(|(l, u)| is_empty(*l, *u));
    if crossed(&p.lower, &p.upper) || crossed(&p.row_lower, &p.row_upper) {
        return PresolveEnd::Infeasible;
    }
    let mut work = WorkingProblem::new(&p);
    work.statistics = context.statistics;
    work.needed = context.needed;
    work.cutoff = cutoff;
    let end = if reduce_it {
        reduce(&mut work, settings, stop)
    } else {
        work.propagate()
    };
    if end.is_err() || crossed(&work.lower, &work.upper) {
        return PresolveEnd::Infeasible;
    }
    let original = p.num_cols();
    let (p, kept) = work.assemble();
    PresolveEnd::Reduced(
        Box::new(p),
        Postsolve {
            original,
            width: work.cost.len(),
            kept,
            steps: work.steps,
        },
    )
}
