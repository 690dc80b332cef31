//! HiGHS, in this process, to measure against: same machine, same run, one thread.

use remat_lp::{ColId, Model, Sense};
use std::num::NonZeroU32;
use std::time::{Duration, Instant};

/// How HiGHS is to work.
#[derive(Clone, Copy, Debug)]
pub struct HighsSettings {
    /// HiGHS's own presolve, on or off.
    pub presolve: bool,
    /// Its time limit in seconds.
    pub time_limit: f64,
}

/// What HiGHS answered.
#[derive(Clone, Debug, PartialEq)]
pub struct HighsRun {
    /// Wall-clock time of its `run` alone, without passing it the model.
    pub time: Duration,
    /// Simplex iterations.
    pub iterations: i64,
    /// The objective, if optimal.
    pub objective: Option<f64>,
    /// HiGHS's name for how it ended.
    pub status: String,
    /// The row duals it reports (change of the objective per unit of right-hand side), empty if it has none.
    pub row_duals: Vec<f64>,
}

/// Simplex on one thread, without output.
pub fn simplex_options(h: &mut highs::Model) {
    h.make_quiet();
    h.set_threads(NonZeroU32::MIN);
    h.set_option("parallel", "off");
    h.set_option("solver", "simplex");
}

/// Solves a linear program with HiGHS's simplex on one thread. Integrality is ignored.
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
    let start = Instant::now();
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
