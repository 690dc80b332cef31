//! Branchings: integer quantities of a schedule, linear in its intervals, and which of them a fractional point leaves open.

use super::{Graph, Interval, IntervalPoint};
use crate::checkmate::path_cuts::FractionalPoint;
use crate::interval::{INTEGRAL, Open, fraction, most_promising, open};

/// An integer quantity of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// How often `node` is recomputed in stages `first..=last`.
    Starts {
        /// The tensor.
        node: u32,
        /// First stage of the window.
        first: u32,
        /// Last stage of the window.
        last: u32,
    },
    /// Whether `node` is held when `stage` starts: 0 or 1.
    Held {
        /// The tensor.
        node: u32,
        /// The stage.
        stage: u32,
    },
}

impl Quantity {
    /// The tensor it is about.
    pub fn node(&self) -> u32 {
        match *self {
            Quantity::Starts { node, .. } | Quantity::Held { node, .. } => node,
        }
    }

    /// Whether an interval adds 1 to it.
    pub fn counts(&self, c: &Interval) -> bool {
        match *self {
            Quantity::Starts { node, first, last } => {
                c.node == node && c.is_recomputed() && (first..=last).contains(&c.start)
            }
            Quantity::Held { node, stage } => c.node == node && c.crosses(stage),
        }
    }
}

/// A quantity is at least, or at most, so much.
pub type Branch = crate::interval::Branch<Quantity>;

/// Fractional quantities of a point: for each tensor its count of recomputations, the stage in which its being held is most
/// in doubt, and the window up to which its recomputations are; the highest scores first, at most `limit`. Empty only
/// where `R` and `S` are integral.
pub(super) fn open_quantities(
    graph: &Graph,
    point: &IntervalPoint,
    limit: usize,
) -> Vec<Open<Quantity>> {
    let fractional = point.fractional(graph);
    let mean = graph.base_cost() as f64 / graph.len().max(1) as f64;
    let mut found = Vec::new();
    for i in 0..graph.len() {
        // Tensors that cost nothing matter by what they hold.
        let cost = graph.cost[i] as f64 + 1e-3 * mean;
        let mut add = |quantity, value: f64, weight: f64| {
            found.extend(open(quantity, value, cost * weight));
        };
        let node = i as u32;
        let (first, last) = (node + 1, graph.last_stage[i]);
        if first > last {
            continue;
        }
        let made = fractional.recomputed_before(i);
        let count = made[last as usize + 1];
        add(Quantity::Starts { node, first, last }, count, 1.0);
        // Held twice over, which costs nothing where memory is not tight, is held.
        if let Some((stage, value)) = most_doubtful_stage(graph, &fractional, i) {
            add(Quantity::Held { node, stage }, value, 0.9);
        }
        let windows = (first..last).map(|t| (t, made[t as usize + 1]));
        if let Some((t, value)) = windows.max_by(|a, b| {
            let fractions = fraction(a.1).total_cmp(&fraction(b.1));
            fractions.then(b.0.cmp(&a.0))
        }) {
            let window = Quantity::Starts {
                node,
                first,
                last: t,
            };
            add(window, value, 0.5);
        }
    }
    most_promising(found, limit)
}

/// The stage at whose start it is most doubtful whether a tensor is held: the middle of the longest run of stages with the
/// most fractional value. Where there is a backward pass, its first stage if that is fractional enough.
fn most_doubtful_stage(graph: &Graph, point: &FractionalPoint, node: usize) -> Option<(u32, f64)> {
    let held = |t: usize| point.retained(t, node).min(1.0);
    let (first, last) = (node + 1, graph.last_stage[node] as usize);
    if let Some(f) = graph.first_backward
        && node < f as usize
        && fraction(held(f as usize)) > 0.1
    {
        return Some((f, held(f as usize)));
    }
    let worst = (first..=last)
        .map(|t| fraction(held(t)))
        .fold(0.0, f64::max);
    if worst <= INTEGRAL {
        return None;
    }
    let mut best = (0, 0);
    let mut run = 0;
    for t in first..=last + 1 {
        if t <= last && fraction(held(t)) >= worst - 1e-6 {
            run += 1;
        } else {
            if run > best.0 {
                best = (run, t - run + run / 2);
            }
            run = 0;
        }
    }
    Some((best.1 as u32, held(best.1)))
}
