//! Persistent sequences of chains by enumeration, as a reference for an exact search.

use remat_formulations::offload::chain::{Action, Link, LinkedChain};

/// Value on the device, lowest first.
#[derive(Clone, Copy, PartialEq)]
enum Item {
    Plain { layer: usize, is_kept: bool },
    Saved { layer: usize },
}

/// All persistent sequences of a chain of `stages` stages, the loss among them, without copies.
pub fn sequences(stages: usize) -> Vec<Vec<Action>> {
    let mut all = Vec::new();
    // Layers are counted from 1 here, the input of the chain is layer 0.
    let stack = vec![Item::Plain {
        layer: 0,
        is_kept: true,
    }];
    extend(stages, stages + 1, stack, Vec::new(), &mut all);
    all
}

fn extend(
    stages: usize,
    next_backward: usize,
    stack: Vec<Item>,
    actions: Vec<Action>,
    all: &mut Vec<Vec<Action>>,
) {
    // The backward phase starts after the loss' forward step.
    let is_forward = next_backward > stages;
    let b = next_backward.min(stages);
    if b == 0 {
        all.push(actions);
        return;
    }
    let top = *stack.last().unwrap();
    if top == (Item::Saved { layer: b }) {
        let (mut stack, mut actions) = (stack, actions);
        actions.push(Action::Backward(b - 1));
        stack.pop();
        if matches!(stack.last(), Some(Item::Plain { .. })) {
            stack.pop();
        }
        return extend(stages, b - 1, stack, actions, all);
    }
    let (layer, is_free) = match top {
        Item::Plain { layer, is_kept } => (layer, !is_kept),
        Item::Saved { layer } => (layer, false),
    };
    let l = layer + 1;
    let mut kept = stack.clone();
    if let Some(Item::Plain { is_kept, .. }) = kept.last_mut() {
        *is_kept = true;
    }
    let with = |stack: &[Item], item: Item, action: Action, actions: &[Action]| {
        ([stack, &[item]].concat(), [actions, &[action]].concat())
    };
    let (s, a) = with(
        &kept,
        Item::Saved { layer: l },
        Action::SaveAll(l - 1),
        &actions,
    );
    let next = if is_forward && l == stages {
        stages
    } else {
        next_backward
    };
    extend(stages, next, s, a, all);
    if l < b {
        let plain = Item::Plain {
            layer: l,
            is_kept: false,
        };
        let (s, a) = with(&kept, plain, Action::KeepInput(l - 1), &actions);
        extend(stages, next_backward, s, a, all);
        if is_free {
            let (s, a) = with(
                &stack[..stack.len() - 1],
                plain,
                Action::DropInput(l - 1),
                &actions,
            );
            extend(stages, next_backward, s, a, all);
        }
    }
}

/// A sequence with every set of copies of inputs before the loss' input.
///
/// # Panics
/// For a sequence without a backward step of the loss.
pub fn with_copies(actions: &[Action], stages: usize) -> Vec<Vec<Action>> {
    let turn = actions
        .iter()
        .position(|&a| a == Action::Backward(stages - 1))
        .unwrap();
    let kept: Vec<usize> = actions[..turn]
        .iter()
        .filter_map(|&a| match a {
            Action::SaveAll(l) | Action::KeepInput(l) if l + 1 < stages => Some(l),
            _ => None,
        })
        .collect();
    (0..1 << kept.len())
        .map(|set: u32| {
            let mut list = Vec::new();
            for (at, &action) in actions.iter().enumerate() {
                if let (true, Action::SaveAll(l) | Action::KeepInput(l)) = (at < turn, action) {
                    let place = kept.iter().position(|&k| k == l);
                    if place.is_some_and(|p| set >> p & 1 == 1) {
                        list.push(Action::Offload(l));
                    }
                }
                list.push(action);
            }
            list
        })
        .collect()
}

/// A value on the device.
#[derive(Clone, Copy)]
struct Value {
    number: usize,
    bytes: u64,
    /// The stage that made it; `None` for the input of the chain.
    stage: Option<usize>,
    is_saved: bool,
}

/// An operation with its time, and the bytes of all values that it needs, on the device or not.
struct Operation {
    time: f64,
    bytes: u64,
    /// The value that its stage reads.
    input: usize,
}

/// A value that leaves: the last operation that reads it before, and the first one that reads it
/// after.
struct Trip {
    number: usize,
    bytes: u64,
    before: usize,
    after: usize,
}

/// Makespan of a persistent sequence with each copy at once, first in, first out; `None` if it does
/// not fit.
///
/// # Panics
/// For a sequence that is not persistent.
pub fn at_once(
    chain: &LinkedChain,
    link: Link,
    memory_bytes: u64,
    actions: &[Action],
) -> Option<f64> {
    let (operations, trips, turn) = operations(chain, actions);
    let forward: Vec<&Operation> = operations[..turn].iter().collect();
    let backward: Vec<&Operation> = operations[turn..].iter().rev().collect();
    let count = operations.len();
    let out: Vec<(u64, usize, usize)> = trips
        .iter()
        .map(|t| (t.bytes, t.before, t.before))
        .collect();
    // In reversed time a value may be freed after its first reader.
    let mut back: Vec<(u64, usize, usize)> = trips
        .iter()
        .map(|t| (t.bytes, count - t.after, count - 1 - t.after))
        .collect();
    back.sort_by_key(|copy| copy.1);
    let total: f64 = operations.iter().map(|o| o.time).sum();
    let first = phase(&forward, &out, link.out, memory_bytes)?;
    let second = phase(&backward, &back, link.back, memory_bytes)?;
    Some(total + first + second)
}

/// Idle time of a phase, including the time after its last operation. A copy has bytes, the
/// operation with whose start it may begin, and the last operation that reads it.
fn phase(
    operations: &[&Operation],
    copies: &[(u64, usize, usize)],
    rate: f64,
    memory_bytes: u64,
) -> Option<f64> {
    let (mut clock, mut idle) = (0.0f64, 0.0);
    let mut ends: Vec<f64> = Vec::new();
    for k in 0..=operations.len() {
        for copy in &copies[ends.len()..] {
            if copy.1 <= k {
                let free = ends.last().copied().unwrap_or(0.0);
                ends.push(clock.max(free) + copy.0 as f64 / rate);
            } else {
                break;
            }
        }
        let Some(operation) = operations.get(k) else {
            break;
        };
        let fits = |at: f64| {
            let gone = copies.iter().zip(&ends);
            let gone = gone.filter(|(copy, end)| copy.2 < k && **end <= at);
            operation.bytes <= memory_bytes + gone.map(|(copy, _)| copy.0).sum::<u64>()
        };
        let moments = ends.iter().copied().filter(|&end| end > clock);
        let start = [clock].into_iter().chain(moments).find(|&at| fits(at))?;
        idle += start - clock;
        clock = start + operation.time;
    }
    let end = ends.last().copied().unwrap_or(0.0);
    Some(idle + (end - clock).max(0.0))
}

/// The operations, the values that leave, and the first operation of the backward phase.
fn operations(chain: &LinkedChain, actions: &[Action]) -> (Vec<Operation>, Vec<Trip>, usize) {
    let last = chain.len() - 1;
    let mut stack = vec![Value {
        number: 0,
        bytes: chain.input_bytes,
        stage: None,
        is_saved: true,
    }];
    let mut operations: Vec<Operation> = Vec::new();
    let mut trips: Vec<Trip> = Vec::new();
    let (mut numbers, mut gradient, mut turn) = (1, 0, usize::MAX);
    let mut has_run = vec![false; chain.len()];
    for (at, &action) in actions.iter().enumerate() {
        let held: u64 = stack.iter().map(|value| value.bytes).sum::<u64>() + gradient;
        let top = *stack.last().unwrap();
        let here = operations.len();
        let (stage, made, is_saved) = match action {
            Action::Offload(_) => {
                trips.push(Trip {
                    number: top.number,
                    bytes: top.bytes,
                    before: here,
                    after: usize::MAX,
                });
                continue;
            }
            Action::Prefetch(_) => continue,
            Action::Backward(l) => {
                let stage = &chain.stages[l];
                assert!(top.stage == Some(l) && top.is_saved);
                if l == last {
                    turn = here;
                }
                stack.pop();
                let input = *stack.last().unwrap();
                operations.push(Operation {
                    time: stage.backward_time,
                    bytes: held - gradient - stage.saved_bytes + stage.backward_bytes,
                    input: input.number,
                });
                if !input.is_saved {
                    stack.pop();
                }
                gradient = if l > 0 {
                    chain.stages[l - 1].gradient_bytes
                } else {
                    0
                };
                continue;
            }
            Action::SaveAll(l) => (l, chain.stages[l].saved_bytes, true),
            Action::KeepInput(l) | Action::DropInput(l) => (l, chain.stages[l].output_bytes, false),
        };
        let s = &chain.stages[stage];
        assert_eq!(top.stage.map_or(0, |k| k + 1), stage, "{action:?}");
        let is_first = !std::mem::replace(&mut has_run[stage], true);
        let closes = actions.get(at + 1) == Some(&Action::Backward(stage));
        let peaks = if is_first { s.first } else { s.again };
        let (time, bytes) = match action {
            Action::SaveAll(_) if closes => (s.close_time, held - gradient + s.close_forward_bytes),
            Action::SaveAll(_) => (s.save_time, held + peaks.save_bytes),
            Action::KeepInput(_) => (s.pass_time, held + peaks.pass_bytes),
            _ => (s.pass_time, held - top.bytes + peaks.stream_bytes),
        };
        if matches!(action, Action::DropInput(_)) {
            assert!(!top.is_saved);
            stack.pop();
        }
        operations.push(Operation {
            time: if is_first { s.forward_time } else { time },
            bytes,
            input: top.number,
        });
        stack.push(Value {
            number: numbers,
            bytes: made,
            stage: Some(stage),
            is_saved,
        });
        numbers += 1;
    }
    for trip in &mut trips {
        let readers = operations.iter().skip(turn);
        let first = readers.take_while(|o| o.input != trip.number).count();
        trip.after = turn + first;
    }
    (operations, trips, turn)
}
