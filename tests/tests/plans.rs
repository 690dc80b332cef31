//! Plans: made from schedules, optimised, written, read and replayed.

use proptest::prelude::*;
use remat_instances::instance::{
    CostUnit, Implementation, InPlace, Instance, InstanceData, InstanceError, Node, NodeId,
    NodeKind,
};
use remat_instances::plan::{Plan, PlanDocument, PlanFile, Register, Semantics, Step};
use remat_instances::schedule::{
    BitMatrix, CheckmateSchedule, MonetSchedule, Schedule, ScheduleFile,
};
use remat_instances::simulate::{self, ReplayError, StepFault};
use remat_tests::{files, instance_seen_by, shared_data};
use std::collections::BTreeMap;

fn instance(nodes: Vec<Node>) -> Instance {
    Instance::new(InstanceData {
        name: "test".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        nodes,
    })
    .unwrap()
}

fn ids(list: &[u32]) -> Vec<NodeId> {
    list.iter().map(|i| NodeId(*i)).collect()
}

fn read(text: &str, g: &Instance) -> Result<PlanDocument, InstanceError> {
    PlanFile::parse("plan.json", text.as_bytes())?.plan(g)
}

/// A random graph (inputs among the five nodes before) with workspaces and fixed memory.
fn graph(max: usize) -> impl Strategy<Value = Instance> {
    let node = (any::<u8>(), 1..20u64, 0..50u64, 0..9i64, 0..4u64);
    prop::collection::vec(node, 2..max).prop_map(|list| {
        let mut nodes = Vec::new();
        for (i, (mask, cost, bytes, workspace, fixed)) in list.into_iter().enumerate() {
            let needs = (i.saturating_sub(5)..i).filter(|j| mask >> (i - j) & 1 != 0);
            let needs = needs.map(NodeId::from).collect();
            let mut node = Node::forward(format!("v{i}"), needs, cost, bytes);
            node.implementations[0].workspace_bytes = workspace;
            node.fixed_bytes = fixed;
            nodes.push(node);
        }
        instance(nodes)
    })
}

/// A graph and a schedule with random retained sets, made consistent by dropping what cannot be there.
fn scheduled(max: usize) -> impl Strategy<Value = (Instance, CheckmateSchedule)> {
    graph(max)
        .prop_flat_map(|g| {
            let n = g.len();
            (Just(g), prop::collection::vec(any::<bool>(), n * n))
        })
        .prop_map(|(g, bits)| {
            let n = g.len();
            let mut retained = BitMatrix::new(n, n);
            for t in 0..n {
                for i in 0..t {
                    retained.set(t, i, bits[t * n + i]);
                }
            }
            let schedule = CheckmateSchedule::cheapest(&g, retained);
            (g, schedule)
        })
}

/// The same with useless computations thrown in: bits of R beyond the cheapest, closed under inputs.
fn wasteful(max: usize) -> impl Strategy<Value = (Instance, CheckmateSchedule)> {
    scheduled(max)
        .prop_flat_map(|(g, s)| {
            let n = g.len();
            (
                Just(g),
                Just(s),
                prop::collection::vec(prop::bool::weighted(0.2), n * n),
            )
        })
        .prop_map(|(g, mut s, bits)| {
            let n = g.len();
            for t in 0..n {
                for i in (0..=t).rev() {
                    if bits[t * n + i] || s.computed.get(t, i) {
                        s.computed.set(t, i, true);
                        for need in g.needs(NodeId::from(i)) {
                            if !s.retained.get(t, need.index()) {
                                s.computed.set(t, need.index(), true);
                            }
                        }
                    }
                }
            }
            (g, s)
        })
}

/// Algorithm 1 to the letter, without moving deallocations: memory as `U` counts it. A tensor that is recomputed
/// while it is held stays twice until the stage ends.
fn literal_plan(g: &Instance, s: &CheckmateSchedule) -> Plan {
    let n = g.len();
    let mut steps = Vec::new();
    let mut register: BTreeMap<usize, Register> = BTreeMap::new();
    let mut next = 0;
    for t in 0..n {
        let kept = |i: usize| t + 1 < n && s.retained.get(t + 1, i);
        let mut old = Vec::new();
        for k in s.computed.ones(t) {
            let fresh = Register(next);
            next += 1;
            let node = NodeId::from(k);
            old.extend(register.insert(k, fresh));
            steps.push(Step::Allocate {
                register: fresh,
                node,
            });
            steps.push(Step::Compute {
                node,
                register: fresh,
                implementation: 0,
            });
            for i in g.needs(node).iter().map(|i| i.index()) {
                let again = g
                    .users(NodeId::from(i))
                    .iter()
                    .any(|u| u.index() > k && s.computed.get(t, u.index()));
                if !again && !kept(i) {
                    let register = register.remove(&i).unwrap();
                    steps.push(Step::Deallocate { register });
                }
            }
        }
        let rest: Vec<usize> = register.keys().copied().filter(|i| !kept(*i)).collect();
        old.extend(rest.into_iter().map(|i| register.remove(&i).unwrap()));
        steps.extend(
            old.into_iter()
                .map(|register| Step::Deallocate { register }),
        );
    }
    Plan {
        instance: g.name().into(),
        semantics: Semantics::Checkmate,
        steps,
    }
}

/// Registers that are freed unread, by the node they held, leaving out each node's first.
fn unread(g: &Instance, plan: &Plan) -> Vec<NodeId> {
    let mut seen = vec![false; g.len()];
    // Register -> (node, read since, first computation of the node).
    let mut live: BTreeMap<Register, (NodeId, bool, bool)> = BTreeMap::new();
    let mut dead = Vec::new();
    for step in &plan.steps {
        match *step {
            Step::Allocate { .. } => {}
            Step::Compute { node, register, .. } => {
                for entry in live.values_mut() {
                    entry.1 |= g.needs(node).contains(&entry.0);
                }
                let first = !std::mem::replace(&mut seen[node.index()], true);
                live.insert(register, (node, false, first));
            }
            Step::Deallocate { register } => {
                if let Some((node, false, false)) = live.remove(&register) {
                    dead.push(node);
                }
            }
        }
    }
    dead
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_two_judges_agree_on_the_literal_plan((g, s) in wasteful(14)) {
        let by_schedule = simulate::checkmate(&g, &s).unwrap();
        let by_plan = simulate::plan(&g, &literal_plan(&g, &s)).unwrap();
        prop_assert_eq!(by_schedule.cost, by_plan.cost);
        prop_assert_eq!(by_schedule.computations, by_plan.computations);
        // Between stages nothing runs, so a plan has no sample there; such a moment is never above the stage's first
        // computation, which holds the same tensors and its output.
        prop_assert_eq!(by_schedule.peak_bytes, by_plan.peak_bytes);
    }

    #[test]
    fn a_plan_costs_what_its_schedule_costs_in_no_more_memory((g, s) in wasteful(14)) {
        let judged = simulate::checkmate(&g, &s).unwrap();
        let plan = Plan::from_checkmate(&g, &s).unwrap();
        let replay = simulate::plan(&g, &plan).unwrap();
        prop_assert_eq!(replay.cost, judged.cost);
        prop_assert!(replay.peak_bytes <= judged.peak_bytes);
        let optimised = plan.optimised(&g).unwrap();
        let after = simulate::plan(&g, &optimised).unwrap();
        prop_assert!(after.cost <= replay.cost);
        prop_assert!(after.peak_bytes <= replay.peak_bytes);
        prop_assert!(optimised.computations(g.len()).iter().all(|c| *c > 0));
        prop_assert_eq!(unread(&g, &optimised), vec![]);
        prop_assert_eq!(&optimised.optimised(&g).unwrap(), &optimised);
    }

    #[test]
    fn optimising_a_literal_plan_is_as_good_as_optimising_the_tight_one((g, s) in wasteful(14)) {
        let literal = literal_plan(&g, &s).optimised(&g).unwrap();
        let tight = Plan::from_checkmate(&g, &s).unwrap().optimised(&g).unwrap();
        let (literal, tight) = (simulate::plan(&g, &literal).unwrap(), simulate::plan(&g, &tight).unwrap());
        prop_assert_eq!((literal.cost, literal.peak_bytes), (tight.cost, tight.peak_bytes));
    }

    #[test]
    fn no_deallocation_can_move_before_the_computation_it_follows((g, s) in scheduled(9)) {
        let plan = Plan::from_checkmate(&g, &s).unwrap();
        let mut computed = None;
        for (at, step) in plan.steps.iter().enumerate() {
            match step {
                Step::Compute { .. } => computed = Some(at),
                Step::Allocate { .. } => {}
                Step::Deallocate { .. } => {
                    let mut moved = plan.clone();
                    let step = moved.steps.remove(at);
                    moved.steps.insert(computed.unwrap(), step);
                    prop_assert!(simulate::plan(&g, &moved).is_err());
                }
            }
        }
    }

    #[test]
    fn plan_files_are_read_as_they_were_written((g, s) in scheduled(9), budget in prop::option::of(any::<u32>())) {
        let plan = Plan::from_checkmate(&g, &s).unwrap();
        let replay = simulate::plan(&g, &plan).unwrap();
        let file = PlanDocument {
            plan,
            budget_bytes: budget.map(u64::from),
            objective: replay.cost,
            peak_bytes: replay.peak_bytes,
        };
        prop_assert_eq!(read(&file.write(&g), &g), Ok(file));
    }
}

/// Forward a, b (may overwrite a), m (mask of b, made with b), loss; backward of b (from b's output or its mask) and a.
fn monet_instance() -> Instance {
    let implementation = |needs: &[u32], cost, workspace| Implementation {
        recompute_cost: cost + 1,
        recompute_workspace_bytes: workspace + 2,
        ..Implementation::new(ids(needs), cost, workspace)
    };
    let with = |mut node: Node, list: Vec<Implementation>, fixed| {
        node.implementations = list;
        node.fixed_bytes = fixed;
        node
    };
    let a = with(
        Node::forward("a", vec![], 0, 100),
        vec![implementation(&[], 10, 5), implementation(&[], 7, 50)],
        1000,
    );
    let mut b = with(
        Node::forward("b", vec![], 0, 100),
        vec![implementation(&[0], 20, 0)],
        1000,
    );
    b.in_place = Some(InPlace {
        on: NodeId(0),
        cost_delta: -3,
        workspace_bytes: -100,
    });
    let mut mask = with(
        Node::forward("m", vec![], 0, 4),
        vec![implementation(&[1], 2, 0)],
        1000,
    );
    mask.kind = NodeKind::ByProduct { parent: NodeId(1) };
    mask.in_place = Some(InPlace {
        on: NodeId(0),
        cost_delta: 5,
        workspace_bytes: 0,
    });
    let loss = with(
        Node::loss("loss", vec![], 0, 8),
        vec![implementation(&[1], 1, 0)],
        1000,
    );
    let grad_b = with(
        Node::backward("grad b", Some(NodeId(1)), vec![], 0, 100),
        vec![
            implementation(&[1, 3], 30, 0),
            implementation(&[2, 3], 40, 0),
        ],
        1010,
    );
    let grad_a = with(
        Node::backward("grad a", Some(NodeId(0)), vec![], 0, 0),
        vec![implementation(&[0, 4], 50, 0)],
        1020,
    );
    instance(vec![a, b, mask, loss, grad_b, grad_a])
}

/// Forward with b in place of a and its mask saved, backward of b by the mask, then a again.
fn monet_schedule() -> MonetSchedule {
    let mut s = MonetSchedule {
        computed: BitMatrix::new(3, 4),
        retained: BitMatrix::new(4, 4),
        in_place: BitMatrix::new(3, 4),
        forward_choice: vec![vec![0; 4]; 3],
        backward_choice: vec![0, 1, 0],
    };
    (0..4).for_each(|i| s.computed.set(0, i, true));
    s.in_place.set(0, 1, true);
    s.in_place.set(0, 2, true);
    // What a backward node reads from memory is stored beyond its stage.
    for stage in 1..=2 {
        s.retained.set(stage, 2, true);
        s.retained.set(stage, 3, true);
    }
    s.computed.set(2, 0, true);
    s.forward_choice[2][0] = 1;
    s
}

#[test]
fn a_monet_schedule_becomes_a_plan_with_in_place_masks_and_implementations() {
    let g = monet_instance();
    let plan = Plan::from_monet(&g, &monet_schedule()).unwrap();
    let expected = "\
%0 = allocate a
compute a -> %0
compute b -> %0 in place
%1 = allocate m
compute m -> %1
%2 = allocate loss
compute loss -> %2
deallocate %0
%3 = allocate grad b
compute grad b [1] -> %3
deallocate %1
deallocate %2
%4 = allocate a
compute a [1] -> %4
%5 = allocate grad a
compute grad a -> %5
deallocate %4
deallocate %3
deallocate %5
";
    assert_eq!(plan.display(&g).to_string(), expected);
    let replay = simulate::plan(&g, &plan).unwrap();
    // a 10, b 20 - 3, its mask 2 + 5, loss 1, grad b by the mask 40, a again with its second way 8, grad a 50.
    assert_eq!(replay.cost, 10 + 17 + 7 + 1 + 40 + 8 + 50);
    let bytes: Vec<u64> = replay.timeline.iter().map(|p| p.bytes).collect();
    // Fixed memory follows the frontier; a is released while b runs; a's second way needs 52 when recomputed.
    assert_eq!(
        bytes,
        [
            1000 + 105,
            1000 + 200 - 100,
            1000 + 104,
            1000 + 112,
            1010 + 112,
            1010 + 200 + 52,
            1020 + 200
        ]
    );
    assert_eq!(replay.peak_bytes, 1262);
    assert_eq!(plan.optimised(&g).unwrap(), plan);
}

#[test]
fn monet_plans_lose_recomputations_that_nobody_reads() {
    let g = monet_instance();
    let mut s = monet_schedule();
    // Stage 1 recomputes a, b and the mask; grad b reads the new mask, so nothing is dead.
    for i in 0..3 {
        s.computed.set(1, i, true);
    }
    let plan = Plan::from_monet(&g, &s).unwrap();
    assert_eq!(plan.computations(g.len()), [3, 2, 2, 1, 1, 1]);
    assert_eq!(
        plan.optimised(&g).unwrap().computations(g.len()),
        [3, 2, 2, 1, 1, 1],
        "the new mask is read"
    );
    s.computed.set(1, 2, false);
    let plan = Plan::from_monet(&g, &s).unwrap();
    assert_eq!(plan.computations(g.len()), [3, 2, 1, 1, 1, 1]);
    let optimised = plan.optimised(&g).unwrap();
    assert_eq!(optimised, Plan::from_monet(&g, &monet_schedule()).unwrap());
}

#[test]
fn monet_schedules_that_cannot_be_executed_are_refused() {
    let g = monet_instance();
    let refused = |change: &dyn Fn(&mut MonetSchedule)| {
        let mut s = monet_schedule();
        change(&mut s);
        Plan::from_monet(&g, &s).unwrap_err().to_string()
    };
    type Change<'a> = &'a dyn Fn(&mut MonetSchedule);
    let cases: [(&str, Change<'_>); 6] = [
        (
            "stage 2: node 5 (grad a) runs, but its input 0 (a) is not in memory",
            &|s| s.computed.set(2, 0, false),
        ),
        (
            "stage 2 starts with node 1 (b) retained, but stage 1 neither held nor computed it",
            &|s| s.retained.set(2, 1, true),
        ),
        ("node 0 (a) runs implementation 2", &|s| {
            s.forward_choice[2][0] = 2
        }),
        ("node 3 (loss) is marked in place", &|s| {
            s.in_place.set(0, 3, true);
        }),
        ("the retained matrix S is 3 x 4", &|s| {
            s.retained = BitMatrix::new(3, 4)
        }),
        ("by-product 2 (m) is computed, but its parent 1 (b)", &|s| {
            // b is held, its mask is made again alone.
            s.in_place.set(0, 1, false);
            s.in_place.set(0, 2, false);
            s.retained.set(1, 1, true);
            s.computed.set(1, 2, true);
        }),
    ];
    for (expected, change) in cases {
        let found = refused(change);
        assert!(found.contains(expected), "{found:?} lacks {expected:?}");
    }
    let forward_only = instance(vec![Node::forward("a", vec![], 1, 1)]);
    assert_eq!(
        Plan::from_monet(&forward_only, &monet_schedule()),
        Err(ReplayError::NoLoss)
    );
}

#[test]
fn every_fault_of_a_statement_is_found_where_it_is() {
    let g = instance(vec![
        Node::forward("a", vec![], 1, 4),
        Node::forward("b", ids(&[0]), 1, 4),
        Node::forward("c", ids(&[0, 1]), 1, 4),
    ]);
    let good = Plan::from_checkmate(&g, &CheckmateSchedule::checkpoint_all(&g)).unwrap();
    let text = good.display(&g).to_string();
    let names: Vec<&str> = text.lines().collect();
    // 0: %0 = allocate a, 1: compute a, 2: %1 = allocate b, 3: compute b, 4: %2 = allocate c, 5: compute c, then three
    // deallocations.
    assert_eq!(names[4..6], ["%2 = allocate c", "compute c -> %2"]);
    let fault = |change: &dyn Fn(&mut Vec<Step>)| {
        let mut plan = good.clone();
        change(&mut plan.steps);
        match simulate::plan(&g, &plan).unwrap_err() {
            ReplayError::Step { step, fault } => (step, *fault),
            other => panic!("{other}"),
        }
    };
    let (a, c) = (NodeId(0), NodeId(2));
    let free = |r| Step::Deallocate {
        register: Register(r),
    };
    let (at, found) = fault(&|s| s.insert(4, free(0)));
    assert_eq!(at, 6);
    assert!(matches!(found, StepFault::MissingInput { missing, .. } if missing == a));
    let (at, found) = fault(&|s| s.insert(1, s[0]));
    assert_eq!(
        (at, matches!(found, StepFault::AllocatedTwice { .. })),
        (1, true)
    );
    let (at, found) = fault(&|s| s.push(free(2)));
    assert_eq!(
        (at, matches!(found, StepFault::NotAllocated { .. })),
        (9, true)
    );
    let (at, found) = fault(&|s| {
        s.remove(0);
    });
    assert_eq!(
        (at, matches!(found, StepFault::NotAllocated { .. })),
        (0, true)
    );
    let (at, found) = fault(&|s| {
        s.remove(1);
    });
    assert_eq!(
        (at, matches!(found, StepFault::MissingInput { .. })),
        (2, true)
    );
    let (at, found) = fault(&|s| s.insert(1, free(0)));
    assert_eq!(
        (at, matches!(found, StepFault::NeverFilled { .. })),
        (1, true)
    );
    let compute = |node, register| Step::Compute {
        node,
        register: Register(register),
        implementation: 0,
    };
    let (at, found) = fault(&|s| s[5] = compute(c, 1));
    assert_eq!(
        (at, matches!(found, StepFault::CannotOverwrite { .. })),
        (5, true)
    );
    let (at, found) = fault(&|s| s[1] = compute(c, 0));
    assert_eq!(
        (at, matches!(found, StepFault::WrongRegister { .. })),
        (1, true)
    );
    let (at, found) = fault(&|s| s[1] = compute(NodeId(7), 0));
    assert_eq!(
        (at, matches!(found, StepFault::UnknownNode { .. })),
        (1, true)
    );
    let (at, found) = fault(&|s| {
        s[1] = Step::Compute {
            node: a,
            register: Register(0),
            implementation: 1,
        }
    });
    assert_eq!(
        (at, matches!(found, StepFault::UnknownImplementation { .. })),
        (1, true)
    );

    let mut plan = good.clone();
    plan.steps.truncate(4);
    let never = simulate::plan(&g, &plan).unwrap_err();
    assert!(matches!(never, ReplayError::NeverComputed { node, .. } if node == c));
    // An output may stay, a tensor that somebody reads may not.
    let mut plan = good.clone();
    plan.steps.retain(|s| *s != free(2));
    assert_eq!(simulate::plan(&g, &plan).unwrap().peak_bytes, 12);
    plan.steps.retain(|s| *s != free(1));
    let leaked = simulate::plan(&g, &plan).unwrap_err();
    assert!(matches!(
        leaked,
        ReplayError::NeverFreed {
            register: Register(1),
            ..
        }
    ));
}

#[test]
fn in_place_is_refused_under_checkmate_and_on_another_input() {
    let g = monet_instance();
    let mut plan = Plan::from_monet(&g, &monet_schedule()).unwrap();
    plan.semantics = Semantics::Checkmate;
    let refused = simulate::plan(&g, &plan).unwrap_err().to_string();
    assert!(
        refused.contains("statement 2: b is computed into %0, which holds a"),
        "{refused}"
    );
}

#[test]
fn broken_plan_files_are_refused_with_the_place_the_value_and_a_remedy() {
    let g = instance(vec![Node::forward("a", vec![], 10, 4)]);
    let good = r#"{"schema": "remat-plan/1", "instance": "test", "semantics": "checkmate", "objective": 10, "peak_bytes": 4, "steps": [["allocate", 0, "a"], ["compute", "a", 0], ["deallocate", 0]]}"#;
    assert!(read(good, &g).is_ok());
    let compute = r#"["compute", "a", 0]"#;
    // What is replaced, by what, where the error points to, and a value that it quotes.
    let cases = [
        ("remat-plan/1", "remat-plan/9", "schema", "remat-plan/9"),
        ("\"test\"", "\"best\"", "instance", "best"),
        ("checkmate", "chess", "semantics", "chess"),
        ("\"objective\": 10", "\"objective\": -1", "objective", "-1"),
        (
            "\"peak_bytes\": 4",
            "\"peak_bytes\": 4.5",
            "peak_bytes",
            "4.5",
        ),
        ("\"peak_bytes\": 4, ", "", "", "the fields schema"),
        ("\"steps\"", "\"step\"", "step", "step"),
        (compute, r#"["compute", "a"]"#, "steps[1]", "a list of 2"),
        (compute, r#"["compute", "b", 0]"#, "steps[1][1]", "\"b\""),
        (compute, r#"["compute", "a", 0, 1]"#, "steps[1][3]", "1"),
        (
            r#"["deallocate", 0]"#,
            r#"["deallocate", 4294967296]"#,
            "steps[2][1]",
            "4294967296",
        ),
        (r#"["allocate", 0, "a"]"#, "7", "steps[0]", "7"),
    ];
    for (from, to, path, value) in cases {
        assert!(good.contains(from), "{from}");
        let broken = good.replacen(from, to, 1);
        let error = read(&broken, &g).unwrap_err();
        assert_eq!(error.path(), path, "{error}");
        assert!(error.fault().found.contains(value), "{error}");
        assert!(error.to_string().starts_with("plan.json:1:"), "{error}");
        assert!(!error.fault().remedy.is_empty());
    }
}

#[test]
fn the_schema_lists_exactly_the_fields_that_are_written() {
    let text = include_str!("../../instances/schema/remat-plan-1.schema.json");
    let schema: serde_json::Value = serde_json::from_str(text).unwrap();
    let g = monet_instance();
    let file = PlanDocument {
        plan: Plan::from_monet(&g, &monet_schedule()).unwrap(),
        budget_bytes: Some(2000),
        objective: 1,
        peak_bytes: 1,
    };
    let written: serde_json::Value = serde_json::from_str(&file.write(&g)).unwrap();
    let keys = |v: &serde_json::Value| -> Vec<String> {
        let mut keys: Vec<String> = v.as_object().unwrap().keys().cloned().collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&schema["properties"]), keys(&written));
    assert_eq!(read(&file.write(&g), &g), Ok(file));
}

#[test]
fn a_by_product_comes_only_with_a_run_of_its_parent() {
    let g = monet_instance();
    let mut plan = Plan::from_monet(&g, &monet_schedule()).unwrap();
    // After b and its mask, the mask once more while b is still there.
    let again = [
        Step::Allocate {
            register: Register(9),
            node: NodeId(2),
        },
        Step::Compute {
            node: NodeId(2),
            register: Register(9),
            implementation: 0,
        },
    ];
    plan.steps.splice(5..5, again);
    let refused = simulate::plan(&g, &plan).unwrap_err();
    let ReplayError::Step { step: 6, fault } = refused else {
        panic!("{refused}");
    };
    assert!(matches!(*fault, StepFault::ParentDidNotRun { .. }));
}

#[test]
fn published_schedules_become_plans_of_the_same_cost_in_no_more_memory() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let mut count = 0;
    let mut dropped = 0;
    for path in files(&folder.join("solutions"), "json") {
        let file = ScheduleFile::open(&path).unwrap();
        let graph = folder.join(format!("graphs/{}.json", file.instance()));
        let g = instance_seen_by(&graph, file.semantics());
        let document = file.schedule(&g).unwrap();
        let (plan, judged) = match &document.schedule {
            Schedule::Checkmate(s) => (Plan::from_checkmate(&g, s), simulate::checkmate(&g, s)),
            Schedule::Monet(s) => (Plan::from_monet(&g, s), simulate::monet(&g, s)),
        };
        let (plan, judged) = (plan.unwrap(), judged.unwrap());
        let replay = simulate::plan(&g, &plan).unwrap();
        assert_eq!(replay.cost, document.objective, "{}", path.display());
        assert_eq!(replay.base_cost, judged.base_cost);
        assert!(replay.peak_bytes <= judged.peak_bytes, "{}", path.display());
        let optimised = simulate::plan(&g, &plan.optimised(&g).unwrap()).unwrap();
        assert!(optimised.cost <= replay.cost && optimised.peak_bytes <= replay.peak_bytes);
        dropped += replay.computations - optimised.computations;
        count += 1;
    }
    println!("{count} plans, {dropped} dead computations");
    assert!(count > 0);
}
