//! Rows, bounds and costs of the published program. Row numbers refer to the benchmark description.

use super::MonetParts;
use remat_instances::instance::{Implementation, NodeKind};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};

const INFINITY: f64 = f64::INFINITY;

/// Receiver of rows: a model, or a counter.
pub(super) trait Sink {
    /// A row. Entries may repeat a column (they add up) and may be 0; the list is left empty.
    fn row(&mut self, lower: f64, upper: f64, entries: &mut Vec<(u32, f64)>);
}

/// Counts rows and entries.
#[derive(Default)]
pub(super) struct Counter {
    pub rows: usize,
    pub nonzeros: usize,
}

impl Sink for Counter {
    fn row(&mut self, _: f64, _: f64, entries: &mut Vec<(u32, f64)>) {
        merge(entries);
        self.rows += 1;
        self.nonzeros += entries.len();
        entries.clear();
    }
}

/// Receiver of a row: its bounds, and its entries by column.
pub(in crate::monet) type TellRow<'a> = dyn FnMut(f64, f64, &[(u32, f64)]) + 'a;

/// Reports rows as they are made.
pub(super) struct Teller<'a, 'b> {
    pub tell: &'a mut TellRow<'b>,
}

impl Sink for Teller<'_, '_> {
    fn row(&mut self, lower: f64, upper: f64, entries: &mut Vec<(u32, f64)>) {
        merge(entries);
        (self.tell)(lower, upper, entries);
        entries.clear();
    }
}

/// Evaluates a point row by row.
pub(super) struct Evaluator<'a> {
    pub x: &'a [f64],
    /// Largest violation so far.
    pub violation: f64,
}

impl Evaluator<'_> {
    /// Notes a value and its bounds.
    pub fn value(&mut self, lower: f64, upper: f64, value: f64) {
        self.violation = self.violation.max(lower - value).max(value - upper);
    }
}

impl Sink for Evaluator<'_> {
    fn row(&mut self, lower: f64, upper: f64, entries: &mut Vec<(u32, f64)>) {
        let activity = entries.iter().map(|&(c, v)| v * self.x[c as usize]).sum();
        self.value(lower, upper, activity);
        entries.clear();
    }
}

/// Collects a model.
pub(super) struct Modeller {
    lp: ModelBuilder,
    fixings: usize,
}

impl Sink for Modeller {
    fn row(&mut self, lower: f64, upper: f64, entries: &mut Vec<(u32, f64)>) {
        merge(entries);
        let bounds = Bounds::new(lower, upper);
        self.lp
            .add_row(bounds, entries.drain(..).map(|(c, v)| (ColId(c), v)));
    }
}

impl Modeller {
    /// A model with the columns of the program, their costs and their fixings.
    pub fn new(p: &MonetParts) -> Self {
        let mut lp = ModelBuilder::new(Sense::Minimise);
        lp.set_name("monet_original");
        for at in 0..p.layout.len() {
            let id = lp.add_col(0.0, 0.0..=1.0);
            lp.set_integer(id, true);
            lp.set_col_name(id, p.layout.name(at));
        }
        let mut count = 0;
        fixings(p, &mut |column, value| {
            count += 1;
            // If both values are demanded, the bounds cross in the published program; here an empty
            // row that cannot hold says so.
            let fixed = lp.col_bounds(ColId(column));
            if fixed.lower <= value && value <= fixed.upper {
                lp.set_col_bounds(ColId(column), value..=value);
            } else {
                lp.add_row(1.0.., []);
            }
        });
        costs(p, &mut |column, cost| lp.set_cost(ColId(column), cost));
        Modeller { lp, fixings: count }
    }

    /// The model, and the number of fixings.
    pub fn finish(self) -> (Model, usize) {
        let model = self.lp.build();
        let model = model.expect("finite coefficients, bounds in order, merged entries");
        (model, self.fixings)
    }
}

/// Adds up entries of one column and drops zeros. Long rows are made in the order of the columns,
/// so they need no sorting.
fn merge(entries: &mut Vec<(u32, f64)>) {
    if !entries.is_sorted_by_key(|e| e.0) {
        entries.sort_by_key(|e| e.0);
    }
    remat_solver::entries::add_up(entries);
    entries.retain(|e| e.1 != 0.0);
}

/// Columns that are fixed, by (1), (2), (10), (13), (15) and by the tighter local bound. Each is
/// reported as often as the published runs have a row for it.
pub(super) fn fixings(p: &MonetParts, fix: &mut impl FnMut(u32, f64)) {
    let l = &p.layout;
    for i in 0..l.columns {
        fix(l.s(0, i), 0.0);
    }
    for i in (0..l.columns).filter(|&i| !p.is_by_product(i)) {
        fix(l.r(0, i), 1.0);
    }
    for t in 1..l.stages {
        for i in (0..l.columns).filter(|&i| !p.may_run(t, i)) {
            fix(l.r(t, i), 0.0);
        }
    }
    fix(l.m(0, 0), 1.0);
    for way in 1..l.ways {
        fix(l.m(0, way), 0.0);
    }
    for t in 1..l.stages {
        for way in p.backward_ways(t).len()..l.ways {
            fix(l.m(t, way), 0.0);
        }
    }
    if p.in_place {
        for i in (0..l.columns).filter(|&i| p.over(i).is_none()) {
            for t in 0..l.stages {
                fix(l.ip(t, i), 0.0);
            }
        }
    }
    for (n, slot) in p.slot.iter().enumerate() {
        let Some(k) = *slot else { continue };
        for c in (0..l.algorithms).filter(|c| !p.choice[n].contains(c)) {
            for t in 0..l.stages {
                fix(l.f(t, k, c), 0.0);
            }
        }
        if n > p.loss {
            for c in 0..l.algorithms {
                for t in (0..l.stages).filter(|&t| t != n - p.loss) {
                    fix(l.f(t, k, c), 0.0);
                }
            }
        }
    }
}

/// The objective.
pub(super) fn costs(p: &MonetParts, cost: &mut impl FnMut(u32, f64)) {
    let l = &p.layout;
    for i in 0..l.columns {
        let node = p.node(i);
        for t in 0..l.stages {
            match p.slot[i] {
                Some(k) => {
                    for (way, &c) in node.implementations.iter().zip(&p.choice[i]) {
                        cost(l.f(t, k, c), way.run_cost(t > 0) as f64);
                    }
                }
                None => {
                    let way = &node.implementations[0];
                    cost(l.r(t, i), way.run_cost(t > 0) as f64);
                }
            }
            if let Some(option) = &node.in_place {
                cost(l.ip(t, i), option.cost_delta as f64);
            }
        }
    }
    for t in 1..l.stages {
        let node = p.node(p.loss + t);
        match p.slot[p.loss + t] {
            Some(k) => {
                for (way, &c) in node.implementations.iter().zip(&p.choice[p.loss + t]) {
                    cost(l.f(t, k, c), way.cost as f64);
                }
            }
            None => {
                for (m, way) in node.implementations.iter().enumerate() {
                    cost(l.m(t, m), way.cost as f64);
                }
            }
        }
    }
}

/// All rows.
pub(super) fn rows(p: &MonetParts, sink: &mut impl Sink) {
    let mut rows = RowWriter {
        p,
        sink,
        buffer: Vec::new(),
    };
    rows.overwriting();
    rows.products();
    rows.dependencies();
    rows.by_products();
    rows.algorithms();
    rows.checkpoints();
    rows.recomputations();
    rows.backward();
}

struct RowWriter<'a, S> {
    p: &'a MonetParts,
    sink: &'a mut S,
    buffer: Vec<(u32, f64)>,
}

impl<S: Sink> RowWriter<'_, S> {
    fn add(&mut self, lower: f64, upper: f64, entries: &[(u32, f64)]) {
        self.buffer.extend_from_slice(entries);
        self.sink.row(lower, upper, &mut self.buffer);
    }

    fn at_most(&mut self, upper: f64, entries: &[(u32, f64)]) {
        self.add(-INFINITY, upper, entries);
    }

    fn at_least(&mut self, lower: f64, entries: &[(u32, f64)]) {
        self.add(lower, INFINITY, entries);
    }

    fn places(&self) -> impl Iterator<Item = (usize, usize)> + use<S> {
        let (stages, columns) = (self.p.layout.stages, self.p.layout.columns);
        (0..stages).flat_map(move |t| (0..columns).map(move |i| (t, i)))
    }

    /// (9) to (11).
    fn overwriting(&mut self) {
        let l = &self.p.layout;
        if !self.p.in_place {
            for (t, i) in self.places() {
                self.add(0.0, 0.0, &[(l.p(t, i), 1.0), (l.r(t, i), -1.0)]);
            }
            return;
        }
        for (t, i) in self.places() {
            self.at_most(0.0, &[(l.p(t, i), 1.0), (l.r(t, i), -1.0)]);
            self.at_most(0.0, &[(l.ip(t, i), 1.0), (l.r(t, i), -1.0)]);
        }
        for v in 0..l.columns {
            let Some(u) = self.p.over(v).filter(|_| !self.p.is_by_product(v)) else {
                continue;
            };
            for t in 0..l.stages {
                let ip = l.ip(t, v);
                self.at_least(0.0, &[(l.p(t, u), 1.0), (l.r(t, u), -1.0), (ip, 2.0)]);
                self.at_most(2.0, &[(l.p(t, u), 1.0), (ip, 2.0)]);
                self.at_most(2.0, &[(l.s(t + 1, u), 1.0), (ip, 2.0)]);
            }
        }
    }

    /// (7).
    fn products(&mut self) {
        let l = &self.p.layout;
        for way in 0..l.ways {
            for (t, i) in self.places() {
                let (z, m, s) = (l.z(t, i, way), l.m(t, way), l.s(t + 1, i));
                self.at_least(-1.0, &[(z, 1.0), (m, -1.0), (s, -1.0)]);
                self.at_most(0.0, &[(z, 1.0), (m, -1.0)]);
                self.at_most(0.0, &[(z, 1.0), (s, -1.0)]);
            }
        }
    }

    /// (3) to (6).
    fn dependencies(&mut self) {
        let p = self.p;
        let l = &p.layout;
        for (t, i) in self.places() {
            let entries = [(l.s(t + 1, i), 1.0), (l.s(t, i), -1.0), (l.p(t, i), -1.0)];
            self.at_most(0.0, &entries);
        }
        for t in 0..l.stages {
            let ways: Vec<_> = (0..l.ways).map(|way| (l.m(t, way), 1.0)).collect();
            self.at_least(1.0, &ways);
        }
        for v in 0..l.columns {
            let node = p.node(v);
            let ways = &node.implementations;
            let mut all: Vec<usize> = ways
                .iter()
                .flat_map(|w| &w.needs)
                .map(|u| u.index())
                .collect();
            all.sort_unstable();
            all.dedup();
            for u in all {
                let reads = |w: &remat_instances::instance::Implementation| {
                    w.needs.iter().any(|d| d.index() == u)
                };
                for t in 0..l.stages {
                    let there = [(l.r(t, u), -1.0), (l.s(t, u), -1.0)];
                    if ways.iter().all(reads) {
                        self.at_most(0.0, &[(l.r(t, v), 1.0), there[0], there[1]]);
                        continue;
                    }
                    // Only some implementations read it; several implementations make a slot.
                    let Some(k) = p.slot[v] else { continue };
                    for (way, &c) in ways.iter().zip(&p.choice[v]) {
                        if reads(way) {
                            self.at_most(0.0, &[(l.f(t, k, c), 1.0), there[0], there[1]]);
                        }
                    }
                }
            }
        }
        for t in 1..l.stages {
            for way in 0..p.backward_ways(t).len() {
                for u in p.reads(t, way) {
                    let u = u.index();
                    let there = [(l.p(t, u), -1.0), (l.s(t + 1, u), -1.0)];
                    self.at_most(0.0, &[(l.m(t, way), 1.0), there[0], there[1]]);
                }
            }
        }
    }

    /// (8) and (12).
    fn by_products(&mut self) {
        let p = self.p;
        let l = &p.layout;
        for q in 0..l.columns {
            let NodeKind::ByProduct { parent } = p.node(q).kind else {
                continue;
            };
            let i = parent.index();
            for t in 0..l.stages {
                self.at_most(0.0, &[(l.r(t, q), 1.0), (l.r(t, i), -1.0)]);
                // A by-product without an option is the same either way.
                if p.over(i).is_some() && p.over(q).is_some() {
                    let both = [(l.ip(t, q), 1.0), (l.ip(t, i), -1.0), (l.r(t, q), -1.0)];
                    self.at_least(-1.0, &both);
                    self.at_most(0.0, &[(l.ip(t, q), 1.0), (l.ip(t, i), -1.0)]);
                }
            }
        }
    }

    /// (14) and (15).
    fn algorithms(&mut self) {
        let p = self.p;
        let l = &p.layout;
        for (n, slot) in p.slot.iter().enumerate() {
            let Some(k) = *slot else { continue };
            let stages = if n <= p.loss {
                0..l.stages
            } else {
                n - p.loss..n - p.loss + 1
            };
            for t in stages {
                let mut entries: Vec<_> = (0..l.algorithms).map(|c| (l.f(t, k, c), 1.0)).collect();
                if n <= p.loss {
                    entries.push((l.r(t, n), -1.0));
                    self.at_least(0.0, &entries);
                } else {
                    self.at_least(1.0, &entries);
                }
            }
        }
    }

    fn memory(&self, bytes: i64) -> f64 {
        bytes as f64 / self.p.unit_bytes
    }

    /// Budget left beside `G_t`, in the program's unit of memory.
    fn room(&self, t: usize) -> f64 {
        let p = self.p;
        let mut bytes = p.budget_bytes as i64 - p.instance.stage_fixed_bytes(t) as i64;
        if t > 0 {
            bytes -= p.passing_bytes(t, p.loss + t);
        }
        self.memory(bytes)
    }

    /// `H(t,j)`.
    fn held_for_backward(&mut self, t: usize, j: usize) {
        let p = self.p;
        let l = &p.layout;
        let read = |way: usize| {
            let reads = p.reads(t, way).iter().map(|u| u.index());
            reads.take_while(move |&u| u < j)
        };
        for way in 0..p.backward_ways(t).len() {
            let sum = read(way).map(|u| p.bytes(u)).sum();
            let entry = (l.m(t, way), self.memory(sum));
            self.buffer.push(entry);
        }
        for way in 0..p.backward_ways(t).len() {
            for u in read(way) {
                let entry = (l.z(t, u, way), -self.memory(p.bytes(u)));
                self.buffer.push(entry);
            }
        }
    }

    /// (16).
    fn checkpoints(&mut self) {
        let l = &self.p.layout;
        for (t, j) in self.places() {
            for i in j..l.columns {
                let entry = (l.s(t, i), self.memory(self.p.bytes(i)));
                self.buffer.push(entry);
            }
            for i in 0..j {
                let entry = (l.s(t + 1, i), self.memory(self.p.bytes(i)));
                self.buffer.push(entry);
            }
            self.held_for_backward(t, j);
            let room = self.room(t);
            self.sink.row(-INFINITY, room, &mut self.buffer);
        }
    }

    /// (17), for nodes that may run; for other nodes (16) is stronger.
    fn recomputations(&mut self) {
        let p = self.p;
        let l = &p.layout;
        for (t, j) in self.places().filter(|&(t, j)| p.may_run(t, j)) {
            let node = p.node(j);
            let scratch = |way: &Implementation| way.run_workspace_bytes(t > 0);
            let plain = scratch(&node.implementations[0]);
            let mut own = p.bytes(j) + p.passing_bytes(t, j);
            if p.slot[j].is_none() {
                own += plain;
            }
            let entry = (l.r(t, j), self.memory(own));
            self.buffer.push(entry);
            for i in j + 1..l.columns {
                let entry = (l.s(t, i), self.memory(p.bytes(i)));
                self.buffer.push(entry);
            }
            let mut passing = p.passing(t, j).peekable();
            for i in 0..j {
                if passing.next_if_eq(&i).is_none() {
                    let entry = (l.s(t + 1, i), self.memory(p.bytes(i)));
                    self.buffer.push(entry);
                }
            }
            self.held_for_backward(t, j);
            match p.slot[j] {
                Some(k) => {
                    for (way, &c) in node.implementations.iter().zip(&p.choice[j]) {
                        let entry = (l.f(t, k, c), self.memory(scratch(way)));
                        self.buffer.push(entry);
                    }
                }
                None => {
                    if let Some(option) = &node.in_place {
                        let change = option.workspace_bytes - plain;
                        let entry = (l.ip(t, j), self.memory(change));
                        self.buffer.push(entry);
                    }
                }
            }
            let room = self.room(t);
            self.sink.row(-INFINITY, room, &mut self.buffer);
        }
    }

    /// (18).
    fn backward(&mut self) {
        let p = self.p;
        let l = &p.layout;
        for t in 1..l.stages {
            let n = p.loss + t;
            let node = p.node(n);
            let ways = p.backward_ways(t);
            for (m, way) in ways.iter().enumerate() {
                let reads = p.reads(t, m).iter();
                let mut own: i64 = reads.map(|u| p.bytes(u.index())).sum();
                if p.slot[n].is_none() {
                    own += way.workspace_bytes;
                }
                let entry = (l.m(t, m), self.memory(own));
                self.buffer.push(entry);
            }
            for m in 0..ways.len() {
                let reads = p.reads(t, m);
                for i in 0..l.columns {
                    if reads.binary_search(&i.into()).is_err() {
                        let entry = (l.z(t, i, m), self.memory(p.bytes(i)));
                        self.buffer.push(entry);
                    }
                }
            }
            if let Some(k) = p.slot[n] {
                for (way, &c) in node.implementations.iter().zip(&p.choice[n]) {
                    let entry = (l.f(t, k, c), self.memory(way.workspace_bytes));
                    self.buffer.push(entry);
                }
            }
            let taken = p.passing_bytes(t, n) + node.fixed_bytes as i64 + p.bytes(n);
            let room = self.memory(p.budget_bytes as i64 - taken);
            self.sink.row(-INFINITY, room, &mut self.buffer);
        }
    }
}
