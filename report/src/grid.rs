//! Merged results of a grid: the object in JSON, and a picture of each model.

use crate::draw::tradeoff::{Curve, TradeoffPicture};
use crate::results::VERSION;
use remat_grid::{Merged, MergedRow};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Curves of a picture at most; further ones are on further pictures.
const CURVES: usize = 8;

/// Longest file name of a picture, without its ending.
const LONGEST_NAME: usize = 80;

/// The object of `remat-bb merge --json`.
#[derive(Serialize, JsonSchema)]
pub struct MergeJson {
    /// Version of this program.
    version: &'static str,
    /// Number of jobs of the grid.
    jobs: usize,
    /// Number of jobs without a result.
    missing: usize,
    /// Keys of result files that are incomplete, or whose claims the replay refutes.
    refuted: Vec<String>,
    /// Names of the axes, in the order of the file.
    columns: Vec<String>,
    /// The jobs, in their order.
    rows: Vec<MergedRowJson>,
}

/// A job of a grid with the results of all jobs.
#[derive(Serialize, JsonSchema)]
struct MergedRowJson {
    /// Number of the job, from 0.
    job: usize,
    /// Value of the job on each axis.
    values: BTreeMap<String, String>,
    /// Name of the instance.
    instance: String,
    /// Memory budget in bytes; of a pipeline, of each device.
    budget_bytes: u64,
    /// The budget in percent of `plain_peak_bytes`.
    budget_percent: f64,
    /// `optimal`, `feasible`, `infeasible`, `limit` (no plan in time), `error`, or `missing`.
    status: String,
    /// Replayed cost of the best plan of this or of a harder job; null without a plan.
    objective: Option<u64>,
    /// Cost above `base_cost`, in percent of it; null without a plan, and for pipelines.
    overhead_percent: Option<f64>,
    /// Replayed peak memory in bytes; null without a plan.
    peak_memory_bytes: Option<u64>,
    /// Best proven lower bound of this or of an easier job; null if there is none.
    bound: Option<u64>,
    /// Plans that the bound covers, as for `solve`.
    bound_scope: String,
    /// `(objective - bound) / objective`; null without both.
    gap: Option<f64>,
    /// Peak memory without recomputation, in bytes.
    plain_peak_bytes: u64,
    /// Cost without recomputation.
    base_cost: u64,
    /// Unit of all costs.
    cost_unit: String,
    /// Reason why no plan exists, or of a failure; null otherwise.
    because: Option<String>,
    /// Key of the result file with the plan; null without a plan.
    plan: Option<String>,
    /// Key of the job's own result file.
    result: String,
    /// Time of the job's solve in seconds.
    seconds: f64,
    /// True if other results settled the job without a solve.
    settled: bool,
}

impl MergeJson {
    /// The object of merged results.
    pub fn of(merged: &Merged) -> Self {
        let columns = merged.columns.iter().map(|column| (*column).to_owned());
        let columns: Vec<String> = columns.collect();
        MergeJson {
            version: VERSION,
            jobs: merged.rows.len(),
            missing: merged.missing(),
            refuted: merged.refuted.clone(),
            rows: merged
                .rows
                .iter()
                .map(|row| MergedRowJson::of(row, &columns))
                .collect(),
            columns,
        }
    }
}

impl MergedRowJson {
    fn of(row: &MergedRow, columns: &[String]) -> Self {
        MergedRowJson {
            job: row.job,
            values: columns
                .iter()
                .cloned()
                .zip(row.values.iter().cloned())
                .collect(),
            instance: row.facts.instance.clone(),
            budget_bytes: row.budget_bytes,
            budget_percent: row.budget_percent(),
            status: row.status.clone(),
            objective: row.objective,
            overhead_percent: row.overhead_percent(),
            peak_memory_bytes: row.peak_memory_bytes,
            bound: row.bound,
            bound_scope: row.bound_scope.clone(),
            gap: row.gap,
            plain_peak_bytes: row.facts.plain_peak_bytes,
            base_cost: row.facts.base_cost,
            cost_unit: row.facts.cost_unit.clone(),
            because: row.because.clone(),
            plan: row.plan.clone(),
            result: row.key.clone(),
            seconds: row.seconds,
            settled: row.settled,
        }
    }
}

/// The pictures of merged results: file names without endings, and what is drawn. Each model has a
/// picture with a curve for each combination of its other values; more than eight go on further
/// pictures.
pub fn pictures(merged: &Merged) -> Vec<(String, TradeoffPicture)> {
    let model = merged.columns.iter().position(|column| *column == "model");
    let model_of = |row: &MergedRow| model.map_or_else(String::new, |k| row.values[k].clone());
    let mut models: Vec<String> = Vec::new();
    for row in &merged.rows {
        let name = model_of(row);
        if !models.contains(&name) {
            models.push(name);
        }
    }
    let mut pictures: Vec<(String, TradeoffPicture)> = Vec::new();
    for name in &models {
        let rows: Vec<&MergedRow> = merged
            .rows
            .iter()
            .filter(|row| model_of(row) == *name)
            .collect();
        let curves = curves(merged, &rows, model);
        for (page, part) in curves.chunks(CURVES).enumerate() {
            let stem = file_name(name, &pictures, page);
            let bounds = if curves.len() == 1 {
                bounds(&rows)
            } else {
                Vec::new()
            };
            let plain = rows.iter().map(|row| row.facts.plain_peak_bytes).max();
            let picture = TradeoffPicture {
                title: format!("{name}: overhead against memory"),
                link: None,
                curves: part.to_vec(),
                plain_bytes: plain.unwrap_or(0),
                bounds,
            };
            pictures.push((stem, picture));
        }
    }
    pictures
}

/// A curve for each combination of values besides the model.
fn curves(merged: &Merged, rows: &[&MergedRow], model: Option<usize>) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    let base = lowest(rows);
    for row in rows {
        let values = merged.columns.iter().zip(&row.values).enumerate();
        let others = values.filter(|(k, _)| Some(*k) != model);
        let words: Vec<String> = others
            .map(|(_, (name, value))| format!("{name} {value}"))
            .collect();
        let name = match words.is_empty() {
            true => "remat-bb".into(),
            false => words.join(", "),
        };
        let point = row.peak_memory_bytes.zip(over(row, row.objective, base));
        match curves.iter_mut().find(|curve| curve.name == name) {
            Some(curve) => curve.points.extend(point),
            None => curves.push(Curve {
                name,
                ours: false,
                points: point.into_iter().collect(),
                without: "nothing found",
            }),
        }
    }
    if let [only] = &mut curves[..] {
        only.ours = true;
    }
    curves
}

fn bounds(rows: &[&MergedRow]) -> Vec<(u64, f64)> {
    let base = lowest(rows);
    let known = rows
        .iter()
        .filter_map(|row| Some((row.budget_bytes, over(row, row.bound, base)?)));
    known.collect()
}

/// The least objective.
fn lowest(rows: &[&MergedRow]) -> u64 {
    rows.iter()
        .filter_map(|row| row.objective)
        .min()
        .unwrap_or(0)
}

/// A cost in percent above the cost without recomputation; of a pipeline, above the least one.
fn over(row: &MergedRow, cost: Option<u64>, lowest: u64) -> Option<f64> {
    let base = match row.facts.shape.is_empty() {
        true => row.facts.base_cost,
        false => lowest,
    };
    cost.map(|cost| (cost as f64 / base.max(1) as f64 - 1.0) * 100.0)
}

/// A file name that no other picture has.
fn file_name(model: &str, taken: &[(String, TradeoffPicture)], page: usize) -> String {
    let model = model.strip_prefix("zoo:").unwrap_or(model);
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "-_.".contains(c) {
            c
        } else {
            '-'
        }
    };
    let mut stem: String = model.chars().map(plain).take(LONGEST_NAME).collect();
    stem = stem.trim_matches(['.', '-']).into();
    let first = stem.clone();
    let mut number = page + 1;
    while (number > 1 && stem == first) || taken.iter().any(|(name, _)| *name == stem) {
        stem = format!("{first}-{}", number.max(2));
        number += 1;
    }
    stem
}
