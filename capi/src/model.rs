//! A program with its options, starts, callbacks and answer.

use crate::codes::REMAT_ERROR_BUSY;
use crate::follow::{Callbacks, Follower};
use crate::names::Names;
use crate::options::Options;
use crate::starts::completed;
use crate::trouble::Trouble;
use remat_formulations::program::{Answer, Program, ProgramError, ProgramSettings, solve_compiled};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A program as C has it in hand.
#[derive(Default)]
pub struct Model {
    state: Mutex<State>,
    error: Mutex<String>,
}

/// All that calls change.
#[derive(Default)]
pub struct State {
    /// The program under edit.
    pub program: Program,
    /// Handles by name.
    pub names: Names,
    /// Settings of the next solve.
    pub options: Options,
    /// Points to start from, by handle; NaN where they say nothing.
    pub starts: Vec<Vec<f64>>,
    /// Functions that follow a solve.
    pub callbacks: Callbacks,
    /// Answer of the last solve, until the next edit.
    pub answer: Option<Answer>,
    /// Ends the solve at work, where there is one.
    running: Option<Arc<AtomicBool>>,
}

impl State {
    /// The answer of the last solve.
    ///
    /// # Errors
    /// `REMAT_ERROR_NO_RESULT`.
    pub fn answered(&self) -> Result<&Answer, Trouble> {
        let none = || Trouble::no_result("the program was not solved since its last edit");
        self.answer.as_ref().ok_or_else(none)
    }

    /// Edits the program; the answer to what it was goes, whether the edit comes to anything or
    /// not.
    ///
    /// # Errors
    /// Those of the edit.
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
    pub fn state(&self) -> Result<MutexGuard<'_, State>, Trouble> {
        let state = self.lock();
        match state.running {
            None => Ok(state),
            Some(_) => Err(Trouble::new(
                REMAT_ERROR_BUSY,
                "the model is being solved; only remat_interrupt may be called",
            )),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No call leaves the state half-made.
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

    /// Ends the solve at work, where there is one.
    pub fn interrupt(&self) {
        if let Some(stop) = &self.lock().running {
            stop.store(true, Ordering::Relaxed);
        }
    }

    /// Solves the program and keeps its answer.
    ///
    /// # Errors
    /// Those of the program, the settings and the solve.
    pub fn solve(&self) -> Result<(), Trouble> {
        let begun = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        let (compiled, mut settings, callbacks, log, partial) = {
            let mut state = self.state()?;
            state.answer = None;
            let compiled = Arc::new(state.program.compile()?);
            let settings = ProgramSettings {
                model: state.options.settings()?,
                starts: state.starts.clone(),
            };
            let partial = state.starts.iter().any(|x| has_gaps(&state.program, x));
            let partial = partial.then(|| state.program.clone());
            state.running = Some(stop.clone());
            let log = state.options.log;
            (compiled, settings, state.callbacks, log, partial)
        };
        let running = Running { model: self };
        let follower = Arc::new(Follower::new(callbacks, log, stop.clone()));
        follower.begin(&compiled.model);
        settings.model.mip.limits.interrupt = Some(stop);
        if let Some(program) = partial.filter(Program::has_integers) {
            let whole = settings.starts.iter();
            let whole = whole.filter_map(|x| completed(&program, x, &settings.model));
            settings.starts = whole.collect();
            if let Some(seconds) = &mut settings.model.mip.limits.seconds {
                *seconds = (*seconds - begun.elapsed().as_secs_f64()).max(0.0);
            }
        }
        let answer = solve_compiled(&compiled, &settings, follower.clone());
        follower.end(answer.as_ref().ok());
        let mut answer = answer?;
        answer.info.seconds = begun.elapsed().as_secs_f64();
        drop(running);
        self.lock().answer = Some(answer);
        Ok(())
    }
}

/// Returns whether a start says nothing of some column.
fn has_gaps(program: &Program, start: &[f64]) -> bool {
    let given = |col: usize| start.get(col).is_some_and(|v| !v.is_nan());
    program.cols().any(|col| !given(col.index()))
}

/// A solve at work: its end is the end of this, a panic's as well.
struct Running<'a> {
    model: &'a Model,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.model.lock().running = None;
    }
}
