//! `remat-bench`: comparisons too long for criterion, and tools for those who develop solvers.
#![forbid(unsafe_code)]

use remat_bb::allocator;
use remat_bench::arguments::{
    Checkmate, Cli, Command, Lp, Method, Mip, Monet, Offload, Order, PlaceArguments, Reorder,
    Switch,
};
use remat_bench::{
    checkmate, export, fetch, figures, library, metamorphic, mip, mip_report, monet, netlib,
    offload, order, pipeline, place, planted, reduce, reorder,
};
use remat_instances::order::Variant;
use remat_lp::Algorithm;
use std::process::ExitCode;
use std::time::Duration;

/// The allocator of `remat-bb`: benchmarks measure the program as its users run it.
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

fn main() -> ExitCode {
    let arguments = std::env::args_os().collect();
    remat_bb::run_command(arguments, |cli: Cli| match cli.command {
        Command::Lp(args) => Ok(ended(lp(args))),
        Command::Mip(args) => Ok(ended(mip(args))),
        Command::MipReport(args) => Ok(ended(mip_report::run(&args))),
        Command::Metamorphic(args) => Ok(ended(metamorphic::run(&args, |line| println!("{line}")))),
        Command::Checkmate(args) => Ok(ended(compare(args))),
        Command::Monet(args) => Ok(ended(compare_monet(args))),
        Command::Order(args) => Ok(ended(orders(args))),
        Command::Reorder(args) => Ok(ended(reorders(args))),
        Command::Place(args) => Ok(ended(places(args))),
        Command::Offload(args) => Ok(ended(offloads(args))),
        Command::Pipeline(args) => Ok(ended(pipeline::run(&args).map_err(Into::into))),
        Command::Planted(args) => Ok(ended(planted::run(&args, |line| println!("{line}")))),
        Command::Library(args) => library::command::run(&args).map(Into::into),
        Command::Figures(args) => figures::run(&args).map(Into::into),
        Command::Fetch(args) => fetch::run(&args).map(Into::into),
        Command::Export(args) => export::run(&args).map(Into::into),
        Command::Reduce(args) => reduce::command::run(&args).map(Into::into),
    })
}

/// The exit code of a comparison: 0 if all is right, 1 if an answer is wrong, 2 for an error.
fn ended(done: Result<bool, Box<dyn std::error::Error>>) -> ExitCode {
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(e) => {
            eprintln!("error: {e}");
            ExitCode::from(2)
        }
    }
}

fn compare(args: Checkmate) -> Result<bool, Box<dyn std::error::Error>> {
    let config = checkmate::CheckmateConfig {
        dir: args.dir,
        seconds: args.time_limit.clamp(0.01, 1e6),
        threads: args.threads,
        parts: args.parts,
        only: args.only,
        points: args.points.clamp(2, 100),
        python: (args.python != "none").then_some(args.python),
        out: args.out,
    };
    checkmate::run(&config)?;
    Ok(true)
}

fn compare_monet(args: Monet) -> Result<bool, Box<dyn std::error::Error>> {
    let config = monet::MonetConfig {
        dir: args.dir,
        paper: args.paper,
        seconds: args.time_limit.clamp(0.01, 1e6),
        threads: args.threads,
        parts: args.parts,
        only: args.only,
        budgets: args.budgets,
        points: args.points.clamp(2, 100),
        most_nonzeros: args.most_nonzeros,
        out: args.out,
    };
    monet::run(&config)?;
    Ok(true)
}

/// Runs the comparison and returns true: it has no wrong answers to report.
fn reorders(args: Reorder) -> Result<bool, Box<dyn std::error::Error>> {
    let config = reorder::ReorderConfig {
        dir: args.dir,
        seconds: args.time_limit,
        threads: args.threads,
        graphs: args.graphs,
        budgets: args.budgets,
        parts: args.parts,
        only: args.only,
    };
    reorder::run(&config, |line| println!("{}", line.trim_end()))?;
    Ok(true)
}

/// Runs the comparison; returns whether every graph that is not random has a proof.
fn orders(args: Order) -> Result<bool, Box<dyn std::error::Error>> {
    let config = order::OrderConfig {
        dir: args.dir,
        seconds: args.time_limit.clamp(0.01, 1e6),
        threads: args.threads,
        repeats: args.repeats,
        parts: args.parts,
        only: args.only,
    };
    let mut table = order::header();
    println!("{table}");
    let mut rows = Vec::new();
    order::run(&config, |row| {
        let line = row.line();
        println!("{line}");
        table.push('\n');
        table.push_str(&line);
        rows.push(row);
    })?;
    if let Some(out) = args.out {
        std::fs::write(&out, table + "\n")?;
    }
    if let Some(csv) = args.csv {
        std::fs::write(&csv, order::csv(&rows))?;
    }
    if let Some(svg) = args.svg {
        std::fs::write(
            &svg,
            order::picture("--svg", &order::csv(&rows), Variant::Sound)?,
        )?;
    }
    // Random graphs may stay open.
    let is_random = |row: &order::OrderRow| row.name.starts_with("layered");
    Ok(rows.iter().all(|row| row.is_proven() || is_random(row)))
}

/// Runs the comparison and returns true: every plan was replayed.
fn offloads(args: Offload) -> Result<bool, Box<dyn std::error::Error>> {
    let or = |given: &[f64], default: &[f64]| match given.is_empty() {
        true => default.to_vec(),
        false => given.to_vec(),
    };
    if args.parts.contains(&offload::OffloadPart::Chains) {
        let config = offload::chains::ChainsConfig {
            slots: args.slots,
            labels: args.labels,
            rates: or(&args.rates, &offload::chains::RATES),
            shares: or(&args.shares, &offload::chains::SHARES),
            only: args.only.clone(),
        };
        println!("{}", offload::chains::HEADER);
        let mut table = offload::chains::HEADER.to_owned();
        offload::chains::run(&config, |line| {
            println!("{}", line.csv());
            table += &format!("\n{}", line.csv());
        })?;
        if let Some(svg) = &args.svg {
            std::fs::write(svg, offload::draw("--svg", &table)?)?;
        }
    }
    if args.parts.contains(&offload::OffloadPart::Nodes) {
        let config = offload::nodes::NodesConfig {
            dir: args.dir,
            seconds: args.time_limit.clamp(0.01, 1e6),
            threads: args.threads,
            rates: or(&args.rates, &offload::nodes::RATES),
            shares: or(&args.shares, &offload::nodes::SHARES),
            semantics: args.programs,
            only: args.only.clone(),
        };
        println!("{}", offload::nodes::HEADER);
        offload::nodes::run(&config, |line| println!("{}", line.csv()))?;
    }
    if args.parts.contains(&offload::OffloadPart::Compact) {
        let config = offload::compact::CompactConfig {
            seconds: args.time_limit.clamp(0.01, 1e6),
            threads: args.threads,
            python: args.python,
            only: args.only,
        };
        let others = offload::compact::others(&config);
        println!("{}", offload::compact::header(&others));
        offload::compact::run(&config, &others, |line| println!("{}", line.csv()))?;
    }
    Ok(true)
}

/// Runs the comparison and returns true: every placement was checked.
fn places(args: PlaceArguments) -> Result<bool, Box<dyn std::error::Error>> {
    let mut table = place::header();
    println!("{table}");
    let seconds = args.time_limit.clamp(0.01, 1e6);
    place::run(&args.dir, seconds, args.threads, args.generated, |row| {
        println!("{}", row.line());
        table += &format!("\n{}", row.line());
    })?;
    if let Some(svg) = args.svg {
        std::fs::write(&svg, place::picture("--svg", &table)?)?;
    }
    Ok(true)
}

/// Runs the comparison; returns whether every file agreed.
fn lp(args: Lp) -> Result<bool, Box<dyn std::error::Error>> {
    let beside = args.dir.join("reference.csv");
    let config = netlib::NetlibConfig {
        reference: args
            .reference
            .or_else(|| beside.is_file().then_some(beside)),
        dir: args.dir,
        only: args.only,
        repeats: args.repeats,
        presolve: args.presolve == Switch::On,
        scaling: args.scaling == Switch::On,
        algorithm: match args.algorithm {
            Method::Auto => Algorithm::Auto,
            Method::Dual => Algorithm::Dual,
            Method::Primal => Algorithm::Primal,
            Method::Barrier => Algorithm::Barrier,
        },
        time_limit: Duration::from_secs_f64(args.time_limit.clamp(0.0, 1e6)),
    };
    if !cfg!(feature = "highs") {
        println!("HiGHS is not built in: --features highs");
    }
    let mut table = netlib::header();
    println!("{table}");
    let lines = netlib::run(&config, |line| {
        let text = netlib::render(line);
        println!("{text}");
        table.push('\n');
        table.push_str(&text);
    })?;
    let summary = netlib::summary(&lines);
    println!("{summary}");
    if let Some(out) = args.out {
        std::fs::write(&out, format!("{table}\n{summary}\n"))?;
    }
    Ok(lines.iter().all(netlib::NetlibLine::agrees))
}

/// Runs the comparison; returns whether no answer was wrong.
fn mip(args: Mip) -> Result<bool, Box<dyn std::error::Error>> {
    let beside = args.dir.join("reference.csv");
    let config = mip::MipConfig {
        reference: args
            .reference
            .or_else(|| beside.is_file().then_some(beside)),
        dir: args.dir,
        only: args.only,
        time_limit: args.time_limit.clamp(0.01, 1e6),
        threads: args.threads.max(1),
        gap: args.gap,
        opportunistic: args.opportunistic,
        safe_bounds: args.safe_bounds == Switch::On,
        with: (args.with.iter())
            .map(|solver| solver.find(&args.python))
            .collect::<Result<_, _>>()?,
    };
    if !cfg!(feature = "highs") {
        println!("HiGHS is not built in: --features highs");
    }
    let mut table = mip::header(&config);
    println!("{table}");
    let lines = mip::run(&config, |line| {
        let text = mip::render(&config, line);
        println!("{text}");
        table.push('\n');
        table.push_str(&text);
    })?;
    let summary = mip::summary(&config, &lines);
    println!("{summary}");
    if let Some(out) = args.out {
        std::fs::write(&out, format!("{table}\n{summary}\n"))?;
    }
    if let Some(path) = args.profile {
        std::fs::write(&path, mip::profile_svg(&lines)?)?;
    }
    Ok(lines.iter().all(|l| l.complaint.is_none()))
}
