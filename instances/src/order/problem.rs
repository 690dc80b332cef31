//! Precedence and storages of one variant of a graph, for searches and checkers.

use super::{OperatorId, OrderGraph, TensorId, Variant};

/// Operators that wait for each other in a cycle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "under the variant {variant} the operators {names} wait for each other; \
     give another variant, or leave an edge of the cycle out"
)]
pub struct OrderCycle {
    /// The variant with the cycle.
    pub variant: Variant,
    /// The operators of a cycle, each before the next; the first is repeated at the end.
    pub names: String,
}

/// Memory that one operator allocates and that is freed after the last of its readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Tensor that owns the storage.
    pub tensor: TensorId,
    /// Size in bytes, rounded up, at least 1.
    pub bytes: u64,
    /// Operator that allocates it.
    pub producer: u32,
    /// Operators that read it, ascending, all after the producer.
    pub readers: Vec<u32>,
    /// True if it stays to the end, as a result.
    pub kept: bool,
}

/// Order problem of one variant: operators `0..len`, direct predecessors, and storages. Storages of
/// 0 bytes are omitted, and so are storages without a reader that are not results.
///
/// ```
/// use remat_instances::order::{self, Variant};
/// let text = r#"{"schema": "remat-order/1", "operators": [{"outputs": [0]}, {"inputs": [0]}],
///     "tensors": [{"bytes": 5}]}"#;
/// let graph = order::read_order_graph_bytes("two.json", text.as_bytes())?;
/// let problem = graph.problem(Variant::Free)?;
/// assert_eq!(problem.predecessors(1), [0]);
/// assert_eq!((problem.storages()[0].bytes, &problem.storages()[0].readers[..]), (5, &[1][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderProblem {
    variant: Variant,
    base_bytes: u64,
    predecessors: Vec<Vec<u32>>,
    successors: Vec<Vec<u32>>,
    workspace_bytes: Vec<u64>,
    storages: Vec<Storage>,
    /// A topological order that follows the program order as far as possible.
    topological: Vec<u32>,
}

impl OrderProblem {
    /// The variant.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Number of operators.
    pub fn len(&self) -> usize {
        self.predecessors.len()
    }

    /// Returns whether there are no operators.
    pub fn is_empty(&self) -> bool {
        self.predecessors.is_empty()
    }

    /// Base memory in bytes.
    pub fn base_bytes(&self) -> u64 {
        self.base_bytes
    }

    /// Operators that must come before one because of an edge or data, ascending.
    pub fn predecessors(&self, operator: usize) -> &[u32] {
        &self.predecessors[operator]
    }

    /// Operators that must come after one because of an edge or data, ascending.
    pub fn successors(&self, operator: usize) -> &[u32] {
        &self.successors[operator]
    }

    /// Workspace of an operator in bytes.
    pub fn workspace_bytes(&self, operator: usize) -> u64 {
        self.workspace_bytes[operator]
    }

    /// Storages, in the order of their tensors.
    pub fn storages(&self) -> &[Storage] {
        &self.storages
    }

    /// A topological order of the operators. It is the program order if that is valid, which holds
    /// for every variant except [`Variant::Ctl`].
    pub fn topological_order(&self) -> &[u32] {
        &self.topological
    }
}

impl OrderGraph {
    /// The order problem of a variant.
    ///
    /// # Errors
    /// [`OrderCycle`] if edges of the variant form a cycle; never for [`Variant::Free`].
    pub fn problem(&self, variant: Variant) -> Result<OrderProblem, OrderCycle> {
        let n = self.len();
        let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut edge = |before: OperatorId, after: OperatorId| {
            predecessors[after.index()].push(before.0);
        };
        let tables = Tables::of(self);
        for (i, operator) in self.operators().iter().enumerate() {
            for input in &operator.inputs {
                if let Some(producer) = tables.producer[input.index()] {
                    edge(producer, OperatorId(i as u32));
                }
            }
        }
        tables.overwriting(self, &mut edge);
        let data = self.data();
        let mut lists = vec![&data.order_edges];
        match variant {
            Variant::Free => {}
            Variant::Sound => lists.push(&data.sound_order_edges),
            Variant::SoundRng => lists.extend([&data.sound_order_edges, &data.rng_order_edges]),
            Variant::Ctl => lists.extend([&data.olla_early_edges, &data.olla_late_edges]),
        }
        for [before, after] in lists.into_iter().flatten() {
            edge(*before, *after);
        }
        let mut successors = vec![Vec::new(); n];
        for (i, list) in predecessors.iter_mut().enumerate() {
            list.sort_unstable();
            list.dedup();
            for before in list {
                successors[*before as usize].push(i as u32);
            }
        }
        let topological = self.topological(variant, &predecessors, &successors)?;
        let operators = (0..n as u32).map(OperatorId);
        Ok(OrderProblem {
            variant,
            base_bytes: self.base_bytes(),
            workspace_bytes: operators.map(|v| self.workspace_bytes(v)).collect(),
            storages: tables.storages(self),
            predecessors,
            successors,
            topological,
        })
    }

    /// A topological order that always takes the ready operator that is first in the program.
    fn topological(
        &self,
        variant: Variant,
        predecessors: &[Vec<u32>],
        successors: &[Vec<u32>],
    ) -> Result<Vec<u32>, OrderCycle> {
        let n = self.len();
        let mut position = vec![0u32; n];
        for (k, v) in self.program_order().iter().enumerate() {
            position[v.index()] = k as u32;
        }
        let mut waits: Vec<usize> = predecessors.iter().map(Vec::len).collect();
        let ready = (0..n).filter(|v| waits[*v] == 0);
        let mut ready: std::collections::BTreeSet<(u32, u32)> =
            ready.map(|v| (position[v], v as u32)).collect();
        let mut order = Vec::with_capacity(n);
        while let Some((_, v)) = ready.pop_first() {
            order.push(v);
            for w in &successors[v as usize] {
                waits[*w as usize] -= 1;
                if waits[*w as usize] == 0 {
                    ready.insert((position[*w as usize], *w));
                }
            }
        }
        match waits.iter().position(|count| *count > 0) {
            None => Ok(order),
            Some(start) => Err(OrderCycle {
                variant,
                names: self.cycle(predecessors, &waits, start as u32),
            }),
        }
    }

    /// The names along a cycle, found by walking back among operators that were never ready.
    fn cycle(&self, predecessors: &[Vec<u32>], waits: &[usize], start: u32) -> String {
        let mut seen = vec![usize::MAX; self.len()];
        let mut path = Vec::new();
        let mut at = start;
        while seen[at as usize] == usize::MAX {
            seen[at as usize] = path.len();
            path.push(at);
            let before = predecessors[at as usize].iter();
            match before.copied().find(|u| waits[*u as usize] > 0) {
                Some(before) => at = before,
                None => break,
            }
        }
        path.push(at);
        let cycle = path[seen[at as usize]..].iter().rev();
        let names: Vec<_> = cycle
            .map(|v| self.operator_label(OperatorId(*v)).to_string())
            .collect();
        names.join(", ")
    }
}

/// Producer and readers of each tensor.
struct Tables {
    producer: Vec<Option<OperatorId>>,
    readers: Vec<Vec<OperatorId>>,
    /// Tensors of each storage, by the owner of the storage.
    members: Vec<Vec<TensorId>>,
}

impl Tables {
    fn of(graph: &OrderGraph) -> Self {
        let count = graph.tensors().len();
        let mut tables = Tables {
            producer: vec![None; count],
            readers: vec![Vec::new(); count],
            members: vec![Vec::new(); count],
        };
        for (i, operator) in graph.operators().iter().enumerate() {
            let id = OperatorId(i as u32);
            for output in &operator.outputs {
                tables.producer[output.index()] = Some(id);
            }
            for input in &operator.inputs {
                tables.readers[input.index()].push(id);
            }
        }
        for i in 0..count {
            let tensor = TensorId(i as u32);
            tables.members[graph.storage_of(tensor).index()].push(tensor);
        }
        tables
    }

    /// Adds edges from readers of a storage to the operator that overwrites it. Readers of the last
    /// version suffice: readers of older versions come before that version was made.
    fn overwriting(&self, graph: &OrderGraph, edge: &mut impl FnMut(OperatorId, OperatorId)) {
        let versions: Vec<usize> = (0..graph.tensors().len())
            .map(|i| version(graph, i))
            .collect();
        let mut readers = vec![Vec::new(); versions.len()];
        for (i, version) in versions.iter().enumerate() {
            readers[*version].extend(&self.readers[i]);
        }
        for (i, tensor) in graph.tensors().iter().enumerate() {
            let (Some(on), Some(writer)) = (tensor.in_place_on, self.producer[i]) else {
                continue;
            };
            for reader in &readers[versions[on.index()]] {
                if *reader != writer {
                    edge(*reader, writer);
                }
            }
        }
    }

    fn storages(&self, graph: &OrderGraph) -> Vec<Storage> {
        let mut storages = Vec::new();
        for (i, members) in self.members.iter().enumerate() {
            let tensor = TensorId(i as u32);
            let (Some(producer), false) = (self.producer[i], members.is_empty()) else {
                continue;
            };
            let readers = members.iter().flat_map(|m| &self.readers[m.index()]);
            let mut readers: Vec<u32> = readers.map(|v| v.0).collect();
            readers.sort_unstable();
            readers.dedup();
            let kept = members.iter().any(|m| graph.tensors()[m.index()].result);
            let bytes = graph.tensor_bytes(tensor);
            if bytes > 0 && (kept || !readers.is_empty()) {
                storages.push(Storage {
                    tensor,
                    bytes,
                    producer: producer.0,
                    readers,
                    kept,
                });
            }
        }
        storages
    }
}

/// The tensor that last wrote the content of a tensor: itself, unless it is a view.
fn version(graph: &OrderGraph, tensor: usize) -> usize {
    let mut at = tensor;
    while let Some(base) = graph.tensors()[at].alias_of {
        at = base.index();
    }
    at
}
