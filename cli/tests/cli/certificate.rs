//! Certificates through the binary: written by `mip` and `solve`, judged by `check-certificate`.

use crate::common::{chain, object, run_to, text};
use std::path::{Path, PathBuf};

fn write(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

/// A knapsack like market split in MPS format: LP bounds do not help, so the tree has hundreds of
/// nodes.
fn knapsack() -> String {
    let weights = [31, 41, 59, 26, 53, 58, 97, 93, 23, 84, 62, 64, 33, 83];
    let mut columns = String::new();
    for (k, w) in weights.iter().enumerate() {
        columns += &format!(
            "    x{k} profit {} w {w}\n    x{k} v {}\n",
            w + k as i32 % 3,
            (w * 37) % 71
        );
    }
    let bounds: String = (0..weights.len())
        .map(|k| format!(" BV b x{k}\n"))
        .collect();
    let (w, v): (i32, i32) = weights
        .iter()
        .fold((0, 0), |s, w| (s.0 + w, s.1 + (w * 37) % 71));
    format!(
        "NAME split\nOBJSENSE\n    MAX\nROWS\n N profit\n L w\n L v\nCOLUMNS\n{columns}RHS\n    r w {} v {}\nBOUNDS\n{bounds}ENDATA\n",
        w / 2,
        v / 2
    )
}

const MIXED: &str = "NAME mixed\nROWS\n N cost\n G need\n L link\n L cap\nCOLUMNS\n    m MARKER INTORG\n    \
    y cost 7 link -4.5\n    z cost 3.25 need 1\n    m MARKER INTEND\n    x cost 0.1 need 0.3\n    x link 1 cap 1\nRHS\n    \
    r need 2.35 cap 9\nBOUNDS\n UP b y 3\n UP b z 5\nENDATA\n";

const INFEASIBLE: &str = "NAME odd\nROWS\n N c\n E r\nCOLUMNS\n    m MARKER INTORG\n    x c 1 r 2\n    y c 1 r -2\n    \
    m MARKER INTEND\nRHS\n    r r 1\nBOUNDS\n UP b x 5\n UP b y 5\nENDATA\n";

#[test]
fn proofs_of_all_kinds_are_accepted_and_forgeries_are_not() {
    let folder = tempfile::tempdir().unwrap();
    for (name, model, code) in [
        ("split", knapsack(), 0),
        ("mixed", MIXED.into(), 0),
        ("odd", INFEASIBLE.into(), 3),
        // Too deep for a plain tree: a rounding proves infeasibility.
        ("far", INFEASIBLE.replace(" 5\n", " 50000\n"), 3),
    ] {
        let file = write(folder.path(), &format!("{name}.mps"), &model);
        let proof = folder.path().join(format!("{name}.vipr"));
        let (out, _) = run_to(
            code,
            &[
                "mip",
                text(&file),
                "--json",
                "-q",
                "--certificate",
                text(&proof),
            ],
        );
        let result = object(&out);
        assert_eq!(result["certificate"], true, "{name}");
        let (out, _) = run_to(
            0,
            &["check-certificate", text(&proof), text(&file), "--json"],
        );
        let verdict = object(&out);
        assert_eq!(verdict["verdict"], "accepted");
        assert_eq!(verdict["model_compared"], true);
        if code == 3 {
            assert_eq!(verdict["claim"], "infeasible");
            continue;
        }
        let objective = result["objective"].as_f64().unwrap();
        for end in ["lower", "upper"] {
            let v = verdict[end].as_f64().unwrap();
            assert!(
                (v - objective).abs() <= 1e-6 * objective.abs(),
                "{name}: {v} {objective}"
            );
        }
        // Another model, or changed numbers.
        let other =
            model
                .replacen("BOUNDS", "BOUNDS\n UP b x0 1", 1)
                .replacen("need 2.35", "need 2.34", 1);
        let other = if name == "split" {
            model.replacen("profit 31", "profit 32", 1)
        } else {
            other
        };
        let other = write(
            folder.path(),
            "other.mps",
            &other.replacen(" UP b x0 1\n", "", 1),
        );
        let (_, err) = run_to(2, &["check-certificate", text(&proof), text(&other)]);
        assert!(err.contains("differ"), "{err}");
        let named = ["row", "profit", "need", "x0", "x1"].iter();
        assert!(named.into_iter().any(|name| err.contains(name)), "{err}");
        let (words, _) = run_to(0, &["check-certificate", text(&proof)]);
        assert!(words.contains("the optimum is"), "{words}");
        let lines = std::fs::read_to_string(&proof).unwrap();
        let claim = lines.lines().find(|l| l.starts_with("RTP")).unwrap();
        let forged = match name {
            "split" => lines.replacen(claim, "RTP range 1 2", 1),
            _ => lines.replacen(claim, "RTP range 100 100", 1),
        };
        let forged = write(folder.path(), "forged.vipr", &forged);
        run_to(2, &["check-certificate", text(&forged)]);
        let cut = write(folder.path(), "cut.vipr", &lines[..lines.len() * 2 / 3]);
        run_to(2, &["check-certificate", text(&cut)]);
    }
}

#[test]
fn a_solve_writes_a_proof_that_holds_for_its_instance_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [short, long] = ["short", "long"].map(|name| {
        let inner = folder.path().join(name);
        std::fs::create_dir(&inner).unwrap();
        chain(&inner, if name == "short" { 9 } else { 12 })
    });
    let model = text(&long);
    for (name, budget, code) in [
        ("tree.proof", "40%", 0),
        ("packed.proof.gz", "60%", 0),
        ("everything.proof", "100%", 0),
        ("none.proof", "1%", 3),
    ] {
        let proof = folder.path().join(name);
        let (out, _) = run_to(
            code,
            &[
                "solve",
                model,
                "--budget",
                budget,
                "--json",
                "-q",
                "--certificate",
                text(&proof),
            ],
        );
        let result = object(&out);
        let (out, _) = run_to(0, &["check-certificate", text(&proof), model, "--json"]);
        let verdict = object(&out);
        assert_eq!(verdict["verdict"], "accepted", "{name}");
        assert_eq!(verdict["budget_bytes"], result["budget_bytes"], "{name}");
        if code == 3 {
            assert_eq!(verdict["claim"], "infeasible");
        } else {
            assert_eq!(verdict["lower"], result["bound"], "{name}");
        }
        // It is no proof for a shorter network.
        if code == 0 {
            run_to(2, &["check-certificate", text(&proof), text(&short)]);
        }
        let (_, err) = run_to(2, &["check-certificate", text(&proof)]);
        assert!(err.contains("needs the instance"), "{err}");
    }
    let text_of = std::fs::read_to_string(folder.path().join("tree.proof")).unwrap();
    let longer = write(
        folder.path(),
        "longer.proof",
        &format!("{text_of}\nrows 0\n"),
    );
    let (_, err) = run_to(2, &["check-certificate", text(&longer), model]);
    assert!(err.contains("where the proof should end"), "{err}");
    let renamed = write(
        folder.path(),
        "renamed.proof",
        &text_of.replacen("instance chain", "instance another", 1),
    );
    let (words, _) = run_to(0, &["check-certificate", text(&renamed), model]);
    assert!(words.contains("made for another"), "{words}");
    let (out, _) = run_to(0, &["check-certificate", text(&renamed), model, "--json"]);
    assert_eq!(object(&out)["made_for"], "another");
    let no_model = write(folder.path(), "no.mps", "ROWS\n X y\n");
    let vipr = write(
        folder.path(),
        "empty.vipr",
        "VER 1.0 VAR 0 INT 0 OBJ min 0 CON 0 0 RTP range -inf inf SOL 0 DER 0\n",
    );
    let (_, err) = run_to(2, &["check-certificate", text(&vipr), text(&no_model)]);
    assert!(
        err.contains("no.mps") && !err.contains("proves nothing"),
        "{err}"
    );
    let cut = write(folder.path(), "cut.proof", &text_of[..text_of.len() / 2]);
    let (_, err) = run_to(2, &["check-certificate", text(&cut), model]);
    assert!(err.contains("line"), "{err}");
    // Older versions have no line for the program; newer ones are named.
    let older = write(
        folder.path(),
        "older.proof",
        &text_of.replacen("remat-proof/2\nprogram checkmate\n", "remat-proof/1\n", 1),
    );
    run_to(0, &["check-certificate", text(&older), model]);
    let newer = write(
        folder.path(),
        "newer.proof",
        &text_of.replacen("remat-proof/2", "remat-proof/3", 1),
    );
    let (_, err) = run_to(2, &["check-certificate", text(&newer), model]);
    assert!(err.contains("remat-proof/2 or remat-proof/1"), "{err}");
}
