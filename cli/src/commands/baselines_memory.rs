//! `remat-bb baselines` of orders and of placements.

use crate::arguments::BaselinesArguments;
use crate::failure::{Exit, Failure};
use crate::source::{self, MemorySubject};
use crate::{files, interrupt};
use remat_formulations::solve::Baselines;
use remat_instances::budget::format_bytes;
use remat_instances::name::Name;
use remat_instances::order::Variant;
use remat_memory::order::{OrderBaselines, OrderSearch, OrderSettings};
use remat_memory::place::{PlaceBaseline, PlaceSettings, place};
use remat_report::results::{VERSION, WorkJson};
use remat_report::{Table, results};
use schemars::JsonSchema;
use serde::Serialize;

/// Compares the rules for the order of a graph, or the known ways to place buffers; `None` for an
/// instance, whose baselines recompute.
///
/// # Errors
/// [`Failure`] for bad input.
pub fn run(arguments: &BaselinesArguments) -> Result<Option<Exit>, Failure> {
    let Some(subject) = source::memory_subject(&arguments.instance)? else {
        return Ok(None);
    };
    let unfit = [
        ("--svg", arguments.svg.is_some()),
        ("--csv", arguments.csv.is_some()),
        ("--plans", arguments.plans.plans.is_some()),
        ("--formulation", arguments.options.formulation.is_some()),
        ("--offload", arguments.options.offload.is_some()),
    ];
    if let Some((name, _)) = unfit.iter().find(|(_, given)| *given) {
        return Err(Failure::Usage {
            problem: format!("{name} is for the heuristics that recompute"),
            remedy: format!("leave {name} out, or name an instance"),
        });
    }
    let found = match subject {
        MemorySubject::Graph => orders(arguments)?,
        MemorySubject::Lives => placements(arguments)?,
    };
    files::print(&match arguments.json {
        true => found.json(arguments),
        false => found.table(),
    })?;
    Ok(Some(found.exit()))
}

/// Bytes of a strategy, or the reason why it has no result.
struct NeededBytes {
    name: &'static str,
    bytes: Result<u64, String>,
}

struct Compared {
    kind: &'static str,
    /// Title of the column of bytes.
    measure: &'static str,
    name: Name,
    sha256: Option<String>,
    variant: Option<Variant>,
    ways: Vec<NeededBytes>,
    bound_bytes: u64,
    budget_bytes: Option<u64>,
}

fn orders(arguments: &BaselinesArguments) -> Result<Compared, Failure> {
    let graph = source::order_graph(&arguments.instance)?;
    let variant = arguments.variant;
    let known = OrderBaselines::of(&graph, variant).map_err(source::order_failure)?;
    let mut ways: Vec<NeededBytes> = known
        .all()
        .iter()
        .map(|one| NeededBytes {
            name: one.rule.as_str(),
            bytes: Ok(one.replay.peak_bytes),
        })
        .collect();
    let settings = OrderSettings {
        time_limit: Some(arguments.time_limit),
        threads: arguments.options.threads,
        seed: arguments.options.seed,
        ..OrderSettings::default()
    };
    let flag = interrupt::flag();
    let search = OrderSearch::new(&graph)
        .variant(variant)
        .settings(settings)
        .listener(&*flag);
    let ours = search.run().map_err(source::order_failure)?;
    ways.push(NeededBytes {
        name: Baselines::OURS,
        bytes: Ok(ours.peak_bytes()),
    });
    let program = source::program_peak(&graph, variant).unwrap_or(0);
    Ok(Compared {
        kind: "orders",
        measure: "peak",
        name: graph.name().into(),
        sha256: Some(graph.digest()),
        variant: Some(variant),
        ways,
        bound_bytes: ours.bound_bytes,
        budget_bytes: budget(arguments, program)?,
    })
}

fn placements(arguments: &BaselinesArguments) -> Result<Compared, Failure> {
    let lives = source::lives(&arguments.instance)?;
    let seed = arguments.options.seed;
    let mut ways: Vec<NeededBytes> = Vec::new();
    for way in PlaceBaseline::ALL {
        let height = way.place(&lives, seed).map_err(|e| e.to_string());
        // Some strategies ignore fixed offsets and gaps.
        let height = height.and_then(|placement| {
            let replay = placement.replay(&lives);
            replay.map(|r| r.height).map_err(|e| e.to_string())
        });
        ways.push(NeededBytes {
            name: way.name(),
            bytes: height,
        });
    }
    let settings = PlaceSettings {
        time_limit: Some(arguments.time_limit),
        threads: arguments.options.threads,
        seed,
        interrupt: Some(interrupt::flag()),
        ..PlaceSettings::default()
    };
    let ours = place(&lives, &settings).map_err(|e| source::memory_failure(e.into()))?;
    ways.push(NeededBytes {
        name: Baselines::OURS,
        bytes: Ok(ours.height),
    });
    Ok(Compared {
        kind: "placements",
        measure: "height",
        name: files::input_name(&arguments.instance).into(),
        sha256: None,
        variant: None,
        ways,
        bound_bytes: ours.bound,
        budget_bytes: budget(arguments, ours.load)?,
    })
}

fn budget(arguments: &BaselinesArguments, whole: u64) -> Result<Option<u64>, Failure> {
    let text = arguments.budget.as_deref();
    text.map(|text| source::budget(text, whole)).transpose()
}

impl Compared {
    fn fits(&self, way: &NeededBytes) -> Option<bool> {
        let budget = self.budget_bytes?;
        Some(way.bytes.as_ref().is_ok_and(|bytes| *bytes <= budget))
    }

    fn exit(&self) -> Exit {
        match self.budget_bytes {
            None => Exit::Done,
            Some(_) if self.ways.iter().any(|way| self.fits(way) == Some(true)) => Exit::Done,
            Some(budget) if self.bound_bytes > budget => Exit::Infeasible,
            Some(_) => Exit::NoPlan,
        }
    }

    /// Strategies by bytes, ascending; the sort is stable.
    fn ranked(&self) -> Vec<&NeededBytes> {
        let mut ways: Vec<&NeededBytes> = self.ways.iter().collect();
        ways.sort_by_key(|way| *way.bytes.as_ref().unwrap_or(&u64::MAX));
        ways
    }

    fn table(&self) -> String {
        let bound = self.bound_bytes;
        let mut text = format!("{}: {}", self.name, self.kind);
        if let Some(variant) = self.variant {
            text += &format!(" ({variant})");
        }
        if let Some(budget) = self.budget_bytes {
            text += &format!(", budget {}", format_bytes(budget));
        }
        text += "\n\n";
        let mut columns = vec![("strategy", false)];
        columns.extend(self.budget_bytes.map(|_| ("fits", false)));
        columns.extend([
            (self.measure, true),
            ("bytes", true),
            ("above the bound", true),
        ]);
        let mut table = Table::new(&columns);
        for way in self.ranked() {
            let mut row = vec![way.name.to_owned()];
            let fits = self.fits(way).map(|fits| if fits { "yes" } else { "no" });
            row.extend(fits.map(String::from));
            match &way.bytes {
                Ok(bytes) => {
                    let above = bytes.saturating_sub(bound) as f64 / bound.max(1) as f64;
                    row.push(format_bytes(*bytes));
                    row.push(bytes.to_string());
                    row.push(format!("{:.2}%", above * 100.0));
                }
                Err(reason) => row.push(reason.clone()),
            }
            table.row(row);
        }
        text += &table.render("  ");
        let least = self.ways.iter().filter_map(|way| way.bytes.as_ref().ok());
        let proven = least.min() == Some(&bound);
        text += &match proven {
            true => format!(
                "\nProven: none of the {} needs less than {bound} bytes.\n",
                self.kind
            ),
            false => format!(
                "\nNone of the {} needs less than {bound} bytes; give more time (--time-limit) to close the gap.\n",
                self.kind
            ),
        };
        text
    }

    fn json(&self, arguments: &BaselinesArguments) -> String {
        let strategies = self.ranked().into_iter().map(|way| {
            let bytes = way.bytes.as_ref().ok().copied();
            MemoryBaselineJson {
                name: way.name,
                fits: self.fits(way),
                peak_memory_bytes: bytes,
                gap: bytes.map(|bytes| remat_search::relative_gap(bytes, self.bound_bytes)),
                not_applicable_because: way.bytes.as_ref().err().map(String::as_str),
            }
        });
        results::json(&MemoryBaselinesJson {
            version: VERSION,
            kind: self.kind,
            instance: &self.name,
            instance_sha256: self.sha256.as_deref(),
            variant: self.variant.map(Variant::as_str),
            bound: self.bound_bytes,
            budget_bytes: self.budget_bytes,
            strategies: strategies.collect(),
            work: WorkJson::of(Some(arguments.time_limit), &arguments.options),
        })
    }
}

/// The object of `remat-bb baselines --json`, for a graph or a table of lives.
#[derive(Serialize, JsonSchema)]
pub(super) struct MemoryBaselinesJson<'a> {
    /// Version of this program.
    version: &'static str,
    /// `orders` or `placements`.
    kind: &'a str,
    /// Name of the graph, or file of the table of lives.
    instance: &'a str,
    /// SHA-256 of the graph; null for a table of lives.
    instance_sha256: Option<&'a str>,
    /// Edges that orders respect: `free` (data), `sound` (also tensors overwritten in place),
    /// `sound+rng` (also random numbers in the program's order) or `ctl` (data and OLLA's control
    /// edges); null for a table of lives.
    variant: Option<&'a str>,
    /// Proven lower bound on the bytes of every order or placement.
    bound: u64,
    /// Memory budget in bytes; null without one.
    budget_bytes: Option<u64>,
    /// Strategies, the one with the least bytes first.
    strategies: Vec<MemoryBaselineJson<'a>>,
    #[serde(flatten)]
    work: WorkJson,
}

/// A strategy.
#[derive(Serialize, JsonSchema)]
struct MemoryBaselineJson<'a> {
    /// Name of the strategy.
    name: &'a str,
    /// True if its bytes are within the budget; null without a budget.
    fits: Option<bool>,
    /// Peak of the order, or height of the placement, in bytes; null without a result.
    peak_memory_bytes: Option<u64>,
    /// `(bytes - bound) / bytes`; null without a result.
    gap: Option<f64>,
    /// Reason why the strategy has no result; null with a result.
    not_applicable_because: Option<&'a str>,
}
