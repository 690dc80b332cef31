//! Errors, and the exceptions of `remat_bb.errors` for them.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use remat_bb::failure::Failure;
use remat_instances::budget::BudgetError;
use remat_instances::document::ReadError;
use remat_instances::replayed::ReplayedError;
use remat_instances::simulate::ReplayError;
use remat_instances::zoo::ZooError;
use remat_memory::place::PlacePlanError;
use remat_report::draw::style::DrawError;
use remat_search::SolveError;
use std::path::Path;

/// An error on its way to Python: the class of its exception, and its message.
#[derive(Clone, Debug)]
pub struct Trouble {
    /// Name of a class of `remat_bb.errors`.
    pub class: &'static str,
    /// Problem, in words.
    pub message: String,
    /// The file, the path in it, or the argument.
    pub place: Option<String>,
    /// Remedy.
    pub remedy: Option<String>,
    /// Further attributes of the exception.
    pub details: Vec<(&'static str, Detail)>,
}

/// A value of a further attribute.
#[derive(Clone, Debug)]
pub enum Detail {
    /// A whole number or `None`.
    Count(Option<u64>),
    /// A number.
    Number(f64),
    /// Text or `None`.
    Text(Option<String>),
    /// Several texts.
    Texts(Vec<String>),
}

impl Trouble {
    /// An error of a class with a message.
    pub fn new(class: &'static str, message: impl Into<String>) -> Self {
        Trouble {
            class,
            message: message.into(),
            place: None,
            remedy: None,
            details: Vec::new(),
        }
    }

    /// The same error with its place.
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    /// The same error with a remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// The same error with a further attribute.
    #[must_use]
    pub fn detail(mut self, name: &'static str, value: Detail) -> Self {
        self.details.push((name, value));
        self
    }

    /// An invalid argument.
    pub fn argument(name: &str, message: impl std::fmt::Display) -> Self {
        Trouble::new("InvalidArgument", format!("{name}: {message}")).at(name)
    }

    /// A document that cannot be read. If it came as a Python object, the place has no line.
    pub fn read(class: &'static str, error: &ReadError, is_object: bool) -> Self {
        let place = match (error.position(), is_object) {
            (_, true) => error.path().to_owned(),
            (Some(at), false) => format!("{}:{}:{}", error.file(), at.line, at.column),
            (None, false) => error.file().to_owned(),
        };
        let message = match (is_object, error.path()) {
            (true, "") => format!("{}: {}", error.file(), error.fault()),
            (true, path) => format!("{path}: {}", error.fault()),
            (false, _) => error.to_string(),
        };
        Trouble::new(class, message)
            .at(place)
            .remedy(error.fault().remedy.clone())
    }

    /// A model of the zoo that cannot be built.
    pub fn zoo(text: &str, error: &ZooError) -> Self {
        Trouble::new("InvalidInstance", format!("{text}: {error}"))
            .at(text)
            .remedy("remat_bb.zoo_models() lists all models and their parameters")
    }

    /// A plan or schedule that cannot be read or executed.
    pub fn replayed(error: ReplayedError, is_object: bool) -> Self {
        let message = error.to_string();
        match error {
            ReplayedError::Read(error) => Trouble::read("InvalidPlan", &error, is_object),
            ReplayedError::OtherInstance { file, .. } => Trouble::new("InvalidPlan", message)
                .at(file)
                .remedy("give the instance that the plan was made for"),
            ReplayedError::Addresses { file, .. } => Trouble::new("PlanRefuted", message)
                .at(file)
                .remedy("place the plan anew: plan.place()")
                .detail("differences", Detail::Texts(Vec::new())),
            ReplayedError::Replay { file, .. } => Trouble::new("PlanRefuted", message)
                .at(file)
                .remedy("check that it belongs to this instance, and that nothing was cut out")
                .detail("differences", Detail::Texts(Vec::new())),
        }
    }

    /// A file that cannot be opened or written, with the system's message.
    pub fn file(path: &Path, problem: impl std::fmt::Display) -> Self {
        let path = path.display().to_string();
        Trouble::new("FileError", format!("{path}: {problem}")).at(path)
    }

    fn exception(self, py: Python<'_>) -> PyResult<PyErr> {
        let class = py.import("remat_bb.errors")?.getattr(self.class)?;
        let named = PyDict::new(py);
        named.set_item("place", self.place)?;
        named.set_item("remedy", self.remedy)?;
        for (name, value) in self.details {
            match value {
                Detail::Count(count) => named.set_item(name, count)?,
                Detail::Number(number) => named.set_item(name, number)?,
                Detail::Text(text) => named.set_item(name, text)?,
                Detail::Texts(texts) => named.set_item(name, texts)?,
            }
        }
        let exception = class.call((self.message,), Some(&named))?;
        Ok(PyErr::from_value(exception))
    }
}

impl From<Trouble> for PyErr {
    fn from(trouble: Trouble) -> PyErr {
        Python::attach(|py| trouble.exception(py).unwrap_or_else(|error| error))
    }
}

impl From<DrawError> for Trouble {
    fn from(error: DrawError) -> Self {
        Trouble::from(Failure::from(error))
    }
}

impl From<SolveError> for Trouble {
    fn from(error: SolveError) -> Self {
        let message = error.to_string();
        match error {
            SolveError::Inapplicable { .. } => Trouble::new("InvalidArgument", message)
                .at("formulation")
                .remedy("mark the loss, or take formulation=\"checkmate\""),
            SolveError::Together {
                first,
                second,
                because,
            } => Trouble::new("InvalidArgument", format!("{first}: {because}"))
                .at(first)
                .remedy(format!("leave out {first}, or {second}")),
            SolveError::Start { index, because } => {
                let at = format!("starts[{index}]");
                Trouble::new("InvalidPlan", format!("{at}: {because}"))
                    .at(at)
                    .remedy("give plans of the same instance and formulation")
            }
            SolveError::Addresses(e) => match e.downcast_ref() {
                Some(PlacePlanError::Alignment { .. }) => Trouble::argument("alignment", e),
                _ => Trouble::argument("addresses", e),
            },
            SolveError::Threads { .. } => Trouble::new("RematError", message)
                .at("threads")
                .remedy("take fewer threads"),
            _ => Trouble::new("RematError", message),
        }
    }
}

impl From<ReplayError> for Trouble {
    fn from(error: ReplayError) -> Self {
        Trouble::new("RematError", error.to_string())
    }
}

impl From<BudgetError> for Trouble {
    fn from(error: BudgetError) -> Self {
        Trouble::new("InvalidBudget", error.to_string()).at("budget")
    }
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        let (message, place) = (failure.to_string(), failure.place());
        let trouble = match failure {
            Failure::Solve(error) => return Trouble::from(*error),
            Failure::Budget(error) => return Trouble::from(error),
            Failure::Open { remedy, .. } => Trouble {
                remedy,
                ..Trouble::new("FileError", message)
            },
            Failure::Usage { remedy, .. } => {
                Trouble::new("InvalidArgument", message).remedy(remedy)
            }
            _ => Trouble::new("RematError", message),
        };
        Trouble { place, ..trouble }
    }
}
