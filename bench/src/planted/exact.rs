//! Doubles as the decimals that they are written as, in fractions.

use dashu_int::{IBig, UBig};
use dashu_ratio::RBig;

/// Digits that every double keeps: a decimal with at most this many is read and written unchanged.
const KEPT_DIGITS: usize = 15;

/// The decimal that a finite double is written as (its shortest form), as a fraction.
pub fn decimal(value: f64) -> RBig {
    let text = format!("{value:e}");
    let (mantissa, exponent) = text.split_once('e').expect("the form of {:e}");
    let exponent: i32 = exponent.parse().expect("a small exponent");
    let (whole, places) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: IBig = format!("{whole}{places}").parse().expect("digits");
    let shift = exponent - places.len() as i32;
    let power = UBig::from(10u8).pow(shift.unsigned_abs() as usize);
    match shift >= 0 {
        true => RBig::from(digits * IBig::from(power)),
        false => RBig::from_parts(digits, power),
    }
}

/// The double whose decimal is this fraction; `None` if its decimal has too many digits.
pub fn written(value: &RBig) -> Option<f64> {
    let near = nearest(value);
    let text = format!("{near:e}");
    let digits = text.chars().take_while(|c| *c != 'e');
    (digits.filter(char::is_ascii_digit).count() <= KEPT_DIGITS && decimal(near) == *value)
        .then_some(near)
}

/// The double nearest to a fraction.
pub fn nearest(value: &RBig) -> f64 {
    value.to_f64().value()
}

/// A double that is at least a fraction, as a binary number and as a decimal.
pub fn above(value: &RBig) -> f64 {
    nearest(value).next_up().next_up()
}

/// A double that is at most a fraction, as a binary number and as a decimal.
pub fn below(value: &RBig) -> f64 {
    nearest(value).next_down().next_down()
}

/// The absolute value of a fraction.
pub fn size(value: &RBig) -> RBig {
    if *value < RBig::ZERO {
        -value
    } else {
        value.clone()
    }
}

/// The sum of entries times values, and the sum of the sizes of its terms.
pub fn activity(terms: impl Iterator<Item = (f64, f64)>) -> (RBig, RBig) {
    let mut sums = (RBig::ZERO, RBig::ZERO);
    for (entry, value) in terms.filter(|t| t.0 != 0.0 && t.1 != 0.0) {
        let term = decimal(entry) * decimal(value);
        sums.1 += size(&term);
        sums.0 += term;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_the_decimals_they_are_written_as() {
        let tenth = RBig::from_parts(1.into(), 10u8.into());
        assert_eq!(decimal(0.1), tenth);
        assert_eq!(decimal(-2.5e3), RBig::from(-2500));
        assert_eq!(written(&tenth), Some(0.1));
        // Sixteen digits that another double has as well.
        assert_eq!(
            written(&(decimal(100000000.00001) * decimal(1e-12) + &tenth)),
            None
        );
        assert!(decimal(below(&tenth)) < tenth && decimal(above(&tenth)) > tenth);
    }
}
