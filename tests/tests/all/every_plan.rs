//! Bounds over all plans against an exact search over tensors in memory and first computations.

use crate::forged::Verdicts;
use remat_check::proof::checkmate::Plans;
use remat_check::proof::{self as checker, Proof};
use remat_formulations::bound::smallest_budget;
use remat_formulations::checkmate::CheckmateGraph;
use remat_formulations::checkmate::graph::PlanScope;
use remat_formulations::checkmate::interval::tree_proof;
use remat_formulations::{Budget, Solve};
use remat_instances::Instance;
use remat_instances::instance::Pivots;
use remat_instances::instance::{InstanceData, Node, NodeId};
use remat_instances::simulate;
use remat_search::{STAGE_SCHEDULES, Settings};
use remat_solver::price::{
    Incumbents, Root, RootSettings, TreeEnd, TreeOutcome, TreeSettings, search,
};
use remat_tests::families::{self, Updates};
use remat_tests::graphs::{Numbers, training, with_like_runs};
use remat_tests::reorders::{best_plan, best_plan_in_order};
use remat_tests::whole::solved;
use remat_tests::{brute, shared_data};
use std::sync::Arc;

/// Rounds of a test, or as many as `REMAT_ROUNDS` says.
fn rounds(default: usize) -> usize {
    let given = std::env::var("REMAT_ROUNDS").ok();
    given.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// The bound of a scope by a tree without solutions: the least relaxation that leaves no quantity
/// open; `None` if there is none.
fn bound(instance: &Instance, budget_bytes: u64, scope: PlanScope, round: usize) -> Option<u64> {
    let tree = tree(instance, budget_bytes, scope, round)?.1;
    (tree.end != TreeEnd::Infeasible).then_some(tree.bound)
}

/// The tree of [`bound`], with its program; `None` if the root is infeasible.
fn tree(
    instance: &Instance,
    budget_bytes: u64,
    scope: PlanScope,
    round: usize,
) -> Option<(Arc<CheckmateGraph>, TreeOutcome<CheckmateGraph>)> {
    let graph = CheckmateGraph::new(instance, budget_bytes).ok()?;
    let graph = Arc::new(graph.with_scope(scope));
    let settings = RootSettings {
        cut_rounds: [40, 0, 3][round % 3],
        ..RootSettings::default()
    };
    let incumbents = Incumbents::default();
    let root = Root::solve(graph.clone(), &settings, &incumbents).unwrap();
    if root.is_infeasible() {
        return None;
    }
    let settings = TreeSettings {
        gap: 0.0,
        ends_stuck: true,
        prove: true,
        node_cut_rounds: [4, 0][round % 2],
        ..TreeSettings::default()
    };
    let tree = search(root, &settings, &incumbents, &()).unwrap();
    assert_ne!(tree.end, TreeEnd::Limit, "round {round}: {tree:?}");
    Some((graph, tree))
}

/// Results of a family.
#[derive(Debug, Default)]
struct Counts {
    pairs: usize,
    equal: usize,
    all: usize,
    all_equal: usize,
    stage_best: usize,
    stage_proven: usize,
}

/// Compares bounds with exact values on random graphs and budgets.
fn compare(name: &str, rounds: usize, draw: impl Fn(usize, &mut Numbers) -> Instance) -> Counts {
    let mut numbers = Numbers::new(82);
    let mut counts = Counts::default();
    for round in 0..rounds {
        let mut instance = draw(round, &mut numbers);
        if round % 3 == 2 {
            instance = families::varied(&instance, &mut numbers);
        }
        let least = smallest_budget(&instance).needed_bytes;
        let sizes = instance.nodes().iter().map(|node| node.output_bytes);
        let budget = least + numbers.below(sizes.sum::<u64>() / 2);
        let found = bound(&instance, budget, PlanScope::PlansInThisOrder, round);
        let Some(given) = best_plan_in_order(&instance, budget) else {
            continue;
        };
        let context = || format!("{name} {round}: budget {budget}");
        let found = found.unwrap_or_else(|| panic!("{}: no plan, {given}", context()));
        assert!(found <= given, "{}: {found} > {given}", context());
        counts.pairs += 1;
        counts.equal += usize::from(found == given);
        let free = best_plan(&instance, budget).expect("a plan in the given order");
        if Pivots::of(&instance).force_order(&instance) {
            assert_eq!(free, given, "{}", context());
            counts.all += 1;
            counts.all_equal += usize::from(found == free);
        }
        if let Some(stage) = brute::optimum(&instance, budget).filter(|_| instance.len() < 10) {
            counts.stage_best += usize::from(stage == given);
            counts.stage_proven += usize::from(stage == found);
        }
    }
    eprintln!("{name}: {counts:?}");
    counts
}

#[test]
fn bounds_over_plans_in_the_order_are_valid_and_mostly_exact() {
    let rounds = rounds(40);
    let skips = compare("skips", rounds, |round, numbers| {
        families::mirrored(3 + round as u32 % 3, false, numbers)
    });
    let branches = compare("branches", rounds, |round, numbers| {
        families::mirrored(3 + round as u32 % 3, true, numbers)
    });
    let general = compare("general", rounds, |round, numbers| {
        families::general(5 + round as u32 % 6, numbers)
    });
    compare("traced", rounds, |round, numbers| {
        let updates = [Updates::Never, Updates::Late, Updates::AtOnce][round % 3];
        families::traced(3 - u32::from(updates == Updates::AtOnce), updates, numbers)
    });
    for counts in [skips, branches, general] {
        assert!(counts.pairs > rounds / 2, "{counts:?}");
        assert!(
            100 * counts.equal >= 95 * counts.pairs,
            "few bounds are exact: {counts:?}"
        );
    }
}

#[test]
fn proofs_over_plans_are_accepted_and_no_forged_claim_is() {
    let mut numbers = Numbers::new(7);
    let mut verdicts = Verdicts::default();
    let (mut accepted, mut scopes) = (0, [0; 2]);
    for round in 0..90 {
        let n = 3 + round as u32 % 2;
        let mut instance = match round % 3 {
            0 => families::mirrored(n, false, &mut numbers),
            1 => families::mirrored(n, true, &mut numbers),
            _ => families::general(2 * n, &mut numbers),
        };
        if round % 2 == 1 {
            instance = families::varied(&instance, &mut numbers);
        }
        let least = smallest_budget(&instance).needed_bytes;
        let budget = least + numbers.below(12);
        let scope = PlanScope::PlansInThisOrder;
        let Some((graph, tree)) = tree(&instance, budget, scope, round) else {
            continue;
        };
        let proof = tree_proof(&instance, budget, &graph, tree.proof.as_ref().unwrap());
        let text = proof.text();
        let parsed = checker::parse(text).unwrap();
        checker::check(&parsed, &instance).unwrap_or_else(|e| panic!("round {round}: {e}\n{text}"));
        assert!(proof.bound().is_none_or(|bound| bound <= tree.bound));
        accepted += 1;
        let all = instance.has_forced_order();
        scopes[usize::from(all)] += 1;
        // Rows of moments say nothing about stage schedules alone, nor about other orders.
        let (own, wider) = ("scope plans-in-this-order\n", "scope all-plans\n");
        let check = |text: &str| {
            let proof = checker::parse(text)?;
            checker::check(&proof, &instance)
        };
        if all {
            assert!(check(&text.replace(wider, own)).is_ok());
        } else {
            let refused = check(&text.replace(own, wider)).unwrap_err();
            assert!(refused.contains("at another place"), "{refused}");
        }
        let optimum = |proof: &Proof| match proof.body.plans() {
            Some(Plans::All) => best_plan(&instance, proof.budget_bytes),
            Some(Plans::InThisOrder) => best_plan_in_order(&instance, proof.budget_bytes),
            _ => panic!("a forged number cannot change the scope"),
        };
        let what = format!("round {round}");
        verdicts.forge(text, &instance, 25, &mut numbers, optimum, &what);
    }
    assert!(
        accepted > 60 && scopes[0] > 20 && scopes[1] > 10,
        "{accepted} {scopes:?}"
    );
    assert!(verdicts.refused > 300 && verdicts.problems.len() > 4);
}

/// The graph with idle stages before each node: nodes without cost, output and inputs.
fn with_idle_stages(instance: &Instance, count: u32) -> Instance {
    let mut nodes = Vec::new();
    for (i, node) in (0u32..).zip(instance.nodes()) {
        for k in 0..count {
            let mut idle = Node::forward(format!("idle {i} {k}"), Vec::new(), 0, 0);
            idle.once = true;
            nodes.push(idle);
        }
        let mut node = node.clone();
        for need in &mut node.implementations[0].needs {
            *need = NodeId(need.0 * (count + 1) + count);
        }
        nodes.push(node);
    }
    Instance::new(InstanceData {
        nodes,
        ..instance.data().clone()
    })
    .unwrap()
}

#[test]
fn known_values_are_reproduced() {
    let Some(folder) = shared_data("every-plan") else {
        return;
    };
    let table = std::fs::read_to_string(folder.join("values.csv")).unwrap();
    let mut rows = 0;
    for line in table.lines().skip(1) {
        let words: Vec<&str> = line.split(',').collect();
        let [name, budget, base, free, given, stage, idle] = words[..] else {
            panic!("{line}");
        };
        let value = |text: &str| text.parse::<u64>().ok();
        let instance = remat_instances::read(folder.join(name)).unwrap();
        let budget = value(budget).unwrap();
        assert_eq!(value(base), Some(instance.base_cost()), "{line}");
        let best = best_plan_in_order(&instance, budget);
        assert_eq!(value(given), best, "{line}");
        assert_eq!(value(free), best_plan(&instance, budget), "{line}");
        let solved = |instance: &Instance| solved(instance, budget, 1).unwrap().cost();
        assert_eq!(value(stage), solved(&instance), "{line}");
        // The graphs with idle stages take longer.
        if rows % 16 == 0 {
            let with_idle = solved(&with_idle_stages(&instance, 2));
            assert_eq!(value(idle), with_idle, "{line}");
        }
        let wide = bound(&instance, budget, PlanScope::PlansInThisOrder, rows);
        assert!(
            wide.is_none_or(|wide| best.is_none_or(|best| wide <= best)),
            "{line}"
        );
        rows += 1;
    }
    assert!(rows > 50);
}

#[test]
fn idle_stages_find_plans_that_no_stage_schedule_is() {
    let mut numbers = Numbers::new(21);
    let (mut solved, mut cheaper, mut first) = (0, 0, 0);
    for round in 0..rounds(60) {
        let instance = match round % 2 {
            0 => with_like_runs(&training(4, &mut numbers)),
            _ => families::traced(3, Updates::Late, &mut numbers),
        };
        let least = smallest_budget(&instance).needed_bytes;
        let budget = least + numbers.below(4);
        let settings = Settings {
            rounds: 2,
            threads: 1,
            gap: 0.0,
            ..Settings::default()
        };
        let found = Solve::new(&instance, Budget::Bytes(budget)).settings(settings);
        let found = found.run().unwrap();
        let best = best_plan_in_order(&instance, budget);
        let stage = brute::optimum(&instance, budget);
        let Some(cost) = found.cost() else {
            assert_eq!(stage, None, "{:?}", found.infeasible_because);
            continue;
        };
        let plan = found.document().unwrap();
        let replay = simulate::plan(&instance, &plan.plan).unwrap();
        assert!(replay.cost == cost && replay.peak_bytes <= budget);
        assert!(best.is_some_and(|best| best <= cost), "{best:?} {cost}");
        assert!(stage.is_none_or(|stage| cost <= stage), "{stage:?} {cost}");
        assert!(found.bound <= cost);
        if found.bound_scope != STAGE_SCHEDULES {
            assert!(best.is_some_and(|best| found.bound <= best));
        }
        solved += 1;
        cheaper += usize::from(stage.is_some_and(|stage| cost < stage));
        first += usize::from(stage.is_none());
    }
    eprintln!("{solved} solved, {cheaper} cheaper, {first} where no stage schedule fits");
    assert!(solved > 20 && cheaper + first > 0);
}
