//! The iteration log of `remat-bb lp` on standard error.

use remat_lp::{Algorithm, Log, LogLine};
use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Least time between two lines of the same method and phase.
const PAUSE: Duration = Duration::from_millis(500);

/// What has been shown last.
#[derive(Default)]
struct Shown {
    header: bool,
    method: Option<(Algorithm, u8)>,
    at: Option<Instant>,
}

/// A log that writes a table; times count from `clock`.
pub fn table(clock: Instant) -> Log {
    let shown = Mutex::new(Shown::default());
    Log::new(move |line| {
        let Ok(mut shown) = shown.lock() else {
            return;
        };
        let method = Some((line.algorithm, line.phase));
        let due = shown.at.is_none_or(|at| at.elapsed() >= PAUSE);
        if !due && shown.method == method && !line.last {
            return;
        }
        let mut text = String::new();
        if !shown.header {
            text += HEADER;
        }
        text += &render(line, clock.elapsed());
        *shown = Shown {
            header: true,
            method,
            at: Some(Instant::now()),
        };
        // A log that cannot be written is no reason to end the solve.
        let _ = std::io::stderr().write_all(text.as_bytes());
    })
}

const HEADER: &str = " iteration  method             objective        primal infeasible          dual infeasible     time\n";

fn render(line: &LogLine, time: Duration) -> String {
    let method = match line.algorithm {
        Algorithm::Primal => "primal",
        _ => "dual",
    };
    format!(
        "{:>10}  {method:<6} {:>1} {:>19.10e}  {:>9} ({:>11.4e})  {:>9} ({:>11.4e}) {:>7.1}s{}\n",
        line.iterations,
        line.phase,
        line.objective,
        line.primal.count,
        line.primal.sum,
        line.dual.count,
        line.dual.sum,
        time.as_secs_f64(),
        if line.last { "  end" } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::Violations;

    #[test]
    fn lines_stand_under_their_header() {
        let line = LogLine {
            algorithm: Algorithm::Dual,
            phase: 2,
            iterations: 1234,
            objective: -464.753142857,
            primal: Violations {
                count: 3,
                sum: 12.5,
            },
            dual: Violations::default(),
            last: false,
        };
        let text = render(&line, Duration::from_millis(1500));
        assert_eq!(text.trim_end().len(), HEADER.trim_end().len(), "{text}");
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>()[..4],
            ["1234", "dual", "2", "-4.6475314286e2"]
        );
        assert!(text.contains("3 (") && text.contains("1.5s"));
    }
}
