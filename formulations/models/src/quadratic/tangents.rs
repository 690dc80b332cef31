//! Tangents at the nodes of a search, and points from quadratic programs with fixed integers.
//!
//! The tangents at the optimum of a node's quadratic program raise the bound of its linear program
//! to that optimum. The tangents at the optimum with fixed integers close these integers: the
//! linear program cannot be better there. (Duran & Grossmann 1986; Quesada & Grossmann 1992.)

use super::epigraph::Epigraph;
use remat_lp::qp::{self, QuadraticSettings};
use remat_lp::{ColId, Limits};
use remat_solver::mip::{CutSink, Heuristic, Needs, NodeView, Separator, SolutionSink};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

/// Distance of a column above a block from the block, and of a node's bound from its quadratic
/// program, from which tangents are worth their rows.
const DISTANCE: f64 = 1e-7;
/// Largest distance of an integer column from an integer.
const WHOLE: f64 = 1e-6;
/// Limit on remembered programs; a full memory is cleared.
const MEMORY: usize = 10_000;

/// Optimum of a quadratic program: minimised objective and point; `None` if it has none.
type Optimum = Option<Arc<(f64, Vec<f64>)>>;

/// Finds tangents and points.
pub(super) struct Tangents {
    pub epigraph: Arc<Epigraph>,
    stop: Option<Arc<AtomicBool>>,
    /// Optima by the bit patterns of all bounds. An optimum depends on its bounds alone, so threads
    /// share the memory without an effect on the search.
    known: Mutex<HashMap<Vec<u64>, Optimum>>,
}

impl Tangents {
    pub fn new(epigraph: Arc<Epigraph>, stop: Option<Arc<AtomicBool>>) -> Tangents {
        Tangents {
            epigraph,
            stop,
            known: Mutex::default(),
        }
    }

    /// The optimum within bounds of the columns.
    fn optimum(&self, lower: &[f64], upper: &[f64]) -> Optimum {
        let key: Vec<u64> = lower.iter().chain(upper).map(|v| v.to_bits()).collect();
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(optimum) = known().get(&key) {
            return optimum.clone();
        }
        let e = &self.epigraph;
        let model = Arc::new(e.model.with_col_bounds(lower, upper));
        let limits = Limits {
            interrupt: self.stop.clone(),
            ..Limits::default()
        };
        let solved = qp::solve(&model, &e.quadratic, &QuadraticSettings::default(), &limits);
        let solution = solved.ok()?.outcome.optimal().cloned();
        let sign = model.sense().sign();
        let optimum = solution.map(|s| Arc::new((sign * s.objective, s.x)));
        let mut known = known();
        if known.len() >= MEMORY {
            known.clear();
        }
        known.insert(key, optimum.clone());
        optimum
    }

    /// The best point with the integers of one, rounded. `None` if a rounded one is out of bounds.
    fn with_integers_of(&self, x: &[f64]) -> Optimum {
        let model = &self.epigraph.model;
        let (mut lower, mut upper) = (model.col_lower().to_vec(), model.col_upper().to_vec());
        for j in 0..model.num_cols() {
            if model.is_integer(ColId(j as u32)) {
                let value = x[j].round();
                if value < lower[j] || value > upper[j] {
                    return None;
                }
                (lower[j], upper[j]) = (value, value);
            }
        }
        let found = self.optimum(&lower, &upper)?;
        let mut whole = found.1.clone();
        for (j, value) in whole.iter_mut().enumerate() {
            if model.is_integer(ColId(j as u32)) {
                *value = lower[j];
            }
        }
        Some(Arc::new((found.0, whole)))
    }

    fn is_integral(&self, x: &[f64]) -> bool {
        let model = &self.epigraph.model;
        let mut integers = (0..model.num_cols()).filter(|&j| model.is_integer(ColId(j as u32)));
        integers.all(|j| (x[j] - x[j].round()).abs() <= WHOLE)
    }

    /// Points at which tangents raise the relaxation at a node's point `x`, with their blocks.
    /// `bound`: minimised objective of the relaxation. `distance`: that from which a tangent is worth
    /// its row, relative to 1 and the block or the objective.
    pub fn points(
        &self,
        x: &[f64],
        (lower, upper): (&[f64], &[f64]),
        bound: f64,
        distance: f64,
    ) -> Vec<(Vec<f64>, Vec<usize>)> {
        let e = &self.epigraph;
        let n = e.model.num_cols();
        let values = e.values(x);
        let below = |&k: &usize| values[k] - x[n + k] > distance * (1.0 + values[k].abs());
        let blocks: Vec<usize> = (0..values.len()).filter(below).collect();
        if blocks.is_empty() {
            return Vec::new();
        }
        let optimum = match self.is_integral(x) {
            true => self.with_integers_of(x),
            false => {
                let optimum = self.optimum(&lower[..n], &upper[..n]);
                let enough = |o: &(f64, Vec<f64>)| bound >= o.0 - distance * (1.0 + o.0.abs());
                if optimum.as_deref().is_some_and(enough) {
                    return Vec::new();
                }
                optimum
            }
        };
        let mut points = vec![(x.to_vec(), blocks)];
        points.extend(optimum.map(|o| (o.1.clone(), (0..values.len()).collect())));
        points
    }
}

impl Separator for Tangents {
    fn separate(&self, node: &NodeView<'_>, sink: &mut CutSink) {
        for (x, blocks) in self.points(node.x, (node.lower, node.upper), node.bound, DISTANCE) {
            let rows = self.epigraph.tangents(&x, |k| blocks.contains(&k));
            for (bounds, entries) in rows {
                sink.add(bounds, entries);
            }
        }
    }

    fn is_lazy(&self) -> bool {
        true
    }

    fn needs(&self) -> Needs {
        Needs::Columns(self.epigraph.columns())
    }
}

impl Heuristic for Tangents {
    fn name(&self) -> &'static str {
        "quadratic program"
    }

    fn run(&self, node: &NodeView<'_>, _budget: u64, sink: &mut SolutionSink) -> u64 {
        let e = &self.epigraph;
        // Roundings of fractional points seldom pay below the first nodes.
        let is_due = self.is_integral(node.x) || node.depth < 4 || node.incumbent.is_none();
        if let Some(found) = is_due.then(|| self.with_integers_of(node.x)).flatten()
            && found.0 < node.cutoff
        {
            sink.add(e.extended(&found.1));
        }
        e.model.num_nonzeros() as u64
    }

    fn needs(&self) -> Needs {
        Needs::nothing()
    }
}
