//! Certificates of bounds, for `remat_check::order`.
//!
//! A bound by a cut is proven by a flow: `docs/theory/order.md`, "Certificates", has the format. A
//! bound of the level search is proven by the executed sets that it leads to. Each has the steps
//! that need less than the bound, or a valley through which orders can be led and a flow that
//! proves the valley.

use super::bits;
use super::bounds::node_cuts;
use super::cut::node_cut;
use super::ends::{Caught, Ends, How};
use super::level::{Level, Pause, falling};
use super::outcome::{BoundKind, OrderOutcome};
use super::precedence::{Claim, Effort, Refutation};
use super::reach::{Around, led_to};
use super::search::{OrderSearch, OrderSearchError};
use super::side::{Direction, Side, SideRun};
use super::states::{NONE, Status};
use super::valley::{Least, Valley, between};
use remat_instances::order::OrderProblem;
use std::collections::HashMap;
use std::fmt::Write;
use std::time::Instant;

/// A proof that no order of a graph needs less than a bound, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderProof {
    text: String,
    bound_bytes: u64,
}

impl OrderProof {
    /// The text, which `remat_check::order::check` reads.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The proven bound in bytes, equal to the bound of the outcome.
    pub fn bound_bytes(&self) -> u64 {
        self.bound_bytes
    }
}

impl OrderSearch<'_> {
    /// A proof of the bound of an outcome of this search.
    ///
    /// A bound by resident memory, working sets, forced lives or cuts always has a proof. For a
    /// bound of the level search, the level below the bound is searched again, from both ends in
    /// turns. `None` if that search does not end within the settings' states and time.
    ///
    /// # Errors
    /// [`OrderSearchError`] for a variant whose edges form a cycle.
    ///
    /// ```
    /// use remat_memory::order::OrderSearch;
    /// use remat_instances::zoo;
    /// use remat_instances::order::OrderGraph;
    ///
    /// let graph = OrderGraph::of_instance(&zoo::build(&"zoo:chain?n=6".parse()?)?)?;
    /// let search = OrderSearch::new(&graph);
    /// let outcome = search.run()?;
    /// let proof = search.prove(&outcome)?.ok_or("no proof")?;
    /// assert_eq!(proof.bound_bytes(), outcome.bound_bytes);
    /// assert!(proof.text().starts_with("remat-order-proof/1\n"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn prove(&self, outcome: &OrderOutcome) -> Result<Option<OrderProof>, OrderSearchError> {
        let (graph, variant, ..) = self.parts();
        let problem = graph.problem(variant)?;
        let bound = outcome.bound_bytes;
        let mut text = format!(
            "remat-order-proof/1\ngraph {}\nvariant {variant}\nbound {bound}\n",
            graph.digest()
        );
        let is_proven = match outcome.bound_by {
            _ if bound <= problem.base_bytes() => {
                text += "base\n";
                true
            }
            BoundKind::Base => false,
            BoundKind::WorkingSet(v) | BoundKind::ForcedLives(v) | BoundKind::NodeCut(v) => {
                let forward = Side::forward(&problem);
                cut_text(&problem, &forward, v.0, &mut text);
                true
            }
            BoundKind::Precedence => self.prove_precedence(&problem, bound, &mut text),
            BoundKind::Level => self.prove_level(&problem, outcome, &mut text),
        };
        Ok(is_proven.then_some(OrderProof {
            text,
            bound_bytes: bound,
        }))
    }

    /// Whether the time of a proof that begins now is over.
    fn clock(&self) -> impl Fn() -> bool + Sync {
        let (_, _, settings, listener) = self.parts();
        let (begun, limit) = (Instant::now(), settings.time_limit);
        move || listener.is_interrupted() || limit.is_some_and(|limit| begun.elapsed() >= limit)
    }

    /// Refutes the level below the bound again, and writes each claim with its flow.
    fn prove_precedence(&self, problem: &OrderProblem, bound: u64, text: &mut String) -> bool {
        let is_over = self.clock();
        let ends = Ends::of(problem);
        let effort = Effort {
            cuts: usize::MAX,
            idle: usize::MAX,
            is_over: &is_over,
        };
        text.push_str("precedence\n");
        let mut write = |claim: Claim, side: &Side, least: &Least| {
            match claim {
                Claim::Behind { v, u } => line(text, "behind", [v, u]),
                Claim::Ahead { v, u } => line(text, "ahead", [v, u]),
                Claim::Nowhere { v } => line(text, "cut", [v]),
            }
            flow_text(problem, side, least, text);
        };
        let needs = node_cuts(&ends.forward, &ends.reach, &is_over);
        let refuted = Refutation::of(&ends, bound - 1).run(&needs, &effort, &mut write);
        refuted.is_some_and(|proven| proven >= bound)
    }

    fn prove_level(
        &self,
        problem: &OrderProblem,
        outcome: &OrderOutcome,
        text: &mut String,
    ) -> bool {
        let (_, _, settings, _) = self.parts();
        let is_over = self.clock();
        let bound = outcome.bound_bytes;
        let ends = Ends::of(problem);
        let caught = ends.caught(bound - 1);
        let known: Vec<u32> = outcome.order.iter().map(|v| v.0).collect();
        let how = How {
            known: &known,
            bound: bound - 1,
            cap: bound - 1,
            tuning: &settings.tuning,
        };
        let both = [Direction::Forward, Direction::Backward];
        let mut searches =
            both.map(|direction| (direction, ends.level(direction, &caught, how), true));
        let mut states = settings.tuning.first_states;
        while searches
            .iter()
            .any(|(_, level, open)| *open && level.expanded < settings.states)
        {
            for (direction, level, is_open) in &mut searches {
                if !*is_open {
                    continue;
                }
                match level.work(states, &is_over) {
                    Pause::Exhausted => {
                        let side = ends.side(*direction);
                        levels_text(problem, side, &caught, level, bound, text);
                        return true;
                    }
                    Pause::Worked if !is_over() => {}
                    _ => *is_open = false,
                }
            }
            states = states.saturating_mul(2);
        }
        false
    }
}

/// Writes the proof by a cut at an operator.
fn cut_text(problem: &OrderProblem, forward: &Side, v: u32, text: &mut String) {
    let mut run = SideRun::new(forward);
    let mut valley = Valley::new(forward.len, forward.bytes.len());
    let ahead = led_to(&forward.before, forward.len, v);
    let behind = led_to(&forward.after, forward.len, v);
    let around = Around {
        ahead: &ahead,
        behind: &behind,
    };
    let goal = bits::full(forward.len);
    let cut = node_cut(&mut run, &mut valley, around, &goal, v);
    let _ = writeln!(text, "cut {v}");
    flow_text(problem, forward, &cut.least, text);
}

/// Writes a flow.
fn flow_text(problem: &OrderProblem, side: &Side, least: &Least, text: &mut String) {
    let end = |v: Option<u32>| v.map_or("-".to_owned(), |v| v.to_string());
    for stream in least.streams(side) {
        let tensor = problem.storages()[stream.storage as usize].tensor;
        let (from, to) = (end(stream.from), end(stream.to));
        let _ = writeln!(text, "t {tensor} {from} {to} {}", stream.bytes);
    }
    for (v, u, flow) in least.precedence() {
        let _ = writeln!(text, "p {v} {u} {flow}");
    }
}

fn line(text: &mut String, word: &str, operators: impl IntoIterator<Item = u32>) {
    text.push_str(word);
    for v in operators {
        let _ = write!(text, " {v}");
    }
    text.push('\n');
}

/// Writes the executed sets that an exhausted search leads to.
fn levels_text(
    problem: &OrderProblem,
    side: &Side,
    caught: &Caught,
    level: &mut Level<'_>,
    bound: u64,
    text: &mut String,
) {
    let direction = match side.direction {
        Direction::Forward => "forward",
        Direction::Backward => "backward",
    };
    line(text, &format!("levels {direction}"), []);
    line(text, "head", caught.head.iter().copied());
    line(text, "tail", caught.tail.iter().copied());
    let mut log = Log {
        problem,
        side,
        bound,
        run: SideRun::new(side),
        valley: Valley::new(side.len, side.bytes.len()),
        written: HashMap::new(),
        text,
    };
    log.write(level);
}

/// Writer of the executed sets of a search.
struct Log<'a> {
    problem: &'a OrderProblem,
    side: &'a Side,
    bound: u64,
    run: SideRun<'a>,
    valley: Valley,
    /// Written sets and their numbers, including sets before falling operators.
    written: HashMap<Vec<u64>, usize>,
    text: &'a mut String,
}

impl Log<'_> {
    fn write(&mut self, level: &mut Level<'_>) {
        let (states, blocks) = level.log();
        let mut seen = vec![false; states.list.len()];
        seen[0] = true;
        let mut open = vec![(0u32, NONE)];
        while let Some((s, from)) = open.pop() {
            let set = states.set(s);
            let before = (from != NONE).then(|| states.set(from));
            if !self.set(set, before) {
                continue;
            }
            let mut visit = |t: u32| {
                if !std::mem::replace(&mut seen[t as usize], true) {
                    open.push((t, s));
                }
            };
            let state = &states.list[s as usize];
            if let Status::Committed(t, _) = state.status {
                visit(t);
                let free = between(set, states.set(t));
                self.run.load(set);
                let least = self.valley.least(&self.run, &free, &[]);
                line(self.text, "c", state.way.iter().copied());
                flow_text(self.problem, self.side, &least, self.text);
                continue;
            }
            let mut falls = Vec::new();
            for step in state.steps.iter().filter(|step| step.to != NONE) {
                visit(step.to);
                self.run.load(set);
                let path = blocks.path(&mut self.run, &step.choice, self.bound - 1);
                let mut next = set.to_vec();
                path.iter().for_each(|v| bits::insert(&mut next, *v));
                if next != states.set(step.to) {
                    falls.push((next, step.to));
                }
            }
            for (next, to) in falls {
                self.fall(&next, set, states.set(to));
            }
        }
    }

    /// Writes a set by its operators beyond an earlier one; false if it is written already.
    fn set(&mut self, set: &[u64], before: Option<&[u64]>) -> bool {
        if self.written.contains_key(set) {
            return false;
        }
        match before {
            None => line(self.text, "s -", []),
            Some(before) => {
                let word = format!("s {}", self.written.get(before).copied().unwrap_or(0));
                line(self.text, &word, between(before, set));
            }
        }
        self.written.insert(set.to_vec(), self.written.len());
        true
    }

    /// Writes that operators fall from one set, behind another, to a third.
    fn fall(&mut self, from: &[u64], before: &[u64], to: &[u64]) {
        if !self.set(from, Some(before)) {
            return;
        }
        self.run.load(from);
        let mut path = Vec::new();
        falling(&mut self.run, &between(from, to), self.bound - 1, &mut path);
        line(self.text, "f", path);
    }
}
