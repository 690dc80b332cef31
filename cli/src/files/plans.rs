//! Plans of several results in one folder.

use super::{Files, document};
use crate::failure::Failure;
use crate::visible::is_stream;
use remat_formulations::solve::AnyPlan;
use remat_instances::Instance;
use remat_instances::plan::PlanFile;
use remat_lp::whole_file;
use std::path::{Path, PathBuf};

/// A tested folder for plans.
#[derive(Clone, Debug)]
pub struct PlanFolder {
    path: PathBuf,
    files: Files,
}

impl PlanFolder {
    /// The folder of `--plans`; `None` without the option.
    ///
    /// # Errors
    /// As [`PlanFolder::tried`].
    pub fn asked(path: Option<&Path>, files: Files) -> Result<Option<Self>, Failure> {
        path.map(|path| PlanFolder::tried(path, files)).transpose()
    }

    /// Tests before long work that the folder accepts plans, and makes it if necessary. `files` are
    /// the command's other outputs.
    ///
    /// # Errors
    /// [`Failure::Write`] and [`Failure::Usage`].
    pub fn tried(path: &Path, files: Files) -> Result<Self, Failure> {
        if is_stream(path) {
            return Err(Failure::Usage {
                problem: "--plans -: several plans cannot go to standard output".into(),
                remedy: "name a folder".into(),
            });
        }
        let made = std::fs::create_dir_all(path);
        made.and_then(|()| whole_file::attempt(&path.join(".plans")))
            .map_err(|e| Failure::Write {
                file: path.into(),
                problem: e.to_string(),
                remedy: Some("name a folder that is there, or can be made, for --plans".into()),
            })?;
        Ok(PlanFolder {
            path: path.into(),
            files,
        })
    }

    /// Checks that a plan of this name would overwrite only a plan.
    ///
    /// # Errors
    /// [`Failure::Write`] names another file of this name.
    pub fn free(&self, name: &str) -> Result<(), Failure> {
        let path = self.file(name);
        if std::fs::symlink_metadata(&path).is_err() {
            return Ok(());
        }
        let plan = path.is_file()
            && document(&path)
                .is_ok_and(|input| PlanFile::parse(&input.name, &input.bytes).is_ok());
        if plan {
            return Ok(());
        }
        Err(Failure::Write {
            file: path,
            problem: "it is there, and is no plan".into(),
            remedy: Some("move it, or name another folder for --plans".into()),
        })
    }

    /// Writes a plan for a budget in bytes, over an earlier plan of this name, and returns its
    /// path.
    ///
    /// # Errors
    /// As [`PlanFolder::free`], and [`Failure`] for a plan that cannot be made or written.
    pub fn write(
        &self,
        name: &str,
        instance: &Instance,
        plan: &AnyPlan,
        budget_bytes: u64,
    ) -> Result<String, Failure> {
        self.free(name)?;
        let path = self.file(name);
        let text = plan.planned(instance, budget_bytes)?.text();
        self.files.write(&path, &text)?;
        Ok(crate::visible::shown(&path))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.json"))
    }
}

/// Name of the plan of a strategy at a budget.
pub fn budget_name(strategy: &str, budget_bytes: u64) -> String {
    format!("{strategy}-{budget_bytes}B")
}

/// Name of the plan of a strategy for a batch size.
pub fn batch_name(strategy: &str, batch: u64) -> String {
    format!("{strategy}-batch-{batch}")
}
