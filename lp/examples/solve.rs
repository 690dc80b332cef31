//! Solves MPS files and prints one line each: `cargo run --release -p remat-lp --example solve --
//! [--no-scale] [--primal] [--presolve] [--no-perturb] [--seed=N] [--iterations=N]
//! [--dual-tolerance=X] FILE...`.

use remat_lp::presolve::PresolveSettings;
use remat_lp::{Algorithm, Limits, LpOutcome, Settings, certificate, mps};
use std::sync::Arc;

/// Processor time of this process so far (Linux), in seconds. Unlike wall time, it does not depend
/// on how busy the machine is.
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
    let mut limits = Limits::default();
    let mut presolve = None;
    let mut files = Vec::new();
    for arg in std::env::args().skip(1) {
        match arg.as_str() {
            "--no-scale" => settings.scaling = false,
            "--presolve" => presolve = Some(PresolveSettings::default()),
            "--no-perturb" => settings.perturbation = false,
            "--primal" => settings.algorithm = Algorithm::Primal,
            "--dual" => settings.algorithm = Algorithm::Dual,
            other => {
                if let Some(n) = other.strip_prefix("--iterations=") {
                    limits.iterations = n.parse().ok();
                } else if let Some(n) = other.strip_prefix("--seed=") {
                    settings.seed = n.parse().unwrap_or_default();
                } else if let Some(v) = other.strip_prefix("--dual-tolerance=") {
                    settings.dual_tolerance = v.parse().unwrap_or(settings.dual_tolerance);
                } else {
                    files.push(arg);
                }
            }
        }
    }
    println!(
        "{:<12} {:>22} {:>8} {:>6} {:>8} {:>6} {:>8} {:>6} {:>5} {:>9}  certificate",
        "name", "objective", "rows", "d1", "d2", "p1", "p2", "flips", "fact", "seconds"
    );
    for file in files {
        let model = match mps::read(&file) {
            Ok(m) => m,
            Err(e) => {
                println!("{file}: {e}");
                continue;
            }
        };
        let start = cpu_seconds();
        let model = Arc::new(model);
        let solved = remat_lp::solve(&model, &settings, &limits, presolve.as_ref());
        let seconds = cpu_seconds() - start;
        let (outcome, s) = (solved.outcome, solved.stats);
        let objective = match &outcome {
            LpOutcome::Optimal(s) => format!("{:.10e}", s.objective),
            LpOutcome::Infeasible(_) => "infeasible".into(),
            LpOutcome::Unbounded(_) => "unbounded".into(),
            LpOutcome::CutoffReached { bound, .. } => format!("cutoff {bound}"),
            LpOutcome::Limit(kind) => format!("{kind:?}"),
        };
        let check = match certificate::check(&model, &outcome, 1e-6) {
            Ok(r) => format!(
                "{:.0e} {:.0e} {:.0e}",
                r.primal_violation, r.dual_violation, r.gap
            ),
            Err(e) => e.to_string(),
        };
        let name = file
            .rsplit('/')
            .next()
            .unwrap_or(&file)
            .split('.')
            .next()
            .unwrap_or("");
        println!(
            "{name:<12} {objective:>22} {:>8} {:>6} {:>8} {:>6} {:>8} {:>6} {:>5} {seconds:>9.4}  {check}",
            model.num_rows(),
            s.dual_phase1,
            s.dual_phase2,
            s.primal_phase1,
            s.primal_phase2,
            s.bound_flips,
            s.factorisations
        );
    }
}
