//! Bound and objective over time, as CSV.

use crate::mip::control::{Observer, Progress};
use std::fmt::Write as _;
use std::sync::{Mutex, PoisonError};

/// Longest time between two lines during the search, in seconds.
const SILENCE_SECONDS: f64 = 1.0;

/// Bound and objective over time: a line for every change of either, and one per second otherwise.
///
/// ```
/// use remat_lp::{ModelBuilder, Sense};
/// use remat_solver::mip::{Control, Curve, Settings, Solver};
/// use std::sync::Arc;
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let cols: Vec<_> = (0..9).map(|k| b.add_col(7.0 + f64::from(k % 4), 0.0..=1.0)).collect();
/// cols.iter().for_each(|&c| b.set_integer(c, true));
/// b.add_row(..=21.0, cols.iter().map(|&c| (c, 4.0 + f64::from(c.0 * 7 % 5))));
/// let curve = Arc::new(Curve::default());
/// let control = Control { observers: vec![curve.clone()], ..Control::default() };
/// Solver::new(b.build()?, Settings::default()).with_control(control).run()?;
/// assert!(curve.to_csv().starts_with("seconds,nodes,bound,objective\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Curve(Mutex<Lines>);

#[derive(Debug, Default)]
struct Lines {
    text: String,
    last: Option<Progress>,
}

impl Lines {
    fn push(&mut self, p: &Progress) {
        let finite = |v: f64| match v.is_finite() {
            true => v.to_string(),
            false => String::new(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            self.text,
            "{:.3},{},{},{}",
            p.seconds,
            p.nodes,
            finite(p.dual_bound),
            p.objective.map(finite).unwrap_or_default()
        );
        self.last = Some(*p);
    }
}

impl Curve {
    /// All lines: seconds since the start, nodes done, bound and objective in the model's sense;
    /// unknown values are empty.
    pub fn to_csv(&self) -> String {
        let lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        format!("seconds,nodes,bound,objective\n{}", lines.text)
    }

    /// Adds a line if a value changed or a second has passed; also for the end of a search.
    pub fn note(&self, progress: &Progress) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = lines.last.is_none_or(|last| {
            (last.dual_bound, last.objective) != (progress.dual_bound, progress.objective)
                || progress.seconds >= last.seconds + SILENCE_SECONDS
        });
        if is_new {
            lines.push(progress);
        }
    }
}

impl Observer for Curve {
    fn progress(&self, progress: &Progress) -> bool {
        self.note(progress);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_of_changes_and_of_time() {
        let curve = Curve::default();
        let at = |seconds, dual_bound, objective| Progress {
            seconds,
            nodes: 3,
            open: 1,
            lp_iterations: 0,
            dual_bound,
            objective,
        };
        curve.note(&at(0.1, f64::NEG_INFINITY, None));
        curve.note(&at(0.2, 1.5, None));
        curve.note(&at(0.3, 1.5, None));
        curve.note(&at(0.4, 1.5, Some(7.0)));
        curve.note(&at(1.5, 1.5, Some(7.0)));
        let lines = [
            "0.100,3,,",
            "0.200,3,1.5,",
            "0.400,3,1.5,7",
            "1.500,3,1.5,7",
        ];
        let text = format!("seconds,nodes,bound,objective\n{}\n", lines.join("\n"));
        assert_eq!(curve.to_csv(), text);
    }
}
