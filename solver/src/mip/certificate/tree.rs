//! The tree of a proof, depth first.

use super::proof::Derivation;
use super::settling::{Attempt, TreeLimits};
use super::solution::exact_point;
use super::stated::StatedLine;
use super::{ConstraintSense, ExactModel, SidePositions, entries};
use crate::mip::branching::pseudocost::{Observation, PseudoCosts};
use crate::mip::exact::{Rational, binary, common_step, double, one};
use crate::mip::extend::StatedRows;
use num_traits::{Signed, Zero};
use remat_lp::{Bounds, ColId, Limits, LpOutcome, Model, ModelError, Solution, Solver};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Claim about the objective to be proven (minimised).
pub(crate) struct Goal {
    /// Objective of the solution.
    pub value: Rational,
    /// Lower bound on the objective of every solution.
    pub bound: Rational,
    /// The objective takes only multiples of this step; zero if there is no step.
    pub step: Rational,
    /// `cost / step` (or the cost) as text.
    pub form: String,
}

impl Goal {
    /// `gaps`: relative and absolute. They count only if the objective has no step.
    pub fn new(m: &ExactModel, value: Rational, gaps: (f64, f64)) -> Goal {
        let priced = || m.cost.iter().zip(&m.integer).filter(|(c, _)| !c.is_zero());
        let step = if priced().all(|(_, &integer)| integer) {
            common_step(m.cost.iter())
        } else {
            Rational::zero()
        };
        let bound = if step.is_zero() {
            let relative = binary(gaps.0, None).unwrap_or_default() * value.abs();
            let absolute = binary(gaps.1, None).unwrap_or_default();
            &value - relative.max(absolute)
        } else {
            value.clone()
        };
        let scale = if step.is_zero() { one() } else { step.clone() };
        let scaled: Vec<Rational> = m.cost.iter().map(|c| c / &scale).collect();
        let nonzero = scaled.iter().enumerate().filter(|(_, c)| !c.is_zero());
        let own = scale == one() && !m.maximise;
        Goal {
            form: if own { "OBJ".into() } else { entries(nonzero) },
            value,
            bound,
            step,
        }
    }

    /// The side of the goal in steps.
    fn side(&self) -> Rational {
        &self.bound / self.scale()
    }

    /// Derives the goal from a contradiction that depends on the assumption of a better objective.
    fn without_assumption(&self, proof: &mut Derivation, better: (usize, usize)) -> usize {
        let (side, form) = (self.side(), &self.form);
        let other = proof.assume(ConstraintSense::AtLeast, &side, form);
        proof.unsplit(
            ConstraintSense::AtLeast,
            &side,
            form,
            better,
            (other, other),
        )
    }

    fn scale(&self) -> Rational {
        if self.step.is_zero() {
            one()
        } else {
            self.step.clone()
        }
    }
}

/// A bound in force, and its line.
#[derive(Clone)]
pub(super) struct ActiveBound {
    pub value: Rational,
    pub line: usize,
}

/// A row of the relaxation: a row of the model, or a cut.
pub(super) struct RelaxationRow {
    pub entries: Vec<(usize, Rational)>,
    pub lower: Option<ActiveBound>,
    pub upper: Option<ActiveBound>,
}

pub(super) struct CertifiedTree<'a> {
    pub m: &'a ExactModel,
    pub goal: Option<&'a Goal>,
    pub proof: &'a mut Derivation,
    pub lp: Solver,
    pub rows: Vec<RelaxationRow>,
    pub lower: Vec<Option<ActiveBound>>,
    pub upper: Vec<Option<ActiveBound>>,
    pub pseudo: PseudoCosts,
    /// Value that the floating-point bound must reach.
    pub cutoff: f64,
    pub stop: Arc<AtomicBool>,
    /// Rows beside the model's, and those in use so far.
    pub stated: Option<&'a dyn StatedRows>,
    pub stated_lines: Vec<StatedLine>,
    /// The assumption that the objective is better than the goal by a step, if it has steps. Its
    /// contradictions need no objective.
    pub(super) assumed_better: Option<usize>,
    /// The model, if better points than the goal's are wanted, and the better point found: it ends
    /// the tree.
    model: Option<&'a Model>,
    better: Option<Vec<Rational>>,
    /// Remaining nodes.
    nodes: u64,
    /// Limit on the ticks of all relaxations together.
    ticks: u64,
}

/// Column, direction (`true` for up), distance, and the objective before.
type Branched = (usize, bool, f64, f64);

/// Levels between two separations of cuts.
const CUT_DEPTH: usize = 3;

/// Limit on the depth, for the stack.
const DEPTH: usize = 2_000;

/// Derives the goal (or a contradiction) without assumptions, as the last line. Ends with a better
/// point instead, if better points are wanted.
pub(super) fn prove(
    model: &Model,
    m: &ExactModel,
    goal: Option<&Goal>,
    proof: &mut Derivation,
    stated: Option<&dyn StatedRows>,
    limits: &mut TreeLimits<'_>,
) -> Result<Attempt, String> {
    let stop = limits.stop;
    let mut tree = CertifiedTree::new(model, m, goal, proof, stop).map_err(|e| e.to_string())?;
    tree.model = limits.searches.then_some(model);
    tree.stated = stated;
    (tree.nodes, tree.ticks) = (limits.nodes, limits.ticks);
    let mut last = tree.run().map_err(|e| e.to_string())?;
    limits.nodes = tree.nodes;
    let assumed_better = tree.assumed_better;
    if let Some(point) = tree.better {
        return Ok(Attempt::Better(point));
    }
    if let (Some(goal), Some(contradiction), Some(better)) = (goal, last, assumed_better) {
        last = Some(goal.without_assumption(proof, (contradiction, better)));
    }
    if last.is_none() && stop.load(Ordering::Relaxed) {
        return Err("a limit or an interrupt came first".into());
    }
    let last = last.ok_or(
        "the duals of the relaxation do not prove a leaf; try more exact data or finite bounds",
    )?;
    // The last line must be the goal itself, in the model's sense.
    if let Some(goal) = goal {
        let nonzero: Vec<(usize, Rational)> = (0..m.cost.len())
            .map(|j| (j, m.given_cost(j)))
            .filter(|(_, c)| !c.is_zero())
            .collect();
        let form = entries(nonzero.iter().map(|(j, c)| (*j, c)));
        let (sense, sign) = if m.maximise {
            (ConstraintSense::AtMost, -one())
        } else {
            (ConstraintSense::AtLeast, one())
        };
        let part = (last, &sign * goal.scale());
        let bound = &sign * &goal.bound;
        proof.combine(sense, &bound, &form, &[part], false);
    }
    Ok(Attempt::Proven)
}

/// Settings of the relaxation. With the usual tolerance, a point that violates a row of large
/// numbers slightly may look like a solution where there is no solution.
pub(super) fn relaxation_settings() -> remat_lp::Settings {
    remat_lp::Settings {
        primal_tolerance: 1e-9,
        ..remat_lp::Settings::default()
    }
}

impl<'a> CertifiedTree<'a> {
    /// A tree with probing and cuts that does not look for better points.
    fn new(
        model: &Model,
        m: &'a ExactModel,
        goal: Option<&'a Goal>,
        proof: &'a mut Derivation,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, ModelError> {
        let relaxed = crate::mip::problem::Problem::as_given(model).to_model()?;
        let offset = relaxed.offset();
        let cutoff = goal.map_or(f64::INFINITY, |g| {
            let least = if g.step.is_zero() {
                g.bound.clone()
            } else {
                // A bound more than one step below the value is rounded up to it.
                &g.bound - &g.step + &g.step / Rational::from(1000)
            };
            double(&least) + offset
        });
        type Values = (Option<Rational>, Option<Rational>);
        let with = |(lower, upper): &Values, lines: &SidePositions| {
            let side = |value: &Option<Rational>, line: Option<usize>| {
                Some(ActiveBound {
                    value: value.clone()?,
                    line: line?,
                })
            };
            (side(lower, lines.lower), side(upper, lines.upper))
        };
        let (lower, upper) = (m.col_sides.iter().zip(&proof.cols))
            .map(|(values, lines)| with(values, lines))
            .unzip();
        let rows = (m.rows.iter().zip(&m.row_sides).zip(&proof.rows))
            .map(|((entries, values), lines)| {
                let (lower, upper) = with(values, lines);
                RelaxationRow {
                    entries: entries.clone(),
                    lower,
                    upper,
                }
            })
            .collect();
        let assumed_better = goal.filter(|g| !g.step.is_zero()).map(|g| {
            let below = g.side() - one();
            proof.assume(ConstraintSense::AtMost, &below, &g.form)
        });
        Ok(CertifiedTree {
            m,
            goal,
            proof,
            assumed_better,
            lp: Solver::new(relaxed, relaxation_settings()),
            rows,
            lower,
            upper,
            pseudo: PseudoCosts::new(m.cost.len()),
            cutoff,
            stop: stop.clone(),
            stated: None,
            stated_lines: Vec::new(),
            model: None,
            better: None,
            nodes: u64::MAX,
            ticks: u64::MAX,
        })
    }

    /// Proves the root.
    fn run(&mut self) -> Result<Option<usize>, ModelError> {
        self.begin_with_stated()?;
        let closed = self.prepare()?;
        let last = self.node(0, None)?;
        Ok(last.map(|last| self.finish(closed, last)))
    }

    /// Proves the node with the bounds in force; `None` if the duals cannot prove it.
    fn node(
        &mut self,
        depth: usize,
        branched: Option<Branched>,
    ) -> Result<Option<usize>, ModelError> {
        let rows = self.rows.len();
        let proven = self.search(depth, branched)?;
        self.drop_rows_from(rows)?;
        Ok(proven)
    }

    fn search(
        &mut self,
        depth: usize,
        branched: Option<Branched>,
    ) -> Result<Option<usize>, ModelError> {
        let ended = self.better.is_some() || self.stop.load(Ordering::Relaxed);
        if self.lp.stats().ticks >= self.ticks {
            self.nodes = 0;
        }
        if depth > DEPTH || ended || self.nodes == 0 {
            return Ok(None);
        }
        self.nodes -= 1;
        if let Some(line) = self.crossed() {
            return Ok(Some(line));
        }
        self.limit_to_cutoff();
        let mut outcome = self.solve_with_stated()?;
        if depth > 0
            && depth.is_multiple_of(CUT_DEPTH)
            && let LpOutcome::Optimal(s) = &outcome
            && s.objective < self.cutoff
        {
            let s = s.clone();
            if let Some(with_cuts) = self.strengthen_node(&s)? {
                outcome = with_cuts;
            }
        }
        let solution = match outcome {
            LpOutcome::Optimal(s) => Some(s),
            outcome => {
                if let Some(line) = self.closing(&outcome) {
                    return Ok(Some(line));
                }
                match outcome {
                    LpOutcome::CutoffReached { .. } => self.relaxed(),
                    _ => None,
                }
            }
        };
        if let Some(s) = &solution {
            if let Some((j, up, distance, before)) = branched {
                self.pseudo.observe(&Observation::Gain {
                    col: j as u32,
                    up,
                    gain_per_unit: (s.objective - before).max(0.0) / distance.max(1e-6),
                });
            }
            if s.objective >= self.cutoff - 1e-6 * self.cutoff.abs().max(1.0) {
                let line = self.leaf(&s.y, true);
                if let Some(line) = line.or_else(|| self.leaf_of_basis(s)) {
                    return Ok(Some(line));
                }
            }
            if self.is_better(s) {
                return Ok(None);
            }
        }
        let Some((j, at)) = self.choose(solution.as_ref())? else {
            return Ok(self.leaf_in_rationals());
        };
        let x = solution.as_ref().map(|s| s.x.as_slice());
        let objective = solution.as_ref().map(|s| s.objective);
        let fraction = x.map_or(0.5, |x| (x[j] - x[j].floor()).clamp(0.0, 1.0));
        let mut cases = [(0usize, 0usize); 2];
        // If the proof of a side does not use its assumption, the other side is not needed.
        for (k, up) in [false, true].into_iter().enumerate() {
            let value = if up { &at + one() } else { at.clone() };
            let sense = if up {
                ConstraintSense::AtLeast
            } else {
                ConstraintSense::AtMost
            };
            let line = self.proof.assume(sense, &value, &format!("1 {j} 1"));
            let side = ActiveBound { value, line };
            let before = self.bound_mut(j, !up).replace(side);
            self.sync(j)?;
            if let Some(s) = &solution {
                self.lp.set_basis(&s.basis)?;
            }
            let told = objective.map(|o| {
                let distance = if up { 1.0 - fraction } else { fraction };
                (j, up, distance, o)
            });
            let proven = self.node(depth + 1, told)?;
            *self.bound_mut(j, !up) = before;
            self.sync(j)?;
            let Some(proven) = proven else {
                return Ok(None);
            };
            if !self.proof.lines[proven].assumes.contains(&line) {
                return Ok(Some(proven));
            }
            cases[k] = (proven, line);
        }
        Ok(Some(self.unsplit(cases[0], cases[1])))
    }

    /// Returns whether a relaxation's solution is a better point than the goal's, if such points
    /// are wanted.
    fn is_better(&mut self, s: &Solution) -> bool {
        let Some(model) = self.model else {
            return false;
        };
        let integer = &self.m.integer;
        let whole = |(v, &integer): (&f64, &bool)| !integer || (v - v.round()).abs() <= 1e-6;
        if !s.x.iter().zip(integer).all(whole) {
            return false;
        }
        let rounded = |(v, &integer): (&f64, &bool)| if integer { v.round() } else { *v };
        let x: Vec<f64> = s.x.iter().zip(integer).map(rounded).collect();
        if let Some(point) = exact_point(model, self.m, &x) {
            self.offer(point);
        }
        self.better.is_some()
    }

    /// Keeps a feasible point if it is better than the goal's and such points are wanted.
    pub(super) fn offer(&mut self, x: Vec<Rational>) {
        let value = self.m.value(&x);
        if self.model.is_some() && self.goal.is_none_or(|goal| value < goal.value) {
            self.better = Some(x);
        }
    }

    /// The line derived from a relaxation's ray or duals, if they close the node.
    pub(super) fn closing(&mut self, outcome: &LpOutcome) -> Option<usize> {
        match outcome {
            LpOutcome::Infeasible(ray) => self.leaf(&ray.y, false).or_else(|| {
                let opposite: Vec<f64> = ray.y.iter().map(|v| -v).collect();
                self.leaf(&opposite, false)
            }),
            LpOutcome::CutoffReached { y, .. } => self.leaf(y, true),
            _ => None,
        }
    }

    /// Limits of one relaxation: the remaining work of all.
    pub(super) fn relaxation_limits(&self) -> Limits {
        let left = self.ticks.saturating_sub(self.lp.stats().ticks);
        Limits {
            ticks: (self.ticks < u64::MAX).then_some(left),
            interrupt: Some(self.stop.clone()),
            ..Limits::default()
        }
    }

    pub(super) fn limit_to_cutoff(&mut self) {
        self.lp.set_limits(Limits {
            objective_cutoff: self.cutoff.is_finite().then_some(self.cutoff),
            ..self.relaxation_limits()
        });
    }

    /// Derives the conclusion of both sides of a split: (line, assumption) twice.
    pub(super) fn unsplit(&mut self, a: (usize, usize), b: (usize, usize)) -> usize {
        let (side, form) = match self.goal {
            Some(g) if self.assumed_better.is_none() => (g.side(), g.form.as_str()),
            _ => (one(), "0"),
        };
        (self.proof).unsplit(ConstraintSense::AtLeast, &side, form, a, b)
    }

    /// The lower or upper bound of a column.
    pub(super) fn bound_mut(&mut self, j: usize, upper: bool) -> &mut Option<ActiveBound> {
        if upper {
            &mut self.upper[j]
        } else {
            &mut self.lower[j]
        }
    }

    /// Copies the bounds in force of a column to the relaxation.
    pub(super) fn sync(&mut self, j: usize) -> Result<(), ModelError> {
        let number =
            |s: &Option<ActiveBound>, none: f64| s.as_ref().map_or(none, |s| double(&s.value));
        let bounds = Bounds::new(
            number(&self.lower[j], f64::NEG_INFINITY),
            number(&self.upper[j], f64::INFINITY),
        );
        if bounds.lower > bounds.upper {
            // Rounding crossed the bounds, which `crossed` handles; branching stays within them.
            return Ok(());
        }
        self.lp.set_col_bounds(ColId(j as u32), bounds)
    }
}
