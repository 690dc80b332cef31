//! Errors of documents: the problem, its place, and the remedy.

use super::Span;
use crate::name::{escaped, visible};
use miette::{
    Diagnostic, LabeledSpan, MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};
use std::fmt;

/// Problem of a value, with the found value and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The problem.
    pub problem: String,
    /// The offending value as written in the document, shortened.
    pub found: String,
    /// Description of a correct value.
    pub remedy: String,
}

impl Fault {
    /// The same on one line, with long quotations shortened.
    fn visible(self) -> Self {
        Fault {
            problem: visible(&self.problem).into_owned(),
            found: visible(&self.found).into_owned(),
            remedy: escaped(&self.remedy),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, found {}; {}", self.problem, self.found, self.remedy)
    }
}

/// Kind of a problem, for programs that act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultKind {
    /// The file cannot be opened, read or decompressed, or is empty.
    File,
    /// The document, or the data it describes, exceeds a size limit.
    TooLarge,
    /// The text is not UTF-8.
    Encoding,
    /// The text is not JSON.
    Syntax,
    /// The format or its version is unknown, or the file is of another kind.
    Format,
    /// A value has the wrong type.
    Type,
    /// A field is missing.
    Missing,
    /// A field is unknown.
    Unknown,
    /// A value is out of range, in the wrong unit, or contradicts another.
    Value,
    /// A reference has no target.
    Reference,
    /// References form a cycle or contradict the order of the nodes.
    Order,
    /// An item occurs twice that may occur only once.
    Duplicate,
}

impl FaultKind {
    /// A failure of this kind at a place; `remedy` describes a correct value.
    pub(crate) fn fail(
        self,
        span: Span,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Failure {
        let fault = Fault {
            problem: problem.into(),
            found: String::new(),
            remedy: remedy.into(),
        };
        let kind = self;
        Failure { span, kind, fault }
    }
}

/// Problem of a value, before the document is available to locate and quote it.
#[derive(Debug)]
pub(crate) struct Failure {
    /// Its place; the default means the whole document.
    pub(super) span: Span,
    pub(super) kind: FaultKind,
    /// The problem; the text of the found value is empty if it is the value at the place.
    pub(super) fault: Fault,
}

impl Failure {
    /// The same with a description of the found text, if that is not the value itself.
    pub(crate) fn found(mut self, found: impl Into<String>) -> Self {
        self.fault.found = found.into();
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fault.fmt(f)
    }
}

impl std::error::Error for Failure {}

/// A position in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

/// Reason for a failure to read a document (an instance, a schedule, a plan).
///
/// The message names the file, line and column, the path in the document (`nodes[3].B.mem`), the
/// found value and the remedy. As a [`Diagnostic`] it also shows the place in the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.message())]
pub struct ReadError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    file: String,
    position: Option<Position>,
    path: String,
    kind: FaultKind,
    fault: Fault,
    /// The text around the fault, and the position of the fault in it.
    excerpt: String,
    span: (usize, usize),
}

impl Details {
    fn message(&self) -> String {
        let mut message = self.file.clone();
        if let Some(at) = self.position {
            message += &format!(":{}:{}", at.line, at.column);
        }
        message += ": ";
        if !self.path.is_empty() {
            message += &format!("{}: ", self.path);
        }
        message + &self.fault.to_string()
    }
}

/// Largest number of bytes of text shown on either side of a fault.
const AROUND: usize = 60;

impl ReadError {
    /// A fault of the file as a whole.
    pub(super) fn whole(file: &str, kind: FaultKind, fault: Fault) -> Self {
        let fault = fault.visible();
        ReadError(Box::new(Details {
            file: escaped(file),
            position: None,
            path: String::new(),
            kind,
            fault,
            excerpt: String::new(),
            span: (0, 0),
        }))
    }

    /// A fault at a place in a text.
    pub(super) fn at(
        file: &str,
        text: &str,
        span: Span,
        path: String,
        kind: FaultKind,
        fault: Fault,
    ) -> Self {
        let (start, end) = (span.start as usize, span.end as usize);
        let start = boundary(text, start.min(text.len()));
        let before = &text[..start];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let position = Position {
            line: before.matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
        };
        let from = boundary(text, line_start.max(start.saturating_sub(AROUND)));
        let line_end = text[start..].find('\n').map_or(text.len(), |i| start + i);
        let to = boundary(text, line_end.min(start + AROUND));
        let end = boundary(text, end.clamp(start, to.max(start)));
        let [before, within, after] =
            [from..start, start..end, end..to.max(end)].map(|part| escaped(&text[part]));
        ReadError(Box::new(Details {
            file: escaped(file),
            position: Some(position),
            path: visible(&path).into_owned(),
            kind,
            fault: fault.visible(),
            span: (before.len(), within.len()),
            excerpt: before + &within + &after,
        }))
    }

    /// Returns the kind of the problem.
    pub fn kind(&self) -> FaultKind {
        self.0.kind
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.0.file
    }

    /// Line and column, if the fault has a place in the text.
    pub fn position(&self) -> Option<Position> {
        self.0.position
    }

    /// Path of the offending value in the document, for example `nodes[3].B.mem`; empty for the
    /// document itself.
    pub fn path(&self) -> &str {
        &self.0.path
    }

    /// Returns the problem, the found value, and the remedy.
    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }
}

/// The character boundary at or before a byte.
fn boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The excerpt, with the file's name and line numbers.
impl SourceCode for ReadError {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let contents = self.0.excerpt.read_span(span, before, after)?;
        let line = self.0.position.map_or(0, |at| at.line - 1);
        let column = self.0.position.map_or(0, |at| at.column - 1);
        Ok(Box::new(MietteSpanContents::new_named(
            self.0.file.clone(),
            contents.data(),
            *contents.span(),
            line + contents.line(),
            column,
            contents.line_count(),
        )))
    }
}

/// The message already contains the remedy, so there is no separate help.
impl Diagnostic for ReadError {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        (!self.0.excerpt.is_empty()).then_some(self as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        if self.0.excerpt.is_empty() {
            return None;
        }
        let (offset, length) = self.0.span;
        let label = LabeledSpan::new(Some(self.0.fault.problem.clone()), offset, length);
        Some(Box::new(std::iter::once(label)))
    }
}
