//! Presolve steps of extensions: models derived from models, and the maps back.

use crate::mip::control::{NodeEvent, Observer, Progress};
use crate::mip::extend::Extensions;
use crate::mip::outcome::{FileProblems, Info, Solution, SolveError, SolveResult, SolveStatus};
use crate::mip::solver::Solver;
use crate::mip::{
    check_point,
    extend::{PresolveEffect, WayBack},
};
use remat_lp::Model;
use std::sync::Arc;

/// Maps back, with the names of their steps.
#[derive(Clone, Default)]
struct Ways(Vec<(&'static str, WayBack)>);

impl Ways {
    fn restore(&self, x: &[f64]) -> Vec<f64> {
        let back = self.0.iter().rev();
        back.fold(x.to_vec(), |x, (_, way)| way(&x))
    }
}

/// Solves the reduced model of the steps, and restores the solutions.
pub(crate) fn run(solver: &Solver) -> Result<SolveResult, SolveError> {
    let (mut model, mut ways) = (solver.model.clone(), Ways::default());
    for step in &solver.extensions.steps {
        match step.reduce(&model) {
            PresolveEffect::Nothing => {}
            PresolveEffect::Infeasible => return Ok(infeasible(&solver.model)),
            PresolveEffect::Reduced { model: next, way } => {
                model = next;
                ways.0.push((step.name(), way));
            }
        }
    }
    let (original, tolerance) = (&solver.model, solver.settings.feasibility_tolerance);
    let mut settings = solver.settings.clone();
    let mut control = solver.control.clone();
    if !ways.0.is_empty() {
        // Starts are points of the original model.
        settings.starts.clear();
        settings.debug_solution = None;
        let restoring = |observer| {
            let (ways, original) = (ways.clone(), original.clone());
            Arc::new(Restoring {
                observer,
                ways,
                original,
            }) as Arc<dyn Observer>
        };
        control.observers = control.observers.into_iter().map(restoring).collect();
    }
    let inner = Solver {
        model,
        settings,
        extensions: Extensions {
            steps: Vec::new(),
            ..solver.extensions.clone()
        },
        control,
        emits_events: solver.emits_events,
    };
    let mut result = inner.run()?;
    if ways.0.is_empty() {
        return Ok(result);
    }
    for solution in result.solution.iter_mut().chain(&mut result.pool) {
        let x = ways.restore(&solution.x);
        if x.len() != original.num_cols() {
            return Err(wrong(&ways, "a point of another size".into()));
        }
        solution.objective = check_point(original, &x, tolerance)
            .map_err(|refusal| wrong(&ways, refusal.to_string()))?;
        solution.x = x;
    }
    Ok(result)
}

fn infeasible(model: &Model) -> SolveResult {
    SolveResult {
        status: SolveStatus::Infeasible,
        solution: None,
        pool: Vec::new(),
        certificate_problem: None,
        file_problems: FileProblems::default(),
        exact: None,
        dual_bound: model.sense().sign() * f64::INFINITY,
        info: Info::default(),
    }
}

fn wrong(ways: &Ways, problem: String) -> SolveError {
    let names: Vec<&str> = ways.0.iter().map(|(name, _)| *name).collect();
    SolveError::PresolveStep {
        steps: names.join(", "),
        problem,
    }
}

/// Passes the events of another model's search to an observer of the original model.
struct Restoring {
    observer: Arc<dyn Observer>,
    ways: Ways,
    original: Arc<Model>,
}

impl Observer for Restoring {
    fn incumbent(&self, solution: &Solution) {
        let x = self.ways.restore(&solution.x);
        // Wrong lengths are reported at the end.
        if x.len() == self.original.num_cols() {
            self.observer.incumbent(&Solution {
                objective: self.original.objective(&x),
                x,
                found_by: solution.found_by,
            });
        }
    }

    fn nodes(&self, events: &[NodeEvent]) {
        self.observer.nodes(events);
    }

    fn watches_nodes(&self) -> bool {
        self.observer.watches_nodes()
    }

    fn progress(&self, progress: &Progress) -> bool {
        self.observer.progress(progress)
    }
}
