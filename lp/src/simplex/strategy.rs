//! Choice of the next method: leads from a basis and changed data to an outcome for the true bounds
//! and costs.

use super::{Core, SimplexEnd, WorkBudget};
use crate::outcome::LimitKind;
use crate::settings::Algorithm;

/// Result of an optimisation, with respect to true bounds and costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoreEnd {
    Optimal,
    /// `rho` holds multipliers of the rows that prove it.
    Infeasible,
    /// `col` holds `B^-1 a_q` of this entering variable.
    Unbounded(u32),
    Cutoff,
    Limit(LimitKind),
}

/// The next method to run, and the history for its choice.
struct Turn {
    primal: bool,
    perturb: bool,
    /// True if perturbation was requested.
    may_perturb: bool,
    round: usize,
    polishes: usize,
    /// Reports of infeasibility that the multipliers did not prove.
    claims: usize,
    /// Iterations before the first turn.
    started: u64,
}

/// Step after the end of a method.
enum NextTurn {
    End(CoreEnd),
    /// Another turn, not counted as a round.
    SameRound,
    NewRound,
}

/// Largest number of refinements of a basis; if a limit of pivots ends one, the optimisation
/// continues.
const POLISHES: usize = 4;
/// Number of changes of method after which the problem is given up as numerically intractable.
const MAX_ROUNDS: usize = 14;

impl Core {
    /// Optimises from the present basis.
    pub fn optimise(
        &mut self,
        budget: &WorkBudget,
        algorithm: Algorithm,
        perturb: bool,
    ) -> CoreEnd {
        self.restore_true_data();
        self.factor.threshold = 0.1;
        self.perturbations = 0;
        self.put_to_sleep(algorithm == Algorithm::Auto);
        let primal_turn = match algorithm {
            Algorithm::Dual => false,
            Algorithm::Primal => true,
            Algorithm::Auto => self.prefer_primal(),
            Algorithm::Barrier => self.nearer_primal(),
        };
        let mut turn = Turn {
            primal: primal_turn,
            // A primal that continues with new columns rarely stalls, and perturbed bounds cost it
            // more than stalling.
            perturb: perturb
                && algorithm != Algorithm::Barrier
                && !(primal_turn && self.prefer_primal()),
            may_perturb: perturb,
            round: 0,
            polishes: 0,
            claims: 0,
            started: self.count.iterations(),
        };
        while turn.round < MAX_ROUNDS {
            let end = if turn.primal {
                crate::simplex::primal::run(self, budget, turn.perturb)
            } else {
                crate::simplex::dual::run(self, budget, turn.perturb)
            };
            match self.after(end, &mut turn, budget) {
                NextTurn::End(end) => return end,
                NextTurn::SameRound => {}
                NextTurn::NewRound => turn.round += 1,
            }
        }
        CoreEnd::Limit(LimitKind::Numerical)
    }

    /// Chooses the next turn after the end of one.
    fn after(&mut self, end: SimplexEnd, turn: &mut Turn, budget: &WorkBudget) -> NextTurn {
        match end {
            SimplexEnd::Limit(kind) => {
                self.restore_true_data();
                return NextTurn::End(CoreEnd::Limit(kind));
            }
            SimplexEnd::Cutoff => return NextTurn::End(CoreEnd::Cutoff),
            SimplexEnd::Infeasible => {
                if self.infeasibility_proven(false) || turn.claims >= 2 {
                    return NextTurn::End(CoreEnd::Infeasible);
                }
                // The multipliers do not prove infeasibility: try the other method, without
                // perturbation.
                turn.claims += 1;
                turn.perturb = false;
                turn.primal = !turn.primal;
                self.restore_true_data();
            }
            SimplexEnd::Unbounded(_) if self.has_sleepers() => {
                self.restore_true_data();
                self.wake_all();
                turn.primal = false;
                return NextTurn::SameRound;
            }
            SimplexEnd::Unbounded(q) => {
                if !self.costs_changed && !self.bounds_changed {
                    return NextTurn::End(CoreEnd::Unbounded(q));
                }
                turn.perturb = false;
                self.restore_true_data();
            }
            SimplexEnd::OtherMethodNeeded => {
                turn.primal = !turn.primal;
                turn.perturb = turn.perturb && turn.round < 2;
                self.restore_true_data();
            }
            SimplexEnd::Trouble => {
                self.factor.threshold = (self.factor.threshold * 2.0).min(0.9);
                self.restore_true_data();
                self.factored = false;
                turn.primal = turn.round.is_multiple_of(2);
                turn.perturb = turn.round.is_multiple_of(3);
            }
            // Keep the perturbed costs: a fresh perturbation would cost pivots.
            SimplexEnd::Done if !turn.primal && self.wake_violated() => {
                turn.perturb = turn.may_perturb && !self.costs_changed;
                return NextTurn::SameRound;
            }
            SimplexEnd::Done => return self.after_optimum(turn, budget),
        }
        NextTurn::NewRound
    }

    /// Chooses the next turn after an optimum of the perturbed problem. The solve ends if the
    /// optimum holds for the true bounds and costs.
    fn after_optimum(&mut self, turn: &mut Turn, budget: &WorkBudget) -> NextTurn {
        self.true_values();
        let mut left = self.violations();
        let mut woken = left == (0, 0) && self.wake_violated();
        if left == (0, 0) && !woken && turn.polishes < POLISHES {
            turn.polishes += 1;
            self.polish(budget, turn.started);
            left = self.violations();
            woken = left == (0, 0) && self.wake_violated();
        }
        turn.perturb = false;
        match left {
            (0, 0) if woken => {
                turn.primal = false;
                turn.perturb = turn.may_perturb;
                return NextTurn::SameRound;
            }
            (0, 0) => {
                self.keep_values();
                return NextTurn::End(CoreEnd::Optimal);
            }
            (0, _) => turn.primal = true,
            (_, 0) => turn.primal = false,
            _ => {
                turn.primal = !turn.primal;
                turn.perturb = turn.round > 5;
            }
        }
        NextTurn::NewRound
    }

    fn restore_true_data(&mut self) {
        self.restore_costs();
        self.restore_bounds();
    }

    /// The numbers of primal and of dual violations.
    fn violations(&self) -> (usize, usize) {
        let (primal, dual) = (self.primal_infeasibility(), self.dual_infeasibility());
        (primal.count, dual.count)
    }

    /// Returns whether the basis is primal feasible but not dual feasible.
    fn prefer_primal(&mut self) -> bool {
        if !self.factored {
            self.refactor();
        }
        self.settle_nonbasic();
        if !self.dual_valid {
            self.compute_dual();
        }
        let repairable = |j: usize| self.lower[j].is_finite() && self.upper[j].is_finite();
        let dual_bad =
            (0..self.total()).any(|j| self.dual_violation(j) > self.dual_tol && !repairable(j));
        if !dual_bad {
            return false;
        }
        if !self.primal_valid {
            self.compute_primal();
        }
        self.primal_infeasibility().count == 0
    }

    /// Returns whether the basis has no more primal than dual violations.
    fn nearer_primal(&mut self) -> bool {
        if !self.factored {
            self.refactor();
        }
        self.settle_nonbasic();
        self.compute_outdated();
        let (primal, dual) = self.violations();
        primal <= dual
    }

    /// Returns whether the multipliers in `rho` combine the rows to a contradiction of the bounds,
    /// in the scaled program.
    ///
    /// Multipliers on infinite sides are ignored if they may be rounding noise. With `strict`, only
    /// complete cancellation counts as zero, as in [`crate::certificate::check_farkas`].
    pub fn infeasibility_proven(&self, strict: bool) -> bool {
        let floor = if strict { 0.0 } else { 1e-3 };
        let y: Vec<f64> = (0..self.m)
            .map(|i| self.rho.value[self.factor.position(i)])
            .collect();
        // sum_i y_i (A x + s)_i = 0 must be impossible: its smallest value over the box must be
        // positive or its largest negative.
        let (mut least, mut most, mut size) = (0.0f64, 0.0f64, 0.0f64);
        let mut take = |w: f64, noise: f64, l: f64, u: f64| {
            if w.abs() <= 1e-9 * noise.max(floor) && !(l.is_finite() && u.is_finite()) {
                return;
            }
            let (a, b) = if w > 0.0 {
                (w * l, w * u)
            } else {
                (w * u, w * l)
            };
            if w != 0.0 {
                least += a;
                most += b;
                size = size
                    .max(if a.is_finite() { a.abs() } else { 0.0 })
                    .max(if b.is_finite() { b.abs() } else { 0.0 });
            }
        };
        for j in 0..self.n {
            let (mut w, mut noise) = (0.0, 0.0f64);
            for (i, v) in self.a.iter(j) {
                w += v * y[i];
                noise += (v * y[i]).abs();
            }
            take(w, noise, self.lower[j], self.upper[j]);
        }
        for (i, &yi) in y.iter().enumerate() {
            take(yi, 0.0, self.lower[self.n + i], self.upper[self.n + i]);
        }
        let margin = 1e-10 * size;
        least > margin || most < -margin
    }
}
