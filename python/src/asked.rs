//! Options of a solve from keyword arguments. One table lists the options of all functions.

use crate::arguments::{duration, number_text};
use crate::numbers::{whole_to, wrong_type};
use crate::trouble::Trouble;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use remat_formulations::options::{
    OPTIONS, OptionError, OptionGroup, SolveOption, SolveOptions, ValueForm,
};
use remat_formulations::solve::AnySolvable;
use remat_instances::Instance;
use remat_instances::nearest::nearest;

/// The time limit, threads and the seed.
pub const LIMITS: u32 = OptionGroup::Limit.bit() | OptionGroup::Workers.bit();
/// Extent of a search, and its threads.
pub const SEARCH: u32 = LIMITS | OptionGroup::Search.bit();
/// The link to host memory, and the phase of copies.
pub const COPIES: u32 = OptionGroup::Link.bit() | OptionGroup::Phase.bit();
/// The formulation.
pub const PROGRAM: u32 = OptionGroup::Program.bit();
/// All options of `solve`.
pub const ALL: u32 = u32::MAX;

/// A value in the text form that the option reads.
fn text(option: &SolveOption, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let name = option.name;
    match option.form {
        ValueForm::Switch => match value.extract::<bool>() {
            Ok(on) => Ok(on.to_string()),
            Err(_) => Err(wrong_type(name, value, "True or False")),
        },
        ValueForm::Word(words) => match value.extract::<String>() {
            Ok(word) => Ok(word),
            Err(_) => {
                let quoted = words.iter().map(|(word, _)| format!("{word:?}"));
                let right = quoted.collect::<Vec<_>>().join(" or ");
                Err(wrong_type(name, value, right))
            }
        },
        ValueForm::Whole(most) => {
            let right = format!("a whole number from 0 to {most}");
            Ok(whole_to(name, value, most, &right)?.to_string())
        }
        // Numbers are seconds, regardless of the unit of texts.
        ValueForm::Time => match value.extract::<String>() {
            Ok(text) => Ok(text),
            Err(_) => {
                let time = duration(name, value)?;
                Ok(format!("{}.{:09} s", time.as_secs(), time.subsec_nanos()))
            }
        },
        ValueForm::Fraction | ValueForm::Size => match value.extract::<String>() {
            Ok(text) => Ok(text),
            Err(_) => number_text(value).ok_or_else(|| wrong_type(name, value, "a number or text")),
        },
        ValueForm::Link => match value.extract::<String>() {
            Ok(text) => Ok(text),
            Err(_) => Err(wrong_type(name, value, "a link such as \"pcie4\"")),
        },
    }
}

/// Reads the options of some groups from the keyword arguments of a function.
///
/// # Errors
/// `InvalidType` and `InvalidArgument` name the argument; `TypeError` for one that the function
/// does not have.
pub fn options(
    function: &str,
    groups: u32,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<SolveOptions> {
    let mut options = SolveOptions::default();
    for (name, value) in given.into_iter().flatten() {
        let name: String = name.extract()?;
        let is_meant = |o: &&SolveOption| o.name == name && o.group.bit() & groups != 0;
        let Some(option) = OPTIONS.iter().find(is_meant) else {
            let known = OPTIONS.iter().filter(|o| o.group.bit() & groups != 0);
            let near = nearest(&name, known.map(|o| o.name));
            let near = near.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
            let words = format!("{function}() got an unexpected keyword argument '{name}'{near}");
            return Err(PyTypeError::new_err(words));
        };
        put(&mut options, option, &value)?;
    }
    options.check().map_err(Trouble::from)?;
    Ok(options)
}

/// Reads options from named arguments.
///
/// # Errors
/// As [`options()`].
pub fn values<const N: usize>(
    given: [(&str, Option<&Bound<'_, PyAny>>); N],
) -> PyResult<SolveOptions> {
    let mut options = SolveOptions::default();
    for (name, value) in given {
        let option = OPTIONS.iter().find(|option| option.name == name);
        if let (Some(option), Some(value)) = (option, value) {
            put(&mut options, option, value)?;
        }
    }
    Ok(options)
}

fn put(options: &mut SolveOptions, option: &SolveOption, value: &Bound<'_, PyAny>) -> PyResult<()> {
    if value.is_none() {
        return Ok(());
    }
    let text = text(option, value)?;
    let wrong = |problem| match option.form {
        ValueForm::Fraction | ValueForm::Size => format!("{text:?}: {problem}"),
        _ => problem,
    };
    let read = option.set(options, &text);
    Ok(read.map_err(|problem| Trouble::argument(option.name, wrong(problem)))?)
}

/// The instance with the requested link and number of micro-batches in flight, or unchanged without
/// a request.
///
/// # Errors
/// `InvalidArgument` for an instance that cannot have them.
pub fn linked(options: &SolveOptions, instance: Instance) -> Result<Instance, Trouble> {
    let linked = options.linked(&instance);
    let instance = linked.map_err(OptionError::from)?.unwrap_or(instance);
    let Some(k) = options.in_flight else {
        return Ok(instance);
    };
    let several = instance.with_in_flight(k);
    several.map_err(|e| Trouble::argument("in_flight", &e.problem).remedy(e.remedy))
}

/// The requested formulation, or the one that suits an instance, with the requested copies.
///
/// # Errors
/// `InvalidArgument` if the formulation does not apply to the instance.
pub fn solvable(options: &SolveOptions, instance: &Instance) -> Result<AnySolvable, Trouble> {
    Ok(AnySolvable::of(
        options.suiting(instance)?,
        options.copies(),
    ))
}

impl From<OptionError> for Trouble {
    fn from(error: OptionError) -> Self {
        let words = error.to_string();
        match error {
            OptionError::Alone { name, .. } => Trouble::argument(name, "there is no link")
                .remedy("name one, for example offload=\"pcie4\""),
            OptionError::Value { name, problem } => Trouble::argument(name, problem),
            OptionError::Link(e) => Trouble::argument("offload", &e).remedy(e.remedy()),
            OptionError::Formulation(e) => Trouble::from(e),
            OptionError::Unknown { .. } => Trouble::new("InvalidArgument", words),
        }
    }
}

/// The table of options: name, group, form, words of a choice, and description.
#[pyfunction]
pub fn options_table(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let row = |option: &SolveOption| {
        let row = PyDict::new(py);
        let (form, words) = match option.form {
            ValueForm::Word(words) => ("word", words.iter().map(|(word, _)| *word).collect()),
            ValueForm::Switch => ("switch", Vec::new()),
            ValueForm::Whole(_) => ("whole", Vec::new()),
            ValueForm::Time => ("time", Vec::new()),
            ValueForm::Fraction => ("fraction", Vec::new()),
            ValueForm::Size => ("size", Vec::new()),
            ValueForm::Link => ("link", Vec::new()),
        };
        row.set_item("name", option.name)?;
        row.set_item("group", format!("{:?}", option.group).to_lowercase())?;
        row.set_item("form", form)?;
        row.set_item("words", words)?;
        row.set_item("help", option.details())?;
        Ok(row)
    };
    OPTIONS.iter().map(row).collect()
}
