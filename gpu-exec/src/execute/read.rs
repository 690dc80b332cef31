//! Inputs of a computation: outputs of nodes, views of them, and sums of gradients.

use super::machine::{Held, Machine};
use crate::error::ExecError;
use crate::kernels::sizes;
use remat_instances::instance::NodeId;
use remat_instances::zoo::{Look, Op, Piece, Slice, Source, Tensor as Value};
use tch::Tensor;

/// A range of a tensor, without a copy.
fn narrowed(tensor: &Tensor, at: &Slice) -> Result<Tensor, ExecError> {
    Ok(tensor.f_narrow(at.axis as i64, at.start as i64, at.length as i64)?)
}

impl Machine<'_> {
    /// A tensor of the network: of the batch, of a register, or a view of one.
    pub(super) fn value(&self, reader: NodeId, x: Value) -> Result<Tensor, ExecError> {
        let network = &self.training.program.network;
        let Some(k) = network.producer(x) else {
            let tensor = self.training.batch.get(&x).map(Tensor::shallow_clone);
            return tensor.ok_or_else(|| ExecError::Mismatch("a tensor of another network".into()));
        };
        let operation = &network.operations()[k];
        match operation.op {
            Op::View => Ok(self
                .value(reader, operation.inputs[0])?
                .f_reshape(self.shape(x))?),
            Op::Slice(at) => narrowed(&self.value(reader, operation.inputs[0])?, &at),
            _ => match self.training.node_of[k] {
                Some(node) => self.output(reader, node, 0),
                None => Err(self.unsupported(reader, "an operation without a node".into())),
            },
        }
    }

    fn output(&self, reader: NodeId, node: NodeId, slot: usize) -> Result<Tensor, ExecError> {
        let tensor = self.held(reader, node)?.tensors.get(slot);
        tensor
            .map(Tensor::shallow_clone)
            .ok_or_else(|| self.missing(reader, node, "has no such part"))
    }

    /// Content of the register in which the newest run of a node left its output.
    pub(super) fn held(&self, reader: NodeId, node: NodeId) -> Result<&Held, ExecError> {
        let register = self.place[node.index()];
        let copies = self.copies.as_ref();
        if register.is_some_and(|r| copies.is_some_and(|copies| copies.is_arriving(r))) {
            return Err(self.missing(reader, node, "is on its way from the host"));
        }
        let held = register.and_then(|r| self.registers.get(&r));
        held.ok_or_else(|| {
            let problem = match self.runs[node.index()] {
                0 => "was not computed",
                _ => "was freed or overwritten",
            };
            self.missing(reader, node, problem)
        })
    }

    fn missing(&self, reader: NodeId, node: NodeId, problem: &'static str) -> ExecError {
        let name = |id: NodeId| self.training.program.instance.node(id).name.clone();
        ExecError::Missing {
            step: self.step,
            node: name(reader),
            missing: name(node),
            problem,
        }
    }

    /// The sum of gradients of a tensor of the given shape. With `owned` the result does not share
    /// memory with another tensor.
    pub(super) fn sum(
        &self,
        reader: NodeId,
        pieces: &[Piece],
        shape: &[i64],
        owned: bool,
    ) -> Result<Tensor, ExecError> {
        let Some((first, rest)) = pieces.split_first() else {
            return Err(self.unsupported(reader, "a gradient that nothing makes".into()));
        };
        let first = self.piece(reader, first)?.f_reshape(shape)?;
        let Some((second, rest)) = rest.split_first() else {
            return Ok(if owned { first.f_detach_copy()? } else { first });
        };
        let mut sum = first.f_add(&self.piece(reader, second)?.f_reshape(shape)?)?;
        for piece in rest {
            let _ = sum.f_add_(&self.piece(reader, piece)?.f_reshape(shape)?)?;
        }
        Ok(sum)
    }

    fn piece(&self, reader: NodeId, piece: &Piece) -> Result<Tensor, ExecError> {
        let mut tensor = match &piece.source {
            Source::Node { node, slot } => self.output(reader, *node, *slot)?,
            Source::Parts { shape, parts } => self.assembled(reader, shape, parts)?,
        };
        for look in &piece.path {
            tensor = match look {
                Look::Reshape(shape) => tensor.f_reshape(sizes(shape))?,
                Look::Narrow(at) => narrowed(&tensor, at)?,
            };
        }
        Ok(tensor)
    }

    /// Parts at their places, zero elsewhere.
    fn assembled(
        &self,
        reader: NodeId,
        shape: &[u64],
        parts: &[(Piece, Slice)],
    ) -> Result<Tensor, ExecError> {
        let mut whole: Option<Tensor> = None;
        for (part, at) in parts {
            let part = self.piece(reader, part)?;
            let whole = match &mut whole {
                Some(whole) => whole,
                none => {
                    let options = (part.kind(), part.device());
                    none.insert(Tensor::f_zeros(sizes(shape), options)?)
                }
            };
            let mut place = narrowed(whole, at)?;
            let part = part.f_reshape(place.size())?;
            let _ = place.f_add_(&part)?;
        }
        whole.ok_or_else(|| self.unsupported(reader, "a gradient without parts".into()))
    }

    pub(super) fn shape(&self, x: Value) -> Vec<i64> {
        sizes(self.training.program.network.shape(x))
    }
}
