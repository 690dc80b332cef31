//! One node: propagation, relaxation, fixing, separation, heuristics, and branching.

use super::candidate::Attempt;
use super::reliability::ColumnChoice;
use super::{RoundShared, Worker};
use crate::mip::branching::pseudocost::Observation;
use crate::mip::domain::Domain;
use crate::mip::extend::Decision;
use crate::mip::problem::Problem;
use crate::mip::relaxation::{Relaxed, is_near};
use crate::mip::statistics::{Component, ComponentTally};
use crate::mip::tree::{Branched, TreeNode};
use remat_lp::{Bounds, ColId, ModelError, Solution};
use std::ops::ControlFlow::{self, Break, Continue};
use std::time::Instant;

/// Result of processing a node.
pub(super) enum Processed {
    Closed,
    /// Strong branching closed one side of a column: process the node again, with this bound.
    Again(f64),
    /// Stopped from outside: the node stays open.
    Stopped,
    Split(Vec<Child>),
}

pub(crate) struct Child {
    pub decision: Decision,
    pub bound: f64,
    pub estimate: f64,
    pub branched: Option<Branched>,
}

impl Child {
    /// Children with the bound of their parent.
    fn all(decisions: Vec<Decision>, bound: f64) -> Vec<Child> {
        let child = |decision| Child {
            decision,
            bound,
            estimate: bound,
            branched: None,
        };
        decisions.into_iter().map(child).collect()
    }
}

/// A visit to a node: the bound so far, and its rounds so far.
struct Visit<'a> {
    node: &'a TreeNode,
    bound: f64,
    /// Relaxations solved that left the node open.
    relaxations: usize,
    /// Rounds of local cuts.
    cut_rounds: usize,
    /// Bound before the cuts of the last round, until a relaxation with them is solved.
    before_cuts: Option<f64>,
}

/// The solution of a relaxation that leaves its node open.
struct OpenSolution {
    solution: Solution,
    /// Bound of the relaxation, unrounded.
    lp_bound: f64,
    /// Integer columns with fractional values.
    fractional: Vec<usize>,
}

/// Limits on the relaxations of a node: with reduced-cost fixing, and with rows of extensions.
const FIXING_ROUND_LIMIT: usize = 20;
const EXTENSION_ROUND_LIMIT: usize = 100;

/// Limit on the rounds of local cuts at a node.
const CUT_ROUND_LIMIT: usize = 2;

impl Worker {
    /// Bounds a node, separates its solution, and accepts the solution or branches.
    pub(super) fn process(
        &mut self,
        shared: &RoundShared,
        node: &TreeNode,
    ) -> Result<Processed, ModelError> {
        if self.is_spent(shared) {
            return Ok(Processed::Stopped);
        }
        if let Some(live) = &shared.live {
            self.cutoff = self.cutoff.min(live.cutoff());
            self.limit = self.limit.min(self.cutoff);
        }
        self.report.nodes += 1;
        self.processed += 1;
        let begun = self.ticks() - self.local_cuts.cuts.ticks;
        let end = self.visit(shared, node);
        // The root's work is not the price of branching.
        if node.depth > 0 {
            let spent = self.ticks() - self.local_cuts.cuts.ticks - begun;
            self.local_cuts.branching.ticks += spent;
        }
        end
    }

    fn visit(&mut self, shared: &RoundShared, node: &TreeNode) -> Result<Processed, ModelError> {
        let mut visit = Visit {
            node,
            bound: node.bound,
            relaxations: 0,
            cut_rounds: 0,
            before_cuts: None,
        };
        loop {
            let open = match self.bound(shared, &mut visit)? {
                Continue(open) => open,
                Break(end) => return Ok(end),
            };
            if self.separate(shared, &mut visit, &open)? {
                continue;
            }
            return match open.fractional.is_empty() {
                true => self.accept(shared, &visit, &open.solution),
                false => self.branch(shared, &visit, open),
            };
        }
    }

    /// Tightens the bounds of columns and solves the relaxation, until its solution lies within
    /// them.
    fn bound(
        &mut self,
        shared: &RoundShared,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<Processed, OpenSolution>, ModelError> {
        loop {
            if !self.tighten(shared, visit)? {
                return Ok(Break(Processed::Closed));
            }
            let (solution, lp_bound) = match self.solve_relaxation(shared, visit)? {
                Continue(solved) => solved,
                Break(end) => return Ok(Break(end)),
            };
            visit.bound = visit.bound.max(shared.problem.round_bound(lp_bound));
            if self.closes(visit.bound) {
                return Ok(Break(Processed::Closed));
            }
            visit.relaxations += 1;
            let is_tighter = shared.settings.reduced_cost_fixing
                && self.fix_by_reduced_costs(shared, &solution, lp_bound);
            if is_tighter && !self.propagate(shared) {
                self.learn_from_propagation(shared);
                return Ok(Break(Processed::Closed));
            }
            let again = is_tighter
                && visit.relaxations < FIXING_ROUND_LIMIT
                && self.outside(shared, &solution.x);
            if !again {
                let fractional = self.fractional(shared, &solution.x);
                return Ok(Continue(OpenSolution {
                    solution,
                    lp_bound,
                    fractional,
                }));
            }
        }
    }

    /// Propagates at a node and reduces it by symmetry. Returns false if that closes the node.
    fn tighten(&mut self, shared: &RoundShared, visit: &mut Visit<'_>) -> Result<bool, ModelError> {
        if self.closes(visit.bound) {
            return Ok(false);
        }
        let holds = self.counted(
            shared,
            (Component::Propagation, "nodes"),
            |w| Ok(w.propagate(shared)),
            |holds, tally| tally.successes += u64::from(!holds),
        )?;
        if !holds {
            self.learn_closed(visit);
            self.learn_from_propagation(shared);
            return Ok(false);
        }
        if !self.reduce_by_symmetry(shared, visit.node)? {
            return Ok(false);
        }
        // Column bounds may bound the objective better than a weak relaxation.
        let floor = shared.problem.round_bound(self.domain.floor());
        visit.bound = visit.bound.max(floor);
        Ok(!self.closes(visit.bound))
    }

    /// Solves the relaxation of a node. Returns its solution and bound, unless the visit ends.
    fn solve_relaxation(
        &mut self,
        shared: &RoundShared,
        visit: &mut Visit<'_>,
    ) -> Result<ControlFlow<Processed, (Solution, f64)>, ModelError> {
        self.sync_bounds(shared)?;
        let (before, ticks) = (self.relax.iterations(), self.ticks());
        let relaxed = self.counted(
            shared,
            (Component::Relaxation, "nodes"),
            |w| w.relax.solve(w.cutoff, &w.domain),
            |relaxed, tally| {
                let closed = matches!(relaxed, Relaxed::Infeasible | Relaxed::Cutoff);
                tally.successes += u64::from(closed);
            },
        )?;
        self.node_iterations += self.relax.iterations() - before;
        self.node_solves += 1;
        if visit.before_cuts.is_some() {
            self.local_cuts.cuts.ticks += self.ticks() - ticks;
        }
        let (solution, lp_bound) = match relaxed {
            Relaxed::Infeasible | Relaxed::Cutoff => {
                self.count_rise(visit, f64::INFINITY);
                self.learn_closed(visit);
                self.learn_conflict(shared);
                return Ok(Break(Processed::Closed));
            }
            // The root is bounded, so an unbounded node is numerical trouble.
            Relaxed::Unbounded | Relaxed::Failed => {
                if self.is_spent(shared) {
                    self.report.nodes -= 1;
                    return Ok(Break(Processed::Stopped));
                }
                return Ok(Break(self.split_blindly(shared, visit.bound, None)));
            }
            Relaxed::Solved(solution, lp_bound) => (solution, lp_bound),
        };
        if visit.relaxations == 0 {
            self.learn_gain(shared, visit.node, lp_bound);
        }
        self.count_rise(visit, lp_bound);
        Ok(Continue((solution, lp_bound)))
    }

    /// Counts the rise of a node's bound to the yield of its cuts, or of the branching above it.
    fn count_rise(&mut self, visit: &mut Visit<'_>, bound: f64) {
        if let Some(before) = visit.before_cuts.take() {
            self.local_cuts.judge(before, bound, self.cutoff);
        } else if let (0, Some(b)) = (visit.relaxations, visit.node.branched) {
            let branching = &mut self.local_cuts.branching;
            branching.rise(b.parent_bound, bound, self.cutoff);
        }
    }

    /// Learns that the branching above a node was closed at once.
    fn learn_closed(&mut self, visit: &Visit<'_>) {
        if let (0, Some(Branched { col, up, .. })) = (visit.relaxations, visit.node.branched) {
            self.observe(Observation::Closed { col, up });
        }
    }

    /// Learns the gain of the branching above a node from the node's first relaxation.
    fn learn_gain(&mut self, shared: &RoundShared, node: &TreeNode, lp_bound: f64) {
        let Some(b) = node.branched else {
            return;
        };
        let here = lp_bound.max(self.domain.floor());
        let gain = (here - b.parent_bound).max(0.0);
        if let Some(statistics) = &shared.statistics {
            let branched = |tally: &mut ComponentTally| {
                tally.bound_change += shared.problem.in_model_units(gain);
            };
            statistics.add(Component::Branching, "reliability", branched);
        }
        self.learn(b.col as usize, b.up, gain / b.distance.max(1e-6));
    }

    /// Separates a node's solution by extensions and local cuts. Returns whether it added rows.
    fn separate(
        &mut self,
        shared: &RoundShared,
        visit: &mut Visit<'_>,
        open: &OpenSolution,
    ) -> Result<bool, ModelError> {
        let is_integral = open.fractional.is_empty();
        let depth = visit.node.depth;
        if visit.relaxations < EXTENSION_ROUND_LIMIT
            && self.separate_by_extensions(
                shared,
                &open.solution,
                visit.bound,
                depth,
                is_integral,
            )?
        {
            if is_integral {
                // Rows that are part of the problem cut the point off; a better one may be near.
                self.extension_heuristics(shared, &open.solution, visit.bound, depth)?;
            }
            return Ok(true);
        }
        let due = self.local_cuts.due(shared, depth, self.processed);
        if visit.cut_rounds >= CUT_ROUND_LIMIT || !due || is_integral {
            return Ok(false);
        }
        visit.cut_rounds += 1;
        let ticks = self.ticks();
        let any = self.counted(
            shared,
            (Component::Separator, "local cuts"),
            |w| w.separate_locally(shared, &open.solution),
            |any, tally| tally.successes += u64::from(*any),
        )?;
        self.local_cuts.cuts.ticks += self.ticks() - ticks;
        if any {
            visit.before_cuts = Some(open.lp_bound);
        }
        Ok(any)
    }

    /// Tries the integral solution of a node, and splits the node if it is refused.
    fn accept(
        &mut self,
        shared: &RoundShared,
        visit: &Visit<'_>,
        solution: &Solution,
    ) -> Result<Processed, ModelError> {
        let p = &shared.problem;
        let attempt = self.try_integral(shared, &solution.x, "relaxation")?;
        let all_fixed = (0..p.num_cols()).all(|j| !p.integer[j] || self.domain.is_fixed(j));
        if self.closes(visit.bound) {
            return Ok(Processed::Closed);
        }
        // With all integers fixed, an accepted point is the optimum of the node. This also holds if
        // the point is not kept, because the cutoff of the settings is no worse.
        if all_fixed && attempt != Attempt::Refused {
            if !is_near(visit.bound, solution) {
                // The linear program calls it optimal, but its duals do not prove that.
                self.leave(visit.bound);
            }
            return Ok(Processed::Closed);
        }
        Ok(self.split_blindly(shared, visit.bound, Some(&solution.x)))
    }

    /// Runs the heuristics at a node and splits it, by a rule of an extension or by a column.
    fn branch(
        &mut self,
        shared: &RoundShared,
        visit: &Visit<'_>,
        open: OpenSolution,
    ) -> Result<Processed, ModelError> {
        let (bound, depth) = (visit.bound, visit.node.depth);
        let solution = open.solution;
        self.drop_slack_cuts(shared, &solution)?;
        self.report.relaxed = Some(solution.x.clone());
        if visit.node.path.is_none() {
            self.report.root_bounds = Some((self.domain.lower.clone(), self.domain.upper.clone()));
        }
        self.heuristics(shared, &solution, bound, depth)?;
        if self.closes(bound) {
            return Ok(Processed::Closed);
        }
        if let Some(children) = self.split_by_extensions(shared, &solution, bound, depth) {
            return Ok(Processed::Split(children));
        }
        let choice = self.counted(
            shared,
            (Component::Branching, "reliability"),
            |w| w.choose(shared, &solution, &open.fractional, bound, depth),
            |choice, tally| match choice {
                ColumnChoice::Split(children) => tally.found += children.len() as u64,
                ColumnChoice::Infeasible | ColumnChoice::Tightened => tally.successes += 1,
            },
        )?;
        Ok(match choice {
            ColumnChoice::Split(children) => Processed::Split(children),
            ColumnChoice::Infeasible => Processed::Closed,
            ColumnChoice::Tightened => Processed::Again(bound),
        })
    }

    /// The children of the first extension's rule that splits the node.
    fn split_by_extensions(
        &self,
        shared: &RoundShared,
        solution: &Solution,
        bound: f64,
        depth: u32,
    ) -> Option<Vec<Child>> {
        shared.extensions.branching.iter().find_map(|rule| {
            let begun = Instant::now();
            let children = self.with_view(shared, solution, bound, depth, |view| rule.branch(view));
            if let Some(statistics) = &shared.statistics {
                let found = children.as_ref().map_or(0, Vec::len) as u64;
                statistics.call(Component::Branching, "extensions", begun, |tally| {
                    tally.found += found;
                });
            }
            Some(Child::all(children?, bound))
        })
    }

    /// Splits on any unfixed integer column; without one, the leaf remains unresolved.
    fn split_blindly(&mut self, shared: &RoundShared, bound: f64, x: Option<&[f64]>) -> Processed {
        let p = &shared.problem;
        let mut best: Option<(f64, usize)> = None;
        for j in 0..p.num_cols() {
            if !p.integer[j] || self.domain.is_fixed(j) {
                continue;
            }
            let off = x.map_or(0.0, |x| (x[j] - x[j].round()).abs());
            if best.is_none_or(|(b, _)| off > b) {
                best = Some((off, j));
            }
        }
        let Some((_, j)) = best else {
            self.leave(bound);
            return Processed::Closed;
        };
        let (l, u) = (self.domain.lower[j], self.domain.upper[j]);
        let middle = match x {
            Some(x) => x[j].round(),
            None if l.is_finite() && u.is_finite() => ((l + u) / 2.0).floor(),
            None if l.is_finite() => l,
            None if u.is_finite() => u - 1.0,
            None => 0.0,
        };
        let col = ColId(j as u32);
        let mut decisions = Vec::new();
        if x.is_some() {
            // Around the value: equal, below, above.
            let at = Bounds::new(l, u).nearest(middle);
            decisions.push(Decision {
                bounds: vec![(col, Bounds::new(at, at))],
                rows: Vec::new(),
            });
            if at > l {
                decisions.push(Decision::at_most(col, at - 1.0));
            }
            if at < u {
                decisions.push(Decision::at_least(col, at + 1.0));
            }
        } else {
            let at = Bounds::new(l, u - 1.0).nearest(middle);
            decisions.push(Decision::at_most(col, at));
            decisions.push(Decision::at_least(col, at + 1.0));
        }
        Processed::Split(Child::all(decisions, bound))
    }

    /// Returns whether the gaps are met at a node of this bound. If so, the node is left with its
    /// bound, provided that it may contain a better solution.
    fn closes(&mut self, bound: f64) -> bool {
        let closes = bound >= self.limit;
        if closes && bound < self.cutoff {
            self.leave(bound);
        }
        closes
    }

    /// Leaves a node with only a bound known.
    fn leave(&mut self, bound: f64) {
        self.report.left_bound = self.report.left_bound.min(bound);
    }

    pub fn learn(&mut self, col: usize, up: bool, gain_per_unit: f64) {
        self.observe(Observation::Gain {
            col: col as u32,
            up,
            gain_per_unit,
        });
    }

    /// Learns an observation, and reports it to the other workers.
    pub fn observe(&mut self, o: Observation) {
        self.pseudo.observe(&o);
        self.report.observations.push(o);
    }

    /// Returns whether a point violates bounds of the domain of integer columns.
    fn outside(&self, shared: &RoundShared, x: &[f64]) -> bool {
        (0..x.len()).any(|j| {
            shared.problem.integer[j]
                && (x[j] < self.domain.lower[j] - 1e-6 || x[j] > self.domain.upper[j] + 1e-6)
        })
    }

    /// Fixes columns at their bounds if moving them would cost more than the gap (Dantzig,
    /// Fulkerson & Johnson 1954).
    fn fix_by_reduced_costs(&mut self, shared: &RoundShared, s: &Solution, bound: f64) -> bool {
        if !self.cutoff.is_finite() {
            return false;
        }
        let mark = self.domain.mark();
        reduced_cost_fixing(&mut self.domain, &shared.problem, s, bound, self.cutoff);
        self.keep_bounds(mark);
        self.domain.mark() > mark || self.domain.infeasible
    }

    /// Passes the bounds changed since a mark to the children.
    pub(crate) fn keep_bounds(&mut self, mark: usize) {
        let d = &self.domain;
        self.extra_bounds.extend(d.trail[mark..].iter().map(|c| {
            let j = c.col as usize;
            (ColId(c.col), Bounds::new(d.lower[j], d.upper[j]))
        }));
    }
}

/// Tightens integer columns at a bound whose reduced cost makes moves too expensive.
pub(crate) fn reduced_cost_fixing(
    domain: &mut Domain,
    p: &Problem,
    s: &Solution,
    bound: f64,
    cutoff: f64,
) {
    let room = (cutoff - bound).max(0.0);
    for j in 0..p.num_cols() {
        let (l, u) = (domain.lower[j], domain.upper[j]);
        let d = s.reduced_costs[j];
        if !p.integer[j] || l == u || d.abs() < 1e-6 {
            continue;
        }
        let steps = (room / d.abs() + 1e-6).floor();
        if d > 0.0 && l.is_finite() && s.x[j] <= l + 1e-9 {
            domain.tighten_upper(p, j, l + steps);
        } else if d < 0.0 && u.is_finite() && s.x[j] >= u - 1e-9 {
            domain.tighten_lower(p, j, u - steps);
        }
    }
}
