//! Colours of results on a terminal.

use std::io::IsTerminal;

const GREEN: &str = "\x1b[32m";
const YELLOW: &str = "\x1b[33m";
const RED: &str = "\x1b[31m";
const PLAIN: &str = "\x1b[0m";

/// The word for a status: green if there is an answer, yellow at a limit, red if there is none.
/// The word stays plain where standard output is no terminal, or `NO_COLOR` is set.
pub fn status(word: &str) -> String {
    let is_set = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    match std::io::stdout().is_terminal() && !is_set {
        true => coloured(word),
        false => word.into(),
    }
}

fn coloured(word: &str) -> String {
    let colour = match word {
        "optimal" | "feasible" | "accepted" => GREEN,
        "infeasible" | "unbounded" | "rejected" => RED,
        _ => YELLOW,
    };
    format!("{colour}{word}{PLAIN}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_has_the_colour_of_its_kind() {
        assert_eq!(coloured("optimal"), "\x1b[32moptimal\x1b[0m");
        assert_eq!(coloured("limit"), "\x1b[33mlimit\x1b[0m");
        assert_eq!(coloured("infeasible"), "\x1b[31minfeasible\x1b[0m");
    }
}
