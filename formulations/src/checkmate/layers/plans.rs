//! Plans of many layers from plans of a few.
//!
//! What a middle layer of a good plan of a few layers keeps and drops is a *pattern*: so many bytes
//! that are held when the backward pass begins, and so much that is paid again. Of all patterns
//! those on the lower convex hull are used. Many layers begin with the one of fewest bytes each, and
//! go on to the next one, layer by layer, where a byte saves most, as long as the replay fits.

use super::carry::Carrier;
use super::{Budgets, Cut, few_layers};
use crate::baselines::Patience;
use crate::checkmate::interval::Interval;
use crate::checkmate::{CheckmateFormulation, CheckmateGraph};
use crate::life::layers::Layout;
use crate::solve::{Settings, Solvable, Watch};
use rayon::prelude::*;
use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::{CheckmateSchedule, StageRuns};
use remat_instances::simulate;
use std::collections::BTreeMap;
use std::time::Duration;

/// Layers by which the small network counts as larger where its budget is measured: the more, the
/// more is dropped in each.
const EXTRA_LAYERS: [f64; 4] = [0.0, -1.0, 0.5, -2.5];
/// Steps that are tried one by one where the next one does not fit.
const FURTHER_STEPS: usize = 8;
/// Share of the time limit that a small plan gets, and that time at most.
const TIME_SHARE: f64 = 0.05;
const MOST_SECONDS: f64 = 3.0;
/// Share of the time that is left then for plans of many layers, at most.
const BUILD_SHARE: f64 = 0.2;

/// Schedules of a network of equal layers that fit. None without a time limit: the small plans would
/// take longer than what they are for.
pub(in crate::checkmate) fn plans(
    instance: &Instance,
    layout: &Layout,
    budget_bytes: u64,
    watch: &Watch<'_>,
) -> Vec<CheckmateSchedule> {
    let found = || {
        let few = Cut::new(instance, layout, few_layers(layout))?;
        let budgets = Budgets::new(instance, layout, budget_bytes)?;
        let large = CheckmateGraph::new(instance, budget_bytes).ok()?;
        let carrier = Carrier {
            small: &few.layout,
            large: layout,
            to: &large,
        };
        let small = small_plans(&few, &budgets, watch);
        let builder = Builder {
            instance,
            budget_bytes,
            patterns: Patterns::new(&carrier, &few.instance, &small),
            carrier,
        };
        Some(watch.within(BUILD_SHARE, |patience| {
            let built = small
                .par_iter()
                .filter_map(|ends| builder.best(ends, patience));
            built.collect()
        }))
    };
    found().unwrap_or_default()
}

/// Good plans of the small network at some budgets, as intervals.
fn small_plans(few: &Cut, budgets: &Budgets, watch: &Watch<'_>) -> Vec<Vec<Interval>> {
    let Some(left) = watch.left() else {
        return Vec::new();
    };
    let seconds = (TIME_SHARE * left.as_secs_f64()).min(MOST_SECONDS);
    let settings = Settings {
        time_limit: Some(Duration::from_secs_f64(seconds)),
        threads: 1,
        ..Settings::default().without_overtime()
    };
    let formulation = CheckmateFormulation::new(few.instance.clone());
    let one = |extra: &f64| {
        let budget = budgets.of(few, *extra)?;
        let graph = CheckmateGraph::new(&few.instance, budget).ok()?;
        let outcome = formulation.solve(budget, &[], &settings, watch.listener());
        Some(Interval::of_schedule(&graph, &outcome.ok()?.schedule?))
    };
    EXTRA_LAYERS.par_iter().filter_map(one).collect()
}

/// The tensors that a middle layer keeps and drops.
#[derive(Clone, Debug)]
struct Pattern {
    /// Bytes that are held when the backward pass begins.
    bytes: u64,
    /// Cost of its recomputations.
    cost: u64,
    /// The layer of the small network, and its intervals.
    layer: u32,
    intervals: Vec<Interval>,
}

/// For each stack the patterns on the lower convex hull, by rising bytes; none for stacks that are
/// whole in the small network.
struct Patterns(Vec<Vec<Pattern>>);

impl Patterns {
    fn new(carrier: &Carrier<'_>, small: &Instance, plans: &[Vec<Interval>]) -> Self {
        let begin = small.nodes().iter().position(|v| v.is_backward());
        let begin = begin.unwrap_or(small.len()) as u32;
        let node = |c: &Interval| small.node(NodeId(c.node));
        let pattern = |plan: &[Interval], stack: u32, layer: u32| {
            let is_own = |c: &&Interval| carrier.layer(c.node) == Some((stack, layer));
            let intervals: Vec<Interval> = plan.iter().filter(is_own).copied().collect();
            let held = intervals.iter().filter(|c| c.crosses(begin));
            let made = intervals.iter().filter(|c| c.is_recomputed());
            Pattern {
                bytes: held.map(|c| node(c).output_bytes).sum(),
                cost: made.map(|c| node(c).run_cost(true)).sum(),
                layer,
                intervals,
            }
        };
        let stacks = 0..carrier.small.stacks().len() as u32;
        let of = |stack: u32| {
            let layers = carrier.middle_layers(stack);
            let all = plans.iter().flat_map(|plan| {
                let layers = layers.clone();
                layers.map(move |layer| pattern(plan, stack, layer))
            });
            hull(all.collect())
        };
        Patterns(stacks.map(of).collect())
    }
}

/// The lower convex hull of patterns, by rising bytes and falling cost.
fn hull(mut all: Vec<Pattern>) -> Vec<Pattern> {
    all.sort_by_key(|p| (p.bytes, p.cost));
    let mut kept: Vec<Pattern> = Vec::new();
    for next in all {
        if kept.last().is_some_and(|last| next.cost >= last.cost) {
            continue;
        }
        // The last one is above the line from the one before it to the next.
        while let [.., a, b] = &kept[..]
            && saved(a, &next) * i128::from(b.bytes - a.bytes)
                >= saved(a, b) * i128::from(next.bytes - a.bytes)
        {
            kept.pop();
        }
        kept.push(next);
    }
    kept
}

/// Cost that one pattern saves over another.
fn saved(from: &Pattern, to: &Pattern) -> i128 {
    i128::from(from.cost) - i128::from(to.cost)
}

/// A layer of a stack that goes on to its next pattern.
#[derive(Clone, Copy, Debug)]
struct Step {
    stack: usize,
    pattern: usize,
    layer: u32,
}

struct Builder<'a> {
    instance: &'a Instance,
    budget_bytes: u64,
    carrier: Carrier<'a>,
    patterns: Patterns,
}

impl Builder<'_> {
    /// The cheapest plan that fits, with the layers at the ends as in a small plan.
    fn best(&self, small: &[Interval], patience: Patience<'_>) -> Option<CheckmateSchedule> {
        let ends = self.carrier.ends(small);
        let steps = self.steps();
        let fitting = |taken: &[Step]| {
            if patience.is_over() {
                return None;
            }
            let schedule = self.schedule(&ends, taken);
            let replay = simulate::checkmate(self.instance, &schedule).ok()?;
            (replay.peak_bytes <= self.budget_bytes).then_some(schedule)
        };
        let mut best = fitting(&[])?;
        // As many of the best steps as fit, then any that fits besides.
        let (mut fits, mut not) = (0, steps.len() + 1);
        while not - fits > 1 {
            let middle = (fits + not) / 2;
            match fitting(&steps[..middle]) {
                Some(schedule) => (fits, best) = (middle, schedule),
                None => not = middle,
            }
        }
        let mut taken = steps[..fits].to_vec();
        for step in steps.iter().skip(fits + 1).take(FURTHER_STEPS) {
            taken.push(*step);
            match fitting(&taken) {
                Some(schedule) => best = schedule,
                None => {
                    taken.pop();
                }
            }
        }
        Some(best)
    }

    /// All steps, those first with which a byte saves most; of equal ones those of later layers.
    fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        for (stack, hull) in self.patterns.0.iter().enumerate() {
            for (pattern, pair) in hull.windows(2).enumerate() {
                let worth =
                    saved(&pair[0], &pair[1]) as f64 / (pair[1].bytes - pair[0].bytes) as f64;
                for layer in self.carrier.many_middle_layers(stack as u32).rev() {
                    let step = Step {
                        stack,
                        pattern,
                        layer,
                    };
                    steps.push((worth, step));
                }
            }
        }
        steps.sort_by(|a, b| b.0.total_cmp(&a.0));
        steps.into_iter().map(|(_, step)| step).collect()
    }

    /// The schedule of the ends and, in between, patterns after some steps.
    fn schedule(&self, ends: &[Interval], taken: &[Step]) -> CheckmateSchedule {
        let mut pattern_of: BTreeMap<(usize, u32), usize> = BTreeMap::new();
        for step in taken {
            pattern_of.insert((step.stack, step.layer), step.pattern + 1);
        }
        let mut intervals = ends.to_vec();
        for (stack, hull) in self.patterns.0.iter().enumerate() {
            for layer in self.carrier.many_middle_layers(stack as u32) {
                let number = pattern_of.get(&(stack, layer)).copied().unwrap_or(0);
                if let Some(pattern) = hull.get(number) {
                    let from = (stack as u32, pattern.layer);
                    let carried = self.carrier.moved(&pattern.intervals, from, layer);
                    intervals.extend(carried);
                }
            }
        }
        let n = self.instance.len();
        let mut retained = StageRuns::new(n, n);
        for c in intervals {
            let [first, last] = [c.start + 1, c.end].map(|stage| stage as usize);
            retained.fill(c.node as usize, first, last);
        }
        CheckmateSchedule::cheapest(self.instance, retained)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(bytes: u64, cost: u64) -> Pattern {
        Pattern {
            bytes,
            cost,
            layer: 0,
            intervals: Vec::new(),
        }
    }

    #[test]
    fn patterns_on_the_hull_are_convex_and_fall() {
        let all = [
            (0, 10),
            (0, 12),
            (4, 9),
            (5, 4),
            (8, 3),
            (9, 5),
            (10, 0),
            (12, 0),
        ];
        let kept = hull(all.map(|(bytes, cost)| pattern(bytes, cost)).to_vec());
        let kept: Vec<_> = kept.iter().map(|p| (p.bytes, p.cost)).collect();
        assert_eq!(kept, [(0, 10), (5, 4), (10, 0)]);
    }
}
