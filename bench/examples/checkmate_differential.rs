//! Checkmate's program on random small graphs: every form of it, by every way to solve it, against
//! enumeration and HiGHS.
//!
//! `cargo run --release -p remat-bench --features experiments[,highs]
//! --example checkmate_differential -- [--graphs 2000] [--first 1] [--least 4] [--most 8]`
//!
//! Seeds count from `--first`; graphs have between `--least` and `--most` nodes, and every second
//! one is a backward pass. Answers are compared with enumeration up to 9 nodes, and with HiGHS
//! beyond. The general solver gets the published program and the retention-edge form with all
//! memory rows. That form is solved in the full space and in the restricted one, whose optimum may
//! be above. Branch, price and cut prices the full space. "plain" is without cuts and heuristics,
//! and without presolve.

use remat_bench::optimum::{Optimum, by_highs};
use remat_formulations::bound::smallest_budget;
use remat_formulations::checkmate::CheckmateGraph;
use remat_formulations::checkmate::original::{Original, Stages};
use remat_instances::Instance;
use remat_lp::Model;
use remat_report::Table;
use remat_search::Status;
use remat_solver::mip::{SolveStatus, Solver};
use remat_solver::price::{Incumbents, Root, RootSettings, TreeEnd, TreeSettings, search};
use remat_tests::alone::Alone;
use remat_tests::brute;
use remat_tests::compact::checkmate::{Compact, Space};
use remat_tests::graphs::{Numbers, general, training};
use remat_tests::whole::solved;
use std::sync::Arc;

/// Nodes up to which enumeration is quick.
const ENUMERATED_NODES: usize = 9;

/// The form whose optimum may be above.
const RESTRICTED: &str = "restricted";
const HIGHS: &str = "HiGHS";

fn by_tree(instance: &Instance, budget: u64, cuts: bool) -> Optimum {
    let graph = Arc::new(CheckmateGraph::new(instance, budget).map_err(|e| e.to_string())?);
    let mut root = RootSettings::default();
    let mut settings = TreeSettings {
        gap: 0.0,
        ..TreeSettings::default()
    };
    if !cuts {
        root.cut_rounds = 0;
        settings.node_cut_rounds = 0;
    }
    let alone = Alone::new(instance, &graph, budget);
    let incumbents = Incumbents::default();
    let root = Root::solve(graph.clone(), &root, &incumbents).map_err(|e| e.to_string())?;
    let tree = search(root, &settings, &incumbents, &alone).map_err(|e| e.to_string())?;
    match (tree.end, incumbents.best()) {
        (TreeEnd::Closed, Some(cost)) if cost == tree.bound => Ok(Some(cost)),
        (TreeEnd::Infeasible, None) => Ok(None),
        (end, cost) => Err(format!("{end:?}, {cost:?}, bound {}", tree.bound)),
    }
}

/// The whole search of `remat-bb solve` without a time limit.
fn by_search(instance: &Instance, budget: u64, threads: usize) -> Optimum {
    let found = solved(instance, budget, threads).map_err(|e| e.to_string())?;
    match found.status {
        Status::Optimal | Status::Infeasible => Ok(found.cost()),
        other => Err(format!("{other:?}, bound {}", found.bound)),
    }
}

fn by_solver(model: &Model, threads: usize, plain: bool) -> Optimum {
    let settings = remat_solver::mip::Settings {
        relative_gap: 0.0,
        threads,
        presolve: !plain,
        cuts: !plain,
        local_cuts: !plain,
        heuristics: !plain,
        ..remat_solver::mip::Settings::default()
    };
    let solver = Solver::new(Arc::new(model.clone()), settings);
    let result = solver.run().map_err(|e| e.to_string())?;
    match (result.status, result.solution) {
        (SolveStatus::Optimal, Some(s)) => Ok(Some(s.objective.round() as u64)),
        (SolveStatus::Infeasible, _) => Ok(None),
        (other, _) => Err(format!("{other:?}")),
    }
}

/// A graph, and a budget near the smallest at which every node runs.
fn instance(seed: u64, least: usize, most: usize) -> (Instance, u64) {
    let numbers = &mut Numbers::new(seed);
    let nodes = least + numbers.below((most - least + 1) as u64) as usize;
    let instance = match seed % 2 {
        0 => general(nodes, numbers),
        // As many forward nodes as backward ones, and the loss.
        _ if nodes.is_multiple_of(2) && nodes == most => training(nodes / 2 - 1, numbers),
        _ => training(nodes / 2, numbers),
    };
    let budget = smallest_budget(&instance).needed_bytes + numbers.below(8);
    (instance, budget)
}

/// Optimum by each way to solve the instance, with the name of the way.
fn answers(instance: &Instance, budget: u64) -> Result<Vec<(&'static str, Optimum)>, String> {
    let original = Original::new(instance, budget, Stages::FrontierAdvancing, 1.0);
    let original = original.map_err(|e| e.to_string())?;
    let graph = CheckmateGraph::new(instance, budget).map_err(|e| e.to_string())?;
    let form = |space| Compact::new(graph.clone(), space).with_memory_rows();
    let full = form(Space::Full);
    let mut all = vec![
        ("tree", by_tree(instance, budget, true)),
        ("tree, plain", by_tree(instance, budget, false)),
        ("search", by_search(instance, budget, 1)),
        ("search, 2 threads", by_search(instance, budget, 2)),
        ("published", by_solver(original.model(), 1, false)),
        (
            "published, 2 threads",
            by_solver(original.model(), 2, false),
        ),
        ("published, plain", by_solver(original.model(), 1, true)),
        ("full", by_solver(&full, 1, false)),
        ("full, plain", by_solver(&full, 1, true)),
    ];
    if instance.loss().is_some() {
        let restricted = form(Space::Rectangular);
        all.push((RESTRICTED, by_solver(&restricted, 1, false)));
    }
    all.extend(by_highs(original.model(), 120.0).map(|a| (HIGHS, a)));
    Ok(all)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (mut graphs, mut first, mut least, mut most) = (2000, 1, 4, 8);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let value = args.next().ok_or(format!("{arg} needs a value"))?;
        match arg.as_str() {
            "--graphs" => graphs = value.parse()?,
            "--first" => first = value.parse()?,
            "--least" => least = value.parse()?,
            "--most" => most = value.parse()?,
            _ => return Err(format!("{arg} is not known").into()),
        }
    }
    if least < 3 || most < least {
        return Err("--least must be 3 or more, --most no less".into());
    }
    if !cfg!(feature = "highs") {
        println!("HiGHS is not built in: --features highs");
    }
    // For each way, counts of answers that are equal, above and wrong.
    let mut counts: Vec<(&str, [u64; 3])> = Vec::new();
    let (mut enumerated, mut infeasible) = (0u64, 0u64);
    for seed in first..first + graphs {
        let (instance, budget) = instance(seed, least, most);
        let all = answers(&instance, budget)?;
        let by_enumeration = instance.len() <= ENUMERATED_NODES;
        let right: Optimum = match by_enumeration {
            true => Ok(brute::optimum(&instance, budget)),
            false => {
                let highs = all.iter().find(|a| a.0 == HIGHS);
                highs.unwrap_or(&all[0]).1.clone()
            }
        };
        enumerated += u64::from(by_enumeration);
        infeasible += u64::from(right == Ok(None));
        for (name, answer) in all {
            let at = counts.iter().position(|c| c.0 == name);
            let at = at.unwrap_or_else(|| {
                counts.push((name, [0; 3]));
                counts.len() - 1
            });
            let above = match (&answer, &right) {
                (Ok(answer), Ok(Some(right))) => answer.is_none_or(|a| a > *right),
                _ => false,
            };
            let kind = match answer == right {
                true => 0,
                false if name == RESTRICTED && above => 1,
                false => 2,
            };
            counts[at].1[kind] += 1;
            if kind == 2 {
                println!("seed {seed}, {name}: {answer:?} instead of {right:?}");
            }
        }
    }
    let columns = [
        ("way", false),
        ("equal", true),
        ("above", true),
        ("wrong", true),
    ];
    let mut table = Table::new(&columns);
    for (name, of) in &counts {
        let cells = of.iter().map(u64::to_string);
        table.row([(*name).to_owned()].into_iter().chain(cells).collect());
    }
    println!(
        "{graphs} graphs of {least} to {most} nodes, {enumerated} by enumeration, {infeasible} infeasible\n"
    );
    println!("{}", table.render(""));
    let wrong: u64 = counts.iter().map(|c| c.1[2]).sum();
    if wrong > 0 {
        return Err(format!("{wrong} different answers").into());
    }
    Ok(())
}
