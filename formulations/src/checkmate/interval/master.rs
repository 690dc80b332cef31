//! The restricted program: some intervals, some rows, and the LP solver that holds them.

use super::{Branch, Graph, Interval, IntervalPoint, Pricing, Row, price};
use remat_lp::{
    Algorithm, ColId, Limits, LpOutcome, ModelBuilder, ModelError, NewCol, NewRow, RowId, Sense,
    Settings, Solution, Solver, Stats, VarStatus,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Follows the changes of a program and its solves, to replay them elsewhere. Purging is not reported.
pub trait Journal: Send {
    /// Rows were added.
    fn rows(&mut self, rows: &[NewRow]);
    /// Columns were added.
    fn cols(&mut self, cols: &[NewCol]);
    /// The program was solved: objective without offset, wall-clock seconds, simplex iterations.
    fn solved(&mut self, objective: f64, seconds: f64, iterations: u64);
}

/// The restricted master program. Memory rows share one overflow column, whose cost rises until it is not needed.
pub struct Master {
    graph: Graph,
    solver: Solver,
    rows: Vec<Row>,
    row_set: BTreeSet<Row>,
    /// Solves in a row in which the row was slack.
    row_age: Vec<u32>,
    /// Column `k + 1` of the LP.
    columns: Vec<Interval>,
    column_set: BTreeSet<Interval>,
    column_age: Vec<u32>,
    /// Rows other than `Memory` that may have a coefficient for each tensor.
    rows_of: Vec<Vec<u32>>,
    memory_rows: Vec<u32>,
    columns_of: Vec<Vec<u32>>,
    penalty: f64,
    journal: Option<Box<dyn Journal>>,
}

const OVERFLOW: ColId = ColId(0);
/// Overflow, in thousandths of the capacity or so, that makes up for one unit of a branching.
const BRANCH_OVERFLOW: f64 = 1.0 / 1024.0;

impl Clone for Master {
    /// The same program; the journal, if there is one, stays with the original.
    fn clone(&self) -> Self {
        Master {
            graph: self.graph.clone(),
            solver: self.solver.clone(),
            rows: self.rows.clone(),
            row_set: self.row_set.clone(),
            row_age: self.row_age.clone(),
            columns: self.columns.clone(),
            column_set: self.column_set.clone(),
            column_age: self.column_age.clone(),
            rows_of: self.rows_of.clone(),
            memory_rows: self.memory_rows.clone(),
            columns_of: self.columns_of.clone(),
            penalty: self.penalty,
            journal: None,
        }
    }
}

impl Master {
    /// The program with a row for every need, and for every need the interval from the first computation and the one
    /// that is recomputed for it alone. Column 0 is the overflow, as the journal, if there is one, must know.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses the program, which would be a defect here.
    pub fn new(
        graph: Graph,
        settings: Settings,
        journal: Option<Box<dyn Journal>>,
    ) -> Result<Master, ModelError> {
        let n = graph.len();
        let cost_unit = graph.cost_unit();
        let base = graph.base_cost().max(1) as f64 / cost_unit;
        let penalty = 2.0 * base * graph.memory_unit() / graph.capacity.max(1) as f64;
        let mut lp = ModelBuilder::new(Sense::Minimise);
        lp.set_name("intervals");
        lp.set_offset(graph.base_cost() as f64 / cost_unit);
        let overflow = NewCol::new(penalty, 0.0.., []);
        lp.add_col(overflow.cost, overflow.bounds);
        let mut journal = journal;
        if let Some(journal) = &mut journal {
            journal.cols(&[overflow]);
        }
        let mut master = Master {
            solver: Solver::new(lp.build()?, settings),
            rows: Vec::new(),
            row_set: BTreeSet::new(),
            row_age: Vec::new(),
            columns: Vec::new(),
            column_set: BTreeSet::new(),
            column_age: Vec::new(),
            rows_of: vec![Vec::new(); n],
            memory_rows: Vec::new(),
            columns_of: vec![Vec::new(); n],
            penalty,
            journal,
            graph,
        };
        let needs = || {
            (0..n as u32).flat_map(|node| {
                master.graph.users[node as usize]
                    .iter()
                    .map(move |&b| (node, b))
            })
        };
        let rows: Vec<Row> = needs()
            .map(|(node, reader)| Row::Need { node, reader })
            .collect();
        let columns: Vec<Interval> = needs()
            .flat_map(|(node, b)| {
                [node, b].map(|start| Interval {
                    node,
                    start,
                    end: b,
                    reader: b,
                })
            })
            .collect();
        master.add_rows(rows)?;
        master.add_columns(columns)?;
        Ok(master)
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The rows, in the order of the LP's.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Whether a row is in the program.
    pub fn contains(&self, row: &Row) -> bool {
        self.row_set.contains(row)
    }

    /// Number of intervals in the program.
    pub fn num_columns(&self) -> usize {
        self.columns.len()
    }

    /// Counters of the LP solver.
    pub fn stats(&self) -> Stats {
        self.solver.stats()
    }

    /// The LP solver, to look at.
    pub fn solver(&self) -> &Solver {
        &self.solver
    }

    /// Ends a solve early once the flag is set.
    pub fn stop_when(&mut self, stop: Option<Arc<AtomicBool>>) {
        self.solver.set_limits(Limits {
            interrupt: stop,
            ..Limits::default()
        });
    }

    /// Solves from the present basis.
    pub fn solve(&mut self, algorithm: Algorithm) -> LpOutcome {
        let clock = std::time::Instant::now();
        let before = self.solver.stats().iterations();
        let outcome = self.solver.solve_with(algorithm);
        if let (Some(journal), LpOutcome::Optimal(solution)) = (&mut self.journal, &outcome) {
            let objective = solution.objective - self.solver.model().offset();
            let iterations = self.solver.stats().iterations() - before;
            journal.solved(objective, clock.elapsed().as_secs_f64(), iterations);
        }
        outcome
    }

    /// The intervals of a solution.
    pub fn point(&self, solution: &Solution) -> IntervalPoint {
        IntervalPoint::new(
            self.columns
                .iter()
                .copied()
                .zip(solution.x[1..].iter().copied()),
        )
    }

    /// Memory that does not fit, in units of [`Graph::memory_unit`].
    pub fn overflow(&self, solution: &Solution) -> f64 {
        solution.value(OVERFLOW)
    }

    /// Makes overflow dearer by a factor.
    ///
    /// # Errors
    /// [`ModelError`] if the cost overflows.
    pub fn raise_penalty(&mut self, factor: f64) -> Result<(), ModelError> {
        self.penalty *= factor;
        self.solver.set_cost(OVERFLOW, self.penalty)
    }

    /// The objective of a solution in the instance's unit of cost, with the base cost.
    pub fn value(&self, solution: &Solution) -> f64 {
        solution.objective * self.graph.cost_unit()
    }

    /// The duals of a solution for costs in the instance's unit, memory rows in units of [`Graph::memory_unit`].
    pub fn duals(&self, solution: &Solution) -> Vec<f64> {
        let unit = self.graph.cost_unit();
        solution.y.iter().map(|y| y * unit).collect()
    }

    /// Prices all intervals under the duals of a solution.
    pub fn price(&self, solution: &Solution, per_tensor: usize, tolerance: f64) -> Pricing {
        let duals = self.duals(solution);
        let tolerance = tolerance * self.graph.cost_unit();
        price::price(&self.graph, &self.rows, &duals, per_tensor, tolerance)
    }

    /// Adds rows that are not there yet; returns how many.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses one, which would be a defect here.
    pub fn add_rows(&mut self, rows: Vec<Row>) -> Result<usize, ModelError> {
        let unit = self.graph.memory_unit();
        let mut new = Vec::new();
        for row in rows {
            if !self.row_set.insert(row.clone()) {
                continue;
            }
            let right = row.right_side(&self.graph) as f64;
            let mut entries = Vec::new();
            let mut take = |k: u32| {
                let v = row.coefficient(&self.graph, &self.columns[k as usize]);
                if v != 0 {
                    let v = if row.is_memory() {
                        v as f64 / unit
                    } else {
                        v as f64
                    };
                    entries.push((ColId(k + 1), v));
                }
            };
            match tensors_of(&row) {
                None => (0..self.columns.len() as u32).for_each(&mut take),
                Some(tensors) => {
                    for i in tensors {
                        self.columns_of[i as usize]
                            .iter()
                            .copied()
                            .for_each(&mut take);
                    }
                }
            }
            new.push(if row.is_memory() {
                entries.push((OVERFLOW, -1.0));
                NewRow::new(..=right / unit, entries)
            } else {
                if matches!(row, Row::Branch(_)) {
                    // A branching that cannot be met costs about as much as overflowing by the whole capacity.
                    entries.push((OVERFLOW, BRANCH_OVERFLOW));
                }
                NewRow::new(right.., entries)
            });
            self.index_row(self.rows.len() as u32, &row);
            self.rows.push(row);
            self.row_age.push(0);
        }
        if let Some(journal) = &mut self.journal {
            journal.rows(&new);
        }
        self.solver.add_rows(&new)?;
        Ok(new.len())
    }

    fn index_row(&mut self, r: u32, row: &Row) {
        match tensors_of(row) {
            None => self.memory_rows.push(r),
            Some(tensors) => tensors
                .into_iter()
                .for_each(|i| self.rows_of[i as usize].push(r)),
        }
    }

    /// Adds intervals that are not there yet; returns how many.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses one, which would be a defect here.
    pub fn add_columns(
        &mut self,
        intervals: impl IntoIterator<Item = Interval>,
    ) -> Result<usize, ModelError> {
        let unit = self.graph.memory_unit();
        let cost_unit = self.graph.cost_unit();
        let mut new = Vec::new();
        for c in intervals {
            if !self.column_set.insert(c) {
                continue;
            }
            let rows = self.rows_of[c.node as usize]
                .iter()
                .chain(&self.memory_rows);
            let entries = rows.filter_map(|&r| {
                let row = &self.rows[r as usize];
                let v = row.coefficient(&self.graph, &c);
                let v = if row.is_memory() {
                    v as f64 / unit
                } else {
                    v as f64
                };
                (v != 0.0).then_some((RowId(r), v))
            });
            let cost = if c.is_recomputed() {
                self.graph.cost[c.node as usize] as f64 / cost_unit
            } else {
                0.0
            };
            new.push(NewCol::new(cost, 0.0.., entries));
            self.columns_of[c.node as usize].push(self.columns.len() as u32);
            self.columns.push(c);
            self.column_age.push(0);
        }
        if let Some(journal) = &mut self.journal {
            journal.cols(&new);
        }
        self.solver.add_cols(&new)?;
        Ok(new.len())
    }

    /// Notes which rows are slack and which columns are dear in a solution, and drops those that have been so for `age`
    /// solves. Dear is a reduced cost of more than `dear`. Returns how many rows and columns went.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub fn purge(
        &mut self,
        solution: &Solution,
        age: u32,
        dear: f64,
    ) -> Result<(usize, usize), ModelError> {
        let mut rows = Vec::new();
        for (r, row) in self.rows.iter().enumerate() {
            let slack = solution.basis.rows[r] == VarStatus::Basic
                && !matches!(row, Row::Need { .. } | Row::Branch(_));
            self.row_age[r] = if slack { self.row_age[r] + 1 } else { 0 };
            if self.row_age[r] >= age {
                rows.push(RowId(r as u32));
            }
        }
        let mut cols = Vec::new();
        for (k, c) in self.columns.iter().enumerate() {
            let whole =
                !c.is_recomputed() && self.graph.users[c.node as usize].last() == Some(&c.end);
            let useless = !whole
                && solution.basis.cols[k + 1] != VarStatus::Basic
                && solution.x[k + 1] == 0.0
                && solution.reduced_costs[k + 1] > dear;
            self.column_age[k] = if useless { self.column_age[k] + 1 } else { 0 };
            if self.column_age[k] >= age {
                cols.push(ColId(k as u32 + 1));
            }
        }
        // Deleting shifts everything behind: only worth it in bulk.
        let worth = rows.len() * 10 > self.rows.len() || cols.len() * 10 > self.columns.len();
        if !worth {
            return Ok((0, 0));
        }
        self.delete(&rows, &cols)?;
        Ok((rows.len(), cols.len()))
    }

    /// Makes the branchings of the program these and no others.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub fn set_branches(&mut self, branches: &[Branch]) -> Result<(), ModelError> {
        let mut gone = Vec::new();
        for (r, row) in self.rows.iter().enumerate() {
            if let Row::Branch(b) = row
                && !branches.contains(b)
            {
                gone.push(RowId(r as u32));
            }
        }
        self.delete(&gone, &[])?;
        self.add_rows(branches.iter().map(|b| Row::Branch(*b)).collect())?;
        Ok(())
    }

    /// The value that the relaxation would have with one more branching, in the instance's unit of cost, after at most
    /// so many simplex iterations. The program stays as it is.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses, which would be a defect here.
    pub fn probe(&self, branch: Branch, iterations: u64) -> Result<f64, ModelError> {
        let row = Row::Branch(branch);
        let node = branch.quantity.node() as usize;
        let mut entries: Vec<(ColId, f64)> = self.columns_of[node]
            .iter()
            .map(|&k| (k, row.coefficient(&self.graph, &self.columns[k as usize])))
            .filter(|e| e.1 != 0)
            .map(|(k, v)| (ColId(k + 1), v as f64))
            .collect();
        entries.push((OVERFLOW, BRANCH_OVERFLOW));
        let right = row.right_side(&self.graph) as f64;
        let mut trial = self.solver.clone();
        trial.add_rows(&[NewRow::new(right.., entries)])?;
        trial.set_limits(Limits {
            iterations: Some(iterations),
            ..Limits::default()
        });
        Ok(match trial.solve_with(Algorithm::Dual) {
            LpOutcome::Optimal(s) => s.objective * self.graph.cost_unit(),
            _ => f64::INFINITY,
        })
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
        let lost: BTreeSet<u32> = cols.iter().map(|c| c.0 - 1).collect();
        for c in &lost {
            self.column_set.remove(&self.columns[*c as usize]);
        }
        retain(&mut self.columns, |c| !lost.contains(&c));
        retain(&mut self.column_age, |c| !lost.contains(&c));
        self.rows_of.iter_mut().for_each(Vec::clear);
        self.columns_of.iter_mut().for_each(Vec::clear);
        self.memory_rows.clear();
        let all = std::mem::take(&mut self.rows);
        for (r, row) in all.iter().enumerate() {
            self.index_row(r as u32, row);
        }
        self.rows = all;
        for (k, c) in self.columns.iter().enumerate() {
            self.columns_of[c.node as usize].push(k as u32);
        }
        Ok(())
    }
}

fn retain<T>(items: &mut Vec<T>, keep: impl Fn(u32) -> bool) {
    let mut k = 0;
    items.retain(|_| {
        k += 1;
        keep(k - 1)
    });
}

/// The tensors whose intervals may have a coefficient in a row, ascending; all of them for `Memory`.
fn tensors_of(row: &Row) -> Option<BTreeSet<u32>> {
    match row {
        Row::Need { node, .. } => Some([*node].into()),
        Row::Input { node, input, .. } => Some([*node, *input].into()),
        Row::Memory { .. } => None,
        Row::Path(cut) => Some(cut.path.iter().copied().collect()),
        Row::PathMemory(cut) => {
            let beside = cut.companions.iter().map(|g| g.1);
            let named = cut.path.path.iter().chain(&cut.staying).copied();
            Some(named.chain(beside).collect())
        }
        Row::Branch(branch) => Some([branch.quantity.node()].into()),
    }
}
