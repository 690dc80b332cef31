//! Counts, means, primal integrals and performance profiles of runs.

use super::catalogue::{Catalogue, Size};
use super::known::KnownObjectives;
use super::results::ResultRow;
use super::verdict::{self, Wrong};
use crate::others::{Solver, Status};
use std::collections::BTreeMap;

/// Shift of geometric means in seconds.
const SHIFT_SECONDS: f64 = 1.0;
/// Times below this count as this in profiles: solvers' clocks are not finer.
pub const LEAST_SECONDS: f64 = 0.01;

/// Gap between a solution and the best one known, from 0 to 1.
pub fn primal_gap(objective: f64, best: f64) -> f64 {
    if objective == best {
        0.0
    } else if objective * best < 0.0 {
        1.0
    } else {
        ((objective - best).abs() / objective.abs().max(best.abs())).min(1.0)
    }
}

/// The primal integral (Berthold 2013): the area under the primal gap over the seconds up to a
/// limit. It is 0 for a solver with the optimum at once, and the limit for a solver without a
/// solution.
pub fn primal_integral(incumbents: &[(f64, f64)], best: f64, limit: f64) -> f64 {
    let (mut area, mut at, mut gap) = (0.0, 0.0, 1.0);
    for &(t, v) in incumbents {
        let t = t.clamp(at, limit);
        area += gap * (t - at);
        (at, gap) = (t, primal_gap(v, best));
    }
    area + gap * (limit - at).max(0.0)
}

/// The shifted geometric mean; 0 for an empty slice.
pub fn shifted_mean(values: &[f64], shift: f64) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    let sum: f64 = values.iter().map(|v| (v + shift).ln()).sum();
    (sum / values.len() as f64).exp() - shift
}

/// A performance profile (Dolan & More 2002): for every solver the shares of runs that it ended
/// within a factor of the best solver's time, for rising factors. Times of all solvers are of the
/// same runs, in seconds, infinite for a run that was not ended.
pub fn profile(times: &[Vec<f64>]) -> Vec<Vec<(f64, f64)>> {
    let runs = times.iter().map(Vec::len).min().unwrap_or(0);
    let best = |k: usize| {
        let all = times.iter().map(|t| t[k].max(LEAST_SECONDS));
        all.fold(f64::INFINITY, f64::min)
    };
    let curves = times.iter().map(|times| {
        let mut ratios: Vec<f64> = (0..runs)
            .map(|k| times[k].max(LEAST_SECONDS) / best(k))
            .filter(|r| r.is_finite())
            .collect();
        ratios.sort_by(f64::total_cmp);
        let share = |n: usize| n as f64 / runs.max(1) as f64;
        let steps = ratios.iter().enumerate().map(|(n, r)| (*r, share(n + 1)));
        [(1.0, 0.0)].into_iter().chain(steps).collect()
    });
    curves.collect()
}

/// One solver's runs in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct SolverSummary {
    /// The solver.
    pub solver: Solver,
    /// Its version.
    pub version: String,
    /// Runs that it ended with a proof and a right answer, and all runs, by size.
    pub by_size: BTreeMap<Size, (usize, usize)>,
    /// The same by family.
    pub by_family: BTreeMap<String, (usize, usize)>,
    /// Runs ended, and all.
    pub all: (usize, usize),
    /// Runs with a feasible solution.
    pub with_solution: usize,
    /// Shifted geometric mean of seconds (shift 1 s), the limit for runs that were not ended.
    pub mean_seconds: f64,
    /// The same of primal integrals, if the solver reports the times of its solutions.
    pub mean_integral: Option<f64>,
    /// Wrong answers.
    pub wrong: usize,
}

/// One solver's runs on a program in numbers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProgramRuns {
    /// Runs that it ended with a proof and a right answer.
    pub ended: usize,
    /// All runs.
    pub all: usize,
    /// Objective of the best feasible solution, in the program's sense.
    pub best: Option<f64>,
    /// The best bound of runs that are not wrong.
    pub bound: Option<f64>,
    /// Shifted geometric mean of the seconds of the runs that were ended (shift 1 s).
    pub mean_seconds: f64,
}

/// All runs in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// One for each solver with runs.
    pub lines: Vec<SolverSummary>,
    /// Runs by program and solver.
    pub by_program: BTreeMap<String, BTreeMap<Solver, ProgramRuns>>,
    /// Wrong answers.
    pub wrongs: Vec<Wrong>,
    /// Seconds of each solver's runs, in the order of `lines`, infinite where not ended. Only
    /// programs and seeds that all solvers ran on count.
    pub times: Vec<Vec<f64>>,
}

impl Summary {
    /// The numbers of runs. `best` has known objectives of programs from elsewhere.
    pub fn new(rows: &[ResultRow], catalogue: &Catalogue, best: &KnownObjectives) -> Self {
        let wrongs = verdict::wrongs(rows, best);
        let is_wrong = |r: &ResultRow| {
            let mut all = wrongs.iter();
            all.any(|w| (w.solver, w.seed, &w.program) == (r.solver, r.seed, &r.program))
        };
        let is_ended = |r: &ResultRow| {
            let proven = matches!(
                r.status,
                Status::Optimal | Status::Infeasible | Status::Unbounded
            );
            proven && !is_wrong(r)
        };
        let best = best_of(rows, &wrongs, best);
        let solvers = Solver::ALL.into_iter();
        let solvers: Vec<Solver> = solvers
            .filter(|s| rows.iter().any(|r| r.solver == *s))
            .collect();
        let lines = solvers.iter().map(|solver| {
            let own: Vec<&ResultRow> = rows.iter().filter(|r| r.solver == *solver).collect();
            line(*solver, &own, catalogue, &best, &is_ended, &is_wrong)
        });
        Summary {
            lines: lines.collect(),
            by_program: by_program(rows, &is_ended, &is_wrong),
            times: times(rows, &solvers, &is_ended),
            wrongs,
        }
    }

    /// The performance profile of each solver, by name.
    pub fn profiles(&self) -> Vec<(String, Vec<(f64, f64)>)> {
        let names = self.lines.iter().map(|l| l.solver.name().to_owned());
        names.zip(profile(&self.times)).collect()
    }
}

/// The best objective of each program over feasible solutions.
fn best_of(rows: &[ResultRow], wrongs: &[Wrong], known: &KnownObjectives) -> KnownObjectives {
    let mut best = known.clone();
    for row in rows {
        let refused = wrongs.iter().any(|w| {
            w.program == row.program && w.solver == row.solver && w.reason.contains("refused")
        });
        let Some(value) = row.checked.filter(|_| !refused) else {
            continue;
        };
        let sign = row.sense.sign();
        let entry = best.entry(row.program.clone()).or_insert(value);
        if sign * value < sign * *entry {
            *entry = value;
        }
    }
    best
}

fn line(
    solver: Solver,
    own: &[&ResultRow],
    catalogue: &Catalogue,
    best: &KnownObjectives,
    is_ended: &dyn Fn(&ResultRow) -> bool,
    is_wrong: &dyn Fn(&ResultRow) -> bool,
) -> SolverSummary {
    let mut by_size = BTreeMap::new();
    let mut by_family = BTreeMap::new();
    let count = |(ended, all): &mut (usize, usize), row: &ResultRow| {
        *ended += usize::from(is_ended(row));
        *all += 1;
    };
    let mut all = (0, 0);
    for row in own {
        count(&mut all, row);
        if let Some(program) = catalogue.program(&row.program) {
            count(by_size.entry(program.size).or_default(), row);
            count(by_family.entry(program.family.clone()).or_default(), row);
        }
    }
    let seconds = |r: &&ResultRow| match is_ended(r) {
        true => r.seconds,
        false => r.time_limit,
    };
    let times: Vec<f64> = own.iter().map(seconds).collect();
    // A solver that never reported the time of a solution has no integral.
    let tells = own.iter().any(|r| !r.incumbents.is_empty());
    let integrals = own.iter().filter_map(|r| {
        let best = best.get(&r.program)?;
        Some(primal_integral(&r.incumbents, *best, r.time_limit))
    });
    let integrals: Vec<f64> = integrals.collect();
    SolverSummary {
        solver,
        version: own.first().map_or_else(String::new, |r| r.version.clone()),
        by_size,
        by_family,
        all,
        with_solution: own.iter().filter(|r| r.checked.is_some()).count(),
        mean_seconds: shifted_mean(&times, SHIFT_SECONDS),
        mean_integral: tells.then(|| shifted_mean(&integrals, SHIFT_SECONDS)),
        wrong: own.iter().filter(|r| is_wrong(r)).count(),
    }
}

/// Each solver's runs on each program.
fn by_program(
    rows: &[ResultRow],
    is_ended: &dyn Fn(&ResultRow) -> bool,
    is_wrong: &dyn Fn(&ResultRow) -> bool,
) -> BTreeMap<String, BTreeMap<Solver, ProgramRuns>> {
    let mut groups: BTreeMap<(&str, Solver), Vec<&ResultRow>> = BTreeMap::new();
    for row in rows {
        let group = groups.entry((&row.program, row.solver)).or_default();
        group.push(row);
    }
    let mut found: BTreeMap<String, BTreeMap<Solver, ProgramRuns>> = BTreeMap::new();
    for ((program, solver), own) in groups {
        let least = |a: f64, b: f64| if a <= b { a } else { b };
        let sign = own[0].sense.sign();
        let solutions = own.iter().filter_map(|r| r.checked);
        let right = own.iter().filter(|r| !is_wrong(r));
        let seconds = own.iter().filter(|r| is_ended(r)).map(|r| r.seconds);
        let seconds: Vec<f64> = seconds.collect();
        let runs = ProgramRuns {
            ended: seconds.len(),
            all: own.len(),
            best: solutions.map(|v| sign * v).reduce(least).map(|v| sign * v),
            bound: right
                .filter_map(|r| r.bound)
                .map(|v| -sign * v)
                .reduce(least)
                .map(|v| -sign * v),
            mean_seconds: shifted_mean(&seconds, SHIFT_SECONDS),
        };
        let of_program = found.entry(program.to_owned()).or_default();
        of_program.insert(solver, runs);
    }
    found
}

/// Seconds of the programs and seeds that all solvers ran on.
fn times(
    rows: &[ResultRow],
    solvers: &[Solver],
    is_ended: &dyn Fn(&ResultRow) -> bool,
) -> Vec<Vec<f64>> {
    let mut of: BTreeMap<(&str, u32), BTreeMap<Solver, f64>> = BTreeMap::new();
    for row in rows {
        let seconds = match is_ended(row) {
            true => row.seconds,
            false => f64::INFINITY,
        };
        let runs = of.entry((&row.program, row.seed)).or_default();
        runs.insert(row.solver, seconds);
    }
    let common: Vec<_> = of.values().filter(|r| r.len() == solvers.len()).collect();
    let each = |s: &Solver| common.iter().map(|runs| runs[s]).collect();
    solvers.iter().map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::solved;
    use super::*;

    #[test]
    fn the_primal_integral_is_the_area_under_the_gap() {
        assert_eq!(primal_integral(&[], 10.0, 60.0), 60.0);
        assert_eq!(primal_integral(&[(0.0, 10.0)], 10.0, 60.0), 0.0);
        // Gap 1 for 2 s, then 1/2 (20 against 10) for 4 s, then 0.
        let seen = [(2.0, 20.0), (6.0, 10.0)];
        assert_eq!(primal_integral(&seen, 10.0, 60.0), 4.0);
        assert_eq!(primal_gap(-1.0, 1.0), 1.0);
    }

    #[test]
    fn the_profile_counts_who_is_within_a_factor() {
        let open = f64::INFINITY;
        let curves = profile(&[vec![1.0, 3.0, open, 4.0], vec![2.0, 1.0, 5.0, open]]);
        assert_eq!(
            curves[0],
            [(1.0, 0.0), (1.0, 0.25), (1.0, 0.5), (3.0, 0.75)]
        );
        let last = curves[1].last();
        assert_eq!(last, Some(&(2.0, 0.75)));
        // No solver ended it, so no curve includes it.
        assert_eq!(profile(&[vec![open], vec![open]])[0], [(1.0, 0.0)]);
    }

    #[test]
    fn runs_are_counted_by_size_and_wrong_ones_are_not_solved() {
        let catalogue = Catalogue::built_in().expect("a catalogue");
        let [a, b] = [0, 1].map(|k| catalogue.programs[k].name.clone());
        let mut slow = solved(&b, Solver::Highs, 4.0, 30.0);
        (slow.status, slow.bound) = (Status::Limit, Some(3.0));
        let mut wrong = solved(&b, Solver::Cbc, 6.0, 1.0);
        wrong.incumbents.clear();
        let rows = [
            solved(&a, Solver::Highs, 4.0, 3.0),
            solved(&a, Solver::Cbc, 4.0, 1.0),
            slow,
            wrong,
        ];
        let summary = Summary::new(&rows, &catalogue, &KnownObjectives::new());
        let [highs, cbc] = &summary.lines[..] else {
            panic!("two solvers");
        };
        assert_eq!(
            (highs.all, highs.wrong, highs.with_solution),
            ((1, 2), 0, 2)
        );
        assert_eq!((cbc.all, cbc.wrong), ((1, 2), 1));
        let sizes: usize = highs.by_size.values().map(|(_, all)| all).sum();
        assert_eq!(sizes, 2);
        // (3 + 1) (30 + 1) = 124.
        assert!((highs.mean_seconds - (124f64.sqrt() - 1.0)).abs() < 1e-12);
        assert_eq!(
            summary.times,
            [vec![3.0, f64::INFINITY], vec![1.0, f64::INFINITY]]
        );
        assert_eq!(summary.wrongs.len(), 1);
    }
}
