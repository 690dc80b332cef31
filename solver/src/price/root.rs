//! The root: settings, solution and findings.

use super::master::Basics;
use super::relaxation::{ApproachSettings, CutEffort, RelaxEnd, Relaxation, Tail, Until};
use super::tree::proof::Recorder;
use super::tree::warm::Warm;
use super::{Incumbents, Program, SeparationSettings, TreeProof};
use remat_lp::{ModelError, Settings};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Settings of the work on the root.
#[derive(Clone, Debug)]
pub struct RootSettings {
    /// Settings of the linear programming solver.
    pub lp: Settings,
    /// Rounds of cuts; 0 for the plain relaxation.
    pub cut_rounds: usize,
    /// Settings of cut separation in a round.
    pub separation: SeparationSettings,
    /// Limit on the columns added in a round.
    pub columns_per_round: usize,
    /// Limit on the columns of one block added in a round.
    pub columns_per_block: usize,
    /// Limit on the resource rows of one group (a stage) added in a round.
    pub resource_rows_per_group: usize,
    /// Limit on the resource rows added in a round.
    pub resource_rows_per_round: usize,
    /// Solves after which slack rows and expensive columns are dropped, earlier while cutting is
    /// eager; 0 disables purging.
    pub purge_age: u32,
    /// Tail at which eager cutting ends. Its first value belongs to a relaxation without most of
    /// its rows, so much of the later gain is not due to cuts. In large programs a round adds few
    /// cuts in proportion, and the value may stall for many rounds before it rises again. Such
    /// rounds are cheap.
    pub eager_tail: Tail,
    /// Tail at which cut rounds end.
    pub tail: Tail,
    /// Stop soon after this much time: for benchmarks. The answer then depends on the machine; the
    /// bound is valid.
    pub time_limit: Option<Duration>,
    /// Limit on simplex iterations, tested after each solve. The bound reached so far is valid.
    pub pivots: u64,
    /// Flag that ends the root soon, even within a linear program. The bound reached so far is
    /// valid.
    pub stop: Option<Arc<AtomicBool>>,
    /// True if dense families of cuts are tried once the others are idle.
    pub dense_cuts: bool,
    /// True if cuts are separated after every solve until they are idle. Otherwise, and always in
    /// the last rounds, separation waits until no row is violated and no column pays.
    pub eager_cuts: bool,
    /// Approach by a first-order method once the simplex method has been slow; `None` disables it.
    pub approach: Option<ApproachSettings>,
}

impl Default for RootSettings {
    fn default() -> Self {
        RootSettings {
            lp: Settings::default(),
            cut_rounds: 200,
            separation: SeparationSettings::default(),
            columns_per_round: 800,
            columns_per_block: 4,
            resource_rows_per_group: 2,
            resource_rows_per_round: 200,
            purge_age: 10,
            eager_tail: Tail {
                rounds: 20,
                of_value: 4e-7,
                of_gain: 1e-4,
            },
            tail: Tail {
                rounds: 2,
                of_value: 1e-6,
                of_gain: 1e-3,
            },
            time_limit: None,
            pivots: u64::MAX,
            stop: None,
            dense_cuts: true,
            eager_cuts: true,
            approach: None,
        }
    }
}

/// Status at the end of the root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RootStatus {
    /// No row is violated, no column pays, and cut rounds ended by themselves or by their limit.
    Converged,
    /// No solution fits: the bound is above the cost of every solution.
    Infeasible,
    /// The time limit, the pivot limit or the flag ended the root. The bound is valid.
    TimeLimit,
    /// The LP solver gave up. The bound is valid.
    Trouble,
}

/// Findings at the root.
#[derive(Clone, Debug)]
pub struct RootBound<P: Program> {
    /// Status at the end.
    pub status: RootStatus,
    /// Value of the last relaxation, slack columns included.
    pub lp_value: f64,
    /// A lower bound on the cost of every solution that fits, in safe arithmetic.
    pub safe_bound: u64,
    /// Bound before the first cut. With eager cuts, only the first solves count.
    pub plain_bound: u64,
    /// Solves of the restricted master.
    pub rounds: usize,
    /// Rows at the end.
    pub rows: usize,
    /// Columns at the end.
    pub cols: usize,
    /// Number of cuts added.
    pub cuts: usize,
    /// Simplex iterations.
    pub iterations: u64,
    /// Time in the LP solver, including changes of the master.
    pub lp_seconds: f64,
    /// Time in pricing.
    pub pricing_seconds: f64,
    /// Time in the separation of rows and cuts.
    pub separation_seconds: f64,
    /// The last fractional solution.
    pub point: P::Point,
    /// Rows and duals that prove the bound:
    /// [`Pricing::lagrangian_bound`](super::Pricing::lagrangian_bound) computes it from them and
    /// the program alone.
    pub proof: Vec<(P::Row, f64)>,
}

/// A start for a root, from any source, for example another program like this one. It may be wrong
/// or incomplete: a bad start only costs time.
#[derive(Clone, Debug)]
pub struct RootStart<P: Program> {
    /// Rows, and duals that prove a bound.
    pub proof: Vec<(P::Row, f64)>,
    /// Columns for the restricted master.
    pub columns: Vec<P::Column>,
    /// Rows that are tight in the basis.
    pub tight: Vec<P::Row>,
    /// Columns that are basic.
    pub basic: Vec<P::Column>,
}

/// The solved root: the start of a tree.
pub struct Root<P: Program> {
    pub(super) relax: Relaxation<P>,
    pub(super) end: RelaxEnd,
    /// Bound before the first cut.
    plain: u64,
}

/// Rounds in which dense cuts must prove useful, and the least gain for that, as a share of the
/// gain of the other cuts. Where they gain too little, they cost three quarters of the time.
const DENSE_TRIAL_ROUNDS: usize = 4;
const DENSE_GAIN_SHARE: f64 = 3e-3;

/// Continues cutting with dense families, as long as they gain enough.
fn try_dense_cuts<P: Program>(
    relax: &mut Relaxation<P>,
    effort: CutEffort,
    end: RelaxEnd,
    plain: u64,
    incumbents: &Incumbents<P>,
) -> Result<RelaxEnd, ModelError> {
    let wanted = relax.settings.dense_cuts && relax.settings.separation.resource_cuts;
    if end != RelaxEnd::Converged || !wanted || effort.rounds == 0 {
        return Ok(end);
    }
    let before = relax.value;
    relax.settings.separation.dense = true;
    let trial = CutEffort {
        rounds: DENSE_TRIAL_ROUNDS,
        eager: None,
        ..effort
    };
    let end = relax.cut_rounds(trial, Some(incumbents))?;
    relax.settings.separation.dense =
        relax.value - before > DENSE_GAIN_SHARE * (before - plain as f64);
    if end != RelaxEnd::Converged || !relax.settings.separation.dense {
        return Ok(end);
    }
    relax.cut_rounds(effort, Some(incumbents))
}

impl<P: Program> Root<P> {
    /// Solves the plain relaxation, then the relaxation with cuts. `incumbents` receives the
    /// relaxations on the way, and may offer columns.
    ///
    /// # Errors
    /// [`ModelError`] where the LP solver refuses a change: a defect.
    pub fn solve(
        program: Arc<P>,
        settings: &RootSettings,
        incumbents: &Incumbents<P>,
    ) -> Result<Self, ModelError> {
        let relax = Relaxation::new(program, settings.clone())?;
        Root::work_on(relax, settings, incumbents)
    }

    /// Solves from a given start, and publishes its bound first.
    ///
    /// # Errors
    /// As [`Root::solve`].
    pub fn solve_from(
        program: Arc<P>,
        settings: &RootSettings,
        incumbents: &Incumbents<P>,
        start: RootStart<P>,
    ) -> Result<Self, ModelError> {
        let mut relax = Relaxation::new(program, settings.clone())?;
        let (rows, duals): (Vec<P::Row>, Vec<f64>) = start.proof.into_iter().unzip();
        relax.adopt(&rows, &duals);
        incumbents.prove(relax.bound);
        relax.master.add_columns(start.columns)?;
        relax.restore(&Warm {
            priced: rows.into_iter().map(Arc::new).collect(),
            basis: Basics {
                tight: start.tight.into_iter().map(Arc::new).collect(),
                others: Vec::new(),
                columns: start.basic.into_iter().collect(),
            },
        })?;
        Root::work_on(relax, settings, incumbents)
    }

    fn work_on(
        mut relax: Relaxation<P>,
        settings: &RootSettings,
        incumbents: &Incumbents<P>,
    ) -> Result<Self, ModelError> {
        let eager = settings.cut_rounds > 0 && settings.eager_cuts;
        let until = match (eager, settings.cut_rounds) {
            (true, _) => Until::Feasible,
            (false, 0) => Until::Converged,
            (false, _) => Until::Stalled,
        };
        relax.slow = settings.approach.clone();
        let work = |relax: &mut Relaxation<P>| {
            let mut end = relax.converge(until, Some(incumbents))?;
            let plain = relax.bound;
            relax.publish(Some(incumbents));
            if end == RelaxEnd::Converged {
                let effort = CutEffort {
                    rounds: settings.cut_rounds,
                    eager: eager.then_some(settings.eager_tail),
                    inside: true,
                    tail: settings.tail,
                };
                end = relax.cut_rounds(effort, Some(incumbents))?;
                end = try_dense_cuts(relax, effort, end, plain, incumbents)?;
            }
            Ok((end, plain))
        };
        let (mut end, plain) = work(&mut relax)?;
        if let (RelaxEnd::Slow, Some(approach)) = (end, &settings.approach) {
            end = relax.approach(approach, Some(incumbents))?;
            if end == RelaxEnd::Converged {
                (end, _) = work(&mut relax)?;
            }
        }
        relax.slow = None;
        Ok(Root { relax, end, plain })
    }

    /// Returns its findings, with the proof.
    pub fn into_bound(self) -> RootBound<P> {
        let Root { relax, end, plain } = self;
        RootBound {
            status: match end {
                RelaxEnd::Converged | RelaxEnd::Cutoff => RootStatus::Converged,
                RelaxEnd::Infeasible => RootStatus::Infeasible,
                RelaxEnd::Late => RootStatus::TimeLimit,
                RelaxEnd::Slow | RelaxEnd::Trouble => RootStatus::Trouble,
            },
            lp_value: relax.value,
            safe_bound: relax.bound,
            plain_bound: plain,
            rounds: relax.spent.rounds,
            rows: relax.master.rows().len(),
            cols: relax.master.num_columns(),
            cuts: relax.spent.cuts,
            iterations: relax.master.work().iterations,
            lp_seconds: relax.spent.lp.as_secs_f64(),
            pricing_seconds: relax.spent.pricing.as_secs_f64(),
            separation_seconds: relax.spent.separation.as_secs_f64(),
            point: relax.point,
            proof: relax
                .proof
                .rows
                .into_iter()
                .zip(relax.proof.duals)
                .collect(),
        }
    }

    /// Proof of the relaxation's bound.
    pub fn proof(&self) -> TreeProof<P> {
        Recorder::new(&self.relax.proof).finish()
    }

    /// A lower bound on the cost of every solution that fits, in safe arithmetic.
    pub fn safe_bound(&self) -> u64 {
        self.relax.bound
    }

    /// A start for another root, from the state reached here.
    pub fn start(&self) -> RootStart<P> {
        let proof = &self.relax.proof;
        let basis = self.relax.master.basis();
        RootStart {
            proof: (proof.rows.iter().cloned())
                .zip(proof.duals.iter().copied())
                .collect(),
            columns: self.relax.columns(),
            tight: basis.tight.iter().map(|row| (**row).clone()).collect(),
            basic: basis.columns.into_iter().collect(),
        }
    }

    /// Adopts a lower bound proven elsewhere, for all nodes of a tree below.
    pub fn learn_bound(&mut self, bound: u64) {
        self.relax.bound = self.relax.bound.max(bound);
    }

    /// Simplex iterations.
    pub fn iterations(&self) -> u64 {
        self.relax.master.work().iterations
    }

    /// Returns whether the root proved that no solution fits.
    pub fn is_infeasible(&self) -> bool {
        self.end == RelaxEnd::Infeasible
    }

    /// Returns whether the root was solved to its end.
    pub fn is_converged(&self) -> bool {
        self.end == RelaxEnd::Converged
    }

    /// Sets other limits for the tree below: time since the beginning of the root, and simplex
    /// iterations.
    pub fn limit(&mut self, time: Option<Duration>, pivots: u64) {
        (self.relax.settings.time_limit, self.relax.settings.pivots) = (time, pivots);
    }

    /// The last fractional solution.
    pub fn point(&self) -> &P::Point {
        &self.relax.point
    }
}
