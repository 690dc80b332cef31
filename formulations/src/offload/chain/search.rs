//! [`ChainSearch`]: searches with few labels first, that with all of them last.

use super::bounds::Bounds;
use super::fronts::{Detail, Fronts, Rounding};
use super::labels::Tree;
use super::model::{Link, LinkedChain};
use super::sequence::{Action, memory_range};

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
    /// Least time, idle time included.
    pub makespan: f64,
    /// Time that no sequence of the choices takes less than.
    pub bound: f64,
    /// False where ways or labels were left out or peaks rounded: the makespan is then that of a
    /// sequence, and perhaps not the least.
    pub is_exact: bool,
    /// Labels that were looked at in the last search.
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
    /// Slots of peaks of recomputation alone in the largest memory.
    pub recompute_slots: u64,
    /// Larger memories that autocapper tries; POFO has 40.
    pub caps: usize,
}

impl Default for ChainTuning {
    fn default() -> Self {
        ChainTuning {
            slots: 500,
            ways: 4,
            labels: 1_000,
            first: (100, 3, 300),
            bound_slots: 1_000,
            recompute_slots: 2_000,
            caps: 40,
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
        let slots = self.tuning.bound_slots;
        let bounds = Bounds::new(self.chain, self.link, self.choices, most, slots);
        let may_pass = self.choices != Choices::Offload;
        let peaks_are_exact = self.memory_bytes <= self.tuning.slots || !may_pass;
        let mut best: Option<ChainPlan> = None;
        for (choices, tuning) in self.ladder() {
            let makespan = best.as_ref().map_or(f64::INFINITY, |plan| plan.makespan);
            let search = self.clone().choices(choices).tuning(tuning);
            let fronts = search.fronts(makespan);
            let found = Tree::new(&search, &fronts, &bounds, makespan).run();
            let is_last = found.is_whole && choices == self.choices && tuning == self.tuning;
            let plan = found.plan.map(|(actions, makespan)| ChainPlan {
                actions,
                makespan,
                bound: 0.0,
                is_exact: false,
                labels: 0,
            });
            if let Some(plan) = plan.or(best.take()) {
                let is_exact = is_last && peaks_are_exact;
                best = Some(ChainPlan {
                    bound: if is_exact {
                        plan.makespan
                    } else {
                        bounds
                            .whole(self.memory_bytes, self.may_offload())
                            .min(plan.makespan)
                    },
                    is_exact,
                    labels: found.labels,
                    ..plan
                });
            }
        }
        best
    }

    /// The searches, in order.
    fn ladder(&self) -> Vec<(Choices, ChainTuning)> {
        let (slots, ways, labels) = self.tuning.first;
        let first = ChainTuning {
            slots: slots.min(self.tuning.slots),
            ways: ways.min(self.tuning.ways),
            labels: labels.min(self.tuning.labels),
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
        let room = self.memory_bytes.checked_sub(kept_bytes)?;
        let best = self.first_fronts(t + 2).best(s, t, room, due_bytes)?;
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
