//! Models that are the program of the order.

use super::graph::{SizesByRows, TimedGraph, TimedTensor};
use super::memory::{self, MemoryRow};
use super::roles::Roles;
use super::rows::Reading;
use super::steps::StepsRead;
use super::{Effort, RecognisedOlla};
use crate::olla::pack::{PackTuning, Packing};
use crate::order::{OrderSearch, OrderSettings};
use remat_instances::order::{OperatorId, Variant};
use remat_lp::{Bounds, ColId, Model};
use std::time::Instant;

/// Share of a time limit for the order and for its steps.
const SHARES: [f64; 2] = [0.4, 0.2];

/// Solves a model that is the program of the order, up to names, order and scale of rows and
/// columns, and further ones; `None` for other models.
pub(crate) fn order_program(model: &Model, effort: &Effort<'_>) -> Option<RecognisedOlla> {
    let begun = Instant::now();
    let reading = Reading::new(model)?;
    let roles = Roles::new(&reading)?;
    let rows = memory::rows(&reading, &roles);
    (!roles.made.is_empty() && !rows.is_empty()).then_some(())?;
    let columns: Vec<Vec<u32>> = rows
        .iter()
        .map(|row| row.entries.iter().map(|e| e.0).collect())
        .collect();
    let steps = StepsRead::new(&roles, &columns)?;
    let sizes = SizesByRows::new(&rows, &steps);
    let timed = TimedGraph::new(&roles, &steps, &sizes, &reading.is_one, model.name())?;
    // A graph without a reader gives no bound.
    let is_graph = timed.tensors.iter().any(|t| !t.readers.is_empty());
    is_graph.then_some(())?;
    let search = OrderSearch::new(&timed.graph)
        .variant(Variant::Free)
        .settings(OrderSettings {
            time_limit: effort.time_limit.map(|limit| limit.mul_f64(SHARES[0])),
            begun: Some(begun),
            threads: effort.threads,
            seed: effort.seed,
            ..OrderSettings::default()
        })
        .listener(effort.listener);
    let outcome = search.run().ok()?;
    let least_peak = outcome.bound_bytes as f64 / timed.scale;
    let floor = (reading.lower[reading.peak as usize] * timed.scale).max(0.0);
    let target = outcome.bound_bytes.max(floor as u64);
    let limit = effort
        .time_limit
        .map(|limit| limit.mul_f64(SHARES[0] + SHARES[1]));
    let is_over =
        || effort.listener.is_interrupted() || limit.is_some_and(|limit| begun.elapsed() >= limit);
    let step_of = timed.packed(&outcome.order, target, effort.seed, &is_over);
    let point = step_of.map(|step_of| point(&reading, &timed, &rows, &step_of));
    Some(RecognisedOlla {
        program: "olla-order",
        nodes: timed.graph.len(),
        peak: reading.peak,
        least_peak,
        point,
    })
}

impl TimedGraph {
    /// Steps for the operators of an order, with a memory near the target.
    pub fn packed(
        &self,
        order: &[OperatorId],
        target: u64,
        seed: u64,
        is_over: &dyn Fn() -> bool,
    ) -> Option<Vec<u32>> {
        let problem = self.graph.problem(Variant::Free).ok()?;
        let forced: Vec<Option<u32>> = problem
            .storages()
            .iter()
            .map(|s| self.tensors[s.tensor.index()].forced)
            .collect();
        let packing = Packing {
            problem: &problem,
            windows: &self.windows,
            steps: self.steps,
            forced: &forced,
        };
        let alone = packing.one_by_one(order);
        alone.or_else(|| packing.search(order, target, seed, &PackTuning::default(), is_over))
    }

    /// One operator a step in an order; `None` if windows are too narrow for it.
    pub fn one_by_one(&self, order: &[OperatorId]) -> Option<Vec<u32>> {
        let problem = self.graph.problem(Variant::Free).ok()?;
        let packing = Packing {
            problem: &problem,
            windows: &self.windows,
            steps: self.steps,
            forced: &[],
        };
        packing.one_by_one(order)
    }

    /// Sets the columns of tensors and runs for steps of operators.
    pub fn fill(&self, step_of: &[u32], x: &mut [f64]) {
        for (e, tensor) in self.tensors.iter().enumerate() {
            let made = step_of[tensor.operator as usize];
            let is_free = self.graph.tensors()[e].bytes == 0 && !tensor.readers.is_empty();
            let last = match is_free || self.graph.tensors()[e].result {
                true => self.steps,
                false => tensor.last(step_of).unwrap_or(made),
            };
            for (step, c) in &tensor.made {
                x[*c as usize] = f64::from(u8::from(*step == made));
            }
            for (_, step, c) in &tensor.stays {
                x[*c as usize] = f64::from(u8::from(made < *step && *step <= last));
            }
            for (before, c) in &tensor.between {
                x[*c as usize] = f64::from(u8::from(made <= *before && *before < last));
            }
        }
        for (v, at) in &self.runs {
            for (step, c) in at {
                x[*c as usize] = f64::from(u8::from(*step == step_of[*v as usize]));
            }
        }
    }
}

impl TimedTensor {
    /// The last step at which the tensor is read or must be in memory.
    fn last(&self, step_of: &[u32]) -> Option<u32> {
        let read = self.readers.iter().map(|v| step_of[*v as usize]).max();
        read.max(self.forced)
    }
}

/// Values of all columns: columns without a role are as near to 0 as possible.
pub(super) fn rest(reading: &Reading<'_>) -> Vec<f64> {
    let bounds = reading.lower.iter().zip(&reading.upper);
    bounds
        .map(|(lower, upper)| Bounds::new(*lower, *upper).nearest(0.0))
        .collect()
}

fn point(
    reading: &Reading<'_>,
    timed: &TimedGraph,
    rows: &[MemoryRow],
    step_of: &[u32],
) -> Vec<f64> {
    let mut x = rest(reading);
    timed.fill(step_of, &mut x);
    let peak = reading.peak as usize;
    let needs = rows.iter().map(|row| {
        let sizes = row.entries.iter().map(|(c, size)| size * x[*c as usize]);
        row.base + sizes.sum::<f64>()
    });
    let needed = needs.fold(reading.lower[peak], f64::max);
    x[peak] = match reading.model.is_integer(ColId(reading.peak)) {
        true => (needed - ROUNDING * needed.abs().max(1.0)).ceil(),
        false => needed,
    };
    x
}

/// Part of a number that rounding may have taken.
pub(super) const ROUNDING: f64 = 1e-9;
