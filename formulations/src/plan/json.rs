//! Plan files: `remat-plan/1` JSON. The schema is `formulations/schema/remat-plan-1.schema.json`.

use super::{Plan, Register, Semantics, Step};
use crate::instance::{Instance, NodeId};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Name of the schema of plan files.
pub const SCHEMA: &str = "remat-plan/1";

const FIELDS: [&str; 7] = [
    "schema",
    "instance",
    "semantics",
    "budget_bytes",
    "objective",
    "peak_bytes",
    "steps",
];

/// A plan with what its maker recorded about it. The records are claims: [`crate::simulate::plan`] is the judge.
///
/// # Example
/// ```
/// use remat_formulations::instance::{CostUnit, Instance, InstanceData, Node};
/// use remat_formulations::plan::PlanFile;
/// let nodes = vec![Node::forward("a", vec![], 10, 4)];
/// let data = InstanceData { name: "one".into(), cost_unit: CostUnit::arbitrary(), host_link: None, nodes };
/// let instance = Instance::new(data)?;
/// let text = r#"{"schema": "remat-plan/1", "instance": "one", "semantics": "checkmate", "objective": 10,
///     "peak_bytes": 4, "steps": [["allocate", 0, "a"], ["compute", "a", 0], ["deallocate", 0]]}"#;
/// let file = PlanFile::read(text, &instance)?;
/// assert_eq!(file.plan.steps.len(), 3);
/// assert_eq!(PlanFile::read(&file.write(&instance), &instance)?, file);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanFile {
    /// The plan.
    pub plan: Plan,
    /// Memory budget that it was made for, in bytes.
    pub budget_bytes: Option<u64>,
    /// Total cost in the instance's cost unit.
    pub objective: u64,
    /// Largest memory in bytes, fixed memory included.
    pub peak_bytes: u64,
}

/// A plan file that could not be read: where, which value, what is wrong with it, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}, found {value}; {remedy}")]
pub struct PlanFileError {
    /// Where, for example `steps[12][1]`.
    pub path: String,
    /// The offending value, shortened.
    pub value: String,
    /// What is wrong with it.
    pub problem: String,
    /// What would be right.
    pub remedy: String,
}

fn error(
    path: impl Into<String>,
    value: &Value,
    problem: impl Into<String>,
    remedy: impl Into<String>,
) -> PlanFileError {
    let text = value.to_string();
    let shown = if text.chars().count() > 60 {
        text.chars().take(57).chain("...".chars()).collect()
    } else {
        text
    };
    PlanFileError {
        path: path.into(),
        value: shown,
        problem: problem.into(),
        remedy: remedy.into(),
    }
}

impl PlanFile {
    /// Reads a plan file for an instance; nodes are found by their names.
    ///
    /// # Errors
    /// [`PlanFileError`] for text that is not JSON, not of this schema, made for another instance, or that names
    /// nodes or implementations the instance does not have. Whether the plan can be executed is not looked at.
    pub fn read(text: &str, instance: &Instance) -> Result<Self, PlanFileError> {
        let value: Value = serde_json::from_str(text).map_err(|e| PlanFileError {
            path: format!("line {}, column {}", e.line(), e.column()),
            value: text
                .lines()
                .nth(e.line().saturating_sub(1))
                .map_or_else(String::new, |l| l.trim().chars().take(60).collect()),
            problem: format!("not JSON ({e})"),
            remedy: "give a plan file as `remat-bb solve --out` writes it".into(),
        })?;
        let Value::Object(object) = &value else {
            let remedy = "give an object with the fields of remat-plan/1";
            return Err(error("(top level)", &value, "a plan is an object", remedy));
        };
        if let Some(key) = object.keys().find(|k| !FIELDS.contains(&k.as_str())) {
            let problem = "a field that plan files do not have";
            let remedy = format!("the fields are {}", FIELDS.join(", "));
            return Err(error(key, &object[key], problem, remedy));
        }
        let schema = field(object, "schema")?;
        if schema != SCHEMA {
            let problem = "another schema";
            return Err(error("schema", schema, problem, format!("give {SCHEMA:?}")));
        }
        let name = field(object, "instance")?;
        if name != instance.name() {
            let problem = format!(
                "the plan was made for another instance than {:?}",
                instance.name()
            );
            let remedy = "give the instance that the plan was made for";
            return Err(error("instance", name, problem, remedy));
        }
        let semantics = match field(object, "semantics")? {
            Value::String(s) if s == "checkmate" => Semantics::Checkmate,
            Value::String(s) if s == "monet" => Semantics::Monet,
            other => {
                let remedy = "give \"checkmate\" or \"monet\"";
                return Err(error("semantics", other, "unknown semantics", remedy));
            }
        };
        let budget_bytes = match object.get("budget_bytes") {
            None | Some(Value::Null) => None,
            Some(value) => Some(number("budget_bytes", value, i64::MAX as u64)?),
        };
        let total = |name: &str| number(name, field(object, name)?, i64::MAX as u64);
        let steps = field(object, "steps")?;
        let Value::Array(list) = steps else {
            return Err(error(
                "steps",
                steps,
                "not a list",
                "give a list of statements",
            ));
        };
        let reader = StepReader::new(instance);
        let steps = list
            .iter()
            .enumerate()
            .map(|(at, step)| reader.step(at, step))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(PlanFile {
            plan: Plan {
                instance: instance.name().into(),
                semantics,
                steps,
            },
            budget_bytes,
            objective: total("objective")?,
            peak_bytes: total("peak_bytes")?,
        })
    }

    /// Writes the plan for its instance: JSON, one statement a line, nodes by name.
    ///
    /// A statement is `["allocate", register, node]`, `["compute", node, register]`, the same with the index of an
    /// implementation other than the first, or `["deallocate", register]`. A node that the instance does not have is
    /// written as `null`.
    pub fn write(&self, instance: &Instance) -> String {
        let mut out = String::with_capacity(64 * self.plan.steps.len() + 256);
        let semantics = match self.plan.semantics {
            Semantics::Checkmate => "checkmate",
            Semantics::Monet => "monet",
        };
        let name = Value::from(self.plan.instance.as_str());
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "{{\n  \"schema\": \"{SCHEMA}\",\n  \"instance\": {name},\n  \"semantics\": \"{semantics}\",\n"
        );
        if let Some(budget) = self.budget_bytes {
            let _ = writeln!(out, "  \"budget_bytes\": {budget},");
        }
        let _ = write!(
            out,
            "  \"objective\": {},\n  \"peak_bytes\": {},\n  \"steps\": [",
            self.objective, self.peak_bytes
        );
        let quoted = |node: NodeId| match instance.nodes().get(node.index()) {
            Some(known) => Value::from(known.name.as_str()),
            None => Value::Null,
        };
        for (at, step) in self.plan.steps.iter().enumerate() {
            out.push_str(if at == 0 { "\n    " } else { ",\n    " });
            let _ = match *step {
                Step::Allocate { register, node } => {
                    write!(out, "[\"allocate\", {}, {}]", register.0, quoted(node))
                }
                Step::Compute {
                    node,
                    register,
                    implementation: 0,
                } => write!(out, "[\"compute\", {}, {}]", quoted(node), register.0),
                Step::Compute {
                    node,
                    register,
                    implementation,
                } => write!(
                    out,
                    "[\"compute\", {}, {}, {implementation}]",
                    quoted(node),
                    register.0
                ),
                Step::Deallocate { register } => {
                    write!(out, "[\"deallocate\", {}]", register.0)
                }
            };
        }
        out.push_str("\n  ]\n}\n");
        out
    }
}

fn field<'a>(object: &'a Map<String, Value>, name: &str) -> Result<&'a Value, PlanFileError> {
    object.get(name).ok_or_else(|| PlanFileError {
        path: name.into(),
        value: "nothing".into(),
        problem: "the field is missing".into(),
        remedy: format!("a plan file has the fields {}", FIELDS.join(", ")),
    })
}

fn number(path: impl Into<String>, value: &Value, largest: u64) -> Result<u64, PlanFileError> {
    match value.as_u64() {
        Some(n) if n <= largest => Ok(n),
        _ => Err(error(
            path,
            value,
            "not a whole number in range",
            format!("give a whole number from 0 to {largest}"),
        )),
    }
}

struct StepReader<'a> {
    instance: &'a Instance,
    ids: BTreeMap<&'a str, NodeId>,
}

impl<'a> StepReader<'a> {
    fn new(instance: &'a Instance) -> Self {
        let ids = instance
            .ids()
            .map(|id| (instance.node(id).name.as_str(), id))
            .collect();
        StepReader { instance, ids }
    }

    fn step(&self, at: usize, step: &Value) -> Result<Step, PlanFileError> {
        let path = |k: usize| format!("steps[{at}][{k}]");
        let parts = step.as_array().map(Vec::as_slice).unwrap_or_default();
        let verb = parts.first().and_then(Value::as_str);
        let register =
            |k: usize| number(path(k), &parts[k], u64::from(u32::MAX)).map(|r| Register(r as u32));
        match (verb, parts.len()) {
            (Some("allocate"), 3) => Ok(Step::Allocate {
                register: register(1)?,
                node: self.node(path(2), &parts[2])?,
            }),
            (Some("compute"), 3 | 4) => {
                let node = self.node(path(1), &parts[1])?;
                let last = self.instance.node(node).implementations.len() as u64 - 1;
                let implementation = match parts.get(3) {
                    None => 0,
                    Some(value) => number(path(3), value, last.min(u64::from(u16::MAX)))? as u16,
                };
                Ok(Step::Compute {
                    node,
                    register: register(2)?,
                    implementation,
                })
            }
            (Some("deallocate"), 2) => Ok(Step::Deallocate {
                register: register(1)?,
            }),
            _ => Err(error(
                format!("steps[{at}]"),
                step,
                "not a statement",
                r#"give ["allocate", register, "node"], ["compute", "node", register], ["compute", "node", register, implementation] or ["deallocate", register]"#,
            )),
        }
    }

    fn node(&self, path: String, value: &Value) -> Result<NodeId, PlanFileError> {
        let known = value.as_str().and_then(|name| self.ids.get(name));
        known.copied().ok_or_else(|| {
            let problem = format!("not a node of instance {:?}", self.instance.name());
            let example = &self.instance.nodes()[0].name;
            error(
                path,
                value,
                problem,
                format!("give the name of a node, for example {example:?}"),
            )
        })
    }
}
