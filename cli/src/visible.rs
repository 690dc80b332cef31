//! Text for a terminal. Names are escaped when they are formatted ([`remat_instances::name`]); this
//! module escapes the whole text once more.

use remat_instances::name::{self, is_obeyed};
use std::borrow::Cow;
use std::fmt::Write as _;
use std::path::Path;

/// Escapes characters that a terminal would obey: control characters other than line ends and tabs,
/// and marks that change the direction of text.
///
/// ```
/// use remat_bb::visible::visible;
/// assert_eq!(visible("a\u{1b}[2J\u{7}\n"), "a\\u{1b}[2J\\u{7}\n");
/// assert_eq!(visible("\u{1b}[8mhidden"), "\\u{1b}[8mhidden");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    escaped(text, |_| false)
}

/// As [`visible`], but colours stay: errors have them.
///
/// ```
/// use remat_bb::visible::visible_error;
/// assert_eq!(visible_error("\u{1b}[31mred\u{1b}[0m\u{7}"), "\u{1b}[31mred\u{1b}[0m\\u{7}");
/// ```
pub fn visible_error(text: &str) -> Cow<'_, str> {
    escaped(text, is_colour)
}

/// Escapes characters that a terminal obeys, unless `is_kept` accepts the text from there on.
fn escaped(text: &str, is_kept: impl Fn(&str) -> bool) -> Cow<'_, str> {
    let obeyed = |c: char| is_obeyed(c) && !matches!(c, '\n' | '\t');
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (k, c) in text.char_indices() {
        if obeyed(c) && !is_kept(&text[k..]) {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

/// Returns whether a text begins with a change of colour: escape, `[`, numbers, `m`.
fn is_colour(text: &str) -> bool {
    text.strip_prefix("\u{1b}[").is_some_and(|rest| {
        rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';')
            .starts_with('m')
    })
}

/// Returns whether a path is `-`, a standard stream.
pub fn is_stream(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of an output, or `standard output`.
pub fn shown(path: &Path) -> String {
    match is_stream(path) {
        true => "standard output".into(),
        false => name::escaped(&path.display().to_string()),
    }
}
