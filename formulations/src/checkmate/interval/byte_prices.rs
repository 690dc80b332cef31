//! Prices of a byte from event to event.

/// Prices of a byte at events, measured by one gauge. Few of the `n^2` events have one.
#[derive(Clone, Debug)]
pub(super) struct BytePrices<T> {
    /// The gauge: index into [`CheckmateGraph::gauges`](super::CheckmateGraph::gauges).
    pub gauge: u32,
    /// First priced event of every stage, and the end.
    first: Vec<u32>,
    /// The nodes of the priced events, ascending in each stage.
    nodes: Vec<u32>,
    /// Sum of the prices before each of them, and of all.
    before: Vec<T>,
}

impl<T: Copy + std::ops::Add<Output = T>> BytePrices<T> {
    /// Prices at events (stage, node), in any order, for so many stages.
    pub fn new(gauge: u32, stages: usize, mut priced: Vec<(u32, u32, T)>, zero: T) -> Self {
        priced.sort_by_key(|p| (p.0, p.1));
        let mut first = vec![0; stages + 1];
        for p in &priced {
            first[p.0 as usize + 1] += 1;
        }
        for t in 0..stages {
            first[t + 1] += first[t];
        }
        let mut sum = zero;
        let mut before = vec![zero];
        before.extend(priced.iter().map(|p| {
            sum = sum + p.2;
            sum
        }));
        BytePrices {
            gauge,
            first,
            nodes: priced.into_iter().map(|p| p.1).collect(),
            before,
        }
    }

    /// Price of a byte over all events before event (stage, node) together.
    #[inline]
    pub fn before(&self, stage: u32, node: u32) -> T {
        let stage = stage as usize;
        let first = self.first[stage] as usize;
        let own = &self.nodes[first..self.first[stage + 1] as usize];
        self.before[first + own.partition_point(|k| *k < node)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn before_an_event_are_all_events_of_earlier_stages_and_earlier_turns() {
        let priced = vec![(3, 1, 40), (1, 0, 1), (3, 0, 20), (1, 1, 3), (4, 4, 7)];
        let prices = BytePrices::new(0, 5, priced.clone(), 0);
        for stage in 0..5 {
            for node in 0..=5 {
                let sum = priced.iter().filter(|p| (p.0, p.1) < (stage, node));
                assert_eq!(
                    prices.before(stage, node),
                    sum.map(|p| p.2).sum::<i32>(),
                    "before ({stage}, {node})"
                );
            }
        }
    }
}
