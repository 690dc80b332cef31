//! Orders of small graphs by enumeration, and the best plan of any order by a search over sets of
//! tensors in memory and sets of computed nodes. Shares no code with the solver.

use crate::ends::is_ended;
use remat_instances::{Instance, NodeId};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// All orders of a graph's nodes in which inputs come first.
pub fn all_orders(instance: &Instance) -> Vec<Vec<NodeId>> {
    let mut all = Vec::new();
    let mut order = Vec::new();
    extend(instance, &mut order, &mut all);
    all
}

fn extend(instance: &Instance, order: &mut Vec<NodeId>, all: &mut Vec<Vec<NodeId>>) {
    if order.len() == instance.len() {
        return all.push(order.clone());
    }
    for id in instance.ids() {
        let mut before = instance.needs(id).iter().chain(&instance.node(id).ends);
        let ready = before.all(|need| order.contains(need));
        if ready && !order.contains(&id) {
            order.push(id);
            extend(instance, order, all);
            order.pop();
        }
    }
}

/// Least cost of any plan of a graph of up to 13 nodes without by-products, in any order, stage
/// schedule or not; `None` if no plan fits.
pub fn best_plan(instance: &Instance, budget_bytes: u64) -> Option<u64> {
    best(instance, budget_bytes, false)
}

/// The same for plans with first computations in the order of the instance.
pub fn best_plan_in_order(instance: &Instance, budget_bytes: u64) -> Option<u64> {
    best(instance, budget_bytes, true)
}

fn best(instance: &Instance, budget_bytes: u64, in_order: bool) -> Option<u64> {
    let n = instance.len();
    assert!(n <= 13, "a search over {n} nodes takes too long");
    let node = |i: usize| instance.node(NodeId::from(i));
    let needs: Vec<u32> = instance
        .ids()
        .map(|id| {
            instance
                .needs(id)
                .iter()
                .fold(0, |mask, need| mask | 1 << need.0)
        })
        .collect();
    let at = |held: u32, done: u32| (held as usize) << n | done as usize;
    let mut best = vec![u64::MAX; 1 << (2 * n)];
    let mut queue = BinaryHeap::from([Reverse((0, 0u32, 0u32))]);
    best[0] = 0;
    while let Some(Reverse((cost, held, done))) = queue.pop() {
        if done == (1 << n) - 1 {
            return Some(cost);
        }
        if cost > best[at(held, done)] {
            continue;
        }
        let held_bytes: u64 = (0..n)
            .filter(|i| held >> i & 1 != 0)
            .map(|i| node(i).output_bytes)
            .sum();
        for (i, inputs) in needs.iter().enumerate() {
            let (bit, again) = (1u32 << i, done >> i & 1 != 0);
            let bytes = instance.static_bytes()
                + held_bytes
                + node(i).output_bytes
                + node(i).run_workspace_bytes(again);
            let is_next = again || !in_order || done == bit - 1;
            let ran = instance.ids().filter(|u| done >> u.0 & 1 != 0);
            let never = again && node(i).once || is_ended(instance, i, ran);
            let may_run = inputs & !held == 0 && bytes <= budget_bytes && is_next && !never;
            let (price, held, done) = match held & bit != 0 {
                true => (0, held & !bit, done),
                false if may_run => (node(i).run_cost(again), held | bit, done | bit),
                false => continue,
            };
            let known = &mut best[at(held, done)];
            if cost + price < *known {
                *known = cost + price;
                queue.push(Reverse((cost + price, held, done)));
            }
        }
    }
    None
}
