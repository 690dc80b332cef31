//! The cheapest persistent schedule of a chain, by dynamic programming (rotor).
//!
//! Source: Beaumont, Eyraud-Dubois, Hermann, Joly, Shilova, "Optimal checkpointing for
//! heterogeneous chains: how to train deep neural networks with limited memory" (2019), theorem 1;
//! POFO (NeurIPS 2021), appendix B, restates it. In a *persistent* schedule, saved data (a
//! checkpoint or the intermediate data of a stage) stay until the backward step that reads them. No
//! earlier stage of the chain runs meanwhile.
//!
//! `C(s, t, m)` is the least cost of recomputation from the gradient of stage `t` to the gradient
//! of stage `s`. The input of `s` is in memory, and `m` bytes are free apart from it:
//!
//! ```text
//! C(t, t, m) = F_all^t and B^t at once
//! C(s, t, m) = min( F_all^s,  C(s+1, t, m - abar_s),  B^s,
//!                   min over s < s' <= t:  F_ck^s, F_none^{s+1} .. F_none^{s'-1},
//!                                          C(s', t, m - a_{s'-1}),  C(s, s'-1, m) )
//! ```
//!
//! each if the peaks of the operations fit into `m`. Subproblems that end in the last stage are the
//! first pass, which has no cost beyond the base cost; all others are recomputations. Memory is
//! counted in slots; sizes are rounded up and the budget down, so a schedule never exceeds the
//! budget. The table is filled diagonal by diagonal (`t - s`), each in parallel, without recursion.
//! Decisions are not stored: the ones on the path are recovered afterwards.

use super::NotApplicable;
use super::chain::{self, Chain, Operation, Stage, TrainingChain};
use rayon::prelude::*;
use remat_instances::instance::Instance;
use remat_instances::schedule::CheckmateSchedule;

/// Settings of [`solve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotorSettings {
    /// Number of memory slots, at least 1; rotor's own default is 500.
    pub slots: usize,
}

impl Default for RotorSettings {
    fn default() -> Self {
        RotorSettings { slots: 500 }
    }
}

/// Outcome of [`solve`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The cheapest persistent schedule for sizes rounded up to slots.
    Optimal(RotorSolution),
    /// No persistent schedule fits, with sizes rounded up to slots.
    Infeasible {
        /// Size of a slot in bytes: 1 means no rounding and an exact outcome.
        slot_bytes: u64,
    },
}

/// A persistent schedule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RotorSolution {
    /// The operations, in order.
    pub operations: Vec<Operation>,
    /// Optimum of the dynamic program: base cost plus recomputation.
    pub cost: u64,
    /// The part of `cost` that is recomputation.
    pub recompute_cost: u64,
    /// Size of a slot in bytes.
    pub slot_bytes: u64,
}

/// Reason why the dynamic program was not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The chain has no stage.
    #[error("the chain has no stage")]
    Empty,
    /// Costs too large to add up.
    #[error(
        "the costs of the chain add up to more than 2^62 when every stage is run as often as there are stages"
    )]
    CostsTooLarge,
    /// The table would not fit into memory.
    #[error(
        "the table for {stages} stages and {slots} slots has more than {limit} entries; use fewer slots"
    )]
    TooLarge {
        /// Number of stages.
        stages: usize,
        /// Number of slots.
        slots: usize,
        /// Largest number of entries.
        limit: usize,
    },
}

/// Largest number of table entries, 8 bytes each.
pub const LARGEST_TABLE: usize = 1 << 28;

/// Slots that are processed together.
const BLOCK: usize = 32;

/// Larger than any cost, small enough that three of them do not overflow.
const IMPOSSIBLE: u64 = u64::MAX / 4;

/// Finds the cheapest persistent schedule whose peak under the chain's model (fixed memory
/// included) is at most `budget_bytes`.
///
/// Time is O(stages^3 x slots) at worst. For each of the stages^2 / 2 subproblems, only memory
/// sizes are processed for which it is feasible and which are too small to save all stages.
///
/// # Errors
/// [`Error`] for an empty chain or a table that is too large.
pub fn solve(chain: &Chain, budget_bytes: u64, settings: RotorSettings) -> Result<Outcome, Error> {
    let stages = chain.len();
    if stages == 0 {
        return Err(Error::Empty);
    }
    let Some(free) = budget_bytes.checked_sub(chain.fixed_bytes) else {
        return Ok(Outcome::Infeasible { slot_bytes: 1 });
    };
    check_size(chain, settings.slots)?;
    let (slot_bytes, slots) = discretise(free, settings.slots);
    let table = RotorTable::fill(chain, slot_bytes, slots);
    let recompute_cost = table.at(0, stages - 1)[slots];
    if recompute_cost >= IMPOSSIBLE {
        return Ok(Outcome::Infeasible { slot_bytes });
    }
    Ok(Outcome::Optimal(RotorSolution {
        operations: table.operations(),
        cost: chain.base_cost() + recompute_cost,
        recompute_cost,
        slot_bytes,
    }))
}

/// A budget, fixed memory included, and settings with which [`solve`] finds a schedule. The budget
/// is the least one, up to rounding to slots of the memory that saving everything takes. The slots
/// returned are of the same size, but only as many as the budget has: finer ones round differently,
/// and might miss it.
///
/// # Errors
/// As for [`solve`].
pub fn least_budget(chain: &Chain, settings: RotorSettings) -> Result<(u64, RotorSettings), Error> {
    let Some(last) = chain.len().checked_sub(1) else {
        return Err(Error::Empty);
    };
    check_size(chain, settings.slots)?;
    let save_all: Vec<Operation> = (0..=last)
        .map(Operation::SaveAll)
        .chain((0..=last).rev().map(Operation::Backward))
        .collect();
    // Sizes are rounded up once per stage, so the table may need that many slots more.
    let free = chain::replay(chain, &save_all).map_or(0, |r| r.peak_bytes - chain.fixed_bytes);
    let (slot_bytes, slots) = discretise(free, settings.slots);
    let table = RotorTable::fill(chain, slot_bytes, slots + chain.len() + 1);
    let slots = table.feasible_from[last][0];
    let budget_bytes = chain.fixed_bytes + slots as u64 * slot_bytes;
    Ok((budget_bytes, RotorSettings { slots }))
}

/// Slot size and number of slots: all of them together are at most `free` bytes.
fn discretise(free: u64, slots: usize) -> (u64, usize) {
    let slot_bytes = free.div_ceil(slots.max(1) as u64).max(1);
    (slot_bytes, (free / slot_bytes) as usize)
}

fn check_size(chain: &Chain, slots: usize) -> Result<(), Error> {
    let stages = chain.len();
    let pairs = stages as u128 * (stages as u128 + 1) / 2;
    // `least_budget` uses up to one slot more per stage.
    if pairs * (slots as u128 + stages as u128 + 2) > LARGEST_TABLE as u128 {
        return Err(Error::TooLarge {
            stages,
            slots,
            limit: LARGEST_TABLE,
        });
    }
    let cost = |s: &Stage| {
        [
            s.forward_cost,
            s.backward_cost,
            s.pass_cost,
            s.save_cost,
            s.close_cost,
        ]
        .map(u128::from)
        .iter()
        .sum::<u128>()
    };
    if chain.stages.iter().map(cost).sum::<u128>() * stages as u128 > u128::from(IMPOSSIBLE) {
        return Err(Error::CostsTooLarge);
    }
    Ok(())
}

/// `C(s, t, m)` for all `s <= t` and all slots `m`.
struct RotorTable<'a> {
    stages: &'a [Stage],
    slot_bytes: u64,
    slots: usize,
    /// `saving[k]`: the least cost to have stages `0 .. k` saved or closed, each in a further run.
    saving: Vec<u64>,
    /// `diagonals[t - s]` holds the subproblems one after the other by `s`, `slots + 1` entries
    /// each.
    diagonals: Vec<Vec<u64>>,
    /// `feasible_from[t - s][s]`: the least `m` with a schedule (`slots + 1` if there is no such
    /// `m`).
    feasible_from: Vec<Vec<usize>>,
}

/// A way to start a subproblem.
enum RotorChoice {
    Save,
    Checkpoint { next: usize },
}

impl<'a> RotorTable<'a> {
    fn fill(chain: &'a Chain, slot_bytes: u64, slots: usize) -> Self {
        let n = chain.len();
        let mut saving = vec![0];
        for k in &chain.stages {
            saving.push(saving[saving.len() - 1] + k.save_cost.min(k.pass_cost + k.close_cost));
        }
        let mut table = RotorTable {
            stages: &chain.stages,
            slot_bytes,
            slots,
            saving,
            diagonals: Vec::with_capacity(n),
            feasible_from: Vec::with_capacity(n),
        };
        for d in 0..n {
            let mut diagonal = vec![IMPOSSIBLE; (n - d) * (slots + 1)];
            let feasible = diagonal
                .par_chunks_mut(slots + 1)
                .enumerate()
                .map(|(s, costs)| {
                    table.subproblem(s, s + d, costs);
                    costs.partition_point(|&c| c >= IMPOSSIBLE)
                })
                .collect();
            table.diagonals.push(diagonal);
            table.feasible_from.push(feasible);
        }
        table
    }

    fn at(&self, s: usize, t: usize) -> &[u64] {
        let width = self.slots + 1;
        &self.diagonals[t - s][s * width..(s + 1) * width]
    }

    fn in_slots(&self, bytes: u64) -> usize {
        let slots = bytes.div_ceil(self.slot_bytes);
        usize::try_from(slots)
            .unwrap_or(usize::MAX / 4)
            .min(usize::MAX / 4)
    }

    /// Returns whether the stretch ends in the last stage, so that its forward runs are first runs.
    fn is_first_pass(&self, t: usize) -> bool {
        t + 1 == self.stages.len()
    }

    /// `C(s, t, .)`, non-increasing in the memory. All shorter stretches are in the table.
    fn subproblem(&self, s: usize, t: usize, costs: &mut [u64]) {
        if s == t {
            let (least, cost) = self.close(t);
            if let Some(possible) = costs.get_mut(least..) {
                possible.fill(cost);
            }
            return;
        }
        let (least, shift, cost) = self.save(s, t);
        let rest = self.at(s + 1, t);
        for m in least.max(shift)..costs.len() {
            costs[m] = (cost + rest[m - shift]).min(IMPOSSIBLE);
        }
        // With this much memory, saving all stages is cheapest.
        let bound = self.lower_bound(s, t);
        let enough = costs.partition_point(|&c| c > bound);
        let mut walk = CheckpointWalk::new(self, s, t);
        for next in s + 1..=t {
            let (least, cost) = walk.advance(next);
            let shift = self.in_slots(self.stages[next - 1].output_bytes);
            if least >= enough {
                break;
            }
            let from = least
                .max(shift.saturating_add(self.feasible_from[t - next][next]))
                .max(self.feasible_from[next - 1 - s][s]);
            if from >= enough {
                continue;
            }
            let right = &self.at(next, t)[from - shift..enough - shift];
            let left = &self.at(s, next - 1)[from..enough];
            let best = &mut costs[from..enough];
            // All three fall with the memory. In a block of slots the candidate costs no less than
            // at its end, and the known cost is no more than at its start. Most blocks can be
            // skipped (docs/inside/decisions/060).
            for from in (0..best.len()).step_by(BLOCK) {
                let end = (from + BLOCK).min(best.len());
                if cost + right[end - 1] + left[end - 1] < best[from] {
                    let sources = right[from..end].iter().zip(&left[from..end]);
                    for (best, (r, l)) in best[from..end].iter_mut().zip(sources) {
                        *best = (*best).min(cost + r + l);
                    }
                }
            }
        }
    }

    /// `F_all^t`, `B^t`: the least slots, and the cost.
    fn close(&self, t: usize) -> (usize, u64) {
        let stage = &self.stages[t];
        let cost = if self.is_first_pass(t) {
            0
        } else {
            stage.close_cost
        };
        (self.in_slots(stage.close_bytes), cost)
    }

    /// `F_all^s` for a stretch that ends in `t`: the least slots, the slots it takes from the rest,
    /// and the cost.
    fn save(&self, s: usize, t: usize) -> (usize, usize, u64) {
        let stage = &self.stages[s];
        let (run, cost) = if self.is_first_pass(t) {
            (stage.first.save_bytes, 0)
        } else {
            (stage.again.save_bytes, stage.save_cost)
        };
        let forward = self.stages[t].gradient_bytes + run;
        let least = self.in_slots(forward.max(stage.backward_bytes));
        (least, self.in_slots(stage.saved_bytes), cost)
    }

    /// Lower bound on the cost of the stretch: each stage before `t` is saved at least once, or
    /// passed and then closed.
    fn lower_bound(&self, s: usize, t: usize) -> u64 {
        if self.is_first_pass(t) {
            return 0;
        }
        self.saving[t] - self.saving[s] + self.stages[t].close_cost
    }

    /// The first best way to start `C(s, t, m)`, which must be feasible, with `s < t`.
    fn choice(&self, s: usize, t: usize, m: usize) -> RotorChoice {
        let best = self.at(s, t)[m];
        let (least, shift, cost) = self.save(s, t);
        if m >= least.max(shift) && cost + self.at(s + 1, t)[m - shift] == best {
            return RotorChoice::Save;
        }
        let mut walk = CheckpointWalk::new(self, s, t);
        for next in s + 1..=t {
            let (least, cost) = walk.advance(next);
            let shift = self.in_slots(self.stages[next - 1].output_bytes);
            if m >= least.max(shift)
                && cost + self.at(next, t)[m - shift] + self.at(s, next - 1)[m] == best
            {
                return RotorChoice::Checkpoint { next };
            }
        }
        // The entry was made by one of the two loops above from the same numbers.
        unreachable!("entry ({s}, {t}, {m}) of the table has no origin")
    }

    /// The operations of the whole chain with all slots, which must be feasible.
    fn operations(&self) -> Vec<Operation> {
        enum Task {
            Stretch(usize, usize, usize),
            Backward(usize),
        }
        let mut list = Vec::new();
        let mut tasks = vec![Task::Stretch(0, self.stages.len() - 1, self.slots)];
        while let Some(task) = tasks.pop() {
            match task {
                Task::Backward(s) => list.push(Operation::Backward(s)),
                Task::Stretch(s, t, _) if s == t => {
                    list.extend([Operation::SaveAll(t), Operation::Backward(t)]);
                }
                Task::Stretch(s, t, m) => match self.choice(s, t, m) {
                    RotorChoice::Save => {
                        list.push(Operation::SaveAll(s));
                        let (_, shift, _) = self.save(s, t);
                        tasks.push(Task::Backward(s));
                        tasks.push(Task::Stretch(s + 1, t, m - shift));
                    }
                    RotorChoice::Checkpoint { next } => {
                        list.push(Operation::KeepInput(s));
                        list.extend((s + 1..next).map(Operation::DropInput));
                        let shift = self.in_slots(self.stages[next - 1].output_bytes);
                        tasks.push(Task::Stretch(s, next - 1, m));
                        tasks.push(Task::Stretch(next, t, m - shift));
                    }
                },
            }
        }
        list
    }
}

/// Follows `F_ck^s, F_none^{s+1}, ..` of a stretch that ends in `t`.
struct CheckpointWalk<'a> {
    table: &'a RotorTable<'a>,
    s: usize,
    t: usize,
    peak_bytes: u64,
    cost: u64,
}

impl<'a> CheckpointWalk<'a> {
    fn new(table: &'a RotorTable<'a>, s: usize, t: usize) -> Self {
        CheckpointWalk {
            table,
            s,
            t,
            peak_bytes: 0,
            cost: 0,
        }
    }

    /// Least slots and cost of making the input of stage `next`; to be called with
    /// `s + 1, s + 2, ..`.
    fn advance(&mut self, next: usize) -> (usize, u64) {
        let k = next - 1;
        let stage = &self.table.stages[k];
        let first = self.table.is_first_pass(self.t);
        let peaks = if first { stage.first } else { stage.again };
        let run = if k == self.s {
            peaks.pass_bytes
        } else {
            peaks.stream_bytes
        };
        self.peak_bytes = self.peak_bytes.max(run);
        if !first {
            self.cost += stage.pass_cost;
        }
        let held = self.table.stages[self.t].gradient_bytes;
        (self.table.in_slots(held + self.peak_bytes), self.cost)
    }
}

/// A solution for a training graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrainingSolution {
    /// The dynamic program's solution on the chain.
    pub chain: RotorSolution,
    /// The schedule of the graph: same cost, peak at most the budget.
    pub schedule: CheckmateSchedule,
}

/// Extracts the chain of a training graph and solves it; `None` if no persistent schedule fits.
///
/// # Errors
/// [`TrainingError`] if the graph has no chain, or the chain is too long.
pub fn solve_training(
    instance: &Instance,
    budget_bytes: u64,
    settings: RotorSettings,
) -> Result<Option<TrainingSolution>, TrainingError> {
    let training = chain::extract(instance)?;
    solve_chain(&training, budget_bytes, settings)
}

/// Solves as [`solve_training`] does, for a chain that was extracted before.
///
/// # Errors
/// [`TrainingError::Solve`] if the chain is too long for the slots.
pub fn solve_chain(
    training: &TrainingChain<'_>,
    budget_bytes: u64,
    settings: RotorSettings,
) -> Result<Option<TrainingSolution>, TrainingError> {
    match solve(training.chain(), budget_bytes, settings)? {
        Outcome::Infeasible { .. } => Ok(None),
        Outcome::Optimal(chain) => {
            let schedule = training.schedule(&chain.operations)?;
            Ok(Some(TrainingSolution { chain, schedule }))
        }
    }
}

/// Limit on the table work of [`run`]: stages cubed times slots. Some 2 s.
const TABLE_WORK_LIMIT: usize = 4_000_000_000;
/// Least number of slots of [`run`], for any length of the chain.
const SLOT_FLOOR: usize = 32;

/// The rotor schedule of a training graph with 500 slots (fewer on chains of more than about 200
/// stages). If no schedule fits the budget, it is the schedule of the least budget for which the
/// dynamic program finds one.
///
/// # Errors
/// [`NotApplicable`] if the graph has no chain, or one out of range.
pub fn run(instance: &Instance, budget_bytes: u64) -> Result<CheckmateSchedule, NotApplicable> {
    let training = chain::extract(instance)?;
    let stages = training.chain().len();
    let room = LARGEST_TABLE / (stages * (stages + 1) / 2);
    let affordable = (TABLE_WORK_LIMIT / (stages * stages * stages).max(1)).max(SLOT_FLOOR);
    let slots = RotorSettings::default()
        .slots
        .min(affordable)
        .min(room.saturating_sub(stages + 2))
        .max(1);
    let settings = RotorSettings { slots };
    let schedule = |solution: RotorSolution| {
        // The dynamic program's operations can be executed; the fallback is never taken.
        training
            .schedule(&solution.operations)
            .unwrap_or_else(|_| CheckmateSchedule::checkpoint_all(instance))
    };
    if let Outcome::Optimal(found) = solve(training.chain(), budget_bytes, settings)? {
        return Ok(schedule(found));
    }
    let (least, settings) = least_budget(training.chain(), settings)?;
    match solve(training.chain(), least, settings)? {
        Outcome::Optimal(found) => Ok(schedule(found)),
        Outcome::Infeasible { .. } => Ok(CheckmateSchedule::checkpoint_all(instance)),
    }
}

/// Reason why a training graph has no rotor schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrainingError {
    /// The graph is not a chain.
    #[error(transparent)]
    NoChain(#[from] chain::NoChain),
    /// The dynamic program was not run.
    #[error(transparent)]
    Solve(#[from] Error),
    /// The operations cannot be executed; this would be a defect of the dynamic program.
    #[error(transparent)]
    Operations(#[from] chain::OperationError),
}

#[cfg(test)]
mod tests;
