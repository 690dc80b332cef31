//! Plans of graphs with a link, beside the best known strategy.

use super::{OffloadBenchError, wanted};
use remat_formulations::AnyFormulation;
use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::nodes::Offload;
use remat_formulations::solve::{AnySolvable, Baselines};
use remat_instances::instance::{CostUnit, HostLink, Instance, InstanceData, NodeId};
use remat_instances::{Semantics, read, zoo};
use remat_search::{Settings, Solvable};
use std::path::PathBuf;
use std::time::Duration;

/// The networks of POFO's comparison at its batch and size, and more recent ones.
const NETWORKS: [&str; 14] = [
    "zoo:resnet50?batch=16&size=500&device=v100",
    "zoo:resnet101?batch=16&size=500&device=v100",
    "zoo:resnet152?batch=16&size=500&device=v100",
    "zoo:densenet121?batch=16&size=500&device=v100",
    "zoo:googlenet?batch=16&size=500&device=v100",
    "zoo:inception_v3?batch=16&size=500&device=v100",
    "zoo:vgg16?batch=16&size=500&device=v100",
    "zoo:unet?device=a100",
    "zoo:gpt2?layers=12&device=a100",
    "zoo:vit?device=a100",
    "zoo:bert?layers=12&device=h100",
    "zoo:llama?layers=8&device=h100",
    "zoo:llama?layers=32&device=h100",
    "zoo:mixtral?device=h100",
];

/// Bandwidths of current links, GB/s: PCIe 3, 4 and 5, and a GH200's link to its host.
pub const RATES: [f64; 4] = [12.0, 25.0, 50.0, 170.0];

/// Shares of memory.
pub const SHARES: [f64; 2] = [0.25, 0.5];

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct NodesConfig {
    /// Directory of graphs that are taken as well. Costs without a unit of time count as
    /// nanoseconds.
    pub dir: Option<PathBuf>,
    /// Seconds for each solve.
    pub seconds: f64,
    /// Worker threads; 0 for one per core.
    pub threads: usize,
    /// Bandwidths both ways in GB/s.
    pub rates: Vec<f64>,
    /// Shares of memory between the largest working set and the peak without recomputation.
    pub shares: Vec<f64>,
    /// Semantics: Checkmate's, MONeT's, or both for an instance with choices.
    pub semantics: Vec<Semantics>,
    /// Only graphs whose name contains one of these, if there are any.
    pub only: Vec<String>,
}

/// One memory of one graph at one bandwidth. Overheads are in percent of the time without
/// recomputation.
#[derive(Clone, PartialEq, Debug)]
pub struct NodesLine {
    /// The graph.
    pub graph: String,
    /// Its nodes.
    pub nodes: usize,
    /// The program.
    pub semantics: Semantics,
    /// Bandwidth, GB/s.
    pub rate: f64,
    /// Share of memory.
    pub share: f64,
    /// The budget.
    pub budget_bytes: u64,
    /// The best plan without copies that the same solve found.
    pub without: Option<f64>,
    /// The plan.
    pub plan: Option<f64>,
    /// The proven bound.
    pub bound: f64,
    /// Relative gap of both, in percent.
    pub gap: Option<f64>,
    /// Status of the solve.
    pub status: &'static str,
    /// Its seconds.
    pub seconds: f64,
    /// Bytes that the plan copies to the host.
    pub to_host_bytes: u64,
    /// Name and overhead of the best strategy that copies or recomputes.
    pub best: Option<(&'static str, f64)>,
}

/// The line above the rows.
pub const HEADER: &str = "graph,nodes,program,GB/s,share,budget GiB,without copies %,plan %,bound %,\
                          gap %,status,seconds,to host GiB,best strategy,its %";

impl NodesLine {
    /// The line as comma-separated values, under [`HEADER`].
    pub fn csv(&self) -> String {
        let percent = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.3}"));
        let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
        format!(
            "{},{},{},{},{},{:.3},{},{},{:.3},{},{},{:.1},{:.3},{},{}",
            self.graph,
            self.nodes,
            self.semantics.as_str(),
            self.rate,
            self.share,
            gib(self.budget_bytes),
            percent(self.without),
            percent(self.plan),
            self.bound,
            percent(self.gap),
            self.status,
            self.seconds,
            gib(self.to_host_bytes),
            self.best.map_or("", |best| best.0),
            percent(self.best.map(|best| best.1)),
        )
    }
}

/// Hands each line to `tell`.
///
/// # Errors
/// [`OffloadBenchError`] of the first graph that cannot be read, built or solved.
pub fn run(config: &NodesConfig, mut tell: impl FnMut(NodesLine)) -> Result<(), OffloadBenchError> {
    for (name, instance) in graphs(config)? {
        for &semantics in &config.semantics {
            let seen = instance.seen_by(semantics);
            let suits = AnyFormulation::suiting(&seen).semantics();
            if semantics.chooses_implementations() && suits != semantics {
                continue;
            }
            for &share in &config.shares {
                for &rate in &config.rates {
                    let speed = (rate * 1e9) as u64;
                    let linked = seen.with_host_link(Some(HostLink::new(speed, speed)))?;
                    let formulation = AnyFormulation::of(&linked, semantics)?;
                    tell(compared(config, &name, formulation, (rate, share))?);
                }
            }
        }
    }
    Ok(())
}

/// The graphs to compare, by name.
fn graphs(config: &NodesConfig) -> Result<Vec<(String, Instance)>, OffloadBenchError> {
    let mut graphs = Vec::new();
    for spec in NETWORKS {
        if wanted(&config.only, spec) {
            graphs.push((spec.to_owned(), zoo::build(&spec.parse()?)?));
        }
    }
    let Some(dir) = &config.dir else {
        return Ok(graphs);
    };
    let files = std::fs::read_dir(dir).map_err(|e| OffloadBenchError::Files(dir.clone(), e))?;
    let mut files: Vec<PathBuf> = files.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.to_string_lossy().contains(".json"));
    files.sort();
    for file in files {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        if wanted(&config.only, &name) {
            graphs.push((name.into_owned(), timed(read(&file)?)?));
        }
    }
    Ok(graphs)
}

/// The graph; costs without a unit of time are taken as nanoseconds.
fn timed(instance: Instance) -> Result<Instance, OffloadBenchError> {
    if instance.cost_unit().nanoseconds.is_some() {
        return Ok(instance);
    }
    Ok(Instance::new(InstanceData {
        cost_unit: CostUnit::nanoseconds(),
        ..instance.data().clone()
    })?)
}

fn compared(
    config: &NodesConfig,
    name: &str,
    formulation: AnyFormulation,
    (rate, share): (f64, f64),
) -> Result<NodesLine, OffloadBenchError> {
    let plain = formulation.plain()?;
    let instance = formulation.instance().clone();
    let semantics = formulation.semantics();
    let least = largest_working_set(&instance).min(plain.peak_bytes);
    let budget_bytes = least + ((plain.peak_bytes - least) as f64 * share) as u64;
    let settings = Settings {
        time_limit: Some(Duration::from_secs_f64(config.seconds)),
        threads: config.threads,
        ..Settings::default()
    };
    let answer = Offload::new(formulation.clone(), budget_bytes)
        .settings(settings)
        .run()?;
    let known = Baselines::of(AnySolvable::of(formulation, Some(CopyPhase::Any)));
    let known = known.run(budget_bytes);
    let fitting = known
        .iter()
        .filter(|one| one.fits(budget_bytes) == Some(true));
    let best = fitting.filter_map(|one| Some((one.name, one.replay()?.makespan)));
    let best = best.min_by_key(|(_, makespan)| *makespan);
    let over = |time: u64| match plain.base_cost {
        0 => 0.0,
        base => 100.0 * (time as f64 / base as f64 - 1.0),
    };
    let outcome = &answer.outcome;
    let replay = outcome.replay.as_ref();
    Ok(NodesLine {
        graph: name.to_owned(),
        nodes: instance.len(),
        semantics,
        rate,
        share,
        budget_bytes,
        without: answer.without_cost.map(over),
        plan: replay.map(|replay| over(replay.makespan)),
        bound: over(outcome.bound),
        gap: outcome.gap.map(|gap| 100.0 * gap),
        status: outcome.status.as_str(),
        seconds: outcome.seconds,
        to_host_bytes: replay.map_or(0, |replay| replay.transfers.to_host_bytes),
        best: best.map(|(name, makespan)| (name, over(makespan))),
    })
}

/// Most bytes that a node needs for its inputs, its output and its workspace, and the fixed memory.
fn largest_working_set(instance: &Instance) -> u64 {
    let bytes = |id: NodeId| instance.node(id).output_bytes;
    let of = |id: NodeId| {
        let inputs = instance.needs(id).iter().map(|d| bytes(*d));
        inputs.sum::<u64>() + bytes(id) + instance.node(id).workspace_bytes()
    };
    instance.ids().map(of).max().unwrap_or(0) + instance.static_bytes()
}
