//! Model descriptions: a name and parameters, in the notation of users.

use super::ZooError;
use super::device::{DEVICE_NAMES, Device};
use super::memory::OPTIMIZER_NAMES;
use super::models::{MODELS, ZooModel};
use super::sharding::Sharding;
use super::tensor::{DType, Precision};
use super::training::TrainingOptions;
use crate::nearest::nearest;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// Valid values of a parameter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ParameterKind {
    /// A whole number in an inclusive range.
    Integer {
        /// Smallest value.
        min: u64,
        /// Largest value.
        max: u64,
    },
    /// Extents along this many axes: one number for all of them, or one for each, separated by `x`,
    /// such as `416x608`.
    Size {
        /// Number of axes.
        axes: usize,
    },
    /// One of these words.
    Choice(&'static [&'static str]),
}

/// Largest extent along one axis of an input.
const LARGEST_EXTENT: u64 = 1 << 20;

impl fmt::Display for ParameterKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParameterKind::Integer { min, max } => {
                write!(f, "a whole number from {min} to {max}")
            }
            ParameterKind::Size { axes: 3 } => {
                write!(
                    f,
                    "depth x height x width such as 64x128x128, or one number for all"
                )
            }
            ParameterKind::Size { .. } => {
                write!(f, "height x width such as 416x608, or one number for both")
            }
            ParameterKind::Choice(words) => write!(f, "one of {}", words.join(", ")),
        }
    }
}

/// A parameter of a model, for listings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParameterInfo {
    /// Name.
    pub name: &'static str,
    /// Its valid values.
    pub kind: ParameterKind,
    /// Default value, as text.
    pub default: &'static str,
    /// Meaning of the parameter.
    pub description: &'static str,
}

/// A model of the zoo, for listings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModelInfo {
    /// Name.
    pub name: &'static str,
    /// Description of the model, with its source.
    pub description: &'static str,
    /// Its parameters with their defaults.
    pub parameters: Vec<ParameterInfo>,
}

/// A parsed value.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Setting {
    Integer(u64),
    Size(Vec<u64>),
    Choice(&'static str),
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Integer(value) => write!(f, "{value}"),
            Setting::Size(extents) => f.write_str(&super::tensor::format_shape(extents)),
            Setting::Choice(word) => f.write_str(word),
        }
    }
}

impl ParameterInfo {
    fn parse(&self, text: &str) -> Option<Setting> {
        match self.kind {
            ParameterKind::Integer { min, max } => {
                let value: u64 = text.replace('_', "").parse().ok()?;
                (min..=max)
                    .contains(&value)
                    .then_some(Setting::Integer(value))
            }
            ParameterKind::Size { axes } => {
                let extents = text
                    .split('x')
                    .map(|part| {
                        let extent: u64 = part.trim().parse().ok()?;
                        (1..=LARGEST_EXTENT).contains(&extent).then_some(extent)
                    })
                    .collect::<Option<Vec<u64>>>()?;
                match extents.len() {
                    1 => Some(Setting::Size(vec![extents[0]; axes])),
                    n if n == axes => Some(Setting::Size(extents)),
                    _ => None,
                }
            }
            ParameterKind::Choice(words) => {
                let lower = text.to_ascii_lowercase();
                words
                    .iter()
                    .find(|word| **word == lower)
                    .map(|word| Setting::Choice(word))
            }
        }
    }
}

/// A model with its parameters: `resnet50?batch=184&device=v100&dtype=fp16&size=224`, with or
/// without the prefix `zoo:`.
///
/// # Example
/// ```
/// use remat_instances::zoo::ModelSpec;
/// let spec: ModelSpec = "zoo:resnet50?device=v100&batch=184".parse()?;
/// assert_eq!(spec.to_string(), "resnet50?batch=184&device=v100");
/// let error = "resnet5".parse::<ModelSpec>().unwrap_err();
/// assert!(error.to_string().contains("did you mean \"resnet50\"?"));
/// # Ok::<(), remat_instances::zoo::ZooError>(())
/// ```
#[derive(Clone)]
pub struct ModelSpec {
    model: &'static ZooModel,
    /// Given values; all others are at their defaults.
    given: BTreeMap<&'static str, Setting>,
}

impl ModelSpec {
    /// A model with default parameters. Case, hyphens and underscores in the name do not matter.
    ///
    /// # Errors
    /// [`ZooError::UnknownModel`] lists the models and suggests the nearest name.
    pub fn new(name: &str) -> Result<Self, ZooError> {
        let plain = |text: &str| -> String {
            text.chars()
                .filter(|c| !matches!(c, '-' | '_' | ' '))
                .collect::<String>()
                .to_ascii_lowercase()
        };
        let wanted = plain(name);
        let names = || MODELS.iter().map(|model| model.name);
        match MODELS.iter().find(|model| plain(model.name) == wanted) {
            Some(model) => Ok(ModelSpec {
                model,
                given: BTreeMap::new(),
            }),
            None => Err(ZooError::UnknownModel {
                name: name.into(),
                suggestion: nearest(&wanted, names()),
                valid: names().map(String::from).collect(),
            }),
        }
    }

    /// Sets a parameter.
    ///
    /// # Errors
    /// [`ZooError::UnknownParameter`] lists the model's parameters, [`ZooError::BadValue`] the
    /// valid values.
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, ZooError> {
        let parameters = self.model.parameters();
        let names = || parameters.iter().map(|parameter| parameter.name);
        let Some(parameter) = parameters.iter().find(|parameter| parameter.name == name) else {
            return Err(ZooError::UnknownParameter {
                model: self.model.name.into(),
                name: name.into(),
                suggestion: nearest(name, names()),
                valid: names().map(String::from).collect(),
            });
        };
        let Some(setting) = parameter.parse(value.trim()) else {
            let suggestion = match parameter.kind {
                ParameterKind::Choice(words) => nearest(value, words.iter().copied()),
                _ => None,
            };
            return Err(ZooError::BadValue {
                model: self.model.name.into(),
                parameter: name.into(),
                value: value.into(),
                suggestion,
                expected: parameter.kind.to_string(),
            });
        };
        self.given.insert(parameter.name, setting);
        Ok(self)
    }

    /// Name of the model.
    pub fn model(&self) -> &'static str {
        self.model.name
    }

    pub(super) fn definition(&self) -> &'static ZooModel {
        self.model
    }

    /// The value of a parameter. Models request only parameters in their own table, and the tables'
    /// defaults are valid; the tests build every model.
    fn setting(&self, name: &str) -> Setting {
        if let Some(setting) = self.given.get(name) {
            return setting.clone();
        }
        self.model
            .parameters()
            .iter()
            .find(|parameter| parameter.name == name)
            .and_then(|parameter| parameter.parse(parameter.default))
            .unwrap_or_else(|| unreachable!("{} has no usable default for {name}", self.model.name))
    }

    pub(super) fn integer(&self, name: &str) -> u64 {
        match self.setting(name) {
            Setting::Integer(value) => value,
            other => unreachable!("{name} is {other:?}, not a number"),
        }
    }

    pub(super) fn extents(&self, name: &str) -> Vec<u64> {
        match self.setting(name) {
            Setting::Size(extents) => extents,
            other => unreachable!("{name} is {other:?}, not a size"),
        }
    }

    pub(super) fn choice(&self, name: &str) -> &'static str {
        match self.setting(name) {
            Setting::Choice(word) => word,
            other => unreachable!("{name} is {other:?}, not a word"),
        }
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.choice(name) == "true"
    }

    pub(super) fn precision(&self) -> Precision {
        let dtype = |name: &str| self.choice(name).parse::<DType>().ok();
        let activations = dtype("dtype").unwrap_or(DType::Fp32);
        let parameters = dtype("param_dtype").unwrap_or(activations);
        Precision {
            activations,
            parameters,
            gradients: dtype("grad_dtype").unwrap_or(parameters),
        }
    }

    pub(super) fn device(&self) -> Device {
        self.choice("device")
            .parse()
            .unwrap_or_else(|()| Device::v100())
    }

    pub(super) fn options(&self) -> TrainingOptions {
        TrainingOptions {
            backward: self.flag("backward"),
            split_gradients: self.choice("gradients") == "split",
            explicit_sums: self.choice("grad_add") == "explicit",
            relu_reads_input: self.choice("relu_saves") == "input",
            optimizer: self.choice("optimizer").parse().unwrap_or_default(),
            master: self.flag("master"),
        }
    }

    /// Returns whether operators have implementation sets; false for models that are only a graph.
    pub(super) fn has_implementations(&self) -> bool {
        let known = self.model.parameters();
        known.iter().any(|p| p.name == "implementations")
            && self.choice("implementations") == "monet"
    }

    /// The sharding of the weights, if there are several shards.
    pub(super) fn sharding(&self) -> Result<Option<Sharding>, ZooError> {
        let shards = self.integer("shards");
        if shards == 1 {
            return Ok(None);
        }
        if self.has_implementations() {
            return Err(self.conflict(
                "implementations=monet with several shards",
                "leave out one of the two",
            ));
        }
        Ok(Some(Sharding {
            shards,
            bytes_per_second: self.integer("interconnect") * 1_000_000_000,
        }))
    }

    /// The error of two contradictory parameters.
    pub(super) fn conflict(
        &self,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ZooError {
        ZooError::Conflict {
            model: self.model.name.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }
}

impl FromStr for ModelSpec {
    type Err = ZooError;

    fn from_str(text: &str) -> Result<Self, ZooError> {
        let text = text.trim();
        let text = text.strip_prefix("zoo:").unwrap_or(text);
        let (name, query) = text.split_once('?').unwrap_or((text, ""));
        let mut spec = ModelSpec::new(name)?;
        for part in query.split('&').filter(|part| !part.is_empty()) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(ZooError::Syntax { text: part.into() });
            };
            let key = key.trim();
            if spec.given.contains_key(key) {
                return Err(ZooError::RepeatedParameter {
                    model: spec.model.name.into(),
                    name: key.into(),
                });
            }
            spec = spec.with(key, value)?;
        }
        Ok(spec)
    }
}

impl fmt::Display for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.model.name)?;
        for (k, (name, setting)) in self.given.iter().enumerate() {
            write!(f, "{}{name}={setting}", if k == 0 { '?' } else { '&' })?;
        }
        Ok(())
    }
}

impl PartialEq for ModelSpec {
    fn eq(&self, other: &Self) -> bool {
        self.model.name == other.model.name && self.given == other.given
    }
}

impl fmt::Debug for ModelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ModelSpec({self})")
    }
}

const STORAGE: &[&str] = &["same", "fp32", "tf32", "fp16", "bf16"];

/// A boolean parameter.
pub(super) const FLAG: ParameterKind = ParameterKind::Choice(&["true", "false"]);

pub(super) const fn parameter(
    name: &'static str,
    kind: ParameterKind,
    default: &'static str,
    description: &'static str,
) -> ParameterInfo {
    ParameterInfo {
        name,
        kind,
        default,
        description,
    }
}

pub(super) const fn integer(
    name: &'static str,
    [min, max]: [u64; 2],
    default: &'static str,
    description: &'static str,
) -> ParameterInfo {
    parameter(
        name,
        ParameterKind::Integer { min, max },
        default,
        description,
    )
}

/// Parameters of every network.
pub(super) const COMMON: &[ParameterInfo] = &[
    integer("batch", [1, 1 << 30], "32", "samples in a batch"),
    parameter(
        "dtype",
        ParameterKind::Choice(&["fp32", "tf32", "fp16", "bf16"]),
        "fp32",
        "element type of activations and matrix products",
    ),
    parameter(
        "param_dtype",
        ParameterKind::Choice(STORAGE),
        "same",
        "element type of parameters; same as dtype unless given",
    ),
    parameter(
        "grad_dtype",
        ParameterKind::Choice(STORAGE),
        "same",
        "element type of parameter gradients; same as the parameters' unless given",
    ),
    parameter(
        "device",
        ParameterKind::Choice(&DEVICE_NAMES),
        "v100",
        "accelerator whose speed the costs are for",
    ),
    parameter("backward", FLAG, "true", "with loss and backward pass"),
    parameter(
        "optimizer",
        ParameterKind::Choice(&OPTIMIZER_NAMES),
        "none",
        "optimizer with its states in memory: momentum keeps 4 bytes a parameter, adamw 8",
    ),
    parameter(
        "master",
        FLAG,
        "false",
        "the optimizer keeps a copy of the parameters in fp32",
    ),
    parameter(
        "gradients",
        ParameterKind::Choice(&["joint", "split"]),
        "joint",
        "weight and input gradient of an operator in one node, or in two",
    ),
    parameter(
        "grad_add",
        ParameterKind::Choice(&["explicit", "implicit"]),
        "explicit",
        "gradients of a tensor with several users are summed by nodes of their own, or by the node that reads them",
    ),
    parameter(
        "relu_saves",
        ParameterKind::Choice(&["output", "input"]),
        "output",
        "what a ReLU's gradient reads",
    ),
    parameter(
        "implementations",
        ParameterKind::Choice(&["plain", "monet"]),
        "plain",
        "one way to compute each operator, or convolution algorithms, in-place operators and masks for MONeT's program",
    ),
    integer(
        "shards",
        [1, 1 << 20],
        "1",
        "devices over which weights, gradients and optimizer states are sharded; above 1, weights are gathered and gradients scattered",
    ),
    integer(
        "interconnect",
        [1, 1 << 20],
        "50",
        "speed of the link between these devices in GB/s, each way",
    ),
];
