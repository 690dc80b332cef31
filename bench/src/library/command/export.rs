//! `remat-bench library export`

use super::entries;
use crate::library::arguments::LibraryExportArguments;
use crate::library::catalogue::{Catalogue, LibraryProgram};
use crate::library::index::{Entry, sha256};
use crate::library::miplib;
use remat_bb::commands;
use remat_bb::failure::{Exit, Failure, note};
use remat_bb::files::Files;
use remat_lp::{Model, mps};
use std::path::{Path, PathBuf};

/// Writes programs.
///
/// # Errors
/// [`Failure`] for a program whose text differs from the index, and files that cannot be written.
pub(super) fn run(arguments: &LibraryExportArguments) -> Result<Exit, Failure> {
    let catalogue = Catalogue::built_in()?;
    let index = entries(None)?;
    let choice = &arguments.choice;
    let chosen = catalogue.chosen(choice.family.as_deref(), choice.size, &choice.only)?;
    let files = Files::tried(false, &[], &[])?;
    if let Some(folder) = &arguments.out {
        programs(&chosen, &index, folder)?;
    }
    if let Some(folder) = &arguments.miplib {
        for program in chosen.iter().filter(|p| p.miplib) {
            let (model, text) = verified(program, &index)?;
            let entry = index.iter().find(|e| e.name == program.name);
            let (Some(entry), Some(family)) = (entry, catalogue.family(program)) else {
                return Err(unknown(program));
            };
            let x = miplib::point(&model, &solution_file(&arguments.solutions, &program.name))?;
            let texts = miplib::folder(program, family, entry, &model, &x)?;
            let own = folder.join(&program.name);
            made(&own)?;
            files.write(&own.join(program.file()), &text)?;
            let solution = format!("{}.sol.gz", program.name);
            files.write(&own.join(solution), &texts.solution)?;
            files.write(&own.join("metadata.toml"), &texts.metadata)?;
            files.write(&own.join("description.md"), &texts.description)?;
            files.print(&line(&own, &model))?;
        }
    }
    Ok(Exit::Done)
}

/// Writes programs into a folder.
///
/// # Errors
/// As [`verified`], and for files that cannot be written.
pub(super) fn programs(
    chosen: &[&LibraryProgram],
    index: &[Entry],
    folder: &Path,
) -> Result<(), Failure> {
    let files = Files::tried(false, &[], &[])?;
    made(folder)?;
    for program in chosen {
        let (model, text) = verified(program, index)?;
        let path = folder.join(program.file());
        files.write(&path, &text)?;
        files.print(&line(&path, &model))?;
    }
    Ok(())
}

/// The file of a program's solution in a folder.
pub(super) fn solution_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.sol.gz"))
}

/// Makes a folder.
pub(super) fn made(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|e| Failure::Write {
        file: folder.into(),
        problem: e.to_string(),
        remedy: Some("name a folder that can be made".into()),
    })
}

fn line(path: &Path, model: &Model) -> String {
    format!(
        "{}: {} rows, {} columns ({} integer), {} nonzeros\n",
        path.display(),
        model.num_rows(),
        model.num_cols(),
        commands::integers(model),
        model.num_nonzeros()
    )
}

fn unknown(program: &LibraryProgram) -> Failure {
    Failure::Usage {
        problem: format!("{}: the index does not have it", program.name),
        remedy: "make the index anew: remat-bench library index --out INDEX.csv".into(),
    }
}

/// A program made anew, and its MPS text, whose hash is checked against the index.
///
/// # Errors
/// [`Failure::Mismatch`] if the hash differs, otherwise as [`LibraryProgram::model`].
pub(super) fn verified(
    program: &LibraryProgram,
    index: &[Entry],
) -> Result<(Model, String), Failure> {
    let model = program.model()?;
    let text = mps::to_string(&model);
    let Some(entry) = index.iter().find(|e| e.name == program.name) else {
        let name = &program.name;
        note(
            &format!("{name}: not in the index, its hash is not checked"),
            false,
        );
        return Ok((model, text));
    };
    let found = sha256(&text);
    if found != entry.sha256 {
        return Err(Failure::Mismatch {
            file: program.file(),
            differences: vec![format!(
                "its hash is {found}, in the index {}",
                entry.sha256
            )],
        });
    }
    Ok((model, text))
}
