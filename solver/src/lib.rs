//! Integer programming: branch and cut for models, and branch, price and cut for programs with too
//! many columns to list.
//!
//! | module | for |
//! |---|---|
//! | [`mip`] | any mixed-integer [`remat_lp::Model`] |
//! | [`price`] | programs whose columns are priced |
//! | [`beside`], [`threads`] | a thread beside some work, and threads for work in parallel |
#![deny(missing_docs)]
#![forbid(unsafe_code)]

pub mod beside;
pub mod entries;
#[cfg(feature = "good_lp")]
pub mod good_lp;
pub mod mip;
pub mod price;
pub mod threads;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
