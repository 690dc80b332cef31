//! Checkmate's program in the form for branch, price and cut, and its root.

use super::{Branch, CheckmateGraph, Interval, IntervalPoint, Quantity, Row, open_quantities};
use crate::bound::TooSmall;
use crate::checkmate::path_cuts::separate;
use crate::life::{self, Atom, Exclusions, Extent, Group};
use remat_instances::instance::Instance;
use remat_lp::ModelError;
use remat_solver::price::{
    Branching, Columns, Incumbents, Open, Priced, Pricing, Root, RootBound, RootSettings,
    RowLimits, RowTraits, Rows, Sense, Separation, SeparationSettings,
};
use std::sync::Arc;

/// Violation below which a rounded memory row is left alone, as a share of the capacity.
pub(crate) const ROUNDED_VIOLATION: f64 = 5e-4;
/// Rows of one gauge in a round.
pub(crate) const ROUNDED_LIMIT: usize = 10;

impl CheckmateGraph {
    /// The size of the program.
    pub fn extent(&self) -> Extent {
        Extent {
            tensors: self.len(),
            stages: self.len(),
            ways: 1,
            choices: 0,
        }
    }
}

impl Columns for CheckmateGraph {
    type Column = Interval;

    fn blocks(&self) -> usize {
        self.extent().tensors
    }

    fn block(column: &Interval) -> usize {
        column.node as usize
    }

    fn static_costs(&self) -> Vec<u64> {
        Vec::new()
    }

    fn offset(&self) -> u64 {
        self.base_cost()
    }

    fn base_cost(&self) -> u64 {
        self.base_cost()
    }

    /// Each node at most once in each stage of its life.
    fn cost_upper_bound(&self) -> u64 {
        let again = |i: usize| {
            let stages = self.stages_again(i).count() as u64;
            self.cost_again[i].saturating_mul(stages)
        };
        (0..self.len()).fold(self.base_cost(), |s, i| s.saturating_add(again(i)))
    }

    fn cost_unit(&self) -> f64 {
        self.cost_unit()
    }

    fn cost(&self, column: &Interval) -> u64 {
        match column.is_recomputed() {
            true => self.cost_again[column.node as usize],
            false => 0,
        }
    }

    /// Returns whether the interval lasts from the first computation to the last reader.
    fn is_never_purged(&self, column: &Interval) -> bool {
        let readers = &self.users[column.node as usize];
        !column.is_recomputed() && readers.last() == Some(&column.end)
    }
}

impl Rows for CheckmateGraph {
    type Row = Row;
    type Part = ();

    /// A row for every need; and for every need, the interval from the first computation and the
    /// one that is recomputed only for this need.
    fn start(&self) -> (Vec<Row>, Vec<Interval>) {
        let needs = || {
            (0..self.len() as u32).flat_map(|node| {
                let readers = self.users[node as usize].iter();
                readers.map(move |&b| (node, b))
            })
        };
        let rows = needs().map(|(node, reader)| Row::Need { node, reader });
        let columns = needs().flat_map(|(node, b)| {
            let may_start = self.rules.as_ref().is_none_or(|r| r.may_start(node, b));
            let again = (self.may_recompute_in(node, b) && may_start).then_some(b);
            [node].into_iter().chain(again).map(move |start| Interval {
                node,
                start,
                end: b,
                reader: b,
            })
        });
        (rows.collect(), columns.collect())
    }

    fn resource_unit(&self) -> f64 {
        self.memory_unit()
    }

    fn resource_capacity(&self) -> f64 {
        self.capacity as f64
    }

    fn row_traits(&self, row: &Row) -> RowTraits {
        RowTraits {
            sense: match row.is_memory() {
                true => Sense::AtMost,
                false => Sense::AtLeast,
            },
            elastic: matches!(row, Row::Branch(_) | Row::Need { .. } | Row::Path(_)),
            permanent: matches!(row, Row::Need { .. } | Row::Branch(_)),
        }
    }

    fn right_side(&self, row: &Row) -> i64 {
        row.right_side(self)
    }

    fn parts(&self, row: &Row, note: &mut dyn FnMut(usize, ())) {
        let mut tensors = Vec::new();
        row.terms(self, None, |term| match term.atom {
            Atom::Bytes { moment, .. } => {
                let stage = moment / self.len() as u32;
                let alive = |i: &u32| self.last_stage[*i as usize] >= stage;
                tensors.extend((0..=stage).filter(alive));
            }
            _ => tensors.extend(term.node()),
        });
        tensors.sort_unstable();
        tensors.dedup();
        tensors.into_iter().for_each(|i| note(i as usize, ()));
    }

    fn coefficient(&self, row: &Row, (): (), column: &Interval) -> i64 {
        row.coefficient(self, column)
    }

    fn static_entries(&self, _: &Row) -> Vec<(u32, i64)> {
        Vec::new()
    }
}

impl Pricing for CheckmateGraph {
    type Exclusions = Exclusions;

    /// Excludes only recomputations behind the last stage in which a node may be computed again.
    fn no_exclusions(&self) -> Exclusions {
        let mut exclusions = Exclusions::none(self.extent());
        for (node, &until) in (0..).zip(&self.again_until) {
            for stage in until + 1..self.len() as u32 {
                exclusions.exclude_start(node, stage, 0);
            }
        }
        self.exclude_by_class(&mut exclusions);
        exclusions
    }

    fn exclude_all_of(&self, exclusions: &mut Exclusions, other: &Exclusions) {
        exclusions.exclude_all_of(other);
    }

    fn is_permitted(&self, column: &Interval, exclusions: &Exclusions) -> bool {
        let Interval {
            node,
            start,
            end,
            reader,
        } = *column;
        (start == node || exclusions.may_start(node, start, 0))
            && (reader == end || exclusions.may_start(reader, end, 0))
            && exclusions.may_hold_through(node, start, end)
    }

    fn price(
        &self,
        exclusions: &Exclusions,
        rows: &[Row],
        duals: &[f64],
        per_block: usize,
        tolerance: f64,
    ) -> Priced<Interval> {
        life::price(self, exclusions, rows, duals, per_block, tolerance)
    }

    fn lagrangian_bound(&self, exclusions: &Exclusions, rows: &[Row], duals: &[f64]) -> u64 {
        life::lagrangian_bound(self, exclusions, rows, duals)
    }

    fn exclude(&self, exclusions: &mut Exclusions, rows: &[Row], duals: &[f64], target: u64) {
        life::exclude(self, exclusions, rows, duals, target);
    }
}

impl Separation for CheckmateGraph {
    type Point = IntervalPoint;

    fn point(
        &self,
        columns: &mut dyn Iterator<Item = (Interval, f64)>,
        _: &[f64],
    ) -> IntervalPoint {
        IntervalPoint::new(columns)
    }

    fn violated(&self, point: &IntervalPoint, limits: &RowLimits<'_, Row>) -> Vec<Row> {
        let mut rows = point.violated_inputs(self, limits.tolerance);
        rows.extend(point.violated_by_class(self, limits.tolerance));
        rows.retain(|r| !(limits.known)(r));
        let most = (self.capacity as f64 + limits.overflow) * (1.0 + 1e-6);
        let memory = point.violated_memory(self, 0, most, limits.per_group, limits.known);
        rows.extend(memory.into_iter().take(limits.resource_rows));
        let around = point.violated_around(self, 0, most, limits.per_group, limits.known);
        rows.extend(around.into_iter().take(limits.resource_rows));
        rows
    }

    fn cuts(&self, point: &IntervalPoint, settings: &SeparationSettings) -> Vec<Row> {
        let found = separate(self, &point.fractional(self), 0, settings);
        let mut rows: Vec<Row> = found.into_iter().map(|f| Row::Path(f.cut)).collect();
        if settings.resource_cuts {
            if settings.dense {
                rows.extend(point.violated_covers(self));
            }
            let memory = point.violated_path_memory(self, settings);
            rows.extend(memory.into_iter().map(Row::PathMemory));
            for (gauge, measure) in self.gauges.iter().enumerate().skip(1) {
                let most = measure.capacity as f64 * (1.0 + ROUNDED_VIOLATION);
                let rounded = point.violated_memory(self, gauge as u32, most, 1, |_| false);
                rows.extend(rounded.into_iter().take(ROUNDED_LIMIT));
                let around = point.violated_around(self, gauge as u32, most, 1, |_| false);
                rows.extend(around.into_iter().take(ROUNDED_LIMIT));
            }
        }
        rows
    }
}

impl Branching for CheckmateGraph {
    type Quantity = Quantity;

    fn branch_row(&self, branch: &Branch) -> Row {
        Row::Branch(*branch)
    }

    fn open(&self, point: &IntervalPoint, limit: usize) -> Vec<Open<Quantity>> {
        open_quantities(self, &point.fractional(self), limit)
    }

    fn kind(quantity: &Quantity) -> (u32, u8) {
        let kind = u8::from(matches!(quantity, Quantity::Held { .. }));
        match quantity.of() {
            Group::One(node) => (node, kind),
            Group::Class(class) => (class, kind + 2),
        }
    }
}

/// Reason why a root bound is missing.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// A node does not fit by itself.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// The LP solver refused a change: a defect.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The bound of the interval form at the root, over the whole space of schedules.
///
/// # Errors
/// [`RootError::TooSmall`] if a node cannot run within the budget (in bytes, fixed memory included)
/// at all.
pub fn root_bound(
    instance: &Instance,
    budget_bytes: u64,
    settings: &RootSettings,
) -> Result<RootBound<CheckmateGraph>, RootError> {
    let graph = Arc::new(CheckmateGraph::new(instance, budget_bytes)?);
    let root: Root<CheckmateGraph> = Root::solve(graph, settings, &Incumbents::default())?;
    Ok(root.into_bound())
}
