//! The command line of this process, to be repeated with one changed value.

use std::ffi::OsString;
use std::sync::OnceLock;

static COMMAND: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps the command line of this process, the program's name first.
pub fn keep(arguments: &[OsString]) {
    let words = arguments.iter().map(|a| a.to_string_lossy().into_owned());
    // Only tests run several commands in one process.
    let _ = COMMAND.set(words.collect());
}

/// The kept command with another value of an option, for a shell. The names of the option are
/// `long` with two dashes and `short` with one. `None` if the command does not have the option.
pub fn with(long: &str, short: char, value: &str) -> Option<String> {
    changed(COMMAND.get()?, long, short, value)
}

/// The kept command for a shell.
pub fn command() -> Option<String> {
    let words = COMMAND.get()?.iter().skip(1).map(|word| quoted(word));
    let words: Vec<String> = std::iter::once("remat-bb".into()).chain(words).collect();
    Some(words.join(" "))
}

fn changed(command: &[String], long: &str, short: char, value: &str) -> Option<String> {
    let (long, short) = (format!("--{long}"), format!("-{short}"));
    let mut words = vec!["remat-bb".to_owned()];
    let mut is_changed = false;
    let mut given = command.iter().skip(1);
    while let Some(word) = given.next() {
        let has_value_behind = *word == long || *word == short;
        if has_value_behind {
            given.next();
        }
        if has_value_behind || word.starts_with(&format!("{long}=")) {
            words.extend([long.clone(), quoted(value)]);
            is_changed = true;
        } else {
            words.push(quoted(word));
        }
    }
    is_changed.then(|| words.join(" "))
}

/// A word for a shell, in single quotes if it has special characters.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.into(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_value_changes_and_words_are_quoted_for_a_shell() {
        let command = |words: &str| -> Vec<String> { words.split(' ').map(Into::into).collect() };
        let given = command("/usr/bin/remat-bb solve zoo:vgg16?batch=8&size=64 -b 5% --json");
        assert_eq!(
            changed(&given, "budget", 'b', "6.01MiB").as_deref(),
            Some("remat-bb solve 'zoo:vgg16?batch=8&size=64' --budget 6.01MiB --json")
        );
        let given = command("remat-bb solve it's.json --budget=5%");
        assert_eq!(
            changed(&given, "budget", 'b', "least").as_deref(),
            Some(r"remat-bb solve 'it'\''s.json' --budget least")
        );
        assert_eq!(
            changed(&command("remat-bb zoo list"), "budget", 'b', "1"),
            None
        );
    }
}
