//! The walk through orders, which are evaluated by the best schedules in them.

use super::judge::{From, Judge, Judged};
use super::moves::{Neighbours, NodeOrder};
use crate::improve::Improve;
use rayon::prelude::*;
use remat_instances::instance::{NodeId, Precedence};
use remat_instances::plan::Plan;
use remat_search::anneal::Xoshiro256;
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Draws for a neighbour that was not evaluated yet, for each lane.
const DRAWS: usize = 8;

/// A walk in progress.
pub(super) struct OrderWalk<'a> {
    judge: &'a Judge<'a>,
    rules: &'a Precedence,
    neighbours: Neighbours<'a>,
    random: Xoshiro256,
    /// Fingerprints of orders that were evaluated.
    seen: BTreeSet<u64>,
    /// The best order.
    pub best: Judged,
    current: Judged,
    /// Nodes that the current plan computes again.
    wanted: Vec<NodeId>,
    /// Number of orders that were evaluated.
    pub judged: u64,
    found: usize,
    /// The cheapest plan with its steps in a better order, in the numbering of the given instance;
    /// possibly no schedule is as cheap.
    pub plan: Option<(u64, Plan)>,
    /// Lower bound on the cost of schedules in any order.
    bound: u64,
}

impl<'a> OrderWalk<'a> {
    /// A walk from an order that was evaluated.
    pub fn new(judge: &'a Judge<'a>, rules: &'a Precedence, start: Judged, bound: u64) -> Self {
        OrderWalk {
            judge,
            rules,
            neighbours: Neighbours::new(rules),
            random: Xoshiro256::new(judge.seed, u64::MAX),
            seen: BTreeSet::from([fingerprint(&start.order)]),
            best: start.clone(),
            wanted: judge.computed_again(&start),
            current: start,
            judged: 1,
            found: 0,
            plan: None,
            bound,
        }
    }

    /// Returns whether the best order cannot be beaten.
    pub fn is_done(&self) -> bool {
        self.best.cost.is_some_and(|cost| cost <= self.bound)
    }

    /// Evaluates orders from elsewhere, each by itself, and continues from the best of all.
    pub fn judge_all(&mut self, orders: Vec<NodeOrder>, is_over: &(dyn Fn() -> bool + Sync)) {
        let rules = self.rules;
        let mut new: Vec<NodeOrder> = Vec::new();
        for order in orders {
            if rules.allows(&order.nodes) && self.seen.insert(fingerprint(&order)) {
                new.push(order);
            }
        }
        let first = self.judged;
        self.judged += new.len() as u64;
        let (judge, current) = (self.judge, &self.current);
        let judged = new.into_par_iter().enumerate().map(|(k, order)| {
            let from = From::Scratch(current);
            let judge = || judge.judge(order, from, u64::MAX, first + k as u64);
            (!is_over()).then(judge).flatten()
        });
        let judged: Vec<Option<Judged>> = judged.collect();
        for judged in judged.into_iter().flatten() {
            if judged.rank() < self.best.rank() {
                self.best = judged;
            }
        }
        self.go_to_best();
    }

    /// Walks until its time or its rounds are over. `is_over` is called between rounds.
    pub fn run(&mut self, is_timed: bool, is_over: &dyn Fn() -> bool) {
        self.walk(is_timed, is_over);
        if !self.is_done() {
            self.improve();
        }
    }

    fn walk(&mut self, is_timed: bool, is_over: &dyn Fn() -> bool) {
        let tuning = self.judge.tuning;
        let (mut rounds, mut idle, mut shakes) = (0, 0, 0);
        while !is_over() && !self.is_done() {
            if !is_timed && (rounds >= tuning.rounds || shakes > tuning.idle_shakes) {
                return;
            }
            rounds += 1;
            let before = self.best.rank();
            if !self.round() {
                idle = tuning.idle_rounds;
            }
            if self.best.rank()[..2] < before[..2] {
                (idle, shakes) = (0, 0);
                self.found += 1;
                if self.found.is_multiple_of(tuning.improve_rounds) {
                    self.improve();
                }
                continue;
            }
            idle += 1;
            if idle >= tuning.idle_rounds {
                if shakes == 0 {
                    self.improve();
                }
                self.shake();
                (idle, shakes) = (0, shakes + 1);
            }
        }
    }

    /// Evaluates neighbours in parallel, and moves to the best of them if it is no worse; returns
    /// whether there was a neighbour that was not evaluated before.
    fn round(&mut self) -> bool {
        let lanes = self.judge.tuning.lanes;
        let mut orders: Vec<NodeOrder> = Vec::with_capacity(lanes);
        for _ in 0..lanes * DRAWS {
            if orders.len() == lanes {
                break;
            }
            if let Some(order) = self.neighbour(&self.current.order.clone())
                && self.seen.insert(fingerprint(&order))
            {
                orders.push(order);
            }
        }
        let first = self.judged;
        self.judged += orders.len() as u64;
        let any = !orders.is_empty();
        let (judge, current) = (self.judge, &self.current);
        // An order of the same cost is accepted as well.
        let hopeless = current.cost.map_or(u64::MAX, |cost| cost + 1);
        let judged = orders
            .into_par_iter()
            .enumerate()
            .map(|(k, order)| judge.judge(order, From::Other(current), hopeless, first + k as u64));
        let judged: Vec<Option<Judged>> = judged.collect();
        let best = judged.into_iter().flatten().min_by_key(Judged::rank);
        if let Some(best) = best.filter(|best| best.is_no_worse(&self.current)) {
            if best.rank() < self.best.rank() {
                self.best = best.clone();
            }
            self.current = best;
            self.wanted = self.judge.computed_again(&self.current);
        }
        any
    }

    fn neighbour(&mut self, order: &NodeOrder) -> Option<NodeOrder> {
        let given = self.judge.given;
        let readers = |id: NodeId| given.users(id).to_vec();
        let (wanted, random) = (&self.wanted, &mut self.random);
        self.neighbours.draw(order, wanted, &readers, random)
    }

    /// Makes some moves away from the best order. Orders that were evaluated before may lead to
    /// others, so they are allowed again.
    fn shake(&mut self) {
        self.go_to_best();
        self.seen.clear();
        let mut order = self.best.order.clone();
        let moves = 1 + self.random.below(self.judge.tuning.shake_moves);
        for _ in 0..moves {
            order = self.neighbour(&order).unwrap_or(order);
        }
        self.seen
            .extend([&order, &self.best.order].map(fingerprint));
        let stream = self.judged;
        self.judged += 1;
        let from = From::Other(&self.best);
        let judged = self.judge.judge(order, from, u64::MAX, stream);
        if let Some(judged) = judged.filter(|j| j.cost.is_some() || self.best.cost.is_none()) {
            self.wanted = self.judge.computed_again(&judged);
            if judged.rank() < self.best.rank() {
                self.best = judged.clone();
            }
            self.current = judged;
        }
    }

    fn go_to_best(&mut self) {
        self.current = self.best.clone();
        self.wanted = self.judge.computed_again(&self.current);
    }

    /// Puts the steps of the best plan in a better order, and evaluates the order in which that
    /// plan computes nodes for the first time.
    fn improve(&mut self) {
        let judge = self.judge;
        let Some((instance, schedule)) = judge.schedule(&self.best) else {
            return;
        };
        let Ok(plan) = schedule.plan(&instance) else {
            return;
        };
        let mut improve = Improve::new(&instance, &plan)
            .budget(judge.budget_bytes)
            .threads(1)
            .seed(judge.seed)
            .listener(judge.watch.listener());
        if let Some(left) = judge.watch.left() {
            improve = improve.time_limit(left.mul_f64(0.1));
        }
        let Ok(better) = improve.run() else { return };
        let (cost, peak) = (better.replay.cost, better.replay.peak_bytes);
        let is_cheaper = self.best.cost.is_none_or(|best| cost < best);
        if peak > judge.budget_bytes || !is_cheaper {
            return;
        }
        let plan = better.plan.renumbered(&self.best.order.inverse());
        let order = NodeOrder::new(plan.first_computations(judge.given));
        if self.rules.allows(&order.nodes) {
            self.seen.insert(fingerprint(&order));
            let stream = self.judged;
            self.judged += 1;
            let judged = judge.judge_plan(&plan, &self.best, stream);
            if let Some(judged) = judged.filter(|judged| judged.rank() < self.best.rank()) {
                self.best = judged;
                self.go_to_best();
            }
        }
        if self.plan.as_ref().is_none_or(|(best, _)| cost < *best) {
            self.plan = Some((cost, plan));
        }
    }
}

/// A hash by which orders are distinguished.
fn fingerprint(order: &NodeOrder) -> u64 {
    let mut hasher = DefaultHasher::new();
    order.nodes.hash(&mut hasher);
    hasher.finish()
}
