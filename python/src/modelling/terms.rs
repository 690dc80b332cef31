//! Linear and quadratic terms.

use super::home::Home;
use std::sync::Arc;

/// A linear expression: terms by handle of columns, and a constant. A column may have several
/// terms.
#[derive(Clone, Default)]
pub struct Linear {
    /// Handles and coefficients.
    pub terms: Vec<(u32, f64)>,
    /// The constant.
    pub constant: f64,
    /// The model whose columns these are; `None` without terms.
    pub home: Option<Arc<Home>>,
}

/// A quadratic expression.
#[derive(Clone, Default)]
pub struct Quadratic {
    /// Its linear part.
    pub linear: Linear,
    /// Products of two columns, and their coefficients.
    pub terms: Vec<(u32, u32, f64)>,
}

impl Linear {
    /// A constant.
    pub fn constant(constant: f64) -> Self {
        Linear {
            constant,
            ..Linear::default()
        }
    }

    /// A column.
    pub fn column(home: &Arc<Home>, col: u32) -> Self {
        Linear {
            terms: vec![(col, 1.0)],
            constant: 0.0,
            home: Some(home.clone()),
        }
    }

    /// Adds a multiple of a column.
    pub fn add_column(&mut self, home: &Arc<Home>, col: u32, factor: f64) {
        self.terms.push((col, factor));
        self.home.get_or_insert_with(|| home.clone());
    }

    /// Adds a multiple of another expression.
    pub fn add(&mut self, other: &Linear, factor: f64) {
        if factor == 1.0 {
            self.terms.extend_from_slice(&other.terms);
        } else {
            let scaled = other.terms.iter().map(|&(col, v)| (col, v * factor));
            self.terms.extend(scaled);
        }
        self.constant += factor * other.constant;
        if self.home.is_none() {
            self.home.clone_from(&other.home);
        }
    }

    /// Multiplies by a number.
    pub fn scale(&mut self, factor: f64) {
        self.terms.iter_mut().for_each(|term| term.1 *= factor);
        self.constant *= factor;
    }

    /// The product with another expression.
    pub fn times(&self, other: &Linear) -> Quadratic {
        let mut product = Quadratic {
            linear: Linear::constant(self.constant * other.constant),
            terms: Vec::with_capacity(self.terms.len() * other.terms.len()),
        };
        product.linear.home = self.home.clone().or_else(|| other.home.clone());
        for &(a, u) in &self.terms {
            let products = other.terms.iter().map(|&(b, v)| (a, b, u * v));
            product.terms.extend(products);
        }
        for (one, two) in [(self, other), (other, self)] {
            if two.constant != 0.0 {
                let scaled = one.terms.iter().map(|&(col, v)| (col, v * two.constant));
                product.linear.terms.extend(scaled);
            }
        }
        product
    }

    /// The value at a point by handle.
    pub fn value(&self, x: &[f64]) -> f64 {
        let terms = self.terms.iter().map(|&(col, v)| v * at(x, col));
        self.constant + terms.sum::<f64>()
    }
}

impl Quadratic {
    /// A linear expression as a quadratic one.
    pub fn of(linear: Linear) -> Self {
        Quadratic {
            linear,
            terms: Vec::new(),
        }
    }

    /// Adds a multiple of another expression.
    pub fn add(&mut self, other: &Quadratic, factor: f64) {
        self.linear.add(&other.linear, factor);
        let scaled = other.terms.iter().map(|&(a, b, v)| (a, b, v * factor));
        self.terms.extend(scaled);
    }

    /// Multiplies by a number.
    pub fn scale(&mut self, factor: f64) {
        self.linear.scale(factor);
        self.terms.iter_mut().for_each(|term| term.2 *= factor);
    }

    /// The value at a point by handle.
    pub fn value(&self, x: &[f64]) -> f64 {
        let terms = self.terms.iter().map(|&(a, b, v)| v * at(x, a) * at(x, b));
        self.linear.value(x) + terms.sum::<f64>()
    }
}

/// A value at a point by handle; NaN for columns added later.
fn at(x: &[f64], col: u32) -> f64 {
    x.get(col as usize).copied().unwrap_or(f64::NAN)
}
