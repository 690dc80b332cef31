//! Persistent sequences of chains by enumeration: what an exact search is compared with.

use remat_formulations::offload::chain::Action;

/// Value on the device, lowest first.
#[derive(Clone, Copy, PartialEq)]
enum Item {
    Plain { layer: usize, is_kept: bool },
    Saved { layer: usize },
}

/// All persistent sequences of a chain of so many stages, the loss among them, without copies.
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
    // Before the loss' forward step the backward phase has not begun.
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

/// A sequence with every set of copies of inputs before that of the loss.
///
/// # Panics
/// Where the sequence has no backward step of the loss.
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
