//! The loop of a node: rows and columns come in until nothing is violated and nothing pays, or the bound closes it.

use super::domain::{Domain, Phase, Point};
use super::master::{Kind, MasterEnd};
use super::settings::PriceError;
use super::tree::NodeOf;
use super::worker::{Shared, Worker};
use remat_lp::{ModelError, Solution};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How a node's loop ended. Its proven bound is in the node.
pub(crate) enum Converged {
    /// To be split: the last solution of the restricted master.
    Open(Solution),
    /// The bound reached the cutoff.
    Pruned,
    /// No solution at all, proven.
    Infeasible,
    Stopped,
    /// No answer that can be trusted.
    Unresolved,
}

/// What came of an infeasible master.
enum Repair {
    /// Columns came that break the proof.
    Repaired,
    /// The proof holds for all columns.
    Proven,
    /// Neither.
    Stuck,
}

/// Relative violation from which on a row counts as violated.
const VIOLATED: f64 = 1e-6;
/// Rows from the pool that come back at most after one solve.
const ROWS_PER_ROUND: usize = 200;

impl<'a, D: Domain> Worker<'a, D> {
    /// The ladder of a node.
    pub fn converge(
        &mut self,
        shared: &Shared<'a, D>,
        node: &mut NodeOf<D>,
    ) -> Result<Converged, PriceError> {
        let mut cut_rounds = match node.depth {
            0 => shared.settings.root_cut_rounds,
            _ => shared.settings.node_cut_rounds,
        };
        let mut age = shared.settings.purge_age;
        let mut gone: BTreeSet<Arc<D::Column>> = BTreeSet::new();
        let mut second_try = false;
        self.smoothing.reset();
        loop {
            if shared.stopped() {
                return Ok(Converged::Stopped);
            }
            self.info.lp_solves += 1;
            let solution = match self.master.solve()? {
                MasterEnd::Solved(s) => s,
                MasterEnd::Infeasible(proof) => match self.repair(shared, node, &proof)? {
                    Repair::Repaired => continue,
                    Repair::Proven => return Ok(Converged::Infeasible),
                    Repair::Stuck if !second_try => {
                        second_try = true;
                        self.master.start_afresh();
                        continue;
                    }
                    Repair::Stuck => return Ok(Converged::Unresolved),
                },
                MasterEnd::Interrupted => return Ok(Converged::Stopped),
                MasterEnd::Unbounded | MasterEnd::Failed => return Ok(Converged::Unresolved),
            };
            let point = self.master.point(&solution);
            if self.bring_rows_back(shared, &point)? {
                // The same for rows.
                age = age.saturating_mul(2);
                continue;
            }
            if self.add_required_rows(shared, node, &solution, &point)? {
                continue;
            }
            let columns = self.price(shared, node, &solution)?;
            if node.bound >= self.cutoff {
                self.info.early_prunes += u64::from(!columns.is_empty());
                return Ok(Converged::Pruned);
            }
            if !columns.is_empty() && !self.cannot_rise(shared, node, &solution) {
                if columns.iter().any(|c| gone.contains(c)) {
                    // Where columns go and come, they go later: or this need not end.
                    age = age.saturating_mul(2);
                }
                if age > 0 {
                    gone.extend(self.purge(&solution, age)?);
                }
                self.master.add_columns(columns)?;
                continue;
            }
            if cut_rounds > 0 && self.add_cuts(shared, node, &solution, &point)? {
                cut_rounds -= 1;
                continue;
            }
            return Ok(Converged::Open(solution));
        }
    }

    /// Whether the proven bound is already all that the relaxation will give: its value only falls while columns come.
    fn cannot_rise(&self, shared: &Shared<'a, D>, node: &NodeOf<D>, solution: &Solution) -> bool {
        node.bound >= shared.steps.round_up_loosely(solution.objective)
    }

    fn purge(&mut self, solution: &Solution, age: u32) -> Result<Vec<Arc<D::Column>>, ModelError> {
        let dear = 1e-3 * solution.objective.abs().max(1e-3);
        let (rows, columns) = self.master.purge(solution, age, dear)?;
        self.info.purged_rows += rows as u64;
        self.info.purged_columns += columns.len() as u64;
        Ok(columns)
    }

    /// Adds violated rows that were separated before; whether there were any.
    pub fn bring_rows_back(
        &mut self,
        shared: &Shared<'a, D>,
        point: &[(Arc<D::Column>, f64)],
    ) -> Result<bool, ModelError> {
        let known = shared.rows.items().iter().chain(self.rows.items());
        let classes = self.master.by_class(point);
        let mut found: Vec<(f64, Arc<D::Row>)> = known
            .filter(|row| !self.master.has_row(row))
            .map(|row| (self.violation(shared, row, point, &classes), row.clone()))
            .filter(|(v, _)| *v > VIOLATED)
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        found.truncate(ROWS_PER_ROUND);
        self.info.pool_rows += found.len() as u64;
        let rows = found.into_iter().map(|f| f.1);
        Ok(self.master.add_rows(rows, Kind::Separated)? > 0)
    }

    fn add_required_rows(
        &mut self,
        shared: &Shared<'a, D>,
        node: &NodeOf<D>,
        solution: &Solution,
        point: &[(Arc<D::Column>, f64)],
    ) -> Result<bool, PriceError> {
        let rows = shared
            .domain
            .separate_required(&self.view(node, solution, point));
        self.add_separated(shared, rows)
    }

    fn add_cuts(
        &mut self,
        shared: &Shared<'a, D>,
        node: &NodeOf<D>,
        solution: &Solution,
        point: &[(Arc<D::Column>, f64)],
    ) -> Result<bool, PriceError> {
        let rows = shared.domain.separate(&self.view(node, solution, point));
        self.add_separated(shared, rows)
    }

    pub fn add_separated(
        &mut self,
        shared: &Shared<'a, D>,
        rows: Vec<D::Row>,
    ) -> Result<bool, PriceError> {
        let new: Vec<Arc<D::Row>> = rows
            .into_iter()
            .filter(|r| !self.master.has_row(r))
            .map(Arc::new)
            .collect();
        for row in &new {
            self.debug_row(shared, row)?;
            self.note_row(shared, row);
        }
        let added = self.master.add_rows(new, Kind::Separated)?;
        self.info.separated_rows += added as u64;
        Ok(added > 0)
    }

    pub fn view<'b>(
        &self,
        node: &'b NodeOf<D>,
        solution: &Solution,
        columns: &'b [(Arc<D::Column>, f64)],
    ) -> Point<'b, D> {
        Point {
            columns,
            branchings: &node.branchings,
            objective: solution.objective,
            bound: node.bound,
            incumbent: self.best,
            depth: node.depth,
        }
    }

    /// Columns that pay at the solution's duals, from the pool or priced at smoothed duals; none if there are none. Lifts
    /// the node's bound where that can be of use.
    fn price(
        &mut self,
        shared: &Shared<'a, D>,
        node: &mut NodeOf<D>,
        solution: &Solution,
    ) -> Result<Vec<Arc<D::Column>>, PriceError> {
        let own = self.master.clean(&solution.y);
        let pooled = self.pooled(shared, &own, Phase::Cost);
        if !pooled.is_empty() {
            return Ok(pooled);
        }
        let mut failures = 0;
        loop {
            let smoothed = self.smoothing.point(self.master.rows(), &own, failures);
            let exact = smoothed.is_none();
            let duals = smoothed.as_deref().unwrap_or(&own);
            let prices = self.master.prices(duals, Phase::Cost);
            self.info.pricings += 1;
            let priced = shared.domain.price(&prices);
            let columns = self.paying(shared, priced.columns, &own, Phase::Cost);
            let nothing = exact && columns.is_empty();
            if nothing || self.promises(shared, node, priced.estimate, solution.objective) {
                self.info.bounds += 1;
                let bound = shared.steps.round_up(shared.domain.bound(&prices));
                self.debug_bound(shared, node, bound)?;
                // NaN is no bound.
                node.bound = node.bound.max(bound);
            }
            let rows = self.master.rows();
            self.smoothing.observe(rows, duals, priced.estimate);
            if exact || !columns.is_empty() || node.bound >= self.cutoff {
                self.smoothing.adapt(failures);
                self.note_priced(shared, &columns);
                return Ok(columns);
            }
            failures += 1;
            self.info.mispricings += 1;
        }
    }

    /// Whether a proof may close the node or end its loop.
    fn promises(
        &self,
        shared: &Shared<'a, D>,
        node: &NodeOf<D>,
        estimate: f64,
        value: f64,
    ) -> bool {
        let up = shared.steps.round_up(estimate);
        let goal = self.cutoff.min(shared.steps.round_up_loosely(value));
        up > node.bound && up >= goal
    }

    /// The best of the columns that pay and are not in the master, each once.
    pub fn paying(
        &self,
        shared: &Shared<'a, D>,
        columns: impl IntoIterator<Item = D::Column>,
        duals: &[f64],
        phase: Phase,
    ) -> Vec<Arc<D::Column>> {
        let arcs = columns.into_iter().map(Arc::new);
        self.best_of(shared, arcs, duals, phase)
    }

    fn best_of(
        &self,
        shared: &Shared<'a, D>,
        columns: impl IntoIterator<Item = Arc<D::Column>>,
        duals: &[f64],
        phase: Phase,
    ) -> Vec<Arc<D::Column>> {
        let tolerance = shared.settings.reduced_cost_tolerance;
        let mut found: Vec<(f64, Arc<D::Column>)> = columns
            .into_iter()
            .filter(|c| !self.master.has_column(c))
            .map(|c| (self.master.reduced_cost(&c, duals, phase), c))
            .filter(|(d, c)| {
                let size = match phase {
                    Phase::Cost => 1.0 + shared.domain.cost(c).abs(),
                    Phase::Farkas => 1.0,
                };
                *d < -tolerance * size
            })
            .collect();
        found.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        found.dedup_by(|a, b| a.1 == b.1);
        found.truncate(shared.settings.columns_per_round);
        found.into_iter().map(|f| f.1).collect()
    }

    fn pooled(
        &mut self,
        shared: &Shared<'a, D>,
        duals: &[f64],
        phase: Phase,
    ) -> Vec<Arc<D::Column>> {
        if !shared.settings.pool_pricing {
            return Vec::new();
        }
        let known = shared.columns.items().iter().chain(self.columns.items());
        let found = self.best_of(shared, known.cloned(), duals, phase);
        self.info.pool_columns += found.len() as u64;
        found
    }

    /// Farkas pricing: columns that break the proof of infeasibility, or the proof that there are none.
    fn repair(
        &mut self,
        shared: &Shared<'a, D>,
        node: &NodeOf<D>,
        proof: &[f64],
    ) -> Result<Repair, PriceError> {
        if self.break_proof(shared, proof)? {
            return Ok(Repair::Repaired);
        }
        self.info.bounds += 1;
        let prices = self.master.prices(proof, Phase::Farkas);
        if shared.domain.bound(&prices) > 0.0 {
            self.debug_bound(shared, node, f64::INFINITY)?;
            self.info.infeasible_nodes += 1;
            return Ok(Repair::Proven);
        }
        Ok(Repair::Stuck)
    }

    /// Adds columns that break a proof of infeasibility; whether there were any.
    pub fn break_proof(
        &mut self,
        shared: &Shared<'a, D>,
        proof: &[f64],
    ) -> Result<bool, ModelError> {
        let mut columns = self.pooled(shared, proof, Phase::Farkas);
        if columns.is_empty() {
            let prices = self.master.prices(proof, Phase::Farkas);
            self.info.farkas_pricings += 1;
            let priced = shared.domain.price(&prices);
            columns = self.paying(shared, priced.columns, proof, Phase::Farkas);
            self.note_priced(shared, &columns);
        }
        Ok(self.master.add_columns(columns)? > 0)
    }

    pub fn note_priced(&mut self, shared: &Shared<'a, D>, columns: &[Arc<D::Column>]) {
        self.info.priced_columns += columns.len() as u64;
        for c in columns {
            self.note_column(shared, c);
        }
    }
}
