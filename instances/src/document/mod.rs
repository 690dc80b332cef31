//! Documents: JSON files, plain or gzipped, and errors that point into them.
//!
//! All files (instances, schedules, plans) are read through a `Document`. It limits the memory for
//! reading, and turns an invalid value into a [`ReadError`] with line, column and path.

mod deserialise;
mod error;
mod json;
mod lines;

pub(crate) use deserialise::{Spanned, TextOr, Unread, lenient};
pub(crate) use error::Failure;
pub use error::{Fault, FaultKind, Position, ReadError};
pub(crate) use json::{Data, Span, Value};
pub(crate) use lines::Lines;

use deserialise::Place;
use serde::Deserialize;
use std::io::Read;
use std::path::Path;

/// Size limit of a document in bytes, after decompression.
pub const LARGEST_DOCUMENT: u64 = 256 << 20;

/// A parsed JSON document with its text.
#[derive(Debug)]
pub(crate) struct Document {
    file: String,
    text: String,
    root: Value,
}

/// An error of a file as a whole.
fn unreadable(file: &str, problem: &str, found: impl ToString, remedy: &str) -> ReadError {
    let fault = Fault {
        problem: problem.into(),
        found: found.to_string(),
        remedy: remedy.into(),
    };
    ReadError::whole(file, FaultKind::File, fault)
}

/// The bytes of a file, decompressed if they are gzipped.
///
/// # Errors
/// [`ReadError`] if the file cannot be read or is larger than [`LARGEST_DOCUMENT`].
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, ReadError> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path).map_err(|e| {
        let remedy = "check the name and the permissions";
        unreadable(&name, "the file cannot be opened", e, remedy)
    })?;
    let mut bytes = Vec::new();
    let read = file.take(LARGEST_DOCUMENT + 1).read_to_end(&mut bytes);
    read.map_err(|e| {
        let remedy = "name a regular file that you may read";
        unreadable(&name, "the file cannot be read", e, remedy)
    })?;
    Ok(bytes)
}

/// The `schema` of a JSON document, plain or gzipped, which identifies its kind.
///
/// # Errors
/// [`ReadError`] if it is not JSON, or if its schema is not text.
pub fn schema(name: &str, bytes: &[u8]) -> Result<Option<String>, ReadError> {
    let document = Document::parse(name, bytes)?;
    let header: Header<'_> = document.read().map_err(|e| document.error(e))?;
    Ok(header.schema.map(|schema| (*schema).to_owned()))
}

/// The field that names the kind of a document.
#[derive(Deserialize)]
#[serde(rename = "an object with `schema`")]
struct Header<'d> {
    #[serde(borrow, rename = "schema: the name of a schema")]
    schema: Option<Spanned<&'d str>>,
}

fn too_large(file: &str) -> ReadError {
    let fault = Fault {
        problem: "the document is too large".into(),
        found: format!("more than {LARGEST_DOCUMENT} bytes"),
        remedy: "give a smaller one".into(),
    };
    ReadError::whole(file, FaultKind::TooLarge, fault)
}

fn decompress(file: &str, bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    let mut plain = Vec::new();
    let decoder = flate2::read::MultiGzDecoder::new(bytes);
    let read = decoder.take(LARGEST_DOCUMENT + 1).read_to_end(&mut plain);
    read.map_err(|e| {
        let problem = "the gzip data are damaged or cut short";
        unreadable(file, problem, e, "write or fetch the file again")
    })?;
    Ok(plain)
}

/// The bytes of a document, decompressed if they are gzipped; `file` is the name for error
/// messages.
///
/// # Errors
/// [`ReadError`] if they are damaged or larger than [`LARGEST_DOCUMENT`].
pub(crate) fn plain(file: &str, bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    let plain = if bytes.starts_with(&[0x1f, 0x8b]) {
        decompress(file, bytes)?
    } else if bytes.len() as u64 > LARGEST_DOCUMENT {
        return Err(too_large(file));
    } else {
        bytes.to_vec()
    };
    if plain.len() as u64 > LARGEST_DOCUMENT {
        return Err(too_large(file));
    }
    Ok(plain)
}

/// A failure for a missing field of an object; `what` describes its content.
pub(crate) fn missing(object: Span, field: &str, what: &str) -> Failure {
    let problem = format!("the field `{field}` is missing");
    FaultKind::Missing.fail(object, problem, format!("add `{field}`: {what}"))
}

impl Document {
    /// The root value, for modification.
    pub(crate) fn root_value(&mut self) -> &mut Value {
        &mut self.root
    }

    /// Parses `bytes`, JSON or gzipped JSON; `file` is the name for error messages.
    pub(crate) fn parse(file: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let plain = plain(file, bytes)?;
        let mut document = Document {
            file: file.into(),
            text: String::new(),
            root: Value::default(),
        };
        document.text = match String::from_utf8(plain) {
            Ok(text) => text,
            Err(e) => {
                let at = e.utf8_error().valid_up_to();
                document.text = String::from_utf8_lossy(&e.as_bytes()[..at]).into_owned();
                let (start, end) = (at as u32, at as u32);
                let (problem, remedy) = ("the text is not UTF-8", "save the file as UTF-8");
                let failure = FaultKind::Encoding.fail(Span { start, end }, problem, remedy);
                let found = format!("byte 0x{:02x} at offset {at}", e.as_bytes()[at]);
                return Err(document.error(failure.found(found)));
            }
        };
        if document.text.starts_with('\u{feff}') {
            document.text.drain(..'\u{feff}'.len_utf8());
        }
        if document.text.trim().is_empty() {
            let found = format!("{} bytes without a value", document.text.len());
            let problem = "the file is empty";
            return Err(unreadable(file, problem, found, "give a JSON document"));
        }
        document.root = json::parse(&document.text).map_err(|e| document.error(e))?;
        Ok(document)
    }

    /// The place of the document as a whole.
    pub(crate) fn root(&self) -> Span {
        self.root.span
    }

    /// Reads the document as a value of type `T`.
    pub(crate) fn read<'d, T: Deserialize<'d>>(&'d self) -> Result<T, Failure> {
        T::deserialize(Place::of(&self.root))
    }

    /// The text of the value at a place.
    pub(crate) fn text_at(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    /// Reads the value at a place.
    pub(crate) fn read_at<'d, T: Deserialize<'d>>(&'d self, span: Span) -> Result<T, Failure> {
        T::deserialize(Place::of(self.find(span, None)))
    }

    /// Reads a document that must have a certain `schema`; `problem` is the message for another
    /// one.
    pub(crate) fn read_as<'d, T: Deserialize<'d>>(
        &'d self,
        wanted: &str,
        problem: &str,
    ) -> Result<T, Failure> {
        let Some(schema) = self.read::<Header<'d>>()?.schema else {
            return Err(missing(self.root(), "schema", &format!("{wanted:?}")));
        };
        if *schema != wanted {
            let remedy = format!("give a file with the schema {wanted:?}");
            return Err(FaultKind::Format.fail(schema.span, problem, remedy));
        }
        self.read()
    }

    /// The file's name without folder and extension, for documents without a name.
    pub(crate) fn stem(&self) -> String {
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = file.trim_end_matches(".gz").trim_end_matches(".json");
        stem.to_owned()
    }

    /// A failure with its place in this document.
    pub(crate) fn error(&self, failure: Failure) -> ReadError {
        let Failure {
            span,
            kind,
            mut fault,
        } = failure;
        let mut path = String::new();
        let value = self.find(span, Some(&mut path));
        if fault.found.is_empty() {
            fault.found = match (kind, &value.data) {
                (FaultKind::Missing, Data::Object(_)) => value.field_names(),
                _ => self.quote(value),
            };
        }
        ReadError::at(&self.file, &self.text, span, path, kind, fault)
    }

    /// The text of a value, shortened.
    fn quote(&self, value: &Value) -> String {
        match &value.data {
            Data::Array(list) => format!("a list of {}", list.len()),
            Data::Object(list) => format!("an object of {} fields", list.len()),
            _ => {
                let text = self.text_at(value.span);
                let mut short: String = text.chars().take(40).collect();
                if short.len() < text.len() {
                    short += "...";
                }
                short
            }
        }
    }

    /// The value at a place; its path in the document is appended to `path`.
    fn find(&self, target: Span, mut path: Option<&mut String>) -> &Value {
        let mut at = &self.root;
        while at.span != target {
            let (step, inner) = match &at.data {
                Data::Object(entries) => match entries.iter().find(|e| e.1.span.holds(target)) {
                    Some((key, inner)) => (Ok(key), inner),
                    None => break,
                },
                Data::Array(list) => {
                    let k = list.partition_point(|v| v.span.end <= target.start);
                    match list.get(k).filter(|v| v.span.holds(target)) {
                        Some(inner) => (Err(k), inner),
                        None => break,
                    }
                }
                _ => break,
            };
            if let Some(path) = &mut path {
                match step {
                    Ok(key) if path.is_empty() => **path += key,
                    Ok(key) => **path += &format!(".{key}"),
                    Err(k) => **path += &format!("[{k}]"),
                }
            }
            at = inner;
        }
        at
    }
}
