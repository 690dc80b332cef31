//! CHUZR: the blocking basic variable and the step of the entering one.

use super::{Primal, PrimalPhase};
use crate::outcome::VarStatus;

/// Point along the step at which the sum of infeasibilities changes slope.
#[derive(Clone, Copy, Debug)]
pub(super) struct Breakpoint {
    ratio: f64,
    row: u32,
    alpha: f64,
    at_upper: bool,
}

/// A chosen step.
pub(super) struct PrimalStep {
    /// The leaving row and the bound that its variable reaches; `None` if the entering variable
    /// reaches its own other bound first.
    pub leaving: Option<(usize, VarStatus)>,
    /// Signed change of the entering variable.
    pub theta: f64,
}

impl Primal<'_> {
    fn least_pivot(&self) -> f64 {
        match self.core.factor.updates() {
            0..10 => 1e-9,
            10..20 => 1e-8,
            _ => 1e-7,
        }
    }

    pub(super) fn choose_row(&mut self, q: usize) -> Option<PrimalStep> {
        let direction = if self.core.d[q] < 0.0 { 1.0 } else { -1.0 };
        let range = self.core.wu[q] - self.core.wl[q];
        self.core.ticks += 2 * self.core.col.index.len() as u64;
        let blocking = match self.phase {
            PrimalPhase::One => self.phase1_ratio(q, direction),
            PrimalPhase::Two => self.harris(direction),
        };
        match blocking {
            Some((_, theta, _)) if range <= theta => Some(PrimalStep {
                leaving: None,
                theta: direction * range,
            }),
            Some((row, theta, status)) => Some(PrimalStep {
                leaving: Some((row, status)),
                theta: direction * theta,
            }),
            None if range.is_finite() => Some(PrimalStep {
                leaving: None,
                theta: direction * range,
            }),
            None => None,
        }
    }

    /// Two passes: first the longest step that keeps all variables within tolerance, then the
    /// largest pivot that blocks within it.
    fn harris(&mut self, direction: f64) -> Option<(usize, f64, VarStatus)> {
        let least = self.least_pivot();
        let core = &mut *self.core;
        let tol = core.primal_tol;
        let mut longest = f64::INFINITY;
        for &i in &core.col.index {
            let i = i as usize;
            let alpha = direction * core.col.value[i];
            if alpha > least {
                if core.bl[i] > f64::NEG_INFINITY {
                    longest = longest.min((core.xb[i] - core.bl[i] + tol) / alpha);
                }
            } else if alpha < -least && core.bu[i] < f64::INFINITY {
                longest = longest.min((core.xb[i] - core.bu[i] - tol) / alpha);
            }
        }
        if longest == f64::INFINITY {
            return None;
        }
        let mut best: Option<(usize, f64, VarStatus)> = None;
        let mut best_alpha = 0.0;
        for &i in &core.col.index {
            let i = i as usize;
            let alpha = direction * core.col.value[i];
            let (ratio, status) = if alpha > least {
                ((core.xb[i] - core.bl[i]) / alpha, VarStatus::AtLower)
            } else if alpha < -least {
                ((core.xb[i] - core.bu[i]) / alpha, VarStatus::AtUpper)
            } else {
                continue;
            };
            if ratio <= longest && alpha.abs() > best_alpha {
                best_alpha = alpha.abs();
                best = Some((i, ratio, status));
            }
        }
        let (row, ratio, status) = best?;
        if ratio < 0.0 {
            // The variable is already slightly beyond its bound: the bound is shifted to its value,
            // and the step is zero.
            let p = core.basic[row] as usize;
            if status == VarStatus::AtLower {
                core.wl[p] = core.xb[row];
                core.bl[row] = core.xb[row];
            } else {
                core.wu[p] = core.xb[row];
                core.bu[row] = core.xb[row];
            }
            core.bounds_changed = true;
            return Some((row, 0.0, status));
        }
        Some((row, ratio, status))
    }

    /// Passes breakpoints while the sum of infeasibilities falls, then takes a large pivot among
    /// the last ones.
    fn phase1_ratio(&mut self, q: usize, direction: f64) -> Option<(usize, f64, VarStatus)> {
        let least = self.least_pivot();
        let core = &mut *self.core;
        let tol = core.primal_tol;
        let points = &mut core.primal.breakpoints;
        points.clear();
        for &i in &core.col.index {
            let iu = i as usize;
            let alpha = direction * core.col.value[iu];
            if alpha.abs() <= least {
                continue;
            }
            let (x, l, u) = (core.xb[iu], core.bl[iu], core.bu[iu]);
            let size = alpha.abs();
            // Distances along the movement to the bound that makes the variable feasible and to the
            // bound that makes it infeasible again.
            let (enter, enter_upper, exit, exit_upper) = if alpha > 0.0 {
                (x - u, true, x - l, false)
            } else {
                (l - x, false, u - x, true)
            };
            if enter > tol {
                points.push(Breakpoint {
                    ratio: enter / size,
                    row: i,
                    alpha: size,
                    at_upper: enter_upper,
                });
            }
            if exit >= -tol && exit.is_finite() {
                points.push(Breakpoint {
                    ratio: exit.max(0.0) / size,
                    row: i,
                    alpha: size,
                    at_upper: exit_upper,
                });
            }
        }
        points.sort_unstable_by(|a, b| a.ratio.total_cmp(&b.ratio).then_with(|| a.row.cmp(&b.row)));
        let mut slope = -core.d[q].abs();
        let mut last = 0;
        let mut largest = 0.0f64;
        for (k, p) in points.iter().enumerate() {
            slope += p.alpha;
            last = k;
            largest = largest.max(p.alpha);
            if slope >= 0.0 {
                break;
            }
        }
        let k = (0..=last).rev().find(|&k| {
            points
                .get(k)
                .is_some_and(|p| p.alpha >= (0.1 * largest).min(1.0))
        })?;
        let p = points[k];
        Some((
            p.row as usize,
            p.ratio,
            if p.at_upper {
                VarStatus::AtUpper
            } else {
                VarStatus::AtLower
            },
        ))
    }
}
