//! Reading MPS.

use super::{MpsError, MpsFormat};
use crate::ids::{Bounds, ColId, RowId};
use crate::model::{Model, ModelBuilder, Sense};
use crate::text_file;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// Reads a file, unpacking it if it starts like a gzip file.
///
/// # Errors
/// [`MpsError::Io`], or whatever [`parse`] finds.
pub fn read(path: impl AsRef<Path>) -> Result<Model, MpsError> {
    let path = path.as_ref();
    let io = |source| MpsError::Io {
        path: path.display().to_string(),
        source,
    };
    let text = text_file::read(path).map_err(io)?;
    parse(&text, MpsFormat::Auto)
}

/// Reads a model from the text of an MPS file.
///
/// ```
/// use remat_lp::mps::{parse, MpsFormat};
/// let text = "NAME t\nROWS\n N cost\n G lim\nCOLUMNS\n x cost 2 lim 1\nRHS\n rhs lim 3 cost -5\nENDATA\n";
/// let model = parse(text, MpsFormat::Auto).unwrap();
/// assert_eq!(model.offset(), 5.0);
/// assert_eq!(model.row_lower(), [3.0]);
/// ```
///
/// # Errors
/// [`MpsError::Syntax`] with the line, or [`MpsError::Model`].
pub fn parse(text: &str, format: MpsFormat) -> Result<Model, MpsError> {
    match format {
        MpsFormat::Free => MpsReader::default().run(text, false),
        MpsFormat::Fixed => MpsReader::default().run(text, true),
        MpsFormat::Auto => MpsReader::default()
            .run(text, false)
            .or_else(|e| MpsReader::default().run(text, true).map_err(|_| e)),
    }
}

#[derive(Clone, Copy, PartialEq, Default)]
enum MpsSection {
    #[default]
    Start,
    ObjSense,
    ObjName,
    Rows,
    Columns,
    Rhs,
    Ranges,
    Bounds,
    End,
}

/// Meaning of a row name.
#[derive(Clone, Copy)]
enum RowRef {
    Objective,
    /// A further N row: its entries are dropped.
    Dropped,
    Row(usize),
}

/// Which bounds of a column were stated.
#[derive(Clone, Copy, Default)]
struct StatedBounds {
    any: bool,
    lower: bool,
}

#[derive(Default)]
struct MpsReader {
    builder: ModelBuilder,
    objective_name: Option<String>,
    rows: HashMap<String, RowRef>,
    has_objective: bool,
    kinds: Vec<u8>,
    rhs: Vec<f64>,
    range: Vec<Option<f64>>,
    cols: HashMap<String, ColId>,
    /// Which bounds were stated, per column.
    stated: Vec<StatedBounds>,
    /// The set that each of RHS, RANGES and BOUNDS begins with: the one that counts.
    first_sets: HashMap<&'static str, String>,
    /// Others, which are left out, each with its section.
    other_sets: HashSet<(&'static str, String)>,
    current: Option<(String, ColId)>,
    in_integers: bool,
    costs: Vec<f64>,
    offset: f64,
}

impl MpsReader {
    fn run(mut self, text: &str, fixed: bool) -> Result<Model, MpsError> {
        let mut section = MpsSection::Start;
        let mut fields: Vec<&str> = Vec::with_capacity(6);
        for (k, line) in text.lines().enumerate() {
            if line.starts_with('*') || line.trim().is_empty() {
                continue;
            }
            let at = |message: String| MpsError::Syntax {
                line: k + 1,
                message,
            };
            if !line.starts_with([' ', '\t']) {
                section = self.header(line).map_err(at)?;
                if section == MpsSection::End {
                    break;
                }
                continue;
            }
            fields.clear();
            let marker = section == MpsSection::Columns && line.contains("'MARKER'");
            if fixed
                && !marker
                && matches!(
                    section,
                    MpsSection::Columns | MpsSection::Rhs | MpsSection::Ranges | MpsSection::Bounds
                )
            {
                split_fixed(line, section, &mut fields);
            } else {
                fields.extend(line.split_whitespace());
            }
            if matches!(
                section,
                MpsSection::Columns | MpsSection::Rhs | MpsSection::Ranges | MpsSection::Bounds
            ) {
                self.drop_remark(&mut fields);
            }
            match section {
                MpsSection::Start => Err("data before the first section".to_string()),
                MpsSection::ObjSense => self.sense(fields[0]),
                MpsSection::ObjName => {
                    self.objective_name = Some(fields[0].to_string());
                    Ok(())
                }
                MpsSection::Rows => self.row(&fields, fixed, line),
                MpsSection::Columns => self.column(&fields),
                MpsSection::Rhs => self.rhs(&fields),
                MpsSection::Ranges => self.ranges(&fields),
                MpsSection::Bounds => self.bound(&fields),
                MpsSection::End => break,
            }
            .map_err(at)?;
        }
        if section != MpsSection::End {
            return Err(MpsError::Syntax {
                line: text.lines().count(),
                message: "the file ends without ENDATA".into(),
            });
        }
        self.finish()
    }

    fn header(&mut self, line: &str) -> Result<MpsSection, String> {
        let mut words = line.split_whitespace();
        let word = words.next().unwrap_or_default();
        Ok(match word.to_ascii_uppercase().as_str() {
            "NAME" => {
                self.builder.set_name(line[4..].trim());
                MpsSection::Start
            }
            "OBJSENSE" => {
                if let Some(w) = words.next() {
                    self.sense(w)?;
                }
                MpsSection::ObjSense
            }
            "OBJNAME" => {
                if let Some(w) = words.next() {
                    self.objective_name = Some(w.to_string());
                }
                MpsSection::ObjName
            }
            "ROWS" => MpsSection::Rows,
            "COLUMNS" => MpsSection::Columns,
            "RHS" => MpsSection::Rhs,
            "RANGES" => MpsSection::Ranges,
            "BOUNDS" => MpsSection::Bounds,
            "ENDATA" => MpsSection::End,
            "MAX" | "MAXIMIZE" | "MAXIMISE" | "MIN" | "MINIMIZE" | "MINIMISE" => {
                self.sense(word)?;
                MpsSection::ObjSense
            }
            other => {
                return Err(format!(
                    "section {other} is not supported (linear programs only)"
                ));
            }
        })
    }

    fn sense(&mut self, word: &str) -> Result<(), String> {
        let sense = match word.to_ascii_uppercase().as_str() {
            "MAX" | "MAXIMIZE" | "MAXIMISE" => Sense::Maximise,
            "MIN" | "MINIMIZE" | "MINIMISE" => Sense::Minimise,
            other => return Err(format!("objective sense {other}: MIN or MAX expected")),
        };
        self.builder.set_sense(sense);
        Ok(())
    }

    fn row(&mut self, fields: &[&str], fixed: bool, line: &str) -> Result<(), String> {
        let (kind, name) = match fields {
            [kind, name] if !fixed => (*kind, name.to_string()),
            [kind, ..] if fixed => (*kind, slice(line, 4, 12).trim().to_string()),
            _ => return Err("a row is a type (N, L, G or E) and a name".into()),
        };
        let kind = match kind.to_ascii_uppercase().as_str() {
            "N" => b'N',
            "L" => b'L',
            "G" => b'G',
            "E" => b'E',
            other => return Err(format!("row type {other}: N, L, G or E expected")),
        };
        let reference = if kind == b'N' {
            let wanted = self.objective_name.as_ref().is_none_or(|o| *o == name);
            if !self.has_objective && wanted {
                self.has_objective = true;
                RowRef::Objective
            } else {
                RowRef::Dropped
            }
        } else {
            let id = self.builder.add_row(Bounds::FREE, []);
            self.builder.set_row_name(id, name.clone());
            self.kinds.push(kind);
            self.rhs.push(0.0);
            self.range.push(None);
            RowRef::Row(id.index())
        };
        if self.rows.insert(name.clone(), reference).is_some() {
            return Err(format!("row {name} is declared twice"));
        }
        Ok(())
    }

    fn column(&mut self, fields: &[&str]) -> Result<(), String> {
        if fields.len() >= 3 && fields[1].trim_matches('\'') == "MARKER" {
            match fields[fields.len() - 1].trim_matches('\'') {
                "INTORG" => self.in_integers = true,
                "INTEND" => self.in_integers = false,
                other => return Err(format!("marker {other}: INTORG or INTEND expected")),
            }
            return Ok(());
        }
        if fields.len() != 3 && fields.len() != 5 {
            return Err("a column line is a column and one or two pairs of row and value".into());
        }
        let name = fields[0];
        let col = match &self.current {
            Some((current, id)) if current == name => *id,
            _ => {
                let id = self.builder.add_col(0.0, 0.0..);
                self.builder.set_col_name(id, name);
                self.builder.set_integer(id, self.in_integers);
                self.stated.push(StatedBounds::default());
                self.costs.push(0.0);
                if self.cols.insert(name.to_string(), id).is_some() {
                    return Err(format!("the entries of column {name} are not together"));
                }
                self.current = Some((name.to_string(), id));
                id
            }
        };
        for pair in fields[1..].chunks_exact(2) {
            let value = number(pair[1])?;
            match self.row_ref(pair[0])? {
                RowRef::Objective => self.costs[col.index()] += value,
                RowRef::Dropped => {}
                RowRef::Row(i) => self.builder.add_entry(RowId(i as u32), col, value),
            }
        }
        Ok(())
    }

    /// Drops a remark: a word that begins with `$`, behind the first one, and is no name.
    fn drop_remark(&self, fields: &mut Vec<&str>) {
        let is_remark = |word: &&str| {
            let named = self.rows.contains_key(*word) || self.cols.contains_key(*word);
            word.starts_with('$') && !named
        };
        if let Some(at) = fields.iter().skip(1).position(is_remark) {
            fields.truncate(at + 1);
        }
    }

    /// Returns whether a line belongs to the first set of its section. Others are alternatives,
    /// which do not count.
    fn is_of_first_set(&mut self, section: &'static str, set: &str) -> bool {
        let first = self.first_sets.entry(section);
        let first = first.or_insert_with(|| set.to_owned());
        let counts = first == set;
        if !counts && self.other_sets.insert((section, set.to_owned())) {
            tracing::warn!(
                name: "set left out",
                target: "remat_lp",
                section,
                set,
                first = first.as_str(),
            );
        }
        counts
    }

    fn row_ref(&self, name: &str) -> Result<RowRef, String> {
        self.rows
            .get(name)
            .copied()
            .ok_or_else(|| format!("row {name} was not declared in ROWS"))
    }

    /// The (name, value) pairs of an RHS or RANGES line, whose set name may be missing; none of a
    /// set that does not count.
    fn pairs<'a>(
        &mut self,
        section: &'static str,
        fields: &'a [&'a str],
    ) -> Result<&'a [&'a str], String> {
        let (set, pairs) = match fields.len() {
            2 | 4 => ("", fields),
            3 | 5 => (fields[0], &fields[1..]),
            _ => return Err("expected a set name and one or two pairs of row and value".into()),
        };
        let counts = self.is_of_first_set(section, set);
        Ok(if counts { pairs } else { &[] })
    }

    fn rhs(&mut self, fields: &[&str]) -> Result<(), String> {
        for pair in self.pairs("RHS", fields)?.chunks_exact(2) {
            let value = number(pair[1])?;
            match self.row_ref(pair[0])? {
                RowRef::Objective => self.offset = -value,
                RowRef::Dropped => {}
                RowRef::Row(i) => self.rhs[i] = value,
            }
        }
        Ok(())
    }

    fn ranges(&mut self, fields: &[&str]) -> Result<(), String> {
        for pair in self.pairs("RANGES", fields)?.chunks_exact(2) {
            let value = number(pair[1])?;
            if let RowRef::Row(i) = self.row_ref(pair[0])? {
                self.range[i] = Some(value);
            }
        }
        Ok(())
    }

    fn bound(&mut self, fields: &[&str]) -> Result<(), String> {
        let kind = fields[0].to_ascii_uppercase();
        let needs_value = !matches!(kind.as_str(), "FR" | "MI" | "PL" | "BV");
        let is_column = |k: usize| fields.get(k).is_some_and(|f| self.cols.contains_key(*f));
        let (set, name, value) = match (needs_value, fields.len()) {
            (true, 4) => (fields[1], fields[2], Some(number(fields[3])?)),
            (true, 3) => ("", fields[1], Some(number(fields[2])?)),
            // A number that is not needed may follow.
            (false, 2) => ("", fields[1], None),
            (false, 3) if is_column(1) && !is_column(2) => ("", fields[1], None),
            (false, 3 | 4) => (fields[1], fields[2], None),
            _ => {
                let value = if needs_value { ", value" } else { "" };
                return Err(format!(
                    "a bound of type {kind} is: type, set name, column{value}"
                ));
            }
        };
        if !self.is_of_first_set("BOUNDS", set) {
            return Ok(());
        }
        let col = *self
            .cols
            .get(name)
            .ok_or_else(|| format!("column {name} was not declared in COLUMNS"))?;
        let mut b = self.builder.col_bounds(col);
        let v = value.unwrap_or(0.0);
        let stated = self.stated[col.index()];
        if !stated.any && self.builder.is_integer(col) && kind == "LI" {
            b.upper = f64::INFINITY;
        }
        match kind.as_str() {
            "UP" | "UI" => {
                b.upper = v;
                // An upper bound below zero with no lower bound stated: by tradition, no lower
                // bound.
                if v < 0.0 && !stated.lower {
                    b.lower = f64::NEG_INFINITY;
                }
            }
            "LO" | "LI" => b.lower = v,
            "FX" => b = Bounds::from(v),
            "FR" => b = Bounds::FREE,
            "MI" => b.lower = f64::NEG_INFINITY,
            "PL" => b.upper = f64::INFINITY,
            "BV" => b = Bounds::new(0.0, 1.0),
            "SC" => {
                return Err(format!(
                    "column {name} is semi-continuous (SC): not a linear program, not supported"
                ));
            }
            other => {
                return Err(format!(
                    "bound type {other}: UP, LO, FX, FR, MI, PL, BV, LI or UI expected"
                ));
            }
        }
        if matches!(kind.as_str(), "BV" | "LI" | "UI") {
            self.builder.set_integer(col, true);
        }
        self.stated[col.index()] = StatedBounds {
            any: true,
            lower: stated.lower || !matches!(kind.as_str(), "UP" | "UI" | "PL"),
        };
        self.builder.set_col_bounds(col, clip_infinite(b));
        Ok(())
    }

    fn finish(mut self) -> Result<Model, MpsError> {
        self.builder.set_offset(self.offset);
        for (j, &c) in self.costs.iter().enumerate() {
            self.builder.set_cost(ColId(j as u32), c);
        }
        for (i, &kind) in self.kinds.iter().enumerate() {
            let r = self.rhs[i];
            let width = self.range[i];
            let b = match (kind, width) {
                (b'L', None) => Bounds::new(f64::NEG_INFINITY, r),
                (b'L', Some(w)) => Bounds::new(r - w.abs(), r),
                (b'G', None) => Bounds::new(r, f64::INFINITY),
                (b'G', Some(w)) => Bounds::new(r, r + w.abs()),
                (_, None) => Bounds::from(r),
                (_, Some(w)) if w < 0.0 => Bounds::new(r + w, r),
                (_, Some(w)) => Bounds::new(r, r + w),
            };
            self.builder
                .set_row_bounds(RowId(i as u32), clip_infinite(b));
        }
        for (j, stated) in self.stated.iter().enumerate() {
            let col = ColId(j as u32);
            if !stated.any && self.builder.is_integer(col) {
                self.builder.set_col_bounds(col, 0.0..=1.0);
            }
        }
        Ok(self.builder.build()?)
    }
}

/// By convention 1e20 and beyond (some files: 1e30, 1e31) mean infinity.
fn clip_infinite(b: Bounds) -> Bounds {
    Bounds::new(
        if b.lower <= -1e20 {
            f64::NEG_INFINITY
        } else {
            b.lower
        },
        if b.upper >= 1e20 {
            f64::INFINITY
        } else {
            b.upper
        },
    )
}

fn number(s: &str) -> Result<f64, String> {
    let parsed = s
        .parse::<f64>()
        .or_else(|_| s.replace(['d', 'D'], "e").parse::<f64>());
    match parsed {
        Ok(v) if !v.is_nan() => Ok(v),
        _ => Err(format!("{s} is not a number")),
    }
}

/// Bytes `from..to` of a line, as far as they exist (names are ASCII in fixed format; others yield
/// an empty field).
fn slice(line: &str, from: usize, to: usize) -> &str {
    let to = to.min(line.len());
    if from >= to {
        ""
    } else {
        line.get(from..to).unwrap_or("")
    }
}

fn split_fixed<'a>(line: &'a str, section: MpsSection, fields: &mut Vec<&'a str>) {
    if section == MpsSection::Bounds {
        fields.push(slice(line, 1, 3).trim());
    }
    for (from, to) in [(4, 12), (14, 22), (24, 36), (39, 47), (49, 61)] {
        let f = slice(line, from, to).trim();
        // The set name of RHS, RANGES and BOUNDS may be blank; everything after it may not.
        if f.is_empty() && !(from == 4 && section != MpsSection::Columns) {
            break;
        }
        fields.push(f);
    }
}

#[cfg(test)]
mod tests;
