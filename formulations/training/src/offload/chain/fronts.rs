//! Ways to run a part of a chain backwards, from the gradient of its last stage and the input of
//! its first.
//!
//! The rest of a chain depends on three numbers of a way: its peak `P` beside the input, its
//! duration `T`, and its tail `K`. The tail is the maximum over its operations of memory over
//! bandwidth plus end time. With `m` bytes free and `D` bytes that must be back by its end, the way
//! takes `max(T, K + (D - m) / back)`. For each `m` the front of `(T, K)` with `P <= m` is kept;
//! peaks are rounded up to slots.

use super::model::LinkedStage;
use super::sequence::Action;
use rayon::prelude::*;

/// First action of a way, with the numbers of the ways of its parts in their fronts.
#[derive(Clone, Copy, PartialEq, Debug)]
enum First {
    /// The only stage runs forward, then directly backwards.
    Close,
    /// The first stage saves all; the rest follows, then the backward step.
    Save { rest: WayId },
    /// The stages before `next` pass, and the input of `next` is kept. The part from `next` on
    /// follows, then the part of the passed stages.
    Checkpoint {
        next: u32,
        rest: WayId,
        passed: WayId,
    },
}

/// A way in the front of its part: the run of slots, and the place in the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct WayId {
    run: u32,
    place: u32,
}

/// A way to run a part.
#[derive(Clone, Copy, PartialEq, Debug)]
struct FrontWay {
    time: f64,
    tail: f64,
    first: First,
}

/// The front of `(T, K)` from a slot on: `T` ascends, `K` falls.
#[derive(Clone, Debug, Default)]
struct FrontRun {
    from: usize,
    /// Least time and least tail.
    least: (f64, f64),
    ways: Vec<FrontWay>,
}

impl FrontRun {
    fn new(from: usize, ways: Vec<FrontWay>) -> FrontRun {
        let least =
            |way: Option<&FrontWay>, value: fn(&FrontWay) -> f64| way.map_or(f64::INFINITY, value);
        let time = least(ways.first(), |way| way.time);
        let tail = least(ways.last(), |way| way.tail);
        FrontRun {
            from,
            least: (time, tail),
            ways,
        }
    }
}

/// The fronts of one part, by slots.
#[derive(Clone, Debug, Default)]
struct Front {
    runs: Vec<FrontRun>,
}

impl Front {
    /// Number of the run that is valid for `slots` slots.
    fn run(&self, slots: usize) -> Option<usize> {
        self.runs
            .partition_point(|run| run.from <= slots)
            .checked_sub(1)
    }
}

/// Inserts a way into a front unless another way dominates it; returns whether it did.
fn insert(ways: &mut Vec<FrontWay>, way: FrontWay) -> bool {
    let at = ways.partition_point(|w| w.time <= way.time);
    if at > 0 && ways[at - 1].tail <= way.tail {
        return false;
    }
    let mut end = at;
    while end < ways.len() && ways[end].tail >= way.tail {
        end += 1;
    }
    let mut from = at;
    // A way of the same time and a larger tail.
    while from > 0 && ways[from - 1].time == way.time {
        from -= 1;
    }
    ways.splice(from..end, [way]);
    true
}

/// Returns whether a way of a front is no worse in time and tail.
fn is_dominated(ways: &[FrontWay], time: f64, tail: f64) -> bool {
    let at = ways.partition_point(|way| way.time <= time);
    at > 0 && ways[at - 1].tail <= tail
}

/// Thins a front to `count` ways. The fastest way and the way with the least tail stay; of the
/// others, the way whose removal loses the least time is removed first.
fn thin(ways: &mut Vec<FrontWay>, count: usize) {
    while ways.len() > count.max(2) {
        let lost = |k: usize| {
            let later = ways[k + 1].time - ways[k].time;
            later.min(ways[k - 1].tail - ways[k].tail)
        };
        let inner = (1..ways.len() - 1).min_by(|&a, &b| lost(a).total_cmp(&lost(b)));
        match inner {
            Some(k) => ways.remove(k),
            None => return,
        };
    }
}

/// Direction in which sizes are rounded to slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rounding {
    /// Sizes that fit in slots fit in bytes.
    Up,
    /// Sizes that fit in bytes fit in slots: times are bounds.
    Down,
}

/// Detail of fronts, and the ways that they may leave out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Detail {
    /// Slots of the memory; exact if a slot is a byte.
    pub slots: u64,
    /// Ways that are kept for each part and peak, at least 2.
    pub ways: usize,
    /// Time of further runs above which a way is of no use.
    pub overhead: f64,
    /// Rounding of sizes.
    pub rounding: Rounding,
}

/// The fronts of all parts that end before the last stage, the loss.
pub(super) struct Fronts<'a> {
    stages: &'a [LinkedStage],
    memory_bytes: u64,
    /// Bytes of a slot.
    unit: u64,
    /// Time of a copy back per byte.
    per_byte: f64,
    detail: Detail,
    /// By length less one, then by first stage.
    parts: Vec<Vec<Front>>,
    /// True if no way was thinned out.
    pub is_whole: bool,
}

impl<'a> Fronts<'a> {
    /// The fronts of stages for a device's memory.
    pub fn new(stages: &'a [LinkedStage], memory_bytes: u64, back: f64, detail: Detail) -> Self {
        let mut fronts = Fronts {
            stages,
            memory_bytes,
            unit: memory_bytes.div_ceil(detail.slots.max(1)).max(1),
            per_byte: if back > 0.0 { 1.0 / back } else { 0.0 },
            detail,
            parts: Vec::new(),
            is_whole: true,
        };
        let count = stages.len().saturating_sub(1);
        for length in 0..count {
            let parts = (0..count - length).into_par_iter();
            let parts: Vec<(Front, bool)> = parts.map(|s| fronts.part(s, s + length)).collect();
            fronts.is_whole &= parts.iter().all(|part| part.1);
            fronts
                .parts
                .push(parts.into_iter().map(|part| part.0).collect());
        }
        fronts
    }

    fn front(&self, s: usize, t: usize) -> &Front {
        &self.parts[t - s][s]
    }

    fn in_slots(&self, bytes: u64) -> usize {
        match self.detail.rounding {
            Rounding::Up => bytes.div_ceil(self.unit) as usize,
            Rounding::Down => (bytes / self.unit) as usize,
        }
    }

    /// Number of slots in the whole memory.
    fn slots(&self) -> usize {
        (self.memory_bytes / self.unit) as usize
    }

    /// The front of a part, and whether no way was thinned out.
    fn part(&self, s: usize, t: usize) -> (Front, bool) {
        let stages = &self.stages[s..=t];
        // Each stage saves all at least once more.
        let again = stages.iter().map(|k| k.save_time.min(k.close_time));
        if again.sum::<f64>() > self.detail.overhead {
            return (Front::default(), true);
        }
        if s == t {
            return (self.close(t), true);
        }
        let backward = stages.iter().map(|k| k.backward_time);
        let slowest = self.detail.overhead + backward.sum::<f64>();
        let mut starts = self.checkpoints(s, t);
        starts.extend(self.save(s, t));
        let mut changes: Vec<usize> = Vec::new();
        for start in &starts {
            start.changes(self.slots(), &mut changes);
        }
        sort_slots(&mut changes, self.slots());
        let (mut front, mut is_whole) = (Front::default(), true);
        let mut ways: Vec<FrontWay> = Vec::new();
        for slots in changes {
            let mut changed = false;
            for start in &mut starts {
                if !start.advance(slots) {
                    continue;
                }
                let (time, tail) = start.ideal();
                if time > slowest || is_dominated(&ways, time, tail) {
                    continue;
                }
                start.each(|way| {
                    if way.time <= slowest {
                        changed |= insert(&mut ways, way);
                    }
                });
            }
            if changed {
                is_whole &= ways.len() <= self.detail.ways.max(2);
                thin(&mut ways, self.detail.ways);
                front.runs.push(FrontRun::new(slots, ways.clone()));
            }
        }
        (front, is_whole)
    }

    fn close(&self, t: usize) -> Front {
        let stage = &self.stages[t];
        let (forward, backward) = (stage.close_forward_bytes, stage.backward_bytes);
        let time = stage.close_time + stage.backward_time;
        let tail = f64::max(
            forward as f64 * self.per_byte + stage.close_time,
            backward as f64 * self.per_byte + time,
        );
        let way = FrontWay {
            time,
            tail,
            first: First::Close,
        };
        let from = self.in_slots(forward.max(backward));
        let mut front = Front::default();
        if from <= self.slots() {
            front.runs.push(FrontRun::new(from, vec![way]));
        }
        front
    }

    fn save(&self, s: usize, t: usize) -> Option<Start<'_>> {
        let stage = &self.stages[s];
        let forward = self.stages[t].gradient_bytes + stage.again.save_bytes;
        Start::new(Start {
            next: None,
            first: self.in_slots(forward.max(stage.backward_bytes)),
            shift: self.in_slots(stage.saved_bytes),
            rest: self.front(s + 1, t),
            passed: None,
            before: stage.save_time,
            after: stage.backward_time,
            tail: forward as f64 * self.per_byte + stage.save_time,
            kept: stage.saved_bytes as f64 * self.per_byte,
            closing: stage.backward_bytes as f64 * self.per_byte,
            place: None,
        })
    }

    fn checkpoints(&self, s: usize, t: usize) -> Vec<Start<'_>> {
        let gradient = self.stages[t].gradient_bytes;
        let (mut peak, mut passing) = (0, 0.0);
        let mut tail: f64 = 0.0;
        let mut starts = Vec::new();
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
            let least = self.in_slots(peak);
            if least > self.slots() {
                break;
            }
            starts.extend(Start::new(Start {
                next: Some(next as u32),
                first: least,
                shift: self.in_slots(stage.output_bytes),
                rest: self.front(next, t),
                passed: Some(self.front(s, next - 1)),
                before: passing,
                after: 0.0,
                tail,
                kept: stage.output_bytes as f64 * self.per_byte,
                closing: f64::NEG_INFINITY,
                place: None,
            }));
        }
        starts
    }

    /// Time and id of the best way to run `s ..= t`. It has `room` bytes beside its input and all
    /// else that stays, and `due` bytes of other values must be back at its end.
    pub fn best(&self, s: usize, t: usize, room: u64, due: f64) -> Option<(f64, WayId)> {
        let front = self.parts.get(t - s)?.get(s)?;
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

    /// Least time of a part in `room` bytes beside its input.
    pub fn least_time(&self, s: usize, t: usize, room: u64) -> Option<f64> {
        let front = self.parts.get(t - s)?.get(s)?;
        let run = front.run((room / self.unit) as usize)?;
        Some(front.runs[run].least.0)
    }

    /// Appends the actions of a way of a part.
    pub fn actions(&self, s: usize, t: usize, id: WayId, actions: &mut Vec<Action>) {
        let way = self.front(s, t).runs[id.run as usize].ways[id.place as usize];
        match way.first {
            First::Close => actions.extend([Action::SaveAll(s), Action::Backward(s)]),
            First::Save { rest } => {
                actions.push(Action::SaveAll(s));
                self.actions(s + 1, t, rest, actions);
                actions.push(Action::Backward(s));
            }
            First::Checkpoint { next, rest, passed } => {
                let next = next as usize;
                actions.push(Action::KeepInput(s));
                actions.extend((s + 1..next).map(Action::DropInput));
                self.actions(next, t, rest, actions);
                self.actions(s, next - 1, passed, actions);
            }
        }
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

/// A first action of a part, with the fronts of the parts that follow and their current runs.
struct Start<'f> {
    /// The stage whose input is kept next; `None` if the first stage saves all.
    next: Option<u32>,
    /// Slots from which it is possible.
    first: usize,
    /// Slots by which the memory for `rest` is smaller.
    shift: usize,
    rest: &'f Front,
    passed: Option<&'f Front>,
    /// Time before `rest`, and after all.
    before: f64,
    after: f64,
    /// Tail of the first action; copy time of the bytes that it keeps; copy time of the peak of the
    /// last backward step.
    tail: f64,
    kept: f64,
    closing: f64,
    /// Current runs of `rest` and `passed`, once both are valid.
    place: Option<(usize, usize)>,
}

impl<'f> Start<'f> {
    /// A start; `None` if one of its parts has no way.
    fn new(start: Start<'f>) -> Option<Self> {
        let rest = start.rest.runs.first()?.from + start.shift;
        let passed = match start.passed {
            Some(front) => front.runs.first()?.from,
            None => 0,
        };
        let first = start.first.max(rest).max(passed);
        Some(Start { first, ..start })
    }

    /// Appends the numbers of slots, up to `slots`, at which the current runs change.
    fn changes(&self, slots: usize, changes: &mut Vec<usize>) {
        let passed = self.passed.map_or(&[][..], |front| &front.runs);
        let later = self.rest.runs.iter().map(|run| run.from + self.shift);
        let all = later.chain(passed.iter().map(|run| run.from));
        let all = all.filter(|&from| from > self.first).chain([self.first]);
        changes.extend(all.filter(|&from| from <= slots));
    }

    /// Advances to `slots`, no fewer than before; returns whether the current runs change.
    fn advance(&mut self, slots: usize) -> bool {
        if slots < self.first {
            return false;
        }
        let run = |runs: &[FrontRun], mut run: usize, slots: usize| {
            while runs.get(run + 1).is_some_and(|next| next.from <= slots) {
                run += 1;
            }
            run
        };
        let (rest, passed) = self.place.unwrap_or((0, 0));
        let next = (
            run(&self.rest.runs, rest, slots - self.shift),
            self.passed
                .map_or(0, |front| run(&front.runs, passed, slots)),
        );
        let changed = self.place != Some(next);
        self.place = Some(next);
        changed
    }

    /// The current runs of the parts that follow.
    fn parts(&self) -> (&'f FrontRun, Option<&'f FrontRun>) {
        let (rest, passed) = self.place.unwrap_or((0, 0));
        let passed = self.passed.map(|front| &front.runs[passed]);
        (&self.rest.runs[rest], passed)
    }

    /// Time and tail of a way composed of two parts, from their times and tails.
    fn joined(&self, rest: (f64, f64), passed: Option<(f64, f64)>) -> (f64, f64) {
        let time = self.before + rest.0 + passed.map_or(0.0, |p| p.0) + self.after;
        let mut tail = self.tail.max(rest.1 + self.kept + self.before);
        if let Some(passed) = passed {
            tail = tail.max(passed.1 + self.before + rest.0);
        }
        (time, tail.max(self.closing + time))
    }

    /// Lower bounds on time and tail of all ways of the current runs.
    fn ideal(&self) -> (f64, f64) {
        let (rest, passed) = self.parts();
        self.joined(rest.least, passed.map(|run| run.least))
    }

    /// Passes each way of the current runs to `tell`.
    fn each(&self, mut tell: impl FnMut(FrontWay)) {
        let (run, other) = self.place.unwrap_or((0, 0));
        let id = |run: usize, place: usize| WayId {
            run: run as u32,
            place: place as u32,
        };
        let (rests, passed) = self.parts();
        let all_passed = passed.map_or(&[][..], |run| &run.ways);
        for (i, one) in rests.ways.iter().enumerate() {
            let one_is = (one.time, one.tail);
            let rest = id(run, i);
            let Some(next) = self.next else {
                let (time, tail) = self.joined(one_is, None);
                let first = First::Save { rest };
                tell(FrontWay { time, tail, first });
                continue;
            };
            for (j, two) in all_passed.iter().enumerate() {
                let (time, tail) = self.joined(one_is, Some((two.time, two.tail)));
                let passed = id(other, j);
                let first = First::Checkpoint { next, rest, passed };
                tell(FrontWay { time, tail, first });
            }
        }
    }
}

/// Sorts numbers of slots up to `slots`, and removes duplicates.
fn sort_slots(list: &mut Vec<usize>, slots: usize) {
    if slots < list.len() {
        let mut is_there = vec![false; slots + 1];
        for &k in list.iter() {
            is_there[k] = true;
        }
        list.clear();
        list.extend((0..=slots).filter(|&k| is_there[k]));
    } else {
        list.sort_unstable();
        list.dedup();
    }
}
