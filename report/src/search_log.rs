//! The log of a search over a linear or integer program: a head, a table, an end. The command line,
//! Python's modelling libraries and C show the same text.

use crate::text::{counted, number};
use std::fmt::Write;

/// Meaning of the letters in front of a row.
const LEGEND: &str = "found by: L relaxation, R rounding, D dive, J jump, F fix and propagate, P feasibility pump, \
                      N restricted program, S start, H other heuristic, * unnamed\n";

/// Rows between two headers.
const PAGE: u32 = 40;

/// The program that is solved, and its settings.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// Name of the model; may be empty.
    pub name: String,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
    /// Number of integer columns.
    pub integers: usize,
    /// Number of nonzero coefficients.
    pub nonzeros: usize,
    /// Settings that differ from their defaults: names and values.
    pub settings: Vec<(String, String)>,
}

impl Head {
    /// Two or three lines: the version, the size, and the settings that differ.
    ///
    /// ```
    /// let head = remat_report::search_log::Head {
    ///     name: "knapsack".into(),
    ///     rows: 1,
    ///     columns: 14,
    ///     integers: 14,
    ///     nonzeros: 14,
    ///     settings: vec![("threads".into(), "2".into())],
    /// };
    /// let text = head.text();
    /// assert!(text.contains("knapsack: 1 row, 14 columns (14 integer), 14 nonzeros\n"));
    /// assert!(text.ends_with("settings: threads = 2\n"));
    /// ```
    pub fn text(&self) -> String {
        let name = match self.name.is_empty() {
            true => "model",
            false => &self.name,
        };
        let mut text = format!(
            "remat-bb {}\n{}: {}, {} ({} integer), {}\n",
            crate::results::VERSION,
            remat_instances::name::visible(name),
            counted(self.rows as u64, "row"),
            counted(self.columns as u64, "column"),
            self.integers,
            counted(self.nonzeros as u64, "nonzero")
        );
        let settings = self
            .settings
            .iter()
            .map(|(name, value)| format!("{name} = {value}"));
        let settings: Vec<String> = settings.collect();
        if !settings.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "settings: {}", settings.join(", "));
        }
        text
    }
}

/// A snapshot of a search. Values that are unknown or infinite are shown as `-`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snapshot<'a> {
    /// Nodes done.
    pub nodes: u64,
    /// Open nodes.
    pub open: u64,
    /// Simplex iterations.
    pub lp_iterations: Option<u64>,
    /// Bound on the objective of every solution.
    pub bound: Option<f64>,
    /// Objective of the best solution.
    pub objective: Option<f64>,
    /// Relative gap of both, a fraction.
    pub gap: Option<f64>,
    /// Seconds since the start.
    pub seconds: f64,
    /// The part of the solver that has found a new best solution, if this row reports one.
    pub found_by: Option<&'a str>,
}

/// The rows of a search, with a header every forty rows.
#[derive(Debug, Default)]
pub struct SearchTable {
    rows: u32,
    /// The last row, less its letter.
    last: String,
    /// Objective in the last row.
    best: Option<f64>,
}

impl SearchTable {
    /// Returns whether an objective is another one than that of the last row.
    pub fn is_news(&self, objective: Option<f64>) -> bool {
        objective.is_some() && objective != self.best
    }

    /// The row of a snapshot without a finder, marked if its objective is news.
    pub fn marked_row(&mut self, snapshot: &Snapshot<'_>) -> String {
        let is_news = self.is_news(snapshot.objective);
        self.row(&Snapshot {
            found_by: is_news.then_some(""),
            ..*snapshot
        })
    }

    /// The row of a snapshot, with a header where one is due; empty if the last row says the same.
    pub fn row(&mut self, snapshot: &Snapshot<'_>) -> String {
        let header = if self.rows.is_multiple_of(PAGE) {
            format!(
                "{}{:>10} {:>9} {:>11} {:>12} {:>12} {:>8} {:>9} {:>9}\n",
                if self.rows == 0 { LEGEND } else { "" },
                "nodes",
                "open",
                "LP iter",
                "bound",
                "best",
                "gap",
                "memory",
                "time"
            )
        } else {
            String::new()
        };
        self.rows += 1;
        self.best = snapshot.objective;
        let memory =
            resident_bytes().map_or("-".into(), |b| format!("{:.0} MiB", b as f64 / 1048576.0));
        let iterations = snapshot.lp_iterations;
        let line = format!(
            " {:>8} {:>9} {:>11} {:>12} {:>12} {:>8} {:>9} {:>8.1}s\n",
            snapshot.nodes,
            snapshot.open,
            iterations.map_or("-".into(), |n| n.to_string()),
            short(snapshot.bound),
            short(snapshot.objective),
            percent(snapshot.gap),
            memory,
            snapshot.seconds
        );
        if snapshot.found_by.is_none() && line == self.last {
            return header;
        }
        let text = format!("{header}{}{line}", snapshot.found_by.map_or(' ', letter));
        self.last = line;
        text
    }
}

/// The end of a search.
#[derive(Clone, Debug, Default)]
pub struct Ending<'a> {
    /// The status in words.
    pub status: &'a str,
    /// Objective of the best solution.
    pub objective: Option<f64>,
    /// Bound on the objective of every solution.
    pub bound: Option<f64>,
    /// Relative gap of both, a fraction.
    pub gap: Option<f64>,
    /// Nodes done.
    pub nodes: u64,
    /// Simplex iterations.
    pub lp_iterations: u64,
    /// Seconds since the start.
    pub seconds: f64,
}

impl Ending<'_> {
    /// The final report in one line.
    ///
    /// ```
    /// let ending = remat_report::search_log::Ending {
    ///     status: "optimal",
    ///     objective: Some(92.0),
    ///     bound: Some(92.0),
    ///     gap: Some(0.0),
    ///     ..Default::default()
    /// };
    /// assert!(ending.text().starts_with("optimal: objective 92, bound 92, gap 0.00%, "));
    /// ```
    pub fn text(&self) -> String {
        let finite = |v: Option<f64>| v.filter(|v| v.is_finite());
        let mut clauses = match self.objective {
            Some(objective) => vec![format!("objective {}", number(objective))],
            None => vec!["no solution".into()],
        };
        clauses.extend(finite(self.bound).map(|bound| format!("bound {}", number(bound))));
        if self.objective.is_some() {
            clauses.extend(finite(self.gap).map(|gap| format!("gap {}", percent(Some(gap)))));
        }
        clauses.push(counted(self.nodes, "node"));
        clauses.push(counted(self.lp_iterations, "LP iteration"));
        format!(
            "{}: {}, {:.2} s\n",
            self.status,
            clauses.join(", "),
            self.seconds
        )
    }
}

/// The letter of a finder in the first column of a row.
fn letter(found_by: &str) -> char {
    match found_by {
        "relaxation" => 'L',
        "rounding" => 'R',
        "dive" => 'D',
        "jump" => 'J',
        "fixing" => 'F',
        "pump" => 'P',
        "RINS" | "RENS" | "mutation" => 'N',
        "start" => 'S',
        "" => '*',
        _ => 'H',
    }
}

/// Bytes of the process in memory (Linux), if the system reports them.
fn resident_bytes() -> Option<u64> {
    let pages = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = pages.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

/// A gap in per cent.
fn percent(gap: Option<f64>) -> String {
    match gap.map(|g| 100.0 * g) {
        Some(percent) if percent < 999.995 => format!("{percent:.2}%"),
        Some(_) => "large".into(),
        None => "-".into(),
    }
}

/// A number in at most twelve places.
fn short(v: Option<f64>) -> String {
    let Some(v) = v.filter(|v| v.is_finite()) else {
        return "-".into();
    };
    let plain = format!("{v:.4}");
    if plain.len() <= 12 {
        plain
    } else {
        format!("{v:.5e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_columns() {
        for v in [0.0, -1234567.25, 1e15, 123456789012.0, -1e-9, f64::INFINITY] {
            assert!(short(Some(v)).len() <= 12, "{}", short(Some(v)));
        }
        assert_eq!(short(None), "-");
        assert_eq!(percent(Some(0.01)), "1.00%");
        assert_eq!(percent(Some(0.0)), "0.00%");
        assert_eq!(percent(Some(10.0)), "large");
        assert_eq!(percent(None), "-");
        assert_eq!(letter("RINS"), 'N');
    }

    #[test]
    fn a_row_has_its_letter_and_an_equal_one_is_left_out() {
        let mut table = SearchTable::default();
        let found = Snapshot {
            objective: Some(3.0),
            found_by: Some("dive"),
            ..Snapshot::default()
        };
        let first = table.row(&found);
        let lines: Vec<&str> = first.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(format!("{}\n", lines[0]), LEGEND);
        assert!(lines[2].starts_with('D'));
        assert_eq!(lines[2].len(), lines[1].len());
        let same = Snapshot {
            found_by: None,
            ..found
        };
        assert!(table.is_news(Some(4.0)) && !table.is_news(Some(3.0)) && !table.is_news(None));
        // The memory may have changed.
        let next = table.row(&same);
        assert!(next.is_empty() || next.starts_with(' '));
    }
}
