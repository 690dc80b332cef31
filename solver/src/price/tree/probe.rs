//! Strong branching: the dual simplex tries candidates whose pseudo-costs are not yet reliable.

use super::TreeSettings;
use super::pseudocost::PseudoCosts;
use crate::price::relaxation::Relaxation;
use crate::price::{Open, Program, Work};
use rayon::prelude::*;
use remat_lp::ModelError;

/// Gain on the worse side, as a share of the gain that would close the node, below which more
/// candidates are tried.
const WANTED_GAIN_SHARE: f64 = 0.1;
/// Limit on the work of the first trials, in multiples of the root's work.
pub(super) const FIRST_TRIALS_WORK: u64 = 10;
/// Factor by which later trials are longer while many hit their limit.
const LONG_TRIAL_FACTOR: u64 = 2;
/// Shares of trials that hit their limit: above the first one trials are lengthened, below the
/// second one shortened again.
const UNENDED_SHARE_TO_LENGTHEN: f64 = 0.5;
const UNENDED_SHARE_TO_SHORTEN: f64 = 0.2;
/// Floor of a gain, and the score of a gain that closes a child, as shares of the gain that would
/// close the node.
const GAIN_FLOOR_SHARE: f64 = 1e-3;
const CLOSING_GAIN_SHARE: f64 = 1.1;
/// The wanted gain while there is no incumbent, as a share of the value.
const GAIN_SHARE_WITHOUT_TARGET: f64 = 0.1;

/// Targets, settings and pseudo-costs for the nodes of a round.
#[derive(Clone, Copy)]
pub(super) struct Effort<'a> {
    /// The least bound that closes a node.
    pub target: u64,
    /// The cost to beat: choices of no solution below it are excluded.
    pub cutoff: u64,
    pub settings: &'a TreeSettings,
    pub pseudocosts: &'a PseudoCosts,
    /// True if trials have used up their share of the work.
    pub thrifty: bool,
    pub length: Length,
    /// True if the node is followed by a dive.
    pub dives: bool,
}

/// Lengths of trials. The first trials decide on the whole tree and are longest, provided that most
/// of them end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Length {
    first: bool,
    long: bool,
}

impl Default for Length {
    fn default() -> Self {
        Length {
            first: true,
            long: false,
        }
    }
}

impl Length {
    /// Simplex iterations of a trial.
    fn iterations(self, settings: &TreeSettings) -> u64 {
        match (self.first, self.long) {
            (true, _) => settings.strong_first_iterations,
            (false, true) => settings.strong_iterations * LONG_TRIAL_FACTOR,
            (false, false) => settings.strong_iterations,
        }
    }

    /// Updates the lengths after `solves`, of which `limited` hit the limit; `over` if the time of
    /// the first trials is over.
    pub fn note(&mut self, solves: u64, limited: u64, over: bool) {
        let least = if self.long {
            UNENDED_SHARE_TO_SHORTEN
        } else {
            UNENDED_SHARE_TO_LENGTHEN
        };
        if solves > 0 {
            self.long = limited as f64 > least * solves as f64;
        }
        self.first &= !over && limited as f64 <= UNENDED_SHARE_TO_LENGTHEN * solves as f64;
    }
}

/// Trials of branchings, and the work they took.
pub(super) struct Trials<Q> {
    pub made: Vec<(Open<Q>, [f64; 2])>,
    pub work: Work,
    /// Ticks of the longest trial of each batch, summed up.
    pub span: u64,
    /// Solves that hit the limit of iterations, two for each trial at most.
    pub limited: u64,
}

impl<Q> Default for Trials<Q> {
    fn default() -> Self {
        Trials {
            made: Vec::new(),
            work: Work::default(),
            span: 0,
            limited: 0,
        }
    }
}

/// Chooses the branching with the best gains by trial or pseudo-cost. Candidates are tried in the
/// order of their pseudo-costs, until several in a row did not beat the best one. If the best one
/// gains little, all are tried. Most trials are short: many short trials find better branchings
/// than a few complete ones.
pub(super) fn choose<P: Program>(
    relax: &Relaxation<P>,
    open: &[Open<P::Quantity>],
    effort: &Effort<'_>,
    trials: &mut Trials<P::Quantity>,
) -> Result<(Open<P::Quantity>, [f64; 2]), ModelError> {
    let Effort {
        target,
        settings,
        pseudocosts,
        ..
    } = *effort;
    let value = relax.value;
    // A gain that reaches the target closes the child; any excess is worthless.
    let enough = match target {
        u64::MAX => GAIN_SHARE_WITHOUT_TARGET * value.max(1.0),
        _ => (target as f64 - value).max(1.0) * CLOSING_GAIN_SHARE,
    };
    let least = GAIN_FLOOR_SHARE * enough;
    let score = |gains: [f64; 2]| {
        let [a, b] = gains.map(|g| g.clamp(least, enough));
        a * b
    };
    let expected = |o| score(pseudocosts.expect::<P>(o));
    let mut order: Vec<(f64, &Open<P::Quantity>)> = open.iter().map(|o| (expected(o), o)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut best: Option<(f64, Open<P::Quantity>, [f64; 2])> = None;
    let mut idle = 0;
    order.truncate(settings.strong_candidates);
    'batches: for batch in order.chunks(settings.strong_batch) {
        let tried: Vec<Option<Trial>> = batch
            .par_iter()
            .map(|(_, candidate)| try_out(relax, candidate, enough, effort))
            .collect::<Result<_, _>>()?;
        let ticks = tried.iter().flatten().map(|t| t.work.ticks);
        trials.span += ticks.max().unwrap_or(0);
        for ((_, candidate), tried) in batch.iter().zip(tried) {
            let mut gains = pseudocosts.expect::<P>(candidate);
            if let Some(Trial {
                gains: tried,
                work,
                limited,
            }) = tried
            {
                trials.made.push(((*candidate).clone(), tried));
                trials.work = trials.work + work;
                trials.limited += limited;
                // A trial is not trusted beyond twice the true gains of such branchings.
                let truth = pseudocosts.expect_gained::<P>(candidate);
                gains =
                    std::array::from_fn(|k| truth[k].map_or(tried[k], |t| tried[k].min(2.0 * t)));
            }
            idle += 1;
            let score = score(gains);
            if best.as_ref().is_none_or(|b| score > b.0) {
                best = Some((score, (*candidate).clone(), gains));
                idle = 0;
            }
            let poor = best
                .as_ref()
                .is_none_or(|b| b.2[0].min(b.2[1]) < WANTED_GAIN_SHARE * enough);
            let seeks = poor && !effort.thrifty;
            if !seeks && idle >= settings.strong_patience {
                break 'batches;
            }
        }
    }
    let (_, open, gains) = best.unwrap_or_else(|| (0.0, open[0].clone(), [0.0; 2]));
    Ok((open, gains))
}

/// Gains of a branching down and up, and the work of the trial.
struct Trial {
    gains: [f64; 2],
    work: Work,
    /// Solves that hit the limit of iterations.
    limited: u64,
}

/// Tries a branching in the restricted master: its gains down and up, each at most `enough`. `None`
/// if its pseudo-costs are reliable and trials are limited.
fn try_out<P: Program>(
    relax: &Relaxation<P>,
    candidate: &Open<P::Quantity>,
    enough: f64,
    effort: &Effort<'_>,
) -> Result<Option<Trial>, ModelError> {
    if effort.thrifty && effort.pseudocosts.is_reliable::<P>(candidate) {
        return Ok(None);
    }
    let iterations = effort.length.iterations(effort.settings);
    let mut trial = Trial {
        gains: [0.0; 2],
        work: Work::default(),
        limited: 0,
    };
    for (gain, branch) in trial.gains.iter_mut().zip(candidate.branches()) {
        let most = relax.value + enough;
        let (after, work) = relax.master.probe(&branch, iterations, most)?;
        trial.work = trial.work + work;
        trial.limited += u64::from(work.iterations >= iterations);
        *gain = (after - relax.value).clamp(0.0, enough);
    }
    Ok(Some(trial))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths after rounds of 100 solves, of which `limited` hit the limit.
    fn after(length: &mut Length, limited: &[u64], over: bool) -> Vec<u64> {
        let settings = TreeSettings::default();
        let mut note = |limited: &u64| {
            length.note(100, *limited, over);
            length.iterations(&settings)
        };
        limited.iter().map(&mut note).collect()
    }

    #[test]
    fn trials_are_longer_from_where_most_do_not_end_to_where_nearly_all_do() {
        let short = TreeSettings::default().strong_iterations;
        let mut length = Length::default();
        let lengths = after(&mut length, &[30, 50, 51, 30, 21, 20, 30], true);
        assert_eq!(lengths, [1, 1, 2, 2, 2, 1, 1].map(|k| k * short));
        length.note(0, 0, true);
        assert_eq!(length.iterations(&TreeSettings::default()), short);
    }

    #[test]
    fn the_first_trials_are_longest_until_most_do_not_end_or_their_time_is_over() {
        let TreeSettings {
            strong_first_iterations: first,
            strong_iterations: short,
            ..
        } = TreeSettings::default();
        assert!(first > LONG_TRIAL_FACTOR * short);
        let mut length = Length::default();
        assert_eq!(after(&mut length, &[0, 50], false), [first, first]);
        assert_eq!(
            after(&mut length, &[51, 30, 20], false),
            [2 * short, 2 * short, short]
        );
        let mut length = Length::default();
        assert_eq!(after(&mut length, &[10], false), [first]);
        assert_eq!(after(&mut length, &[10], true), [short]);
        assert_eq!(after(&mut length, &[10], false), [short]);
    }
}
