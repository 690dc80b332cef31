//! Budgets that are refuted without a search, against an exact search over all plans of small
//! graphs: any order, any recomputation.
//!
//! `REMAT_ROUNDS=9000` takes more graphs, and `REMAT_FIRST=1000` others.

use remat_formulations::AnyFormulation;
use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};

/// A number from the environment.
fn number(name: &str, usual: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(usual, |text| text.parse().expect("a whole number"))
}

/// A graph of three to nine nodes by a seed; most are joined by sums of two.
fn graph(seed: u64) -> Instance {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5851_F42D;
    let mut below = |end: u64| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        (z ^ z >> 27) % end
    };
    let count = 3 + below(7) as u32;
    let nodes = (0..count).map(|k| {
        let mut needs: Vec<NodeId> = (0..below(3))
            .filter(|_| k > 0)
            .map(|_| NodeId(below(u64::from(k.max(1))) as u32))
            .collect();
        needs.sort_unstable();
        needs.dedup();
        Node::forward(format!("v{k}"), needs, 1, below(7))
    });
    let data = InstanceData {
        name: "small".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes: nodes.collect(),
    };
    Instance::new(data).expect("inputs come before")
}

/// The least budget of a plan of any order: from each set of tensors and computed nodes, every
/// computation and every release.
fn least_budget(instance: &Instance) -> u64 {
    let n = instance.len();
    let node = |k: usize| instance.node(NodeId::from(k));
    let bytes: Vec<u64> = (0..n).map(|k| node(k).output_bytes).collect();
    let needs = |k: usize| node(k).needs().iter().fold(0, |set, u| set | 1 << u.0);
    let needs: Vec<usize> = (0..n).map(needs).collect();
    let is_feasible = |budget: u64| {
        let mut seen = vec![false; 1 << (2 * n)];
        let mut open = vec![(0usize, 0usize)];
        while let Some((held, done)) = open.pop() {
            if std::mem::replace(&mut seen[held << n | done], true) {
                continue;
            }
            if done + 1 == 1 << n {
                return true;
            }
            for (k, needs) in needs.iter().enumerate() {
                let after = held ^ 1 << k;
                let sum: u64 = (0..n)
                    .filter(|i| after >> i & 1 == 1)
                    .map(|i| bytes[i])
                    .sum();
                match held >> k & 1 {
                    1 => open.push((after, done)),
                    _ if needs & !held == 0 && sum <= budget => {
                        open.push((after, done | 1 << k));
                    }
                    _ => {}
                }
            }
        }
        false
    };
    let all: u64 = bytes.iter().sum();
    (0..=all).find(|budget| is_feasible(*budget)).unwrap_or(all)
}

#[test]
fn refuted_budgets_have_no_plan_of_any_order() {
    let first = number("REMAT_FIRST", 0);
    let (mut exact, mut beyond, rounds) = (0, 0, number("REMAT_ROUNDS", 300));
    for round in first..first + rounds {
        let instance = graph(round);
        let least = least_budget(&instance);
        let formulation = AnyFormulation::checkmate(&instance);
        assert!(formulation.too_small(least).is_none(), "round {round}");
        if least > 0 {
            let refuted = formulation.too_small(least - 1);
            exact += u64::from(refuted.is_some());
            let needed = remat_formulations::bound::smallest_budget(&instance).needed_bytes;
            beyond += u64::from(needed < least);
        }
    }
    println!("{exact} of {rounds} exact, {beyond} beyond the largest working set");
    // Small graphs are searched completely.
    assert!(
        exact + rounds / 20 >= rounds && beyond > 0,
        "{exact} of {rounds}"
    );
}
