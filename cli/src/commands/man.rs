//! `remat-bb man`

use crate::arguments::{Arguments, ManArguments};
use crate::failure::{Exit, Failure};
use crate::files;
use crate::visible::shown;
use clap::CommandFactory;
use clap_mangen::Man;
use remat_lp::whole_file;
use std::path::Path;

/// Writes a manual page for the program and one for each subcommand.
///
/// # Errors
/// [`Failure::Write`] for a folder or a page that cannot be written.
pub fn run(arguments: &ManArguments) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).map_err(|problem| failed(folder, &problem))?;
    let mut program = Arguments::command();
    program.build();
    page(folder, &program)?;
    let mut count = 1;
    for subcommand in program.get_subcommands().filter(|c| c.get_name() != "help") {
        page(folder, subcommand)?;
        count += 1;
    }
    files::print(&format!("{count} pages in {}\n", shown(folder)))?;
    Ok(Exit::Done)
}

fn page(folder: &Path, command: &clap::Command) -> Result<(), Failure> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = folder.join(format!("{name}.1"));
    let command = command.clone().name(name.to_owned());
    let mut text = Vec::new();
    let written = Man::new(command).render(&mut text);
    let written = written.and_then(|()| whole_file::write(&path, &[&text]));
    written.map_err(|problem| failed(&path, &problem))
}

fn failed(file: &Path, problem: &std::io::Error) -> Failure {
    Failure::Write {
        file: file.into(),
        problem: problem.to_string(),
        remedy: None,
    }
}
