//! Starting points: Mehrotra's, and a given point shifted into the interior.

use super::iterate::Iterate;
use super::newton::Newton;
use super::program::BarrierProgram;
use super::settings::BarrierTuning;

/// Least distance of a warm start to its bounds and least multiplier, in the scaled program, as a
/// share of the mean absolute value.
const WARM_SHIFT: f64 = 1e-2;

fn nearest_zero(l: f64, u: f64) -> f64 {
    0.0f64.max(l).min(u)
}

/// Least-squares point, shifted until distances and multipliers are positive and balanced (Mehrotra
/// 1992, section 7, for bounds on both sides). Returns `None` if the factorisation failed.
pub(super) fn cold(
    p: &BarrierProgram,
    newton: &mut Newton,
    tuning: &BarrierTuning,
) -> Option<Iterate> {
    let (m, n) = (p.num_rows(), p.num_cols());
    if !newton.factorise_unit(p, tuning) {
        return None;
    }
    let mut x: Vec<f64> = (0..n)
        .map(|j| nearest_zero(p.lower[j], p.upper[j]))
        .collect();
    if p.q.is_some() {
        let (near, (x, y)) = (x.clone(), newton.nearest(p, &x));
        // The reduced costs, by the equations of the minimiser.
        let z: Vec<f64> = near.iter().zip(&x).map(|(near, x)| near - x).collect();
        let is_finite = x.iter().chain(&y).all(|v| v.is_finite());
        return is_finite.then(|| shifted(p, x, y, &z));
    }
    let mut rhs = vec![0.0; m];
    let mut v = vec![0.0; m];
    p.times(&x, &mut rhs);
    for (r, b) in rhs.iter_mut().zip(&p.b) {
        *r = b - *r;
    }
    newton.solve_rows(p, &rhs, &mut v, tuning);
    for (j, x) in x.iter_mut().enumerate() {
        *x += p.transposed(j, &v);
    }
    p.times(&p.cost, &mut rhs);
    let mut y = vec![0.0; m];
    newton.solve_rows(p, &rhs, &mut y, tuning);
    let z: Vec<f64> = (0..n).map(|j| p.cost[j] - p.transposed(j, &y)).collect();
    if !x.iter().chain(&z).all(|v| v.is_finite()) {
        return None;
    }
    Some(shifted(p, x, y, &z))
}

fn shifted(p: &BarrierProgram, x: Vec<f64>, y: Vec<f64>, z: &[f64]) -> Iterate {
    let n = p.num_cols();
    let mut at = Iterate::without_bounds(x, y);
    let (mut least_x, mut least_z) = (0.0f64, 0.0f64);
    for (j, &z) in z.iter().enumerate() {
        let (has_l, has_u) = (p.lower[j].is_finite(), p.upper[j].is_finite());
        if has_l {
            at.xl[j] = at.x[j] - p.lower[j];
            at.zl[j] = if has_u { z.max(0.0) } else { z };
            least_x = least_x.min(at.xl[j]);
            least_z = least_z.min(at.zl[j]);
        }
        if has_u {
            at.xu[j] = p.upper[j] - at.x[j];
            at.zu[j] = if has_l { (-z).max(0.0) } else { -z };
            least_x = least_x.min(at.xu[j]);
            least_z = least_z.min(at.zu[j]);
        }
    }
    let (dx, dz) = (-1.5 * least_x, -1.5 * least_z);
    let (mut products, mut sum_x, mut sum_z) = (0.0, 0.0, 0.0);
    for j in 0..n {
        for (finite, x, z) in [
            (p.lower[j].is_finite(), at.xl[j] + dx, at.zl[j] + dz),
            (p.upper[j].is_finite(), at.xu[j] + dx, at.zu[j] + dz),
        ] {
            if finite {
                products += x * z;
                sum_x += x;
                sum_z += z;
            }
        }
    }
    let (mut dx, mut dz) = (dx, dz);
    if products > 0.0 {
        dx += 0.5 * products / sum_z;
        dz += 0.5 * products / sum_x;
    } else {
        dx += 1.0;
        dz += 1.0;
    }
    for j in 0..n {
        if p.lower[j].is_finite() {
            at.xl[j] += dx;
            at.zl[j] += dz;
        }
        if p.upper[j].is_finite() {
            at.xu[j] += dx;
            at.zu[j] += dz;
        }
    }
    at
}

/// Shifts a given point into the interior: raises distances and multipliers so that each product is
/// at least `mu`. The shift may violate equations, which then appear in the residuals.
pub(super) fn warm(p: &BarrierProgram, x: Vec<f64>, y: Vec<f64>, mu: f64) -> Iterate {
    let n = p.num_cols();
    let curved = |j: usize| -> f64 {
        let q = p.q.iter().flat_map(|q| q.iter(j));
        q.map(|(i, v)| v * x[i]).sum()
    };
    let reduced = |j: usize| p.cost[j] + curved(j) - p.transposed(j, &y);
    let z: Vec<f64> = (0..n).map(reduced).collect();
    let mut at = Iterate::without_bounds(x, y);
    let typical = |v: &mut dyn Iterator<Item = f64>| {
        let (sum, count) = v.fold((0.0, 0usize), |(s, c), v| (s + v.abs(), c + 1));
        sum / count.max(1) as f64
    };
    let floor_x = WARM_SHIFT * typical(&mut at.x.iter().copied()).max(1e-2);
    let floor_z = WARM_SHIFT * typical(&mut z.iter().copied()).max(1e-2);
    let mu = mu.max(floor_x * floor_z);
    for j in 0..n {
        let (has_l, has_u) = (p.lower[j].is_finite(), p.upper[j].is_finite());
        let pair = |distance: f64, multiplier: f64| {
            let x = distance.max(floor_x);
            let z = multiplier.max(floor_z.min(mu / floor_x)).max(mu / x);
            // Raises the distance of a column with a large multiplier that is far from its bound,
            // which would otherwise dominate.
            (x.max(mu / z), z)
        };
        if has_l {
            (at.xl[j], at.zl[j]) = pair(at.x[j] - p.lower[j], z[j]);
        }
        if has_u {
            (at.xu[j], at.zu[j]) = pair(p.upper[j] - at.x[j], -z[j]);
        }
    }
    at
}
