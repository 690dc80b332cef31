//! Copies to the host and their link as text.

use crate::{cost, counted, number};
use remat_instances::Instance;
use remat_instances::budget::format_bytes;
use remat_instances::instance::{CostUnit, Duplex, HostLink};
use remat_instances::simulate::{CopySpan, Replay};
use schemars::JsonSchema;
use serde::Serialize;

/// Scope of bounds with a link, in words.
pub const STAGE_SCHEDULES_WITH_COPIES: &str = "stage schedules with copies: first computations in \
     the order of the nodes, between two of them recomputations in that order, each at most once";

/// A link in words.
///
/// ```
/// use remat_report::transfers::link;
/// use remat_instances::instance::{CostUnit, HostLink};
/// let words = link(&HostLink::new(24_000_000_000, 12_500_000_000));
/// assert_eq!(words, "24 GB/s to the host, 12.5 GB/s from it");
/// ```
pub fn link(link: &HostLink) -> String {
    let speed = |speed: u64| match speed {
        s if s >= 1_000_000_000 => format!("{} GB/s", number(s as f64 / 1e9)),
        s if s >= 1_000_000 => format!("{} MB/s", number(s as f64 / 1e6)),
        s => format!("{s} B/s"),
    };
    let mut text = format!(
        "{} to the host, {} from it",
        speed(link.to_host_bytes_per_second),
        speed(link.from_host_bytes_per_second)
    );
    if link.duplex == Duplex::Half {
        text += ", one copy at a time";
    }
    if link.latency_ns > 0 {
        let latency = cost(link.latency_ns, &CostUnit::nanoseconds());
        text += &format!(", {latency} for each copy");
    }
    text
}

/// Three lines without their names: computations and waits, copies, and the link. `None` for a plan
/// without copies.
pub fn lines(instance: &Instance, replay: &Replay) -> Option<[String; 3]> {
    let transfers = &replay.transfers;
    if transfers.spans.is_empty() {
        return None;
    }
    let time = |time| cost(time, instance.cost_unit());
    let waiting = match replay.idle() {
        0 => "none waits for a copy".into(),
        idle => format!("{} waiting for copies", time(idle)),
    };
    let step = format!("{} of computations, {waiting}", time(replay.cost));
    let spans = transfers.spans.iter();
    let copies = spans.filter(|span| span.to_host && span.buffer.is_some());
    let copies = copies.count();
    let limit = instance.host_link().and_then(|link| link.host_memory_bytes);
    let limit = match limit {
        None => String::new(),
        Some(limit) if transfers.host_peak_bytes <= limit => {
            format!(", within its {}", format_bytes(limit))
        }
        Some(limit) => format!(", above its {}", format_bytes(limit)),
    };
    let is_host = |span: &&CopySpan| span.buffer.is_some();
    let all = transfers.spans.iter().filter(is_host).count();
    let sharded = sharded(replay).map_or(String::new(), |text| text + "; ");
    let host = format!(
        "{sharded}{} to the host ({}), {} back ({}); host memory peak {}{limit}",
        format_bytes(transfers.to_host_bytes),
        counted(copies as u64, "time"),
        format_bytes(transfers.from_host_bytes),
        counted((all - copies) as u64, "time"),
        format_bytes(transfers.host_peak_bytes)
    );
    let share = |to_host| transfers.busy(to_host) as f64 / replay.makespan.max(1) as f64 * 100.0;
    let words = instance.host_link().map_or(String::new(), link);
    let link = format!(
        "{words}; busy {:.1}% of the step to the host, {:.1}% from it",
        share(true),
        share(false)
    );
    Some([step, host, link])
}

/// Gathers and scatters of a replay in words, if there are any.
fn sharded(replay: &Replay) -> Option<String> {
    let transfers = &replay.transfers;
    let spans = transfers.spans.iter().filter(|span| span.buffer.is_none());
    let [mut out, mut back] = [0u64; 2];
    for span in spans {
        *(if span.to_host { &mut out } else { &mut back }) += 1;
    }
    (out + back > 0).then(|| {
        format!(
            "{} gathered ({}), {} scattered ({})",
            format_bytes(transfers.gathered_bytes),
            counted(back, "time"),
            format_bytes(transfers.scattered_bytes),
            counted(out, "time"),
        )
    })
}

/// Time and bytes of a plan with copies; null without a plan.
#[derive(Clone, Serialize, JsonSchema)]
pub struct TransfersJson {
    /// Duration of the step, computations and their waiting for copies, in the unit of costs; null
    /// without a plan.
    makespan: Option<u64>,
    /// Cost of the computations alone; null without a plan.
    compute_cost: Option<u64>,
    /// Time that computations wait for copies, in the unit of costs; null without a plan.
    idle: Option<u64>,
    /// Bytes copied to the host; null without a plan.
    to_host_bytes: Option<u64>,
    /// Bytes copied back; null without a plan.
    from_host_bytes: Option<u64>,
    /// Peak in host memory in bytes; null without a plan.
    host_peak_bytes: Option<u64>,
    /// Bytes of gathers; absent without gathers and scatters.
    #[serde(skip_serializing_if = "Option::is_none")]
    gathered_bytes: Option<u64>,
    /// Bytes of scatters; absent without gathers and scatters.
    #[serde(skip_serializing_if = "Option::is_none")]
    scattered_bytes: Option<u64>,
}

impl TransfersJson {
    /// Time and bytes of a replay.
    pub fn of(replay: Option<&Replay>) -> Self {
        let of = |value: fn(&Replay) -> u64| replay.map(value);
        let is_sharded = replay.is_some_and(|r| sharded(r).is_some());
        TransfersJson {
            makespan: of(|r| r.makespan),
            compute_cost: of(|r| r.cost),
            idle: of(Replay::idle),
            to_host_bytes: of(|r| r.transfers.to_host_bytes),
            from_host_bytes: of(|r| r.transfers.from_host_bytes),
            host_peak_bytes: of(|r| r.transfers.host_peak_bytes),
            gathered_bytes: of(|r| r.transfers.gathered_bytes).filter(|_| is_sharded),
            scattered_bytes: of(|r| r.transfers.scattered_bytes).filter(|_| is_sharded),
        }
    }
}

/// Columns of a CSV file that [`columns`] fills, each after a comma.
pub const COLUMNS: &str = ",idle,to_host_bytes,from_host_bytes,host_peak_bytes";

/// Idle time and bytes of a replay as the columns [`COLUMNS`]; empty without a replay.
pub fn columns(replay: Option<&Replay>) -> String {
    replay.map_or_else(
        || ",,,,".into(),
        |r| {
            format!(
                ",{},{},{},{}",
                r.idle(),
                r.transfers.to_host_bytes,
                r.transfers.from_host_bytes,
                r.transfers.host_peak_bytes
            )
        },
    )
}

/// Heads of table columns for [`cells`].
pub const HEADS: [(&str, bool); 3] = [("idle", true), ("to host", true), ("back", true)];

/// Idle time and bytes both ways for a table; empty without a replay.
pub fn cells(unit: &CostUnit, replay: Option<&Replay>) -> [String; 3] {
    let idle = |r: &Replay| match r.idle() {
        0 => "0".into(),
        idle => cost(idle, unit),
    };
    replay.map_or_else(Default::default, |r| {
        [
            idle(r),
            format_bytes(r.transfers.to_host_bytes),
            format_bytes(r.transfers.from_host_bytes),
        ]
    })
}
