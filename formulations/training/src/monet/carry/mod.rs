//! Rows and intervals of MONeT's program, carried over from a few equal layers to many.
//!
//! A row is rebuilt with the nodes and stages of the large network, from the origin that its terms
//! reveal. The turn of any node between the same tensors is the same origin. A stage follows its
//! backward node.
//!
//! | module | concept |
//! |---|---|
//! | `origin` | the parameters that a row was made from |
//! | `read` | origins, read off the terms of rows |
//! | `valid` | the check that an origin belongs to a row of a program |

mod origin;
mod read;
mod valid;

use super::bound::event_bound;
use super::interval::{Interval, MonetGraph, Row};
use super::{MonetFormulation, anneal::MonetLandscape};
use crate::life::Stretch;
use crate::life::layers::{Beside, Layered};
use origin::Origin;
use remat_instances::Semantics;
use remat_instances::instance::Instance;
use remat_instances::schedule::{BitMatrix, MonetSchedule};
use std::sync::Arc;

impl Layered for MonetGraph {
    const SEMANTICS: Semantics = Semantics::Monet;
    type Formulation = MonetFormulation;

    fn of(instance: &Instance, budget_bytes: u64) -> Option<Self> {
        MonetGraph::new(instance, budget_bytes).ok()
    }

    /// The program without rounded rows and without path memory cuts that charge both ways.
    fn of_few(instance: &Instance, budget_bytes: u64) -> Option<Self> {
        let mut graph = Self::of(instance, budget_bytes)?;
        graph.plain_cuts = true;
        Some(graph)
    }

    fn formulation(instance: Arc<Instance>) -> Option<MonetFormulation> {
        MonetFormulation::new(instance).ok()
    }

    fn is_too_small(instance: &Instance, budget_bytes: u64) -> bool {
        let graph = MonetLandscape::new(instance, budget_bytes);
        graph.is_none_or(|graph| event_bound(instance, &graph).is_err())
    }

    fn anchors_of_row(&self, row: &Row) -> Vec<u32> {
        let origin = Origin::of(self, row);
        origin.map_or_else(Vec::new, |origin| origin.anchors(self))
    }

    fn anchors_of_column(&self, c: &Interval) -> Vec<u32> {
        vec![c.node, self.node_of(c.end.max(1) - 1)]
    }

    fn carried_row(&self, small: &Self, row: &Row, beside: &Beside<'_>) -> Option<Row> {
        let places = CarriedPlaces {
            small,
            large: self,
            beside,
        };
        let origin = Origin::of(small, row)?.carried(&places)?;
        origin.is_valid(self).then(|| origin.row(self))
    }

    fn carried_column(&self, small: &Self, c: &Interval, beside: &Beside<'_>) -> Option<Interval> {
        let places = CarriedPlaces {
            small,
            large: self,
            beside,
        };
        let start = places.stage(c.start)?;
        let carried = Interval {
            node: beside.node(c.node)?,
            start,
            end: match c.end > c.start {
                // A tensor that is stored when a stage begins is there for the backward node of the
                // stage before.
                true => places.stage(c.end - 1)? + 1,
                false => start,
            },
            ..*c
        };
        self.has_interval(&carried).then_some(carried)
    }

    fn tensor(c: &Interval) -> u32 {
        c.node
    }

    fn columns_of(&self, schedule: &MonetSchedule) -> Vec<Interval> {
        Interval::of_schedule(self, schedule)
    }

    fn is_held(&self, c: &Interval, stage_of: u32) -> bool {
        let stage = (stage_of + 1).checked_sub(self.columns as u32);
        stage.is_some_and(|stage| c.crosses(stage))
    }

    fn cost_again(&self, c: &Interval) -> u64 {
        match c.start {
            0 => 0,
            _ => c.way(self).cost,
        }
    }
}

/// Maps places of a small network to a large one.
struct CarriedPlaces<'a> {
    small: &'a MonetGraph,
    large: &'a MonetGraph,
    beside: &'a Beside<'a>,
}

impl CarriedPlaces<'_> {
    fn stage(&self, stage: u32) -> Option<u32> {
        let node = self.beside.node(self.small.node_of(stage))?;
        self.large.stage_of(node)
    }

    /// Choices of a stage's backward node in the large network, by their implementations.
    fn ways(&self, from: u32, ways: &[u32], to: u32) -> Option<Vec<u32>> {
        let [here, there] = [(self.small, from), (self.large, to)];
        let choices = there.0.choices.get(there.1 as usize)?;
        let way = |way: &u32| {
            let choice = &here.0.choices[here.1 as usize][*way as usize];
            let like = |c: &super::interval::Choice| c.implementation == choice.implementation;
            choices.iter().position(like).map(|k| k as u32)
        };
        let mut ways: Vec<u32> = ways.iter().map(way).collect::<Option<_>>()?;
        ways.sort_unstable();
        Some(ways)
    }
}

impl MonetGraph {
    /// The node that names a stage: its backward node, or the loss.
    fn node_of(&self, stage: u32) -> u32 {
        self.columns as u32 - 1 + stage
    }

    /// The stage that a node names.
    fn stage_of(&self, node: u32) -> Option<u32> {
        (node + 1).checked_sub(self.columns as u32)
    }

    /// Returns whether the program has an interval.
    fn has_interval(&self, c: &Interval) -> bool {
        let last = self.last_stored(c.node);
        let is_held = !c.held || (c.start == c.end && self.is_read(c.node, c.start));
        (c.node as usize) < self.columns
            && c.start <= c.end
            && (c.end <= last || c.start == c.end)
            && (c.start < last.max(1))
            && is_held
            && usize::from(c.way) < self.starts(c.node, c.start).len()
            && self.fits(c.node, c.start, usize::from(c.way))
    }
}

/// The retained sets of a list of intervals.
pub(super) fn retained(graph: &MonetLandscape, list: &[Interval]) -> BitMatrix {
    let mut retained = BitMatrix::new(graph.stages + 1, graph.columns);
    for c in list {
        for stage in c.start + 1..=c.end {
            retained.set(stage as usize, c.node as usize, true);
        }
    }
    retained
}
