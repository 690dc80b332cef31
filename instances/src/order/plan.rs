//! `remat-order-plan/1` documents: an order, and claims about it.

use super::{OperatorId, OrderFault, OrderGraph, OrderReplay, Variant};
use crate::document::{self, Document, Failure, FaultKind, Lines, ReadError, Spanned};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the schema of order plans.
pub const ORDER_PLAN_SCHEMA: &str = "remat-order-plan/1";

/// An order for a graph with the records of its maker. The records are claims, which
/// [`OrderPlan::replay`] checks.
///
/// ```
/// use remat_instances::order::{OrderGraph, OrderPlan, Variant};
/// use remat_instances::zoo;
/// let graph = OrderGraph::of_instance(&zoo::build(&"zoo:chain?n=4".parse()?)?)?;
/// let plan = OrderPlan::new(&graph, Variant::Sound, graph.program_order().to_vec())?;
/// let again = OrderPlan::parse("again.json", plan.write().as_bytes())?;
/// assert_eq!(again, plan);
/// assert_eq!(again.replay(&graph)?.peak_bytes, plan.peak_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderPlan {
    /// Name of the graph.
    pub graph: String,
    /// SHA-256 of the graph ([`OrderGraph::digest`]).
    pub graph_sha256: String,
    /// The variant of the order.
    pub variant: Variant,
    /// Alignment of sizes, in bytes; 0 for no alignment.
    pub alignment_bytes: u64,
    /// Memory budget for which it was made, in bytes.
    pub budget_bytes: Option<u64>,
    /// Largest memory of any step, in bytes.
    pub peak_bytes: u64,
    /// Proven lower bound on the peak of any order, in bytes, if there is one.
    pub bound_bytes: Option<u64>,
    /// The order.
    pub order: Vec<OperatorId>,
    /// Memory while each operator runs, in bytes; may be empty.
    pub step_bytes: Vec<u64>,
}

/// Reason to reject a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OrderPlanError {
    /// It was made for another graph.
    #[error(
        "the plan is for a graph with SHA-256 {wanted}, the one at hand has {found}; \
         give that graph"
    )]
    Graph {
        /// The digest in the plan.
        wanted: String,
        /// The digest of the graph at hand.
        found: String,
    },
    /// The order is not executable.
    #[error(transparent)]
    Fault(#[from] OrderFault),
    /// A claim differs from the replay.
    #[error("the plan claims {field} {claimed}, the replay says {found}")]
    Claim {
        /// The field.
        field: &'static str,
        /// The claim.
        claimed: u64,
        /// The replay's value.
        found: u64,
    },
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename = "an order plan: an object with `order`")]
pub(super) struct PlanText<'d> {
    schema: &'d str,
    graph: &'d str,
    graph_sha256: &'d str,
    #[serde(borrow, rename(deserialize = "variant: the name of a variant"))]
    variant: Spanned<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_bytes: Option<u128>,
    peak_bytes: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_bytes: Option<u128>,
    #[serde(rename(deserialize = "order: a list of operators"))]
    order: Vec<Spanned<u64>>,
    #[serde(rename(deserialize = "step_bytes: a list of sizes"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    step_bytes: Option<Vec<u128>>,
}

impl OrderPlan {
    /// A plan from an order and its replay.
    ///
    /// # Errors
    /// [`OrderFault`] for an order that is not executable.
    pub fn new(
        graph: &OrderGraph,
        variant: Variant,
        order: Vec<OperatorId>,
    ) -> Result<Self, OrderFault> {
        let replay = graph.replay(variant, &order)?;
        Ok(OrderPlan {
            graph: graph.name().into(),
            graph_sha256: graph.digest(),
            variant,
            alignment_bytes: graph.data().alignment_bytes,
            budget_bytes: None,
            peak_bytes: replay.peak_bytes,
            bound_bytes: None,
            order,
            step_bytes: replay.step_bytes(),
        })
    }

    /// Reads a plan from a file, JSON or gzipped JSON.
    ///
    /// # Errors
    /// [`ReadError`] if it is not an order plan.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ReadError> {
        let path = path.as_ref();
        Self::parse(&path.display().to_string(), &document::load(path)?)
    }

    /// Parses the bytes of a plan; errors name it `name`.
    ///
    /// # Errors
    /// The errors of [`OrderPlan::read`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let document = Document::parse(name, bytes)?;
        plan(&document).map_err(|e| document.error(e))
    }

    /// Writes the plan as JSON.
    pub fn write(&self) -> String {
        Lines::new(2, false).write(&written_order(self))
    }

    /// Replays the plan on its graph, and checks its claims.
    ///
    /// # Errors
    /// [`OrderPlanError`] for another graph, an order that is not executable, or a wrong claim.
    pub fn replay(&self, graph: &OrderGraph) -> Result<OrderReplay, OrderPlanError> {
        let found = graph.digest();
        if found != self.graph_sha256 {
            let wanted = self.graph_sha256.clone();
            return Err(OrderPlanError::Graph { wanted, found });
        }
        let replay = graph.replay(self.variant, &self.order)?;
        let claim = |field, claimed, found| {
            Err(OrderPlanError::Claim {
                field,
                claimed,
                found,
            })
        };
        if replay.peak_bytes != self.peak_bytes {
            return claim("peak_bytes", self.peak_bytes, replay.peak_bytes);
        }
        if let Some(bound) = self.bound_bytes.filter(|bound| *bound > replay.peak_bytes) {
            return claim("bound_bytes", bound, replay.peak_bytes);
        }
        let steps = replay.step_bytes();
        if !self.step_bytes.is_empty() && self.step_bytes != steps {
            let pairs = self.step_bytes.iter().zip(&steps);
            let (claimed, found) = match pairs.clone().find(|(a, b)| a != b) {
                Some((claimed, found)) => (*claimed, *found),
                None => (self.step_bytes.len() as u64, steps.len() as u64),
            };
            return claim("step_bytes", claimed, found);
        }
        Ok(replay)
    }
}

fn plan(document: &Document) -> Result<OrderPlan, Failure> {
    let problem = "this file is not an order plan, or one of another version";
    let text: PlanText<'_> = document.read_as(ORDER_PLAN_SCHEMA, problem)?;
    read_order(&text)
}

/// Converts a plan to its text form.
pub(super) fn written_order(plan: &OrderPlan) -> PlanText<'_> {
    PlanText {
        schema: ORDER_PLAN_SCHEMA,
        graph: &plan.graph,
        graph_sha256: &plan.graph_sha256,
        variant: plan.variant.as_str().into(),
        alignment_bytes: (plan.alignment_bytes > 0).then_some(plan.alignment_bytes),
        budget_bytes: plan.budget_bytes.map(Into::into),
        peak_bytes: plan.peak_bytes.into(),
        bound_bytes: plan.bound_bytes.map(Into::into),
        order: plan.order.iter().map(|v| u64::from(v.0).into()).collect(),
        step_bytes: match plan.step_bytes.is_empty() {
            true => None,
            false => Some(plan.step_bytes.iter().map(|b| u128::from(*b)).collect()),
        },
    }
}

/// Converts a text form to a plan.
pub(super) fn read_order(text: &PlanText<'_>) -> Result<OrderPlan, Failure> {
    let variant = text.variant.parse().map_err(|_| {
        let remedy = "give free, sound, sound+rng or ctl";
        FaultKind::Value.fail(text.variant.span, "the variant is unknown", remedy)
    })?;
    let operator = |id: &Spanned<u64>| {
        let id = id.index(u32::MAX as usize, "operator")?;
        Ok(OperatorId(id as u32))
    };
    Ok(OrderPlan {
        graph: text.graph.into(),
        graph_sha256: text.graph_sha256.into(),
        variant,
        alignment_bytes: text.alignment_bytes.unwrap_or(0),
        budget_bytes: text.budget_bytes.map(|b| b as u64),
        peak_bytes: text.peak_bytes as u64,
        bound_bytes: text.bound_bytes.map(|b| b as u64),
        order: text.order.iter().map(operator).collect::<Result<_, _>>()?,
        step_bytes: (text.step_bytes.iter().flatten())
            .map(|b| *b as u64)
            .collect(),
    })
}
