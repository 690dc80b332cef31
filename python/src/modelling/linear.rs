//! Linear expressions.

use super::operand::{
    Addend, Operand, Operator, expected, number, operand, operate, power, reflected, relate,
};
use super::relation::Sense;
use super::terms::{Linear, Quadratic};
use super::trouble::{Errno, error};
use super::var::Var;
use crate::operators;
use pyo3::prelude::*;

/// A linear expression.
#[pyclass(module = "remat_bb.gurobi")]
#[derive(Default)]
pub struct LinExpr {
    /// Its terms.
    pub inner: Linear,
    /// Products that were added in place: an object cannot change its class.
    products: Vec<(u32, u32, f64)>,
}

impl From<Linear> for LinExpr {
    fn from(inner: Linear) -> Self {
        LinExpr {
            inner,
            products: Vec::new(),
        }
    }
}

impl LinExpr {
    fn operand_of(this: &Bound<'_, Self>) -> Operand {
        this.borrow().operand()
    }

    /// The expression as an operand.
    pub fn operand(&self) -> Operand {
        let linear = self.inner.clone();
        match self.products.is_empty() {
            true => Operand::Linear(linear),
            false => Operand::Quadratic(Quadratic {
                linear,
                terms: self.products.clone(),
            }),
        }
    }

    /// Adds a multiple of an object in place; returns false unless it is a linear expression.
    fn accumulate(&mut self, other: &Bound<'_, PyAny>, factor: f64) -> bool {
        if let Ok(var) = other.cast_exact::<Var>() {
            let var = var.get();
            self.inner.add_column(&var.home, var.col, factor);
            return true;
        }
        if let Ok(expression) = other.cast_exact::<LinExpr>()
            && let Ok(expression) = expression.try_borrow()
            && expression.products.is_empty()
        {
            self.inner.add(&expression.inner, factor);
            return true;
        }
        match number(other) {
            Some(v) => self.inner.constant += factor * v,
            None => return false,
        }
        true
    }
}

operators!(LinExpr);

#[pymethods]
impl LinExpr {
    #[new]
    #[pyo3(signature = (arg1 = None, arg2 = None))]
    fn new(arg1: Option<&Bound<'_, PyAny>>, arg2: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let mut made = LinExpr::from(Linear::default());
        match (arg1, arg2) {
            (None, _) => {}
            (Some(one), Some(vars)) if number(one).is_none() => made.add_terms(one, vars)?,
            (Some(one), Some(var)) => {
                let factor = number(one).unwrap_or(1.0);
                if !made.accumulate(var, factor) {
                    return Err(not_linear());
                }
            }
            (Some(one), None) => match operand(one) {
                Some(Operand::Linear(linear)) => made.inner = linear,
                Some(Operand::Number(v)) => made.inner.constant = v,
                Some(Operand::Quadratic(_)) => return Err(not_linear()),
                // Pairs of coefficient and variable.
                None => {
                    for pair in one.try_iter()? {
                        let (factor, var): (f64, Bound<'_, PyAny>) = pair?.extract()?;
                        if !made.accumulate(&var, factor) {
                            return Err(not_linear());
                        }
                    }
                }
            },
        }
        Ok(made)
    }

    fn __iadd__<'py>(this: &Bound<'py, Self>, other: Addend<'py>) -> PyResult<()> {
        Self::in_place(this, &other.0, 1.0)
    }

    fn __isub__<'py>(this: &Bound<'py, Self>, other: Addend<'py>) -> PyResult<()> {
        Self::in_place(this, &other.0, -1.0)
    }

    /// Adds a multiple of an expression in place.
    #[pyo3(signature = (expr, mult = 1.0))]
    fn add(this: &Bound<'_, Self>, expr: &Bound<'_, PyAny>, mult: f64) -> PyResult<()> {
        Self::in_place(this, expr, mult)
    }

    /// Adds multiples of variables in place: a number and a variable, or vectors of both.
    #[pyo3(name = "addTerms")]
    fn add_terms(
        &mut self,
        newcoeffs: &Bound<'_, PyAny>,
        newvars: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if let Ok(var) = newvars.cast_exact::<Var>() {
            let var = var.get();
            let factor = number(newcoeffs).ok_or_else(not_linear)?;
            self.inner.add_column(&var.home, var.col, factor);
            return Ok(());
        }
        let mut factors = newcoeffs.try_iter()?;
        for var in newvars.try_iter()? {
            let var = var?;
            let factor = factors.next().ok_or_else(|| {
                error(Errno::InvalidArgument, "fewer coefficients than variables")
            })??;
            let factor = number(&factor).ok_or_else(not_linear)?;
            if !self.accumulate(&var, factor) {
                return Err(not_linear());
            }
        }
        match factors.next() {
            None => Ok(()),
            Some(_) => Err(error(
                Errno::InvalidArgument,
                "more coefficients than variables",
            )),
        }
    }

    /// Adds a number in place.
    #[pyo3(name = "addConstant")]
    fn add_constant(&mut self, newconstant: f64) {
        self.inner.constant += newconstant;
    }

    /// The constant.
    #[pyo3(name = "getConstant")]
    fn get_constant(&self) -> f64 {
        self.inner.constant
    }

    /// The value at the best point of the latest solve.
    #[pyo3(name = "getValue")]
    fn get_value(&self) -> PyResult<f64> {
        match &self.inner.home {
            Some(home) => home.at_best(|x| self.operand().quadratic().value(x)),
            None => Ok(self.inner.constant),
        }
    }

    #[getter]
    fn _has_products(&self) -> bool {
        !self.products.is_empty()
    }

    /// Number of terms.
    fn size(&self) -> usize {
        self.inner.terms.len()
    }

    /// Variable of a term.
    #[pyo3(name = "getVar")]
    fn get_var(&self, i: isize, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let (col, _) = self.term(i)?;
        match &self.inner.home {
            Some(home) => Var::object(home, col, py),
            None => Err(no_term()),
        }
    }

    /// Coefficient of a term.
    #[pyo3(name = "getCoeff")]
    fn get_coeff(&self, i: isize) -> PyResult<f64> {
        Ok(self.term(i)?.1)
    }

    /// Removes a term by its number, or all terms of a variable.
    fn remove(&mut self, item: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Ok(var) = item.cast::<Var>() {
            let col = var.get().col;
            self.inner.terms.retain(|term| term.0 != col);
            return Ok(());
        }
        let k = self.place(item.extract()?)?;
        self.inner.terms.remove(k);
        Ok(())
    }

    /// A copy.
    fn copy(&self) -> Self {
        LinExpr {
            inner: self.inner.clone(),
            products: self.products.clone(),
        }
    }

    fn __copy__(&self) -> Self {
        self.copy()
    }

    /// Removes all terms and the constant.
    fn clear(&mut self) {
        *self = LinExpr::default();
    }

    fn __str__(&self, py: Python<'_>) -> PyResult<String> {
        let module = py.import("remat_bb.gurobi.words")?;
        if !self.products.is_empty() {
            let quadratic = self.operand().object(py)?;
            return module.call_method1("quadratic", (quadratic,))?.extract();
        }
        let terms =
            (0..self.size() as isize).map(|k| Ok((self.get_coeff(k)?, self.get_var(k, py)?)));
        let terms = terms.collect::<PyResult<Vec<_>>>()?;
        module
            .call_method1("linear", (terms, self.inner.constant))?
            .extract()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<gurobi.LinExpr: {}>", self.__str__(py)?))
    }

    fn __hash__(this: &Bound<'_, Self>) -> usize {
        // An expression equals only itself.
        this.as_ptr() as usize >> 4
    }
}

impl LinExpr {
    fn in_place(this: &Bound<'_, Self>, other: &Bound<'_, PyAny>, factor: f64) -> PyResult<()> {
        if this.as_any().is(other) {
            let mut expression = this.borrow_mut();
            expression.inner.scale(1.0 + factor);
            let products = expression.products.iter_mut();
            products.for_each(|product| product.2 *= 1.0 + factor);
            return Ok(());
        }
        if this.borrow_mut().accumulate(other, factor) {
            return Ok(());
        }
        let other = expected(other)?.quadratic();
        let mut expression = this.borrow_mut();
        expression.inner.add(&other.linear, factor);
        let products = other.terms.iter().map(|&(a, b, v)| (a, b, factor * v));
        expression.products.extend(products);
        Ok(())
    }

    fn place(&self, i: isize) -> PyResult<usize> {
        let len = self.inner.terms.len() as isize;
        let k = if i < 0 { i + len } else { i };
        (0..len)
            .contains(&k)
            .then_some(k as usize)
            .ok_or_else(no_term)
    }

    fn term(&self, i: isize) -> PyResult<(u32, f64)> {
        Ok(self.inner.terms[self.place(i)?])
    }
}

fn no_term() -> PyErr {
    error(Errno::InvalidArgument, "the expression has no such term")
}

fn not_linear() -> PyErr {
    error(Errno::InvalidArgument, "a linear expression is needed")
}
