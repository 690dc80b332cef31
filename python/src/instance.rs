//! Training graphs: from files, models of the zoo, dictionaries and NetworkX.

use crate::copied_as_itself;
use crate::pickled::{Reduced, reduced};
use crate::relay::apart;
use crate::trouble::Trouble;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};
use remat_bb::failure::Failure;
use remat_bb::{door, files};
use remat_formulations::AnyFormulation;
use remat_instances::zoo::{self, ModelSpec};
use remat_instances::{budget, write_instance};
use remat_search::Solvable;
use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Name in errors of a graph from a Python object.
const OBJECT: &str = "instance";

/// A training graph: operators in execution order, with costs and sizes. Immutable.
#[pyclass(frozen, eq, weakref, module = "remat_bb")]
#[derive(PartialEq)]
pub struct Instance {
    /// The graph.
    pub inner: remat_instances::Instance,
}

/// A graph from any source that [`Instance`] takes.
///
/// # Errors
/// `InvalidInstance` names file, field, value and remedy; `FileError` for a file that does not
/// exist.
pub fn of(source: &Bound<'_, PyAny>) -> PyResult<remat_instances::Instance> {
    if let Ok(known) = source.cast::<Instance>() {
        return Ok(known.get().inner.clone());
    }
    if let Ok(text) = source.cast::<PyString>()
        && let Ok(text) = text.to_str()
        && text.starts_with("zoo:")
    {
        return Ok(apart(source.py(), || of_zoo(text))??);
    }
    if let Ok(bytes) = source.cast::<PyBytes>() {
        let bytes = bytes.as_bytes();
        return Ok(apart(source.py(), || parsed("bytes", bytes, false))??);
    }
    if let Ok(path) = source.extract::<PathBuf>() {
        return Ok(apart(source.py(), || of_file(&path))??);
    }
    let py = source.py();
    let document = match source.hasattr("is_directed")? {
        true => py
            .import("remat_bb._networkx")?
            .call_method1("document", (source,))?,
        false => source.clone(),
    };
    if !document.is_instance_of::<PyDict>() {
        let kind = source.get_type().name()?;
        let message = format!("{OBJECT}: an object of type {kind}");
        let is_module = source.hasattr("forward")? && source.hasattr("parameters")?;
        let remedy = match is_module {
            true => "plan a PyTorch model with remat_bb.torch.compile(model, budget=\"60%\")",
            false => {
                "give a path, \"zoo:MODEL\", a dictionary as in a remat-instance/1 file, or a \
                 networkx.DiGraph"
            }
        };
        return Err(Trouble::new("InvalidInstance", message)
            .at(OBJECT)
            .remedy(remedy)
            .into());
    }
    let text = json_text(&document, OBJECT, "InvalidInstance")?;
    Ok(parsed(OBJECT, text.as_bytes(), true)?)
}

/// A dictionary as JSON text. Errors are of the class `class` and call the dictionary `what`.
///
/// # Errors
/// The exception names the path of the first value without a JSON form.
pub fn json_text(document: &Bound<'_, PyAny>, what: &str, class: &str) -> PyResult<String> {
    let documents = document.py().import("remat_bb._documents")?;
    documents
        .call_method1("text", (document, what, class))?
        .extract()
}

/// The Python object of JSON text.
///
/// # Errors
/// Errors of `json.loads`, which text of this library does not cause.
pub fn json_object<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("json")?.call_method1("loads", (text,))
}

fn of_zoo(text: &str) -> Result<remat_instances::Instance, Trouble> {
    let spec: ModelSpec = text.parse().map_err(|e| Trouble::zoo(text, &e))?;
    zoo::build(&spec).map_err(|e| Trouble::zoo(text, &e))
}

fn of_file(path: &Path) -> Result<remat_instances::Instance, Trouble> {
    let input = files::document(path).map_err(|failure| {
        let model = path
            .to_str()
            .filter(|text| text.parse::<ModelSpec>().is_ok());
        match (failure, model) {
            (Failure::Open { file, problem, .. }, Some(model)) => Failure::Open {
                remedy: Some(format!("did you mean the model zoo:{model}?")),
                file,
                problem,
            },
            (other, _) => other,
        }
    })?;
    parsed(&input.name, &input.bytes, false).map_err(|trouble| {
        let wrong = door::instance(path, &input).map(Trouble::from);
        wrong.map_or(trouble, |wrong| Trouble {
            class: "InvalidInstance",
            ..wrong
        })
    })
}

fn parsed(name: &str, bytes: &[u8], is_object: bool) -> Result<remat_instances::Instance, Trouble> {
    let read = remat_instances::read_bytes(name, bytes);
    read.map_err(|e| Trouble::read("InvalidInstance", &e, is_object))
}

/// Writes text to a file, gzipped if its name ends in `.gz`. On an error the file is unchanged.
///
/// # Errors
/// `FileError` with the system's message.
pub fn save(path: &Path, text: &str) -> Result<(), Trouble> {
    let bytes = remat_lp::encode(path, text);
    let written = bytes.and_then(|bytes| remat_lp::whole_file::write(path, &[&bytes]));
    written.map_err(|e| Trouble::file(path, e))
}

copied_as_itself!(Instance);

impl Instance {
    fn suiting(&self) -> AnyFormulation {
        AnyFormulation::suiting(&self.inner)
    }
}

#[pymethods]
impl Instance {
    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        write_instance(&self.inner).hash(&mut hasher);
        hasher.finish()
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py, (Cow<'static, [u8]>,)>> {
        let text = write_instance(&self.inner).into_bytes();
        reduced(py, "Instance", (text.into(),))
    }

    /// The instance of a pickle.
    #[staticmethod]
    fn __restored__(bytes: &[u8]) -> PyResult<Self> {
        let inner = parsed("pickle", bytes, true)?;
        Ok(Instance { inner })
    }

    /// Makes an instance.
    ///
    /// Args:
    ///     source: A path to a file (``remat-instance/1``, benchmark or NetworkX node-link JSON,
    ///         plain or gzipped), ``"zoo:MODEL?parameter=value"``, a dictionary with the content of
    ///         such a file, the bytes of one, a ``networkx.DiGraph``, or an instance.
    ///
    /// Raises:
    ///     InvalidInstance: names file, field, value and remedy.
    ///     FileError: the file cannot be opened.
    #[new]
    #[pyo3(signature = (source, /))]
    fn new(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Instance { inner: of(source)? })
    }

    /// A model of the zoo by name and parameters: ``"llama?layers=24"``. :func:`zoo_models` lists
    /// them.
    ///
    /// Raises:
    ///     InvalidInstance: names the wrong model or parameter, and the valid ones.
    #[staticmethod]
    #[pyo3(signature = (model, /))]
    fn zoo(py: Python<'_>, model: &str) -> PyResult<Self> {
        let text = match model.starts_with("zoo:") {
            true => model.to_owned(),
            false => format!("zoo:{model}"),
        };
        let inner = apart(py, || of_zoo(&text))??;
        Ok(Instance { inner })
    }

    /// Name of the instance.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// Names of the operators in execution order.
    #[getter]
    fn nodes(&self) -> Vec<&str> {
        let nodes = self.inner.nodes().iter();
        nodes.map(|node| node.name.as_str()).collect()
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    /// Unit of all costs, for example ``ns``.
    #[getter]
    fn cost_unit(&self) -> &str {
        &self.inner.cost_unit().name
    }

    /// Length of a unit of cost in nanoseconds; ``None`` if it is not a unit of time.
    #[getter]
    fn cost_unit_nanoseconds(&self) -> Option<f64> {
        self.inner.cost_unit().nanoseconds
    }

    /// True if operators offer choices that only MONeT's program knows: implementations or in-place
    /// computation.
    #[getter]
    fn has_implementations(&self) -> bool {
        self.inner.has_choices()
    }

    /// True if the graph has a loss, after which the backward pass begins.
    #[getter]
    fn has_loss(&self) -> bool {
        self.inner.loss().is_some()
    }

    /// Memory that is resident under every plan: parameters, input, parameter gradients.
    #[getter]
    fn fixed_bytes(&self) -> u64 {
        self.inner.static_bytes()
    }

    /// The program that suits the instance: ``checkmate`` or ``monet``.
    #[getter]
    fn formulation(&self) -> &'static str {
        self.suiting().semantics().as_str()
    }

    /// Cost of the step without recomputation, under the program that suits the instance.
    #[getter]
    fn base_cost(&self, py: Python<'_>) -> PyResult<u64> {
        let plain = apart(py, || self.suiting().plain())?.map_err(Trouble::from)?;
        Ok(plain.cost)
    }

    /// Peak without recomputation under that program; percentages of budgets refer to it.
    #[getter]
    fn peak_memory_bytes(&self, py: Python<'_>) -> PyResult<u64> {
        let plain = apart(py, || self.suiting().plain())?.map_err(Trouble::from)?;
        Ok(plain.peak_bytes)
    }

    /// Digest of the content, as in the command's ``--json``.
    #[getter]
    fn sha256(&self) -> String {
        self.inner.digest()
    }

    /// The instance as a ``remat-instance/1`` document; ``Instance(document)`` is equal to it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_object(py, &write_instance(&self.inner))
    }

    /// The instance as a ``networkx.DiGraph``: fields of the native format as attributes,
    /// edges from tensors to readers.
    ///
    /// ``Instance(graph)`` is equal to it.
    ///
    /// Raises:
    ///     RematError: NetworkX is not installed.
    fn to_networkx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let document = self.to_dict(py)?;
        py.import("remat_bb._networkx")?
            .call_method1("graph", (document,))
    }

    /// Writes a ``remat-instance/1`` file, gzipped if its name ends in ``.gz``. On an error the
    /// file is unchanged.
    ///
    /// Raises:
    ///     FileError: with the system's message.
    #[pyo3(signature = (path, /))]
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        Ok(apart(py, || save(&path, &write_instance(&self.inner)))??)
    }

    /// A cost in words: as a time (``1.228 s``) if its unit is one, otherwise with its unit.
    #[pyo3(signature = (cost, /))]
    fn format_cost(&self, cost: u64) -> String {
        remat_report::cost(cost, self.inner.cost_unit())
    }

    fn __repr__(&self) -> String {
        let count = remat_report::counted(self.inner.len() as u64, "node");
        let cost = remat_report::cost(self.inner.base_cost(), self.inner.cost_unit());
        format!("Instance({:?}: {count}, {cost} a step)", self.inner.name())
    }
}

/// A size in words with a binary unit, for example ``5.02 GiB``.
#[pyfunction]
#[pyo3(signature = (bytes, /))]
pub fn format_bytes(bytes: u64) -> String {
    budget::format_bytes(bytes)
}

/// The models of the zoo: for each its name, its description, and its parameters with their
/// defaults and meanings.
#[pyfunction]
pub fn zoo_models(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let describe = |model: zoo::ModelInfo| {
        let parameters = PyDict::new(py);
        for parameter in model.parameters {
            parameters.set_item(parameter.name, (parameter.default, parameter.description))?;
        }
        let entry = PyDict::new(py);
        entry.set_item("name", model.name)?;
        entry.set_item("description", model.description)?;
        entry.set_item("parameters", parameters)?;
        Ok(entry)
    };
    zoo::list().into_iter().map(describe).collect()
}
