//! Prices from duals, and the cheapest intervals of each tensor under them.

use super::byte_prices::BytePrices;
use super::{CheckmateGraph, Interval, Quantity, Row, event, starts_between};
use crate::life::Exclusions;
use remat_solver::price::{Candidate, Number, Priced};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Add;

/// Prices of the intervals of one tensor, from the duals.
#[derive(Clone, Debug)]
struct TensorPrices<T> {
    /// Paid to an interval that covers an event.
    cover: Vec<(u32, T)>,
    /// Paid to an interval that crosses the start of a stage.
    cross: Vec<(u32, T)>,
    /// Paid to an interval that starts in a stage of the range (first, last).
    start: Vec<(u32, u32, T)>,
}

/// Prices on events, stage boundaries and starts.
#[derive(Clone, Debug)]
pub(super) struct IntervalPrices<T> {
    /// For each gauge in use.
    memory: Vec<BytePrices<T>>,
    tensors: Vec<TensorPrices<T>>,
}

impl<T: Number> IntervalPrices<T> {
    /// Prices of rows with duals. The dual of a count is at least 0; that of a memory row is given
    /// as its price of a byte, at least 0.
    pub fn new<'a>(graph: &CheckmateGraph, rows: impl Iterator<Item = (&'a Row, T)>) -> Self {
        let n = graph.len();
        let mut memory: BTreeMap<u32, Vec<(u32, u32, T)>> = BTreeMap::new();
        let empty = TensorPrices {
            cover: Vec::new(),
            cross: Vec::new(),
            start: Vec::new(),
        };
        let mut tensors = vec![empty; n];
        for (row, y) in rows {
            if y == T::ZERO {
                continue;
            }
            match row {
                Row::Need { node, reader } => {
                    tensors[*node as usize]
                        .cover
                        .push((event(n, *reader, *reader), y));
                }
                Row::Input { stage, node, input } => {
                    tensors[*input as usize]
                        .cover
                        .push((event(n, *stage, *node), y));
                    tensors[*node as usize].start.push((*stage, *stage, -y));
                }
                Row::Parent { stage, node } => {
                    if let Some(parent) = graph.parent[*node as usize] {
                        tensors[parent as usize].start.push((*stage, *stage, y));
                    }
                    tensors[*node as usize].start.push((*stage, *stage, -y));
                }
                Row::Memory { stage, node, gauge } => {
                    let priced = memory.entry(*gauge).or_default();
                    priced.push((*stage, *node, y));
                    let k = *node as usize;
                    let gauge = &graph.gauges[*gauge as usize];
                    let scratch = gauge.working_again[k] as i64 - gauge.bytes[k] as i64;
                    if scratch > 0 && stage > node {
                        tensors[*node as usize]
                            .start
                            .push((*stage, *stage, -y.times(scratch)));
                    }
                }
                Row::Cover(at) => {
                    if at.made > 0 {
                        let worth = y.times(i64::from(at.made));
                        let start = (at.stage, at.stage, -worth);
                        tensors[at.node as usize].start.push(start);
                    }
                    let e = event(n, at.stage, at.node);
                    for &(i, weight) in &at.cover.weights {
                        let worth = y.times(i64::from(weight));
                        tensors[i as usize].cover.push((e, -worth));
                    }
                }
                Row::Path(cut) => {
                    for &i in &cut.path {
                        tensors[i as usize].cross.push((cut.from, y));
                    }
                    tensors[cut.source() as usize]
                        .start
                        .push((cut.from, cut.reader, y));
                }
                Row::PathMemory(cut) => {
                    let (a, b, j) = (cut.path.from, cut.path.reader, cut.path.source());
                    for &k in &cut.staying {
                        let worth = y.times(graph.bytes[k as usize] as i64);
                        tensors[k as usize].cover.push((event(n, b, j), -worth));
                        let window = starts_between(k, j, a, b);
                        if !window.is_empty() {
                            tensors[k as usize]
                                .start
                                .push((*window.start(), *window.end(), worth));
                        }
                    }
                    for &(t, k) in &cut.companions {
                        let worth = y.times(graph.bytes[k as usize] as i64);
                        tensors[k as usize].cover.push((event(n, t, j), -worth));
                    }
                    let need = y.times(graph.need_bytes(j as usize) as i64);
                    for &i in &cut.path.path {
                        tensors[i as usize].cross.push((a, need));
                    }
                }
                Row::Branch(branch) => {
                    let y = y.times(branch.sign());
                    for &node in branch.quantity.of().list(&graph.classes) {
                        let tensor = &mut tensors[node as usize];
                        match branch.quantity {
                            // The first computation is none of them.
                            Quantity::Starts { first, last, .. } => {
                                tensor.start.push((first.max(node + 1), last, y));
                            }
                            Quantity::Held { stage, .. } => tensor.cross.push((stage, y)),
                        }
                    }
                }
            }
        }
        for t in &mut tensors {
            t.cover.sort_unstable_by_key(|e| e.0);
            t.cross.sort_unstable_by_key(|e| e.0);
        }
        let memory = memory.into_iter();
        let memory = memory.map(|(gauge, priced)| BytePrices::new(gauge, n, priced, T::ZERO));
        IntervalPrices {
            memory: memory.collect(),
            tensors,
        }
    }

    /// Sweeps the stages of tensor `i` from the last to the first. `found` is told, for every start
    /// stage, the cheapest reduced cost of an interval that starts there and where it ends. Returns
    /// the least total reduced cost of a set of disjoint intervals. What is not permitted is left
    /// out.
    pub fn sweep(
        &self,
        graph: &CheckmateGraph,
        exclusions: &Exclusions,
        i: usize,
        scratch: &mut IntervalSweep<T>,
        mut found: impl FnMut(T, Interval),
    ) -> T {
        let n = graph.len();
        let users = &graph.users[i];
        if users.is_empty() {
            scratch.clear(0);
            return T::ZERO;
        }
        let p = &self.tensors[i];
        let node = i as u32;
        // What a tensor that is there at all events before one would pay.
        let charged = |stage: u32, node: u32| {
            let bytes = |gauge: u32| graph.gauges[gauge as usize].bytes[i] as i64;
            let of = |m: &BytePrices<T>| m.before(stage, node).times(bytes(m.gauge));
            self.memory.iter().map(of).fold(T::ZERO, Add::add)
        };
        let last = graph.last_stage[i];
        let width = (last as usize + 2) - i;
        scratch.clear(width);
        // What a start in each stage is paid, by differences.
        let start = &mut scratch.start;
        for &(from, to, y) in &p.start {
            let from = (from as usize).max(i);
            let to = (to as usize).min(last as usize);
            if from <= to {
                start[from - i] = start[from - i] + y;
                start[to + 1 - i] = start[to + 1 - i] - y;
            }
        }
        let mut sum = T::ZERO;
        for v in start.iter_mut() {
            sum = sum + *v;
            *v = sum;
        }
        // Payments up to the point of the sweep: all, less those behind.
        let mut cover = p.cover.len();
        let mut covered = p.cover.iter().fold(T::ZERO, |s, e| s + e.1);
        let mut cross = p.cross.len();
        let mut crossed = p.cross.iter().fold(T::ZERO, |s, e| s + e.1);
        let mut end: Option<(T, u32, u32)> = None;
        let mut end_then: Option<T> = None;
        for a in (node..=last).rev() {
            // Crossings of the starts of stages up to a.
            while cross > 0 && p.cross[cross - 1].0 > a {
                cross -= 1;
                crossed = crossed - p.cross[cross].1;
            }
            let slot = a as usize - i;
            if a < last && !exclusions.may_hold(node, a + 1) {
                (end, end_then) = (None, None);
            }
            let then = scratch.best_set[slot + 1];
            let mut end_here: Option<T> = None;
            for &u in users.iter().rev() {
                if u > a || a > u.max(graph.last_stage[u as usize]) {
                    continue;
                }
                if u < a && !exclusions.may_start(u, a, 0) {
                    continue;
                }
                let e = event(n, a, u);
                while cover > 0 && p.cover[cover - 1].0 > e {
                    cover -= 1;
                    covered = covered - p.cover[cover].1;
                }
                let g = charged(a, u + 1) - covered - crossed;
                if end.is_none_or(|(best, _, _)| g <= best) {
                    end = Some((g, a, u));
                }
                end_here = least(end_here, Some(g));
            }
            end_then = least(end_then, end_here.map(|g| g + then));
            scratch.end_here[slot] = end_here;
            scratch.end_then[slot] = end_then;
            scratch.best_set[slot] = then;
            let recomputed = a > node;
            if recomputed && !exclusions.may_start(node, a, 0) {
                continue;
            }
            let (Some((g, stage, reader)), Some(g_then)) = (end, end_then) else {
                continue;
            };
            let first = event(n, a, node) + u32::from(!recomputed);
            while cover > 0 && p.cover[cover - 1].0 >= first {
                cover -= 1;
                covered = covered - p.cover[cover].1;
            }
            let cost = match recomputed {
                true => scratch.one.times(graph.cost_again[i] as i64),
                false => T::ZERO,
            };
            let f = cost - scratch.start[slot] - charged(a, node + u32::from(!recomputed))
                + covered
                + crossed;
            scratch.begin[slot] = Some(f);
            let interval = Interval {
                node,
                start: a,
                end: stage,
                reader,
            };
            found(f + g, interval);
            let with = f + g_then;
            if with < then {
                scratch.best_set[slot] = with;
            }
        }
        scratch.best_set[0]
    }
}

fn least<T: Number>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        _ => a.or(b),
    }
}

/// Working memory of a sweep, and what it leaves behind: prices by stage, the tensor's own stage
/// first.
#[derive(Clone, Debug)]
pub(super) struct IntervalSweep<T> {
    /// One unit of cost.
    pub one: T,
    /// Payment to a start.
    start: Vec<T>,
    /// Least total of disjoint intervals that start in the stage or later.
    best_set: Vec<T>,
    /// Price of a start, up to the price of where it ends.
    begin: Vec<Option<T>>,
    /// Least price of an end in the stage.
    end_here: Vec<Option<T>>,
    /// Least price of an end in the stage or later, and of the best set behind it.
    end_then: Vec<Option<T>>,
}

impl<T: Number> IntervalSweep<T> {
    pub fn new(one: T) -> Self {
        IntervalSweep {
            one,
            start: Vec::new(),
            best_set: Vec::new(),
            begin: Vec::new(),
            end_here: Vec::new(),
            end_then: Vec::new(),
        }
    }

    fn clear(&mut self, width: usize) {
        for list in [&mut self.start, &mut self.best_set] {
            list.clear();
            list.resize(width, T::ZERO);
        }
        for list in [&mut self.begin, &mut self.end_here, &mut self.end_then] {
            list.clear();
            list.resize(width, None);
        }
    }

    /// After a sweep: least totals of the sets that start in a stage (`starts(stage, total)`), and
    /// of those with an interval that is held when a stage begins (`holds(stage, total)`); `None`
    /// where there is no such set. Stages count from the tensor's own, in which nothing is held.
    pub fn totals(
        &self,
        may_hold: impl Fn(usize) -> bool,
        mut starts: impl FnMut(usize, Option<T>),
        mut holds: impl FnMut(usize, Option<T>),
    ) {
        // Least total of sets that end before the stage, and of those with an interval that has not
        // ended.
        let (mut before, mut within) = (T::ZERO, None);
        for slot in 0..self.best_set.len().saturating_sub(1) {
            let end = self.end_then[slot];
            if !may_hold(slot) {
                within = None;
            }
            holds(slot, sum(within, end));
            let begin = self.begin[slot].map(|f| before + f);
            starts(slot, sum(begin, end));
            within = least(within, begin);
            before = least(Some(before), sum(within, self.end_here[slot])).unwrap_or(before);
        }
    }
}

fn sum<T: Number>(a: Option<T>, b: Option<T>) -> Option<T> {
    Some(a? + b?)
}

/// Prices all intervals of all tensors. Duals are in the instance's unit of cost, those of memory
/// rows per byte and at most
/// 0. For each tensor at most `per_block` recomputed intervals and the one from the first
///    computation are returned.
pub(super) fn price(
    graph: &CheckmateGraph,
    exclusions: &Exclusions,
    rows: &[Row],
    duals: &[f64],
    per_block: usize,
    tolerance: f64,
) -> Priced<Interval> {
    let priced = rows
        .iter()
        .zip(duals)
        .map(|(row, &y)| match row.is_memory() {
            true => (row, (-y).max(0.0)),
            false => (row, y.max(0.0)),
        });
    let worth = priced.clone().map(|(row, y)| {
        let right = row.right_side(graph) as f64;
        if row.is_memory() {
            -y * right
        } else {
            y * right
        }
    });
    let mut out = Priced::new(graph.base_cost() as f64 + worth.sum::<f64>());
    let prices = IntervalPrices::new(graph, priced);
    let mut scratch = IntervalSweep::new(1.0);
    let mut own: Vec<Candidate<Interval>> = Vec::new();
    for i in 0..graph.len() {
        own.clear();
        out.bound += prices.sweep(
            graph,
            exclusions,
            i,
            &mut scratch,
            |reduced_cost, interval| {
                if reduced_cost < -tolerance {
                    own.push(Candidate {
                        reduced_cost,
                        column: interval,
                    });
                }
            },
        );
        out.add_best(&mut own, per_block, |c| !c.is_recomputed());
    }
    out.sorted()
}

/// The tensors whose intervals may have a coefficient in a row, each once.
pub(super) fn uses(graph: &CheckmateGraph, row: &Row, note: &mut dyn FnMut(u32)) {
    match row {
        Row::Need { node, .. } => note(*node),
        Row::Input { node, input, .. } => {
            note(*node);
            note(*input);
        }
        Row::Parent { node, .. } => {
            note(*node);
            graph.parent[*node as usize].into_iter().for_each(note);
        }
        Row::Memory { stage, .. } => {
            let alive = |i: &u32| graph.last_stage[*i as usize] >= *stage;
            (0..=*stage).filter(alive).for_each(note);
        }
        Row::Cover(at) => at.tensors().for_each(note),
        Row::Path(cut) => cut.path.iter().copied().for_each(note),
        Row::PathMemory(cut) => {
            let beside = cut.companions.iter().map(|g| g.1);
            let named = cut.path.path.iter().chain(&cut.staying).copied();
            let all: BTreeSet<u32> = named.chain(beside).collect();
            all.into_iter().for_each(note);
        }
        Row::Branch(branch) => {
            let nodes = branch.quantity.of();
            nodes.list(&graph.classes).iter().copied().for_each(note);
        }
    }
}
