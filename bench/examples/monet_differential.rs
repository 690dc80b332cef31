//! MONeT's program on random small instances in every mode: the tree, the whole search, enumeration
//! and, with the feature `highs`, HiGHS on the published form.
//!
//! `cargo run --release -p remat-bench --features highs,experiments --example monet_differential
//! -- [--per-mode 300] [--first 1] [--mode K] [--search SECONDS]`
//!
//! Seeds count from `--first`; mode `K` has the bits 1 (in place), 2 (backward variants), 4
//! (masks), 8 (algorithms). The published form lets a schedule read buffers after they were
//! overwritten; replay and enumeration do not. The executable optimum can therefore be above the
//! published form's optimum, never below. HiGHS finds it with additional rows that forbid such
//! reads. `--search` runs the whole search as `remat-bb solve` does, for SECONDS on each instance,
//! compares its plan with the executable optimum, and lists the instances without a proof.

use remat_bench::optimum::{Optimum, by_highs};
use remat_formulations::monet::interval::MonetGraph;
use remat_formulations::monet::original::{Decision, Original};
use remat_instances::instance::NodeKind;
use remat_instances::{Instance, simulate};
use remat_lp::{ColId, Model, ModelBuilder, RowId};
use remat_report::Table;
use remat_search::{Settings, Status};
use remat_solver::price::{
    Incumbents, PrimalHeuristic, Root, RootSettings, TreeEnd, TreeSettings, Visited, search,
};
use remat_tests::graphs::Numbers;
use remat_tests::monet::{Mode, schedule, training};
use remat_tests::{monet_optimum, whole};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Columns up to which enumeration is quick.
const ENUMERATED_COLUMNS: usize = 6;
const HIGHS_SECONDS: f64 = 60.0;

/// Reports the costs of integral points of the tree.
struct Integral<'a>(&'a MonetGraph);

impl PrimalHeuristic<MonetGraph> for Integral<'_> {
    fn run(&self, visited: Vec<Visited<MonetGraph>>, incumbents: &Incumbents<MonetGraph>) -> u64 {
        for v in visited.into_iter().filter(|v| v.integral) {
            incumbents.found(v.point.rounded(self.0).1);
        }
        0
    }
}

/// Answers of all ways for one instance.
struct InstanceAnswer {
    /// Optimum by the tree; `None` for an infeasible instance.
    tree: Optimum,
    nodes: u64,
    /// Optimum of the published form by HiGHS, and with the rows that forbid reads of overwritten
    /// buffers.
    highs: Option<Optimum>,
    executable: Option<Optimum>,
    /// Optimum of executable schedules by enumeration.
    enumerated: Option<Option<u64>>,
    searched: Option<(Status, Option<u64>, u64)>,
}

fn budget(instance: &Instance, numbers: &mut Numbers) -> Result<u64, Box<dyn std::error::Error>> {
    let mut peaks = Vec::new();
    for _ in 0..12 {
        peaks.push(simulate::monet(instance, &schedule(instance, numbers))?.peak_bytes);
    }
    peaks.sort_unstable();
    Ok(peaks[numbers.below(4) as usize] - numbers.below(4))
}

fn by_tree(instance: &Instance, budget: u64) -> Result<(Option<u64>, u64), String> {
    let graph = Arc::new(MonetGraph::new(instance, budget).map_err(|e| e.to_string())?);
    let incumbents = Incumbents::default();
    let root = Root::solve(graph.clone(), &RootSettings::default(), &incumbents);
    let settings = TreeSettings {
        gap: 0.0,
        ..TreeSettings::default()
    };
    let tree = root.and_then(|root| search(root, &settings, &incumbents, &Integral(&graph)));
    let tree = tree.map_err(|e| format!("{e:?}"))?;
    match (tree.end, incumbents.best()) {
        (TreeEnd::Closed, Some(cost)) if cost == tree.bound => Ok((Some(cost), tree.nodes)),
        (TreeEnd::Infeasible, None) => Ok((None, tree.nodes)),
        (end, cost) => Err(format!("{end:?}, {cost:?}, bound {}", tree.bound)),
    }
}

/// The published program. If `executable`, additional rows forbid schedules that the replay
/// refuses: a node computed from a buffer that another node overwrote in the same stage.
fn program(instance: &Instance, budget: u64, executable: bool) -> Result<Model, String> {
    let original = Original::new(instance, budget, 1.0).map_err(|e| e.to_string())?;
    let model = original.model();
    if !executable {
        return Ok(model.clone());
    }
    let mut copy = ModelBuilder::new(model.sense());
    let (mut runs, mut in_place) = (BTreeMap::new(), BTreeMap::new());
    for col in (0..model.num_cols() as u32).map(ColId) {
        copy.add_col(model.costs()[col.index()], model.col_bounds(col));
        copy.set_integer(col, model.is_integer(col));
        match original.decision(col) {
            Decision::Computed { stage, node } => runs.insert((stage, node), col),
            Decision::InPlace { stage, node } => in_place.insert((stage, node), col),
            _ => None,
        };
    }
    for row in (0..model.num_rows() as u32).map(RowId) {
        copy.add_row(model.row_bounds(row), model.row(row));
    }
    let by_product = |i: usize| matches!(instance.nodes()[i].kind, NodeKind::ByProduct { .. });
    for (&(stage, v), &over) in &in_place {
        let Some(option) = instance.nodes()[v]
            .in_place
            .as_ref()
            .filter(|_| !by_product(v))
        else {
            continue;
        };
        for (&(_, w), &run) in runs.range((stage, v + 1)..(stage + 1, 0)) {
            if instance.nodes()[w].needs().contains(&option.on) {
                copy.add_row(..=1.0, [(run, 1.0), (over, 1.0)]);
            }
        }
    }
    copy.build().map_err(|e| e.to_string())
}

fn answer(mode: Mode, seed: u64, seconds: Option<f64>) -> Result<InstanceAnswer, String> {
    let numbers = &mut Numbers::new(seed);
    let instance = training(3 + seed as usize % 2, mode, numbers);
    let budget = budget(&instance, numbers).map_err(|e| e.to_string())?;
    let (tree, nodes) = match by_tree(&instance, budget) {
        Ok((cost, nodes)) => (Ok(cost), nodes),
        Err(e) => (Err(e), 0),
    };
    let columns = instance.loss().map_or(0, |l| l.index() + 1);
    let enumerated =
        (columns <= ENUMERATED_COLUMNS).then(|| monet_optimum::optimum(&instance, budget));
    let mut searched = None;
    if let Some(seconds) = seconds {
        let settings = Settings {
            time_limit: Some(Duration::from_secs_f64(seconds)),
            threads: 1,
            ..Settings::default().without_overtime()
        };
        let found = whole::monet(&instance, budget, &[], &settings);
        let found = found.map_err(|e| e.to_string())?;
        searched = Some((found.status, found.cost(), found.bound));
    }
    Ok(InstanceAnswer {
        tree,
        nodes,
        highs: by_highs(&program(&instance, budget, false)?, HIGHS_SECONDS),
        executable: by_highs(&program(&instance, budget, true)?, HIGHS_SECONDS),
        enumerated,
        searched,
    })
}

fn words(mode: Mode) -> String {
    let parts = [
        (mode.in_place, "in place"),
        (mode.multiway, "variants"),
        (mode.by_products, "masks"),
        (mode.algorithms, "algorithms"),
    ];
    let on: Vec<&str> = parts.iter().filter(|p| p.0).map(|p| p.1).collect();
    if on.is_empty() {
        return "none".into();
    }
    on.join(", ")
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut per_mode, mut first, mut only, mut seconds) = (300, 1, None, None);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or(format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--per-mode" => per_mode = value.parse()?,
            "--first" => first = value.parse()?,
            "--mode" => only = Some(value.parse::<usize>()?),
            "--search" => seconds = Some(value.parse()?),
            _ => return Err(format!("{arg} is not known").into()),
        }
    }
    if !cfg!(feature = "highs") {
        println!("HiGHS is not built in: --features highs");
    }
    let titles = [
        "feasible",
        "not",
        "branched",
        "nodes",
        "= HiGHS",
        "enumerated",
        "equal",
        "above",
        "searched",
        "proven",
        "wrong",
    ];
    let columns = [("mode", true), ("choices", false)];
    let columns: Vec<_> = columns
        .into_iter()
        .chain(titles.map(|t| (t, true)))
        .collect();
    let mut table = Table::new(&columns);
    let mut defects = 0;
    for (k, mode) in Mode::all().enumerate() {
        if only.is_some_and(|only| only != k) {
            continue;
        }
        let mut counts = [0u64; 11];
        for seed in first..first + per_mode {
            let a = answer(mode, seed, seconds)?;
            let mut wrong = Vec::new();
            let tree = match &a.tree {
                Ok(cost) => {
                    counts[usize::from(cost.is_none())] += 1;
                    *cost
                }
                Err(e) => {
                    wrong.push(format!("tree: {e}"));
                    None
                }
            };
            counts[2] += u64::from(a.nodes > 1);
            counts[3] += a.nodes;
            if let Some(highs) = &a.highs {
                match highs {
                    Ok(cost) if *cost == tree => counts[4] += 1,
                    other => wrong.push(format!("HiGHS: {other:?}, tree: {tree:?}")),
                }
            }
            if let Some(best) = a.enumerated {
                counts[5] += 1;
                let above = best.is_none_or(|b| tree.is_some_and(|t| b > t));
                if best == tree {
                    counts[6] += 1;
                } else if mode.in_place && above {
                    counts[7] += 1;
                } else {
                    wrong.push(format!("enumerated: {best:?}, tree: {tree:?}"));
                }
            }
            // By enumeration or by HiGHS, which agree where both have an answer.
            let executable = match (&a.executable, a.enumerated) {
                (Some(Ok(highs)), Some(best)) if *highs != best => {
                    wrong.push(format!(
                        "executable by HiGHS: {highs:?}, enumerated: {best:?}"
                    ));
                    Some(best)
                }
                (Some(Ok(highs)), _) => Some(*highs),
                (Some(Err(e)), best) => {
                    wrong.push(format!("executable by HiGHS: {e}"));
                    best
                }
                (None, best) => best,
            };
            if let Some((status, cost, bound)) = a.searched {
                counts[8] += 1;
                let proven = matches!(status, Status::Optimal | Status::Infeasible);
                counts[9] += u64::from(proven);
                if !proven {
                    let word = status.as_str();
                    println!(
                        "mode {k} seed {seed}: {word} {cost:?}, bound {bound}, tree {tree:?}, executable {executable:?}",
                    );
                }
                let below = cost.is_some_and(|c| tree.is_none_or(|t| c < t));
                let missed = executable.is_some_and(|best| best != cost);
                if below || missed {
                    wrong.push(format!(
                        "search: {status:?} {cost:?}, tree: {tree:?}, executable: {executable:?}"
                    ));
                }
            }
            counts[10] += u64::from(!wrong.is_empty());
            for problem in &wrong {
                println!("mode {k} seed {seed}: {problem}");
            }
        }
        defects += counts[10];
        let cells = [k.to_string(), words(mode)].into_iter();
        table.row(cells.chain(counts.map(|c| c.to_string())).collect());
        println!("mode {k} ({}): {counts:?}", words(mode));
    }
    println!("\n{}", table.render(""));
    if defects > 0 {
        return Err(format!("{defects} instances with different answers").into());
    }
    Ok(())
}
