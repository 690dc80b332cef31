//! The table of progress lines on standard error.

use super::Search;
use crate::mip::control::Progress;

/// Longest silence between two lines, in seconds.
const SILENCE_SECONDS: f64 = 5.0;

/// Lines between two headers.
const PAGE: u32 = 40;

/// The letter of a finder in the first column of a line.
///
/// `L` relaxation, `R` rounding, `D` dive, `J` jump, `P` feasibility pump, `N` a neighbourhood of restricted programs,
/// `S` a start, `C` a checkpoint, `H` anything else (a heuristic of the domain).
pub(crate) fn letter(found_by: &str) -> char {
    match found_by {
        "relaxation" => 'L',
        "rounding" => 'R',
        "dive" => 'D',
        "jump" => 'J',
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

/// Relative gap in per cent, as text.
fn gap_text(objective: Option<f64>, bound: f64) -> String {
    match objective {
        Some(v) if v == bound => "0.00%".into(),
        Some(v) if bound.is_finite() => {
            let gap = 100.0 * (v - bound).abs() / v.abs().max(1e-10);
            if gap < 999.995 {
                format!("{gap:.2}%")
            } else {
                "large".into()
            }
        }
        _ => "-".into(),
    }
}

/// A number in at most twelve places.
fn short(v: f64) -> String {
    let plain = format!("{v:.4}");
    if !v.is_finite() {
        "-".into()
    } else if plain.len() <= 12 {
        plain
    } else {
        format!("{v:.5e}")
    }
}

impl Search {
    /// What observers and lines see.
    pub fn progress(&self) -> Progress {
        Progress {
            seconds: self.seconds(),
            nodes: self.info.nodes,
            open: self.open_nodes(),
            lp_iterations: self.iterations(),
            dual_bound: self.sense.sign() * self.bound(),
            objective: (self.shared.incumbent.as_ref()).map(|i| self.sense.sign() * i.objective),
        }
    }

    pub(super) fn line_if_due(&mut self) {
        let p = self.progress();
        for o in &self.control.observers {
            if !o.progress(&p) {
                self.shared
                    .stop
                    .store(true, std::sync::atomic::Ordering::Relaxed);
            }
        }
        if self.seconds() > self.last_line + SILENCE_SECONDS {
            self.line(' ');
        }
    }

    /// One line; `mark` is the letter of who found a new best solution.
    pub(super) fn line(&mut self, mark: char) {
        if !self.shared.settings.log {
            return;
        }
        if self.lines.is_multiple_of(PAGE) {
            eprintln!(
                "{:>10} {:>9} {:>11} {:>12} {:>12} {:>8} {:>9} {:>9}",
                "nodes", "open", "LP iter", "bound", "best", "gap", "memory", "time"
            );
        }
        self.lines += 1;
        let p = self.progress();
        self.last_line = p.seconds;
        let memory =
            resident_bytes().map_or("-".into(), |b| format!("{:.0} MiB", b as f64 / 1048576.0));
        eprintln!(
            "{mark} {:>8} {:>9} {:>11} {:>12} {:>12} {:>8} {:>9} {:>8.1}s",
            p.nodes,
            p.open,
            p.lp_iterations,
            short(p.dual_bound),
            short(p.objective.unwrap_or(f64::NAN)),
            gap_text(p.objective, p.dual_bound),
            memory,
            p.seconds
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fit_their_columns() {
        for v in [0.0, -1234567.25, 1e15, 123456789012.0, -1e-9, f64::INFINITY] {
            assert!(short(v).len() <= 12, "{}", short(v));
        }
        assert_eq!(gap_text(Some(100.0), 99.0), "1.00%");
        assert_eq!(gap_text(Some(0.0), 0.0), "0.00%");
        assert_eq!(gap_text(None, 3.0), "-");
        assert_eq!(letter("RINS"), 'N');
    }
}
