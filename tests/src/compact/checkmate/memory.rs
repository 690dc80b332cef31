//! Memory rows of the retention-edge form: all of them, or the rows that a point violates.

use super::{Compact, Entry};
use remat_lp::{ColId, Model, NewRow, Settings, Solver};

/// A memory row by its place: node `node`'s turn in stage `stage`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryRow {
    /// The stage.
    pub stage: u32,
    /// The node whose turn it is.
    pub node: u32,
}

impl Compact {
    /// The whole program with all memory rows, for files and for solvers that take rows at once.
    pub fn with_memory_rows(&self) -> Model {
        let mut solver = Solver::new(self.model().clone(), Settings::default());
        let rows: Vec<NewRow> = self
            .memory_rows()
            .filter_map(|place| self.memory_row(place))
            .collect();
        solver
            .add_rows(&rows)
            .expect("memory rows have finite entries in columns of the form");
        Model::clone(solver.model())
    }

    /// The places of all memory rows: every node that may run in every stage.
    pub fn memory_rows(&self) -> impl Iterator<Item = MemoryRow> + '_ {
        let n = self.graph.len();
        (0..n).flat_map(move |t| {
            (0..=t)
                .filter(move |&k| self.computed(t, k) != Entry::Zero)
                .map(move |k| MemoryRow {
                    stage: t as u32,
                    node: k as u32,
                })
        })
    }

    /// Output and workspace of a node that runs in a stage, in bytes.
    fn working_bytes(&self, stage: usize, node: usize) -> u64 {
        let g = &self.graph;
        let workspace = match node < stage {
            true => g.workspace_again[node],
            false => g.workspace[node],
        };
        g.bytes[node] + workspace
    }

    /// A memory row, in units of the
    /// [graph](remat_formulations::checkmate::CheckmateGraph::memory_unit). `None` if all its
    /// entries are known and the memory suffices.
    pub fn memory_row(&self, place: MemoryRow) -> Option<NewRow> {
        let (t, k) = (place.stage as usize, place.node as usize);
        let g = &self.graph;
        let mut room = g.capacity as i128;
        let mut terms: Vec<(ColId, u64)> = Vec::new();
        let mut take = |entry: Entry, bytes: u64| match entry {
            Entry::Zero => {}
            Entry::One => room -= i128::from(bytes),
            Entry::Column(c) if bytes > 0 => terms.push((c, bytes)),
            Entry::Column(_) => {}
        };
        for i in 0..k {
            take(self.present(t, i, k), g.bytes[i]);
        }
        take(self.computed(t, k), self.working_bytes(t, k));
        for i in k + 1..t {
            take(self.retained(t, i), g.bytes[i]);
        }
        if terms.is_empty() && room >= 0 {
            return None;
        }
        // One column may stand for several tensors: the R of a reader without a follower.
        terms.sort_unstable_by_key(|e| e.0);
        remat_solver::entries::add_up(&mut terms);
        let unit = g.memory_unit();
        let entries = terms.into_iter().map(|(c, m)| (c, m as f64 / unit));
        Some(NewRow::new(..=room as f64 / unit, entries))
    }

    /// The memory rows that a point violates by more than `tolerance` (a share of the capacity),
    /// the worst first, with their violations as shares of the capacity. Time is linear in the
    /// number of edges for each stage.
    pub fn violated_memory(&self, x: &[f64], tolerance: f64) -> Vec<(MemoryRow, f64)> {
        let g = &self.graph;
        let n = g.len();
        let capacity = g.capacity as f64;
        let mut found = Vec::new();
        let mut now = vec![0.0; n];
        let mut next = vec![0u32; n];
        for t in 0..n {
            let mut load = 0.0;
            for i in 0..t {
                now[i] = self.retained(t, i).value(x);
                next[i] = 0;
                load += now[i] * g.bytes[i] as f64;
            }
            for k in 0..=t {
                let run = self.computed(t, k);
                if k < t {
                    load -= now[k] * g.bytes[k] as f64;
                }
                if run != Entry::Zero {
                    let own = self.working_bytes(t, k) as f64;
                    let over = (load + run.value(x) * own) / capacity - 1.0;
                    if over > tolerance {
                        let place = MemoryRow {
                            stage: t as u32,
                            node: k as u32,
                        };
                        found.push((place, over));
                    }
                    // After the turn of k its inputs are held for their next reader.
                    for &i in &g.needs[k] {
                        let i = i as usize;
                        let chain = self.held(t, i);
                        while chain
                            .get(next[i] as usize)
                            .is_some_and(|e| e.0 as usize <= k)
                        {
                            next[i] += 1;
                        }
                        let after = chain
                            .get(next[i] as usize)
                            .map_or_else(|| self.retained(t + 1, i), |e| e.1);
                        let after = after.value(x);
                        load += (after - now[i]) * g.bytes[i] as f64;
                        now[i] = after;
                    }
                }
                if k < t {
                    now[k] = self.present(t, k, k + 1).value(x);
                    load += now[k] * g.bytes[k] as f64;
                }
            }
        }
        found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        found
    }
}
