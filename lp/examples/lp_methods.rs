//! Each method on linear programs, as a table: `lp_methods FILE.mps.gz ... > table.csv`.
//!
//! Times are processor seconds of this thread. The barrier method alone is timed on the presolved
//! program, the others with presolve and postsolve. `agrees` compares the objectives to 1e-8.

use remat_lp::presolve::{PresolveOutcome, PresolveSettings, Presolved};
use remat_lp::{
    Algorithm, Barrier, BarrierEnd, BarrierSettings, Limits, Model, Settings, Solved, certificate,
    lp_format, mps,
};
use std::sync::Arc;

/// Processor seconds of this thread (Linux).
fn clock() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|w| w.parse().ok());
    nanoseconds.unwrap_or(0.0) * 1e-9
}

fn solve(model: &Arc<Model>, algorithm: Algorithm) -> (Solved, f64) {
    let settings = Settings {
        algorithm,
        ..Settings::default()
    };
    let start = clock();
    let on = PresolveSettings::default();
    let solved = remat_lp::solve(model, &settings, &Limits::default(), Some(&on));
    (solved, clock() - start)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!(
        "file,rows,cols,nonzeros,simplex_seconds,simplex_iterations,barrier_end,barrier_iterations,\
         barrier_seconds,crossover_pushes,cleanup_pivots,barrier_and_crossover_seconds,auto,\
         certificate,agrees,objective"
    );
    for file in std::env::args().skip(1) {
        let model = Arc::new(if file.contains(".lp") {
            lp_format::read(&file)?
        } else {
            mps::read(&file)?
        });
        let start = clock();
        let (mut end, mut iterations) = ("presolved", 0);
        if let PresolveOutcome::Reduced(p) = Presolved::new(&model, &PresolveSettings::default()) {
            let mut barrier = Barrier::new(p.model().clone(), BarrierSettings::default());
            end = match barrier.solve() {
                BarrierEnd::Optimal(_) => "optimal",
                BarrierEnd::Infeasible(_) => "infeasible",
                BarrierEnd::Unsettled(_) => "unsettled",
                BarrierEnd::Limit(..) => "limit",
            };
            iterations = barrier.iterations();
        }
        let alone = clock() - start;
        let (simplex, simplex_seconds) = solve(&model, Algorithm::Dual);
        let (crossed, seconds) = solve(&model, Algorithm::Barrier);
        let (auto, _) = solve(&model, Algorithm::Auto);
        let checked = certificate::check(&model, &crossed.outcome, 1e-6).is_ok();
        let objective = |s: &Solved| s.outcome.optimal().map_or(f64::NAN, |s| s.objective);
        let (a, b) = (objective(&crossed), objective(&simplex));
        let name = std::path::Path::new(&file).file_name().unwrap_or_default();
        println!(
            "{},{},{},{},{simplex_seconds:.4},{},{end},{iterations},{alone:.4},{},{},{seconds:.4},{},{},{},{a:.12e}",
            name.to_string_lossy()
                .split(".mps")
                .next()
                .unwrap_or_default(),
            model.num_rows(),
            model.num_cols(),
            model.num_nonzeros(),
            simplex.stats.iterations(),
            crossed.stats.crossover,
            crossed.stats.iterations() - crossed.stats.crossover,
            if auto.stats.barrier > 0 {
                "barrier"
            } else {
                "simplex"
            },
            if checked { "accepted" } else { "refused" },
            (a - b).abs() <= 1e-8 * (1.0 + b.abs()),
        );
    }
    Ok(())
}
