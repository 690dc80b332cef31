//! Generalised assignment: every job is assigned to one agent, each agent has a capacity; least
//! cost.
//!
//! A column is a set of jobs for one agent (Savelsbergh 1997). Branching is on "this agent does
//! this job". Pricing is a knapsack for each agent.

use remat_solver::price::*;
use std::collections::BTreeMap;

/// An instance with at most 64 jobs.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// `cost[agent][job]`
    pub cost: Vec<Vec<u64>>,
    /// `load[agent][job]`
    pub load: Vec<Vec<u32>>,
    /// Capacity of each agent.
    pub capacity: Vec<u32>,
}

/// Jobs of one agent, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobSet {
    pub agent: usize,
    pub jobs: u64,
}

/// A row of the master.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    /// The job is done once.
    Job(usize),
    /// The agent gets at most one set.
    Agent(usize),
    /// Branching: the agent does the job, or does not.
    Pair(Branch<(usize, usize)>),
}

fn bits(set: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |j| set >> j & 1 == 1)
}

impl Assignment {
    /// Number of jobs.
    pub fn jobs(&self) -> usize {
        self.cost[0].len()
    }

    /// For each agent the set of least reduced cost, where `one` is a unit of cost.
    fn knapsacks<N: Number>(&self, rows: &[Row], duals: &[N], one: N) -> Vec<(N, JobSet)> {
        let negative = |costs: &Vec<u64>| costs.iter().map(|c| -one.times(*c as i64)).collect();
        let mut worth: Vec<Vec<N>> = self.cost.iter().map(negative).collect();
        let mut price = vec![N::ZERO; self.blocks()];
        for (row, &y) in rows.iter().zip(duals) {
            match row {
                Row::Job(j) => worth.iter_mut().for_each(|w| w[*j] = w[*j] + y),
                Row::Agent(a) => price[*a] = y,
                Row::Pair(b) => {
                    let w = &mut worth[b.quantity.0][b.quantity.1];
                    *w = *w + y.times(b.sign());
                }
            }
        }
        let best = |agent: usize| {
            let capacity = self.capacity[agent] as usize;
            let mut value = vec![(N::ZERO, 0u64); capacity + 1];
            for (j, &worth) in worth[agent].iter().enumerate() {
                let load = self.load[agent][j] as usize;
                for c in (load..=capacity).rev().filter(|_| worth > N::ZERO) {
                    let (v, set) = value[c - load];
                    if v + worth > value[c].0 {
                        value[c] = (v + worth, set | 1 << j);
                    }
                }
            }
            let (worth, jobs) = value[capacity];
            (price[agent] - worth, JobSet { agent, jobs })
        };
        (0..self.blocks()).map(best).collect()
    }
}

impl Columns for Assignment {
    type Column = JobSet;
    fn blocks(&self) -> usize {
        self.capacity.len()
    }
    fn block(set: &JobSet) -> usize {
        set.agent
    }
    fn cost(&self, set: &JobSet) -> u64 {
        bits(set.jobs).map(|j| self.cost[set.agent][j]).sum()
    }
    fn base_cost(&self) -> u64 {
        let least = |costs: &Vec<u64>| costs.iter().copied().min();
        self.jobs() as u64 * self.cost.iter().filter_map(least).min().unwrap_or(0)
    }
    fn cost_upper_bound(&self) -> u64 {
        self.cost.iter().flatten().sum()
    }
}

impl Rows for Assignment {
    type Row = Row;
    type Part = ();
    fn start(&self) -> (Vec<Row>, Vec<JobSet>) {
        let agents = (0..self.blocks()).map(Row::Agent);
        let rows = (0..self.jobs()).map(Row::Job).chain(agents);
        (rows.collect(), Vec::new())
    }
    fn row_traits(&self, row: &Row) -> RowTraits {
        match row {
            Row::Job(_) => RowTraits::elastic(Sense::Equal),
            Row::Agent(_) => RowTraits::always_met(Sense::AtLeast),
            Row::Pair(_) => RowTraits::elastic(Sense::AtLeast),
        }
    }
    fn right_side(&self, row: &Row) -> i64 {
        match row {
            Row::Job(_) => 1,
            Row::Agent(_) => -1,
            Row::Pair(b) => b.right_side(),
        }
    }
    fn parts(&self, row: &Row, note: &mut dyn FnMut(usize, ())) {
        match *row {
            Row::Job(_) => (0..self.blocks()).for_each(|a| note(a, ())),
            Row::Agent(a) => note(a, ()),
            Row::Pair(b) => note(b.quantity.0, ()),
        }
    }
    fn coefficient(&self, row: &Row, (): (), set: &JobSet) -> i64 {
        let does = |j: usize| (set.jobs >> j & 1) as i64;
        match *row {
            Row::Job(j) => does(j),
            Row::Agent(_) => -1,
            Row::Pair(b) => b.sign() * does(b.quantity.1),
        }
    }
}

impl Pricing for Assignment {
    type Exclusions = ();
    fn no_exclusions(&self) {}
    fn price(&self, _: &(), rows: &[Row], y: &[f64], _: usize, tolerance: f64) -> Priced<JobSet> {
        let best = self.knapsacks(rows, y, 1.0);
        let mut priced = Priced::new(worth(self, rows, y) + best.iter().map(|b| b.0).sum::<f64>());
        priced.add_below(-tolerance, best);
        priced.sorted()
    }
    fn lagrangian_bound(&self, _: &(), rows: &[Row], duals: &[f64]) -> u64 {
        let (duals, worth) = fixed_duals(self, rows, duals);
        let sets = self.knapsacks(rows, &duals, FIXED_ONE).into_iter();
        rounded_up(worth + sets.map(|s| s.0).sum::<i128>(), FIXED_ONE)
    }
}

impl Separation for Assignment {
    type Point = Vec<(JobSet, f64)>;
    fn point(&self, columns: &mut dyn Iterator<Item = (JobSet, f64)>, _: &[f64]) -> Self::Point {
        columns.collect()
    }
}

impl Branching for Assignment {
    type Quantity = (usize, usize);
    fn open(&self, point: &Self::Point, limit: usize) -> Vec<Open<(usize, usize)>> {
        let mut shares = BTreeMap::new();
        for (set, value) in point {
            for j in bits(set.jobs) {
                *shares.entry((set.agent, j)).or_insert(0.0) += value;
            }
        }
        let open = |(pair, share)| Open::if_fractional(pair, share, 1.0);
        most_promising(shares.into_iter().filter_map(open).collect(), limit)
    }
    fn branch_row(&self, branch: &Branch<(usize, usize)>) -> Row {
        Row::Pair(*branch)
    }
}

impl Rounding for Assignment {
    fn round(&self, point: &Self::Point) -> Vec<Vec<JobSet>> {
        let chosen = point.iter().filter(|c| c.1 > 0.5).map(|c| c.0);
        vec![chosen.collect()]
    }
    fn cost_if_feasible(&self, sets: &[JobSet]) -> Option<u64> {
        let (mut done, mut busy) = (0u64, 0u64);
        for set in sets {
            let load: u32 = bits(set.jobs).map(|j| self.load[set.agent][j]).sum();
            let twice = busy & 1 << set.agent | done & set.jobs;
            if twice != 0 || load > self.capacity[set.agent] {
                return None;
            }
            (busy, done) = (busy | 1 << set.agent, done | set.jobs);
        }
        let all = done.count_ones() as usize == self.jobs();
        all.then(|| sets.iter().map(|set| self.cost(set)).sum())
    }
}
