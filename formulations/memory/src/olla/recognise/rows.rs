//! A model as recognition reads it: rows without the columns that are 0 in every point, by form.

use remat_lp::{ColId, Model, RowId};

/// Part of a coefficient that rounding may have taken.
const ROUNDING: f64 = 1e-9;

/// A row `sum of entries <= upper`, or `= upper`.
#[derive(Clone, Debug)]
pub(super) struct OllaRow {
    /// Columns, ascending, with their coefficients.
    pub entries: Vec<(u32, f64)>,
    pub upper: f64,
    pub is_equation: bool,
}

/// A row over binary columns whose coefficients are 1 and -1, or nearly so.
#[derive(Clone, Copy, Debug)]
pub(super) enum BinaryRow<'r> {
    /// Exactly one of the columns is 1.
    One(&'r [(u32, f64)]),
    /// At least one of the columns is 1.
    Cover(&'r [(u32, f64)]),
    /// At most one of the columns is 1.
    Pack(&'r [(u32, f64)]),
    /// The columns are equal.
    Equal(u32, u32),
    /// The first column is at most the sum of the other ones in the row.
    AtMost(u32, &'r [(u32, f64)]),
    /// The first column is at most each of the other ones in the row.
    AtMostEach(u32, &'r [(u32, f64)]),
}

/// A model as recognition reads it.
pub(super) struct Reading<'m> {
    pub model: &'m Model,
    /// Columns that are 0 in every point.
    pub is_zero: Vec<bool>,
    /// Columns that are 1 in every point.
    pub is_one: Vec<bool>,
    /// Columns of values 0 and 1.
    pub is_binary: Vec<bool>,
    /// Bounds of columns, including those of single rows.
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    /// The one column with a cost.
    pub peak: u32,
    /// Rows without columns that are 0.
    pub rows: Vec<OllaRow>,
}

impl<'m> Reading<'m> {
    /// Reads a model whose objective is one column, to be minimised.
    pub fn new(model: &'m Model) -> Option<Reading<'m>> {
        let sign = model.sense().sign();
        let mut costs = model.costs().iter().enumerate().filter(|c| *c.1 != 0.0);
        let (peak, cost) = costs.next()?;
        (costs.next().is_none() && sign * cost > 0.0).then_some(())?;
        let n = model.num_cols();
        let mut reading = Reading {
            model,
            is_zero: vec![false; n],
            is_one: vec![false; n],
            is_binary: vec![false; n],
            lower: model.col_lower().to_vec(),
            upper: model.col_upper().to_vec(),
            peak: peak as u32,
            rows: Vec::new(),
        };
        reading.tighten();
        for c in 0..n {
            let (lower, upper) = (reading.lower[c], reading.upper[c]);
            (lower <= upper).then_some(())?;
            let is_integer = model.is_integer(ColId(c as u32));
            reading.is_zero[c] = lower == 0.0 && upper == 0.0;
            reading.is_binary[c] = is_integer && lower >= 0.0 && upper <= 1.0;
            reading.is_one[c] = reading.is_binary[c] && lower > 0.0;
        }
        reading.collect();
        Some(reading)
    }

    /// Takes bounds from rows with one entry, and zeros from rows that sum up to no more than 0.
    fn tighten(&mut self) {
        let model = self.model;
        for r in (0..model.num_rows() as u32).map(RowId) {
            let mut entries = model.row(r);
            let (Some((c, v)), None) = (entries.next(), entries.next()) else {
                continue;
            };
            let side = model.row_bounds(r);
            let (a, b) = (side.lower / v, side.upper / v);
            let c = c.index();
            self.lower[c] = self.lower[c].max(a.min(b));
            self.upper[c] = self.upper[c].min(a.max(b));
        }
        for r in (0..model.num_rows() as u32).map(RowId) {
            let side = model.row_bounds(r);
            for (sign, upper) in [(1.0, side.upper), (-1.0, -side.lower)] {
                let lower = &self.lower;
                let is_sum = |(c, v): (ColId, f64)| sign * v > 0.0 && lower[c.index()] >= 0.0;
                if upper == 0.0 && model.row(r).all(is_sum) {
                    model.row(r).for_each(|(c, _)| self.upper[c.index()] = 0.0);
                }
            }
        }
        // Integers are within the integers of their bounds.
        for c in 0..model.num_cols() {
            if model.is_integer(ColId(c as u32)) {
                self.lower[c] = (self.lower[c] - ROUNDING).ceil();
                self.upper[c] = (self.upper[c] + ROUNDING).floor();
            }
        }
    }

    fn collect(&mut self) {
        let model = self.model;
        for r in (0..model.num_rows() as u32).map(RowId) {
            let entries = model.row(r).filter(|(c, _)| !self.is_zero[c.index()]);
            let mut entries: Vec<_> = entries.map(|(c, v)| (c.0, v)).collect();
            entries.sort_unstable_by_key(|e| e.0);
            if entries.is_empty() {
                continue;
            }
            let side = model.row_bounds(r);
            if side.lower == side.upper {
                self.rows.push(OllaRow {
                    entries,
                    upper: side.upper,
                    is_equation: true,
                });
                continue;
            }
            if side.lower.is_finite() {
                self.rows.push(OllaRow {
                    entries: entries.iter().map(|e| (e.0, -e.1)).collect(),
                    upper: -side.lower,
                    is_equation: false,
                });
            }
            if side.upper.is_finite() {
                self.rows.push(OllaRow {
                    entries,
                    upper: side.upper,
                    is_equation: false,
                });
            }
        }
    }

    /// Reports the forms of a row; most rows with other than binary columns have no form.
    pub fn each_form<'r>(&self, row: &'r OllaRow, tell: &mut dyn FnMut(BinaryRow<'r>)) {
        let binary = |e: &(u32, f64)| self.is_binary[e.0 as usize];
        if !row.entries.iter().all(binary) {
            return;
        }
        let unit = row
            .entries
            .iter()
            .fold(f64::INFINITY, |m, e| m.min(e.1.abs()));
        let is = |v: f64, wanted: f64| (v - wanted * unit).abs() <= ROUNDING * v.abs().max(unit);
        let signs: [&[f64]; 2] = [&[1.0], &[1.0, -1.0]];
        for sign in signs[usize::from(row.is_equation)] {
            let upper = sign * row.upper;
            let plus = row.entries.iter().filter(|e| sign * e.1 > 0.0).count();
            let minus = row.entries.len() - plus;
            let units = row.entries.iter().all(|e| is(e.1.abs(), 1.0));
            match (plus, minus) {
                (_, 0) if units && is(upper, 1.0) => tell(match row.is_equation {
                    true => BinaryRow::One(&row.entries),
                    false => BinaryRow::Pack(&row.entries),
                }),
                (0, _) if units && is(upper, -1.0) && !row.is_equation => {
                    tell(BinaryRow::Cover(&row.entries));
                }
                (1, 1) if units && upper == 0.0 && row.is_equation => {
                    if *sign > 0.0 {
                        tell(BinaryRow::Equal(row.entries[0].0, row.entries[1].0));
                    }
                    let first = row.entries.iter().find(|e| sign * e.1 > 0.0);
                    first
                        .into_iter()
                        .for_each(|e| tell(BinaryRow::AtMost(e.0, &row.entries)));
                }
                (1, _) if upper == 0.0 => {
                    let Some(first) = row.entries.iter().find(|e| sign * e.1 > 0.0) else {
                        continue;
                    };
                    let others = row.entries.iter().filter(|e| e.0 != first.0);
                    if units {
                        tell(BinaryRow::AtMost(first.0, &row.entries));
                    } else if others.clone().all(|e| is(-sign * e.1, 1.0))
                        && is(first.1.abs(), others.count() as f64)
                    {
                        tell(BinaryRow::AtMostEach(first.0, &row.entries));
                    }
                }
                _ => {}
            }
        }
    }
}
