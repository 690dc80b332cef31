//! The root of MONeT's interval form on the benchmark's instances: bound, size and time beside the
//! published runs.
//!
//! `cargo run --release -p remat-bench --features experiments --example monet_root --
//! ZOO [--only NAME] [--budget GIB] [--time-limit SECONDS] [--verbose] [--tree] [--pivots N]`
//!
//! With `--tree`, branch, price and cut follows the root. The cost to beat is the objective of the
//! logged run. The tree ends after N pivots, counting the root's pivots.

use remat_formulations::monet::interval::MonetGraph;
use remat_solver::price::{Incumbents, Root, RootSettings, TreeSettings, search};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut zoo = None;
    let mut only = String::new();
    let mut budget_only = None;
    let (mut tree, mut verbose) = (false, false);
    let mut search_settings = TreeSettings::default();
    let mut settings = RootSettings::default();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--only" => only = value()?,
            "--budget" => budget_only = Some(value()?),
            "--time-limit" => {
                settings.time_limit = Some(Duration::from_secs_f64(value()?.parse()?));
            }
            "--cut-rounds" => settings.cut_rounds = value()?.parse()?,
            "--tree" => tree = true,
            "--pivots" => search_settings.iterations = value()?.parse()?,
            "--verbose" => verbose = true,
            _ => zoo = Some(PathBuf::from(arg)),
        }
    }
    let zoo = zoo.ok_or("give the folder of the benchmark")?;
    let anchors = std::fs::read_to_string(zoo.join("anchors.csv"))?;
    println!(
        "{:<42} {:>4} {:>9} {:>9} {:>9} | {:>9} {:>9} {:>9} {:>7} {:>6} {:>6} {:>6} {:>8} {:>7} {:<10}",
        "instance",
        "GiB",
        "root LP",
        "bound",
        "best",
        "plain",
        "root",
        "LP",
        "gap %",
        "rows",
        "cols",
        "cuts",
        "pivots",
        "s",
        "status"
    );
    for line in anchors.lines().skip(1) {
        let field: Vec<&str> = line.split(',').collect();
        let (name, budget) = (field[0], field[2]);
        let wanted = name.contains(&only) && budget_only.as_deref().is_none_or(|b| b == budget);
        if field[1] != "A" || !wanted || field[11].is_empty() {
            continue;
        }
        let path = zoo.join("graphs").join(format!("{name}.json"));
        if !path.exists() {
            continue;
        }
        let instance = remat_instances::read(path)?;
        let bytes = (budget.parse::<f64>()? * (1u64 << 30) as f64) as u64;
        let clock = Instant::now();
        let graph = Arc::new(MonetGraph::new(&instance, bytes)?);
        if tree {
            let incumbents = Incumbents::default();
            incumbents.found(field[10].parse::<f64>()? as u64);
            let root = Root::solve(graph, &settings, &incumbents)?;
            let found = search(root, &search_settings, &incumbents, &())?;
            println!(
                "{name:<42} {budget:>4} published {} to {}: root {}, tree {} ({:?}) after {} nodes, {} pivots, {:.1} s",
                field[11],
                field[10],
                found.root_bound,
                found.bound,
                found.end,
                found.nodes,
                found.iterations,
                clock.elapsed().as_secs_f64()
            );
            continue;
        }
        let root = Root::solve(graph, &settings, &Incumbents::default())?.into_bound();
        let best: f64 = field[10].parse()?;
        println!(
            "{name:<42} {budget:>4} {:>9} {:>9} {best:>9} | {:>9} {:>9} {:>9.0} {:>7.3} {:>6} {:>6} {:>6} {:>8} {:>7.1} {:<10}",
            field[9],
            field[11],
            root.plain_bound,
            root.safe_bound,
            root.lp_value,
            100.0 * (best - root.safe_bound as f64) / best,
            root.rows,
            root.cols,
            root.cuts,
            root.iterations,
            clock.elapsed().as_secs_f64(),
            format!("{:?}", root.status)
        );
        if verbose {
            println!(
                "  lp {:.1} s, pricing {:.1} s, separation {:.1} s, {} rounds",
                root.lp_seconds, root.pricing_seconds, root.separation_seconds, root.rounds
            );
        }
    }
    Ok(())
}
