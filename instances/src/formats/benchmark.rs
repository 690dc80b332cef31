//! The benchmark flavour of `remat-instance/1`: one structure, and a table of sizes and costs for each of two programs.
//!
//! Table `A` is for MONeT's program: it gives the instance. Table `B` is for Checkmate's: the view with one
//! implementation of each node that the instance states. Sizes are KiB, costs hundredths of a millisecond.
//! Key by key description: "Instance files" in the README of the benchmark collection.

use super::validated;
use crate::document::{Data, Document, FaultKind, Fields, Value};
use crate::instance::{
    CostUnit, Gradient, Implementation, InPlace, Instance, InstanceData, InstanceError,
    LARGEST_VALUE, Node, NodeId, NodeKind,
};
use crate::schedule::ALGORITHM_PREFIX;

const KIB: u64 = 1024;

/// The table that nodes are read from.
#[derive(Clone, Copy)]
enum Table {
    /// Implementations, by-products, in-place operators, workspaces.
    A,
    /// One implementation of each node, no workspace.
    B,
}

/// Reads a benchmark document.
pub(super) fn read(top: &Fields<'_>) -> Result<Instance, InstanceError> {
    let instance = validated(top.document, read_table(top, Table::A)?)?;
    let view = validated(top.document, read_table(top, Table::B)?)?;
    Ok(instance.with_stated_view(&view))
}

fn read_table(top: &Fields<'_>, table: Table) -> Result<InstanceData, InstanceError> {
    let document = top.document;
    check_units(top)?;
    let name = document.string(top.need("name", "the name of the instance")?, "a name")?;
    let batch = match top.get("batch") {
        Some(batch) => document.unsigned(batch, "the batch size")?,
        None => 1,
    };
    let list = document.list(top.need("nodes", "the list of nodes")?, "the list of nodes")?;
    check_count(top, list)?;
    let flags = document.fields(
        top.need("flags", "`conv_choice`, `inplace`, `masks`")?,
        "an object",
    )?;
    let reader = Reader {
        document,
        count: list.len(),
        batch,
        table,
        conv_choice: flag(&flags, "conv_choice")?,
        in_place: flag(&flags, "inplace")?,
    };
    let mut nodes = Vec::with_capacity(list.len());
    for (i, value) in list.iter().enumerate() {
        nodes.push(reader.node(i, value)?);
    }
    Ok(InstanceData {
        name: name.into(),
        cost_unit: CostUnit {
            name: "0.01 ms".into(),
            nanoseconds: Some(1e4),
        },
        host_link: None,
        nodes,
    })
}

fn flag(flags: &Fields<'_>, key: &str) -> Result<bool, InstanceError> {
    let value = flags.need(key, "`true` or `false`")?;
    flags.document.truth(value, "`true` or `false`")
}

/// The tables are in fixed units; a file that says otherwise is refused, not misread.
fn check_units(top: &Fields<'_>) -> Result<(), InstanceError> {
    let Some(units) = top.get("units") else {
        return Ok(());
    };
    let document = top.document;
    let units = document.fields(units, "an object with `cost` and `memory`")?;
    for (key, right) in [("memory", "KiB"), ("cost", "0.01 ms")] {
        if let Some(value) = units.get(key)
            && document.string(value, "the unit's name")? != right
        {
            let problem = format!("the {key} unit is not the one of benchmark tables");
            let remedy = format!("convert the tables to {right:?}");
            return Err(document.fail(value, problem, remedy));
        }
    }
    Ok(())
}

/// `counts.N` is the number of nodes: a file that was cut and closed again shows here.
fn check_count(top: &Fields<'_>, list: &[Value]) -> Result<(), InstanceError> {
    let document = top.document;
    let counts = document.fields(top.need("counts", "the sizes")?, "an object with `N`")?;
    let n = counts.need("N", "the number of nodes")?;
    if document.unsigned(n, "the number of nodes")? == list.len() as u64 {
        return Ok(());
    }
    let remedy = format!(
        "`nodes` has {} entries: complete it, or correct N",
        list.len()
    );
    Err(document.fail(n, "the number of nodes does not agree with `nodes`", remedy))
}

struct Reader<'d> {
    document: &'d Document,
    count: usize,
    batch: u64,
    table: Table,
    conv_choice: bool,
    in_place: bool,
}

impl Reader<'_> {
    fn node(&self, i: usize, value: &Value) -> Result<Node, InstanceError> {
        let fields = self.document.fields(value, "a node: an object")?;
        let id = fields.need("id", "the position of the node")?;
        if self.document.unsigned(id, "the position of the node")? != i as u64 {
            let problem = "ids are positions in execution order: this one is repeated or misplaced";
            return Err(self
                .document
                .fail(id, problem, format!("this node's id is {i}"))
                .of_kind(FaultKind::Duplicate));
        }
        let op = match fields.get("op") {
            Some(op) => self.document.string(op, "the operator's name")?,
            None => "",
        };
        let mut node = Node {
            name: format!("{op}#{i}"),
            op: op.into(),
            shape: self.shape(&fields)?,
            kind: self.kind(i, &fields)?,
            ..Node::default()
        };
        let needs = self.needs(i, &fields)?;
        match self.table {
            Table::A => self.table_a(i, &fields, needs, &mut node)?,
            Table::B => self.table_b(&fields, needs, &mut node)?,
        }
        Ok(node)
    }

    fn kind(&self, i: usize, fields: &Fields<'_>) -> Result<NodeKind, InstanceError> {
        let what = "\"fwd\", \"int\", \"loss\" or \"bwd\"";
        let kind = fields.need("kind", what)?;
        Ok(match self.document.string(kind, what)? {
            "fwd" => NodeKind::Forward,
            "loss" => NodeKind::Loss,
            "int" => {
                let parent = fields.need("parent", "the forward node that makes this one")?;
                NodeKind::ByProduct {
                    parent: self.earlier(i, parent)?,
                }
            }
            "bwd" => {
                let forward = match fields.get("fwd") {
                    Some(twin) => Some(self.earlier(i, twin)?),
                    None => None,
                };
                let gradient = match fields.get("grad") {
                    Some(grad) => self.gradient(grad)?,
                    None => Gradient::All,
                };
                NodeKind::Backward { forward, gradient }
            }
            _ => {
                let remedy = format!("the kinds are {what}");
                return Err(self
                    .document
                    .fail(kind, "the kind of node is unknown", remedy));
            }
        })
    }

    fn gradient(&self, value: &Value) -> Result<Gradient, InstanceError> {
        let what = "\"params\", \"input\" or \"all\"";
        match self.document.string(value, what)? {
            "params" => Ok(Gradient::Parameters),
            "input" => Ok(Gradient::Input),
            "all" => Ok(Gradient::All),
            _ => {
                let problem = "this part of a gradient is unknown";
                Err(self.document.fail(value, problem, format!("give {what}")))
            }
        }
    }

    /// -1 stands for the batch; a by-product's only entry is minus its bytes a sample.
    fn shape(&self, fields: &Fields<'_>) -> Result<Vec<u64>, InstanceError> {
        let Some(shape) = fields.get("shape") else {
            return Ok(Vec::new());
        };
        let list = self.document.list(shape, "the shape: a list of integers")?;
        let mut extents = Vec::with_capacity(list.len());
        for value in list {
            let extent = self.document.signed(value, "an extent")?;
            if extent >= 0 {
                extents.push(extent as u64);
                continue;
            }
            extents.push(self.batch);
            if extent != -1 {
                extents.push(extent.unsigned_abs());
            }
        }
        Ok(extents)
    }

    fn earlier(&self, i: usize, value: &Value) -> Result<NodeId, InstanceError> {
        let other = self.document.index(value, self.count, "node")?;
        if other < i {
            return Ok(NodeId::from(other));
        }
        let problem = format!(
            "node {i} refers to a node that does not come before it (a cycle, or a wrong order)"
        );
        let remedy = format!("list the nodes in execution order: inputs of node {i} are below {i}");
        Err(self
            .document
            .fail(value, problem, remedy)
            .of_kind(FaultKind::Order))
    }

    fn earlier_list(&self, i: usize, value: &Value) -> Result<Vec<NodeId>, InstanceError> {
        let list = self.document.list(value, "a list of node ids")?;
        let ids: Result<Vec<_>, _> = list.iter().map(|v| self.earlier(i, v)).collect();
        let mut ids = ids?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    /// Inputs of each implementation p.
    fn needs(&self, i: usize, fields: &Fields<'_>) -> Result<Vec<Vec<NodeId>>, InstanceError> {
        let what = "a list over implementations of lists of node ids";
        let value = fields.need("deps", what)?;
        let list = self.document.list(value, what)?;
        if list.is_empty() {
            let problem = "a node without an implementation";
            return Err(self.document.fail(value, problem, "give at least one list"));
        }
        list.iter().map(|v| self.earlier_list(i, v)).collect()
    }

    /// A size in KiB, as bytes. Where the exact size stands beside it, the two must agree.
    fn kib(
        &self,
        fields: &Fields<'_>,
        table: &Fields<'_>,
        key: &str,
        exact: &str,
    ) -> Result<u64, InstanceError> {
        let value = table.need(key, "a size in KiB")?;
        let kib = self.document.unsigned(value, "a size in KiB")?;
        let bytes = self.scale(value, kib as i64)? as u64;
        if let Some(exact) = fields.get(exact) {
            let exact = self.document.unsigned(exact, "a size in bytes")?;
            if exact.abs_diff(bytes) >= KIB {
                let problem = format!("the size is not that of the {exact} bytes given beside it");
                let remedy = format!("tables are in KiB: about {} here", exact / KIB);
                return Err(self.document.fail(value, problem, remedy));
            }
        }
        Ok(bytes)
    }

    fn scale(&self, value: &Value, kib: i64) -> Result<i64, InstanceError> {
        let bytes = kib * KIB as i64;
        if bytes.unsigned_abs() <= LARGEST_VALUE {
            return Ok(bytes);
        }
        let remedy = "give a size in KiB below 2^43: check the unit";
        Err(self.document.fail(value, "the value is too large", remedy))
    }

    /// What implementation `p` of a backward node keeps, as its name.
    fn kept(&self, fields: &Fields<'_>, p: usize) -> Result<String, InstanceError> {
        let what = "a list over implementations of lists of words";
        let Some(value) = fields.get("keeps") else {
            return Ok(String::new());
        };
        let Some(words) = self.document.list(value, what)?.get(p) else {
            return Ok(String::new());
        };
        let words = self.document.list(words, "a list of words")?.iter();
        let words = words.map(|w| self.document.string(w, "a word"));
        Ok(words.collect::<Result<Vec<_>, _>>()?.join("+"))
    }

    fn table<'d>(&'d self, fields: &Fields<'d>, name: &str) -> Result<Fields<'d>, InstanceError> {
        let what = format!("the table of program {name}: an object");
        let value = fields.need(name, &what)?;
        self.document.fields(value, &what)
    }

    /// Table B: one implementation, no workspace. Where the first convolution algorithm is not available (a negative
    /// cost) the first one of table A that is takes its place; published schedules do not use table B there.
    fn table_b(
        &self,
        fields: &Fields<'_>,
        mut needs: Vec<Vec<NodeId>>,
        node: &mut Node,
    ) -> Result<(), InstanceError> {
        let table = self.table(fields, "B")?;
        node.output_bytes = self.kib(fields, &table, "mem", "bytes")?;
        node.fixed_bytes = self.kib(fields, &table, "fixed", "fixed_bytes")?;
        let what = "a cost in 0.01 ms";
        let value = table.need("cost", what)?;
        let cost = if self.conv_choice && fields.get("conv_slot").is_some() && is_negative(value) {
            let table = self.table(fields, "A")?;
            let costs = table.need("cost", "a list of integers")?;
            let mut listed = self.document.list(costs, "a list of integers")?.iter();
            let first = listed.find(|cost| !is_negative(cost));
            self.document.unsigned(first.unwrap_or(value), what)?
        } else {
            self.document.unsigned(value, what)?
        };
        node.implementations = vec![Implementation::new(needs.swap_remove(0), cost, 0)];
        Ok(())
    }

    /// Table A: everything that MONeT's program chooses from.
    fn table_a(
        &self,
        i: usize,
        fields: &Fields<'_>,
        needs: Vec<Vec<NodeId>>,
        node: &mut Node,
    ) -> Result<(), InstanceError> {
        let table = self.table(fields, "A")?;
        node.output_bytes = self.kib(fields, &table, "mem", "bytes")?;
        node.fixed_bytes = self.kib(fields, &table, "fixed", "fixed_bytes")?;
        if let Some(local) = fields.get("local") {
            node.passing = self.earlier_list(i, local)?;
        }
        let column = |key: &str| -> Result<&[Value], InstanceError> {
            let what = "a list of integers";
            self.document.list(table.need(key, what)?, what)
        };
        let variant = |key: &str, base| match table.get(key) {
            Some(value) => self.document.list(value, "a list of integers"),
            None => Ok(base),
        };
        let cost = column("cost")?;
        let workspace = column("ws")?;
        let columns = Columns {
            reader: self,
            value: table.value,
            cost,
            workspace,
            cost_again: variant("cost_re", cost)?,
            workspace_again: variant("ws_re", workspace)?,
        };
        if self.conv_choice && fields.get("conv_slot").is_some() {
            // The algorithm's cost has no recomputation variant in the published program, its workspace has.
            for c in 0..cost.len() {
                if let Some(algorithm) = columns.algorithm(c, &needs[0])? {
                    node.implementations.push(algorithm);
                }
            }
            if node.implementations.is_empty() {
                let problem = "no algorithm is available for this node (all costs are negative)";
                let value = table.need("cost", "costs")?;
                return Err(self
                    .document
                    .fail(value, problem, "give one of them a cost from 0"));
            }
        } else if node.is_backward() {
            for (p, needs) in needs.into_iter().enumerate() {
                let mut implementation = columns.implementation(p, needs)?;
                implementation.name = self.kept(fields, p)?;
                node.implementations.push(implementation);
            }
        } else {
            let needs = needs.into_iter().next().unwrap_or_default();
            node.implementations.push(columns.implementation(0, needs)?);
        }
        if let (true, false, Some(on)) =
            (self.in_place, node.is_backward(), fields.get("inplace_on"))
        {
            let cost_in_place = variant("cost_ip", cost)?;
            let workspace_in_place = variant("ws_ip", workspace)?;
            node.in_place = Some(InPlace {
                on: self.earlier(i, on)?,
                cost_delta: columns.cost(cost_in_place, 0)? - columns.cost(cost, 0)?,
                workspace_bytes: columns.bytes(workspace_in_place, 0)?,
            });
        }
        Ok(())
    }
}

fn is_negative(value: &Value) -> bool {
    match value.data {
        Data::Negative(_) => true,
        Data::Float(f) => f < 0.0,
        _ => false,
    }
}

/// The columns of table A, indexed by implementation or algorithm.
struct Columns<'d> {
    reader: &'d Reader<'d>,
    value: &'d Value,
    cost: &'d [Value],
    workspace: &'d [Value],
    cost_again: &'d [Value],
    workspace_again: &'d [Value],
}

impl Columns<'_> {
    fn entry<'v>(&self, column: &'v [Value], p: usize) -> Result<&'v Value, InstanceError> {
        column.get(p).ok_or_else(|| {
            let document = self.reader.document;
            let problem = format!("a column of the table has no entry {p}");
            let found = format!("{} entries", column.len());
            let remedy = "give one entry for each implementation or algorithm";
            document
                .fail_found(self.value, problem, found, remedy)
                .of_kind(FaultKind::Missing)
        })
    }

    fn cost(&self, column: &[Value], p: usize) -> Result<i64, InstanceError> {
        let value = self.entry(column, p)?;
        let cost = self.reader.document.unsigned(value, "a cost in 0.01 ms")?;
        Ok(cost as i64)
    }

    fn bytes(&self, column: &[Value], p: usize) -> Result<i64, InstanceError> {
        let value = self.entry(column, p)?;
        let kib = self.reader.document.signed(value, "a workspace in KiB")?;
        self.reader.scale(value, kib)
    }

    fn implementation(
        &self,
        p: usize,
        needs: Vec<NodeId>,
    ) -> Result<Implementation, InstanceError> {
        Ok(Implementation {
            name: String::new(),
            needs,
            cost: self.cost(self.cost, p)? as u64,
            workspace_bytes: self.bytes(self.workspace, p)?,
            recompute_cost: self.cost(self.cost_again, p)? as u64,
            recompute_workspace_bytes: self.bytes(self.workspace_again, p)?,
        })
    }

    /// Algorithm `c`, unless its cost is negative: then it is not available.
    fn algorithm(
        &self,
        c: usize,
        needs: &[NodeId],
    ) -> Result<Option<Implementation>, InstanceError> {
        if is_negative(self.entry(self.cost, c)?) {
            return Ok(None);
        }
        let cost = self.cost(self.cost, c)? as u64;
        Ok(Some(Implementation {
            name: format!("{ALGORITHM_PREFIX}{c}"),
            needs: needs.to_vec(),
            cost,
            workspace_bytes: self.bytes(self.workspace, c)?,
            recompute_cost: cost,
            recompute_workspace_bytes: self.bytes(self.workspace_again, c)?,
        }))
    }
}
