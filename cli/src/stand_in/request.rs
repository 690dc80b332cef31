//! Requests of another command line, and their solve.

use crate::commands::{lp, mip};
use crate::failure::Failure;
use crate::interrupt;
use remat_lp::{Model, ModelFile, Sense};
use remat_models::program::{
    Answer, Ending, Kind, Program, ProgramError, ProgramSettings, Special, solve_program,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Requested model and settings.
#[derive(Default)]
pub struct Request {
    /// File of the model.
    pub model: PathBuf,
    /// Sense in place of the model's.
    pub sense: Option<Sense>,
    /// True to solve the relaxation.
    pub relax: bool,
    /// Files of points to start from.
    pub starts: Vec<PathBuf>,
    /// Points to start from.
    pub points: Vec<Vec<f64>>,
    /// Settings of the solve.
    pub settings: ProgramSettings,
}

/// A solve.
pub struct SolveRequest {
    /// The model.
    pub model: Arc<Model>,
    /// The answer, by the model's indices.
    pub answer: Answer,
    /// True if any column was to be integer.
    pub integer: bool,
    /// Time of the solve in seconds.
    pub seconds: f64,
}

impl Request {
    /// Sets the limit of time in seconds.
    ///
    /// # Errors
    /// [`Failure::Usage`] quotes a text that is no time.
    pub fn time_limit(&mut self, option: &str, text: &str) -> Result<(), Failure> {
        let seconds = number(option, text)?;
        // A limit of decades is no limit.
        self.settings.model.mip.limits.seconds = Some(seconds.max(0.0)).filter(|s| *s < 1e9);
        Ok(())
    }

    /// Sets the number of threads; 0 is one per core.
    ///
    /// # Errors
    /// [`Failure::Usage`].
    pub fn threads(&mut self, option: &str, text: &str) -> Result<(), Failure> {
        let asked = number(option, text)?.max(0.0) as usize;
        self.settings.model.mip.threads = mip::worker_threads(asked.min(1024));
        Ok(())
    }

    /// Reads the model and solves it.
    ///
    /// # Errors
    /// [`Failure`] for unreadable files and invalid settings.
    pub fn solve(self) -> Result<SolveRequest, Failure> {
        let file = lp::read_all(&self.model)?;
        let program = Program::of_file(&file).map_err(refused)?;
        let ModelFile { model, .. } = file;
        self.solve_program(program, model)
    }

    /// Solves a program whose columns and rows are those of a model.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_program(
        mut self,
        mut program: Program,
        model: Model,
    ) -> Result<SolveRequest, Failure> {
        let begun = Instant::now();
        interrupt::catch(
            "ending with the best solution so far; once more to end at once",
            false,
        );
        if let Some(sense) = self.sense {
            program.set_sense(sense);
        }
        if self.relax {
            let cols: Vec<_> = program.cols().collect();
            for col in cols {
                program.set_kind(col, Kind::Continuous).map_err(refused)?;
            }
            // Ordered sets and implications are about integer columns, or act like them.
            let is_whole = |special: &Special| {
                matches!(special, Special::Sos { .. } | Special::Indicator { .. })
            };
            let specials = program.specials().filter(|special| is_whole(special.1));
            let specials: Vec<_> = specials.map(|special| special.0).collect();
            for special in specials {
                program.remove_special(special).map_err(refused)?;
            }
        }
        for path in &self.starts {
            self.points.push(mip::start(path, &model)?);
        }
        self.settings.starts = self.points;
        self.settings.model.mip.limits.interrupt = Some(interrupt::flag());
        let integer = program.has_integers() || program.has_specials();
        let answer = solve_program(&program, &self.settings, Arc::new(())).map_err(refused)?;
        Ok(SolveRequest {
            model: Arc::new(model),
            answer,
            integer,
            seconds: begun.elapsed().as_secs_f64(),
        })
    }
}

/// A failure of a program.
pub fn refused(error: ProgramError) -> Failure {
    Failure::Usage {
        problem: error.to_string(),
        remedy: "check the numbers in the model and the options".into(),
    }
}

impl SolveRequest {
    /// Values of the best point.
    pub fn x(&self) -> Option<&[f64]> {
        self.answer.points.first().map(|p| p.x.as_slice())
    }

    /// Returns whether a limit or an interrupt ended it.
    pub fn stopped(&self) -> bool {
        !matches!(
            self.answer.ending,
            Ending::Optimal
                | Ending::Infeasible
                | Ending::Unbounded
                | Ending::InfeasibleOrUnbounded
                | Ending::Cutoff
        )
    }
}

/// The number after an option.
///
/// # Errors
/// [`Failure::Usage`] quotes it.
pub fn number(option: &str, text: &str) -> Result<f64, Failure> {
    let found = text.parse::<f64>().ok().filter(|v| !v.is_nan());
    found.ok_or_else(|| Failure::Usage {
        problem: format!("{option}: {text:?} is no number"),
        remedy: "give a number".into(),
    })
}

/// Writes a whole file.
///
/// # Errors
/// [`Failure::Write`] names it.
pub fn write(path: &Path, text: &str) -> Result<(), Failure> {
    remat_lp::whole_file::write(path, &[text.as_bytes()]).map_err(|error| Failure::Write {
        file: path.into(),
        problem: error.to_string(),
        remedy: None,
    })
}
