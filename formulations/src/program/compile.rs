//! The linear model of a program.

use super::lower::{self, Definition, Lowered, model_bounds};
use super::{Col, Kind, Program, ProgramError, Row, SosType, Special};
use remat_lp::lp_format::LpFile;
use remat_lp::{ColId, Model, ModelBuilder, RowId};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The linear model of a program, and whose columns and rows are whose.
#[derive(Clone)]
pub struct Compiled {
    /// The model: the program's columns and rows in order of creation, then those that special
    /// constraints come to.
    pub model: Arc<Model>,
    /// The program's column behind each column of the model.
    pub cols: Vec<Col>,
    /// The program's row behind each row of the model.
    pub rows: Vec<Row>,
    /// The program, where answers have to be checked against its special constraints.
    pub(super) source: Option<Arc<Program>>,
    definitions: Vec<Definition>,
    handles: (usize, usize),
}

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
    /// The program of a model: handles are the model's own indices.
    ///
    /// # Errors
    /// [`ProgramError::NotFinite`] for numbers that a program refuses.
    pub fn of_model(model: &Model) -> Result<Program, ProgramError> {
        let mut program = Program::default();
        program.set_name(model.name());
        program.set_sense(model.sense());
        program.set_offset(model.offset())?;
        for j in 0..model.num_cols() {
            let id = ColId(j as u32);
            let (lower, upper) = (model.col_lower()[j], model.col_upper()[j]);
            let kind = match model.is_integer(id) {
                true if lower == 0.0 && upper == 1.0 => Kind::Binary,
                true => Kind::Integer,
                false => Kind::Continuous,
            };
            let name = model.col_name(id);
            program.add_col(lower, upper, model.costs()[j], kind, Some(&name))?;
        }
        for i in 0..model.num_rows() {
            let id = RowId(i as u32);
            let entries: Vec<_> = model.row(id).map(|(c, v)| (Col(c.0), v)).collect();
            let name = model.row_name(id);
            let (lower, upper) = (model.row_lower()[i], model.row_upper()[i]);
            program.add_row(&entries, lower, upper, Some(&name))?;
        }
        Ok(program)
    }

    /// The program of an LP file, with its implications, ordered sets and semi-continuous columns.
    ///
    /// # Errors
    /// As [`Program::of_model`].
    ///
    /// ```
    /// use remat_formulations::program::Program;
    /// let text = "Maximize\n x + y\nBounds\n x <= 3\n y <= 2\nSOS\n s: S1 :: x:1 y:2\nEnd\n";
    /// let file = remat_lp::lp_format::parse_all(text, "example")?;
    /// assert_eq!(Program::of_lp(&file)?.specials().count(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_lp(file: &LpFile) -> Result<Program, ProgramError> {
        let mut program = Program::of_model(&file.model)?;
        let cols = |entries: &[(ColId, f64)]| -> Vec<(Col, f64)> {
            entries.iter().map(|&(j, v)| (Col(j.0), v)).collect()
        };
        for &ColId(j) in &file.semicontinuous {
            let kind = match program.kind(Col(j))?.is_integer() {
                true => Kind::SemiInteger,
                false => Kind::SemiContinuous,
            };
            program.set_kind(Col(j), kind)?;
        }
        for implication in &file.implications {
            program.add_special(Special::Indicator {
                col: Col(implication.col.0),
                value: implication.value,
                entries: cols(&implication.entries),
                lower: implication.sides.lower,
                upper: implication.sides.upper,
            })?;
        }
        for set in &file.sets {
            let kind = match set.width {
                1 => SosType::One,
                _ => SosType::Two,
            };
            let members = cols(&set.members);
            program.add_special(Special::Sos { kind, members })?;
        }
        Ok(program)
    }

    /// The linear model of the program: special constraints, products and kinds that linear models
    /// do not have become columns and rows behind those of the program.
    ///
    /// # Errors
    /// [`ProgramError::Model`] for bounds that the model refuses; [`ProgramError::Unbounded`],
    /// [`ProgramError::NotBinary`] and [`ProgramError::Product`] for what has no exact linear form.
    pub fn compile(&self) -> Result<Compiled, ProgramError> {
        let lowered = lower::lower(self)?;
        match lowered.open.first() {
            Some(open) => Err(open.missing.clone()),
            None => self.compiled(lowered),
        }
    }

    /// A linear model that has every point of the program, and more where something has no exact
    /// linear form.
    ///
    /// # Errors
    /// [`ProgramError::Model`].
    pub(super) fn compile_relaxed(&self) -> Result<Compiled, ProgramError> {
        let mut compiled = self.compiled(lower::relax(self)?)?;
        compiled.source = None;
        Ok(compiled)
    }

    /// The linear model of the program with columns and rows that its special constraints came to,
    /// less those that are open.
    ///
    /// # Errors
    /// [`ProgramError::Model`].
    pub(super) fn compiled(&self, lowered: Lowered) -> Result<Compiled, ProgramError> {
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
        Ok(Compiled {
            model: Arc::new(builder.build()?),
            source: self.has_specials().then(|| Arc::new(self.clone())),
            cols,
            rows,
            definitions,
            handles: (self.col_handles(), self.row_handles()),
        })
    }

    /// The program's own columns and rows, and whose they are.
    fn rows_alone(&self) -> Result<(ModelBuilder, Vec<Col>, Vec<Row>), ProgramError> {
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

    /// The model of the columns and rows alone, and whose they are.
    ///
    /// # Errors
    /// [`ProgramError::Model`].
    pub(super) fn compile_rows(&self) -> Result<(Model, Vec<Col>, Vec<Row>), ProgramError> {
        let (builder, cols, rows) = self.rows_alone()?;
        Ok((builder.build()?, cols, rows))
    }
}

impl Compiled {
    /// Returns whether any column of the model is to be integer.
    pub fn has_integers(&self) -> bool {
        (0..self.model.num_cols()).any(|j| self.model.is_integer(ColId(j as u32)))
    }

    /// A point of the model out of one by handle: columns that the program does not have get their
    /// values by definition. `None` where a value is missing or not finite.
    pub fn complete(&self, point: &[f64]) -> Option<Vec<f64>> {
        let values = self.cols.iter().map(|col| point.get(col.index()).copied());
        let mut x = values.collect::<Option<Vec<f64>>>()?;
        for definition in &self.definitions {
            let value = definition(&x);
            x.push(value);
        }
        x.iter().all(|v| v.is_finite()).then_some(x)
    }

    /// A vector over the model's columns by the program's handles, with `none` where there is no
    /// column.
    pub fn by_col<T: Copy>(&self, values: &[T], none: T) -> Vec<T> {
        let mut all = vec![none; self.handles.0];
        for (col, &value) in self.cols.iter().zip(values) {
            all[col.index()] = value;
        }
        all
    }

    /// A vector over the model's rows by the program's handles, with `none` where there is no row.
    pub fn by_row<T: Copy>(&self, values: &[T], none: T) -> Vec<T> {
        let mut all = vec![none; self.handles.1];
        for (row, &value) in self.rows.iter().zip(values) {
            all[row.index()] = value;
        }
        all
    }
}
