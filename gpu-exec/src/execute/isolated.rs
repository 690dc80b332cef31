//! Isolated runs of every node in every way, on inputs of the right shapes, as measurements for a
//! profile.

use super::Computation;
use super::machine::{Held, Machine};
use crate::error::ExecError;
use crate::shim::{self, Draw};
use crate::training::Training;
use remat_instances::instance::{NodeId, NodeKind};
use remat_instances::plan::Register;
use remat_instances::zoo::Action;
use tch::{Kind, Tensor};

/// A way to compute a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// By an implementation, into a separate output.
    Implementation(u16),
    /// By the first one, in place of its input.
    InPlace,
}

/// The runs of one way.
#[derive(Clone, Debug)]
pub(crate) struct Taken {
    pub way: Way,
    pub runs: Vec<Computation>,
}

/// Shape and element type of a node's output, for a random stand-in.
struct Mould {
    shape: Vec<i64>,
    kind: Kind,
}

impl Mould {
    fn of(tensor: &Tensor) -> Self {
        Mould {
            shape: tensor.size(),
            kind: tensor.kind(),
        }
    }

    /// A tensor of that shape: normal numbers, zeros for positions, all true for masks.
    fn cast(&self, place: tch::Device) -> Result<Tensor, ExecError> {
        let options = (self.kind, place);
        Ok(match self.kind {
            Kind::Float | Kind::Half | Kind::BFloat16 | Kind::Double => {
                shim::drawn(Draw::Normal, &self.shape, options, 0)?
            }
            Kind::Bool => Tensor::f_ones(&self.shape, options)?,
            _ => Tensor::f_zeros(&self.shape, options)?,
        })
    }
}

/// Runs every node `times` times in every way, and hands over the measurements of its runs.
///
/// # Errors
/// As [`super::run`].
pub(crate) fn isolated(
    training: &mut Training,
    times: usize,
    mut taken: impl FnMut(&[Taken]),
) -> Result<(), ExecError> {
    let _no_graph = tch::no_grad_guard();
    for (gradient, parameter) in training.gradients.iter_mut().zip(&training.parameters) {
        *gradient = Some(parameter.f_empty_like()?);
    }
    let mut bench = Bench {
        moulds: Vec::with_capacity(training.program.instance.len()),
        arrived: vec![false; training.parameters.len()],
        times,
        training,
    };
    for node in (0..bench.training.program.instance.len()).map(NodeId::from) {
        let ways = bench.ways(node);
        let mut all = Vec::with_capacity(ways.len());
        for way in ways {
            let (runs, moulds) = bench.runs(node, way)?;
            if all.is_empty() {
                bench.moulds.push(moulds);
            }
            all.push(Taken { way, runs });
        }
        bench.note_gradients(node);
        taken(&all);
    }
    Ok(())
}

struct Bench<'a> {
    training: &'a mut Training,
    /// Moulds of the outputs of the nodes so far.
    moulds: Vec<Vec<Mould>>,
    /// True for parameters whose gradient an earlier node makes.
    arrived: Vec<bool>,
    times: usize,
}

impl Bench<'_> {
    /// The ways that differ in libtorch.
    fn ways(&self, node: NodeId) -> Vec<Way> {
        let of = self.training.program.instance.node(node);
        let mut ways: Vec<Way> = Vec::new();
        for (k, implementation) in of.implementations.iter().enumerate() {
            let earlier = of.implementations[..k].iter();
            if earlier.clone().all(|e| e.needs != implementation.needs) {
                ways.push(Way::Implementation(k as u16));
            }
        }
        // A by-product is never computed in place of its parent.
        if of.in_place.is_some() && !matches!(of.kind, NodeKind::ByProduct { .. }) {
            ways.push(Way::InPlace);
        }
        ways
    }

    /// Records that the operator's parameters have a gradient from now on, so that later ones are
    /// added.
    fn note_gradients(&mut self, node: NodeId) {
        let program = &self.training.program;
        if let Action::Backward {
            operation,
            parameters: true,
            ..
        } = &program.actions[node.index()]
        {
            for p in &program.network.operations()[*operation].parameters {
                self.arrived[*p] = true;
            }
        }
    }

    /// Measures one way; returns its runs and the moulds of its outputs.
    fn runs(
        &mut self,
        node: NodeId,
        way: Way,
    ) -> Result<(Vec<Computation>, Vec<Mould>), ExecError> {
        let of = self.training.program.instance.node(node).clone();
        let (implementation, over) = match (way, &of.in_place) {
            (Way::Implementation(k), _) => (k, None),
            (Way::InPlace, option) => (0, option.as_ref().map(|option| option.on)),
        };
        // A by-product is computed right after its parent.
        let parent = match of.kind {
            NodeKind::ByProduct { parent } => Some(parent),
            _ => None,
        };
        let mut read = of.implementations[usize::from(implementation)]
            .needs
            .clone();
        if let Some(parent) = parent {
            read.extend(self.training.program.instance.needs(parent));
        }
        read.extend(over);
        read.sort_unstable();
        read.dedup();
        let at = |node: NodeId| read.iter().position(|n| *n == node);
        let place = self.training.device.place();
        let register = |k: usize| Register(k as u32);
        let own = register(over.and_then(at).unwrap_or(read.len()));
        let mut machine = Machine::new(self.training);
        machine.step = node.index();
        let mut runs = Vec::with_capacity(self.times);
        for _ in 0..self.times {
            machine.registers.remove(&own);
            for (k, need) in read.iter().enumerate() {
                if machine.registers.contains_key(&register(k)) {
                    continue;
                }
                let tensors = self.moulds[need.index()].iter();
                let held = Held {
                    node: *need,
                    tensors: tensors
                        .map(|mould| mould.cast(place))
                        .collect::<Result<_, _>>()?,
                };
                machine.registers.insert(register(k), held);
                machine.place[need.index()] = Some(register(k));
            }
            if let Some(parent) = parent
                && let Some(k) = at(parent)
            {
                machine.registers.remove(&register(k));
                machine.keep_positions = true;
                machine.compute(parent, register(k), 0)?;
                machine.keep_positions = false;
            }
            machine.runs[node.index()] = 0;
            machine.arrived.clone_from(&self.arrived);
            runs.push(machine.measured(node, own, implementation)?);
        }
        let made = machine.registers.get(&own).into_iter();
        let moulds = made.flat_map(|held| &held.tensors).map(Mould::of).collect();
        Ok((runs, moulds))
    }
}
