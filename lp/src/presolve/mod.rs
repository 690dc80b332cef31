//! Makes a program smaller before it is solved, and restores the full solution afterwards: values,
//! duals, reduced costs and a basis that is optimal for the original.
//!
//! Reductions (one a file): columns that are fixed or empty (`empty`), rows of one entry
//! (`singleton_row`), redundant and forcing rows (`forcing`), equations in two columns
//! (`doubleton`), columns of one entry that only loosen a row (`slack`), implied free columns
//! (`substitution`), dominated columns (`dominated`), multiples of rows (`duplicate_rows`) and of
//! columns (`duplicate_cols`). Each pushes a record that undoes it (`stack`). At the end the rows
//! are searched for a contradiction (`contradiction`). `reduce` sets the order. [`crate::solve`]
//! presolves, solves and postsolves in one call.
//!
//! Infeasibility found by presolve comes with a proof: the multipliers are carried back and checked
//! against the original by [`crate::certificate`]. If the check fails, the original is solved
//! instead. Presolve is not meant for branch and bound, where other code refers to the columns and
//! rows of the model.
//!
//! Sources: E. D. Andersen & K. D. Andersen, *Presolving in linear programming*, Math. Programming
//! 71 (1995); J. Gondzio, *Presolve analysis of linear programs prior to applying an interior point
//! method*, 1997; I. Maros, *Computational Techniques of the Simplex Method*, 2003, chapter 7.

mod contradiction;
mod dominated;
mod doubleton;
mod duplicate_cols;
mod duplicate_rows;
mod empty;
mod forcing;
mod reduce;
mod singleton_row;
mod slack;
mod stack;
mod substitution;
#[cfg(test)]
mod tests;
mod work;

use crate::certificate;
use crate::compressed::Compressed;
use crate::model::{Model, by_columns};
use crate::outcome::{Basis, FarkasRay, Solution, VarStatus};
use reduce::reduce;
use stack::{PostsolveState, Stack};
use std::sync::Arc;
use work::{Stop, WorkingModel};

/// Reductions to use. The default is all of them.
#[derive(Clone, Debug, PartialEq)]
pub struct PresolveSettings {
    /// Rows of one entry become bounds.
    pub singleton_rows: bool,
    /// Redundant and forcing rows.
    pub forcing: bool,
    /// Equations in two columns.
    pub doubletons: bool,
    /// Columns of one entry absorbed into their row.
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
    /// Largest number of rounds of reductions over the whole program.
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
    /// Only the reductions that are always done: fixed and empty columns, empty rows, and the
    /// detection of infeasible rows.
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

/// Result of presolve.
pub enum PresolveOutcome {
    /// A smaller program, possibly without rows or columns.
    Reduced(Presolved),
    /// No point is feasible. A proof, if present, has been checked against the original; without
    /// one, solve the original for a definite answer.
    Infeasible(Option<FarkasRay>),
    /// No dual point is feasible: the program is unbounded or infeasible. Solve the original to
    /// distinguish the two.
    DualInfeasible,
}

/// A reduced program and the records to undo the reduction.
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
        if let Some(ray) = FarkasRay::of_crossed(model) {
            return PresolveOutcome::Infeasible(Some(ray));
        }
        let mut work = WorkingModel::new(model);
        match reduce(&mut work, settings) {
            Ok(()) => match contradiction(model, &mut work, settings) {
                Some(ray) => PresolveOutcome::Infeasible(Some(ray)),
                None => PresolveOutcome::Reduced(Presolved::from_work(model, work)),
            },
            Err(Stop::DualInfeasible) => PresolveOutcome::DualInfeasible,
            Err(Stop::Infeasible(rows)) => {
                let mut state = PostsolveState::new(model, true);
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

    fn from_work(original: &Arc<Model>, mut work: WorkingModel) -> Presolved {
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
        // Transposing twice sorts the indices.
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
            source: original.source.clone(),
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

    /// The original program.
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

    /// An optimal solution of the original, with its basis, from an optimal solution of the reduced
    /// program.
    ///
    /// # Panics
    /// If the solution does not fit the reduced program.
    pub fn postsolve(&self, solution: &Solution) -> Solution {
        let model = &*self.original;
        let sign = model.sense.sign();
        let mut s = PostsolveState::new(model, false);
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

    /// A proof of infeasibility for the original from one for the reduced program. `None` if it
    /// cannot be carried back: reductions by cost (dominated and duplicate columns) do not preserve
    /// such proofs. The result has been checked.
    pub fn postsolve_ray(&self, ray: &FarkasRay) -> Option<FarkasRay> {
        let mut s = PostsolveState::new(&self.original, true);
        for (k, &i) in self.rows.iter().enumerate() {
            s.y[i as usize] = ray.y[k];
        }
        for (k, &j) in self.cols.iter().enumerate() {
            s.d[j as usize] = -self
                .model
                .col_entries(k)
                .map(|(i, a)| a * ray.y[i])
                .sum::<f64>();
        }
        carry_ray(&self.original, &self.stack, s)
    }
}

impl PostsolveState {
    fn new(model: &Model, ray: bool) -> PostsolveState {
        let (m, n) = (model.num_rows(), model.num_cols());
        PostsolveState {
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
fn contradiction(
    model: &Model,
    w: &mut WorkingModel,
    settings: &PresolveSettings,
) -> Option<FarkasRay> {
    if !settings.contradictions {
        return None;
    }
    let found = contradiction::find(w)?;
    let mut state = PostsolveState::new(model, true);
    found.ray(w, &mut state);
    carry_ray(model, &w.stack, state)
}

fn carry_ray(model: &Model, stack: &Stack, mut state: PostsolveState) -> Option<FarkasRay> {
    for record in stack.iter().rev() {
        record.undo(&mut state);
    }
    certificate::oriented(model, state.y)
}
