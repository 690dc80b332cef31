//! Complemented mixed-integer rounding of one inequality (Marchand & Wolsey 2001).

use super::shift::{self, Base, Shifted, Substitution, Term};
use super::{Context, Cut, mixed_cover};

fn fractional(v: f64) -> f64 {
    v - v.floor()
}

/// Tries to derive violated cuts by rounding and by covers; whether there is one.
pub(crate) fn separate(
    c: &Context<'_>,
    base: &Base,
    substitution: Substitution,
    out: &mut Vec<Cut>,
) -> bool {
    let Some(shifted) = shift::shift(c, base, substitution) else {
        return false;
    };
    let covered = mixed_cover::separate(c, base, &shifted);
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
fn rounding(c: &Context<'_>, base: &Base, shifted: Shifted) -> Option<Cut> {
    let Shifted { mut terms, mut rhs } = shifted;
    // Divisors: coefficients of integer terms strictly inside.
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
    let mut best: Option<(f64, f64)> = None;
    for &d in &divisors {
        if let Some(e) = efficacy(&terms, rhs, d)
            && best.is_none_or(|b| e > b.1)
        {
            best = Some((d, e));
        }
    }
    let (d, _) = best?;
    for part in [2.0, 4.0, 8.0] {
        if let Some(e) = efficacy(&terms, rhs, d / part)
            && best.is_none_or(|b| e > b.1)
        {
            best = Some((d / part, e));
        }
    }
    let (divisor, mut value) = best?;
    // Complement integer terms inside their range, nearest to the middle first, while it helps.
    let mut order: Vec<usize> = (0..terms.len())
        .filter(|&k| {
            let t = &terms[k];
            t.integer && !t.slack && t.range.is_finite() && t.value > 1e-6
        })
        .collect();
    order.sort_by(|&a, &b| {
        let off = |t: &Term| (t.value - t.range / 2.0).abs();
        off(&terms[a]).total_cmp(&off(&terms[b]))
    });
    for k in order.into_iter().take(20) {
        let old = (terms[k], rhs);
        terms[k].complement(&mut rhs);
        match efficacy(&terms, rhs, divisor) {
            Some(e) if e > value + 1e-9 => value = e,
            _ => (terms[k], rhs) = old,
        }
    }
    if value < 1e-5 {
        return None;
    }
    let f0 = fractional(rhs / divisor);
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
    shift::unshift(c, base, &terms, &coefficients, (rhs / divisor).floor())
}

/// The rounding function of an integer coefficient.
fn rounded(a: f64, f0: f64) -> f64 {
    let down = a.floor();
    let f = a - down;
    // A fraction within rounding of the next integer counts as none: the smaller coefficient is the valid one.
    if f > f0 && f < 1.0 - 1e-10 {
        down + (f - f0) / (1.0 - f0)
    } else if f >= 1.0 - 1e-10 {
        down + 1.0 - 1e-9
    } else {
        down
    }
}

/// Violation over norm of the rounded inequality in shifted space; `None` if the right side has no useful fraction.
fn efficacy(terms: &[Term], rhs: f64, divisor: f64) -> Option<f64> {
    let f0 = fractional(rhs / divisor);
    if !(0.02..=0.98).contains(&f0) || divisor < 1e-6 {
        return None;
    }
    let (mut activity, mut norm) = (0.0, 0.0);
    for t in terms {
        let a = t.coef / divisor;
        let r = if t.integer {
            rounded(a, f0)
        } else {
            a.min(0.0) / (1.0 - f0)
        };
        activity += r * t.value;
        if t.value > 1e-9 {
            norm += r * r;
        }
    }
    let e = (activity - (rhs / divisor).floor()) / f64::sqrt(norm).max(1e-3);
    e.is_finite().then_some(e)
}
