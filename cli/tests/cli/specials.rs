//! Models with ordered sets, implications and semi-continuous columns, through every command that
//! takes models.

use crate::common::{object, run, run_to, text};
use std::path::{Path, PathBuf};

/// Name, text, and the optimum of a model.
const MODELS: [(&str, &str, f64); 6] = [
    // Two adjacent columns at most: 4 units of c at 2 and 6 of d at 3.
    (
        "set.lp",
        "Minimize\n obj: 9 a + c + 3 d\nSubject To\n need: a + c + d >= 10\nBounds\n a <= 10\n c <= 4\n \
         d <= 8\nSOS\n pick: S2 :: a:1 c:2 d:3\nEnd\n",
        22.0,
    ),
    (
        "set.mps",
        "NAME set\nROWS\n N obj\n G need\nCOLUMNS\n a obj 9 need 1\n c obj 1 need 1\n d obj 3 need 1\nRHS\n \
         r need 10\nBOUNDS\n UP b a 10\n UP b c 4\n UP b d 8\nSOS\n S1 one\n a 1\n c 2\n d 3\nENDATA\n",
        90.0,
    ),
    // 0, or at least 3: the rest is worth more than it costs.
    (
        "semi.lp",
        "Minimize\n obj: 2 x + 5 y\nSubject To\n need: x + y >= 2\nBounds\n 3 <= x <= 9\nSemi-Continuous\n x\nEnd\n",
        6.0,
    ),
    (
        "semi.mps",
        "NAME semi\nROWS\n N obj\n G need\nCOLUMNS\n n obj 2 need 1\n y obj 5 need 1\nRHS\n r need 3.5\nBOUNDS\n \
         LO b n 3\n SI b n 9\nENDATA\n",
        8.0,
    ),
    (
        "implied.lp",
        "Maximize\n obj: x - 2 b\nSubject To\n only: b = 0 -> x <= 1\nBounds\n x <= 4\nBinary\n b\nEnd\n",
        2.0,
    ),
    // y has no bounds: rows that hold only conditionally are branched on.
    (
        "open.mps",
        "NAME open\nROWS\n N obj\n G need\n L only\nCOLUMNS\n b obj 10\n x obj 3 need 1\n y obj 1 need 1\n y only \
         1\nRHS\n r need 7 only 2\nBOUNDS\n BV k b\n LO k x 6\n SC k x\nINDICATORS\n IF only b 0\nENDATA\n",
        17.0,
    ),
];

fn written(folder: &Path, name: &str, content: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn every_command_takes_them_or_says_which_one_does() {
    let folder = tempfile::tempdir().unwrap();
    let solution = folder.path().join("out.sol");
    for (name, content, optimum) in MODELS {
        let path = written(folder.path(), name, content);
        let model = text(&path);
        let near = |value: f64| (value - optimum).abs() < 1e-4;
        let (out, _) = run_to(
            0,
            &["mip", "-q", "--json", "--solution", text(&solution), model],
        );
        let json = object(&out);
        assert!(near(json["objective"].as_f64().unwrap()), "{name}: {out}");
        // The solution has only the file's columns, and serves as a start.
        let lines = std::fs::read_to_string(&solution).unwrap();
        let columns = lines.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(json["cols"].as_u64(), Some(columns as u64), "{name}");
        let (out, _) = run_to(
            0,
            &["mip", "-q", "--json", "--start", text(&solution), model],
        );
        assert!(
            near(object(&out)["objective"].as_f64().unwrap()),
            "{name}: {out}"
        );
        let (out, _) = run_to(0, &["cbc", model, "-solve", "-solution", text(&solution)]);
        let value = out
            .lines()
            .find_map(|l| l.strip_prefix("Objective value:"))
            .unwrap();
        assert!(near(value.trim().parse().unwrap()), "{name}: {out}");
        let (out, _) = run_to(0, &["gurobi_cl", model]);
        assert!(out.contains("Best objective"), "{name}: {out}");
        let (_, refused) = run_to(2, &["lp", model]);
        assert!(refused.contains("`remat-bb mip FILE`"), "{name}: {refused}");
        let (_, refused) = run_to(2, &["mip", "--permute", "1", model]);
        assert!(refused.contains("--permute"), "{name}: {refused}");
    }
}

#[test]
fn certificates_and_exact_answers_are_about_the_rows_that_they_become() {
    let folder = tempfile::tempdir().unwrap();
    let certificate = folder.path().join("proof.txt");
    for (name, content, optimum) in MODELS {
        let path = written(folder.path(), name, content);
        let (model, proof) = (text(&path), text(&certificate));
        let exact = [
            "mip",
            "-q",
            "--json",
            "--exact",
            "--certificate",
            proof,
            model,
        ];
        if name.starts_with("open") {
            let output = run(&exact);
            let words = String::from_utf8_lossy(&output.stderr);
            assert!(
                !output.status.success() && words.contains("finite upper bound of"),
                "{words}"
            );
            continue;
        }
        let (out, _) = run_to(0, &exact);
        let json = object(&out);
        assert_eq!(json["exact"]["objective"], format!("{optimum}"), "{name}");
        let (out, _) = run_to(0, &["check-certificate", proof, model]);
        assert!(
            out.contains(&format!("the optimum is {optimum}")),
            "{name}: {out}"
        );
    }
}
