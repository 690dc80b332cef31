//! Sides of columns closed at the root by probing (Savelsbergh 1994): a split with a leaf on one
//! side. The other side becomes a bound that depends on its assumption, so that further bounds,
//! cuts and the whole tree may use it. The splits are resolved at the end.

use super::ConstraintSense;
use super::tree::{ActiveBound, CertifiedTree};
use crate::mip::exact::{Rational, decimal, double, one};
use remat_lp::{ColId, Limits, LpOutcome, ModelError, Solution};

/// Limit on the sides probed in one pass.
const PROBES: usize = 400;
/// Limit on passes of bounds, cuts and probes.
const PASSES: usize = 10;
/// Share of the gap that a pass must close to be followed by another one.
const PASS_GAIN: f64 = 0.1;
/// Simplex iterations of a probe.
const ITERATIONS: u64 = 500;

/// A split with one side closed.
pub(super) struct Closed {
    /// The leaf and its assumption.
    leaf: (usize, usize),
    /// The assumption of the open side.
    open: usize,
}

impl CertifiedTree<'_> {
    /// Runs passes of bounds, cuts and probes until a pass closes no side.
    pub(super) fn prepare(&mut self) -> Result<Vec<Closed>, ModelError> {
        let mut closed = Vec::new();
        let mut reached = f64::NEG_INFINITY;
        for pass in 0..PASSES {
            self.tighten_bounds()?;
            self.tighten_coefficients()?;
            self.strengthen(pass == 0)?;
            let before = closed.len();
            let Some(s) = self.relaxed() else {
                break;
            };
            if s.objective >= self.cutoff {
                break;
            }
            let gained = s.objective - reached;
            if self.cutoff.is_finite() && gained < PASS_GAIN * (self.cutoff - reached) {
                break;
            }
            reached = s.objective;
            self.probe_sides(&s, &mut closed)?;
            if closed.len() == before {
                break;
            }
        }
        Ok(closed)
    }

    /// Resolves the splits around the proof on their open sides.
    pub(super) fn finish(&mut self, closed: Vec<Closed>, mut last: usize) -> usize {
        for c in closed.into_iter().rev() {
            if self.proof.lines[last].assumes.contains(&c.open) {
                last = self.unsplit(c.leaf, (last, c.open));
            }
        }
        last
    }

    fn probe_sides(&mut self, s: &Solution, closed: &mut Vec<Closed>) -> Result<(), ModelError> {
        let mut sides: Vec<(f64, usize, bool)> = Vec::new();
        for j in (0..s.x.len()).filter(|&j| self.m.integer[j]) {
            let v = s.x[j];
            let number = |b: &Option<ActiveBound>| b.as_ref().map(|b| double(&b.value));
            let f = (v - v.round()).abs();
            if f > 1e-6 {
                sides.extend([(f, j, false), (f, j, true)]);
            } else {
                // Probes the sides away from the column's value.
                let (l, u) = (number(&self.lower[j]), number(&self.upper[j]));
                if u.is_none_or(|u| v + 0.5 < u) {
                    sides.push((0.0, j, true));
                }
                if l.is_none_or(|l| v - 0.5 > l) {
                    sides.push((0.0, j, false));
                }
            }
        }
        sides.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
        sides.truncate(PROBES);
        for (_, j, up) in sides {
            if let Some(c) = self.probe_side(s, j, up)? {
                closed.push(c);
            }
        }
        Ok(())
    }

    /// Closes one side of a column if its relaxation is closed. From then on the bound of the other
    /// side is in force.
    fn probe_side(
        &mut self,
        s: &Solution,
        j: usize,
        up: bool,
    ) -> Result<Option<Closed>, ModelError> {
        let v = s.x[j];
        let rounded = if (v - v.round()).abs() <= 1e-6 {
            v.round() + if up { 0.0 } else { -1.0 }
        } else {
            v.floor()
        };
        let Some(at) = decimal(rounded) else {
            return Ok(None);
        };
        let (low, high) = (at.clone(), at + one());
        // Bounds may have moved in the meantime.
        let inside = |value: &Rational| {
            (self.lower[j].as_ref()).is_none_or(|l| *value >= l.value)
                && self.upper[j].as_ref().is_none_or(|u| *value <= u.value)
        };
        if !inside(&low) || !inside(&high) {
            return Ok(None);
        }
        let col = ColId(j as u32);
        let given = self.lp.model().col_bounds(col);
        let mut bounds = given;
        if up {
            bounds.lower = rounded + 1.0;
        } else {
            bounds.upper = rounded;
        }
        self.lp.set_limits(Limits {
            iterations: Some(ITERATIONS),
            objective_cutoff: self.cutoff.is_finite().then_some(self.cutoff),
            ..self.relaxation_limits()
        });
        self.lp.set_basis(&s.basis)?;
        self.lp.set_col_bounds(col, bounds)?;
        let outcome = self.lp.solve();
        self.lp.set_col_bounds(col, given)?;
        if !matches!(
            outcome,
            LpOutcome::Infeasible(_) | LpOutcome::CutoffReached { .. }
        ) {
            return Ok(None);
        }
        let form = format!("1 {j} 1");
        let (sense, value, against, other) = if up {
            (ConstraintSense::AtLeast, high, ConstraintSense::AtMost, low)
        } else {
            (ConstraintSense::AtMost, low, ConstraintSense::AtLeast, high)
        };
        let assumed = self.proof.assume(sense, &value, &form);
        let before = self.bound_mut(j, !up).replace(ActiveBound {
            value,
            line: assumed,
        });
        let leaf = self.closing(&outcome);
        *self.bound_mut(j, !up) = before;
        let Some(leaf) = leaf else {
            return Ok(None);
        };
        let open = self.proof.assume(against, &other, &form);
        *self.bound_mut(j, up) = Some(ActiveBound {
            value: other,
            line: open,
        });
        self.sync(j)?;
        Ok(Some(Closed {
            leaf: (leaf, assumed),
            open,
        }))
    }
}
