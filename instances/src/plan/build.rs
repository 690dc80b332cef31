//! Schedules to plans: Jain et al., MLSys 2020, Algorithm 1, and its counterpart for MONeT's
//! schedules.

use super::trace::{Trace, TraceRun};
use super::{Plan, Step};
use crate::Semantics;
use crate::instance::{Instance, NodeId, NodeKind};
use crate::schedule::{CheckmateSchedule, MonetSchedule};
use crate::simulate::{self, ReplayError};

impl Plan {
    /// The plan of a Checkmate schedule (Algorithm 1): stages in order, in each the computations in
    /// node order.
    ///
    /// Deallocations stand as early as they can: after the last statement that reads the value, or
    /// right after the computation where none does. So the plan costs what the schedule costs, and
    /// its peak is at most the schedule's. Where a stage recomputes a tensor that it also holds,
    /// later readers take the new value.
    ///
    /// # Errors
    /// The [`ReplayError`] of [`simulate::checkmate`] for a schedule that cannot be executed.
    pub fn from_checkmate(
        instance: &Instance,
        schedule: &CheckmateSchedule,
    ) -> Result<Self, ReplayError> {
        simulate::checkmate(instance, schedule)?;
        let computed = schedule.computed.by_row();
        let mut runs = Vec::with_capacity(schedule.computed.count_ones());
        for stage in 0..instance.len() {
            runs.extend(computed.row(stage).iter().map(|&i| TraceRun {
                node: NodeId(i),
                implementation: 0,
                in_place: false,
                stage,
            }));
        }
        Ok(Trace::resolve(instance, Semantics::Checkmate, runs)?.emit())
    }

    /// The plan of statements that run the first implementation of each node, with the memory of
    /// Checkmate's program.
    pub fn of_first_implementations(instance: &Instance, steps: Vec<Step>) -> Self {
        Plan {
            instance: instance.name().into(),
            semantics: Semantics::Checkmate,
            steps,
        }
    }

    /// The plan of computations in their order, each with the stage it belongs to: nodes may run
    /// first in any order that has their inputs. Every tensor is freed right after its last use;
    /// later readers take the newest value.
    ///
    /// # Errors
    /// [`ReplayError::MissingInput`] where an input was never computed.
    pub fn from_computations(
        instance: &Instance,
        computations: impl IntoIterator<Item = (usize, usize)>,
    ) -> Result<Self, ReplayError> {
        let runs = computations.into_iter().map(|(stage, i)| TraceRun {
            node: NodeId::from(i),
            implementation: 0,
            in_place: false,
            stage,
        });
        let trace = Trace::resolve(instance, Semantics::Checkmate, runs.collect())?;
        Ok(trace.emit())
    }

    /// The plan of a MONeT schedule: stage 0 runs the forward pass, every later stage recomputes
    /// and then runs one backward node (Shah et al., ICLR 2021, section 4), with the chosen
    /// implementations.
    ///
    /// A node computed in place takes over the register of the input that it overwrites.
    ///
    /// # Errors
    /// The [`ReplayError`] of [`simulate::monet`] for a schedule that cannot be executed.
    pub fn from_monet(instance: &Instance, schedule: &MonetSchedule) -> Result<Self, ReplayError> {
        simulate::monet(instance, schedule)?;
        let (stages, columns) = MonetSchedule::shape(instance).ok_or(ReplayError::NoLoss)?;
        let loss = columns - 1;
        let mut runs = Vec::new();
        for stage in 0..stages {
            for i in schedule.computed.ones(stage) {
                runs.push(TraceRun {
                    node: NodeId::from(i),
                    implementation: schedule.forward_choice.get(stage, i),
                    in_place: schedule.in_place.get(stage, i),
                    stage,
                });
            }
            if stage > 0 {
                runs.push(TraceRun {
                    node: NodeId::from(loss + stage),
                    implementation: schedule.backward_choice[stage],
                    in_place: false,
                    stage,
                });
            }
        }
        // A by-product that is said to be in place only follows its parent: it has a buffer of its
        // own.
        for run in &mut runs {
            run.in_place &= !matches!(instance.node(run.node).kind, NodeKind::ByProduct { .. });
        }
        let plan = Trace::resolve(instance, Semantics::Monet, runs)?.emit();
        simulate::plan(instance, &plan)?;
        Ok(plan)
    }

    /// The plan without dead computations: those whose value is freed without being read, and, to
    /// the fixpoint, those that were only read by them. What remains is freed right after its last
    /// use, so that cost and peak never rise.
    ///
    /// The first computation of a node stays even where its value is not read: it moves the
    /// frontier, on which the programs' bounds and MONeT's fixed memory rest. An optimised plan
    /// thus never costs less than the optimum of the program that its schedule is a solution of. A
    /// plan that copies to the host stays as it is.
    ///
    /// # Errors
    /// The [`ReplayError`] of [`simulate::plan`] for a plan that cannot be executed.
    pub fn optimised(&self, instance: &Instance) -> Result<Self, ReplayError> {
        simulate::plan(instance, self)?;
        if self.has_copies() {
            return Ok(self.clone());
        }
        let runs = self.runs().into_iter().enumerate();
        let runs: Vec<TraceRun> = runs
            .map(|(stage, run)| TraceRun {
                node: run.node,
                implementation: run.implementation,
                in_place: run.in_place,
                stage,
            })
            .collect();
        let trace = Trace::resolve(instance, self.semantics, runs)?;
        Ok(trace.without_dead_runs().emit())
    }
}
