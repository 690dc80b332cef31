//! Stretches of a sequence that repeat themselves, found in time `O(n log n)` for a length of `n`.
//!
//! Take a stretch of period `p` that repeats twelve times, and the power of two `b` with
//! `b <= p < 2 b`. It contains a multiple of `4 b` from which on the next `2 b` elements come again
//! `p` further on. So at every scale `b` only multiples of `4 b` are compared with the places `b`
//! to `2 b` further on, by hashes of `2 b` elements. Matches are extended to either side, element
//! by element. (Two stretches of one scale have less than `4 b` in common, or both have a period
//! below `b`.)

use std::cmp::Reverse;
use std::ops::Range;

/// Repetitions that a stretch has at least.
pub(super) const LEAST_LAYERS: usize = 12;
/// Elements between two compared places, as a multiple of the least period of their scale.
const STRIDE: usize = 4;
/// Modulus of the hashes, a Mersenne prime, and their base.
const MODULUS: u64 = (1 << 61) - 1;
const BASE: u64 = 0x1d3f_84a5_c6e2_97b1 % MODULUS;

/// Elements that repeat themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Repeat {
    pub begin: usize,
    pub period: usize,
    pub layers: usize,
}

/// The runs of a range of a sequence, ascending: the longest run, and the runs before and behind
/// it.
pub(super) fn runs(kinds: &[u32], range: Range<usize>) -> Vec<Repeat> {
    let own = &kinds[range.clone()];
    let mut out = Vec::new();
    let mut open = vec![(0..own.len(), stretches(own))];
    while let Some((left, stretches)) = open.pop() {
        let clipped: Vec<PeriodicRange> =
            stretches.iter().filter_map(|s| s.within(&left)).collect();
        // Of equal lengths the least period, then the first place.
        let rank = |s: &&PeriodicRange| (s.len(), Reverse(s.period), Reverse(s.begin));
        let Some(best) = clipped.iter().max_by_key(rank) else {
            continue;
        };
        let layers = best.len() / best.period;
        let end = best.begin + layers * best.period;
        out.push(Repeat {
            begin: range.start + best.begin,
            period: best.period,
            layers,
        });
        open.push((end..left.end, clipped.clone()));
        open.push((left.start..best.begin, clipped));
    }
    out.sort_by_key(|run| run.begin);
    out
}

/// Elements `begin..end`, each equal to the one a period further on, if that is in the range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PeriodicRange {
    begin: usize,
    end: usize,
    period: usize,
}

impl PeriodicRange {
    fn len(&self) -> usize {
        self.end - self.begin
    }

    /// The part in a range, if it still repeats itself often enough.
    fn within(&self, range: &Range<usize>) -> Option<PeriodicRange> {
        let (begin, end) = (self.begin.max(range.start), self.end.min(range.end));
        let is_long = end >= begin + LEAST_LAYERS * self.period;
        is_long.then_some(PeriodicRange {
            begin,
            end,
            ..*self
        })
    }
}

/// The stretches of a sequence that repeat themselves often enough and can be extended to neither
/// side. If the least period of a stretch is of a smaller scale, a multiple may be listed as well.
fn stretches(kinds: &[u32]) -> Vec<PeriodicRange> {
    let hashes = Hashes::new(kinds);
    let mut found: Vec<PeriodicRange> = Vec::new();
    let mut least = 1;
    while LEAST_LAYERS * least <= kinds.len() {
        let window = 2 * least;
        // End of the last stretch of this scale.
        let mut end = 0;
        for at in (0..kinds.len()).step_by(STRIDE * least) {
            if at + window <= end {
                continue;
            }
            let most = kinds.len().saturating_sub(at + window);
            let is_like = |p: &usize| hashes.of(at, window) == hashes.of(at + p, window);
            let Some(period) = (least..window.min(most + 1)).find(is_like) else {
                continue;
            };
            let stretch = extended(kinds, at, period);
            end = stretch.end;
            if let Some(long) = stretch.within(&(0..kinds.len())) {
                found.push(long);
            }
        }
        least = window;
    }
    found
}

/// The stretch of a period around a place.
fn extended(kinds: &[u32], at: usize, period: usize) -> PeriodicRange {
    let is_equal = |i: &usize| kinds[*i] == kinds[i + period];
    let behind = (at..kinds.len() - period).take_while(is_equal).count();
    let before = (0..at).rev().take_while(is_equal).count();
    PeriodicRange {
        begin: at - before,
        end: at + behind + period,
        period,
    }
}

/// Polynomial hashes of all prefixes of a sequence, and the powers of their base.
struct Hashes {
    prefixes: Vec<u64>,
    powers: Vec<u64>,
}

impl Hashes {
    fn new(kinds: &[u32]) -> Self {
        let (mut prefixes, mut powers) = (vec![0], vec![1]);
        let (mut sum, mut power) = (0, 1);
        for kind in kinds {
            sum = (product(sum, BASE) + u64::from(*kind) + 1) % MODULUS;
            power = product(power, BASE);
            prefixes.push(sum);
            powers.push(power);
        }
        Hashes { prefixes, powers }
    }

    /// The hash of so many elements from a place on.
    fn of(&self, at: usize, len: usize) -> u64 {
        let before = product(self.prefixes[at], self.powers[len]);
        (self.prefixes[at + len] + MODULUS - before) % MODULUS
    }
}

fn product(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(MODULUS)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The runs by their definition: all periods, all places.
    fn plain(kinds: &[u32], range: Range<usize>, out: &mut Vec<Repeat>) {
        let mut best: Option<(usize, Repeat)> = None;
        for period in 1..=range.len() / LEAST_LAYERS {
            let mut begin = range.start;
            for i in range.start..range.end - period + 1 {
                if i + period < range.end && kinds[i] == kinds[i + period] {
                    continue;
                }
                let covered = i - begin + period;
                let layers = covered / period;
                let is_best = best.is_none_or(|(most, _)| covered > most);
                if layers >= LEAST_LAYERS && is_best {
                    let run = Repeat {
                        begin,
                        period,
                        layers,
                    };
                    best = Some((covered, run));
                }
                begin = i + 1;
            }
        }
        if let Some((_, run)) = best {
            plain(kinds, range.start..run.begin, out);
            out.push(run);
            plain(kinds, run.begin + run.layers * run.period..range.end, out);
        }
    }

    /// Pieces of some period, each repeated some times and a bit.
    fn pieces() -> impl Strategy<Value = Vec<u32>> {
        let piece = (prop::collection::vec(0..3u32, 1..9), 1..20usize, 0..9usize);
        prop::collection::vec(piece, 0..5).prop_map(|pieces| {
            let repeated = pieces.into_iter().flat_map(|(piece, times, more)| {
                let len = times * piece.len() + more % piece.len();
                piece.into_iter().cycle().take(len).collect::<Vec<_>>()
            });
            repeated.collect()
        })
    }

    proptest! {
        #[test]
        fn runs_are_those_of_all_periods(kinds in pieces(), cut in 0..40usize) {
            let range = cut.min(kinds.len())..kinds.len();
            let mut all = Vec::new();
            plain(&kinds, range.clone(), &mut all);
            prop_assert_eq!(runs(&kinds, range), all);
        }
    }
}
