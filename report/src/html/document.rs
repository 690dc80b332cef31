//! The data that a page carries. Lists are columns, so that ten thousand steps stay small.

use super::classes::{ClassJson, classes};
use super::findings::Findings;
use super::pipeline::PipelineJson;
use super::plan::{PlanBound, Price};
use crate::results::VERSION;
use remat_instances::instance::CostUnit;
use serde::Serialize;

/// Contents of a report.
#[derive(Serialize)]
pub struct Document {
    version: &'static str,
    /// Heading of the page.
    pub title: String,
    unit: UnitJson,
    classes: Vec<ClassJson>,
    /// Graphs with their plans: one, or one for each stage of a pipeline.
    pub(super) subjects: Vec<Subject>,
    pub(super) pipeline: Option<PipelineJson>,
    findings: Findings,
}

impl Document {
    /// A report without plans.
    pub fn new(title: &str, unit: &CostUnit) -> Self {
        Document {
            version: VERSION,
            title: title.into(),
            unit: UnitJson {
                name: unit.name.to_string(),
                nanoseconds: unit.nanoseconds,
            },
            classes: classes(),
            subjects: Vec::new(),
            pipeline: None,
            findings: Findings::default(),
        }
    }

    /// The report with bounds and progress of searches.
    pub fn with_findings(mut self, findings: Findings) -> Self {
        self.findings = findings;
        self
    }

    /// Number of plans on the page.
    pub fn plans(&self) -> usize {
        self.subjects.iter().map(|s| s.plans.len()).sum()
    }

    /// Number of moments of all plans.
    pub fn moments(&self) -> usize {
        let plans = self.subjects.iter().flat_map(|s| &s.plans);
        plans.map(|plan| plan.moments.kind.len()).sum()
    }
}

/// The unit of costs; `nanoseconds` in one unit if it is a time.
#[derive(Serialize)]
struct UnitJson {
    name: String,
    nanoseconds: Option<f64>,
}

/// Plans of one graph, which may be seen by several programs.
#[derive(Default, Serialize)]
pub(super) struct Subject {
    pub name: String,
    pub graphs: Vec<GraphJson>,
    pub plans: Vec<PlanJson>,
}

/// A way to compute a node: cost, cost of a recomputation, nodes that it reads.
#[derive(PartialEq, Serialize)]
pub(super) struct Way(pub u64, pub u64, pub Vec<u32>);

/// Nodes of a graph.
#[derive(Default, PartialEq, Serialize)]
pub(super) struct GraphJson {
    /// Word for a node: `node` or `operator`.
    pub word: &'static str,
    pub names: Vec<String>,
    pub operators: Vec<String>,
    pub shapes: Vec<String>,
    pub bytes: Vec<u64>,
    /// 0 forward, 1 by-product, 2 loss, 3 backward.
    pub roles: Vec<u8>,
    pub ways: Vec<Vec<Way>>,
    /// Nodes that are never computed again.
    pub once: Vec<u32>,
    /// Weights that a gather brings, which computes nothing.
    pub gathered: Vec<u32>,
}

/// A replayed plan.
#[derive(Serialize)]
pub(super) struct PlanJson {
    pub name: String,
    /// Position of its graph.
    pub graph: usize,
    /// The step without recomputation.
    pub is_plain: bool,
    pub semantics: &'static str,
    pub budget_bytes: Option<u64>,
    pub peak_bytes: u64,
    pub waiting_bytes: u64,
    pub cost: u64,
    pub idle: u64,
    pub base_cost: u64,
    pub host_peak_bytes: u64,
    pub arena_bytes: Option<u64>,
    pub bound: Option<PlanBound>,
    /// Prices in cost units for a byte, by moment.
    pub prices: Vec<Price>,
    pub moments: MomentsJson,
    pub pieces: PiecesJson,
    pub segments: SegmentsJson,
    /// Moments at which the pieces exceed the replay's memory, with the excess: a workspace is
    /// negative by more than an overwritten tensor.
    pub credits: Vec<(usize, u64)>,
    pub copies: CopiesJson,
}

/// Moments of a plan.
#[derive(Default, Serialize)]
pub(super) struct MomentsJson {
    /// As [`Kind`](super::moments::Kind).
    pub kind: Vec<u8>,
    pub node: Vec<u32>,
    pub begin: Vec<u64>,
    pub end: Vec<u64>,
    pub bytes: Vec<u64>,
    pub way: Vec<u16>,
    /// The first moment that reads the result; -1 if none does.
    pub reader: Vec<i64>,
}

/// Pieces of memory; `node` is -1 for memory of no node.
#[derive(Default, Serialize)]
pub(super) struct PiecesJson {
    pub kind: Vec<u8>,
    pub node: Vec<i64>,
    /// The moment that fills it.
    pub filled: Vec<usize>,
    /// Addresses, if the plan has them.
    pub offset: Option<Vec<u64>>,
    /// Names of pieces that no node names.
    pub names: Option<Vec<String>>,
}

/// Stretches of time in which a piece has one size and one class.
#[derive(Default, Serialize)]
pub(super) struct SegmentsJson {
    pub piece: Vec<usize>,
    pub begin: Vec<usize>,
    pub end: Vec<usize>,
    pub bytes: Vec<u64>,
    pub class: Vec<u8>,
}

/// Copies of a plan.
#[derive(Default, Serialize)]
pub(super) struct CopiesJson {
    pub node: Vec<u32>,
    /// 0 to the host, 1 back, 2 gather, 3 scatter.
    pub kind: Vec<u8>,
    pub begin: Vec<u64>,
    pub end: Vec<u64>,
    pub idle: Vec<u64>,
    pub bytes: Vec<u64>,
    /// The moment that waits for its end; -1 if none does.
    pub reader: Vec<i64>,
}
