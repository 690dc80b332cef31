//! Plan files: `remat-plan/1` JSON. The schema is `instances/schema/remat-plan-1.schema.json`.

use super::addresses::{ADDRESSES_SCHEMA, AddressText, PlanAddresses, address};
use super::{HostBuffer, Plan, Register, Step};
use crate::Semantics;
use crate::document::{
    self, Document, Failure, FaultKind, Lines, ReadError, Spanned, TextOr, Unread, missing,
};
use crate::instance::{HostLink, Instance, Node, NodeId};
use crate::simulate::Replay;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Name of the schema of plan files.
pub const SCHEMA: &str = "remat-plan/1";

const STATEMENTS: &str = r#"["allocate", register, "node"], ["compute", "node", register], ["compute", "node", register, implementation], ["deallocate", register], ["offload", register, buffer], ["wait", buffer], ["prefetch", buffer, register], ["release", buffer], ["gather", register, "node"] or ["scatter", register, "node"]"#;

/// A plan file; `S` is the type of its statements, `A` of its addresses. Totals may exceed the
/// limit for values of single nodes.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename = "a plan: an object with `steps`")]
struct PlanText<'d, S, A> {
    schema: &'d str,
    instance: Spanned<&'d str>,
    #[serde(rename(deserialize = "semantics: \"checkmate\" or \"monet\""))]
    semantics: Spanned<&'d str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_bytes: Option<u128>,
    #[serde(rename(deserialize = "objective: the total cost"))]
    objective: u128,
    peak_bytes: u128,
    #[serde(skip_serializing_if = "Option::is_none")]
    host_link: Option<HostLink>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_flight: Option<Spanned<u32>>,
    #[serde(rename(deserialize = "steps: a list of statements"))]
    steps: S,
    #[serde(borrow, skip_serializing_if = "Option::is_none")]
    addresses_schema: Option<Spanned<&'d str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alignment_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arena_bytes: Option<u128>,
    #[serde(rename(deserialize = "addresses: a list of addresses"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    addresses: Option<A>,
}

impl<A: Copy> PlanText<'_, Unread, A> {
    /// Alignment, size of the arena and the list of addresses, if the plan has any.
    fn arena(&self, document: &Document) -> Result<Option<(u64, u64, A)>, Failure> {
        let Some(schema) = &self.addresses_schema else {
            let other = self.alignment_bytes.is_some() || self.arena_bytes.is_some();
            return match other || self.addresses.is_some() {
                true => Err(missing(
                    document.root(),
                    "addresses_schema",
                    &format!("{ADDRESSES_SCHEMA:?}, or take the other fields of addresses out"),
                )),
                false => Ok(None),
            };
        };
        if **schema != ADDRESSES_SCHEMA {
            let problem = "the addresses are of another version";
            let remedy = format!("give {ADDRESSES_SCHEMA:?}");
            return Err(FaultKind::Format.fail(schema.span, problem, remedy));
        }
        let lacks = |field, what| missing(document.root(), field, what);
        let alignment = self.alignment_bytes;
        let alignment = alignment.ok_or_else(|| lacks("alignment_bytes", "a number of bytes"))?;
        let arena = self.arena_bytes;
        let arena = arena.ok_or_else(|| lacks("arena_bytes", "the size of the arena"))?;
        let list = self.addresses;
        let list = list.ok_or_else(|| lacks("addresses", "a list of addresses"))?;
        Ok(Some((alignment, arena as u64, list)))
    }
}

/// A verb and its operands.
#[derive(Deserialize)]
#[serde(rename = "a statement: a list that begins with a verb such as `allocate` or `compute`")]
struct Statement<'d>(#[serde(borrow)] Vec<StatementPart<'d>>);

type StatementPart<'d> = Spanned<TextOr<'d, u64>>;

/// A plan with the records of its maker. The records are claims, which [`crate::simulate::plan`]
/// checks.
///
/// # Example
/// ```
/// use remat_instances::instance::{CostUnit, Instance, InstanceData, Node};
/// use remat_instances::plan::PlanFile;
/// let nodes = vec![Node::forward("a", vec![], 10, 4)];
/// let data = InstanceData { name: "one".into(), cost_unit: CostUnit::arbitrary(), host_link: None, in_flight: 1, nodes };
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
    /// Memory budget for which it was made, in bytes.
    pub budget_bytes: Option<u64>,
    /// Total cost in the instance's cost unit; the makespan if the plan copies to the host.
    pub objective: u64,
    /// Largest memory in bytes, fixed memory included.
    pub peak_bytes: u64,
    /// Link for which its copies were planned; replaces the instance's own.
    pub host_link: Option<HostLink>,
    /// Micro-batches in flight for which it was planned, at least 1; replaces the instance's own if
    /// it is above 1.
    pub in_flight: u32,
    /// Addresses in one arena for all memory of the plan, if it has any.
    pub addresses: Option<PlanAddresses>,
}

/// A plan file with its header parsed: enough to choose the instance to read, and the view of it.
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

    /// Parses the bytes of a plan file; errors name it `name`.
    ///
    /// # Errors
    /// The errors of [`PlanFile::open`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let document = Document::parse(name, bytes)?;
        let (instance, semantics) = header(&document).map_err(|e| document.error(e))?;
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
    /// A plan with Checkmate's semantics belongs to the view with one implementation per node
    /// ([`Instance::single_implementation_view`]).
    pub fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// Reads the plan for its instance; nodes are found by name.
    ///
    /// # Errors
    /// [`ReadError`] for a plan of another instance, or for the first invalid statement, unknown
    /// node or unknown implementation. [`crate::simulate::plan`] checks whether the plan can be
    /// executed.
    pub fn plan(&self, instance: &Instance) -> Result<PlanDocument, ReadError> {
        let read = self.read(instance);
        read.map_err(|e| self.document.error(e))
    }

    fn read(&self, instance: &Instance) -> Result<PlanDocument, Failure> {
        let text: PlanText<'_, Unread, Unread> = self.document.read()?;
        if self.instance != instance.name().as_str() {
            let problem = "the plan was made for another instance";
            let remedy = format!("the instance at hand is {:?}", instance.name());
            return Err(FaultKind::Value.fail(text.instance.span, problem, remedy));
        }
        if let Some(link) = &text.host_link {
            let known = instance.with_host_link(Some(link.clone()));
            known.map_err(|e| {
                let span = self.document.root();
                let problem = format!("{}: {}", e.path, e.problem);
                FaultKind::Value
                    .fail(span, problem, e.remedy)
                    .found(e.value)
            })?;
        }
        if let Some(in_flight) = &text.in_flight {
            let known = instance.with_in_flight(**in_flight);
            known.map_err(|e| {
                FaultKind::Value
                    .fail(in_flight.span, e.problem, e.remedy)
                    .found(e.value)
            })?;
        }
        let statements: Vec<Spanned<Statement<'_>>> = self.document.read_at(text.steps.span)?;
        let reader = StepReader::new(instance);
        let steps = statements.iter().map(|statement| reader.step(statement));
        let steps = steps.collect::<Result<_, _>>()?;
        let addresses = match text.arena(&self.document)? {
            Some((alignment_bytes, arena_bytes, list)) => {
                let list: Vec<Spanned<AddressText<'_>>> = self.document.read_at(list.span)?;
                let pieces = list.iter().map(|entry| address(entry.span, entry));
                Some(PlanAddresses {
                    alignment_bytes,
                    arena_bytes,
                    pieces: pieces.collect::<Result<_, _>>()?,
                })
            }
            None => None,
        };
        Ok(PlanDocument {
            plan: Plan {
                instance: instance.name().into(),
                semantics: self.semantics,
                steps,
            },
            budget_bytes: text.budget_bytes.map(|bytes| bytes as u64),
            objective: text.objective as u64,
            peak_bytes: text.peak_bytes as u64,
            host_link: text.host_link,
            in_flight: text.in_flight.map_or(1, |k| *k),
            addresses,
        })
    }
}

fn header(document: &Document) -> Result<(String, Semantics), Failure> {
    let problem = "this file is not a plan, or one of another version";
    let text: PlanText<'_, Unread, Unread> = document.read_as(SCHEMA, problem)?;
    let semantics = text.semantics.parse().map_err(|_| {
        let remedy = "give \"checkmate\" or \"monet\"";
        FaultKind::Value.fail(text.semantics.span, "these semantics are unknown", remedy)
    })?;
    Ok((text.instance.to_string(), semantics))
}

impl PlanDocument {
    /// A document from a plan and its replay, without addresses. If the plan copies to the host, it
    /// includes the instance's link.
    pub fn of(instance: &Instance, plan: Plan, replay: &Replay, budget_bytes: Option<u64>) -> Self {
        let link = instance.host_link().filter(|_| plan.has_copies());
        PlanDocument {
            budget_bytes,
            objective: replay.makespan,
            peak_bytes: replay.peak_bytes,
            host_link: link.cloned(),
            in_flight: instance.in_flight(),
            addresses: None,
            plan,
        }
    }

    /// Writes the plan for its instance: JSON with one statement per line, nodes by name.
    ///
    /// A statement is `["allocate", register, node]`, `["compute", node, register]`,
    /// `["deallocate", register]`, `["offload", register, buffer]`, `["wait", buffer]`,
    /// `["prefetch", buffer, register]`, `["release", buffer]`, `["gather", register, node]` or
    /// `["scatter", register, node]`. If a node has several
    /// implementations, `compute` also has the implementation: its name, or its index if the name
    /// is ambiguous and it is not the first. A node that is not in the instance is written as
    /// `null`. Addresses follow as `[kind, statement, offset, bytes]`.
    pub fn write(&self, instance: &Instance) -> String {
        let text = |text| TextOr::Text(text);
        let number = |number: u32| TextOr::Other(Some(number));
        let name = |node: NodeId| match instance.nodes().get(node.index()) {
            Some(known) => text(known.name.as_str()),
            None => TextOr::Other(None),
        };
        let statement = |step: &Step| match *step {
            Step::Allocate { register, node } => {
                vec![text("allocate"), number(register.0), name(node)]
            }
            Step::Compute {
                node,
                register,
                implementation,
            } => {
                let mut parts = vec![text("compute"), name(node), number(register.0)];
                let known = instance.nodes().get(node.index());
                match known.and_then(|v| telling_name(v, implementation)) {
                    Some(name) => parts.push(text(name)),
                    None if implementation > 0 => parts.push(number(implementation.into())),
                    None => {}
                }
                parts
            }
            Step::Deallocate { register } => vec![text("deallocate"), number(register.0)],
            Step::Offload { register, buffer } => {
                vec![text("offload"), number(register.0), number(buffer.0)]
            }
            Step::Wait { buffer } => vec![text("wait"), number(buffer.0)],
            Step::Prefetch { buffer, register } => {
                vec![text("prefetch"), number(buffer.0), number(register.0)]
            }
            Step::Release { buffer } => vec![text("release"), number(buffer.0)],
            Step::Gather { register, node } => {
                vec![text("gather"), number(register.0), name(node)]
            }
            Step::Scatter { register, node } => {
                vec![text("scatter"), number(register.0), name(node)]
            }
        };
        Lines::new(2, true).write(&PlanText {
            schema: SCHEMA,
            instance: self.plan.instance.as_str().into(),
            semantics: self.plan.semantics.as_str().into(),
            budget_bytes: self.budget_bytes.map(Into::into),
            objective: self.objective.into(),
            peak_bytes: self.peak_bytes.into(),
            host_link: self.host_link.clone(),
            in_flight: (self.in_flight > 1).then_some(self.in_flight.into()),
            steps: self.plan.steps.iter().map(statement).collect::<Vec<_>>(),
            addresses_schema: self.addresses.as_ref().map(|_| ADDRESSES_SCHEMA.into()),
            alignment_bytes: self.addresses.as_ref().map(|a| a.alignment_bytes),
            arena_bytes: self.addresses.as_ref().map(|a| a.arena_bytes.into()),
            addresses: self.addresses.as_ref().map(PlanAddresses::written),
        })
    }
}

/// The name of an implementation, if the node has several and the name is unique.
fn telling_name(node: &Node, implementation: u16) -> Option<&str> {
    let all = &node.implementations;
    let name = all.get(usize::from(implementation))?.name.as_str();
    let same = all.iter().filter(|p| p.name == name).count();
    (all.len() > 1 && !name.is_empty() && same == 1).then_some(name)
}

struct StepReader<'a> {
    instance: &'a Instance,
    ids: BTreeMap<&'a str, NodeId>,
}

impl<'a> StepReader<'a> {
    fn new(instance: &'a Instance) -> Self {
        let ids = instance.ids();
        let ids = ids
            .map(|id| (instance.node(id).name.as_str(), id))
            .collect();
        StepReader { instance, ids }
    }

    fn step(&self, step: &Spanned<Statement<'_>>) -> Result<Step, Failure> {
        let parts = step.0.as_slice();
        let verb = match parts.first().map(|part| part.value) {
            Some(TextOr::Text(verb)) => verb,
            _ => "",
        };
        match (verb, parts) {
            ("allocate", [_, register, node]) => Ok(Step::Allocate {
                register: self.register(register)?,
                node: self.node(node)?,
            }),
            ("compute", [_, node, register, rest @ ..]) if rest.len() <= 1 => {
                let node = self.node(node)?;
                let chosen = rest.first().map(|part| self.implementation(node, part));
                Ok(Step::Compute {
                    node,
                    register: self.register(register)?,
                    implementation: chosen.transpose()?.unwrap_or(0),
                })
            }
            ("deallocate", [_, register]) => Ok(Step::Deallocate {
                register: self.register(register)?,
            }),
            ("offload", [_, register, buffer]) => Ok(Step::Offload {
                register: self.register(register)?,
                buffer: self.buffer(buffer)?,
            }),
            ("wait", [_, buffer]) => Ok(Step::Wait {
                buffer: self.buffer(buffer)?,
            }),
            ("prefetch", [_, buffer, register]) => Ok(Step::Prefetch {
                buffer: self.buffer(buffer)?,
                register: self.register(register)?,
            }),
            ("release", [_, buffer]) => Ok(Step::Release {
                buffer: self.buffer(buffer)?,
            }),
            ("gather", [_, register, node]) => Ok(Step::Gather {
                register: self.register(register)?,
                node: self.node(node)?,
            }),
            ("scatter", [_, register, node]) => Ok(Step::Scatter {
                register: self.register(register)?,
                node: self.node(node)?,
            }),
            _ => {
                let remedy = format!("give {STATEMENTS}");
                let problem = "this is not a statement";
                Err(FaultKind::Value.fail(step.span, problem, remedy))
            }
        }
    }

    /// An implementation by its index, or by a name that is unique.
    fn implementation(&self, node: NodeId, part: &StatementPart<'_>) -> Result<u16, Failure> {
        let all = &self.instance.node(node).implementations;
        let count = all.len().min(usize::from(u16::MAX) + 1);
        let span = part.span;
        let name = match part.value {
            TextOr::Text(name) => name,
            TextOr::Other(value) => {
                let what = "implementation of this node";
                let index = Spanned { value, span }.index(count, what);
                return index.map(|k| k as u16);
            }
        };
        let mut same = (0..count).filter(|k| all[*k].name == name);
        match (same.next(), same.next()) {
            (Some(k), None) => Ok(k as u16),
            (found, _) => {
                let problem = match found {
                    Some(_) => "several implementations of this node have this name",
                    None => "this node has no implementation of this name",
                };
                let remedy = format!("give its index, from 0 to {}", count - 1);
                Err(FaultKind::Value.fail(span, problem, remedy))
            }
        }
    }

    fn register(&self, part: &StatementPart<'_>) -> Result<Register, Failure> {
        numbered(part, "register").map(Register)
    }

    fn buffer(&self, part: &StatementPart<'_>) -> Result<HostBuffer, Failure> {
        numbered(part, "host buffer").map(HostBuffer)
    }

    fn node(&self, part: &StatementPart<'_>) -> Result<NodeId, Failure> {
        let known = match part.value {
            TextOr::Text(name) => self.ids.get(name).copied(),
            TextOr::Other(_) => None,
        };
        known.ok_or_else(|| {
            let problem = format!("instance {:?} has no such node", self.instance.name());
            let example = &self.instance.nodes()[0].name;
            let remedy = format!("give the name of a node, for example {example:?}");
            FaultKind::Value.fail(part.span, problem, remedy)
        })
    }
}

/// The number of a register or a host buffer.
fn numbered(part: &StatementPart<'_>, what: &str) -> Result<u32, Failure> {
    let number = match part.value {
        TextOr::Other(number) => u32::try_from(number).ok(),
        TextOr::Text(_) => None,
    };
    number.ok_or_else(|| {
        let problem = format!("this is not the number of a {what}");
        let remedy = format!("{what}s are numbered from 0 to 4294967295");
        FaultKind::Value.fail(part.span, problem, remedy)
    })
}
