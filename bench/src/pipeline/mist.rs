//! Mist's inter-stage programs (EuroSys 2025), as mixed-integer programs and by labels.
//!
//! The program has for each stage `s`: binary `l_s_k` for `k` layers, binary `z_s_k_p` for its
//! point `p`, the time `T_s` and the delta `D_s` of the point. `mt` is the largest time, and `md`
//! the largest delta that the stages before do not hide. The offers of a stage are read from the
//! rows that define `T_s` and `D_s`; a choice by labels is checked in all rows of the program.

use crate::clock::Stopwatch;
use crate::mip::{self, MipConfig};
use crate::netlib;
use crate::pipeline::{PipelineBenchError, Table, files, gap_percent};
use clap::Args;
use remat_lp::{ColId, Model, RowId};
use remat_pipeline::labels::{Choice, Offer, Offers};
use remat_solver::mip::check_point;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// `remat-bench pipeline mist`
#[derive(Args, Debug)]
pub struct MistArguments {
    /// Folder with the programs (mist_*.mps.gz)
    pub data: PathBuf,
    /// Seconds for each program as a mixed-integer program, in order; the last one for all others
    #[arg(long, value_delimiter = ',', default_value = "10,20,60")]
    pub time_limits: Vec<f64>,
    /// Threads of the mixed-integer solver; 0 for one per core
    #[arg(long, default_value_t = 2)]
    pub threads: usize,
    /// Relative gap that counts as optimal
    #[arg(long, default_value_t = 1e-6)]
    pub gap: f64,
    /// Write the table to this file too (CSV)
    #[arg(long)]
    pub csv: Option<PathBuf>,
}

/// The line above the rows. A bound of the method labels is its objective: it is exact.
pub const HEADER: &str = "instance,method,stages,layers,microbatches,offers,time_limit_s,status,\
                          objective,bound,gap_percent,seconds,known_optimum,above_known_percent";

/// Optima known beforehand, to four decimals.
const KNOWN: [(&str, f64); 3] = [
    ("mist_4_32_30", 169.1286),
    ("mist_8_48_30", 258.0844),
    ("mist_16_96_100", 510.8744),
];

/// Units of time in a unit of the file: the files have at most 12 decimals.
const UNITS: f64 = 1e12;
/// Largest time or delta in the file's unit: sums of a thousand stay below `u64::MAX`.
const LARGEST: f64 = 1e4;

/// Runs the comparison; returns whether the answers agree.
///
/// # Errors
/// [`PipelineBenchError`] of the first program that cannot be read or is no program of Mist.
pub fn run(arguments: &MistArguments) -> Result<bool, PipelineBenchError> {
    let mut is_right = true;
    let mut table = Table::new(HEADER, arguments.csv.as_deref(), None)?;
    let mut paths = files(&arguments.data, "mist_", &[".mps", ".mps.gz"])?;
    // Small programs first.
    paths.sort_by_key(|path| (stages_in_name(path), path.clone()));
    for (k, path) in paths.iter().enumerate() {
        let model = netlib::read(path)?;
        let content = |e| PipelineBenchError::Content(path.clone(), e);
        let program = MistProgram::new(&model).map_err(content)?;
        let watch = Stopwatch::start();
        let choice = program.offers().best();
        let seconds = watch.seconds();
        let choice = choice.ok_or_else(|| content("no choice has all layers".into()))?;
        let optimum = program.check(&choice).map_err(content)?;
        let of_labels = Answer {
            method: "labels",
            limit: String::new(),
            status: "optimal".into(),
            objective: Some(optimum),
            bound: optimum,
            seconds,
        };
        is_right &= agrees(path, optimum);
        table.line(&program.line(path, &of_labels));
        let limit = arguments
            .time_limits
            .get(k)
            .or(arguments.time_limits.last());
        let by_mip = by_mip(path, arguments, limit.copied().unwrap_or(60.0))?;
        let tolerance = arguments.gap.max(1e-6) * optimum;
        is_right &= by_mip.bound <= optimum + tolerance;
        is_right &= by_mip.objective.is_none_or(|v| v >= optimum - tolerance);
        table.line(&program.line(path, &by_mip));
    }
    table.write()?;
    Ok(is_right)
}

/// A run of one method.
struct Answer {
    method: &'static str,
    limit: String,
    status: String,
    objective: Option<f64>,
    bound: f64,
    seconds: f64,
}

fn by_mip(
    path: &Path,
    arguments: &MistArguments,
    seconds: f64,
) -> Result<Answer, PipelineBenchError> {
    let config = MipConfig {
        dir: path.to_owned(),
        reference: None,
        only: Vec::new(),
        time_limit: seconds.clamp(0.01, 1e6),
        threads: arguments.threads,
        gap: arguments.gap,
        opportunistic: false,
        safe_bounds: true,
        with: Vec::new(),
    };
    let lines = mip::run(&config, |_| {})?;
    let line = lines.into_iter().next();
    let line = line
        .ok_or_else(|| PipelineBenchError::Content(path.to_owned(), "it was not solved".into()))?;
    if let Some(complaint) = line.complaint {
        return Err(PipelineBenchError::Content(path.to_owned(), complaint));
    }
    Ok(Answer {
        method: "mip",
        limit: config.time_limit.to_string(),
        status: line.ours.status,
        objective: line.ours.objective,
        bound: line.ours.bound,
        seconds: line.ours.seconds,
    })
}

fn known(path: &Path) -> Option<f64> {
    let name = netlib::stem(path);
    let found = KNOWN.iter().find(|(known, _)| *known == name);
    found.map(|&(_, optimum)| optimum)
}

/// Returns whether an optimum is the known one to its four decimals, or no optimum is known.
fn agrees(path: &Path, optimum: f64) -> bool {
    known(path).is_none_or(|known| (optimum - known).abs() <= 0.5e-4 + 1e-9)
}

/// The number of stages, which a name `mist_S_L_P` begins with; 0 for other names.
fn stages_in_name(path: &Path) -> usize {
    let name = netlib::stem(path);
    let stages = name.split('_').nth(1).and_then(|s| s.parse().ok());
    stages.unwrap_or(0)
}

/// A program of Mist with its offers.
#[derive(Debug)]
pub struct MistProgram<'a> {
    model: &'a Model,
    cols: BTreeMap<String, ColId>,
    stages: Vec<Vec<Offer>>,
    /// Layers and point of each offer, as in the names of its columns.
    names: Vec<Vec<String>>,
    layers: usize,
    steps: u64,
}

impl<'a> MistProgram<'a> {
    /// Reads the offers from the names and rows of a program.
    ///
    /// # Errors
    /// The column or row that a program of Mist has otherwise.
    pub fn new(model: &'a Model) -> Result<MistProgram<'a>, String> {
        let ids = (0..model.num_cols()).map(|c| ColId(c as u32));
        let cols: BTreeMap<String, ColId> = ids.map(|id| (model.col_name(id), id)).collect();
        let col = |name: &str| {
            let found = cols.get(name).copied();
            found.ok_or_else(|| format!("the column {name} is missing"))
        };
        let steps = model.costs()[col("mt")?.0 as usize];
        if steps < 0.0 || steps.fract() != 0.0 || steps > 1e6 {
            return Err(format!(
                "the cost of mt is {steps}, not a number of micro-batches"
            ));
        }
        let count = cols.keys().filter(|name| name.starts_with("T_")).count();
        let mut program = MistProgram {
            model,
            layers: total_layers(model, &cols)?,
            stages: Vec::new(),
            names: Vec::new(),
            steps: steps as u64,
            cols,
        };
        for s in 0..count {
            program.add_stage(s)?;
        }
        Ok(program)
    }

    /// The problem of the label method.
    pub fn offers(&self) -> Offers<'_> {
        Offers {
            stages: &self.stages,
            layers: self.layers,
            steps: self.steps,
        }
    }

    /// Puts a choice into the rows of the program; returns its objective there.
    ///
    /// # Errors
    /// The row that it violates, or a difference between both objectives.
    pub fn check(&self, choice: &Choice) -> Result<f64, String> {
        let mut x = vec![0.0; self.model.num_cols()];
        let mut set = |name: &str, value: f64| match self.cols.get(name) {
            Some(id) => {
                x[id.0 as usize] = value;
                Ok(())
            }
            None => Err(format!("the column {name} is missing")),
        };
        let (mut sum, mut exposed, mut largest) = (0.0, 0.0f64, 0.0f64);
        for (s, &o) in choice.offers.iter().enumerate() {
            let offer = self.stages[s][o];
            let (time, delta) = (offer.time as f64 / UNITS, offer.delta as f64 / UNITS);
            set(&format!("l_{s}_{}", offer.layers), 1.0)?;
            set(&format!("z_{s}_{}", self.names[s][o]), 1.0)?;
            set(&format!("T_{s}"), time)?;
            set(&format!("D_{s}"), delta)?;
            exposed = exposed.max(delta - sum);
            sum += time;
            largest = largest.max(time);
        }
        set("mt", largest)?;
        set("md", exposed)?;
        let value = check_point(self.model, &x, 1e-6).map_err(|e| e.to_string())?;
        let ours = choice.objective as f64 / UNITS;
        match (value - ours).abs() <= 1e-9 * value.abs() {
            true => Ok(value),
            false => Err(format!("the labels count {ours}, the program {value}")),
        }
    }

    /// Reads the offers of one stage: the columns `z` in the rows that define its time and delta.
    fn add_stage(&mut self, s: usize) -> Result<(), String> {
        let begin = format!("z_{s}_");
        let times = self.defined(&format!("T_{s}"), &begin)?;
        let deltas = self.defined(&format!("D_{s}"), &begin)?;
        let (mut offers, mut names) = (Vec::new(), Vec::new());
        for (name, id) in self.cols.range(begin.clone()..) {
            let Some(point) = name.strip_prefix(&begin) else {
                break;
            };
            let layers = point.split('_').next().and_then(|k| k.parse().ok());
            let layers = layers.ok_or_else(|| format!("{name} names no number of layers"))?;
            let value = |of: &BTreeMap<ColId, f64>| units(name, of.get(id).copied().unwrap_or(0.0));
            offers.push(Offer {
                layers,
                time: value(&times)?,
                delta: value(&deltas)?,
            });
            names.push(point.to_owned());
        }
        self.stages.push(offers);
        self.names.push(names);
        Ok(())
    }

    /// The values in the row `name - sum value z = 0`.
    fn defined(&self, name: &str, begin: &str) -> Result<BTreeMap<ColId, f64>, String> {
        let id = self.cols.get(name).copied();
        let id = id.ok_or_else(|| format!("the column {name} is missing"))?;
        for (row, sign) in self.model.col(id) {
            let bounds = self.model.row_bounds(row);
            let others = || self.model.row(row).filter(|&(col, _)| col != id);
            let is_point = |(col, _): (ColId, f64)| self.model.col_name(col).starts_with(begin);
            if bounds.lower == 0.0 && bounds.upper == 0.0 && others().all(is_point) {
                return Ok(others().map(|(col, v)| (col, -v / sign)).collect());
            }
        }
        Err(format!("no row defines {name} by columns {begin}*"))
    }

    fn line(&self, path: &Path, answer: &Answer) -> String {
        let number = |v: Option<f64>| v.map_or(String::new(), |v| format!("{v:.6}"));
        let gap = answer.objective.map(|v| gap_percent(v, answer.bound));
        let known = known(path);
        let above = answer.objective.zip(known);
        // Known optima have four decimals: adding 0 makes a small negative difference 0.
        let percent = |v: f64, known: f64| (1e6 * (v - known) / known).round() / 1e4 + 0.0;
        let above = above.map(|(v, known)| percent(v, known));
        format!(
            "{},{},{},{},{},{},{},{},{},{},{},{:.3},{},{}",
            netlib::stem(path),
            answer.method,
            self.stages.len(),
            self.layers,
            self.steps + 1,
            self.stages.iter().map(Vec::len).sum::<usize>(),
            answer.limit,
            answer.status,
            number(answer.objective),
            number(Some(answer.bound)),
            gap.map_or(String::new(), |gap| format!("{gap:.4}")),
            answer.seconds,
            known.map_or(String::new(), |known| known.to_string()),
            above.map_or(String::new(), |above| format!("{above:.4}")),
        )
    }
}

/// The right side of the row over all columns `l`, whose coefficients are their numbers of layers.
fn total_layers(model: &Model, cols: &BTreeMap<String, ColId>) -> Result<usize, String> {
    let of = |name: &str| {
        name.strip_prefix("l_")?
            .split('_')
            .nth(1)?
            .parse::<f64>()
            .ok()
    };
    let numbers: BTreeMap<ColId, f64> = cols
        .iter()
        .filter_map(|(name, &id)| Some((id, of(name)?)))
        .collect();
    for row in (0..model.num_rows()).map(|r| RowId(r as u32)) {
        let bounds = model.row_bounds(row);
        let is_number = |(col, v): (ColId, f64)| numbers.get(&col) == Some(&v);
        let is_total = model.row(row).count() == numbers.len() && model.row(row).all(is_number);
        if is_total && bounds.lower == bounds.upper && (1.0..1e6).contains(&bounds.lower) {
            return Ok(bounds.lower as usize);
        }
    }
    Err("no row counts the layers of all columns l".into())
}

/// A time in whole units.
fn units(name: &str, value: f64) -> Result<u64, String> {
    match (0.0..LARGEST).contains(&value) {
        true => Ok((value * UNITS).round() as u64),
        false => Err(format!(
            "{name} has {value}, not a time between 0 and {LARGEST}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::mps::{MpsFormat, parse};

    /// Two stages, three layers; one point with one layer, two points with two layers.
    fn program() -> String {
        let mut text = String::from("NAME tiny\nROWS\n N OBJ\n E total\n");
        for s in 0..2 {
            for row in [" E one", " E T", " E D", " G mt", " G md"] {
                text += &format!("{row}{s}\n");
            }
            text += &format!(" L use{s}_1\n L use{s}_2\n");
        }
        text += "COLUMNS\n";
        let mut entry = |col: &str, row: &str, value: f64| {
            text += &format!(" {col} {row} {value}\n");
        };
        let points = [(1, 0, 3.0, 1.0), (2, 0, 6.5, 2.0), (2, 1, 5.5, 9.0)];
        for s in 0..2 {
            for layers in [1, 2] {
                let col = format!("l_{s}_{layers}");
                entry(&col, "total", f64::from(layers));
                entry(&col, &format!("use{s}_{layers}"), -1.0);
            }
            for (layers, p, time, delta) in points {
                let col = format!("z_{s}_{layers}_{p}");
                entry(&col, &format!("one{s}"), 1.0);
                entry(&col, &format!("use{s}_{layers}"), 1.0);
                entry(&col, &format!("T{s}"), -time);
                entry(&col, &format!("D{s}"), -delta);
            }
            let (time, delta) = (format!("T_{s}"), format!("D_{s}"));
            entry(&time, "OBJ", 1.0);
            entry(&time, &format!("T{s}"), 1.0);
            entry(&time, &format!("mt{s}"), -1.0);
            if s == 0 {
                entry(&time, "md1", 1.0);
            }
            entry(&delta, &format!("D{s}"), 1.0);
            entry(&delta, &format!("md{s}"), -1.0);
        }
        for (col, cost) in [("mt", 2.0), ("md", 1.0)] {
            entry(col, "OBJ", cost);
            entry(col, &format!("{col}0"), 1.0);
            entry(col, &format!("{col}1"), 1.0);
        }
        text + "RHS\n RHS total 3\n RHS one0 1\n RHS one1 1\nENDATA\n"
    }

    #[test]
    fn offers_are_read_and_the_choice_is_checked_in_the_rows() {
        let model = parse(&program(), MpsFormat::Free).unwrap();
        let mist = MistProgram::new(&model).unwrap();
        let offers = mist.offers();
        assert_eq!((offers.layers, offers.steps), (3, 2));
        assert_eq!(offers.stages[1].len(), 3);
        assert_eq!(offers.stages[1][1].time, 6_500_000_000_000);
        let choice = offers.best().unwrap();
        // One layer, then two: 8.5 + 2 * 5.5 + max(1, 9 - 3) = 25.5, or 9.5 + 2 * 6.5 + 1 = 23.5.
        assert_eq!(choice.offers, [0, 1]);
        assert_eq!(mist.check(&choice), Ok(23.5));
        let wrong = Choice {
            offers: vec![0, 0],
            objective: choice.objective,
        };
        assert!(mist.check(&wrong).is_err());
    }

    #[test]
    fn other_programs_are_named() {
        let text = program().replace("mt", "slowest");
        let model = parse(&text, MpsFormat::Free).unwrap();
        let said = MistProgram::new(&model).unwrap_err();
        assert_eq!(said, "the column mt is missing");
    }
}
