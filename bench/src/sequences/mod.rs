//! Linear relaxations of Checkmate's program, solved by our LP core: the compact form with memory
//! rows at once and lazily, and rounds of path cuts on it.
//!
//! ```text
//! remat-bench remat-lp GRAPH BUDGET [--all] [--full] [--slack] [--rows ROWS] [--stage-rows ROWS]
//!     [--whole] [--cuts ROUNDS] [--per-round CUTS] [--record FILE] [--alone] [--warm] [--verbose]
//! ```
//!
//! With the feature `highs`, HiGHS solves the same sequence in the same run, alternating, each on
//! one thread (`--alone` leaves it out); the last line has both times and their ratio.
//!
//! `GRAPH` is a file, `BUDGET` as in the command line tool (`6GiB`, or a percentage of the peak
//! without recomputation).

mod compact;
#[cfg(feature = "highs")]
mod follow;
mod record;

use record::Recorder;
use remat_formulations::checkmate::CheckmateGraph;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::{Budget, simulate};
use std::error::Error;

/// Why a run failed, as a message.
pub type Failure = Box<dyn Error>;

/// Runs one benchmark by its arguments (without the program's name).
///
/// # Errors
/// Unknown arguments, unreadable files, a budget that is too small, or a defect of the solver.
pub fn run(args: &[String]) -> Result<(), Failure> {
    let usage = "usage: remat-bench remat-lp GRAPH BUDGET [options]";
    let [graph, budget, rest @ ..] = args else {
        return Err(usage.into());
    };
    let options = Options::parse(rest)?;
    compact::run(load(graph, budget)?, &options)
}

struct Options {
    all: bool,
    full: bool,
    verbose: bool,
    alone: bool,
    cuts: usize,
    per_round: usize,
    /// Memory rows taken in at once, the most violated first.
    rows: usize,
    /// Memory rows of one stage taken in at once.
    stage_rows: usize,
    /// HiGHS solves the program with all memory rows as well.
    #[cfg_attr(not(feature = "highs"), allow(dead_code))]
    whole: bool,
    /// Starts from the slack basis, not from the one that keeps everything.
    slack: bool,
    /// Every solve goes on from the basis before it.
    warm: bool,
    record: Option<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Options, Failure> {
        let mut out = Options {
            all: false,
            full: false,
            verbose: false,
            alone: false,
            warm: false,
            slack: false,
            cuts: 0,
            per_round: 300,
            rows: 500,
            stage_rows: usize::MAX,
            whole: false,
            record: None,
        };
        let mut rest = args.iter();
        while let Some(arg) = rest.next() {
            let mut value = || rest.next().ok_or(format!("{arg} needs a value"));
            match arg.as_str() {
                "--all" => out.all = true,
                "--full" => out.full = true,
                "--alone" => out.alone = true,
                "--whole" => out.whole = true,
                "--rows" => out.rows = value()?.parse()?,
                "--stage-rows" => out.stage_rows = value()?.parse()?,
                "--slack" => out.slack = true,
                "--warm" => out.warm = true,
                "--verbose" => out.verbose = true,
                "--cuts" => out.cuts = value()?.parse()?,
                "--per-round" => out.per_round = value()?.parse()?,
                "--record" => out.record = Some(value()?.clone()),
                _ => return Err(format!("unknown option {arg}").into()),
            }
        }
        Ok(out)
    }

    fn follows(&self) -> bool {
        cfg!(feature = "highs") && !self.alone
    }

    fn recorder(&self) -> std::io::Result<Recorder> {
        let recorder = Recorder::new(self.record.as_deref())?;
        Ok(if self.follows() {
            recorder.follow()
        } else {
            recorder
        })
    }
}

/// Reads an instance; percentages of the budget count the peak of the run without recomputation.
fn load(path: &str, budget: &str) -> Result<CheckmateGraph, Failure> {
    let instance = remat_instances::read(path)?.single_implementation_view();
    let plain = CheckmateSchedule::checkpoint_all(&instance);
    let peak = simulate::checkmate(&instance, &plain)?.peak_bytes;
    let bytes = budget.parse::<Budget>()?.bytes(peak);
    let graph = CheckmateGraph::new(&instance, bytes)?;
    println!(
        "{}: {} nodes, capacity {} of peak {peak} bytes",
        instance.name(),
        graph.len(),
        graph.capacity
    );
    Ok(graph)
}
