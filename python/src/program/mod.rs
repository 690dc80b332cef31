//! Linear and integer programs: built from arrays or row by row, edited, solved.
//!
//! | module | concept |
//! |---|---|
//! | [`arrays`] | vectors from Python |
//! | [`answer`] | answers of solves |
//! | [`iis`] | the reason why a program is infeasible |
//! | [`log`] | the log of a solve |
//! | [`solving`] | settings, progress, Ctrl-C |

pub mod answer;
pub mod arrays;
pub mod iis;
pub mod log;
pub mod solving;

use crate::numbers::{ColHandle, RowHandle};
use crate::pickled::{Reduced, packed, reduced, unpacked};
use crate::relay::apart;
use crate::trouble::Trouble;
use arrays::{check_length, indices, numbers};
use pyo3::prelude::*;
use remat_lp::{Sense, lp_format, mps};
use remat_models::program::{self, Col, Kind, Product, ProgramError, Row};
use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

impl From<ProgramError> for Trouble {
    fn from(error: ProgramError) -> Self {
        let class = match error {
            ProgramError::Product { .. }
            | ProgramError::Unbounded { .. }
            | ProgramError::NotConvex { .. } => "NoExactForm",
            _ => "InvalidArgument",
        };
        Trouble::new(class, error.to_string())
    }
}

/// A linear or mixed-integer program that can be edited.
#[pyclass(frozen, weakref, module = "remat_bb")]
#[derive(Default)]
pub struct Program {
    /// The program, which may be shared.
    pub inner: Arc<Mutex<program::Program>>,
    names: Mutex<HandleNames>,
}

/// Handles by name, valid until the next edit.
#[derive(Default)]
struct HandleNames {
    edits: u64,
    cols: HashMap<String, u32>,
    rows: HashMap<String, u32>,
}

impl Program {
    /// Looks up a column or row by name; the first of several equal names counts.
    fn named(&self, of: impl FnOnce(&HandleNames) -> Option<u32>) -> Option<u32> {
        let program = self.lock();
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        if names.edits != program.edits() {
            *names = HandleNames {
                edits: program.edits(),
                ..HandleNames::default()
            };
            for col in program.cols() {
                let name = program.col_name(col).ok().flatten();
                let name = name.map_or_else(|| format!("C{}", col.0), str::to_owned);
                names.cols.entry(name).or_insert(col.0);
            }
            for row in program.rows() {
                let name = program.row_name(row).ok().flatten();
                let name = name.map_or_else(|| format!("R{}", row.0), str::to_owned);
                names.rows.entry(name).or_insert(row.0);
            }
        }
        of(&names)
    }

    /// The program under its lock.
    pub fn lock(&self) -> MutexGuard<'_, program::Program> {
        lock(&self.inner)
    }
}

/// A program under its lock.
pub fn lock<T>(program: &Mutex<T>) -> MutexGuard<'_, T> {
    // No edit leaves a program inconsistent.
    program.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kind(letter: char) -> PyResult<Kind> {
    match letter {
        'C' => Ok(Kind::Continuous),
        'B' => Ok(Kind::Binary),
        'I' => Ok(Kind::Integer),
        'S' => Ok(Kind::SemiContinuous),
        'N' => Ok(Kind::SemiInteger),
        _ => {
            let words = format!("{letter:?} is no kind of column: C, B, I, S or N");
            Err(Trouble::argument("kinds", words).into())
        }
    }
}

fn letter(kind: Kind) -> &'static str {
    match kind {
        Kind::Continuous => "C",
        Kind::Binary => "B",
        Kind::Integer => "I",
        Kind::SemiContinuous => "S",
        Kind::SemiInteger => "N",
    }
}

fn check_names(names: Option<&Vec<String>>, count: usize) -> PyResult<()> {
    names.map_or(Ok(()), |names| check_length("names", names.len(), count))
}

#[pymethods]
impl Program {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, (Cow<'static, [u8]>,)>> {
        let bytes = packed(&*self.lock())?;
        reduced(py, "Program", (bytes.into(),))
    }

    /// The program of a pickle.
    #[staticmethod]
    fn __restored__(bytes: &[u8]) -> PyResult<Self> {
        let program: program::Program = unpacked(bytes)?;
        Ok(Program {
            inner: Arc::new(Mutex::new(program)),
            ..Program::default()
        })
    }

    /// An independent program with the same columns and rows.
    fn __copy__(&self) -> Self {
        Program {
            inner: Arc::new(Mutex::new(self.lock().clone())),
            ..Program::default()
        }
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> Self {
        self.__copy__()
    }
}

#[pymethods]
impl Program {
    #[new]
    #[pyo3(signature = (name = "", *, maximise = false))]
    fn new(name: &str, maximise: bool) -> Self {
        let program = Program::default();
        program.lock().set_name(name);
        program.set_maximise(maximise);
        program
    }

    /// A program of an MPS or LP file (``.lp``), plain or gzipped: handles are its columns and
    /// rows in order. Implications, ordered sets and semi-continuous columns are read as well.
    ///
    /// Raises:
    ///     RematError: names file, line and remedy.
    #[staticmethod]
    #[pyo3(signature = (path, /))]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let name = path.to_string_lossy().to_lowercase();
        let name = name.trim_end_matches(".gz");
        let unread =
            |words: String| Trouble::new("RematError", words).at(path.display().to_string());
        let file = apart(py, || {
            match name.ends_with(".lp") || name.ends_with(".rlp") {
                true => lp_format::read_all(&path).map_err(|e| unread(e.to_string())),
                false => mps::read_all(&path).map_err(|e| unread(e.to_string())),
            }
        })?;
        let inner = program::Program::of_file(&file?).map_err(Trouble::from)?;
        Ok(Program {
            inner: Arc::new(Mutex::new(inner)),
            names: Mutex::default(),
        })
    }

    /// Writes an LP file (``.lp``) or an MPS file, gzipped if the name ends in ``.gz``.
    /// Implications, ordered sets and semi-continuous columns are written directly, other special
    /// constraints as rows and columns.
    ///
    /// Raises:
    ///     FileError: with the system's message, and for the ending of another compression.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let name = path.to_string_lossy().to_lowercase();
        program::check_ending(&name).map_err(|e| Trouble::file(&path, e))?;
        let program = self.lock().clone();
        let name = name.trim_end_matches(".gz");
        let written = apart(py, || {
            let file = program.file()?;
            match name.ends_with(".lp") || name.ends_with(".rlp") {
                true => lp_format::write_all(&file, &path).map_err(|e| Trouble::file(&path, e)),
                false => mps::write_all(&file, &path).map_err(|e| Trouble::file(&path, e)),
            }
        });
        Ok(written??)
    }

    /// Adds columns without entries.
    ///
    /// Args:
    ///     lower, upper, cost: Vectors of the same length.
    ///     kinds: A letter for each: ``C`` continuous, ``B`` binary, ``I`` integer; ``S`` and ``N``
    ///         are 0 or within their bounds, continuous and integer.
    ///
    /// Returns:
    ///     The handle of the first; others follow.
    ///
    /// Raises:
    ///     InvalidArgument: for NaN, costs that are not finite, and vectors of unequal lengths.
    #[pyo3(signature = (lower, upper, cost, kinds, names = None))]
    fn add_cols(
        &self,
        lower: &Bound<'_, PyAny>,
        upper: &Bound<'_, PyAny>,
        cost: &Bound<'_, PyAny>,
        kinds: &str,
        names: Option<Vec<String>>,
    ) -> PyResult<usize> {
        let (lower, upper) = (numbers("lower", lower)?, numbers("upper", upper)?);
        let cost = numbers("cost", cost)?;
        let (lower, upper, cost) = (lower.as_slice(), upper.as_slice(), cost.as_slice());
        check_length("upper", upper.len(), lower.len())?;
        check_length("cost", cost.len(), lower.len())?;
        check_length("kinds", kinds.chars().count(), lower.len())?;
        check_names(names.as_ref(), lower.len())?;
        let kinds = kinds.chars().map(kind).collect::<PyResult<Vec<_>>>()?;
        let add = |program: &mut program::Program| {
            let first = program.col_handles();
            for (k, kind) in kinds.into_iter().enumerate() {
                let name = names.as_ref().map(|names| names[k].as_str());
                program.add_col(lower[k], upper[k], cost[k], kind, name)?;
            }
            Ok(first)
        };
        Ok(self.lock().all_or_none(add).map_err(Trouble::from)?)
    }

    /// Adds rows in compressed form.
    ///
    /// Args:
    ///     lower, upper: Sides of each row.
    ///     starts: Positions where the entries of each row begin, and their number at the end.
    ///     indices, values: Handles of columns, and entries; entries of the same row and column are
    ///         added up.
    ///
    /// Returns:
    ///     The handle of the first; others follow.
    #[pyo3(signature = (lower, upper, starts, indices, values, names = None))]
    fn add_rows(
        &self,
        lower: &Bound<'_, PyAny>,
        upper: &Bound<'_, PyAny>,
        starts: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = positions)] indices: Vec<u32>,
        values: &Bound<'_, PyAny>,
        names: Option<Vec<String>>,
    ) -> PyResult<usize> {
        let (lower, upper) = (numbers("lower", lower)?, numbers("upper", upper)?);
        let (lower, upper) = (lower.as_slice(), upper.as_slice());
        let starts: Vec<usize> = arrays::indices("starts", starts)?;
        let values = numbers("values", values)?;
        let values = values.as_slice();
        check_length("upper", upper.len(), lower.len())?;
        check_length("starts", starts.len(), lower.len() + 1)?;
        check_length("indices", indices.len(), values.len())?;
        check_names(names.as_ref(), lower.len())?;
        let ordered = starts.windows(2).all(|w| w[0] <= w[1]);
        if !ordered || starts.first() != Some(&0) || starts.last() != Some(&values.len()) {
            let words = format!("they must go up from 0 to the {} values", values.len());
            return Err(Trouble::argument("starts", words).into());
        }
        let add = |program: &mut program::Program| {
            let first = program.row_handles();
            let mut entries = Vec::new();
            for k in 0..lower.len() {
                let range = starts[k]..starts[k + 1];
                entries.clear();
                let row = indices[range.clone()].iter().zip(&values[range]);
                entries.extend(row.map(|(&j, &v)| (Col(j), v)));
                let name = names.as_ref().map(|names| names[k].as_str());
                program.add_row(&entries, lower[k], upper[k], name)?;
            }
            Ok(first)
        };
        Ok(self.lock().all_or_none(add).map_err(Trouble::from)?)
    }

    /// Removes columns and their entries.
    fn remove_cols(&self, handles: &Bound<'_, PyAny>) -> PyResult<()> {
        let handles: Vec<u32> = indices("handles", handles)?;
        let handles: Vec<Col> = handles.into_iter().map(Col).collect();
        Ok(self.lock().remove_cols(&handles).map_err(Trouble::from)?)
    }

    /// Removes rows; removes no row at all if one of them is not in the program.
    fn remove_rows(&self, handles: &Bound<'_, PyAny>) -> PyResult<()> {
        let handles: Vec<u32> = indices("handles", handles)?;
        let handles: BTreeSet<Row> = handles.into_iter().map(Row).collect();
        let mut program = self.lock();
        for &row in &handles {
            program.row_bounds(row).map_err(Trouble::from)?;
        }
        for row in handles {
            program.remove_row(row).map_err(Trouble::from)?;
        }
        Ok(())
    }

    /// Sets the bounds of a column.
    fn set_bounds(&self, col: ColHandle, lower: f64, upper: f64) -> PyResult<()> {
        let set = self.lock().set_col_bounds(Col(col.0), lower, upper);
        Ok(set.map_err(Trouble::from)?)
    }

    /// Sets the cost of a column.
    fn set_cost(&self, col: ColHandle, cost: f64) -> PyResult<()> {
        Ok(self
            .lock()
            .set_cost(Col(col.0), cost)
            .map_err(Trouble::from)?)
    }

    /// Sets the quadratic part of the objective: the sum of ``factor * first * second``.
    ///
    /// Args:
    ///     first, second: Handles of columns.
    ///     factors: One number for each product; repeated products are added up.
    fn set_products(
        &self,
        #[pyo3(from_py_with = positions)] first: Vec<u32>,
        #[pyo3(from_py_with = positions)] second: Vec<u32>,
        factors: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let factors = numbers("factors", factors)?;
        let factors = factors.as_slice();
        check_length("first", first.len(), factors.len())?;
        check_length("second", second.len(), factors.len())?;
        let pairs = first.into_iter().zip(second).zip(factors);
        let products = pairs.map(|((first, second), &factor)| Product {
            first: Col(first),
            second: Col(second),
            factor,
        });
        let set = self.lock().set_products(products.collect());
        Ok(set.map_err(Trouble::from)?)
    }

    /// Sets the kind of a column: ``C``, ``B``, ``I``, ``S`` or ``N``.
    #[pyo3(signature = (col, kind, /))]
    fn set_kind(&self, col: ColHandle, kind: char) -> PyResult<()> {
        let set = self.lock().set_kind(Col(col.0), self::kind(kind)?);
        Ok(set.map_err(Trouble::from)?)
    }

    /// Sets the sides of a row.
    fn set_sides(&self, row: RowHandle, lower: f64, upper: f64) -> PyResult<()> {
        let set = self.lock().set_row_bounds(Row(row.0), lower, upper);
        Ok(set.map_err(Trouble::from)?)
    }

    /// Sets the entry of a row in a column.
    fn set_entry(&self, row: RowHandle, col: ColHandle, value: f64) -> PyResult<()> {
        let set = self.lock().set_entry(Row(row.0), Col(col.0), value);
        Ok(set.map_err(Trouble::from)?)
    }

    /// Bounds of a column.
    fn bounds(&self, col: ColHandle) -> PyResult<(f64, f64)> {
        Ok(self.lock().col_bounds(Col(col.0)).map_err(Trouble::from)?)
    }

    /// Cost of a column.
    fn cost(&self, col: ColHandle) -> PyResult<f64> {
        Ok(self.lock().cost(Col(col.0)).map_err(Trouble::from)?)
    }

    /// Kind of a column: ``C``, ``B``, ``I``, ``S`` or ``N``.
    fn kind(&self, col: ColHandle) -> PyResult<&'static str> {
        let kind = self.lock().kind(Col(col.0)).map_err(Trouble::from)?;
        Ok(letter(kind))
    }

    /// Sides of a row.
    fn sides(&self, row: RowHandle) -> PyResult<(f64, f64)> {
        Ok(self.lock().row_bounds(Row(row.0)).map_err(Trouble::from)?)
    }

    /// Entries of a row: handles of columns, and numbers.
    fn entries(&self, row: RowHandle) -> PyResult<Vec<(u32, f64)>> {
        let program = self.lock();
        let entries = program.entries(Row(row.0)).map_err(Trouble::from)?;
        Ok(entries.iter().map(|(col, v)| (col.0, *v)).collect())
    }

    /// Name of a column; ``None`` for an unnamed one.
    fn col_name(&self, col: ColHandle) -> PyResult<Option<String>> {
        let program = self.lock();
        let name = program.col_name(Col(col.0)).map_err(Trouble::from)?;
        Ok(name.map(str::to_owned))
    }

    /// Name of a row; ``None`` for an unnamed one.
    fn row_name(&self, row: RowHandle) -> PyResult<Option<String>> {
        let program = self.lock();
        let name = program.row_name(Row(row.0)).map_err(Trouble::from)?;
        Ok(name.map(str::to_owned))
    }

    /// Handle of the column with a name; an unnamed column is called ``C`` and its handle. ``None``
    /// for an unknown name.
    fn col_of_name(&self, name: &str) -> Option<u32> {
        self.named(|names| names.cols.get(name).copied())
    }

    /// Handle of the row with a name; an unnamed row is called ``R`` and its handle. ``None`` for
    /// an unknown name.
    fn row_of_name(&self, name: &str) -> Option<u32> {
        self.named(|names| names.rows.get(name).copied())
    }

    /// True if it needs a search: it has integer columns or special constraints.
    #[getter]
    fn needs_search(&self) -> bool {
        let program = self.lock();
        program.has_integers() || program.has_specials()
    }

    /// Handles of the columns.
    #[getter]
    fn cols(&self) -> Vec<u32> {
        self.lock().cols().map(|c| c.0).collect()
    }

    /// Handles of the rows.
    #[getter]
    fn rows(&self) -> Vec<u32> {
        self.lock().rows().map(|r| r.0).collect()
    }

    /// The first number of its file with more digits than a double holds, which was rounded, and
    /// its place; ``None`` without one.
    #[getter]
    fn rounded(&self) -> Option<String> {
        self.lock().rounded().map(str::to_owned)
    }

    /// Number of columns.
    #[getter]
    fn num_cols(&self) -> usize {
        self.lock().num_cols()
    }

    /// Number of rows.
    #[getter]
    fn num_rows(&self) -> usize {
        self.lock().num_rows()
    }

    /// Number of entries that are not 0.
    #[getter]
    fn num_nonzeros(&self) -> usize {
        self.lock().num_nonzeros()
    }

    /// True if any column is integer.
    #[getter]
    fn has_integers(&self) -> bool {
        self.lock().has_integers()
    }

    /// Name of the program.
    #[getter]
    fn name(&self) -> String {
        self.lock().name().to_owned()
    }

    #[setter]
    fn set_name(&self, name: &str) {
        self.lock().set_name(name);
    }

    /// True if the objective is maximised.
    #[getter]
    fn maximise(&self) -> bool {
        self.lock().sense() == Sense::Maximise
    }

    #[setter]
    fn set_maximise(&self, maximise: bool) {
        self.lock().set_sense(match maximise {
            true => Sense::Maximise,
            false => Sense::Minimise,
        });
    }

    /// Constant of the objective.
    #[getter]
    fn offset(&self) -> f64 {
        self.lock().offset()
    }

    #[setter]
    fn set_offset(&self, offset: f64) -> PyResult<()> {
        Ok(self.lock().set_offset(offset).map_err(Trouble::from)?)
    }

    fn __repr__(&self) -> String {
        let program = self.lock();
        let integers = match program.has_integers() {
            true => ", with integers",
            false => "",
        };
        format!(
            "Program({:?}: {} rows, {} columns, {} nonzeros{integers})",
            program.name(),
            program.num_rows(),
            program.num_cols(),
            program.num_nonzeros()
        )
    }
}

/// Positions of the argument `indices`.
fn positions(value: &Bound<'_, PyAny>) -> PyResult<Vec<u32>> {
    indices("indices", value)
}
