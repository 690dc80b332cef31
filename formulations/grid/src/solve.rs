//! One job: settled by its neighbours, or solved from their plans.

use crate::grid::Grid;
use crate::record::{FAILED, Record};
use crate::subject::Subject;
use crate::survey::Visit;
use remat_formulations::solve::{AnyPlan, AnySolvable};
use remat_instances::pipeline::split::Split;
use remat_instances::plan::Plan;
use remat_instances::{Budget, Semantics, simulate};
use remat_pipeline::PipelineSettings;
use remat_search::{Listener, Settings, Solvable, Status, relative_gap};
use std::time::Instant;

/// A plan of a job that was solved before in the chain.
pub(crate) struct Known {
    pub key: String,
    pub plan: Plan,
}

/// A job to be solved.
pub(crate) struct Job<'a> {
    pub grid: &'a Grid,
    pub subject: &'a Subject,
    pub visit: &'a Visit,
}

impl Job<'_> {
    /// The result that the next smaller and larger budget settle, if they do.
    pub fn settled(&self, below: &Record, above: &Record) -> Option<Record> {
        let infeasible = Status::Infeasible.as_str();
        let mut record = Record {
            settled: true,
            ..Record::of(self.visit, infeasible)
        };
        if above.status == infeasible {
            record.bound_scope.clone_from(&above.bound_scope);
            record.because.clone_from(&above.because);
            return Some(record);
        }
        let (cost, bound) = (below.objective?, above.bound?);
        if relative_gap(cost, bound) > self.visit.facts.gap {
            return None;
        }
        record.status = Status::Optimal.as_str().into();
        record.objective = Some(cost);
        record.peak_memory_bytes = below.peak_memory_bytes;
        record.bound = Some(bound);
        record.bound_scope.clone_from(&above.bound_scope);
        record.start = Some(below.key.clone());
        record.plan.clone_from(&below.plan);
        Some(record)
    }

    /// Solves, starting from the cheapest of the known plans that the simulator finds to fit;
    /// `None` if the solve was interrupted.
    pub fn solve(&self, known: &[Known], listener: &dyn Listener) -> Option<Record> {
        let begun = Instant::now();
        let solved = match &self.subject.solvable {
            Some(solvable) => self.solve_one(solvable, known, listener),
            None => self.solve_pipeline(listener),
        };
        let mut record = solved.unwrap_or_else(|problem| Record {
            because: Some(problem),
            ..Record::of(self.visit, FAILED)
        });
        let is_final = [Status::Optimal, Status::Infeasible].map(Status::as_str);
        if listener.is_interrupted() && !is_final.contains(&record.status.as_str()) {
            return None;
        }
        record.seconds = begun.elapsed().as_secs_f64();
        Some(record)
    }

    fn solve_one(
        &self,
        solvable: &AnySolvable,
        known: &[Known],
        listener: &dyn Listener,
    ) -> Result<Record, String> {
        let (instance, budget) = (&self.subject.instance, self.visit.budget_bytes);
        let semantics = solvable.formulation().semantics();
        let start = self.start(known, semantics);
        let starts: Vec<AnyPlan> = start.iter().map(|(_, plan)| plan.clone()).collect();
        let settings: Settings = self.subject.options.settings().without_overtime();
        let outcome = solvable.solve(budget, &starts, &settings, listener);
        let outcome = outcome.map_err(|e| e.to_string())?;
        let mut record = Record::of(self.visit, outcome.status.as_str());
        if outcome.status != Status::Infeasible {
            record.bound = Some(outcome.bound);
        }
        record.bound_scope = outcome.bound_scope.into();
        record.because = outcome.infeasible_because;
        record.start = start.map(|(key, _)| key);
        (record.nodes, record.lp_iterations) = (outcome.nodes, outcome.lp_iterations);
        if let Some(plan) = &outcome.schedule {
            let planned = plan.planned(instance, budget).map_err(|e| e.to_string())?;
            record.objective = Some(planned.document.objective);
            record.peak_memory_bytes = Some(planned.document.peak_bytes);
            let plan = serde_json::from_str(&planned.text());
            record.plan = Some(plan.map_err(|e| e.to_string())?);
        }
        Ok(record)
    }

    /// The cheapest known plan that fits, with its key.
    fn start(&self, known: &[Known], semantics: Semantics) -> Option<(String, AnyPlan)> {
        let instance = &self.subject.instance;
        let mut best: Option<(u64, &str, Plan)> = None;
        for one in known.iter().filter(|one| one.plan.semantics == semantics) {
            let plan = Plan {
                instance: instance.name().to_string(),
                ..one.plan.clone()
            };
            let Ok(replay) = simulate::plan(instance, &plan) else {
                continue;
            };
            let fits = replay.peak_bytes <= self.visit.budget_bytes;
            if fits && best.as_ref().is_none_or(|best| replay.makespan < best.0) {
                best = Some((replay.makespan, &one.key, plan));
            }
        }
        let (_, key, plan) = best?;
        let plan = match plan.schedule(instance) {
            Ok(schedule) if !plan.has_copies() => AnyPlan::Schedule(schedule),
            _ => AnyPlan::Statements(plan),
        };
        Some((key.into(), plan))
    }

    fn solve_pipeline(&self, listener: &dyn Listener) -> Result<Record, String> {
        let (subject, budget) = (self.subject, Budget::Bytes(self.visit.budget_bytes));
        let split = Split::of(&subject.instance).map_err(|e| e.to_string())?;
        let shape = subject.shape.ok_or("no pipeline")?;
        let pipeline = self.grid.pipeline_of(&split, shape, budget)?;
        let settings = PipelineSettings {
            time_limit: subject.options.time_limit,
            gap: self.visit.facts.gap,
            threads: subject.options.threads,
            seed: subject.options.seed,
        };
        let solution = pipeline
            .solve(&settings, listener)
            .map_err(|e| e.to_string())?;
        let mut record = Record::of(self.visit, solution.status.as_str());
        if solution.status != Status::Infeasible {
            record.bound = Some(solution.bound);
        }
        record.bound_scope = solution.scope();
        record.because.clone_from(&solution.infeasible_because);
        (record.nodes, record.lp_iterations) = (solution.nodes, solution.lp_iterations);
        if let (Some(best), Some(document)) = (&solution.best, solution.document()) {
            record.objective = Some(best.replay.objective);
            record.peak_memory_bytes = best.replay.peaks.iter().copied().max();
            let text = document.write(&split).map_err(|e| e.problem)?;
            record.plan = Some(serde_json::from_str(&text).map_err(|e| e.to_string())?);
        }
        Ok(record)
    }
}
