//! From a search to the answer.
//!
//! With one stage on a device the search is exact: it bounds the objective itself.
//!
//! With `V` stages on a device, stages share its memory. Plans come from a search in which a stage
//! counts the micro-batches in flight on its whole device, and its own fixed memory `V` times, as if
//! the device's stages were alike. The replay of all events then tells the true peak, and a device
//! above its budget is searched again with less. The bound comes from a second search in which a
//! stage has its device for itself. That search bounds the sum of all times; the slowest device takes
//! at least an equal share of it.

use crate::descent::DeviceObjective;
use crate::path::Cuts;
use crate::pipeline::{Pipeline, PipelineError, PipelineSettings};
use crate::search::{Found, Limits, Search, Work};
use crate::solution::{Arranged, PipelineSolution, StagePlan};
use crate::tables::{Program, Tables};
use remat_instances::pipeline::arrangement::{Arrangement, Device};
use remat_instances::pipeline::timeline::objective;
use remat_instances::plan::{Plan, PlanDocument};
use remat_instances::simulate;
use remat_search::{Listener, Status, relative_gap};
use std::time::{Duration, Instant};

/// Searches for plans of an interleaved schedule at most.
const ATTEMPTS: usize = 4;
/// Share of the time for these searches; the rest is for the bound.
const PLAN_SHARE: f64 = 0.6;

impl Pipeline<'_, '_> {
    /// Solves.
    ///
    /// # Errors
    /// [`PipelineError`] of an inner problem. Budgets that no pipeline keeps give a solution without
    /// a pipeline.
    pub fn solve(
        &self,
        settings: &PipelineSettings,
        listener: &dyn Listener,
    ) -> Result<PipelineSolution, PipelineError> {
        let begun = Instant::now();
        let limits = |share: f64| Limits {
            settings,
            listener,
            end: settings
                .time_limit
                .map(|limit| begun + limit.mul_f64(share)),
        };
        let mut answer = Answered::default();
        match self.schedule.chunks() {
            1 => plain(self, limits(1.0), &mut answer)?,
            _ => {
                interleaved(self, limits(PLAN_SHARE), &mut answer)?;
                bound_of_interleaved(self, limits(1.0), &mut answer)?;
            }
        }
        Ok(answer.solution(self, settings, listener, begun.elapsed()))
    }
}

/// The parts of an answer.
#[derive(Default)]
struct Answered {
    best: Option<Arranged>,
    bound: u64,
    is_infeasible: bool,
    work: Work,
}

impl Answered {
    fn count(&mut self, work: &Work) {
        self.work.solves += work.solves;
        self.work.nodes += work.nodes;
        self.work.lp_iterations += work.lp_iterations;
    }

    fn solution(
        self,
        pipeline: &Pipeline<'_, '_>,
        settings: &PipelineSettings,
        listener: &dyn Listener,
        elapsed: Duration,
    ) -> PipelineSolution {
        let met = |best: &Arranged| relative_gap(best.replay.objective, self.bound) <= settings.gap;
        let status = match &self.best {
            _ if self.is_infeasible => Status::Infeasible,
            Some(best) if met(best) => Status::Optimal,
            _ if listener.is_interrupted() => Status::Interrupted,
            Some(_) => Status::Feasible,
            None => Status::Limit,
        };
        let because = format!(
            "at all {} positions every choice of {} cuts has a stage that no plan of its device fits",
            pipeline.positions.len(),
            pipeline.schedule.stages() - 1
        );
        let known = self.best.as_ref().map(|best| best.replay.objective);
        PipelineSolution {
            schedule: pipeline.schedule,
            devices: pipeline.devices.clone(),
            link: pipeline.link.clone(),
            positions: pipeline.positions.len(),
            bound: known.map_or(self.bound, |known| self.bound.min(known)),
            best: self.best,
            status,
            infeasible_because: self.is_infeasible.then_some(because),
            elapsed,
            solves: self.work.solves,
            nodes: self.work.nodes,
            lp_iterations: self.work.lp_iterations,
        }
    }
}

/// One stage on a device.
fn plain(
    pipeline: &Pipeline<'_, '_>,
    limits: Limits<'_>,
    answer: &mut Answered,
) -> Result<(), PipelineError> {
    let schedule = &pipeline.schedule;
    let program = Program {
        devices: pipeline.devices.clone(),
        in_flight: (0..schedule.stages())
            .map(|s| schedule.in_flight(s))
            .collect(),
        copies: 1,
        steps: u64::from(schedule.microbatches() - 1),
        sends: true,
        by_device: None,
    };
    let mut search = Search::new(pipeline.intervals()?, &program, limits);
    let Found { cuts, bound } = search.run()?;
    answer.count(&search.work);
    answer.is_infeasible = bound.is_none();
    answer.bound = bound.unwrap_or(0);
    if let Some(cuts) = cuts {
        let found = arranged(pipeline, &search.tables, &cuts)?;
        check(pipeline, &found)?;
        answer.best = Some(found);
    }
    Ok(())
}

/// Plans of an interleaved schedule.
fn interleaved(
    pipeline: &Pipeline<'_, '_>,
    limits: Limits<'_>,
    answer: &mut Answered,
) -> Result<(), PipelineError> {
    let schedule = &pipeline.schedule;
    let of = |stage: usize| schedule.device_of(stage);
    let chunks = schedule.chunks() as u64;
    let intervals = pipeline.intervals()?;
    let mut devices = pipeline.devices.clone();
    for _ in 0..ATTEMPTS {
        let stages = 0..schedule.stages();
        let program = Program {
            devices: stages.clone().map(|stage| devices[of(stage)]).collect(),
            in_flight: stages
                .map(|stage| schedule.in_flight_on(of(stage)))
                .collect(),
            copies: chunks,
            steps: chunks * (chunks * u64::from(schedule.microbatches()) - 1),
            sends: true,
            by_device: Some(DeviceObjective(*schedule)),
        };
        let mut search = Search::new(intervals.clone(), &program, limits);
        let found = search.run()?;
        answer.count(&search.work);
        let Some(cuts) = found.cuts else { break };
        let found = arranged(pipeline, &search.tables, &cuts)?;
        let excess = excess(&pipeline.devices, &found);
        if excess.iter().all(|bytes| *bytes == 0) {
            answer.best = Some(found);
            break;
        }
        for (device, bytes) in devices.iter_mut().zip(excess) {
            device.budget_bytes = device.budget_bytes.saturating_sub(bytes);
        }
        if limits.is_over() {
            break;
        }
    }
    Ok(())
}

/// A bound on all plans of an interleaved schedule.
fn bound_of_interleaved(
    pipeline: &Pipeline<'_, '_>,
    limits: Limits<'_>,
    answer: &mut Answered,
) -> Result<(), PipelineError> {
    let schedule = &pipeline.schedule;
    let stages = 0..schedule.stages();
    let program = Program {
        devices: stages
            .clone()
            .map(|stage| pipeline.devices[schedule.device_of(stage)])
            .collect(),
        in_flight: stages.map(|stage| schedule.in_flight(stage)).collect(),
        copies: 1,
        steps: 0,
        sends: false,
        by_device: None,
    };
    let mut search = Search::new(pipeline.intervals()?, &program, limits);
    let found = search.run()?;
    answer.count(&search.work);
    match found.bound {
        None => answer.is_infeasible = true,
        Some(sum) => {
            let slowest = sum.div_ceil(schedule.devices() as u64);
            answer.bound = objective(schedule, sum, slowest, (0, 0));
        }
    }
    Ok(())
}

/// Bytes of each device above its budget.
fn excess(devices: &[Device], found: &Arranged) -> Vec<u64> {
    let pairs = devices.iter().zip(&found.replay.peaks);
    pairs
        .map(|(device, peak)| peak.saturating_sub(device.budget_bytes))
        .collect()
}

fn check(pipeline: &Pipeline<'_, '_>, found: &Arranged) -> Result<(), PipelineError> {
    let over = excess(&pipeline.devices, found);
    match over.iter().position(|bytes| *bytes > 0) {
        None => Ok(()),
        Some(device) => Err(PipelineError::OverBudget {
            device,
            peak_bytes: found.replay.peaks[device],
            budget_bytes: pipeline.devices[device].budget_bytes,
        }),
    }
}

/// The plans of the stages at some cuts, replayed as they are written.
fn arranged(
    pipeline: &Pipeline<'_, '_>,
    tables: &Tables<'_, '_>,
    cuts: &Cuts,
) -> Result<Arranged, PipelineError> {
    let schedule = pipeline.schedule;
    let arrangement = Arrangement::new(pipeline.split, schedule, tables.positions(cuts));
    let mut stages = Vec::new();
    for (stage, spot) in tables.spots(cuts).into_iter().enumerate() {
        let class = tables.class(spot).map(|class| &tables.classes.all[class]);
        let Some((class, (_, plan))) = class.and_then(|c| Some((c, c.best.as_ref()?))) else {
            return Err(PipelineError::Unplanned(stage));
        };
        let instance = arrangement.instance(stage, true)?;
        let plan = Plan {
            instance: instance.name().as_str().into(),
            ..plan.clone()
        };
        let replay = simulate::plan(&instance, &plan)?;
        // Stages of one device share its budget.
        let budget = pipeline.devices[schedule.device_of(stage)].budget_bytes;
        let budget = (schedule.chunks() == 1).then_some(budget);
        stages.push(StagePlan {
            document: PlanDocument::of(&instance, plan, &replay, budget),
            bound: class.lower.unwrap_or(0),
            instance,
        });
    }
    let pairs: Vec<_> = stages
        .iter()
        .map(|s| (&s.instance, &s.document.plan))
        .collect();
    let replay = arrangement.replay(&pipeline.devices, pipeline.link.as_ref(), &pairs)?;
    Ok(Arranged {
        cuts: arrangement.cuts().to_vec(),
        stages,
        replay,
    })
}
