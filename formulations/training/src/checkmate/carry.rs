//! Rows and intervals of Checkmate's program, carried over from a few equal layers to many.

use super::interval::{Around, Interval, Row};
use super::path_cuts::{PathCut, PathMemoryCut};
use super::{CheckmateFormulation, CheckmateGraph};
use crate::bound::smallest_budget;
use crate::life::Stretch;
use crate::life::layers::{Beside, Layered};
use remat_instances::Semantics;
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;
use std::sync::Arc;

impl Layered for CheckmateGraph {
    const SEMANTICS: Semantics = Semantics::Checkmate;
    type Formulation = CheckmateFormulation;

    fn of(instance: &Instance, budget_bytes: u64) -> Option<Self> {
        CheckmateGraph::new(instance, budget_bytes).ok()
    }

    /// The program without rounded rows.
    fn of_few(instance: &Instance, budget_bytes: u64) -> Option<Self> {
        let mut graph = Self::of(instance, budget_bytes)?;
        graph.gauges.truncate(1);
        Some(graph)
    }

    fn like(self, other: &Self) -> Self {
        self.with_scope(other.scope)
    }

    fn formulation(instance: Arc<Instance>) -> Option<CheckmateFormulation> {
        Some(CheckmateFormulation::new(instance))
    }

    fn is_too_small(instance: &Instance, budget_bytes: u64) -> bool {
        budget_bytes <= smallest_budget(instance).needed_bytes
    }

    fn anchors_of_row(&self, row: &Row) -> Vec<u32> {
        match row {
            Row::Need { node, reader } => vec![*node, *reader],
            Row::Input { stage, node, input } => vec![*node, *input, *stage],
            Row::Parent { stage, node } => vec![*node, *stage],
            Row::Memory { stage, .. } => vec![*stage],
            Row::Around(row) => vec![row.stage],
            Row::Cover(at) => vec![at.stage],
            Row::Path(cut) => cut
                .path
                .last()
                .into_iter()
                .chain([&cut.reader])
                .copied()
                .collect(),
            Row::PathMemory(cut) => vec![cut.path.reader],
            Row::Class(_) | Row::Branch(_) => Vec::new(),
        }
    }

    fn anchors_of_column(&self, c: &Interval) -> Vec<u32> {
        vec![c.node, c.end]
    }

    fn carried_row(&self, _: &Self, row: &Row, beside: &Beside<'_>) -> Option<Row> {
        let row = self.row_beside(row, beside)?;
        self.has_row(&row).then_some(row)
    }

    fn carried_column(&self, _: &Self, c: &Interval, beside: &Beside<'_>) -> Option<Interval> {
        let carried = Interval {
            node: beside.node(c.node)?,
            start: beside.node(c.start)?,
            end: beside.node(c.end)?,
            reader: beside.node(c.reader)?,
        };
        let is_one = self.users[carried.node as usize].contains(&carried.reader)
            && carried.reader <= carried.end
            && (carried.node..=carried.end).contains(&carried.start);
        is_one.then_some(carried)
    }

    fn tensor(c: &Interval) -> u32 {
        c.node
    }

    fn columns_of(&self, schedule: &CheckmateSchedule) -> Vec<Interval> {
        Interval::of_schedule(self, schedule)
    }

    fn is_held(&self, c: &Interval, stage_of: u32) -> bool {
        c.crosses(stage_of)
    }

    fn cost_again(&self, c: &Interval) -> u64 {
        match c.is_recomputed() {
            true => self.cost_again[c.node as usize],
            false => 0,
        }
    }
}

impl CheckmateGraph {
    fn path_beside(&self, cut: &PathCut, beside: &Beside<'_>) -> Option<PathCut> {
        let path = cut.path.iter().map(|i| beside.node(*i));
        let path = PathCut {
            reader: beside.node(cut.reader)?,
            from: beside.node(cut.from)?,
            path: path.collect::<Option<_>>()?,
        };
        path.is_valid(self).then_some(path)
    }

    /// The same path in the large program, with tensors like the staying ones, and like the
    /// companions.
    fn path_memory_beside(
        &self,
        cut: &PathMemoryCut,
        beside: &Beside<'_>,
    ) -> Option<PathMemoryCut> {
        let path = self.path_beside(&cut.path, beside)?;
        let source = path.source();
        let own = |i: &u32| *i == source || self.needs[source as usize].contains(i);
        let like = |i: &u32| beside.images(*i);
        let staying = cut.staying.iter().flat_map(like);
        let mut staying: Vec<u32> = staying.filter(|i| *i < path.from && !own(i)).collect();
        staying.sort_unstable();
        staying.dedup();
        let mut companions = Vec::new();
        for (stage, tensor) in &cut.companions {
            let stages = beside.images(*stage);
            let window = path.from..=path.reader;
            let tensors = beside.images(*tensor);
            for stage in stages.into_iter().filter(|t| window.contains(t)) {
                let beside = tensors
                    .iter()
                    .filter(|i| **i < path.reader && !own(i) && staying.binary_search(i).is_err());
                companions.extend(beside.map(|i| (stage, *i)));
            }
        }
        companions.sort_unstable();
        companions.dedup();
        let bytes_at = |t: u32| {
            let begin = companions.partition_point(|c| c.0 < t);
            let here = companions[begin..].iter().take_while(|c| c.0 == t);
            here.map(|c| self.bytes[c.1 as usize]).sum::<u64>()
        };
        let other_bytes = (path.from..=path.reader).map(bytes_at).min()?;
        Some(PathMemoryCut {
            path,
            staying,
            other_bytes,
            companions,
        })
    }

    fn row_beside(&self, row: &Row, beside: &Beside<'_>) -> Option<Row> {
        let node = |i: &u32| beside.node(*i);
        Some(match row {
            Row::Need {
                node: tensor,
                reader,
            } => Row::Need {
                node: node(tensor)?,
                reader: node(reader)?,
            },
            Row::Input {
                stage,
                node: made,
                input,
            } => Row::Input {
                stage: node(stage)?,
                node: node(made)?,
                input: node(input)?,
            },
            Row::Parent { stage, node: made } => Row::Parent {
                stage: node(stage)?,
                node: node(made)?,
            },
            Row::Memory {
                stage,
                node: turn,
                gauge: 0,
            } => {
                let stage = node(stage)?;
                Row::Memory {
                    stage,
                    // A turn in a distant middle layer is replaced by the like turn of any layer.
                    node: beside.node_or_like(*turn)?.min(stage),
                    gauge: 0,
                }
            }
            Row::Around(row) if row.gauge == 0 => Row::Around(Around {
                stage: node(&row.stage)?,
                node: node(&row.node)?,
                gauge: 0,
                with: row.with.iter().map(node).collect::<Option<_>>()?,
            }),
            Row::Path(cut) => Row::Path(self.path_beside(cut, beside)?),
            Row::PathMemory(cut) => Row::PathMemory(self.path_memory_beside(cut, beside)?),
            Row::Memory { .. }
            | Row::Around(_)
            | Row::Cover(_)
            | Row::Class(_)
            | Row::Branch(_) => return None,
        })
    }

    /// Returns whether the large program has a carried row: the nodes that it names may no longer
    /// be neighbours.
    fn has_row(&self, row: &Row) -> bool {
        let reads = |node: u32, input: u32| self.needs[node as usize].contains(&input);
        match row {
            Row::Need { node, reader } => reads(*reader, *node),
            Row::Input { stage, node, input } => node < stage && reads(*node, *input),
            Row::Parent { stage, node } => node < stage && self.parent[*node as usize].is_some(),
            Row::Memory { stage, node, .. } => node <= stage,
            Row::Around(row) => {
                row.node < row.stage && row.with.iter().all(|j| reads(row.node, *j))
            }
            Row::Path(_) | Row::PathMemory(_) => true,
            Row::Cover(_) | Row::Class(_) | Row::Branch(_) => false,
        }
    }
}
