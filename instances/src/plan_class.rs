//! Classes of plans that training stacks can execute.
//!
//! A stack takes no free plan: it takes a tag for each value, a list of blocks, or a list of names.
//! Each of these says which forward values are *saved* from their last forward reader to their last
//! reader, and which are *dropped* there and computed once more in the backward pass. A [`PlanClass`]
//! is the set of these plans, and [`ClassRules`] are its rules for one instance.
//!
//! In every class, backward nodes run once, and so do forward nodes within the forward pass. A copy
//! stays until its last reader. Memory is that of [Checkmate's semantics](crate::simulate).

use crate::instance::{Instance, NodeId, NodeKind};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A class of plans.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum PlanClass {
    /// Each forward value is saved or dropped. A dropped value is computed again at its first need
    /// in the backward pass: tags of `torchtitan`, policies of `torch.fx`.
    Tags,
    /// As tags, within blocks: a block computes all its dropped values at its first read in the
    /// backward pass, and keeps its outputs. Selective checkpointing by `torch.utils.checkpoint`.
    Regions,
    /// A block drops all its inner values or none: `torch.utils.checkpoint` around blocks.
    Blocks,
    /// As tags, with one decision for all values of a label: policies of JAX, lists of Megatron.
    Names,
}

impl PlanClass {
    /// All classes.
    pub const ALL: [PlanClass; 4] = [
        PlanClass::Tags,
        PlanClass::Regions,
        PlanClass::Blocks,
        PlanClass::Names,
    ];

    /// The name in files and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            PlanClass::Tags => "tags",
            PlanClass::Regions => "regions",
            PlanClass::Blocks => "blocks",
            PlanClass::Names => "names",
        }
    }

    /// Returns whether dropped values of a block are computed at one place.
    fn has_places(self) -> bool {
        matches!(self, PlanClass::Regions | PlanClass::Blocks)
    }
}

impl fmt::Display for PlanClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is no class.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no class of plans {0:?}; there are tags, regions, blocks and names")]
pub struct UnknownPlanClass(pub String);

impl FromStr for PlanClass {
    type Err = UnknownPlanClass;

    fn from_str(text: &str) -> Result<Self, UnknownPlanClass> {
        let found = PlanClass::ALL.iter().find(|class| class.as_str() == text);
        found.copied().ok_or_else(|| UnknownPlanClass(text.into()))
    }
}

/// Reason why a class has no plans of an instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoClass {
    /// There is no backward pass.
    #[error(
        "the graph has no backward pass, and plans of the class {0} compute values again in it; leave out the class"
    )]
    NoBackwardPass(PlanClass),
    /// No forward node is in a block.
    #[error(
        "no node is in a block, and the class {0} decides about blocks; give nodes a `module` such as \"layers.0.attn\", or choose the class tags"
    )]
    NoBlocks(PlanClass),
}

/// The part of a dotted path up to its first whole number: `layers.0` of `layers.0.attn.q`.
pub fn block_of(path: &str) -> Option<&str> {
    let mut end = 0;
    for part in path.split('.') {
        end += part.len();
        if is_number(part) {
            return Some(&path[..end]);
        }
        end += 1;
    }
    None
}

/// A dotted path without its whole numbers: `layers.attn.q` of `layers.0.attn.q`.
pub fn label_of(path: &str) -> String {
    let parts: Vec<&str> = path.split('.').filter(|part| !is_number(part)).collect();
    parts.join(".")
}

fn is_number(part: &str) -> bool {
    !part.is_empty() && part.bytes().all(|c| c.is_ascii_digit())
}

/// The rules of a class for one instance.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassRules {
    class: PlanClass,
    first_backward: u32,
    /// By node: the number of the decision that drops it; `None` for nodes that run once.
    decisions: Vec<Option<u32>>,
    /// By decision: its nodes, ascending.
    members: Vec<Vec<u32>>,
    /// By node: its last reader in the forward pass, or itself.
    last_forward: Vec<u32>,
    /// By node: the only stage in which it may be computed again, if there is only one.
    places: Vec<Option<u32>>,
    /// By node: readers of its run, which are readers of its output and of its by-products,
    /// ascending; empty for by-products.
    readers: Vec<Vec<u32>>,
}

impl ClassRules {
    /// The rules of a class for an instance.
    ///
    /// # Errors
    /// [`NoClass`] if the class has no meaning for the instance.
    pub fn of(instance: &Instance, class: PlanClass) -> Result<ClassRules, NoClass> {
        let n = instance.len();
        let start = instance.backward_start().filter(|f| f.index() < n);
        let first = start.ok_or(NoClass::NoBackwardPass(class))?.index();
        let users = |i: usize| instance.users(NodeId::from(i)).iter().map(|u| u.index());
        let last_forward: Vec<u32> = (0..n)
            .map(|i| users(i).filter(|u| *u < first).max().unwrap_or(i) as u32)
            .collect();
        let blocks: Vec<Option<&str>> = (0..first).map(|i| block_of(path(instance, i))).collect();
        if class.has_places() && blocks.iter().all(Option::is_none) {
            return Err(NoClass::NoBlocks(class));
        }
        let is_inner = |i: usize| {
            let mut readers = users(i).filter(|u| *u < first);
            blocks[i].is_some() && readers.all(|u| blocks[u] == blocks[i])
        };
        let may_drop = |i: usize| {
            let is_free = instance.may_recompute(NodeId::from(i)) && !is_loss(instance, i);
            is_free && (!class.has_places() || is_inner(i))
        };
        let droppable: Vec<bool> = (0..first).map(may_drop).collect();
        let mut rules = ClassRules {
            class,
            first_backward: first as u32,
            decisions: vec![None; n],
            members: Vec::new(),
            last_forward,
            places: vec![None; n],
            readers: readers_of_runs(instance),
        };
        let mut numbers = BTreeMap::new();
        for i in 0..first {
            // A by-product goes with its parent.
            let parent = instance.nodes()[i].parent().map_or(i, NodeId::index);
            if !droppable[i] || !droppable[parent] {
                continue;
            }
            let key = match class {
                PlanClass::Tags | PlanClass::Regions => parent.to_string(),
                PlanClass::Blocks => blocks[i].unwrap_or_default().into(),
                PlanClass::Names => label_of(path(instance, parent)),
            };
            let next = rules.members.len() as u32;
            let number = *numbers.entry(key).or_insert(next);
            if number == next {
                rules.members.push(Vec::new());
            }
            rules.decisions[i] = Some(number);
            rules.members[number as usize].push(i as u32);
        }
        if class.has_places() {
            rules.set_places(&blocks, |i| users(i).filter(|u| *u >= first).min());
        }
        Ok(rules)
    }

    /// Sets the place of each block: the first backward reader of its inner values.
    fn set_places(
        &mut self,
        blocks: &[Option<&str>],
        first_reader: impl Fn(usize) -> Option<usize>,
    ) {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for (i, block) in blocks.iter().enumerate() {
            if let (Some(block), Some(_), Some(at)) = (block, self.decisions[i], first_reader(i)) {
                let place = places.entry(block).or_insert(at);
                *place = at.min(*place);
            }
        }
        for (i, block) in blocks.iter().enumerate() {
            if let (Some(block), Some(_)) = (block, self.decisions[i]) {
                // A block without a backward reader is never computed again.
                let never = self.decisions.len();
                let place = places.get(block).copied().unwrap_or(never);
                self.places[i] = Some(place as u32);
            }
        }
    }

    /// The class.
    pub fn class(&self) -> PlanClass {
        self.class
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.decisions.len()
    }

    /// Returns whether there is no node.
    pub fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    /// First stage of the backward pass.
    pub fn first_backward(&self) -> u32 {
        self.first_backward
    }

    /// Nodes of each decision, ascending: they are all saved or all dropped.
    pub fn decisions(&self) -> &[Vec<u32>] {
        &self.members
    }

    /// The decision that a node belongs to; `None` for a node that runs once.
    pub fn decision(&self, node: u32) -> Option<u32> {
        self.decisions[node as usize]
    }

    /// The only stage in which a node may run again; `None` if its needs decide.
    pub fn place(&self, node: u32) -> Option<u32> {
        self.places[node as usize]
    }

    /// The first stage behind the last forward reader of a value: a value that is there when it
    /// begins is saved.
    pub fn saved_from(&self, node: u32) -> u32 {
        self.last_forward[node as usize] + 1
    }

    /// Returns whether a node may run again in a stage, by the rules for single nodes.
    pub fn may_start(&self, node: u32, stage: u32) -> bool {
        let is_in_time = stage >= self.first_backward && self.decision(node).is_some();
        let is_wanted = !self.needs_reader(node, stage) || !self.forward_readers(node).is_empty();
        is_in_time && is_wanted && self.place(node).is_none_or(|place| place == stage)
    }

    /// Readers of a node's run in the forward pass, by-products' readers included, ascending. Empty
    /// for a by-product, which runs with its parent.
    pub fn forward_readers(&self, node: u32) -> &[u32] {
        let readers = &self.readers[node as usize];
        &readers[..readers.partition_point(|reader| *reader < self.first_backward)]
    }

    /// Returns whether a recomputation of `node` in a stage needs another recomputation that reads
    /// it there. A stage that reads the node itself needs none, nor does a class with places.
    pub fn needs_reader(&self, node: u32, stage: u32) -> bool {
        let readers = &self.readers[node as usize];
        self.place(node).is_none() && !readers.is_empty() && readers.binary_search(&stage).is_err()
    }

    /// Returns whether two nodes belong to one decision.
    pub fn are_together(&self, one: u32, other: u32) -> bool {
        self.decision(one).is_some() && self.decision(one) == self.decision(other)
    }
}

/// The path that names block and label of a node: its module, or else its name.
fn path(instance: &Instance, node: usize) -> &str {
    let node = &instance.nodes()[node];
    match node.module.is_empty() {
        true => &node.name,
        false => &node.module,
    }
}

/// Readers of each node's run.
fn readers_of_runs(instance: &Instance) -> Vec<Vec<u32>> {
    let mut readers = vec![Vec::new(); instance.len()];
    for i in instance.ids() {
        let run = instance.node(i).parent().unwrap_or(i);
        let is_other = |u: &&NodeId| instance.node(**u).parent() != Some(run);
        let own = instance.users(i).iter().filter(is_other).map(|u| u.0);
        readers[run.index()].extend(own);
    }
    for list in &mut readers {
        list.sort_unstable();
        list.dedup();
    }
    readers
}

fn is_loss(instance: &Instance, node: usize) -> bool {
    matches!(instance.nodes()[node].kind, NodeKind::Loss)
}
