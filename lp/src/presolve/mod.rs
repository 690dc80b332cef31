//! Makes a program smaller before it is solved, and its solution whole afterwards: values, duals, reduced costs and a basis
//! that is optimal for the original.
//!
//! Reductions (one a file): columns that are fixed or empty (`empty`), rows of one entry (`singleton_row`), redundant and
//! forcing rows (`forcing`), equations in two columns (`doubleton`), columns of one entry that only loosen a row
//! (`slack`), implied free columns (`substitution`), dominated columns (`dominated`), multiples of rows
//! (`duplicate_rows`) and of columns (`duplicate_cols`). Each leaves a record of the way back (`stack`). At the end the
//! rows are searched for a contradiction (`contradiction`).
//!
//! What presolve finds impossible it proves: the multipliers are carried back and checked against the original by
//! [`crate::certificate`]; if they do not convince, the original is solved instead. Not for branch and bound, where the
//! columns and rows of the model are talked about by others.
//!
//! Sources: E. D. Andersen & K. D. Andersen, *Presolving in linear programming*, Math. Programming 71 (1995); J. Gondzio,
//! *Presolve analysis of linear programs prior to applying an interior point method*, 1997; I. Maros, *Computational
//! Techniques of the Simplex Method*, 2003, chapter 7.

mod contradiction;
mod dominated;
mod doubleton;
mod duplicate_cols;
mod duplicate_rows;
mod empty;
mod forcing;
mod singleton_row;
mod slack;
mod stack;
mod substitution;
#[cfg(test)]
mod tests;
mod work;

use crate::certificate;
use crate::model::{Model, by_columns};
use crate::outcome::{Basis, FarkasRay, LpOutcome, Solution, VarStatus};
use crate::refine::refine;
use crate::settings::{Limits, Settings};
use crate::simplex::Compressed;
use crate::solver::{Solver, Stats};
use stack::{Stack, State};
use std::sync::Arc;
use work::{Stop, Work};

/// Which reductions to use. The default is all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct PresolveSettings {
    /// Rows of one entry become bounds.
    pub singleton_rows: bool,
    /// Redundant and forcing rows.
    pub forcing: bool,
    /// Equations in two columns.
    pub doubletons: bool,
    /// Columns of one entry taken into their row.
    pub slacks: bool,
    /// Implied free columns.
    pub substitution: bool,
    /// Dominated columns.
    pub dominated: bool,
    /// Rows that are multiples of others.
    pub duplicate_rows: bool,
    /// Columns that are multiples of others.
    pub duplicate_cols: bool,
    /// A search for contradictions among bounds that rows imply.
    pub contradictions: bool,
    /// How often the searches over the whole program are repeated at most.
    pub max_rounds: usize,
}

impl Default for PresolveSettings {
    fn default() -> Self {
        PresolveSettings {
            max_rounds: 10,
            ..Self::with_all(true)
        }
    }
}

impl PresolveSettings {
    /// Only what is always done: fixed and empty columns, empty rows, and the detection of impossible rows.
    pub fn minimal() -> Self {
        Self::with_all(false)
    }

    fn with_all(on: bool) -> Self {
        PresolveSettings {
            singleton_rows: on,
            forcing: on,
            doubletons: on,
            slacks: on,
            substitution: on,
            dominated: on,
            duplicate_rows: on,
            duplicate_cols: on,
            contradictions: on,
            max_rounds: 10,
        }
    }
}

/// What presolve came to.
pub enum PresolveOutcome {
    /// A smaller program, possibly without any row or column.
    Reduced(Presolved),
    /// No point is feasible. The proof has been checked against the original; without one, solve the original to know.
    Infeasible(Option<FarkasRay>),
    /// No dual point is feasible: the program is unbounded, or infeasible. Solve the original to know which, and why.
    DualInfeasible,
}

/// A reduced program and the way back.
pub struct Presolved {
    original: Arc<Model>,
    model: Arc<Model>,
    /// Original index of every column and row of the reduced program.
    cols: Vec<u32>,
    rows: Vec<u32>,
    stack: Stack,
}

impl Presolved {
    /// Reduces a program.
    ///
    /// ```
    /// use remat_lp::presolve::{PresolveOutcome, PresolveSettings, Presolved};
    /// use remat_lp::{ModelBuilder, Sense, Settings, Solver};
    /// use std::sync::Arc;
    /// let mut b = ModelBuilder::new(Sense::Minimise);
    /// let x = b.add_col(1.0, 0.0..);
    /// let y = b.add_col(2.0, 0.0..);
    /// b.add_row(3.0.., [(x, 1.0), (y, 1.0)]);
    /// b.add_row(..=2.0, [(x, 1.0)]);
    /// let model = Arc::new(b.build()?);
    /// let PresolveOutcome::Reduced(p) = Presolved::new(&model, &PresolveSettings::default()) else { panic!() };
    /// assert!(p.model().num_rows() < 2);
    /// let s = Solver::new(p.model().clone(), Settings::default()).solve();
    /// let whole = p.postsolve(s.optimal().unwrap());
    /// assert_eq!((whole.objective, whole.x), (4.0, vec![2.0, 1.0]));
    /// assert_eq!((whole.y, whole.basis.num_basic()), (vec![2.0, -1.0], 2));
    /// # Ok::<(), remat_lp::ModelError>(())
    /// ```
    #[allow(clippy::new_ret_no_self)] // What a presolve makes need not be a program.
    pub fn new(model: &Arc<Model>, settings: &PresolveSettings) -> PresolveOutcome {
        let mut work = Work::new(model);
        match reduce(&mut work, settings) {
            Ok(()) => match contradiction(model, &mut work, settings) {
                Some(ray) => PresolveOutcome::Infeasible(Some(ray)),
                None => PresolveOutcome::Reduced(Presolved::from_work(model, work)),
            },
            Err(Stop::DualInfeasible) => PresolveOutcome::DualInfeasible,
            Err(Stop::Infeasible(rows)) => {
                let mut state = State::new(model, true);
                for (i, v) in rows {
                    state.y[i] = v;
                }
                for j in 0..work.num_cols() {
                    if work.col_is_alive(j) {
                        state.d[j] = -work
                            .col(j)
                            .map(|(i, a)| a * state.y[i as usize])
                            .sum::<f64>();
                    }
                }
                PresolveOutcome::Infeasible(carry_ray(model, &work.stack, state))
            }
        }
    }

    fn from_work(original: &Arc<Model>, mut work: Work) -> Presolved {
        let cols: Vec<u32> = (0..work.num_cols() as u32)
            .filter(|&j| work.col_is_alive(j as usize))
            .collect();
        let rows: Vec<u32> = (0..work.num_rows() as u32)
            .filter(|&i| work.row_is_alive(i as usize))
            .collect();
        let mut position = vec![u32::MAX; work.num_rows()];
        for (k, &i) in rows.iter().enumerate() {
            position[i as usize] = k as u32;
        }
        let mut matrix = Compressed::default();
        for &j in &cols {
            matrix.push(work.col(j as usize).map(|(i, v)| (position[i as usize], v)));
        }
        // Twice transposed is sorted.
        let sorted = matrix.transpose(rows.len()).transpose(cols.len());
        let by_col = by_columns(sorted, rows.len());
        let by_row = by_col.to_csr();
        let sign = original.sense.sign();
        let pick = |from: &[f64], which: &[u32]| -> Vec<f64> {
            which.iter().map(|&k| from[k as usize]).collect()
        };
        let model = Model {
            name: original.name.clone(),
            sense: original.sense,
            offset: sign * work.offset,
            cost: cols.iter().map(|&j| sign * work.cost[j as usize]).collect(),
            col_lower: pick(&work.lower, &cols),
            col_upper: pick(&work.upper, &cols),
            row_lower: pick(&work.row_lower, &rows),
            row_upper: pick(&work.row_upper, &rows),
            integer: cols.iter().map(|&j| original.integer[j as usize]).collect(),
            cols: by_col,
            rows: by_row,
            col_names: Vec::new(),
            row_names: Vec::new(),
        };
        Presolved {
            original: original.clone(),
            model: Arc::new(model),
            cols,
            rows,
            stack: work.stack,
        }
    }

    /// The reduced program.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The program before.
    pub fn original(&self) -> &Arc<Model> {
        &self.original
    }

    /// Index in the original of every column of the reduced program.
    pub fn kept_cols(&self) -> &[u32] {
        &self.cols
    }

    /// Index in the original of every row of the reduced program.
    pub fn kept_rows(&self) -> &[u32] {
        &self.rows
    }

    /// An optimal solution of the original from one of the reduced program, with its basis.
    ///
    /// # Panics
    /// If the solution is of another program.
    pub fn postsolve(&self, solution: &Solution) -> Solution {
        let model = &*self.original;
        let sign = model.sense.sign();
        let mut s = State::new(model, false);
        for (k, &j) in self.cols.iter().enumerate() {
            s.x[j as usize] = solution.x[k];
            s.d[j as usize] = sign * solution.reduced_costs[k];
            s.col[j as usize] = solution.basis.cols[k];
        }
        for (k, &i) in self.rows.iter().enumerate() {
            s.y[i as usize] = sign * solution.y[k];
            s.row[i as usize] = solution.basis.rows[k];
        }
        for record in self.stack.iter().rev() {
            record.undo(&mut s);
        }
        let row_activity = (0..model.num_rows())
            .map(|i| {
                let mut sum = crate::sum2::Sum2::default();
                model
                    .row_entries(i)
                    .for_each(|(j, a)| sum.add_product(a, s.x[j]));
                sum.value()
            })
            .collect();
        let y: Vec<f64> = s.y.iter().map(|v| sign * v).collect();
        let reduced_costs = (0..model.num_cols())
            .map(|j| {
                let mut sum = crate::sum2::Sum2::new(model.cost[j]);
                model
                    .col_entries(j)
                    .for_each(|(i, a)| sum.add_product(-a, y[i]));
                sum.value()
            })
            .collect();
        let basis = Basis {
            cols: s.col,
            rows: s.row,
        };
        debug_assert_eq!(
            basis.num_basic(),
            model.num_rows(),
            "postsolve must restore a complete basis"
        );
        Solution {
            objective: model.objective(&s.x),
            x: s.x,
            row_activity,
            y,
            reduced_costs,
            basis,
        }
    }

    /// A proof that the original is infeasible from one for the reduced program, if it can be carried back: reductions by
    /// cost (dominated and duplicate columns) know nothing of feasibility. The result has been checked.
    pub fn postsolve_ray(&self, ray: &FarkasRay) -> Option<FarkasRay> {
        // Which of a ray and its negative prices lower bounds from below is a convention we need not know.
        [1.0, -1.0].into_iter().find_map(|sign| {
            let mut s = State::new(&self.original, true);
            for (k, &i) in self.rows.iter().enumerate() {
                s.y[i as usize] = sign * ray.y[k];
            }
            for (k, &j) in self.cols.iter().enumerate() {
                s.d[j as usize] = -self
                    .model
                    .col_entries(k)
                    .map(|(i, a)| a * sign * ray.y[i])
                    .sum::<f64>();
            }
            carry_ray(&self.original, &self.stack, s)
        })
    }
}

impl State {
    fn new(model: &Model, ray: bool) -> State {
        let (m, n) = (model.num_rows(), model.num_cols());
        State {
            x: vec![0.0; n],
            y: vec![0.0; m],
            d: vec![0.0; n],
            col: vec![VarStatus::AtLower; n],
            row: vec![VarStatus::Basic; m],
            ray,
        }
    }
}

/// A proof that no point is feasible, from bounds that rows imply.
fn contradiction(model: &Model, w: &mut Work, settings: &PresolveSettings) -> Option<FarkasRay> {
    if !settings.contradictions {
        return None;
    }
    let found = contradiction::find(w)?;
    let mut state = State::new(model, true);
    found.ray(w, &mut state);
    carry_ray(model, &w.stack, state)
}

fn carry_ray(model: &Model, stack: &Stack, mut state: State) -> Option<FarkasRay> {
    for record in stack.iter().rev() {
        record.undo(&mut state);
    }
    let ray = FarkasRay { y: state.y };
    (ray.y.iter().all(|v| v.is_finite()) && certificate::check_farkas(model, &ray).is_ok())
        .then_some(ray)
}

/// Entries looked at before presolve gives up looking, beyond a multiple of the program's size.
const EFFORT: (u64, u64) = (2_000_000, 60);

fn reduce(w: &mut Work, settings: &PresolveSettings) -> Result<(), Stop> {
    let size = (0..w.num_cols())
        .map(|j| w.col_len(j) as u64 + 1)
        .sum::<u64>()
        + w.num_rows() as u64;
    let limit = EFFORT.0 + EFFORT.1 * size;
    for _ in 0..settings.max_rounds {
        local(w, settings, limit)?;
        let before = w.removed;
        if settings.dominated {
            dominated::all(w)?;
        }
        if settings.duplicate_rows {
            duplicate_rows::all(w)?;
        }
        if settings.duplicate_cols {
            duplicate_cols::all(w)?;
        }
        // A round that finds next to nothing is the last: each costs a sort of the whole matrix.
        let left = w.num_rows() + w.num_cols() - before;
        if (w.removed - before) * 200 < left || w.removed == before || w.effort > limit {
            break;
        }
    }
    // What is left in the queues is cheap and may be all that is left at all.
    local(w, settings, limit)
}

/// Looks at rows and columns until none that changed is left.
fn local(w: &mut Work, settings: &PresolveSettings, limit: u64) -> Result<(), Stop> {
    while w.effort <= limit {
        if let Some(i) = w.next_row() {
            if w.row_is_alive(i) {
                row(w, i, settings)?;
            }
        } else if let Some(j) = w.next_col() {
            if w.col_is_alive(j) {
                col(w, j, settings)?;
            }
        } else {
            break;
        }
    }
    Ok(())
}

/// The first reduction that applies to a row.
fn row(w: &mut Work, i: usize, settings: &PresolveSettings) -> Result<bool, Stop> {
    if forcing::row(w, i, settings.forcing)? {
        return Ok(true);
    }
    match w.row_len(i) {
        1 if settings.singleton_rows => singleton_row::row(w, i),
        2 if settings.doubletons && w.row_is_equation(i) => doubleton::row(w, i),
        _ => Ok(false),
    }
}

/// The first reduction that applies to a column.
fn col(w: &mut Work, j: usize, settings: &PresolveSettings) -> Result<bool, Stop> {
    if empty::col(w, j)? || (settings.dominated && dominated::col(w, j)?) {
        return Ok(true);
    }
    if settings.substitution && substitution::col(w, j)? {
        return Ok(true);
    }
    if settings.slacks && w.col_len(j) == 1 {
        let row = w.col(j).next().map(|e| e.0 as usize);
        if let Some(i) = row
            && (w.cost[j] == 0.0 || w.row_is_equation(i))
        {
            return slack::row(w, i);
        }
    }
    Ok(false)
}

/// The end of a solve with presolve.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved {
    /// The outcome for the original.
    pub outcome: LpOutcome,
    /// What the simplex did, on the reduced program and in cleaning up.
    pub stats: Stats,
    /// Rows, columns and nonzeros of the reduced program; `None` if presolve settled the matter or was not used.
    pub reduced: Option<(usize, usize, usize)>,
    /// Pivots that the original needed after postsolve; mostly none.
    pub cleanup: u64,
}

/// Presolves, solves, postsolves. A restored solution that misses the tolerances is cleaned up on the original, from the
/// restored basis. Without presolve, and always when an objective cutoff is set, this is [`Solver::solve`].
///
/// ```
/// use remat_lp::{Limits, ModelBuilder, Sense, Settings, presolve};
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let x = b.add_col(1.0, 0.0..=9.0);
/// b.add_row(..=4.0, [(x, 2.0)]);
/// let model = std::sync::Arc::new(b.build()?);
/// let solved = presolve::solve(&model, &Settings::default(), &Limits::default(), Some(&Default::default()));
/// assert_eq!(solved.outcome.optimal().unwrap().objective, 2.0);
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
pub fn solve(
    model: &Arc<Model>,
    settings: &Settings,
    limits: &Limits,
    presolve: Option<&PresolveSettings>,
) -> Solved {
    if !settings.refine {
        return solve_once(model, settings, limits, presolve);
    }
    // Only the original's residuals count.
    let plain = Settings {
        refine: false,
        ..settings.clone()
    };
    let mut solved = solve_once(model, &plain, limits, presolve);
    if let LpOutcome::Optimal(s) = &mut solved.outcome {
        *s = refine(model, s, &plain);
    }
    solved
}

fn solve_once(
    model: &Arc<Model>,
    settings: &Settings,
    limits: &Limits,
    presolve: Option<&PresolveSettings>,
) -> Solved {
    let direct = |stats: Stats| {
        let mut solver = Solver::new(model.clone(), settings.clone());
        solver.set_limits(remaining(limits, &stats));
        let outcome = solver.solve();
        Solved {
            outcome,
            stats: stats.plus(&solver.stats()),
            reduced: None,
            cleanup: 0,
        }
    };
    let presolve = match presolve {
        Some(p) if limits.objective_cutoff.is_none() => p,
        _ => return direct(Stats::default()),
    };
    let presolved = match Presolved::new(model, presolve) {
        PresolveOutcome::Reduced(p) => p,
        PresolveOutcome::Infeasible(Some(ray)) => {
            let outcome = LpOutcome::Infeasible(ray);
            return Solved {
                outcome,
                stats: Stats::default(),
                reduced: None,
                cleanup: 0,
            };
        }
        PresolveOutcome::Infeasible(None) | PresolveOutcome::DualInfeasible => {
            return direct(Stats::default());
        }
    };
    let small = presolved.model();
    let reduced = Some((small.num_rows(), small.num_cols(), small.num_nonzeros()));
    let mut solver = Solver::new(small.clone(), settings.clone());
    solver.set_limits(limits.clone());
    let outcome = solver.solve();
    let stats = solver.stats();
    drop(solver);
    match outcome {
        LpOutcome::Optimal(s) => {
            let restored = presolved.postsolve(&s);
            let basis = restored.basis.clone();
            let outcome = LpOutcome::Optimal(restored);
            let found = quality(model, &outcome, settings);
            if found == Quality::Exact {
                return Solved {
                    outcome,
                    stats,
                    reduced,
                    cleanup: 0,
                };
            }
            let mut solver = Solver::new(model.clone(), careful(settings));
            solver.set_limits(remaining(limits, &stats));
            // The basis has the original's dimensions, so it is accepted.
            let _ = solver.set_basis(&basis);
            let cleaned = solver.solve();
            let cleanup = solver.stats().iterations();
            let stats = stats.plus(&solver.stats());
            let accept = found == Quality::Poor || matches!(cleaned, LpOutcome::Optimal(_));
            let outcome = if accept { cleaned } else { outcome };
            Solved {
                outcome,
                stats,
                reduced,
                cleanup,
            }
        }
        LpOutcome::Infeasible(ray) => match presolved.postsolve_ray(&ray) {
            Some(ray) => Solved {
                outcome: LpOutcome::Infeasible(ray),
                stats,
                reduced,
                cleanup: 0,
            },
            None => direct(stats),
        },
        LpOutcome::Unbounded(_) | LpOutcome::CutoffReached { .. } => direct(stats),
        LpOutcome::Limit(kind) => Solved {
            outcome: LpOutcome::Limit(kind),
            stats,
            reduced,
            cleanup: 0,
        },
    }
}

/// How good a restored solution is.
#[derive(Clone, Copy, PartialEq)]
enum Quality {
    /// As if the tolerances were a hundredth of what they are: nothing to gain.
    Exact,
    /// Within tolerances. A reduced cost just within them can stand for 1e-8 of the objective (Netlib's pilot).
    Fair,
    /// Outside tolerances.
    Poor,
}

fn quality(model: &Model, outcome: &LpOutcome, settings: &Settings) -> Quality {
    let tol = settings.primal_tolerance.min(settings.dual_tolerance);
    match certificate::check(model, outcome, tol) {
        Ok(report) if report.dual_violation <= 1e-2 * tol && report.gap <= 1e-2 * tol => {
            Quality::Exact
        }
        Ok(_) => Quality::Fair,
        Err(_) => Quality::Poor,
    }
}

/// Settings for the last few pivots: the tolerances hold in the model's own units, and nothing moves an optimal basis.
fn careful(settings: &Settings) -> Settings {
    Settings {
        scaling: false,
        perturbation: false,
        dual_tolerance: 1e-2 * settings.dual_tolerance,
        ..settings.clone()
    }
}

fn remaining(limits: &Limits, used: &Stats) -> Limits {
    Limits {
        iterations: limits
            .iterations
            .map(|l| l.saturating_sub(used.iterations())),
        ticks: limits.ticks.map(|l| l.saturating_sub(used.ticks)),
        ..limits.clone()
    }
}
