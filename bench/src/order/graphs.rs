//! Graphs that are made by code: training steps of the zoo, random graphs in layers.

use crate::random::SplitMix64;
use remat_instances::instance::StructureError;
use remat_instances::order::{Operator, OperatorId, OrderGraph, OrderGraphData, Tensor, TensorId};

/// Training steps of the zoo, their parameter gradients as tensors.
pub(super) const STEPS: [&str; 8] = [
    "zoo:gpt2?layers=48&heads=25&d_model=1600&batch=1",
    "zoo:gpt2?layers=104&heads=25&d_model=1600&batch=1&attention=plain",
    "zoo:resnet152?batch=1",
    "zoo:densenet121?batch=2",
    "zoo:googlenet?batch=2",
    "zoo:unet?batch=2",
    "zoo:vit?batch=2",
    "zoo:mixtral?batch=1",
];

/// Operators and width of random layered graphs.
pub(super) const LAYERED: [(usize, usize); 6] = [
    (100, 10),
    (200, 10),
    (500, 5),
    (500, 10),
    (500, 20),
    (500, 50),
];

/// A random graph in layers. Each operator has one output of 1 to 1000 bytes. It reads one to three
/// outputs of the layer before or, one time in four, of the three layers before.
pub(super) fn layered(
    operators: usize,
    width: usize,
    seed: u64,
) -> Result<OrderGraph, StructureError> {
    let mut random = SplitMix64(seed);
    let mut below = |end: usize| random.below(end as u64) as usize;
    let mut data = OrderGraphData {
        name: format!("layered {operators} by {width}").into(),
        program_order: (0..operators as u32).map(OperatorId).collect(),
        ..OrderGraphData::default()
    };
    for v in 0..operators {
        let layer = v / width;
        let mut operator = Operator {
            outputs: vec![TensorId(v as u32)],
            ..Operator::default()
        };
        for _ in 0..if layer > 0 { 1 + below(3) } else { 0 } {
            let reach = if below(4) == 0 { 3 } else { 1 };
            let low = layer.saturating_sub(reach) * width;
            let input = TensorId((low + below(layer * width - low)) as u32);
            if !operator.inputs.contains(&input) {
                operator.inputs.push(input);
            }
        }
        data.operators.push(operator);
        data.tensors.push(Tensor {
            bytes: 1 + below(1000) as u64,
            ..Tensor::default()
        });
    }
    OrderGraph::new(data)
}
