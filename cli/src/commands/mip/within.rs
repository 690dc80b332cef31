//! Files that the search itself writes: state, certificate, node files.

use crate::arguments::MipArguments;
use crate::failure::{Failure, note};
use crate::files::{self, Files};
use remat_solver::mip::SolveResult;

/// Reports the files that could not be written.
///
/// # Errors
/// [`Failure::Write`] for a final state or a certificate that could not be written.
pub(super) fn written(
    files: Files,
    arguments: &MipArguments,
    result: &SolveResult,
) -> Result<Vec<String>, Failure> {
    if let (Some(problem), Some(path)) = (&result.certificate_problem, &arguments.certificate) {
        note(&format!("no certificate: {problem}"), false);
        files.left(path);
    }
    let problems = &result.file_problems;
    if let Some(problem) = &problems.node_files {
        note(&format!("node files: {problem}"), false);
    }
    let asked = [
        (&arguments.checkpoint, &problems.checkpoint),
        (&arguments.certificate, &problems.certificate),
    ];
    let failed = asked.into_iter().map(|asked| match asked {
        (Some(file), Some(problem)) => {
            let named = format!("{}: ", file.display());
            Err(Failure::Write {
                file: file.clone(),
                problem: problem.strip_prefix(&named).unwrap_or(problem).into(),
                remedy: None,
            })
        }
        _ => Ok(()),
    });
    files::each(failed).map(|_| Vec::new())
}
