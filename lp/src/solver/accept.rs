//! Acceptance of outcomes by the check of their certificate.

use super::presolved::{Solved, remaining, solve_with};
use crate::certificate::check;
use crate::model::Model;
use crate::outcome::{LimitKind, LpOutcome};
use crate::rational::judge;
use crate::settings::{Algorithm, Limits, Settings};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Relative tolerance of the check that accepts an outcome.
const CHECK_TOLERANCE: f64 = 1e-6;
/// Relative tolerance at which outcomes of small programs need no solve in rational numbers.
const ACCURATE: f64 = 1e-11;
/// Largest number of rows times columns for a solve in rational numbers, which takes 10 ms.
const SMALL_AREA: usize = 1_000;
/// Ratio of the largest to the smallest entry above which rounding may change the outcome.
const SPREAD: f64 = 1e4;
/// Magnitude of sides and bounds above which rounding may change the outcome.
const LARGE: f64 = 1e9;

/// Returns the solved outcome if it is accepted, otherwise an accepted replacement. Without one,
/// the outcome is [`LimitKind::Numerical`].
pub(super) fn accepted(
    model: &Arc<Model>,
    settings: &Settings,
    limits: &Limits,
    mut solved: Solved,
) -> Solved {
    if limits.objective_cutoff.is_some() || ended_by_limit(&solved.outcome) {
        return solved;
    }
    let small = model.num_rows() * model.num_cols() <= SMALL_AREA;
    if small && (is_spread(model) || !is_accepted(model, &solved.outcome, ACCURATE)) {
        let stop = limits.interrupt.as_deref();
        let stopped = || stop.is_some_and(|s| s.load(Ordering::Relaxed));
        let judged = judge(model, &solved.outcome, settings.primal_tolerance, &stopped);
        if let Some(outcome) = judged
            && is_accepted(model, &outcome, CHECK_TOLERANCE)
        {
            solved.outcome = outcome;
            return solved;
        }
    }
    let tolerance =
        (10.0 * settings.primal_tolerance.max(settings.dual_tolerance)).max(CHECK_TOLERANCE);
    if is_accepted(model, &solved.outcome, tolerance) {
        return solved;
    }
    for other in others(settings) {
        let limits = remaining(limits, &solved.stats);
        let next = solve_with(model, &other, &limits, None, false);
        solved.stats = solved.stats.plus(&next.stats);
        if ended_by_limit(&next.outcome) || is_accepted(model, &next.outcome, tolerance) {
            solved.outcome = next.outcome;
            return solved;
        }
    }
    solved.outcome = LpOutcome::Limit(LimitKind::Numerical);
    solved
}

/// Alternative settings to try, the most careful last.
fn others(settings: &Settings) -> [Settings; 4] {
    let with = |algorithm, scaling, share: f64| Settings {
        algorithm,
        scaling,
        perturbation: false,
        primal_tolerance: share * settings.primal_tolerance,
        dual_tolerance: share * settings.dual_tolerance,
        lazy_rows: None,
        refine: true,
        ..settings.clone()
    };
    let other = match settings.algorithm {
        Algorithm::Primal => Algorithm::Dual,
        _ => Algorithm::Primal,
    };
    [
        with(Algorithm::Auto, true, 1.0),
        with(other, true, 0.1),
        with(Algorithm::Dual, false, 0.01),
        with(Algorithm::Primal, false, 0.01),
    ]
}

fn ended_by_limit(outcome: &LpOutcome) -> bool {
    matches!(outcome, LpOutcome::Limit(kind) if *kind != LimitKind::Numerical)
}

fn is_accepted(model: &Model, outcome: &LpOutcome, tolerance: f64) -> bool {
    !matches!(outcome, LpOutcome::Limit(_)) && check(model, outcome, tolerance).is_ok()
}

/// Returns whether the numbers differ so much in size that rounding may change the outcome.
fn is_spread(model: &Model) -> bool {
    let entries = (0..model.num_cols()).flat_map(|j| model.col_entries(j));
    let entries = entries.map(|(_, v)| v.abs()).filter(|v| *v > 0.0);
    let (least, most) = entries.fold((f64::INFINITY, 0.0f64), |(l, m), v| (l.min(v), m.max(v)));
    let sides = [
        &model.col_lower,
        &model.col_upper,
        &model.row_lower,
        &model.row_upper,
    ];
    let mut sides = sides.into_iter().flatten();
    most > SPREAD * least || sides.any(|v| v.is_finite() && v.abs() > LARGE)
}
