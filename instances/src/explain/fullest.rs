//! The fullest moment since a given one.

use crate::simulate::Replay;

/// A moment during the processing of statements.
#[derive(Clone, Copy)]
pub(super) struct Since {
    /// Number of computations before it.
    pub computations: usize,
    /// Number of moments before it.
    moment: usize,
}

/// A moment with its memory use: a computation, or a statement about a copy together with the next
/// computation.
struct FullMoment {
    at: usize,
    computation: usize,
    bytes: u64,
}

/// Moments that no later moment exceeds, in order. The first of them from a given moment on is the
/// fullest since then.
#[derive(Default)]
pub(super) struct Fullest {
    fuller: Vec<FullMoment>,
    moments: usize,
    /// Number of processed moments of copies.
    copies: usize,
}

impl Fullest {
    /// The present moment, after the given number of computations.
    pub fn now(&self, computations: usize) -> Since {
        Since {
            computations,
            moment: self.moments,
        }
    }

    /// The computation with the largest memory use since a moment, and that use in bytes.
    pub fn since(&self, since: Since) -> Option<(usize, u64)> {
        let first = self.fuller.partition_point(|m| m.at < since.moment);
        self.fuller.get(first).map(|m| (m.computation, m.bytes))
    }

    /// Records a computation.
    pub fn computation(&mut self, replay: &Replay, computation: usize) {
        self.pass(computation, replay.timeline[computation].bytes);
    }

    /// Records a processed statement: moments of copies up to it now count.
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
