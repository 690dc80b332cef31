//! Complemented mixed-integer rounding of one inequality (Marchand & Wolsey 2001).

use super::shift::{self, Base, BoundSubstitution, Shifted, ShiftedTerm};
use super::sum::Sum;
use super::{Context, Cut, mixed_cover};

/// The largest integer not above a number of moderate size. It avoids a function call in the
/// innermost loop of separation.
#[inline]
fn floor(v: f64) -> f64 {
    let t = v as i64 as f64;
    if t > v { t - 1.0 } else { t }
}

fn fractional(v: f64) -> f64 {
    v - floor(v)
}

/// Tries to derive violated cuts by rounding and by covers. Returns whether it found one.
pub(crate) fn separate(
    c: &Context<'_>,
    base: &Base,
    substitutions: &[BoundSubstitution],
    out: &mut Vec<Cut>,
) -> bool {
    let mut found = false;
    for (k, &s) in substitutions.iter().enumerate() {
        let Some(shifted) = shift::shift(c, base, s) else {
            continue;
        };
        found |= separate_shifted(c, base, &shifted, out);
        // Without a substituted variable bound, the other substitutions would give the same result.
        if shifted.ties == 0 && substitutions.get(k + 1) == Some(&BoundSubstitution::Tighter) {
            if shifted.substituted == 0 {
                break;
            }
            if let Some(last) = substitutions.get(k + 2)
                && let Some(shifted) = shift::shift(c, base, *last)
            {
                found |= separate_shifted(c, base, &shifted, out);
            }
            break;
        }
        if shifted.substituted == 0 {
            break;
        }
    }
    found
}

fn separate_shifted(c: &Context<'_>, base: &Base, shifted: &Shifted, out: &mut Vec<Cut>) -> bool {
    let covered = mixed_cover::separate(c, base, shifted);
    let rounded = rounding(c, base, shifted);
    let best = match (rounded, covered) {
        (Some(a), Some(b)) => Some(if b.efficacy > a.efficacy { b } else { a }),
        (a, b) => a.or(b),
    };
    let found = best.is_some();
    out.extend(best);
    found
}

/// The most violated rounding over some divisors and complementations.
fn rounding(c: &Context<'_>, base: &Base, shifted: &Shifted) -> Option<Cut> {
    let (terms, mut rhs) = (&shifted.terms, shifted.rhs);
    // Divisors: coefficients of integer terms strictly inside their range.
    let mut divisors: Vec<f64> = Vec::new();
    let mut largest = 0.0f64;
    for t in terms.iter().filter(|t| t.integer && t.coef != 0.0) {
        largest = largest.max(t.coef.abs());
        if t.value > 1e-6
            && t.coef.abs() > 1e-6
            && divisors.iter().all(|d| (d - t.coef.abs()).abs() > 1e-9 * d)
        {
            divisors.push(t.coef.abs());
        }
    }
    if largest == 0.0 {
        return None;
    }
    divisors.truncate(8);
    for d in [1.0, largest + 1.0] {
        if divisors.iter().all(|v| *v != d) {
            divisors.push(d);
        }
    }
    // Terms at zero do not affect the search.
    let inside: Vec<usize> = (0..terms.len())
        .filter(|&k| terms[k].integer && terms[k].value > 1e-9)
        .collect();
    let mut active: Vec<ShiftedTerm> = inside.iter().map(|&k| terms[k]).collect();
    let continuous = Continuous::new(terms);
    let efficacy = |active: &[ShiftedTerm], rhs: Sum, divisor: f64| {
        efficacy(active, &continuous, rhs.value, divisor)
    };
    let mut best: Option<(f64, f64)> = None;
    for &d in &divisors {
        if let Some(e) = efficacy(&active, rhs, d)
            && best.is_none_or(|b| e > b.1)
        {
            best = Some((d, e));
        }
    }
    let (d, _) = best?;
    for part in [2.0, 4.0, 8.0] {
        if let Some(e) = efficacy(&active, rhs, d / part)
            && best.is_none_or(|b| e > b.1)
        {
            best = Some((d / part, e));
        }
    }
    let (divisor, mut value) = best?;
    // Complements deepen a cut, but seldom create one.
    if value < 0.0 {
        return None;
    }
    // Complements integer terms inside their range, nearest to the middle first, while that helps.
    let mut order: Vec<usize> = (0..active.len())
        .filter(|&k| {
            let t = &active[k];
            !t.slack && t.range.is_finite() && t.value > 1e-6
        })
        .collect();
    order.sort_by(|&a, &b| {
        let off = |t: &ShiftedTerm| (t.value - t.range / 2.0).abs();
        off(&active[a]).total_cmp(&off(&active[b]))
    });
    for k in order.into_iter().take(20) {
        let old = (active[k], rhs);
        active[k].complement(&mut rhs);
        match efficacy(&active, rhs, divisor) {
            Some(e) if e > value + 1e-9 => {
                value = e;
            }
            _ => (active[k], rhs) = old,
        }
    }
    if value < 1e-5 {
        return None;
    }
    let mut terms = terms.clone();
    for (k, t) in inside.into_iter().zip(active) {
        terms[k] = t;
    }
    let f0 = fractional(rhs.value / divisor);
    let coefficients: Vec<f64> = terms
        .iter()
        .map(|t| {
            let a = t.coef / divisor;
            if t.integer {
                rounded(a, f0)
            } else {
                a.min(0.0) / (1.0 - f0)
            }
        })
        .collect();
    // Errors are amplified by the slope of the rounding function.
    let side = Sum {
        value: floor(rhs.value / divisor),
        largest: rhs.largest / (divisor * (1.0 - f0)),
    };
    shift::unshift(c, base, &terms, &coefficients, side)
}

/// The rounded coefficient of an integer term.
fn rounded(a: f64, f0: f64) -> f64 {
    let down = floor(a);
    let f = a - down;
    // A fraction within rounding of the next integer gets the smaller coefficient, which is valid.
    if f > f0 && f < 1.0 - 1e-10 {
        down + (f - f0) / (1.0 - f0)
    } else if f >= 1.0 - 1e-10 {
        down + 1.0 - 1e-9
    } else {
        down
    }
}

/// Sums over the continuous terms with negative coefficients, since only these count: of
/// coefficient times value, and of squared coefficients. They are the same for every divisor.
struct Continuous {
    activity: f64,
    square: f64,
}

impl Continuous {
    fn new(terms: &[ShiftedTerm]) -> Continuous {
        let (mut activity, mut square) = (0.0, 0.0);
        for t in terms {
            if !t.integer && t.value > 1e-9 && t.coef < 0.0 {
                activity += t.coef * t.value;
                square += t.coef * t.coef;
            }
        }
        Continuous { activity, square }
    }
}

/// Violation of the rounded inequality divided by its norm, in shifted space, from the integer
/// `terms` and the continuous ones. `None` if the right side has no useful fraction.
fn efficacy(terms: &[ShiftedTerm], continuous: &Continuous, rhs: f64, divisor: f64) -> Option<f64> {
    let f0 = fractional(rhs / divisor);
    if !(0.02..=0.98).contains(&f0) || divisor < 1e-6 || (rhs / divisor).abs() > 1e12 {
        return None;
    }
    let scale = 1.0 / (divisor * (1.0 - f0));
    let mut activity = continuous.activity * scale;
    let mut norm = continuous.square * scale * scale;
    for t in terms {
        let r = rounded(t.coef / divisor, f0);
        activity += r * t.value;
        norm += r * r;
    }
    let e = (activity - floor(rhs / divisor)) / f64::sqrt(norm).max(1e-3);
    e.is_finite().then_some(e)
}
