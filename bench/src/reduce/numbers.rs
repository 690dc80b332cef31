//! Numbers that are shorter to write.

/// A way to make a number simpler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberForm {
    /// 0.
    Zero,
    /// 1 or -1, whichever has its sign.
    One,
    /// The nearest whole number.
    Whole,
    /// Rounded to this many significant digits.
    Digits(u8),
}

impl NumberForm {
    /// All forms that are tried, the simplest first.
    pub const ALL: [NumberForm; 6] = [
        NumberForm::Zero,
        NumberForm::One,
        NumberForm::Whole,
        NumberForm::Digits(1),
        NumberForm::Digits(2),
        NumberForm::Digits(4),
    ];
}

/// The number in this form; `None` unless that is simpler than the number itself.
///
/// ```
/// use remat_bench::reduce::{NumberForm, simpler};
/// assert_eq!(simpler(-3.25, NumberForm::One), Some(-1.0));
/// assert_eq!(simpler(3.25, NumberForm::Whole), Some(3.0));
/// assert_eq!(simpler(0.0123456, NumberForm::Digits(2)), Some(0.012));
/// assert_eq!(simpler(7.0, NumberForm::Digits(1)), None);
/// assert_eq!(simpler(f64::INFINITY, NumberForm::Zero), None);
/// ```
pub fn simpler(v: f64, form: NumberForm) -> Option<f64> {
    if !v.is_finite() {
        return None;
    }
    let new = match form {
        NumberForm::Zero => 0.0,
        NumberForm::One => 1f64.copysign(v),
        NumberForm::Whole => v.round() + 0.0,
        NumberForm::Digits(digits) => {
            let places = usize::from(digits).saturating_sub(1);
            format!("{v:.places$e}").parse().ok()?
        }
    };
    (new.is_finite() && complexity(new) < complexity(v)).then_some(new)
}

/// Order of numbers by their length: 0, 1, then the length of the shortest text.
fn complexity(v: f64) -> usize {
    match v {
        0.0 => 0,
        1.0 => 1,
        _ => 1 + format!("{v}").len().min(format!("{v:e}").len()),
    }
}
