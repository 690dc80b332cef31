//! Chains with a link to the host: POFO beside recomputation, offloading alone and the baselines of
//! the paper, over memory and bandwidth.

use super::{OffloadBenchError, wanted};
use remat_formulations::baselines::chain::{TrainingChain, extract};
use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::chain::{
    ChainMethod, ChainPlan, ChainSearch, ChainTuning, Link, LinkedChain, memory_range,
    plans_of_rows,
};
use remat_instances::instance::HostLink;
use remat_instances::zoo;

/// The networks of the paper, and one more, at its batch and size.
const NETWORKS: [&str; 7] = [
    "resnet50",
    "googlenet",
    "vgg16",
    "inception_v3",
    "resnet101",
    "resnet152",
    "densenet121",
];

/// Bandwidths of the paper, GB/s.
pub const RATES: [f64; 3] = [12.0, 24.0, 36.0];

/// Shares of memory of the paper, and some more.
pub const SHARES: [f64; 15] = [
    0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 1.0,
];

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct ChainsConfig {
    /// Slots of peaks.
    pub slots: u64,
    /// Labels of a stage.
    pub labels: usize,
    /// Bandwidths both ways in GB/s.
    pub rates: Vec<f64>,
    /// Shares of memory between recomputing all and saving all.
    pub shares: Vec<f64>,
    /// Only networks whose name contains one of these, if there are any.
    pub only: Vec<String>,
}

/// One memory of one network at one bandwidth. Overheads are in percent of the time without
/// recomputation; `None` if no plan fits.
#[derive(Clone, PartialEq, Debug)]
pub struct ChainsLine {
    /// The network.
    pub network: &'static str,
    /// Stages of its chain.
    pub stages: usize,
    /// Time without recomputation, ns.
    pub base: f64,
    /// Bandwidth, GB/s.
    pub rate: f64,
    /// Share of memory between recomputing all and saving all.
    pub share: f64,
    /// Memory in addition to the fixed memory.
    pub memory_bytes: u64,
    /// Rotor, offloading alone, POFO and its bound, continuous release.
    pub continuous: [Option<f64>; 4],
    /// The rows of [`ChainMethod::ALL`], copies at once.
    pub rows: [Option<f64>; 6],
    /// The first five rows as plans of the graph, replayed.
    pub nodes: [Option<f64>; 5],
    /// Labels of POFO's last search.
    pub labels: usize,
}

/// The line above the rows.
pub const HEADER: &str = "network,stages,base ms,GB/s,alpha,GiB,\
                          continuous rotor %,continuous offload-only %,continuous POFO %,bound %,\
                          pofo %,rotor %,offload-only %,opportunist %,autocapper %,greedy %,\
                          nodes pofo %,nodes rotor %,nodes offload-only %,nodes opportunist %,\
                          nodes autocapper %,\
                          labels";

impl ChainsLine {
    /// The line as comma-separated values, under [`HEADER`].
    pub fn csv(&self) -> String {
        let percent = |value: &Option<f64>| value.map_or(String::new(), |v| format!("{v:.2}"));
        let overheads = self.continuous.iter().chain(&self.rows).chain(&self.nodes);
        let overheads = overheads.map(percent);
        format!(
            "{},{},{:.1},{},{},{:.3},{},{}",
            self.network,
            self.stages,
            self.base / 1e6,
            self.rate,
            self.share,
            self.memory_bytes as f64 / f64::from(1 << 30),
            overheads.collect::<Vec<_>>().join(","),
            self.labels
        )
    }
}

/// Hands each line to `tell`.
///
/// # Errors
/// [`OffloadBenchError`] of the first network that cannot be built or replayed.
pub fn run(
    config: &ChainsConfig,
    mut tell: impl FnMut(ChainsLine),
) -> Result<(), OffloadBenchError> {
    for network in NETWORKS {
        if !wanted(&config.only, network) {
            continue;
        }
        let spec = format!("zoo:{network}?batch=16&size=500&device=v100");
        let instance = zoo::build(&spec.parse()?)?;
        let chain = LinkedChain::of(extract(&instance)?.chain());
        let (low, high) = memory_range(&chain)?;
        for &rate in &config.rates {
            let speed = (rate * 1e9) as u64;
            let instance = instance.with_host_link(Some(HostLink::new(speed, speed)))?;
            let training = extract(&instance)?;
            for &share in &config.shares {
                let memory_bytes = low + ((high - low) as f64 * share) as u64;
                let at = (rate, share, memory_bytes);
                tell(compared(config, network, &training, at)?);
            }
        }
    }
    Ok(())
}

fn compared(
    config: &ChainsConfig,
    network: &'static str,
    training: &TrainingChain<'_>,
    (rate, share, memory_bytes): (f64, f64, u64),
) -> Result<ChainsLine, OffloadBenchError> {
    let link = Link::of(training.instance())?;
    let chain = &LinkedChain::of(training.chain());
    let tuning = ChainTuning {
        slots: config.slots,
        labels: config.labels,
        ..ChainTuning::of(chain.len())
    };
    let search = ChainSearch::new(chain, link, memory_bytes).tuning(tuning);
    let found = search.rows()?;
    let plans = plans_of_rows(
        training,
        &found,
        memory_bytes + training.chain().fixed_bytes,
        CopyPhase::Any,
    )?;
    let of_row = |row: ChainMethod| plans.iter().find(|plan| plan.row == row);
    let base = chain.base_time();
    let percent = |time: f64| 100.0 * (time / base - 1.0);
    let [nodes @ .., _] = ChainMethod::ALL.map(|row| Some(of_row(row)?.replay.overhead_percent()));
    let makespan = |plan: &Option<ChainPlan>| plan.as_ref().map(|p| percent(p.makespan));
    Ok(ChainsLine {
        network,
        stages: chain.len(),
        base,
        rate,
        share,
        memory_bytes,
        continuous: [
            makespan(&found.rotor),
            makespan(&found.offload_only),
            makespan(&found.pofo),
            found.pofo.as_ref().map(|plan| percent(plan.bound)),
        ],
        rows: ChainMethod::ALL.map(|row| found.get(row).map(|one| percent(one.played.makespan()))),
        nodes,
        labels: found.pofo.as_ref().map_or(0, |plan| plan.labels),
    })
}
