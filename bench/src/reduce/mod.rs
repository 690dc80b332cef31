//! Delta debugging: finds a smaller thing that still makes a program fail.
//!
//! Anything [`Reducible`] can be made smaller: a model ([`ModelDraft`]), an instance
//! ([`InstanceDraft`]), a list of settings or lines ([`Parts`]), a pair of two such things.
//! [`reduce`] searches, and a predicate judges.
//!
//! - `search.rs`: blocks of halving sizes, then single edits while any of them helps.
//! - `model.rs`: rows, columns, integrality, sides, bounds of a model.
//! - `numbers.rs`: numbers that are shorter to write.
//! - `parts.rs`: lists of texts.
//! - `instance.rs`: nodes, edges, implementations and marks of an instance.
//! - `arguments.rs`, `command`: the command `remat-bench reduce`.
//!
//! Source: Zeller & Hildebrandt, *Simplifying and isolating failure-inducing input* (2002), with
//! separate steps for each kind of thing as in Niemetz & Biere, *ddSMT* (2013).

pub mod arguments;
pub mod command;
mod instance;
mod model;
mod numbers;
mod parts;
mod search;
#[cfg(test)]
mod tests;

pub use instance::{INSTANCE_STEPS, InstanceDraft};
pub use model::{MODEL_STEPS, ModelDraft};
pub use numbers::{NumberForm, simpler};
pub use parts::Parts;
pub use search::{ReduceEnd, ReduceSettings, Reduced, StepTally, Tally, reduce};

use std::hash::Hasher;

/// A thing that edits make smaller, one by one or many at once.
///
/// Every edit that applies makes it simpler in an order without endless descent, so that a search
/// ends.
pub trait Reducible: Clone + Send + Sync {
    /// A change. It names its place permanently, so that it stays valid after other changes.
    type Edit: Clone + Send + Sync;

    /// Names of the steps, kinds of edits, in the order in which they are tried. A name may be
    /// there several times.
    fn steps(&self) -> Vec<&'static str>;

    /// The edits of a step that apply now, with neighbouring ones next to each other.
    fn edits(&self, step: usize) -> Vec<Self::Edit>;

    /// Makes an edit. Returns `false` and changes nothing if the edit does not apply any more.
    fn apply(&mut self, edit: &Self::Edit) -> bool;

    /// Returns whether it can be given to a predicate at all.
    fn is_valid(&self) -> bool {
        true
    }

    /// Feeds everything that a predicate could see to a hasher.
    fn fingerprint(&self, hasher: &mut dyn Hasher);
}

/// An edit of one of two things.
#[derive(Clone, Debug, PartialEq)]
pub enum Either<A, B> {
    /// Of the first.
    First(A),
    /// Of the second.
    Second(B),
}

impl<A: Reducible, B: Reducible> Reducible for (A, B) {
    type Edit = Either<A::Edit, B::Edit>;

    fn steps(&self) -> Vec<&'static str> {
        [self.0.steps(), self.1.steps()].concat()
    }

    fn edits(&self, step: usize) -> Vec<Self::Edit> {
        let first = self.0.steps().len();
        match step.checked_sub(first) {
            None => (self.0.edits(step).into_iter())
                .map(Either::First)
                .collect(),
            Some(step) => (self.1.edits(step).into_iter())
                .map(Either::Second)
                .collect(),
        }
    }

    fn apply(&mut self, edit: &Self::Edit) -> bool {
        match edit {
            Either::First(edit) => self.0.apply(edit),
            Either::Second(edit) => self.1.apply(edit),
        }
    }

    fn is_valid(&self) -> bool {
        self.0.is_valid() && self.1.is_valid()
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        self.0.fingerprint(hasher);
        self.1.fingerprint(hasher);
    }
}
