//! The benchmark flavour of `remat-instance/1`: one structure, with a table of sizes and costs for
//! each of two programs.
//!
//! Table `A` is for MONeT's program and defines the instance. Table `B` is for Checkmate's program:
//! it defines the stated view with one implementation per node. Sizes are in KiB, costs in
//! hundredths of a millisecond. "Instance files" in the README of the benchmark collection
//! describes each key.

use super::decimals::Decimals;
use super::{ascending, earlier, validated};
use crate::document::{Document, Failure, FaultKind, Spanned, missing};
use crate::instance::{
    CostUnit, Gradient, Implementation, InPlace, Instance, InstanceData, Node, NodeId, NodeKind,
};
use crate::name::Name;
use crate::number::LARGEST_VALUE;
use crate::schedule::ALGORITHM_PREFIX;
use serde::Deserialize;
use serde::de::IgnoredAny;

const KIB: u64 = 1024;

#[derive(Deserialize)]
#[serde(rename = "an instance: an object with `nodes`")]
struct BenchmarkText<'d> {
    name: &'d str,
    batch: Option<u64>,
    units: Option<Units<'d>>,
    flags: Flags,
    counts: Counts,
    nodes: Vec<Spanned<NodeText<'d>>>,
}

#[derive(Deserialize)]
#[serde(rename = "an object with `cost` and `memory`")]
struct Units<'d> {
    #[serde(borrow)]
    memory: Option<Spanned<&'d str>>,
    cost: Option<Spanned<&'d str>>,
}

#[derive(Deserialize)]
#[serde(rename = "an object with `conv_choice`, `inplace`, `masks`")]
struct Flags {
    conv_choice: bool,
    #[serde(rename = "inplace")]
    in_place: bool,
}

#[derive(Deserialize)]
#[serde(rename = "the sizes: an object with `N`")]
struct Counts {
    #[serde(rename = "N")]
    nodes: Spanned<u64>,
}

#[derive(Deserialize)]
#[serde(rename = "a node: an object")]
struct NodeText<'d> {
    id: Spanned<u64>,
    kind: Kind,
    op: Option<&'d str>,
    /// -1 stands for the batch; the only entry of a by-product is minus its bytes per sample.
    shape: Option<Vec<i64>>,
    /// Inputs of each implementation.
    #[serde(rename = "deps: a list over implementations of lists of node ids")]
    needs: Spanned<Vec<Vec<Spanned<u64>>>>,
    #[serde(rename = "local: a list of node ids")]
    passing: Option<Vec<Spanned<u64>>>,
    #[serde(rename = "parent: the forward node that makes this one")]
    parent: Option<Spanned<u64>>,
    /// Names of the tensors that each implementation of a backward node keeps.
    #[serde(rename = "keeps: a list over implementations of lists of words")]
    keeps: Option<Vec<Vec<&'d str>>>,
    #[serde(rename = "fwd")]
    forward: Option<Spanned<u64>>,
    grad: Option<Part>,
    conv_slot: Option<IgnoredAny>,
    #[serde(rename = "inplace_on: the input that is overwritten")]
    in_place_on: Option<Spanned<u64>>,
    bytes: Option<u64>,
    fixed_bytes: Option<u64>,
    #[serde(rename = "A")]
    a: Spanned<TableA>,
    #[serde(rename = "B")]
    b: TableB,
}

#[derive(Deserialize)]
#[serde(rename = "kind of node", rename_all = "lowercase")]
enum Kind {
    Fwd,
    Int,
    Loss,
    Bwd,
}

#[derive(Deserialize)]
#[serde(rename = "part of a gradient", rename_all = "lowercase")]
enum Part {
    Params,
    Input,
    All,
}

/// Implementations, by-products, in-place operators, workspaces: all choices of MONeT's program. A
/// negative cost means that the algorithm is not available.
#[derive(Deserialize)]
#[serde(rename = "the table of program A: an object")]
struct TableA {
    #[serde(rename = "mem: a size in KiB")]
    mem: Spanned<u64>,
    #[serde(rename = "fixed: a size in KiB")]
    fixed: Spanned<u64>,
    #[serde(rename = "cost: a list of costs in 0.01 ms")]
    cost: Spanned<Column>,
    #[serde(rename = "ws: a list of workspaces in KiB")]
    workspace: Column,
    #[serde(rename = "cost_re: a list of costs in 0.01 ms")]
    cost_again: Option<Column>,
    #[serde(rename = "ws_re: a list of workspaces in KiB")]
    workspace_again: Option<Column>,
    #[serde(rename = "cost_ip: a list of costs in 0.01 ms")]
    cost_in_place: Option<Column>,
    #[serde(rename = "ws_ip: a list of workspaces in KiB")]
    workspace_in_place: Option<Column>,
}

/// One entry for each implementation or algorithm.
type Column = Vec<Spanned<i64>>;

/// One implementation per node, without workspace.
#[derive(Deserialize)]
#[serde(rename = "the table of program B: an object")]
struct TableB {
    #[serde(rename = "mem: a size in KiB")]
    mem: Spanned<u64>,
    #[serde(rename = "fixed: a size in KiB")]
    fixed: Spanned<u64>,
    #[serde(rename = "cost: a cost in 0.01 ms")]
    cost: Spanned<i64>,
}

/// Reads a benchmark document.
pub(super) fn read(document: &Document, decimals: Decimals) -> Result<Instance, Failure> {
    let reader = Reader(document.read()?);
    reader.check()?;
    let instance = validated(document, reader.instance(Reader::table_a)?, decimals)?;
    let view = validated(document, reader.instance(Reader::table_b)?, decimals)?;
    Ok(instance.with_stated_view(&view))
}

struct Reader<'d>(BenchmarkText<'d>);

/// Completes a node from one of its tables; the lists are the inputs of its implementations.
type Table<'d> = fn(&Reader<'d>, &NodeText<'_>, Vec<Vec<NodeId>>, &mut Node) -> Result<(), Failure>;

impl<'d> Reader<'d> {
    /// Checks the units, which are fixed for these tables, and the number of nodes. A file with
    /// other units is rejected instead of misread. `counts.N` reveals a file that was truncated and
    /// then closed.
    fn check(&self) -> Result<(), Failure> {
        let units = self.0.units.as_ref();
        let (memory, cost) = units.map_or((None, None), |units| (units.memory, units.cost));
        for (key, unit, right) in [("memory", memory, "KiB"), ("cost", cost, "0.01 ms")] {
            if let Some(unit) = unit.filter(|unit| **unit != right) {
                let problem = format!("the {key} unit is not the one of benchmark tables");
                let remedy = format!("convert the tables to {right:?}");
                return Err(FaultKind::Value.fail(unit.span, problem, remedy));
            }
        }
        let (n, count) = (self.0.counts.nodes, self.0.nodes.len());
        if *n == count as u64 {
            return Ok(());
        }
        let problem = "the number of nodes does not agree with `nodes`";
        let remedy = format!("`nodes` has {count} entries: complete it, or correct N");
        Err(FaultKind::Value.fail(n.span, problem, remedy))
    }

    fn instance(&self, table: Table<'d>) -> Result<InstanceData, Failure> {
        let nodes = self.0.nodes.iter().enumerate();
        let nodes = nodes.map(|(i, text)| self.node(i, text, table));
        Ok(InstanceData {
            name: self.0.name.into(),
            cost_unit: CostUnit {
                name: "0.01 ms".into(),
                nanoseconds: Some(1e4),
            },
            host_link: None,
            in_flight: 1,
            nodes: nodes.collect::<Result<_, _>>()?,
        })
    }

    fn node(
        &self,
        i: usize,
        text: &Spanned<NodeText<'_>>,
        table: Table<'d>,
    ) -> Result<Node, Failure> {
        if *text.id != i as u64 {
            let problem = "ids are positions in execution order: this one is repeated or misplaced";
            let remedy = format!("this node's id is {i}");
            return Err(FaultKind::Duplicate.fail(text.id.span, problem, remedy));
        }
        let op = text.op.unwrap_or_default();
        let mut node = Node {
            name: format!("{op}#{i}").into(),
            op: op.into(),
            shape: self.shape(text.shape.as_deref().unwrap_or_default()),
            kind: self.kind(text)?,
            ..Node::default()
        };
        if text.needs.is_empty() {
            let problem = "a node without an implementation";
            return Err(FaultKind::Value.fail(text.needs.span, problem, "give at least one list"));
        }
        let needs = text.needs.iter().map(|ids| self.earlier_list(text, ids));
        table(self, text, needs.collect::<Result<_, _>>()?, &mut node)?;
        Ok(node)
    }

    fn kind(&self, text: &Spanned<NodeText<'_>>) -> Result<NodeKind, Failure> {
        Ok(match text.kind {
            Kind::Fwd => NodeKind::Forward,
            Kind::Loss => NodeKind::Loss,
            Kind::Int => {
                let what = "the forward node that makes this one";
                let parent = text
                    .parent
                    .ok_or_else(|| missing(text.span, "parent", what))?;
                let parent = self.earlier(text, parent)?;
                NodeKind::ByProduct { parent }
            }
            Kind::Bwd => NodeKind::Backward {
                forward: text
                    .forward
                    .map(|twin| self.earlier(text, twin))
                    .transpose()?,
                gradient: match text.grad {
                    Some(Part::Params) => Gradient::Parameters,
                    Some(Part::Input) => Gradient::Input,
                    Some(Part::All) | None => Gradient::All,
                },
            },
        })
    }

    fn shape(&self, extents: &[i64]) -> Vec<u64> {
        let mut shape = Vec::with_capacity(extents.len());
        for &extent in extents {
            if extent < 0 {
                shape.push(self.0.batch.unwrap_or(1));
            }
            if extent != -1 {
                shape.push(extent.unsigned_abs());
            }
        }
        shape
    }

    /// A reference to a node before this one.
    fn earlier(&self, text: &NodeText<'_>, id: Spanned<u64>) -> Result<NodeId, Failure> {
        let other = id.index(self.0.nodes.len(), "node")?;
        earlier(*text.id as usize, other, id.span)
    }

    fn earlier_list(
        &self,
        text: &NodeText<'_>,
        ids: &[Spanned<u64>],
    ) -> Result<Vec<NodeId>, Failure> {
        ascending(ids.iter().map(|id| self.earlier(text, *id)))
    }

    /// Returns whether the implementations of a node are convolution algorithms.
    fn has_algorithms(&self, text: &NodeText<'_>) -> bool {
        self.0.flags.conv_choice && text.conv_slot.is_some()
    }

    /// Reads table B. If the first convolution algorithm is not available, the first available one
    /// of table A replaces it; published schedules do not use table B in that case.
    fn table_b(
        &self,
        text: &NodeText<'_>,
        mut needs: Vec<Vec<NodeId>>,
        node: &mut Node,
    ) -> Result<(), Failure> {
        node.output_bytes = size(text.b.mem, text.bytes)?;
        node.fixed_bytes = size(text.b.fixed, text.fixed_bytes)?;
        let mut available = text.a.cost.iter().filter(|cost| ***cost >= 0);
        let cost = match available.next() {
            Some(first) if *text.b.cost < 0 && self.has_algorithms(text) => *first,
            _ => text.b.cost,
        };
        let needs = needs.swap_remove(0);
        node.implementations = vec![Implementation::new(needs, cost_of(cost)?, 0)];
        Ok(())
    }

    fn table_a(
        &self,
        text: &NodeText<'_>,
        needs: Vec<Vec<NodeId>>,
        node: &mut Node,
    ) -> Result<(), Failure> {
        let table = &text.a;
        node.output_bytes = size(table.mem, text.bytes)?;
        node.fixed_bytes = size(table.fixed, text.fixed_bytes)?;
        let passing = text.passing.as_deref().unwrap_or_default();
        node.passing = self.earlier_list(text, passing)?;
        let cost_again = table.cost_again.as_ref().unwrap_or(&table.cost);
        if self.has_algorithms(text) {
            let costs = table.cost.iter().enumerate();
            for (c, _) in costs.filter(|(_, cost)| ***cost >= 0) {
                // In the published program, an algorithm's workspace has a recomputation variant,
                // but its cost has not.
                let mut algorithm = implementation(table, c, &needs[0], &table.cost)?;
                algorithm.name = format!("{ALGORITHM_PREFIX}{c}").into();
                node.implementations.push(algorithm);
            }
            if node.implementations.is_empty() {
                let problem = "no algorithm is available for this node (all costs are negative)";
                let remedy = "give one of them a cost from 0";
                return Err(FaultKind::Value.fail(table.cost.span, problem, remedy));
            }
        } else {
            let count = if node.is_backward() { needs.len() } else { 1 };
            for (p, needs) in needs.iter().take(count).enumerate() {
                let mut variant = implementation(table, p, needs, cost_again)?;
                if node.is_backward() {
                    let kept = text.keeps.as_ref().and_then(|keeps| keeps.get(p));
                    variant.name = kept.map_or_else(Name::new, |words| words.join("+").into());
                }
                node.implementations.push(variant);
            }
        }
        if let Some(on) = text.in_place_on
            && self.0.flags.in_place
            && !node.is_backward()
        {
            let cost = table.cost_in_place.as_ref().unwrap_or(&table.cost);
            let workspace = table
                .workspace_in_place
                .as_ref()
                .unwrap_or(&table.workspace);
            let cost_of = |column: &Column| Ok(cost_of(entry(table, column, 0)?)? as i64);
            node.in_place = Some(InPlace {
                on: self.earlier(text, on)?,
                cost_delta: cost_of(cost)? - cost_of(&table.cost)?,
                workspace_bytes: bytes(entry(table, workspace, 0)?)?,
            });
        }
        Ok(())
    }
}

/// A size in KiB, converted to bytes. If the exact size is also given, the two must agree.
fn size(kib: Spanned<u64>, exact: Option<u64>) -> Result<u64, Failure> {
    let Spanned { value, span } = kib;
    let value = value as i64;
    let size = bytes(Spanned { value, span })? as u64;
    if let Some(exact) = exact.filter(|exact| exact.abs_diff(size) >= KIB) {
        let problem = format!("the size is not that of the {exact} bytes given beside it");
        let remedy = format!("tables are in KiB: about {} here", exact / KIB);
        return Err(FaultKind::Value.fail(span, problem, remedy));
    }
    Ok(size)
}

fn bytes(kib: Spanned<i64>) -> Result<i64, Failure> {
    let bytes = *kib * KIB as i64;
    if bytes.unsigned_abs() <= LARGEST_VALUE {
        return Ok(bytes);
    }
    let remedy = "give a size in KiB below 2^43: check the unit";
    Err(FaultKind::Value.fail(kib.span, "the value is too large", remedy))
}

fn cost_of(cost: Spanned<i64>) -> Result<u64, Failure> {
    u64::try_from(*cost).map_err(|_| {
        let remedy = "give a cost in 0.01 ms: an integer from 0";
        FaultKind::Value.fail(cost.span, "the value is negative", remedy)
    })
}

/// Entry `p` of a column of table A.
fn entry(table: &Spanned<TableA>, column: &Column, p: usize) -> Result<Spanned<i64>, Failure> {
    column.get(p).copied().ok_or_else(|| {
        let problem = format!("a column of the table has no entry {p}");
        let remedy = "give one entry for each implementation or algorithm";
        let failure = FaultKind::Missing.fail(table.span, problem, remedy);
        failure.found(format!("{} entries", column.len()))
    })
}

/// Implementation or algorithm `p`.
fn implementation(
    table: &Spanned<TableA>,
    p: usize,
    needs: &[NodeId],
    cost_again: &Column,
) -> Result<Implementation, Failure> {
    let workspace_again = table.workspace_again.as_ref().unwrap_or(&table.workspace);
    Ok(Implementation {
        name: Name::new(),
        needs: needs.to_vec(),
        cost: cost_of(entry(table, &table.cost, p)?)?,
        workspace_bytes: bytes(entry(table, &table.workspace, p)?)?,
        recompute_cost: cost_of(entry(table, cost_again, p)?)?,
        recompute_workspace_bytes: bytes(entry(table, workspace_again, p)?)?,
    })
}
