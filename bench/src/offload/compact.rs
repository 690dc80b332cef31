//! Small graphs beside the compact program in other solvers.

use super::{OffloadBenchError, wanted};
use crate::others::{Installed, Limits, Solver, SolverRun, Task};
use crate::random::SplitMix64;
use remat_formulations::AnyFormulation;
use remat_formulations::checkmate::original::Original;
use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::nodes::Offload;
use remat_instances::instance::{CostUnit, HostLink, Instance, InstanceData, Node, NodeId};
use remat_instances::zoo;
use remat_lp::mps;
use remat_search::{Settings, Solvable};
use remat_tests::compact::offload::{OffloadProgram, Pauses};
use std::time::Duration;

/// Solvers that run beside ours.
const SOLVERS: [Solver; 3] = [Solver::Highs, Solver::Scip, Solver::CpSat];
/// Layers of the chains, and nodes of the random graphs.
const CHAINS: [usize; 5] = [3, 5, 8, 12, 20];
const RANDOM: [usize; 5] = [8, 12, 16, 24, 40];
/// Budget of a graph in percent of its peak without recomputation.
const BUDGET_PERCENT: u64 = 60;
/// Programs with more nonzeros are not given to other solvers: reading them takes longer than the
/// limit.
const MOST_NONZEROS: usize = 10_000_000;

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct CompactConfig {
    /// Seconds for each solve, here and in other solvers.
    pub seconds: f64,
    /// Worker threads, here and in other solvers; 0 for one per core.
    pub threads: usize,
    /// Python with packages highspy, pyscipopt, ortools.
    pub python: String,
    /// Only graphs whose name contains one of these, if there are any.
    pub only: Vec<String>,
}

/// One graph. Times are in its cost unit, ns.
#[derive(Clone, PartialEq, Debug)]
pub struct CompactLine {
    /// The graph.
    pub graph: String,
    /// Its nodes.
    pub nodes: usize,
    /// The budget.
    pub budget_bytes: u64,
    /// Columns of the program.
    pub columns: usize,
    /// Rows of the program.
    pub rows: usize,
    /// Our solve.
    pub ours: SolverRun,
    /// The other solvers, or the reason why there is no answer.
    pub others: Vec<Result<SolverRun, String>>,
}

/// Other solvers that the Python has.
pub fn others(config: &CompactConfig) -> Vec<Installed> {
    let all = SOLVERS.into_iter();
    all.filter_map(|solver| solver.find(&config.python).ok())
        .collect()
}

/// The line above the rows.
pub fn header(others: &[Installed]) -> String {
    let names = ["remat-bb"]
        .into_iter()
        .chain(others.iter().map(|s| s.solver.name()));
    let each = names.map(|name| format!(",{name},its bound,its seconds,its status"));
    let each: String = each.collect();
    format!("graph,nodes,budget bytes,columns,rows{each}")
}

impl CompactLine {
    /// The line as comma-separated values, under [`header`].
    pub fn csv(&self) -> String {
        let number = |value: Option<f64>| value.map_or(String::new(), |v| format!("{v:.0}"));
        let cells = |run: &Result<SolverRun, String>| match run {
            Ok(run) => format!(
                ",{},{},{:.2},{}",
                number(run.objective),
                number(run.bound),
                run.seconds,
                run.words
            ),
            Err(reason) => format!(",,,,{}", reason.replace(',', ";")),
        };
        let ours = Ok(self.ours.clone());
        let each: String = [&ours].into_iter().chain(&self.others).map(cells).collect();
        format!(
            "{},{},{},{},{}{each}",
            self.graph, self.nodes, self.budget_bytes, self.columns, self.rows
        )
    }
}

/// Hands each line to `tell`.
///
/// # Errors
/// [`OffloadBenchError`] of the first graph that cannot be built, solved or written.
pub fn run(
    config: &CompactConfig,
    others: &[Installed],
    mut tell: impl FnMut(CompactLine),
) -> Result<(), OffloadBenchError> {
    let mut graphs = Vec::new();
    for layers in CHAINS {
        let name = format!("zoo:chain?n={layers}");
        graphs.push((zoo::build(&name.parse()?)?, name));
    }
    for nodes in RANDOM {
        graphs.push((skips(nodes)?, format!("skips {nodes}")));
    }
    for (instance, name) in graphs {
        if wanted(&config.only, &name) {
            tell(compared(config, others, &name, &instance)?);
        }
    }
    Ok(())
}

/// A chain whose nodes each read one further node. Its link is about as fast as its computations: 4
/// to 12 MB in 1 to 3 ms.
fn skips(nodes: usize) -> Result<Instance, OffloadBenchError> {
    let mut random = SplitMix64(nodes as u64);
    let mut below = |end: u64| random.below(end);
    let nodes = (0..nodes as u64).map(|k| {
        let mut needs: Vec<NodeId> = Vec::new();
        if k > 0 {
            needs.push(NodeId(k as u32 - 1));
            needs.push(NodeId(below(k) as u32));
        }
        needs.sort_unstable();
        needs.dedup();
        let [cost, bytes] = [
            1_000_000 + 1_000 * below(2000),
            4_000_000 + 1_000 * below(8000),
        ];
        Node::forward(format!("n{k}"), needs, cost, bytes)
    });
    Ok(Instance::new(InstanceData {
        name: "skips".into(),
        cost_unit: CostUnit::nanoseconds(),
        host_link: None,
        in_flight: 1,
        nodes: nodes.collect(),
    })?)
}

fn compared(
    config: &CompactConfig,
    others: &[Installed],
    name: &str,
    instance: &Instance,
) -> Result<CompactLine, OffloadBenchError> {
    // A byte of a node takes about as long on the link as in the node.
    let bytes: u64 = instance.nodes().iter().map(|v| v.output_bytes).sum();
    let speed = (1e9 * bytes as f64 / instance.base_cost().max(1) as f64) as u64;
    let instance = instance.with_host_link(Some(HostLink::new(speed, speed)))?;
    let formulation = AnyFormulation::checkmate(&instance);
    let budget_bytes = formulation.plain()?.peak_bytes * BUDGET_PERCENT / 100;
    let settings = Settings {
        time_limit: Some(Duration::from_secs_f64(config.seconds)),
        threads: config.threads,
        ..Settings::default()
    };
    let limits = Limits {
        seconds: config.seconds,
        threads: match config.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            n => n,
        },
        gap: settings.gap,
        seed: 0,
    };
    let answer = Offload::new(formulation, budget_bytes)
        .settings(settings)
        .run()?;
    let outcome = &answer.outcome;
    let unit = Original::unit_for(&instance, budget_bytes);
    let program = OffloadProgram::new(
        &instance,
        budget_bytes,
        CopyPhase::Any,
        Pauses::Uncounted,
        unit,
    )?;
    let model = program.model();
    let found = match model.num_nonzeros() {
        nonzeros if nonzeros > MOST_NONZEROS => {
            vec![Err(format!("left out: {nonzeros} nonzeros")); others.len()]
        }
        _ => {
            let folder = tempfile::tempdir()?;
            let path = folder.path().join("program.mps");
            mps::write(model, &path)?;
            let task = Task {
                program: &path,
                sense: model.sense(),
                solution: None,
            };
            let run = |s: &Installed| s.solve(&task, &limits);
            others.iter().map(run).collect()
        }
    };
    Ok(CompactLine {
        graph: name.to_owned(),
        nodes: instance.len(),
        budget_bytes,
        columns: model.num_cols(),
        rows: model.num_rows(),
        ours: SolverRun {
            words: outcome.status.as_str().to_owned(),
            objective: outcome.replay.as_ref().map(|r| r.makespan as f64),
            bound: Some(outcome.bound as f64),
            nodes: Some(outcome.nodes),
            seconds: outcome.seconds,
            ..SolverRun::default()
        },
        others: found,
    })
}
