//! Values of options: times, gaps, numbers of forward passes, settings.

use std::time::Duration;

/// A duration: seconds, or an amount with a unit (ms, s, m, h).
///
/// # Errors
/// What is wrong, in words.
///
/// ```
/// use remat_bb::arguments::parse_duration;
/// use std::time::Duration;
/// assert_eq!(parse_duration("1.5"), Ok(Duration::from_millis(1500)));
/// assert_eq!(parse_duration("10m"), Ok(Duration::from_secs(600)));
/// assert!(parse_duration("soon").is_err());
/// ```
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let split = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let scale = match text[split..].trim() {
        "" | "s" | "sec" => 1.0,
        "ms" => 1e-3,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        unit => return Err(format!("unknown unit {unit:?}; use ms, s, m or h")),
    };
    let amount: f64 = text[..split]
        .parse()
        .map_err(|_| "not a time; write seconds, or an amount with a unit such as 90s, 10m, 2h")?;
    Duration::try_from_secs_f64(amount * scale).map_err(|e| e.to_string())
}

/// A relative gap: a fraction from 0 to below 1, or a percentage.
///
/// # Errors
/// What is wrong, in words.
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
/// What is wrong, in words.
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

/// A setting `name=value`.
///
/// # Errors
/// What is wrong, in words.
pub fn parse_setting(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().into(), value.trim().into()))
        }
        _ => Err("write NAME=VALUE, for example batch=64".into()),
    }
}
