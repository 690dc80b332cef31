//! The search: labels by least time to the end (A*).

use super::bound::ExactBounds;
use super::emit::plan_of;
use super::floors::floors;
use super::label::{Action, Label, MachineState};
use super::moves::{Flow, moves};
use super::problem::ExactProblem;
use super::store::Store;
use super::{ExactError, ExactOutcome, ExactPlan, ExactSettings, Unfinished};
use remat_instances::instance::Instance;
use remat_instances::simulate;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;

pub(super) fn run(
    instance: &Instance,
    budget_bytes: u64,
    settings: &ExactSettings,
) -> Result<ExactOutcome, ExactError> {
    let problem = ExactProblem::new(instance, budget_bytes, settings)?;
    let Some(floors) = floors(&problem, &settings.tuning) else {
        return Ok(ExactOutcome::Infeasible { labels: 0 });
    };
    let search = LabelSearch {
        problem: &problem,
        bounds: ExactBounds::new(&problem, floors),
        settings,
        store: Store::default(),
        queue: BinaryHeap::new(),
        best: None,
        is_cut: false,
        tried: 0,
    };
    let (end, store, best) = search.run();
    let plan = match best {
        None => None,
        Some(number) => {
            let plan = plan_of(instance, &problem, &store.labels, number);
            let replay = simulate::plan(instance, &plan)?;
            let makespan = store.labels[number as usize].state.clock;
            let host_bytes = replay.transfers.host_peak_bytes;
            let fits = replay.peak_bytes <= budget_bytes && host_bytes <= problem.host_room;
            // A plan that is not proven optimal may be faster than its label, because unused copies
            // are left out.
            let is_early = replay.makespan < makespan && !matches!(end, ExactEnd::Stopped(..));
            if replay.makespan > makespan || is_early || !fits {
                return Err(ExactError::Replayed {
                    makespan,
                    replayed: replay.makespan,
                    peak_bytes: replay.peak_bytes,
                    host_bytes,
                });
            }
            Some(ExactPlan { plan, replay })
        }
    };
    let labels = store.labels.len();
    Ok(match (end, plan) {
        (ExactEnd::Proven, Some(plan)) => ExactOutcome::Optimal { plan, labels },
        (ExactEnd::Proven, None) => ExactOutcome::Infeasible { labels },
        (ExactEnd::Above(bound), _) => ExactOutcome::Above { bound, labels },
        (ExactEnd::Stopped(why, bound), plan) => ExactOutcome::Unfinished {
            why,
            bound,
            plan,
            labels,
        },
    })
}

/// Way in which a search ended.
enum ExactEnd {
    Proven,
    /// Lower bound on all plans, above the requested makespan.
    Above(u64),
    /// Reason of the stop, and lower bound on all plans.
    Stopped(Unfinished, u64),
}

struct LabelSearch<'a> {
    problem: &'a ExactProblem,
    bounds: ExactBounds<'a>,
    settings: &'a ExactSettings,
    store: Store,
    /// Open labels by least end of the plan, then by least time left, then by age.
    queue: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// The label with the earliest end of a plan so far.
    best: Option<u32>,
    /// True if a label was left out because of the requested makespan.
    is_cut: bool,
    /// Number of states tried.
    tried: u64,
}

impl LabelSearch<'_> {
    fn run(mut self) -> (ExactEnd, Store, Option<u32>) {
        let begin = Label {
            state: MachineState::begin(self.problem),
            parent: 0,
            action: Action::Begin,
        };
        let mut least = self.bounds.time_left(&begin.state).unwrap_or(0);
        if let ControlFlow::Break(why) = self.offer(begin) {
            return (ExactEnd::Stopped(why, least), self.store, None);
        }
        let end = loop {
            let Some(Reverse((bound, left, number))) = self.queue.pop() else {
                break match (self.best, self.settings.most) {
                    (None, Some(most)) if self.is_cut => ExactEnd::Above(most.saturating_add(1)),
                    _ => ExactEnd::Proven,
                };
            };
            if !self.store.is_open(number) {
                continue;
            }
            // Bounds may fall along a path; the proven bound does not.
            least = least.max(bound);
            if left == 0 && self.is_end(number) {
                self.best = Some(number);
                break ExactEnd::Proven;
            }
            let state = self.store.labels[number as usize].state.clone();
            let flow = moves(self.problem, &state, &mut |action, state| {
                self.offer(Label {
                    state,
                    parent: number,
                    action,
                })
            });
            if let ControlFlow::Break(why) = flow {
                break ExactEnd::Stopped(why, least);
            }
        };
        (end, self.store, self.best)
    }

    fn is_end(&self, number: u32) -> bool {
        self.problem
            .is_end(&self.store.labels[number as usize].state)
    }

    /// Inserts a label unless it cannot reach the end, cannot improve on the best plan, or is
    /// dominated; breaks if the search must stop.
    fn offer(&mut self, label: Label) -> Flow {
        self.look()?;
        let on = ControlFlow::Continue(());
        let Some(left) = self.bounds.time_left(&label.state) else {
            return on;
        };
        let bound = label.state.clock.saturating_add(left);
        if self.settings.most.is_some_and(|most| bound > most) {
            self.is_cut = true;
            return on;
        }
        let end_of = |number: u32| self.store.labels[number as usize].state.clock;
        if self.best.is_some_and(|best| bound >= end_of(best)) {
            return on;
        }
        let most = self.settings.labels.min(u32::MAX as usize);
        if self.store.labels.len() >= most {
            return ControlFlow::Break(Unfinished::Labels);
        }
        let is_end = self.problem.is_end(&label.state);
        if let Some(number) = self.store.insert(label) {
            if is_end {
                self.best = Some(number);
            }
            self.queue.push(Reverse((bound, left, number)));
        }
        on
    }

    /// Checks the interrupt flag at regular intervals.
    fn look(&mut self) -> Flow {
        let every = self.settings.tuning.states_per_look.max(1);
        let is_due = self.tried.is_multiple_of(every);
        self.tried += 1;
        let flag = self.settings.interrupt.as_ref().filter(|_| is_due);
        match flag.is_some_and(|flag| flag.load(Ordering::Relaxed)) {
            true => ControlFlow::Break(Unfinished::Interrupted),
            false => ControlFlow::Continue(()),
        }
    }
}
