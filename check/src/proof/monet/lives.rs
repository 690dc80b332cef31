//! The cheapest life of a tensor: computed in a stage, stored for the next ones, and perhaps again.
//!
//! When a stage begins, a tensor is absent or stored. A stored tensor stays or ends. Either way, it
//! may be computed anew in the stage, which ends its old life. A computed tensor is stored for the
//! next stage, held for the backward node, or gone.

use super::graph::Graph;
use super::prices::Prices;

/// Starts, stays and choices that no better schedule has.
#[derive(Clone)]
pub struct Exclusions {
    stages: usize,
    ways: usize,
    choices: usize,
    no_start: Vec<bool>,
    no_store: Vec<bool>,
    no_choice: Vec<bool>,
}

impl Exclusions {
    /// Excludes starts that do not fit, and recomputations of nodes that are computed once.
    pub fn at_first(graph: &Graph) -> Self {
        let all = 0..graph.columns as u32;
        let ways = all
            .clone()
            .flat_map(|i| [0, 1].map(|t| graph.ways(i, t).len()));
        let ways = ways.max().unwrap_or(0);
        let choices = graph.choices.iter().map(Vec::len).max().unwrap_or(0);
        let stages = graph.stages + 1;
        let mut exclusions = Exclusions {
            stages,
            ways,
            choices,
            no_start: vec![false; graph.columns * stages * ways],
            no_store: vec![false; graph.columns * stages],
            no_choice: vec![false; stages * choices],
        };
        for node in all {
            for stage in 0..=graph.last_use[node as usize] {
                for way in 0..graph.ways(node, stage).len() {
                    if !graph.fits(node, stage, way) {
                        exclusions.exclude_start(node, stage, way);
                    }
                }
            }
        }
        exclusions
    }

    fn start(&self, node: u32, stage: u32, way: usize) -> usize {
        (node as usize * self.stages + stage as usize) * self.ways + way
    }

    /// Returns whether a node may be computed in a stage in a way.
    pub fn may_start(&self, node: u32, stage: u32, way: usize) -> bool {
        !self.no_start[self.start(node, stage, way)]
    }

    /// Returns whether a node may be computed in a stage.
    pub fn may_start_somehow(&self, graph: &Graph, node: u32, stage: u32) -> bool {
        let mut ways = 0..graph.ways(node, stage).len();
        ways.any(|way| self.may_start(node, stage, way))
    }

    /// Returns whether a tensor may be stored when a stage begins.
    pub fn may_store(&self, node: u32, stage: u32) -> bool {
        !self.no_store[node as usize * self.stages + stage as usize]
    }

    /// Returns whether a stage may make a choice.
    pub fn may_choose(&self, stage: usize, way: usize) -> bool {
        !self.no_choice[stage * self.choices + way]
    }

    /// Rules out a start.
    pub fn exclude_start(&mut self, node: u32, stage: u32, way: usize) {
        let at = self.start(node, stage, way);
        self.no_start[at] = true;
    }

    /// Rules out a choice.
    pub fn exclude_choice(&mut self, stage: usize, way: usize) {
        self.no_choice[stage * self.choices + way] = true;
    }

    fn exclude_store(&mut self, node: u32, stage: u32) {
        self.no_store[node as usize * self.stages + stage as usize] = true;
    }

    /// Number of exclusions.
    pub fn excluded(&self) -> usize {
        let all = [&self.no_start, &self.no_store, &self.no_choice];
        all.into_iter().flatten().filter(|out| **out).count()
    }
}

/// Costs of a tensor's steps in a stage, and the least costs from the stage on.
#[derive(Clone, Copy, Default)]
struct Stage {
    /// Cost of the cheapest start.
    start: Option<i128>,
    /// Cost of being held or gone, whichever is less.
    end: i128,
    /// Cost of being stored when the next stage begins.
    stay: Option<i128>,
    /// Least cost from here on of a tensor that was computed here, without its start.
    made: Option<i128>,
    /// The same for a tensor that is stored when the stage begins.
    stored: Option<i128>,
}

/// Possible lives of a tensor.
pub struct MonetLives<'a> {
    graph: &'a Graph,
    prices: &'a Prices,
    node: u32,
    stages: Vec<Stage>,
    /// Cost of the cheapest life; `None` if no life is possible.
    pub least: Option<i128>,
}

impl<'a> MonetLives<'a> {
    /// The lives of a tensor at prices.
    pub fn new(
        graph: &'a Graph,
        prices: &'a Prices,
        exclusions: &Exclusions,
        node: u32,
    ) -> MonetLives<'a> {
        let last = graph.last_use[node as usize];
        let mut lives = MonetLives {
            graph,
            prices,
            node,
            stages: vec![Stage::default(); last as usize + 1],
            least: None,
        };
        // Beyond the last stage of use, no cost is ahead, stored or not.
        let (mut absent, mut stored) = (Some(0), Some(0));
        for stage in (0..=last).rev() {
            let ways = 0..graph.ways(node, stage).len();
            let ways = ways.filter(|way| exclusions.may_start(node, stage, *way));
            let start = ways.map(|way| lives.start(stage, way)).min();
            let held = match graph.is_read(node, stage) {
                true => -prices.held(node, stage),
                false => 0,
            };
            let may_stay = stage < graph.last_stored(node) && exclusions.may_store(node, stage + 1);
            let stay = may_stay.then(|| -prices.stored(node, stage + 1));
            let end = held.min(0);
            let on = sum(stay, stored);
            let made = least(sum(Some(end), absent), on);
            let anew = sum(start, made);
            stored = least(on, least(absent, anew));
            absent = match stage == 0 && graph.is_forced(node) {
                true => anew,
                false => least(absent, anew),
            };
            lives.stages[stage as usize] = Stage {
                start,
                end,
                stay,
                made,
                stored,
            };
        }
        lives.least = absent;
        lives
    }

    /// Cost of a start.
    fn start(&self, stage: u32, way: usize) -> i128 {
        let cost = self.graph.ways(self.node, stage)[way].cost;
        i128::from(cost) * self.prices.one - self.prices.start(self.node, stage, way)
    }

    /// Rules out starts and stays with which no life costs at most `most`.
    pub fn exclude(&self, most: i128, exclusions: &mut Exclusions) {
        let is_dear = |cost: Option<i128>| cost.is_none_or(|cost| cost > most);
        let node = self.node;
        // Least cost up to the beginning of the stage: absent, stored.
        let (mut absent, mut stored) = (Some(0), None);
        for (at, stage) in self.stages.iter().zip(0u32..) {
            if stage > 0 && is_dear(sum(stored, at.stored)) {
                exclusions.exclude_store(node, stage);
            }
            let come = least(absent, stored);
            for way in 0..self.graph.ways(node, stage).len() {
                let with = sum(sum(come, at.made), Some(self.start(stage, way)));
                if exclusions.may_start(node, stage, way) && is_dear(with) {
                    exclusions.exclude_start(node, stage, way);
                }
            }
            let made = sum(come, at.start);
            let idle = match stage == 0 && self.graph.is_forced(node) {
                true => None,
                false => absent,
            };
            absent = least(least(idle, stored), sum(made, Some(at.end)));
            stored = sum(least(stored, made), at.stay);
        }
        let last = self.stages.len() as u32;
        if last <= self.graph.last_stored(node) && is_dear(stored) {
            exclusions.exclude_store(node, last);
        }
    }
}

fn least(a: Option<i128>, b: Option<i128>) -> Option<i128> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        _ => a.or(b),
    }
}

fn sum(a: Option<i128>, b: Option<i128>) -> Option<i128> {
    Some(a? + b?)
}
