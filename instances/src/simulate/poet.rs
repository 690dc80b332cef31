//! POET's memory semantics (Patil et al., ICML 2022): Checkmate's, with pages.

use super::checkmate::{ExtraTerms, replay_with};
use super::{Replay, ReplayError};
use crate::instance::{Instance, NodeId};
use crate::schedule::{PoetSchedule, PoetTerms};

/// Replays a schedule of POET's program.
///
/// Memory and computations are as in [`checkmate`](super::checkmate()). A tensor that is paged out
/// in a stage must be in memory at its start. A page-in in a stage needs a page-out in an earlier
/// one. The tensor takes no memory in that stage, and is retained into the next. Pages have the
/// costs in `terms` and take no time. Secondary storage is unlimited. An input that is listed
/// several times is freed as often; the memory at the start of a stage is counted anew.
///
/// # Errors
/// [`ReplayError`] names the first stage, node and tensor at which the schedule cannot be executed.
///
/// ```
/// use remat_instances::schedule::{CheckmateSchedule, PoetSchedule, PoetTerms};
/// use remat_instances::simulate;
///
/// let instance = remat_instances::zoo::build(&"zoo:chain?n=4".parse()?)?;
/// let all = PoetSchedule::plain(CheckmateSchedule::checkpoint_all(&instance));
/// let pages = vec![None; instance.len()];
/// let terms = PoetTerms { pages, ..PoetTerms::default() };
/// let replay = simulate::poet(&instance, &terms, &all)?;
/// assert_eq!(replay.cost, instance.base_cost());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn poet(
    instance: &Instance,
    terms: &PoetTerms,
    schedule: &PoetSchedule,
) -> Result<Replay, ReplayError> {
    let n = instance.len();
    let pages = &terms.pages;
    let paged_in = &schedule.paged_in;
    let shape = |what, rows, columns| {
        let fits = rows == n && columns == n;
        let error = ReplayError::Shape {
            what,
            found_rows: rows,
            found_columns: columns,
            rows: n,
            columns: n,
        };
        if fits { Ok(()) } else { Err(error) }
    };
    shape(
        "the matrix of page-ins",
        paged_in.rows(),
        paged_in.columns(),
    )?;
    shape("the list of page-outs", schedule.paged_out.len(), n)?;
    shape("the list of costs of pages", pages.len(), n)?;
    let retained = &schedule.schedule.retained;
    shape("the retained matrix S", retained.rows(), retained.columns())?;
    let no_page = |stage: usize, i: usize, verb: &'static str, because: &'static str| {
        let node = NodeId::from(i);
        ReplayError::NoPage {
            stage,
            node,
            node_name: instance.node(node).name.clone(),
            verb,
            because,
        }
    };
    let mut cost = 0;
    for (i, out) in schedule.paged_out.iter().enumerate() {
        let Some(stage) = out.map(|stage| stage as usize) else {
            continue;
        };
        let costs = pages[i].ok_or_else(|| no_page(stage, i, "out", "it has no pages"))?;
        if stage >= n || !retained.get(stage, i) {
            return Err(no_page(
                stage,
                i,
                "out",
                "it is not in memory when the stage starts",
            ));
        }
        cost += costs.out;
    }
    for t in 0..n {
        for i in paged_in.ones(t) {
            let costs = pages[i].ok_or_else(|| no_page(t, i, "in", "it has no pages"))?;
            if schedule.paged_out[i].is_none_or(|stage| stage as usize >= t) {
                return Err(no_page(t, i, "in", "no earlier stage paged it out"));
            }
            cost += costs.back;
        }
    }
    let comes = |stage: usize, i: u32| paged_in.get(stage, i as usize);
    let beside = ExtraTerms {
        comes: &comes,
        freed: &|input, reader| terms.freed_again(input, reader),
        cost,
    };
    replay_with(instance, &schedule.schedule, &beside)
}
