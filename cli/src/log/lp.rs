//! The iteration log of `remat-bb lp`.

use super::{EventFields, LogTable};
use std::time::{Duration, Instant};

/// Least time between two lines of the same method and phase.
const PAUSE: Duration = Duration::from_millis(500);

const HEADER: &str = " iteration  method             objective        primal infeasible          dual infeasible     time\n";

/// A line for the states of the simplex method at some of its rebuilds, and for every iteration of
/// the barrier method, which has relative residuals where the simplex method has sums of
/// infeasibilities.
pub struct SimplexLog {
    start: Instant,
    header: bool,
    /// Method and phase of the last line.
    method: Option<(String, u64)>,
    at: Option<Instant>,
}

impl SimplexLog {
    /// A table whose times count from `start`.
    pub fn new(start: Instant) -> Self {
        SimplexLog {
            start,
            header: false,
            method: None,
            at: None,
        }
    }
}

impl LogTable for SimplexLog {
    const TARGET: &'static str = "remat_lp";

    fn text(&mut self, event: &EventFields) -> String {
        if event.name != "simplex" && event.name != "barrier" {
            return String::new();
        }
        let algorithm = event.text("algorithm").unwrap_or_default();
        let method = Some((algorithm.to_owned(), event.count("phase")));
        // Iterations of the barrier method are few and dear: each has its line.
        let due = event.name == "barrier" || self.at.is_none_or(|at| at.elapsed() >= PAUSE);
        if !due && self.method == method && !event.flag("last") {
            return String::new();
        }
        let header = if self.header { "" } else { HEADER };
        self.header = true;
        self.method = method;
        self.at = Some(Instant::now());
        header.to_owned() + &line(event, self.start.elapsed())
    }
}

fn line(event: &EventFields, time: Duration) -> String {
    let number = |name| event.number(name).unwrap_or(f64::NAN);
    if event.name == "barrier" {
        return format!(
            "{:>10}  {:<8} {:>19.10e}  {:>9} ({:>11.4e})  {:>9} ({:>11.4e}) {:>7.1}s\n",
            event.count("iterations"),
            "barrier",
            number("objective"),
            "",
            number("primal_residual"),
            "",
            number("dual_residual"),
            time.as_secs_f64(),
        );
    }
    format!(
        "{:>10}  {:<6} {:>1} {:>19.10e}  {:>9} ({:>11.4e})  {:>9} ({:>11.4e}) {:>7.1}s{}\n",
        event.count("iterations"),
        event.text("algorithm").unwrap_or_default(),
        event.count("phase"),
        number("objective"),
        event.count("primal_count"),
        number("primal_sum"),
        event.count("dual_count"),
        number("dual_sum"),
        time.as_secs_f64(),
        if event.flag("last") { "  end" } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::super::tests::text_of;
    use super::*;
    use remat_lp::{ModelBuilder, Sense, Settings, Solver};

    fn program() -> remat_lp::Model {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(1.0, 0.0..);
        let y = b.add_col(1.0, 0.0..);
        b.add_row(2.0.., [(x, 1.0), (y, 2.0)]);
        b.add_row(2.0.., [(x, 2.0), (y, 1.0)]);
        b.build().unwrap()
    }

    #[test]
    fn each_iteration_of_the_barrier_method_has_a_line() {
        let settings = Settings {
            algorithm: remat_lp::Algorithm::Barrier,
            ..Settings::default()
        };
        let mut solver = Solver::new(program(), settings);
        let text = text_of(SimplexLog::new(Instant::now()), || {
            solver.solve();
        });
        let lines: Vec<&str> = text.lines().collect();
        let barrier = lines.iter().filter(|l| l.contains("  barrier "));
        assert_eq!(barrier.count() as u64, solver.stats().barrier + 1);
        assert_eq!(lines[1].len(), lines[0].len(), "{text}");
        assert_eq!(text.matches("end").count(), 1);
    }

    #[test]
    fn lines_stand_under_their_header() {
        let mut solver = Solver::new(program(), Settings::default());
        let text = text_of(SimplexLog::new(Instant::now()), || {
            solver.solve();
        });
        let (header, lines) = text.split_once('\n').unwrap();
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(format!("{header}\n"), HEADER);
        assert_eq!(lines[0].len(), header.len(), "{text}");
        let words =
            |line: &str| -> Vec<String> { line.split_whitespace().map(str::to_owned).collect() };
        let first = words(lines[0]);
        assert_eq!(first[..4], ["0", "dual", "2", "0.0000000000e0"]);
        assert_eq!(first[4..7], ["2", "(", "4.0000e0)"]);
        let last = words(lines[lines.len() - 1]);
        assert_eq!(last[3], "1.3333333333e0");
        assert_eq!(last[last.len() - 1], "end");
        assert_eq!(text.matches("end").count(), 1);
    }
}
