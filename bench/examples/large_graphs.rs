//! Large graphs of the zoo under short time limits: time limit and time taken, cost, bound and
//! memory.
//!
//! `cargo run --release -p remat-bench --features experiments --example large_graphs --
//! path/to/remat-bb > bench/results/large-graphs.txt`

use std::error::Error;
use std::process::Command;
use std::time::Instant;

/// Model, budget, and time limit in seconds.
const ASKED: [(&str, &str, f64); 14] = [
    ("chain?n=5000", "70%", 2.0),
    ("chain?n=10000", "40%", 2.0),
    ("chain?n=20000", "70%", 2.0),
    ("chain?n=20000", "10%", 2.0),
    ("chain?n=50000", "30%", 5.0),
    ("chain?n=100000", "70%", 5.0),
    ("llama?layers=300", "80%", 5.0),
    ("llama?layers=1000", "80%", 5.0),
    ("llama?layers=2000", "76%", 5.0),
    ("gpt2?layers=800", "60%", 5.0),
    ("gpt2?layers=2500", "40%", 5.0),
    ("bert?layers=1000", "40%", 5.0),
    ("vit?layers=1000", "50%", 5.0),
    ("chain?n=1000000", "70%", 20.0),
];

fn main() -> Result<(), Box<dyn Error>> {
    let program = std::env::args().nth(1).unwrap_or("remat-bb".into());
    let folder = tempfile::tempdir()?;
    let plan = folder.path().join("plan.json");
    println!(
        "{:20} {:>9} {:>7} {:>6} {:>7} {:>10} {:>8} {:>8}",
        "model", "nodes", "budget", "asked", "taken", "status", "overhead", "gap"
    );
    for (model, budget, limit) in ASKED {
        let nodes = remat_instances::zoo::build(&format!("zoo:{model}").parse()?)?.len();
        let clock = Instant::now();
        let output = Command::new(&program)
            .args([
                "solve",
                &format!("zoo:{model}"),
                "--budget",
                budget,
                "--json",
                "--quiet",
            ])
            .args(["--time-limit", &limit.to_string(), "--out"])
            .arg(&plan)
            .output()?;
        let taken = clock.elapsed().as_secs_f64();
        let json: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let percent = |value: &serde_json::Value, factor: f64| match value.as_f64() {
            Some(value) => format!("{:.2}%", value * factor),
            None => "-".into(),
        };
        println!(
            "{model:20} {nodes:>9} {budget:>7} {limit:>5} s {taken:>5.1} s {:>10} {:>8} {:>8}",
            json["status"].as_str().unwrap_or("?"),
            percent(&json["overhead_percent"], 1.0),
            percent(&json["gap"], 100.0),
        );
    }
    Ok(())
}
