//! Every mixed-integer program of a directory, solved here, by HiGHS (with the feature `highs`) and
//! by solvers that are installed ([`external`]), alternating, in one run, with the same limits and
//! threads.
//!
//! The primal integral (Berthold 2013) is the area under the primal gap over time up to the limit,
//! over the limit's length in seconds: 0 for a solver that has the optimum at once, the time limit
//! for one that finds nothing.

pub mod external;

use crate::netlib::{self, BenchError};
use external::Installed;
use remat_lp::Model;
use remat_solver::mip::{Control, Observer, Settings, Solution, SolveStatus, Solver, check_point};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct Config {
    /// A directory with `.mps` and `.lp` files, plain or gzipped, or one such file.
    pub dir: PathBuf,
    /// A table with columns `name` and `catalogue_optimum` (or `objective`).
    pub reference: Option<PathBuf>,
    /// Only files whose name contains one of these; all if empty.
    pub only: Vec<String>,
    /// Time limit of a solve in seconds.
    pub time_limit: f64,
    /// Threads, here and there.
    pub threads: usize,
    /// Relative gap that counts as optimal, here and there.
    pub gap: f64,
    /// True if our threads take up nodes as they come.
    pub opportunistic: bool,
    /// True if our search prunes by bounds that hold in spite of rounding only.
    pub safe_bounds: bool,
    /// Solvers outside that run too.
    pub with: Vec<Installed>,
}

/// One solve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Run {
    /// How it ended: `optimal`, `infeasible`, `unbounded`, `limit` or (outside) `failed`.
    pub status: String,
    /// Objective of the best solution.
    pub objective: Option<f64>,
    /// The dual bound.
    pub bound: f64,
    /// Nodes.
    pub nodes: u64,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// When solutions came (seconds) and their objectives.
    pub incumbents: Vec<(f64, f64)>,
}

impl Run {
    /// Returns whether it ended with a proof.
    pub fn complete(&self) -> bool {
        self.status != "limit" && self.status != "failed"
    }

    /// `|objective - bound| / |objective|` in per cent.
    pub fn gap_percent(&self) -> Option<f64> {
        let v = self.objective?;
        let gap = 100.0 * (v - self.bound).abs() / v.abs().max(1e-10);
        (gap.is_finite() && self.bound.is_finite()).then_some(if v == self.bound {
            0.0
        } else {
            gap
        })
    }
}

/// One file's results.
#[derive(Clone, Debug)]
pub struct Line {
    /// File name without extensions.
    pub name: String,
    /// Our run.
    pub ours: Run,
    /// The others' runs, by name; the same ones in every line.
    pub others: Vec<(&'static str, Run)>,
    /// The best objective known.
    pub best: Option<f64>,
    /// What is wrong with our answer, if anything.
    pub complaint: Option<String>,
}

/// Gap between a solution and the best one known, from 0 to 1.
pub fn primal_gap(objective: f64, best: f64) -> f64 {
    if objective == best {
        0.0
    } else if objective * best < 0.0 {
        1.0
    } else {
        ((objective - best).abs() / objective.abs().max(best.abs())).min(1.0)
    }
}

/// The primal integral in seconds, up to a limit.
pub fn primal_integral(incumbents: &[(f64, f64)], best: f64, limit: f64) -> f64 {
    let (mut area, mut at, mut gap) = (0.0, 0.0, 1.0);
    for &(t, v) in incumbents {
        let t = t.clamp(at, limit);
        area += gap * (t - at);
        (at, gap) = (t, primal_gap(v, best));
    }
    area + gap * (limit - at).max(0.0)
}

#[derive(Default)]
struct Watch(Mutex<Vec<(f64, f64)>>, Option<Instant>);

impl Observer for Watch {
    fn incumbent(&self, solution: &Solution) {
        // A poisoned lock means that a panic is on its way anyway.
        if let (Ok(mut seen), Some(start)) = (self.0.lock(), self.1) {
            seen.push((start.elapsed().as_secs_f64(), solution.objective));
        }
    }
}

fn solve_here(config: &Config, model: &Arc<Model>) -> (Run, Option<String>) {
    let mut settings = Settings {
        relative_gap: config.gap,
        threads: config.threads,
        opportunistic: config.opportunistic,
        safe_bounds: config.safe_bounds,
        ..Settings::default()
    };
    settings.limits.seconds = Some(config.time_limit);
    let watch = Arc::new(Watch(Mutex::default(), Some(Instant::now())));
    let control = Control {
        observers: vec![watch.clone()],
        ..Control::default()
    };
    let solver = Solver::new(model.clone(), settings).with_control(control);
    let result = match solver.run() {
        Ok(result) => result,
        Err(e) => return (Run::default(), Some(e.to_string())),
    };
    let complaint = result.solution.as_ref().and_then(|s| {
        let checked = check_point(model, &s.x, 1e-6);
        checked.err().map(|e| e.to_string())
    });
    let run = Run {
        status: match result.status {
            SolveStatus::Optimal => "optimal",
            SolveStatus::Infeasible => "infeasible",
            SolveStatus::Unbounded => "unbounded",
            _ => "limit",
        }
        .into(),
        objective: result.solution.map(|s| s.objective),
        bound: result.dual_bound,
        nodes: result.info.nodes,
        seconds: result.info.seconds,
        incumbents: watch.0.lock().map(|v| v.clone()).unwrap_or_default(),
    };
    (run, complaint)
}

#[cfg(feature = "highs")]
fn solve_there(config: &Config, model: &Model) -> Option<Run> {
    Some(crate::highs::solve_mip(
        model,
        config.time_limit,
        config.threads,
        config.gap,
    ))
}

#[cfg(not(feature = "highs"))]
fn solve_there(_: &Config, _: &Model) -> Option<Run> {
    None
}

/// Best objectives known, by name.
fn references(config: &Config) -> Result<BTreeMap<String, f64>, BenchError> {
    let Some(path) = &config.reference else {
        return Ok(BTreeMap::new());
    };
    let text = std::fs::read_to_string(path).map_err(|source| BenchError::Io {
        path: path.display().to_string(),
        source,
    })?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let place = |n: &str| header.iter().position(|h| *h == n);
    let columns = [place("catalogue_optimum"), place("objective")];
    Ok(lines
        .filter_map(|l| {
            let fields: Vec<&str> = l.split(',').collect();
            let value = columns
                .iter()
                .flatten()
                .find_map(|&c| fields.get(c)?.parse().ok());
            Some((fields.first()?.to_string(), value?))
        })
        .collect())
}

/// Runs everything; `each` is told of every line as it is done.
///
/// # Errors
/// Directories and files that cannot be read.
pub fn run(config: &Config, mut each: impl FnMut(&Line)) -> Result<Vec<Line>, BenchError> {
    let references = references(config)?;
    let mut lines = Vec::new();
    for path in netlib::files(&config.dir)? {
        let name = netlib::stem(&path);
        if !config.only.is_empty() && !config.only.iter().any(|o| name.contains(o.as_str())) {
            continue;
        }
        let model = Arc::new(netlib::read(&path)?);
        let (ours, mut complaint) = solve_here(config, &model);
        let mut others: Vec<(&'static str, Run)> = Vec::new();
        others.extend(solve_there(config, &model).map(|r| ("HiGHS", r)));
        for there in &config.with {
            others.push((there.solver.name(), there.solve(config, &model)));
        }
        let sign = model.sense().sign();
        let best = references.get(&name).copied().or_else(|| {
            let theirs = others.iter().map(|(_, r)| r.objective);
            theirs
                .chain([ours.objective])
                .flatten()
                .min_by(|a, b| (sign * a).total_cmp(&(sign * b)))
        });
        if let (Some(best), None) = (best, &complaint) {
            let tolerance = config.gap.max(1e-6) * best.abs().max(1.0) + 1e-9;
            if sign * ours.bound > sign * best + tolerance {
                complaint = Some(format!("bound {} beyond {best}", ours.bound));
            } else if ours.status == "infeasible" || ours.status == "unbounded" {
                complaint = Some(format!("{}, but {best} is known", ours.status));
            } else if ours.complete()
                && ours
                    .objective
                    .is_none_or(|v| sign * v > sign * best + tolerance)
            {
                complaint = Some(format!(
                    "{:?} called optimal, {best} is known",
                    ours.objective
                ));
            }
        }
        let line = Line {
            name,
            ours,
            others,
            best,
            complaint,
        };
        each(&line);
        lines.push(line);
    }
    Ok(lines)
}

/// The table's first line.
pub fn header(config: &Config) -> String {
    let one = format!(
        "{:<9} {:>16} {:>8} {:>8} {:>8} {:>8}",
        "status", "objective", "gap %", "nodes", "seconds", "integral"
    );
    let mut out = format!("{:<12} | {one}", "file");
    let highs = cfg!(feature = "highs").then_some("HiGHS");
    let others = config.with.iter().map(|w| w.solver.name());
    for name in highs.into_iter().chain(others) {
        // Writing to a string cannot fail.
        let _ = write!(out, " | {name:>6}: {one}");
    }
    out
}

/// One line of the table.
pub fn render(config: &Config, line: &Line) -> String {
    let one = |r: &Run| {
        let number =
            |v: Option<f64>, digits: usize| v.map_or("-".to_string(), |v| format!("{v:.digits$}"));
        let seen = r.objective.is_none() || !r.incumbents.is_empty();
        let integral = (line.best.filter(|_| seen))
            .map(|b| primal_integral(&r.incumbents, b, config.time_limit));
        format!(
            "{:<9} {:>16} {:>8} {:>8} {:>8.2} {:>8}",
            r.status,
            number(r.objective, 6),
            number(r.gap_percent(), 3),
            r.nodes,
            r.seconds,
            number(integral, 2)
        )
    };
    let mut out = format!("{:<12} | {}", line.name, one(&line.ours));
    for (_, r) in &line.others {
        // Writing to a string cannot fail.
        let _ = write!(out, " | {:>7} {}", "", one(r));
    }
    if let Some(c) = &line.complaint {
        let _ = write!(out, "  WRONG: {c}");
    }
    out
}

/// The table's last lines: counts, shifted geometric means (1 s) of time with the limit for what
/// did not end, nodes (shift 10) over what both ended, primal integrals.
pub fn summary(config: &Config, lines: &[Line]) -> String {
    let mean = |values: Vec<f64>, shift: f64| {
        if values.is_empty() {
            return 0.0;
        }
        let sum: f64 = values.iter().map(|v| (v + shift).ln()).sum();
        (sum / values.len() as f64).exp() - shift
    };
    let seconds = |r: &Run| {
        if r.complete() {
            r.seconds
        } else {
            config.time_limit
        }
    };
    let all = |l: &&Line| l.ours.complete() && l.others.iter().all(|(_, r)| r.complete());
    let integral = |l: &Line, r: &Run| {
        l.best.map_or(config.time_limit, |b| {
            primal_integral(&r.incumbents, b, config.time_limit)
        })
    };
    let row = |name: &str, of: &dyn Fn(&Line) -> Option<Run>| {
        let runs: Vec<(&Line, Run)> = lines.iter().filter_map(|l| Some((l, of(l)?))).collect();
        let done = runs.iter().filter(|(_, r)| r.complete()).count();
        let times = runs.iter().map(|(_, r)| seconds(r)).collect();
        let nodes = runs
            .iter()
            .filter(|(l, _)| all(l))
            .map(|(_, r)| r.nodes as f64);
        let integrals: Vec<f64> = (runs.iter())
            .filter(|(_, r)| r.objective.is_none() || !r.incumbents.is_empty())
            .map(|(l, r)| integral(l, r))
            .collect();
        format!(
            "{name:<8} {done} of {} ended; shifted geometric means: {:.2} s (1 s), {:.1} nodes (10, where all ended), \
             primal integral {:.2} s (1 s)",
            runs.len(),
            mean(times, 1.0),
            mean(nodes.collect(), 10.0),
            mean(integrals, 1.0)
        )
    };
    let mut out = row("here", &|l| Some(l.ours.clone()));
    for (k, name) in others(lines).into_iter().enumerate() {
        out.push('\n');
        out += &row(name, &|l| Some(l.others.get(k)?.1.clone()));
    }
    let wrong = lines.iter().filter(|l| l.complaint.is_some()).count();
    let _ = write!(out, "\n{wrong} wrong answers");
    out
}

/// Names of the others.
fn others(lines: &[Line]) -> Vec<&'static str> {
    let first = lines.first();
    first.map_or(Vec::new(), |l| l.others.iter().map(|(n, _)| *n).collect())
}

/// Shares of files that a solver ended within `factor` times the best one's time, for rising
/// factors (Dolan & More 2002). The first entry is ours.
pub fn profile(lines: &[Line]) -> Vec<(&'static str, Vec<(f64, f64)>)> {
    let time = |r: &Run| {
        if r.complete() {
            r.seconds.max(0.01)
        } else {
            f64::INFINITY
        }
    };
    let mut curves = vec![("remat-bb", Vec::new())];
    curves.extend(others(lines).into_iter().map(|name| (name, Vec::new())));
    let mut ratios: Vec<Vec<f64>> = vec![Vec::new(); curves.len()];
    for l in lines {
        let mut times = vec![time(&l.ours)];
        times.extend(l.others.iter().map(|(_, r)| time(r)));
        let best = times.iter().fold(f64::INFINITY, |a, b| a.min(*b));
        for (t, ratios) in times.iter().zip(&mut ratios) {
            ratios.push(if best.is_finite() {
                t / best
            } else {
                f64::INFINITY
            });
        }
    }
    for (k, (_, curve)) in curves.iter_mut().enumerate() {
        let total = lines.len().max(1) as f64;
        ratios[k].sort_by(f64::total_cmp);
        curve.push((1.0, 0.0));
        for (n, r) in ratios[k].iter().enumerate().filter(|(_, r)| r.is_finite()) {
            curve.push((*r, (n + 1) as f64 / total));
        }
    }
    curves
}

/// The profile as an SVG picture; the factor's axis is logarithmic, up to 1000.
pub fn profile_svg(lines: &[Line]) -> String {
    let (width, height, left, bottom) = (640.0, 400.0, 60.0, 50.0);
    let x = |f: f64| left + (width - left - 20.0) * f.clamp(1.0, 1000.0).log10() / 3.0;
    let y = |s: f64| height - bottom - (height - bottom - 20.0) * s;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    // Writing to a string cannot fail.
    for k in 0..=4 {
        let (f, s) = (10f64.powi(k.min(3)), f64::from(k) / 4.0);
        let _ = writeln!(
            out,
            "<line x1=\"{left}\" x2=\"{:.1}\" y1=\"{:.1}\" y2=\"{1:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.0}%</text>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{f}</text>",
            width - 20.0,
            y(s),
            left - 6.0,
            y(s) + 4.0,
            100.0 * s,
            x(f),
            height - bottom + 18.0
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\">time over the best solver's time</text>",
        (width + left) / 2.0,
        height - 10.0
    );
    for (k, (name, curve)) in profile(lines).iter().enumerate() {
        let colour = ["#0072b2", "#d55e00", "#009e73", "#cc79a7"][k % 4];
        let mut path = String::new();
        let mut last = 0.0;
        for &(f, s) in curve {
            let command = if path.is_empty() { "M" } else { "L" };
            let _ = write!(
                path,
                "{command}{:.1} {:.1} L{:.1} {:.1} ",
                x(f),
                y(last),
                x(f),
                y(s)
            );
            last = s;
        }
        let _ = write!(path, "L{:.1} {:.1}", x(1000.0), y(last));
        let at = 40.0 + 18.0 * k as f64;
        let _ = writeln!(
            out,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\
             <text x=\"{}\" y=\"{at}\" fill=\"{colour}\">{name}</text>",
            left + 12.0
        );
    }
    out + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ours: f64, highs: f64) -> Line {
        let run = |t: f64| Run {
            status: if t.is_finite() { "optimal" } else { "limit" }.into(),
            seconds: t,
            ..Run::default()
        };
        Line {
            name: "t".into(),
            ours: run(ours),
            others: vec![("HiGHS", run(highs))],
            best: None,
            complaint: None,
        }
    }

    #[test]
    fn the_primal_integral_is_the_area_under_the_gap() {
        assert_eq!(primal_integral(&[], 10.0, 60.0), 60.0);
        assert_eq!(primal_integral(&[(0.0, 10.0)], 10.0, 60.0), 0.0);
        // Gap 1 for 2 s, then 1/2 (20 against 10) for 4 s, then 0.
        assert_eq!(
            primal_integral(&[(2.0, 20.0), (6.0, 10.0)], 10.0, 60.0),
            4.0
        );
        assert_eq!(primal_gap(-1.0, 1.0), 1.0);
    }

    #[test]
    fn the_profile_counts_who_is_within_a_factor() {
        let lines = [
            line(1.0, 2.0),
            line(3.0, 1.0),
            line(f64::INFINITY, 5.0),
            line(4.0, f64::INFINITY),
        ];
        let curves = profile(&lines);
        assert_eq!(
            curves[0].1,
            [(1.0, 0.0), (1.0, 0.25), (1.0, 0.5), (3.0, 0.75)]
        );
        assert_eq!(
            curves[1].1,
            [(1.0, 0.0), (1.0, 0.25), (1.0, 0.5), (2.0, 0.75)]
        );
        assert!(profile_svg(&lines).contains("HiGHS"));
    }
}
