//! Solutions from the restricted master: diving with pricing, and the restricted master as an integer program (Sadykov,
//! Vanderbeck, Pessoa, Tahiri & Uchoa 2019).

use super::domain::{Domain, Phase, Point};
use super::master::MasterEnd;
use super::settings::PriceError;
use super::tree::NodeOf;
use super::worker::{Shared, Worker};
use remat_lp::Solution;
use std::sync::Arc;

/// Rounds of pricing after each fixing of a dive; each round of repair counts too.
const DIVE_ROUNDS: u32 = 12;
/// How often the restricted master is solved again because a required row was missing.
const RESTRICTED_ROUNDS: usize = 8;

impl<'a, D: Domain> Worker<'a, D> {
    /// Rounds up one column after the other, the one nearest to its next integer first, and prices between, so that what
    /// is missing to complete the columns chosen is found. Leaves the master with another basis.
    pub fn dive(
        &mut self,
        shared: &Shared<'a, D>,
        node: &NodeOf<D>,
        solution: &Solution,
    ) -> Result<(), PriceError> {
        self.info.dives += 1;
        let before = self.master.columns().len() as u32;
        let mut fixed: Vec<Arc<D::Column>> = Vec::new();
        let mut point = self.master.point(solution);
        let mut steps_left = 10 * self.master.rows().len() + 100;
        while !shared.stopped() && steps_left > 0 {
            steps_left -= 1;
            if let Some(columns) = self.integral(shared, &point) {
                self.offer(shared, columns, "dive");
                break;
            }
            let Some((column, value)) = nearest_up(&point, shared.settings.integrality_tolerance)
            else {
                break;
            };
            self.master.set_lower(&column, value.ceil())?;
            fixed.push(column);
            match self.resolve(shared, node)? {
                Some(s) if shared.steps.round_up_loosely(s.objective) < self.cutoff => {
                    point = self.master.point(&s);
                }
                _ => break,
            }
        }
        for column in fixed {
            self.master.set_lower(&column, 0.0)?;
        }
        // The pool has what was priced on the way; the node's master is better off without it.
        let priced: Vec<u32> = (before..self.master.columns().len() as u32).collect();
        self.master.delete(&[], &priced)?;
        Ok(())
    }

    /// Solves the master of a dive, with a few rounds of pricing.
    fn resolve(
        &mut self,
        shared: &Shared<'a, D>,
        node: &NodeOf<D>,
    ) -> Result<Option<Solution>, PriceError> {
        let mut last = None;
        for _ in 0..DIVE_ROUNDS {
            let size = (self.master.rows().len() + self.master.columns().len()) as u64;
            let s = match self.master.solve_within(Some(500 + 2 * size)) {
                MasterEnd::Solved(s) => s,
                MasterEnd::Infeasible(proof) => {
                    // What is proven of a dive is not proven of the node.
                    last = None;
                    if self.break_proof(shared, &proof)? {
                        continue;
                    }
                    return Ok(None);
                }
                _ => return Ok(None),
            };
            let point = self.master.point(&s);
            let required = shared
                .domain
                .separate_required(&self.view(node, &s, &point));
            if self.bring_rows_back(shared, &point)? || self.add_separated(shared, required)? {
                last = None;
                continue;
            }
            let duals = self.master.clean(&s.y);
            let prices = self.master.prices(&duals, Phase::Cost);
            self.info.pricings += 1;
            let priced = shared.domain.price(&prices);
            let columns = self.paying(shared, priced.columns, &duals, Phase::Cost);
            if columns.is_empty() {
                return Ok(Some(s));
            }
            last = Some(s);
            self.note_priced(shared, &columns);
            self.master.add_columns(columns)?;
        }
        Ok(last)
    }

    /// The restricted master without branching rows as an integer program, within so many ticks for each solve.
    pub fn restricted_master(
        &mut self,
        shared: &Shared<'a, D>,
        ticks: u64,
    ) -> Result<(), PriceError> {
        self.begin(shared);
        self.info.restricted_masters += 1;
        self.master.set_branchings(&[])?;
        for _ in 0..RESTRICTED_ROUNDS {
            let model = self.master.integer_model()?;
            let settings = crate::mip::Settings {
                limits: crate::mip::Limits {
                    nodes: Some(500),
                    ticks: Some(ticks),
                    interrupt: Some(shared.stop.clone()),
                    ..crate::mip::Limits::default()
                },
                cutoff: self.best.is_finite().then_some(self.best),
                // Separation was a third of all time on small assignments (3.0 s against 1.9 s), for rows that give little.
                cuts: false,
                ..crate::mip::Settings::default()
            };
            let Ok(result) = crate::mip::Solver::new(model, settings).run() else {
                // A heuristic that fails finds nothing.
                return Ok(());
            };
            let Some(found) = result.solution else {
                return Ok(());
            };
            let all = self.master.columns().iter().zip(&found.x);
            let point: Vec<(Arc<D::Column>, f64)> = all
                .filter(|(_, v)| v.round() > 0.0)
                .map(|(c, v)| (c.clone(), v.round()))
                .collect();
            let columns = point.iter().map(|(c, v)| ((**c).clone(), *v)).collect();
            if self.offer(shared, columns, "restricted master") {
                return Ok(());
            }
            // Refused: rows that are separated only when violated may be missing.
            let view = Point {
                columns: &point,
                branchings: &[],
                objective: found.objective,
                bound: f64::NEG_INFINITY,
                incumbent: self.best,
                depth: 0,
            };
            let required = shared.domain.separate_required(&view);
            if !self.add_separated(shared, required)? {
                return Ok(());
            }
        }
        Ok(())
    }
}

/// The fractional column with the largest fraction, and its value.
fn nearest_up<C>(point: &[(Arc<C>, f64)], tolerance: f64) -> Option<(Arc<C>, f64)> {
    let mut best: Option<(f64, &(Arc<C>, f64))> = None;
    for entry in point {
        let fraction = entry.1 - entry.1.floor();
        if fraction <= tolerance || fraction >= 1.0 - tolerance {
            continue;
        }
        if best.is_none_or(|(f, _)| fraction > f + 1e-9) {
            best = Some((fraction, entry));
        }
    }
    best.map(|(_, (c, v))| (c.clone(), *v))
}
