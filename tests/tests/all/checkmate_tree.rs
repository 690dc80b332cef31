//! Branch, price and cut against enumeration. Annealing does not help, so the tree has to find the
//! optimum itself.

use crate::forged::Verdicts;
use remat_check::proof::{self as checker, Proof};
use remat_formulations::checkmate::CheckmateGraph;
use remat_formulations::checkmate::interval::tree_proof;
use remat_instances::Instance;
use remat_search::{BoundProof, Settings, Status};
use remat_solver::price::{
    Incumbents, PrimalHeuristic, Root, RootSettings, TreeEnd, TreeOutcome, TreeSettings, Visited,
    search,
};
use remat_tests::alone::Alone;
use remat_tests::brute;
use remat_tests::graphs::{Numbers, general, tight_budget, training};
use remat_tests::whole::{self, solved};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

fn tree(
    instance: &Instance,
    budget_bytes: u64,
    round: usize,
) -> (TreeOutcome<CheckmateGraph>, Option<u64>) {
    tree_of(instance, budget_bytes, round, u64::MAX)
}

/// The same with at most `nodes` nodes.
fn tree_of(
    instance: &Instance,
    budget_bytes: u64,
    round: usize,
    nodes: u64,
) -> (TreeOutcome<CheckmateGraph>, Option<u64>) {
    let graph = Arc::new(CheckmateGraph::new(instance, budget_bytes).unwrap());
    let root = RootSettings {
        cut_rounds: [40, 0, 2][round % 3],
        purge_age: [10, 1, 0][round / 3 % 3],
        ..RootSettings::default()
    };
    let settings = TreeSettings {
        gap: 0.0,
        node_cut_rounds: [4, 0][round % 2],
        strong_candidates: [40, 1, 3][round % 3],
        prove: true,
        nodes,
        ..TreeSettings::default()
    };
    let alone = Alone::new(instance, &graph, budget_bytes);
    let incumbents = Incumbents::default();
    let root = Root::solve(graph.clone(), &root, &incumbents).unwrap();
    let outcome = search(root, &settings, &incumbents, &alone).unwrap();
    (outcome, incumbents.best())
}

fn random_instance(round: usize, numbers: &mut Numbers) -> (Instance, u64) {
    loop {
        let instance = match round % 2 {
            0 => general(4 + round / 2 % 5, numbers),
            _ => training(2 + round / 2 % 2, numbers),
        };
        if instance.len() <= 8 {
            let budget = tight_budget(&instance, 8, numbers);
            return (instance, budget);
        }
    }
}

/// Continues beyond the gap for `left` calls.
struct Onwards<'a> {
    alone: Alone<'a>,
    gap: f64,
    left: Cell<u32>,
    stop: Arc<AtomicBool>,
}

impl PrimalHeuristic<CheckmateGraph> for Onwards<'_> {
    fn run(
        &self,
        visited: Vec<Visited<CheckmateGraph>>,
        incumbents: &Incumbents<CheckmateGraph>,
    ) -> u64 {
        let work = self.alone.run(visited, incumbents);
        let best = incumbents.best().unwrap_or(u64::MAX) as f64;
        if incumbents.bound() as f64 >= (1.0 - self.gap) * best {
            self.left.set(self.left.get().saturating_sub(1));
            if self.left.get() == 0 {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
        work
    }
}

#[test]
fn beyond_its_gap_the_tree_comes_to_the_optimum() {
    let mut numbers = Numbers::new(19);
    let gap = 0.4;
    let (mut improved, mut between) = (0, 0);
    for round in 0..300 {
        let (instance, budget) = random_instance(round, &mut numbers);
        let Some(optimum) = brute::optimum(&instance, budget) else {
            continue;
        };
        let graph = Arc::new(CheckmateGraph::new(&instance, budget).unwrap());
        let [at_once, soon, on] = [1, 4, u32::MAX].map(|times| {
            // Otherwise little would be left to branch on.
            let stop = Arc::new(AtomicBool::new(false));
            let root = RootSettings {
                cut_rounds: 0,
                stop: Some(stop.clone()),
                ..RootSettings::default()
            };
            let settings = TreeSettings {
                gap,
                beyond: true,
                node_cut_rounds: [4, 0][round % 2],
                ..TreeSettings::default()
            };
            let onwards = Onwards {
                alone: Alone::new(&instance, &graph, budget),
                gap,
                left: Cell::new(times),
                stop,
            };
            let incumbents = Incumbents::default();
            incumbents.found(optimum + optimum / 3);
            let root = Root::solve(graph.clone(), &root, &incumbents).unwrap();
            let outcome = search(root, &settings, &incumbents, &onwards).unwrap();
            assert_eq!(outcome.end, TreeEnd::Closed, "round {round}: {outcome:?}");
            assert!(outcome.bound <= optimum, "round {round}: {outcome:?}");
            let best = incumbents.best().unwrap();
            assert!(outcome.bound as f64 >= (1.0 - gap) * best as f64 - 1.0);
            (best, outcome.bound, outcome.nodes)
        });
        assert_eq!((on.0, on.1), (optimum, optimum), "round {round}");
        assert!(at_once.1 <= soon.1 && at_once.2 <= soon.2 && soon.2 <= on.2);
        improved += usize::from(at_once.0 > optimum);
        between += usize::from(at_once.2 < soon.2 && soon.2 < on.2);
    }
    println!("{improved} better beyond the gap, {between} with an end in between");
    assert!(improved > 0 && between > 0, "{improved}, {between}");
}

#[test]
fn overtime_goes_on_to_what_is_proven_best() {
    let mut numbers = Numbers::new(23);
    let mut ended_early = 0;
    for round in 0..40 {
        let instance = general(12 + round % 6, &mut numbers);
        let budget = tight_budget(&instance, 8, &mut numbers);
        let [at_once, on] = [0.0, 1e6].map(|overtime| {
            let settings = Settings {
                time_limit: Some(Duration::from_secs(3600)),
                gap: 0.5,
                overtime,
                threads: 1,
                ..Settings::default()
            };
            whole::checkmate(&instance, budget, &[], &settings).unwrap()
        });
        let optimum = solved(&instance, budget, 1).unwrap().cost();
        assert_eq!(on.cost(), optimum, "round {round}");
        let closed = optimum.map_or(Status::Infeasible, |_| Status::Optimal);
        assert_eq!([at_once.status, on.status], [closed; 2], "round {round}");
        assert!(on.gap.is_none_or(|gap| gap == 0.0), "round {round}");
        ended_early += usize::from(at_once.gap.is_some_and(|gap| gap > 0.0));
    }
    println!("{ended_early} ended early");
    assert!(ended_early > 10, "{ended_early}");
}

/// `REMAT_GRAPHS` sets the number of graphs; 2,000 take some minutes.
#[test]
fn the_tree_finds_the_optimum_of_small_graphs_and_proves_it() {
    let rounds = std::env::var("REMAT_GRAPHS").map_or(300, |v| v.parse().unwrap());
    let mut numbers = Numbers::new(3);
    let (mut branched, mut infeasible) = (0, 0);
    for round in 0..rounds {
        let (instance, budget) = random_instance(round, &mut numbers);
        let optimum = brute::optimum(&instance, budget);
        let (outcome, best) = tree(&instance, budget, round);
        assert_eq!(best, optimum, "round {round}: {outcome:?}");
        match optimum {
            None => {
                assert_eq!(outcome.end, TreeEnd::Infeasible, "round {round}");
                infeasible += 1;
            }
            Some(optimum) => {
                assert_eq!(outcome.end, TreeEnd::Closed, "round {round}");
                assert_eq!(outcome.bound, optimum, "round {round}");
            }
        }
        branched += usize::from(outcome.nodes > 1);
    }
    println!("{rounds} graphs: {branched} branched, {infeasible} infeasible");
    assert!(branched * 20 > rounds && infeasible > 0);
}

#[test]
fn schedules_of_the_last_nodes_count_when_the_limit_of_nodes_ends_the_search() {
    let mut numbers = Numbers::new(7);
    let mut met = 0;
    for round in 0..60 {
        let (instance, budget) = random_instance(round, &mut numbers);
        let (outcome, best) = tree(&instance, budget, round);
        if best.is_some() {
            let within = tree_of(&instance, budget, round, outcome.nodes).1;
            assert_eq!(within, best, "round {round}: {} nodes", outcome.nodes);
            met += 1;
        }
    }
    assert!(met > 20, "{met}");
}

/// The proof of a tree as text.
fn proof(instance: &Instance, budget: u64, outcome: &TreeOutcome<CheckmateGraph>) -> BoundProof {
    let graph = CheckmateGraph::new(instance, budget).unwrap();
    tree_proof(instance, budget, &graph, outcome.proof.as_ref().unwrap())
}

#[test]
fn proofs_of_trees_are_accepted_and_prove_the_optimum() {
    let mut numbers = Numbers::new(31);
    let (mut leaves, mut infeasible) = (0, 0);
    for round in 0..150 {
        let (instance, budget) = random_instance(round, &mut numbers);
        let (outcome, best) = tree(&instance, budget, round);
        let proof = proof(&instance, budget, &outcome);
        // Without an optimum, no schedule fits.
        assert_eq!(proof.bound(), best, "round {round}");
        let read = checker::parse(proof.text()).unwrap();
        let counts = checker::check(&read, &instance)
            .unwrap_or_else(|e| panic!("round {round}: {e}\n{}", proof.text()));
        leaves = leaves.max(counts.leaves);
        infeasible += usize::from(best.is_none());
    }
    println!("largest tree {leaves} leaves, {infeasible} infeasible");
    assert!(leaves >= 8 && infeasible > 3);
}

/// A forged proof is accepted only if its claim is true.
#[test]
fn forged_proofs_prove_nothing_false() {
    let mut numbers = Numbers::new(32);
    let mut verdicts = Verdicts::default();
    for round in 0..60 {
        let (instance, budget) = random_instance(round, &mut numbers);
        let optimum = brute::optimum(&instance, budget);
        let within = |claimed: &Proof| match claimed.budget_bytes == budget {
            true => optimum,
            false => brute::optimum(&instance, claimed.budget_bytes),
        };
        let (outcome, _) = tree(&instance, budget, round);
        let text = proof(&instance, budget, &outcome).text().to_owned();
        let what = format!("round {round}");
        verdicts.forge(&text, &instance, 60, &mut numbers, within, &what);
        // A bound above the optimum is refused.
        if let Some(optimum) = optimum {
            let claim = format!("claim bound {}", outcome.bound);
            let raised = text.replace(&claim, &format!("claim bound {}", optimum + 1));
            assert_ne!(raised, text, "round {round}");
            let raised = checker::parse(&raised).unwrap();
            assert!(checker::check(&raised, &instance).is_err(), "round {round}");
        }
    }
    let Verdicts {
        accepted,
        refused,
        problems: seen,
    } = verdicts;
    println!(
        "{accepted} accepted, {refused} refused in {} ways",
        seen.len()
    );
    assert!(accepted > 100 && refused > 100 && seen.len() > 5);
}

#[test]
fn solve_is_exact_on_small_graphs_on_any_number_of_threads() {
    let mut numbers = Numbers::new(4);
    for round in 0..60 {
        let (instance, budget) = random_instance(round, &mut numbers);
        let optimum = brute::optimum(&instance, budget);
        let [one, two] = [1, 2].map(|threads| solved(&instance, budget, threads).unwrap());
        assert_eq!(one.cost(), optimum, "round {round}");
        let expected = match optimum {
            Some(_) => Status::Optimal,
            None => Status::Infeasible,
        };
        assert_eq!(one.status, expected, "round {round}");
        assert_eq!(one.schedule, two.schedule, "round {round}");
        assert_eq!(
            (one.nodes, one.bound),
            (two.nodes, two.bound),
            "round {round}"
        );
    }
}

/// If the gap is wide, the annealing searches elsewhere; an integral relaxation is a schedule all
/// the same.
#[test]
fn schedules_that_only_the_tree_finds_are_kept_where_the_gap_is_wide() {
    let mut feasible = 0;
    for seed in 0..40 {
        let numbers = &mut Numbers::new(100 + 2 * seed);
        let nodes = 10 + numbers.below(5) as usize;
        let instance = general(nodes, numbers);
        let budget = tight_budget(&instance, 8, numbers);
        let (_, best) = tree(&instance, budget, 0);
        let found = solved(&instance, budget, 1).unwrap();
        assert_eq!(found.cost(), best, "seed {seed}, {nodes} nodes");
        assert_eq!(best, best.map(|_| found.bound), "seed {seed}");
        feasible += usize::from(best.is_some());
    }
    assert!(feasible > 20, "{feasible}");
}
