//! Plans: found by a search, or read from a file.

use crate::asked;
use crate::copied_as_itself;
use crate::instance::{Instance, json_object, save};
use crate::relay::apart;
use crate::trouble::Trouble;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use remat_bb::commands::explain;
use remat_formulations::solve::AnyPlan;
use remat_instances::budget;
use remat_instances::plan::{PlanAddresses, PlanDocument};
use remat_instances::schedule::Schedule;
use remat_instances::simulate::{self, CopySpan, Replay};
use remat_memory::place::{PlacePlanError, PlaceSettings, place_plan, place_plan_within};
use remat_report::draw::memory::{self, MemoryPicture};
use remat_report::draw::{addresses, schedule};
use remat_search::{Outcome, Status};
use std::borrow::Cow;
use std::path::PathBuf;

/// Hint at the option to explain all tensors.
const HINT: &str = "explain(all=True) tells of them";

/// Findings of a search about a plan.
#[derive(Clone, Debug)]
pub struct Found {
    /// Status at the end.
    pub status: Status,
    /// Proven lower bound on the cost.
    pub bound: u64,
    /// Schedules that the bound covers.
    pub bound_scope: Cow<'static, str>,
    /// A bound over more plans, if it is lower, and the plans that it covers.
    pub wider: Option<(u64, Cow<'static, str>)>,
    /// Seconds that the search took.
    pub seconds: f64,
    /// Branch-and-bound nodes.
    pub nodes: Option<u64>,
    /// Simplex iterations.
    pub lp_iterations: Option<u64>,
    /// Moves of the annealing.
    pub moves: Option<u64>,
    /// True if Ctrl-C ended the search.
    pub interrupted: bool,
}

impl Found {
    /// The findings of an outcome.
    pub fn of(outcome: &Outcome, interrupted: bool) -> Self {
        Found {
            status: outcome.status,
            bound: outcome.bound,
            bound_scope: outcome.bound_scope.into(),
            wider: outcome.wider.map(|wider| (wider.bound, wider.scope.into())),
            seconds: outcome.seconds,
            nodes: Some(outcome.nodes),
            lp_iterations: Some(outcome.lp_iterations),
            moves: Some(outcome.moves),
            interrupted,
        }
    }
}

/// A plan of a training step: computations, kept and freed tensors, recomputations. Replayed and
/// immutable.
#[pyclass(frozen, weakref, module = "remat_bb")]
#[derive(Debug)]
pub struct Plan {
    /// The graph as given.
    pub source: remat_instances::Instance,
    /// The graph in the view of the plan's program.
    pub view: remat_instances::Instance,
    /// The plan, with its records.
    pub document: PlanDocument,
    /// Its replay.
    pub replay: Replay,
    /// The replay without recomputation.
    pub plain: Replay,
    /// Its schedule, if it was made from one.
    pub schedule: Option<Schedule>,
    /// Findings of the search that made it, if there was one.
    pub found: Option<Found>,
    /// Lower bound in bytes on every arena for the plan and the alignment, if it was placed.
    pub arena_bound_bytes: Option<u64>,
}

copied_as_itself!(Plan);

impl Plan {
    /// A plan for a budget in bytes; `plain` is the replay without recomputation.
    ///
    /// # Errors
    /// A plan that cannot be executed, which is a defect.
    pub fn of(
        source: &remat_instances::Instance,
        view: &remat_instances::Instance,
        plan: AnyPlan,
        budget_bytes: u64,
        plain: &Replay,
        found: Option<Found>,
    ) -> Result<Self, Trouble> {
        let document = plan.planned(view, budget_bytes)?.document;
        let replay = simulate::plan(view, &document.plan)?;
        Ok(Plan {
            source: source.clone(),
            view: view.clone(),
            document,
            replay,
            plain: plain.clone(),
            schedule: plan.schedule().cloned(),
            found,
            arena_bound_bytes: None,
        })
    }

    /// The plan with addresses at multiples of `alignment` bytes, or of a number that suits the
    /// sizes.
    ///
    /// # Errors
    /// `InvalidArgument` for an invalid alignment, and for sizes beyond all addresses.
    pub fn placed(self, alignment: Option<u64>, settings: &PlaceSettings) -> Result<Self, Trouble> {
        let plan = &self.document.plan;
        let budget_bytes = self.document.budget_bytes;
        let placed = match budget_bytes {
            None => place_plan(&self.view, plan, alignment, None, settings),
            Some(budget) => place_plan_within(&self.view, plan, alignment, budget, settings),
        };
        let placed = placed.map_err(|e| match e {
            PlacePlanError::Alignment { .. } => Trouble::argument("alignment", e),
            e => Trouble::argument("addresses", e),
        })?;
        let document = PlanDocument {
            addresses: Some(placed.addresses),
            ..self.document
        };
        Ok(Plan {
            document,
            arena_bound_bytes: Some(placed.bound_bytes),
            ..self
        })
    }

    /// Its addresses, if it has any.
    pub fn addresses(&self) -> Option<&PlanAddresses> {
        self.document.addresses.as_ref()
    }

    /// The plan as a `remat-plan/1` document.
    pub fn text(&self) -> String {
        self.document.write(&self.view)
    }

    fn gap_to(&self, bound: u64) -> f64 {
        match self.replay.makespan {
            0 => 0.0,
            cost => cost.saturating_sub(bound) as f64 / cost as f64,
        }
    }

    fn name_of(&self, node: remat_instances::NodeId) -> &str {
        &self.view.node(node).name
    }

    /// Computations of each node, by index.
    fn counts(&self) -> Vec<u32> {
        self.document.plan.computations(self.view.len())
    }
}

#[pymethods]
impl Plan {
    /// The instance as given.
    #[getter]
    fn instance(&self) -> Instance {
        Instance {
            inner: self.source.clone(),
        }
    }

    /// The program whose memory and cost semantics hold: ``checkmate`` or ``monet``.
    #[getter]
    fn formulation(&self) -> &'static str {
        self.document.plan.semantics.as_str()
    }

    /// ``optimal`` (proven best within the gap), ``feasible`` or ``interrupted``; ``None`` without
    /// a search.
    #[getter]
    fn status(&self) -> Option<&'static str> {
        self.found.as_ref().map(|found| found.status.as_str())
    }

    /// True if Ctrl-C ended the search.
    #[getter]
    fn interrupted(&self) -> bool {
        self.found.as_ref().is_some_and(|found| found.interrupted)
    }

    /// Cost of the step by the replay; of a plan that copies to the host, its makespan.
    #[getter]
    fn objective(&self) -> u64 {
        self.replay.makespan
    }

    /// Time of the step: cost of all computations, plus ``idle``.
    #[getter]
    fn makespan(&self) -> u64 {
        self.replay.makespan
    }

    /// Time in which computations wait for copies; 0 without copies to the host.
    #[getter]
    fn idle(&self) -> u64 {
        self.replay.idle()
    }

    /// Bytes copied to the host.
    #[getter]
    fn to_host_bytes(&self) -> u64 {
        self.replay.transfers.to_host_bytes
    }

    /// Bytes copied from the host.
    #[getter(from_host_bytes)]
    fn host_bytes_back(&self) -> u64 {
        self.replay.transfers.from_host_bytes
    }

    /// Peak of host memory for copies.
    #[getter]
    fn host_peak_bytes(&self) -> u64 {
        self.replay.transfers.host_peak_bytes
    }

    /// Copies to the host and back in the order of their statements: ``(node, to_host, begin,
    /// end)``, times in ``cost_unit``.
    #[getter]
    fn copies(&self) -> Vec<(&str, bool, u64, u64)> {
        let spans = self.replay.transfers.spans.iter();
        let copy = |s: &CopySpan| (self.name_of(s.node), s.to_host, s.begin, s.end);
        spans.map(copy).collect()
    }

    /// Proven lower bound on the cost of all plans of ``bound_scope`` within the budget. ``None``
    /// without a search.
    #[getter]
    fn bound(&self) -> Option<u64> {
        self.found.as_ref().map(|found| found.bound)
    }

    #[getter]
    /// ``(objective - bound) / objective``; ``None`` without a search.
    pub fn gap(&self) -> Option<f64> {
        self.found.as_ref().map(|found| self.gap_to(found.bound))
    }

    /// Plans that the bound covers: ``all-plans``, ``plans-in-this-order`` or ``stage-schedules``;
    /// with ``reorder=True`` also ``stage-schedules-in-this-order``. ``None`` without a search.
    #[getter]
    fn bound_scope(&self) -> Option<&str> {
        self.found.as_ref().map(|found| &*found.bound_scope)
    }

    /// Proven lower bound over more plans than ``bound`` covers; ``None`` if it covers as many.
    #[getter]
    fn wider_bound(&self) -> Option<u64> {
        let wider = self.found.as_ref()?.wider.as_ref()?;
        Some(wider.0)
    }

    /// Plans that ``wider_bound`` covers.
    #[getter]
    fn wider_bound_scope(&self) -> Option<&str> {
        let wider = self.found.as_ref()?.wider.as_ref()?;
        Some(&wider.1)
    }

    /// Cost of the step without recomputation.
    #[getter]
    fn base_cost(&self) -> u64 {
        self.replay.base_cost
    }

    /// Unit of all costs.
    #[getter]
    fn cost_unit(&self) -> &str {
        &self.view.cost_unit().name
    }

    /// Extra cost over ``base_cost`` as a fraction: 0.05 is 5%.
    #[getter]
    fn overhead(&self) -> f64 {
        self.replay.overhead_percent() / 100.0
    }

    /// Peak by the replay, fixed memory included.
    #[getter]
    fn peak_memory_bytes(&self) -> u64 {
        self.replay.peak_bytes
    }

    /// Micro-batches in flight, of which each waiting one holds ``saved_bytes``.
    #[getter]
    fn in_flight(&self) -> u32 {
        self.view.in_flight()
    }

    /// Bytes that a micro-batch holds between its two passes; 0 if only one is in flight.
    #[getter]
    fn saved_bytes(&self) -> u64 {
        self.replay.saved_bytes
    }

    /// The operator that runs at the peak.
    #[getter]
    fn peak_at(&self) -> String {
        remat_report::moment(&self.view, &self.replay).into()
    }

    /// Peak of the step without recomputation.
    #[getter]
    fn plain_peak_memory_bytes(&self) -> u64 {
        self.plain.peak_bytes
    }

    /// The budget that it was made for, if one is recorded.
    #[getter]
    fn budget_bytes(&self) -> Option<u64> {
        self.document.budget_bytes
    }

    /// Time of the search; ``None`` without a search, 0 if other budgets of a frontier settled it.
    #[getter]
    fn seconds(&self) -> Option<f64> {
        self.found.as_ref().map(|found| found.seconds)
    }

    /// Counters of the search: ``nodes``, ``lp_iterations``, ``moves``, ``None`` in frontiers.
    #[getter]
    fn search<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let Some(found) = &self.found else {
            return Ok(None);
        };
        let counters = PyDict::new(py);
        counters.set_item("nodes", found.nodes)?;
        counters.set_item("lp_iterations", found.lp_iterations)?;
        counters.set_item("moves", found.moves)?;
        Ok(Some(counters))
    }

    /// Operators that are computed again, in execution order, with the number of recomputations.
    #[getter]
    fn recomputed<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let again = PyDict::new(py);
        for (id, count) in self.view.ids().zip(self.counts()) {
            if count > 1 {
                again.set_item(self.name_of(id), count - 1)?;
            }
        }
        Ok(again)
    }

    /// Names of the operators of all computations, in order.
    #[getter]
    fn order(&self) -> Vec<&str> {
        let runs = self.replay.timeline.iter().filter_map(|run| run.at.node);
        runs.map(|node| self.name_of(node)).collect()
    }

    /// For each computation: cost of the step up to and including it, with waits for copies, and
    /// bytes in use while it runs.
    #[getter]
    fn timeline(&self) -> Vec<(u64, u64)> {
        let points = self.replay.timeline.iter();
        points.map(|point| (point.clock, point.bytes)).collect()
    }

    /// The statements: ``("allocate", register, node)``, ``("compute", node, register)``, with an
    /// implementation added if the node has several, ``("deallocate", register)``, and for copies
    /// ``("offload", register, buffer)``, ``("wait", buffer)``, ``("prefetch", buffer, register)``
    /// and ``("release", buffer)``.
    #[getter]
    fn steps<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let steps = self.to_dict(py)?.get_item("steps")?;
        let tuple = |step: PyResult<Bound<'py, PyAny>>| -> PyResult<Bound<'py, PyTuple>> {
            let parts: Vec<Bound<'py, PyAny>> = step?.extract()?;
            PyTuple::new(py, parts)
        };
        steps.try_iter()?.map(tuple).collect()
    }

    /// The plan as a ``remat-plan/1`` document.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_object(py, &self.text())
    }

    /// Writes a ``remat-plan/1`` file, gzipped if its name ends in ``.gz``. On an error the file is
    /// unchanged.
    ///
    /// Raises:
    ///     FileError: with the system's message.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(apart(py, || save(&path, &self.text()))??)
    }

    /// The plan in words: recomputations, their purpose, and whether the budget forced them.
    #[pyo3(signature = (*, all = false))]
    fn explain(&self, py: Python<'_>, all: bool) -> PyResult<String> {
        let hint = (!all).then_some(HINT);
        let budget_bytes = self.document.budget_bytes;
        let words = || explain::words(&self.view, &self.document.plan, budget_bytes, hint);
        Ok(apart(py, words)?.map_err(Trouble::from)?)
    }

    /// Memory over the step, with the step without recomputation and the budget, as SVG text.
    fn memory_svg(&self, py: Python<'_>) -> PyResult<String> {
        let picture = MemoryPicture {
            instance: &self.view,
            semantics: self.document.plan.semantics,
            replay: &self.replay,
            plain: Some(&self.plain),
            measured: None,
            budget_bytes: self.document.budget_bytes,
            title: format!("{}: memory over one training step (plan)", self.view.name()),
        };
        Ok(apart(py, || memory::draw(&picture))?.map_err(Trouble::from)?)
    }

    /// Size of the arena with an address for each of the plan's buffers; ``None`` without
    /// addresses.
    #[getter]
    fn arena_bytes(&self) -> Option<u64> {
        self.addresses().map(|a| a.arena_bytes)
    }

    /// Proven lower bound on every arena for this plan and alignment. ``None`` unless it was placed
    /// here.
    #[getter]
    fn arena_bound_bytes(&self) -> Option<u64> {
        self.arena_bound_bytes
    }

    /// The number whose multiples all addresses are; ``None`` without addresses.
    #[getter]
    fn alignment_bytes(&self) -> Option<u64> {
        self.addresses().map(|a| a.alignment_bytes)
    }

    /// Excess of ``arena_bytes`` over ``peak_memory_bytes``, as a fraction of the peak: 0.0 without
    /// fragmentation. ``None`` without addresses.
    #[getter]
    fn fragmentation(&self) -> Option<f64> {
        let arena = self.addresses()?.arena_bytes;
        Some(arena as f64 / self.replay.peak_bytes.max(1) as f64 - 1.0)
    }

    /// Pieces of memory with their addresses: ``(kind, statement, offset, bytes)``. ``kind`` is
    /// ``"fixed"``, ``"tensor"`` or ``"workspace"``, ``statement`` the position in ``steps``.
    /// ``None`` without addresses.
    #[getter(addresses)]
    fn address_list(&self) -> Option<Vec<(&'static str, usize, u64, u64)>> {
        let pieces = self.addresses()?.pieces.iter();
        let tuple = |p: &remat_instances::plan::PieceAddress| {
            (p.of.kind(), p.of.statement(), p.offset_bytes, p.bytes)
        };
        Some(pieces.map(tuple).collect())
    }

    /// The plan with an address for each of its buffers, in an arena as small as possible.
    ///
    /// Raises:
    ///     InvalidArgument: the alignment is not a power of two.
    #[pyo3(signature = (*, alignment = None, **options))]
    fn place(
        &self,
        py: Python<'_>,
        alignment: Option<Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Plan> {
        let alignment = asked::values([("alignment", alignment.as_ref())])?.alignment;
        let settings = asked::options("place", asked::LIMITS, options)?.settings();
        let copy = Plan {
            source: self.source.clone(),
            view: self.view.clone(),
            document: self.document.clone(),
            replay: self.replay.clone(),
            plain: self.plain.clone(),
            schedule: self.schedule.clone(),
            found: self.found.clone(),
            arena_bound_bytes: None,
        };
        let how = PlaceSettings {
            time_limit: settings.time_limit,
            threads: settings.threads,
            seed: settings.seed,
            ..PlaceSettings::default()
        };
        Ok(apart(py, || copy.placed(alignment, &how))??)
    }

    /// Addresses over the step, as SVG text.
    ///
    /// Raises:
    ///     InvalidArgument: the plan has no addresses.
    fn addresses_svg(&self, py: Python<'_>) -> PyResult<String> {
        let missing = || {
            Trouble::new("InvalidArgument", "the plan has no addresses")
                .remedy("give it some: plan.place()")
        };
        let of = self.addresses().ok_or_else(missing)?;
        let draw = || {
            let lives = of.replay(&self.view, &self.document.plan);
            let lives = lives.map_err(|e| Trouble::new("RematError", e.to_string()))?;
            let title = format!("{}: addresses over one training step", self.view.name());
            addresses::draw(&lives, &of.placement(), &title).map_err(Trouble::from)
        };
        Ok(apart(py, draw)??)
    }

    /// Operators computed and tensors kept in each stage, as SVG text.
    fn schedule_svg(&self, py: Python<'_>) -> PyResult<String> {
        let title = format!("{}: what is computed and kept (plan)", self.view.name());
        let draw = || schedule::draw(&self.view, &self.document.plan, &title);
        Ok(apart(py, draw)?.map_err(Trouble::from)?)
    }

    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<String> {
        self.memory_svg(py)
    }

    fn __repr__(&self) -> String {
        let unit = self.view.cost_unit();
        let mut text = format!(
            "Plan({:?}: {} a step, {:.2}% over no recomputation, peak {}",
            self.view.name(),
            remat_report::cost(self.replay.makespan, unit),
            self.replay.overhead_percent(),
            budget::format_bytes(self.replay.peak_bytes)
        );
        if let Some(bytes) = self.document.budget_bytes {
            text += &format!(" of {}", budget::format_bytes(bytes));
        }
        if let Some(found) = &self.found {
            let gap = self.gap_to(found.bound) * 100.0;
            text += &format!("; {}, gap {gap:.2}%", found.status.as_str());
        }
        text + ")"
    }
}
