//! `exec`, `profile` and `train-check` through the binary.

use crate::common::{run_to, text};

#[cfg(not(feature = "torch"))]
#[test]
fn without_libtorch_the_commands_say_how_to_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.json");
    let commands: [&[&str]; 3] = [
        &["exec", "zoo:resnet18", "plan.json"],
        &["profile", "zoo:resnet18", "--out", text(&out)],
        &["train-check", "zoo:resnet18", "--budget", "60%"],
    ];
    for command in commands {
        let (stdout, stderr) = run_to(2, command);
        assert!(stdout.is_empty(), "{stdout}");
        assert!(stderr.contains("scripts/setup-torch.sh"), "{stderr}");
        assert!(stderr.contains("--features torch"), "{stderr}");
    }
    assert!(!out.exists());
}

#[cfg(feature = "torch")]
mod with_libtorch {
    use super::{run_to, text};
    use crate::common::object;
    use serde_json::json;
    use std::path::Path;

    const MODEL: &str = "zoo:resnet18?batch=2&size=64x64&classes=10";

    /// A profile of a small network, and a plan with recomputation.
    fn planned(folder: &Path) -> (String, String) {
        let path = |name: &str| text(&folder.join(name)).to_string();
        let (profile, plan) = (path("profile.json"), path("plan.json"));
        let (out, _) = run_to(
            0,
            &[
                "profile",
                MODEL,
                "--repeat",
                "1",
                "--threads",
                "1",
                "--out",
                &profile,
                "--json",
            ],
        );
        let found = object(&out);
        assert_eq!(found["nodes"].as_array().unwrap().len(), 137);
        assert!(found["link"].is_null(), "the CPU has none");
        let solve = [
            "solve", &profile, "--budget", "99%", "--out", &plan, "--quiet", "--json",
        ];
        let (out, _) = run_to(0, &solve);
        assert!(object(&out)["overhead_percent"].as_f64().unwrap() > 0.0);
        (profile, plan)
    }

    #[test]
    fn a_plan_is_run_and_checked_and_a_tampered_one_is_caught() {
        let folder = tempfile::tempdir().unwrap();
        let (profile, plan) = planned(folder.path());
        let svg = folder.path().join("memory.svg");
        let on = ["--repeat", "1", "--threads", "1", "--json"];
        let check = ["exec", &profile, &plan, "--check", "--svg", text(&svg)];
        let (out, _) = run_to(0, &[&check[..], &on].concat());
        let found = object(&out);
        assert_eq!(found["gradients"]["equal"], true, "{found}");
        let bytes = |what: &str| found[what]["peak_memory_bytes"].as_f64().unwrap();
        let off = bytes("measured") / bytes("predicted") - 1.0;
        assert!(off.abs() < 0.01, "{off}");
        let seconds = found["computations"].as_array().unwrap().iter();
        let total: f64 = seconds.map(|step| step["seconds"].as_f64().unwrap()).sum();
        let whole = found["measured"]["seconds"].as_f64().unwrap();
        assert!((total - whole).abs() < 1e-6 * whole, "{total}, {whole}");
        let drawn = std::fs::read_to_string(&svg).unwrap();
        assert!(drawn.contains("measured") && drawn.contains("predicted"));
        from_one_arena(&profile, &plan, folder.path());
        over_a_link(&profile, &plan, folder.path());
        wrong_files_are_refused(&profile, &plan, folder.path());

        // A plan that claims half of its memory.
        let content = std::fs::read_to_string(&plan).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(&content).unwrap();
        let peak = document["peak_bytes"].as_u64().unwrap();
        document["peak_bytes"] = (peak / 2).into();
        let lie = folder.path().join("lie.json");
        std::fs::write(&lie, document.to_string()).unwrap();
        let check = ["exec", &profile, text(&lie), "--check"];
        let (_, stderr) = run_to(2, &[&check[..], &on].concat());
        assert!(stderr.contains("it records a peak"), "{stderr}");
        assert!(stderr.contains("were allocated at the peak"), "{stderr}");
    }

    /// A plan with addresses runs from its arena, and a plan without addresses does so on request.
    fn from_one_arena(profile: &str, plan: &str, folder: &Path) {
        let placed = folder.join("placed.json");
        let place = ["place", profile, plan, "--alignment", "64", "--out"];
        run_to(0, &[&place[..], &[text(&placed)]].concat());
        let on = ["--check", "--repeat", "1", "--threads", "1", "--json"];
        for plan in [
            &["exec", profile, text(&placed)][..],
            &["exec", profile, plan, "--arena"],
        ] {
            let found = object(&run_to(0, &[plan, &on[..]].concat()).0);
            assert_eq!(found["gradients"]["equal"], true, "{found}");
            let arena = &found["arena"];
            assert_eq!(arena["used_bytes"], arena["arena_bytes"], "{arena}");
            assert_eq!(
                arena["arena_bytes"],
                found["predicted"]["peak_memory_bytes"]
            );
        }
        let without = ["exec", profile, text(&placed), "--no-arena"];
        let found = object(&run_to(0, &[&without[..], &on[..]].concat()).0);
        assert!(found["arena"].is_null());
    }

    /// A plan that copies its first output to the host and back at once: makespan and host memory
    /// are shown beside the predicted ones.
    fn over_a_link(profile: &str, plan: &str, folder: &Path) {
        let content = std::fs::read_to_string(plan).unwrap();
        let mut document: serde_json::Value = serde_json::from_str(&content).unwrap();
        let mut steps = document["steps"].as_array().unwrap().clone();
        let first = steps.iter().position(|step| step[0] == "compute").unwrap();
        let (node, register) = (steps[first][1].clone(), steps[first][2].clone());
        let away = json!([
            ["offload", register, 0],
            ["wait", 0],
            ["deallocate", register],
            ["allocate", register, node],
            ["prefetch", 0, register]
        ]);
        let away = away.as_array().unwrap().clone();
        steps.splice(first + 1..first + 1, away);
        steps.push(json!(["release", 0]));
        document["steps"] = steps.into();
        document["host_link"] = json!({
            "to_host_bytes_per_second": 1_000_000_000, "from_host_bytes_per_second": 500_000_000,
            "latency_ns": 1_000, "duplex": "half"
        });
        let file = folder.join("copies.json");
        let on = ["exec", profile, text(&file), "--repeat", "1", "--json"];
        std::fs::write(&file, document.to_string()).unwrap();
        let copies = object(&run_to(0, &on).0)["copies"].clone();
        let bytes = |name: &str| copies[name].as_u64().unwrap();
        for same in ["predicted_host_peak_bytes", "host_arena_bytes"] {
            assert_eq!(bytes("host_peak_bytes"), bytes(same), "{copies}");
        }
        assert_eq!(bytes("to_host_bytes"), bytes("host_peak_bytes"));
        assert_eq!(bytes("from_host_bytes"), bytes("host_peak_bytes"));
        let seconds = |name: &str| copies[name].as_f64().unwrap();
        let idle =
            (2e-6 + 3e-9 * bytes("to_host_bytes") as f64) / seconds("predicted_idle_seconds");
        assert!((idle - 1.0).abs() < 1e-3, "{copies}");
        assert!(seconds("makespan_seconds") > seconds("idle_seconds"));
        // The file records the cost of the plan that it was made from.
        let check = [&on[..], &["--check"]].concat();
        let (_, stderr) = run_to(2, &check);
        assert!(stderr.contains("it records a cost"), "{stderr}");
        let makespan = (seconds("predicted_makespan_seconds") * 1e9).round() as u64;
        document["objective"] = makespan.into();
        std::fs::write(&file, document.to_string()).unwrap();
        let on = ["exec", profile, text(&file), "--repeat", "1"];
        let (shown, _) = run_to(0, &[&on[..], &["--check", "--arena"]].concat());
        for line in [
            "  makespan ",
            "  host ",
            "equal to plain training's in every bit",
        ] {
            assert!(shown.contains(line), "{shown}");
        }
    }

    /// A plan of another instance, one that frees too early, and one that reads an output that is
    /// never computed.
    fn wrong_files_are_refused(profile: &str, plan: &str, folder: &Path) {
        let other = MODEL.replace("batch=2", "batch=3");
        let (_, stderr) = run_to(2, &["exec", &other, plan]);
        assert!(stderr.contains("instance: the plan was made for another instance"));
        let content = std::fs::read_to_string(plan).unwrap();
        let document: serde_json::Value = serde_json::from_str(&content).unwrap();
        let steps = document["steps"].as_array().unwrap();
        let freed = steps.iter().rposition(|step| step[0] == "deallocate");
        let freed = &steps[freed.unwrap()];
        let filled = |step: &serde_json::Value| step[0] == "compute" && step[2] == freed[1];
        let filled = steps.iter().rposition(filled).unwrap();
        let mut early = steps.clone();
        early.insert(filled + 1, freed.clone());
        let mut missing = steps.clone();
        missing.remove(steps.iter().position(|step| step[0] == "compute").unwrap());
        for (name, steps) in [("early.json", early), ("missing.json", missing)] {
            let mut document = document.clone();
            document["steps"] = steps.into();
            let file = folder.join(name);
            std::fs::write(&file, document.to_string()).unwrap();
            let (stdout, stderr) = run_to(2, &["exec", profile, text(&file)]);
            assert!(stdout.is_empty(), "{stdout}");
            assert!(
                stderr.contains(name) && stderr.contains("statement"),
                "{stderr}"
            );
        }
    }

    /// In a plan of MONeT's program implementations are named for each operator.
    #[test]
    fn implementations_are_run_as_the_plan_names_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| text(&folder.path().join(name)).to_string();
        let (profile, plan) = (path("profile.json"), path("plan.json"));
        let model = format!("{MODEL}&implementations=monet");
        let measure = [
            "profile",
            &model,
            "--repeat",
            "1",
            "--threads",
            "1",
            "--out",
        ];
        let (out, _) = run_to(0, &[&measure[..], &[&profile, "--json"]].concat());
        every_way_is_measured(&object(&out));
        let solve = ["solve", &profile, "--budget", "100%", "--time-limit", "1s"];
        run_to(0, &[&solve[..], &["--out", &plan, "--quiet"]].concat());
        let content = std::fs::read_to_string(&plan).unwrap();
        assert!(content.contains("\"semantics\": \"monet\"") || content.contains("\"monet\""));
        let on = [
            "--repeat",
            "1",
            "--threads",
            "1",
            "--clock",
            "cpu",
            "--json",
        ];
        let (out, _) = run_to(
            0,
            &[&["exec", &profile, &plan, "--check"], &on[..]].concat(),
        );
        let found = object(&out);
        assert_eq!(found["gradients"]["equal"], true, "{found}");
        let bytes = |what: &str| found[what]["peak_memory_bytes"].as_f64().unwrap();
        let off = bytes("measured") / bytes("predicted") - 1.0;
        assert!(off.abs() < 0.01, "{off}");
    }

    /// A time, a confidence interval and memory for each implementation; a mask saves a bit for 32.
    fn every_way_is_measured(found: &serde_json::Value) {
        let nodes = found["nodes"].as_array().unwrap();
        let ways = |node: &serde_json::Value| node["implementations"].as_array().unwrap().clone();
        for way in nodes.iter().flat_map(ways) {
            let number = |value: &serde_json::Value| value.as_f64().unwrap();
            let [low, high] = [0, 1].map(|end| number(&way["interval"][end]));
            let seconds = number(&way["seconds"]);
            assert!(0.0 < low && low <= seconds && seconds <= high, "{way}");
            assert!(number(&way["workspace_bytes"]) >= 0.0, "{way}");
        }
        let named = |node: &&serde_json::Value| node["name"] == "relu.grad";
        let relu = ways(nodes.iter().find(named).unwrap());
        let saved = |name: &str| {
            let way = relu.iter().find(|way| way["name"] == name).unwrap();
            way["saved_bytes"].as_u64().unwrap()
        };
        assert_eq!(saved("output"), 32 * saved("mask"));
        assert!(nodes.iter().any(|node| !node["in_place"].is_null()));
    }

    #[test]
    fn the_loop_closes_for_choices_too() {
        let model = format!("{MODEL}&implementations=monet");
        let check = ["train-check", &model, "--budget", "100%", "--repeat", "1"];
        let how = ["--time-limit", "1", "--threads", "1", "--json"];
        let (out, _) = run_to(0, &[&check[..], &how].concat());
        let found = object(&out);
        assert_eq!(found["formulation"], "monet");
        let plans = found["plans"].as_array().unwrap();
        assert!(plans.iter().any(|plan| plan["strategy"] == "remat-bb"));
        for plan in &plans[1..] {
            assert_eq!(plan["gradients"]["equal"], true, "{plan}");
        }
    }

    #[test]
    fn the_loop_closes() {
        let loop_ = [
            "train-check",
            MODEL,
            "--budget",
            "99%",
            "--repeat",
            "1",
            "--time-limit",
            "2",
        ];
        let (out, _) = run_to(0, &[&loop_[..], &["--threads", "1", "--json"]].concat());
        let found = object(&out);
        let plans = found["plans"].as_array().unwrap();
        assert_eq!(plans[0]["strategy"], "no recomputation");
        assert!(plans.iter().any(|plan| plan["strategy"] == "remat-bb"));
        for plan in &plans[1..] {
            assert_eq!(plan["gradients"]["equal"], true, "{plan}");
            let bytes = |what: &str| plan[what].as_f64().unwrap();
            let off = bytes("measured_bytes") / bytes("predicted_bytes") - 1.0;
            assert!(off.abs() < 0.01, "{plan}");
        }
    }

    #[test]
    fn what_cannot_be_run_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let chain = crate::common::chain(folder.path(), 4);
        let plan = folder.path().join("plan.json");
        run_to(
            0,
            &[
                "solve",
                text(&chain),
                "--budget",
                "100%",
                "--out",
                text(&plan),
                "--quiet",
            ],
        );
        let (_, stderr) = run_to(2, &["exec", text(&chain), text(&plan)]);
        assert!(stderr.contains("only models of the zoo"), "{stderr}");
        let on_gpu = ["profile", MODEL, "--out", text(&plan), "--device", "cuda"];
        let (_, stderr) = run_to(2, &[&on_gpu[..], &["--clock", "cpu"]].concat());
        assert!(stderr.contains("cuda"), "{stderr}");
        let (_, stderr) = run_to(2, &["profile", "zoo:chain", "--out", text(&plan)]);
        assert!(stderr.contains("bare graph"), "{stderr}");
        let (_, stderr) = run_to(
            2,
            &["profile", MODEL, "--out", text(&plan), "--device", "tpu"],
        );
        assert!(stderr.contains("tpu"), "{stderr}");
    }
}
