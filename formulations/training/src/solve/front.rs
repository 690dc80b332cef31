//! Front door: from an instance and a budget to a solution.

use super::extras::Extras;
use super::{AnyPlan, Solution};
use crate::any::AnyFormulation;
use crate::offload::{CopyPhase, Release};
use crate::options::SolveOptions;
use remat_instances::instance::Instance;
use remat_instances::simulate::Replay;
use remat_instances::{Budget, Semantics};
use remat_search::{Listener, Outcome, Settings, Solvable, SolveError};
use std::time::Duration;

/// A solve to be run: an instance or a user-defined [`Formulation`](remat_search::Formulation), a
/// budget, and settings.
///
/// ```
/// use remat_formulations::{Budget, Solve, zoo};
///
/// let instance = zoo::build(&"zoo:vgg16?batch=32".parse()?)?;
/// let solution = Solve::new(&instance, Budget::Percent(80.0)).run()?;
/// println!("{} >= {}", solution.objective()?, solution.bound);
/// assert!(solution.objective()? >= solution.bound);
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("plan.json");
/// solution.plan()?.write(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Solve<'a, F: Solvable = AnyFormulation> {
    pub(super) formulation: F,
    budget: Budget,
    pub(super) settings: Settings,
    pub(super) starts: Vec<F::Schedule>,
    pub(super) listener: &'a dyn Listener,
    pub(super) extras: Extras,
}

impl Solve<'_> {
    /// A solve of an instance, by the formulation that suits it.
    pub fn new(instance: &Instance, budget: Budget) -> Self {
        Solve::of(AnyFormulation::suiting(instance), budget)
    }

    /// A solve of an instance by the formulation of given semantics.
    ///
    /// # Errors
    /// [`SolveError::Inapplicable`] if it does not apply to the instance.
    pub fn by(
        instance: &Instance,
        semantics: Semantics,
        budget: Budget,
    ) -> Result<Self, SolveError> {
        Ok(Solve::of(AnyFormulation::of(instance, semantics)?, budget))
    }

    /// Applies all options except for the formulation and its link, which [`SolveOptions::applied`]
    /// gives.
    #[must_use]
    pub fn options(mut self, options: &SolveOptions) -> Self {
        self.settings = options.settings();
        if let Some(phase) = options.copies() {
            self = self.offload(phase, options.offload_release);
        }
        if options.reorder {
            self = self.reorder();
        }
        if options.has_addresses() {
            self = self.addresses(options.alignment);
        }
        self
    }

    /// Copies tensors to the host and back over the instance's link.
    #[must_use]
    pub fn offload(mut self, phase: CopyPhase, release: Release) -> Self {
        self.extras.copies = Some((phase, release));
        self
    }

    /// Chooses the order of first computations as well.
    #[must_use]
    pub fn reorder(mut self) -> Self {
        self.extras.reorder = true;
        self
    }

    /// Solves in the given order of first computations. Otherwise a solve without a proof, a class
    /// and starts moves [updates](crate::reorder::OrderChoice::is_early) right behind what they
    /// read, if that does not raise the peak without recomputation.
    #[must_use]
    pub fn given_order(mut self) -> Self {
        self.extras.keeps_order = true;
        self
    }

    /// Gives each allocation of the plan an address in one arena, at multiples of
    /// `alignment_bytes`, or of an alignment that the sizes suggest.
    ///
    /// The last tenth of a time limit is reserved for addresses.
    #[must_use]
    pub fn addresses(mut self, alignment_bytes: Option<u64>) -> Self {
        self.extras.alignment = Some(alignment_bytes);
        self
    }

    /// Sets the replay without recomputation, if it is known, so that it is not computed again.
    #[must_use]
    pub fn known_plain(mut self, plain: Replay) -> Self {
        self.extras.plain = Some(plain);
        self
    }

    /// A plan to start from, with the instance that it is of. A plan that does not fit the budget
    /// is ignored.
    #[must_use]
    pub fn start_from(mut self, plan: AnyPlan, instance: &Instance) -> Self {
        let is_same = super::extras::is_same_graph(instance, self.formulation.instance());
        self.extras.plans.push((plan, is_same));
        self
    }

    /// Solves.
    ///
    /// # Errors
    /// [`SolveError`]. A budget that no plan fits gives a [`Solution`] without a plan, not an
    /// error.
    pub fn run(self) -> Result<Solution, SolveError> {
        let plain = match &self.extras.plain {
            Some(plain) => plain.clone(),
            None => self.formulation.plain()?,
        };
        let budget_bytes = self.budget.bytes(plain.peak_bytes);
        super::extras::run(self, plain, budget_bytes)
    }
}

impl<'a, F: Solvable> Solve<'a, F> {
    /// A solve of any formulation.
    pub fn of(formulation: F, budget: Budget) -> Self {
        Solve {
            formulation,
            budget,
            settings: Settings::default(),
            starts: Vec::new(),
            listener: &(),
            extras: Extras::default(),
        }
    }

    /// All settings at once.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Ends after this time with the best plan so far. Without a limit the work is fixed.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.settings.time_limit = Some(limit);
        self
    }

    /// Ends at this relative gap, `(objective - bound) / objective`.
    #[must_use]
    pub fn gap(mut self, gap: f64) -> Self {
        self.settings = self.settings.with_gap(gap);
        self
    }

    /// Worker threads; 0 for one per core.
    #[must_use]
    pub fn threads(mut self, threads: usize) -> Self {
        self.settings.threads = threads;
        self
    }

    /// Seed of all random choices.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// A schedule to start from.
    #[must_use]
    pub fn start(mut self, schedule: F::Schedule) -> Self {
        self.starts.push(schedule);
        self
    }

    /// Sets the listener that follows the solve, and may end it.
    #[must_use]
    pub fn listener<'b>(self, listener: &'b dyn Listener) -> Solve<'b, F>
    where
        'a: 'b,
    {
        Solve { listener, ..self }
    }

    /// Solves, and returns the outcome with the budget in bytes, for user-defined formulations.
    ///
    /// # Errors
    /// [`SolveError`]. A budget that no plan fits gives an outcome, not an error.
    pub fn outcome(&self) -> Result<(Outcome<F::Schedule>, u64), SolveError> {
        let budget_bytes = match self.budget {
            Budget::Bytes(bytes) => bytes,
            share => share.bytes(self.formulation.plain()?.peak_bytes),
        };
        let Solve {
            formulation,
            starts,
            settings,
            listener,
            ..
        } = self;
        let outcome = formulation.solve(budget_bytes, starts, settings, *listener)?;
        Ok((outcome, budget_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::residual;
    use remat_instances::Budget;
    use remat_search::Effort;

    #[test]
    fn quick_work_is_the_same_on_any_number_of_threads_and_has_no_tree() {
        let instance = residual(40);
        let solved = [1, 3].map(|threads| {
            let settings = Settings {
                effort: Effort::Quick,
                threads,
                ..Settings::default()
            };
            let solve = Solve::new(&instance, Budget::Percent(70.0)).settings(settings);
            let found = solve.run().unwrap();
            (
                found.objective().unwrap(),
                found.bound,
                found.moves,
                found.nodes,
            )
        });
        assert_eq!(solved[0], solved[1]);
        assert_eq!(solved[0].3, 0);
    }
}
