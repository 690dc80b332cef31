//! The largest batch that can be trained in a given memory when recomputation may cost only so
//! much: Checkmate's question (Jain et al., MLSys 2020, section 5.3, equations 7 and 8).
//!
//! The paper states one quadratic program over batch and schedule. Here each batch size is an
//! instance of its own (costs and sizes need not be proportional to the batch), and a search over
//! batch sizes asks one after another.

use super::{AnyPlan, Compared};
use crate::any::AnyFormulation;
use crate::baselines::Baseline;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::Schedule;
use remat_search::{Listener, Patience, Progress, Settings, Solvable, SolveError, Status};
use std::sync::atomic::{AtomicBool, Ordering};

/// Answer to the question whether a batch can be trained within budget and cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It can, with the cost and peak of a replayed schedule.
    Yes {
        /// Cost.
        cost: u64,
        /// Peak memory in bytes.
        peak_bytes: u64,
    },
    /// It cannot, by a proof; for a heuristic, it found no such schedule.
    No,
    /// Neither a schedule nor a proof was found within the limits.
    Unknown,
}

/// Largest cost of a step with recomputation: every node once, plus `overhead` further forward
/// passes (the loss included). 1.0 is the paper's equation 7. In a graph without backward nodes all
/// nodes count as forward.
pub fn cost_cap(instance: &Instance, overhead: f64) -> u64 {
    let start = instance.backward_start();
    let forward = &instance.nodes()[..start.map_or(instance.len(), NodeId::index)];
    let forward: u64 = forward.iter().map(|v| v.cost()).sum();
    let extra = (forward as f64 * overhead.max(0.0)).floor();
    // Costs are below 2^53, and the cast saturates.
    instance.base_cost().saturating_add(extra as u64)
}

/// Asks a heuristic; returns its answer, and the schedule of a yes.
pub fn ask_baseline(
    formulation: &AnyFormulation,
    baseline: &Baseline,
    budget_bytes: u64,
    cap: u64,
) -> (Answer, Option<Schedule>) {
    if formulation.too_small(budget_bytes).is_some() {
        return (Answer::No, None);
    }
    match formulation.baseline(baseline, budget_bytes, Patience::ENDLESS) {
        Ok((schedule, r)) if r.peak_bytes <= budget_bytes && r.cost <= cap => {
            let answer = Answer::Yes {
                cost: r.cost,
                peak_bytes: r.peak_bytes,
            };
            (answer, Some(schedule))
        }
        _ => (Answer::No, None),
    }
}

/// The answer of a strategy that was run at the budget, and the plan of a yes.
pub fn ask_compared(compared: &Compared, budget_bytes: u64, cap: u64) -> (Answer, Option<AnyPlan>) {
    match &compared.result {
        Ok((plan, r)) if r.peak_bytes <= budget_bytes && r.makespan <= cap => {
            let answer = Answer::Yes {
                cost: r.makespan,
                peak_bytes: r.peak_bytes,
            };
            (answer, Some(plan.clone()))
        }
        _ => (Answer::No, None),
    }
}

/// Ends a solve once the question is answered.
pub(super) struct Asking<'a> {
    listener: &'a dyn Listener,
    cap: u64,
    answered: AtomicBool,
}

impl<'a> Asking<'a> {
    /// Ends once a plan within a cap on the cost is found, or proven not to exist.
    pub fn new(listener: &'a dyn Listener, cap: u64) -> Self {
        Asking {
            listener,
            cap,
            answered: AtomicBool::new(false),
        }
    }
}

impl Listener for Asking<'_> {
    fn is_interrupted(&self) -> bool {
        self.answered.load(Ordering::Relaxed) || self.listener.is_interrupted()
    }

    fn progress(&self, progress: &Progress) {
        let enough = progress.objective.is_some_and(|cost| cost <= self.cap);
        if enough || progress.bound > self.cap {
            self.answered.store(true, Ordering::Relaxed);
        }
    }
}

/// The search for the largest batch by the solver, with an instance for each batch size, a budget
/// and a cap on the cost.
///
/// ```
/// use remat_formulations::AnyFormulation;
/// use remat_formulations::solve::{MaxBatch, cost_cap};
/// use remat_formulations::zoo;
///
/// let build = |batch: u64| -> Result<_, Box<dyn std::error::Error>> {
///     let instance = zoo::build(&format!("zoo:vgg16?batch={batch}").parse()?)?;
///     let cap = cost_cap(&instance, 1.0);
///     Ok((AnyFormulation::suiting(&instance), cap))
/// };
/// let found = MaxBatch::new(2 << 30).largest(1, 8, build)?;
/// assert!(found.batch.is_some_and(|b| b.0 >= 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MaxBatch<'a> {
    budget_bytes: u64,
    settings: Settings,
    listener: &'a dyn Listener,
}

impl<'a> MaxBatch<'a> {
    /// A search for a budget in bytes.
    pub fn new(budget_bytes: u64) -> Self {
        MaxBatch {
            budget_bytes,
            settings: Settings::default().without_overtime(),
            listener: &(),
        }
    }

    /// Settings of each solve; there is no overtime.
    #[must_use]
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings.without_overtime();
        self
    }

    /// Sets the listener that may end it.
    #[must_use]
    pub fn listener(mut self, listener: &'a dyn Listener) -> Self {
        self.listener = listener;
        self
    }

    /// Returns whether a batch can be trained. The solve ends as soon as its plan costs at most
    /// `cap`, or its bound is above it.
    ///
    /// # Errors
    /// [`SolveError`].
    pub fn ask(&self, formulation: &impl Solvable, cap: u64) -> Result<Answer, SolveError> {
        Ok(self.answer(formulation, cap)?.0)
    }

    /// The answer of [`MaxBatch::ask`] with its schedule; a yes without a schedule rests on the
    /// step without recomputation.
    ///
    /// # Errors
    /// [`SolveError`].
    pub fn answer<F: Solvable>(
        &self,
        formulation: &F,
        cap: u64,
    ) -> Result<(Answer, Option<F::Schedule>), SolveError> {
        let plain = formulation.plain()?;
        if plain.peak_bytes <= self.budget_bytes && plain.cost <= cap {
            let answer = Answer::Yes {
                cost: plain.cost,
                peak_bytes: plain.peak_bytes,
            };
            return Ok((answer, None));
        }
        let asking = Asking::new(self.listener, cap);
        let outcome = formulation.solve(self.budget_bytes, &[], &self.settings, &asking)?;
        Ok(match outcome.replay {
            Some(r) if r.makespan <= cap => {
                let answer = Answer::Yes {
                    cost: r.makespan,
                    peak_bytes: r.peak_bytes,
                };
                (answer, outcome.schedule)
            }
            _ if outcome.status == Status::Infeasible || outcome.bound > cap => (Answer::No, None),
            _ => (Answer::Unknown, None),
        })
    }

    /// Searches for the largest batch up to `most`, from `start`; `build` gives the formulation of
    /// a batch and its cap on the cost.
    ///
    /// # Errors
    /// The errors of `build`, and [`SolveError`].
    pub fn largest<F: Solvable, E: From<SolveError>>(
        &self,
        start: u64,
        most: u64,
        mut build: impl FnMut(u64) -> Result<(F, u64), E>,
    ) -> Result<Largest, E> {
        Largest::search(start, most, |batch| {
            let (formulation, cap) = build(batch)?;
            Ok(self.ask(&formulation, cap)?)
        })
    }
}

/// Result of a search over batch sizes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Largest {
    /// The largest batch with a plan, its cost and its peak in bytes; `None` if not even batch 1
    /// has a plan.
    pub batch: Option<(u64, u64, u64)>,
    /// The smallest batch that was proven to be too large.
    pub proven_too_large: Option<u64>,
    /// Batches that were tried, in order, with their answers.
    pub asked: Vec<(u64, Answer)>,
}

impl Largest {
    /// Returns whether no larger batch can be trained: the next one is proven to be too large.
    pub fn is_exact(&self) -> bool {
        let next = self.batch.map_or(1, |b| b.0 + 1);
        self.proven_too_large.is_some_and(|p| p <= next)
    }
}

impl Largest {
    /// Searches for the largest batch with a plan, up to `most`: doubling from `start`, then
    /// bisection. It assumes that if a batch can be trained, every smaller batch can be trained.
    ///
    /// An unknown batch counts as too large for the search, but not as proven.
    ///
    /// # Errors
    /// The first error of `ask`.
    pub fn search<E>(
        start: u64,
        most: u64,
        mut ask: impl FnMut(u64) -> Result<Answer, E>,
    ) -> Result<Self, E> {
        let mut found = Largest::default();
        let (mut low, mut high) = (0, most.saturating_add(1));
        let mut next = start.clamp(1, most.max(1));
        while high - low > 1 {
            let answer = ask(next)?;
            match answer {
                Answer::Yes { cost, peak_bytes } => {
                    low = next;
                    found.batch = Some((next, cost, peak_bytes));
                }
                Answer::No => {
                    high = next;
                    let known = found.proven_too_large.unwrap_or(u64::MAX);
                    found.proven_too_large = Some(known.min(next));
                }
                Answer::Unknown => high = next,
            }
            found.asked.push((next, answer));
            next = match (low, high) {
                (0, high) => high / 2,
                // No batch is known to be too large yet.
                (low, high) if high > most => low.saturating_mul(2).min(most),
                (low, high) => low + (high - low) / 2,
            };
            if next == 0 {
                break;
            }
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::smallest_budget;
    use remat_instances::zoo::{self, ModelSpec};

    fn search(start: u64, most: u64, limit: u64, unknown_from: u64) -> Largest {
        Largest::search(start, most, |batch| {
            Ok::<_, ()>(match batch {
                b if b <= limit => Answer::Yes {
                    cost: b,
                    peak_bytes: b,
                },
                b if b >= unknown_from => Answer::Unknown,
                _ => Answer::No,
            })
        })
        .unwrap()
    }

    #[test]
    fn the_search_finds_the_last_yes_from_any_start() {
        for limit in 0..40 {
            for start in [1, 3, 17, 40, 100] {
                let found = search(start, 60, limit, u64::MAX);
                assert_eq!(found.batch.map_or(0, |b| b.0), limit, "start {start}");
                assert!(found.is_exact());
                let unsure = search(start, 60, limit, limit + 1);
                assert_eq!(unsure.batch.map_or(0, |b| b.0), limit);
                assert!(!unsure.is_exact());
            }
        }
        let all = search(1, 10, 1000, u64::MAX);
        assert_eq!(all.batch.map(|b| b.0), Some(10));
        assert_eq!(all.proven_too_large, None);
    }

    #[test]
    fn a_plan_within_the_cap_is_found_and_the_cap_is_the_papers() {
        let spec: ModelSpec = "zoo:chain?n=6".parse().unwrap();
        let instance = zoo::build(&spec).unwrap();
        let forward: u64 = instance
            .nodes()
            .iter()
            .filter(|v| !v.is_backward())
            .map(|v| v.cost())
            .sum();
        assert_eq!(cost_cap(&instance, 1.0), instance.base_cost() + forward);
        assert_eq!(cost_cap(&instance, 0.0), instance.base_cost());
        let formulation = AnyFormulation::suiting(&instance);
        let peak = formulation.plain().unwrap().peak_bytes;
        let ask = |budget: u64, cap: u64| {
            let settings = Settings {
                rounds: 2,
                ..Settings::default()
            };
            let question = MaxBatch::new(budget).settings(settings);
            question.ask(&formulation, cap).unwrap()
        };
        let base = instance.base_cost();
        assert!(matches!(ask(peak, base), Answer::Yes { cost, .. } if cost == base));
        let least = smallest_budget(&instance).needed_bytes;
        assert_eq!(ask(least - 1, u64::MAX), Answer::No);
        match ask((peak + least) / 2, cost_cap(&instance, 1.0)) {
            Answer::Yes { cost, peak_bytes } => {
                assert!(cost <= base + forward && peak_bytes <= (peak + least) / 2);
            }
            other => panic!("{other:?}"),
        }
    }
}
