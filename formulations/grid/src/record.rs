//! A result file: JSON with the plan and a checksum of itself.

use crate::subject::Subject;
use crate::survey::{Visit, hex};
use remat_instances::pipeline::arrangement::Arrangement;
use remat_instances::pipeline::document::PipelineFile;
use remat_instances::pipeline::split::Split;
use remat_instances::plan::{Plan, PlanFile};
use remat_instances::simulate::{self, Replay};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// Schema of result files.
const SCHEMA: &str = "remat-result/1";

/// Text before the checksum, which is the last field.
const CHECK: &str = ",\n\"sha256\":\"";

/// Word of the status of a job that failed.
pub const FAILED: &str = "error";

/// The result of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// `remat-result/1`.
    pub(crate) schema: String,
    /// Key: the name of the file.
    pub key: String,
    /// Name of the instance.
    pub instance: String,
    /// Budget in bytes; of a pipeline, of each device.
    pub budget_bytes: u64,
    /// `optimal`, `feasible`, `infeasible`, `limit` or `error`.
    pub status: String,
    /// Replayed cost.
    pub objective: Option<u64>,
    /// Replayed peak in bytes.
    pub peak_memory_bytes: Option<u64>,
    /// Lower bound; `None` if no plan exists.
    pub bound: Option<u64>,
    /// Plans that the bound covers.
    pub bound_scope: String,
    /// Reason why no plan exists, or of a failure.
    pub because: Option<String>,
    /// True if other results settled it without a solve.
    pub settled: bool,
    /// Key of the result whose plan started the solve.
    pub start: Option<String>,
    /// Nodes of the tree.
    pub nodes: u64,
    /// Simplex iterations.
    pub lp_iterations: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// The plan, as `remat-plan/1` or `remat-pipeline/1`.
    pub plan: Option<Value>,
}

impl Record {
    /// A result without a plan.
    pub(crate) fn of(visit: &Visit, status: &str) -> Self {
        Record {
            schema: SCHEMA.into(),
            key: visit.key.clone(),
            instance: visit.facts.instance.clone(),
            budget_bytes: visit.budget_bytes,
            status: status.into(),
            objective: None,
            peak_memory_bytes: None,
            bound: None,
            bound_scope: String::new(),
            because: None,
            settled: false,
            start: None,
            nodes: 0,
            lp_iterations: 0,
            seconds: 0.0,
            plan: None,
        }
    }

    /// The file's text.
    pub fn text(&self) -> String {
        // A record has no map with keys that JSON does not have.
        let mut text = serde_json::to_string(self).unwrap_or_default();
        text.pop();
        let check = checksum(&text);
        text + CHECK + &check + "\"}\n"
    }

    /// Reads a file of the job with this key; `None` for a file that is incomplete, changed or of
    /// another job.
    pub fn read(text: &str, key: &str) -> Option<Self> {
        let (body, rest) = text.rsplit_once(CHECK)?;
        if rest.strip_suffix("\"}\n")? != checksum(body) {
            return None;
        }
        let record: Record = serde_json::from_str(&format!("{body}}}")).ok()?;
        (record.key == key && record.schema == SCHEMA).then_some(record)
    }

    /// The plan on its instance with its replay; `None` if there is none, or it is none.
    pub(crate) fn planned(&self, subject: &Subject) -> Option<(Plan, Replay)> {
        let bytes = serde_json::to_vec(self.plan.as_ref()?).ok()?;
        let file = PlanFile::parse(&self.key, &bytes).ok()?;
        let document = file.plan(&subject.instance).ok()?;
        let replay = simulate::plan(&subject.instance, &document.plan).ok()?;
        Some((document.plan, replay))
    }

    /// Objective and peak of the plan as replayed.
    fn figures(&self, subject: &Subject) -> Option<(u64, u64)> {
        if subject.shape.is_none() {
            return self
                .planned(subject)
                .map(|(_, replay)| (replay.makespan, replay.peak_bytes));
        }
        let bytes = serde_json::to_vec(self.plan.as_ref()?).ok()?;
        let split = Split::of(&subject.instance).ok()?;
        let file = PipelineFile::parse(&self.key, &bytes).ok()?;
        let document = file.pipeline(&split).ok()?;
        let arrangement = Arrangement::new(&split, document.schedule, document.cuts.clone());
        let stages = 0..document.schedule.stages();
        let graphs = stages.map(|stage| arrangement.instance(stage, true));
        let graphs: Vec<_> = graphs.collect::<Result<_, _>>().ok()?;
        let pairs: Vec<_> = graphs
            .iter()
            .zip(document.plans.iter().map(|p| &p.plan))
            .collect();
        let replay = arrangement
            .replay(&document.devices, document.link.as_ref(), &pairs)
            .ok()?;
        Some((
            replay.objective,
            replay.peaks.into_iter().max().unwrap_or(0),
        ))
    }

    /// Returns whether the replay confirms all claims about the plan.
    pub(crate) fn holds(&self, subject: &Subject, visit: &Visit) -> bool {
        let is_of_job = self.budget_bytes == visit.budget_bytes;
        let claims = self.objective.zip(self.peak_memory_bytes);
        if self.plan.is_none() {
            return is_of_job && claims.is_none();
        }
        let fits = self
            .peak_memory_bytes
            .is_some_and(|peak| peak <= self.budget_bytes);
        let is_bound = self
            .bound
            .zip(self.objective)
            .is_some_and(|(bound, cost)| bound <= cost);
        is_of_job && fits && is_bound && claims == self.figures(subject)
    }
}

fn checksum(text: &str) -> String {
    hex(&Sha256::digest(text))
}
