//! Every operator's gradients against autograd.

use super::{Call, forward, loss, sizes};
use crate::device::Device;
use crate::execute::run;
use crate::training::Training;
use remat_instances::plan::Plan;
use remat_instances::schedule::{CheckmateSchedule, MonetSchedule};
use remat_instances::zoo::{
    Activation, Convolution, DType, Device as Modelled, Heads, Network, Op, Pooling, Precision,
    TrainingOptions, ZooError,
};
use std::collections::BTreeMap;
use tch::{Kind, Tensor};

/// Gradients of all parameters by autograd through the same forward kernels.
fn by_autograd(training: &mut Training) -> Vec<Tensor> {
    let leaves: Vec<Tensor> = training
        .parameters
        .iter()
        .map(|p| p.detach_copy().set_requires_grad(true))
        .collect();
    let network = &training.program.network;
    let mut values: BTreeMap<_, Tensor> = training
        .batch
        .iter()
        .map(|(x, tensor)| (*x, tensor.shallow_clone()))
        .collect();
    let mut total = Tensor::from(0f32);
    for (k, operation) in network.operations().iter().enumerate() {
        let inputs: Vec<Tensor> = operation
            .inputs
            .iter()
            .map(|x| values[x].shallow_clone())
            .collect();
        let seed = training.seed + 16 * (k as i64 + 1);
        let shape = sizes(network.shape(operation.output));
        let output = match &operation.op {
            Op::View => inputs[0].reshape(shape),
            Op::Slice(at) => inputs[0].narrow(at.axis as i64, at.start as i64, at.length as i64),
            Op::CrossEntropy => {
                for (n, logits) in inputs.iter().enumerate() {
                    let axis = loss::classes(logits);
                    let targets = loss::targets(logits, seed + n as i64).unwrap();
                    let likelihood = logits.log_softmax(axis, None).gather(axis, &targets, false);
                    total -= likelihood.mean(None);
                }
                continue;
            }
            _ => {
                let mut call = Call {
                    network,
                    operation,
                    inputs: inputs.into_iter().map(Some).collect(),
                    output: None,
                    compact: None,
                    positions: None,
                    parameters: operation.parameters.iter().map(|p| &leaves[*p]).collect(),
                    aside: &mut Vec::new(),
                    running: None,
                    place: training.device.place(),
                    seed,
                };
                forward(&mut call).unwrap().swap_remove(0)
            }
        };
        values.insert(operation.output, output);
    }
    total.backward();
    leaves.iter().map(Tensor::grad).collect()
}

/// Largest difference, relative to the greatest gradient of the parameter, in single precision.
fn check(network: Network, options: TrainingOptions) {
    let name = format!("{options:?}");
    let device = Device::open("cpu", true).unwrap();
    let program = network
        .training_program(&Modelled::v100(), &options)
        .unwrap();
    let mut training = Training::new(program, &device, 1 << 20).unwrap();
    let schedule = CheckmateSchedule::checkpoint_all(&training.program.instance);
    let plan = Plan::from_checkmate(&training.program.instance, &schedule).unwrap();
    run(&mut training, &plan).unwrap_or_else(|e| panic!("{name}: {e}"));
    let reference = by_autograd(&mut training);
    close(&training, &reference, &name);
}

/// Each backward node by its implementation of that number, or its last.
fn check_implementation(network: Network, number: usize) {
    let device = Device::open("cpu", true).unwrap();
    let program = network
        .training_program_with_choices(&Modelled::v100(), &TrainingOptions::default())
        .unwrap();
    let mut training = Training::new(program, &device, 1 << 20).unwrap();
    let instance = training.program.instance.clone();
    let mut schedule = MonetSchedule::checkpoint_all(&instance).unwrap();
    let (stages, columns) = MonetSchedule::shape(&instance).unwrap();
    for t in 1..stages {
        let node = instance.node((columns - 1 + t).into());
        let choice = number.min(node.implementations.len() - 1);
        schedule.backward_choice[t] = choice as u16;
        for need in &node.implementations[choice].needs {
            if need.index() < columns {
                schedule.computed.set(0, need.index(), true);
                (1..=t + 1).for_each(|s| schedule.retained.set(s, need.index(), true));
            }
        }
    }
    let plan = Plan::from_monet(&instance, &schedule).unwrap();
    run(&mut training, &plan).unwrap_or_else(|e| panic!("implementation {number}: {e}"));
    let reference = by_autograd(&mut training);
    close(&training, &reference, &format!("implementation {number}"));
}

fn close(training: &Training, reference: &[Tensor], name: &str) {
    let names = training.program.network.parameters().iter();
    for ((found, wanted), parameter) in training.gradients.iter().zip(reference).zip(names) {
        let found = found.as_ref().unwrap();
        assert_eq!(found.size(), wanted.size(), "{}", parameter.name);
        let largest = |x: &Tensor| x.to_kind(Kind::Double).abs().max().double_value(&[]);
        let (difference, size) = (largest(&(found - wanted)), largest(wanted));
        // A bias before a normalisation has a gradient of rounding errors only.
        assert!(
            difference <= 2e-4 * size.max(1e-3),
            "{}: {difference} of {size}, {name}",
            parameter.name
        );
    }
}

/// In all layouts of the backward pass, and by every implementation.
fn all_layouts(network: impl Fn() -> Result<Network, ZooError>) {
    for number in 0..3 {
        check_implementation(network().unwrap(), number);
    }
    for split_gradients in [false, true] {
        for explicit_sums in [false, true] {
            for relu_reads_input in [false, true] {
                let options = TrainingOptions {
                    backward: true,
                    split_gradients,
                    explicit_sums,
                    relu_reads_input,
                    ..TrainingOptions::default()
                };
                check(network().unwrap(), options);
            }
        }
    }
}

fn fresh() -> Network {
    Network::new("test", Precision::uniform(DType::Fp32))
}

#[test]
fn images() {
    all_layouts(|| {
        let mut net = fresh();
        let x = net.input("images", &[3, 4, 12, 12])?;
        let x = net.conv("conv1", x, Convolution::new(8, 3).padding(1))?;
        let a = net.relu("relu1", x)?;
        let x = net.batch_norm("norm", a)?;
        let x = net.conv(
            "depthwise",
            x,
            Convolution::new(8, 3).padding(1).groups(8).bias(false),
        )?;
        let x = net.activation("relu6", x, Activation::Relu6)?;
        let x = net.add("residual", x, a)?;
        let pooled = net.max_pool("pool", x, Pooling::new(3, 2).padding(1).ceil())?;
        let y = net.conv(
            "strided",
            x,
            Convolution::new(4, 3).padding(1).stride(2).dilation(1),
        )?;
        let y = net.average_pool("mean", y, Pooling::new(3, 1).padding(1))?;
        let spatial = net.shape(y)[2..].to_vec();
        let pooled = net.upsample("resize", pooled, &spatial)?;
        let x = net.concat("concat", &[pooled, y, pooled])?;
        let x = net.conv("up", x, Convolution::transposed(6, 2, 2))?;
        let x = net.activation("silu", x, Activation::Silu)?;
        let x = net.dropout("dropout", x)?;
        let side = net.adaptive_average_pool("gap", x, 1)?;
        let side = net.view("flat", side, &[3, 6])?;
        let side = net.linear("aux", side, 5, true)?;
        let x = net.conv("head", x, Convolution::new(5, 1))?;
        net.cross_entropy("loss", &[x, side])?;
        Ok(net)
    });
}

#[test]
fn unpooling() {
    all_layouts(|| {
        let mut net = fresh();
        let x = net.input("images", &[2, 3, 8, 8])?;
        let x = net.conv("conv", x, Convolution::new(4, 3).padding(1))?;
        let window = Pooling::new(2, 2);
        let indices = net.pool_indices("indices", x, window)?;
        let y = net.max_pool("pool", x, window)?;
        let y = net.activation("tanh", y, Activation::Tanh)?;
        let y = net.unpool("unpool", y, indices, &[8, 8])?;
        let y = net.conv("head", y, Convolution::new(3, 1))?;
        net.cross_entropy("loss", &[y])?;
        Ok(net)
    });
}

#[test]
fn volumes() {
    all_layouts(|| {
        let mut net = fresh();
        let x = net.input("volumes", &[2, 2, 6, 6, 6])?;
        let x = net.conv("conv", x, Convolution::new(4, 3).padding(1))?;
        let y = net.max_pool("pool", x, Pooling::new(2, 2))?;
        let y = net.upsample("up", y, &[6, 6, 6])?;
        let x = net.multiply("gate", x, y)?;
        let x = net.conv("head", x, Convolution::new(3, 1))?;
        net.cross_entropy("loss", &[x])?;
        Ok(net)
    });
}

/// A transformer with every kind of attention, and embeddings tied to the head.
fn transformer(flash: bool, key_value: u64) -> Result<Network, ZooError> {
    let mut net = fresh();
    let (batch, positions, d, vocab) = (2, 5, 8, 11);
    let ids = net.integer_input("ids", &[batch, positions])?;
    let table = net.parameter("tokens", &[vocab, d])?;
    let x = net.embedding("embedding", ids, table, d)?;
    let x = net.add_parameter("position", x, &[7, d])?;
    let x = net.add_parameter("type", x, &[2, d])?;
    let x = net.prepend_parameter("class", x)?;
    let y = net.layer_norm("norm1", x)?;
    let heads = Heads {
        query: 4,
        key_value,
        causal: true,
    };
    let query = net.linear("query", y, d, true)?;
    let query = net.rotary("query.rotary", query)?;
    let key = net.linear("key", y, d / 4 * key_value, false)?;
    let key = net.rotary("key.rotary", key)?;
    let value = net.linear("value", y, d / 4 * key_value, true)?;
    let y = net.attention("attention", [query, key, value], heads, flash, !flash)?;
    let y = net.dropout("dropout", y)?;
    let x = net.add("residual", x, y)?;
    let y = net.rms_norm("norm2", x)?;
    let y = net.linear("fused", y, 2 * d, true)?;
    let halves = [0, d].map(|start| remat_instances::zoo::Slice {
        axis: 2,
        start,
        length: d,
    });
    let a = net.slice("a", y, halves[0])?;
    let a = net.activation("gelu", a, Activation::Gelu)?;
    let b = net.slice("b", y, halves[1])?;
    let y = net.multiply("gated", a, b)?;
    let x = net.add("residual2", x, y)?;
    let x = net.linear_shared("head", x, vocab, table, true)?;
    net.cross_entropy("loss", &[x])?;
    Ok(net)
}

#[test]
fn sequences() {
    all_layouts(|| transformer(false, 4));
    all_layouts(|| transformer(false, 2));
    all_layouts(|| transformer(true, 4));
    all_layouts(|| transformer(true, 1));
}

/// A mixture of experts, whose router learns through the weights.
#[test]
fn mixtures() {
    for top_k in [1, 2, 4] {
        all_layouts(|| {
            let mut net = fresh();
            let (batch, positions, d, experts) = (2, 5, 6, 4);
            let x = net.input("stream", &[batch, positions, d])?;
            let x = net.linear("embedding", x, d, true)?;
            let scores = net.linear("router", x, experts, false)?;
            let (routes, weights) = net.gate("gate", scores, top_k)?;
            let rows = net.dispatch("dispatch", x, routes)?;
            let rows = net.grouped_linear("up", rows, routes, experts, 3 * d)?;
            let rows = net.activation("silu", rows, Activation::Silu)?;
            let rows = net.grouped_linear("down", rows, routes, experts, d)?;
            let y = net.combine("combine", rows, weights, routes)?;
            let x = net.add("residual", x, y)?;
            let x = net.linear("head", x, 7, false)?;
            net.cross_entropy("loss", &[x])?;
            Ok(net)
        });
    }
}
