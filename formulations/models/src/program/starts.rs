//! Complete starts, and completion of others.

use super::solve::solve_alone;
use super::{Compiled, Kind, Point, Program, ProgramError, ProgramSettings, Watcher};
use std::sync::Arc;

/// Nodes of the search that completes a start.
const NODES: u64 = 500;
/// Limit on its work in deterministic units.
const TICKS: u64 = 200_000_000;
/// Share of the time limit that all starts together may take.
const TIME_SHARE: f64 = 0.1;

/// Starts in the order of the model's columns. Starts with gaps, and hints, are completed by a
/// search in the program with their values fixed. If that has no point, only the integer ones are
/// fixed. Starts that lead to no point are left out.
pub(super) fn whole(
    program: &Program,
    compiled: &Compiled,
    settings: &ProgramSettings,
) -> Vec<Vec<f64>> {
    let mut whole = Vec::new();
    if !(program.has_integers() || program.has_specials()) {
        return whole;
    }
    let given = settings.starts.iter().chain(&settings.hints);
    for start in given {
        let point = compiled.complete(start).or_else(|| {
            let completed = [false, true]
                .into_iter()
                .find_map(|integers_alone| completed(program, start, integers_alone, settings));
            compiled.complete(&completed?)
        });
        whole.extend(point);
    }
    whole
}

/// Checks that a start has no more numbers than column handles, each finite or NaN.
///
/// # Errors
/// [`ProgramError::Length`], [`ProgramError::NotFinite`].
pub fn check_start(program: &Program, start: &[f64], what: &str) -> Result<(), ProgramError> {
    // Values missing at the end are searched for.
    if start.len() > program.col_handles() {
        return Err(ProgramError::Length {
            what: what.into(),
            found: start.len(),
            needed: program.col_handles(),
        });
    }
    match start.iter().position(|v| v.is_infinite()) {
        None => Ok(()),
        Some(col) => Err(ProgramError::NotFinite {
            what: format!("the value of column {col} in {what}"),
            value: start[col],
        }),
    }
}

/// The best point that is found with the values of a start, which may have gaps (NaN), by handle.
/// If there is no such point, only the values of its integer columns are kept. The search is on one
/// thread and within small limits; `None` if it finds no point.
///
/// ```
/// use remat_models::program::{Kind, Program, ProgramSettings, complete_start};
/// let mut p = Program::default();
/// let x = p.add_col(0.0, 9.0, 1.0, Kind::Integer, None)?;
/// let y = p.add_col(0.0, 9.0, 1.0, Kind::Integer, None)?;
/// p.add_row(&[(x, 1.0), (y, 1.0)], 7.0, f64::INFINITY, None)?;
/// let point = complete_start(&p, &[3.0, f64::NAN], &ProgramSettings::default()).ok_or("none")?;
/// assert_eq!(point.x, [3.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn complete_start(
    program: &Program,
    start: &[f64],
    settings: &ProgramSettings,
) -> Option<Point> {
    let mut settings = settings.clone();
    settings.model.mip.threads = 1;
    let mut ways = [false, true].into_iter();
    let x = ways.find_map(|integers_alone| completed(program, start, integers_alone, &settings))?;
    Some(Point {
        objective: program.objective_of(&x),
        x,
    })
}

/// The values of a start, with its gaps filled, by handle.
pub(super) fn completed(
    program: &Program,
    start: &[f64],
    integers_alone: bool,
    settings: &ProgramSettings,
) -> Option<Vec<f64>> {
    let mut fixed = program.clone();
    let (mut any, mut left_out) = (false, false);
    for col in program.cols() {
        let Some(&value) = start.get(col.index()).filter(|v| v.is_finite()) else {
            continue;
        };
        let kind = program.kind(col).ok()?;
        if integers_alone && !kind.is_integer() {
            left_out = true;
            continue;
        }
        let (value, plain) = match kind.is_integer() {
            true => (value.round(), Kind::Integer),
            false => (value, Kind::Continuous),
        };
        let (lower, upper) = program.col_bounds(col).ok()?;
        let is_off = kind.is_semi() && value == 0.0;
        if !is_off && (value < lower || value > upper) {
            continue;
        }
        if kind.is_semi() {
            fixed.set_kind(col, plain).ok()?;
        }
        fixed.set_col_bounds(col, value, value).ok()?;
        any = true;
    }
    if !any || (integers_alone && !left_out) {
        return None;
    }
    let mut how = settings.clone();
    (how.starts, how.hints) = (Vec::new(), None);
    how.model.recognise = false;
    let mip = &mut how.model.mip;
    (mip.pool_size, mip.relative_gap) = (1, 0.01);
    (mip.cutoff, mip.limits.nodes, mip.limits.ticks) = (None, Some(NODES), Some(TICKS));
    let share = TIME_SHARE / (2.0 * (settings.starts.len() + 1) as f64);
    mip.limits.seconds = mip.limits.seconds.map(|s| s * share);
    let nobody: Arc<dyn Watcher> = Arc::new(());
    let answer = solve_alone(&fixed, &how, &nobody).ok()?;
    Some(answer.points.into_iter().next()?.x)
}
