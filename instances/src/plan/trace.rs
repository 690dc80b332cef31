//! Shared steps of building plans: runs with resolved reads, and their statements.

use super::{Plan, Register, Step};
use crate::Semantics;
use crate::instance::{Instance, NodeId};
use crate::simulate::ReplayError;

/// One computation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TraceRun {
    pub node: NodeId,
    pub implementation: u16,
    /// True if it is computed into the buffer of the node's in-place input.
    pub in_place: bool,
    /// Stage of the schedule, for errors.
    pub stage: usize,
}

/// Computations in order, each with the computations whose values it reads.
pub(super) struct Trace<'a> {
    instance: &'a Instance,
    semantics: Semantics,
    runs: Vec<TraceRun>,
    /// Runs whose values each run reads, in the order of its inputs; the in-place source comes last
    /// if it is not an input.
    reads: Vec<Vec<u32>>,
    /// The run whose buffer each run overwrites.
    source: Vec<Option<u32>>,
    /// The run of a by-product's parent.
    parent: Vec<Option<u32>>,
}

impl<'a> Trace<'a> {
    /// Resolves every read to the newest value of its node.
    ///
    /// # Errors
    /// [`ReplayError::MissingInput`] if an input was never computed, or was overwritten in place.
    pub fn resolve(
        instance: &'a Instance,
        semantics: Semantics,
        runs: Vec<TraceRun>,
    ) -> Result<Self, ReplayError> {
        let n = instance.len();
        // The runs of each node with intact values, oldest first; a read uses the newest.
        let mut intact: Vec<Vec<u32>> = vec![Vec::new(); n];
        let mut latest: Vec<Option<u32>> = vec![None; n];
        let mut reads = Vec::with_capacity(runs.len());
        let mut source = Vec::with_capacity(runs.len());
        let mut parent = Vec::with_capacity(runs.len());
        for (k, run) in runs.iter().enumerate() {
            let node = instance.node(run.node);
            let missing = |input: NodeId| ReplayError::MissingInput {
                stage: run.stage,
                node: run.node,
                node_name: node.name.clone(),
                missing: input,
                missing_name: instance.node(input).name.clone(),
            };
            let find = |input: NodeId| {
                let newest = intact[input.index()].last().copied();
                newest.ok_or_else(|| missing(input))
            };
            let needs = &node.implementations[usize::from(run.implementation)].needs;
            let mut list = Vec::with_capacity(needs.len());
            for need in needs {
                list.push(find(*need)?);
            }
            let over = match &node.in_place {
                Some(option) if run.in_place => Some((option.on, find(option.on)?)),
                _ => None,
            };
            if let Some((on, value)) = over {
                intact[on.index()].pop();
                if !list.contains(&value) {
                    list.push(value);
                }
            }
            reads.push(list);
            source.push(over.map(|(_, value)| value));
            parent.push(node.parent().and_then(|parent| latest[parent.index()]));
            latest[run.node.index()] = Some(k as u32);
            intact[run.node.index()].push(k as u32);
        }
        Ok(Trace {
            instance,
            semantics,
            runs,
            reads,
            source,
            parent,
        })
    }

    /// Runs whose values each run reads.
    pub fn reads(&self) -> &[Vec<u32>] {
        &self.reads
    }

    /// The run whose value each run overwrites.
    pub fn overwrites(&self) -> &[Option<u32>] {
        &self.source
    }

    /// The parent's run for each run of a by-product.
    pub fn parents(&self) -> &[Option<u32>] {
        &self.parent
    }

    /// Drops runs whose value no live run reads, except for the first run of each node.
    ///
    /// Reads point backwards, so one pass from the end reaches the fixpoint.
    pub fn without_dead_runs(self) -> Self {
        let mut first = vec![true; self.instance.len()];
        let mut live: Vec<bool> = self
            .runs
            .iter()
            .map(|run| std::mem::replace(&mut first[run.node.index()], false))
            .collect();
        for k in (0..self.runs.len()).rev() {
            if live[k] {
                let held = self.reads[k].iter().copied().chain(self.parent[k]);
                held.for_each(|r| live[r as usize] = true);
            }
        }
        // New position of each run; runs that are read are all live.
        let mut target = Vec::with_capacity(live.len());
        let mut kept = 0u32;
        for alive in &live {
            target.push(kept);
            kept += u32::from(*alive);
        }
        let moved = |r: u32| target[r as usize];
        let alive = |k: &usize| live[*k];
        let all = 0..self.runs.len();
        Trace {
            instance: self.instance,
            semantics: self.semantics,
            reads: all
                .clone()
                .filter(alive)
                .map(|k| self.reads[k].iter().map(|r| moved(*r)).collect())
                .collect(),
            source: all
                .clone()
                .filter(alive)
                .map(|k| self.source[k].map(moved))
                .collect(),
            parent: all
                .clone()
                .filter(alive)
                .map(|k| self.parent[k].map(moved))
                .collect(),
            runs: all.filter(alive).map(|k| self.runs[k]).collect(),
        }
    }

    /// The statements, with every register freed right after the last read of its value.
    pub fn emit(&self) -> Plan {
        let mut last_read: Vec<Option<usize>> = vec![None; self.runs.len()];
        for (k, reads) in self.reads.iter().enumerate() {
            for r in reads {
                last_read[*r as usize] = Some(k);
            }
        }
        let mut register = Vec::with_capacity(self.runs.len());
        let mut registers = 0u32;
        let mut steps = Vec::with_capacity(3 * self.runs.len());
        for (k, run) in self.runs.iter().enumerate() {
            let source = self.source[k];
            let mine = match source {
                Some(r) => register[r as usize],
                None => {
                    let fresh = Register(registers);
                    registers += 1;
                    steps.push(Step::Allocate {
                        register: fresh,
                        node: run.node,
                    });
                    fresh
                }
            };
            register.push(mine);
            steps.push(Step::Compute {
                node: run.node,
                register: mine,
                implementation: run.implementation,
            });
            for r in &self.reads[k] {
                if last_read[*r as usize] == Some(k) && Some(*r) != source {
                    steps.push(Step::Deallocate {
                        register: register[*r as usize],
                    });
                }
            }
            if last_read[k].is_none() {
                steps.push(Step::Deallocate { register: mine });
            }
        }
        Plan {
            instance: self.instance.name().into(),
            semantics: self.semantics,
            steps,
        }
    }
}
