//! Instances: a training (or any other) computation graph with costs and sizes.
//!
//! An [`Instance`] is one in-memory type for all programs: Checkmate reads the first implementation
//! of every node, MONeT chooses among implementations, by-products and in-place options. It is
//! immutable once validated.
//!
//! Readers and writers of files are in [`crate::formats`].

mod digest;
mod ends;
mod fixed;
mod gathered;
mod link;
mod link_request;
mod node;
mod passing;
mod pivots;
mod precedence;
mod reach;
mod resident;
mod restrict;
mod validate;
mod view;

pub use crate::document::ReadError as InstanceError;
pub use link::{CopyTimes, Duplex, HostLink, LINK_PRESETS, LinkError};
pub use link_request::{LinkChoice, LinkRequest, LinkRequestError};
pub use node::{Gradient, Implementation, InPlace, Node, NodeId, NodeKind};
pub(crate) use passing::PlainPassing;
pub use passing::passing_in_plain_order;
pub use pivots::Pivots;
pub use precedence::Precedence;
pub use reach::Reach;
pub use resident::Resident;
pub use restrict::Choices;
pub use validate::StructureError;

use crate::name::{Name, visible};
use std::sync::Arc;

/// Meaning of one unit of cost.
#[derive(Clone, Debug, PartialEq)]
pub struct CostUnit {
    /// The unit as written for a reader, for example `ns` or `0.01 ms`.
    pub name: Name,
    /// Length of one unit in nanoseconds, if the unit is a time.
    pub nanoseconds: Option<f64>,
}

/// Units of time and their lengths in nanoseconds, the smallest first.
pub(crate) const TIME_UNITS: [(&str, f64); 4] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];

impl CostUnit {
    /// The unit with a name; a unit of time if the name is `ns`, `us`, `ms` or `s`.
    pub fn named(name: &str) -> Self {
        let known = TIME_UNITS.iter().find(|(unit, _)| *unit == name);
        CostUnit {
            name: name.into(),
            nanoseconds: known.map(|(_, length)| *length),
        }
    }

    /// An amount in words: `370` of `0.01 unit` are `3.7 unit`.
    ///
    /// ```
    /// use remat_instances::instance::CostUnit;
    /// assert_eq!(CostUnit::named("0.01 FLOP").amount(370), "3.7 FLOP");
    /// assert_eq!(CostUnit::named("FLOP").amount(370), "370 FLOP");
    /// ```
    pub fn amount(&self, cost: u64) -> String {
        let Some((step, name)) = self.name.split_once(' ') else {
            return format!("{cost} {}", self.name);
        };
        let places = step.len().saturating_sub("0.".len());
        if !(1..=18).contains(&places) || step != format!("0.{:0>places$}", 1) {
            return format!("{cost} {}", self.name);
        }
        let power = 10u64.pow(places as u32);
        let decimals = format!("{:0places$}", cost % power);
        let decimals = decimals.trim_end_matches('0');
        match decimals {
            "" => format!("{} {}", cost / power, visible(name)),
            _ => format!("{}.{decimals} {}", cost / power, visible(name)),
        }
    }

    /// Nanoseconds.
    pub fn nanoseconds() -> Self {
        CostUnit {
            name: "ns".into(),
            nanoseconds: Some(1.0),
        }
    }

    /// A unit without a known meaning.
    pub fn arbitrary() -> Self {
        CostUnit {
            name: "unit".into(),
            nanoseconds: None,
        }
    }
}

/// The plain data of an instance, before it is validated.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceData {
    /// Name of the instance, shown to users.
    pub name: Name,
    /// Unit of every cost.
    pub cost_unit: CostUnit,
    /// Link to host memory, if known.
    pub host_link: Option<HostLink>,
    /// Micro-batches in flight, at least 1. While one of them runs, each of the others holds what
    /// the step keeps between its forward and its backward pass.
    pub in_flight: u32,
    /// Nodes in execution order: node `i` is first computed `i`-th.
    pub nodes: Vec<Node>,
}

/// A validated computation graph: nodes in execution order, edges pointing forward, sizes and costs
/// in range. Clones are cheap, since they share the data.
///
/// # Example
/// ```
/// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
/// let nodes = vec![
///     Node::forward("a", vec![], 10, 4),
///     Node::forward("b", vec![NodeId(0)], 20, 8),
/// ];
/// let data = InstanceData { name: "two".into(), cost_unit: CostUnit::arbitrary(), host_link: None, in_flight: 1, nodes };
/// let instance = Instance::new(data).unwrap();
/// assert_eq!(instance.users(NodeId(0)), &[NodeId(1)]);
/// assert_eq!(instance.base_cost(), 30);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    data: Arc<InstanceData>,
    /// Users of every node under first implementations, ascending, as one array with offsets.
    users: Arc<[NodeId]>,
    user_start: Arc<[u32]>,
    /// The last stage in which each node may be computed again.
    again_until: Arc<[NodeId]>,
    loss: Option<NodeId>,
    static_bytes: u64,
    stated_view: Option<Box<Instance>>,
}

impl Instance {
    /// Validates `data` and derives the user lists.
    ///
    /// # Errors
    /// [`StructureError`] names the invalid field and its node, the value and the remedy.
    pub fn new(mut data: InstanceData) -> Result<Self, StructureError> {
        validate::check(&data)?;
        fixed::never_shrinks_forward(&mut data.nodes);
        let n = data.nodes.len();
        let mut count = vec![0u32; n + 1];
        for node in &data.nodes {
            for need in node.needs() {
                count[need.index() + 1] += 1;
            }
        }
        for i in 0..n {
            count[i + 1] += count[i];
        }
        let user_start = count.clone();
        let mut users = vec![NodeId(0); user_start[n] as usize];
        let mut fill = count;
        for (i, node) in data.nodes.iter().enumerate() {
            for need in node.needs() {
                let at = &mut fill[need.index()];
                users[*at as usize] = NodeId(i as u32);
                *at += 1;
            }
        }
        let loss = data
            .nodes
            .iter()
            .position(|v| v.kind == NodeKind::Loss)
            .map(|i| NodeId(i as u32));
        let static_bytes = data.nodes.iter().map(|v| v.fixed_bytes).max().unwrap_or(0);
        let again_until = ends::last_stages_again(&data.nodes).into();
        Ok(Instance {
            data: Arc::new(data),
            users: users.into(),
            user_start: user_start.into(),
            again_until,
            loss,
            static_bytes,
            stated_view: None,
        })
    }

    /// Name of the instance.
    pub fn name(&self) -> &Name {
        &self.data.name
    }

    /// Unit of every cost.
    pub fn cost_unit(&self) -> &CostUnit {
        &self.data.cost_unit
    }

    /// Link to host memory, if known.
    pub fn host_link(&self) -> Option<&HostLink> {
        self.data.host_link.as_ref()
    }

    /// The same instance with another link to host memory, or without one.
    ///
    /// # Errors
    /// [`StructureError`] for a link with a value above
    /// [`LARGEST_VALUE`](crate::number::LARGEST_VALUE).
    pub fn with_host_link(&self, link: Option<HostLink>) -> Result<Self, StructureError> {
        let mut data = self.data().clone();
        data.host_link = link;
        validate::check_link(&data)?;
        let view = self.stated_view.as_deref();
        let view = view.map(|v| v.with_host_link(data.host_link.clone()));
        Ok(Instance {
            stated_view: view.transpose()?.map(Box::new),
            data: Arc::new(data),
            ..self.clone()
        })
    }

    /// Micro-batches in flight, at least 1: what a step keeps between its forward and its backward
    /// pass is in memory once for each of them.
    pub fn in_flight(&self) -> u32 {
        self.data.in_flight
    }

    /// The same instance with another number of micro-batches in flight.
    ///
    /// # Errors
    /// [`StructureError`] for 0, for a number above 2^20, and for more than one in a graph without
    /// a backward pass.
    pub fn with_in_flight(&self, in_flight: u32) -> Result<Self, StructureError> {
        let mut data = self.data().clone();
        data.in_flight = in_flight;
        validate::check_in_flight(&data)?;
        let view = self.stated_view.as_deref();
        let view = view.map(|v| v.with_in_flight(in_flight));
        Ok(Instance {
            stated_view: view.transpose()?.map(Box::new),
            data: Arc::new(data),
            ..self.clone()
        })
    }

    /// Returns whether a node's output may be copied to the host: false if the instance says that
    /// it [stays](Node::stays), and for gathered weights and scattered gradients.
    pub fn may_offload(&self, id: NodeId) -> bool {
        let node = self.node(id);
        !(node.stays || node.is_gathered() || node.is_scattered())
    }

    /// All nodes in execution order.
    pub fn nodes(&self) -> &[Node] {
        &self.data.nodes
    }

    /// The plain data, for writers and for building a changed instance.
    pub fn data(&self) -> &InstanceData {
        &self.data
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.data.nodes.len()
    }

    /// Returns whether the instance has no nodes. A validated instance has at least one.
    pub fn is_empty(&self) -> bool {
        self.data.nodes.is_empty()
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.data.nodes[id.index()]
    }

    /// Ids of all nodes in execution order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = NodeId> + ExactSizeIterator + use<> {
        (0..self.len() as u32).map(NodeId)
    }

    /// Distinct inputs of a node's first implementation, ascending.
    pub fn needs(&self, id: NodeId) -> &[NodeId] {
        self.node(id).needs()
    }

    /// Distinct nodes whose first implementation reads `id`, ascending.
    pub fn users(&self, id: NodeId) -> &[NodeId] {
        &self.users[self.user_start[id.index()] as usize..self.user_start[id.index() + 1] as usize]
    }

    /// The loss node, if the graph has one: forward nodes precede it, backward nodes follow.
    pub fn loss(&self) -> Option<NodeId> {
        self.loss
    }

    /// The first node after the forward pass and the loss, if the graph has a loss or a backward
    /// node.
    pub fn backward_start(&self) -> Option<NodeId> {
        let first = || self.nodes().iter().position(|v| v.is_backward());
        let behind = self.loss.map(|l| l.index() + 1);
        behind.or_else(first).map(NodeId::from)
    }

    /// Cost of computing every node once with its first implementation.
    ///
    /// By-products also count once, if they are [made](Instance::is_made).
    pub fn base_cost(&self) -> u64 {
        let made = self.ids().filter(|i| self.is_made(*i));
        made.map(|i| self.node(i).cost()).sum()
    }

    /// Returns whether first implementations make a node. False for a by-product that no first
    /// implementation reads, unless it is a result.
    pub fn is_made(&self, id: NodeId) -> bool {
        let node = self.node(id);
        node.parent().is_none() || node.result || !self.users(id).is_empty()
    }

    /// Returns whether any node offers a choice that only MONeT's program supports: several
    /// implementations or an in-place option. By-products alone are further outputs, not choices.
    pub fn has_choices(&self) -> bool {
        let mut nodes = self.data.nodes.iter();
        nodes.any(|v| v.implementations.len() > 1 || v.in_place.is_some())
    }
}
