//! The automaton of a tensor: an interval is charged stage by stage, and a tensor whose interval
//! ends in a stage may be made again there.

use super::{Interval, MonetGraph};
use crate::life::{AtomPrices, Exclusions, Found, Lives, Offer, Scratch, Sizes, Span, Term, Walk};
use remat_solver::price::Number;
use std::ops::Range;

/// Names of ends: the tensor is dropped, or held for the backward node of the stage.
const DROPPED: u32 = 0;
const HELD: u32 = 1;

impl Lives for MonetGraph {
    fn terms(&self, row: &Self::Row, note: impl FnMut(Term)) {
        row.terms.iter().copied().for_each(note);
    }

    fn sizes(&self) -> Sizes {
        let most = |i: usize| {
            let ways = self.first[i].iter().chain(&self.again[i]);
            ways.map(|s| s.workspace.unsigned_abs()).max().unwrap_or(0)
        };
        Sizes {
            bytes: 0.0,
            workspace: (0..self.columns).map(most).sum::<u64>() as f64,
            counts: (self.columns * (self.stages + 2)) as f64,
        }
    }

    /// Returns the dual value itself: wrong signs are within the tolerance of the LP solver.
    fn pricing_dual(&self, _: &Self::Row, y: f64) -> f64 {
        y
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
        let (last, forced) = (self.last_stored(node), self.is_forced(node));
        walk.begin(forced.then_some(0), true);
        if !self.is_of_use(node) {
            return;
        }
        let Scratch {
            starts,
            by_stage: [stored, held],
            ..
        } = scratch;
        starts.fill(prices.starts.of(node), 0, last);
        spread(prices.crosses.of(node), last, stored);
        spread(prices.at.of(node), last, held);
        let dropped = Some((T::ZERO, DROPPED));
        for stage in (0..=last).rev() {
            let mut start: Option<(T, u16)> = None;
            if stage < last.max(1) {
                for (way, s) in self.open_starts(exclusions, node, stage) {
                    let cost = prices.one.times(s.cost as i64);
                    let price = starts.price(cost, stage, s.in_place, s.workspace);
                    walk.offer(Offer {
                        first: stage,
                        last: stage,
                        price,
                        way,
                    });
                    if start.is_none_or(|best| price < best.0) {
                        start = Some((price, way));
                    }
                }
            }
            let kept = -held[stage as usize];
            let is_held = kept < T::ZERO && self.is_read(node, stage);
            let may_stay = stage < last && exclusions.may_hold(node, stage + 1);
            let span = Span {
                first: stage,
                last: stage,
                start,
                end_of_made: if is_held { Some((kept, HELD)) } else { dropped },
                end_of_kept: dropped,
                stay: may_stay.then(|| -stored[stage as usize + 1]),
            };
            walk.go(span, found);
        }
    }

    fn column(&self, node: u32, found: Found) -> Interval {
        Interval {
            node,
            start: found.start,
            end: found.end,
            way: found.way,
            held: found.name == HELD,
        }
    }

    fn inputs(&self, node: u32) -> &[u32] {
        &self.needs[node as usize]
    }

    fn stages_again(&self, node: u32) -> Range<u32> {
        1..self.last_stored(node)
    }

    fn ways(&self, node: u32, stage: u32) -> usize {
        self.starts(node, stage).len()
    }

    fn choices(&self) -> impl Iterator<Item = usize> {
        self.choices.iter().map(Vec::len)
    }

    fn choice_cost(&self, stage: usize, way: usize) -> u64 {
        self.choices[stage][way].cost
    }
}

impl MonetGraph {
    /// Ways to compute a node in a stage that fit and are permitted. A first start is forced: if no
    /// way fits, all ways count.
    fn open_starts(
        &self,
        exclusions: &Exclusions,
        node: u32,
        stage: u32,
    ) -> impl Iterator<Item = (u16, &super::StartWay)> {
        let any = stage == 0 && self.is_forced(node) && !self.fits_somehow(node, stage);
        let open = move |way: usize| {
            any || (self.fits(node, stage, way) && exclusions.may_start(node, stage, way))
        };
        let ways = self.starts(node, stage).iter().enumerate();
        let ways = ways.filter(move |(way, _)| open(*way));
        ways.map(|(way, s)| (way as u16, s))
    }
}

/// Payments by stage, up to a last one.
fn spread<T: Number>(paid: &[(u32, T)], last: u32, out: &mut Vec<T>) {
    out.clear();
    out.resize(last as usize + 1, T::ZERO);
    for &(stage, y) in paid.iter().filter(|p| p.0 <= last) {
        out[stage as usize] = out[stage as usize] + y;
    }
}
