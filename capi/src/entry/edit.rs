//! Changes of a program.

use super::{check_bounds, check_numbers, col, handle, kind, parts, row, sense};
use crate::calls::with_model;
use crate::pointers::{array, array_or_none, length, output, put_if_wanted, text_or_none, texts};
use crate::registry::RematModel;
use crate::trouble::Trouble;
use remat_models::program::{Col, Kind, Product, Program, Row};
use std::ffi::{c_char, c_int};

/// Sets the sense of the objective.
#[unsafe(no_mangle)]
pub extern "C" fn remat_set_sense(model: *mut RematModel, sense: c_int) -> c_int {
    with_model(model, |model| {
        let sense = self::sense(sense)?;
        model.state()?.edit(|program| {
            program.set_sense(sense);
            Ok(())
        })
    })
}

/// Sets the constant of the objective.
#[unsafe(no_mangle)]
pub extern "C" fn remat_set_offset(model: *mut RematModel, offset: f64) -> c_int {
    with_model(model, |model| {
        model.state()?.edit(|program| program.set_offset(offset))
    })
}

/// Adds a column.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_add_col(
    model: *mut RematModel,
    lower: f64,
    upper: f64,
    cost: f64,
    kind: c_char,
    name: *const c_char,
    col: *mut i32,
) -> c_int {
    with_model(model, |model| {
        // SAFETY: the caller's promise for texts.
        let name = unsafe { text_or_none("name", name)? };
        let kind = self::kind(kind)?;
        output("col", col)?;
        let mut state = model.state()?;
        let added = state.edit(|program| program.add_col(lower, upper, cost, kind, name))?;
        // SAFETY: the caller's promise for outputs.
        unsafe { put_if_wanted("col", col, handle(added.index())) }
    })
}

/// Adds columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_add_cols(
    model: *mut RematModel,
    count: i32,
    lower: *const f64,
    upper: *const f64,
    cost: *const f64,
    kinds: *const c_char,
    names: *const *const c_char,
    first: *mut i32,
) -> c_int {
    with_model(model, |model| {
        let count = length("count", count.into())?;
        // SAFETY: the caller's promise for arrays and texts.
        let (lower, upper, cost, kinds, names) = unsafe {
            (
                array("lower", lower, count)?,
                array("upper", upper, count)?,
                array("cost", cost, count)?,
                array_or_none("kinds", kinds, count)?,
                texts("names", names, count)?,
            )
        };
        let columns = AddedColumns {
            lower,
            upper,
            cost,
            kinds: self::kinds(kinds, count)?,
            names,
        };
        output("first", first)?;
        let mut state = model.state()?;
        let next = columns.add(&mut state)?;
        // SAFETY: the caller's promise for outputs.
        unsafe { put_if_wanted("first", first, handle(next)) }
    })
}

/// Kinds of letters; all continuous without letters.
pub(super) fn kinds(letters: Option<&[c_char]>, count: usize) -> Result<Vec<Kind>, Trouble> {
    match letters {
        None => Ok(vec![Kind::Continuous; count]),
        Some(letters) => letters.iter().map(|&letter| kind(letter)).collect(),
    }
}

/// Columns to add together.
pub(super) struct AddedColumns<'a> {
    pub lower: &'a [f64],
    pub upper: &'a [f64],
    pub cost: &'a [f64],
    pub kinds: Vec<Kind>,
    pub names: Vec<Option<&'a str>>,
}

impl AddedColumns<'_> {
    /// Adds all columns, or leaves the program unchanged on an error; returns the handle of the
    /// first.
    pub(super) fn add(&self, state: &mut crate::model::ModelState) -> Result<usize, Trouble> {
        check_bounds(["lower", "upper"], self.lower, self.upper)?;
        check_numbers("cost", self.cost)?;
        let add = |program: &mut Program| {
            let first = program.col_handles();
            for k in 0..self.lower.len() {
                let (lower, upper, cost) = (self.lower[k], self.upper[k], self.cost[k]);
                program.add_col(lower, upper, cost, self.kinds[k], self.names[k])?;
            }
            Ok(first)
        };
        state.edit(|program| program.all_or_none(add))
    }
}

/// Adds a row.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_add_row(
    model: *mut RematModel,
    lower: f64,
    upper: f64,
    num_nonzeros: i32,
    cols: *const i32,
    values: *const f64,
    name: *const c_char,
    row: *mut i32,
) -> c_int {
    with_model(model, |model| {
        let count = length("num_nonzeros", num_nonzeros.into())?;
        // SAFETY: the caller's promise for arrays and texts.
        let (cols, values, name) = unsafe {
            (
                array("cols", cols, count)?,
                array("values", values, count)?,
                text_or_none("name", name)?,
            )
        };
        let entries = entries(cols, values)?;
        output("row", row)?;
        let mut state = model.state()?;
        let added = state.edit(|program| program.add_row(&entries, lower, upper, name))?;
        // SAFETY: the caller's promise for outputs.
        unsafe { put_if_wanted("row", row, handle(added.index())) }
    })
}

fn entries(cols: &[i32], values: &[f64]) -> Result<Vec<(Col, f64)>, Trouble> {
    let each = cols.iter().zip(values);
    each.map(|(&j, &v)| Ok((col(j)?, v))).collect()
}

/// Adds rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_add_rows(
    model: *mut RematModel,
    count: i32,
    lower: *const f64,
    upper: *const f64,
    num_nonzeros: i64,
    starts: *const i64,
    cols: *const i32,
    values: *const f64,
    names: *const *const c_char,
    first: *mut i32,
) -> c_int {
    with_model(model, |model| {
        let count = length("count", count.into())?;
        let nonzeros = length("num_nonzeros", num_nonzeros)?;
        // SAFETY: the caller's promise for arrays and texts.
        let (lower, upper, starts, cols, values, names) = unsafe {
            (
                array("lower", lower, count)?,
                array("upper", upper, count)?,
                array("starts", starts, count)?,
                array("cols", cols, nonzeros)?,
                array("values", values, nonzeros)?,
                texts("names", names, count)?,
            )
        };
        let parts = parts(starts, nonzeros)?;
        let entries = entries(cols, values)?;
        check_bounds(["lower", "upper"], lower, upper)?;
        check_numbers("values", values)?;
        output("first", first)?;
        let add = |program: &mut Program| {
            let first = program.row_handles();
            for (k, part) in parts.into_iter().enumerate() {
                program.add_row(&entries[part], lower[k], upper[k], names[k])?;
            }
            Ok(first)
        };
        let next = model.state()?.edit(|program| program.all_or_none(add))?;
        // SAFETY: the caller's promise for outputs.
        unsafe { put_if_wanted("first", first, handle(next)) }
    })
}

/// Sets the bounds of a column.
#[unsafe(no_mangle)]
pub extern "C" fn remat_set_col_bounds(
    model: *mut RematModel,
    col: i32,
    lower: f64,
    upper: f64,
) -> c_int {
    with_model(model, |model| {
        let col = self::col(col)?;
        let set = |program: &mut Program| program.set_col_bounds(col, lower, upper);
        model.state()?.edit(set)
    })
}

/// Sets the cost of a column.
#[unsafe(no_mangle)]
pub extern "C" fn remat_set_cost(model: *mut RematModel, col: i32, cost: f64) -> c_int {
    with_model(model, |model| {
        let col = self::col(col)?;
        model.state()?.edit(|program| program.set_cost(col, cost))
    })
}

/// Sets the quadratic part of the objective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_set_products(
    model: *mut RematModel,
    count: i64,
    first: *const i32,
    second: *const i32,
    factors: *const f64,
) -> c_int {
    with_model(model, |model| {
        let count = length("count", count)?;
        // SAFETY: the caller's promise for arrays.
        let (first, second, factors) = unsafe {
            (
                array("first", first, count)?,
                array("second", second, count)?,
                array("factors", factors, count)?,
            )
        };
        check_numbers("factors", factors)?;
        let pairs = first.iter().zip(second).zip(factors);
        let products = pairs.map(|((&first, &second), &factor)| {
            Ok(Product {
                first: col(first)?,
                second: col(second)?,
                factor,
            })
        });
        let products = products.collect::<Result<Vec<_>, Trouble>>()?;
        model
            .state()?
            .edit(|program| program.set_products(products))
    })
}

/// Sets the kind of a column.
#[unsafe(no_mangle)]
pub extern "C" fn remat_set_kind(model: *mut RematModel, col: i32, kind: c_char) -> c_int {
    with_model(model, |model| {
        let (col, kind) = (self::col(col)?, self::kind(kind)?);
        model.state()?.edit(|program| program.set_kind(col, kind))
    })
}

/// Sets the sides of a row.
#[unsafe(no_mangle)]
pub extern "C" fn remat_set_row_sides(
    model: *mut RematModel,
    row: i32,
    lower: f64,
    upper: f64,
) -> c_int {
    with_model(model, |model| {
        let row = self::row(row)?;
        let set = |program: &mut Program| program.set_row_bounds(row, lower, upper);
        model.state()?.edit(set)
    })
}

/// Sets the entry of a row in a column.
#[unsafe(no_mangle)]
pub extern "C" fn remat_set_entry(model: *mut RematModel, row: i32, col: i32, value: f64) -> c_int {
    with_model(model, |model| {
        let (row, col) = (self::row(row)?, self::col(col)?);
        model
            .state()?
            .edit(|program| program.set_entry(row, col, value))
    })
}

/// Removes columns.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_remove_cols(
    model: *mut RematModel,
    count: i32,
    cols: *const i32,
) -> c_int {
    with_model(model, |model| {
        let count = length("count", count.into())?;
        // SAFETY: the caller's promise for arrays.
        let cols = unsafe { array("cols", cols, count)? };
        let cols = cols
            .iter()
            .map(|&j| col(j))
            .collect::<Result<Vec<_>, _>>()?;
        model.state()?.edit(|program| program.remove_cols(&cols))
    })
}

/// Removes rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn remat_remove_rows(
    model: *mut RematModel,
    count: i32,
    rows: *const i32,
) -> c_int {
    with_model(model, |model| {
        let count = length("count", count.into())?;
        // SAFETY: the caller's promise for arrays.
        let rows = unsafe { array("rows", rows, count)? };
        let mut rows: Vec<Row> = rows.iter().map(|&i| row(i)).collect::<Result<_, _>>()?;
        rows.sort_unstable();
        rows.dedup();
        model.state()?.edit(|program| {
            for &row in &rows {
                program.row_bounds(row)?;
            }
            rows.iter().try_for_each(|&row| program.remove_row(row))
        })
    })
}
