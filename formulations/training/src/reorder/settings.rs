//! Numbers that tune the search for orders.

/// Numbers that tune the search. None changes what is proven.
#[derive(Clone, Debug, PartialEq)]
pub struct ReorderTuning {
    /// Share of the time limit for the order of the instance, which is solved first.
    pub given_share: f64,
    /// Share of the time that is left then for the search of orders; the rest is for the proof in
    /// the best one.
    pub search_share: f64,
    /// Share of the time that is left for the order with the least peak without recomputation.
    pub peak_share: f64,
    /// Executed sets for that order.
    pub peak_states: u64,
    /// Other orders of the same peak that are judged.
    pub alternatives: usize,
    /// Neighbours that are judged side by side: fixed, so that the answer does not depend on the
    /// number of threads.
    pub lanes: usize,
    /// Rounds of neighbours at most where there is no time limit.
    pub rounds: usize,
    /// Rounds without a better order after which the search is shaken, and after so many shakes
    /// without a better one it ends where there is no time limit.
    pub idle_rounds: usize,
    /// Shakes without a better order after which the search ends, without a time limit.
    pub idle_shakes: usize,
    /// Moves of a shake at most.
    pub shake_moves: u32,
    /// Moves of the annealing that judges an order, for each node.
    pub moves_per_node: u64,
    /// Such moves at most.
    pub moves_limit: u64,
    /// Nodes up to which neighbours are annealed from sets that retain everything, too.
    pub twice_node_limit: usize,
    /// Such moves for orders that come from elsewhere, in multiples of those for neighbours.
    pub fresh_factor: u64,
    /// Better plans' steps are put in order once in so many rounds that found a better order.
    pub improve_rounds: usize,
    /// Nodes up to which orders are searched move by move; beyond, only the orders with least peak
    /// are judged.
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
