//! Special constraints and products from expressions.

use super::home::edit;
use super::model::Core;
use super::operand::{Operand, expected};
use super::quadratic::QuadExpr;
use super::relation::Sense;
use super::terms::{Linear, Quadratic};
use super::trouble::{Errno, error};
use super::var::Var;
use pyo3::prelude::*;
use remat_models::program::{Col, Norm, Product, SosType, Special, SpecialId};

/// Products of an expression.
fn products(of: &[(u32, u32, f64)]) -> Vec<Product> {
    let made = of.iter().map(|&(first, second, factor)| Product {
        first: Col(first),
        second: Col(second),
        factor,
    });
    made.collect()
}

fn entries(of: &Linear) -> Vec<(Col, f64)> {
    of.terms.iter().map(|&(col, v)| (Col(col), v)).collect()
}

impl Core {
    fn special(&self, special: Special) -> PyResult<u32> {
        edit(&self.home, |p| p.add_special(special)).map(|id| id.0)
    }

    fn column(&self, var: &Bound<'_, Var>) -> PyResult<Col> {
        let var = var.get();
        self.check_home(Some(&var.home))?;
        Ok(Col(var.col))
    }

    fn columns(&self, vars: &[Bound<'_, Var>]) -> PyResult<Vec<Col>> {
        vars.iter().map(|var| self.column(var)).collect()
    }

    fn quadratic(&self, expr: &Bound<'_, PyAny>) -> PyResult<Quadratic> {
        let expr = expected(expr)?.quadratic();
        self.check_home(expr.linear.home.as_ref())?;
        Ok(expr)
    }
}

#[pymethods]
impl Core {
    /// Adds that a difference stands in a relation to 0 where a binary column has a value.
    fn _add_indicator(
        &self,
        binvar: &Bound<'_, Var>,
        value: bool,
        difference: &Bound<'_, PyAny>,
        sense: &str,
    ) -> PyResult<u32> {
        let Operand::Linear(linear) = expected(difference)? else {
            let words = "a linear expression is needed";
            return Err(error(Errno::InvalidArgument, words));
        };
        self.check_home(linear.home.as_ref())?;
        let (lower, upper) = Sense::parse(sense)?.sides(-linear.constant);
        self.special(Special::Indicator {
            col: self.column(binvar)?,
            value,
            entries: entries(&linear),
            lower,
            upper,
        })
    }

    /// Adds that a column is the largest (``max``) or smallest of others and a constant.
    fn _add_extremum(
        &self,
        kind: &str,
        resvar: &Bound<'_, Var>,
        vars: Vec<Bound<'_, Var>>,
        constant: Option<f64>,
    ) -> PyResult<u32> {
        let (result, of) = (self.column(resvar)?, self.columns(&vars)?);
        self.special(match kind {
            "max" => Special::Maximum {
                result,
                of,
                constant,
            },
            _ => Special::Minimum {
                result,
                of,
                constant,
            },
        })
    }

    /// Adds that a column is the absolute value of another.
    fn _add_abs(&self, resvar: &Bound<'_, Var>, argvar: &Bound<'_, Var>) -> PyResult<u32> {
        let (result, of) = (self.column(resvar)?, self.column(argvar)?);
        self.special(Special::Abs { result, of })
    }

    /// Adds that a binary column is the conjunction (``and``) or disjunction of others.
    fn _add_logical(
        &self,
        kind: &str,
        resvar: &Bound<'_, Var>,
        vars: Vec<Bound<'_, Var>>,
    ) -> PyResult<u32> {
        let (result, of) = (self.column(resvar)?, self.columns(&vars)?);
        self.special(match kind {
            "and" => Special::And { result, of },
            _ => Special::Or { result, of },
        })
    }

    /// Adds that a column is a norm of others: 0, 1 or infinity.
    fn _add_norm(
        &self,
        resvar: &Bound<'_, Var>,
        vars: Vec<Bound<'_, Var>>,
        which: f64,
    ) -> PyResult<u32> {
        let norm = match which {
            0.0 => Norm::Zero,
            1.0 => Norm::One,
            v if v >= 1e20 => Norm::Infinity,
            _ => {
                let words = format!("the {which}-norm is not known: 0, 1 and infinity are");
                return Err(error(Errno::NotSupported, words));
            }
        };
        let (result, of) = (self.column(resvar)?, self.columns(&vars)?);
        self.special(Special::Norm { result, of, norm })
    }

    /// Adds that a column is a function of another, linear between points.
    fn _add_pieces(
        &self,
        xvar: &Bound<'_, Var>,
        yvar: &Bound<'_, Var>,
        xpts: Vec<f64>,
        ypts: Vec<f64>,
    ) -> PyResult<u32> {
        if xpts.len() != ypts.len() {
            let words = format!("{} values of x and {} of y", xpts.len(), ypts.len());
            return Err(error(Errno::InvalidArgument, words));
        }
        self.special(Special::Pieces {
            x: self.column(xvar)?,
            y: self.column(yvar)?,
            points: xpts.into_iter().zip(ypts).collect(),
        })
    }

    /// Adds an ordered set of type 1 or 2.
    fn _add_sos(&self, kind: i32, vars: Vec<Bound<'_, Var>>, weights: Vec<f64>) -> PyResult<u32> {
        let kind = match kind {
            1 => SosType::One,
            2 => SosType::Two,
            _ => {
                let words = format!("an ordered set is of type 1 or 2, not {kind}");
                return Err(error(Errno::InvalidArgument, words));
            }
        };
        if vars.len() != weights.len() {
            let words = format!("{} variables and {} weights", vars.len(), weights.len());
            return Err(error(Errno::InvalidArgument, words));
        }
        let members = self.columns(&vars)?.into_iter().zip(weights).collect();
        self.special(Special::Sos { kind, members })
    }

    /// Adds that an expression with products stands in a relation to 0.
    fn _add_product_row(
        &self,
        difference: &Bound<'_, PyAny>,
        sense: &str,
        _name: &str,
    ) -> PyResult<u32> {
        let expr = self.quadratic(difference)?;
        let (lower, upper) = Sense::parse(sense)?.sides(-expr.linear.constant);
        self.special(Special::ProductRow {
            entries: entries(&expr.linear),
            products: products(&expr.terms),
            lower,
            upper,
        })
    }

    /// Handles of special constraints, each with its kind: ``indicator``, ``sos1``, ``sos2`` or
    /// ``other``.
    fn _special_kinds(&self) -> Vec<(u32, &'static str)> {
        let program = self.home.program();
        let kinds = program.specials().map(|(id, special)| {
            let kind = match special {
                Special::Indicator { .. } => "indicator",
                Special::Sos { kind, .. } => match kind {
                    SosType::One => "sos1",
                    SosType::Two => "sos2",
                },
                _ => "other",
            };
            (id.0, kind)
        });
        kinds.collect()
    }

    fn _remove_special(&self, handle: u32) -> PyResult<()> {
        edit(&self.home, |p| p.remove_special(SpecialId(handle)))
    }

    /// True if a special constraint is in the model. It is removed together with a column that it
    /// uses.
    fn _has_special(&self, handle: u32) -> bool {
        self.home.program().special(SpecialId(handle)).is_ok()
    }

    /// Sets a piecewise-linear part of the objective; removes it if there are no points.
    fn _set_pieces(&self, var: &Bound<'_, Var>, x: Vec<f64>, y: Vec<f64>) -> PyResult<()> {
        if x.len() != y.len() {
            let words = "setPWLObj: x and y are not equally many";
            return Err(error(Errno::InvalidArgument, words));
        }
        let col = self.column(var)?;
        let points = x.into_iter().zip(y).collect();
        edit(&self.home, |p| p.set_pieces(col, points))
    }

    /// Points of a piecewise-linear part of the objective; empty without one.
    fn _pieces(&self, var: &Bound<'_, Var>) -> PyResult<Vec<(f64, f64)>> {
        let col = self.column(var)?;
        let program = self.home.program();
        Ok(program.pieces().get(&col).cloned().unwrap_or_default())
    }

    /// Number of columns with such a part.
    fn _num_pieces(&self) -> usize {
        self.home.program().pieces().len()
    }

    /// Replaces the products of the objective by an expression's; ``None`` removes them.
    fn _set_products(&self, expr: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let terms = match expr {
            Some(expr) => self.quadratic(expr)?.terms,
            None => Vec::new(),
        };
        edit(&self.home, |p| p.set_products(products(&terms)))
    }

    /// The objective with its products; ``None`` for a linear objective.
    fn _products(&self) -> PyResult<Option<QuadExpr>> {
        let linear = self.linear_objective()?;
        let program = self.home.program();
        if program.products().is_empty() {
            return Ok(None);
        }
        let terms = program.products().iter();
        let terms = terms.map(|p| (p.first.0, p.second.0, p.factor)).collect();
        let mut made = Quadratic { linear, terms };
        made.linear.home = Some(self.home.clone());
        Ok(Some(QuadExpr::from(made)))
    }
}
