//! The automaton of a tensor. An interval costs the charge up to its end less the charge up to its
//! start. No two intervals of a tensor are in the same stage.
//!
//! Most stages are like the one behind them: no atom has a price there, no node reads the tensor
//! for the first time, and the exclusions are the same. Such stages form one span.

use super::{CheckmateGraph, Interval, event};
use crate::life::{
    AtomPrices, Exclusions, Found, Lives, Offer, Scratch, Sizes, Span, StartPrices, Term, Walk,
};
use remat_solver::price::Number;
use std::ops::Range;

impl Lives for CheckmateGraph {
    fn terms(&self, row: &Self::Row, note: impl FnMut(Term)) {
        row.terms(self, None, note);
    }

    /// Events.
    fn moments(&self) -> (usize, usize) {
        (self.len(), self.len())
    }

    fn sizes(&self) -> Sizes {
        let workspace = |i: usize| self.workspace[i].max(self.workspace_again[i]);
        let n = self.len();
        // Terms of waiting micro-batches count bytes up to so many times.
        let copies = self.waiting.map_or(1.0, |wait| wait.others as f64);
        Sizes {
            bytes: self.bytes.iter().sum::<u64>() as f64 * copies,
            workspace: (0..n).map(workspace).sum::<u64>() as f64,
            counts: (n * n) as f64,
        }
    }

    fn prepare<T: Number>(prices: &mut AtomPrices<T>) {
        prices.at.sort_by_key(|paid| paid.0);
        prices.crosses.sort_by_key(|paid| paid.0);
    }

    fn walk<T: Number>(
        &self,
        prices: &AtomPrices<T>,
        exclusions: &Exclusions,
        node: u32,
        walk: &mut Walk<T>,
        scratch: &mut Scratch<T>,
        found: &mut impl FnMut(T, Found),
    ) {
        walk.begin(None, false);
        let i = node as usize;
        if self.users[i].is_empty() {
            return;
        }
        let last = self.last_stage[i];
        let (covers, crosses) = (prices.at.of(node), prices.crosses.of(node));
        let Scratch {
            starts, changes, ..
        } = scratch;
        starts.fill(prices.starts.of(node), node, last);
        note_changes(self, prices, exclusions, node, changes);
        let sum = |paid: &[(u32, T)]| paid.iter().fold(T::ZERO, |s, e| s + e.1);
        let mut stand = Stand {
            graph: self,
            exclusions,
            prices,
            starts,
            node,
            covers,
            covered: sum(covers),
            crosses,
            crossed: sum(crosses),
        };
        for (k, &stage) in changes.iter().enumerate() {
            let first = changes.get(k + 1).map_or(node, |before| before + 1);
            let Turns {
                start,
                end_of_made,
                end_of_kept,
            } = match self.has_moments() {
                true => stand.at_moments(stage),
                false => stand.in_order(stage),
            };
            let start = start.map(|price| (price, 0));
            if let Some((price, way)) = start.filter(|_| stage > node) {
                walk.offer(Offer {
                    first,
                    last: stage,
                    price,
                    way,
                });
            }
            let may_stay = stage < last && exclusions.may_hold(node, stage + 1);
            let span = Span {
                first,
                last: stage,
                start,
                end_of_made,
                end_of_kept,
                stay: may_stay.then_some(T::ZERO),
            };
            walk.go(span, found);
        }
    }

    fn column(&self, node: u32, found: Found) -> Interval {
        Interval {
            node,
            start: found.start,
            end: found.end,
            reader: found.name,
        }
    }

    /// Returns whether it is from the first computation.
    fn is_free(&self, column: &Interval) -> bool {
        !column.is_recomputed()
    }

    fn inputs(&self, node: u32) -> &[u32] {
        &self.needs[node as usize]
    }

    fn made_with(&self, node: u32) -> Option<u32> {
        self.parent[node as usize].filter(|_| !self.has_moments())
    }

    fn stages_again(&self, node: u32) -> Range<u32> {
        let stages = self.stages_again(node as usize);
        *stages.start()..*stages.end() + 1
    }
}

/// Notes the stages of a tensor's life that differ from the next one in prices, readers or
/// exclusions, from the last stage down to the first one. Both of these are always among them.
fn note_changes<T: Number>(
    graph: &CheckmateGraph,
    prices: &AtomPrices<T>,
    exclusions: &Exclusions,
    node: u32,
    out: &mut Vec<u32>,
) {
    let n = graph.len() as u32;
    let i = node as usize;
    let last = graph.last_stage[i];
    out.clear();
    // The stage itself, and the one before, which is unlike it.
    let mut around = |stage: u32| out.extend([stage, stage.saturating_sub(1)]);
    for bytes in &prices.bytes {
        let stages = bytes.stages().skip_while(|t| *t < node);
        stages.take_while(|t| *t <= last + 1).for_each(&mut around);
    }
    prices
        .at
        .of(node)
        .iter()
        .for_each(|paid| around(paid.0 / n));
    graph.users[i].iter().copied().for_each(&mut around);
    let crosses = prices.crosses.of(node).iter();
    out.extend(crosses.map(|paid| paid.0.saturating_sub(1)));
    let starts = prices.starts.of(node).iter();
    out.extend(starts.flat_map(|paid| [paid.first.saturating_sub(1), paid.last]));
    let readers = graph.users[i].iter();
    out.extend(readers.clone().map(|u| graph.last_stage[*u as usize]));
    for one in readers.chain([&node]) {
        out.extend(exclusions.changes_of_starts(*one));
    }
    let holds = exclusions.changes_of_holds(node);
    out.extend(holds.map(|stage| stage.saturating_sub(1)));
    // The tensor cannot stay beyond the last stage.
    out.extend([node, last, last.saturating_sub(1)]);
    out.retain(|stage| (node..=last).contains(stage));
    out.sort_unstable_by(|a, b| b.cmp(a));
    out.dedup();
}

/// A stage of a tensor's life; stages come from the last to the first.
struct Stand<'a, T> {
    graph: &'a CheckmateGraph,
    exclusions: &'a Exclusions,
    prices: &'a AtomPrices<T>,
    starts: &'a StartPrices<T>,
    node: u32,
    /// Payments for events and crossings up to here, and the sums of these.
    covers: &'a [(u32, T)],
    covered: T,
    crosses: &'a [(u32, T)],
    crossed: T,
}

impl<T: Number> Stand<'_, T> {
    /// Payment for a tensor that is there at all events before one.
    fn bytes_before(&self, stage: u32, node: u32) -> T {
        let bytes = |gauge: u32| self.graph.sizes_of(gauge)[self.node as usize] as i64;
        self.prices.bytes_before(stage, node, bytes)
    }

    /// Removes the payments for events from one on.
    fn go_before(&mut self, event: u32) {
        while let Some((paid, before)) = self.covers.split_last().filter(|c| c.0.0 >= event) {
            self.covers = before;
            self.covered = self.covered - paid.1;
        }
    }

    /// Removes the payments for crossings of later stages.
    fn go_to_stage(&mut self, stage: u32) {
        while let Some((paid, before)) = self.crosses.split_last().filter(|c| c.0.0 > stage) {
            self.crosses = before;
            self.crossed = self.crossed - paid.1;
        }
    }

    /// The charge up to the event before a turn in a stage.
    fn charged_before(&mut self, stage: u32, turn: u32) -> T {
        self.go_before(event(self.graph.len(), stage, turn));
        self.bytes_before(stage, turn) + self.covered + self.crossed
    }

    /// Returns whether a reader may run in a stage.
    fn runs(&self, reader: u32, stage: u32) -> bool {
        reader <= stage
            && stage <= reader.max(self.graph.last_stage[reader as usize])
            && (reader == stage || self.exclusions.may_start(reader, stage, 0))
    }

    /// The arcs of a stage whose nodes have their turns in order. A stretch ends behind the reader
    /// with the least charge; of equals the first one.
    fn in_order(&mut self, stage: u32) -> Turns<T> {
        self.go_to_stage(stage);
        let graph = self.graph;
        let mut end: Option<(T, u32)> = None;
        for &u in graph.users[self.node as usize].iter().rev() {
            if self.runs(u, stage) {
                let charged = T::ZERO - self.charged_before(stage, u + 1);
                if end.is_none_or(|(best, _)| charged <= best) {
                    end = Some((charged, u));
                }
            }
        }
        let behind = u32::from(stage == self.node);
        let start = self.start(stage, self.node + behind);
        Turns {
            start,
            end_of_made: end,
            end_of_kept: end,
        }
    }

    /// The arcs of a stage with moments: a stretch ends at the moment of the stage, or within the
    /// stage, where only stretches from before are charged for nothing.
    fn at_moments(&mut self, stage: u32) -> Turns<T> {
        self.go_to_stage(stage);
        let readers = self.graph.users[self.node as usize].iter().copied();
        let reads_last = readers.clone().any(|u| u == stage);
        let reads_within = readers
            .filter(|u| *u < stage)
            .find(|u| self.runs(*u, stage));
        let end = |charged: T, name: u32| (T::ZERO - charged, name);
        let least = |a: Option<(T, u32)>, b: Option<(T, u32)>| match (a, b) {
            (Some(a), Some(b)) => Some(if b.0 <= a.0 { b } else { a }),
            _ => a.or(b),
        };
        let last = reads_last.then(|| end(self.charged_before(stage, stage + 1), stage));
        let behind = u32::from(stage == self.node);
        let start = self.start(stage, stage + behind);
        let made = reads_within.map(|u| end(self.charged_before(stage, stage), u));
        let kept = reads_within.map(|u| end(self.charged_before(stage, 0), u));
        Turns {
            start,
            end_of_made: least(last, made),
            end_of_kept: least(last, kept),
        }
    }

    /// Cost of a start in a stage, less the charge up to a turn there.
    fn start(&mut self, stage: u32, turn: u32) -> Option<T> {
        let node = self.node;
        let recomputed = stage > node;
        if recomputed && !self.exclusions.may_start(node, stage, 0) {
            return None;
        }
        self.go_before(event(self.graph.len(), stage, turn));
        let cost = match recomputed {
            true => self.graph.cost_again[node as usize] as i64,
            false => 0,
        };
        let paid = self.starts.to_all(stage);
        let bytes = self.bytes_before(stage, turn);
        Some(self.prices.one.times(cost) - paid + bytes + self.covered + self.crossed)
    }
}

/// Prices of the arcs of a stage.
struct Turns<T> {
    start: Option<T>,
    end_of_made: Option<(T, u32)>,
    end_of_kept: Option<(T, u32)>,
}
