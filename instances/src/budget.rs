//! Memory budgets and their units.

use std::str::FromStr;

/// A memory budget as a user writes it: an amount, or a share of the peak without recomputation.
///
/// ```
/// use remat_instances::Budget;
/// assert_eq!("6GiB".parse(), Ok(Budget::Bytes(6 << 30)));
/// assert_eq!("1.5 GB".parse(), Ok(Budget::Bytes(1_500_000_000)));
/// assert_eq!("60%".parse::<Budget>().unwrap().bytes(1000), 600);
/// assert!("60 apples".parse::<Budget>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// An amount in bytes.
    Bytes(u64),
    /// A percentage of the peak memory without recomputation.
    Percent(f64),
}

/// A budget that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "budget {text:?}: {problem}; write bytes, an amount with a unit (B, KB, KiB, MB, MiB, GB, GiB, TB, TiB) or a percentage of the peak without recomputation, for example 6GiB or 60%"
)]
pub struct BudgetError {
    text: String,
    problem: String,
}

const UNITS: [(&str, f64); 9] = [
    ("b", 1.0),
    ("kb", 1e3),
    ("kib", 1024.0),
    ("mb", 1e6),
    ("mib", 1048576.0),
    ("gb", 1e9),
    ("gib", 1073741824.0),
    ("tb", 1e12),
    ("tib", 1099511627776.0),
];

impl Budget {
    /// The budget in bytes, given the peak without recomputation; percentages are rounded down.
    pub fn bytes(self, peak_bytes: u64) -> u64 {
        match self {
            Budget::Bytes(bytes) => bytes,
            Budget::Percent(percent) => (peak_bytes as f64 * percent / 100.0).floor() as u64,
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
        let split = trimmed
            .find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')
            .unwrap_or(trimmed.len());
        let (number, unit) = (
            trimmed[..split].replace('_', ""),
            trimmed[split..].trim().to_ascii_lowercase(),
        );
        if let (Ok(bytes), true) = (number.parse::<u64>(), unit.is_empty() || unit == "b") {
            return Ok(Budget::Bytes(bytes));
        }
        let value: f64 = number
            .parse()
            .map_err(|_| fail("does not start with a number"))?;
        if !value.is_finite() || value < 0.0 {
            return Err(fail("the amount is not a finite number"));
        }
        if unit == "%" {
            return Ok(Budget::Percent(value));
        }
        if unit.is_empty() {
            return Err(fail("a fraction of a byte"));
        }
        let (_, scale) = UNITS
            .iter()
            .find(|(name, _)| *name == unit)
            .ok_or_else(|| fail("unknown unit"))?;
        let bytes = value * scale;
        if bytes > crate::instance::LARGEST_VALUE as f64 {
            return Err(fail("more than 2^53 bytes"));
        }
        Ok(Budget::Bytes(bytes.floor() as u64))
    }
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
