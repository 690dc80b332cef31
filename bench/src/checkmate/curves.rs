//! Overhead against budget for all strategies (Figure 4), and their ratios to the best plan. The
//! ratios are the paper's approximation ratios: geometric means over the budgets that a strategy
//! meets.

use super::{CheckmateConfig, Failure};
use rayon::prelude::*;
use remat_formulations::baselines::Baseline;
use remat_formulations::solve::{Frontier, FrontierPoint};
use remat_formulations::strategies;
use remat_instances::Budget;
use remat_instances::budget::format_bytes;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate::{self, Replay};
use remat_instances::zoo::{self, ModelSpec};
use remat_report::Table;
use remat_report::draw::tradeoff::{self, Curve, TradeoffPicture};
use remat_search::Status;

/// The paper's networks and batch sizes of its Figure 4, and ResNet-50.
const MODELS: [&str; 4] = [
    "zoo:vgg16?batch=256",
    "zoo:mobilenet_v1?batch=512",
    "zoo:unet?batch=32",
    "zoo:resnet50?batch=256",
];
/// The smallest budget of a curve, as a percentage of the peak without recomputation.
const FROM: u64 = 30;

/// Name of this program's own search.
const OURS: &str = "remat-bb";

/// Prints tables and draws pictures.
///
/// # Errors
/// [`Failure`].
pub fn run(config: &CheckmateConfig) -> Result<(), Failure> {
    let mut ratios = Ratios::default();
    for model in MODELS.iter().filter(|m| config.wants(m)) {
        let spec: ModelSpec = model.parse()?;
        let instance = zoo::build(&spec)?.single_implementation().0;
        let plain = CheckmateSchedule::checkpoint_all(&instance);
        let peak = simulate::checkmate(&instance, &plain)?.peak_bytes;
        let steps = config.points as u64 - 1;
        let at = |k: u64| peak * (FROM * (steps - k) + 100 * k) / (100 * steps);
        let budgets: Vec<Budget> = (0..=steps).map(|k| Budget::Bytes(at(k))).collect();
        let points = Frontier::new(&instance, &budgets)?
            .settings(config.settings())
            .run()?;
        let others: Vec<Vec<(&'static str, Option<Replay>)>> = points
            .par_iter()
            .map(|point| {
                let one = |b: &Baseline| {
                    let schedule = b.run(&instance, point.budget_bytes).ok();
                    let replay = schedule.and_then(|s| simulate::checkmate(&instance, &s).ok());
                    (
                        b.name,
                        replay.filter(|r| r.peak_bytes <= point.budget_bytes),
                    )
                };
                strategies::all().par_iter().map(one).collect()
            })
            .collect();
        ratios.take(instance.name(), &points, &others);
        let name = instance.name().replace([':', '?', '&', '='], "_");
        let text = table(model, peak, &points, &others);
        config.publish(&format!("curve_{name}.txt"), &text)?;
        let picture = picture(model, peak, instance.base_cost(), &points, &others);
        config.save(&format!("curve_{name}.svg"), &tradeoff::draw(&picture)?)?;
    }
    if ratios.models.is_empty() {
        println!("no model has a name like {:?}", config.only);
        return Ok(());
    }
    config.publish("ratios.txt", &ratios.table())
}

fn over(cost: u64, base: u64) -> f64 {
    (cost as f64 / base.max(1) as f64 - 1.0) * 100.0
}

type Others = [Vec<(&'static str, Option<Replay>)>];

fn table(model: &str, peak: u64, points: &[FrontierPoint], others: &Others) -> String {
    let mut columns = vec![("strategy", false)];
    let budgets: Vec<String> = points
        .iter()
        .map(|p| {
            let share = p.budget_bytes as f64 / peak.max(1) as f64 * 100.0;
            format!("{} ({share:.0}%)", format_bytes(p.budget_bytes))
        })
        .collect();
    columns.extend(budgets.iter().map(|b| (b.as_str(), true)));
    let mut table = Table::new(&columns);
    let cell = |replay: Option<&Replay>| {
        replay.map_or_else(|| "-".into(), |r| format!("{:.2}%", r.overhead_percent()))
    };
    let mut ours = vec![OURS.to_owned()];
    ours.extend(points.iter().map(|p| cell(p.replay.as_ref())));
    table.row(ours);
    let mut bounds = vec!["  proven bound".to_owned()];
    for point in points {
        let base = point.replay.as_ref().map(|r| r.base_cost);
        bounds.push(match base {
            Some(base) => format!("{:.2}%", over(point.bound, base)),
            None => point.status.as_str().into(),
        });
    }
    table.row(bounds);
    for (k, baseline) in strategies::all().iter().enumerate() {
        let mut row = vec![baseline.name.to_owned()];
        row.extend(others.iter().map(|o| cell(o[k].1.as_ref())));
        table.row(row);
    }
    format!(
        "{model}: cost over no recomputation at each budget (peak without recomputation {})\n\n{}",
        format_bytes(peak),
        table.render("")
    )
}

fn picture(
    model: &str,
    peak: u64,
    base: u64,
    points: &[FrontierPoint],
    others: &Others,
) -> TradeoffPicture {
    let mut curves: Vec<Curve> = Vec::new();
    for (k, baseline) in strategies::all().iter().enumerate() {
        let replays = others.iter().filter_map(|o| o[k].1.as_ref());
        curves.push(Curve {
            name: baseline.name.into(),
            ours: false,
            points: replays
                .map(|r| (r.peak_bytes, r.overhead_percent()))
                .collect(),
            without: "never fits",
        });
    }
    let replays = points.iter().filter_map(|p| p.replay.as_ref());
    curves.push(Curve {
        name: OURS.into(),
        ours: true,
        points: replays
            .map(|r| (r.peak_bytes, r.overhead_percent()))
            .collect(),
        without: "nothing found",
    });
    TradeoffPicture {
        title: format!("{model}: overhead against memory"),
        link: None,
        curves,
        plain_bytes: peak,
        bounds: points
            .iter()
            .filter(|p| p.status != Status::Infeasible)
            .map(|p| (p.budget_bytes, over(p.bound, base)))
            .collect(),
    }
}

/// Costs relative to the best plan, for each strategy and model.
#[derive(Default)]
struct Ratios {
    models: Vec<String>,
    /// Budgets with a plan of ours, for each model.
    budgets: Vec<usize>,
    /// For each strategy and model: sum of logarithms, and number of budgets met.
    sums: Vec<Vec<(f64, usize)>>,
}

impl Ratios {
    fn take(&mut self, model: &str, points: &[FrontierPoint], others: &Others) {
        self.models.push(model.to_owned());
        self.sums.resize(strategies::all().len(), Vec::new());
        let mut met = 0;
        let mut found = vec![(0.0, 0); self.sums.len()];
        for (point, others) in points.iter().zip(others) {
            let Some(best) = point.cost().filter(|c| *c > 0) else {
                continue;
            };
            met += 1;
            for (sum, (_, replay)) in found.iter_mut().zip(others) {
                if let Some(replay) = replay {
                    sum.0 += (replay.cost as f64 / best as f64).ln();
                    sum.1 += 1;
                }
            }
        }
        self.budgets.push(met);
        for (all, one) in self.sums.iter_mut().zip(found) {
            all.push(one);
        }
    }

    fn table(&self) -> String {
        let titles: Vec<String> = self
            .models
            .iter()
            .zip(&self.budgets)
            .map(|(m, n)| format!("{m} ({n})"))
            .collect();
        let mut columns = vec![("strategy", false)];
        columns.extend(titles.iter().map(|t| (t.as_str(), true)));
        let mut table = Table::new(&columns);
        for (baseline, sums) in strategies::all().iter().zip(&self.sums) {
            let mut row = vec![baseline.name.to_owned()];
            row.extend(sums.iter().map(|(sum, met)| match met {
                0 => "-".into(),
                n => format!("{:.3}x ({n})", (sum / *n as f64).exp()),
            }));
            table.row(row);
        }
        format!(
            "Approximation ratios: cost over that of our best plan, geometric mean over the budgets that a strategy meets\n\
             (in brackets how many; in the heading how many have a plan at all)\n\n{}",
            table.render("")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_geometric_means_over_the_budgets_met() {
        let replay = |cost: u64| Replay {
            saved_bytes: 0,
            waiting_bytes: 0,
            cost,
            makespan: cost,
            transfers: simulate::Transfers::default(),
            base_cost: 1,
            peak_bytes: 1,
            peak_at: simulate::Moment {
                stage: 0,
                node: None,
            },
            computations: 0,
            timeline: Vec::new(),
        };
        let point = |cost: u64| FrontierPoint {
            budget_bytes: 1,
            status: Status::Optimal,
            schedule: None,
            replay: Some(replay(cost)),
            bound: cost,
            bound_scope: "full",
            gap: Some(0.0),
            seconds: 0.0,
            infeasible_because: None,
        };
        let names = || strategies::all().iter().map(|b| b.name);
        let all = |cost: u64| names().map(|n| (n, Some(replay(cost)))).collect::<Vec<_>>();
        let none: Vec<(&'static str, Option<Replay>)> = names().map(|n| (n, None)).collect();
        let mut ratios = Ratios::default();
        ratios.take(
            "m",
            &[point(100), point(100), point(100)],
            &[all(200), all(800), none],
        );
        // sqrt(2 * 8) = 4, over two of three budgets.
        assert!(ratios.table().contains("4.000x (2)"), "{}", ratios.table());
        assert!(ratios.table().contains("m (3)"));
    }
}
