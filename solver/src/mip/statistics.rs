//! Statistics of the components of a search: calls, successes and work.
//!
//! They are collected if [`Control::statistics`](crate::mip::Control) is set, at almost no cost.
//! Counts, ticks and iterations do not depend on the number of threads, but times do. A search
//! inside the search counts as one call of the heuristic that runs it.

use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A type of component.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Component {
    /// Steps of presolve. A success changes the problem; `found` counts changes.
    Presolve,
    /// Separators at the root (all rounds together) and of extensions. A success finds a cut;
    /// `kept` counts the cuts added to the relaxation.
    Separator,
    /// Heuristics. A success finds a better solution than the incumbent.
    Heuristic,
    /// Choices of a branching. A success closes the node or tightens it; `found` counts the
    /// children.
    Branching,
    /// Propagation at nodes, and by extensions. A success closes the node.
    Propagation,
    /// Relaxations of nodes. A success closes the node.
    Relaxation,
}

/// Counts of one component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ComponentTally {
    /// Number of calls.
    pub calls: u64,
    /// Number of calls with a success.
    pub successes: u64,
    /// Number of results.
    pub found: u64,
    /// Number of results that were kept.
    pub kept: u64,
    /// Deterministic work, in ticks.
    pub ticks: u64,
    /// Simplex iterations.
    pub lp_iterations: u64,
    /// Change of the bound afterwards, in units of the objective. For separators together, it is
    /// the gain of the root's relaxation; for branchings, the gain of nodes over their parents.
    pub bound_change: f64,
    /// Time of all threads together, in seconds.
    pub seconds: f64,
}

/// Counts of a component, with its name.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ComponentRow {
    /// Type of the component.
    pub component: Component,
    /// Name of the component.
    pub name: &'static str,
    /// Its counts.
    #[serde(flatten)]
    pub tally: ComponentTally,
}

/// Counts of all components of a search.
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
    /// All components with at least one call, by type, then by name.
    pub fn rows(&self) -> Vec<ComponentRow> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let rows = all.iter().map(|(&(component, name), &tally)| ComponentRow {
            component,
            name,
            tally,
        });
        rows.collect()
    }

    /// Adds to the counts of a component.
    pub(crate) fn add(
        &self,
        component: Component,
        name: &'static str,
        add: impl FnOnce(&mut ComponentTally),
    ) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        add(all.entry((component, name)).or_default());
    }

    /// Adds a call that started at `begun`.
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
