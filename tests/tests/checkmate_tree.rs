//! Branch, price and cut against enumeration: with no help from annealing, so that the tree has to find the optimum itself.

use remat_formulations::Instance;
use remat_formulations::checkmate::Graph;
use remat_formulations::interval::{
    Exchange, Root, RootSettings, TreeEnd, TreeOutcome, TreeSettings, Visited, search,
};
use remat_formulations::schedule::CheckmateSchedule;
use remat_formulations::simulate;
use remat_formulations::solve::{Settings, Status, solve};
use remat_tests::brute;
use remat_tests::graphs::{Numbers, general, training};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Rounded relaxations count only where they fit as they are.
struct Alone<'a> {
    instance: &'a Instance,
    graph: &'a Graph,
    budget_bytes: u64,
    best: Cell<Option<u64>>,
}

impl Exchange<Graph> for Alone<'_> {
    fn best(&self) -> Option<u64> {
        self.best.get()
    }

    fn visit(&self, visited: Vec<Visited<Graph>>) -> u64 {
        for v in visited {
            let retained = v.point.rounded(self.graph, 0.5);
            let schedule = CheckmateSchedule::cheapest(self.instance, retained);
            let replay = simulate::checkmate(self.instance, &schedule).unwrap();
            if replay.peak_bytes <= self.budget_bytes
                && self.best.get().is_none_or(|best| replay.cost < best)
            {
                self.best.set(Some(replay.cost));
            }
        }
        0
    }

    fn progress(&self, _: u64, _: u64, _: u64) {}
}

fn tree(instance: &Instance, budget_bytes: u64, round: usize) -> (TreeOutcome, Option<u64>) {
    let graph = Arc::new(Graph::new(instance, budget_bytes).unwrap());
    let root = RootSettings {
        cut_rounds: [40, 0, 2][round % 3],
        purge_age: [10, 1, 0][round / 3 % 3],
        ..RootSettings::default()
    };
    let settings = TreeSettings {
        gap: 0.0,
        node_cut_rounds: [4, 0][round % 2],
        strong_candidates: [40, 1, 3][round % 3],
        ..TreeSettings::default()
    };
    let alone = Alone {
        instance,
        graph: &graph,
        budget_bytes,
        best: Cell::new(None),
    };
    let root = Root::solve(graph.clone(), &root, None, &|_| ()).unwrap();
    let outcome = search(root, &settings, &alone).unwrap();
    (outcome, alone.best.get())
}

fn random_instance(round: usize, numbers: &mut Numbers) -> (Instance, u64) {
    loop {
        let instance = match round % 2 {
            0 => general(4 + round / 2 % 5, numbers),
            _ => training(2 + round / 2 % 2, numbers),
        };
        if instance.len() <= 8 {
            let least = remat_formulations::bound::smallest_budget(&instance).needed_bytes;
            let budget = least + numbers.below(8);
            return (instance, budget);
        }
    }
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
fn solve_is_exact_on_small_graphs_on_any_number_of_threads() {
    let mut numbers = Numbers::new(4);
    for round in 0..60 {
        let (instance, budget) = random_instance(round, &mut numbers);
        let optimum = brute::optimum(&instance, budget);
        let settings = |threads| Settings {
            gap: 0.0,
            rounds: 1,
            threads,
            ..Settings::new(budget)
        };
        let [one, two] = [1, 2].map(|threads| {
            solve(
                &instance,
                &settings(threads),
                &AtomicBool::new(false),
                &|_| (),
            )
            .unwrap()
        });
        assert_eq!(one.objective, optimum, "round {round}");
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
