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

/// What the nodes of a round are solved with.
#[derive(Clone, Copy)]
pub(super) struct Effort<'a> {
    /// The least bound that closes a node.
    pub target: u64,
    pub settings: &'a TreeSettings,
    pub history: &'a History,
    /// Trials have taken their share of the work.
    pub thrifty: bool,
}

/// Trials of branchings, and the work they took.
pub(super) struct Trials<Q> {
    pub made: Vec<(Open<Q>, [f64; 2])>,
    pub work: Work,
}

impl<Q> Default for Trials<Q> {
    fn default() -> Self {
        Trials {
            made: Vec::new(),
            work: Work::default(),
        }
    }
}

/// The branching whose trial, or history, promises most: candidates in the order of what history expects of them, until
/// some in a row did not do better than the best, or all as long as that one is poor. Trials are short: many candidates that
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
            if let Some((tried, work)) = tried {
                trials.made.push((**candidate, tried));
                trials.work = trials.work + work;
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

/// Gains of a branching down and up, and the work it took to find out.
type Trial = ([f64; 2], Work);

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
    let mut gains = [0.0; 2];
    let mut all = Work::default();
    for (gain, branch) in gains.iter_mut().zip(candidate.branches()) {
        let (after, work) = relax.master.probe(
            &branch,
            effort.settings.strong_iterations,
            relax.value + enough,
        )?;
        all = all + work;
        *gain = (after - relax.value).clamp(0.0, enough);
    }
    Ok(Some((gains, all)))
}
