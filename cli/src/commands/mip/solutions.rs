//! Files of solutions: the best one, and further ones of `--pool`.

use super::MipResult;
use crate::arguments::MipArguments;
use crate::failure::Failure;
use crate::files::{self, Files};
use crate::visible::shown;
use remat_lp::solution_file::SolutionFile;
use remat_report::number;
use remat_solver::mip::Solution;
use std::path::{Path, PathBuf};

/// Files of `--pool` for the solutions after the first `behind`.
pub(super) fn further(arguments: &MipArguments, behind: usize) -> impl Iterator<Item = PathBuf> {
    let most = arguments.pool.unwrap_or(1) as usize;
    let path = arguments.solution.clone().into_iter();
    path.flat_map(move |path| (behind + 1..=most).map(move |k| numbered(&path, k)))
}

impl MipResult<'_> {
    /// Writes the requested solutions; returns a line for each file.
    pub(super) fn write_solutions(
        &self,
        files: Files,
        arguments: &MipArguments,
    ) -> Result<Vec<String>, Failure> {
        let Some(path) = &arguments.solution else {
            return Ok(Vec::new());
        };
        let one = |path: &Path, s: &Solution| {
            let text = SolutionFile::new(self.model, self.status(), &s.x).to_text();
            files.write(path, &text)
        };
        let Some(best) = &self.result.solution else {
            files.left(path);
            return Ok(Vec::new());
        };
        let best = one(path, best).map(|()| format!("solution   {}", shown(path)));
        let others = self.result.pool.iter().enumerate().skip(1);
        let others = others.map(|(k, s)| {
            let path = numbered(path, k + 1);
            one(&path, s)?;
            let objective = number(s.objective);
            Ok(format!(
                "solution   {} (objective {objective})",
                shown(&path)
            ))
        });
        let written = files::each([best].into_iter().chain(others));
        for path in further(arguments, self.result.pool.len()) {
            files.left(&path);
        }
        written
    }
}

/// `dir/name.sol` becomes `dir/name.2.sol`.
fn numbered(path: &Path, k: usize) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let name = match path.extension() {
        Some(extension) => format!("{stem}.{k}.{}", extension.to_string_lossy()),
        None => format!("{stem}.{k}"),
    };
    path.with_file_name(name)
}
