//! Branching rules for the groups and expressions of a domain.

use crate::mip::extend::{BranchingRule, Decision, NodeView};
use remat_lp::{Bounds, ColId};

/// Distance from an integer, or from 0, within which a value counts as equal.
const TOLERANCE: f64 = 1e-6;

/// Splits ordered groups of columns with at most one nonzero column (special ordered sets of type
/// 1: Beale & Tomlin 1970).
///
/// The model itself must keep the columns nonnegative and at most one positive (by a row
/// `sum <= 1`, say): the rule splits, but does not enforce. Among groups with several positive
/// columns, the most spread one is split at the relaxation's mean position. One child fixes the
/// columns after it at 0, the other child the columns up to it.
///
/// ```
/// # use remat_lp::{ColId, ModelBuilder, Sense};
/// # use remat_solver::mip::{OrderedGroups, Solver};
/// # use std::sync::Arc;
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let sizes: Vec<_> = (1..=4).map(|k| (b.add_col((k * k) as f64, 0.0..=1.0), k as f64)).collect();
/// for (c, _) in &sizes {
///     b.set_integer(*c, true);
/// }
/// b.add_row(..=1.0, sizes.iter().map(|(c, _)| (*c, 1.0)));
/// b.add_row(..=3.0, sizes.iter().copied());
/// let rule = OrderedGroups::new(vec![sizes]);
/// let result = Solver::new(b.build()?, Default::default()).with_branching(Arc::new(rule)).run()?;
/// assert_eq!(result.solution.map(|s| s.objective), Some(9.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OrderedGroups {
    groups: Vec<Vec<(ColId, f64)>>,
}

impl OrderedGroups {
    /// Groups of columns with their weights (sizes, times, places), which increase within a group.
    pub fn new(groups: Vec<Vec<(ColId, f64)>>) -> OrderedGroups {
        OrderedGroups { groups }
    }
}

impl BranchingRule for OrderedGroups {
    fn branch(&self, node: &NodeView<'_>) -> Option<Vec<Decision>> {
        // Score, number of the group, position of the split.
        let mut best: Option<(f64, usize, usize)> = None;
        for (number, group) in self.groups.iter().enumerate() {
            let open = |k: &usize| node.x[group[*k].0.index()] > TOLERANCE;
            let Some(first) = (0..group.len()).find(open) else {
                continue;
            };
            let last = (0..group.len()).rev().find(open).unwrap_or(first);
            if first == last {
                continue;
            }
            let x = |k: usize| node.x[group[k].0.index()];
            let total: f64 = (first..=last).map(x).sum();
            let mean = (first..=last).map(|k| x(k) * group[k].1).sum::<f64>() / total;
            // Both children exclude the point: the split lies between `first` and `last`.
            let after = (first..last)
                .rev()
                .find(|&k| group[k].1 <= mean)
                .unwrap_or(first);
            let span = (first..=last)
                .map(|k| x(k) * (group[k].1 - mean).abs())
                .sum::<f64>()
                / total;
            let range = (group[last].1 - group[first].1).abs().max(1e-9);
            let score = span / range * (last - first) as f64;
            if best.is_none_or(|b| score > b.0) {
                best = Some((score, number, after));
            }
        }
        let (_, number, after) = best?;
        let columns: Vec<ColId> = self.groups[number].iter().map(|g| g.0).collect();
        Some(Decision::split_group(&columns, after, node.integer))
    }
}

/// Branches on linear expressions that are integer-valued in every solution: counts, windows,
/// differences.
///
/// Splits on the expression whose value is furthest from an integer: at most its floor, or at least
/// one more. If all are integral, columns are branched on.
#[derive(Clone, Debug)]
pub struct IntegerExpressions {
    expressions: Vec<Vec<(ColId, f64)>>,
}

impl IntegerExpressions {
    /// Expressions with integer coefficients over integer columns, or others known to be integral.
    pub fn new(expressions: Vec<Vec<(ColId, f64)>>) -> IntegerExpressions {
        IntegerExpressions { expressions }
    }
}

impl BranchingRule for IntegerExpressions {
    fn branch(&self, node: &NodeView<'_>) -> Option<Vec<Decision>> {
        let mut best: Option<(f64, usize, f64)> = None;
        for (k, e) in self.expressions.iter().enumerate() {
            let value: f64 = e.iter().map(|(c, a)| a * node.x[c.index()]).sum();
            let distance = (value - value.round()).abs();
            if distance > TOLERANCE && best.is_none_or(|b| distance > b.0) {
                best = Some((distance, k, value));
            }
        }
        let (_, k, value) = best?;
        Some(Decision::split_expression(&self.expressions[k], value))
    }
}

impl Decision {
    /// Two children that split an ordered group of nonnegative columns, of which at most one is
    /// positive. One child fixes the columns after position `after` at 0, the other the columns up
    /// to it. `integer` marks the integer columns of the model.
    pub fn split_group(columns: &[ColId], after: usize, integer: &[bool]) -> Vec<Decision> {
        let zero = Bounds::new(0.0, 0.0);
        let fix = |side: &[ColId]| {
            let whole = |c: &&ColId| integer[c.index()];
            let rest: Vec<(ColId, f64)> = (side.iter().filter(|c| !whole(c)))
                .map(|c| (*c, 1.0))
                .collect();
            Decision {
                bounds: side.iter().filter(whole).map(|c| (*c, zero)).collect(),
                rows: if rest.is_empty() {
                    Vec::new()
                } else {
                    vec![(rest, zero)]
                },
            }
        };
        let middle = (after + 1).min(columns.len());
        vec![fix(&columns[middle..]), fix(&columns[..middle])]
    }
}
