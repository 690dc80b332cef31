//! Functions that are linear between points, by the incremental formulation (Markowitz & Manne
//! 1957; its relaxation is the convex hull: Padberg 2000).

use super::affine::Affine;
use super::{Definition, Lowering};
use crate::program::violation::pieces_at;
use crate::program::{Col, ProgramError};
use std::sync::Arc;

impl Lowering<'_> {
    /// `y` is a function of `x`. Each piece is passed by a share, and only after all pieces before
    /// it.
    pub(super) fn pieces(
        &mut self,
        x: usize,
        y: usize,
        points: &[(f64, f64)],
    ) -> Result<(), ProgramError> {
        let (x, y) = (Affine::column(x), Affine::column(y));
        if let Some(line) = straight(points) {
            self.equal(&y, &x.times(line.0).plus(&Affine::constant(line.1)));
            return Ok(());
        }
        const WHAT: &str = "a piecewise linear function";
        let (lower, upper) = (self.least(WHAT, &x)?, self.most(WHAT, &x)?);
        let points = within(points, lower, upper);
        let (first, position) = (points[0], x.terms[0].0);
        let result = y.terms[0].0;
        if points.len() == 1 {
            self.equal(&y, &Affine::constant(first.1));
            return Ok(());
        }
        let (mut along, mut value) = (Affine::constant(first.0), Affine::constant(first.1));
        let mut gate = None;
        for (k, pair) in points.windows(2).enumerate() {
            let (from, to) = (pair[0], pair[1]);
            // Measured along `x`, an upright piece along `y`, so that tolerances keep their
            // meaning.
            let (run, rise) = (to.0 - from.0, to.1 - from.1);
            let length = if run > 0.0 { run } else { rise.abs() };
            if length == 0.0 {
                continue;
            }
            let definition: Definition = Arc::new(move |point: &[f64]| match run > 0.0 {
                true => (point[position] - from.0).clamp(0.0, run),
                false if point[position] > from.0 => length,
                false if point[position] < from.0 => 0.0,
                false => ((point[result] - from.1) * rise.signum()).clamp(0.0, length),
            });
            let gone = self.add((0.0, length), false, definition);
            along = along.and(gone, run / length);
            value = value.and(gone, rise / length);
            if let Some(gate) = gate {
                self.at_most(&Affine::column(gone), &Affine::of([(gate, length)], 0.0));
            }
            if k + 2 < points.len() {
                let passed = self.choice(move |point| point[gone] >= length);
                self.at_most(&Affine::of([(passed, length)], 0.0), &Affine::column(gone));
                gate = Some(passed);
            }
        }
        self.equal(&x, &along);
        self.equal(&y, &value);
        Ok(())
    }
}

impl Lowering<'_> {
    /// Adds a function of a column to the objective. It becomes a cost if it is a line, rows under
    /// it if the objective draws it to its hull, else a column with its value.
    pub(super) fn cost_by_pieces(
        &mut self,
        col: Col,
        points: &[(f64, f64)],
    ) -> Result<(), ProgramError> {
        let x = self.at(col);
        if let Some((slope, constant)) = straight(points) {
            self.lowered.costs.push((x, slope));
            self.lowered.offset += constant;
            return Ok(());
        }
        let sign = self.program.sense().sign();
        let all = points.to_vec();
        let definition: Definition = Arc::new(move |point| {
            let (low, high) = pieces_at(&all, point[x]);
            if sign > 0.0 { low } else { high }
        });
        let free = (f64::NEG_INFINITY, f64::INFINITY);
        let value = self.add(free, false, definition);
        self.lowered.costs.push((value, 1.0));
        if !is_convex(points, sign) {
            return self.pieces(x, value, points);
        }
        let value = Affine::column(value).times(sign);
        for pair in points.windows(2) {
            let slope = (pair[1].1 - pair[0].1) / (pair[1].0 - pair[0].0);
            let constant = pair[0].1 - slope * pair[0].0;
            let line = Affine::of([(x, slope)], constant).times(sign);
            self.at_most(&line, &value);
        }
        Ok(())
    }
}

/// Returns whether `sign` times a function is convex: its slopes do not decrease.
fn is_convex(points: &[(f64, f64)], sign: f64) -> bool {
    let slopes = points.windows(2).map(|w| match w[1].0 > w[0].0 {
        true => sign * (w[1].1 - w[0].1) / (w[1].0 - w[0].0),
        false => f64::NAN,
    });
    let slopes: Vec<f64> = slopes.collect();
    slopes.windows(2).all(|w| w[0] <= w[1])
}

/// Slope and constant, if all points are on one line.
fn straight(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let slope = (points[1].1 - points[0].1) / (points[1].0 - points[0].0);
    let same = points
        .windows(2)
        .all(|w| w[1].0 > w[0].0 && (w[1].1 - w[0].1) / (w[1].0 - w[0].0) == slope);
    same.then_some((slope, points[0].1 - slope * points[0].0))
}

/// Points from one value of `x` to another, with points at both ends; upright pieces there stay.
fn within(points: &[(f64, f64)], lower: f64, upper: f64) -> Vec<(f64, f64)> {
    let mut kept = Vec::with_capacity(points.len() + 2);
    if points.iter().all(|p| p.0 != lower) {
        kept.push((lower, pieces_at(points, lower).0));
    }
    kept.extend(points.iter().filter(|p| (lower..=upper).contains(&p.0)));
    if upper > lower && points.iter().all(|p| p.0 != upper) {
        kept.push((upper, pieces_at(points, upper).0));
    }
    kept
}
