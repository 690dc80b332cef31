//! Problems of MIPLIB 3 against reference objectives. The small ones always run. With
//! `REMAT_MIPLIB=<seconds>` all files run; a time limit is then no failure, but a wrong objective
//! or bound is. Programs of ML systems run for a little work against the best known values.

use remat_solver::mip::{Settings, SolveStatus, Solver, check_point};
use std::path::PathBuf;

const SMALL: [&str; 14] = [
    "p0033", "flugpl", "lseu", "gt2", "stein27", "rgn", "mod008", "p0282", "bell5", "khb05250",
    "enigma", "gesa2", "pp08a", "misc06",
];

/// A folder of test files, if it lies beside this checkout; otherwise prints that it is missing.
fn directory(name: &str) -> Option<PathBuf> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data");
    let path = path.join(name);
    if !path.is_dir() {
        eprintln!("skipped: {} is not there", path.display());
    }
    path.is_dir().then_some(path)
}

/// The best known objective of every file: the catalogue's optimum, else the reference run's if
/// that was proven.
fn references(text: &str) -> Vec<(String, Option<f64>)> {
    text.lines()
        .skip(1)
        .map(|l| {
            let f: Vec<&str> = l.split(',').collect();
            let proven = if f[5] == "Optimal" {
                f[6].parse().ok()
            } else {
                f[7].parse().ok()
            };
            (f[0].to_string(), proven)
        })
        .collect()
}

#[test]
fn reference_objectives_of_miplib3() {
    let Some(dir) = directory("miplib3") else {
        return;
    };
    let seconds: Option<f64> = std::env::var("REMAT_MIPLIB")
        .ok()
        .and_then(|s| s.parse().ok());
    let text = std::fs::read_to_string(dir.join("reference.csv")).unwrap();
    let mut solved = 0;
    for (name, reference) in references(&text) {
        if seconds.is_none() && !SMALL.contains(&name.as_str()) {
            continue;
        }
        let model = remat_lp::mps::read(dir.join(format!("{name}.mps.gz"))).unwrap();
        let mut settings = Settings::default();
        settings.limits.seconds = seconds;
        let r = Solver::new(model.clone(), settings).run().unwrap();
        assert!(
            !matches!(r.status, SolveStatus::Infeasible | SolveStatus::Unbounded),
            "{name}"
        );
        let objective = r.solution.as_ref().map(|s| s.objective);
        eprintln!(
            "{name}: {:?} {objective:?} bound {} {} nodes",
            r.status, r.dual_bound, r.info.nodes
        );
        if let Some(s) = &r.solution {
            assert_eq!(check_point(&model, &s.x, 1e-6), Ok(s.objective), "{name}");
        }
        // All of them are minimisation problems.
        if let Some(best) = reference {
            let tol = 1e-6 * best.abs().max(1.0);
            assert!(
                r.dual_bound <= best + tol,
                "{name}: bound {} above {best}",
                r.dual_bound
            );
            assert!(
                objective.is_none_or(|v| v >= best - tol),
                "{name}: {objective:?} below {best}"
            );
            if r.status == SolveStatus::Optimal {
                assert!(
                    objective.is_some_and(|v| v <= best + tol),
                    "{name}: {objective:?}, {best} is optimal"
                );
                solved += 1;
            } else {
                assert!(seconds.is_some(), "{name}: {:?}", r.status);
            }
        }
    }
    assert!(solved >= if seconds.is_none() { SMALL.len() } else { 1 });
}

/// Big-M rows with coefficients of some thousands are hard for the linear programs. Seeds 1 and 2
/// of `helix_dist_llama30b_t4` once ended as proven at three fifths of the best known value. A
/// linear program had been reported as optimal in the middle of its clean-up.
#[test]
fn no_bound_excludes_the_best_value_known_of_ml_systems() {
    let Some(dir) = directory("mlsys") else {
        return;
    };
    let text = std::fs::read_to_string(dir.join("reference.csv")).unwrap();
    let mut known = 0;
    for line in text.lines().skip(1) {
        let f: Vec<&str> = line.split(',').collect();
        let (name, best) = (f[0], f[11].parse::<f64>());
        let (Ok(best), Ok(nonzeros)) = (best, f[5].parse::<usize>()) else {
            continue;
        };
        let (seeds, ticks) = match (name, nonzeros) {
            ("helix_dist_llama30b_t4", _) => (1..3, 1_200_000_000),
            (_, ..12_000) => (0..1, 20_000_000),
            _ => continue,
        };
        let model = remat_lp::mps::read(dir.join(format!("{name}.mps.gz"))).unwrap();
        let sign = model.sense().sign();
        for seed in seeds {
            let mut settings = Settings {
                seed,
                threads: 1,
                ..Settings::default()
            };
            settings.limits.ticks = Some(ticks);
            let r = Solver::new(model.clone(), settings).run().unwrap();
            let tol = 1e-6 * best.abs().max(1.0);
            assert!(
                sign * r.dual_bound <= sign * best + tol,
                "{name}, seed {seed}: {:?}, bound {}, known {best}",
                r.status,
                r.dual_bound
            );
            assert_ne!(r.status, SolveStatus::Infeasible, "{name}");
            known += 1;
        }
    }
    assert!(known > 10, "{known}");
}
