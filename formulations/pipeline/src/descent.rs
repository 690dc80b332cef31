//! Cuts for several stages on a device: the slowest device counts, not the slowest stage.

use crate::path::{Cuts, IMPOSSIBLE, Outer};
use remat_instances::pipeline::schedule::Schedule;
use remat_instances::pipeline::timeline::objective;

/// The objective of an interleaved schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceObjective(pub Schedule);

impl DeviceObjective {
    /// The published objective of some cuts; [`IMPOSSIBLE`] if a stage is.
    pub fn of<T: Fn(usize, usize, usize) -> u64>(&self, outer: &Outer<'_, T>, at: &[usize]) -> u64 {
        let begins = std::iter::once(0).chain(at.iter().copied());
        let ends = at.iter().copied().chain([outer.points.len() - 1]);
        let mut times = vec![0u64; self.0.devices()];
        for (stage, (i, j)) in begins.zip(ends).enumerate() {
            let own = (outer.time)(stage, i, j);
            if own == IMPOSSIBLE {
                return IMPOSSIBLE;
            }
            times[self.0.device_of(stage)] += own;
        }
        let slowest = times.iter().copied().max().unwrap_or(0);
        let sent = at.iter().map(|&p| outer.points[p].sum).sum();
        let lane = at.iter().map(|&p| outer.points[p].lane).max().unwrap_or(0);
        objective(&self.0, times.iter().sum(), slowest, (sent, lane))
    }

    /// Moves one cut, or two neighbouring cuts together, as long as the objective falls.
    pub fn improved<T: Fn(usize, usize, usize) -> u64>(
        &self,
        outer: &Outer<'_, T>,
        cuts: Cuts,
    ) -> Cuts {
        let mut at = cuts.at;
        let mut best = self.of(outer, &at);
        loop {
            let before = best;
            for first in 0..at.len() {
                for count in 1..=2.min(at.len() - first) {
                    for shift in [-2isize, -1, 1, 2] {
                        let mut moved = at.clone();
                        for cut in &mut moved[first..first + count] {
                            *cut = cut.saturating_add_signed(shift);
                        }
                        let inside = [&[0], &moved[..], &[outer.points.len() - 1]].concat();
                        if inside.windows(2).any(|pair| pair[0] >= pair[1]) {
                            continue;
                        }
                        let objective = self.of(outer, &moved);
                        if objective < best {
                            (best, at) = (objective, moved);
                        }
                    }
                }
            }
            if best == before {
                let objective = best;
                return Cuts { at, objective };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::CutTime;
    use remat_instances::pipeline::schedule::ScheduleKind;

    #[test]
    fn a_slow_stage_is_paid_by_short_ones_on_its_device() {
        // Ten units of work, the last one three times as long, four stages on two devices.
        let work = [1u64, 1, 1, 1, 1, 1, 1, 1, 1, 3];
        let points = vec![CutTime::default(); 11];
        let outer = Outer {
            stages: 4,
            points: &points,
            steps: 1000,
            time: |_: usize, i: usize, j: usize| work[i..j].iter().sum::<u64>(),
        };
        let schedule = Schedule::new(ScheduleKind::Interleaved(2), 2, 8).unwrap();
        let objective = DeviceObjective(schedule);
        let start = Cuts {
            at: vec![3, 6, 8],
            objective: 0,
        };
        let before = objective.of(&outer, &start.at);
        let found = objective.improved(&outer, start);
        assert!(found.objective < before);
        // Both devices have half of the work.
        assert_eq!(found.objective, 6 * 8 + 3);
        assert_eq!(objective.of(&outer, &found.at), found.objective);
    }
}
