//! The linear model of a program.

use super::lower::{self, Definition, Lowered, model_bounds};
use super::{Col, Program, ProgramError, Row};
use remat_lp::{ColId, Model, ModelBuilder, Quadratic};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The linear model of a program, with the program's column and row of each of its own.
#[derive(Clone)]
pub struct Compiled {
    /// The model: the program's columns and rows in order of creation, then the columns and rows of
    /// special constraints.
    pub model: Arc<Model>,
    /// The program's column behind each column of the model.
    pub cols: Vec<Col>,
    /// The program's row behind each row of the model.
    pub rows: Vec<Row>,
    /// The quadratic part of the objective, over the model's columns; `None` if it is linear.
    pub quadratic: Option<Arc<Quadratic>>,
    /// The program, if answers have to be checked against its special constraints.
    pub(super) source: Option<Arc<Program>>,
    definitions: Vec<Definition>,
    handles: (usize, usize),
}

/// A model under construction, and the program's columns and rows behind its first ones.
pub(super) type Built = (ModelBuilder, Vec<Col>, Vec<Row>);

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled")
            .field("model", &self.model)
            .field("cols", &self.cols)
            .field("rows", &self.rows)
            .field("handles", &self.handles)
            .finish_non_exhaustive()
    }
}

impl Program {
    /// The linear model of the program: special constraints, products and kinds without a linear
    /// form become columns and rows behind the program's own.
    ///
    /// # Errors
    /// [`ProgramError::Model`] for bounds that the model refuses; [`ProgramError::Unbounded`],
    /// [`ProgramError::NotBinary`] and [`ProgramError::Product`] if there is no exact linear form.
    pub fn compile(&self) -> Result<Compiled, ProgramError> {
        let lowered = lower::lower(self)?;
        match lowered.open.first() {
            Some(open) => Err(open.missing.clone()),
            None => self.compiled(lowered),
        }
    }

    /// As [`Program::compile`], with a convex quadratic part of the objective in its own form.
    ///
    /// # Errors
    /// As [`Program::compile`], and [`ProgramError::NotConvex`].
    pub fn compile_curved(&self) -> Result<Compiled, ProgramError> {
        let lowered = lower::lower_curved(self)?;
        match lowered.open.first() {
            Some(open) => Err(open.missing.clone()),
            None => self.compiled(lowered),
        }
    }

    /// A linear model that has every point of the program, and more if a part has no exact linear
    /// form. Products of the objective are left out.
    ///
    /// # Errors
    /// [`ProgramError::Model`].
    pub(super) fn compile_relaxed(&self) -> Result<Compiled, ProgramError> {
        let mut compiled = self.compiled(lower::relax(self)?)?;
        (compiled.source, compiled.quadratic) = (None, None);
        Ok(compiled)
    }

    /// The linear model of the program with the columns and rows of its special constraints,
    /// without open rows.
    ///
    /// # Errors
    /// [`ProgramError::Model`].
    pub(super) fn compiled(&self, lowered: Lowered) -> Result<Compiled, ProgramError> {
        let products = lowered.products.clone();
        let (built, definitions) = self.built(lowered)?;
        let (builder, cols, rows) = built;
        let quadratic = quadratic(&products, builder.num_cols())?.map(Arc::new);
        Ok(Compiled {
            quadratic,
            model: Arc::new(builder.build()?),
            source: self.has_specials().then(|| Arc::new(self.clone())),
            cols,
            rows,
            definitions,
            handles: (self.col_handles(), self.row_handles()),
        })
    }

    /// The program's columns and rows, and those of its special constraints.
    pub(super) fn built(&self, lowered: Lowered) -> Result<(Built, Vec<Definition>), ProgramError> {
        let (mut builder, cols, rows) = self.rows_alone()?;
        let mut definitions = Vec::with_capacity(lowered.cols.len());
        for col in lowered.cols {
            let id = builder.add_col(0.0, col.lower..=col.upper);
            builder.set_integer(id, col.integer);
            definitions.push(col.definition);
        }
        for row in lowered.rows {
            let entries = row.entries.iter().map(|&(j, v)| (ColId(j as u32), v));
            builder.add_row(row.lower..=row.upper, entries);
        }
        for (j, (lower, upper)) in lowered.bounds {
            builder.set_col_bounds(ColId(j as u32), lower..=upper);
        }
        let mut costs = BTreeMap::new();
        for (j, cost) in lowered.costs {
            *costs.entry(j).or_insert(0.0) += cost;
        }
        for (j, mut cost) in costs {
            if let Some(&col) = cols.get(j) {
                cost += self.cost(col)?;
            }
            builder.set_cost(ColId(j as u32), cost);
        }
        builder.set_offset(self.offset() + lowered.offset);
        Ok(((builder, cols, rows), definitions))
    }

    /// The model of the program's own columns and rows, and their handles.
    fn rows_alone(&self) -> Result<Built, ProgramError> {
        let mut builder = ModelBuilder::new(self.sense());
        builder.set_name(self.name());
        builder.set_offset(self.offset());
        let cols: Vec<Col> = self.cols().collect();
        let rows: Vec<Row> = self.rows().collect();
        let mut ids = vec![ColId(u32::MAX); self.col_handles()];
        for &col in &cols {
            let (lower, upper) = model_bounds(self, col)?;
            let kind = self.kind(col)?;
            let id = builder.add_col(self.cost(col)?, lower..=upper);
            builder.set_integer(id, kind.is_integer());
            if let Some(name) = self.col_name(col)? {
                builder.set_col_name(id, name);
            }
            ids[col.index()] = id;
        }
        for &row in &rows {
            let (lower, upper) = self.row_bounds(row)?;
            let entries = self.entries(row)?.iter();
            let entries = entries.map(|&(col, value)| (ids[col.index()], value));
            let id = builder.add_row(lower..=upper, entries);
            if let Some(name) = self.row_name(row)? {
                builder.set_row_name(id, name);
            }
        }
        Ok((builder, cols, rows))
    }

    /// The model of the columns and rows alone, and their handles.
    ///
    /// # Errors
    /// [`ProgramError::Model`].
    pub(super) fn compile_rows(&self) -> Result<(Model, Vec<Col>, Vec<Row>), ProgramError> {
        let (builder, cols, rows) = self.rows_alone()?;
        Ok((builder.build()?, cols, rows))
    }
}

/// The quadratic part of an objective from products by position; `None` without products.
///
/// # Errors
/// [`ProgramError::Model`].
pub(super) fn quadratic(
    products: &[(usize, usize, f64)],
    cols: usize,
) -> Result<Option<Quadratic>, ProgramError> {
    let products = products.iter();
    let products = products.map(|&(a, b, v)| (ColId(a as u32), ColId(b as u32), v));
    let quadratic = Quadratic::of_products(cols, products)?;
    Ok((!quadratic.is_empty()).then_some(quadratic))
}

impl Compiled {
    /// Returns whether any column of the model is to be integer.
    pub fn has_integers(&self) -> bool {
        (0..self.model.num_cols()).any(|j| self.model.is_integer(ColId(j as u32)))
    }

    /// A point of the model from one by handle: columns that the program does not have get their
    /// values by definition. `None` if a value is missing or not finite.
    pub fn complete(&self, point: &[f64]) -> Option<Vec<f64>> {
        let values = self.cols.iter().map(|col| point.get(col.index()).copied());
        let mut x = values.collect::<Option<Vec<f64>>>()?;
        for definition in &self.definitions {
            let value = definition(&x);
            x.push(value);
        }
        x.iter().all(|v| v.is_finite()).then_some(x)
    }

    /// A vector over the model's columns by the program's handles, with `none` for handles without
    /// a column.
    pub fn by_col<T: Copy>(&self, values: &[T], none: T) -> Vec<T> {
        let mut all = vec![none; self.handles.0];
        for (col, &value) in self.cols.iter().zip(values) {
            all[col.index()] = value;
        }
        all
    }

    /// A vector over the model's rows by the program's handles, with `none` for handles without a
    /// row.
    pub fn by_row<T: Copy>(&self, values: &[T], none: T) -> Vec<T> {
        let mut all = vec![none; self.handles.1];
        for (row, &value) in self.rows.iter().zip(values) {
            all[row.index()] = value;
        }
        all
    }
}
