//! Rules for gathers of weights, as training stacks follow them (FSDP: Zhao et al., VLDB 2023).
//!
//! *Gather once* holds a weight from its first to its last reader (`reshard_after_forward=False`).
//! *Gather per layer* frees it whenever another weight is read in between
//! (`reshard_after_forward=True`). With *prefetch*, a gather is issued when the weight before it is
//! first read; without, when its own reader is due. Each gradient is scattered at once, and the one
//! before it is waited for. Recomputations come from the search for the memory that remains.

use super::clock::{NEVER, PlacedCopies};
use super::emit::emit;
use super::reserves::Reserves;
use super::sequence::{Sequence, Travel};
use crate::offload::CopyPhase;
use remat_instances::instance::Instance;
use remat_instances::plan::Plan;
use remat_instances::simulate::{self, Replay};
use remat_search::{Effort, Settings, SolveError};
use std::sync::atomic::{AtomicBool, Ordering};

/// A rule for the gathers of weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GatherRule {
    /// Its name.
    pub name: &'static str,
    /// True if a weight is freed between readers if another weight is read there.
    per_layer: bool,
    /// True if a gather is issued when the weight before it is first read.
    prefetch: bool,
}

/// All rules.
pub const GATHER_RULES: [GatherRule; 4] = [
    GatherRule {
        name: "gather-once",
        per_layer: false,
        prefetch: false,
    },
    GatherRule {
        name: "gather-once-prefetch",
        per_layer: false,
        prefetch: true,
    },
    GatherRule {
        name: "gather-per-layer",
        per_layer: true,
        prefetch: false,
    },
    GatherRule {
        name: "gather-per-layer-prefetch",
        per_layer: true,
        prefetch: true,
    },
];

/// Shares of the memory for weights that the recomputations leave free.
const SHARES: [f64; 5] = [0.0, 0.06, 0.25, 0.5, 1.0];

/// The fastest plan of each rule within a budget in bytes, in the order of [`GATHER_RULES`]; `None`
/// if no plan of a rule fits.
///
/// # Errors
/// [`SolveError`] of the solves for recomputations, and for an instance without a link whose costs
/// are times.
pub fn gather_rules(
    instance: &Instance,
    budget_bytes: u64,
    interrupt: &AtomicBool,
) -> Result<Vec<Option<(Plan, Replay)>>, SolveError> {
    let link = instance.host_link();
    let times = link.and_then(|link| link.times(instance.cost_unit()));
    let times = times.ok_or_else(|| SolveError::Inapplicable {
        formulation: "gathers".into(),
        instance: instance.name().into(),
        because: "it has no link (host_link) with copies in its unit of cost".into(),
    })?;
    let mut best: Vec<Option<(Plan, Replay)>> = vec![None; GATHER_RULES.len()];
    let mut reserves = Reserves::new(instance, budget_bytes);
    let settings = Settings {
        effort: Effort::Quick,
        ..Settings::default()
    };
    for share in SHARES {
        if interrupt.load(Ordering::Relaxed) {
            break;
        }
        let Some(budget) = reserves.budget(share, 0) else {
            break;
        };
        let outcome = reserves.solve(budget, &settings, &())?;
        let Some(schedule) = outcome.schedule else {
            continue;
        };
        let plan = reserves.plan(instance, &schedule)?;
        reserves.schedules.push(schedule);
        let sequence = Sequence::of(instance, &plan, &times, CopyPhase::Any)?;
        for (rule, best) in GATHER_RULES.iter().zip(&mut best) {
            let plan = rule.plan(&sequence);
            let Ok(replay) = simulate::plan(instance, &plan) else {
                continue;
            };
            let known = best.as_ref().map_or(u64::MAX, |(_, known)| known.makespan);
            if replay.peak_bytes <= budget_bytes && replay.makespan < known {
                *best = Some((plan, replay));
            }
        }
    }
    Ok(best)
}

impl GatherRule {
    /// The plan of the rule for computations in order.
    fn plan(&self, sequence: &Sequence) -> Plan {
        let n = sequence.len();
        let reads_weight = |k: usize| {
            let mut read = sequence.of.reads[k].iter();
            read.any(|value| sequence.travels(*value) == Some(Travel::Gather))
        };
        let mut weights_before = vec![0u32; n + 1];
        for k in 0..n {
            weights_before[k + 1] = weights_before[k] + u32::from(reads_weight(k));
        }
        let gaps = sequence.gaps.iter();
        let chosen: Vec<bool> = gaps
            .map(|gap| {
                let [from, to] = [gap.after as usize + 1, gap.before.min(n as u32) as usize];
                let others = weights_before[to] > weights_before[from.min(to)];
                gap.is_forced() || gap.travel == Travel::Gather && self.per_layer && others
            })
            .collect();
        let all = || {
            let all = sequence.gaps.iter().enumerate();
            all.filter(|(j, _)| chosen[*j])
        };
        let mut placed = PlacedCopies {
            freed: vec![NEVER; chosen.len()],
            issued: vec![NEVER; chosen.len()],
            ..PlacedCopies::default()
        };
        let mut gathers: Vec<(u32, u32, usize)> = all()
            .filter(|(_, gap)| gap.travel == Travel::Gather)
            .map(|(j, gap)| (gap.before, gap.after, j))
            .collect();
        gathers.sort_unstable();
        let mut previous = 0;
        for &(before, after, j) in &gathers {
            let issued = if self.prefetch { previous } else { before };
            placed.issued[j] = issued.max(after + 1);
            previous = before;
        }
        let mut scatters: Vec<(u32, usize)> = all()
            .filter(|(_, gap)| gap.travel == Travel::Scatter)
            .map(|(j, gap)| (gap.after + 1, j))
            .collect();
        scatters.sort_unstable();
        for (at, &(sent, j)) in scatters.iter().enumerate() {
            placed.sent.push((sent, j as u32));
            if let Some((next, _)) = scatters.get(at + 1) {
                placed.freed[j] = *next;
            }
        }
        emit(sequence, &chosen, &placed)
    }
}
