//! Moves of the machine: the actions that may follow a state.
//!
//! Memory is freed only when it is short, by minimal sets of tensors or host buffers. A tensor that
//! could stay does no harm, and can be dropped once it does. A tensor without possible readers is
//! dropped immediately. A copy that would not start before the next computation has ended is left
//! to the pause after that computation. At full duplex, copies to the host precede copies back,
//! because this order can only make them earlier.

use super::Unfinished;
use super::label::{Action, MachineState, UnderWay};
use super::problem::ExactProblem;
use super::set::{Set, has, members, one};
use super::subsets::smallest_sets;
use std::ops::ControlFlow;

/// Continuation of a search, or its end.
pub(super) type Flow = ControlFlow<Unfinished>;

const ON: Flow = ControlFlow::Continue(());

/// Calls `take` with each useful action and the state after it, until `take` breaks.
pub(super) fn moves(
    p: &ExactProblem,
    s: &MachineState,
    take: &mut dyn FnMut(Action, MachineState) -> Flow,
) -> Flow {
    let Some(room) = p.room else { return ON };
    let next = usize::from(s.next);
    let take = &mut |action, mut state: MachineState| {
        finish(p, &mut state);
        take(action, state)
    };
    if next < p.nodes {
        compute(p, s, room, next, take)?;
    }
    let live = p.live[next];
    for k in members(p.again & live & !s.coming & super::set::before(next)) {
        let may = k >= usize::from(s.from) && next <= p.again_until[k];
        let may = may && p.parent[k].is_none_or(|d| has(s.ran, d));
        // A node whose tensor is present runs again only for a missing by-product.
        let of_use = !has(s.ready, k) || p.companions[k] & live & !s.present() != 0;
        if may && of_use {
            compute(p, s, room, k, take)?;
        }
    }
    let is_before = p.loss.is_none_or(|loss| next <= loss);
    if !s.is_fetching {
        let may = if is_before { Set::MAX } else { p.scattered };
        for r in members(s.ready & p.leaves & live & !s.host & may) {
            offload(p, s, r, take)?;
        }
    }
    let is_behind = p.loss.is_none_or(|loss| next > loss);
    let may = if is_behind { Set::MAX } else { p.gathered };
    for q in members(s.host & live & !s.present() & may & !p.scattered) {
        prefetch(p, s, room, q, take)?;
    }
    ON
}

/// Lets a state at the end wait for all scatters.
fn finish(p: &ExactProblem, state: &mut MachineState) {
    if p.is_end(state) && p.scattered != 0 {
        state.clock = state.gone(p.scattered);
        state.under_way.clear();
    }
}

/// Tensors that may be dropped: gradients only once their scatter has begun.
fn droppable(p: &ExactProblem, s: &MachineState) -> Set {
    s.ready & p.sized & !(p.scattered & !s.host)
}

/// Tensors of a set with their bytes.
fn items(p: &ExactProblem, set: Set) -> Vec<(u64, usize)> {
    members(set).map(|i| (p.bytes[i], i)).collect()
}

/// Runs a node.
fn compute(
    p: &ExactProblem,
    s: &MachineState,
    room: u64,
    k: usize,
    take: &mut dyn FnMut(Action, MachineState) -> Flow,
) -> Flow {
    let needs = p.needs[k];
    if needs & !s.present() != 0 {
        return ON;
    }
    let first = k == usize::from(s.next);
    let again = usize::from(!first);
    // A tensor that is present is dropped, and recomputed in its place.
    let with = s.present() | one(k);
    let held = p.sum(with) + p.workspace[k][again];
    let may_go = droppable(p, s) & !needs & !one(k);
    let read = s.coming & needs;
    let mut begin = s.clock;
    for i in members(read) {
        begin = begin.max(s.end(i, false));
    }
    if has(s.ready, k) {
        begin = begin.max(s.end(k, true));
    }
    if first && p.loss == Some(k) {
        begin = begin.max(s.gone(!p.scattered));
    }
    let next = usize::from(s.next) + usize::from(first);
    let live = p.live[next];
    let coming = s.coming & !needs;
    let mut host = s.host;
    if p.loss.is_some() {
        // A tensor comes back once; weights are always at home.
        host &= !read | p.gathered;
    }
    if coming & !live != 0 {
        return ON;
    }
    smallest_sets(
        items(p, may_go),
        held.saturating_sub(room),
        &mut |dropped| {
            let begin = begin.max(s.gone(dropped));
            let clock = begin.saturating_add(p.cost[k][again]);
            let mut under_way = Vec::with_capacity(s.under_way.len());
            for copy in s.under_way.iter().filter(|copy| copy.end >= clock) {
                let i = usize::from(copy.node);
                let time = p.times[i][usize::from(!copy.to_host)];
                let is_late = copy.end > clock && copy.end - time >= clock;
                let is_vain = copy.to_host && !has(live, i);
                if is_late || (is_vain && copy.end > clock) {
                    return ON;
                }
                if !is_vain && !has(read, i) {
                    under_way.push(*copy);
                }
            }
            let ran = match first {
                true => 0,
                false if p.companions[k] != 0 => s.ran | one(k),
                false => s.ran,
            };
            let mut ready = (s.ready | read | one(k)) & !dropped & live;
            for i in members(ready & p.scattered & host & !p.future[next]) {
                let is_under_way = |c: &UnderWay| usize::from(c.node) == i && c.end > clock;
                if !under_way.iter().any(is_under_way) {
                    ready &= !one(i);
                }
            }
            let state = MachineState {
                clock,
                ready,
                coming,
                host: host & live,
                ran,
                next: next as u8,
                from: if first { 0 } else { k as u8 + 1 },
                is_fetching: false,
                under_way,
            };
            let node = k as u8;
            take(Action::Compute { node, dropped }, state)
        },
    )
}

/// Copies a tensor to the host.
fn offload(
    p: &ExactProblem,
    s: &MachineState,
    r: usize,
    take: &mut dyn FnMut(Action, MachineState) -> Flow,
) -> Flow {
    let mut still = s.coming;
    for copy in s.under_way.iter().filter(|c| c.to_host && c.end > s.clock) {
        still |= one(copy.node.into());
    }
    let short = match p.host_room {
        u64::MAX => 0,
        room => p.host_sum(s.host | one(r)).saturating_sub(room),
    };
    let short = if has(p.scattered, r) { 0 } else { short };
    let end = s.free(true, p.half).saturating_add(p.times[r][0]);
    let may_go = s.host & !still & !p.gathered & !p.scattered;
    smallest_sets(items(p, may_go), short, &mut |released| {
        let mut state = s.clone();
        state.host = state.host & !released | one(r);
        state
            .under_way
            .retain(|copy| !has(released, copy.node.into()));
        state.under_way.push(UnderWay {
            node: r as u8,
            to_host: true,
            end,
        });
        let node = r as u8;
        take(Action::Offload { node, released }, state)
    })
}

/// Copies a tensor back.
fn prefetch(
    p: &ExactProblem,
    s: &MachineState,
    room: u64,
    q: usize,
    take: &mut dyn FnMut(Action, MachineState) -> Flow,
) -> Flow {
    let held = p.sum(s.present() | one(q));
    let may_go = droppable(p, s);
    smallest_sets(
        items(p, may_go),
        held.saturating_sub(room),
        &mut |dropped| {
            let mut state = s.clone();
            state.clock = s.gone(dropped);
            state.ready &= !dropped;
            let end = state.free(false, p.half).saturating_add(p.times[q][1]);
            let clock = state.clock;
            state.under_way.retain(|copy| copy.end >= clock);
            state.coming |= one(q);
            state.is_fetching = !p.half;
            state.under_way.push(UnderWay {
                node: q as u8,
                to_host: false,
                end,
            });
            let node = q as u8;
            take(Action::Prefetch { node, dropped }, state)
        },
    )
}
