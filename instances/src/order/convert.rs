//! Order graphs of instances: each node is computed once, by its first implementation.

use super::{Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId};
use crate::instance::{Instance, NodeId, StructureError};

/// Tensors and operators converted from nodes.
#[derive(Default)]
struct Converted {
    operators: Vec<Operator>,
    tensors: Vec<Tensor>,
    /// The operator of each node.
    operator_of: Vec<Option<usize>>,
}

impl OrderGraph {
    /// The order graph of an instance without recomputation.
    ///
    /// Each node is an operator with one output; a by-product is a further output of its parent.
    /// Fixed memory is part of the base ([`Instance::static_bytes`]). An output without a reader
    /// exists only while its operator runs, as in Checkmate's semantics, unless it is a result. A
    /// node comes behind those that it [ends](crate::instance::Node::ends).
    ///
    /// # Errors
    /// [`StructureError`] if the sum of all sizes is too large.
    ///
    /// ```
    /// use remat_instances::order::{OrderGraph, Variant};
    /// use remat_instances::schedule::CheckmateSchedule;
    /// use remat_instances::{simulate, zoo};
    /// let instance = zoo::build(&"zoo:vgg16?batch=2".parse()?)?;
    /// let graph = OrderGraph::of_instance(&instance)?;
    /// let program = graph.replay(Variant::Sound, graph.program_order())?;
    /// let everything = CheckmateSchedule::checkpoint_all(&instance);
    /// assert_eq!(program.peak_bytes, simulate::checkmate(&instance, &everything)?.peak_bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_instance(instance: &Instance) -> Result<Self, StructureError> {
        let Converted {
            operators,
            tensors,
            operator_of,
        } = Converted::of(instance);
        let operator = |id: NodeId| Some(OperatorId(operator_of[id.index()]? as u32));
        let edge = |before, after| Some([operator(before)?, operator(after)?]);
        let mut edges: Vec<[OperatorId; 2]> = Vec::new();
        for id in instance.ids() {
            edges.extend(instance.ended_by(id).filter_map(|before| edge(before, id)));
        }
        edges.dedup();
        let program_order = (0..operators.len() as u32).map(OperatorId).collect();
        OrderGraph::new(OrderGraphData {
            name: instance.name().into(),
            unused_resident_bytes: instance.static_bytes(),
            operators,
            tensors,
            sound_order_edges: edges,
            program_order,
            ..OrderGraphData::default()
        })
    }

    /// The order graph of a training step with parameter gradients as tensors. In
    /// [`OrderGraph::of_instance`] they are always in fixed memory; here each gradient is made by
    /// its own operator and read by the update of its parameters.
    ///
    /// The size of an operator's gradient is the amount that its node adds to fixed memory
    /// ([`Node::fixed_bytes`](crate::instance::Node::fixed_bytes)). The gradient is computed from
    /// the node's inputs. The update comes after the node, which reads the parameters; in the
    /// program order, all updates come at the end.
    ///
    /// # Errors
    /// The errors of [`OrderGraph::of_instance`].
    ///
    /// ```
    /// use remat_instances::order::{OrderGraph, Variant};
    /// use remat_instances::zoo;
    /// let instance = zoo::build(&"zoo:resnet18?batch=1".parse()?)?;
    /// let still = OrderGraph::of_instance(&instance)?;
    /// let step = OrderGraph::of_training_step(&instance)?;
    /// assert!(step.len() > still.len() && step.base_bytes() < still.base_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_training_step(instance: &Instance) -> Result<Self, StructureError> {
        let mut converted = Converted::of(instance);
        let nodes = instance.nodes();
        let base = nodes.first().map_or(0, |node| node.fixed_bytes);
        let mut fixed = base;
        let mut program: Vec<usize> = Vec::new();
        let mut updates = Vec::new();
        let mut edges = Vec::new();
        for (id, node) in instance.ids().zip(nodes) {
            let Some(at) = converted.operator_of[id.index()] else {
                continue;
            };
            if node.parent().is_none() {
                program.push(at);
            }
            if node.fixed_bytes <= fixed {
                continue;
            }
            let gradient = TensorId(converted.tensors.len() as u32);
            converted.tensors.push(Tensor {
                name: format!("{}.parameters", node.name.as_str()).into(),
                bytes: node.fixed_bytes - fixed,
                ..Tensor::default()
            });
            fixed = node.fixed_bytes;
            program.push(converted.operators.len());
            converted.operators.push(Operator {
                name: format!("{}.parameters", node.name.as_str()).into(),
                kind: node.op.clone(),
                inputs: converted.operators[at].inputs.clone(),
                outputs: vec![gradient],
                ..Operator::default()
            });
            let update = converted.operators.len();
            updates.push(update);
            edges.push([OperatorId(at as u32), OperatorId(update as u32)]);
            converted.operators.push(Operator {
                name: format!("{}.update", node.name.as_str()).into(),
                kind: "update".into(),
                inputs: vec![gradient],
                ..Operator::default()
            });
        }
        let program = program.into_iter().chain(updates);
        OrderGraph::new(OrderGraphData {
            name: instance.name().into(),
            unused_resident_bytes: base,
            operators: converted.operators,
            tensors: converted.tensors,
            sound_order_edges: edges,
            program_order: program.map(|v| OperatorId(v as u32)).collect(),
            ..OrderGraphData::default()
        })
    }
}

impl Converted {
    fn of(instance: &Instance) -> Self {
        let made: Vec<NodeId> = instance.ids().filter(|i| instance.is_made(*i)).collect();
        let mut operator_of = vec![None; instance.len()];
        let mut tensor_of = vec![None; instance.len()];
        let mut operators: Vec<Operator> = Vec::new();
        let mut tensors = Vec::new();
        for id in made {
            let node = instance.node(id);
            let parent = node.parent().and_then(|p| operator_of[p.index()]);
            let at: usize = parent.unwrap_or(operators.len());
            if at == operators.len() {
                operators.push(Operator {
                    name: node.name.clone(),
                    kind: node.op.clone(),
                    ..Operator::default()
                });
            }
            operator_of[id.index()] = Some(at);
            let operator = &mut operators[at];
            for need in instance.needs(id) {
                let input = tensor_of[need.index()];
                let input = input.filter(|_| operator_of[need.index()] != Some(at));
                if let Some(input) = input.filter(|t| !operator.inputs.contains(t)) {
                    operator.inputs.push(input);
                }
            }
            operator.workspace_bytes += node.workspace_bytes();
            if instance.users(id).is_empty() && !node.result {
                operator.workspace_bytes += node.output_bytes;
                continue;
            }
            let tensor = TensorId(tensors.len() as u32);
            operator.outputs.push(tensor);
            tensor_of[id.index()] = Some(tensor);
            tensors.push(Tensor {
                name: node.name.clone(),
                bytes: node.output_bytes,
                result: node.result,
                ..Tensor::default()
            });
        }
        Converted {
            operators,
            tensors,
            operator_of,
        }
    }
}
