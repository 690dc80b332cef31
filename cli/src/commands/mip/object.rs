//! The object that `mip --json` prints.

use super::exact::ExactJson;
use remat_solver::mip::{ComponentRow, Settings};
use schemars::JsonSchema;
use serde::Serialize;

/// The published program that a model was solved as.
#[derive(Serialize, JsonSchema)]
pub struct Recognised {
    /// `checkmate`, `poet`, `monet`, `olla-order`, `olla-place` or `olla`.
    pub program: &'static str,
    /// Number of nodes of its graph, or of its buffers.
    pub nodes: usize,
}

/// The object of `remat-bb mip --json`. Unknown values are null.
#[derive(Serialize, JsonSchema)]
pub struct MipJson<'a> {
    /// `optimal` (within the gaps), `feasible`, `infeasible`, `cutoff` (no solution is better than
    /// the cutoff), `unbounded`, `infeasible or unbounded` (the relaxation is unbounded, and no
    /// point was found), `limit` (no solution) or `interrupted`.
    pub status: &'a str,
    /// Version of this program.
    pub version: &'a str,
    /// Reason for the end: `complete`, `time limit`, `node limit`, `tick limit`, `memory limit`,
    /// `interrupt`, or leaves that numerical trouble left open.
    pub end: &'a str,
    /// Objective of the best solution; null without one.
    pub objective: Option<f64>,
    /// Proven bound on every solution, nodes pruned within the gaps included; null if it is
    /// infinite.
    pub bound: Option<f64>,
    /// `abs(objective - bound) / abs(objective)`, 0 for a closed tree; null if it is infinite.
    pub gap: Option<f64>,
    /// Time in seconds, also before a `--resume`.
    pub seconds: f64,
    /// Number of nodes, also before a `--resume`.
    pub nodes: u64,
    /// Number of simplex iterations, also before a `--resume`.
    pub lp_iterations: u64,
    /// Deterministic work, also before a `--resume`; a tick is about one matrix entry touched.
    pub ticks: u64,
    /// Bound after the cuts of the root; null if it is infinite.
    pub root_bound: Option<f64>,
    /// Method that found the best solution; null without one.
    pub found_by: Option<&'a str>,
    /// Published program that the model was solved as; null for the general search.
    pub recognised: Option<Recognised>,
    /// Objectives of the kept solutions, the best first.
    pub pool: Vec<f64>,
    /// Seconds and objective of each solution, in the order in which they were found.
    pub incumbents: &'a [(f64, f64)],
    /// Name of the model.
    pub model: &'a str,
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Number of nonzeros.
    pub nonzeros: usize,
    /// Number of integer columns.
    pub integers: usize,
    /// Numbers of rows and columns after presolve.
    pub presolved: [u64; 2],
    /// Number of cuts in the linear program after the root.
    pub cuts: u64,
    /// Number of restarts.
    pub restarts: u64,
    /// Number of linear programs of strong branching.
    pub strong_branchings: u64,
    /// Number of bounds that ignored small reduced costs on columns without bounds.
    pub unproven_bounds: u64,
    /// Number of nodes that went through node files.
    pub spilled_nodes: u64,
    /// True if the requested certificate was written; null if none was requested.
    pub certificate: Option<bool>,
    /// True if the final state was written; null without `--checkpoint`.
    pub checkpoint: Option<bool>,
    /// Answer in rational numbers; null without `--exact`.
    pub exact: Option<ExactJson<'a>>,
    /// All settings by name, as `--params` and `--set` take them.
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    pub settings: &'a Settings,
    /// Number of worker threads, as used.
    pub threads: usize,
    /// Seed of all random choices, as used.
    pub seed: u64,
    /// Seed of `--permute`; null without it.
    pub permuted: Option<u64>,
    /// Work of each component: `component` (`presolve`, `separator`, `heuristic`, `branching`,
    /// `propagation` or `relaxation`), `name`, `calls`, `successes`, `found`, `kept`, `ticks`,
    /// `lp_iterations`, `bound_change` (in units of the objective) and `seconds` (of all threads
    /// together); null without `--statistics`.
    #[schemars(with = "Option<Vec<serde_json::Map<String, serde_json::Value>>>")]
    pub statistics: Option<&'a [ComponentRow]>,
}
