//! Options of a solve as arguments of the command line.

use crate::failure::Failure;
use clap::builder::PossibleValue;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};
use remat_formulations::options::{OPTIONS, OptionGroup, SolveOption, SolveOptions, ValueForm};
use remat_formulations::solve::AnySolvable;
use remat_formulations::{AnyFormulation, Instance};
use remat_instances::instance::LinkRequestError;
use std::ops::Deref;

/// The time limit, gap, effort, lanes, threads and seed.
pub const SEARCH: u32 = OptionGroup::Limit.bit() | OptionGroup::Search.bit() | WORKERS;
/// Threads and the seed.
pub const WORKERS: u32 = OptionGroup::Workers.bit();
/// The formulation.
pub const PROGRAM: u32 = OptionGroup::Program.bit();
/// The link to host memory.
pub const LINK: u32 = OptionGroup::Link.bit();
/// The link, and the times of copies.
pub const COPIES: u32 = LINK | OptionGroup::Phase.bit();
/// The order of first computations.
pub const ORDER: u32 = OptionGroup::Order.bit();
/// All options of `solve`.
pub const ALL: u32 = u32::MAX;

/// The options of some groups: a set of bits.
#[derive(Clone, Debug, Default)]
pub struct Options<const GROUPS: u32>(pub SolveOptions);

impl<const GROUPS: u32> Deref for Options<GROUPS> {
    type Target = SolveOptions;

    fn deref(&self) -> &SolveOptions {
        &self.0
    }
}

impl<const GROUPS: u32> Options<GROUPS> {
    fn all() -> impl Iterator<Item = &'static SolveOption> {
        let is_in = |option: &&SolveOption| option.group.bit() & GROUPS != 0;
        OPTIONS.iter().filter(is_in)
    }

    /// The instance with the requested link; `None` without a request.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an instance that cannot have it.
    pub fn with_link(&self, instance: &Instance) -> Result<Option<Instance>, Failure> {
        let wrong = |e: LinkRequestError| Failure::Usage {
            problem: format!("--offload: {e}"),
            remedy: e.remedy(),
        };
        self.linked(instance).map_err(wrong)
    }

    /// The formulation with the requested link, or unchanged without a request.
    ///
    /// # Errors
    /// As [`Options::with_link`].
    pub fn solvable(&self, formulation: AnyFormulation) -> Result<AnySolvable, Failure> {
        let formulation = match self.with_link(formulation.instance())? {
            None => formulation,
            Some(linked) => AnyFormulation::of(&linked, formulation.semantics())?,
        };
        let solvable = AnySolvable::of(formulation, self.copies());
        Ok(match self.reorder {
            true => solvable.reordered(),
            false => solvable,
        })
    }
}

/// The letter of an option on the command line.
fn short(name: &str) -> Option<char> {
    let letters = [("time_limit", 't'), ("gap", 'g'), ("formulation", 'f')];
    letters.iter().find(|(of, _)| *of == name).map(|(_, c)| *c)
}

/// Options that the short help leaves out.
const RARE: [&str; 9] = [
    "effort",
    "lanes",
    "bound_scope",
    "host_memory",
    "link_latency",
    "duplex",
    "offload_phase",
    "offload_release",
    "alignment",
];

/// An option as an argument.
fn argument(option: &'static SolveOption) -> Arg {
    let long = option.name.replace('_', "-");
    let mut argument = Arg::new(option.name)
        .help(option.summary())
        .long_help(option.details())
        .hide_short_help(RARE.contains(&option.name))
        .help_heading(option.group.heading());
    if let Some(letter) = short(option.name) {
        argument = argument.short(letter);
    }
    if option.name == "offload_release" {
        argument = argument.visible_alias("release");
    }
    if option.name == "plan_class" {
        argument = argument.visible_alias("class");
    }
    if let Some(needs) = option.needs() {
        argument = argument.requires(needs);
    }
    let argument = argument.long(long);
    if option.form == ValueForm::Switch {
        return argument.action(ArgAction::SetTrue);
    }
    let argument = argument
        .action(ArgAction::Set)
        .value_name(match option.form {
            ValueForm::Switch | ValueForm::Word(_) => "WORD",
            ValueForm::Whole(_) => "N",
            ValueForm::Time => "TIME",
            ValueForm::Fraction => "GAP",
            ValueForm::Size => "SIZE",
            ValueForm::Link => "LINK",
        });
    match option.form {
        ValueForm::Word(words) => argument.value_parser(
            words
                .iter()
                .map(|(word, meaning)| PossibleValue::new(*word).help(*meaning))
                .collect::<Vec<_>>(),
        ),
        _ => argument.value_parser(|text: &str| {
            let read = option.set(&mut SolveOptions::default(), text);
            read.map(|()| text.to_owned())
        }),
    }
}

impl<const GROUPS: u32> Args for Options<GROUPS> {
    fn augment_args(command: Command) -> Command {
        Self::all().fold(command, |command, option| command.arg(argument(option)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const GROUPS: u32> FromArgMatches for Options<GROUPS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut options = SolveOptions::default();
        for option in Self::all() {
            let text = match option.form {
                ValueForm::Switch => matches.get_flag(option.name).then(|| "true".to_owned()),
                _ => matches.get_one::<String>(option.name).cloned(),
            };
            if let Some(text) = text {
                let read = option.set(&mut options, &text);
                let wrong = |e| clap::Error::raw(clap::error::ErrorKind::ValueValidation, e);
                read.map_err(wrong)?;
            }
        }
        Ok(Options(options))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use remat_formulations::offload::CopyPhase;
    use remat_instances::instance::{CostUnit, Duplex, HostLink, InstanceData, Node};

    #[derive(Parser, Debug)]
    struct Line {
        #[command(flatten)]
        options: Options<COPIES>,
    }

    fn line(arguments: &[&str]) -> Result<SolveOptions, String> {
        let all = ["program"].iter().chain(arguments);
        let line = Line::try_parse_from(all).map_err(|e| e.to_string())?;
        Ok(line.options.0)
    }

    fn instance(unit: &str, link: Option<HostLink>) -> Instance {
        Instance::new(InstanceData {
            name: "one".into(),
            cost_unit: CostUnit::named(unit),
            host_link: link,
            in_flight: 1,
            nodes: vec![Node::forward("a", vec![], 1, 1)],
        })
        .unwrap()
    }

    #[test]
    fn links_are_put_together() {
        let own = HostLink {
            latency_ns: 7,
            duplex: Duplex::Half,
            host_memory_bytes: Some(99),
            ..HostLink::new(1, 2)
        };
        let owner = instance("us", Some(own.clone()));
        let link = |arguments: &[&str], of: &Instance| {
            let applied = line(arguments).unwrap().linked(of).unwrap();
            applied.map(|instance| instance.host_link().cloned().unwrap())
        };
        assert_eq!(link(&[], &owner), None);
        assert_eq!(link(&["--offload", "on"], &owner), Some(own.clone()));
        let given = ["--offload", "on", "--duplex", "full", "--link-latency"];
        let given = [&given[..], &["10us", "--host-memory", "64GiB"]].concat();
        let wanted = HostLink {
            latency_ns: 10_000,
            duplex: Duplex::Full,
            host_memory_bytes: Some(64 << 30),
            ..own
        };
        assert_eq!(link(&given, &owner), Some(wanted));
        // A link by name takes no value from the instance's link.
        let pcie4 = HostLink::new(25_000_000_000, 25_000_000_000);
        assert_eq!(link(&["--offload", "pcie4"], &owner), Some(pcie4.clone()));
        assert_eq!(
            link(&["--offload", "pcie4"], &instance("ns", None)),
            Some(pcie4)
        );
        let phase = line(&["--offload", "on", "--offload-phase", "loss"]).unwrap();
        assert_eq!(phase.offload_phase, CopyPhase::Loss);
        assert_eq!(line(&[]).unwrap().offload_phase, CopyPhase::Any);
    }

    #[test]
    fn wrong_options_are_refused() {
        for (arguments, words) in [
            (&["--offload", "fast"][..], "24GB/s,50GB/s"),
            (&["--offload", "12"], "has no unit of speed"),
            (&["--host-memory", "1GiB"], "--offload <LINK>"),
            (&["--link-latency", "1us"], "--offload <LINK>"),
            (&["--duplex", "half"], "--offload <LINK>"),
            (&["--offload-phase", "loss"], "--offload <LINK>"),
            (&["--offload", "on", "--host-memory", "60%"], "a percentage"),
            (
                &["--offload", "on", "--host-memory", "much"],
                "for example 64GiB",
            ),
            (&["--offload", "on", "--link-latency", "10"], "has no unit"),
            (&["--offload", "on", "--link-latency", "-1us"], "unexpected"),
            (&["--offload", "on", "--duplex", "both"], "full, half"),
            (
                &["--offload", "on", "--offload-phase", "later"],
                "any, loss",
            ),
        ] {
            let problem = line(arguments).unwrap_err();
            assert!(problem.contains(words), "{arguments:?}: {problem}");
        }
        let applied = |text: &str, of: &Instance| {
            let options = line(&["--offload", text]).unwrap();
            options.linked(of).unwrap_err().to_string()
        };
        let none = applied("on", &instance("ns", None));
        assert!(none.contains("has no \"host_link\""), "{none}");
        let unit = applied("pcie3", &instance("FLOP", None));
        assert!(unit.contains("\"FLOP\""), "{unit}");
        assert!(unit.contains("is no time"), "{unit}");
    }
}
