//! Text files, plain or gzipped: what all readers and writers of this crate have in common.

use crate::ids::{ColId, RowId};
use crate::model::Model;
use std::collections::HashSet;
use std::io::{Read, Result, Write};
use std::path::Path;

/// Reads a file, unpacking it if it starts like a gzip file.
pub(crate) fn read(path: &Path) -> Result<String> {
    let mut bytes = std::fs::read(path)?;
    if bytes.starts_with(&[0x1f, 0x8b]) {
        let mut plain = Vec::new();
        flate2::read::MultiGzDecoder::new(&bytes[..]).read_to_end(&mut plain)?;
        bytes = plain;
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a file, packed if its name ends in `.gz`.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if path.extension().is_some_and(|e| e == "gz") {
        let file = std::fs::File::create(path)?;
        let mut gz = flate2::write::GzEncoder::new(file, flate2::Compression::default());
        gz.write_all(text.as_bytes())?;
        gz.finish().map(drop)
    } else {
        std::fs::write(path, text)
    }
}

/// Names of all columns and of all rows that survive a round trip: the model's own where all of a
/// kind are `usable` and distinct, otherwise `x0, x1, ...` and `r0, r1, ...`.
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
