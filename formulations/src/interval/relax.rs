//! The relaxation of a node: columns and rows until nothing is violated and nothing pays, cuts, and again.

use super::lagrangian::Proof;
use super::tail::{CutEffort, spread};
use super::values::Values;
use super::warm::Warm;
use super::{Branch, Journal, Master, Permits, Program, Relaxed, RootSettings, RowLimits};
use remat_lp::{Algorithm, LpOutcome, ModelError, Solution};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The safe bound is computed at the end of each convergence, and every so many rounds.
const BOUND_EVERY: usize = 25;
/// How often overflow is made dearer, eightfold each time.
const PENALTIES: usize = 8;
/// How often at a node the LP solver is given another try from the slack basis.
const FRESH_STARTS: usize = 20;
/// A value that has moved by less than this share of it since the last solve is near that of the relaxation.
const CALM: f64 = 1e-3;
/// A value that stays within this share of it over so many solves stands still.
const STILL: f64 = 2e-5;
const STILL_SOLVES: usize = 10;
/// A bound that is lower than the value by more than this share of it lags behind.
const LAG: f64 = 2e-3;
/// How much of the mean of a node's solutions is in the next one's, and how much of it in the point inside.
const MEMORY: f64 = 0.8;
/// Fewer cuts than this at the point inside are few.
const FEW: usize = 20;
/// A convergence grows more patient after so many rounds, and again.
const PATIENT_EVERY: u32 = 32;

/// How a convergence ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RelaxEnd {
    /// As far as was asked for: nothing is violated and nothing pays, the value stands still, or every tensor is where it is needed.
    Converged,
    /// The bound has reached the target.
    Cutoff,
    /// Memory overflows however dear it is, or a branching cannot be met.
    Infeasible,
    /// Time is over or the flag is set.
    Late,
    /// The LP solver gave up.
    Trouble,
}

/// How far a relaxation is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Until every tensor is where it is needed, in general a single time.
    Met,
    /// Until the value stands still. Large programs bring rows and columns on a plateau for as long as they took to come there.
    Still,
    /// Until nothing is violated and nothing pays.
    End,
}

/// Where the work went.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Spent {
    pub rounds: usize,
    pub cuts: usize,
    pub lp: Duration,
    pub pricing: Duration,
    pub separation: Duration,
}

/// What goes on beside a relaxation while it is solved.
pub trait Company<P: Program> {
    /// Is shown the relaxation on its way.
    fn notice(&self, _: &Relaxed<'_, P>) {}
    /// The intervals of a better schedule, once when there is one.
    fn offers(&self) -> Vec<P::Column> {
        Vec::new()
    }
}

/// Nothing.
impl<P: Program> Company<P> for () {}

/// A restricted program, and what is known of the node it stands at.
#[derive(Clone)]
pub(super) struct Relaxation<P: Program> {
    pub settings: RootSettings,
    pub master: Master<P>,
    pub spent: Spent,
    /// Safe lower bound on the schedules below the present branchings.
    pub bound: u64,
    /// Value of the last relaxation, everything included.
    pub value: f64,
    /// Its solution.
    pub point: P::Point,
    values: Option<Values<P::Column>>,
    /// The mean of the solutions at this node, the later the more.
    mean: Option<Values<P::Column>>,
    /// Rows and duals of the best bound that was proven here.
    pub proof: Proof<P>,
    /// Whether that solution meets every row, apart from cuts that were not looked for, or is near one that does.
    pub settled: bool,
    /// Whether nothing is violated and nothing pays at that solution.
    pub complete: bool,
    /// What is permitted holds below this cost: no bound is above it.
    pub cutoff: u64,
    /// Bounds from here on end a convergence.
    pub target: u64,
    begin: Instant,
    penalties: usize,
    fresh_starts: usize,
}

impl<P: Program> Relaxation<P> {
    pub fn new(
        program: Arc<P>,
        settings: RootSettings,
        journal: Option<Box<dyn Journal>>,
    ) -> Result<Self, ModelError> {
        let base = program.base_cost();
        let mut master = Master::new(program, settings.lp.clone(), journal)?;
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
            begin: Instant::now(),
            penalties: 0,
            fresh_starts: 0,
        })
    }

    pub fn program(&self) -> &P {
        self.master.program()
    }

    /// Goes to another node: its branchings, what is permitted below it, and the bound that is known there.
    pub fn enter(
        &mut self,
        branches: &[Branch<P::Quantity>],
        permits: Arc<Permits>,
        bound: u64,
    ) -> Result<(), ModelError> {
        self.master.set_branches(branches)?;
        self.master.permit(permits)?;
        self.bound = bound;
        self.proof.bound = 0;
        self.mean = None;
        self.fresh_starts = 0;
        Ok(())
    }

    /// What the last relaxation, and the best bound here, rest on.
    pub fn warm(&self) -> Warm<P> {
        let priced = self.proof.rows.iter().cloned();
        Warm {
            priced: priced.map(Arc::new).collect(),
            basis: self.master.basis(),
        }
    }

    /// Takes in what the relaxation of another node rests on, and goes to its basis.
    pub fn take(&mut self, warm: &Warm<P>) -> Result<(), ModelError> {
        let clock = Instant::now();
        let basis = &warm.basis;
        // Permanent rows are there, apart from branchings that do not hold here.
        let missing = |row: &&Arc<P::Row>| {
            !self.program().nature(row).permanent && !self.master.contains(row)
        };
        let rows = warm.priced.iter().chain(&basis.tight).filter(missing);
        let rows = rows.map(|row| (**row).clone()).collect();
        self.master.add_columns(basis.intervals.iter().copied())?;
        self.master.add_rows(rows)?;
        self.master.set_basis(basis)?;
        self.spent.lp += clock.elapsed();
        Ok(())
    }

    /// Excludes what no schedule below the cutoff does that meets the present branchings.
    pub fn exclude(&mut self) -> Result<(), ModelError> {
        if self.cutoff == u64::MAX || self.proof.bound == 0 {
            return Ok(());
        }
        let clock = Instant::now();
        let mut permits = (**self.master.permits()).clone();
        let Proof { rows, duals, .. } = &self.proof;
        self.program()
            .exclude(&mut permits, rows, duals, self.cutoff);
        self.spent.pricing += clock.elapsed();
        self.master.permit(Arc::new(permits))
    }

    pub fn is_late(&self) -> bool {
        let s = &self.settings;
        let over = s.time_limit.is_some_and(|l| self.begin.elapsed() > l);
        over || s.stop.as_ref().is_some_and(|s| s.load(Ordering::Relaxed))
    }

    /// Cut rounds at the present node until they are idle; `company` is shown each.
    pub fn cut_rounds(
        &mut self,
        effort: CutEffort,
        company: &dyn Company<P>,
    ) -> Result<RelaxEnd, ModelError> {
        let mut eager = effort.eager;
        let mut end = RelaxEnd::Converged;
        let start = self.bound as f64;
        let mut values = vec![self.value];
        for round in 0..effort.rounds {
            let added = self.add_cuts(effort.inside)?;
            if added == 0 && !eager {
                return Ok(end);
            }
            end = self.converge(if eager { Until::Met } else { Until::Still }, company)?;
            company.notice(&Relaxed(self));
            if self.settings.verbose {
                println!("cut round {round}: {added} cuts, {}", self.summary());
            }
            if end != RelaxEnd::Converged {
                return Ok(end);
            }
            values.push(self.value);
            if !eager && effort.tail.holds(&values, start, effort.tail.rounds) {
                return Ok(end);
            }
            if eager && effort.tail.holds(&values, start, effort.tail.eager_rounds) {
                // What is left is in the tail: from here on every relaxation is solved to its end.
                eager = false;
                end = self.converge(Until::Still, company)?;
                company.notice(&Relaxed(self));
                if end != RelaxEnd::Converged {
                    return Ok(end);
                }
                values = vec![self.value];
            }
        }
        if eager {
            end = self.converge(Until::Still, company)?;
        }
        Ok(end)
    }

    fn summary(&self) -> String {
        format!(
            "{:.2}, bound {}, {} rows, {} columns, {} pivots, lp {:.2} s, pricing {:.2} s, separation {:.2} s",
            self.value,
            self.bound,
            self.master.rows().len(),
            self.master.num_columns(),
            self.master.work().iterations,
            self.spent.lp.as_secs_f64(),
            self.spent.pricing.as_secs_f64(),
            self.spent.separation.as_secs_f64()
        )
    }

    /// Cuts at the solution, or at a point `inside` the relaxation, between it and the mean of those before: a vertex has whatever no row
    /// forbids yet, the next one has something else, and what cuts the point inside off cuts off much that is near both (in-out
    /// separation; Ben-Ameur & Neto 2007, Fischetti & Salvagnin 2010).
    fn add_cuts(&mut self, inside: bool) -> Result<usize, ModelError> {
        let clock = Instant::now();
        let s = &self.settings;
        let program = self.program();
        let cuts = |point: &P::Point| program.cuts(point, &s.separation, s.memory_cuts);
        let mut rows = match (&self.values, &self.mean) {
            (Some(last), Some(mean)) if inside => cuts(&last.towards(mean, MEMORY).point(program)),
            _ => Vec::new(),
        };
        if rows.len() < FEW {
            rows.extend(cuts(&self.point));
        }
        self.spent.separation += clock.elapsed();
        let clock = Instant::now();
        let added = self.master.add_rows(rows)?;
        self.spent.lp += clock.elapsed();
        self.spent.cuts += added;
        Ok(added)
    }

    /// Solves with rows and columns coming in; `company` is shown some on the way.
    pub fn converge(
        &mut self,
        until: Until,
        company: &dyn Company<P>,
    ) -> Result<RelaxEnd, ModelError> {
        self.settled = false;
        let mut algorithm = Algorithm::Auto;
        let mut round = 0;
        let mut values = Vec::new();
        loop {
            round += 1;
            let offers = company.offers();
            let clock = Instant::now();
            if !offers.is_empty() {
                self.master.keep(offers)?;
                algorithm = Algorithm::Auto;
            }
            let outcome = self.master.solve(algorithm);
            self.spent.lp += clock.elapsed();
            self.spent.rounds += 1;
            let LpOutcome::Optimal(solution) = outcome else {
                if self.is_late() {
                    return Ok(RelaxEnd::Late);
                }
                if self.fresh_starts >= FRESH_STARTS {
                    return Ok(RelaxEnd::Trouble);
                }
                // The program is feasible and bounded: another way to the optimum may find it.
                self.fresh_starts += 1;
                self.master.forget_basis();
                algorithm = Algorithm::Auto;
                continue;
            };
            let late = self.is_late();
            let overflow = self.master.overflow(&solution);
            let met = self.master.is_met(&solution);
            let moved = (self.master.value(&solution) - self.value).abs();
            // Before the purge: afterwards the solution's columns are others than the program's.
            self.note(&solution);
            values.push(self.value);
            let still = spread(&values, STILL_SOLVES)
                .is_some_and(|(apart, most)| apart <= STILL * most.abs());
            let enough = met
                && match until {
                    Until::Met => true,
                    Until::Still => still,
                    Until::End => false,
                };
            let rows = self.violated_rows(overflow);
            let mut columns = Vec::new();
            if !self.settings.alternate || rows.is_empty() || enough {
                let (priced, estimate) = self.price(&solution);
                columns = priced;
                let last = late || enough || (rows.is_empty() && columns.is_empty());
                let over = estimate > self.target as f64 - 1.0 + 1e-6;
                if last || over || self.spent.rounds.is_multiple_of(BOUND_EVERY) {
                    self.prove(&solution);
                }
            }
            if self.spent.rounds.is_multiple_of(BOUND_EVERY) {
                company.notice(&Relaxed(self));
            }
            if self.bound >= self.target {
                return Ok(RelaxEnd::Cutoff);
            }
            let clock = Instant::now();
            if self.settings.purge_age > 0 {
                let age = self.settings.purge_age;
                let patience = round / PATIENT_EVERY;
                self.master
                    .purge(&solution, age, until == Until::Met, patience)?;
            }
            let added_columns = self.master.add_columns(columns)?;
            let added_rows = self.master.add_rows(rows)?;
            self.spent.lp += clock.elapsed();
            if self.settings.verbose {
                println!(
                    "  +{added_rows} rows +{added_columns} columns, overflow {overflow:.3}: {}",
                    self.summary()
                );
            }
            algorithm = match (added_rows > 0, added_columns > 0) {
                (true, false) => Algorithm::Dual,
                (false, true) => Algorithm::Primal,
                _ => Algorithm::Auto,
            };
            self.complete = added_rows + added_columns == 0;
            if !self.complete && !late && !enough {
                // What still overflows on a plateau may be too cheap.
                if still && !met && round % PATIENT_EVERY == 0 {
                    self.raise_penalties()?;
                }
                continue;
            }
            self.settled = met && !late && (self.complete || moved < CALM * self.value.abs());
            return Ok(if self.bound > self.program().costliest() {
                RelaxEnd::Infeasible
            } else if late {
                RelaxEnd::Late
            } else if met {
                RelaxEnd::Converged
            } else if self.raise_penalties()? {
                continue;
            } else {
                RelaxEnd::Trouble
            });
        }
    }

    /// Makes what the program lacks dearer, if that has not been done too often.
    fn raise_penalties(&mut self) -> Result<bool, ModelError> {
        let dearer = self.penalties < PENALTIES;
        if dearer {
            self.penalties += 1;
            self.master.raise_penalties(8.0)?;
        }
        Ok(dearer)
    }

    /// Solves with the rows and columns that came last, and lets no more in: trials of branchings start from an optimum, or all of
    /// them would first find the way to it.
    pub fn rest(&mut self) {
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

    /// The intervals that pay, and the Lagrangian bound up to rounding.
    fn price(&mut self, solution: &Solution) -> (Vec<P::Column>, f64) {
        let clock = Instant::now();
        let pricing = self
            .master
            .price(solution, self.settings.columns_per_tensor, 1e-4);
        self.spent.pricing += clock.elapsed();
        let best = pricing
            .candidates
            .iter()
            .take(self.settings.columns_per_round);
        (best.map(|c| c.interval).collect(), pricing.bound)
    }

    /// Notes a solution.
    fn note(&mut self, solution: &Solution) {
        self.value = self.master.value(solution);
        let values = self.master.values(solution);
        self.point = values.point(self.program());
        let mean = self.mean.take();
        self.mean = Some(match mean {
            Some(mean) => values.towards(&mean, MEMORY),
            None => values.clone(),
        });
        self.values = Some(values);
    }

    /// Computes the safe bound of a solution's duals, and of some that are nearer the best so far where it lags behind the value.
    fn prove(&mut self, solution: &Solution) {
        let clock = Instant::now();
        let master = &self.master;
        let (program, permits) = (master.program(), master.permits());
        let mut proof = Proof::of(program, permits, master.rows(), &master.duals(solution));
        let best = proof.bound.max(self.proof.bound) as f64;
        if self.proof.bound > 0 && best < (1.0 - LAG) * master.value(solution) {
            let between = self.proof.between(&proof, program, permits);
            if between.bound > proof.bound {
                proof = between;
            }
        }
        // Permits hold below the cutoff, so no bound is above it.
        proof.bound = proof.bound.min(self.cutoff);
        self.bound = self.bound.max(proof.bound);
        if proof.bound >= self.proof.bound {
            self.proof = proof;
        }
        self.spent.pricing += clock.elapsed();
    }

    fn violated_rows(&mut self, overflow: f64) -> Vec<P::Row> {
        let clock = Instant::now();
        let program = self.master.program();
        let limits = RowLimits {
            // Overflow is as good as memory: only what exceeds both is news.
            overflow_bytes: overflow * program.memory_unit(),
            memory_per_stage: self.settings.memory_rows_per_stage,
            memory: self.settings.memory_rows_per_round,
            known: &|row| self.master.contains(row),
        };
        let rows = program.violated(&self.point, &limits);
        self.spent.separation += clock.elapsed();
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bound::smallest_budget;
    use crate::checkmate::Graph;
    use crate::checkmate::interval::Quantity;
    use crate::interval::Group;
    use remat_instances::zoo::{self, ModelSpec};

    fn resnet18() -> Relaxation<Graph> {
        let spec = "resnet18".parse::<ModelSpec>().unwrap();
        let instance = zoo::build(&spec).unwrap();
        let budget = smallest_budget(&instance).needed_bytes * 3 / 2;
        let graph = Arc::new(Graph::new(&instance, budget).unwrap());
        Relaxation::new(graph, RootSettings::default(), None).unwrap()
    }

    #[test]
    fn at_rest_a_trial_that_asks_for_nothing_has_nothing_to_do() {
        let mut relax = resnet18();
        assert_eq!(
            relax.converge(Until::Met, &()).unwrap(),
            RelaxEnd::Converged
        );
        assert!(!relax.complete);
        let nothing = Branch {
            quantity: Quantity::Held {
                of: Group::One(0),
                stage: 1,
            },
            at_least: true,
            count: 0,
        };
        let trial = |relax: &Relaxation<Graph>| {
            let (value, work) = relax
                .master
                .probe(&nothing, u64::MAX, f64::INFINITY)
                .unwrap();
            (value - relax.value, work.iterations)
        };
        let (_, pivots) = trial(&relax);
        assert!(pivots > 0, "the last solve was the optimum already");
        relax.rest();
        let (gain, pivots) = trial(&relax);
        assert_eq!(pivots, 0);
        assert!(gain.abs() <= 1e-9 * relax.value, "{gain}");
    }

    #[test]
    fn a_node_that_is_taken_up_again_begins_where_it_ended() {
        let mut relax = resnet18();
        relax.converge(Until::Met, &()).unwrap();
        relax.rest();
        let (value, warm) = (relax.value, relax.warm());
        let permits = relax.master.permits().clone();
        let pivots = |relax: &mut Relaxation<Graph>, branches: &[_], warm: Option<_>| {
            relax.enter(branches, permits.clone(), 0).unwrap();
            if let Some(warm) = warm {
                relax.take(warm).unwrap();
            }
            let before = relax.master.work().iterations;
            let LpOutcome::Optimal(solution) = relax.master.solve(Algorithm::Auto) else {
                panic!("the program is feasible and bounded")
            };
            relax.note(&solution);
            relax.master.work().iterations - before
        };
        let held = Branch {
            quantity: Quantity::Held {
                of: Group::One(0),
                stage: 1,
            },
            at_least: false,
            count: 0,
        };
        assert!(pivots(&mut relax, &[held], None) > 0);
        assert!(relax.value > value);
        let mut other = relax.clone();
        assert_eq!(pivots(&mut relax, &[], Some(&warm)), 0);
        assert!((relax.value - value).abs() <= 1e-9 * value);
        assert!(pivots(&mut other, &[], None) > 0);
    }
}
