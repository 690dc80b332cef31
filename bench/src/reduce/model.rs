//! Models that lose rows, columns and everything else that is not needed for a failure.

use super::Reducible;
use super::numbers::{NumberForm, simpler};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, ModelError, RowId, Sense};
use std::hash::Hasher;
use std::sync::Arc;

/// Names of the steps of a model, in order.
pub const MODEL_STEPS: [&str; 9] = [
    "rows",
    "columns",
    "fixings",
    "entries",
    "objective",
    "integers",
    "sides",
    "bounds",
    "numbers",
];

/// A kind of edit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EditStep {
    Rows,
    Columns,
    Fixings(FixedValue),
    Entries,
    Costs,
    Sense,
    Integers,
    LowerSides,
    UpperSides,
    UpperBounds,
    ZeroBounds,
    LowerBounds,
    Numbers(NumberForm),
}

/// A value at which a column is fixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FixedValue {
    Reference,
    Lower,
    Upper,
}

/// The steps, each with the index of its name in [`MODEL_STEPS`].
const STEPS: [(usize, EditStep); 20] = [
    (0, EditStep::Rows),
    (1, EditStep::Columns),
    (2, EditStep::Fixings(FixedValue::Reference)),
    (2, EditStep::Fixings(FixedValue::Lower)),
    (2, EditStep::Fixings(FixedValue::Upper)),
    (3, EditStep::Entries),
    (4, EditStep::Costs),
    (4, EditStep::Sense),
    (5, EditStep::Integers),
    (6, EditStep::LowerSides),
    (6, EditStep::UpperSides),
    (7, EditStep::UpperBounds),
    (7, EditStep::ZeroBounds),
    (7, EditStep::LowerBounds),
    (8, EditStep::Numbers(NumberForm::ALL[0])),
    (8, EditStep::Numbers(NumberForm::ALL[1])),
    (8, EditStep::Numbers(NumberForm::ALL[2])),
    (8, EditStep::Numbers(NumberForm::ALL[3])),
    (8, EditStep::Numbers(NumberForm::ALL[4])),
    (8, EditStep::Numbers(NumberForm::ALL[5])),
];

/// A place in a model that an edit changes, by indices of the original model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EditPlace {
    Row(u32),
    Col(u32),
    Entry(u32, u32),
    Cost(u32),
    Lower(u32),
    Upper(u32),
    /// The lower side of a row, or both sides of an equation.
    LowerSide(u32),
    UpperSide(u32),
    /// The constant of the objective.
    Offset,
    Sense,
}

/// A change at a place.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Change {
    Remove,
    Fix(f64),
    Number(f64),
    /// Removes a side.
    Drop,
    Continuous,
    Minimise,
}

/// An edit of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelEdit {
    step: EditStep,
    place: EditPlace,
}

#[derive(Clone, Debug, PartialEq)]
struct Col {
    name: String,
    cost: f64,
    lower: f64,
    upper: f64,
    is_integer: bool,
    reference: Option<f64>,
}

#[derive(Clone, Debug, PartialEq)]
struct ReducedRow {
    name: String,
    lower: f64,
    upper: f64,
    /// Columns, ascending, and coefficients; entries of removed columns do not count.
    entries: Vec<(u32, f64)>,
}

impl ReducedRow {
    fn is_equation(&self) -> bool {
        self.lower == self.upper
    }
}

/// A model that is being reduced. The rest is a model again; names do not change.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelDraft {
    name: String,
    sense: Sense,
    offset: f64,
    cols: Vec<Option<Arc<Col>>>,
    rows: Vec<Option<Arc<ReducedRow>>>,
    /// Rows of each column of the original model.
    rows_of: Arc<Vec<Vec<u32>>>,
}

impl ModelDraft {
    /// The whole model.
    pub fn new(model: &Model) -> Self {
        let cols = (0..model.num_cols() as u32).map(ColId).map(|j| Col {
            name: model.col_name(j),
            cost: model.costs()[j.index()],
            lower: model.col_lower()[j.index()],
            upper: model.col_upper()[j.index()],
            is_integer: model.is_integer(j),
            reference: None,
        });
        let rows = (0..model.num_rows() as u32).map(RowId).map(|i| ReducedRow {
            name: model.row_name(i),
            lower: model.row_lower()[i.index()],
            upper: model.row_upper()[i.index()],
            entries: model.row(i).map(|(j, v)| (j.0, v)).collect(),
        });
        let all = (0..model.num_cols() as u32).map(ColId);
        let rows_of = all.map(|j| model.col(j).map(|(i, _)| i.0).collect());
        ModelDraft {
            name: model.name().into(),
            sense: model.sense(),
            offset: model.offset(),
            cols: cols.map(|c| Some(Arc::new(c))).collect(),
            rows: rows.map(|r| Some(Arc::new(r))).collect(),
            rows_of: Arc::new(rows_of.collect()),
        }
    }

    /// Fixes columns at the values of this point, one number per column of the model, before other
    /// values are tried. If the point satisfies the rows, it also satisfies the remaining ones.
    pub fn with_reference(mut self, x: &[f64]) -> Self {
        for (col, &value) in self.cols.iter_mut().zip(x) {
            if let Some(col) = col.as_mut().filter(|_| value.is_finite()) {
                Arc::make_mut(col).reference = Some(value);
            }
        }
        self
    }

    /// The reduced model. Rows and columns keep order and names.
    ///
    /// # Errors
    /// [`ModelError`] if numbers became too large.
    pub fn model(&self) -> Result<Model, ModelError> {
        let mut b = ModelBuilder::new(self.sense);
        b.set_name(self.name.clone());
        b.set_offset(self.offset);
        let mut ids = vec![None; self.cols.len()];
        for (j, col) in self.cols.iter().enumerate() {
            let Some(col) = col else { continue };
            let id = b.add_col(col.cost, Bounds::new(col.lower, col.upper));
            b.set_integer(id, col.is_integer);
            b.set_col_name(id, col.name.clone());
            ids[j] = Some(id);
        }
        for row in self.rows.iter().flatten() {
            let entries = row.entries.iter();
            let entries = entries.filter_map(|&(j, v)| Some((ids[j as usize]?, v)));
            let id = b.add_row(Bounds::new(row.lower, row.upper), entries);
            b.set_row_name(id, row.name.clone());
        }
        b.build()
    }

    fn col(&self, j: u32) -> Option<&Col> {
        self.cols[j as usize].as_deref()
    }

    fn row(&self, i: u32) -> Option<&ReducedRow> {
        self.rows[i as usize].as_deref()
    }

    fn col_mut(&mut self, j: u32) -> Option<&mut Col> {
        self.cols[j as usize].as_mut().map(Arc::make_mut)
    }

    fn row_mut(&mut self, i: u32) -> Option<&mut ReducedRow> {
        self.rows[i as usize].as_mut().map(Arc::make_mut)
    }

    fn live_cols(&self) -> impl Iterator<Item = (u32, &Col)> {
        let all = self.cols.iter().enumerate();
        all.filter_map(|(j, col)| Some((j as u32, col.as_deref()?)))
    }

    fn live_rows(&self) -> impl Iterator<Item = (u32, &ReducedRow)> {
        let all = self.rows.iter().enumerate();
        all.filter_map(|(i, row)| Some((i as u32, row.as_deref()?)))
    }

    /// Entries of the remaining columns, by rows.
    fn live_entries(&self) -> impl Iterator<Item = (u32, u32)> {
        self.live_rows().flat_map(|(i, row)| {
            let there = row.entries.iter().map(|e| e.0);
            there
                .filter(|&j| self.col(j).is_some())
                .map(move |j| (i, j))
        })
    }

    /// All places that a step may change, including places without a change.
    fn places(&self, step: EditStep) -> Vec<EditPlace> {
        let cols = |of: fn(u32) -> EditPlace| self.live_cols().map(|(j, _)| of(j)).collect();
        let rows = |of: fn(u32) -> EditPlace| self.live_rows().map(|(i, _)| of(i)).collect();
        match step {
            EditStep::Rows => rows(EditPlace::Row),
            EditStep::LowerSides => rows(EditPlace::LowerSide),
            EditStep::UpperSides => rows(EditPlace::UpperSide),
            EditStep::Columns | EditStep::Fixings(_) | EditStep::Integers => cols(EditPlace::Col),
            EditStep::UpperBounds => cols(EditPlace::Upper),
            EditStep::ZeroBounds | EditStep::LowerBounds => cols(EditPlace::Lower),
            EditStep::Entries => self
                .live_entries()
                .map(|(i, j)| EditPlace::Entry(i, j))
                .collect(),
            EditStep::Costs => [vec![EditPlace::Offset], cols(EditPlace::Cost)].concat(),
            EditStep::Sense => vec![EditPlace::Sense],
            EditStep::Numbers(_) => self.number_places(),
        }
    }

    /// Numbers: row by row, then column by column.
    fn number_places(&self) -> Vec<EditPlace> {
        let mut places = Vec::new();
        for (i, row) in self.live_rows() {
            places.extend([EditPlace::LowerSide(i), EditPlace::UpperSide(i)]);
            let there = row.entries.iter().map(|e| e.0);
            let there = there.filter(|&j| self.col(j).is_some());
            places.extend(there.map(|j| EditPlace::Entry(i, j)));
        }
        for (j, _) in self.live_cols() {
            places.extend([EditPlace::Cost(j), EditPlace::Lower(j), EditPlace::Upper(j)]);
        }
        places.push(EditPlace::Offset);
        places
    }

    /// The change that an edit makes now; `None` if it does not apply.
    fn change(&self, ModelEdit { step, place }: ModelEdit) -> Option<Change> {
        match (step, place) {
            (EditStep::Rows, EditPlace::Row(i)) => self.row(i).map(|_| Change::Remove),
            (EditStep::Columns, EditPlace::Col(j)) => self.col(j).map(|_| Change::Remove),
            (EditStep::Entries, EditPlace::Entry(i, j)) => self.entry(i, j).map(|_| Change::Remove),
            (EditStep::Fixings(value), EditPlace::Col(j)) => {
                let col = self.col(j)?;
                let value = match value {
                    FixedValue::Reference => col.reference?,
                    FixedValue::Lower => col.lower,
                    FixedValue::Upper => col.upper,
                };
                value.is_finite().then_some(Change::Fix(value))
            }
            (EditStep::Costs, place) => (self.number(place)? != 0.0).then_some(Change::Number(0.0)),
            (EditStep::Sense, _) => (self.sense == Sense::Maximise).then_some(Change::Minimise),
            (EditStep::Integers, EditPlace::Col(j)) => {
                self.col(j)?.is_integer.then_some(Change::Continuous)
            }
            (EditStep::LowerSides, EditPlace::LowerSide(i))
            | (EditStep::UpperSides, EditPlace::UpperSide(i)) => {
                let row = self.row(i)?;
                (row.lower.is_finite() && row.upper.is_finite()).then_some(Change::Drop)
            }
            (EditStep::UpperBounds, EditPlace::Upper(j)) => {
                let stated = self.col(j)?.upper.is_finite();
                stated.then_some(Change::Number(f64::INFINITY))
            }
            (EditStep::ZeroBounds, EditPlace::Lower(j)) => {
                let col = self.col(j)?;
                (col.lower != 0.0 && col.upper >= 0.0).then_some(Change::Number(0.0))
            }
            (EditStep::LowerBounds, EditPlace::Lower(j)) => {
                let lower = self.col(j)?.lower;
                let stated = lower.is_finite() && lower != 0.0;
                stated.then_some(Change::Number(f64::NEG_INFINITY))
            }
            (EditStep::Numbers(form), place) => {
                let new = simpler(self.number(place)?, form)?;
                self.allows(place, new).then_some(Change::Number(new))
            }
            _ => None,
        }
    }

    /// The number at a place. An equation has one side, which counts as its lower one.
    fn number(&self, place: EditPlace) -> Option<f64> {
        Some(match place {
            EditPlace::Offset => self.offset,
            EditPlace::Cost(j) => self.col(j)?.cost,
            EditPlace::Lower(j) => self.col(j)?.lower,
            EditPlace::Upper(j) => self.col(j)?.upper,
            EditPlace::LowerSide(i) => self.row(i)?.lower,
            EditPlace::UpperSide(i) => self.row(i).filter(|row| !row.is_equation())?.upper,
            EditPlace::Entry(i, j) => self.entry(i, j)?,
            EditPlace::Row(_) | EditPlace::Col(_) | EditPlace::Sense => return None,
        })
    }

    fn entry(&self, i: u32, j: u32) -> Option<f64> {
        self.col(j)?;
        let entries = &self.row(i)?.entries;
        let at = entries.binary_search_by_key(&j, |e| e.0).ok()?;
        Some(entries[at].1)
    }

    /// Returns whether a number is allowed at a place: bounds must not cross, and entries must not
    /// be 0.
    fn allows(&self, place: EditPlace, new: f64) -> bool {
        match place {
            EditPlace::Entry(..) => new != 0.0,
            EditPlace::Lower(j) => self.col(j).is_some_and(|c| new <= c.upper),
            EditPlace::Upper(j) => self.col(j).is_some_and(|c| new >= c.lower),
            EditPlace::LowerSide(i) => {
                let row = self.row(i);
                row.is_some_and(|row| row.is_equation() || new <= row.upper)
            }
            EditPlace::UpperSide(i) => self.row(i).is_some_and(|row| new >= row.lower),
            _ => true,
        }
    }

    /// Makes a change that applies.
    fn make(&mut self, place: EditPlace, change: Change) -> Option<()> {
        match (place, change) {
            (EditPlace::Row(i), _) => self.rows[i as usize] = None,
            (EditPlace::Col(j), Change::Remove) => self.cols[j as usize] = None,
            (EditPlace::Col(j), Change::Fix(value)) => self.fix(j, value),
            (EditPlace::Col(j), _) => self.col_mut(j)?.is_integer = false,
            (EditPlace::Sense, _) => self.sense = Sense::Minimise,
            (EditPlace::Offset, Change::Number(v)) => self.offset = v,
            (EditPlace::Cost(j), Change::Number(v)) => self.col_mut(j)?.cost = v,
            (EditPlace::Lower(j), Change::Number(v)) => self.col_mut(j)?.lower = v,
            (EditPlace::Upper(j), Change::Number(v)) => self.col_mut(j)?.upper = v,
            (EditPlace::LowerSide(i), Change::Drop) => self.row_mut(i)?.lower = f64::NEG_INFINITY,
            (EditPlace::UpperSide(i), Change::Drop) => self.row_mut(i)?.upper = f64::INFINITY,
            (EditPlace::LowerSide(i), Change::Number(v)) => {
                let row = self.row_mut(i)?;
                if row.is_equation() {
                    row.upper = v;
                }
                row.lower = v;
            }
            (EditPlace::UpperSide(i), Change::Number(v)) => self.row_mut(i)?.upper = v,
            (EditPlace::Entry(i, j), change) => {
                let entries = &mut self.row_mut(i)?.entries;
                let at = entries.binary_search_by_key(&j, |e| e.0).ok()?;
                match change {
                    Change::Number(v) => entries[at].1 = v,
                    _ => drop(entries.remove(at)),
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// Removes a column at a value: its contribution moves to the sides and the constant.
    fn fix(&mut self, j: u32, value: f64) {
        let cost = self.col(j).map_or(0.0, |c| c.cost);
        self.offset += value * cost;
        let rows_of = self.rows_of.clone();
        for &i in rows_of[j as usize].iter().filter(|_| value != 0.0) {
            let Some(v) = self.entry(i, j) else { continue };
            if let Some(row) = self.row_mut(i) {
                row.lower -= v * value;
                row.upper -= v * value;
            }
        }
        self.cols[j as usize] = None;
    }
}

impl Reducible for ModelDraft {
    type Edit = ModelEdit;

    fn steps(&self) -> Vec<&'static str> {
        STEPS.iter().map(|&(name, _)| MODEL_STEPS[name]).collect()
    }

    fn edits(&self, step: usize) -> Vec<ModelEdit> {
        let (_, step) = STEPS[step];
        let places = self.places(step).into_iter();
        places
            .map(|place| ModelEdit { step, place })
            .filter(|&edit| self.change(edit).is_some())
            .collect()
    }

    fn apply(&mut self, &edit: &ModelEdit) -> bool {
        let change = self.change(edit);
        change.is_some_and(|change| self.make(edit.place, change).is_some())
    }

    fn is_valid(&self) -> bool {
        let finite = |v: f64| v.is_finite();
        // A fixing may make a side too large; a model with an infinite side of the wrong kind is
        // invalid.
        let sides = |l: f64, u: f64| l < f64::INFINITY && u > f64::NEG_INFINITY;
        finite(self.offset) && self.live_rows().all(|(_, row)| sides(row.lower, row.upper))
    }

    fn fingerprint(&self, hasher: &mut dyn Hasher) {
        let mut number = |v: f64| hasher.write_u64(v.to_bits());
        number(self.offset);
        number(self.sense.sign());
        for (j, col) in self.live_cols() {
            number(f64::from(j) + if col.is_integer { 0.5 } else { 0.0 });
            [col.cost, col.lower, col.upper]
                .into_iter()
                .for_each(&mut number);
        }
        for (i, row) in self.live_rows() {
            // Keys of rows differ from keys of columns.
            number(-1.0 - f64::from(i));
            [row.lower, row.upper].into_iter().for_each(&mut number);
            let there = row.entries.iter();
            for &(j, v) in there.filter(|e| self.col(e.0).is_some()) {
                number(f64::from(j));
                number(v);
            }
        }
    }
}
