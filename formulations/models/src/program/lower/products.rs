//! Products of columns. A binary column is multiplied with any bounded column (McCormick 1976,
//! exact there), a bounded integer by its bits, and a continuous column by the integers of an
//! equation that defines it.

use super::affine::Affine;
use super::{Definition, LARGEST, Lowering};
use crate::program::ProgramError;
use crate::program::special::Product;
use std::collections::HashMap;
use std::sync::Arc;

/// Widest range of an integer column that is split into bits.
const WIDEST: f64 = (1u64 << 30) as f64;

/// Limit on the rows under a square: each is a secant between neighbouring integers.
const SECANTS: usize = 64;

impl Lowering<'_> {
    /// The linear form of a product times its coefficient.
    ///
    /// # Errors
    /// [`ProgramError::Product`].
    pub(super) fn product(&mut self, product: &Product) -> Result<Affine, ProgramError> {
        let (a, b) = (self.at(product.first), self.at(product.second));
        let key = (a.min(b), a.max(b));
        if product.factor == 0.0 {
            return Ok(Affine::default());
        }
        let form = match self.products.get(&key) {
            Some(form) => form.clone(),
            None => {
                let form = self.multiply(key.0, key.1)?;
                self.products.insert(key, form.clone());
                form
            }
        };
        Ok(form.times(product.factor))
    }

    fn multiply(&mut self, a: usize, b: usize) -> Result<Affine, ProgramError> {
        for (one, other) in [(a, b), (b, a)] {
            if self.lower[one] == self.upper[one] {
                return Ok(Affine::column(other).times(self.lower[one]));
            }
        }
        if a == b && self.is_binary(a) {
            return Ok(Affine::column(a));
        }
        let (bounds_a, bounds_b) = (self.factor_bounds(a), self.factor_bounds(b));
        let (Some(bounds_a), Some(bounds_b)) = (bounds_a, bounds_b) else {
            let open = if bounds_a.is_none() { a } else { b };
            let words = format!(
                "{} needs finite bounds, at most 1e9 in size",
                self.name(open)
            );
            return Err(self.refuse(a, b, words));
        };
        if self.is_binary(a) {
            return Ok(Affine::column(self.by_binary(a, b, bounds_b)));
        }
        if self.is_binary(b) {
            return Ok(Affine::column(self.by_binary(b, a, bounds_a)));
        }
        let width = |of: &Self, j: usize, (lower, upper): (f64, f64)| match of.integer[j] {
            true => upper - lower,
            false => f64::INFINITY,
        };
        let (width_a, width_b) = (width(self, a, bounds_a), width(self, b, bounds_b));
        if width_a.min(width_b) > WIDEST {
            for (one, other) in [(a, b), (b, a)] {
                if let Some(value) = self.value_of(one) {
                    return self.by_value(&value, other);
                }
            }
            let words = match self.integer[a] || self.integer[b] {
                true => "the range of the integer one is wider than 2^30".into(),
                false => {
                    "one of them has to be integer, or a sum of integers by an equation".into()
                }
            };
            return Err(self.refuse(a, b, words));
        }
        Ok(Affine::column(match width_a <= width_b {
            true => self.by_bits(a, bounds_a, b, bounds_b),
            false => self.by_bits(b, bounds_b, a, bounds_a),
        }))
    }

    /// The sum of integer columns that equals a continuous column by an equation.
    fn value_of(&mut self, j: usize) -> Option<Affine> {
        if self.integer[j] {
            return None;
        }
        if self.values.is_none() {
            self.values = Some(self.values_by_rows());
        }
        self.values.as_ref()?.get(&j).cloned()
    }

    /// The first equation of each continuous column in which all others are integer.
    fn values_by_rows(&self) -> HashMap<usize, Affine> {
        let mut values = HashMap::new();
        for row in self.program.rows() {
            let Ok((lower, upper)) = self.program.row_bounds(row) else {
                continue;
            };
            let entries = self.program.entries(row).unwrap_or_default();
            let terms = self.sum(entries).merged();
            let mut continuous = terms.iter().filter(|term| !self.integer[term.0]);
            if let (true, Some(&(j, v)), None) =
                (lower == upper, continuous.next(), continuous.next())
            {
                let others = terms.iter().filter(|term| term.0 != j);
                let value = Affine::of(others.map(|&(k, w)| (k, -w / v)), lower / v);
                values.entry(j).or_insert(value);
            }
        }
        values
    }

    /// The product of a sum of integer columns with another column.
    fn by_value(&mut self, value: &Affine, other: usize) -> Result<Affine, ProgramError> {
        let mut product = Affine::column(other).times(value.constant);
        for &(j, v) in &value.terms {
            let key = (j.min(other), j.max(other));
            let form = match self.products.get(&key) {
                Some(form) => form.clone(),
                None => self.multiply(key.0, key.1)?,
            };
            self.products.insert(key, form.clone());
            product = product.plus(&form.times(v));
        }
        Ok(product)
    }

    fn refuse(&self, a: usize, b: usize, missing: String) -> ProgramError {
        ProgramError::Product {
            first: self.name(a),
            second: self.name(b),
            missing,
        }
    }

    /// Finite bounds of a factor.
    fn factor_bounds(&mut self, j: usize) -> Option<(f64, f64)> {
        let column = Affine::column(j);
        let lower = self.least("a product", &column).ok()?;
        let upper = self.most("a product", &column).ok()?;
        (lower.abs() <= LARGEST && upper.abs() <= LARGEST).then_some((lower, upper))
    }

    /// A column that is the product of a binary and a bounded column.
    fn by_binary(&mut self, binary: usize, x: usize, (lower, upper): (f64, f64)) -> usize {
        let integer = self.integer[x];
        let definition: Definition = Arc::new(move |point| match point[binary] > 0.5 {
            true => point[x],
            false => 0.0,
        });
        let product = self.add((lower.min(0.0), upper.max(0.0)), integer, definition);
        let row = |entries: [(usize, f64); 3]| {
            Affine::of(entries.into_iter().filter(|e| e.1 != 0.0), 0.0)
        };
        let off = f64::NEG_INFINITY;
        if upper != 0.0 {
            let sum = row([(product, 1.0), (binary, -upper), (x, 0.0)]);
            self.row(&sum, off, 0.0);
        }
        if lower != 0.0 {
            let sum = row([(product, -1.0), (binary, lower), (x, 0.0)]);
            self.row(&sum, off, 0.0);
        }
        let sum = row([(product, 1.0), (x, -1.0), (binary, -lower)]);
        self.row(&sum, off, -lower);
        let sum = row([(product, -1.0), (x, 1.0), (binary, upper)]);
        self.row(&sum, off, upper);
        product
    }

    /// Bits of an integer column less its lower bound.
    fn bits(&mut self, x: usize, (lower, upper): (f64, f64)) -> Vec<usize> {
        if let Some(bits) = self.bits.get(&x) {
            return bits.clone();
        }
        let width = (upper - lower) as u64;
        let mut sum = Affine::of([(x, -1.0)], lower);
        let mut bits = Vec::new();
        for k in 0..64 - width.leading_zeros() {
            let bit = self.choice(move |point| (((point[x] - lower) as u64) >> k) & 1 == 1);
            sum = sum.and(bit, (1u64 << k) as f64);
            bits.push(bit);
        }
        self.row(&sum, 0.0, 0.0);
        self.bits.insert(x, bits.clone());
        bits
    }

    /// A column that is the product of a bounded integer column and a bounded column, which may be
    /// the same.
    fn by_bits(
        &mut self,
        x: usize,
        (lower, upper): (f64, f64),
        y: usize,
        (low, high): (f64, f64),
    ) -> usize {
        let corners = [lower * low, lower * high, upper * low, upper * high];
        let most = corners.into_iter().fold(f64::NEG_INFINITY, f64::max);
        let mut least = corners.into_iter().fold(f64::INFINITY, f64::min);
        if x == y {
            least = lower.max(-upper).max(0.0).powi(2);
        }
        let integer = self.integer[y];
        let definition: Definition = Arc::new(move |point| point[x] * point[y]);
        let bits = self.bits(x, (lower, upper));
        let mut value = Affine::of([(y, lower)], 0.0);
        for (k, &bit) in bits.iter().enumerate() {
            let part = self.by_binary(bit, y, (low, high));
            value = value.and(part, (1u64 << k) as f64);
        }
        let product = self.add((least, most), integer, definition);
        let column = Affine::column(product);
        self.equal(&column, &value);
        if x == y {
            self.secants(&column, x, lower, upper);
            return product;
        }
        // The convex hull of the product.
        let plane = |of_x: f64, of_y: f64| Affine::of([(x, of_x), (y, of_y)], -of_x * of_y);
        self.at_most(&plane(low, lower), &column);
        self.at_most(&plane(high, upper), &column);
        self.at_most(&column, &plane(high, lower));
        self.at_most(&column, &plane(low, upper));
        product
    }

    /// Rows around a square: over it the line from end to end, under it secants between
    /// neighbouring integers.
    fn secants(&mut self, square: &Affine, x: usize, lower: f64, upper: f64) {
        let chord = Affine::of([(x, lower + upper)], -lower * upper);
        self.at_most(square, &chord);
        let width = (upper - lower) as usize;
        let step = width.div_ceil(SECANTS).max(1);
        for k in (0..width).step_by(step) {
            let from = lower + k as f64;
            let secant = Affine::of([(x, 2.0 * from + 1.0)], -from * (from + 1.0));
            self.at_most(&secant, square);
        }
    }
}
