//! Generated programs, here and in HiGHS. Needs the feature `highs`; in release, as HiGHS is built
//! with the profile: `cargo test -p remat-bench --release --features highs --test highs`.
#![cfg(feature = "highs")]

#[path = "../../lp/tests/all/support/mod.rs"]
mod support;

use remat_bench::highs::{HighsSettings, solve};
use remat_lp::{LpOutcome, Settings, Solver, certificate};
use support::{FAMILIES, Rng};

#[test]
fn both_say_the_same() {
    for (name, make) in FAMILIES {
        for seed in 0..150 {
            let mut r = Rng::new(5000 + seed);
            let size = 2 + r.below(if seed < 120 { 12 } else { 80 });
            let (model, _) = make(&mut r, size);
            let theirs = solve(
                &model,
                HighsSettings {
                    interior: false,
                    presolve: seed % 2 == 0,
                    time_limit: 60.0,
                },
            );
            let mut solver = Solver::new(model, Settings::default());
            let outcome = solver.solve();
            let what = format!("{name}, seed {seed}, size {size}");
            certificate::check(solver.model(), &outcome, 1e-6)
                .unwrap_or_else(|e| panic!("{what}: {e}"));
            match &outcome {
                LpOutcome::Optimal(s) => {
                    let Some(objective) = theirs.objective else {
                        panic!("{what}: HiGHS says {}", theirs.status)
                    };
                    let off = (s.objective - objective).abs() / (1.0 + objective.abs());
                    assert!(
                        off < 1e-7,
                        "{what}: {} here, {objective} in HiGHS",
                        s.objective
                    );
                }
                LpOutcome::Infeasible(_) => {
                    assert!(
                        theirs.status.contains("Infeasible"),
                        "{what}: HiGHS says {}",
                        theirs.status
                    );
                }
                LpOutcome::Unbounded(_) => {
                    assert!(
                        theirs.status.contains("Unbounded"),
                        "{what}: HiGHS says {}",
                        theirs.status
                    );
                }
                other => panic!("{what}: {other:?}"),
            }
        }
    }
}
