//! Models drawn around a planted point, so that wrong answers are found without another solver.
//!
//! | module | concept |
//! |---|---|
//! | `dice` | seeded draws of numbers, in styles |
//! | `exact` | doubles as the decimals that they are written as, in fractions |
//! | `draw` | programs around a point that satisfies them |
//! | `special` | special constraints that a planted point satisfies |
//! | `judge` | judgement of answers by the planted point alone |
//! | `program` | programs through the front door, with random edits and settings |
//! | `linear` | linear programs with a known end, and their proofs in fractions |
//! | `instance` | instances with a planted schedule, their plans and proofs |

mod dice;
mod draw;
mod exact;
mod instance;
mod judge;
mod linear;
mod program;
mod special;

use clap::ValueEnum;
use dice::Dice;
use judge::Verdict;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A kind of planted model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlantedKind {
    /// Programs with integer, semi-continuous and continuous columns
    Mip,
    /// The same with general constraints: implications, functions, ordered sets, products
    General,
    /// Linear programs with a planted optimum, contradiction or ray
    Lp,
    /// Computation graphs with a planted schedule, in whose peak they are solved
    Instance,
}

/// Numbers of models by verdict.
#[derive(Debug, Default)]
pub struct VerdictCounts {
    /// Right answers.
    pub right: AtomicU64,
    /// Searches that a limit ended.
    pub limit: AtomicU64,
    /// Answers that name numerical trouble.
    pub numeric: AtomicU64,
    /// Wrong answers, panics included.
    pub wrong: AtomicU64,
}

/// Arguments of `remat-bench planted`.
#[derive(clap::Args)]
pub struct Arguments {
    /// Kinds of models (several separated by commas)
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "mip,general,lp,instance"
    )]
    kinds: Vec<PlantedKind>,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Models of each kind
    #[arg(long, default_value_t = 1000)]
    count: u64,
    /// Threads, each with separate models; 0 for one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// A folder for wrong answers, a file for each [default: standard error]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Show each program and its settings before it is solved
    #[arg(long)]
    show: bool,
}

/// Draws and judges models, and hands the counts of each kind to `say`, line by line. Returns
/// whether every answer is right.
///
/// # Errors
/// Threads cannot be started, or the folder cannot be written.
pub fn run(
    args: &Arguments,
    mut say: impl FnMut(&str),
) -> Result<bool, Box<dyn std::error::Error>> {
    let threads = match args.threads {
        0 => std::thread::available_parallelism()?.get(),
        count => count,
    };
    if let Some(folder) = &args.out {
        std::fs::create_dir_all(folder)?;
    }
    say("kind       models      right    limit  numeric    wrong");
    let mut is_clean = true;
    for &kind in &args.kinds {
        let seeds = args.seed..args.seed.saturating_add(args.count);
        let out = args.out.as_deref();
        let counts = judge_seeds(kind, seeds, threads, args.show, out)?;
        say(&format!(
            "{:<8} {:>8} {:>10} {:>8} {:>8} {:>8}",
            format!("{kind:?}").to_lowercase(),
            args.count,
            counts.right.load(Ordering::Relaxed),
            counts.limit.load(Ordering::Relaxed),
            counts.numeric.load(Ordering::Relaxed),
            counts.wrong.load(Ordering::Relaxed),
        ));
        is_clean &= counts.wrong.into_inner() == 0;
    }
    Ok(is_clean)
}

/// Draws and judges the models of seeds, on `threads` threads. A mistake goes to standard error
/// with its seed, or into a file of the folder.
///
/// # Errors
/// The folder cannot be written.
pub fn judge_seeds(
    kind: PlantedKind,
    seeds: std::ops::Range<u64>,
    threads: usize,
    show: bool,
    folder: Option<&Path>,
) -> std::io::Result<VerdictCounts> {
    let counts = VerdictCounts::default();
    let next = AtomicU64::new(seeds.start);
    // Plain threads: a pool's thread would begin another model while it waits in the one before.
    let work = || -> std::io::Result<()> {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds.end {
                return Ok(());
            }
            judge_seed(kind, seed, show, folder, &counts)?;
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut ends = workers.into_iter().map(|worker| worker.join());
        ends.try_for_each(|end| end.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })?;
    Ok(counts)
}

fn judge_seed(
    kind: PlantedKind,
    seed: u64,
    show: bool,
    folder: Option<&Path>,
    counts: &VerdictCounts,
) -> std::io::Result<()> {
    let judged = catch_unwind(AssertUnwindSafe(|| one(kind, seed, show)));
    let judged = judged.unwrap_or_else(|_| Err("a panic".into()));
    let counter = match &judged {
        Ok(Verdict::Right) => &counts.right,
        Ok(Verdict::Limit) => &counts.limit,
        Ok(Verdict::Numeric) => &counts.numeric,
        Err(_) => &counts.wrong,
    };
    counter.fetch_add(1, Ordering::Relaxed);
    let Err(mistake) = judged else {
        return Ok(());
    };
    let text = format!("{kind:?} {seed}: {mistake}\n");
    match folder {
        Some(folder) => std::fs::write(folder.join(format!("{kind:?}-{seed}.txt")), text),
        None => {
            eprintln!("{text}");
            Ok(())
        }
    }
}

fn one(kind: PlantedKind, seed: u64, show: bool) -> Result<Verdict, String> {
    let mut dice = Dice::new(seed);
    match kind {
        PlantedKind::Mip => program::run(&mut dice, false, show),
        PlantedKind::General => program::run(&mut dice, true, show),
        PlantedKind::Lp => linear::run(&mut dice, show),
        PlantedKind::Instance => instance::run(seed, show),
    }
}
