//! The restricted master: the linear program of some columns and some rows, each known by its descriptor.

use super::domain::{Phase, Pricer, Prices};
use remat_lp::{
    Basis, Bounds, ColId, Limits, LpOutcome, Model, ModelBuilder, ModelError, NewCol, NewRow,
    RowId, Sense, Solution, Solver, VarStatus,
};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a row is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Of every master.
    Base,
    /// Separated; may be purged.
    Separated,
    /// Of the branchings above the node.
    Branching,
}

/// What is not at rest in a basis: basic columns and nonbasic rows. Everything else follows: columns not named are at
/// zero, rows not named are basic.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot<C, R> {
    columns: Vec<Arc<C>>,
    rows: Vec<(Arc<R>, VarStatus)>,
}

/// How many rows a purge took, and which columns.
pub(crate) type Purged<D> = (usize, Vec<Arc<<D as Pricer>::Column>>);

/// How a solve of the restricted master ended.
pub(crate) enum MasterEnd {
    Solved(Solution),
    /// Multipliers of a Farkas proof, signed as duals of a minimised program.
    Infeasible(Vec<f64>),
    Unbounded,
    Interrupted,
    /// Numerical trouble.
    Failed,
}

pub(crate) struct Master<'a, D: Pricer> {
    domain: &'a D,
    lp: Solver,
    rows: Vec<Arc<D::Row>>,
    kinds: Vec<Kind>,
    bounds: Vec<Bounds>,
    row_ages: Vec<u32>,
    row_at: BTreeMap<Arc<D::Row>, u32>,
    columns: Vec<Arc<D::Column>>,
    column_ages: Vec<u32>,
    column_at: BTreeMap<Arc<D::Column>, u32>,
    /// Rows that concern all classes, and rows of each class.
    rows_of_all: Vec<u32>,
    rows_of: Vec<Vec<u32>>,
    columns_of: Vec<Vec<u32>>,
    interrupt: Arc<AtomicBool>,
    past_iterations: u64,
    past_ticks: u64,
    /// Iterations and ticks of the linear program that are not this master's.
    counted_from: (u64, u64),
    solved: bool,
}

impl<'a, D: Pricer> Master<'a, D> {
    /// A copy for another worker, whose counters start at zero.
    pub fn copy(&self) -> Self {
        Master {
            domain: self.domain,
            lp: self.lp.clone(),
            rows: self.rows.clone(),
            kinds: self.kinds.clone(),
            bounds: self.bounds.clone(),
            row_ages: self.row_ages.clone(),
            row_at: self.row_at.clone(),
            columns: self.columns.clone(),
            column_ages: self.column_ages.clone(),
            column_at: self.column_at.clone(),
            rows_of_all: self.rows_of_all.clone(),
            rows_of: self.rows_of.clone(),
            columns_of: self.columns_of.clone(),
            interrupt: self.interrupt.clone(),
            solved: self.solved,
            counted_from: (self.lp.stats().iterations(), self.lp.stats().ticks),
            past_iterations: 0,
            past_ticks: 0,
        }
    }

    pub fn new(
        domain: &'a D,
        settings: remat_lp::Settings,
        interrupt: Arc<AtomicBool>,
    ) -> Result<Self, ModelError> {
        let mut lp = ModelBuilder::new(Sense::Minimise);
        lp.set_offset(domain.offset());
        Ok(Master {
            domain,
            lp: Solver::new(lp.build()?, settings),
            rows: Vec::new(),
            kinds: Vec::new(),
            bounds: Vec::new(),
            row_ages: Vec::new(),
            row_at: BTreeMap::new(),
            columns: Vec::new(),
            column_ages: Vec::new(),
            column_at: BTreeMap::new(),
            rows_of_all: Vec::new(),
            rows_of: Vec::new(),
            columns_of: Vec::new(),
            interrupt,
            past_iterations: 0,
            past_ticks: 0,
            counted_from: (0, 0),
            solved: false,
        })
    }

    pub fn rows(&self) -> &[Arc<D::Row>] {
        &self.rows
    }

    pub fn columns(&self) -> &[Arc<D::Column>] {
        &self.columns
    }

    pub fn has_row(&self, row: &D::Row) -> bool {
        self.row_at.contains_key(row)
    }

    pub fn has_column(&self, column: &D::Column) -> bool {
        self.column_at.contains_key(column)
    }

    /// The program with integer columns.
    pub fn integer_model(&self) -> Result<Model, ModelError> {
        let model = self.lp.model();
        let mut b = ModelBuilder::new(Sense::Minimise);
        b.set_offset(model.offset());
        for (j, &cost) in model.costs().iter().enumerate() {
            let c = b.add_col(cost, model.col_bounds(ColId(j as u32)));
            b.set_integer(c, true);
        }
        for r in 0..model.num_rows() {
            let id = RowId(r as u32);
            b.add_row(model.row_bounds(id), model.row(id));
        }
        b.build()
    }

    pub fn iterations(&self) -> u64 {
        self.past_iterations + self.lp.stats().iterations() - self.counted_from.0
    }

    pub fn ticks(&self) -> u64 {
        self.past_ticks + self.lp.stats().ticks - self.counted_from.1
    }

    /// Adds rows that are not there yet; one that is there as a cut becomes a branching row where that is asked for.
    /// Returns how many were added.
    pub fn add_rows(
        &mut self,
        rows: impl IntoIterator<Item = Arc<D::Row>>,
        kind: Kind,
    ) -> Result<usize, ModelError> {
        let mut new = Vec::new();
        for row in rows {
            if let Some(&at) = self.row_at.get(&row) {
                if kind == Kind::Branching && self.kinds[at as usize] == Kind::Separated {
                    self.kinds[at as usize] = kind;
                }
                continue;
            }
            let at = self.rows.len() as u32;
            let classes = self.domain.classes(&row);
            let entries = self.entries_of_row(&row, classes.as_deref());
            let bounds = self.domain.row_bounds(&row);
            new.push(NewRow::new(bounds, entries));
            self.index_row(at, classes.as_deref());
            self.row_at.insert(row.clone(), at);
            self.rows.push(row);
            self.kinds.push(kind);
            self.bounds.push(bounds);
            self.row_ages.push(0);
        }
        if !new.is_empty() {
            self.lp.add_rows(&new)?;
        }
        Ok(new.len())
    }

    fn entries_of_row(&self, row: &D::Row, classes: Option<&[u32]>) -> Vec<(ColId, f64)> {
        let mut entries = Vec::new();
        let mut take = |j: u32| {
            let v = self.domain.coefficient(row, &self.columns[j as usize]);
            if v != 0.0 {
                entries.push((ColId(j), v));
            }
        };
        match classes {
            None => (0..self.columns.len() as u32).for_each(&mut take),
            Some(classes) => {
                for &c in classes {
                    let of = self.columns_of.get(c as usize);
                    of.into_iter().flatten().copied().for_each(&mut take);
                }
            }
        }
        entries
    }

    fn index_row(&mut self, at: u32, classes: Option<&[u32]>) {
        match classes {
            None => self.rows_of_all.push(at),
            Some(classes) => {
                for &c in classes {
                    grow(&mut self.rows_of, c).push(at);
                }
            }
        }
    }

    /// The rows in which columns of a class may have a coefficient.
    fn rows_of_class(&self, class: u32) -> impl Iterator<Item = usize> + '_ {
        let own = self.rows_of.get(class as usize);
        let own = own.into_iter().flatten();
        self.rows_of_all.iter().chain(own).map(|&r| r as usize)
    }

    /// Adds columns that are not there yet; returns how many.
    pub fn add_columns(
        &mut self,
        columns: impl IntoIterator<Item = Arc<D::Column>>,
    ) -> Result<usize, ModelError> {
        let mut new = Vec::new();
        for column in columns {
            if self.column_at.contains_key(&column) {
                continue;
            }
            let class = self.domain.class(&column);
            let at = self.columns.len() as u32;
            let entries = self.rows_of_class(class).filter_map(|r| {
                let v = self.domain.coefficient(&self.rows[r], &column);
                (v != 0.0).then_some((RowId(r as u32), v))
            });
            new.push(NewCol::new(self.domain.cost(&column), 0.0.., entries));
            grow(&mut self.columns_of, class).push(at);
            self.column_at.insert(column.clone(), at);
            self.columns.push(column);
            self.column_ages.push(0);
        }
        if !new.is_empty() {
            self.lp.add_cols(&new)?;
        }
        Ok(new.len())
    }

    /// Reduced cost of a column that need not be in the master.
    pub fn reduced_cost(&self, column: &D::Column, duals: &[f64], phase: Phase) -> f64 {
        let cost = match phase {
            Phase::Cost => self.domain.cost(column),
            Phase::Farkas => 0.0,
        };
        let rows = self.rows_of_class(self.domain.class(column));
        rows.filter(|&r| duals[r] != 0.0).fold(cost, |d, r| {
            d - duals[r] * self.domain.coefficient(&self.rows[r], column)
        })
    }

    /// Columns of a point by class, for [`Master::activity`].
    pub fn by_class(&self, point: &[(Arc<D::Column>, f64)]) -> Vec<Vec<u32>> {
        let mut classes = Vec::new();
        for (k, (c, _)) in point.iter().enumerate() {
            grow(&mut classes, self.domain.class(c)).push(k as u32);
        }
        classes
    }

    /// Activity of a row at a point.
    pub fn activity(
        &self,
        row: &D::Row,
        point: &[(Arc<D::Column>, f64)],
        by_class: &[Vec<u32>],
    ) -> f64 {
        let term = |(c, v): &(Arc<D::Column>, f64)| v * self.domain.coefficient(row, c);
        match self.domain.classes(row) {
            None => point.iter().map(term).sum(),
            Some(classes) => {
                let of = classes.iter().filter_map(|&c| by_class.get(c as usize));
                of.flatten().map(|&k| term(&point[k as usize])).sum()
            }
        }
    }

    /// The prices of duals with usable signs; see [`Master::clean`].
    pub fn prices<'b>(&'b self, duals: &'b [f64], phase: Phase) -> Prices<'b, D::Row> {
        Prices {
            rows: &self.rows,
            bounds: &self.bounds,
            duals,
            phase,
        }
    }

    /// Duals of a solve without those whose sign prices an infinite side.
    pub fn clean(&self, duals: &[f64]) -> Vec<f64> {
        let usable = |(&y, b): (&f64, &Bounds)| {
            let side = super::domain::priced_side(*b, y);
            if side.is_finite() && y.is_finite() {
                y
            } else {
                0.0
            }
        };
        duals.iter().zip(&self.bounds).map(usable).collect()
    }

    /// The columns that are not zero.
    pub fn point(&self, s: &Solution) -> Vec<(Arc<D::Column>, f64)> {
        let all = self.columns.iter().zip(&s.x);
        all.filter(|(_, v)| **v > 1e-9)
            .map(|(c, v)| (c.clone(), *v))
            .collect()
    }

    /// Makes the branching rows exactly these.
    pub fn set_branchings(&mut self, wanted: &[Arc<D::Row>]) -> Result<(), ModelError> {
        let gone: Vec<u32> = (0..self.rows.len() as u32)
            .filter(|&r| {
                self.kinds[r as usize] == Kind::Branching
                    && !wanted.contains(&self.rows[r as usize])
            })
            .collect();
        self.delete(&gone, &[])?;
        self.add_rows(wanted.iter().cloned(), Kind::Branching)?;
        Ok(())
    }

    pub fn snapshot(&self) -> Snapshot<D::Column, D::Row> {
        let basis = self.lp.basis();
        let columns = self.columns.iter().zip(&basis.cols);
        let rows = self.rows.iter().zip(&basis.rows);
        Snapshot {
            columns: columns
                .filter(|(_, s)| **s == VarStatus::Basic)
                .map(|(c, _)| c.clone())
                .collect(),
            rows: rows
                .filter(|(_, s)| **s != VarStatus::Basic)
                .map(|(r, s)| (r.clone(), *s))
                .collect(),
        }
    }

    /// Goes to a basis, bringing back the columns and rows it speaks of. Branching rows have to be there already.
    pub fn restore(&mut self, s: &Snapshot<D::Column, D::Row>) -> Result<(), ModelError> {
        self.add_columns(s.columns.iter().cloned())?;
        self.add_rows(s.rows.iter().map(|r| r.0.clone()), Kind::Separated)?;
        let mut basis = Basis {
            cols: vec![VarStatus::AtLower; self.columns.len()],
            rows: vec![VarStatus::Basic; self.rows.len()],
        };
        for c in &s.columns {
            if let Some(&at) = self.column_at.get(c) {
                basis.cols[at as usize] = VarStatus::Basic;
            }
        }
        for (r, status) in &s.rows {
            if let Some(&at) = self.row_at.get(r) {
                basis.rows[at as usize] = *status;
            }
        }
        self.lp.set_basis(&basis)
    }

    /// Sets the lower bound of a column; used by dives.
    pub fn set_lower(&mut self, column: &D::Column, lower: f64) -> Result<(), ModelError> {
        match self.column_at.get(column) {
            Some(&at) => self.lp.set_col_bounds(ColId(at), lower..),
            None => Ok(()),
        }
    }

    fn interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// Solves from the present basis; once more from scratch if that fails.
    pub fn solve(&mut self) -> Result<MasterEnd, ModelError> {
        let size = (self.rows.len() + self.columns.len()) as u64;
        let warm = self.solved.then_some(2_000 + 10 * size);
        self.solved = true;
        let end = self.solve_within(warm);
        if !matches!(end, MasterEnd::Failed) {
            return Ok(end);
        }
        self.start_afresh();
        Ok(self.solve_within(Some(20_000 + 100 * size)))
    }

    /// Forgets the basis and the scaling.
    pub fn start_afresh(&mut self) {
        (self.past_iterations, self.past_ticks) = (self.iterations(), self.ticks());
        self.counted_from = (0, 0);
        let settings = remat_lp::Settings {
            scaling: !self.lp.settings().scaling,
            ..self.lp.settings().clone()
        };
        self.lp = Solver::new(self.lp.model().clone(), settings);
    }

    /// Solves with a limit on iterations and without a second try.
    pub fn solve_within(&mut self, iterations: Option<u64>) -> MasterEnd {
        self.lp.set_limits(Limits {
            iterations,
            interrupt: Some(self.interrupt.clone()),
            ..Limits::default()
        });
        match self.lp.solve() {
            LpOutcome::Optimal(s) => MasterEnd::Solved(s),
            LpOutcome::Infeasible(ray) => MasterEnd::Infeasible(self.oriented(&ray.y)),
            LpOutcome::Unbounded(_) => MasterEnd::Unbounded,
            LpOutcome::CutoffReached { .. } | LpOutcome::Limit(_) if self.interrupted() => {
                MasterEnd::Interrupted
            }
            LpOutcome::CutoffReached { .. } | LpOutcome::Limit(_) => MasterEnd::Failed,
        }
    }

    /// A Farkas proof signed such that the sum of dual times side is above what columns can reach. The linear program
    /// may give either sign.
    fn oriented(&self, y: &[f64]) -> Vec<f64> {
        let model = self.lp.model();
        let mut combined = vec![0.0; self.columns.len()];
        for (j, v) in combined.iter_mut().enumerate() {
            *v = model
                .col(ColId(j as u32))
                .map(|(r, a)| a * y[r.index()])
                .sum();
        }
        let score = |sign: f64| {
            let mut total = 0.0;
            for (r, &v) in y.iter().enumerate() {
                let v = sign * v;
                let side = super::domain::priced_side(self.bounds[r], v);
                if side.is_finite() {
                    total += v * side;
                } else {
                    total -= 1e6 * v.abs();
                }
            }
            for (&v, &lower) in combined.iter().zip(model.col_lower()) {
                let v = sign * v;
                total -= v.max(0.0) * 1e6 + v.min(0.0) * lower;
            }
            total
        };
        let sign = if score(1.0) >= score(-1.0) { 1.0 } else { -1.0 };
        let signed: Vec<f64> = y
            .iter()
            .map(|&v| if v.abs() < 1e-11 { 0.0 } else { sign * v })
            .collect();
        self.clean(&signed)
    }

    /// Notes which separated rows are slack and which columns are dear in a solution, and drops those that have been so
    /// for `age` solves, if they are many (deleting shifts everything behind).
    pub fn purge(&mut self, s: &Solution, age: u32, dear: f64) -> Result<Purged<D>, ModelError> {
        for (r, kind) in self.kinds.iter().enumerate() {
            let slack = s.basis.rows[r] == VarStatus::Basic && *kind == Kind::Separated;
            self.row_ages[r] = if slack { self.row_ages[r] + 1 } else { 0 };
        }
        for j in 0..self.columns.len() {
            let useless =
                s.basis.cols[j] != VarStatus::Basic && s.x[j] == 0.0 && s.reduced_costs[j] > dear;
            self.column_ages[j] = if useless { self.column_ages[j] + 1 } else { 0 };
        }
        let old = |ages: &[u32]| -> Vec<u32> {
            (0..ages.len() as u32)
                .filter(|&k| ages[k as usize] >= age)
                .collect()
        };
        let (rows, columns) = (old(&self.row_ages), old(&self.column_ages));
        if rows.len() * 8 <= self.rows.len() && columns.len() * 8 <= self.columns.len() {
            return Ok((0, Vec::new()));
        }
        let gone = columns.iter().map(|&c| self.columns[c as usize].clone());
        let gone = gone.collect();
        self.delete(&rows, &columns)?;
        Ok((rows.len(), gone))
    }

    /// Deletes rows and columns by position, ascending.
    pub fn delete(&mut self, rows: &[u32], columns: &[u32]) -> Result<(), ModelError> {
        if !rows.is_empty() {
            let ids: Vec<RowId> = rows.iter().map(|&r| RowId(r)).collect();
            self.lp.delete_rows(&ids)?;
            drop_positions(&mut self.rows, rows);
            drop_positions(&mut self.kinds, rows);
            drop_positions(&mut self.bounds, rows);
            drop_positions(&mut self.row_ages, rows);
            let all = self.rows.iter().cloned().zip(0..);
            self.row_at = all.collect();
            self.rows_of_all.clear();
            self.rows_of.iter_mut().for_each(Vec::clear);
            for r in 0..self.rows.len() {
                let classes = self.domain.classes(&self.rows[r]);
                self.index_row(r as u32, classes.as_deref());
            }
        }
        if !columns.is_empty() {
            let ids: Vec<ColId> = columns.iter().map(|&c| ColId(c)).collect();
            self.lp.delete_cols(&ids)?;
            drop_positions(&mut self.columns, columns);
            drop_positions(&mut self.column_ages, columns);
            let all = self.columns.iter().cloned().zip(0..);
            self.column_at = all.collect();
            self.columns_of.iter_mut().for_each(Vec::clear);
            for j in 0..self.columns.len() {
                let class = self.domain.class(&self.columns[j]);
                grow(&mut self.columns_of, class).push(j as u32);
            }
        }
        Ok(())
    }
}

fn grow(of: &mut Vec<Vec<u32>>, class: u32) -> &mut Vec<u32> {
    let at = class as usize;
    if of.len() <= at {
        of.resize(at + 1, Vec::new());
    }
    &mut of[at]
}

/// Drops the items at ascending positions.
fn drop_positions<T>(items: &mut Vec<T>, positions: &[u32]) {
    let mut gone = positions.iter().copied().peekable();
    let mut k = 0;
    items.retain(|_| {
        let drop = gone.next_if_eq(&k).is_some();
        k += 1;
        !drop
    });
}
