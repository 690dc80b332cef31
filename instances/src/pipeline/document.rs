//! Plan files of pipelines: `remat-pipeline/1` JSON. The schema is
//! `instances/schema/remat-pipeline-1.schema.json`.

use super::arrangement::{Arrangement, Device};
use super::schedule::Schedule;
use super::split::Split;
use crate::document::{self, Document, Failure, FaultKind, ReadError, Spanned, Unread, missing};
use crate::instance::{HostLink, Instance};
use crate::plan::{PlanDocument, PlanFile};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the schema.
pub const SCHEMA: &str = "remat-pipeline/1";

/// A device in a file.
#[derive(Deserialize, Serialize)]
#[serde(
    deny_unknown_fields,
    rename = "a device: an object with `budget_bytes`"
)]
struct DeviceText {
    budget_bytes: u64,
    /// Speed in thousandths.
    #[serde(skip_serializing_if = "Option::is_none")]
    speed: Option<u32>,
}

/// A stage in a file: the node at its begin, and its plan.
#[derive(Deserialize)]
#[serde(
    deny_unknown_fields,
    rename = "a stage: an object with `begin` and `plan`"
)]
struct StageText<'d> {
    #[serde(borrow)]
    begin: Spanned<&'d str>,
    #[serde(rename(deserialize = "plan: a plan (remat-plan/1)"))]
    plan: Unread,
}

/// The fields of a file before its stages.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename = "a pipeline: an object with `stages`")]
struct PipelineText<'d, S> {
    schema: &'d str,
    instance: Spanned<&'d str>,
    #[serde(rename(deserialize = "schedule: gpipe, 1f1b or interleaved:V"))]
    schedule: Spanned<&'d str>,
    microbatches: Spanned<u32>,
    devices: Vec<DeviceText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<HostLink>,
    objective: u64,
    makespan: u64,
    stages: Vec<S>,
}

/// A pipeline with the plan of each stage and the claims of its maker.
#[derive(Clone, Debug, PartialEq)]
pub struct PipelineDocument {
    /// The schedule.
    pub schedule: Schedule,
    /// The devices.
    pub devices: Vec<Device>,
    /// The link between devices; without one, sends take no time.
    pub link: Option<HostLink>,
    /// Positions of the cuts.
    pub cuts: Vec<u32>,
    /// Plan of each stage.
    pub plans: Vec<PlanDocument>,
    /// The published objective, in units of cost.
    pub objective: u64,
    /// Time of the schedule as replayed, in units of cost.
    pub makespan: u64,
}

/// A file of a pipeline, parsed.
#[derive(Debug)]
pub struct PipelineFile {
    name: String,
    document: Document,
}

impl PipelineFile {
    /// Opens a file, JSON or gzipped JSON.
    ///
    /// # Errors
    /// [`ReadError`] if it is not a pipeline.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::parse(&path.display().to_string(), &document::load(path)?)
    }

    /// Parses the bytes of a file; errors name it `name`.
    ///
    /// # Errors
    /// The errors of [`PipelineFile::open`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let document = Document::parse(name, bytes)?;
        let problem = "this file is not a pipeline, or one of another version";
        let header = document.read_as::<PipelineText<'_, Unread>>(SCHEMA, problem);
        header.map_err(|e| document.error(e))?;
        Ok(PipelineFile {
            name: name.into(),
            document,
        })
    }

    /// Reads the pipeline of a graph. Each stage's plan is read for the graph of the stage.
    ///
    /// # Errors
    /// [`ReadError`] for a pipeline of another graph, for positions where no cut can be, and for
    /// the first plan that does not belong to its stage.
    pub fn pipeline(&self, split: &Split<'_>) -> Result<PipelineDocument, ReadError> {
        let fail = |e| self.document.error(e);
        let (mut found, stages) = self.header(split).map_err(fail)?;
        for (stage, text) in stages.iter().enumerate() {
            let graph = self.stage_graph(split, &found, stage).map_err(fail)?;
            let own = self.document.text_at(text.plan.span);
            let name = format!("{}, plan of stage {stage}", self.name);
            found
                .plans
                .push(PlanFile::parse(&name, own.as_bytes())?.plan(&graph)?);
        }
        Ok(found)
    }

    fn stage_graph(
        &self,
        split: &Split<'_>,
        found: &PipelineDocument,
        stage: usize,
    ) -> Result<Instance, Failure> {
        let arrangement = Arrangement::new(split, found.schedule, found.cuts.clone());
        let graph = arrangement.instance(stage, true);
        graph.map_err(|e| FaultKind::Value.fail(self.document.root(), e.problem, e.remedy))
    }

    /// Everything but the plans.
    fn header(&self, split: &Split<'_>) -> Result<(PipelineDocument, Vec<StageText<'_>>), Failure> {
        let text: PipelineText<'_, StageText<'_>> = self.document.read()?;
        let name = split.instance().name();
        if *text.instance != name.as_str() {
            let problem = "the pipeline was made for another instance";
            let remedy = format!("the instance at hand is {name:?}");
            return Err(FaultKind::Value.fail(text.instance.span, problem, remedy));
        }
        let kind = text.schedule.parse().map_err(|e| {
            let remedy = "give gpipe, 1f1b or interleaved:V";
            FaultKind::Value.fail(text.schedule.span, format!("{e}"), remedy)
        });
        let devices = u32::try_from(text.devices.len()).unwrap_or(u32::MAX);
        let schedule = Schedule::new(kind?, devices, *text.microbatches);
        let schedule = schedule
            .map_err(|e| FaultKind::Value.fail(text.microbatches.span, e.problem, e.remedy))?;
        if text.stages.len() != schedule.stages() {
            let lacks = format!("one of {} stages", schedule.stages());
            return Err(missing(self.document.root(), "stages", &lacks));
        }
        let mut cuts: Vec<u32> = Vec::new();
        for (k, stage) in text.stages.iter().enumerate() {
            let at = split.position_before(&stage.begin);
            let wrong = |problem: &str, remedy: &str| {
                Err(FaultKind::Value.fail(stage.begin.span, problem, remedy))
            };
            match at {
                None => return wrong("no forward node has this name", "name a forward node"),
                Some(0) if k == 0 => {}
                Some(_) if k == 0 => {
                    return wrong("the first stage begins elsewhere", "name the first node");
                }
                Some(at) if split.crossing(at).is_none() => {
                    return wrong("no stage can begin here", "name another node");
                }
                Some(at) if cuts.last().is_some_and(|last| *last >= at) => {
                    return wrong("stages are not in the order of their nodes", "sort them");
                }
                Some(at) => cuts.push(at),
            }
        }
        let device = |text: &DeviceText| match text.speed {
            Some(0) => Err(missing(self.document.root(), "speed", "a speed above 0")),
            speed => Ok(Device {
                budget_bytes: text.budget_bytes,
                speed: speed.unwrap_or(Device::PLAIN_SPEED),
            }),
        };
        let found = PipelineDocument {
            schedule,
            devices: text.devices.iter().map(device).collect::<Result<_, _>>()?,
            link: text.link,
            cuts,
            plans: Vec::new(),
            objective: text.objective,
            makespan: text.makespan,
        };
        Ok((found, text.stages))
    }
}

impl PipelineDocument {
    /// Writes the pipeline of a graph.
    ///
    /// # Errors
    /// [`StructureError`](crate::instance::StructureError) for stages beyond the sizes of an
    /// instance.
    pub fn write(&self, split: &Split<'_>) -> Result<String, crate::instance::StructureError> {
        let arrangement = Arrangement::new(split, self.schedule, self.cuts.clone());
        let kind = self.schedule.kind().to_string();
        let text = PipelineText::<()> {
            schema: SCHEMA,
            instance: split.instance().name().as_str().into(),
            schedule: kind.as_str().into(),
            microbatches: self.schedule.microbatches().into(),
            devices: self
                .devices
                .iter()
                .map(|device| DeviceText {
                    budget_bytes: device.budget_bytes,
                    speed: (device.speed != Device::PLAIN_SPEED).then_some(device.speed),
                })
                .collect(),
            link: self.link.clone(),
            objective: self.objective,
            makespan: self.makespan,
            stages: Vec::new(),
        };
        let head = document::Lines::new(2, true).write(&text);
        let list = head.rfind('[').unwrap_or(head.len());
        let mut written = format!("{}[", &head[..list]);
        for (stage, plan) in self.plans.iter().enumerate() {
            let first = arrangement.range(stage).start as usize;
            let name = split.instance().nodes()[first].name.as_str();
            let begin = serde_json::Value::from(name);
            let plan = plan.write(&arrangement.instance(stage, true)?);
            let comma = if stage == 0 { "" } else { "," };
            written += &format!(
                "{comma}\n{{\"begin\": {begin}, \"plan\": {}}}",
                plan.trim_end()
            );
        }
        written.push_str("\n]}\n");
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::ScheduleKind;
    use super::*;
    use crate::schedule::CheckmateSchedule;
    use crate::{simulate, zoo};

    #[test]
    fn files_round_trip_and_replay_as_written() {
        let instance = zoo::build(&"zoo:llama?layers=4".parse().unwrap()).unwrap();
        let split = Split::of(&instance).unwrap();
        let schedule = Schedule::new(ScheduleKind::OneForwardOneBackward, 2, 4).unwrap();
        let cut = split.position_before("layers.2.input_norm").unwrap();
        let arrangement = Arrangement::new(&split, schedule, vec![cut]);
        let graphs = [0, 1].map(|stage| arrangement.instance(stage, true).unwrap());
        let plans = graphs.each_ref().map(|graph| {
            let all = CheckmateSchedule::checkpoint_all(graph);
            let plan = crate::plan::Plan::from_checkmate(graph, &all).unwrap();
            let replay = simulate::plan(graph, &plan).unwrap();
            PlanDocument::of(graph, plan, &replay, Some(replay.peak_bytes))
        });
        let devices = vec![
            Device {
                budget_bytes: 1 << 40,
                speed: Device::PLAIN_SPEED,
            };
            2
        ];
        let pairs = [0, 1].map(|k| (&graphs[k], &plans[k].plan));
        let replay = arrangement.replay(&devices, None, &pairs).unwrap();
        assert_eq!(replay.times.iter().sum::<u64>(), instance.base_cost());
        for (device, plan) in plans.iter().enumerate() {
            assert_eq!(replay.peaks[device], plan.peak_bytes);
        }
        assert!(replay.timeline.makespan <= replay.objective + replay.times[0]);
        let written = PipelineDocument {
            schedule,
            devices,
            link: None,
            cuts: vec![cut],
            plans: plans.to_vec(),
            objective: replay.objective,
            makespan: replay.timeline.makespan,
        };
        let text = written.write(&split).unwrap();
        let file = PipelineFile::parse("two.json", text.as_bytes()).unwrap();
        assert_eq!(file.pipeline(&split).unwrap(), written);
        let wrong = text.replacen("layers.2.input_norm", "layers.9.input_norm", 1);
        let file = PipelineFile::parse("two.json", wrong.as_bytes()).unwrap();
        let error = file.pipeline(&split).unwrap_err().to_string();
        assert!(error.contains("no forward node"), "{error}");
        has_the_fields_of_the_schema(&split, written);
    }

    /// A file with all its fields has those of the schema.
    fn has_the_fields_of_the_schema(split: &Split<'_>, mut file: PipelineDocument) {
        file.link = Some(HostLink::new(1, 2));
        file.devices[0].speed = 500;
        let text = file.write(split).unwrap();
        let parsed = PipelineFile::parse("all.json", text.as_bytes()).unwrap();
        assert_eq!(parsed.pipeline(split).unwrap(), file);
        let schema = include_str!("../../schema/remat-pipeline-1.schema.json");
        let [schema, text] = [schema, &text].map(|text| {
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            value
        });
        let keys = |value: &serde_json::Value| -> Vec<String> {
            let mut keys: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
            keys.sort();
            keys
        };
        let of = |name: &str| keys(&schema["$defs"][name]["properties"]);
        assert_eq!(keys(&schema["properties"]), keys(&text));
        assert_eq!(of("device"), keys(&text["devices"][0]));
        assert_eq!(of("stage"), keys(&text["stages"][0]));
    }
}
