//! The tree of a proof, depth first.

use super::proof::Proof;
use super::{ExactModel, Sense, Sides, entries};
use crate::branching::pseudocost::{Observation, PseudoCosts, score};
use crate::exact::{Rational, binary, ceiling, common_step, decimal, one};
use num_traits::{Signed, ToPrimitive, Zero};
use remat_lp::{Bounds, ColId, Limits, LpOutcome, Model, ModelError, Solver};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What is to be shown of the objective (minimised).
pub(super) struct Goal {
    /// Of the solution.
    pub value: Rational,
    /// No solution is better than this.
    pub bound: Rational,
    /// The objective takes multiples of this only; zero if there is no such step.
    step: Rational,
    /// `cost / step` (or the cost) as text.
    form: String,
}

impl Goal {
    /// `gaps`: relative and absolute; they count only where the objective is not a multiple of something.
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
        Goal {
            form: entries(nonzero),
            value,
            bound,
            step,
        }
    }

    fn scale(&self) -> Rational {
        if self.step.is_zero() {
            one()
        } else {
            self.step.clone()
        }
    }
}

/// A bound that is in force, and the line that says so.
#[derive(Clone)]
struct Side {
    value: Rational,
    line: usize,
}

struct Tree<'a> {
    m: &'a ExactModel,
    goal: Option<&'a Goal>,
    proof: &'a mut Proof,
    lp: Solver,
    lower: Vec<Option<Side>>,
    upper: Vec<Option<Side>>,
    pseudo: PseudoCosts,
    /// Value that the floating-point bound has to reach.
    cutoff: f64,
    stop: Arc<AtomicBool>,
}

/// Deeper trees are not worth the stack.
const DEPTH: usize = 2_000;

/// Derives the goal (or a contradiction) without assumptions, as the last line.
pub(super) fn prove(
    model: &Model,
    m: &ExactModel,
    goal: Option<&Goal>,
    proof: &mut Proof,
    stop: Arc<AtomicBool>,
) -> Result<(), String> {
    let relaxed = crate::problem::Problem::as_given(model)
        .to_model()
        .map_err(|e| e.to_string())?;
    let offset = relaxed.offset();
    let cutoff = goal.map_or(f64::INFINITY, |g| {
        let least = if g.step.is_zero() {
            g.bound.clone()
        } else {
            // More than one step below the value is rounded up to it.
            &g.bound - &g.step + &g.step / Rational::from_integer(1000.into())
        };
        least.to_f64().unwrap_or(f64::INFINITY) + offset
    });
    let sides = |of: &[Sides], lower: bool| -> Vec<Option<usize>> {
        of.iter()
            .map(|s| if lower { s.lower } else { s.upper })
            .collect()
    };
    let with = |values: Vec<Option<Rational>>, lines: Vec<Option<usize>>| -> Vec<Option<Side>> {
        (values.into_iter().zip(lines))
            .map(|(v, l)| {
                Some(Side {
                    value: v?,
                    line: l?,
                })
            })
            .collect()
    };
    let lower = with(
        m.col_sides.iter().map(|s| s.0.clone()).collect(),
        sides(&proof.cols, true),
    );
    let upper = with(
        m.col_sides.iter().map(|s| s.1.clone()).collect(),
        sides(&proof.cols, false),
    );
    let mut tree = Tree {
        m,
        goal,
        proof,
        lp: Solver::new(relaxed, remat_lp::Settings::default()),
        lower,
        upper,
        pseudo: PseudoCosts::new(m.cost.len()),
        cutoff,
        stop,
    };
    tree.round_bounds();
    for _ in 0..3 {
        tree.imply_bounds();
    }
    let last = tree.node(0, None).map_err(|e| e.to_string())?;
    if last.is_none() && tree.stop.load(Ordering::Relaxed) {
        return Err("a limit or an interrupt came first".into());
    }
    let last = last.ok_or(
        "the duals of the relaxation do not prove a leaf; try more exact data or finite bounds",
    )?;
    // The last line has to be the goal itself, in the model's own sense.
    if let Some(goal) = goal {
        let nonzero: Vec<(usize, Rational)> = (0..m.cost.len())
            .map(|j| (j, m.given_cost(j)))
            .filter(|(_, c)| !c.is_zero())
            .collect();
        let form = entries(nonzero.iter().map(|(j, c)| (*j, c)));
        let (sense, sign) = if m.maximise {
            (Sense::AtMost, -one())
        } else {
            (Sense::AtLeast, one())
        };
        let part = (last, &sign * goal.scale());
        let bound = &sign * &goal.bound;
        tree.proof.combine(sense, &bound, &form, &[part], false);
    }
    Ok(())
}

impl Tree<'_> {
    /// Fractional bounds of integer columns are rounded, by lines of their own.
    fn round_bounds(&mut self) {
        for j in 0..self.m.cost.len() {
            if !self.m.integer[j] {
                continue;
            }
            let form = format!("1 {j} 1");
            if let Some(s) = &mut self.lower[j]
                && !s.value.is_integer()
            {
                s.value = s.value.ceil();
                let part = [(s.line, one())];
                s.line = (self.proof).combine(Sense::AtLeast, &s.value, &form, &part, true);
            }
            if let Some(s) = &mut self.upper[j]
                && !s.value.is_integer()
            {
                s.value = s.value.floor();
                let part = [(s.line, one())];
                s.line = (self.proof).combine(Sense::AtMost, &s.value, &form, &part, true);
            }
        }
    }

    /// Bounds that columns do not have but rows imply: a reduced cost that is noise then costs little instead of all.
    fn imply_bounds(&mut self) {
        for i in 0..self.m.rows.len() {
            let lines = self.proof.rows[i];
            for (j, a) in &self.m.rows[i] {
                for up in [false, true] {
                    let have = if up { &self.upper[*j] } else { &self.lower[*j] };
                    if have.is_some() {
                        continue;
                    }
                    // An upper bound comes from the row's upper side if the coefficient is positive.
                    let high = up == a.is_positive();
                    let sides = &self.m.row_sides[i];
                    let (side, line) = if high {
                        (&sides.1, lines.upper)
                    } else {
                        (&sides.0, lines.lower)
                    };
                    let (Some(side), Some(line)) = (side, line) else {
                        continue;
                    };
                    if let Some((value, parts)) = self.implied(i, *j, a, up, side, line) {
                        let sense = if up { Sense::AtMost } else { Sense::AtLeast };
                        let form = format!("1 {j} 1");
                        let round = self.m.integer[*j];
                        let value = match (round, up) {
                            (false, _) => value,
                            (true, true) => value.floor(),
                            (true, false) => value.ceil(),
                        };
                        let line = self.proof.combine(sense, &value, &form, &parts, round);
                        let of = if up { &mut self.upper } else { &mut self.lower };
                        of[*j] = Some(Side { value, line });
                    }
                }
            }
        }
    }

    /// What a row leaves for one of its columns, and the constraints that say so.
    fn implied(
        &self,
        row: usize,
        col: usize,
        a: &Rational,
        up: bool,
        side: &Rational,
        line: usize,
    ) -> Option<(Rational, Vec<(usize, Rational)>)> {
        let mut value = side / a;
        let mut parts = vec![(line, one() / a)];
        for (k, b) in self.m.rows[row].iter().filter(|(k, _)| *k != col) {
            let ratio = b / a;
            let of = if ratio.is_positive() == up {
                &self.lower[*k]
            } else {
                &self.upper[*k]
            };
            let bound = of.as_ref()?;
            value -= &ratio * &bound.value;
            parts.push((bound.line, -ratio));
        }
        Some((value, parts))
    }

    /// Proves the node with the bounds in force; `None` if that is beyond the duals.
    fn node(
        &mut self,
        depth: usize,
        branched: Option<(usize, bool, f64, f64)>,
    ) -> Result<Option<usize>, ModelError> {
        if depth > DEPTH || self.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.lp.set_limits(Limits {
            objective_cutoff: self.cutoff.is_finite().then_some(self.cutoff),
            interrupt: Some(self.stop.clone()),
            ..Limits::default()
        });
        let solution = match self.lp.solve() {
            LpOutcome::Infeasible(ray) => {
                if let Some(line) = self.leaf(&ray.y, false) {
                    return Ok(Some(line));
                }
                let opposite: Vec<f64> = ray.y.iter().map(|v| -v).collect();
                if let Some(line) = self.leaf(&opposite, false) {
                    return Ok(Some(line));
                }
                None
            }
            LpOutcome::CutoffReached { y, .. } => match self.leaf(&y, true) {
                Some(line) => return Ok(Some(line)),
                None => {
                    self.lp.set_limits(Limits {
                        interrupt: Some(self.stop.clone()),
                        ..Limits::default()
                    });
                    self.lp.solve().optimal().cloned()
                }
            },
            LpOutcome::Optimal(s) => Some(s),
            LpOutcome::Unbounded(_) | LpOutcome::Limit(_) => None,
        };
        if let Some(s) = &solution {
            if let Some((j, up, distance, before)) = branched {
                self.pseudo.observe(Observation {
                    col: j as u32,
                    up,
                    gain_per_unit: (s.objective - before).max(0.0) / distance.max(1e-6),
                });
            }
            if s.objective >= self.cutoff - 1e-6 * self.cutoff.abs().max(1.0)
                && let Some(line) = self.leaf(&s.y, true)
            {
                return Ok(Some(line));
            }
        }
        let x = solution.as_ref().map(|s| s.x.as_slice());
        let Some((j, at)) = self.choose(x) else {
            return Ok(None);
        };
        let objective = solution.as_ref().map(|s| s.objective);
        let fraction = x.map_or(0.5, |x| (x[j] - x[j].floor()).clamp(0.0, 1.0));
        let mut cases = [(0usize, 0usize); 2];
        // The side with more to lose first: it may do without its assumption.
        for (k, up) in [false, true].into_iter().enumerate() {
            let value = if up { &at + one() } else { at.clone() };
            let sense = if up { Sense::AtLeast } else { Sense::AtMost };
            let line = self.proof.assume(j, sense, &value);
            let side = Side { value, line };
            let of = if up { &mut self.lower } else { &mut self.upper };
            let before = of[j].replace(side);
            self.sync(j)?;
            let told = objective.map(|o| {
                let distance = if up { 1.0 - fraction } else { fraction };
                (j, up, distance, o)
            });
            let proven = self.node(depth + 1, told)?;
            let of = if up { &mut self.lower } else { &mut self.upper };
            of[j] = before;
            self.sync(j)?;
            let Some(proven) = proven else {
                return Ok(None);
            };
            if !self.proof.lines[proven].assumes.contains(&line) {
                return Ok(Some(proven));
            }
            cases[k] = (proven, line);
        }
        let (sense, side, form) = match self.goal {
            Some(g) => (Sense::AtLeast, &g.bound / g.scale(), g.form.clone()),
            None => (Sense::AtLeast, one(), "0".to_string()),
        };
        Ok(Some(
            self.proof.unsplit(sense, &side, &form, cases[0], cases[1]),
        ))
    }

    fn sync(&mut self, j: usize) -> Result<(), ModelError> {
        let number =
            |s: &Option<Side>, none: f64| s.as_ref().and_then(|s| s.value.to_f64()).unwrap_or(none);
        let bounds = Bounds::new(
            number(&self.lower[j], f64::NEG_INFINITY),
            number(&self.upper[j], f64::INFINITY),
        );
        if bounds.lower > bounds.upper {
            // Branching stays within the bounds.
            return Ok(());
        }
        self.lp.set_col_bounds(ColId(j as u32), bounds)
    }

    /// The column to branch on and the largest value of its lower side.
    fn choose(&self, x: Option<&[f64]>) -> Option<(usize, Rational)> {
        let fixed = |j: usize| match (&self.lower[j], &self.upper[j]) {
            (Some(l), Some(u)) => l.value == u.value,
            _ => false,
        };
        let open = || (0..self.m.cost.len()).filter(|&j| self.m.integer[j] && !fixed(j));
        if let Some(x) = x {
            let best = open()
                .filter(|&j| (x[j] - x[j].round()).abs() > 1e-6)
                .map(|j| {
                    let (d, u) = self.pseudo.gains(j, x[j]);
                    let f = x[j] - x[j].floor();
                    (score(d, u) * (1.0 + 1e-3 * f.min(1.0 - f)), j)
                })
                .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)));
            if let Some((_, j)) = best {
                return Some((j, decimal(x[j].floor())?));
            }
        }
        // Integral, but not proven: any column, near its value.
        let j = open().next()?;
        let two = Rational::from_integer(2.into());
        let at = match (&self.lower[j], &self.upper[j], x) {
            (Some(l), Some(u), None) => ((&l.value + &u.value) / two).floor(),
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

    /// A line that says that nothing better than the goal, or nothing at all, is here; tried with ever more digits.
    fn leaf(&mut self, y: &[f64], with_cost: bool) -> Option<usize> {
        if with_cost && self.goal.is_none() {
            return None;
        }
        let largest = y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if largest == 0.0 && !with_cost {
            return None;
        }
        // Rays have no scale of their own.
        let norm = if with_cost { 1.0 } else { 1.0 / largest };
        [Some(4), Some(12), Some(24), None]
            .into_iter()
            .find_map(|places| self.combination(y, norm, with_cost, places))
    }

    fn combination(
        &mut self,
        y: &[f64],
        norm: f64,
        with_cost: bool,
        places: Option<i32>,
    ) -> Option<usize> {
        let m = self.m;
        let mut rest: Vec<Rational> = if with_cost {
            m.cost.clone()
        } else {
            vec![Rational::zero(); m.cost.len()]
        };
        let mut parts: Vec<(usize, Rational)> = Vec::new();
        let mut total = Rational::zero();
        for (i, v) in y.iter().enumerate() {
            let v = binary(v * norm, places)?;
            if v.is_zero() {
                continue;
            }
            let (sides, lines) = (&m.row_sides[i], self.proof.rows[i]);
            let (side, line) = if v.is_positive() {
                (&sides.0, lines.lower)
            } else {
                (&sides.1, lines.upper)
            };
            // A multiplier of the wrong sign is noise.
            let (Some(side), Some(line)) = (side, line) else {
                continue;
            };
            total += &v * side;
            for (j, a) in &m.rows[i] {
                rest[*j] -= &v * a;
            }
            parts.push((line, v));
        }
        for (j, d) in rest.into_iter().enumerate() {
            if d.is_zero() {
                continue;
            }
            let side = if d.is_positive() {
                &self.lower[j]
            } else {
                &self.upper[j]
            };
            let side = side.as_ref()?;
            total += &d * &side.value;
            parts.push((side.line, d));
        }
        if !with_cost {
            if !total.is_positive() {
                return None;
            }
            let scale = one() / total;
            for p in &mut parts {
                p.1 *= &scale;
            }
            return Some((self.proof).combine(Sense::AtLeast, &one(), "0", &parts, false));
        }
        let goal = self.goal?;
        let side = &goal.bound / goal.scale();
        let round = !goal.step.is_zero();
        if round {
            total /= &goal.step;
            for p in &mut parts {
                p.1 /= &goal.step;
            }
        }
        let reached = if round { ceiling(&total) } else { total };
        if reached < side {
            return None;
        }
        Some((self.proof).combine(Sense::AtLeast, &side, &goal.form, &parts, round))
    }
}
