//! Front door: a solve of an instance with a link under a budget, to a plan with copies and a
//! bound.

mod certify;
mod choosing;
mod faster;
mod first;
mod first_ways;
mod sharded;
mod trips;

pub(super) use first::too_small;

use super::envelope::{Envelope, Enveloped, useful_bytes};
use super::outcome::{
    Offloaded, STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES, STAGE_SCHEDULES_WITH_COPIES,
    STAGE_SCHEDULES_WITH_GATHERS,
};
use super::settings::OffloadTuning;
use super::stages::StageListener;
use crate::any::AnyFormulation;
use crate::offload::{CopyPhase, Release};
use crate::written::planned;
use choosing::CopyCandidate;
use remat_instances::instance::{CopyTimes, Instance};
use remat_instances::plan::{Plan, PlanDocument};
use remat_instances::schedule::Schedule;
use remat_instances::simulate::{self, Replay};
use remat_search::{
    BoundProof, Listener, Outcome, Scope, Settings, Solvable, SolveError, Watch, relative_gap,
};
use remat_solver::threads;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A solve that may copy tensors to the host and back.
///
/// The objective is the makespan. Schedules come from solves without a link under budgets enlarged
/// by a share of the [`Envelope`]; for each, annealing chooses copies, evaluated by the clock. The
/// whole envelope gives the bound.
///
/// Without a time limit the answer depends on instance, budget, settings and seed alone.
///
/// ```
/// use remat_formulations::offload::nodes::Offload;
/// use remat_formulations::AnyFormulation;
/// use remat_formulations::zoo;
///
/// let instance = zoo::build(&"zoo:chain?n=6".parse()?)?;
/// let instance = instance.with_host_link(Some("gh200".parse()?))?;
/// let formulation = AnyFormulation::suiting(&instance);
/// let least = remat_formulations::bound::smallest_budget(formulation.instance());
/// let answer = Offload::new(formulation, least.needed_bytes).run()?;
/// assert!(answer.objective()? >= answer.outcome.bound);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Offload<'a> {
    formulation: AnyFormulation,
    budget_bytes: u64,
    phase: CopyPhase,
    release: Release,
    starts: &'a [Plan],
    settings: Settings,
    tuning: OffloadTuning,
    compared: bool,
    proven: bool,
    listener: &'a dyn Listener,
}

impl<'a> Offload<'a> {
    /// A solve by a formulation whose instance has a link, with a budget of the device in bytes.
    pub fn new(formulation: AnyFormulation, budget_bytes: u64) -> Self {
        Offload {
            formulation,
            budget_bytes,
            phase: CopyPhase::Any,
            release: Release::AtOnce,
            starts: &[],
            settings: Settings::default(),
            tuning: OffloadTuning::default(),
            compared: true,
            proven: true,
            listener: &(),
        }
    }

    /// The same with settings; the time limit covers the whole solve.
    pub fn settings(self, settings: Settings) -> Self {
        // Trips and envelopes are about stage schedules.
        let settings = Settings {
            scope: Scope::StageSchedules,
            ..settings
        };
        Offload { settings, ..self }
    }

    /// The same with another time for copies.
    pub fn phase(self, phase: CopyPhase) -> Self {
        Offload { phase, ..self }
    }

    /// The same with a bound under another assumption on the memory of copies. Plans still free
    /// memory when a copy is complete, as a machine does. Under continuous copies the bound comes
    /// from the envelope alone.
    pub fn release(self, release: Release) -> Self {
        Offload { release, ..self }
    }

    /// The same with plans to start from; plans that do not fit are ignored.
    pub fn starts(self, starts: &'a [Plan]) -> Self {
        Offload { starts, ..self }
    }

    /// The same with other tuning.
    pub fn tuning(self, tuning: OffloadTuning) -> Self {
        Offload { tuning, ..self }
    }

    /// The same without a search for the best plan without copies if copies alone close the gap:
    /// [`Offloaded::without_cost`] is then unknown.
    pub fn uncompared(self) -> Self {
        Offload {
            compared: false,
            ..self
        }
    }

    /// The same without the bound of trips and the final bound of the whole envelope.
    fn unproven(self) -> Self {
        Offload {
            proven: false,
            ..self
        }
    }

    /// The same with a listener that follows the solve and may end it.
    pub fn listener(self, listener: &'a dyn Listener) -> Self {
        Offload { listener, ..self }
    }

    /// Solves.
    ///
    /// # Errors
    /// [`SolveError::Inapplicable`] for an instance without a link, whose costs are not times, or
    /// without a loss if copies are made around it. A budget that no plan fits is an outcome
    /// without a plan, not an error.
    pub fn run(&self) -> Result<Offloaded, SolveError> {
        let instance = self.formulation.instance().clone();
        let refused = |because: String| SolveError::Inapplicable {
            formulation: "offload".into(),
            instance: instance.name().into(),
            because,
        };
        let Some(link) = instance.host_link() else {
            let because = match instance.is_sharded() {
                true => "it gathers weights or scatters gradients and has no link (host_link)",
                false => "it has no link to host memory (host_link)",
            };
            return Err(refused(because.into()));
        };
        if self.phase == CopyPhase::Loss && instance.loss().is_none() {
            return Err(refused(
                "it has no loss, before and behind which copies could be made".into(),
            ));
        }
        let unit = instance.cost_unit();
        let times = link.times(unit).ok_or_else(|| {
            refused(format!(
                "its cost unit {:?} is no time, and copies take time",
                unit.name
            ))
        })?;
        let settings = Settings {
            begun: Some(self.settings.begun.unwrap_or_else(Instant::now)),
            prove: false,
            ..self.settings.clone()
        };
        let watch = Watch::new(&settings, self.listener);
        let plain = instance.plain_replay(self.formulation.semantics())?;
        let base = Envelope::first_costs(&instance);
        let count = settings.threads;
        let pool = threads::pool(count);
        let pool = pool.map_err(|source| SolveError::Threads {
            threads: count,
            source,
        })?;
        let mut search = Searching {
            asked: self,
            instance: &instance,
            times,
            base,
            room: plain.peak_bytes.saturating_sub(self.budget_bytes),
            useful: (useful_bytes(&instance, self.formulation.semantics()).into_iter())
                .map(|bytes| bytes.saturating_sub(self.budget_bytes))
                .collect(),
            stages: StageListener::new(self.listener, base),
            settings: &settings,
            watch: &watch,
            pool: &pool,
            answer: Offloaded {
                instance: instance.clone(),
                outcome: Outcome::new(base),
                plan: None,
                without_cost: None,
            },
            sequences: Vec::new(),
            without: None,
            met: None,
            proof: None,
            has_trips: false,
        };
        search.run()?;
        if self.settings.prove {
            search.certify()?;
        }
        Ok(search.end())
    }
}

/// State of a running search.
struct Searching<'a> {
    asked: &'a Offload<'a>,
    instance: &'a Arc<Instance>,
    times: CopyTimes,
    /// Cost of all first computations.
    base: u64,
    /// Memory that the step without recomputation needs beyond the budget, in bytes.
    room: u64,
    /// Bytes beyond the budget that can be of use in each stage.
    useful: Vec<u64>,
    stages: StageListener<'a>,
    settings: &'a Settings,
    watch: &'a Watch<'a>,
    pool: &'a rayon::ThreadPool,
    answer: Offloaded,
    /// Sequences in which computations wait: the best first.
    sequences: Vec<CopyCandidate>,
    /// Best schedule without copies, and the lower bound on the cost of such schedules.
    without: Option<(Schedule, u64)>,
    /// Time at which the gap was first met.
    met: Option<Duration>,
    /// Proof with the highest bound.
    proof: Option<BoundProof>,
    /// True if trips have been tried.
    has_trips: bool,
}

impl Searching<'_> {
    /// Makespan of the best plan.
    fn cost(&self) -> Option<u64> {
        self.answer.outcome.cost()
    }

    /// Returns whether the time is over, or the gap is met and any overtime is over.
    fn is_done(&mut self) -> bool {
        let bound = self.answer.outcome.bound;
        let open = self.cost().map(|cost| relative_gap(cost, bound));
        if open.is_none_or(|open| open > self.settings.gap) {
            return self.watch.is_over();
        }
        let now = self.watch.elapsed();
        let met = *self.met.get_or_insert(now);
        open == Some(0.0) || now >= met + self.settings.overtime_after(met) || self.watch.is_over()
    }

    /// Returns whether bounds by trips and by the exact search apply: both assume that memory is
    /// free when a copy is complete.
    fn is_at_once(&self) -> bool {
        self.asked.release == Release::AtOnce
    }

    /// Returns whether bounds of solves without a link are valid for all plans in stages.
    fn is_stage_bound(&self) -> bool {
        !self.asked.formulation.semantics().charges_more_than_plans()
    }

    fn run(&mut self) -> Result<(), SolveError> {
        if self.instance.is_sharded() {
            return self.sharded();
        }
        if let Some(because) = too_small(&self.asked.formulation, self.asked.budget_bytes) {
            self.answer.outcome.infeasible_because = Some(because);
            return Ok(());
        }
        let tuning = self.asked.tuning;
        for plan in self.asked.starts {
            self.offer(plan.clone());
        }
        if self.exactly() || self.uncopied()? {
            return Ok(());
        }
        self.copies_alone()?;
        if self.is_done() && !self.asked.compared {
            return Ok(());
        }
        self.without_link(self.part(tuning.without_share, 2))?;
        let chains = self.chains();
        // The whole envelope is the most that a link can carry; if no computation waits, its plan
        // is the answer.
        self.probe(1.0, self.extra(), tuning.probe_share)?;
        let extra = self.extra();
        let (mut low, mut high) = (0.0, 1.0);
        for _ in 0..tuning.probes {
            if self.is_done() || self.room == 0 {
                break;
            }
            let share = (low + high) / 2.0;
            match self.probe(share, extra, tuning.probe_share)? {
                Probe::Waits => high = share,
                Probe::Smooth | Probe::Nothing => low = share,
            }
        }
        // Chain plans are offered only now, so that the envelope above depends on the search's own
        // plans.
        chains.into_iter().for_each(|plan| self.offer(plan));
        if self.room == 0 && self.is_stage_bound() {
            return Ok(());
        }
        if !self.is_done() {
            self.widen()?;
        }
        if !self.is_done() {
            self.polish(tuning.polish_share);
        }
        if !self.is_done() {
            self.first_ways(tuning.first_ways_share)?;
        }
        // With a slow link, a better plan without copies may beat the best plan with copies.
        let beaten = |(_, bound): &(Schedule, u64)| self.cost().is_none_or(|cost| *bound < cost);
        if self.without.as_ref().is_some_and(beaten) && !self.is_done() {
            let settings = Settings {
                gap: self.settings.gap,
                ..self.part(tuning.again_share, 1)
            };
            self.without_link(settings)?;
        }
        if !self.is_done() {
            self.prove_by_trips(tuning.trip_shares)?;
        }
        if !self.is_done() {
            self.prove(tuning.bound_share)?;
        }
        if !self.is_done() && self.watch.left().is_some() {
            self.polish(tuning.bound_share);
        }
        // The rest of a time limit goes to finer shares of the smaller envelope.
        for _ in 0..tuning.further_rounds {
            if self.is_done() || self.watch.left().is_none() {
                break;
            }
            let (mut low, mut high, extra) = (0.5, 1.0, self.extra());
            for _ in 0..tuning.probes {
                if self.is_done() {
                    break;
                }
                let share = (low + high) / 2.0;
                match self.probe(share, extra, tuning.further_share)? {
                    Probe::Waits => high = share,
                    Probe::Smooth | Probe::Nothing => low = share,
                }
            }
            self.polish(tuning.further_share);
            if !self.is_done() {
                self.prove(tuning.bound_share)?;
            }
        }
        Ok(())
    }

    /// Settings of a partial solve with a share of the time left.
    fn part(&self, share: f64, parts: u32) -> Settings {
        let left = self.watch.left();
        let settings = self.settings.clone().without_overtime();
        Settings {
            time_limit: left.map(|left| self.watch.elapsed() + left.mul_f64(share)),
            rounds: (settings.rounds / parts).max(1),
            iterations: settings.iterations / u64::from(parts),
            gap: settings.gap.max(self.asked.tuning.probe_gap),
            ..settings
        }
    }

    fn count(&mut self, outcome: &Outcome) {
        self.answer.outcome.nodes += outcome.nodes;
        self.answer.outcome.lp_iterations += outcome.lp_iterations;
        self.answer.outcome.moves += outcome.moves;
    }

    /// Searches for the best plan without copies.
    fn without_link(&mut self, settings: Settings) -> Result<(), SolveError> {
        let asked = self.asked;
        let start = self.without.take().map(|(schedule, _)| schedule);
        let start = start.as_slice();
        let outcome =
            asked
                .formulation
                .solve(asked.budget_bytes, start, &settings, &self.stages)?;
        self.count(&outcome);
        self.answer.without_cost = outcome.cost();
        if let Some(schedule) = outcome.schedule {
            let plan = schedule.plan(self.instance)?.optimised(self.instance)?;
            self.offer(plan);
            self.without = Some((schedule, outcome.bound));
        }
        Ok(())
    }

    /// Time of the best plan above the cost of all first computations; that cost itself if there is
    /// no plan.
    fn extra(&self) -> u64 {
        self.cost()
            .map_or(self.base, |cost| cost.saturating_sub(self.base))
    }

    /// Solves without a link under the budget plus a share of the envelope; returns the outcome
    /// with its instance, or `None` if the envelope cannot be built in.
    fn enveloped(
        &mut self,
        share: f64,
        extra: u64,
        settings: &Settings,
    ) -> Result<Option<(Outcome, Enveloped, AnyFormulation)>, SolveError> {
        let instance = self.instance;
        let host = instance.host_link().and_then(|link| link.host_memory_bytes);
        let envelope = Envelope::of(instance, &self.times, self.asked.phase, host, extra);
        let Ok(made) = Enveloped::of(instance, &envelope.scaled(share), &self.useful) else {
            return Ok(None);
        };
        let semantics = self.asked.formulation.semantics();
        let formulation = AnyFormulation::of(&made.instance, semantics)?;
        let budget = self.asked.budget_bytes.saturating_add(made.most_bytes);
        let settings = Settings {
            prove: share == 1.0 && self.is_certified(),
            ..settings.clone()
        };
        let outcome = formulation.solve(budget, &[], &settings, &self.stages)?;
        self.count(&outcome);
        if share == 1.0 && self.is_stage_bound() {
            // Plans that the envelope does not cover cost more than `beyond`.
            let beyond = self.base.saturating_add(extra);
            if let Some(within) = &outcome.proof {
                self.certify_by_envelope(&made, beyond, within);
            }
            let bound = match outcome.infeasible_because {
                Some(_) => beyond,
                None => outcome.bound.min(beyond),
            };
            self.learn(bound);
        }
        Ok(Some((outcome, made, formulation)))
    }

    fn learn(&mut self, bound: u64) {
        let outcome = &mut self.answer.outcome;
        outcome.bound = outcome.bound.max(bound);
        if let Some(cost) = outcome.cost() {
            outcome.bound = outcome.bound.min(cost);
        }
        self.stages.learn(outcome.bound);
    }

    /// Tries a share of the envelope: finds a schedule, and copies for it.
    fn probe(&mut self, share: f64, extra: u64, time: f64) -> Result<Probe, SolveError> {
        let settings = self.part(time, 4);
        let Some((outcome, made, formulation)) = self.enveloped(share, extra, &settings)? else {
            return Ok(Probe::Nothing);
        };
        let Some(schedule) = &outcome.schedule else {
            return Ok(Probe::Nothing);
        };
        let document = planned(formulation.instance(), schedule, u64::MAX);
        let Ok(document) = document.map(|p| p.document) else {
            return Ok(Probe::Nothing);
        };
        let plan = made.strip(self.instance, &document.plan);
        self.choose_for(&plan, time)
    }

    /// Improves the bound by the whole envelope of the best plan.
    fn prove(&mut self, share: f64) -> Result<(), SolveError> {
        if !self.asked.proven || !self.is_stage_bound() {
            return Ok(());
        }
        let settings = Settings {
            gap: self.settings.gap,
            ..self.part(share, 1)
        };
        self.enveloped(1.0, self.extra(), &settings).map(|_| ())
    }

    /// Replays a plan, and keeps it if it fits and beats the incumbent.
    fn offer(&mut self, plan: Plan) {
        let Ok(replay) = simulate::plan(self.instance, &plan) else {
            return;
        };
        let better = self.cost().is_none_or(|cost| replay.makespan < cost);
        if !self.fits(&replay) || !better {
            return;
        }
        let budget = self.asked.budget_bytes;
        let document = PlanDocument::of(self.instance, plan, &replay, Some(budget));
        let (cost, instance) = (replay.makespan, self.instance.clone());
        let written = document.clone();
        self.stages.found(cost, &|| Some(written.write(&instance)));
        self.answer.plan = Some(document);
        self.answer.outcome.replay = Some(replay);
        self.learn(0);
    }

    fn fits(&self, replay: &Replay) -> bool {
        let link = self.instance.host_link();
        let host = link.and_then(|link| link.host_memory_bytes);
        replay.peak_bytes <= self.asked.budget_bytes
            && host.is_none_or(|host| replay.transfers.host_peak_bytes <= host)
            && self.asked.phase.admits(self.instance, replay)
    }

    /// The answer, with status and gap.
    fn end(self) -> Offloaded {
        let mut answer = self.answer;
        let outcome = &mut answer.outcome;
        outcome.bound_scope = match self.asked.release {
            Release::AtOnce if self.instance.is_sharded() => STAGE_SCHEDULES_WITH_GATHERS,
            Release::AtOnce => STAGE_SCHEDULES_WITH_COPIES,
            Release::Continuous => STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES,
        };
        outcome.proof = self.proof;
        if let Some(cost) = outcome.cost() {
            outcome.gap = Some(relative_gap(cost, outcome.bound));
        }
        let interrupted = self.watch.listener().is_interrupted();
        outcome.settle(self.settings.gap, interrupted);
        outcome.seconds = self.watch.elapsed().as_secs_f64();
        answer
    }
}

/// Outcome of a share of the envelope.
enum Probe {
    /// Copies for which no computation waits.
    Smooth,
    /// Computations wait, or no copies fit.
    Waits,
    /// No schedule.
    Nothing,
}
