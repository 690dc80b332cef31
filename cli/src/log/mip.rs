//! The log of `remat-bb mip`.

use super::{EventFields, LogTable};

/// Meaning of the letters in front of a line.
const LEGEND: &str = "found by: L relaxation, R rounding, D dive, J jump, F fix and propagate, P feasibility pump, N restricted program, \
                      S start, H other heuristic\n";

/// Lines between two headers.
const PAGE: u32 = 40;

/// A line for each look at the search, and for what goes on between them.
#[derive(Default)]
pub struct SearchLog {
    /// True if what goes on between the looks is told, too.
    verbose: bool,
    /// Looks so far.
    looks: u32,
    /// The last line, less its letter.
    last: String,
}

impl LogTable for SearchLog {
    const TARGET: &'static str = "remat_solver::mip";

    fn text(&mut self, event: &EventFields) -> String {
        let number = |name| event.number(name).unwrap_or(f64::NAN);
        match event.name {
            "progress" => self.look(event),
            "file problem" => format!(
                "warning: {}; {}\n",
                event.text("problem").unwrap_or_default(),
                event.text("consequence").unwrap_or_default()
            ),
            "cuts" | "restricted" | "worker" if !self.verbose => String::new(),
            "cuts" => format!(
                "  cuts, round {:>3}: {:>5} new, {:>5} in, objective {:.9}\n",
                event.count("round"),
                event.count("new"),
                event.count("kept"),
                number("objective")
            ),
            "restricted" => format!(
                "  {}: {}, {} ticks of {}, share {:.2}\n",
                event.text("kind").unwrap_or_default(),
                event.text("verdict").unwrap_or_default(),
                event.count("ticks"),
                event.count("ticks_limit"),
                number("share")
            ),
            "worker" => format!(
                "  worker {}: LP iterations {} in {} nodes, {} strong branching, {} dives, {} in all\n",
                event.count("slot"),
                event.count("node_iterations"),
                event.count("node_solves"),
                event.count("strong_iterations"),
                event.count("dive_iterations"),
                event.count("lp_iterations")
            ),
            _ => String::new(),
        }
    }
}

impl SearchLog {
    /// A log of the looks alone, or of everything.
    pub fn new(verbose: bool) -> Self {
        SearchLog {
            verbose,
            ..SearchLog::default()
        }
    }

    fn look(&mut self, event: &EventFields) -> String {
        let header = if self.looks.is_multiple_of(PAGE) {
            format!(
                "{}{:>10} {:>9} {:>11} {:>12} {:>12} {:>8} {:>9} {:>9}\n",
                if self.looks == 0 { LEGEND } else { "" },
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
        self.looks += 1;
        let memory =
            resident_bytes().map_or("-".into(), |b| format!("{:.0} MiB", b as f64 / 1048576.0));
        let found_by = event.text("found_by");
        let line = format!(
            " {:>8} {:>9} {:>11} {:>12} {:>12} {:>8} {:>9} {:>8.1}s\n",
            event.count("nodes"),
            event.count("open"),
            event
                .counted("lp_iterations")
                .map_or("-".into(), |n| n.to_string()),
            short(event.number("bound")),
            short(event.number("objective")),
            percent(event.number("gap")),
            memory,
            event.number("seconds").unwrap_or(f64::NAN)
        );
        // The end says nothing new where the last look was at it.
        if found_by.is_none() && line == self.last {
            return header;
        }
        let letter = found_by.map_or(' ', letter);
        let text = format!("{header}{letter}{line}");
        self.last = line;
        text
    }
}

/// The letter of a finder in the first column of a line.
///
/// `L` relaxation, `R` rounding, `D` dive, `J` jump, `F` fix and propagate, `P` feasibility pump, `N` a neighbourhood of
/// restricted programs, `S` a start, `H` anything else (a heuristic of the domain).
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
        _ => 'H',
    }
}

/// Bytes of the process in memory (Linux), if the system says.
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
    use super::super::tests::text_of;
    use super::*;
    use remat_lp::{ModelBuilder, Sense};
    use remat_solver::mip::{Settings, Solver};

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
    fn a_search_ends_with_its_gap_closed_and_its_workers() {
        let mut b = ModelBuilder::new(Sense::Maximise);
        let x = b.add_col(5.0, 0.0..);
        let y = b.add_col(4.0, 0.0..);
        b.set_integer(x, true);
        b.set_integer(y, true);
        b.add_row(..=24.0, [(x, 6.0), (y, 4.0)]);
        b.add_row(..=6.0, [(x, 1.0), (y, 2.0)]);
        let solver = Solver::new(b.build().unwrap(), Settings::default());
        let text = text_of(SearchLog::new(true), || {
            solver.run().unwrap();
        });
        let lines: Vec<&str> = text.lines().collect();
        let header = lines
            .iter()
            .find(|l| l.starts_with("     nodes      open "));
        let header = header.expect("a header");
        let looks: Vec<&str> = (text.lines())
            .filter(|line| line.contains(" MiB ") || line.contains("% "))
            .collect();
        let last = looks[looks.len() - 1];
        assert_eq!(last.len(), header.len(), "{text}");
        let last: Vec<&str> = last[1..].split_whitespace().collect();
        assert_eq!(last[3..6], ["20.0000", "20.0000", "0.00%"]);
        assert!(text.contains(LEGEND), "{text}");
        // Somebody found it.
        assert!(looks.iter().any(|l| !l.starts_with(' ')), "{text}");
        assert!(lines[lines.len() - 1].starts_with("  worker 0: LP iterations "));
    }
}
