//! One iteration: predictor, corrector, centrality correctors, and the lengths of the steps.
//!
//! Sources: S. Mehrotra, *On the implementation of a primal-dual interior point method*, SIAM J.
//! Optimization 2 (1992); J. Gondzio, *Multiple centrality corrections in a primal-dual method for
//! linear programming*, Computational Optimization and Applications 6 (1996).

use super::iterate::{Iterate, Residuals};
use super::newton::{Newton, Targets};
use super::program::BarrierProgram;
use super::settings::BarrierTuning;

/// Range for the products of a trial point, as multiples of the target; correctors aim at it.
const PRODUCT_RANGE: (f64, f64) = (0.1, 10.0);
/// Growth of the steps that a centrality corrector aims at; [`GROWTH_SHARE`] is the share it must
/// reach.
const STEP_GROWTH: f64 = 0.1;
const GROWTH_SHARE: f64 = 0.1;
/// Largest step; it is below one so that no distance becomes zero.
const LARGEST_STEP: f64 = 1.0 - 1e-9;

/// Directions and targets of an iteration.
pub(super) struct BarrierStep {
    affine: Iterate,
    pub direction: Iterate,
    trial: Iterate,
    targets: Targets,
}

/// Longest step in [0, 1] that keeps `v + step * d` nonnegative, and the index that blocks it.
fn ratio(v: &[f64], d: &[f64]) -> (f64, Option<usize>) {
    let mut best = (1.0, None);
    for (j, (&v, &d)) in v.iter().zip(d).enumerate() {
        if d < 0.0 && v + best.0 * d < 0.0 {
            best = (-v / d, Some(j));
        }
    }
    best
}

/// Longest primal and dual steps in [0, 1].
pub(super) fn longest(at: &Iterate, d: &Iterate) -> (f64, f64) {
    (
        ratio(&at.xl, &d.xl).0.min(ratio(&at.xu, &d.xu).0),
        ratio(&at.zl, &d.zl).0.min(ratio(&at.zu, &d.zu).0),
    )
}

/// Lengths as they may be taken: a quadratic objective couples points and multipliers, so both go
/// equally far.
fn together(p: &BarrierProgram, (primal, dual): (f64, f64)) -> (f64, f64) {
    match p.q {
        Some(_) => (primal.min(dual), primal.min(dual)),
        None => (primal, dual),
    }
}

/// Step lengths after Mehrotra: the blocking product is left near the expected mean product.
fn lengths(at: &Iterate, d: &Iterate, products: usize, tuning: &BarrierTuning) -> (f64, f64) {
    let (primal_l, primal_u) = (ratio(&at.xl, &d.xl), ratio(&at.xu, &d.xu));
    let (dual_l, dual_u) = (ratio(&at.zl, &d.zl), ratio(&at.zu, &d.zu));
    let (primal, dual) = (primal_l.0.min(primal_u.0), dual_l.0.min(dual_u.0));
    let target = 0.1 * at.products_after(d, primal, dual) / products.max(1) as f64;
    let near = |longest: f64, v: f64, dv: f64, w: f64, dw: f64, other: f64| {
        let kept = target / (w + other * dw);
        // Not `clamp`, which panics where rounding has left a negative step.
        ((kept - v) / dv)
            .max(tuning.step_share * longest)
            .min(longest)
    };
    let pick = |longest: f64, below: (f64, Option<usize>), above: (f64, Option<usize>)| {
        if below.0 <= above.0 && longest < 1.0 {
            (below.1, true)
        } else {
            (above.1, false)
        }
    };
    let mut steps = (primal, dual);
    if let (Some(j), is_lower) = pick(primal, primal_l, primal_u) {
        steps.0 = if is_lower {
            near(primal, at.xl[j], d.xl[j], at.zl[j], d.zl[j], dual)
        } else {
            near(primal, at.xu[j], d.xu[j], at.zu[j], d.zu[j], dual)
        };
    }
    if let (Some(j), is_lower) = pick(dual, dual_l, dual_u) {
        steps.1 = if is_lower {
            near(dual, at.zl[j], d.zl[j], at.xl[j], d.xl[j], primal)
        } else {
            near(dual, at.zu[j], d.zu[j], at.xu[j], d.xu[j], primal)
        };
    }
    (steps.0.min(LARGEST_STEP), steps.1.min(LARGEST_STEP))
}

impl BarrierStep {
    pub fn new(p: &BarrierProgram) -> BarrierStep {
        let (m, n) = (p.num_rows(), p.num_cols());
        let empty = Iterate {
            x: vec![0.0; n],
            xl: vec![0.0; n],
            xu: vec![0.0; n],
            y: vec![0.0; m],
            zl: vec![0.0; n],
            zu: vec![0.0; n],
        };
        BarrierStep {
            affine: empty.clone(),
            direction: empty.clone(),
            trial: empty,
            targets: Targets {
                lower: vec![0.0; n],
                upper: vec![0.0; n],
            },
        }
    }

    /// Computes the direction at a factorised iterate and takes the step. Returns its lengths.
    pub fn take(
        &mut self,
        p: &BarrierProgram,
        newton: &mut Newton,
        at: &mut Iterate,
        r: &Residuals,
        tuning: &BarrierTuning,
    ) -> (f64, f64) {
        let products = Iterate::num_products(p);
        for j in 0..p.num_cols() {
            self.targets.lower[j] = side(at.xl[j], |x| -x * at.zl[j]);
            self.targets.upper[j] = side(at.xu[j], |x| -x * at.zu[j]);
        }
        newton.direction(p, at, Some(r), &self.targets, &mut self.affine, tuning);
        let (primal, dual) = together(p, longest(at, &self.affine));
        let mut sigma_mu = 0.0;
        if products > 0 {
            let after = at.products_after(&self.affine, primal, dual) / products as f64;
            sigma_mu = (after / r.mu).powi(3).clamp(1e-6, 1.0) * r.mu;
            for j in 0..p.num_cols() {
                let d = &self.affine;
                self.targets.lower[j] =
                    side(at.xl[j], |x| sigma_mu - x * at.zl[j] - d.xl[j] * d.zl[j]);
                self.targets.upper[j] =
                    side(at.xu[j], |x| sigma_mu - x * at.zu[j] - d.xu[j] * d.zu[j]);
            }
            newton.direction(p, at, Some(r), &self.targets, &mut self.direction, tuning);
        } else {
            std::mem::swap(&mut self.affine, &mut self.direction);
        }
        for _ in 0..tuning.correctors {
            if products == 0 || !self.correct(p, newton, at, sigma_mu, tuning) {
                break;
            }
        }
        let (primal, dual) = together(p, lengths(at, &self.direction, products, tuning));
        at.advance(&self.direction, primal, dual);
        (primal, dual)
    }

    /// Adds a centrality corrector if it lengthens the steps.
    fn correct(
        &mut self,
        p: &BarrierProgram,
        newton: &mut Newton,
        at: &Iterate,
        mu: f64,
        tuning: &BarrierTuning,
    ) -> bool {
        let (primal, dual) = longest(at, &self.direction);
        let is_usable = mu >= 0.0 && mu.is_finite();
        if !is_usable || (primal > 0.95 && dual > 0.95) {
            return false;
        }
        let aim = (
            (primal + STEP_GROWTH).min(1.0),
            (dual + STEP_GROWTH).min(1.0),
        );
        let d = &self.direction;
        let wanted = |x: f64, dx: f64, z: f64, dz: f64| {
            if !x.is_finite() {
                return 0.0;
            }
            let product = (x + aim.0 * dx) * (z + aim.1 * dz);
            let inside = product.clamp(PRODUCT_RANGE.0 * mu, PRODUCT_RANGE.1 * mu);
            (inside - product).max(-PRODUCT_RANGE.1 * mu)
        };
        for j in 0..p.num_cols() {
            self.targets.lower[j] = wanted(at.xl[j], d.xl[j], at.zl[j], d.zl[j]);
            self.targets.upper[j] = wanted(at.xu[j], d.xu[j], at.zu[j], d.zu[j]);
        }
        newton.direction(p, at, None, &self.targets, &mut self.trial, tuning);
        self.trial.advance(&self.direction, 1.0, 1.0);
        let (p2, d2) = longest(at, &self.trial);
        let grown = p2 + d2 >= primal + dual + GROWTH_SHARE * (aim.0 + aim.1 - primal - dual);
        if grown && p2 > 0.9 * primal && d2 > 0.9 * dual {
            std::mem::swap(&mut self.trial, &mut self.direction);
        }
        grown
    }
}

/// Value of a bounded side; zero for an unbounded one.
#[inline]
fn side(distance: f64, value: impl FnOnce(f64) -> f64) -> f64 {
    if distance.is_finite() {
        value(distance)
    } else {
        0.0
    }
}
