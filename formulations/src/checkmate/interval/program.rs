//! Checkmate's program as branch, price and cut sees it, and its root.

use super::bound::exclude;
use super::price::{price, uses};
use super::{Branch, Graph, Interval, IntervalPoint, Quantity, Row, lagrangian_bound};
use crate::bound::TooSmall;
use crate::checkmate::path_cuts::separate;
use crate::interval::{
    self, Extent, Group, Journal, Nature, Open, Permits, Pricing, Program, Root, RootBound,
    RootSettings, RowLimits, Sense, SeparationSettings,
};
use remat_instances::instance::Instance;
use remat_lp::ModelError;
use std::sync::Arc;

/// Violation below which a rounded memory row is left alone, as a share of the capacity.
const ROUNDED_VIOLATION: f64 = 5e-4;
/// Rows of one gauge in a round.
const ROUNDED_LIMIT: usize = 10;

impl Program for Graph {
    type Column = Interval;
    type Row = Row;
    type Use = ();
    type Point = IntervalPoint;
    type Quantity = Quantity;

    fn extent(&self) -> Extent {
        Extent {
            tensors: self.len(),
            stages: self.len(),
            ways: 1,
            choices: 0,
        }
    }

    fn tensor(column: &Interval) -> usize {
        column.node as usize
    }

    fn is_permitted(&self, column: &Interval, permits: &Permits) -> bool {
        let Interval {
            node,
            start,
            end,
            reader,
        } = *column;
        (start == node || permits.may_start(node, start, 0))
            && (reader == end || permits.may_start(reader, end, 0))
            && permits.may_hold_through(node, start, end)
    }

    /// A row for every need, and for every need the interval from the first computation and the one that is recomputed for
    /// it alone.
    fn start(&self) -> (Vec<Row>, Vec<Interval>) {
        let needs = || {
            (0..self.len() as u32).flat_map(|node| {
                let readers = self.users[node as usize].iter();
                readers.map(move |&b| (node, b))
            })
        };
        let rows = needs().map(|(node, reader)| Row::Need { node, reader });
        let columns = needs().flat_map(|(node, b)| {
            [node, b].map(|start| Interval {
                node,
                start,
                end: b,
                reader: b,
            })
        });
        (rows.collect(), columns.collect())
    }

    fn choice_costs(&self) -> Vec<u64> {
        Vec::new()
    }

    fn offset(&self) -> u64 {
        self.base_cost()
    }

    fn base_cost(&self) -> u64 {
        self.base_cost()
    }

    /// Each node at most once in each stage of its life.
    fn costliest(&self) -> u64 {
        let runs = |i: usize| u64::from(self.last_stage[i]) + 1 - i as u64;
        (0..self.len()).fold(0u64, |s, i| {
            s.saturating_add(self.cost[i].saturating_mul(runs(i)))
        })
    }

    fn cost_unit(&self) -> f64 {
        self.cost_unit()
    }

    fn memory_unit(&self) -> f64 {
        self.memory_unit()
    }

    fn capacity(&self) -> f64 {
        self.capacity as f64
    }

    fn cost(&self, column: &Interval) -> u64 {
        match column.is_recomputed() {
            true => self.cost[column.node as usize],
            false => 0,
        }
    }

    /// What is kept from the first computation to the last reader.
    fn stays(&self, column: &Interval) -> bool {
        let readers = &self.users[column.node as usize];
        !column.is_recomputed() && readers.last() == Some(&column.end)
    }

    fn nature(&self, row: &Row) -> Nature {
        Nature {
            sense: match row.is_memory() {
                true => Sense::Memory,
                false => Sense::AtLeast,
            },
            elastic: matches!(row, Row::Branch(_) | Row::Need { .. } | Row::Path(_)),
            permanent: matches!(row, Row::Need { .. } | Row::Branch(_)),
        }
    }

    fn right_side(&self, row: &Row) -> i64 {
        row.right_side(self)
    }

    fn uses(&self, row: &Row, note: &mut dyn FnMut(usize, ())) {
        uses(self, row, &mut |tensor| note(tensor as usize, ()));
    }

    fn coefficient(&self, row: &Row, (): (), column: &Interval) -> i64 {
        row.coefficient(self, column)
    }

    fn choice_entries(&self, _: &Row) -> Vec<(u32, i64)> {
        Vec::new()
    }

    fn branch_row(&self, branch: &Branch) -> Row {
        Row::Branch(*branch)
    }

    fn point(
        &self,
        columns: &mut dyn Iterator<Item = (Interval, f64)>,
        _: &[f64],
    ) -> IntervalPoint {
        IntervalPoint::new(columns)
    }

    fn violated(&self, point: &IntervalPoint, limits: &RowLimits<'_, Row>) -> Vec<Row> {
        let mut rows = point.violated_inputs(self, 1e-6);
        rows.retain(|r| !(limits.known)(r));
        let most = (self.capacity as f64 + limits.overflow_bytes) * (1.0 + 1e-6);
        let memory = point.violated_memory(self, 0, most, limits.memory_per_stage, limits.known);
        rows.extend(memory.into_iter().take(limits.memory));
        rows
    }

    fn cuts(&self, point: &IntervalPoint, settings: &SeparationSettings, memory: bool) -> Vec<Row> {
        let found = separate(self, &point.fractional(self), 0, settings);
        let mut rows: Vec<Row> = found.into_iter().map(|f| Row::Path(f.cut)).collect();
        if memory {
            if settings.covers {
                rows.extend(point.violated_covers(self));
            }
            let memory = point.violated_path_memory(self, settings);
            rows.extend(memory.into_iter().map(Row::PathMemory));
            for (gauge, measure) in self.gauges.iter().enumerate().skip(1) {
                let most = measure.capacity as f64 * (1.0 + ROUNDED_VIOLATION);
                let rounded = point.violated_memory(self, gauge as u32, most, 1, |_| false);
                rows.extend(rounded.into_iter().take(ROUNDED_LIMIT));
            }
        }
        rows
    }

    fn open(&self, point: &IntervalPoint, limit: usize) -> Vec<Open<Quantity>> {
        super::branch::open_quantities(self, point, limit)
    }

    fn kind(quantity: &Quantity) -> (u32, u8) {
        let kind = u8::from(matches!(quantity, Quantity::Held { .. }));
        match quantity.of() {
            Group::One(node) => (node, kind),
            Group::Class(class) => (class, kind + 2),
        }
    }

    fn price(
        &self,
        permits: &Permits,
        rows: &[Row],
        duals: &[f64],
        per_tensor: usize,
        tolerance: f64,
    ) -> Pricing<Interval> {
        price(self, permits, rows, duals, per_tensor, tolerance)
    }

    fn lagrangian_bound(&self, permits: &Permits, rows: &[Row], duals: &[f64]) -> u64 {
        lagrangian_bound(self, permits, rows, duals)
    }

    fn exclude(&self, permits: &mut Permits, rows: &[Row], duals: &[f64], target: u64) {
        exclude(self, permits, rows, duals, target);
    }
}

/// Why there is no root bound.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// A node does not fit alone.
    #[error(transparent)]
    TooSmall(#[from] TooSmall),
    /// The LP solver refused a change: a defect.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The bound of the interval form at the root, over the whole space of schedules.
///
/// # Errors
/// [`RootError::TooSmall`] where a node cannot run within the budget (in bytes, fixed memory included) at all.
pub fn root_bound(
    instance: &Instance,
    budget_bytes: u64,
    settings: &RootSettings,
) -> Result<RootBound<Graph>, RootError> {
    root_bound_recorded(instance, budget_bytes, settings, None)
}

/// As [`root_bound`], with a journal of the changes of the program and of its solves.
///
/// # Errors
/// As [`root_bound`].
pub fn root_bound_recorded(
    instance: &Instance,
    budget_bytes: u64,
    settings: &RootSettings,
    journal: Option<Box<dyn Journal>>,
) -> Result<RootBound<Graph>, RootError> {
    let graph = Arc::new(Graph::new(instance, budget_bytes)?);
    let root: Root<Graph> = interval::Root::solve(graph, settings, journal, &())?;
    Ok(root.into_bound())
}
