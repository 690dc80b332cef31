//! Ways to run a part of a chain backwards, from the gradient of its last stage and the input of
//! its first.
//!
//! The rest of a chain asks three numbers of a way only: its peak `P` beside the input,
//! its duration `T`, and its tail `K`, the largest of memory over bandwidth plus end of its
//! operations. With `m` bytes free and `D` bytes that have to come back by its end it takes
//! `max(T, K + (D - m) / back)`. For each `m` the front of `(T, K)` with `P <= m` is kept; peaks are
//! rounded up to slots.

use super::model::LinkedStage;
use rayon::prelude::*;

/// First action of a way, with the numbers of the ways of its parts in their fronts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum First {
    /// The only stage runs forward, and backwards at once.
    Close,
    /// The first stage saves all; the rest follows, then the backward step.
    Save { rest: WayId },
    /// The stages before `next` pass, so that the input of `next` is kept; the part from there on
    /// comes next, that of the passed stages after it.
    Checkpoint {
        next: u32,
        rest: WayId,
        passed: WayId,
    },
}

/// A way in the front of its part: that of the run of slots, and the place in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WayId {
    run: u32,
    place: u32,
}

/// A way to run a part.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Way {
    pub time: f64,
    pub tail: f64,
    pub first: First,
}

/// The front of `(T, K)` from a slot on: `T` ascends, `K` falls.
#[derive(Clone, Debug, Default)]
struct Run {
    from: usize,
    ways: Vec<Way>,
}

/// The fronts of one part, by slots.
#[derive(Clone, Debug, Default)]
struct Front {
    runs: Vec<Run>,
}

impl Front {
    /// Number of the run that holds for so many slots.
    fn run(&self, slots: usize) -> Option<usize> {
        self.runs
            .partition_point(|run| run.from <= slots)
            .checked_sub(1)
    }

    /// The front of candidates, each with its least slots.
    fn of(mut candidates: Vec<(usize, Way)>) -> Front {
        candidates.sort_by(|a, b| {
            let times = a.1.time.total_cmp(&b.1.time);
            a.0.cmp(&b.0)
                .then(times)
                .then(a.1.tail.total_cmp(&b.1.tail))
        });
        let mut front = Front::default();
        let mut ways: Vec<Way> = Vec::new();
        for group in candidates.chunk_by(|a, b| a.0 == b.0) {
            let mut changed = false;
            for &(_, way) in group {
                changed |= insert(&mut ways, way);
            }
            if changed {
                front.runs.push(Run {
                    from: group[0].0,
                    ways: ways.clone(),
                });
            }
        }
        front
    }
}

/// Takes a way into a front unless another one is no worse; returns whether it did.
fn insert(ways: &mut Vec<Way>, way: Way) -> bool {
    let at = ways.partition_point(|w| w.time <= way.time);
    if at > 0 && ways[at - 1].tail <= way.tail {
        return false;
    }
    let mut end = at;
    while end < ways.len() && ways[end].tail >= way.tail {
        end += 1;
    }
    let mut from = at;
    // One of the same time and a larger tail.
    while from > 0 && ways[from - 1].time == way.time {
        from -= 1;
    }
    ways.splice(from..end, [way]);
    true
}

/// The fronts of all parts that end before the last stage, the loss.
pub(super) struct Fronts<'a> {
    stages: &'a [LinkedStage],
    memory_bytes: u64,
    /// Bytes of a slot.
    unit: u64,
    /// Time that a byte takes back.
    per_byte: f64,
    /// By length less one, then by first stage.
    parts: Vec<Vec<Front>>,
}

impl<'a> Fronts<'a> {
    /// The fronts of stages for a device's memory in so many slots.
    pub fn new(stages: &'a [LinkedStage], memory_bytes: u64, back: f64, slots: u64) -> Self {
        let mut fronts = Fronts {
            stages,
            memory_bytes,
            unit: memory_bytes.div_ceil(slots.max(1)).max(1),
            per_byte: if back > 0.0 { 1.0 / back } else { 0.0 },
            parts: Vec::new(),
        };
        let count = stages.len().saturating_sub(1);
        for length in 0..count {
            let parts = (0..count - length).into_par_iter();
            let parts = parts.map(|s| fronts.part(s, s + length)).collect();
            fronts.parts.push(parts);
        }
        fronts
    }

    fn front(&self, s: usize, t: usize) -> &Front {
        &self.parts[t - s][s]
    }

    fn in_slots(&self, bytes: u64) -> usize {
        bytes.div_ceil(self.unit) as usize
    }

    /// The largest slots that may matter.
    fn slots(&self) -> usize {
        (self.memory_bytes / self.unit) as usize
    }

    fn part(&self, s: usize, t: usize) -> Front {
        let mut candidates = Vec::new();
        if s == t {
            candidates.push(self.close(t));
        } else {
            self.save(s, t, &mut candidates);
            self.checkpoints(s, t, &mut candidates);
        }
        candidates.retain(|c| c.0 <= self.slots());
        Front::of(candidates)
    }

    fn close(&self, t: usize) -> (usize, Way) {
        let stage = &self.stages[t];
        let (forward, backward) = (stage.close_forward_bytes, stage.backward_bytes);
        let time = stage.close_time + stage.backward_time;
        let tail = f64::max(
            forward as f64 * self.per_byte + stage.close_time,
            backward as f64 * self.per_byte + time,
        );
        let way = Way {
            time,
            tail,
            first: First::Close,
        };
        (self.in_slots(forward.max(backward)), way)
    }

    fn save(&self, s: usize, t: usize, candidates: &mut Vec<(usize, Way)>) {
        let stage = &self.stages[s];
        let forward = self.stages[t].gradient_bytes + stage.again.save_bytes;
        let least = self.in_slots(forward.max(stage.backward_bytes));
        let shift = self.in_slots(stage.saved_bytes);
        for (number, run) in self.front(s + 1, t).runs.iter().enumerate() {
            for (place, rest) in run.ways.iter().enumerate() {
                let time = stage.save_time + rest.time + stage.backward_time;
                let tails = [
                    forward as f64 * self.per_byte + stage.save_time,
                    rest.tail + stage.saved_bytes as f64 * self.per_byte + stage.save_time,
                    stage.backward_bytes as f64 * self.per_byte + time,
                ];
                let rest = WayId {
                    run: number as u32,
                    place: place as u32,
                };
                let way = Way {
                    time,
                    tail: tails.into_iter().fold(0.0, f64::max),
                    first: First::Save { rest },
                };
                candidates.push((least.max(run.from + shift), way));
            }
        }
    }

    fn checkpoints(&self, s: usize, t: usize, candidates: &mut Vec<(usize, Way)>) {
        let gradient = self.stages[t].gradient_bytes;
        let (mut peak, mut passing) = (0, 0.0);
        let mut tail: f64 = 0.0;
        for next in s + 1..=t {
            let stage = &self.stages[next - 1];
            let peaks = stage.again;
            let forward = gradient
                + if next - 1 == s {
                    peaks.pass_bytes
                } else {
                    peaks.stream_bytes
                };
            peak = peak.max(forward);
            passing += stage.pass_time;
            tail = tail.max(forward as f64 * self.per_byte + passing);
            let kept = stage.output_bytes;
            let (least, shift) = (self.in_slots(peak), self.in_slots(kept));
            if least > self.slots() {
                break;
            }
            let (rests, passed) = (self.front(next, t), self.front(s, next - 1));
            for (a, b) in pairs(rests, passed, shift) {
                let (first, second) = (&rests.runs[a], &passed.runs[b]);
                let slots = least.max(first.from + shift).max(second.from);
                for (i, one) in first.ways.iter().enumerate() {
                    for (j, two) in second.ways.iter().enumerate() {
                        let tails = [
                            one.tail + kept as f64 * self.per_byte + passing,
                            two.tail + passing + one.time,
                        ];
                        let id = |run: usize, place: usize| WayId {
                            run: run as u32,
                            place: place as u32,
                        };
                        let way = Way {
                            time: passing + one.time + two.time,
                            tail: tails.into_iter().fold(tail, f64::max),
                            first: First::Checkpoint {
                                next: next as u32,
                                rest: id(a, i),
                                passed: id(b, j),
                            },
                        };
                        candidates.push((slots, way));
                    }
                }
            }
        }
    }

    /// The best way to run `s ..= t` where `saved_bytes` are on the device, the input of `s` among
    /// them, and `due_bytes` of other values have to be back at its end: its time, and the way.
    pub fn best(&self, s: usize, t: usize, saved_bytes: u64, due: f64) -> Option<(f64, WayId)> {
        let room = self.memory_bytes.checked_sub(saved_bytes)?;
        let front = self.front(s, t);
        let run = front.run((room / self.unit) as usize)?;
        let ways = front.runs[run].ways.iter().enumerate();
        let times = ways.map(|(place, way)| {
            let late = if due > 0.0 {
                way.tail + (due - room as f64) * self.per_byte
            } else {
                0.0
            };
            let id = WayId {
                run: run as u32,
                place: place as u32,
            };
            (way.time.max(late), id)
        });
        times.min_by(|a, b| a.0.total_cmp(&b.0))
    }

    /// A way of a part.
    pub fn way(&self, s: usize, t: usize, id: WayId) -> Way {
        self.front(s, t).runs[id.run as usize].ways[id.place as usize]
    }

    /// Peak in bytes, duration and tail of all ways of a part.
    pub fn all(&self, s: usize, t: usize) -> Vec<(u64, f64, f64)> {
        let mut all: Vec<(u64, f64, f64)> = Vec::new();
        for run in &self.front(s, t).runs {
            for way in &run.ways {
                let is_known = all.iter().any(|&(_, t, k)| (t, k) == (way.time, way.tail));
                if !is_known {
                    all.push((run.from as u64 * self.unit, way.time, way.tail));
                }
            }
        }
        all
    }
}

/// Pairs of runs of two fronts that hold together for some slots; the first one is shifted.
fn pairs(first: &Front, second: &Front, shift: usize) -> Vec<(usize, usize)> {
    let mut starts: Vec<usize> = first.runs.iter().map(|run| run.from + shift).collect();
    starts.extend(second.runs.iter().map(|run| run.from));
    starts.sort_unstable();
    starts.dedup();
    let pairs = starts.into_iter().filter_map(|slots| {
        let one = first.run(slots.checked_sub(shift)?)?;
        Some((one, second.run(slots)?))
    });
    pairs.collect()
}
