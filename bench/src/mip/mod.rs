//! Every mixed-integer program of a directory, solved here, by HiGHS (with the feature `highs`) and
//! by installed solvers ([`crate::others`]), alternating, in one run, with the same limits and
//! threads.
//!
//! The primal integral (Berthold 2013) is the area under the primal gap over time up to the limit,
//! in seconds. It is 0 for a solver with the optimum at once, and the time limit for a solver
//! without a solution.

use crate::library::summary::{self, primal_integral};
use crate::netlib::{self, BenchError};
use crate::others::{Installed, Limits, Task};
use crate::profile;
use crate::run::MipRun;
use remat_bb::failure::Failure;
use remat_lp::Model;
use remat_solver::mip::{Control, Observer, Settings, Solution, SolveStatus, Solver, check_point};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct MipConfig {
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
    /// Other solvers that run too.
    pub with: Vec<Installed>,
}

/// One file's results.
#[derive(Clone, Debug)]
pub struct MipLine {
    /// File name without extensions.
    pub name: String,
    /// Our run.
    pub ours: MipRun,
    /// The others' runs, by name; the same ones in every line.
    pub others: Vec<(&'static str, MipRun)>,
    /// The best objective known.
    pub best: Option<f64>,
    /// The defect of our answer, if it has one.
    pub complaint: Option<String>,
}

#[derive(Default)]
struct Watch(Mutex<Vec<(f64, f64)>>, Option<Instant>);

impl Observer for Watch {
    fn incumbent(&self, solution: &Solution) {
        // A poisoned lock means that the run panics anyway.
        if let (Ok(mut seen), Some(start)) = (self.0.lock(), self.1) {
            seen.push((start.elapsed().as_secs_f64(), solution.objective));
        }
    }
}

fn solve_here(config: &MipConfig, model: &Arc<Model>) -> (MipRun, Option<String>) {
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
        Err(e) => return (MipRun::default(), Some(e.to_string())),
    };
    let complaint = result.solution.as_ref().and_then(|s| {
        let checked = check_point(model, &s.x, 1e-6);
        checked.err().map(|e| e.to_string())
    });
    let run = MipRun {
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
fn solve_there(config: &MipConfig, model: &Model) -> Option<MipRun> {
    Some(crate::highs::solve_mip(
        model,
        config.time_limit,
        config.threads,
        config.gap,
    ))
}

#[cfg(not(feature = "highs"))]
fn solve_there(_: &MipConfig, _: &Model) -> Option<MipRun> {
    None
}

/// A run of another solver; the status is `failed` if it has no result.
fn solve_outside(config: &MipConfig, there: &Installed, model: &Model) -> MipRun {
    let answer = || {
        let folder = tempfile::tempdir().ok()?;
        let program = folder.path().join("model.mps");
        remat_lp::mps::write(model, &program).ok()?;
        let task = Task {
            program: &program,
            sense: model.sense(),
            solution: None,
        };
        let limits = Limits {
            seconds: config.time_limit,
            threads: config.threads,
            gap: config.gap,
            seed: 0,
        };
        there.solve(&task, &limits).ok()
    };
    match answer() {
        Some(run) => MipRun {
            status: run.status.as_str().into(),
            objective: run.objective,
            bound: run.bound.unwrap_or(f64::NAN),
            nodes: run.nodes.unwrap_or(0),
            seconds: run.seconds,
            incumbents: run.incumbents,
        },
        None => MipRun {
            status: "failed".into(),
            ..MipRun::default()
        },
    }
}

/// Best objectives known, by name.
fn references(config: &MipConfig) -> Result<BTreeMap<String, f64>, BenchError> {
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

/// Runs everything, and hands each line to `each` as soon as it is done.
///
/// # Errors
/// Directories and files that cannot be read.
pub fn run(config: &MipConfig, mut each: impl FnMut(&MipLine)) -> Result<Vec<MipLine>, BenchError> {
    let references = references(config)?;
    let mut lines = Vec::new();
    for path in netlib::files(&config.dir)? {
        let name = netlib::stem(&path);
        if !config.only.is_empty() && !config.only.iter().any(|o| name.contains(o.as_str())) {
            continue;
        }
        let model = Arc::new(netlib::read(&path)?);
        let (ours, mut complaint) = solve_here(config, &model);
        let mut others: Vec<(&'static str, MipRun)> = Vec::new();
        others.extend(solve_there(config, &model).map(|r| ("HiGHS", r)));
        for there in &config.with {
            others.push((there.solver.name(), solve_outside(config, there, &model)));
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
        let line = MipLine {
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
pub fn header(config: &MipConfig) -> String {
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
pub fn render(config: &MipConfig, line: &MipLine) -> String {
    let one = |r: &MipRun| {
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

/// The table's last lines: counts of ended runs, shifted geometric means, and the number of wrong
/// answers. Means are of time (shift 1 s, the limit for runs that did not end), nodes (shift 10, of
/// programs that all solvers ended) and primal integrals (1 s).
pub fn summary(config: &MipConfig, lines: &[MipLine]) -> String {
    let mean = |values: Vec<f64>, shift: f64| {
        if values.is_empty() {
            return 0.0;
        }
        let sum: f64 = values.iter().map(|v| (v + shift).ln()).sum();
        (sum / values.len() as f64).exp() - shift
    };
    let seconds = |r: &MipRun| {
        if r.complete() {
            r.seconds
        } else {
            config.time_limit
        }
    };
    let all = |l: &&MipLine| l.ours.complete() && l.others.iter().all(|(_, r)| r.complete());
    let integral = |l: &MipLine, r: &MipRun| {
        l.best.map_or(config.time_limit, |b| {
            primal_integral(&r.incumbents, b, config.time_limit)
        })
    };
    let row = |name: &str, of: &dyn Fn(&MipLine) -> Option<MipRun>| {
        let runs: Vec<(&MipLine, MipRun)> =
            lines.iter().filter_map(|l| Some((l, of(l)?))).collect();
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
fn others(lines: &[MipLine]) -> Vec<&'static str> {
    let first = lines.first();
    first.map_or(Vec::new(), |l| l.others.iter().map(|(n, _)| *n).collect())
}

/// The performance profile as an SVG picture, ours first.
///
/// # Errors
/// [`Failure::Draw`].
pub fn profile_svg(lines: &[MipLine]) -> Result<String, Failure> {
    let time = |r: &MipRun| match r.complete() {
        true => r.seconds,
        false => f64::INFINITY,
    };
    let mut names = vec!["remat-bb".to_owned()];
    let mut times = vec![lines.iter().map(|l| time(&l.ours)).collect::<Vec<f64>>()];
    for (k, name) in others(lines).into_iter().enumerate() {
        names.push(name.to_owned());
        times.push(lines.iter().map(|l| time(&l.others[k].1)).collect());
    }
    let curves: Vec<_> = names.into_iter().zip(summary::profile(&times)).collect();
    let explanation = "share of files that were ended within a factor of the fastest solver's time";
    Ok(profile::draw(
        "Mixed-integer programs",
        explanation,
        &curves,
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(ours: f64, highs: f64) -> MipLine {
        let run = |t: f64| MipRun {
            status: if t.is_finite() { "optimal" } else { "limit" }.into(),
            seconds: t,
            ..MipRun::default()
        };
        MipLine {
            name: "t".into(),
            ours: run(ours),
            others: vec![("HiGHS", run(highs))],
            best: None,
            complaint: None,
        }
    }

    #[test]
    fn the_profile_names_everybody() {
        let lines = [
            line(1.0, 2.0),
            line(3.0, 1.0),
            line(f64::INFINITY, 5.0),
            line(4.0, f64::INFINITY),
        ];
        let svg = profile_svg(&lines).expect("a picture");
        let plain: String = svg.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            plain.contains("remat-bb (75%)") && plain.contains("HiGHS (75%)"),
            "{svg}"
        );
    }
}
