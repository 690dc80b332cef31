//! First-order method for large roots, for which the simplex method takes too many pivots.
//!
//! Between two rounds of columns, rows and cuts, the method runs for some iterations from its last
//! point. New columns and rows do not spoil that point, and a partial solve of the restricted
//! master is cheap. Its duals are central for most of the way, and any duals prove a bound.

use super::bound::Proof;
use super::{RelaxEnd, Relaxation};
use crate::price::{Incumbents, Program, RowLimits};
use remat_lp::{FirstOrder, FirstOrderPoint, ModelError};
use std::collections::BTreeMap;
use std::time::Instant;

/// Settings of an approach.
#[derive(Clone, Debug, PartialEq)]
pub struct ApproachSettings {
    /// Pivots of the simplex method below which it is not slow.
    pub pivots: u64,
    /// Mean pivots of a solve below which it is not slow.
    pub pivots_per_solve: u64,
    /// Limit on rounds.
    pub rounds: u32,
    /// Iterations of the first-order method in a round.
    pub iterations: u64,
    /// Rounds between two separations of cuts.
    pub rounds_per_cuts: u32,
    /// Limit on the columns of one block added in a round.
    pub columns_per_block: usize,
    /// Limit on the columns added in a round.
    pub columns_per_round: usize,
    /// Reduced cost below which a column pays, as a share of the mean cost of a block.
    pub column_share: f64,
    /// Reduced cost above which an idle column may leave, as a share of the same cost.
    pub dear_share: f64,
    /// Rounds after which idle columns and rows leave.
    pub age: u32,
    /// Violation below which a row of counts is ignored.
    pub row_tolerance: f64,
    /// Violation below which a row of a resource is ignored, as a share of the capacity.
    pub resource_share: f64,
    /// Rounds over which the bound must gain `tail_share`.
    pub tail_rounds: u32,
    /// Share of the bound that it must gain in `tail_rounds`.
    pub tail_share: f64,
}

impl Default for ApproachSettings {
    fn default() -> Self {
        // docs/inside/decisions/091: random layered graphs of 500 and 1,000 nodes.
        ApproachSettings {
            pivots: 8_000,
            pivots_per_solve: 400,
            rounds: 2_000,
            iterations: 100,
            rounds_per_cuts: 2,
            columns_per_block: 4,
            columns_per_round: 3_000,
            column_share: 2e-5,
            dear_share: 2e-3,
            age: 10,
            row_tolerance: 0.01,
            resource_share: 0.002,
            tail_rounds: 40,
            tail_share: 5e-4,
        }
    }
}

/// Value below which a column is not in the point.
const LEAST_VALUE: f64 = 1e-5;
/// Value below which a column is not in the starting basis of the simplex method.
const BASIC_VALUE: f64 = 1e-3;
/// Relative gap between value and bound below which the point is published as a guide.
const GUIDE_SHARE: f64 = 0.02;
/// Rounds between two published points.
const ROUNDS_PER_POINT: u32 = 10;

/// Progress of an approach.
struct Approach {
    point: FirstOrderPoint,
    round: u32,
    /// Bound of the best duals by round, up to rounding.
    best: Vec<f64>,
}

impl<P: Program> Relaxation<P> {
    /// Returns whether the simplex method takes too many pivots here.
    pub(super) fn is_slow(&self) -> bool {
        self.slow.as_ref().is_some_and(|slow| {
            let pivots = self.master.work().iterations;
            let per_solve = slow
                .pivots_per_solve
                .saturating_mul(self.spent.rounds as u64);
            pivots >= slow.pivots && pivots >= per_solve
        })
    }

    /// Runs until the bound is in its tail, and leaves a basis near the last point.
    pub fn approach(
        &mut self,
        settings: &ApproachSettings,
        incumbents: Option<&Incumbents<P>>,
    ) -> Result<RelaxEnd, ModelError> {
        self.slow = None;
        self.settled = false;
        self.master.forbid_lack(true)?;
        let mut approach = Approach {
            point: self.known_point(),
            round: 0,
            best: vec![0.0],
        };
        while !self.is_late() && self.bound < self.target && !approach.is_over(settings) {
            if self.bound > self.program().cost_upper_bound() {
                // No solution fits; the simplex method confirms that.
                break;
            }
            if let Some(offers) = incumbents.and_then(Incumbents::take_columns) {
                self.master.keep(offers)?;
            }
            approach.round += 1;
            self.approach_round(settings, &mut approach)?;
            if approach.round.is_multiple_of(ROUNDS_PER_POINT) {
                self.settled = self.bound as f64 > (1.0 - GUIDE_SHARE) * self.value;
                self.publish(incumbents);
                self.settled = false;
            }
        }
        self.publish(incumbents);
        self.master.forbid_lack(false)?;
        self.master.set_basis_near(&approach.point, BASIC_VALUE)?;
        Ok(if self.bound >= self.target {
            RelaxEnd::Cutoff
        } else if self.is_late() {
            RelaxEnd::Late
        } else {
            RelaxEnd::Converged
        })
    }

    /// One round: iterations, the bound, then changes of rows and columns.
    fn approach_round(
        &mut self,
        settings: &ApproachSettings,
        approach: &mut Approach,
    ) -> Result<(), ModelError> {
        let clock = Instant::now();
        let model = self.master.model();
        let mut method = FirstOrder::new(model, &self.master.row_order(), &approach.point);
        method.run(settings.iterations);
        approach.point = method.point();
        self.value = model.objective(&approach.point.x) * self.program().cost_unit();
        self.spent.lp += clock.elapsed();
        self.spent.rounds += 1;
        let columns = self.price_approach(settings, approach);
        let rows = self.separate_approach(settings, approach);
        let clock = Instant::now();
        let dear = settings.dear_share * self.mean_cost() / self.program().cost_unit();
        self.master
            .purge_at(&mut approach.point, settings.age, dear)?;
        let columns = self.master.add_columns(columns)?;
        let rows = self.master.add_rows(rows)?;
        self.spent.lp += clock.elapsed();
        self.trace_round(rows, columns, 0.0);
        Ok(())
    }

    /// Mean cost of a block, in the program's unit.
    fn mean_cost(&self) -> f64 {
        let program = self.program();
        program.base_cost().max(1) as f64 / program.blocks().max(1) as f64
    }

    /// The columns that pay. Also proves the bound of the duals if it may be better.
    fn price_approach(
        &mut self,
        settings: &ApproachSettings,
        approach: &mut Approach,
    ) -> Vec<P::Column> {
        let clock = Instant::now();
        let master = &self.master;
        let (program, exclusions, rows) = (master.program(), master.exclusions(), master.rows());
        let duals = master.duals_of(&approach.point.y);
        let tolerance = settings.column_share * self.mean_cost();
        let priced = program.price(
            exclusions,
            rows,
            &duals,
            settings.columns_per_block,
            tolerance,
        );
        let best = approach.best.last().copied().unwrap_or(0.0);
        approach.best.push(best.max(priced.bound));
        if priced.bound > best.max(self.bound as f64) || self.proof.bound == 0 {
            let proof = Proof::of(program, exclusions, rows, &duals);
            self.take(proof);
        }
        self.spent.pricing += clock.elapsed();
        let candidates = priced.candidates.into_iter();
        let best = candidates.take(settings.columns_per_round);
        best.map(|c| c.column).collect()
    }

    /// The rows and cuts that the point violates.
    fn separate_approach(
        &mut self,
        settings: &ApproachSettings,
        approach: &Approach,
    ) -> Vec<P::Row> {
        let clock = Instant::now();
        let values = self.master.values_of(&approach.point.x, LEAST_VALUE);
        let program = self.master.program();
        self.point = values.point(program);
        self.values = Some(values);
        let limits = RowLimits {
            overflow: settings.resource_share * program.resource_capacity(),
            tolerance: settings.row_tolerance,
            per_group: self.settings.resource_rows_per_group,
            resource_rows: self.settings.resource_rows_per_round,
            known: &|row| self.master.contains(row),
        };
        let mut rows = program.violated(&self.point, &limits);
        if self.settings.cut_rounds > 0 && approach.round.is_multiple_of(settings.rounds_per_cuts) {
            let cuts = program.cuts(&self.point, &self.settings.separation);
            self.spent.cuts += cuts.len();
            rows.extend(cuts);
        }
        self.spent.separation += clock.elapsed();
        rows
    }

    /// The last solution, with the duals of the best bound.
    fn known_point(&self) -> FirstOrderPoint {
        let proof = self.proof.rows.iter().zip(self.proof.duals.iter().copied());
        let duals: BTreeMap<&P::Row, f64> = proof.collect();
        FirstOrderPoint {
            x: self.master.x_of(self.values.as_ref()),
            y: self.master.y_of(&duals),
            weight: 0.0,
        }
    }
}

impl Approach {
    /// Returns whether the bound gains too little, or the rounds are used up.
    fn is_over(&self, settings: &ApproachSettings) -> bool {
        if self.round >= settings.rounds || !self.point.weight.is_finite() {
            return true;
        }
        let last = self.best.len() - 1;
        let Some(before) = last.checked_sub(settings.tail_rounds as usize) else {
            return false;
        };
        self.best[last] - self.best[before] < settings.tail_share * self.best[last].abs()
    }
}
