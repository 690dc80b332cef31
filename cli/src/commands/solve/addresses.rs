//! A plan that has no addresses, in words.

use crate::failure::Failure;
use remat_memory::place::PlacePlanError;

/// The failure of a plan that was found, and has no addresses.
pub(super) fn failure(problem: &PlacePlanError) -> Failure {
    Failure::Usage {
        problem: format!("--addresses: {problem}"),
        remedy: "the plan is there without them; give an instance of smaller sizes".into(),
    }
}
