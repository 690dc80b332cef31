//! Errors in a model description.

use crate::instance::StructureError;

/// Reason why a model of the zoo could not be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ZooError {
    /// No model has this name.
    #[error("there is no model {name:?}{}; the models are {}", did_you_mean(.suggestion), .valid.join(", "))]
    UnknownModel {
        /// The name as written.
        name: String,
        /// The nearest valid name, where one is near.
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
        /// The nearest valid name, where one is near.
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
    /// A value is not one that the parameter takes.
    #[error("{model}: {parameter}={value} is not valid{}; {parameter} takes {expected}", did_you_mean(.suggestion))]
    BadValue {
        /// The model.
        model: String,
        /// The parameter.
        parameter: String,
        /// The value as written.
        value: String,
        /// The nearest valid value, where one is near.
        suggestion: Option<String>,
        /// Values that the parameter takes.
        expected: String,
    },
    /// Two parameters do not go together.
    #[error("{model}: {problem}; {remedy}")]
    Conflict {
        /// The model.
        model: String,
        /// Conflict, in words.
        problem: String,
        /// Remedy: what would go together.
        remedy: String,
    },
    /// A layer cannot be applied to its input.
    #[error("layer {layer}: {problem} (input {input}); {remedy}")]
    Layer {
        /// Name of the layer.
        layer: String,
        /// Shape of its input, for example `32x3x8x8`.
        input: String,
        /// Problem, in words.
        problem: String,
        /// Remedy: what would fit.
        remedy: String,
    },
    /// A size or cost exceeds what an instance holds: 2^53 - 1 for a node, 64 bits for sums.
    #[error(
        "{at}: the {what} is more than an instance holds; make the batch, the input or the model smaller"
    )]
    TooLarge {
        /// Layer or node.
        at: String,
        /// Name of the quantity.
        what: &'static str,
    },
    /// The finished graph is not an instance; only a network described by hand can get here.
    #[error(transparent)]
    Structure(#[from] StructureError),
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    match suggestion {
        Some(name) => format!(" (did you mean {name:?}?)"),
        None => String::new(),
    }
}
