//! Common parts of published programs that are recognised in models of unknown origin.

use crate::{Solvable, SolveError};
use remat_instances::number::LARGEST_VALUE;
use remat_lp::Sense;

/// A model that is the published program of an instance and a budget, up to names, order, scale,
/// and additional rows.
pub trait Recognised {
    /// The formulation that solves it.
    type Formulation: Solvable;
    /// Name of the program, as `--formulation` has it.
    const NAME: &'static str;
    /// True if a relaxation of the program may have integral points that are no schedules.
    const IS_RELAXED: bool = false;

    /// The formulation of the instance that the model states.
    ///
    /// # Errors
    /// As the formulation's own constructor.
    fn formulation(&self) -> Result<Self::Formulation, SolveError>;

    /// Nodes of the training graph.
    fn nodes(&self) -> usize;

    /// The budget in the unit of the instance's sizes.
    fn budget_bytes(&self) -> u64;

    /// The values of the model's columns for a schedule of the instance.
    fn point(&self, schedule: &<Self::Formulation as Solvable>::Schedule) -> Vec<f64>;

    /// The schedule of a point of the model: a start. `None` for a point of another length.
    fn schedule(&self, point: &[f64]) -> Option<<Self::Formulation as Solvable>::Schedule>;

    /// The model's objective for a cost of the instance, or for a bound on it (then in the model's
    /// sense).
    fn objective(&self, cost: u64) -> f64;
}

/// Objective of a model in terms of the cost of the instance that it states.
#[derive(Clone, Copy, Debug)]
pub struct Objective {
    /// The model's sense.
    pub sense: Sense,
    /// Factor of costs.
    pub scale: f64,
    /// Constant of the minimised objective.
    pub shift: f64,
}

impl Objective {
    /// The objective for a cost, in the model's sense.
    pub fn of(&self, cost: u64) -> f64 {
        self.sense.sign() * (cost as f64 / self.scale + self.shift)
    }
}

/// Numbers as integers.
#[derive(Clone, Debug, PartialEq)]
pub struct Integers {
    /// The integers.
    pub values: Vec<u64>,
    /// Factor by which the numbers were multiplied.
    pub scale: f64,
}

/// Nonnegative numbers as integers. If no scale makes them whole, they are rounded down: then sums
/// are lower bounds.
pub fn integers_below(values: &[f64]) -> Option<Integers> {
    integers(values).or_else(|| {
        let largest = values.iter().copied().fold(0.0, f64::max);
        let least = values.iter().copied().fold(0.0, f64::min);
        (least >= 0.0 && largest.is_normal()).then_some(())?;
        let scale = 2f64.powi(FIXED_POINT_DIGITS - largest.log2().ceil() as i32);
        scale.is_normal().then_some(())?;
        let values = values.iter().map(|v| (v * scale).floor() as u64).collect();
        Some(Integers { values, scale })
    })
}

/// Binary digits of the largest number in fixed point: sums of thousands stay exact.
const FIXED_POINT_DIGITS: i32 = 40;

/// Nonnegative numbers as integers, multiplied by the least of 1, 10, .., 10^6 and powers of two
/// that makes all of them whole.
pub fn integers(values: &[f64]) -> Option<Integers> {
    let largest = values.iter().copied().fold(0.0, f64::max);
    let least = values.iter().copied().fold(0.0, f64::min);
    if least < 0.0 || !largest.is_finite() {
        return None;
    }
    let tens = (0..=6).map(|k| 10f64.powi(k));
    let twos = (1..=52).map(|k| 2f64.powi(k));
    for scale in tens.chain(twos) {
        if largest * scale > LARGEST_VALUE as f64 {
            continue;
        }
        let whole = |v: &f64| {
            let scaled = v * scale;
            (scaled - scaled.round()).abs() <= 1e-12 * scaled.max(1.0)
        };
        if values.iter().all(whole) {
            let values = values.iter().map(|v| (v * scale).round() as u64).collect();
            return Some(Integers { values, scale });
        }
    }
    None
}
