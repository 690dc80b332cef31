//! The link to host memory, as Python's arguments give it.

use crate::arguments;
use crate::trouble::Trouble;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use remat_formulations::offload::{CopyPhase, Release};
use remat_formulations::solve::{AnyFormulation, AnySolvable};
use remat_instances::instance::HostLink;
use remat_instances::{Budget, Instance};

/// A link that was asked for, and when it is used.
#[derive(Clone, Debug)]
pub struct LinkArguments {
    /// The link; nothing for the instance's own.
    link: Option<HostLink>,
    /// Host memory in bytes, where it was given.
    host_memory_bytes: Option<u64>,
    /// Times at which copies are made.
    phase: CopyPhase,
}

/// The argument `offload_release`.
///
/// # Errors
/// `InvalidArgument`: a word that is none, or one without a link.
pub fn release(offload_release: &str, link: Option<&LinkArguments>) -> Result<Release, Trouble> {
    let of = |problem: String| Trouble::argument("offload_release", problem);
    match (offload_release, link) {
        ("at-once", _) => Ok(Release::AtOnce),
        ("continuous", Some(_)) => Ok(Release::Continuous),
        ("continuous", None) => {
            Err(of("there is no link".into()).remedy("name one, for example offload=\"pcie4\""))
        }
        (other, _) => Err(of(format!(
            "{other:?} is no assumption on memory: give \"at-once\" or \"continuous\""
        ))),
    }
}

impl LinkArguments {
    /// The arguments `offload`, `host_memory` and `offload_phase`; nothing where no link was asked
    /// for.
    ///
    /// # Errors
    /// `InvalidArgument` and `InvalidBudget` name the argument.
    pub fn of(
        offload: Option<&str>,
        host_memory: Option<Bound<'_, PyAny>>,
        offload_phase: &str,
    ) -> PyResult<Option<Self>> {
        let phase = match offload_phase {
            "any" => CopyPhase::Any,
            "loss" => CopyPhase::Loss,
            other => {
                let problem = format!("{other:?} is no time for copies: give \"any\" or \"loss\"");
                return Err(Trouble::argument("offload_phase", problem).into());
            }
        };
        let Some(text) = offload else {
            let asked = [
                ("host_memory", host_memory.is_some()),
                ("offload_phase", phase != CopyPhase::Any),
            ];
            return match asked.iter().find(|(_, asked)| *asked) {
                None => Ok(None),
                Some((name, _)) => Err(Trouble::argument(name, "there is no link")
                    .remedy("name one, for example offload=\"pcie4\"")
                    .into()),
            };
        };
        let link = match text.trim().eq_ignore_ascii_case("on") {
            true => None,
            false => Some(
                text.parse::<HostLink>()
                    .map_err(|e| Trouble::argument("offload", e))?,
            ),
        };
        let host_memory_bytes = match host_memory {
            None => None,
            Some(size) => match arguments::budget(&size)? {
                Budget::Bytes(bytes) => Some(bytes),
                Budget::Percent(_) => {
                    let words = "a share of host memory is not known: give bytes or an amount";
                    return Err(Trouble::argument("host_memory", words).into());
                }
            },
        };
        Ok(Some(LinkArguments {
            link,
            host_memory_bytes,
            phase,
        }))
    }

    /// Times at which copies are made.
    pub fn phase(&self) -> CopyPhase {
        self.phase
    }

    /// The instance with the link.
    ///
    /// # Errors
    /// `InvalidArgument` for an instance that has none of its own where that was asked for, one
    /// whose costs are no times, and a link with a value beyond 2^53.
    pub fn applied(&self, instance: &Instance) -> Result<Instance, Trouble> {
        let link = self.link.clone().or_else(|| instance.host_link().cloned());
        let link = link.ok_or_else(|| {
            let words = format!("the instance {:?} has no host_link", instance.name());
            Trouble::argument("offload", words).remedy("name a link, for example offload=\"pcie4\"")
        })?;
        let unit = instance.cost_unit();
        if unit.nanoseconds.is_none() {
            let words = format!(
                "the cost unit {:?} of the instance {:?} is no time, and copies take time",
                unit.name,
                instance.name()
            );
            return Err(Trouble::argument("offload", words)
                .remedy("give costs in a unit of time, for example \"ns\""));
        }
        let link = HostLink {
            host_memory_bytes: self.host_memory_bytes.or(link.host_memory_bytes),
            ..link
        };
        let linked = instance.with_host_link(Some(link));
        linked.map_err(|e| Trouble::argument("offload", e))
    }
}

/// The formulation with copies where a link was asked for; its instance has it.
pub fn solvable(formulation: AnyFormulation, link: Option<&LinkArguments>) -> AnySolvable {
    AnySolvable::of(formulation, link.map(LinkArguments::phase))
}

/// Reads a link: ``"pcie3"``, ``"pcie4"``, ``"pcie5"``, ``"gh200"``, ``"gb300"``, a speed such as
/// ``"12GB/s"``, or one each way, ``"24GB/s,50GB/s"``.
///
/// Returns:
///     It as ``host_link`` of a ``remat-instance/1`` document: ``to_host_bytes_per_second``,
///     ``from_host_bytes_per_second``, ``latency_ns`` and ``duplex``.
///
/// Raises:
///     InvalidArgument: the text is none of these.
#[pyfunction]
#[pyo3(signature = (text, /))]
pub fn host_link<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyDict>> {
    let link: HostLink = text.parse().map_err(|e| Trouble::argument("offload", e))?;
    let found = PyDict::new(py);
    found.set_item("to_host_bytes_per_second", link.to_host_bytes_per_second)?;
    found.set_item(
        "from_host_bytes_per_second",
        link.from_host_bytes_per_second,
    )?;
    found.set_item("latency_ns", link.latency_ns)?;
    found.set_item("duplex", link.duplex.as_str())?;
    Ok(found)
}
