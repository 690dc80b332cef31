//! MONeT's program as it was published, index by index: "Program A" of the benchmark description,
//! whose row numbers stand in brackets here and in the code.
//!
//! With the loss at position `l` of `n` nodes there are `V = l + 1` forward columns (by-products
//! and the loss among them) and `T = n - l` stages. Stage 0 runs the forward pass, stage `t > 0`
//! recomputes forward nodes and then runs backward node `b(t) = l + t`. All columns are binary:
//!
//! | column | meaning |
//! |---|---|
//! | `R[t,i]` | forward node `i` is (re)computed in stage `t` |
//! | `P[t,i]` | ... and its output is not overwritten in that stage |
//! | `S[t,i]`, `t` up to `T` | the output of `i` is stored when stage `t` begins |
//! | `M[t,p]` | backward node `b(t)` runs implementation `p` |
//! | `Z[t,i,p]` | the product `M[t,p] S[t+1,i]` |
//! | `F[t,k,c]` | algorithm `c` is used for the choice in slot `k` in stage `t` |
//! | `IP[t,i]` | `i` is computed in place in stage `t`, in modes that offer it |
//!
//! Slots are the nodes whose implementations are convolution algorithms (named `algo` and a number,
//! which is `c`). Forward nodes with several implementations of any name are slots too (then `c`
//! counts them).
//!
//! Row (17) is an upper bound on memory, for which the paper has a plain and a tighter form:
//! [`LocalBound`].
//!
//! The rows also cover features that the published instances lack. Inputs that only some
//! implementations of a forward node read bind their `F` in rows (5). A recomputation with a cost
//! of its own is charged it in `F` too. A cost of the loss is charged once, in `R[0,l]`. The
//! published program lacks one demand of an executable schedule: no node is computed from a buffer
//! after it was overwritten.

mod build;
mod layout;
mod local;
mod point;

pub use layout::Decision;
pub use local::LocalBound;

use build::{Counter, Evaluator, Modeller, TellRow, Teller};
use layout::ColumnLayout;
use local::Horizon;
use remat_instances::instance::{Implementation, Instance, NodeId, NodeKind};
use remat_instances::schedule::{MonetSchedule, algorithm_number};
use remat_lp::{ColId, Model};

/// Reason why an instance has no program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MonetError {
    /// The instance has no loss, so there is no backward pass to take the stages from.
    #[error(
        "the graph has no loss node: MONeT's program needs a forward pass, a loss and a backward pass"
    )]
    NoLoss,
    /// The program is too large for 32-bit indices.
    #[error("the program would have {columns} columns; at most 2^30 can be indexed")]
    TooLarge {
        /// Number of columns that it would have.
        columns: usize,
    },
}

/// Size of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Entries of the matrix that are not 0.
    pub nonzeros: usize,
}

/// The published program of an instance under a budget.
#[derive(Clone, Debug)]
pub struct Original {
    parts: MonetParts,
    model: Model,
    fixings: usize,
}

/// The program of an instance, not written out.
#[derive(Clone, Debug)]
pub(in crate::monet) struct MonetParts {
    instance: Instance,
    layout: ColumnLayout,
    loss: usize,
    in_place: bool,
    /// The slot of each node that has one.
    slot: Vec<Option<usize>>,
    /// For each node, the `c` of each of its implementations; for backward nodes without a slot the
    /// `p`.
    choice: Vec<Vec<usize>>,
    /// For the tighter local bound.
    horizon: Option<Horizon>,
    budget_bytes: u64,
    unit_bytes: f64,
}

/// A schedule as a point of the program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Check {
    /// Its objective.
    pub objective: f64,
    /// Largest violation of a row, a fixing or a 0-1 bound, memory in units; 0 for a point of the
    /// program.
    pub violation: f64,
}

/// Implementation slots of a backward node in the published program.
const IMPLEMENTATIONS: usize = 3;
/// Algorithm slots of a convolution in the published program.
const ALGORITHMS: usize = 8;

/// The number in the name of a convolution algorithm.
fn algorithm(implementation: &Implementation) -> Option<usize> {
    let number = usize::try_from(algorithm_number(implementation)?).ok();
    number.filter(|&c| c < 1 << 16)
}

impl MonetParts {
    /// The program of an instance; memory is counted in units of `unit_bytes`.
    ///
    /// # Errors
    /// As [`Original::new`].
    pub fn new(
        instance: &Instance,
        budget_bytes: u64,
        unit_bytes: f64,
        local: LocalBound,
    ) -> Result<MonetParts, MonetError> {
        let instance = &*instance.charged_by_monet();
        let loss = instance.loss().ok_or(MonetError::NoLoss)?.index();
        let nodes = instance.nodes();
        let mut slot = vec![None; nodes.len()];
        let mut choice = Vec::with_capacity(nodes.len());
        let (mut slots, mut algorithms, mut ways) = (0, 0, IMPLEMENTATIONS);
        for (i, node) in nodes.iter().enumerate() {
            let numbers: Option<Vec<usize>> = node.implementations.iter().map(algorithm).collect();
            let several = i <= loss && node.implementations.len() > 1;
            let named = numbers.is_some();
            let list = numbers.unwrap_or_else(|| (0..node.implementations.len()).collect());
            if named || several {
                slot[i] = Some(slots);
                slots += 1;
                let most = list.iter().max().map_or(0, |c| c + 1);
                algorithms = algorithms.max(most).max(ALGORITHMS);
            } else {
                ways = ways.max(list.len());
            }
            choice.push(list);
        }
        let in_place = nodes.iter().any(|v| v.in_place.is_some());
        let layout = ColumnLayout {
            columns: loss + 1,
            stages: nodes.len() - loss,
            ways,
            algorithms,
            slots,
            in_place,
        };
        if layout.len() >= 1 << 30 {
            return Err(MonetError::TooLarge {
                columns: layout.len(),
            });
        }
        Ok(MonetParts {
            instance: instance.clone(),
            layout,
            loss,
            in_place,
            slot,
            choice,
            horizon: (local == LocalBound::Tight).then(|| Horizon::new(instance, loss)),
            budget_bytes,
            unit_bytes,
        })
    }

    /// Number of columns.
    pub fn columns(&self) -> usize {
        self.layout.len()
    }

    /// Decision of a column.
    pub fn decision(&self, column: usize) -> Decision {
        self.layout.decision(column)
    }

    /// The column of a decision.
    pub fn position(&self, decision: Decision) -> usize {
        self.layout.position(decision)
    }

    /// The node of each slot.
    pub fn slots(&self) -> Vec<usize> {
        let nodes = self.slot.iter().enumerate();
        nodes.filter(|n| n.1.is_some()).map(|n| n.0).collect()
    }

    /// Reports every row.
    pub fn each_row(&self, tell: &mut TellRow<'_>) {
        build::rows(self, &mut Teller { tell });
    }

    /// Reports every fixed column, and its value.
    pub fn each_fixing(&self, tell: &mut dyn FnMut(u32, f64)) {
        build::fixings(self, &mut |column, value| tell(column, value));
    }

    /// Reports the costs of columns.
    pub fn each_cost(&self, tell: &mut dyn FnMut(u32, f64)) {
        build::costs(self, &mut |column, cost| tell(column, cost));
    }

    fn node(&self, i: usize) -> &remat_instances::instance::Node {
        self.instance.node(NodeId::from(i))
    }

    fn is_by_product(&self, i: usize) -> bool {
        matches!(self.node(i).kind, NodeKind::ByProduct { .. })
    }

    /// The input that a forward node may overwrite.
    fn over(&self, i: usize) -> Option<usize> {
        self.node(i).in_place.as_ref().map(|o| o.on.index())
    }

    fn bytes(&self, i: usize) -> i64 {
        self.node(i).output_bytes as i64
    }

    /// Implementations of the backward node of stage `t`, by slot `p`; later slots are empty.
    /// Algorithms of a slot share implementation 0.
    fn backward_ways(&self, t: usize) -> &[Implementation] {
        let node = self.node(self.loss + t);
        match self.slot[self.loss + t] {
            Some(_) => &node.implementations[..1],
            None => &node.implementations,
        }
    }

    /// Forward nodes that implementation `p` of the backward node of stage `t` reads, ascending.
    fn reads(&self, t: usize, p: usize) -> &[NodeId] {
        let needs = &self.backward_ways(t)[p].needs;
        &needs[..needs.partition_point(|u| u.index() <= self.loss)]
    }
}

impl Original {
    /// Builds the program, as published. Memory is counted in units of `unit_bytes`; a power of two
    /// keeps every coefficient exact.
    ///
    /// # Errors
    /// [`MonetError::NoLoss`], [`MonetError::TooLarge`].
    pub fn new(
        instance: &Instance,
        budget_bytes: u64,
        unit_bytes: f64,
    ) -> Result<Original, MonetError> {
        Original::with_local_bound(instance, budget_bytes, unit_bytes, LocalBound::Plain)
    }

    /// Builds the program with either bound on local memory.
    ///
    /// # Errors
    /// As [`Original::new`].
    pub fn with_local_bound(
        instance: &Instance,
        budget_bytes: u64,
        unit_bytes: f64,
        local: LocalBound,
    ) -> Result<Original, MonetError> {
        let parts = MonetParts::new(instance, budget_bytes, unit_bytes, local)?;
        let mut sink = Modeller::new(&parts);
        build::rows(&parts, &mut sink);
        let (model, fixings) = sink.finish();
        Ok(Original {
            parts,
            model,
            fixings,
        })
    }

    /// The unit that suits a budget: a power of two near a thousandth of it.
    pub fn unit_for(budget_bytes: u64) -> f64 {
        (budget_bytes / 1000).max(1).next_power_of_two() as f64
    }

    /// The program.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Decision of a column.
    ///
    /// # Panics
    /// If the program has no such column.
    pub fn decision(&self, column: ColId) -> Decision {
        self.parts.layout.decision(column.index())
    }

    /// Its size as the published runs count it, with fixings and 0-1 bounds as rows.
    pub fn published_size(&self) -> Size {
        let extra = self.fixings + 2 * self.model.num_cols();
        Size {
            rows: self.model.num_rows() + extra,
            columns: self.model.num_cols(),
            nonzeros: self.model.num_nonzeros() + extra,
        }
    }

    /// The size of [`Original::published_size`] for an instance, without building the program.
    ///
    /// # Errors
    /// As [`Original::new`].
    pub fn size(instance: &Instance, local: LocalBound) -> Result<Size, MonetError> {
        // No entry depends on the budget.
        let parts = MonetParts::new(instance, 0, 1024.0, local)?;
        let mut sink = Counter::default();
        build::rows(&parts, &mut sink);
        let mut fixings = 0;
        build::fixings(&parts, &mut |_, _| fixings += 1);
        let extra = fixings + 2 * parts.layout.len();
        Ok(Size {
            rows: sink.rows + extra,
            columns: parts.layout.len(),
            nonzeros: sink.nonzeros + extra,
        })
    }

    /// Evaluates the point of a schedule row by row, without building the program, which may be too
    /// large for that. The schedule's matrices must have the shapes of [`MonetSchedule::shape`].
    ///
    /// # Errors
    /// As [`Original::new`].
    pub fn check(
        instance: &Instance,
        schedule: &MonetSchedule,
        budget_bytes: u64,
        unit_bytes: f64,
        local: LocalBound,
    ) -> Result<Check, MonetError> {
        let parts = MonetParts::new(instance, budget_bytes, unit_bytes, local)?;
        let x = parts.point(schedule);
        let mut objective = 0.0;
        build::costs(&parts, &mut |column, cost| {
            objective += cost * x[column as usize]
        });
        let mut sink = Evaluator {
            x: &x,
            violation: 0.0,
        };
        build::fixings(&parts, &mut |column, value| {
            sink.value(value, value, x[column as usize]);
        });
        build::rows(&parts, &mut sink);
        Ok(Check {
            objective,
            violation: sink.violation,
        })
    }
}
