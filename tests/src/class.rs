//! Plans of a class by enumeration: every list of decisions is executed as the training stacks do,
//! without stages.

use remat_instances::instance::{Instance, NodeId};
use remat_instances::{ClassRules, PlanClass};

/// Cost of the cheapest plan of a class within a budget in bytes; `None` if none fits.
pub fn optimum(instance: &Instance, class: PlanClass, budget_bytes: u64) -> Option<u64> {
    let rules = ClassRules::of(instance, class).expect("the class suits the instance");
    let count = rules.decisions().len();
    assert!(count <= 16, "{count} decisions are too many");
    let all = 0u32..1 << count;
    let runs = all.map(|bits| Executor::new(instance, &rules, bits).run());
    let fitting = runs.filter(|(_, peak)| *peak <= budget_bytes);
    fitting.map(|(cost, _)| cost).min()
}

/// Runs a list of decisions: the forward pass, then each backward node behind the dropped values
/// that it needs.
struct Executor<'a> {
    instance: &'a Instance,
    rules: &'a ClassRules,
    dropped: Vec<bool>,
    /// Runs in order.
    runs: Vec<usize>,
    has_copy: Vec<bool>,
}

impl<'a> Executor<'a> {
    fn new(instance: &'a Instance, rules: &'a ClassRules, bits: u32) -> Self {
        let n = instance.len();
        let is_dropped = |i: usize| {
            let decision = rules.decision(i as u32);
            decision.is_some_and(|d| bits >> d & 1 != 0)
        };
        Executor {
            instance,
            rules,
            dropped: (0..n).map(is_dropped).collect(),
            runs: Vec::new(),
            has_copy: vec![false; n],
        }
    }

    fn needs(&self, node: usize) -> impl Iterator<Item = usize> + 'a {
        let instance = self.instance;
        instance.needs(NodeId::from(node)).iter().map(|i| i.index())
    }

    /// The dropped values without a copy that some values are made of, these included.
    fn missing(&self, of: &[usize]) -> Vec<usize> {
        let (mut open, mut found) = (of.to_vec(), Vec::new());
        while let Some(node) = open.pop() {
            if !self.dropped[node] || self.has_copy[node] || found.contains(&node) {
                continue;
            }
            found.push(node);
            open.extend(self.needs(node));
        }
        found
    }

    /// Adds the outputs of the same runs that are read later.
    fn with_outputs(&self, found: &mut Vec<usize>, stage: usize) {
        let parent = |i: usize| self.instance.nodes()[i].parent().map_or(i, NodeId::index);
        let wanted = self.wanted_from(stage);
        let more = wanted.into_iter().filter(|i| {
            let is_of_run = found.iter().any(|f| parent(*f) == parent(*i));
            self.dropped[*i] && !self.has_copy[*i] && is_of_run && !found.contains(i)
        });
        let more: Vec<usize> = more.collect();
        found.extend(more);
    }

    /// Dropped values that the rest of the backward pass needs, from a stage on.
    fn wanted_from(&self, stage: usize) -> Vec<usize> {
        let rest = stage..self.instance.len();
        let read: Vec<usize> = rest.flat_map(|t| self.needs(t)).collect();
        self.missing(&read)
    }

    fn run(mut self) -> (u64, u64) {
        let (first, n) = (self.rules.first_backward() as usize, self.instance.len());
        self.runs.extend(0..first);
        for stage in first..n {
            let needed: Vec<usize> = self.needs(stage).collect();
            let mut again = self.missing(&needed);
            let blocks = self.wanted_from(stage).into_iter();
            let here = |i: &usize| self.rules.place(*i as u32) == Some(stage as u32);
            again.extend(blocks.filter(here));
            self.with_outputs(&mut again, stage);
            again.sort_unstable();
            again.dedup();
            for &node in &again {
                self.has_copy[node] = true;
            }
            self.runs.extend(again);
            self.runs.push(stage);
        }
        self.measured()
    }

    /// Cost and peak of the runs. A value is freed behind the last run that reads it.
    fn measured(&self) -> (u64, u64) {
        let n = self.instance.len();
        // By run: the runs whose outputs it reads.
        let mut latest = vec![usize::MAX; n];
        let mut last: Vec<usize> = (0..self.runs.len()).collect();
        for (run, &node) in self.runs.iter().enumerate() {
            for input in self.needs(node) {
                last[latest[input]] = run;
            }
            latest[node] = run;
        }
        let (mut live, mut peak, mut cost) = (0, 0, 0);
        let mut seen = vec![false; n];
        for (run, &index) in self.runs.iter().enumerate() {
            let node = &self.instance.nodes()[index];
            let again = std::mem::replace(&mut seen[index], true);
            cost += node.run_cost(again);
            live += node.output_bytes;
            peak = peak.max(live + node.run_workspace_bytes(again));
            for (other, _) in last.iter().enumerate().filter(|(_, end)| **end == run) {
                live -= self.instance.nodes()[self.runs[other]].output_bytes;
            }
        }
        (cost, peak + self.instance.static_bytes())
    }
}
