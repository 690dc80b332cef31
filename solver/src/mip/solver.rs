//! A model with its settings and extensions, about to be solved.

use crate::mip::control::Control;
use crate::mip::extend::{
    BranchingRule, Extensions, Heuristic, NodeSelector, PresolveStep, Propagator, Separator,
    StatedRows,
};
use crate::mip::settings::Settings;
use remat_lp::Model;
use std::sync::Arc;

/// A mixed-integer program about to be solved.
///
/// ```
/// use remat_lp::{ModelBuilder, Sense};
/// use remat_solver::mip::{Settings, SolveStatus, Solver};
/// // max 5x + 4y, 6x + 4y <= 24, x + 2y <= 6, integers
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let x = b.add_col(5.0, 0.0..);
/// let y = b.add_col(4.0, 0.0..);
/// b.set_integer(x, true);
/// b.set_integer(y, true);
/// b.add_row(..=24.0, [(x, 6.0), (y, 4.0)]);
/// b.add_row(..=6.0, [(x, 1.0), (y, 2.0)]);
/// let result = Solver::new(b.build().unwrap(), Settings::default()).run().unwrap();
/// assert_eq!(result.status, SolveStatus::Optimal);
/// assert_eq!(result.solution.unwrap().objective, 20.0);
/// ```
pub struct Solver {
    pub(crate) model: Arc<Model>,
    pub(crate) settings: Settings,
    pub(crate) extensions: Extensions,
    pub(crate) control: Control,
    /// False in a search inside another search, which reports it.
    pub(crate) emits_events: bool,
}

impl Solver {
    /// A solver for a model with marked integer columns.
    pub fn new(model: impl Into<Arc<Model>>, settings: Settings) -> Solver {
        Solver {
            model: model.into(),
            settings,
            extensions: Extensions::default(),
            control: Control::default(),
            emits_events: true,
        }
    }

    pub(crate) fn without_events(mut self) -> Self {
        self.emits_events = false;
        self
    }

    /// Adds a branching rule. Rules precede the built-in branching, in the order of these calls.
    pub fn with_branching(mut self, rule: Arc<dyn BranchingRule>) -> Self {
        self.extensions.branching.push(rule);
        self
    }

    /// Adds a separator, run at every node.
    pub fn with_separator(mut self, separator: Arc<dyn Separator>) -> Self {
        self.extensions.separators.push(separator);
        self
    }

    /// Adds a heuristic, run at every node.
    pub fn with_heuristic(mut self, heuristic: Arc<dyn Heuristic>) -> Self {
        self.extensions.heuristics.push(heuristic);
        self
    }

    /// Adds a propagator, run at every node.
    pub fn with_propagator(mut self, propagator: Arc<dyn Propagator>) -> Self {
        self.extensions.propagators.push(propagator);
        self
    }

    /// Orders the open nodes by this selector instead of the settings' selection.
    pub fn with_selector(mut self, selector: Arc<dyn NodeSelector>) -> Self {
        self.extensions.selector = Some(selector);
        self
    }

    /// Adds a step before presolve; steps run in the order of these calls. They are skipped if
    /// presolve is off, if an extension needs columns of the original model, and if a proof is
    /// wanted.
    pub fn with_presolve_step(mut self, step: Arc<dyn PresolveStep>) -> Self {
        self.extensions.steps.push(step);
        self
    }

    /// Lets a certificate state rows beside the model's. They must imply the rows of lazy
    /// separators; the certificate then shows what these rows and the model imply.
    pub fn with_stated_rows(mut self, rows: Arc<dyn StatedRows>) -> Self {
        self.extensions.stated = Some(rows);
        self
    }

    /// Sets the observers and files of the search.
    pub fn with_control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }
}
