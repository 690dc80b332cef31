//! Plans as text, one statement per line, in the paper's notation.

use super::{Plan, Step};
use crate::instance::{Instance, NodeId};
use crate::name::Name;
use std::fmt;

/// A plan as text; made by [`Plan::display`].
#[derive(Clone, Copy, Debug)]
pub struct PlanText<'a> {
    plan: &'a Plan,
    instance: &'a Instance,
}

impl Plan {
    /// The plan as text, one statement per line: `%3 = allocate conv1`, `compute conv1 -> %3`,
    /// `deallocate %3`.
    ///
    /// A computation that overwrites its input ends with `in place`. An implementation other than
    /// the first is given in brackets, by name if it has one. Copies are `@0 = offload %3`,
    /// `wait @0`, `prefetch @0 -> %5` and `release @0`.
    pub fn display<'a>(&'a self, instance: &'a Instance) -> PlanText<'a> {
        PlanText {
            plan: self,
            instance,
        }
    }
}

impl PlanText<'_> {
    fn name(&self, node: NodeId) -> Name {
        match self.instance.nodes().get(node.index()) {
            Some(known) => known.name.clone(),
            None => format!("(unknown node {node})").into(),
        }
    }

    fn implementation(&self, node: NodeId, implementation: u16) -> String {
        if implementation == 0 {
            return String::new();
        }
        let known = self.instance.nodes().get(node.index());
        let name = known
            .and_then(|v| v.implementations.get(usize::from(implementation)))
            .map(|p| &p.name)
            .filter(|name| !name.is_empty());
        match name {
            None => format!(" [{implementation}]"),
            Some(name) => format!(" [{name}]"),
        }
    }
}

impl fmt::Display for PlanText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut holds = std::collections::BTreeSet::new();
        for step in &self.plan.steps {
            match *step {
                Step::Allocate { register, node } => {
                    writeln!(f, "{register} = allocate {}", self.name(node))?;
                }
                Step::Compute {
                    node,
                    register,
                    implementation,
                } => {
                    let name = self.name(node);
                    let variant = self.implementation(node, implementation);
                    let full = !holds.insert(register);
                    let place = if full && self.plan.semantics.overwrites_in_place() {
                        " in place"
                    } else {
                        ""
                    };
                    writeln!(f, "compute {name}{variant} -> {register}{place}")?;
                }
                Step::Deallocate { register } => {
                    holds.remove(&register);
                    writeln!(f, "deallocate {register}")?;
                }
                Step::Offload { register, buffer } => {
                    writeln!(f, "{buffer} = offload {register}")?;
                }
                Step::Wait { buffer } => writeln!(f, "wait {buffer}")?,
                Step::Prefetch { buffer, register } => {
                    holds.insert(register);
                    writeln!(f, "prefetch {buffer} -> {register}")?;
                }
                Step::Release { buffer } => writeln!(f, "release {buffer}")?,
                Step::Gather { register, node } => {
                    holds.insert(register);
                    writeln!(f, "gather {} -> {register}", self.name(node))?;
                }
                Step::Scatter { register, node } => {
                    writeln!(f, "scatter {} from {register}", self.name(node))?;
                }
            }
        }
        Ok(())
    }
}
