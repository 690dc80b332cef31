//! An aggregated row in nonnegative variables: every column is replaced by its distance to a bound
//! or a variable bound (Marchand & Wolsey 2001, section 2). Cuts found there are converted back.

use super::sum::Sum;
use super::{Context, Cut};

/// An equation `sum coef * x + sum factor * slack = rhs` made from rows of the relaxation. A slack
/// is nonnegative: `slack = upper - activity` or `activity - lower` of its row.
#[derive(Clone, Debug, Default)]
pub(crate) struct Base {
    pub entries: Vec<(u32, f64)>,
    /// Row, factor, and whether it is the distance to the upper side.
    pub slacks: Vec<(u32, f64, bool)>,
    /// Right-hand side, with the largest summand of the coefficients.
    pub rhs: Sum,
}

/// Substitution of a column by a nonnegative variable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shift {
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
pub(crate) struct ShiftedTerm {
    /// Column, or position in `slacks` if `slack`.
    pub id: u32,
    pub slack: bool,
    pub coef: f64,
    pub value: f64,
    pub range: f64,
    pub integer: bool,
    pub shift: Shift,
}

impl ShiftedTerm {
    /// Measures an integer column from its other bound; `rhs` is the side of its row.
    pub fn complement(&mut self, rhs: &mut Sum) {
        rhs.add(-self.coef * self.range);
        self.coef = -self.coef;
        self.value = self.range - self.value;
        self.shift = if self.shift == Shift::Lower {
            Shift::Upper
        } else {
            Shift::Lower
        };
    }
}

/// `sum coef * variable = rhs` over nonnegative variables.
pub(crate) struct Shifted {
    pub terms: Vec<ShiftedTerm>,
    pub rhs: Sum,
    /// Numbers of columns replaced by variable bounds, and of those with an equally tight bound.
    pub substituted: usize,
    pub ties: usize,
}

/// Choice of the variable bounds used in place of bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BoundSubstitution {
    Never,
    /// Variable bounds that are tighter than the bound.
    Tighter,
    /// Variable bounds that are at least as tight as the bound.
    Always,
}

impl BoundSubstitution {
    pub const ALL: [BoundSubstitution; 3] = [
        BoundSubstitution::Always,
        BoundSubstitution::Tighter,
        BoundSubstitution::Never,
    ];
}

/// Measures every column from its nearest bound or variable bound.
pub(crate) fn shift(
    c: &Context<'_>,
    base: &Base,
    substitution: BoundSubstitution,
) -> Option<Shifted> {
    let mut shifted = Shifted {
        terms: Vec::new(),
        rhs: base.rhs,
        substituted: 0,
        ties: 0,
    };
    // Continuous columns first: a variable bound changes the coefficient of its integer column.
    let mut integer: Vec<(u32, f64)> = Vec::new();
    for &(j, a) in &base.entries {
        let k = j as usize;
        if a.abs() < 1e-12 {
            // Noise of an aggregation, replaced by its least contribution over the column's range.
            if c.upper[k] - c.lower[k] > 1e3 {
                return None;
            }
            let most = 1e-12 * (c.upper[k] - c.lower[k]).max(0.0);
            shifted.rhs.add(most + (-a * c.lower[k]));
        } else if c.problem.integer[k] {
            integer.push((j, a));
        } else {
            integer.extend(shifted.add_continuous(c, (j, a), substitution)?);
        }
    }
    integer.sort_unstable_by_key(|e| e.0);
    for entries in integer.chunk_by(|a, b| a.0 == b.0) {
        let a = entries.iter().fold(0.0, |sum, e| sum + e.1);
        shifted.add_integer(c, (entries[0].0, a))?;
    }
    for (k, &(row, factor, upper)) in base.slacks.iter().enumerate() {
        let b = c.model.row_bounds(remat_lp::RowId(row));
        let activity = c.solution.row_activity[row as usize];
        let value = if upper {
            b.upper - activity
        } else {
            activity - b.lower
        };
        shifted.terms.push(ShiftedTerm {
            id: k as u32,
            slack: true,
            coef: factor,
            value: value.max(0.0),
            range: b.upper - b.lower,
            integer: c.integral_rows[row as usize],
            shift: Shift::Lower,
        });
    }
    (shifted.terms.len() <= 2_000.max(c.problem.num_cols() / 2)).then_some(shifted)
}

/// The nearest bound or variable bound of a continuous column, its distance, and the distance of
/// the nearest bound.
fn nearest(c: &Context<'_>, k: usize, substitution: BoundSubstitution) -> (Shift, f64, f64) {
    let x = &c.solution.x;
    let (to_l, to_u) = (x[k] - c.lower[k], c.upper[k] - x[k]);
    let mut shift = if to_l <= to_u {
        Shift::Lower
    } else {
        Shift::Upper
    };
    let simple = to_l.min(to_u);
    let mut distance = simple;
    let tie = match substitution {
        BoundSubstitution::Never => return (shift, distance, simple),
        BoundSubstitution::Always => 1e-9,
        BoundSubstitution::Tighter => -1e-6,
    };
    if let Some(&(y, factor, constant)) = c.tables.variable_bounds.best_upper(k, x) {
        let d = factor * x[y as usize] + constant - x[k];
        if d <= distance + tie {
            distance = d;
            shift = Shift::VariableUpper {
                y,
                factor,
                constant,
            };
        }
    }
    if let Some(&(y, factor, constant)) = c.tables.variable_bounds.best_lower(k, x) {
        let d = x[k] - factor * x[y as usize] - constant;
        if d < distance + tie.min(-1e-9) {
            distance = d;
            shift = Shift::VariableLower {
                y,
                factor,
                constant,
            };
        }
    }
    (shift, distance, simple)
}

impl Shifted {
    /// Adds a continuous column. Returns the entry of the integer column if a variable bound
    /// replaces it. `None` if the column has no bound nearby.
    fn add_continuous(
        &mut self,
        c: &Context<'_>,
        (j, a): (u32, f64),
        substitution: BoundSubstitution,
    ) -> Option<Option<(u32, f64)>> {
        let k = j as usize;
        let (shift, distance, simple) = nearest(c, k, substitution);
        if !matches!(shift, Shift::Lower | Shift::Upper) {
            self.substituted += 1;
            self.ties += usize::from(distance > simple - 1e-6);
        }
        if !distance.is_finite() {
            return None;
        }
        let (constant, coef, variable) = match shift {
            Shift::Lower => (c.lower[k], a, None),
            Shift::Upper => (c.upper[k], -a, None),
            Shift::VariableUpper {
                y,
                factor,
                constant,
            } => (constant, -a, Some((y, a * factor))),
            Shift::VariableLower {
                y,
                factor,
                constant,
            } => (constant, a, Some((y, a * factor))),
        };
        self.rhs.add(-a * constant);
        if let Some((_, entry)) = variable {
            self.rhs.see(entry);
        }
        self.terms.push(ShiftedTerm {
            id: j,
            slack: false,
            coef,
            value: distance.max(0.0),
            range: f64::INFINITY,
            integer: false,
            shift,
        });
        Some(variable)
    }

    /// Adds an integer column. `None` if it has no bound.
    fn add_integer(&mut self, c: &Context<'_>, (j, a): (u32, f64)) -> Option<()> {
        let i = j as usize;
        let (l, u) = (c.lower[i], c.upper[i]);
        if l == u {
            self.rhs.add(-a * l);
            return Some(());
        }
        if a.abs() < 1e-11 {
            if u - l > 1e3 {
                return None;
            }
            self.rhs.add(a.abs() * (u - l) - a * l);
            return Some(());
        }
        let x = c.solution.x[i];
        let (to_l, to_u) = (x - l, u - x);
        if !to_l.min(to_u).is_finite() {
            return None;
        }
        let (shift, coef) = if to_l <= to_u {
            self.rhs.add(-a * l);
            (Shift::Lower, a)
        } else {
            self.rhs.add(-a * u);
            (Shift::Upper, -a)
        };
        self.terms.push(ShiftedTerm {
            id: j,
            slack: false,
            coef,
            value: to_l.min(to_u).max(0.0),
            range: u - l,
            integer: true,
            shift,
        });
        Some(())
    }
}

/// Converts the inequality `sum coefficient * variable <= side` to the columns of the problem.
/// `side` includes the largest summand of the coefficients.
pub(crate) fn unshift(
    c: &Context<'_>,
    base: &Base,
    terms: &[ShiftedTerm],
    coefficients: &[f64],
    side: Sum,
) -> Option<Cut> {
    let mut sum = c.scratch.borrow_mut();
    sum.side = side;
    for (t, &r) in terms.iter().zip(coefficients) {
        if r == 0.0 {
            continue;
        }
        if t.slack {
            // r * slack <= ...: the slack is the distance to a side of its row.
            let (row, _, upper) = base.slacks[t.id as usize];
            let b = c.model.row_bounds(remat_lp::RowId(row));
            let (factor, bound) = if upper { (-r, b.upper) } else { (r, b.lower) };
            sum.side.add(factor * bound);
            sum.add_row(c.model, row as usize, factor);
            continue;
        }
        let j = t.id as usize;
        match t.shift {
            Shift::Lower => {
                sum.add(j, r);
                sum.side.add(r * c.lower[j]);
            }
            Shift::Upper => {
                sum.add(j, -r);
                sum.side.add(-r * c.upper[j]);
            }
            Shift::VariableUpper {
                y,
                factor,
                constant,
            } => {
                // t = factor * y + constant - x
                sum.add(j, -r);
                sum.add(y as usize, r * factor);
                sum.side.add(-r * constant);
            }
            Shift::VariableLower {
                y,
                factor,
                constant,
            } => {
                sum.add(j, r);
                sum.add(y as usize, -r * factor);
                sum.side.add(r * constant);
            }
        }
    }
    // Most candidates are not violated: these are not written out.
    let cut = c.is_violated(&sum).then(|| {
        sum.sort();
        (sum.entries().collect(), sum.side)
    });
    sum.clear();
    let (entries, side) = cut?;
    c.finish(entries, side)
}
