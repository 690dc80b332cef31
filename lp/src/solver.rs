//! The solver people hold: a model, a basis, and everything that is kept between solves.

use crate::certificate::safe_bound;
use crate::ids::{Bounds, ColId, RowId};
use crate::model::{Model, ModelError, NewCol, NewRow, check_bounds};
use crate::outcome::{Basis, FarkasRay, LimitKind, LpOutcome, Ray, Solution, VarStatus};
use crate::scaling::Scaling;
use crate::settings::{Algorithm, Limits, Settings};
use crate::simplex::{Budget, Core, CoreEnd};
use std::sync::Arc;

/// Counters since the solver was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Pivots of the dual simplex on the boxed phase 1 problem.
    pub dual_phase1: u64,
    /// Pivots of the dual simplex.
    pub dual_phase2: u64,
    /// Pivots of the primal simplex while infeasible.
    pub primal_phase1: u64,
    /// Pivots of the primal simplex.
    pub primal_phase2: u64,
    /// Variables moved from one bound to the other without a pivot.
    pub bound_flips: u64,
    /// Factorisations of the basis.
    pub factorisations: u64,
    /// Deterministic work units.
    pub ticks: u64,
}

impl Stats {
    /// All pivots.
    pub fn iterations(&self) -> u64 {
        self.dual_phase1 + self.dual_phase2 + self.primal_phase1 + self.primal_phase2
    }
}

/// A linear program being solved, changed and solved again.
///
/// ```
/// use remat_lp::{ColId, ModelBuilder, Sense, Settings, Solver};
/// let mut b = ModelBuilder::new(Sense::Minimise);
/// let x = b.add_col(1.0, 0.0..=9.0);
/// b.add_row(2.0.., [(x, 1.0)]);
/// let mut s = Solver::new(b.build()?, Settings::default());
/// assert_eq!(s.solve().optimal().unwrap().objective, 2.0);
/// s.set_col_bounds(x, 5.0..=9.0)?;
/// assert_eq!(s.solve().optimal().unwrap().objective, 5.0);
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
///
/// A clone is an independent solver at the same basis with the same factorisation; workers of a parallel search start
/// from one. Clones share the model until one of them changes it.
#[derive(Clone)]
pub struct Solver {
    model: Arc<Model>,
    settings: Settings,
    limits: Limits,
    scaling: Scaling,
    core: Core,
}

impl Solver {
    /// A solver at the slack basis of a model. A shared model is copied only when it is changed through the solver.
    pub fn new(model: impl Into<Arc<Model>>, settings: Settings) -> Solver {
        let model = model.into();
        let scaling = if settings.scaling {
            Scaling::geometric(&model.cols, &model.rows)
        } else {
            Scaling::identity(model.num_rows(), model.num_cols())
        };
        let core = build_core(&model, &scaling, &settings);
        Solver {
            model,
            settings,
            limits: Limits::default(),
            scaling,
            core,
        }
    }

    /// The model as it stands after all changes. Holding on to a clone of it makes the next change copy the model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The settings given at construction.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The settings, to be changed between solves. Scaling is fixed at construction.
    pub fn settings_mut(&mut self) -> &mut Settings {
        &mut self.settings
    }

    /// Limits of each following call of [`Solver::solve`].
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Counters since construction.
    pub fn stats(&self) -> Stats {
        let c = &self.core.count;
        Stats {
            dual_phase1: c.dual_phase1,
            dual_phase2: c.dual_phase2,
            primal_phase1: c.primal_phase1,
            primal_phase2: c.primal_phase2,
            bound_flips: c.flips,
            factorisations: c.factorisations,
            ticks: self.core.total_ticks(),
        }
    }

    /// Solves from the present basis with the method of the settings.
    pub fn solve(&mut self) -> LpOutcome {
        self.solve_with(self.settings.algorithm)
    }

    /// Solves from the present basis with the given method in the lead.
    pub fn solve_with(&mut self, algorithm: Algorithm) -> LpOutcome {
        let mut budget = self.budget();
        self.core.primal_tol = self.settings.primal_tolerance;
        self.core.dual_tol = self.settings.dual_tolerance;
        let mut algorithm = algorithm;
        let mut perturb = self.settings.perturbation;
        let mut attempt = 0;
        loop {
            match self.core.optimise(&budget, algorithm, perturb) {
                CoreEnd::Optimal => {
                    let solution = self.solution();
                    let (primal, dual) = self.unscaled_violation(&solution);
                    attempt += 1;
                    let (primal_goal, dual_goal) = (
                        self.settings.primal_tolerance * 1.001,
                        self.settings.dual_tolerance * 1.001,
                    );
                    if (primal <= primal_goal && dual <= dual_goal) || attempt > 3 {
                        return LpOutcome::Optimal(solution);
                    }
                    // Feasible when scaled, not quite when unscaled: fresh factors first, then tighter tolerances.
                    if self.core.factor.updates() > 0 {
                        self.core.factored = false;
                    }
                    self.core.primal_valid = false;
                    self.core.dual_valid = false;
                    if primal > primal_goal {
                        self.core.primal_tol =
                            (self.core.primal_tol * (primal_goal / primal).max(0.01)).max(1e-9);
                    }
                    if dual > dual_goal {
                        self.core.dual_tol =
                            (self.core.dual_tol * (dual_goal / dual).max(0.01)).max(1e-9);
                    }
                    algorithm = Algorithm::Auto;
                    perturb = false;
                }
                CoreEnd::Infeasible => return self.infeasible(),
                CoreEnd::Unbounded(q) => return self.unbounded(q),
                CoreEnd::Cutoff => {
                    if let Some(outcome) = self.cutoff() {
                        return outcome;
                    }
                    // The perturbed costs passed the cutoff, the true ones do not: go on without it.
                    budget.cutoff = None;
                    algorithm = Algorithm::Dual;
                }
                CoreEnd::Limit(kind) => return LpOutcome::Limit(kind),
            }
        }
    }

    fn budget(&self) -> Budget {
        let sign = self.model.sense.sign();
        Budget {
            iterations: self
                .limits
                .iterations
                .map(|l| l.saturating_add(self.core.count.iterations())),
            ticks: self
                .limits
                .ticks
                .map(|l| l.saturating_add(self.core.total_ticks())),
            cutoff: self.limits.objective_cutoff.map(|c| {
                let c = sign * (c - self.model.offset);
                c + 1e-9 * (1.0 + c.abs())
            }),
            limits: self.limits.clone(),
        }
    }

    /// Values, duals and basis in the model's units.
    fn solution(&mut self) -> Solution {
        let (m, n) = (self.core.m, self.core.n);
        let mut x: Vec<f64> = (0..n)
            .map(|j| match self.core.status[j] {
                VarStatus::AtLower => self.model.col_lower[j],
                VarStatus::AtUpper => self.model.col_upper[j],
                _ => 0.0,
            })
            .collect();
        for i in 0..m {
            let j = self.core.basic[i] as usize;
            if j < n {
                x[j] = self.core.xb[i] * self.scaling.col[j];
            }
        }
        let mut row_activity = vec![0.0; m];
        for (j, &v) in x.iter().enumerate() {
            if v != 0.0 {
                for (i, a) in self.model.cols.iter(j) {
                    row_activity[i] += a * v;
                }
            }
        }
        let sign = self.model.sense.sign();
        let mut y = Vec::new();
        self.core.true_dual_vector(&mut y);
        for (i, v) in y.iter_mut().enumerate() {
            *v *= sign * self.scaling.row[i];
        }
        let reduced_costs = (0..n)
            .map(|j| {
                self.model.cost[j] - self.model.cols.iter(j).map(|(i, a)| a * y[i]).sum::<f64>()
            })
            .collect();
        Solution {
            objective: self.model.objective(&x),
            x,
            row_activity,
            y,
            reduced_costs,
            basis: self.basis(),
        }
    }

    /// Largest violation of a bound, and of the sign of a reduced cost, in the model's units; costs relative to the
    /// largest one, values relative to their own size.
    fn unscaled_violation(&self, s: &Solution) -> (f64, f64) {
        let model = &*self.model;
        let mut primal = 0.0f64;
        let mut check = |v: f64, l: f64, u: f64| {
            primal = primal.max((l - v).max(v - u) / (1.0 + v.abs() * 1e-2));
        };
        for (j, &v) in s.x.iter().enumerate() {
            check(v, model.col_lower[j], model.col_upper[j]);
        }
        for (i, &v) in s.row_activity.iter().enumerate() {
            check(v, model.row_lower[i], model.row_upper[i]);
        }
        let sign = model.sense.sign();
        let mut dual = 0.0f64;
        let mut check = |status: VarStatus, d: f64, l: f64, u: f64| {
            let d = sign * d;
            let bad = match status {
                _ if l == u => 0.0,
                VarStatus::Basic | VarStatus::Free => d.abs(),
                VarStatus::AtLower => -d,
                VarStatus::AtUpper => d,
            };
            dual = dual.max(bad);
        };
        let largest = model.cost.iter().fold(1.0f64, |a, c| a.max(c.abs()));
        for (j, &d) in s.reduced_costs.iter().enumerate() {
            check(
                s.basis.cols[j],
                d / largest.sqrt(),
                model.col_lower[j],
                model.col_upper[j],
            );
        }
        for (i, &y) in s.y.iter().enumerate() {
            check(
                s.basis.rows[i],
                y / largest.sqrt(),
                model.row_lower[i],
                model.row_upper[i],
            );
        }
        (primal, dual)
    }

    fn infeasible(&self) -> LpOutcome {
        let mut y: Vec<f64> = (0..self.core.m)
            .map(|i| self.core.rho.value[self.core.factor.position(i)] * self.scaling.row[i])
            .collect();
        let largest = y.iter().fold(0.0f64, |a, v| a.max(v.abs()));
        if largest > 0.0 {
            let factor = crate::scaling::power_of_two(1.0 / largest);
            y.iter_mut().for_each(|v| *v *= factor);
        }
        LpOutcome::Infeasible(FarkasRay { y })
    }

    fn unbounded(&mut self, q: u32) -> LpOutcome {
        let (n, q) = (self.core.n, q as usize);
        let x = self.solution().x;
        let step = if self.core.d[q] < 0.0 { 1.0 } else { -1.0 };
        let mut direction = vec![0.0; n];
        if q < n {
            direction[q] = step * self.scaling.col[q];
        }
        // `solution` does not touch `col`, which still holds B^-1 a_q.
        for &i in &self.core.col.index {
            let j = self.core.basic[i as usize] as usize;
            if j < n {
                direction[j] = -step * self.core.col.value[i as usize] * self.scaling.col[j];
            }
        }
        LpOutcome::Unbounded(Ray { x, direction })
    }

    /// The bound proven by the working duals, if it reaches the cutoff.
    fn cutoff(&mut self) -> Option<LpOutcome> {
        let sign = self.model.sense.sign();
        let target = self.limits.objective_cutoff?;
        let mut y = Vec::new();
        self.core.working_dual_vector(&mut y);
        for (i, v) in y.iter_mut().enumerate() {
            *v *= sign * self.scaling.row[i];
        }
        let bound = safe_bound(&self.model, &y);
        (sign * (bound - target) >= 0.0).then_some(LpOutcome::CutoffReached { bound, y })
    }

    /// The present basis.
    pub fn basis(&self) -> Basis {
        let core = &self.core;
        let rows = core.status[core.n..]
            .iter()
            .map(|s| match s {
                // A logical is minus its row's activity.
                VarStatus::AtLower => VarStatus::AtUpper,
                VarStatus::AtUpper => VarStatus::AtLower,
                other => *other,
            })
            .collect();
        Basis {
            cols: core.status[..core.n].to_vec(),
            rows,
        }
    }

    /// Multipliers of the rows that make the tableau row of a basic column: with `rho` the result, `rho . A x` has
    /// coefficient 1 in that column and 0 in every other basic column, and the coefficient of row `i`'s activity is
    /// `-rho[i]` where that row is nonbasic. This is what Gomory and related cuts are read off from. `None` if the column
    /// is not basic.
    ///
    /// ```
    /// use remat_lp::{ModelBuilder, Sense, Settings, Solver};
    /// let mut b = ModelBuilder::new(Sense::Maximise);
    /// let x = b.add_col(1.0, 0.0..);
    /// b.add_row(..=3.0, [(x, 2.0)]);
    /// let mut s = Solver::new(b.build()?, Settings::default());
    /// s.solve();
    /// assert_eq!(s.tableau_multipliers(x), Some(vec![0.5]));
    /// # Ok::<(), remat_lp::ModelError>(())
    /// ```
    ///
    /// # Panics
    /// If the model has no such column.
    pub fn tableau_multipliers(&mut self, col: ColId) -> Option<Vec<f64>> {
        let core = &mut self.core;
        assert!(
            col.index() < core.n,
            "column {} does not exist",
            col.index()
        );
        if core.status[col.index()] != VarStatus::Basic {
            return None;
        }
        if !core.factored {
            core.refactor();
        }
        let at = core.basic.iter().position(|&v| v == col.0)?;
        core.work.clear();
        core.work.value[at] = 1.0;
        core.work.index.push(at as u32);
        core.factor.btran(&mut core.work, core.density.rho);
        let c = self.scaling.col[col.index()];
        let rho = (0..core.m)
            .map(|i| core.work.value[core.factor.position(i)] * self.scaling.row[i] * c)
            .collect();
        core.work.clear();
        Some(rho)
    }

    /// Goes to another basis. One that is incomplete or singular is completed with row variables.
    ///
    /// # Errors
    /// [`ModelError::Length`] if it belongs to a model of another size.
    pub fn set_basis(&mut self, basis: &Basis) -> Result<(), ModelError> {
        let core = &mut self.core;
        for (what, expected, found) in [
            ("basis columns", core.n, basis.cols.len()),
            ("basis rows", core.m, basis.rows.len()),
        ] {
            if expected != found {
                return Err(ModelError::Length {
                    what,
                    expected,
                    found,
                });
            }
        }
        let flipped = basis.rows.iter().map(|s| match s {
            VarStatus::AtLower => VarStatus::AtUpper,
            VarStatus::AtUpper => VarStatus::AtLower,
            other => *other,
        });
        let status: Vec<VarStatus> = basis.cols.iter().copied().chain(flipped).collect();
        if status == core.status {
            return Ok(());
        }
        core.restore_bounds();
        let same_basics = status
            .iter()
            .zip(&core.status)
            .all(|(a, b)| (*a == VarStatus::Basic) == (*b == VarStatus::Basic));
        if same_basics {
            // Only bounds differ: factorisation and weights stay.
            core.status.copy_from_slice(&status);
            core.primal_valid = false;
        } else {
            core.install_basis(&status);
        }
        core.settle_nonbasic();
        Ok(())
    }

    /// Changes a column's bounds. The basis stays; solving again takes few pivots.
    ///
    /// # Errors
    /// Bounds that are crossed or NaN, or a column that does not exist.
    pub fn set_col_bounds(
        &mut self,
        col: ColId,
        bounds: impl Into<Bounds>,
    ) -> Result<(), ModelError> {
        let bounds = bounds.into();
        let j = col.index();
        self.in_range("column", j, self.core.n)?;
        check_bounds("column", bounds)?;
        if self.model.col_bounds(col) == bounds {
            return Ok(());
        }
        let model = Arc::make_mut(&mut self.model);
        model.col_lower[j] = bounds.lower;
        model.col_upper[j] = bounds.upper;
        let c = self.scaling.col[j];
        self.core_bounds(j, bounds.lower / c, bounds.upper / c);
        Ok(())
    }

    /// Changes a row's bounds.
    ///
    /// # Errors
    /// Bounds that are crossed or NaN, or a row that does not exist.
    pub fn set_row_bounds(
        &mut self,
        row: RowId,
        bounds: impl Into<Bounds>,
    ) -> Result<(), ModelError> {
        let bounds = bounds.into();
        let i = row.index();
        self.in_range("row", i, self.core.m)?;
        check_bounds("row", bounds)?;
        let model = Arc::make_mut(&mut self.model);
        model.row_lower[i] = bounds.lower;
        model.row_upper[i] = bounds.upper;
        let r = self.scaling.row[i];
        self.core_bounds(self.core.n + i, -bounds.upper * r, -bounds.lower * r);
        Ok(())
    }

    fn core_bounds(&mut self, j: usize, lower: f64, upper: f64) {
        let core = &mut self.core;
        core.lower[j] = lower;
        core.upper[j] = upper;
        core.wl[j] = lower;
        core.wu[j] = upper;
        let old = core.x[j];
        core.settle(j);
        if core.status[j] == VarStatus::Basic || core.x[j] != old {
            core.primal_valid = false;
        }
    }

    /// Changes a column's cost.
    ///
    /// # Errors
    /// A cost that is not finite, or a column that does not exist.
    pub fn set_cost(&mut self, col: ColId, cost: f64) -> Result<(), ModelError> {
        let j = col.index();
        self.in_range("column", j, self.core.n)?;
        if !cost.is_finite() {
            return Err(ModelError::NotFinite {
                what: format!("cost of column {j}"),
                value: cost,
            });
        }
        Arc::make_mut(&mut self.model).cost[j] = cost;
        let c = self.model.sense.sign() * cost * self.scaling.col[j];
        self.core.cost[j] = c;
        self.core.wc[j] = c;
        self.core.dual_valid = false;
        Ok(())
    }

    fn in_range(&self, what: &'static str, index: usize, len: usize) -> Result<(), ModelError> {
        if index < len {
            Ok(())
        } else {
            Err(ModelError::OutOfRange { what, index, len })
        }
    }

    /// Adds rows, whose variables become basic: a dual feasible basis stays dual feasible. Returns the first new id;
    /// the others follow.
    ///
    /// # Errors
    /// Any mistake in a row; then nothing is added.
    pub fn add_rows(&mut self, rows: &[NewRow]) -> Result<RowId, ModelError> {
        let base = self.core.m;
        Arc::make_mut(&mut self.model).append_rows(rows)?;
        let model = &self.model;
        let mut extra = crate::matrix::Compressed::default();
        for i in base..model.num_rows() {
            let r = if self.settings.scaling {
                self.scaling.fit_row(model.rows.iter(i))
            } else {
                1.0
            };
            self.scaling.row.push(r);
            let col = &self.scaling.col;
            extra.push(model.rows.iter(i).map(|(j, v)| (j as u32, r * v * col[j])));
            self.core.lower.push(-model.row_upper[i] * r);
            self.core.upper.push(-model.row_lower[i] * r);
        }
        self.core.add_rows(&extra);
        Ok(RowId(base as u32))
    }

    /// Adds columns at the bound nearest zero: a primal feasible basis stays primal feasible if that bound is zero.
    /// Factorisation and weights are kept. Returns the first new id; the others follow.
    ///
    /// # Errors
    /// Any mistake in a column; then nothing is added.
    pub fn add_cols(&mut self, cols: &[NewCol]) -> Result<ColId, ModelError> {
        let base = self.core.n;
        Arc::make_mut(&mut self.model).append_cols(cols)?;
        let model = &self.model;
        let sign = model.sense.sign();
        let mut extra = crate::matrix::Compressed::default();
        let (mut lower, mut upper, mut cost) = (Vec::new(), Vec::new(), Vec::new());
        for j in base..model.num_cols() {
            let c = if self.settings.scaling {
                self.scaling.fit_col(model.cols.iter(j))
            } else {
                1.0
            };
            self.scaling.col.push(c);
            let row = &self.scaling.row;
            extra.push(model.cols.iter(j).map(|(i, v)| (i as u32, row[i] * v * c)));
            lower.push(model.col_lower[j] / c);
            upper.push(model.col_upper[j] / c);
            cost.push(sign * model.cost[j] * c);
        }
        self.core.add_cols(&extra, &lower, &upper, &cost);
        Ok(ColId(base as u32))
    }

    /// Deletes rows; later ones move up. Rows whose variable is basic (slack rows) go without a trace; for others the
    /// basis is repaired at the next solve.
    ///
    /// # Errors
    /// A row that does not exist; then nothing is deleted.
    pub fn delete_rows(&mut self, rows: &[RowId]) -> Result<(), ModelError> {
        let m = self.core.m;
        let mut keep = vec![true; m];
        for r in rows {
            self.in_range("row", r.index(), m)?;
            keep[r.index()] = false;
        }
        if rows.is_empty() {
            return Ok(());
        }
        let map = renumbering(&keep);
        let model = Arc::make_mut(&mut self.model);
        model.rows.retain_outer(&keep);
        model.cols.remap_inner(&map);
        retain(&mut model.row_lower, &keep);
        retain(&mut model.row_upper, &keep);
        if !model.row_names.is_empty() {
            retain(&mut model.row_names, &keep);
        }
        retain(&mut self.scaling.row, &keep);
        self.core.delete_rows(&keep, &map);
        Ok(())
    }

    /// Deletes columns; later ones move up. Nonbasic columns at zero go without a trace.
    ///
    /// # Errors
    /// A column that does not exist; then nothing is deleted.
    pub fn delete_cols(&mut self, cols: &[ColId]) -> Result<(), ModelError> {
        let n = self.core.n;
        let mut keep = vec![true; n];
        for c in cols {
            self.in_range("column", c.index(), n)?;
            keep[c.index()] = false;
        }
        if cols.is_empty() {
            return Ok(());
        }
        let map = renumbering(&keep);
        let model = Arc::make_mut(&mut self.model);
        model.cols.retain_outer(&keep);
        model.rows.remap_inner(&map);
        retain(&mut model.cost, &keep);
        retain(&mut model.col_lower, &keep);
        retain(&mut model.col_upper, &keep);
        retain(&mut model.integer, &keep);
        if !model.col_names.is_empty() {
            retain(&mut model.col_names, &keep);
        }
        retain(&mut self.scaling.col, &keep);
        self.core.delete_cols(&keep, &map);
        Ok(())
    }
}

/// New index of every kept item; `u32::MAX` for the others.
fn renumbering(keep: &[bool]) -> Vec<u32> {
    let mut next = 0;
    keep.iter()
        .map(|&k| {
            if k {
                next += 1;
                next - 1
            } else {
                u32::MAX
            }
        })
        .collect()
}

fn retain<T>(v: &mut Vec<T>, keep: &[bool]) {
    let mut k = 0;
    v.retain(|_| {
        k += 1;
        keep[k - 1]
    });
}

fn build_core(model: &Model, scaling: &Scaling, settings: &Settings) -> Core {
    let (m, n) = (model.num_rows(), model.num_cols());
    let sign = model.sense.sign();
    let mut a = model.cols.clone();
    let mut at = model.rows.clone();
    for j in 0..n {
        for pos in a.start[j]..a.start[j + 1] {
            a.value[pos] *= scaling.row[a.index[pos] as usize] * scaling.col[j];
        }
    }
    for i in 0..m {
        for pos in at.start[i]..at.start[i + 1] {
            at.value[pos] *= scaling.row[i] * scaling.col[at.index[pos] as usize];
        }
    }
    let mut lower: Vec<f64> = (0..n)
        .map(|j| model.col_lower[j] / scaling.col[j])
        .collect();
    let mut upper: Vec<f64> = (0..n)
        .map(|j| model.col_upper[j] / scaling.col[j])
        .collect();
    lower.extend((0..m).map(|i| -model.row_upper[i] * scaling.row[i]));
    upper.extend((0..m).map(|i| -model.row_lower[i] * scaling.row[i]));
    let mut cost: Vec<f64> = (0..n)
        .map(|j| sign * model.cost[j] * scaling.col[j])
        .collect();
    cost.resize(n + m, 0.0);
    Core::new(a, at, lower, upper, cost, settings)
}

/// What a numerical limit means to callers that only ask for an answer.
impl From<LimitKind> for LpOutcome {
    fn from(kind: LimitKind) -> Self {
        LpOutcome::Limit(kind)
    }
}
