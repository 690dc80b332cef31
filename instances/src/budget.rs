//! Memory budgets and their units.

use crate::number::number_length;
use std::str::FromStr;

/// A memory budget as a user writes it: an amount, or a share of the peak without recomputation.
///
/// ```
/// use remat_instances::Budget;
/// assert_eq!("6GiB".parse(), Ok(Budget::Bytes(6 << 30)));
/// assert_eq!("1.5 GB".parse(), Ok(Budget::Bytes(1_500_000_000)));
/// assert_eq!("6G".parse(), Ok(Budget::Bytes(6 << 30)));
/// assert_eq!("2.5e9".parse(), Ok(Budget::Bytes(2_500_000_000)));
/// assert_eq!("60%".parse::<Budget>().unwrap().bytes(1000), 600);
/// assert_eq!("100%".parse::<Budget>().unwrap().bytes(u64::MAX), u64::MAX);
/// assert!("60 apples".parse::<Budget>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// An amount in bytes.
    Bytes(u64),
    /// A percentage of the peak memory without recomputation.
    Percent(f64),
}

/// Error of a budget that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "budget {text:?}: {problem}; write bytes, an amount with a unit (B, KB, MB, GB, TB: powers of 1000; K, M, G, T or KiB, MiB, GiB, TiB: powers of 1024) or a percentage of the peak without recomputation, for example 6GiB or 60%"
)]
pub struct BudgetError {
    text: String,
    problem: String,
}

// Single letters are powers of 1024, as in `dd` and Docker.
const UNITS: [(&str, f64); 13] = [
    ("b", 1.0),
    ("k", 1024.0),
    ("m", 1048576.0),
    ("g", 1073741824.0),
    ("t", 1099511627776.0),
    ("kb", 1e3),
    ("kib", 1024.0),
    ("mb", 1e6),
    ("mib", 1048576.0),
    ("gb", 1e9),
    ("gib", 1073741824.0),
    ("tb", 1e12),
    ("tib", 1099511627776.0),
];

/// Largest amount, in bytes, that may have been meant as a percentage.
const PERCENT_LIMIT: u64 = 100;

/// Returns whether a budget given in bytes may have been meant as a percentage of the peak.
///
/// ```
/// use remat_instances::budget::may_mean_percent;
/// assert!(may_mean_percent(60, 1 << 30));
/// assert!(!may_mean_percent(60, 100));
/// ```
pub fn may_mean_percent(budget_bytes: u64, peak_bytes: u64) -> bool {
    budget_bytes <= PERCENT_LIMIT && peak_bytes > 100 * budget_bytes.max(1)
}

impl Budget {
    /// The budget in bytes, given the peak without recomputation; percentages are rounded down.
    pub fn bytes(self, peak_bytes: u64) -> u64 {
        match self {
            Budget::Bytes(bytes) => bytes,
            Budget::Percent(percent) => share(peak_bytes, percent),
        }
    }
}

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        let fail = |problem: &str| BudgetError {
            text: text.into(),
            problem: problem.into(),
        };
        let trimmed = text.trim();
        let split = number_length(trimmed);
        let (number, unit) = (
            trimmed[..split].replace('_', ""),
            trimmed[split..].trim().to_ascii_lowercase(),
        );
        let value: f64 = number
            .parse()
            .map_err(|_| fail("does not start with a number"))?;
        if !value.is_finite() || value < 0.0 {
            return Err(fail("the amount is not a finite number"));
        }
        if unit == "%" {
            return Ok(Budget::Percent(value));
        }
        let plain = unit.is_empty() || unit == "b";
        let scale = match UNITS.iter().find(|(name, _)| *name == unit) {
            Some((_, scale)) => *scale,
            None if plain => 1.0,
            None => return Err(fail("unknown unit")),
        };
        if plain && value.fract() != 0.0 {
            let percent = 100.0 * value;
            return Err(match value < 1.0 {
                true => fail(&format!("a fraction of a byte (did you mean {percent}%?)")),
                false => fail("a fraction of a byte"),
            });
        }
        let bytes = value * scale;
        if bytes > crate::number::LARGEST_VALUE as f64 {
            return Err(fail("more than 2^53 bytes"));
        }
        Ok(Budget::Bytes(bytes.floor() as u64))
    }
}

/// Number of decimals of a percentage that are used.
const PERCENT_DIGITS: u32 = 9;

/// A percentage of an amount, rounded down. The percentage is used as the decimal that was written,
/// so that 100% is always the whole amount.
fn share(bytes: u64, percent: f64) -> u64 {
    let one = 10u128.pow(PERCENT_DIGITS);
    // The cast saturates, and so do the following steps.
    let billionths = (percent.max(0.0) * one as f64).round() as u128;
    let product = u128::from(bytes).checked_mul(billionths);
    let share = product.map_or(u128::MAX, |product| product / (100 * one));
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// A size in bytes as text with a binary unit and two decimals, for example `5.02 GiB`.
///
/// ```
/// assert_eq!(remat_instances::budget::format_bytes(3 << 29), "1.50 GiB");
/// ```
pub fn format_bytes(bytes: u64) -> String {
    let names = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let mut value = bytes as f64;
    let mut k = 0;
    while value >= 1024.0 && k + 1 < names.len() {
        value /= 1024.0;
        k += 1;
    }
    if k == 0 {
        format!("{bytes} B")
    } else {
        format!("{value:.2} {}", names[k])
    }
}

/// The least amount with a binary unit and two decimals that is not below a size in bytes, as a
/// [`Budget`] is written: for example `924.07MiB`.
///
/// ```
/// use remat_instances::budget::{Budget, amount};
/// assert_eq!(amount(3 << 29), "1.50GiB");
/// assert_eq!(amount((3 << 29) + 1), "1.51GiB");
/// assert_eq!(amount(1000), "1000B");
/// let bytes = amount(968_934_401).parse::<Budget>().unwrap().bytes(0);
/// assert!(bytes >= 968_934_401 && bytes - 968_934_401 <= 10_486);
/// ```
pub fn amount(bytes: u64) -> String {
    let names = ["KiB", "MiB", "GiB", "TiB"];
    let Some(power) = (1..=names.len()).rev().find(|k| bytes >> (10 * k) > 0) else {
        return format!("{bytes}B");
    };
    let hundredths = (u128::from(bytes) * 100).div_ceil(1 << (10 * power));
    format!(
        "{}.{:02}{}",
        hundredths / 100,
        hundredths % 100,
        names[power - 1]
    )
}
