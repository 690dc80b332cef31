//! Branchings: integer quantities of a schedule, linear in its intervals, and the ones that are
//! fractional at a point.

use super::CheckmateGraph;
use crate::checkmate::path_cuts::{FractionalPoint, Steps};
use crate::life::{CLASS_WEIGHT, Group};
use remat_solver::price::{INTEGRALITY_TOLERANCE, Open, fraction, most_promising};

/// An integer quantity of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Quantity {
    /// Number of recomputations of tensors in a range of stages.
    Starts {
        /// The tensors.
        of: Group,
        /// First stage of the range.
        first: u32,
        /// Last stage of the range.
        last: u32,
    },
    /// Number of tensors that are held when `stage` starts.
    Held {
        /// The tensors.
        of: Group,
        /// The stage.
        stage: u32,
    },
}

impl Quantity {
    /// Tensors that it counts.
    pub fn of(&self) -> Group {
        match *self {
            Quantity::Starts { of, .. } | Quantity::Held { of, .. } => of,
        }
    }
}

/// A lower or upper bound on a quantity.
pub type Branch = remat_solver::price::Branch<Quantity>;

/// Fractional quantities of a point, the highest scores first, at most `limit`. For each tensor and
/// each class these are:
/// - the number of recomputations up to the last stage, and up to the stage where it is most
///   fractional;
/// - the number of held tensors in the most doubtful stage.
///
/// Empty only if `R` and `S` are integral.
pub(crate) fn open_quantities(
    graph: &CheckmateGraph,
    point: &FractionalPoint,
    limit: usize,
) -> Vec<Open<Quantity>> {
    let mean = graph.base_cost() as f64 / graph.len().max(1) as f64;
    let mut found = Vec::new();
    let tensors = (0..graph.len() as u32).map(Group::One);
    let classes = (0..graph.classes.len() as u32).map(Group::Class);
    for of in tensors.chain(classes) {
        let nodes = of.list(&graph.classes);
        let costs = nodes
            .iter()
            .map(|&i| graph.cost_again[i as usize])
            .sum::<u64>() as f64;
        // Groups without cost matter by the memory that they hold.
        let mut weight = costs / nodes.len() as f64 + 1e-3 * mean;
        if nodes.len() > 1 {
            weight *= CLASS_WEIGHT;
        }
        let first = nodes[0] + 1;
        let last = nodes.iter().map(|&i| graph.last_stage[i as usize]).max();
        let Some(last) = last.filter(|&last| first <= last) else {
            continue;
        };
        let mut add = |quantity, value: f64, share: f64| {
            found.extend(Open::if_fractional(quantity, value, weight * share));
        };
        // By stages: how often they have been recomputed before, and how many are held.
        let stages = graph.len() + 1;
        let made = sum_by_stage(nodes, stages, |i| point.recomputed_before(i));
        let held = sum_by_stage(nodes, stages, |i| point.retained_of(i));
        let starts = |last| Quantity::Starts { of, first, last };
        add(starts(last), made[last as usize + 1], 1.0);
        if let Some((stage, value)) = most_doubtful_stage(graph, &held, first, last, nodes.len()) {
            add(Quantity::Held { of, stage }, value, 0.9);
        }
        let windows = (first..last).map(|t| (t, made[t as usize + 1]));
        if let Some((t, value)) = windows.max_by(|a, b| {
            let fractions = fraction(a.1).total_cmp(&fraction(b.1));
            fractions.then(b.0.cmp(&a.0))
        }) {
            add(starts(t), value, 0.5);
        }
    }
    most_promising(found, limit)
}

/// The sum over some tensors, stage by stage.
fn sum_by_stage<'a>(nodes: &[u32], stages: usize, of: impl Fn(usize) -> Steps<'a>) -> Vec<f64> {
    let mut sum = vec![0.0; stages];
    for &i in nodes {
        for (step, value) in of(i as usize).over(0..stages as u32) {
            let own = &mut sum[step.start as usize..step.end as usize];
            own.iter_mut().for_each(|v| *v += value);
        }
    }
    sum
}

/// The stage at whose start the number of held tensors, out of so many, is most doubtful. It is the
/// middle of the longest run of stages with the most fractional value. In a graph with a backward
/// pass, it is the first stage of that pass if this is fractional enough.
fn most_doubtful_stage(
    graph: &CheckmateGraph,
    held: &[f64],
    first: u32,
    last: u32,
    most: usize,
) -> Option<(u32, f64)> {
    // Holding a tensor twice is free while memory is not tight, so the sum is capped at the number
    // of tensors.
    let held = |t: u32| held[t as usize].min(most as f64);
    if let Some(f) = graph.first_backward
        && (first..=last).contains(&f)
        && fraction(held(f)) > 0.1
    {
        return Some((f, held(f)));
    }
    let worst = (first..=last)
        .map(|t| fraction(held(t)))
        .fold(0.0, f64::max);
    if worst <= INTEGRALITY_TOLERANCE {
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
    Some((best.1, held(best.1)))
}
