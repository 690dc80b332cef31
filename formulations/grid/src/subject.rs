//! Subjects: instances as the jobs of a row solve them.

use crate::axes::{Axis, AxisKind};
use crate::error::GridError;
use crate::grid::{Grid, is_off};
use remat_formulations::AnyFormulation;
use remat_formulations::options::{OptionError, SolveOptions};
use remat_formulations::solve::AnySolvable;
use remat_instances::Budget;
use remat_instances::instance::Instance;
use remat_instances::pipeline::schedule::{Schedule, ScheduleKind};
use remat_instances::pipeline::split::Split;
use remat_instances::zoo::{self, ModelSpec};
use remat_pipeline::{Devices, Pipeline};
use remat_search::Solvable;
use std::collections::BTreeMap;

/// Gap at which a pipeline counts as optimal unless the grid names one.
const PIPELINE_GAP: f64 = 1e-3;

/// Instances that are at hand, by their text in the grid: files, gzipped or not.
pub type Sources = BTreeMap<String, Vec<u8>>;

/// A pipeline's form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub schedule: Schedule,
}

/// An instance with the options of its jobs.
pub(crate) struct Subject {
    /// The instance, with link and micro-batches in flight.
    pub instance: Instance,
    /// Options of the jobs.
    pub options: SolveOptions,
    /// The program; `None` for a pipeline.
    pub solvable: Option<AnySolvable>,
    /// The pipeline's form.
    pub shape: Option<Shape>,
    /// Facts for keys and tables.
    pub facts: Facts,
}

/// Facts about a subject that keys and tables need.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Name of the instance.
    pub instance: String,
    /// Its fingerprint.
    pub digest: String,
    /// Options that determine results, as text.
    pub options: String,
    /// The pipeline's form, as text; empty for one device.
    pub shape: String,
    /// Peak memory without recomputation in bytes.
    pub plain_peak_bytes: u64,
    /// Cost without recomputation.
    pub base_cost: u64,
    /// Unit of costs.
    pub cost_unit: String,
    /// Relative gap at which a result counts as optimal.
    pub gap: f64,
    /// Micro-batches in flight.
    pub in_flight: u32,
    /// True if plans may copy to the host.
    pub is_linked: bool,
}

impl Grid {
    /// The instance of a job, without the options of its solve.
    ///
    /// # Errors
    /// [`GridError`] for an instance that cannot be read or built.
    pub fn job_instance(&self, sources: &Sources, job: usize) -> Result<Instance, GridError> {
        let (values, _) = self.values(job);
        let given: Vec<(&Axis, &str)> = self.axes.iter().zip(values).collect();
        self.instance(sources, &given)
    }

    /// The subject of a job.
    pub(crate) fn subject(&self, sources: &Sources, job: usize) -> Result<Subject, GridError> {
        let (values, _) = self.values(job);
        let given: Vec<(&Axis, &str)> = self.axes.iter().zip(values).collect();
        let instance = self.instance(sources, &given)?;
        let mut options = self.settings.clone();
        for (axis, text) in &given {
            if let AxisKind::Option(option) = axis.kind
                && !is_off(axis, text)
            {
                let read = option.set(&mut options, text);
                read.map_err(|e| {
                    GridError::key(&self.file, axis.column, e, "see `remat-bb solve --help`")
                })?;
            }
        }
        let number = |column: &str| {
            let found = given.iter().find(|(axis, _)| axis.column == column);
            found.and_then(|(_, text)| text.parse::<u32>().ok())
        };
        let wrong = |problem: String, remedy: String| GridError {
            file: self.file.clone(),
            key: Some(self.words(job)),
            problem,
            remedy,
        };
        if let (Some(stages), Some(count)) = (number("stages"), number("microbatches")) {
            let kind = given.iter().find(|(axis, _)| axis.column == "schedule");
            let kind = kind.and_then(|(_, text)| text.parse().ok());
            let kind = kind.unwrap_or(ScheduleKind::OneForwardOneBackward);
            let schedule = Schedule::new(kind, stages, count);
            let schedule = schedule.map_err(|e| wrong(e.problem.clone(), e.remedy.clone()))?;
            return self.pipeline(instance, options, Shape { schedule }, &wrong);
        }
        let of_option = |e: OptionError| wrong(e.to_string(), "see `remat-bb solve --help`".into());
        let has_link_axis = given.iter().any(|(axis, _)| axis.column == "offload");
        if has_link_axis && options.offload.is_none() {
            without_link(&mut options);
        }
        options.check().map_err(of_option)?;
        if options.in_flight == Some(1) && instance.in_flight() > 1 {
            let problem = format!(
                "the instance has {} micro-batches in flight",
                instance.in_flight()
            );
            return Err(wrong(problem, "take in_flight out of the instance".into()));
        }
        let linked = options.linked(&instance).map_err(|e| of_option(e.into()))?;
        let formulation = options.suiting(linked.as_ref().unwrap_or(&instance));
        let formulation = formulation.map_err(|e| of_option(e.into()))?;
        check_together(&formulation, &options)
            .map_err(|(problem, remedy)| wrong(problem, remedy))?;
        let solvable = AnySolvable::of(formulation, options.copies());
        let solvable = match options.reorder {
            true => solvable.reordered(),
            false => solvable,
        };
        let plain = solvable.plain();
        let plain = plain.map_err(|e| wrong(e.to_string(), "give a valid instance".into()))?;
        let instance = (**solvable.instance()).clone();
        let facts = Facts {
            instance: instance.name().to_string(),
            digest: instance.digest(),
            options: text_of(&options),
            shape: String::new(),
            plain_peak_bytes: plain.peak_bytes,
            base_cost: plain.base_cost,
            cost_unit: instance.cost_unit().name.to_string(),
            gap: options.settings().gap,
            in_flight: instance.in_flight(),
            is_linked: solvable.is_linked(),
        };
        Ok(Subject {
            instance,
            options,
            solvable: Some(solvable),
            shape: None,
            facts,
        })
    }

    fn pipeline(
        &self,
        instance: Instance,
        options: SolveOptions,
        shape: Shape,
        wrong: &dyn Fn(String, String) -> GridError,
    ) -> Result<Subject, GridError> {
        let split = Split::of(&instance);
        let one = "give a training graph of one micro-batch";
        let split = split.map_err(|e| wrong(e.to_string(), one.into()))?;
        let fewer = "give fewer stages, or another schedule";
        let full = self.pipeline_of(&split, shape, Budget::Percent(100.0));
        let full = full.map_err(|e| wrong(e, fewer.into()))?;
        let peak_bytes = full
            .devices()
            .first()
            .map_or(0, |device| device.budget_bytes);
        let facts = Facts {
            instance: instance.name().to_string(),
            digest: instance.digest(),
            options: text_of(&options),
            shape: format!("{:?} {:?} {:?}", shape.schedule, self.link, self.speed),
            plain_peak_bytes: peak_bytes,
            base_cost: instance.base_cost(),
            cost_unit: instance.cost_unit().name.to_string(),
            gap: options.gap.unwrap_or(PIPELINE_GAP),
            in_flight: 1,
            is_linked: false,
        };
        Ok(Subject {
            instance,
            options,
            solvable: None,
            shape: Some(shape),
            facts,
        })
    }

    /// The pipeline of a graph with a budget of each device.
    pub(crate) fn pipeline_of<'s, 'a>(
        &self,
        split: &'s Split<'a>,
        shape: Shape,
        budget: Budget,
    ) -> Result<Pipeline<'s, 'a>, String> {
        let count = shape.schedule.devices();
        let devices = match &self.speed {
            None => Devices::equal(count, budget),
            Some(speeds) => {
                let budget = match budget {
                    Budget::Bytes(bytes) => bytes.to_string(),
                    Budget::Percent(percent) => format!("{percent}%"),
                };
                Devices::parse(count, &budget, Some(speeds)).map_err(|e| e.to_string())?
            }
        };
        let made = Pipeline::new(split, shape.schedule, &devices);
        Ok(made.map_err(|e| e.to_string())?.link(self.link.clone()))
    }

    /// The instance of a model with its parameters.
    fn instance(&self, sources: &Sources, given: &[(&Axis, &str)]) -> Result<Instance, GridError> {
        let model = given
            .iter()
            .find(|(axis, _)| matches!(axis.kind, AxisKind::Model));
        let text = model.map_or("", |(_, text)| text);
        let mut parameters = given
            .iter()
            .filter(|(axis, _)| matches!(axis.kind, AxisKind::Parameter));
        let wrong = |problem: String, remedy: &str| {
            GridError::key(&self.file, "models", format!("{text}: {problem}"), remedy)
        };
        if !text.starts_with("zoo:") {
            if let Some((axis, _)) = parameters.next() {
                let remedy = format!(
                    "leave out the axis, or give models zoo:... that have a {}",
                    axis.column
                );
                return Err(wrong(
                    format!("a file has one {} only", axis.column),
                    &remedy,
                ));
            }
            let bytes = match sources.get(text) {
                Some(bytes) => bytes.clone(),
                None => self.load(text)?,
            };
            let read = remat_instances::read_bytes(text, &bytes);
            return read.map_err(|e| wrong(e.to_string(), "name an instance file, or zoo:MODEL"));
        }
        let remedy = "`remat-bb zoo list` shows all models and their parameters";
        let spec: Result<ModelSpec, _> = text.parse();
        let spec = parameters.try_fold(
            spec.map_err(|e| wrong(e.to_string(), remedy))?,
            |spec, (axis, value)| {
                let key = if axis.column == "batch" {
                    "batches"
                } else {
                    "devices"
                };
                spec.with(axis.column, value)
                    .map_err(|e| GridError::key(&self.file, key, format!("{text}: {e}"), remedy))
            },
        )?;
        zoo::build(&spec).map_err(|e| wrong(e.to_string(), remedy))
    }

    /// The bytes of an instance file.
    fn load(&self, text: &str) -> Result<Vec<u8>, GridError> {
        let path = self.folder.join(text);
        std::fs::read(&path).map_err(|e| {
            let near = text.parse::<ModelSpec>().is_ok();
            let remedy = match near {
                true => format!("did you mean zoo:{text}?"),
                false => "name an instance file relative to the grid file, or zoo:MODEL".into(),
            };
            GridError::key(
                &self.file,
                "models",
                format!("{}: {e}", path.display()),
                remedy,
            )
        })
    }

    /// The instance files of all models.
    ///
    /// # Errors
    /// [`GridError`] for a file that cannot be read.
    pub fn sources(&self) -> Result<Sources, GridError> {
        let files = self
            .models()
            .iter()
            .filter(|text| !text.starts_with("zoo:"));
        files
            .map(|text| Ok((text.clone(), self.load(text)?)))
            .collect()
    }
}

/// Options that determine the answer, as text; the number of threads does not.
fn text_of(options: &SolveOptions) -> String {
    let options = SolveOptions {
        threads: 0,
        ..options.clone()
    };
    format!("{options:?}")
}

/// Takes the options of a link away.
fn without_link(options: &mut SolveOptions) {
    let none = SolveOptions::default();
    options.host_memory = none.host_memory;
    options.link_latency = none.link_latency;
    options.duplex = none.duplex;
    options.offload_phase = none.offload_phase;
}

/// Checks that the requests for a formulation go together.
fn check_together(
    formulation: &AnyFormulation,
    options: &SolveOptions,
) -> Result<(), (String, String)> {
    let instance = formulation.instance();
    let others = [
        (options.offload.is_some(), "offload"),
        (options.reorder, "reorder"),
        (options.plan_class.is_some(), "plan_class"),
    ];
    let found = |from: usize| {
        others[from..]
            .iter()
            .find(|other| other.0)
            .map(|other| other.1)
    };
    let refused = match (instance.in_flight() > 1, options.plan_class.is_some()) {
        (true, _) => found(0).map(|second| ("in_flight above 1", second)),
        (false, true) => others[..2]
            .iter()
            .find(|other| other.0)
            .map(|other| ("plan_class", other.1)),
        (false, false) if instance.is_sharded() => {
            found(1).map(|second| ("sharded weights", second))
        }
        _ => None,
    };
    match refused {
        None => Ok(()),
        Some((first, second)) => Err((
            format!("{first} with {second}: they do not go together"),
            format!(
                "leave out one of them, or make two grids; offload = [\"{}\"] is a job without a link",
                crate::axes::OFF
            ),
        )),
    }
}
