//! Costs, sizes and tables as text.

use crate::arguments::WorkerOptions;
use remat_formulations::life::layers::Stack;
use remat_instances::Instance;
use remat_instances::budget::format_bytes;
use remat_instances::instance::CostUnit;
use remat_instances::name::Name;
use remat_instances::order::{OrderGraph, Variant};
use remat_instances::simulate::Replay;
use remat_memory::place::PlacedPlan;
use remat_search::Settings;
use serde::Serialize;
use std::time::Duration;

/// A cost as text: as a time where the unit is one, for example `1.228 s`, otherwise with the
/// unit's name.
///
/// ```
/// use remat_bb::report::cost;
/// use remat_instances::instance::CostUnit;
/// assert_eq!(cost(2_500_000, &CostUnit::nanoseconds()), "2.500 ms");
/// assert_eq!(cost(1, &CostUnit::arbitrary()), "1 unit");
/// ```
pub fn cost(cost: u64, unit: &CostUnit) -> String {
    match unit.nanoseconds {
        None => unit.amount(cost),
        Some(each) => {
            let (scale, name) = time_unit(cost as f64 * each);
            format!("{:.3} {name}", cost as f64 * each / scale)
        }
    }
}

/// The unit in which a time of so many nanoseconds reads best: nanoseconds in it, and its name.
pub fn time_unit(nanoseconds: f64) -> (f64, &'static str) {
    match nanoseconds {
        t if t >= 1e9 => (1e9, "s"),
        t if t >= 1e6 => (1e6, "ms"),
        t if t >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    }
}

/// A number as people write it: no more than twelve digits that count, and a power of ten only
/// beyond 1e15 or below 1e-5.
///
/// ```
/// use remat_bb::report::number;
/// assert_eq!(number(1120.0), "1120");
/// assert_eq!(number(-464.75314286), "-464.75314286");
/// assert_eq!(number(1.0 / 3.0), "0.333333333333");
/// assert_eq!(number(2.5e-9), "2.5e-9");
/// assert_eq!(number(1e30), "1e30");
/// ```
pub fn number(v: f64) -> String {
    if v == 0.0 || !v.is_finite() {
        return if v == 0.0 { "0".into() } else { v.to_string() };
    }
    let trimmed = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    let size = v.abs();
    if !(1e-5..1e15).contains(&size) {
        let text = format!("{v:.11e}");
        return match text.split_once('e') {
            Some((digits, exponent)) => format!("{}e{exponent}", trimmed(digits.into())),
            None => text,
        };
    }
    let whole = size.log10().floor() as i32 + 1;
    let places = (12 - whole).max(0) as usize;
    trimmed(format!("{v:.places$}"))
}

/// A number of things, in words.
///
/// ```
/// use remat_bb::report::counted;
/// assert_eq!(counted(1u64, "thread"), "1 thread");
/// assert_eq!(counted(2u64, "thread"), "2 threads");
/// ```
pub fn counted(count: impl Into<u64>, thing: &str) -> String {
    match count.into() {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}

/// Bytes as GiB.
pub fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// The moment of a replay's peak, by name.
pub fn moment(instance: &Instance, replay: &Replay) -> Name {
    if let Some(node) = replay.peak_at.node {
        return instance.node(node).name.clone();
    }
    let mut copies = replay.transfers.moments.iter();
    let Some(peak) = copies.find(|moment| moment.bytes == replay.peak_bytes) else {
        return format!("the start of stage {}", replay.peak_at.stage).into();
    };
    match replay
        .timeline
        .get(peak.after)
        .and_then(|next| next.at.node)
    {
        Some(next) => format!("a copy before {}", instance.node(next).name.as_str()).into(),
        None => "a copy at the end".into(),
    }
}

/// An object as JSON with a line break at its end.
pub fn json(object: &impl Serialize) -> String {
    // Plain structs with text keys and finite numbers (others become null) always have a JSON form.
    let mut text =
        serde_json::to_string(object).unwrap_or_else(|e| format!("{{\"error\": \"{e}\"}}"));
    text.push('\n');
    text
}

/// The version of this program, as results have it.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that this program was built from, with `-dirty` where files differed from it. None in builds for
/// tests and from a package.
pub const COMMIT: Option<&str> = option_env!("REMAT_BB_COMMIT");

/// Version and commit, as `--version` has them.
pub const FULL_VERSION: &str = match option_env!("REMAT_BB_VERSION") {
    Some(text) => text,
    None => VERSION,
};

/// Program and instance that a result is of.
#[derive(Serialize)]
pub struct OriginJson<'a> {
    version: &'static str,
    instance: &'a str,
    instance_sha256: String,
}

impl<'a> OriginJson<'a> {
    /// This program, and an instance as the formulation sees it.
    pub fn of(instance: &'a Instance) -> Self {
        OriginJson {
            version: VERSION,
            instance: instance.name(),
            instance_sha256: instance.digest(),
        }
    }
}

/// Settings of a search, as results have them.
#[derive(Serialize)]
pub struct SearchJson {
    settings: SettingsJson,
    threads: usize,
    seed: u64,
}

/// Settings that were asked for, beside threads and seed.
#[derive(Serialize)]
struct SettingsJson {
    time_limit_seconds: Option<f64>,
    gap: f64,
    lanes: usize,
}

impl SearchJson {
    /// Settings as they were asked for, threads and seed as used.
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

/// A graph whose operators may run in another order, as results have it.
#[derive(Serialize)]
pub struct GraphJson<'a> {
    version: &'static str,
    instance: &'a str,
    instance_sha256: String,
    variant: &'static str,
    operators: usize,
    base_memory_bytes: u64,
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

/// A value in bytes with what is proven of it, as results have it.
#[derive(Serialize)]
pub struct ProvenJson {
    status: &'static str,
    objective: u64,
    bound: Option<u64>,
    gap: Option<f64>,
    bound_scope: &'static str,
    seconds: f64,
    nodes: u64,
    lp_iterations: u64,
    peak_memory_bytes: u64,
    budget_bytes: Option<u64>,
}

impl ProvenJson {
    /// A value that was found in so many seconds and nodes, and a bound on all that `scope` names.
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
            gap: bound.map(|bound| gap(objective, bound)),
            bound_scope: scope,
            seconds,
            nodes,
            lp_iterations: 0,
            peak_memory_bytes: objective,
            budget_bytes,
        }
    }
}

/// `(value - bound) / value`.
pub fn gap(value: u64, bound: u64) -> f64 {
    value.saturating_sub(bound) as f64 / value.max(1) as f64
}

/// Limits of a search without a gap, as results have them.
#[derive(Serialize)]
pub struct WorkJson {
    settings: LimitJson,
    threads: usize,
    seed: u64,
}

#[derive(Serialize)]
struct LimitJson {
    time_limit_seconds: Option<f64>,
}

impl WorkJson {
    /// The time limit as it was asked for, threads and seed as used.
    pub fn of(time_limit: Option<Duration>, workers: &WorkerOptions) -> Self {
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

/// Addresses of a plan, as results have them; null where it has none.
#[derive(Serialize, Default)]
pub struct ArenaJson {
    arena_bytes: Option<u64>,
    arena_bound_bytes: Option<u64>,
    alignment_bytes: Option<u64>,
    fragmentation: Option<f64>,
}

/// Addresses of a plan in numbers: size of the arena, what no arena is below, the plan's peak, and
/// the alignment, all in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Arena {
    /// Size of the arena.
    pub bytes: u64,
    /// Bytes that no arena for the plan and the alignment is below, proven.
    pub bound_bytes: u64,
    /// Peak of the plan's replay.
    pub peak_bytes: u64,
    /// Number that offsets are multiples of.
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

    /// The fields of results.
    pub fn json(&self) -> ArenaJson {
        ArenaJson {
            arena_bytes: Some(self.bytes),
            arena_bound_bytes: Some(self.bound_bytes),
            alignment_bytes: Some(self.alignment_bytes),
            fragmentation: Some(self.fragmentation()),
        }
    }

    /// Size, loss and bound in words, and whether it keeps a budget.
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

/// A stack of equal layers, as results have it.
#[derive(Serialize)]
pub struct LayersJson {
    layers: u32,
    forward_nodes: u32,
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

/// Findings of a replay, as results have them.
#[derive(Serialize)]
pub struct ReplayJson<'a> {
    cost: u64,
    compute_cost: u64,
    idle: u64,
    makespan: u64,
    base_cost: u64,
    overhead_percent: f64,
    cost_unit: &'a str,
    peak_memory_bytes: u64,
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

/// A table: columns as wide as their widest entry, numbers (columns marked `true`) to the right.
pub struct Table {
    right: Vec<bool>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with a header; each column with its title and whether it is set to the right.
    pub fn new(columns: &[(&str, bool)]) -> Self {
        Table {
            right: columns.iter().map(|c| c.1).collect(),
            rows: vec![columns.iter().map(|c| c.0.to_owned()).collect()],
        }
    }

    /// Adds a row; what is missing at its end stays empty.
    pub fn row(&mut self, entries: Vec<String>) {
        self.rows.push(entries);
    }

    /// The table as lines, each ended by a line break and begun by `indent`.
    pub fn render(&self, indent: &str) -> String {
        let width = |c: usize| {
            let entries = self.rows.iter().filter_map(|row| row.get(c));
            entries.map(|e| e.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.right.len()).map(width).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::from(indent);
            for (c, entry) in row.iter().enumerate() {
                let padding = " ".repeat(widths[c] - entry.chars().count());
                if c > 0 {
                    line.push_str("  ");
                }
                if self.right[c] {
                    line.push_str(&padding);
                    line.push_str(entry);
                } else {
                    line.push_str(entry);
                    line.push_str(&padding);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_align_their_columns() {
        let mut table = Table::new(&[("name", false), ("cost", true)]);
        table.row(vec!["a".into(), "1".into()]);
        table.row(vec!["longer".into(), "12345".into()]);
        assert_eq!(
            table.render("  "),
            "  name     cost\n  a           1\n  longer  12345\n"
        );
    }

    #[test]
    fn times_take_the_unit_that_reads_best() {
        let hundredths = CostUnit {
            name: "0.01 ms".into(),
            nanoseconds: Some(1e4),
        };
        assert_eq!(cost(122812, &hundredths), "1.228 s");
        assert_eq!(cost(3, &hundredths), "30.000 µs");
        assert_eq!(cost(0, &CostUnit::nanoseconds()), "0.000 ns");
    }
}
