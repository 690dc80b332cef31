//! Hash, size, relaxation, best value and bound of every program.

use super::catalogue::{Catalogue, LibraryProgram};
use super::known::KnownObjectives;
use super::results::ResultRow;
use super::verdict;
use crate::csv;
use crate::others::Status;
use remat_bb::failure::Failure;
use remat_lp::{Model, mps};
use remat_models::{LinearSettings, solve_linear};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// Known values of a program. Objectives are in its own sense and units.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its family.
    pub family: String,
    /// Its size class.
    pub size: String,
    /// The command that writes it.
    pub command: String,
    /// SHA-256 of the MPS text.
    pub sha256: String,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Integer columns.
    pub integers: usize,
    /// Nonzeros.
    pub nonzeros: usize,
    /// Value of the linear relaxation.
    pub relaxation: Option<f64>,
    /// Objective of the best solution known.
    pub best: Option<f64>,
    /// Key of a solver that found it.
    pub best_by: String,
    /// Best known bound: no solution is better.
    pub bound: Option<f64>,
    /// Key of a solver that proves it.
    pub bound_by: String,
    /// Keys of the solvers that prove the optimum, each with its seconds, the fastest first:
    /// `remat-bb:0.003 highs:0.108`.
    pub proven_by: String,
    /// Commit of the runs with these values.
    pub commit: String,
    /// Machine of those runs.
    pub machine: String,
}

const COLUMNS: [&str; 17] = [
    "name",
    "family",
    "size",
    "command",
    "sha256",
    "rows",
    "columns",
    "integers",
    "nonzeros",
    "relaxation",
    "best",
    "best_by",
    "bound",
    "bound_by",
    "proven_by",
    "commit",
    "machine",
];

/// Name of the built-in file.
const FILE: &str = "bench/library/index.csv";

/// The built-in index.
///
/// # Errors
/// As [`parse`].
pub fn built_in() -> Result<Vec<Entry>, Failure> {
    parse(FILE, include_str!("../../library/index.csv"))
}

/// Reads a table; errors call the text `file`.
///
/// # Errors
/// [`Failure::Usage`] with line and column.
pub fn parse(file: &str, text: &str) -> Result<Vec<Entry>, Failure> {
    let lines = csv::lines(file, text, &COLUMNS)?;
    let entries = lines.iter().map(|line| {
        let text = |name| line.text(name).to_owned();
        Ok(Entry {
            name: text("name"),
            family: text("family"),
            size: text("size"),
            command: text("command"),
            sha256: text("sha256"),
            rows: line.value("rows")?,
            columns: line.value("columns")?,
            integers: line.value("integers")?,
            nonzeros: line.value("nonzeros")?,
            relaxation: line.optional("relaxation")?,
            best: line.optional("best")?,
            best_by: text("best_by"),
            bound: line.optional("bound")?,
            bound_by: text("bound_by"),
            proven_by: text("proven_by"),
            commit: text("commit"),
            machine: text("machine"),
        })
    });
    entries.collect()
}

/// The table of entries.
pub fn render(entries: &[Entry]) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for e in entries {
        let cells = [
            csv::cell(&e.name),
            csv::cell(&e.family),
            csv::cell(&e.size),
            csv::cell(&e.command),
            csv::cell(&e.sha256),
            e.rows.to_string(),
            e.columns.to_string(),
            e.integers.to_string(),
            e.nonzeros.to_string(),
            csv::number(e.relaxation),
            csv::number(e.best),
            csv::cell(&e.best_by),
            csv::number(e.bound),
            csv::cell(&e.bound_by),
            csv::cell(&e.proven_by),
            csv::cell(&e.commit),
            csv::cell(&e.machine),
        ];
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", cells.join(","));
    }
    text
}

/// SHA-256 of a text or of bytes, in hexadecimal digits.
pub fn sha256(content: impl AsRef<[u8]>) -> String {
    let digest = Sha256::digest(content.as_ref());
    digest.iter().fold(String::new(), |mut out, byte| {
        // Writing to a string cannot fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

/// Value of the linear relaxation; `None` if it takes longer than the limit.
pub fn relaxation(model: &Arc<Model>, limit: Duration) -> Option<f64> {
    let settings = LinearSettings {
        time_limit: Some(limit),
        ..LinearSettings::default()
    };
    let solved = solve_linear(model, &settings, &()).ok()?;
    Some(solved.solved.outcome.optimal()?.objective)
}

/// The entry of a program, made anew. Values from before stay if the MPS text is the same.
///
/// # Errors
/// As [`LibraryProgram::model`].
pub fn measured(
    program: &LibraryProgram,
    known: Option<&Entry>,
    relaxation_limit: Duration,
) -> Result<Entry, Failure> {
    let model = Arc::new(program.model()?);
    let sha256 = sha256(mps::to_string(&model));
    let known = known.filter(|e| e.sha256 == sha256).cloned();
    let mut entry = known.unwrap_or_default();
    entry.name.clone_from(&program.name);
    entry.family.clone_from(&program.family);
    entry.size = program.size.as_str().into();
    entry.command = program.command();
    entry.sha256 = sha256;
    (entry.rows, entry.columns) = (model.num_rows(), model.num_cols());
    entry.integers = remat_bb::commands::integers(&model);
    entry.nonzeros = model.num_nonzeros();
    if entry.relaxation.is_none() {
        entry.relaxation = relaxation(&model, relaxation_limit);
    }
    Ok(entry)
}

/// The table with the values of runs whose answers are not contradicted. Better values and bounds
/// from before stay.
pub fn with_results(mut entries: Vec<Entry>, rows: &[ResultRow]) -> Vec<Entry> {
    let wrongs = verdict::wrongs(rows, &best_values(&entries));
    let is_right = |r: &&ResultRow| {
        let mut all = wrongs.iter();
        !all.any(|w| (w.solver, w.seed, &w.program) == (r.solver, r.seed, &r.program))
    };
    for entry in &mut entries {
        let own = rows.iter().filter(|r| r.program == entry.name);
        let own: Vec<&ResultRow> = own.filter(is_right).collect();
        let Some(first) = own.first() else {
            continue;
        };
        let sign = first.sense.sign();
        (entry.commit, entry.machine) = (first.commit.clone(), first.machine.clone());
        for row in &own {
            let better = |v: &f64| entry.best.is_none_or(|b| sign * v < sign * b);
            if let Some(value) = row.checked.filter(better) {
                (entry.best, entry.best_by) = (Some(value), row.solver.key().into());
            }
            let higher = |v: &f64| entry.bound.is_none_or(|b| sign * v > sign * b);
            if let Some(value) = row.bound.filter(higher) {
                (entry.bound, entry.bound_by) = (Some(value), row.solver.key().into());
            }
        }
        entry.proven_by = provers(&own);
    }
    entries
}

/// Solvers that prove the optimum with their least seconds, the fastest first.
fn provers(own: &[&ResultRow]) -> String {
    let mut least = BTreeMap::new();
    for row in own.iter().filter(|r| r.status == Status::Optimal) {
        let seconds = least.entry(row.solver).or_insert(row.seconds);
        *seconds = seconds.min(row.seconds);
    }
    let mut sorted: Vec<_> = least.into_iter().collect();
    sorted.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let each = sorted.iter().map(|(s, t)| format!("{}:{t:.3}", s.key()));
    each.collect::<Vec<_>>().join(" ")
}

/// Objectives of the best solutions, by program.
pub fn best_values(entries: &[Entry]) -> KnownObjectives {
    let known = entries.iter();
    known
        .filter_map(|e| Some((e.name.clone(), e.best?)))
        .collect()
}

/// The entry of every program of a catalogue, in its order; those that are not in the index are
/// left out.
pub fn in_order<'a>(entries: &'a [Entry], catalogue: &Catalogue) -> Vec<&'a Entry> {
    let find = |p: &LibraryProgram| entries.iter().find(|e| e.name == p.name);
    catalogue.programs.iter().filter_map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::solved;
    use super::*;
    use crate::others::Solver;

    #[test]
    fn hashes_are_those_of_everybody() {
        let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(sha256(""), empty);
    }

    #[test]
    fn values_of_runs_go_into_the_index_and_wrong_ones_do_not() {
        let entry = Entry {
            name: "p".into(),
            bound: Some(2.0),
            bound_by: "scip".into(),
            ..Entry::default()
        };
        let mut open = solved("p", Solver::Cbc, 5.0, 30.0);
        (open.status, open.bound) = (Status::Limit, Some(1.0));
        let mut wrong = solved("p", Solver::CpSat, 9.0, 0.1);
        wrong.bound = Some(9.0);
        let rows = [open, wrong, solved("p", Solver::Highs, 4.0, 2.0)];
        let updated = with_results(vec![entry.clone()], &rows);
        let e = &updated[0];
        assert_eq!((e.best, e.best_by.as_str()), (Some(4.0), "highs"));
        assert_eq!((e.bound, e.bound_by.as_str()), (Some(4.0), "highs"));
        assert_eq!(e.proven_by, "highs:2.000");
        // Known values are not lost where runs find worse ones.
        let rows = [solved("q", Solver::Highs, 4.0, 2.0)];
        assert_eq!(with_results(vec![entry.clone()], &rows), [entry]);
        let text = render(&updated);
        assert_eq!(parse("i.csv", &text).expect("a table"), updated);
    }
}
