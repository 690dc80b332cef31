//! Settings of a solve.

use std::str::FromStr;
use std::time::{Duration, Instant};

/// Rounds of annealing when no time limit is given.
const DEFAULT_ROUNDS: u32 = 24;
/// Simplex iterations of the tree when no time limit is given.
const DEFAULT_ITERATIONS: u64 = 500_000;
/// Relative gap at which an answer counts as optimal if the user names no gap.
const DEFAULT_GAP: f64 = 1e-4;
/// Time beyond the default gap, in multiples of the time until it was reached.
const DEFAULT_OVERTIME: f64 = 4.0;
/// Least and largest share of the time limit for the search after the gap is reached.
const OVERTIME_SHARES: [f64; 2] = [0.02, 0.5];
/// Nodes of the tree side by side if the work is fixed.
const DEFAULT_LANES: usize = 4;

/// Quick work: limit on the rounds of annealing, and rounds without success that end it.
const QUICK_ROUNDS: [u32; 2] = [4, 2];
/// Quick work: length of annealing runs for each node, as a share of full ones, on graphs of up to
/// `QUICK_NODES` nodes. On larger graphs share times nodes is constant, down to the least share.
const QUICK_SHARE: f64 = 0.25;
const QUICK_NODES: usize = 512;
const QUICK_LEAST_SHARE: f64 = 1.0 / 32.0;
/// Quick work: simplex iterations of the root times nodes of the graph, because iterations of
/// larger programs take longer.
const QUICK_ITERATION_NODES: u64 = 1_000_000;

/// Work of a solve without a time limit, counted in moves and simplex iterations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// The work that rounds, iterations and nodes of the settings allow: minutes.
    #[default]
    Full,
    /// A small share of it: baselines, some rounds of annealing and the root, seconds for graphs of
    /// some hundred nodes. Like the answer of the full work, it does not depend on the clock.
    Quick,
}

impl FromStr for Effort {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "full" => Ok(Effort::Full),
            "quick" => Ok(Effort::Quick),
            other => Err(format!("{other:?} is no work; \"full\" and \"quick\" are")),
        }
    }
}

/// The plans that a bound covers, if the formulation has programs for several sets of plans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// The most plans; fewer once the bound over these can rise no more.
    #[default]
    Widest,
    /// Stage schedules alone.
    StageSchedules,
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "widest" => Ok(Scope::Widest),
            "stage-schedules" => Ok(Scope::StageSchedules),
            other => Err(format!(
                "{other:?} is no scope of bounds; \"widest\" and \"stage-schedules\" are"
            )),
        }
    }
}

/// Settings of a solve: limits, the gap, threads and the seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// End after this time. Without a limit the work is fixed, and the answer depends only on
    /// instance, budget and settings, on any number of threads.
    pub time_limit: Option<Duration>,
    /// Work if there is no time limit.
    pub effort: Effort,
    /// Moment from which the time counts; `None` for the call. An earlier moment includes the
    /// reading of the input.
    pub begun: Option<Instant>,
    /// Relative gap `(objective - bound) / objective` at which the answer counts as optimal, 1e-4
    /// by default.
    pub gap: f64,
    /// With a time limit: the search goes on towards a gap of 0 once the gap is reached. It does so
    /// for so many times as long as that took, at least for a fiftieth of the limit, at most for
    /// half of it. 0 ends it at once. Not together with `prove`.
    pub overtime: f64,
    /// Limit on the rounds of annealing when there is no time limit.
    pub rounds: u32,
    /// Limit on the simplex iterations of the tree when there is no time limit.
    pub iterations: u64,
    /// Limit on the nodes of the tree.
    pub nodes: u64,
    /// Worker threads; 0 for one per core. Changes the time, not the answer.
    pub threads: usize,
    /// Nodes of the tree solved side by side, each with a relaxation of its own; changes the tree.
    /// 0 for four, and with a time limit for as many as there are threads, if these are more.
    pub lanes: usize,
    /// Seed of all random choices.
    pub seed: u64,
    /// The plans that the bound covers.
    pub scope: Scope,
    /// True if a proof of the bound is collected ([`Outcome::proof`](super::Outcome::proof)).
    pub prove: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            time_limit: None,
            effort: Effort::Full,
            begun: None,
            gap: DEFAULT_GAP,
            overtime: DEFAULT_OVERTIME,
            rounds: DEFAULT_ROUNDS,
            iterations: DEFAULT_ITERATIONS,
            nodes: u64::MAX,
            threads: 0,
            lanes: 0,
            seed: 0,
            scope: Scope::default(),
            prove: false,
        }
    }
}

impl Settings {
    /// The same, ending at a gap that the user names, without overtime.
    pub fn with_gap(self, gap: f64) -> Self {
        Settings {
            gap,
            ..self.without_overtime()
        }
    }

    /// The same, ending once the gap is reached.
    pub fn without_overtime(self) -> Self {
        Settings {
            overtime: 0.0,
            ..self
        }
    }

    /// Returns whether the search may go on once the gap is reached.
    pub fn has_overtime(&self) -> bool {
        self.time_limit.is_some() && !self.prove && self.overtime > 0.0
    }

    /// Length of the overtime if the gap was reached after the time `met`.
    pub fn overtime_after(&self, met: Duration) -> Duration {
        match self.time_limit {
            Some(limit) if self.has_overtime() => {
                let [least, most] = OVERTIME_SHARES.map(|share| share * limit.as_secs_f64());
                let wanted = self.overtime * met.as_secs_f64();
                Duration::from_secs_f64(wanted.clamp(least, most))
            }
            _ => Duration::ZERO,
        }
    }

    /// Number of worker threads: the number of cores if it is not set.
    pub fn worker_threads(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        }
    }

    /// Returns whether the work is quick.
    pub fn is_quick(&self) -> bool {
        self.time_limit.is_none() && self.effort == Effort::Quick
    }

    /// Limit on the rounds of annealing without a time limit, and rounds without success that end
    /// it. The latter are `idle` for the full work.
    pub fn fixed_rounds(&self, idle: u32) -> [u32; 2] {
        match self.is_quick() {
            true => [QUICK_ROUNDS[0].min(self.rounds), QUICK_ROUNDS[1]],
            false => [self.rounds, idle],
        }
    }

    /// Length of annealing runs, as a share of full ones.
    pub fn run_share(&self, nodes: usize) -> f64 {
        match self.is_quick() {
            true => {
                let share = QUICK_SHARE * QUICK_NODES as f64 / nodes.max(QUICK_NODES) as f64;
                share.max(QUICK_LEAST_SHARE)
            }
            false => 1.0,
        }
    }

    /// Limit on the simplex iterations of the root.
    pub fn root_iterations(&self, nodes: usize) -> u64 {
        match self.is_quick() {
            true => QUICK_ITERATION_NODES / nodes.max(1) as u64,
            false => u64::MAX,
        }
    }

    /// Limit on the nodes of the tree: 0 for the quick work.
    pub fn tree_nodes(&self) -> u64 {
        match self.is_quick() {
            true => 0,
            false => self.nodes,
        }
    }

    /// Nodes of the tree solved side by side.
    pub fn tree_lanes(&self) -> usize {
        match (self.lanes, self.time_limit) {
            (0, Some(_)) => self.worker_threads().max(DEFAULT_LANES),
            (0, None) => DEFAULT_LANES,
            (lanes, _) => lanes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_work_is_less_for_each_node_of_larger_graphs() {
        let quick = Settings {
            effort: Effort::Quick,
            ..Settings::default()
        };
        assert!(quick.run_share(100) > quick.run_share(2_000));
        assert!(quick.root_iterations(100) > quick.root_iterations(2_000));
        assert_eq!(Settings::default().run_share(2_000), 1.0);
        let timed = Settings {
            time_limit: Some(Duration::from_secs(1)),
            ..quick
        };
        assert_eq!(timed.run_share(100), 1.0);
    }
}
