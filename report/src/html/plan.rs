//! Plans on a page.

use super::document::{Document, GraphJson, PlanJson, Subject, Way};
use super::moments::Moments;
use super::pieces::Pieces;
use remat_formulations::solve::MomentPrice;
use remat_instances::plan::{Plan, PlanAddresses};
use remat_instances::simulate::{PlanLives, Replay, ReplayError};
use remat_instances::{Instance, Semantics, simulate};
use serde::Serialize;

/// A plan for a page.
pub struct PlanSource<'a> {
    /// Name of the plan, for example its file.
    pub name: String,
    /// The graph as the plan's program sees it.
    pub instance: &'a Instance,
    /// The plan.
    pub plan: &'a Plan,
    /// Its replay.
    pub replay: &'a Replay,
    /// Its addresses, which fit it.
    pub addresses: Option<&'a PlanAddresses>,
    /// Its budget in bytes.
    pub budget_bytes: Option<u64>,
    /// The proven bound within this budget.
    pub bound: Option<PlanBound>,
    /// Prices of memory at its computations; empty if they are not known.
    pub prices: &'a [MomentPrice],
    /// True for the step without recomputation, added for comparison.
    pub is_plain: bool,
}

/// A proven bound on the cost of plans within a budget.
#[derive(Clone, Debug, Serialize)]
pub struct PlanBound {
    /// The bound, in the unit of costs.
    pub cost: u64,
    /// Plans that it covers.
    pub scope: String,
}

/// A moment, and its price: cost units that one byte more would save there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Price(pub usize, pub f64);

impl Document {
    /// Adds a plan to the graph of this name.
    ///
    /// # Errors
    /// [`ReplayError`] for a plan that cannot be executed.
    pub fn add(&mut self, graph: &str, source: &PlanSource<'_>) -> Result<(), ReplayError> {
        let named = self.subjects.iter().position(|s| s.name == graph);
        let at = named.unwrap_or_else(|| {
            self.subjects.push(Subject {
                name: graph.into(),
                ..Subject::default()
            });
            self.subjects.len() - 1
        });
        let subject = &mut self.subjects[at];
        let json = graph_json(source.instance, source.plan.semantics);
        let same = subject.graphs.iter().position(|known| *known == json);
        let position = same.unwrap_or_else(|| {
            subject.graphs.push(json);
            subject.graphs.len() - 1
        });
        subject.plans.push(plan_json(source, position)?);
        Ok(())
    }
}

impl Document {
    /// Adds the step without recomputation, for comparison, to the graph of this name.
    ///
    /// # Errors
    /// [`ReplayError`] for a graph without such a step.
    pub fn add_plain(
        &mut self,
        graph: &str,
        instance: &Instance,
        semantics: Semantics,
        budget_bytes: Option<u64>,
    ) -> Result<(), ReplayError> {
        let plan = instance.without_recomputation(semantics)?.plan(instance)?;
        let source = PlanSource {
            name: "without recomputation".into(),
            instance,
            plan: &plan,
            replay: &simulate::plan(instance, &plan)?,
            addresses: None,
            budget_bytes,
            bound: None,
            prices: &[],
            is_plain: true,
        };
        self.add(graph, &source)
    }
}

fn plan_json(source: &PlanSource<'_>, graph: usize) -> Result<PlanJson, ReplayError> {
    let PlanSource {
        instance,
        plan,
        replay,
        ..
    } = *source;
    let moments = Moments::of(instance, plan, replay);
    let lives = PlanLives::of(instance, plan)?;
    let mut pieces = Pieces::of(&lives, &moments, replay);
    if let Some(addresses) = source.addresses {
        pieces.json.offset = Some(offsets(&pieces, addresses));
    }
    let credits = pieces.credits(&moments.json.bytes);
    let copies = moments.copies(instance, replay);
    Ok(PlanJson {
        name: source.name.clone(),
        graph,
        is_plain: source.is_plain,
        semantics: plan.semantics.as_str(),
        budget_bytes: source.budget_bytes,
        peak_bytes: replay.peak_bytes,
        waiting_bytes: replay.waiting_bytes,
        cost: replay.makespan,
        idle: replay.idle(),
        base_cost: replay.base_cost,
        host_peak_bytes: replay.transfers.host_peak_bytes,
        arena_bytes: source.addresses.map(|a| a.arena_bytes),
        bound: source.bound.clone(),
        prices: prices(source.prices, &moments),
        moments: moments.json,
        pieces: pieces.json,
        segments: pieces.segments,
        credits,
        copies,
    })
}

/// Prices by moment.
fn prices(list: &[MomentPrice], moments: &Moments) -> Vec<Price> {
    let runs = moments.runs();
    let at = |price: &MomentPrice| Some(Price(*runs.get(price.run)?, price.per_byte));
    list.iter().filter_map(at).collect()
}

/// The offset of each piece. A piece of the plan may be several here: one for each node that is
/// computed in its place.
fn offsets(pieces: &Pieces, addresses: &PlanAddresses) -> Vec<u64> {
    let offset = |life: &usize| addresses.pieces.get(*life).map_or(0, |p| p.offset_bytes);
    pieces.origin.iter().map(offset).collect()
}

fn graph_json(instance: &Instance, semantics: Semantics) -> GraphJson {
    let mut out = GraphJson {
        word: "node",
        ..GraphJson::default()
    };
    for (k, node) in instance.nodes().iter().enumerate() {
        let shape: Vec<String> = node.shape.iter().map(u64::to_string).collect();
        out.names.push(node.name.to_string());
        out.operators.push(node.op.to_string());
        out.shapes.push(shape.join("×"));
        out.bytes.push(node.output_bytes);
        out.roles.push(match (node.is_backward(), node.parent()) {
            (true, _) => 3,
            (false, Some(_)) => 1,
            (false, None) if instance.loss().is_some_and(|l| l.index() == k) => 2,
            (false, None) => 0,
        });
        let way = |way: &remat_instances::instance::Implementation| {
            let needs = way.needs.iter().map(|need| need.0);
            Way(way.cost, way.recompute_cost, needs.collect())
        };
        let ways = node.offered(semantics).iter().map(way);
        out.ways.push(ways.collect());
        if node.once {
            out.once.push(k as u32);
        }
        if node.is_gathered() {
            out.gathered.push(k as u32);
        }
    }
    out
}
