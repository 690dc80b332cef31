//! The instance that a model states: sizes, costs and fixed memory in integers.

use super::light::Light;
use super::memory::Memory;
use super::roles::{ForwardRoles, Roles};
use remat_instances::instance::{
    CostUnit, Implementation, InPlace, Instance, InstanceData, Node, NodeId, NodeKind,
    passing_in_plain_order,
};
use remat_instances::number::LARGEST_VALUE;
use remat_instances::schedule::ALGORITHM_PREFIX;
use remat_search::recognise::integers;

/// Units of memory: integers if a scale makes all sizes whole; fixed point otherwise, with sizes
/// rounded down and rooms up.
pub(super) struct Units {
    scale: f64,
    whole: bool,
}

impl Units {
    /// Fixed point keeps this many binary digits of the largest room.
    const DIGITS: i32 = 40;

    pub fn new(memory: &Memory) -> Units {
        let ways = memory.ways.iter().flatten();
        let backward = memory.backward.iter().flat_map(|b| &b.1);
        let sizes = memory.bytes.iter().chain(&memory.own);
        let all = sizes.chain(&memory.inside).chain(ways).chain(backward);
        let all: Vec<f64> = all.map(|v| v.abs()).collect();
        match integers(&all) {
            Some(units) => Units {
                scale: units.scale,
                whole: true,
            },
            None => {
                let largest = memory
                    .room
                    .iter()
                    .copied()
                    .fold(f64::MIN_POSITIVE, f64::max);
                Units {
                    scale: 2f64.powi(Self::DIGITS - largest.log2().ceil() as i32),
                    whole: false,
                }
            }
        }
    }

    fn size(&self, value: f64) -> i64 {
        match self.whole {
            true => (value * self.scale).round() as i64,
            false => (value * self.scale).floor() as i64,
        }
    }

    /// A room between two integers holds as much as the lower one.
    fn room(&self, value: f64) -> i64 {
        let scaled = value * self.scale;
        match self.whole {
            true => (scaled + 1e-6 + 1e-12 * scaled.abs()).floor() as i64,
            false => scaled.ceil() as i64 + 1,
        }
    }
}

/// Parts of a model from which its instance is built.
pub(super) struct Builder<'a> {
    pub p: &'a Light,
    pub roles: &'a Roles,
    pub memory: &'a Memory,
    /// Factor of costs.
    pub cost_scale: f64,
    pub units: Units,
}

impl Builder<'_> {
    fn cost(&self, column: u32) -> i64 {
        (self.p.cost[column as usize] * self.cost_scale + 1e-6).floor() as i64
    }

    /// The instance and the budget, in the unit of its sizes; `None` if no instance has such
    /// numbers.
    pub fn instance(&self, name: &str) -> Option<(Instance, u64)> {
        let mut nodes = self.forward()?;
        let rooms: Vec<i64> = self
            .memory
            .room
            .iter()
            .map(|r| self.units.room(*r))
            .collect();
        let sides = self.memory.backward.iter();
        let sides: Vec<Option<i64>> = sides
            .map(|b| b.0.is_finite().then(|| self.units.room(b.0)))
            .collect();
        let held = |t: usize| -> i64 {
            match &self.roles.backward[t] {
                node if node.ways.is_empty() => {
                    let read = node.needs.iter().flatten();
                    read.map(|u| self.units.size(self.memory.bytes[*u])).sum()
                }
                _ => 0,
            }
        };
        let most = |t: usize| sides[t].map_or(i64::MIN, |side| side + held(t));
        let stages = rooms.len();
        let budget = (1..stages).map(most).chain(rooms.iter().copied()).max()?;
        if !(0..=LARGEST_VALUE as i64).contains(&budget) {
            return None;
        }
        // Fixed memory before stage t is the budget less the room of the stage.
        let fixed = |t: usize| (budget - rooms[t]) as u64;
        let loss = nodes.len() - 1;
        nodes
            .iter_mut()
            .for_each(|node| node.fixed_bytes = fixed(0));
        nodes[loss].fixed_bytes = fixed(1);
        // The first run of a loss is charged the fixed memory of the loss, which the program has
        // from stage 1 on.
        let growth = fixed(1).saturating_sub(fixed(0)) as i64;
        nodes[loss].add_first_workspace(-growth);
        for (t, side) in sides.iter().enumerate().skip(1) {
            let next = if t + 1 < stages { fixed(t + 1) } else { 0 };
            let taken = side.map_or(next as i64, |side| budget - side - held(t));
            nodes.push(self.backward(t, taken - next as i64, next)?);
        }
        let instance = Instance::new(InstanceData {
            name: if name.is_empty() { "recognised" } else { name }.into(),
            cost_unit: CostUnit::arbitrary(),
            host_link: None,
            in_flight: 1,
            nodes,
        });
        Some((instance.ok()?, budget as u64))
    }

    /// Forward nodes, the last being the loss.
    fn forward(&self) -> Option<Vec<Node>> {
        let m = self.memory;
        let mut place = vec![0; m.order.len()];
        m.order.iter().enumerate().for_each(|(k, i)| place[*i] = k);
        let ids = |list: &[usize]| -> Vec<NodeId> {
            let mut ids: Vec<NodeId> = list.iter().map(|u| NodeId::from(place[*u])).collect();
            ids.sort_unstable();
            ids.dedup();
            ids
        };
        let mut nodes = Vec::with_capacity(m.order.len());
        for (k, &i) in m.order.iter().enumerate() {
            let role = &self.roles.forward[i];
            let kind = match role.parent {
                _ if k + 1 == m.order.len() => NodeKind::Loss,
                Some(parent) => NodeKind::ByProduct {
                    parent: NodeId::from(place[parent]),
                },
                None => NodeKind::Forward,
            };
            let run = role.computed.last().copied().flatten()?;
            let implementations = match self.ways(role) {
                None => {
                    let again = u64::try_from(self.cost(run)).ok()?;
                    let mut way = Implementation::new(ids(&role.needs), again, 0);
                    if let Some(Some(first)) = role.computed.first() {
                        way.cost = u64::try_from(self.cost(*first)).ok()?;
                    }
                    vec![way]
                }
                Some(columns) => {
                    let ways = columns.iter().enumerate();
                    let ways = ways.map(|(way, c)| self.implementation(i, way, *c, ids));
                    ways.collect::<Option<_>>()?
                }
            };
            let inside = role.inside.last().copied().flatten();
            let in_place = match (role.over, inside) {
                (Some(on), Some(column)) => Some(InPlace {
                    on: NodeId::from(place[on]),
                    cost_delta: self.cost(column),
                    workspace_bytes: 0,
                }),
                _ => None,
            };
            nodes.push(Node {
                name: format!("node{k}").into(),
                kind,
                output_bytes: u64::try_from(self.units.size(m.bytes[i])).ok()?,
                implementations,
                in_place,
                ..Node::default()
            });
        }
        let passing = passing_in_plain_order(&nodes);
        let reads = self.loss_reads(&nodes);
        for (k, &i) in m.order.iter().enumerate() {
            let passed = passing[k]
                .iter()
                .map(|u| nodes[u.index()].output_bytes as i64);
            let passed: i64 = passed.sum();
            let node = &mut nodes[k];
            node.passing = passing[k].clone();
            let slot = self.ways(&self.roles.forward[i]).is_some();
            let scratch = self.units.size(m.own[i]) - node.output_bytes as i64 - passed;
            if !slot {
                let first = match m.first_own.get(&i) {
                    Some(own) => self.units.size(*own) - node.output_bytes as i64 - passed,
                    None => {
                        let taken = node.output_bytes as i64 + passed;
                        self.first_scratch(i, k, &passing[k], &reads, taken, scratch)
                    }
                };
                let way = &mut node.implementations[0];
                way.workspace_bytes = first;
                way.recompute_workspace_bytes = scratch;
            }
            let ways = node.implementations.iter();
            let ways = ways.map(|w| w.workspace_bytes.max(w.recompute_workspace_bytes));
            let most = ways.max().unwrap_or(0);
            if let Some(option) = &mut node.in_place {
                option.workspace_bytes = match slot {
                    true => most,
                    false => scratch + self.units.size(m.inside[i]),
                };
            }
        }
        Some(nodes)
    }

    /// The implementation of a forward node that a column stands for; `ids` gives the nodes at
    /// places.
    fn implementation(
        &self,
        i: usize,
        way: usize,
        column: u32,
        ids: impl Fn(&[usize]) -> Vec<NodeId>,
    ) -> Option<Implementation> {
        let (m, role) = (self.memory, &self.roles.forward[i]);
        let cost = u64::try_from(self.cost(column)).ok()?;
        let needs = [&role.needs[..], &role.way_needs[way]].concat();
        let scratch = self.units.size(m.ways[i][way]);
        let mut implementation = Implementation::new(ids(&needs), cost, scratch);
        if let Some(first) = m.first_choice.get(&i) {
            let first_column = self.roles.covers[*first][way];
            implementation.cost = u64::try_from(self.cost(first_column)).ok()?;
            implementation.workspace_bytes = self.units.size(m.first_ways[&i][way]);
        }
        implementation.name = format!("{ALGORITHM_PREFIX}{way}").into();
        Some(implementation)
    }

    /// Places of the nodes that the loss reads.
    fn loss_reads(&self, nodes: &[Node]) -> Vec<usize> {
        let loss = nodes.last();
        let needs = loss.into_iter().flat_map(|n| n.needs());
        needs.map(|u| u.index()).collect()
    }

    /// Workspace of the first run of the node at a place: the slack of its row of stage 0. If that
    /// row cannot be told from the other rows, the workspace of later runs.
    fn first_scratch(
        &self,
        node: usize,
        place: usize,
        passing: &[NodeId],
        reads: &[usize],
        taken: i64,
        again: i64,
    ) -> i64 {
        let m = self.memory;
        let sized = |k: &usize| m.bytes[m.order[*k]] > 0.0;
        let stored = |turn: usize, left_out: &dyn Fn(usize) -> bool| -> Vec<usize> {
            let list = (0..turn).filter(sized);
            let list = list.filter(|k| !left_out(*k) && !reads.contains(k));
            let mut list: Vec<usize> = list.map(|k| m.order[k]).collect();
            list.sort_unstable();
            list
        };
        let held = |turn: usize| -> i64 {
            let list = reads.iter().filter(|k| **k < turn);
            list.map(|k| self.units.size(m.bytes[m.order[*k]])).sum()
        };
        let passes = |k: usize| passing.contains(&NodeId::from(k));
        let wanted = stored(place, &passes);
        let room = self.units.room(m.room[0]);
        let rows = m.first_rows.iter();
        let rows = rows.filter(|r| r.stored == wanted && r.inside.is_none_or(|i| i == node));
        let (steps, plain): (Vec<_>, Vec<_>) = rows.partition(|r| r.inside == Some(node));
        let rows = if steps.is_empty() { plain } else { steps };
        let scratch = |side: f64| room - held(place) - self.units.room(side) - taken;
        let found: Vec<i64> = rows.iter().map(|r| scratch(r.side)).collect();
        if found.is_empty() || found.contains(&again) {
            return again;
        }
        // Rows without a run that have the same tensors.
        let turns = (0..m.order.len()).filter(|turn| stored(*turn, &|_| false) == wanted);
        let idle: Vec<i64> = turns.map(|turn| held(turn) - held(place) - taken).collect();
        let told = found.iter().find(|s| !idle.contains(s));
        told.copied().unwrap_or(again)
    }

    /// `F` columns of a node, if it has a choice.
    fn ways<'a>(&self, role: &'a ForwardRoles) -> Option<&'a [u32]> {
        let last = role.ways.last()?;
        (!last.is_empty()).then_some(last)
    }

    /// The backward node of a stage, whose output takes `bytes`.
    fn backward(&self, t: usize, bytes: i64, fixed: u64) -> Option<Node> {
        let m = self.memory;
        let role = &self.roles.backward[t];
        let place = |u: &usize| NodeId::from(m.order.iter().position(|i| i == u).unwrap_or(0));
        let ids = |list: Option<&Vec<usize>>| -> Vec<NodeId> {
            let mut ids: Vec<NodeId> = list.into_iter().flatten().map(place).collect();
            ids.sort_unstable();
            ids
        };
        // A row with more room than the fixed memory leaves has no output; its run releases memory.
        let released = bytes.min(0);
        let scratch = |way: usize| {
            self.units
                .size(m.backward[t].1.get(way).copied().unwrap_or(0.0))
        };
        let implementations = if !role.ways.is_empty() {
            let way = |(way, column): (usize, &u32)| {
                let needs = role.needs.get(way);
                let read = needs.into_iter().flatten();
                let read: i64 = read.map(|u| self.units.size(m.bytes[*u])).sum();
                let cost = u64::try_from(self.cost(*column)).ok()?;
                Some(Implementation::new(
                    ids(needs),
                    cost,
                    scratch(way) - read + released,
                ))
            };
            role.ways
                .iter()
                .enumerate()
                .map(way)
                .collect::<Option<_>>()?
        } else if let Some(k) = m.backward_choice.get(&t) {
            let way = |(way, column): (usize, &u32)| {
                let cost = u64::try_from(self.cost(*column)).ok()?;
                let scratch = scratch(way) + released;
                let mut one = Implementation::new(ids(role.needs.first()), cost, scratch);
                one.name = format!("{ALGORITHM_PREFIX}{way}").into();
                Some(one)
            };
            let columns = self.roles.covers[*k].iter().enumerate();
            columns.map(way).collect::<Option<_>>()?
        } else {
            vec![Implementation::new(ids(role.needs.first()), 0, released)]
        };
        Some(Node {
            name: format!("backward{t}").into(),
            kind: NodeKind::Backward {
                forward: None,
                gradient: Default::default(),
            },
            output_bytes: bytes.max(0) as u64,
            fixed_bytes: fixed,
            implementations,
            ..Node::default()
        })
    }
}
