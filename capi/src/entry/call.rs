//! One program in one call.

use super::answer::activities;
use super::edit::{AddedColumns, kinds};
use super::{check_bounds, check_numbers, letters, parts, sense};
use crate::codes::{REMAT_BY_COLUMNS, REMAT_BY_ROWS, REMAT_STATUS_NONE, of_ending};
use crate::model::{Model, ModelState};
use crate::options::Value;
use crate::pointers::{array, array_or_none, length, output, put_array_if_wanted, put_if_wanted};
use crate::trouble::{Trouble, entry};
use remat_models::program::{Answer, Col, Program};
use std::ffi::{c_char, c_int};

/// Matrix of a program, compressed by columns or by rows.
struct Matrix<'a> {
    starts: &'a [i64],
    indices: &'a [i32],
    values: &'a [f64],
    by_rows: bool,
}

impl Matrix<'_> {
    /// Entries row by row.
    fn rows(&self, num_rows: usize, num_cols: usize) -> Result<Vec<Vec<(Col, f64)>>, Trouble> {
        check_numbers("values", self.values)?;
        let most = if self.by_rows { num_cols } else { num_rows };
        let mut rows = vec![Vec::new(); num_rows];
        for (k, part) in parts(self.starts, self.indices.len())?
            .into_iter()
            .enumerate()
        {
            for at in part {
                let index = usize::try_from(self.indices[at]).ok();
                let Some(index) = index.filter(|&i| i < most) else {
                    let found = self.indices[at];
                    let text = format!("indices[{at}] is {found}; a number below {most} is needed");
                    return Err(Trouble::argument(text));
                };
                let (row, col) = if self.by_rows { (k, index) } else { (index, k) };
                rows[row].push((Col(col as u32), self.values[at]));
            }
        }
        Ok(rows)
    }
}

/// A program in arrays, in the form of both functions.
struct Arrays<'a> {
    columns: AddedColumns<'a>,
    row_lower: &'a [f64],
    row_upper: &'a [f64],
    matrix: Matrix<'a>,
    sense: c_int,
    offset: f64,
}

/// Sizes and pointers of a program in arrays.
struct Given {
    num_cols: i32,
    num_rows: i32,
    num_nonzeros: i64,
    format: c_int,
    sense: c_int,
    offset: f64,
    cost: *const f64,
    col_lower: *const f64,
    col_upper: *const f64,
    row_lower: *const f64,
    row_upper: *const f64,
    starts: *const i64,
    indices: *const i32,
    values: *const f64,
    kinds: *const c_char,
}

impl Given {
    /// The arrays.
    ///
    /// # Safety
    /// They are as long as the header states.
    unsafe fn arrays<'a>(&self) -> Result<Arrays<'a>, Trouble> {
        let cols = length("num_cols", self.num_cols.into())?;
        let rows = length("num_rows", self.num_rows.into())?;
        let nonzeros = length("num_nonzeros", self.num_nonzeros)?;
        let by_rows = match self.format {
            REMAT_BY_COLUMNS => false,
            REMAT_BY_ROWS => true,
            other => {
                let right = "REMAT_BY_COLUMNS or REMAT_BY_ROWS";
                let text = format!("format is {other}: {right} is needed");
                return Err(Trouble::argument(text));
            }
        };
        let parts = if by_rows { rows } else { cols };
        // SAFETY: passed on.
        unsafe {
            Ok(Arrays {
                columns: AddedColumns {
                    lower: array("col_lower", self.col_lower, cols)?,
                    upper: array("col_upper", self.col_upper, cols)?,
                    cost: array("cost", self.cost, cols)?,
                    kinds: kinds(array_or_none("kinds", self.kinds, cols)?, cols)?,
                    names: vec![None; cols],
                },
                row_lower: array("row_lower", self.row_lower, rows)?,
                row_upper: array("row_upper", self.row_upper, rows)?,
                matrix: Matrix {
                    starts: array("starts", self.starts, parts)?,
                    indices: array("indices", self.indices, nonzeros)?,
                    values: array("values", self.values, nonzeros)?,
                    by_rows,
                },
                sense: self.sense,
                offset: self.offset,
            })
        }
    }
}

impl Arrays<'_> {
    fn build(&self, state: &mut ModelState) -> Result<(), Trouble> {
        let sense = sense(self.sense)?;
        check_bounds(["row_lower", "row_upper"], self.row_lower, self.row_upper)?;
        let rows = self
            .matrix
            .rows(self.row_lower.len(), self.columns.lower.len())?;
        self.columns.add(state)?;
        state.edit(|program| {
            program.set_sense(sense);
            program.set_offset(self.offset)?;
            for (k, entries) in rows.iter().enumerate() {
                program.add_row(entries, self.row_lower[k], self.row_upper[k], None)?;
            }
            Ok(())
        })
    }
}

/// Values of columns and rows; NaN without a point.
fn point(program: &Program, answer: &Answer) -> Result<(f64, Vec<f64>, Vec<f64>), Trouble> {
    match answer.points.first() {
        Some(point) => Ok((
            point.objective,
            point.x.clone(),
            activities(program, &point.x)?,
        )),
        None => Ok((
            f64::NAN,
            vec![f64::NAN; program.col_handles()],
            vec![f64::NAN; program.row_handles()],
        )),
    }
}

/// Solves a linear program in one call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_lp_call(
    num_cols: i32,
    num_rows: i32,
    num_nonzeros: i64,
    format: c_int,
    sense: c_int,
    offset: f64,
    cost: *const f64,
    col_lower: *const f64,
    col_upper: *const f64,
    row_lower: *const f64,
    row_upper: *const f64,
    starts: *const i64,
    indices: *const i32,
    values: *const f64,
    col_value: *mut f64,
    reduced_cost: *mut f64,
    row_value: *mut f64,
    row_dual: *mut f64,
    col_basis: *mut c_char,
    row_basis: *mut c_char,
    objective: *mut f64,
    status: *mut c_int,
) -> c_int {
    entry(|| {
        let given = Given {
            num_cols,
            num_rows,
            num_nonzeros,
            format,
            sense,
            offset,
            cost,
            col_lower,
            col_upper,
            row_lower,
            row_upper,
            starts,
            indices,
            values,
            kinds: std::ptr::null(),
        };
        output("col_value", col_value)?;
        output("reduced_cost", reduced_cost)?;
        output("row_value", row_value)?;
        output("row_dual", row_dual)?;
        output("objective", objective)?;
        // SAFETY: the caller's promise for outputs.
        unsafe { put_if_wanted("status", status, REMAT_STATUS_NONE)? };
        let model = Model::default();
        // SAFETY: the caller's promise for arrays.
        unsafe { given.arrays()? }.build(&mut *model.state()?)?;
        model.solve()?;
        let state = model.state()?;
        let answer = state.answered()?;
        let (best, x, row_x) = point(&state.program, answer)?;
        let (cols, rows) = (x.len(), row_x.len());
        let (dual, reduced, col_letters, row_letters) = match &answer.duals {
            Some(duals) => (
                duals.rows.clone(),
                duals.reduced_costs.clone(),
                letters(&duals.col_status),
                letters(&duals.row_status),
            ),
            None => (
                vec![f64::NAN; rows],
                vec![f64::NAN; cols],
                vec![b'-' as c_char; cols],
                vec![b'-' as c_char; rows],
            ),
        };
        // SAFETY: the caller's promise for outputs, of which there is one for each column or row.
        unsafe {
            put_array_if_wanted("col_value", col_value, &x)?;
            put_array_if_wanted("reduced_cost", reduced_cost, &reduced)?;
            put_array_if_wanted("row_value", row_value, &row_x)?;
            put_array_if_wanted("row_dual", row_dual, &dual)?;
            put_array_if_wanted("col_basis", col_basis, &col_letters)?;
            put_array_if_wanted("row_basis", row_basis, &row_letters)?;
            put_if_wanted("objective", objective, best)?;
            put_if_wanted("status", status, of_ending(answer.ending))
        }
    })
}

/// Solves a program with integers in one call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_mip_call(
    num_cols: i32,
    num_rows: i32,
    num_nonzeros: i64,
    format: c_int,
    sense: c_int,
    offset: f64,
    cost: *const f64,
    col_lower: *const f64,
    col_upper: *const f64,
    row_lower: *const f64,
    row_upper: *const f64,
    starts: *const i64,
    indices: *const i32,
    values: *const f64,
    kinds: *const c_char,
    time_limit: f64,
    col_value: *mut f64,
    row_value: *mut f64,
    objective: *mut f64,
    bound: *mut f64,
    status: *mut c_int,
) -> c_int {
    entry(|| {
        let given = Given {
            num_cols,
            num_rows,
            num_nonzeros,
            format,
            sense,
            offset,
            cost,
            col_lower,
            col_upper,
            row_lower,
            row_upper,
            starts,
            indices,
            values,
            kinds,
        };
        output("col_value", col_value)?;
        output("row_value", row_value)?;
        output("objective", objective)?;
        output("bound", bound)?;
        // SAFETY: the caller's promise for outputs.
        unsafe { put_if_wanted("status", status, REMAT_STATUS_NONE)? };
        let model = Model::default();
        {
            let mut state = model.state()?;
            // SAFETY: the caller's promise for arrays.
            unsafe { given.arrays()? }.build(&mut state)?;
            state.options.set("time_limit", Value::Double(time_limit))?;
        }
        model.solve()?;
        let state = model.state()?;
        let answer = state.answered()?;
        let (best, x, row_x) = point(&state.program, answer)?;
        // SAFETY: the caller's promise for outputs, of which there is one for each column or row.
        unsafe {
            put_array_if_wanted("col_value", col_value, &x)?;
            put_array_if_wanted("row_value", row_value, &row_x)?;
            put_if_wanted("objective", objective, best)?;
            put_if_wanted("bound", bound, answer.bound)?;
            put_if_wanted("status", status, of_ending(answer.ending))
        }
    })
}
