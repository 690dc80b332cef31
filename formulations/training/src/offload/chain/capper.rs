//! Capper: a sequence for a larger memory, with inputs offloaded where it exceeds the given memory
//! (POFO, section 5).
//!
//! Capper takes rotor's sequence for a larger memory and finds the step with the highest peak.
//! Among the inputs held at that step and not read by it, it offloads the input of the lowest
//! stage. That input is away from the step that used it until the first step that reads it again.
//! This repeats until every step fits, as if copies took no time; the clocks add the idle time.
//!
//! As in the whole module, inputs leave in the forward phase and are back for the first step of the
//! backward phase that reads them. Recomputed values do not leave.

use super::model::LinkedChain;
use super::sequence::{Action, ChainWalk};

/// The sequence of a larger memory, with copies added until it fits if copies take no time; `None`
/// if no further input may leave.
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
    // The actions with copies of some inputs of the forward phase. With copies of all of them, the
    // walk gives the steps between which each is away.
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
