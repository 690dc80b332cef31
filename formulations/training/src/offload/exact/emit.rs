//! Statements of a plan from the labels on its path.

use super::label::{Action, Label};
use super::problem::ExactProblem;
use super::set::{Set, has, members};
use remat_instances::instance::{Instance, NodeId};
use remat_instances::plan::{HostBuffer, Plan, Register, Step};

/// The plan that ends with a label, without copies to the host that never come back.
pub(super) fn plan_of(
    instance: &Instance,
    p: &ExactProblem,
    labels: &[Label],
    number: u32,
) -> Plan {
    let mut way = vec![number];
    while let Some(last) = way.last().filter(|last| **last != 0) {
        way.push(labels[*last as usize].parent);
    }
    way.reverse();
    let mut writer = Writer {
        register: vec![None; p.nodes],
        buffer: vec![None; p.nodes],
        registers: 0,
        is_used: Vec::new(),
        is_waited: Vec::new(),
        steps: Vec::new(),
    };
    for pair in way.windows(2) {
        let [before, after] = [pair[0], pair[1]].map(|l| &labels[l as usize]);
        match after.action {
            Action::Begin => {}
            Action::Compute { node, dropped } => {
                let (k, held) = (usize::from(node), before.state.present());
                writer.drop(dropped);
                if has(held, k) {
                    writer.drop(1 << k);
                }
                if p.loss == Some(k) && usize::from(before.state.next) == k {
                    // Copies to the host are complete when the loss starts.
                    members(before.state.host).for_each(|i| writer.wait(i));
                }
                writer.compute(k);
                let kept = after.state.present();
                writer.drop((held | 1 << k) & !dropped & !kept);
                writer.release(before.state.host & !after.state.host);
            }
            Action::Offload { node, released } => {
                writer.release(released);
                match has(p.scattered, node.into()) {
                    true => writer.scatter(node.into()),
                    false => writer.offload(node.into()),
                }
            }
            Action::Prefetch { node, dropped } => {
                writer.drop(dropped);
                match has(p.gathered, node.into()) {
                    true => writer.gather(node.into()),
                    false => writer.prefetch(node.into()),
                }
            }
        }
    }
    writer.drop(labels[number as usize].state.present());
    Plan::of_first_implementations(instance, writer.steps())
}

struct Writer {
    register: Vec<Option<Register>>,
    buffer: Vec<Option<HostBuffer>>,
    registers: u32,
    /// For each host buffer, true if a copy back reads it.
    is_used: Vec<bool>,
    is_waited: Vec<bool>,
    steps: Vec<Step>,
}

impl Writer {
    fn allocate(&mut self, i: usize) -> Register {
        let register = Register(self.registers);
        self.registers += 1;
        self.register[i] = Some(register);
        let node = NodeId::from(i);
        self.steps.push(Step::Allocate { register, node });
        register
    }

    fn compute(&mut self, k: usize) {
        let register = self.allocate(k);
        self.steps.push(Step::Compute {
            node: NodeId::from(k),
            register,
            implementation: 0,
        });
    }

    fn wait(&mut self, i: usize) {
        if let Some(buffer) = self.buffer[i]
            && !std::mem::replace(&mut self.is_waited[buffer.0 as usize], true)
        {
            self.steps.push(Step::Wait { buffer });
        }
    }

    fn drop(&mut self, set: Set) {
        for i in members(set) {
            self.wait(i);
            if let Some(register) = self.register[i].take() {
                self.steps.push(Step::Deallocate { register });
            }
        }
    }

    fn release(&mut self, set: Set) {
        for i in members(set) {
            self.wait(i);
            if let Some(buffer) = self.buffer[i].take() {
                self.steps.push(Step::Release { buffer });
            }
        }
    }

    fn offload(&mut self, i: usize) {
        let buffer = HostBuffer(self.is_used.len() as u32);
        self.is_used.push(false);
        self.is_waited.push(false);
        self.buffer[i] = Some(buffer);
        if let Some(register) = self.register[i] {
            self.steps.push(Step::Offload { register, buffer });
        }
    }

    fn prefetch(&mut self, i: usize) {
        if let Some(buffer) = self.buffer[i] {
            self.is_used[buffer.0 as usize] = true;
            let register = self.allocate(i);
            self.steps.push(Step::Prefetch { buffer, register });
        }
    }

    fn gather(&mut self, i: usize) {
        let (register, node) = (self.allocate(i), NodeId::from(i));
        self.steps.push(Step::Gather { register, node });
    }

    fn scatter(&mut self, i: usize) {
        if let Some(register) = self.register[i] {
            let node = NodeId::from(i);
            self.steps.push(Step::Scatter { register, node });
        }
    }

    /// The statements, without those about buffers that no copy back reads.
    fn steps(self) -> Vec<Step> {
        let is_used = |step: &Step| match step {
            Step::Offload { buffer, .. } | Step::Wait { buffer } | Step::Release { buffer } => {
                self.is_used[buffer.0 as usize]
            }
            _ => true,
        };
        self.steps.iter().copied().filter(is_used).collect()
    }
}
