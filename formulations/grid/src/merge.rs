//! The table of a folder: results that hold, made monotone along budgets, links and micro-batches.

use crate::error::GridError;
use crate::folder::{Folder, Store};
use crate::grid::Grid;
use crate::record::{FAILED, Record};
use crate::subject::{Facts, Subject};
use crate::survey::{Survey, Visit};
use remat_search::{Status, relative_gap};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A row of the merged table: a job.
#[derive(Clone, Debug)]
pub struct MergedRow {
    /// Number of the job.
    pub job: usize,
    /// Values on the axes, in the order of [`Merged::columns`].
    pub values: Vec<String>,
    /// Budget in bytes.
    pub budget_bytes: u64,
    /// Facts about the instance.
    pub facts: Arc<Facts>,
    /// Key of the job's result.
    pub key: String,
    /// `optimal`, `feasible`, `infeasible`, `limit`, `error` or `missing`.
    pub status: String,
    /// Cost of the best plan of this or a harder job.
    pub objective: Option<u64>,
    /// Its replayed peak in bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Best lower bound of this or an easier job.
    pub bound: Option<u64>,
    /// Plans that the bound covers.
    pub bound_scope: String,
    /// Relative gap.
    pub gap: Option<f64>,
    /// Key of the result with the plan.
    pub plan: Option<String>,
    /// Reason why no plan exists, or of a failure.
    pub because: Option<String>,
    /// Wall-clock time of the solve in seconds, not part of the table.
    pub seconds: f64,
    /// True if other results settled the job without a solve.
    pub settled: bool,
}

/// The table of a folder.
#[derive(Clone, Debug)]
pub struct Merged {
    /// Names of the axes.
    pub columns: Vec<&'static str>,
    /// The jobs, in their order.
    pub rows: Vec<MergedRow>,
    /// Result files that are incomplete, or whose claims the replay refutes.
    pub refuted: Vec<String>,
}

impl Merged {
    /// Jobs without a result.
    pub fn missing(&self) -> usize {
        self.rows.iter().filter(|row| row.status == MISSING).count()
    }
}

/// Status of a job without a result.
pub const MISSING: &str = "missing";

/// Reads all results of a folder, replays their plans, and merges them: a plan serves every easier
/// job, a bound holds for every harder one. Jobs without a result are `missing`.
///
/// # Errors
/// [`GridError`] for a folder that is none, and for instances that do not work.
pub fn merge(folder: &Folder) -> Result<Merged, GridError> {
    let grid = &folder.grid;
    let mut survey = Survey::of(grid, &folder.sources);
    let visits = survey.jobs(0..grid.chains())?;
    let mut merged = Merged {
        columns: grid.columns().collect(),
        rows: Vec::with_capacity(visits.len()),
        refuted: Vec::new(),
    };
    let mut subject: Option<(usize, Subject)> = None;
    for visit in &visits {
        let row = visit.job / grid.budget_count();
        if subject.as_ref().is_none_or(|(of, _)| *of != row) {
            subject = Some((row, survey.subject(visit.job)?));
        }
        let Some((_, subject)) = &subject else {
            continue;
        };
        let record = folder
            .get(&visit.key)
            .filter(|record| record.holds(subject, visit));
        if record.is_none() && folder.has(&visit.key) {
            merged.refuted.push(visit.key.clone());
        }
        merged.rows.push(MergedRow::of(grid, visit, record));
    }
    for group in groups(grid, &merged.rows).into_values() {
        share_bounds(&mut merged.rows, &group);
        share_plans(&mut merged.rows, &group, (folder, &survey))?;
        for k in group {
            merged.rows[k].settle();
        }
    }
    Ok(merged)
}

impl MergedRow {
    fn of(grid: &Grid, visit: &Visit, record: Option<Record>) -> Self {
        let record = record.unwrap_or_else(|| Record::of(visit, MISSING));
        let (values, _) = grid.values(visit.job);
        MergedRow {
            job: visit.job,
            values: values.into_iter().map(String::from).collect(),
            budget_bytes: visit.budget_bytes,
            facts: visit.facts.clone(),
            key: visit.key.clone(),
            plan: record.plan.as_ref().map(|_| visit.key.clone()),
            status: record.status,
            objective: record.objective,
            peak_memory_bytes: record.peak_memory_bytes,
            bound: record.bound,
            bound_scope: record.bound_scope,
            gap: None,
            because: record.because,
            seconds: record.seconds,
            settled: record.settled,
        }
    }

    /// Cost above the cost without recomputation in percent; `None` without a plan, and for
    /// pipelines.
    pub fn overhead_percent(&self) -> Option<f64> {
        if !self.facts.shape.is_empty() {
            return None;
        }
        let base = self.facts.base_cost.max(1) as f64;
        self.objective
            .map(|cost| (cost as f64 / base - 1.0) * 100.0)
    }

    fn is_solved(&self) -> bool {
        self.status != FAILED && self.status != MISSING
    }

    /// Returns whether every plan of `other` is a plan of this job.
    fn is_easier_than(&self, other: &MergedRow) -> bool {
        let (own, its) = (&self.facts, &other.facts);
        let same_link = own.is_linked == its.is_linked;
        let is_wider = own.is_linked && !its.is_linked;
        self.job != other.job
            && self.budget_bytes >= other.budget_bytes
            && own.in_flight <= its.in_flight
            && (same_link || is_wider)
    }

    fn settle(&mut self) {
        let Some((cost, bound)) = self.objective.zip(self.bound) else {
            return;
        };
        let gap = relative_gap(cost, bound);
        self.gap = Some(gap);
        let optimal = Status::Optimal.as_str();
        if self.is_solved() && self.status != optimal {
            let is_closed = gap <= self.facts.gap;
            self.status = if is_closed {
                optimal
            } else {
                Status::Feasible.as_str()
            }
            .into();
        }
    }
}

/// Rows whose jobs differ in the budget, the link and the micro-batches in flight alone. Links of
/// different speeds are apart: a faster copy arrives earlier and takes memory earlier.
fn groups(grid: &Grid, rows: &[MergedRow]) -> BTreeMap<Vec<String>, Vec<usize>> {
    let columns: Vec<&str> = grid.columns().collect();
    let links: Vec<&String> = {
        let position = columns.iter().position(|column| *column == "offload");
        let values = rows.iter().filter_map(|row| row.values.get(position?));
        values.collect()
    };
    let first_link = links.iter().find(|link| link.as_str() != crate::axes::OFF);
    let mut groups: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
    for (k, row) in rows.iter().enumerate() {
        let pairs = columns.iter().zip(&row.values);
        let name = pairs
            .filter(|(column, _)| **column != "in_flight")
            .map(|(column, value)| {
                match (*column, value.as_str()) {
                    // Jobs without a link go with the first link.
                    ("offload", crate::axes::OFF) => {
                        first_link.map_or_else(|| value.clone(), |link| (*link).clone())
                    }
                    _ => value.clone(),
                }
            });
        groups.entry(name.collect()).or_default().push(k);
    }
    groups
}

/// Gives each job the best bound of an easier one, and infeasibility.
fn share_bounds(rows: &mut [MergedRow], group: &[usize]) {
    let given = rows.to_vec();
    let infeasible = Status::Infeasible.as_str();
    for &k in group {
        let row = &mut rows[k];
        if !row.is_solved() || row.status == infeasible {
            continue;
        }
        for easier in group.iter().map(|&other| &given[other]) {
            let is_of_use = easier.is_solved() && easier.is_easier_than(&given[k]);
            if !is_of_use || easier.bound_scope != given[k].bound_scope {
                continue;
            }
            if easier.status == infeasible && row.objective.is_none() {
                (row.status, row.bound) = (infeasible.into(), None);
                row.because.clone_from(&easier.because);
                break;
            }
            let is_better = easier.bound > row.bound;
            let is_bound = row.objective.is_none_or(|cost| easier.bound <= Some(cost));
            if is_better && is_bound && row.status != infeasible {
                row.bound = easier.bound;
            }
        }
    }
}

/// Gives each job the cheapest plan of a harder one. A plan of another instance is replayed.
fn share_plans(
    rows: &mut [MergedRow],
    group: &[usize],
    (folder, survey): (&Folder, &Survey<'_>),
) -> Result<(), GridError> {
    let mut order = group.to_vec();
    // Harder jobs first, so that their answers go on.
    order.sort_by_key(|&k| {
        let row = &rows[k];
        (
            row.facts.is_linked,
            std::cmp::Reverse(row.facts.in_flight),
            row.budget_bytes,
        )
    });
    for (at, &k) in order.iter().enumerate() {
        for &harder in &order[..at] {
            let (row, other) = (&rows[k], &rows[harder]);
            let is_cheaper = match (row.objective, other.objective) {
                (Some(own), Some(cost)) => cost < own,
                (None, Some(_)) => true,
                _ => false,
            };
            let is_of_use = row.is_solved() && other.is_solved() && row.is_easier_than(other);
            if !is_cheaper || !is_of_use || other.objective < row.bound {
                continue;
            }
            let (mut cost, mut peak) = (other.objective, other.peak_memory_bytes);
            let plan = other.plan.clone();
            if row.facts.digest != other.facts.digest {
                let subject = survey.subject(row.job)?;
                let key = plan.as_deref().unwrap_or_default();
                let known = folder.get(key).and_then(|record| record.planned(&subject));
                let replay = known.map(|(_, replay)| replay);
                let Some(replay) = replay.filter(|r| r.peak_bytes <= row.budget_bytes) else {
                    continue;
                };
                (cost, peak) = (Some(replay.makespan), Some(replay.peak_bytes));
                if row.objective.is_some_and(|own| cost >= Some(own)) {
                    continue;
                }
            }
            let row = &mut rows[k];
            (row.objective, row.peak_memory_bytes, row.plan) = (cost, peak, plan);
        }
    }
    Ok(())
}
