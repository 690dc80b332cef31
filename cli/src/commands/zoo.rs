//! `remat-bb zoo`

use crate::arguments::{ZooArguments, ZooCommand, ZooExportArguments, ZooListArguments};
use crate::failure::{Exit, Failure};
use crate::files::{self, Files};
use crate::source;
use crate::visible::shown;
use remat_formulations::AnyFormulation;
use remat_instances::budget::format_bytes;
use remat_instances::write_instance;
use remat_instances::zoo::{self, ModelSpec, ZooError};
use remat_report::Table;

/// Lists or exports models.
///
/// # Errors
/// [`Failure`] for unknown models or parameters, and files that cannot be written.
pub fn run(arguments: &ZooArguments) -> Result<Exit, Failure> {
    match &arguments.command {
        ZooCommand::List(arguments) => list(arguments),
        ZooCommand::Export(arguments) => export(arguments),
    }
}

fn failure(source_text: &str) -> impl Fn(ZooError) -> Failure + '_ {
    move |problem| Failure::Zoo {
        source_text: source_text.into(),
        problem: Box::new(problem),
    }
}

fn list(arguments: &ZooListArguments) -> Result<Exit, Failure> {
    let models = zoo::list();
    let Some(name) = &arguments.model else {
        let mut table = Table::new(&[("model", false), ("what it is", false)]);
        for model in models {
            table.row(vec![model.name.into(), model.description.into()]);
        }
        let hint = "\n`remat-bb zoo list MODEL` shows a model's parameters, for zoo:MODEL?parameter=value&...\n";
        files::print(&(table.render("") + hint))?;
        return Ok(Exit::Done);
    };
    let spec: ModelSpec = name.parse().map_err(failure(name))?;
    let columns = ["parameter", "default", "values", "meaning"].map(|title| (title, false));
    let mut table = Table::new(&columns);
    let mut text = String::new();
    for model in models.iter().filter(|m| m.name == spec.model()) {
        text = format!("{}: {}\n\n", model.name, model.description);
        for parameter in &model.parameters {
            table.row(vec![
                parameter.name.into(),
                parameter.default.into(),
                parameter.kind.to_string(),
                parameter.description.into(),
            ]);
        }
    }
    files::print(&(text + &table.render("")))?;
    Ok(Exit::Done)
}

fn export(arguments: &ZooExportArguments) -> Result<Exit, Failure> {
    let files = Files::tried(false, &[], &[("--out", Some(&arguments.out))])?;
    let fail = failure(&arguments.model);
    let mut spec: ModelSpec = arguments.model.parse().map_err(&fail)?;
    if let Some(batch) = arguments.batch {
        spec = spec.with("batch", &batch.to_string()).map_err(&fail)?;
    }
    if let Some(device) = &arguments.device {
        spec = spec.with("device", device).map_err(&fail)?;
    }
    for (name, value) in &arguments.set {
        spec = spec.with(name, value).map_err(&fail)?;
    }
    let instance = zoo::build(&spec).map_err(&fail)?;
    files.write(&arguments.out, &write_instance(&instance))?;
    let plain = source::plain(&AnyFormulation::checkmate(&instance))?;
    files.print(&format!(
        "{}: {} nodes, {} a step, peak without recomputation {}\n",
        shown(&arguments.out),
        instance.len(),
        remat_report::cost(instance.base_cost(), instance.cost_unit()),
        format_bytes(plain.peak_bytes)
    ))?;
    Ok(Exit::Done)
}
