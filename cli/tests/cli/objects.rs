//! Objects of `--json`: they have their schemas, and agree with each other and with the summaries.

use crate::common::{chain, has_its_schema, object, run_to, text};
use serde_json::{Value, json};

/// The object of a command; asserts that it has its schema, and this version.
fn printed(arguments: &[&str]) -> Value {
    let found = object(&run_to(0, &[arguments, &["--json"]].concat()).0);
    has_its_schema(arguments[0], &found);
    assert_eq!(found["version"], env!("CARGO_PKG_VERSION"));
    found
}

#[test]
fn orders_and_placements_say_the_same_as_plans() {
    let folder = tempfile::tempdir().unwrap();
    let order = printed(&["order", "zoo:unet?batch=1", "--threads", "1"]);
    assert_eq!(order["status"], "optimal");
    let planned = printed(&["plan-memory", "zoo:unet?batch=1"]);
    assert_eq!(planned["objective"], order["objective"]);
    let lives = folder.path().join("lives.csv");
    std::fs::write(&lives, "id,lower,upper,size\nx,0,2,4\ny,1,3,8\nz,2,4,4\n").unwrap();
    let placed = printed(&["place", text(&lives)]);
    assert_eq!(
        (&placed["objective"], &placed["bound"]),
        (&json!(12), &json!(12))
    );
    for command in ["show", "baselines"] {
        printed(&[command, text(&lives)]);
    }
}

#[test]
fn results_about_an_instance_say_which_and_how() {
    let folder = tempfile::tempdir().unwrap();
    let graph = chain(folder.path(), 6);
    let (graph, plan) = (text(&graph), folder.path().join("plan.json"));
    let (plan, proof) = (text(&plan), folder.path().join("bound.proof"));
    let proof = text(&proof);
    let written = ["--out", plan, "--certificate", proof];
    let how = ["--budget", "500", "--threads", "1", "--seed", "5"];
    let solve = [&["solve", graph, "--gap", "1%", "--lanes", "2"], &how[..]].concat();
    let solved = printed(&[&solve[..], &written].concat());
    let settings = json!({"time_limit_seconds": null, "gap": 0.01, "lanes": 2});
    assert_eq!(solved["settings"], settings);
    assert_eq!(solved["layers"], json!([]));
    let sweep = ["sweep", graph, "--budgets", "500", "--gap", "1%"];
    let rest = ["--time-limit", "2", "--threads", "1", "--seed", "5"];
    let swept = printed(&[&sweep[..], &rest].concat());
    let settings = json!({"time_limit_seconds": 2.0, "gap": 0.01, "lanes": 0});
    assert_eq!(swept["settings"], settings);
    let compare = [&["baselines", graph, "--time-limit", "100ms"], &how[..]].concat();
    let compared = printed(&compare);
    assert_eq!(compared["settings"]["time_limit_seconds"], 0.1);
    for found in [&solved, &swept, &compared] {
        assert_eq!((&found["threads"], &found["seed"]), (&json!(1), &json!(5)));
    }
    let verified = printed(&["verify", graph, plan]);
    let improved = printed(&["improve", graph, plan, "--threads", "1"]);
    let shown = printed(&["show", graph, plan]);
    let explained = printed(&["explain", graph, plan]);
    let checked = printed(&["check-certificate", proof, graph]);
    let program = folder.path().join("program.mps");
    let export = ["export", graph, "--budget", "500", "--formulation"];
    let exported = printed(&[&export[..], &["checkmate-interval", text(&program)]].concat());
    let order = folder.path().join("order.mps");
    let ordered = printed(&["export", graph, text(&order), "--formulation", "olla-order"]);
    assert_eq!(ordered["variant"], "sound+rng");
    let all = [
        swept, compared, verified, improved, shown, explained, checked, exported,
    ];
    let digest = solved["instance_sha256"].as_str().unwrap();
    assert!(digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()));
    for found in &all {
        assert_eq!(found["instance_sha256"], digest, "{found}");
        assert_eq!(found["instance"], solved["instance"], "{found}");
    }
}

/// The stacks that the summary names, as numbers.
#[test]
fn equal_layers_are_told() {
    let solve = [
        "solve",
        "zoo:chain?n=30",
        "--budget",
        "60%",
        "--threads",
        "1",
    ];
    let (summary, _) = run_to(0, &solve);
    let told = object(&run_to(0, &[&solve[..], &["--json"]].concat()).0);
    let [stack] = &told["layers"].as_array().unwrap()[..] else {
        panic!("{told}");
    };
    let [layers, forward, backward] =
        ["layers", "forward_nodes", "backward_nodes"].map(|field| stack[field].as_u64().unwrap());
    assert!((20..=30).contains(&layers), "{stack}");
    assert_eq!((forward, backward), (1, 1));
    let words = format!("{layers} equal layers of {forward} + {backward} nodes");
    assert!(summary.contains(&words), "{summary}");
    let swept = [
        "sweep",
        "zoo:chain?n=30",
        "--budgets",
        "60%",
        "--no-baselines",
        "--json",
    ];
    assert_eq!(object(&run_to(0, &swept).0)["layers"], told["layers"]);
}

#[test]
fn results_about_other_files_say_by_which_version() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("small.mps");
    let rows = "NAME small\nROWS\n N cost\n G need\nCOLUMNS\n    m MARKER INTORG\n    \
        x cost 3 need 2\n    y cost 4 need 3\n    m MARKER INTEND\nRHS\n    r need 7\n\
        BOUNDS\n UP b x 5\n UP b y 5\nENDATA\n";
    std::fs::write(&model, rows).unwrap();
    let proof = folder.path().join("small.vipr");
    let (model, proof) = (text(&model), text(&proof));
    let solved = printed(&["mip", model, "--certificate", proof, "--seed", "5"]);
    assert_eq!(solved["seed"], 5);
    printed(&["lp", model]);
    printed(&["check-certificate", proof, model]);
    let batch = ["max-batch", "zoo:vgg16?batch=1", "--budget", "4GiB"];
    let rest = ["--most", "2", "--time-limit", "1", "--threads", "1"];
    let found = printed(&[&batch[..], &rest].concat());
    assert_eq!(found["settings"]["time_limit_seconds"], 1.0);
    assert_eq!(found["threads"], 1);
}
