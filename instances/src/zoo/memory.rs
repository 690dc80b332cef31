//! Memory of a network beside activations and their gradients: parameters with their gradients and
//! optimizer states, running statistics, and the input batch.

use super::ZooError;
use super::builder::Network;
use super::op::{Op, Operation};
use super::program::Action;
use crate::instance::{Node, Resident};
use crate::number::LARGEST_VALUE;
use std::collections::BTreeMap;
use std::str::FromStr;

/// Optimizer, by the states that it keeps for each element of a parameter, in fp32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Optimizer {
    /// No optimizer: the step ends with the gradients.
    #[default]
    None,
    /// Stochastic gradient descent, without states.
    Sgd,
    /// Stochastic gradient descent with momentum: one state.
    Momentum,
    /// AdamW: two moments (Loshchilov and Hutter, "Decoupled weight decay regularization", ICLR
    /// 2019).
    AdamW,
}

/// Names of the optimizers, in the order of listings for users.
pub(super) const OPTIMIZER_NAMES: [&str; 4] = ["none", "sgd", "momentum", "adamw"];

impl Optimizer {
    /// Bytes of states for each element of a parameter.
    pub fn state_bytes(self) -> u64 {
        match self {
            Optimizer::None | Optimizer::Sgd => 0,
            Optimizer::Momentum => 4,
            Optimizer::AdamW => 8,
        }
    }
}

impl FromStr for Optimizer {
    type Err = ();

    /// Returns the optimizer with a name: `none`, `sgd`, `momentum` or `adamw`.
    fn from_str(text: &str) -> Result<Self, ()> {
        Ok(match text {
            "none" => Optimizer::None,
            "sgd" => Optimizer::Sgd,
            "momentum" => Optimizer::Momentum,
            "adamw" => Optimizer::AdamW,
            _ => return Err(()),
        })
    }
}

impl Network {
    /// Fixed memory before the first gradient of a parameter and without optimizer states, in
    /// bytes: parameters, running statistics and the input batch.
    pub(super) fn bytes_before_gradients(&self) -> Result<u64, ZooError> {
        let statistics = self.operations.iter().map(|o| self.statistics_bytes(o));
        let statistics: u64 = statistics.sum();
        self.parameter_count()
            .checked_mul(self.precision.parameters.bytes())
            .and_then(|bytes| bytes.checked_add(statistics))
            .and_then(|bytes| bytes.checked_add(self.input_bytes))
            .filter(|bytes| *bytes <= LARGEST_VALUE)
            .ok_or_else(|| self.too_large())
    }

    /// Running mean and variance of a batch norm, in fp32: two numbers a channel, as many as it has
    /// parameters.
    fn statistics_bytes(&self, operation: &Operation) -> u64 {
        match operation.op {
            Op::BatchNorm => {
                let parameters = operation.parameters.iter();
                parameters.map(|p| 4 * self.parameters[*p].elements).sum()
            }
            _ => 0,
        }
    }

    /// Adds optimizer states (`state_bytes` for each element of a parameter with a gradient) to the
    /// fixed memory of all nodes, and gives every forward node its residents.
    ///
    /// Parameters of one name form one entry: the parameters of an operator, or a shared parameter.
    /// An entry has the parameters' bytes, those of their gradients and states, and the running
    /// statistics.
    pub(super) fn add_memory_of_parameters(
        &self,
        nodes: &mut [Node],
        actions: &[Action],
        has_gradient: &[bool],
        state_bytes: u64,
    ) -> Result<(), ZooError> {
        let Self { precision, .. } = self;
        let mut entries: BTreeMap<&str, u64> = BTreeMap::new();
        let mut states = 0;
        // All parameters together have at most 2^50 elements.
        for (parameter, has_gradient) in self.parameters.iter().zip(has_gradient) {
            let mut each = precision.parameters.bytes();
            if *has_gradient {
                each += precision.gradients.bytes() + state_bytes;
                states += parameter.elements * state_bytes;
            }
            *entries.entry(&parameter.name).or_default() += parameter.elements * each;
        }
        let name_of = |p: &usize| self.parameters[*p].name.as_str();
        for operation in &self.operations {
            if let Some(first) = operation.parameters.first() {
                *entries.entry(name_of(first)).or_default() += self.statistics_bytes(operation);
            }
        }
        for (node, action) in nodes.iter_mut().zip(actions) {
            node.fixed_bytes += states;
            if node.fixed_bytes > LARGEST_VALUE {
                return Err(self.too_large());
            }
            if let Action::Forward { operation } = action {
                let mut names: Vec<&str> = self.operations[*operation]
                    .parameters
                    .iter()
                    .map(name_of)
                    .collect();
                names.dedup();
                node.resident = names
                    .into_iter()
                    .map(|name| Resident {
                        name: name.into(),
                        bytes: entries[name],
                    })
                    .collect();
            }
        }
        Ok(())
    }

    fn too_large(&self) -> ZooError {
        ZooError::TooLarge {
            at: self.name.clone(),
            what: "fixed memory",
        }
    }
}
