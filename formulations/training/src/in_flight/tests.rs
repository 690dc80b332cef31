//! Plans with several micro-batches in flight, against all schedules of small graphs.

use super::graph::WaitGraph;
use crate::anneal::{CheckmateLandscape, improve};
use crate::checkmate::CheckmateGraph;
use crate::checkmate::interval::Interval;
use crate::life::Stretch;
use crate::life::layers::Layered;
use crate::solve::{AnySolvable, Solve};
use crate::{AnyFormulation, Budget, Settings, zoo};
use remat_instances::instance::{CostUnit, Instance, InstanceData, Node, NodeId};
use remat_instances::schedule::{BitMatrix, CheckmateSchedule};
use remat_instances::simulate;
use remat_search::anneal::{Landscape, StretchSettings, Walk, Xoshiro256};
use remat_search::{Solvable, Status};
use remat_solver::price::{Incumbents, Root, RootSettings};
use std::sync::Arc;

/// A small generator (xorshift64*).
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % limit
    }
}

/// A chain of forward nodes with skips, and a backward node for each.
fn graph(draw: &mut Draw, forward: u32, in_flight: u32) -> Instance {
    let mut nodes = Vec::new();
    for i in 0..forward {
        let mut needs: Vec<NodeId> = (0..i)
            .filter(|j| j + 1 == i || draw.below(3) == 0)
            .map(NodeId)
            .collect();
        needs.dedup();
        let (cost, bytes) = (1 + draw.below(9), 1 + draw.below(9));
        let node = Node::forward(format!("f{i}"), needs, cost, bytes);
        nodes.push(Node {
            once: draw.below(6) == 0,
            ..node
        });
    }
    for i in (0..forward).rev() {
        let last = nodes.len() as u32 - 1;
        let mut needs = vec![NodeId(i), NodeId(last)];
        if i > 0 && draw.below(2) == 0 {
            needs.push(NodeId(i - 1));
        }
        needs.sort_unstable();
        needs.dedup();
        let (cost, bytes) = (1 + draw.below(9), 1 + draw.below(4));
        nodes.push(Node::backward(
            format!("b{i}"),
            Some(NodeId(i)),
            needs,
            cost,
            bytes,
        ));
    }
    Instance::new(InstanceData {
        name: "small".into(),
        cost_unit: CostUnit::arbitrary(),
        host_link: None,
        in_flight,
        nodes,
    })
    .expect("an instance")
}

/// Graphs of a test; `REMAT_ROUNDS=5000` takes more.
fn rounds(usual: u32) -> u32 {
    let asked = std::env::var("REMAT_ROUNDS").ok();
    asked.map_or(usual, |text| text.parse().expect("a number"))
}

/// Cost and peak of the cheapest schedule of every choice of retained sets.
fn all(instance: &Instance) -> Vec<(u64, u64)> {
    every(instance)
        .into_iter()
        .map(|(cost, peak, _)| (cost, peak))
        .collect()
}

/// The same with the schedules, the cheapest first.
fn every(instance: &Instance) -> Vec<(u64, u64, CheckmateSchedule)> {
    let n = instance.len();
    let pairs: Vec<(usize, usize)> = (1..n).flat_map(|t| (0..t).map(move |i| (t, i))).collect();
    let useful = |&(t, i): &(usize, usize)| {
        let last = instance.users(NodeId::from(i)).last();
        last.is_some_and(|last| last.index() >= t)
    };
    let pairs: Vec<(usize, usize)> = pairs.into_iter().filter(useful).collect();
    assert!(pairs.len() <= 16, "{} pairs", pairs.len());
    let mut found = Vec::new();
    for mask in 0u32..1 << pairs.len() {
        let mut retained = BitMatrix::new(n, n);
        for (k, &(t, i)) in pairs.iter().enumerate() {
            if mask >> k & 1 != 0 {
                retained.set(t, i, true);
            }
        }
        let schedule = CheckmateSchedule::cheapest(instance, retained);
        if let Ok(replay) = simulate::checkmate(instance, &schedule) {
            found.push((replay.cost, replay.peak_bytes, schedule));
        }
    }
    found.sort_by_key(|one| (one.0, one.1));
    found
}

/// Four budgets: one that no schedule fits, the least one, and two with more room.
fn budgets(peaks: impl Iterator<Item = u64> + Clone) -> [u64; 4] {
    let low = peaks.clone().min().expect("a schedule");
    let high = peaks.max().expect("a schedule");
    let part = |of: u64| low + (high - low) / of;
    [low - 1, low, part(4), part(2)]
}

#[test]
fn plans_are_the_best_of_all_schedules_and_bounds_hold() {
    let mut draw = Draw(7);
    let (mut solved, mut refused, mut recomputed) = (0, 0, 0);
    for round in 0..rounds(24) {
        let instance = graph(&mut draw, 3, 1 + round % 4);
        let every = all(&instance);
        for budget in budgets(every.iter().map(|(_, peak)| *peak)) {
            let best = every.iter().find(|(_, peak)| *peak <= budget);
            let settings = Settings {
                threads: 1,
                rounds: 2,
                ..Settings::default()
            };
            let solution = Solve::new(&instance, Budget::Bytes(budget))
                .settings(settings)
                .run()
                .expect("an answer");
            let Some((cost, _)) = best else {
                assert_eq!(
                    solution.status,
                    Status::Infeasible,
                    "round {round}, {budget}"
                );
                refused += 1;
                continue;
            };
            // A plan frees tensors sooner than a schedule says, so it may be cheaper.
            let found = solution.objective().expect("a plan");
            assert!(
                found <= *cost,
                "round {round}, {budget}: {found} for {cost}"
            );
            assert!(solution.bound <= found);
            let document = solution.document().expect("a plan");
            let replay = simulate::plan(&instance, &document.plan).expect("a replay");
            assert!(replay.peak_bytes <= budget && replay.cost == found);
            solved += 1;
            recomputed += usize::from(found > instance.base_cost());
        }
    }
    assert!(
        solved >= 60 && refused >= 20 && recomputed >= 20,
        "{solved} {refused} {recomputed}"
    );
}

/// The relaxation with all its cuts is below the best schedule, and every row of it holds at every
/// schedule that fits, of a sample.
#[test]
fn no_row_of_the_relaxation_excludes_a_schedule_that_fits() {
    let mut draw = Draw(11);
    let (mut rows, mut waiting, mut closed) = (0, 0, 0);
    for round in 0..rounds(60) {
        let instance = graph(&mut draw, 3, 2 + round % 3);
        let every = every(&instance);
        let step = WaitGraph::of(&instance, CheckmateGraph::SEMANTICS).expect("a backward pass");
        let own = step.instance().expect("a graph");
        for budget in budgets(every.iter().map(|one| one.1)) {
            let fits = || every.iter().filter(|one| one.1 <= budget);
            let settings = RootSettings {
                dense_cuts: true,
                ..RootSettings::default()
            };
            let Ok(program) = CheckmateGraph::new(&own, budget) else {
                assert_eq!(fits().count(), 0, "round {round}, {budget}");
                continue;
            };
            let Some(best) = fits().next() else { continue };
            let none = Incumbents::default();
            let root = Root::solve(Arc::new(program.clone()), &settings, &none).expect("a root");
            let start = root.start();
            let bound = root.into_bound().safe_bound;
            assert!(
                bound <= best.0,
                "round {round}, {budget}: {bound} for {}",
                best.0
            );
            closed += usize::from(bound == best.0);
            let step_of_sample = 1 + fits().count() / 100;
            for (_, _, schedule) in fits().step_by(step_of_sample) {
                let schedule = step.schedule(schedule);
                let columns = Interval::of_schedule(&program, &schedule);
                let wait = program.wait_event().filter(|_| instance.in_flight() > 1);
                let saved = columns
                    .iter()
                    .filter(|c| wait.is_some_and(|w| c.is_at(&program, w)));
                let saved: u64 = saved.map(|c| program.bytes[c.node as usize]).sum();
                // The step may wait at a better moment than the end of the stage of the wait.
                let counted = simulate::checkmate(&own, &schedule).expect("a replay");
                if saved != counted.saved_bytes || counted.peak_bytes > budget {
                    continue;
                }
                for (row, _) in &start.proof {
                    let terms = columns.iter().map(|c| row.coefficient(&program, c));
                    let (left, right) = (terms.sum::<i64>(), row.right_side(&program));
                    let holds = match row.is_memory() {
                        true => left <= right,
                        false => left >= right,
                    };
                    assert!(holds, "round {round}, {budget}: {row:?}: {left}, {right}");
                    waiting += usize::from(row.is_memory());
                }
            }
            rows += start.proof.len();
        }
    }
    println!("{rows} rows, {waiting} of memory checked, {closed} bounds closed");
    assert!(rows >= 500 && waiting >= 500 && closed >= 20);
}

/// Flips of tensors at the wait move the capacity of all stages.
#[test]
fn annealing_counts_what_waits() {
    let mut draw = Draw(5);
    let (mut fitting, mut others) = (0, 0);
    for round in 0..40 {
        let instance = graph(&mut draw, 5, 2 + round % 3);
        let step = WaitGraph::of(&instance, CheckmateGraph::SEMANTICS).expect("a backward pass");
        let own = step.instance().expect("a graph");
        let all = CheckmateSchedule::checkpoint_all(&own);
        let peak = simulate::checkmate(&own, &all)
            .expect("a replay")
            .peak_bytes;
        let budget = peak * u64::from(5 + round % 4) / 9;
        let landscape = CheckmateLandscape::new(&own, budget);
        let mut walk = landscape.walk(&all.retained.to_bits());
        let mut random = Xoshiro256::new(u64::from(round), 0);
        for number in 0..60 {
            let Some(flip) = walk.anywhere(&mut random) else {
                continue;
            };
            let (before, delta) = (walk.excess(), walk.evaluate(flip));
            walk.try_out(flip);
            assert_eq!(
                walk.excess(),
                before + delta.excess,
                "round {round}, {number}"
            );
            walk.take_back(flip);
            assert_eq!(walk.excess(), before, "round {round}, {number}");
            walk.apply(flip);
            let retained = walk.retained();
            let anew = landscape.walk(&retained);
            assert_eq!((anew.excess(), anew.cost()), (walk.excess(), walk.cost()));
            if walk.excess() > 0.0 {
                others += 1;
                continue;
            }
            fitting += 1;
            let peak = |schedule: &CheckmateSchedule| {
                let replay = simulate::checkmate(&own, schedule).expect("a replay");
                replay.peak_bytes
            };
            let schedule = CheckmateSchedule::tightest(&own, retained);
            assert!(peak(&schedule) <= budget, "round {round}, {number}");
            if number % 8 == 0 {
                let settings = StretchSettings {
                    seed: 1,
                    rounds: 1,
                    time: None,
                    target: 0,
                };
                let found = improve(&landscape, &schedule.retained, &settings, &());
                let found = found.expect("sets that fit stay within the budget");
                let schedule = CheckmateSchedule::tightest(&own, found.retained);
                assert!(peak(&schedule) <= budget, "round {round}, {number}");
            }
        }
    }
    assert!(fitting >= 200 && others >= 200, "{fitting} {others}");
}

#[test]
fn more_in_flight_never_cost_less_and_one_is_the_plain_solve() {
    let chain = zoo::build(&"zoo:chain?n=10".parse().unwrap()).unwrap();
    let settings = Settings {
        threads: 1,
        ..Settings::default()
    };
    let plain = Solve::new(&chain, Budget::Percent(100.0)).run().unwrap();
    let budget = plain.replay.as_ref().unwrap().peak_bytes;
    let mut last = 0;
    for k in 1..=4 {
        let instance = chain.with_in_flight(k).unwrap();
        let solvable = AnySolvable::from(AnyFormulation::suiting(&instance));
        let outcome = solvable.solve(budget, &[], &settings, &()).unwrap();
        let cost = outcome.cost().expect("a plan");
        assert!(cost >= last && outcome.bound <= cost, "{k}: {cost}");
        if k == 1 {
            assert_eq!(cost, chain.base_cost());
        }
        let replay = outcome.replay.as_ref().unwrap();
        assert_eq!(replay.waiting_bytes, u64::from(k - 1) * replay.saved_bytes);
        assert!(replay.peak_bytes <= budget);
        last = cost;
    }
    assert!(last > chain.base_cost());
}

#[test]
fn other_kinds_of_plans_are_refused() {
    let chain = zoo::build(&"zoo:chain?n=6".parse().unwrap()).unwrap();
    let instance = chain.with_in_flight(2).unwrap();
    let error = Solve::new(&instance, Budget::Percent(80.0)).reorder().run();
    assert!(error.unwrap_err().to_string().contains("in_flight"));
    assert!(chain.with_in_flight(0).is_err());
}
