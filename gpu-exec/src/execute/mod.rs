//! Runs a plan, statement by statement, and measures it.
//!
//! | file | concept |
//! |---|---|
//! | `machine.rs` | registers, and a statement's computation |
//! | `read.rs` | inputs of a computation: outputs, views of them, sums of gradients |
//! | `copies` | copies to the host and back |
//! | `arena.rs` | one storage for all tensors, at the plan's addresses |
//! | `parts.rs` | parts of an arena, and the bytes of them that a tensor uses |
//! | `isolated.rs` | every way to compute every node, alone, for a profile |

mod arena;
mod copies;
mod isolated;
mod machine;
mod parts;
mod read;

pub use arena::ArenaUse;
pub(crate) use copies::{Carrier, Direction, Pair, Streams};
pub use copies::{CopyUse, HostMemory};
pub(crate) use isolated::{Taken, Way, isolated};

use crate::device::Memory;
use crate::error::ExecError;
use crate::training::Training;
use arena::Arena;
use copies::Copies;
use machine::Machine;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::plan::{Plan, PlanAddresses, Step};
use remat_instances::zoo::Action;

/// Loss, time and memory of one training step.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The loss.
    pub loss: f64,
    /// Seconds of all computations; of an asynchronous step, from its begin to its end.
    pub seconds: f64,
    /// Memory of this training: its peak over all computations, and the bytes left at the end.
    /// Reserved bytes are the whole device's.
    pub memory: Memory,
    /// The computations, in order.
    pub computations: Vec<Computation>,
    /// Bytes of the arena, if it ran from one.
    pub arena: Option<ArenaUse>,
    /// Bytes and times of copies, if it ran with host memory.
    pub copies: Option<CopyUse>,
}

/// Time and memory of one computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computation {
    /// Index of the statement in the plan.
    pub step: usize,
    /// Node that was computed.
    pub node: NodeId,
    /// Seconds, until the device was done.
    pub seconds: f64,
    /// Bytes allocated before it, without the positions that its parent's run left for a
    /// by-product.
    pub before: u64,
    /// Bytes allocated at most while it ran.
    pub peak: u64,
    /// Bytes allocated after it.
    pub after: u64,
}

/// Runs one training step of a plan. Parameters do not change; [`Training::gradients`] has the
/// gradients.
///
/// Under Checkmate's semantics memory for all parameter gradients is reserved throughout, as the
/// program counts it. Under MONeT's semantics it is allocated when a gradient is made.
///
/// Implementations are distinguished by their inputs. Among algorithms with the same inputs
/// libtorch chooses.
///
/// # Errors
/// [`ExecError::Missing`] and [`ExecError::Register`] name the statement that reads an output that
/// was freed or never computed. [`ExecError::Unsupported`] for operations that the executor does
/// not run; [`ExecError::Copies`] for a plan that copies; [`ExecError::Torch`].
pub fn run(training: &mut Training, plan: &Plan) -> Result<Run, ExecError> {
    step(training, plan, None, None)
}

/// Runs one training step from one storage of the size of the plan's arena, each tensor as a view
/// at the offset of its address. `instance` has the sizes that the addresses are for: the
/// training's own instance, or a profile of it.
///
/// On the CPU kernels write their outputs to their places, and take scratch from the plan's
/// workspaces as far as it fits. On a GPU outputs are copied to their places. Parameters, batch,
/// gradients and statistics are in the plan's fixed memory as far as they fit. [`Run::arena`] has
/// the bytes in the arena and outside of it. With `checked` (on the CPU), freed parts are
/// overwritten, and all parts in use are checked after each computation. A step that reads freed
/// memory or changes a tensor that is not its own then has no valid result, or an error.
///
/// # Errors
/// As [`run`], and [`ExecError::Mismatch`] for addresses that are not the plan's, or that are too
/// small for a node.
pub fn run_in_arena(
    training: &mut Training,
    instance: &Instance,
    plan: &Plan,
    addresses: &PlanAddresses,
    checked: bool,
) -> Result<Run, ExecError> {
    let new = |training: &mut Training| Arena::new(training, instance, plan, addresses, checked);
    step(training, plan, Some(&new), None)
}

/// Runs one training step of a plan that copies tensors to the host and back, beside its
/// computations. With `addresses` it runs from one arena, as [`run_in_arena`] does. Host memory
/// does not count in [`Run::memory`]; [`Run::copies`] has its bytes, and the time in which
/// computations waited.
///
/// Times are comparable with a prediction if the host memory's link is the instance's. With
/// `checked`, released host buffers are overwritten as well.
///
/// # Errors
/// As [`run_in_arena`]; [`ExecError::Copy`] for a copy that failed, [`ExecError::Buffer`] for a
/// statement about a host buffer in the wrong state.
pub fn run_with_host(
    training: &mut Training,
    instance: &Instance,
    plan: &Plan,
    addresses: Option<&PlanAddresses>,
    host: &mut HostMemory,
    checked: bool,
) -> Result<Run, ExecError> {
    let copies = Copies::new(host, checked);
    let Some(addresses) = addresses else {
        return step(training, plan, None, Some(copies));
    };
    let new = |training: &mut Training| Arena::new(training, instance, plan, addresses, checked);
    step(training, plan, Some(&new), Some(copies))
}

/// Makes the arena of a step.
type Furnish<'a> = &'a dyn Fn(&mut Training) -> Result<Arena, ExecError>;

fn step<'a>(
    training: &'a mut Training,
    plan: &Plan,
    furnish: Option<Furnish<'_>>,
    copies: Option<Copies<'a>>,
) -> Result<Run, ExecError> {
    let _no_graph = tch::no_grad_guard();
    for (gradient, parameter) in training.gradients.iter_mut().zip(&training.parameters) {
        *gradient = None;
        if !plan.semantics.fixed_memory_follows_frontier() && furnish.is_none() {
            *gradient = Some(parameter.f_empty_like()?);
        }
    }
    // Memory that the caller holds beside this training does not belong to the plan.
    let foreign = (training.device.memory()?.current).saturating_sub(training.bytes());
    let arena = furnish.map(|new| new(training)).transpose()?;
    let mut machine = Machine::new(training);
    machine.arena = arena;
    machine.copies = copies;
    let ran = statements(&mut machine, plan, foreign);
    let used = machine.leave(ran.is_err());
    let mut run = ran?;
    let used = used?;
    run.arena = used.map(|used| ArenaUse {
        outside_bytes: run.memory.peak.saturating_sub(used.arena_bytes),
        ..used
    });
    Ok(run)
}

/// Runs the statements; `foreign` is the memory outside of the plan, in bytes.
fn statements(machine: &mut Machine<'_>, plan: &Plan, foreign: u64) -> Result<Run, ExecError> {
    let followed = followed_by_by_products(machine.training, plan);
    let mut run = Run::default();
    if let Some(copies) = &mut machine.copies {
        copies.begin(machine.training.asynchronous);
    }
    for (k, step) in plan.steps.iter().enumerate() {
        machine.step = k;
        match *step {
            Step::Allocate { register, node } => {
                if let Some(arena) = &mut machine.arena {
                    arena.allocate(register, k, node);
                }
            }
            Step::Deallocate { register } => machine.free(register)?,
            Step::Offload { register, buffer } => machine.offload(register, buffer)?,
            Step::Prefetch { buffer, register } => {
                machine.prefetch(buffer, register)?;
                let taken = machine.training.device.memory()?.current;
                run.memory.peak = run.memory.peak.max(taken.saturating_sub(foreign));
            }
            Step::Wait { buffer } => machine.copies()?.wait(k, buffer)?,
            Step::Release { buffer } => machine.copies()?.release(k, buffer)?,
            Step::Gather { .. } | Step::Scatter { .. } => {
                return Err(ExecError::Sharded { step: k });
            }
            Step::Compute {
                node,
                register,
                implementation,
            } => {
                machine.keep_positions = followed[k];
                machine.arrivals(node, register, implementation)?;
                let mut computation = machine.measured(node, register, implementation)?;
                for bytes in [
                    &mut computation.before,
                    &mut computation.peak,
                    &mut computation.after,
                ] {
                    *bytes = bytes.saturating_sub(foreign);
                }
                run.seconds += computation.seconds;
                run.memory.peak = run.memory.peak.max(computation.peak);
                run.memory.reserved = run.memory.reserved.max(machine.reserved);
                run.computations.push(computation);
            }
        }
    }
    if let Some(seconds) = machine.timed(&mut run.computations)? {
        run.seconds = seconds;
    }
    let memory = machine.training.device.memory()?;
    run.memory.current = memory.current.saturating_sub(foreign);
    run.copies = machine.copies.as_ref().map(Copies::done);
    run.loss = machine.loss();
    Ok(run)
}

/// For each statement, whether it runs an operator whose by-product is computed before the operator
/// runs again.
fn followed_by_by_products(training: &Training, plan: &Plan) -> Vec<bool> {
    let mut wanted = vec![false; training.node_of.len()];
    let mut followed = vec![false; plan.steps.len()];
    for (k, step) in plan.steps.iter().enumerate().rev() {
        let Step::Compute { node, .. } = step else {
            continue;
        };
        match training.program.actions.get(node.index()) {
            Some(Action::ByProduct { operation }) => wanted[*operation] = true,
            Some(Action::Forward { operation }) => {
                followed[k] = std::mem::replace(&mut wanted[*operation], false);
            }
            _ => {}
        }
    }
    followed
}
