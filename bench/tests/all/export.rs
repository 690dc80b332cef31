//! `remat-bench export` through the binary: compact programs in every format, and errors.

use crate::common::{ends, object, remat_bb, run_to, text};
use remat_lp::{Model, lp_format, mps};
use std::path::Path;
use std::process::Command;

/// Objective and status of a run of `remat-bb`.
fn solved(arguments: &[&str]) -> (f64, String) {
    let mut command = Command::new(remat_bb());
    command.args(arguments).args(["--json", "--quiet"]);
    let said = object(&ends(0, command).0);
    let objective = said["objective"].as_f64().expect("a solution");
    (objective, said["status"].as_str().unwrap().into())
}

fn read(path: &Path) -> Model {
    match text(path).contains(".mps") {
        true => mps::read(path).unwrap(),
        false => lp_format::read(path).unwrap(),
    }
}

#[test]
fn programs_in_every_format_have_the_optimum_of_solve() {
    let folder = tempfile::tempdir().unwrap();
    let graph = "zoo:chain?n=3";
    let link = ["--offload", "5GB/s"];
    let copies = [&link[..], &["--pauses", "2"]].concat();
    for (program, more, link, budget) in [
        ("checkmate", &[][..], &[][..], "80%"),
        ("checkmate-offload", &copies, &link, "80%"),
    ] {
        let solve = [&["solve", graph, "--budget", budget], link].concat();
        let (best, status) = solved(&solve);
        assert_eq!(status, "optimal", "{program}");
        for file in ["a.mps", "a.lp", "a.mps.gz", "a.lp.gz"] {
            let out = folder.path().join(file);
            let arguments = ["export", graph, text(&out), "--budget", budget, "--json"];
            let formulation = ["--formulation", program];
            let all = [&arguments[..], &formulation, more].concat();
            let said = object(&run_to(0, &all).0);
            let model = read(&out);
            assert_eq!(said["rows"], model.num_rows(), "{program} {file}");
            assert_eq!(said["columns"], model.num_cols());
            assert_eq!(said["nonzeros"], model.num_nonzeros());
            assert_eq!(said["formulation"], program);
        }
        let out = folder.path().join("a.mps");
        let (found, status) = solved(&["mip", text(&out)]);
        assert_eq!(status, "optimal", "{program}");
        assert!((found - best).abs() < 1e-3, "{program}: {found} {best}");
    }
}

#[test]
fn mistakes_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("p.mps");
    let refused = |program: &str, more: &[&str], words: &str| {
        let first = ["export", "zoo:chain?n=3", text(&out), "--budget", "60%"];
        let all = [&first[..], &["--formulation", program], more].concat();
        let (_, err) = run_to(2, &all);
        assert!(err.contains(words), "{program} {more:?}: {err}");
        assert!(!out.exists());
    };
    refused("checkmate-offload", &[], "needs a link");
    refused("checkmate", &["--offload", "pcie4"], "does not go with");
    refused("checkmate", &["--pauses", "1"], "--offload");
    refused("checkmate", &["--unit", "1KiB"], "chooses its own unit");
    refused("checkmate-original", &[], "checkmate-offload");
    let tight = ["export", "zoo:chain?n=3", text(&out), "--budget", "1"];
    let small = [&tight[..], &["--formulation", "checkmate", "--json"]].concat();
    let said = object(&run_to(3, &small).0);
    assert!(said["infeasible_because"].is_string(), "{said}");
    assert!(said["file"].is_null() && !out.exists());
}
