//! `remat-bb show` of orders, orders with addresses, and placements.

use super::show_viewers;
use super::verify_memory::refused;
use crate::arguments::ShowArguments;
use crate::failure::{Exit, Failure};
use crate::files::{self, Files};
use crate::source::{self, MemorySubject};
use remat_instances::budget::format_bytes;
use remat_instances::document;
use remat_instances::name::Name;
use remat_instances::order::{
    LifeOf, MEMORY_PLAN_SCHEMA, MemoryPlan, ORDER_PLAN_SCHEMA, OrderGraph, OrderPlan, OrderReplay,
    Variant,
};
use remat_instances::place::{Lives, Placement, read_placement};
use remat_report::draw::{addresses, steps};
use remat_report::results;
use remat_report::results::VERSION;
use remat_report::{Table, counted, snapshot, steps_csv, trace};
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Maximum number of rows of a list.
const ROWS: usize = 8;

/// Shows a graph, a table of lives or a plan of these; `None` for instances and their plans.
///
/// # Errors
/// [`Failure`] for bad input, infeasible orders, overlapping addresses, and files that cannot be
/// written.
pub fn run(arguments: &ShowArguments) -> Result<Option<Exit>, Failure> {
    let plan = arguments.plan.as_deref();
    let Some(subject) = recognised(&arguments.instance, plan)? else {
        return Ok(None);
    };
    let unfit = [
        ("--svg-schedule", arguments.svg_schedule.is_some()),
        ("--statements", arguments.statements),
        ("--budget", arguments.budget.is_some()),
        ("--formulation", arguments.program.formulation.is_some()),
    ];
    if let Some((name, _)) = unfit.iter().find(|(_, given)| *given) {
        return Err(Failure::Usage {
            problem: format!("{name} is for plans that recompute"),
            remedy: format!("leave {name} out, or name an instance"),
        });
    }
    let inputs: Vec<&Path> = plan
        .into_iter()
        .chain([arguments.instance.as_path()])
        .collect();
    let pictures = [
        ("--svg", arguments.svg.as_deref()),
        ("--svg-memory", arguments.svg_memory.as_deref()),
        ("--svg-addresses", arguments.svg_addresses.as_deref()),
    ];
    let outputs = [&pictures[..], &show_viewers::outputs(arguments)].concat();
    let files = Files::tried(arguments.json, &inputs, &outputs)?;
    let shown = Shown::of(subject, &arguments.instance, plan)?;
    let best = match shown.placed.is_some() {
        true => Picture::Addresses,
        false => Picture::Memory,
    };
    for (path, picture) in [
        (&arguments.svg, best),
        (&arguments.svg_memory, Picture::Memory),
        (&arguments.svg_addresses, Picture::Addresses),
    ] {
        if let Some(path) = path {
            files.write(path, &shown.picture(picture)?)?;
        }
    }
    shown.viewers(&files, arguments)?;
    files.print(&match arguments.json {
        true => shown.json(),
        false => shown.describe(),
    })?;
    Ok(Some(Exit::Done))
}

/// The kind of subject of two files; `None` for instances and their plans.
fn recognised(instance: &Path, plan: Option<&Path>) -> Result<Option<MemorySubject>, Failure> {
    let schema = plan.and_then(schema_of);
    let of_order = matches!(
        schema.as_deref(),
        Some(ORDER_PLAN_SCHEMA | MEMORY_PLAN_SCHEMA)
    );
    let subject = source::memory_subject(instance)?;
    Ok(subject.or(of_order.then_some(MemorySubject::Graph)))
}

fn schema_of(path: &Path) -> Option<String> {
    if !path.is_file() {
        return None;
    }
    let input = files::document(path).ok()?;
    document::schema(&input.name, &input.bytes).ok().flatten()
}

#[derive(Clone, Copy)]
enum Picture {
    Memory,
    Addresses,
}

/// An order and its replay.
pub(super) struct Ordered {
    pub graph: OrderGraph,
    variant: Variant,
    pub replay: OrderReplay,
    pub program: Option<OrderReplay>,
    bound_bytes: Option<u64>,
}

/// Subject of the command: an order, a placement, or both.
pub(super) struct Shown {
    kind: &'static str,
    name: Name,
    pub ordered: Option<Ordered>,
    pub lives: Lives,
    pub placed: Option<Placement>,
    height_bytes: Option<u64>,
}

impl Shown {
    /// The subject of two files; `None` for instances and their plans.
    ///
    /// # Errors
    /// [`Failure`] for bad input, infeasible orders and overlapping addresses.
    pub fn recognised(instance: &Path, plan: Option<&Path>) -> Result<Option<Self>, Failure> {
        let subject = recognised(instance, plan)?;
        subject.map(|s| Shown::of(s, instance, plan)).transpose()
    }

    fn of(subject: MemorySubject, instance: &Path, plan: Option<&Path>) -> Result<Self, Failure> {
        match subject {
            MemorySubject::Lives => Shown::lives(instance, plan),
            MemorySubject::Graph => Shown::order(instance, plan, plan.and_then(schema_of)),
        }
    }

    fn lives(table: &Path, placement: Option<&Path>) -> Result<Self, Failure> {
        let lives = source::lives(table)?;
        let (mut placed, mut height_bytes) = (None, None);
        if let Some(path) = placement {
            let input = files::text(path)?;
            let found = read_placement(&input.name, &input.bytes, &lives)
                .map_err(|e| source::table_failure(&e))?;
            let replay = found.replay(&lives).map_err(|e| refused(&input.name, e))?;
            (placed, height_bytes) = (Some(found), Some(replay.height));
        }
        Ok(Shown {
            kind: if placed.is_some() {
                "placement"
            } else {
                "lives"
            },
            name: files::input_name(table).into(),
            ordered: None,
            lives,
            placed,
            height_bytes,
        })
    }

    fn order(
        graph_path: &Path,
        plan: Option<&Path>,
        schema: Option<String>,
    ) -> Result<Self, Failure> {
        let graph = source::order_graph(graph_path)?;
        let mut found = (
            Variant::default(),
            graph.program_order().to_vec(),
            None,
            None,
            None,
        );
        let mut kind = "program order";
        let mut file = files::input_name(graph_path);
        if let Some(path) = plan {
            let input = files::document(path)?;
            file.clone_from(&input.name);
            let order: OrderPlan = match schema.as_deref() {
                Some(MEMORY_PLAN_SCHEMA) => {
                    kind = "memory plan";
                    let plan = MemoryPlan::parse(&input.name, &input.bytes)?;
                    let replay = plan.replay(&graph).map_err(|e| refused(&input.name, e))?;
                    (found.3, found.4) = (Some(plan.placement()), Some(replay.height_bytes));
                    plan.order
                }
                _ => {
                    kind = "order";
                    OrderPlan::parse(&input.name, &input.bytes)?
                }
            };
            order.replay(&graph).map_err(|e| refused(&input.name, e))?;
            (found.0, found.1, found.2) = (order.variant, order.order, order.bound_bytes);
        }
        let (variant, order, bound_bytes, placed, height_bytes) = found;
        let replay = graph
            .replay(variant, &order)
            .map_err(|e| refused(&file, e))?;
        let lives = replay
            .buffers()
            .map_err(|e| source::memory_failure(e.into()))?;
        let program = graph.replay(variant, graph.program_order()).ok();
        Ok(Shown {
            kind,
            name: graph.name().into(),
            ordered: Some(Ordered {
                program,
                graph,
                variant,
                replay,
                bound_bytes,
            }),
            lives,
            placed,
            height_bytes,
        })
    }

    /// Writes the files for viewers.
    fn viewers(&self, files: &Files, arguments: &ShowArguments) -> Result<(), Failure> {
        let (lives, placed) = (&self.lives, self.placed.as_ref());
        let of = self.ordered.as_ref().map(|of| (&of.graph, &of.replay));
        let contents = show_viewers::Contents {
            trace: || {
                Ok(match of {
                    Some((graph, replay)) => trace::of_order(graph, replay, placed),
                    None => trace::of_lives(&self.name, lives, placed),
                })
            },
            snapshot: || {
                Ok(match of {
                    Some((graph, replay)) => snapshot::of_order(graph, replay, placed),
                    None => snapshot::of_lives(&self.name, lives, placed),
                })
            },
            csv: || match of {
                Some((graph, replay)) => steps_csv::of_order(graph, replay),
                None => steps_csv::of_lives(lives),
            },
        };
        show_viewers::write(files, arguments, contents)
    }

    fn picture(&self, picture: Picture) -> Result<String, Failure> {
        match (picture, &self.placed, &self.ordered) {
            (Picture::Addresses, Some(placed), _) => {
                let title = format!("{}: addresses over time", self.name);
                Ok(addresses::draw(&self.lives, placed, &title)?)
            }
            (Picture::Memory, _, Some(of)) => {
                let title = format!("{}: memory step by step ({})", self.name, self.kind);
                let other = of.program.as_ref().filter(|p| p.steps != of.replay.steps);
                Ok(steps::draw(&of.graph, &of.replay, other, &title)?)
            }
            (Picture::Addresses, None, _) => Err(Failure::Usage {
                problem: "there are no addresses to draw".into(),
                remedy:
                    "give a memory plan (remat-bb plan-memory), or a placement (remat-bb place)"
                        .into(),
            }),
            (Picture::Memory, _, None) => Err(Failure::Usage {
                problem: "a table of lives has no operators to draw memory of".into(),
                remedy: "draw addresses: --svg-addresses, with a placement".into(),
            }),
        }
    }

    /// Names and sizes of buffers in memory at the peak, the largest first.
    fn at_peak(&self) -> Vec<(Name, u64)> {
        let time = match &self.ordered {
            Some(of) => of.replay.peak_step as u64,
            None => self.lives.load().time,
        };
        let name = |index: usize| match &self.ordered {
            Some(of) => match of.replay.lives[index].of {
                LifeOf::Storage(tensor) => {
                    let known = &of.graph.tensors()[tensor.index()];
                    match known.name.is_empty() {
                        true => format!("tensor {}", tensor.0).into(),
                        false => known.name.clone(),
                    }
                }
                LifeOf::Workspace(operator) => {
                    let operator = &of.graph.operators()[operator.index()];
                    format!("workspace of {}", operator.name.as_str()).into()
                }
            },
            None => self.lives.buffers()[index].id.clone(),
        };
        let mut found = Vec::new();
        for (index, buffer) in self.lives.buffers().iter().enumerate() {
            let pieces = buffer.pieces();
            let live = pieces.iter().find(|p| p.lower <= time && time < p.upper);
            if let Some(piece) = live {
                found.push((name(index), piece.end - piece.start));
            }
        }
        found.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        found
    }

    fn peak_at(&self) -> Option<Name> {
        let of = self.ordered.as_ref()?;
        let step = of.replay.steps.get(of.replay.peak_step)?;
        Some(of.graph.operator_label(step.operator))
    }

    fn describe(&self) -> String {
        let load = self.lives.load().bytes;
        let mut text = match &self.ordered {
            Some(of) => format!(
                "{}: {}, {}\n",
                self.name,
                counted(of.graph.len() as u64, "operator"),
                self.kind
            ),
            None => format!(
                "{}: {}, {}\n",
                self.name,
                counted(self.lives.buffers().len() as u64, "buffer"),
                self.kind
            ),
        };
        let mut line = |name: &str, value: String| text += &format!("  {name:<10}{value}\n");
        if let Some(of) = &self.ordered {
            let peak = of.replay.peak_bytes;
            let at = self
                .peak_at()
                .map_or(String::new(), |at| format!(" at operator {at}"));
            let step = of.replay.peak_step;
            line(
                "peak",
                format!("{} ({peak} bytes){at}, step {step}", format_bytes(peak)),
            );
            line("resident", format_bytes(of.graph.base_bytes()));
            if let Some(program) = &of.program {
                let change = (peak as f64 / program.peak_bytes.max(1) as f64 - 1.0) * 100.0;
                let bytes = format_bytes(program.peak_bytes);
                line(
                    "program",
                    format!("peak {bytes} in the program's order ({change:+.2}%)"),
                );
            }
            if let Some(bound) = of.bound_bytes {
                line("bound", format!("{} on record", format_bytes(bound)));
            }
            line("variant", of.variant.to_string());
        } else {
            line("load", format!("{} ({load} bytes)", format_bytes(load)));
        }
        if let Some(height) = self.height_bytes {
            let above = (height as f64 / load.max(1) as f64 - 1.0) * 100.0;
            let bytes = format_bytes(height);
            line(
                "arena",
                format!("{bytes} ({height} bytes), {above:.3}% above the load"),
            );
        }
        let at_peak = self.at_peak();
        let mut table = Table::new(&[("", false), ("size", true)]);
        for (name, bytes) in at_peak.iter().take(ROWS) {
            table.row(vec![name.to_string(), format_bytes(*bytes)]);
        }
        let count = counted(at_peak.len() as u64, "piece");
        text += &format!("\nin memory at the peak ({count})\n{}", table.render("  "));
        if at_peak.len() > ROWS {
            text += &format!("  ... and {} more\n", at_peak.len() - ROWS);
        }
        text
    }

    fn json(&self) -> String {
        let of = self.ordered.as_ref();
        let load = self.lives.load().bytes;
        results::json(&ShowMemoryJson {
            version: VERSION,
            kind: self.kind,
            instance: &self.name,
            instance_sha256: of.map(|of| of.graph.digest()),
            variant: of.map(|of| of.variant.as_str()),
            operators: of.map(|of| of.graph.len()),
            buffers: self.lives.buffers().len(),
            peak_memory_bytes: of.map_or(load, |of| of.replay.peak_bytes),
            peak_at: self.peak_at(),
            base_memory_bytes: of.map(|of| of.graph.base_bytes()),
            program_peak_bytes: of.and_then(|of| Some(of.program.as_ref()?.peak_bytes)),
            recorded_bound_bytes: of.and_then(|of| of.bound_bytes),
            load_bytes: load,
            height_bytes: self.height_bytes,
            at_peak: self.at_peak().into_iter().map(|(name, _)| name).collect(),
            step_bytes: of.map(|of| of.replay.step_bytes()),
        })
    }
}

/// The object of `remat-bb show --json`, for an order, a memory plan or a table of lives.
#[derive(Serialize, JsonSchema)]
pub(super) struct ShowMemoryJson<'a> {
    /// Version of this program.
    version: &'static str,
    /// `program order`, `order`, `memory plan`, `lives` or `placement`.
    kind: &'a str,
    /// Name of the graph, or file of the table of lives.
    instance: &'a str,
    /// SHA-256 of the graph; null for a table of lives.
    instance_sha256: Option<String>,
    /// Edges that orders respect: `free` (data), `sound` (also tensors overwritten in place),
    /// `sound+rng` (also random numbers in the program's order) or `ctl` (data and OLLA's control
    /// edges); null for a table of lives.
    variant: Option<&'a str>,
    /// Number of operators; null for a table of lives.
    operators: Option<usize>,
    /// Number of buffers.
    buffers: usize,
    /// Peak of the order, or largest load of the table, in bytes.
    peak_memory_bytes: u64,
    /// Operator at the peak; null for a table of lives.
    #[schemars(with = "Option<String>")]
    peak_at: Option<Name>,
    /// Resident memory in bytes; null for a table of lives.
    base_memory_bytes: Option<u64>,
    /// Peak of the program's own order in bytes; null for a table of lives, or if the variant
    /// excludes this order.
    program_peak_bytes: Option<u64>,
    /// Lower bound in bytes that the file records; null if it records none.
    recorded_bound_bytes: Option<u64>,
    /// Largest sum of sizes at one moment, in bytes.
    load_bytes: u64,
    /// Size of the arena in bytes; null without addresses.
    height_bytes: Option<u64>,
    /// Buffers in memory at the peak, the largest first.
    #[schemars(with = "Vec<String>")]
    at_peak: Vec<Name>,
    /// Memory at each step of the order in bytes; null for a table of lives.
    step_bytes: Option<Vec<u64>>,
}
