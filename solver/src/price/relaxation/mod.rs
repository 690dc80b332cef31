//! The relaxation of a node: a restricted master, with the bound and solution of its present node.
//!
//! | file | concept |
//! |---|---|
//! | `approach` | a first-order method, for when pivots are too many |
//! | `converge` | rows and columns until no row is violated and no column pays |
//! | `cuts` | cut rounds, and their end |
//! | `bound` | bounds from duals |
//! | `values` | a solution, and points between solutions |

mod approach;
mod bound;
mod converge;
mod cuts;
mod values;

pub use approach::ApproachSettings;
pub(super) use bound::Proof;
pub(super) use converge::Until;
pub(super) use cuts::CutEffort;
pub use cuts::Tail;
pub(super) use values::Values;

use super::tree::warm::Warm;
use super::{Branch, Incumbents, Master, Open, Program, RootSettings};
use remat_lp::{ModelError, Solution};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Weight of the mean of a node's solutions in the next mean, and in the inner point.
const MEAN_WEIGHT: f64 = 0.8;

/// Status at the end of a convergence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelaxEnd {
    /// The relaxation is solved to the requested extent: no row is violated and no column pays, the
    /// value has stalled, or every row is met.
    Converged,
    /// The bound has reached the target.
    Cutoff,
    /// The bound is above the cost of every solution: no solution fits.
    Infeasible,
    /// Time is over or the flag is set.
    Late,
    /// The simplex method takes so many pivots that another method should be tried.
    Slow,
    /// The LP solver gave up, or slack columns stay positive at the highest costs.
    Trouble,
}

/// Breakdown of the work.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub rounds: usize,
    pub cuts: usize,
    pub lp: Duration,
    pub pricing: Duration,
    pub separation: Duration,
}

/// A restricted master, with the bound and solution of its present node.
#[derive(Clone)]
pub(super) struct Relaxation<P: Program> {
    pub settings: RootSettings,
    pub master: Master<P>,
    pub spent: Spent,
    /// Safe lower bound on the solutions below the present branchings.
    pub bound: u64,
    /// Value of the last relaxation, slack columns included.
    pub value: f64,
    /// Its solution.
    pub point: P::Point,
    values: Option<Values<P::Column>>,
    /// Mean of the solutions at this node, with growing weights.
    mean: Option<Values<P::Column>>,
    /// Rows and duals of the best bound proven at this node.
    pub proof: Proof<P>,
    /// True if that solution meets every row, apart from cuts that were not separated, or is near
    /// one that does.
    pub settled: bool,
    /// True if no row is violated and no column pays at that solution.
    pub complete: bool,
    /// Cost below which the exclusions hold: every bound is capped there.
    pub cutoff: u64,
    /// Bound at which a convergence ends.
    pub target: u64,
    /// Pivots that count as slow, while another method may still be tried.
    pub slow: Option<ApproachSettings>,
    begin: Instant,
    penalties: usize,
    fresh_starts: usize,
}

impl<P: Program> Relaxation<P> {
    pub fn new(program: Arc<P>, settings: RootSettings) -> Result<Self, ModelError> {
        let base = program.base_cost();
        let mut master = Master::new(program, settings.lp.clone())?;
        master.stop_when(settings.stop.clone());
        Ok(Relaxation {
            settings,
            master,
            spent: Spent::default(),
            bound: base,
            value: base as f64,
            point: P::Point::default(),
            values: None,
            mean: None,
            proof: Proof::default(),
            settled: false,
            complete: false,
            cutoff: u64::MAX,
            target: u64::MAX,
            slow: None,
            begin: Instant::now(),
            penalties: 0,
            fresh_starts: 0,
        })
    }

    pub fn program(&self) -> &P {
        self.master.program()
    }

    /// Moves to another node: sets its branchings, the exclusions below it, and its known bound.
    pub fn enter(
        &mut self,
        branches: &[Branch<P::Quantity>],
        exclusions: Arc<P::Exclusions>,
        bound: u64,
    ) -> Result<(), ModelError> {
        self.master.set_branches(branches)?;
        self.master.set_exclusions(exclusions)?;
        self.bound = bound;
        self.proof.bound = 0;
        self.mean = None;
        self.fresh_starts = 0;
        Ok(())
    }

    /// Returns the rows of the best bound, and the basis of the last relaxation.
    pub fn warm(&self) -> Warm<P> {
        let priced = self.proof.rows.iter().cloned();
        Warm {
            priced: priced.map(Arc::new).collect(),
            basis: self.master.basis(),
        }
    }

    /// Restores the rows, columns and basis of another node's relaxation.
    pub fn restore(&mut self, warm: &Warm<P>) -> Result<(), ModelError> {
        let clock = Instant::now();
        let basis = &warm.basis;
        // Permanent rows are present, apart from branchings that do not hold here.
        let missing = |row: &&Arc<P::Row>| {
            !self.program().row_traits(row).permanent && !self.master.contains(row)
        };
        let rows = warm.priced.iter().chain(&basis.tight).filter(missing);
        let rows = rows.map(|row| (**row).clone()).collect();
        self.master.add_columns(basis.columns.iter().cloned())?;
        self.master.add_rows(rows)?;
        self.master.set_basis(basis)?;
        self.spent.lp += clock.elapsed();
        Ok(())
    }

    /// Excludes choices of no solution below the cutoff that meets the present branchings.
    pub fn exclude(&mut self) -> Result<(), ModelError> {
        if self.cutoff == u64::MAX || self.proof.bound == 0 {
            return Ok(());
        }
        let clock = Instant::now();
        let mut exclusions = (**self.master.exclusions()).clone();
        let Proof { rows, duals, .. } = &self.proof;
        self.program()
            .exclude(&mut exclusions, rows, duals, self.cutoff);
        self.spent.pricing += clock.elapsed();
        self.master.set_exclusions(Arc::new(exclusions))
    }

    pub fn is_late(&self) -> bool {
        let s = &self.settings;
        let over = s.time_limit.is_some_and(|l| self.begin.elapsed() > l);
        let over = over || self.master.work().iterations >= s.pivots;
        over || s.stop.as_ref().is_some_and(|s| s.load(Ordering::Relaxed))
    }

    /// The columns of the last solution.
    pub fn columns(&self) -> Vec<P::Column> {
        let values = self.values.as_ref();
        values.map_or_else(Vec::new, Values::list)
    }

    /// Publishes the bound and the point.
    pub fn publish(&self, incumbents: Option<&Incumbents<P>>) {
        if let Some(incumbents) = incumbents {
            incumbents.publish(self.bound, self.settled, &self.point);
        }
    }

    /// Returns the quantities that the point leaves open, at most `limit`. If there is no such
    /// quantity but a row may be missing, it converges first, because an integral point may violate
    /// that row. `None` if the convergence fails.
    pub fn open(&mut self, limit: usize) -> Result<Option<Vec<Open<P::Quantity>>>, ModelError> {
        let open = self.program().open(&self.point, limit);
        if !open.is_empty() || self.complete {
            return Ok(Some(open));
        }
        let end = self.converge(Until::Converged, None)?;
        Ok((end == RelaxEnd::Converged).then(|| self.program().open(&self.point, limit)))
    }

    /// Notes a solution.
    fn note(&mut self, solution: &Solution) {
        self.value = self.master.value(solution);
        let values = self.master.values(solution);
        self.point = values.point(self.program());
        let mean = self.mean.take();
        self.mean = Some(match mean {
            Some(mean) => values.towards(&mean, MEAN_WEIGHT),
            None => values.clone(),
        });
        self.values = Some(values);
    }
}
