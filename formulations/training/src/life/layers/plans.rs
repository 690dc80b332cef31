//! Plans of many layers from plans of a few.
//!
//! A *pattern* is the set of tensors that a middle layer of a good plan of a few layers keeps and
//! drops. It holds so many bytes when the backward pass begins, and pays so much for
//! recomputations. Only patterns on the lower convex hull are used. Each of the many layers begins
//! with the pattern of fewest bytes. Layer by layer, the step to the next pattern that saves most
//! for a byte is taken, as long as the plan fits.

use super::carry::Carrier;
use super::few::{Budgets, Few};
use super::map::LayerMap;
use super::{Layered, Layout};
use rayon::prelude::*;
use remat_instances::instance::{Instance, NodeId};
use remat_search::{Effort, Patience, Settings, Solvable, Unheard, Watch};
use std::collections::BTreeMap;
use std::time::Duration;

/// Layers by which the small network counts as larger for its budget: the more, the larger the
/// reduction in each layer.
const EXTRA_LAYERS: [f64; 4] = [0.0, -1.0, 0.5, -2.5];
/// Steps that are tried one by one after the first one that does not fit.
const FURTHER_STEPS: usize = 8;
/// Share of the time limit that a small plan gets, and its most seconds.
const TIME_SHARE: f64 = 0.05;
const MOST_SECONDS: f64 = 3.0;
/// Share of the remaining time for plans of many layers, at most.
const BUILD_SHARE: f64 = 0.2;

/// Plans of a network of equal layers, made of plans for fewer layers. `fitting` turns columns into
/// a plan if that fits. Empty without a time limit at full effort: the small plans would take
/// longer than the solve that they are for.
pub fn plans<P: Layered, S: Send>(
    instance: &Instance,
    layout: &Layout,
    budget_bytes: u64,
    watch: &Watch<'_>,
    fitting: impl Fn(&[P::Column]) -> Option<S> + Sync,
) -> Vec<S> {
    let found = || {
        let few = Few::<P>::small(instance, layout)?;
        let budgets = Budgets::new::<P>(instance, layout, budget_bytes)?;
        let large = P::of(instance, budget_bytes)?;
        // Costs and sizes of columns do not depend on the budget.
        let program = P::of(&few.instance, budget_bytes)?;
        let carrier = Carrier {
            map: LayerMap {
                small: &few.layout,
                large: layout,
            },
            small: &program,
            large: &large,
        };
        let small = small_plans(&few, &budgets, watch);
        let builder = Builder {
            patterns: Patterns::new(&carrier, &few.instance, &small),
            carrier,
            fitting,
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

/// Good plans of the small network at some budgets, as columns.
fn small_plans<P: Layered>(
    few: &Few<P>,
    budgets: &Budgets,
    watch: &Watch<'_>,
) -> Vec<Vec<P::Column>> {
    let Some(formulation) = P::formulation(few.instance.clone()) else {
        return Vec::new();
    };
    let seconds = |left: Duration| (TIME_SHARE * left.as_secs_f64()).min(MOST_SECONDS);
    let settings = Settings {
        time_limit: watch.left().map(seconds).map(Duration::from_secs_f64),
        effort: watch.effort(),
        threads: 1,
        ..Settings::default().without_overtime()
    };
    if settings.time_limit.is_none() && settings.effort == Effort::Full {
        return Vec::new();
    }
    let one = |extra: &f64| {
        let budget = budgets.of(few, *extra)?;
        let program = P::of(&few.instance, budget)?;
        let outcome = formulation.solve(budget, &[], &settings, &Unheard(watch.listener()));
        Some(program.columns_of(&outcome.ok()?.schedule?))
    };
    EXTRA_LAYERS.par_iter().filter_map(one).collect()
}

/// The tensors that a middle layer keeps and drops.
#[derive(Clone, Debug)]
struct Pattern<C> {
    /// Bytes that are held when the backward pass begins.
    bytes: u64,
    /// Cost of its recomputations.
    cost: u64,
    /// The layer of the small network, and its columns.
    layer: u32,
    columns: Vec<C>,
}

/// For each stack the patterns on the lower convex hull, by rising bytes; empty for stacks that are
/// whole in the small network.
struct Patterns<C>(Vec<Vec<Pattern<C>>>);

impl<C: Clone> Patterns<C> {
    fn new<P: Layered<Column = C>>(
        carrier: &Carrier<'_, P>,
        small: &Instance,
        plans: &[Vec<C>],
    ) -> Self {
        let (map, program) = (carrier.map, carrier.small);
        let begin = small
            .backward_start()
            .map_or(small.len() as u32, |start| start.0);
        let bytes = |c: &C| small.node(NodeId(P::tensor(c))).output_bytes;
        let pattern = |plan: &[C], stack: u32, layer: u32| {
            let is_own = |c: &&C| map.layer(P::tensor(c)) == Some((stack, layer));
            let columns: Vec<C> = plan.iter().filter(is_own).cloned().collect();
            let held = columns.iter().filter(|c| program.is_held(c, begin));
            Pattern {
                bytes: held.map(bytes).sum(),
                cost: columns.iter().map(|c| program.cost_again(c)).sum(),
                layer,
                columns,
            }
        };
        let stacks = 0..map.small.stacks().len() as u32;
        let of = |stack: u32| {
            let layers = map.middle_layers(stack);
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
fn hull<C>(mut all: Vec<Pattern<C>>) -> Vec<Pattern<C>> {
    all.sort_by_key(|p| (p.bytes, p.cost));
    let mut kept: Vec<Pattern<C>> = Vec::new();
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
fn saved<C>(from: &Pattern<C>, to: &Pattern<C>) -> i128 {
    i128::from(from.cost) - i128::from(to.cost)
}

/// A step of a layer of a stack to its next pattern.
#[derive(Clone, Copy, Debug)]
struct PatternStep {
    stack: usize,
    pattern: usize,
    layer: u32,
}

struct Builder<'a, P: Layered, F> {
    carrier: Carrier<'a, P>,
    patterns: Patterns<P::Column>,
    fitting: F,
}

impl<P: Layered, S, F: Fn(&[P::Column]) -> Option<S>> Builder<'_, P, F> {
    /// The cheapest plan that fits, with the layers at the ends as in a small plan.
    fn best(&self, small: &[P::Column], patience: Patience<'_>) -> Option<S> {
        let ends = self.carrier.ends(small);
        let steps = self.steps();
        let fitting = |taken: &[PatternStep]| {
            if patience.is_over() {
                return None;
            }
            (self.fitting)(&self.columns(&ends, taken))
        };
        let mut best = fitting(&[])?;
        // As many of the best steps as fit, then any further step that fits.
        let (mut fits, mut not) = (0, steps.len() + 1);
        while not - fits > 1 {
            let middle = (fits + not) / 2;
            match fitting(&steps[..middle]) {
                Some(plan) => (fits, best) = (middle, plan),
                None => not = middle,
            }
        }
        let mut taken = steps[..fits].to_vec();
        for step in steps.iter().skip(fits + 1).take(FURTHER_STEPS) {
            taken.push(*step);
            match fitting(&taken) {
                Some(plan) => best = plan,
                None => {
                    taken.pop();
                }
            }
        }
        Some(best)
    }

    /// All steps, the largest saving for a byte first; of equal ones later layers first.
    fn steps(&self) -> Vec<PatternStep> {
        let mut steps = Vec::new();
        for (stack, hull) in self.patterns.0.iter().enumerate() {
            for (pattern, pair) in hull.windows(2).enumerate() {
                let worth =
                    saved(&pair[0], &pair[1]) as f64 / (pair[1].bytes - pair[0].bytes) as f64;
                for layer in self.carrier.map.many_middle_layers(stack as u32).rev() {
                    let step = PatternStep {
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

    /// The columns of the ends and, in between, of patterns after some steps.
    fn columns(&self, ends: &[P::Column], taken: &[PatternStep]) -> Vec<P::Column> {
        let mut pattern_of: BTreeMap<(usize, u32), usize> = BTreeMap::new();
        for step in taken {
            pattern_of.insert((step.stack, step.layer), step.pattern + 1);
        }
        let mut columns = ends.to_vec();
        for (stack, hull) in self.patterns.0.iter().enumerate() {
            for layer in self.carrier.map.many_middle_layers(stack as u32) {
                let number = pattern_of.get(&(stack, layer)).copied().unwrap_or(0);
                if let Some(pattern) = hull.get(number) {
                    let from = (stack as u32, pattern.layer);
                    columns.extend(self.carrier.moved(&pattern.columns, from, layer));
                }
            }
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(bytes: u64, cost: u64) -> Pattern<()> {
        Pattern {
            bytes,
            cost,
            layer: 0,
            columns: Vec::new(),
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
