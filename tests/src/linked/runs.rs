//! All runs of the machine.

use super::LinkedCase;
use super::machine::{Config, Machine, Place};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap, HashSet};

/// The limit on configurations was exceeded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooMany;

/// Least makespan over all runs of statements, or `None` if no run reaches the end. Every
/// configuration with its clocks is a separate state, so this suits three to five nodes.
///
/// # Errors
/// [`TooMany`] for more than `most` configurations.
pub fn least_makespan(case: &LinkedCase, most: usize) -> Result<Option<u64>, TooMany> {
    let machine = Machine::new(case);
    let mut seen = HashSet::from([machine.begin()]);
    let mut list = vec![machine.begin()];
    let mut queue = BinaryHeap::from([Reverse((0, 0))]);
    while let Some(Reverse((clock, at))) = queue.pop() {
        let config = list[at].clone();
        if machine.is_end(&config) {
            return Ok(Some(clock));
        }
        for after in machine.statements(&config) {
            if seen.insert(after.clone()) {
                queue.push(Reverse((after.clock, list.len())));
                list.push(after);
            }
        }
        if list.len() > most {
            return Err(TooMany);
        }
    }
    Ok(None)
}

/// A configuration without its clocks.
type Shape = (usize, u32, [u32; 3], u64, Vec<(u8, bool, bool, bool)>);

fn shape(config: &Config) -> Shape {
    let tensors = config.tensors.iter().map(|t| {
        let place = match t.place {
            Place::Nowhere => 0,
            Place::Ready => 1,
            Place::Coming(_) => 2,
        };
        (place, t.buffer.is_some(), t.left, t.came)
    });
    (
        config.from,
        config.ran,
        config.last,
        config.fixed,
        tensors.collect(),
    )
}

/// All clocks of a configuration; past ones count as the present.
fn clocks(config: &Config) -> Vec<u64> {
    let mut list = vec![config.clock];
    list.extend(config.lanes);
    for t in &config.tensors {
        list.extend(t.buffer);
        if let Place::Coming(end) = t.place {
            list.push(end);
        }
    }
    list.iter().map(|time| *time.max(&config.clock)).collect()
}

/// A Pareto front of clocks: no member is at most another one in every clock.
#[derive(Default)]
struct Front(Vec<Vec<u64>>);

impl Front {
    /// Adds clocks unless a member is as early in every clock; removes members that they dominate.
    fn add(&mut self, clocks: &[u64]) -> bool {
        let covers = |a: &[u64], b: &[u64]| a.iter().zip(b).all(|(a, b)| a <= b);
        if self.0.iter().any(|there| covers(there, clocks)) {
            return false;
        }
        self.0.retain(|there| !covers(clocks, there));
        self.0.push(clocks.to_vec());
        true
    }
}

/// Returns whether some run ends before `makespan`, or ends at all for `None`. It goes from first
/// run to first run, with a front of clocks for each configuration. Without a makespan clocks do
/// not matter, because a run may wait for all copies.
///
/// # Errors
/// [`TooMany`] for more than `most` configurations.
pub fn is_beaten(case: &LinkedCase, makespan: Option<u64>, most: usize) -> Result<bool, TooMany> {
    let machine = Machine::new(case);
    let mut met = 0;
    let mut level = vec![machine.begin()];
    for next in 0..=machine.nodes() {
        let in_time = |config: &Config| {
            makespan.is_none_or(|most| config.clock + machine.time_left(config) < most)
        };
        let mut fronts: HashMap<Shape, Front> = HashMap::new();
        let mut behind: BTreeMap<Shape, (Front, Vec<Config>)> = BTreeMap::new();
        let mut list = level;
        let clock_of = |(at, config): (usize, &Config)| Reverse((config.clock, at));
        let mut queue: BinaryHeap<_> = list.iter().enumerate().map(clock_of).collect();
        while let Some(Reverse((_, at))) = queue.pop() {
            for after in machine.statements(&list[at]) {
                if !in_time(&after) {
                    continue;
                }
                if machine.is_end(&after) {
                    return Ok(true);
                }
                let clocks = makespan.map_or(Vec::new(), |_| clocks(&after));
                let shape = shape(&after);
                if after.next > next {
                    let (front, configs) = behind.entry(shape).or_default();
                    if front.add(&clocks) {
                        configs.push(after);
                        met += 1;
                    }
                } else if fronts.entry(shape).or_default().add(&clocks) {
                    queue.push(Reverse((after.clock, list.len())));
                    list.push(after);
                    met += 1;
                }
            }
            if met > most {
                return Err(TooMany);
            }
        }
        level = behind
            .into_values()
            .flat_map(|(_, configs)| configs)
            .collect();
    }
    Ok(false)
}
