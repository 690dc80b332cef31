//! Replay of a pipeline's schedule, event by event.

use super::profile::StageProfile;
use super::schedule::{Pass, Schedule};

/// Times of the sends over one cut for one micro-batch, in units of cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SendTimes {
    /// Activations, to the next stage.
    pub forward: u64,
    /// Gradients, to the stage before.
    pub backward: u64,
}

/// A pass with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedPass {
    /// The pass.
    pub pass: Pass,
    /// Time at its start, in units of cost.
    pub start: u64,
    /// Time at its end.
    pub end: u64,
}

/// The passes of all devices with their times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timeline {
    /// Passes of each device in order.
    pub devices: Vec<Vec<TimedPass>>,
    /// Time of the last end.
    pub makespan: u64,
}

impl Timeline {
    /// Time in which a device runs passes, in units of cost.
    pub fn busy(&self, device: usize) -> u64 {
        let passes = self.devices[device].iter();
        passes.map(|pass| pass.end - pass.start).sum()
    }
}

/// Times of the passes of a stage, in units of cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PassTimes {
    /// Forward pass.
    pub forward: u64,
    /// Backward pass, recomputations included.
    pub backward: u64,
}

impl PassTimes {
    /// Both passes together.
    pub fn both(&self) -> u64 {
        self.forward + self.backward
    }
}

/// Replays a schedule. A pass starts once its device is free and what it receives has arrived. Each
/// cut has a lane in each direction, which sends one micro-batch after the other.
///
/// `times` has one entry a stage, `sends` one a cut between neighbouring stages.
///
/// # Panics
/// If the lists have other lengths.
pub fn timeline(schedule: &Schedule, times: &[PassTimes], sends: &[SendTimes]) -> Timeline {
    let (stages, count) = (schedule.stages(), schedule.microbatches() as usize);
    assert_eq!((times.len(), sends.len()), (stages, stages - 1));
    let mut arrival = Arrivals::new(stages, count);
    let passes: Vec<Vec<Pass>> = (0..schedule.devices())
        .map(|device| schedule.passes(device))
        .collect();
    let mut devices: Vec<Vec<TimedPass>> = vec![Vec::new(); passes.len()];
    let mut moved = true;
    while moved {
        moved = false;
        for (list, done) in passes.iter().zip(&mut devices) {
            while let Some(pass) = list.get(done.len()) {
                let Some(ready) = arrival.of(pass) else {
                    break;
                };
                let free = done.last().map_or(0, |last| last.end);
                let start = ready.max(free);
                let own = &times[pass.stage];
                let end = start
                    + match pass.backward {
                        true => own.backward,
                        false => own.forward,
                    };
                arrival.send(pass, end, sends);
                done.push(TimedPass {
                    pass: *pass,
                    start,
                    end,
                });
                moved = true;
            }
        }
    }
    let ends = devices.iter().filter_map(|done| done.last());
    let makespan = ends.map(|last| last.end).max().unwrap_or(0);
    Timeline { devices, makespan }
}

/// Times at which tensors arrive.
struct Arrivals {
    stages: usize,
    /// `[stage][microbatch]`: arrival of activations, and of gradients; `None` before they are sent.
    forward: Vec<Vec<Option<u64>>>,
    backward: Vec<Vec<Option<u64>>>,
    /// Time at which the lanes of each cut are free.
    free: Vec<[u64; 2]>,
}

impl Arrivals {
    fn new(stages: usize, count: usize) -> Self {
        let none = || vec![vec![None; count]; stages];
        let mut forward = none();
        forward[0].fill(Some(0));
        Arrivals {
            stages,
            forward,
            backward: none(),
            free: vec![[0; 2]; stages.saturating_sub(1)],
        }
    }

    fn of(&self, pass: &Pass) -> Option<u64> {
        let lists = match pass.backward {
            true => &self.backward,
            false => &self.forward,
        };
        lists[pass.stage][pass.microbatch as usize]
    }

    fn send(&mut self, pass: &Pass, end: u64, sends: &[SendTimes]) {
        let (stage, m) = (pass.stage, pass.microbatch as usize);
        match pass.backward {
            // The loss is on the last stage: its backward pass may follow.
            false if stage + 1 == self.stages => self.backward[stage][m] = Some(end),
            false => {
                let lane = &mut self.free[stage][0];
                *lane = end.max(*lane) + sends[stage].forward;
                self.forward[stage + 1][m] = Some(*lane);
            }
            true if stage == 0 => {}
            true => {
                let lane = &mut self.free[stage - 1][1];
                *lane = end.max(*lane) + sends[stage - 1].backward;
                self.backward[stage - 1][m] = Some(*lane);
            }
        }
    }
}

/// Memory of a device over a span of time, without its fixed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemorySpan {
    /// The pass that runs; `None` if the device is idle.
    pub pass: Option<Pass>,
    /// Time at its begin, in units of cost.
    pub start: u64,
    /// Time at its end.
    pub end: u64,
    /// Saved bytes of the micro-batches that wait between their passes.
    pub waiting_bytes: u64,
    /// Largest memory of the pass that runs; 0 without one.
    pub running_bytes: u64,
}

impl MemorySpan {
    /// Both together.
    pub fn bytes(&self) -> u64 {
        self.waiting_bytes + self.running_bytes
    }
}

/// The saved bytes that wait on a device, pass by pass.
struct Waiting<'p> {
    profiles: &'p [StageProfile],
    bytes: u64,
}

impl Waiting<'_> {
    /// Memory while the next pass runs: bytes that wait beside it, and its own.
    fn run(&mut self, pass: &Pass) -> (u64, u64) {
        let own = &self.profiles[pass.stage];
        match pass.backward {
            true => {
                self.bytes -= own.saved_bytes;
                (self.bytes, own.backward_bytes)
            }
            false => {
                let beside = self.bytes;
                self.bytes += own.saved_bytes;
                (beside, own.forward_bytes)
            }
        }
    }
}

/// Largest memory of a device in bytes: its fixed memory, the pass that runs, and the saved bytes of
/// each micro-batch that waits between its passes.
///
/// `profiles` has one entry a stage of the pipeline.
pub fn device_peak(
    schedule: &Schedule,
    device: usize,
    fixed_bytes: u64,
    profiles: &[StageProfile],
) -> u64 {
    let mut waiting = Waiting { profiles, bytes: 0 };
    let passes = schedule.passes(device);
    let spans = passes.iter().map(|pass| {
        let (beside, running) = waiting.run(pass);
        beside + running
    });
    fixed_bytes + spans.max().unwrap_or(0)
}

/// Memory of a device over the time of a schedule: a span for each pass, and for each time in which
/// the device is idle. The largest span and the fixed memory are the peak of [`device_peak`].
///
/// `profiles` has one entry a stage of the pipeline.
pub fn device_memory(
    timeline: &Timeline,
    device: usize,
    profiles: &[StageProfile],
) -> Vec<MemorySpan> {
    let mut waiting = Waiting { profiles, bytes: 0 };
    let mut spans: Vec<MemorySpan> = Vec::new();
    let mut clock = 0;
    let idle = |start: u64, end: u64, waiting_bytes: u64| {
        let span = MemorySpan {
            pass: None,
            start,
            end,
            waiting_bytes,
            running_bytes: 0,
        };
        Some(span).filter(|span| span.end > span.start)
    };
    for timed in &timeline.devices[device] {
        spans.extend(idle(clock, timed.start, waiting.bytes));
        let (waiting_bytes, running_bytes) = waiting.run(&timed.pass);
        spans.push(MemorySpan {
            pass: Some(timed.pass),
            start: timed.start,
            end: timed.end,
            waiting_bytes,
            running_bytes,
        });
        clock = timed.end;
    }
    spans.extend(idle(clock, timeline.makespan, waiting.bytes));
    spans
}

/// The published objective of a pipeline, in units of cost: the time that one micro-batch takes
/// through all stages, and for each further one the time of the slowest device (Zheng et al.,
/// "Alpa", OSDI 2022, equation 2; Zhu et al., "Mist", EuroSys 2025, equation 1).
///
/// `stages` has the time of forward and backward pass of each stage. Sends count in the first term;
/// a lane that is slower than every device limits the rate. With `V` stages on a device, the
/// pipeline fills in a `V`-th of the time (Narayanan et al., SC 2021, section 2.2).
pub fn formula(schedule: &Schedule, stages: &[u64], sends: &[SendTimes]) -> u64 {
    let devices: Vec<u64> = (0..schedule.devices())
        .map(|device| schedule.stages_of(device).map(|stage| stages[stage]).sum())
        .collect();
    let slowest = devices.iter().copied().max().unwrap_or(0);
    let lane = sends.iter().map(|send| send.forward.max(send.backward));
    let sent = sends.iter().map(|send| send.forward + send.backward).sum();
    let sum = devices.iter().sum();
    objective(schedule, sum, slowest, (sent, lane.max().unwrap_or(0)))
}

/// The [`formula`] from the sum of the times of all devices, the time of the slowest one, the sum of
/// all sends, and the slowest lane.
pub fn objective(schedule: &Schedule, sum: u64, slowest: u64, (sent, lane): (u64, u64)) -> u64 {
    let fill = (sum - slowest).div_ceil(schedule.chunks() as u64);
    let steps = u64::from(schedule.microbatches() - 1);
    slowest + fill + sent + steps.saturating_mul(slowest.max(lane))
}

#[cfg(test)]
mod tests {
    use super::super::schedule::ScheduleKind;
    use super::*;

    fn times(list: &[(u64, u64)]) -> Vec<PassTimes> {
        list.iter()
            .map(|&(forward, backward)| PassTimes { forward, backward })
            .collect()
    }

    #[test]
    fn equal_stages_take_the_time_of_the_formula() {
        for kind in [ScheduleKind::Gpipe, ScheduleKind::OneForwardOneBackward] {
            for (devices, microbatches) in [(1, 1), (1, 4), (4, 1), (4, 4), (3, 8)] {
                let schedule = Schedule::new(kind, devices, microbatches).unwrap();
                let all = times(&vec![(2, 4); devices as usize]);
                let sends = vec![SendTimes::default(); devices as usize - 1];
                let found = timeline(&schedule, &all, &sends);
                let expected = formula(&schedule, &vec![6; devices as usize], &sends);
                assert_eq!(found.makespan, expected, "{kind} {devices} {microbatches}");
            }
        }
        // A quarter of the bubble of one stage a device.
        let schedule = Schedule::new(ScheduleKind::Interleaved(4), 4, 8).unwrap();
        let sends = vec![SendTimes::default(); 15];
        let found = timeline(&schedule, &times(&[(1, 2); 16]), &sends);
        assert_eq!(found.makespan, 8 * 12 + 3 * 3);
        assert_eq!(formula(&schedule, &[3; 16], &sends), 8 * 12 + 3 * 3);
    }

    #[test]
    fn unequal_stages_and_sends_by_hand() {
        let schedule = Schedule::new(ScheduleKind::OneForwardOneBackward, 2, 2).unwrap();
        let sends = [SendTimes {
            forward: 1,
            backward: 2,
        }];
        let found = timeline(&schedule, &times(&[(3, 4), (5, 6)]), &sends);
        let spans = |device: usize| -> Vec<(u64, u64)> {
            let list = found.devices[device].iter();
            list.map(|p| (p.start, p.end)).collect()
        };
        // Stage 0: F0, F1, B0, B1; stage 1: F0, B0, F1, B1.
        assert_eq!(spans(1), [(4, 9), (9, 15), (15, 20), (20, 26)]);
        assert_eq!(spans(0), [(0, 3), (3, 6), (17, 21), (28, 32)]);
        assert_eq!(found.makespan, 32);
        assert_eq!(formula(&schedule, &[7, 11], &sends), 11 + 7 + 3 + 11);
    }

    #[test]
    fn the_peak_counts_micro_batches_that_wait() {
        let schedule = Schedule::new(ScheduleKind::OneForwardOneBackward, 3, 8).unwrap();
        let profile = StageProfile {
            forward: 1,
            backward: 2,
            saved_bytes: 10,
            forward_bytes: 12,
            backward_bytes: 17,
        };
        let peaks: Vec<u64> = (0..3)
            .map(|device| device_peak(&schedule, device, 100, &[profile; 3]))
            .collect();
        assert_eq!(peaks, [100 + 20 + 17, 100 + 10 + 17, 117]);
    }

    #[test]
    fn memory_over_time_has_the_peak_and_idle_times_by_hand() {
        let schedule = Schedule::new(ScheduleKind::OneForwardOneBackward, 2, 2).unwrap();
        let profile = |saved_bytes, forward_bytes, backward_bytes| StageProfile {
            forward: 0,
            backward: 0,
            saved_bytes,
            forward_bytes,
            backward_bytes,
        };
        let profiles = [profile(10, 12, 17), profile(5, 6, 9)];
        let sends = [SendTimes {
            forward: 1,
            backward: 2,
        }];
        let found = timeline(&schedule, &times(&[(3, 4), (5, 6)]), &sends);
        let spans = |device: usize| -> Vec<(u64, u64, u64, u64)> {
            let list = device_memory(&found, device, &profiles).into_iter();
            list.map(|s| (s.start, s.end, s.waiting_bytes, s.running_bytes))
                .collect()
        };
        let first = [
            (0, 3, 0, 12),
            (3, 6, 10, 12),
            (6, 17, 20, 0),
            (17, 21, 10, 17),
            (21, 28, 10, 0),
            (28, 32, 0, 17),
        ];
        assert_eq!(spans(0), first);
        let second = [
            (0, 4, 0, 0),
            (4, 9, 0, 6),
            (9, 15, 0, 9),
            (15, 20, 0, 6),
            (20, 26, 0, 9),
            (26, 32, 0, 0),
        ];
        assert_eq!(spans(1), second);
        assert_eq!((found.busy(0), found.busy(1)), (14, 22));
    }

    #[test]
    fn memory_over_time_covers_the_makespan_and_peaks_where_the_schedule_does() {
        let mut random = 1u64;
        let mut next = |limit: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
            (random >> 33) % limit
        };
        for kind in [
            ScheduleKind::Gpipe,
            ScheduleKind::OneForwardOneBackward,
            ScheduleKind::Interleaved(3),
        ] {
            for (devices, microbatches) in [(1, 3), (2, 4), (4, 8)] {
                let schedule = Schedule::new(kind, devices, microbatches).unwrap();
                let stages = schedule.stages();
                let profiles: Vec<StageProfile> = (0..stages)
                    .map(|_| {
                        let saved_bytes = next(50);
                        StageProfile {
                            forward: 1 + next(9),
                            backward: 1 + next(19),
                            saved_bytes,
                            forward_bytes: saved_bytes + next(20),
                            backward_bytes: saved_bytes + next(40),
                        }
                    })
                    .collect();
                let passes: Vec<(u64, u64)> =
                    profiles.iter().map(|p| (p.forward, p.backward)).collect();
                let sends = vec![SendTimes::default(); stages - 1];
                let found = timeline(&schedule, &times(&passes), &sends);
                for device in 0..devices as usize {
                    let spans = device_memory(&found, device, &profiles);
                    let passes: Vec<Pass> = spans.iter().filter_map(|s| s.pass).collect();
                    assert_eq!(passes, schedule.passes(device));
                    let peak = spans.iter().map(MemorySpan::bytes).max();
                    let expected = device_peak(&schedule, device, 7, &profiles);
                    assert_eq!(peak.map(|bytes| bytes + 7), Some(expected));
                    let borders = spans.windows(2).all(|pair| pair[0].end == pair[1].start);
                    assert!(borders && spans[0].start == 0);
                    assert_eq!(spans.last().map(|span| span.end), Some(found.makespan));
                }
            }
        }
    }
}
