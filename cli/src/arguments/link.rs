//! Options of the link to host memory, for commands whose plans may copy tensors to the host.

use crate::failure::Failure;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use remat_formulations::AnyFormulation;
use remat_formulations::offload::{CopyPhase, Release};
use remat_formulations::solve::AnySolvable;
use remat_instances::Instance;
use remat_instances::budget::Budget;
use remat_instances::instance::{Duplex, LinkChoice, LinkError, LinkRequest};
use remat_instances::number::number_length;

/// Link to host memory.
#[derive(Args, Clone, Debug, Default)]
pub struct LinkOptions {
    /// Link that tensors are copied to host memory and back over: on (the instance's own
    /// host_link), pcie3, pcie4, pcie5, gh200, gb300 (12, 25, 52, 170 and 411, 193 and 211 GB/s), a
    /// speed such as 12GB/s, or one to the host and one from it: 24GB/s,50GB/s
    #[arg(long, value_name = "LINK", value_parser = parse_link)]
    pub offload: Option<LinkChoice>,
    /// Host memory for copies: bytes or an amount (64GiB) [default: that of the link, where it has
    /// a limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "offload")]
    pub host_memory: Option<u64>,
    /// Time of every copy, whatever its size, with a unit: 500ns, 10us, 1ms [default: that of the
    /// link, 0 for a link by name or speed]
    #[arg(long, value_name = "TIME", value_parser = parse_latency, requires = "offload")]
    pub link_latency: Option<u64>,
    /// Copies to the host and from it at the same time, or not [default: that of the link, full for
    /// a link by name or speed]
    #[arg(long, value_name = "DUPLEX", value_parser = duplex(), requires = "offload")]
    pub duplex: Option<Duplex>,
}

/// Times at which tensors may be copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OffloadPhase {
    /// To the host and back at any time.
    #[default]
    Any,
    /// To the host before the loss ends, back only after it.
    Loss,
}

/// Memory of what is on its way, as a bound assumes it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum OffloadRelease {
    /// Free when the copy to the host is complete, in use when the one back begins: a machine.
    #[default]
    AtOnce,
    /// Free byte by byte as it is sent, in use byte by byte as it comes: POFO's assumption.
    Continuous,
}

impl OffloadRelease {
    /// The same for the library.
    pub fn of(self) -> Release {
        match self {
            OffloadRelease::AtOnce => Release::AtOnce,
            OffloadRelease::Continuous => Release::Continuous,
        }
    }
}

/// Link to host memory, and when it is used.
#[derive(Args, Clone, Debug, Default)]
pub struct OffloadOptions {
    /// The link
    #[command(flatten)]
    pub link: LinkOptions,
    /// Copies at any time, or to the host before the loss and back after it
    #[arg(
        long,
        value_name = "PHASE",
        value_enum,
        default_value_t,
        requires = "offload"
    )]
    pub offload_phase: OffloadPhase,
}

impl OffloadOptions {
    /// The times at which copies may be made.
    pub fn phase(&self) -> CopyPhase {
        match self.offload_phase {
            OffloadPhase::Any => CopyPhase::Any,
            OffloadPhase::Loss => CopyPhase::Loss,
        }
    }

    /// The formulation with the link that was asked for, or as it is where none was.
    ///
    /// # Errors
    /// As [`LinkOptions::applied`].
    pub fn applied(&self, formulation: AnyFormulation) -> Result<AnySolvable, Failure> {
        let phase = self.phase();
        Ok(match self.link.applied(formulation.instance())? {
            None => AnySolvable::of(formulation, None),
            Some(linked) => {
                let formulation = AnyFormulation::of(&linked, formulation.semantics())?;
                AnySolvable::of(formulation, Some(phase))
            }
        })
    }
}

impl LinkOptions {
    /// The instance with the link that was asked for; `None` where none was.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an instance without a link of its own where that was asked for, one
    /// whose costs are no times, and a link with a value beyond 2^53.
    pub fn applied(&self, instance: &Instance) -> Result<Option<Instance>, Failure> {
        let Some(choice) = &self.offload else {
            return Ok(None);
        };
        let request = LinkRequest {
            choice: choice.clone(),
            host_memory_bytes: self.host_memory,
            latency_ns: self.link_latency,
            duplex: self.duplex,
        };
        let linked = request.applied(instance);
        linked.map(Some).map_err(|e| Failure::Usage {
            problem: format!("--offload: {e}"),
            remedy: e.remedy(),
        })
    }
}

fn duplex() -> impl TypedValueParser<Value = Duplex> {
    let full = "Both directions at the same time";
    let half = "One copy at a time";
    PossibleValuesParser::new([
        PossibleValue::new(Duplex::Full.as_str()).help(full),
        PossibleValue::new(Duplex::Half.as_str()).help(half),
    ])
    .map(|name| match name == Duplex::Half.as_str() {
        true => Duplex::Half,
        false => Duplex::Full,
    })
}

/// A link: `on`, a preset, or one or two speeds.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_bb::arguments::parse_link;
/// use remat_instances::instance::{HostLink, LinkChoice};
/// assert_eq!(parse_link("on"), Ok(LinkChoice::Own));
/// let link = HostLink::new(24_000_000_000, 50_000_000_000);
/// assert_eq!(parse_link("24GB/s,50GB/s"), Ok(LinkChoice::Given(link)));
/// assert!(parse_link("12").is_err());
/// ```
pub fn parse_link(text: &str) -> Result<LinkChoice, String> {
    text.parse().map_err(|e: LinkError| {
        format!(
            "{}; write on for the link of the instance, pcie3, pcie4, pcie5, gh200, gb300, a speed such as 12GB/s, or one each way: 24GB/s,50GB/s",
            e.problem
        )
    })
}

/// A size of memory in bytes, with or without a unit.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_bb::arguments::parse_size;
/// assert_eq!(parse_size("64GiB"), Ok(64 << 30));
/// assert!(parse_size("60%").is_err());
/// ```
pub fn parse_size(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(Budget::Bytes(bytes)) => Ok(bytes),
        Ok(Budget::Percent(_)) => {
            Err("a percentage of no known memory; write bytes or an amount such as 64GiB".into())
        }
        Err(_) => Err("write bytes or an amount up to 2^53 bytes, for example 64GiB".into()),
    }
}

/// A latency in nanoseconds: an amount with a unit.
///
/// # Errors
/// The problem, in words.
///
/// ```
/// use remat_bb::arguments::parse_latency;
/// assert_eq!(parse_latency("10us"), Ok(10_000));
/// assert_eq!(parse_latency("0.5 ms"), Ok(500_000));
/// assert!(parse_latency("10").is_err());
/// ```
pub fn parse_latency(text: &str) -> Result<u64, String> {
    const HOW: &str = "write an amount with a unit (ns, us, ms, s), for example 10us";
    let text = text.trim();
    let (number, unit) = text.split_at(number_length(text));
    let amount = number.replace('_', "").parse::<f64>();
    let amount = amount.map_err(|_| format!("{text:?} is not a time; {HOW}"))?;
    let scale = match unit.trim() {
        "ns" => 1.0,
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "" => return Err(format!("{text:?} has no unit; {HOW}")),
        other => return Err(format!("unknown unit {other:?}; {HOW}")),
    };
    match amount * scale {
        time if time <= LONGEST_LATENCY_NS => Ok(time.round() as u64),
        _ => Err(format!("{text:?} is more than an hour; {HOW}")),
    }
}

/// Longer latencies are mistakes, in nanoseconds.
const LONGEST_LATENCY_NS: f64 = 3.6e12;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use remat_instances::instance::{CostUnit, HostLink, InstanceData, Node};

    #[derive(Parser, Debug)]
    struct Line {
        #[command(flatten)]
        options: OffloadOptions,
    }

    fn line(arguments: &[&str]) -> Result<OffloadOptions, String> {
        let all = ["program"].iter().chain(arguments);
        let line = Line::try_parse_from(all).map_err(|e| e.to_string())?;
        Ok(line.options)
    }

    fn instance(unit: &str, link: Option<HostLink>) -> Instance {
        Instance::new(InstanceData {
            name: "one".into(),
            cost_unit: CostUnit::named(unit),
            host_link: link,
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
            let applied = line(arguments).unwrap().link.applied(of).unwrap();
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
        // A link by name has nothing of the instance's.
        let pcie4 = HostLink::new(25_000_000_000, 25_000_000_000);
        assert_eq!(link(&["--offload", "pcie4"], &owner), Some(pcie4.clone()));
        assert_eq!(
            link(&["--offload", "pcie4"], &instance("ns", None)),
            Some(pcie4)
        );
        let phase = line(&["--offload", "on", "--offload-phase", "loss"]).unwrap();
        assert_eq!(phase.offload_phase, OffloadPhase::Loss);
        assert_eq!(line(&[]).unwrap().offload_phase, OffloadPhase::Any);
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
            options.link.applied(of).unwrap_err().to_string()
        };
        let none = applied("on", &instance("ns", None));
        assert!(none.contains("has no \"host_link\""), "{none}");
        let unit = applied("pcie3", &instance("FLOP", None));
        assert!(unit.contains("\"FLOP\""), "{unit}");
        assert!(unit.contains("is no time"), "{unit}");
    }
}
