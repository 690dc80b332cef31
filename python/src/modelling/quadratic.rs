//! Quadratic expressions.

use super::linear::LinExpr;
use super::operand::{Addend, Operand, Operator, expected, operate, power, reflected, relate};
use super::relation::Sense;
use super::terms::{Linear, Quadratic};
use super::trouble::{Errno, error, unavailable};
use super::var::Var;
use crate::operators;
use pyo3::prelude::*;

/// A quadratic expression.
#[pyclass(module = "remat_bb.gurobi")]
pub struct QuadExpr {
    /// Its terms.
    pub inner: Quadratic,
}

impl From<Quadratic> for QuadExpr {
    fn from(inner: Quadratic) -> Self {
        QuadExpr { inner }
    }
}

impl QuadExpr {
    fn operand_of(this: &Bound<'_, Self>) -> Operand {
        Operand::Quadratic(this.borrow().inner.clone())
    }

    fn in_place(this: &Bound<'_, Self>, other: &Bound<'_, PyAny>, factor: f64) -> PyResult<()> {
        let other = expected(other)?.quadratic();
        this.borrow_mut().inner.add(&other, factor);
        Ok(())
    }
}

operators!(QuadExpr);

#[pymethods]
impl QuadExpr {
    #[new]
    #[pyo3(signature = (expr = None))]
    fn new(expr: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        Ok(match expr {
            Some(expr) => expected(expr)?.quadratic().into(),
            None => Quadratic::of(Linear::default()).into(),
        })
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

    /// Adds a number in place.
    #[pyo3(name = "addConstant")]
    fn add_constant(&mut self, newconstant: f64) {
        self.inner.linear.constant += newconstant;
    }

    /// Adds multiples of variables or of products of two in place.
    #[pyo3(name = "addTerms", signature = (newcoeffs, newvars, newvars2 = None))]
    fn add_terms(
        this: &Bound<'_, Self>,
        newcoeffs: &Bound<'_, PyAny>,
        newvars: &Bound<'_, PyAny>,
        newvars2: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let one = newvars.cast_exact::<Var>().is_ok();
        let listed = |of: &Bound<'_, PyAny>| -> PyResult<Vec<Py<PyAny>>> {
            match one {
                true => Ok(vec![of.clone().unbind()]),
                false => of.try_iter()?.map(|item| item.map(Bound::unbind)).collect(),
            }
        };
        let (factors, first) = (listed(newcoeffs)?, listed(newvars)?);
        let second = newvars2.map(listed).transpose()?;
        let py = this.py();
        if factors.len() != first.len() || second.as_ref().is_some_and(|s| s.len() != first.len()) {
            let words = "coefficients and variables are not equally many";
            return Err(error(Errno::InvalidArgument, words));
        }
        for (k, (factor, var)) in factors.iter().zip(&first).enumerate() {
            let mut term = expected(factor.bind(py))?.times(expected(var.bind(py))?);
            if let Some(second) = &second {
                let second = expected(second[k].bind(py))?;
                term = term.and_then(|term| term.times(second));
            }
            let term = term.ok_or_else(too_many)?;
            this.borrow_mut().inner.add(&term.quadratic(), 1.0);
        }
        Ok(())
    }

    /// The linear part.
    #[pyo3(name = "getLinExpr")]
    fn get_lin_expr(&self) -> LinExpr {
        self.inner.linear.clone().into()
    }

    /// The value at the best point of the latest solve.
    #[pyo3(name = "getValue")]
    fn get_value(&self) -> PyResult<f64> {
        match &self.inner.linear.home {
            Some(home) => home.at_best(|x| self.inner.value(x)),
            None => Ok(self.inner.linear.constant),
        }
    }

    /// Number of products.
    fn size(&self) -> usize {
        self.inner.terms.len()
    }

    /// First variable of a product.
    #[pyo3(name = "getVar1")]
    fn get_var1(&self, i: usize, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.var(self.term(i)?.0, py)
    }

    /// Second variable of a product.
    #[pyo3(name = "getVar2")]
    fn get_var2(&self, i: usize, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.var(self.term(i)?.1, py)
    }

    /// Coefficient of a product.
    #[pyo3(name = "getCoeff")]
    fn get_coeff(&self, i: usize) -> PyResult<f64> {
        Ok(self.term(i)?.2)
    }

    /// A copy.
    fn copy(&self) -> Self {
        self.inner.clone().into()
    }

    /// Removes all terms and the constant.
    fn clear(&mut self) {
        self.inner = Quadratic::of(Linear::default());
    }

    fn __str__(this: &Bound<'_, Self>) -> PyResult<String> {
        let module = this.py().import("remat_bb.gurobi.words")?;
        module.call_method1("quadratic", (this,))?.extract()
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<gurobi.QuadExpr: {}>", Self::__str__(this)?))
    }

    fn __hash__(this: &Bound<'_, Self>) -> usize {
        // An expression equals only itself.
        this.as_ptr() as usize >> 4
    }
}

impl QuadExpr {
    fn term(&self, i: usize) -> PyResult<(u32, u32, f64)> {
        let term = self.inner.terms.get(i).copied();
        term.ok_or_else(|| error(Errno::InvalidArgument, "the expression has no such product"))
    }

    fn var(&self, col: u32, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match &self.inner.linear.home {
            Some(home) => Var::object(home, col, py),
            None => Err(unavailable("Var")),
        }
    }
}

fn too_many() -> PyErr {
    error(
        Errno::InvalidArgument,
        "addTerms: a product of more than two variables, only products of two are known",
    )
}
