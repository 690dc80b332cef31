//! Small graphs with a link, exactly: recorded values, all runs of the machine, limits.

use remat_formulations::offload::exact::{
    ExactError, ExactOutcome, ExactSearch, ExactSettings, Unfinished,
};
use remat_instances::instance::{CostUnit, Duplex, HostLink, Instance, Node, NodeId};
use remat_instances::number::LARGEST_VALUE;
use remat_instances::{read_bytes, simulate};
use remat_tests::graphs::{Numbers, general};
use remat_tests::linked::{LinkedCase, is_beaten, least_makespan};
use remat_tests::whole::solved;
use remat_tests::{brute, shared_data};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Variable with the number of random graphs of up to nine nodes; 300 graphs of up to six nodes if
/// it is not set.
const GRAPHS_VARIABLE: &str = "REMAT_LINKED_GRAPHS";
/// Variable with the first seed.
const SEED_VARIABLE: &str = "REMAT_LINKED_SEED";

fn settings(case: &LinkedCase) -> ExactSettings {
    ExactSettings {
        recompute: case.recompute,
        copies: case.copies(),
        ..ExactSettings::default()
    }
}

/// The optimum of a case, with its plan replayed and held against the case's rules.
fn optimum(case: &LinkedCase) -> Option<u64> {
    let search = ExactSearch::new(&case.instance, case.budget_bytes).settings(settings(case));
    let found = match search.run().unwrap() {
        ExactOutcome::Optimal { plan, .. } => plan,
        ExactOutcome::Infeasible { .. } => return None,
        other => panic!("{other:?}"),
    };
    let replay = simulate::plan(&case.instance, &found.plan).unwrap();
    assert_eq!(replay.makespan, found.replay.makespan);
    assert!(replay.peak_bytes <= case.budget_bytes);
    let host = case.link().host_memory_bytes;
    assert!(host.is_none_or(|host| replay.transfers.host_peak_bytes <= host));
    if !case.recompute {
        assert_eq!(replay.computations, case.instance.len());
    }
    if let Some(loss) = case.instance.loss().filter(|_| case.by_loss) {
        let mut runs = replay.timeline.iter();
        let run = runs.find(|p| p.at.node == Some(loss)).unwrap();
        let begin = run.clock - case.instance.node(loss).cost();
        let mut copies = BTreeMap::new();
        for span in &replay.transfers.spans {
            match span.to_host {
                true => assert!(span.end <= begin, "{span:?}"),
                false => assert!(span.begin >= run.clock, "{span:?}"),
            }
            *copies.entry((span.node, span.to_host)).or_insert(0) += 1;
        }
        assert!(copies.values().all(|count| *count == 1), "{copies:?}");
    }
    Some(replay.makespan)
}

#[test]
fn recorded_graphs_have_their_values() {
    let Some(folder) = shared_data("offload") else {
        return;
    };
    let text = std::fs::read_to_string(folder.join("vectors.json")).unwrap();
    let vectors: Value = serde_json::from_str(&text).unwrap();
    let mut values = 0;
    for graph in vectors["graphs"].as_array().unwrap() {
        let name = graph["name"].as_str().unwrap();
        let instance = read_bytes(name, graph["instance"].to_string().as_bytes()).unwrap();
        let link = HostLink {
            latency_ns: graph["latency_ns"].as_u64().unwrap(),
            ..instance.host_link().unwrap().clone()
        };
        let both = LinkedCase {
            instance,
            budget_bytes: graph["budget_bytes"].as_u64().unwrap(),
            recompute: true,
            by_loss: false,
            is_monet: false,
        }
        .with_link(link.clone());
        let expected = &graph["expected"];
        let mut check = |case: LinkedCase, want: &Value, what: &str| {
            values += 1;
            assert_eq!(optimum(&case), want.as_u64(), "{name} {what}");
        };
        let none = both.with_link(HostLink::new(0, 0));
        let half = both.with_link(HostLink {
            duplex: Duplex::Half,
            ..link.clone()
        });
        let copies = LinkedCase {
            recompute: false,
            ..both.clone()
        };
        let by_loss = LinkedCase {
            by_loss: true,
            ..both.clone()
        };
        check(none, &expected["recompute_only"], "recompute_only");
        check(copies, &expected["copies_only"], "copies_only");
        check(half, &expected["half_duplex"], "half_duplex");
        let barrier = &expected["out_before_back_after_loss"];
        match barrier.as_str() {
            None => check(by_loss, barrier, "out_before_back_after_loss"),
            Some("no loss") => {
                let search = ExactSearch::new(&by_loss.instance, by_loss.budget_bytes);
                let error = search.settings(settings(&by_loss)).run().unwrap_err();
                assert!(matches!(error, ExactError::NoLoss), "{error}");
            }
            Some(other) => panic!("{name}: {other}"),
        }
        for limit in expected["host_limit"].as_array().unwrap() {
            let case = both.with_link(HostLink {
                host_memory_bytes: limit["host_bytes"].as_u64(),
                ..link.clone()
            });
            check(case, &limit["makespan"], "host_limit");
        }
        check(both, &expected["recompute_and_copies"], "both");
    }
    assert_eq!(values, 81);
}

/// Random graphs with all options: no run of the machine is faster than the plan found, and if the
/// search finds no plan the machine does not reach the end.
#[test]
fn no_run_of_the_machine_is_faster() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().unwrap());
    let asked: Option<u64> = number(GRAPHS_VARIABLE);
    let first = number(SEED_VARIABLE).unwrap_or(0);
    let nodes = if asked.is_some() { 9 } else { 6 };
    // Configurations that the judge may meet.
    let most = if asked.is_some() { 400_000 } else { 60_000 };
    let (mut slower, mut copied, mut none, mut judged) = (0, 0, 0, 0);
    let count = asked.unwrap_or(300);
    for seed in first..first + count {
        let case = LinkedCase::random(seed, nodes);
        let found = optimum(&case);
        let beaten = is_beaten(&case, found, most);
        assert_ne!(beaten, Ok(true), "seed {seed}: {found:?}");
        judged += u64::from(beaten.is_ok());
        let alone = case.with_link(HostLink::new(0, 0));
        copied += u64::from(found != optimum(&alone));
        slower += u64::from(found.is_some_and(|m| m > case.instance.base_cost()));
        none += u64::from(found.is_none());
    }
    println!(
        "{count} graphs: {slower} above the costs, {copied} better for the link, {none} infeasible"
    );
    println!("{judged} judged to the end");
    assert!(judged > count / 10 * 9);
    assert!(slower > count / 8 && copied > count / 20 && none > count / 20);
}

/// The same without dominance: every configuration with its clocks is a separate state. Graphs have
/// three to five nodes.
#[test]
fn all_runs_of_the_machine_end_no_earlier() {
    let (mut feasible, mut judged) = (0, [0; 3]);
    for seed in 0..300 {
        let nodes = seed as usize % 3;
        let case = LinkedCase::random(seed, 3 + nodes);
        let found = optimum(&case);
        let Ok(least) = least_makespan(&case, 20_000) else {
            continue;
        };
        assert_eq!(found, least, "seed {seed}");
        judged[nodes] += 1;
        feasible += u64::from(found.is_some());
    }
    println!("{judged:?} graphs of up to 3, 4 and 5 nodes, {feasible} feasible");
    assert!(judged.iter().all(|count| *count > 40) && feasible > 120);
}

#[test]
fn without_a_link_it_is_checkmates_optimum() {
    for seed in 0..150 {
        let case = LinkedCase::random(seed, 9);
        let case = LinkedCase {
            recompute: true,
            by_loss: false,
            is_monet: false,
            ..case.with_link(HostLink::new(0, 0))
        };
        let found = optimum(&case);
        let wanted = brute::optimum(&case.instance, case.budget_bytes);
        assert_eq!(found, wanted, "seed {seed}");
        if seed % 10 == 0 {
            let solved = solved(&case.instance, case.budget_bytes, 1).unwrap();
            assert_eq!(found, solved.replay.map(|r| r.cost), "seed {seed}");
        }
    }
}

/// Makespans never rise with speed, budget or host memory. Every makespan is at least the optimum
/// by recomputation alone with more memory: more by the bytes that the link can carry to the host
/// and back within it.
#[test]
fn makespans_fall_with_speed_budget_and_host_memory() {
    let no_plan = u64::MAX;
    let mut falls = 0;
    for seed in 0..80 {
        let case = LinkedCase::random(seed, 8);
        let time = |case: &LinkedCase| optimum(case).unwrap_or(no_plan);
        let link = case.link();
        let speeds = [
            link.to_host_bytes_per_second,
            link.from_host_bytes_per_second,
        ];
        let with = |factor: u64, host: Option<u64>| {
            case.with_link(HostLink {
                latency_ns: link.latency_ns,
                duplex: link.duplex,
                host_memory_bytes: host,
                ..HostLink::new(speeds[0] * factor, speeds[1] * factor)
            })
        };
        let by_speed = [0, 1, 2, 5, 1000].map(|factor| time(&with(factor, None)));
        let by_host = [0, 3, 8, 20, 60].map(|host| time(&with(1, Some(host))));
        let by_budget = [0, 1, 3, 9, 30, 99].map(|more| {
            let mut case = with(1, None);
            case.budget_bytes += more;
            time(&case)
        });
        for times in [&by_speed[..], &by_host[..], &by_budget[..]] {
            let is_falling = times.windows(2).all(|pair| pair[0] >= pair[1]);
            assert!(is_falling, "seed {seed}: {times:?}");
            falls += u64::from(times[0] > times[times.len() - 1]);
        }
        assert_eq!(by_host[0], by_speed[0], "seed {seed}");
        // 1/out + 1/back, in thirds and halves of a nanosecond a byte.
        let [out, back] = speeds.map(|speed| 6_000_000_000 / speed);
        let bytes = |makespan: u64| makespan.saturating_mul(6) / (out + back);
        for (host, makespan) in [(u64::MAX, by_speed[1]), (8, by_host[2]), (20, by_host[3])] {
            let mut alone = with(0, None);
            alone.by_loss = false;
            alone.budget_bytes += bytes(makespan.min(1 << 40)).min(host);
            let floor = time(&alone);
            assert!(
                makespan >= floor || makespan == no_plan,
                "seed {seed}: {makespan} {floor}"
            );
        }
    }
    assert!(falls > 60, "{falls}");
}

/// With a link that takes almost no time every node runs once, if single computations fit.
#[test]
fn an_endless_link_leaves_the_base_cost() {
    let mut copied = 0;
    for seed in 0..60 {
        let mut numbers = Numbers::new(seed);
        let graph = general(4 + numbers.below(5) as usize, &mut numbers);
        let mut data = graph.data().clone();
        data.cost_unit = CostUnit::nanoseconds();
        data.host_link = Some(HostLink::new(LARGEST_VALUE, LARGEST_VALUE));
        let costs = data
            .nodes
            .iter_mut()
            .map(|node| &mut node.implementations[0]);
        costs.for_each(|way| (way.cost, way.recompute_cost) = (way.cost * 1000, way.cost * 1000));
        let instance = Instance::new(data).unwrap();
        let bytes = |i: NodeId| instance.node(i).output_bytes;
        let needed = instance.ids().map(|i| {
            let node = instance.node(i);
            let inputs: u64 = node.needs().iter().map(|d| bytes(*d)).sum();
            inputs + bytes(i) + node.workspace_bytes()
        });
        let search = ExactSearch::new(&instance, needed.max().unwrap());
        let outcome = search.run().unwrap();
        let ExactOutcome::Optimal { plan, .. } = outcome else {
            panic!("seed {seed}: {outcome:?}");
        };
        // A copy takes one nanosecond.
        let copies = plan.replay.transfers.spans.len() as u64;
        assert_eq!(plan.replay.cost, instance.base_cost());
        assert!(plan.replay.makespan <= instance.base_cost() + copies);
        copied += u64::from(copies > 0);
    }
    assert!(copied > 20, "{copied}");
}

#[test]
fn searches_that_are_stopped_have_a_bound_and_known_makespans_cut() {
    let mut stopped = 0;
    for seed in 0..200 {
        let case = LinkedCase::random(seed, 9);
        let Some(best) = optimum(&case) else { continue };
        let run = |change: &dyn Fn(&mut ExactSettings)| {
            let mut settings = settings(&case);
            change(&mut settings);
            let search = ExactSearch::new(&case.instance, case.budget_bytes);
            search.settings(settings).run().unwrap()
        };
        let outcome = run(&|settings| settings.most = Some(best));
        assert_eq!(outcome.plan().unwrap().replay.makespan, best);
        let outcome = run(&|settings| settings.most = Some(best - 1));
        assert!(matches!(outcome, ExactOutcome::Above { bound, .. } if bound == best));
        let mut last = 0;
        for labels in [1, 4, 16, 64] {
            let outcome = run(&|settings| settings.labels = labels);
            let bound = outcome.bound().unwrap();
            assert!(
                last <= bound && bound <= best,
                "seed {seed}: {last} {bound} {best}"
            );
            last = bound;
            let met = outcome.plan().map(|plan| plan.replay.makespan);
            assert!(met.is_none_or(|met| met >= best));
            if let ExactOutcome::Unfinished { why, .. } = outcome {
                assert_eq!(why, Unfinished::Labels);
                stopped += 1;
            }
        }
        let outcome = run(&|settings| settings.interrupt = Some(Arc::new(AtomicBool::new(true))));
        let ExactOutcome::Unfinished { why, bound, .. } = outcome else {
            panic!("seed {seed}: {outcome:?}");
        };
        assert!(why == Unfinished::Interrupted && bound <= best);
    }
    assert!(stopped > 300, "{stopped}");
}

#[test]
fn the_same_search_gives_the_same_plan() {
    for seed in 0..40 {
        let case = LinkedCase::random(seed, 9);
        let run = || {
            let search = ExactSearch::new(&case.instance, case.budget_bytes);
            let outcome = search.settings(settings(&case)).run().unwrap();
            let plan = outcome.plan().map(|plan| plan.plan.clone());
            (plan, outcome.labels())
        };
        assert_eq!(run(), run(), "seed {seed}");
    }
}

#[test]
fn instances_that_cannot_be_searched_are_refused() {
    let mut numbers = Numbers::new(7);
    let graph = general(5, &mut numbers);
    let error = |instance: &Instance| {
        let search = ExactSearch::new(instance, 100);
        search.run().unwrap_err().to_string()
    };
    assert!(error(&graph).contains("\"host_link\""));
    let linked = graph.with_host_link(Some(HostLink::new(1, 1))).unwrap();
    assert!(error(&linked).contains("\"unit\" is no time"));
    // Without speeds there are no copy times to compare with costs.
    let closed = graph.with_host_link(Some(HostLink::new(0, 0))).unwrap();
    let plan = ExactSearch::new(&closed, 1000).run().unwrap();
    assert_eq!(plan.bound(), Some(graph.base_cost()));
    let mut data = closed.data().clone();
    data.nodes = (0..129)
        .map(|i| Node::forward(format!("v{i}"), vec![], 1, 1))
        .collect();
    let large = Instance::new(data).unwrap();
    assert!(error(&large).contains("129 nodes, the search takes at most 128"));
}
