//! The list of subcommands by task, for the help of the program.

use super::Command;
use clap::Subcommand;
use std::fmt::Write;

/// Subcommands by task, in the order in which a new user meets them.
const TASKS: [(&str, &[&str]); 5] = [
    (
        "Plan a model and its memory",
        &[
            "solve",
            "pipeline",
            "fits",
            "sweep",
            "merge",
            "max-batch",
            "baselines",
            "zoo",
            "order",
            "place",
            "plan-memory",
        ],
    ),
    (
        "Read and check plans",
        &["explain", "show", "report", "verify", "improve"],
    ),
    (
        "Run plans (needs a build with libtorch; in Python: remat_bb.torch)",
        &["profile", "exec", "train-check"],
    ),
    (
        "Solve other programs",
        &["mip", "lp", "export", "check-certificate"],
    ),
    ("This program", &["schema", "completions", "man"]),
];

/// Width of the column of names.
const WIDTH: usize = 18;

/// The help of the program: clap's parts around the list of subcommands.
pub(super) const TEMPLATE: &str = "\
{before-help}{about-with-newline}
{usage-heading} {usage}{after-help}

Options:
{options}";

/// The subcommands by task, each with the first line of its help.
pub(super) fn tasks() -> String {
    let all = Command::augment_subcommands(clap::Command::new("remat-bb"));
    let about = |name: &str| {
        let found = all.find_subcommand(name);
        let about = found.and_then(|c| c.get_about()).map(ToString::to_string);
        about.unwrap_or_default()
    };
    let mut text = String::new();
    for (task, names) in TASKS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{task}:");
        for name in names {
            let _ = writeln!(text, "  {name:WIDTH$}{}", about(name));
        }
        text.push('\n');
    }
    text + "`remat-bb COMMAND -h` prints one screen, `remat-bb COMMAND --help` everything."
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_subcommand_has_one_task() {
        let mut listed: Vec<&str> = TASKS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        let all = Command::augment_subcommands(clap::Command::new("remat-bb"));
        let mut known: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
        listed.sort_unstable();
        known.sort_unstable();
        assert_eq!(listed, known);
    }

    #[test]
    fn short_help_fits_one_screen() {
        let mut program = super::super::Arguments::command();
        program.build();
        let lines = |text: String| text.lines().count();
        assert!(lines(program.render_help().to_string()) <= 45);
        for command in program.get_subcommands_mut() {
            let name = command.get_name().to_owned();
            let help = command.render_help().to_string();
            assert!(help.lines().count() <= 45, "{name}:\n{help}");
            assert!(
                help.lines().all(|line| line.len() <= 100),
                "{name}:\n{help}"
            );
        }
    }
}
