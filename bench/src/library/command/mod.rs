//! `remat-bench library`

mod all;
mod export;
mod runs;

use crate::library::arguments::{
    LibraryArguments, LibraryCommand, LibraryIndexArguments, LibraryTableArguments,
};
use crate::library::catalogue::{Catalogue, LibraryProgram};
use crate::library::index::{self, Entry};
use crate::library::known::{self, KnownObjectives};
use crate::library::page;
use crate::library::results::{self, ResultRow};
use crate::{part, profile};
use remat_bb::failure::{Exit, Failure};
use remat_bb::files::{self, Files};
use remat_bb::visible::shown;
use std::path::Path;
use std::time::Duration;

/// Writes programs, runs solvers, makes tables or updates the index.
///
/// # Errors
/// [`Failure`] for bad input, programs that differ from the index, and files that cannot be
/// written.
pub fn run(arguments: &LibraryArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        LibraryCommand::Export(arguments) => export::run(arguments),
        LibraryCommand::Run(arguments) => runs::run(arguments),
        LibraryCommand::RunAll(arguments) => all::run(arguments),
        LibraryCommand::Table(arguments) => table(arguments),
        LibraryCommand::Index(arguments) => update(arguments),
    }
}

/// The text of a file.
fn text(path: &Path) -> Result<(String, String), Failure> {
    let input = files::text(path)?;
    let text = remat_lp::decode(input.bytes).map_err(|e| Failure::Open {
        file: input.name.clone(),
        problem: e.to_string(),
        remedy: None,
    })?;
    Ok((input.name, text))
}

/// The index in a file, or the one of this version.
fn entries(path: Option<&Path>) -> Result<Vec<Entry>, Failure> {
    match path {
        Some(path) => {
            let (name, text) = text(path)?;
            index::parse(&name, &text)
        }
        None => index::built_in(),
    }
}

/// Values known beforehand; empty without a file.
fn known(path: Option<&Path>) -> Result<KnownObjectives, Failure> {
    let Some(path) = path else {
        return Ok(KnownObjectives::new());
    };
    let (name, text) = text(path)?;
    known::parse(&name, &text)
}

fn table(arguments: &LibraryTableArguments) -> Result<Exit, Failure> {
    let svg = arguments.svg.as_deref();
    let files = Files::tried(false, &[&arguments.results], &[("--svg", svg)])?;
    let (name, rows) = text(&arguments.results)?;
    let rows = results::parse(&name, &rows)?;
    let entries = entries(arguments.index.as_deref())?;
    let known = known(arguments.known.as_deref())?;
    let page = arguments.page.as_deref();
    draw(&rows, &entries, known, page, svg, &files)?;
    Ok(Exit::Done)
}

/// Writes the tables of runs into a page, or to standard output without one, and draws the
/// performance profile.
fn draw(
    rows: &[ResultRow],
    entries: &[Entry],
    known: KnownObjectives,
    page: Option<&Path>,
    svg: Option<&Path>,
    files: &Files,
) -> Result<(), Failure> {
    let made = page::tables(rows, &Catalogue::built_in()?, entries, known);
    if let Some(path) = svg {
        let profiles = made.summary.profiles();
        let picture = profile::draw(made.heading, page::PROFILE, &profiles)?;
        files.write(path, &picture)?;
    }
    match page {
        Some(path) => {
            let (name, old) = text(path)?;
            files.write(path, &part::replaced(&name, &old, &made.text)?)?;
            files.print(&format!("{}: {} runs\n", shown(path), rows.len()))
        }
        None => files.print(&made.text),
    }
}

fn update(arguments: &LibraryIndexArguments) -> Result<Exit, Failure> {
    let inputs: Vec<&Path> = arguments.results.iter().map(|p| p.as_path()).collect();
    let files = Files::tried(false, &inputs, &[("--out", Some(&arguments.out))])?;
    let mut rows = Vec::new();
    for path in &arguments.results {
        let (name, text) = text(path)?;
        rows.extend(results::parse(&name, &text)?);
    }
    let known = entries(arguments.index.as_deref())?;
    let catalogue = Catalogue::built_in()?;
    let all: Vec<&LibraryProgram> = catalogue.programs.iter().collect();
    let updated = updated(&known, &all, arguments.relaxation_limit, &rows, &files)?;
    files.write(&arguments.out, &index::render(&updated))?;
    Ok(Exit::Done)
}

/// The index with these programs measured anew, and with the values of runs. Entries of other
/// programs stay.
fn updated(
    known: &[Entry],
    chosen: &[&LibraryProgram],
    relaxation_limit: Duration,
    rows: &[ResultRow],
    files: &Files,
) -> Result<Vec<Entry>, Failure> {
    let mut entries = Vec::new();
    for program in &Catalogue::built_in()?.programs {
        let before = known.iter().find(|e| e.name == program.name);
        if chosen.iter().all(|p| p.name != program.name) {
            entries.extend(before.cloned());
            continue;
        }
        let entry = index::measured(program, before, relaxation_limit)?;
        files.print(&format!(
            "{}: {} rows, {} columns, {} nonzeros\n",
            entry.name, entry.rows, entry.columns, entry.nonzeros
        ))?;
        entries.push(entry);
    }
    Ok(index::with_results(entries, rows))
}
