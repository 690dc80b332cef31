//! Chains with a link to the host: POFO beside recomputation and offloading alone, over memory and
//! bandwidth.

use remat_formulations::baselines::chain::{NoChain, extract};
use remat_formulations::offload::chain::{
    ChainPlan, ChainSearch, Choices, Link, LinkedChain, Release, SequenceError, memory_range, play,
};
use remat_instances::zoo::{self, ZooError};
use std::time::Instant;

/// The networks of the paper, and two more, at its batch and size.
const NETWORKS: [&str; 6] = [
    "resnet50",
    "googlenet",
    "vgg16",
    "resnet101",
    "resnet152",
    "densenet121",
];
/// Bandwidths in bytes per nanosecond, and the shares of memory at which each is tried.
const LINKS: [(f64, &[f64]); 3] = [
    (12.0, &[0.1, 0.2, 0.35, 0.5, 0.75]),
    (24.0, &[0.2, 0.5]),
    (36.0, &[0.2, 0.5]),
];

/// Reason why the comparison ended.
#[derive(Debug, thiserror::Error)]
pub enum OffloadBenchError {
    /// A model of the zoo cannot be built.
    #[error(transparent)]
    Zoo(#[from] ZooError),
    /// A graph makes no chain.
    #[error(transparent)]
    Chain(#[from] NoChain),
    /// A sequence cannot be played.
    #[error(transparent)]
    Sequence(#[from] SequenceError),
}

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct Config {
    /// Slots of peaks.
    pub slots: u64,
    /// Labels of a stage.
    pub labels: usize,
    /// Only networks whose name contains one of these, if there are any.
    pub only: Vec<String>,
}

/// The line above the rows.
pub const HEADER: &str = "network,stages,base ms,GB/s,alpha,GiB,rotor %,offload-only %,POFO %,\
                          POFO at once %,row %,is exact,labels,seconds";

/// Hands each row to `tell`: overheads in percent of the time without recomputation.
///
/// # Errors
/// [`OffloadBenchError`] of the first network that cannot be built or played.
pub fn run(config: &Config, mut tell: impl FnMut(&str)) -> Result<(), OffloadBenchError> {
    let wanted = |name: &str| {
        config.only.is_empty() || config.only.iter().any(|part| name.contains(part.as_str()))
    };
    for name in NETWORKS.into_iter().filter(|name| wanted(name)) {
        let spec = format!("zoo:{name}?batch=16&size=500&device=v100");
        let instance = zoo::build(&spec.parse()?)?;
        let training = extract(&instance)?;
        let chain = LinkedChain::of(training.chain());
        let (low, high) = memory_range(&chain)?;
        for (rate, alphas) in LINKS {
            for &alpha in alphas {
                let memory = low + ((high - low) as f64 * alpha) as u64;
                let link = Link {
                    out: rate,
                    back: rate,
                };
                let row = compared(config, &chain, link, memory)?;
                tell(&format!(
                    "{name},{},{:.1},{rate},{alpha},{:.3},{row}",
                    chain.len(),
                    chain.base_time() / 1e6,
                    memory as f64 / f64::from(1 << 30),
                ));
            }
        }
    }
    Ok(())
}

/// The columns from rotor on.
fn compared(
    config: &Config,
    chain: &LinkedChain,
    link: Link,
    memory: u64,
) -> Result<String, SequenceError> {
    let began = Instant::now();
    let search = ChainSearch::new(chain, link, memory);
    let search = search.slots(config.slots).labels(config.labels);
    let plan = |choices| search.clone().choices(choices).run();
    let [both, recompute, offload] =
        [Choices::Both, Choices::Recompute, Choices::Offload].map(plan);
    let seconds = began.elapsed().as_secs_f64();
    let base = chain.base_time();
    let at_once = |plan: &Option<ChainPlan>| {
        let Some(plan) = plan else { return Ok(None) };
        let played = play(chain, link, memory, &plan.actions, Release::AtOnce)?;
        Ok::<_, SequenceError>(played.map(|played| played.makespan()))
    };
    let percent = |time: Option<f64>| {
        time.map_or(String::new(), |time| {
            format!("{:.2}", 100.0 * (time / base - 1.0))
        })
    };
    let makespan = |plan: &Option<ChainPlan>| percent(plan.as_ref().map(|plan| plan.makespan));
    let converted = at_once(&both)?;
    let rows = [converted, at_once(&recompute)?, at_once(&offload)?];
    let row = rows.into_iter().flatten().min_by(f64::total_cmp);
    Ok(format!(
        "{},{},{},{},{},{},{},{seconds:.2}",
        makespan(&recompute),
        makespan(&offload),
        makespan(&both),
        percent(converted),
        percent(row),
        both.as_ref().is_some_and(|plan| plan.is_exact),
        both.as_ref().map_or(0, |plan| plan.labels),
    ))
}
