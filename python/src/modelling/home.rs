//! The model behind variables and constraints.

use super::trouble::{Errno, error, unavailable};
use super::var::Var;
use crate::program::lock;
use pyo3::{Py, PyResult};
use remat_models::program::{Answer, Program, ProgramError, Sensitivity, sensitivity};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// Number of the next home in this process.
static HOMES: AtomicU64 = AtomicU64::new(1);

/// State of a model, without its program.
#[derive(Default)]
pub struct State {
    /// The answer of the latest solve.
    pub answer: Option<Arc<Answer>>,
    /// Starts by number, each by handle of columns.
    pub starts: HashMap<i64, HashMap<u32, f64>>,
    /// Number of the start that attributes refer to.
    pub start_number: i64,
    /// Number of the point that `Xn` refers to.
    pub solution_number: usize,
    /// Hints by handle of columns: value and priority.
    pub hints: HashMap<u32, (f64, i32)>,
    /// Branching priorities by handle of columns.
    pub priorities: HashMap<u32, i32>,
    /// Tags by handle of columns.
    pub col_tags: HashMap<u32, String>,
    /// Tags by handle of rows.
    pub row_tags: HashMap<u32, String>,
    /// Laziness by handle of rows.
    pub lazy: HashMap<u32, i32>,
    /// Ranges of the answer's basis, once they are requested; the inner `None` is an answer without
    /// ranges.
    pub ranges: Option<Option<Arc<Sensitivity>>>,
    /// Rows and bounds of columns that together make the model infeasible.
    pub iis: Option<Iis>,
}

/// An irreducible infeasible subsystem, by handle.
#[derive(Clone, Debug, Default)]
pub struct Iis {
    /// Rows in it.
    pub rows: Vec<u32>,
    /// Columns whose lower bound is in it.
    pub lower: Vec<u32>,
    /// Columns whose upper bound is in it.
    pub upper: Vec<u32>,
}

/// Python's objects of the variables of a model, by handle, so that each variable has only one. The
/// model holds them, and they hold its home: in the other direction memory would never be freed.
pub type VarObjects = Mutex<Vec<Option<Py<Var>>>>;

/// A model, shared by its variables and constraints.
pub struct Home {
    /// Number of the model in this process.
    pub number: u64,
    /// The program.
    pub program: Arc<Mutex<Program>>,
    /// Objects of its variables.
    pub objects: Weak<VarObjects>,
    state: Mutex<State>,
}

impl Home {
    /// A home for a program, and for the objects of its variables.
    pub fn new(program: Arc<Mutex<Program>>, objects: &Arc<VarObjects>) -> Arc<Self> {
        Arc::new(Home {
            number: HOMES.fetch_add(1, Ordering::Relaxed),
            program,
            objects: Arc::downgrade(objects),
            state: Mutex::default(),
        })
    }

    /// The value of an expression at the best point of the latest answer, by handle.
    ///
    /// # Errors
    /// `GurobiError` without a point.
    pub fn at_best(&self, value: impl FnOnce(&[f64]) -> f64) -> PyResult<f64> {
        let state = self.state();
        let point = state.answer.as_ref().and_then(|a| a.points.first());
        let point = point.ok_or_else(|| unavailable("x"))?;
        Ok(value(&point.x))
    }

    /// Ranges within which the basis of the latest answer stays optimal; `None` without a basis, or
    /// if the solved model was not a linear program.
    pub fn ranges(&self) -> Option<Arc<Sensitivity>> {
        let answer = self.state().answer.clone()?;
        if let Some(known) = &self.state().ranges {
            return known.clone();
        }
        let program = self.program().clone();
        let found = answer
            .duals
            .as_ref()
            .and_then(|duals| sensitivity(&program, duals).ok()?);
        let found = found.map(Arc::new);
        self.state().ranges = Some(found.clone());
        found
    }

    /// The program under its lock.
    pub fn program(&self) -> MutexGuard<'_, Program> {
        lock(&self.program)
    }

    /// The remaining state under its lock. It is locked after the program, never before.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Edits the program.
///
/// # Errors
/// `GurobiError` if the program refuses the edit.
pub fn edit<T>(
    home: &Home,
    change: impl FnOnce(&mut Program) -> Result<T, ProgramError>,
) -> PyResult<T> {
    change(&mut home.program()).map_err(refused)
}

/// The exception of an edit that the program refuses.
pub fn refused(problem: ProgramError) -> pyo3::PyErr {
    let errno = match problem {
        ProgramError::Gone { .. } => Errno::NotInModel,
        ProgramError::Product { .. } | ProgramError::Unbounded { .. } => Errno::NotSupported,
        _ => Errno::InvalidArgument,
    };
    error(errno, problem.to_string())
}
