//! A graph as OLLA's programs see it: operators, tensors, and tensors of size 0 for edges without
//! data.

use super::ProgramError;
use remat_instances::order::{OperatorId, OrderGraph, OrderProblem, Variant};
use std::collections::HashSet;

/// Limit on the columns of a program.
pub(super) const COLUMN_LIMIT: usize = 1 << 30;

/// A tensor: the output of one operator, read by others.
#[derive(Clone, Debug)]
pub(super) struct FlowTensor {
    pub name: String,
    pub source: u32,
    /// Readers, ascending.
    pub sinks: Vec<u32>,
    /// Size in bytes; 0 for a tensor that only orders operators.
    pub bytes: u64,
    /// True if it stays to the end.
    pub kept: bool,
}

/// An operator.
#[derive(Clone, Debug, Default)]
pub(super) struct FlowOperator {
    pub name: String,
    /// Tensors that it reads.
    pub inputs: Vec<u32>,
    /// Tensors that it makes.
    pub outputs: Vec<u32>,
    /// Number of resident tensors that it reads.
    pub weights: usize,
    pub workspace_bytes: u64,
}

/// A graph of one variant.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub operators: Vec<FlowOperator>,
    pub tensors: Vec<FlowTensor>,
    pub base_bytes: u64,
}

impl Flow {
    /// The flow of a graph. Edges of data come as the storages of the problem; all others are
    /// tensors of size 0, one for each operator and kind of edge.
    pub fn new(graph: &OrderGraph, problem: &OrderProblem) -> Flow {
        let names = ModelNames::default();
        let n = problem.len();
        let mut flow = Flow {
            operators: (0..n).map(|v| operator(graph, problem, v)).collect(),
            tensors: Vec::new(),
            base_bytes: problem.base_bytes(),
        };
        let mut operator_names = names.clone();
        for (v, operator) in flow.operators.iter_mut().enumerate() {
            operator.name = operator_names.fresh(&operator.name, &format!("op{v}"));
        }
        let mut tensor_names = names;
        let mut known: HashSet<(u32, u32)> = HashSet::new();
        for storage in problem.storages() {
            let name = &graph.tensors()[storage.tensor.index()].name;
            known.extend(storage.readers.iter().map(|r| (storage.producer, *r)));
            flow.tensors.push(FlowTensor {
                name: tensor_names.fresh(name, &format!("t{}", storage.tensor)),
                source: storage.producer,
                sinks: storage.readers.clone(),
                bytes: storage.bytes,
                kept: storage.kept,
            });
        }
        let data = graph.data();
        let heuristic = [
            ("forced_early", &data.olla_early_edges),
            ("forced_late", &data.olla_late_edges),
        ];
        let mut lists: Vec<(&str, Vec<(u32, u32)>)> = Vec::new();
        if problem.variant() == Variant::Ctl {
            for (kind, edges) in heuristic {
                let edges = edges.iter().map(|[a, b]| (a.0, b.0));
                lists.push((kind, edges.filter(|edge| known.insert(*edge)).collect()));
            }
        }
        let edges =
            (0..n).flat_map(|v| problem.predecessors(v).iter().map(move |u| (*u, v as u32)));
        lists.push(("before", edges.filter(|edge| known.insert(*edge)).collect()));
        for (kind, mut edges) in lists {
            edges.sort_unstable();
            for group in edges.chunk_by(|a, b| a.0 == b.0) {
                let source = group[0].0;
                let name = format!("{}_{kind}", flow.operators[source as usize].name);
                flow.tensors.push(FlowTensor {
                    name: tensor_names.fresh(&name, &name),
                    source,
                    sinks: group.iter().map(|edge| edge.1).collect(),
                    bytes: 0,
                    kept: false,
                });
            }
        }
        for (e, tensor) in flow.tensors.iter().enumerate() {
            flow.operators[tensor.source as usize]
                .outputs
                .push(e as u32);
            for sink in &tensor.sinks {
                flow.operators[*sink as usize].inputs.push(e as u32);
            }
        }
        flow
    }

    /// Sizes of all tensors and workspaces that are larger than 0, in bytes.
    pub fn sizes(&self) -> impl Iterator<Item = u64> {
        let tensors = self.tensors.iter().map(|t| t.bytes);
        let workspaces = self.operators.iter().map(|v| v.workspace_bytes);
        tensors.chain(workspaces).filter(|bytes| *bytes > 0)
    }

    /// The largest number of bytes that divides all sizes; 1 if there are no sizes.
    pub fn unit_bytes(&self) -> u64 {
        self.sizes().fold(0, gcd).max(1)
    }

    /// The largest sum of an operator's inputs, outputs and workspace, in bytes.
    pub fn working_set(&self) -> u64 {
        let of = |operator: &FlowOperator| {
            let near = operator.inputs.iter().chain(&operator.outputs);
            let tensors: u64 = near.map(|e| self.tensors[*e as usize].bytes).sum();
            tensors + operator.workspace_bytes
        };
        self.operators.iter().map(of).max().unwrap_or(0)
    }

    /// Operators before each, as rows of bits.
    pub fn ancestors(&self, problem: &OrderProblem) -> Ancestors {
        let words = problem.len().div_ceil(64);
        let mut bits = vec![0u64; words * problem.len()];
        for &v in problem.topological_order() {
            for &u in problem.predecessors(v as usize) {
                let (to, from) = (v as usize * words, u as usize * words);
                for k in 0..words {
                    bits[to + k] |= bits[from + k];
                }
                bits[to + u as usize / 64] |= 1 << (u % 64);
            }
        }
        Ancestors { words, bits }
    }

    /// Returns whether all readers of a tensor run before another operator does.
    pub fn is_read_before(&self, e: usize, v: u32, ancestors: &Ancestors) -> bool {
        let tensor = &self.tensors[e];
        let mut sinks = tensor.sinks.iter();
        !tensor.kept && !tensor.sinks.is_empty() && sinks.all(|s| ancestors.has(v, *s))
    }

    /// Returns whether an operator without outputs has columns for its step: it reads two tensors
    /// or more, or has a workspace. (A reader of one tensor may run at once.)
    pub fn is_waited_for(&self, v: usize) -> bool {
        let operator = &self.operators[v];
        let reads = operator.inputs.len() + operator.weights;
        let reads_two = !operator.inputs.is_empty() && reads >= 2;
        operator.outputs.is_empty() && (reads_two || operator.workspace_bytes > 0)
    }
}

fn operator(graph: &OrderGraph, problem: &OrderProblem, v: usize) -> FlowOperator {
    let known = &graph.operators()[v];
    let weights = known.inputs.iter();
    let weights = weights.filter(|t| graph.tensors()[t.index()].resident);
    FlowOperator {
        name: known.name.as_str().into(),
        weights: weights.count(),
        workspace_bytes: problem.workspace_bytes(v),
        ..FlowOperator::default()
    }
}

/// Operators before each.
pub(super) struct Ancestors {
    words: usize,
    bits: Vec<u64>,
}

impl Ancestors {
    /// Returns whether `before` comes before `v` in every order.
    pub fn has(&self, v: u32, before: u32) -> bool {
        self.bits[v as usize * self.words + before as usize / 64] >> (before % 64) & 1 != 0
    }
}

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Names that every format of models accepts, each once.
#[derive(Clone, Debug, Default)]
pub(super) struct ModelNames {
    taken: HashSet<String>,
}

impl ModelNames {
    /// A name as near to `wanted` as possible; `other` replaces an empty one.
    pub fn fresh(&mut self, wanted: &str, other: &str) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let wanted = if wanted.is_empty() { other } else { wanted };
        let plain = |c: char| if plain(c) { c } else { '_' };
        let mut name: String = wanted.chars().map(plain).collect();
        // Digits and points begin numbers in LP files.
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            name.insert_str(0, "x_");
        }
        if self.taken.contains(&name) {
            let numbered = (2usize..).map(|k| format!("{name}_{k}"));
            let free = numbered.into_iter().find(|n| !self.taken.contains(n));
            name = free.unwrap_or(name);
        }
        self.taken.insert(name.clone());
        name
    }
}

/// Time steps of a program, and those at which each operator may run.
#[derive(Clone, Debug)]
pub(super) struct TimeAxis {
    pub steps: u32,
    /// ASAP: the longest path from the inputs, from 1.
    pub earliest: Vec<u32>,
    /// ALAP: the steps less the longest path to the outputs.
    pub latest: Vec<u32>,
}

impl TimeAxis {
    /// The axis of a problem with so many steps, or with as many as the published code takes.
    pub fn new(problem: &OrderProblem, steps: Steps) -> Result<TimeAxis, ProgramError> {
        let n = problem.len();
        let mut earliest = vec![1u32; n];
        let mut behind = vec![0u32; n];
        for &v in problem.topological_order() {
            let before = problem.predecessors(v as usize).iter();
            let before = before.map(|u| earliest[*u as usize] + 1).max();
            earliest[v as usize] = before.unwrap_or(1);
        }
        for &v in problem.topological_order().iter().rev() {
            let after = problem.successors(v as usize).iter();
            behind[v as usize] = after.map(|w| behind[*w as usize] + 1).max().unwrap_or(0);
        }
        let longest = earliest.iter().copied().max().unwrap_or(0);
        let steps = match steps {
            Steps::Count(steps) if steps < longest => {
                return Err(ProgramError::Steps { steps, longest });
            }
            Steps::Count(steps) => steps,
            Steps::Published(factor) => {
                let few = (1.01 * f64::from(longest)).ceil().min(n as f64);
                // Casts saturate.
                ((factor * few).floor() as u32).max(longest)
            }
            Steps::Operators => (n as u32).max(longest),
        };
        let latest = behind.iter().map(|behind| steps - behind).collect();
        Ok(TimeAxis {
            steps,
            earliest,
            latest,
        })
    }

    /// Returns whether steps are in the windows of operators and behind the steps of predecessors.
    pub fn allows(&self, problem: &OrderProblem, step_of: &[u32]) -> bool {
        let window = |v: usize| self.earliest[v]..=self.latest[v];
        step_of.len() == problem.len()
            && (0..problem.len()).all(|v| {
                let mut before = problem.predecessors(v).iter();
                window(v).contains(&step_of[v]) && before.all(|u| step_of[*u as usize] < step_of[v])
            })
    }

    /// One operator a step, in an order, as early as its window allows; `None` if that does not
    /// fit.
    pub fn one_by_one(&self, order: &[OperatorId]) -> Option<Vec<u32>> {
        let mut step_of = vec![0; self.earliest.len()];
        let mut last = 0;
        for v in order {
            let step = self.earliest[v.index()].max(last + 1);
            if step > self.latest[v.index()] {
                return None;
            }
            step_of[v.index()] = step;
            last = step;
        }
        Some(step_of)
    }
}

/// Number of time steps of a program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Steps {
    /// As the published code: a factor times the least of the number of operators and 1.01 times
    /// the number of operators on the longest path, at least the latter.
    Published(f64),
    /// One step for each operator, as in the paper: every order fits, one operator a step.
    Operators,
    /// A given number.
    Count(u32),
}

impl Default for Steps {
    fn default() -> Self {
        Steps::Published(1.0)
    }
}
