//! Values of options: times, gaps, numbers of forward passes, settings.

use remat_instances::budget::Budget;
use remat_instances::number::number_length;
use remat_memory::place::ALIGNMENT_LIMIT;
use std::time::Duration;

/// A duration: seconds, or amounts with units (ms, s, m, h, d), one after the other.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_bb::arguments::parse_duration;
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
/// use remat_bb::arguments::parse_gap;
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

/// A number of forward passes, with or without an x behind it.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_bb::arguments::parse_overhead;
/// assert_eq!(parse_overhead("1.0x"), Ok(1.0));
/// assert_eq!(parse_overhead("0.25"), Ok(0.25));
/// assert!(parse_overhead("10%").is_err());
/// ```
pub fn parse_overhead(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches(['x', 'X']).trim_end();
    match number.parse::<f64>() {
        Ok(value) if (0.0..=1000.0).contains(&value) => Ok(value),
        _ => Err("write a number of forward passes from 0 to 1000, for example 1.0x".into()),
    }
}

/// An alignment in bytes: a power of two, with or without a unit; 0 is none, as 1 is.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_bb::arguments::parse_alignment;
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

/// A setting `name=value`.
///
/// # Errors
/// The problem, in words.
pub fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().into(), value.trim().into()))
        }
        _ => Err("write NAME=VALUE, the name of a setting and its value".into()),
    }
}
