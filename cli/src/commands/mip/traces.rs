//! Traces of a search: its tree, its bounds over time, counts of its components.

use super::incumbents::Incumbents;
use crate::arguments::MipArguments;
use crate::failure::Failure;
use crate::files::Files;
use crate::visible::{shown, visible};
use remat_solver::mip::{
    ComponentRow, Control, Curve, Observer, Progress, SolveResult, Statistics, VbcTree,
};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The requested traces, and the solutions in the order in which they are found.
pub struct Traces {
    incumbents: Arc<Incumbents>,
    curve: Option<(PathBuf, Arc<Curve>)>,
    tree: Option<(PathBuf, Arc<VbcTree>)>,
    statistics: Option<Arc<Statistics>>,
}

impl Traces {
    /// The traces of the arguments; times are from `begun` on.
    pub fn asked(arguments: &MipArguments, begun: Instant) -> Self {
        let a = arguments;
        Traces {
            incumbents: Arc::new(Incumbents::new(begun)),
            curve: a.curve.clone().map(|path| (path, Arc::default())),
            tree: a.vbc.clone().map(|path| (path, Arc::default())),
            statistics: a.statistics.then(Arc::default),
        }
    }

    /// Connects the traces with a search.
    pub fn watch(&self, control: &mut Control) {
        let curve = self
            .curve
            .iter()
            .map(|(_, c)| c.clone() as Arc<dyn Observer>);
        let tree = self
            .tree
            .iter()
            .map(|(_, t)| t.clone() as Arc<dyn Observer>);
        control.observers.push(self.incumbents.clone());
        control.observers.extend(curve.chain(tree));
        control.statistics = self.statistics.clone();
    }

    /// Seconds and objectives of the solutions, in the order in which they were found.
    pub fn incumbents(&self) -> Vec<(f64, f64)> {
        self.incumbents.seen()
    }

    /// Counts of components; `None` unless requested.
    pub fn rows(&self) -> Option<Vec<ComponentRow>> {
        self.statistics.as_ref().map(|statistics| statistics.rows())
    }

    /// Writes the files, and prints the table of counts on standard error.
    ///
    /// # Errors
    /// [`Failure::Write`].
    pub fn write(&self, files: Files, result: &SolveResult) -> Result<Vec<String>, Failure> {
        if let Some(rows) = self.rows() {
            // `--statistics` requests the table, so `--quiet` does not suppress it.
            let _ = std::io::stderr().write_all(visible(&table(&rows)).as_bytes());
        }
        let mut written = Vec::new();
        let mut write = |kind: &str, path: &Path, text: String| {
            files.write(path, &text)?;
            written.push(format!("{kind:<10} {}", shown(path)));
            Ok::<_, Failure>(())
        };
        if let Some((path, curve)) = &self.curve {
            curve.note(&Progress {
                seconds: result.info.seconds,
                nodes: result.info.nodes,
                open: 0,
                lp_iterations: result.info.lp_iterations,
                dual_bound: result.dual_bound,
                objective: result.solution.as_ref().map(|s| s.objective),
            });
            write("curve", path, curve.to_csv())?;
        }
        if let Some((path, tree)) = &self.tree {
            write("tree", path, tree.to_text())?;
        }
        Ok(written)
    }
}

/// Counts as a table.
fn table(rows: &[ComponentRow]) -> String {
    let mut out = format!(
        "{:<12} {:<22} {:>8} {:>9} {:>9} {:>8} {:>12} {:>9} {:>12} {:>9}\n",
        "statistics",
        "part",
        "calls",
        "successes",
        "found",
        "kept",
        "ticks",
        "LP iter",
        "bound by",
        "seconds"
    );
    for row in rows {
        let t = &row.tally;
        let component = format!("{:?}", row.component).to_ascii_lowercase();
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "{component:<12} {:<22} {:>8} {:>9} {:>9} {:>8} {:>12} {:>9} {:>12.6} {:>9.3}",
            row.name,
            t.calls,
            t.successes,
            t.found,
            t.kept,
            t.ticks,
            t.lp_iterations,
            t.bound_change,
            t.seconds
        );
    }
    if rows.is_empty() {
        out += "none: the general search had nothing to do, or the program was recognised (--no-recognise)\n";
    }
    out
}
