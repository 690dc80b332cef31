//! The judge of an order: replays it tensor by tensor, independently of all searches.

use super::{OperatorId, OrderGraph, TensorId, Variant};
use crate::name::Name;

/// Reason to reject an order.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderFault {
    /// An operator is missing or occurs twice.
    #[error("the order has {found} operators, the graph {wanted}; name every operator once")]
    Length {
        /// Operators of the order.
        found: usize,
        /// Operators of the graph.
        wanted: usize,
    },
    /// The operator does not exist.
    #[error("step {step}: there is no operator {operator}; numbers are below {count}")]
    Unknown {
        /// The step, from 0.
        step: usize,
        /// The operator.
        operator: OperatorId,
        /// Operators of the graph.
        count: usize,
    },
    /// An operator runs a second time.
    #[error("step {step}: operator {operator} has run already; name every operator once")]
    Twice {
        /// The step, from 0.
        step: usize,
        /// The operator, with its name.
        operator: Name,
    },
    /// An operator reads a tensor that does not exist yet.
    #[error(
        "step {step}: operator {operator} reads tensor {tensor}, which operator {producer} has \
         not made yet; run that before"
    )]
    Input {
        /// The step, from 0.
        step: usize,
        /// The operator, with its name.
        operator: Name,
        /// The tensor.
        tensor: TensorId,
        /// Its producer, with its name.
        producer: Name,
    },
    /// An operator overwrites a tensor that another one still has to read.
    #[error(
        "step {step}: operator {operator} overwrites tensor {tensor}, which operator {reader} is \
         still to read; run that before"
    )]
    Overwritten {
        /// The step, from 0.
        step: usize,
        /// The operator, with its name.
        operator: Name,
        /// The tensor.
        tensor: TensorId,
        /// The reader, with its name.
        reader: Name,
    },
    /// An edge of the variant is violated.
    #[error(
        "step {step}: operator {operator} runs before operator {before}, against `{list}` of the \
         variant {variant}"
    )]
    Edge {
        /// The step, from 0.
        step: usize,
        /// The operator that runs too early, with its name.
        operator: Name,
        /// The operator that must run before it, with its name.
        before: Name,
        /// The list that contains the edge.
        list: &'static str,
        /// The variant.
        variant: Variant,
    },
}

/// Memory use of a step, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderStep {
    /// The running operator.
    pub operator: OperatorId,
    /// During the step: with outputs and workspace allocated, before any memory is freed.
    pub during_bytes: u64,
    /// After the storages without further readers are freed.
    pub after_bytes: u64,
}

/// Owner of a piece of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LifeOf {
    /// The storage of this tensor.
    Storage(TensorId),
    /// The workspace of this operator.
    Workspace(OperatorId),
}

/// Period in which a piece of memory is allocated: the steps `begin..end`, including the last
/// reader's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// Owner of the memory.
    pub of: LifeOf,
    /// Step of the producer.
    pub begin: usize,
    /// Step after the last reader's; the number of steps for results.
    pub end: usize,
    /// Size in bytes, rounded up.
    pub bytes: u64,
    /// Alignment of the address, in bytes: a power of two; 1 for no alignment.
    pub alignment_bytes: u64,
}

/// Result of replaying an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderReplay {
    /// The largest memory of any step, resident memory included, in bytes; the base memory if there
    /// are no steps.
    pub peak_bytes: u64,
    /// The first step with this memory.
    pub peak_step: usize,
    /// Memory step by step.
    pub steps: Vec<OrderStep>,
    /// Lives of storages, by tensor, then lives of workspaces. Pieces of 0 bytes and outputs
    /// without a reader are omitted.
    pub lives: Vec<Life>,
}

impl OrderReplay {
    /// Memory while each operator runs, in bytes.
    pub fn step_bytes(&self) -> Vec<u64> {
        self.steps.iter().map(|step| step.during_bytes).collect()
    }
}

impl OrderGraph {
    /// Replays an order under a variant.
    ///
    /// Shares no code with searches or with [`OrderGraph::problem`]: tensors are counted one by
    /// one, and every edge is checked.
    ///
    /// # Errors
    /// [`OrderFault`] names the first step that cannot run or that violates an edge of the variant.
    pub fn replay(
        &self,
        variant: Variant,
        order: &[OperatorId],
    ) -> Result<OrderReplay, OrderFault> {
        let step_of = self.steps_of(order)?;
        self.check_data(order, &step_of)?;
        self.check_edges(variant, &step_of)?;
        let lives = self.lives(order, &step_of);
        let steps = order.len();
        let kept = self.kept();
        // Memory allocated at a step, freed before a step, and needed during one step only.
        let mut taken = vec![0u64; steps + 1];
        let mut gone = vec![0u64; steps + 1];
        let mut fleeting = vec![0u64; steps + 1];
        for life in &lives {
            match life.of {
                LifeOf::Workspace(_) => fleeting[life.begin] += life.bytes,
                LifeOf::Storage(tensor) => {
                    taken[life.begin] += life.bytes;
                    if !kept[tensor.index()] {
                        gone[life.end] += life.bytes;
                    }
                }
            }
        }
        let mut replay = OrderReplay {
            peak_bytes: self.base_bytes(),
            peak_step: 0,
            steps: Vec::with_capacity(steps),
            lives,
        };
        let mut bytes = self.base_bytes();
        for (k, &operator) in order.iter().enumerate() {
            bytes += taken[k];
            let during_bytes = bytes + fleeting[k];
            if during_bytes > replay.peak_bytes {
                (replay.peak_bytes, replay.peak_step) = (during_bytes, k);
            }
            bytes -= gone[k + 1];
            replay.steps.push(OrderStep {
                operator,
                during_bytes,
                after_bytes: bytes,
            });
        }
        Ok(replay)
    }

    /// Returns for each tensor whether its storage holds a result.
    fn kept(&self) -> Vec<bool> {
        let mut kept = vec![false; self.tensors().len()];
        for (i, tensor) in self.tensors().iter().enumerate() {
            kept[self.storage_of(TensorId(i as u32)).index()] |= tensor.result;
        }
        kept
    }

    /// The step of each operator.
    fn steps_of(&self, order: &[OperatorId]) -> Result<Vec<usize>, OrderFault> {
        let count = self.len();
        let mut step_of = vec![usize::MAX; count];
        for (step, &operator) in order.iter().enumerate() {
            match step_of.get_mut(operator.index()) {
                None => {
                    return Err(OrderFault::Unknown {
                        step,
                        operator,
                        count,
                    });
                }
                Some(slot) if *slot != usize::MAX => {
                    let operator = self.operator_label(operator);
                    return Err(OrderFault::Twice { step, operator });
                }
                Some(slot) => *slot = step,
            }
        }
        match order.len() {
            found if found != count => Err(OrderFault::Length {
                found,
                wanted: count,
            }),
            _ => Ok(step_of),
        }
    }

    /// Checks that inputs exist when they are read, and have not been overwritten.
    fn check_data(&self, order: &[OperatorId], step_of: &[usize]) -> Result<(), OrderFault> {
        let mut producer = vec![None; self.tensors().len()];
        for &operator in order {
            for output in &self.operators()[operator.index()].outputs {
                producer[output.index()] = Some(operator);
            }
        }
        // The last tensor written to each storage.
        let mut contents: Vec<TensorId> = (0..self.tensors().len() as u32).map(TensorId).collect();
        for (step, &operator) in order.iter().enumerate() {
            let known = &self.operators()[operator.index()];
            for &tensor in &known.inputs {
                if let Some(producer) = producer[tensor.index()]
                    && step_of[producer.index()] > step
                {
                    return Err(OrderFault::Input {
                        step,
                        operator: self.operator_label(operator),
                        tensor,
                        producer: self.operator_label(producer),
                    });
                }
                let root = self.storage_of(tensor).index();
                let shown = self.written(tensor);
                if contents[root] != shown {
                    let writer = producer[contents[root].index()].unwrap_or(operator);
                    return Err(OrderFault::Overwritten {
                        step: step_of[writer.index()],
                        operator: self.operator_label(writer),
                        tensor,
                        reader: self.operator_label(operator),
                    });
                }
            }
            for &output in &known.outputs {
                if self.tensors()[output.index()].in_place_on.is_some() {
                    contents[self.storage_of(output).index()] = output;
                }
            }
        }
        Ok(())
    }

    /// The tensor that wrote the content of a tensor: itself, unless it is a view.
    fn written(&self, mut tensor: TensorId) -> TensorId {
        while let Some(base) = self.tensors()[tensor.index()].alias_of {
            tensor = base;
        }
        tensor
    }

    fn check_edges(&self, variant: Variant, step_of: &[usize]) -> Result<(), OrderFault> {
        let data = self.data();
        let sound = variant.is_sound();
        for (list, counts, edges) in [
            ("order_edges", true, &data.order_edges),
            ("sound_order_edges", sound, &data.sound_order_edges),
            (
                "rng_order_edges",
                variant == Variant::SoundRng,
                &data.rng_order_edges,
            ),
            (
                "olla_early_edges",
                variant == Variant::Ctl,
                &data.olla_early_edges,
            ),
            (
                "olla_late_edges",
                variant == Variant::Ctl,
                &data.olla_late_edges,
            ),
        ] {
            for &[before, after] in edges.iter().filter(|_| counts) {
                self.check_pair(variant, list, before, after, step_of)?;
            }
        }
        Ok(())
    }

    fn check_pair(
        &self,
        variant: Variant,
        list: &'static str,
        before: OperatorId,
        after: OperatorId,
        step_of: &[usize],
    ) -> Result<(), OrderFault> {
        let step = step_of[after.index()];
        match step_of[before.index()] < step {
            true => Ok(()),
            false => Err(OrderFault::Edge {
                step,
                operator: self.operator_label(after),
                before: self.operator_label(before),
                list,
                variant,
            }),
        }
    }

    /// The lives of storages and workspaces.
    fn lives(&self, order: &[OperatorId], step_of: &[usize]) -> Vec<Life> {
        let count = self.tensors().len();
        let mut begin = vec![None; count];
        let mut end = vec![0; count];
        for (step, &operator) in order.iter().enumerate() {
            let known = &self.operators()[operator.index()];
            for output in &known.outputs {
                if self.storage_of(*output) == *output {
                    begin[output.index()] = Some(step);
                }
            }
            for input in &known.inputs {
                let end = &mut end[self.storage_of(*input).index()];
                *end = (*end).max(step + 1);
            }
        }
        for (i, tensor) in self.tensors().iter().enumerate() {
            if tensor.result {
                end[self.storage_of(TensorId(i as u32)).index()] = order.len();
            }
        }
        let alignment = |i: usize| {
            let own = self.tensors()[i].alignment_bytes;
            own.max(self.data().alignment_bytes).max(1)
        };
        let storages = (0..count).filter_map(|i| {
            let tensor = TensorId(i as u32);
            let begin = begin[i].filter(|begin| end[i] > *begin)?;
            Some(Life {
                of: LifeOf::Storage(tensor),
                begin,
                end: end[i],
                bytes: self.tensor_bytes(tensor),
                alignment_bytes: alignment(i),
            })
        });
        let workspaces = (0..self.len()).map(|i| {
            let operator = OperatorId(i as u32);
            Life {
                of: LifeOf::Workspace(operator),
                begin: step_of[i],
                end: step_of[i] + 1,
                bytes: self.workspace_bytes(operator),
                alignment_bytes: self.data().alignment_bytes.max(1),
            }
        });
        let lives = storages.chain(workspaces);
        lives.filter(|life| life.bytes > 0).collect()
    }
}
