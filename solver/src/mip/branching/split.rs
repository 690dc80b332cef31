//! Branching rules that a domain sets up with its own groups and expressions.

use crate::mip::extend::{BranchingRule, Decision, NodeView};
use remat_lp::{Bounds, ColId};

/// Values this near to an integer, or to 0, count as such.
const TOLERANCE: f64 = 1e-6;

/// Splits ordered groups of columns of which at most one is not 0 (special ordered sets of type 1:
/// Beale & Tomlin 1970).
///
/// The columns are not below 0, and that at most one is above has to follow from the model (a row
/// `sum <= 1`, say): the rule splits, it does not enforce. Of the groups with several columns above
/// 0 the most spread one is split where the relaxation's mean position lies: what is beyond is 0 in
/// one child, what comes before in the other.
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
    /// Groups of columns with their weights (sizes, times, places), which rise within a group.
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
            // Both children exclude the point: the split is behind `first` and before `last`.
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
/// The expression whose value is furthest from an integer is restricted to at most its floor, or at
/// least one more. When all are integral, columns follow.
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
    /// Two children that split an ordered group of columns, none below 0 and at most one above:
    /// those behind position `after` are 0, or those up to it are. `integer`: which columns of the
    /// model are integer.
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
