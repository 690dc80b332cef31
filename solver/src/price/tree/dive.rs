//! Dives: from a node straight down to a solution, with pricing on the way (Sadykov, Vanderbeck,
//! Pessoa, Tahiri & Uchoa 2019, *Primal heuristics for branch and price: the assets of diving
//! methods*, INFORMS Journal on Computing 31).

use super::Visited;
use crate::price::relaxation::{RelaxEnd, Relaxation, Until};
use crate::price::{Branch, Open, Program};
use remat_lp::ModelError;

/// Dives from a solved node: rounds up the open quantity that is nearest to its next integer, and
/// prices again. The dive ends when the point is integral, the roundings are infeasible, or the
/// bound reaches the target. Its bounds hold below these roundings only, so the node keeps its own
/// proof.
pub(super) fn dive<P: Program>(
    relax: &mut Relaxation<P>,
    branches: &[Branch<P::Quantity>],
) -> Result<Option<Visited<P>>, ModelError> {
    let (proof, bound) = (relax.proof.clone(), relax.bound);
    let end = go_down(relax, branches.to_vec());
    (relax.proof, relax.bound) = (proof, bound);
    Ok(end?.then(|| Visited {
        point: relax.point.clone(),
        integral: true,
    }))
}

/// Returns whether the dive found a solution.
fn go_down<P: Program>(
    relax: &mut Relaxation<P>,
    mut branches: Vec<Branch<P::Quantity>>,
) -> Result<bool, ModelError> {
    let exclusions = relax.master.exclusions().clone();
    let mut open = relax.program().open(&relax.point, usize::MAX);
    while let Some([_, up]) = nearest_to_next(&open).map(Open::branches) {
        branches.retain(|b| b.quantity != up.quantity || !b.at_least);
        branches.push(up);
        relax.enter(&branches, exclusions.clone(), relax.bound)?;
        if relax.converge(Until::Stalled, None)? != RelaxEnd::Converged {
            return Ok(false);
        }
        let Some(left) = relax.open(usize::MAX)? else {
            return Ok(false);
        };
        open = left;
    }
    Ok(true)
}

/// The open quantity whose value is nearest to the integer above it; the first one in a tie.
fn nearest_to_next<Q: Clone>(open: &[Open<Q>]) -> Option<&Open<Q>> {
    open.iter()
        .min_by(|a, b| a.distance(true).total_cmp(&b.distance(true)))
}
