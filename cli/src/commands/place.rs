//! `remat-bb place`

use crate::arguments::PlaceArguments;
use crate::draw::addresses;
use crate::failure::{Exit, Failure};
use crate::files::{self, Files, shown};
use crate::report::{self, ProvenJson, WorkJson, counted};
use crate::{interrupt, source};
use remat_formulations::place::{PlaceOutcome, PlaceSettings, PlaceStatus, place};
use remat_instances::budget::format_bytes;
use remat_instances::place::{Lives, write_placement};
use serde::Serialize;
use std::sync::atomic::Ordering;

/// Places the buffers, writes the files that were asked for, and reports.
///
/// # Errors
/// [`Failure`] for bad input, or files that cannot be written.
pub fn run(arguments: &PlaceArguments) -> Result<Exit, Failure> {
    let files = Files::tried(
        arguments.json,
        &[&arguments.lives],
        &[
            ("--out", arguments.out.as_deref()),
            ("--svg", arguments.svg.as_deref()),
            ("--certificate", arguments.certificate.as_deref()),
        ],
    )?;
    interrupt::catch(
        "ending with the best placement so far; once more to end at once",
        arguments.quiet,
    );
    let lives = source::lives(&arguments.lives)?;
    let capacity = match &arguments.capacity {
        Some(text) => Some(source::budget(text, lives.load().bytes)?),
        None => None,
    };
    let flag = interrupt::flag();
    let outcome = place(
        &lives,
        &PlaceSettings {
            capacity,
            time_limit: arguments.time_limit,
            threads: usize::from(arguments.workers.threads),
            seed: arguments.workers.seed,
            interrupt: Some(flag.clone()),
            ..PlaceSettings::default()
        },
    )
    .map_err(|e| source::memory_failure(e.into()))?;
    let report = PlaceReport {
        file: files::input_name(&arguments.lives),
        lives: &lives,
        arguments,
        outcome: &outcome,
        capacity,
        interrupted: flag.load(Ordering::Relaxed),
    };
    let mut written = Vec::new();
    if let Some(path) = &arguments.out {
        files.write(path, &write_placement(&lives, &outcome.placement))?;
        written.push(format!("placement written to {}", shown(path)));
    }
    if let Some(path) = &arguments.svg {
        let title = format!("{}: addresses over time", report.file);
        files.write(path, &addresses::draw(&lives, &outcome.placement, &title)?)?;
        written.push(format!("picture written to {}", shown(path)));
    }
    if let Some(path) = &arguments.certificate {
        files.write(path, &outcome.certificate.text())?;
        written.push(format!("certificate written to {}", shown(path)));
    }
    files.print(&if arguments.json {
        report.json()
    } else {
        report.summary(&written)
    })?;
    Ok(report.exit())
}

struct PlaceReport<'a> {
    file: String,
    lives: &'a Lives,
    arguments: &'a PlaceArguments,
    outcome: &'a PlaceOutcome,
    capacity: Option<u64>,
    interrupted: bool,
}

impl PlaceReport<'_> {
    /// The status against the capacity: a lowest placement above it fits nothing.
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
        report::json(&PlaceJson {
            proven: ProvenJson::of(
                self.status(),
                (o.height, Some(o.bound)),
                "placements",
                self.capacity,
                (o.seconds, o.nodes),
            ),
            version: report::VERSION,
            lives: &self.file,
            buffers: self.lives.buffers().len(),
            load_bytes: o.load,
            fragmentation_percent: o.fragmentation_percent(),
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
            _ => format!("gap {:.3}%", report::gap(o.height, o.bound) * 100.0),
        };
        line("bound", format!("{} ({gap})", format_bytes(o.bound)));
        line("load", format_bytes(o.load));
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

#[derive(Serialize)]
struct PlaceJson<'a> {
    #[serde(flatten)]
    proven: ProvenJson,
    version: &'static str,
    lives: &'a str,
    buffers: usize,
    load_bytes: u64,
    fragmentation_percent: f64,
    #[serde(flatten)]
    work: WorkJson,
}
