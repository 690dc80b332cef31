//! Rules for the order of a graph, and known methods to place buffers.

use crate::memory::{graph_of, lives_of, variant_of};
use crate::numbers::whole_if_given;
use crate::relay::{self, Ended, Relay};
use crate::trouble::Trouble;
use pyo3::prelude::*;
use remat_memory::order::OrderBaselines;
use remat_memory::place::PlaceBaseline as Way;
use std::sync::Arc;

/// The order that a rule finds. Immutable.
#[pyclass(frozen, get_all, module = "remat_bb")]
pub struct OrderBaseline {
    /// The rule.
    name: &'static str,
    /// Operators in the order in which they run.
    order: Vec<u32>,
    /// Memory of the order, resident memory included, in bytes.
    peak_memory_bytes: u64,
}

#[pymethods]
impl OrderBaseline {
    fn __repr__(&self) -> String {
        let (name, peak) = (self.name, self.peak_memory_bytes);
        format!("OrderBaseline({name:?}, peak {peak} bytes)")
    }
}

/// The addresses by a known method, or the reason why it failed. Immutable.
#[pyclass(frozen, get_all, module = "remat_bb")]
pub struct PlaceBaseline {
    /// The method.
    name: &'static str,
    /// Offsets, in the order of the buffers.
    offsets: Option<Vec<u64>>,
    /// Size of the arena in bytes.
    height_bytes: Option<u64>,
    /// Reason why there are no addresses.
    because: Option<String>,
}

#[pymethods]
impl PlaceBaseline {
    fn __repr__(&self) -> String {
        let words = match (self.height_bytes, &self.because) {
            (Some(height), _) => format!("{height} bytes"),
            (None, because) => because.clone().unwrap_or_default(),
        };
        format!("PlaceBaseline({:?}: {words})", self.name)
    }
}

/// The orders of all rules.
#[pyfunction]
#[pyo3(signature = (graph, *, variant = "sound+rng"))]
pub fn order_baselines(
    py: Python<'_>,
    graph: &Bound<'_, PyAny>,
    variant: &str,
) -> PyResult<Vec<OrderBaseline>> {
    let (graph, variant) = (graph_of(graph)?, variant_of(variant)?);
    let work = |_: &Arc<Relay>| OrderBaselines::of(&graph, variant);
    let Ended { value, interrupt } = relay::work(py, None, work)?;
    if let Some(interrupt) = interrupt {
        return Err(interrupt);
    }
    let known = value.map_err(|e| Trouble::argument("graph", e))?;
    let of = |one: &remat_memory::order::OrderBaseline| OrderBaseline {
        name: one.rule.as_str(),
        order: one.order.iter().map(|v| v.0).collect(),
        peak_memory_bytes: one.replay.peak_bytes,
    };
    Ok(known.all().iter().map(of).collect())
}

/// The addresses by all known methods, each replayed.
#[pyfunction]
#[pyo3(signature = (lives, *, seed = None))]
pub fn place_baselines(
    py: Python<'_>,
    lives: &Bound<'_, PyAny>,
    seed: Option<&Bound<'_, PyAny>>,
) -> PyResult<Vec<PlaceBaseline>> {
    let seed = whole_if_given("seed", seed)?.unwrap_or(0);
    let lives = lives_of(lives)?;
    let of = |way: Way| {
        let placed = way.place(&lives, seed).map_err(|e| e.to_string());
        // Some methods ignore fixed offsets and gaps.
        let placed = placed.and_then(|placement| {
            let replay = placement.replay(&lives).map_err(|e| e.to_string())?;
            Ok((placement.offsets().to_vec(), replay.height))
        });
        let because = placed.as_ref().err().cloned();
        let (offsets, height_bytes) = placed.ok().unzip();
        PlaceBaseline {
            name: way.name(),
            offsets,
            height_bytes,
            because,
        }
    };
    let work = |_: &Arc<Relay>| Way::ALL.into_iter().map(of).collect();
    let Ended { value, interrupt } = relay::work(py, None, work)?;
    interrupt.map_or(Ok(value), Err)
}
