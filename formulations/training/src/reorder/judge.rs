//! Evaluation of orders: the cost of a plan in an order, after a short annealing.

use super::carry::{carried, sets_of_plan};
use super::moves::NodeOrder;
use super::settings::ReorderTuning;
use crate::anneal::CheckmateLandscape;
use crate::baselines;
use crate::bound::knapsack_bound;
use crate::monet::anneal::{MonetLandscape, MonetState};
use remat_instances::Semantics;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::plan::Plan;
use remat_instances::schedule::{BitMatrix, CheckmateSchedule, MonetSchedule, Schedule};
use remat_search::anneal::{Chain, ChainSettings, Landscape, Walk as _, Xoshiro256};
use remat_search::{Patience, Watch};

/// First temperatures of runs from carried sets and from other sets, and the last temperature, in
/// mean costs of a node. Runs from carried sets stay close to them.
const CARRIED_HOT: f64 = 0.1;
const FRESH_HOT: f64 = 0.3;
const COLD: f64 = 0.003;
/// Multiple of the price of absence from which excess gets more expensive at a steady rate, until a
/// schedule fits.
const SEEK_FROM: f64 = 0.03;
/// Baselines that orders from elsewhere start from.
const STARTS: [&str; 2] = ["dtr", "gap-greedy"];

/// An order and the best schedule found in it.
#[derive(Clone, Debug)]
pub(super) struct Judged {
    pub order: NodeOrder,
    /// Peak of the order without recomputation, in bytes.
    pub plain_bytes: u64,
    /// Cost of the schedule; `None` if no schedule that fits was found.
    pub cost: Option<u64>,
    /// Bytes above the budget, summed over stages, if no schedule fits.
    pub excess: u64,
    /// Retained sets of that schedule, in the numbering of the order. If no schedule fits, they are
    /// the sets of the nearest one.
    pub retained: Option<BitMatrix>,
}

impl Judged {
    /// Less is better: cost, bytes above the budget, the peak without recomputation.
    pub fn rank(&self) -> [u64; 3] {
        let cost = self.cost.unwrap_or(u64::MAX);
        [cost, self.excess, self.plain_bytes]
    }

    /// Returns whether an order is no worse than another one in cost, or in bytes above the budget
    /// if no schedule fits.
    pub fn is_no_worse(&self, other: &Judged) -> bool {
        self.rank()[..2] <= other.rank()[..2]
    }
}

/// A place to anneal from.
#[derive(Clone, Copy)]
pub(super) enum From<'a> {
    /// Schedules of baselines in the order, and the best schedule of a distant order.
    Scratch(&'a Judged),
    /// The best schedule of a neighbour.
    Other(&'a Judged),
    /// Contents of memory of a plan in the order.
    Sets(&'a BitMatrix),
}

/// Evaluates orders of an instance under a budget.
pub(super) struct Judge<'a> {
    pub given: &'a Instance,
    pub semantics: Semantics,
    pub budget_bytes: u64,
    pub tuning: &'a ReorderTuning,
    pub seed: u64,
    pub watch: &'a Watch<'a>,
}

impl Judge<'_> {
    /// Evaluates an order. `stream` numbers the random choices; an order with a lower bound of at
    /// least `hopeless` is not annealed.
    pub fn judge(
        &self,
        order: NodeOrder,
        from: From<'_>,
        hopeless: u64,
        stream: u64,
    ) -> Option<Judged> {
        let instance = self.given.reordered(&order.nodes).ok()?;
        let plain = instance.without_recomputation(self.semantics).ok()?;
        let replay = plain.replay(&instance).ok()?;
        let judged = Judged {
            order,
            plain_bytes: replay.peak_bytes,
            cost: None,
            excess: u64::MAX,
            retained: None,
        };
        if replay.peak_bytes <= self.budget_bytes {
            return Some(Judged {
                cost: Some(replay.cost),
                excess: 0,
                retained: Some(plain.retained()),
                ..judged
            });
        }
        let starts = || self.starts(&judged.order, from, &instance, plain.retained());
        let found = match self.semantics {
            Semantics::Checkmate => {
                let bound = knapsack_bound(&instance, self.budget_bytes).ok();
                match bound {
                    Some(bound) if bound.cost < hopeless => {
                        let landscape = CheckmateLandscape::new(&instance, self.budget_bytes);
                        self.anneal(&landscape, &starts(), from, bound.cost, stream)
                    }
                    _ => None,
                }
            }
            Semantics::Monet => {
                let landscape = MonetLandscape::new(&instance, self.budget_bytes)?;
                self.anneal(&landscape, &starts(), from, 0, stream)
            }
        };
        Some(match found {
            Some(ended) => Judged {
                cost: ended.cost,
                excess: ended.excess,
                retained: Some(ended.retained),
                ..judged
            },
            None => judged,
        })
    }

    /// Retained sets to anneal from.
    fn starts(
        &self,
        order: &NodeOrder,
        from: From<'_>,
        instance: &Instance,
        plain: BitMatrix,
    ) -> Vec<BitMatrix> {
        let other = match from {
            From::Sets(sets) => return vec![sets.clone()],
            From::Scratch(other) | From::Other(other) => other,
        };
        let old = other.retained.as_ref();
        let carried = old.map(|old| carried(old, self.semantics, &other.order, order));
        if let From::Other(_) = from {
            return match carried {
                None => vec![plain],
                Some(carried) if instance.len() <= self.tuning.twice_node_limit => {
                    vec![carried, plain]
                }
                Some(carried) => vec![carried],
            };
        }
        let chooses = self.semantics.chooses_implementations();
        let view = chooses.then(|| instance.single_implementation());
        let run = |name: &&str| {
            let baseline = baselines::by_name(name)?;
            let is_over = || self.watch.is_over();
            let graph = view.as_ref().map_or(instance, |(graph, _)| graph);
            let patience = Patience::until(&is_over);
            let schedule = baseline
                .run_until(graph, self.budget_bytes, patience)
                .ok()?;
            match &view {
                Some((_, ids)) => MonetSchedule::stored_by_checkmate(instance, ids, &schedule),
                None => Some(schedule.retained.to_bits()),
            }
        };
        let mut starts: Vec<BitMatrix> = carried.into_iter().collect();
        starts.extend(STARTS.iter().filter_map(run));
        starts.push(plain);
        starts
    }

    /// The best of short runs from each start.
    fn anneal<L: Landscape<Sets = BitMatrix>>(
        &self,
        landscape: &L,
        starts: &[BitMatrix],
        from: From<'_>,
        bound: u64,
        stream: u64,
    ) -> Option<Ended> {
        let tuning = self.tuning;
        let moves = tuning.moves_per_node * landscape.nodes() as u64;
        let moves = moves.min(tuning.moves_limit) / L::MOVE_WEIGHT;
        let (moves, hot) = match from {
            From::Other(_) | From::Sets(_) => (moves, CARRIED_HOT),
            From::Scratch(_) => (tuning.fresh_factor * moves, FRESH_HOT),
        };
        // On large graphs with several starts, only the start with the least excess.
        let nearest = |start: &&BitMatrix| {
            let walk = landscape.walk(start);
            (walk.excess() as u64, walk.cost())
        };
        let one = match landscape.nodes() > tuning.twice_node_limit && starts.len() > 1 {
            true => starts.iter().min_by_key(nearest).map(std::slice::from_ref),
            false => None,
        };
        let starts = one.unwrap_or(starts);
        let run = |(k, start): (usize, &BitMatrix)| {
            let hot = if k == 0 { hot } else { FRESH_HOT };
            let random = Xoshiro256::new(self.seed, stream.wrapping_mul(16) + k as u64);
            let settings = ChainSettings {
                moves,
                hot,
                cold: COLD,
                target: bound,
                time: self.watch.left(),
                seek: Some(SEEK_FROM),
            };
            let mut chain = Chain::new(landscape, start, random);
            chain.run(settings, &Ending(self.watch));
            let (excess, retained) = (chain.excess(), chain.retained());
            match chain.into_best() {
                Some(found) => Ended {
                    cost: Some(found.cost),
                    excess: 0,
                    retained: found.retained,
                },
                None => Ended {
                    cost: None,
                    excess: excess.max(1.0) as u64,
                    retained,
                },
            }
        };
        let ended = starts.iter().enumerate().map(run);
        ended.min_by_key(|ended| (ended.cost.unwrap_or(u64::MAX), ended.excess))
    }

    /// Evaluates the order in which a plan computes nodes for the first time; `near` is a similar
    /// order that was evaluated before. The plan has the numbering of the given instance.
    pub fn judge_plan(&self, plan: &Plan, near: &Judged, stream: u64) -> Option<Judged> {
        let order = NodeOrder::new(plan.first_computations(self.given));
        if !self.semantics.plans_determine_schedules() {
            return self.judge(order, From::Other(near), u64::MAX, stream);
        }
        let own = plan.renumbered(&order.nodes);
        let sets = sets_of_plan(&own, self.given.len());
        self.judge(order, From::Sets(&sets), u64::MAX, stream)
    }

    /// Nodes that the best schedule in an order computes again, ascending.
    pub fn computed_again(&self, judged: &Judged) -> Vec<NodeId> {
        let Some((_, schedule)) = self.schedule(judged) else {
            return Vec::new();
        };
        let again = schedule.computed_again().into_iter();
        let mut nodes: Vec<NodeId> = again.map(|id| judged.order.nodes[id.index()]).collect();
        nodes.sort_unstable();
        nodes
    }

    /// The best schedule in an order, with the instance in that order.
    pub fn schedule(&self, judged: &Judged) -> Option<(Instance, Schedule)> {
        let instance = self.given.reordered(&judged.order.nodes).ok()?;
        let retained = judged.retained.clone()?;
        let schedule = match self.semantics {
            Semantics::Checkmate => CheckmateSchedule::cheapest(&instance, retained).into(),
            Semantics::Monet => {
                let landscape = MonetLandscape::new(&instance, self.budget_bytes)?;
                MonetState::new(&landscape, &retained).schedule().into()
            }
        };
        Some((instance, schedule))
    }
}

/// End of a run.
struct Ended {
    cost: Option<u64>,
    /// Bytes above the budget, summed over stages.
    excess: u64,
    retained: BitMatrix,
}

/// Ends with the watch.
struct Ending<'a>(&'a Watch<'a>);

impl remat_search::anneal::Observer for Ending<'_> {
    fn is_over(&self) -> bool {
        self.0.is_over()
    }
}
