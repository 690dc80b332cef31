//! Timing of a sequence.
//!
//! Both phases are played alike, the backward phase in reversed time, in which a value that comes
//! back leaves after its first reader. Copies run in the order in which they become ready, each as
//! soon as the link is free. A step that does not fit waits until enough bytes have left. Copies
//! under way when a phase ends are completed at the barrier between the phases.

use super::model::{Link, LinkedChain};
use super::sequence::{Action, ChainStep, ChainWalk, Move, SequenceError};

/// Time at which a leaving value frees its memory.
#[derive(Default, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// When its copy is complete, as on a machine.
    #[default]
    AtOnce,
    /// Byte by byte as it is sent: POFO's assumption.
    Continuous,
}

/// Durations of a sequence; they add up to the makespan.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Played {
    /// Time of computations.
    pub compute: f64,
    /// Time waited for the link during the forward phase.
    pub idle_forward: f64,
    /// Time waited at the barrier.
    pub idle_barrier: f64,
    /// Time waited during the backward phase.
    pub idle_backward: f64,
}

impl Played {
    /// Computations and idle time.
    pub fn makespan(&self) -> f64 {
        self.compute + self.idle_forward + self.idle_barrier + self.idle_backward
    }
}

/// Plays a sequence in the memory of a device; `None` if a step never fits.
///
/// # Errors
/// [`SequenceError`] for the first action that is not possible.
pub fn play(
    chain: &LinkedChain,
    link: Link,
    memory_bytes: u64,
    actions: &[Action],
    release: Release,
) -> Result<Option<Played>, SequenceError> {
    let walk = ChainWalk::new(chain, actions)?;
    let (forward, backward) = walk.steps.split_at(walk.forward);
    let out: Vec<Copy> = walk.moves.iter().map(Copy::out).collect();
    let count = walk.steps.len();
    let reversed: Vec<ChainStep> = backward.iter().rev().copied().collect();
    let mut back: Vec<Copy> = walk.moves.iter().map(|m| Copy::back(m, count)).collect();
    back.sort_by_key(|copy| copy.ready);
    let phase = |steps: &[ChainStep], copies: &[Copy], rate| {
        let phase = Phase {
            copies,
            memory_bytes,
            rate,
            release,
        };
        phase.play(steps)
    };
    let (Some(first), Some(second)) = (
        phase(forward, &out, link.out),
        phase(&reversed, &back, link.back),
    ) else {
        return Ok(None);
    };
    Ok(Some(Played {
        compute: walk.steps.iter().map(|step| step.time).sum(),
        idle_forward: first.0,
        idle_barrier: first.1 + second.1,
        idle_backward: second.0,
    }))
}

/// A copy of a phase.
#[derive(Clone, Copy, Debug)]
struct Copy {
    bytes: u64,
    /// The copy may begin when this step starts.
    ready: usize,
    /// The last step that reads the value.
    last: usize,
}

impl Copy {
    fn out(one: &Move) -> Copy {
        Copy {
            bytes: one.bytes,
            ready: one.leaves_with,
            last: one.leaves_with,
        }
    }

    /// The copy back in reversed time, in a sequence of `steps` steps: it begins after the reader.
    fn back(one: &Move, steps: usize) -> Copy {
        let reader = steps - 1 - one.back_for.min(steps - 1);
        Copy {
            bytes: one.bytes,
            ready: reader + 1,
            last: reader,
        }
    }
}

struct Phase<'a> {
    copies: &'a [Copy],
    memory_bytes: u64,
    rate: f64,
    release: Release,
}

impl Phase<'_> {
    /// Idle time before the steps, and after the last one until all copies are complete; `None` if
    /// a step never fits.
    fn play(&self, steps: &[ChainStep]) -> Option<(f64, f64)> {
        let (mut clock, mut idle) = (0.0, 0.0);
        // Begin and end of each copy that may begin, in order.
        let mut spans: Vec<(f64, f64)> = Vec::new();
        for (k, step) in steps.iter().enumerate() {
            self.begin(&mut spans, k, clock);
            let start = self.start(step, k, clock, &spans)?;
            idle += start - clock;
            clock = start + step.time;
        }
        self.begin(&mut spans, steps.len(), clock);
        let end = spans.last().map_or(clock, |span| span.1.max(clock));
        Some((idle, end - clock))
    }

    /// Queues the copies that may begin with a step.
    fn begin(&self, spans: &mut Vec<(f64, f64)>, step: usize, clock: f64) {
        while let Some(copy) = self.copies.get(spans.len()).filter(|c| c.ready <= step) {
            let free = spans.last().map_or(0.0, |span| span.1);
            let begin = clock.max(free);
            spans.push((begin, begin + copy.bytes as f64 / self.rate));
        }
    }

    /// First moment from `clock` on at which a step fits.
    fn start(&self, step: &ChainStep, k: usize, clock: f64, spans: &[(f64, f64)]) -> Option<f64> {
        let Some(over) = step.need_bytes.checked_sub(self.memory_bytes) else {
            return Some(clock);
        };
        let mut left = over as f64;
        let mut at = clock;
        // Values without further reads, in the order in which they leave.
        let gone = self.copies.iter().zip(spans).filter(|(c, _)| c.last < k);
        for (copy, &(begin, end)) in gone {
            if left <= 0.0 {
                break;
            }
            at = match self.release {
                Release::AtOnce => at.max(end),
                Release::Continuous => at.max(end.min(begin + left / self.rate)),
            };
            left -= copy.bytes as f64;
        }
        (left <= 0.0).then_some(at)
    }
}
