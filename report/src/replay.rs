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
    cost: u64,
    compute_cost: u64,
    idle: u64,
    makespan: u64,
    base_cost: u64,
    overhead_percent: f64,
    cost_unit: &'a str,
    peak_memory_bytes: u64,
    #[schemars(with = "String")]
    peak_at: Name,
    to_host_bytes: u64,
    from_host_bytes: u64,
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
