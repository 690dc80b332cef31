//! Colours of results on a terminal.

use std::io::IsTerminal;

const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";
/// Name of the line of a summary that has a status.
const STATUS: &str = "status";

/// A summary with its status coloured: green for an answer, yellow at a limit, red without one.
/// The text stays as it is where standard output is no terminal, or `NO_COLOR` is set.
pub fn on_terminal(summary: String) -> String {
    let is_set = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match std::io::stdout().is_terminal() && !is_set {
        true => coloured(&summary),
        false => summary,
    }
}

fn coloured(summary: &str) -> String {
    let lines = summary.split_inclusive('\n').map(|line| {
        let rest = line.trim_start().strip_prefix(STATUS);
        let word = rest.and_then(|rest| rest.split_whitespace().next());
        let Some(word) = word.filter(|_| line.starts_with("  ")) else {
            return line.to_owned();
        };
        let bare = word.trim_end_matches([':', ',']);
        line.replacen(bare, &format!("{}{bare}{PLAIN}", colour(bare)), 1)
    });
    lines.collect()
}

fn colour(status: &str) -> &'static str {
    match status {
        "optimal" | "feasible" => GREEN,
        "infeasible" | "unbounded" => RED,
        _ => YELLOW,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_the_status_is_coloured_and_nothing_else() {
        let summary = "net: 3 nodes\n  status    limit: no plan\n  memory    status\nstatus x\n";
        let wanted = "net: 3 nodes\n  status    \x1b[33mlimit\x1b[0m: no plan\n  memory    status\nstatus x\n";
        assert_eq!(coloured(summary), wanted);
        assert_eq!(
            coloured("  status     infeasible, ended by nodes\n"),
            "  status     \x1b[31minfeasible\x1b[0m, ended by nodes\n"
        );
    }
}
