//! Columns and rows for the steps at which tensors are made and stay: (1) to (5) and (10) to (12)
//! of OLLA, on the time steps at which a value can change.

use super::ProgramError;
use super::flow::{COLUMN_LIMIT, Flow, TimeAxis};
use remat_lp::{ColId, ModelBuilder};

/// Columns of one tensor.
#[derive(Clone, Debug)]
pub(super) struct TensorColumns {
    /// Steps with columns, ascending; the first is the earliest of the source.
    pub steps: Vec<u32>,
    /// `generate`, one for each step of the source's window: the first entries of `steps`.
    pub generate: Vec<ColId>,
    /// `preserve`, one for each of `steps` but the first.
    pub preserve: Vec<ColId>,
}

impl TensorColumns {
    /// The column for a tensor that is made at a step.
    pub fn generate_at(&self, step: u32) -> Option<ColId> {
        let at = self.steps.binary_search(&step).ok()?;
        self.generate.get(at).copied()
    }

    /// The column for a tensor that stays at a step. In a gap, where no value can change, it is the
    /// column of the next step with one.
    pub fn preserve_at(&self, step: u32) -> Option<ColId> {
        if step <= self.steps[0] {
            return None;
        }
        let at = self.steps.partition_point(|s| *s < step);
        self.preserve.get(at - 1).copied()
    }
}

/// Columns of one operator: it runs at a step.
#[derive(Clone, Debug)]
pub(super) struct RunColumns {
    pub operator: u32,
    /// One for each step of the operator's window.
    pub columns: Vec<ColId>,
}

/// Columns of the tensors in memory at each step, and of runs.
#[derive(Clone, Debug)]
pub(super) struct LiveColumns {
    pub tensors: Vec<TensorColumns>,
    pub runs: Vec<RunColumns>,
}

impl LiveColumns {
    /// Adds the columns.
    pub fn add(
        flow: &Flow,
        axis: &TimeAxis,
        lp: &mut ModelBuilder,
    ) -> Result<LiveColumns, ProgramError> {
        let steps: Vec<Vec<u32>> = (0..flow.tensors.len())
            .map(|e| steps(flow, axis, e))
            .collect();
        let columns = steps.iter().map(|s| 2 * s.len()).sum::<usize>();
        if columns > COLUMN_LIMIT {
            return Err(ProgramError::TooLarge { columns });
        }
        let tensors = steps.into_iter().enumerate();
        let tensors = tensors.map(|(e, steps)| tensor(flow, axis, lp, e, steps));
        let tensors = tensors.collect();
        let waited = (0..flow.operators.len()).filter(|v| flow.is_waited_for(*v));
        let runs = waited.map(|v| {
            let window = axis.earliest[v]..=axis.latest[v];
            let name = &flow.operators[v].name;
            let column = |t| binary(lp, format!("fanin_of_{name}_live_at_ts{t}"), None);
            RunColumns {
                operator: v as u32,
                columns: window.map(column).collect(),
            }
        });
        let runs = runs.collect();
        Ok(LiveColumns { tensors, runs })
    }

    /// Adds the rows (1) to (5), and the rows of operators without outputs.
    pub fn rows(&self, flow: &Flow, axis: &TimeAxis, lp: &mut ModelBuilder) {
        for (e, columns) in self.tensors.iter().enumerate() {
            self.staying(flow, e, columns, lp);
        }
        for columns in &self.tensors {
            lp.add_row(1.0, columns.generate.iter().map(|c| (*c, 1.0)));
        }
        for (v, operator) in flow.operators.iter().enumerate() {
            let window = axis.earliest[v]..=axis.latest[v];
            let Some((first, others)) = operator.outputs.split_first() else {
                continue;
            };
            for (other, t) in others
                .iter()
                .flat_map(|o| window.clone().map(move |t| (o, t)))
            {
                let pair = [first, other].map(|e| self.tensors[*e as usize].generate_at(t));
                if let [Some(a), Some(b)] = pair {
                    lp.add_row(0.0, [(a, 1.0), (b, -1.0)]);
                }
            }
            for output in &operator.outputs {
                for input in &operator.inputs {
                    for t in window.clone() {
                        let made = self.tensors[*output as usize].generate_at(t);
                        let there = self.tensors[*input as usize].preserve_at(t);
                        if let (Some(made), Some(there)) = (made, there) {
                            lp.add_row(..=0.0, [(made, 1.0), (there, -1.0)]);
                        }
                    }
                }
            }
        }
        for run in &self.runs {
            self.running(flow, axis, run, lp);
        }
    }

    /// The rows (1) and (2) of a tensor.
    fn staying(&self, flow: &Flow, e: usize, columns: &TensorColumns, lp: &mut ModelBuilder) {
        for (k, &stays) in columns.preserve.iter().enumerate() {
            let mut before = Vec::with_capacity(3);
            before.extend(columns.generate.get(k).map(|c| (*c, -1.0)));
            before.extend(k.checked_sub(1).map(|k| (columns.preserve[k], -1.0)));
            before.push((stays, 1.0));
            // A tensor that only orders operators stays for good.
            let is_held = flow.tensors[e].bytes == 0 && k < columns.generate.len();
            match is_held {
                true => lp.add_row(0.0, before),
                false => lp.add_row(..=0.0, before),
            };
            if let Some(&made) = columns.generate.get(k + 1) {
                lp.add_row(..=1.0, [(made, 1.0), (stays, 1.0)]);
            }
        }
    }

    fn running(&self, flow: &Flow, axis: &TimeAxis, run: &RunColumns, lp: &mut ModelBuilder) {
        let v = run.operator as usize;
        let inputs = &flow.operators[v].inputs;
        for (k, &column) in run.columns.iter().enumerate() {
            let t = axis.earliest[v] + k as u32;
            let there = inputs.iter();
            let there = there.filter_map(|e| self.tensors[*e as usize].preserve_at(t));
            let mut entries: Vec<_> = there.map(|c| (c, -1.0)).collect();
            if !entries.is_empty() {
                entries.push((column, entries.len() as f64));
                lp.add_row(..=0.0, entries);
            }
        }
        lp.add_row(1.0.., run.columns.iter().map(|c| (*c, 1.0)));
    }

    /// Values of the columns if each operator runs at a step, from 1. Tensors stay only until their
    /// last read or as long as they must.
    pub fn point(&self, flow: &Flow, axis: &TimeAxis, step_of: &[u32], x: &mut [f64]) {
        for (e, columns) in self.tensors.iter().enumerate() {
            let tensor = &flow.tensors[e];
            let made = step_of[tensor.source as usize];
            if let Some(c) = columns.generate_at(made) {
                x[c.index()] = 1.0;
            }
            let last = last_step(flow, axis, e, step_of);
            for (step, c) in columns.steps[1..].iter().zip(&columns.preserve) {
                x[c.index()] = f64::from(u8::from(made < *step && *step <= last));
            }
        }
        for run in &self.runs {
            let v = run.operator as usize;
            let at = step_of[v].checked_sub(axis.earliest[v]);
            if let Some(c) = at.and_then(|at| run.columns.get(at as usize)) {
                x[c.index()] = 1.0;
            }
        }
    }

    /// Twice the step at which each operator runs at a point. Operators without columns run right
    /// behind the step that makes their inputs.
    pub fn twice_step_of(&self, flow: &Flow, axis: &TimeAxis, x: &[f64]) -> Vec<u32> {
        let is_one = |c: &ColId| x.get(c.index()).is_some_and(|v| *v > 0.5);
        let mut step_of: Vec<Option<u32>> = vec![None; flow.operators.len()];
        for (tensor, columns) in flow.tensors.iter().zip(&self.tensors) {
            let at = columns.generate.iter().position(is_one);
            let step = at.map(|at| columns.steps[at]);
            let known = &mut step_of[tensor.source as usize];
            *known = known.or(step);
        }
        for run in &self.runs {
            let at = run.columns.iter().position(is_one);
            let first = axis.earliest[run.operator as usize];
            step_of[run.operator as usize] = at.map(|at| first + at as u32);
        }
        let found = |v: usize| {
            let sources = flow.operators[v].inputs.iter();
            let sources = sources.map(|e| flow.tensors[*e as usize].source as usize);
            let made = sources
                .map(|u| step_of[u].unwrap_or(axis.earliest[u]))
                .max();
            step_of[v].map_or(made.map_or(2, |made| 2 * made + 1), |step| 2 * step)
        };
        (0..flow.operators.len()).map(found).collect()
    }
}

/// The last step at which a tensor is in memory.
pub(super) fn last_step(flow: &Flow, axis: &TimeAxis, e: usize, step_of: &[u32]) -> u32 {
    let tensor = &flow.tensors[e];
    if tensor.kept || tensor.bytes == 0 {
        return axis.steps + 1;
    }
    let read = tensor.sinks.iter().map(|v| step_of[*v as usize]).max();
    read.unwrap_or(0).max(forced_until(flow, axis, e))
}

/// The last step at which a tensor must be in memory: (12).
fn forced_until(flow: &Flow, axis: &TimeAxis, e: usize) -> u32 {
    let tensor = &flow.tensors[e];
    let sinks = tensor.sinks.iter().map(|v| axis.earliest[*v as usize]);
    match tensor.kept {
        true => axis.steps + 1,
        false => sinks.max().unwrap_or(0),
    }
}

/// Steps at which a column of a tensor can change: the window of its source, and the windows of its
/// sinks with the step before.
fn steps(flow: &Flow, axis: &TimeAxis, e: usize) -> Vec<u32> {
    let tensor = &flow.tensors[e];
    let source = tensor.source as usize;
    let first = axis.earliest[source];
    let mut steps: Vec<u32> = (first..=axis.latest[source]).collect();
    for sink in tensor.sinks.iter().map(|v| *v as usize) {
        steps.extend((axis.earliest[sink] - 1).max(first)..=axis.latest[sink]);
    }
    // The step behind the last requires the kept tensors.
    if tensor.kept {
        steps.extend([axis.steps.max(first), axis.steps + 1]);
    }
    steps.sort_unstable();
    steps.dedup();
    steps
}

fn tensor(
    flow: &Flow,
    axis: &TimeAxis,
    lp: &mut ModelBuilder,
    e: usize,
    steps: Vec<u32>,
) -> TensorColumns {
    let tensor = &flow.tensors[e];
    let latest = axis.latest[tensor.source as usize];
    let forced = match tensor.bytes {
        0 => axis.steps,
        _ => forced_until(flow, axis, e),
    };
    let (mut generate, mut preserve) = (Vec::new(), Vec::new());
    for &t in &steps {
        if t <= latest {
            generate.push(binary(lp, format!("{}_generate_ts{t}", tensor.name), None));
        }
        if t > steps[0] {
            let value = (t > latest && t <= forced).then_some(1.0);
            let name = format!("{}_preserve_ts{t}", tensor.name);
            preserve.push(binary(lp, name, value));
        }
    }
    TensorColumns {
        steps,
        generate,
        preserve,
    }
}

/// A binary column, fixed if it has a value.
pub(super) fn binary(lp: &mut ModelBuilder, name: String, value: Option<f64>) -> ColId {
    let bounds = value.map_or(0.0..=1.0, |v| v..=v);
    let column = lp.add_col(0.0, bounds);
    lp.set_integer(column, true);
    lp.set_col_name(column, name);
    column
}
