//! Text for a terminal that may hold names out of files.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Escapes what a terminal would obey instead of show: control characters other than line ends and
/// tabs, and marks that change the direction of text. Colours, which errors have, are left.
///
/// ```
/// use remat_bb::visible::visible;
/// assert_eq!(visible("a\u{1b}[2J\u{7}\n"), "a\\u{1b}[2J\\u{7}\n");
/// assert_eq!(visible("\u{1b}[31mred\u{1b}[0m"), "\u{1b}[31mred\u{1b}[0m");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    let obeyed = |c: char| {
        c.is_control() && !matches!(c, '\n' | '\t')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for (k, c) in text.char_indices() {
        if obeyed(c) && !is_colour(&text[k..]) {
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
