//! Searches of several kinds in turns: the first answer wins.

use super::rank::{Measure, Preference};
use super::run::{Branching, HeightSearch, Verdict};
use super::state::Ground;
use super::stop::LaneStop;
use rayon::prelude::*;
use remat_search::random::mix;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Numbers that tune the lanes.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct LaneTuning {
    /// Nodes of each lane in the first round, beside one for each item; rounds double them. Found
    /// placements of MiniMalloc's instances take 1,000 to 30,000 nodes.
    pub nodes: u64,
}

impl Default for LaneTuning {
    fn default() -> Self {
        LaneTuning { nodes: 2_000 }
    }
}

/// Kinds of the lanes that continue from round to round. They are complete, so they can refute.
const STEADY: [(Branching, Measure); 4] = [
    (Branching::LowestFewest, Measure::Width),
    (Branching::Tightest, Measure::Size),
    (Branching::Fewest, Measure::Width),
    (Branching::LowestTightest, Measure::Size),
];

/// Kinds of the lanes that restart in each round, with noise.
const RESTARTED: [(Branching, Measure); 6] = [
    (Branching::LowestTightest, Measure::Size),
    (Branching::Fewest, Measure::Width),
    (Branching::Fewest, Measure::Total),
    (Branching::LowestFewest, Measure::Size),
    (Branching::LowestFewest, Measure::Width),
    (Branching::Tightest, Measure::Size),
];

/// A search at one height in rounds, the same on any number of threads.
pub(in super::super) struct HeightLanes<'g, 'p> {
    ground: &'g Ground<'p>,
    height: u64,
    seed: u64,
    steady: Vec<HeightSearch<'g, 'p>>,
    nodes_a_lane: u64,
    /// Rounds so far.
    round: u64,
    /// Nodes so far, of lanes that count.
    pub nodes: u64,
}

impl<'g, 'p> HeightLanes<'g, 'p> {
    /// Lanes at a height in bytes; `None` if an item is too large for it.
    pub fn new(ground: &'g Ground<'p>, height: u64, seed: u64, tuning: LaneTuning) -> Option<Self> {
        let items = ground.problem.items.len() as u64;
        let steady = STEADY.iter().map(|&(branching, measure)| {
            HeightSearch::new(ground, height, Preference::plain(measure), branching)
        });
        Some(HeightLanes {
            ground,
            height,
            seed,
            steady: steady.collect::<Option<_>>()?,
            nodes_a_lane: tuning.nodes + 2 * items,
            round: 0,
            nodes: 0,
        })
    }

    /// Upper bound on the nodes of the next round.
    pub fn next_nodes(&self) -> u64 {
        self.nodes_a_lane * (STEADY.len() + RESTARTED.len()) as u64
    }

    /// One round of all lanes, in the threads of the pool that this is called from, and the lane
    /// that has the answer.
    pub fn round(&mut self, stop: &LaneStop<'_>) -> (Verdict, Option<(Branching, Measure)>) {
        let (seed, round) = (self.seed, self.round);
        let restarted = RESTARTED
            .iter()
            .enumerate()
            .filter_map(|(k, &(branching, measure))| {
                let noise = Some(mix(seed ^ mix(round * RESTARTED.len() as u64 + k as u64)));
                HeightSearch::new(
                    self.ground,
                    self.height,
                    Preference { measure, noise },
                    branching,
                )
            });
        let mut restarted: Vec<_> = restarted.collect();
        let first = AtomicUsize::new(usize::MAX);
        let nodes = self.nodes_a_lane;
        let runs: Vec<&mut HeightSearch<'g, 'p>> =
            self.steady.iter_mut().chain(restarted.iter_mut()).collect();
        let verdicts: Vec<(Verdict, u64)> = runs
            .into_par_iter()
            .with_max_len(1)
            .enumerate()
            .map(|(lane, run)| {
                let before = run.nodes;
                if first.load(Ordering::Relaxed) < lane {
                    return (Verdict::Open, 0);
                }
                let stop = LaneStop {
                    lane: Some((&first, lane)),
                    ..*stop
                };
                let verdict = run.advance(nodes, &stop);
                if verdict != Verdict::Open {
                    first.fetch_min(lane, Ordering::Relaxed);
                }
                (verdict, run.nodes - before)
            })
            .collect();
        self.round += 1;
        self.nodes_a_lane *= 2;
        for (lane, (verdict, nodes)) in verdicts.into_iter().enumerate() {
            self.nodes += nodes;
            if verdict != Verdict::Open {
                let kind = STEADY.iter().chain(&RESTARTED).nth(lane).copied();
                return (verdict, kind);
            }
        }
        (Verdict::Open, None)
    }
}
