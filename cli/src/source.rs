//! Instances, budgets and files by their text on the command line.

use crate::arguments::{LINK, Options};
use crate::failure::Failure;
use crate::{door, files};
use remat_formulations::AnyFormulation;
use remat_instances::budget::{Budget, format_bytes};
use remat_instances::name::visible;
use remat_instances::order::{self, ORDER_SCHEMA, OrderGraph, Variant};
use remat_instances::place::{self, Lives};
use remat_instances::replayed::{self, Replayed};
use remat_instances::simulate::{Replay, ReplayError};
use remat_instances::zoo::{self, ModelSpec};
use remat_instances::{Instance, Semantics, document};
use remat_memory::memory_plan::MemoryPlanSearchError;
use remat_memory::order::OrderSearchError;
use remat_search::Solvable;
use std::path::Path;

/// Reads an instance file, or builds a model (`zoo:...`).
///
/// # Errors
/// [`Failure`] names the file or model and the problem.
pub fn instance(source: &Path) -> Result<Instance, Failure> {
    if let Some(text) = zoo_text(source) {
        let fail = |problem| Failure::Zoo {
            source_text: visible(text).into_owned(),
            problem: Box::new(problem),
        };
        let spec: ModelSpec = text.parse().map_err(fail)?;
        return zoo::build(&spec).map_err(fail);
    }
    let input = files::document(source).map_err(|e| guess(e, source))?;
    let read = remat_instances::read_bytes(&input.name, &input.bytes);
    read.map_err(|error| door::instance(source, &input).unwrap_or(error.into()))
}

/// The text of a model of the zoo; `None` for a file.
pub fn zoo_text(source: &Path) -> Option<&str> {
    source.to_str().filter(|text| text.starts_with("zoo:"))
}

/// Reads a graph whose operators may run in another order: a `remat-order/1` file, or an instance
/// without recomputation.
///
/// # Errors
/// As [`instance`].
pub fn order_graph(source: &Path) -> Result<OrderGraph, Failure> {
    let of = |instance: &Instance| {
        OrderGraph::of_instance(instance).map_err(|e| Failure::Usage {
            problem: format!("{}: {e}", files::input_name(source)),
            remedy: "give a graph whose sizes add up to less".into(),
        })
    };
    if zoo_text(source).is_some() {
        return of(&instance(source)?);
    }
    let input = files::document(source).map_err(|e| guess(e, source))?;
    match document::schema(&input.name, &input.bytes)?.as_deref() {
        Some(ORDER_SCHEMA) => Ok(order::read_order_graph_bytes(&input.name, &input.bytes)?),
        _ => of(&remat_instances::read_bytes(&input.name, &input.bytes)?),
    }
}

/// Kinds of files beside instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemorySubject {
    /// A graph whose operators may run in another order (`remat-order/1`).
    Graph,
    /// A table of lives.
    Lives,
}

/// The kind of a file; `None` for an instance. A stream can be read once only, so it counts as an
/// instance.
///
/// # Errors
/// [`Failure::Open`] for a file that cannot be read.
pub fn memory_subject(path: &Path) -> Result<Option<MemorySubject>, Failure> {
    if zoo_text(path).is_some() || !path.is_file() {
        return Ok(None);
    }
    let input = files::document(path)?;
    let line = input
        .bytes
        .split(|b| *b == b'\n')
        .next()
        .unwrap_or_default();
    let head = String::from_utf8_lossy(line);
    let has = |wanted: &str| head.split(',').any(|name| name.trim() == wanted);
    if has("id") && has("lower") {
        return Ok(Some(MemorySubject::Lives));
    }
    let schema = document::schema(&input.name, &input.bytes).unwrap_or(None);
    Ok((schema.as_deref() == Some(ORDER_SCHEMA)).then_some(MemorySubject::Graph))
}

/// Peak of the program's own order in bytes; `None` if the variant does not allow it.
pub fn program_peak(graph: &OrderGraph, variant: Variant) -> Option<u64> {
    let replay = graph.replay(variant, graph.program_order());
    replay.ok().map(|replay| replay.peak_bytes)
}

/// Reads a table of lives.
///
/// # Errors
/// [`Failure`] names file, line and column.
pub fn lives(path: &Path) -> Result<Lives, Failure> {
    let input = files::text(path)?;
    place::read_lives_bytes(&input.name, &input.bytes).map_err(|e| table_failure(&e))
}

/// The failure for a table that cannot be read.
pub fn table_failure(problem: &place::ReadLivesError) -> Failure {
    Failure::Usage {
        problem: problem.to_string(),
        remedy: "docs/theory/place.md has the columns of the table".into(),
    }
}

/// The failure of a search for an order.
pub fn order_failure(problem: OrderSearchError) -> Failure {
    memory_failure(problem.into())
}

/// The failure of a search for order and addresses.
pub fn memory_failure(problem: MemoryPlanSearchError) -> Failure {
    let remedy = match &problem {
        MemoryPlanSearchError::Order(OrderSearchError::Cycle(_)) => {
            "take another --variant, or take an edge out of the graph"
        }
        MemoryPlanSearchError::Lives(_) => "give sizes that add up to less",
        _ => "see the message",
    };
    Failure::Usage {
        problem: problem.to_string(),
        remedy: remedy.into(),
    }
}

/// The requested formulation, or the one that suits the instance, with a note if it ignores a part
/// of the instance.
///
/// # Errors
/// As [`instance`], and [`Failure::Usage`] for an instance to which the formulation does not apply.
pub fn formulation(
    source: &Path,
    wanted: Option<Semantics>,
) -> Result<(AnyFormulation, Option<String>), Failure> {
    let instance = instance(source)?;
    match wanted {
        Some(semantics) => Ok((of(&instance, semantics)?, None)),
        None => {
            let suiting = AnyFormulation::suiting(&instance);
            let left_out = instance.has_choices() && !suiting.semantics().chooses_implementations();
            let note = left_out.then(|| {
                "the instance offers implementations, masks or in-place operators, but has no loss, which the formulation that \
                 uses them (monet) needs: checkmate is solved with the first implementation of every node"
                    .into()
            });
            Ok((suiting, note))
        }
    }
}

/// The formulation of given semantics.
///
/// # Errors
/// [`Failure::Usage`] if it does not apply.
pub fn of(instance: &Instance, semantics: Semantics) -> Result<AnyFormulation, Failure> {
    AnyFormulation::of(instance, semantics).map_err(|e| Failure::Usage {
        problem: e.to_string(),
        remedy: "mark the loss, or use --formulation checkmate".into(),
    })
}

/// The replay without recomputation.
///
/// # Errors
/// [`Failure::Replay`], never for a valid instance.
pub fn plain(formulation: &AnyFormulation) -> Result<Replay, Failure> {
    let name = formulation.instance().name();
    formulation.plain().map_err(|e| replay_failure(name, e))
}

/// The replay of an instance without recomputation, under given semantics.
///
/// # Errors
/// [`Failure::Replay`], never for a valid instance (under MONeT's semantics: with a loss).
pub fn plain_replay(instance: &Instance, semantics: Semantics) -> Result<Replay, Failure> {
    instance
        .plain_replay(semantics)
        .map_err(|e| replay_failure(instance.name(), e))
}

/// The step without recomputation ([`remat_instances::plain`]), in words: percentages refer to it.
pub fn plain_words(semantics: Semantics) -> &'static str {
    match semantics.chooses_implementations() {
        true => "each node once, in its cheapest way, under monet",
        false => "each node once, by its first implementation, under checkmate",
    }
}

/// A budget as a share of the peak without recomputation, in words.
pub fn share_of_plain(budget_bytes: u64, plain: &Replay, semantics: Semantics) -> String {
    format!(
        "{:.1}% of the {} without recomputation under {}",
        budget_bytes as f64 / plain.peak_bytes.max(1) as f64 * 100.0,
        format_bytes(plain.peak_bytes),
        semantics.as_str()
    )
}

/// The failure of a file's replay.
pub fn replay_failure(file: &str, problem: ReplayError) -> Failure {
    Failure::Replay {
        file: visible(file).into_owned(),
        problem: Box::new(problem),
    }
}

/// A budget in bytes; percentages are of `plain_peak_bytes`, the peak without recomputation.
///
/// # Errors
/// [`Failure::Budget`].
pub fn budget(text: &str, plain_peak_bytes: u64) -> Result<u64, Failure> {
    let budget: Budget = text.parse().map_err(Failure::Budget)?;
    Ok(budget.bytes(plain_peak_bytes))
}

/// Reads and replays a plan or schedule of an instance.
///
/// # Errors
/// [`Failure`] names the file and the problem.
pub fn replayed(source: &Path, path: &Path) -> Result<Replayed, Failure> {
    replayed_in(&instance(source)?, path)
}

/// As [`replayed()`], for an instance that was read before.
///
/// # Errors
/// As [`replayed()`].
pub fn replayed_in(instance: &Instance, path: &Path) -> Result<Replayed, Failure> {
    let input = files::document(path)?;
    Ok(replayed::replayed(instance, &input.name, &input.bytes)?)
}

/// As [`replayed()`], over the requested link in place of the recorded one. The boolean is true if
/// a link was requested.
///
/// # Errors
/// As [`replayed()`] and [`Options::with_link`].
pub fn replayed_over(
    source: &Path,
    path: &Path,
    link: &Options<LINK>,
) -> Result<(Replayed, bool), Failure> {
    let instance = instance(source)?;
    let linked = link.with_link(&instance)?;
    let input = files::document(path)?;
    let Some(linked) = linked else {
        let found = replayed::replayed(&instance, &input.name, &input.bytes)?;
        return Ok((found, false));
    };
    let found = replayed::replayed_over_link(&linked, &input.name, &input.bytes)?;
    let given_link = instance.host_link().cloned();
    let found = Replayed {
        given_link,
        ..found
    };
    Ok((found, true))
}

/// As [`replayed()`], but addresses are ignored: the caller makes new ones.
///
/// # Errors
/// As [`replayed()`].
pub fn executed(source: &Path, path: &Path) -> Result<Replayed, Failure> {
    let instance = instance(source)?;
    let input = files::document(path)?;
    Ok(replayed::executed(&instance, &input.name, &input.bytes)?)
}

/// A failure to open an instance, with the model of the zoo that was probably meant.
fn guess(failure: Failure, source: &Path) -> Failure {
    match failure {
        Failure::Open { file, problem, .. } => Failure::Open {
            remedy: (source.to_str())
                .filter(|text| text.parse::<ModelSpec>().is_ok())
                .map(|text| format!("did you mean the model zoo:{text}?")),
            file,
            problem,
        },
        other => other,
    }
}
