//! The linear relaxation with memory rows taken in as they are violated.

use super::{Compact, MemoryRow};
use remat_lp::certificate::safe_bound;
use remat_lp::{LimitKind, LpOutcome, ModelError, RowId, Settings, Solver};
use std::collections::BTreeSet;

/// Settings of lazy memory rows.
#[derive(Clone, Debug)]
pub struct LazySettings {
    /// Settings of the linear programming solver.
    pub lp: Settings,
    /// Most rows added in one round.
    pub rows_per_round: usize,
    /// Most rows added for one stage in one round; neighbouring rows of a stage are nearly the
    /// same.
    pub rows_per_stage: usize,
    /// Largest violation that is tolerated, as a share of the capacity.
    pub tolerance: f64,
}

impl Default for LazySettings {
    fn default() -> Self {
        LazySettings {
            lp: Settings::default(),
            rows_per_round: 500,
            rows_per_stage: usize::MAX,
            tolerance: 1e-7,
        }
    }
}

/// A relaxation in which no memory row is violated.
pub struct LazyOutcome {
    /// The solver at its optimal basis, to which cuts can be added.
    pub solver: Solver,
    /// The memory rows that were added, and their rows in the solver.
    pub rows: Vec<(MemoryRow, RowId)>,
    /// The last outcome: optimal, infeasible, or a limit.
    pub outcome: LpOutcome,
    /// A lower bound on the cost, computed from the dual vector in safe arithmetic; the base cost
    /// if there is no dual vector.
    pub safe_bound: f64,
    /// Solves, each but the last followed by new rows.
    pub rounds: usize,
}

/// Solves the relaxation from the "keep everything" basis, taking in violated memory rows in
/// rounds.
///
/// # Errors
/// [`ModelError`] if the solver refuses a row, which would be a defect here.
pub fn solve_lazily(form: &Compact, settings: &LazySettings) -> Result<LazyOutcome, ModelError> {
    let mut solver = Solver::new(form.model().clone(), settings.lp.clone());
    solver.set_basis(&form.keep_everything())?;
    let mut out = LazyOutcome {
        solver,
        rows: Vec::new(),
        outcome: LpOutcome::Limit(LimitKind::Iterations),
        safe_bound: form.model().offset(),
        rounds: 0,
    };
    out.resolve(form, settings)?;
    Ok(out)
}

impl LazyOutcome {
    /// Solves again after a change, and adds violated memory rows until all are satisfied.
    ///
    /// # Errors
    /// As [`solve_lazily`].
    pub fn resolve(&mut self, form: &Compact, settings: &LazySettings) -> Result<(), ModelError> {
        let mut inside: BTreeSet<MemoryRow> = self.rows.iter().map(|r| r.0).collect();
        loop {
            self.rounds += 1;
            self.outcome = self.solver.solve();
            let Some(solution) = self.outcome.optimal() else {
                return Ok(());
            };
            let mut of_stage = vec![0; form.graph().len()];
            let mut places = Vec::new();
            let mut rows = Vec::new();
            for (place, _) in form.violated_memory(&solution.x, settings.tolerance) {
                let count = &mut of_stage[place.stage as usize];
                if inside.contains(&place) || *count >= settings.rows_per_stage {
                    continue;
                }
                let Some(row) = form.memory_row(place) else {
                    continue;
                };
                *count += 1;
                places.push(place);
                rows.push(row);
                if rows.len() >= settings.rows_per_round {
                    break;
                }
            }
            if rows.is_empty() {
                let proven = safe_bound(self.solver.model(), &solution.y);
                self.safe_bound = self.safe_bound.max(proven);
                return Ok(());
            }
            let first = self.solver.add_rows(&rows)?;
            for (k, place) in places.into_iter().enumerate() {
                self.rows.push((place, RowId(first.0 + k as u32)));
                inside.insert(place);
            }
        }
    }
}
