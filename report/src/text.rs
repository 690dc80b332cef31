//! Costs, sizes and moments as text.

use remat_instances::Instance;
use remat_instances::budget::format_bytes;
use remat_instances::instance::CostUnit;
use remat_instances::name::Name;
use remat_instances::simulate::Replay;

/// A cost as text: as a time where the unit is one, for example `1.228 s`, otherwise with the
/// unit's name.
///
/// ```
/// use remat_report::cost;
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

/// The most readable unit for a time in nanoseconds: nanoseconds in it, and its name.
pub fn time_unit(nanoseconds: f64) -> (f64, &'static str) {
    match nanoseconds {
        t if t >= 1e9 => (1e9, "s"),
        t if t >= 1e6 => (1e6, "ms"),
        t if t >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    }
}

/// A number for people: at most twelve significant digits, and a power of ten only beyond 1e15 or
/// below 1e-5.
///
/// ```
/// use remat_report::number;
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

/// A count with the name of the counted thing.
///
/// ```
/// use remat_report::counted;
/// assert_eq!(counted(1u64, "thread"), "1 thread");
/// assert_eq!(counted(2u64, "thread"), "2 threads");
/// ```
pub fn counted(count: impl Into<u64>, thing: &str) -> String {
    match count.into() {
        1 => format!("1 {thing}"),
        n => format!("{n} {thing}s"),
    }
}

/// A number of micro-batches in words.
pub fn micro_batches(count: u32) -> String {
    match count {
        1 => "1 micro-batch".into(),
        _ => format!("{count} micro-batches"),
    }
}

/// Bytes as GiB.
pub fn gib(bytes: u64) -> f64 {
    bytes as f64 / (1u64 << 30) as f64
}

/// What other micro-batches in flight hold, in words; `None` if only one is in flight.
pub fn waiting(instance: &Instance, replay: &Replay) -> Option<String> {
    let others = match instance.in_flight() {
        0 | 1 => return None,
        2 => "1 other micro-batch holds".to_owned(),
        k => format!("{} other micro-batches hold", k - 1),
    };
    Some(format!(
        "{others} {} between the passes, {} each",
        format_bytes(replay.waiting_bytes),
        format_bytes(replay.saved_bytes),
    ))
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

#[cfg(test)]
mod tests {
    use super::*;

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
