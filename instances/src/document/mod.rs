//! Documents: JSON files, plain or gzipped, and errors that point into them.
//!
//! Everything that is read from a file (instances, schedules, plans) goes through a `Document`: it bounds what is
//! taken into memory, and turns a value that is wrong into a [`ReadError`] with line, column and path.

mod error;
mod fields;
mod json;

pub use error::{Fault, FaultKind, Position, ReadError};
pub(crate) use fields::Fields;
pub(crate) use json::{Data, Value};

use std::io::Read;
use std::path::Path;

/// Largest document that is read, in bytes, after decompression.
pub const LARGEST_DOCUMENT: u64 = 256 << 20;

/// A parsed JSON document with its text.
#[derive(Debug)]
pub(crate) struct Document {
    file: String,
    text: String,
    root: Value,
}

/// The bytes of a file, decompressed if they are gzip.
///
/// # Errors
/// [`ReadError`] if the file cannot be read or is larger than [`LARGEST_DOCUMENT`].
pub(crate) fn load(path: &Path) -> Result<Vec<u8>, ReadError> {
    let name = path.display().to_string();
    let fail = |problem: &str, found: String, remedy: &str| {
        ReadError::whole(
            &name,
            Fault {
                problem: problem.into(),
                found,
                remedy: remedy.into(),
            },
        )
    };
    let file = std::fs::File::open(path).map_err(|e| {
        fail(
            "the file cannot be opened",
            e.to_string(),
            "check the name and the permissions",
        )
    })?;
    let mut bytes = Vec::new();
    file.take(LARGEST_DOCUMENT + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| {
            fail(
                "the file cannot be read",
                e.to_string(),
                "name a regular file that you may read",
            )
        })?;
    Ok(bytes)
}

/// The `schema` that a JSON file names, plain or gzipped: what kind of document it is.
///
/// # Errors
/// [`ReadError`] if the file cannot be read, is not JSON, or names something that is not text.
pub fn schema(path: &Path) -> Result<Option<String>, ReadError> {
    let document = Document::parse(&path.display().to_string(), &load(path)?)?;
    let top = document.fields(document.root(), "an object")?;
    let schema = top.get("schema");
    let text = schema.map(|value| document.string(value, "the name of a schema"));
    Ok(text.transpose()?.map(str::to_owned))
}

fn too_large(file: &str) -> ReadError {
    ReadError::whole(
        file,
        Fault {
            problem: "the document is too large".into(),
            found: format!("more than {LARGEST_DOCUMENT} bytes"),
            remedy: "give a smaller one".into(),
        },
    )
    .of_kind(FaultKind::TooLarge)
}

fn decompress(file: &str, bytes: &[u8]) -> Result<Vec<u8>, ReadError> {
    let mut plain = Vec::new();
    flate2::read::MultiGzDecoder::new(bytes)
        .take(LARGEST_DOCUMENT + 1)
        .read_to_end(&mut plain)
        .map_err(|e| {
            ReadError::whole(
                file,
                Fault {
                    problem: "the gzip data are damaged or cut short".into(),
                    found: e.to_string(),
                    remedy: "write or fetch the file again".into(),
                },
            )
        })?;
    Ok(plain)
}

impl Document {
    /// Parses `bytes`, JSON or gzipped JSON; `file` is the name for error messages.
    pub(crate) fn parse(file: &str, bytes: &[u8]) -> Result<Self, ReadError> {
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
        let mut text = String::from_utf8(plain).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            let valid = String::from_utf8_lossy(&e.as_bytes()[..at]).into_owned();
            let fault = Fault {
                problem: "the text is not UTF-8".into(),
                found: format!("byte 0x{:02x} at offset {at}", e.as_bytes()[at]),
                remedy: "save the file as UTF-8".into(),
            };
            ReadError::at(file, &valid, (at, at), String::new(), fault).of_kind(FaultKind::Encoding)
        })?;
        if text.starts_with('\u{feff}') {
            text.drain(..'\u{feff}'.len_utf8());
        }
        if text.trim().is_empty() {
            let fault = Fault {
                problem: "the file is empty".into(),
                found: format!("{} bytes without a value", text.len()),
                remedy: "give a JSON document".into(),
            };
            return Err(ReadError::whole(file, fault));
        }
        match json::parse(&text) {
            Ok(root) => Ok(Document {
                file: file.into(),
                text,
                root,
            }),
            Err(e) => Err(
                ReadError::at(file, &text, (e.at, e.at + 1), String::new(), e.fault)
                    .of_kind(e.kind),
            ),
        }
    }

    /// The outermost value.
    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// The file's name without folder and extension, for documents that do not name themselves.
    pub(crate) fn stem(&self) -> String {
        let file = self.file.rsplit(['/', '\\']).next().unwrap_or_default();
        let stem = file.trim_end_matches(".gz").trim_end_matches(".json");
        stem.to_owned()
    }

    /// An error at a value of this document; the value itself is what was found.
    pub(crate) fn fail(
        &self,
        value: &Value,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ReadError {
        self.fail_found(value, problem, self.quote(value), remedy)
    }

    /// An error at a value of this document, with words for what was found.
    pub(crate) fn fail_found(
        &self,
        value: &Value,
        problem: impl Into<String>,
        found: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ReadError {
        let fault = Fault {
            problem: problem.into(),
            found: found.into(),
            remedy: remedy.into(),
        };
        let span = (value.start as usize, value.end as usize);
        ReadError::at(&self.file, &self.text, span, self.path(value), fault)
    }

    /// The text of a value, shortened.
    fn quote(&self, value: &Value) -> String {
        match value.data {
            Data::Array(ref list) => format!("a list of {}", list.len()),
            Data::Object(ref list) => format!("an object of {} fields", list.len()),
            _ => {
                let text = &self.text[value.start as usize..value.end as usize];
                let mut short: String = text.chars().take(40).collect();
                if short.len() < text.len() {
                    short += "...";
                }
                short
            }
        }
    }

    /// The path of a value, found again from its position.
    fn path(&self, target: &Value) -> String {
        let holds = |v: &Value| v.start <= target.start && target.end <= v.end;
        let mut path = String::new();
        let mut at = &self.root;
        while !std::ptr::eq(at, target) {
            match &at.data {
                Data::Object(entries) => {
                    let Some((key, inner)) = entries.iter().find(|(_, v)| holds(v)) else {
                        break;
                    };
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(key);
                    at = inner;
                }
                Data::Array(list) => {
                    let k = list.partition_point(|v| v.end <= target.start);
                    let Some(inner) = list.get(k).filter(|v| holds(v)) else {
                        break;
                    };
                    path.push_str(&format!("[{k}]"));
                    at = inner;
                }
                _ => break,
            }
        }
        path
    }
}
