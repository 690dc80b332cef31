//! The fullest moment since another one.

use crate::simulate::Replay;

/// A moment while statements are gone through.
#[derive(Clone, Copy)]
pub(super) struct Since {
    /// Computations before it.
    pub computations: usize,
    /// Number of moments before it.
    moment: usize,
}

/// A moment with its memory: a computation, or a statement about a copy with the computation that
/// comes next.
struct FullMoment {
    at: usize,
    computation: usize,
    bytes: u64,
}

/// Moments after which none so far is fuller, in order: the first of them from a moment on is the
/// fullest since.
#[derive(Default)]
pub(super) struct Fullest {
    fuller: Vec<FullMoment>,
    moments: usize,
    /// Moments of copies gone through.
    copies: usize,
}

impl Fullest {
    /// The moment that is reached, after so many computations.
    pub fn now(&self, computations: usize) -> Since {
        Since {
            computations,
            moment: self.moments,
        }
    }

    /// The computation at which most memory was in use since a moment, and how much.
    pub fn since(&self, since: Since) -> Option<(usize, u64)> {
        let first = self.fuller.partition_point(|m| m.at < since.moment);
        self.fuller.get(first).map(|m| (m.computation, m.bytes))
    }

    /// A computation runs.
    pub fn computation(&mut self, replay: &Replay, computation: usize) {
        self.pass(computation, replay.timeline[computation].bytes);
    }

    /// A statement was gone through: moments of copies up to it count.
    pub fn copies(&mut self, replay: &Replay, statement: usize) {
        let moments = &replay.transfers.moments;
        while let Some(moment) = moments.get(self.copies)
            && moment.statement <= statement
        {
            self.copies += 1;
            let last = replay.timeline.len().saturating_sub(1);
            self.pass(moment.after.min(last), moment.bytes);
        }
    }

    fn pass(&mut self, computation: usize, bytes: u64) {
        while self.fuller.pop_if(|m| m.bytes < bytes).is_some() {}
        let at = self.moments;
        self.moments += 1;
        self.fuller.push(FullMoment {
            at,
            computation,
            bytes,
        });
    }
}
