//! Solves MPS files and prints one line each: `cargo run --release -p remat-solver --example mip --
//! [--seconds=60] [--ticks=N] [--threads=1] [--opportunistic] [--no-cuts] [--no-presolve]
//! [--no-heuristics] [--no-safe] [--statistics=PARTS] [--known=SOLUTION]
//! [--reference=CSV] FILE...`.

use remat_lp::solution_file::SolutionFile;
use remat_solver::mip::{Control, Settings, Solver, Statistics};
use std::path::Path;
use std::sync::Arc;

/// Processor time of the main thread so far (Linux), in seconds, since other processes may delay
/// the wall clock.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ')
        .next()
        .and_then(|ns| ns.parse::<f64>().ok())
        .unwrap_or(0.0)
        * 1e-9
}

fn main() {
    let mut settings = Settings::default();
    let mut files = Vec::new();
    let mut reference = String::new();
    // A solution for builds with debug assertions to carry along.
    let mut known_solution = None;
    // Number of components to show, the slowest first.
    let mut parts = 0;
    for arg in std::env::args().skip(1) {
        let (name, value) = arg.split_once('=').unwrap_or((&arg, ""));
        match name {
            "--seconds" => settings.limits.seconds = value.parse().ok(),
            "--ticks" => settings.limits.ticks = value.parse().ok(),
            "--nodes" => settings.limits.nodes = value.parse().ok(),
            "--threads" => settings.threads = value.parse().unwrap_or(1),
            "--seed" => settings.seed = value.parse().unwrap_or(1),
            "--opportunistic" => settings.opportunistic = true,
            "--no-cuts" => settings.cuts = false,
            "--no-presolve" => settings.presolve = false,
            "--no-heuristics" => settings.heuristics = false,
            "--no-sub-mips" => settings.sub_mips = false,
            "--no-safe" => settings.safe_bounds = false,
            "--no-conflicts" => settings.conflicts = false,
            "--no-local-cuts" => settings.local_cuts = false,
            "--no-clauses" => settings.clauses = false,
            "--no-symmetry" => settings.symmetry = false,
            "--no-propagation" => settings.propagation = false,
            "--statistics" => parts = value.parse().unwrap_or(12),
            "--known" => known_solution = Some(value.to_string()),
            "--reference" => reference = std::fs::read_to_string(value).unwrap_or_default(),
            _ => files.push(arg),
        }
    }
    println!(
        "{:<12} {:<11} {:>20} {:>20} {:>8} {:>8} {:>9} {:>5} {:>5} {:>5} {:>8} {:>7}  reference",
        "name",
        "status",
        "objective",
        "bound",
        "gap %",
        "nodes",
        "LP it",
        "cuts",
        "unpr",
        "ref",
        "seconds",
        "cpu"
    );
    for file in files {
        let model = match remat_lp::mps::read(&file) {
            Ok(m) => m,
            Err(e) => {
                println!("{file}: {e}");
                continue;
            }
        };
        let name = Path::new(&file)
            .file_name()
            .map(|n| n.to_string_lossy().replace(".mps", "").replace(".gz", ""))
            .unwrap_or_default();
        let line = reference
            .lines()
            .find(|l| l.starts_with(&format!("{name},")));
        let known: Vec<&str> = line.map(|l| l.split(',').collect()).unwrap_or_default();
        settings.debug_solution = match &known_solution {
            Some(file) => match SolutionFile::read(file).and_then(|s| s.point(&model)) {
                Ok(point) => Some(point),
                Err(e) => {
                    println!("{file}: {e}");
                    continue;
                }
            },
            None => None,
        };
        let start = cpu_seconds();
        let statistics = Arc::new(Statistics::default());
        let mut solver = Solver::new(model, settings.clone());
        if parts > 0 {
            solver = solver.with_control(Control {
                statistics: Some(statistics.clone()),
                ..Control::default()
            });
        }
        let result = match solver.run() {
            Ok(r) => r,
            Err(e) => {
                println!("{name}: {e}");
                continue;
            }
        };
        let i = &result.info;
        let objective = result
            .solution
            .as_ref()
            .map_or("-".to_string(), |s| format!("{:.9}", s.objective));
        println!(
            "{name:<12} {:<11} {objective:>20} {:>20.9} {:>8.3} {:>8} {:>9} {:>5} {:>5} {:>5} {:>8.2} {:>7.2}  {} {}",
            format!("{:?}", result.status),
            result.dual_bound,
            100.0 * result.gap(),
            i.nodes,
            i.lp_iterations,
            i.cuts,
            i.unproven_bounds,
            i.refused,
            i.seconds,
            cpu_seconds() - start,
            known.get(5).unwrap_or(&""),
            known.get(6).unwrap_or(&""),
        );
        let mut rows = statistics.rows();
        rows.sort_by(|a, b| b.tally.seconds.total_cmp(&a.tally.seconds));
        for row in rows.iter().take(parts) {
            let t = &row.tally;
            println!(
                "  {:<24} {:>7} calls {:>9} LP it {:>8.3} s",
                row.name, t.calls, t.lp_iterations, t.seconds
            );
        }
    }
}
