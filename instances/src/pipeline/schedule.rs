//! Orders of passes on the devices of a pipeline.

use std::fmt;
use std::str::FromStr;

/// Largest number of devices, of stages of a device, and of micro-batches.
pub const LARGEST_COUNT: u32 = 1 << 16;

/// The kind of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleKind {
    /// All forward passes, then all backward passes (Huang et al., "GPipe", NeurIPS 2019).
    Gpipe,
    /// One forward, one backward (Narayanan et al., "PipeDream", SOSP 2019, without stale weights).
    OneForwardOneBackward,
    /// One forward, one backward, with so many stages on each device in turn (Narayanan et al.,
    /// "Efficient large-scale language model training on GPU clusters", SC 2021, section 2.2).
    Interleaved(u32),
}

/// Error of a text that is no schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "schedule {0:?} is unknown: give gpipe, 1f1b, or interleaved:V with V stages on each device"
)]
pub struct ScheduleError(String);

impl FromStr for ScheduleKind {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Self, ScheduleError> {
        let wrong = || ScheduleError(text.into());
        match text.split_once(':') {
            None if text == "gpipe" => Ok(ScheduleKind::Gpipe),
            None if text == "1f1b" => Ok(ScheduleKind::OneForwardOneBackward),
            Some(("interleaved", count)) => match count.parse() {
                Ok(count) if (1..=LARGEST_COUNT).contains(&count) => {
                    Ok(ScheduleKind::Interleaved(count))
                }
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        }
    }
}

impl fmt::Display for ScheduleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ScheduleKind::Gpipe => write!(f, "gpipe"),
            ScheduleKind::OneForwardOneBackward => write!(f, "1f1b"),
            ScheduleKind::Interleaved(count) => write!(f, "interleaved:{count}"),
        }
    }
}

/// One pass of one micro-batch through one stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Stage of the pipeline, from 0.
    pub stage: usize,
    /// Micro-batch, from 0.
    pub microbatch: u32,
    /// True for the backward pass.
    pub backward: bool,
}

/// A schedule on a number of devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    kind: ScheduleKind,
    devices: u32,
    microbatches: u32,
}

/// Error of a schedule that these counts do not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct CountError {
    /// The problem, in words.
    pub problem: String,
    /// A remedy, in words.
    pub remedy: String,
}

impl Schedule {
    /// A schedule on so many devices, for so many micro-batches.
    ///
    /// # Errors
    /// [`CountError`] for a count of 0 or above [`LARGEST_COUNT`], and for an interleaved schedule
    /// whose micro-batches are no multiple of its devices.
    pub fn new(kind: ScheduleKind, devices: u32, microbatches: u32) -> Result<Self, CountError> {
        for (what, count) in [("stages", devices), ("microbatches", microbatches)] {
            if !(1..=LARGEST_COUNT).contains(&count) {
                return Err(CountError {
                    problem: format!("{what}: {count} is not between 1 and {LARGEST_COUNT}"),
                    remedy: format!("give at least 1 and at most {LARGEST_COUNT}"),
                });
            }
        }
        if let ScheduleKind::Interleaved(count) = kind
            && count > 1
            && !microbatches.is_multiple_of(devices)
        {
            let next = microbatches.next_multiple_of(devices);
            return Err(CountError {
                problem: format!(
                    "an interleaved schedule runs {devices} micro-batches at a time, and {microbatches} is no multiple of {devices}"
                ),
                remedy: format!("give {next} micro-batches"),
            });
        }
        Ok(Schedule {
            kind,
            devices,
            microbatches,
        })
    }

    /// The kind.
    pub fn kind(&self) -> ScheduleKind {
        self.kind
    }

    /// Number of devices.
    pub fn devices(&self) -> usize {
        self.devices as usize
    }

    /// Number of micro-batches.
    pub fn microbatches(&self) -> u32 {
        self.microbatches
    }

    /// Stages of one device.
    pub fn chunks(&self) -> usize {
        match self.kind {
            ScheduleKind::Interleaved(count) => count as usize,
            _ => 1,
        }
    }

    /// Number of stages: a multiple of the devices.
    pub fn stages(&self) -> usize {
        self.devices() * self.chunks()
    }

    /// The device of a stage.
    pub fn device_of(&self, stage: usize) -> usize {
        stage % self.devices()
    }

    /// The stages of a device, ascending.
    pub fn stages_of(&self, device: usize) -> impl Iterator<Item = usize> + use<> {
        let devices = self.devices();
        (0..self.chunks()).map(move |chunk| chunk * devices + device)
    }

    /// Passes of a device in order.
    pub fn passes(&self, device: usize) -> Vec<Pass> {
        let total = self.chunks() * self.microbatches as usize;
        let behind = self.devices() - 1 - device;
        let ahead = match self.kind {
            ScheduleKind::Gpipe => total,
            ScheduleKind::OneForwardOneBackward | ScheduleKind::Interleaved(1) => behind,
            ScheduleKind::Interleaved(count) => (count as usize - 1) * self.devices() + 2 * behind,
        };
        let ahead = ahead.min(total);
        let mut passes = Vec::with_capacity(2 * total);
        passes.extend((0..ahead).map(|k| self.pass(device, k, false)));
        for k in ahead..total {
            passes.push(self.pass(device, k, false));
            passes.push(self.pass(device, k - ahead, true));
        }
        passes.extend((total - ahead..total).map(|k| self.pass(device, k, true)));
        passes
    }

    /// The `k`-th forward or backward pass of a device: groups of as many micro-batches as there
    /// are devices, through one stage after the other.
    fn pass(&self, device: usize, k: usize, backward: bool) -> Pass {
        let (group, chunks) = (self.devices(), self.chunks());
        if chunks == 1 {
            return Pass {
                stage: device,
                microbatch: k as u32,
                backward,
            };
        }
        let chunk = k / group % chunks;
        let chunk = match backward {
            true => chunks - 1 - chunk,
            false => chunk,
        };
        Pass {
            stage: chunk * group + device,
            microbatch: (k / (group * chunks) * group + k % group) as u32,
            backward,
        }
    }

    /// Micro-batches in flight on a stage: the most that are between the begin of their forward and
    /// the end of their backward pass.
    pub fn in_flight(&self, stage: usize) -> u32 {
        let device = self.device_of(stage);
        self.most(device, |pass| pass.stage == stage)
    }

    /// Micro-batches in flight on all stages of a device together.
    pub fn in_flight_on(&self, device: usize) -> u32 {
        self.most(device, |_| true)
    }

    fn most(&self, device: usize, counts: impl Fn(&Pass) -> bool) -> u32 {
        // The list of an interleaved schedule alone has to be read.
        if self.chunks() == 1 {
            let behind = (self.devices() - device) as u32;
            return match self.kind {
                ScheduleKind::Gpipe => self.microbatches,
                _ => behind.min(self.microbatches),
            };
        }
        let (mut now, mut most) = (0, 0);
        for pass in self.passes(device).iter().filter(|pass| counts(pass)) {
            match pass.backward {
                false => now += 1,
                true => now -= 1,
            }
            most = most.max(now);
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_micro_batch_passes_each_stage_forward_and_then_backward() {
        for (kind, devices, microbatches) in [
            (ScheduleKind::Gpipe, 3, 5),
            (ScheduleKind::OneForwardOneBackward, 4, 2),
            (ScheduleKind::OneForwardOneBackward, 4, 9),
            (ScheduleKind::Interleaved(1), 4, 6),
            (ScheduleKind::Interleaved(2), 4, 8),
            (ScheduleKind::Interleaved(3), 2, 2),
        ] {
            let schedule = Schedule::new(kind, devices, microbatches).unwrap();
            for device in 0..devices as usize {
                let mut seen = BTreeSet::new();
                let (mut now, mut most) = (0u32, 0);
                for pass in schedule.passes(device) {
                    assert_eq!(schedule.device_of(pass.stage), device);
                    assert!(seen.insert((pass.stage, pass.microbatch, pass.backward)));
                    if pass.backward {
                        assert!(seen.contains(&(pass.stage, pass.microbatch, false)));
                        now -= 1;
                    } else {
                        now += 1;
                    }
                    most = most.max(now);
                }
                assert_eq!(seen.len(), 2 * schedule.chunks() * microbatches as usize);
                assert_eq!(schedule.in_flight_on(device), most);
            }
        }
    }

    #[test]
    fn one_forward_one_backward_holds_fewer_micro_batches_on_later_devices() {
        let schedule = Schedule::new(ScheduleKind::OneForwardOneBackward, 4, 8).unwrap();
        let held: Vec<u32> = (0..4).map(|stage| schedule.in_flight(stage)).collect();
        assert_eq!(held, [4, 3, 2, 1]);
        let gpipe = Schedule::new(ScheduleKind::Gpipe, 4, 8).unwrap();
        assert_eq!(gpipe.in_flight(3), 8);
    }

    #[test]
    fn texts_round_trip_and_wrong_counts_have_remedies() {
        for text in ["gpipe", "1f1b", "interleaved:2"] {
            assert_eq!(text.parse::<ScheduleKind>().unwrap().to_string(), text);
        }
        for text in ["", "interleaved", "interleaved:0", "gpipe:2", "zero"] {
            assert!(text.parse::<ScheduleKind>().is_err(), "{text}");
        }
        let error = Schedule::new(ScheduleKind::Interleaved(2), 4, 6).unwrap_err();
        assert!(error.remedy.contains('8'), "{error:?}");
        assert!(Schedule::new(ScheduleKind::Gpipe, 0, 6).is_err());
    }
}
