//! Names from files, which never break the line on which they are shown.
//!
//! A name is any text. In a report or a message it must not end the line, where the rest could pass
//! for a line of the program, and it must not control a terminal. So a [`Name`] is displayed with
//! such characters escaped, and [`visible`] does the same for text of other types. Files and JSON
//! contain unescaped names ([`Name::as_str`], [`serde::Serialize`]).

use serde::{Serialize, Serializer};
use std::borrow::{Borrow, Cow};
use std::fmt::{self, Formatter, Write as _};
use std::ops::Deref;

/// Largest number of characters shown of a name; longer names are cut.
pub const SHOWN_CHARACTERS: usize = 200;

/// Returns whether a terminal or a line reader interprets a character instead of showing it:
/// control characters, line and paragraph separators, and marks that change the direction of text.
pub fn is_obeyed(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text from a file, made safe for one line of a message: control characters are escaped, and text
/// beyond [`SHOWN_CHARACTERS`] is cut.
///
/// ```
/// use remat_instances::name::visible;
/// assert_eq!(visible("x\nverified: \u{1b}[8m"), "x\\nverified: \\u{1b}[8m");
/// assert!(visible(&"y".repeat(1000)).ends_with("yy…"));
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    let shown = beginning(text);
    if shown.len() == text.len() && !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut out = escaped(shown);
    if shown.len() < text.len() {
        out.push('…');
    }
    Cow::Owned(out)
}

/// The first [`SHOWN_CHARACTERS`] of a text.
fn beginning(text: &str) -> &str {
    let end = text.char_indices().nth(SHOWN_CHARACTERS);
    end.map_or(text, |(end, _)| &text[..end])
}

/// Text with control characters escaped.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            // Writing to a string cannot fail.
            c if is_obeyed(c) => _ = write!(out, "{}", c.escape_unicode()),
            c => out.push(c),
        }
    }
    out
}

/// A name, displayed like [`visible`] text.
///
/// ```
/// use remat_instances::name::Name;
/// let name = Name::from("two\nlines");
/// assert_eq!(name.to_string(), "two\\nlines");
/// assert_eq!(name.as_str(), "two\nlines");
/// ```
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(String);

impl Name {
    /// An empty name.
    pub const fn new() -> Self {
        Name(String::new())
    }

    /// The unescaped name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(&visible(&self.0))
    }
}

/// The name in quotes, as in Rust source, cut where [`visible`] cuts it.
impl fmt::Debug for Name {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let shown = beginning(&self.0);
        fmt::Debug::fmt(shown, f)?;
        f.write_str(if shown.len() < self.0.len() {
            "…"
        } else {
            ""
        })
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl From<String> for Name {
    fn from(name: String) -> Self {
        Name(name)
    }
}

impl From<&str> for Name {
    fn from(name: &str) -> Self {
        Name(name.into())
    }
}

impl From<&Name> for Name {
    fn from(name: &Name) -> Self {
        name.clone()
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0
    }
}

impl From<&Name> for String {
    fn from(name: &Name) -> Self {
        name.0.clone()
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}

impl PartialEq<String> for Name {
    fn eq(&self, other: &String) -> bool {
        self.0 == *other
    }
}

impl PartialEq<Name> for str {
    fn eq(&self, other: &Name) -> bool {
        self == other.0
    }
}
