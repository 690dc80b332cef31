//! The linear program of a worker: rows of the problem, then cuts and rows of branchings, each with
//! a tag that survives additions and deletions.

pub(crate) mod conflict;
mod safe;

use crate::mip::domain::Domain;
use crate::mip::problem::Problem;
use crate::mip::settings::Settings;
use remat_lp::{
    Basis, Bounds, ColId, Limits, LpOutcome, ModelError, NewRow, RowId, Solution, Solver,
    VarStatus, certificate,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A row in addition to the problem's: `lower <= entries . x <= upper`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ExtraRow {
    /// Unique in the search.
    pub tag: u64,
    pub entries: Vec<(u32, f64)>,
    pub lower: f64,
    pub upper: f64,
}

impl ExtraRow {
    fn to_new_row(&self) -> NewRow {
        NewRow::new(
            Bounds::new(self.lower, self.upper),
            self.entries.iter().map(|&(j, v)| (ColId(j), v)),
        )
    }
}

/// A basis, with the tags of its extra rows.
#[derive(Clone, Debug)]
pub(crate) struct BasisSnapshot {
    pub basis: Basis,
    pub tags: Vec<u64>,
}

/// Result of a node's linear program, with its proof checked.
#[derive(Clone, Debug)]
pub(crate) enum Relaxed {
    /// Optimal; `.1` is a valid lower bound.
    Solved(Solution, f64),
    Infeasible,
    /// No point below the cutoff.
    Cutoff,
    Unbounded,
    /// No reliable answer, or a limit.
    Failed,
}

#[derive(Clone)]
pub(crate) struct Relaxation {
    problem: Arc<Problem>,
    lp: Solver,
    extra: Vec<Arc<ExtraRow>>,
    safe: bool,
    interrupt: Option<Arc<AtomicBool>>,
    /// Limit on the ticks of all solves together.
    hard_ticks: Option<u64>,
    base_ticks: u64,
    base_iterations: u64,
    pub unproven: u64,
    /// Multipliers that closed the last relaxation, and whether they include the objective.
    pub proof: Option<(Vec<f64>, bool)>,
    /// True if there is a basis to start from.
    solved: bool,
}

fn lp_settings(settings: &Settings) -> remat_lp::Settings {
    remat_lp::Settings {
        seed: settings.first_seed(),
        ..Default::default()
    }
}

impl Relaxation {
    pub fn new(problem: Arc<Problem>, settings: &Settings) -> Result<Relaxation, ModelError> {
        let lp = Solver::new(problem.to_model()?, lp_settings(settings));
        Ok(Relaxation {
            problem,
            lp,
            extra: Vec::new(),
            safe: settings.safe_bounds,
            interrupt: settings.limits.interrupt.clone(),
            hard_ticks: settings.hard_ticks(),
            base_ticks: 0,
            base_iterations: 0,
            unproven: 0,
            proof: None,
            solved: false,
        })
    }

    pub fn ticks(&self) -> u64 {
        self.base_ticks + self.lp.stats().ticks
    }

    pub fn iterations(&self) -> u64 {
        self.base_iterations + self.lp.stats().iterations()
    }

    pub fn model(&self) -> &remat_lp::Model {
        self.lp.model()
    }

    pub fn extra(&self) -> &[Arc<ExtraRow>] {
        &self.extra
    }

    pub fn set_col(&mut self, j: usize, lower: f64, upper: f64) -> Result<(), ModelError> {
        self.lp
            .set_col_bounds(ColId(j as u32), Bounds::new(lower, upper))
    }

    /// The multipliers of the rows that yield the tableau row of each given column; nonbasic
    /// columns are left out.
    pub fn tableau(&mut self, cols: &[usize]) -> Vec<Vec<f64>> {
        cols.iter()
            .filter_map(|&j| self.lp.tableau_multipliers(ColId(j as u32)))
            .collect()
    }

    /// Adds the work of a copy.
    pub fn account(&mut self, iterations: u64, ticks: u64) {
        self.base_iterations += iterations;
        self.base_ticks += ticks;
    }

    pub fn snapshot(&self) -> BasisSnapshot {
        BasisSnapshot {
            basis: self.lp.basis(),
            tags: self.extra.iter().map(|e| e.tag).collect(),
        }
    }

    /// Loads a basis; rows missing in it become basic.
    pub fn restore(&mut self, s: &BasisSnapshot) -> Result<(), ModelError> {
        let same = s.tags.len() == self.extra.len()
            && s.tags.iter().zip(&self.extra).all(|(a, b)| *a == b.tag);
        if same {
            return self.lp.set_basis(&s.basis);
        }
        let base = self.problem.num_rows();
        let mut known: Vec<(u64, VarStatus)> = s
            .tags
            .iter()
            .copied()
            .zip(s.basis.rows[base..].iter().copied())
            .collect();
        known.sort_unstable_by_key(|k| k.0);
        let mut basis = Basis {
            cols: s.basis.cols.clone(),
            rows: s.basis.rows[..base].to_vec(),
        };
        for e in &self.extra {
            basis.rows.push(
                known
                    .binary_search_by_key(&e.tag, |k| k.0)
                    .map_or(VarStatus::Basic, |at| known[at].1),
            );
        }
        self.lp.set_basis(&basis)
    }

    pub fn add_rows(&mut self, rows: &[Arc<ExtraRow>]) -> Result<(), ModelError> {
        if rows.is_empty() {
            return Ok(());
        }
        let new: Vec<NewRow> = rows.iter().map(|r| r.to_new_row()).collect();
        self.lp.add_rows(&new)?;
        self.extra.extend(rows.iter().cloned());
        Ok(())
    }

    /// Keeps the extra rows for which `keep` holds (position, row).
    pub fn retain_rows(
        &mut self,
        mut keep: impl FnMut(usize, &ExtraRow) -> bool,
    ) -> Result<(), ModelError> {
        let base = self.problem.num_rows();
        let mut gone = Vec::new();
        let mut k = 0;
        self.extra.retain(|e| {
            let stays = keep(k, e);
            if !stays {
                gone.push(RowId((base + k) as u32));
            }
            k += 1;
            stays
        });
        self.lp.delete_rows(&gone)
    }

    /// Replaces the extra rows, keeping common ones.
    pub fn sync_rows(&mut self, rows: &[Arc<ExtraRow>]) -> Result<(), ModelError> {
        let common = rows
            .iter()
            .zip(&self.extra)
            .take_while(|(a, b)| a.tag == b.tag)
            .count();
        if common < self.extra.len() {
            self.retain_rows(|k, _| k < common)?;
        }
        self.add_rows(&rows[common..])
    }

    fn limits(&mut self, cutoff: f64, iterations: Option<u64>) {
        self.lp.set_limits(Limits {
            iterations,
            ticks: self.hard_ticks.map(|t| t.saturating_sub(self.ticks())),
            objective_cutoff: cutoff.is_finite().then_some(cutoff),
            interrupt: self.interrupt.clone(),
        });
    }

    /// Solves under the present bounds. `domain` may have tighter bounds of continuous columns than
    /// the linear program.
    pub fn solve(&mut self, cutoff: f64, domain: &Domain) -> Result<Relaxed, ModelError> {
        // A stalled warm start is worth less than a cold one (docs/inside/decisions/054).
        let size = (self.lp.model().num_rows() + self.lp.model().num_cols()) as u64;
        let warm = self.solved.then_some(2_000 + 10 * size);
        self.solved = true;
        self.limits(cutoff, warm);
        let outcome = self.lp.solve();
        if let Some(r) = self.accept(outcome, cutoff, domain, true, false) {
            return Ok(r);
        }
        if self.interrupted() || self.hard_ticks.is_some_and(|t| self.ticks() >= t) {
            return Ok(Relaxed::Failed);
        }
        // Second attempt from scratch, without the basis and the scaling.
        self.base_ticks += self.lp.stats().ticks;
        self.base_iterations += self.lp.stats().iterations();
        let settings = remat_lp::Settings {
            scaling: !self.lp.settings().scaling,
            ..self.lp.settings().clone()
        };
        self.lp = Solver::new(self.lp.model().clone(), settings);
        self.limits(f64::INFINITY, Some(20_000 + 100 * size));
        let outcome = self.lp.solve();
        Ok(self
            .accept(outcome, cutoff, domain, true, true)
            .unwrap_or(Relaxed::Failed))
    }

    fn interrupted(&self) -> bool {
        self.interrupt
            .as_ref()
            .is_some_and(|i| i.load(std::sync::atomic::Ordering::Relaxed))
    }

    /// Solves with an iteration limit and without a second attempt, for strong branching and dives.
    /// A solution below the cutoff has no bound.
    pub fn probe(&mut self, cutoff: f64, iterations: u64, domain: &Domain) -> Relaxed {
        self.limits(cutoff, Some(iterations));
        let outcome = self.lp.solve();
        self.accept(outcome, cutoff, domain, false, false)
            .unwrap_or(Relaxed::Failed)
    }

    /// Interprets an outcome if it is reliable. An optimum without a proven bound near it is
    /// accepted only in the `last` attempt; the bound is the proven one.
    fn accept(
        &mut self,
        outcome: LpOutcome,
        cutoff: f64,
        domain: &Domain,
        need_bound: bool,
        last: bool,
    ) -> Option<Relaxed> {
        self.proof = None;
        match outcome {
            LpOutcome::Optimal(s) => {
                // Probes that end below the cutoff prove no bound and need no proof.
                if !need_bound && s.objective < cutoff {
                    return Some(Relaxed::Solved(s, f64::NEG_INFINITY));
                }
                let bound = self.bound(&s, domain);
                if !last && !is_near(bound, &s) {
                    return None;
                }
                Some(if bound >= cutoff {
                    self.proof = Some((s.y, true));
                    Relaxed::Cutoff
                } else {
                    Relaxed::Solved(s, bound)
                })
            }
            LpOutcome::Infeasible(ray) => {
                let proven = !self.safe
                    || certificate::check_farkas(self.lp.model(), &ray).is_ok()
                    || safe::farkas_holds(self.lp.model(), &ray.y, &domain.lower, &domain.upper);
                self.proof = Some((ray.y, false));
                proven.then_some(Relaxed::Infeasible)
            }
            LpOutcome::CutoffReached { bound, y } => {
                self.proof = Some((y, true));
                (bound >= cutoff).then_some(Relaxed::Cutoff)
            }
            LpOutcome::Unbounded(_) => Some(Relaxed::Unbounded),
            LpOutcome::Limit(_) => None,
        }
    }

    /// The bound that a solution's duals prove, as near to the optimum as rounding allows. Only
    /// noise on columns without bounds is ignored, and counted. The linear program's claim of an
    /// optimum is not a bound.
    fn bound(&mut self, s: &Solution, domain: &Domain) -> f64 {
        if !self.safe {
            return s.objective - 1e-9 * s.objective.abs().max(1.0);
        }
        let first = certificate::safe_bound(self.lp.model(), &s.y);
        if is_near(first, s) {
            return first;
        }
        let (model, l, u) = (self.lp.model(), &domain.lower, &domain.upper);
        let second = safe::bound(model, &s.y, l, u).max(first);
        if is_near(second, s) {
            return second;
        }
        let noise = self.lp.settings().dual_tolerance;
        let third = safe::bound_but_for_noise(model, &s.y, l, u, noise);
        if third > second {
            self.unproven += 1;
        }
        third.max(second)
    }
}

/// Returns whether a bound is near the objective that its linear program claims.
pub(crate) fn is_near(bound: f64, s: &Solution) -> bool {
    bound >= s.objective - 1e-5 * s.objective.abs().max(1.0)
}
