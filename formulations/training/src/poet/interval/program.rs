//! The program as branch, price and cut sees it.

use super::{PoetGraph, PoetRow, Stretch, Trip, TripPoint, bound};
use crate::checkmate::interval::{Branch, Interval, Quantity, Row, open_quantities};
use crate::life::{Exclusions, Group};
use remat_solver::price::{
    Branching, Columns, Open, Priced, Pricing, RowLimits, RowTraits, Rows, Separation,
    SeparationSettings, most_promising,
};

impl Columns for PoetGraph {
    type Column = Trip;

    fn blocks(&self) -> usize {
        self.len()
    }

    fn block(column: &Trip) -> usize {
        column.node as usize
    }

    fn offset(&self) -> u64 {
        self.graph.base_cost()
    }

    fn base_cost(&self) -> u64 {
        self.graph.base_cost()
    }

    fn cost_upper_bound(&self) -> u64 {
        Columns::cost_upper_bound(&self.graph).saturating_add(self.pages_upper_bound())
    }

    /// A power of two, 1 or so that what it takes to have every tensor again comes to 2^18: where
    /// costs are energies, that is a small part of the cost.
    fn cost_unit(&self) -> f64 {
        let again = |i: usize| {
            let pages = self.pages[i].map_or(u64::MAX, |costs| costs.out + costs.back);
            self.graph.cost_again[i].min(pages)
        };
        let all = (0..self.len()).fold(0u64, |sum, i| sum.saturating_add(again(i)));
        (all >> 18).max(1).next_power_of_two() as f64
    }

    fn cost(&self, column: &Trip) -> u64 {
        let i = column.node as usize;
        let [again, back] = column.counts();
        let costs = self.pages[i].filter(|_| column.leaves.is_some());
        let pages = costs.map_or(0, |costs| costs.out + costs.back * back);
        self.graph.cost_again[i] * again + pages
    }

    fn is_never_purged(&self, column: &Trip) -> bool {
        let last = self.graph.users[column.node as usize].last();
        column.start() == column.node
            && column.leaves.is_none()
            && column.stretches.iter().all(|s| last == Some(&s.end))
    }
}

impl Rows for PoetGraph {
    type Row = PoetRow;
    type Part = ();

    fn start(&self) -> (Vec<PoetRow>, Vec<Trip>) {
        let (rows, columns) = Rows::start(&self.graph);
        let trip = |c: &Interval| Trip {
            node: c.node,
            leaves: None,
            stretches: vec![Stretch {
                is_paged: false,
                start: c.start,
                end: c.end,
                reader: c.reader,
            }],
        };
        let rows = rows.into_iter().map(PoetRow::Base).collect();
        (rows, columns.iter().map(trip).collect())
    }

    fn resource_unit(&self) -> f64 {
        self.graph.memory_unit()
    }

    fn resource_capacity(&self) -> f64 {
        self.graph.capacity as f64
    }

    fn row_traits(&self, row: &PoetRow) -> RowTraits {
        match row {
            PoetRow::Base(row) => self.graph.row_traits(row),
            PoetRow::Pages { .. } => RowTraits::elastic(row.sense()),
            PoetRow::Once { .. } | PoetRow::Ends { .. } => RowTraits {
                sense: row.sense(),
                elastic: false,
                permanent: false,
            },
        }
    }

    fn right_side(&self, row: &PoetRow) -> i64 {
        PoetRow::right_side(row, self)
    }

    fn parts(&self, row: &PoetRow, note: &mut dyn FnMut(usize, ())) {
        let mut tensors = Vec::new();
        row.tensors(self, |node| tensors.push(node));
        tensors.sort_unstable();
        tensors.dedup();
        tensors.into_iter().for_each(|i| note(i as usize, ()));
    }

    fn coefficient(&self, row: &PoetRow, (): (), column: &Trip) -> i64 {
        row.coefficient(self, column)
    }
}

impl Pricing for PoetGraph {
    type Exclusions = Exclusions;

    fn no_exclusions(&self) -> Exclusions {
        Pricing::no_exclusions(&self.graph)
    }

    fn price(
        &self,
        exclusions: &Exclusions,
        rows: &[PoetRow],
        duals: &[f64],
        per_block: usize,
        tolerance: f64,
    ) -> Priced<Trip> {
        bound::price(self, exclusions, rows, duals, per_block, tolerance)
    }

    fn lagrangian_bound(&self, exclusions: &Exclusions, rows: &[PoetRow], duals: &[f64]) -> u64 {
        bound::lagrangian_bound(self, exclusions, rows, duals)
    }
}

impl Separation for PoetGraph {
    type Point = TripPoint;

    fn point(&self, columns: &mut dyn Iterator<Item = (Trip, f64)>, _: &[f64]) -> TripPoint {
        TripPoint::new(columns)
    }

    fn violated(&self, point: &TripPoint, limits: &RowLimits<'_, PoetRow>) -> Vec<PoetRow> {
        point.violated(self, limits)
    }

    fn cuts(&self, point: &TripPoint, settings: &SeparationSettings) -> Vec<PoetRow> {
        point.cuts(self, settings)
    }
}

/// An integer quantity of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoetQuantity {
    /// Recomputations, or tensors in memory when a stage starts.
    Schedule(Quantity),
    /// Page-outs of a tensor.
    Pages {
        /// The tensor.
        node: u32,
    },
}

/// A quantity is at least, or at most, so much.
pub type PoetBranch = remat_solver::price::Branch<PoetQuantity>;

impl Branching for PoetGraph {
    type Quantity = PoetQuantity;

    fn branch_row(&self, branch: &PoetBranch) -> PoetRow {
        let (at_least, count) = (branch.at_least, branch.count);
        match branch.quantity {
            PoetQuantity::Schedule(quantity) => PoetRow::Base(Row::Branch(Branch {
                quantity,
                at_least,
                count,
            })),
            PoetQuantity::Pages { node } => PoetRow::Pages {
                node,
                at_least,
                count,
            },
        }
    }

    fn open(&self, point: &TripPoint, limit: usize) -> Vec<Open<PoetQuantity>> {
        let schedule = open_quantities(&self.graph, &point.fractional(self), limit);
        let schedule = schedule.into_iter().map(|open| Open {
            quantity: PoetQuantity::Schedule(open.quantity),
            value: open.value,
            score: open.score,
        });
        let pages = (0u32..)
            .zip(point.leaves(self))
            .filter_map(|(node, value)| {
                let costs = self.pages[node as usize]?;
                let quantity = PoetQuantity::Pages { node };
                Open::if_fractional(quantity, value, (costs.out + costs.back) as f64)
            });
        most_promising(schedule.chain(pages).collect(), limit)
    }

    fn kind(quantity: &PoetQuantity) -> (u32, u8) {
        match quantity {
            PoetQuantity::Schedule(quantity) => {
                let held = u8::from(matches!(quantity, Quantity::Held { .. }));
                match quantity.of() {
                    Group::One(node) => (node, held),
                    Group::Class(class) => (class, held + 2),
                }
            }
            PoetQuantity::Pages { node } => (*node, 4),
        }
    }
}
