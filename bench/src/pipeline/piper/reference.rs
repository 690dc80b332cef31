//! Piper's own plan: its dynamic program over downsets, without tensor and data parallelism.
//!
//! Piper minimises the time of the slowest stage (its "time per sample"). Of the plans that reach
//! that minimum the one of least objective counts here, so the comparison favours Piper.

use super::intervals::Intervals;
use remat_pipeline::path::IMPOSSIBLE;

/// Cuts of Piper's plan: positions from the begin to the end of the network.
pub type Positions = Vec<usize>;

/// Piper's plan with at most `stages` stages and `microbatches` micro-batches; `None` if no plan
/// fits.
pub fn plan(intervals: &Intervals<'_>, stages: u64, microbatches: u64) -> Option<Positions> {
    let slowest = backwards(intervals, stages, |time, rest| time.max(rest));
    let limit = *slowest.values.iter().min()?;
    if limit == IMPOSSIBLE {
        return None;
    }
    let sums = backwards(intervals, stages, |time, rest| match time <= limit {
        true => time.saturating_add(rest),
        false => IMPOSSIBLE,
    });
    let steady = (microbatches - 1).saturating_mul(limit);
    let objective = |&count: &usize| sums.values[count].saturating_add(steady);
    let is_found = |&count: &usize| sums.values[count] < IMPOSSIBLE;
    let count = (0..sums.values.len())
        .filter(is_found)
        .min_by_key(objective)?;
    let mut positions = vec![0];
    for left in (0..=count).rev() {
        positions.push(sums.next[left][*positions.last()?]);
    }
    Some(positions)
}

/// Values of the whole network by the number of stages less one, and the end of the first stage
/// from each position.
struct Table {
    values: Vec<u64>,
    next: Vec<Vec<usize>>,
}

/// Adds stages from the last one on: a stage with `k` stages from it to the end has `k`
/// micro-batches in flight.
fn backwards(intervals: &Intervals<'_>, stages: u64, add: impl Fn(u64, u64) -> u64) -> Table {
    let positions = intervals.positions();
    let mut after = vec![IMPOSSIBLE; positions];
    after[positions - 1] = 0;
    let mut table = Table {
        values: Vec::new(),
        next: Vec::new(),
    };
    for in_flight in 1..=stages {
        let mut now = vec![IMPOSSIBLE; positions];
        let mut next = vec![0; positions];
        for begin in 0..positions {
            for (end, &rest) in after.iter().enumerate().skip(begin + 1) {
                let time = intervals.times(in_flight, begin, end).piper;
                if time == IMPOSSIBLE || rest == IMPOSSIBLE {
                    continue;
                }
                let value = add(time, rest);
                if value < now[begin] {
                    (now[begin], next[begin]) = (value, end);
                }
            }
        }
        table.values.push(now[0]);
        table.next.push(next);
        after = now;
    }
    table
}
