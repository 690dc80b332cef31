//! Lifted covers at events that are full, and at recomputations.
//!
//! At event `(t,k)` each tensor is there or not, apart from the inputs of `t` up to `k`. These are
//! there in every schedule: they are computed at no later event of the stage. A cover of the other
//! tensors is a row ([`remat_solver::price::cover`]).
//!
//! A relaxation recomputes a third of `k`, with a third of its inputs. A schedule has them whole.
//! So the recomputation of `k` is one item with the size of all that `k` needs, and its inputs are
//! no items. If `k` is not recomputed, the row only says that the others fit, so it holds at every
//! schedule.
//!
//! With several micro-batches in flight, a tensor is there at the wait or not as well, and then
//! takes the copies of the others: an item of its own, since the memory row is a knapsack over both.
//! Tensors that are at the wait in every schedule take their copies from the room.

use super::{CheckmateGraph, IntervalPoint, Row};
use crate::life::Stretch;
use remat_solver::price::cover::{Cover, CoverItem, VIOLATION, separate};

/// Covers are sought at events with at least this share of the capacity in use.
const FULL: f64 = 0.95;
/// Full events of a stage, at most.
const EVENTS: usize = 2;
/// Covers are also sought at recomputations with at least this value at the point.
const MADE: f64 = 0.02;
/// Full events, and recomputations, that are examined in a round: least and most of each.
const MOMENTS: [usize; 2] = [50, 500];
/// Tensors that are examined in all of these: large programs have thousands of moments, with
/// thousands of tensors in each.
const ITEMS: usize = 500_000;
/// Rows in a round.
const LIMIT: usize = 100;

/// Cover of an event, a row of the form: a limit on the tensors that fit there together, each as a
/// whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventCover {
    /// The stage.
    pub stage: u32,
    /// The node whose turn it is.
    pub node: u32,
    /// Cover of the tensors that count when they are there; those that wait are numbered behind all
    /// others.
    pub cover: Cover,
    /// Additional weight if the node is recomputed: it has its inputs then, which do not count
    /// themselves.
    pub made: u32,
}

/// An event, and the value of its node's recomputation at a point, if that is one of the items.
#[derive(Clone, Copy)]
struct CoverMoment {
    stage: u32,
    node: u32,
    made: Option<f64>,
}

impl IntervalPoint {
    /// Violated lifted covers, most violated first.
    pub fn violated_covers(&self, graph: &CheckmateGraph) -> Vec<Row> {
        let mut found: Vec<(f64, Row)> = Vec::new();
        let mut there = vec![0.0; graph.len()];
        let (waits, waiting) = self.waiting_items(graph);
        let [least, most] = MOMENTS;
        let count = (ITEMS / graph.len()).clamp(least, most);
        let full = self.full(graph).take(count);
        for moment in full.chain(self.made().take(count)) {
            let CoverMoment { stage, node, .. } = moment;
            there.fill(0.0);
            for (c, x) in &self.intervals {
                if c.covers(graph, stage, node) {
                    there[c.node as usize] += x;
                }
            }
            let (mut items, room) = knapsack(graph, moment, &there);
            items.extend_from_slice(&waits);
            let room = room.saturating_sub(waiting);
            let Some((share, mut cover)) = separate(&items, room, VIOLATION) else {
                continue;
            };
            let made = moment.made.map_or(0, |_| cover.take(node));
            let row = Row::Cover(EventCover {
                stage,
                node,
                cover,
                made,
            });
            found.push((share, row));
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        found.truncate(LIMIT);
        found.into_iter().map(|f| f.1).collect()
    }

    /// Tensors that may wait, and the bytes of those that wait in every schedule.
    fn waiting_items(&self, graph: &CheckmateGraph) -> (Vec<CoverItem>, u64) {
        let Some((wait, event)) = graph.waiting.zip(graph.wait_event()) else {
            return (Vec::new(), 0);
        };
        let mut value = vec![0.0; graph.len()];
        for (c, x) in self.intervals.iter().filter(|(c, _)| c.is_at(graph, event)) {
            value[c.node as usize] += x;
        }
        let bytes = |i: u32| graph.gauges[0].waiting[i as usize];
        let may_wait = |i: &u32| graph.last_stage[*i as usize] > wait.stage && bytes(*i) > 0;
        let (again, always): (Vec<u32>, Vec<u32>) = (0..wait.stage)
            .filter(may_wait)
            .partition(|i| graph.may_recompute_in(*i, *i + 1));
        let is_read = |i: &u32| graph.users[*i as usize].last() > Some(&wait.stage);
        let item = |i: u32| CoverItem {
            name: graph.len() as u32 + i,
            bytes: bytes(i),
            value: value[i as usize],
        };
        let taken = always.iter().copied().filter(is_read).map(bytes).sum();
        (again.into_iter().map(item).collect(), taken)
    }

    /// Events that are full.
    fn full(&self, graph: &CheckmateGraph) -> impl Iterator<Item = CoverMoment> {
        let full = FULL * graph.capacity as f64;
        let events = self.violated_memory(graph, 0, full, EVENTS, |_| false);
        events.into_iter().filter_map(|row| match row {
            Row::Memory { stage, node, .. } => Some(CoverMoment {
                stage,
                node,
                made: None,
            }),
            _ => None,
        })
    }

    /// Recomputations.
    fn made(&self) -> impl Iterator<Item = CoverMoment> {
        let mut made = self.recomputations();
        made.sort_by_key(|&(node, stage, _)| (stage, node));
        let often = made.into_iter().filter(|made| made.2 >= MADE);
        often.map(|(node, stage, made)| CoverMoment {
            stage,
            node,
            made: Some(made),
        })
    }
}

/// Items that may be there at a moment or not, and the room for them.
fn knapsack(graph: &CheckmateGraph, moment: CoverMoment, there: &[f64]) -> (Vec<CoverItem>, u64) {
    let CoverMoment { stage, node, made } = moment;
    let of_stage = &graph.needs[stage as usize];
    let bytes = |i: u32| graph.bytes[i as usize];
    // With moments, an input of the stage may come after the recomputation.
    let in_order = node == stage || !graph.has_moments();
    let is_fixed = |i: u32| in_order && i <= node && of_stage.contains(&i);
    let of_node: &[u32] = match made {
        Some(_) => &graph.needs[node as usize],
        None => &[],
    };
    let own = match stage == node {
        true => bytes(stage) + graph.workspace[stage as usize],
        false => 0,
    };
    let fixed: u64 = of_stage
        .iter()
        .filter(|i| is_fixed(**i))
        .map(|i| bytes(*i))
        .sum();
    let room = graph.capacity.saturating_sub(fixed + own);
    let is_item = |i: &u32| {
        let alive = graph.last_stage[*i as usize] >= stage && bytes(*i) > 0;
        alive && !is_fixed(*i) && !of_node.contains(i) && (made.is_none() || *i != node)
    };
    let item = |i: u32| CoverItem {
        name: i,
        bytes: bytes(i),
        value: there[i as usize],
    };
    let mut items: Vec<CoverItem> = (0..stage).filter(is_item).map(item).collect();
    if let Some(value) = made {
        let needed = of_node.iter().copied().chain([node]);
        let counted: u64 = needed.filter(|i| is_fixed(*i)).map(bytes).sum();
        items.push(CoverItem {
            name: node,
            bytes: graph.need_bytes(node as usize) - counted,
            value,
        });
    }
    items.retain(|item| item.bytes > 0);
    (items, room)
}
