//! Local search over orders of first fit.
//!
//! The height is made by stacks that reach the top. Only a buffer of such a stack is moved: to an
//! earlier place in the order, or behind another. A moved buffer is tabu for some moves, unless a
//! placement is the best so far.

use super::fit::{Fitter, Rule};
use super::search::LaneStop;
use remat_search::random::mix;

/// Numbers that tune the local search.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalTuning {
    /// Moves for which a moved buffer is tabu.
    pub tenure: u64,
    /// Moves without a better placement after which the search goes back to the best.
    pub patience: u64,
}

impl Default for LocalTuning {
    fn default() -> Self {
        LocalTuning {
            tenure: 12,
            patience: 60,
        }
    }
}

/// Improves a placement by its order, with so many placements by first fit, or until it is at most
/// `enough` bytes high.
pub(super) fn improve(
    fitter: &Fitter<'_>,
    start: &[u64],
    enough: u64,
    placements: u64,
    seed: u64,
    stop: &LaneStop<'_>,
) -> Vec<u64> {
    let tuning = LocalTuning::default();
    let mut best = start.to_vec();
    let mut best_height = fitter.height(&best);
    // A placement that is redone from below becomes no higher.
    let mut order = by_offset(start);
    let mut current = best.clone();
    let mut current_height = best_height;
    let mut tabu_until = vec![0; start.len()];
    let mut better_at = 0;
    for step in 1..=placements {
        if best_height <= enough || stop.is_over() {
            break;
        }
        let critical = fitter.critical(&current, current_height);
        let free: Vec<u32> = critical
            .iter()
            .copied()
            .filter(|&k| tabu_until[k as usize] <= step)
            .collect();
        let pool = if free.is_empty() { &critical } else { &free };
        let Some(moved) = pick(pool, mix(seed ^ mix(4 * step))) else {
            break;
        };
        let from = order.iter().position(|&k| k == moved).unwrap_or(0);
        let target = match mix(seed ^ mix(4 * step + 1)) % 4 {
            // Before a buffer that is in the way, or anywhere before.
            0 | 1 => {
                let before = critical
                    .iter()
                    .copied()
                    .filter(|&k| current[k as usize] < current[moved as usize]);
                let before: Vec<u32> = before.collect();
                let other = pick(&before, mix(seed ^ mix(4 * step + 2)));
                other
                    .and_then(|other| order.iter().position(|&k| k == other))
                    .unwrap_or(0)
            }
            2 => (mix(seed ^ mix(4 * step + 2)) % (from as u64 + 1)) as usize,
            _ => (mix(seed ^ mix(4 * step + 2)) % order.len() as u64) as usize,
        };
        let item = order.remove(from);
        order.insert(target.min(order.len()), item);
        tabu_until[moved as usize] = step + tuning.tenure;
        let offsets = fitter.place(&order, Rule::First);
        let height = fitter.height(&offsets);
        if height < best_height {
            (best, best_height, better_at) = (offsets.clone(), height, step);
        }
        // A little higher is allowed: plateaus and small hills are crossed.
        if height <= current_height + best_height / 64 {
            (current, current_height) = (offsets, height);
        } else {
            let item = order.remove(target.min(order.len() - 1));
            order.insert(from, item);
        }
        if step - better_at > tuning.patience {
            better_at = step;
            order = by_offset(&best);
            (current, current_height) = (best.clone(), best_height);
        }
    }
    best
}

fn by_offset(offsets: &[u64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..offsets.len() as u32).collect();
    order.sort_by_key(|&k| (offsets[k as usize], k));
    order
}

fn pick(pool: &[u32], random: u64) -> Option<u32> {
    pool.get((random % pool.len().max(1) as u64) as usize)
        .copied()
}
