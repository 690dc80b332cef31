//! Vertex colouring of a small graph: fewest independent sets that contain every vertex once.
//!
//! Columns are independent sets (Mehrotra & Trick 1996). Branching is Ryan and Foster's: the number
//! of sets that contain two vertices is 0 (they differ in colour) or 1 (they share one). Cuts are
//! subset rows of three vertices (Jepsen et al. 2008): at most one set contains two of them. The
//! graphs are small enough to list all independent sets.

use remat_solver::price::*;

/// A graph with at most 16 vertices.
#[derive(Clone, Debug)]
pub struct Colouring {
    /// Neighbours of each vertex, as bits.
    pub adjacent: Vec<u32>,
    /// Independent sets, as bits.
    sets: Vec<u32>,
    /// True if only violated vertex rows are added.
    pub lazy: bool,
}

/// A row of the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The vertex is in one set.
    Vertex(usize),
    /// Branching: sets that contain both vertices (bits).
    Pair(Branch<u32>),
    /// Cut: at most one set contains two or more of three vertices (bits).
    Subset(u32),
}

impl Row {
    fn of(&self, set: u32) -> i64 {
        match *self {
            Row::Vertex(v) => (set >> v & 1).into(),
            Row::Pair(b) => b.sign() * i64::from(set & b.quantity == b.quantity),
            Row::Subset(three) => -i64::from((set & three).count_ones() >= 2),
        }
    }
}

impl Colouring {
    /// A colouring problem from neighbourhoods.
    pub fn new(adjacent: Vec<u32>) -> Self {
        let len = adjacent.len();
        let independent = |set: u32| (0..len).all(|v| set >> v & 1 == 0 || adjacent[v] & set == 0);
        Colouring {
            sets: (1..1u32 << len).filter(|&s| independent(s)).collect(),
            adjacent,
            lazy: false,
        }
    }

    fn vertices(&self) -> std::ops::Range<usize> {
        0..self.adjacent.len()
    }

    /// Subsets of `size` vertices.
    fn subsets(&self, size: u32) -> impl Iterator<Item = u32> {
        (0..1u32 << self.adjacent.len()).filter(move |s| s.count_ones() == size)
    }

    /// Every set with its reduced cost, where `one` is a unit of cost.
    fn reduced<N: Number>(&self, rows: &[Row], duals: &[N], one: N) -> Vec<(N, u32)> {
        let of = |set: u32| {
            let priced = rows.iter().zip(duals);
            priced.fold(one, |cost, (row, y)| cost - y.times(row.of(set)))
        };
        self.sets.iter().map(|&set| (of(set), set)).collect()
    }
}

impl Columns for Colouring {
    type Column = u32;
    fn cost(&self, _: &u32) -> u64 {
        1
    }
    fn base_cost(&self) -> u64 {
        1
    }
    fn cost_upper_bound(&self) -> u64 {
        self.adjacent.len() as u64
    }
}

impl Rows for Colouring {
    type Row = Row;
    type Part = ();
    fn start(&self) -> (Vec<Row>, Vec<u32>) {
        let eager = |v: &usize| !self.lazy || v.is_multiple_of(3);
        let rows = self.vertices().filter(eager).map(Row::Vertex);
        (rows.collect(), Vec::new())
    }
    fn row_traits(&self, row: &Row) -> RowTraits {
        match row {
            Row::Vertex(_) => RowTraits::elastic(Sense::Equal),
            Row::Pair(_) => RowTraits::elastic(Sense::AtLeast),
            Row::Subset(_) => RowTraits {
                permanent: false,
                ..RowTraits::always_met(Sense::AtLeast)
            },
        }
    }
    fn right_side(&self, row: &Row) -> i64 {
        match row {
            Row::Vertex(_) => 1,
            Row::Pair(b) => b.right_side(),
            Row::Subset(_) => -1,
        }
    }
    fn parts(&self, _: &Row, note: &mut dyn FnMut(usize, ())) {
        note(0, ());
    }
    fn coefficient(&self, row: &Row, (): (), set: &u32) -> i64 {
        row.of(*set)
    }
}

impl Pricing for Colouring {
    type Exclusions = ();
    fn no_exclusions(&self) {}
    fn price(&self, _: &(), rows: &[Row], y: &[f64], limit: usize, tolerance: f64) -> Priced<u32> {
        let mut all = self.reduced(rows, y, 1.0);
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        all.truncate(limit);
        let least = all.first().map_or(0.0, |c| c.0.min(0.0));
        let colours = self.adjacent.len() as f64;
        let mut priced = Priced::new(worth(self, rows, y) + colours * least);
        priced.add_below(-tolerance, all);
        priced.sorted()
    }
    /// The bound of the duals with at most as many colours as vertices.
    fn lagrangian_bound(&self, _: &(), rows: &[Row], duals: &[f64]) -> u64 {
        let (duals, worth) = fixed_duals(self, rows, duals);
        let all = self.reduced(rows, &duals, FIXED_ONE).into_iter();
        let least = all.map(|c| c.0).min().unwrap_or(0).min(0);
        rounded_up(worth + self.adjacent.len() as i128 * least, FIXED_ONE)
    }
}

/// Sum of the coefficients of a point in a row.
fn left_side(row: Row, point: &[(u32, f64)]) -> f64 {
    point.iter().map(|(s, v)| v * row.of(*s) as f64).sum()
}

impl Separation for Colouring {
    type Point = Vec<(u32, f64)>;
    fn point(&self, columns: &mut dyn Iterator<Item = (u32, f64)>, _: &[f64]) -> Self::Point {
        columns.collect()
    }
    fn violated(&self, point: &Self::Point, _: &RowLimits<'_, Row>) -> Vec<Row> {
        let violated = |row: &Row| (left_side(*row, point) - 1.0).abs() > 1e-6;
        let rows = self.vertices().map(Row::Vertex).filter(violated);
        rows.collect()
    }
    fn cuts(&self, point: &Self::Point, settings: &SeparationSettings) -> Vec<Row> {
        let violated = |row: &Row| left_side(*row, point) < -1.0 - settings.violation;
        let rows = self.subsets(3).map(Row::Subset).filter(violated);
        rows.take(settings.per_target).collect()
    }
}

impl Branching for Colouring {
    type Quantity = u32;
    fn open(&self, point: &Self::Point, limit: usize) -> Vec<Open<u32>> {
        let with = |pair: u32| point.iter().filter(move |c| c.0 & pair == pair);
        let share = |pair: u32| with(pair).map(|c| c.1).sum();
        let open = |pair: u32| Open::if_fractional(pair, share(pair), 1.0);
        most_promising(self.subsets(2).filter_map(open).collect(), limit)
    }
    fn branch_row(&self, branch: &Branch<u32>) -> Row {
        Row::Pair(*branch)
    }
}

impl Rounding for Colouring {
    fn round(&self, point: &Self::Point) -> Vec<Vec<u32>> {
        let chosen = point.iter().filter(|c| c.1 > 0.5).map(|c| c.0);
        vec![chosen.collect()]
    }
    fn cost_if_feasible(&self, colours: &[u32]) -> Option<u64> {
        let clash = |set: &u32| self.sets.binary_search(set).is_err();
        let vertices: u32 = colours.iter().map(|set| set.count_ones()).sum();
        let covered = colours
            .iter()
            .fold(0, |all: u32, set| all | set)
            .count_ones();
        let once = vertices == covered && covered as usize == self.adjacent.len();
        (once && !colours.iter().any(clash)).then_some(colours.len() as u64)
    }
}
