//! Schedule files, `remat-schedule/1`: published ones and the project's own.
//! `docs/reference/formats.md` describes them.

use super::{
    BitMatrix, CheckmateSchedule, Choices, MonetSchedule, Schedule, StageRuns, algorithm_number,
};
use crate::Semantics;
use crate::document::{self, Document, Failure, FaultKind, Lines, ReadError, Spanned, Unread};
use crate::instance::{Instance, NodeId};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use std::path::Path;

const SCHEDULE_SCHEMA: &str = "remat-schedule/1";

/// Largest number of entries of a matrix of MONeT's program, which has a bit for each entry: a
/// gigabyte of bits, enough for 90,000 nodes.
const MATRIX_ENTRY_LIMIT: u128 = 1 << 33;

/// Largest number of computations of a schedule of Checkmate's program; a replay needs some 40
/// bytes for each.
const COMPUTATION_LIMIT: usize = 1 << 28;

/// A schedule file; `C` is the type of a matrix's columns. Totals may exceed the limit for values
/// of single nodes.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename = "a schedule: an object with `R` and `S`")]
struct ScheduleText<'d, C> {
    schema: &'d str,
    instance: Spanned<&'d str>,
    #[serde(with = "Formulation")]
    formulation: Semantics,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_bytes: Option<u128>,
    #[serde(skip_serializing)]
    budget_gib: Option<Spanned<f64>>,
    #[serde(rename(deserialize = "objective: the cost of the schedule"))]
    objective: u128,
    /// Ignored: `P` follows from `R` and `IP`, at its largest.
    #[serde(rename = "forward_part|backward_part|seconds|P", skip_serializing)]
    _unread: Option<IgnoredAny>,
    #[serde(rename = "R")]
    computed: Matrix<C>,
    #[serde(rename = "S")]
    retained: Matrix<C>,
    #[serde(rename = "IP", skip_serializing_if = "Option::is_none")]
    in_place: Option<Matrix<C>>,
    /// For each stage the implementation of its backward node, as a list of one entry. For nodes
    /// with an algorithm choice the entry is 0, and `RF` has the choice.
    #[serde(rename(serialize = "M", deserialize = "M: a list over stages"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    variants: Option<Spanned<Vec<Chosen>>>,
    /// Stage, slot (the nodes with an algorithm choice, counted in order) and algorithm.
    #[serde(rename(
        serialize = "RF",
        deserialize = "RF: a list of [stage, slot, algorithm]"
    ))]
    #[serde(skip_serializing_if = "Option::is_none")]
    algorithms: Option<Spanned<Vec<Triple>>>,
    /// Choices of nodes whose implementations are not algorithms. Published files do not have them;
    /// by default the first implementation runs.
    #[serde(rename(deserialize = "choices: a list of [stage, node, implementation]"))]
    #[serde(skip_serializing_if = "Option::is_none")]
    choices: Option<Vec<Triple>>,
}

type Chosen = Spanned<Vec<Spanned<u64>>>;

type Triple = Spanned<[Spanned<u64>; 3]>;

#[derive(Deserialize, Serialize)]
#[serde(
    remote = "Semantics",
    rename = "formulation (A is MONeT's, B Checkmate's)"
)]
enum Formulation {
    #[serde(rename = "A")]
    Monet,
    #[serde(rename = "B")]
    Checkmate,
}

/// A 0-1 matrix: its shape, and for each column the inclusive ranges of rows with ones.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename = "a matrix: `shape` and `cols`")]
struct Matrix<C> {
    #[serde(rename(deserialize = "shape: [rows, columns]"))]
    shape: Spanned<[u64; 2]>,
    #[serde(rename(deserialize = "cols: a list of row ranges for each column"))]
    cols: C,
}

/// Columns are parsed one at a time, because all together would take more memory than the bits.
type ColumnTexts = Spanned<Vec<Unread>>;

#[derive(Deserialize)]
#[serde(rename = "a list of row ranges")]
struct Ranges(Vec<Spanned<u64>>);

/// A schedule with the records of its file.
#[derive(Clone, Debug, PartialEq)]
pub struct ScheduleDocument {
    /// Name of the instance for which it was made.
    pub instance: String,
    /// The budget for which it was made, in bytes, if recorded.
    pub budget_bytes: Option<u64>,
    /// Its recorded cost in the instance's cost unit.
    pub objective: u64,
    /// The schedule.
    pub schedule: Schedule,
}

impl ScheduleDocument {
    /// The program of this schedule.
    pub fn semantics(&self) -> Semantics {
        self.schedule.semantics()
    }
}

/// A schedule file with its header parsed: enough to choose the instance to read, and the view of
/// it.
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

    /// Parses the bytes of a schedule file; errors name it `name`.
    ///
    /// # Errors
    /// The errors of [`ScheduleFile::open`].
    pub fn parse(name: &str, bytes: &[u8]) -> Result<Self, ReadError> {
        let document = Document::parse(name, bytes)?;
        let (instance, semantics) = header(&document).map_err(|e| document.error(e))?;
        Ok(ScheduleFile {
            document,
            instance,
            semantics,
        })
    }

    /// Name of the instance for which the schedule was made.
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// The program of this schedule.
    ///
    /// A schedule of Checkmate's program belongs to the view with one implementation per node
    /// ([`Instance::single_implementation_view`]).
    pub fn semantics(&self) -> Semantics {
        self.semantics
    }

    /// Reads the schedule for an instance, which determines the shapes and the implementations.
    ///
    /// # Errors
    /// [`ReadError`] names the first entry that does not fit. [`crate::simulate`] checks whether
    /// the schedule can be executed.
    pub fn schedule(&self, instance: &Instance) -> Result<ScheduleDocument, ReadError> {
        let read = self.read(instance);
        read.map_err(|e| self.document.error(e))
    }

    fn read(&self, instance: &Instance) -> Result<ScheduleDocument, Failure> {
        let text: ScheduleText<'_, ColumnTexts> = self.document.read()?;
        let n = instance.len();
        Ok(ScheduleDocument {
            instance: self.instance.clone(),
            budget_bytes: budget(&text)?,
            objective: text.objective as u64,
            schedule: match self.semantics {
                Semantics::Checkmate => Schedule::from(CheckmateSchedule {
                    computed: computed(&self.document, &text.computed, n)?,
                    retained: matrix(&self.document, &text.retained, n, n)?,
                }),
                Semantics::Monet => monet(&self.document, &text, instance)?.into(),
            },
        })
    }
}

fn header(document: &Document) -> Result<(String, Semantics), Failure> {
    let problem = "this file is not a schedule";
    let text: ScheduleText<'_, ColumnTexts> = document.read_as(SCHEDULE_SCHEMA, problem)?;
    Ok((text.instance.to_string(), text.formulation))
}

fn budget<C>(text: &ScheduleText<'_, C>) -> Result<Option<u64>, Failure> {
    let (None, Some(gib)) = (text.budget_bytes, text.budget_gib) else {
        return Ok(text.budget_bytes.map(|bytes| bytes as u64));
    };
    if !(0.0..=(1u64 << 23) as f64).contains(&*gib) {
        let remedy = "give a budget in GiB (or `budget_bytes`)";
        return Err(FaultKind::Value.fail(gib.span, "the budget is out of range", remedy));
    }
    // The published programs round the budget to KiB.
    Ok(Some((*gib * 1048576.0).round() as u64 * 1024))
}

/// Reads the matrix of computations of Checkmate's program.
fn computed(
    document: &Document,
    text: &Matrix<ColumnTexts>,
    n: usize,
) -> Result<StageRuns, Failure> {
    let computed = matrix(document, text, n, n)?;
    let computations = computed.count_ones();
    if computations > COMPUTATION_LIMIT {
        let problem = "the schedule has too many computations";
        let remedy = format!("give a schedule with at most {COMPUTATION_LIMIT}");
        return Err(FaultKind::TooLarge
            .fail(text.cols.span, problem, remedy)
            .found(computations.to_string()));
    }
    Ok(computed)
}

/// Reads a matrix of MONeT's program.
fn bits(
    document: &Document,
    text: &Matrix<ColumnTexts>,
    rows: usize,
    columns: usize,
) -> Result<BitMatrix, Failure> {
    if rows as u128 * columns as u128 > MATRIX_ENTRY_LIMIT {
        let problem = "the matrix is too large";
        let remedy = "give a schedule for a smaller instance";
        return Err(FaultKind::TooLarge.fail(text.shape.span, problem, remedy));
    }
    Ok(matrix(document, text, rows, columns)?.to_bits())
}

fn matrix(
    document: &Document,
    text: &Matrix<ColumnTexts>,
    rows: usize,
    columns: usize,
) -> Result<StageRuns, Failure> {
    let shape = &text.shape;
    if **shape != [rows as u64, columns as u64] {
        let problem = "the matrix does not have the shape that the instance asks for";
        let remedy = format!(
            "the shape is [{rows}, {columns}]: check that instance and schedule belong together"
        );
        return Err(FaultKind::Value
            .fail(shape.span, problem, remedy)
            .found(format!("{:?}", **shape)));
    }
    if text.cols.len() != columns {
        let problem = "the matrix does not have as many columns as its shape says";
        return Err(FaultKind::Value.fail(
            text.cols.span,
            problem,
            format!("give {columns} lists"),
        ));
    }
    let mut runs = StageRuns::new(rows, columns);
    for (column, place) in text.cols.iter().enumerate() {
        let Ranges(ranges) = document.read_at(place.span)?;
        if ranges.len() % 2 != 0 {
            let problem = "row ranges come in pairs, first and last row";
            return Err(FaultKind::Value.fail(place.span, problem, "give an even number of rows"));
        }
        let mut free = 0;
        for pair in ranges.chunks_exact(2) {
            let first = pair[0].index(rows, "row")?;
            let last = pair[1].index(rows, "row")?;
            if first < free || last < first {
                let problem = "row ranges are not ascending";
                let found = format!("{first} to {last}");
                let remedy = "sort the ranges, without overlap";
                return Err(FaultKind::Value
                    .fail(pair[0].span, problem, remedy)
                    .found(found));
            }
            runs.fill(column, first, last);
            free = last + 1;
        }
    }
    Ok(runs)
}

fn monet(
    document: &Document,
    text: &ScheduleText<'_, ColumnTexts>,
    instance: &Instance,
) -> Result<MonetSchedule, Failure> {
    let Some((stages, columns)) = MonetSchedule::shape(instance) else {
        let problem = "a schedule of MONeT's program needs an instance with a loss";
        return Err(FaultKind::Value.fail(text.instance.span, problem, "name another instance"));
    };
    let mut schedule = MonetSchedule {
        computed: bits(document, &text.computed, stages, columns)?,
        retained: bits(document, &text.retained, stages + 1, columns)?,
        in_place: match &text.in_place {
            Some(in_place) => bits(document, in_place, stages, columns)?,
            None => BitMatrix::new(stages, columns),
        },
        forward_choice: Choices::new(stages, columns),
        backward_choice: vec![0; stages],
    };
    if let Some(variants) = &text.variants {
        if variants.len() != stages {
            let problem = "M does not have one entry for each stage";
            let remedy = format!("give {stages} entries");
            return Err(FaultKind::Value.fail(variants.span, problem, remedy));
        }
        for (t, entry) in variants.iter().enumerate() {
            let &[chosen] = entry.as_slice() else {
                let problem = "a stage runs its backward node once, with one implementation";
                return Err(FaultKind::Value.fail(entry.span, problem, "give a list of one"));
            };
            let node = instance.node(backward_node(instance, t));
            let by_algorithm = algorithm_number(&node.implementations[0]).is_some();
            let count = if by_algorithm {
                1
            } else {
                node.implementations.len()
            };
            let choice = chosen.index(count, "implementation of this node")?;
            schedule.backward_choice[t] = choice as u16;
        }
    }
    if let Some(triples) = &text.algorithms {
        algorithms(triples, instance, &mut schedule)?;
    }
    for triple in text.choices.iter().flatten() {
        let [stage, node, implementation] = **triple;
        let t = stage.index(stages, "stage")?;
        let i = node.index(columns, "forward node")?;
        let count = instance.node(NodeId::from(i)).implementations.len();
        let choice = implementation.index(count, "implementation of this node")?;
        schedule
            .forward_choice
            .set(t, i, u16::try_from(choice).unwrap_or(u16::MAX));
    }
    Ok(schedule)
}

/// Reads `RF` into a schedule.
fn algorithms(
    triples: &Spanned<Vec<Triple>>,
    instance: &Instance,
    schedule: &mut MonetSchedule,
) -> Result<(), Failure> {
    let (stages, columns) = (schedule.computed.rows(), schedule.computed.columns());
    let slots: Vec<NodeId> = slots(instance);
    let mut chosen = BitMatrix::new(stages, slots.len());
    for triple in triples.iter() {
        let [stage, slot, algorithm] = **triple;
        let t = stage.index(stages, "stage")?;
        let k = slot.index(slots.len(), "node with an algorithm choice")?;
        let id = slots[k];
        let node = instance.node(id);
        let mut names = node.implementations.iter();
        let Some(p) = names.position(|p| algorithm_number(p) == Some(*algorithm)) else {
            let problem = format!("node {id} ({}) has no such algorithm", node.name);
            let numbers = node.implementations.iter().map(|p| p.name.as_str());
            let remedy = format!("it has {}", numbers.collect::<Vec<_>>().join(", "));
            return Err(FaultKind::Reference.fail(algorithm.span, problem, remedy));
        };
        if chosen.get(t, k) {
            let problem = format!(
                "node {id} ({}) has an algorithm in this stage already",
                node.name
            );
            return Err(FaultKind::Duplicate.fail(triple.span, problem, "keep one of them"));
        }
        chosen.set(t, k, true);
        if id.index() < columns {
            schedule.forward_choice.set(t, id.index(), p as u16);
        } else {
            schedule.backward_choice[t] = p as u16;
        }
        if !runs(schedule, instance, t, id) {
            let problem = format!("node {id} ({}) does not run in stage {t}", node.name);
            return Err(FaultKind::Value.fail(triple.span, problem, "remove the triple"));
        }
    }
    // Without this check, a missing algorithm would silently become the first available one.
    for (k, id) in slots.iter().enumerate() {
        for t in 0..stages {
            if runs(schedule, instance, t, *id) && !chosen.get(t, k) {
                let name = &instance.node(*id).name;
                let problem = format!("node {id} ({name}) runs in stage {t} without an algorithm");
                let remedy = format!("add [{t}, {k}, algorithm]");
                return Err(FaultKind::Missing.fail(triples.span, problem, remedy));
            }
        }
    }
    Ok(())
}

/// Returns whether a node runs in a stage.
fn runs(schedule: &MonetSchedule, instance: &Instance, stage: usize, id: NodeId) -> bool {
    if id.index() < schedule.computed.columns() {
        schedule.computed.get(stage, id.index())
    } else {
        backward_node(instance, stage) == id
    }
}

/// The backward node of a stage; the loss for stage 0.
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

/// Writes a schedule as a `remat-schedule/1` file. [`ScheduleFile`] reads it back to an equal
/// document.
///
/// The instance determines which choices are algorithms (`RF`) and which are variants (`M`).
pub fn write_schedule(document: &ScheduleDocument, instance: &Instance) -> String {
    let matrices = document.schedule.matrices();
    let [computed, retained] = matrices.map(|matrix| written_matrix(&matrix));
    let mut text = ScheduleText {
        schema: SCHEDULE_SCHEMA,
        instance: document.instance.as_str().into(),
        formulation: document.semantics(),
        budget_bytes: document.budget_bytes.map(Into::into),
        budget_gib: None,
        objective: document.objective.into(),
        _unread: None,
        computed,
        retained,
        in_place: None,
        variants: None,
        algorithms: None,
        choices: None,
    };
    if let Some(schedule) = document.schedule.as_monet() {
        text.in_place = Some(written_matrix(&(&schedule.in_place).into()));
        write_choices(schedule, instance, &mut text);
    }
    Lines::new(0, false).write(&text)
}

fn written_matrix(matrix: &StageRuns) -> Matrix<Vec<Vec<u32>>> {
    let shape = [matrix.rows() as u64, matrix.columns() as u64].into();
    let column = |c| matrix.runs(c).as_flattened().to_vec();
    let cols = (0..matrix.columns()).map(column).collect();
    Matrix { shape, cols }
}

/// Fills in `M`, `RF` and `choices`.
fn write_choices<C>(schedule: &MonetSchedule, instance: &Instance, text: &mut ScheduleText<'_, C>) {
    let slots = slots(instance);
    let by_algorithm = |id: &NodeId| slots.binary_search(id).is_ok();
    let triple = |t, k, p| Triple::from([t as u64, k as u64, p].map(Spanned::from));
    let variants = schedule.backward_choice.iter().enumerate();
    let variants = variants.map(|(t, choice)| match backward_node(instance, t) {
        node if by_algorithm(&node) => vec![0.into()].into(),
        _ => vec![u64::from(*choice).into()].into(),
    });
    text.variants = Some(variants.collect::<Vec<_>>().into());
    let mut triples = Vec::new();
    let mut choices = Vec::new();
    let (_, columns) = schedule.forward_choice.shape();
    for (t, backward) in schedule.backward_choice.iter().enumerate() {
        for (k, id) in slots.iter().enumerate() {
            let choice = match id.index() < columns {
                true => schedule.forward_choice.get(t, id.index()),
                false => *backward,
            };
            let chosen = instance.node(*id).implementations.get(usize::from(choice));
            if let Some(number) = chosen.and_then(algorithm_number)
                && runs(schedule, instance, t, *id)
            {
                triples.push(triple(t, k, number));
            }
        }
        for (i, p) in schedule.forward_choice.of(t) {
            if !by_algorithm(&NodeId::from(i)) {
                choices.push(triple(t, i, p.into()));
            }
        }
    }
    text.algorithms = Some(triples.into());
    text.choices = Some(choices);
}
