//! Fields of a line, and the numbers in them.

use super::{MpsReader, MpsSection};
use crate::decimal::{RoundedNumber, is_held};
use crate::text_file::shown;

/// Reads a number; `d` may replace `e`, as in Fortran.
pub(super) fn number(s: &str) -> Result<f64, String> {
    let parsed = s
        .parse::<f64>()
        .or_else(|_| s.replace(['d', 'D'], "e").parse::<f64>());
    match parsed {
        Ok(v) if !v.is_nan() => Ok(v),
        _ => Err(format!("{} is not a number", shown(s))),
    }
}

/// Reads a finite number.
pub(super) fn finite(s: &str) -> Result<f64, String> {
    let value = number(s)?;
    if value.is_finite() {
        return Ok(value);
    }
    Err(format!(
        "{} is too large; a finite number is needed",
        shown(s)
    ))
}

/// Bytes `from..to` of a line, as far as they exist. Names are ASCII in fixed format; a cut within
/// another character gives an empty field.
pub(super) fn slice(line: &str, from: usize, to: usize) -> &str {
    let to = to.min(line.len());
    if from >= to {
        ""
    } else {
        line.get(from..to).unwrap_or("")
    }
}

/// Fields at the positions of fixed format.
pub(super) fn split_fixed<'a>(line: &'a str, section: MpsSection, fields: &mut Vec<&'a str>) {
    if matches!(section, MpsSection::Bounds | MpsSection::Indicators) {
        fields.push(slice(line, 1, 3).trim());
    }
    for (from, to) in [(4, 12), (14, 22), (24, 36), (39, 47), (49, 61)] {
        let f = slice(line, from, to).trim();
        // The set name of RHS, RANGES and BOUNDS may be blank; later fields may not.
        if f.is_empty() && !(from == 4 && section != MpsSection::Columns) {
            break;
        }
        fields.push(f);
    }
}

impl MpsReader {
    /// Records a number that a double does not represent.
    pub(super) fn held(&mut self, text: &str, value: f64, place: impl FnOnce() -> String) {
        if !is_held(text, value) {
            let line = self.line;
            self.builder.note_rounded(|| RoundedNumber {
                line,
                place: place(),
                number: shown(text),
            });
        }
    }
}
