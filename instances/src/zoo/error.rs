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

/// The candidate nearest to `text` in edit distance, if at most a third of its letters (but at
/// least one) differ; the first of several.
pub(super) fn nearest<'a>(
    text: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    let text = text.to_ascii_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (distance(&text, candidate), candidate))
        .filter(|(far, candidate)| *far <= (candidate.len().max(text.len()) / 3).max(1))
        .min_by_key(|(far, _)| *far)
        .map(|(_, candidate)| candidate.to_string())
}

/// Insertions, deletions, substitutions and swaps of neighbours, with each letter edited at most
/// once (optimal string alignment).
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before = vec![0; b.len() + 1];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for i in 0..a.len() {
        let mut next = vec![i + 1; b.len() + 1];
        for j in 0..b.len() {
            let substituted = row[j] + usize::from(a[i] != b[j]);
            next[j + 1] = substituted.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] {
                next[j + 1] = next[j + 1].min(before[j - 1] + 1);
            }
        }
        before = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", "abc"), 0);
        assert_eq!(distance("bacth", "batch"), 1);
        assert_eq!(distance("ca", "abc"), 3);
    }

    #[test]
    fn only_near_names_are_suggested() {
        let names = ["resnet50", "vgg16", "unet"];
        assert_eq!(nearest("resnet5", names), Some("resnet50".into()));
        assert_eq!(nearest("VGG-16", names), Some("vgg16".into()));
        assert_eq!(nearest("transformer", names), None);
    }
}
