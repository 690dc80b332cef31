//! Orders of training graphs: the search beside the rules of frameworks, with bounds, and the arena
//! that orders and addresses together need.

mod graphs;
mod table;

use graphs::{LAYERED, STEPS, layered};
use remat_instances::instance::StructureError;
use remat_instances::order::{OrderGraph, Variant, read_order_graph};
use remat_instances::zoo;
use remat_memory::memory_plan::{MemoryPlanSearch, MemoryPlanSearchError};
use remat_memory::order::{OrderBaselines, OrderSearch, OrderSearchError, OrderSettings, Rule};
use std::path::PathBuf;
use std::time::Duration;
pub use table::{OrderRow, csv, header, markdown, picture};

/// Part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OrderPart {
    /// The graphs of the directory, under every variant
    Files,
    /// Training steps of the zoo, their parameter gradients as tensors
    Steps,
    /// Random layered graphs
    Layered,
}

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct OrderConfig {
    /// Directory of `remat-order/1` graphs.
    pub dir: Option<PathBuf>,
    /// Seconds for each search.
    pub seconds: f64,
    /// Worker threads; 0 for one per core.
    pub threads: usize,
    /// Repeats; the least time counts.
    pub repeats: usize,
    /// Parts.
    pub parts: Vec<OrderPart>,
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
    /// A search for order and addresses failed.
    #[error(transparent)]
    Joint(#[from] MemoryPlanSearchError),
}

/// Compares, and hands each row to `tell`.
///
/// # Errors
/// [`OrderBenchError`] of the first graph that cannot be read, built or searched.
pub fn run(config: &OrderConfig, mut tell: impl FnMut(OrderRow)) -> Result<(), OrderBenchError> {
    let wanted = |name: &str| {
        config.only.is_empty() || config.only.iter().any(|part| name.contains(part.as_str()))
    };
    if let Some(dir) = config
        .dir
        .as_ref()
        .filter(|_| config.parts.contains(&OrderPart::Files))
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
                tell(compared(config, name, &graph, variant)?);
            }
        }
    }
    let steps = STEPS
        .iter()
        .filter(|_| config.parts.contains(&OrderPart::Steps));
    for name in steps.filter(|name| wanted(name)) {
        let instance = match name.parse() {
            Ok(spec) => zoo::build(&spec)?,
            Err(e) => return Err(OrderBenchError::Zoo(e)),
        };
        let graph = OrderGraph::of_training_step(&instance)?;
        let short = name
            .trim_start_matches("zoo:")
            .replace("&heads=25&d_model=1600", "");
        tell(compared(config, &short, &graph, Variant::Sound)?);
    }
    for (operators, width) in LAYERED {
        let graph = layered(operators, width, 1)?;
        if config.parts.contains(&OrderPart::Layered) && wanted(graph.name()) {
            tell(compared(config, graph.name(), &graph, Variant::Free)?);
        }
    }
    Ok(())
}

/// One graph under one variant.
fn compared(
    config: &OrderConfig,
    name: &str,
    graph: &OrderGraph,
    variant: Variant,
) -> Result<OrderRow, OrderBenchError> {
    let baselines = OrderBaselines::of(graph, variant)?;
    let settings = OrderSettings {
        time_limit: Some(Duration::from_secs_f64(config.seconds)),
        threads: config.threads,
        ..OrderSettings::default()
    };
    let search = || {
        let search = OrderSearch::new(graph).variant(variant);
        search.settings(settings.clone()).run()
    };
    let mut outcome = search()?;
    for _ in 1..config.repeats {
        let again = search()?;
        if again.seconds < outcome.seconds {
            outcome = again;
        }
    }
    let joint = MemoryPlanSearch::new(graph).variant(variant);
    let joint = joint.settings(settings).run()?;
    Ok(OrderRow {
        name: name.to_owned(),
        variant,
        operators: graph.len(),
        program_bytes: baselines.rule(Rule::Program).replay.peak_bytes,
        lpmf_bytes: baselines.rule(Rule::Lpmf).replay.peak_bytes,
        best_rule_bytes: baselines.best().replay.peak_bytes,
        outcome,
        joint,
    })
}
