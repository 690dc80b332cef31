//! Models with ordered sets, implications, semi-continuous columns and quadratic objectives.

use crate::arguments::MipArguments;
use crate::failure::Failure;
use remat_lp::ModelFile;
use remat_models::program::{Program, ProgramError};

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

/// The models that a file's certificates may be about, each with a quadratic objective or without:
/// that of a certificate alone, then that of one beside an exact answer.
pub fn certified(file: &ModelFile) -> Result<Vec<ModelFile>, Failure> {
    let program = Program::of_file(file).map_err(failed)?;
    let curved = program.compile_curved().map_err(failed)?;
    let mut models = Vec::new();
    if let Some(quadratic) = &curved.quadratic {
        let mut with_products = ModelFile::from((*curved.model).clone());
        with_products.specials.quadratic = Some((**quadratic).clone());
        models.push(with_products);
    }
    // Some quadratic objectives have no linear form.
    if let Ok(linear) = program.compile() {
        models.push(ModelFile::from((*linear.model).clone()));
    }
    Ok(models)
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
