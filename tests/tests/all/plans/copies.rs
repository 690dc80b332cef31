//! Plans that copy to the host: recorded programs with their times, and faults.

use remat_formulations::improve::Improve;
use remat_instances::explain::{Departure, explain};
use remat_instances::instance::{CostUnit, Duplex, HostLink, Instance, InstanceData, Node, NodeId};
use remat_instances::plan::{
    HostBuffer, NoStageSchedule, Plan, PlanDocument, PlanFile, Register, Step,
};
use remat_instances::replayed::replayed_over_link;
use remat_instances::simulate::{self, PlanLives, Replay, ReplayError};
use remat_instances::{Semantics, read_bytes, replayed};
use remat_tests::shared_data;
use serde_json::{Value, json};

/// Instance and plan file of a recorded program; the plan has the link.
fn recorded(graph: &Value) -> (Instance, String) {
    let instance = read_bytes("graph.json", graph["instance"].to_string().as_bytes()).unwrap();
    let program = &graph["program"];
    let steps = program["steps"].as_array().unwrap().iter();
    let mut link = graph["instance"]["host_link"].clone();
    link["latency_ns"] = graph["latency_ns"].clone();
    let plan = json!({
        "schema": "remat-plan/1",
        "instance": instance.name(),
        "semantics": "checkmate",
        "budget_bytes": graph["budget_bytes"],
        "objective": program["makespan"],
        "peak_bytes": program["peak_bytes"],
        "host_link": link,
        "steps": steps.map(|s| s["step"].clone()).collect::<Vec<_>>(),
    });
    (instance, plan.to_string())
}

#[test]
fn recorded_programs_replay_to_their_times_and_peaks() {
    let Some(folder) = shared_data("offload") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("vectors.json")).unwrap();
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let mut programs = 0;
    for graph in vectors["graphs"].as_array().unwrap() {
        let program = &graph["program"];
        if program.is_null() {
            continue;
        }
        programs += 1;
        let (instance, plan) = recorded(graph);
        let name = graph["name"].as_str().unwrap();
        let found = replayed(&instance, name, plan.as_bytes()).unwrap();
        let replay = &found.replay;
        assert_eq!(replay.makespan, program["makespan"], "{name}");
        assert_eq!(replay.peak_bytes, program["peak_bytes"], "{name}");
        assert_eq!(
            replay.transfers.host_peak_bytes, program["host_peak_bytes"],
            "{name}"
        );
        let timed = |verbs: &[&str]| -> Vec<(u64, u64)> {
            let steps = program["steps"].as_array().unwrap().iter();
            let ours = steps.filter(|s| verbs.contains(&s["step"][0].as_str().unwrap()));
            let times = |s: &Value| (s["from"].as_u64().unwrap(), s["to"].as_u64().unwrap());
            ours.map(times).collect()
        };
        let spans = replay.transfers.spans.iter();
        let spans: Vec<(u64, u64)> = spans.map(|s| (s.begin, s.end)).collect();
        assert_eq!(spans, timed(&["offload", "prefetch"]), "{name}");
        let ends: Vec<u64> = replay.timeline.iter().map(|p| p.clock).collect();
        let theirs: Vec<u64> = timed(&["compute"]).into_iter().map(|t| t.1).collect();
        assert_eq!(ends, theirs, "{name}");
        // The same from a file that we write, and memory as lives of pieces.
        let document = PlanDocument::of(&found.instance, found.plan.clone(), replay, None);
        let again = PlanFile::parse(name, document.write(&instance).as_bytes()).unwrap();
        assert_eq!(again.plan(&instance).unwrap(), document, "{name}");
        let lives = PlanLives::of(&found.instance, &found.plan).unwrap();
        let load = lives.buffers(&found.instance, 1).unwrap().load().bytes;
        assert_eq!(load, replay.peak_bytes, "{name}");
        // Every wait belongs to one copy, and the explanation has every copy.
        let waits: u64 = replay.transfers.spans.iter().map(|s| s.idle).sum();
        assert_eq!(waits, replay.idle(), "{name}");
        let told = explain(&found.instance, &found.plan).unwrap();
        let idle: u64 = told.departures.iter().map(Departure::idle).sum();
        assert_eq!(idle, replay.idle(), "{name}");
        let returns = told.departures.iter().map(|d| d.returns.len());
        let copies = told.departures.len() + returns.sum::<usize>();
        assert_eq!(copies, replay.transfers.spans.len(), "{name}");
        for departure in &told.departures {
            for back in &departure.returns {
                let reader = told.order[back.copy.awaited];
                assert!(found.instance.needs(reader).contains(&departure.node));
                let (from, after) = back.freed.unwrap();
                assert_eq!(told.order[from - 1], after, "{name}");
                // Only if a computation runs in between.
                let between = &replay.timeline[from..back.copy.after];
                let fullest = back.fullest.map_or(0, |f| f.1);
                assert!(between.iter().all(|point| point.bytes <= fullest), "{name}");
            }
            assert!(!told.kept.contains(&departure.node), "{name}");
        }
        assert_eq!(
            found.plan.stage_schedule(&found.instance),
            Err(NoStageSchedule::Copies),
            "{name}"
        );
        let with_copies = found.plan.stage_schedule_with_copies(&found.instance);
        assert_eq!(with_copies, Ok(()), "{name}");
    }
    assert_eq!(programs, 9);
}

/// Two nodes in a row and one that reads both, with a link of 1 byte a nanosecond.
fn three() -> Instance {
    let nodes = vec![
        Node::forward("a", vec![], 10, 6),
        Node::forward("b", vec![NodeId(0)], 20, 8),
        Node::forward("c", vec![NodeId(0), NodeId(1)], 5, 1),
    ];
    let data = InstanceData {
        name: "three".into(),
        cost_unit: CostUnit::nanoseconds(),
        host_link: Some(HostLink::new(1_000_000_000, 500_000_000)),
        in_flight: 1,
        nodes,
    };
    Instance::new(data).unwrap()
}

const R: [Register; 4] = [Register(0), Register(1), Register(2), Register(3)];
const H: HostBuffer = HostBuffer(7);

fn run(node: u32, register: Register) -> [Step; 2] {
    let node = NodeId(node);
    [
        Step::Allocate { register, node },
        Step::Compute {
            node,
            register,
            implementation: 0,
        },
    ]
}

/// a leaves while b runs and comes back for c.
fn steps() -> Vec<Step> {
    let mut steps = run(0, R[0]).to_vec();
    steps.push(Step::Offload {
        register: R[0],
        buffer: H,
    });
    steps.extend(run(1, R[1]));
    steps.push(Step::Wait { buffer: H });
    steps.push(Step::Deallocate { register: R[0] });
    steps.push(Step::Allocate {
        register: R[2],
        node: NodeId(0),
    });
    steps.push(Step::Prefetch {
        buffer: H,
        register: R[2],
    });
    steps.extend(run(2, R[3]));
    steps.push(Step::Release { buffer: H });
    steps.extend([R[1], R[2]].map(|register| Step::Deallocate { register }));
    steps
}

fn replay(instance: &Instance, steps: Vec<Step>) -> Result<Replay, ReplayError> {
    let plan = Plan {
        instance: "three".into(),
        semantics: Semantics::Checkmate,
        steps,
    };
    simulate::plan(instance, &plan)
}

#[test]
fn a_computation_waits_for_what_it_reads_and_lanes_are_shared_at_half_duplex() {
    let found = replay(&three(), steps()).unwrap();
    // 10, then b from 10 to 30 beside the copy from 10 to 16; back from 30 to 42; c until 47.
    assert_eq!((found.makespan, found.cost, found.idle()), (47, 35, 12));
    assert_eq!(
        (
            found.transfers.to_host_bytes,
            found.transfers.from_host_bytes
        ),
        (6, 6)
    );
    assert_eq!((found.peak_bytes, found.transfers.host_peak_bytes), (15, 6));
    let link = HostLink {
        duplex: Duplex::Half,
        latency_ns: 30,
        ..HostLink::new(1_000_000_000, 500_000_000)
    };
    let half = three().with_host_link(Some(link)).unwrap();
    // To the host from 10 to 46, where computations wait for it, and back from 46 to 88.
    let found = replay(&half, steps()).unwrap();
    assert_eq!((found.makespan, found.idle()), (93, 58));
}

#[test]
fn faults_of_copies_are_named() {
    let all = steps();
    let without = |k: usize| [&all[..k], &all[k + 1..]].concat();
    let swapped = |k: usize| {
        let mut steps = all.clone();
        steps.swap(k, k + 1);
        steps
    };
    let mut twice = all.clone();
    twice.insert(3, all[2]);
    let mut early = all.clone();
    early.insert(8, Step::Release { buffer: H });
    let mut full = all.clone();
    full[8] = Step::Prefetch {
        buffer: H,
        register: R[1],
    };
    let mut unread = all.clone();
    unread.insert(9, Step::Deallocate { register: R[2] });
    let mut coming = all.clone();
    coming.insert(9, Step::Release { buffer: H });
    for (steps, words) in [
        (without(2), "statement 4: @7 holds nothing here"),
        (
            without(5),
            "statement 5: %0 is freed while a copy from it to @7 may still run: wait for it first",
        ),
        (without(11), "@7 with node 0 (a) is never released"),
        (
            twice,
            "statement 3: @7 is taken, but holds a: release it first",
        ),
        (
            swapped(1),
            "statement 1: %0 is copied to the host, but nothing was put into it since it was allocated for a",
        ),
        (early, "statement 9: @7 holds nothing here"),
        (
            full,
            "statement 8: @7 is copied back into %1, which holds b",
        ),
        (
            unread,
            "statement 9: %2 is freed, but nothing has read what came from @7",
        ),
        (
            coming,
            "statement 9: @7 is released while a copy from it may still run: nothing has read %2",
        ),
    ] {
        assert_eq!(replay(&three(), steps).unwrap_err().to_string(), words);
    }
    let refused = |change: &dyn Fn(&mut InstanceData)| {
        let mut data = three().data().clone();
        change(&mut data);
        let error = replay(&Instance::new(data).unwrap(), steps()).unwrap_err();
        error.to_string()
    };
    let none = refused(&|data| data.host_link = None);
    assert!(none.contains("\"host_link\""), "{none}");
    let unit = refused(&|data| data.cost_unit = CostUnit::named("FLOP"));
    assert!(unit.contains("\"FLOP\" is no time"), "{unit}");
    let stays = refused(&|data| data.nodes[0].stays = true);
    assert!(stays.contains("\"offload\": false"), "{stays}");
    let back = refused(&|data| data.host_link = Some(HostLink::new(1, 0)));
    assert!(back.contains("no bandwidth from the host"), "{back}");
}

fn plan_of(steps: Vec<Step>) -> Plan {
    Plan {
        instance: "three".into(),
        semantics: Semantics::Checkmate,
        steps,
    }
}

#[test]
fn a_plan_goes_with_its_link_and_the_instance_keeps_its_own() {
    let (own, plan) = (three(), plan_of(steps()));
    let other = HostLink {
        host_memory_bytes: Some(9),
        ..HostLink::new(2_000_000_000, 2_000_000_000)
    };
    let linked = own.with_host_link(Some(other.clone())).unwrap();
    let replay = simulate::plan(&linked, &plan).unwrap();
    // Back from 30 to 33.
    assert_eq!((replay.makespan, replay.idle()), (38, 3));
    let text = PlanDocument::of(&linked, plan, &replay, None).write(&linked);
    let found = replayed(&own, "plan.json", text.as_bytes()).unwrap();
    assert_eq!(found.instance.host_link(), Some(&other));
    assert_eq!(found.replay, replay);
    assert_eq!(found.given().digest(), own.digest());
    let over = replayed_over_link(&own, "plan.json", text.as_bytes()).unwrap();
    assert_eq!(
        (over.objective, over.replay.makespan),
        (replay.makespan, 47)
    );
}

#[test]
fn memory_between_computations_is_told_apart() {
    // The buffer for the returning tensor is allocated while the copy to the host runs.
    let mut early = steps();
    let allocate = early.remove(7);
    early.insert(5, allocate);
    let found = replay(&three(), early.clone()).unwrap();
    assert_eq!((found.peak_bytes, found.peak_at.node), (20, None));
    let moments: Vec<_> = (found.transfers.moments.iter())
        .map(|m| (m.statement, m.after, m.bytes, m.clock))
        .collect();
    let wanted = [
        (2, 1, 6, 10),
        (6, 2, 20, 30),
        (8, 2, 14, 30),
        // c waits for a, with its own register.
        (10, 2, 15, 42),
    ];
    assert_eq!(moments, wanted);
    assert_eq!(found.transfers.busy(true), 6);
    assert_eq!(found.transfers.busy(false), 12);
    let told = explain(&three(), &plan_of(early)).unwrap();
    let back = told.departures[0].returns[0];
    assert_eq!(back.freed, Some((2, NodeId(1))));
    assert_eq!(back.fullest, None);
}

#[test]
fn statements_of_plans_with_copies_are_moved() {
    let plan = plan_of(steps());
    let instance = three();
    let before = simulate::plan(&instance, &plan).unwrap();
    let improve = Improve::new(&instance, &plan).budget(before.peak_bytes);
    let better = improve.run().unwrap();
    assert!(better.replay.makespan <= before.makespan);
    assert!(better.replay.peak_bytes <= before.peak_bytes);
    // Twice in a stage, with copies.
    let mut twice = steps();
    let again = [
        Step::Allocate {
            register: Register(9),
            node: NodeId(1),
        },
        Step::Compute {
            node: NodeId(1),
            register: Register(9),
            implementation: 0,
        },
        Step::Deallocate {
            register: Register(9),
        },
    ];
    for _ in 0..2 {
        twice.splice(5..5, again);
    }
    let twice = plan_of(twice);
    assert!(simulate::plan(&three(), &twice).is_ok());
    let problem = twice.stage_schedule_with_copies(&three()).unwrap_err();
    assert!(problem.to_string().contains("b runs twice"), "{problem}");
}
