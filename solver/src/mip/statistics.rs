//! Statistics of the parts of a search: how often each was asked, what came of it, what it took.
//!
//! They are gathered where [`Control::statistics`](crate::mip::Control) asks for them, and cost
//! next to nothing. Counts, ticks and iterations are the same on any number of threads, times are
//! not. Searches inside the search count as one call of the heuristic that makes them.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A kind of parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// Steps of presolve. A success changes something; found are changes.
    Presolve,
    /// Separators at the root, all rounds of them together, and extensions. A success finds a cut;
    /// kept are the cuts that went into the relaxation.
    Separator,
    /// Heuristics. A success finds a solution that is better than the best one before.
    Heuristic,
    /// Choices of a branching. A success closes the node or tightens it; found are the children.
    Branching,
    /// Propagation at nodes, and by extensions. A success closes the node.
    Propagation,
    /// Relaxations of nodes. A success closes the node.
    Relaxation,
}

/// Counts of one part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ComponentTally {
    /// Times that it was asked.
    pub calls: u64,
    /// Times that something came of it.
    pub successes: u64,
    /// Things that it found.
    pub found: u64,
    /// Those of them that were taken.
    pub kept: u64,
    /// Deterministic work, in ticks.
    pub ticks: u64,
    /// Simplex iterations.
    pub lp_iterations: u64,
    /// Change of the bound that followed, in units of the objective: of the root's relaxation for
    /// separators together, of nodes' relaxations from their parents' for branchings.
    pub bound_change: f64,
    /// Time, in seconds, of all threads together.
    pub seconds: f64,
}

/// Counts of a part, with its name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ComponentRow {
    /// Kind of the part.
    pub component: Component,
    /// Name of the part.
    pub name: &'static str,
    /// Its counts.
    #[serde(flatten)]
    pub tally: ComponentTally,
}

/// Counts of all parts of a search.
///
/// ```
/// use remat_lp::{ModelBuilder, Sense};
/// use remat_solver::mip::{Component, Control, Settings, Solver, Statistics};
/// use std::sync::Arc;
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let cols: Vec<_> = (0..8).map(|k| b.add_col(10.0 + f64::from(k % 3), 0.0..=1.0)).collect();
/// cols.iter().for_each(|&c| b.set_integer(c, true));
/// b.add_row(..=20.0, cols.iter().map(|&c| (c, 5.0 + f64::from(c.0 % 4))));
/// let statistics = Arc::new(Statistics::default());
/// let control = Control { statistics: Some(statistics.clone()), ..Control::default() };
/// Solver::new(b.build()?, Settings::default()).with_control(control).run()?;
/// let rows = statistics.rows();
/// assert!(rows.iter().any(|row| row.component == Component::Presolve && row.tally.calls > 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Statistics(Mutex<BTreeMap<(Component, &'static str), ComponentTally>>);

impl Statistics {
    /// All parts that were asked at least once, by kind, then by name.
    pub fn rows(&self) -> Vec<ComponentRow> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = all.iter().map(|(&(component, name), &tally)| ComponentRow {
            component,
            name,
            tally,
        });
        rows.collect()
    }

    /// Adds to the counts of a part.
    pub(crate) fn add(
        &self,
        component: Component,
        name: &'static str,
        add: impl FnOnce(&mut ComponentTally),
    ) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        add(all.entry((component, name)).or_default());
    }

    /// Adds a call that began at a moment.
    pub(crate) fn call(
        &self,
        component: Component,
        name: &'static str,
        begun: Instant,
        add: impl FnOnce(&mut ComponentTally),
    ) {
        let seconds = begun.elapsed().as_secs_f64();
        self.add(component, name, |tally| {
            tally.calls += 1;
            tally.seconds += seconds;
            add(tally);
        });
    }
}
