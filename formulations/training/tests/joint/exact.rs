//! All plans of a small graph with a link: any order of first computations, any recomputations, any
//! copies. Shares no code with the solver.

use super::draw::Case;
use remat_instances::instance::NodeId;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// Largest number of nodes.
const MOST: usize = 8;
/// Maximum number of states.
const STATES_LIMIT: usize = 3_000_000;

/// Result of a search.
pub enum Beaten {
    /// No plan is faster.
    No,
    /// The makespan of a faster plan.
    By(u64),
    /// The limit on states was reached.
    Unknown,
}

/// A tensor's place on the device, as the end of the copy that brings it; `GONE` without memory,
/// 0 if it can be read.
const GONE: u64 = u64::MAX;

/// The machine between two statements.
#[derive(Clone)]
struct State {
    clock: u64,
    lanes: [u64; 2],
    /// Nodes that have run, as bits.
    done: u32,
    place: [u64; MOST],
    /// End of the copy to the host; `GONE` without a host buffer.
    buffer: [u64; MOST],
}

type Shape = (u32, [u8; MOST], u32);
type Times = [u64; 3 + 2 * MOST];

impl State {
    fn shape(&self) -> Shape {
        let place = self.place.map(|end| match end {
            GONE => 0,
            0 => 1,
            _ => 2,
        });
        let buffers = (0..MOST).filter(|i| self.buffer[*i] != GONE);
        (self.done, place, buffers.fold(0, |set, i| set | 1 << i))
    }

    /// All times, none before the clock.
    fn times(&self) -> Times {
        let mut times = [self.clock; 3 + 2 * MOST];
        let ends = self.lanes.iter().chain(&self.place).chain(&self.buffer);
        for (time, end) in times[1..].iter_mut().zip(ends) {
            *time = self.clock.max(if *end == GONE { 0 } else { *end });
        }
        times
    }
}

struct Machine {
    needs: Vec<u32>,
    bytes: Vec<u64>,
    cost: Vec<u64>,
    copy: Vec<u64>,
    budget: u64,
}

impl Machine {
    fn of(case: &Case) -> Self {
        let instance = &case.instance;
        let node = |k: usize| instance.node(NodeId::from(k));
        let all = || 0..instance.len();
        let link = instance.host_link().expect("a link");
        let times = link.times(instance.cost_unit()).expect("a time");
        let copy = |k: usize| times.to_host(node(k).output_bytes).expect("a copy");
        Machine {
            needs: all()
                .map(|k| node(k).needs().iter().fold(0, |set, u| set | 1 << u.0))
                .collect(),
            bytes: all().map(|k| node(k).output_bytes).collect(),
            cost: all().map(|k| node(k).cost()).collect(),
            copy: all().map(copy).collect(),
            budget: case.budget_bytes,
        }
    }

    fn len(&self) -> usize {
        self.cost.len()
    }

    fn fits(&self, state: &State) -> bool {
        let held = (0..self.len()).filter(|k| state.place[*k] != GONE);
        held.map(|k| self.bytes[k]).sum::<u64>() <= self.budget
    }

    /// Least cost to come: first runs, and runs of their inputs that are lost.
    fn left(&self, state: &State) -> u64 {
        let open = (0..self.len()).filter(|k| state.done >> k & 1 == 0);
        let mut read = 0;
        let first: u64 = open
            .map(|k| {
                read |= self.needs[k];
                self.cost[k]
            })
            .sum();
        let lost = (0..self.len()).filter(|k| {
            let was_made = state.done >> k & 1 == 1;
            was_made && read >> k & 1 == 1 && state.place[*k] == GONE && state.buffer[*k] == GONE
        });
        first + lost.map(|k| self.cost[k]).sum::<u64>()
    }

    fn after(&self, state: &State) -> Vec<State> {
        let mut list = Vec::new();
        for k in 0..self.len() {
            let (place, buffer) = (state.place[k], state.buffer[k]);
            let mut next = state.clone();
            if place == GONE {
                let inputs = (0..self.len()).filter(|u| self.needs[k] >> u & 1 == 1);
                if inputs.clone().all(|u| state.place[u] != GONE) {
                    for u in inputs {
                        next.clock = next.clock.max(state.place[u]);
                        next.place[u] = 0;
                    }
                    next.place[k] = 0;
                    next.clock += self.cost[k];
                    next.done |= 1 << k;
                    list.extend(Some(next.clone()).filter(|next| self.fits(next)));
                }
                if buffer != GONE {
                    next = state.clone();
                    let begin = next.lanes[1].max(next.clock).max(buffer);
                    next.lanes[1] = begin + self.copy[k];
                    next.place[k] = next.lanes[1];
                    list.extend(Some(next).filter(|next| self.fits(next)));
                }
                continue;
            }
            if place == 0 && (buffer == GONE || buffer <= state.clock) {
                next.place[k] = GONE;
                list.push(next.clone());
            }
            next = state.clone();
            if buffer != GONE && buffer > state.clock {
                next.clock = buffer;
                list.push(next);
            } else if buffer == GONE && place == 0 {
                next.lanes[0] = next.lanes[0].max(next.clock) + self.copy[k];
                next.buffer[k] = next.lanes[0];
                list.push(next);
            }
        }
        list
    }
}

/// Searches a plan with a makespan below `most`.
pub fn is_beaten(case: &Case, most: u64) -> Beaten {
    let machine = Machine::of(case);
    let begin = State {
        clock: 0,
        lanes: [0; 2],
        done: 0,
        place: [GONE; MOST],
        buffer: [GONE; MOST],
    };
    let all = (1u32 << machine.len()) - 1;
    let mut fronts: HashMap<Shape, Vec<Times>> = HashMap::new();
    let mut states = vec![begin];
    let mut queue = BinaryHeap::from([Reverse((0, 0))]);
    let covers = |a: &Times, b: &Times| a.iter().zip(b).all(|(a, b)| a <= b);
    while let Some(Reverse((_, at))) = queue.pop() {
        let state: State = states[at].clone();
        // A state that was dominated after it was stored.
        let times = state.times();
        if at > 0 && !fronts[&state.shape()].contains(&times) {
            continue;
        }
        for next in machine.after(&state) {
            let bound = next.clock.saturating_add(machine.left(&next));
            if bound >= most {
                continue;
            }
            if next.done == all {
                return Beaten::By(next.clock);
            }
            let front = fronts.entry(next.shape()).or_default();
            let times = next.times();
            if front.iter().any(|there| covers(there, &times)) {
                continue;
            }
            front.retain(|there| !covers(&times, there));
            front.push(times);
            queue.push(Reverse((bound, states.len())));
            states.push(next);
            if states.len() > STATES_LIMIT {
                return Beaten::Unknown;
            }
        }
    }
    Beaten::No
}
