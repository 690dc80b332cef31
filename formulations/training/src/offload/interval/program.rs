//! The program as branch, price and cut sees it, and its root.

use super::branch::{self, LinkBranch, LinkQuantity};
use super::{LinkGraph, LinkRow, Sharded, Trip, TripPoint, Way, bound};
use crate::checkmate::CheckmateGraph;
use crate::checkmate::interval::{Branch, Interval, Row};
use crate::life::Exclusions;
use remat_lp::ModelError;
use remat_solver::price::{
    Branching, Columns, Incumbents, Open, Priced, Pricing, Root, RootBound, RootSettings,
    RowLimits, RowTraits, Rows, Separation, SeparationSettings,
};
use std::sync::Arc;

impl Columns for LinkGraph {
    type Column = Trip;

    fn blocks(&self) -> usize {
        self.len()
    }

    fn block(column: &Trip) -> usize {
        column.node as usize
    }

    /// Costs of a unit of idle time in each stage, and of ways of first runs.
    fn static_costs(&self) -> Vec<u64> {
        let mut costs = vec![self.unit; self.len()];
        costs.extend(self.ways.all().map(|(_, _, way)| way.cost));
        costs
    }

    fn offset(&self) -> u64 {
        self.graph.base_cost()
    }

    fn base_cost(&self) -> u64 {
        self.graph.base_cost()
    }

    /// The cost of all nodes and all copies both ways once in each stage, one after the other.
    fn cost_upper_bound(&self) -> u64 {
        let copies = self.copies.iter().flatten().flatten();
        let copies = copies.fold(self.cost_of_all_pages(), |sum, time| {
            // Times are rounded down.
            sum.saturating_add((time.unsigned_abs() + 1).saturating_mul(self.unit))
        });
        let ways = |list: &[Way]| list.iter().map(|way| way.cost).max().unwrap_or(0);
        let again = self.ways.again.iter().map(|list| ways(list));
        let again = again.fold(0, u64::saturating_add);
        let all = copies
            .saturating_add(again)
            .saturating_mul(self.len() as u64);
        let first = self.ways.first.iter().map(|list| ways(list));
        let made = self.ways.optional.iter().flatten().map(|made| made.cost);
        let first = first.chain(made).fold(all, u64::saturating_add);
        Columns::cost_upper_bound(&self.graph).saturating_add(first)
    }

    fn cost_unit(&self) -> f64 {
        self.unit as f64
    }

    fn cost(&self, column: &Trip) -> u64 {
        let i = column.node as usize;
        let fetched = column.stretches.len().saturating_sub(1);
        let pages = self.cost_of_pages(i, [column.leaves(), fetched].map(|count| count as u64));
        pages
            + match column.is_recomputed() {
                true => {
                    let way = self.ways.again[i].get(usize::from(column.way));
                    self.graph.cost_again[i] + way.map_or(0, |way| way.cost)
                }
                false => self.ways.optional[i].map_or(0, |made| made.cost),
            }
    }

    fn is_never_purged(&self, column: &Trip) -> bool {
        let last = self.graph.users[column.node as usize].last();
        let is_whole = |end: u32| last == Some(&end);
        !column.is_recomputed()
            && column.stretches.len() == 1
            && column.stretches.iter().all(|s| is_whole(s.last_stage))
    }
}

impl Rows for LinkGraph {
    type Row = LinkRow;
    type Part = ();

    fn start(&self) -> (Vec<LinkRow>, Vec<Trip>) {
        let (rows, columns) = Rows::start(&self.graph);
        // Inputs that only some ways read, and inputs of by-products that need not run.
        let of = |row: Row| match row {
            Row::Need { node, reader } => {
                let all = self.graph.needs[reader as usize].contains(&node);
                match all && !self.ways.is_optional(reader) {
                    true => LinkRow::Base(row),
                    false => LinkRow::Reads {
                        node: reader,
                        input: node,
                    },
                }
            }
            row => LinkRow::Base(row),
        };
        let rows = rows.into_iter().map(of);
        let several = (0..self.len() as u32).filter(|i| !self.ways.first[*i as usize].is_empty());
        let rows = rows.chain(several.map(|node| LinkRow::Choose { node }));
        let scattered = (0..self.len() as u32).filter(|node| self.is_scattered(*node));
        let rows = rows.chain(scattered.clone().map(|node| LinkRow::Scatters { node }));
        let rows = rows.collect();
        let trip = |c: &Interval| match self.sharded[c.node as usize] {
            Some(Sharded::Gathered) => Some(Trip::gathered(self, c.node, c.reader)),
            Some(Sharded::Scattered) => None,
            None => Some(Trip::plain(self, c.node, c.start, c.end, c.reader)),
        };
        let columns = columns.iter().filter_map(trip);
        let columns = columns.chain(scattered.map(|node| Trip::scattered(self, node)));
        (rows, columns.collect())
    }

    fn resource_unit(&self) -> f64 {
        self.graph.memory_unit()
    }

    fn resource_capacity(&self) -> f64 {
        self.graph.capacity as f64
    }

    fn row_traits(&self, row: &LinkRow) -> RowTraits {
        match row {
            LinkRow::Base(row) => self.graph.row_traits(row),
            LinkRow::Leaves { .. } | LinkRow::Way { .. } => RowTraits::elastic(row.sense()),
            LinkRow::Choose { .. } | LinkRow::Reads { .. } | LinkRow::Scatters { .. } => {
                RowTraits {
                    sense: row.sense(),
                    elastic: !matches!(row, LinkRow::Choose { .. }),
                    permanent: true,
                }
            }
            LinkRow::Window { .. } | LinkRow::Host { .. } => RowTraits {
                sense: row.sense(),
                elastic: false,
                permanent: false,
            },
        }
    }

    fn right_side(&self, row: &LinkRow) -> i64 {
        LinkRow::right_side(row, self)
    }

    fn parts(&self, row: &LinkRow, note: &mut dyn FnMut(usize, ())) {
        let tensors = row.tensors(self);
        tensors.into_iter().for_each(|i| note(i as usize, ()));
    }

    fn coefficient(&self, row: &LinkRow, (): (), column: &Trip) -> i64 {
        row.coefficient(self, column)
    }

    fn static_entries(&self, row: &LinkRow) -> Vec<(u32, i64)> {
        let entry = |stage: u32| (stage, row.of_idle(stage));
        let all = (0..self.len() as u32).map(entry);
        let ways = (self.len() as u32..).zip(self.ways.all());
        let ways = ways.map(|(at, (node, way, _))| (at, row.of_way(self, node, way)));
        all.chain(ways).filter(|entry| entry.1 != 0).collect()
    }
}

impl Pricing for LinkGraph {
    type Exclusions = Exclusions;

    fn no_exclusions(&self) -> Exclusions {
        Pricing::no_exclusions(&self.graph)
    }

    fn price(
        &self,
        exclusions: &Exclusions,
        rows: &[LinkRow],
        duals: &[f64],
        per_block: usize,
        tolerance: f64,
    ) -> Priced<Trip> {
        bound::price(self, exclusions, rows, duals, per_block, tolerance)
    }

    fn lagrangian_bound(&self, exclusions: &Exclusions, rows: &[LinkRow], duals: &[f64]) -> u64 {
        bound::lagrangian_bound(self, exclusions, rows, duals)
    }
}

impl Separation for LinkGraph {
    type Point = TripPoint;

    fn point(&self, columns: &mut dyn Iterator<Item = (Trip, f64)>, statics: &[f64]) -> TripPoint {
        let (idle, ways) = statics.split_at(self.len().min(statics.len()));
        TripPoint::new(columns, idle, ways)
    }

    fn violated(&self, point: &TripPoint, limits: &RowLimits<'_, LinkRow>) -> Vec<LinkRow> {
        point.violated(self, limits)
    }

    fn cuts(&self, point: &TripPoint, settings: &SeparationSettings) -> Vec<LinkRow> {
        point.cuts(self, settings)
    }
}

impl Branching for LinkGraph {
    type Quantity = LinkQuantity;

    fn branch_row(&self, branch: &LinkBranch) -> LinkRow {
        let (at_least, count) = (branch.at_least, branch.count);
        match branch.quantity {
            LinkQuantity::Schedule(quantity) => LinkRow::Base(Row::Branch(Branch {
                quantity,
                at_least,
                count,
            })),
            LinkQuantity::Leaves { node } => LinkRow::Leaves {
                node,
                at_least,
                count,
            },
            LinkQuantity::Way { node, way } => LinkRow::Way {
                node,
                way,
                is_this: at_least,
            },
        }
    }

    fn open(&self, point: &TripPoint, limit: usize) -> Vec<Open<LinkQuantity>> {
        branch::open(self, point, limit)
    }

    fn kind(quantity: &LinkQuantity) -> (u32, u8) {
        match quantity {
            LinkQuantity::Schedule(quantity) => CheckmateGraph::kind(quantity),
            LinkQuantity::Leaves { node } => (*node, 4),
            LinkQuantity::Way { node, .. } => (*node, 5),
        }
    }
}

/// The bound of the form at the root, over all stage schedules with copies.
///
/// # Errors
/// [`ModelError`] if the LP solver refuses a change: a defect.
pub fn root_bound(
    link: LinkGraph,
    settings: &RootSettings,
    incumbents: &Incumbents<LinkGraph>,
) -> Result<RootBound<LinkGraph>, ModelError> {
    let root: Root<LinkGraph> = Root::solve(Arc::new(link), settings, incumbents)?;
    Ok(root.into_bound())
}
