//! Errors of the commands, their output, and the exit codes.

use crate::visible::{shown, visible, visible_error};
use miette::Diagnostic;
use remat_instances::budget::BudgetError;
use remat_instances::instance::InstanceError;
use remat_instances::name::Name;
use remat_instances::replayed::ReplayedError;
use remat_instances::simulate::ReplayError;
use remat_instances::zoo::ZooError;
use remat_report::draw::style::DrawError;
use remat_search::SolveError;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Solved, a plan was found, or the command succeeded.
    Done = 0,
    /// Bad usage or input, or a file whose claims the replay refutes.
    BadInput = 2,
    /// Proven: no plan fits the budget.
    Infeasible = 3,
    /// A limit or an interrupt ended the search before a plan was found.
    NoPlan = 4,
    /// Memory ran out, and the result is lost.
    NoMemory = 5,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// Reason why a command ended without a result. All of these end with [`Exit::BadInput`].
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum Failure {
    /// An instance, a plan or a schedule could not be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Read(#[from] InstanceError),
    /// A file is missing or cannot be opened.
    #[error("{file}: {problem}")]
    Open {
        /// The file.
        file: String,
        /// Message of the system.
        problem: String,
        /// The input that was probably meant.
        #[help]
        remedy: Option<String>,
    },
    /// A model of the zoo could not be built.
    #[error("{source_text}: {problem}")]
    #[diagnostic(help("`remat-bb zoo list` shows all models and their parameters"))]
    Zoo {
        /// The model, as given.
        source_text: String,
        /// Error of the zoo.
        problem: Box<ZooError>,
    },
    /// The budget could not be read.
    #[error("--budget: {0}")]
    Budget(BudgetError),
    /// A schedule of another instance.
    #[error("{file} was made for the instance {made_for:?}, not for {found:?}")]
    #[diagnostic(help("name the instance that the file was made for"))]
    OtherInstance {
        /// The file.
        file: String,
        /// The instance that it names.
        made_for: Name,
        /// The given instance.
        found: Name,
    },
    /// A plan or schedule cannot be executed.
    #[error("{file} cannot be executed: {problem}")]
    #[diagnostic(help(
        "check that the file belongs to this instance, and that nothing was cut out of it"
    ))]
    Replay {
        /// The file.
        file: String,
        /// Error of the replay.
        problem: Box<ReplayError>,
    },
    /// The addresses of a plan are wrong.
    #[error("{file}: {problem}")]
    #[diagnostic(help("place the plan anew: remat-bb place INSTANCE PLAN --out PLAN.json"))]
    Addresses {
        /// The file.
        file: String,
        /// The problem, in words.
        problem: String,
    },
    /// The executor failed.
    #[error(transparent)]
    Exec(#[from] remat_gpu_exec::ExecError),
    /// A result could not be turned into a plan: a defect.
    #[error("{0}")]
    Plan(Box<ReplayError>),
    /// The solver failed.
    #[error("{0}")]
    Solve(Box<SolveError>),
    /// A file could not be written.
    #[error("cannot write {}: {problem}", shown(.file))]
    Write {
        /// The file.
        file: PathBuf,
        /// Reason, in words.
        problem: String,
        /// Remedy, if there is one.
        #[help]
        remedy: Option<String>,
    },
    /// A file's claims differ from its replay.
    #[error("{file} is not what it says: {}", .differences.join("; "))]
    #[diagnostic(help(
        "the replay is the judge: write the file again, or give the instance and budget it was made for"
    ))]
    Mismatch {
        /// The file.
        file: String,
        /// Differences, each in words.
        differences: Vec<String>,
    },
    /// A plan whose claims hold, but which needs more than the given budget.
    #[error("{file} needs {needed}, more than the budget of {budget}")]
    #[diagnostic(help(
        "the file is what it says; give it more memory, or solve again for this budget"
    ))]
    TooLarge {
        /// The file.
        file: String,
        /// Its peak, in words.
        needed: String,
        /// The budget, in words.
        budget: String,
    },
    /// A plan whose claims hold, but which needs more host memory than the link has.
    #[error("{file} needs {needed} of host memory, more than the {limit} that there is")]
    #[diagnostic(help(
        "the file is what it says; give more with --host-memory, or plan again for this host"
    ))]
    HostTooSmall {
        /// The file.
        file: String,
        /// Its peak on the host, in words.
        needed: String,
        /// The limit, in words.
        limit: String,
    },
    /// Wrong input, a missing feature, or arguments that exclude each other.
    #[error("{problem}")]
    Usage {
        /// Problem, in words.
        problem: String,
        /// Remedy: a correct alternative.
        #[help]
        remedy: String,
    },
    /// A picture could not be drawn.
    #[error(transparent)]
    Draw(#[from] DrawError),
}

impl From<ReplayedError> for Failure {
    fn from(error: ReplayedError) -> Self {
        match error {
            ReplayedError::Read(error) => Failure::Read(error),
            ReplayedError::OtherInstance {
                file,
                made_for,
                found,
            } => Failure::OtherInstance {
                file,
                made_for,
                found,
            },
            ReplayedError::Replay { file, problem } => Failure::Replay { file, problem },
            ReplayedError::Addresses { file, problem } => Failure::Addresses {
                file,
                problem: problem.to_string(),
            },
        }
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        Failure::Plan(Box::new(error))
    }
}

/// The option of the command line for a request.
fn switch(request: &str) -> String {
    format!("--{}", request.replace('_', "-"))
}

impl From<SolveError> for Failure {
    fn from(error: SolveError) -> Self {
        match error {
            SolveError::Together {
                first,
                second,
                because,
            } => Failure::Usage {
                problem: format!("{} with {}: {because}", switch(first), switch(second)),
                remedy: match first {
                    "certificate" => "leave out one of them, or solve Checkmate's program: --formulation checkmate".into(),
                    "in_flight" => format!("leave out {}, or plan one micro-batch", switch(second)),
                    _ => format!("leave out {} or {}", switch(first), switch(second)),
                },
            },
            SolveError::Start { because, .. } => Failure::Usage {
                problem: format!("--start: {because}"),
                remedy: "give plans of the same instance and formulation, or leave out --start"
                    .into(),
            },
            error => Failure::Solve(Box::new(error)),
        }
    }
}

/// Sets the form of errors: graphical with colours on a terminal, unbroken lines elsewhere.
pub fn install_handler() {
    // It fails only if a handler is set already, which then stays.
    let _ = miette::set_hook(Box::new(|_| {
        let options = miette::MietteHandlerOpts::new().break_words(false);
        let options = if std::io::stderr().is_terminal() {
            options
        } else {
            options.width(4000).color(false).unicode(false)
        };
        Box::new(options.build())
    }));
}

impl Failure {
    /// The file with the error, or the place in it.
    pub fn place(&self) -> Option<String> {
        match self {
            Failure::Read(error) => Some(match error.position() {
                Some(at) => format!("{}:{}:{}", error.file(), at.line, at.column),
                None => error.file().into(),
            }),
            Failure::Open { file, .. }
            | Failure::OtherInstance { file, .. }
            | Failure::Replay { file, .. }
            | Failure::Addresses { file, .. }
            | Failure::TooLarge { file, .. }
            | Failure::HostTooSmall { file, .. }
            | Failure::Mismatch { file, .. } => Some(file.clone()),
            Failure::Zoo { source_text, .. } => Some(source_text.clone()),
            Failure::Write { file, .. } => Some(shown(file)),
            Failure::Budget(_) => Some("--budget".into()),
            _ => None,
        }
    }
}

/// Shows a failure on standard error.
pub fn show(failure: Failure) {
    let report = format!("{:?}", miette::Report::new(failure));
    let _ = writeln!(std::io::stderr(), "{}", visible_error(&report));
}

/// Shows a note on standard error, unless `quiet`.
pub fn note(text: &str, quiet: bool) {
    if !quiet {
        let _ = writeln!(std::io::stderr(), "note: {}", visible(text));
    }
}
