//! [`ChainSearch`]: searches with few labels first, and with all labels last.

use super::bounds::ChainBounds;
use super::fronts::{Detail, Fronts, Rounding};
use super::labels::LabelTree;
use super::model::{Link, LinkedChain};
use super::sequence::{Action, memory_range};

/// Choices that a search may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Choices {
    /// Recomputation and offloading: POFO.
    #[default]
    Both,
    /// Recomputation alone: rotor.
    Recompute,
    /// Offloading alone.
    Offload,
}

/// A search for the fastest sequence of a chain.
#[derive(Clone, Debug)]
pub struct ChainSearch<'a> {
    pub(super) chain: &'a LinkedChain,
    pub(super) link: Link,
    pub(super) memory_bytes: u64,
    pub(super) choices: Choices,
    pub(super) tuning: ChainTuning,
}

/// A sequence with its makespan under continuous release.
#[derive(Clone, PartialEq, Debug)]
pub struct ChainPlan {
    /// The actions.
    pub actions: Vec<Action>,
    /// Least time found, idle time included.
    pub makespan: f64,
    /// Lower bound on the time of all sequences of the choices.
    pub bound: f64,
    /// False if ways or labels were left out or peaks rounded; a faster sequence may then exist.
    pub is_exact: bool,
    /// Number of labels expanded in the last search.
    pub labels: usize,
}

/// Tuning of a search; decision record 075 has the evidence.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChainTuning {
    /// Slots of peaks. On four networks 60 to 1,000 slots give the same makespans.
    pub slots: u64,
    /// Ways that are kept for each part and peak, at least 2. Two to 16 give the same makespans.
    pub ways: usize,
    /// Labels that a stage keeps. With 300, two of eight makespans of long chains are worse; with
    /// 3,000, no makespan is better.
    pub labels: usize,
    /// Slots of peaks in the search for a first makespan, which need not be good.
    pub first_slots: u64,
    /// Ways that are kept in that search.
    pub first_ways: usize,
    /// Labels that a stage keeps in that search.
    pub first_labels: usize,
    /// Slots of memory of the bounds. With 300 they are too loose for 38 stages.
    pub bound_slots: u64,
    /// Slots of peaks of recomputation alone in the largest memory; smaller memories use a part of
    /// them.
    pub recompute_slots: u64,
    /// Larger memories that autocapper tries: 40 in POFO, section 5.
    pub caps: usize,
}

impl Default for ChainTuning {
    fn default() -> Self {
        ChainTuning {
            slots: 500,
            ways: 4,
            labels: 1_000,
            first_slots: 100,
            first_ways: 3,
            first_labels: 300,
            bound_slots: 1_000,
            recompute_slots: 2_000,
            caps: 40,
        }
    }
}

/// Largest number of stages searched with the default tuning.
const STAGES: usize = 70;
/// The same in sweeps: the rows of 35 stages take some 0.5 s.
const SWEEP_STAGES: usize = 35;

impl ChainTuning {
    /// Tuning for a chain of `stages` stages: long chains have fewer slots and labels, so that the
    /// time stays within a small multiple of the time for 70 stages.
    pub fn of(stages: usize) -> Self {
        ChainTuning::such_as(STAGES, stages)
    }

    /// The same for many searches, one for each budget or batch: the time stays within a small
    /// multiple of the time for 35 stages.
    pub fn for_sweep(stages: usize) -> Self {
        ChainTuning::such_as(SWEEP_STAGES, stages)
    }

    fn such_as(known: usize, stages: usize) -> Self {
        let all = ChainTuning::default();
        let share = known as f64 / stages.max(known) as f64;
        let fewer = |count: u64, power: i32| (count as f64 * share.powi(power)).ceil() as u64;
        ChainTuning {
            slots: fewer(all.slots, 3).max(32),
            labels: fewer(all.labels as u64, 2).max(100) as usize,
            first_slots: fewer(all.first_slots, 3).max(32),
            first_labels: fewer(all.first_labels as u64, 2).max(30) as usize,
            bound_slots: fewer(all.bound_slots, 2).max(100),
            recompute_slots: fewer(all.recompute_slots, 3).max(100),
            caps: fewer(all.caps as u64, 2).max(8) as usize,
            ..all
        }
    }
}

impl<'a> ChainSearch<'a> {
    /// A search in the memory of a device, fixed memory left out.
    pub fn new(chain: &'a LinkedChain, link: Link, memory_bytes: u64) -> Self {
        ChainSearch {
            chain,
            link,
            memory_bytes,
            choices: Choices::Both,
            tuning: ChainTuning::of(chain.len()),
        }
    }

    /// The same with other choices.
    pub fn choices(self, choices: Choices) -> Self {
        ChainSearch { choices, ..self }
    }

    /// The same with other tuning.
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

    /// Searches; `None` if no sequence fits.
    ///
    /// Searches with fewer labels, and with one of the choices alone, come first: their makespans
    /// prune the ways and labels of later searches.
    pub fn run(&self) -> Option<ChainPlan> {
        let (_, most) = memory_range(self.chain).ok()?;
        let most = most.max(self.memory_bytes);
        let slots = self.tuning.bound_slots;
        let bounds = ChainBounds::new(self.chain, self.link, self.choices, most, slots);
        let may_pass = self.choices != Choices::Offload;
        let peaks_are_exact = self.memory_bytes <= self.tuning.slots || !may_pass;
        let bound = bounds.whole(self.memory_bytes, self.may_offload());
        let mut best: Option<ChainPlan> = None;
        for (choices, tuning) in self.ladder() {
            let makespan = best.as_ref().map_or(f64::INFINITY, |plan| plan.makespan);
            let search = self.clone().choices(choices).tuning(tuning);
            let fronts = search.fronts(makespan);
            let found = LabelTree::new(&search, &fronts, &bounds, makespan).run();
            let is_own = (choices, tuning) == (self.choices, self.tuning);
            let before = best.take().map(|plan| (plan.actions, plan.makespan));
            best = found.plan.or(before).map(|(actions, makespan)| {
                let is_exact = found.is_whole && is_own && peaks_are_exact;
                ChainPlan {
                    actions,
                    makespan,
                    bound: if is_exact {
                        makespan
                    } else {
                        bound.min(makespan)
                    },
                    is_exact,
                    labels: found.labels,
                }
            });
        }
        best
    }

    /// The searches, in order.
    fn ladder(&self) -> Vec<(Choices, ChainTuning)> {
        let first = ChainTuning {
            slots: self.tuning.first_slots.min(self.tuning.slots),
            ways: self.tuning.first_ways.min(self.tuning.ways),
            labels: self.tuning.first_labels.min(self.tuning.labels),
            ..self.tuning
        };
        let few = ChainTuning {
            labels: first.labels,
            ..self.tuning
        };
        let mut ladder = vec![(self.choices, first)];
        if self.choices == Choices::Both {
            ladder.extend([(Choices::Recompute, few), (Choices::Offload, few)]);
        }
        ladder.push((self.choices, self.tuning));
        ladder
    }

    /// Returns whether inputs may be offloaded.
    pub(super) fn may_offload(&self) -> bool {
        self.choices != Choices::Recompute && self.link.is_open()
    }

    /// Fronts of all parts that may belong to a sequence faster than a known one.
    fn fronts(&self, makespan: f64) -> Fronts<'_> {
        let back = match self.choices {
            // No value comes back.
            Choices::Recompute => 0.0,
            _ => self.link.back,
        };
        let stages = match self.choices {
            Choices::Offload => &[],
            _ => &self.chain.stages[..],
        };
        let overhead = makespan - self.chain.base_time();
        // A rounding error must not exclude a way.
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

    /// Fronts of the parts of the first `stages` stages.
    fn first_fronts(&self, stages: usize) -> Fronts<'_> {
        let stages = &self.chain.stages[..stages];
        let detail = self.detail(f64::INFINITY);
        Fronts::new(stages, self.memory_bytes, self.link.back, detail)
    }

    /// Least time to run the stages `part` backwards, from the gradient of the last and the input
    /// of the first (`C_Delta` of POFO, section B.3). `kept_bytes` stay on the device, that input
    /// included, and `due_bytes` of other values are back at its end. `None` if no way fits, or if
    /// the part is empty or reaches the loss.
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
        let room = self.memory_bytes.checked_sub(kept_bytes)?;
        let best = self.first_fronts(t + 2).best(s, t, room, due_bytes)?;
        Some(best.0)
    }

    /// Peak in bytes (rounded up to slots), duration and tail of each way to run a part backwards
    /// within the memory that no other way dominates.
    pub fn part_ways(&self, part: std::ops::RangeInclusive<usize>) -> Vec<(u64, f64, f64)> {
        let (s, t) = part.into_inner();
        if s > t || t + 1 >= self.chain.len() {
            return Vec::new();
        }
        self.first_fronts(t + 2).all(s, t)
    }
}
