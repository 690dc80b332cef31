//! Command lines of other solvers, for programs that call them: `cbc`, `gurobi_cl`, and AMPL's.
//!
//! | module | command line |
//! |---|---|
//! | `cbc` | `cbc model.mps -sec 60 -solve -solution out.sol`: PuLP, linopy, Pyomo, good_lp |
//! | `gurobi` | `gurobi_cl TimeLimit=60 ResultFile=out.sol model.lp` |
//! | `ampl` | `remat-bb stub -AMPL timelimit=60`: AMPL, Pyomo's `asl:remat-bb`, JuMP's AmplNLWriter |
//! | `request` | requests and their solves |
//!
//! The program answers to these names if a link with this name calls it, and as `remat-bb cbc ...`.
//! Its first line names the program.

mod ampl;
mod cbc;
mod gurobi;
mod request;

use crate::failure::{self, Exit, Failure};
use std::ffi::OsString;
use std::path::Path;

/// Runs the command line of another solver; `None` for remat-bb's own. The first argument is the
/// program's name.
pub fn answered(arguments: &[OsString]) -> Option<Exit> {
    let words: Vec<String> = arguments
        .iter()
        .map(|a| a.to_string_lossy().into_owned())
        .collect();
    let called = Path::new(words.first()?)
        .file_stem()?
        .to_string_lossy()
        .to_lowercase();
    let second = words.get(1).map(String::as_str);
    let run = |ran: Result<(), Failure>| match ran {
        Ok(()) => Exit::Done,
        Err(failure) => {
            failure::show(failure);
            Exit::BadInput
        }
    };
    let rest = |from: usize| words.get(from..).unwrap_or_default();
    match (called.as_str(), second) {
        ("cbc", _) => Some(run(cbc::run(rest(1)))),
        ("gurobi_cl", _) => Some(run(gurobi::run(rest(1)))),
        (_, Some("cbc")) => Some(run(cbc::run(rest(2)))),
        (_, Some("gurobi_cl")) => Some(run(gurobi::run(rest(2)))),
        (_, Some("-v")) if words.len() == 2 => Some(run(ampl::version())),
        (_, Some(stub)) if words.iter().any(|w| w == "-AMPL") || stub.ends_with(".nl") => {
            Some(run(ampl::run(rest(1))))
        }
        _ => None,
    }
}
