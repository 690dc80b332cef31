//! Settings of a search for an order.

use std::time::{Duration, Instant};

/// Settings: limits, threads and the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderSettings {
    /// End after this time, with the best order and bound so far. Without a limit the work ends
    /// with the proof or by `states`, and the answer depends only on graph and settings.
    pub time_limit: Option<Duration>,
    /// Moment from which the time counts; `None` for the call.
    pub begun: Option<Instant>,
    /// Stop when an order within so many bytes is found, or is proven not to exist.
    pub budget_bytes: Option<u64>,
    /// Limit on the executed sets that the exact search of each direction visits.
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
    /// Number of worker threads: the number of cores if it is not set.
    pub fn worker_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }
}

/// Numbers that tune the search. They do not change proven bounds.
#[derive(Clone, Debug, PartialEq)]
pub struct OrderTuning {
    /// Limit on the operators of a graph with tables of transitive precedence: the two tables take
    /// `operators^2 / 4` bytes. Larger graphs get baselines and the working-set bound.
    pub reach_operators: usize,
    /// Limit on the operators of a block whose best order is computed by a dynamic programme. The
    /// programme has at most two to the power of so many sets. Larger blocks are branched on. 12
    /// answers in a millisecond.
    pub block_operators: usize,
    /// Memory of the states of one search, in bytes.
    pub state_bytes: usize,
    /// States of the first rounds, in which the exact searches are alone until they have visited
    /// two states for each operator. Training graphs end before. Then each round has twice as many
    /// states as the one before, up to `round_states`.
    pub first_states: u64,
    /// Limit on the states of a round. Between two rounds the searches exchange their results.
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
