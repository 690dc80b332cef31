//! Complemented mixed-integer rounding of one inequality (Marchand & Wolsey 2001).

use super::{Context, Cut};

/// An equation `sum coef * x + sum factor * slack = rhs` made from rows of the relaxation. A slack is nonnegative:
/// `slack = upper - activity` or `activity - lower` of its row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base {
    pub entries: Vec<(u32, f64)>,
    /// Row, factor, whether it is the distance to the upper side.
    pub slacks: Vec<(u32, f64, bool)>,
    pub rhs: f64,
}

/// How a column is replaced by a nonnegative one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shift {
    Lower,
    Upper,
    /// `x = factor * y + constant - t` (variable upper bound).
    VariableUpper {
        y: u32,
        factor: f64,
        constant: f64,
    },
    /// `x = factor * y + constant + t` (variable lower bound).
    VariableLower {
        y: u32,
        factor: f64,
        constant: f64,
    },
}

/// A nonnegative variable of the shifted inequality.
#[derive(Clone, Copy, Debug)]
struct Term {
    /// Column, or position in `slacks` if `slack`.
    id: u32,
    slack: bool,
    coef: f64,
    value: f64,
    range: f64,
    integer: bool,
    shift: Shift,
}

fn fractional(v: f64) -> f64 {
    v - v.floor()
}

/// Tries to derive a violated cut. Variable bounds are used if `with_variable_bounds`.
pub(crate) fn separate(c: &Context<'_>, base: &Base, with_variable_bounds: bool) -> Option<Cut> {
    let x = &c.solution.x;
    let n = c.problem.num_cols();
    let mut rhs = base.rhs;
    let mut terms: Vec<Term> = Vec::new();
    // Continuous columns first: a variable bound changes the coefficient of its integer column.
    let mut integer: Vec<(u32, f64)> = Vec::new();
    for &(j, a) in &base.entries {
        let k = j as usize;
        if a.abs() < 1e-12 {
            // Noise of an aggregation; worth no more than this over the column's range.
            if c.upper[k] - c.lower[k] > 1e3 {
                return None;
            }
            rhs += 1e-12 * (c.upper[k] - c.lower[k]).max(0.0) + (-a * c.lower[k]);
            continue;
        }
        if c.problem.integer[k] {
            integer.push((j, a));
            continue;
        }
        let (l, u) = (c.lower[k], c.upper[k]);
        let (to_l, to_u) = (x[k] - l, u - x[k]);
        let mut shift = if to_l <= to_u {
            Shift::Lower
        } else {
            Shift::Upper
        };
        let mut distance = to_l.min(to_u);
        if with_variable_bounds {
            if let Some(&(y, factor, constant)) = c.variable_bounds.best_upper(k, x) {
                let d = factor * x[y as usize] + constant - x[k];
                if d <= distance + 1e-9 {
                    distance = d;
                    shift = Shift::VariableUpper {
                        y,
                        factor,
                        constant,
                    };
                }
            }
            if let Some(&(y, factor, constant)) = c.variable_bounds.best_lower(k, x) {
                let d = x[k] - factor * x[y as usize] - constant;
                if d < distance - 1e-9 {
                    distance = d;
                    shift = Shift::VariableLower {
                        y,
                        factor,
                        constant,
                    };
                }
            }
        }
        if !distance.is_finite() {
            return None;
        }
        let coef = match shift {
            Shift::Lower => {
                rhs -= a * l;
                a
            }
            Shift::Upper => {
                rhs -= a * u;
                -a
            }
            Shift::VariableUpper {
                y,
                factor,
                constant,
            } => {
                rhs -= a * constant;
                integer.push((y, a * factor));
                -a
            }
            Shift::VariableLower {
                y,
                factor,
                constant,
            } => {
                rhs -= a * constant;
                integer.push((y, a * factor));
                a
            }
        };
        terms.push(Term {
            id: j,
            slack: false,
            coef,
            value: distance.max(0.0),
            range: f64::INFINITY,
            integer: false,
            shift,
        });
    }
    integer.sort_unstable_by_key(|e| e.0);
    let mut k = 0;
    while k < integer.len() {
        let j = integer[k].0;
        let mut a = 0.0;
        while k < integer.len() && integer[k].0 == j {
            a += integer[k].1;
            k += 1;
        }
        let i = j as usize;
        let (l, u) = (c.lower[i], c.upper[i]);
        if l == u {
            rhs -= a * l;
            continue;
        }
        if a.abs() < 1e-11 {
            if u - l > 1e3 {
                return None;
            }
            rhs += a.abs() * (u - l) - a * l;
            continue;
        }
        let (to_l, to_u) = (x[i] - l, u - x[i]);
        if !to_l.min(to_u).is_finite() {
            return None;
        }
        let (shift, coef) = if to_l <= to_u {
            rhs -= a * l;
            (Shift::Lower, a)
        } else {
            rhs -= a * u;
            (Shift::Upper, -a)
        };
        terms.push(Term {
            id: j,
            slack: false,
            coef,
            value: to_l.min(to_u).max(0.0),
            range: u - l,
            integer: true,
            shift,
        });
    }
    for (k, &(row, factor, upper)) in base.slacks.iter().enumerate() {
        let b = c.model.row_bounds(remat_lp::RowId(row));
        let activity = c.solution.row_activity[row as usize];
        let value = if upper {
            b.upper - activity
        } else {
            activity - b.lower
        };
        terms.push(Term {
            id: k as u32,
            slack: true,
            coef: factor,
            value: value.max(0.0),
            range: b.upper - b.lower,
            integer: c.integral_rows[row as usize],
            shift: Shift::Lower,
        });
    }
    if terms.len() > 2_000.max(n / 2) {
        return None;
    }
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
        let t = &mut terms[k];
        rhs -= t.coef * t.range;
        t.coef = -t.coef;
        t.value = t.range - t.value;
        t.shift = if t.shift == Shift::Lower {
            Shift::Upper
        } else {
            Shift::Lower
        };
        match efficacy(&terms, rhs, divisor) {
            Some(e) if e > value + 1e-9 => value = e,
            _ => (terms[k], rhs) = old,
        }
    }
    if value < 1e-5 {
        return None;
    }
    build(c, base, &terms, rhs, divisor)
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

/// The cut in the columns of the problem.
fn build(c: &Context<'_>, base: &Base, terms: &[Term], rhs: f64, divisor: f64) -> Option<Cut> {
    let f0 = fractional(rhs / divisor);
    let mut side = (rhs / divisor).floor();
    let mut entries: Vec<(u32, f64)> = Vec::with_capacity(terms.len());
    for t in terms {
        let a = t.coef / divisor;
        let r = if t.integer {
            rounded(a, f0)
        } else {
            a.min(0.0) / (1.0 - f0)
        };
        if r == 0.0 {
            continue;
        }
        if t.slack {
            // r * slack <= ...: the slack is a distance to a side of its row.
            let (row, _, upper) = base.slacks[t.id as usize];
            let b = c.model.row_bounds(remat_lp::RowId(row));
            let sign = if upper {
                side -= r * b.upper;
                -1.0
            } else {
                side += r * b.lower;
                1.0
            };
            for (j, v) in c.model.row(remat_lp::RowId(row)) {
                entries.push((j.0, sign * r * v));
            }
            continue;
        }
        let j = t.id as usize;
        match t.shift {
            Shift::Lower => {
                entries.push((t.id, r));
                side += r * c.lower[j];
            }
            Shift::Upper => {
                entries.push((t.id, -r));
                side -= r * c.upper[j];
            }
            Shift::VariableUpper {
                y,
                factor,
                constant,
            } => {
                // t = factor * y + constant - x
                entries.push((t.id, -r));
                entries.push((y, r * factor));
                side -= r * constant;
            }
            Shift::VariableLower {
                y,
                factor,
                constant,
            } => {
                entries.push((t.id, r));
                entries.push((y, -r * factor));
                side += r * constant;
            }
        }
    }
    entries.sort_unstable_by_key(|e| e.0);
    let mut merged: Vec<(u32, f64)> = Vec::with_capacity(entries.len());
    for (j, a) in entries {
        match merged.last_mut() {
            Some(last) if last.0 == j => last.1 += a,
            _ => merged.push((j, a)),
        }
    }
    c.finish(merged, side)
}
