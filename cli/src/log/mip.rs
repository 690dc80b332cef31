//! The log of `remat-bb mip`.

use super::{EventFields, LogTable};
use remat_report::search_log::{SearchTable, Snapshot};

/// A line for each look at the search, and for what goes on between them.
#[derive(Default)]
pub struct SearchLog {
    /// True if what goes on between the looks is told, too.
    verbose: bool,
    table: SearchTable,
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
        self.table.row(&Snapshot {
            nodes: event.count("nodes"),
            open: event.count("open"),
            lp_iterations: event.counted("lp_iterations"),
            bound: event.number("bound"),
            objective: event.number("objective"),
            gap: event.number("gap"),
            seconds: event.number("seconds").unwrap_or(f64::NAN),
            found_by: event.text("found_by"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::text_of;
    use super::*;
    use remat_lp::{ModelBuilder, Sense};
    use remat_solver::mip::{Settings, Solver};

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
        assert!(text.starts_with("found by: L relaxation"), "{text}");
        // Somebody found it.
        assert!(looks.iter().any(|l| !l.starts_with(' ')), "{text}");
        assert!(lines[lines.len() - 1].starts_with("  worker 0: LP iterations "));
    }
}
