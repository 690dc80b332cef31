//! Tuning of the search for orders.

/// Tuning of the search. No value affects the validity of a bound.
#[derive(Clone, Debug, PartialEq)]
pub struct ReorderTuning {
    /// Share of the time limit for the order of the instance, which is solved first.
    pub given_share: f64,
    /// Share of the time left after that for the search of orders; the rest is for the proof in the
    /// best order.
    pub search_share: f64,
    /// Share of the time left for finding the order with the least peak without recomputation.
    pub peak_share: f64,
    /// Maximum number of executed sets in the search for that order.
    pub peak_states: u64,
    /// Number of other orders of the same peak that are evaluated.
    pub alternatives: usize,
    /// Number of neighbours evaluated in parallel; fixed, so that the answer does not depend on the
    /// number of threads.
    pub lanes: usize,
    /// Maximum number of rounds of neighbours without a time limit.
    pub rounds: usize,
    /// Rounds without a better order after which the search is shaken.
    pub idle_rounds: usize,
    /// Shakes without a better order after which the search ends, without a time limit.
    pub idle_shakes: usize,
    /// Maximum number of moves of a shake.
    pub shake_moves: u32,
    /// Moves per node of the annealing that evaluates an order.
    pub moves_per_node: u64,
    /// Maximum number of such moves.
    pub moves_limit: u64,
    /// Largest number of nodes for which neighbours are also annealed from sets that retain
    /// everything.
    pub twice_node_limit: usize,
    /// Factor by which orders from elsewhere get more such moves than neighbours.
    pub fresh_factor: u64,
    /// The steps of the best plan are put in a better order once in this many rounds that found a
    /// better order.
    pub improve_rounds: usize,
    /// Largest number of nodes for which orders are searched move by move; for larger graphs only
    /// the orders with least peak are evaluated.
    pub node_limit: usize,
}

impl Default for ReorderTuning {
    fn default() -> Self {
        ReorderTuning {
            given_share: 0.3,
            search_share: 0.6,
            peak_share: 0.1,
            peak_states: 50_000,
            alternatives: 8,
            lanes: 8,
            rounds: 600,
            idle_rounds: 12,
            idle_shakes: 20,
            shake_moves: 6,
            moves_per_node: 96,
            moves_limit: 1 << 13,
            twice_node_limit: 40,
            fresh_factor: 4,
            improve_rounds: 4,
            node_limit: 3_000,
        }
    }
}
