//! Settings of a placement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Limit on the nodes of the search if neither nodes nor time are limited.
const DEFAULT_NODES: u64 = 4_000_000;

/// Settings of a placement: the goal, limits, threads and the seed.
#[derive(Clone, Debug, Default)]
pub struct PlaceSettings {
    /// Bytes within which every placement suffices; `None` asks for the least height.
    pub capacity: Option<u64>,
    /// End after this time. Without a limit the work is fixed, and the answer depends only on lives
    /// and settings, on any number of threads.
    pub time_limit: Option<Duration>,
    /// Limit on the nodes of the search. `None` stands for 4,000,000 nodes without a time limit,
    /// and for any number with one.
    pub nodes: Option<u64>,
    /// Worker threads; 0 for one per core. Changes the time, not the answer.
    pub threads: usize,
    /// Seed of all random choices.
    pub seed: u64,
    /// A flag that ends the search with the best placement so far.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl PlaceSettings {
    /// Number of worker threads: the number of cores if it is not set.
    pub fn worker_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Returns whether the user ended the search.
    pub(super) fn is_interrupted(&self) -> bool {
        let flag = self.interrupt.as_ref();
        flag.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Limit on the nodes of the search.
    pub(super) fn nodes_limit(&self) -> u64 {
        let default = if self.time_limit.is_some() {
            u64::MAX
        } else {
            DEFAULT_NODES
        };
        self.nodes.unwrap_or(default)
    }
}

/// Numbers that tune a placement.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceTuning {
    /// Limit on the pairs of buffers live together for placing one by one in many orders (8 bytes
    /// for each pair).
    pub fit_pairs: usize,
    /// Limit on the pairs of buffers live together for an exact search.
    pub search_pairs: usize,
    /// Limit on the sum of the numbers of sections of all buffers for an exact search (4 bytes for
    /// each, in each of eleven lanes).
    pub search_places: u64,
    /// Limit on the number of buffers times the number of sections for an exact search.
    pub search_visits: u64,
    /// Limit on the units for counting sums of sizes (a bit for each, and a pass for each buffer).
    pub sums_units: u64,
    /// Placements of the local search after each round of the exact search without an answer.
    pub local_placements: u64,
    /// Buffers from which first fit by a tree, and evictions before the exact search, are tried.
    pub large_buffers: usize,
    /// Limit on the steps of such a first fit.
    pub fit_steps: u64,
    /// Rounds of evictions before the exact search. With a time limit they take half of the time.
    pub first_rounds: u32,
    /// Rounds of evictions if there is no exact search and no time limit.
    pub only_rounds: u32,
    /// Share of the time that sweeps may take, as a divisor.
    pub sweep_share: u32,
    /// Limit on the buffers for an exact search if some have windows.
    pub window_buffers: usize,
    /// Limit on the nodes of a search that writes down its refutation.
    pub proof_nodes: u64,
    /// Limit on the steps of a refutation that is written down, four bytes each.
    pub proof_steps: usize,
    /// Number of searches for a placement within a budget if the search for the least height ends
    /// above it. Each has twice the nodes of the one before.
    pub fit_rounds: u32,
}

impl Default for PlaceTuning {
    fn default() -> Self {
        PlaceTuning {
            fit_pairs: 8_000_000,
            search_pairs: 3_000_000,
            search_places: 4_000_000,
            search_visits: 100_000_000,
            sums_units: 4_000_000,
            local_placements: 400,
            large_buffers: 2_000,
            fit_steps: 100_000_000,
            first_rounds: 8,
            only_rounds: 24,
            sweep_share: 4,
            window_buffers: 64,
            proof_nodes: 300_000,
            proof_steps: 1_000_000,
            fit_rounds: 4,
        }
    }
}
