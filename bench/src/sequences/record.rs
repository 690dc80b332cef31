//! A sequence of solves as a text file, so that another solver can replay it: bounds, costs, rows,
//! columns in the order in which they came. The format is that of the `replay` example of the LP
//! crate.

use crate::clock::Stopwatch;
use remat_lp::{Model, NewRow, RowId};
use std::fs::File;
use std::io::{BufWriter, Result, Write};

/// Writes events to a file, or nowhere. Times are those of the processor, from the last change to
/// the end of the solve, so that a busy machine does not distort them.
pub struct Recorder {
    out: Option<BufWriter<File>>,
    start: Stopwatch,
    #[cfg(feature = "highs")]
    follower: Option<super::follow::Follower>,
}

impl Recorder {
    /// A recorder into `path`, if there is one.
    pub fn new(path: Option<&str>) -> Result<Self> {
        let file = path.map(File::create).transpose()?;
        Ok(Recorder {
            out: file.map(BufWriter::new),
            start: Stopwatch::start(),
            #[cfg(feature = "highs")]
            follower: None,
        })
    }

    /// Lets HiGHS solve the same sequence, where it is built in.
    #[cfg_attr(not(feature = "highs"), allow(unused_mut))]
    pub fn follow(mut self) -> Self {
        #[cfg(feature = "highs")]
        {
            self.follower = Some(super::follow::Follower::new());
        }
        self
    }

    /// What HiGHS took, if it followed.
    pub fn summary(&self) -> Option<String> {
        #[cfg(feature = "highs")]
        let text = self.follower.as_ref().map(|f| f.summary());
        #[cfg(not(feature = "highs"))]
        let text = None;
        text
    }

    /// The program before the first solve.
    pub fn model(&mut self, model: &Model) -> Result<()> {
        #[cfg(feature = "highs")]
        if let Some(f) = &self.follower {
            f.model(model);
        }
        let Some(out) = &mut self.out else {
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
        #[cfg(feature = "highs")]
        if let Some(f) = &self.follower {
            f.rows(rows);
        }
        let Some(out) = &mut self.out else {
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
        self.start = Stopwatch::start();
        Ok(())
    }

    /// A solve and what it gave; `objective` without the model's offset, `seconds` of the solve
    /// alone (not recorded).
    pub fn solve(&mut self, objective: f64, seconds: f64, iterations: u64) -> Result<()> {
        let used = self.start.seconds();
        #[cfg(feature = "highs")]
        if let Some(f) = &self.follower {
            f.solve(objective, seconds, iterations);
        }
        #[cfg(not(feature = "highs"))]
        let _ = seconds;
        self.start = Stopwatch::start();
        let Some(out) = &mut self.out else {
            return Ok(());
        };
        writeln!(out, "S {objective} {used} {iterations}")
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

/// Prints what HiGHS took once the sequence is over.
impl Drop for Recorder {
    fn drop(&mut self) {
        if let Some(text) = self.summary() {
            println!("{text}");
        }
    }
}
