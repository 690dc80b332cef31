//! Decisions as a landscape that is annealed.

use super::graph::ClassGraph;
use super::replay::ClassReplay;
use remat_instances::schedule::BitMatrix;
use remat_lp::random::Xoshiro256;
use remat_search::anneal::{Delta, Flip, Landscape, Walk};

/// The decisions of a class under a budget.
#[derive(Clone, Debug)]
pub struct ClassLandscape {
    pub graph: ClassGraph,
    /// Decisions whose nodes read, or are read by, a node of a decision.
    near: Vec<Vec<u32>>,
}

impl ClassLandscape {
    /// The landscape of a graph.
    pub fn new(graph: ClassGraph) -> Self {
        let rules = &graph.rules;
        let near = |nodes: &Vec<u32>| {
            let around = |node: &u32| {
                let node = *node as usize;
                graph.needs[node].iter().chain(&graph.users[node])
            };
            let own = rules.decision(nodes[0]);
            let all = nodes.iter().flat_map(around);
            let mut near: Vec<u32> = all
                .filter_map(|k| rules.decision(*k))
                .filter(|d| Some(*d) != own)
                .collect();
            near.sort_unstable();
            near.dedup();
            near
        };
        let near = rules.decisions().iter().map(near).collect();
        ClassLandscape { graph, near }
    }

    /// Price of a recomputation for a byte of a decision's nodes.
    fn price_of(&self, nodes: &[u32]) -> Option<f64> {
        let sum = |of: &[u64]| nodes.iter().map(|k| of[*k as usize]).sum::<u64>() as f64;
        let bytes = sum(&self.graph.bytes);
        (bytes > 0.0).then(|| sum(&self.graph.cost_again) / bytes)
    }

    /// Retained sets of decisions that fit: the cheapest for their bytes are dropped, as many as
    /// necessary. Then those that need not be dropped are saved again.
    pub fn greedy(&self) -> Option<(u64, BitMatrix)> {
        let decisions = self.graph.rules.decisions();
        let mut order: Vec<(f64, usize)> = decisions
            .iter()
            .enumerate()
            .map(|(d, nodes)| (self.price_of(nodes).unwrap_or(f64::INFINITY), d))
            .collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let mut replay = ClassReplay::new(&self.graph);
        let mut dropped = vec![false; decisions.len()];
        let mut fits = |dropped: &[bool]| {
            replay.run(dropped);
            (replay.excess == 0.0).then_some(replay.cost)
        };
        let mut cost = None;
        for &(_, decision) in &order {
            cost = fits(&dropped);
            if cost.is_some() {
                break;
            }
            dropped[decision] = true;
        }
        let mut cost = cost.or_else(|| fits(&dropped))?;
        for &(_, decision) in order.iter().rev().filter(|d| d.0.is_finite()) {
            if !std::mem::replace(&mut dropped[decision], false) {
                continue;
            }
            match fits(&dropped).filter(|less| *less <= cost) {
                Some(less) => cost = less,
                None => dropped[decision] = true,
            }
        }
        fits(&dropped)?;
        Some((cost, replay.retained()))
    }

    /// The price in the middle of some.
    fn median(&self, price: impl Fn(&Vec<u32>) -> Option<f64>) -> f64 {
        let decisions = self.graph.rules.decisions().iter();
        let mut prices: Vec<f64> = decisions.filter_map(price).filter(|p| *p > 0.0).collect();
        prices.sort_by(f64::total_cmp);
        prices.get(prices.len() / 2).copied().unwrap_or(1.0)
    }
}

impl Landscape for ClassLandscape {
    type Sets = BitMatrix;
    type Walk<'g> = ClassWalk<'g>;

    /// A move replays the whole plan.
    const MOVE_WEIGHT: u64 = 16;

    fn nodes(&self) -> usize {
        self.graph.len()
    }

    fn mean_cost(&self) -> f64 {
        let decisions = self.graph.rules.decisions();
        let all = decisions.iter().flatten();
        let sum: u64 = all.map(|k| self.graph.cost_again[*k as usize]).sum();
        sum as f64 / decisions.len().max(1) as f64
    }

    fn byte_price(&self) -> f64 {
        self.median(|nodes| self.price_of(nodes))
    }

    fn absence_price(&self) -> f64 {
        let stages = |nodes: &[u32]| {
            let node = nodes[0] as usize;
            let last = self.graph.users[node].last();
            last.map_or(1, |last| (*last as usize - node).max(1)) as f64
        };
        self.median(|nodes| Some(self.price_of(nodes)? / stages(nodes)))
    }

    fn walk<'g>(&'g self, start: &BitMatrix) -> ClassWalk<'g> {
        ClassWalk {
            landscape: self,
            dropped: self.graph.dropped(start),
            now: ClassReplay::of(&self.graph, start),
            trial: ClassReplay::new(&self.graph),
            tried: None,
        }
    }
}

/// State of a run over the decisions of a class. A flip of the first node of a decision stands for
/// the decision.
pub struct ClassWalk<'g> {
    landscape: &'g ClassLandscape,
    dropped: Vec<bool>,
    now: ClassReplay<'g>,
    trial: ClassReplay<'g>,
    /// The decision that `trial` flips.
    tried: Option<u32>,
}

impl ClassWalk<'_> {
    fn decision(&self, flip: Flip) -> u32 {
        let decision = self.landscape.graph.rules.decision(flip.tensor);
        decision.unwrap_or_default()
    }

    fn flip(&self, decision: u32) -> Flip {
        let nodes = &self.landscape.graph.rules.decisions()[decision as usize];
        let stage = self.landscape.graph.rules.saved_from(nodes[0]);
        Flip {
            tensor: nodes[0],
            from: stage,
            to: stage,
            keep: self.dropped[decision as usize],
        }
    }
}

impl Walk for ClassWalk<'_> {
    type Sets = BitMatrix;

    fn evaluate(&mut self, flip: Flip) -> Delta {
        let decision = self.decision(flip);
        let at = decision as usize;
        self.dropped[at] = !flip.keep;
        self.trial.run(&self.dropped);
        self.dropped[at] = flip.keep;
        self.tried = Some(decision);
        Delta {
            cost: self.trial.cost as f64 - self.now.cost as f64,
            excess: self.trial.excess - self.now.excess,
        }
    }

    fn apply(&mut self, flip: Flip) {
        let decision = self.decision(flip);
        self.dropped[decision as usize] = !flip.keep;
        match self.tried.take() {
            Some(tried) if tried == decision => std::mem::swap(&mut self.now, &mut self.trial),
            _ => self.now.run(&self.dropped),
        }
    }

    fn excess(&self) -> f64 {
        self.now.excess
    }

    fn cost(&self) -> u64 {
        self.now.cost
    }

    fn retained(&self) -> BitMatrix {
        self.now.retained()
    }

    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip> {
        let count = self.dropped.len() as u32;
        (count > 0).then(|| self.flip(random.below(count)))
    }

    fn second(&self, first: Flip, random: &mut Xoshiro256) -> Option<Flip> {
        let near = &self.landscape.near[self.decision(first) as usize];
        if near.is_empty() || random.one_in(2) {
            return self.anywhere(random);
        }
        Some(self.flip(near[random.below(near.len() as u32) as usize]))
    }
}
