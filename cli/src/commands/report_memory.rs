//! `remat-bb report` of orders, orders with addresses, and placements.

use super::show_memory::{Ordered, Shown};
use crate::arguments::ReportArguments;
use crate::failure::Failure;
use crate::files::input_name;
use remat_report::html::{self, Document, OrderSource};
use std::path::Path;

/// The report of a graph or a table of lives; `None` for instances and their plans.
///
/// # Errors
/// [`Failure`] for bad input, infeasible orders and overlapping addresses.
pub fn document(arguments: &ReportArguments) -> Result<Option<Document>, Failure> {
    let first = arguments.plans.first().map(|path| &**path);
    let Some(shown) = Shown::recognised(&arguments.instance, first)? else {
        return Ok(None);
    };
    if arguments.budget.is_some() {
        return Err(Failure::Usage {
            problem: "--budget is for plans that recompute".into(),
            remedy: "leave --budget out, or name an instance".into(),
        });
    }
    if shown.ordered.is_none() {
        if let Some(second) = arguments.plans.get(1) {
            let name = input_name(second);
            return Err(Failure::Usage {
                problem: format!("{name}: a table of lives has one placement on a page"),
                remedy: "write a page for each placement".into(),
            });
        }
        let name = input_name(&arguments.instance);
        return Ok(Some(html::lives(
            &name,
            &shown.lives,
            shown.placed.as_ref(),
        )));
    }
    let mut all = vec![shown];
    for path in arguments.plans.iter().skip(1) {
        all.extend(Shown::recognised(&arguments.instance, Some(path))?);
    }
    let pairs = all
        .iter()
        .filter_map(|shown| Some((shown, shown.ordered.as_ref()?)));
    let pairs: Vec<(&Shown, &Ordered)> = pairs.collect();
    let name = |k: usize| match arguments.plans.get(k) {
        Some(path) => input_name(Path::new(path)),
        None => "program order".into(),
    };
    let sources = pairs
        .iter()
        .enumerate()
        .map(|(k, (shown, ordered))| OrderSource {
            name: name(k),
            replay: &ordered.replay,
            placement: shown.placed.as_ref(),
            is_plain: arguments.plans.is_empty(),
        });
    let mut sources: Vec<OrderSource<'_>> = sources.collect();
    let program = pairs.first().and_then(|(_, ordered)| {
        let program = ordered.program.as_ref()?;
        (program.steps != ordered.replay.steps).then_some(program)
    });
    sources.extend(program.map(|replay| OrderSource {
        name: "program order".into(),
        replay,
        placement: None,
        is_plain: true,
    }));
    let graph = pairs.first().map(|(_, ordered)| &ordered.graph);
    Ok(graph.map(|graph| html::order(graph, &sources)))
}
