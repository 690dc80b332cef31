//! Statements of a sequence with its copies.

use super::clock::{NEVER, PlacedCopies};
use super::sequence::{Sequence, Travel};
use remat_instances::plan::{HostBuffer, Plan, Register, Step};

/// The plan of a sequence whose values are away in the chosen gaps, with the copies of `placed`.
pub(super) fn emit(sequence: &Sequence, chosen: &[bool], placed: &PlacedCopies) -> Plan {
    let n = sequence.len();
    // For each computation the gaps whose values are freed before it, and whose copies back are
    // issued before it.
    let (mut freed, mut issued) = (vec![Vec::new(); n + 1], vec![Vec::new(); n]);
    let mut sent = vec![Vec::new(); n + 1];
    let mut away = vec![Vec::new(); n];
    let mut released = vec![Vec::new(); n];
    let mut waits = vec![false; sequence.gaps.len()];
    let mut waited = vec![Vec::new(); n];
    for &(k, gap) in &placed.sent {
        match sequence.gaps[gap as usize].travel {
            Travel::Copies => sent[k as usize].push(gap),
            Travel::Gather => continue,
            Travel::Scatter => {
                sent[k as usize].push(gap);
                let at = placed.freed[gap as usize].min(n as u32);
                freed[at as usize].push(gap as usize);
                continue;
            }
        }
        let at = placed.freed[gap as usize];
        waits[gap as usize] = at != NEVER;
        // No later than the loss, if all copies must end before it.
        let at = sequence.barrier.map_or(at, |barrier| at.min(barrier));
        waited[at as usize].push(gap);
    }
    for (j, gap) in sequence.gaps.iter().enumerate().filter(|(j, _)| chosen[*j]) {
        if gap.travel == Travel::Scatter {
            continue;
        }
        match waits[j] {
            // A weight is at home before its first gather.
            false if gap.is_forced() => {}
            true => freed[placed.freed[j] as usize].push(j),
            false => away[gap.after as usize].push(gap.value as usize),
        }
        issued[placed.issued[j] as usize].push(j);
        let later = sequence.siblings(j).any(|other| other > j && chosen[other]);
        if !later && gap.travel == Travel::Copies {
            released[gap.before as usize].push(gap.value);
        }
    }
    for list in &mut issued {
        list.sort_by_key(|j| (sequence.gaps[*j].before, *j));
    }
    let mut writer = Writer {
        steps: Vec::with_capacity(3 * n + 5 * placed.sent.len()),
        registers: vec![Register(0); n],
        next: 0,
    };
    for k in 0..n {
        // With one lane for both directions, gathers go before scatters that nothing waits for.
        let is_late = |gap: &u32| {
            let travel = sequence.gaps[*gap as usize].travel;
            travel == Travel::Scatter && placed.freed[*gap as usize] as usize > k
        };
        let (late, due): (Vec<u32>, Vec<u32>) = sent[k].iter().partition(|gap| is_late(gap));
        writer.send(sequence, &due);
        for &gap in &waited[k] {
            let buffer = HostBuffer(sequence.gaps[gap as usize].value);
            writer.steps.push(Step::Wait { buffer });
        }
        for &j in &freed[k] {
            writer.free(sequence.gaps[j].value as usize);
        }
        for &j in &issued[k] {
            let value = sequence.gaps[j].value;
            let register = writer.allocate(sequence, value as usize);
            let node = sequence.of.runs[value as usize].node;
            let buffer = HostBuffer(value);
            writer.steps.push(match sequence.gaps[j].travel {
                Travel::Gather => Step::Gather { register, node },
                _ => Step::Prefetch { buffer, register },
            });
        }
        writer.send(sequence, &late);
        writer.compute(sequence, k);
        for &value in &away[k] {
            writer.free(value);
        }
        for &value in &released[k] {
            let buffer = HostBuffer(value);
            writer.steps.push(Step::Release { buffer });
        }
    }
    writer.send(sequence, &sent[n]);
    for &j in &freed[n] {
        writer.free(sequence.gaps[j].value as usize);
    }
    Plan {
        steps: writer.steps,
        instance: sequence.plan.instance.clone(),
        semantics: sequence.plan.semantics,
    }
}

struct Writer {
    steps: Vec<Step>,
    /// Register of each value.
    registers: Vec<Register>,
    next: u32,
}

impl Writer {
    fn allocate(&mut self, sequence: &Sequence, value: usize) -> Register {
        let register = Register(self.next);
        self.next += 1;
        self.registers[value] = register;
        let node = sequence.of.runs[value].node;
        self.steps.push(Step::Allocate { register, node });
        register
    }

    /// Starts copies to the host and scatters.
    fn send(&mut self, sequence: &Sequence, gaps: &[u32]) {
        for gap in gaps.iter().map(|gap| &sequence.gaps[*gap as usize]) {
            let register = self.registers[gap.value as usize];
            let node = sequence.of.runs[gap.value as usize].node;
            let buffer = HostBuffer(gap.value);
            self.steps.push(match gap.travel {
                Travel::Scatter => Step::Scatter { register, node },
                _ => Step::Offload { register, buffer },
            });
        }
    }

    fn free(&mut self, value: usize) {
        let register = self.registers[value];
        self.steps.push(Step::Deallocate { register });
    }

    /// Writes a computation, and frees the values that it is the last to read.
    fn compute(&mut self, sequence: &Sequence, k: usize) {
        if sequence.travels(k) == Some(Travel::Gather) {
            return;
        }
        // A gradient is freed once it is scattered.
        let is_last = |value: usize| {
            sequence.last[value] as usize == k && sequence.travels(value) != Some(Travel::Scatter)
        };
        let over = sequence.of.overwrites[k];
        let register = match over {
            Some(value) => self.registers[value],
            None => self.allocate(sequence, k),
        };
        self.registers[k] = register;
        let run = sequence.of.runs[k];
        self.steps.push(Step::Compute {
            node: run.node,
            register,
            implementation: run.implementation,
        });
        for &value in &sequence.of.reads[k] {
            if is_last(value) && Some(value) != over {
                self.free(value);
            }
        }
        if is_last(k) {
            self.free(k);
        }
    }
}
