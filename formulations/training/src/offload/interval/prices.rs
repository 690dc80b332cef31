//! Payments of rows, from duals.

use super::rows::{before, inside, sign};
use super::{LinkGraph, LinkRow};
use crate::checkmate::interval::{Quantity, Row};
use crate::life::AtomPrices;
use remat_solver::price::Number;

/// A copy back that is read in a stage: the stage in which it is issued, and the charge for a unit
/// of its time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Return<T> {
    pub issued: u32,
    pub charge: T,
}

/// Payments to all parts of a trip.
#[derive(Clone, Debug)]
pub(super) struct LinkPrices<T> {
    /// Payments of rows without the link.
    pub atoms: AtomPrices<T>,
    /// Windows that count copies to the host: first stage, last stage, charge for a unit of time;
    /// the last stages descend.
    pub out: Vec<(u32, u32, T)>,
    /// Copies back, by the stage in which they are read: the first is issued there, each other one
    /// ahead of a window that it thereby avoids, in descending order.
    pub back: Vec<Vec<Return<T>>>,
    /// Payment for a unit of recomputation time or idle time, by stage.
    pub load: Vec<T>,
    /// Payments for copies back by tensor: first and last stage in which they are read.
    pub returns: Vec<Vec<(u32, u32, T)>>,
    /// Payment for a copy to the host by tensor.
    pub leaves: Vec<T>,
    /// Payment for a scattered gradient by tensor.
    pub scatters: Vec<T>,
    /// Charge for a byte on the host when a stage begins.
    pub host: Vec<T>,
    /// Payments to the ways of first runs, by node.
    pub ways: Vec<Vec<T>>,
    /// Payment to the first run of a by-product that need not be made, by node.
    pub made: Vec<T>,
    /// Payments for a byte of memory at further runs of a node with several ways, by stage
    /// descending.
    pub again: Vec<Vec<(u32, T)>>,
    /// True for tensors that may come back, or stay, for turns without payments. They are paid for
    /// leaving or for being on the device when a stage begins, or charged for being on the host.
    pub every_turn: Vec<bool>,
}

impl<T: Number> LinkPrices<T> {
    /// Payments of rows with their duals, which have the signs that the rows allow.
    pub fn new<'a>(
        link: &LinkGraph,
        one: T,
        rows: impl Iterator<Item = (&'a LinkRow, T)> + Clone,
    ) -> Self {
        let n = link.len();
        let base = rows.clone().filter_map(|(row, y)| match row {
            LinkRow::Base(row) => Some((row, y)),
            _ => None,
        });
        let beside = beside(link, rows.clone());
        let beside = beside.iter().map(|(row, y)| (row, *y));
        let atoms = AtomPrices::new(&link.graph, one, base.chain(beside));
        let mut prices = LinkPrices {
            atoms,
            out: Vec::new(),
            back: Vec::new(),
            load: vec![T::ZERO; n],
            returns: vec![Vec::new(); n],
            leaves: vec![T::ZERO; n],
            scatters: vec![T::ZERO; n],
            host: vec![T::ZERO; n],
            ways: link
                .ways
                .first
                .iter()
                .map(|w| vec![T::ZERO; w.len()])
                .collect(),
            made: vec![T::ZERO; n],
            again: vec![Vec::new(); n],
            every_turn: vec![false; n],
        };
        let mut windows: Vec<(u32, u32, T)> = Vec::new();
        for (row, y) in rows.filter(|r| r.1 != T::ZERO) {
            prices.pay_ways(link, row, y);
            match *row {
                LinkRow::Base(Row::Branch(ref branch)) => {
                    if let Quantity::Held { of, .. } = branch.quantity {
                        for &node in of.list(&link.graph.classes).iter() {
                            prices.every_turn[node as usize] |= branch.at_least;
                        }
                    }
                }
                LinkRow::Base(Row::Path(ref cut)) => {
                    for &node in &cut.path {
                        let last = cut.reader - link.delay(node);
                        prices.returns[node as usize].push((cut.from, last, y));
                    }
                }
                LinkRow::Base(_)
                | LinkRow::Choose { .. }
                | LinkRow::Reads { .. }
                | LinkRow::Way { .. } => {}
                LinkRow::Leaves { node, at_least, .. } => {
                    let sum = &mut prices.leaves[node as usize];
                    *sum = *sum + y.times(sign(at_least));
                    prices.every_turn[node as usize] |= at_least;
                }
                LinkRow::Scatters { node } => {
                    let sum = &mut prices.scatters[node as usize];
                    *sum = *sum + y;
                }
                LinkRow::Host { stage } => {
                    let sum = &mut prices.host[stage as usize];
                    *sum = *sum - y;
                    prices.every_turn.fill(true);
                }
                LinkRow::Window { lane, first, last } => {
                    let [out, back] = lane.has();
                    if out {
                        prices.out.push((first, last, y));
                    }
                    if back {
                        windows.push((first, last, y));
                    }
                    for stage in inside(lane, first, last) {
                        let load = &mut prices.load[stage as usize];
                        *load = *load + y;
                    }
                }
            }
        }
        prices.out.sort_by(|a, b| b.1.cmp(&a.1).then(b.0.cmp(&a.0)));
        // The last window to begin comes first.
        windows.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(&a.1)));
        let stages = |own: &mut Vec<(u32, T)>| own.sort_by_key(|paid| std::cmp::Reverse(paid.0));
        prices.again.iter_mut().for_each(stages);
        let least = link.first_return();
        prices.back = (0..n as u32)
            .map(|stage| returns_of(&windows, stage, least))
            .collect();
        prices
    }
}

impl<T: Number> LinkPrices<T> {
    /// Pays the ways of first runs, by-products that are made, and workspaces of further runs.
    fn pay_ways(&mut self, link: &LinkGraph, row: &LinkRow, y: T) {
        let mut pay = |node: u32| {
            for (way, paid) in (0u32..).zip(&mut self.ways[node as usize]) {
                *paid = *paid + y.times(row.of_way(link, node, way));
            }
        };
        let made = |node: u32| link.ways.optional[node as usize];
        match *row {
            LinkRow::Base(Row::Memory { stage, node, .. }) if stage == node => {
                pay(node);
                if let Some(made) = made(node) {
                    let paid = &mut self.made[node as usize];
                    *paid = *paid + y.times(made.bytes);
                }
            }
            LinkRow::Base(Row::Memory { stage, node, .. })
                if !link.ways.again[node as usize].is_empty() =>
            {
                self.again[node as usize].push((stage, y));
            }
            LinkRow::Choose { node } | LinkRow::Way { node, .. } => pay(node),
            LinkRow::Reads { node, .. } => {
                pay(node);
                if made(node).is_some() {
                    let paid = &mut self.made[node as usize];
                    *paid = *paid - y;
                }
            }
            LinkRow::Window { lane, first, last } => {
                for node in before(lane, first, last) {
                    pay(node);
                    if let Some(made) = made(node) {
                        let paid = &mut self.made[node as usize];
                        *paid = *paid + y.times(made.time);
                    }
                }
            }
            _ => {}
        }
    }

    /// The sum, over nodes with several ways, of the least price of a first run's way.
    pub fn of_ways(&self, link: &LinkGraph) -> T {
        let ways = link.ways.first.iter().zip(&self.ways);
        let least = ways.filter_map(|(ways, paid)| {
            let prices = ways.iter().zip(paid);
            let prices = prices.map(|(w, paid)| self.atoms.one.times(w.cost as i64) - *paid);
            prices.reduce(|a, b| if b < a { b } else { a })
        });
        least.fold(T::ZERO, |sum, price| sum + price)
    }

    /// Price of the first run of a by-product that need not be made.
    pub fn of_made(&self, link: &LinkGraph, node: u32) -> T {
        let cost = link.ways.optional[node as usize].map_or(0, |made| made.cost);
        self.atoms.one.times(cost as i64) - self.made[node as usize]
    }

    /// The least price of a further run of a node in a stage, without payments to all of its ways,
    /// and the way.
    pub fn of_again(&self, link: &LinkGraph, node: u32, stage: u32) -> (T, u16) {
        let i = node as usize;
        let price = |cost: u64, time: i64| {
            self.atoms.one.times(cost as i64) - self.load[stage as usize].times(time)
        };
        let (cost, time) = (link.graph.cost_again[i], link.again[i]);
        let least = price(cost, time);
        let ways = &link.ways.again[i];
        if ways.is_empty() {
            return (least, 0);
        }
        let own = &self.again[i];
        let own = &own[own.partition_point(|paid| paid.0 > stage)..];
        let own = own.iter().take_while(|paid| paid.0 == stage);
        let bytes = own.fold(T::ZERO, |sum, paid| sum + paid.1);
        let prices = (0u16..).zip(ways).map(|(way, w)| {
            let beyond = price(w.cost, w.time) - bytes.times(w.bytes);
            (least + beyond, way)
        });
        let best = prices.reduce(|a, b| if b.0 < a.0 { b } else { a });
        best.unwrap_or((least, 0))
    }
}

/// Rows without copies whose terms count in other rows, with their duals.
fn beside<'a, T: Number>(
    link: &LinkGraph,
    rows: impl Iterator<Item = (&'a LinkRow, T)>,
) -> Vec<(Row, T)> {
    let mut out = Vec::new();
    for (of, y) in rows {
        of.without_copies(link, |row, times| match of {
            LinkRow::Base(own) if std::ptr::eq(own, row) => {}
            _ => out.push((row.clone(), y.times(times))),
        });
    }
    out
}

/// The copies back that are read in a stage and may be cheapest. `windows` descend by first stage;
/// no copy back is issued before stage `least`.
fn returns_of<T: Number>(windows: &[(u32, u32, T)], stage: u32, least: u32) -> Vec<Return<T>> {
    if stage < least {
        return Vec::new();
    }
    let over = windows
        .iter()
        .filter(|w| w.0 <= stage && stage <= w.1)
        .copied();
    let mut charge = over.clone().fold(T::ZERO, |sum, w| sum + w.2);
    let mut out = vec![Return {
        issued: stage,
        charge,
    }];
    for (first, _, y) in over {
        if first <= least {
            break;
        }
        charge = charge - y;
        match out.last_mut() {
            Some(last) if last.issued == first - 1 => last.charge = charge,
            _ => out.push(Return {
                issued: first - 1,
                charge,
            }),
        }
    }
    out
}
