//! Lives of tensors: the common part of all interval forms. A life is a set of stretches of time
//! (intervals) that a tensor spends on the device.
//!
//! A row is a linear form in *atoms*, and a dual value is a payment to these atoms. The cheapest
//! life of a tensor is a shortest path in its *automaton*. A program defines its starts, their
//! inputs and the moments that they occupy (`Lives`); pricing, Lagrangian bounds and exclusions
//! follow.
//!
//! | module | concept |
//! |---|---|
//! | `atoms` | atoms, and terms of rows |
//! | `prices`, `byte_prices` | payments of duals to atoms |
//! | `automaton` | the lives of a tensor, and the cheapest |
//! | `lives` | traits of a program |
//! | `bound` | pricing, bounds, and exclusions by reduced cost |
//! | `exclusions`, `lazy_bits` | starts, retentions and choices that no improving schedule has |
//! | `classes` | like tensors, counted together |
//! | `proof` | proofs of bounds, as text |
//! | [`layers`] | equal layers: their places, and roots and plans of many layers from a few |

mod atoms;
mod automaton;
mod bound;
mod byte_prices;
mod classes;
mod exclusions;
pub mod layers;
mod lazy_bits;
mod lives;
mod prices;
pub(crate) mod proof;

pub use atoms::{Atom, Stretch, Term, Which};
pub(crate) use automaton::{Found, Offer, Span, Walk};
pub(crate) use bound::{Sizes, clamped, exclude, fixed_bits, lagrangian_bound, multipliers, price};
pub use classes::Group;
pub(crate) use classes::{CLASS_WEIGHT, classes, classes_of_tensors};
pub use exclusions::{Exclusions, Extent};
pub(crate) use lives::Lives;
pub(crate) use prices::{AtomPrices, Scratch, StartPrices};
