//! Overhead at a fixed budget with some of the choices only (Figure 4).

use super::plain::Plain;
use super::{Failure, MonetConfig, over};
use crate::bars::{self, BarGroup};
use remat_formulations::monet;
use remat_instances::instance::{Choices, NodeId};
use remat_instances::schedule::BitMatrix;
use remat_instances::{Instance, simulate};
use remat_report::{Table, gib};

/// The budget of the paper's figure.
const BUDGET_BYTES: u64 = 8 << 30;

const NONE: Choices = Choices {
    algorithms: false,
    outputs: false,
    masks: false,
    in_place: false,
};

/// Names and choices. The paper enables in-place steps throughout; here they are a separate choice.
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
pub fn run(config: &MonetConfig) -> Result<(), Failure> {
    let mut columns = vec![("network", false)];
    columns.extend(ABLATIONS.map(|a| (a.0, true)));
    let mut table = Table::new(&columns);
    let mut groups = Vec::new();
    for network in config.networks()? {
        let plain = Plain::new(&network.instance)?;
        let mut row = vec![network.name.clone()];
        let mut values = Vec::new();
        let mut known = Vec::new();
        for (name, choices) in ABLATIONS {
            let cost = least_cost(config, &network.instance, choices, BUDGET_BYTES, &mut known)?;
            let value = cost.map(|c| over(c, plain.cost));
            let text = value.map_or_else(|| "-".into(), |v| format!("{v:.2}%"));
            println!("{} {name}: {text}", network.name);
            row.push(text);
            values.push(value);
        }
        table.row(row);
        groups.push(BarGroup {
            name: network.name,
            values,
        });
    }
    let text = format!(
        "Overhead at {} GiB with one choice each (Figure 4, a picture without numbers), {} s a solve\n\
         Schedules without the choice of algorithms then take the fastest ones that fit, as in the paper.\n\n{}",
        gib(BUDGET_BYTES),
        config.seconds,
        table.render("")
    );
    config.publish("ablation.txt", &text)?;
    let names = ABLATIONS.map(|a| a.0);
    let title = format!("Overhead at {} GiB", gib(BUDGET_BYTES));
    let explanation = "percent over no recomputation; no bar: no plan was found";
    let picture = bars::draw((&title, explanation), &names, &groups)?;
    config.save("ablation.svg", &picture)
}

/// The choices that a schedule needs, and the tensors it stores, by the ids of the instance with
/// all choices.
type StoredAndChoices = (Choices, BitMatrix);

/// Least cost with some choices. If algorithms are not among them, they are chosen afterwards.
/// Stored sets found with fewer choices are tried as well; the set found here is added to `known`.
fn least_cost(
    config: &MonetConfig,
    instance: &Instance,
    choices: Choices,
    budget: u64,
    known: &mut Vec<StoredAndChoices>,
) -> Result<Option<u64>, Failure> {
    let (restricted, ids) = instance.restricted(choices);
    let found = config.solve(&restricted, budget, &())?;
    let columns = instance.loss().ok_or("a graph without a loss")?.index() + 1;
    if let Some(schedule) = &found.schedule {
        known.push((choices, lifted(&schedule.retained, &ids, columns)));
    }
    let algorithms = Choices {
        algorithms: true,
        ..choices
    };
    let (optimised, _) = instance.restricted(algorithms);
    let mut best = found.cost();
    let of_fewer = |k: &&StoredAndChoices| {
        let less = |a: bool, b: bool| !a || b;
        less(k.0.outputs, choices.outputs)
            && less(k.0.masks, choices.masks)
            && less(k.0.in_place, choices.in_place)
            && less(k.0.algorithms, choices.algorithms)
    };
    for (_, stored) in known.iter().filter(of_fewer) {
        let Some(schedule) =
            monet::complete(&optimised, budget, &lowered(stored, &ids, &restricted))
        else {
            continue;
        };
        let replay = simulate::monet(&optimised, &schedule)?;
        if replay.peak_bytes <= budget {
            best = Some(best.map_or(replay.cost, |b| b.min(replay.cost)));
        }
    }
    Ok(best)
}

/// A matrix over the columns of a restricted instance as one over all columns.
fn lifted(retained: &BitMatrix, ids: &[NodeId], columns: usize) -> BitMatrix {
    let mut all = BitMatrix::new(retained.rows(), columns);
    for t in 0..retained.rows() {
        retained
            .ones(t)
            .for_each(|i| all.set(t, ids[i].index(), true));
    }
    all
}

/// The inverse; columns that the restricted instance lacks are left out.
fn lowered(all: &BitMatrix, ids: &[NodeId], restricted: &Instance) -> BitMatrix {
    let columns = restricted.loss().map_or(0, |l| l.index() + 1);
    let mut retained = BitMatrix::new(all.rows(), columns);
    for t in 0..all.rows() {
        for (i, id) in ids.iter().enumerate().take(columns) {
            retained.set(t, i, all.get(t, id.index()));
        }
    }
    retained
}
