//! Conversion of schedules to plans: Jain et al., MLSys 2020, Algorithm 1, and its counterpart for
//! MONeT's schedules.

use super::trace::{Trace, TraceRun};
use super::{Plan, Step};
use crate::Semantics;
use crate::instance::{Instance, NodeId, NodeKind};
use crate::schedule::{CheckmateSchedule, MonetSchedule};
use crate::simulate::{self, ReplayError};

impl Plan {
    /// The plan of a Checkmate schedule (Algorithm 1): stages in order, and in each stage the
    /// computations in node order.
    ///
    /// Deallocations are as early as possible: after the last statement that reads the value, or
    /// right after the computation if there is no reader. So the plan has the cost of the schedule,
    /// and at most its peak. If a stage recomputes a tensor that it also holds, later readers use
    /// the new value.
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

    /// A plan from statements that run the first implementation of each node, under Checkmate's
    /// semantics.
    pub fn of_first_implementations(instance: &Instance, steps: Vec<Step>) -> Self {
        Plan {
            instance: instance.name().into(),
            semantics: Semantics::Checkmate,
            steps,
        }
    }

    /// A plan from computations in order, each with its stage. The first computations may be in any
    /// order in which inputs come first. Every tensor is freed right after its last use; later
    /// readers use the newest value.
    ///
    /// # Errors
    /// [`ReplayError::MissingInput`] if an input was never computed.
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

    /// The plan of a MONeT schedule, with the chosen implementations. Stage 0 runs the forward
    /// pass, and every later stage recomputes and then runs one backward node (Shah et al., ICLR
    /// 2021, section 4).
    ///
    /// A node computed in place takes over the register of the overwritten input.
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
        // A by-product marked as in place only follows its parent, since it has its own buffer.
        for run in &mut runs {
            run.in_place &= !matches!(instance.node(run.node).kind, NodeKind::ByProduct { .. });
        }
        let plan = Trace::resolve(instance, Semantics::Monet, runs)?.emit();
        simulate::plan(instance, &plan)?;
        Ok(plan)
    }

    /// The plan without dead computations. A computation is dead if its value is freed without
    /// being read, or only read by dead computations. Remaining values are freed right after their
    /// last use, so cost and peak never increase.
    ///
    /// The first computation of a node is kept even if its value is not read: it advances the
    /// frontier, on which the programs' bounds and MONeT's fixed memory depend. So an optimised
    /// plan never costs less than the optimum of its schedule's program. A plan with copies to the
    /// host is returned unchanged.
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
