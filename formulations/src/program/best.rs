//! The best points of a program, distinct in its integer columns, in order.
//!
//! Each is found by a search of its own, in which rows keep the points before it out. Points that
//! differ in continuous columns alone count as one.

use super::lower::model_bounds;
use super::solve::solve_alone;
use super::special::Special;
use super::stages::Stages;
use super::{Answer, Col, Ending, INFINITE, Kind, Program, ProgramError, ProgramSettings, Watcher};
use std::sync::Arc;

/// Limits of which points count, apart from their number (`pool_size` of the search's settings).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BestPoints {
    /// Largest difference to the best objective, as a share of it.
    pub gap: Option<f64>,
    /// Largest difference to the best objective.
    pub absolute_gap: Option<f64>,
}

/// A program that keeps points out.
struct Excluding {
    program: Program,
    integers: Vec<Col>,
    /// Column and value that two choices, of more and of less, are about.
    choices: Vec<(Col, f64)>,
}

impl Excluding {
    fn new(program: &Program) -> Result<Self, ProgramError> {
        let mut integers = Vec::new();
        for col in program.cols() {
            if program.kind(col)?.is_integer() {
                integers.push(col);
            }
        }
        Ok(Excluding {
            program: program.clone(),
            integers,
            choices: Vec::new(),
        })
    }

    /// Keeps out all points with the integer values of one.
    fn exclude(&mut self, x: &[f64]) -> Result<(), ProgramError> {
        let (mut entries, mut side) = (Vec::new(), 1.0);
        for k in 0..self.integers.len() {
            let col = self.integers[k];
            let value = x[col.index()];
            let (lower, upper) = model_bounds(&self.program, col)?;
            let (lower, upper) = (lower.ceil(), upper.floor());
            if lower == upper {
                continue;
            }
            if value == lower {
                entries.push((col, 1.0));
                side += value;
            } else if value == upper {
                entries.push((col, -1.0));
                side -= value;
            } else {
                for (away, lower, upper) in
                    [(1.0, value + 1.0, INFINITE), (-1.0, -INFINITE, value - 1.0)]
                {
                    let choice = self.program.add_col(0.0, 1.0, 0.0, Kind::Binary, None)?;
                    self.program.add_special(Special::Indicator {
                        col: choice,
                        value: true,
                        entries: vec![(col, 1.0)],
                        lower,
                        upper,
                    })?;
                    self.choices.push((col, away * value));
                    entries.push((choice, 1.0));
                }
            }
        }
        self.program.add_row(&entries, side, INFINITE, None)?;
        Ok(())
    }

    /// A point of the program with the choices that it makes.
    fn start(&self, point: &[f64]) -> Vec<f64> {
        let mut start = point.to_vec();
        for (k, &(col, value)) in self.choices.iter().enumerate() {
            let away = if k % 2 == 0 { 1.0 } else { -1.0 };
            let beyond = away * point[col.index()] > value;
            start.push(f64::from(u8::from(beyond)));
        }
        start
    }
}

/// Finds the best points.
///
/// # Errors
/// As [`super::solve_program`]; [`ProgramError::Unbounded`] for an integer column without bounds.
pub(super) fn solve_best(
    program: &Program,
    settings: &ProgramSettings,
    within: BestPoints,
    watcher: &Arc<dyn Watcher>,
) -> Result<Answer, ProgramError> {
    let count = settings.model.mip.pool_size;
    let handles = program.col_handles();
    let sign = program.sense().sign();
    let mut stages = Stages::new(settings);
    let mut excluding = Excluding::new(program)?;
    let mut found: Option<Answer> = None;
    let mut others: Vec<Vec<f64>> = Vec::new();
    loop {
        let mut how = stages.next();
        // In exact order: each is the best of what is left.
        how.model.mip.relative_gap = 0.0;
        how.model.mip.absolute_gap = how.model.mip.absolute_gap.min(1e-9);
        how.starts
            .iter_mut()
            .for_each(|start| start.resize(handles, f64::NAN));
        let given = how.starts.iter().chain(&others);
        how.starts = given.map(|point| excluding.start(point)).collect();
        let best = found.as_ref().and_then(|answer| answer.points.first());
        let limit = best.and_then(|best| {
            let relative = within.gap.map(|gap| gap * best.objective.abs());
            let gap = match (relative, within.absolute_gap) {
                (Some(a), Some(b)) => a.min(b),
                (a, b) => a.or(b)?,
            };
            Some(best.objective + sign * gap)
        });
        if let Some(limit) = limit {
            let beyond = limit + sign * 1e-6 * limit.abs().max(1.0);
            let cutoff = how
                .model
                .mip
                .cutoff
                .map_or(beyond, |cutoff| sign * (sign * cutoff).min(sign * beyond));
            how.model.mip.cutoff = Some(cutoff);
        }
        let mut answer = solve_alone(&excluding.program, &how, watcher)?;
        answer.info = stages.count(&answer.info);
        for point in &mut answer.points {
            point.x.truncate(handles);
        }
        let next = answer.points.first().cloned();
        let ending = answer.ending;
        others = answer.points.iter().skip(1).map(|p| p.x.clone()).collect();
        let all = match &mut found {
            None => {
                answer.points.truncate(1);
                found.insert(answer)
            }
            Some(all) => {
                all.info = answer.info;
                match ending {
                    Ending::Optimal => {
                        let fits = |objective: f64| {
                            let over = |limit: f64| {
                                sign * (objective - limit) > 1e-9 * limit.abs().max(1.0)
                            };
                            !limit.is_some_and(over)
                        };
                        let next = next.clone().filter(|point| fits(point.objective));
                        let done = next.is_none();
                        all.points.extend(next);
                        if done {
                            break;
                        }
                    }
                    Ending::Infeasible | Ending::Cutoff => break,
                    other => {
                        all.ending = other;
                        break;
                    }
                }
                all
            }
        };
        let Some(next) = next.filter(|_| all.ending == Ending::Optimal) else {
            break;
        };
        if all.points.len() >= count || excluding.integers.is_empty() {
            break;
        }
        excluding.exclude(&next.x)?;
    }
    let mut answer = found.unwrap_or_else(|| Answer::of(Ending::Numeric));
    answer.duals = None;
    Ok(answer)
}
