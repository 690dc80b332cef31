//! Writing MPS (free format, shortest decimal numbers that read back to the same bits).

use super::MpsError;
use crate::model::{Model, NewRow, Sense};
use crate::model_file::{Implication, ModelFile, Specials};
use crate::text_file;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

/// Writes a model to a file, gzipped if its name ends in `.gz`.
///
/// # Errors
/// [`MpsError::Io`].
pub fn write(model: &Model, path: impl AsRef<Path>) -> Result<(), MpsError> {
    write_text(&to_string(model), path.as_ref())
}

/// Writes a model with its special parts, gzipped if the file name ends in `.gz`.
///
/// # Errors
/// [`MpsError::Io`]; [`MpsError::Model`] for implications with columns that are not in the model.
pub fn write_all(file: &ModelFile, path: impl AsRef<Path>) -> Result<(), MpsError> {
    write_text(&to_string_all(file)?, path.as_ref())
}

fn write_text(text: &str, path: &Path) -> Result<(), MpsError> {
    let io = |source| MpsError::Io {
        path: path.display().to_string(),
        source,
    };
    text_file::write(path, text).map_err(io)
}

/// The model as the text of a free-format MPS file.
pub fn to_string(model: &Model) -> String {
    text_of(model, &Specials::default())
}

/// A model with its special parts as text. The rows of implications follow the model's rows.
///
/// # Errors
/// [`MpsError::Model`] for implications with columns that are not in the model.
pub fn to_string_all(file: &ModelFile) -> Result<String, MpsError> {
    let ModelFile { model, specials } = file;
    if specials.implications.is_empty() {
        return Ok(text_of(model, specials));
    }
    let mut all = model.clone();
    let row = |i: &Implication| NewRow::new(i.sides, i.entries.iter().copied());
    let rows: Vec<NewRow> = specials.implications.iter().map(row).collect();
    let base = all.append_rows(&rows)?;
    all.row_names.resize(all.num_rows(), String::new());
    for (k, implication) in specials.implications.iter().enumerate() {
        all.row_names[base + k].clone_from(&implication.name);
    }
    Ok(text_of(&all, specials))
}

fn text_of(model: &Model, specials: &Specials) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = render(model, specials, &mut out);
    out
}

/// Writes a model whose last rows belong to the implications.
fn render(model: &Model, specials: &Specials, out: &mut String) -> std::fmt::Result {
    let (cols, rows) =
        text_file::names(model, |n| !n.is_empty() && !n.contains(char::is_whitespace));
    let objective = (0..)
        .map(|k| format!("obj{k}"))
        .find(|n| !rows.contains(n))
        .unwrap_or_default();
    let fresh = |name: &String| {
        (0..)
            .map(|k| format!("{name}_upper{k}"))
            .find(|n| !rows.contains(n) && *n != objective)
    };
    let second: BTreeMap<usize, String> = (0..rows.len())
        .filter(|&i| model.row_lower[i] > model.row_upper[i])
        .filter_map(|i| Some((i, fresh(&rows[i])?)))
        .collect();
    let sections = Sections {
        model,
        specials,
        cols,
        rows,
        objective,
        second,
    };
    sections.head(out)?;
    sections.rows(out)?;
    sections.columns(out)?;
    sections.sides(out)?;
    sections.bounds(out)?;
    sections.quadratic(out)?;
    sections.indicators(out)?;
    sections.ordered_sets(out)?;
    writeln!(out, "ENDATA")
}

/// The sections of a file.
struct Sections<'a> {
    model: &'a Model,
    specials: &'a Specials,
    /// Names of columns and rows.
    cols: Vec<String>,
    rows: Vec<String>,
    /// Name of the objective.
    objective: String,
    /// Names of second rows, with the upper sides of rows whose sides cross and so cannot form a
    /// range.
    second: BTreeMap<usize, String>,
}

impl Sections<'_> {
    fn row_sides(&self, i: usize) -> (f64, f64) {
        (self.model.row_lower[i], self.model.row_upper[i])
    }

    fn head(&self, out: &mut String) -> std::fmt::Result {
        let name = &self.model.name;
        // Without FREE, CBC takes a line for fixed format if its spaces happen to be in the right
        // columns. Without a model name before it, FREE would be read as the name.
        let format = if name.is_empty() { "" } else { " FREE" };
        writeln!(out, "NAME {name}{format}")?;
        match self.model.sense {
            Sense::Maximise => writeln!(out, "OBJSENSE\n    MAX"),
            Sense::Minimise => Ok(()),
        }
    }

    fn rows(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "ROWS\n N {}", self.objective)?;
        for (i, name) in self.rows.iter().enumerate() {
            let (l, u) = self.row_sides(i);
            let kind = match (l == f64::NEG_INFINITY, u == f64::INFINITY) {
                _ if l == u => 'E',
                (true, _) => 'L',
                (false, _) => 'G',
            };
            writeln!(out, " {kind} {name}")?;
        }
        for name in self.second.values() {
            writeln!(out, " L {name}")?;
        }
        Ok(())
    }

    fn columns(&self, out: &mut String) -> std::fmt::Result {
        let (model, objective) = (self.model, &self.objective);
        writeln!(out, "COLUMNS")?;
        let mut in_integers = false;
        for (j, name) in self.cols.iter().enumerate() {
            if model.integer[j] != in_integers {
                in_integers = model.integer[j];
                let marker = if in_integers { "INTORG" } else { "INTEND" };
                writeln!(out, " M{j} 'MARKER' '{marker}'")?;
            }
            let cost = model.cost[j];
            if cost != 0.0 || model.col_slices(j).0.is_empty() {
                writeln!(out, " {name} {objective} {cost:e}")?;
            }
            for (i, v) in model.col_entries(j) {
                writeln!(out, " {name} {} {v:e}", self.rows[i])?;
                if let Some(row) = self.second.get(&i) {
                    writeln!(out, " {name} {row} {v:e}")?;
                }
            }
        }
        match in_integers {
            true => writeln!(out, " M 'MARKER' 'INTEND'"),
            false => Ok(()),
        }
    }

    /// Right-hand sides and ranges.
    fn sides(&self, out: &mut String) -> std::fmt::Result {
        writeln!(out, "RHS")?;
        if self.model.offset != 0.0 {
            writeln!(out, " RHS {} {:e}", self.objective, -self.model.offset)?;
        }
        for (i, name) in self.rows.iter().enumerate() {
            let (l, u) = self.row_sides(i);
            let rhs = if l == f64::NEG_INFINITY { u } else { l };
            if rhs == f64::INFINITY {
                // A free row has no right-hand side; it is written as an L row with infinity.
                writeln!(out, " RHS {name} 1e30")?;
            } else if rhs != 0.0 {
                writeln!(out, " RHS {name} {rhs:e}")?;
            }
        }
        for (&i, row) in &self.second {
            writeln!(out, " RHS {row} {:e}", self.model.row_upper[i])?;
        }
        writeln!(out, "RANGES")?;
        for (i, name) in self.rows.iter().enumerate() {
            let (l, u) = self.row_sides(i);
            if l.is_finite() && u.is_finite() && l < u {
                writeln!(out, " RNG {name} {:e}", u - l)?;
            }
        }
        Ok(())
    }

    fn bounds(&self, out: &mut String) -> std::fmt::Result {
        let mut is_semi = vec![false; self.cols.len()];
        for col in &self.specials.semicontinuous {
            is_semi[col.index()] = true;
        }
        writeln!(out, "BOUNDS")?;
        for (j, is_semi) in is_semi.into_iter().enumerate() {
            match is_semi {
                true => self.semicontinuous_bounds(j, out)?,
                false => self.col_bounds(j, out)?,
            }
        }
        Ok(())
    }

    fn semicontinuous_bounds(&self, j: usize, out: &mut String) -> std::fmt::Result {
        let (model, name) = (self.model, &self.cols[j]);
        let (l, u) = (model.col_lower[j], model.col_upper[j]);
        match l == f64::NEG_INFINITY {
            true => writeln!(out, " MI BND {name}")?,
            false => writeln!(out, " LO BND {name} {l:e}")?,
        }
        let kind = if model.integer[j] { "SI" } else { "SC" };
        let upper = if u.is_finite() { u } else { 1e30 };
        writeln!(out, " {kind} BND {name} {upper:e}")
    }

    fn col_bounds(&self, j: usize, out: &mut String) -> std::fmt::Result {
        let (model, name) = (self.model, &self.cols[j]);
        let (l, u) = (model.col_lower[j], model.col_upper[j]);
        if l == f64::NEG_INFINITY && u == f64::INFINITY {
            return writeln!(out, " FR BND {name}");
        }
        if l == u {
            return writeln!(out, " FX BND {name} {l:e}");
        }
        if l == f64::NEG_INFINITY {
            writeln!(out, " MI BND {name}")?;
        } else if l != 0.0 || u < 0.0 {
            writeln!(out, " LO BND {name} {l:e}")?;
        }
        if u.is_finite() {
            writeln!(out, " UP BND {name} {u:e}")?;
        } else if model.integer[j] {
            writeln!(out, " PL BND {name}")?;
        }
        Ok(())
    }

    /// One triangle of the matrix of a quadratic objective.
    fn quadratic(&self, out: &mut String) -> std::fmt::Result {
        let mut header = "QUADOBJ\n";
        let products = self.specials.quadratic.iter().flat_map(|q| q.products());
        for (a, b, factor) in products {
            let entry = if a == b { 2.0 * factor } else { factor };
            let (a, b) = (&self.cols[a.index()], &self.cols[b.index()]);
            writeln!(out, "{} {a} {b} {entry:e}", std::mem::take(&mut header))?;
        }
        Ok(())
    }

    fn indicators(&self, out: &mut String) -> std::fmt::Result {
        let implications = &self.specials.implications;
        let mut header = "INDICATORS\n";
        let first = self.rows.len() - implications.len();
        for (name, implication) in self.rows[first..].iter().zip(implications) {
            let col = &self.cols[implication.col.index()];
            let (value, header) = (u8::from(implication.value), std::mem::take(&mut header));
            writeln!(out, "{header} IF {name} {col} {value}")?;
        }
        Ok(())
    }

    fn ordered_sets(&self, out: &mut String) -> std::fmt::Result {
        let mut header = "SOS\n";
        for (k, set) in self.specials.sets.iter().enumerate() {
            let header = std::mem::take(&mut header);
            writeln!(out, "{header} S{} SOS s{k}", set.width)?;
            for (col, weight) in &set.members {
                writeln!(out, "    SOS {} {weight:e}", self.cols[col.index()])?;
            }
        }
        Ok(())
    }
}
