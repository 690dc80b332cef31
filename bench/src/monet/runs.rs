//! Time until plan and bound are within 5% and 2%, beside the published runs (Tables 2, 5 and 6).

use super::{Case, Failure, MonetConfig};
use crate::checkmate::interval_chart::{self, Chart, ChartLine};
use crate::checkmate::{percent, shown};
use remat_instances::schedule::MonetSchedule;
use remat_report::Table;
use remat_search::{Outcome, Progress, Status, Watching};
use std::sync::Mutex;

/// Gaps whose times are taken, as in the published table.
const GAPS: [f64; 2] = [0.05, 0.02];

/// Prints the comparison.
///
/// # Errors
/// [`Failure`].
pub fn run(config: &MonetConfig) -> Result<(), Failure> {
    let mut table = Table::new(&[
        ("instance", false),
        ("Gurobi", true),
        ("bound", true),
        ("gap", true),
        ("s", true),
        ("to 5%", true),
        ("to 2%", true),
        ("ours", true),
        ("bound", true),
        ("gap", true),
        ("s", true),
        ("to 5%", true),
        ("to 2%", true),
        ("ours/Gurobi", true),
    ]);
    let mut lines = Vec::new();
    for case in config.cases()? {
        let first = Mutex::new([None; GAPS.len()]);
        let watch = |p: &Progress| {
            if let Ok(mut first) = first.lock() {
                note(&mut first, p.objective, p.bound, p.seconds);
            }
        };
        let listener = Watching {
            listener: &(),
            look: watch,
        };
        let ours = config.solve(&case.instance, case.budget_bytes, &listener)?;
        let mut first = first.into_inner().unwrap_or_default();
        note(&mut first, ours.cost(), ours.bound, ours.seconds);
        println!(
            "{}: {} {} in {:.1} s",
            case.name,
            ours.status.as_str(),
            shown(ours.cost()),
            ours.seconds
        );
        table.row(row(&case, &ours, first));
        let run = case.published.as_ref();
        let found = ours.status != Status::Infeasible;
        lines.push(ChartLine {
            name: case.name.clone(),
            spans: vec![
                (run.and_then(|r| r.bound), run.and_then(|r| r.objective)),
                (
                    found.then_some(ours.bound as f64),
                    ours.cost().map(|o| o as f64),
                ),
            ],
            note: if found {
                "no plan known"
            } else {
                "proven by remat-bb: no plan fits"
            },
        });
    }
    if lines.is_empty() {
        println!("no run has a name like {:?}", config.only);
        return Ok(());
    }
    let text = format!(
        "Published runs of MONeT's program (Gurobi, 12 threads, up to 24 h) and ours, {} s each; seconds by the clock\n\n{}",
        config.seconds,
        table.render("")
    );
    println!();
    config.publish("runs.txt", &text)?;
    let chart = Chart {
        title: "Published runs of MONeT's program: proven bound to best plan".into(),
        solvers: &["Gurobi, up to 24 h", "remat-bb"],
        lines,
    };
    config.save("runs.svg", &interval_chart::draw(&chart)?)
}

/// Records the time at which a gap was first reached.
fn note(first: &mut [Option<f64>; 2], cost: Option<u64>, bound: u64, seconds: f64) {
    let Some(cost) = cost else { return };
    let gap = cost.saturating_sub(bound) as f64 / cost.max(1) as f64;
    for (time, wanted) in first.iter_mut().zip(GAPS) {
        if gap <= wanted && time.is_none() {
            *time = Some(seconds);
        }
    }
}

fn row(case: &Case, ours: &Outcome<MonetSchedule>, first: [Option<f64>; 2]) -> Vec<String> {
    let seconds =
        |s: Option<f64>, digits: usize| s.map_or_else(|| "-".into(), |s| format!("{s:.digits$}"));
    let run = case.published.as_ref();
    let cost = run.and_then(|r| r.objective);
    let bound = run.and_then(|r| r.bound);
    let gap = cost.zip(bound).map(|(c, b)| (c - b) / c.max(1.0));
    let to = run.map_or([None; 2], |r| r.seconds_to);
    let ratio = ours.cost().zip(cost);
    vec![
        case.name.clone(),
        cost.map_or_else(
            || run.map_or_else(|| "-".into(), |r| r.status.to_lowercase()),
            |c| c.to_string(),
        ),
        bound.map_or_else(|| "-".into(), |b| format!("{b:.0}")),
        percent(gap),
        seconds(run.and_then(|r| r.seconds), 0),
        seconds(to[0], 0),
        seconds(to[1], 0),
        ours.cost()
            .map_or_else(|| ours.status.as_str().into(), |c| c.to_string()),
        match ours.status {
            Status::Infeasible => String::new(),
            _ => ours.bound.to_string(),
        },
        percent(ours.gap),
        format!("{:.1}", ours.seconds),
        seconds(first[0], 1),
        seconds(first[1], 1),
        ratio.map_or_else(String::new, |(o, c)| format!("{:.4}", o as f64 / c)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_time_within_a_gap_is_kept() {
        let mut first = [None; 2];
        note(&mut first, None, 90, 1.0);
        note(&mut first, Some(100), 94, 2.0);
        assert_eq!(first, [None, None]);
        note(&mut first, Some(100), 96, 3.0);
        note(&mut first, Some(98), 97, 4.0);
        note(&mut first, Some(97), 97, 5.0);
        assert_eq!(first, [Some(3.0), Some(4.0)]);
    }
}
