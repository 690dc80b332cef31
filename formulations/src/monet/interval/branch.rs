//! Branchings: integer quantities of a schedule, linear in its columns, and which of them a fractional point leaves open.

use super::rows::{Kind, Row, Term, Which};
use super::{Graph, Point};
use crate::interval::{INTEGRAL, Open, fraction, most_promising, open};

/// An integer quantity of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Whether the backward node of a stage runs a choice.
    Choice {
        /// The stage.
        stage: u32,
        /// Index into [`Graph::choices`].
        way: u32,
    },
    /// How often a node is computed in stages `first..=last`.
    Starts {
        /// The node.
        node: u32,
        /// First stage.
        first: u32,
        /// Last stage.
        last: u32,
    },
    /// Whether a node is computed in a stage with at least so many bytes of workspace.
    Scratch {
        /// The node.
        node: u32,
        /// The stage.
        stage: u32,
        /// Workspace.
        bytes: i64,
    },
    /// Whether a node is computed in place in a stage.
    InPlace {
        /// The node.
        node: u32,
        /// The stage.
        stage: u32,
    },
    /// Whether a tensor is stored when a stage starts.
    Stored {
        /// The tensor.
        node: u32,
        /// The stage.
        stage: u32,
    },
}

/// A quantity is at least, or at most, so much.
pub type Branch = crate::interval::Branch<Quantity>;

impl Row {
    /// A branching: `quantity >= count`, or `-quantity >= -count`.
    pub fn branch(branch: &Branch) -> Row {
        let sign = branch.sign();
        let start = |node, first, last, which| Term::Start {
            node,
            first,
            last,
            which,
            coefficient: sign,
        };
        let term = match branch.quantity {
            Quantity::Choice { stage, way } => Term::Choice {
                stage,
                way,
                coefficient: sign,
            },
            Quantity::Starts { node, first, last } => start(node, first, last, Which::All),
            Quantity::Scratch { node, stage, bytes } => {
                start(node, stage, stage, Which::AtLeast(bytes))
            }
            Quantity::InPlace { node, stage } => start(node, stage, stage, Which::InPlace),
            Quantity::Stored { node, stage } => Term::Stored {
                node,
                stage,
                coefficient: sign,
            },
        };
        Row {
            kind: Kind::Branch,
            right: sign * i64::from(branch.count),
            terms: vec![term],
        }
    }
}

/// Fractional quantities of a point, the highest scores first, at most `limit`: implementations, for each tensor its count
/// of recomputations, the stage in which its storage is most in doubt, the window up to which it is recomputed, and how
/// it is computed. Empty only where the point is a schedule.
pub(super) fn open_quantities(graph: &Graph, point: &Point, limit: usize) -> Vec<Open<Quantity>> {
    let mean = graph.base_cost() as f64 / graph.columns as f64;
    let mut found: Vec<Open<Quantity>> = Vec::new();
    let mut add = |quantity, value: f64, weight: f64| found.extend(open(quantity, value, weight));
    for t in 1..graph.stages {
        if graph.choices[t].len() < 2 {
            continue;
        }
        for (way, x) in point.choices[t].iter().enumerate() {
            let quantity = Quantity::Choice {
                stage: t as u32,
                way: way as u32,
            };
            add(quantity, *x, mean);
        }
    }
    for i in 0..graph.columns {
        let node = i as u32;
        let Some(last) = graph.last_use[i] else {
            ways(graph, point, node, 0, mean, &mut add);
            continue;
        };
        let least = graph.again[i].iter().map(|s| s.cost).min().unwrap_or(0);
        let cost = least as f64 + 1e-3 * mean;
        let first = u32::from(graph.is_forced(node));
        let made = point.made_before(i);
        let before = |t: u32| made[t as usize + 1] - made[first as usize];
        add(Quantity::Starts { node, first, last }, before(last), cost);
        let windows = (first..last).map(|t| (t, before(t)));
        let most = |a: &(u32, f64), b: &(u32, f64)| {
            fraction(a.1).total_cmp(&fraction(b.1)).then(b.0.cmp(&a.0))
        };
        if let Some((last, value)) = windows.max_by(most) {
            add(Quantity::Starts { node, first, last }, value, 0.5 * cost);
        }
        // Stored twice over, which costs nothing where memory is not tight, is stored.
        let stored =
            (1..=graph.last_stored(node)).map(|t| (t, point.stored(t as usize, i).min(1.0)));
        if let Some((stage, value)) = stored.max_by(most) {
            add(Quantity::Stored { node, stage }, value, 0.9 * cost);
        }
        for t in 0..=last {
            ways(graph, point, node, t, cost, &mut add);
        }
    }
    most_promising(found, limit)
}

/// How a node is computed in a stage.
fn ways(
    graph: &Graph,
    point: &Point,
    node: u32,
    stage: u32,
    cost: f64,
    add: &mut impl FnMut(Quantity, f64, f64),
) {
    let starts = graph.starts(node, stage);
    if starts.len() < 2 || point.made(stage as usize, node as usize) <= INTEGRAL {
        return;
    }
    let with = |bytes: i64| {
        let ways = point.ways_with_values(node, stage);
        let ways = ways.filter(|(c, _)| c.way(graph).workspace >= bytes);
        ways.map(|(_, x)| x).sum::<f64>()
    };
    for s in starts {
        let bytes = s.workspace;
        add(
            Quantity::Scratch { node, stage, bytes },
            with(bytes),
            0.3 * cost,
        );
    }
    let in_place = point.ways_with_values(node, stage);
    let in_place = in_place.filter(|(c, _)| c.way(graph).in_place);
    let value = in_place.map(|(_, x)| x).sum::<f64>();
    add(Quantity::InPlace { node, stage }, value, 0.3 * cost);
}
