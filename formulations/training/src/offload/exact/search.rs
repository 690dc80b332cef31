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
            // One that is not proven may lose copies on its way here, and time with them.
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
    /// Every plan takes at least so long, which is more than was asked for.
    Above(u64),
    /// Every plan takes at least so long.
    Stopped(Unfinished, u64),
}

struct LabelSearch<'a> {
    problem: &'a ExactProblem,
    bounds: ExactBounds<'a>,
    settings: &'a ExactSettings,
    store: Store,
    /// Least end of the plan, labels that are further first, then the oldest.
    queue: BinaryHeap<Reverse<(u64, u64, u32)>>,
    /// The label of the least end that was met.
    best: Option<u32>,
    /// True where a label was left out for the makespan that was asked for.
    is_cut: bool,
    /// States that were tried.
    tried: u64,
}

impl LabelSearch<'_> {
    fn run(mut self) -> (ExactEnd, Store, Option<u32>) {
        let begin = Label {
            state: MachineState::begin(),
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
            // Bounds may fall along a way, what is proven does not.
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
        let state = &self.store.labels[number as usize].state;
        usize::from(state.next) == self.problem.nodes
    }

    /// Takes a label unless it leads nowhere or no further than others; breaks where the search is
    /// to stop.
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
        let is_end = usize::from(label.state.next) == self.problem.nodes;
        if let Some(number) = self.store.insert(label) {
            if is_end {
                self.best = Some(number);
            }
            self.queue.push(Reverse((bound, left, number)));
        }
        on
    }

    /// Looks at the interrupt flag now and then.
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
