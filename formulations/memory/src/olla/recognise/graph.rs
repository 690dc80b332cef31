//! The graph that a model states: operators, tensors and their sizes, and steps of operators.

use super::memory::MemoryRow;
use super::roles::{NONE, Roles};
use super::steps::StepsRead;
use remat_instances::order::{Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId};
use remat_search::recognise::{Integers, integers_below};
use std::collections::{BTreeMap, BTreeSet};

/// A tensor on the steps of the model.
#[derive(Clone, Debug)]
pub(super) struct TimedTensor {
    /// Operator that makes it.
    pub operator: u32,
    /// Steps and columns at which it is made, ascending.
    pub made: Vec<(u32, u32)>,
    /// The first step since which it cannot have changed, the step, and the column for its stay;
    /// ascending.
    pub stays: Vec<(u32, u32, u32)>,
    /// Columns for its stay without a step, each with the step before.
    pub between: Vec<(u32, u32)>,
    /// Last step at which it must be in memory; the number of steps stands for the end.
    pub forced: Option<u32>,
    /// Operators that read it.
    pub readers: Vec<u32>,
}

impl TimedTensor {
    /// Returns whether it stays to the end of so many steps: at the last one it is in memory with
    /// all runs.
    pub fn is_kept(&self, steps: u32) -> bool {
        self.forced >= Some(steps - 1)
    }
}

/// The graph that a model states.
#[derive(Clone, Debug)]
pub(super) struct TimedGraph {
    /// Bytes are `scale` times the peak's unit.
    pub graph: OrderGraph,
    pub scale: f64,
    /// Number of steps.
    pub steps: u32,
    /// First and last step at which each operator may run, from 0.
    pub windows: Vec<(u32, u32)>,
    pub tensors: Vec<TimedTensor>,
    /// Operator, steps and columns of each run of an operator without outputs.
    pub runs: Vec<(u32, Vec<(u32, u32)>)>,
}

/// Operators with outputs, and operators without.
struct Operators {
    /// The operator of each tensor.
    of_tensor: Vec<u32>,
    /// The operator of each run.
    of_run: Vec<u32>,
    len: usize,
}

impl TimedGraph {
    /// Builds the graph. Facts that rows state for some steps only are left out. That does not
    /// raise the least peak, so it stays a bound.
    pub fn new(
        roles: &Roles,
        steps: &StepsRead,
        sizes: &dyn Sizes,
        is_one: &[bool],
        name: &str,
    ) -> Option<TimedGraph> {
        let mut tensors = timed(roles, steps, is_one)?;
        let operators = operators(roles);
        for (tensor, operator) in tensors.iter_mut().zip(&operators.of_tensor) {
            tensor.operator = *operator;
        }
        let runs: Option<Vec<_>> = roles
            .runs
            .iter()
            .zip(&operators.of_run)
            .map(|(run, v)| {
                let mut at: Vec<_> = run.iter().map(|c| (steps.of[*c as usize], *c)).collect();
                at.sort_unstable();
                at.iter().all(|(s, _)| *s != NONE).then_some((*v, at))
            })
            .collect();
        let runs = runs?;
        let windows = windows(&operators, &tensors, &runs)?;
        reads(roles, &operators, &mut tensors);
        let numbers = sizes.numbers(&tensors, &runs);
        let Integers { values, scale } = integers_below(&numbers)?;
        let data = data(
            name,
            &operators,
            &tensors,
            &runs,
            &windows,
            &values,
            steps.len as u32,
        );
        let graph = OrderGraph::new(data).ok()?;
        Some(TimedGraph {
            graph,
            scale,
            steps: steps.len as u32,
            windows,
            tensors,
            runs,
        })
    }
}

/// Sizes that a model states.
pub(super) trait Sizes {
    /// For each tensor its size while it stays, and when it is made; then the size of each run;
    /// then the size of resident memory. All are lower bounds.
    fn numbers(&self, tensors: &[TimedTensor], runs: &[(u32, Vec<(u32, u32)>)]) -> Vec<f64>;
}

/// Sizes by rows of memory, each with its step.
pub(super) struct SizesByRows<'r> {
    pub rows: &'r [MemoryRow],
    /// The row of each step.
    pub of_step: Vec<Option<u32>>,
}

impl<'r> SizesByRows<'r> {
    pub fn new(rows: &'r [MemoryRow], steps: &StepsRead) -> Self {
        let mut of_step = vec![None; steps.len];
        for (r, step) in steps.of_row.iter().enumerate() {
            of_step[*step as usize].get_or_insert(r as u32);
        }
        SizesByRows { rows, of_step }
    }

    fn size(&self, step: u32, column: u32) -> f64 {
        let row = self.of_step[step as usize];
        row.map_or(0.0, |r| self.rows[r as usize].size(column))
    }
}

impl Sizes for SizesByRows<'_> {
    fn numbers(&self, tensors: &[TimedTensor], runs: &[(u32, Vec<(u32, u32)>)]) -> Vec<f64> {
        let least = |sizes: &mut dyn Iterator<Item = f64>| {
            let least = sizes.fold(f64::INFINITY, f64::min);
            if least.is_finite() { least } else { 0.0 }
        };
        let mut numbers = Vec::new();
        for tensor in tensors {
            let made = least(&mut tensor.made.iter().map(|(s, c)| self.size(*s, *c)));
            let mut stays = tensor
                .stays
                .iter()
                .flat_map(|&(from, step, c)| (from..=step).map(move |s| self.size(s, c)));
            let stays = match tensor.stays.is_empty() {
                true => made,
                false => least(&mut stays).min(made),
            };
            numbers.extend([stays, made]);
        }
        for (_, at) in runs {
            numbers.push(least(&mut at.iter().map(|(s, c)| self.size(*s, *c))));
        }
        let base = self
            .of_step
            .iter()
            .map(|r| r.map_or(0.0, |r| self.rows[r as usize].base));
        numbers.push(least(&mut base.into_iter()));
        numbers
    }
}

/// Tensors on the steps. Each has at most one column of a kind at a step, and its stay is a chain
/// that begins with a column that makes it.
fn timed(roles: &Roles, steps: &StepsRead, is_one: &[bool]) -> Option<Vec<TimedTensor>> {
    let mut tensors = Vec::with_capacity(roles.made.len());
    for made in &roles.made {
        let mut made: Vec<_> = made.iter().map(|c| (steps.of[*c as usize], *c)).collect();
        made.sort_unstable();
        let is_chain = made.windows(2).all(|w| w[0].0 < w[1].0);
        (is_chain && made.iter().all(|m| m.0 != NONE)).then_some(())?;
        tensors.push(TimedTensor {
            operator: NONE,
            made,
            stays: Vec::new(),
            between: Vec::new(),
            forced: None,
            readers: Vec::new(),
        });
    }
    // The step before a column, through columns without a step.
    let mut known: Vec<Option<u32>> = vec![None; roles.tensor_of.len()];
    for c in 0..roles.tensor_of.len() as u32 {
        if !roles.stays(c) {
            continue;
        }
        let before = before_of(roles, steps, c, &mut known)?;
        let tensor = &mut tensors[roles.tensor_of[c as usize] as usize];
        let forced = match steps.of[c as usize] {
            NONE => {
                tensor.between.push((before, c));
                before + 1
            }
            step => {
                (before < step).then_some(())?;
                tensor.stays.push((before + 1, step, c));
                step
            }
        };
        if is_one[c as usize] {
            tensor.forced = tensor.forced.max(Some(forced));
        }
    }
    for tensor in &mut tensors {
        tensor.stays.sort_unstable_by_key(|s| (s.1, s.2));
        tensor
            .stays
            .windows(2)
            .all(|w| w[0].1 < w[1].1)
            .then_some(())?;
    }
    Some(tensors)
}

/// The last step before a column for a stay: all columns of which one must be 1 then belong to it.
fn before_of(
    roles: &Roles,
    steps: &StepsRead,
    column: u32,
    known: &mut [Option<u32>],
) -> Option<u32> {
    let mut path = vec![column];
    let step = loop {
        let at = path[path.len() - 1] as usize;
        if let Some(step) = known[at] {
            break step;
        }
        let others = &roles.before[at];
        let mut of = others.iter().map(|c| steps.of[*c as usize]);
        let first = of.next()?;
        of.all(|step| step == first).then_some(())?;
        match first {
            NONE if others.len() == 1 => path.push(others[0]),
            NONE => return None,
            step => break step,
        }
    };
    path.iter().for_each(|c| known[*c as usize] = Some(step));
    Some(step)
}

/// Tensors that are always made together belong to one operator.
fn operators(roles: &Roles) -> Operators {
    let n = roles.made.len();
    let mut equal: BTreeMap<(u32, u32), BTreeSet<u32>> = BTreeMap::new();
    for &(a, b) in &roles.equal {
        let [of_a, of_b] = [a, b].map(|c| roles.tensor_of[c as usize]);
        let (tensors, column) = match of_a < of_b {
            true => ((of_a, of_b), a),
            false => ((of_b, of_a), b),
        };
        equal.entry(tensors).or_default().insert(column);
    }
    let mut first: Vec<u32> = (0..n as u32).collect();
    let root = |first: &[u32], mut e: u32| {
        while first[e as usize] != e {
            e = first[e as usize];
        }
        e
    };
    for ((a, b), columns) in equal {
        let len = |e: u32| roles.made[e as usize].len();
        if columns.len() == len(a) && len(a) == len(b) {
            let (a, b) = (root(&first, a), root(&first, b));
            first[a.max(b) as usize] = a.min(b);
        }
    }
    let mut of_tensor = vec![NONE; n];
    let mut len = 0;
    for e in 0..n as u32 {
        let root = root(&first, e) as usize;
        if root == e as usize {
            of_tensor[root] = len;
            len += 1;
        }
        of_tensor[e as usize] = of_tensor[root];
    }
    let of_run = (len..len + roles.runs.len() as u32).collect();
    Operators {
        of_tensor,
        of_run,
        len: len as usize + roles.runs.len(),
    }
}

/// Steps at which operators may run: those with all their columns.
fn windows(
    operators: &Operators,
    tensors: &[TimedTensor],
    runs: &[(u32, Vec<(u32, u32)>)],
) -> Option<Vec<(u32, u32)>> {
    let mut windows = vec![(0, u32::MAX); operators.len];
    let mut narrow = |v: u32, at: &[(u32, u32)]| {
        let (Some(first), Some(last)) = (at.first(), at.last()) else {
            return;
        };
        let window = &mut windows[v as usize];
        *window = (window.0.max(first.0), window.1.min(last.0));
    };
    tensors.iter().for_each(|t| narrow(t.operator, &t.made));
    runs.iter().for_each(|(v, at)| narrow(*v, at));
    let is_open = windows.iter().all(|w| w.0 <= w.1);
    is_open.then_some(windows)
}

/// Readers of tensors: operators that may not run at any step at which the tensor does not stay.
fn reads(roles: &Roles, operators: &Operators, tensors: &mut [TimedTensor]) {
    let mut counted: BTreeMap<(u32, bool, u32), BTreeSet<u32>> = BTreeMap::new();
    for &(x, stays) in &roles.reads {
        let read = roles.tensor_of[stays as usize];
        let reader = match roles.makes(x) {
            true => (roles.tensor_of[x as usize], true),
            false => (roles.run_of[x as usize], false),
        };
        let key = (reader.0, reader.1, read);
        counted.entry(key).or_default().insert(x);
    }
    for ((reader, makes, read), columns) in counted {
        let (all, operator) = match makes {
            true => (
                &roles.made[reader as usize],
                operators.of_tensor[reader as usize],
            ),
            false => (
                &roles.runs[reader as usize],
                operators.of_run[reader as usize],
            ),
        };
        if columns.len() == all.len() {
            tensors[read as usize].readers.push(operator);
        }
    }
    for tensor in tensors {
        tensor.readers.sort_unstable();
        tensor.readers.dedup();
    }
}

fn data(
    name: &str,
    operators: &Operators,
    tensors: &[TimedTensor],
    runs: &[(u32, Vec<(u32, u32)>)],
    windows: &[(u32, u32)],
    values: &[u64],
    steps: u32,
) -> OrderGraphData {
    let mut list = vec![Operator::default(); operators.len];
    let mut out = Vec::with_capacity(tensors.len());
    for (e, tensor) in tensors.iter().enumerate() {
        let (stays, made) = (values[2 * e], values[2 * e + 1]);
        let operator = &mut list[tensor.operator as usize];
        operator.outputs.push(TensorId(e as u32));
        let result = tensor.is_kept(steps);
        let is_read = !tensor.readers.is_empty() || result;
        operator.workspace_bytes += if is_read { made - stays } else { made };
        out.push(Tensor {
            bytes: if is_read { stays } else { 0 },
            result,
            ..Tensor::default()
        });
        for v in &tensor.readers {
            list[*v as usize].inputs.push(TensorId(e as u32));
        }
    }
    for (k, (v, _)) in runs.iter().enumerate() {
        list[*v as usize].workspace_bytes += values[2 * tensors.len() + k];
    }
    let mut program_order: Vec<u32> = (0..list.len() as u32).collect();
    program_order.sort_by_key(|v| windows[*v as usize]);
    OrderGraphData {
        name: name.into(),
        unused_resident_bytes: values.last().copied().unwrap_or(0),
        operators: list,
        tensors: out,
        program_order: program_order.into_iter().map(OperatorId).collect(),
        ..OrderGraphData::default()
    }
}
