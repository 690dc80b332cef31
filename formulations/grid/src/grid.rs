//! A grid, read from its file: axes, budgets and settings.

use crate::axes::{self, Axis, AxisKind};
use crate::error::GridError;
use crate::values::{self, texts};
use remat_formulations::options::SolveOptions;
use remat_instances::budgets::Budgets;
use remat_instances::instance::HostLink;
use remat_instances::nearest::nearest;
use remat_instances::pipeline::schedule::ScheduleKind;
use std::path::{Path, PathBuf};
use toml::Table;

/// Jobs of a chain unless the file names another number.
const CHAIN: usize = 10;

/// Keys besides the axes.
const KEYS: [&str; 4] = ["budgets", "chain", "starts", "settings"];

/// Settings of pipelines besides options of a solve.
const PIPELINE_SETTINGS: [&str; 2] = ["link", "speed"];

/// Options that a pipeline has.
const PIPELINE_OPTIONS: [&str; 4] = ["time_limit", "gap", "threads", "seed"];

/// A grid of solves: every combination of the values of its axes.
///
/// Jobs are numbered in the order of the file; budgets change fastest. A *chain* is a run of jobs
/// that start one another; chains are independent.
///
/// ```
/// use remat_grid::Grid;
/// let text = "models = ['zoo:vgg16', 'zoo:alexnet']\nbatches = [8, 16]\nbudgets = '60%..100%:5'";
/// let grid = Grid::parse("grid.toml", text, "".as_ref())?;
/// assert_eq!(grid.jobs(), 20);
/// let wrong = Grid::parse("grid.toml", "model = ['zoo:vgg16']", "".as_ref());
/// assert!(wrong.err().unwrap().remedy.contains("models"));
/// # Ok::<(), remat_grid::GridError>(())
/// ```
#[derive(Clone)]
pub struct Grid {
    /// Name of its file, for messages.
    pub file: String,
    /// Folder of its instance files.
    pub folder: PathBuf,
    /// The file's content.
    pub(crate) table: Table,
    /// All axes except for the budgets.
    pub(crate) axes: Vec<Axis>,
    /// The budgets.
    pub(crate) budgets: Vec<Budgets>,
    /// Settings of every job.
    pub(crate) settings: SolveOptions,
    /// Link between the devices of a pipeline.
    pub(crate) link: Option<HostLink>,
    /// Speeds of the devices of a pipeline.
    pub(crate) speed: Option<String>,
    /// Largest number of jobs of a chain.
    pub(crate) chain: usize,
    /// True if plans of a chain start its further jobs.
    pub(crate) starts: bool,
}

impl Grid {
    /// Reads a grid from a TOML file. Instance files are relative to it.
    ///
    /// # Errors
    /// [`GridError`] names the file and the key.
    pub fn read(path: &Path) -> Result<Self, GridError> {
        let file = path.display().to_string();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|e| GridError::whole(&file, e, "name a grid file in TOML"))?;
        Grid::parse(&file, &text, path.parent().unwrap_or(Path::new("")))
    }

    /// Reads a grid from TOML text; errors name it `file`. Instance files are relative to `folder`.
    ///
    /// # Errors
    /// As [`Grid::read`].
    pub fn parse(file: &str, text: &str, folder: &Path) -> Result<Self, GridError> {
        let table = text.parse::<Table>().map_err(|e| {
            let remedy = "docs/guides/a-thousand-solves.md has the form of a grid file";
            GridError::whole(file, format!("no TOML: {}", e.message()), remedy)
        })?;
        Grid::of(file, table, folder)
    }

    /// A grid from the content of its file.
    ///
    /// # Errors
    /// As [`Grid::read`].
    pub fn of(file: &str, table: Table, folder: &Path) -> Result<Self, GridError> {
        let names = axes::names();
        check_keys(file, &table, &names)?;
        let mut grid = Grid {
            file: file.into(),
            folder: folder.into(),
            axes: Vec::new(),
            budgets: budgets(file, &table)?,
            settings: SolveOptions {
                threads: 1,
                ..SolveOptions::default()
            },
            link: None,
            speed: None,
            chain: values::whole(file, &table, "chain", 1)?.unwrap_or(CHAIN),
            starts: values::switch(file, &table, "starts")?.unwrap_or(true),
            table: table.clone(),
        };
        for name in names {
            let Some(value) = table.get(name.file) else {
                continue;
            };
            let values = texts(file, name.file, value)?;
            let axis = Axis {
                column: name.column,
                kind: name.kind,
                values,
            };
            grid.check_axis(name.file, &axis)?;
            grid.axes.push(axis);
        }
        grid.read_settings()?;
        grid.check()?;
        Ok(grid)
    }

    fn read_settings(&mut self) -> Result<(), GridError> {
        let file = self.file.clone();
        let Some(settings) = self.table.get("settings").cloned() else {
            return Ok(());
        };
        let toml::Value::Table(settings) = settings else {
            let remedy = "write [settings], and below it lines such as gap = '1%'";
            return Err(GridError::key(&file, "settings", "no table", remedy));
        };
        for (name, value) in &settings {
            let key = format!("settings.{name}");
            let text = values::text(&file, &key, value)?;
            let wrong = |problem: String| {
                GridError::key(&file, &key, problem, "see `remat-bb solve --help`")
            };
            match name.as_str() {
                "link" => {
                    self.link = Some(
                        text.parse()
                            .map_err(|e: remat_instances::instance::LinkError| {
                                wrong(e.to_string())
                            })?,
                    )
                }
                "speed" => self.speed = Some(text),
                _ => {
                    let Some(option) = axes::options().find(|option| option.name == name) else {
                        return Err(unknown(&file, &key, name, &setting_names()));
                    };
                    if self.axes.iter().any(|axis| axis.column == name) {
                        return Err(wrong("it is an axis of this grid as well".into()));
                    }
                    option.set(&mut self.settings, &text).map_err(wrong)?;
                }
            }
        }
        Ok(())
    }

    /// Checks each value of an axis by reading it.
    fn check_axis(&self, key: &str, axis: &Axis) -> Result<(), GridError> {
        let wrong =
            |problem: String, remedy: &str| GridError::key(&self.file, key, problem, remedy);
        for (k, text) in axis.values.iter().enumerate() {
            if axis.values[..k].contains(text) {
                return Err(wrong(
                    format!("{text:?} is there twice"),
                    "give each value once",
                ));
            }
            let number = || match text.parse::<u32>() {
                Ok(number) if number > 0 => Ok(()),
                _ => Err(wrong(
                    format!("{text:?} is no number above 0"),
                    "write numbers such as [2, 4]",
                )),
            };
            match axis.kind {
                AxisKind::Model => (),
                AxisKind::Parameter => (),
                AxisKind::Stages | AxisKind::Microbatches => number()?,
                AxisKind::Schedule => {
                    let read = text.parse::<ScheduleKind>();
                    read.map_err(|e| wrong(e.to_string(), "write gpipe, 1f1b or interleaved:2"))?;
                }
                AxisKind::Option(option) => {
                    if is_off(axis, text) {
                        continue;
                    }
                    let mut options = SolveOptions::default();
                    let read = option.set(&mut options, text);
                    read.map_err(|problem| wrong(problem, "see `remat-bb solve --help`"))?;
                }
            }
        }
        Ok(())
    }

    fn check(&self) -> Result<(), GridError> {
        let file = &self.file;
        let has = |column: &str| self.axes.iter().any(|axis| axis.column == column);
        if !has("model") {
            let remedy = "write models = [\"zoo:vgg16\", \"graph.json\"]";
            return Err(GridError::key(file, "models", "there is none", remedy));
        }
        if has("stages") != has("microbatches") {
            let missing = if has("stages") {
                "microbatches"
            } else {
                "stages"
            };
            let remedy = "a pipeline has both, for example stages = [2, 4] and microbatches = [8]";
            return Err(GridError::key(file, missing, "there is none", remedy));
        }
        if !has("stages") {
            let pipeline = "a setting of pipelines";
            let remedy =
                "add stages and microbatches, or leave it out; offload is the link to host memory";
            return match (has("schedule"), self.link.is_some(), self.speed.is_some()) {
                (true, _, _) => Err(GridError::key(file, "schedules", pipeline, remedy)),
                (_, true, _) => Err(GridError::key(file, "settings.link", pipeline, remedy)),
                (_, _, true) => Err(GridError::key(file, "settings.speed", pipeline, remedy)),
                _ => Ok(()),
            };
        }
        let settings = self.table.get("settings").and_then(|s| s.as_table());
        let settings = settings
            .into_iter()
            .flat_map(|s| s.keys().map(String::as_str));
        let axes = self
            .axes
            .iter()
            .filter(|axis| matches!(axis.kind, AxisKind::Option(_)));
        let mut given = settings.chain(axes.map(|axis| axis.column));
        let is_foreign =
            |name: &&str| !PIPELINE_OPTIONS.contains(name) && !PIPELINE_SETTINGS.contains(name);
        match given.find(is_foreign) {
            None => Ok(()),
            Some(name) => {
                let remedy = format!(
                    "pipelines have {}, {}",
                    PIPELINE_OPTIONS.join(", "),
                    PIPELINE_SETTINGS.join(", ")
                );
                Err(GridError::key(
                    file,
                    name,
                    "pipelines do not have this option",
                    remedy,
                ))
            }
        }
    }

    /// Returns whether the jobs are pipelines.
    pub fn has_pipelines(&self) -> bool {
        let is_stages = |axis: &Axis| matches!(axis.kind, AxisKind::Stages);
        self.axes.iter().any(is_stages)
    }

    /// Number of budgets.
    pub fn budget_count(&self) -> usize {
        self.budgets.iter().map(Budgets::len).sum()
    }

    /// Number of jobs.
    pub fn jobs(&self) -> usize {
        let axes = self.axes.iter().map(|axis| axis.values.len());
        axes.product::<usize>() * self.budget_count()
    }

    /// Names of the columns of the axes.
    pub fn columns(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.axes.iter().map(|axis| axis.column)
    }

    /// The models, as written.
    pub fn models(&self) -> &[String] {
        let is_model = |axis: &&Axis| matches!(axis.kind, AxisKind::Model);
        let models = self.axes.iter().find(is_model);
        models.map_or(&[], |axis| &axis.values)
    }

    /// The content of the file as TOML.
    pub fn text(&self) -> String {
        self.table.to_string()
    }
}

/// Returns whether a value of an axis leaves its option at the default.
pub(crate) fn is_off(axis: &Axis, text: &str) -> bool {
    axis.column == "offload" && text == axes::OFF
}

fn setting_names() -> Vec<&'static str> {
    let options = axes::options().map(|option| option.name);
    options.chain(PIPELINE_SETTINGS).collect()
}

fn unknown(file: &str, key: &str, name: &str, known: &[&str]) -> GridError {
    let near = nearest(name, known.iter().copied());
    let near = near.map_or(String::new(), |near| format!("did you mean {near}? "));
    let remedy = format!("{near}There are {}", known.join(", "));
    GridError::key(file, key, "there is no such key", remedy)
}

fn check_keys(file: &str, table: &Table, names: &[axes::AxisName]) -> Result<(), GridError> {
    let known: Vec<&str> = names.iter().map(|name| name.file).chain(KEYS).collect();
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(unknown(file, key, key, &known)),
    }
}

fn budgets(file: &str, table: &Table) -> Result<Vec<Budgets>, GridError> {
    let remedy = "write budgets = \"40%..100%:20\" or budgets = [\"5GiB\", \"60%\"]";
    let wrong = |problem: String| GridError::key(file, "budgets", problem, remedy);
    let value = table.get("budgets");
    let value = value.ok_or_else(|| wrong("there is none".into()))?;
    let texts = texts(file, "budgets", value)?;
    let read = texts.iter().map(|text| match text.contains("least") {
        true => Err(wrong(
            "the least budget of each model is not known before its solves".into(),
        )),
        false => text.parse().map_err(|e| wrong(format!("{text:?}: {e}"))),
    });
    read.collect()
}
