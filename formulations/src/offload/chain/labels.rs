//! The forward pass of a chain as a search over labels.
//!
//! A label stands before a stage: what is decided has taken some time, with the backward steps that
//! belong to it, and left three numbers: bytes that stay on the device, bytes that are still on
//! their way out, and bytes that have to be back in time (POFO's appendix B, without slots). All
//! that a step costs is known when it is taken. A label is dominated by one that keeps no more and,
//! with its backlog sent in idle time, costs no more.

use super::bounds::Bounds;
use super::fronts::{Detail, First, Fronts, Rounding, WayId};
use super::model::{Link, LinkedChain};
use super::sequence::{Action, memory_range};
use crate::baselines::chain::ForwardPeaks;

/// Choices that a search may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choices {
    /// Recomputation and offloading: POFO.
    #[default]
    Both,
    /// Nothing is offloaded: rotor.
    Recompute,
    /// Nothing is recomputed.
    Offload,
}

/// A search for the fastest sequence of a chain.
#[derive(Clone, Debug)]
pub struct ChainSearch<'a> {
    chain: &'a LinkedChain,
    link: Link,
    memory_bytes: u64,
    choices: Choices,
    tuning: ChainTuning,
}

/// A sequence with its makespan under continuous release.
#[derive(Clone, PartialEq, Debug)]
pub struct ChainPlan {
    /// The actions.
    pub actions: Vec<Action>,
    /// Least time, idle time included.
    pub makespan: f64,
    /// False where labels were left out or peaks rounded: the makespan is then that of a sequence,
    /// and perhaps not the least.
    pub is_exact: bool,
    /// Labels that were kept.
    pub labels: usize,
}

/// Numbers that a search is tuned by.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChainTuning {
    /// Slots of peaks. Of 60, 200, 500 and 1,000 slots on the networks of the bench, 500 are the
    /// fewest whose makespans are within 0.1% of those of the most.
    pub slots: u64,
    /// Ways that are kept for each part and peak.
    pub ways: usize,
    /// Labels that a stage keeps.
    pub labels: usize,
    /// Slots, ways and labels of the search for a first makespan.
    pub first: (u64, usize, usize),
    /// Slots of memory of the bounds.
    pub bound_slots: u64,
}

impl Default for ChainTuning {
    fn default() -> Self {
        ChainTuning {
            slots: 500,
            ways: 4,
            labels: std::env::var("L").map_or(2000, |l| l.parse().unwrap()),
            first: (100, 3, 300),
            bound_slots: 1_000,
        }
    }
}

/// Decision of a label: what is done from its parent's stage on.
#[derive(Clone, Copy, Debug)]
enum Decision {
    Root,
    /// The stage saves all.
    Save {
        offload: bool,
    },
    /// The stages before `next` pass, and are run backwards by a way.
    Pass {
        way: WayId,
        offload: bool,
    },
}

/// What is decided before a stage.
#[derive(Clone, Copy, Debug)]
pub(super) struct Label {
    pub stage: usize,
    /// True if the stage before saved all.
    pub is_saved: bool,
    cost: f64,
    /// Bytes kept before the input of the stage.
    kept: u64,
    /// Of values before that input: bytes still to go, bytes to be back.
    pub going: f64,
    pub due: f64,
    /// Makespan that no sequence with these decisions goes below.
    least: f64,
    parent: usize,
    decision: Decision,
}

impl<'a> ChainSearch<'a> {
    /// A search in the memory of a device, fixed memory left out.
    pub fn new(chain: &'a LinkedChain, link: Link, memory_bytes: u64) -> Self {
        ChainSearch {
            chain,
            link,
            memory_bytes,
            choices: Choices::Both,
            tuning: ChainTuning::default(),
        }
    }

    /// The same with some choices.
    pub fn choices(self, choices: Choices) -> Self {
        ChainSearch { choices, ..self }
    }

    /// The same with other numbers.
    pub fn tuning(self, tuning: ChainTuning) -> Self {
        ChainSearch { tuning, ..self }
    }

    /// The same with a slot for each byte, all ways and all labels: for small chains.
    pub fn exact(self) -> Self {
        let tuning = ChainTuning {
            slots: u64::MAX,
            ways: usize::MAX,
            labels: usize::MAX,
            ..self.tuning
        };
        ChainSearch { tuning, ..self }
    }

    /// Searches; `None` where no sequence fits.
    ///
    /// Searches with fewer labels, and without one of the choices, come first: ways and labels that
    /// cannot be better than theirs are not kept.
    pub fn run(&self) -> Option<ChainPlan> {
        let (_, most) = memory_range(self.chain).ok()?;
        let most = most.max(self.memory_bytes);
        let bounds = Bounds::new(self.chain, self.link, self.choices, most, self.tuning.bound_slots);
        let may_pass = self.choices != Choices::Offload;
        let peaks_are_exact = self.memory_bytes <= self.tuning.slots || !may_pass;
        let (slots, ways, labels) = self.tuning.first;
        let first = ChainTuning {
            slots: slots.min(self.tuning.slots),
            ways: ways.min(self.tuning.ways),
            labels: labels.min(self.tuning.labels),
            ..self.tuning
        };
        let recompute = ChainTuning {
            ..self.tuning
        };
        let mut best: Option<ChainPlan> = None;
        for (choices, tuning) in [
            (Choices::Recompute, recompute),
            (Choices::Offload, first),
            (self.choices, first),
            (self.choices, self.tuning),
        ] {
            let is_own = choices == self.choices;
            if !is_own && self.choices != Choices::Both {
                continue;
            }
            let began = std::time::Instant::now();
            let makespan = best.as_ref().map_or(f64::INFINITY, |plan| plan.makespan);
            let search = self.clone().choices(choices).tuning(tuning);
            let fronts = search.fronts(makespan);
            if std::env::var("T").is_ok() { eprintln!("fronts {choices:?} {:.2}", began.elapsed().as_secs_f64()); }
            let tree = Tree {
                search: &search,
                fronts: &fronts,
                bounds: &bounds,
                labels: Vec::new(),
                best: makespan,
                is_whole: fronts.is_whole,
            };
            let (plan, is_whole, kept) = tree.run();
            if std::env::var("T").is_ok() { eprintln!("tree {choices:?} {:?} {kept} {is_whole} {:.2}", plan.as_ref().map(|p| p.makespan/self.chain.base_time()), began.elapsed().as_secs_f64()); }
            if let Some(plan) = plan.or(best.take()) {
                best = Some(ChainPlan {
                    is_exact: is_whole && is_own && peaks_are_exact,
                    labels: kept,
                    ..plan
                });
            }
            if is_whole && is_own && tuning == self.tuning {
                break;
            }
        }
        best
    }

    /// Fronts of all parts that may belong to a sequence faster than a known one.
    fn fronts(&self, makespan: f64) -> Fronts<'_> {
        let back = match self.choices {
            // Nothing comes back.
            Choices::Recompute => 0.0,
            _ => self.link.back,
        };
        let stages = match self.choices {
            Choices::Offload => &[],
            _ => &self.chain.stages[..],
        };
        let overhead = makespan - self.chain.base_time();
        // A rounding error leaves no way out.
        let overhead = overhead + 1e-9 * makespan;
        Fronts::new(stages, self.memory_bytes, back, self.detail(overhead))
    }

    fn detail(&self, overhead: f64) -> Detail {
        Detail {
            slots: self.tuning.slots,
            ways: self.tuning.ways,
            overhead,
            rounding: Rounding::Up,
        }
    }

    /// Fronts of the parts of the first so many stages.
    fn first_fronts(&self, stages: usize) -> Fronts<'_> {
        let stages = &self.chain.stages[..stages];
        let detail = self.detail(f64::INFINITY);
        Fronts::new(stages, self.memory_bytes, self.link.back, detail)
    }

    /// Least time to run the stages `part` backwards, all before the loss, from the gradient of the
    /// last and the input of the first, with `kept_bytes` on the device, that input among them, such
    /// that `due_bytes` of other values are back at its end (`C_Delta` of POFO, section B.3); `None`
    /// where nothing fits, or the part is none.
    pub fn part_time(
        &self,
        part: std::ops::RangeInclusive<usize>,
        kept_bytes: u64,
        due_bytes: f64,
    ) -> Option<f64> {
        let (s, t) = part.into_inner();
        if s > t || t + 1 >= self.chain.len() {
            return None;
        }
        let best = self.first_fronts(t + 2).best(s, t, kept_bytes, due_bytes)?;
        Some(best.0)
    }

    /// Peaks in bytes, rounded up to slots, durations and tails of the ways to run a part backwards
    /// of which none is better in all three; those within the memory.
    pub fn part_ways(&self, part: std::ops::RangeInclusive<usize>) -> Vec<(u64, f64, f64)> {
        let (s, t) = part.into_inner();
        if s > t || t + 1 >= self.chain.len() {
            return Vec::new();
        }
        self.first_fronts(t + 2).all(s, t)
    }
}

struct Tree<'s, 'a> {
    search: &'s ChainSearch<'a>,
    fronts: &'s Fronts<'s>,
    bounds: &'s Bounds,
    labels: Vec<Label>,
    /// Least makespan so far.
    best: f64,
    /// True while no label was left out.
    is_whole: bool,
}

impl Tree<'_, '_> {
    /// A better plan than the best so far, whether no label was left out, and the labels.
    fn run(mut self) -> (Option<ChainPlan>, bool, usize) {
        let chain = self.search.chain;
        let Some(last) = chain.len().checked_sub(1) else {
            return (None, true, 0);
        };
        // Labels before each stage, that before saved all apart.
        let mut open: Vec<[Vec<Label>; 2]> = vec![Default::default(); chain.len()];
        open[0][0].push(Label {
            stage: 0,
            is_saved: false,
            cost: 0.0,
            kept: 0,
            going: 0.0,
            due: 0.0,
            least: 0.0,
            parent: usize::MAX,
            decision: Decision::Root,
        });
        let mut goal = None;
        for stage in 0..chain.len() {
            for is_saved in 0..2 {
                let labels = std::mem::take(&mut open[stage][is_saved]);
                for label in self.undominated(labels) {
                    let number = self.labels.len();
                    self.labels.push(label);
                    if stage == last {
                        if let Some(cost) = self.finish(&label).filter(|&c| c < self.best) {
                            (self.best, goal) = (cost, Some(number));
                        }
                        continue;
                    }
                    self.save(number, &label, &mut open);
                    if self.search.choices != Choices::Offload {
                        self.pass(number, &label, &mut open);
                    }
                }
            }
        }
        let plan = goal.map(|goal| ChainPlan {
            actions: self.actions(goal),
            makespan: self.best,
            is_exact: self.is_whole,
            labels: self.labels.len(),
        });
        (plan, self.is_whole, self.labels.len())
    }

    /// Labels that no other dominates, and that may still be the best.
    fn undominated(&mut self, mut labels: Vec<Label>) -> Vec<Label> {
        let link = self.search.link;
        let sending = |bytes: f64, rate: f64| if bytes > 0.0 { bytes / rate } else { 0.0 };
        let may_offload = self.may_offload();
        labels.retain_mut(|label| {
            let room = self.search.memory_bytes - label.kept;
            let limit = self.best - label.cost;
            label.least = label.cost + self.bounds.least(label, room, may_offload, limit);
            label.least < self.best
        });
        labels.sort_by(|a, b| {
            a.cost
                .total_cmp(&b.cost)
                .then(a.kept.cmp(&b.kept))
                .then(a.going.total_cmp(&b.going))
                .then(a.due.total_cmp(&b.due))
        });
        let mut kept: Vec<Label> = Vec::new();
        for label in labels {
            let dominates = |one: &Label| {
                one.kept <= label.kept
                    && one.cost
                        + sending(one.going - label.going, link.out)
                        + sending(one.due - label.due, link.back)
                        <= label.cost
            };
            if !kept.iter().any(dominates) {
                kept.push(label);
            }
        }
        if kept.len() > self.search.tuning.labels {
            self.is_whole = false;
            kept = thinned(kept, self.search.tuning.labels);
        }
        kept
    }

    fn input(&self, label: &Label) -> u64 {
        self.search.chain.input_bytes(label.stage, label.is_saved)
    }

    /// Time that a step waits until so many bytes fit, of which some are on their way.
    fn wait(&self, bytes: f64, rate: f64) -> f64 {
        let over = bytes - self.search.memory_bytes as f64;
        // A rounding error of what is on its way is no wait for a link that is not there.
        if over > 0.0 && rate > 0.0 {
            over / rate
        } else {
            0.0
        }
    }

    fn may_offload(&self) -> bool {
        self.search.choices != Choices::Recompute && self.search.link.is_open()
    }

    /// The two ways for the input: it is offloaded, or stays.
    fn ways(&self) -> impl Iterator<Item = bool> + use<> {
        let may = self.may_offload();
        [true, false]
            .into_iter()
            .filter(move |&offload| may || !offload)
    }

    /// Bytes of a backlog that are left after some time.
    fn sent(backlog: f64, time: f64, rate: f64) -> f64 {
        if backlog > 0.0 {
            (backlog - time * rate).max(0.0)
        } else {
            0.0
        }
    }

    /// The stage saves all.
    fn save(&mut self, number: usize, label: &Label, open: &mut [[Vec<Label>; 2]]) {
        let stage = &self.search.chain.stages[label.stage];
        let input = self.input(label);
        let (forward, backward) = (stage.first.save_bytes, stage.backward_bytes);
        let held = label.kept + input;
        if forward.max(backward) + held > self.search.memory_bytes {
            return;
        }
        let link = self.search.link;
        let wait_out = self.wait((forward + held) as f64 + label.going, link.out);
        let wait_back = self.wait((backward + held) as f64 + label.due, link.back);
        let out = stage.forward_time + wait_out;
        let back = stage.backward_time + wait_back;
        for offload in self.ways() {
            let moved = if offload { input } else { 0 };
            open[label.stage + 1][1].push(Label {
                stage: label.stage + 1,
                is_saved: true,
                cost: label.cost + out + back,
                kept: if offload { label.kept } else { held },
                going: Self::sent(label.going + moved as f64, out, link.out),
                due: Self::sent(label.due, back, link.back) + moved as f64,
                least: 0.0,
                parent: number,
                decision: Decision::Save { offload },
            });
        }
    }

    /// Some stages pass, so that the input of a later one is kept.
    fn pass(&mut self, number: usize, label: &Label, open: &mut [[Vec<Label>; 2]]) {
        let input = self.input(label);
        let held = label.kept + input;
        let link = self.search.link;
        let room = self.search.memory_bytes;
        // Largest peak of the first stage, of the others; of all, less what was sent before.
        let (mut others, mut largest) = (0, f64::NEG_INFINITY);
        let mut passed = 0.0;
        let later = open.iter_mut().enumerate().skip(label.stage + 1);
        for (next, before_next) in later {
            let stage = &self.search.chain.stages[next - 1];
            let ForwardPeaks {
                pass_bytes,
                stream_bytes,
                ..
            } = stage.first;
            if next - 1 == label.stage {
                if pass_bytes + held > room {
                    return;
                }
                largest = pass_bytes as f64;
            } else {
                others = others.max(stream_bytes);
                let sent = if passed > 0.0 { passed * link.out } else { 0.0 };
                largest = largest.max(stream_bytes as f64 - sent);
            }
            if others + label.kept > room {
                return;
            }
            passed += stage.forward_time;
            let Some((back, way)) = self.fronts.best(label.stage, next - 1, held, label.due) else {
                continue;
            };
            let wait_out = self.wait(largest + held as f64 + label.going, link.out);
            let out = passed + wait_out;
            for offload in self.ways() {
                if !offload && others + held > room {
                    continue;
                }
                let moved = if offload { input } else { 0 };
                before_next[0].push(Label {
                    stage: next,
                    is_saved: false,
                    cost: label.cost + out + back,
                    kept: if offload { label.kept } else { held },
                    going: Self::sent(label.going + moved as f64, out, link.out),
                    due: Self::sent(label.due, back, link.back) + moved as f64,
                    least: 0.0,
                parent: number,
                    decision: Decision::Pass { way, offload },
                });
            }
        }
    }

    /// Makespan where the loss is next.
    fn finish(&self, label: &Label) -> Option<f64> {
        let stage = &self.search.chain.stages[label.stage];
        let held = label.kept + self.input(label);
        let (forward, backward) = (stage.close_forward_bytes, stage.backward_bytes);
        if forward.max(backward) + held > self.search.memory_bytes {
            return None;
        }
        let link = self.search.link;
        let out = stage.forward_time + self.wait((forward + held) as f64 + label.going, link.out);
        let back = stage.backward_time + self.wait((backward + held) as f64 + label.due, link.back);
        let rest = |backlog: f64, time: f64, rate: f64| match Self::sent(backlog, time, rate) {
            left if left > 0.0 => left / rate,
            _ => 0.0,
        };
        let barrier = rest(label.going, out, link.out) + rest(label.due, back, link.back);
        Some(label.cost + out + back + barrier)
    }

    /// The sequence of a label before the loss.
    fn actions(&self, goal: usize) -> Vec<Action> {
        let mut path = vec![goal];
        while self.labels[path[path.len() - 1]].parent != usize::MAX {
            path.push(self.labels[path[path.len() - 1]].parent);
        }
        path.reverse();
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        for pair in path.windows(2) {
            let (from, to) = (&self.labels[pair[0]], &self.labels[pair[1]]);
            let stage = from.stage;
            let (Decision::Save { offload } | Decision::Pass { offload, .. }) = to.decision else {
                continue;
            };
            if offload {
                forward.push(Action::Offload(stage));
            }
            let mut back = if offload {
                vec![Action::Prefetch(stage)]
            } else {
                Vec::new()
            };
            match to.decision {
                Decision::Pass { way, .. } => {
                    forward.push(Action::KeepInput(stage));
                    forward.extend((stage + 1..to.stage).map(Action::DropInput));
                    self.way(stage, to.stage - 1, way, &mut back);
                }
                _ => {
                    forward.push(Action::SaveAll(stage));
                    back.push(Action::Backward(stage));
                }
            }
            backward.push(back);
        }
        let last = self.search.chain.len() - 1;
        forward.extend([Action::SaveAll(last), Action::Backward(last)]);
        forward.extend(backward.into_iter().rev().flatten());
        forward
    }

    /// Appends the actions of a way.
    fn way(&self, s: usize, t: usize, id: WayId, actions: &mut Vec<Action>) {
        match self.fronts.way(s, t, id).first {
            First::Close => actions.extend([Action::SaveAll(s), Action::Backward(s)]),
            First::Save { rest } => {
                actions.push(Action::SaveAll(s));
                self.way(s + 1, t, rest, actions);
                actions.push(Action::Backward(s));
            }
            First::Checkpoint { next, rest, passed } => {
                let next = next as usize;
                actions.push(Action::KeepInput(s));
                actions.extend((s + 1..next).map(Action::DropInput));
                self.way(next, t, rest, actions);
                self.way(s, next - 1, passed, actions);
            }
        }
    }
}

/// The labels that promise most, of a given number.
fn thinned(mut labels: Vec<Label>, count: usize) -> Vec<Label> {
    labels.sort_by(|a, b| a.least.total_cmp(&b.least).then(a.cost.total_cmp(&b.cost)));
    labels.truncate(count);
    labels
}
