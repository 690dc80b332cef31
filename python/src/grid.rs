//! Grids of solves: the driver's view, a worker's work, and the merged table.

use crate::instance::Instance;
use crate::relay::{self, Progress, Relay, apart};
use crate::trouble::Trouble;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use remat_grid::{FAILED, Folder, GridError, Merged, Record, Sources, Store, Survey, Work};
use remat_report::draw::tradeoff;
use remat_report::grid::{MergeJson, pictures};
use remat_report::results;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

impl From<GridError> for Trouble {
    fn from(error: GridError) -> Self {
        let place = error.key.clone().unwrap_or_else(|| error.file.clone());
        let words = error.to_string();
        Trouble::new("InvalidArgument", words)
            .at(place)
            .remedy(error.remedy)
    }
}

/// A grid of solves with its instance files.
#[pyclass(frozen, module = "remat_bb._native")]
pub struct Grid {
    grid: remat_grid::Grid,
    sources: Sources,
}

/// Everything that a worker needs for some chains.
#[derive(Serialize, Deserialize)]
struct Payload {
    file: String,
    grid: String,
    sources: BTreeMap<String, Vec<u8>>,
    chains: Vec<usize>,
}

#[pymethods]
impl Grid {
    /// Reads a grid file.
    ///
    /// Raises:
    ///     InvalidArgument: the message names the file and the key.
    #[staticmethod]
    #[pyo3(signature = (path, /))]
    fn read(path: PathBuf) -> PyResult<Self> {
        let grid = remat_grid::Grid::read(&path).map_err(Trouble::from)?;
        let sources = grid.sources().map_err(Trouble::from)?;
        Ok(Grid { grid, sources })
    }

    /// Makes a grid from JSON text of the shape of a grid file, and the instances that it names.
    ///
    /// Raises:
    ///     InvalidArgument: the message names the key.
    #[staticmethod]
    #[pyo3(signature = (text, instances, /))]
    fn of(text: &str, instances: BTreeMap<String, PyRef<'_, Instance>>) -> PyResult<Self> {
        let wrong = |problem: String| {
            Trouble::argument("grid", problem).remedy("give text, numbers and lists of these")
        };
        let table = serde_json::from_str::<toml::Table>(text);
        let table = table.map_err(|e| wrong(e.to_string()))?;
        let grid = remat_grid::Grid::of("grid", table, Path::new(""));
        let grid = grid.map_err(Trouble::from)?;
        let mut sources = Sources::new();
        for model in grid
            .models()
            .iter()
            .filter(|model| !model.starts_with("zoo:"))
        {
            let bytes = match instances.get(model) {
                Some(instance) => remat_instances::write_instance(&instance.inner).into_bytes(),
                None => std::fs::read(model).map_err(|e| Trouble::file(Path::new(model), e))?,
            };
            sources.insert(model.clone(), bytes);
        }
        Ok(Grid { grid, sources })
    }

    /// Number of jobs.
    fn __len__(&self) -> usize {
        self.grid.jobs()
    }

    /// Packs of whole chains with at least this number of jobs each.
    #[pyo3(signature = (chains, least, /))]
    fn packs(&self, chains: Vec<usize>, least: usize) -> Vec<Vec<usize>> {
        self.grid.packs(chains, least)
    }

    /// The job's values in words.
    #[pyo3(signature = (job, /))]
    fn words(&self, job: usize) -> String {
        self.grid.words(job)
    }

    /// For each chain, the number of each job and the key of its result.
    ///
    /// Raises:
    ///     InvalidArgument: an instance or options do not work.
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<Vec<(usize, String)>>> {
        let found = apart(py, || {
            let mut survey = Survey::of(&self.grid, &self.sources);
            let chain = |chain| {
                let visits = survey.chain(chain)?;
                Ok(visits
                    .into_iter()
                    .map(|visit| (visit.job, visit.key))
                    .collect())
            };
            (0..self.grid.chains())
                .map(chain)
                .collect::<Result<_, GridError>>()
        })?;
        Ok(found.map_err(Trouble::from)?)
    }

    /// Makes the folder of the results, or takes one that exists.
    ///
    /// Raises:
    ///     InvalidArgument: it cannot be written.
    #[pyo3(signature = (folder, /))]
    fn save(&self, folder: PathBuf) -> PyResult<()> {
        let made = Folder::with(&folder, &self.grid, self.sources.clone());
        Ok(made.map(drop).map_err(Trouble::from)?)
    }

    /// Everything that :func:`grid_work` needs for some chains.
    #[pyo3(signature = (chains, /))]
    fn payload<'py>(&self, py: Python<'py>, chains: Vec<usize>) -> PyResult<Bound<'py, PyBytes>> {
        let mut sources = BTreeMap::new();
        for chain in &chains {
            for model in self.grid.chain_models(*chain) {
                let source = self.sources.get(model);
                sources.extend(source.map(|bytes| (model.to_owned(), bytes.clone())));
            }
        }
        let payload = Payload {
            file: self.grid.file.clone(),
            grid: self.grid.text(),
            sources,
            chains,
        };
        Ok(PyBytes::new(py, &crate::pickled::packed(&payload)?))
    }
}

/// Results in memory, and in a folder if this process has it.
struct Place {
    folder: Option<Folder>,
    found: Mutex<BTreeMap<String, Record>>,
}

impl Store for Place {
    fn get(&self, key: &str) -> Option<Record> {
        let record = self.folder.as_ref()?.get(key)?;
        // The driver may not see this folder.
        self.keep(&record);
        Some(record)
    }

    fn has(&self, key: &str) -> bool {
        self.folder.as_ref().is_some_and(|folder| folder.has(key))
    }

    fn put(&self, record: &Record) -> Result<(), GridError> {
        if let Some(folder) = &self.folder {
            folder.put(record)?;
        }
        self.keep(record);
        Ok(())
    }
}

impl Place {
    fn keep(&self, record: &Record) {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.insert(record.key.clone(), record.clone());
    }
}

/// Solves the jobs of a payload that have no result in the folder, if this process has the folder.
///
/// Returns:
///     The key and the text of each result.
///
/// Raises:
///     InvalidArgument: an instance does not work, or a result cannot be written.
#[pyfunction]
#[pyo3(signature = (payload, folder, /))]
pub fn grid_work(
    py: Python<'_>,
    payload: &[u8],
    folder: Option<PathBuf>,
) -> PyResult<Vec<(String, String)>> {
    let payload: Payload = crate::pickled::unpacked(payload)?;
    let grid = remat_grid::Grid::parse(&payload.file, &payload.grid, Path::new(""));
    let grid = grid.map_err(Trouble::from)?;
    let folder = folder.and_then(|path| Folder::of_worker(&path, &grid, &payload.sources));
    let place = Place {
        folder,
        found: Mutex::default(),
    };
    let ended = relay::work(py, None, |relay: &std::sync::Arc<Relay<Progress>>| {
        let work = Work::on(&grid, &payload.sources, &place);
        work.listener(&**relay, &|_| ())
            .run(payload.chains.iter().copied())
    })?;
    if let Some(interrupt) = ended.interrupt {
        return Err(interrupt);
    }
    ended.value.map_err(Trouble::from)?;
    let found = place
        .found
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    Ok(found
        .into_values()
        .map(|record| (record.key.clone(), record.text()))
        .collect())
}

/// Writes a result into a folder.
///
/// Raises:
///     InvalidArgument: the text is no result with this key, or it cannot be written.
#[pyfunction]
#[pyo3(signature = (folder, key, text, /))]
pub fn grid_put(folder: PathBuf, key: &str, text: &str) -> PyResult<()> {
    let record = Record::read(text, key);
    let record = record.ok_or_else(|| Trouble::argument("key", format!("no result of {key}")))?;
    Ok(remat_grid::put(&folder, &record).map_err(Trouble::from)?)
}

/// Returns whether a folder has a complete result with this key, of a job that did not fail.
#[pyfunction]
#[pyo3(signature = (folder, key, /))]
pub fn grid_has(folder: PathBuf, key: &str) -> bool {
    remat_grid::get(&folder, key).is_some_and(|record| record.status != FAILED)
}

/// The merged results of a folder.
#[pyclass(frozen, module = "remat_bb._native")]
pub struct GridTable(Merged);

#[pymethods]
impl GridTable {
    /// The table as JSON text.
    fn json(&self) -> String {
        results::json(&MergeJson::of(&self.0))
    }

    /// The table as CSV.
    fn csv(&self) -> String {
        self.0.csv()
    }

    /// The times as CSV.
    fn times(&self) -> String {
        self.0.times()
    }

    /// Name and SVG text of each picture.
    fn pictures(&self, py: Python<'_>) -> PyResult<Vec<(String, String)>> {
        let drawn = apart(py, || {
            let draw = |(name, picture)| Ok((name, tradeoff::draw(&picture)?));
            let pictures = pictures(&self.0).into_iter().map(draw);
            pictures.collect::<Result<_, Trouble>>()
        })?;
        Ok(drawn?)
    }
}

/// Merges the results of a folder.
///
/// Raises:
///     InvalidArgument: it is no folder of results.
#[pyfunction]
#[pyo3(signature = (folder, /))]
pub fn grid_merge(py: Python<'_>, folder: PathBuf) -> PyResult<GridTable> {
    let merged = apart(py, || {
        let folder = Folder::open(&folder)?;
        remat_grid::merge(&folder)
    })?;
    Ok(GridTable(merged.map_err(Trouble::from)?))
}

/// The instance of a job of a folder, and its plan as JSON text; the plan is ``None`` for a
/// pipeline and without a plan.
///
/// Raises:
///     InvalidArgument: there is no result with this key.
#[pyfunction]
#[pyo3(signature = (folder, job, key, /))]
pub fn grid_plan(
    py: Python<'_>,
    folder: PathBuf,
    job: usize,
    key: &str,
) -> PyResult<(Instance, Option<String>)> {
    let found = apart(py, || {
        let opened = Folder::open(&folder)?;
        let instance = opened.grid.job_instance(&opened.sources, job)?;
        let plan = opened.get(key).and_then(|record| record.plan);
        Ok::<_, GridError>((
            Instance { inner: instance },
            plan.map(|plan| plan.to_string()),
        ))
    })?;
    Ok(found.map_err(Trouble::from)?)
}
