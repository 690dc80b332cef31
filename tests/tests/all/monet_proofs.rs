//! Proofs of MONeT's bounds: written by the tree, judged by an independent checker.

use crate::forged::Verdicts;
use remat_check::proof::{self as checker, Proof};
use remat_formulations::monet::interval::{MonetGraph, Point, tree_proof};
use remat_instances::instance::{CostUnit, InstanceData, Node, NodeId, passing_in_plain_order};
use remat_instances::{Instance, simulate};
use remat_search::{BoundProof, Settings, Status};
use remat_solver::price::{
    Incumbents, PrimalHeuristic, Root, RootSettings, TreeEnd, TreeOutcome, TreeSettings, Visited,
    search,
};
use remat_tests::graphs::Numbers;
use remat_tests::monet::{Mode, schedule, training};
use remat_tests::{monet_optimum, shared_data, whole};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Reports the schedules of integral relaxations.
struct Rounded<'a>(&'a MonetGraph);

impl PrimalHeuristic<MonetGraph> for Rounded<'_> {
    fn run(&self, visited: Vec<Visited<MonetGraph>>, incumbents: &Incumbents<MonetGraph>) -> u64 {
        for v in visited.into_iter().filter(|v| v.integral) {
            incumbents.found(Point::rounded(&v.point, self.0).1);
        }
        0
    }
}

/// The tree's outcome with its proof, and the cost of the best schedule.
fn solved(
    instance: &Instance,
    budget: u64,
    round: usize,
) -> (TreeOutcome<MonetGraph>, BoundProof, Option<u64>) {
    let mut graph = MonetGraph::new(instance, budget).unwrap();
    graph.plain_cuts = round.is_multiple_of(5);
    let graph = Arc::new(graph);
    // Cuts leave little to branch on.
    let root = RootSettings {
        cut_rounds: [60, 0, 3][round % 3],
        purge_age: [10, 1, 0][round / 3 % 3],
        ..RootSettings::default()
    };
    let settings = TreeSettings {
        gap: 0.0,
        node_cut_rounds: [4, 0][round % 2],
        strong_candidates: [40, 1, 3][round % 3],
        prove: true,
        ..TreeSettings::default()
    };
    let incumbents = Incumbents::default();
    let root = Root::solve(graph.clone(), &root, &incumbents).unwrap();
    let tree = search(root, &settings, &incumbents, &Rounded(&graph)).unwrap();
    let proof = tree_proof(instance, budget, &graph, tree.proof.as_ref().unwrap());
    (tree, proof, incumbents.best())
}

/// An instance whose backward nodes do not read the loss, so that the loss' inputs may be useless
/// to them.
fn without_readers_of_the_loss(instance: &Instance) -> Instance {
    let loss = instance.loss().unwrap();
    let mut data = instance.data().clone();
    let ways = data.nodes.iter_mut().flat_map(|v| &mut v.implementations);
    ways.for_each(|way| way.needs.retain(|u| *u != loss));
    Instance::new(data).unwrap()
}

/// A random instance with some or all options, and a budget.
fn random(round: usize, forward: usize, numbers: &mut Numbers) -> (Instance, u64) {
    if round.is_multiple_of(2) {
        let mut instance = monet_optimum::random(
            3 + numbers.below(3) as usize,
            1 + numbers.below(3) as usize,
            numbers,
        );
        if round.is_multiple_of(4) {
            instance = without_readers_of_the_loss(&instance);
        }
        let most: u64 = instance.nodes().iter().map(|v| v.output_bytes).sum();
        let budget = most / 2 + numbers.below(most + 20);
        return (instance, budget);
    }
    let mode = Mode::all().nth(round / 2 % 16).unwrap();
    let instance = training(forward, mode, numbers);
    let peaks = (0..12).map(|_| {
        let s = schedule(&instance, numbers);
        simulate::monet(&instance, &s).unwrap().peak_bytes
    });
    let mut peaks: Vec<u64> = peaks.collect();
    peaks.sort_unstable();
    let budget = peaks[numbers.below(4) as usize] - numbers.below(4);
    (instance, budget)
}

/// The first words of the rows and branchings of a proof; `rounded` for rows with a unit.
fn kinds(text: &str, seen: &mut BTreeMap<String, usize>) {
    let mut note = |kind: &str| *seen.entry(kind.to_owned()).or_default() += 1;
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["parent", _, _, kind] => note(kind),
            ["memory" | "run", _, _, unit, ..] if unit != "0" => note("rounded"),
            ["backward", _, unit] if unit != "0" => note("rounded"),
            ["below", _, quantity, ..] => note(quantity),
            [word, ..] if word.parse::<u32>().is_err() => note(word),
            _ => {}
        }
    }
}

fn verdict(text: &str, instance: &Instance) -> Result<checker::Counts, String> {
    checker::check(&checker::parse(text)?, instance)
}

#[test]
fn proofs_of_trees_are_accepted_and_prove_the_optimum() {
    let mut seen = BTreeMap::new();
    let (mut leaves, mut infeasible, mut enumerated) = (0, 0, 0);
    for round in 0..480 {
        let numbers = &mut Numbers::new(7000 + round as u64);
        let (instance, budget) = random(round, 3 + round % 5, numbers);
        let (tree, proof, best) = solved(&instance, budget, round / 32 + round % 5);
        match best {
            Some(_) => assert_eq!(tree.end, TreeEnd::Closed, "round {round}"),
            None => assert_eq!(tree.end, TreeEnd::Infeasible, "round {round}"),
        }
        assert_eq!(proof.bound(), best, "round {round}");
        let text = proof.text();
        let counts =
            verdict(text, &instance).unwrap_or_else(|e| panic!("round {round}: {e}\n{text}"));
        leaves = leaves.max(counts.leaves);
        infeasible += usize::from(best.is_none());
        kinds(text, &mut seen);
        if round % 2 == 0 {
            // By enumeration.
            let optimum = monet_optimum::optimum(&instance, budget);
            let is_bound = optimum.is_none_or(|optimum| best.is_some_and(|best| best <= optimum));
            assert!(is_bound, "round {round}: {best:?} {optimum:?}");
            enumerated += usize::from(optimum.is_some() && optimum == best);
        }
        let Some(best) = best else { continue };
        // A claim that is higher by 1 is refused, and so is a smaller claim's text with a larger
        // one.
        let claim = format!("claim bound {best}\n");
        let raised = text.replace(&claim, &format!("claim bound {}\n", best + 1));
        assert_ne!(raised, text, "round {round}");
        assert!(verdict(&raised, &instance).is_err(), "round {round}");
    }
    println!("largest tree {leaves} leaves, {infeasible} infeasible, {enumerated} enumerated");
    println!("{seen:?}");
    assert!(leaves >= 8 && infeasible > 10 && enumerated > 60);
    let wanted = [
        "need",
        "input",
        "all",
        "plain",
        "in-place",
        "overwritten",
        "ended",
        "memory",
        "run",
        "backward",
        "rounded",
        "path",
        "either",
        "cover-run",
        "cover-path",
        "starts",
        "held",
        "choice",
    ];
    for kind in wanted {
        assert!(seen.contains_key(kind), "no proof has a row {kind}");
    }
}

/// A forged proof is accepted only if its claim is true.
#[test]
fn forged_proofs_prove_nothing_false() {
    let mut verdicts = Verdicts::default();
    for round in 0..60 {
        let numbers = &mut Numbers::new(8000 + round as u64);
        let (instance, budget) = random(2 * round, 3, numbers);
        let known = monet_optimum::optimum(&instance, budget);
        let optimum = |claimed: &Proof| match claimed.budget_bytes == budget {
            true => known,
            false => monet_optimum::optimum(&instance, claimed.budget_bytes),
        };
        let (_, proof, _) = solved(&instance, budget, round);
        let what = format!("round {round}");
        verdicts.forge(proof.text(), &instance, 80, numbers, optimum, &what);
    }
    let Verdicts {
        accepted,
        refused,
        problems,
    } = verdicts;
    println!(
        "{accepted} accepted, {refused} refused in {} ways",
        problems.len()
    );
    assert!(accepted > 100 && refused > 100 && problems.len() > 5);
}

#[test]
fn whole_solves_tell_the_bound_that_their_proof_shows() {
    let (mut optimal, mut infeasible, mut trivial) = (0, 0, 0);
    for round in 0..96 {
        let numbers = &mut Numbers::new(300 + round as u64);
        let (instance, budget) = random(round, 3 + round % 4, numbers);
        let budget = match round % 8 {
            0 => budget / 8,
            1 => budget * 2,
            _ => budget,
        };
        let settings = Settings {
            gap: 0.0,
            rounds: 1,
            threads: 1 + round % 2,
            prove: true,
            ..Settings::default()
        };
        let outcome = whole::monet(&instance, budget, &[], &settings).unwrap();
        let proof = outcome.proof.as_ref().unwrap();
        verdict(proof.text(), &instance)
            .unwrap_or_else(|e| panic!("round {round}: {e}\n{}", proof.text()));
        trivial += usize::from(proof.text().contains("rows 0\n"));
        match outcome.status {
            Status::Infeasible => {
                assert_eq!(proof.bound(), None, "round {round}");
                infeasible += 1;
            }
            _ => {
                assert_eq!(proof.bound(), Some(outcome.bound), "round {round}");
                optimal += usize::from(outcome.status == Status::Optimal);
            }
        }
    }
    println!("{optimal} optimal, {infeasible} infeasible, {trivial} without rows");
    assert!(optimal > 40 && infeasible > 5 && trivial > 5);
}

#[test]
fn proofs_hold_for_their_instance_budget_and_tree_alone() {
    let numbers = &mut Numbers::new(17);
    let mode = Mode::all().last().unwrap();
    let (instance, budget, proof) = (0..)
        .find_map(|_| {
            let instance = training(5, mode, numbers);
            let peak = simulate::monet(&instance, &schedule(&instance, numbers)).unwrap();
            let (tree, proof, best) = solved(&instance, peak.peak_bytes, 1);
            (tree.nodes > 4 && best.is_some()).then_some((instance, peak.peak_bytes, proof))
        })
        .unwrap();
    let text = proof.text();
    assert_eq!(verdict(text, &instance).map(drop), Ok(()));
    let of_more = text.replace(
        &format!("budget {budget}\n"),
        &format!("budget {}\n", 2 * budget),
    );
    assert!(verdict(&of_more, &instance).is_err());
    let other = training(5, mode, numbers);
    assert!(verdict(text, &other).is_err());
    // A leaf is dropped: the last node, with its multipliers.
    let lines: Vec<&str> = text.lines().collect();
    let last = lines.iter().rposition(|l| l.starts_with("below")).unwrap();
    let nodes = lines.iter().position(|l| l.starts_with("nodes")).unwrap();
    let count: usize = lines[nodes]["nodes ".len()..].parse().unwrap();
    let fewer = format!("nodes {}", count - 1);
    let mut dropped = lines[..last].to_vec();
    dropped[nodes] = &fewer;
    let refused = verdict(&dropped.join("\n"), &instance);
    assert!(refused.unwrap_err().contains("do not cover"));
    // Half the multipliers of all nodes prove less, both of needs and of capacities.
    let halved = lines.iter().enumerate().map(|(k, line)| {
        let words: Vec<&str> = line.split(' ').collect();
        match (k > nodes, &words[..]) {
            (true, [row, y]) if row.parse::<u32>().is_ok() => {
                format!("{row} {}", y.parse::<i128>().unwrap() / 2)
            }
            _ => (*line).to_owned(),
        }
    });
    let halved: Vec<String> = halved.collect();
    let refused = verdict(&halved.join("\n"), &instance).unwrap_err();
    assert!(refused.contains("multipliers prove"), "{refused}");
    // With so many bits the claim does not fit into the checker's numbers.
    let bits = format!(
        "root 100 {}",
        lines[nodes + 1].split(' ').next_back().unwrap()
    );
    let mut fine = lines.clone();
    fine[nodes + 1] = &bits;
    let claim = lines.iter().position(|l| l.starts_with("claim")).unwrap();
    fine[claim] = "claim bound 1000000000000";
    let refused = verdict(&fine.join("\n"), &instance).unwrap_err();
    assert!(refused.contains("128 bits"), "{refused}");
    // Another version is named; so is another program.
    let newer = text.replacen("remat-proof/2", "remat-proof/3", 1);
    let refused = verdict(&newer, &instance).unwrap_err();
    assert!(refused.contains("remat-proof/2") && refused.contains("remat-proof/3"));
    let unknown = text.replacen("program monet", "program olla", 1);
    let refused = verdict(&unknown, &instance).unwrap_err();
    assert!(refused.contains("checkmate or monet"), "{refused}");
}

/// An input of the loss that is not stored is charged as held, and again while it passes another
/// node. Storing it saves that charge even if no other node reads it.
#[test]
fn what_the_loss_alone_reads_may_be_stored() {
    let node = |name: &str, size| Node::forward(name, vec![], 5, size);
    let mut nodes = vec![node("f0", 10), node("f1", 10)];
    nodes.push(Node::loss("loss", vec![NodeId(0), NodeId(1)], 1, 1));
    nodes.push(Node::backward("b1", None, vec![NodeId(1)], 5, 1));
    for (i, passing) in passing_in_plain_order(&nodes).into_iter().enumerate() {
        nodes[i].passing = passing;
    }
    let data = InstanceData {
        name: "loss".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    };
    let instance = Instance::new(data).unwrap();
    for budget in 19..34 {
        let (_, proof, best) = solved(&instance, budget, 0);
        let optimum = monet_optimum::optimum(&instance, budget);
        assert_eq!(best, optimum, "{budget}");
        assert_eq!(proof.bound(), optimum, "{budget}");
        assert_eq!(optimum.is_some(), budget > 20, "{budget}");
        assert!(verdict(proof.text(), &instance).is_ok(), "{budget}");
    }
    // A proof as if it could not be stored.
    let text = "remat-proof/2\nprogram monet\ninstance loss\nbudget 22\nclaim infeasible\nrows 2\n\
                need 0 0\nrun 0 2 0 3 0 1 2\nnodes 1\nroot 0 2\n0 1000\n1 100\n";
    let refused = verdict(text, &instance).unwrap_err();
    assert!(refused.contains("multipliers prove"), "{refused}");
}

/// Bounds of roots of published instances: their proofs are small, and accepted.
#[test]
fn roots_of_published_instances_have_proofs() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let mut seen = BTreeMap::new();
    for (name, gib, plain_cuts) in [
        ("vgg16_176_inplace_conv_multiway_newnode", 6, false),
        ("unet_11_inplace_normal", 6, true),
    ] {
        let path = folder.join("graphs").join(format!("{name}.json"));
        let instance = remat_instances::read(path).unwrap();
        let budget = gib << 30;
        let mut graph = MonetGraph::new(&instance, budget).unwrap();
        graph.plain_cuts = plain_cuts;
        let graph = Arc::new(graph);
        let settings = RootSettings {
            cut_rounds: 3,
            ..RootSettings::default()
        };
        let root = Root::solve(graph.clone(), &settings, &Incumbents::default()).unwrap();
        let proof = tree_proof(&instance, budget, &graph, &root.proof());
        assert_eq!(proof.bound(), Some(root.safe_bound()), "{name}");
        let counts = verdict(proof.text(), &instance).unwrap_or_else(|e| panic!("{name}: {e}"));
        println!("{name}: {} rows, {} bytes", counts.rows, proof.text().len());
        kinds(proof.text(), &mut seen);
        assert!(counts.rows > 100 && proof.text().len() < 1 << 20, "{name}");
    }
    println!("{seen:?}");
    for kind in ["path", "path-memory", "run", "cover-backward"] {
        assert!(seen.contains_key(kind), "no proof has a row {kind}");
    }
}
