//! Starts that say everything, and those that are completed.

use super::solve::solve_alone;
use super::{Compiled, Kind, Program, ProgramSettings, Watcher};
use std::sync::Arc;

/// Nodes of the search that completes a start.
const NODES: u64 = 500;
/// Its work in deterministic units.
const TICKS: u64 = 200_000_000;
/// Share of the time limit that all starts together may take.
const TIME_SHARE: f64 = 0.1;

/// Starts in the order of the model's columns. Those with gaps, and hints, are completed by a search
/// in the program with their values fixed; where that has no point, with the integer ones alone
/// fixed. Those that lead to no point are left out.
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

/// The values of a start with what is missing, by handle.
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
