//! Memory at a fixed overhead: MONeT's program against Checkmate's (Table 1, Figure 3), and against
//! encodings without recomputation (Table 3).

use super::paper::Tables;
use super::plain::{self, DEVICE_BYTES, Plain, completed, replayed};
use super::{Failure, MonetConfig, Network, over};
use remat_formulations::checkmate::CheckmateFormulation;
use remat_instances::instance::Choices;
use remat_instances::schedule::{BitMatrix, MonetSchedule};
use remat_instances::simulate::Replay;
use remat_report::draw::tradeoff::{self, Curve, TradeoffPicture};
use remat_report::{Table, gib};
use remat_search::Solvable;

/// The overhead at which memory is compared, in percent.
const OVERHEAD: f64 = 10.0;
/// Budgets as percentages of the device: from below the paper's 5 GB to above its 10 GB.
const FROM: u64 = 30;
const TO: u64 = 80;
/// Bisections between the last budget that costs more and the first one that does not.
const BISECTIONS: usize = 3;

/// Prints the tables and draws the curves.
///
/// # Errors
/// [`Failure`].
pub fn run(config: &MonetConfig) -> Result<(), Failure> {
    let paper = config.paper.as_deref().map(Tables::open).transpose()?;
    let mut fixed = Table::new(&[
        ("network", false),
        ("plain GiB", true),
        ("Checkmate", true),
        ("MONeT", true),
        ("Checkmate/MONeT", true),
        ("plain/MONeT", true),
        ("paper: PyTorch GB", true),
        ("Checkmate", true),
        ("MONeT", true),
        ("Checkmate/MONeT", true),
    ]);
    let mut encodings = Table::new(&[
        ("network", false),
        ("encodings: ratio", true),
        ("overhead", true),
        ("MONeT: ratio", true),
        ("overhead", true),
        ("paper: Gist", true),
        ("overhead", true),
        ("MONeT", true),
        ("overhead", true),
    ]);
    for network in config.networks()? {
        let plain = Plain::new(&network.instance)?;
        let encoded = plain::encoded(&network.instance)?;
        let mut known = Vec::new();
        let checkmate = curve(config, &plain, &mut |budget| {
            by_checkmate(config, &network, budget, &mut known)
        })?;
        let monet = curve(config, &plain, &mut |budget| {
            by_monet(config, &network, budget)
        })?;
        let least = [&checkmate, &monet].map(|points| at_overhead(points, plain.cost));
        fixed.row(fixed_row(&network.name, &plain, least, paper.as_ref()));
        let row = encoded_row(&network.name, &plain, &encoded, &monet, paper.as_ref());
        encodings.row(row);
        let picture = picture(&network.name, &plain, &encoded, &checkmate, &monet);
        let file = format!("memory_{}.svg", network.name);
        config.save(&file, &tradeoff::draw(&picture)?)?;
    }
    let text = format!(
        "Memory of plans with at most {OVERHEAD}% overhead (Table 1), {} s a solve, {} budgets and {} bisections\n\
         plain: no recomputation, activations in place, smallest workspaces; overhead over its cost with the fastest algorithms in 16 GiB; Checkmate: its program, then the fastest algorithms that fit (Checkmate-O)\n\n{}",
        config.seconds,
        config.points,
        BISECTIONS,
        fixed.render("")
    );
    config.publish("memory.txt", &text)?;
    let text = format!(
        "Encodings without recomputation, and MONeT's plan with the least memory found (Table 3); ratios to plain\n\n{}",
        encodings.render("")
    );
    config.publish("encodings.txt", &text)
}

/// Peak and cost of a plan.
type PeakAndCost = (u64, u64);

/// Points of a program over budgets: an even grid, then bisections towards the overhead that is
/// compared.
fn curve(
    config: &MonetConfig,
    plain: &Plain,
    solve: &mut dyn FnMut(u64) -> Result<Option<Replay>, Failure>,
) -> Result<Vec<PeakAndCost>, Failure> {
    let steps = config.points as u64 - 1;
    let mut points = Vec::new();
    let (mut dear, mut cheap) = (DEVICE_BYTES * FROM / 100, None);
    let mut ask = |budget: u64| -> Result<bool, Failure> {
        let found = solve(budget)?;
        let point = found.map(|r| (r.peak_bytes, r.cost));
        points.extend(point);
        Ok(point.is_some_and(|(_, cost)| over(cost, plain.cost) <= OVERHEAD))
    };
    for k in 0..=steps {
        let budget = DEVICE_BYTES / 100 * (FROM * (steps - k) + TO * k) / steps;
        match ask(budget)? {
            true => cheap = cheap.or(Some(budget)),
            false if cheap.is_none() => dear = budget,
            false => {}
        }
    }
    if let Some(mut cheap) = cheap {
        for _ in 0..BISECTIONS {
            let budget = dear + (cheap - dear) / 2;
            match ask(budget)? {
                true => cheap = budget,
                false => dear = budget,
            }
        }
    }
    Ok(points)
}

/// MONeT's program with all choices.
fn by_monet(
    config: &MonetConfig,
    network: &Network,
    budget: u64,
) -> Result<Option<Replay>, Failure> {
    let found = config.solve(&network.instance, budget, &())?;
    let schedule = found.schedule.as_ref();
    let replay = schedule
        .map(|s| replayed(&network.instance, s))
        .transpose()?;
    say(&network.name, "MONeT", budget, replay.as_ref());
    Ok(replay)
}

/// Checkmate's program with the implementations of the smallest workspace; its stored sets are
/// completed with the fastest algorithms that fit. `known` has the stored sets of other budgets: if
/// they use less memory, they may leave room for faster algorithms.
fn by_checkmate(
    config: &MonetConfig,
    network: &Network,
    budget: u64,
    known: &mut Vec<BitMatrix>,
) -> Result<Option<Replay>, Failure> {
    let (view, ids) = network.instance.restricted(Choices::default());
    let found =
        CheckmateFormulation::new(view.clone()).solve(budget, &[], &config.settings(), &())?;
    let (optimised, same) = network.instance.restricted(Choices {
        algorithms: true,
        ..Choices::default()
    });
    debug_assert_eq!(ids, same, "algorithms add no nodes");
    let every: Vec<_> = view.ids().collect();
    let stored = found
        .schedule
        .and_then(|s| MonetSchedule::stored_by_checkmate(&view, &every, &s));
    known.extend(stored);
    let mut replay: Option<Replay> = None;
    for stored in known.iter() {
        let other = completed(&optimised, budget, stored)?;
        if other.peak_bytes <= budget && replay.as_ref().is_none_or(|r| other.cost < r.cost) {
            replay = Some(other);
        }
    }
    say(&network.name, "Checkmate", budget, replay.as_ref());
    Ok(replay)
}

fn say(network: &str, program: &str, budget: u64, replay: Option<&Replay>) {
    let found = replay.map_or_else(
        || "nothing".to_owned(),
        |r| format!("cost {}, peak {:.2} GiB", r.cost, gib(r.peak_bytes)),
    );
    println!("{network} {program} {:.2} GiB: {found}", gib(budget));
}

/// Least peak of the points within the overhead.
fn at_overhead(points: &[PeakAndCost], base: u64) -> Option<u64> {
    let within = points.iter().filter(|p| over(p.1, base) <= OVERHEAD);
    within.map(|p| p.0).min()
}

fn fixed_row(
    name: &str,
    plain: &Plain,
    least: [Option<u64>; 2],
    paper: Option<&Tables>,
) -> Vec<String> {
    let size = |bytes: Option<u64>| bytes.map_or_else(|| "-".into(), |b| format!("{:.2}", gib(b)));
    let ratio = |a: Option<u64>, b: Option<u64>| {
        a.zip(b).map_or_else(String::new, |(a, b)| {
            format!("{:.2}", a as f64 / b.max(1) as f64)
        })
    };
    let [checkmate, monet] = least;
    let mut row = vec![
        name.to_owned(),
        size(Some(plain.peak_bytes)),
        size(checkmate),
        size(monet),
        ratio(checkmate, monet),
        ratio(Some(plain.peak_bytes), monet),
    ];
    if let Some([pytorch, checkmate, monet]) = paper.and_then(|p| p.memory_gb(name)) {
        row.extend([pytorch, checkmate, monet].map(|gb| gb.to_string()));
        row.push(format!("{:.2}", checkmate / monet));
    }
    row
}

fn encoded_row(
    name: &str,
    plain: &Plain,
    encoded: &Replay,
    monet: &[PeakAndCost],
    paper: Option<&Tables>,
) -> Vec<String> {
    let pair = |peak: u64, cost: u64| {
        let share = peak as f64 / plain.peak_bytes.max(1) as f64;
        [
            format!("{share:.2}"),
            format!("{:.2}%", over(cost, plain.cost)),
        ]
    };
    let mut row = vec![name.to_owned()];
    row.extend(pair(encoded.peak_bytes, encoded.cost));
    let least = monet.iter().min();
    row.extend(least.map_or_else(
        || ["-".into(), String::new()],
        |(peak, cost)| pair(*peak, *cost),
    ));
    for (ratio, overhead) in paper.and_then(|p| p.encodings(name)).into_iter().flatten() {
        row.extend([ratio.to_string(), format!("{overhead}%")]);
    }
    row
}

fn picture(
    name: &str,
    plain: &Plain,
    encoded: &Replay,
    checkmate: &[PeakAndCost],
    monet: &[PeakAndCost],
) -> TradeoffPicture {
    // In place, it can be faster than the fastest single implementations; the axis starts at 0.
    let points = |all: &[PeakAndCost]| {
        let at = |p: &PeakAndCost| (p.0, over(p.1, plain.cost).max(0.0));
        all.iter().map(at).collect()
    };
    let curve = |name: &str, ours, points| Curve {
        name: name.into(),
        ours,
        points,
        without: "nothing found",
    };
    TradeoffPicture {
        title: format!("{name}: overhead against memory"),
        link: None,
        curves: vec![
            curve("Checkmate's program", false, points(checkmate)),
            curve(
                "encodings, no recomputation",
                false,
                points(&[(encoded.peak_bytes, encoded.cost)]),
            ),
            curve("MONeT's program", true, points(monet)),
        ],
        plain_bytes: plain.peak_bytes,
        bounds: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_memory_within_the_overhead_counts() {
        let points = [(5, 130), (6, 110), (7, 109), (4, 111)];
        assert_eq!(at_overhead(&points, 100), Some(6));
        assert_eq!(at_overhead(&points, 90), None);
    }
}
