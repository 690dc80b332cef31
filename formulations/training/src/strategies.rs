//! The known strategies in one table: combinatorial heuristics, and those that round a relaxation.

use crate::baselines::{self, Baseline};
use crate::checkmate::rounding;
use std::sync::LazyLock;

static ALL: LazyLock<Vec<Baseline>> =
    LazyLock::new(|| [baselines::all(), &rounding::STRATEGIES].concat());

/// All strategies, in the order in which they are shown.
///
/// ```
/// use remat_formulations::strategies;
/// assert!(strategies::all().iter().any(|one| one.name == "revolve"));
/// ```
pub fn all() -> &'static [Baseline] {
    &ALL
}

/// A strategy by its name.
pub fn by_name(name: &str) -> Option<&'static Baseline> {
    ALL.iter().find(|one| one.name == name)
}
