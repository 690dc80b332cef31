//! The factorised basis: `B = L R^-1 U` in one index space.
//!
//! A basis is a square matrix whose columns are variables. After [`Factor::build`] each variable is paired with the row
//! it pivots in, so that a position of the basis *is* a row: FTRAN and BTRAN work in place on vectors over rows, and no
//! permutation is applied. `L` is a product of column etas in pivot order, `U` is stored by columns and by rows with the
//! diagonal apart, and Forrest-Tomlin updates add row etas `R` between the two (Forrest & Tomlin 1972; Suhl & Suhl 1990
//! and 1993 for the factorisation and the update on sparse bases).
//!
//! - `lu.rs`: singleton phases, Markowitz search with threshold pivoting, repair of singular bases.
//! - `solve.rs`: FTRAN and BTRAN, plain or by symbolic reach (Gilbert & Peierls 1988; Hall & McKinnon 2005).
//! - `update.rs`: Forrest-Tomlin.

mod lu;
mod solve;
mod update;

pub(crate) use update::UpdateCheck;

/// "No such index".
pub(crate) const NONE: u32 = u32::MAX;

/// Lists of (index, value) that grow and shrink in one arena; a list that outgrows its place moves to the end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ragged {
    begin: Vec<usize>,
    len: Vec<u32>,
    cap: Vec<u32>,
    index: Vec<u32>,
    value: Vec<f64>,
}

impl Ragged {
    fn reset(&mut self, lists: usize) {
        self.begin.clear();
        self.begin.resize(lists, 0);
        self.len.clear();
        self.len.resize(lists, 0);
        self.cap.clear();
        self.cap.resize(lists, 0);
        self.index.clear();
        self.value.clear();
    }

    /// Makes room for `counts[k] + spare` entries in list `k`, all lists empty.
    fn layout(&mut self, counts: &[u32], spare: u32) {
        let mut at = 0;
        for (k, &c) in counts.iter().enumerate() {
            self.begin[k] = at;
            self.len[k] = 0;
            self.cap[k] = c + spare;
            at += (c + spare) as usize;
        }
        self.index.clear();
        self.index.resize(at, 0);
        self.value.clear();
        self.value.resize(at, 0.0);
    }

    #[inline]
    fn range(&self, k: usize) -> std::ops::Range<usize> {
        let b = self.begin[k];
        b..b + self.len[k] as usize
    }

    #[inline]
    fn list(&self, k: usize) -> (&[u32], &[f64]) {
        let r = self.range(k);
        (&self.index[r.clone()], &self.value[r])
    }

    fn push(&mut self, k: usize, i: u32, v: f64) {
        if self.len[k] == self.cap[k] {
            let r = self.range(k);
            let begin = self.index.len();
            let cap = 2 * self.cap[k] + 4;
            self.index.extend_from_within(r.clone());
            self.value.extend_from_within(r);
            self.index.resize(begin + cap as usize, 0);
            self.value.resize(begin + cap as usize, 0.0);
            self.begin[k] = begin;
            self.cap[k] = cap;
        }
        let at = self.begin[k] + self.len[k] as usize;
        self.index[at] = i;
        self.value[at] = v;
        self.len[k] += 1;
    }

    /// Removes the entry with this index from list `k`, if it is there.
    fn remove(&mut self, k: usize, i: u32) {
        let r = self.range(k);
        if let Some(pos) = self.index[r.clone()].iter().position(|&x| x == i) {
            let last = r.end - 1;
            self.index.swap(r.start + pos, last);
            self.value.swap(r.start + pos, last);
            self.len[k] -= 1;
        }
    }
}

/// Eta vectors of a unit triangular matrix: that of pivot row `p` is `begin[p]..end[p]`. Only those in `order` are not empty.
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
    /// L by rows, in reverse pivot order: for row `i`, the pivot rows whose eta column has an entry in `i`.
    lower_rows: Etas,
    // U without its diagonal.
    diag: Vec<f64>,
    u_cols: Ragged,
    u_rows: Ragged,
    // Pivot rows in elimination order; an updated pivot leaves NONE behind and moves to the end.
    order: Vec<u32>,
    place: Vec<u32>,
    // R: row etas of updates.
    r_pivot: Vec<u32>,
    r_start: Vec<usize>,
    r_index: Vec<u32>,
    r_value: Vec<f64>,
    // What an update needs from the last FTRAN of the entering column and BTRAN of the leaving row.
    spike_index: Vec<u32>,
    spike_value: Vec<f64>,
    partial_row: u32,
    partial_index: Vec<u32>,
    partial_value: Vec<f64>,
    /// Zeros between calls: a dense scatter for updates.
    lookup: Vec<f64>,
    reach: solve::Reach,
    lu: lu::Workspace,
    /// Entries touched since construction: the deterministic clock.
    pub ticks: u64,
    /// Ticks of the last build, and of solves since then.
    pub build_ticks: u64,
    pub solve_ticks: u64,
    updates: usize,
    /// Threshold of pivoting in (0, 1): larger is stabler, smaller is sparser.
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
