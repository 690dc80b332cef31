//! The general graphs of the Moccasin study. They have no backward pass, or an unmarked one; any
//! node may be recomputed.

use super::others::{self, Others};
use super::{CheckmateConfig, Failure, percent, stem};
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;
use remat_report::Table;
use std::path::PathBuf;

/// Budgets, as percentages of the peak without recomputation.
const SHARES: [u64; 4] = [90, 80, 60, 40];

/// Moccasin's constraint program (two intervals for each node) in CP-SAT, 2 workers, 300 s a phase,
/// as the description of the data has it: graph, percentage, cost.
const MOCCASIN: [(&str, u64, u64); 3] = [
    ("random_layered_100", 90, 48146),
    ("random_layered_100", 80, 48866),
    ("fcn8_32", 80, 10_289_323_652_736),
];

/// Prints the comparison.
///
/// # Errors
/// [`Failure`].
pub fn run(config: &CheckmateConfig) -> Result<(), Failure> {
    let Some(folder) = config.data("moccasin") else {
        return Ok(());
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(&folder)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "json"))
        .collect();
    paths.sort();
    let others = Others::find(config);
    let mut headings = vec![
        ("graph", false),
        ("nodes", true),
        ("budget", true),
        ("status", false),
        ("overhead", true),
        ("cost", true),
        ("bound", true),
        ("gap", true),
        ("s", true),
        ("Moccasin", true),
        ("ours/Moccasin", true),
    ];
    headings.extend(others.headings());
    let mut table = Table::new(&headings);
    for path in paths.iter().filter(|p| config.wants(&stem(p))) {
        let name = stem(path);
        let instance = remat_instances::read(path)?.single_implementation_view();
        let plain = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &plain)?.peak_bytes;
        for share in SHARES {
            // As in the study, budgets are rounded up.
            let budget_bytes = (peak * share).div_ceil(100);
            let ours = config.solve(&instance, budget_bytes)?;
            let known = MOCCASIN.iter().find(|k| k.0 == name && k.1 == share);
            let over = ours
                .replay
                .as_ref()
                .map(|r| format!("{:.2}%", r.overhead_percent()));
            let bound = match ours.infeasible_because {
                Some(_) => String::new(),
                None => ours.bound.to_string(),
            };
            let ratio = ours.cost().zip(known);
            let mut cells = vec![
                name.clone(),
                instance.len().to_string(),
                format!("{share}%"),
                ours.status.as_str().into(),
                over.unwrap_or_default(),
                ours.cost().map_or_else(String::new, |c| c.to_string()),
                bound,
                percent(ours.gap),
                format!("{:.1}", ours.seconds),
                known.map_or_else(String::new, |k| k.2.to_string()),
                ratio.map_or_else(String::new, |(c, k)| {
                    format!("{:.4}", c as f64 / k.2 as f64)
                }),
            ];
            let theirs = others.solve(config, &instance, budget_bytes);
            cells.extend(theirs.iter().flat_map(others::cells));
            table.row(cells);
            println!(
                "{name} {share}%: {} in {:.1} s",
                ours.status.as_str(),
                ours.seconds
            );
        }
    }
    let text = format!(
        "General graphs (Moccasin, ICML 2023), {} s each; Moccasin: 300 s a phase, 2 workers\n{}\n{}",
        config.seconds,
        others.text,
        table.render("")
    );
    println!();
    config.publish("graphs.txt", &text)
}
