//! Objects that `exec`, `profile` and `train-check` print as JSON. Programs without libtorch have
//! them for their schemas.

use schemars::JsonSchema;
use serde::Serialize;

/// The object of `remat-bb exec --json`.
#[derive(Serialize, JsonSchema)]
pub struct ExecJson<'a> {
    /// Name of the instance.
    pub instance: &'a str,
    /// Name of the device.
    pub device: &'a str,
    /// Predicted time and memory.
    pub predicted: Predicted,
    /// Measured time and memory.
    pub measured: MeasuredJson,
    /// Arena that the plan ran from; null for a run without an arena.
    pub arena: Option<RunArenaJson>,
    /// Copies to the host and back; null for a plan without copies.
    pub copies: Option<CopiesJson>,
    /// Loss of the step.
    pub loss: f64,
    /// Comparison of gradients with plain training; null without `--check`, or if plain training
    /// does not fit the device.
    pub gradients: Option<GradientsJson>,
    /// Claims of the plan that `--check` refutes, in words.
    pub differences: &'a [String],
    /// Computations in the order of the plan.
    pub computations: Vec<Computation<'a>>,
}

/// Predicted time and memory.
#[derive(Serialize, JsonSchema)]
pub struct Predicted {
    /// Time of the computations in seconds; null if costs have no unit of time.
    pub seconds: Option<f64>,
    /// Peak memory in bytes.
    pub peak_memory_bytes: u64,
}

/// Measured time and memory of several runs.
#[derive(Serialize, JsonSchema)]
pub struct MeasuredJson {
    /// Median time in seconds.
    pub seconds: f64,
    /// Least time in seconds.
    pub least_seconds: f64,
    /// Greatest time in seconds.
    pub greatest_seconds: f64,
    /// Peak memory in bytes.
    pub peak_memory_bytes: u64,
    /// Memory that libtorch reserved, in bytes.
    pub reserved_bytes: u64,
}

/// The arena of a run.
#[derive(Serialize, JsonSchema)]
pub struct RunArenaJson {
    /// Size of the arena in bytes.
    pub arena_bytes: u64,
    /// Largest end of a tensor in the arena, in bytes.
    pub used_bytes: u64,
    /// Part of `outside_bytes` that stays for the whole step, in bytes.
    pub beside_bytes: u64,
    /// Largest amount allocated outside of the arena, in bytes.
    pub outside_bytes: u64,
}

/// Copies to the host and back.
#[derive(Serialize, JsonSchema)]
pub struct CopiesJson {
    /// Peak in host memory in bytes.
    pub host_peak_bytes: u64,
    /// Predicted peak in host memory in bytes.
    pub predicted_host_peak_bytes: u64,
    /// Storage for copies in host memory, in bytes.
    pub host_arena_bytes: u64,
    /// Bytes copied to the host.
    pub to_host_bytes: u64,
    /// Bytes copied back.
    pub from_host_bytes: u64,
    /// Wall time of the whole step in seconds.
    pub makespan_seconds: f64,
    /// Predicted time of the whole step in seconds; null if costs have no unit of time.
    pub predicted_makespan_seconds: Option<f64>,
    /// Wall time in seconds in which computations waited for copies.
    pub idle_seconds: f64,
    /// Predicted waiting time in seconds; null if costs have no unit of time.
    pub predicted_idle_seconds: Option<f64>,
}

/// Gradients compared with a reference.
#[derive(Serialize, JsonSchema)]
pub struct GradientsJson {
    /// True if they are equal in every bit.
    pub equal: bool,
    /// Largest difference, divided by the largest entry of the parameter's gradient.
    pub largest_relative_difference: f64,
}

/// A computation of a run.
#[derive(Serialize, JsonSchema)]
pub struct Computation<'a> {
    /// Name of the node.
    pub node: &'a str,
    /// Measured time in seconds.
    pub seconds: f64,
    /// Predicted memory during the computation in bytes; null if unknown.
    pub predicted_bytes: Option<u64>,
    /// Measured memory during the computation in bytes.
    pub peak_bytes: u64,
}

/// The object of `remat-bb profile --json`.
#[derive(Serialize, JsonSchema)]
pub struct ProfileJson<'a> {
    /// Name of the instance.
    pub instance: &'a str,
    /// Name of the device.
    pub device: &'a str,
    /// Link to pinned host memory; null on the CPU.
    pub link: Option<LinkJson>,
    /// Nodes of the instance.
    pub nodes: Vec<NodeJson<'a>>,
}

/// A measured link to host memory.
#[derive(Serialize, JsonSchema)]
pub struct LinkJson {
    /// Speed to the host, in bytes per second.
    pub to_host_bytes_per_second: u64,
    /// Speed from the host, in bytes per second.
    pub from_host_bytes_per_second: u64,
    /// Time of every copy beside its bytes, in nanoseconds.
    pub latency_ns: u64,
    /// `full` (both directions at once) or `half`.
    pub duplex: &'static str,
    /// Measured speeds, by size.
    pub points: Vec<PointJson>,
}

/// Speeds of copies of one size.
#[derive(Serialize, JsonSchema)]
pub struct PointJson {
    /// Size of the copy in bytes.
    pub bytes: u64,
    /// Speed to the host alone, in bytes per second.
    pub to_host_bytes_per_second: f64,
    /// Speed from the host alone, in bytes per second.
    pub from_host_bytes_per_second: f64,
    /// Speed of both directions at once, in bytes per second.
    pub both_bytes_per_second: f64,
}

/// A measured node.
#[derive(Serialize, JsonSchema)]
pub struct NodeJson<'a> {
    /// Name of the node.
    pub name: &'a str,
    /// Size of its output in bytes.
    pub output_bytes: u64,
    /// Its implementations.
    pub implementations: Vec<ImplementationJson<'a>>,
    /// Its computation in place; null for a node that cannot overwrite its input.
    pub in_place: Option<ImplementationJson<'a>>,
}

/// A measured way to compute a node.
#[derive(Serialize, JsonSchema)]
pub struct ImplementationJson<'a> {
    /// Name of the implementation.
    pub name: &'a str,
    /// Median time in seconds.
    pub seconds: f64,
    /// Confidence interval of the median in seconds: 95%, or less for few runs.
    pub interval: [f64; 2],
    /// Workspace in bytes.
    pub workspace_bytes: i64,
    /// Bytes of the forward pass that a backward node reads; 0 for a forward node.
    pub saved_bytes: u64,
}

/// The object of `remat-bb train-check --json`.
#[derive(Serialize, JsonSchema)]
pub struct TrainCheckJson<'a> {
    /// Name of the instance.
    pub instance: &'a str,
    /// Name of the device.
    pub device: &'a str,
    /// Integer program that was solved: `checkmate` or `monet`.
    pub formulation: &'a str,
    /// Status of the solve: `optimal` (within the gap), `feasible`, `infeasible` (proven: no stage
    /// schedule fits), `limit` (no plan in time) or `interrupted`.
    pub status: &'a str,
    /// Memory budget in bytes.
    pub budget_bytes: u64,
    /// Plans that ran: without recomputation, of this program, and of heuristics that fit.
    pub plans: &'a [StrategyRun],
}

/// Time and memory of a plan, predicted and measured.
#[derive(Serialize, JsonSchema)]
pub struct StrategyRun {
    /// Name of the strategy.
    pub strategy: &'static str,
    /// Predicted time in seconds; null if costs have no unit of time.
    pub predicted_seconds: Option<f64>,
    /// Median time in seconds; null if the device has too little memory.
    pub measured_seconds: Option<f64>,
    /// Least time in seconds; null if the device has too little memory.
    pub least_seconds: Option<f64>,
    /// Greatest time in seconds; null if the device has too little memory.
    pub greatest_seconds: Option<f64>,
    /// Predicted peak memory in bytes.
    pub predicted_bytes: u64,
    /// Measured peak memory in bytes; null if the device has too little memory.
    pub measured_bytes: Option<u64>,
    /// Memory that libtorch reserved, in bytes; null if the device has too little memory.
    pub reserved_bytes: Option<u64>,
    /// Comparison with the first plan that ran, which is plain training if that fits the device;
    /// null for that plan, or if the device has too little memory.
    pub gradients: Option<GradientsJson>,
}
