//! Writing a document: each of its fields on a line of its own, and of the long lists each entry.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// Layout of a document.
#[derive(Clone, Copy)]
pub(crate) struct Lines {
    /// Spaces before a field; none also means none after commas and colons.
    indent: usize,
    /// True if the entries of the document's lists stand on lines of their own.
    entries: bool,
    /// Lists and objects that are open.
    depth: usize,
}

impl Lines {
    /// A layout, by its indent and whether entries of lists have lines of their own.
    pub(crate) fn new(indent: usize, entries: bool) -> Self {
        let depth = 0;
        Lines {
            indent,
            entries,
            depth,
        }
    }

    /// The text of a document. Empty if it cannot be: only keys that are not text have no JSON.
    pub(crate) fn write(self, document: &impl Serialize) -> String {
        let mut text = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut text, self);
        match document.serialize(&mut serializer) {
            Ok(()) => String::from_utf8(text).unwrap_or_default() + "\n",
            Err(_) => String::new(),
        }
    }

    /// Writes the text before an entry: a comma, and a new line or a space.
    fn before<W: ?Sized + Write>(self, out: &mut W, first: bool, line: bool) -> io::Result<()> {
        if !first {
            out.write_all(b",")?;
        }
        if line {
            return self.line(out);
        }
        out.write_all(if first || self.indent == 0 { b"" } else { b" " })
    }

    fn line<W: ?Sized + Write>(self, out: &mut W) -> io::Result<()> {
        write!(out, "\n{:1$}", "", self.depth * self.indent)
    }

    /// Returns whether the entries of the list that is open stand on lines of their own.
    fn is_long(self) -> bool {
        self.entries && self.depth == 2
    }
}

impl Formatter for Lines {
    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"[")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.before(out, first, self.is_long())
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        let long = self.is_long();
        self.depth -= 1;
        if long {
            self.line(out)?;
        }
        out.write_all(b"]")
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth += 1;
        out.write_all(b"{")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.before(out, first, self.depth == 1)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        out.write_all(if self.indent == 0 { b":" } else { b": " })
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.depth -= 1;
        if self.depth == 0 {
            self.line(out)?;
        }
        out.write_all(b"}")
    }
}
