//! POET's program as its tool writes it down (Patil et al., ICML 2022), for small random graphs.

use crate::graphs::Numbers;
use crate::models::shuffled;
use remat_lp::{Bounds, ColId, Model, ModelBuilder, RowId, Sense};

/// The input of the tool.
#[derive(Clone, Debug)]
pub struct Input {
    /// Edges, input first; an edge may be listed twice.
    pub edges: Vec<(usize, usize)>,
    /// Size of each output.
    pub bytes: Vec<u64>,
    /// Cost of a computation, of a page-in and of a page-out of each node.
    pub costs: Vec<[f64; 3]>,
    /// Time of each computation.
    pub time: Vec<f64>,
    /// Memory.
    pub ram: f64,
    /// Time of all computations together.
    pub limit: Option<f64>,
}

/// A chain of nodes whose second half reads the first in reverse, as a training step does, with
/// some edges missing. The first backward node may list its input twice, as in the published
/// program. The memory is little more than a single node's need; pages are cheap in half of the
/// cases.
pub fn random(numbers: &mut Numbers) -> Input {
    let n = 4 + numbers.below(4) as usize;
    let mut edges: Vec<(usize, usize)> = (1..n).map(|i| (i - 1, i)).collect();
    for v in n / 2 + 1..n {
        if n - 1 - v + 1 < v && numbers.below(4) > 0 {
            edges.push((n - 1 - v, v));
        }
    }
    let single = edges.clone();
    if numbers.below(2) == 0 {
        edges.push((n / 2 - 1, n / 2));
    }
    let bytes: Vec<u64> = (0..n).map(|_| 1 + numbers.below(4)).collect();
    let unit = [1.0, 0.37, 1e-3][numbers.below(3) as usize];
    let page = 2 + 4 * numbers.below(2);
    let mut cost = |least: u64, most: u64| (least + numbers.below(most)) as f64 * unit;
    let mut costs: Vec<[f64; 3]> = (0..n)
        .map(|_| [cost(2, 12), cost(0, page), cost(0, page)])
        .collect();
    if numbers.below(2) == 0 {
        costs[0][0] = 0.0;
    }
    let need = |v: usize| {
        let inputs = single.iter().filter(|e| e.1 == v).map(|e| bytes[e.0]);
        bytes[v] + inputs.sum::<u64>()
    };
    let least = (0..n).map(need).max().unwrap_or(0);
    let ram = least + numbers.below(3);
    let time: Vec<f64> = (0..n).map(|_| 1.0 + numbers.below(5) as f64).collect();
    let total: f64 = time.iter().sum();
    let limit = match numbers.below(3) {
        0 => None,
        1 => Some(total * 1.2),
        _ => Some(total * 4.0),
    };
    Input {
        edges,
        bytes,
        costs,
        time,
        ram: ram as f64,
        limit,
    }
}

struct Columns {
    n: usize,
    edges: usize,
}

impl Columns {
    /// `R`, `SRam`, `SSd`, `MIn`, `MOut`, `U`, in this order.
    fn of(&self, kind: usize, t: usize, i: usize) -> ColId {
        ColId(((kind * self.n + t) * self.n + i) as u32)
    }

    fn free(&self, t: usize, edge: usize) -> ColId {
        ColId((6 * self.n * self.n + t * self.edges + edge) as u32)
    }
}

/// The program, row by row.
pub fn program(input: &Input) -> Model {
    let n = input.bytes.len();
    let columns = Columns {
        n,
        edges: input.edges.len(),
    };
    let mut b = ModelBuilder::new(Sense::Minimise);
    for (kind, name) in ["R", "SRam", "SSd", "MIn", "MOut", "U"].iter().enumerate() {
        for t in 0..n {
            for i in 0..n {
                let [computed, page_in, page_out] = input.costs[i];
                let cost = [computed, 0.0, 0.0, page_in, page_out, 0.0][kind];
                let upper = if kind == 5 { input.ram } else { 1.0 };
                let id = b.add_col(cost, 0.0..=upper);
                b.set_integer(id, kind < 5);
                b.set_col_name(id, format!("{name}[{t},{i}]"));
            }
        }
    }
    for t in 0..n {
        for e in 0..input.edges.len() {
            let id = b.add_col(0.0, 0.0..=1.0);
            b.set_integer(id, true);
            b.set_col_name(id, format!("Free_E[{t},{e}]"));
        }
    }
    let at = |kind: usize, t: usize, i: usize| columns.of(kind, t, i);
    // Stages advance the frontier.
    for (kind, first) in [(0, 1), (1, 0), (2, 0), (3, 1), (4, 1)] {
        let places = (0..n).flat_map(|t| (t + first..n).map(move |i| (t, i)));
        b.add_row(0.0, places.map(|(t, i)| (at(kind, t, i), 1.0)));
    }
    b.add_row(n as f64, (0..n).map(|t| (at(0, t, t), 1.0)));
    for &(u, v) in &input.edges {
        for t in 0..n {
            let row = [(at(0, t, v), 1.0), (at(0, t, u), -1.0), (at(1, t, u), -1.0)];
            b.add_row(..=0.0, row);
        }
    }
    for t in 0..n - 1 {
        for i in 0..n {
            let next = [(1, t + 1, 1.0), (1, t, -1.0), (0, t, -1.0), (3, t, -1.0)];
            b.add_row(..=0.0, next.map(|(kind, t, v)| (at(kind, t, i), v)));
            let stored = [(2, t + 1, 1.0), (2, t, -1.0), (4, t, -1.0)];
            b.add_row(..=0.0, stored.map(|(kind, t, v)| (at(kind, t, i), v)));
        }
    }
    for t in 0..n {
        for i in 0..n {
            b.add_row(..=0.0, [(at(3, t, i), 1.0), (at(2, t, i), -1.0)]);
            b.add_row(..=0.0, [(at(4, t, i), 1.0), (at(1, t, i), -1.0)]);
        }
    }
    freed(&mut b, input, &columns);
    memory(&mut b, input, &columns);
    if let Some(limit) = input.limit {
        let all = (0..n).flat_map(|t| (0..n).map(move |i| (t, i)));
        b.add_row(..=limit, all.map(|(t, i)| (at(0, t, i), input.time[i])));
    }
    b.build().expect("one entry for each row and column")
}

fn freed(b: &mut ModelBuilder, input: &Input, columns: &Columns) {
    let n = input.bytes.len();
    for upper in [false, true] {
        for t in 0..n {
            for (e, &(i, k)) in input.edges.iter().enumerate() {
                let mut later: Vec<usize> = input
                    .edges
                    .iter()
                    .filter(|x| x.0 == i)
                    .map(|x| x.1)
                    .collect();
                later.retain(|j| *j > k);
                later.sort_unstable();
                later.dedup();
                // The hazards without their constant 1.
                let mut row = vec![(columns.of(0, t, k), -1.0)];
                if t + 1 < n {
                    row.push((columns.of(1, t + 1, i), 1.0));
                }
                row.extend(later.iter().map(|j| (columns.of(0, t, *j), 1.0)));
                let most = row.len() as f64;
                let free = columns.free(t, e);
                if upper {
                    row.push((free, most));
                    b.add_row(..=most - 1.0, row);
                } else {
                    row.push((free, 1.0));
                    b.add_row(0.0.., row);
                }
            }
        }
    }
}

fn memory(b: &mut ModelBuilder, input: &Input, columns: &Columns) {
    let n = input.bytes.len();
    let size = |i: usize| input.bytes[i] as f64;
    for t in 0..n {
        let mut row = vec![(columns.of(5, t, 0), 1.0), (columns.of(0, t, 0), -size(0))];
        row.extend((0..n).map(|i| (columns.of(1, t, i), -size(i))));
        b.add_row(0.0, row);
    }
    for t in 0..n {
        for k in 0..n - 1 {
            let mut row = vec![
                (columns.of(5, t, k + 1), 1.0),
                (columns.of(5, t, k), -1.0),
                (columns.of(0, t, k + 1), -size(k + 1)),
            ];
            let own = input
                .edges
                .iter()
                .enumerate()
                .filter(|(_, edge)| edge.1 == k);
            row.extend(own.map(|(e, edge)| (columns.free(t, e), size(edge.0))));
            b.add_row(0.0, row);
        }
    }
}

/// The program without names. Its rows and columns are shuffled, rows are scaled and negated, and
/// the objective is halved and shifted. In half of the cases fixed columns are bounds in place of
/// the sums.
pub fn rewritten(model: &Model, numbers: &mut Numbers) -> Model {
    let order = shuffled(model.num_cols(), numbers);
    let bounds_only = numbers.below(2) == 0;
    let mut new = vec![ColId(0); model.num_cols()];
    let mut b = ModelBuilder::new(Sense::Minimise);
    b.set_offset(3.0);
    let mut fixed: Vec<Option<f64>> = vec![None; model.num_cols()];
    for r in (0..6).filter(|_| bounds_only) {
        let value = if r == 5 { 1.0 } else { 0.0 };
        let row = model.row(RowId(r));
        row.for_each(|(c, _)| fixed[c.index()] = Some(value));
    }
    for c in order {
        let id = ColId(c as u32);
        let bounds = fixed[c].map_or(model.col_bounds(id), Bounds::from);
        new[c] = b.add_col(model.costs()[c] * 0.5, bounds);
        b.set_integer(new[c], model.is_integer(id));
    }
    for r in shuffled(model.num_rows(), numbers) {
        if bounds_only && r < 6 {
            continue;
        }
        let scale = [1.0, -1.0, 2.0, -0.25][numbers.below(4) as usize];
        let mut bounds = model.row_bounds(RowId(r as u32));
        bounds = Bounds::new(bounds.lower * scale, bounds.upper * scale);
        if scale < 0.0 {
            bounds = Bounds::new(bounds.upper, bounds.lower);
        }
        let row = model.row(RowId(r as u32));
        b.add_row(bounds, row.map(|(c, v)| (new[c.index()], v * scale)));
    }
    b.build().expect("a program as before")
}
