//! Pictures as SVG text, one file a picture.
//!
//! plotters' SVG backend measures no fonts, so [`style::width`] gives every text room, enough for
//! the fonts named in [`style::FONT`].

pub mod addresses;
pub mod bands;
pub mod bars;
pub mod lanes;
pub mod legend;
pub mod memory;
pub mod pipeline;
pub mod pipeline_memory;
pub mod progress;
pub mod schedule;
pub mod steps;
pub mod style;
pub mod tradeoff;
