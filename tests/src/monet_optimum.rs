//! Random instances for MONeT's program, and its optimum by enumeration. Shares no code with the
//! solver.

use crate::ends::is_ended_before;
use crate::graphs::Numbers;
use remat_instances::instance::{
    CostUnit, Gradient, Implementation, InPlace, Instance, InstanceData, Node, NodeId, NodeKind,
    passing_in_plain_order,
};

/// A random training graph with every choice of MONeT's program: implementations, by-products,
/// in-place options, different recomputation costs. It has `columns` forward nodes, by-products and
/// the loss, then `backward` backward nodes.
pub fn random(columns: usize, backward: usize, numbers: &mut Numbers) -> Instance {
    let loss = columns - 1;
    let mut nodes: Vec<Node> = Vec::new();
    for i in 0..columns + backward {
        let size = numbers.below(40);
        let mut node = Node::forward(format!("n{i}"), vec![], 0, size);
        node.fixed_bytes = numbers.below(4);
        let ways = 1 + numbers.below(3);
        if i > loss {
            node.kind = NodeKind::Backward {
                forward: None,
                gradient: Gradient::All,
            };
            let gradient = NodeId::from(loss + numbers.below((i - loss) as u64) as usize);
            let mut reads = pick(numbers, 2, loss);
            for _ in 0..ways {
                if numbers.below(2) == 0 {
                    reads = pick(numbers, 2, loss);
                }
                let needs = reads.iter().copied().chain([gradient]).collect();
                node.implementations.push(way(numbers, needs));
            }
            node.implementations.remove(0);
            nodes.push(node);
            continue;
        }
        let proper: Vec<usize> = (0..i)
            .filter(|u| nodes[*u].kind == NodeKind::Forward)
            .collect();
        let any = |numbers: &mut Numbers| {
            NodeId::from(proper[numbers.below(proper.len() as u64) as usize])
        };
        let mut needs = Vec::new();
        if i > 0 && i < loss && numbers.below(3) == 0 {
            let parent = NodeId::from(proper[proper.len() - 1]);
            node.kind = NodeKind::ByProduct { parent };
            needs.push(parent);
            let option = nodes[parent.index()].in_place.clone();
            node.in_place = option.filter(|_| numbers.below(8) > 0);
        } else {
            if i == loss {
                node.kind = NodeKind::Loss;
            }
            if i > 0 {
                needs.push(any(numbers));
                if numbers.below(2) == 0 {
                    needs.push(any(numbers));
                }
            }
            if i > 0 && numbers.below(2) == 0 {
                let on = *needs.first().unwrap_or(&NodeId(0));
                let released = nodes[on.index()].output_bytes as i64;
                let released = if numbers.below(4) == 0 { -3 } else { released };
                node.in_place = Some(InPlace {
                    on,
                    cost_delta: numbers.below(6) as i64 - 4,
                    workspace_bytes: -released,
                });
            }
        }
        needs.sort_unstable();
        needs.dedup();
        node.implementations = (0..ways).map(|_| way(numbers, needs.clone())).collect();
        nodes.push(node);
    }
    let passing = passing_in_plain_order(&nodes);
    for (node, passing) in nodes.iter_mut().zip(passing) {
        node.passing = passing;
    }
    let data = InstanceData {
        name: "random".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes,
    };
    Instance::new(data).expect("the generator makes valid graphs")
}

fn pick(numbers: &mut Numbers, most: u64, below: usize) -> Vec<NodeId> {
    let count = numbers.below(most + 1);
    (0..count)
        .map(|_| NodeId::from(numbers.below(below as u64) as usize))
        .collect()
}

fn way(numbers: &mut Numbers, mut needs: Vec<NodeId>) -> Implementation {
    needs.sort_unstable();
    needs.dedup();
    let cost = 5 + numbers.below(20);
    let workspace_bytes = numbers.below(30) as i64 - 5;
    let same = numbers.below(3) > 0;
    Implementation {
        name: "".into(),
        needs,
        cost,
        workspace_bytes,
        recompute_cost: if same { cost } else { 5 + numbers.below(20) },
        recompute_workspace_bytes: if same {
            workspace_bytes
        } else {
            numbers.below(30) as i64 - 5
        },
    }
}

/// Least cost of a schedule within a budget, or `None` if it is infeasible.
///
/// Dynamic programming over the sets that may be stored at the start of a stage. For each pair of
/// sets all computed sets, all in-place sets and all implementations of the backward node are tried
/// against the rows of the written-out program. For up to 5 columns.
pub fn optimum(instance: &Instance, budget_bytes: u64) -> Option<u64> {
    let loss = instance.loss().expect("a loss").index();
    let columns = loss + 1;
    assert!(
        columns <= 6,
        "enumeration over {columns} columns takes too long"
    );
    let stages = instance.len() - loss;
    let sets = 1u32 << columns;
    let mut best: Vec<Option<u64>> = vec![None; sets as usize];
    best[0] = Some(0);
    for t in 0..stages {
        let stage = Stage::new(instance, budget_bytes as i64, t);
        let mut next = vec![None; sets as usize];
        for (now, cost) in best
            .iter()
            .enumerate()
            .filter_map(|(s, c)| Some((s, (*c)?)))
        {
            for kept in 0..sets {
                if let Some(more) = stage.cheapest(now as u32, kept) {
                    let slot: &mut Option<u64> = &mut next[kept as usize];
                    let total = cost + more;
                    *slot = Some(slot.map_or(total, |s| s.min(total)));
                }
            }
        }
        best = next;
    }
    best.into_iter().flatten().min()
}

struct Stage<'a> {
    instance: &'a Instance,
    budget: i64,
    t: usize,
    loss: usize,
}

impl<'a> Stage<'a> {
    fn new(instance: &'a Instance, budget: i64, t: usize) -> Self {
        let loss = instance.loss().expect("a loss").index();
        Stage {
            instance,
            budget,
            t,
            loss,
        }
    }

    fn node(&self, i: usize) -> &'a Node {
        self.instance.node(NodeId::from(i))
    }

    fn mem(&self, i: usize) -> i64 {
        self.node(i).output_bytes as i64
    }

    fn local(&self, i: usize) -> i64 {
        let passing = self.node(i).passing.iter();
        passing.map(|u| self.mem(u.index())).sum()
    }

    fn cheapest(&self, now: u32, next: u32) -> Option<u64> {
        let columns = self.loss + 1;
        let back = self.node(self.loss + self.t);
        let ways = if self.t == 0 {
            1
        } else {
            back.implementations.len()
        };
        let mut best = None;
        for run in 0..1u32 << columns {
            if next & !(now | run) != 0 || !self.is_closed(run, now) {
                continue;
            }
            let may: u32 = (0..columns)
                .filter(|i| run >> i & 1 != 0 && self.node(*i).in_place.is_some())
                .map(|i| 1 << i)
                .sum();
            let mut inside = may;
            loop {
                for p in 0..ways {
                    if let Some(cost) = self.cost(now, next, run, inside, p) {
                        best = Some(best.map_or(cost, |b: u64| b.min(cost)));
                    }
                }
                if inside == 0 {
                    break;
                }
                inside = (inside - 1) & may;
            }
        }
        best
    }

    /// Rows (1), (5) and (8), without overwriting.
    fn is_closed(&self, run: u32, now: u32) -> bool {
        (0..=self.loss).all(|i| {
            let node = self.node(i);
            let by_product = matches!(node.kind, NodeKind::ByProduct { .. });
            if run >> i & 1 == 0 {
                return self.t > 0 || by_product;
            }
            let turn = self.loss + self.t;
            if self.t > 0 && (node.once || is_ended_before(self.instance, i, turn)) {
                return false;
            }
            let parent = match node.kind {
                NodeKind::ByProduct { parent } => run >> parent.0 & 1 != 0,
                _ => true,
            };
            parent && node.needs().iter().all(|u| (run | now) >> u.0 & 1 != 0)
        })
    }

    /// Cost of the stage with the cheapest implementations, or `None` where a row is violated.
    fn cost(&self, now: u32, next: u32, run: u32, inside: u32, p: usize) -> Option<u64> {
        let bit = |set: u32, i: usize| set >> i & 1 != 0;
        let proper = |i: usize| !matches!(self.node(i).kind, NodeKind::ByProduct { .. });
        let mut gone = 0u32;
        for j in (0..=self.loss).filter(|j| bit(run, *j)) {
            let node = self.node(j);
            if node.needs().iter().any(|u| bit(gone, u.index())) {
                return None;
            }
            if let NodeKind::ByProduct { parent } = node.kind
                && self.node(parent.index()).in_place.is_some()
                && node.in_place.is_some()
                && bit(inside, j) != bit(inside, parent.index())
            {
                return None;
            }
            if bit(inside, j) && proper(j) {
                let on = node.in_place.as_ref()?.on.index();
                if bit(gone, on) || !bit(run | now, on) {
                    return None;
                }
                gone |= 1 << on;
            }
        }
        let back = self.node(self.loss + self.t);
        let chosen = &back.implementations[p];
        let reads: u32 = chosen
            .needs
            .iter()
            .filter(|u| u.index() <= self.loss)
            .map(|u| 1 << u.0)
            .sum();
        // (4), (6) and (11): an overwritten tensor is neither stored nor read by the backward node.
        if gone & next != 0 || self.t > 0 && reads & !((run & !gone) | next) != 0 {
            return None;
        }
        let fixed = self
            .node((self.loss + self.t).saturating_sub(1))
            .fixed_bytes as i64;
        let always = fixed
            + if self.t > 0 {
                self.local(self.loss + self.t)
            } else {
                0
            };
        let mut total = 0;
        for j in 0..=self.loss {
            let sum = |set: u32, which: &dyn Fn(usize) -> bool| -> i64 {
                let there = (0..=self.loss).filter(|i| bit(set, *i) && which(*i));
                there.map(|i| self.mem(i)).sum()
            };
            let held = sum(reads & !next, &|i| i < j);
            let before = always + sum(now, &|i| i >= j) + sum(next, &|i| i < j) + held;
            if before > self.budget {
                return None;
            }
            if !bit(run, j) {
                continue;
            }
            let node = self.node(j);
            let near = |i: usize| node.passing.contains(&NodeId::from(i));
            let stored = sum(now, &|i| i > j) + sum(next, &|i| i < j && !near(i));
            let own = match self.t == 0 && j == self.loss {
                true => always.max(node.fixed_bytes as i64),
                false => always,
            };
            let bytes = own + self.mem(j) + self.local(j) + stored + held;
            let again = self.t > 0;
            let ways = node.implementations.iter().map(|p| match again {
                true => (p.recompute_cost, p.recompute_workspace_bytes),
                false => (p.cost, p.workspace_bytes),
            });
            let ways = ways.map(|(cost, workspace)| match &node.in_place {
                Some(option) if bit(inside, j) => (
                    (cost as i64 + option.cost_delta) as u64,
                    option.workspace_bytes,
                ),
                _ => (cost, workspace),
            });
            total += ways
                .filter(|(_, workspace)| bytes + workspace <= self.budget)
                .map(|(cost, _)| cost)
                .min()?;
        }
        if self.t > 0 {
            let own = self.local(self.loss + self.t) + back.fixed_bytes as i64;
            let stored: i64 = (0..=self.loss)
                .filter(|i| bit(reads | next, *i))
                .map(|i| self.mem(i))
                .sum();
            let bytes = own + back.output_bytes as i64 + stored + chosen.workspace_bytes;
            if bytes > self.budget {
                return None;
            }
            total += chosen.cost;
        }
        Some(total)
    }
}
