//! Settings by name.

use crate::trouble::Trouble;
use remat_instances::nearest::nearest;
use remat_lp::Algorithm;
use remat_models::ModelSettings;
use remat_solver::mip::{self, NodeSelection};
use std::thread;

/// Largest number of threads.
const MOST_THREADS: usize = 1024;

/// Settings by their names in C.
#[derive(Clone, Debug)]
pub struct Options {
    time_limit: f64,
    relative_gap: f64,
    absolute_gap: f64,
    cutoff: f64,
    feasibility_tolerance: f64,
    integrality_tolerance: f64,
    optimality_tolerance: f64,
    threads: i64,
    seed: i64,
    node_limit: i64,
    iteration_limit: i64,
    work_limit: i64,
    memory_limit: i64,
    pool_size: i64,
    presolve: bool,
    cuts: bool,
    heuristics: bool,
    recognise: bool,
    opportunistic: bool,
    exact: bool,
    /// True if lines go to the log callback.
    pub log: bool,
    algorithm: String,
    node_selection: String,
}

impl Default for Options {
    fn default() -> Self {
        let model = ModelSettings::default();
        let mip = model.mip;
        Options {
            time_limit: f64::INFINITY,
            relative_gap: mip.relative_gap,
            absolute_gap: mip.absolute_gap,
            cutoff: f64::INFINITY,
            feasibility_tolerance: mip.feasibility_tolerance,
            integrality_tolerance: mip.integrality_tolerance,
            optimality_tolerance: model.linear.lp.dual_tolerance,
            threads: 0,
            seed: 0,
            node_limit: -1,
            iteration_limit: -1,
            work_limit: -1,
            memory_limit: -1,
            pool_size: 1,
            presolve: mip.presolve,
            cuts: mip.cuts,
            heuristics: mip.heuristics,
            recognise: model.recognise,
            opportunistic: mip.opportunistic,
            exact: mip.exact,
            log: true,
            algorithm: "auto".into(),
            node_selection: "best-estimate".into(),
        }
    }
}

/// Value of an option, with its kind.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Double(f64),
    /// A whole number.
    Int(i64),
    /// A switch.
    Bool(bool),
    /// A word.
    Text(String),
}

impl Value {
    /// The value as a log shows it.
    fn text(&self) -> String {
        match self {
            Value::Double(value) => remat_report::number(*value),
            Value::Int(value) => value.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Text(value) => value.clone(),
        }
    }

    fn function(&self) -> &'static str {
        match self {
            Value::Double(_) => "double",
            Value::Int(_) => "int",
            Value::Bool(_) => "bool",
            Value::Text(_) => "string",
        }
    }
}

/// The place of an option's value.
enum SettingPlace<'a> {
    Double(&'a mut f64),
    Int(&'a mut i64),
    Bool(&'a mut bool),
    Text(&'a mut String),
}

impl SettingPlace<'_> {
    /// The value at the place.
    fn value(&self) -> Value {
        match self {
            SettingPlace::Double(value) => Value::Double(**value),
            SettingPlace::Int(value) => Value::Int(**value),
            SettingPlace::Bool(value) => Value::Bool(**value),
            SettingPlace::Text(value) => Value::Text((**value).clone()),
        }
    }
}

impl Options {
    /// Names and values of the options that differ from their defaults.
    pub fn differing(&self) -> Vec<(String, String)> {
        let (mut own, mut usual) = (self.clone(), Options::default());
        let pairs = own.places().into_iter().zip(usual.places());
        let pairs = pairs.map(|((name, own), (_, usual))| (name, own.value(), usual.value()));
        let differing = pairs.filter(|(_, own, usual)| own != usual);
        differing
            .map(|(name, own, _)| (name.into(), own.text()))
            .collect()
    }

    /// All options, each by its name.
    fn places(&mut self) -> [(&'static str, SettingPlace<'_>); 23] {
        use SettingPlace::{Bool, Double, Int, Text};
        [
            ("time_limit", Double(&mut self.time_limit)),
            ("relative_gap", Double(&mut self.relative_gap)),
            ("absolute_gap", Double(&mut self.absolute_gap)),
            ("cutoff", Double(&mut self.cutoff)),
            (
                "feasibility_tolerance",
                Double(&mut self.feasibility_tolerance),
            ),
            (
                "integrality_tolerance",
                Double(&mut self.integrality_tolerance),
            ),
            (
                "optimality_tolerance",
                Double(&mut self.optimality_tolerance),
            ),
            ("threads", Int(&mut self.threads)),
            ("seed", Int(&mut self.seed)),
            ("node_limit", Int(&mut self.node_limit)),
            ("iteration_limit", Int(&mut self.iteration_limit)),
            ("work_limit", Int(&mut self.work_limit)),
            ("memory_limit", Int(&mut self.memory_limit)),
            ("pool_size", Int(&mut self.pool_size)),
            ("presolve", Bool(&mut self.presolve)),
            ("cuts", Bool(&mut self.cuts)),
            ("heuristics", Bool(&mut self.heuristics)),
            ("recognise", Bool(&mut self.recognise)),
            ("opportunistic", Bool(&mut self.opportunistic)),
            ("exact", Bool(&mut self.exact)),
            ("log", Bool(&mut self.log)),
            ("algorithm", Text(&mut self.algorithm)),
            ("node_selection", Text(&mut self.node_selection)),
        ]
    }

    fn place(&mut self, name: &str) -> Option<SettingPlace<'_>> {
        let mut places = self.places().into_iter();
        places
            .find(|(known, _)| *known == name)
            .map(|(_, place)| place)
    }

    /// Value of an option.
    ///
    /// # Errors
    /// `REMAT_ERROR_ARGUMENT` for a name that does not exist.
    pub fn get(&self, name: &str) -> Result<Value, Trouble> {
        let mut own = self.clone();
        let place = own.place(name).ok_or_else(|| unknown(name))?;
        Ok(place.value())
    }

    /// Sets an option; an invalid value changes no option.
    ///
    /// # Errors
    /// `REMAT_ERROR_ARGUMENT` names the option and the valid values.
    pub fn set(&mut self, name: &str, value: Value) -> Result<(), Trouble> {
        let mut changed = self.clone();
        let wrong_kind = wrong_kind(name, &self.get(name)?);
        let place = changed.place(name).ok_or_else(|| unknown(name))?;
        match (place, value) {
            (SettingPlace::Double(place), Value::Double(value)) => *place = value,
            (SettingPlace::Int(place), Value::Int(value)) => *place = value,
            (SettingPlace::Bool(place), Value::Bool(value)) => *place = value,
            (SettingPlace::Text(place), Value::Text(value)) => *place = value,
            _ => return Err(wrong_kind),
        }
        changed.settings()?;
        *self = changed;
        Ok(())
    }

    /// The settings of the options.
    ///
    /// # Errors
    /// `REMAT_ERROR_ARGUMENT` for the first invalid option.
    pub fn settings(&self) -> Result<ModelSettings, Trouble> {
        let mut model = ModelSettings::default();
        let mip = &mut model.mip;
        mip.limits.seconds = seconds("time_limit", self.time_limit)?;
        mip.limits.nodes = limit("node_limit", self.node_limit)?;
        mip.limits.ticks = limit("work_limit", self.work_limit)?;
        mip.limits.memory_bytes = limit("memory_limit", self.memory_limit)?;
        mip.relative_gap = self.relative_gap;
        mip.absolute_gap = self.absolute_gap;
        mip.cutoff = (!self.cutoff.is_infinite()).then_some(self.cutoff);
        mip.feasibility_tolerance = self.feasibility_tolerance;
        mip.integrality_tolerance = self.integrality_tolerance;
        mip.threads = threads(self.threads)?;
        mip.seed = not_below_0("seed", self.seed)?;
        mip.pool_size = not_below_0("pool_size", self.pool_size)? as usize;
        (mip.presolve, mip.cuts, mip.heuristics) = (self.presolve, self.cuts, self.heuristics);
        mip.opportunistic = self.opportunistic;
        mip.node_selection = match self.node_selection.as_str() {
            "best-estimate" => NodeSelection::BestEstimate,
            "best-bound" => NodeSelection::BestBound,
            "depth-first" => NodeSelection::DepthFirst,
            other => {
                let right = "best-estimate, best-bound or depth-first";
                return Err(wrong("node_selection", other, right));
            }
        };
        mip.validate()?;
        if self.exact {
            model.ask_exact();
        }
        model.recognise = self.recognise;
        let linear = &mut model.linear;
        linear.iterations = limit("iteration_limit", self.iteration_limit)?;
        // Same offset as in the search, so that 0 is the default of both.
        linear.lp.seed = model.mip.seed.wrapping_add(1);
        linear.lp.primal_tolerance = match self.feasibility_tolerance {
            // The simplex method's own default is narrower than the search's.
            same if same == mip::Settings::default().feasibility_tolerance => {
                linear.lp.primal_tolerance
            }
            other => other,
        };
        linear.lp.dual_tolerance = self.optimality_tolerance;
        linear.validate()?;
        linear.lp.algorithm = match self.algorithm.as_str() {
            "auto" => Algorithm::Auto,
            "primal" => Algorithm::Primal,
            "dual" => Algorithm::Dual,
            "barrier" => Algorithm::Barrier,
            other => {
                let right = "auto, primal, dual or barrier";
                return Err(wrong("algorithm", other, right));
            }
        };
        if !self.presolve {
            linear.presolve = None;
        }
        Ok(model)
    }
}

fn unknown(name: &str) -> Trouble {
    let mut usual = Options::default();
    let near = nearest(name, usual.places().map(|(known, _)| known));
    let near = near.map_or(String::new(), |near| format!(" (did you mean {near:?}?)"));
    Trouble::argument(format!("there is no option {name:?}{near}"))
}

fn wrong(name: &str, value: impl ToString, right: &str) -> Trouble {
    let value = value.to_string();
    Trouble::argument(format!("option {name} is {value}: {right} is needed"))
}

/// The error of a function for another kind of option.
pub fn wrong_kind(name: &str, value: &Value) -> Trouble {
    let function = value.function();
    Trouble::argument(format!(
        "option {name} is one of remat_set_{function}_option and remat_get_{function}_option"
    ))
}

/// Seconds of a time limit; `None` for an infinite one.
///
/// # Errors
/// `REMAT_ERROR_ARGUMENT` names it.
pub fn seconds(name: &str, value: f64) -> Result<Option<f64>, Trouble> {
    match value {
        f64::INFINITY => Ok(None),
        value if (0.0..1e12).contains(&value) => Ok(Some(value)),
        value => Err(wrong(
            name,
            value,
            "a number of seconds from 0 to 1e12, or infinity",
        )),
    }
}

/// Number of threads; 0 is one per core.
///
/// # Errors
/// `REMAT_ERROR_ARGUMENT`.
pub fn threads(value: i64) -> Result<usize, Trouble> {
    match usize::try_from(value) {
        Ok(0) => Ok(thread::available_parallelism()
            .map_or(1, usize::from)
            .min(MOST_THREADS)),
        Ok(count) if count <= MOST_THREADS => Ok(count),
        _ => Err(wrong(
            "threads",
            value,
            &format!("a number from 0 to {MOST_THREADS}"),
        )),
    }
}

fn not_below_0(name: &str, value: i64) -> Result<u64, Trouble> {
    u64::try_from(value).map_err(|_| wrong(name, value, "a number from 0 up"))
}

fn limit(name: &str, value: i64) -> Result<Option<u64>, Trouble> {
    match value {
        -1 => Ok(None),
        other => u64::try_from(other)
            .map(Some)
            .map_err(|_| wrong(name, value, "a number from 0 up, or -1 for none,")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 23] = [
        "time_limit",
        "relative_gap",
        "absolute_gap",
        "cutoff",
        "feasibility_tolerance",
        "integrality_tolerance",
        "optimality_tolerance",
        "threads",
        "seed",
        "node_limit",
        "iteration_limit",
        "work_limit",
        "memory_limit",
        "pool_size",
        "presolve",
        "cuts",
        "heuristics",
        "recognise",
        "opportunistic",
        "exact",
        "log",
        "algorithm",
        "node_selection",
    ];

    #[test]
    fn defaults_are_those_of_the_solver() {
        let (ours, theirs) = (
            Options::default().settings().unwrap(),
            ModelSettings::default(),
        );
        let words = |m: &ModelSettings| format!("{:?}", m);
        let ours = ModelSettings {
            mip: mip::Settings {
                threads: theirs.mip.threads,
                ..ours.mip
            },
            ..ours
        };
        assert_eq!(words(&ours), words(&theirs));
    }

    #[test]
    fn every_option_keeps_what_it_is_set_to_and_refuses_other_kinds() {
        for name in NAMES {
            let mut options = Options::default();
            let value = match options.get(name).unwrap() {
                Value::Double(_) => Value::Double(1e-5),
                Value::Int(_) => Value::Int(3),
                Value::Bool(old) => Value::Bool(!old),
                Value::Text(_) if name == "algorithm" => Value::Text("primal".into()),
                Value::Text(_) => Value::Text("depth-first".into()),
            };
            let before = format!("{:?}", options.settings().unwrap());
            options.set(name, value.clone()).unwrap();
            assert_eq!(options.get(name).unwrap(), value, "{name}");
            let after = format!("{:?}", options.settings().unwrap());
            assert_eq!(before == after, name == "log", "{name}");
            let other = match value {
                Value::Double(_) => Value::Int(1),
                _ => Value::Double(1e-5),
            };
            let error = options.set(name, other).unwrap_err();
            assert!(error.text.contains(name), "{error:?}");
        }
    }

    #[test]
    fn values_that_make_no_sense_change_nothing() {
        let mut options = Options::default();
        let wrong = [
            ("time_limit", Value::Double(-1.0)),
            ("time_limit", Value::Double(f64::NAN)),
            ("relative_gap", Value::Double(1.0)),
            ("cutoff", Value::Double(f64::NAN)),
            ("optimality_tolerance", Value::Double(0.0)),
            ("threads", Value::Int(-1)),
            ("threads", Value::Int(1 << 40)),
            ("seed", Value::Int(-1)),
            ("node_limit", Value::Int(-2)),
            ("pool_size", Value::Int(0)),
            ("algorithm", Value::Text("interior".into())),
            ("node_selection", Value::Text(String::new())),
            ("no_such_option", Value::Bool(true)),
        ];
        let before = format!("{options:?}");
        for (name, value) in wrong {
            let error = options.set(name, value).unwrap_err();
            assert!(error.text.contains(name), "{name}: {}", error.text);
        }
        assert_eq!(format!("{options:?}"), before);
    }
}
