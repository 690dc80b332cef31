//! The restricted program: some intervals, some rows, every choice, and the LP solver that holds them.

use super::price::{Pricing, price};
use super::{Graph, Interval, Kind, Point, Row, Term};
use remat_lp::{
    Algorithm, ColId, Limits, LpOutcome, ModelBuilder, ModelError, NewCol, NewRow, RowId, Sense,
    Settings, Solution, Solver, VarStatus,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Memory rows, covers and branchings share one overflow column, whose cost rises until it is not needed.
const OVERFLOW: ColId = ColId(0);
/// Overflow, in thousandths of the budget or so, that makes up for one unit of a branching or a cover.
const COUNT_OVERFLOW: f64 = 1.0 / 1024.0;

/// A term of a row as a tensor sees it.
#[derive(Clone, Copy)]
struct Use {
    row: u32,
    term: Term,
}

/// The restricted master program.
#[derive(Clone)]
pub(super) struct Master {
    graph: Arc<Graph>,
    solver: Solver,
    rows: Vec<Row>,
    row_set: BTreeSet<Row>,
    /// Solves in a row in which the row was slack.
    row_age: Vec<u32>,
    /// First column of the choices of each stage with several.
    choice_column: Vec<Option<u32>>,
    /// Number of columns before the first interval.
    before: u32,
    columns: Vec<Interval>,
    column_set: BTreeSet<Interval>,
    column_age: Vec<u32>,
    uses: Vec<Vec<Use>>,
    columns_of: Vec<Vec<u32>>,
    penalty: f64,
    cost_unit: f64,
    memory_unit: f64,
    stop: Option<Arc<AtomicBool>>,
    /// Counters of solvers that were given up.
    spent: u64,
}

impl Master {
    /// The program with the rows for first starts, choices and needs, and the intervals from stage 0 on, so that whatever
    /// is read was kept: it is feasible but for memory.
    ///
    /// # Errors
    /// [`ModelError`] if the solver refuses the program, which would be a defect here.
    pub fn new(graph: Arc<Graph>, settings: Settings) -> Result<Master, ModelError> {
        let (cost_unit, memory_unit) = (graph.cost_unit(), graph.memory_unit());
        let base = graph.base_cost().max(1) as f64 / cost_unit;
        let penalty = 2.0 * base * memory_unit / graph.room[0].max(1) as f64;
        let mut lp = ModelBuilder::new(Sense::Minimise);
        lp.set_name("monet_intervals");
        lp.set_offset(graph.fixed_cost() as f64 / cost_unit);
        lp.add_col(penalty, 0.0..);
        let mut choice_column = vec![None; graph.stages];
        let mut before = 1;
        for (t, choices) in graph.choices.iter().enumerate() {
            if choices.len() > 1 {
                choice_column[t] = Some(before);
                before += choices.len() as u32;
                for c in choices {
                    lp.add_col(c.cost as f64 / cost_unit, 0.0..);
                }
            }
        }
        let columns = graph.columns;
        let mut master = Master {
            solver: Solver::new(lp.build()?, settings),
            rows: Vec::new(),
            row_set: BTreeSet::new(),
            row_age: Vec::new(),
            choice_column,
            before,
            columns: Vec::new(),
            column_set: BTreeSet::new(),
            column_age: Vec::new(),
            uses: vec![Vec::new(); columns],
            columns_of: vec![Vec::new(); columns],
            penalty,
            cost_unit,
            memory_unit,
            stop: None,
            spent: 0,
            graph: graph.clone(),
        };
        let mut rows = Vec::new();
        let mut intervals = Vec::new();
        for t in 0..graph.stages as u32 {
            if graph.choices[t as usize].len() > 1 {
                rows.push(Row::choose(&graph, t));
            }
        }
        for node in 0..graph.columns as u32 {
            let last = graph.last_stored(node);
            if graph.is_forced(node) {
                rows.push(Row::first(node));
            } else if last == 0 {
                continue;
            }
            let interval = |end: u32, held: bool| Interval {
                node,
                start: 0,
                end,
                way: 0,
                held,
            };
            intervals.push(interval(last, false));
            intervals.push(interval(0, graph.is_read(node, 0)));
            for t in 0..graph.stages as u32 {
                if graph.is_read(node, t) {
                    rows.push(Row::need(&graph, t, node));
                    if t + 1 < last {
                        intervals.push(interval(t + 1, false));
                    }
                    // Made for this reader alone: without these the program starts far from fitting.
                    if t > 0 && graph.fits_somehow(node, t) {
                        intervals.push(Interval {
                            start: t,
                            end: t,
                            held: true,
                            ..interval(0, false)
                        });
                    }
                }
            }
        }
        // By-products are made with parents of the same kind: a plain way for each.
        for c in &mut intervals {
            let ways = graph.starts(c.node, c.start).iter().enumerate();
            let mut plain = ways.filter(|(k, s)| !s.in_place && graph.fits(c.node, c.start, *k));
            c.way = plain.next().map_or(0, |s| s.0) as u16;
        }
        master.add_rows(rows)?;
        master.add_columns(intervals)?;
        Ok(master)
    }

    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn contains(&self, row: &Row) -> bool {
        self.row_set.contains(row)
    }

    pub fn num_columns(&self) -> usize {
        self.columns.len() + self.before as usize - 1
    }

    /// Simplex iterations so far.
    pub fn iterations(&self) -> u64 {
        self.spent + self.solver.stats().iterations()
    }

    /// Ends a solve early once the flag is set.
    pub fn stop_when(&mut self, stop: Option<Arc<AtomicBool>>) {
        self.stop = stop.clone();
        self.solver.set_limits(Limits {
            interrupt: stop,
            ..Limits::default()
        });
    }

    pub fn solve(&mut self, algorithm: Algorithm) -> LpOutcome {
        self.solver.solve_with(algorithm)
    }

    /// Starts the next solve from the slack basis.
    pub fn forget_basis(&mut self) {
        self.spent += self.solver.stats().iterations();
        let settings = self.solver.settings().clone();
        let stop = self.stop.clone();
        self.solver = Solver::new(self.solver.model().clone(), settings);
        self.stop_when(stop);
    }

    /// The intervals and choices of a solution.
    pub fn point(&self, solution: &Solution) -> Point {
        let choices = (0..self.graph.stages)
            .map(|t| match self.choice_column[t] {
                Some(first) => {
                    let ways = self.graph.choices[t].len();
                    solution.x[first as usize..first as usize + ways].to_vec()
                }
                None => vec![1.0],
            })
            .collect();
        let values = &solution.x[self.before as usize..];
        let intervals = self.columns.iter().copied().zip(values.iter().copied());
        Point::new(&self.graph, intervals, choices)
    }

    /// Memory that does not fit, in units of [`Graph::memory_unit`].
    pub fn overflow(&self, solution: &Solution) -> f64 {
        solution.value(OVERFLOW)
    }

    /// Makes overflow dearer by a factor.
    pub fn raise_penalty(&mut self, factor: f64) -> Result<(), ModelError> {
        self.penalty *= factor;
        self.solver.set_cost(OVERFLOW, self.penalty)
    }

    /// The objective in the instance's unit of cost.
    pub fn value(&self, solution: &Solution) -> f64 {
        solution.objective * self.cost_unit
    }

    /// Duals in the instance's unit of cost, per byte for memory rows.
    pub fn duals(&self, solution: &Solution) -> Vec<f64> {
        let dual = |(row, y): (&Row, &f64)| match row.is_memory() {
            true => y * self.cost_unit / self.memory_unit,
            false => y * self.cost_unit,
        };
        self.rows.iter().zip(&solution.y).map(dual).collect()
    }

    /// Prices all intervals under the duals of a solution.
    pub fn price(&self, solution: &Solution, per_tensor: usize, tolerance: f64) -> Pricing {
        let duals = self.duals(solution);
        let rows = self.rows.iter().zip(duals.iter().copied());
        let tolerance = tolerance * self.cost_unit;
        let mut pricing = price(&self.graph, rows, per_tensor, tolerance);
        pricing.bound += self.graph.fixed_cost() as f64;
        pricing
    }

    /// The entries of a row, and the LP's view of its right side.
    fn new_row(&self, row: &Row) -> NewRow {
        let scale = match row.is_memory() {
            true => self.memory_unit,
            false => 1.0,
        };
        let mut entries: Vec<(u32, i64)> = Vec::new();
        for term in &row.terms {
            match *term {
                Term::Choice {
                    stage,
                    way,
                    coefficient,
                } => {
                    if let Some(first) = self.choice_column[stage as usize] {
                        entries.push((first + way, coefficient));
                    }
                }
                _ => {
                    let node = term.node().unwrap_or(0);
                    for &k in &self.columns_of[node as usize] {
                        let v = term.coefficient(&self.graph, &self.columns[k as usize]);
                        if v != 0 {
                            entries.push((self.before + k, v));
                        }
                    }
                }
            }
        }
        let mut entries: Vec<(ColId, f64)> = merge(entries)
            .map(|(k, v)| (ColId(k), v as f64 / scale))
            .collect();
        let right = row.right as f64 / scale;
        if row.is_memory() {
            entries.push((OVERFLOW, -1.0));
            return NewRow::new(..=right, entries);
        }
        if matches!(row.kind, Kind::Branch | Kind::Cover) {
            // The columns may lack what meets it; what is missing costs about as much as overflowing by the whole budget.
            entries.push((OVERFLOW, COUNT_OVERFLOW));
        }
        match row.is_equation() {
            true => NewRow::new(right..=right, entries),
            false => NewRow::new(right.., entries),
        }
    }

    /// Adds rows that are not there yet; returns how many.
    pub fn add_rows(&mut self, rows: Vec<Row>) -> Result<usize, ModelError> {
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
        self.solver.add_rows(&new)?;
        Ok(new.len())
    }

    fn index_row(&mut self, row: u32, of: &Row) {
        for term in &of.terms {
            if let Some(node) = term.node() {
                self.uses[node as usize].push(Use { row, term: *term });
            }
        }
    }

    /// Adds intervals that are not there yet; returns how many.
    pub fn add_columns(
        &mut self,
        intervals: impl IntoIterator<Item = Interval>,
    ) -> Result<usize, ModelError> {
        let mut new = Vec::new();
        for c in intervals {
            if !self.column_set.insert(c) {
                continue;
            }
            let uses = self.uses[c.node as usize].iter();
            let entries = uses.map(|u| (u.row, u.term.coefficient(&self.graph, &c)));
            let entries = merge(entries.filter(|e| e.1 != 0).collect()).map(|(r, v)| {
                let scale = match self.rows[r as usize].is_memory() {
                    true => self.memory_unit,
                    false => 1.0,
                };
                (RowId(r), v as f64 / scale)
            });
            let cost = c.way(&self.graph).cost as f64 / self.cost_unit;
            new.push(NewCol::new(cost, 0.0.., entries));
            self.columns_of[c.node as usize].push(self.columns.len() as u32);
            self.columns.push(c);
            self.column_age.push(0);
        }
        self.solver.add_cols(&new)?;
        Ok(new.len())
    }

    /// Notes which rows are slack and which columns are dear in a solution, and drops those that have been so for `age`
    /// solves, where they are many. Dear is a reduced cost of more than `dear`.
    pub fn purge(&mut self, solution: &Solution, age: u32, dear: f64) -> Result<(), ModelError> {
        let mut rows = Vec::new();
        for (r, row) in self.rows.iter().enumerate() {
            let stays = matches!(
                row.kind,
                Kind::First | Kind::Choose | Kind::Need | Kind::Branch
            );
            let slack = solution.basis.rows[r] == VarStatus::Basic && !stays;
            self.row_age[r] = if slack { self.row_age[r] + 1 } else { 0 };
            if self.row_age[r] >= age {
                rows.push(RowId(r as u32));
            }
        }
        let mut cols = Vec::new();
        for (k, c) in self.columns.iter().enumerate() {
            let at = k + self.before as usize;
            let useless = c.start > 0
                && solution.basis.cols[at] != VarStatus::Basic
                && solution.x[at] == 0.0
                && solution.reduced_costs[at] > dear;
            self.column_age[k] = if useless { self.column_age[k] + 1 } else { 0 };
            if self.column_age[k] >= age {
                cols.push(ColId(at as u32));
            }
        }
        // Deleting shifts everything behind: only worth it in bulk.
        if rows.len() * 10 > self.rows.len() || cols.len() * 10 > self.columns.len() {
            self.delete(&rows, &cols)?;
        }
        Ok(())
    }

    /// Makes the branchings of the program these and no others.
    pub fn set_branches(&mut self, branches: Vec<Row>) -> Result<(), ModelError> {
        let mut gone = Vec::new();
        for (r, row) in self.rows.iter().enumerate() {
            if row.kind == Kind::Branch && !branches.contains(row) {
                gone.push(RowId(r as u32));
            }
        }
        self.delete(&gone, &[])?;
        self.add_rows(branches)?;
        Ok(())
    }

    /// The value that the relaxation would have with one more row, in the instance's unit of cost, after at most so many
    /// simplex iterations. The program stays as it is.
    pub fn probe(&self, row: &Row, iterations: u64) -> Result<f64, ModelError> {
        let mut trial = self.solver.clone();
        trial.add_rows(&[self.new_row(row)])?;
        trial.set_limits(Limits {
            iterations: Some(iterations),
            ..Limits::default()
        });
        Ok(match trial.solve_with(Algorithm::Dual) {
            LpOutcome::Optimal(s) => self.value(&s),
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
        let lost: BTreeSet<u32> = cols.iter().map(|c| c.0 - self.before).collect();
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
            self.columns_of[c.node as usize].push(k as u32);
        }
        Ok(())
    }
}

/// Adds up entries of one index, drops zeros.
fn merge(mut entries: Vec<(u32, i64)>) -> impl Iterator<Item = (u32, i64)> {
    entries.sort_unstable_by_key(|e| e.0);
    entries.dedup_by(|later, first| {
        let same = later.0 == first.0;
        if same {
            first.1 += later.1;
        }
        same
    });
    entries.into_iter().filter(|e| e.1 != 0)
}

fn retain<T>(items: &mut Vec<T>, keep: impl Fn(u32) -> bool) {
    let mut k = 0;
    items.retain(|_| {
        k += 1;
        keep(k - 1)
    });
}
