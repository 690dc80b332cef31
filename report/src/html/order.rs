//! Orders of graphs, and tables of lives, on a page: a step is a unit of time.

use super::classes::Class;
use super::document::{Document, GraphJson, MomentsJson, PlanJson, Subject, Way};
use super::moments::Kind;
use super::pieces::Pieces;
use remat_instances::instance::CostUnit;
use remat_instances::order::{LifeOf, OrderGraph, OrderReplay};
use remat_instances::place::{Lives, Placement};

/// An order for a page.
pub struct OrderSource<'a> {
    /// Name of the order, for example its file.
    pub name: String,
    /// Its replay.
    pub replay: &'a OrderReplay,
    /// Offsets of its lives.
    pub placement: Option<&'a Placement>,
    /// True for the program's own order, added for comparison.
    pub is_plain: bool,
}

/// A report of orders of a graph.
pub fn order(graph: &OrderGraph, orders: &[OrderSource<'_>]) -> Document {
    let title = graph.name().to_string();
    let mut document = Document::new(&title, &CostUnit::named("step"));
    document.subjects.push(Subject {
        name: title,
        graphs: vec![order_graph(graph)],
        plans: orders.iter().map(|own| order_plan(graph, own)).collect(),
    });
    document
}

/// A report of a table of lives, with addresses if they are given.
pub fn lives(name: &str, lives: &Lives, placement: Option<&Placement>) -> Document {
    let mut document = Document::new(name, &CostUnit::named("moment"));
    document.subjects.push(Subject {
        name: name.into(),
        graphs: vec![GraphJson {
            word: "moment",
            names: vec![String::new()],
            operators: vec![String::new()],
            shapes: vec![String::new()],
            bytes: vec![0],
            roles: vec![0],
            ways: vec![vec![Way(1, 1, Vec::new())]],
            ..GraphJson::default()
        }],
        plans: vec![lives_plan(name, lives, placement)],
    });
    document
}

fn order_graph(graph: &OrderGraph) -> GraphJson {
    let mut out = GraphJson {
        word: "operator",
        ..GraphJson::default()
    };
    let mut maker = vec![None; graph.tensors().len()];
    for (k, operator) in graph.operators().iter().enumerate() {
        for tensor in &operator.outputs {
            maker[tensor.index()] = Some(k as u32);
        }
    }
    for (k, operator) in graph.operators().iter().enumerate() {
        let inputs = operator.inputs.iter();
        let needs = inputs.filter_map(|tensor| maker[tensor.index()]);
        let mut needs: Vec<u32> = needs.filter(|need| *need != k as u32).collect();
        needs.sort_unstable();
        needs.dedup();
        let outputs = operator.outputs.iter();
        out.names.push(operator.name.to_string());
        out.operators.push(operator.kind.to_string());
        out.shapes.push(String::new());
        out.bytes
            .push(outputs.map(|t| graph.tensor_bytes(*t)).sum());
        out.roles.push(0);
        out.ways.push(vec![Way(1, 1, needs)]);
    }
    out
}

fn order_plan(graph: &OrderGraph, own: &OrderSource<'_>) -> PlanJson {
    let replay = own.replay;
    let mut moments = MomentsJson::default();
    for (k, step) in replay.steps.iter().enumerate() {
        let level = (k as u64, step.during_bytes);
        moments.step(step.operator.0, level, k as u64 + 1);
    }
    let count = replay.steps.len();
    let mut pieces = Pieces::default();
    let mut names = Vec::new();
    for life in &replay.lives {
        let (kind, class) = match life.of {
            LifeOf::Storage(_) => (1, Class::Passing),
            LifeOf::Workspace(_) => (2, Class::Workspace),
        };
        let node = moments.node.get(life.begin);
        let node = node.map_or(-1, |node| i64::from(*node));
        let piece = pieces.piece(kind, node, life.begin);
        pieces.segment(piece, (life.begin, life.end.min(count)), life.bytes, class);
        names.push(match life.of {
            LifeOf::Storage(tensor) => tensor_name(graph, tensor),
            LifeOf::Workspace(_) => String::new(),
        });
    }
    let offset = own.placement.map(|p| p.offsets().to_vec());
    let base = pieces.piece(0, -1, 0);
    pieces.segment(base, (0, count), graph.base_bytes(), Class::Fixed);
    names.push(String::new());
    pieces.json.names = Some(names);
    let arena = own.placement.and_then(|placement| {
        let lives = replay.lives.iter().zip(placement.offsets());
        lives.map(|(life, offset)| offset + life.bytes).max()
    });
    finished(&own.name, own.is_plain, moments, pieces, (offset, arena))
}

fn tensor_name(graph: &OrderGraph, tensor: remat_instances::order::TensorId) -> String {
    let name = &graph.tensors()[tensor.index()].name;
    match name.is_empty() {
        true => format!("tensor {}", tensor.0),
        false => name.to_string(),
    }
}

fn lives_plan(name: &str, lives: &Lives, placement: Option<&Placement>) -> PlanJson {
    let all = lives.buffers().iter().flat_map(|buffer| buffer.pieces());
    let mut times: Vec<u64> = all.flat_map(|p| [p.lower, p.upper]).collect();
    times.sort_unstable();
    times.dedup();
    let at = |time: u64| times.partition_point(|known| *known < time);
    let mut pieces = Pieces::default();
    let mut names = Vec::new();
    for buffer in lives.buffers() {
        let piece = pieces.piece(1, -1, at(buffer.lower));
        for part in buffer.pieces() {
            let bytes = part.end - part.start;
            pieces.segment(
                piece,
                (at(part.lower), at(part.upper)),
                bytes,
                Class::Passing,
            );
        }
        names.push(buffer.id.to_string());
    }
    pieces.json.names = Some(names);
    let count = times.len().saturating_sub(1);
    let origin = times.first().copied().unwrap_or(0);
    let mut moments = MomentsJson::default();
    for (pair, bytes) in times.windows(2).zip(pieces.sums(count)) {
        moments.step(0, (pair[0] - origin, bytes), pair[1] - origin);
    }
    let offset = placement.map(|p| p.offsets().to_vec());
    let arena = placement.map(|placement| lives.height(placement));
    finished(name, false, moments, pieces, (offset, arena))
}

impl MomentsJson {
    fn step(&mut self, node: u32, (begin, bytes): (u64, u64), end: u64) {
        self.kind.push(Kind::Compute as u8);
        self.node.push(node);
        self.begin.push(begin);
        self.end.push(end);
        self.bytes.push(bytes);
        self.way.push(0);
        self.reader.push(-1);
    }
}

fn finished(
    name: &str,
    is_plain: bool,
    moments: MomentsJson,
    mut pieces: Pieces,
    (offset, arena_bytes): (Option<Vec<u64>>, Option<u64>),
) -> PlanJson {
    pieces.json.offset = offset;
    let credits = pieces.credits(&moments.bytes);
    let cost = moments.end.last().copied().unwrap_or(0);
    PlanJson {
        name: name.into(),
        graph: 0,
        is_plain,
        semantics: "order",
        budget_bytes: None,
        peak_bytes: moments.bytes.iter().copied().max().unwrap_or(0),
        waiting_bytes: 0,
        cost,
        idle: 0,
        base_cost: cost,
        host_peak_bytes: 0,
        arena_bytes,
        bound: None,
        prices: Vec::new(),
        moments,
        pieces: pieces.json,
        segments: pieces.segments,
        credits,
        copies: Default::default(),
    }
}
