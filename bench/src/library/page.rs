//! The generated part of a page: the programs, and the solvers' results.

use super::catalogue::{Catalogue, Size};
use super::index::{self, Entry};
use super::known::KnownObjectives;
use super::results::{FOREIGN_LOAD_LIMIT, ResultRow};
use super::summary::{ProgramRuns, SolverSummary, Summary};
use crate::others::Solver;
use remat_report::{counted, number};
use std::fmt::Write as _;

/// Caption of the performance profile.
pub const PROFILE: &str = "share of runs that were ended, with a right answer, within a factor of the fastest solver's time";

/// Tables and the numbers that they show.
pub struct Page {
    /// The numbers.
    pub summary: Summary,
    /// The tables as Markdown.
    pub text: String,
    /// Heading of the performance profile.
    pub heading: &'static str,
}

/// The tables of runs, and of an index if the runs include its programs. Runs on a loaded machine
/// are counted and left out.
///
/// `known` has values from elsewhere beside the index's values.
pub fn tables(
    rows: &[ResultRow],
    catalogue: &Catalogue,
    entries: &[Entry],
    known: KnownObjectives,
) -> Page {
    let mut best = index::best_values(entries);
    best.extend(known);
    let quiet: Vec<ResultRow> = rows.iter().filter(|r| !r.is_loaded()).cloned().collect();
    let summary = Summary::new(&quiet, catalogue, &best);
    let is_of_library = |name: &String| catalogue.program(name).is_some();
    let has_own = summary.by_program.keys().any(is_of_library);
    let has_others = !summary.by_program.keys().all(is_of_library);
    let mut text = settings(rows);
    text += &solvers(&summary);
    if has_own {
        text += &families(&summary, catalogue);
    }
    text += &wrongs(&summary);
    if has_others {
        text += &others(&summary, catalogue);
    }
    if has_own {
        text += &programs(catalogue, entries);
    }
    let heading = match has_others {
        true => "Programs side by side",
        false => "Programs of the benchmark library",
    };
    Page {
        summary,
        text,
        heading,
    }
}

/// The different values of a column, in order of appearance.
fn different(values: impl Iterator<Item = String>) -> String {
    let mut seen: Vec<String> = Vec::new();
    for value in values {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    seen.join(", ")
}

fn settings(rows: &[ResultRow]) -> String {
    let of = |value: &dyn Fn(&ResultRow) -> String| different(rows.iter().map(value));
    let mut seeds: Vec<u32> = rows.iter().map(|r| r.seed).collect();
    seeds.sort_unstable();
    seeds.dedup();
    format!(
        "Limit {} s, gap {}, threads {}, {}; commit {}; {}.{}{}\n\n",
        of(&|r| number(r.time_limit)),
        of(&|r| number(r.gap)),
        of(&|r| r.threads.to_string()),
        counted(seeds.len() as u64, "seed"),
        of(&|r| r.commit.clone()),
        of(&|r| r.machine.clone()),
        uncommitted(rows),
        load(rows)
    )
}

/// Share of its cores that a run gets on an idle machine: the rest is start and reading.
const IDLE_SHARE: f64 = 0.9;

/// A sentence on runs of a program whose commit does not name its source.
fn uncommitted(rows: &[ResultRow]) -> &'static str {
    let is_clean = |r: &ResultRow| r.commit != "unknown" && !r.commit.ends_with("-dirty");
    match rows.iter().all(is_clean) {
        true => "",
        false => " The source had uncommitted changes.",
    }
}

/// The load of the machine in words: the foreign load, and where it is not recorded, the share of
/// its cores that a run got.
fn load(rows: &[ResultRow]) -> String {
    let known = rows.iter().filter_map(|r| r.foreign_load);
    let quiet = known.clone().filter(|l| *l <= FOREIGN_LOAD_LIMIT);
    if known.clone().next().is_some() {
        let most = 100.0 * quiet.fold(0.0, f64::max);
        let loaded = rows.iter().filter(|r| r.is_loaded()).count();
        let limit = 100.0 * FOREIGN_LOAD_LIMIT;
        let left_out = match loaded {
            0 => String::new(),
            n => format!(
                " {n} of {} runs had more than {limit}% and are left out.",
                rows.len()
            ),
        };
        return format!(" Foreign load: at most {most:.0}% of the processor time.{left_out}");
    }
    let long = rows.iter().filter(|r| r.process_seconds >= 1.0);
    let shares = long.filter_map(|r| {
        let cores = r.process_seconds * r.threads as f64;
        Some(r.cpu_seconds? / cores)
    });
    let mut shares: Vec<f64> = shares.collect();
    shares.sort_by(f64::total_cmp);
    match shares.get(shares.len() / 2) {
        Some(share) if *share < IDLE_SHARE => {
            let percent = 100.0 * share;
            let runs = "Half of the runs of a second or more";
            format!(" {runs} got {percent:.0}% of their cores or less: the machine had other work.")
        }
        _ => String::new(),
    }
}

fn share((ended, all): (usize, usize)) -> String {
    format!("{ended} / {all}")
}

fn solvers(summary: &Summary) -> String {
    let sizes: Vec<Size> = Size::ALL
        .into_iter()
        .filter(|size| summary.lines.iter().any(|l| l.by_size.contains_key(size)))
        .collect();
    let mut text = String::from("| solver | version | solved |");
    for size in &sizes {
        let _ = write!(text, " {} |", size.as_str());
    }
    text += " with a solution | mean seconds | mean primal integral | wrong |\n|---|---|---|";
    text += &"---|".repeat(sizes.len() + 4);
    text.push('\n');
    for l in &summary.lines {
        let _ = write!(
            text,
            "| {} | {} | {} |",
            l.solver.name(),
            // The version number, after any greeting.
            l.version.split_whitespace().last().unwrap_or("-"),
            share(l.all)
        );
        for size in &sizes {
            let cell = l.by_size.get(size).map_or("-".into(), |s| share(*s));
            let _ = write!(text, " {cell} |");
        }
        let integral = l.mean_integral.map_or("-".into(), |v| format!("{v:.2}"));
        let _ = writeln!(
            text,
            " {} | {:.2} | {integral} | {} |",
            l.with_solution, l.mean_seconds, l.wrong
        );
    }
    text + "\n"
}

fn families(summary: &Summary, catalogue: &Catalogue) -> String {
    let names = catalogue.families.iter().map(|f| &f.name);
    let names = names.filter(|name| {
        let mut lines = summary.lines.iter();
        lines.any(|l| l.by_family.contains_key(*name))
    });
    let cell = |l: &SolverSummary, name: &String| l.by_family.get(name).map(|s| share(*s));
    "Solved, by family:\n\n".to_owned() + &by_solver(summary, "family", names, cell)
}

/// A table with a row for each name and a column for each solver.
fn by_solver<'a>(
    summary: &Summary,
    heading: &str,
    names: impl Iterator<Item = &'a String>,
    cell: impl Fn(&SolverSummary, &String) -> Option<String>,
) -> String {
    let mut text = format!("| {heading} |");
    for l in &summary.lines {
        let _ = write!(text, " {} |", l.solver.name());
    }
    let _ = writeln!(text, "\n|---|{}", "---|".repeat(summary.lines.len()));
    for name in names {
        let _ = write!(text, "| `{name}` |");
        for l in &summary.lines {
            let _ = write!(text, " {} |", cell(l, name).unwrap_or_else(|| "-".into()));
        }
        text.push('\n');
    }
    text + "\n"
}

fn wrongs(summary: &Summary) -> String {
    if summary.wrongs.is_empty() {
        return "No answer was wrong.\n\n".into();
    }
    let mut text = String::from("Wrong answers:\n\n| program | solver | seed | what is wrong |\n");
    text += "|---|---|---|---|\n";
    for w in &summary.wrongs {
        let (program, solver) = (&w.program, w.solver.name());
        let reason = w.reason.replace('|', "\\|");
        let _ = writeln!(text, "| `{program}` | {solver} | {} | {reason} |", w.seed);
    }
    text + "\n"
}

/// The runs on programs that are not of the library.
fn others(summary: &Summary, catalogue: &Catalogue) -> String {
    let names = summary.by_program.keys();
    let names = names.filter(|name| catalogue.program(name).is_none());
    let runs = |l: &SolverSummary, name: &String| summary.by_program[name].get(&l.solver).map(cell);
    "Programs: the best solution, with the mean of seconds where all runs are solved, else \
     with the best bound in brackets and the number of runs that are:\n\n"
        .to_owned()
        + &by_solver(summary, "program", names, runs)
}

/// A solver's runs on a program in few words.
fn cell(runs: &ProgramRuns) -> String {
    let best = runs.best.map_or("-".into(), number);
    let bound = runs
        .bound
        .map_or(String::new(), |b| format!(" ({})", number(b)));
    match runs.ended {
        0 => best + &bound,
        n if n == runs.all => format!("{best}, {:.2} s", runs.mean_seconds),
        n => format!("{best}{bound}, {}", share((n, runs.all))),
    }
}

fn programs(catalogue: &Catalogue, entries: &[Entry]) -> String {
    let mut text = String::from(
        "Programs; the columns behind nonzeros are the values of the relaxation, of the best solution \
         and of the best bound:\n\n\
         | program | size | rows | columns | integers | nonzeros | relaxation | best | bound | proven by |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    let value = |v: Option<f64>| v.map_or("-".into(), number);
    for e in index::in_order(entries, catalogue) {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            e.name,
            e.size,
            e.rows,
            e.columns,
            e.integers,
            e.nonzeros,
            value(e.relaxation),
            value(e.best),
            value(e.bound),
            proven(&e.proven_by)
        );
    }
    text
}

/// `remat-bb:0.003 highs:0.108` as `2: remat-bb 0.003 s`.
fn proven(by: &str) -> String {
    let count = by.split_whitespace().count();
    let first = by.split_whitespace().next();
    match first.and_then(|f| f.rsplit_once(':')) {
        Some((key, seconds)) => {
            let name = Solver::of_key(key).map_or(key, |s| s.name());
            format!("{count}: {name} {seconds} s")
        }
        None => "open".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::solved;
    use super::*;
    use crate::others::Status;

    #[test]
    fn tables_name_who_proves_and_who_is_wrong() {
        let catalogue = Catalogue::built_in().expect("a catalogue");
        let program = &catalogue.programs[0];
        let name = &program.name;
        let mut wrong = solved(name, Solver::Cbc, 11.0, 0.2);
        wrong.bound = None;
        let rows = [solved(name, Solver::Highs, 10.0, 1.25), wrong];
        let entry = Entry {
            name: name.clone(),
            size: program.size.as_str().into(),
            ..Entry::default()
        };
        let entries = index::with_results(vec![entry], &rows);
        let text = tables(&rows, &catalogue, &entries, KnownObjectives::new()).text;
        for line in [
            "Limit 30 s, gap 1e-6, threads 1, 1 seed; commit abc; a machine. Half of the runs of a second or more got 50% of their cores or less: the machine had other work.".to_owned(),
            "| HiGHS | 1.0 | 1 / 1 | 1 / 1 | 1 | 1.25 | 0.62 | 0 |".to_owned(),
            "| CBC | 1.0 | 0 / 1 | 0 / 1 | 1 | 30.00 | 2.82 | 1 |".to_owned(),
            format!("| `{name}` | CBC | 0 | it calls 11 optimal; HiGHS has a solution of 10 |"),
            format!("| `{name}` | small | 0 | 0 | 0 | 0 | - | 10 | 10 | 1: HiGHS 1.250 s |"),
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
    }

    #[test]
    fn runs_on_a_loaded_machine_are_left_out_and_dirty_commits_are_named() {
        let catalogue = Catalogue::built_in().expect("a catalogue");
        let name = &catalogue.programs[0].name;
        let mut loaded = solved(name, Solver::Cbc, 10.0, 1.0);
        (loaded.foreign_load, loaded.commit) = (Some(0.21), "abc-dirty".into());
        let mut quiet = solved(name, Solver::Highs, 10.0, 1.25);
        quiet.foreign_load = Some(0.04);
        let page = tables(&[quiet, loaded], &catalogue, &[], KnownObjectives::new());
        let said = "commit abc, abc-dirty; a machine. The source had uncommitted changes. \
                    Foreign load: at most 4% of the processor time. \
                    1 of 2 runs had more than 20% and are left out.";
        assert!(page.text.contains(said), "{}", page.text);
        assert!(!page.text.contains("| CBC |"), "{}", page.text);
        assert_eq!(page.summary.times, [vec![1.25]]);
    }

    #[test]
    fn programs_of_others_have_a_line_each_and_no_index() {
        let catalogue = Catalogue::built_in().expect("a catalogue");
        let open = |objective: Option<f64>, bound| {
            let mut row = solved("mine", Solver::Scip, 0.0, 30.0);
            (row.status, row.seed) = (Status::Limit, 1);
            (row.objective, row.checked, row.bound) = (objective, objective, Some(bound));
            row
        };
        let mut slow = solved("mine", Solver::Highs, 10.0, 7.0);
        slow.seed = 1;
        let rows = [
            solved("mine", Solver::Highs, 10.0, 1.0),
            slow,
            solved("mine", Solver::Scip, 10.0, 1.0),
            open(Some(11.5), 9.5),
            ResultRow {
                solver: Solver::Cbc,
                ..open(None, 3.0)
            },
        ];
        let entries = index::built_in().expect("an index");
        let text = tables(&rows, &catalogue, &entries, KnownObjectives::new()).text;
        // The shifted mean of 1 and 7 s is 3 s.
        let line = "| `mine` | 10, 3.00 s | 10 (10), 1 / 2 | - (3) |";
        assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        assert!(
            !text.contains("family") && !text.contains("proven by"),
            "{text}"
        );
    }
}
