//! REVOLVE: optimal checkpointing of a chain with unit costs (Griewank and Walther, ACM TOMS 26(1),
//! 2000).
//!
//! A chain of `l` steps is reversed with `s` checkpoints, the initial state included. Let
//! `beta(s, r) = (s + r)! / (s! r!)`, and let the repetition number `r` satisfy
//! `beta(s, r - 1) < l <= beta(s, r)`. Then the least number of forward steps is
//! `r l - beta(s + 1, r - 1)`. Cutting the chain recursively at the states of [`split`] attains it.
//! With `s` of order `log l`, memory and overhead grow with `log l`.
//!
//! In a training graph state `k` is the output of the `k`-th forward node. State 0 is the network's
//! input, which is always in memory; the loss is the last step. Reversing step `k` means running
//! the backward node of forward node `k`. It reads state `k - 1` (and perhaps state `k`, which is
//! then kept from one step to the next). A checkpoint is placed when the chain that it cuts is
//! entered, and held until the step after it was reversed.

use super::retention::hold_gradients;
use super::training::TrainingGraph;
use super::{NotApplicable, checkpoint_all};
use remat_instances::instance::{Instance, NodeId, NodeKind};
use remat_instances::schedule::{CheckmateSchedule, StageRuns};
use remat_instances::simulate;
use remat_search::Patience;

/// Limit on the activations for which every number of slots is tried.
const EXHAUSTIVE_UP_TO: usize = 1_000;
/// In longer chains, one in so many slots is given up at a time.
const SLOTS_A_STEP: usize = 128;

/// REVOLVE with the largest number of slots whose schedule fits the budget or, if no schedule fits,
/// the schedule with the least peak over all numbers of slots.
///
/// The repetition number is optimal for unit costs and sizes; like the original, the heuristic
/// assumes both.
///
/// # Errors
/// [`NotApplicable`] without a backward pass, if the forward pass is not a chain, and if the time
/// ends before the first schedule.
pub fn run(
    instance: &Instance,
    budget_bytes: u64,
    patience: Patience<'_>,
) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    graph.require_chain()?;
    // If all tensors fit, no recomputation is needed for any number of slots.
    let everything = checkpoint_all::run(instance, budget_bytes)?;
    let replay = simulate::checkmate(instance, &everything);
    if replay.is_ok_and(|replay| replay.peak_bytes <= budget_bytes) {
        return Ok(everything);
    }
    let stages = stages_of_steps(&graph);
    let mut least: Option<(u64, CheckmateSchedule)> = None;
    for slots in numbers_of_slots(graph.activations().len()) {
        if patience.is_over() {
            break;
        }
        let cuts = checkpoints(graph.activations().len() as u64 + 1, slots as u64 + 1);
        // No replay is below the memory held while the last step of the forward pass runs.
        let bar = least
            .as_ref()
            .map_or(u64::MAX, |(peak, _)| (*peak).max(budget_bytes));
        if held_at_the_end(&graph, &stages, &cuts) > bar {
            continue;
        }
        let schedule = schedule_for(&graph, &stages, &cuts);
        let Ok(replay) = simulate::checkmate(instance, &schedule) else {
            continue;
        };
        if replay.peak_bytes <= budget_bytes {
            return Ok(schedule);
        }
        if least
            .as_ref()
            .is_none_or(|(peak, _)| replay.peak_bytes < *peak)
        {
            least = Some((replay.peak_bytes, schedule));
        }
    }
    match least {
        Some((_, schedule)) => Ok(schedule),
        None if patience.is_over() => Err(NotApplicable::OutOfTime),
        None => Ok(everything),
    }
}

/// Numbers of slots that are tried for a chain, falling: all, or for long chains in larger steps.
fn numbers_of_slots(length: usize) -> impl Iterator<Item = usize> {
    let step = match length {
        0..=EXHAUSTIVE_UP_TO => usize::MAX,
        _ => SLOTS_A_STEP,
    };
    let next = move |slots: &usize| slots.checked_sub((slots / step).max(1));
    std::iter::successors(Some(length), next)
}

/// The REVOLVE schedule of a chain for a number of slots: activations held besides those in use.
///
/// # Errors
/// [`NotApplicable`] without a backward pass, and if the forward pass is not a chain.
pub fn with_slots(instance: &Instance, slots: usize) -> Result<CheckmateSchedule, NotApplicable> {
    let graph = TrainingGraph::new(instance)?;
    graph.require_chain()?;
    let steps = graph.activations().len() as u64 + 1;
    let cuts = checkpoints(steps, slots as u64 + 1);
    Ok(schedule_for(&graph, &stages_of_steps(&graph), &cuts))
}

/// `beta(s, r)`: the largest number of steps that `s` checkpoints reverse with no step run more
/// than `r` times before its reversal; `u64::MAX` if it is larger.
pub fn beta(checkpoints: u64, repetitions: u64) -> u64 {
    let mut value: u128 = 1;
    for k in 1..=checkpoints.min(repetitions) as u128 {
        let larger = checkpoints.max(repetitions) as u128;
        value = value * (larger + k) / k;
        if value > u64::MAX as u128 {
            return u64::MAX;
        }
    }
    value as u64
}

/// The repetition number: the least `r` with `steps <= beta(checkpoints, r)`.
pub fn repetitions(steps: u64, checkpoints: u64) -> u64 {
    let mut r = 0;
    while beta(checkpoints, r) < steps {
        r += 1;
    }
    r
}

/// The least number of forward steps that reverse a chain of `steps` with `checkpoints`, the
/// initial state included (the closed form of Griewank and Walther). Both are at least 1.
pub fn forward_steps(steps: u64, checkpoints: u64) -> u64 {
    match repetitions(steps, checkpoints) {
        0 => 0,
        r => r * steps - beta(checkpoints + 1, r - 1),
    }
}

/// Place of the first checkpoint of an optimal reversal: the number of steps before it. `steps` and
/// `checkpoints` at least 2.
///
/// Optimal are all `m` with `beta(s, r - 2) <= m <= beta(s, r - 1)` and
/// `beta(s - 1, r - 1) <= l - m <= beta(s - 1, r)`; this is the largest.
pub fn split(steps: u64, checkpoints: u64) -> u64 {
    let r = repetitions(steps, checkpoints);
    beta(checkpoints, r - 1).min(steps - beta(checkpoints - 1, r - 1))
}

/// A checkpoint of a reversal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ReversalCheckpoint {
    /// The state it holds, from 1.
    state: u64,
    /// The step whose reversal places it: state `state` is stored on the way there. It is held
    /// until step `state + 1` was reversed.
    placed_for: u64,
}

/// All checkpoints of the reversal of a chain, apart from the initial state.
fn checkpoints(steps: u64, slots: u64) -> Vec<ReversalCheckpoint> {
    let mut found = Vec::new();
    let mut open = vec![(0, steps, slots)];
    while let Some((first, last, slots)) = open.pop() {
        if last - first < 2 || slots < 2 {
            continue;
        }
        let state = first + split(last - first, slots);
        found.push(ReversalCheckpoint {
            state,
            placed_for: last,
        });
        open.push((state, last, slots - 1));
        open.push((first, state, slots));
    }
    found
}

/// A lower bound on the memory in bytes when the last node before the backward pass runs.
fn held_at_the_end(
    graph: &TrainingGraph<'_>,
    stages: &[(usize, usize)],
    cuts: &[ReversalCheckpoint],
) -> u64 {
    let instance = graph.instance();
    let end = NodeId::from(graph.backward_start() - 1);
    let steps = graph.activations().len() as u64 + 1;
    let held: u64 = cuts
        .iter()
        .filter(|c| c.placed_for == steps)
        .map(|c| {
            (
                graph.activations()[c.state as usize - 1],
                stages[c.state as usize].1,
            )
        })
        // Certainly held: read by a backward node before the checkpoint is given up.
        .filter(|&(id, until)| {
            let first = graph.backward_users(id).first();
            id != end && first.is_some_and(|u| u.index() < until)
        })
        .map(|(id, _)| instance.node(id).output_bytes)
        .sum();
    held + instance.node(end).output_bytes + instance.static_bytes()
}

fn schedule_for(
    graph: &TrainingGraph<'_>,
    stages: &[(usize, usize)],
    cuts: &[ReversalCheckpoint],
) -> CheckmateSchedule {
    let instance = graph.instance();
    let activations = graph.activations();
    let (n, start) = (instance.len(), graph.backward_start());
    let steps = activations.len() + 1;
    let mut retained = StageRuns::new(n, n);
    for cut in cuts {
        let id = activations[cut.state as usize - 1];
        let from = match cut.placed_for as usize {
            b if b == steps => id.index() + 1,
            b => stages[b].0 + 1,
        };
        // Step `state + 1` reads it as its input; if step `state` reads it as its output, it stays
        // for one more.
        let (_, end) = stages[cut.state as usize];
        retained.fill(id.index(), from, end.saturating_sub(1));
    }
    for i in 0..start {
        let id = NodeId::from(i);
        if let Some(last) = graph.last_forward_user(id) {
            retained.fill(i, i + 1, last);
        }
        let users = graph.backward_users(id);
        let (Some(first), Some(last)) = (users.first(), users.last()) else {
            continue;
        };
        // Outputs and inputs of the last step, and tensors that are no state of the chain, stay.
        let is_state = instance.node(id).kind == NodeKind::Forward;
        let from = if is_state && Some(&id) != activations.last() {
            first.index()
        } else {
            i
        };
        retained.fill(i, from + 1, last.index());
    }
    hold_gradients(graph, &mut retained);
    CheckmateSchedule::tightest(instance, retained)
}

/// Stages in which each step `1..=steps` is reversed, as `(first, one past the last)`, index 0
/// unused. Step `steps` is the loss.
///
/// Backward nodes without a known twin belong to the step that is being reversed. A step without a
/// backward node has an empty range where its turn would be.
fn stages_of_steps(graph: &TrainingGraph<'_>) -> Vec<(usize, usize)> {
    let instance = graph.instance();
    let (n, start) = (instance.len(), graph.backward_start());
    let steps = graph.activations().len() + 1;
    let mut stages = vec![(n, n); steps + 1];
    let mut current = steps;
    stages[current].0 = start;
    for t in start..n {
        let NodeKind::Backward {
            forward: Some(twin),
            ..
        } = instance.node(NodeId::from(t)).kind
        else {
            continue;
        };
        let step = match graph.activations().binary_search(&twin) {
            Ok(k) => k + 1,
            Err(_) => continue,
        };
        while current > step {
            stages[current].1 = t;
            current -= 1;
            stages[current].0 = t;
        }
    }
    stages
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baselines::fixtures::{Reads, any_chain, uniform_chain};
    use proptest::prelude::*;

    /// Least forward steps by dynamic programming over the place of the first checkpoint.
    fn by_dynamic_programming(largest: usize) -> Vec<Vec<u64>> {
        let mut t = vec![vec![0u64; largest + 1]; largest + 1];
        for l in 2..=largest as u64 {
            t[1][l as usize] = l * (l - 1) / 2;
        }
        for s in 2..=largest {
            for l in 2..=largest {
                t[s][l] = (1..l)
                    .map(|m| m as u64 + t[s][m] + t[s - 1][l - m])
                    .min()
                    .unwrap();
            }
        }
        t
    }

    #[test]
    fn closed_form_and_split_are_optimal() {
        let best = by_dynamic_programming(60);
        for s in 1..=60u64 {
            for l in 1..=60u64 {
                let steps = forward_steps(l, s);
                assert_eq!(
                    steps, best[s as usize][l as usize],
                    "{l} steps, {s} checkpoints"
                );
                if s > 1 && l > 1 {
                    let m = split(l, s);
                    let parts = m + forward_steps(m, s) + forward_steps(l - m, s - 1);
                    assert_eq!(parts, steps, "{l} steps, {s} checkpoints, split at {m}");
                }
            }
        }
    }

    #[test]
    fn values_of_beta_and_of_the_step_count_by_hand() {
        assert_eq!(beta(4, 3), 35);
        assert_eq!(beta(3, 3), 20);
        // 10 = beta(3, 2) steps with 3 checkpoints: 2 * 10 - beta(4, 1).
        assert_eq!(forward_steps(10, 3), 15);
        assert_eq!(beta(500, 500), u64::MAX);
    }

    #[test]
    fn forward_computations_of_unit_chains_are_the_closed_form() {
        for length in 1..=40usize {
            let instance = uniform_chain(length, Reads::Input);
            for slots in 0..=length {
                let schedule = with_slots(&instance, slots).unwrap();
                simulate::checkmate(&instance, &schedule).unwrap();
                let forward: usize = (0..instance.len())
                    .map(|t| schedule.computed.ones(t).filter(|&i| i < length).count())
                    .sum();
                let expected = forward_steps(length as u64 + 1, slots as u64 + 1);
                assert_eq!(forward as u64, expected, "length {length}, {slots} slots");
                for t in length + 1..instance.len() {
                    let held = schedule.retained.ones(t).filter(|&i| i < length).count();
                    assert!(held <= slots, "stage {t} holds {held} of {slots}");
                }
            }
        }
    }

    #[test]
    fn logarithmic_slots_give_logarithmic_overhead() {
        let length = 255;
        let instance = uniform_chain(length, Reads::Input);
        let schedule = with_slots(&instance, 7).unwrap();
        let replay = simulate::checkmate(&instance, &schedule).unwrap();
        // beta(8, 3) = 165 < 256 <= beta(8, 4) = 495: each step runs 4 times at most.
        assert_eq!(
            replay.cost - instance.base_cost(),
            4 * 256 - beta(9, 3) - length as u64
        );
        assert!(replay.peak_bytes <= 7 + 4);
    }

    proptest! {
        #[test]
        fn the_largest_fitting_number_of_slots_is_chosen(
            instance in any_chain(),
            percent in 20u64..110,
        ) {
            let all = CheckmateSchedule::checkpoint_all(&instance);
            let budget = simulate::checkmate(&instance, &all).unwrap().peak_bytes * percent / 100;
            let found = run(&instance, budget, Patience::ENDLESS).unwrap();
            let peak = |s: &CheckmateSchedule| simulate::checkmate(&instance, s).unwrap().peak_bytes;
            let length = (instance.len() - 1) / 2;
            let schedules: Vec<_> =
                (0..=length).rev().map(|c| with_slots(&instance, c).unwrap()).collect();
            match schedules.iter().find(|s| peak(s) <= budget) {
                Some(largest) => prop_assert_eq!(largest, &found),
                None => prop_assert_eq!(schedules.iter().map(peak).min(), Some(peak(&found))),
            }
        }
    }
}
