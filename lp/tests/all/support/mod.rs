//! Families of linear programs with known outcomes, for tests of the solver against itself, its
//! certificates and other solvers.
#![allow(dead_code)] // Every test file uses its own part.

use remat_lp::{Bounds, ColId, Model, ModelBuilder, RowId, Sense, mps};
use std::path::{Path, PathBuf};

/// The directory of Netlib's problems, if it lies beside this checkout; otherwise prints that it is
/// missing.
pub fn netlib_dir() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/netlib");
    if dir.is_dir() {
        return Some(dir);
    }
    println!("skipped: {} is not there", dir.display());
    None
}

/// One of Netlib's problems.
pub fn netlib(name: &str) -> Option<Model> {
    netlib_dir().map(|dir| mps::read(dir.join(format!("{name}.mps.gz"))).unwrap())
}

/// A random number generator, the same on every machine.
pub struct Rng(u64);

impl Rng {
    /// A generator with its own sequence for each seed.
    pub fn new(seed: u64) -> Rng {
        let mut r = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x2545_f491_4f6c_dd1d);
        for _ in 0..4 {
            r.next();
        }
        r
    }

    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 ^ (self.0 >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33
    }

    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    /// A whole number.
    pub fn int(&mut self, low: i64, high: i64) -> f64 {
        (low + (self.next() % (high - low + 1) as u64) as i64) as f64
    }

    /// A number in an interval.
    pub fn real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() as f64 / (1u64 << 31) as f64)
    }

    /// True with probability `1 / n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// Outcome that a generated program must have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// Optimal, with this objective if it is known.
    Optimal(Option<f64>),
    /// Without feasible point.
    Infeasible,
    /// Feasible and unbounded.
    Unbounded,
}

/// A family's name and generator; `size` is roughly the number of rows.
pub type Family = (&'static str, fn(&mut Rng, usize) -> (Model, End));

/// All families.
pub const FAMILIES: [Family; 11] = [
    ("planted", planted),
    ("planted, badly scaled", badly_scaled),
    ("planted, degenerate", degenerate),
    ("assignment", assignment),
    ("transportation", transportation),
    ("set partitioning", set_partitioning),
    ("network", network),
    ("staircase", staircase),
    ("klein-like", klein_like),
    ("infeasible by little", infeasible_by_little),
    ("unbounded", unbounded),
];

/// A sparse matrix by rows.
fn matrix(r: &mut Rng, m: usize, n: usize, per_row: usize) -> Vec<Vec<(usize, f64)>> {
    (0..m)
        .map(|_| {
            let mut row: Vec<(usize, f64)> = Vec::new();
            for _ in 0..1 + r.below(per_row) {
                let j = r.below(n);
                if row.iter().all(|e| e.0 != j) {
                    let v = [r.int(-3, 3), r.real(-5.0, 5.0), 1.0, -1.0][r.below(4)];
                    row.push((j, if v == 0.0 { 2.0 } else { v }));
                }
            }
            row
        })
        .collect()
}

/// A program around a primal and a dual solution that satisfy complementary slackness. `ties` is
/// the percentage of nonbasic duals that are zero and of basic values that are at bounds.
fn around_optimum(
    r: &mut Rng,
    size: usize,
    ties: usize,
    row_scale: &[f64],
    col_scale: &[f64],
) -> (Model, End) {
    let (m, n) = (row_scale.len(), col_scale.len());
    let rows = matrix(r, m, n, 3 + size.min(6));
    let maximise = r.once_in(2);
    let sign = if maximise { -1.0 } else { 1.0 };
    // Values, bounds and the duals of the bounds: `d >= 0` at a lower bound when minimising.
    let place = |r: &mut Rng, value: f64| -> (Bounds, f64) {
        let price = if r.below(100) < ties {
            0.0
        } else {
            r.int(1, 9)
        };
        let room = if r.once_in(3) {
            f64::INFINITY
        } else {
            r.int(1, 6)
        };
        match r.below(8) {
            0 | 1 => (Bounds::new(value, value + room), price),
            2 | 3 => (Bounds::new(value - room, value), -price),
            4 => (Bounds::from(value), r.int(-9, 9)),
            5 if r.below(100) < ties => (Bounds::new(value, value + room), 0.0),
            6 => (Bounds::FREE, 0.0),
            _ => (Bounds::new(value - room, value + r.int(1, 6)), 0.0),
        }
    };
    let x: Vec<f64> = (0..n).map(|_| r.int(-5, 5)).collect();
    let cols: Vec<(Bounds, f64)> = x.iter().map(|&v| place(r, v)).collect();
    let mut cost: Vec<f64> = cols.iter().map(|c| c.1).collect();
    let mut b = ModelBuilder::new(if maximise {
        Sense::Maximise
    } else {
        Sense::Minimise
    });
    let mut row_data = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let activity: f64 = row.iter().map(|&(j, v)| v * x[j]).sum();
        let (bounds, y) = place(r, activity);
        for &(j, v) in row {
            cost[j] += v * y;
        }
        row_data.push((i, bounds));
    }
    let mut objective = 0.0;
    for (j, &(bounds, _)) in cols.iter().enumerate() {
        objective += sign * cost[j] * x[j];
        let s = col_scale[j];
        b.add_col(
            sign * cost[j] * s,
            Bounds::new(bounds.lower / s, bounds.upper / s),
        );
    }
    for (i, bounds) in row_data {
        let s = row_scale[i];
        b.add_row(
            Bounds::new(bounds.lower * s, bounds.upper * s),
            rows[i]
                .iter()
                .map(|&(j, v)| (ColId(j as u32), v * s * col_scale[j])),
        );
    }
    b.set_offset(2.5);
    (b.build().unwrap(), End::Optimal(Some(objective + 2.5)))
}

fn planted(r: &mut Rng, size: usize) -> (Model, End) {
    let n = size + r.below(size + 1);
    around_optimum(r, size, 10, &vec![1.0; size], &vec![1.0; n])
}

fn degenerate(r: &mut Rng, size: usize) -> (Model, End) {
    let n = size + r.below(size + 1);
    around_optimum(r, size, 80, &vec![1.0; size], &vec![1.0; n])
}

fn badly_scaled(r: &mut Rng, size: usize) -> (Model, End) {
    let n = size + r.below(size + 1);
    let power = |r: &mut Rng| 2f64.powi(r.int(-10, 10) as i32);
    let rows: Vec<f64> = (0..size).map(|_| power(r)).collect();
    let cols: Vec<f64> = (0..n).map(|_| power(r)).collect();
    around_optimum(r, size, 10, &rows, &cols)
}

/// An assignment problem: every vertex has `n` positive and `n - 1` zero basic values.
fn assignment(r: &mut Rng, size: usize) -> (Model, End) {
    let n = size / 2 + 1;
    let mut b = ModelBuilder::new(Sense::Minimise);
    let cols: Vec<ColId> = (0..n * n).map(|_| b.add_col(r.int(0, 12), 0.0..)).collect();
    for i in 0..n {
        b.add_row(1.0, (0..n).map(|j| (cols[i * n + j], 1.0)));
        b.add_row(1.0, (0..n).map(|j| (cols[j * n + i], 1.0)));
    }
    (b.build().unwrap(), End::Optimal(None))
}

fn transportation(r: &mut Rng, size: usize) -> (Model, End) {
    let (p, q) = (size / 3 + 1, size - size / 3 + 1);
    let mut b = ModelBuilder::new(Sense::Minimise);
    let cols: Vec<ColId> = (0..p * q)
        .map(|_| {
            b.add_col(
                r.int(1, 20),
                0.0..=if r.once_in(4) { 9.0 } else { f64::INFINITY },
            )
        })
        .collect();
    let spill: Vec<ColId> = (0..q).map(|_| b.add_col(50.0, 0.0..)).collect();
    for i in 0..p {
        b.add_row(..=r.int(5, 30), (0..q).map(|j| (cols[i * q + j], 1.0)));
    }
    for j in 0..q {
        let demand = r.int(1, 12);
        b.add_row(
            demand,
            (0..p)
                .map(|i| (cols[i * q + j], 1.0))
                .chain([(spill[j], 1.0)]),
        );
    }
    (b.build().unwrap(), End::Optimal(None))
}

fn set_partitioning(r: &mut Rng, size: usize) -> (Model, End) {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let rows: Vec<RowId> = (0..size).map(|_| b.add_row(1.0, [])).collect();
    for k in 0..4 * size {
        let len = if k < size {
            1
        } else {
            2 + r.below(5.min(size))
        };
        let mut members: Vec<usize> = if k < size { vec![k] } else { Vec::new() };
        while members.len() < len.min(size) {
            let i = r.below(size);
            if !members.contains(&i) {
                members.push(i);
            }
        }
        let cost = if k < size {
            30.0
        } else {
            5.0 * members.len() as f64 + r.int(0, 8)
        };
        let col = b.add_col(cost, 0.0..=1.0);
        for i in members {
            b.add_entry(rows[i], col, 1.0);
        }
    }
    (b.build().unwrap(), End::Optimal(None))
}

/// Minimum-cost flow on a grid, without free potentials, so one equation is redundant.
fn network(r: &mut Rng, size: usize) -> (Model, End) {
    let side = (size as f64).sqrt() as usize + 2;
    let nodes = side * side;
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut supply: Vec<f64> = (0..nodes).map(|_| r.int(-3, 3)).collect();
    supply[0] -= supply.iter().sum::<f64>();
    let rows: Vec<RowId> = supply.iter().map(|&s| b.add_row(s, [])).collect();
    let arc = |b: &mut ModelBuilder, from: usize, to: usize, cost: f64, upper: f64| {
        let c = b.add_col(cost, 0.0..=upper);
        b.add_entry(rows[from], c, 1.0);
        b.add_entry(rows[to], c, -1.0);
    };
    for u in 0..nodes {
        for v in [u + 1, u + side] {
            if v < nodes && (v != u + 1 || v % side != 0) {
                let upper = if r.once_in(2) {
                    r.int(1, 6)
                } else {
                    f64::INFINITY
                };
                arc(&mut b, u, v, r.int(1, 9), upper);
                arc(&mut b, v, u, r.int(1, 9), upper);
            }
        }
        if u != 0 {
            arc(&mut b, 0, u, 60.0, f64::INFINITY);
            arc(&mut b, u, 0, 60.0, f64::INFINITY);
        }
    }
    (b.build().unwrap(), End::Optimal(None))
}

/// Production over time: stock carried from period to period, with ranged rows, free and fixed
/// columns.
fn staircase(r: &mut Rng, size: usize) -> (Model, End) {
    let periods = size / 3 + 2;
    let mut b = ModelBuilder::new(Sense::Maximise);
    let mut stock = b.add_col(0.0, 4.0);
    for t in 0..periods {
        let make = b.add_col(-r.real(1.0, 3.0), 0.0..=r.int(4, 9));
        let buy = b.add_col(-r.real(4.0, 6.0), 0.0..);
        let sell = b.add_col(r.real(2.0, 7.0), 0.0..=r.int(2, 12));
        let next = b.add_col(-0.05, 0.0..=20.0);
        let slack = b.add_col(0.0, Bounds::FREE);
        b.add_row(
            0.0,
            [
                (stock, 1.0),
                (make, 0.95),
                (buy, 1.0),
                (sell, -1.0),
                (next, -1.0),
            ],
        );
        b.add_row(-3.0..=8.0, [(make, 1.0), (sell, -0.5), (slack, 1.0)]);
        b.add_row(
            r.int(0, 2)..=30.0,
            [(make, 1.0), (buy, 1.0), (next, 0.125 * (t % 3) as f64)],
        );
        stock = next;
    }
    (b.build().unwrap(), End::Optimal(None))
}

/// Equations with small, dense, whole data and no nonnegative solution. Only multipliers on all
/// rows prove it: `y^T A <= 0` and `y^T b > 0` (as in Netlib's `klein` problems).
fn klein_like(r: &mut Rng, size: usize) -> (Model, End) {
    let m = size.clamp(3, 60);
    let y: Vec<f64> = (0..m - 1)
        .map(|_| r.int(1, 9) * if r.once_in(2) { -1.0 } else { 1.0 })
        .collect();
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut rows = Vec::new();
    let mut total = 0.0;
    for v in &y {
        let rhs = r.int(0, 20);
        total += v * rhs;
        rows.push(b.add_row(rhs, []));
    }
    // With multiplier one, the last right-hand side makes the sum one.
    let last = b.add_row(1.0 - total, []);
    for _ in 0..m {
        let col = b.add_col(r.int(-3, 3), 0.0..);
        let mut sum = 0.0;
        for (i, v) in y.iter().enumerate() {
            let a = r.int(-2, 9);
            if a != 0.0 {
                b.add_entry(rows[i], col, a);
                sum += v * a;
            }
        }
        b.add_entry(last, col, -sum - r.int(0, 1));
    }
    (b.build().unwrap(), End::Infeasible)
}

/// Ranged rows and boxed columns around a point, and one more row that misses the range of the
/// combination of all others by 1e-3.
fn infeasible_by_little(r: &mut Rng, size: usize) -> (Model, End) {
    let n = size + 3;
    let mut b = ModelBuilder::new(Sense::Minimise);
    let cols: Vec<ColId> = (0..n)
        .map(|_| b.add_col(r.int(-4, 4), -2.0..=2.0))
        .collect();
    let rows = matrix(r, size, n, 6);
    let mut sum = vec![0.0; n];
    let mut reach = 0.0;
    for row in &rows {
        let upper = row.iter().map(|&(_, v)| v.abs()).sum::<f64>() / 2.0;
        b.add_row(-upper - 1.0..=upper, row.iter().map(|&(j, v)| (cols[j], v)));
        reach += upper;
        for &(j, v) in row {
            sum[j] += v;
        }
    }
    b.add_row(
        (reach + 1e-3)..,
        sum.iter()
            .enumerate()
            .filter(|e| *e.1 != 0.0)
            .map(|(j, &v)| (cols[j], v)),
    );
    (b.build().unwrap(), End::Infeasible)
}

/// A feasible point and a direction without a blocking row or bound.
fn unbounded(r: &mut Rng, size: usize) -> (Model, End) {
    let n = size + 2 + r.below(size);
    let rows = matrix(r, size, n, 6);
    let x: Vec<f64> = (0..n).map(|_| r.int(-3, 3)).collect();
    let direction: Vec<f64> = (0..n)
        .map(|_| if r.once_in(3) { r.int(-1, 2) } else { 0.0 })
        .collect();
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut gain = 0.0;
    let mut moves = false;
    for (&v, &d) in x.iter().zip(&direction) {
        let (l, u) = (v - r.int(0, 3), v + r.int(0, 3));
        let bounds = match d {
            d if d > 0.0 => Bounds::new(l, f64::INFINITY),
            d if d < 0.0 => Bounds::new(f64::NEG_INFINITY, u),
            _ => Bounds::new(l, u),
        };
        moves |= d != 0.0;
        let cost = r.int(-3, 5);
        gain += cost * d;
        b.add_col(cost, bounds);
    }
    // One more column provides the missing gain.
    let last = b.add_col(if moves { -gain.abs() - 1.0 } else { -1.0 }, 0.0..);
    for row in rows {
        let at: f64 = row.iter().map(|&(j, v)| v * x[j]).sum();
        let slope: f64 = row.iter().map(|&(j, v)| v * direction[j]).sum();
        let balance = -slope;
        let width = r.int(0, 4);
        let entries = row.iter().map(|&(j, v)| (ColId(j as u32), v));
        b.add_row(
            at - width..=at + width,
            entries.chain((balance != 0.0).then_some((last, balance))),
        );
    }
    (b.build().unwrap(), End::Unbounded)
}

/// A program with a known optimum whose rows and columns are scaled by up to `decades` decades in
/// both directions.
pub fn scaled_over_decades(rng: &mut Rng, decades: i32) -> Model {
    let plain = FAMILIES[0].1(rng, 30).0;
    let mut power = |spread: i32| 10f64.powi(rng.below(2 * spread as usize + 1) as i32 - spread);
    let row: Vec<f64> = (0..plain.num_rows()).map(|_| power(decades)).collect();
    let col: Vec<f64> = (0..plain.num_cols()).map(|_| power(decades)).collect();
    let mut b = ModelBuilder::new(plain.sense());
    for (j, &c) in col.iter().enumerate() {
        let bounds = plain.col_bounds(ColId(j as u32));
        b.add_col(plain.costs()[j] / c, bounds.lower * c..=bounds.upper * c);
    }
    for (i, &r) in row.iter().enumerate() {
        let id = RowId(i as u32);
        let bounds = plain.row_bounds(id);
        b.add_row(
            bounds.lower * r..=bounds.upper * r,
            plain
                .row(id)
                .map(|(c, v)| (c, v * r / col[c.index()]))
                .collect::<Vec<_>>(),
        );
    }
    b.build().unwrap()
}
