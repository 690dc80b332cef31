//! The restricted program: some intervals, some rows, every choice, and the LP solver that holds them.

mod basis;
mod purge;

pub(super) use basis::Basics;

use super::values::Values;
use super::{Branch, Nature, Permits, Pricing, Program, Sense, Work};
use remat_lp::{
    Algorithm, Bounds, ColId, Limits, LpOutcome, ModelBuilder, ModelError, NewCol, NewRow, RowId,
    Settings, Solution, Solver,
};
use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Follows the changes of a program and its solves, to replay them elsewhere. Purging is not reported.
pub trait Journal: Send {
    /// Rows were added.
    fn rows(&mut self, rows: &[NewRow]);
    /// Columns were added.
    fn cols(&mut self, cols: &[NewCol]);
    /// The program was solved: objective without offset, wall-clock seconds, simplex iterations.
    fn solved(&mut self, objective: f64, seconds: f64, iterations: u64);
}

/// What memory rows lack; its cost rises until it is not needed.
const OVERFLOW: ColId = ColId(0);
/// What elastic rows lack, likewise.
const MISSING: ColId = ColId(1);
/// Number of the first choice.
const CHOICES: usize = 2;
/// A solve that takes more pivots than these, and so many more for each row and column, goes round in circles. What was seen took four for each
/// at most.
const LEAST_PIVOTS: u64 = 10_000;
const PIVOTS: u64 = 20;

/// The restricted master program. Columns of the LP: the overflow, what is missing, the choices, the intervals.
pub struct Master<P: Program> {
    program: Arc<P>,
    solver: Solver,
    rows: Vec<P::Row>,
    row_set: BTreeSet<P::Row>,
    /// Solves in a row in which the row was slack.
    row_age: Vec<u32>,
    branches: Vec<Branch<P::Quantity>>,
    columns: Vec<P::Column>,
    column_set: BTreeSet<P::Column>,
    column_age: Vec<u32>,
    /// Parts of rows that concern each tensor.
    uses: Vec<Vec<(u32, P::Use)>>,
    columns_of: Vec<Vec<u32>>,
    /// Intervals of the best schedule known: with them the program has a point, whatever rows come.
    kept: BTreeSet<P::Column>,
    choices: u32,
    /// Costs of overflow and of what is missing.
    penalties: [f64; 2],
    /// What is not permitted is in the program with the bounds [0, 0].
    permits: Arc<Permits>,
    stop: Option<Arc<AtomicBool>>,
    /// Counters of solvers that were given up.
    spent: Work,
    /// Behind a lock only so that trials can share the program.
    journal: Option<Mutex<Box<dyn Journal>>>,
}

impl<P: Program> Clone for Master<P> {
    /// The same program; the journal, if there is one, stays with the original.
    fn clone(&self) -> Self {
        Master {
            program: self.program.clone(),
            solver: self.solver.clone(),
            rows: self.rows.clone(),
            row_set: self.row_set.clone(),
            row_age: self.row_age.clone(),
            branches: self.branches.clone(),
            columns: self.columns.clone(),
            column_set: self.column_set.clone(),
            column_age: self.column_age.clone(),
            uses: self.uses.clone(),
            columns_of: self.columns_of.clone(),
            kept: self.kept.clone(),
            choices: self.choices,
            penalties: self.penalties,
            permits: self.permits.clone(),
            stop: self.stop.clone(),
            spent: self.spent,
            journal: None,
        }
    }
}

impl<P: Program> Master<P> {
    /// The program with the rows and intervals that it starts from.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses the program, which would be a defect here.
    pub fn new(
        program: Arc<P>,
        settings: Settings,
        mut journal: Option<Box<dyn Journal>>,
    ) -> Result<Self, ModelError> {
        let cost_unit = program.cost_unit();
        let base = program.base_cost().max(1) as f64 / cost_unit;
        let all = 2.0 * base;
        let penalties = [
            all * program.memory_unit() / program.capacity().max(1.0),
            all,
        ];
        let mut lp = ModelBuilder::new(remat_lp::Sense::Minimise);
        lp.set_name("intervals");
        lp.set_offset(program.offset() as f64 / cost_unit);
        let choices = program.choice_costs();
        let costs = choices.iter().map(|c| *c as f64 / cost_unit);
        let first: Vec<NewCol> = penalties
            .into_iter()
            .chain(costs)
            .map(|cost| NewCol::new(cost, 0.0.., []))
            .collect();
        for c in &first {
            lp.add_col(c.cost, c.bounds);
        }
        if let Some(journal) = &mut journal {
            journal.cols(&first);
        }
        let extent = program.extent();
        let (rows, columns) = program.start();
        let mut master = Master {
            solver: Solver::new(lp.build()?, settings),
            rows: Vec::new(),
            row_set: BTreeSet::new(),
            row_age: Vec::new(),
            branches: Vec::new(),
            columns: Vec::new(),
            column_set: BTreeSet::new(),
            column_age: Vec::new(),
            uses: vec![Vec::new(); extent.tensors],
            columns_of: vec![Vec::new(); extent.tensors],
            kept: BTreeSet::new(),
            choices: choices.len() as u32,
            penalties,
            permits: Arc::new(Permits::all(extent)),
            stop: None,
            spent: Work::default(),
            journal: journal.map(Mutex::new),
            program,
        };
        master.add_rows(rows)?;
        master.add_columns(columns)?;
        Ok(master)
    }

    /// The program whose columns and rows these are.
    pub fn program(&self) -> &P {
        &self.program
    }

    /// The rows, in the order of the LP's.
    pub fn rows(&self) -> &[P::Row] {
        &self.rows
    }

    /// Whether a row is in the program.
    pub fn contains(&self, row: &P::Row) -> bool {
        self.row_set.contains(row)
    }

    /// Number of columns in the program, without those for what it lacks.
    pub fn num_columns(&self) -> usize {
        self.columns.len() + self.choices as usize
    }

    /// Work so far.
    pub fn work(&self) -> Work {
        self.spent + Work::of(&self.solver)
    }

    /// Ends a solve early once the flag is set.
    pub fn stop_when(&mut self, stop: Option<Arc<AtomicBool>>) {
        self.stop = stop;
    }

    /// Solves from the present basis. What takes far more pivots than programs of this size do ends at that limit.
    pub fn solve(&mut self, algorithm: Algorithm) -> LpOutcome {
        let clock = std::time::Instant::now();
        let size = (self.rows.len() + self.num_columns()) as u64;
        self.solver.set_limits(Limits {
            iterations: Some(LEAST_PIVOTS + PIVOTS * size),
            interrupt: self.stop.clone(),
            ..Limits::default()
        });
        let before = self.solver.stats().iterations();
        let outcome = self.solver.solve_with(algorithm);
        if let LpOutcome::Optimal(solution) = &outcome {
            let objective = solution.objective - self.solver.model().offset();
            let iterations = self.solver.stats().iterations() - before;
            self.tell(|journal| {
                journal.solved(objective, clock.elapsed().as_secs_f64(), iterations)
            });
        }
        outcome
    }

    fn tell(&mut self, what: impl FnOnce(&mut dyn Journal)) {
        if let Some(journal) = &mut self.journal {
            let journal = journal.get_mut();
            what(&mut **journal.unwrap_or_else(PoisonError::into_inner));
        }
    }

    /// Starts the next solve from the slack basis, with other random numbers: with the same ones a second fresh start would come to nothing
    /// as well.
    pub fn forget_basis(&mut self) {
        self.spent = self.work();
        let mut settings = self.solver.settings().clone();
        settings.seed += 1;
        self.solver = Solver::new(self.solver.model().clone(), settings);
    }

    /// First column of the intervals.
    fn before(&self) -> usize {
        CHOICES + self.choices as usize
    }

    /// The intervals and choices of a solution.
    pub(super) fn values(&self, solution: &Solution) -> Values<P::Column> {
        let (choices, values) = solution.x[CHOICES..].split_at(self.choices as usize);
        let columns = self.columns.iter().copied();
        Values::new(columns.zip(values.iter().copied()), choices)
    }

    /// Memory that does not fit, in units of [`Program::memory_unit`].
    pub fn overflow(&self, solution: &Solution) -> f64 {
        solution.value(OVERFLOW)
    }

    /// Whether memory fits and every row is met.
    pub fn is_met(&self, solution: &Solution) -> bool {
        [OVERFLOW, MISSING]
            .iter()
            .all(|c| solution.value(*c) <= 1e-6)
    }

    /// Makes what the program lacks dearer by a factor.
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

    /// The objective of a solution in the instance's unit of cost, everything included.
    pub fn value(&self, solution: &Solution) -> f64 {
        solution.objective * self.program.cost_unit()
    }

    /// The duals of a solution for costs in the instance's unit, per byte for memory rows.
    pub fn duals(&self, solution: &Solution) -> Vec<f64> {
        let unit = self.program.cost_unit();
        let per_byte = unit / self.program.memory_unit();
        let dual = |(row, y): (&P::Row, &f64)| match self.program.nature(row).sense {
            Sense::Memory => y * per_byte,
            Sense::AtLeast | Sense::Equal => y * unit,
        };
        self.rows.iter().zip(&solution.y).map(dual).collect()
    }

    /// Prices all intervals under the duals of a solution.
    pub fn price(
        &self,
        solution: &Solution,
        per_tensor: usize,
        tolerance: f64,
    ) -> Pricing<P::Column> {
        let duals = self.duals(solution);
        let tolerance = tolerance * self.program.cost_unit();
        self.program
            .price(&self.permits, &self.rows, &duals, per_tensor, tolerance)
    }

    /// What one unit of a coefficient or right side of a row is in the LP.
    fn scale(&self, nature: Nature) -> f64 {
        match nature.sense {
            Sense::Memory => 1.0 / self.program.memory_unit(),
            Sense::AtLeast | Sense::Equal => 1.0,
        }
    }

    /// A row over the columns that are there.
    fn new_row(&self, row: &P::Row) -> NewRow {
        let program = &self.program;
        let nature = program.nature(row);
        let scale = self.scale(nature);
        let choices = program.choice_entries(row).into_iter();
        let mut entries: Vec<(u32, i64)> = choices.map(|(c, v)| (CHOICES as u32 + c, v)).collect();
        let before = self.before() as u32;
        program.uses(row, &mut |tensor, part| {
            for &k in &self.columns_of[tensor] {
                let v = program.coefficient(row, part, &self.columns[k as usize]);
                if v != 0 {
                    entries.push((before + k, v));
                }
            }
        });
        let mut entries: Vec<(ColId, f64)> = merged(entries)
            .map(|(k, v)| (ColId(k), v as f64 * scale))
            .collect();
        let right = program.right_side(row) as f64 * scale;
        if nature.sense == Sense::Memory {
            entries.push((OVERFLOW, -1.0));
        } else if nature.elastic {
            entries.push((MISSING, 1.0));
        }
        match nature.sense {
            Sense::Memory => NewRow::new(..=right, entries),
            Sense::AtLeast => NewRow::new(right.., entries),
            Sense::Equal => NewRow::new(right..=right, entries),
        }
    }

    /// Adds rows that are not there yet; returns how many.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses one, which would be a defect here.
    pub fn add_rows(&mut self, rows: Vec<P::Row>) -> Result<usize, ModelError> {
        let mut new = Vec::new();
        for row in rows {
            if !self.row_set.insert(row.clone()) {
                continue;
            }
            new.push(self.new_row(&row));
            self.index_row(self.rows.len() as u32, &row);
            self.rows.push(row);
            self.row_age.push(0);
        }
        self.tell(|journal| journal.rows(&new));
        self.solver.add_rows(&new)?;
        Ok(new.len())
    }

    fn index_row(&mut self, r: u32, row: &P::Row) {
        let uses = &mut self.uses;
        self.program
            .uses(row, &mut |tensor, part| uses[tensor].push((r, part)));
    }

    /// Bounds of an interval.
    fn bounds(&self, column: &P::Column) -> Bounds {
        match self.program.is_permitted(column, &self.permits) {
            true => (0.0..).into(),
            false => (0.0..=0.0).into(),
        }
    }

    /// What is permitted.
    pub fn permits(&self) -> &Arc<Permits> {
        &self.permits
    }

    /// Leaves columns out that are not permitted, and lets others in again.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub fn permit(&mut self, permits: Arc<Permits>) -> Result<(), ModelError> {
        if permits == self.permits {
            return Ok(());
        }
        self.permits = permits;
        let choices = self.program.permitted_choices(&self.permits);
        for (k, open) in choices.into_iter().enumerate() {
            let most = if open { f64::INFINITY } else { 0.0 };
            let column = ColId((CHOICES + k) as u32);
            self.solver.set_col_bounds(column, 0.0..=most)?;
        }
        for k in 0..self.columns.len() {
            let bounds = self.bounds(&self.columns[k]);
            let column = ColId((self.before() + k) as u32);
            self.solver.set_col_bounds(column, bounds)?;
        }
        Ok(())
    }

    /// Adds intervals that are not there yet; returns how many.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses one, which would be a defect here.
    pub fn add_columns(
        &mut self,
        columns: impl IntoIterator<Item = P::Column>,
    ) -> Result<usize, ModelError> {
        let cost_unit = self.program.cost_unit();
        let mut new = Vec::new();
        for c in columns {
            if !self.column_set.insert(c) {
                continue;
            }
            let tensor = P::tensor(&c);
            let entry = |&(r, part): &(u32, P::Use)| {
                let v = self.program.coefficient(&self.rows[r as usize], part, &c);
                (v != 0).then_some((r, v))
            };
            let entries: Vec<(u32, i64)> = self.uses[tensor].iter().filter_map(entry).collect();
            let scaled = merged(entries).map(|(r, v)| {
                let nature = self.program.nature(&self.rows[r as usize]);
                (RowId(r), v as f64 * self.scale(nature))
            });
            let cost = self.program.cost(&c) as f64 / cost_unit;
            new.push(NewCol::new(cost, self.bounds(&c), scaled));
            self.columns_of[tensor].push(self.columns.len() as u32);
            self.columns.push(c);
            self.column_age.push(0);
        }
        self.tell(|journal| journal.cols(&new));
        self.solver.add_cols(&new)?;
        Ok(new.len())
    }

    /// Adds intervals, and keeps these and no others from being purged.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses one, which would be a defect here.
    pub fn keep(&mut self, columns: Vec<P::Column>) -> Result<(), ModelError> {
        self.kept = columns.iter().copied().collect();
        self.add_columns(columns)?;
        Ok(())
    }

    /// Makes the branchings of the program these and no others.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub fn set_branches(&mut self, branches: &[Branch<P::Quantity>]) -> Result<(), ModelError> {
        let program = self.program.clone();
        let old: BTreeSet<P::Row> = self
            .branches
            .iter()
            .map(|b| program.branch_row(b))
            .collect();
        let new: BTreeSet<P::Row> = branches.iter().map(|b| program.branch_row(b)).collect();
        let gone = |row: &P::Row| old.contains(row) && !new.contains(row);
        let gone: Vec<RowId> = (0..self.rows.len())
            .filter(|&r| gone(&self.rows[r]))
            .map(|r| RowId(r as u32))
            .collect();
        self.delete(&gone, &[])?;
        self.branches = branches.to_vec();
        self.add_rows(branches.iter().map(|b| program.branch_row(b)).collect())?;
        Ok(())
    }

    /// The value that the relaxation would have with one more branching, in the instance's unit of cost, and the work it takes to
    /// find out: as far as it is known after so many simplex iterations, or infinite if it is above `most`. The program stays
    /// as it is.
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

    fn delete(&mut self, rows: &[RowId], cols: &[ColId]) -> Result<(), ModelError> {
        if rows.is_empty() && cols.is_empty() {
            return Ok(());
        }
        self.solver.delete_rows(rows)?;
        self.solver.delete_cols(cols)?;
        let gone: BTreeSet<u32> = rows.iter().map(|r| r.0).collect();
        for r in &gone {
            self.row_set.remove(&self.rows[*r as usize]);
        }
        retain(&mut self.rows, |r| !gone.contains(&r));
        retain(&mut self.row_age, |r| !gone.contains(&r));
        let before = self.before() as u32;
        let lost: BTreeSet<u32> = cols.iter().map(|c| c.0 - before).collect();
        for c in &lost {
            self.column_set.remove(&self.columns[*c as usize]);
        }
        retain(&mut self.columns, |c| !lost.contains(&c));
        retain(&mut self.column_age, |c| !lost.contains(&c));
        self.uses.iter_mut().for_each(Vec::clear);
        self.columns_of.iter_mut().for_each(Vec::clear);
        let all = std::mem::take(&mut self.rows);
        for (r, row) in all.iter().enumerate() {
            self.index_row(r as u32, row);
        }
        self.rows = all;
        for (k, c) in self.columns.iter().enumerate() {
            self.columns_of[P::tensor(c)].push(k as u32);
        }
        Ok(())
    }
}

/// Adds up entries of one index, drops zeros.
fn merged(mut entries: Vec<(u32, i64)>) -> impl Iterator<Item = (u32, i64)> {
    entries.sort_unstable_by_key(|e| e.0);
    crate::entries::add_up(&mut entries);
    entries.into_iter().filter(|e| e.1 != 0)
}

fn retain<T>(items: &mut Vec<T>, keep: impl Fn(u32) -> bool) {
    let mut k = 0;
    items.retain(|_| {
        k += 1;
        keep(k - 1)
    });
}
