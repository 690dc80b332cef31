//! A program with its options, starts, callbacks and answer.

use crate::codes::REMAT_ERROR_BUSY;
use crate::follow::{Callbacks, Follower};
use crate::names::Names;
use crate::options::Options;
use crate::roomy::on_roomy_thread;
use crate::trouble::Trouble;
use remat_models::program::{Answer, Program, ProgramError, ProgramSettings, solve_program};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A program behind a handle.
#[derive(Default)]
pub struct Model {
    state: Mutex<ModelState>,
    error: Mutex<String>,
}

/// State that calls change.
#[derive(Default)]
pub struct ModelState {
    /// The program under edit.
    pub program: Program,
    /// Handles by name.
    pub names: Names,
    /// Settings of the next solve.
    pub options: Options,
    /// Points to start from, by handle; NaN for columns without a value.
    pub starts: Vec<Vec<f64>>,
    /// Functions that follow a solve.
    pub callbacks: Callbacks,
    /// Answer of the last solve, until the next edit.
    pub answer: Option<Answer>,
    /// Ends the running solve; `None` if there is no running solve.
    running: Option<Arc<AtomicBool>>,
}

impl ModelState {
    /// The answer of the last solve.
    ///
    /// # Errors
    /// `REMAT_ERROR_NO_RESULT`.
    pub fn answered(&self) -> Result<&Answer, Trouble> {
        let none = || Trouble::no_result("the program was not solved since its last edit");
        self.answer.as_ref().ok_or_else(none)
    }

    /// Edits the program. The previous answer is discarded even if the edit fails.
    ///
    /// # Errors
    /// The edit's errors.
    pub fn edit<T>(
        &mut self,
        edit: impl FnOnce(&mut Program) -> Result<T, ProgramError>,
    ) -> Result<T, Trouble> {
        self.answer = None;
        Ok(edit(&mut self.program)?)
    }
}

impl Model {
    /// The state, for a short time.
    ///
    /// # Errors
    /// `REMAT_ERROR_BUSY` while the model is being solved.
    pub fn state(&self) -> Result<MutexGuard<'_, ModelState>, Trouble> {
        let state = self.lock();
        match state.running {
            None => Ok(state),
            Some(_) => Err(Trouble::new(
                REMAT_ERROR_BUSY,
                "the model is being solved; only remat_interrupt may be called",
            )),
        }
    }

    fn lock(&self) -> MutexGuard<'_, ModelState> {
        // No call leaves the state inconsistent.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Text of the last error with this model.
    pub fn error(&self) -> String {
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        error.clone()
    }

    /// Keeps the text of an error.
    pub fn set_error(&self, text: &str) {
        let mut error = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        text.clone_into(&mut error);
    }

    /// Interrupts the running solve, if there is one.
    pub fn interrupt(&self) {
        if let Some(stop) = &self.lock().running {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// Solves the program and keeps its answer. Callbacks run on this thread.
    ///
    /// # Errors
    /// Errors of the program, the settings and the solve.
    pub fn solve(&self) -> Result<(), Trouble> {
        let begun = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        let (program, mut settings, callbacks, options) = {
            let mut state = self.state()?;
            state.answer = None;
            let settings = ProgramSettings {
                model: state.options.settings()?,
                starts: state.starts.clone(),
                ..ProgramSettings::default()
            };
            let program = state.program.clone();
            state.running = Some(stop.clone());
            (program, settings, state.callbacks, state.options.clone())
        };
        let running = Running { model: self };
        settings.model.mip.limits.interrupt = Some(stop.clone());
        let mut answer = on_roomy_thread(|caller| {
            let follower = Arc::new(Follower::new(callbacks, options.log, stop, caller));
            follower.begin(&program, options.differing());
            let answer = solve_program(&program, &settings, follower.clone());
            follower.end(answer.as_ref().ok());
            answer
        })??;
        answer.info.seconds = begun.elapsed().as_secs_f64();
        drop(running);
        self.lock().answer = Some(answer);
        Ok(())
    }
}

/// A running solve; it ends when this is dropped, also by a panic.
struct Running<'a> {
    model: &'a Model,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.model.lock().running = None;
    }
}
