//! Options of a solve, each declared once: every interface takes them under these names, as texts.
//!
//! The command line makes its arguments of [`OPTIONS`], Python reads its keyword arguments by it,
//! and C its pairs of names and values.
//!
//! ```
//! use remat_formulations::options::SolveOptions;
//! use remat_formulations::{Budget, Solve, zoo};
//!
//! let mut options = SolveOptions::default();
//! options.set("gap", "1%")?;
//! options.set("reorder", "true")?;
//! let instance = zoo::build(&"zoo:chain?n=9".parse()?)?;
//! let formulation = options.applied(&instance)?;
//! let solve = Solve::of(formulation, Budget::Percent(70.0)).options(&options);
//! let solution = solve.run()?;
//! assert!(solution.objective()? >= solution.bound);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod values;

pub use values::{
    parse_alignment, parse_duration, parse_gap, parse_latency, parse_link, parse_size,
};

use crate::any::AnyFormulation;
use crate::offload::{CopyPhase, Release};
use rayon::ThreadPool;
use remat_instances::instance::{Duplex, Instance, LinkChoice, LinkRequest, LinkRequestError};
use remat_instances::plan_class::UnknownPlanClass;
use remat_instances::{PlanClass, Semantics};
use remat_search::{Effort, Scope, Settings, SolveError};
use remat_solver::threads::pool;
use std::time::Duration;

/// Maximum number of threads, and of lanes.
const MOST_THREADS: u64 = 1024;

/// Maximum number of micro-batches in flight.
const MOST_IN_FLIGHT: u64 = 1 << 20;

/// Group of options; a command or a function has the whole group, or does not have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionGroup {
    /// The time limit.
    Limit,
    /// Gap, work and lanes of a search.
    Search,
    /// Threads and the seed.
    Workers,
    /// The formulation.
    Program,
    /// The class of plans.
    Class,
    /// Micro-batches in flight.
    InFlight,
    /// The link to host memory.
    Link,
    /// The times at which the link is used.
    Phase,
    /// The memory of tensors that are being copied.
    Release,
    /// The order of first computations.
    Order,
    /// Addresses.
    Addresses,
}

impl OptionGroup {
    /// The group's bit in a set of groups.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Title of the group for readers.
    pub fn heading(self) -> &'static str {
        match self {
            OptionGroup::Limit | OptionGroup::Search | OptionGroup::Workers => "Search",
            OptionGroup::Program | OptionGroup::Class | OptionGroup::InFlight => "Formulation",
            OptionGroup::Link | OptionGroup::Phase | OptionGroup::Release => {
                "Copies to host memory"
            }
            OptionGroup::Order | OptionGroup::Addresses => "Order and addresses",
        }
    }
}

/// Form of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// On or off: `true` or `false`.
    Switch,
    /// One of these words, each with its meaning.
    Word(&'static [(&'static str, &'static str)]),
    /// A whole number from 0 to this one.
    Whole(u64),
    /// A time.
    Time,
    /// A fraction or a percentage.
    Fraction,
    /// A size in bytes, with or without a unit.
    Size,
    /// A link.
    Link,
}

/// An option of a solve.
pub struct SolveOption {
    /// Its name, words joined by `_`.
    pub name: &'static str,
    /// Its group.
    pub group: OptionGroup,
    /// Form of its value.
    pub form: ValueForm,
    help: &'static str,
    set: fn(&mut SolveOptions, &str) -> Result<(), String>,
    is_default: fn(&SolveOptions) -> bool,
}

impl SolveOption {
    /// Its effect, in one line.
    pub fn summary(&self) -> &'static str {
        let end = self.help.find("\n\n").unwrap_or(self.help.len());
        self.help[..end].trim()
    }

    /// Its effect, its values and its default: paragraphs, each on one line.
    pub fn details(&self) -> String {
        let paragraphs = self.help.split("\n\n");
        let lines = paragraphs.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
        lines.collect::<Vec<_>>().join("\n\n")
    }

    /// Reads a value into options.
    ///
    /// # Errors
    /// The problem with the text, and a valid form.
    pub fn set(&self, options: &mut SolveOptions, text: &str) -> Result<(), String> {
        (self.set)(options, text)
    }

    /// The option without which this one has no effect.
    pub fn needs(&self) -> Option<&'static str> {
        let of_link = matches!(
            self.group,
            OptionGroup::Link | OptionGroup::Phase | OptionGroup::Release
        );
        (of_link && self.name != "offload").then_some("offload")
    }
}

/// Reason why options are not valid.
#[derive(Debug, thiserror::Error)]
pub enum OptionError {
    /// There is no option of this name.
    #[error("there is no option {name:?}; there are {}", names())]
    Unknown {
        /// The name.
        name: String,
    },
    /// A value is not valid.
    #[error("{name}: {problem}")]
    Value {
        /// The option.
        name: &'static str,
        /// The problem, and a valid form.
        problem: String,
    },
    /// An option has no effect without another one.
    #[error("{name} needs {needs}")]
    Alone {
        /// The option.
        name: &'static str,
        /// The other one.
        needs: &'static str,
    },
    /// The instance cannot have the requested link.
    #[error("offload: {0}")]
    Link(#[from] LinkRequestError),
    /// The formulation does not apply to the instance.
    #[error(transparent)]
    Formulation(#[from] SolveError),
}

fn names() -> String {
    let names: Vec<&str> = OPTIONS.iter().map(|option| option.name).collect();
    names.join(", ")
}

macro_rules! declare {
    ($( $(#[doc = $doc:literal])+ $name:ident: $type:ty, $group:ident, $form:expr, $read:expr; )+) => {
        /// Options of a solve, each at its default or as it was set.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct SolveOptions {
            $( $(#[doc = $doc])+ pub $name: $type, )+
        }

        /// All options, in the order in which they are shown.
        pub static OPTIONS: &[SolveOption] = &[$(
            SolveOption {
                name: stringify!($name),
                group: OptionGroup::$group,
                form: $form,
                help: concat!($($doc, "\n"),+),
                set: |options, text| {
                    let read: fn(&str) -> Result<$type, String> = $read;
                    options.$name = read(text)?;
                    Ok(())
                },
                is_default: |options| options.$name == <$type>::default(),
            },
        )+];
    };
}

declare! {
    /// End a solve after this time: seconds, or with a unit (90s, 10m, 2h)
    ///
    /// Without a limit the work is fixed.
    time_limit: Option<Duration>, Limit, ValueForm::Time, |text| parse_duration(text).map(Some);
    /// Relative gap between cost and bound at which to end: 0.01 or 1%
    ///
    /// Default: 0.01%. With a time limit and this default, the search continues for better plans:
    /// four times as long again, at most for half of the limit.
    gap: Option<f64>, Search, ValueForm::Fraction, |text| parse_gap(text).map(Some);
    /// Work of a solve without a time limit [default: full]
    effort: Effort, Search, ValueForm::Word(&EFFORTS), |text| text.parse();
    /// Nodes of the tree solved side by side [default: 0]
    ///
    /// The number changes the tree. 0 means four, or with a time limit one per thread if there are
    /// more than four threads.
    lanes: usize, Search, ValueForm::Whole(MOST_THREADS), threads;
    /// Plans that the bound covers [default: widest]
    ///
    /// The widest scope costs nothing on networks. Once its bound can rise no more, the search goes
    /// on to the bound over stage schedules, and both are reported.
    bound_scope: Scope, Search, ValueForm::Word(&SCOPES), |text| text.parse();
    /// Worker threads; 0 for one per core [default: 0]
    threads: usize, Workers, ValueForm::Whole(MOST_THREADS), threads;
    /// Seed of all random choices [default: 0]
    seed: u64, Workers, ValueForm::Whole(u64::MAX), |text| whole(text, u64::MAX);
    /// Integer program whose semantics hold
    ///
    /// Default: monet for an instance with a loss and choices that only monet knows
    /// (implementations, masks, in-place operators), else checkmate.
    formulation: Option<Semantics>, Program, ValueForm::Word(&FORMULATIONS), semantics;
    /// Class of plans that a training stack can execute
    ///
    /// The plan is the best of the class, and the bound covers the class. The price of the class is
    /// reported: the cost above the best free plan found. Default: all plans.
    plan_class: Option<PlanClass>, Class, ValueForm::Word(&CLASSES), |text| {
        text.parse().map(Some).map_err(|e: UnknownPlanClass| e.to_string())
    };
    /// Micro-batches in flight on this stage of a pipeline
    ///
    /// While one of them runs, each of the others holds what the step keeps between its two passes.
    /// Default: the number of the instance, or one.
    in_flight: Option<u32>, InFlight, ValueForm::Whole(MOST_IN_FLIGHT), |text| {
        whole(text, MOST_IN_FLIGHT).map(|k| Some(k as u32))
    };
    /// Link over which a plan may copy tensors to host memory and back
    ///
    /// A link is on (the instance's own host_link), a name (pcie3, pcie4, pcie5, gh200, gb300), a
    /// speed such as 12GB/s, or one speed to the host and one from it: 24GB/s,50GB/s. The names
    /// have 12, 25, 52, 170 and 411, 193 and 211 GB/s.
    offload: Option<LinkChoice>, Link, ValueForm::Link, |text| parse_link(text).map(Some);
    /// Host memory for copies: bytes or an amount (64GiB)
    ///
    /// Default: the limit of the link, if it has one.
    host_memory: Option<u64>, Link, ValueForm::Size, |text| parse_size(text).map(Some);
    /// Fixed time of every copy, with a unit: 500ns, 10us, 1ms
    ///
    /// Default: the latency of the link, 0 for a link by name or speed.
    link_latency: Option<u64>, Link, ValueForm::Time, |text| parse_latency(text).map(Some);
    /// Copies in both directions at the same time, or one at a time
    ///
    /// Default: the mode of the link, full for a link by name or speed.
    duplex: Option<Duplex>, Link, ValueForm::Word(&DUPLEXES), duplex;
    /// Times at which copies are made [default: any]
    offload_phase: CopyPhase, Phase, ValueForm::Word(&PHASES), phase;
    /// Memory of a tensor during its copy, for the bound [default: at-once]
    ///
    /// Plans always follow at-once, as machines do.
    offload_release: Release, Release, ValueForm::Word(&RELEASES), release;
    /// Also choose the order of first computations for this budget
    ///
    /// The given order and other orders share the time limit. Without a limit the work is up to
    /// three times the work of a solve, beside the search for orders.
    reorder: bool, Order, ValueForm::Switch, switch;
    /// Give every piece of memory of the plan an offset in one small arena
    addresses: bool, Addresses, ValueForm::Switch, switch;
    /// Divisor of all offsets in bytes, a power of two; the plan has addresses then
    ///
    /// Default: the largest up to 512 that does not raise the peak, else the largest up to 64 that
    /// raises it by at most a thousandth.
    alignment: Option<u64>, Addresses, ValueForm::Size, |text| parse_alignment(text).map(Some);
}

static EFFORTS: [(&str, &str); 2] = [
    (
        "full",
        "All rounds, iterations and nodes that the limits allow: minutes",
    ),
    ("quick", "A small share of this work: seconds"),
];
static SCOPES: [(&str, &str); 2] = [
    (
        "widest",
        "All plans in the graph's order, or in any order where no other one matters",
    ),
    (
        "stage-schedules",
        "Plans that run an operator at most once between two first runs",
    ),
];
static FORMULATIONS: [(&str, &str); 2] = [
    (
        "checkmate",
        "One implementation of each node, recomputed in any stage (Jain et al., MLSys 2020)",
    ),
    (
        "monet",
        "Also chooses implementations, masks and in-place operators (Shah et al., ICLR 2021)",
    ),
];
static CLASSES: [(&str, &str); 4] = [
    (
        "tags",
        "Each forward value is saved, or computed again once at its first need (torchtitan)",
    ),
    (
        "regions",
        "As tags, a block computes its dropped values together (selective checkpointing)",
    ),
    (
        "blocks",
        "A block drops all its inner values or none (torch.utils.checkpoint)",
    ),
    (
        "names",
        "As tags, with one decision for all values of a label (JAX, Megatron)",
    ),
];
static DUPLEXES: [(&str, &str); 2] = [
    ("full", "Both directions at the same time"),
    ("half", "One copy at a time"),
];
static PHASES: [(&str, &str); 2] = [
    ("any", "To the host and back at any time"),
    (
        "loss",
        "To the host before the loss ends, back only after it",
    ),
];
static RELEASES: [(&str, &str); 2] = [
    (
        "at-once",
        "Free when the copy to the host is complete, in use when the copy back begins: a machine",
    ),
    (
        "continuous",
        "Free byte by byte as it is sent, in use byte by byte as it arrives: POFO's assumption",
    ),
];

fn semantics(text: &str) -> Result<Option<Semantics>, String> {
    let read = text.parse::<Semantics>();
    read.map(Some).map_err(|e| e.to_string())
}

fn duplex(text: &str) -> Result<Option<Duplex>, String> {
    word(text, [("full", Duplex::Full), ("half", Duplex::Half)]).map(Some)
}

fn phase(text: &str) -> Result<CopyPhase, String> {
    word(text, [("any", CopyPhase::Any), ("loss", CopyPhase::Loss)])
}

fn release(text: &str) -> Result<Release, String> {
    let at_once = ("at-once", Release::AtOnce);
    word(text, [at_once, ("continuous", Release::Continuous)])
}

fn switch(text: &str) -> Result<bool, String> {
    word(text, [("true", true), ("false", false)])
}

fn threads(text: &str) -> Result<usize, String> {
    whole(text, MOST_THREADS).map(|count| count as usize)
}

fn whole(text: &str, most: u64) -> Result<u64, String> {
    let read = text.trim().parse::<u64>().ok();
    let read = read.filter(|number| *number <= most);
    read.ok_or_else(|| format!("write a whole number from 0 to {most}, not {text:?}"))
}

/// The value of a word.
fn word<T: Copy>(text: &str, words: [(&str, T); 2]) -> Result<T, String> {
    let found = words.iter().find(|(known, _)| *known == text);
    found.map(|(_, value)| *value).ok_or_else(|| {
        let [(one, _), (other, _)] = words;
        format!("{text:?} is none of its values; write {one:?} or {other:?}")
    })
}

impl SolveOptions {
    /// Sets the option of a name to the value of a text.
    ///
    /// # Errors
    /// [`OptionError`] names the option and a valid form.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), OptionError> {
        let found = OPTIONS.iter().find(|option| option.name == name);
        let option = found.ok_or_else(|| OptionError::Unknown { name: name.into() })?;
        option
            .set(self, text)
            .map_err(|problem| OptionError::Value {
                name: option.name,
                problem,
            })
    }

    /// Checks that each option that is set has the option that it needs.
    ///
    /// # Errors
    /// [`OptionError::Alone`].
    pub fn check(&self) -> Result<(), OptionError> {
        let is_set = |option: &SolveOption| !(option.is_default)(self);
        let needed = |name| OPTIONS.iter().any(|o| o.name == name && is_set(o));
        for option in OPTIONS.iter().filter(|option| is_set(option)) {
            if let Some(needs) = option.needs()
                && !needed(needs)
            {
                return Err(OptionError::Alone {
                    name: option.name,
                    needs,
                });
            }
        }
        Ok(())
    }

    /// Settings of the search.
    pub fn settings(&self) -> Settings {
        let settings = Settings {
            time_limit: self.time_limit,
            effort: self.effort,
            lanes: self.lanes,
            scope: self.bound_scope,
            threads: self.threads,
            seed: self.seed,
            ..Settings::default()
        };
        match self.gap {
            Some(gap) => settings.with_gap(gap),
            None => settings,
        }
    }

    /// The requested link.
    pub fn link(&self) -> Option<LinkRequest> {
        self.offload.as_ref().map(|choice| LinkRequest {
            choice: choice.clone(),
            host_memory_bytes: self.host_memory,
            latency_ns: self.link_latency,
            duplex: self.duplex,
        })
    }

    /// The instance with the requested link; `None` if no link was requested.
    ///
    /// # Errors
    /// [`LinkRequestError`].
    pub fn linked(&self, instance: &Instance) -> Result<Option<Instance>, LinkRequestError> {
        self.link().map(|link| link.applied(instance)).transpose()
    }

    /// The times at which copies are made, if a link was requested.
    pub fn copies(&self) -> Option<CopyPhase> {
        self.offload.as_ref().map(|_| self.offload_phase)
    }

    /// Returns whether the plan is to have addresses.
    pub fn has_addresses(&self) -> bool {
        self.addresses || self.alignment.is_some()
    }

    /// The requested formulation, or the one that suits the instance, for the instance with the
    /// requested link.
    ///
    /// # Errors
    /// [`OptionError`].
    pub fn applied(&self, instance: &Instance) -> Result<AnyFormulation, OptionError> {
        self.check()?;
        let linked = self.linked(instance)?;
        Ok(self.suiting(linked.as_ref().unwrap_or(instance))?)
    }

    /// The requested formulation, or the one that suits the instance; the instance's link is not
    /// changed.
    ///
    /// # Errors
    /// [`SolveError::Inapplicable`] if it does not apply.
    pub fn suiting(&self, instance: &Instance) -> Result<AnyFormulation, SolveError> {
        let several = self.in_flight.map(|k| instance.with_in_flight(k));
        let several = several.transpose().map_err(|e| SolveError::Inapplicable {
            formulation: "in_flight".into(),
            instance: instance.name().into(),
            because: format!("{}, found {}; {}", e.problem, e.value, e.remedy),
        })?;
        let instance = several.as_ref().unwrap_or(instance);
        if let Some(class) = self.plan_class {
            return match self.formulation {
                Some(Semantics::Monet) => Err(SolveError::Together {
                    first: "plan_class",
                    second: "formulation monet",
                    because: "a class has one implementation of each node",
                }),
                _ => AnyFormulation::of_class(instance, class),
            };
        }
        match self.formulation {
            None => Ok(AnyFormulation::suiting(instance)),
            Some(semantics) => AnyFormulation::of(instance, semantics),
        }
    }

    /// Threads for work beside a solve.
    ///
    /// # Errors
    /// [`SolveError::Threads`] if they cannot be started.
    pub fn pool(&self) -> Result<ThreadPool, SolveError> {
        let threads = self.threads;
        pool(threads).map_err(|source| SolveError::Threads { threads, source })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_reads_each_of_its_words_and_no_other() {
        for option in OPTIONS {
            let mut options = SolveOptions::default();
            assert!((option.is_default)(&options), "{}", option.name);
            if let ValueForm::Word(words) = option.form {
                for (word, _) in words {
                    options.set(option.name, word).unwrap();
                }
            }
            let wrong = options.set(option.name, "\u{1}").unwrap_err();
            assert!(wrong.to_string().starts_with(option.name), "{wrong}");
            let (summary, name) = (option.summary(), option.name);
            assert!(summary.len() <= 80 && !summary.contains('\n'), "{name}");
            assert!(!summary.ends_with('.'), "{name}");
            assert!(option.details().starts_with(summary), "{name}");
        }
    }

    #[test]
    fn options_of_the_link_need_one() {
        let mut options = SolveOptions::default();
        options.set("duplex", "half").unwrap();
        let alone = options.check().unwrap_err().to_string();
        assert_eq!(alone, "duplex needs offload");
        options.set("offload", "pcie4").unwrap();
        options.check().unwrap();
        let unknown = options.set("colour", "red").unwrap_err().to_string();
        assert!(unknown.contains("time_limit, gap"), "{unknown}");
    }
}
