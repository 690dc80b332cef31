//! When a search refutes levels, and with how many cuts.

use super::bounds::{Needs, node_cuts};
use super::ends::Ends;
use super::lanes::RoundKnowledge;
use super::precedence::{Effort, Refutation};

/// Cuts of the first attempt, for each operator of the graph. An attempt that needs more doubles
/// those of the next.
const FIRST_CUTS: usize = 8;
/// A level is given up after so many operators in a row that imply nothing.
const IDLE_OPERATORS: usize = 32;
/// Later attempts have one cut for so many sets that the searches visit.
const STATES_PER_CUT: u64 = 4;

/// Attempts to raise the bound by the precedence that levels imply.
pub(super) struct Refutations<'a> {
    ends: &'a Ends,
    /// The node cuts of the graph, from the first attempt on.
    needs: Option<Needs>,
    /// Bound and peak at the last attempt.
    tried: Option<(u64, u64)>,
    /// The last attempt ran out of cuts.
    is_short: bool,
    /// Cuts of the next attempt, and of all so far.
    cuts: usize,
    spent: usize,
}

impl<'a> Refutations<'a> {
    /// No attempt so far.
    pub fn new(ends: &'a Ends) -> Self {
        Refutations {
            ends,
            needs: None,
            tried: None,
            is_short: false,
            cuts: FIRST_CUTS * ends.forward.len,
            spent: 0,
        }
    }

    /// Returns whether an attempt is due: at first, and when bound or peak have changed or cuts were
    /// missing, if the searches have visited enough sets.
    pub fn is_due(&self, known: &RoundKnowledge, states: u64) -> bool {
        let is_news = self.is_short || self.tried != Some((known.bound, known.peak));
        let is_earned = (self.spent + self.cuts) as u64 <= states / STATES_PER_CUT;
        is_news && (self.tried.is_none() || is_earned)
    }

    /// Tries to refute the level below the best order, then the level of the bound, again with each
    /// bound that follows. Returns the bound, and the number of cuts.
    pub fn attempt(&mut self, known: &RoundKnowledge, is_over: &dyn Fn() -> bool) -> (u64, usize) {
        self.tried = Some((known.bound, known.peak));
        let (ends, mut bound, mut cuts) = (self.ends, known.bound, 0);
        let compute = || node_cuts(&ends.forward, &ends.reach, is_over);
        let needs = self.needs.get_or_insert_with(compute);
        let (mut level, mut is_last) = (known.cap(), false);
        while cuts < self.cuts && !known.is_settled_by(bound) && !is_over() {
            let effort = Effort {
                cuts: self.cuts - cuts,
                idle: IDLE_OPERATORS,
                is_over,
            };
            let mut refutation = Refutation::of(ends, level);
            let refuted = refutation.run(needs, &effort, &mut |_, _, _| {});
            cuts += refutation.cuts;
            match refuted {
                Some(proven) => bound = bound.max(proven.min(known.peak)),
                None if is_last => break,
                None => is_last = true,
            }
            level = bound;
        }
        self.spent += cuts;
        self.is_short = cuts >= self.cuts;
        if self.is_short {
            self.cuts *= 2;
        }
        (bound, cuts)
    }
}
