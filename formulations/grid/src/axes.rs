//! Axes of a grid: names and values, each value as the text that its option reads.

use remat_formulations::options::{OPTIONS, OptionGroup, SolveOption};

/// Meaning of an axis.
#[derive(Clone, Copy)]
pub enum AxisKind {
    /// Instances.
    Model,
    /// A parameter of the zoo's models.
    Parameter,
    /// Devices of a pipeline.
    Stages,
    /// Micro-batches of a pipeline.
    Microbatches,
    /// Order of a pipeline's passes.
    Schedule,
    /// An option of a solve.
    Option(&'static SolveOption),
}

/// Name of an axis in the file, and the name of its column and parameter.
pub(crate) struct AxisName {
    pub file: &'static str,
    pub column: &'static str,
    pub kind: AxisKind,
}

/// An axis with its values.
#[derive(Clone)]
pub struct Axis {
    /// Name of the column of the merged table.
    pub column: &'static str,
    /// Meaning.
    pub kind: AxisKind,
    /// Values, in the order of the file.
    pub values: Vec<String>,
}

/// Groups of options that a grid has.
const GROUPS: [OptionGroup; 8] = [
    OptionGroup::Limit,
    OptionGroup::Search,
    OptionGroup::Workers,
    OptionGroup::Program,
    OptionGroup::Class,
    OptionGroup::InFlight,
    OptionGroup::Link,
    OptionGroup::Order,
];

/// Options of a solve that a grid has, as axes and as settings.
pub(crate) fn options() -> impl Iterator<Item = &'static SolveOption> {
    let has = |option: &&SolveOption| {
        GROUPS.contains(&option.group) || option.group == OptionGroup::Phase
    };
    OPTIONS.iter().filter(has)
}

/// Options after all others, so that neighbouring jobs differ in them.
const LAST: [&str; 3] = ["seed", "offload", "in_flight"];

/// All axes except for the budgets, from the slowest to the fastest.
pub(crate) fn names() -> Vec<AxisName> {
    let name = |file, column, kind| AxisName { file, column, kind };
    let mut names = vec![
        name("models", "model", AxisKind::Model),
        name("batches", "batch", AxisKind::Parameter),
        name("devices", "device", AxisKind::Parameter),
        name("stages", "stages", AxisKind::Stages),
        name("microbatches", "microbatches", AxisKind::Microbatches),
        name("schedules", "schedule", AxisKind::Schedule),
    ];
    let first = options().filter(|option| !LAST.contains(&option.name));
    let last = LAST.map(|wanted| options().find(|option| option.name == wanted));
    for option in first.chain(last.into_iter().flatten()) {
        let file = match option.name {
            "seed" => "seeds",
            own => own,
        };
        names.push(name(file, option.name, AxisKind::Option(option)));
    }
    names
}

/// The word for a job without a link.
pub(crate) const OFF: &str = "off";

impl Axis {
    /// Positions of the values in the direction in which plans stay valid, or `None` for an axis
    /// whose jobs do not start one another.
    pub(crate) fn direction(&self) -> Option<Vec<usize>> {
        let mut order: Vec<usize> = (0..self.values.len()).collect();
        let number = |k: &usize| self.values[*k].parse::<u64>().unwrap_or(0);
        match (self.kind, self.column) {
            (AxisKind::Parameter, "device") => (),
            (AxisKind::Parameter, _) => order.sort_by_key(|k| std::cmp::Reverse(number(k))),
            (AxisKind::Option(_), "in_flight") => {
                order.sort_by_key(|k| std::cmp::Reverse(number(k)));
            }
            (AxisKind::Option(_), "offload") => order.sort_by_key(|k| self.values[*k] != OFF),
            _ => return None,
        }
        Some(order)
    }
}
