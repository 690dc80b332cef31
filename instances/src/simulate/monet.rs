//! MONeT's memory semantics: Shah et al., ICLR 2021, section 4, as written out in "Program A" of
//! the benchmark description. Numbers in parentheses below are its row numbers.

use super::in_flight::Boundary;
use super::{Meter, Replay, ReplayError};
use crate::Semantics;
use crate::instance::{Instance, NodeId, NodeKind};
use crate::name::Name;
use crate::plain::Plain;
use crate::schedule::{BitMatrix, MonetSchedule};

/// Replays a schedule of MONeT's program.
///
/// Stage 0 runs the forward pass. Stage `t > 0` recomputes forward nodes and then runs one backward
/// node. Within a stage, the forward nodes take turns in order, computed or not. These charges
/// apply at every moment:
/// - fixed memory of the frontier, and from stage 1 on all tensors that pass over the backward
///   node;
/// - *waiting* tensors: stored at the start of the stage, with their turn still to come;
/// - *kept* tensors: their turn is over, and the next stage stores them;
/// - *held* tensors: their turn is over, the backward node of the stage reads them, and the next
///   stage does not store them.
///
/// While a node runs (17), its output, its workspace and its whole `passing` list are charged in
/// addition, and tensors on that list are not charged as kept. This charge is the published
/// program's, quirks included: held tensors on the passing list are charged twice, and a passing
/// tensor is charged even if it is absent. The backward node (18) is charged with its output,
/// workspace, passing list, inputs, and all tensors that the next stage stores.
///
/// # Errors
/// [`ReplayError`] names the first stage, node and tensor at which the schedule cannot be executed.
/// The fault may be a missing or overwritten input, a by-product without its parent, a choice that
/// does not exist, or a tensor stored or read after it was overwritten. As in the published program
/// (6), an input of a backward node must be computed in its stage or be stored beyond it.
pub fn monet(instance: &Instance, schedule: &MonetSchedule) -> Result<Replay, ReplayError> {
    let instance = &*instance.charged_by_monet();
    let (stages, columns) = MonetSchedule::shape(instance).ok_or(ReplayError::NoLoss)?;
    check_shapes(schedule, stages, columns)?;
    let mut run = MonetReplay {
        instance,
        schedule,
        loss: columns - 1,
        meter: Meter::new(),
        boundary: Boundary::of(instance),
        memory: StageMemory::new(instance, columns),
    };
    if let Some(i) = schedule.retained.ones(0).next() {
        return Err(
            run.error_at(0, i, |stage, node, node_name| ReplayError::NotThere {
                stage,
                node,
                node_name,
            }),
        );
    }
    for t in 0..stages {
        run.stage(t)?;
    }
    let plain = Plain::of(instance, Semantics::Monet);
    Ok(run.meter.finish(plain.cost(), &run.boundary))
}

fn check_shapes(
    schedule: &MonetSchedule,
    stages: usize,
    columns: usize,
) -> Result<(), ReplayError> {
    let same = |what, found: (usize, usize), wanted: (usize, usize)| {
        if found == wanted {
            return Ok(());
        }
        Err(ReplayError::Shape {
            what,
            found_rows: found.0,
            found_columns: found.1,
            rows: wanted.0,
            columns: wanted.1,
        })
    };
    let size = |matrix: &BitMatrix| (matrix.rows(), matrix.columns());
    let computed = size(&schedule.computed);
    same("the computed matrix R", computed, (stages, columns))?;
    let retained = size(&schedule.retained);
    same("the retained matrix S", retained, (stages + 1, columns))?;
    let in_place = size(&schedule.in_place);
    same("the in-place matrix IP", in_place, (stages, columns))?;
    let found = schedule.forward_choice.shape();
    let wanted = (stages, columns);
    same("the choice of forward implementations", found, wanted)?;
    let found = (schedule.backward_choice.len(), 1);
    same("the choice of backward implementations", found, (stages, 1))
}

/// Reason why a tensor is charged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Charge {
    /// Not charged individually.
    None,
    /// Stored at the start of the stage, with its turn still to come.
    Waiting,
    /// Its turn is over; the next stage stores it.
    Kept,
    /// Its turn is over; the backward node of this stage reads it.
    Held,
}

/// State of a tensor in a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TensorState {
    Absent,
    Present,
    /// Another node was computed into its buffer.
    OverwrittenBy(usize),
}

/// The tensors of a stage: their presence, their charges, and the sum of these.
struct StageMemory {
    sizes: Vec<u64>,
    charges: Vec<Charge>,
    states: Vec<TensorState>,
    bytes: u64,
}

impl StageMemory {
    fn new(instance: &Instance, columns: usize) -> Self {
        let sizes = instance.nodes()[..columns].iter().map(|v| v.output_bytes);
        StageMemory {
            sizes: sizes.collect(),
            charges: vec![Charge::None; columns],
            states: vec![TensorState::Absent; columns],
            bytes: 0,
        }
    }

    /// Changes the charge of a tensor and updates the sum.
    fn charge(&mut self, i: usize, charge: Charge) {
        let counted = |c: Charge| c != Charge::None;
        match (counted(self.charges[i]), counted(charge)) {
            (false, true) => self.bytes += self.sizes[i],
            (true, false) => self.bytes -= self.sizes[i],
            _ => {}
        }
        self.charges[i] = charge;
    }
}

struct MonetReplay<'a> {
    instance: &'a Instance,
    schedule: &'a MonetSchedule,
    loss: usize,
    meter: Meter,
    boundary: Boundary,
    memory: StageMemory,
}

impl MonetReplay<'_> {
    fn error_at(
        &self,
        stage: usize,
        i: usize,
        make: impl FnOnce(usize, NodeId, Name) -> ReplayError,
    ) -> ReplayError {
        let id = NodeId::from(i);
        make(stage, id, self.instance.node(id).name.clone())
    }

    fn name(&self, i: usize) -> Name {
        self.instance.node(NodeId::from(i)).name.clone()
    }

    fn passing_bytes(&self, i: usize) -> u64 {
        let passing = &self.instance.node(NodeId::from(i)).passing;
        passing
            .iter()
            .map(|u| self.instance.node(*u).output_bytes)
            .sum()
    }

    /// Forward tensors that the backward node of a stage reads (K in the description); for stage 0,
    /// the inputs of the loss.
    fn read_by_backward(&self, t: usize) -> Result<&[NodeId], ReplayError> {
        let id = NodeId::from(self.loss + t);
        let node = self.instance.node(id);
        let choice = self.schedule.backward_choice[t] as usize;
        let Some(implementation) = node.implementations.get(choice) else {
            return Err(self.no_choice(t, id.index(), choice));
        };
        let needs = &implementation.needs;
        Ok(&needs[..needs.partition_point(|u| u.index() <= self.loss)])
    }

    fn no_choice(&self, stage: usize, i: usize, choice: usize) -> ReplayError {
        self.error_at(stage, i, |stage, node, node_name| ReplayError::NoChoice {
            stage,
            node,
            node_name,
            choice,
            available: self.instance.node(node).implementations.len(),
        })
    }

    fn stage(&mut self, t: usize) -> Result<(), ReplayError> {
        let schedule = self.schedule;
        let reads = self.read_by_backward(t)?.to_vec();
        let mut read = vec![false; self.loss + 1];
        for need in &reads {
            read[need.index()] = true;
        }
        for i in 0..=self.loss {
            self.memory.charge(i, Charge::None);
            self.memory.states[i] = TensorState::Absent;
        }
        for i in schedule.retained.ones(t) {
            self.memory.charge(i, Charge::Waiting);
            self.memory.states[i] = TensorState::Present;
        }
        let mut always = self.instance.stage_fixed_bytes(t);
        if t > 0 {
            always += self.passing_bytes(self.loss + t);
        }
        self.meter.sample(t, None, always + self.memory.bytes);
        if t == 1 {
            // Between the loss and the first backward node.
            self.boundary.note(self.memory.bytes);
            self.boundary.first(self.loss + 1);
        }
        for (j, read) in read.iter().enumerate() {
            // (16): the moment before each turn.
            self.meter.glance(t, None, always + self.memory.bytes);
            if schedule.computed.get(t, j) {
                self.compute(t, j, always)?;
            } else {
                self.check_idle(t, j)?;
            }
            let charge = match (schedule.retained.get(t + 1, j), read) {
                (true, _) => Charge::Kept,
                (false, true) => Charge::Held,
                (false, false) => Charge::None,
            };
            self.memory.charge(j, charge);
        }
        self.check_stored(t)?;
        self.backward(t, &reads)
    }

    /// Checks that a node that is not computed has no in-place step, and that stage 0 omits only
    /// by-products.
    fn check_idle(&self, t: usize, j: usize) -> Result<(), ReplayError> {
        if self.schedule.in_place.get(t, j) {
            return Err(
                self.error_at(t, j, |stage, node, node_name| ReplayError::NotInPlace {
                    stage,
                    node,
                    node_name,
                }),
            );
        }
        let by_product = matches!(
            self.instance.node(NodeId::from(j)).kind,
            NodeKind::ByProduct { .. }
        );
        if t > 0 || by_product {
            return Ok(());
        }
        Err(
            self.error_at(t, j, |stage, node, node_name| ReplayError::NotComputed {
                stage,
                node,
                node_name,
            }),
        )
    }

    /// Computes a forward node at its turn (17).
    fn compute(&mut self, t: usize, j: usize, always: u64) -> Result<(), ReplayError> {
        let id = NodeId::from(j);
        let node = self.instance.node(id);
        let choice = self.schedule.forward_choice.get(t, j) as usize;
        let Some(implementation) = node.implementations.get(choice) else {
            return Err(self.no_choice(t, j, choice));
        };
        for need in &implementation.needs {
            self.check_present(t, j, need.index())?;
        }
        if let NodeKind::ByProduct { parent } = node.kind {
            self.check_parent(t, j, parent)?;
        }
        let again = t > 0;
        if t > self.instance.last_monet_stage_again(id) as usize {
            return Err(ReplayError::never_again(self.instance, t, id));
        }
        let mut cost = implementation.run_cost(again);
        let mut workspace = implementation.run_workspace_bytes(again);
        let in_place = self.schedule.in_place.get(t, j);
        if in_place {
            let Some(option) = &node.in_place else {
                return Err(self.error_at(t, j, |stage, node, node_name| {
                    ReplayError::NotInPlace {
                        stage,
                        node,
                        node_name,
                    }
                }));
            };
            cost = cost.saturating_add_signed(option.cost_delta);
            workspace = option.workspace_bytes;
            // A by-product of an in-place node is made together with it; the parent has overwritten
            // the buffer.
            if !matches!(node.kind, NodeKind::ByProduct { .. }) {
                self.check_present(t, j, option.on.index())?;
                self.memory.states[option.on.index()] = TensorState::OverwrittenBy(j);
            }
        }
        // A stored old copy is replaced by the new one; the passing list is charged separately in
        // full.
        let mut bytes = always + self.memory.bytes;
        if self.memory.charges[j] == Charge::Waiting {
            bytes -= node.output_bytes;
        }
        for u in &node.passing {
            if self.memory.charges[u.index()] == Charge::Kept {
                bytes -= self.instance.node(*u).output_bytes;
            }
        }
        bytes += node.output_bytes + self.passing_bytes(j);
        let bytes = bytes.saturating_add_signed(workspace);
        self.memory.states[j] = TensorState::Present;
        self.meter.cost += cost;
        self.meter.computations += 1;
        self.meter.sample(t, Some(id), bytes);
        Ok(())
    }

    fn check_present(&self, t: usize, reader: usize, i: usize) -> Result<(), ReplayError> {
        match self.memory.states[i] {
            TensorState::Present => Ok(()),
            TensorState::Absent => Err(ReplayError::MissingInput {
                stage: t,
                node: NodeId::from(reader),
                node_name: self.name(reader),
                missing: NodeId::from(i),
                missing_name: self.name(i),
            }),
            TensorState::OverwrittenBy(writer) => Err(ReplayError::Overwritten {
                stage: t,
                node: NodeId::from(i),
                node_name: self.name(i),
                writer: NodeId::from(writer),
                writer_name: self.name(writer),
                use_of: format!("node {reader} ({}) reads it", self.name(reader)),
            }),
        }
    }

    /// Checks that a by-product is made together with its parent (8), and in place exactly if the
    /// parent is (12). A by-product with equal costs in both modes has no option of its own and
    /// fits either mode.
    fn check_parent(&self, t: usize, j: usize, parent: NodeId) -> Result<(), ReplayError> {
        let matrix = &self.schedule.in_place;
        let together = self.schedule.computed.get(t, parent.index());
        let has_option = |i: usize| self.instance.node(NodeId::from(i)).in_place.is_some();
        let option = has_option(parent.index()) && has_option(j);
        let alike = matrix.get(t, j) == matrix.get(t, parent.index()) || !option;
        if together && alike {
            return Ok(());
        }
        Err(ReplayError::ByProductAlone {
            stage: t,
            node: NodeId::from(j),
            node_name: self.name(j),
            parent,
            parent_name: self.name(parent.index()),
            how: if together {
                "in place as its parent is, or not"
            } else {
                "computed"
            },
        })
    }

    /// Checks that every tensor stored by the next stage was held or computed in this one and not
    /// overwritten (4, 11).
    fn check_stored(&self, t: usize) -> Result<(), ReplayError> {
        for i in self.schedule.retained.ones(t + 1) {
            match self.memory.states[i] {
                TensorState::Present => {}
                TensorState::Absent => {
                    let make = |stage, node, node_name| ReplayError::NotThere {
                        stage,
                        node,
                        node_name,
                    };
                    return Err(self.error_at(t + 1, i, make));
                }
                TensorState::OverwrittenBy(writer) => {
                    return Err(ReplayError::Overwritten {
                        stage: t,
                        node: NodeId::from(i),
                        node_name: self.name(i),
                        writer: NodeId::from(writer),
                        writer_name: self.name(writer),
                        use_of: format!("stage {} stores it", t + 1),
                    });
                }
            }
        }
        Ok(())
    }

    /// Runs the backward node of a stage (18). Stage 0 ends with the loss, which ran at its turn.
    fn backward(&mut self, t: usize, reads: &[NodeId]) -> Result<(), ReplayError> {
        if t == 0 {
            return Ok(());
        }
        let id = NodeId::from(self.loss + t);
        let node = self.instance.node(id);
        for need in reads {
            let i = need.index();
            self.check_present(t, id.index(), i)?;
            if !self.schedule.computed.get(t, i) && !self.schedule.retained.get(t + 1, i) {
                return Err(ReplayError::NotHeld {
                    stage: t,
                    node: id,
                    node_name: node.name.clone(),
                    missing: *need,
                    missing_name: self.name(i),
                });
            }
        }
        // All turns are over: the inputs and the tensors stored by the next stage are charged now.
        let choice = self.schedule.backward_choice[t] as usize;
        let implementation = &node.implementations[choice];
        let bytes = self.memory.bytes
            + node.fixed_bytes
            + node.output_bytes
            + self.passing_bytes(id.index());
        let bytes = bytes.saturating_add_signed(implementation.workspace_bytes);
        self.meter.cost += implementation.cost;
        self.meter.computations += 1;
        self.meter.sample(t, Some(id), bytes);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
