//! Plans that copy to the host, through the commands.

use crate::common::{object, run_to, text};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Instance and plan of the page on offloading, as files.
fn example(folder: &Path) -> [PathBuf; 2] {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guides/offload.md");
    let page = std::fs::read_to_string(page).unwrap();
    ["three.json", "plan.json"].map(|name| {
        let (_, block) = page
            .split_once(&format!("<!-- file {name} -->\n```json\n"))
            .unwrap();
        let path = folder.join(name);
        std::fs::write(&path, block.split("```").next().unwrap()).unwrap();
        path
    })
}

/// A changed copy of a file.
fn changed(path: &Path, name: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
    let text = std::fs::read_to_string(path).unwrap();
    let mut value: Value = serde_json::from_str(&text).unwrap();
    change(&mut value);
    let path = path.with_file_name(name);
    std::fs::write(&path, value.to_string()).unwrap();
    path
}

#[test]
fn verify_has_a_clock_and_the_host() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, plan] = example(folder.path());
    let (out, _) = run_to(0, &["verify", text(&graph), text(&plan), "--json"]);
    let found = object(&out);
    for (field, value) in [
        ("cost", 47),
        ("compute_cost", 35),
        ("idle", 12),
        ("makespan", 47),
        ("recorded_objective", 47),
        ("peak_memory_bytes", 15),
        ("to_host_bytes", 6),
        ("from_host_bytes", 6),
        ("host_peak_bytes", 6),
    ] {
        assert_eq!(found[field], value, "{field}");
    }
    assert_eq!(found["verified"], true);
    assert_eq!(found["stage_schedule"], false);
    assert_eq!(found["stage_schedule_in_own_order"], false);
    assert_eq!(found["stage_schedule_with_copies"], true);
    assert_eq!(found["host_memory_bytes"], Value::Null);
    let (out, _) = run_to(0, &["verify", text(&graph), text(&plan)]);
    assert!(out.contains("12.000 ns waiting for copies"), "{out}");
    assert!(out.contains("without a link do not hold for it"), "{out}");
    assert!(out.contains("stage schedules with copies"), "{out}");
    assert!(out.contains("verified: the replay confirms"), "{out}");

    let cost = changed(&plan, "cost.json", |plan| plan["objective"] = 35.into());
    let (out, err) = run_to(2, &["verify", text(&graph), text(&cost), "--json"]);
    assert_eq!(
        object(&out)["differences"][0],
        "it records a makespan of 35, the replay takes 47"
    );
    assert!(err.contains("a makespan of 35"), "{err}");
    let little = changed(&graph, "little.json", |graph| {
        graph["host_link"]["host_memory_bytes"] = 5.into();
    });
    let (out, err) = run_to(2, &["verify", text(&little), text(&plan), "--json"]);
    assert_eq!(object(&out)["host_memory_bytes"], 5);
    assert!(err.contains("its link has 5 B of host memory"), "{err}");
    let none = changed(&graph, "none.json", |graph| {
        graph["host_link"] = Value::Null
    });
    let (_, err) = run_to(2, &["verify", text(&none), text(&plan)]);
    assert!(err.contains("\"host_link\""), "{err}");
}

#[test]
fn verify_replays_over_another_link() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, plan] = example(folder.path());
    let (graph, plan) = (text(&graph), text(&plan));
    let verify = ["verify", graph, plan, "--json", "--offload"];
    let over = |code, rest: &[&str]| {
        let (out, err) = run_to(code, &[&verify[..], rest].concat());
        (object(&out), err)
    };
    let own = over(0, &["on"]).0;
    assert_eq!(
        (&own["makespan"], &own["verified"]),
        (&47.into(), &true.into())
    );
    // To the host from 10 to 13, back from 30 to 33.
    let fast = over(0, &["2GB/s", "--host-memory", "6"]).0;
    assert_eq!((&fast["makespan"], &fast["idle"]), (&38.into(), &3.into()));
    assert_eq!(fast["host_memory_bytes"], 6);
    assert_eq!(fast["instance_sha256"], own["instance_sha256"]);
    // To the host from 10 to 116, back from 116 to 228.
    let slow = over(0, &["on", "--link-latency", "100ns", "--duplex", "half"]).0;
    assert_eq!(slow["makespan"], 233);
    let (full, err) = over(2, &["on", "--host-memory", "5"]);
    assert_eq!(
        (&full["verified"], &full["differences"]),
        (&false.into(), &Value::Array(vec![]))
    );
    assert!(err.contains("more than the 5 B that there is"), "{err}");

    let flops = changed(Path::new(graph), "flops.json", |graph| {
        graph["cost_unit"] = "FLOP".into()
    });
    let none = changed(Path::new(graph), "none.json", |graph| {
        graph["host_link"] = Value::Null
    });
    for (arguments, words) in [
        (
            &["verify", text(&flops), plan, "--offload", "on"][..],
            "\"FLOP\"",
        ),
        (
            &["verify", text(&none), plan, "--offload", "on"],
            "has no \"host_link\"",
        ),
        (
            &["verify", graph, plan, "--host-memory", "1GiB"],
            "--offload",
        ),
        (
            &["verify", graph, plan, "--offload", "warp9"],
            "24GB/s,50GB/s",
        ),
        (
            &[
                "verify",
                graph,
                plan,
                "--offload",
                "on",
                "--link-latency",
                "3",
            ],
            "has no unit",
        ),
    ] {
        let (_, err) = run_to(2, arguments);
        assert!(err.contains(words), "{arguments:?}: {err}");
    }
    run_to(0, &["verify", text(&none), plan, "--offload", "pcie3"]);
}

#[test]
fn copies_are_shown_explained_and_placed() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, plan] = example(folder.path());
    let half = changed(&graph, "half.json", |graph| {
        graph["host_link"]["duplex"] = "half".into();
    });
    let picture = folder.path().join("memory.svg");
    let stages = folder.path().join("stages.svg");
    let svg = [
        "--svg-memory",
        text(&picture),
        "--svg-schedule",
        text(&stages),
    ];
    let mut lanes = Vec::new();
    for graph in [&graph, &half] {
        let show = ["show", text(graph), text(&plan)];
        let (out, _) = run_to(0, &[&show[..], &svg].concat());
        let words =
            "a  6 B  back         30.000 ns  to  42.000 ns  for c; computations wait 12.000 ns";
        assert!(out.contains(words), "{out}");
        let svg = std::fs::read_to_string(&picture).unwrap();
        let hover = "<title>a back: 6 B, 30.000 to 42.000 ns; computations wait 12.000 ns</title>";
        assert!(svg.contains(hover), "{svg}");
        lanes.push(
            ["to host", "back", "link"].map(|lane| svg.matches(&format!("\n{lane}\n")).count()),
        );
        let stages = std::fs::read_to_string(&stages).unwrap();
        assert!(stages.contains("on the host alone"), "{stages}");
    }
    // Two lanes, or one with a legend of its colours.
    assert_eq!(lanes, [[1, 1, 0], [1, 1, 1]]);
    let shown = object(&run_to(0, &["show", text(&graph), text(&plan), "--json"]).0);
    assert_eq!(shown["copies"][1]["begin"], 30);
    assert_eq!(shown["copies"][1]["to_host"], false);
    assert_eq!(shown["copies"][1]["idle"], 12);

    let (out, _) = run_to(0, &["explain", text(&graph), text(&plan)]);
    for words in [
        "a (6 B): left for the host at 10.000 ns, there at 16.000 ns",
        "back for c from 30.000 ns to 42.000 ns; computations wait 12.000 ns for that",
        "the link back is busy for 12.000 ns (25.5% of the step)",
        "1 tensor is copied to the host (6 B) and back (6 B)",
    ] {
        assert!(out.contains(words), "{out}");
    }
    let told = object(&run_to(0, &["explain", text(&graph), text(&plan), "--json"]).0);
    assert_eq!(told["from_host_busy"], 12);
    assert_eq!(told["departures"][0]["returns"][0]["made_for"], "c");

    let placed = folder.path().join("placed.json");
    run_to(
        0,
        &["place", text(&graph), text(&plan), "--out", text(&placed)],
    );
    let found = object(&run_to(0, &["verify", text(&graph), text(&placed), "--json"]).0);
    assert_eq!(
        (&found["arena_bytes"], &found["makespan"]),
        (&15.into(), &47.into())
    );
    // Two pieces at one place.
    let shared = changed(&placed, "shared.json", |plan| {
        for piece in plan["addresses"].as_array_mut().unwrap() {
            piece[2] = 0.into();
        }
    });
    let (_, err) = run_to(2, &["verify", text(&graph), text(&shared)]);
    assert!(err.contains("shared.json"), "{err}");
}

#[test]
fn plans_with_copies_are_improved() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, plan] = example(folder.path());
    let out = folder.path().join("better.json");
    let arguments = ["improve", text(&graph), text(&plan), "--out", text(&out)];
    let found = object(&run_to(0, &[&arguments[..], &["--json"]].concat()).0);
    assert_eq!(found["objective_before"], 47);
    assert!(found["objective"].as_u64() <= Some(47));
    let replayed = object(&run_to(0, &["verify", text(&graph), text(&out), "--json"]).0);
    assert_eq!(replayed["makespan"], found["objective"]);
}

/// Fields about the transfers of a plan with copies.
const TRANSFERS: [&str; 6] = [
    "compute_cost",
    "from_host_bytes",
    "host_peak_bytes",
    "idle",
    "makespan",
    "to_host_bytes",
];

fn fields(object: &Value) -> Vec<&str> {
    let mut fields: Vec<&str> = object.as_object().unwrap().keys().map(|k| &**k).collect();
    fields.sort_unstable();
    fields
}

const NETWORK: &str = "zoo:resnet18?batch=16&device=v100";

#[test]
fn sweeps_have_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let [plans, csv, svg] = ["plans", "a.csv", "a.svg"].map(|name| folder.path().join(name));
    let sweep = [
        "sweep",
        NETWORK,
        "--budgets",
        "80%..100%:3",
        "--time-limit",
        "1s",
    ];
    let link = ["--offload", "6GB/s,8GB/s", "--host-memory", "1GiB"];
    let files = [
        "--csv",
        text(&csv),
        "--svg",
        text(&svg),
        "--plans",
        text(&plans),
    ];
    let (out, _) = run_to(0, &[&sweep[..], &link, &files, &["--json", "-q"]].concat());
    let found = object(&out);
    let points = found["points"].as_array().unwrap();
    assert_eq!(points.len(), 3);
    let mut before = u64::MAX;
    for point in points {
        let offload = &point["offload"];
        assert_eq!(fields(offload), TRANSFERS);
        assert_eq!(offload["makespan"], point["objective"]);
        let makespan = offload["makespan"].as_u64().unwrap();
        let parts = ["compute_cost", "idle"].map(|part| offload[part].as_u64().unwrap());
        assert_eq!(makespan, parts[0] + parts[1]);
        assert!(makespan <= before);
        before = makespan;
        assert_eq!(point["bound_scope"], "stage-schedules-with-copies");
        // The plan names its link.
        let plan = point["plan"].as_str().unwrap();
        let (told, _) = run_to(0, &["verify", NETWORK, plan, "--json"]);
        let told = object(&told);
        for field in TRANSFERS {
            assert_eq!(told[field], offload[field], "{field}");
        }
        let names = point["baselines"].as_array().unwrap().iter();
        let row = |name| names.clone().find(|one| one["name"] == name);
        if let (Some(pofo), Some(rotor)) = (row("pofo"), row("rotor")) {
            assert!(pofo["cost"].as_u64() <= rotor["cost"].as_u64());
            assert_eq!(fields(&pofo["offload"]), TRANSFERS);
        }
    }
    assert_eq!(points[2]["objective"], found["base_cost"]);
    assert!(points[0]["offload"]["to_host_bytes"].as_u64() > Some(0));
    let csv = std::fs::read_to_string(&csv).unwrap();
    let head = csv.lines().next().unwrap();
    let columns = head.split(',').count();
    assert!(head.ends_with("seconds,idle,to_host_bytes,from_host_bytes,host_peak_bytes"));
    assert!(csv.lines().all(|line| line.split(',').count() == columns));
    assert_eq!(
        csv.lines().filter(|line| line.contains(",pofo,")).count(),
        3
    );
    let svg = std::fs::read_to_string(&svg).unwrap();
    assert!(svg.contains("6 GB/s to the host, 8 GB/s from it"), "{svg}");
    let (out, _) = run_to(0, &[&sweep[..], &link, &["--no-baselines", "-q"]].concat());
    assert!(out.contains("link: 6 GB/s to the host"), "{out}");
    assert!(out.contains("idle") && out.contains("to host"), "{out}");
}

#[test]
fn continuous_release_has_a_bound_of_its_own() {
    let solve = ["solve", NETWORK, "--budget", "70%", "--time-limit", "2s"];
    let link = ["--offload", "pcie3", "--json", "-q"];
    let told = |release: &[&str]| object(&run_to(0, &[&solve[..], &link, release].concat()).0);
    let bytewise = told(&["--release", "continuous"]);
    let scope = "stage-schedules-with-continuous-copies";
    assert_eq!(bytewise["bound_scope"], scope);
    let number = |value: &Value| value.as_u64().unwrap();
    let machine = told(&["--release", "at-once"]);
    assert_eq!(machine["bound_scope"], "stage-schedules-with-copies");
    // The continuous bound and the base cost also hold for plans with copies at once.
    for plan in [&bytewise, &machine] {
        assert!(number(&bytewise["bound"]) <= number(&plan["objective"]));
        assert!(number(&bytewise["base_cost"]) <= number(&bytewise["bound"]));
    }
    let alone = [
        "solve",
        NETWORK,
        "--budget",
        "70%",
        "--release",
        "continuous",
    ];
    let (_, told) = run_to(2, &alone);
    assert!(told.contains("--offload <LINK>"), "{told}");
}

#[test]
fn implementations_and_copies_are_chosen_together() {
    let folder = tempfile::tempdir().unwrap();
    let plan = folder.path().join("plan.json");
    let network = format!("{NETWORK}&implementations=monet");
    let solve = ["solve", &network, "--budget", "60%", "--offload", "pcie3"];
    let rest = ["--time-limit", "2s", "--json", "-q", "--out", text(&plan)];
    let (out, _) = run_to(0, &[&solve[..], &rest].concat());
    let found = object(&out);
    assert_eq!(found["formulation"], "monet");
    assert_eq!(found["bound_scope"], "stage-schedules-with-copies");
    let number = |value: &Value| value.as_u64().unwrap();
    let offload = &found["offload"];
    let makespan = number(&found["objective"]);
    assert!(number(&found["bound"]) <= makespan);
    assert!(makespan <= number(&offload["without_copies"]));
    assert!(number(&found["peak_memory_bytes"]) <= number(&found["budget_bytes"]));
    let (told, _) = run_to(0, &["verify", &network, text(&plan), "--json"]);
    let told = object(&told);
    for field in TRANSFERS {
        assert_eq!(told[field], offload[field], "{field}");
    }
    // Infeasibility is proven if a node does not fit by any implementation.
    let (out, _) = run_to(
        3,
        &["solve", &network, "--budget", "1MB", "--offload", "pcie3"],
    );
    assert!(out.contains("by its smallest implementation"), "{out}");
}

#[test]
fn strategies_that_copy_are_compared() {
    let compare = ["baselines", NETWORK, "--budget", "85%", "--search", "1s"];
    let mut copied = 0;
    for phase in ["any", "loss"] {
        let link = ["--offload", "6GB/s", "--offload-phase", phase, "--json"];
        let found = object(&run_to(0, &[&compare[..], &link].concat()).0);
        let all = found["strategies"].as_array().unwrap();
        let row = |name: &str| all.iter().find(|one| one["name"] == name).unwrap();
        for name in [
            "pofo",
            "offload-only",
            "opportunist",
            "autocapper",
            "greedy",
            "layer-fractions",
            "remat-bb",
        ] {
            let one = row(name);
            assert_eq!(fields(&one["offload"]), TRANSFERS, "{name}");
            assert_eq!(one["cost"], one["offload"]["makespan"], "{name}");
            let reason = &one["not_applicable_because"];
            assert_eq!(
                one["fits"],
                Value::Bool(reason.is_null()),
                "{name}: {reason}"
            );
        }
        copied += u64::from(row("pofo")["offload"]["to_host_bytes"].as_u64() > Some(0));
        let cost = |name| row(name)["cost"].as_u64().unwrap();
        assert!(cost("remat-bb") <= cost("pofo"));
        assert!(row("rotor")["fits"] == false || cost("pofo") <= cost("rotor"));
    }
    assert!(copied > 0);
    // The graph is no chain, and the rows report that.
    let folder = tempfile::tempdir().unwrap();
    let [graph, _] = example(folder.path());
    let lines = [
        "baselines",
        text(&graph),
        "--budget",
        "100%",
        "--offload",
        "on",
    ];
    let (out, _) = run_to(0, &lines);
    let row = out.lines().find(|line| line.contains("pofo")).unwrap();
    assert!(row.contains("no backward pass"), "{out}");
    let without = object(&run_to(0, &[&compare[..], &["--json"]].concat()).0);
    let all = without["strategies"].as_array().unwrap();
    assert!(
        all.iter()
            .all(|one| one["offload"].is_null() && one["name"] != "pofo")
    );
}

#[test]
fn a_link_makes_room_for_more_samples() {
    let folder = tempfile::tempdir().unwrap();
    let plans = folder.path().join("plans");
    let ask = [
        "max-batch",
        NETWORK,
        "--budget",
        "512MiB",
        "--overhead",
        "0.01x",
    ];
    let rest = [
        "--time-limit",
        "1s",
        "--most",
        "40",
        "-q",
        "--json",
        "--plans",
        text(&plans),
    ];
    let link = ["--offload", "pcie4"];
    let largest = |arguments: &[&[&str]]| -> Value {
        let found = object(&run_to(0, &arguments.concat()).0);
        let all = found["strategies"].as_array().unwrap();
        all.iter()
            .find(|one| one["name"] == "remat-bb")
            .unwrap()
            .clone()
    };
    let with = largest(&[&ask, &rest, &link]);
    let without = largest(&[&ask, &rest, &["--no-baselines"]]);
    assert!(
        with["batch"].as_u64() > without["batch"].as_u64(),
        "{with} {without}"
    );
    assert!(without["offload"].is_null());
    assert_eq!(fields(&with["offload"]), TRANSFERS);
    assert_eq!(with["offload"]["makespan"], with["cost"]);
    let model = NETWORK.replace("batch=16", &format!("batch={}", with["batch"]));
    let plan = with["plan"].as_str().unwrap();
    let told = object(&run_to(0, &["verify", &model, plan, "--json"]).0);
    assert_eq!(told["makespan"], with["cost"]);
    assert!(told["peak_memory_bytes"].as_u64() <= Some(512 << 20));
}

#[test]
fn links_that_cannot_be_are_refused_everywhere() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, _] = example(folder.path());
    let flops = changed(&graph, "flops.json", |graph| {
        graph["cost_unit"] = "FLOP".into()
    });
    let none = changed(&graph, "none.json", |graph| {
        graph["host_link"] = Value::Null
    });
    let (flops, none) = (text(&flops), text(&none));
    for command in ["solve", "sweep", "baselines"] {
        let budget = if command == "sweep" {
            "--budgets"
        } else {
            "--budget"
        };
        for (file, rest, words) in [
            (flops, &["--offload", "on"][..], "\"FLOP\""),
            (none, &["--offload", "on"], "has no \"host_link\""),
            (none, &["--offload", "warp9"], "24GB/s,50GB/s"),
            (none, &["--host-memory", "1GiB"], "--offload <LINK>"),
            (none, &["--offload-phase", "loss"], "--offload <LINK>"),
            (
                none,
                &["--offload", "pcie3", "--link-latency", "3"],
                "has no unit",
            ),
        ] {
            let (_, err) = run_to(2, &[&[command, file, budget, "100%"], rest].concat());
            assert!(err.contains(words), "{command} {rest:?}: {err}");
        }
    }
    for (model, link, words) in [
        (NETWORK, "12", "has no unit of speed"),
        ("zoo:resnet18?device=cpu", "on", "has no \"host_link\""),
    ] {
        let ask = ["max-batch", model, "--budget", "1GiB", "--offload", link];
        let (_, err) = run_to(2, &ask);
        assert!(err.contains(words), "{link}: {err}");
    }
}
