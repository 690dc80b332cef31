//! Tuning of a solve with a link.

/// Tuning of the search. No value affects the validity of a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffloadTuning {
    /// Share of the time limit for the plan without copies.
    pub without_share: f64,
    /// Share of the time left for a better plan without copies, if it may beat the best with
    /// copies.
    pub again_share: f64,
    /// Share of the time left for each share of the envelope.
    pub probe_share: f64,
    /// Number of shares of the envelope tried by bisection, beside the whole.
    pub probes: usize,
    /// Relative gap at which the solve of a probe ends.
    pub probe_gap: f64,
    /// Moves of each lane that chooses copies for a probe.
    pub probe_moves: u64,
    /// Sequences that are polished.
    pub candidates: usize,
    /// Share of the time left for polishing them before the bound.
    pub polish_share: f64,
    /// Moves of each lane that polishes, without a time limit.
    pub polish_moves: u64,
    /// Memory beyond the budget, as shares of it, within which computations take faster
    /// implementations before copies are chosen for them.
    pub way_rooms: [f64; 3],
    /// Share of the time left for each of these choices.
    pub way_share: f64,
    /// Share of the time left for plans of first implementations alone, if nodes have several.
    pub first_ways_share: f64,
    /// Shares of the time left for the bound of the interval form with copies: for the root, and
    /// for the root with the tree.
    pub trip_shares: [f64; 2],
    /// Shares above which a tensor of its relaxation counts as kept, on the device or the host.
    pub trip_thresholds: [f64; 3],
    /// Share of the time left for the bound of the envelope.
    pub bound_share: f64,
    /// Largest number of nodes at which a graph is also searched exactly.
    pub exact_nodes: usize,
    /// Maximum number of labels of the exact search; a label takes some 200 bytes.
    pub exact_labels: usize,
    /// Rounds of further shares of the envelope in the rest of a time limit.
    pub further_rounds: usize,
    /// Share of the time left for each further share, and for polishing after them.
    pub further_share: f64,
    /// Shares of the memory for weights that a sharded step first leaves free beside its
    /// computations, to hold weights longer and to gather them ahead.
    pub reserves: [f64; 7],
    /// Share of the time left for the computations beside each of these shares, and for their
    /// gathers.
    pub reserve_time: f64,
    /// Rounds in which the best of these shares are refined.
    pub reserve_rounds: usize,
    /// Lanes that choose copies side by side: fixed, so that the answer does not depend on the
    /// number of threads.
    pub lanes: u64,
}

impl Default for OffloadTuning {
    fn default() -> Self {
        OffloadTuning {
            without_share: 0.1,
            again_share: 0.4,
            probe_share: 0.1,
            probes: 7,
            probe_gap: 1e-3,
            probe_moves: 20_000,
            candidates: 3,
            polish_share: 0.25,
            polish_moves: 100_000,
            way_rooms: [0.03, 0.1, 0.3],
            way_share: 0.03,
            first_ways_share: 0.2,
            trip_shares: [0.5, 0.75],
            trip_thresholds: [0.3, 0.5, 0.7],
            bound_share: 0.7,
            exact_nodes: 16,
            exact_labels: 300_000,
            further_rounds: 2,
            further_share: 0.12,
            reserves: [0.0, 0.03, 0.06, 0.12, 0.25, 0.5, 1.0],
            reserve_time: 0.03,
            reserve_rounds: 3,
            lanes: 4,
        }
    }
}
