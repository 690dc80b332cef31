//! Which branching a node gets: candidates are tried by dual simplex, as far as history does not know better.

use super::history::History;
use super::relax::Relaxation;
use super::{Open, Program, TreeSettings, Work};
use rayon::prelude::*;
use remat_lp::ModelError;

/// A branching that gains less than this share of what would close a node, on one side, is poor.
const POOR: f64 = 0.1;
/// Branchings tried side by side: fixed as well.
const BATCH: usize = 4;
/// Trials are as long as the first ones until they have taken so many times the work of the root.
pub(super) const FIRST_WORK: u64 = 10;
/// Later ones are so many times as long where most of them do not end.
const LONGER: u64 = 2;
/// Most: more than this share, and as long as it is not less than that.
const MOST: f64 = 0.5;
const FEW: f64 = 0.2;

/// What the nodes of a round are solved with.
#[derive(Clone, Copy)]
pub(super) struct Effort<'a> {
    /// The least bound that closes a node.
    pub target: u64,
    /// The cost to beat: what no schedule below it does is excluded.
    pub cutoff: u64,
    pub settings: &'a TreeSettings,
    pub history: &'a History,
    /// Trials have taken their share of the work.
    pub thrifty: bool,
    pub length: Length,
}

/// How long trials are: the first ones, which decide on the whole tree, longest, if most of them end.
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
            (false, true) => settings.strong_iterations * LONGER,
            (false, false) => settings.strong_iterations,
        }
    }

    /// Notes how many of so many solves the limit has ended, and whether the time of the first ones is over.
    pub fn note(&mut self, solves: u64, limited: u64, over: bool) {
        let least = if self.long { FEW } else { MOST };
        if solves > 0 {
            self.long = limited as f64 > least * solves as f64;
        }
        self.first &= !over && limited as f64 <= MOST * solves as f64;
    }
}

/// Trials of branchings, and the work they took.
pub(super) struct Trials<Q> {
    pub made: Vec<(Open<Q>, [f64; 2])>,
    pub work: Work,
    /// Solves that the limit of iterations has ended, of two for each trial.
    pub limited: u64,
}

impl<Q> Default for Trials<Q> {
    fn default() -> Self {
        Trials {
            made: Vec::new(),
            work: Work::default(),
            limited: 0,
        }
    }
}

/// The branching whose trial, or history, promises most: candidates in the order of what history expects of them, until
/// some in a row did not do better than the best, or all as long as that one is poor. Most trials are short: many candidates that
/// are tried a little find better branchings than a few that are tried to their end.
pub(super) fn choose<P: Program>(
    relax: &Relaxation<P>,
    open: &[Open<P::Quantity>],
    effort: &Effort<'_>,
    trials: &mut Trials<P::Quantity>,
) -> Result<(Open<P::Quantity>, [f64; 2]), ModelError> {
    let Effort {
        target,
        settings,
        history,
        ..
    } = *effort;
    let value = relax.value;
    // What goes beyond the target closes the child, however far.
    let enough = match target {
        u64::MAX => 0.1 * value.max(1.0),
        _ => (target as f64 - value).max(1.0) * 1.1,
    };
    let least = 1e-3 * enough;
    let score = |gains: [f64; 2]| {
        let [a, b] = gains.map(|g| g.clamp(least, enough));
        a * b
    };
    let expected = |o| score(history.expect::<P>(o));
    let mut order: Vec<(f64, &Open<P::Quantity>)> = open.iter().map(|o| (expected(o), o)).collect();
    order.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut best: Option<(f64, Open<P::Quantity>, [f64; 2])> = None;
    let mut idle = 0;
    order.truncate(settings.strong_candidates);
    'batches: for batch in order.chunks(BATCH) {
        let tried: Vec<Option<Trial>> = batch
            .par_iter()
            .map(|(_, candidate)| try_out(relax, candidate, enough, effort))
            .collect::<Result<_, _>>()?;
        for ((_, candidate), tried) in batch.iter().zip(tried) {
            let mut gains = history.expect::<P>(candidate);
            if let Some(Trial {
                gains: tried,
                work,
                limited,
            }) = tried
            {
                trials.made.push((**candidate, tried));
                trials.work = trials.work + work;
                trials.limited += limited;
                // A trial cannot tell more than what such branchings have gained.
                let truth = history.expect_gained::<P>(candidate);
                gains =
                    std::array::from_fn(|k| truth[k].map_or(tried[k], |t| tried[k].min(2.0 * t)));
            }
            idle += 1;
            let score = score(gains);
            if best.as_ref().is_none_or(|b| score > b.0) {
                best = Some((score, **candidate, gains));
                idle = 0;
            }
            let poor = best
                .as_ref()
                .is_none_or(|b| b.2[0].min(b.2[1]) < POOR * enough);
            let seeks = poor && !effort.thrifty;
            if !seeks && idle >= settings.strong_patience {
                break 'batches;
            }
        }
    }
    let (_, open, gains) = best.unwrap_or((0.0, open[0], [0.0; 2]));
    Ok((open, gains))
}

/// Gains of a branching down and up, and what it took to find out.
struct Trial {
    gains: [f64; 2],
    work: Work,
    /// Solves that the limit of iterations has ended.
    limited: u64,
}

/// What a branching gains in the restricted program, down and up, at most `enough`; `None` where history knows better.
fn try_out<P: Program>(
    relax: &Relaxation<P>,
    candidate: &Open<P::Quantity>,
    enough: f64,
    effort: &Effort<'_>,
) -> Result<Option<Trial>, ModelError> {
    if effort.thrifty && effort.history.is_reliable::<P>(candidate) {
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

    /// Lengths after rounds of a hundred solves of which so many were ended.
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
        assert!(first > LONGER * short);
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
