//! Instances that lose nodes, edges, choices and digits, for
//! [`remat_solver::reduce`](mod@remat_solver::reduce), which finds a smaller instance that still
//! makes a program fail.

use crate::reduce::{NumberForm, Reducible, simpler};
use remat_instances::instance::{InstanceData, Node, NodeId, NodeKind};
use remat_instances::{Instance, write_instance};
use std::hash::Hasher;
use std::sync::Arc;

/// Names of the steps of an instance, in order.
pub const INSTANCE_STEPS: [&str; 5] = ["nodes", "edges", "choices", "marks", "numbers"];

/// Steps before those for [`NumberForm::ALL`], which all are `numbers`.
const FIRST_NUMBERS: usize = 4;

/// A mark of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Once,
    Stays,
    Result,
    /// A by-product or a backward node becomes a plain one.
    Kind,
}

/// A size or cost of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Amount {
    Output,
    Fixed,
    /// Cost of all implementations, of first runs and further ones.
    Cost,
    Workspace,
}

/// An edit of an instance. Nodes have their numbers in the original instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstanceEdit(Edit);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Edit {
    Node(u32),
    /// The reader, and a tensor that it reads.
    Edge(u32, u32),
    /// One implementation of several, by its number, stays.
    OnlyWay(u32, u32),
    InPlace(u32),
    Mark(u32, Mark),
    Link,
    Amount(u32, Amount, NumberForm),
}

/// An instance that is being reduced. The rest is an instance again; names do not change.
///
/// A view that the instance states ([`Instance::stated_view`]) is left out.
///
/// ```
/// use remat_bench::reduce::InstanceDraft;
/// use remat_instances::zoo;
/// use remat_bench::reduce::{ReduceSettings, reduce};
/// let instance = zoo::build(&"zoo:chain?n=8".parse()?)?;
/// // Some program fails on each instance with two nodes that read the same one.
/// let fails = |draft: &InstanceDraft| {
///     let instance = draft.instance().unwrap();
///     Ok::<_, ()>(instance.ids().any(|v| instance.users(v).len() > 1))
/// };
/// let start = InstanceDraft::new(&instance);
/// let small = reduce(start, &ReduceSettings::default(), fails, |_, _| Ok(())).unwrap();
/// assert_eq!(small.smallest.instance()?.len(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceDraft {
    /// The instance without its nodes.
    data: InstanceData,
    nodes: Vec<Option<Arc<Node>>>,
}

impl InstanceDraft {
    /// The whole instance.
    pub fn new(instance: &Instance) -> Self {
        let mut data = instance.data().clone();
        let nodes = std::mem::take(&mut data.nodes).into_iter();
        InstanceDraft {
            data,
            nodes: nodes.map(|node| Some(Arc::new(node))).collect(),
        }
    }

    /// The reduced instance.
    ///
    /// # Errors
    /// [`StructureError`](remat_instances::instance::StructureError) if the rest is not a valid
    /// instance.
    pub fn instance(&self) -> Result<Instance, remat_instances::instance::StructureError> {
        let mut ids = vec![None; self.nodes.len()];
        let mut data = self.data.clone();
        for (i, node) in self.nodes.iter().enumerate() {
            let Some(node) = node else { continue };
            ids[i] = Some(NodeId::from(data.nodes.len()));
            let mut node = Node::clone(node);
            let left = |needs: &[NodeId]| -> Vec<NodeId> {
                let left = needs.iter().filter_map(|need| ids[need.index()]);
                left.collect()
            };
            for way in &mut node.implementations {
                way.needs = left(&way.needs);
            }
            node.passing = left(&node.passing);
            node.ends = left(&node.ends);
            node.in_place = node.in_place.and_then(|mut option| {
                option.on = ids[option.on.index()]?;
                Some(option)
            });
            node.kind = match node.kind {
                NodeKind::ByProduct { parent } => match ids[parent.index()] {
                    Some(parent) => NodeKind::ByProduct { parent },
                    None => NodeKind::Forward,
                },
                NodeKind::Backward { forward, gradient } => NodeKind::Backward {
                    forward: forward.and_then(|v| ids[v.index()]),
                    gradient,
                },
                kind => kind,
            };
            data.nodes.push(node);
        }
        Instance::new(data)
    }

    fn node(&self, v: u32) -> Option<&Node> {
        self.nodes[v as usize].as_deref()
    }

    fn live(&self) -> impl Iterator<Item = (u32, &Node)> {
        let all = self.nodes.iter().enumerate();
        all.filter_map(|(v, node)| Some((v as u32, node.as_deref()?)))
    }

    /// Tensors that a node reads by any implementation, ascending.
    fn needs(&self, node: &Node) -> Vec<u32> {
        let ways = node.implementations.iter();
        let mut all: Vec<u32> = ways.flat_map(|way| way.needs.iter().map(|u| u.0)).collect();
        all.sort_unstable();
        all.dedup();
        all.retain(|&u| self.node(u).is_some());
        all
    }

    /// The node after an edit; `None` if the edit does not apply.
    fn edited(&self, edit: Edit) -> Option<Node> {
        let v = match edit {
            Edit::Node(v) | Edit::Edge(v, _) | Edit::OnlyWay(v, _) => v,
            Edit::InPlace(v) | Edit::Mark(v, _) | Edit::Amount(v, ..) => v,
            Edit::Link => return None,
        };
        let old = self.node(v)?;
        let mut node = old.clone();
        match edit {
            Edit::Edge(_, u) => {
                let without = |needs: &mut Vec<NodeId>| needs.retain(|need| need.0 != u);
                (node.implementations.iter_mut()).for_each(|way| without(&mut way.needs));
                without(&mut node.passing);
                node.in_place = node.in_place.filter(|option| option.on.0 != u);
            }
            Edit::OnlyWay(_, k) if node.implementations.len() > 1 => {
                let way = node.implementations.get(k as usize)?.clone();
                node.implementations = vec![way];
            }
            Edit::InPlace(_) => node.in_place = None,
            Edit::Mark(_, mark) => match mark {
                Mark::Once => {
                    node.once = false;
                    node.ends.clear();
                }
                Mark::Stays => node.stays = false,
                Mark::Result => node.result = false,
                Mark::Kind => node.kind = NodeKind::Forward,
            },
            Edit::Amount(_, amount, form) => set(&mut node, amount, form),
            _ => {}
        }
        (node != *old).then_some(node)
    }

    /// Removes a node; its readers read the inputs of its first implementation instead.
    fn remove(&mut self, v: u32) -> bool {
        let Some(node) = self.nodes[v as usize].take() else {
            return false;
        };
        let instead = node.needs();
        for reader in self.nodes[v as usize + 1..].iter_mut().flatten() {
            let reads = |needs: &[NodeId]| needs.iter().any(|u| u.0 == v);
            let any = reader.implementations.iter().any(|way| reads(&way.needs));
            if !any {
                continue;
            }
            for way in &mut Arc::make_mut(reader).implementations {
                if reads(&way.needs) {
                    way.needs.retain(|u| u.0 != v);
                    way.needs.extend(instead);
                    way.needs.sort_unstable();
                    way.needs.dedup();
                }
            }
        }
        true
    }
}

/// Replaces amounts by a simpler form, where it is simpler.
fn set(node: &mut Node, amount: Amount, form: NumberForm) {
    let unsigned = |v: &mut u64| {
        if let Some(new) = simpler(*v as f64, form) {
            *v = new.max(0.0) as u64;
        }
    };
    let signed = |v: &mut i64| {
        if let Some(new) = simpler(*v as f64, form) {
            *v = new as i64;
        }
    };
    match amount {
        Amount::Output => unsigned(&mut node.output_bytes),
        Amount::Fixed => unsigned(&mut node.fixed_bytes),
        Amount::Cost => {
            for way in &mut node.implementations {
                unsigned(&mut way.cost);
                unsigned(&mut way.recompute_cost);
            }
            if let Some(option) = &mut node.in_place {
                signed(&mut option.cost_delta);
            }
        }
        Amount::Workspace => {
            for way in &mut node.implementations {
                signed(&mut way.workspace_bytes);
                signed(&mut way.recompute_workspace_bytes);
            }
            if let Some(option) = &mut node.in_place {
                signed(&mut option.workspace_bytes);
            }
        }
    }
}

impl Reducible for InstanceDraft {
    type Edit = InstanceEdit;

    fn steps(&self) -> Vec<&'static str> {
        let mut steps = INSTANCE_STEPS.to_vec();
        steps.resize(FIRST_NUMBERS + NumberForm::ALL.len(), "numbers");
        steps
    }

    fn edits(&self, step: usize) -> Vec<InstanceEdit> {
        let mut edits = Vec::new();
        for (v, node) in self.live() {
            match step {
                0 => edits.push(Edit::Node(v)),
                1 => edits.extend(self.needs(node).into_iter().map(|u| Edit::Edge(v, u))),
                2 => {
                    let ways = 0..node.implementations.len() as u32;
                    edits.extend(ways.map(|k| Edit::OnlyWay(v, k)));
                    edits.push(Edit::InPlace(v));
                }
                3 => {
                    let marks = [Mark::Once, Mark::Stays, Mark::Result, Mark::Kind];
                    edits.extend(marks.map(|mark| Edit::Mark(v, mark)));
                }
                _ => {
                    let form = NumberForm::ALL[step - FIRST_NUMBERS];
                    let amounts = [Amount::Output, Amount::Fixed, Amount::Cost];
                    let amounts = amounts.into_iter().chain([Amount::Workspace]);
                    edits.extend(amounts.map(|amount| Edit::Amount(v, amount, form)));
                }
            }
        }
        edits.retain(|&edit| matches!(edit, Edit::Node(_)) || self.edited(edit).is_some());
        if step == 3 && self.data.host_link.is_some() {
            edits.push(Edit::Link);
        }
        edits.into_iter().map(InstanceEdit).collect()
    }

    fn apply(&mut self, &InstanceEdit(edit): &InstanceEdit) -> bool {
        match edit {
            Edit::Node(v) => self.remove(v),
            Edit::Link => self.data.host_link.take().is_some(),
            Edit::Edge(v, _)
            | Edit::OnlyWay(v, _)
            | Edit::InPlace(v)
            | Edit::Mark(v, _)
            | Edit::Amount(v, ..) => {
                let node = self.edited(edit);
                let is_changed = node.is_some();
                if let Some(node) = node {
                    self.nodes[v as usize] = Some(Arc::new(node));
                }
                is_changed
            }
        }
    }

    fn is_valid(&self) -> bool {
        self.instance().is_ok()
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        if let Ok(instance) = self.instance() {
            hasher.write(write_instance(&instance).as_bytes());
        }
    }
}
