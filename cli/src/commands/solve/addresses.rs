//! Failures of addresses.

use crate::failure::Failure;
use remat_memory::place::PlacePlanError;

/// The failure for a plan that cannot be placed.
pub(super) fn failure(problem: &PlacePlanError) -> Failure {
    Failure::Usage {
        problem: format!("--addresses: {problem}"),
        remedy: "the plan is there without them; give an instance of smaller sizes".into(),
    }
}
