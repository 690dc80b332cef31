//! The forward pass of a chain as a search over labels.
//!
//! A label stands before a stage. The decisions before it have taken some time, including their
//! backward steps. They left three numbers: bytes that stay on the device, bytes still on their way
//! out, and bytes that must be back in time (POFO's appendix B, without slots). The whole cost of a
//! step is known when it is taken. A label is dominated by another label that keeps no more bytes
//! and, with its excess backlog sent in idle time, costs no more.

use super::bounds::ChainBounds;
use super::fronts::{Fronts, WayId};
use super::search::{ChainSearch, Choices};
use super::sequence::Action;
use crate::baselines::chain::ForwardPeaks;

/// Decision of a label: the actions from its parent's stage on.
#[derive(Clone, Copy, Debug, Default)]
enum LabelDecision {
    #[default]
    Root,
    /// The stage saves all.
    Save { offload: bool },
    /// The stages before `next` pass, and are run backwards by a way.
    Pass { way: WayId, offload: bool },
}

/// Decisions before a stage.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Label {
    pub stage: usize,
    /// True if the stage before saved all.
    pub is_saved: bool,
    cost: f64,
    /// Bytes kept before the input of the stage.
    kept: u64,
    /// Bytes of values before that input that are still to go, and that must be back.
    pub going: f64,
    pub due: f64,
    /// Lower bound on the makespan of sequences with these decisions.
    least: f64,
    parent: usize,
    decision: LabelDecision,
}

/// Labels before a stage that are still to be compared.
#[derive(Clone, Default)]
struct OpenLabels {
    labels: Vec<Label>,
    /// Labels whose lower bound reaches this value are left out, once it is known.
    ceiling: Option<f64>,
}

/// Number of open labels held for each label that is finally kept.
const OPEN_PER_LABEL: usize = 4;

/// Outcome of a search.
pub(super) struct FoundSequence {
    /// A sequence better than the best so far, and its makespan.
    pub plan: Option<(Vec<Action>, f64)>,
    /// True if no way and no label was left out.
    pub is_whole: bool,
    /// Labels that were kept.
    pub labels: usize,
}

/// The labels of a search.
pub(super) struct LabelTree<'s, 'a> {
    search: &'s ChainSearch<'a>,
    fronts: &'s Fronts<'s>,
    bounds: &'s ChainBounds,
    labels: Vec<Label>,
    /// Labels before each stage, by whether the stage before saved all.
    open: Vec<[OpenLabels; 2]>,
    /// Least makespan so far.
    best: f64,
    is_whole: bool,
}

impl<'s, 'a> LabelTree<'s, 'a> {
    /// A search for a sequence with a makespan below `best`.
    pub fn new(
        search: &'s ChainSearch<'a>,
        fronts: &'s Fronts<'s>,
        bounds: &'s ChainBounds,
        best: f64,
    ) -> Self {
        LabelTree {
            search,
            fronts,
            bounds,
            labels: Vec::new(),
            open: vec![Default::default(); search.chain.len()],
            best,
            is_whole: fronts.is_whole,
        }
    }

    /// Searches.
    pub fn run(mut self) -> FoundSequence {
        let mut goal = None;
        if !self.open.is_empty() {
            self.push(Label {
                parent: usize::MAX,
                ..Label::default()
            });
        }
        let last = self.open.len().saturating_sub(1);
        for stage in 0..self.open.len() {
            for is_saved in 0..2 {
                let labels = std::mem::take(&mut self.open[stage][is_saved].labels);
                for label in self.undominated(labels) {
                    let number = self.labels.len();
                    self.labels.push(label);
                    if stage == last {
                        if let Some(cost) = self.finish(&label).filter(|&c| c < self.best) {
                            (self.best, goal) = (cost, Some(number));
                        }
                        continue;
                    }
                    self.save(number, &label);
                    if self.search.choices != Choices::Offload {
                        self.pass(number, &label);
                    }
                }
            }
        }
        FoundSequence {
            plan: goal.map(|goal| (self.actions(goal), self.best)),
            is_whole: self.is_whole,
            labels: self.labels.len(),
        }
    }

    /// Opens a label, unless it cannot become the best.
    fn push(&mut self, mut label: Label) {
        let open = &mut self.open[label.stage][usize::from(label.is_saved)];
        let limit = open.ceiling.unwrap_or(self.best).min(self.best);
        let room = self.search.memory_bytes - label.kept;
        let may_offload = self.search.may_offload();
        let rest = limit - label.cost;
        label.least = label.cost + self.bounds.least(&label, room, may_offload, rest);
        if label.least >= limit {
            self.is_whole &= label.least >= self.best;
            return;
        }
        open.labels.push(label);
        let count = self.search.tuning.labels.saturating_mul(OPEN_PER_LABEL);
        if open.labels.len() >= count.saturating_mul(2) {
            thin(&mut open.labels, count);
            open.ceiling = open
                .labels
                .iter()
                .map(|label| label.least)
                .max_by(f64::total_cmp);
            self.is_whole = false;
        }
    }

    /// Labels that no other label dominates, and that may still improve the makespan.
    fn undominated(&mut self, mut labels: Vec<Label>) -> Vec<Label> {
        let link = self.search.link;
        let sending = |bytes: f64, rate: f64| if bytes > 0.0 { bytes / rate } else { 0.0 };
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
            if label.least < self.best && !kept.iter().any(dominates) {
                kept.push(label);
            }
        }
        if kept.len() > self.search.tuning.labels {
            self.is_whole = false;
            thin(&mut kept, self.search.tuning.labels);
        }
        kept
    }

    fn input(&self, label: &Label) -> u64 {
        self.search.chain.input_bytes(label.stage, label.is_saved)
    }

    /// Time for which a step waits until `bytes` fit, some of which are on their way out.
    fn wait(&self, bytes: f64, rate: f64) -> f64 {
        let over = bytes - self.search.memory_bytes as f64;
        // Without a link, a rounding error of the bytes under way causes no wait.
        if over > 0.0 && rate > 0.0 {
            over / rate
        } else {
            0.0
        }
    }

    /// The two options for the input: it is offloaded, or stays.
    fn ways(&self) -> impl Iterator<Item = bool> + use<> {
        let may = self.search.may_offload();
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

    /// Opens labels in which the stage saves all.
    fn save(&mut self, number: usize, label: &Label) {
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
            self.push(Label {
                stage: label.stage + 1,
                is_saved: true,
                cost: label.cost + out + back,
                kept: if offload { label.kept } else { held },
                going: Self::sent(label.going + moved as f64, out, link.out),
                due: Self::sent(label.due, back, link.back) + moved as f64,
                least: 0.0,
                parent: number,
                decision: LabelDecision::Save { offload },
            });
        }
    }

    /// Opens labels in which some stages pass and the input of a later stage is kept.
    fn pass(&mut self, number: usize, label: &Label) {
        let input = self.input(label);
        let held = label.kept + input;
        let link = self.search.link;
        let room = self.search.memory_bytes;
        // Largest peak of the stages after the first; largest peak of all, less the bytes sent
        // before.
        let (mut others, mut largest) = (0, f64::NEG_INFINITY);
        let mut passed = 0.0;
        for next in label.stage + 1..self.search.chain.len() {
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
            let best = self
                .fronts
                .best(label.stage, next - 1, room - held, label.due);
            let Some((back, way)) = best else {
                continue;
            };
            let wait_out = self.wait(largest + held as f64 + label.going, link.out);
            let out = passed + wait_out;
            for offload in self.ways() {
                if !offload && others + held > room {
                    continue;
                }
                let moved = if offload { input } else { 0 };
                self.push(Label {
                    stage: next,
                    is_saved: false,
                    cost: label.cost + out + back,
                    kept: if offload { label.kept } else { held },
                    going: Self::sent(label.going + moved as f64, out, link.out),
                    due: Self::sent(label.due, back, link.back) + moved as f64,
                    least: 0.0,
                    parent: number,
                    decision: LabelDecision::Pass { way, offload },
                });
            }
        }
    }

    /// Makespan of a label before the loss; `None` if the loss does not fit.
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
            let (LabelDecision::Save { offload } | LabelDecision::Pass { offload, .. }) =
                to.decision
            else {
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
                LabelDecision::Pass { way, .. } => {
                    forward.push(Action::KeepInput(stage));
                    forward.extend((stage + 1..to.stage).map(Action::DropInput));
                    self.fronts.actions(stage, to.stage - 1, way, &mut back);
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
}

/// Number of labels kept of each group of labels that keep a similar number of bytes.
const GROUP: usize = 4;

/// Thins labels to `count`. A third are the labels with the lowest bounds. The others are grouped
/// by the bytes they keep on the device, and the labels with the lowest bounds in each group stay.
/// The last third is spread evenly over the remaining labels. With a fast link the bound alone is a
/// poor criterion (decision record 075).
fn thin(labels: &mut Vec<Label>, count: usize) {
    if count >= labels.len() {
        return;
    }
    let ties = |a: &Label, b: &Label| {
        (a.cost.total_cmp(&b.cost))
            .then(a.kept.cmp(&b.kept))
            .then(a.going.total_cmp(&b.going))
            .then(a.due.total_cmp(&b.due))
    };
    let order = |a: &Label, b: &Label| a.least.total_cmp(&b.least).then(ties(a, b));
    let by_kept = |a: &Label, b: &Label| a.kept.cmp(&b.kept).then(order(a, b));
    labels.sort_unstable_by(order);
    let mut others = labels.split_off(count / 3);
    others.sort_unstable_by(by_kept);
    let groups = (count / 3 / GROUP).max(1);
    let mut rest = Vec::new();
    for group in 0..groups {
        let bounds = [group, group + 1].map(|g| others.len() * g / groups);
        let mut group = others[bounds[0]..bounds[1]].to_vec();
        group.sort_unstable_by(order);
        let split = group.len().min(GROUP).min(count - labels.len());
        rest.extend(group.split_off(split));
        labels.append(&mut group);
    }
    rest.sort_unstable_by(by_kept);
    let wanted = (count - labels.len()).min(rest.len());
    let step = rest.len() as f64 / wanted.max(1) as f64;
    labels.extend((0..wanted).map(|k| rest[(k as f64 * step) as usize]));
}
