//! Settings of a search for an order.

use std::time::{Duration, Instant};

/// Settings: limits, threads and the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderSettings {
    /// End after this time, with the best order and bound so far. Without a limit the work ends
    /// with the proof or by `states`, and the answer depends on graph and settings alone.
    pub time_limit: Option<Duration>,
    /// Moment from which the time counts, where that is not the call.
    pub begun: Option<Instant>,
    /// Stop when an order within so many bytes is found, or is proven not to exist.
    pub budget_bytes: Option<u64>,
    /// Executed sets that the exact search of each direction looks at, at most.
    pub states: u64,
    /// Worker threads; 0 for one per core. Changes the time, not the answer.
    pub threads: usize,
    /// Seed of random choices.
    pub seed: u64,
    /// Numbers that tune.
    pub tuning: OrderTuning,
}

impl Default for OrderSettings {
    fn default() -> Self {
        OrderSettings {
            time_limit: None,
            begun: None,
            budget_bytes: None,
            states: 2_000_000,
            threads: 0,
            seed: 0,
            tuning: OrderTuning::default(),
        }
    }
}

impl OrderSettings {
    /// Number of worker threads: that of the cores where it is not set.
    pub fn worker_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

/// Numbers that tune the search. None changes what is proven.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderTuning {
    /// Operators of a graph up to which it is worked out who is behind whom: the two tables take
    /// `operators^2 / 4` bytes. Larger graphs get baselines and the working-set bound.
    pub reach_operators: usize,
    /// Operators of a block whose best order is worked out by a dynamic programme over at most two
    /// to the power of so many sets; larger ones are branched on. 12 answers in a millisecond.
    pub block_operators: usize,
    /// Memory of the states of one search, in bytes.
    pub state_bytes: usize,
    /// States of the first rounds, in which the exact searches are alone until they have looked at
    /// two for each operator: training graphs end before. Then each round has twice as many as the
    /// one before, up to `round_states`.
    pub first_states: u64,
    /// States of a round at most: between two rounds the searches exchange what they found.
    pub round_states: u64,
}

impl Default for OrderTuning {
    fn default() -> Self {
        OrderTuning {
            reach_operators: 30_000,
            block_operators: 12,
            state_bytes: 1 << 28,
            first_states: 256,
            round_states: 1 << 14,
        }
    }
}
