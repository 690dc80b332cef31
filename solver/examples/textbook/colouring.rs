//! Vertex colouring of a small graph: fewest independent sets that contain every vertex once.
//!
//! Columns are independent sets (Mehrotra & Trick 1996), branching is Ryan and Foster's: two vertices share a colour or do
//! not, which the pricer enforces by leaving out sets. Cuts are subset rows of three vertices (Jepsen et al. 2008): at most
//! one chosen set has two of them. Both are rows of which a set's coefficient is known, so sets priced later fit in. The
//! graphs are small enough to list all independent sets; what is shown is the search, not the pricing.

use remat_lp::Bounds;
use remat_solver::pricing::{Branching, Domain, FixedPoint, Phase, Point, Priced, Pricer, Prices};

/// A graph with at most 16 vertices.
#[derive(Clone, Debug)]
pub struct Colouring {
    /// Number of vertices.
    pub len: usize,
    /// Neighbours of each vertex, as bits.
    pub adjacent: Vec<u32>,
    /// Independent sets, as bits.
    sets: Vec<u32>,
    /// Whether vertex rows come in only when violated.
    pub lazy: bool,
    /// Whether subset rows are separated.
    pub cuts: bool,
}

/// A row of the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The vertex is in one set.
    Vertex(usize),
    /// Branching: no set has exactly one of two vertices.
    Together(usize, usize),
    /// Branching: no set has both.
    Apart(usize, usize),
    /// Cut: at most one set has two or more of three vertices (bits).
    Subset(u32),
}

impl Colouring {
    /// A colouring problem from neighbourhoods.
    pub fn new(adjacent: Vec<u32>) -> Self {
        let len = adjacent.len();
        let independent = |set: u32| (0..len).all(|v| set >> v & 1 == 0 || adjacent[v] & set == 0);
        Colouring {
            sets: (1..1u32 << len).filter(|&s| independent(s)).collect(),
            len,
            adjacent,
            lazy: false,
            cuts: true,
        }
    }

    fn coefficient_of(row: &Row, set: u32) -> u32 {
        let has = |v: usize| set >> v & 1;
        match *row {
            Row::Vertex(v) => has(v),
            Row::Together(u, v) => has(u) ^ has(v),
            Row::Apart(u, v) => has(u) & has(v),
            Row::Subset(three) => u32::from((set & three).count_ones() >= 2),
        }
    }

    /// Sets that the branchings allow, with their reduced costs.
    fn reduced_costs(&self, prices: &Prices<'_, Row>, f: FixedPoint) -> Vec<(i128, u32)> {
        let unit = match prices.phase {
            Phase::Cost => f.one(),
            Phase::Farkas => 0,
        };
        let rows: Vec<(Row, i128)> = prices.iter().map(|p| (*p.row, f.dual(p.dual))).collect();
        let forbids = |row: &Row, set| {
            matches!(row, Row::Together(..) | Row::Apart(..)) && Self::coefficient_of(row, set) > 0
        };
        let allowed = |set: &u32| !rows.iter().any(|(row, _)| forbids(row, *set));
        let cost = |set: u32| {
            let paid: i128 = rows
                .iter()
                .map(|(row, y)| y * i128::from(Self::coefficient_of(row, set)))
                .sum();
            (unit - paid, set)
        };
        let sets = self.sets.iter().copied().filter(allowed);
        sets.map(cost).collect()
    }

    fn lagrangian(&self, prices: &Prices<'_, Row>, all: &[(i128, u32)], f: FixedPoint) -> f64 {
        let priced: i128 = prices.iter().map(|p| f.dual(p.dual) * p.side as i128).sum();
        let least = all.iter().map(|c| c.0).min().unwrap_or(0).min(0);
        // No more colours than vertices.
        f.down(priced + self.len as i128 * least)
    }
}

const DIGITS: u32 = 32;

impl Pricer for Colouring {
    type Column = u32;
    type Row = Row;

    fn cost(&self, _column: &u32) -> f64 {
        1.0
    }

    fn row_bounds(&self, row: &Row) -> Bounds {
        match row {
            Row::Vertex(_) => 1.0.into(),
            Row::Subset(_) => (..=1.0).into(),
            Row::Together(..) | Row::Apart(..) => (..=0.0).into(),
        }
    }

    fn coefficient(&self, row: &Row, column: &u32) -> f64 {
        f64::from(Self::coefficient_of(row, *column))
    }

    fn price(&self, prices: &Prices<'_, Row>) -> Priced<u32> {
        let f = FixedPoint::new(DIGITS);
        let all = self.reduced_costs(prices, f);
        let estimate = self.lagrangian(prices, &all, f);
        let mut paying: Vec<(i128, u32)> = all.into_iter().filter(|c| c.0 < 0).collect();
        paying.sort_unstable();
        let columns = paying.iter().take(3).map(|c| c.1).collect();
        Priced { columns, estimate }
    }

    fn bound(&self, prices: &Prices<'_, Row>) -> f64 {
        let f = FixedPoint::new(DIGITS);
        self.lagrangian(prices, &self.reduced_costs(prices, f), f)
    }
}

impl Domain for Colouring {
    fn rows(&self) -> Vec<Row> {
        let most = if self.lazy { self.len / 3 } else { self.len };
        (0..most).map(Row::Vertex).collect()
    }

    fn objective_step(&self) -> f64 {
        1.0
    }

    fn separate_required(&self, point: &Point<'_, Self>) -> Vec<Row> {
        let held = |v: usize| -> f64 {
            let sets = point.columns.iter();
            sets.filter(|(s, _)| **s >> v & 1 == 1).map(|c| c.1).sum()
        };
        (0..self.len)
            .filter(|&v| self.lazy && (held(v) - 1.0).abs() > 1e-6)
            .map(Row::Vertex)
            .collect()
    }

    fn separate(&self, point: &Point<'_, Self>) -> Vec<Row> {
        let three = (0u32..1 << self.len).filter(|s| self.cuts && s.count_ones() == 3);
        let value = |row: &Row| -> f64 {
            let sets = point.columns.iter();
            sets.map(|(s, v)| v * f64::from(Self::coefficient_of(row, **s)))
                .sum()
        };
        three
            .map(Row::Subset)
            .filter(|r| value(r) > 1.0 + 1e-3)
            .take(5)
            .collect()
    }

    fn branch(&self, point: &Point<'_, Self>) -> Vec<Branching<Row>> {
        let mut fractional = Vec::new();
        for u in 0..self.len {
            for v in u + 1..self.len {
                let both = point
                    .columns
                    .iter()
                    .filter(|(s, _)| Self::coefficient_of(&Row::Apart(u, v), **s) == 1);
                let share: f64 = both.map(|c| c.1).sum();
                if (share - share.round()).abs() > 1e-6 {
                    fractional.push(((share - 0.5).abs(), u, v));
                }
            }
        }
        fractional.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let split = |&(_, u, v): &(f64, usize, usize)| Branching {
            children: vec![vec![Row::Together(u, v)], vec![Row::Apart(u, v)]],
        };
        fractional.iter().take(10).map(split).collect()
    }

    fn check(&self, columns: &[(u32, f64)]) -> Option<f64> {
        let mut covered = 0u32;
        for (set, value) in columns {
            let clash = (0..self.len).any(|v| set >> v & 1 == 1 && self.adjacent[v] & set != 0);
            if *value != 1.0 || clash || covered & set != 0 {
                return None;
            }
            covered |= set;
        }
        (covered.count_ones() as usize == self.len).then_some(columns.len() as f64)
    }
}
