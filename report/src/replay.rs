//! Findings of a replay as JSON.

use crate::moment;
use remat_instances::Instance;
use remat_instances::name::Name;
use remat_instances::simulate::Replay;
use schemars::JsonSchema;
use serde::Serialize;

/// Findings of a replay in results.
#[derive(Serialize, JsonSchema)]
pub struct ReplayJson<'a> {
    /// Cost of the step; with copies the makespan.
    cost: u64,
    /// Cost of the computations alone.
    compute_cost: u64,
    /// Time that computations wait for copies, in the unit of costs.
    idle: u64,
    /// Duration of the step, computations and their waiting for copies, in the unit of costs.
    makespan: u64,
    /// Cost of the step without recomputation.
    base_cost: u64,
    /// Cost above `base_cost`, in percent of `base_cost`.
    overhead_percent: f64,
    /// Unit of all costs and times.
    cost_unit: &'a str,
    /// Replayed peak memory in bytes.
    peak_memory_bytes: u64,
    /// Node or copy at the peak.
    #[schemars(with = "String")]
    peak_at: Name,
    /// Bytes copied to the host.
    to_host_bytes: u64,
    /// Bytes copied back.
    from_host_bytes: u64,
    /// Peak in host memory in bytes.
    host_peak_bytes: u64,
}

impl<'a> ReplayJson<'a> {
    /// The findings of a replay of an instance.
    pub fn of(instance: &'a Instance, replay: &Replay) -> Self {
        let transfers = &replay.transfers;
        ReplayJson {
            cost: replay.makespan,
            compute_cost: replay.cost,
            idle: replay.idle(),
            makespan: replay.makespan,
            base_cost: replay.base_cost,
            overhead_percent: replay.overhead_percent(),
            cost_unit: &instance.cost_unit().name,
            peak_memory_bytes: replay.peak_bytes,
            peak_at: moment(instance, replay),
            to_host_bytes: transfers.to_host_bytes,
            from_host_bytes: transfers.from_host_bytes,
            host_peak_bytes: transfers.host_peak_bytes,
        }
    }
}
