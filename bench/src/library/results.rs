//! A run of a solver as a line of a table.

use crate::csv;
use crate::others::{Solver, Status};
use remat_bb::failure::Failure;
use remat_lp::Sense;

/// A run on a program. Objectives and bounds are in the program's sense.
#[derive(Clone, Debug, PartialEq)]
pub struct ResultRow {
    /// Name of the program.
    pub program: String,
    /// Sense of the program.
    pub sense: Sense,
    /// The solver.
    pub solver: Solver,
    /// Its version.
    pub version: String,
    /// Seed of the run.
    pub seed: u32,
    /// Threads.
    pub threads: usize,
    /// Limit in seconds.
    pub time_limit: f64,
    /// Relative gap that counts as optimal.
    pub gap: f64,
    /// Its end.
    pub status: Status,
    /// The same in the solver's words, or the reason why there is no answer.
    pub words: String,
    /// The objective that it claims.
    pub objective: Option<f64>,
    /// The bound that it claims.
    pub bound: Option<f64>,
    /// Objective of its solution as read back; `None` without a feasible solution.
    pub checked: Option<f64>,
    /// Verdict on its solution: `feasible`, `recomputed`, `refused: ..`, or empty without one.
    pub check: String,
    /// Nodes, where the solver reports them.
    pub nodes: Option<u64>,
    /// Seconds by its own clock.
    pub seconds: f64,
    /// Seconds of its process.
    pub process_seconds: f64,
    /// Processor seconds of its process, where the system reports them.
    pub cpu_seconds: Option<f64>,
    /// Times (seconds) and objectives of its solutions, where the solver reports them.
    pub incumbents: Vec<(f64, f64)>,
    /// Commit that `remat-bb` was built from; `unknown` in builds for tests and from a package.
    pub commit: String,
    /// The machine.
    pub machine: String,
    /// Share of the machine's processor time that other processes used meanwhile, from 0 to 1; `None`
    /// for short runs and in older tables.
    pub foreign_load: Option<f64>,
}

/// Foreign load above which a run is left out of tables and pictures.
pub const FOREIGN_LOAD_LIMIT: f64 = 0.2;

const COLUMNS: [&str; 22] = [
    "program",
    "sense",
    "solver",
    "version",
    "seed",
    "threads",
    "time_limit",
    "gap",
    "status",
    "words",
    "objective",
    "bound",
    "checked",
    "check",
    "nodes",
    "seconds",
    "process_seconds",
    "cpu_seconds",
    "incumbents",
    "commit",
    "machine",
    "foreign_load",
];

/// The heading of the table.
pub fn heading() -> String {
    COLUMNS.join(",") + "\n"
}

impl ResultRow {
    /// Returns whether the machine was loaded by other processes: its seconds mean little.
    pub fn is_loaded(&self) -> bool {
        self.foreign_load.is_some_and(|l| l > FOREIGN_LOAD_LIMIT)
    }

    /// The line of the table.
    pub fn line(&self) -> String {
        let seen = self.incumbents.iter();
        let incumbents: Vec<String> = seen.map(|(t, v)| format!("{t:.3}:{v}")).collect();
        let cells = [
            csv::cell(&self.program),
            match self.sense {
                Sense::Minimise => "min".into(),
                Sense::Maximise => "max".into(),
            },
            self.solver.key().into(),
            csv::cell(&self.version),
            self.seed.to_string(),
            self.threads.to_string(),
            self.time_limit.to_string(),
            self.gap.to_string(),
            self.status.as_str().into(),
            csv::cell(&self.words),
            csv::number(self.objective),
            csv::number(self.bound),
            csv::number(self.checked),
            csv::cell(&self.check),
            self.nodes.map_or_else(String::new, |n| n.to_string()),
            format!("{:.3}", self.seconds),
            format!("{:.3}", self.process_seconds),
            csv::number(self.cpu_seconds.map(|s| (100.0 * s).round() / 100.0)),
            incumbents.join(" "),
            csv::cell(&self.commit),
            csv::cell(&self.machine),
            self.foreign_load
                .map_or_else(String::new, |l| format!("{l:.3}")),
        ];
        cells.join(",") + "\n"
    }
}

/// Reads a table; errors call the text `file`. Older tables have no last column.
///
/// # Errors
/// [`Failure::Usage`] with line and column.
pub fn parse(file: &str, text: &str) -> Result<Vec<ResultRow>, Failure> {
    let is_new = text
        .lines()
        .next()
        .is_some_and(|h| h.ends_with(",foreign_load"));
    let columns = &COLUMNS[..COLUMNS.len() - usize::from(!is_new)];
    let lines = csv::lines(file, text, columns)?;
    let rows = lines.iter().map(|line| {
        let incumbents = line.text("incumbents").split_whitespace().map(|one| {
            let pair = one.split_once(':');
            let pair = pair.and_then(|(t, v)| Some((t.parse().ok()?, v.parse().ok()?)));
            pair.ok_or_else(|| line.wrong("incumbents", "seconds:objective, with spaces between"))
        });
        Ok(ResultRow {
            program: line.text("program").into(),
            sense: match line.text("sense") {
                "min" => Sense::Minimise,
                "max" => Sense::Maximise,
                _ => return Err(line.wrong("sense", "min or max")),
            },
            solver: Solver::of_key(line.text("solver"))
                .ok_or_else(|| line.wrong("solver", "a solver of `library run --help`"))?,
            version: line.text("version").into(),
            seed: line.value("seed")?,
            threads: line.value("threads")?,
            time_limit: line.value("time_limit")?,
            gap: line.value("gap")?,
            status: Status::of_word(line.text("status")).ok_or_else(|| {
                line.wrong("status", "optimal, infeasible, unbounded, limit or failed")
            })?,
            words: line.text("words").into(),
            objective: line.optional("objective")?,
            bound: line.optional("bound")?,
            checked: line.optional("checked")?,
            check: line.text("check").into(),
            nodes: line.optional("nodes")?,
            seconds: line.value("seconds")?,
            process_seconds: line.value("process_seconds")?,
            cpu_seconds: line.optional("cpu_seconds")?,
            incumbents: incumbents.collect::<Result<_, Failure>>()?,
            commit: line.text("commit").into(),
            machine: line.text("machine").into(),
            foreign_load: line.optional("foreign_load")?,
        })
    });
    rows.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A run that proved an objective.
    pub fn solved(program: &str, solver: Solver, objective: f64, seconds: f64) -> ResultRow {
        ResultRow {
            program: program.into(),
            sense: Sense::Minimise,
            solver,
            version: "1.0".into(),
            seed: 0,
            threads: 1,
            time_limit: 30.0,
            gap: 1e-6,
            status: Status::Optimal,
            words: "optimal".into(),
            objective: Some(objective),
            bound: Some(objective),
            checked: Some(objective),
            check: "feasible".into(),
            nodes: Some(7),
            seconds,
            process_seconds: seconds + 0.5,
            cpu_seconds: Some(0.5 * seconds + 0.25),
            incumbents: vec![(0.5 * seconds, objective)],
            commit: "abc".into(),
            machine: "a machine".into(),
            foreign_load: None,
        }
    }

    #[test]
    fn rows_come_back() {
        let mut open = solved("q", Solver::Cbc, 3.0, 30.0);
        open.status = Status::Limit;
        (open.objective, open.checked, open.bound) = (None, None, Some(-1.5));
        (open.nodes, open.incumbents) = (None, Vec::new());
        let mut rows = [solved("p", Solver::Highs, 0.1, 2.0), open];
        (rows[0].foreign_load, rows[1].foreign_load) = (Some(0.2), Some(0.25));
        assert_eq!(rows.each_ref().map(ResultRow::is_loaded), [false, true]);
        let text = heading() + &rows.iter().map(ResultRow::line).collect::<String>();
        assert_eq!(parse("r.csv", &text).expect("a table"), rows);
        let old = text
            .lines()
            .map(|l| l.rsplit_once(',').expect("cells").0.to_owned() + "\n");
        let parsed = parse("r.csv", &old.collect::<String>()).expect("a table");
        assert!(
            parsed
                .iter()
                .all(|r| r.foreign_load.is_none() && !r.is_loaded())
        );
        let broken = text.replace("min,cbc", "min,cbd");
        let error = parse("r.csv", &broken).expect_err("wrong").to_string();
        assert_eq!(error, "r.csv, line 3, column solver: \"cbd\"");
    }
}
