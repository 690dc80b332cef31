//! The cheapest life of a tensor: in memory from a computation to its last reader, perhaps several
//! times over.
//!
//! A life begins and ends at most once in each stage. Charges are differences of sums over events:
//! being there from event `s` to event `e` costs `charged(e + 1) - charged(s)`.

use super::graph::Graph;
use super::rows::Prices;
use remat_instances::ClassRules;

/// Recomputations and stays that no better schedule has.
#[derive(Clone)]
pub struct LifeExclusions {
    len: usize,
    no_start: Vec<bool>,
    no_hold: Vec<bool>,
}

impl LifeExclusions {
    /// Excludes starts behind the last stage in which a node may be computed again, and those that
    /// the rules of a class forbid.
    pub fn none(graph: &Graph) -> Self {
        let len = graph.len();
        let may_start = |node: usize, stage: usize| {
            let rules = graph.rules.as_ref();
            let permits = |rules: &ClassRules| rules.may_start(node as u32, stage as u32);
            graph.may_recompute_in(node, stage) && rules.is_none_or(permits)
        };
        let all = (0..len).flat_map(|node| (0..len).map(move |stage| (node, stage)));
        LifeExclusions {
            len,
            no_start: all.map(|(node, stage)| !may_start(node, stage)).collect(),
            no_hold: vec![false; len * len],
        }
    }

    /// Returns whether a node may be recomputed in a stage.
    pub fn may_start(&self, node: usize, stage: usize) -> bool {
        !self.no_start[node * self.len + stage]
    }

    /// Returns whether a tensor may be in memory when a stage begins.
    pub fn may_hold(&self, node: usize, stage: usize) -> bool {
        !self.no_hold[node * self.len + stage]
    }

    /// Rules out a recomputation.
    pub fn exclude_start(&mut self, node: usize, stage: usize) {
        self.no_start[node * self.len + stage] = true;
    }

    fn exclude_hold(&mut self, node: usize, stage: usize) {
        self.no_hold[node * self.len + stage] = true;
    }

    /// Number of things that are ruled out.
    pub fn excluded(&self) -> usize {
        let all = self.no_start.iter().chain(&self.no_hold);
        all.filter(|out| **out).count()
    }
}

/// Possible lives of a tensor in the stages from its own to the last in which it is of use, and
/// their costs. Stages are counted from its own.
pub struct CheckmateLives {
    node: usize,
    /// Cost of a beginning; `None` if a life cannot begin in the stage.
    begin: Vec<Option<i128>>,
    /// Cost of an end of a life that began in the stage, or before.
    end: [Vec<Option<i128>>; 2],
    /// True if it may be there when the stage begins.
    hold: Vec<bool>,
    /// Least cost from the stage on of a life that is absent when the stage begins; one entry more
    /// than stages.
    absent: Vec<i128>,
    /// Least cost of a life that is present in the stage, and began in it or before, without the
    /// cost of its beginning.
    present: [Vec<Option<i128>>; 2],
}

/// A life that began in the stage, or before.
const MADE: usize = 0;
const KEPT: usize = 1;

impl CheckmateLives {
    /// The lives of a tensor at prices, of which `one` is a unit of cost.
    pub fn new(
        graph: &Graph,
        prices: &Prices,
        exclusions: &LifeExclusions,
        node: usize,
        one: i128,
    ) -> Self {
        let last = graph.last_stage[node];
        let stages = last - node + 1;
        let mut paid = vec![0; stages + 1];
        for &(first, end, price) in &prices.starts[node] {
            let (first, end) = (first.max(node + 1), end.min(last));
            if first <= end {
                paid[first - node] += price;
                paid[end + 1 - node] -= price;
            }
        }
        let mut crossed = vec![0; stages + 1];
        for &(stage, price) in &prices.crosses[node] {
            if (node..=last).contains(&stage) {
                crossed[stage - node] += price;
            }
        }
        for sums in [&mut paid, &mut crossed] {
            for k in 1..sums.len() {
                sums[k] += sums[k - 1];
            }
        }
        let mut lives = CheckmateLives {
            node,
            begin: Vec::with_capacity(stages),
            end: [Vec::with_capacity(stages), Vec::with_capacity(stages)],
            hold: Vec::with_capacity(stages),
            absent: vec![0; stages + 1],
            present: [vec![None; stages], vec![None; stages]],
        };
        for stage in node..=last {
            let slot = stage - node;
            let own = graph.event(stage, node);
            lives
                .hold
                .push(slot > 0 && exclusions.may_hold(node, stage));
            // Its first computation happens in any case, and its memory counts from the next event
            // on. At moments, a recomputation counts from the end of its stage on.
            let counted = if graph.moments {
                graph.event(stage, stage)
            } else {
                own
            };
            lives.begin.push(match slot {
                0 => Some(-prices.charged(node, own + 1)),
                _ if exclusions.may_start(node, stage) => {
                    let cost = i128::from(graph.cost_again[node]) * one - paid[slot];
                    Some(cost - prices.charged(node, counted) + crossed[slot])
                }
                _ => None,
            });
            let runs = |q: &&u32| {
                let q = **q as usize;
                q == stage
                    || (q < stage && stage <= graph.last_stage[q] && exclusions.may_start(q, stage))
            };
            for (life, ends) in lives.end.iter_mut().enumerate() {
                let readers = graph.readers[node].iter().filter(runs);
                let behind = |q: &u32| {
                    let q = *q as usize;
                    let event = match graph.moments && q < stage {
                        false => graph.event(stage, q) + 1,
                        true if life == MADE => graph.event(stage, stage),
                        true => graph.event(stage, 0),
                    };
                    prices.charged(node, event)
                };
                let least = readers.map(behind).min();
                ends.push(least.map(|least| least - crossed[slot]));
            }
        }
        for slot in (0..stages).rev() {
            let absent = lives.absent[slot + 1];
            let stays = match slot + 1 < stages && lives.hold[slot + 1] {
                true => lives.present[KEPT][slot + 1],
                false => None,
            };
            for life in [MADE, KEPT] {
                let ends = lives.end[life][slot].map(|end| end + absent);
                lives.present[life][slot] = least(ends, stays);
            }
            let begins = sum(lives.begin[slot], lives.present[MADE][slot]);
            lives.absent[slot] = begins.map_or(absent, |b| b.min(absent));
        }
        lives
    }

    /// Cost of the cheapest life.
    pub fn least(&self) -> i128 {
        self.absent[0]
    }

    /// Rules out recomputations and stays with which no life costs at most `most`.
    pub fn exclude(&self, most: i128, exclusions: &mut LifeExclusions) {
        let dear = |cost: Option<i128>| cost.is_none_or(|cost| cost > most);
        // Least cost up to the beginning of the stage, absent and present.
        let (mut absent, mut present) = (0, None);
        for slot in 0..self.begin.len() {
            let stage = self.node + slot;
            if !self.hold[slot] {
                present = None;
            }
            if slot > 0 && dear(sum(present, self.present[KEPT][slot])) {
                exclusions.exclude_hold(self.node, stage);
            }
            let begun = self.begin[slot].map(|b| b + absent);
            if slot > 0 && dear(sum(begun, self.present[MADE][slot])) {
                exclusions.exclude_start(self.node, stage);
            }
            let ended = least(
                sum(present, self.end[KEPT][slot]),
                sum(begun, self.end[MADE][slot]),
            );
            present = least(present, begun);
            absent = ended.map_or(absent, |e| e.min(absent));
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
