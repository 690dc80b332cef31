//! Plan files: `remat-plan/1` JSON. The schema is `instances/schema/remat-plan-1.schema.json`.

use super::{Plan, Register, Semantics, Step};
use crate::document::{self, Data, Document, ReadError, Value};
use crate::instance::{Instance, Node, NodeId};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

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

const STATEMENTS: &str = r#"["allocate", register, "node"], ["compute", "node", register], ["compute", "node", register, implementation] or ["deallocate", register]"#;

/// A plan with what its maker recorded about it. The records are claims: [`crate::simulate::plan`] is the judge.
///
/// # Example
/// ```
/// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node};
/// use remat_instances::plan::PlanFile;
/// let nodes = vec![Node::forward("a", vec![], 10, 4)];
/// let data = InstanceData { name: "one".into(), cost_unit: CostUnit::arbitrary(), host_link: None, nodes };
/// let instance = Instance::new(data)?;
/// let text = r#"{"schema": "remat-plan/1", "instance": "one", "semantics": "checkmate", "objective": 10,
///     "peak_bytes": 4, "steps": [["allocate", 0, "a"], ["compute", "a", 0], ["deallocate", 0]]}"#;
/// let document = PlanFile::parse("one.json", text.as_bytes())?.plan(&instance)?;
/// assert_eq!(document.plan.steps.len(), 3);
/// let written = document.write(&instance);
/// assert_eq!(PlanFile::parse("again.json", written.as_bytes())?.plan(&instance)?, document);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanDocument {
    /// The plan.
    pub plan: Plan,
    /// Memory budget that it was made for, in bytes.
    pub budget_bytes: Option<u64>,
    /// Total cost in the instance's cost unit.
    pub objective: u64,
    /// Largest memory in bytes, fixed memory included.
    pub peak_bytes: u64,
}

/// A plan file whose header is read: enough to know which instance to read, and which view of it.
#[derive(Debug)]
pub struct PlanFile {
    document: Document,
    instance: String,
    semantics: Semantics,
}

impl PlanFile {
    /// Opens a plan file, JSON or gzipped JSON.
    ///
    /// # Errors
    /// [`ReadError`] if it is not a plan file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::parse(&path.display().to_string(), &document::load(path)?)
    }

    /// Parses the bytes of a plan file; `name` stands for the file in errors.
    ///
    /// # Errors
    /// As [`PlanFile::open`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let document = Document::parse(name, bytes)?;
        let (instance, semantics) = header(&document)?;
        Ok(PlanFile {
            document,
            instance,
            semantics,
        })
    }

    /// Name of the instance that the plan was made for.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The semantics of the plan.
    ///
    /// A plan with Checkmate's semantics is one for the view with one implementation of each node
    /// ([`Instance::single_implementation_view`]).
    pub fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// Reads the plan for its instance; nodes are found by their names.
    ///
    /// # Errors
    /// [`ReadError`] for a plan of another instance, or the first statement that is none or that names a node or an
    /// implementation the instance does not have. Whether the plan can be executed is for [`crate::simulate::plan`].
    pub fn plan(&self, instance: &Instance) -> Result<PlanDocument, ReadError> {
        let document = &self.document;
        let top = document.fields(document.root(), "a plan")?;
        if self.instance != instance.name() {
            let made_for = top.need("instance", "the name of the instance")?;
            let problem = "the plan was made for another instance";
            let remedy = format!("the instance at hand is {:?}", instance.name());
            return Err(document.fail(made_for, problem, remedy));
        }
        let budget = top.get("budget_bytes");
        let budget_bytes = budget
            .map(|value| total(document, value, "the budget in bytes"))
            .transpose()?;
        let need = |key: &str, what: &str| total(document, top.need(key, what)?, what);
        let objective = need("objective", "the total cost")?;
        let peak_bytes = need("peak_bytes", "the largest memory in bytes")?;
        let steps = document.list(top.need("steps", "a list of statements")?, "a list")?;
        let reader = StepReader::new(document, instance);
        let steps = steps
            .iter()
            .map(|step| reader.step(step))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(PlanDocument {
            plan: Plan {
                instance: instance.name().into(),
                semantics: self.semantics,
                steps,
            },
            budget_bytes,
            objective,
            peak_bytes,
        })
    }
}

fn header(document: &Document) -> Result<(String, Semantics), ReadError> {
    let top = document.fields(document.root(), "a plan: an object with `steps`")?;
    let wanted = format!("{SCHEMA:?}");
    let schema = top.need("schema", &wanted)?;
    if document.string(schema, &wanted)? != SCHEMA {
        let problem = "this file is not a plan, or one of another version";
        return Err(document.fail(
            schema,
            problem,
            format!("a plan file has the schema {wanted}"),
        ));
    }
    top.only(&FIELDS)?;
    let instance = top.need("instance", "the name of the instance")?;
    let instance = document.string(instance, "the name of the instance")?;
    let what = "\"checkmate\" or \"monet\"";
    let semantics = top.need("semantics", what)?;
    let name = document.string(semantics, what)?;
    let semantics = name.parse::<Semantics>().map_err(|_| {
        let problem = "these semantics are unknown";
        document.fail(semantics, problem, format!("give {what}"))
    })?;
    Ok((instance.to_owned(), semantics))
}

impl PlanDocument {
    /// Writes the plan for its instance: JSON, one statement a line, nodes by name.
    ///
    /// A statement is `["allocate", register, node]`, `["compute", node, register]`, the same with the implementation where
    /// the node has several (its name, or its index where names do not tell them apart and it is not the first), or
    /// `["deallocate", register]`. A node that the instance does not have is
    /// written as `null`.
    pub fn write(&self, instance: &Instance) -> String {
        let mut out = String::with_capacity(64 * self.plan.steps.len() + 256);
        let semantics = self.plan.semantics.as_str();
        let name = quoted(&self.plan.instance);
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
        let name = |node: NodeId| match instance.nodes().get(node.index()) {
            Some(known) => quoted(&known.name),
            None => "null".into(),
        };
        for (at, step) in self.plan.steps.iter().enumerate() {
            out.push_str(if at == 0 { "\n    " } else { ",\n    " });
            let _ = match *step {
                Step::Allocate { register, node } => {
                    write!(out, "[\"allocate\", {}, {}]", register.0, name(node))
                }
                Step::Compute {
                    node,
                    register,
                    implementation,
                } => {
                    let _ = write!(out, "[\"compute\", {}, {}", name(node), register.0);
                    let known = instance.nodes().get(node.index());
                    match known.and_then(|v| telling_name(v, implementation)) {
                        Some(name) => write!(out, ", {}]", quoted(name)),
                        None if implementation > 0 => write!(out, ", {implementation}]"),
                        None => write!(out, "]"),
                    }
                }
                Step::Deallocate { register } => {
                    write!(out, "[\"deallocate\", {}]", register.0)
                }
            };
        }
        out.push_str("\n  ]\n}\n");
        out
    }
}

/// The name of an implementation, where the node has others and none of the same name.
fn telling_name(node: &Node, implementation: u16) -> Option<&str> {
    let all = &node.implementations;
    let name = all.get(usize::from(implementation))?.name.as_str();
    let same = all.iter().filter(|p| p.name == name).count();
    (all.len() > 1 && !name.is_empty() && same == 1).then_some(name)
}

/// A string as JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A total over a whole plan: larger than the values of single nodes may be, but within 63 bits.
fn total(document: &Document, value: &Value, what: &str) -> Result<u64, ReadError> {
    match value.data {
        Data::Unsigned(n) if n <= i64::MAX as u64 => Ok(n),
        _ => Err(document.fail(
            value,
            "not a whole number from 0 to 2^63 - 1",
            format!("give {what} as a whole number"),
        )),
    }
}

struct StepReader<'a> {
    document: &'a Document,
    instance: &'a Instance,
    ids: BTreeMap<&'a str, NodeId>,
}

impl<'a> StepReader<'a> {
    fn new(document: &'a Document, instance: &'a Instance) -> Self {
        let ids = instance
            .ids()
            .map(|id| (instance.node(id).name.as_str(), id))
            .collect();
        StepReader {
            document,
            instance,
            ids,
        }
    }

    fn step(&self, step: &Value) -> Result<Step, ReadError> {
        let parts = self
            .document
            .list(step, &format!("a statement: {STATEMENTS}"))?;
        let verb = match parts.first().map(|v| &v.data) {
            Some(Data::String(verb)) => verb.as_str(),
            _ => "",
        };
        match (verb, parts) {
            ("allocate", [_, register, node]) => Ok(Step::Allocate {
                register: self.register(register)?,
                node: self.node(node)?,
            }),
            ("compute", [_, node, register]) => Ok(Step::Compute {
                node: self.node(node)?,
                register: self.register(register)?,
                implementation: 0,
            }),
            ("compute", [_, node, register, implementation]) => {
                let node = self.node(node)?;
                Ok(Step::Compute {
                    node,
                    register: self.register(register)?,
                    implementation: self.implementation(node, implementation)?,
                })
            }
            ("deallocate", [_, register]) => Ok(Step::Deallocate {
                register: self.register(register)?,
            }),
            _ => {
                let remedy = format!("give {STATEMENTS}");
                Err(self.document.fail(step, "this is not a statement", remedy))
            }
        }
    }

    /// An implementation by its index, or by a name that only one of them has.
    fn implementation(&self, node: NodeId, value: &Value) -> Result<u16, ReadError> {
        let all = &self.instance.node(node).implementations;
        let count = all.len().min(usize::from(u16::MAX) + 1);
        let Data::String(name) = &value.data else {
            let what = "implementation of this node";
            return Ok(self.document.index(value, count, what)? as u16);
        };
        let mut same = (0..count).filter(|k| all[*k].name == *name);
        match (same.next(), same.next()) {
            (Some(k), None) => Ok(k as u16),
            (found, _) => {
                let problem = match found {
                    Some(_) => "several implementations of this node have this name",
                    None => "this node has no implementation of this name",
                };
                let remedy = format!("give its index, from 0 to {}", count - 1);
                Err(self.document.fail(value, problem, remedy))
            }
        }
    }

    fn register(&self, value: &Value) -> Result<Register, ReadError> {
        let number = self.document.unsigned(value, "the number of a register")?;
        u32::try_from(number).map(Register).map_err(|_| {
            let remedy = "registers are numbered from 0 to 4294967295";
            let problem = "the number of the register is too large";
            self.document.fail(value, problem, remedy)
        })
    }

    fn node(&self, value: &Value) -> Result<NodeId, ReadError> {
        let name = self.document.string(value, "the name of a node")?;
        self.ids.get(name).copied().ok_or_else(|| {
            let problem = format!("instance {:?} has no such node", self.instance.name());
            let example = &self.instance.nodes()[0].name;
            let remedy = format!("give the name of a node, for example {example:?}");
            self.document.fail(value, problem, remedy)
        })
    }
}
