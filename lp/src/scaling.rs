//! Scaling of rows and columns by powers of two, so that scaling itself never rounds.
//!
//! A few passes of geometric scaling (each row and column is divided by the square root of its
//! smallest times its largest entry), then equilibration of the columns. Skipped if the matrix is
//! already well scaled. Small costs have a factor of their own, because the dual tolerance is
//! absolute.

use crate::compressed::Compressed;

/// Factors: the scaled matrix is `row[i] * a_ij * col[j]`.
#[derive(Clone, Debug)]
pub(crate) struct Scaling {
    pub row: Vec<f64>,
    pub col: Vec<f64>,
    /// Factor of all costs.
    pub cost: f64,
}

/// Range of the largest cost in which costs stay as they are.
const COSTS: std::ops::RangeInclusive<f64> = 1.0..=1e3;

/// The largest cost after scaling, up to a factor of the square root of 2.
const LARGEST_COST: f64 = 512.0;

/// A power of two that brings the largest cost into the range from 1 to 1,000, where absolute
/// tolerances and thresholds have the meaning that they were made for. Large costs shrink only as
/// far as the median cost is at least about 1, so that a few penalties do not hide the rest.
///
/// ```
/// use remat_lp::cost_scale;
/// assert_eq!(cost_scale(&[0.0, 3.0, 700.0]), 1.0);
/// assert_eq!(cost_scale(&[2e-6, 1e-6]), 2f64.powi(28));
/// assert_eq!(cost_scale(&[-4096.0, 4096.0, 8.0]), 0.125);
/// assert_eq!(cost_scale(&[1.0, 1.0, 1e9]), 1.0);
/// ```
pub fn cost_scale(costs: &[f64]) -> f64 {
    let largest = costs.iter().fold(0.0f64, |a, c| a.max(c.abs()));
    if largest == 0.0 || COSTS.contains(&largest) {
        return 1.0;
    }
    let wanted = power_of_two(LARGEST_COST / largest);
    if wanted >= 1.0 {
        return wanted;
    }
    let mut sizes: Vec<f64> = costs.iter().map(|c| c.abs()).filter(|c| *c > 0.0).collect();
    let middle = sizes.len() / 2;
    let (_, median, _) = sizes.select_nth_unstable_by(middle, f64::total_cmp);
    wanted.max(power_of_two(1.0 / *median)).min(1.0)
}

/// The power of two nearest to `v` on a logarithmic scale.
pub(crate) fn power_of_two(v: f64) -> f64 {
    if v > 0.0 && v.is_finite() {
        v.log2().round().clamp(-100.0, 100.0).exp2()
    } else {
        1.0
    }
}

/// Smallest and largest magnitude of entries times the factors of the other side.
fn extremes(entries: impl Iterator<Item = (usize, f64)>, other: &[f64]) -> Option<(f64, f64)> {
    let mut range: Option<(f64, f64)> = None;
    for (k, v) in entries {
        let size = v.abs() * other[k];
        range = Some(range.map_or((size, size), |(lo, hi)| (lo.min(size), hi.max(size))));
    }
    range
}

impl Scaling {
    /// No scaling.
    pub fn identity(m: usize, n: usize) -> Self {
        Scaling {
            row: vec![1.0; m],
            col: vec![1.0; n],
            cost: 1.0,
        }
    }

    /// Factor of the costs in the simplex method, which needs one only for small costs.
    pub fn of_costs(costs: &[f64]) -> f64 {
        cost_scale(costs).max(1.0)
    }

    /// Factors for a matrix given by columns and by rows.
    pub fn geometric(cols: &Compressed, rows: &Compressed) -> Self {
        let (n, m) = (cols.outer(), rows.outer());
        let mut s = Scaling::identity(m, n);
        let overall = cols
            .value
            .iter()
            .fold((f64::INFINITY, 0.0f64), |(lo, hi), v| {
                (lo.min(v.abs()), hi.max(v.abs()))
            });
        if overall.0 >= 0.2 && overall.1 <= 5.0 {
            return s;
        }
        for _ in 0..6 {
            for i in 0..m {
                if let Some((lo, hi)) = extremes(rows.iter(i), &s.col) {
                    s.row[i] = 1.0 / (lo * hi).sqrt();
                }
            }
            for j in 0..n {
                if let Some((lo, hi)) = extremes(cols.iter(j), &s.row) {
                    s.col[j] = 1.0 / (lo * hi).sqrt();
                }
            }
        }
        for r in &mut s.row {
            *r = power_of_two(*r);
        }
        for j in 0..n {
            s.col[j] = s.fit_col(cols.iter(j));
        }
        s
    }

    /// Equilibrating factor of a column, given the rows' factors.
    pub fn fit_col(&self, entries: impl Iterator<Item = (usize, f64)>) -> f64 {
        extremes(entries, &self.row).map_or(1.0, |(_, hi)| power_of_two(1.0 / hi))
    }

    /// Geometric factor of a row, given the columns' factors.
    pub fn fit_row(&self, entries: impl Iterator<Item = (usize, f64)>) -> f64 {
        extremes(entries, &self.col).map_or(1.0, |(lo, hi)| power_of_two(1.0 / (lo * hi).sqrt()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn badly_scaled_products_become_tame() {
        // a_ij = r_i * c_j with r, c over ten orders of magnitude: scalable to all ones.
        let mut a = Compressed::default();
        for j in 0..6i32 {
            a.push((0..6i32).map(|i| (i as u32, 10f64.powi(3 * i - 2 * j))));
        }
        let s = Scaling::geometric(&a, &a.transpose(6));
        for j in 0..6 {
            for (i, v) in a.iter(j) {
                let scaled = s.row[i] * v * s.col[j];
                assert!((0.2..=5.0).contains(&scaled), "{scaled}");
                assert_eq!(s.row[i].log2().fract(), 0.0);
            }
        }
    }
}
