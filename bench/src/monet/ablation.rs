//! Overhead at a fixed share of the memory with some of the choices only (Figure 4).

use super::bars::{self, Group};
use super::plain::Plain;
use super::{Config, Failure, over};
use remat_bb::report::{Table, gib};
use remat_formulations::Instance;
use remat_formulations::instance::Choices;
use remat_formulations::{monet, simulate};
use std::sync::atomic::AtomicBool;

/// The budget as a percentage of the peak without recomputation: the memory ratio of the paper's figure.
const SHARE: u64 = 53;

const NONE: Choices = Choices {
    algorithms: false,
    outputs: false,
    masks: false,
    in_place: false,
};

/// Names and choices. The paper enables in-place steps throughout; here they are a choice of their own.
const ABLATIONS: [(&str, Choices); 6] = [
    ("none", NONE),
    (
        "in place",
        Choices {
            in_place: true,
            ..NONE
        },
    ),
    (
        "algorithms",
        Choices {
            algorithms: true,
            ..NONE
        },
    ),
    (
        "outputs",
        Choices {
            outputs: true,
            ..NONE
        },
    ),
    (
        "masks",
        Choices {
            masks: true,
            ..NONE
        },
    ),
    ("all", Choices::ALL),
];

/// Prints the table and draws the bars.
///
/// # Errors
/// [`Failure`].
pub fn run(config: &Config) -> Result<(), Failure> {
    let mut columns = vec![("network", false), ("GiB", true)];
    columns.extend(ABLATIONS.map(|a| (a.0, true)));
    let mut table = Table::new(&columns);
    let mut groups = Vec::new();
    for network in config.networks()? {
        let plain = Plain::new(&network.instance)?;
        let budget = plain.peak_bytes * SHARE / 100;
        let mut row = vec![network.name.clone(), format!("{:.2}", gib(budget))];
        let mut values = Vec::new();
        for (name, choices) in ABLATIONS {
            let cost = least_cost(config, &network.instance, choices, budget)?;
            let value = cost.map(|c| over(c, plain.cost));
            let text = value.map_or_else(|| "-".into(), |v| format!("{v:.2}%"));
            println!("{} {name}: {text}", network.name);
            row.push(text);
            values.push(value);
        }
        table.row(row);
        groups.push(Group {
            name: network.name,
            values,
        });
    }
    let text = format!(
        "Overhead at {SHARE}% of the memory without recomputation with one choice each (Figure 4), {} s a solve\n\
         Schedules without the choice of algorithms then take the fastest ones that fit, as in the paper.\n\n{}",
        config.seconds,
        table.render("")
    );
    config.publish("ablation.txt", &text)?;
    let names = ABLATIONS.map(|a| a.0);
    let title = format!("Overhead at {SHARE}% of the memory without recomputation");
    config.save("ablation.svg", &bars::draw(&title, &names, &groups)?)
}

/// Least cost found with some choices; the algorithms chosen afterwards where they are not a choice.
fn least_cost(
    config: &Config,
    instance: &Instance,
    choices: Choices,
    budget: u64,
) -> Result<Option<u64>, Failure> {
    let never = AtomicBool::new(false);
    let (restricted, _) = instance.restricted(choices);
    let settings = config.settings(budget);
    let found = monet::solve(&restricted, &settings, &[], &never, &|_| {})?;
    let Some((cost, schedule)) = found.objective.zip(found.schedule) else {
        return Ok(None);
    };
    let algorithms = Choices {
        algorithms: true,
        ..choices
    };
    let (optimised, _) = instance.restricted(algorithms);
    let faster = monet::complete(&optimised, budget, &schedule.retained);
    let faster = faster
        .map(|s| simulate::monet(&optimised, &s))
        .transpose()?;
    let fits = faster.filter(|r| r.peak_bytes <= budget);
    Ok(Some(fits.map_or(cost, |r| r.cost.min(cost))))
}
