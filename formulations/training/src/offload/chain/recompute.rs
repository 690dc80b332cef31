//! Recomputation alone for every memory size: rotor, with fronts shared by all budgets.

use super::bounds::ChainBounds;
use super::fronts::{Detail, Fronts, Rounding};
use super::labels::LabelTree;
use super::model::{Link, LinkedChain};
use super::search::{ChainSearch, ChainTuning, Choices};
use super::sequence::Action;

/// Sequences without copies, for memory sizes up to a limit.
pub(super) struct Recomputation<'a> {
    chain: &'a LinkedChain,
    fronts: Fronts<'a>,
    bounds: ChainBounds,
    tuning: ChainTuning,
}

impl<'a> Recomputation<'a> {
    /// The fronts for memory up to `most_bytes`.
    pub fn new(chain: &'a LinkedChain, most_bytes: u64, tuning: ChainTuning) -> Self {
        let detail = Detail {
            slots: tuning.recompute_slots,
            ways: 2,
            overhead: f64::INFINITY,
            rounding: Rounding::Up,
        };
        let choices = Choices::Recompute;
        let slots = tuning.bound_slots;
        Recomputation {
            chain,
            fronts: Fronts::new(&chain.stages, most_bytes, 0.0, detail),
            bounds: ChainBounds::new(chain, Link::default(), choices, most_bytes, slots),
            tuning: ChainTuning {
                labels: tuning.first_labels.min(tuning.labels),
                ..tuning
            },
        }
    }

    /// The fastest sequence found in `memory_bytes`, within the limits of slots and labels; `None`
    /// if no sequence fits.
    pub fn sequence(&self, memory_bytes: u64) -> Option<Vec<Action>> {
        let search = ChainSearch::new(self.chain, Link::default(), memory_bytes)
            .choices(Choices::Recompute)
            .tuning(self.tuning);
        let tree = LabelTree::new(&search, &self.fronts, &self.bounds, f64::INFINITY);
        Some(tree.run().plan?.0)
    }

    /// The fastest way to rerun stages `first..=last` and run them backwards, in `room` bytes
    /// beside the input of the first; `None` if no way fits.
    pub fn part(&self, first: usize, last: usize, room: u64) -> Option<Vec<Action>> {
        let (_, way) = self.fronts.best(first, last, room, 0.0)?;
        let mut actions = Vec::new();
        self.fronts.actions(first, last, way, &mut actions);
        Some(actions)
    }
}
