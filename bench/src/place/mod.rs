//! Addresses of buffers with given lives: heights and bounds beside known methods and published
//! times.

mod generated;

use crate::bars::{self, BarGroup};
use crate::csv;
use generated::{SHAPES, generate};
use remat_bb::failure::Failure;
use remat_check::place as check;
use remat_instances::place::{Lives, read_lives};
use remat_memory::place::{PlaceBaseline, PlaceSettings, place};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A published run.
struct Published {
    /// Name of the instance's file.
    file: &'static str,
    /// Seconds in which MiniMalloc fits it into its capacity (Moffitt, ASPLOS 2023,
    /// doi 10.1145/3623278.3624752, table of challenging instances).
    minimalloc_seconds: f64,
    /// Least height in bytes that a published comparison found in 5 seconds
    /// (github.com/tonibohnlein/dsa-solver, 2026), by any of its solvers.
    best_height: u64,
}

const PUBLISHED: [Published; 6] = [
    Published {
        file: "A.1048576.csv",
        minimalloc_seconds: 4.91,
        best_height: 1_063_936,
    },
    Published {
        file: "C.1048576.csv",
        minimalloc_seconds: 0.64,
        best_height: 1_039_360,
    },
    Published {
        file: "E.1048576.csv",
        minimalloc_seconds: 3.72,
        best_height: 1_252_352,
    },
    Published {
        file: "G.1048576.csv",
        minimalloc_seconds: 1.18,
        best_height: 1_119_232,
    },
    Published {
        file: "I.1048576.csv",
        minimalloc_seconds: 3.91,
        best_height: 1_292_288,
    },
    Published {
        file: "K.1048576.csv",
        minimalloc_seconds: 0.63,
        best_height: 1_256_448,
    },
];

/// Lives placed by all methods.
pub struct PlaceRow {
    name: String,
    buffers: usize,
    load: u64,
    capacity: Option<u64>,
    status: &'static str,
    height: u64,
    bound: u64,
    evidence: String,
    nodes: u64,
    seconds: f64,
    /// Seconds until they fit the capacity.
    capacity_seconds: Option<f64>,
    /// Heights of the known methods; `None` for many buffers.
    baselines: Vec<Option<u64>>,
}

/// Places the lives of all files in a folder and its subfolders, and generated lives with
/// `generated` buffers. `seconds` limits each solve.
///
/// # Errors
/// Errors of reading a file, of a solve and of a check.
pub fn run(
    folder: &Path,
    seconds: f64,
    threads: usize,
    generated: usize,
    mut tell: impl FnMut(PlaceRow),
) -> Result<(), Box<dyn std::error::Error>> {
    for path in tables(folder)? {
        let lives = read_lives(&path)?;
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        tell(row(&file, &lives, seconds, threads)?);
    }
    for shape in SHAPES.into_iter().filter(|_| generated > 0) {
        let name = format!("{shape:?} {generated}").to_lowercase();
        tell(row(
            &name,
            &generate(shape, generated as u64)?,
            seconds,
            threads,
        )?);
    }
    Ok(())
}

/// Columns of the table.
fn columns() -> Vec<&'static str> {
    let fixed = "name,buffers,load,capacity,status,height,bound,evidence,nodes,seconds,\
                 capacity seconds,MiniMalloc seconds,best published height";
    let known = PlaceBaseline::ALL.map(PlaceBaseline::name);
    fixed.split(',').chain(known).collect()
}

/// The line above the rows.
pub fn header() -> String {
    columns().join(",")
}

impl PlaceRow {
    /// The row as CSV, with the published values.
    pub fn line(&self) -> String {
        let published = PUBLISHED
            .iter()
            .find(|published| published.file == self.name);
        let text = |value: Option<String>| value.unwrap_or_default();
        let mut line = format!(
            "{},{},{},{},{},{},{},{},{},{:.3},{},{},{}",
            self.name,
            self.buffers,
            self.load,
            text(self.capacity.map(|bytes| bytes.to_string())),
            self.status,
            self.height,
            self.bound,
            self.evidence,
            self.nodes,
            self.seconds,
            text(self.capacity_seconds.map(|seconds| format!("{seconds:.3}"))),
            text(published.map(|run| run.minimalloc_seconds.to_string())),
            text(published.map(|run| run.best_height.to_string())),
        );
        for height in &self.baselines {
            let _ = write!(line, ",{}", text(height.map(|height| height.to_string())));
        }
        line
    }
}

/// The rows of a table with published runs as bars, percent above the load, as SVG text. Errors call
/// the table `file`.
///
/// # Errors
/// [`Failure::Usage`] with line and column, and a message of the drawing library.
pub fn picture(file: &str, table: &str) -> Result<String, Failure> {
    let columns = columns();
    let lines = csv::lines(file, table, &columns)?;
    let published = lines
        .iter()
        .filter(|l| !l.text("best published height").is_empty());
    let baselines = PlaceBaseline::ALL.map(PlaceBaseline::name);
    let groups = published.map(|line| {
        let load = line.value::<f64>("load")?.max(1.0);
        let above = |name: &str| {
            let height: Option<f64> = line.optional(name)?;
            Ok(height.map(|height| 100.0 * (height / load - 1.0)))
        };
        let heights = ["height", "best published height"]
            .into_iter()
            .chain(baselines);
        let instance = line.text("name").split('.').next();
        Ok(BarGroup {
            name: instance.unwrap_or_default().to_owned(),
            values: heights.map(above).collect::<Result<_, Failure>>()?,
        })
    });
    let groups: Vec<BarGroup> = groups.collect::<Result<_, Failure>>()?;
    let mut names = vec!["search", "published"];
    names.extend(baselines);
    let title = "Height of MiniMalloc's instances";
    let explanation = "percent above the load; published: the best of others in 5 seconds";
    Ok(bars::draw((title, explanation), &names, &groups)?)
}

/// Files of lives below a folder, by name.
fn tables(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "csv") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn row(
    name: &str,
    lives: &Lives,
    seconds: f64,
    threads: usize,
) -> Result<PlaceRow, Box<dyn std::error::Error>> {
    let time_limit = Some(Duration::try_from_secs_f64(seconds)?);
    let least = PlaceSettings {
        time_limit,
        threads,
        ..PlaceSettings::default()
    };
    let outcome = place(lives, &least)?;
    let height = check::offsets(lives, &outcome.placement)?;
    let evidence = match check::bound(lives, &outcome.certificate) {
        Ok(evidence) => format!("{evidence:?}"),
        Err(fault) => fault.to_string(),
    };
    let capacity = lives.capacity();
    let mut capacity_seconds = None;
    if capacity.is_some() {
        let within = place(lives, &PlaceSettings { capacity, ..least })?;
        within.placement.replay_within(lives)?;
        capacity_seconds = Some(within.seconds);
    }
    let mut baselines = Vec::new();
    for baseline in PlaceBaseline::ALL {
        // Among many buffers the known methods take minutes.
        let is_small = lives.buffers().len() <= 5_000;
        baselines.push(match is_small.then(|| baseline.place(lives, 0)) {
            Some(Ok(placement)) => Some(check::offsets(lives, &placement)?),
            _ => None,
        });
    }
    Ok(PlaceRow {
        name: name.to_owned(),
        buffers: lives.buffers().len(),
        load: outcome.load,
        capacity,
        status: outcome.status.name(),
        height,
        bound: outcome.bound,
        evidence,
        nodes: outcome.nodes,
        seconds: outcome.seconds,
        capacity_seconds,
        baselines,
    })
}
