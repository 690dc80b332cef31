//! Value of multipliers: for a tensor's steps on the device, for its copies, and for time.

use super::graph::LinkedGraph;
use super::rows::device_row;
use super::{Lane, TripQuantity, TripRow};
use crate::proof::checkmate;
use crate::proof::checkmate::rows::Prices as DevicePrices;

/// A window that counts some copies.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// First stage.
    pub first: usize,
    /// Last stage.
    pub last: usize,
    /// Charge for a unit of the time of a copy.
    pub charge: i128,
}

/// A payment to a tensor that comes back.
#[derive(Clone, Copy, Debug)]
pub struct Return {
    /// Stage before which it must have left the device; it is read in this stage or later.
    pub from: usize,
    /// The last stage in which it may be read.
    pub reader: usize,
    /// The payment.
    pub pay: i128,
}

/// Value of multipliers.
pub struct Prices {
    /// Prices of rows of the device.
    pub device: DevicePrices,
    /// A unit of cost.
    pub one: i128,
    /// Windows that count copies to the host.
    pub out: Vec<Window>,
    /// Windows that count copies back, over each stage; the last to begin comes first.
    pub back: Vec<Vec<Window>>,
    /// Payment for a unit of idle or recomputation time, by stage.
    pub load: Vec<i128>,
    /// Payments for a return, by tensor.
    pub returns: Vec<Vec<Return>>,
    /// Payment for a copy to the host, by tensor.
    pub leaves: Vec<i128>,
    /// Charge for a byte that waits on the host when a stage begins.
    pub host: Vec<i128>,
    /// Right sides.
    pub worth: i128,
}

impl Prices {
    /// Prices of rows with multipliers. All rows are known to hold. `None` if sums might not fit
    /// into 128 bits.
    pub fn new<'a>(
        linked: &LinkedGraph,
        rows: impl Iterator<Item = (&'a TripRow, i128)>,
        one: i128,
    ) -> Option<Prices> {
        let (n, graph) = (linked.len(), &linked.graph);
        let mut on_device: Vec<(checkmate::CheckmateRow, i128)> = Vec::new();
        let mut prices = Prices {
            device: DevicePrices::new(graph, std::iter::empty())?,
            one,
            out: Vec::new(),
            back: vec![Vec::new(); n],
            load: vec![0; n],
            returns: vec![Vec::new(); n],
            leaves: vec![0; n],
            host: vec![0; n],
            worth: 0,
        };
        let mut most = 0i128;
        let mut back: Vec<Window> = Vec::new();
        for (row, y) in rows {
            on_device.extend(device_row(row).map(|row| (row, y)));
            most = most.checked_add(y.checked_mul(weight(linked, row)?)?)?;
            match row {
                TripRow::Device(checkmate::CheckmateRow::Path(path)) => {
                    let one = Return {
                        from: path.from as usize,
                        reader: path.reader as usize,
                        pay: y,
                    };
                    for node in &path.nodes {
                        prices.returns[*node as usize].push(one);
                    }
                }
                TripRow::Device(_) => {}
                TripRow::Branch(branch) => {
                    if let TripQuantity::Leaves { node } = branch.quantity {
                        let y = if branch.at_least { y } else { -y };
                        prices.leaves[node as usize] += y;
                        prices.worth += y * i128::from(branch.count);
                    }
                }
                TripRow::Window { lane, first, last } => {
                    let window = Window {
                        first: *first as usize,
                        last: *last as usize,
                        charge: y,
                    };
                    let begin = begin_of(*lane, window.first);
                    if *lane != Lane::Back {
                        prices.out.push(window);
                    }
                    if *lane != Lane::Out {
                        back.push(window);
                    }
                    for stage in begin..=window.last {
                        prices.load[stage] += y;
                    }
                    prices.worth -= y * i128::from(linked.first_time(begin, window.last));
                }
                TripRow::Host { stage } => {
                    prices.host[*stage as usize] += y;
                    prices.worth -= y * i128::from(linked.host_bytes.unwrap_or(u64::MAX));
                }
            }
        }
        back.sort_by_key(|w| std::cmp::Reverse(w.first));
        for (stage, over) in prices.back.iter_mut().enumerate() {
            let is_over = |w: &&Window| (w.first..=w.last).contains(&stage);
            over.extend(back.iter().filter(is_over));
        }
        prices.device = DevicePrices::new(graph, on_device.iter().map(|(row, y)| (row, *y)))?;
        prices.worth = prices.worth.checked_add(prices.device.worth)?;
        let again = graph.cost_again.iter().map(|&c| i128::from(c));
        let dearest = again.sum::<i128>().checked_mul(n as i128)?;
        let costs = linked.base().checked_add(dearest)?.checked_mul(one)?;
        let sums = most.checked_add(prices.device.most)?.checked_add(costs)?;
        sums.checked_mul(32)?;
        one.checked_mul(linked.unit.into())?;
        Some(prices)
    }
}

/// First stage whose idle time and recomputations are within a window.
fn begin_of(lane: Lane, first: usize) -> usize {
    first + usize::from(lane == Lane::Out)
}

/// The largest sum of a row's coefficients over the lives of all tensors, for the terms of the link
/// and the right side; at least 1.
fn weight(linked: &LinkedGraph, row: &TripRow) -> Option<i128> {
    let n = linked.len() as i128;
    let sum = |times: &mut dyn Iterator<Item = u64>| times.map(i128::from).sum::<i128>();
    let weight = match row {
        // Each window pays once.
        TripRow::Device(checkmate::CheckmateRow::Path(path)) => path.nodes.len() as i128,
        TripRow::Device(_) => 0,
        TripRow::Branch(branch) => match branch.quantity {
            TripQuantity::Schedule(_) => 0,
            // It may leave at any turn.
            TripQuantity::Leaves { .. } => n * n + i128::from(branch.count),
        },
        TripRow::Window { lane, first, last } => {
            let copies = sum(&mut linked.copies.iter().flatten().flatten().copied());
            let again = sum(&mut linked.again.iter().copied());
            let begin = begin_of(*lane, *first as usize);
            let time = i128::from(linked.first_time(begin, *last as usize));
            again.checked_mul(n)? + copies + time
        }
        TripRow::Host { .. } => {
            let room = i128::from(linked.host_bytes.unwrap_or(u64::MAX));
            sum(&mut linked.graph.bytes.iter().copied()) + room
        }
    };
    Some(weight + 1)
}
