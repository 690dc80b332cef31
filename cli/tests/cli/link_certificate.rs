//! Proofs of bounds with copies through the binary, from a network to the verdict.

use crate::common::{object, run_to, text};

const NETWORK: &str = "zoo:resnet18?batch=16&device=v100";

#[test]
fn a_network_has_a_proof_of_its_bound_with_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let proof = folder.path().join("link.proof.gz");
    let plain = folder.path().join("link.proof");
    let plan = folder.path().join("plan.json");
    let link = ["--offload", "1GB/s", "--link-latency", "1us"];
    let limits = ["--threads", "1", "--gap", "4%", "--time-limit", "10s"];
    let written = ["--certificate", text(&proof), "--out", text(&plan)];
    let solve = ["solve", NETWORK, "--budget", "70%", "--json", "-q"];
    let (out, _) = run_to(0, &[&solve[..], &link, &limits, &written].concat());
    let solved = object(&out);
    let check =
        |code, arguments: &[&str]| run_to(code, &[&["check-certificate"], arguments].concat());
    let (out, _) = check(0, &[text(&proof), NETWORK, "--json"]);
    let verdict = object(&out);
    assert_eq!(verdict["verdict"], "accepted");
    assert_eq!(verdict["bound_scope"], "stage-schedules-with-copies");
    assert_eq!(verdict["bound_scope"], solved["bound_scope"]);
    assert_eq!(verdict["budget_bytes"], solved["budget_bytes"]);
    assert_eq!(verdict["lower"], solved["certified_bound"]);
    let [lower, bound, makespan] =
        [&verdict["lower"], &solved["bound"], &solved["objective"]].map(|n| n.as_u64().unwrap());
    assert!(lower <= bound && bound <= makespan);
    assert!(lower > solved["base_cost"].as_u64().unwrap(), "{out}");
    let of_link = &verdict["link"];
    assert_eq!(of_link["to_host_bytes_per_second"], 1_000_000_000u64);
    assert_eq!(of_link["latency_ns"], 1000);
    assert_eq!(of_link["duplex"], "full");
    assert!(of_link["host_memory_bytes"].is_null());
    let (words, _) = check(0, &[text(&proof), NETWORK]);
    assert!(words.contains("with copies within"), "{words}");
    assert!(words.contains("1 GB/s to the host"), "{words}");
    // The plan respects the bound over the same link.
    let own = [&["verify", NETWORK, text(&plan), "--json"], &link[..]].concat();
    let (out, _) = run_to(0, &own);
    assert_eq!(object(&out)["makespan"], makespan);
    // The proof is refused for another network, a larger budget, a faster link, or a better bound.
    let (_, err) = check(2, &[text(&proof), "zoo:resnet18?batch=12&device=v100"]);
    assert!(err.contains("proves nothing"), "{err}");
    let bytes = std::fs::read(&proof).unwrap();
    let mut written = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(&bytes[..]), &mut written)
        .unwrap();
    let budget = verdict["budget_bytes"].as_u64().unwrap();
    for (was, is) in [
        (
            format!("claim bound {lower}\n"),
            format!("claim bound {}\n", lower + 1),
        ),
        (
            format!("budget {budget}\n"),
            format!("budget {}\n", 2 * budget),
        ),
        (
            "link 1000000000 1000000000".into(),
            "link 99000000000 99000000000".into(),
        ),
    ] {
        let forged = written.replacen(&was, &is, 1);
        assert_ne!(forged, written, "{was}");
        std::fs::write(&plain, forged).unwrap();
        check(2, &[text(&plain), NETWORK]);
    }
}

#[test]
fn small_graphs_and_budgets_have_proofs_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let graph = folder.path().join("three.json");
    let node = |name: &str, needs: &str, bytes: u64| {
        format!(r#"{{"name": "{name}", "needs": [{needs}], "cost": 10, "output_bytes": {bytes}}}"#)
    };
    let nodes = [
        node("a", "", 6),
        node("b", "\"a\"", 8),
        node("c", "\"b\"", 7),
        node("d", "\"a\", \"c\"", 1),
    ];
    let link =
        r#"{"to_host_bytes_per_second": 1000000000, "from_host_bytes_per_second": 500000000}"#;
    let written = format!(
        r#"{{"schema": "remat-instance/1", "name": "three", "cost_unit": "ns", "host_link": {link}, "nodes": [{}]}}"#,
        nodes.join(", ")
    );
    std::fs::write(&graph, written).unwrap();
    let graph = text(&graph);
    for (budget, code) in [("15", 0), ("21", 0), ("13", 3), ("100%", 0)] {
        let proof = folder.path().join(format!("{budget}.proof"));
        let solve = [
            "solve",
            graph,
            "--budget",
            budget,
            "--offload",
            "on",
            "--json",
            "-q",
        ];
        let (out, _) = run_to(
            code,
            &[&solve[..], &["--certificate", text(&proof)]].concat(),
        );
        let solved = object(&out);
        let (out, _) = run_to(0, &["check-certificate", text(&proof), graph, "--json"]);
        let verdict = object(&out);
        assert_eq!(verdict["lower"], solved["certified_bound"], "{budget}");
        match code {
            0 => assert!(verdict["lower"].as_u64() <= solved["bound"].as_u64()),
            _ => assert_eq!(verdict["claim"], "infeasible"),
        }
    }
    // A link other than the instance's own is named.
    let proof = folder.path().join("own.proof");
    let solve = [
        "solve",
        graph,
        "--budget",
        "15",
        "--offload",
        "gh200",
        "--host-memory",
        "1MB",
    ];
    let around = ["--duplex", "half", "-q", "--certificate", text(&proof)];
    run_to(0, &[&solve[..], &around].concat());
    let (words, _) = run_to(0, &["check-certificate", text(&proof), graph]);
    assert!(words.contains("own link is another one"), "{words}");
    assert!(words.contains("one copy at a time"), "{words}");
    // MONeT's program has no proofs with copies.
    let zoo = ["solve", "zoo:vgg16?batch=2&device=v100", "--budget", "60%"];
    let monet = [
        "--formulation",
        "monet",
        "--offload",
        "pcie3",
        "--certificate",
        text(&proof),
    ];
    let (_, err) = run_to(2, &[&zoo[..], &monet].concat());
    assert!(err.contains("--formulation checkmate"), "{err}");
}
