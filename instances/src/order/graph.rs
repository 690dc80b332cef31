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

/// An operator: it reads tensors and makes others, all in one step.
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
    /// Tensors modified in place without a new name for the result, among `inputs`. Informational:
    /// `order_edges` and `sound_order_edges` contain the resulting order.
    pub writes: Vec<TensorId>,
    /// Scratch memory while the operator runs, in bytes.
    pub workspace_bytes: u64,
}

/// A tensor.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Tensor {
    /// Name shown to users; may be empty.
    pub name: Name,
    /// Size in bytes. A view or an output computed in place takes no memory of its own.
    pub bytes: u64,
    /// Always in memory and not made by an operator: weights, buffers, optimiser state.
    pub resident: bool,
    /// A result of the step: it stays in memory from its producer to the end.
    pub result: bool,
    /// Alignment of its size, in bytes: a power of two; 0 or 1 for no alignment.
    pub alignment_bytes: u64,
    /// The tensor whose storage it views. Its producer reads that tensor.
    pub alias_of: Option<TensorId>,
    /// The input of its producer that it overwrites. It shares that input's storage, and all other
    /// readers of the old content come before.
    pub in_place_on: Option<TensorId>,
}

impl Tensor {
    /// The tensor whose storage it shares, if any.
    pub fn shares(&self) -> Option<TensorId> {
        self.in_place_on.or(self.alias_of)
    }
}

/// The plain data of a graph, before it is validated.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct OrderGraphData {
    /// Name of the graph, shown to users.
    pub name: Name,
    /// Name of the network, if known.
    pub model: Option<Name>,
    /// Batch size, if known.
    pub batch: Option<u64>,
    /// Bytes of resident tensors that no operator reads and that are not in `tensors`.
    pub unused_resident_bytes: u64,
    /// Alignment of all sizes and workspaces, in bytes: a power of two; 0 or 1 for no alignment.
    pub alignment_bytes: u64,
    /// Operators.
    pub operators: Vec<Operator>,
    /// Tensors.
    pub tensors: Vec<Tensor>,
    /// Pairs (before, after) that hold in every variant.
    pub order_edges: Vec<[OperatorId; 2]>,
    /// Further pairs needed for correct results.
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

/// A validated graph: references are valid, data have one producer, sizes are in range, and there
/// is no cycle. Clones are cheap, since they share the data.
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
    /// The owner of each tensor's storage.
    root: Arc<[TensorId]>,
    base_bytes: u64,
}

impl OrderGraph {
    /// Validates the data.
    ///
    /// # Errors
    /// [`StructureError`] names the first invalid field, its value and the remedy.
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

    /// Returns whether there are no operators.
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

    /// The order in which the framework runs the operators. [`OrderGraph::replay`] checks whether
    /// it respects the edges of the graph.
    pub fn program_order(&self) -> &[OperatorId] {
        &self.data.program_order
    }

    /// Base memory: resident tensors, including unused ones, in bytes.
    pub fn base_bytes(&self) -> u64 {
        self.base_bytes
    }

    /// The owner of a tensor's storage: the tensor itself, unless it is a view or made in place.
    pub fn storage_of(&self, tensor: TensorId) -> TensorId {
        self.root[tensor.index()]
    }

    /// Size of a tensor, rounded up to its own alignment and the graph's, in bytes.
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

    /// An operator as shown in errors: its number, and its name if it has one.
    pub fn operator_label(&self, operator: OperatorId) -> Name {
        match self.data.operators.get(operator.index()) {
            Some(known) if !known.name.is_empty() => {
                format!("{operator} ({})", known.name.as_str()).into()
            }
            _ => operator.to_string().into(),
        }
    }

    /// The same graph with sizes rounded up to an alignment in bytes, a power of two.
    ///
    /// # Errors
    /// [`StructureError`] for an alignment that is not a power of two, or for sizes that become too
    /// large.
    pub fn with_alignment(&self, alignment_bytes: u64) -> Result<Self, StructureError> {
        OrderGraph::new(OrderGraphData {
            alignment_bytes,
            ..(*self.data).clone()
        })
    }

    /// SHA-256 of the graph as written by [`write_order_graph`](super::write_order_graph), in
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
