//! Schedule files, `remat-schedule/1`: the published ones and our own. Described in `docs/formats.md`.

use super::{BitMatrix, CheckmateSchedule, MonetSchedule, Semantics, algorithm_number};
use crate::document::{self, Document, FaultKind, Fields, ReadError, Value};
use crate::instance::{Instance, NodeId};
use std::path::Path;

const SCHEDULE_SCHEMA: &str = "remat-schedule/1";

/// Most entries of a matrix: a gigabyte of bits, enough for 90,000 nodes.
const LARGEST_MATRIX: u128 = 1 << 33;

const KNOWN: [&str; 16] = [
    "schema",
    "instance",
    "formulation",
    "budget_gib",
    "budget_bytes",
    "objective",
    "forward_part",
    "backward_part",
    "seconds",
    "R",
    "S",
    "P",
    "IP",
    "M",
    "RF",
    "choices",
];

/// A schedule of one of the two programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Schedule {
    /// Checkmate's (formulation B).
    Checkmate(CheckmateSchedule),
    /// MONeT's (formulation A).
    Monet(MonetSchedule),
}

impl Schedule {
    /// Number of computations beyond the first of each node; by-products count where they are made again.
    pub fn recomputations(&self) -> usize {
        match self {
            Schedule::Checkmate(s) => s.recomputations(),
            Schedule::Monet(s) => s.recomputations(),
        }
    }
}

/// A schedule with what its file says about it.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleDocument {
    /// Name of the instance that it was made for.
    pub instance: String,
    /// The budget that it was made for, in bytes, where one is recorded.
    pub budget_bytes: Option<u64>,
    /// Its recorded cost in the instance's cost unit.
    pub objective: u64,
    /// The schedule.
    pub schedule: Schedule,
}

impl ScheduleDocument {
    /// The program whose schedule this is.
    pub fn semantics(&self) -> Semantics {
        match self.schedule {
            Schedule::Checkmate(_) => Semantics::Checkmate,
            Schedule::Monet(_) => Semantics::Monet,
        }
    }
}

/// A schedule file whose header is read: enough to know which instance to read, and which view of it.
#[derive(Debug)]
pub struct ScheduleFile {
    document: Document,
    instance: String,
    semantics: Semantics,
}

impl ScheduleFile {
    /// Opens a schedule file, JSON or gzipped JSON.
    ///
    /// # Errors
    /// [`ReadError`] if it is not a schedule file.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        Self::parse(&path.display().to_string(), &document::load(path)?)
    }

    /// Parses the bytes of a schedule file; `name` stands for the file in errors.
    ///
    /// # Errors
    /// As [`ScheduleFile::open`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let document = Document::parse(name, bytes)?;
        let (instance, semantics) = header(&document)?;
        Ok(ScheduleFile {
            document,
            instance,
            semantics,
        })
    }

    /// Name of the instance that the schedule was made for.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The program whose schedule this is.
    ///
    /// A schedule of Checkmate's program is one for the view with one implementation of each node
    /// ([`Instance::single_implementation_view`]).
    pub fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// Reads the schedule for an instance, which gives the shapes and the implementations.
    ///
    /// # Errors
    /// [`ReadError`] names the first entry that does not fit. Whether the schedule can be executed is for
    /// [`crate::simulate`] to say.
    pub fn schedule(&self, instance: &Instance) -> Result<ScheduleDocument, ReadError> {
        let document = &self.document;
        let top = document.fields(document.root(), "a schedule")?;
        let what = "the cost of the schedule";
        Ok(ScheduleDocument {
            instance: self.instance.clone(),
            budget_bytes: budget(&top)?,
            objective: document.unsigned(top.need("objective", what)?, what)?,
            schedule: match self.semantics {
                Semantics::Checkmate => Schedule::Checkmate(checkmate(&top, instance)?),
                Semantics::Monet => Schedule::Monet(monet(&top, instance)?),
            },
        })
    }
}

fn header(document: &Document) -> Result<(String, Semantics), ReadError> {
    let top = document.fields(document.root(), "a schedule: an object with `R` and `S`")?;
    let wanted = format!("{SCHEDULE_SCHEMA:?}");
    let schema = top.need("schema", &wanted)?;
    if document.string(schema, &wanted)? != SCHEDULE_SCHEMA {
        let remedy = format!("a schedule file has the schema {wanted}");
        return Err(document
            .fail(schema, "this file is not a schedule", remedy)
            .of_kind(FaultKind::Format));
    }
    top.only(&KNOWN)?;
    let instance = top.need("instance", "the name of the instance")?;
    let instance = document.string(instance, "the name of the instance")?;
    let what = "\"A\" (MONeT) or \"B\" (Checkmate)";
    let formulation = top.need("formulation", what)?;
    let semantics = match document.string(formulation, what)? {
        "A" => Semantics::Monet,
        "B" => Semantics::Checkmate,
        _ => {
            let problem = "the formulation is unknown";
            return Err(document.fail(formulation, problem, format!("give {what}")));
        }
    };
    Ok((instance.to_owned(), semantics))
}

fn budget(top: &Fields<'_>) -> Result<Option<u64>, ReadError> {
    let document = top.document;
    if let Some(bytes) = top.get("budget_bytes") {
        return document.unsigned(bytes, "the budget in bytes").map(Some);
    }
    let Some(value) = top.get("budget_gib") else {
        return Ok(None);
    };
    let gib = document.float(value, "the budget in GiB")?;
    if !(0.0..=(1u64 << 23) as f64).contains(&gib) {
        let remedy = "give a budget in GiB (or `budget_bytes`)";
        return Err(document.fail(value, "the budget is out of range", remedy));
    }
    // The published programs round the budget to KiB.
    Ok(Some((gib * 1048576.0).round() as u64 * 1024))
}

/// A 0-1 matrix: its shape, and for each column the inclusive ranges of rows that hold ones.
fn matrix(
    top: &Fields<'_>,
    key: &str,
    rows: usize,
    columns: usize,
) -> Result<BitMatrix, ReadError> {
    let document = top.document;
    let what = "a matrix: `shape` and `cols`";
    let fields = document.fields(top.need(key, what)?, what)?;
    fields.only(&["shape", "cols"])?;
    let shape = fields.need("shape", "[rows, columns]")?;
    let extents = document.list(shape, "[rows, columns]")?.iter();
    let extents = extents.map(|v| document.unsigned(v, "an extent"));
    let extents: Vec<u64> = extents.collect::<Result<_, _>>()?;
    if extents != [rows as u64, columns as u64] {
        let problem = format!("{key} does not have the shape that the instance asks for");
        let remedy = format!(
            "the shape is [{rows}, {columns}]: check that instance and schedule belong together"
        );
        return Err(document.fail_found(shape, problem, format!("{extents:?}"), remedy));
    }
    if rows as u128 * columns as u128 > LARGEST_MATRIX {
        let problem = "the matrix is too large";
        return Err(document
            .fail(shape, problem, "give a schedule for a smaller instance")
            .of_kind(FaultKind::TooLarge));
    }
    let what = "a list of row ranges for each column";
    let value = fields.need("cols", what)?;
    let list = document.list(value, what)?;
    if list.len() != columns {
        let problem = format!("{key} does not have as many columns as its shape says");
        return Err(document.fail(value, problem, format!("give {columns} lists")));
    }
    let mut bits = BitMatrix::new(rows, columns);
    for (column, value) in list.iter().enumerate() {
        let ranges = document.list(value, "a list of row ranges")?;
        if ranges.len() % 2 != 0 {
            let problem = "row ranges come in pairs, first and last row";
            return Err(document.fail(value, problem, "give an even number of rows"));
        }
        let mut free = 0;
        for pair in ranges.chunks_exact(2) {
            let first = document.index(&pair[0], rows, "row")?;
            let last = document.index(&pair[1], rows, "row")?;
            if first < free || last < first {
                let problem = "row ranges are not ascending";
                let found = format!("{first} to {last}");
                let remedy = "sort the ranges, without overlap";
                return Err(document.fail_found(&pair[0], problem, found, remedy));
            }
            for row in first..=last {
                bits.set(row, column, true);
            }
            free = last + 1;
        }
    }
    Ok(bits)
}

fn checkmate(top: &Fields<'_>, instance: &Instance) -> Result<CheckmateSchedule, ReadError> {
    let n = instance.len();
    Ok(CheckmateSchedule {
        computed: matrix(top, "R", n, n)?,
        retained: matrix(top, "S", n, n)?,
    })
}

/// `P` is not read: it follows from `R` and `IP`, at its largest.
fn monet(top: &Fields<'_>, instance: &Instance) -> Result<MonetSchedule, ReadError> {
    let document = top.document;
    let Some((stages, columns)) = MonetSchedule::shape(instance) else {
        let formulation = top.need("formulation", "a formulation")?;
        let problem = "a schedule of MONeT's program needs an instance with a loss";
        return Err(document.fail(formulation, problem, "name another instance"));
    };
    let mut schedule = MonetSchedule {
        computed: matrix(top, "R", stages, columns)?,
        retained: matrix(top, "S", stages + 1, columns)?,
        in_place: match top.get("IP") {
            Some(_) => matrix(top, "IP", stages, columns)?,
            None => BitMatrix::new(stages, columns),
        },
        forward_choice: vec![vec![0; columns]; stages],
        backward_choice: vec![0; stages],
    };
    if let Some(variants) = top.get("M") {
        variants_of(document, variants, instance, &mut schedule)?;
    }
    if let Some(algorithms) = top.get("RF") {
        algorithms_of(document, algorithms, instance, &mut schedule)?;
    }
    if let Some(choices) = top.get("choices") {
        choices_of(document, choices, instance, &mut schedule)?;
    }
    Ok(schedule)
}

/// `choices`: triples of stage, forward node and implementation, for nodes whose implementations are not algorithms.
/// Not in published files; where nothing is said the first implementation runs.
fn choices_of(
    document: &Document,
    value: &Value,
    instance: &Instance,
    schedule: &mut MonetSchedule,
) -> Result<(), ReadError> {
    for triple in document.list(value, "a list of triples")? {
        let what = "[stage, node, implementation]";
        let [stage, node, implementation] = document.list(triple, what)? else {
            return Err(document.wrong_type(triple, what));
        };
        let t = document.index(stage, schedule.computed.rows(), "stage")?;
        let i = document.index(node, schedule.computed.columns(), "forward node")?;
        let count = instance.node(NodeId::from(i)).implementations.len();
        let choice = document.index(implementation, count, "implementation of this node")?;
        schedule.forward_choice[t][i] = u16::try_from(choice).unwrap_or(u16::MAX);
    }
    Ok(())
}

/// `M`: for each stage the chosen implementation of its backward node, as a list of one. The choice of nodes with an
/// algorithm choice stands in `RF`; here they have 0.
fn variants_of(
    document: &Document,
    value: &Value,
    instance: &Instance,
    schedule: &mut MonetSchedule,
) -> Result<(), ReadError> {
    let list = document.list(value, "a list over stages")?;
    let stages = schedule.backward_choice.len();
    if list.len() != stages {
        let problem = "M does not have one entry for each stage";
        return Err(document.fail(value, problem, format!("give {stages} entries")));
    }
    for (t, entry) in list.iter().enumerate() {
        let chosen = document.list(entry, "a list with the chosen implementation")?;
        let [chosen] = chosen else {
            let problem = "a stage runs its backward node once, with one implementation";
            return Err(document.fail(entry, problem, "give a list of one"));
        };
        let node = instance.node(backward_node(instance, t));
        let by_algorithm = algorithm_number(&node.implementations[0]).is_some();
        let count = if by_algorithm {
            1
        } else {
            node.implementations.len()
        };
        let choice = document.index(chosen, count, "implementation of this node")?;
        schedule.backward_choice[t] = choice as u16;
    }
    Ok(())
}

/// `RF`: triples of stage, slot (the nodes with an algorithm choice, counted in order) and algorithm.
fn algorithms_of(
    document: &Document,
    value: &Value,
    instance: &Instance,
    schedule: &mut MonetSchedule,
) -> Result<(), ReadError> {
    let (stages, columns) = (schedule.computed.rows(), schedule.computed.columns());
    let slots: Vec<NodeId> = slots(instance);
    let mut chosen = BitMatrix::new(stages, slots.len());
    for triple in document.list(value, "a list of triples")? {
        let what = "[stage, slot, algorithm]";
        let [stage, slot, algorithm] = document.list(triple, what)? else {
            return Err(document.wrong_type(triple, what));
        };
        let t = document.index(stage, stages, "stage")?;
        let k = document.index(slot, slots.len(), "node with an algorithm choice")?;
        let id = slots[k];
        let node = instance.node(id);
        let number = document.unsigned(algorithm, "the number of an algorithm")?;
        let mut names = node.implementations.iter();
        let Some(p) = names.position(|p| algorithm_number(p) == Some(number)) else {
            let problem = format!("node {id} ({}) has no such algorithm", node.name);
            let numbers = node.implementations.iter().map(|p| p.name.as_str());
            let remedy = format!("it has {}", numbers.collect::<Vec<_>>().join(", "));
            return Err(document
                .fail(algorithm, problem, remedy)
                .of_kind(FaultKind::Reference));
        };
        if chosen.get(t, k) {
            let problem = format!(
                "node {id} ({}) has an algorithm in this stage already",
                node.name
            );
            return Err(document
                .fail(triple, problem, "keep one of them")
                .of_kind(FaultKind::Duplicate));
        }
        chosen.set(t, k, true);
        let runs = if id.index() < columns {
            schedule.forward_choice[t][id.index()] = p as u16;
            schedule.computed.get(t, id.index())
        } else {
            schedule.backward_choice[t] = p as u16;
            backward_node(instance, t) == id
        };
        if !runs {
            let problem = format!("node {id} ({}) does not run in stage {t}", node.name);
            return Err(document.fail(triple, problem, "remove the triple"));
        }
    }
    // An algorithm that is not named would silently be the first available one.
    for (k, id) in slots.iter().enumerate() {
        for t in 0..stages {
            let runs = if id.index() < columns {
                schedule.computed.get(t, id.index())
            } else {
                backward_node(instance, t) == *id
            };
            if runs && !chosen.get(t, k) {
                let name = &instance.node(*id).name;
                let problem = format!("node {id} ({name}) runs in stage {t} without an algorithm");
                return Err(document
                    .fail(value, problem, format!("add [{t}, {k}, algorithm]"))
                    .of_kind(FaultKind::Missing));
            }
        }
    }
    Ok(())
}

/// The backward node of a stage; for stage 0 the loss.
fn backward_node(instance: &Instance, stage: usize) -> NodeId {
    NodeId::from(instance.loss().map_or(0, NodeId::index) + stage)
}

/// The nodes with an algorithm choice, in order.
fn slots(instance: &Instance) -> Vec<NodeId> {
    let choice = |id: &NodeId| {
        let mut list = instance.node(*id).implementations.iter();
        list.all(|p| algorithm_number(p).is_some())
    };
    instance.ids().filter(choice).collect()
}

/// Writes a schedule as a `remat-schedule/1` file that [`ScheduleFile`] reads back to an equal document.
///
/// The instance tells which choices are by algorithm (`RF`) and which by variant (`M`).
pub fn write_schedule(document: &ScheduleDocument, instance: &Instance) -> String {
    let formulation = match document.semantics() {
        Semantics::Checkmate => "B",
        Semantics::Monet => "A",
    };
    let name = serde_json::Value::from(document.instance.as_str());
    let mut text = format!(
        "{{\n\"schema\":{SCHEDULE_SCHEMA:?},\n\"instance\":{name},\n\"formulation\":{formulation:?},\n"
    );
    if let Some(bytes) = document.budget_bytes {
        text += &format!("\"budget_bytes\":{bytes},\n");
    }
    text += &format!("\"objective\":{},\n", document.objective);
    match &document.schedule {
        Schedule::Checkmate(schedule) => {
            text += &format!("\"R\":{},\n", written_matrix(&schedule.computed));
            text += &format!("\"S\":{}\n", written_matrix(&schedule.retained));
        }
        Schedule::Monet(schedule) => {
            text += &format!("\"R\":{},\n", written_matrix(&schedule.computed));
            text += &format!("\"S\":{},\n", written_matrix(&schedule.retained));
            text += &format!("\"IP\":{},\n", written_matrix(&schedule.in_place));
            text += &written_choices(schedule, instance);
        }
    }
    text + "}\n"
}

/// Row by row, since rows are words: a column's run begins and ends where a row differs from the one before.
fn written_matrix(matrix: &BitMatrix) -> String {
    let mut columns = vec![String::new(); matrix.columns()];
    let nothing = vec![0; matrix.words_per_row()];
    for row in 0..=matrix.rows() {
        let before = if row > 0 {
            matrix.row(row - 1)
        } else {
            &nothing
        };
        let now = if row < matrix.rows() {
            matrix.row(row)
        } else {
            &nothing
        };
        for (w, (now, before)) in now.iter().zip(before).enumerate() {
            let mut changed = now ^ before;
            while changed != 0 {
                let bit = changed.trailing_zeros() as usize;
                changed &= changed - 1;
                let text = &mut columns[w * 64 + bit];
                if now >> bit & 1 == 0 {
                    *text += &format!(",{}", row - 1);
                } else {
                    let comma = if text.is_empty() { "" } else { "," };
                    *text += &format!("{comma}{row}");
                }
            }
        }
    }
    let (rows, count) = (matrix.rows(), matrix.columns());
    let columns = columns.join("],[");
    format!("{{\"shape\":[{rows},{count}],\"cols\":[[{columns}]]}}")
}

fn written_choices(schedule: &MonetSchedule, instance: &Instance) -> String {
    let slots = slots(instance);
    let mut variants = Vec::new();
    let mut triples = Vec::new();
    for (t, &choice) in schedule.backward_choice.iter().enumerate() {
        let by_algorithm = slots.binary_search(&backward_node(instance, t)).is_ok();
        variants.push(format!("[{}]", if by_algorithm { 0 } else { choice }));
    }
    for t in 0..schedule.computed.rows() {
        for (k, id) in slots.iter().enumerate() {
            let choice = match schedule.forward_choice[t].get(id.index()) {
                Some(choice) => schedule.computed.get(t, id.index()).then_some(*choice),
                None => (backward_node(instance, t) == *id).then(|| schedule.backward_choice[t]),
            };
            let implementation =
                choice.and_then(|p| instance.node(*id).implementations.get(p as usize));
            if let Some(number) = implementation.and_then(algorithm_number) {
                triples.push(format!("[{t},{k},{number}]"));
            }
        }
    }
    let mut choices = Vec::new();
    for (t, row) in schedule.forward_choice.iter().enumerate() {
        for (i, &p) in row.iter().enumerate() {
            if p > 0 && slots.binary_search(&NodeId::from(i)).is_err() {
                choices.push(format!("[{t},{i},{p}]"));
            }
        }
    }
    format!(
        "\"M\":[{}],\n\"RF\":[{}],\n\"choices\":[{}]\n",
        variants.join(","),
        triples.join(","),
        choices.join(",")
    )
}
