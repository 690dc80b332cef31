//! Models with ordered sets, implications, semi-continuous columns and quadratic objectives.

use crate::arguments::MipArguments;
use crate::failure::Failure;
use remat_lp::{Model, ModelFile};
use remat_models::program::{Program, ProgramError};
use std::sync::Arc;

/// The program of a file with ordered sets, implications, semi-continuous columns or a quadratic
/// objective; `None` for a linear model.
pub(super) fn of(file: &ModelFile, arguments: &MipArguments) -> Result<Option<Program>, Failure> {
    if file.specials.is_empty() {
        return Ok(None);
    }
    if arguments.permute.is_some() {
        return Err(Failure::Usage {
            problem: "--permute is for models of rows and columns alone".into(),
            remedy: "leave it out: the file has ordered sets, implications, semi-continuous \
                     columns or a quadratic objective"
                .into(),
        });
    }
    Program::of_file(file).map(Some).map_err(failed)
}

/// The linear model of a file's certificates.
pub fn compiled(file: &ModelFile) -> Result<Arc<Model>, Failure> {
    let compiled = Program::of_file(file).and_then(|program| program.compile());
    Ok(compiled.map_err(failed)?.model)
}

/// A failure of a program, with its remedy.
pub(super) fn failed(error: ProgramError) -> Failure {
    match error {
        ProgramError::Solve(error) => super::failure(error),
        error @ ProgramError::NotConvex { .. } => Failure::Usage {
            problem: error.to_string(),
            remedy: "minimise a convex or maximise a concave objective, or give the columns of \
                     its products finite bounds, one of each product integer"
                .into(),
        },
        error @ ProgramError::Quadratic { .. } => Failure::Usage {
            problem: error.to_string(),
            remedy: "leave the option out".into(),
        },
        error => Failure::Usage {
            problem: error.to_string(),
            remedy: "check the model: columns of implications are binary; a certificate, an exact \
                     answer or a state file needs finite bounds where a row does not always hold"
                .into(),
        },
    }
}
