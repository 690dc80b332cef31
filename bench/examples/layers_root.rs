//! The root of an interval form for networks of equal layers: plain, or carried over from a few of
//! their layers; bound, size, time and memory.
//!
//! `cargo run --release -p remat-bench --features experiments --example layers_root --
//! INSTANCE BUDGET [--monet] [--plain] [--approach] [--plan SECONDS] [--time-limit SECONDS]`
//!
//! The interval form is for Checkmate's program or, with `--monet`, MONeT's. INSTANCE is a file or
//! `zoo:MODEL`. With `--plan`, a plan is searched for SECONDS first, and the restricted master
//! starts with its intervals. With `--approach` the first-order method solves the root from the
//! second solve on; otherwise it is never used.

use remat_formulations::checkmate::CheckmateFormulation;
use remat_formulations::life::layers::Layered;
use remat_formulations::monet::MonetFormulation;
use remat_formulations::{Budget, Instance};
use remat_instances::zoo;
use remat_search::{Formulation, Problem, Settings, Solvable, Start};
use remat_solver::price::{ApproachSettings, Incumbents, Root, RootSettings};
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Settings of a run.
struct Task {
    name: String,
    budget: Budget,
    plain: bool,
    plan: Option<Duration>,
    root: RootSettings,
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut plain, mut monet, mut plan) = (false, false, None);
    let mut root = RootSettings::default();
    let mut given = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--plain" => plain = true,
            "--monet" => monet = true,
            "--approach" => {
                root.approach = Some(ApproachSettings {
                    pivots: 0,
                    pivots_per_solve: 0,
                    ..ApproachSettings::default()
                });
            }
            "--plan" => plan = Some(Duration::from_secs_f64(value()?.parse()?)),
            "--time-limit" => {
                root.time_limit = Some(Duration::from_secs_f64(value()?.parse()?));
            }
            _ => given.push(arg),
        }
    }
    let [name, budget] = &given[..] else {
        return Err("give an instance and a budget".into());
    };
    let instance: Instance = match name.strip_prefix("zoo:") {
        Some(model) => zoo::build(&model.parse()?)?,
        None => remat_instances::read(name)?,
    };
    let task = Task {
        name: format!("{name} {budget}"),
        budget: budget.parse()?,
        plain,
        plan,
        root,
    };
    match monet {
        true => work_on(&MonetFormulation::new(instance)?, &task),
        false => work_on(&CheckmateFormulation::new(instance), &task),
    }
}

fn work_on<'a, F>(formulation: &'a F, task: &Task) -> Result<(), Box<dyn Error>>
where
    F: Formulation,
    <F::Problem<'a> as Problem>::Program: Layered<Formulation = F>,
{
    let Task {
        name,
        budget,
        plain,
        plan,
        root: settings,
    } = task;
    let replay = Formulation::plain(formulation)?;
    let bytes = budget.bytes(replay.peak_bytes);
    let Start::Open(problem, _) = formulation.problem(bytes, &[])? else {
        return Err("nothing to search".into());
    };
    let program = problem.program().ok_or("no program")?;
    let incumbents = Incumbents::default();
    if let Some(time) = plan {
        let settings = Settings {
            time_limit: Some(*time),
            ..Settings::default()
        };
        let schedule = formulation.solve(bytes, &[], &settings, &())?.schedule;
        let schedule = schedule.ok_or("no plan in that time")?;
        incumbents.offer(program.columns_of(&schedule));
    }
    let clock = Instant::now();
    let stop = Arc::new(AtomicBool::new(false));
    let start = match *plain {
        true => None,
        false => problem.root_start(&program, &stop, &incumbents),
    };
    println!(
        "carried bound {} after {:.1} s",
        incumbents.bound(),
        clock.elapsed().as_secs_f64()
    );
    let root = match start {
        Some(start) => Root::solve_from(program, settings, &incumbents, start)?,
        None => Root::solve(program, settings, &incumbents)?,
    };
    let found = root.into_bound();
    println!(
        "{name}: {:?} value {:.0} bound {} ({:.4}% below), {} rounds, {} rows, {} columns, \
         {} cuts, {} pivots, {:.1} s (LP {:.1}, pricing {:.1}, separation {:.1}), {} MB",
        found.status,
        found.lp_value,
        found.safe_bound,
        100.0 * (1.0 - found.safe_bound as f64 / found.lp_value),
        found.rounds,
        found.rows,
        found.cols,
        found.cuts,
        found.iterations,
        clock.elapsed().as_secs_f64(),
        found.lp_seconds,
        found.pricing_seconds,
        found.separation_seconds,
        peak_megabytes().unwrap_or(0),
    );
    Ok(())
}

/// Most memory that the process has had (Linux).
fn peak_megabytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kilobytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kilobytes / 1000)
}
