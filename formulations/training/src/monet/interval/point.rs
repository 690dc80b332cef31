//! A fractional solution, the rows it violates, and a schedule near it.

use super::{Interval, MonetGraph, Row};
use crate::life::{Atom, Term, Which};
use remat_instances::instance::Instance;
use remat_instances::schedule::{BitMatrix, Choices, MonetSchedule};

/// Values below count as 0.
const ZERO: f64 = 1e-9;

/// Intervals and choices with their values, and the sums of the values by tensor and stage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Point {
    /// Intervals with positive values, by tensor.
    pub intervals: Vec<(Interval, f64)>,
    /// Values of the choices of each stage.
    pub choices: Vec<Vec<f64>>,
    width: usize,
    stored: Vec<f64>,
    held: Vec<f64>,
    made: Vec<f64>,
    made_in_place: Vec<f64>,
    /// Values times workspaces of starts.
    scratch: Vec<f64>,
    /// Entry `t`: starts in stages before `t`.
    made_before: Vec<f64>,
}

impl Point {
    /// The point of columns with values.
    pub fn new(
        graph: &MonetGraph,
        columns: impl Iterator<Item = (Interval, f64)>,
        choices: Vec<Vec<f64>>,
    ) -> Point {
        let mut intervals: Vec<_> = columns.filter(|c| c.1 > ZERO).collect();
        intervals.sort_by_key(|c| c.0);
        let width = graph.stages + 2;
        let blank = || vec![0.0; graph.columns * width];
        let mut p = Point {
            intervals,
            choices,
            width,
            stored: blank(),
            held: blank(),
            made: blank(),
            made_in_place: blank(),
            scratch: blank(),
            made_before: blank(),
        };
        for &(c, x) in &p.intervals {
            let base = c.node as usize * width;
            let at = base + c.start as usize;
            for v in &mut p.stored[at + 1..base + c.end as usize + 1] {
                *v += x;
            }
            let way = c.way(graph);
            p.made[at] += x;
            p.made_before[at + 1] += x;
            p.scratch[at] += x * way.workspace as f64;
            if way.in_place {
                p.made_in_place[at] += x;
            }
            if c.held {
                p.held[at] += x;
            }
        }
        for life in p.made_before.chunks_exact_mut(width) {
            let mut sum = 0.0;
            for v in life {
                sum += *v;
                *v = sum;
            }
        }
        p
    }

    #[inline]
    fn at(&self, node: usize, stage: usize) -> usize {
        node * self.width + stage
    }

    /// `S[stage, node]`, for stages up to one behind the last.
    #[inline]
    pub fn stored(&self, stage: usize, node: usize) -> f64 {
        self.stored[self.at(node, stage)]
    }

    /// `S[., node]` by stages.
    #[inline]
    pub fn stored_of(&self, node: usize) -> &[f64] {
        &self.stored[node * self.width..(node + 1) * self.width]
    }

    /// Part of a tensor that is held for the backward node of a stage without being stored.
    #[inline]
    pub fn held(&self, stage: usize, node: usize) -> f64 {
        self.held[self.at(node, stage)]
    }

    /// `R[stage, node]`.
    #[inline]
    pub fn made(&self, stage: usize, node: usize) -> f64 {
        self.made[self.at(node, stage)]
    }

    /// The intervals of a node that start in a stage, with their values.
    pub(super) fn ways_with_values(
        &self,
        node: u32,
        stage: u32,
    ) -> impl Iterator<Item = &(Interval, f64)> {
        let key = (node, stage);
        let first = self
            .intervals
            .partition_point(|c| (c.0.node, c.0.start) < key);
        let own = self.intervals[first..].iter();
        own.take_while(move |c| (c.0.node, c.0.start) == key)
    }

    /// Entry `t`: how often a node is computed in stages before `t`.
    #[inline]
    pub fn made_before(&self, node: usize) -> &[f64] {
        &self.made_before[node * self.width..(node + 1) * self.width]
    }

    /// Lower bound on the part of a tensor that stays: it is stored when stage `upto` begins and
    /// was not computed in stages `from..upto`. It may be negative.
    #[inline]
    pub(super) fn stays(&self, node: usize, from: usize, upto: usize) -> f64 {
        let made = self.made_before(node);
        self.stored(upto, node) - (made[upto] - made[from])
    }

    /// Rows (5), (8), (11) and (12), and rows of [`Row::ended`], that are violated by more than
    /// `tolerance`.
    pub fn violated_links(&self, graph: &MonetGraph, tolerance: f64) -> Vec<Row> {
        let mut found = Vec::new();
        for v in 0..graph.columns {
            let node = v as u32;
            let last = graph.last_use[v].map_or(0, |t| t as usize);
            for t in 0..=last {
                let at = self.at(v, t);
                let made = self.made[at];
                if made <= tolerance {
                    continue;
                }
                let stage = t as u32;
                for &u in &graph.needs[v] {
                    // A node that every schedule runs in stage 0 is there.
                    if graph.parent[v] == Some(u) || t == 0 && graph.is_forced(u) {
                        continue;
                    }
                    let there = self.stored(t, u as usize) + self.made(t, u as usize);
                    if there < made - tolerance {
                        found.push(Row::input(graph, stage, node, u));
                    }
                }
                if let Some(p) = graph.parent[v] {
                    let own = self.at(p as usize, t);
                    let in_place = self.made_in_place[at];
                    let parents = self.made_in_place[own];
                    if !graph.may_overwrite(p) || !graph.may_overwrite(node) {
                        if self.made[own] < made - tolerance {
                            found.push(Row::parent(stage, node, p, Which::All));
                        }
                        continue;
                    }
                    if parents < in_place - tolerance {
                        found.push(Row::parent(stage, node, p, Which::InPlace));
                    }
                    if self.made[own] - parents < made - in_place - tolerance {
                        found.push(Row::parent(stage, node, p, Which::Plain));
                    }
                } else if let Some(u) = graph.over[v] {
                    let kept = self.stored(t + 1, u as usize);
                    let read = if t > 0 { self.held(t, u as usize) } else { 0.0 };
                    let there = self.stored(t, u as usize) + self.made(t, u as usize);
                    let partly = t > 0 && there < 1.0;
                    let most = if partly { there } else { 1.0 };
                    if self.made_in_place[at] + kept + read > most + tolerance {
                        found.push(match partly {
                            true => Row::ended(graph, stage, node, u),
                            false => Row::overwritten(graph, stage, node, u),
                        });
                    }
                }
            }
        }
        found
    }

    /// Memory rows that are exceeded by more than `overflow_bytes`, worst first, at most
    /// `per_stage` in a stage, without `known` rows. Each tensor is charged by storage or by the
    /// run, whichever is larger.
    pub fn violated_memory(
        &self,
        graph: &MonetGraph,
        overflow_bytes: f64,
        per_stage: usize,
        known: impl Fn(&Row) -> bool,
    ) -> Vec<Row> {
        let mut found: Vec<(f64, Row)> = Vec::new();
        let mut events: Vec<(f64, Option<usize>)> = Vec::new();
        for t in 0..graph.stages {
            events.clear();
            let bytes = |i: usize| graph.bytes[i] as f64;
            let mut load: f64 = (0..graph.columns)
                .map(|i| bytes(i) * self.stored(t, i))
                .sum();
            let room = graph.room[t] as f64 + overflow_bytes;
            for j in 0..graph.columns {
                let over = load + self.gain_of_run(graph, t, j) - room;
                if over > 1e-6 * room.abs().max(1.0) {
                    events.push((over, Some(j)));
                }
                let after = self.stored(t + 1, j) + self.held(t, j);
                load += bytes(j) * (after - self.stored(t, j));
            }
            if t > 0 {
                let ways = graph.choices[t].iter().zip(&self.choices[t]);
                let scratch: f64 = ways.map(|(c, x)| c.workspace as f64 * x).sum();
                let room = graph.backward_room[t] as f64 + overflow_bytes;
                let over = load + scratch - room;
                if over > 1e-6 * room.abs().max(1.0) {
                    events.push((over, None));
                }
            }
            events.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            let rows = events
                .iter()
                .map(|&(over, j)| (over, self.memory_row(graph, t, j)));
            found.extend(rows.filter(|f| !known(&f.1)).take(per_stage));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        found.into_iter().map(|f| f.1).collect()
    }

    /// The left side of a row whose starts are of one stage each, or of all ways.
    pub(super) fn activity(&self, graph: &MonetGraph, row: &Row) -> f64 {
        let value = |term: &Term| {
            let coefficient = term.coefficient as f64;
            match term.atom {
                Atom::Crosses { node, stage } => {
                    coefficient * self.stored(stage as usize, node as usize)
                }
                Atom::At { node, moment } => {
                    coefficient * self.held(moment as usize, node as usize)
                }
                Atom::Choice { stage, way } => {
                    coefficient * self.choices[stage as usize][way as usize]
                }
                Atom::Start {
                    node,
                    first,
                    last,
                    which: Which::All,
                } => {
                    let made = self.made_before(node as usize);
                    coefficient * (made[last as usize + 1] - made[first as usize])
                }
                Atom::Start { node, first, .. } => {
                    let ways = self.ways_with_values(node, first);
                    ways.map(|(c, x)| term.coefficient(graph, c) as f64 * x)
                        .sum()
                }
                Atom::Bytes { .. } => 0.0,
            }
        };
        row.terms.iter().map(value).sum()
    }

    /// Bytes that the run of `j` in stage `t` adds to the stored tensors at its turn, at least 0.
    /// Each tensor is charged by storage or by the run, whichever is larger.
    fn gain_of_run(&self, graph: &MonetGraph, t: usize, j: usize) -> f64 {
        let run = self.made(t, j);
        if run <= ZERO {
            return 0.0;
        }
        let mut gain = self.scratch[self.at(j, t)];
        gain += graph.bytes[j] as f64 * (run - self.stored(t, j)).max(0.0);
        for &u in &graph.passing[j] {
            let u = u as usize;
            gain += graph.bytes[u] as f64 * (run - self.stored(t + 1, u)).max(0.0);
        }
        gain.max(0.0)
    }

    /// The memory row of an event, `None` for the backward node, in its strongest form at this
    /// point.
    fn memory_row(&self, graph: &MonetGraph, t: usize, event: Option<usize>) -> Row {
        let Some(j) = event else {
            return Row::backward(graph, t as u32);
        };
        let node = j as u32;
        if self.gain_of_run(graph, t, j) <= 0.0 {
            return Row::memory(graph, t as u32, node, &[], false);
        }
        let run = self.made(t, j);
        let passing = graph.passing[j].iter().copied();
        let mut by_run: Vec<u32> = passing
            .filter(|&u| run >= self.stored(t + 1, u as usize))
            .collect();
        if run >= self.stored(t, j) {
            by_run.push(node);
        }
        by_run.sort_unstable();
        Row::memory(graph, t as u32, node, &by_run, true)
    }

    /// The schedule of an integer point, and its cost. A tensor that is stored twice counts as
    /// stored.
    pub fn rounded(&self, graph: &MonetGraph) -> (MonetSchedule, u64) {
        let (stages, columns) = (graph.stages, graph.columns);
        let mut s = blank(stages, columns);
        let mut cost = 0;
        for t in 0..stages {
            if t > 0 {
                let choice = &graph.choices[t][self.most(t)];
                s.backward_choice[t] = choice.implementation;
                cost += choice.cost;
            }
            for i in 0..columns {
                s.retained.set(t + 1, i, self.stored(t + 1, i) > 0.5);
                if self.made(t, i) > 0.5 {
                    let way = self.way(graph, t, i);
                    s.computed.set(t, i, true);
                    s.in_place.set(t, i, way.in_place);
                    s.forward_choice.set(t, i, way.implementation);
                    cost += way.cost;
                }
            }
        }
        (s, cost)
    }

    /// The choice of a stage with the largest value.
    fn most(&self, t: usize) -> usize {
        let mut best = 0;
        for (way, x) in self.choices[t].iter().enumerate() {
            if *x > self.choices[t][best] + 1e-6 {
                best = way;
            }
        }
        best
    }

    /// A schedule near the point that executes, in general not within the budget. It stores tensors
    /// with values above `threshold`, takes the choices with the largest values, and computes all
    /// nodes that these need. Nodes run in place if they do so at the point and no later use of the
    /// input forbids it.
    pub fn proposal(
        &self,
        instance: &Instance,
        graph: &MonetGraph,
        threshold: f64,
    ) -> MonetSchedule {
        let (stages, columns) = (graph.stages, graph.columns);
        let mut s = blank(stages, columns);
        for t in 0..stages {
            let choice = &graph.choices[t][self.most(t)];
            if t > 0 {
                s.backward_choice[t] = choice.implementation;
            }
            for i in 0..columns {
                if t + 1 < stages && self.stored(t + 1, i) > threshold {
                    s.retained.set(t + 1, i, true);
                }
            }
            for i in (0..columns).rev() {
                let node = i as u32;
                let there = s.retained.get(t, i);
                let read = t > 0 && choice.reads.contains(&node) && !s.retained.get(t + 1, i);
                let missing = s.retained.get(t + 1, i) && !there;
                let forward = t == 0 && graph.is_forced(node);
                if !(s.computed.get(t, i) || read || missing || forward) {
                    continue;
                }
                s.computed.set(t, i, true);
                let way = self.way(graph, t, i);
                s.forward_choice.set(t, i, way.implementation);
                s.in_place.set(t, i, way.in_place);
                let implementation = &instance
                    .node(remat_instances::instance::NodeId(node))
                    .implementations[usize::from(way.implementation)];
                let needs = implementation.needs.iter().map(|u| u.index());
                for u in needs {
                    if !s.retained.get(t, u) {
                        s.computed.set(t, u, true);
                    }
                }
                if let Some(p) = graph.parent[i] {
                    s.computed.set(t, p as usize, true);
                }
            }
            self.settle_in_place(graph, &mut s, t, &choice.reads);
        }
        s
    }

    /// The way in which a node is computed most in a stage, or its cheapest way if it is not
    /// computed there.
    fn way(&self, graph: &MonetGraph, t: usize, i: usize) -> super::StartWay {
        let ways = graph.starts(i as u32, t as u32);
        let mut values = vec![0.0; ways.len()];
        for (c, x) in self.ways_with_values(i as u32, t as u32) {
            values[usize::from(c.way)] += x;
        }
        let order = |a: &usize, b: &usize| {
            let cost = ways[*b].cost.cmp(&ways[*a].cost);
            values[*a].total_cmp(&values[*b]).then(cost)
        };
        ways[(0..ways.len()).max_by(order).unwrap_or(0)]
    }

    /// Takes back in-place steps whose input is needed afterwards, and lets by-products follow
    /// their parents.
    fn settle_in_place(&self, graph: &MonetGraph, s: &mut MonetSchedule, t: usize, reads: &[u32]) {
        let mut taken = vec![false; graph.columns];
        for v in (0..graph.columns).rev() {
            let Some(u) = graph.over[v] else { continue };
            if !s.in_place.get(t, v) {
                continue;
            }
            let later = graph.users[u as usize].iter().any(|&q| {
                q as usize > v
                    && graph.parent[q as usize] != Some(v as u32)
                    && s.computed.get(t, q as usize)
            });
            let needed = s.retained.get(t + 1, u as usize) || t > 0 && reads.contains(&u);
            let fine = s.computed.get(t, v) && !later && !needed && !taken[u as usize];
            taken[u as usize] |= fine;
            s.in_place.set(t, v, fine);
        }
        for q in 0..graph.columns {
            if let Some(p) = graph.parent[q] {
                let both = s.computed.get(t, q) && s.in_place.get(t, p as usize);
                s.in_place.set(t, q, both && graph.may_overwrite(q as u32));
            } else if graph.over[q].is_none() {
                s.in_place.set(t, q, false);
            }
        }
    }
}

/// An empty schedule.
fn blank(stages: usize, columns: usize) -> MonetSchedule {
    MonetSchedule {
        computed: BitMatrix::new(stages, columns),
        retained: BitMatrix::new(stages + 1, columns),
        in_place: BitMatrix::new(stages, columns),
        forward_choice: Choices::new(stages, columns),
        backward_choice: vec![0; stages],
    }
}
