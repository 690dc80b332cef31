//! Capper: a sequence for more memory than there is, with inputs offloaded where it has too much
//! (POFO, section 5).
//!
//! Of rotor's sequence for a larger memory the step with the highest peak is found, and of the
//! inputs that are there then, not read by it, the lowest one is offloaded: it is away from the
//! step that made use of it until the first one that reads it again. That goes on until no step has
//! too much, as if copies took no time; the clocks add the idle time.
//!
//! Inputs leave in the forward phase and are back for the first step of the backward phase that
//! reads them, as everywhere here; what is recomputed does not leave.

use super::model::LinkedChain;
use super::sequence::{Action, ChainWalk};

/// The sequence of a larger memory with copies, such that it fits if copies take no time; `None`
/// where nothing is left that may leave.
pub(super) fn capped(
    chain: &LinkedChain,
    memory_bytes: u64,
    actions: &[Action],
) -> Option<Vec<Action>> {
    let last = chain.len().checked_sub(1)?;
    let turn = actions.iter().position(|&a| a == Action::Backward(last))?;
    let kept = |action: Action| match action {
        Action::SaveAll(stage) | Action::KeepInput(stage) if stage < last => Some(stage),
        _ => None,
    };
    // All inputs of the forward phase as if they left: each with the steps between which it is
    // away.
    let with_copies = |leaves: &dyn Fn(usize) -> bool| {
        let list = actions.iter().enumerate().flat_map(|(at, &action)| {
            let stage = kept(action).filter(|&stage| at < turn && leaves(stage));
            stage.map(Action::Offload).into_iter().chain([action])
        });
        list.collect::<Vec<Action>>()
    };
    let all = with_copies(&|_| true);
    let walk = ChainWalk::new(chain, &all).ok()?;
    let stages: Vec<usize> = all
        .iter()
        .filter_map(|&action| match action {
            Action::Offload(stage) => Some(stage),
            _ => None,
        })
        .collect();
    let mut needs: Vec<u64> = walk.steps.iter().map(|step| step.need_bytes).collect();
    let mut is_away = vec![false; chain.len()];
    loop {
        let (peak, &most) = needs.iter().enumerate().rev().max_by_key(|need| need.1)?;
        if most <= memory_bytes {
            return Some(with_copies(&|stage| is_away[stage]));
        }
        let moves = stages.iter().zip(&walk.moves);
        let (&stage, one) = moves
            .filter(|(stage, one)| {
                let is_between = one.leaves_with < peak && peak < one.back_for;
                !is_away[**stage] && one.bytes > 0 && is_between
            })
            .min_by_key(|(stage, _)| **stage)?;
        is_away[stage] = true;
        let end = one.back_for.min(needs.len());
        for need in &mut needs[one.leaves_with + 1..end] {
            *need -= one.bytes;
        }
    }
}
