//! The link to host memory, as Python's arguments give it.

use crate::arguments;
use crate::numbers::wrong_type;
use crate::trouble::Trouble;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use remat_bb::arguments::parse_latency;
use remat_formulations::AnyFormulation;
use remat_formulations::offload::{CopyPhase, Release};
use remat_formulations::solve::AnySolvable;
use remat_instances::instance::{Duplex, HostLink, LinkChoice, LinkRequest};
use remat_instances::{Budget, Instance};

/// A link that was asked for, and how it is used.
#[derive(Clone, Debug)]
pub struct LinkArguments {
    request: LinkRequest,
    phase: CopyPhase,
    release: Release,
}

/// Words of an argument that takes one of them, in the order of its values.
fn chosen<T: Copy>(name: &str, value: &Bound<'_, PyAny>, words: [(&str, T); 2]) -> PyResult<T> {
    let [(one, _), (other, _)] = words;
    let right = format!("{one:?} or {other:?}");
    let Ok(word) = value.extract::<String>() else {
        return Err(wrong_type(name, value, right));
    };
    let found = words.into_iter().find(|(known, _)| *known == word);
    found.map(|(_, value)| value).ok_or_else(|| {
        let problem = format!("{word:?} is none of its values");
        Trouble::argument(name, problem)
            .remedy(format!("give {right}"))
            .into()
    })
}

/// Time of a copy in nanoseconds, from a duration.
fn latency(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    match value.extract::<String>() {
        Ok(text) => parse_latency(&text).map_err(|e| Trouble::argument("link_latency", e).into()),
        Err(_) => Ok(arguments::duration("link_latency", value)?.as_nanos() as u64),
    }
}

impl LinkArguments {
    /// The keyword arguments of a function that may use a link; `None` where no link was asked for.
    /// `has_release` says whether the function bounds plans under an assumption on memory.
    ///
    /// # Errors
    /// `InvalidType`, `InvalidArgument` and `InvalidBudget` name the argument; `TypeError` for one
    /// that the function does not have.
    pub fn of(
        function: &str,
        options: Option<&Bound<'_, PyDict>>,
        has_release: bool,
    ) -> PyResult<Option<Self>> {
        let mut choice: Option<LinkChoice> = None;
        let mut host_memory_bytes = None;
        let mut latency_ns = None;
        let mut duplex = None;
        let mut phase = CopyPhase::Any;
        let mut release = Release::AtOnce;
        // The first one that says more than its default does: it needs a link.
        let mut needs: Option<String> = None;
        for (name, value) in options.into_iter().flatten() {
            let name: String = name.extract()?;
            let mut is_default = value.is_none();
            match name.as_str() {
                "offload" if value.is_none() => (),
                "offload" => {
                    let Ok(text) = value.extract::<String>() else {
                        return Err(wrong_type("offload", &value, "a link such as \"pcie4\""));
                    };
                    let link = text.parse().map_err(|e| Trouble::argument("offload", e))?;
                    choice = Some(link);
                    is_default = true;
                }
                "host_memory" if !value.is_none() => {
                    host_memory_bytes = match arguments::budget(&value)? {
                        Budget::Bytes(bytes) => Some(bytes),
                        Budget::Percent(_) => {
                            let words =
                                "a share of host memory is not known: give bytes or an amount";
                            return Err(Trouble::argument("host_memory", words).into());
                        }
                    };
                }
                "link_latency" if !value.is_none() => latency_ns = Some(latency(&value)?),
                "duplex" if !value.is_none() => {
                    let words = [("full", Duplex::Full), ("half", Duplex::Half)];
                    duplex = Some(chosen("duplex", &value, words)?);
                }
                "host_memory" | "link_latency" | "duplex" => (),
                "offload_phase" => {
                    let words = [("any", CopyPhase::Any), ("loss", CopyPhase::Loss)];
                    phase = chosen("offload_phase", &value, words)?;
                    is_default = phase == CopyPhase::Any;
                }
                "offload_release" if has_release => {
                    let words = [
                        ("at-once", Release::AtOnce),
                        ("continuous", Release::Continuous),
                    ];
                    release = chosen("offload_release", &value, words)?;
                    is_default = release == Release::AtOnce;
                }
                other => {
                    let words =
                        format!("{function}() got an unexpected keyword argument '{other}'");
                    return Err(PyTypeError::new_err(words));
                }
            }
            if !is_default {
                needs.get_or_insert(name);
            }
        }
        match (choice, needs) {
            (None, None) => Ok(None),
            (None, Some(name)) => Err(Trouble::argument(&name, "there is no link")
                .remedy("name one, for example offload=\"pcie4\"")
                .into()),
            (Some(choice), _) => Ok(Some(LinkArguments {
                request: LinkRequest {
                    choice,
                    host_memory_bytes,
                    latency_ns,
                    duplex,
                },
                phase,
                release,
            })),
        }
    }

    /// Memory of what is being copied, as the bound assumes it.
    pub fn release(&self) -> Release {
        self.release
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
        let linked = self.request.applied(instance);
        linked.map_err(|e| Trouble::argument("offload", &e).remedy(e.remedy()))
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
