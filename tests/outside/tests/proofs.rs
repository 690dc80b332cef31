//! Proofs of a program from outside, judged by independent code.

use remat_formulations::{Budget, Instance, Solve};
use remat_outside::KeepOrRecompute;
use remat_search::{BoundProof, Settings};
use remat_tests::graphs::{Numbers, training};

/// A node of a proof: the counts that branchings leave for each tensor, the best bound, the
/// branchings below.
struct Node {
    may: Vec<[bool; 2]>,
    bound: i128,
    below: Vec<Option<[i128; 3]>>,
}

/// Checks that a proof's claim follows from it; returns the number of its nodes.
fn check(instance: &Instance, budget: u64, proof: &BoundProof) -> usize {
    let forward = &instance.nodes()[..instance.loss().unwrap().index()];
    let bytes = |n: &remat_instances::instance::Node| i128::from(n.output_bytes);
    let room = i128::from(budget) - i128::from(instance.static_bytes());
    let over = forward.iter().map(bytes).sum::<i128>() - room;
    let again: Vec<_> = forward.iter().filter(|n| !n.needs().is_empty()).collect();
    let mut lines = proof.text().lines();
    assert_eq!(lines.next(), Some("keep-or-recompute/1"));
    assert_eq!(lines.next(), Some(&*format!("budget {budget}")));
    let claim = lines.next().unwrap();
    if claim == "infeasible" {
        assert!(proof.bound().is_none() && over > again.iter().map(|n| bytes(n)).sum());
        return 0;
    }
    assert_eq!(claim, format!("bound {}", proof.bound().unwrap()));
    let mut nodes: Vec<Node> = Vec::new();
    for line in lines {
        let mut words: Vec<&str> = line.split(' ').collect();
        let how = words.remove(0);
        let numbers: Vec<i128> = words.iter().map(|w| w.parse().unwrap()).collect();
        let (price, place) = numbers.split_last().unwrap();
        let mut node = Node {
            may: vec![[true; 2]; again.len()],
            bound: 0,
            below: Vec::new(),
        };
        if let [above, branch @ ..] = place {
            let above = &mut nodes[*above as usize];
            (node.may, node.bound) = (above.may.clone(), above.bound);
            above.below.push(branch.try_into().ok());
            if let [tensor, sign, count] = branch {
                let holds = |times: i128| sign * times >= sign * count;
                (0..2).for_each(|k| node.may[*tensor as usize][k] &= holds(k as i128));
            }
        } else {
            assert!(how == "root" && nodes.is_empty());
        }
        let one = 1i128 << 40;
        let mut bound = i128::from(instance.base_cost()) * one + price * over;
        for (tensor, may) in again.iter().zip(&node.may) {
            let costs = [0, i128::from(tensor.cost()) * one - price * bytes(tensor)];
            let least = (0..2).filter(|k| may[*k]).map(|k| costs[k]).min();
            // A tensor without a count left makes the node infeasible: any bound holds.
            bound = least.map_or(i128::MAX / 2, |least| bound + least);
        }
        assert!(*price >= 0);
        node.bound = node.bound.max(-(-bound).div_euclid(one));
        nodes.push(node);
    }
    for node in &nodes {
        match node.below[..] {
            [] => assert!(node.bound >= i128::from(proof.bound().unwrap())),
            [None] => {}
            [Some(a), Some(b)] => {
                assert!(a[0] == b[0] && a[1] == -b[1] && (a[2] - b[2]) * a[1] == 1)
            }
            _ => panic!("no branching of which one always holds"),
        }
    }
    nodes.len()
}

#[test]
fn proofs_hold_and_claim_the_best_cost() {
    let settings = Settings {
        rounds: 1,
        gap: 0.0,
        prove: true,
        ..Settings::default()
    };
    let (mut infeasible, mut trees) = (0, 0);
    for seed in 0..60 {
        let instance = training(4 + seed as usize % 8, &mut Numbers::new(seed));
        let program = KeepOrRecompute::new(&instance).unwrap();
        for percent in [0.0, 4.0, 20.0, 50.0, 70.0, 100.0] {
            let solve =
                Solve::of(program.clone(), Budget::Percent(percent)).settings(settings.clone());
            let (outcome, budget) = solve.outcome().unwrap();
            let proof = outcome.proof.as_ref().expect("a proof was asked for");
            assert_eq!(proof.bound(), outcome.cost(), "seed {seed} {percent}%");
            trees += usize::from(check(&instance, budget, proof) > 1);
            infeasible += usize::from(outcome.cost().is_none());
        }
    }
    assert!(infeasible > 60 && trees > 5, "{infeasible} {trees}");
}
