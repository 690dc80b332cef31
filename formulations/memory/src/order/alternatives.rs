//! Other orders within the same peak: their tensors may allow lower placements.

use super::ends::{Ends, How};
use super::greedy::{self, Rule};
use super::level::Pause;
use super::search::{OrderSearch, OrderSearchError};
use super::side::{Direction, Side, SideRun};
use super::windows::Random;
use remat_instances::order::OperatorId;

impl OrderSearch<'_> {
    /// Other orders whose peak is at most `peak_bytes`: up to `count`, each once.
    ///
    /// Level searches at that peak, from both ends, follow other orders first: orders of the rules,
    /// then random ones by the seed. Each visits as many sets as the settings' first rounds have,
    /// at least eight for each operator. The orders give [`remat_instances::order::Life`]s that are
    /// to be placed.
    ///
    /// # Errors
    /// [`OrderSearchError`] for a variant whose edges form a cycle.
    ///
    /// ```
    /// use remat_memory::order::OrderSearch;
    /// use remat_instances::order::{read_order_graph_bytes, Variant};
    ///
    /// let text = r#"{"schema": "remat-order/1", "operators": [
    ///     {"outputs": [0]}, {"outputs": [1]}, {"inputs": [0, 1]}],
    ///     "tensors": [{"bytes": 4}, {"bytes": 4}]}"#;
    /// let graph = read_order_graph_bytes("three.json", text.as_bytes())?;
    /// let search = OrderSearch::new(&graph);
    /// let outcome = search.run()?;
    /// let others = search.alternatives(&outcome.order, outcome.peak_bytes(), 4)?;
    /// assert_eq!(others.len(), 1);
    /// assert_eq!(graph.replay(Variant::default(), &others[0])?.peak_bytes, outcome.peak_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn alternatives(
        &self,
        order: &[OperatorId],
        peak_bytes: u64,
        count: usize,
    ) -> Result<Vec<Vec<OperatorId>>, OrderSearchError> {
        let (graph, variant, settings, listener) = self.parts();
        let problem = graph.problem(variant)?;
        let tuning = &settings.tuning;
        let mut found: Vec<Vec<OperatorId>> = Vec::new();
        if problem.len() > tuning.reach_operators || peak_bytes < problem.base_bytes() {
            return Ok(found);
        }
        let begun = std::time::Instant::now();
        let is_over = || {
            let limit = settings.time_limit;
            listener.is_interrupted() || limit.is_some_and(|limit| begun.elapsed() >= limit)
        };
        let ends = Ends::of(&problem);
        let caught = ends.caught(peak_bytes);
        let mut random = Random::new(settings.seed);
        let states = tuning.first_states.max(8 * problem.len() as u64);
        for attempt in 0..2 * count + Rule::ALL.len() {
            if found.len() >= count || is_over() {
                break;
            }
            let known = match Rule::ALL.get(attempt) {
                Some(rule) => greedy::order(*rule, &ends.forward, &ends.backward, &is_over),
                None => Some(random_order(&ends.forward, &mut random)),
            };
            let Some(known) = known else { continue };
            self.keep(&known, order, peak_bytes, &mut found)?;
            let how = How {
                known: &known,
                bound: peak_bytes,
                cap: peak_bytes,
                tuning,
            };
            for direction in [Direction::Forward, Direction::Backward] {
                let mut level = ends.level(direction, &caught, how);
                if level.work(states, &is_over) != Pause::Found {
                    continue;
                }
                if let Some(middle) = level.order() {
                    let whole = ends.whole(direction, &caught, middle);
                    self.keep(&whole, order, peak_bytes, &mut found)?;
                }
            }
        }
        found.truncate(count);
        Ok(found)
    }

    /// Keeps an order that is new and within the peak.
    fn keep(
        &self,
        order: &[u32],
        first: &[OperatorId],
        peak_bytes: u64,
        found: &mut Vec<Vec<OperatorId>>,
    ) -> Result<(), OrderSearchError> {
        let (graph, variant, ..) = self.parts();
        let order: Vec<_> = order.iter().copied().map(OperatorId).collect();
        if order == first || found.contains(&order) {
            return Ok(());
        }
        if graph.replay(variant, &order)?.peak_bytes <= peak_bytes {
            found.push(order);
        }
        Ok(())
    }
}

/// An order that takes any ready operator.
fn random_order(side: &Side, random: &mut Random) -> Vec<u32> {
    let mut run = SideRun::new(side);
    let mut ready: Vec<u32> = (0..side.len as u32).filter(|v| run.is_ready(*v)).collect();
    let mut order = Vec::with_capacity(side.len);
    while !ready.is_empty() {
        let v = ready.swap_remove(random.below(ready.len()));
        run.run(v);
        order.push(v);
        let behind = side.after.row(v).iter();
        ready.extend(behind.filter(|w| run.is_ready(**w)));
    }
    order
}
