//! Reading MPS.

mod bounds;
mod fields;
mod quadratic;
mod sides;
mod specials;

use super::{MpsError, MpsFormat};
use crate::decimal::{RoundedNumber, sum};
use crate::ids::{Bounds, ColId, RowId};
use crate::model::{Model, ModelBuilder, Sense};
use crate::model_file::{ModelFile, Specials};
use crate::text_file::{self, Remark, clip, shown};
use fields::{finite, slice, split_fixed};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

/// Reads a file, unpacking it if it starts like a gzip file.
///
/// # Errors
/// [`MpsError::Io`], or any error of [`parse`].
pub fn read(path: impl AsRef<Path>) -> Result<Model, MpsError> {
    Ok(read_all(path)?.linear()?)
}

/// Reads a file as [`parse_all`] reads text, unpacking it if it starts like a gzip file.
///
/// # Errors
/// [`MpsError::Io`], or any error of [`parse_all`].
pub fn read_all(path: impl AsRef<Path>) -> Result<ModelFile, MpsError> {
    let path = path.as_ref();
    let io = |source| MpsError::Io {
        path: path.display().to_string(),
        source,
    };
    let text = text_file::read(path).map_err(io)?;
    parse_all(&text, MpsFormat::Auto)
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
    Ok(parse_all(text, format)?.linear()?)
}

/// Reads text with semi-continuous columns, ordered sets and implications, which [`parse`] rejects.
///
/// ```
/// use remat_lp::mps::{parse_all, MpsFormat};
/// let text = "ROWS\n N cost\n G lim\nCOLUMNS\n b cost 1\n x lim 1\nRHS\n rhs lim 3\nBOUNDS\n BV bnd b\n\
///             INDICATORS\n IF lim b 1\nENDATA\n";
/// let file = parse_all(text, MpsFormat::Auto).unwrap();
/// assert_eq!((file.model.num_rows(), file.specials.implications.len()), (0, 1));
/// ```
///
/// # Errors
/// The errors of [`parse`], except for these parts.
pub fn parse_all(text: &str, format: MpsFormat) -> Result<ModelFile, MpsError> {
    let read = |fixed| MpsReader::default().run(text, fixed);
    let (file, remarks) = match format {
        MpsFormat::Free => read(false),
        MpsFormat::Fixed => read(true),
        // If the text is valid in neither format, report the error that occurs further down.
        MpsFormat::Auto => read(false).or_else(|free| {
            read(true).map_err(|fixed| match line_of(&fixed) > line_of(&free) {
                true => fixed,
                false => free,
            })
        }),
    }?;
    text_file::tell(&remarks);
    Ok(file)
}

/// The line of an error; errors in the model as a whole come after all lines.
fn line_of(error: &MpsError) -> usize {
    match error {
        MpsError::Syntax { line, .. } => *line,
        _ => usize::MAX,
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
    /// Ordered sets; the heading may state their width.
    Sets(Option<u8>),
    Indicators,
    /// Products of the objective; true if the section lists both triangles of the matrix.
    Quadratic(bool),
    /// A section that must be empty: its name and line.
    Unsupported(&'static str, usize),
    End,
}

/// Known but unsupported sections of other programs' files.
const UNSUPPORTED: [&str; 14] = [
    "QSECTION",
    "QCMATRIX",
    "CSECTION",
    "GENCONS",
    "PWLOBJ",
    "PWLNAM",
    "PWLCON",
    "LAZYCONS",
    "USERCUTS",
    "DELAYEDROWS",
    "MODELCUTS",
    "BRANCHING",
    "SCENARIOS",
    "MULTIOBJ",
];

/// Meaning of a row name.
#[derive(Clone, Copy)]
enum RowRef {
    Objective,
    /// A further N row: its entries are dropped.
    Dropped,
    Row(usize),
}

/// The bounds of a column that were stated.
#[derive(Clone, Copy, Default)]
struct StatedBounds {
    any: bool,
    lower: bool,
    /// True if the column may be 0 outside its bounds.
    semi: bool,
}

/// A row of the model, as read so far.
struct MpsRow {
    kind: u8,
    rhs: Option<f64>,
    range: Option<f64>,
    /// The last column with an entry in this row.
    entered: Option<ColId>,
    /// The last line about this row.
    line: usize,
}

impl MpsRow {
    /// The sides, and whether doubles represent them as decimals.
    fn bounds(&self) -> (Bounds, bool) {
        let r = self.rhs.unwrap_or(0.0);
        let width = match (self.kind, self.range) {
            (b'L', Some(w)) => -w.abs(),
            (b'G', Some(w)) => w.abs(),
            (_, w) => w.unwrap_or(0.0),
        };
        let (other, held) = sum(r, width);
        let (lower, upper) = match (self.kind, self.range) {
            (b'L', None) => (f64::NEG_INFINITY, r),
            (b'L', Some(_)) => (other, r),
            (b'G', None) => (r, f64::INFINITY),
            (b'G', Some(_)) => (r, other),
            (_, None) => (r, r),
            (_, Some(w)) if w < 0.0 => (other, r),
            (_, Some(_)) => (r, other),
        };
        (Bounds::new(clip(lower), clip(upper)), held)
    }
}

#[derive(Default)]
struct MpsReader {
    builder: ModelBuilder,
    /// The name given by OBJNAME and its line.
    wanted: Option<(String, usize)>,
    /// The name of the objective row.
    objective: Option<String>,
    row_names: HashMap<String, RowRef>,
    rows: Vec<MpsRow>,
    /// The last column with an entry in the objective.
    costed: Option<ColId>,
    cols: HashMap<String, ColId>,
    /// The stated bounds of each column.
    stated: Vec<StatedBounds>,
    /// The first set of each of RHS, RANGES and BOUNDS; only this set is used.
    first_sets: HashMap<&'static str, String>,
    /// Other sets, which are ignored, each with its section.
    other_sets: HashSet<(&'static str, String)>,
    current: Option<(String, ColId)>,
    in_integers: bool,
    costs: Vec<f64>,
    offset: Option<f64>,
    /// The line being read.
    line: usize,
    remarks: Vec<Remark>,
    /// True once a further N row was reported.
    told_of_dropped: bool,
    specials: Specials,
    /// Column and value of each row with an indicator.
    indicators: BTreeMap<usize, (ColId, bool)>,
    /// Entries of the matrix of the objective, by row and column.
    curved: BTreeMap<(ColId, ColId), f64>,
}

impl MpsReader {
    fn run(mut self, text: &str, fixed: bool) -> Result<(ModelFile, Vec<Remark>), MpsError> {
        let mut section = MpsSection::Start;
        let mut fields: Vec<&str> = Vec::with_capacity(6);
        for (k, line) in text.lines().enumerate() {
            self.line = k + 1;
            if line.starts_with('*') || line.trim().is_empty() {
                self.comment(line);
                continue;
            }
            let at = |message: String| MpsError::Syntax {
                line: k + 1,
                message,
            };
            if section == MpsSection::End {
                self.remark("text behind ENDATA does not count".into());
                break;
            }
            if !line.starts_with([' ', '\t']) {
                section = self.header(line).map_err(at)?;
                continue;
            }
            fields.clear();
            let marker = section == MpsSection::Columns && line.contains("'MARKER'");
            if fixed
                && !marker
                && matches!(
                    section,
                    MpsSection::Columns
                        | MpsSection::Rhs
                        | MpsSection::Ranges
                        | MpsSection::Bounds
                        | MpsSection::Indicators
                        | MpsSection::Quadratic(_)
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
                    self.wanted = Some((fields[0].to_string(), self.line));
                    Ok(())
                }
                MpsSection::Rows => self.row(&fields, fixed, line),
                MpsSection::Columns => self.column(&fields),
                MpsSection::Rhs => self.rhs(&fields),
                MpsSection::Ranges => self.ranges(&fields),
                MpsSection::Bounds => self.bound(&fields),
                MpsSection::Sets(width) => self.set_line(&fields, width),
                MpsSection::Indicators => self.indicator(&fields),
                MpsSection::Quadratic(whole) => self.product(&fields, whole),
                MpsSection::Unsupported(name, line) => {
                    let message = format!(
                        "section {name} is not supported (linear rows, integers, and a quadratic \
                         objective in QUADOBJ or QMATRIX)"
                    );
                    return Err(MpsError::Syntax { line, message });
                }
                MpsSection::End => Ok(()),
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

    fn remark(&mut self, text: String) {
        let line = self.line;
        self.remarks.push(Remark { line, text });
    }

    /// Emits a remark on PuLP's comment that the objective is maximised, since MPS readers ignore
    /// it.
    fn comment(&mut self, line: &str) {
        let says = line.to_ascii_lowercase().replace(' ', "");
        if says.starts_with("*sense:max") {
            self.remark(
                "this comment does not count: the objective is minimised unless OBJSENSE says MAX"
                    .into(),
            );
        }
    }

    fn header(&mut self, line: &str) -> Result<MpsSection, String> {
        let mut words = line.split_whitespace();
        let word = words.next().unwrap_or_default();
        Ok(match word.to_ascii_uppercase().as_str() {
            "NAME" => {
                let name = line[4..].trim();
                // COIN-OR programs write the format after the name.
                let behind = name.strip_suffix("FREE");
                let behind = behind.filter(|n| n.ends_with(char::is_whitespace));
                self.builder.set_name(behind.map_or(name, str::trim_end));
                MpsSection::Start
            }
            "OBJSENSE" => {
                if let Some(w) = words.next() {
                    self.sense(w)?;
                }
                MpsSection::ObjSense
            }
            "OBJNAME" => {
                self.wanted = words.next().map(|w| (w.to_string(), self.line));
                MpsSection::ObjName
            }
            "ROWS" => MpsSection::Rows,
            "COLUMNS" => MpsSection::Columns,
            "RHS" => MpsSection::Rhs,
            "RANGES" => MpsSection::Ranges,
            "BOUNDS" => MpsSection::Bounds,
            "SOS" | "SETS" => MpsSection::Sets(None),
            "SOS1" => MpsSection::Sets(Some(1)),
            "SOS2" => MpsSection::Sets(Some(2)),
            "INDICATORS" => MpsSection::Indicators,
            "QUADOBJ" => MpsSection::Quadratic(false),
            "QMATRIX" => MpsSection::Quadratic(true),
            "ENDATA" => MpsSection::End,
            "MAX" | "MAXIMIZE" | "MAXIMISE" | "MIN" | "MINIMIZE" | "MINIMISE" => {
                self.sense(word)?;
                MpsSection::ObjSense
            }
            other => match UNSUPPORTED.iter().find(|name| **name == other) {
                Some(name) => MpsSection::Unsupported(name, self.line),
                None => {
                    return Err(format!(
                        "{} is no section; a line of data begins with a blank",
                        shown(word)
                    ));
                }
            },
        })
    }

    fn sense(&mut self, word: &str) -> Result<(), String> {
        let sense = match word.to_ascii_uppercase().as_str() {
            "MAX" | "MAXIMIZE" | "MAXIMISE" | "MAXIMUM" => Sense::Maximise,
            "MIN" | "MINIMIZE" | "MINIMISE" | "MINIMUM" => Sense::Minimise,
            _ => {
                return Err(format!(
                    "objective sense {}: MIN or MAX expected",
                    shown(word)
                ));
            }
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
            other => return Err(format!("row type {}: N, L, G or E expected", shown(other))),
        };
        let reference = if kind == b'N' {
            let wanted = self.wanted.as_ref().is_none_or(|(o, _)| *o == name);
            if self.objective.is_none() && wanted {
                self.objective = Some(name.clone());
                RowRef::Objective
            } else {
                if !self.told_of_dropped {
                    self.told_of_dropped = true;
                    let name = shown(&name);
                    self.remark(format!(
                        "{name} is an N row, but not the objective: it does not count"
                    ));
                }
                RowRef::Dropped
            }
        } else {
            let id = self.builder.add_row(Bounds::FREE, []);
            self.builder.set_row_name(id, name.clone());
            self.rows.push(MpsRow {
                kind,
                rhs: None,
                range: None,
                entered: None,
                line: self.line,
            });
            RowRef::Row(id.index())
        };
        if self.row_names.insert(name.clone(), reference).is_some() {
            return Err(format!("row {} is declared twice", shown(&name)));
        }
        Ok(())
    }

    fn column(&mut self, fields: &[&str]) -> Result<(), String> {
        // The quotes may be missing if no row has that name.
        let marks = fields.get(1).map(|f| f.trim_matches('\''));
        if fields.len() >= 3 && marks == Some("MARKER") && !self.row_names.contains_key(fields[1]) {
            match fields[fields.len() - 1].trim_matches('\'') {
                "INTORG" => self.in_integers = true,
                "INTEND" => self.in_integers = false,
                other => {
                    return Err(format!(
                        "marker {}: INTORG or INTEND expected; other sets of columns are not supported",
                        shown(other)
                    ));
                }
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
                    return Err(format!(
                        "the entries of column {} are not together",
                        shown(name)
                    ));
                }
                self.current = Some((name.to_string(), id));
                id
            }
        };
        for pair in fields[1..].chunks_exact(2) {
            let value = finite(pair[1])?;
            self.held(pair[1], value, || format!("row {}", shown(pair[0])));
            let entered = match self.row_ref(pair[0])? {
                RowRef::Dropped => continue,
                RowRef::Objective => {
                    self.costs[col.index()] = value;
                    &mut self.costed
                }
                RowRef::Row(i) => {
                    self.builder.add_entry(RowId(i as u32), col, value);
                    &mut self.rows[i].entered
                }
            };
            if entered.replace(col) == Some(col) {
                return Err(format!(
                    "column {} has two entries in row {}",
                    shown(name),
                    shown(pair[0])
                ));
            }
        }
        Ok(())
    }

    /// Drops a remark: it starts at a word, not the first, that begins with `$` and is not a name.
    fn drop_remark(&self, fields: &mut Vec<&str>) {
        let is_remark = |word: &&str| {
            let named = self.row_names.contains_key(*word) || self.cols.contains_key(*word);
            word.starts_with('$') && !named
        };
        if let Some(at) = fields.iter().skip(1).position(is_remark) {
            fields.truncate(at + 1);
        }
    }

    /// Returns whether a line belongs to the first set of its section. Other sets are alternatives
    /// and are ignored.
    fn is_of_first_set(&mut self, section: &'static str, set: &str) -> bool {
        let first = self.first_sets.entry(section);
        let first = first.or_insert_with(|| set.to_owned());
        let counts = first == set;
        if !counts && self.other_sets.insert((section, set.to_owned())) {
            let text = format!(
                "the {section} set {:?} is left out: the first one, {:?}, counts",
                shown(set),
                shown(first)
            );
            self.remark(text);
        }
        counts
    }

    fn col_ref(&self, name: &str) -> Result<ColId, String> {
        let col = self.cols.get(name).copied();
        col.ok_or_else(|| format!("column {} was not declared in COLUMNS", shown(name)))
    }

    fn row_ref(&self, name: &str) -> Result<RowRef, String> {
        self.row_names
            .get(name)
            .copied()
            .ok_or_else(|| format!("row {} was not declared in ROWS", shown(name)))
    }

    fn finish(mut self) -> Result<(ModelFile, Vec<Remark>), MpsError> {
        if let Some((name, line)) = self
            .wanted
            .take_if(|(o, _)| self.objective.as_ref() != Some(o))
        {
            let message = format!(
                "OBJNAME is {}, which no N row behind it is called",
                shown(&name)
            );
            return Err(MpsError::Syntax { line, message });
        }
        self.builder.set_offset(self.offset.unwrap_or(0.0));
        for (j, &c) in self.costs.iter().enumerate() {
            self.builder.set_cost(ColId(j as u32), c);
        }
        for (i, row) in self.rows.iter().enumerate() {
            let (id, (b, held)) = (RowId(i as u32), row.bounds());
            let place = || {
                let mut names = self.row_names.iter();
                let name = names.find(|(_, r)| matches!(r, RowRef::Row(k) if *k == i));
                let name = name.map_or(String::new(), |(name, _)| shown(name));
                format!("row {name}")
            };
            if let Some(problem) = no_value(b) {
                return Err(MpsError::Syntax {
                    line: row.line,
                    message: format!("{}: {problem}", place()),
                });
            }
            if !held {
                self.builder.note_rounded(|| RoundedNumber {
                    line: row.line,
                    place: place(),
                    number: "the sum of right-hand side and range".into(),
                });
            }
            self.builder.set_row_bounds(id, b);
        }
        for (j, stated) in self.stated.iter().enumerate() {
            let col = ColId(j as u32);
            if stated.semi {
                self.specials.semicontinuous.push(col);
            }
            if !stated.any && self.builder.is_integer(col) {
                self.builder.set_col_bounds(col, 0.0..=1.0);
            }
        }
        self.take_implications();
        self.specials.quadratic = self.quadratic()?;
        let file = ModelFile {
            model: self.builder.build()?,
            specials: self.specials,
        };
        Ok((file, self.remarks))
    }
}

/// Error message for bounds that are NaN or infinite on the wrong side.
fn no_value(b: Bounds) -> Option<String> {
    let wrong = b.lower.is_nan()
        || b.upper.is_nan()
        || b.lower == f64::INFINITY
        || b.upper == f64::NEG_INFINITY;
    wrong.then(|| format!("the bounds [{}, {}] leave no value", b.lower, b.upper))
}

#[cfg(test)]
mod tests;
