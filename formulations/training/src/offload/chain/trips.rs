//! Copies placed in a sequence of computations of a graph.
//!
//! A *trip* takes a value to the host after a read, and back before a later read. Copies to the
//! host and copies back are each issued first in, first out. Within that order, the statements
//! stand where they serve best:
//!
//! - a copy to the host is issued when the value is computed;
//! - a value is freed as soon as its copy is complete, and computations wait for the copy only if
//!   memory is short; trips that the memory never needs are left out;
//! - a copy back is issued as early as memory allows. Values come back in the order of their reads,
//!   so an early value takes no memory from a later one.

use remat_instances::instance::{CopyTimes, Instance, NodeId};
use remat_instances::plan::{HostBuffer, Plan, Register, Step};

/// A value: the output of one computation.
struct ComputedValue {
    node: NodeId,
    bytes: u64,
    /// The computation that makes it.
    made: usize,
    /// The computations that read it, ascending.
    reads: Vec<usize>,
}

impl ComputedValue {
    /// The last computation that needs it in memory.
    fn last(&self) -> usize {
        self.reads.last().copied().unwrap_or(self.made)
    }
}

/// A value that leaves between two computations.
#[derive(Clone, Copy)]
struct Trip {
    /// Number of the value, which is the number of the computation that makes it.
    value: usize,
    bytes: u64,
    /// The last computation that needs it before it leaves, the first one that reads it after.
    before: usize,
    after: usize,
}

/// Computations in order, with their values, durations and workspaces.
pub(super) struct Computations<'a> {
    instance: &'a Instance,
    values: Vec<ComputedValue>,
    /// Duration of each computation.
    costs: Vec<u64>,
    /// Bytes of the workspace of each computation.
    workspaces: Vec<u64>,
}

/// Places of a trip's statements: the computations before which the value is freed, and before
/// which its copy back is issued.
#[derive(Clone, Copy)]
struct TripPlaces {
    freed: usize,
    asked: usize,
}

impl<'a> Computations<'a> {
    /// The computations of nodes in the given order; each reads the newest values of its inputs.
    /// `None` if an input was not computed before, or if a node runs that may not be computed
    /// (again).
    pub fn new(instance: &'a Instance, nodes: impl IntoIterator<Item = NodeId>) -> Option<Self> {
        let mut newest: Vec<Option<usize>> = vec![None; instance.len()];
        let mut ended = vec![false; instance.len()];
        let mut all = Computations {
            instance,
            values: Vec::new(),
            costs: Vec::new(),
            workspaces: Vec::new(),
        };
        for (at, id) in nodes.into_iter().enumerate() {
            let node = instance.node(id);
            for need in instance.needs(id) {
                all.values[newest[need.index()]?].reads.push(at);
            }
            let is_again = newest[id.index()].replace(at).is_some();
            if ended[id.index()] || is_again && !instance.may_recompute(id) {
                return None;
            }
            instance
                .ended_by(id)
                .for_each(|end| ended[end.index()] = true);
            all.costs.push(node.run_cost(is_again));
            all.workspaces.push(node.run_workspace_bytes(is_again));
            all.values.push(ComputedValue {
                node: id,
                bytes: node.output_bytes,
                made: at,
                reads: Vec::new(),
            });
        }
        Some(all)
    }

    /// The first computation of a node.
    pub fn first(&self, node: NodeId) -> Option<usize> {
        self.values.iter().position(|value| value.node == node)
    }

    /// A plan in which the values of the first computations of `nodes` may be on the host, between
    /// their last read before `turn` and their first read from `turn` on. With a `barrier` before
    /// `turn`, copies to the host are complete when that computation starts, and copies back are
    /// issued once it has run. `None` if the plan does not fit the budget.
    pub fn plan(
        &self,
        nodes: &[NodeId],
        turn: usize,
        barrier: Option<usize>,
        budget_bytes: u64,
        times: &CopyTimes,
    ) -> Option<Plan> {
        let room = budget_bytes.checked_sub(self.instance.static_bytes())?;
        let is_past = |trip: &Trip| barrier.is_some_and(|at| trip.before >= at || turn <= at);
        let mut trips: Vec<Trip> = nodes
            .iter()
            .filter_map(|&node| self.trip(node, turn, times))
            .filter(|trip| !is_past(trip))
            .collect();
        trips.sort_by_key(|trip| trip.value);
        let trips = self.needed(trips, room)?;
        let freed = self.freed(&trips, barrier, room, times)?;
        let places = self.asked(&trips, &freed, barrier, room);
        Some(self.emit(&trips, &places))
    }

    fn trip(&self, node: NodeId, turn: usize, times: &CopyTimes) -> Option<Trip> {
        let value = self.first(node)?;
        let ComputedValue {
            bytes, made, reads, ..
        } = &self.values[value];
        let split = reads.partition_point(|&read| read < turn);
        let may = *bytes > 0
            && *made < turn
            && self.instance.may_offload(node)
            && times.to_host(*bytes).is_some()
            && times.from_host(*bytes).is_some();
        let trip = Trip {
            value,
            bytes: *bytes,
            before: split.checked_sub(1).map_or(*made, |k| reads[k]),
            after: *reads.get(split)?,
        };
        (may && trip.before + 1 < trip.after).then_some(trip)
    }

    /// Bytes at each computation. A value that leaves counts from its computation to the last read
    /// before the trip, and from the first read after it.
    fn least_bytes(&self, trips: &[Trip]) -> Vec<u64> {
        let mut bytes = self.workspaces.clone();
        let mut add = |from: usize, to: usize, size: u64| {
            for at in &mut bytes[from..=to] {
                *at += size;
            }
        };
        let mut trips = trips.iter().peekable();
        for (number, value) in self.values.iter().enumerate() {
            match trips.next_if(|trip| trip.value == number) {
                Some(trip) => {
                    add(value.made, trip.before, value.bytes);
                    add(trip.after, value.last(), value.bytes);
                }
                None => add(value.made, value.last(), value.bytes),
            }
        }
        bytes
    }

    /// The trips that the memory needs, if values leave and come back as late as possible; `None`
    /// if all trips together do not suffice.
    fn needed(&self, trips: Vec<Trip>, room: u64) -> Option<Vec<Trip>> {
        let bytes = self.least_bytes(&trips);
        let mut is_gone = vec![false; trips.len()];
        for (at, &least) in bytes.iter().enumerate() {
            let there = |is_gone: &[bool]| {
                let trips = trips.iter().enumerate();
                let held = trips.filter(|(k, t)| !is_gone[*k] && t.before < at && at < t.after);
                held.map(|(k, trip)| (k, trip.bytes)).collect::<Vec<_>>()
            };
            let held = there(&is_gone);
            let mut total = least + held.iter().map(|one| one.1).sum::<u64>();
            for (k, bytes) in held {
                if total <= room {
                    break;
                }
                is_gone[k] = true;
                total -= bytes;
            }
            if total > room {
                return None;
            }
        }
        let needed = trips.into_iter().zip(is_gone);
        Some(needed.filter(|one| one.1).map(|one| one.0).collect())
    }

    /// The computation before which the value of each trip is freed.
    fn freed(
        &self,
        trips: &[Trip],
        barrier: Option<usize>,
        room: u64,
        times: &CopyTimes,
    ) -> Option<Vec<usize>> {
        let bytes = self.least_bytes(trips);
        let (mut clock, mut lane) = (0u64, 0u64);
        let mut freed: Vec<Option<usize>> = vec![None; trips.len()];
        // Ends of the copies issued so far.
        let mut ends: Vec<u64> = Vec::new();
        for (at, &least) in bytes.iter().enumerate() {
            let is_held = |k: usize, freed: &[Option<usize>]| {
                freed[k].is_none() && trips[k].before < at && at < trips[k].after
            };
            for k in 0..ends.len() {
                if is_held(k, &freed) && ends[k] <= clock {
                    freed[k] = Some(at);
                }
            }
            let held = (0..ends.len()).filter(|&k| is_held(k, &freed));
            let held: Vec<usize> = held.collect();
            let mut total = least + held.iter().map(|&k| trips[k].bytes).sum::<u64>();
            for k in held {
                if total <= room && barrier != Some(at) {
                    break;
                }
                clock = clock.max(ends[k]);
                freed[k] = Some(at);
                total -= trips[k].bytes;
            }
            if total > room {
                return None;
            }
            clock = clock.saturating_add(self.costs[at]);
            while let Some(trip) = trips.get(ends.len()).filter(|trip| trip.value <= at) {
                lane = lane.max(clock).saturating_add(times.to_host(trip.bytes)?);
                ends.push(lane);
            }
        }
        // A value that was never freed was in no computation's way; it is freed before its next
        // read.
        let latest = freed
            .iter()
            .zip(trips)
            .map(|(at, trip)| at.unwrap_or(trip.after));
        Some(latest.collect())
    }

    /// The places of all statements; copies back are issued as early as memory allows.
    fn asked(
        &self,
        trips: &[Trip],
        freed: &[usize],
        barrier: Option<usize>,
        room: u64,
    ) -> Vec<TripPlaces> {
        let mut bytes = self.least_bytes(trips);
        for (trip, &freed) in trips.iter().zip(freed) {
            for at in &mut bytes[trip.before + 1..freed] {
                *at += trip.bytes;
            }
        }
        let mut order: Vec<usize> = (0..trips.len()).collect();
        order.sort_by_key(|&k| (trips[k].after, k));
        let mut places: Vec<TripPlaces> = freed
            .iter()
            .map(|&freed| TripPlaces {
                freed,
                asked: freed,
            })
            .collect();
        let mut before = barrier.map_or(0, |at| at + 1);
        for k in order {
            let from = places[k].freed.max(before);
            let after = trips[k].after;
            let stretch = &bytes[from..after];
            let full = stretch.iter().rposition(|&b| b + trips[k].bytes > room);
            let asked = full.map_or(from, |place| from + place + 1);
            for at in &mut bytes[asked..after] {
                *at += trips[k].bytes;
            }
            places[k].asked = asked;
            before = asked;
        }
        places
    }

    fn emit(&self, trips: &[Trip], places: &[TripPlaces]) -> Plan {
        let count = self.values.len();
        let at_each = |place: &dyn Fn(usize) -> usize| {
            let mut lists: Vec<Vec<usize>> = vec![Vec::new(); count];
            for k in 0..trips.len() {
                lists[place(k)].push(k);
            }
            lists
        };
        let leaving = at_each(&|k| trips[k].value);
        let freed = at_each(&|k| places[k].freed);
        let mut asked = at_each(&|k| places[k].asked);
        let read = at_each(&|k| trips[k].after);
        let mut last: Vec<Vec<usize>> = vec![Vec::new(); count];
        for (number, value) in self.values.iter().enumerate() {
            last[value.last()].push(number);
        }
        let register = |number: usize| Register(number as u32);
        // Registers of values that are back.
        let mut back: Vec<Option<Register>> = vec![None; count];
        let buffer = |k: usize| HostBuffer(k as u32);
        let mut steps = Vec::new();
        for at in 0..count {
            for &k in &freed[at] {
                steps.push(Step::Wait { buffer: buffer(k) });
                let register = register(trips[k].value);
                steps.push(Step::Deallocate { register });
            }
            asked[at].sort_by_key(|&k| (trips[k].after, k));
            for &k in &asked[at] {
                let register = Register((count + k) as u32);
                let node = self.values[trips[k].value].node;
                steps.push(Step::Allocate { register, node });
                steps.push(Step::Prefetch {
                    buffer: buffer(k),
                    register,
                });
                back[trips[k].value] = Some(register);
            }
            let node = self.values[at].node;
            let own = register(at);
            steps.push(Step::Allocate {
                register: own,
                node,
            });
            steps.push(Step::Compute {
                node,
                register: own,
                implementation: 0,
            });
            for &k in &leaving[at] {
                steps.push(Step::Offload {
                    register: own,
                    buffer: buffer(k),
                });
            }
            for &k in &read[at] {
                steps.push(Step::Release { buffer: buffer(k) });
            }
            for &number in &last[at] {
                let register = back[number].unwrap_or(register(number));
                steps.push(Step::Deallocate { register });
            }
        }
        Plan::of_first_implementations(self.instance, steps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use remat_instances::instance::{CostUnit, HostLink, InstanceData, Node};
    use remat_instances::simulate;

    /// A graph of forward nodes with given costs and sizes, whose inputs are given by bits.
    fn graph(nodes: &[(u64, u64, u8)]) -> Instance {
        let list = nodes.iter().enumerate().map(|(i, &(cost, bytes, bits))| {
            let before = |k: &usize| bits >> k & 1 == 1 && i > *k;
            let needs = (0..8).filter(before).map(|k| NodeId::from(i - 1 - k));
            let mut needs: Vec<NodeId> = needs.collect();
            needs.sort_unstable();
            Node::forward(format!("n{i}"), needs, cost, bytes)
        });
        let data = InstanceData {
            name: "random".into(),
            cost_unit: CostUnit::named("ns"),
            host_link: Some(HostLink::new(1_000_000_000, 500_000_000)),
            in_flight: 1,
            nodes: list.collect(),
        };
        Instance::new(data).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]
        #[test]
        fn plans_replay_within_the_budget_wherever_the_least_memory_does(
            nodes in prop::collection::vec((1u64..9, 0u64..9, any::<u8>()), 3..24),
            turn in 1usize..20,
            share in 20u64..110,
        ) {
            let instance = graph(&nodes);
            let times = instance.host_link().unwrap().times(instance.cost_unit()).unwrap();
            let all = Computations::new(&instance, instance.ids()).unwrap();
            let leaving: Vec<NodeId> = instance.ids().collect();
            let plain = *all.least_bytes(&[]).iter().max().unwrap();
            let budget = plain * share / 100;
            let trips = leaving.iter().filter_map(|&node| all.trip(node, turn, &times));
            let trips: Vec<Trip> = trips.collect();
            let least = *all.least_bytes(&trips).iter().max().unwrap();
            let plan = all.plan(&leaving, turn, None, budget, &times);
            prop_assert_eq!(plan.is_some(), least <= budget);
            if let Some(plan) = plan {
                let replay = simulate::plan(&instance, &plan).unwrap();
                prop_assert!(replay.peak_bytes <= budget);
                prop_assert_eq!(replay.cost, instance.base_cost());
                prop_assert_eq!(plan.has_copies(), plain > budget);
                let moved = replay.transfers.to_host_bytes;
                prop_assert_eq!(moved, replay.transfers.from_host_bytes);
                // A copy back takes twice as long; the longest wait is all copies one after the
                // other.
                prop_assert!(replay.makespan <= replay.cost + 3 * moved);
            }
            // Copies to the host end before the computation ahead of the turn; copies back start
            // after it.
            let at = turn - 1;
            if let Some(plan) = all.plan(&leaving, turn, Some(at), budget, &times) {
                let replay = simulate::plan(&instance, &plan).unwrap();
                prop_assert!(replay.peak_bytes <= budget);
                let copies = &replay.transfers.spans;
                let Some(point) = replay.timeline.get(at) else {
                    return Ok(());
                };
                let begin = point.clock - all.costs[at];
                let mut in_time = copies.iter().map(|copy| match copy.to_host {
                    true => copy.end <= begin,
                    false => copy.begin >= point.clock,
                });
                prop_assert!(in_time.all(|is_in_time| is_in_time));
            }
        }
    }

    #[test]
    fn copies_hide_behind_computations() {
        // Value 0 is read by 1 and by the last; it is away while 2 and 3 need the room.
        let nodes = [
            (10, 10, 0),
            (10, 1, 1),
            (40, 10, 1),
            (40, 1, 1),
            (40, 1, 1),
            (10, 0, 0b10001),
        ];
        let instance = graph(&nodes);
        let times = instance
            .host_link()
            .unwrap()
            .times(instance.cost_unit())
            .unwrap();
        let all = Computations::new(&instance, instance.ids()).unwrap();
        let makespan = |budget: u64| {
            let plan = all.plan(&[NodeId(0)], 2, None, budget, &times)?;
            Some(simulate::plan(&instance, &plan).unwrap().makespan)
        };
        // To the host during 1, back during 4.
        assert_eq!(makespan(12), Some(150));
        // Back before the last.
        assert_eq!(makespan(11), Some(170));
        assert_eq!(makespan(10), None);
    }
}
