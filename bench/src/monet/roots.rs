//! Root relaxations with sizes and times: the published program with either bound on local memory,
//! and the interval form before and after its cuts (Table 7 has sizes after presolve).

use super::{Case, Failure, MonetConfig};
use crate::checkmate::shown;
use crate::clock::Stopwatch;
use crate::netlib::Watchdog;
use remat_formulations::monet::interval::MonetGraph;
use remat_formulations::monet::original::{LocalBound, Original, Size};
use remat_lp::presolve::PresolveSettings;
use remat_lp::{Limits, LpOutcome, Settings};
use remat_report::Table;
use remat_solver::price::{Incumbents, Root, RootSettings, RootStatus};
use std::sync::Arc;
use std::time::Duration;

/// Prints the table.
///
/// # Errors
/// [`Failure`].
pub fn run(config: &MonetConfig) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("instance", false),
        ("best", true),
        ("Gurobi root", true),
        ("plain: rows", true),
        ("cols", true),
        ("nonzeros", true),
        ("LP", true),
        ("s", true),
        ("tight: rows", true),
        ("nonzeros", true),
        ("LP", true),
        ("s", true),
        ("interval: no cuts", true),
        ("LP", true),
        ("bound", true),
        ("gap", true),
        ("rows", true),
        ("cols", true),
        ("cuts", true),
        ("s", true),
        ("status", false),
    ]);
    let mut below = 0;
    let cases = config.cases()?;
    for case in &cases {
        let published =
            [LocalBound::Plain, LocalBound::Tight].map(|local| relaxation(config, case, local));
        let [plain, tight] = published;
        let (plain, tight) = (plain?, tight?);
        let settings = RootSettings {
            time_limit: Some(Duration::from_secs_f64(config.seconds)),
            ..RootSettings::default()
        };
        let clock = Stopwatch::start();
        let graph = Arc::new(MonetGraph::new(&case.instance, case.budget_bytes)?);
        let root = Root::solve(graph, &settings, &Incumbents::default())?.into_bound();
        let seconds = clock.seconds();
        let run = case.published.as_ref();
        let best = run.and_then(|r| r.objective);
        let gap = best.map(|b| 100.0 * (b - root.safe_bound as f64) / b);
        // Rounded up, this program's bound also bounds the other's integral optimum; relaxations
        // are compared unrounded.
        below += usize::from(plain.value.is_some_and(|v| root.lp_value < v - 1e-6 * v));
        let fits = |text: String| match root.status {
            RootStatus::Infeasible => "-".to_owned(),
            _ => text,
        };
        let value = |v: Option<f64>| v.map_or_else(|| "-".into(), |v| format!("{v:.0}"));
        let time = |s: Option<f64>| s.map_or_else(|| "-".into(), |s| format!("{s:.1}"));
        table.row(vec![
            case.name.clone(),
            shown(best),
            value(run.and_then(|r| r.root_lp)),
            plain.size.rows.to_string(),
            plain.size.columns.to_string(),
            plain.size.nonzeros.to_string(),
            value(plain.value),
            time(plain.seconds),
            tight.size.rows.to_string(),
            tight.size.nonzeros.to_string(),
            value(tight.value),
            time(tight.seconds),
            fits(root.plain_bound.to_string()),
            fits(format!("{:.0}", root.lp_value)),
            fits(root.safe_bound.to_string()),
            gap.map_or_else(|| "-".into(), |g| format!("{g:.2}%")),
            root.rows.to_string(),
            root.cols.to_string(),
            root.cuts.to_string(),
            format!("{seconds:.1}"),
            format!("{:?}", root.status),
        ]);
        println!(
            "{}: published LP {} ({}), interval form {:.0}",
            case.name,
            value(plain.value),
            value(tight.value),
            root.lp_value
        );
    }
    if cases.is_empty() {
        println!("no run has a name like {:?}", config.only);
        return Ok(());
    }
    let text = format!(
        "Root relaxations, at most {} s each; processor seconds of one thread. Sizes of the published program count fixings and\n\
         bounds as rows, as the logs do; its LP is solved here after presolve, up to {} nonzeros. plain, tight: bounds on\n\
         local memory. {below} of {} interval relaxations are below the published one's.\n\n{}",
        config.seconds,
        config.most_nonzeros,
        cases.len(),
        table.render("")
    );
    println!();
    config.publish("roots.txt", &text)
}

/// A relaxation of the published program.
struct Relaxation {
    size: Size,
    /// Its value, if it was solved.
    value: Option<f64>,
    seconds: Option<f64>,
}

fn relaxation(config: &MonetConfig, case: &Case, local: LocalBound) -> Result<Relaxation, Failure> {
    let size = Original::size(&case.instance, local)?;
    let mut relaxation = Relaxation {
        size,
        value: None,
        seconds: None,
    };
    if size.nonzeros > config.most_nonzeros {
        return Ok(relaxation);
    }
    let budget = case.budget_bytes;
    let unit = Original::unit_for(budget);
    let program = Original::with_local_bound(&case.instance, budget, unit, local)?;
    let model = Arc::new(program.model().clone());
    let watchdog = Watchdog::new(Duration::from_secs_f64(config.seconds));
    let limits = Limits {
        interrupt: Some(watchdog.flag.clone()),
        ..Limits::default()
    };
    let settings = Settings::default();
    let presolve_settings = PresolveSettings::default();
    let clock = Stopwatch::start();
    let solved = remat_lp::solve(&model, &settings, &limits, Some(&presolve_settings));
    relaxation.seconds = Some(clock.seconds());
    if let LpOutcome::Optimal(solution) = solved.outcome {
        relaxation.value = Some(solution.objective);
    }
    Ok(relaxation)
}
