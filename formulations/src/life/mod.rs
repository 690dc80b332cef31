//! Lives of tensors: what all interval forms share. A life is a set of stretches of time
//! (intervals) that a tensor spends in memory.
//!
//! | module | concept |
//! |---|---|
//! | `exclusions` | what no schedule that is better than the best known does |
//! | `classes` | like tensors, counted together |
//! | [`layers`] | equal layers: where they are, and roots and plans of many from those of a few |

mod classes;
mod exclusions;
pub mod layers;

pub use classes::Group;
pub(crate) use classes::{CLASS_WEIGHT, classes, classes_of_tensors};
pub(crate) use exclusions::EXCLUSION_PASSES;
pub use exclusions::{Exclusions, Extent};
