//! Payments of rows, from duals.

use super::rows::{inside, sign};
use super::{LinkGraph, LinkRow};
use crate::checkmate::interval::{Quantity, Row};
use crate::life::AtomPrices;
use remat_solver::price::Number;

/// A copy back that is read in a stage: the stage in which it is issued, and what a unit of its time
/// costs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Return<T> {
    pub issued: u32,
    pub charge: T,
}

/// Payments to all that a trip does.
#[derive(Clone, Debug)]
pub(super) struct LinkPrices<T> {
    /// Payments of rows that know no link.
    pub atoms: AtomPrices<T>,
    /// Windows that count copies to the host: first stage, last stage, charge for a unit of time;
    /// the last stages descend.
    pub out: Vec<(u32, u32, T)>,
    /// Copies back, by the stage in which they are read: the first one issued there, the others
    /// before a window that they leave so, descending.
    pub back: Vec<Vec<Return<T>>>,
    /// Payment for a unit of time in which something is computed again, or nothing, by stage.
    pub load: Vec<T>,
    /// Payments for copies back by tensor: first and last stage in which they are read.
    pub returns: Vec<Vec<(u32, u32, T)>>,
    /// Payment for a copy to the host by tensor.
    pub leaves: Vec<T>,
    /// Charge for a byte on the host when a stage begins.
    pub host: Vec<T>,
    /// True for tensors that may come back, or stay, for turns that pay nothing: since being on the
    /// device when a stage begins or leaving does, or being on the host costs something.
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
        let atoms = AtomPrices::new(&link.graph, one, base.clone());
        let mut returns = vec![Vec::new(); n];
        for (row, y) in base.filter(|r| r.1 != T::ZERO) {
            if let Row::Path(cut) = row {
                for &node in &cut.path {
                    returns[node as usize].push((cut.from, cut.reader, y));
                }
            }
        }
        let mut prices = LinkPrices {
            atoms,
            out: Vec::new(),
            back: Vec::new(),
            load: vec![T::ZERO; n],
            returns,
            leaves: vec![T::ZERO; n],
            host: vec![T::ZERO; n],
            every_turn: vec![false; n],
        };
        let mut windows: Vec<(u32, u32, T)> = Vec::new();
        for (row, y) in rows.filter(|r| r.1 != T::ZERO) {
            match *row {
                LinkRow::Base(Row::Branch(ref branch)) => {
                    if let Quantity::Held { of, .. } = branch.quantity {
                        for &node in of.list(&link.graph.classes).iter() {
                            prices.every_turn[node as usize] |= branch.at_least;
                        }
                    }
                }
                LinkRow::Base(_) => {}
                LinkRow::Leaves { node, at_least, .. } => {
                    let sum = &mut prices.leaves[node as usize];
                    *sum = *sum + y.times(sign(at_least));
                    prices.every_turn[node as usize] |= at_least;
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
        // The last one to begin comes first.
        windows.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.cmp(&a.1)));
        let least = link.first_return();
        prices.back = (0..n as u32)
            .map(|stage| returns_of(&windows, stage, least))
            .collect();
        prices
    }
}

/// The copies back that are read in a stage and worth a look, by windows in the order of their first
/// stages, descending.
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
