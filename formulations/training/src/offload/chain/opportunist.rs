//! Opportunist: stages are offloaded when the link is free (POFO, section 5).
//!
//! The first stage saves all; its input and its saved tensors are offloaded. While the link is
//! busy, stages pass. The first stage that finds the link free is the next *head*, saved and
//! offloaded like the first. When the remaining stages fit beside the bytes that have not left yet,
//! all of them save. In the backward phase, the passed stages after each head are rerun by rotor.
//! The paper does not say in how much memory: all but the head, or all but the head and the next
//! head, which is on its way back.

use super::model::{Link, LinkedChain};
use super::recompute::Recomputation;
use super::sequence::Action;

/// Treatment of the next head's memory while the passed stages after a head are rerun.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum NextHead {
    IsCounted,
    IsNot,
}

/// Heads, and the stage from which on all stages save.
struct Groups {
    heads: Vec<usize>,
    rest: usize,
}

/// The sequence of opportunist; `None` if a step never fits.
pub(super) fn opportunist(
    chain: &LinkedChain,
    link: Link,
    memory_bytes: u64,
    recomputation: &Recomputation<'_>,
    next_head: NextHead,
) -> Option<Vec<Action>> {
    let groups = Forward::new(chain, link, memory_bytes).groups()?;
    let last = chain.len() - 1;
    let Groups { heads, rest } = &groups;
    let is_head = |stage: usize| heads.contains(&stage);
    let is_saved = |stage: usize| stage >= *rest || is_head(stage);
    let mut actions = Vec::new();
    for stage in 0..=last {
        let is_after_head = stage > 0 && is_head(stage - 1);
        let leaves = link.is_open() && stage < last && (is_head(stage) || is_after_head);
        if leaves {
            actions.push(Action::Offload(stage));
        }
        actions.push(if is_saved(stage) {
            Action::SaveAll(stage)
        } else if is_after_head {
            Action::KeepInput(stage)
        } else {
            Action::DropInput(stage)
        });
    }
    actions.extend((*rest..=last).rev().map(Action::Backward));
    let mut end = *rest;
    for (number, &head) in heads.iter().enumerate().rev() {
        if head + 1 < end {
            let stages = |k: usize| [k, k + 1].map(|stage| (stage, is_input_saved(&groups, stage)));
            let mut held: Vec<(usize, bool)> = stages(head).to_vec();
            if let (NextHead::IsCounted, Some(next)) = (next_head, number.checked_sub(1)) {
                held.extend(stages(heads[next]));
                held.dedup();
                held.sort_unstable();
                held.dedup();
            }
            let held = held
                .iter()
                .map(|&(stage, saved)| chain.input_bytes(stage, saved));
            let room = memory_bytes.checked_sub(held.sum())?;
            actions.extend(recomputation.part(head + 1, end - 1, room)?);
        }
        actions.push(Action::Backward(head));
        end = head;
    }
    Some(actions)
}

/// Returns whether the input of a stage is all that the stage before saved.
fn is_input_saved(groups: &Groups, stage: usize) -> bool {
    stage > 0 && groups.heads.contains(&(stage - 1))
}

/// The forward phase up to the stage from which on all stages save.
struct Forward<'a> {
    chain: &'a LinkedChain,
    link: Link,
    memory_bytes: u64,
    clock: f64,
    /// Bytes on their way, and the ends of their copies, in order.
    leaving: Vec<(u64, f64)>,
}

impl<'a> Forward<'a> {
    fn new(chain: &'a LinkedChain, link: Link, memory_bytes: u64) -> Self {
        Forward {
            chain,
            link,
            memory_bytes,
            clock: 0.0,
            leaving: Vec::new(),
        }
    }

    fn groups(mut self) -> Option<Groups> {
        let last = self.chain.len().checked_sub(1)?;
        let mut heads = Vec::new();
        for stage in 0..last {
            let is_after_head = heads.last().is_some_and(|&head| head + 1 == stage);
            let input = self.chain.input_bytes(stage, is_after_head);
            // The input after a head is on its way out, and in memory until it has been read.
            let others = self.leaving.len() - usize::from(is_after_head);
            if self.rest_bytes(stage) + input + self.bytes_leaving(others) <= self.memory_bytes {
                return Some(Groups { heads, rest: stage });
            }
            let here = &self.chain.stages[stage];
            if self.leaving.iter().all(|copy| copy.1 <= self.clock) {
                if !is_after_head {
                    self.leave(input);
                }
                self.wait(here.first.save_bytes + input, others)?;
                self.clock += here.forward_time;
                self.leave(here.saved_bytes);
                heads.push(stage);
            } else {
                let bytes = match is_after_head {
                    true => here.first.pass_bytes + input,
                    false => here.first.stream_bytes,
                };
                self.wait(bytes, others)?;
                self.clock += here.forward_time;
            }
        }
        Some(Groups { heads, rest: last })
    }

    /// Bytes of the incomplete copies among the first `copies`.
    fn bytes_leaving(&self, copies: usize) -> u64 {
        let open = self.leaving[..copies]
            .iter()
            .filter(|copy| copy.1 > self.clock);
        open.map(|copy| copy.0).sum()
    }

    /// Waits until `bytes` fit beside the first `copies` copies; `None` if they never fit.
    fn wait(&mut self, bytes: u64, copies: usize) -> Option<()> {
        for copy in 0..copies {
            if bytes + self.bytes_leaving(copies) <= self.memory_bytes {
                return Some(());
            }
            let end = Some(self.leaving[copy].1).filter(|end| end.is_finite());
            self.clock = self.clock.max(end?);
        }
        (bytes + self.bytes_leaving(copies) <= self.memory_bytes).then_some(())
    }

    /// Queues a copy.
    fn leave(&mut self, bytes: u64) {
        let free = self.leaving.last().map_or(0.0, |copy| copy.1);
        let time = if bytes > 0 {
            bytes as f64 / self.link.out
        } else {
            0.0
        };
        self.leaving.push((bytes, self.clock.max(free) + time));
    }

    /// Peak beside the input if all stages from `from` on save.
    fn rest_bytes(&self, from: usize) -> u64 {
        let (mut saved, mut peak) = (0, 0);
        for (stage, here) in self.chain.stages.iter().enumerate().skip(from) {
            let forward = match stage + 1 == self.chain.len() {
                true => here.close_forward_bytes,
                false => here.first.save_bytes,
            };
            peak = peak.max(saved + forward.max(here.backward_bytes));
            saved += here.saved_bytes;
        }
        peak
    }
}
