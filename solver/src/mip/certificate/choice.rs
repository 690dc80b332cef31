//! Branching of a proof's tree: reliability branching (Achterberg, Koch & Martin 2005) on the
//! relaxation in doubles. Its estimates need no proof: a bad choice only makes the tree larger.

use super::tree::CertifiedTree;
use crate::mip::branching::pseudocost::{Observation, score};
use crate::mip::exact::{Rational, decimal, floor, one};
use remat_lp::{Bounds, ColId, Limits, LpOutcome, ModelError, Solution};

/// Observations of a column in each direction that make probing unnecessary.
const RELIABLE: u32 = 8;
/// Consecutive probed columns without improvement that end probing.
const LOOKAHEAD: u32 = 8;
/// Simplex iterations of a probe.
const ITERATIONS: u64 = 100;

impl CertifiedTree<'_> {
    /// The column to branch on and the largest value of its lower side.
    pub(super) fn choose(
        &mut self,
        solution: Option<&Solution>,
    ) -> Result<Option<(usize, Rational)>, ModelError> {
        if let Some(s) = solution
            && let Some(j) = self.most_promising(s)?
        {
            return Ok(decimal(s.x[j].floor()).map(|at| (j, at)));
        }
        Ok(self.any(solution.map(|s| s.x.as_slice())))
    }

    fn is_fixed(&self, j: usize) -> bool {
        match (&self.lower[j], &self.upper[j]) {
            (Some(l), Some(u)) => l.value == u.value,
            _ => false,
        }
    }

    /// The fractional column with the largest expected gain.
    fn most_promising(&mut self, s: &Solution) -> Result<Option<usize>, ModelError> {
        let fractional = |tolerance: f64| -> Vec<(f64, usize)> {
            (0..s.x.len())
                .filter(|&j| self.m.integer[j] && (s.x[j] - s.x[j].round()).abs() > tolerance)
                .filter(|&j| !self.is_fixed(j))
                .map(|j| (self.expected(s, j), j))
                .collect()
        };
        let mut candidates = fractional(1e-6);
        if candidates.is_empty() {
            candidates = fractional(1e-9);
        }
        candidates.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        let mut best: Option<(f64, usize)> = None;
        let mut failed = 0;
        for (guess, j) in candidates {
            let probing = self.pseudo.reliability(j) < RELIABLE && failed < LOOKAHEAD;
            let value = if probing {
                let down = self.probe(s, j, false)?;
                let up = self.probe(s, j, true)?;
                let (Some(down), Some(up)) = (down, up) else {
                    // One side is a leaf, so only the other one remains.
                    return Ok(Some(j));
                };
                score(down, up)
            } else {
                guess
            };
            if best.is_none_or(|b| value > b.0) {
                best = Some((value, j));
                failed = 0;
            } else if probing {
                failed += 1;
            }
        }
        Ok(best.map(|b| b.1))
    }

    fn expected(&self, s: &Solution, j: usize) -> f64 {
        let (d, u) = self.pseudo.gains(j, s.x[j]);
        let f = s.x[j] - s.x[j].floor();
        score(d, u) * (1.0 + 1e-3 * f.min(1.0 - f))
    }

    /// Gain of the objective on one side of a column, within a limit of iterations; `None` if that
    /// side is closed.
    fn probe(&mut self, s: &Solution, j: usize, up: bool) -> Result<Option<f64>, ModelError> {
        let v = s.x[j];
        let given = self.lp.model().col_bounds(ColId(j as u32));
        let bounds = if up {
            Bounds::new(v.floor() + 1.0, given.upper)
        } else {
            Bounds::new(given.lower, v.floor())
        };
        self.lp.set_limits(Limits {
            iterations: Some(ITERATIONS),
            objective_cutoff: self.cutoff.is_finite().then_some(self.cutoff),
            ..self.relaxation_limits()
        });
        self.lp.set_col_bounds(ColId(j as u32), bounds)?;
        let outcome = self.lp.solve();
        self.lp.set_col_bounds(ColId(j as u32), given)?;
        self.lp.set_basis(&s.basis)?;
        let f = v - v.floor();
        let distance = if up { 1.0 - f } else { f };
        Ok(match outcome {
            LpOutcome::Optimal(t) => {
                let gain = (t.objective - s.objective).max(0.0);
                self.pseudo.observe(&Observation::Gain {
                    col: j as u32,
                    up,
                    gain_per_unit: gain / distance.max(1e-6),
                });
                Some(gain)
            }
            LpOutcome::Infeasible(_) | LpOutcome::CutoffReached { .. } => None,
            _ => Some(self.pseudo.per_unit(j, up) * distance),
        })
    }

    /// Picks the first column that is not fixed, near its value. Used if no column is fractional
    /// but the node is not proven.
    fn any(&self, x: Option<&[f64]>) -> Option<(usize, Rational)> {
        let j = (0..self.m.cost.len()).find(|&j| self.m.integer[j] && !self.is_fixed(j))?;
        let two = Rational::from(2);
        let at = match (&self.lower[j], &self.upper[j], x) {
            (Some(l), Some(u), None) => floor(&((&l.value + &u.value) / two)),
            (l, u, x) => {
                let v = decimal(x.map_or(0.0, |x| x[j].round()))?;
                let v = match l {
                    Some(l) if v < l.value => l.value.clone(),
                    _ => v,
                };
                match u {
                    Some(u) if v >= u.value => &u.value - one(),
                    _ => v,
                }
            }
        };
        Some((j, at))
    }
}
