//! Models with a bound, and often a point, before the general search.

use remat_lp::{ColId, Model, ModelBuilder, RowId, Sense};
use remat_memory::olla::recognise::RecognisedOlla;
use remat_solver::mip::{
    self, Control, FileProblems, Info, Solution, SolveError, SolveResult, SolveStatus, Solver,
    check_point,
};
use std::sync::Arc;
use std::time::Instant;

/// Solves a model with a known bound and point. If the point reaches the bound, it is the answer.
/// Else the general search begins with the point, and with the bound as a bound of the peak column.
///
/// # Errors
/// As the general search.
pub(super) fn solve_known(
    model: &Arc<Model>,
    known: &RecognisedOlla,
    settings: &mip::Settings,
    control: Control,
    begun: Instant,
) -> Result<SolveResult, SolveError> {
    let tolerance = settings.feasibility_tolerance;
    let checked = known.point.as_ref().and_then(|x| {
        let objective = check_point(model, x, tolerance).ok()?;
        Some(Solution {
            objective,
            x: x.clone(),
            found_by: known.program,
        })
    });
    let least = least_peak(model, known);
    let bound = model.offset() + model.costs()[known.peak as usize] * least;
    if let Some(solution) = checked.clone()
        && is_closed(&solution, bound, settings)
    {
        return Ok(settled(model, solution, bound, settings, &control, begun));
    }
    let mut settings = settings.clone();
    settings.starts.extend(checked.map(|s| s.x));
    if let Some(seconds) = &mut settings.limits.seconds {
        *seconds = (*seconds - begun.elapsed().as_secs_f64()).max(0.0);
    }
    let raised = raised(model, known.peak, least).unwrap_or_else(|| model.clone());
    let solver = Solver::new(raised.clone(), settings.clone()).with_control(control);
    let mut result = solver.run()?;
    super::clean::cleaned(model, &settings, &mut result);
    if !matches!(result.status, SolveStatus::Infeasible | SolveStatus::Cutoff) {
        result.dual_bound = match model.sense() {
            Sense::Minimise => result.dual_bound.max(bound),
            Sense::Maximise => result.dual_bound.min(bound),
        };
    }
    result.info.seconds = begun.elapsed().as_secs_f64();
    Ok(result)
}

/// The least value of the peak: the proven bound, rounded up if the column is integer, or its own
/// lower bound.
fn least_peak(model: &Model, known: &RecognisedOlla) -> f64 {
    let own = model.col_lower()[known.peak as usize];
    let proven = match model.is_integer(ColId(known.peak)) {
        true => (known.least_peak - ROUNDING * known.least_peak.abs().max(1.0)).ceil(),
        false => known.least_peak,
    };
    proven.max(own)
}

/// Part of a number that rounding may have taken.
const ROUNDING: f64 = 1e-9;

/// Returns whether a solution is as good as a bound, within the requested gap.
fn is_closed(solution: &Solution, bound: f64, settings: &mip::Settings) -> bool {
    let gap = (solution.objective - bound).abs();
    let relative = settings.relative_gap * solution.objective.abs();
    let is_closed = gap
        <= settings
            .absolute_gap
            .max(relative)
            .max(ROUNDING * bound.abs());
    // A cutoff between bound and objective would prove no optimum.
    let low = bound.min(solution.objective);
    let high = bound.max(solution.objective);
    is_closed
        && settings
            .cutoff
            .is_none_or(|cutoff| cutoff <= low || cutoff > high)
}

/// The result if no search is needed.
fn settled(
    model: &Model,
    solution: Solution,
    bound: f64,
    settings: &mip::Settings,
    control: &Control,
    begun: Instant,
) -> SolveResult {
    let sign = match model.sense() {
        Sense::Minimise => 1.0,
        Sense::Maximise => -1.0,
    };
    let is_wanted = |cutoff| sign * solution.objective < sign * cutoff;
    let wanted = settings.cutoff.is_none_or(is_wanted);
    let solution = wanted.then_some(solution);
    if let Some(solution) = &solution {
        let told = control.observers.iter();
        told.for_each(|observer| observer.incumbent(solution));
    }
    SolveResult {
        status: match wanted {
            true => SolveStatus::Optimal,
            false => SolveStatus::Cutoff,
        },
        pool: solution.iter().cloned().collect(),
        solution,
        certificate_problem: None,
        file_problems: FileProblems::default(),
        exact: None,
        dual_bound: bound,
        info: Info {
            seconds: begun.elapsed().as_secs_f64(),
            root_bound: bound,
            ..Info::default()
        },
    }
}

/// The model with a larger lower bound of a column.
fn raised(model: &Model, column: u32, lower: f64) -> Option<Arc<Model>> {
    let mut builder = ModelBuilder::new(model.sense());
    builder.set_name(model.name());
    builder.set_offset(model.offset());
    for j in 0..model.num_cols() {
        let id = ColId(j as u32);
        let (mut low, high) = (model.col_lower()[j], model.col_upper()[j]);
        if id.0 == column {
            low = low.max(lower);
        }
        builder.add_col(model.costs()[j], low..=high);
        builder.set_integer(id, model.is_integer(id));
    }
    for r in (0..model.num_rows() as u32).map(RowId) {
        builder.add_row(model.row_bounds(r), model.row(r));
    }
    builder.build().ok().map(Arc::new)
}
