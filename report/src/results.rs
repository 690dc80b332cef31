//! Results as JSON: the objects that commands print.

use crate::counted;
use remat_formulations::life::layers::Stack;
use remat_formulations::options::SolveOptions;
use remat_instances::Instance;
use remat_instances::budget::format_bytes;
use remat_instances::order::{OrderGraph, Variant};
use remat_memory::place::PlacedPlan;
use remat_search::{Settings, relative_gap};
use schemars::JsonSchema;
use serde::Serialize;
use std::time::Duration;

/// The version of this program in results.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// An object as JSON, with a line break at its end.
pub fn json(object: &impl Serialize) -> String {
    // Plain structs with text keys and finite numbers (others become null) always have a JSON form.
    let mut text =
        serde_json::to_string(object).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
    text.push('\n');
    text
}

/// Program and instance of a result.
#[derive(Serialize, JsonSchema)]
pub struct OriginJson<'a> {
    /// Version of this program.
    version: &'static str,
    /// Name of the instance.
    instance: &'a str,
    /// SHA-256 of the instance as the formulation sees it (`checkmate`: first implementations
    /// only), in the form that `zoo export` writes.
    instance_sha256: String,
}

impl<'a> OriginJson<'a> {
    /// This program, and an instance in the formulation's view.
    pub fn of(instance: &'a Instance) -> Self {
        OriginJson {
            version: VERSION,
            instance: instance.name(),
            instance_sha256: instance.digest(),
        }
    }
}

/// Settings of a search in results.
#[derive(Serialize, JsonSchema)]
pub struct SearchJson {
    /// Settings of this program's own search as given, for each budget or batch.
    settings: SettingsJson,
    /// Number of worker threads, as used.
    threads: usize,
    /// Seed of all random choices, as used.
    seed: u64,
}

/// Requested settings, except threads and seed.
#[derive(Serialize, JsonSchema)]
struct SettingsJson {
    /// Time limit in seconds; null without a limit.
    time_limit_seconds: Option<f64>,
    /// Relative gap `(objective - bound) / objective` at which the search ends.
    gap: f64,
    /// Number of nodes of the tree solved side by side; 0 for the default.
    lanes: usize,
}

impl SearchJson {
    /// Settings as requested, threads and seed as used.
    pub fn of(settings: &Settings) -> Self {
        SearchJson {
            settings: SettingsJson {
                time_limit_seconds: settings.time_limit.map(|t| t.as_secs_f64()),
                gap: settings.gap,
                lanes: settings.lanes,
            },
            threads: settings.worker_threads(),
            seed: settings.seed,
        }
    }
}

/// A graph whose operators may run in another order, in results.
#[derive(Serialize, JsonSchema)]
pub struct GraphJson<'a> {
    /// Version of this program.
    version: &'static str,
    /// Name of the graph.
    instance: &'a str,
    /// SHA-256 of the graph.
    instance_sha256: String,
    /// Edges that orders respect: `free` (data), `sound` (also tensors overwritten in place),
    /// `sound+rng` (also random numbers in the program's order) or `ctl` (data and OLLA's control
    /// edges).
    variant: &'static str,
    /// Number of operators.
    operators: usize,
    /// Resident memory in bytes.
    base_memory_bytes: u64,
    /// Peak of the program's own order in bytes; null if the variant excludes this order.
    program_peak_bytes: Option<u64>,
}

impl<'a> GraphJson<'a> {
    /// A graph under a variant, and the peak of its program's order where the variant allows it.
    pub fn of(graph: &'a OrderGraph, variant: Variant, program_peak_bytes: Option<u64>) -> Self {
        GraphJson {
            version: VERSION,
            instance: graph.name(),
            instance_sha256: graph.digest(),
            variant: variant.as_str(),
            operators: graph.len(),
            base_memory_bytes: graph.base_bytes(),
            program_peak_bytes,
        }
    }
}

/// A value in bytes with its bound, in results.
#[derive(Serialize, JsonSchema)]
pub struct ProvenJson {
    /// `optimal`, `feasible` (the result is within the budget or capacity, or its bound is lower),
    /// `infeasible` (proven: no result is within it), `limit` (no result within it in time) or
    /// `interrupted`.
    status: &'static str,
    /// Replayed value of the result in bytes: the peak of an order, the height of a placement, or
    /// resident memory and arena of both together.
    objective: u64,
    /// Proven lower bound on the objective in bytes; null if a rule gave the order.
    bound: Option<u64>,
    /// `(objective - bound) / objective`; null without a bound.
    gap: Option<f64>,
    /// Class of results that the bound covers: `orders`, `placements` or `orders-and-placements`.
    bound_scope: &'static str,
    /// Time in seconds.
    seconds: f64,
    /// Work: executed sets of the search for an order, nodes of the search for addresses, or both.
    nodes: u64,
    /// Always 0: the search solves no linear programs.
    lp_iterations: u64,
    /// The objective.
    peak_memory_bytes: u64,
    /// Budget or capacity in bytes; null without one.
    budget_bytes: Option<u64>,
}

impl ProvenJson {
    /// A value with the seconds and nodes of its search, and a bound on all objects of `scope`.
    pub fn of(
        status: &'static str,
        (objective, bound): (u64, Option<u64>),
        scope: &'static str,
        budget_bytes: Option<u64>,
        (seconds, nodes): (f64, u64),
    ) -> Self {
        ProvenJson {
            status,
            objective,
            bound,
            gap: bound.map(|bound| relative_gap(objective, bound)),
            bound_scope: scope,
            seconds,
            nodes,
            lp_iterations: 0,
            peak_memory_bytes: objective,
            budget_bytes,
        }
    }
}

/// Limits of a search without a gap, in results.
#[derive(Serialize, JsonSchema)]
pub struct WorkJson {
    /// Settings of this program's own search, as given.
    settings: LimitJson,
    /// Number of worker threads, as used.
    threads: usize,
    /// Seed of all random choices, as used.
    seed: u64,
}

/// Requested limits.
#[derive(Serialize, JsonSchema)]
struct LimitJson {
    /// Time limit in seconds; null without a limit.
    time_limit_seconds: Option<f64>,
}

impl WorkJson {
    /// The time limit as requested, threads and seed as used.
    pub fn of(time_limit: Option<Duration>, workers: &SolveOptions) -> Self {
        let settings = workers.settings();
        WorkJson {
            settings: LimitJson {
                time_limit_seconds: time_limit.map(|limit| limit.as_secs_f64()),
            },
            threads: settings.worker_threads(),
            seed: settings.seed,
        }
    }
}

/// Addresses of a plan in results; null without addresses.
#[derive(Serialize, JsonSchema, Default)]
pub struct ArenaJson {
    /// Size of the arena in bytes; null without addresses.
    arena_bytes: Option<u64>,
    /// Proven lower bound in bytes on every arena for this plan and alignment (`verify`, `show`:
    /// the largest load of one computation); null without addresses.
    arena_bound_bytes: Option<u64>,
    /// Divisor of all offsets in bytes; null without addresses.
    alignment_bytes: Option<u64>,
    /// Size of the arena above the plan's peak, as a fraction of the peak; null without addresses.
    fragmentation: Option<f64>,
}

/// Sizes of a plan's addresses: the arena, its lower bound, the plan's peak, and the alignment, all
/// in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Arena {
    /// Size of the arena.
    pub bytes: u64,
    /// Proven lower bound on every arena for the plan and the alignment, in bytes.
    pub bound_bytes: u64,
    /// Peak of the plan's replay.
    pub peak_bytes: u64,
    /// Divisor of all offsets.
    pub alignment_bytes: u64,
}

impl Arena {
    /// The arena of a plan that was placed.
    pub fn of(placed: &PlacedPlan) -> Self {
        Arena {
            bytes: placed.arena_bytes(),
            bound_bytes: placed.bound_bytes,
            peak_bytes: placed.peak_bytes,
            alignment_bytes: placed.addresses.alignment_bytes,
        }
    }

    /// Size above the plan's peak, as a fraction of it.
    pub fn fragmentation(&self) -> f64 {
        match self.peak_bytes {
            0 => 0.0,
            peak => self.bytes as f64 / peak as f64 - 1.0,
        }
    }

    /// The arena's fields in results.
    pub fn json(&self) -> ArenaJson {
        ArenaJson {
            arena_bytes: Some(self.bytes),
            arena_bound_bytes: Some(self.bound_bytes),
            alignment_bytes: Some(self.alignment_bytes),
            fragmentation: Some(self.fragmentation()),
        }
    }

    /// Size, loss and bound in words, and for a budget whether the arena fits.
    pub fn words(&self, budget_bytes: Option<u64>) -> String {
        let mut text = format!(
            "{} ({} bytes) at multiples of {}",
            format_bytes(self.bytes),
            self.bytes,
            counted(self.alignment_bytes, "byte")
        );
        if self.bytes == self.peak_bytes {
            text += ": the plan's peak, nothing is lost to fragmentation";
        } else {
            text += &format!(
                ": {} bytes ({:.3}%) above the plan's peak",
                self.bytes - self.peak_bytes.min(self.bytes),
                self.fragmentation() * 100.0
            );
            text += &match self.bytes.saturating_sub(self.bound_bytes) {
                0 => "; no arena at this alignment is smaller".into(),
                _ => format!("; no arena is below {} bytes", self.bound_bytes),
            };
        }
        if let Some(budget) = budget_bytes.filter(|budget| self.bytes > *budget) {
            text += &format!(
                "; that is {} bytes ABOVE THE BUDGET of {}",
                self.bytes - budget,
                format_bytes(budget)
            );
            text += match self.peak_bytes <= budget {
                false => "",
                true if self.bound_bytes > budget => ": a smaller --alignment may fit",
                true => ": a longer search (place), or a plan for a little less, may fit",
            };
        }
        text
    }
}

/// A stack of equal layers in results.
#[derive(Serialize, JsonSchema)]
pub struct LayersJson {
    /// Number of equal layers.
    layers: u32,
    /// Forward nodes of one layer.
    forward_nodes: u32,
    /// Backward nodes of one layer.
    backward_nodes: u32,
}

impl LayersJson {
    /// The stacks of an instance, in the order of the forward pass.
    pub fn of(stacks: &[Stack]) -> Vec<LayersJson> {
        let one = |stack: &Stack| LayersJson {
            layers: stack.layers,
            forward_nodes: stack.forward,
            backward_nodes: stack.backward,
        };
        stacks.iter().map(one).collect()
    }
}
