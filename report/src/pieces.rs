//! Memory of a replayed plan, piece by piece: what it holds, from when to when, and at which
//! address.

use crate::spans::Spans;
use remat_instances::Instance;
use remat_instances::instance::NodeId;
use remat_instances::plan::{Plan, PlanAddresses, Register, Step};
use remat_instances::simulate::{PieceOf, PlanLife, PlanLives, Replay, ReplayError};
use std::collections::{BTreeMap, BTreeSet};

/// Content of a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Parameters, batch, and parameter gradients.
    Fixed,
    /// Saved tensors of micro-batches that wait between their passes.
    Waiting,
    /// Output of the first computation of a forward node.
    Activation,
    /// Output of a recomputation.
    Recomputed,
    /// Output of the first computation of a backward node.
    Gradient,
    /// Tensor that was copied back from the host.
    Returned,
    /// Gathered weight.
    Gathered,
    /// Workspace of a running node.
    Workspace,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 8] = [
        Class::Fixed,
        Class::Waiting,
        Class::Activation,
        Class::Recomputed,
        Class::Gradient,
        Class::Returned,
        Class::Gathered,
        Class::Workspace,
    ];

    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Class::Fixed => "fixed memory",
            Class::Waiting => "waiting micro-batches",
            Class::Activation => "activations",
            Class::Recomputed => "recomputed",
            Class::Gradient => "gradients",
            Class::Returned => "copied back",
            Class::Gathered => "gathered weights",
            Class::Workspace => "workspace",
        }
    }
}

/// A piece of memory with one content and one size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Content.
    pub class: Class,
    /// Name of a part of fixed memory, for example of a parameter.
    pub part: Option<String>,
    /// Node whose output or workspace it is; `None` for fixed memory from the begin.
    pub node: Option<NodeId>,
    /// Statement that fills it.
    pub statement: usize,
    /// First moment, counted as in [`Spans::moments`].
    pub begin: usize,
    /// First moment after it; the number of moments for memory that is in use until the end.
    pub end: usize,
    /// True for memory that is still in use after the step.
    pub stays: bool,
    /// Size in bytes.
    pub bytes: u64,
    /// Position of its life: pieces of one life follow one another at the same address.
    pub life: usize,
    /// Bytes from the address of its life.
    pub within: u64,
}

/// All memory of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// The pieces, by life and time.
    pub list: Vec<Piece>,
    /// First moment, first moment after it, and largest size of each life.
    pub lives: Vec<(usize, usize, u64)>,
    /// Address of each life, if the plan has addresses.
    pub offsets: Option<Vec<u64>>,
    /// Number of moments.
    pub moments: usize,
}

/// A content of a register: from a moment on, a node's output that a statement wrote.
struct Content {
    from: usize,
    node: NodeId,
    statement: usize,
    class: Class,
}

impl Pieces {
    /// The pieces of a plan; `spans` are its spans, `addresses` its addresses.
    ///
    /// # Errors
    /// The [`ReplayError`] of a plan that cannot be executed.
    pub fn of(
        instance: &Instance,
        plan: &Plan,
        replay: &Replay,
        spans: &Spans,
        addresses: Option<&PlanAddresses>,
    ) -> Result<Self, ReplayError> {
        let lives = PlanLives::of(instance, plan)?;
        let moments = spans.moments.len();
        let (mut contents, stay) = contents(instance, plan, spans);
        // With addresses the workspaces hold the waiting micro-batches, as the addresses say.
        let waiting = match addresses {
            Some(_) => 0,
            None => replay.waiting_bytes,
        };
        let mut found = Pieces {
            list: Vec::new(),
            lives: Vec::new(),
            offsets: addresses.map(|a| a.pieces.iter().map(|p| p.offset_bytes).collect()),
            moments,
        };
        for life in lives.lives() {
            found.lives.push((life.begin, life.end(), life.bytes()));
            match life.of {
                PieceOf::Fixed(_) => found.fixed(instance, life),
                PieceOf::Workspace(_) => found.workspace(life, waiting),
                PieceOf::Tensor(at) => {
                    let list = contents.remove(&at).unwrap_or_default();
                    found.tensor(life, &list, stay.contains(&at));
                }
            }
        }
        if waiting > 0 {
            found.lives.push((0, moments, waiting));
            let life = found.lives.len() - 1;
            found.list.push(Piece {
                class: Class::Waiting,
                part: None,
                node: None,
                statement: 0,
                begin: 0,
                end: moments,
                stays: true,
                bytes: waiting,
                life,
                within: 0,
            });
        }
        Ok(found)
    }

    /// Bytes of each class at every moment.
    pub fn by_class(&self) -> BTreeMap<Class, Vec<u64>> {
        let mut changes: BTreeMap<Class, Vec<i128>> = BTreeMap::new();
        for piece in &self.list {
            let of = changes.entry(piece.class);
            let of = of.or_insert_with(|| vec![0; self.moments + 1]);
            of[piece.begin] += i128::from(piece.bytes);
            of[piece.end] -= i128::from(piece.bytes);
        }
        let sums = |list: Vec<i128>| {
            let sums = list.into_iter().scan(0, |sum, change| {
                *sum += change;
                Some(*sum as u64)
            });
            sums.take(self.moments).collect()
        };
        changes
            .into_iter()
            .map(|(class, list)| (class, sums(list)))
            .collect()
    }

    fn push(
        &mut self,
        life: &PlanLife,
        class: Class,
        begin: usize,
        end: usize,
        bytes: u64,
    ) -> &mut Piece {
        let index = self.lives.len() - 1;
        self.list.push(Piece {
            class,
            part: None,
            node: life.node,
            statement: life.of.statement(),
            begin,
            end,
            stays: false,
            bytes,
            life: index,
            within: 0,
        });
        let last = self.list.len() - 1;
        &mut self.list[last]
    }

    /// Fixed memory; from the begin on, with a piece for each resident entry of the graph, if they
    /// all fit.
    fn fixed(&mut self, instance: &Instance, life: &PlanLife) {
        let moments = self.moments;
        let mut begin = life.begin;
        for stretch in &life.stretches {
            let entries = instance.nodes().iter().flat_map(|node| &node.resident);
            let entries: BTreeSet<_> = entries.collect();
            let known: u64 = entries.iter().map(|entry| entry.bytes).sum();
            let is_first = life.node.is_none() && begin == 0;
            let mut within = 0;
            if is_first && known <= stretch.bytes {
                for entry in entries.into_iter().filter(|entry| entry.bytes > 0) {
                    let piece = self.push(life, Class::Fixed, begin, stretch.end, entry.bytes);
                    piece.part = Some(entry.name.to_string());
                    (piece.within, piece.stays) = (within, stretch.end == moments);
                    within += entry.bytes;
                }
            }
            if within < stretch.bytes {
                let rest = stretch.bytes - within;
                let piece = self.push(life, Class::Fixed, begin, stretch.end, rest);
                (piece.within, piece.stays) = (within, stretch.end == moments);
                piece.part = (within > 0).then(|| "inputs".into());
            }
            begin = stretch.end;
        }
    }

    fn workspace(&mut self, life: &PlanLife, waiting: u64) {
        let mut begin = life.begin;
        for stretch in &life.stretches {
            let bytes = stretch.bytes.saturating_sub(waiting);
            if bytes > 0 {
                self.push(life, Class::Workspace, begin, stretch.end, bytes);
            }
            begin = stretch.end;
        }
    }

    /// The pieces of a register: a new one where its size or its content changes.
    fn tensor(&mut self, life: &PlanLife, contents: &[Content], stays: bool) {
        let mut begin = life.begin;
        for stretch in &life.stretches {
            let inside = contents.iter().map(|content| content.from);
            let inside = inside.filter(|from| *from > begin && *from < stretch.end);
            let mut borders: Vec<usize> = std::iter::once(begin).chain(inside).collect();
            borders.dedup();
            for (k, &from) in borders.iter().enumerate() {
                let to = borders.get(k + 1).copied().unwrap_or(stretch.end);
                // Before its first content a register is empty, and counts as that.
                let now = contents.iter().rev().find(|content| content.from <= from);
                let now = now.or(contents.first());
                let class = now.map_or(Class::Activation, |content| content.class);
                let piece = self.push(life, class, from, to, stretch.bytes);
                piece.stays = stays && to == life.end();
                if let Some(content) = now {
                    (piece.node, piece.statement) = (Some(content.node), content.statement);
                }
            }
            begin = stretch.end;
        }
    }
}

/// Contents of the register of each `allocate`, by its statement, and the statements whose
/// registers are in use after the step.
fn contents(
    instance: &Instance,
    plan: &Plan,
    spans: &Spans,
) -> (BTreeMap<usize, Vec<Content>>, BTreeSet<usize>) {
    let mut list: BTreeMap<usize, Vec<Content>> = BTreeMap::new();
    let mut open: BTreeMap<Register, (usize, NodeId)> = BTreeMap::new();
    let mut seen = vec![false; instance.len()];
    let mut moment = 0;
    for (at, step) in plan.steps.iter().enumerate() {
        while spans.moments.get(moment).is_some_and(|m| m.statement < at) {
            moment += 1;
        }
        let (register, node, class) = match *step {
            Step::Allocate { register, node } => {
                open.insert(register, (at, node));
                continue;
            }
            Step::Deallocate { register } => {
                open.remove(&register);
                continue;
            }
            Step::Compute { node, register, .. } => {
                let again = std::mem::replace(&mut seen[node.index()], true);
                let class = match (again, instance.node(node).is_backward()) {
                    (true, _) => Class::Recomputed,
                    (false, true) => Class::Gradient,
                    (false, false) => Class::Activation,
                };
                (register, Some(node), class)
            }
            Step::Prefetch { register, .. } => (register, None, Class::Returned),
            Step::Gather { register, node } => (register, Some(node), Class::Gathered),
            _ => continue,
        };
        if let Some((allocated, own)) = open.get(&register) {
            let contents = list.entry(*allocated).or_default();
            // In place, the old content is there while the node runs.
            let from = moment + usize::from(!contents.is_empty());
            contents.push(Content {
                from,
                node: node.unwrap_or(*own),
                statement: at,
                class,
            });
        }
    }
    let stay = open.into_values().map(|(at, _)| at).collect();
    (list, stay)
}
