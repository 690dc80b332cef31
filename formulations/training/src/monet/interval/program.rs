//! MONeT's program in the form for branch, price and cut, and its root.

use super::{Branch, Interval, MonetGraph, Point, Quantity, Row, RowKind, separate_cuts};
use crate::life::{self, Atom, Exclusions, Extent, Group, Term};
use crate::monet::original::MonetError;
use remat_instances::instance::Instance;
use remat_lp::ModelError;
use remat_solver::price::{
    Branching, Columns, Incumbents, Open, Priced, Pricing, Root, RootBound, RootSettings,
    RowLimits, RowTraits, Rows, Sense, Separation, SeparationSettings,
};
use std::sync::Arc;

impl MonetGraph {
    /// The size of the program.
    pub fn extent(&self) -> Extent {
        let ways = self.first.iter().chain(&self.again).map(Vec::len);
        Extent {
            tensors: self.columns,
            stages: self.stages + 1,
            ways: ways.max().unwrap_or(0),
            choices: self.choices.iter().map(Vec::len).max().unwrap_or(0),
        }
    }
}

impl Columns for MonetGraph {
    type Column = Interval;

    fn blocks(&self) -> usize {
        self.extent().tensors
    }

    fn block(column: &Interval) -> usize {
        column.node as usize
    }

    /// Choices of backward nodes that have several, by stage.
    fn static_costs(&self) -> Vec<u64> {
        let several = self.choices.iter().filter(|c| c.len() > 1);
        several.flatten().map(|c| c.cost).collect()
    }

    fn offset(&self) -> u64 {
        self.fixed_cost()
    }

    fn base_cost(&self) -> u64 {
        self.base_cost()
    }

    fn cost_upper_bound(&self) -> u64 {
        self.costliest()
    }

    fn cost_unit(&self) -> f64 {
        self.cost_unit()
    }

    fn cost(&self, column: &Interval) -> u64 {
        column.way(self).cost
    }

    fn is_never_purged(&self, column: &Interval) -> bool {
        column.start == 0
    }
}

impl Rows for MonetGraph {
    type Row = Row;
    type Part = Term;

    /// The rows for first starts, choices and needs, and the intervals from stage 0 on, so that
    /// every tensor that is read can be kept.
    fn start(&self) -> (Vec<Row>, Vec<Interval>) {
        let mut rows = Vec::new();
        let mut intervals = Vec::new();
        for t in 0..self.stages as u32 {
            if self.choices[t as usize].len() > 1 {
                rows.push(Row::choose(self, t));
            }
        }
        for node in 0..self.columns as u32 {
            let last = self.last_stored(node);
            if self.is_forced(node) {
                rows.push(Row::first(node));
            } else if !self.is_of_use(node) {
                continue;
            }
            let interval = |end: u32, held: bool| Interval {
                node,
                start: 0,
                end,
                way: 0,
                held,
            };
            intervals.push(interval(last, false));
            intervals.push(interval(0, self.is_read(node, 0)));
            for t in 0..self.stages as u32 {
                if self.is_read(node, t) {
                    rows.push(Row::need(self, t, node));
                    if t + 1 < last {
                        intervals.push(interval(t + 1, false));
                    }
                    // Computed only for this reader: without these columns the initial program
                    // exceeds the budget by far.
                    if t > 0 && self.fits_somehow(node, t) {
                        intervals.push(Interval {
                            start: t,
                            end: t,
                            held: true,
                            ..interval(0, false)
                        });
                    }
                }
            }
        }
        // By-products are made with parents of the same kind: a plain way for each.
        for c in &mut intervals {
            let ways = self.starts(c.node, c.start).iter().enumerate();
            let mut plain = ways.filter(|(k, s)| !s.in_place && self.fits(c.node, c.start, *k));
            c.way = plain.next().map_or(0, |s| s.0) as u16;
        }
        (rows, intervals)
    }

    fn resource_unit(&self) -> f64 {
        self.memory_unit()
    }

    fn resource_capacity(&self) -> f64 {
        self.room[0] as f64
    }

    fn row_traits(&self, row: &Row) -> RowTraits {
        RowTraits {
            sense: match (row.is_equation(), row.is_memory()) {
                (true, _) => Sense::Equal,
                (_, true) => Sense::AtMost,
                _ => Sense::AtLeast,
            },
            elastic: matches!(
                row.kind,
                RowKind::Branch | RowKind::Cover | RowKind::Need | RowKind::Path
            ),
            permanent: matches!(
                row.kind,
                RowKind::First | RowKind::Choose | RowKind::Need | RowKind::Branch
            ),
        }
    }

    fn right_side(&self, row: &Row) -> i64 {
        row.right
    }

    fn parts(&self, row: &Row, note: &mut dyn FnMut(usize, Term)) {
        for term in &row.terms {
            if let Some(node) = term.node() {
                note(node as usize, *term);
            }
        }
    }

    fn coefficient(&self, _: &Row, part: Term, column: &Interval) -> i64 {
        part.coefficient(self, column)
    }

    fn static_entries(&self, row: &Row) -> Vec<(u32, i64)> {
        let entry = |term: &Term| match term.atom {
            Atom::Choice { stage, way } => {
                Some((self.choice_column(stage)? + way, term.coefficient))
            }
            _ => None,
        };
        row.terms.iter().filter_map(entry).collect()
    }
}

impl Pricing for MonetGraph {
    type Exclusions = Exclusions;

    fn no_exclusions(&self) -> Exclusions {
        Exclusions::none(self.extent())
    }

    fn exclude_all_of(&self, exclusions: &mut Exclusions, other: &Exclusions) {
        exclusions.exclude_all_of(other);
    }

    fn is_permitted(&self, column: &Interval, exclusions: &Exclusions) -> bool {
        let way = usize::from(column.way);
        exclusions.may_start(column.node, column.start, way)
            && exclusions.may_hold_through(column.node, column.start, column.end)
    }

    fn permitted_statics(&self, exclusions: &Exclusions) -> Vec<bool> {
        let several = (0..self.stages).filter(|&t| self.choices[t].len() > 1);
        let of =
            |t: usize| (0..self.choices[t].len()).map(move |way| exclusions.may_choose(t, way));
        several.flat_map(of).collect()
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

impl Separation for MonetGraph {
    type Point = Point;

    fn point(&self, columns: &mut dyn Iterator<Item = (Interval, f64)>, choices: &[f64]) -> Point {
        let mut left = choices;
        let by_stage = self.choices.iter().map(|ways| match ways.len() {
            several @ 2.. => {
                let (own, rest) = left.split_at(several);
                left = rest;
                own.to_vec()
            }
            _ => vec![1.0],
        });
        let by_stage = by_stage.collect();
        Point::new(self, columns, by_stage)
    }

    fn violated(&self, point: &Point, limits: &RowLimits<'_, Row>) -> Vec<Row> {
        let mut rows = point.violated_links(self, limits.tolerance);
        rows.retain(|r| !(limits.known)(r));
        let overflow = limits.overflow;
        let memory = point.violated_memory(self, overflow, limits.per_group, limits.known);
        rows.extend(memory.into_iter().take(limits.resource_rows));
        rows
    }

    fn cuts(&self, point: &Point, settings: &SeparationSettings) -> Vec<Row> {
        separate_cuts(self, point, settings)
    }
}

impl Branching for MonetGraph {
    type Quantity = Quantity;

    fn branch_row(&self, branch: &Branch) -> Row {
        Row::branch(self, branch)
    }

    fn open(&self, point: &Point, limit: usize) -> Vec<Open<Quantity>> {
        super::branch::open_quantities(self, point, limit)
    }

    fn kind(quantity: &Quantity) -> (u32, u8) {
        let (of, kind) = match *quantity {
            Quantity::Choice { of, .. } => (of, 0),
            Quantity::Starts { of, .. } => (of, 1),
            Quantity::Stored { of, .. } => (of, 2),
            Quantity::Scratch { node, .. } => (Group::One(node), 3),
            Quantity::InPlace { node, .. } => (Group::One(node), 4),
        };
        match of {
            Group::One(one) => (one, kind),
            Group::Class(class) => (class, kind + 5),
        }
    }
}

impl MonetGraph {
    /// Number of the first choice of a stage, counted over all stages with several choices; `None`
    /// if the stage has a single one.
    fn choice_column(&self, stage: u32) -> Option<u32> {
        let several = |c: &&Vec<super::Choice>| c.len() > 1;
        let (before, from) = self.choices.split_at(stage as usize);
        from.first().filter(several)?;
        let before = before.iter().filter(several);
        Some(before.map(|c| c.len() as u32).sum())
    }
}

/// Reason why a root bound is missing.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// The program does not exist for the instance.
    #[error(transparent)]
    Instance(#[from] MonetError),
    /// The LP solver refused a change: a defect.
    #[error(transparent)]
    Model(#[from] ModelError),
}

/// The bound of the interval form at the root, over the whole space of schedules. `incumbents`
/// receives relaxations on the way.
///
/// # Errors
/// [`RootError::Instance`] if the instance has no loss.
pub fn root_bound(
    instance: &Instance,
    budget_bytes: u64,
    settings: &RootSettings,
    incumbents: &Incumbents<MonetGraph>,
) -> Result<RootBound<MonetGraph>, RootError> {
    let graph = Arc::new(MonetGraph::new(instance, budget_bytes)?);
    Ok(Root::solve(graph, settings, incumbents)?.into_bound())
}
