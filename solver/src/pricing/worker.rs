//! A worker: one restricted master, taken from node to node.

use super::bound::Steps;
use super::domain::{Branching, Domain, Point};
use super::master::{Kind, Master, MasterEnd};
use super::node::Converged;
use super::pool::Pool;
use super::settings::{Incumbent, PriceError, PriceInfo, PriceSettings};
use super::smoothing::Smoothing;
use super::tree::{Node, NodeOf};
use remat_lp::{ModelError, Solution};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What all workers of a round see and none changes.
pub(crate) struct Shared<'a, D: Domain> {
    pub domain: &'a D,
    pub settings: PriceSettings,
    pub steps: Steps,
    pub columns: Pool<D::Column>,
    pub rows: Pool<D::Row>,
    pub incumbent: Option<Incumbent<D::Column>>,
    pub stop: Arc<AtomicBool>,
    pub debug: Option<DebugSolution<D::Column>>,
}

impl<D: Domain> Shared<'_, D> {
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Objective that a new incumbent has to be below.
    pub fn best(&self) -> f64 {
        let wanted = self.settings.cutoff.unwrap_or(f64::INFINITY);
        let found = self.incumbent.as_ref();
        found.map_or(wanted, |i| i.objective.min(wanted))
    }
}

/// A known solution that no bound, row or branching may lose.
pub(crate) struct DebugSolution<C> {
    pub columns: Vec<(Arc<C>, f64)>,
    pub objective: f64,
}

/// What a worker brings back from a round.
pub(crate) struct Report<D: Domain> {
    pub info: PriceInfo,
    pub solutions: Vec<Incumbent<D::Column>>,
    pub open: Vec<NodeOf<D>>,
    /// Smallest bound of a leaf that was given up unresolved.
    pub leaf_bound: f64,
    pub columns: Vec<Arc<D::Column>>,
    pub rows: Vec<Arc<D::Row>>,
    /// Bound of the root, if it was done.
    pub root_bound: Option<f64>,
}

pub(crate) struct Worker<'a, D: Domain> {
    pub master: Master<'a, D>,
    pub smoothing: Smoothing<D::Row>,
    /// Columns and rows found in this round, which the shared pools do not have.
    pub columns: Pool<D::Column>,
    pub rows: Pool<D::Row>,
    pub info: PriceInfo,
    pub solutions: Vec<Incumbent<D::Column>>,
    /// Objective that a new incumbent has to be below.
    pub best: f64,
    /// Bounds from here on close a node.
    pub cutoff: f64,
    pub leaf_bound: f64,
    pub next_dive: u64,
    done: u64,
}

impl<'a, D: Domain> Worker<'a, D> {
    /// A worker whose master has the rows and columns every master starts with.
    pub fn new(shared: &Shared<'a, D>) -> Result<Self, ModelError> {
        let domain = shared.domain;
        let mut master = Master::new(domain, shared.settings.lp.clone(), shared.stop.clone())?;
        master.add_rows(domain.rows().into_iter().map(Arc::new), Kind::Base)?;
        master.add_columns(domain.columns().into_iter().map(Arc::new))?;
        Ok(Worker {
            master,
            smoothing: Smoothing::new(shared.settings.smoothing),
            columns: Pool::new(usize::MAX),
            rows: Pool::new(usize::MAX),
            info: PriceInfo::default(),
            solutions: Vec::new(),
            best: f64::INFINITY,
            cutoff: f64::INFINITY,
            leaf_bound: f64::INFINITY,
            next_dive: 0,
            done: 0,
        })
    }

    /// Another worker, with a copy of the master. It counts from zero.
    pub fn another(&self, shared: &Shared<'a, D>) -> Self {
        Worker {
            master: self.master.copy(),
            smoothing: Smoothing::new(shared.settings.smoothing),
            columns: Pool::new(usize::MAX),
            rows: Pool::new(usize::MAX),
            info: PriceInfo::default(),
            solutions: Vec::new(),
            best: f64::INFINITY,
            cutoff: f64::INFINITY,
            leaf_bound: f64::INFINITY,
            next_dive: shared.settings.dive_every,
            done: 0,
        }
    }

    pub fn begin(&mut self, shared: &Shared<'a, D>) {
        self.best = shared.best();
        self.cutoff = shared.steps.cutoff(self.best);
    }

    pub fn report(&mut self) -> Report<D> {
        let columns = self.columns.items().to_vec();
        let rows = self.rows.items().to_vec();
        self.columns.clear();
        self.rows.clear();
        Report {
            info: std::mem::take(&mut self.info),
            solutions: std::mem::take(&mut self.solutions),
            open: Vec::new(),
            leaf_bound: std::mem::replace(&mut self.leaf_bound, f64::INFINITY),
            columns,
            rows,
            root_bound: None,
        }
    }

    /// Does a node and then one of its children, and so on, at most `limit` nodes.
    pub fn plunge(
        &mut self,
        shared: &Shared<'a, D>,
        node: NodeOf<D>,
        limit: u64,
    ) -> Result<Report<D>, PriceError> {
        self.begin(shared);
        let mut open = Vec::new();
        let mut root_bound = None;
        let mut next = Some(node);
        let mut count = 0;
        while let Some(mut node) = next.take() {
            if node.bound >= self.cutoff {
                break;
            }
            if count >= limit || shared.stopped() {
                open.push(node);
                break;
            }
            self.load(&node)?;
            let end = self.converge(shared, &mut node)?;
            if matches!(end, Converged::Stopped) {
                open.push(node);
                break;
            }
            count += 1;
            self.done += 1;
            self.info.nodes += 1;
            if node.depth == 0 {
                root_bound = Some(node.bound);
            }
            match end {
                Converged::Open(solution) => {
                    next = self.expand(shared, node, &solution, &mut open)?;
                }
                Converged::Unresolved => self.leaf_bound = self.leaf_bound.min(node.bound),
                Converged::Pruned | Converged::Infeasible | Converged::Stopped => {}
            }
        }
        // The best solution may have closed some.
        open.retain(|n| n.bound < self.cutoff);
        Ok(Report {
            open,
            root_bound,
            ..self.report()
        })
    }

    /// Brings the master to a node.
    fn load(&mut self, node: &NodeOf<D>) -> Result<(), ModelError> {
        self.master.set_branchings(&node.branchings)?;
        match &node.basis {
            Some(basis) => self.master.restore(basis),
            None => Ok(()),
        }
    }

    /// Looks for solutions at a node whose relaxation is solved, then splits it. Returns the child to go on with.
    fn expand(
        &mut self,
        shared: &Shared<'a, D>,
        node: NodeOf<D>,
        solution: &Solution,
        open: &mut Vec<NodeOf<D>>,
    ) -> Result<Option<NodeOf<D>>, PriceError> {
        let columns = self.master.point(solution);
        if let Some(integral) = self.integral(shared, &columns) {
            self.offer(shared, integral, "relaxation");
        }
        let point = Point {
            columns: &columns,
            branchings: &node.branchings,
            objective: solution.objective,
            bound: node.bound,
            incumbent: self.best,
            depth: node.depth,
        };
        for rounded in shared.domain.round(&point) {
            self.offer(shared, rounded, "rounding");
        }
        if node.bound >= self.cutoff {
            return Ok(None);
        }
        let basis = Arc::new(self.master.snapshot());
        if shared.settings.heuristics && self.done > self.next_dive {
            self.next_dive = self.done + shared.settings.dive_every;
            self.dive(shared, &node, solution)?;
            if node.bound >= self.cutoff {
                return Ok(None);
            }
            self.master.restore(&basis)?;
        }
        let candidates = shared.domain.branch(&point);
        let Some(chosen) = self.choose(shared, candidates, solution, &basis)? else {
            self.leaf_bound = self.leaf_bound.min(node.bound);
            return Ok(None);
        };
        let mut children: Vec<_> = chosen
            .children
            .into_iter()
            .map(|rows| {
                let mut branchings = node.branchings.clone();
                branchings.extend(rows.into_iter().map(Arc::new));
                Node {
                    id: 0,
                    depth: node.depth + 1,
                    bound: node.bound,
                    branchings,
                    basis: Some(basis.clone()),
                }
            })
            .collect();
        self.debug_children(shared, &node, &children)?;
        children.reverse();
        let first = children.pop();
        open.extend(children);
        Ok(first)
    }

    /// The columns with their values rounded, if all of them are integral.
    pub fn integral(
        &self,
        shared: &Shared<'a, D>,
        columns: &[(Arc<D::Column>, f64)],
    ) -> Option<Vec<(D::Column, f64)>> {
        let tolerance = shared.settings.integrality_tolerance;
        let whole = columns
            .iter()
            .all(|(_, v)| (v - v.round()).abs() <= tolerance);
        whole.then(|| {
            let kept = columns.iter().filter(|(_, v)| v.round() > 0.0);
            kept.map(|(c, v)| ((**c).clone(), v.round())).collect()
        })
    }

    /// Takes a candidate if the domain accepts it and it is the best so far.
    pub fn offer(
        &mut self,
        shared: &Shared<'a, D>,
        columns: Vec<(D::Column, f64)>,
        found_by: &'static str,
    ) -> bool {
        let Some(objective) = shared.domain.check(&columns) else {
            self.info.refused += 1;
            return false;
        };
        // NaN is not below anything.
        let better = objective < self.best;
        if better {
            self.best = objective;
            self.cutoff = shared.steps.cutoff(objective);
            for (c, _) in &columns {
                self.note_column(shared, &Arc::new(c.clone()));
            }
            self.solutions.push(Incumbent {
                objective,
                columns,
                found_by,
            });
        }
        better
    }

    pub fn note_column(&mut self, shared: &Shared<'a, D>, column: &Arc<D::Column>) {
        if !shared.columns.contains(column) {
            self.columns.add(column.clone());
        }
    }

    pub fn note_row(&mut self, shared: &Shared<'a, D>, row: &Arc<D::Row>) {
        if !shared.rows.contains(row) {
            self.rows.add(row.clone());
        }
    }

    /// Strong branching in the restricted master: the candidate whose children rise most (product rule, Achterberg 2007,
    /// section 5.3). Without pricing the children's values are too large, but what is compared is the same for all.
    fn choose(
        &mut self,
        shared: &Shared<'a, D>,
        mut candidates: Vec<Branching<D::Row>>,
        solution: &Solution,
        basis: &super::master::Snapshot<D::Column, D::Row>,
    ) -> Result<Option<Branching<D::Row>>, ModelError> {
        candidates.retain(|c| !c.children.is_empty());
        let tried = shared.settings.strong_branching.min(candidates.len());
        if tried <= 1 {
            return Ok((!candidates.is_empty()).then(|| candidates.swap_remove(0)));
        }
        // No rise counts for more than what closes the node.
        let most = if self.best.is_finite() {
            (self.best - solution.objective).max(1e-6)
        } else {
            1.0 + 0.05 * solution.objective.abs()
        };
        let mut chosen = (0, f64::NEG_INFINITY);
        for (k, candidate) in candidates.iter().take(tried).enumerate() {
            let mut score = 1.0;
            for child in &candidate.children {
                let before = self.master.rows().len() as u32;
                let rows = child.iter().cloned().map(Arc::new);
                self.master.add_rows(rows, Kind::Branching)?;
                let rise = match self.master.solve_within(Some(100)) {
                    MasterEnd::Solved(s) => s.objective - solution.objective,
                    MasterEnd::Infeasible(_) => most,
                    _ => 0.0,
                };
                score *= rise.clamp(1e-6, most);
                let added: Vec<u32> = (before..self.master.rows().len() as u32).collect();
                self.master.delete(&added, &[])?;
                self.master.restore(basis)?;
            }
            // More children, smaller exponent: comparable across branchings.
            let score = score.powf(1.0 / candidate.children.len() as f64);
            if score > chosen.1 * (1.0 + 1e-9) || chosen.1 == f64::NEG_INFINITY {
                chosen = (k, score);
            }
        }
        Ok(Some(candidates.swap_remove(chosen.0)))
    }

    /// Whether the debug solution is below the node.
    pub fn debug_is_below(&self, shared: &Shared<'a, D>, branchings: &[Arc<D::Row>]) -> bool {
        shared.debug.as_ref().is_some_and(|d| {
            let classes = self.master.by_class(&d.columns);
            branchings
                .iter()
                .all(|row| self.violation(shared, row, &d.columns, &classes) <= 1e-6)
        })
    }

    /// How far a point is outside a row, relative to the size of the side.
    pub fn violation(
        &self,
        shared: &Shared<'a, D>,
        row: &D::Row,
        point: &[(Arc<D::Column>, f64)],
        by_class: &[Vec<u32>],
    ) -> f64 {
        let activity = self.master.activity(row, point, by_class);
        let b = shared.domain.row_bounds(row);
        let beyond = |distance: f64, side: f64| {
            if side.is_finite() {
                distance / side.abs().max(1.0)
            } else {
                0.0
            }
        };
        beyond(b.lower - activity, b.lower).max(beyond(activity - b.upper, b.upper))
    }

    /// No bound of a node above the debug solution may exceed its objective.
    pub fn debug_bound(
        &self,
        shared: &Shared<'a, D>,
        node: &NodeOf<D>,
        bound: f64,
    ) -> Result<(), PriceError> {
        let Some(d) = &shared.debug else {
            return Ok(());
        };
        let wrong = bound > d.objective + 1e-9 * d.objective.abs();
        if wrong && self.debug_is_below(shared, &node.branchings) {
            return Err(PriceError::DebugSolution {
                objective: d.objective,
                what: format!("bound {bound} at depth {}", node.depth),
            });
        }
        Ok(())
    }

    /// No separated row may be violated by the debug solution.
    pub fn debug_row(&self, shared: &Shared<'a, D>, row: &D::Row) -> Result<(), PriceError> {
        let Some(d) = &shared.debug else {
            return Ok(());
        };
        let classes = self.master.by_class(&d.columns);
        if self.violation(shared, row, &d.columns, &classes) > 1e-6 {
            return Err(PriceError::DebugSolution {
                objective: d.objective,
                what: format!("row {row:?}"),
            });
        }
        Ok(())
    }

    fn debug_children(
        &self,
        shared: &Shared<'a, D>,
        node: &NodeOf<D>,
        children: &[NodeOf<D>],
    ) -> Result<(), PriceError> {
        let Some(d) = &shared.debug else {
            return Ok(());
        };
        let below = |n: &NodeOf<D>| self.debug_is_below(shared, &n.branchings);
        if below(node) && !children.iter().any(below) {
            return Err(PriceError::DebugSolution {
                objective: d.objective,
                what: format!("the branching at depth {}", node.depth),
            });
        }
        Ok(())
    }
}
