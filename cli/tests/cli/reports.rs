//! Small inputs rebuilt from public reports, each with its right answer
//! (`../shared/data/reports/README.md` explains their origin).

use crate::common::{object, run_to, text};
use std::path::{Path, PathBuf};

/// The folder of the inputs, or `None` (and a printed reason) if it is missing.
fn folder() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/reports");
    if !path.is_dir() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(path)
}

/// Answers of `mip` and `lp`: an objective, or `None` for an infeasible model.
#[test]
fn models_have_their_right_answers() {
    let Some(folder) = folder() else { return };
    let both = |v: f64| (Some(v), Some(v));
    let answers = [
        ("bin-fixed-zero.lp", both(0.0)),
        ("bin-lower-one.lp", both(5.0)),
        ("bin-modeller.lp", both(10.5)),
        ("empty-semi.lp", both(-26.0)),
        // Whole numbers are decided to the last digit; their relaxation is not rounded.
        ("near-integer-bound.lp", (Some(2.0), Some(1.0000001))),
        ("rounded-third.lp", (Some(4.0), Some(3.00000003))),
        ("noisy-knapsack.lp", (Some(13.0), Some(15.74999985))),
        ("two-rhs-sets.mps", both(4.5)),
        ("two-bound-sets.mps", both(6.0)),
        ("lower-zero-upper-negative.mps", (None, None)),
        ("crossed-bounds.lp", (None, None)),
        ("parity-free.lp", (None, Some(0.0))),
        ("dollar-remark.mps", both(4.5)),
        ("left-number-rows.lp", both(3.0)),
        ("after-end.lp", both(9.0)),
    ];
    for (name, (whole, relaxed)) in answers {
        let file = folder.join(name);
        for (command, answer) in [("mip", whole), ("lp", relaxed)] {
            let code = if answer.is_some() { 0 } else { 3 };
            let (out, _) = run_to(code, &[command, text(&file), "--json"]);
            let found = object(&out);
            let status = if answer.is_some() {
                "optimal"
            } else {
                "infeasible"
            };
            assert_eq!(found["status"], status, "{command} {name}");
            let near = match (found["objective"].as_f64(), answer) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-7,
                (a, b) => a == b,
            };
            assert!(near, "{command} {name}: {out}");
        }
    }
}

#[test]
fn what_is_left_out_or_refused_is_named() {
    let Some(folder) = folder() else { return };
    for (name, code, words) in [
        ("two-rhs-sets.mps", 0, "the RHS set \"second\" is left out"),
        (
            "two-bound-sets.mps",
            0,
            "the BOUNDS set \"second\" is left out",
        ),
        ("after-end.lp", 0, "line 6: warning: text behind `End`"),
        ("unknown-column-bound.mps", 2, "column ghost"),
        ("right-side-terms.lp", 2, "line 4, at `y`"),
    ] {
        let (_, error) = run_to(code, &["mip", text(&folder.join(name)), "-q"]);
        assert!(error.contains(words), "{name}: {error}");
    }
}

#[test]
fn starts_of_other_solvers_are_taken() {
    let Some(folder) = folder() else { return };
    let model = folder.join("start-model.lp");
    for name in ["start-scip.sol", "start-cbc.sol"] {
        let start = folder.join(name);
        let (out, _) = run_to(0, &["mip", text(&model), "--start", text(&start), "--json"]);
        let found = object(&out);
        assert_eq!(found["objective"], 8000.0, "{name}");
        assert_eq!(found["found_by"], "start", "{name}");
    }
}

#[test]
fn by_products_and_recomputation_costs_count() {
    let Some(folder) = folder() else { return };
    let file = folder.join("by-product.json");
    let given = folder.join("by-product-236.plan.json");
    let (verified, _) = run_to(0, &["verify", text(&file), text(&given), "--budget", "904"]);
    assert!(verified.contains("236 unit"), "{verified}");
    let place = tempfile::tempdir().unwrap();
    let plan = place.path().join("plan.json");
    for budget in ["1100", "904"] {
        for formulation in [&[][..], &["--formulation", "checkmate"]] {
            let mut arguments = vec!["solve", text(&file), "--budget", budget, "--json"];
            arguments.extend(["--out", text(&plan)]);
            arguments.extend(formulation);
            let (out, _) = run_to(0, &arguments);
            let found = object(&out);
            assert!(found["objective"].as_u64() <= Some(236), "{out}");
            run_to(0, &["verify", text(&file), text(&plan), "--budget", budget]);
        }
    }
    let file = folder.join("recompute-cost.json");
    let (out, _) = run_to(0, &["solve", text(&file), "--budget", "320", "--json"]);
    let found = object(&out);
    assert_eq!(found["objective"], 200_261);
    assert_eq!(found["status"], "optimal");
}
