//! Solves with and without a choice of the order, and the share of the possible gain that is found.

use crate::random::SplitMix64;
use rayon::prelude::*;
use remat_formulations::AnyFormulation;
use remat_formulations::reorder::Reorder;
use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId, StructureError};
use remat_instances::simulate::ReplayError;
use remat_instances::{read, zoo};
use remat_search::{Outcome, Settings, Solvable, SolveError};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::time::Duration;

/// Models of the zoo whose graphs leave a choice.
const MODELS: [&str; 3] = [
    "zoo:googlenet?batch=32",
    "zoo:unet?batch=8",
    "zoo:densenet121?batch=8",
];

/// Part of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum ReorderPart {
    /// Random general graphs of 6 to 10 nodes, beside the best plan of any order
    Random,
    /// Graphs of the directory
    Files,
    /// Models of the zoo
    Zoo,
}

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct ReorderConfig {
    /// Directory of graphs.
    pub dir: Option<PathBuf>,
    /// Seconds for each solve of the files and of the zoo.
    pub seconds: f64,
    /// Worker threads; 0 for one per core.
    pub threads: usize,
    /// Random graphs.
    pub graphs: usize,
    /// Budgets of files and models, in percent of the peak without recomputation.
    pub budgets: Vec<f64>,
    /// Parts.
    pub parts: Vec<ReorderPart>,
    /// Only graphs whose name contains one of these, if there are any.
    pub only: Vec<String>,
}

/// Reason why the comparison ended.
#[derive(Debug, thiserror::Error)]
pub enum ReorderBenchError {
    /// A file cannot be listed.
    #[error("{0}: {1}; name a directory of graphs")]
    Files(PathBuf, std::io::Error),
    /// A graph cannot be read.
    #[error(transparent)]
    Read(#[from] remat_instances::instance::InstanceError),
    /// A model of the zoo cannot be built.
    #[error(transparent)]
    Zoo(#[from] zoo::ZooError),
    /// A random graph is not valid.
    #[error(transparent)]
    Graph(#[from] StructureError),
    /// A solve failed.
    #[error(transparent)]
    Solve(#[from] SolveError),
    /// A graph cannot be run.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

/// Compares, and hands each line to `tell`.
///
/// # Errors
/// [`ReorderBenchError`] of the first graph that cannot be read, built or solved.
pub fn run(config: &ReorderConfig, mut tell: impl FnMut(&str)) -> Result<(), ReorderBenchError> {
    if config.parts.contains(&ReorderPart::Random) {
        random(config, &mut tell)?;
    }
    let wanted = |name: &str| {
        config.only.is_empty() || config.only.iter().any(|part| name.contains(part.as_str()))
    };
    let mut header = true;
    let mut compare = |name: &str, instance: &Instance| -> Result<(), ReorderBenchError> {
        if std::mem::take(&mut header) {
            tell(&format!(
                "{:<28} {:>6} {:>7} {:>14} {:>8} {:>14} {:>8} {:>8} {:>7} {:<28}",
                "graph",
                "nodes",
                "budget",
                "given",
                "over",
                "reordered",
                "over",
                "saved",
                "orders",
                "scope of the bound"
            ));
        }
        for percent in &config.budgets {
            tell(&line(config, name, instance, *percent)?);
        }
        Ok(())
    };
    if let Some(dir) = config
        .dir
        .as_ref()
        .filter(|_| config.parts.contains(&ReorderPart::Files))
    {
        let files = std::fs::read_dir(dir).map_err(|e| ReorderBenchError::Files(dir.clone(), e))?;
        let mut files: Vec<_> = files.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|path| path.to_string_lossy().contains(".json"));
        files.sort();
        for file in files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            if wanted(&name) {
                compare(&name, &read(&file)?)?;
            }
        }
    }
    for name in MODELS
        .iter()
        .filter(|_| config.parts.contains(&ReorderPart::Zoo))
    {
        if wanted(name) {
            let instance = match name.parse() {
                Ok(spec) => zoo::build(&spec)?,
                Err(e) => return Err(ReorderBenchError::Zoo(e)),
            };
            compare(name, &instance)?;
        }
    }
    Ok(())
}

/// One line: without and with a choice of the order, the same time for each.
fn line(
    config: &ReorderConfig,
    name: &str,
    instance: &Instance,
    percent: f64,
) -> Result<String, ReorderBenchError> {
    let formulation = AnyFormulation::suiting(instance);
    let plain = formulation.plain()?;
    let budget = (plain.peak_bytes as f64 * percent / 100.0) as u64;
    let settings = Settings {
        time_limit: Some(Duration::from_secs_f64(config.seconds)),
        threads: config.threads,
        ..Settings::default()
    };
    let without: Outcome<_> = formulation.solve(budget, &[], &settings, &())?;
    let with = Reorder::new(formulation, budget).settings(settings).run()?;
    let over = |cost: Option<u64>| match cost {
        Some(cost) => {
            let base = plain.cost as f64;
            format!("{:.2}%", 100.0 * (cost as f64 - base) / base)
        }
        None => "-".into(),
    };
    let cost = |cost: Option<u64>| cost.map_or("-".into(), |cost| cost.to_string());
    let (before, after) = (without.cost(), with.objective().ok());
    let saved = match (before, after) {
        (Some(before), Some(after)) => {
            let saved = before as f64 - after as f64;
            format!("{:.2}%", 100.0 * saved / before as f64)
        }
        _ => "-".into(),
    };
    Ok(format!(
        "{name:<28} {:>6} {:>6}% {:>14} {:>8} {:>14} {:>8} {saved:>8} {:>7} {:<28}",
        with.given.len(),
        percent,
        cost(before),
        over(before),
        cost(after),
        over(after),
        with.choice.orders,
        with.outcome.bound_scope,
    ))
}

/// A pair of a graph and a budget, by its costs.
struct Pair {
    given: Option<u64>,
    found: Option<u64>,
    best: u64,
}

/// Random general graphs, under every budget from the least feasible one in any order to the peak
/// of the given order.
fn random(config: &ReorderConfig, tell: &mut impl FnMut(&str)) -> Result<(), ReorderBenchError> {
    let pairs: Result<Vec<Vec<Pair>>, ReorderBenchError> = (0..config.graphs)
        .into_par_iter()
        .map(|seed| pairs(&general(seed as u64)?))
        .collect();
    let pairs: Vec<Pair> = pairs?.into_iter().flatten().collect();
    let differ = |p: &&Pair| p.given.is_none_or(|given| p.best < given);
    let both = || {
        pairs
            .iter()
            .filter_map(|p| Some((p.given?, p.found?, p.best)))
    };
    let cheaper: Vec<(u64, u64, u64)> = both().filter(|(given, _, best)| best < given).collect();
    let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    let mean = |f: &dyn Fn(&(u64, u64, u64)) -> f64| {
        100.0 * cheaper.iter().map(f).sum::<f64>() / cheaper.len().max(1) as f64
    };
    let best = pairs.iter().filter(|p| p.found == Some(p.best)).count();
    let gain = mean(&|(given, found, best)| (given - found) as f64 / (given - best) as f64);
    tell(&format!(
        "{} random general graphs, {} budgets",
        config.graphs,
        pairs.len()
    ));
    tell(&format!(
        "  the best order is cheaper than the given one in {:.1}% of them, by {:.1}% on average",
        percent(pairs.iter().filter(differ).count(), pairs.len()),
        mean(&|(given, _, best)| (given - best) as f64 / *given as f64),
    ));
    tell(&format!(
        "  no stage schedule in the given order: {}, of these a plan found: {}",
        pairs.iter().filter(|p| p.given.is_none()).count(),
        pairs
            .iter()
            .filter(|p| p.given.is_none() && p.found.is_some())
            .count(),
    ));
    tell(&format!(
        "  found: the best plan of any order in {:.1}%, {:.1}% of the gain on average, {:.1}% saved on average",
        percent(best, pairs.len()),
        gain,
        mean(&|(given, found, _)| (given - found) as f64 / *given as f64),
    ));
    Ok(())
}

fn pairs(instance: &Instance) -> Result<Vec<Pair>, ReorderBenchError> {
    let formulation = AnyFormulation::suiting(instance);
    let peak = formulation.plain()?.peak_bytes;
    let mut pairs = Vec::new();
    for budget in 1..peak {
        let Some(best) = best_of_any_order(instance, budget) else {
            continue;
        };
        let settings = Settings {
            threads: 1,
            ..Settings::default()
        };
        let solve = Reorder::new(formulation.clone(), budget);
        let answer = solve.settings(settings).run()?;
        pairs.push(Pair {
            given: answer.choice.given_cost,
            found: answer.objective().ok(),
            best,
        });
    }
    Ok(pairs)
}

/// A general graph of 6 to 10 nodes, each of which reads up to three earlier ones. Sizes and costs
/// are 1 to 9; in half of the graphs 40% of them are (1, 1) and the others 5 to 9.
fn general(seed: u64) -> Result<Instance, StructureError> {
    let mut random = SplitMix64(seed);
    let mut below = |end: u64| random.below(end);
    let uneven = below(2) == 0;
    let nodes = (0..6 + below(5)).map(|k| {
        let mut needs: Vec<NodeId> = Vec::new();
        for _ in 0..if k == 0 { 0 } else { below(4) } {
            needs.push(NodeId(below(k) as u32));
        }
        needs.sort_unstable();
        needs.dedup();
        let (cost, bytes) = match (uneven, below(5) < 2) {
            (true, true) => (1, 1),
            (true, false) => (5 + below(5), 5 + below(5)),
            (false, _) => (1 + below(9), 1 + below(9)),
        };
        Node::forward(format!("n{k}"), needs, cost, bytes)
    });
    Instance::new(InstanceData {
        name: format!("general {seed}").into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes: nodes.collect(),
    })
}

/// Least cost of any plan in any order, by a search over sets of tensors in memory and sets of
/// computed nodes; `None` if no plan fits.
fn best_of_any_order(instance: &Instance, budget: u64) -> Option<u64> {
    let n = instance.len();
    let bytes = |i: usize| instance.node(NodeId::from(i)).output_bytes;
    let needs: Vec<u32> = instance
        .ids()
        .map(|id| instance.needs(id).iter().fold(0, |m, d| m | 1 << d.0))
        .collect();
    let all = (1u32 << n) - 1;
    let mut best = vec![u64::MAX; 1 << (2 * n)];
    let at = |held: u32, done: u32| (held as usize) << n | done as usize;
    let mut queue = BinaryHeap::from([Reverse((0u64, 0u32, 0u32))]);
    best[0] = 0;
    while let Some(Reverse((cost, held, done))) = queue.pop() {
        if done == all {
            return Some(cost);
        }
        if cost > best[at(held, done)] {
            continue;
        }
        let used: u64 = (0..n).filter(|i| held >> i & 1 != 0).map(bytes).sum();
        for (i, inputs) in needs.iter().enumerate() {
            let bit = 1u32 << i;
            let (price, held, done) = match held & bit != 0 {
                true => (0, held & !bit, done),
                false if inputs & !held == 0 && used + bytes(i) <= budget => (
                    instance.node(NodeId::from(i)).cost(),
                    held | bit,
                    done | bit,
                ),
                false => continue,
            };
            let total = cost + price;
            let known = &mut best[at(held, done)];
            if total < *known {
                *known = total;
                queue.push(Reverse((total, held, done)));
            }
        }
    }
    None
}
