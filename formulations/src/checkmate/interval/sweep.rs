//! The cheapest intervals of a tensor under prices: one sweep over its stages.
//!
//! Most stages are like the one behind them: nothing has a price there, nobody reads the tensor for
//! the first time, and nothing is excluded that was not. Once a stage is swept with the same result
//! as the one behind it, all further ones that are like it have this result, too.

use super::byte_prices::BytePrices;
use super::price::{IntervalPrices, TensorPrices};
use super::{CheckmateGraph, Interval, event};
use crate::life::Exclusions;
use remat_solver::price::Number;
use std::ops::Add;

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
    /// Stages that are not like the next one, descending.
    changes: Vec<u32>,
}

/// The cheapest end in a stage or later: its price, stage and reader.
type End<T> = (T, u32, u32);

/// A sweep at a stage.
struct Stand<'a, T> {
    graph: &'a CheckmateGraph,
    exclusions: &'a Exclusions,
    prices: &'a IntervalPrices<T>,
    own: &'a TensorPrices<T>,
    node: u32,
    /// Payments for events and crossings up to here: all, less those behind.
    cover: usize,
    covered: T,
    cross: usize,
    crossed: T,
    end: Option<End<T>>,
    end_then: Option<T>,
}

impl<T: Number> IntervalPrices<T> {
    /// Sweeps the stages of tensor `i` from the last to the first. `found` is told, for every start
    /// stage where that is below 0, the cheapest reduced cost of an interval that starts there, and
    /// where it ends. Returns the least total reduced cost of a set of disjoint intervals. What is
    /// not permitted is left out.
    pub fn sweep(
        &self,
        graph: &CheckmateGraph,
        exclusions: &Exclusions,
        i: usize,
        scratch: &mut IntervalSweep<T>,
        mut found: impl FnMut(T, Interval),
    ) -> T {
        if graph.users[i].is_empty() {
            scratch.clear(0);
            return T::ZERO;
        }
        let own = &self.tensors[i];
        let (node, last) = (i as u32, graph.last_stage[i]);
        scratch.clear((last as usize + 2) - i);
        scratch.pay_starts(own, node, last);
        self.note_changes(graph, exclusions, i, &mut scratch.changes);
        let sum = |paid: &[(u32, T)]| paid.iter().fold(T::ZERO, |s, e| s + e.1);
        let mut stand = Stand {
            graph,
            exclusions,
            prices: self,
            own,
            node,
            cover: own.cover.len(),
            covered: sum(&own.cover),
            cross: own.cross.len(),
            crossed: sum(&own.cross),
            end: None,
            end_then: None,
        };
        let changes = std::mem::take(&mut scratch.changes);
        let mut next = changes.iter().copied().peekable();
        let mut stage = last;
        loop {
            let cheapest = stand.sweep(stage, scratch);
            let cheapest = cheapest.filter(|(cost, _)| *cost < T::ZERO);
            let mut tell = |start: u32, ends_here: bool| {
                if let Some((cost, (_, end, reader))) = cheapest {
                    let end = if ends_here { start } else { end };
                    let interval = Interval {
                        node,
                        start,
                        end,
                        reader,
                    };
                    found(cost, interval);
                }
            };
            tell(stage, false);
            if stage == node {
                break;
            }
            while next.next_if(|change| *change > stage).is_some() {}
            let is_alike = stage < last && next.next_if_eq(&stage).is_none();
            if is_alike && scratch.repeats((stage - node) as usize) {
                let ends_here = stand.end.is_some_and(|end| end.1 == stage);
                let like = next.peek().map_or(node, |change| *change) + 1..stage;
                like.clone().rev().for_each(|start| tell(start, ends_here));
                scratch.repeat((stage - node) as usize, like.len());
                stage -= like.len() as u32;
                if let Some(end) = stand.end.as_mut().filter(|_| ends_here) {
                    end.1 = stage;
                }
            }
            stage -= 1;
        }
        scratch.changes = changes;
        scratch.best_set[0]
    }

    /// Notes the stages of a tensor's life that differ from the next one in prices, readers or what
    /// is excluded, descending.
    fn note_changes(
        &self,
        graph: &CheckmateGraph,
        exclusions: &Exclusions,
        i: usize,
        out: &mut Vec<u32>,
    ) {
        let n = graph.len() as u32;
        let (node, last) = (i as u32, graph.last_stage[i]);
        let own = &self.tensors[i];
        out.clear();
        // The stage itself, and the one before, which is unlike it.
        let mut around = |stage: u32| out.extend([stage, stage.saturating_sub(1)]);
        let first = self.memory_stages.partition_point(|t| *t < node);
        let memory = self.memory_stages[first..].iter().copied();
        memory.take_while(|t| *t <= last + 1).for_each(&mut around);
        own.cover.iter().for_each(|paid| around(paid.0 / n));
        graph.users[i].iter().copied().for_each(&mut around);
        out.extend(own.cross.iter().map(|paid| paid.0.saturating_sub(1)));
        let starts = own.start.iter();
        out.extend(starts.flat_map(|(from, to, _)| [from.saturating_sub(1), *to]));
        let readers = graph.users[i].iter();
        out.extend(readers.clone().map(|u| graph.last_stage[*u as usize]));
        for one in readers.chain([&node]) {
            out.extend(exclusions.changes_of_starts(*one));
        }
        let holds = exclusions.changes_of_holds(node);
        out.extend(holds.map(|stage| stage.saturating_sub(1)));
        out.push(node);
        out.retain(|stage| (node..=last).contains(stage));
        out.sort_unstable_by(|a, b| b.cmp(a));
        out.dedup();
    }

    /// Price of a tensor that is there at all events before one.
    fn charged(&self, graph: &CheckmateGraph, i: usize, stage: u32, node: u32) -> T {
        let bytes = |gauge: u32| graph.gauges[gauge as usize].bytes[i] as i64;
        let of = |m: &BytePrices<T>| m.before(stage, node).times(bytes(m.gauge));
        self.memory.iter().map(of).fold(T::ZERO, Add::add)
    }
}

impl<T: Number> Stand<'_, T> {
    /// Goes on to a stage, the one before the last. The least reduced cost of an interval that
    /// starts there, and its end.
    fn sweep(&mut self, stage: u32, scratch: &mut IntervalSweep<T>) -> Option<(T, End<T>)> {
        let Stand {
            graph,
            exclusions,
            prices,
            own,
            node,
            ..
        } = *self;
        let n = graph.len();
        let i = node as usize;
        // Crossings of the starts of stages up to this one.
        while self.cross > 0 && own.cross[self.cross - 1].0 > stage {
            self.cross -= 1;
            self.crossed = self.crossed - own.cross[self.cross].1;
        }
        let slot = (stage - node) as usize;
        if stage < graph.last_stage[i] && !exclusions.may_hold(node, stage + 1) {
            (self.end, self.end_then) = (None, None);
        }
        let then = scratch.best_set[slot + 1];
        let mut end_here: Option<T> = None;
        for &u in graph.users[i].iter().rev() {
            if u > stage || stage > u.max(graph.last_stage[u as usize]) {
                continue;
            }
            if u < stage && !exclusions.may_start(u, stage, 0) {
                continue;
            }
            let e = event(n, stage, u);
            while self.cover > 0 && own.cover[self.cover - 1].0 > e {
                self.cover -= 1;
                self.covered = self.covered - own.cover[self.cover].1;
            }
            let g = prices.charged(graph, i, stage, u + 1) - self.covered - self.crossed;
            if self.end.is_none_or(|(best, _, _)| g <= best) {
                self.end = Some((g, stage, u));
            }
            end_here = least(end_here, Some(g));
        }
        self.end_then = least(self.end_then, end_here.map(|g| g + then));
        scratch.end_here[slot] = end_here;
        scratch.end_then[slot] = self.end_then;
        scratch.best_set[slot] = then;
        let recomputed = stage > node;
        if recomputed && !exclusions.may_start(node, stage, 0) {
            return None;
        }
        let (end, then_too) = (self.end?, self.end_then?);
        let first = event(n, stage, node) + u32::from(!recomputed);
        while self.cover > 0 && own.cover[self.cover - 1].0 >= first {
            self.cover -= 1;
            self.covered = self.covered - own.cover[self.cover].1;
        }
        let cost = match recomputed {
            true => scratch.one.times(graph.cost_again[i] as i64),
            false => T::ZERO,
        };
        let charged = prices.charged(graph, i, stage, node + u32::from(!recomputed));
        let begin = cost - scratch.start[slot] - charged + self.covered + self.crossed;
        scratch.begin[slot] = Some(begin);
        let with = begin + then_too;
        if with < then {
            scratch.best_set[slot] = with;
        }
        Some((begin + end.0, end))
    }
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
            changes: Vec::new(),
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

    /// Notes the payments to a start in each stage, by differences.
    fn pay_starts(&mut self, own: &TensorPrices<T>, node: u32, last: u32) {
        for &(from, to, y) in &own.start {
            let (from, to) = (from.max(node), to.min(last));
            if from <= to {
                let [from, behind] = [from - node, to + 1 - node].map(|slot| slot as usize);
                self.start[from] = self.start[from] + y;
                self.start[behind] = self.start[behind] - y;
            }
        }
        let mut sum = T::ZERO;
        for paid in &mut self.start {
            sum = sum + *paid;
            *paid = sum;
        }
    }

    /// Returns whether a slot has the prices of the next one.
    fn repeats(&self, slot: usize) -> bool {
        let same = |list: &[Option<T>]| list[slot] == list[slot + 1];
        self.best_set[slot] == self.best_set[slot + 1]
            && same(&self.begin)
            && same(&self.end_here)
            && same(&self.end_then)
    }

    /// Gives so many slots before one its prices.
    fn repeat(&mut self, slot: usize, count: usize) {
        let before = slot - count..slot;
        let best = self.best_set[slot];
        self.best_set[before.clone()].fill(best);
        for list in [&mut self.begin, &mut self.end_here, &mut self.end_then] {
            let one = list[slot];
            list[before.clone()].fill(one);
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

fn least<T: Number>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b < a { b } else { a }),
        _ => a.or(b),
    }
}

fn sum<T: Number>(a: Option<T>, b: Option<T>) -> Option<T> {
    Some(a? + b?)
}
