//! The tree of a plan's proof on many threads, counted and not timed. Prints its work, and the
//! longest path through it where every lane has its own thread.
//!
//! `cargo run --release -p remat-bench --features experiments --example lanes --
//! INSTANCE BUDGET [--lanes 1,4,16,32] [--plan SECONDS] [--nodes N] [--gap G]`
//!
//! INSTANCE is a file or `zoo:MODEL`, under Checkmate's program. A plan is searched first, for
//! SECONDS (10 s). Each tree then starts from the same root and ends within the gap (1e-4) or at N
//! nodes.

use remat_formulations::checkmate::CheckmateFormulation;
use remat_formulations::life::layers::Layered;
use remat_formulations::{Budget, Instance};
use remat_instances::zoo;
use remat_search::{Formulation, Problem, Settings, Solvable, Start};
use remat_solver::price::{Incumbents, Root, RootSettings, TreeSettings, search};
use std::error::Error;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let mut lanes = vec![1, 4, 16, 32];
    let mut time = Duration::from_secs(10);
    let mut settings = TreeSettings::default();
    let mut given = Vec::new();
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} needs a value"));
        match arg.as_str() {
            "--lanes" => {
                let each: Result<_, _> = value()?.split(',').map(str::parse).collect();
                lanes = each?;
            }
            "--plan" => time = Duration::from_secs_f64(value()?.parse()?),
            "--nodes" => settings.nodes = value()?.parse()?,
            "--gap" => settings.gap = value()?.parse()?,
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
    let formulation = CheckmateFormulation::new(instance);
    let peak = Formulation::plain(&formulation)?.peak_bytes;
    let bytes = budget.parse::<Budget>()?.bytes(peak);
    let Start::Open(problem, _) = formulation.problem(bytes, &[])? else {
        return Err("nothing to search".into());
    };
    let program = problem.program().ok_or("no program")?;
    let plan = Settings {
        time_limit: Some(time),
        ..Settings::default()
    };
    let found = formulation.solve(bytes, &[], &plan, &())?;
    let (Some(plan), Some(replay)) = (found.schedule, found.replay) else {
        return Err("no plan in that time".into());
    };
    println!("lanes,nodes,bound,best,work,span,work_by_span,span_of_one_by_span");
    let mut of_one = None;
    for lanes in lanes {
        let incumbents = Incumbents::default();
        incumbents.found(replay.cost);
        incumbents.offer(program.columns_of(&plan));
        let root = Root::solve(program.clone(), &RootSettings::default(), &incumbents)?;
        let settings = TreeSettings {
            lanes,
            ..settings.clone()
        };
        let tree = search(root, &settings, &incumbents, &())?;
        let first = *of_one.get_or_insert(tree.span);
        println!(
            "{lanes},{},{},{},{},{},{:.2},{:.2}",
            tree.nodes,
            tree.bound,
            incumbents.best().unwrap_or(u64::MAX),
            tree.work.ticks,
            tree.span,
            tree.work.ticks as f64 / tree.span.max(1) as f64,
            first as f64 / tree.span.max(1) as f64
        );
    }
    Ok(())
}
