//! Further outputs of `mip`: permutations, statistics, curves and trees.

use crate::common::{knapsack, object, run_to, text};
use remat_lp::lp_format;
use remat_lp::solution_file::SolutionFile;
use serde_json::Value;
use std::collections::BTreeSet;

/// Settings that leave a tree to search.
const BARE: [&str; 8] = [
    "--set",
    "cuts=false",
    "--set",
    "heuristics=false",
    "--set",
    "presolve=false",
    "--threads",
    "1",
];

#[test]
fn permutations_give_the_same_answers_in_the_order_of_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = knapsack(folder.path());
    let model = lp_format::read(&file).unwrap();
    let sol = folder.path().join("best.sol");
    let mut trees = BTreeSet::new();
    let mut objectives = BTreeSet::new();
    for seed in 0..4 {
        let seed = seed.to_string();
        let more = [
            "--permute",
            &seed,
            "--solution",
            text(&sol),
            "--json",
            "--quiet",
        ];
        let start = match seed.as_str() {
            "0" => vec![],
            _ => vec!["--start", "first.sol"],
        };
        let start: Vec<String> = (start.iter())
            .map(|word| match *word {
                "first.sol" => text(&folder.path().join("first.sol")).to_owned(),
                word => word.to_owned(),
            })
            .collect();
        let start: Vec<&str> = start.iter().map(String::as_str).collect();
        let all = [&["mip", text(&file)][..], &more, &start, &BARE].concat();
        let found = object(&run_to(0, &all).0);
        assert_eq!(found["status"], "optimal");
        assert_eq!(found["permuted"].to_string(), seed);
        let x = SolutionFile::read(&sol).unwrap().point(&model).unwrap();
        let value = remat_solver::mip::check_point(&model, &x, 1e-9).unwrap();
        assert_eq!(found["objective"], value);
        objectives.insert(found["objective"].to_string());
        if seed == "0" {
            std::fs::copy(&sol, folder.path().join("first.sol")).unwrap();
        } else {
            // An optimal start stays the best solution.
            assert_eq!(found["found_by"], "start", "{found}");
        }
        let plain = [&["mip", text(&file), "--permute", &seed][..], &BARE].concat();
        let plain = [&plain[..], &["--json", "--quiet"]].concat();
        let plain = object(&run_to(0, &plain).0);
        trees.insert(
            [&plain["nodes"], &plain["lp_iterations"], &plain["ticks"]].map(|v| v.to_string()),
        );
        let lp = [
            "lp",
            text(&file),
            "--permute",
            &seed,
            "--solution",
            text(&sol),
            "--json",
        ];
        let relaxed = object(&run_to(0, &lp).0);
        let x = SolutionFile::read(&sol).unwrap().point(&model).unwrap();
        let objective = relaxed["objective"].as_f64().unwrap();
        assert!((model.objective(&x) - objective).abs() < 1e-6);
        assert_eq!(relaxed["certificate"], "accepted");
    }
    assert_eq!(objectives.len(), 1);
    assert!(trees.len() > 1, "{trees:?}");
    let proof = folder.path().join("proof.vipr");
    let both = [
        "mip",
        text(&file),
        "--permute",
        "1",
        "--certificate",
        text(&proof),
    ];
    run_to(2, &both);
}

#[test]
fn curves_and_trees_tell_how_the_search_went() {
    let folder = tempfile::tempdir().unwrap();
    let file = knapsack(folder.path());
    let (csv, vbc) = (folder.path().join("a.csv"), folder.path().join("a.vbc"));
    let more = [
        "--curve",
        text(&csv),
        "--vbc",
        text(&vbc),
        "--json",
        "--quiet",
    ];
    let found = object(&run_to(0, &[&["mip", text(&file)][..], &more, &BARE].concat()).0);
    let curve = std::fs::read_to_string(&csv).unwrap();
    let mut lines = curve.lines();
    assert_eq!(lines.next(), Some("seconds,nodes,bound,objective"));
    let rows: Vec<Vec<f64>> = lines
        .map(|line| {
            let fields = line.split(',');
            fields.map(|f| f.parse().unwrap_or(f64::NAN)).collect()
        })
        .collect();
    let last = rows.last().unwrap();
    assert_eq!(last[2], found["bound"].as_f64().unwrap());
    assert_eq!(last[3], found["objective"].as_f64().unwrap());
    assert_eq!(last[1], found["nodes"].as_f64().unwrap());
    for pair in rows.windows(2) {
        // Maximised: the bound falls, the objective rises.
        assert!(pair[0][0] <= pair[1][0] && pair[0][1] <= pair[1][1]);
        assert!(pair[0][2] >= pair[1][2] || pair[0][2].is_nan());
        assert!(pair[0][3] <= pair[1][3] || pair[0][3].is_nan());
    }
    let tree = std::fs::read_to_string(&vbc).unwrap();
    assert!(tree.starts_with("#TYPE: COMPLETE TREE\n#TIME: SET\n"));
    let (mut known, mut painted) = (BTreeSet::from([0]), BTreeSet::new());
    for line in tree.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |k: usize| words[k].parse::<u64>().unwrap();
        match words[1] {
            "N" => {
                assert!(known.contains(&number(2)), "{line}");
                assert!(known.insert(number(3)), "{line}");
            }
            "P" => {
                assert!(known.contains(&number(2)), "{line}");
                painted.insert(number(2));
            }
            "I" => assert!(known.contains(&number(2)), "{line}"),
            "L" | "U" => assert!(words[2].parse::<f64>().is_ok(), "{line}"),
            _ => panic!("{line}"),
        }
    }
    // Every searched node is split or closed in the end.
    assert_eq!(painted.len() as u64, found["nodes"].as_u64().unwrap());
    assert!(painted.len() > 10);
}

#[test]
fn statistics_count_every_part() {
    let folder = tempfile::tempdir().unwrap();
    let file = knapsack(folder.path());
    let with = |threads: &str| {
        let all = [
            "mip",
            text(&file),
            "--statistics",
            "--json",
            "--quiet",
            "--threads",
            threads,
        ];
        let (out, err) = run_to(0, &all);
        assert!(err.starts_with("statistics   part"), "{err}");
        object(&out)
    };
    let found = with("1");
    let rows = found["statistics"].as_array().unwrap();
    let of = |component: &str, name: &str| -> &Value {
        let row = rows
            .iter()
            .find(|r| r["component"] == component && r["name"] == name);
        row.unwrap_or_else(|| panic!("{component} {name}: {found}"))
    };
    assert!(of("presolve", "rows")["calls"].as_u64().unwrap() > 0);
    assert!(of("separator", "covers")["found"].as_u64().unwrap() > 0);
    let rounds = of("separator", "rounds at the root");
    let kept: u64 = (rows.iter())
        .filter(|r| r["component"] == "separator")
        .map(|r| r["kept"].as_u64().unwrap())
        .sum();
    assert_eq!(rounds["found"], kept);
    assert!(rounds["bound_change"].as_f64().unwrap() > 0.0);
    let nodes = of("relaxation", "nodes");
    assert!(nodes["calls"].as_u64() >= found["nodes"].as_u64());
    let better: u64 = (rows.iter())
        .filter(|r| r["component"] == "heuristic")
        .map(|r| r["successes"].as_u64().unwrap())
        .sum();
    assert!(better > 0);
    // Except for times and sums of rounded numbers, the output is the same on two threads.
    let other = with("2");
    let exact = |found: &Value| {
        let mut rows = found["statistics"].clone();
        for row in rows.as_array_mut().unwrap() {
            let row = row.as_object_mut().unwrap();
            row.remove("seconds");
            row.remove("bound_change");
        }
        rows
    };
    assert_eq!(exact(&found), exact(&other));
    let (out, _) = run_to(0, &["mip", text(&file), "--json", "--quiet"]);
    assert_eq!(object(&out)["statistics"], Value::Null);
}
