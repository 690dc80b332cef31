//! A sequence of solves as a text file, so that another solver can replay it: bounds, costs, rows, columns in the order
//! in which they came. The format is that of the `replay` example of the LP crate.

use remat_lp::{Model, NewCol, NewRow, RowId};
use std::fs::File;
use std::io::{BufWriter, Result, Write};

/// Writes events to a file, or nowhere.
pub struct Recorder(Option<BufWriter<File>>);

impl Recorder {
    /// A recorder into `path`, if there is one.
    pub fn new(path: Option<&str>) -> Result<Self> {
        Ok(Recorder(
            path.map(File::create).transpose()?.map(BufWriter::new),
        ))
    }

    /// The program before the first solve.
    pub fn model(&mut self, model: &Model) -> Result<()> {
        let Some(out) = &mut self.0 else {
            return Ok(());
        };
        writeln!(out, "C {}", model.num_cols())?;
        for j in 0..model.num_cols() {
            writeln!(
                out,
                "{} {} {}",
                model.col_lower()[j],
                model.col_upper()[j],
                model.costs()[j]
            )?;
        }
        for r in 0..model.num_rows() {
            let row = RowId(r as u32);
            let entries = model.row(row).map(|(c, v)| (c.0, v));
            line(out, "R", model.row_bounds(row), entries.collect())?;
        }
        Ok(())
    }

    /// Rows that were added.
    pub fn rows(&mut self, rows: &[NewRow]) -> Result<()> {
        let Some(out) = &mut self.0 else {
            return Ok(());
        };
        for row in rows {
            line(
                out,
                "R",
                row.bounds,
                row.entries.iter().map(|&(c, v)| (c.0, v)).collect(),
            )?;
        }
        Ok(())
    }

    /// Columns that were added.
    pub fn cols(&mut self, cols: &[NewCol]) -> Result<()> {
        let Some(out) = &mut self.0 else {
            return Ok(());
        };
        for col in cols {
            let entries = col.entries.iter().map(|&(r, v)| (r.0, v)).collect();
            line(out, &format!("A {}", col.cost), col.bounds, entries)?;
        }
        Ok(())
    }

    /// A solve and what it gave; `objective` without the model's offset.
    pub fn solve(&mut self, objective: f64, seconds: f64, iterations: u64) -> Result<()> {
        let Some(out) = &mut self.0 else {
            return Ok(());
        };
        writeln!(out, "S {objective} {seconds} {iterations}")
    }
}

fn line(
    out: &mut impl Write,
    head: &str,
    bounds: remat_lp::Bounds,
    entries: Vec<(u32, f64)>,
) -> Result<()> {
    write!(
        out,
        "{head} {} {} {}",
        bounds.lower,
        bounds.upper,
        entries.len()
    )?;
    for (index, value) in entries {
        write!(out, " {index} {value}")?;
    }
    writeln!(out)
}
