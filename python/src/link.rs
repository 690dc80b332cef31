//! Links to host memory, from their texts.

use crate::trouble::Trouble;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use remat_instances::instance::HostLink;

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
