//! `remat-bb merge`

use crate::again;
use crate::arguments::MergeArguments;
use crate::failure::{Exit, Failure, note};
use crate::files::Files;
use crate::progress::Activity;
use crate::visible::shown;
use remat_grid::{FAILED, Folder, Merged, merge};
use remat_lp::whole_file;
use remat_report::draw::tradeoff;
use remat_report::grid::{MergeJson, pictures};
use remat_report::{Table, counted, results};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Reasons of failures that the summary shows.
const REASONS: usize = 5;

/// Merges the results of a grid, and writes the requested files.
///
/// # Errors
/// [`Failure`] for a folder that is none, and files that cannot be written.
pub fn run(arguments: &MergeArguments) -> Result<Exit, Failure> {
    let files = Files::tried(
        arguments.json,
        &[],
        &[
            ("--csv", arguments.csv.as_deref()),
            ("--times", arguments.times.as_deref()),
        ],
    )?;
    if let Some(folder) = &arguments.svg {
        let made = std::fs::create_dir_all(folder);
        let tried = made.and_then(|()| whole_file::attempt(&folder.join(".pictures")));
        tried.map_err(|e| Failure::Write {
            file: folder.clone(),
            problem: e.to_string(),
            remedy: Some("name a folder that is there, or can be made, for --svg".into()),
        })?;
    }
    let folder = Folder::open(&arguments.folder)?;
    let activity = Activity::begin("replaying all plans", arguments.quiet);
    let merged = merge(&folder)?;
    drop(activity);
    let missing = merged.missing();
    if missing > 0 {
        let text = format!(
            "{} of {} without a result; sweep the grid again with --resume {}",
            counted(missing as u64, "job"),
            merged.rows.len(),
            again::quoted(&arguments.folder.display().to_string())
        );
        if !arguments.partial {
            let first = merged
                .rows
                .iter()
                .find(|row| row.status == remat_grid::MISSING);
            let first = first.map_or_else(String::new, |row| folder.grid.words(row.job));
            note(
                &format!("{text}, or add --partial. The first: {first}"),
                arguments.quiet,
            );
        } else {
            note(&text, arguments.quiet);
        }
    }
    for key in &merged.refuted {
        let text =
            format!("results/{key}.json is incomplete or not what it says, and was left out");
        note(&text, arguments.quiet);
    }
    let is_whole = missing == 0 || arguments.partial;
    if is_whole {
        write(arguments, files, &merged)?;
    }
    files.print(&match arguments.json {
        true => results::json(&MergeJson::of(&merged)),
        false => summary(&merged),
    })?;
    Ok(if is_whole { Exit::Done } else { Exit::NoPlan })
}

fn write(arguments: &MergeArguments, files: Files, merged: &Merged) -> Result<(), Failure> {
    if let Some(path) = &arguments.csv {
        files.write(path, &merged.csv())?;
    }
    if let Some(path) = &arguments.times {
        files.write(path, &merged.times())?;
    }
    if let Some(folder) = &arguments.svg {
        for (name, picture) in pictures(merged) {
            let path = folder.join(format!("{name}.svg"));
            files.write(&path, &tradeoff::draw(&picture)?)?;
            note(&format!("{} is drawn", shown(&path)), arguments.quiet);
        }
    }
    Ok(())
}

/// Jobs of each model by status.
fn summary(merged: &Merged) -> String {
    let model = merged.columns.iter().position(|column| *column == "model");
    let mut names: Vec<String> = Vec::new();
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    let mut statuses: Vec<&str> = Vec::new();
    let all = [
        "optimal",
        "feasible",
        "infeasible",
        "limit",
        FAILED,
        remat_grid::MISSING,
    ];
    for status in all {
        if merged.rows.iter().any(|row| row.status == status) {
            statuses.push(status);
        }
    }
    for row in &merged.rows {
        let name = model.map_or_else(String::new, |k| row.values[k].clone());
        if !names.contains(&name) {
            names.push(name.clone());
        }
        *counts.entry((name, row.status.clone())).or_default() += 1;
    }
    let mut heads = vec![("model", false)];
    heads.extend(statuses.iter().map(|status| (*status, true)));
    let mut table = Table::new(&heads);
    for name in names {
        let mut cells = vec![name.clone()];
        for status in &statuses {
            let count = counts.get(&(name.clone(), (*status).to_owned()));
            cells.push(count.map_or_else(|| "-".into(), ToString::to_string));
        }
        table.row(cells);
    }
    let mut text = format!(
        "{}\n\n{}",
        counted(merged.rows.len() as u64, "job"),
        table.render("  ")
    );
    let failed = merged.rows.iter().filter(|row| row.status == FAILED);
    for row in failed.take(REASONS) {
        let reason = row.because.as_deref().unwrap_or("no reason");
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\njob {} failed: {reason}", row.job);
    }
    text
}
