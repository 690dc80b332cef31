//! CHUZC: the column that enters, by the bound flipping ratio test with Harris tolerances.
//!
//! Breakpoints are passed as long as the dual objective keeps rising: a boxed variable whose
//! reduced cost changes sign moves to its other bound (Maros 2003, "long step"). Within a group of
//! breakpoints that are equal up to the dual tolerance, the largest pivot is chosen (Harris 1973).
//! A coarse selection drops breakpoints far beyond the step; sorting the rest gives the groups.

use super::Dual;
use crate::outcome::VarStatus;
use crate::simplex::Core;

/// A breakpoint of the piecewise linear dual objective, oriented so that `alpha > 0` and
/// `dual >= 0` up to tolerance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DualBreakpoint {
    pub var: u32,
    pub alpha: f64,
    pub dual: f64,
    /// Distance between the bounds.
    pub range: f64,
}

impl DualBreakpoint {
    /// Largest step that keeps the reduced cost within a tolerance.
    fn harris_step(&self, tolerance: f64) -> f64 {
        (self.dual + tolerance) / self.alpha
    }
}

/// The entering variable and the dual step.
pub(super) struct Entering {
    pub q: usize,
    /// Its entry in the pivot row, as priced.
    pub alpha_row: f64,
    pub theta_dual: f64,
}

impl Dual<'_> {
    fn alpha_tolerance(&self) -> f64 {
        match self.core.factor.updates() {
            0..10 => 1e-9,
            10..20 => 3e-8,
            _ => 1e-6,
        }
    }

    /// Chooses from `packed` and fills the list of flips. `None` if no variable blocks the step.
    pub(super) fn choose_column(&mut self, excess: f64) -> Option<Entering> {
        let least = self.alpha_tolerance();
        let core = &mut *self.core;
        let sign = if excess > 0.0 { 1.0 } else { -1.0 };
        core.dual.flips.clear();
        core.collect_breakpoints(sign, least);
        if core.dual.candidates.is_empty() || !core.select_coarsely(excess.abs()) {
            return None;
        }
        let (group, best) = core.choose_breakpoint(excess.abs())?;
        let (flips, cand) = (&mut core.dual.flips, &core.dual.candidates);
        flips.extend(cand[..group].iter().map(|c| c.var));
        let chosen = cand[best];
        Some(core.entering(chosen, sign))
    }
}

impl Core {
    /// Lists the breakpoints of the entries of `packed` above a size.
    fn collect_breakpoints(&mut self, sign: f64, least: f64) {
        let cand = &mut self.dual.candidates;
        cand.clear();
        self.ticks += self.packed.index.len() as u64;
        for (j, a) in self.packed.iter() {
            let a = sign * a;
            let mv = self.mv[j] as f64;
            let (alpha, dual) = if mv != 0.0 {
                (a * mv, self.d[j] * mv)
            } else if self.status[j] == VarStatus::Free {
                (a.abs(), self.d[j] * a.signum())
            } else {
                continue;
            };
            if alpha > least {
                let range = self.wu[j] - self.wl[j];
                cand.push(DualBreakpoint {
                    var: j as u32,
                    alpha,
                    dual: dual.max(0.0),
                    range,
                });
            }
        }
    }

    /// Selects and sorts the breakpoints up to a step limit, at which the slope is no longer
    /// positive. The limit is found by repeated multiplication by ten. Returns false if the row
    /// stays violated even with every candidate at its other bound.
    ///
    /// A violation within tolerance counts as satisfied, so the slope only has to fall to the
    /// tolerance.
    fn select_coarsely(&mut self, excess: f64) -> bool {
        let (tol, enough_slope) = (self.dual_tol, self.primal_tol);
        let cand = &mut self.dual.candidates;
        let mut start = 0;
        let mut slope = excess;
        let harris = |c: &DualBreakpoint| c.harris_step(tol);
        let mut limit = cand.iter().map(harris).fold(f64::INFINITY, f64::min) * 10.0 + 1e-7;
        while start < cand.len() {
            let mut next = f64::INFINITY;
            let mut k = start;
            while k < cand.len() {
                let c = cand[k];
                if c.dual <= limit * c.alpha {
                    cand.swap(start, k);
                    start += 1;
                    slope -= c.alpha * c.range;
                } else {
                    next = next.min(c.dual / c.alpha);
                }
                k += 1;
            }
            self.ticks += (cand.len() - start) as u64;
            if slope <= enough_slope {
                break;
            }
            limit = (limit * 10.0).max(next * 1.5);
        }
        if slope > enough_slope {
            return false;
        }
        cand.truncate(start);
        cand.sort_unstable_by(|a, b| {
            (a.dual / a.alpha)
                .total_cmp(&(b.dual / b.alpha))
                .then_with(|| a.var.cmp(&b.var))
        });
        true
    }

    /// Positions of the first breakpoint of the chosen group and of the entering one.
    ///
    /// Groups are visited in order, and only the best choice so far is kept: a later group replaces
    /// an earlier one unless its pivot is much smaller.
    fn choose_breakpoint(&mut self, excess: f64) -> Option<(usize, usize)> {
        let (tol, enough_slope) = (self.dual_tol, self.primal_tol);
        let cand = &self.dual.candidates;
        let suffix = &mut self.dual.suffix;
        suffix.clear();
        suffix.resize(cand.len() + 1, f64::INFINITY);
        for k in (0..cand.len()).rev() {
            suffix[k] = suffix[k + 1].min(cand[k].harris_step(tol));
        }
        let largest = cand.iter().fold(0.0f64, |a, c| a.max(c.alpha));
        let enough = (0.1 * largest).min(1.0);
        let mut slope = excess;
        let mut begin = 0;
        let mut choice: Option<(usize, usize)> = None;
        let mut fallback: Option<(usize, usize)> = None;
        while begin < cand.len() && slope > enough_slope {
            let mut end = begin;
            let mut best = begin;
            while end < cand.len() && cand[end].dual <= suffix[begin] * cand[end].alpha {
                slope -= cand[end].alpha * cand[end].range;
                if cand[end].alpha > cand[best].alpha {
                    best = end;
                }
                end += 1;
            }
            if end == begin {
                // Rounding: the first breakpoint always belongs to its group.
                slope -= cand[begin].alpha * cand[begin].range;
                end = begin + 1;
            }
            if cand[best].alpha >= enough {
                choice = Some((begin, best));
            }
            if fallback.is_none_or(|(_, f)| cand[best].alpha > cand[f].alpha) {
                fallback = Some((begin, best));
            }
            begin = end;
        }
        choice.or(fallback)
    }

    /// The dual step to a breakpoint.
    fn entering(&mut self, c: DualBreakpoint, sign: f64) -> Entering {
        let q = c.var as usize;
        let orientation = if self.mv[q] != 0 {
            sign * self.mv[q] as f64
        } else {
            1.0
        };
        let alpha_row = if self.mv[q] != 0 {
            orientation * c.alpha
        } else {
            // The sign of a free variable's entry was dropped; look it up.
            self.packed
                .iter()
                .find(|&(j, _)| j == q)
                .map_or(c.alpha, |(_, a)| a)
        };
        // A reduced cost of the wrong sign (within tolerance, or from an earlier Harris step) is
        // shifted to zero, so that the step does not go backwards.
        let d = self.d[q];
        let right_way = d * alpha_row * sign;
        if right_way < 0.0 {
            self.wc[q] -= d;
            self.d[q] = 0.0;
            self.costs_changed = true;
        }
        let theta_dual = self.d[q] / alpha_row;
        Entering {
            q,
            alpha_row,
            theta_dual,
        }
    }
}
