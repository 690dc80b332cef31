//! Orders of training graphs: the search beside the rules of frameworks, with bounds.

use remat_formulations::order::{
    OrderBaselines, OrderOutcome, OrderSearch, OrderSearchError, OrderSettings, Rule,
};
use remat_instances::instance::StructureError;
use remat_instances::order::{
    Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId, Variant, read_order_graph,
};
use remat_instances::zoo;
use std::path::PathBuf;
use std::time::Duration;

/// Training steps of the zoo, their parameter gradients as tensors.
const STEPS: [&str; 8] = [
    "zoo:gpt2?layers=48&heads=25&d_model=1600&batch=1",
    "zoo:gpt2?layers=104&heads=25&d_model=1600&batch=1&attention=plain",
    "zoo:resnet152?batch=1",
    "zoo:densenet121?batch=2",
    "zoo:googlenet?batch=2",
    "zoo:unet?batch=2",
    "zoo:vit?batch=2",
    "zoo:mixtral?batch=1",
];

/// Operators and width of random layered graphs.
const LAYERED: [(usize, usize); 6] = [
    (100, 10),
    (200, 10),
    (500, 5),
    (500, 10),
    (500, 20),
    (500, 50),
];

/// Part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Part {
    /// The graphs of the directory, under every variant
    Files,
    /// Training steps of the zoo, their parameter gradients as tensors
    Steps,
    /// Random layered graphs
    Layered,
}

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct Config {
    /// Directory of `remat-order/1` graphs.
    pub dir: Option<PathBuf>,
    /// Seconds for each search.
    pub seconds: f64,
    /// Worker threads; 0 for one per core.
    pub threads: usize,
    /// The least time of so many repeats counts.
    pub repeats: usize,
    /// Parts.
    pub parts: Vec<Part>,
    /// Only graphs whose name contains one of these, if there are any.
    pub only: Vec<String>,
}

/// Reason why the comparison ended.
#[derive(Debug, thiserror::Error)]
pub enum OrderBenchError {
    /// A file cannot be listed or read.
    #[error("{0}: {1}; name a directory of remat-order/1 graphs")]
    Files(PathBuf, std::io::Error),
    /// A graph cannot be read.
    #[error(transparent)]
    Read(#[from] remat_instances::instance::InstanceError),
    /// A model of the zoo cannot be built.
    #[error(transparent)]
    Zoo(#[from] zoo::ZooError),
    /// An instance makes no graph.
    #[error(transparent)]
    Graph(#[from] StructureError),
    /// A search failed.
    #[error(transparent)]
    Search(#[from] OrderSearchError),
}

/// The line above the table.
pub fn header() -> String {
    format!(
        "{:<28} {:<9} {:>5} {:>15} {:>15} {:>15} {:>15} {:>15} {:>7} {:>7} {:>8} {:>8} {:<12} \
         bound by",
        "graph",
        "variant",
        "ops",
        "program",
        "lpmf",
        "best rule",
        "peak",
        "bound",
        "gap",
        "saved",
        "states",
        "seconds",
        "found by"
    )
}

/// Compares, and hands each line of the table to `tell`; returns whether every graph of the
/// directory is proven.
///
/// # Errors
/// [`OrderBenchError`] of the first graph that cannot be read, built or searched.
pub fn run(config: &Config, mut tell: impl FnMut(&str)) -> Result<bool, OrderBenchError> {
    let wanted = |name: &str| {
        config.only.is_empty() || config.only.iter().any(|part| name.contains(part.as_str()))
    };
    let mut all_proven = true;
    if let Some(dir) = config
        .dir
        .as_ref()
        .filter(|_| config.parts.contains(&Part::Files))
    {
        let files = std::fs::read_dir(dir).map_err(|e| OrderBenchError::Files(dir.clone(), e))?;
        let mut files: Vec<_> = files.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|path| path.to_string_lossy().ends_with(".json.gz"));
        files.sort();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let name = name.trim_end_matches(".json.gz");
            if !wanted(name) {
                continue;
            }
            let graph = read_order_graph(&file)?;
            for variant in Variant::ALL {
                all_proven &= line(config, name, &graph, variant, &mut tell)?;
            }
        }
    }
    let steps = STEPS.iter().filter(|_| config.parts.contains(&Part::Steps));
    for name in steps.filter(|name| wanted(name)) {
        let instance = match name.parse() {
            Ok(spec) => zoo::build(&spec)?,
            Err(e) => return Err(OrderBenchError::Zoo(e)),
        };
        let graph = OrderGraph::of_training_step(&instance)?;
        let short = name
            .trim_start_matches("zoo:")
            .replace("&heads=25&d_model=1600", "");
        line(config, &short, &graph, Variant::Sound, &mut tell)?;
    }
    for (operators, width) in LAYERED {
        let graph = layered(operators, width, 1)?;
        if config.parts.contains(&Part::Layered) && wanted(graph.name()) {
            line(config, graph.name(), &graph, Variant::Free, &mut tell)?;
        }
    }
    Ok(all_proven)
}

/// One line; returns whether the peak is proven least.
fn line(
    config: &Config,
    name: &str,
    graph: &OrderGraph,
    variant: Variant,
    tell: &mut impl FnMut(&str),
) -> Result<bool, OrderBenchError> {
    let baselines = OrderBaselines::of(graph, variant)?;
    let settings = OrderSettings {
        time_limit: Some(Duration::from_secs_f64(config.seconds)),
        threads: config.threads,
        ..OrderSettings::default()
    };
    let mut best: Option<OrderOutcome> = None;
    for _ in 0..config.repeats.max(1) {
        let search = OrderSearch::new(graph)
            .variant(variant)
            .settings(settings.clone());
        let outcome = search.run()?;
        if best
            .as_ref()
            .is_none_or(|best| outcome.seconds < best.seconds)
        {
            best = Some(outcome);
        }
    }
    let Some(outcome) = best else {
        return Ok(false);
    };
    let peak = outcome.peak_bytes();
    let program = baselines.rule(Rule::Program).replay.peak_bytes;
    let saved = 100.0 * (program as f64 - peak as f64) / program as f64;
    tell(&format!(
        "{name:<28} {:<9} {:>5} {program:>15} {:>15} {:>15} {peak:>15} {:>15} {:>6.2}% \
         {saved:>6.2}% {:>8} {:>8.3} {:<12} {}",
        variant.as_str(),
        graph.len(),
        baselines.rule(Rule::Lpmf).replay.peak_bytes,
        baselines.best().replay.peak_bytes,
        outcome.bound_bytes,
        100.0 * outcome.gap(),
        outcome.states,
        outcome.seconds,
        outcome.found_by.as_str(),
        outcome.bound_by.as_str(),
    ));
    Ok(peak == outcome.bound_bytes)
}

/// A random graph in layers: each operator has one output of 1 to 1000 bytes, and reads one to
/// three of the layer before or, one time in four, of the three layers before.
fn layered(operators: usize, width: usize, seed: u64) -> Result<OrderGraph, StructureError> {
    let mut state = seed;
    let mut below = |end: usize| {
        // splitmix64
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    };
    let mut data = OrderGraphData {
        name: format!("layered {operators} by {width}"),
        program_order: (0..operators as u32).map(OperatorId).collect(),
        ..OrderGraphData::default()
    };
    for v in 0..operators {
        let layer = v / width;
        let mut operator = Operator {
            outputs: vec![TensorId(v as u32)],
            ..Operator::default()
        };
        for _ in 0..if layer > 0 { 1 + below(3) } else { 0 } {
            let reach = if below(4) == 0 { 3 } else { 1 };
            let low = layer.saturating_sub(reach) * width;
            let input = TensorId((low + below(layer * width - low)) as u32);
            if !operator.inputs.contains(&input) {
                operator.inputs.push(input);
            }
        }
        data.operators.push(operator);
        data.tensors.push(Tensor {
            bytes: 1 + below(1000) as u64,
            ..Tensor::default()
        });
    }
    OrderGraph::new(data)
}
