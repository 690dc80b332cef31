//! `remat-bb place`

use crate::arguments::PlaceArguments;
use crate::failure::{Exit, Failure};
use crate::files::{self, Files};
use crate::progress::Activity;
use crate::visible::shown;
use crate::{interrupt, source};
use remat_instances::budget::format_bytes;
use remat_instances::place::{BoundCertificate, Lives, Placement, write_lives, write_placement};
use remat_instances::plan::{PlanAddresses, PlanDocument};
use remat_instances::replayed::Replayed;
use remat_instances::simulate::{self, PlanLives, Replay};
use remat_memory::place::{PlaceOutcome, PlaceSettings, PlaceStatus, place, place_plan};
use remat_report::draw::addresses;
use remat_report::results::{Arena, ProvenJson, VERSION, WorkJson};
use remat_report::{counted, results};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Places the buffers, writes the requested files, and reports.
///
/// # Errors
/// [`Failure`] for bad input, or files that cannot be written.
pub fn run(arguments: &PlaceArguments) -> Result<Exit, Failure> {
    let plan = arguments.plan.as_deref();
    let inputs: Vec<&Path> = plan
        .into_iter()
        .chain([arguments.lives.as_path()])
        .collect();
    let files = Files::tried(
        arguments.json,
        &inputs,
        &[
            ("--out", arguments.out.as_deref()),
            ("--lives-out", arguments.lives_out.as_deref()),
            ("--svg", arguments.svg.as_deref()),
            ("--certificate", arguments.certificate.as_deref()),
        ],
    )?;
    interrupt::catch(
        "ending with the best placement so far; once more to end at once",
        arguments.quiet,
    );
    let planned = plan
        .map(|plan| Planned::load(arguments, plan))
        .transpose()?;
    let lives = match &planned {
        Some(planned) => planned.buffers()?,
        None => source::lives(&arguments.lives)?,
    };
    let capacity = match &arguments.capacity {
        Some(text) => Some(source::budget(text, lives.load().bytes)?),
        None => None,
    };
    let activity = Activity::begin("searching addresses", arguments.quiet);
    let flag = interrupt::flag();
    let settings = PlaceSettings {
        capacity,
        time_limit: arguments.time_limit,
        threads: arguments.workers.threads,
        seed: arguments.workers.seed,
        interrupt: Some(flag.clone()),
        ..PlaceSettings::default()
    };
    let outcome = match &planned {
        Some(planned) => planned.place(&settings)?,
        None => Placed::of(place(&lives, &settings).map_err(|e| source::memory_failure(e.into()))?),
    };
    drop(activity);
    let report = PlaceReport {
        file: files::input_name(plan.unwrap_or(&arguments.lives)),
        planned: planned.as_ref(),
        lives: &lives,
        arguments,
        outcome: &outcome,
        capacity,
        interrupted: flag.load(Ordering::Relaxed),
    };
    let mut written = Vec::new();
    if let Some(path) = &arguments.out {
        let text = match &planned {
            Some(planned) => planned.with_addresses(&outcome.placement),
            None => write_placement(&lives, &outcome.placement),
        };
        files.write(path, &text)?;
        written.push(format!("placement written to {}", shown(path)));
    }
    if let Some(path) = &arguments.lives_out {
        files.write(path, &write_lives(&lives))?;
        written.push(format!("lives written to {}", shown(path)));
    }
    if let Some(path) = &arguments.svg {
        let title = format!("{}: addresses over time", report.file);
        files.write(path, &addresses::draw(&lives, &outcome.placement, &title)?)?;
        written.push(format!("picture written to {}", shown(path)));
    }
    if let (Some(path), Some(certificate)) = (&arguments.certificate, &outcome.certificate) {
        files.write(path, &certificate.text())?;
        written.push(format!("certificate written to {}", shown(path)));
    }
    files.print(&if arguments.json {
        report.json()
    } else {
        report.summary(&written)
    })?;
    Ok(report.exit())
}

/// A plan to place.
struct Planned {
    found: Replayed,
    /// The replay of the plan; the replay of a schedule counts otherwise.
    replay: Replay,
    lives: PlanLives,
    alignment_bytes: u64,
}

impl Planned {
    fn load(arguments: &PlaceArguments, plan: &Path) -> Result<Self, Failure> {
        let found = source::executed(&arguments.lives, plan)?;
        let failed = |e| source::replay_failure(&files::input_name(plan), e);
        let replay = simulate::plan(&found.instance, &found.plan).map_err(failed)?;
        let lives = PlanLives::of(&found.instance, &found.plan).map_err(failed)?;
        let suggested = || lives.suggested_alignment(found.budget_bytes);
        Ok(Planned {
            alignment_bytes: arguments.alignment.unwrap_or_else(suggested),
            found,
            replay,
            lives,
        })
    }

    fn buffers(&self) -> Result<Lives, Failure> {
        let buffers = self
            .lives
            .buffers(&self.found.instance, self.alignment_bytes);
        buffers.map_err(|e| source::memory_failure(e.into()))
    }

    fn place(&self, settings: &PlaceSettings) -> Result<Placed, Failure> {
        let (instance, plan) = (&self.found.instance, &self.found.plan);
        let placed = place_plan(instance, plan, Some(self.alignment_bytes), None, settings);
        let placed = placed.map_err(|e| Failure::Usage {
            problem: e.to_string(),
            remedy: "give a plan whose sizes add up to less".into(),
        })?;
        Ok(Placed {
            status: placed.status,
            height: placed.arena_bytes(),
            bound: placed.bound_bytes,
            load: placed.load_bytes,
            nodes: placed.nodes,
            seconds: placed.seconds,
            placement: placed.addresses.placement(),
            certificate: None,
        })
    }

    /// The plan's file with the addresses of a placement.
    fn with_addresses(&self, placement: &Placement) -> String {
        let addresses = PlanAddresses::new(&self.lives, self.alignment_bytes, placement);
        let (found, plan) = (&self.found, self.found.plan.clone());
        let document = PlanDocument {
            addresses: Some(addresses),
            ..PlanDocument::of(&found.instance, plan, &self.replay, found.budget_bytes)
        };
        document.write(&self.found.instance)
    }

    fn arena(&self, placed: &Placed) -> Arena {
        Arena {
            bytes: placed.height,
            bound_bytes: placed.bound,
            peak_bytes: self.replay.peak_bytes,
            alignment_bytes: self.alignment_bytes,
        }
    }
}

/// Buffers of a table or a plan, placed: sizes in bytes.
struct Placed {
    status: PlaceStatus,
    height: u64,
    bound: u64,
    load: u64,
    nodes: u64,
    seconds: f64,
    placement: Placement,
    certificate: Option<BoundCertificate>,
}

impl Placed {
    fn of(outcome: PlaceOutcome) -> Self {
        Placed {
            status: outcome.status,
            height: outcome.height,
            bound: outcome.bound,
            load: outcome.load,
            nodes: outcome.nodes,
            seconds: outcome.seconds,
            placement: outcome.placement,
            certificate: Some(outcome.certificate),
        }
    }

    /// Height above the load, in percent of the load.
    fn fragmentation_percent(&self) -> f64 {
        match self.load {
            0 => 0.0,
            load => (self.height as f64 / load as f64 - 1.0) * 100.0,
        }
    }
}

struct PlaceReport<'a> {
    file: String,
    planned: Option<&'a Planned>,
    lives: &'a Lives,
    arguments: &'a PlaceArguments,
    outcome: &'a Placed,
    capacity: Option<u64>,
    interrupted: bool,
}

impl PlaceReport<'_> {
    /// The status against the capacity: infeasible if even the lowest placement is above it.
    fn placed(&self) -> PlaceStatus {
        match (self.outcome.status, self.capacity) {
            (PlaceStatus::Optimal, Some(capacity)) if self.outcome.height > capacity => {
                PlaceStatus::Infeasible
            }
            (status, _) => status,
        }
    }

    fn status(&self) -> &'static str {
        match self.placed() {
            PlaceStatus::Optimal => "optimal",
            PlaceStatus::Infeasible => "infeasible",
            PlaceStatus::Fits => "feasible",
            PlaceStatus::Feasible | PlaceStatus::Undecided if self.interrupted => "interrupted",
            PlaceStatus::Feasible => "feasible",
            PlaceStatus::Undecided => "limit",
        }
    }

    fn exit(&self) -> Exit {
        match self.placed() {
            PlaceStatus::Infeasible => Exit::Infeasible,
            PlaceStatus::Undecided => Exit::NoPlan,
            _ => Exit::Done,
        }
    }

    fn json(&self) -> String {
        let o = self.outcome;
        results::json(&PlaceJson {
            proven: ProvenJson::of(
                self.status(),
                (o.height, Some(o.bound)),
                "placements",
                self.capacity,
                (o.seconds, o.nodes),
            ),
            version: VERSION,
            lives: &self.file,
            buffers: self.lives.buffers().len(),
            load_bytes: o.load,
            fragmentation_percent: o.fragmentation_percent(),
            instance: self.planned.map(|p| p.found.instance.name().as_str()),
            plan_peak_bytes: self.planned.map(|p| p.replay.peak_bytes),
            alignment_bytes: self.planned.map(|p| p.alignment_bytes),
            work: WorkJson::of(self.arguments.time_limit, &self.arguments.workers),
        })
    }

    fn summary(&self, written: &[String]) -> String {
        let o = self.outcome;
        let buffers = counted(self.lives.buffers().len() as u64, "buffer");
        let mut text = format!("{}: {buffers}, {}\n\n", self.file, self.status());
        let mut line = |name: &str, value: String| text += &format!("  {name:<10}{value}\n");
        line(
            "height",
            format!(
                "{} ({} bytes), {:.3}% above the load",
                format_bytes(o.height),
                o.height,
                o.fragmentation_percent()
            ),
        );
        let gap = match o.height.saturating_sub(o.bound) {
            0 => "no placement is lower".into(),
            _ => format!(
                "gap {:.3}%",
                remat_search::relative_gap(o.height, o.bound) * 100.0
            ),
        };
        line("bound", format!("{} ({gap})", format_bytes(o.bound)));
        line("load", format_bytes(o.load));
        if let Some(planned) = self.planned {
            let budget = planned.found.budget_bytes;
            line("arena", planned.arena(o).words(budget));
        }
        if let Some(capacity) = self.capacity {
            let words = match self.placed() {
                PlaceStatus::Infeasible => "nothing fits",
                PlaceStatus::Undecided => "not met",
                _ => "kept",
            };
            line("capacity", format!("{}: {words}", format_bytes(capacity)));
        }
        line("time", format!("{:.2} s, {} nodes", o.seconds, o.nodes));
        for file in written {
            text += &format!("\n{file}\n");
        }
        text
    }
}

/// The object of `remat-bb place --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct PlaceJson<'a> {
    #[serde(flatten)]
    proven: ProvenJson,
    /// Version of this program.
    version: &'static str,
    /// File of the lives, or of the plan.
    lives: &'a str,
    /// Number of buffers.
    buffers: usize,
    /// Largest sum of sizes at one moment, in bytes.
    load_bytes: u64,
    /// Height above the load, in percent of the load.
    fragmentation_percent: f64,
    /// Name of the plan's instance; null without a plan.
    instance: Option<&'a str>,
    /// Peak memory of the plan in bytes; null without a plan.
    plan_peak_bytes: Option<u64>,
    /// Divisor of all offsets of the plan in bytes; null without a plan.
    alignment_bytes: Option<u64>,
    #[serde(flatten)]
    work: WorkJson,
}
