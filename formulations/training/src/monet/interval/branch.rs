//! Branchings: integer quantities of a schedule, linear in its columns, and the ones that are
//! fractional at a point.

use super::rows::{Row, RowKind};
use super::{Derivation, MonetGraph, Point};
use crate::life::{CLASS_WEIGHT, Group, Term, Which};
use remat_solver::price::{INTEGRALITY_TOLERANCE, Open, fraction, most_promising};

/// An integer quantity of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Number of backward nodes that run a choice.
    Choice {
        /// Their stages.
        of: Group,
        /// Index into [`MonetGraph::choices`].
        way: u32,
    },
    /// Number of computations of nodes in stages `first..=last`.
    Starts {
        /// The nodes.
        of: Group,
        /// First stage.
        first: u32,
        /// Last stage.
        last: u32,
    },
    /// True if a node is computed in a stage with at least so many bytes of workspace.
    Scratch {
        /// The node.
        node: u32,
        /// The stage.
        stage: u32,
        /// Workspace.
        bytes: i64,
    },
    /// True if a node is computed in place in a stage.
    InPlace {
        /// The node.
        node: u32,
        /// The stage.
        stage: u32,
    },
    /// Number of tensors that are stored when a stage starts.
    Stored {
        /// The tensors.
        of: Group,
        /// The stage.
        stage: u32,
    },
}

/// A lower or upper bound on a quantity.
pub type Branch = remat_solver::price::Branch<Quantity>;

impl Row {
    /// A branching: `quantity >= count`, or `-quantity >= -count`.
    pub fn branch(graph: &MonetGraph, branch: &Branch) -> Row {
        let coefficient = branch.sign();
        let start = |node, first, last, which| Term::start(node, first, last, which, coefficient);
        let terms = match branch.quantity {
            Quantity::Choice { of, way } => {
                let stages = of.list(&graph.choice_classes).iter();
                stages.map(|&t| Term::choice(t, way, coefficient)).collect()
            }
            Quantity::Starts { of, first, last } => {
                let nodes = of.list(&graph.classes).iter();
                nodes.map(|&i| start(i, first, last, Which::All)).collect()
            }
            Quantity::Scratch { node, stage, bytes } => {
                vec![start(node, stage, stage, Which::AtLeast(bytes))]
            }
            Quantity::InPlace { node, stage } => vec![start(node, stage, stage, Which::InPlace)],
            Quantity::Stored { of, stage } => {
                let nodes = of.list(&graph.classes).iter();
                nodes
                    .map(|&i| Term::crosses(i, stage, coefficient))
                    .collect()
            }
        };
        let right = coefficient * i64::from(branch.count);
        Row::new(RowKind::Branch, right, terms, Derivation::Branch(*branch))
    }
}

/// Fractional quantities of a point, the highest scores first, at most `limit`:
/// - choices of backward nodes;
/// - for each tensor and each class: the number of recomputations up to the last use, and up to the
///   stage where it is most fractional;
/// - for each tensor and each class: the number of stored tensors, in the stage where it is most
///   fractional;
/// - the way in which each node is computed.
///
/// Empty only if the point is a schedule.
pub(super) fn open_quantities(
    graph: &MonetGraph,
    point: &Point,
    limit: usize,
) -> Vec<Open<Quantity>> {
    let mean = graph.base_cost() as f64 / graph.columns as f64;
    let mut found: Vec<Open<Quantity>> = Vec::new();
    let mut add = |quantity, value: f64, weight: f64| {
        found.extend(Open::if_fractional(quantity, value, weight))
    };
    for of in groups(graph.stages, &graph.choice_classes) {
        let stages = of.list(&graph.choice_classes);
        let ways = graph.choices[stages[0] as usize].len();
        if ways < 2 || stages[0] == 0 {
            continue;
        }
        for way in 0..ways {
            let value = stages.iter().map(|&t| point.choices[t as usize][way]).sum();
            let quantity = Quantity::Choice {
                of,
                way: way as u32,
            };
            add(quantity, value, weight(mean, stages));
        }
    }
    for of in groups(graph.columns, &graph.classes) {
        open_counts(graph, point, of, mean, &mut add);
    }
    for i in 0..graph.columns {
        let node = i as u32;
        let (cost, last) = match graph.last_use[i] {
            Some(last) => (graph.recomputation(i) as f64 + 1e-3 * mean, last),
            None => (mean, 0),
        };
        for t in 0..=last {
            ways(graph, point, node, t, cost, &mut add);
        }
    }
    most_promising(found, limit)
}

/// The first so many single members, and all classes.
fn groups(single: usize, classes: &[Vec<u32>]) -> impl Iterator<Item = Group> + use<> {
    let single = (0..single as u32).map(Group::One);
    single.chain((0..classes.len() as u32).map(Group::Class))
}

/// Branching weight of a count over a class, given the weight of a count over one member.
fn weight(one: f64, like: &[u32]) -> f64 {
    match like.len() {
        1 => one,
        _ => CLASS_WEIGHT * one,
    }
}

/// Adds quantities to branch on: numbers of recomputations and of stored tensors.
fn open_counts(
    graph: &MonetGraph,
    point: &Point,
    of: Group,
    mean: f64,
    add: &mut impl FnMut(Quantity, f64, f64),
) {
    let nodes = of.list(&graph.classes);
    let costs = nodes.iter().map(|&i| graph.recomputation(i as usize));
    let cost = costs.sum::<u64>() as f64 / nodes.len() as f64 + 1e-3 * mean;
    let cost = weight(cost, nodes);
    let most = |a: &(u32, f64), b: &(u32, f64)| {
        fraction(a.1).total_cmp(&fraction(b.1)).then(b.0.cmp(&a.0))
    };
    let last = nodes.iter().filter_map(|&i| graph.last_use[i as usize]);
    if let Some(last) = last.max() {
        let first = nodes.iter().any(|&i| graph.is_forced(i)).into();
        let made = |t: usize| -> f64 {
            nodes
                .iter()
                .map(|&i| point.made_before(i as usize)[t])
                .sum()
        };
        let before_first = made(first as usize);
        let before = |t: u32| made(t as usize + 1) - before_first;
        add(Quantity::Starts { of, first, last }, before(last), cost);
        let windows = (first..last).map(|t| (t, before(t)));
        if let Some((last, value)) = windows.max_by(most) {
            add(Quantity::Starts { of, first, last }, value, 0.5 * cost);
        }
    }
    // Storing a tensor twice is free while memory is not tight, so the sum is capped at the number
    // of tensors.
    let stored = |t: u32| -> f64 {
        let stored = nodes.iter().map(|&i| point.stored(t as usize, i as usize));
        stored.sum::<f64>().min(nodes.len() as f64)
    };
    let last_stored = nodes.iter().map(|&i| graph.last_stored(i)).max();
    let stages = (1..=last_stored.unwrap_or(0)).map(|t| (t, stored(t)));
    if let Some((stage, value)) = stages.max_by(most) {
        add(Quantity::Stored { of, stage }, value, 0.9 * cost);
    }
}

/// Adds quantities to branch on: the way in which a node is computed in a stage.
fn ways(
    graph: &MonetGraph,
    point: &Point,
    node: u32,
    stage: u32,
    cost: f64,
    add: &mut impl FnMut(Quantity, f64, f64),
) {
    let starts = graph.starts(node, stage);
    if starts.len() < 2 || point.made(stage as usize, node as usize) <= INTEGRALITY_TOLERANCE {
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
