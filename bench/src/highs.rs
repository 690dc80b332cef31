//! HiGHS, in this process, as a reference: same machine, same run, one thread.

use crate::clock::Stopwatch;
use crate::run::MipRun;
use remat_lp::{ColId, Model, Sense};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// Settings of a run of HiGHS.
#[derive(Clone, Copy, Debug)]
pub struct HighsSettings {
    /// HiGHS's own presolve, on or off.
    pub presolve: bool,
    /// Its time limit in seconds.
    pub time_limit: f64,
    /// True for the interior point method with crossover instead of the simplex method.
    pub interior: bool,
}

/// Result of a run of HiGHS.
#[derive(Clone, Debug, PartialEq)]
pub struct HighsRun {
    /// Processor time of its `run` alone, without passing it the model.
    pub time: Duration,
    /// Simplex iterations.
    pub iterations: i64,
    /// The objective, if optimal.
    pub objective: Option<f64>,
    /// HiGHS's name for how it ended.
    pub status: String,
    /// The row duals it reports (change of the objective per unit of right-hand side), empty if it
    /// reports no duals.
    pub row_duals: Vec<f64>,
}

/// Simplex on one thread, without output.
pub fn simplex_options(h: &mut highs::Model) {
    h.make_quiet();
    h.set_threads(NonZeroU32::MIN);
    h.set_option("parallel", "off");
    h.set_option("solver", "simplex");
}

/// Solves a linear program with HiGHS on one thread. Integrality is ignored.
pub fn solve(model: &Model, settings: HighsSettings) -> HighsRun {
    let mut problem = highs::ColProblem::default();
    let rows: Vec<highs::Row> = (0..model.num_rows())
        .map(|i| problem.add_row::<f64, _>(model.row_lower()[i]..=model.row_upper()[i]))
        .collect();
    for j in 0..model.num_cols() {
        problem.add_column::<f64, _, _, _>(
            model.costs()[j],
            model.col_lower()[j]..=model.col_upper()[j],
            model
                .col(ColId(j as u32))
                .map(|(r, v)| (rows[r.index()], v)),
        );
    }
    let sense = match model.sense() {
        Sense::Minimise => highs::Sense::Minimise,
        Sense::Maximise => highs::Sense::Maximise,
    };
    let mut h = problem.optimise(sense);
    simplex_options(&mut h);
    h.set_option("presolve", if settings.presolve { "on" } else { "off" });
    h.set_option("time_limit", settings.time_limit);
    if settings.interior {
        h.set_option("solver", "ipx");
    }
    let start = Stopwatch::start();
    let solved = h.solve();
    let time = start.elapsed();
    let status = solved.status();
    let optimal = status == highs::HighsModelStatus::Optimal;
    HighsRun {
        time,
        iterations: solved.simplex_iteration_count(),
        objective: optimal.then(|| solved.objective_value() + model.offset()),
        status: format!("{status:?}"),
        row_duals: if optimal {
            solved.get_solution().dual_rows().to_vec()
        } else {
            Vec::new()
        },
    }
}

/// Solves a mixed-integer program with HiGHS. Times of new solutions are read from its log.
pub fn solve_mip(model: &Model, time_limit: f64, threads: usize, gap: f64) -> MipRun {
    let mut problem = highs::ColProblem::default();
    let rows: Vec<highs::Row> = (0..model.num_rows())
        .map(|i| problem.add_row::<f64, _>(model.row_lower()[i]..=model.row_upper()[i]))
        .collect();
    for j in 0..model.num_cols() {
        let bounds = model.col_lower()[j]..=model.col_upper()[j];
        let entries = model
            .col(ColId(j as u32))
            .map(|(r, v)| (rows[r.index()], v));
        if model.is_integer(ColId(j as u32)) {
            problem.add_integer_column::<f64, _, _, _>(model.costs()[j], bounds, entries);
        } else {
            problem.add_column::<f64, _, _, _>(model.costs()[j], bounds, entries);
        }
    }
    let sense = match model.sense() {
        Sense::Minimise => highs::Sense::Minimise,
        Sense::Maximise => highs::Sense::Maximise,
    };
    let folder = tempfile::tempdir().expect("a folder among the temporary files");
    let log = folder.path().join("highs.log");
    let mut h = problem.optimise(sense);
    h.set_option("output_flag", true);
    h.set_option("log_to_console", false);
    h.set_option("log_file", log.to_string_lossy().as_ref());
    h.set_threads(NonZeroU32::new(threads as u32).unwrap_or(NonZeroU32::MIN));
    h.set_option("time_limit", time_limit);
    h.set_option("mip_rel_gap", gap);
    let start = Instant::now();
    let solved = h.solve();
    let seconds = start.elapsed().as_secs_f64();
    let status = match solved.status() {
        highs::HighsModelStatus::Optimal => "optimal",
        highs::HighsModelStatus::Infeasible => "infeasible",
        highs::HighsModelStatus::Unbounded | highs::HighsModelStatus::UnboundedOrInfeasible => {
            "unbounded"
        }
        _ => "limit",
    };
    // The log is complete when its writer is gone.
    drop(solved);
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let report = |name: &str| -> Option<f64> {
        let line = text
            .lines()
            .rev()
            .find(|l| l.trim_start().starts_with(name))?;
        line[line.find(name)? + name.len()..]
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    };
    let offset = model.offset();
    let incumbents = incumbents(&text)
        .into_iter()
        .map(|(t, v)| (t, v + offset))
        .collect();
    MipRun {
        status: status.into(),
        objective: report("Primal bound")
            .filter(|v| v.is_finite())
            .map(|v| v + offset),
        bound: report("Dual bound").unwrap_or(f64::NAN) + offset,
        nodes: report("Nodes").unwrap_or(0.0) as u64,
        seconds,
        incumbents,
    }
}

/// Times and objectives of new solutions in HiGHS's table. In a line, bound and best solution
/// follow the share explored (the first word that ends in `%`); the time comes last.
fn incumbents(log: &str) -> Vec<(f64, f64)> {
    let mut out: Vec<(f64, f64)> = Vec::new();
    for line in log.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(at) = words.iter().position(|w| w.ends_with('%')) else {
            continue;
        };
        let value: Option<f64> = words.get(at + 2).and_then(|w| w.parse().ok());
        let time: Option<f64> = words
            .last()
            .and_then(|w| w.strip_suffix('s'))
            .and_then(|w| w.parse().ok());
        if let (Some(v), Some(t)) = (value.filter(|v| v.is_finite()), time)
            && out.last().is_none_or(|l| l.1 != v)
        {
            out.push((t, v));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn solutions_are_read_from_the_log() {
        let log = "  Proc. InQueue |  Leaves   Expl. | BestBound       BestSol              Gap |\n\n \
            J       0       0         0   0.00%   -inf            1234               Large        0      0      0         0     0.1s\n \
                    0       0         0   0.00%   100.5           1234              91.86%        0      0      0        33     0.2s\n \
            L       1       0         0  50.00%   101             110                8.18%       33      3      0       399     1.5s\n";
        assert_eq!(super::incumbents(log), [(0.1, 1234.0), (1.5, 110.0)]);
    }
}
