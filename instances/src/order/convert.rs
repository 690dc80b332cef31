//! Graphs of instances: each node is computed once, by its first implementation.

use super::{Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId};
use crate::instance::{Instance, NodeId, StructureError};

impl OrderGraph {
    /// The order graph of an instance without recomputation.
    ///
    /// Each node is an operator with one output; a by-product is a further output of its parent.
    /// Fixed memory is a base ([`Instance::static_bytes`]). An output that no node reads lives
    /// while its operator runs, as Checkmate counts it, unless it is a result.
    ///
    /// # Errors
    /// [`StructureError`] where all sizes together are too large.
    ///
    /// ```
    /// use remat_instances::order::{OrderGraph, Variant};
    /// use remat_instances::{schedule::Semantics, zoo};
    /// let instance = zoo::build(&"zoo:vgg16?batch=2".parse()?)?;
    /// let graph = OrderGraph::of_instance(&instance)?;
    /// let program = graph.replay(Variant::Sound, graph.program_order())?;
    /// assert_eq!(program.peak_bytes, instance.plain_replay(Semantics::Checkmate)?.peak_bytes);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_instance(instance: &Instance) -> Result<Self, StructureError> {
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
        let program_order = (0..operators.len() as u32).map(OperatorId).collect();
        OrderGraph::new(OrderGraphData {
            name: instance.name().into(),
            unused_resident_bytes: instance.static_bytes(),
            operators,
            tensors,
            program_order,
            ..OrderGraphData::default()
        })
    }
}
