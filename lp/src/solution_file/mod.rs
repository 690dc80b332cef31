//! Solution files: one format is written, the formats of most solvers are read.
//!
//! ```text
//! # Model diet
//! # Status optimal
//! # Objective value = 12.5
//! bread 2
//! milk 0.25
//! ```
//!
//! Lines that start with `#` are a header; every other line has a column's name and its value.
//! Columns that are not listed are zero. Names may contain spaces: the value is the last word of
//! the line. A file whose name ends in `.gz` is gzipped.
//!
//! The files of Gurobi (`.sol`, `.mst`) and MIPLIB (`=obj= 12.5`) have this format. The reader also
//! accepts files of SCIP, CBC, HiGHS (not its human-readable table) and CPLEX (`.sol`, `.mst`; the
//! first of several solutions). It recognises them by their beginning.

mod read;
mod xml;

use crate::ids::ColId;
use crate::model::Model;
use crate::text_file::{self, shown};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;

/// The contents of a solution file.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct SolutionFile {
    /// The model's name, possibly empty.
    pub model: String,
    /// Status at the end of the solve (`optimal`, `infeasible`, `feasible`, ...), possibly empty.
    pub status: String,
    /// The objective value, if present.
    pub objective: Option<f64>,
    /// Column names and values; in the model's order if this crate wrote the file.
    pub values: Vec<(String, f64)>,
}

/// Reason for a failure to read or write a solution file or to match it with a model.
#[derive(Debug, thiserror::Error)]
pub enum SolutionFileError {
    /// The file could not be opened, read, unpacked or written.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// Error reported by the system.
        source: std::io::Error,
    },
    /// A line is not valid.
    #[error("{file}, line {line}, at `{token}`: {message}")]
    Syntax {
        /// The file.
        file: String,
        /// Line number, from 1.
        line: usize,
        /// The word at fault.
        token: String,
        /// Description of the mistake and of a correct form.
        message: String,
    },
    /// The file names columns that are not in the model.
    #[error("the model has no {}", columns(.names))]
    UnknownColumns {
        /// Their names, in the order of the file.
        names: Vec<String>,
    },
}

/// Describes columns by the names of the first few.
fn columns(names: &[String]) -> String {
    const NAMED: usize = 3;
    let named: Vec<String> = names
        .iter()
        .take(NAMED)
        .map(|n| format!("`{}`", shown(n)))
        .collect();
    let more = match names.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("column {}{more}", named.join(", "))
}

impl SolutionFile {
    /// A solution of a model: every column with its value.
    ///
    /// # Panics
    /// If `x` is shorter than the number of columns.
    pub fn new(model: &Model, status: impl Into<String>, x: &[f64]) -> Self {
        SolutionFile {
            model: model.name().to_string(),
            status: status.into(),
            objective: Some(model.objective(x)),
            values: (0..model.num_cols())
                .map(|j| (model.col_name(ColId(j as u32)), x[j]))
                .collect(),
        }
    }

    /// The point in a model's column order; columns that are not listed are zero.
    ///
    /// # Errors
    /// [`SolutionFileError::UnknownColumns`].
    pub fn point(&self, model: &Model) -> Result<Vec<f64>, SolutionFileError> {
        let position: HashMap<String, usize> = (0..model.num_cols())
            .map(|j| (model.col_name(ColId(j as u32)), j))
            .collect();
        let mut x = vec![0.0; model.num_cols()];
        let mut names = Vec::new();
        for (name, value) in &self.values {
            match position.get(name) {
                Some(&j) => x[j] = *value,
                None => names.push(name.clone()),
            }
        }
        if names.is_empty() {
            return Ok(x);
        }
        Err(SolutionFileError::UnknownColumns { names })
    }

    /// The text of the file; numbers read back to the same bits.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = self.render(&mut out);
        out
    }

    fn render(&self, out: &mut String) -> std::fmt::Result {
        let line = |s: &str| s.replace(['\n', '\r'], " ");
        writeln!(out, "# Model {}", line(&self.model))?;
        writeln!(out, "# Status {}", line(&self.status))?;
        if let Some(objective) = self.objective {
            writeln!(out, "# Objective value = {objective:?}")?;
        }
        for (name, value) in &self.values {
            writeln!(out, "{} {value:?}", line(name))?;
        }
        Ok(())
    }

    /// Reads text; errors name it `file`.
    ///
    /// ```
    /// use remat_lp::solution_file::SolutionFile;
    /// let s = SolutionFile::parse("# Status optimal\n# Objective value = 3\nx 1\ny 2e0\n", "t").unwrap();
    /// assert_eq!((s.objective, s.values.len()), (Some(3.0), 2));
    /// ```
    ///
    /// # Errors
    /// [`SolutionFileError::Syntax`].
    pub fn parse(text: &str, file: &str) -> Result<Self, SolutionFileError> {
        read::parse(text).map_err(|fault| SolutionFileError::Syntax {
            file: file.to_string(),
            line: fault.line,
            token: shown(fault.token),
            message: fault.message.to_string(),
        })
    }

    /// Reads a file, unpacking it if it starts like a gzip file.
    ///
    /// # Errors
    /// [`SolutionFileError::Io`] or [`SolutionFileError::Syntax`].
    pub fn read(path: impl AsRef<Path>) -> Result<Self, SolutionFileError> {
        let file = path.as_ref().display().to_string();
        let io = |source| SolutionFileError::Io {
            file: file.clone(),
            source,
        };
        let text = text_file::read(path.as_ref()).map_err(io)?;
        Self::parse(&text, &file)
    }

    /// Writes a file, gzipped if its name ends in `.gz`.
    ///
    /// # Errors
    /// [`SolutionFileError::Io`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), SolutionFileError> {
        let path = path.as_ref();
        let io = |source| SolutionFileError::Io {
            file: path.display().to_string(),
            source,
        };
        text_file::write(path, &self.to_text()).map_err(io)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelBuilder, Sense};

    fn model() -> Model {
        let mut b = ModelBuilder::new(Sense::Minimise);
        b.set_name("two words");
        let x = b.add_col(1.0, 0.0..);
        let y = b.add_col(3.0, 0.0..);
        b.set_col_name(x, "a b");
        b.set_col_name(y, "c");
        b.build().unwrap()
    }

    #[test]
    fn what_is_written_reads_back() {
        let m = model();
        let s = SolutionFile::new(&m, "optimal", &[0.1 + 0.2, -1e-300]);
        let back = SolutionFile::parse(&s.to_text(), "t").unwrap();
        assert_eq!(back, s);
        assert_eq!(back.point(&m).unwrap(), [0.1 + 0.2, -1e-300]);
        assert_eq!(back.objective, Some(m.objective(&[0.1 + 0.2, -1e-300])));
    }

    #[test]
    fn mistakes_are_named() {
        let e = SolutionFile::parse("# Status optimal\nx 1\ny one\n", "t.sol").unwrap_err();
        assert_eq!(
            e.to_string(),
            "t.sol, line 3, at `one`: a finite number was expected"
        );
        assert!(SolutionFile::parse("x\n", "t.sol").is_err());
        let s = SolutionFile::parse("z 1\n", "t").unwrap();
        assert!(
            matches!(s.point(&model()), Err(SolutionFileError::UnknownColumns { names }) if names == ["z"])
        );
    }
}
