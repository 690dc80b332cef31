use super::*;
use crate::baselines::chain::{ChainState, StageParameters, TrainingChain, extract, replay};
use proptest::prelude::*;
use remat_instances::instance::{CostUnit, InstanceData, Node, NodeId};
use remat_instances::simulate;
use std::collections::{BTreeMap, BTreeSet};

/// The least cost over all persistent operation sequences, by Dijkstra's algorithm on the tensors
/// in memory. Shares only the replay of single operations with the dynamic program.
fn brute_force(chain: &Chain, budget_bytes: u64) -> Option<u64> {
    // The flag of a stage says that its plain output is a checkpoint (an operation kept it as its
    // input).
    type State = (ChainState, Vec<bool>);
    let n = chain.len();
    let start: State = (ChainState::new(chain), vec![false; n]);
    let mut known: BTreeMap<State, u64> = BTreeMap::from([(start.clone(), 0)]);
    let mut queue: BTreeSet<(u64, State)> = BTreeSet::from([(0, start)]);
    while let Some((cost, (state, pinned))) = queue.pop_first() {
        let Some(next) = state.next_backward else {
            return Some(cost);
        };
        if known[&(state.clone(), pinned.clone())] < cost {
            continue;
        }
        // Persistent: only the stage after the last tensor in memory may run.
        let stage = (0..next)
            .rev()
            .find(|&l| state.holds(l))
            .map_or(0, |l| l + 1);
        let mut moves: Vec<Vec<Operation>> = Vec::new();
        if state.saved[next] {
            moves.push(vec![Operation::Backward(next)]);
        } else if stage == next {
            moves.push(vec![Operation::SaveAll(next), Operation::Backward(next)]);
        } else {
            moves.push(vec![Operation::SaveAll(stage)]);
            moves.push(vec![Operation::KeepInput(stage)]);
            if stage > 0 && state.plain[stage - 1] && !pinned[stage - 1] {
                moves.push(vec![Operation::DropInput(stage)]);
            }
        }
        for list in moves {
            let (mut after, mut pins, mut total) = (state.clone(), pinned.clone(), cost);
            let mut fits = true;
            for &operation in &list {
                let step = after
                    .apply(chain, 0, operation, list.len() > 1)
                    .expect("only possible operations are tried");
                fits &= step.peak_bytes <= budget_bytes;
                total += step.cost;
                let l = operation.stage();
                if l > 0 && matches!(operation, Operation::KeepInput(_) | Operation::SaveAll(_)) {
                    pins[l - 1] = true;
                }
                if l > 0 && !matches!(operation, Operation::KeepInput(_) | Operation::SaveAll(_)) {
                    pins[l - 1] = false;
                }
            }
            let key = (after, pins);
            if fits && known.get(&key).is_none_or(|&c| total < c) {
                known.insert(key.clone(), total);
                queue.insert((total, key));
            }
        }
    }
    None
}

fn parameters() -> impl Strategy<Value = StageParameters> {
    (
        0u64..6,
        0u64..4,
        0u64..6,
        0u64..6,
        0u64..5,
        0u64..3,
        0u64..3,
    )
        .prop_map(
            |(forward_cost, backward_cost, a, extra, gradient_bytes, of, ob)| StageParameters {
                forward_cost,
                backward_cost,
                output_bytes: a,
                saved_bytes: a + extra,
                gradient_bytes,
                forward_overhead_bytes: of,
                backward_overhead_bytes: ob,
            },
        )
}

/// One forward node: whether it reads a second tensor, the reads of its backward node, whether that
/// is split in two nodes, cost, bytes and workspace.
type Recipe = (bool, u8, bool, u64, u64, u64);

fn training_graph(recipes: &[Recipe]) -> Instance {
    let n = recipes.len();
    let mut nodes: Vec<Node> = Vec::new();
    let earlier = |i: usize, second: bool| -> Vec<NodeId> {
        let from = if second {
            i.saturating_sub(2)
        } else {
            i.saturating_sub(1)
        };
        (from..i).map(NodeId::from).collect()
    };
    for (i, &(second, _, _, cost, bytes, workspace)) in recipes.iter().enumerate() {
        let mut node = Node::forward(format!("f{i}"), earlier(i, second), cost, bytes);
        node.implementations[0].workspace_bytes = workspace as i64;
        node.fixed_bytes = 3;
        nodes.push(node);
    }
    nodes.push(Node::loss("loss", vec![NodeId::from(n - 1)], 1, 1));
    let mut gradient = NodeId::from(n);
    for (i, &(second, reads, split, cost, bytes, _)) in recipes.iter().enumerate().rev() {
        let mut needs = vec![gradient];
        if reads & 1 != 0 {
            needs.push(NodeId::from(i));
        }
        if reads & 2 != 0 {
            needs.extend(earlier(i, second));
        }
        needs.sort_unstable();
        let twin = Some(NodeId::from(i));
        if split {
            let name = format!("p{i}");
            nodes.push(Node::backward(name, twin, needs, cost + 1, bytes % 3));
            needs = vec![gradient];
        }
        gradient = NodeId::from(nodes.len());
        nodes.push(Node::backward(
            format!("b{i}"),
            twin,
            needs,
            2 * cost,
            bytes,
        ));
    }
    let data = InstanceData {
        name: "random".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    };
    Instance::new(data).expect("the graph is well formed")
}

fn recipe() -> impl Strategy<Value = Recipe> {
    (
        proptest::bool::weighted(0.3),
        0u8..4,
        any::<bool>(),
        0u64..9,
        0u64..9,
        0u64..3,
    )
}

fn save_all(chain: &Chain) -> Vec<Operation> {
    let n = chain.len();
    (0..n)
        .map(Operation::SaveAll)
        .chain((0..n).rev().map(Operation::Backward))
        .collect()
}

fn check_against_brute_force(chain: &Chain, budget: u64) -> Result<(), TestCaseError> {
    let exact = RotorSettings { slots: 10_000 };
    let best = brute_force(chain, budget);
    match solve(chain, budget, exact).unwrap() {
        Outcome::Infeasible { .. } => prop_assert_eq!(best, None),
        Outcome::Optimal(found) => {
            prop_assert_eq!(found.slot_bytes, 1);
            prop_assert_eq!(best, Some(found.cost));
            let replayed = replay(chain, &found.operations).unwrap();
            prop_assert_eq!(replayed.cost, found.cost);
            prop_assert!(replayed.peak_bytes <= budget);
        }
    }
    Ok(())
}

/// Schedules with coarse slots: same cost in both replays, never above the budget, never cheaper
/// than exact ones. Returns whether there is one.
fn check_schedule(
    training: &TrainingChain<'_>,
    instance: &Instance,
    budget: u64,
    slots: usize,
) -> bool {
    let exact = solve_chain(training, budget, RotorSettings { slots: 10_000 }).unwrap();
    let Some(found) = solve_chain(training, budget, RotorSettings { slots }).unwrap() else {
        return false;
    };
    let exact = exact.expect("coarser slots are never more generous");
    assert!(exact.chain.cost <= found.chain.cost);
    for solution in [&exact, &found] {
        let on_chain = replay(training.chain(), &solution.chain.operations).unwrap();
        let on_graph = simulate::checkmate(instance, &solution.schedule).unwrap();
        assert_eq!(on_chain.cost, solution.chain.cost);
        assert_eq!(
            on_graph.cost, solution.chain.cost,
            "the optimum is what the replay costs"
        );
        assert!(on_chain.peak_bytes <= budget);
        assert!(on_graph.peak_bytes <= on_chain.peak_bytes);
    }
    true
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, max_global_rejects: 10_000, ..Default::default() })]

    #[test]
    fn optimal_among_persistent_sequences(
        stages in proptest::collection::vec(parameters(), 1..7),
        input in 0u64..4,
        share in 0u64..=100,
    ) {
        let chain = Chain::from_parameters(input, &stages);
        let most = replay(&chain, &save_all(&chain)).unwrap().peak_bytes;
        check_against_brute_force(&chain, most * share / 100)?;
    }

    #[test]
    fn optimal_on_chains_of_graphs_and_exact_in_the_replay(
        recipes in proptest::collection::vec(recipe(), 2..9),
        share in 20u64..=110,
        slots in 10usize..60,
    ) {
        let instance = training_graph(&recipes);
        let training = extract(&instance);
        prop_assume!(training.is_ok());
        let training = training.unwrap();
        prop_assert_eq!(training.chain().base_cost(), instance.base_cost());
        let most = replay(training.chain(), &save_all(training.chain())).unwrap().peak_bytes;
        let budget = most * share / 100;
        if training.chain().len() < 7 {
            check_against_brute_force(training.chain(), budget)?;
        }
        prop_assume!(check_schedule(&training, &instance, budget, slots));
    }

    #[test]
    fn longer_graphs_are_exact_in_the_replay(
        recipes in proptest::collection::vec(recipe(), 10..40),
        share in 20u64..=110,
        slots in 20usize..200,
    ) {
        let instance = training_graph(&recipes);
        let training = extract(&instance);
        prop_assume!(training.is_ok());
        let training = training.unwrap();
        let most = replay(training.chain(), &save_all(training.chain())).unwrap().peak_bytes;
        prop_assume!(check_schedule(&training, &instance, most * share / 100, slots));
    }

    #[test]
    fn any_possible_sequence_maps_to_a_schedule_that_costs_no_more(
        recipes in proptest::collection::vec(recipe(), 3..7),
        picks in proptest::collection::vec(any::<u16>(), 60),
    ) {
        let instance = training_graph(&recipes);
        let training = extract(&instance);
        prop_assume!(training.is_ok());
        let training = training.unwrap();
        let list = random_sequence(training.chain(), &picks);
        let on_chain = replay(training.chain(), &list).unwrap();
        let schedule = training.schedule(&list).unwrap();
        let on_graph = simulate::checkmate(&instance, &schedule).unwrap();
        prop_assert!(on_graph.cost <= on_chain.cost);
    }
}

/// A sequence that need not be persistent: random possible operations, then the backward steps that
/// are left.
fn random_sequence(chain: &Chain, picks: &[u16]) -> Vec<Operation> {
    let n = chain.len();
    let mut state = ChainState::new(chain);
    let mut list = Vec::new();
    let mut push = |state: &mut ChainState, operation| {
        let ok = state.apply(chain, 0, operation, false).is_ok();
        if ok {
            list.push(operation);
        }
        ok
    };
    for &pick in picks {
        if state.next_backward.is_none() {
            break;
        }
        let l = pick as usize / 4 % n;
        let operation = match pick % 4 {
            0 => Operation::SaveAll(l),
            1 => Operation::KeepInput(l),
            2 => Operation::DropInput(l),
            _ => Operation::Backward(l),
        };
        push(&mut state, operation);
    }
    while let Some(next) = state.next_backward {
        let from = (0..next)
            .rev()
            .find(|&l| state.holds(l))
            .map_or(0, |l| l + 1);
        for l in from..=next {
            push(&mut state, Operation::SaveAll(l));
        }
        assert!(push(&mut state, Operation::Backward(next)));
    }
    list
}

/// Homogeneous chains with unit costs and sizes are revolve's: with `c` checkpoints besides the
/// input, the number of forward runs is the binomial optimum of Griewank and Walther (2000).
#[test]
fn unit_chains_reach_the_binomial_optimum() {
    let unit = StageParameters {
        forward_cost: 1,
        output_bytes: 1,
        saved_bytes: 1,
        gradient_bytes: 0,
        ..StageParameters::default()
    };
    // t(l, c) = min over j of j + t(l - j, c - 1) + t(j, c): forward runs to reverse l steps with c
    // slots.
    fn revolve(l: u64, c: u64) -> u64 {
        match (l, c) {
            (0 | 1, _) => 0,
            (_, 0) => u64::MAX / 4,
            (_, 1) => l * (l - 1) / 2,
            _ => (1..l)
                .map(|j| j + revolve(l - j, c - 1) + revolve(j, c))
                .min()
                .unwrap(),
        }
    }
    // One slot of revolve holds the input (fixed here); the last stage needs one byte to run and
    // save, a pass needs two (input and output), one of which is the checkpoint's own.
    let stages = vec![unit; 9];
    let chain = Chain::from_parameters(1, &stages);
    let outcome = solve(&chain, 4, RotorSettings::default()).unwrap();
    let Outcome::Optimal(found) = outcome else {
        panic!("four bytes are enough");
    };
    let best = brute_force(&chain, 4).unwrap();
    assert_eq!(found.cost, best);
    // Runs that save (one per stage) come on top of revolve's advancing runs.
    assert!(found.cost >= 9 + revolve(9, 4));
    assert!(found.cost <= 9 + revolve(9, 2));
}

#[test]
fn budgets_too_small_are_infeasible_and_the_least_one_is_found() {
    let stage = |cost, a, abar| StageParameters {
        forward_cost: cost,
        output_bytes: a,
        saved_bytes: abar,
        gradient_bytes: a,
        ..StageParameters::default()
    };
    let stages: Vec<_> = (0..12)
        .map(|i| stage(1 + i % 3, 5 + i % 4, 9 + i % 5))
        .collect();
    let chain = Chain::from_parameters(4, &stages);
    let exact = RotorSettings { slots: 10_000 };
    let (least, _) = least_budget(&chain, exact).unwrap();
    assert!(matches!(
        solve(&chain, least - 1, exact).unwrap(),
        Outcome::Infeasible { slot_bytes: 1 }
    ));
    assert!(matches!(
        solve(&chain, least, exact).unwrap(),
        Outcome::Optimal(_)
    ));
    for slots in [3, 7, 20, 33] {
        let (rounded, settings) = least_budget(&chain, RotorSettings { slots }).unwrap();
        assert!(rounded >= least);
        assert!(matches!(
            solve(&chain, rounded, settings).unwrap(),
            Outcome::Optimal(_)
        ));
    }
    assert_eq!(
        solve(&chain, 3, exact).unwrap(),
        Outcome::Infeasible { slot_bytes: 1 }
    );
}

#[test]
fn too_large_tables_are_refused() {
    let chain = Chain::from_parameters(0, &vec![StageParameters::default(); 3000]);
    assert!(matches!(
        solve(&chain, 1 << 30, RotorSettings::default()),
        Err(Error::TooLarge { stages: 3000, .. })
    ));
    assert_eq!(
        solve(&Chain::default(), 1, RotorSettings::default()),
        Err(Error::Empty)
    );
}

#[test]
fn without_a_schedule_in_the_budget_run_gives_one_of_little_memory() {
    let recipes: Vec<Recipe> = (0..20).map(|i| (i % 5 == 4, 3, true, 3, 6, 0)).collect();
    let instance = training_graph(&recipes);
    let tight = run(&instance, 0).unwrap();
    let all = CheckmateSchedule::checkpoint_all(&instance);
    let peak = |s: &CheckmateSchedule| simulate::checkmate(&instance, s).unwrap().peak_bytes;
    assert!(peak(&tight) * 3 < peak(&all) * 2);
    assert_eq!(
        simulate::checkmate(&instance, &run(&instance, 1 << 20).unwrap())
            .unwrap()
            .cost,
        instance.base_cost()
    );
}
