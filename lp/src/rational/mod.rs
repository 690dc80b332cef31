//! Linear programs in rational numbers: exact answers for small programs whose outcome in doubles
//! depends on rounding.
//!
//! - `simplex.rs`: the simplex method.
//! - `judge.rs`: outcomes of a model, with its numbers read as the decimals that were written.

mod judge;
mod simplex;

pub(crate) use judge::judge;
pub use simplex::{RationalBound, RationalEnd, RationalLp, RationalRow};

use dashu_int::{IBig, UBig};

/// A rational number.
pub type Rational = dashu_ratio::RBig;

/// The sum of numbers.
pub fn total(numbers: impl Iterator<Item = Rational>) -> Rational {
    numbers.fold(Rational::ZERO, |sum, v| sum + v)
}

/// One.
pub fn one() -> Rational {
    Rational::ONE
}

/// The decimal number that a double prints as. It equals the number in the model's file unless that
/// had more digits than a double represents. `None` for infinities and NaN.
pub fn decimal(v: f64) -> Option<Rational> {
    if !v.is_finite() {
        return None;
    }
    if v.fract() == 0.0 && v.abs() < 9e15 {
        return Some(Rational::from(v as i64));
    }
    of_text(&format!("{v:e}"))
}

/// The nearest decimal with fifteen digits, the precision that a double always preserves.
pub(crate) fn short_decimal(v: f64) -> Option<Rational> {
    v.is_finite().then(|| of_text(&format!("{v:.14e}")))?
}

fn of_text(text: &str) -> Option<Rational> {
    let (digits, exponent) = text.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let number: IBig = format!("{whole}{fraction}").parse().ok()?;
    let shift = exponent - fraction.len() as i32;
    let ten = UBig::from(10u8).pow(shift.unsigned_abs() as usize);
    Some(if shift >= 0 {
        Rational::from(number * ten)
    } else {
        Rational::from_parts(number, ten)
    })
}
