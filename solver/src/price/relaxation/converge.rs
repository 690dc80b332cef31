//! The main loop: solve, price, separate and add, until no row is violated and no column pays.

use super::cuts::spread;
use super::{RelaxEnd, Relaxation};
use crate::price::{Incumbents, Program, RowLimits};
use remat_lp::{Algorithm, LpOutcome, ModelError, Solution};
use std::time::Instant;

/// Solves between two computations of the safe bound. It is also computed at the end.
const SOLVES_PER_BOUND: usize = 25;
/// Limit on the rises of the slack columns' costs, and the factor of each rise.
const PENALTY_RISE_LIMIT: usize = 8;
const PENALTY_FACTOR: f64 = 8.0;
/// Limit on fresh starts of the LP solver from the slack basis at a node.
const FRESH_START_LIMIT: usize = 20;
/// Relative change of the value by the last solve below which the relaxation is settled.
const SETTLED_SHARE: f64 = 1e-3;
/// Relative change over this many solves below which the value has stalled.
const STALL_SHARE: f64 = 2e-5;
const STALL_SOLVES: usize = 10;
/// Rounds between two rises of a convergence's patience.
const ROUNDS_PER_PATIENCE: u32 = 32;
/// Reduced cost below which a column pays, in units of the LP solver.
const REDUCED_COST_TOLERANCE: f64 = 1e-4;

/// Violation below which a row of counts is met.
const ROW_TOLERANCE: f64 = 1e-6;

/// Extent to which a relaxation is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::price) enum Until {
    /// Until every row of the master is met, which usually takes one solve.
    Feasible,
    /// Until the value stalls. Large programs keep adding rows and columns on a plateau for as long
    /// as they took to reach it.
    Stalled,
    /// Until no row is violated and no column pays.
    Converged,
}

/// Progress of a convergence.
struct LoopProgress {
    until: Until,
    round: u32,
    values: Vec<f64>,
    algorithm: Algorithm,
}

/// Result of a solve of the master.
enum Solve {
    Solved(Solution),
    Retry,
    Ended(RelaxEnd),
}

/// A solution with its tests by the loop.
struct JudgedSolution {
    late: bool,
    /// Every row of the master is met.
    met: bool,
    /// The value has stalled.
    stalled: bool,
    /// The relaxation is solved to the requested extent.
    enough: bool,
    /// Change of the value by the last solve.
    moved: f64,
    /// Units of the LP solver by which the resource overflows.
    overflow: f64,
}

/// Rows that a solution violates, and columns that pay at its duals.
struct PricedRowsAndColumns<P: Program> {
    rows: Vec<P::Row>,
    columns: Vec<P::Column>,
}

impl<P: Program> Relaxation<P> {
    /// Solves and adds rows and columns, including columns that `incumbents` offers. Nodes of the
    /// tree pass `None`, because their bounds are local.
    pub fn converge(
        &mut self,
        until: Until,
        incumbents: Option<&Incumbents<P>>,
    ) -> Result<RelaxEnd, ModelError> {
        self.settled = false;
        let mut progress = LoopProgress {
            until,
            round: 0,
            values: Vec::new(),
            algorithm: Algorithm::Auto,
        };
        loop {
            progress.round += 1;
            self.take_offers(incumbents, &mut progress)?;
            let solution = match self.solve_master(&mut progress) {
                Solve::Solved(solution) => solution,
                Solve::Retry => continue,
                Solve::Ended(end) => return Ok(end),
            };
            let judged = self.judge(&solution, &mut progress);
            let found = self.price_and_separate(&solution, &judged);
            if self.bound_is_due() {
                self.publish(incumbents);
            }
            if self.bound >= self.target {
                return Ok(RelaxEnd::Cutoff);
            }
            self.purge(&solution, &progress)?;
            self.add(found, &judged, &mut progress)?;
            if let Some(end) = self.end_of(&judged, &progress)? {
                return Ok(end);
            }
        }
    }

    fn bound_is_due(&self) -> bool {
        self.spent.rounds.is_multiple_of(SOLVES_PER_BOUND)
    }

    /// Adds the columns of a better solution, if one is offered, and keeps them.
    fn take_offers(
        &mut self,
        incumbents: Option<&Incumbents<P>>,
        progress: &mut LoopProgress,
    ) -> Result<(), ModelError> {
        if let Some(offers) = incumbents.and_then(Incumbents::take_columns) {
            let clock = Instant::now();
            self.master.keep(offers)?;
            progress.algorithm = Algorithm::Auto;
            self.spent.lp += clock.elapsed();
        }
        Ok(())
    }

    fn solve_master(&mut self, progress: &mut LoopProgress) -> Solve {
        let clock = Instant::now();
        let outcome = self.master.solve(progress.algorithm);
        self.spent.lp += clock.elapsed();
        self.spent.rounds += 1;
        if let LpOutcome::Optimal(solution) = outcome {
            return Solve::Solved(solution);
        }
        if self.is_late() {
            return Solve::Ended(RelaxEnd::Late);
        }
        if self.fresh_starts >= FRESH_START_LIMIT {
            return Solve::Ended(RelaxEnd::Trouble);
        }
        // The master is feasible and bounded: another path may reach its optimum.
        self.fresh_starts += 1;
        self.master.forget_basis();
        progress.algorithm = Algorithm::Auto;
        Solve::Retry
    }

    /// Notes a solution and tests it. It must run before the purge, which changes the master's
    /// columns.
    fn judge(&mut self, solution: &Solution, progress: &mut LoopProgress) -> JudgedSolution {
        let late = self.is_late();
        let met = self.master.is_met(solution);
        let moved = (self.master.value(solution) - self.value).abs();
        self.note(solution);
        progress.values.push(self.value);
        let stalled = spread(&progress.values, STALL_SOLVES)
            .is_some_and(|(apart, most)| apart <= STALL_SHARE * most.abs());
        JudgedSolution {
            late,
            met,
            stalled,
            enough: met
                && match progress.until {
                    Until::Feasible => true,
                    Until::Stalled => stalled,
                    Until::Converged => false,
                },
            moved,
            overflow: self.master.overflow(solution),
        }
    }

    /// Finds the rows that a solution violates and the columns that pay; proves the bound if that
    /// is due.
    fn price_and_separate(
        &mut self,
        solution: &Solution,
        judged: &JudgedSolution,
    ) -> PricedRowsAndColumns<P> {
        let rows = self.violated_rows(judged.overflow);
        let (columns, estimate) = self.price(solution);
        let last = judged.late || judged.enough || (rows.is_empty() && columns.is_empty());
        let over = estimate > self.target as f64 - 1.0 + 1e-6;
        if last || over || self.bound_is_due() {
            self.prove(solution);
        }
        PricedRowsAndColumns { rows, columns }
    }

    fn purge(&mut self, solution: &Solution, progress: &LoopProgress) -> Result<(), ModelError> {
        let age = self.settings.purge_age;
        if age == 0 {
            return Ok(());
        }
        let clock = Instant::now();
        let eager = progress.until == Until::Feasible;
        let patience = progress.round / ROUNDS_PER_PATIENCE;
        self.master.purge(solution, age, eager, patience)?;
        self.spent.lp += clock.elapsed();
        Ok(())
    }

    /// Adds the rows and columns that were found.
    fn add(
        &mut self,
        found: PricedRowsAndColumns<P>,
        judged: &JudgedSolution,
        progress: &mut LoopProgress,
    ) -> Result<(), ModelError> {
        let clock = Instant::now();
        let columns = self.master.add_columns(found.columns)?;
        let rows = self.master.add_rows(found.rows)?;
        self.spent.lp += clock.elapsed();
        self.trace_round(rows, columns, judged.overflow);
        progress.algorithm = match (rows > 0, columns > 0) {
            (true, false) => Algorithm::Dual,
            (false, true) => Algorithm::Primal,
            _ => Algorithm::Auto,
        };
        self.complete = rows + columns == 0;
        Ok(())
    }

    /// The end of the convergence, if it is reached. If the resource still overflows on a plateau,
    /// the costs of the slack columns are raised now and then.
    fn end_of(
        &mut self,
        judged: &JudgedSolution,
        progress: &LoopProgress,
    ) -> Result<Option<RelaxEnd>, ModelError> {
        let JudgedSolution { late, met, .. } = *judged;
        if !self.complete && !late && self.is_slow() {
            return Ok(Some(RelaxEnd::Slow));
        }
        if !self.complete && !late && !judged.enough {
            if judged.stalled && !met && progress.round.is_multiple_of(ROUNDS_PER_PATIENCE) {
                self.raise_penalties()?;
            }
            return Ok(None);
        }
        let near = judged.moved < SETTLED_SHARE * self.value.abs();
        self.settled = met && !late && (self.complete || near);
        Ok(if self.bound > self.program().cost_upper_bound() {
            Some(RelaxEnd::Infeasible)
        } else if late {
            Some(RelaxEnd::Late)
        } else if met {
            Some(RelaxEnd::Converged)
        } else if self.raise_penalties()? {
            None
        } else {
            Some(RelaxEnd::Trouble)
        })
    }

    /// Raises the costs of the slack columns, unless the limit of rises is reached.
    fn raise_penalties(&mut self) -> Result<bool, ModelError> {
        let dearer = self.penalties < PENALTY_RISE_LIMIT;
        if dearer {
            self.penalties += 1;
            self.master.raise_penalties(PENALTY_FACTOR)?;
        }
        Ok(dearer)
    }

    /// Solves again with the rows and columns added last, without adding more. Trials of branchings
    /// then start from an optimum; otherwise each of them would have to find it first.
    pub fn resolve(&mut self) {
        if self.complete {
            return;
        }
        let clock = Instant::now();
        let outcome = self.master.solve(Algorithm::Auto);
        self.spent.lp += clock.elapsed();
        if let LpOutcome::Optimal(solution) = outcome {
            self.note(&solution);
            self.prove(&solution);
        }
    }

    /// The columns that pay, and the Lagrangian bound up to rounding.
    fn price(&mut self, solution: &Solution) -> (Vec<P::Column>, f64) {
        let clock = Instant::now();
        let per_block = self.settings.columns_per_block;
        let priced = self
            .master
            .price(solution, per_block, REDUCED_COST_TOLERANCE);
        self.spent.pricing += clock.elapsed();
        let candidates = priced.candidates.into_iter();
        let best = candidates.take(self.settings.columns_per_round);
        (best.map(|c| c.column).collect(), priced.bound)
    }

    fn violated_rows(&mut self, overflow: f64) -> Vec<P::Row> {
        let clock = Instant::now();
        let program = self.master.program();
        let limits = RowLimits {
            // Overflow was paid for: only rows that exceed the capacity and the overflow are
            // reported.
            overflow: overflow * program.resource_unit(),
            tolerance: ROW_TOLERANCE,
            per_group: self.settings.resource_rows_per_group,
            resource_rows: self.settings.resource_rows_per_round,
            known: &|row| self.master.contains(row),
        };
        let rows = program.violated(&self.point, &limits);
        self.spent.separation += clock.elapsed();
        rows
    }

    pub(super) fn trace_round(&self, rows: usize, columns: usize, overflow: f64) {
        tracing::trace!(
            rows,
            columns,
            overflow,
            value = self.value,
            bound = self.bound,
            master_rows = self.master.rows().len(),
            master_columns = self.master.num_columns(),
            pivots = self.master.work().iterations,
            "round"
        );
    }
}
