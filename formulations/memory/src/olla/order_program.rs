//! The order program (14): the least peak memory of any order on a time axis.

use super::ProgramError;
use super::flow::{Flow, Steps, TimeAxis};
use super::lives::LiveColumns;
use remat_instances::order::{OperatorId, OrderGraph, OrderProblem, Variant};
use remat_lp::{ColId, Model, ModelBuilder, Sense};

/// OLLA's program of the order, (14) with (1) to (5) and (10) to (13) (arXiv 2210.12924), as its
/// published code builds it: `generate` and `preserve` for each tensor and step, several operators
/// in a step if there are fewer steps than operators.
///
/// Edges without data are tensors of size 0; resident tensors are a constant, their readers need no
/// column. Memory is in units that divide all sizes, so all coefficients are integers; the
/// objective is in bytes, resident memory included.
///
/// ```
/// use remat_memory::olla::{OrderProgram, Steps};
/// use remat_memory::order::OrderSearch;
/// use remat_instances::zoo;
/// use remat_instances::order::{OrderGraph, Variant};
///
/// let graph = OrderGraph::of_instance(&zoo::build(&"zoo:unet?batch=2".parse()?)?)?;
/// let best = OrderSearch::new(&graph).variant(Variant::Sound).run()?;
/// let program = OrderProgram::new(&graph, Variant::Sound, Steps::Operators)?;
/// let point = program.point(&best.order).ok_or("one operator a step")?;
/// assert_eq!(program.model().objective(&point), best.peak_bytes() as f64);
/// let order = program.order(&point);
/// assert_eq!(graph.replay(Variant::Sound, &order)?.peak_bytes, best.peak_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct OrderProgram {
    problem: OrderProblem,
    flow: Flow,
    axis: TimeAxis,
    columns: LiveColumns,
    peak: ColId,
    model: Model,
}

impl OrderProgram {
    /// Builds the program of a variant.
    ///
    /// # Errors
    /// [`ProgramError`]: edges in a cycle, fewer steps than operators on a path, too many columns,
    /// sizes beyond exact numbers.
    pub fn new(
        graph: &OrderGraph,
        variant: Variant,
        steps: Steps,
    ) -> Result<OrderProgram, ProgramError> {
        let problem = graph.problem(variant)?;
        let axis = TimeAxis::new(&problem, steps)?;
        let flow = Flow::new(graph, &problem);
        let unit = flow.unit_bytes();
        let total = super::exact_total(&flow)? / unit;
        let mut lp = ModelBuilder::new(Sense::Minimise);
        lp.set_name("olla_order");
        lp.set_offset(flow.base_bytes as f64);
        let columns = LiveColumns::add(&flow, &axis, &mut lp)?;
        let least = flow.working_set() / unit;
        let peak = lp.add_col(unit as f64, least as f64..=total as f64);
        lp.set_integer(peak, true);
        lp.set_col_name(peak, "peak_memory_usage");
        columns.rows(&flow, &axis, &mut lp);
        for row in memory_rows(&flow, &axis, &columns, unit) {
            let entries = row.into_iter().map(|(c, units)| (c, -units));
            lp.add_row(0.0.., entries.chain([(peak, 1.0)]));
        }
        let model = lp.build().map_err(|e| ProgramError::Model(e.to_string()))?;
        Ok(OrderProgram {
            problem,
            flow,
            axis,
            columns,
            peak,
            model,
        })
    }

    /// The program.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Number of time steps.
    pub fn steps(&self) -> u32 {
        self.axis.steps
    }

    /// The point of an order, one operator a step; `None` if the order breaks an edge or needs more
    /// steps.
    pub fn point(&self, order: &[OperatorId]) -> Option<Vec<f64>> {
        let is_whole = order.len() == self.problem.len();
        let known = order.iter().all(|v| v.index() < self.problem.len());
        let step_of = (is_whole && known).then(|| self.axis.one_by_one(order))??;
        self.point_of_steps(&step_of)
    }

    /// The point for steps of operators, from 1. `None` if a step is outside of its operator's
    /// window, or not behind the steps of all predecessors.
    pub fn point_of_steps(&self, step_of: &[u32]) -> Option<Vec<f64>> {
        let allowed = self.axis.allows(&self.problem, step_of);
        allowed.then_some(())?;
        let mut x = vec![0.0; self.model.num_cols()];
        self.columns.point(&self.flow, &self.axis, step_of, &mut x);
        let unit = self.flow.unit_bytes();
        let rows = memory_rows(&self.flow, &self.axis, &self.columns, unit);
        let units = rows
            .iter()
            .map(|row| row.iter().map(|(c, v)| v * x[c.index()]).sum());
        let least = self.model.col_lower()[self.peak.index()];
        x[self.peak.index()] = units.fold(least, f64::max);
        Some(x)
    }

    /// An order of the operators that needs no more memory than a point of the program.
    pub fn order(&self, point: &[f64]) -> Vec<OperatorId> {
        let twice = self.columns.twice_step_of(&self.flow, &self.axis, point);
        ordered(&self.problem, &twice)
    }
}

/// Operators sorted by their keys; equal keys stay in topological order.
pub(super) fn ordered(problem: &OrderProblem, key: &[u32]) -> Vec<OperatorId> {
    let mut order = problem.topological_order().to_vec();
    order.sort_by_key(|v| key[*v as usize]);
    order.into_iter().map(OperatorId).collect()
}

/// Memory of each step in units, (13): tensors that are made or stay, and workspaces.
fn memory_rows(
    flow: &Flow,
    axis: &TimeAxis,
    columns: &LiveColumns,
    unit: u64,
) -> Vec<Vec<(ColId, f64)>> {
    let units = |bytes: u64| (bytes / unit) as f64;
    let mut rows = vec![Vec::new(); axis.steps as usize];
    for (tensor, of) in flow.tensors.iter().zip(&columns.tensors) {
        let first = tensor.bytes > 0;
        let (Some(&begin), Some(&end), true) = (of.steps.first(), of.steps.last(), first) else {
            continue;
        };
        let size = units(tensor.bytes);
        for t in begin..=end.min(axis.steps) {
            let row = &mut rows[t as usize - 1];
            row.extend(of.generate_at(t).map(|c| (c, size)));
            row.extend(of.preserve_at(t).map(|c| (c, size)));
        }
    }
    for (v, operator) in flow.operators.iter().enumerate() {
        let size = units(operator.workspace_bytes);
        let Some(output) = operator.outputs.first().filter(|_| size > 0.0) else {
            continue;
        };
        for t in axis.earliest[v]..=axis.latest[v] {
            let Some(made) = columns.tensors[*output as usize].generate_at(t) else {
                continue;
            };
            let row: &mut Vec<(ColId, f64)> = &mut rows[t as usize - 1];
            match row.iter_mut().find(|entry| entry.0 == made) {
                Some(entry) => entry.1 += size,
                None => row.push((made, size)),
            }
        }
    }
    for run in &columns.runs {
        let v = run.operator as usize;
        let size = units(flow.operators[v].workspace_bytes);
        for (t, column) in (axis.earliest[v]..)
            .zip(&run.columns)
            .filter(|_| size > 0.0)
        {
            rows[t as usize - 1].push((*column, size));
        }
    }
    rows
}
