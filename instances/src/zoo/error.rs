//! Errors in a model description.

use crate::instance::StructureError;

/// Reason for a failure to build a model of the zoo.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZooError {
    /// No model has this name.
    #[error("there is no model {name:?}{}; the models are {}", did_you_mean(.suggestion), .valid.join(", "))]
    UnknownModel {
        /// The name as written.
        name: String,
        /// The nearest valid name, if any is near.
        suggestion: Option<String>,
        /// All valid names.
        valid: Vec<String>,
    },
    /// The model has no such parameter.
    #[error("{model} has no parameter {name:?}{}; its parameters are {}", did_you_mean(.suggestion), .valid.join(", "))]
    UnknownParameter {
        /// The model.
        model: String,
        /// The parameter as written.
        name: String,
        /// The nearest valid name, if any is near.
        suggestion: Option<String>,
        /// All valid names.
        valid: Vec<String>,
    },
    /// A parameter is given twice.
    #[error("{model}: parameter {name:?} is given twice; keep one of them")]
    RepeatedParameter {
        /// The model.
        model: String,
        /// The parameter.
        name: String,
    },
    /// A part of the description is not of the form `parameter=value`.
    #[error(
        "{text:?} is not of the form parameter=value; write for example resnet50?batch=32&device=a100"
    )]
    Syntax {
        /// The part as written.
        text: String,
    },
    /// A value is not valid for the parameter.
    #[error("{model}: {parameter}={value} is not valid{}; {parameter} takes {expected}", did_you_mean(.suggestion))]
    BadValue {
        /// The model.
        model: String,
        /// The parameter.
        parameter: String,
        /// The value as written.
        value: String,
        /// The nearest valid value, if any is near.
        suggestion: Option<String>,
        /// Valid values of the parameter.
        expected: String,
    },
    /// Two parameters contradict each other.
    #[error("{model}: {problem}; {remedy}")]
    Conflict {
        /// The model.
        model: String,
        /// The conflict, in words.
        problem: String,
        /// The remedy: a valid combination.
        remedy: String,
    },
    /// A layer cannot be applied to its input.
    #[error("layer {layer}: {problem} (input {input}); {remedy}")]
    Layer {
        /// Name of the layer.
        layer: String,
        /// Shape of its input, for example `32x3x8x8`.
        input: String,
        /// The problem, in words.
        problem: String,
        /// The remedy: a valid input.
        remedy: String,
    },
    /// A size or cost exceeds the limit of an instance: 2^53 - 1 for a node, 64 bits for sums.
    #[error(
        "{at}: the {what} is more than an instance holds; make the batch, the input or the model smaller"
    )]
    TooLarge {
        /// Layer or node.
        at: String,
        /// Name of the quantity.
        what: &'static str,
    },
    /// The finished graph is not a valid instance; possible only for a network described by hand.
    #[error(transparent)]
    Structure(#[from] StructureError),
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(name) => format!(" (did you mean {name:?}?)"),
        None => String::new(),
    }
}
