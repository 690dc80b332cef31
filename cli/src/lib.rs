//! The command line of remat-bb, a thin layer above `remat-formulations` and `remat-lp`.
//!
//! | module | concept |
//! |---|---|
//! | [`arguments`] | arguments of the command line |
//! | [`source`] | instances, plans and schedules by path or model name |
//! | [`files`] | inputs and outputs: files, pipes, standard streams |
//! | [`commands`] | one file a subcommand |
//! | [`progress`] | a solve in progress, on a terminal or as lines |
//! | [`log`] | events of `lp` and `mip` as tables |
//! | [`colour`] | colours of results on a terminal |
//! | [`visible`] | names from files on a terminal |
//! | [`stand_in`] | command lines of other solvers |
//! | [`interrupt`] | Ctrl-C |
//! | [`again`] | the command line with one changed value |
//! | [`door`] | files for another command |
//! | [`rescue`] | the best plan so far, for the case that memory runs out |
//! | [`failure`] | errors and exit codes |
//! | [`allocator`] | the allocator, and the end of the program when memory runs out |
//!
//! Standard output has results only; progress, notes and errors go to standard error.
#![deny(missing_docs)]
// Print macros panic if a pipe is closed or a disk is full.
#![deny(clippy::print_stdout, clippy::print_stderr)]
// Only the allocator has unsafe code, with a SAFETY line for each call.
#![deny(unsafe_code)]

pub mod again;
pub mod allocator;
pub mod arguments;
pub mod colour;
pub mod commands;
pub mod door;
pub mod errors;
pub mod failure;
pub mod files;
pub mod interrupt;
pub mod log;
pub mod progress;
pub mod rescue;
pub mod source;
pub mod stand_in;
pub mod version;
pub mod visible;

use arguments::{Arguments, Command};
use clap::Parser;
use failure::{Exit, Failure};
use std::ffi::OsString;
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// True in the program, false in another process that uses this library.
static IS_PROGRAM: AtomicBool = AtomicBool::new(false);

/// Runs the program with its arguments, the program's name first, and returns its exit code. From
/// then on, signals and failed allocations end this process.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    become_program();
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(exit) = stand_in::answered(&arguments) {
        return exit;
    }
    again::keep(&arguments);
    run_command(arguments, |parsed: Arguments| execute(&parsed.command))
}

fn become_program() {
    IS_PROGRAM.store(true, Ordering::Relaxed);
    failure::install_handler();
    interrupt::outlive_size_limits();
}

/// Reads arguments, the program's name first, and runs a command. Errors are shown as `remat-bb`
/// shows them: in words, and with `--json` as one JSON object. From then on, signals and failed
/// allocations end this process.
pub fn run_command<A: Parser, E: From<Exit>>(
    arguments: Vec<OsString>,
    execute: impl FnOnce(A) -> Result<E, Failure>,
) -> E {
    become_program();
    // Words after `--` are the command of another program.
    let mut own = arguments.iter().take_while(|a| *a != "--");
    let json = own.any(|a| a == "--json");
    let parsed = match A::try_parse_from(arguments) {
        Ok(parsed) => parsed,
        Err(error) => {
            // Requested help and version go to standard output. A closed pipe is no failure.
            let _ = error.print();
            if !error.use_stderr() {
                return Exit::Done.into();
            }
            if json {
                let text = error.render().to_string();
                errors::print_error(text.trim_start_matches("error: ").trim(), None, None);
            }
            return Exit::BadInput.into();
        }
    };
    match execute(parsed) {
        Ok(exit) => exit,
        Err(failure) => {
            // Scripts always get exactly one object.
            if json && !files::printed() {
                errors::print_failure(&failure);
            }
            failure::show(failure);
            Exit::BadInput.into()
        }
    }
}

/// Ends the program after a failed allocation with [`Exit::NoMemory`]. The best kept plan is
/// written, half-written files are removed.
pub fn end_without_memory() -> ! {
    // Standard error is unbuffered, so this needs no memory.
    let say = |bytes: &[u8]| {
        let _ = std::io::stderr().write_all(bytes);
    };
    match rescue::write() {
        Some(path) => {
            say(b"out of memory: the program ends; the best plan so far is in ");
            say(path.as_os_str().as_encoded_bytes());
            say(b"\n");
        }
        None => say(b"out of memory: the program ends, and its result is lost\n"),
    }
    remat_lp::temporary::discard();
    std::process::exit(Exit::NoMemory as i32)
}

fn execute(command: &Command) -> Result<Exit, Failure> {
    match command {
        Command::Solve(arguments) => commands::solve::run(arguments),
        Command::Verify(arguments) => commands::verify::run(arguments),
        Command::Improve(arguments) => commands::improve::run(arguments),
        Command::Baselines(arguments) => commands::baselines::run(arguments),
        Command::Fits(arguments) => commands::fits::run(arguments),
        Command::Sweep(arguments) => commands::sweep::run(arguments),
        Command::Merge(arguments) => commands::merge::run(arguments),
        Command::Pipeline(arguments) => commands::pipeline::run(arguments),
        Command::MaxBatch(arguments) => commands::max_batch::run(arguments),
        Command::Explain(arguments) => commands::explain::run(arguments),
        Command::Report(arguments) => commands::report::run(arguments),
        Command::Show(arguments) => commands::show::run(arguments),
        Command::Exec(arguments) => commands::torch::exec(arguments),
        Command::Profile(arguments) => commands::torch::profile(arguments),
        Command::TrainCheck(arguments) => commands::torch::train_check(arguments),
        Command::Order(arguments) => commands::order::run(arguments),
        Command::Place(arguments) => commands::place::run(arguments),
        Command::PlanMemory(arguments) => commands::plan_memory::run(arguments),
        Command::Export(arguments) => commands::export::run(arguments),
        Command::Lp(arguments) => commands::lp::run(arguments),
        Command::Mip(arguments) => commands::mip::run(arguments),
        Command::CheckCertificate(arguments) => commands::check_certificate::run(arguments),
        Command::Zoo(arguments) => commands::zoo::run(arguments),
        Command::Completions(arguments) => commands::completions::run(arguments),
        Command::Man(arguments) => commands::man::run(arguments),
        Command::Schema(arguments) => commands::schema::run(arguments),
    }
}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
