//! Plans: made from schedules, optimised, written, read and replayed.

mod addresses;
mod checkmate;
mod copies;
mod faults;
mod files;
mod fixed;
mod graphs;
mod monet;
mod published;
