//! Shared data of both simplex methods: the scaled program, a basis with its factorisation, values
//! and reduced costs.
//!
//! The program is in computational form: minimise `c x` subject to `A x + I s = 0` and bounds on
//! `(x, s)`. The logical of row `i` is variable `n + i` and equals minus the row's activity.

mod basis;
pub(crate) mod dual;
mod edit;
mod polish;
mod price;
pub(crate) mod primal;
mod report;
mod sleep;
mod strategy;
mod values;

use crate::compressed::Compressed;
use crate::factor::Factor;
use crate::outcome::{LimitKind, VarStatus};
use crate::random::SplitMix64;
use crate::settings::{Algorithm, Limits, Settings};
use crate::sparse_vec::SparseVec;
pub(crate) use price::{PackedRow, PriceMatrix};
use std::sync::atomic::Ordering;
pub(crate) use strategy::CoreEnd;

/// Result of a run of one of the methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SimplexEnd {
    /// Optimal for the working bounds and costs (which may be perturbed).
    Done,
    /// Dual: the row kept in `rho` proves infeasibility.
    Infeasible,
    /// Primal: the direction in `col`, with this entering variable, is a ray.
    Unbounded(u32),
    /// Dual: no dual feasible basis was found; primal: no primal feasible basis was found.
    OtherMethodNeeded,
    /// The objective passed the cutoff.
    Cutoff,
    /// A limit of the call.
    Limit(LimitKind),
    /// The factorisation could not be kept accurate.
    Trouble,
}

/// Running averages of the density of solve results; they guide the choice of kernels.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Densities {
    pub rho: f64,
    pub col: f64,
    pub tau: f64,
    pub row: f64,
}

/// Counters since construction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SimplexCounters {
    pub dual_phase1: u64,
    pub dual_phase2: u64,
    pub primal_phase1: u64,
    pub primal_phase2: u64,
    /// Pushes of a crossover.
    pub crossover: u64,
    pub flips: u64,
    pub factorisations: u64,
}

impl SimplexCounters {
    pub fn iterations(&self) -> u64 {
        self.dual_phase1
            + self.dual_phase2
            + self.primal_phase1
            + self.primal_phase2
            + self.crossover
    }
}

/// The limits of one call, turned into absolute counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkBudget {
    pub iterations: Option<u64>,
    pub ticks: Option<u64>,
    /// Cutoff in terms of the minimised, scaled objective without offset.
    pub cutoff: Option<f64>,
    pub limits: Limits,
}

/// The working state of the simplex methods.
#[derive(Clone)]
pub(crate) struct Core {
    pub m: usize,
    pub n: usize,
    /// Scaled matrix by columns (structurals only) and by rows.
    pub a: Compressed,
    pub at: Compressed,
    pub price_matrix: PriceMatrix,
    /// Bounds and costs of structurals and logicals, scaled and minimised.
    pub lower: Vec<f64>,
    pub upper: Vec<f64>,
    pub cost: Vec<f64>,
    /// Working bounds and costs, with phase 1 boxes, perturbations and shifts.
    pub wl: Vec<f64>,
    pub wu: Vec<f64>,
    pub wc: Vec<f64>,
    pub costs_changed: bool,
    pub bounds_changed: bool,
    pub status: Vec<VarStatus>,
    /// +1, -1: the only direction a nonbasic variable may move; 0: fixed, free or basic.
    pub mv: Vec<i8>,
    /// Values of nonbasic variables; `xb` has the values of basic ones.
    pub x: Vec<f64>,
    /// Reduced costs; 0 for basic variables.
    pub d: Vec<f64>,
    /// Variable of each position (see [`crate::factor`]). `xb`, `bl`, `bu`, `dse` and all vectors
    /// that go through the factorisation are also indexed by position.
    pub basic: Vec<u32>,
    pub xb: Vec<f64>,
    pub bl: Vec<f64>,
    pub bu: Vec<f64>,
    /// Dual steepest edge weights.
    pub dse: Vec<f64>,
    pub dse_valid: bool,
    /// Rows added since the last dual run; their weights are still to be computed.
    pub new_rows: Vec<u32>,
    pub sleep: sleep::Sleep,
    /// Primal devex weights by variable.
    pub devex: Vec<f64>,
    pub devex_valid: bool,
    pub factor: Factor,
    /// True if the factorisation belongs to `basic` (after any number of updates).
    pub factored: bool,
    /// True if `xb` matches the basis, the bounds and `x`; and if `d` matches the basis and costs.
    pub primal_valid: bool,
    pub dual_valid: bool,
    pub rho: SparseVec,
    pub col: SparseVec,
    pub tau: SparseVec,
    pub work: SparseVec,
    /// Structural part of a priced row.
    pub row: SparseVec,
    pub packed: PackedRow,
    pub dual: crate::simplex::dual::DualScratch,
    pub primal: crate::simplex::primal::PrimalScratch,
    pub density: Densities,
    pub count: SimplexCounters,
    pub ticks: u64,
    pub primal_tol: f64,
    pub dual_tol: f64,
    pub seed: u64,
    /// Number of perturbations in this optimisation; each uses other, larger random numbers.
    pub perturbations: u64,
    pub max_updates: usize,
    /// Least number of entries at which slack rows go to sleep.
    pub lazy_rows: Option<usize>,
    pub emits_events: bool,
    /// The method and phase of the last report.
    pub reported: (Algorithm, u8),
    /// Turns the minimised objective into the model's, with the offset.
    pub objective_factor: f64,
    pub objective_offset: f64,
    /// Scratch over variables.
    pub by_var: Vec<f64>,
    /// Scratch over rows.
    pub by_row: Vec<f64>,
}

impl Core {
    /// A core for a scaled program with the slack basis.
    pub fn new(
        a: Compressed,
        at: Compressed,
        lower: Vec<f64>,
        upper: Vec<f64>,
        cost: Vec<f64>,
        settings: &Settings,
    ) -> Core {
        let (n, m) = (a.outer(), at.outer());
        let mut core = Core {
            m,
            n,
            a,
            at,
            price_matrix: PriceMatrix::default(),
            wl: lower.clone(),
            wu: upper.clone(),
            wc: cost.clone(),
            lower,
            upper,
            cost,
            costs_changed: false,
            bounds_changed: false,
            status: Vec::new(),
            mv: Vec::new(),
            x: Vec::new(),
            d: Vec::new(),
            basic: Vec::new(),
            xb: Vec::new(),
            bl: Vec::new(),
            bu: Vec::new(),
            dse: Vec::new(),
            dse_valid: false,
            new_rows: Vec::new(),
            sleep: Default::default(),
            devex: Vec::new(),
            devex_valid: false,
            factor: Factor::new(),
            factored: false,
            primal_valid: false,
            dual_valid: false,
            rho: SparseVec::default(),
            col: SparseVec::default(),
            tau: SparseVec::default(),
            work: SparseVec::default(),
            row: SparseVec::default(),
            packed: PackedRow::default(),
            dual: Default::default(),
            primal: Default::default(),
            density: Densities::default(),
            count: SimplexCounters::default(),
            ticks: 0,
            primal_tol: settings.primal_tolerance,
            dual_tol: settings.dual_tolerance,
            seed: settings.seed,
            perturbations: 0,
            max_updates: settings.max_updates,
            lazy_rows: settings.lazy_rows,
            emits_events: true,
            reported: (Algorithm::Dual, 2),
            objective_factor: 1.0,
            objective_offset: 0.0,
            by_var: Vec::new(),
            by_row: Vec::new(),
        };
        core.resize();
        core.slack_basis();
        core
    }

    /// Number of variables, structural and logical.
    #[inline]
    pub fn total(&self) -> usize {
        self.n + self.m
    }

    /// Resizes all scratch to the present dimensions. Statuses, basic variables and weights are
    /// left to the caller.
    pub fn resize(&mut self) {
        let (m, n, t) = (self.m, self.n, self.total());
        self.price_matrix.invalidate();
        for v in [&mut self.rho, &mut self.col, &mut self.tau, &mut self.work] {
            v.resize(m);
        }
        self.row.resize(n);
        self.packed.reserve(t);
        self.mv.resize(t, 0);
        self.x.resize(t, 0.0);
        self.d.resize(t, 0.0);
        self.status.resize(t, VarStatus::AtLower);
        self.devex.resize(t, 1.0);
        self.by_var.resize(t, 0.0);
        self.basic.resize(m, 0);
        self.by_row.resize(m, 0.0);
        self.xb.resize(m, 0.0);
        self.bl.resize(m, 0.0);
        self.bu.resize(m, 0.0);
        self.dse.resize(m, 1.0);
        self.dual.resize(m, t);
        self.primal.resize(m, t);
    }

    /// Work done so far.
    pub fn total_ticks(&self) -> u64 {
        self.ticks + self.factor.ticks
    }

    /// The first reached limit, if any. Ticks and the interrupt flag are cheap to check.
    pub fn limit_reached(&self, budget: &WorkBudget) -> Option<LimitKind> {
        if budget
            .iterations
            .is_some_and(|l| self.count.iterations() >= l)
        {
            return Some(LimitKind::Iterations);
        }
        if budget.ticks.is_some_and(|l| self.total_ticks() >= l) {
            return Some(LimitKind::Ticks);
        }
        match &budget.limits.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => Some(LimitKind::Interrupt),
            _ => None,
        }
    }

    /// Number of consecutive pivots without progress after which a run counts as stalled.
    pub fn stall_limit(&self) -> u64 {
        500 + self.m as u64 / 4
    }

    /// A number in [0, 1) that depends only on the seed, `k` and `salt`.
    pub fn random(&self, k: usize, salt: u64) -> f64 {
        let stream = (k as u64)
            .wrapping_add(self.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .wrapping_add(salt.wrapping_mul(0xd1b5_4a32_d192_ed03));
        SplitMix64::new(stream).unit()
    }

    /// Loads column `q` (structural or logical) into `col`, by position.
    pub fn load_entering(&mut self, q: usize) {
        let v = &mut self.col;
        v.clear();
        if q < self.n {
            for (i, x) in self.a.iter(q) {
                let p = self.factor.position(i);
                v.index.push(p as u32);
                v.value[p] = x;
            }
        } else {
            let p = self.factor.position(q - self.n);
            v.index.push(p as u32);
            v.value[p] = 1.0;
        }
    }
}
