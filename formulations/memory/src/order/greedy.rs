//! Orders by the rules that frameworks use.

use super::side::{Side, SideRun};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Steps of a rule between two checks of the clock.
const STEPS_BETWEEN_LOOKS: usize = 64;

/// A rule that makes an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The order of the program, as far as the variant allows it.
    Program,
    /// Least peak memory first (PyTorch Inductor's `memory.py`, 2024). Takes the ready operator
    /// with the least memory while it runs, at least the peak so far. Ties go to the one that adds
    /// least, then to the first in the program.
    Lpmf,
    /// Inductor's breadth-first order: the ready operator whose predecessors ran first.
    BreadthFirst,
    /// Inductor's depth-first order: operators by ascending size of inputs and outputs, each behind
    /// its predecessors.
    DepthFirst,
    /// Least peak memory first from the end of the step to its beginning.
    ReverseLpmf,
    /// XLA's list scheduler (`hlo_memory_scheduler`). Takes the ready operator that lowers memory
    /// most, then the one with most users, then the first in the program.
    ListScheduling,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 6] = [
        Rule::Program,
        Rule::Lpmf,
        Rule::BreadthFirst,
        Rule::DepthFirst,
        Rule::ReverseLpmf,
        Rule::ListScheduling,
    ];

    /// The rule as the command line writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Rule::Program => "program",
            Rule::Lpmf => "lpmf",
            Rule::BreadthFirst => "bfs",
            Rule::DepthFirst => "dfs",
            Rule::ReverseLpmf => "reverse-lpmf",
            Rule::ListScheduling => "list",
        }
    }
}

/// The order of a rule, from the two sides of a problem; `None` if `is_over` ends it before.
pub(super) fn order(
    rule: Rule,
    forward: &Side,
    backward: &Side,
    is_over: &dyn Fn() -> bool,
) -> Option<Vec<u32>> {
    match rule {
        Rule::Program => Some(forward.topological.clone()),
        Rule::Lpmf => lpmf(forward, is_over),
        Rule::BreadthFirst => Some(breadth_first(forward)),
        Rule::DepthFirst => Some(depth_first(forward)),
        Rule::ReverseLpmf => Some(backward.turned(lpmf(backward, is_over)?)),
        Rule::ListScheduling => list_scheduling(forward, is_over),
    }
}

/// Runs the ready operator with the least key, until all have run.
fn least_first<K: Ord>(
    side: &Side,
    is_over: &dyn Fn() -> bool,
    key: impl Fn(&SideRun<'_>, u32) -> K,
) -> Option<Vec<u32>> {
    let ranks = side.ranks_of_topological();
    let mut run = SideRun::new(side);
    let mut ready: Vec<u32> = (0..side.len as u32).filter(|v| run.is_ready(*v)).collect();
    let mut order = Vec::with_capacity(side.len);
    loop {
        if order.len() % STEPS_BETWEEN_LOOKS == 0 && is_over() {
            return None;
        }
        let keys = ready.iter().map(|v| (key(&run, *v), ranks[*v as usize]));
        let least = keys.enumerate().min_by(|(_, a), (_, b)| a.cmp(b));
        let Some((k, _)) = least else {
            return Some(order);
        };
        let v = ready.swap_remove(k);
        run.run(v);
        order.push(v);
        let behind = side.after.row(v).iter();
        ready.extend(behind.filter(|w| run.is_ready(**w)));
    }
}

fn lpmf(side: &Side, is_over: &dyn Fn() -> bool) -> Option<Vec<u32>> {
    least_first(side, is_over, |run, v| {
        let change = run.taken(v) as i64 - run.freed(v) as i64;
        (run.need(v).max(run.peak), change)
    })
}

fn list_scheduling(side: &Side, is_over: &dyn Fn() -> bool) -> Option<Vec<u32>> {
    least_first(side, is_over, |run, v| {
        let change = run.taken(v) as i64 - run.freed(v) as i64;
        (change, Reverse(side.after.row(v).len()))
    })
}

fn breadth_first(side: &Side) -> Vec<u32> {
    let ranks = side.ranks_of_topological();
    let mut turn = vec![0u32; side.len];
    let mut run = SideRun::new(side);
    let mut ready = BTreeSet::new();
    let key = |v: u32, turn: &[u32]| {
        let mut before: Vec<u32> = side
            .before
            .row(v)
            .iter()
            .map(|u| turn[*u as usize])
            .collect();
        before.sort_unstable();
        (before, ranks[v as usize], v)
    };
    for v in 0..side.len as u32 {
        if run.is_ready(v) {
            ready.insert(key(v, &turn));
        }
    }
    let mut order = Vec::with_capacity(side.len);
    while let Some((_, _, v)) = ready.pop_first() {
        turn[v as usize] = order.len() as u32;
        order.push(v);
        run.run(v);
        for &w in side.after.row(v) {
            if run.is_ready(w) {
                ready.insert(key(w, &turn));
            }
        }
    }
    order
}

fn depth_first(side: &Side) -> Vec<u32> {
    let ranks = side.ranks_of_topological();
    let size = |list: &[u32]| -> u64 { list.iter().map(|t| side.bytes[*t as usize]).sum() };
    let key = |v: &u32| {
        let touched = size(side.makes.row(*v)) + size(side.uses.row(*v));
        (touched, ranks[*v as usize])
    };
    let mut all: Vec<u32> = (0..side.len as u32).collect();
    all.sort_by_key(key);
    let mut entered = vec![false; side.len];
    let mut order = Vec::with_capacity(side.len);
    // An operator and, on the way back, itself once more.
    let mut stack: Vec<(u32, bool)> = all.iter().rev().map(|v| (*v, false)).collect();
    while let Some((v, leaving)) = stack.pop() {
        if leaving {
            order.push(v);
        } else if !std::mem::replace(&mut entered[v as usize], true) {
            stack.push((v, true));
            let mut before = side.before.row(v).to_vec();
            before.sort_by_key(key);
            stack.extend(before.iter().rev().map(|u| (*u, false)));
        }
    }
    order
}
