//! Dynamic tensor rematerialization (Kirisame et al., ICLR 2021), offline. It keeps all tensors,
//! and when memory runs out it evicts tensors that are cheap to recompute, large, and not needed
//! for long.
//!
//! The paper's heuristic is `cost of recomputations / (bytes * staleness)`. Its staleness is the
//! time since the last use, because it does not know the future. Here the future is known: the
//! distance to the next use takes the place of staleness. Works on any graph, with or without a
//! backward pass.

use super::NotApplicable;
use crate::anneal::{CheckmateLandscape, CheckmateStageScratch, evaluate};
use remat_instances::instance::Instance;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule};
use remat_search::Patience;

/// Limit on the nodes, for which it takes seconds: its work grows with their square.
const NODE_LIMIT: usize = 20_000;

/// Stage by stage, tensors are evicted at the start of the stage until its peak fits. A stage stays
/// above the budget if it does not fit with its inputs alone.
///
/// # Errors
/// [`NotApplicable::TooLarge`] for graphs of more than 20,000 nodes, [`NotApplicable::OutOfTime`].
pub fn run(
    instance: &Instance,
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    let n = instance.len();
    if n > NODE_LIMIT {
        return Err(NotApplicable::TooLarge {
            nodes: n,
            most: NODE_LIMIT,
        });
    }
    let graph = CheckmateLandscape::new(instance, budget_bytes);
    let mut retained = BitMatrix::new(n, n);
    let mut scratch = CheckmateStageScratch::new(&graph);
    let mut next = vec![0u64; graph.words];
    let mut touched = vec![0u64; graph.words];
    let mut evictor = Evictor::new(&graph);
    let last_use = last_uses(&graph);
    // Tensors that the stage before recomputed and has room for until its end.
    let mut again: Vec<usize> = Vec::new();
    for t in 1..n {
        if patience.is_over() {
            return Err(NotApplicable::OutOfTime);
        }
        // All tensors at the end of the stage before, and its own node.
        let mut held: Vec<usize> = retained.ones(t - 1).chain([t - 1]).collect();
        held.append(&mut again);
        let must_stay = |i: usize| !graph.may_recompute_in(i, t) && last_use[i] >= t;
        held.retain(|&i| evictor.next_use(i, t).is_some() || must_stay(i));
        for &i in &held {
            retained.set(t, i, true);
        }
        let mut bytes: f64 = held.iter().map(|&i| graph.bytes[i]).sum();
        loop {
            next.copy_from_slice(retained.row(t));
            next[t / 64] |= 1 << (t % 64);
            let value = evaluate(&graph, t, retained.row(t), &next, &[], bytes, &mut scratch);
            if value.peak <= graph.capacity {
                break;
            }
            // With many recomputations an eviction takes long.
            if patience.is_over() {
                return Err(NotApplicable::OutOfTime);
            }
            // Tensors that the stage does not touch go first: their memory is won in full, and no
            // node is recomputed here.
            touched.copy_from_slice(retained.row(t));
            touched[..=t / 64].copy_from_slice(scratch.touched(t));
            let idle = |i: usize| touched[i / 64] >> (i % 64) & 1 == 0;
            let Some(k) = evictor.worst(&held, &retained, t, idle) else {
                break;
            };
            let i = held.swap_remove(k);
            retained.set(t, i, false);
            bytes -= graph.bytes[i];
        }
        let touched = scratch.touched(t).to_vec();
        let new = |&i: &usize| touched[i / 64] >> (i % 64) & 1 != 0 && !retained.get(t, i);
        let mut made: Vec<(usize, usize)> = (0..t)
            .filter(new)
            .filter_map(|i| Some((evictor.next_use(i, t + 1)?, i)))
            .collect();
        made.sort_unstable();
        for (_, i) in made {
            next[i / 64] |= 1 << (i % 64);
            let value = evaluate(&graph, t, retained.row(t), &next, &[], bytes, &mut scratch);
            if value.peak <= graph.capacity {
                again.push(i);
            } else {
                next[i / 64] &= !(1 << (i % 64));
            }
        }
    }
    Ok(CheckmateSchedule::cheapest(instance, retained))
}

/// The last stage in which each tensor may be read, including recomputations.
fn last_uses(graph: &CheckmateLandscape) -> Vec<usize> {
    let mut last: Vec<usize> = (0..graph.n).collect();
    for i in (0..graph.n).rev() {
        for &q in graph.users(i) {
            let q = q as usize;
            let again = graph.last_stage_again(q).min(last[q]);
            last[i] = last[i].max(again.max(q));
        }
    }
    last
}

struct Evictor<'g> {
    graph: &'g CheckmateLandscape,
    /// Marks of the walk over evicted ancestors.
    seen: Vec<u32>,
    turn: u32,
    stack: Vec<usize>,
}

impl<'g> Evictor<'g> {
    fn new(graph: &'g CheckmateLandscape) -> Self {
        Evictor {
            graph,
            seen: vec![0; graph.n],
            turn: 0,
            stack: Vec::new(),
        }
    }

    /// First reader of a tensor in stage `t` or later.
    fn next_use(&self, i: usize, t: usize) -> Option<usize> {
        let users = self.graph.users(i);
        let at = users.partition_point(|&q| (q as usize) < t);
        users.get(at).map(|&q| q as usize)
    }

    /// Chooses the tensor to evict among the held ones that are not in use: the least cost per byte
    /// and stage of absence.
    fn worst(
        &mut self,
        held: &[usize],
        retained: &BitMatrix,
        t: usize,
        idle: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for (k, &i) in held.iter().enumerate() {
            let next = self.next_use(i, t);
            let comes_back = self.graph.may_recompute_in(i, next.unwrap_or(t));
            if self.graph.bytes[i] == 0.0 || !idle(i) || !comes_back {
                continue;
            }
            let distance = next.map_or(self.graph.n, |q| q + 1 - t) as f64;
            let cost = self.recompute_cost(i, retained, t);
            let score = (cost + 1e-9) / (self.graph.bytes[i] * distance);
            if best.is_none_or(|b| score < b.0) {
                best = Some((score, k));
            }
        }
        best.map(|b| b.1)
    }

    /// Cost of recomputing a tensor, with its ancestors that are not held.
    fn recompute_cost(&mut self, i: usize, retained: &BitMatrix, t: usize) -> f64 {
        self.turn += 1;
        self.stack.clear();
        self.stack.push(i);
        self.seen[i] = self.turn;
        let mut cost = 0.0;
        while let Some(k) = self.stack.pop() {
            cost += self.graph.cost_again[k];
            for &j in self.graph.needs(k) {
                let made = !retained.get(t, j as usize) || self.graph.parent[k] == j;
                let j = j as usize;
                if self.seen[j] != self.turn && made {
                    self.seen[j] = self.turn;
                    self.stack.push(j);
                }
            }
        }
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::{Reads, uniform_chain};
    use remat_instances::simulate;

    #[test]
    fn chains_fit_into_small_budgets_and_cost_nothing_in_large_ones() {
        for length in [4, 9, 30] {
            let instance = uniform_chain(length, Reads::Both);
            let all = CheckmateSchedule::checkpoint_all(&instance);
            let full = simulate::checkmate(&instance, &all).unwrap();
            let least = crate::bound::smallest_budget(&instance).needed_bytes;
            let at = |budget| {
                let schedule = run(&instance, budget, Patience::ENDLESS).unwrap();
                simulate::checkmate(&instance, &schedule).unwrap()
            };
            assert_eq!(at(full.peak_bytes).cost, instance.base_cost());
            let middle = least + (full.peak_bytes - least) / 2;
            let replay = at(middle);
            assert!(replay.peak_bytes <= middle, "{length}");
            assert!(replay.cost > instance.base_cost() || full.peak_bytes <= middle);
        }
    }
}
