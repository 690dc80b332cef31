//! Continuous values of a solution without the noise of the search.

use remat_lp::presolve::PresolveSettings;
use remat_lp::{ColId, Limits, Model, ModelBuilder, RowId, Settings};
use remat_solver::mip::{self, SolveResult, SolveStatus, check_point};
use std::sync::Arc;

/// Simplex iterations for the cleaning of a solution.
const ITERATIONS: u64 = 50_000;
/// Largest violation of a row in a clean solution.
const CLEAN: f64 = 1e-9;
/// Largest loss of the objective, relative to it, that counts as noise of the search.
const NOISE: f64 = 1e-8;

/// Solves the linear program that remains when the integer columns have the values of an optimal
/// solution. Takes its values if they keep rows within [`CLEAN`] and leave the gap closed. The
/// search's own values may be off by its tolerances.
pub(super) fn cleaned(model: &Model, settings: &mip::Settings, result: &mut SolveResult) {
    let Some(solution) = &mut result.solution else {
        return;
    };
    let columns = 0..model.num_cols() as u32;
    let integers = columns.filter(|&j| model.is_integer(ColId(j))).count();
    if integers == model.num_cols() || result.status != SolveStatus::Optimal {
        return;
    }
    let Some(x) = vertex(model, &solution.x, settings) else {
        return;
    };
    let tolerance = settings.feasibility_tolerance;
    let Ok(objective) = check_point(model, &x, CLEAN.min(tolerance)) else {
        return;
    };
    let gap = (objective - result.dual_bound).abs();
    let closed = settings.relative_gap * objective.abs();
    let noise = NOISE * objective.abs().max(1.0);
    if gap <= settings.absolute_gap.max(closed) + noise {
        if result.dual_bound == solution.objective {
            // A closed search stays closed.
            result.dual_bound = objective;
        }
        (solution.objective, solution.x) = (objective, x);
        if let Some(best) = result.pool.first_mut() {
            best.clone_from(solution);
        }
    }
}

/// The best point with the integer columns of another one.
fn vertex(model: &Model, point: &[f64], settings: &mip::Settings) -> Option<Vec<f64>> {
    let mut builder = ModelBuilder::new(model.sense());
    builder.set_offset(model.offset());
    for (j, &value) in point.iter().enumerate() {
        let bounds = match model.is_integer(ColId(j as u32)) {
            true => value..=value,
            false => model.col_lower()[j]..=model.col_upper()[j],
        };
        builder.add_col(model.costs()[j], bounds);
    }
    for i in 0..model.num_rows() {
        let bounds = model.row_lower()[i]..=model.row_upper()[i];
        builder.add_row(bounds, model.row(RowId(i as u32)));
    }
    let fixed = Arc::new(builder.build().ok()?);
    let lp = Settings {
        refine: true,
        seed: settings.seed,
        ..Settings::default()
    };
    let limits = Limits {
        iterations: Some(ITERATIONS),
        interrupt: settings.limits.interrupt.clone(),
        ..Limits::default()
    };
    let solved = remat_lp::solve(&fixed, &lp, &limits, Some(&PresolveSettings::default()));
    let mut x = solved.outcome.optimal()?.x.clone();
    for (j, &value) in point.iter().enumerate() {
        if model.is_integer(ColId(j as u32)) {
            x[j] = value;
        }
    }
    Some(x)
}
