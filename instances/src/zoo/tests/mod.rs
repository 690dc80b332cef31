//! The zoo compared with published numbers and graphs, and checked for consistency.

mod deepseek;
mod derivation;
mod implementations;
mod memory;
mod models;
mod published;
mod spec;

use super::{Network, build, network};
use crate::instance::{Instance, NodeId};

fn instance(text: &str) -> Instance {
    build(&text.parse().unwrap()).unwrap()
}

fn net(text: &str) -> Network {
    network(&text.parse().unwrap()).unwrap().unwrap()
}

fn find(instance: &Instance, name: &str) -> NodeId {
    instance
        .ids()
        .find(|id| instance.node(*id).name == name)
        .unwrap_or_else(|| panic!("no node {name}"))
}

/// Names of a node's inputs.
fn needs<'a>(instance: &'a Instance, name: &str) -> Vec<&'a str> {
    instance
        .needs(find(instance, name))
        .iter()
        .map(|id| instance.node(*id).name.as_str())
        .collect()
}
