//! The coloured graph of a program: columns and rows are joined by nonzero coefficients.

use crate::mip::problem::Problem;
use remat_lp::Compressed;

/// Vertices are columns, then rows; edges carry the number of their coefficient.
pub(super) struct Graph {
    start: Vec<u32>,
    to: Vec<u32>,
    colour: Vec<u32>,
    /// Vertices in the order of their colours, and the start of each colour: integer columns first,
    /// then continuous ones, then rows.
    pub order: Vec<u32>,
    pub cells: Vec<u32>,
    pub columns: usize,
    pub integers: usize,
}

/// Bits of a number, the same for both zeros.
fn bits(v: f64) -> u64 {
    if v == 0.0 { 0 } else { v.to_bits() }
}

impl Graph {
    pub fn new(p: &Problem) -> Graph {
        let (n, m) = (p.num_cols(), p.num_rows());
        let mut values: Vec<u64> = p.rows.value.iter().map(|&v| bits(v)).collect();
        values.sort_unstable();
        values.dedup();
        let number = |v: f64| values.partition_point(|&w| w < bits(v)) as u32;
        let mut graph = Graph {
            start: Vec::with_capacity(n + m + 1),
            to: Vec::with_capacity(2 * p.rows.index.len()),
            colour: Vec::with_capacity(2 * p.rows.index.len()),
            order: (0..(n + m) as u32).collect(),
            cells: Vec::new(),
            columns: n,
            integers: p.integer.iter().filter(|&&i| i).count(),
        };
        graph.start.push(0);
        let mut join = |matrix: &Compressed, k: usize, behind: usize| {
            for (i, v) in matrix.iter(k) {
                graph.to.push((i + behind) as u32);
                graph.colour.push(number(v));
            }
            graph.start.push(graph.to.len() as u32);
        };
        for j in 0..n {
            join(&p.cols, j, n);
        }
        for i in 0..m {
            join(&p.rows, i, 0);
        }
        let key = |&v: &u32| match v as usize {
            j if j < n => (
                u8::from(!p.integer[j]),
                bits(p.cost[j]),
                bits(p.lower[j]),
                bits(p.upper[j]),
            ),
            i => (2, bits(p.row_lower[i - n]), bits(p.row_upper[i - n]), 0),
        };
        graph.order.sort_by_key(key);
        for k in 0..n + m {
            if k == 0 || key(&graph.order[k]) != key(&graph.order[k - 1]) {
                graph.cells.push(k as u32);
            }
        }
        graph
    }

    pub fn vertices(&self) -> usize {
        self.order.len()
    }

    /// Neighbours of a vertex, with the numbers of the coefficients.
    pub fn edges(&self, v: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        let range = self.start[v] as usize..self.start[v + 1] as usize;
        let to = self.to[range.clone()].iter().copied();
        to.zip(self.colour[range].iter().copied())
    }
}
