//! Decimal numbers of files, and the doubles that represent them.
//!
//! A double represents the shortest decimal that rounds to it. A decimal with more digits is not
//! represented: searches may round it, proofs may not.

use std::fmt;

/// Significant decimal digits that every double represents.
const DIGITS: usize = 15;
/// Magnitudes at which doubles have full precision.
const NORMAL: std::ops::Range<f64> = 1e-290..1e290;

/// A number of a file that no double represents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundedNumber {
    /// Line of the file, from 1.
    pub line: usize,
    /// The place of use: a row, the bounds of a column, the objective.
    pub place: String,
    /// The number as written in the file.
    pub number: String,
}

impl fmt::Display for RoundedNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RoundedNumber {
            line,
            place,
            number,
        } = self;
        write!(
            f,
            "line {line}: {place}: {number} has more digits than a double holds"
        )
    }
}

/// Sign, digits without leading and trailing zeros, and power of ten of the last digit.
type Parts = (bool, String, i64);

fn parts(text: &str) -> Option<Parts> {
    let (mantissa, exponent) = match text.find(['e', 'E', 'd', 'D']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
        None => (text, 0),
    };
    let negative = mantissa.starts_with('-');
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = whole.trim_start_matches(['+', '-']).to_owned() + fraction;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let exponent = exponent.saturating_sub(fraction.len() as i64);
    let cut = digits.trim_end_matches('0');
    let behind = (digits.len() - cut.len()) as i64;
    let digits = cut.trim_start_matches('0').to_owned();
    Some(match digits.is_empty() {
        true => (false, digits, 0),
        false => (negative, digits, exponent.saturating_add(behind)),
    })
}

/// Returns whether the double represents the decimal number of a file; true for infinite numbers.
pub(crate) fn is_held(text: &str, value: f64) -> bool {
    let digits = text.bytes().take_while(|b| !b.is_ascii_alphabetic());
    let short = digits.filter(u8::is_ascii_digit).count() <= DIGITS;
    if value.is_infinite() || (short && NORMAL.contains(&value.abs())) {
        return true;
    }
    parts(text).is_none_or(|given| parts(&format!("{value:e}")) == Some(given))
}

/// The sum of two numbers as decimals, and whether a double represents it.
pub(crate) fn sum(a: f64, b: f64) -> (f64, bool) {
    const WHOLE: f64 = 4e15;
    let plain = a + b;
    let whole = |v: f64| v.fract() == 0.0 && v.abs() < WHOLE;
    if !plain.is_finite() || a == 0.0 || b == 0.0 || (whole(a) && whole(b)) {
        return (plain, true);
    }
    decimal_sum(a, b).unwrap_or((plain, false))
}

/// Returns `None` if the sum needs more digits than an `i128` holds, so no double represents it.
fn decimal_sum(a: f64, b: f64) -> Option<(f64, bool)> {
    let read = |v: f64| -> Option<(i128, i64)> {
        let (negative, digits, exponent) = parts(&format!("{v:e}"))?;
        let digits: i128 = digits.parse().ok()?;
        Some((if negative { -digits } else { digits }, exponent))
    };
    let ((a, i), (b, j)) = (read(a)?, read(b)?);
    let exponent = i.min(j);
    let scaled = |digits: i128, e: i64| {
        let power = 10i128.checked_pow(u32::try_from(e - exponent).ok()?)?;
        digits.checked_mul(power)
    };
    let digits = scaled(a, i)?.checked_add(scaled(b, j)?)?;
    let text = format!("{digits}e{exponent}");
    let value: f64 = text.parse().ok()?;
    Some((value, is_held(&text, value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_stand_for_the_decimals_that_they_print_as() {
        let held = [
            "0.1",
            "-.5e1",
            "1E-3",
            "123456789.123456",
            "0",
            "00.00",
            "1e22",
            "9007199254740993e0",
            "4.35d2",
            "1e400",
            "5e-324",
            "100000000000000000000",
            "0.30000000000000004",
        ];
        for text in held {
            let value = text.replace('d', "e").parse().unwrap();
            let held = text != "9007199254740993e0";
            assert_eq!(is_held(text, value), held, "{text}");
        }
        for text in [
            "1975308624.864197523",
            "153919999.99994682",
            "1e-400",
            "0.1000000000000000055",
        ] {
            assert!(!is_held(text, text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn sums_are_those_of_the_decimals() {
        assert_eq!(sum(0.1, 0.2), (0.3, true));
        assert_eq!(sum(-0.3, 0.1), (-0.2, true));
        assert_eq!(sum(3.0, 4.0), (7.0, true));
        assert_eq!(sum(0.1, -0.1), (0.0, true));
        assert!(!sum(1e15, 0.33).1);
        assert_eq!(sum(1e300, 1.0), (1e300, false));
    }
}
