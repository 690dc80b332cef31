//! A first-order primal-dual method, for programs that grow while they are solved. Each iteration
//! is a product with the matrix and one with its transpose, and any point can be the start.
//!
//! - `scaled.rs`: the scaled program.
//! - `iterate.rs`: the iteration, its restarts and its weight.
//!
//! Sources: A. Chambolle & T. Pock, *A first-order primal-dual algorithm for convex problems*, J.
//! of Mathematical Imaging and Vision 40 (2011); D. Applegate et al., *Practical large-scale linear
//! programming using primal-dual hybrid gradient*, NeurIPS 2021 (scaling, weight, restarts); H. Lu
//! & J. Yang, *Restarted Halpern PDHG for linear programming* (2024), the reflected iteration.

mod iterate;
mod scaled;

use crate::model::Model;
use iterate::Iterate;
use scaled::Scaled;

/// A point of the first-order method, in the model's units and sense; duals have the signs of
/// [`Solution`](crate::Solution).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FirstOrderPoint {
    /// Value of every column, within its bounds.
    pub x: Vec<f64>,
    /// Dual value of every row, of the sign that its bounds allow.
    pub y: Vec<f64>,
    /// Weight of distances of duals against distances of values, in the scaled program; 0 if
    /// unknown.
    pub weight: f64,
}

/// Order in which the method keeps the rows. Iterations are cheaper if columns have fewer runs of
/// equal coefficients in this order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowOrder {
    /// The order of the model.
    AsGiven,
    /// These rows of the model, each once, followed by the other rows in the model's order.
    Listed(Vec<u32>),
}

impl RowOrder {
    /// The row at each place of a model with `rows` rows.
    fn places(&self, rows: usize) -> Vec<u32> {
        let listed: &[u32] = match self {
            RowOrder::AsGiven => &[],
            RowOrder::Listed(listed) => listed,
        };
        let mut is_listed = vec![false; rows];
        let mut places = Vec::with_capacity(rows);
        for i in listed.iter().copied().chain(0..rows as u32) {
            if let Some(known) = is_listed.get_mut(i as usize)
                && !std::mem::replace(known, true)
            {
                places.push(i);
            }
        }
        places
    }
}

/// The first-order method on a model, started from one of its points.
///
/// ```
/// use remat_lp::{FirstOrder, FirstOrderPoint, ModelBuilder, RowOrder, Sense};
/// // max 3x + 2y, x + y <= 4, x + 3y <= 8, x <= 3
/// let mut b = ModelBuilder::new(Sense::Maximise);
/// let x = b.add_col(3.0, 0.0..=3.0);
/// let y = b.add_col(2.0, 0.0..);
/// b.add_row(..=4.0, [(x, 1.0), (y, 1.0)]);
/// b.add_row(..=8.0, [(x, 1.0), (y, 3.0)]);
/// let model = b.build()?;
/// let start = FirstOrderPoint::default();
/// let mut method = FirstOrder::new(&model, &RowOrder::AsGiven, &start);
/// method.run(2_000);
/// let point = method.point();
/// assert!((point.x[0] - 3.0).abs() < 1e-4 && (point.x[1] - 1.0).abs() < 1e-4);
/// assert!((point.y[0] - 2.0).abs() < 1e-4 && point.y[1].abs() < 1e-4);
/// # Ok::<(), remat_lp::ModelError>(())
/// ```
#[derive(Clone, Debug)]
pub struct FirstOrder {
    program: Scaled,
    at: Iterate,
}

impl FirstOrder {
    /// The method on a model, from a point of it or of one with fewer columns or rows at the end;
    /// missing values count as 0.
    pub fn new(model: &Model, order: &RowOrder, start: &FirstOrderPoint) -> FirstOrder {
        let program = Scaled::new(model, order);
        let at = Iterate::new(&program, start);
        FirstOrder { program, at }
    }

    /// Runs this number of iterations.
    pub fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            self.at.step(&self.program);
        }
    }

    /// The current point.
    pub fn point(&self) -> FirstOrderPoint {
        self.at.point(&self.program)
    }

    /// Deterministic work of an iteration, about one unit per matrix entry touched.
    pub fn ticks_per_iteration(&self) -> u64 {
        let p = &self.program;
        4 * p.num_runs() as u64 + 8 * (p.cost.len() + p.row_lower.len()) as u64
    }
}
