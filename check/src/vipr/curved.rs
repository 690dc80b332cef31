//! Certificates for models with a quadratic objective `c x + 1/2 x'Qx`, minimised and convex or
//! maximised and concave.
//!
//! Such a certificate is about a linear program. It has the model's columns, one column above each
//! block of columns that products join, and tangents of the blocks among its constraints. This
//! module checks that the linear program is a relaxation of the model, and that its solutions are
//! worth no less in the model. `docs/theory/proof/tangents.md` has the argument.

use super::model::{MpsModel, SideKey};
use super::{Certificate, Form, ViprSense};
use dashu_ratio::RBig;
use num_traits::Signed;
use std::collections::BTreeMap;

/// Entries of a symmetric matrix by row.
type Matrix = BTreeMap<usize, BTreeMap<usize, RBig>>;

/// A column of an elimination: its pivot, and the multiples that later columns lost of it.
struct Eliminated {
    pivot: RBig,
    multiples: Vec<(usize, RBig)>,
}

/// A block, with `Q = L D L'` of its part of the minimised matrix.
struct Block {
    matrix: Matrix,
    factor: BTreeMap<usize, Eliminated>,
}

/// The blocks of a model, and the number of the model's columns.
pub(super) struct Blocks {
    blocks: Vec<Block>,
    columns: usize,
}

impl Blocks {
    /// # Errors
    /// A column of negative curvature.
    pub fn of(model: &MpsModel) -> Result<Blocks, String> {
        let sign = if model.maximise {
            -RBig::ONE
        } else {
            RBig::ONE
        };
        let mut matrix = Matrix::new();
        for ((a, b), v) in &model.products {
            if !v.is_zero() {
                matrix.entry(*a).or_default().insert(*b, &sign * v);
            }
        }
        let mut blocks = Vec::new();
        while let Some(&first) = matrix.keys().next() {
            let mut open = vec![first];
            let mut own = Matrix::new();
            while let Some(j) = open.pop() {
                if let Some(row) = matrix.remove(&j) {
                    open.extend(row.keys());
                    own.insert(j, row);
                }
            }
            let factor = eliminated(&own).map_err(|j| {
                let name = &model.names[j];
                format!("the objective is not convex: it has negative curvature along {name}")
            })?;
            blocks.push(Block {
                matrix: own,
                factor,
            });
        }
        let columns = model.names.len();
        Ok(Blocks { blocks, columns })
    }

    /// Number of columns of the linear program.
    pub fn all_columns(&self) -> usize {
        self.columns + self.blocks.len()
    }

    /// The objective of the linear program.
    pub fn objective(&self, model: &MpsModel) -> Form {
        let sign = if model.maximise {
            -RBig::ONE
        } else {
            RBig::ONE
        };
        let above = self.columns..self.all_columns();
        let above = above.map(|j| (j, sign.clone()));
        model.objective.iter().cloned().chain(above).collect()
    }

    /// Checks a constraint with a column above a block. Returns `false` for any other constraint.
    ///
    /// # Errors
    /// The reason for which a point of the model may violate it.
    pub fn check(&self, model: &MpsModel, (sense, side, form): &SideKey) -> Result<bool, String> {
        let Some(at) = form.iter().position(|(j, _)| *j >= self.columns) else {
            return Ok(false);
        };
        let (above, factor) = &form[at];
        let Some(block) = self.blocks.get(above - self.columns) else {
            return Err("it has a column of no block".into());
        };
        let others = &form[..at];
        let is_own = others.iter().all(|(j, _)| block.matrix.contains_key(j));
        if *factor != RBig::ONE || at + 1 < form.len() || !is_own {
            return Err("it is no tangent of one block".into());
        }
        let holds = match sense {
            ViprSense::AtLeast => {
                let gradient = others.iter().map(|(j, v)| (*j, -v.clone())).collect();
                block
                    .least(gradient, &model.integer)
                    .is_some_and(|least| *side <= least)
            }
            ViprSense::AtMost if others.is_empty() => {
                block.most(model).is_some_and(|most| most <= *side)
            }
            _ => false,
        };
        if holds {
            return Ok(true);
        }
        Err("the quadratic objective need not satisfy it".into())
    }

    /// Checks that no solution's column above a block is below the block.
    ///
    /// # Errors
    /// The number of the solution, and the column.
    pub fn check_solutions(&self, c: &Certificate) -> Result<(), String> {
        for (k, solution) in c.solutions.iter().enumerate() {
            let x: BTreeMap<usize, &RBig> = solution.iter().map(|(j, v)| (*j, v)).collect();
            for (block, above) in self.blocks.iter().zip(self.columns..) {
                let value = block.value(&x);
                if x.get(&above).map_or(value.is_positive(), |v| **v < value) {
                    let name = &c.names[above];
                    return Err(format!(
                        "solution {k}: {name} is below {value}, its part of the objective"
                    ));
                }
            }
        }
        Ok(())
    }
}

impl Block {
    /// `1/2 x'Qx`.
    fn value(&self, x: &BTreeMap<usize, &RBig>) -> RBig {
        let mut sum = RBig::ZERO;
        for (i, row) in &self.matrix {
            for (j, v) in row {
                if let (Some(a), Some(b)) = (x.get(i), x.get(j)) {
                    sum += v * *a * *b;
                }
            }
        }
        sum / RBig::from(2)
    }

    /// The least value of `1/2 x'Qx - gradient x`; `None` if there is no least one. A block of one
    /// integer column takes integers alone.
    fn least(&self, mut gradient: BTreeMap<usize, RBig>, integer: &[bool]) -> Option<RBig> {
        let mut single = self.factor.iter();
        if let (Some((&j, column)), None) = (single.next(), single.next())
            && integer[j]
            && column.pivot.is_positive()
        {
            let slope = gradient.remove(&j).unwrap_or_default();
            let at = &slope / &column.pivot;
            let value = |t: RBig| (&column.pivot * &t / RBig::from(2) - &slope) * t;
            let (low, high) = (value(at.floor().into()), value(at.ceil().into()));
            return Some(low.min(high));
        }
        let mut sum = RBig::ZERO;
        for (j, column) in &self.factor {
            let rest = gradient.remove(j).unwrap_or_default();
            if rest.is_zero() {
                continue;
            }
            if column.pivot.is_zero() {
                return None;
            }
            sum += &rest * &rest / &column.pivot;
            for (k, v) in &column.multiples {
                *gradient.entry(*k).or_default() -= v * &rest;
            }
        }
        Some(-sum / RBig::from(2))
    }

    /// A number that the block does not exceed within the bounds of its columns; `None` without
    /// bounds.
    fn most(&self, model: &MpsModel) -> Option<RBig> {
        let mut sizes = BTreeMap::new();
        for &j in self.matrix.keys() {
            sizes.insert(j, model.size(j)?);
        }
        let mut sum = RBig::ZERO;
        for (i, row) in &self.matrix {
            for (j, v) in row {
                sum += v.clone().abs() * &sizes[i] * &sizes[j];
            }
        }
        Some(sum / RBig::from(2))
    }
}

/// Eliminates the columns of a symmetric matrix in increasing order.
///
/// # Errors
/// A column of negative curvature, or without curvature and with other entries.
fn eliminated(matrix: &Matrix) -> Result<BTreeMap<usize, Eliminated>, usize> {
    let mut rest = matrix.clone();
    let mut factor = BTreeMap::new();
    while let Some((j, mut row)) = rest.pop_first() {
        let pivot = row.remove(&j).unwrap_or_default();
        row.retain(|k, v| *k > j && !v.is_zero());
        if pivot.is_negative() || (pivot.is_zero() && !row.is_empty()) {
            return Err(j);
        }
        let mut multiples = Vec::with_capacity(row.len());
        for (k, v) in &row {
            let multiple = v / &pivot;
            let below = rest.get_mut(k).ok_or(j)?;
            for (l, w) in &row {
                *below.entry(*l).or_default() -= &multiple * w;
            }
            multiples.push((*k, multiple));
        }
        factor.insert(j, Eliminated { pivot, multiples });
    }
    Ok(factor)
}
