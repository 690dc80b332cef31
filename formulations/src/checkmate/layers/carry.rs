//! Rows and intervals of a few layers, carried over to many.
//!
//! A row or an interval is *anchored* at a layer. What is anchored in one of the first or last
//! layers goes to that layer; what is anchored in the middle goes to every middle layer, and the
//! nodes that it names shift along where they are near, or stay where they are at the ends.

use crate::checkmate::CheckmateGraph;
use crate::checkmate::interval::{Interval, Row};
use crate::checkmate::path_cuts::{PathCut, PathMemoryCut};
use crate::life::layers::{ENDS, Layout};
use remat_solver::price::RootStart;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Layers around an anchor in which nodes shift along with it.
const NEAR: u32 = 2;

/// A layer of the small network and one of the large network, in one stack.
#[derive(Clone, Copy, Debug)]
pub(super) struct Anchor {
    stack: u32,
    from: u32,
    to: u32,
}

/// From the program of a small network to that of a large one.
pub(super) struct Carrier<'a> {
    pub small: &'a Layout,
    pub large: &'a Layout,
    pub to: &'a CheckmateGraph,
}

impl Carrier<'_> {
    /// Numbers of the middle layers that duals may be taken from.
    pub fn middles(&self) -> Range<u32> {
        let stacks = self.small.stacks().iter().zip(self.large.stacks());
        let cut = stacks.filter(|(small, large)| small.layers < large.layers);
        0..cut
            .map(|(small, _)| small.layers - 2 * ENDS)
            .min()
            .unwrap_or(0)
    }

    /// Stack and layer of a node of the small network.
    pub fn layer(&self, i: u32) -> Option<(u32, u32)> {
        self.small.layer(self.small.place(i))
    }

    /// Layers of a stack in the small and in the large network.
    fn layers(&self, stack: u32) -> [u32; 2] {
        [self.small, self.large].map(|l| l.stacks()[stack as usize].layers)
    }

    /// The node of the large network that one of the small network becomes beside an anchor.
    fn node(&self, i: u32, at: Option<Anchor>) -> Option<u32> {
        let place = self.small.place(i);
        let Some((stack, layer)) = self.small.layer(place) else {
            return self.large.node(place);
        };
        let [few, many] = self.layers(stack);
        let to = match at {
            _ if few == many => layer,
            Some(at) if at.stack == stack && layer.abs_diff(at.from) <= NEAR => {
                (layer + at.to).checked_sub(at.from)?
            }
            _ if layer < ENDS => layer,
            _ if layer + ENDS >= few => layer + many - few,
            _ => return None,
        };
        self.large.node_in(place, to)
    }

    /// The nodes of the large network that are like one of the small network, seen from an anchor:
    /// far middle layers are all like one of the small network's.
    fn images(&self, i: u32, at: Option<Anchor>, middle: u32) -> Vec<u32> {
        let place = self.small.place(i);
        let alone = || self.large.node(place).into_iter().collect();
        let Some((stack, layer)) = self.small.layer(place) else {
            return alone();
        };
        let [few, many] = self.layers(stack);
        if few == many {
            return alone();
        }
        let at = at.filter(|at| at.stack == stack);
        // The layer of the small network near the anchor, for one of the large network.
        let beside = |x: u32| {
            let at = at.filter(|at| x.abs_diff(at.to) <= NEAR)?;
            (x + at.from).checked_sub(at.to).filter(|l| *l < few)
        };
        let origin = |x: u32| match beside(x) {
            Some(near) => near,
            None if x < ENDS => x,
            None if x + ENDS >= many => x + few - many,
            None => ENDS + middle,
        };
        let layers = (0..many).filter(|x| origin(*x) == layer);
        let node = |layer| self.large.node_in(place, layer);
        layers.filter_map(node).collect()
    }

    /// The places that something anchored at a layer goes to; of the middle layers only the one
    /// given counts, if one is given.
    fn copies(&self, anchor: Option<(u32, u32)>, middle: Option<u32>) -> Vec<Option<Anchor>> {
        let Some((stack, from)) = anchor else {
            return vec![None];
        };
        let [few, many] = self.layers(stack);
        let to = |to: u32| Some(Anchor { stack, from, to });
        if few == many || from < ENDS {
            return vec![to(from)];
        }
        if from + ENDS >= few {
            return vec![to(from + many - few)];
        }
        match middle {
            Some(middle) if from != ENDS + middle => Vec::new(),
            _ => (ENDS..many - ENDS).map(to).collect(),
        }
    }

    fn anchor(&self, row: &Row) -> Option<(u32, u32)> {
        let first = |nodes: &[u32]| nodes.iter().find_map(|i| self.layer(*i));
        match row {
            Row::Need { node, reader } => first(&[*node, *reader]),
            Row::Input { stage, node, input } => first(&[*node, *input, *stage]),
            Row::Parent { stage, node } => first(&[*node, *stage]),
            Row::Memory { stage, .. } => first(&[*stage]),
            Row::Cover(at) => first(&[at.stage]),
            Row::Path(cut) => first(&[*cut.path.last()?, cut.reader]),
            Row::PathMemory(cut) => first(&[cut.path.reader]),
            Row::Branch(_) => None,
        }
    }

    fn path(&self, cut: &PathCut, at: Option<Anchor>) -> Option<PathCut> {
        let path = cut.path.iter().map(|i| self.node(*i, at));
        let path = PathCut {
            reader: self.node(cut.reader, at)?,
            from: self.node(cut.from, at)?,
            path: path.collect::<Option<_>>()?,
        };
        path.is_valid(self.to).then_some(path)
    }

    /// The same path, with tensors that are like those that stay, and like the companions.
    fn path_memory(
        &self,
        cut: &PathMemoryCut,
        at: Option<Anchor>,
        middle: u32,
    ) -> Option<PathMemoryCut> {
        let path = self.path(&cut.path, at)?;
        let source = path.source();
        let own = |i: &u32| *i == source || self.to.needs[source as usize].contains(i);
        let like = |i: &u32| self.images(*i, at, middle);
        let staying = cut.staying.iter().flat_map(like);
        let mut staying: Vec<u32> = staying.filter(|i| *i < path.from && !own(i)).collect();
        staying.sort_unstable();
        staying.dedup();
        let mut companions = Vec::new();
        for (stage, tensor) in &cut.companions {
            let stages = self.images(*stage, at, middle);
            let window = path.from..=path.reader;
            let tensors = self.images(*tensor, at, middle);
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
            here.map(|c| self.to.bytes[c.1 as usize]).sum::<u64>()
        };
        let other_bytes = (path.from..=path.reader).map(bytes_at).min()?;
        Some(PathMemoryCut {
            path,
            staying,
            other_bytes,
            companions,
        })
    }

    fn row(&self, row: &Row, at: Option<Anchor>, middle: u32) -> Option<Row> {
        let node = |i: &u32| self.node(*i, at);
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
                // A turn in a far middle layer stands for that of any.
                let any = || {
                    let like = self.images(*turn, at, middle);
                    like.get(like.len() / 2).copied()
                };
                Row::Memory {
                    stage,
                    node: node(turn).or_else(any)?.min(stage),
                    gauge: 0,
                }
            }
            Row::Path(cut) => Row::Path(self.path(cut, at)?),
            Row::PathMemory(cut) => Row::PathMemory(self.path_memory(cut, at, middle)?),
            Row::Memory { .. } | Row::Cover(_) | Row::Branch(_) => return None,
        })
    }

    /// Returns whether a carried row is one of the large program: what it names may have shifted
    /// apart.
    fn holds(&self, row: &Row) -> bool {
        let reads = |node: u32, input: u32| self.to.needs[node as usize].contains(&input);
        match row {
            Row::Need { node, reader } => reads(*reader, *node),
            Row::Input { stage, node, input } => node < stage && reads(*node, *input),
            Row::Parent { stage, node } => node < stage && self.to.parent[*node as usize].is_some(),
            Row::Memory { stage, node, .. } => node <= stage,
            Row::Path(_) | Row::PathMemory(_) => true,
            Row::Cover(_) | Row::Branch(_) => false,
        }
    }

    /// Rows with duals, those of middle layers taken from one of them.
    pub fn rows(&self, proof: &[(Row, f64)], middle: u32) -> Vec<(Row, f64)> {
        let mut carried: BTreeMap<Row, f64> = BTreeMap::new();
        for (row, dual) in proof {
            for at in self.copies(self.anchor(row), Some(middle)) {
                let row = self.row(row, at, middle);
                if let Some(row) = row.filter(|row| self.holds(row)) {
                    *carried.entry(row).or_insert(0.0) += dual;
                }
            }
        }
        carried.into_iter().collect()
    }

    /// Intervals, those of middle layers taken from one of them, or from all.
    pub fn intervals(&self, list: &[Interval], middle: Option<u32>) -> Vec<Interval> {
        let mut carried = Vec::new();
        for c in list {
            let anchor = self.layer(c.node).or_else(|| self.layer(c.end));
            for at in self.copies(anchor, middle) {
                carried.extend(self.interval(c, at));
            }
        }
        carried.sort_unstable();
        carried.dedup();
        carried
    }

    /// Middle layers of a stack in the small network; none where it is whole there.
    pub fn middle_layers(&self, stack: u32) -> Range<u32> {
        match self.layers(stack) {
            [few, many] if few == many => 0..0,
            [few, _] => ENDS..few - ENDS,
        }
    }

    /// Middle layers of a stack in the large network; none where it is whole in the small one.
    pub fn many_middle_layers(&self, stack: u32) -> Range<u32> {
        match self.layers(stack) {
            [few, many] if few == many => 0..0,
            [_, many] => ENDS..many - ENDS,
        }
    }

    /// Intervals of all but middle layers.
    pub fn ends(&self, list: &[Interval]) -> Vec<Interval> {
        let mut carried = Vec::new();
        for c in list {
            let at = self.layer(c.node);
            if at.is_none_or(|(stack, layer)| !self.middle_layers(stack).contains(&layer)) {
                let copies = self.copies(at, None);
                carried.extend(copies.into_iter().filter_map(|at| self.interval(c, at)));
            }
        }
        carried
    }

    /// Intervals of a middle layer (stack, layer) in another layer of the large network.
    pub fn moved(&self, list: &[Interval], (stack, from): (u32, u32), to: u32) -> Vec<Interval> {
        let at = Some(Anchor { stack, from, to });
        list.iter().filter_map(|c| self.interval(c, at)).collect()
    }

    /// The place where a root of the small network ended, with the rows and duals that were carried
    /// from one of its middle layers.
    pub fn start(
        &self,
        found: &RootStart<CheckmateGraph>,
        proof: Vec<(Row, f64)>,
        middle: u32,
    ) -> RootStart<CheckmateGraph> {
        let priced: BTreeSet<&Row> = found.proof.iter().map(|p| &p.0).collect();
        let tight = (found.tight.iter()).filter(|row| !row.is_memory() || priced.contains(row));
        let tight: Vec<(Row, f64)> = tight.map(|row| (row.clone(), 1.0)).collect();
        let tight = self.rows(&tight, middle).into_iter().map(|row| row.0);
        let basic = self.intervals(&found.basic, Some(middle));
        // Those of all middle layers: of one alone the large root does not converge.
        let mut columns = self.intervals(&found.columns, None);
        columns.extend(&basic);
        RootStart {
            proof,
            columns,
            tight: tight.collect(),
            basic,
        }
    }

    fn interval(&self, c: &Interval, at: Option<Anchor>) -> Option<Interval> {
        let carried = Interval {
            node: self.node(c.node, at)?,
            start: self.node(c.start, at)?,
            end: self.node(c.end, at)?,
            reader: self.node(c.reader, at)?,
        };
        let is_one = self.to.users[carried.node as usize].contains(&carried.reader)
            && carried.reader <= carried.end
            && (carried.node..=carried.end).contains(&carried.start);
        is_one.then_some(carried)
    }
}
