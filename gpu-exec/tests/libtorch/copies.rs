//! Training steps whose activations leave for the host and come back, over a link of a given speed
//! on the CPU: the same bits, and device and host memory as predicted, to the byte.

use crate::common::{Case, GPT2, RESNET, plain};
use remat_formulations::AnyFormulation;
use remat_formulations::offload::nodes::{Offload, OffloadTuning};
use remat_gpu_exec::{HostMemory, ProfileSettings, Run, profile, run_with_host};
use remat_instances::Semantics;
use remat_instances::instance::{Duplex, HostLink, Instance, NodeId};
use remat_instances::plan::{HostBuffer, Plan, Register, Step};
use remat_instances::simulate::{self, Replay};
use remat_memory::place::{PlaceSettings, place_plan};
use remat_search::Settings;

const LINK: HostLink = HostLink::new(4_000_000_000, 2_000_000_000);

/// The case's profile, with a link. Sizes are from the second run of each node: tensors that the
/// first run leaves outside of registers are not outputs.
fn linked(case: &mut Case, link: HostLink) -> Instance {
    let settings = ProfileSettings {
        warmup: 1,
        repeats: 1,
        whole_steps: false,
    };
    let profile = profile(&mut case.training, &settings).expect("a profile");
    let linked = profile.instance.with_host_link(Some(link));
    linked.expect("a link")
}

/// Runs a plan with separate host memory and compares everything with its replay: without an arena
/// and from one, each twice from the same host memory.
fn check(case: &mut Case, instance: &Instance, plan: &Plan, what: &str) -> Replay {
    let predicted = simulate::plan(instance, plan).expect("a replay");
    let host = HostMemory::new(&case.training, instance, plan);
    let mut host = host.unwrap_or_else(|e| panic!("{what}: {e}"));
    let settings = PlaceSettings {
        threads: 1,
        ..PlaceSettings::default()
    };
    let placed = place_plan(instance, plan, Some(64), None, &settings).expect("addresses");
    for addresses in [None, Some(&placed.addresses)] {
        for _ in 0..2 {
            let training = &mut case.training;
            let run = run_with_host(training, instance, plan, addresses, &mut host, true);
            let run = run.unwrap_or_else(|e| panic!("{what}: {e}"));
            case.same(&run, what);
            as_predicted(&run, &predicted, what);
            if let Some(used) = run.arena {
                assert_eq!(used.arena_bytes, placed.arena_bytes(), "{what}");
                assert!(used.used_bytes <= used.arena_bytes, "{what}: {used:?}");
            } else {
                assert_eq!(run.memory.peak, predicted.peak_bytes, "{what}");
            }
        }
    }
    predicted
}

/// Asserts that copies and host memory equal the replay's.
fn as_predicted(run: &Run, predicted: &Replay, what: &str) {
    let found = run.copies.expect("copies");
    let wanted = &predicted.transfers;
    assert_eq!(found.host_peak_bytes, wanted.host_peak_bytes, "{what}");
    // Fragmentation costs no bytes here.
    assert_eq!(found.host_arena_bytes, wanted.host_peak_bytes, "{what}");
    assert_eq!(found.to_host_bytes, wanted.to_host_bytes, "{what}");
    assert_eq!(found.from_host_bytes, wanted.from_host_bytes, "{what}");
    assert!(found.makespan_seconds >= found.idle_seconds, "{what}");
}

/// The plan without recomputation in which outputs of nodes are on the host between their readers.
/// Each is copied to the host once, and back for each of its later readers.
fn away(instance: &Instance, nodes: &[NodeId]) -> Plan {
    let plain = plain(instance);
    let is_read = |step: &Step, node: NodeId| match step {
        Step::Compute { node: by, .. } => instance.needs(*by).contains(&node),
        _ => false,
    };
    let mut steps = plain.steps.clone();
    for (k, node) in nodes.iter().enumerate() {
        let made = |step: &Step| matches!(step, Step::Compute { node: by, .. } if by == node);
        let home = steps.iter().find(|step| made(step));
        let Some(&Step::Compute { register: home, .. }) = home else {
            panic!("{node} is computed");
        };
        let buffer = HostBuffer(k as u32);
        let away = Register(1_000_000 + k as u32);
        let (node, mut readers) = (*node, 0);
        let all = steps.iter().filter(|step| is_read(step, node)).count();
        let mut new = Vec::new();
        for step in steps {
            let reads = is_read(&step, node);
            if reads && readers > 0 {
                let register = away;
                new.push(Step::Allocate { register, node });
                new.push(Step::Prefetch { buffer, register });
            }
            if matches!(step, Step::Deallocate { register } if register == home) && readers == all {
                // It is not in memory any more.
                continue;
            }
            new.push(step);
            if reads {
                readers += 1;
                let register = if readers == 1 { home } else { away };
                if readers == 1 {
                    new.push(Step::Offload { register, buffer });
                    new.push(Step::Wait { buffer });
                }
                new.push(Step::Deallocate { register });
                if readers == all {
                    new.push(Step::Release { buffer });
                }
            }
        }
        steps = new;
    }
    Plan { steps, ..plain }
}

/// Forward nodes with at least `readers` readers, the largest outputs first.
fn read_often(instance: &Instance, readers: usize, count: usize) -> Vec<NodeId> {
    let of = |node: NodeId| {
        let by = instance
            .ids()
            .filter(|by| instance.needs(*by).contains(&node));
        by.count()
    };
    let forward = |node: &NodeId| !instance.node(*node).is_backward();
    let all = instance.ids().filter(forward);
    let mut found: Vec<NodeId> = all.filter(|node| of(*node) >= readers).collect();
    found.sort_by_key(|node| std::cmp::Reverse(instance.node(*node).output_bytes));
    found.truncate(count);
    found
}

#[test]
fn activations_leave_and_come_back_as_often_as_they_are_read() {
    for (model, duplex) in [(RESNET, Duplex::Full), (GPT2, Duplex::Half)] {
        let mut case = Case::new(model);
        let latency_ns = 1_000;
        let link = HostLink {
            latency_ns,
            duplex,
            ..LINK
        };
        let instance = linked(&mut case, link);
        let nodes = read_often(&instance, 3, 6);
        assert_eq!(nodes.len(), 6);
        let plan = away(&instance, &nodes);
        let what = format!("{model}, {duplex:?}");
        let replay = check(&mut case, &instance, &plan, &what);
        let moved = &replay.transfers;
        assert!(
            moved.from_host_bytes >= 2 * moved.to_host_bytes,
            "{moved:?}"
        );
    }
}

/// A plan of the front door, which recomputes or copies, whichever is better.
#[test]
fn the_solvers_plan_runs_as_it_says() {
    let mut case = Case::new(GPT2);
    // Costs that do not depend on the machine, and a link that is fast enough for all tensors.
    let mut data = linked(&mut case, HostLink::new(2_000_000_000, 2_000_000_000))
        .data()
        .clone();
    for way in data.nodes.iter_mut().flat_map(|n| &mut n.implementations) {
        (way.cost, way.recompute_cost) = (200_000, 200_000);
    }
    let instance = Instance::new(data).expect("an instance");
    let formulation = AnyFormulation::of(&instance, Semantics::Checkmate).expect("a program");
    let settings = Settings {
        rounds: 1,
        iterations: 200,
        threads: 1,
        ..Settings::default()
    };
    let tuning = OffloadTuning {
        probes: 2,
        probe_moves: 500,
        polish_moves: 500,
        lanes: 1,
        ..OffloadTuning::default()
    };
    let budget = case.budget(75);
    let offload = Offload::new(formulation, budget)
        .settings(settings)
        .tuning(tuning);
    let answer = offload.run().expect("an answer");
    let plan = answer.plan.expect("a plan").plan;
    assert!(plan.has_copies());
    let replay = check(&mut case, &instance, &plan, "the solver's");
    assert!(replay.peak_bytes <= budget);
}
