//! Numbers of the C interface; the header has each of them under the same name.

use remat_models::program::Ending;
use remat_search::Status;
use std::ffi::c_int;

/// Success.
pub const REMAT_OK: c_int = 0;
/// A pointer is null where it must not be.
pub const REMAT_ERROR_NULL: c_int = 1;
/// A model was freed, or the handle was never given out.
pub const REMAT_ERROR_HANDLE: c_int = 2;
/// A number, length, name or text is invalid.
pub const REMAT_ERROR_ARGUMENT: c_int = 3;
/// A file cannot be read or written.
pub const REMAT_ERROR_FILE: c_int = 4;
/// The last solve has no such result.
pub const REMAT_ERROR_NO_RESULT: c_int = 5;
/// The model is being solved.
pub const REMAT_ERROR_BUSY: c_int = 6;
/// The solve could not be carried out.
pub const REMAT_ERROR_SOLVE: c_int = 7;
/// A defect of the library.
pub const REMAT_ERROR_INTERNAL: c_int = 8;

/// Not solved since the last edit.
pub const REMAT_STATUS_NONE: c_int = 0;
/// Optimal within the gaps.
pub const REMAT_STATUS_OPTIMAL: c_int = 1;
/// No feasible point exists.
pub const REMAT_STATUS_INFEASIBLE: c_int = 2;
/// The objective is unbounded.
pub const REMAT_STATUS_UNBOUNDED: c_int = 3;
/// No point is better than the cutoff.
pub const REMAT_STATUS_CUTOFF: c_int = 4;
/// The time limit was reached.
pub const REMAT_STATUS_TIME_LIMIT: c_int = 5;
/// The limit on nodes was reached.
pub const REMAT_STATUS_NODE_LIMIT: c_int = 6;
/// The limit on simplex iterations was reached.
pub const REMAT_STATUS_ITERATION_LIMIT: c_int = 7;
/// The limit on memory was reached.
pub const REMAT_STATUS_MEMORY_LIMIT: c_int = 8;
/// The limit on work was reached.
pub const REMAT_STATUS_WORK_LIMIT: c_int = 9;
/// Interrupted, or ended by a callback.
pub const REMAT_STATUS_INTERRUPTED: c_int = 10;
/// Numerical trouble that all remedies failed to solve.
pub const REMAT_STATUS_NUMERIC: c_int = 11;
/// A plan that is not proven best; for plans only.
pub const REMAT_STATUS_FEASIBLE: c_int = 12;
/// A limit was reached without a plan; for plans only.
pub const REMAT_STATUS_LIMIT: c_int = 13;
/// The relaxation is unbounded and no point was found.
pub const REMAT_STATUS_INFEASIBLE_OR_UNBOUNDED: c_int = 14;

/// The objective is minimised.
pub const REMAT_MINIMISE: c_int = 1;
/// The objective is maximised.
pub const REMAT_MAXIMISE: c_int = -1;

/// A matrix by columns.
pub const REMAT_BY_COLUMNS: c_int = 1;
/// A matrix by rows.
pub const REMAT_BY_ROWS: c_int = 2;

/// Number of an ending.
pub fn of_ending(ending: Ending) -> c_int {
    match ending {
        Ending::Optimal => REMAT_STATUS_OPTIMAL,
        Ending::Infeasible => REMAT_STATUS_INFEASIBLE,
        Ending::Unbounded => REMAT_STATUS_UNBOUNDED,
        Ending::InfeasibleOrUnbounded => REMAT_STATUS_INFEASIBLE_OR_UNBOUNDED,
        Ending::Cutoff => REMAT_STATUS_CUTOFF,
        Ending::TimeLimit => REMAT_STATUS_TIME_LIMIT,
        Ending::NodeLimit => REMAT_STATUS_NODE_LIMIT,
        Ending::IterationLimit => REMAT_STATUS_ITERATION_LIMIT,
        Ending::MemoryLimit => REMAT_STATUS_MEMORY_LIMIT,
        Ending::WorkLimit => REMAT_STATUS_WORK_LIMIT,
        Ending::Interrupted => REMAT_STATUS_INTERRUPTED,
        Ending::Numeric => REMAT_STATUS_NUMERIC,
    }
}

/// Number of a plan's status.
pub fn of_plan(status: Status) -> c_int {
    match status {
        Status::Optimal => REMAT_STATUS_OPTIMAL,
        Status::Feasible => REMAT_STATUS_FEASIBLE,
        Status::Infeasible => REMAT_STATUS_INFEASIBLE,
        Status::Limit => REMAT_STATUS_LIMIT,
        Status::Interrupted => REMAT_STATUS_INTERRUPTED,
    }
}

/// Words of a status.
pub fn words(status: c_int) -> Option<&'static std::ffi::CStr> {
    Some(match status {
        REMAT_STATUS_NONE => c"not solved",
        REMAT_STATUS_OPTIMAL => c"optimal",
        REMAT_STATUS_INFEASIBLE => c"infeasible",
        REMAT_STATUS_UNBOUNDED => c"unbounded",
        REMAT_STATUS_CUTOFF => c"cutoff",
        REMAT_STATUS_TIME_LIMIT => c"time limit",
        REMAT_STATUS_NODE_LIMIT => c"node limit",
        REMAT_STATUS_ITERATION_LIMIT => c"iteration limit",
        REMAT_STATUS_MEMORY_LIMIT => c"memory limit",
        REMAT_STATUS_WORK_LIMIT => c"work limit",
        REMAT_STATUS_INTERRUPTED => c"interrupted",
        REMAT_STATUS_NUMERIC => c"numeric",
        REMAT_STATUS_FEASIBLE => c"feasible",
        REMAT_STATUS_LIMIT => c"limit",
        REMAT_STATUS_INFEASIBLE_OR_UNBOUNDED => c"infeasible or unbounded",
        _ => return None,
    })
}
