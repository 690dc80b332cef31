//! Writes a document with each field, and optionally each entry of its long lists, on a line of its
//! own.

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// Layout of a document.
#[derive(Clone, Copy)]
pub(crate) struct Lines {
    /// Spaces before a field; 0 also removes the spaces after commas and colons.
    indent: usize,
    /// True if each entry of the document's lists has a line of its own.
    entries: bool,
    /// Number of open lists and objects.
    depth: usize,
}

impl Lines {
    /// A layout from its indent and whether entries of lists have lines of their own.
    pub(crate) fn new(indent: usize, entries: bool) -> Self {
        let depth = 0;
        Lines {
            indent,
            entries,
            depth,
        }
    }

    /// The text of a document. Empty if the document has no JSON form, which happens only for keys
    /// that are not text.
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

    /// Returns whether the entries of the open list have lines of their own.
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
