//! The graphs of stages, and all their schedules. Shares no code with the product.
//!
//! A search for a shortest path over the sets of tensors that a stage of Checkmate's program may
//! retain, from the first stage to the last. For each set it has all combinations of cost, peak and
//! saved bytes of which no other is at least as good in all three. So one table answers for all budgets and all numbers of
//! micro-batches in flight.

use remat_instances::instance::{Instance, NodeKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::ops::Range;

/// Steps from one set to another at most, in a search of one stage: a few seconds.
const MOST_STEPS: u64 = 10_000_000;

/// A search that ended without an answer.
#[derive(Clone, Copy, Debug)]
pub struct TooLong;

/// A node of a stage.
#[derive(Clone, Debug, Default)]
struct Own {
    needs: u32,
    parent: Option<usize>,
    bytes: u32,
    cost: [u32; 2],
    workspace: [u32; 2],
    may_again: bool,
}

/// The graph of a stage, or a whole graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    nodes: Vec<Own>,
    /// Nodes of the forward pass.
    start: usize,
}

/// A schedule of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    cost: u32,
    /// Without fixed memory and waiting micro-batches.
    peak_bytes: u32,
    saved_bytes: u32,
}

impl Found {
    fn is_within(&self, other: &Found) -> bool {
        self.cost <= other.cost
            && self.peak_bytes <= other.peak_bytes
            && self.saved_bytes <= other.saved_bytes
    }

    /// Memory with so many micro-batches in flight.
    fn needed_bytes(&self, in_flight: u32) -> u64 {
        u64::from(self.peak_bytes) + u64::from(in_flight - 1) * u64::from(self.saved_bytes)
    }
}

/// Position of each node in the forward pass.
pub fn positions(whole: &Instance) -> (usize, Vec<usize>) {
    let nodes = whole.nodes();
    let turns = |kind: NodeKind| matches!(kind, NodeKind::Backward { .. });
    let loss = nodes.iter().position(|node| node.kind == NodeKind::Loss);
    let first = nodes.iter().position(|node| turns(node.kind));
    let start = loss.map_or(first.expect("a backward pass"), |loss| loss + 1);
    let mut at: Vec<usize> = (0..start).collect();
    for node in &nodes[start..] {
        let twin = match node.kind {
            NodeKind::Backward { forward, .. } => forward.map(|id| id.index()),
            _ => None,
        };
        let gradients = node.needs().iter().filter(|id| id.index() >= start);
        let earliest = gradients.map(|id| at[id.index()]).min();
        at.push(twin.or(earliest).unwrap_or(start - 1));
    }
    (start, at)
}

/// Positions before which a cut sends no gradient forward and parts no by-product from its parent.
pub fn legal(whole: &Instance) -> Vec<usize> {
    let (start, at) = positions(whole);
    let fits = |p: &usize| {
        whole.nodes().iter().enumerate().all(|(i, node)| {
            let own = at[i] < *p;
            let goes_forward = |need: usize| need >= start && at[need] < *p && !own;
            let parent = node.parent().map(|parent| at[parent.index()] < *p);
            !node.needs().iter().any(|need| goes_forward(need.index()))
                && parent.is_none_or(|parent| parent == own)
        })
    };
    (1..start).filter(fits).collect()
}

/// Bytes of activations and of gradients that cross a cut.
pub fn crossing(whole: &Instance, cut: usize) -> [u64; 2] {
    let (_, at) = positions(whole);
    let mut bytes = [0; 2];
    for (i, node) in whole.nodes().iter().enumerate() {
        let readers = whole.nodes().iter().enumerate();
        let mut readers = readers.filter(|(_, by)| by.needs().iter().any(|id| id.index() == i));
        // A later stage needs what an earlier one makes, or the other way round.
        let over = |(by, _): (usize, _)| (at[by] < cut) != (at[i] < cut);
        if readers.any(over) {
            bytes[usize::from(at[i] >= cut)] += node.output_bytes;
        }
    }
    bytes
}

impl Graph {
    /// A whole graph.
    pub fn whole(instance: &Instance) -> Self {
        let mut graph = Graph::default();
        let start = instance.backward_start().map(|id| id.index());
        let mut place = BTreeMap::new();
        for i in 0..instance.len() {
            graph.copy(instance, i, &mut place);
        }
        graph.start = start.unwrap_or(instance.len());
        graph
    }

    /// The stage of a range of positions.
    pub fn stage(whole: &Instance, range: Range<usize>) -> Self {
        let (start, at) = positions(whole);
        let mut graph = Graph::default();
        let mut place = BTreeMap::new();
        let readers = |i: usize| {
            let all = whole.nodes().iter().enumerate();
            let readers = all.filter(move |(_, by)| by.needs().iter().any(|id| id.index() == i));
            readers.map(|(by, _)| at[by]).collect::<Vec<usize>>()
        };
        let n = whole.len();
        for (pass, nodes) in [0..start, start..n].into_iter().enumerate() {
            // What comes from outside and is needed here or beyond.
            for (i, &own) in at.iter().enumerate() {
                let needed = match pass {
                    0 => own < range.start && readers(i).iter().any(|r| *r >= range.start),
                    _ => own >= range.end && readers(i).iter().any(|r| *r < range.end),
                };
                if needed {
                    place.insert(i, graph.nodes.len());
                    graph.nodes.push(Own {
                        bytes: whole.nodes()[i].output_bytes as u32,
                        ..Own::default()
                    });
                }
            }
            for i in nodes.filter(|i| range.contains(&at[*i])) {
                graph.copy(whole, i, &mut place);
            }
            let sent = (0..n).filter(|i| match pass {
                0 => at[*i] < range.end && readers(*i).iter().any(|r| *r >= range.end),
                _ => at[*i] >= range.start && readers(*i).iter().any(|r| *r < range.start),
            });
            let needs = sent.fold(0, |mask, i| mask | 1 << place[&i]);
            if needs != 0 {
                graph.nodes.push(Own {
                    needs,
                    ..Own::default()
                });
            }
            if pass == 0 {
                graph.start = graph.nodes.len();
            }
        }
        graph
    }

    fn copy(&mut self, from: &Instance, i: usize, place: &mut BTreeMap<usize, usize>) {
        let node = &from.nodes()[i];
        let parent = node.parent().map(|parent| place[&parent.index()]);
        let way = &node.implementations[0];
        place.insert(i, self.nodes.len());
        let needs = way.needs.iter();
        let again = parent.is_none_or(|parent| self.nodes[parent].may_again);
        self.nodes.push(Own {
            needs: needs.fold(0, |mask, id| mask | 1 << place[&id.index()]),
            parent,
            bytes: node.output_bytes as u32,
            cost: [way.cost as u32, way.recompute_cost as u32],
            workspace: [way.workspace_bytes, way.recompute_workspace_bytes]
                .map(|bytes| bytes.max(0) as u32),
            may_again: !node.once && again,
        });
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Returns whether the stage has a backward pass.
    pub fn trains(&self) -> bool {
        self.start < self.len()
    }

    /// Compares with the graph that the product makes for the stage.
    pub fn is_like(&self, graph: &Instance) -> bool {
        let alike = |(own, i): (&Own, usize)| {
            let node = &graph.nodes()[i];
            let way = &node.implementations[0];
            let needs = way.needs.iter().fold(0, |mask, id| mask | 1 << id.0);
            own.needs == needs
                && u64::from(own.bytes) == node.output_bytes
                && own.cost.map(u64::from) == [way.cost, way.recompute_cost]
                && own.may_again == graph.may_recompute((i).into())
                && own.parent == node.parent().map(|parent| parent.index())
        };
        let start = graph.backward_start().map_or(graph.len(), |id| id.index());
        self.len() == graph.len() && self.start == start && self.nodes.iter().zip(0..).all(alike)
    }

    /// Bytes of a set of tensors.
    fn bytes(&self, set: u32) -> u32 {
        ones(set).map(|i| self.nodes[i].bytes).sum()
    }

    /// Tensors made before a stage that its nodes or later ones read.
    fn read(&self, t: usize) -> u32 {
        let readers = self.nodes[t..].iter();
        readers.fold(0, |mask, node| mask | node.needs) & ((1 << t) - 1)
    }

    /// Tensors made before a stage that may help from it on: those that are read, and those from
    /// which others of them can be computed again.
    pub fn useful(&self, t: usize) -> u32 {
        let mut useful = self.read(t);
        for i in (0..t).rev() {
            let node = &self.nodes[i];
            if useful >> i & 1 != 0 && node.may_again {
                useful |= node.needs;
                useful |= node.parent.map_or(0, |parent| 1 << parent);
            }
        }
        useful
    }

    /// Least cost of a schedule with so many micro-batches in flight, in memory without fixed
    /// memory; `None` if no schedule fits. Ends after [`MOST_STEPS`] without an answer.
    pub fn least(&self, in_flight: u32, room_bytes: u64) -> Result<Option<u64>, TooLong> {
        let others = if self.trains() { in_flight - 1 } else { 0 };
        let room = u32::try_from(room_bytes).unwrap_or(u32::MAX >> 1);
        // Peaks below this one fit whatever is saved.
        let all: u32 = self.nodes[..self.start].iter().map(|node| node.bytes).sum();
        let never = room.saturating_sub(others * all);
        // Cost of all first runs from each stage on.
        let mut rest = vec![0; self.len() + 1];
        for t in (0..self.len()).rev() {
            rest[t] = rest[t + 1] + self.nodes[t].cost[0];
        }
        // What has to be retained, and what may help.
        let sets = (0..=self.len()).map(|t| {
            let stays = ones(self.read(t)).filter(|i| !self.nodes[*i].may_again);
            (stays.fold(0, |mask, i| mask | 1 << i), self.useful(t))
        });
        let sets: Vec<(u32, u32)> = sets.collect();
        // What every schedule holds while a node runs for the first time.
        let stays = |t: usize| {
            let around = self.nodes[t].needs | (sets[t + 1].0 & !(1 << t));
            self.bytes(around) + self.nodes[t].bytes + self.nodes[t].workspace[0]
        };
        if (0..self.len()).any(|t| stays(t) > room) {
            return Ok(None);
        }
        // The least cost first; of equal ones the latest stage.
        let mut open = BinaryHeap::from([(Reverse(rest[0]), 0, 0u32, Found::default())]);
        let mut known: HashMap<(usize, u32), Vec<Found>> = HashMap::new();
        let mut steps = 0u64;
        while let Some((_, t, held, of)) = open.pop() {
            if t == self.len() {
                return Ok(Some(of.cost.into()));
            }
            if !add(known.entry((t, held)).or_default(), of) {
                continue;
            }
            steps += 1 << (sets[t + 1].1 & !sets[t + 1].0).count_ones();
            if steps > MOST_STEPS {
                return Err(TooLong);
            }
            let (forced, useful) = sets[t + 1];
            for free in subsets(useful & !forced) {
                let kept = free | forced;
                if self.bytes(kept) > room {
                    continue;
                }
                let Some(mut step) = self.step(t, held, kept, room) else {
                    continue;
                };
                step.peak_bytes = step.peak_bytes.max(never);
                if others == 0 {
                    step.saved_bytes = 0;
                }
                let after = of.then(&step);
                if after.needed_bytes(others + 1) <= u64::from(room) {
                    open.push((Reverse(after.cost + rest[t + 1]), t + 1, kept, after));
                }
            }
        }
        Ok(None)
    }

    /// Memory of the schedule that retains every tensor up to its last reader.
    pub fn plain_bytes(&self, in_flight: u32) -> u64 {
        let others = if self.trains() { in_flight - 1 } else { 0 };
        let step = |t: usize| {
            let held = if t == 0 { 0 } else { self.read(t) };
            self.step(t, held, self.read(t + 1), u32::MAX)
        };
        let steps = (0..self.len()).filter_map(step);
        let whole = steps.fold(Found::default(), |of, step| of.then(&step));
        whole.needed_bytes(others + 1)
    }

    /// Cost, peak and saved bytes of a stage of the program, from one retained set to the next;
    /// `None` if a node would run again that never does, and beyond the room in bytes.
    fn step(&self, t: usize, held: u32, kept: u32, room: u32) -> Option<Found> {
        let mut bytes = self.bytes(held);
        if bytes > room {
            return None;
        }
        let mut run = 1 << t | (kept & !held);
        let mut later = [0; 32];
        let mut reads = 0;
        for k in (0..=t).rev().filter(|k| *k <= t) {
            if run >> k & 1 == 0 {
                continue;
            }
            let node = &self.nodes[k];
            if k < t && !node.may_again {
                return None;
            }
            if let Some(parent) = node.parent.filter(|_| k < t) {
                run |= 1 << parent;
            }
            later[k] = reads;
            reads |= node.needs;
            run |= node.needs & !held;
        }
        let mut there = held;
        let (mut peak_bytes, mut cost) = (bytes, 0);
        let waits = t == self.start;
        let mut saved_bytes = if waits { bytes } else { 0 };
        for k in ones(run) {
            let (node, again) = (&self.nodes[k], usize::from(k < t));
            bytes += node.bytes;
            there |= 1 << k;
            peak_bytes = peak_bytes.max(bytes + node.workspace[again]);
            if peak_bytes > room {
                return None;
            }
            cost += node.cost[again];
            let freed = node.needs & !later[k] & !kept & there;
            bytes = bytes.saturating_sub(self.bytes(freed));
            there &= !freed;
            if waits && k < t {
                saved_bytes = saved_bytes.min(bytes);
            }
        }
        Some(Found {
            cost,
            peak_bytes,
            saved_bytes,
        })
    }
}

impl Found {
    /// One part of a schedule after another.
    fn then(&self, next: &Found) -> Found {
        Found {
            cost: self.cost + next.cost,
            peak_bytes: self.peak_bytes.max(next.peak_bytes),
            saved_bytes: self.saved_bytes + next.saved_bytes,
        }
    }
}

/// Adds a schedule to those of which no other is at least as good. Returns whether it is new.
fn add(list: &mut Vec<Found>, new: Found) -> bool {
    let is_new = !list.iter().any(|known| known.is_within(&new));
    if is_new {
        list.push(new);
    }
    is_new
}

/// Members of a set, ascending.
fn ones(mut set: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let next = (set != 0).then_some(set.trailing_zeros() as usize)?;
        set &= set - 1;
        Some(next)
    })
}

/// All subsets of a set.
fn subsets(set: u32) -> impl Iterator<Item = u32> {
    let mut next = Some(0u32);
    std::iter::from_fn(move || {
        let own = next?;
        next = (own != set).then_some((own.wrapping_sub(set)) & set);
        Some(own)
    })
}
