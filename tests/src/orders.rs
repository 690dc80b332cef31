//! Small order graphs with every option, and the least peak of any order by dynamic programming
//! over executed sets.

use crate::graphs::Numbers;
use remat_instances::order::{
    Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId, Variant,
};
use std::collections::BTreeMap;
use std::ops::Range;

/// A graph of 2 to 12 operators by a seed, or `None` if views and tensors in place contradict each
/// other. It has several outputs and readers, sizes of 0, workspaces, views, tensors in place,
/// results, resident tensors, alignment and order edges.
pub fn random(seed: u64) -> Option<OrderGraph> {
    sized(seed, 2..13, 5..35)
}

/// The same of 15 to 64 operators, each with a few inputs.
pub fn larger(seed: u64) -> Option<OrderGraph> {
    sized(seed, 15..65, 1..4)
}

/// A graph whose operators each read the given percentage of the tensors before them.
fn sized(seed: u64, operators: Range<usize>, percent: Range<usize>) -> Option<OrderGraph> {
    let mut r = Draw(Numbers::new(seed));
    let n = operators.start + r.below(operators.len());
    let density = percent.start + r.below(percent.len());
    let largest = [3, 10, 100][r.below(3)];
    let [workspace, sharing, several, empty, results, resident] =
        [40, 50, 50, 50, 40, 50].map(|percent| r.percent(percent));
    let mut operators = vec![Operator::default(); n];
    let mut tensors: Vec<Tensor> = Vec::new();
    let mut newest = 0;
    for _ in 0..if resident { r.below(3) } else { 0 } {
        tensors.push(Tensor {
            bytes: r.below(largest) as u64,
            resident: true,
            ..Tensor::default()
        });
    }
    for operator in &mut operators {
        for t in 0..tensors.len() {
            if r.percent(density) || (t >= newest && r.percent(2 * density)) {
                operator.inputs.push(TensorId(t as u32));
            }
        }
        newest = tensors.len();
        for _ in 0..if several { r.below(4) } else { 1 } {
            let mut tensor = Tensor {
                bytes: if empty && r.percent(30) {
                    0
                } else {
                    1 + r.below(largest) as u64
                },
                result: results && r.percent(15),
                alignment_bytes: if r.percent(10) { 1 << r.below(4) } else { 0 },
                ..Tensor::default()
            };
            if sharing && !operator.inputs.is_empty() && r.percent(40) {
                let on = operator.inputs[r.below(operator.inputs.len())];
                if r.percent(50) {
                    tensor.alias_of = Some(on);
                } else {
                    tensor.in_place_on = Some(on);
                    tensor.bytes = tensor.bytes.min(tensors[on.index()].bytes);
                }
            }
            operator.outputs.push(TensorId(tensors.len() as u32));
            tensors.push(tensor);
        }
        if workspace && r.percent(50) {
            operator.workspace_bytes = r.below(largest) as u64;
        }
    }
    let mut edges = [Vec::new(), Vec::new()];
    for a in 0..n as u32 {
        for b in a + 1..n as u32 {
            for list in &mut edges {
                if r.percent(4) {
                    list.push([OperatorId(a), OperatorId(b)]);
                }
            }
        }
    }
    let [order_edges, sound_order_edges] = edges;
    let data = OrderGraphData {
        name: format!("random {seed}").into(),
        unused_resident_bytes: r.below(5) as u64,
        alignment_bytes: if r.percent(20) { 4 } else { 0 },
        operators,
        tensors,
        order_edges,
        sound_order_edges,
        program_order: (0..n as u32).map(OperatorId).collect(),
        ..OrderGraphData::default()
    };
    OrderGraph::new(data).ok()
}

/// Draws by a seed.
struct Draw(Numbers);

impl Draw {
    fn below(&mut self, end: usize) -> usize {
        self.0.below(end as u64) as usize
    }

    fn percent(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Sets of up to 32 operators before each, and memory of executed sets, by the definitions.
struct Plain<'a> {
    graph: &'a OrderGraph,
    before: Vec<u32>,
    producer: Vec<Option<usize>>,
    /// The tensor whose storage each tensor has.
    root: Vec<usize>,
    /// By storage: its readers, whether it is kept, its size.
    readers: Vec<u32>,
    kept: Vec<bool>,
    bytes: Vec<u64>,
    base: u64,
}

impl<'a> Plain<'a> {
    fn new(graph: &'a OrderGraph, variant: Variant) -> Self {
        let (operators, tensors) = (graph.operators(), graph.tensors());
        let mut producer = vec![None; tensors.len()];
        let mut reads = vec![0u32; tensors.len()];
        for (v, operator) in operators.iter().enumerate() {
            operator
                .outputs
                .iter()
                .for_each(|t| producer[t.index()] = Some(v));
            operator
                .inputs
                .iter()
                .for_each(|t| reads[t.index()] |= 1 << v);
        }
        let chain =
            |t: usize| std::iter::successors(Some(t), |t| Some(tensors[*t].shares()?.index()));
        let root: Vec<usize> = (0..tensors.len())
            .map(|t| chain(t).last().unwrap())
            .collect();
        let round = |bytes: u64, alignment: u64| {
            let multiple = alignment.max(graph.data().alignment_bytes).max(1);
            bytes.div_ceil(multiple) * multiple
        };
        let bytes: Vec<u64> = tensors
            .iter()
            .map(|t| round(t.bytes, t.alignment_bytes))
            .collect();
        let resident = (0..tensors.len()).filter(|t| tensors[*t].resident);
        let base = resident.map(|t| bytes[t]).sum::<u64>();
        let mut before = vec![0u32; operators.len()];
        for (v, operator) in operators.iter().enumerate() {
            let producers = operator.inputs.iter().filter_map(|t| producer[t.index()]);
            producers.for_each(|u| before[v] |= 1 << u);
        }
        let mut edges = graph.data().order_edges.clone();
        if variant != Variant::Free {
            edges.extend(&graph.data().sound_order_edges);
        }
        for [a, b] in edges {
            before[b.index()] |= 1 << a.0;
        }
        // Readers of a storage run before an operator that overwrites it in place, except readers
        // of tensors made from the new one.
        for made in (0..tensors.len()).filter(|t| tensors[*t].in_place_on.is_some()) {
            let writer = producer[made].unwrap();
            let old = (0..tensors.len()).filter(|t| root[*t] == root[made]);
            for t in old.filter(|t| !chain(*t).any(|at| at == made)) {
                before[writer] |= reads[t] & !(1 << writer);
            }
        }
        let mut readers = vec![0; tensors.len()];
        let mut kept = vec![false; tensors.len()];
        for t in 0..tensors.len() {
            readers[root[t]] |= reads[t];
            kept[root[t]] |= tensors[t].result;
        }
        Plain {
            base: base + round(graph.data().unused_resident_bytes, 1),
            graph,
            before,
            producer,
            root,
            readers,
            kept,
            bytes,
        }
    }

    fn storages(&self) -> impl Iterator<Item = usize> + '_ {
        let storages = (0..self.root.len()).filter(|t| self.root[*t] == *t);
        storages.filter(|t| self.producer[*t].is_some())
    }

    fn memory(&self, done: u32) -> u64 {
        let live = self.storages().filter(|t| {
            let made = self.producer[*t].is_some_and(|v| done >> v & 1 != 0);
            made && (self.kept[*t] || self.readers[*t] & !done != 0)
        });
        self.base + live.map(|t| self.bytes[t]).sum::<u64>()
    }

    fn working(&self, v: usize) -> u64 {
        let multiple = self.graph.data().alignment_bytes.max(1);
        let workspace = self.graph.operators()[v].workspace_bytes.div_ceil(multiple) * multiple;
        let made = self.storages().filter(|t| self.producer[*t] == Some(v));
        let counted = made.filter(|t| self.kept[*t] || self.readers[*t] != 0);
        workspace + counted.map(|t| self.bytes[t]).sum::<u64>()
    }
}

/// The least peak of any order of a graph of up to 20 operators, in bytes.
///
/// # Panics
/// If no order runs.
pub fn least_peak(graph: &OrderGraph, variant: Variant) -> u64 {
    let plain = Plain::new(graph, variant);
    let n = graph.len();
    let mut best = BTreeMap::from([(0u32, plain.base)]);
    let mut last = plain.base;
    while let Some((done, peak)) = best.pop_first() {
        last = peak;
        let memory = plain.memory(done);
        for v in 0..n {
            if done >> v & 1 == 0 && plain.before[v] & !done == 0 {
                let need = peak.max(memory + plain.working(v));
                let next = best.entry(done | 1 << v).or_insert(u64::MAX);
                *next = need.min(*next);
            }
        }
        assert!(
            !best.is_empty() || done.count_ones() as usize == n,
            "operators wait for ever"
        );
    }
    last
}
