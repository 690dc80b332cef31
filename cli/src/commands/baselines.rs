//! `remat-bb baselines`

use crate::arguments::BaselinesArguments;
use crate::draw::tradeoff::{self, Curve, TradeoffPicture};
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::report::{self, Table};
use crate::source;
use rayon::prelude::*;
use remat_formulations::baselines;
use remat_formulations::solve::{AnyFormulation, Baselines, Compared, Settings};
use remat_instances::budget::format_bytes;
use remat_instances::simulate::Replay;
use remat_instances::{Instance, budget};
use serde::Serialize;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// Name of this program's own search in tables and pictures.
const OURS: &str = Baselines::OURS;

/// Runs all heuristics at the budget, and over the sweep where files are asked for.
///
/// # Errors
/// [`Failure`] for bad input and files that cannot be written.
pub fn run(arguments: &BaselinesArguments) -> Result<Exit, Failure> {
    let files = Files::tried(
        arguments.json,
        &[Path::new(&arguments.instance)],
        &[
            ("--svg", arguments.svg.as_deref()),
            ("--csv", arguments.csv.as_deref()),
        ],
    )?;
    let (formulation, _) = source::formulation(&arguments.instance, arguments.program.formulation)?;
    let instance = &**formulation.instance();
    let plain = source::plain(&formulation)?;
    let budget_bytes = source::budget(&arguments.budget, plain.peak_bytes)?;
    let known = Baselines::of(formulation.clone());
    let mut at_budget = known.run(budget_bytes);
    let with_ours = !arguments.search.is_zero();
    if with_ours {
        at_budget.push(ours(&known, budget_bytes, arguments.search));
    }
    at_budget.sort_by_key(|r| r.rank(budget_bytes));
    files.print(&if arguments.json {
        json(instance, budget_bytes, &plain, &at_budget)
    } else {
        table(&formulation, budget_bytes, &plain, &at_budget)
    })?;
    if arguments.svg.is_none() && arguments.csv.is_none() {
        return Ok(Exit::Done);
    }
    let sweep = sweep(&known.for_sweep(), plain.peak_bytes, arguments);
    if let Some(path) = &arguments.csv {
        files.write(path, &csv(&sweep))?;
    }
    if let Some(path) = &arguments.svg {
        let title = format!("{}: overhead against memory", instance.name());
        let picture = TradeoffPicture {
            title,
            curves: curves(&sweep, with_ours),
            plain_bytes: plain.peak_bytes,
            budget_bytes: Some(budget_bytes),
            bounds: Vec::new(),
        };
        files.write(path, &tradeoff::draw(&picture)?)?;
    }
    Ok(Exit::Done)
}

/// Our own search within a time.
fn ours(known: &Baselines, budget_bytes: u64, time: Duration) -> Compared {
    let settings = Settings {
        time_limit: Some(time),
        ..Settings::default().without_overtime()
    };
    known.ours(budget_bytes, &settings, &())
}

/// Results at each budget, from the least that any heuristic reaches to the peak without
/// recomputation.
fn sweep(
    known: &Baselines,
    plain_bytes: u64,
    arguments: &BaselinesArguments,
) -> Vec<(u64, Vec<Compared>)> {
    let least = known.run(0);
    let least = least.iter().filter_map(Compared::replay);
    let least = least.map(|r| r.peak_bytes).min().unwrap_or(0);
    let last = u64::from(arguments.points) - 1;
    let span = plain_bytes.saturating_sub(least);
    let budgets: Vec<u64> = (0..=last)
        .map(|k| least + (u128::from(span) * u128::from(k) / u128::from(last.max(1))) as u64)
        .collect();
    let mut sweep: Vec<(u64, Vec<Compared>)> =
        budgets.par_iter().map(|b| (*b, known.run(*b))).collect();
    if !arguments.search.is_zero() {
        // The search uses all cores itself.
        for (budget_bytes, found) in &mut sweep {
            found.push(ours(known, *budget_bytes, arguments.search));
        }
    }
    sweep
}

fn curves(sweep: &[(u64, Vec<Compared>)], with_ours: bool) -> Vec<Curve> {
    let names = baselines::all().iter().map(|b| b.name);
    let applies = |name: &str| {
        let mut all = sweep.iter().flat_map(|(_, found)| found);
        all.any(|f| f.name == name && f.result.is_ok())
    };
    let curve = |name: &'static str| Curve {
        name: name.into(),
        ours: name == OURS,
        points: sweep
            .iter()
            .flat_map(|(budget, found)| found.iter().map(move |f| (*budget, f)))
            .filter(|(budget, f)| f.name == name && f.fits(*budget) == Some(true))
            .filter_map(|(_, f)| f.replay())
            .map(|r| (r.peak_bytes, r.overhead_percent()))
            .collect(),
        without: if applies(name) { "never fits" } else { "n/a" },
    };
    names.chain(with_ours.then_some(OURS)).map(curve).collect()
}

fn csv(sweep: &[(u64, Vec<Compared>)]) -> String {
    let mut text = String::from("budget_bytes,name,fits,cost,overhead_percent,peak_bytes\n");
    for (budget_bytes, found) in sweep {
        for one in found {
            // Writing to a string cannot fail.
            let _ = match &one.result {
                Ok((_, r)) => writeln!(
                    text,
                    "{budget_bytes},{},{},{},{:.4},{}",
                    one.name,
                    r.peak_bytes <= *budget_bytes,
                    r.cost,
                    r.overhead_percent(),
                    r.peak_bytes
                ),
                Err(_) => writeln!(text, "{budget_bytes},{},false,,,", one.name),
            };
        }
    }
    text
}

fn table(
    formulation: &AnyFormulation,
    budget_bytes: u64,
    plain: &Replay,
    found: &[Compared],
) -> String {
    let instance = formulation.instance();
    let mut text = format!(
        "{}: {} nodes, budget {} ({:.1}% of the {} without recomputation)\n\n",
        instance.name(),
        instance.len(),
        format_bytes(budget_bytes),
        budget_bytes as f64 / plain.peak_bytes.max(1) as f64 * 100.0,
        format_bytes(plain.peak_bytes)
    );
    let mut table = Table::new(&[
        ("strategy", false),
        ("fits", false),
        ("overhead", true),
        ("cost", true),
        ("peak", true),
        ("", false),
    ]);
    for one in found {
        let mut row = vec![one.name.to_owned()];
        match &one.result {
            Ok((_, r)) => {
                let fits = one.fits(budget_bytes) == Some(true);
                row.push(if fits { "yes" } else { "no" }.into());
                row.push(format!("{:.2}%", r.overhead_percent()));
                row.push(report::cost(r.cost, instance.cost_unit()));
                row.push(budget::format_bytes(r.peak_bytes));
            }
            Err(reason) => {
                row.extend(["-", "", "", ""].map(String::from));
                row.push(reason.clone());
            }
        }
        table.row(row);
    }
    text += &table.render("  ");
    if let Some(too_small) = formulation.too_small(budget_bytes) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\nNo plan fits: {too_small}.");
    }
    text
}

#[derive(Serialize)]
struct BaselinesJson<'a> {
    instance: &'a str,
    budget_bytes: u64,
    plain_peak_bytes: u64,
    base_cost: u64,
    cost_unit: &'a str,
    strategies: Vec<BaselineJson<'a>>,
}

#[derive(Serialize)]
struct BaselineJson<'a> {
    name: &'a str,
    fits: bool,
    cost: Option<u64>,
    overhead_percent: Option<f64>,
    peak_memory_bytes: Option<u64>,
    not_applicable_because: Option<&'a str>,
}

fn json(instance: &Instance, budget_bytes: u64, plain: &Replay, found: &[Compared]) -> String {
    let strategy = |one: &'_ Compared| {
        let replay = one.replay();
        (
            one.fits(budget_bytes) == Some(true),
            replay.map(|r| r.cost),
            replay.map(Replay::overhead_percent),
            replay.map(|r| r.peak_bytes),
        )
    };
    let strategies = found.iter().map(|one| {
        let (fits, cost, overhead_percent, peak_memory_bytes) = strategy(one);
        BaselineJson {
            name: one.name,
            fits,
            cost,
            overhead_percent,
            peak_memory_bytes,
            not_applicable_because: one.result.as_ref().err().map(String::as_str),
        }
    });
    report::json(&BaselinesJson {
        instance: instance.name(),
        budget_bytes,
        plain_peak_bytes: plain.peak_bytes,
        base_cost: plain.base_cost,
        cost_unit: &instance.cost_unit().name,
        strategies: strategies.collect(),
    })
}
