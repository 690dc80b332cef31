//! Text files, plain or gzipped: shared helpers of all readers and writers of this crate.

use crate::ids::{ColId, RowId};
use crate::model::Model;
use crate::whole_file;
use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::path::Path;

/// Least number that means infinity in bounds and right-hand sides, as in all solvers.
pub(crate) const INFINITE: f64 = 1e20;

/// Largest size of an unpacked gzip file, in bytes. A plain file may be larger, since its size is
/// visible.
const LARGEST_UNPACKED_BYTES: u64 = 1 << 30;

/// Length in characters after which quoted words are cut in errors.
const SHOWN_CHARACTERS: usize = 60;

/// Reads a file, unpacking it if it starts like a gzip file.
pub(crate) fn read(path: &Path) -> Result<String> {
    decode(std::fs::read(path)?)
}

/// Decodes the bytes of an LP, MPS or solution file, plain or gzipped. A byte order mark is
/// dropped. Bytes that are not UTF-8 are read as Latin-1, so that different names stay different.
///
/// # Errors
/// Damaged gzip data, data that unpack to more than 1 GiB, and files of other kinds.
pub fn decode(mut bytes: Vec<u8>) -> Result<String> {
    if bytes.starts_with(&[0x1f, 0x8b]) {
        bytes = unpacked(&bytes, LARGEST_UNPACKED_BYTES)?;
    }
    if let Some(kind) = foreign(&bytes) {
        let message = format!("this is {kind}; plain text in UTF-8, or that gzipped, is read");
        return Err(Error::new(ErrorKind::InvalidData, message));
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        bytes.drain(..3);
    }
    let latin = |bytes: Vec<u8>| bytes.iter().map(|&b| char::from(b)).collect();
    Ok(String::from_utf8(bytes).unwrap_or_else(|e| latin(e.into_bytes())))
}

/// Unpacks gzip data of at most `largest` unpacked bytes.
fn unpacked(bytes: &[u8], largest: u64) -> Result<Vec<u8>> {
    let mut plain = Vec::new();
    let decoder = flate2::read::MultiGzDecoder::new(bytes);
    decoder.take(largest + 1).read_to_end(&mut plain)?;
    if plain.len() as u64 <= largest {
        return Ok(plain);
    }
    let message = format!(
        "it unpacks to more than {largest} bytes; where that is right, unpack it first (`gunzip`) and name the plain file"
    );
    Err(Error::new(ErrorKind::InvalidData, message))
}

/// Kind of an unsupported binary file or encoding, by its first bytes.
fn foreign(bytes: &[u8]) -> Option<&'static str> {
    const KINDS: [(&[u8], &str); 6] = [
        (b"\xff\xfe", "text in UTF-16"),
        (b"\xfe\xff", "text in UTF-16"),
        (b"BZh", "a bzip2 file"),
        (b"\xfd7zXZ", "an xz file"),
        (b"\x28\xb5\x2f\xfd", "a zstd file"),
        (b"PK\x03\x04", "a zip file"),
    ];
    let kind = KINDS.iter().find(|(start, _)| bytes.starts_with(start));
    kind.map(|(_, kind)| *kind)
}

/// A word of a file as shown in errors and warnings: invisible characters are escaped and long
/// words are cut.
pub(crate) fn shown(word: &str) -> String {
    let mut out = String::new();
    for (k, c) in word.chars().enumerate() {
        match c {
            _ if k == SHOWN_CHARACTERS => {
                out.push_str("...");
                break;
            }
            '\\' | '\'' | '"' => out.push(c),
            _ => out.extend(c.escape_debug()),
        }
    }
    out
}

/// A notice about content of a file that is read but may be a mistake.
pub(crate) struct Remark {
    /// Line number, from 1.
    pub line: usize,
    /// Description, in words.
    pub text: String,
}

/// Reports the remarks on a file, each as a `tracing` warning named `file remark`.
pub(crate) fn tell(remarks: &[Remark]) {
    for remark in remarks {
        tracing::warn!(
            name: "file remark",
            target: "remat_lp",
            line = remark.line as u64,
            text = remark.text.as_str(),
        );
    }
}

/// Replaces a bound that means infinity by infinity.
pub(crate) fn clip(v: f64) -> f64 {
    if v.abs() >= INFINITE {
        v.signum() * f64::INFINITY
    } else {
        v
    }
}

/// Writes a file, gzipped if its name ends in `.gz`.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    whole_file::write(path, &[&encode(path, text)?])
}

/// The bytes of a file with this path: the text, gzipped if the name ends in `.gz`.
///
/// # Errors
/// Errors of the gzip encoder, which cannot occur in memory.
pub fn encode<'t>(path: &Path, text: &'t str) -> Result<Cow<'t, [u8]>> {
    if path.extension().is_none_or(|e| e != "gz") {
        return Ok(Cow::Borrowed(text.as_bytes()));
    }
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(text.as_bytes())?;
    gz.finish().map(Cow::Owned)
}

/// Names of all columns and of all rows that survive a round trip: the model's own if all names of
/// a kind are `usable` and distinct, otherwise `x0, x1, ...` and `r0, r1, ...`.
pub(crate) fn names(
    model: &Model,
    usable: impl Fn(&str) -> bool + Copy,
) -> (Vec<String>, Vec<String>) {
    let cols = (0..model.num_cols()).map(|j| model.col_name(ColId(j as u32)));
    let rows = (0..model.num_rows()).map(|i| model.row_name(RowId(i as u32)));
    (
        or_generated(cols.collect(), 'x', usable),
        or_generated(rows.collect(), 'r', usable),
    )
}

fn or_generated(given: Vec<String>, prefix: char, usable: impl Fn(&str) -> bool) -> Vec<String> {
    let mut seen = HashSet::new();
    if given.iter().all(|n| usable(n) && seen.insert(n.as_str())) {
        given
    } else {
        (0..given.len()).map(|k| format!("{prefix}{k}")).collect()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::{Arc, Mutex};
    use tracing::field::{Field, Visit};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Event, Metadata, Subscriber};

    /// Collects remarks, as `line: text`.
    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<String>>>);

    impl Visit for Kept {
        fn record_u64(&mut self, _: &Field, line: u64) {
            self.0.lock().unwrap().push(format!("{line}: "));
        }

        fn record_str(&mut self, _: &Field, text: &str) {
            if let Some(last) = self.0.lock().unwrap().last_mut() {
                last.push_str(text);
            }
        }

        fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
    }

    impl Subscriber for Kept {
        fn enabled(&self, metadata: &Metadata<'_>) -> bool {
            metadata.is_event()
        }

        fn event(&self, event: &Event<'_>) {
            assert_eq!(event.metadata().name(), "file remark");
            event.record(&mut self.clone());
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// The remarks emitted by a reader, as `line: text`.
    pub(crate) fn remarks(read: impl FnOnce()) -> Vec<String> {
        let kept = Kept::default();
        tracing::subscriber::with_default(kept.clone(), read);
        kept.0.lock().unwrap().clone()
    }

    #[test]
    fn bytes_become_text_or_an_error_that_names_their_kind() {
        let read = |bytes: &[u8]| decode(bytes.to_vec());
        assert_eq!(read(b"\xef\xbb\xbfmin").unwrap(), "min");
        assert_eq!(read("é".as_bytes()).unwrap(), "é");
        assert_eq!(read(b"\xe9 \xe8").unwrap(), "é è");
        let error = read(b"\xff\xfem\0").unwrap_err().to_string();
        assert!(error.contains("UTF-16"), "{error}");
        assert!(read(b"\x1f\x8bcut off").is_err());
        let packed = encode(Path::new("a.gz"), "min").unwrap();
        assert_eq!(read(&packed).unwrap(), "min");
        assert_eq!(unpacked(&packed, 3).unwrap(), b"min");
        let error = unpacked(&packed, 2).unwrap_err().to_string();
        assert!(error.contains("more than 2 bytes"), "{error}");
    }

    #[test]
    fn words_are_shown_without_control_characters_and_cut() {
        assert_eq!(shown("a\u{1b}[2J\u{202e}'é'"), "a\\u{1b}[2J\\u{202e}'é'");
        let long = shown(&"x".repeat(1000));
        assert!(long.ends_with("x...") && long.len() == SHOWN_CHARACTERS + 3);
    }
}
