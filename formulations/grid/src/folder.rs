//! A folder of results: the grid, its instance files, and one file for each job.

use crate::error::GridError;
use crate::grid::Grid;
use crate::record::Record;
use crate::subject::Sources;
use crate::survey::hex;
use remat_lp::whole_file;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Schema of the file that describes a folder.
const SCHEMA: &str = "remat-grid/1";

/// Name of the file that describes a folder.
const HEAD: &str = "grid.json";

/// Content of [`HEAD`].
#[derive(Serialize, Deserialize, PartialEq)]
struct Head {
    schema: String,
    version: String,
    grid: toml::Table,
    /// Instance files in `models`, by their text in the grid.
    models: BTreeMap<String, String>,
}

/// A folder of results. It holds everything that [`merge`](crate::merge()) needs, and can be copied.
#[derive(Clone)]
pub struct Folder {
    path: PathBuf,
    /// The grid.
    pub grid: Grid,
    /// Its instance files.
    pub sources: Sources,
    /// True if the folder described another grid before.
    pub had_another: bool,
}

impl Folder {
    /// Makes the folder of a grid, or takes one that exists; its results stay. The grid's instance
    /// files are copied into it.
    ///
    /// # Errors
    /// [`GridError`] for instance files that cannot be read, and a folder that cannot be written.
    pub fn create(path: &Path, grid: &Grid) -> Result<Self, GridError> {
        Folder::with(path, grid, grid.sources()?)
    }

    /// As [`Folder::create`], with instance files that are at hand.
    ///
    /// # Errors
    /// As [`Folder::create`].
    pub fn with(path: &Path, grid: &Grid, sources: Sources) -> Result<Self, GridError> {
        let shown = path.display().to_string();
        let fail =
            |e: std::io::Error| GridError::whole(&shown, e, "name a folder that you may write to");
        std::fs::create_dir_all(path.join("results")).map_err(fail)?;
        std::fs::create_dir_all(path.join("models")).map_err(fail)?;
        let mut models = BTreeMap::new();
        for (text, bytes) in &sources {
            let mut name = hex(&Sha256::digest(bytes));
            name.truncate(16);
            let file = path.join("models").join(&name);
            if std::fs::read(&file).ok().as_ref() != Some(bytes) {
                whole_file::write(&file, &[bytes]).map_err(fail)?;
            }
            models.insert(text.clone(), name);
        }
        let head = Head {
            schema: SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            grid: grid.table.clone(),
            models,
        };
        let before = std::fs::read(path.join(HEAD)).ok();
        let before = before.and_then(|bytes| serde_json::from_slice::<Head>(&bytes).ok());
        let had_another = before
            .as_ref()
            .is_some_and(|before| before.grid != head.grid);
        if before.as_ref() != Some(&head) {
            let text = serde_json::to_string_pretty(&head).unwrap_or_default() + "\n";
            whole_file::write(&path.join(HEAD), &[text.as_bytes()]).map_err(fail)?;
        }
        Ok(Folder {
            path: path.into(),
            grid: grid.clone(),
            sources,
            had_another,
        })
    }

    /// Opens a folder.
    ///
    /// # Errors
    /// [`GridError`] for a folder of another kind.
    pub fn open(path: &Path) -> Result<Self, GridError> {
        let shown = path.display().to_string();
        let remedy = "name a folder that `remat-bb sweep GRID.toml --resume FOLDER` made";
        let fail = |problem: String| GridError::whole(&shown, problem, remedy);
        let bytes = std::fs::read(path.join(HEAD));
        let bytes = bytes.map_err(|e| fail(format!("{HEAD}: {e}")))?;
        let head: Result<Head, _> = serde_json::from_slice(&bytes);
        let head = head.map_err(|e| fail(format!("{HEAD}: {e}")))?;
        if head.schema != SCHEMA {
            return Err(fail(format!("{HEAD} has the schema {:?}", head.schema)));
        }
        let mut sources = Sources::new();
        for (text, name) in head.models {
            let bytes = std::fs::read(path.join("models").join(&name));
            sources.insert(
                text,
                bytes.map_err(|e| fail(format!("models/{name}: {e}")))?,
            );
        }
        Ok(Folder {
            grid: Grid::of(&shown, head.grid, path)?,
            path: path.into(),
            sources,
            had_another: false,
        })
    }

    /// The folder as a worker of its grid sees it; `None` if this machine does not have it.
    pub fn of_worker(path: &Path, grid: &Grid, sources: &Sources) -> Option<Self> {
        let head = std::fs::read(path.join(HEAD)).ok()?;
        let head: Head = serde_json::from_slice(&head).ok()?;
        (head.grid == grid.table).then(|| Folder {
            path: path.into(),
            grid: grid.clone(),
            sources: sources.clone(),
            had_another: false,
        })
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keys of all result files, complete or not.
    pub fn keys(&self) -> BTreeSet<String> {
        let listed = std::fs::read_dir(self.path.join("results"));
        let files = listed.into_iter().flatten().flatten();
        let names = files.filter_map(|file| file.file_name().into_string().ok());
        names
            .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
            .collect()
    }

    /// File of a result.
    pub fn file(&self, key: &str) -> PathBuf {
        file(&self.path, key)
    }
}

/// File of a result in a folder.
fn file(folder: &Path, key: &str) -> PathBuf {
    folder.join("results").join(format!("{key}.json"))
}

/// Reads a result of a folder; `None` if there is none, or its file is incomplete or changed.
pub fn get(folder: &Path, key: &str) -> Option<Record> {
    let text = std::fs::read_to_string(file(folder, key)).ok()?;
    Record::read(&text, key)
}

/// Writes a result into a folder.
///
/// # Errors
/// [`GridError`] if it cannot be written.
pub fn put(folder: &Path, record: &Record) -> Result<(), GridError> {
    let path = file(folder, &record.key);
    let written = whole_file::write(&path, &[record.text().as_bytes()]);
    written.map_err(|e| {
        let remedy = "free the disk, or name another folder; the next run resumes";
        GridError::whole(path.display().to_string(), e, remedy)
    })
}

/// A place for results.
pub trait Store: Sync {
    /// The result with a key; `None` if there is none, or its file is incomplete or changed.
    fn get(&self, key: &str) -> Option<Record>;

    /// Returns whether there is a result with a key, complete or not.
    fn has(&self, key: &str) -> bool;

    /// Keeps a result.
    ///
    /// # Errors
    /// [`GridError`] if it cannot be written.
    fn put(&self, record: &Record) -> Result<(), GridError>;
}

impl Store for Folder {
    fn get(&self, key: &str) -> Option<Record> {
        get(&self.path, key)
    }

    fn has(&self, key: &str) -> bool {
        self.file(key).exists()
    }

    fn put(&self, record: &Record) -> Result<(), GridError> {
        put(&self.path, record)
    }
}
