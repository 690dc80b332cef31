//! The factorised basis: `B = L R^-1 U` in one index space.
//!
//! A basis is a square matrix whose columns are variables. After [`Factor::build`] each variable is
//! paired with the row it pivots in, and the pairs are numbered in the order of elimination: the
//! *positions*. FTRAN and BTRAN work in place on vectors over positions, which stand for rows or
//! for basic variables; no permutation is needed in between. Numbering by pivot order lets every
//! pass walk memory forwards or backwards instead of at random. [`Factor::position`] and
//! [`Factor::row`] translate. `L` is a product of column etas in pivot order. `U` is stored by
//! columns and by rows, with the diagonal apart. Forrest-Tomlin updates add row etas `R` between
//! the two (Forrest & Tomlin 1972; Suhl & Suhl 1990 and 1993 for the factorisation and the update
//! on sparse bases).
//!
//! - `lu.rs`: the build, repair of singular bases; `singletons.rs`: its first phases; `kernel.rs`:
//!   Markowitz search with threshold pivoting; `assemble.rs`: laying out L and U.
//! - `solve.rs`: FTRAN and BTRAN, plain or hypersparse (Hall & McKinnon 2005); `pending.rs`: the
//!   positions that a hypersparse pass has yet to visit.
//! - `update.rs`: Forrest-Tomlin.
//! - `product.rs`: product form updates, used if columns are short and rows long.

mod assemble;
mod kernel;
mod lu;
mod pending;
mod product;
mod singletons;
mod solve;
mod update;

pub(crate) use update::UpdateCheck;

/// "No such index".
pub(crate) const NONE: u32 = u32::MAX;

/// Place of a list of [`Ragged`]. One cache line holds all data that a pass needs.
#[derive(Clone, Copy, Debug, Default)]
struct ListPlace {
    begin: u32,
    len: u32,
    cap: u32,
}

/// Lists of (index, value) that grow and shrink in one arena; a list that outgrows its place moves
/// to the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ragged {
    lists: Vec<ListPlace>,
    index: Vec<u32>,
    value: Vec<f64>,
}

impl Ragged {
    /// Makes room for `counts[k] + spare` entries in list `k`; all lists become empty.
    fn layout(&mut self, counts: &[u32], spare: u32) {
        self.lists.clear();
        let mut at = 0;
        for &c in counts {
            self.lists.push(ListPlace {
                begin: at,
                len: 0,
                cap: c + spare,
            });
            at += c + spare;
        }
        self.index.clear();
        self.index.resize(at as usize, 0);
        self.value.clear();
        self.value.resize(at as usize, 0.0);
    }

    #[inline]
    fn range(&self, k: usize) -> std::ops::Range<usize> {
        let p = self.lists[k];
        p.begin as usize..(p.begin + p.len) as usize
    }

    #[inline]
    fn list(&self, k: usize) -> (&[u32], &[f64]) {
        let r = self.range(k);
        (&self.index[r.clone()], &self.value[r])
    }

    /// Empties list `k` and ensures room for `need` entries.
    fn clear_list(&mut self, k: usize, need: u32) {
        let p = &mut self.lists[k];
        p.len = 0;
        if p.cap < need {
            *p = ListPlace {
                begin: self.index.len() as u32,
                len: 0,
                cap: need,
            };
            self.index.resize(self.index.len() + need as usize, 0);
            self.value.resize(self.value.len() + need as usize, 0.0);
        }
    }

    #[inline]
    fn push(&mut self, k: usize, i: u32, v: f64) {
        let p = self.lists[k];
        if p.len == p.cap {
            let r = self.range(k);
            let begin = self.index.len();
            let cap = 2 * p.cap + 4;
            self.index.extend_from_within(r.clone());
            self.value.extend_from_within(r);
            self.index.resize(begin + cap as usize, 0);
            self.value.resize(begin + cap as usize, 0.0);
            self.lists[k].begin = begin as u32;
            self.lists[k].cap = cap;
        }
        let p = &mut self.lists[k];
        let at = (p.begin + p.len) as usize;
        p.len += 1;
        self.index[at] = i;
        self.value[at] = v;
    }

    /// Removes the entry with this index from list `k`, if present.
    fn remove(&mut self, k: usize, i: u32) {
        let r = self.range(k);
        if let Some(pos) = self.index[r.clone()].iter().position(|&x| x == i) {
            let last = r.end - 1;
            self.index.swap(r.start + pos, last);
            self.value.swap(r.start + pos, last);
            self.lists[k].len -= 1;
        }
    }
}

/// Eta vectors of a unit triangular matrix. Pivot row `p` has the entries `begin[p]..end[p]`; only
/// the vectors listed in `order` are nonempty.
#[derive(Clone, Debug, Default)]
struct Etas {
    order: Vec<u32>,
    begin: Vec<usize>,
    end: Vec<usize>,
    index: Vec<u32>,
    value: Vec<f64>,
}

/// The factorised basis. All solves are in the space of rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Factor {
    m: usize,
    /// L by columns, in pivot order.
    lower: Etas,
    /// L by rows, in reverse pivot order: for row `i`, the pivot rows whose eta column has an entry
    /// in `i`.
    lower_rows: Etas,
    // U without its diagonal.
    diag: Vec<f64>,
    u_cols: Ragged,
    u_rows: Ragged,
    /// The row of each position and the position of each row.
    row_of: Vec<u32>,
    position_of: Vec<u32>,
    // Positions in elimination order; an update replaces its pivot's entry by NONE and appends the
    // pivot at the end.
    order: Vec<u32>,
    place: Vec<u32>,
    /// Number of initial positions whose variable was the logical of their row at the build.
    slacks: usize,
    // R: row etas of updates.
    r_pivot: Vec<u32>,
    r_start: Vec<usize>,
    r_index: Vec<u32>,
    r_value: Vec<f64>,
    product: product::UpdateProduct,
    // Data for an update, from the last FTRAN of the entering column and BTRAN of the leaving row.
    spike_index: Vec<u32>,
    spike_value: Vec<f64>,
    spike_len: usize,
    partial_row: u32,
    partial_index: Vec<u32>,
    partial_value: Vec<f64>,
    /// Scratch: positions of the values wanted from a partial solve.
    wanted: Vec<u32>,
    /// A dense scatter for updates; all zeros between calls.
    lookup: Vec<f64>,
    pending: pending::PendingSet,
    /// Scratch: positions visited by a partial solve, in elimination order.
    found: Vec<u32>,
    lu: lu::Workspace,
    /// Entries touched since construction: the deterministic clock.
    pub ticks: u64,
    /// Ticks of the last build.
    pub build_ticks: u64,
    updates: usize,
    /// Entries that the updates have added to solves, summed over the updates since the build.
    pub growth: u64,
    /// Net entries that updates have added to U, and entries of U at the build.
    fill: i64,
    u_entries: usize,
    /// Number of coming partial solves that skip the search, and the length of the last pause (0
    /// after a success). The next failure doubles the pause, within 1 to 32.
    search_pause: u32,
    search_backoff: u32,
    /// Pivoting threshold in (0, 1): larger is more stable, smaller is sparser.
    pub threshold: f64,
}

impl Factor {
    pub fn new() -> Self {
        Factor {
            threshold: 0.1,
            partial_row: NONE,
            ..Default::default()
        }
    }

    /// The row that a position stands for.
    #[inline]
    pub fn row(&self, position: usize) -> usize {
        self.row_of[position] as usize
    }

    /// The position of a row.
    #[inline]
    pub fn position(&self, row: usize) -> usize {
        self.position_of[row] as usize
    }

    /// Basis changes since the last build.
    pub fn updates(&self) -> usize {
        self.updates
    }

    /// Number of rows of the factorised basis.
    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.m
    }
}

#[cfg(test)]
mod tests;
