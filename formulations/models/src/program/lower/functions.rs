//! Maximum, minimum, absolute value, and, or, norms.

use super::affine::Affine;
use super::{Definition, Lowering};
use crate::program::special::Norm;
use crate::program::{Col, ProgramError};
use std::sync::Arc;

/// Least absolute value that counts as different from 0 in a column that is not integer.
const LEAST_NONZERO: f64 = 1e-5;

impl Lowering<'_> {
    /// The largest (`sign` 1) or the smallest (-1) of columns and a constant.
    pub(super) fn extremum(
        &mut self,
        result: Col,
        of: &[Col],
        constant: Option<f64>,
        sign: f64,
    ) -> Result<(), ProgramError> {
        let columns = of.iter().map(|&c| self.column(c).times(sign));
        let constant = constant.map(|c| Affine::constant(sign * c));
        let of: Vec<Affine> = columns.chain(constant).collect();
        let result = self.column(result).times(sign);
        let what = match sign > 0.0 {
            true => "a maximum",
            false => "a minimum",
        };
        self.largest(what, &result, &of)
    }

    /// `result` is the largest of sums: not less than any, and not more than the chosen one.
    fn largest(
        &mut self,
        what: &'static str,
        result: &Affine,
        of: &[Affine],
    ) -> Result<(), ProgramError> {
        let ranges: Vec<_> = of.iter().map(|sum| self.range(sum)).collect();
        let floor = ranges.iter().map(|r| r.0).fold(f64::NEG_INFINITY, f64::max);
        // Sums that never exceed another are not chosen.
        let fixed = ranges.iter().position(|r| r.0 == floor && r.1 == floor);
        let candidates = (0..of.len()).filter(|&k| ranges[k].1 > floor || fixed == Some(k));
        let candidates: Vec<usize> = candidates.collect();
        for sum in of {
            self.at_most(sum, result);
        }
        if let [only] = candidates[..] {
            self.at_most(result, &of[only]);
            return Ok(());
        }
        let shared: Arc<Vec<Affine>> =
            Arc::new(candidates.iter().map(|&k| of[k].clone()).collect());
        let mut choices = Affine::default();
        for (place, &k) in candidates.iter().enumerate() {
            let others = shared.clone();
            let choice = self.choice(move |x| {
                let values: Vec<f64> = others.iter().map(|sum| sum.value(x)).collect();
                let best = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                values.iter().position(|&value| value == best) == Some(place)
            });
            choices = choices.and(choice, 1.0);
            let idle = Affine::of([(choice, -1.0)], 1.0);
            let others = candidates.iter().filter(|&&other| other != k);
            let gaps = others.map(|&other| self.most(what, &of[other].minus(&of[k])));
            let gaps: Result<Vec<f64>, ProgramError> = gaps.collect();
            match gaps {
                Ok(gaps) => {
                    let gap = gaps.into_iter().fold(0.0, f64::max);
                    self.at_most(result, &of[k].plus(&idle.times(gap)));
                }
                Err(missing @ ProgramError::Unbounded { .. }) => {
                    self.open(idle, &result.minus(&of[k]), missing);
                }
                Err(error) => return Err(error),
            }
        }
        self.row(&choices, 1.0, 1.0);
        Ok(())
    }

    /// `result` is the absolute value of a sum.
    pub(super) fn absolute(&mut self, result: &Affine, of: &Affine) -> Result<(), ProgramError> {
        self.largest("an absolute value", result, &[of.clone(), of.times(-1.0)])
    }

    pub(super) fn and(&mut self, result: Col, of: &[Col]) -> Result<(), ProgramError> {
        self.logical("and", result, of, |lowering, result, of| {
            of.iter().for_each(|arg| lowering.at_most(result, arg));
            let all = of.iter().fold(Affine::default(), |sum, arg| sum.plus(arg));
            let missing = Affine::constant(of.len() as f64 - 1.0);
            lowering.at_most(&all.minus(&missing), result);
        })
    }

    pub(super) fn or(&mut self, result: Col, of: &[Col]) -> Result<(), ProgramError> {
        self.logical("or", result, of, |lowering, result, of| {
            of.iter().for_each(|arg| lowering.at_most(arg, result));
            let any = of.iter().fold(Affine::default(), |sum, arg| sum.plus(arg));
            lowering.at_most(result, &any);
        })
    }

    fn logical(
        &mut self,
        what: &'static str,
        result: Col,
        of: &[Col],
        add: impl Fn(&mut Self, &Affine, &[Affine]),
    ) -> Result<(), ProgramError> {
        let result = Affine::column(self.binary(result, what)?);
        let mut args = of.to_vec();
        args.sort_unstable();
        args.dedup();
        let args = args
            .iter()
            .map(|&c| Ok(Affine::column(self.binary(c, what)?)));
        let args = args.collect::<Result<Vec<_>, ProgramError>>()?;
        add(self, &result, &args);
        Ok(())
    }

    pub(super) fn norm(&mut self, result: Col, of: &[Col], norm: Norm) -> Result<(), ProgramError> {
        let result = self.column(result);
        let of: Vec<Affine> = of.iter().map(|&c| self.column(c)).collect();
        match norm {
            Norm::Infinity => {
                let both = of.iter().flat_map(|x| [x.clone(), x.times(-1.0)]);
                let zero = of.is_empty().then(Affine::default);
                let both: Vec<_> = both.chain(zero).collect();
                self.largest("a norm", &result, &both)
            }
            Norm::One => {
                let mut total = Affine::default();
                for x in &of {
                    total = total.plus(&self.size(x)?);
                }
                self.equal(&result, &total);
                Ok(())
            }
            Norm::Zero => {
                let mut total = Affine::default();
                for x in &of {
                    total = total.plus(&self.differs_from_zero(x)?);
                }
                self.equal(&result, &total);
                Ok(())
            }
        }
    }

    /// The absolute value of a column.
    fn size(&mut self, x: &Affine) -> Result<Affine, ProgramError> {
        let (lower, upper) = self.range(x);
        if lower >= 0.0 {
            return Ok(x.clone());
        }
        if upper <= 0.0 {
            return Ok(x.times(-1.0));
        }
        let integer = self.integer[x.terms[0].0];
        let value = x.clone();
        let definition: Definition = Arc::new(move |point| value.value(point).abs());
        let size = self.add((0.0, upper.max(-lower)), integer, definition);
        let size = Affine::column(size);
        self.absolute(&size, x)?;
        Ok(size)
    }

    /// A sum that is 1 if a column is not 0, else 0.
    fn differs_from_zero(&mut self, x: &Affine) -> Result<Affine, ProgramError> {
        let column = x.terms[0].0;
        if self.is_binary(column) {
            return Ok(x.clone());
        }
        let least = match self.integer[column] {
            true => 1.0,
            false => LEAST_NONZERO,
        };
        let upper = self.most("a norm", x)?.max(0.0);
        let lower = self.least("a norm", x)?.min(0.0);
        let above = self.choice(move |point| point[column] > least / 2.0);
        let below = self.choice(move |point| point[column] < -least / 2.0);
        let any = Affine::of([(above, 1.0), (below, 1.0)], 0.0);
        self.row(&any, f64::NEG_INFINITY, 1.0);
        self.at_most(x, &Affine::of([(above, upper), (below, -least)], 0.0));
        self.at_most(&Affine::of([(above, least), (below, lower)], 0.0), x);
        Ok(any)
    }
}
