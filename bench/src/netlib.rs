//! Every linear program of a directory, solved here and (with the feature `highs`) by HiGHS,
//! alternating, in one run.
//!
//! Times are processor seconds, the least of several repeats: on a shared machine other processes
//! disturb that estimate least. The time covers presolve, scaling, simplex and postsolve here, and
//! `Highs_run` there; reading and passing the model do not count. Every answer is checked by
//! [`remat_lp::certificate`] outside the time.

use crate::clock::Stopwatch;
use remat_lp::presolve::PresolveSettings;
use remat_lp::{Algorithm, Limits, LpOutcome, Model, Settings, certificate, lp_format, mps};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Shift of the geometric mean: differences far below it do not count.
pub const SHIFT: Duration = Duration::from_millis(10);

/// Settings of the comparison.
#[derive(Clone, Debug)]
pub struct NetlibConfig {
    /// A directory with `.mps` and `.lp` files, plain or gzipped, or one such file.
    pub dir: PathBuf,
    /// A table with columns `name`, `objective` and `status`.
    pub reference: Option<PathBuf>,
    /// Only files whose name contains one of these; all if empty.
    pub only: Vec<String>,
    /// Repeats; the least time counts.
    pub repeats: usize,
    /// Presolve here (and there).
    pub presolve: bool,
    /// Scaling here.
    pub scaling: bool,
    /// The simplex method here.
    pub algorithm: Algorithm,
    /// Time limit of a solve.
    pub time_limit: Duration,
}

/// One solve.
#[derive(Clone, Debug, PartialEq)]
pub struct LpRun {
    /// Processor time.
    pub time: Duration,
    /// Simplex iterations.
    pub iterations: u64,
    /// How it ended: `optimal`, `infeasible`, `unbounded` or `limit`.
    pub status: String,
    /// The objective, if optimal.
    pub objective: Option<f64>,
}

/// One file's results.
#[derive(Clone, Debug)]
pub struct NetlibLine {
    /// File name without extensions.
    pub name: String,
    /// Rows, columns and nonzeros.
    pub size: (usize, usize, usize),
    /// Our run.
    pub ours: LpRun,
    /// HiGHS's run, if HiGHS is built in.
    pub highs: Option<LpRun>,
    /// The reference objective, if the table has one.
    pub reference: Option<f64>,
    /// The certificate checker's objection to our answer, if it has one.
    pub complaint: Option<String>,
}

/// Reason why the comparison ended.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// A directory or table could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: String,
        /// The system's error.
        source: std::io::Error,
    },
    /// An MPS file could not be read.
    #[error("{path}: {source}")]
    Mps {
        /// The file.
        path: String,
        /// The parser's error.
        source: mps::MpsError,
    },
    /// An LP file could not be read.
    #[error(transparent)]
    LpFormat(lp_format::LpFormatError),
    /// The table lacks a column that is needed.
    #[error("{path}: the first line must name the columns; `{column}` is missing")]
    Table {
        /// The file.
        path: String,
        /// The missing column.
        column: &'static str,
    },
}

/// Runs every file, and hands each line to `report` as soon as it is complete.
///
/// # Errors
/// A directory, table or model that cannot be read.
pub fn run(
    config: &NetlibConfig,
    mut report: impl FnMut(&NetlibLine),
) -> Result<Vec<NetlibLine>, BenchError> {
    let reference = match &config.reference {
        Some(path) => read_reference(path)?,
        None => BTreeMap::new(),
    };
    let mut lines = Vec::new();
    for path in files(&config.dir)? {
        let name = stem(&path);
        if !config.only.is_empty() && !config.only.iter().any(|o| name.contains(o.as_str())) {
            continue;
        }
        let model = read(&path)?;
        let line = one(config, name, Arc::new(model), &reference);
        report(&line);
        lines.push(line);
    }
    Ok(lines)
}

fn one(
    config: &NetlibConfig,
    name: String,
    model: Arc<Model>,
    reference: &BTreeMap<String, f64>,
) -> NetlibLine {
    let size = (model.num_rows(), model.num_cols(), model.num_nonzeros());
    let mut ours: Option<LpRun> = None;
    let mut highs: Option<LpRun> = None;
    let mut complaint = None;
    for _ in 0..config.repeats.max(1) {
        let (run, outcome) = solve_here(config, &model);
        complaint = certificate::check(&model, &outcome, 1e-6)
            .err()
            .map(|e| e.to_string());
        let give_up = run.time > config.time_limit;
        keep_least(&mut ours, run);
        if let Some(run) = solve_there(config, &model) {
            keep_least(&mut highs, run);
        }
        if give_up {
            break;
        }
    }
    let ours = ours.unwrap_or(LpRun {
        time: Duration::ZERO,
        iterations: 0,
        status: String::new(),
        objective: None,
    });
    NetlibLine {
        reference: reference.get(&name).copied(),
        name,
        size,
        ours,
        highs,
        complaint,
    }
}

fn keep_least(best: &mut Option<LpRun>, run: LpRun) {
    if best.as_ref().is_none_or(|b| run.time < b.time) {
        *best = Some(run);
    }
}

/// Sets a flag after a delay unless dropped first.
pub(crate) struct Watchdog {
    pub flag: Arc<AtomicBool>,
    done: std::sync::mpsc::Sender<()>,
}

impl Watchdog {
    pub fn new(limit: Duration) -> Self {
        let flag = Arc::new(AtomicBool::new(false));
        let (done, wait) = std::sync::mpsc::channel();
        let theirs = flag.clone();
        std::thread::spawn(move || {
            if wait.recv_timeout(limit).is_err() {
                theirs.store(true, Ordering::Relaxed);
            }
        });
        Watchdog { flag, done }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        let _ = self.done.send(());
    }
}

fn solve_here(config: &NetlibConfig, model: &Arc<Model>) -> (LpRun, LpOutcome) {
    let settings = Settings {
        algorithm: config.algorithm,
        scaling: config.scaling,
        ..Settings::default()
    };
    let watchdog = Watchdog::new(config.time_limit);
    let limits = Limits {
        interrupt: Some(watchdog.flag.clone()),
        ..Limits::default()
    };
    let presolve = config.presolve.then(PresolveSettings::default);
    let start = Stopwatch::start();
    let solved = remat_lp::solve(model, &settings, &limits, presolve.as_ref());
    let time = start.elapsed();
    let (outcome, iterations) = (solved.outcome, solved.stats.iterations());
    drop(watchdog);
    let status = match &outcome {
        LpOutcome::Optimal(_) => "optimal".to_string(),
        LpOutcome::Infeasible(_) => "infeasible".to_string(),
        LpOutcome::Unbounded(_) => "unbounded".to_string(),
        LpOutcome::CutoffReached { .. } => "cutoff".to_string(),
        LpOutcome::Limit(kind) => format!("limit ({kind:?})"),
    };
    let objective = outcome.optimal().map(|s| s.objective);
    (
        LpRun {
            time,
            iterations,
            status,
            objective,
        },
        outcome,
    )
}

#[cfg(feature = "highs")]
fn solve_there(config: &NetlibConfig, model: &Model) -> Option<LpRun> {
    let settings = crate::highs::HighsSettings {
        presolve: config.presolve,
        time_limit: config.time_limit.as_secs_f64(),
        interior: false,
    };
    let run = crate::highs::solve(model, settings);
    Some(LpRun {
        time: run.time,
        iterations: u64::try_from(run.iterations).unwrap_or(0),
        status: run.status,
        objective: run.objective,
    })
}

#[cfg(not(feature = "highs"))]
fn solve_there(_: &NetlibConfig, _: &Model) -> Option<LpRun> {
    None
}

pub(crate) fn files(dir: &Path) -> Result<Vec<PathBuf>, BenchError> {
    if dir.is_file() {
        return Ok(vec![dir.to_path_buf()]);
    }
    let io = |source| BenchError::Io {
        path: dir.display().to_string(),
        source,
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let name = path
            .file_name()
            .map(|n| n.to_string_lossy().to_ascii_lowercase())
            .unwrap_or_default();
        if [".mps", ".mps.gz", ".lp", ".lp.gz"]
            .iter()
            .any(|e| name.ends_with(e))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) fn read(path: &Path) -> Result<Model, BenchError> {
    let file = path.display().to_string();
    if file.ends_with(".lp") || file.ends_with(".lp.gz") {
        lp_format::read(path).map_err(BenchError::LpFormat)
    } else {
        mps::read(path).map_err(|source| BenchError::Mps { path: file, source })
    }
}

pub(crate) fn stem(path: &Path) -> String {
    let name = path
        .file_name()
        .map(|n| n.to_string_lossy().into_owned())
        .unwrap_or_default();
    let end = name.find(".mps").or_else(|| name.find(".lp"));
    end.map_or(name.clone(), |end| name[..end].to_string())
}

/// Objective of every optimal problem of the table, by name.
fn read_reference(path: &Path) -> Result<BTreeMap<String, f64>, BenchError> {
    let at = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|source| BenchError::Io {
        path: at.clone(),
        source,
    })?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let position = |column| {
        header
            .iter()
            .position(|h| *h == column)
            .ok_or_else(|| BenchError::Table {
                path: at.clone(),
                column,
            })
    };
    let (name, objective) = (position("name")?, position("objective")?);
    Ok(lines
        .filter_map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            Some((
                fields.get(name)?.to_string(),
                fields.get(objective)?.parse().ok()?,
            ))
        })
        .collect())
}

impl NetlibLine {
    /// Our time over HiGHS's.
    pub fn ratio(&self) -> Option<f64> {
        let highs = self.highs.as_ref()?;
        Some(self.ours.time.as_secs_f64() / highs.time.as_secs_f64().max(1e-6))
    }

    /// Largest relative difference of our objective from HiGHS's and from the reference; `None`
    /// without two objectives to compare.
    pub fn difference(&self) -> Option<f64> {
        let mine = self.ours.objective?;
        let others = [
            self.reference,
            self.highs.as_ref().and_then(|h| h.objective),
        ];
        others
            .into_iter()
            .flatten()
            .map(|o| (mine - o).abs() / (1.0 + o.abs()))
            .reduce(f64::max)
    }

    /// Returns whether the answer is certified and agrees with HiGHS and the reference. Objectives
    /// may differ by 1e-8, relative. If there is no optimum, that must be proven, and neither HiGHS
    /// nor the reference may have one.
    pub fn agrees(&self) -> bool {
        let end = match self.ours.objective {
            Some(_) => self.difference().is_none_or(|d| d <= 1e-8),
            None => {
                let proven = matches!(self.ours.status.as_str(), "infeasible" | "unbounded");
                proven
                    && self.reference.is_none()
                    && self.highs.as_ref().is_none_or(|h| h.objective.is_none())
            }
        };
        self.complaint.is_none() && end
    }
}

/// The table's first line.
pub fn header() -> String {
    format!(
        "{:<12} {:>6} {:>6} {:>7} {:>9} {:>7} {:>9} {:>7} {:>7}  {}",
        "file", "rows", "cols", "nnz", "here s", "iter", "HiGHS s", "iter", "ratio", "answer"
    )
}

/// One line of the table.
pub fn render(line: &NetlibLine) -> String {
    let mut out = format!(
        "{:<12} {:>6} {:>6} {:>7} {:>9.4} {:>7}",
        line.name,
        line.size.0,
        line.size.1,
        line.size.2,
        line.ours.time.as_secs_f64(),
        line.ours.iterations
    );
    // Writing to a String cannot fail.
    let _ = match (&line.highs, line.ratio()) {
        (Some(h), Some(r)) => write!(
            out,
            " {:>9.4} {:>7} {:>7.2}",
            h.time.as_secs_f64(),
            h.iterations,
            r
        ),
        _ => write!(out, " {:>9} {:>7} {:>7}", "-", "-", "-"),
    };
    let _ = match (line.agrees(), line.difference()) {
        (true, Some(d)) => write!(out, "  agrees ({d:.1e})"),
        (true, None) => write!(out, "  {}, certified", line.ours.status),
        (false, d) => {
            let highs = line
                .highs
                .as_ref()
                .map(|h| format!("; HiGHS: {}", h.status))
                .unwrap_or_default();
            let off = d.map(|d| format!(", off by {d:.1e}")).unwrap_or_default();
            let said = line
                .complaint
                .as_ref()
                .map(|c| format!("; {c}"))
                .unwrap_or_default();
            write!(out, "  DIFFERS: {}{off}{said}{highs}", line.ours.status)
        }
    };
    out
}

/// `exp(mean(log(t + shift))) - shift`.
pub fn shifted_geometric_mean(times: impl Iterator<Item = Duration>) -> f64 {
    let shift = SHIFT.as_secs_f64();
    let (mut sum, mut count) = (0.0, 0usize);
    for t in times {
        sum += (t.as_secs_f64() + shift).ln();
        count += 1;
    }
    if count == 0 {
        0.0
    } else {
        (sum / count as f64).exp() - shift
    }
}

/// The table's last lines.
pub fn summary(lines: &[NetlibLine]) -> String {
    let good = lines.iter().filter(|l| l.agrees()).count();
    let here = shifted_geometric_mean(lines.iter().map(|l| l.ours.time));
    let mut out = format!(
        "{good} of {} agree; shifted geometric mean (10 ms): here {here:.4} s",
        lines.len()
    );
    if lines.iter().all(|l| l.highs.is_some()) && !lines.is_empty() {
        let there = shifted_geometric_mean(
            lines
                .iter()
                .filter_map(|l| l.highs.as_ref())
                .map(|h| h.time),
        );
        let shift = SHIFT.as_secs_f64();
        let _ = write!(
            out,
            ", HiGHS {there:.4} s, ratio {:.2} (of the shifted means: {:.2})",
            here / there,
            (here + shift) / (there + shift)
        );
        let worst = lines
            .iter()
            .filter_map(|l| Some((l.ratio()?, &l.name)))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((ratio, name)) = worst {
            let _ = write!(out, "; worst ratio {ratio:.1} ({name})");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_of_equal_times_is_that_time() {
        let t = Duration::from_millis(70);
        assert!((shifted_geometric_mean([t, t, t].into_iter()) - 0.07).abs() < 1e-12);
        // 0 and 30 ms, shifted by 10: sqrt(10 * 40) - 10 = 10.
        let mixed = [Duration::ZERO, Duration::from_millis(30)];
        assert!((shifted_geometric_mean(mixed.into_iter()) - 0.01).abs() < 1e-12);
    }

    #[test]
    fn a_wrong_objective_does_not_agree() {
        let run = |objective| LpRun {
            time: SHIFT,
            iterations: 1,
            status: "optimal".into(),
            objective: Some(objective),
        };
        let mut line = NetlibLine {
            name: "t".into(),
            size: (1, 1, 1),
            ours: run(1.0),
            highs: Some(run(1.0)),
            reference: Some(1.0 + 1e-10),
            complaint: None,
        };
        assert!(line.agrees());
        line.reference = Some(1.0001);
        assert!(!line.agrees());
        line.reference = None;
        line.ours = LpRun {
            status: "infeasible".into(),
            objective: None,
            ..line.ours
        };
        assert!(!line.agrees());
        line.highs = None;
        assert!(line.agrees());
        line.complaint = Some("no proof".into());
        assert!(!line.agrees());
        assert!(render(&line).contains("DIFFERS"));
    }
}
