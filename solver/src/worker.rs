//! A worker takes a node and plunges: it solves the node, splits it, goes on with one child and hands the others back,
//! until there is nothing left to go on with. Everything it needs of the others is frozen for the round.

use crate::branching::Decision;
use crate::branching::pseudocost::{Observation, PseudoCosts};
use crate::check::check_point;
use crate::domain::Domain;
use crate::extend::{CutSink, NodeView, SolutionSink};
use crate::presolve::Postsolve;
use crate::problem::Problem;
use crate::relaxation::{ExtraRow, Relaxation, Relaxed};
use crate::search::Extensions;
use crate::settings::Settings;
use crate::tree::{Branched, Node, PathLink};
use remat_lp::{Bounds, ColId, Model, ModelError, Solution};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A checked solution.
#[derive(Clone, Debug)]
pub(crate) struct Incumbent {
    /// Minimised form.
    pub objective: f64,
    /// In the columns of the working problem.
    pub x: Vec<f64>,
    /// In the columns of the model given.
    pub original: Vec<f64>,
    pub found_by: &'static str,
}

/// What all workers see and none changes during a round.
pub(crate) struct Shared {
    pub problem: Arc<Problem>,
    pub original: Arc<Model>,
    pub postsolve: Postsolve,
    pub settings: Settings,
    pub extensions: Extensions,
    /// Global rows beyond the problem's.
    pub rows: Vec<Arc<ExtraRow>>,
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub pseudo: PseudoCosts,
    pub incumbent: Option<Incumbent>,
    pub cutoff: f64,
    pub lower_bound: f64,
    pub locks: Vec<(usize, usize)>,
    pub stop: Arc<AtomicBool>,
    /// Simplex iterations of the root's first relaxation, a measure of what one is worth.
    pub root_iterations: u64,
}

impl Shared {
    /// The value solutions must be below, given the best one known.
    pub fn cutoff_for(&self, objective: f64) -> f64 {
        let s = &self.settings;
        let gap = s.absolute_gap.max(s.relative_gap * objective.abs());
        let mut cutoff = objective - gap;
        let step = self.problem.objective_step;
        if step > 0.0 {
            cutoff = cutoff.min(objective - step + 1e-6 * step.min(1.0));
        }
        cutoff
    }

    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What a worker hands back.
#[derive(Default)]
pub(crate) struct Report {
    pub open: Vec<Node>,
    pub solutions: Vec<Incumbent>,
    pub observations: Vec<Observation>,
    pub rows: Vec<Arc<ExtraRow>>,
    /// Bounds that strong branching and reduced costs found at the root: they hold everywhere.
    pub root_bounds: Option<(Vec<f64>, Vec<f64>)>,
    pub nodes: u64,
    pub strong: u64,
    pub refused: u64,
    /// Least bound among leaves that could not be settled.
    pub unresolved_bound: f64,
}

impl Report {
    pub fn new() -> Report {
        Report {
            unresolved_bound: f64::INFINITY,
            ..Default::default()
        }
    }
}

pub(crate) struct Worker {
    pub relax: Relaxation,
    pub domain: Domain,
    pub pseudo: PseudoCosts,
    pub cutoff: f64,
    pub best: Option<Incumbent>,
    pub report: Report,
    pub slot: u64,
    serial: u64,
    /// Iterations spent in strong branching, dives, and node relaxations.
    pub strong_iterations: u64,
    pub dive_iterations: u64,
    pub node_iterations: u64,
    pub node_solves: u64,
    pub dive_turn: u64,
    pub processed: u64,
    polished: u64,
}

/// How a node ended.
enum Processed {
    Closed,
    /// Strong branching closed one side of a column: the same node again, with this bound.
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

impl Worker {
    pub fn new(shared: &Shared, slot: u64) -> Result<Worker, ModelError> {
        let mut settings = shared.settings.clone();
        settings.limits.interrupt = Some(shared.stop.clone());
        Ok(Worker {
            relax: Relaxation::new(shared.problem.clone(), &settings)?,
            domain: Domain::new(&shared.problem),
            pseudo: PseudoCosts::new(shared.problem.num_cols()),
            cutoff: f64::INFINITY,
            best: None,
            report: Report::new(),
            slot,
            serial: 0,
            strong_iterations: 0,
            dive_iterations: 0,
            node_iterations: 0,
            node_solves: 0,
            dive_turn: 0,
            processed: 0,
            polished: 0,
        })
    }

    pub fn ticks(&self) -> u64 {
        self.relax.ticks() + self.domain.ticks
    }

    /// A number no other node or row of the search has.
    pub fn fresh_id(&mut self) -> u64 {
        self.serial += 1;
        (self.serial << 8) | (self.slot & 0xff)
    }

    /// Takes over what the others know.
    pub fn begin(&mut self, shared: &Shared) {
        self.cutoff = shared.cutoff;
        self.best = shared.incumbent.clone();
        self.pseudo.copy_from(&shared.pseudo);
        self.report = Report::new();
    }

    /// Plunges from a node; at most `max_nodes` nodes.
    pub fn run(
        &mut self,
        shared: &Shared,
        node: Node,
        max_nodes: u64,
    ) -> Result<Report, ModelError> {
        self.begin(shared);
        self.activate(shared, &node)?;
        let mut node = node;
        let mut count = 0;
        loop {
            count += 1;
            match self.process(shared, &node)? {
                Processed::Closed => break,
                Processed::Again(bound) => {
                    self.report.nodes -= 1;
                    count -= 1;
                    node.bound = bound;
                    node.branched = None;
                }
                Processed::Stopped => {
                    self.report.open.push(node);
                    break;
                }
                Processed::Split(children) => {
                    let basis = Some(Arc::new(self.relax.snapshot()));
                    let mut nodes: Vec<Node> = Vec::with_capacity(children.len());
                    for c in children {
                        let rows = c
                            .decision
                            .rows
                            .iter()
                            .map(|(entries, b)| {
                                Arc::new(ExtraRow {
                                    tag: self.fresh_id(),
                                    entries: entries.iter().map(|(j, v)| (j.0, *v)).collect(),
                                    lower: b.lower,
                                    upper: b.upper,
                                })
                            })
                            .collect();
                        nodes.push(Node {
                            id: self.fresh_id(),
                            depth: node.depth + 1,
                            bound: c.bound,
                            estimate: c.estimate,
                            path: Some(Arc::new(PathLink {
                                parent: node.path.clone(),
                                decision: c.decision,
                                rows,
                            })),
                            basis: basis.clone(),
                            branched: c.branched,
                        });
                    }
                    nodes.retain(|n| n.bound < self.cutoff);
                    if nodes.is_empty() {
                        break;
                    }
                    let next = nodes.remove(0);
                    self.report.open.append(&mut nodes);
                    let far = self.cutoff.is_finite()
                        && next.bound
                            > shared.lower_bound + 0.7 * (self.cutoff - shared.lower_bound);
                    if count >= max_nodes || far || shared.stopped() {
                        self.report.open.push(next);
                        break;
                    }
                    node = next;
                    self.descend(shared, &node)?;
                }
            }
        }
        Ok(std::mem::replace(&mut self.report, Report::new()))
    }

    /// Goes to a node from anywhere.
    fn activate(&mut self, shared: &Shared, node: &Node) -> Result<(), ModelError> {
        self.domain.reset(&shared.lower, &shared.upper);
        let mut rows = shared.rows.clone();
        for step in node.steps() {
            self.impose(shared, &step.decision);
            rows.extend(step.rows.iter().cloned());
        }
        self.relax.sync_rows(&rows)?;
        if let Some(b) = &node.basis {
            self.relax.restore(b)?;
        }
        Ok(())
    }

    /// Goes from a node to a child of it.
    fn descend(&mut self, shared: &Shared, child: &Node) -> Result<(), ModelError> {
        if let Some(link) = child.path.clone() {
            self.impose(shared, &link.decision);
            self.relax.add_rows(&link.rows)?;
        }
        Ok(())
    }

    fn impose(&mut self, shared: &Shared, decision: &Decision) {
        for (c, b) in &decision.bounds {
            let (p, j) = (&shared.problem, c.index());
            self.domain.tighten_lower(p, j, b.lower);
            if !self.domain.infeasible {
                self.domain.tighten_upper(p, j, b.upper);
            }
            if self.domain.infeasible {
                return;
            }
        }
    }

    /// Gives the linear program the domain's bounds of integer columns and the problem's of continuous ones.
    pub fn sync_bounds(&mut self, shared: &Shared) -> Result<(), ModelError> {
        let p = &shared.problem;
        for j in 0..p.num_cols() {
            let (l, u) = if p.integer[j] {
                (self.domain.lower[j], self.domain.upper[j])
            } else {
                (p.lower[j], p.upper[j])
            };
            let m = self.relax.model();
            if m.col_lower()[j] != l || m.col_upper()[j] != u {
                self.relax.set_col(j, l, u)?;
            }
        }
        self.domain.ticks += p.num_cols() as u64 / 4;
        Ok(())
    }

    pub fn propagate(&mut self, shared: &Shared) -> bool {
        if self.domain.infeasible {
            return false;
        }
        if shared.settings.propagation && !self.domain.propagate(&shared.problem) {
            return false;
        }
        for p in &shared.extensions.propagators {
            for (c, b) in p.propagate(&self.domain.lower, &self.domain.upper) {
                let j = c.index();
                self.domain.tighten_lower(&shared.problem, j, b.lower);
                if self.domain.infeasible {
                    return false;
                }
                self.domain.tighten_upper(&shared.problem, j, b.upper);
                if self.domain.infeasible {
                    return false;
                }
            }
        }
        true
    }

    /// Integer columns with a fractional value.
    pub fn fractional(&self, shared: &Shared, x: &[f64]) -> Vec<usize> {
        let tol = shared.settings.integrality_tolerance;
        (0..x.len())
            .filter(|&j| {
                // A value beyond a bound is at the bound: branching there would change nothing.
                shared.problem.integer[j]
                    && (x[j] - x[j].round()).abs() > tol
                    && x[j] > self.domain.lower[j]
                    && x[j] < self.domain.upper[j]
            })
            .collect()
    }

    fn view<'a>(
        &'a self,
        shared: &'a Shared,
        s: &'a Solution,
        bound: f64,
        depth: u32,
    ) -> NodeView<'a> {
        NodeView {
            x: &s.x,
            reduced_costs: &s.reduced_costs,
            lower: &self.domain.lower,
            upper: &self.domain.upper,
            integer: &shared.problem.integer,
            bound,
            cutoff: self.cutoff,
            depth,
            incumbent: self.best.as_ref().map(|b| b.x.as_slice()),
        }
    }

    fn process(&mut self, shared: &Shared, node: &Node) -> Result<Processed, ModelError> {
        let p = shared.problem.clone();
        if shared.stopped() {
            return Ok(Processed::Stopped);
        }
        self.report.nodes += 1;
        self.processed += 1;
        let mut bound = node.bound;
        let mut first = true;
        let mut rounds = 0;
        let (solution, fractional) = loop {
            if bound >= self.cutoff {
                return Ok(Processed::Closed);
            }
            if !self.propagate(shared) {
                return Ok(Processed::Closed);
            }
            self.sync_bounds(shared)?;
            let before = self.relax.iterations();
            let relaxed = self.relax.solve(self.cutoff, &self.domain)?;
            self.node_iterations += self.relax.iterations() - before;
            self.node_solves += 1;
            let (s, lp_bound) = match relaxed {
                Relaxed::Infeasible | Relaxed::Cutoff => return Ok(Processed::Closed),
                // A bounded root has no unbounded nodes: numerical trouble.
                Relaxed::Unbounded | Relaxed::Failed => {
                    if shared.stopped() {
                        self.report.nodes -= 1;
                        return Ok(Processed::Stopped);
                    }
                    return Ok(self.split_blindly(shared, bound, None));
                }
                Relaxed::Solved(s, b) => (s, b),
            };
            if let (true, Some(b)) = (first, node.branched) {
                let gain = (lp_bound - b.parent_bound).max(0.0);
                self.learn(b.col as usize, b.up, gain / b.distance.max(1e-6));
            }
            first = false;
            bound = bound.max(p.round_bound(lp_bound));
            if bound >= self.cutoff {
                return Ok(Processed::Closed);
            }
            rounds += 1;
            if shared.settings.reduced_cost_fixing
                && self.fix_by_reduced_costs(shared, &s, lp_bound)
            {
                if !self.propagate(shared) {
                    return Ok(Processed::Closed);
                }
                if rounds < 20 && self.outside(shared, &s.x) {
                    continue;
                }
            }
            let fractional = self.fractional(shared, &s.x);
            if rounds < 100
                && self.separate(shared, &s, bound, node.depth, fractional.is_empty())?
            {
                continue;
            }
            if fractional.is_empty() {
                let accepted = self.try_integral(shared, &s.x, "relaxation")?;
                let all_fixed = (0..p.num_cols()).all(|j| !p.integer[j] || self.domain.is_fixed(j));
                if bound >= self.cutoff {
                    return Ok(Processed::Closed);
                }
                if all_fixed && accepted && self.best.is_some() {
                    return Ok(Processed::Closed);
                }
                return Ok(self.split_blindly(shared, bound, Some(&s.x)));
            }
            break (s, fractional);
        };
        if node.path.is_none() {
            self.report.root_bounds = Some((self.domain.lower.clone(), self.domain.upper.clone()));
        }
        self.heuristics(shared, &solution, bound, node.depth)?;
        if bound >= self.cutoff {
            return Ok(Processed::Closed);
        }
        for rule in &shared.extensions.branching {
            if let Some(children) = rule.branch(&self.view(shared, &solution, bound, node.depth)) {
                let children = children
                    .into_iter()
                    .map(|decision| Child {
                        decision,
                        bound,
                        estimate: bound,
                        branched: None,
                    })
                    .collect();
                return Ok(Processed::Split(children));
            }
        }
        Ok(match self.choose(shared, &solution, &fractional, bound)? {
            crate::branching::reliability::Choice::Split(children) => Processed::Split(children),
            crate::branching::reliability::Choice::Infeasible => Processed::Closed,
            crate::branching::reliability::Choice::Tightened => Processed::Again(bound),
        })
    }

    /// Splits on any integer column that is not fixed; if all are, the leaf remains unresolved.
    fn split_blindly(&mut self, shared: &Shared, bound: f64, x: Option<&[f64]>) -> Processed {
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
            self.report.unresolved_bound = self.report.unresolved_bound.min(bound);
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
            let at = middle.clamp(l, u);
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
            let at = middle.clamp(l, u - 1.0);
            decisions.push(Decision::at_most(col, at));
            decisions.push(Decision::at_least(col, at + 1.0));
        }
        Processed::Split(
            decisions
                .into_iter()
                .map(|decision| Child {
                    decision,
                    bound,
                    estimate: bound,
                    branched: None,
                })
                .collect(),
        )
    }

    pub fn learn(&mut self, col: usize, up: bool, gain_per_unit: f64) {
        let o = Observation {
            col: col as u32,
            up,
            gain_per_unit,
        };
        self.pseudo.observe(o);
        self.report.observations.push(o);
    }

    /// Whether a point violates bounds of the domain of integer columns.
    fn outside(&self, shared: &Shared, x: &[f64]) -> bool {
        (0..x.len()).any(|j| {
            shared.problem.integer[j]
                && (x[j] < self.domain.lower[j] - 1e-6 || x[j] > self.domain.upper[j] + 1e-6)
        })
    }

    /// Moving a nonbasic column this far would cost more than is left (Dantzig, Fulkerson & Johnson 1954).
    fn fix_by_reduced_costs(&mut self, shared: &Shared, s: &Solution, bound: f64) -> bool {
        if !self.cutoff.is_finite() {
            return false;
        }
        let mark = self.domain.mark();
        reduced_cost_fixing(&mut self.domain, &shared.problem, s, bound, self.cutoff);
        self.domain.mark() > mark || self.domain.infeasible
    }

    /// Asks the separators; whether rows were added.
    fn separate(
        &mut self,
        shared: &Shared,
        s: &Solution,
        bound: f64,
        depth: u32,
        integral: bool,
    ) -> Result<bool, ModelError> {
        let mut sink = CutSink::default();
        for sep in &shared.extensions.separators {
            if !integral || sep.is_lazy() {
                sep.separate(&self.view(shared, s, bound, depth), &mut sink);
            }
        }
        self.take_rows(sink, &s.x)
    }

    /// Adds the violated rows of a sink to the relaxation and to the report.
    fn take_rows(&mut self, sink: CutSink, x: &[f64]) -> Result<bool, ModelError> {
        let mut rows = Vec::new();
        for r in sink.rows {
            if violation(&r, x) > 1e-6 {
                rows.push(Arc::new(ExtraRow {
                    tag: self.fresh_id(),
                    entries: r.entries.iter().map(|(j, v)| (j.0, *v)).collect(),
                    lower: r.bounds.lower,
                    upper: r.bounds.upper,
                }));
            }
        }
        self.relax.add_rows(&rows)?;
        let any = !rows.is_empty();
        self.report.rows.extend(rows);
        Ok(any)
    }

    /// Hands a point to the checks; whether it is feasible (it need not be better than what is known).
    pub fn offer(
        &mut self,
        shared: &Shared,
        x: &[f64],
        found_by: &'static str,
    ) -> Result<bool, ModelError> {
        self.offer_original(shared, x, shared.postsolve.restore(x), found_by)
    }

    /// The same for a point of both spaces.
    fn offer_original(
        &mut self,
        shared: &Shared,
        x: &[f64],
        original: Vec<f64>,
        found_by: &'static str,
    ) -> Result<bool, ModelError> {
        let checked = check_point(
            &shared.original,
            &original,
            shared.settings.feasibility_tolerance,
        );
        let Ok(objective) = checked else {
            self.report.refused += 1;
            return Ok(false);
        };
        for sep in shared.extensions.separators.iter().filter(|s| s.is_lazy()) {
            let mut sink = CutSink::default();
            let zero = vec![0.0; x.len()];
            sep.separate(
                &NodeView {
                    x,
                    reduced_costs: &zero,
                    lower: &self.domain.lower,
                    upper: &self.domain.upper,
                    integer: &shared.problem.integer,
                    bound: f64::NEG_INFINITY,
                    cutoff: self.cutoff,
                    depth: 0,
                    incumbent: None,
                },
                &mut sink,
            );
            if sink.rows.iter().any(|r| violation(r, x) > 1e-6) {
                return Ok(false);
            }
        }
        let objective = shared.original.sense().sign() * objective;
        let better = self.best.as_ref().is_none_or(|b| objective < b.objective);
        if better
            && objective
                < shared
                    .settings
                    .cutoff
                    .map_or(f64::INFINITY, |c| shared.original.sense().sign() * c)
        {
            let found = Incumbent {
                objective,
                x: x.to_vec(),
                original,
                found_by,
            };
            self.cutoff = self.cutoff.min(shared.cutoff_for(objective));
            self.best = Some(found.clone());
            self.report.solutions.push(found);
        }
        Ok(true)
    }

    /// Solves the model given over its continuous columns, with the integer ones of a point and a small tolerance: presolve
    /// and scaling may have blown up what the reduced relaxation takes for a rounding error.
    fn polish(
        &mut self,
        shared: &Shared,
        rounded: &[f64],
        found_by: &'static str,
    ) -> Result<bool, ModelError> {
        let model = &shared.original;
        let point = shared.postsolve.restore(rounded);
        let mut lp = remat_lp::Solver::new(
            model.clone(),
            remat_lp::Settings {
                primal_tolerance: 1e-9,
                ..Default::default()
            },
        );
        for j in 0..model.num_cols() {
            let col = ColId(j as u32);
            if model.is_integer(col) {
                let b = model.col_bounds(col);
                let v = point[j].round();
                if v < b.lower || v > b.upper {
                    return Ok(false);
                }
                lp.set_col_bounds(col, v)?;
            }
        }
        lp.set_limits(remat_lp::Limits {
            iterations: Some(50_000),
            interrupt: Some(shared.stop.clone()),
            ..Default::default()
        });
        let outcome = lp.solve();
        self.domain.ticks += lp.stats().ticks;
        let Some(s) = outcome.optimal() else {
            return Ok(false);
        };
        let mut x = s.x.clone();
        for (j, v) in x.iter_mut().enumerate() {
            let col = ColId(j as u32);
            let b = model.col_bounds(col);
            *v = if model.is_integer(col) {
                v.round()
            } else {
                v.clamp(b.lower, b.upper)
            };
        }
        self.offer_original(shared, &shared.postsolve.project(&x), x, found_by)
    }

    /// Tries a point of the model given that the user brought.
    pub fn start(&mut self, shared: &Shared, x: &[f64]) -> Result<bool, ModelError> {
        let model = &shared.original;
        let near = |j: usize, v: f64| {
            if model.is_integer(ColId(j as u32)) && (v - v.round()).abs() <= 1e-6 {
                v.round()
            } else {
                v
            }
        };
        let x: Vec<f64> = x.iter().enumerate().map(|(j, &v)| near(j, v)).collect();
        let reduced = shared.postsolve.project(&x);
        // As it is first: presolve may have excluded it for another that is as good.
        if self.offer_original(shared, &reduced, x, "start")? {
            return Ok(true);
        }
        self.try_integral(shared, &reduced, "start")
    }

    /// Rounds the integer columns of a point that is integral within tolerances and hands it in; with continuous columns
    /// and a refusal, the linear program over these is solved for the integer values.
    pub fn try_integral(
        &mut self,
        shared: &Shared,
        x: &[f64],
        found_by: &'static str,
    ) -> Result<bool, ModelError> {
        let p = shared.problem.clone();
        let mut rounded = x.to_vec();
        for j in 0..x.len() {
            if p.integer[j] {
                rounded[j] = x[j]
                    .round()
                    .clamp(self.domain.lower[j], self.domain.upper[j]);
            } else {
                rounded[j] = x[j].clamp(p.lower[j], p.upper[j]);
            }
        }
        let moved = (0..x.len()).any(|j| p.integer[j] && (rounded[j] - x[j]).abs() > 1e-9);
        if self.offer(shared, &rounded, found_by)? && !moved {
            return Ok(true);
        }
        if p.integer.iter().all(|&i| i) {
            return Ok(false);
        }
        let snapshot = self.relax.snapshot();
        let mark = self.domain.mark();
        for j in 0..x.len() {
            if p.integer[j] && !self.domain.infeasible {
                self.domain.fix(&p, j, rounded[j]);
            }
        }
        let mut accepted = false;
        if !self.domain.infeasible && self.domain.propagate(&p) {
            self.sync_bounds(shared)?;
            if let Relaxed::Solved(s, _) = self.relax.probe(f64::INFINITY, 20_000, &self.domain) {
                let mut y = s.x;
                for j in 0..y.len() {
                    if p.integer[j] {
                        y[j] = rounded[j];
                    } else {
                        y[j] = y[j].clamp(p.lower[j], p.upper[j]);
                    }
                }
                accepted = self.offer(shared, &y, found_by)?;
            }
        }
        if !accepted && self.polished < 20 + self.processed / 20 {
            self.polished += 1;
            accepted = self.polish(shared, &rounded, found_by)?;
        }
        self.domain.undo(mark);
        self.sync_bounds(shared)?;
        self.relax.restore(&snapshot)?;
        Ok(accepted)
    }

    fn heuristics(
        &mut self,
        shared: &Shared,
        s: &Solution,
        bound: f64,
        depth: u32,
    ) -> Result<(), ModelError> {
        for h in &shared.extensions.heuristics {
            let mut sink = SolutionSink::default();
            let ticks = h.run(
                &self.view(shared, s, bound, depth),
                10 * (self.ticks() / 100 + 10_000),
                &mut sink,
            );
            self.domain.ticks += ticks;
            for x in sink.points {
                if x.len() == shared.problem.num_cols() {
                    self.offer(shared, &x, h.name())?;
                }
            }
        }
        if shared.settings.heuristics {
            self.simple_rounding(shared, &s.x)?;
            if depth == 0 && self.best.is_none() {
                self.start_heuristics(shared, s)?;
            }
            self.dives(shared, s, depth)?;
            if depth == 0 && self.best.is_none() {
                self.pump(shared, s, 60)?;
            }
        }
        Ok(())
    }
}

impl Worker {
    /// Walks from the relaxation's point and from the bound where the objective is best.
    fn start_heuristics(&mut self, shared: &Shared, s: &Solution) -> Result<(), ModelError> {
        let p = shared.problem.clone();
        let size = p.rows.index.len() as u64;
        let budget = (20_000 + 500 * size).min(5_000_000 + 50 * size);
        if self.jump(shared, &s.x, budget, shared.settings.seed)? {
            return Ok(());
        }
        let cheap: Vec<f64> = (0..p.num_cols())
            .map(|j| {
                let (l, u) = (shared.lower[j], shared.upper[j]);
                match p.cost[j] {
                    c if c < 0.0 && u.is_finite() => u,
                    _ if l.is_finite() => l,
                    _ if u.is_finite() => u,
                    _ => 0.0,
                }
            })
            .collect();
        self.jump(shared, &cheap, budget, shared.settings.seed + 1)?;
        Ok(())
    }
}

/// How far a point is outside a row, over the norm of the row.
fn violation(r: &crate::extend::CutRow, x: &[f64]) -> f64 {
    let (mut a, mut norm) = (0.0, 0.0);
    for (j, v) in &r.entries {
        a += v * x[j.index()];
        norm += v * v;
    }
    (r.bounds.lower - a).max(a - r.bounds.upper) / f64::sqrt(norm).max(1e-9)
}

/// Tightens integer columns that sit at a bound and are too dear to move.
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
