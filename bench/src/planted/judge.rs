//! Judgement of answers by the planted point alone.

use super::draw::{Planted, planted_objective};
use super::exact::{activity, decimal, nearest};
use remat_models::program::{Answer, Ending, Program};

/// Largest violation of a row or bound (docs/reference/tolerances.md).
const FEASIBILITY: f64 = 1e-6;
/// The same as a share of a side.
const SIDE_SHARE: f64 = 1e-9;
/// Rounding of a double, as a share of the largest term of a sum.
const ROUNDING: f64 = 4e-16;

/// An answer without a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The answer is right.
    Right,
    /// A limit that was set ended the search.
    Limit,
    /// The solver reports that numbers are beyond it.
    Numeric,
}

/// Judges the answer to a planted program.
///
/// # Errors
/// The mistake in words.
pub fn judge(planted: &Planted, answer: &Answer, has_limit: bool) -> Result<Verdict, String> {
    let program = &planted.program;
    let sign = program.sense().sign();
    let (objective, sizes) = planted_objective(program, &planted.point);
    let allowed = 1e-7 * (1.0 + sizes);
    let is_better = |value: f64| sign * value <= sign * objective + allowed;
    for (k, point) in answer.points.iter().enumerate() {
        feasible(program, &point.x).map_err(|e| format!("point {k}: {e}"))?;
        let own = program.objective_of(&point.x);
        let scale = 1.0 + own.abs() + scale_of(program, &point.x);
        if (own - point.objective).abs() > 1e-9 * scale {
            let told = point.objective;
            return Err(format!("point {k} has the objective {own}, told is {told}"));
        }
        let before = answer.points[..k].last();
        if before.is_some_and(|b| sign * b.objective > sign * point.objective + FEASIBILITY * scale)
        {
            let values: Vec<f64> = answer.points.iter().map(|p| p.objective).collect();
            return Err(format!(
                "point {k} is better than the one before it: {values:?}"
            ));
        }
    }
    let has_bound = answer.ending != Ending::Infeasible;
    if has_bound && sign * answer.bound > sign * objective + allowed {
        return Err(format!(
            "{}: the bound {} is past the planted {objective}",
            answer.ending.words(),
            answer.bound
        ));
    }
    match answer.ending {
        Ending::Infeasible => Err("infeasible".into()),
        Ending::Unbounded if planted.is_bounded => {
            Err("unbounded, with bounds on all costs".into())
        }
        Ending::Unbounded => Ok(Verdict::Right),
        Ending::Cutoff => Err("cutoff, without one".into()),
        Ending::Interrupted => Err("interrupted, by nobody".into()),
        Ending::Numeric => Ok(Verdict::Numeric),
        Ending::Optimal => match answer.points.first() {
            None => Err("optimal without a point".into()),
            Some(p) if !is_better(p.objective) => Err(format!(
                "the optimum {} is worse than the planted {objective}",
                p.objective
            )),
            Some(p)
                if sign * answer.bound < sign * p.objective - 1e-6 * (1.0 + p.objective.abs()) =>
            {
                Err(format!(
                    "optimal {} with the bound {}",
                    p.objective, answer.bound
                ))
            }
            Some(_) => Ok(Verdict::Right),
        },
        limit if !has_limit => Err(format!("{} without one", limit.words())),
        _ => Ok(Verdict::Limit),
    }
}

/// Sum of the sizes of an objective's terms at a point.
fn scale_of(program: &Program, x: &[f64]) -> f64 {
    let cols = program.cols();
    cols.map(|c| (program.cost(c).unwrap_or(0.0) * x[c.index()]).abs())
        .sum()
}

/// Checks a point against bounds, integers, rows (in fractions) and special constraints.
///
/// # Errors
/// The violation in words.
pub fn feasible(program: &Program, x: &[f64]) -> Result<(), String> {
    for col in program.cols() {
        let (lower, upper) = program.col_bounds(col).map_err(|e| e.to_string())?;
        let kind = program.kind(col).map_err(|e| e.to_string())?;
        let value = x[col.index()];
        let is_off = kind.is_semi() && value.abs() <= FEASIBILITY;
        let reach = |side: f64| FEASIBILITY.max(SIDE_SHARE * side.abs());
        let is_within = value >= lower - reach(lower) && value <= upper + reach(upper);
        if value.is_nan() || !is_within && !is_off {
            return Err(format!(
                "column {} = {value} outside [{lower}, {upper}]",
                col.0
            ));
        }
        if kind.is_integer() && value.fract() != 0.0 {
            return Err(format!("column {} = {value} is no integer", col.0));
        }
    }
    for row in program.rows() {
        let entries = program.entries(row).map_err(|e| e.to_string())?;
        let (lower, upper) = program.row_bounds(row).map_err(|e| e.to_string())?;
        let (at, sizes) = activity(entries.iter().map(|&(c, v)| (v, x[c.index()])));
        let reach = |side: f64| {
            FEASIBILITY.max(SIDE_SHARE * side.abs()) * 1.001 + ROUNDING * nearest(&sizes)
        };
        for (side, sign) in [(lower, 1.0), (upper, -1.0)] {
            if !side.is_finite() {
                continue;
            }
            let missed = sign * nearest(&(decimal(side) - &at));
            if missed > reach(side) {
                return Err(format!("row {} misses its side {side} by {missed}", row.0));
            }
        }
    }
    match program.violated_special(x) {
        Some((id, by)) => Err(format!("special constraint {} is violated by {by}", id.0)),
        None => Ok(()),
    }
}
