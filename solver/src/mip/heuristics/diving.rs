//! Dives: round a few columns, propagate and solve again, until the point is integral or the node
//! infeasible (Berthold 2006). Dives differ in their rule for the choice of columns.

use crate::mip::domain::BoundChange;
use crate::mip::relaxation::Relaxed;
use crate::mip::worker::{RoundShared, Worker};
use remat_lp::{ModelError, Solution};

/// Rule by which a dive chooses its next column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Nearest to an integer.
    Fractional,
    /// Fewest locks.
    Coefficient,
    /// Towards the incumbent.
    Guided,
    /// Clearest preference by the pseudo-costs.
    PseudoCost,
    /// Little loss for many rows.
    VectorLength,
    /// Nearest to the next integer above: in partitions one column up decides many.
    Up,
    /// Along the line from the root's relaxation to this one.
    LineSearch,
}

impl Rule {
    fn name(self) -> &'static str {
        match self {
            Rule::Fractional => "dive: fractional",
            Rule::Coefficient => "dive: coefficient",
            Rule::Guided => "dive: guided",
            Rule::PseudoCost => "dive: pseudo-cost",
            Rule::VectorLength => "dive: vector length",
            Rule::Up => "dive: up",
            Rule::LineSearch => "dive: line search",
        }
    }
}

const RULES: [Rule; 7] = [
    Rule::Up,
    Rule::Coefficient,
    Rule::Guided,
    Rule::PseudoCost,
    Rule::Fractional,
    Rule::VectorLength,
    Rule::LineSearch,
];

impl Worker {
    /// Dives if a dive is due and the budget allows.
    pub(crate) fn dives(
        &mut self,
        shared: &RoundShared,
        s: &Solution,
        depth: u32,
    ) -> Result<(), ModelError> {
        let root = depth == 0;
        let due = root || self.processed % 10 == 1;
        let share = if self.best.is_none() { 2 } else { 5 };
        let mut turns = if root { RULES.len() } else { 1 };
        while due && turns > 0 && !self.is_spent(shared) {
            turns -= 1;
            let budget = self.node_iterations / share + 6 * shared.root_iterations + 2_000;
            if self.dive_iterations > budget {
                return Ok(());
            }
            let rule = RULES[(self.dive_turn as usize) % RULES.len()];
            self.dive_turn += 1;
            if root {
                self.root_x.clone_from(&s.x);
            }
            let useless = rule == Rule::LineSearch && (root || self.root_x.is_empty());
            if useless || (rule == Rule::Guided && self.best.is_none()) {
                continue;
            }
            let before = self.relax.iterations();
            self.heuristic(shared, rule.name(), |w| w.dive(shared, s, rule))?;
            self.dive_iterations += self.relax.iterations() - before;
        }
        Ok(())
    }

    fn dive(&mut self, shared: &RoundShared, s: &Solution, rule: Rule) -> Result<(), ModelError> {
        let snapshot = self.relax.snapshot();
        let mark = self.domain.mark();
        let end = self.dive_down(shared, s.x.clone(), rule);
        self.domain.undo(&shared.problem, mark);
        self.sync_bounds(shared)?;
        self.relax.restore(&snapshot)?;
        end
    }

    /// Dives from the present domain, whose relaxation has the point `x`.
    pub(super) fn dive_down(
        &mut self,
        shared: &RoundShared,
        mut x: Vec<f64>,
        rule: Rule,
    ) -> Result<(), ModelError> {
        let p = shared.problem.clone();
        let limit = 200 + 2 * shared.root_iterations;
        let start = self.relax.iterations();
        let allowed = 1_000 + 5 * shared.root_iterations;
        loop {
            let fractional = self.fractional(shared, &x);
            if fractional.is_empty() {
                self.try_integral(shared, &x, "dive")?;
                return Ok(());
            }
            // Roundings on the way are seldom as good as the end of the dive.
            self.simple_rounding(shared, &x)?;
            if self.relax.iterations() - start > allowed || self.is_spent(shared) {
                return Ok(());
            }
            let mut order: Vec<(f64, usize, bool)> = fractional
                .iter()
                .map(|&j| {
                    let (value, up) = self.preference(shared, rule, j, x[j]);
                    (value, j, up)
                })
                .collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let take = (order.len() / 10).max(1);
            let before = self.domain.mark();
            for (k, &(_, j, up)) in order.iter().take(take).enumerate() {
                if self.domain.lower[j] > x[j].floor() || self.domain.upper[j] < x[j].ceil() {
                    continue;
                }
                let mark = self.domain.mark();
                if self.step(&p, j, x[j], up) {
                    continue;
                }
                self.domain.undo(&shared.problem, mark);
                if k > 0 || !self.step(&p, j, x[j], !up) {
                    if k == 0 {
                        return Ok(());
                    }
                    self.domain.undo(&shared.problem, mark);
                    break;
                }
            }
            self.sync_bounds(shared)?;
            match self.relax.probe(self.cutoff, limit, &self.domain) {
                Relaxed::Solved(s, _) => x = s.x,
                Relaxed::Infeasible | Relaxed::Cutoff => {
                    self.learn_conflict(shared);
                    // Tries the first column in the opposite direction, once.
                    self.domain.undo(&shared.problem, before);
                    let (_, j, up) = order[0];
                    if !self.step(&p, j, x[j], !up) {
                        return Ok(());
                    }
                    self.sync_bounds(shared)?;
                    match self.relax.probe(self.cutoff, limit, &self.domain) {
                        Relaxed::Solved(s, _) => x = s.x,
                        _ => return Ok(()),
                    }
                }
                _ => return Ok(()),
            }
        }
    }

    fn step(&mut self, p: &crate::mip::problem::Problem, j: usize, v: f64, up: bool) -> bool {
        self.domain.begin_level();
        self.domain.tighten(
            p,
            BoundChange {
                col: j as u32,
                upper: !up,
                value: if up { v.ceil() } else { v.floor() },
            },
        );
        !self.domain.infeasible && self.domain.propagate(p)
    }

    /// Rank (smallest first) and direction of a column.
    fn preference(&self, shared: &RoundShared, rule: Rule, j: usize, v: f64) -> (f64, bool) {
        let f = v - v.floor();
        let (down, up) = shared.locks[j];
        let nearest = (f.min(1.0 - f), f > 0.5);
        match rule {
            Rule::Fractional => nearest,
            Rule::Coefficient => {
                if down == 0 || up == 0 {
                    // A column without locks can always be rounded: last.
                    return (1e6 + nearest.0, up == 0);
                }
                let rounds_up = if down == up { f > 0.5 } else { up < down };
                (up.min(down) as f64 + nearest.0, rounds_up)
            }
            Rule::Up => (1.0 - f, true),
            Rule::LineSearch => match self.root_x.get(j) {
                // Share of the line after which the column meets its next integer.
                Some(&r) if v < r - 1e-6 => ((v - v.floor()) / (r - v), false),
                Some(&r) if v > r + 1e-6 => ((v.ceil() - v) / (v - r), true),
                _ => (1e6 + nearest.0, nearest.1),
            },
            Rule::Guided => match &self.best {
                Some(b) => ((v - b.x[j]).abs(), b.x[j] > v),
                None => nearest,
            },
            Rule::PseudoCost => {
                let (d, u) = self.pseudo.gains(j, v);
                let rounds_up = if f < 0.2 {
                    false
                } else if f > 0.8 {
                    true
                } else {
                    u < d
                };
                let ratio = if rounds_up {
                    (u + 1e-6) / (d + 1e-6)
                } else {
                    (d + 1e-6) / (u + 1e-6)
                };
                (ratio, rounds_up)
            }
            Rule::VectorLength => {
                let c = shared.problem.cost[j];
                // The direction that helps rows at the expense of the objective.
                let rounds_up = c >= 0.0;
                let loss = if rounds_up { c * (1.0 - f) } else { -c * f };
                (
                    (loss + 1e-3) / (shared.problem.cols.len(j) + 1) as f64,
                    rounds_up,
                )
            }
        }
    }
}
