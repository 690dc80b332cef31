//! Graphs of operators and tensors.

use super::validate;
use crate::instance::StructureError;
use crate::name::Name;
use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

/// Index of an operator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct OperatorId(pub u32);

/// Index of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TensorId(pub u32);

impl OperatorId {
    /// The id as an array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl TensorId {
    /// The id as an array index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for OperatorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Display for TensorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// An operator: it reads tensors and makes others, all at once.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Operator {
    /// Name shown to users; may be empty.
    pub name: Name,
    /// Kind of operator, for example `aten.mm`; may be empty.
    pub kind: Name,
    /// Tensors read, each once.
    pub inputs: Vec<TensorId>,
    /// Tensors made, each once.
    pub outputs: Vec<TensorId>,
    /// Tensors modified in place without a new name for the result, among `inputs`. A note: the
    /// order that this asks for is in `order_edges` and `sound_order_edges`.
    pub writes: Vec<TensorId>,
    /// Scratch memory while the operator runs, in bytes.
    pub workspace_bytes: u64,
}

/// A tensor.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tensor {
    /// Name shown to users; may be empty.
    pub name: Name,
    /// Size in bytes. That of a view or of an output computed in place takes no memory of its own.
    pub bytes: u64,
    /// In memory all the time, and made by no operator: weights, buffers, optimiser state.
    pub resident: bool,
    /// A result of the step: it stays from its producer to the end.
    pub result: bool,
    /// Multiple that its size is rounded up to, in bytes: a power of two, 0 or 1 for none.
    pub alignment_bytes: u64,
    /// The tensor whose storage it is a view of. Its producer reads that.
    pub alias_of: Option<TensorId>,
    /// The input of its producer that it overwrites: it has that one's storage, and every other
    /// reader of what was there comes before.
    pub in_place_on: Option<TensorId>,
}

impl Tensor {
    /// The tensor whose storage it has, unless it has one of its own.
    pub fn shares(&self) -> Option<TensorId> {
        self.in_place_on.or(self.alias_of)
    }
}

/// The plain data of a graph, before it is validated.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OrderGraphData {
    /// Name of the graph, shown to users.
    pub name: Name,
    /// Name of the network, where one is known.
    pub model: Option<Name>,
    /// Batch size, where one is known.
    pub batch: Option<u64>,
    /// Bytes of resident tensors that no operator reads, and which are not in `tensors`.
    pub unused_resident_bytes: u64,
    /// Multiple that all sizes are rounded up to, workspaces too, in bytes: a power of two, 0 or 1
    /// for none.
    pub alignment_bytes: u64,
    /// Operators.
    pub operators: Vec<Operator>,
    /// Tensors.
    pub tensors: Vec<Tensor>,
    /// Pairs (before, after) that every variant has.
    pub order_edges: Vec<[OperatorId; 2]>,
    /// Further pairs without which results are wrong.
    pub sound_order_edges: Vec<[OperatorId; 2]>,
    /// Operators that draw random numbers, as pairs in program order.
    pub rng_order_edges: Vec<[OperatorId; 2]>,
    /// OLLA's heuristic edges: early weight updates.
    pub olla_early_edges: Vec<[OperatorId; 2]>,
    /// OLLA's heuristic edges: late generators of tensors.
    pub olla_late_edges: Vec<[OperatorId; 2]>,
    /// The order in which the framework runs the operators: each once.
    pub program_order: Vec<OperatorId>,
}

/// A validated graph: references lead somewhere, data have one producer, sizes are in range, and
/// no operator waits for itself. A clone costs nothing: what it holds is shared.
///
/// # Example
/// ```
/// use remat_instances::order::{Operator, OperatorId, OrderGraph, OrderGraphData};
/// use remat_instances::order::{Tensor, TensorId};
/// let make = Operator { outputs: vec![TensorId(0)], ..Operator::default() };
/// let read = Operator { inputs: vec![TensorId(0)], ..Operator::default() };
/// let data = OrderGraphData {
///     operators: vec![make, read],
///     tensors: vec![Tensor { bytes: 5, ..Tensor::default() }],
///     program_order: vec![OperatorId(0), OperatorId(1)],
///     ..OrderGraphData::default()
/// };
/// let graph = OrderGraph::new(data.clone())?;
/// assert_eq!((graph.len(), graph.base_bytes()), (2, 0));
/// let round = OrderGraphData { order_edges: vec![[OperatorId(1), OperatorId(0)]], ..data };
/// assert!(OrderGraph::new(round).unwrap_err().to_string().contains("wait for each other"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderGraph {
    data: Arc<OrderGraphData>,
    /// The tensor that has the storage of each tensor.
    root: Arc<[TensorId]>,
    base_bytes: u64,
}

impl OrderGraph {
    /// Validates the data.
    ///
    /// # Errors
    /// [`StructureError`] names the first field that is wrong, its value and what would be right.
    pub fn new(data: OrderGraphData) -> Result<Self, StructureError> {
        let root = validate::check(&data)?;
        let mut graph = OrderGraph {
            data: Arc::new(data),
            root: root.into(),
            base_bytes: 0,
        };
        let tensors = graph.data.tensors.iter().enumerate();
        let resident = tensors.filter(|(_, t)| t.resident);
        let resident: u64 = resident.map(|(i, _)| graph.rounded_bytes(i)).sum();
        let unused = round_up(graph.data.unused_resident_bytes, graph.data.alignment_bytes);
        graph.base_bytes = resident + unused;
        validate::check_acyclic(&graph)?;
        Ok(graph)
    }

    /// Name of the graph.
    pub fn name(&self) -> &Name {
        &self.data.name
    }

    /// The plain data, for writers and for building a changed graph.
    pub fn data(&self) -> &OrderGraphData {
        &self.data
    }

    /// Number of operators.
    pub fn len(&self) -> usize {
        self.data.operators.len()
    }

    /// Returns whether there is no operator.
    pub fn is_empty(&self) -> bool {
        self.data.operators.is_empty()
    }

    /// All operators.
    pub fn operators(&self) -> &[Operator] {
        &self.data.operators
    }

    /// All tensors.
    pub fn tensors(&self) -> &[Tensor] {
        &self.data.tensors
    }

    /// The order in which the framework runs the operators. [`OrderGraph::replay`] says whether it
    /// respects what the graph states.
    pub fn program_order(&self) -> &[OperatorId] {
        &self.data.program_order
    }

    /// Memory that is always taken: resident tensors, unused ones included, in bytes.
    pub fn base_bytes(&self) -> u64 {
        self.base_bytes
    }

    /// The tensor whose storage a tensor has: itself, unless it is a view or made in place.
    pub fn storage_of(&self, tensor: TensorId) -> TensorId {
        self.root[tensor.index()]
    }

    /// Size of a tensor, rounded up to its alignment and the graph's, in bytes.
    pub fn tensor_bytes(&self, tensor: TensorId) -> u64 {
        self.rounded_bytes(tensor.index())
    }

    fn rounded_bytes(&self, i: usize) -> u64 {
        let tensor = &self.data.tensors[i];
        let alignment = tensor.alignment_bytes.max(self.data.alignment_bytes);
        round_up(tensor.bytes, alignment)
    }

    /// Workspace of an operator, rounded up to the graph's alignment, in bytes.
    pub fn workspace_bytes(&self, operator: OperatorId) -> u64 {
        let bytes = self.data.operators[operator.index()].workspace_bytes;
        round_up(bytes, self.data.alignment_bytes)
    }

    /// An operator as errors call it: its number, and its name where it has one.
    pub fn operator_label(&self, operator: OperatorId) -> Name {
        match self.data.operators.get(operator.index()) {
            Some(known) if !known.name.is_empty() => {
                format!("{operator} ({})", known.name.as_str()).into()
            }
            _ => operator.to_string().into(),
        }
    }

    /// The same graph with sizes rounded up to a multiple, in bytes: a power of two.
    ///
    /// # Errors
    /// [`StructureError`] for a multiple that is none, or sizes that are then too large.
    pub fn with_alignment(&self, alignment_bytes: u64) -> Result<Self, StructureError> {
        OrderGraph::new(OrderGraphData {
            alignment_bytes,
            ..(*self.data).clone()
        })
    }

    /// SHA-256 of the graph as [`write_order_graph`](super::write_order_graph) has it, in
    /// hexadecimal.
    pub fn digest(&self) -> String {
        let bytes = Sha256::digest(super::write_order_graph(self));
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }
}

/// The least multiple of a power of two that is at least `bytes`.
pub(super) fn round_up(bytes: u64, alignment: u64) -> u64 {
    bytes.next_multiple_of(alignment.max(1))
}
