//! The restricted master: some columns, some rows, every static column, and the LP solver that
//! holds them.

mod approach;
mod basis;
mod columns;
mod purge;
mod rows;

pub(super) use basis::Basics;

use super::relaxation::Values;
use super::{Branch, Priced, Program, Sense, Work};
use crate::entries::add_up;
use remat_lp::{
    Algorithm, ColId, Limits, LpOutcome, ModelBuilder, ModelError, Settings, Solution, Solver,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Slack column for overflow of the resource. Its cost rises until the column is 0.
const OVERFLOW: ColId = ColId(0);
/// Slack column for elastic rows. Its cost rises likewise.
const MISSING: ColId = ColId(1);
/// Number of the first static column.
const STATICS: usize = 2;
/// Limit on the pivots of one solve, and its allowance for each row and column. A solve above it
/// cycles.
const SOLVE_PIVOT_LIMIT: u64 = 10_000;
const PIVOTS_PER_ROW_AND_COLUMN: u64 = 20;

/// The restricted master program. Columns of the LP: the slack columns for overflow and elastic
/// rows, the static columns, the priced columns.
pub struct Master<P: Program> {
    program: Arc<P>,
    solver: Solver,
    rows: Vec<P::Row>,
    row_set: BTreeSet<P::Row>,
    /// Consecutive solves in which each row was slack.
    row_age: Vec<u32>,
    /// Number of parts of each row.
    row_parts: Vec<u32>,
    branches: Vec<Branch<P::Quantity>>,
    columns: Vec<P::Column>,
    column_set: BTreeSet<P::Column>,
    column_age: Vec<u32>,
    /// Parts of rows, by block.
    parts: Vec<Vec<(u32, P::Part)>>,
    columns_of: Vec<Vec<u32>>,
    /// Columns of the incumbent: they keep the master feasible under any rows.
    kept: BTreeSet<P::Column>,
    statics: u32,
    /// Costs of the slack columns for overflow and elastic rows.
    penalties: [f64; 2],
    /// Exclusions in force: excluded columns stay in the master with the bounds [0, 0].
    exclusions: Arc<P::Exclusions>,
    stop: Option<Arc<AtomicBool>>,
    /// Work of solvers that were replaced.
    spent: Work,
}

impl<P: Program> Clone for Master<P> {
    fn clone(&self) -> Self {
        Master {
            program: self.program.clone(),
            solver: self.solver.clone(),
            rows: self.rows.clone(),
            row_set: self.row_set.clone(),
            row_age: self.row_age.clone(),
            row_parts: self.row_parts.clone(),
            branches: self.branches.clone(),
            columns: self.columns.clone(),
            column_set: self.column_set.clone(),
            column_age: self.column_age.clone(),
            parts: self.parts.clone(),
            columns_of: self.columns_of.clone(),
            kept: self.kept.clone(),
            statics: self.statics,
            penalties: self.penalties,
            exclusions: self.exclusions.clone(),
            stop: self.stop.clone(),
            spent: self.spent,
        }
    }
}

impl<P: Program> Master<P> {
    /// A master of the rows and columns that the program starts from.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses the program, which would be a defect here.
    pub fn new(program: Arc<P>, settings: Settings) -> Result<Self, ModelError> {
        let cost_unit = program.cost_unit();
        let base = program.base_cost().max(1) as f64 / cost_unit;
        let all = 2.0 * base;
        let penalties = [
            all * program.resource_unit() / program.resource_capacity().max(1.0),
            all,
        ];
        let mut lp = ModelBuilder::new(remat_lp::Sense::Minimise);
        lp.set_name("restricted master");
        lp.set_offset(program.offset() as f64 / cost_unit);
        let statics = program.static_costs();
        let costs = statics.iter().map(|c| *c as f64 / cost_unit);
        for cost in penalties.into_iter().chain(costs) {
            lp.add_col(cost, 0.0..);
        }
        let blocks = program.blocks();
        let (rows, columns) = program.start();
        let mut master = Master {
            solver: Solver::new(lp.build()?, settings),
            rows: Vec::new(),
            row_set: BTreeSet::new(),
            row_age: Vec::new(),
            row_parts: Vec::new(),
            branches: Vec::new(),
            columns: Vec::new(),
            column_set: BTreeSet::new(),
            column_age: Vec::new(),
            parts: vec![Vec::new(); blocks],
            columns_of: vec![Vec::new(); blocks],
            kept: BTreeSet::new(),
            statics: statics.len() as u32,
            penalties,
            exclusions: Arc::new(program.no_exclusions()),
            stop: None,
            spent: Work::default(),
            program,
        };
        master.add_rows(rows)?;
        master.add_columns(columns)?;
        Ok(master)
    }

    /// The program.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// The rows, in the order of the LP.
    pub fn rows(&self) -> &[P::Row] {
        &self.rows
    }

    /// Returns whether a row is in the master.
    pub fn contains(&self, row: &P::Row) -> bool {
        self.row_set.contains(row)
    }

    /// Number of columns in the master, without the slack columns.
    pub fn num_columns(&self) -> usize {
        self.columns.len() + self.statics as usize
    }

    /// Work so far.
    pub fn work(&self) -> Work {
        self.spent + Work::of(&self.solver)
    }

    /// Sets a flag that ends a solve early.
    pub fn stop_when(&mut self, stop: Option<Arc<AtomicBool>>) {
        self.stop = stop;
    }

    /// Solves from the present basis. The pivots are limited: a solve that exceeds the limit for
    /// masters of this size ends.
    pub fn solve(&mut self, algorithm: Algorithm) -> LpOutcome {
        let size = (self.rows.len() + self.num_columns()) as u64;
        self.solver.set_limits(Limits {
            iterations: Some(SOLVE_PIVOT_LIMIT + PIVOTS_PER_ROW_AND_COLUMN * size),
            interrupt: self.stop.clone(),
            ..Limits::default()
        });
        self.solver.solve_with(algorithm)
    }

    /// Starts the next solve from the slack basis with a new random seed: the old seed would lead a
    /// second fresh start into the same failure.
    pub fn forget_basis(&mut self) {
        self.spent = self.work();
        let mut settings = self.solver.settings().clone();
        settings.seed += 1;
        self.solver = Solver::new(self.solver.model().clone(), settings);
    }

    /// Number of columns before the first priced one.
    fn before(&self) -> usize {
        STATICS + self.statics as usize
    }

    /// The values of priced and static columns in a solution.
    pub(super) fn values(&self, solution: &Solution) -> Values<P::Column> {
        let (statics, values) = solution.x[STATICS..].split_at(self.statics as usize);
        let columns = self.columns.iter().cloned();
        Values::new(columns.zip(values.iter().copied()), statics)
    }

    /// Overflow of the resource, in units of [`Rows::resource_unit`](super::Rows::resource_unit).
    pub fn overflow(&self, solution: &Solution) -> f64 {
        solution.value(OVERFLOW)
    }

    /// Returns whether the resource suffices and every elastic row is met.
    pub fn is_met(&self, solution: &Solution) -> bool {
        [OVERFLOW, MISSING]
            .iter()
            .all(|c| solution.value(*c) <= 1e-6)
    }

    /// Raises the costs of the slack columns by a factor.
    ///
    /// # Errors
    /// [`ModelError`] if a cost overflows.
    pub fn raise_penalties(&mut self, factor: f64) -> Result<(), ModelError> {
        for (column, penalty) in [OVERFLOW, MISSING].into_iter().zip(&mut self.penalties) {
            *penalty *= factor;
            self.solver.set_cost(column, *penalty)?;
        }
        Ok(())
    }

    /// The objective of a solution in the program's unit of cost, slack columns included.
    pub fn value(&self, solution: &Solution) -> f64 {
        solution.objective * self.program.cost_unit()
    }

    /// The duals of a solution in the program's unit of cost, per unit of the resource for
    /// [`Sense::AtMost`].
    pub fn duals(&self, solution: &Solution) -> Vec<f64> {
        self.duals_of(&solution.y)
    }

    /// Converts duals of the LP in the same way.
    pub(super) fn duals_of(&self, y: &[f64]) -> Vec<f64> {
        let rows = self.rows.iter().zip(y);
        rows.map(|(row, y)| y * self.dual_unit(row)).collect()
    }

    /// The value of a dual of 1 of the LP in the program's unit of cost, per unit of the resource
    /// for [`Sense::AtMost`].
    fn dual_unit(&self, row: &P::Row) -> f64 {
        let unit = self.program.cost_unit();
        match self.program.row_traits(row).sense {
            Sense::AtMost => unit / self.program.resource_unit(),
            Sense::AtLeast | Sense::Equal => unit,
        }
    }

    /// Prices all columns under the duals of a solution.
    pub fn price(
        &self,
        solution: &Solution,
        per_block: usize,
        tolerance: f64,
    ) -> Priced<P::Column> {
        let duals = self.duals(solution);
        let tolerance = tolerance * self.program.cost_unit();
        self.program
            .price(&self.exclusions, &self.rows, &duals, per_block, tolerance)
    }

    /// The value of the relaxation with one more branching, in the program's unit of cost, and the
    /// work of the trial. The value is the one after `iterations` simplex iterations, or infinite
    /// if it is above `most`. The master stays as it is.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub fn probe(
        &self,
        branch: &Branch<P::Quantity>,
        iterations: u64,
        most: f64,
    ) -> Result<(f64, Work), ModelError> {
        let mut trial = self.solver.clone();
        trial.add_rows(&[self.new_row(&self.program.branch_row(branch))])?;
        trial.set_limits(Limits {
            iterations: Some(iterations),
            objective_cutoff: Some(most / self.program.cost_unit()),
            interrupt: self.stop.clone(),
            ..Limits::default()
        });
        let value = match trial.solve_with(Algorithm::Dual) {
            LpOutcome::Optimal(s) => self.value(&s),
            LpOutcome::Limit(_) => trial.basic_objective() * self.program.cost_unit(),
            _ => f64::INFINITY,
        };
        Ok((value, Work::of(&trial) - Work::of(&self.solver)))
    }
}

/// Adds up entries with the same index and drops zeros.
fn merged(mut entries: Vec<(u32, i64)>) -> impl Iterator<Item = (u32, i64)> {
    entries.sort_unstable_by_key(|e| e.0);
    add_up(&mut entries);
    entries.into_iter().filter(|e| e.1 != 0)
}
