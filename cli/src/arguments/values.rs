//! Values of options: times, gaps, numbers of forward passes, settings.

/// Reads a number of forward passes, with or without a final x.
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

/// Reads a setting `name=value`.
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
