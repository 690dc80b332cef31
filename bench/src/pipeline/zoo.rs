//! Pipelines of zoo models, beside known rules for cuts and recomputation.

use super::{PipelineBenchError, Table, gap_percent};
use clap::Args;
use remat_instances::pipeline::arrangement::Arrangement;
use remat_instances::pipeline::schedule::{Schedule, ScheduleKind};
use remat_instances::pipeline::split::Split;
use remat_instances::{Budget, zoo};
use remat_pipeline::baselines::{Compared, ComparedPipeline, CutRule, by_rules, proven_at};
use remat_pipeline::{Devices, Pipeline, PipelineError, PipelineSettings};
use std::path::PathBuf;
use std::time::Duration;

/// Models with optimizer states; a device of DeepSeek-V3 holds a 64th of the experts.
const MODELS: [(&str, &str); 5] = [
    ("llama-32", "zoo:llama?optimizer=adamw"),
    (
        "llama-80",
        "zoo:llama?layers=80&d_model=8192&heads=64&kv_heads=8&ffn=28672&optimizer=adamw",
    ),
    (
        "gpt2-48",
        "zoo:gpt2?layers=48&d_model=1600&heads=25&batch=4&optimizer=adamw",
    ),
    ("mixtral-32", "zoo:mixtral?batch=1&optimizer=adamw"),
    (
        "deepseek-v3",
        "zoo:deepseek_v3?optimizer=adamw&expert_parallel=64",
    ),
];
/// Micro-batches of each stage.
const MICROBATCHES: u32 = 4;
/// Gap that is asked for.
const GAP: f64 = 1e-3;

/// `remat-bench pipeline zoo`
#[derive(Args, Debug)]
pub struct ZooArguments {
    /// Time of each search in seconds
    #[arg(long, value_name = "S", default_value_t = 300.0)]
    time_limit: f64,
    /// Threads; 0 for one per core
    #[arg(long, value_name = "N", default_value_t = 2)]
    threads: usize,
    /// Numbers of stages
    #[arg(long, value_name = "S,..", value_delimiter = ',', default_values_t = [4, 8, 16])]
    stages: Vec<u32>,
    /// Memory of a device beside fixed memory, in percent of the need without recomputation
    #[arg(long, value_name = "P,..", value_delimiter = ',', default_values_t = [50.0])]
    shares: Vec<f64>,
    /// Models whose names contain this
    #[arg(long, value_name = "NAME", default_value = "")]
    only: String,
    /// Write the table as CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Solves all pipelines; returns whether every gap was closed.
///
/// # Errors
/// [`PipelineBenchError`] of a model that cannot be built or solved.
pub fn run(arguments: &ZooArguments) -> Result<bool, PipelineBenchError> {
    let header = "model,stages,microbatches,budget_bytes,cuts,recomputation,objective_ns,bound_ns,gap_percent,makespan_ns,peak_bytes,fits,seconds";
    let mut table = Table::new(header, arguments.csv.as_deref(), None)?;
    let mut closed = true;
    for (name, text) in MODELS
        .iter()
        .filter(|(name, _)| name.contains(&arguments.only))
    {
        let wrong = |e: String| PipelineBenchError::Content(PathBuf::from(text), e);
        let spec = text
            .parse()
            .map_err(|e: zoo::ZooError| wrong(e.to_string()))?;
        let instance = zoo::build(&spec).map_err(|e| wrong(e.to_string()))?;
        let split = Split::of(&instance).map_err(|e| wrong(e.to_string()))?;
        for &stages in &arguments.stages {
            for &share in &arguments.shares {
                let at = (*name, stages, share);
                let own = one(&split, at, arguments, &mut table);
                closed &= own.map_err(|e| wrong(e.to_string()))?;
            }
        }
    }
    table.write()?;
    Ok(closed)
}

/// One model on so many devices.
fn one(
    split: &Split<'_>,
    (name, stages, share): (&str, u32, f64),
    arguments: &ZooArguments,
    table: &mut Table<'_>,
) -> Result<bool, PipelineError> {
    let count = MICROBATCHES * stages;
    let kind = ScheduleKind::OneForwardOneBackward;
    let schedule = Schedule::new(kind, stages, count).map_err(PipelineError::Count)?;
    let budget = budget(split, schedule, share)?;
    let devices = Devices::equal(stages as usize, Budget::Bytes(budget));
    let pipeline = Pipeline::new(split, schedule, &devices)?;
    let settings = PipelineSettings {
        time_limit: Some(Duration::from_secs_f64(arguments.time_limit)),
        gap: GAP,
        threads: arguments.threads,
        ..PipelineSettings::default()
    };
    let solution = pipeline.solve(&settings, &())?;
    let head = format!("{name},{stages},{count},{budget}");
    if let Some(best) = &solution.best {
        let (objective, bound) = (best.replay.objective, solution.bound);
        let peak = best.replay.peaks.iter().copied().max().unwrap_or(0);
        table.line(&format!(
            "{head},remat-bb,proven plans,{objective},{bound},{:.4},{},{peak},true,{:.1}",
            gap_percent(objective as f64, bound as f64),
            best.replay.timeline.makespan,
            solution.elapsed.as_secs_f64()
        ));
    } else {
        let status = solution.status.as_str();
        table.line(&format!(
            "{head},remat-bb,{status},,{},,,,false,",
            solution.bound
        ));
    }
    let mut rows = by_rules(&pipeline)?;
    rows.push(proven_at(&pipeline, CutRule::EvenLayers, &settings, &())?);
    for Compared {
        cuts,
        recomputation,
        result,
    } in rows
    {
        let rest = match result {
            Ok(ComparedPipeline {
                objective,
                makespan,
                peak_bytes,
                excess_bytes,
            }) => format!(
                "{objective},,,{makespan},{peak_bytes},{}",
                excess_bytes == 0
            ),
            Err(_) => ",,,,,false".into(),
        };
        table.line(&format!("{head},{cuts},\"{recomputation}\",{rest},"));
    }
    Ok(solution.gap().is_some_and(|gap| gap <= GAP))
}

/// Fixed memory of the fullest device with balanced cuts, and a share of its further need.
fn budget(split: &Split<'_>, schedule: Schedule, share: f64) -> Result<u64, PipelineError> {
    let whole = Devices::equal(schedule.devices(), Budget::Percent(100.0));
    let plain = Pipeline::new(split, schedule, &whole)?;
    let peak = plain.devices()[0].budget_bytes;
    let arrangement = Arrangement::new(split, schedule, plain.balanced()?);
    let fixed = (0..schedule.devices()).map(|device| arrangement.fixed_bytes(device));
    let fixed = fixed.max().unwrap_or(0);
    Ok(fixed + (peak.saturating_sub(fixed) as f64 * share / 100.0) as u64)
}
