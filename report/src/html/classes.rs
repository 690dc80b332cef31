//! Classes of memory, from the bottom of a picture to its top.

use crate::draw::style::{PALE, PALETTE, dark};
use plotters::style::RGBColor;
use serde::Serialize;

/// A class of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Parameters, the batch, optimizer states: in memory before the step.
    Fixed,
    /// Fixed memory that the step adds, such as gradients of parameters.
    Added,
    /// Saved bytes of other micro-batches in flight.
    Waiting,
    /// Activations that stay for the backward pass.
    Kept,
    /// Activations that end in the forward pass; tensors of graphs without a loss.
    Passing,
    /// Tensors that are computed again.
    Again,
    /// Tensors that have come back from the host, and gathered weights.
    Fetched,
    /// Tensors while a copy runs.
    Copying,
    /// Gradients.
    Gradient,
    /// Workspaces of operators.
    Workspace,
}

/// All classes in order, with their names and colours.
const ALL: [(Class, &str, RGBColor); 10] = [
    (Class::Fixed, "fixed: parameters, states, batch", PALE),
    (Class::Added, "gradients of parameters", PALETTE[15]),
    (Class::Waiting, "other micro-batches", PALETTE[14]),
    (
        Class::Kept,
        "activations kept for the backward pass",
        PALETTE[0],
    ),
    (Class::Passing, "activations of the moment", PALETTE[4]),
    (Class::Again, "computed again", PALETTE[1]),
    (
        Class::Fetched,
        "back from the host, or gathered",
        PALETTE[5],
    ),
    (Class::Copying, "copies in flight", PALETTE[2]),
    (Class::Gradient, "gradients", PALETTE[3]),
    (Class::Workspace, "workspaces", PALETTE[6]),
];

/// Name and colours of a class on a page.
#[derive(Serialize)]
pub struct ClassJson {
    name: &'static str,
    light: String,
    dark: String,
}

/// All classes in order, with the colours of the pictures on light and dark pages.
pub fn classes() -> Vec<ClassJson> {
    let hex = |c: RGBColor| format!("#{:02x}{:02x}{:02x}", c.0, c.1, c.2);
    let class = |(_, name, colour): (Class, &'static str, RGBColor)| ClassJson {
        name,
        light: hex(colour),
        // On a dark page the two blues of activations need more distance.
        dark: hex(match colour {
            c if c == PALETTE[4] => RGBColor(158, 216, 250),
            c => dark(c),
        }),
    };
    ALL.map(class).into()
}

impl Class {
    /// Position in the list of classes.
    pub fn index(self) -> u8 {
        self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_stand_at_their_positions_and_have_colours_of_their_own() {
        for (k, (class, ..)) in ALL.iter().enumerate() {
            assert_eq!(usize::from(class.index()), k);
        }
        for of in [|c: ClassJson| c.light, |c: ClassJson| c.dark] {
            let mut colours: Vec<String> = classes().into_iter().map(of).collect();
            colours.sort();
            colours.dedup();
            assert_eq!(colours.len(), ALL.len());
        }
    }
}
