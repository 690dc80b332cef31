//! Values of options as texts.

use remat_instances::Budget;
use remat_instances::instance::{LinkChoice, LinkError};
use remat_instances::number::number_length;
use remat_memory::place::ALIGNMENT_LIMIT;
use std::time::Duration;

/// A duration: seconds, or amounts with units (ms, s, m, h, d), one after the other.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_formulations::options::parse_duration;
/// use std::time::Duration;
/// assert_eq!(parse_duration("1.5"), Ok(Duration::from_millis(1500)));
/// assert_eq!(parse_duration("10m"), Ok(Duration::from_secs(600)));
/// assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(5400)));
/// assert_eq!(parse_duration("1e3"), Ok(Duration::from_secs(1000)));
/// assert!(parse_duration("soon").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    const HOW: &str =
        "write seconds, or amounts with units (ms, s, m, h, d) such as 90s, 10m, 1h30m";
    let mut rest = text.trim();
    let mut seconds = 0.0;
    let mut parts = 0;
    while !rest.is_empty() {
        let (number, behind) = rest.split_at(number_length(rest));
        let amount: f64 = number
            .replace('_', "")
            .parse()
            .map_err(|_| format!("{text:?} is not a time; {HOW}"))?;
        let behind = behind.trim_start();
        let end = behind
            .find(|c: char| !c.is_ascii_alphabetic())
            .unwrap_or(behind.len());
        let scale = match &behind[..end] {
            "s" | "sec" => 1.0,
            "ms" => 1e-3,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            "d" => 86400.0,
            // Seconds alone need no unit.
            "" if parts == 0 && behind.is_empty() => 1.0,
            "" => return Err(format!("{text:?} is not a time; {HOW}")),
            unit => return Err(format!("unknown unit {unit:?}; {HOW}")),
        };
        seconds += amount * scale;
        parts += 1;
        rest = behind[end..].trim_start();
    }
    if parts == 0 {
        return Err(format!("no time at all; {HOW}"));
    }
    if seconds > MOST_SECONDS {
        return Err(format!("{text:?} is more than 30 years; {HOW}"));
    }
    Duration::try_from_secs_f64(seconds).map_err(|_| format!("{text:?} is not a time; {HOW}"))
}

/// Longer times are mistakes.
const MOST_SECONDS: f64 = 1e9;

/// A relative gap: a fraction from 0 to below 1, or a percentage.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_formulations::options::parse_gap;
/// assert_eq!(parse_gap("0.01"), Ok(0.01));
/// assert_eq!(parse_gap("1%"), Ok(0.01));
/// assert!(parse_gap("-1").is_err());
/// ```
pub fn parse_gap(text: &str) -> Result<f64, String> {
    let (number, scale) = match text.trim().strip_suffix('%') {
        Some(number) => (number.trim(), 100.0),
        None => (text.trim(), 1.0),
    };
    match number.parse::<f64>() {
        Ok(value) if (0.0..1.0).contains(&(value / scale)) => Ok(value / scale),
        _ => {
            Err("write a fraction from 0 to below 1 or a percentage, for example 0.01 or 1%".into())
        }
    }
}

/// An alignment in bytes: a power of two, with or without a unit; 0 and 1 mean no alignment.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_formulations::options::parse_alignment;
/// assert_eq!(parse_alignment("64"), Ok(64));
/// assert_eq!(parse_alignment("4KiB"), Ok(4096));
/// assert_eq!(parse_alignment("0"), Ok(1));
/// assert!(parse_alignment("48").is_err());
/// ```
pub fn parse_alignment(text: &str) -> Result<u64, String> {
    let found = match text.parse::<Budget>() {
        Ok(Budget::Bytes(bytes)) => Some(bytes.max(1)),
        _ => None,
    };
    let found = found.filter(|b| b.is_power_of_two() && *b <= ALIGNMENT_LIMIT);
    found.ok_or_else(|| "write a power of two up to 1GiB, for example 64 or 4KiB".into())
}

/// A link: `on`, a preset, or one or two speeds.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_formulations::options::parse_link;
/// use remat_instances::instance::{HostLink, LinkChoice};
/// assert_eq!(parse_link("on"), Ok(LinkChoice::Own));
/// let link = HostLink::new(24_000_000_000, 50_000_000_000);
/// assert_eq!(parse_link("24GB/s,50GB/s"), Ok(LinkChoice::Given(link)));
/// assert!(parse_link("12").is_err());
/// ```
pub fn parse_link(text: &str) -> Result<LinkChoice, String> {
    text.parse().map_err(|e: LinkError| {
        format!(
            "{}; write on for the link of the instance, pcie3, pcie4, pcie5, gh200, gb300, a speed such as 12GB/s, or one each way: 24GB/s,50GB/s",
            e.problem
        )
    })
}

/// A size of memory in bytes, with or without a unit.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_formulations::options::parse_size;
/// assert_eq!(parse_size("64GiB"), Ok(64 << 30));
/// assert!(parse_size("60%").is_err());
/// ```
pub fn parse_size(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(Budget::Bytes(bytes)) => Ok(bytes),
        Ok(Budget::Percent(_)) => {
            Err("a percentage of no known memory; write bytes or an amount such as 64GiB".into())
        }
        Err(_) => Err("write bytes or an amount up to 2^53 bytes, for example 64GiB".into()),
    }
}

/// A latency in nanoseconds: an amount with a unit.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_formulations::options::parse_latency;
/// assert_eq!(parse_latency("10us"), Ok(10_000));
/// assert_eq!(parse_latency("0.5 ms"), Ok(500_000));
/// assert!(parse_latency("10").is_err());
/// ```
pub fn parse_latency(text: &str) -> Result<u64, String> {
    const HOW: &str = "write an amount with a unit (ns, us, ms, s), for example 10us";
    let text = text.trim();
    let (number, unit) = text.split_at(number_length(text));
    let amount = number.replace('_', "").parse::<f64>();
    let amount = amount.map_err(|_| format!("{text:?} is not a time; {HOW}"))?;
    let scale = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "" => return Err(format!("{text:?} has no unit; {HOW}")),
        other => return Err(format!("unknown unit {other:?}; {HOW}")),
    };
    match amount * scale {
        time if time <= LONGEST_LATENCY_NS => Ok(time.round() as u64),
        _ => Err(format!("{text:?} is more than an hour; {HOW}")),
    }
}

/// Longer latencies are mistakes, in nanoseconds.
const LONGEST_LATENCY_NS: f64 = 3.6e12;
