//! `remat-bb lp` through the binary.

use std::path::PathBuf;
use std::process::{Command, Output};
use tempfile::TempDir;

const DIET: &str = "\\ two foods, two needs\nMinimize\n cost: 2 bread + 3 milk\nSubject To\n \
    energy: 4 bread + 2 milk >= 8\n protein: bread + 3 milk >= 6\nBounds\n bread <= 10\n milk <= 10\nEnd\n";

fn lp(folder: &TempDir, name: &str, text: &str, more: &[&str]) -> Output {
    run("lp", folder, name, text, more)
}

fn run(command: &str, folder: &TempDir, name: &str, text: &str, more: &[&str]) -> Output {
    let path: PathBuf = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    Command::new(env!("CARGO_BIN_EXE_remat-bb"))
        .arg(command)
        .arg(path)
        .args(more)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

/// Optimum by hand: both rows bind at bread = 1.2, milk = 1.6, so the cost is 7.2 and the duals are
/// 0.3 and 0.8.
#[test]
fn the_optimum_its_bound_and_the_solution_file_agree() {
    let folder = TempDir::new().unwrap();
    for presolve in ["on", "off"] {
        let more = ["--json", "--solution", "diet.sol", "--presolve", presolve];
        let output = lp(&folder, "diet.lp", DIET, &more);
        assert_eq!(output.status.code(), Some(0));
        let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(result["status"], "optimal");
        assert_eq!(result["certificate"], "accepted");
        let objective = result["objective"].as_f64().unwrap();
        let bound = result["bound"].as_f64().unwrap();
        assert!((objective - 7.2).abs() < 1e-9, "{objective}");
        assert!(bound <= 7.2 + 1e-12 && bound > 7.2 - 1e-6, "{bound}");
        let text = std::fs::read_to_string(folder.path().join("diet.sol")).unwrap();
        let value = |name: &str| -> f64 {
            let line = text.lines().find_map(|l| l.strip_prefix(name)).unwrap();
            line.trim().parse().unwrap()
        };
        assert!((value("bread ") - 1.2).abs() < 1e-9 && (value("milk ") - 1.6).abs() < 1e-9);
    }
}

#[test]
fn exit_codes_tell_infeasible_unbounded_and_bad_files_apart() {
    let folder = TempDir::new().unwrap();
    let status = |name: &str, text: &str| {
        let output = lp(&folder, name, text, &["--json"]);
        let result: Option<serde_json::Value> = serde_json::from_slice(&output.stdout).ok();
        (output.status.code(), result.map(|r| r["status"].clone()))
    };
    let infeasible = DIET.replace("<= 10", "<= 1");
    assert_eq!(
        status("a.lp", &infeasible),
        (Some(3), Some("infeasible".into()))
    );
    let unbounded = DIET
        .replace("Minimize", "Maximize")
        .replace("<= 10", "<= inf");
    assert_eq!(
        status("b.lp", &unbounded),
        (Some(0), Some("unbounded".into()))
    );
    assert_eq!(status("c.lp", "Minimize\n x + \nEnd\n").0, Some(2));
    let output = lp(&folder, "d.mps", "NAME\nROWS\n Q  cost\nENDATA\n", &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        message.contains("d.mps") && message.contains("line 3"),
        "{message}"
    );
}

#[test]
fn sets_that_do_not_count_are_told_once_each() {
    let folder = TempDir::new().unwrap();
    let text = "NAME t\nROWS\n N cost\n G need\n G more\nCOLUMNS\n x cost 1 need 2\n x more 1\nRHS\n \
        first need 9\n second need 4\n second more 1\nENDATA\n";
    let output = lp(&folder, "sets.mps", text, &["-q"]);
    assert_eq!(output.status.code(), Some(0));
    let told = String::from_utf8(output.stderr).unwrap();
    let warning = "warning: the RHS set \"second\" is left out: the first one, \"first\", counts\n";
    assert!(
        told.ends_with(warning) && told.lines().count() == 1,
        "{told}"
    );
}

#[test]
fn text_behind_the_end_is_told_and_names_cannot_control_a_terminal() {
    let folder = TempDir::new().unwrap();
    let output = lp(
        &folder,
        "a.lp",
        &format!("{DIET} more: bread >= 5\n"),
        &["-q"],
    );
    assert_eq!(output.status.code(), Some(0));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(
        told.ends_with("a.lp, line 11: warning: text behind `End` does not count\n"),
        "{told}"
    );
    let text = "NAME \u{1b}[2Jt\nROWS\n N cost\nCOLUMNS\n \u{1b}[2J cost 1\nENDATA\n";
    for (text, code) in [(text.to_string(), 0), (text.replace("cost 1", "more 1"), 2)] {
        let output = lp(&folder, "b.mps", &text, &["-q"]);
        assert_eq!(output.status.code(), Some(code));
        let shown = [output.stdout, output.stderr].concat();
        assert!(!shown.contains(&0x1b) && !shown.is_empty());
    }
}

const SQUARE: &str = "Minimize\n cost: - 2 x - 6 y + [ x ^ 2 - 2 x * y + 2 y ^ 2 ] / 2\nSubject To\n \
    a: x + y <= 2\n b: - x + 2 y <= 2\n c: 2 x + y <= 3\nEnd\n";

/// Optimum by hand: rows a and b bind at x = 2/3, y = 4/3.
#[test]
fn a_quadratic_objective_has_residuals_and_a_bound() {
    let folder = TempDir::new().unwrap();
    let output = lp(&folder, "square.lp", SQUARE, &["--json"]);
    assert_eq!(output.status.code(), Some(0));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |name: &str| result[name].as_f64().unwrap();
    let optimum = -74.0 / 9.0;
    assert!((number("objective") - optimum).abs() < 1e-7, "{result}");
    assert!(number("bound") <= optimum + 1e-9 && number("bound") > optimum - 1e-5);
    assert_eq!(result["quadratic_products"], 3);
    for (name, residual) in result["kkt"].as_object().unwrap() {
        assert!(residual.as_f64().unwrap() <= 1e-6, "{name}: {residual}");
    }
    // The same from MPS, where the other sense turns it into a refusal.
    let mps = "ROWS\n N cost\n L a\nCOLUMNS\n x cost -2 a 1\n y cost -6 a 1\nRHS\n rhs a 2\n\
        QUADOBJ\n x x 1\n x y -1\n y y 2\nENDATA\n";
    let output = lp(&folder, "square.mps", mps, &["--json"]);
    assert_eq!(output.status.code(), Some(0));
    let output = lp(&folder, "most.mps", &format!("OBJSENSE\n MAX\n{mps}"), &[]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("not concave") && text.contains("column"),
        "{text}"
    );
    let output = lp(&folder, "square.lp", SQUARE, &["--algorithm", "dual"]);
    assert_eq!(output.status.code(), Some(2));
}

/// Of the integer points of the rows, (1, 1) is the best: 1/2 - 1 + 1 - 8.
#[test]
fn integers_with_a_quadratic_objective_are_kept_whole() {
    let folder = TempDir::new().unwrap();
    let text = SQUARE.replace("End", "General\n x y\nEnd");
    let output = run("mip", &folder, "whole.lp", &text, &["--json"]);
    assert_eq!(output.status.code(), Some(0));
    let result: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(result["status"], "optimal");
    assert_eq!(result["objective"], -7.5);
    assert!(
        (result["bound"].as_f64().unwrap() + 7.5).abs() < 1e-5,
        "{result}"
    );
    // A column without bounds has no linear form of its products: the certificate states tangents.
    let real = SQUARE.replace("End", "General\n x\nEnd");
    let proof = folder.path().join("mixed.vipr");
    let proof = proof.to_str().unwrap();
    let output = run("mip", &folder, "mixed.lp", &real, &["--certificate", proof]);
    assert_eq!(output.status.code(), Some(0));
    let checked = |model: &str| {
        let path = folder.path().join("checked.lp");
        std::fs::write(&path, model).unwrap();
        Command::new(env!("CARGO_BIN_EXE_remat-bb"))
            .args(["check-certificate", proof])
            .arg(path)
            .output()
            .unwrap()
    };
    assert_eq!(checked(&real).status.code(), Some(0));
    let output = checked(&real.replace("x ^ 2 -", "0.6 x ^ 2 -"));
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("need not satisfy"), "{text}");
    let output = run("mip", &folder, "mixed.lp", &real, &["--exact"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("quadratic objective has no exact"), "{text}");
}
