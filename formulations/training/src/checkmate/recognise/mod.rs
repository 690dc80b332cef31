//! Recognition of Checkmate's published program in a model of unknown origin: by its structure, not
//! by its names or the order of its rows and columns.
//!
//! First, columns that single rows over binary columns force are fixed ([`reduce`]). So the fixings
//! of frontier-advancing stages may be sums, bounds, or missing columns. The remaining rows reveal
//! the structure:
//!
//! - Rows over binaries with a right side of at least 1 are the upper sides of the hazards. The
//!   column with the large coefficient is a `FREE`, the one with -1 an `R`.
//! - The other rows have the forms `x <= y + z` and `1 <= y + z`, and `{y, z}` is always
//!   `{R[t,i], S[t,i]}`: a cell. `x` is `S[t+1,i]`, or `R[t,k]` of a reader.
//! - Following `S[t,i]`, `S[t+1,i]`, .. a tensor's cells make a chain up to the last stage, so the
//!   chain of node `i` has `n - 1 - i` links: lengths identify nodes and stages.
//! - `1 <= R[t,i] + S[t,i]` says that node `t` reads `i`. Equalities chain the `U` of a stage in
//!   the order of nodes, and their coefficients are the sizes.
//!
//! Then the program of the resulting instance is built anew, reduced in the same way, and compared
//! row by row. The model is recognised only if it has all rows of this program.

mod duplicates;
mod label;
mod reduce;
mod verify;

use super::CheckmateFormulation;
use super::original::{Decision, Original, Stages};
pub(crate) use reduce::{Inequality, Reduced, reduce};
use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
use remat_instances::schedule::{BitMatrix, CheckmateSchedule};
use remat_lp::{ColId, Model};
use remat_search::SolveError;
use remat_search::recognise::{Integers, Objective, Recognised, integers, integers_below};

/// A model that is Checkmate's program.
#[derive(Clone, Debug)]
pub struct RecognisedCheckmate {
    /// The instance that the model states, all nodes forward and named by their positions; sizes
    /// and costs in the least units that make them integers.
    pub instance: Instance,
    /// The capacity in the same unit as the instance's sizes (there is no fixed memory).
    pub budget_bytes: u64,
    original: Original,
    /// For each column of the model, its value or its column in `original`.
    columns: Vec<RecognisedColumn>,
    objective: Objective,
}

#[derive(Clone, Copy, Debug)]
enum RecognisedColumn {
    Known(f64),
    Same(ColId),
}

impl Recognised for RecognisedCheckmate {
    type Formulation = CheckmateFormulation;
    const NAME: &'static str = "checkmate";

    fn formulation(&self) -> Result<CheckmateFormulation, SolveError> {
        Ok(CheckmateFormulation::new(self.instance.clone()))
    }

    fn nodes(&self) -> usize {
        self.instance.len()
    }

    fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }

    fn point(&self, schedule: &CheckmateSchedule) -> Vec<f64> {
        let x = self.original.point(schedule);
        let value = |column: &RecognisedColumn| match column {
            RecognisedColumn::Known(value) => *value,
            RecognisedColumn::Same(c) => x[c.index()],
        };
        self.columns.iter().map(value).collect()
    }

    /// The schedule with the retained sets of a point of the model, and the cheapest computations.
    fn schedule(&self, point: &[f64]) -> Option<CheckmateSchedule> {
        if point.len() != self.columns.len() {
            return None;
        }
        let n = self.instance.len();
        let mut retained = BitMatrix::new(n, n);
        for (column, value) in self.columns.iter().zip(point) {
            let RecognisedColumn::Same(column) = column else {
                continue;
            };
            if let Decision::Retained { stage, node } = self.original.decision(*column) {
                retained.set(stage as usize, node as usize, *value > 0.5);
            }
        }
        Some(CheckmateSchedule::cheapest(&self.instance, retained))
    }

    fn objective(&self, cost: u64) -> f64 {
        self.objective.of(cost)
    }
}

/// Recognises Checkmate's published program (frontier-advancing, see [`super::original`]) in a
/// model, in any naming, order and scale; further rows are allowed. `None` if the model is
/// something else, or the program with rows left out.
pub fn recognise(model: &Model) -> Option<RecognisedCheckmate> {
    let found = recognise_beside(model, &[], &[])?;
    found.freed_again.is_empty().then_some(found.program)
}

/// Checkmate's program in a model, except for inputs that are listed more than once.
pub(crate) struct RecognisedBeside {
    /// The program with each of these inputs once.
    pub program: RecognisedCheckmate,
    /// Input and reader for each further time: its size is freed once more.
    pub freed_again: Vec<(u32, u32)>,
}

/// Recognises the program as [`recognise`] does. The unit of cost also makes the prices of `others`
/// integers, or rounds them down like the model's own. The columns of `retained` are known to be
/// `S`.
pub(crate) fn recognise_beside(
    model: &Model,
    others: &[f64],
    retained: &[u32],
) -> Option<RecognisedBeside> {
    let reduced = reduce(model)?;
    let read = label::read(&reduced, retained)?;
    let without = duplicates::without(&reduced, &read.duplicates)?;
    let n = read.needs.len();
    let sizes = read.bytes.iter().chain(&read.workspace);
    let sizes: Vec<f64> = sizes.chain(&read.workspace_again).copied().collect();
    let Integers {
        values: sizes,
        scale: memory_scale,
    } = integers(&sizes)?;
    // The last node's cost is in the constant alone; a constant that holds no such cost leaves it
    // at 0.
    let rest = reduced.constant - read.cost.iter().sum::<f64>();
    let mut prices = read.cost.clone();
    prices.push(rest.max(0.0));
    prices.extend(others);
    let Integers {
        values: costs,
        scale: cost_scale,
    } = integers(&prices).or_else(|| {
        prices[n - 1] = 0.0;
        integers_below(&prices)
    })?;
    let capacity = read.capacity * memory_scale;
    if !(0.0..=remat_instances::number::LARGEST_VALUE as f64).contains(&capacity) {
        return None;
    }
    // A capacity between two integers holds as much as the lower one.
    let budget_bytes = (capacity * (1.0 + 1e-12)).floor() as u64;
    let nodes = (0..n).map(|i| {
        let needs = read.needs[i].iter().map(|&u| NodeId(u)).collect();
        let mut node = Node::forward(format!("node{i}"), needs, costs[i], sizes[i]);
        let way = &mut node.implementations[0];
        way.workspace_bytes = sizes[n + i] as i64;
        way.recompute_workspace_bytes = sizes[2 * n + i] as i64;
        node
    });
    let instance = Instance::new(InstanceData {
        name: match model.name() {
            "" => "recognised".into(),
            name => name.into(),
        },
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight: 1,
        nodes: nodes.collect(),
    })
    .ok()?;
    let original = Original::new(
        &instance,
        budget_bytes,
        Stages::FrontierAdvancing,
        memory_scale,
    )
    .ok()?;
    let mut columns = Vec::with_capacity(model.num_cols());
    let mut like: Vec<usize> = (0..model.num_cols()).collect();
    for duplicate in &read.duplicates {
        like[duplicate.column as usize] = duplicate.original as usize;
    }
    for (j, like) in like.iter().enumerate() {
        columns.push(match (reduced.fixed[j], read.decisions[*like]) {
            (Some(value), _) => RecognisedColumn::Known(f64::from(u8::from(value))),
            (None, Some(decision)) => RecognisedColumn::Same(original.column(decision)?),
            (None, None) => return None,
        });
    }
    verify::same(&without, &original, &read.decisions)?;
    let base: u64 = instance.base_cost();
    let program = RecognisedCheckmate {
        objective: Objective {
            sense: model.sense(),
            scale: cost_scale,
            shift: reduced.constant - base as f64 / cost_scale,
        },
        instance,
        budget_bytes,
        original,
        columns,
    };
    // The duplicates are the same in each stage: the last one shows them.
    let last = (n - 1) as u32;
    let is_last = |d: &&Duplicate| match program.decision(d.column) {
        Some(Decision::Freed { stage, .. }) => stage == last,
        _ => false,
    };
    let last = read.duplicates.iter().filter(is_last);
    Some(RecognisedBeside {
        freed_again: last.map(|d| (d.input, d.reader)).collect(),
        program,
    })
}

impl RecognisedCheckmate {
    /// Decision of a column of the model; `None` if its value is known.
    pub(crate) fn decision(&self, column: u32) -> Option<Decision> {
        match self.columns.get(column as usize)? {
            RecognisedColumn::Same(column) => Some(self.original.decision(*column)),
            RecognisedColumn::Known(_) => None,
        }
    }

    /// Bytes of the instance that one unit of the model's memory stands for.
    pub(crate) fn unit_bytes(&self) -> f64 {
        self.original.unit_bytes()
    }

    /// The model's objective, minimised, against costs of the instance.
    pub(crate) fn of_costs(&self) -> Objective {
        self.objective
    }
}

/// Structure as read from a model.
struct Reading {
    /// Decision of each column of the model; `None` for fixed columns.
    decisions: Vec<Option<Decision>>,
    /// Inputs of each node, ascending.
    needs: Vec<Vec<u32>>,
    /// Size of each output, in the model's unit.
    bytes: Vec<f64>,
    /// Workspace of the first computation of each node, in the model's unit.
    workspace: Vec<f64>,
    /// Workspace of its recomputations.
    workspace_again: Vec<f64>,
    /// Cost of a recomputation of each node but the last, in the model's unit.
    cost: Vec<f64>,
    /// Capacity, in the model's unit.
    capacity: f64,
    /// Duplicate columns, of inputs that are listed twice.
    duplicates: Vec<Duplicate>,
}

/// A `FREE` that equals another one: the reader lists the input more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Duplicate {
    column: u32,
    original: u32,
    input: u32,
    reader: u32,
}
