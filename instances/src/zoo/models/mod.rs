//! The networks of the zoo.

mod bert;
mod chain;
mod deepseek;
mod densenet;
mod fcn;
mod googlenet;
mod gpt2;
mod inception;
mod llama;
mod mixtral;
mod mobilenet;
mod random_layered;
mod randwire;
mod resnet;
mod segnet;
mod transformer;
mod unet;
mod unet3d;
mod vgg;
mod vit;

use super::spec::{COMMON, ParameterInfo, ParameterKind, integer, parameter};
use super::{Activation, Convolution, ModelSpec, Network, Tensor, ZooError};
use crate::instance::Instance;

/// Construction of a model's graph.
pub(super) enum ModelBuild {
    /// A forward network, differentiated by the zoo.
    Network(fn(&ModelSpec) -> Result<Network, ZooError>),
    /// A graph that is not derived from a network.
    Graph(fn(&ModelSpec) -> Result<Instance, ZooError>),
}

/// A model of the zoo.
pub(super) struct ZooModel {
    pub name: &'static str,
    pub description: &'static str,
    /// Parameters of this model only.
    pub own: &'static [ParameterInfo],
    /// Defaults of common parameters that differ for this model.
    pub defaults: &'static [(&'static str, &'static str)],
    pub builder: ModelBuild,
}

impl ZooModel {
    /// Its own parameters, then the common ones (networks only).
    pub fn parameters(&self) -> Vec<ParameterInfo> {
        let mut parameters = self.own.to_vec();
        if matches!(self.builder, ModelBuild::Network(_)) {
            for common in COMMON {
                let mut common = common.clone();
                if let Some((_, default)) =
                    self.defaults.iter().find(|(name, _)| *name == common.name)
                {
                    common.default = default;
                }
                parameters.push(common);
            }
        }
        parameters
    }
}

/// All models, in the order of listings for users.
pub(super) static MODELS: &[ZooModel] = &[
    vgg::VGG16,
    vgg::VGG19,
    resnet::RESNET18,
    resnet::RESNET50,
    resnet::RESNET101,
    resnet::RESNET152,
    mobilenet::V1,
    mobilenet::V2,
    googlenet::GOOGLENET,
    inception::INCEPTION_V3,
    densenet::DENSENET121,
    unet::UNET,
    fcn::FCN8,
    segnet::SEGNET,
    unet3d::UNET3D,
    gpt2::GPT2,
    bert::BERT,
    vit::VIT,
    llama::LLAMA,
    mixtral::MIXTRAL,
    deepseek::DEEPSEEK_V3,
    randwire::RANDWIRE,
    chain::CHAIN,
    random_layered::RANDOM_LAYERED,
];

const fn size(default: &'static str) -> ParameterInfo {
    parameter(
        "size",
        ParameterKind::Size { axes: 2 },
        default,
        "height x width of the input",
    )
}

const fn classes(default: &'static str) -> ParameterInfo {
    integer("classes", [1, 1 << 24], default, "number of classes")
}

/// Width of the two fully connected layers of VGG and its relatives.
const fn hidden(default: &'static str) -> ParameterInfo {
    integer(
        "hidden",
        [1, 1 << 20],
        default,
        "width of the fully connected layers",
    )
}

const fn dropout(default: &'static str) -> ParameterInfo {
    parameter(
        "dropout",
        super::spec::FLAG,
        default,
        "with the dropout layers",
    )
}

const fn flash(default: &'static str) -> ParameterInfo {
    parameter(
        "attention",
        ParameterKind::Choice(&["flash", "plain"]),
        default,
        "one fused node, or scores, softmax and context each",
    )
}

/// A network with its batch of three-channel images.
fn images(spec: &ModelSpec) -> Result<(Network, Tensor), ZooError> {
    let mut net = Network::new(spec.to_string(), spec.precision());
    let mut shape = vec![spec.integer("batch"), 3];
    shape.extend(spec.extents("size"));
    let x = net.input("images", &shape)?;
    Ok((net, x))
}

/// Convolution, batch norm and an activation, named `conv`, `norm` and `activation`.
fn conv_norm(
    net: &mut Network,
    [conv, norm, activation]: [&str; 3],
    x: Tensor,
    convolution: Convolution,
    function: Activation,
) -> Result<Tensor, ZooError> {
    let x = net.conv(conv, x, convolution)?;
    let x = net.batch_norm(norm, x)?;
    net.activation(activation, x, function)
}

/// All axes after the batch axis merged into one.
fn flatten(net: &mut Network, name: &str, x: Tensor) -> Result<Tensor, ZooError> {
    let shape = net.shape(x).to_vec();
    let features = shape[1..].iter().try_fold(1u64, |p, d| p.checked_mul(*d));
    match features {
        Some(features) => net.view(name, x, &[shape[0], features]),
        None => Err(ZooError::TooLarge {
            at: name.into(),
            what: "output",
        }),
    }
}

/// Global average pooling, flattening, optional dropout, and a linear classifier.
fn classifier(
    net: &mut Network,
    x: Tensor,
    classes: u64,
    dropout: bool,
) -> Result<Tensor, ZooError> {
    let x = net.adaptive_average_pool("avgpool", x, 1)?;
    let mut x = flatten(net, "flatten", x)?;
    if dropout {
        x = net.dropout("dropout", x)?;
    }
    net.linear("fc", x, classes, true)
}
