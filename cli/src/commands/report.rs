//! `remat-bb report`

use super::report_memory;
use super::verify_pipeline::{is_pipeline, replayed, split};
use crate::arguments::ReportArguments;
use crate::failure::{Exit, Failure};
use crate::files::{self, Files, input_name};
use crate::{interrupt, source};
use remat_formulations::solve::{PRICE_LIMIT, byte_prices_of};
use remat_instances::Instance;
use remat_instances::replayed::Replayed;
use remat_report::counted;
use remat_report::html::{Document, Findings, PipelineSource, PlanBound, PlanSource, page};
use remat_report::results::{self, VERSION};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;
use std::path::Path;

/// Writes the page, and says what is on it.
///
/// # Errors
/// [`Failure`] for bad input, plans that cannot be executed, and a page that cannot be written.
pub fn run(arguments: &ReportArguments) -> Result<Exit, Failure> {
    let inputs = arguments.plans.iter().chain(&arguments.logs);
    let inputs = inputs.chain([&arguments.instance]);
    let inputs: Vec<&Path> = inputs.map(|path| &**path).collect();
    let html = [("--html", Some(&*arguments.html))];
    let files = Files::tried(arguments.json, &inputs, &html)?;
    let findings = findings(arguments)?;
    let (kind, document) = document(arguments, &findings)?;
    let document = document.with_findings(findings);
    let text = page(&document);
    files.write(&arguments.html, &text)?;
    let json = ReportJson {
        version: VERSION,
        instance: &document.title,
        kind,
        html: &arguments.html.to_string_lossy(),
        html_bytes: text.len(),
        plans: document.plans(),
        moments: document.moments(),
    };
    files.print(&match arguments.json {
        true => results::json(&json),
        false => json.words(),
    })?;
    Ok(Exit::Done)
}

fn findings(arguments: &ReportArguments) -> Result<Findings, Failure> {
    let mut findings = Findings::default();
    for path in &arguments.logs {
        let input = files::text(path)?;
        let text = String::from_utf8_lossy(&input.bytes);
        findings
            .read(&input.name, &text)
            .map_err(|e| Failure::Usage {
                problem: format!("--log: {e}"),
                remedy:
                    "give what `remat-bb solve --json` or `sweep --json` printed, or the log of \
                     `solve` or `mip` from standard error"
                        .into(),
            })?;
    }
    Ok(findings)
}

/// The report and the kind of its subject.
fn document(
    arguments: &ReportArguments,
    findings: &Findings,
) -> Result<(&'static str, Document), Failure> {
    if let Some(document) = report_memory::document(arguments)? {
        return Ok(("order", document));
    }
    let instance = source::instance(&arguments.instance)?;
    if let [path] = &*arguments.plans
        && is_pipeline(path)?
    {
        return Ok(("pipeline", pipeline(arguments, &instance, path)?));
    }
    Ok(("plans", plans(arguments, &instance, findings)?))
}

fn pipeline(
    arguments: &ReportArguments,
    instance: &Instance,
    path: &Path,
) -> Result<Document, Failure> {
    if arguments.budget.is_some() {
        return Err(Failure::Usage {
            problem: "--budget: a pipeline names the budget of each device".into(),
            remedy: "leave out --budget".into(),
        });
    }
    let split = split(instance)?;
    let found = replayed(&split, path)?;
    let picture = super::show_pipeline::picture(&split, &found, "pipeline");
    let plans = found.document.plans.iter().map(|own| &own.plan);
    let source = PipelineSource {
        picture: &picture,
        stages: found.graphs.iter().zip(plans).collect(),
    };
    let mut document = Document::new(instance.name(), instance.cost_unit());
    let added = document.add_pipeline(&source);
    added.map_err(|e| source::replay_failure(&found.file, e))?;
    Ok(document)
}

fn plans(
    arguments: &ReportArguments,
    instance: &Instance,
    findings: &Findings,
) -> Result<Document, Failure> {
    let file = input_name(&arguments.instance);
    let read = |path: &std::path::PathBuf| {
        let found = source::replayed_in(instance, path)?;
        Ok((input_name(path), found))
    };
    let found: Vec<(String, Replayed)> = arguments
        .plans
        .iter()
        .map(read)
        .collect::<Result<_, Failure>>()?;
    let (view, semantics) = match found.first() {
        Some((_, first)) => (first.instance.clone(), first.plan.semantics),
        None => {
            let (formulation, _) = source::formulation(&arguments.instance, None)?;
            (
                formulation.instance().as_ref().clone(),
                formulation.semantics(),
            )
        }
    };
    let plain = source::plain_replay(&view, semantics)?;
    let budget = |recorded: Option<u64>| match &arguments.budget {
        Some(text) => source::budget(text, plain.peak_bytes).map(Some),
        None => Ok(recorded),
    };
    // Files go by their names without folders, unless two of them have the same.
    let short = |name: &str| {
        let file = Path::new(name).file_name();
        file.map_or_else(|| name.to_owned(), |f| f.to_string_lossy().into_owned())
    };
    let shorts: BTreeSet<String> = found.iter().map(|(name, _)| short(name)).collect();
    let names = |name: &str| match shorts.len() == found.len() {
        true => short(name),
        false => name.to_owned(),
    };
    let mut document = Document::new(instance.name(), instance.cost_unit());
    let budgets: Vec<Option<u64>> = found
        .iter()
        .map(|(_, found)| budget(found.budget_bytes))
        .collect::<Result<_, _>>()?;
    let priced = found.iter().zip(&budgets).map(|((_, found), bytes)| {
        let bytes = bytes.unwrap_or(found.replay.peak_bytes);
        (&found.instance, &found.plan, bytes)
    });
    let priced: Vec<_> = priced.collect();
    let interrupted = interrupt::flag();
    interrupt::catch("leaving out prices of memory", false);
    let limit = arguments.time_limit.unwrap_or(PRICE_LIMIT);
    let prices = byte_prices_of(&priced, limit, &*interrupted);
    for (((name, found), budget_bytes), priced) in found.iter().zip(budgets).zip(&prices) {
        let bound = budget_bytes.and_then(|bytes| findings.bound(bytes));
        let bound = bound.map(|(cost, scope)| (cost, scope.to_owned()));
        let own = budget_bytes.and(priced.bound);
        let bound = bound.or(own.map(|(cost, scope)| (cost, scope.to_owned())));
        let source = PlanSource {
            name: names(name),
            instance: &found.instance,
            plan: &found.plan,
            replay: &found.replay,
            addresses: found.addresses.as_ref(),
            budget_bytes,
            bound: bound.map(|(cost, scope)| PlanBound { cost, scope }),
            prices: &priced.moments,
            is_plain: false,
        };
        let added = document.add(instance.name(), &source);
        added.map_err(|e| source::replay_failure(name, e))?;
    }
    let added = document.add_plain(instance.name(), &view, semantics, budget(None)?);
    added.map_err(|e| source::replay_failure(&file, e))?;
    Ok(document)
}

/// The object of `remat-bb report --json`.
#[derive(Serialize, JsonSchema)]
pub(super) struct ReportJson<'a> {
    /// Version of this program.
    version: &'static str,
    /// Name of the instance, or file of a table of lives.
    instance: &'a str,
    /// `plans`, `pipeline` or `order`.
    kind: &'a str,
    /// File of the page.
    html: &'a str,
    /// Size of the page in bytes.
    html_bytes: usize,
    /// Number of plans on the page, the step without recomputation included.
    plans: usize,
    /// Number of moments of all plans.
    moments: usize,
}

impl ReportJson<'_> {
    fn words(&self) -> String {
        format!(
            "{}: {}, {}\n  page      {} ({:.1} MB), open it in a browser\n",
            self.instance,
            counted(self.plans as u64, "plan"),
            counted(self.moments as u64, "moment"),
            remat_instances::name::visible(self.html),
            self.html_bytes as f64 / 1e6,
        )
    }
}
