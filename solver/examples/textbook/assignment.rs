//! Generalised assignment: every job to one agent, each agent with a capacity; least cost.
//!
//! A column is a set of jobs for one agent (Savelsbergh 1997), rows are "every job once" and "one set for each agent";
//! branching is on "this agent does this job", a sum of columns. The pricer enforces these rows by leaving jobs out,
//! and solves a knapsack for each agent. Costs are integers, and so is the arithmetic of the bound.

use remat_lp::Bounds;
use remat_solver::pricing::{Branching, Domain, FixedPoint, Phase, Point, Priced, Pricer, Prices};
use std::collections::BTreeMap;

/// An instance with at most 64 jobs.
#[derive(Clone, Debug)]
pub struct Assignment {
    /// `cost[agent][job]`
    pub cost: Vec<Vec<i64>>,
    /// `load[agent][job]`
    pub load: Vec<Vec<u32>>,
    /// Capacity of each agent.
    pub capacity: Vec<u32>,
}

/// Jobs of one agent, as bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobSet {
    /// Whose.
    pub agent: usize,
    /// Which.
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
    Pair {
        agent: usize,
        job: usize,
        does: bool,
    },
}

fn bits(set: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |j| set >> j & 1 == 1)
}

impl Assignment {
    /// Number of jobs.
    pub fn jobs(&self) -> usize {
        self.cost.first().map_or(0, Vec::len)
    }

    /// For each agent its best set and the reduced cost of that.
    fn knapsacks(&self, prices: &Prices<'_, Row>, f: FixedPoint) -> Vec<(i128, JobSet)> {
        let (agents, jobs) = (self.capacity.len(), self.jobs());
        let mut job_price = vec![0i128; jobs];
        let mut agent_price = vec![0i128; agents];
        let mut pair_price = vec![vec![0i128; jobs]; agents];
        let mut allowed = vec![vec![true; jobs]; agents];
        for p in prices.iter() {
            let y = f.dual(p.dual);
            match *p.row {
                Row::Job(j) => job_price[j] += y,
                Row::Agent(a) => agent_price[a] += y,
                Row::Pair {
                    agent,
                    job,
                    does: true,
                } => {
                    pair_price[agent][job] += y;
                    let others = (0..agents).filter(|&a| a != agent);
                    others.for_each(|a| allowed[a][job] = false);
                }
                // Its dual is not needed: the columns that would pay it are left out.
                Row::Pair { agent, job, .. } => allowed[agent][job] = false,
            }
        }
        let unit = match prices.phase {
            Phase::Cost => f.one(),
            Phase::Farkas => 0,
        };
        let best = |a: usize| {
            let capacity = self.capacity[a] as usize;
            let mut value = vec![(0i128, 0u64); capacity + 1];
            for j in (0..jobs).filter(|&j| allowed[a][j]) {
                let worth = job_price[j] + pair_price[a][j] - unit * i128::from(self.cost[a][j]);
                let load = self.load[a][j] as usize;
                if worth <= 0 || load > capacity {
                    continue;
                }
                for c in (load..=capacity).rev() {
                    let (v, set) = value[c - load];
                    if v + worth > value[c].0 {
                        value[c] = (v + worth, set | 1 << j);
                    }
                }
            }
            let (v, jobs) = value[capacity];
            (-v - agent_price[a], JobSet { agent: a, jobs })
        };
        (0..agents).map(best).collect()
    }

    fn lagrangian(&self, prices: &Prices<'_, Row>, best: &[(i128, JobSet)], f: FixedPoint) -> f64 {
        let priced: i128 = prices.iter().map(|p| f.dual(p.dual) * p.side as i128).sum();
        // Each agent gets at most one set. The dual of a pair that is not to be is left out here as well: its side is 0.
        f.down(priced + best.iter().map(|b| b.0.min(0)).sum::<i128>())
    }
}

const DIGITS: u32 = 32;

impl Pricer for Assignment {
    type Column = JobSet;
    type Row = Row;

    fn cost(&self, column: &JobSet) -> f64 {
        bits(column.jobs)
            .map(|j| self.cost[column.agent][j])
            .sum::<i64>() as f64
    }

    fn row_bounds(&self, row: &Row) -> Bounds {
        match row {
            Row::Job(_) => 1.0.into(),
            Row::Agent(_) => (..=1.0).into(),
            Row::Pair { does: true, .. } => (1.0..).into(),
            Row::Pair { .. } => (..=0.0).into(),
        }
    }

    fn coefficient(&self, row: &Row, column: &JobSet) -> f64 {
        let one = match *row {
            Row::Job(j) => column.jobs >> j & 1 == 1,
            Row::Agent(a) => column.agent == a,
            Row::Pair { agent, job, .. } => column.agent == agent && column.jobs >> job & 1 == 1,
        };
        f64::from(u8::from(one))
    }

    fn class(&self, column: &JobSet) -> u32 {
        column.agent as u32
    }

    fn classes(&self, row: &Row) -> Option<Vec<u32>> {
        match *row {
            Row::Job(_) => None,
            Row::Agent(agent) | Row::Pair { agent, .. } => Some(vec![agent as u32]),
        }
    }

    fn price(&self, prices: &Prices<'_, Row>) -> Priced<JobSet> {
        let f = FixedPoint::new(DIGITS);
        let best = self.knapsacks(prices, f);
        let estimate = self.lagrangian(prices, &best, f);
        let columns = best.into_iter().filter(|b| b.0 < 0).map(|b| b.1).collect();
        Priced { columns, estimate }
    }

    fn bound(&self, prices: &Prices<'_, Row>) -> f64 {
        let f = FixedPoint::new(DIGITS);
        self.lagrangian(prices, &self.knapsacks(prices, f), f)
    }
}

impl Domain for Assignment {
    fn rows(&self) -> Vec<Row> {
        let agents = (0..self.capacity.len()).map(Row::Agent);
        (0..self.jobs()).map(Row::Job).chain(agents).collect()
    }

    fn objective_step(&self) -> f64 {
        1.0
    }

    fn branch(&self, point: &Point<'_, Self>) -> Vec<Branching<Row>> {
        let mut share: BTreeMap<(usize, usize), f64> = BTreeMap::new();
        for (set, value) in point.columns {
            for j in bits(set.jobs) {
                *share.entry((set.agent, j)).or_default() += value;
            }
        }
        let mut fractional: Vec<(f64, usize, usize)> = share
            .into_iter()
            .map(|((a, j), v)| ((v - 0.5).abs(), a, j))
            .filter(|c| c.0 < 0.5 - 1e-6)
            .collect();
        fractional.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        let split = |&(_, agent, job): &(f64, usize, usize)| {
            let child = |does| vec![Row::Pair { agent, job, does }];
            Branching {
                children: vec![child(true), child(false)],
            }
        };
        fractional.iter().take(10).map(split).collect()
    }

    fn check(&self, columns: &[(JobSet, f64)]) -> Option<f64> {
        let mut done = 0u64;
        let mut busy = vec![false; self.capacity.len()];
        let mut cost = 0;
        for (set, value) in columns {
            let load: u32 = bits(set.jobs).map(|j| self.load[set.agent][j]).sum();
            let fits = *value == 1.0 && load <= self.capacity[set.agent];
            if !fits || busy[set.agent] || done & set.jobs != 0 {
                return None;
            }
            busy[set.agent] = true;
            done |= set.jobs;
            cost += bits(set.jobs).map(|j| self.cost[set.agent][j]).sum::<i64>();
        }
        (done.count_ones() as usize == self.jobs()).then_some(cost as f64)
    }
}
