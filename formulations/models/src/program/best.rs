//! The best points of a program, distinct in its integer columns, in order.
//!
//! The integer points are split into regions, each with its best point (Murty 1968, Lawler 1972).
//! The best of these is the next one. Its region is split around it: a column within its bounds has
//! a value below it, above it, or the same, and then a column after it differs. If all of these
//! have the same value, a row states that one of the columns at a bound leaves it. So a point costs
//! a fixed number of searches, for any number of earlier points. Points that differ in continuous
//! columns alone count as one.

use super::lower::model_bounds;
use super::solve::solve_alone;
use super::stages::SharedLimits;
use super::{
    Answer, Col, Ending, INFINITE, Point, Program, ProgramError, ProgramSettings, Watcher,
};
use crate::setting;
use remat_solver::mip::SolveError;
use std::sync::Arc;

/// Limits on the points that count, apart from their number (`pool_size` of the search's settings).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BestPoints {
    /// Largest difference to the best objective, as a share of it.
    pub gap: Option<f64>,
    /// Largest difference to the best objective.
    pub absolute_gap: Option<f64>,
}

impl BestPoints {
    /// Checks that differences are numbers from 0 up.
    ///
    /// # Errors
    /// [`SolveError::Setting`].
    pub(super) fn validate(self) -> Result<(), SolveError> {
        let not_below_0 = |name, value: Option<f64>| {
            let wrong = value.filter(|&v| v.is_nan() || v < 0.0);
            setting(name, wrong, "a number from 0 up")
        };
        not_below_0("pool_gap", self.gap)?;
        not_below_0("pool_absolute_gap", self.absolute_gap)
    }

    /// The worst objective that counts, given the best one, minimised.
    fn limit(&self, best: f64) -> Option<f64> {
        let relative = self.gap.map(|gap| gap * best.abs());
        let gap = match (relative, self.absolute_gap) {
            (Some(a), Some(b)) => a.min(b),
            (a, b) => a.or(b)?,
        };
        Some(best + gap)
    }
}

/// A row that excludes a point with columns at bounds: `entries . x >= side`.
#[derive(Clone)]
struct KeptOut {
    entries: Vec<(Col, f64)>,
    side: f64,
}

/// Remaining integer points.
#[derive(Clone)]
struct Region {
    /// Bounds of each integer column.
    bounds: Vec<(f64, f64)>,
    rows: Vec<KeptOut>,
}

/// A region, its best point, and other points that were found with it.
struct RegionBest {
    region: Region,
    point: Point,
    others: Vec<Vec<f64>>,
}

/// The integer columns of a program, and the bounds that they have in its model.
struct Integers {
    cols: Vec<Col>,
    bounds: Vec<(f64, f64)>,
}

impl Integers {
    fn of(program: &Program) -> Result<Self, ProgramError> {
        let (mut cols, mut bounds) = (Vec::new(), Vec::new());
        for col in program.cols() {
            if program.kind(col)?.is_integer() {
                let (lower, upper) = model_bounds(program, col)?;
                cols.push(col);
                bounds.push((lower.ceil(), upper.floor()));
            }
        }
        Ok(Integers { cols, bounds })
    }

    fn whole(&self) -> Region {
        Region {
            bounds: self.bounds.clone(),
            rows: Vec::new(),
        }
    }

    fn holds(&self, region: &Region, x: &[f64]) -> bool {
        let within =
            |(col, &(lower, upper)): (&Col, &(f64, f64))| (lower..=upper).contains(&x[col.index()]);
        let keeps = |row: &KeptOut| {
            let terms = row.entries.iter().map(|&(col, a)| a * x[col.index()]);
            terms.sum::<f64>() > row.side - 0.5
        };
        self.cols.iter().zip(&region.bounds).all(within) && region.rows.iter().all(keeps)
    }

    /// The program with the points of a region alone. The region's bounds become rows, because
    /// bounds of semi-integer columns have another meaning.
    fn program(&self, program: &Program, region: &Region) -> Result<Program, ProgramError> {
        let mut program = program.clone();
        let finite = |bound: f64| bound.clamp(-INFINITE, INFINITE);
        let bounds = region.bounds.iter().zip(&self.bounds);
        for (&col, (&(lower, upper), own)) in self.cols.iter().zip(bounds) {
            if (lower, upper) != *own {
                program.add_row(&[(col, 1.0)], finite(lower), finite(upper), None)?;
            }
        }
        for row in &region.rows {
            program.add_row(&row.entries, row.side, INFINITE, None)?;
        }
        Ok(program)
    }

    /// The regions that together make up one without its point with these integers.
    fn without(&self, mut region: Region, x: &[f64]) -> Vec<Region> {
        let mut regions = Vec::new();
        let (mut entries, mut side) = (Vec::new(), 1.0);
        for (k, &col) in self.cols.iter().enumerate() {
            let (value, (lower, upper)) = (x[col.index()], region.bounds[k]);
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
                for part in [(lower, value - 1.0), (value + 1.0, upper)] {
                    let mut beside = region.clone();
                    beside.bounds[k] = part;
                    regions.push(beside);
                }
                region.bounds[k] = (value, value);
            }
        }
        if !entries.is_empty() {
            region.rows.push(KeptOut { entries, side });
            regions.push(region);
        }
        regions
    }
}

/// Finds the best points.
///
/// # Errors
/// As [`super::solve_program`].
pub(super) fn solve_best(
    program: &Program,
    settings: &ProgramSettings,
    within: BestPoints,
    watcher: &Arc<dyn Watcher>,
) -> Result<Answer, ProgramError> {
    let mut search = BestSearch {
        program,
        watcher,
        integers: Integers::of(program)?,
        stages: SharedLimits::new(settings),
        sign: program.sense().sign(),
    };
    let region = search.integers.whole();
    let mut all = search.solve(&region, settings.starts.clone(), None)?;
    all.duals = None;
    let mut found = std::mem::take(&mut all.points).into_iter();
    let Some(best) = found.next() else {
        return Ok(all);
    };
    if all.ending != Ending::Optimal {
        all.points.push(best);
        return Ok(all);
    }
    let limit = within.limit(search.sign * best.objective);
    let fits = |objective: f64| {
        let over = |limit: f64| objective - limit > 1e-9 * limit.abs().max(1.0);
        !limit.is_some_and(over)
    };
    // Open regions in order: the best one last.
    let mut open = vec![RegionBest {
        region,
        point: best,
        others: found.map(|p| p.x).collect(),
    }];
    let count = settings.model.mip.pool_size;
    while let Some(next) = open.pop() {
        if all.points.len() >= count {
            break;
        }
        let RegionBest {
            region,
            point,
            others,
        } = next;
        let parts = search.integers.without(region, &point.x);
        all.points.push(point);
        if all.points.len() >= count {
            break;
        }
        for region in parts {
            let given = others.iter().filter(|x| search.integers.holds(&region, x));
            let given = given.cloned().collect();
            // The worst of the points that can still be needed: of known ones, or of those within
            // the limit.
            let left = count - all.points.len();
            let known = open.len().checked_sub(left).map(|k| &open[k].point);
            let known = known.map(|point| search.sign * point.objective);
            let beyond = limit.map(|limit| limit + 1e-6 * limit.abs().max(1.0));
            let cutoff = [known, beyond].into_iter().flatten().min_by(f64::total_cmp);
            let mut answer = search.solve(&region, given, cutoff)?;
            all.info = answer.info;
            let mut points = std::mem::take(&mut answer.points).into_iter();
            let best = points.next();
            match answer.ending {
                Ending::Optimal => {}
                Ending::Infeasible | Ending::Cutoff => continue,
                // Points found until then count, in order.
                other => all.ending = other,
            }
            if let Some(point) = best.filter(|p| fits(search.sign * p.objective)) {
                let key = search.sign * point.objective;
                let at = open.partition_point(|c| search.sign * c.point.objective > key);
                let others = points.map(|p| p.x).collect();
                let candidate = RegionBest {
                    region,
                    point,
                    others,
                };
                open.insert(at, candidate);
            }
            if all.ending != Ending::Optimal {
                let rest = open.drain(..).rev().map(|c| c.point);
                all.points.extend(rest);
                all.points.truncate(count);
                return Ok(all);
            }
        }
    }
    Ok(all)
}

struct BestSearch<'a> {
    program: &'a Program,
    watcher: &'a Arc<dyn Watcher>,
    integers: Integers,
    stages: SharedLimits,
    sign: f64,
}

impl BestSearch<'_> {
    /// Solves a region in exact order. `cutoff` is minimised.
    fn solve(
        &mut self,
        region: &Region,
        starts: Vec<Vec<f64>>,
        cutoff: Option<f64>,
    ) -> Result<Answer, ProgramError> {
        let mut how = self.stages.next();
        let mip = &mut how.model.mip;
        mip.relative_gap = 0.0;
        mip.absolute_gap = mip.absolute_gap.min(1e-9);
        let own = mip.cutoff.map(|cutoff| self.sign * cutoff);
        let cutoff = [own, cutoff].into_iter().flatten();
        mip.cutoff = cutoff.min_by(f64::total_cmp).map(|c| self.sign * c);
        how.starts = starts;
        let program = self.integers.program(self.program, region)?;
        let mut answer = solve_alone(&program, &how, self.watcher)?;
        answer.info = self.stages.count(&answer.info);
        Ok(answer)
    }
}
