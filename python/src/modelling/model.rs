//! Rows and columns from expressions.

use super::constr::Constr;
use super::home::{Home, Iis, VarObjects, edit, refused};
use super::linear::LinExpr;
use super::operand::{Operand, expected, number};
use super::relation::{Sense, TempConstr};
use super::terms::{Linear, Quadratic};
use super::trouble::{Errno, error};
use super::var::{Var, kind};
use crate::program::Program;
use crate::program::answer::Answer;
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyList, PyString};
use remat_models::program::{Col, Kind, Row};
use std::sync::Arc;

/// The part of a model that makes rows and columns. Python's class with all methods of gurobipy
/// derives from it.
#[pyclass(frozen, subclass, dict, weakref, module = "remat_bb.gurobi")]
pub struct Core {
    /// The model behind its variables.
    pub(super) home: Arc<Home>,
    /// Holds the objects of its variables for the home.
    _objects: Arc<VarObjects>,
    program: Py<Program>,
}

/// One number for all, or one for each.
enum Each {
    One(f64),
    All(Vec<f64>),
}

impl Each {
    fn of(name: &str, value: &Bound<'_, PyAny>, count: usize) -> PyResult<Self> {
        if let Some(one) = number(value) {
            return Ok(Each::One(one));
        }
        let all: Vec<f64> = value.extract().map_err(|_| {
            error(
                Errno::InvalidArgument,
                format!("{name}: a number or a list of numbers is needed"),
            )
        })?;
        check_count(name, all.len(), count)?;
        Ok(Each::All(all))
    }

    fn get(&self, k: usize) -> f64 {
        match self {
            Each::One(one) => *one,
            Each::All(all) => all[k],
        }
    }
}

fn check_count(name: &str, found: usize, expected: usize) -> PyResult<()> {
    match found == expected {
        true => Ok(()),
        false => {
            let words = format!("{name}: {found} values for {expected} variables");
            Err(error(Errno::InvalidArgument, words))
        }
    }
}

fn bounds_of(kind: Kind, lower: f64, upper: f64) -> (f64, f64) {
    match kind {
        Kind::Binary => (lower.max(0.0), upper.min(1.0)),
        _ => (lower, upper),
    }
}

impl Core {
    /// Checks that columns belong to this model.
    ///
    /// # Errors
    /// `GurobiError`.
    pub(super) fn check_home(&self, home: Option<&Arc<Home>>) -> PyResult<()> {
        match home {
            Some(home) if !Arc::ptr_eq(home, &self.home) => {
                Err(error(Errno::NotInModel, "Variable not in model"))
            }
            _ => Ok(()),
        }
    }

    /// Adds the row of a linear relation to 0.
    fn add_relation(&self, difference: &Linear, sense: Sense, name: &str) -> PyResult<u32> {
        self.check_home(difference.home.as_ref())?;
        let (lower, upper) = sense.sides(-difference.constant);
        self.add_row(difference, lower, upper, name)
    }

    /// Costs and constant of the objective.
    ///
    /// # Errors
    /// As the program.
    pub(super) fn linear_objective(&self) -> PyResult<Linear> {
        edit(&self.home, |p| {
            let mut linear = Linear::constant(p.offset());
            for col in p.cols() {
                match p.cost(col)? {
                    0.0 => {}
                    cost => linear.add_column(&self.home, col.0, cost),
                }
            }
            Ok(linear)
        })
    }

    fn add_row(&self, terms: &Linear, lower: f64, upper: f64, name: &str) -> PyResult<u32> {
        let mut entries = Vec::with_capacity(terms.terms.len());
        entries.extend(terms.terms.iter().map(|&(col, v)| (Col(col), v)));
        let name = Some(name).filter(|n| !n.is_empty());
        let row = edit(&self.home, |p| p.add_row(&entries, lower, upper, name))?;
        Ok(row.0)
    }

    fn constr(&self, row: u32, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let home = self.home.clone();
        Constr { home, row }.into_py_any(py)
    }

    /// A linear expression over the model's columns.
    fn linear(&self, expr: &Bound<'_, PyAny>) -> PyResult<Linear> {
        let linear = match expected(expr)? {
            Operand::Number(v) => Linear::constant(v),
            Operand::Linear(linear) => linear,
            Operand::Quadratic(_) => {
                let words = "a linear expression is needed";
                return Err(error(Errno::InvalidArgument, words));
            }
        };
        self.check_home(linear.home.as_ref())?;
        Ok(linear)
    }

    /// The relation stated by the arguments of a constraint.
    fn relation(
        lhs: &Bound<'_, PyAny>,
        sense: Option<&Bound<'_, PyAny>>,
        rhs: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<(Quadratic, Sense)> {
        if let Ok(relation) = lhs.cast_exact::<TempConstr>() {
            let relation = relation.get();
            return Ok((relation.difference.clone(), relation.sense));
        }
        // A comparison without variables, which is already true or false.
        if let Ok(holds) = lhs.cast::<PyBool>() {
            let gap = f64::from(u8::from(!holds.is_true()));
            return Ok((Quadratic::of(Linear::constant(gap)), Sense::Equal));
        }
        let Some(sense) = sense.filter(|s| !s.is_none()) else {
            let kind = lhs
                .get_type()
                .name()
                .map_or_else(|_| "?".into(), |n| n.to_string());
            let words = format!("a constraint is needed, this is an object of type {kind}");
            return Err(error(Errno::InvalidArgument, words));
        };
        let sense = Sense::parse(sense.cast::<PyString>()?.to_str()?)?;
        let right = match rhs.filter(|r| !r.is_none()) {
            Some(rhs) => expected(rhs)?,
            None => Operand::Number(0.0),
        };
        let relation = TempConstr::new(expected(lhs)?, sense, right);
        Ok((relation.difference, sense))
    }
}

#[pymethods]
impl Core {
    #[new]
    #[pyo3(signature = (*_arguments, **_options))]
    fn new(
        py: Python<'_>,
        _arguments: &Bound<'_, pyo3::types::PyTuple>,
        _options: Option<&Bound<'_, pyo3::types::PyDict>>,
    ) -> PyResult<Self> {
        let program = Program::default();
        let objects = Arc::default();
        Ok(Core {
            home: Home::new(program.inner.clone(), &objects),
            _objects: objects,
            program: Py::new(py, program)?,
        })
    }

    /// The program, shared.
    #[getter(_program)]
    fn program(&self, py: Python<'_>) -> Py<Program> {
        self.program.clone_ref(py)
    }

    /// Takes a copy of a program's columns and rows.
    fn _load(&self, program: &Program) {
        let copy = program.lock().clone();
        *self.home.program() = copy;
    }

    /// Takes a copy of another model's columns, rows and starts.
    fn _copy_from(&self, other: &Core) {
        let copy = other.home.program().clone();
        *self.home.program() = copy;
        let starts = other.home.state().starts.clone();
        self.home.state().starts = starts;
    }

    /// Handles, coefficients and constant of a linear expression.
    fn _terms_of(&self, expr: &Bound<'_, PyAny>) -> PyResult<(Vec<u32>, Vec<f64>, f64)> {
        let linear = self.linear(expr)?;
        let (cols, values) = linear.terms.into_iter().unzip();
        Ok((cols, values, linear.constant))
    }

    /// Adds a column.
    fn _add_var(
        &self,
        lb: f64,
        ub: f64,
        obj: f64,
        vtype: &str,
        name: &str,
        py: Python<'_>,
    ) -> PyResult<Py<PyAny>> {
        let kind = kind(vtype)?;
        let (lower, upper) = bounds_of(kind, lb, ub);
        let col = edit(&self.home, |p| {
            p.add_col(lower, upper, obj, kind, Some(name))
        })?;
        Var::object(&self.home, col.0, py)
    }

    /// Adds columns: numbers and kinds are one for all or one for each.
    #[expect(
        clippy::too_many_arguments,
        reason = "one vector for each field of a column"
    )]
    fn _add_vars<'py>(
        &self,
        py: Python<'py>,
        count: usize,
        lb: &Bound<'py, PyAny>,
        ub: &Bound<'py, PyAny>,
        obj: &Bound<'py, PyAny>,
        vtype: &Bound<'py, PyAny>,
        names: Option<Vec<String>>,
    ) -> PyResult<Bound<'py, PyList>> {
        let (lb, ub) = (Each::of("lb", lb, count)?, Each::of("ub", ub, count)?);
        let obj = Each::of("obj", obj, count)?;
        let kinds = match vtype.cast::<PyString>() {
            Ok(one) => vec![kind(one.to_str()?)?],
            Err(_) => {
                let letters: Vec<String> = vtype.extract()?;
                check_count("vtype", letters.len(), count)?;
                let kinds = letters.iter().map(|letter| kind(letter));
                kinds.collect::<PyResult<_>>()?
            }
        };
        if let Some(names) = &names {
            check_count("name", names.len(), count)?;
        }
        let mut cols = Vec::with_capacity(count);
        let mut program = self.home.program();
        for k in 0..count {
            let kind = kinds[k % kinds.len()];
            let (lower, upper) = bounds_of(kind, lb.get(k), ub.get(k));
            let name = names.as_ref().map(|names| names[k].as_str());
            let col = program
                .add_col(lower, upper, obj.get(k), kind, name)
                .map_err(refused)?;
            cols.push(col);
        }
        drop(program);
        let vars = cols
            .into_iter()
            .map(|col| Var::object(&self.home, col.0, py));
        PyList::new(py, vars.collect::<PyResult<Vec<_>>>()?)
    }

    /// Adds a linear constraint: a relation, or left side, sense and right side.
    #[pyo3(name = "addLConstr", signature = (lhs, sense = None, rhs = None, name = ""))]
    fn add_lconstr(
        this: &Bound<'_, Self>,
        lhs: &Bound<'_, PyAny>,
        sense: Option<&Bound<'_, PyAny>>,
        rhs: Option<&Bound<'_, PyAny>>,
        name: &str,
    ) -> PyResult<Py<PyAny>> {
        Self::add_constr(this, lhs, sense, rhs, name)
    }

    /// Adds a constraint: a relation, or left side, sense and right side.
    #[pyo3(name = "addConstr", signature = (lhs, sense = None, rhs = None, name = ""))]
    fn add_constr(
        this: &Bound<'_, Self>,
        lhs: &Bound<'_, PyAny>,
        sense: Option<&Bound<'_, PyAny>>,
        rhs: Option<&Bound<'_, PyAny>>,
        name: &str,
    ) -> PyResult<Py<PyAny>> {
        let core = this.get();
        if let Ok(relation) = lhs.cast_exact::<TempConstr>()
            && relation.get().difference.terms.is_empty()
        {
            let relation = relation.get();
            // The name may be the second argument.
            let second = sense.and_then(|s| s.cast::<PyString>().ok()?.extract::<String>().ok());
            let name = second.as_deref().unwrap_or(name);
            let row = core.add_relation(&relation.difference.linear, relation.sense, name)?;
            return core.constr(row, this.py());
        }
        // Asking a variable for a missing attribute costs more than its row.
        let is_plain = lhs.cast_exact::<Var>().is_ok() || lhs.cast_exact::<LinExpr>().is_ok();
        if !is_plain && lhs.hasattr("_as_constraint")? {
            let asked = (lhs, sense, rhs, name);
            return Ok(this.call_method1("_add_other", asked)?.unbind());
        }
        let (difference, sense) = Self::relation(lhs, sense, rhs)?;
        if difference.terms.is_empty() {
            let row = core.add_relation(&difference.linear, sense, name)?;
            return core.constr(row, this.py());
        }
        core.check_home(difference.linear.home.as_ref())?;
        let difference = Operand::Quadratic(difference).object(this.py())?;
        Ok(this
            .call_method1("_add_quadratic", (difference, sense.sign(), name))?
            .unbind())
    }

    /// Adds the row of a linear expression between two sides.
    fn _add_range(
        &self,
        expr: &Bound<'_, PyAny>,
        lower: f64,
        upper: f64,
        name: &str,
    ) -> PyResult<Py<PyAny>> {
        let Operand::Linear(linear) = expected(expr)? else {
            return Err(error(
                Errno::InvalidArgument,
                "a linear expression is needed",
            ));
        };
        self.check_home(linear.home.as_ref())?;
        let (lower, upper) = (lower - linear.constant, upper - linear.constant);
        let row = self.add_row(&linear, lower, upper, name)?;
        self.constr(row, expr.py())
    }

    fn _remove_vars(&self, vars: Vec<Bound<'_, Var>>) -> PyResult<()> {
        for var in &vars {
            self.check_home(Some(&var.get().home))?;
        }
        let cols: Vec<_> = vars.iter().map(|var| Col(var.get().col)).collect();
        edit(&self.home, |p| p.remove_cols(&cols))
    }

    fn _remove_constrs(&self, constrs: Vec<Bound<'_, Constr>>) -> PyResult<()> {
        for constr in &constrs {
            self.check_home(Some(&constr.get().home))?;
        }
        edit(&self.home, |p| {
            let mut rows = constrs.iter().map(|constr| Row(constr.get().row));
            rows.try_for_each(|row| p.remove_row(row))
        })
    }

    /// Replaces costs and constant of the objective by a linear expression's.
    fn _set_objective(&self, expr: &Bound<'_, PyAny>) -> PyResult<()> {
        let linear = self.linear(expr)?;
        edit(&self.home, |p| {
            p.clear_parts();
            let mut costs = vec![0.0; p.col_handles()];
            linear
                .terms
                .iter()
                .for_each(|&(col, v)| costs[col as usize] += v);
            let cols: Vec<_> = p.cols().collect();
            for col in cols {
                p.set_cost(col, costs[col.index()])?;
            }
            p.set_offset(linear.constant)
        })
    }

    /// The linear objective.
    fn _objective(&self) -> PyResult<LinExpr> {
        self.linear_objective().map(LinExpr::from)
    }

    /// Variables in order.
    fn _vars<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let cols: Vec<_> = self.home.program().cols().collect();
        let vars = cols
            .into_iter()
            .map(|col| Var::object(&self.home, col.0, py));
        PyList::new(py, vars.collect::<PyResult<Vec<_>>>()?)
    }

    /// Constraints in order.
    fn _constrs<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows: Vec<_> = self.home.program().rows().collect();
        let constrs = rows.into_iter().map(|row| self.constr(row.0, py));
        PyList::new(py, constrs.collect::<PyResult<Vec<_>>>()?)
    }

    /// Terms of a constraint.
    fn _row(&self, constr: &Bound<'_, Constr>) -> PyResult<LinExpr> {
        let constr = constr.get();
        self.check_home(Some(&constr.home))?;
        edit(&self.home, |p| {
            let mut linear = Linear::default();
            for &(col, v) in p.entries(Row(constr.row))? {
                linear.add_column(&self.home, col.0, v);
            }
            Ok(LinExpr::from(linear))
        })
    }

    /// Entries of a variable: constraints and coefficients.
    fn _col(&self, var: &Bound<'_, Var>) -> PyResult<Vec<(u32, f64)>> {
        let var = var.get();
        self.check_home(Some(&var.home))?;
        edit(&self.home, |p| {
            p.cost(Col(var.col))?;
            let mut found = Vec::new();
            for row in p.rows() {
                let entry = p.entries(row)?.iter().find(|e| e.0.0 == var.col);
                found.extend(entry.map(|e| (row.0, e.1)));
            }
            Ok(found)
        })
    }

    fn _constr_at(&self, row: u32, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.constr(row, py)
    }

    fn _var_at(&self, col: u32, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Var::object(&self.home, col, py)
    }

    fn _coeff(&self, constr: &Bound<'_, Constr>, var: &Bound<'_, Var>) -> PyResult<f64> {
        let (row, col) = (constr.get().row, var.get().col);
        edit(&self.home, |p| {
            let entry = p.entries(Row(row))?.iter().find(|e| e.0.0 == col);
            Ok(entry.map_or(0.0, |e| e.1))
        })
    }

    fn _set_coeff(
        &self,
        constr: &Bound<'_, Constr>,
        var: &Bound<'_, Var>,
        value: f64,
    ) -> PyResult<()> {
        let (constr, var) = (constr.get(), var.get());
        self.check_home(Some(&constr.home))?;
        self.check_home(Some(&var.home))?;
        edit(&self.home, |p| {
            p.set_entry(Row(constr.row), Col(var.col), value)
        })
    }

    /// Sets the answer of a solve, or removes it.
    fn _set_answer(&self, answer: Option<&Bound<'_, Answer>>) {
        let answer = answer.map(|a| Arc::new(a.get().inner.clone()));
        let mut state = self.home.state();
        state.answer = answer;
        state.ranges = None;
        state.iis = None;
    }

    /// Starts as points by handle, with NaN for columns without a value.
    fn _starts(&self) -> Vec<Vec<f64>> {
        let handles = self.home.program().col_handles();
        let state = self.home.state();
        let mut numbers: Vec<_> = state.starts.keys().copied().collect();
        numbers.sort_unstable();
        let starts = numbers.iter().map(|number| {
            let mut point = vec![f64::NAN; handles];
            for (&col, &value) in &state.starts[number] {
                point[col as usize] = value;
            }
            point
        });
        starts.collect()
    }

    /// Hints as a point by handle, with NaN for columns without a hint; ``None`` without hints.
    fn _hints(&self) -> Option<Vec<f64>> {
        let handles = self.home.program().col_handles();
        let state = self.home.state();
        let mut point = vec![f64::NAN; handles];
        for (&col, &(value, _)) in &state.hints {
            if value < super::var::UNDEFINED {
                point[col as usize] = value;
            }
        }
        point.iter().any(|v| !v.is_nan()).then_some(point)
    }

    fn _clear_starts(&self) {
        self.home.state().starts.clear();
    }

    fn _set_start_number(&self, number: i64) {
        self.home.state().start_number = number;
    }

    fn _set_solution_number(&self, number: usize) {
        self.home.state().solution_number = number;
    }

    fn _set_iis(&self, rows: Vec<u32>, lower: Vec<u32>, upper: Vec<u32>) {
        self.home.state().iis = Some(Iis { rows, lower, upper });
    }
}
