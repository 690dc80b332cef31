//! The largest batch of each strategy within 16 GiB when recomputation may cost one further forward
//! pass (Figure 6).

use super::{CheckmateConfig, Failure};
use remat_formulations::solve::{Answer, Largest, MaxBatch, ask_baseline, cost_cap};
use remat_formulations::{AnyFormulation, strategies};
use remat_instances::Instance;
use remat_instances::zoo::{self, ModelSpec};
use remat_report::Table;

/// The paper's networks.
const MODELS: [&str; 6] = [
    "zoo:unet",
    "zoo:fcn8",
    "zoo:segnet",
    "zoo:vgg19",
    "zoo:resnet50",
    "zoo:mobilenet_v1",
];
const BUDGET_BYTES: u64 = 16 << 30;
const OVERHEAD: f64 = 1.0;
const MOST: u64 = 65_536;

/// Prints the table.
///
/// # Errors
/// [`Failure`].
pub fn run(config: &CheckmateConfig) -> Result<(), Failure> {
    let models: Vec<&str> = MODELS.into_iter().filter(|m| config.wants(m)).collect();
    if models.is_empty() {
        println!("no model has a name like {:?}", config.only);
        return Ok(());
    }
    let mut columns = vec![("strategy", false)];
    columns.extend(models.iter().map(|m| (*m, true)));
    let mut table = Table::new(&columns);
    // Each batch would need a separate linear program.
    let strategies: Vec<_> = strategies::all()
        .iter()
        .filter(|b| !b.solves_program)
        .collect();
    let mut rows: Vec<Vec<String>> = strategies.iter().map(|b| vec![b.name.to_owned()]).collect();
    let mut ours = vec!["remat-bb".to_owned()];
    let mut proven = vec!["  proven: less than".to_owned()];
    for model in &models {
        let mut start = 1;
        for (row, baseline) in rows.iter_mut().zip(&strategies) {
            let found: Largest = Largest::search(16, MOST, |batch| {
                let instance = build(model, batch)?;
                let cap = cost_cap(&instance, OVERHEAD);
                let formulation = AnyFormulation::suiting(&instance);
                let (answer, _) = ask_baseline(&formulation, baseline, BUDGET_BYTES, cap);
                Ok::<Answer, Failure>(answer)
            })?;
            let largest = found.batch.map_or(0, |b| b.0);
            start = start.max(largest);
            row.push(if largest == 0 {
                "-".into()
            } else {
                largest.to_string()
            });
        }
        let question = MaxBatch::new(BUDGET_BYTES).settings(config.settings());
        let found = Largest::search(start, MOST, |batch| {
            let instance = build(model, batch)?;
            let cap = cost_cap(&instance, OVERHEAD);
            let answer = question.ask(&AnyFormulation::suiting(&instance), cap)?;
            println!("{model} batch {batch}: {answer:?}");
            Ok::<Answer, Failure>(answer)
        })?;
        ours.push(found.batch.map_or_else(|| "-".into(), |b| b.0.to_string()));
        proven.push(
            found
                .proven_too_large
                .map_or_else(|| "-".into(), |b| b.to_string()),
        );
    }
    table.row(ours);
    table.row(proven);
    rows.into_iter().for_each(|row| table.row(row));
    let text = format!(
        "Largest batches within 16 GiB, at most one further forward pass, {} s for each batch size\n\n{}",
        config.seconds,
        table.render("")
    );
    println!();
    config.publish("batches.txt", &text)
}

fn build(model: &str, batch: u64) -> Result<Instance, Failure> {
    let spec: ModelSpec = model.parse()?;
    let spec = spec.with("batch", &batch.to_string())?;
    Ok(zoo::build(&spec)?.single_implementation().0)
}
