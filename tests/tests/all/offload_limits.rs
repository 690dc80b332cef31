//! Limits of a link, and sweeps over its bandwidth, the budget and the memory of the host.
//! Instances are networks of the zoo, and random graphs too large for the exact search.

use remat_formulations::baselines::chain::extract;
use remat_formulations::offload::chain::{ChainSearch, Link, LinkedChain};
use remat_formulations::offload::nodes::{
    Linked, Offload, OffloadTuning, Offloaded, STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES,
};
use remat_formulations::offload::{CopyPhase, Release};
use remat_formulations::solve::{Baselines, Compared};
use remat_formulations::{AnyFormulation, Budget, Frontier};
use remat_instances::instance::{CostUnit, HostLink, Instance};
use remat_instances::plan::Plan;
use remat_instances::{Semantics, simulate, zoo};
use remat_search::{Settings, Solvable};
use remat_tests::graphs::{self, Numbers};

/// Little fixed work, up to a gap of 2%: the tested properties do not depend on it.
fn settings() -> Settings {
    let settings = Settings {
        rounds: 1,
        iterations: 100,
        nodes: 1,
        threads: 2,
        ..Settings::default()
    };
    settings.with_gap(0.02)
}

fn tuning() -> OffloadTuning {
    OffloadTuning {
        probes: 3,
        probe_moves: 1000,
        polish_moves: 2000,
        ..OffloadTuning::default()
    }
}

/// Networks of the zoo.
fn networks(names: &[&str]) -> Vec<Instance> {
    let built = names.iter().map(|name| {
        let instance = zoo::build(&name.parse().unwrap()).unwrap();
        instance.single_implementation_view()
    });
    built.collect()
}

const CHAIN: &str = "zoo:chain?n=12";
const VGG: &str = "zoo:vgg16?batch=16&device=v100";
const RESNET: &str = "zoo:resnet18?batch=16&device=v100";

/// Random training graphs whose computations take microseconds, where a copy takes a nanosecond at
/// least.
fn random(count: usize, seed: u64) -> Vec<Instance> {
    let mut numbers = Numbers::new(seed);
    let graph = |case: usize| {
        let mut data = graphs::training(9 + case % 5, &mut numbers).data().clone();
        data.cost_unit = CostUnit::nanoseconds();
        for implementation in data.nodes.iter_mut().flat_map(|v| &mut v.implementations) {
            implementation.cost *= 1000;
            implementation.recompute_cost *= 1000;
        }
        Instance::new(data).unwrap()
    };
    (0..count).map(graph).collect()
}

/// Largest memory that one computation needs by itself.
fn largest_computation(instance: &Instance) -> u64 {
    let single = |id| -> u64 {
        let needs = instance.needs(id).iter();
        let inputs: u64 = needs.map(|d| instance.node(*d).output_bytes).sum();
        let node = instance.node(id);
        inputs + node.output_bytes + node.workspace_bytes()
    };
    instance.static_bytes() + instance.ids().map(single).max().unwrap()
}

/// Budgets from the largest computation to the peak without recomputation.
fn budgets(instance: &Instance, count: u64) -> Vec<u64> {
    let least = largest_computation(instance);
    let peak = instance
        .plain_replay(Semantics::Checkmate)
        .unwrap()
        .peak_bytes;
    (0..count)
        .map(|k| least + (peak - least) * k / count)
        .collect()
}

fn solved(instance: &Instance, link: HostLink, budget: u64, starts: &[Plan]) -> Offloaded {
    let instance = instance.with_host_link(Some(link)).unwrap();
    let formulation = AnyFormulation::of(&instance, Semantics::Checkmate).unwrap();
    let offload = Offload::new(formulation, budget)
        .tuning(tuning())
        .starts(starts);
    let answer = offload.settings(settings()).run().unwrap();
    if let Some(document) = &answer.plan {
        let replay = simulate::plan(&instance, &document.plan).unwrap();
        assert_eq!(Some(replay.makespan), answer.outcome.cost());
        assert!(replay.peak_bytes <= budget && answer.outcome.bound <= replay.makespan);
        let host = instance.host_link().unwrap().host_memory_bytes;
        assert!(replay.transfers.host_peak_bytes <= host.unwrap_or(u64::MAX));
    }
    answer
}

#[test]
fn a_link_that_carries_nothing_is_none() {
    for instance in networks(&[CHAIN, VGG]).iter().chain(&random(4, 31)) {
        let formulation = AnyFormulation::of(instance, Semantics::Checkmate).unwrap();
        for budget in budgets(instance, 3) {
            let without = formulation.solve(budget, &[], &settings(), &()).unwrap();
            let slow = solved(instance, HostLink::new(1, 1), budget, &[]);
            let full = HostLink {
                host_memory_bytes: Some(0),
                ..HostLink::new(1 << 40, 1 << 40)
            };
            let full = solved(instance, full, budget, &[]);
            let Some(cost) = without.cost() else {
                // Within hours the slow link carries some bytes; the full host never does.
                let waits = slow.outcome.cost().map(|c| c - instance.base_cost());
                assert!(waits.is_none_or(|waits| waits > 1_000_000_000));
                assert_eq!(full.plan, None);
                assert_eq!(full.outcome.status, without.status);
                continue;
            };
            for answer in [slow, full] {
                assert_eq!(answer.without_cost, Some(cost), "{}", instance.name());
                assert_eq!(answer.outcome.bound, without.bound.min(cost));
                // A plan leaves out nodes that no computation needs.
                assert!(answer.outcome.cost().is_some_and(|c| c <= cost));
                assert!(!answer.plan.unwrap().plan.has_copies());
            }
        }
    }
}

#[test]
fn an_endless_link_leaves_the_base_cost_where_every_computation_fits() {
    for instance in networks(&[CHAIN, VGG, RESNET])
        .iter()
        .chain(&random(16, 32))
    {
        for budget in budgets(instance, 3) {
            let link = HostLink::new(1 << 52, 1 << 52);
            let linked = instance.with_host_link(Some(link)).unwrap();
            let formulation = AnyFormulation::of(&linked, Semantics::Checkmate).unwrap();
            let settings = Settings {
                gap: 1e-4,
                ..settings()
            };
            let offload = Offload::new(formulation, budget).settings(settings);
            let answer = offload.uncompared().run().unwrap();
            let waits = answer.outcome.cost().map(|c| c - instance.base_cost());
            // Every copy takes a nanosecond.
            let most = 4 * instance.len() as u64;
            assert!(
                waits.is_some_and(|waits| waits <= most),
                "{} at {budget}: {waits:?}",
                instance.name()
            );
        }
    }
}

/// Links in ascending order, each at least as good as the one before; the third carries a step's
/// bytes in a step's time.
fn links(instance: &Instance) -> Vec<HostLink> {
    // The whole step's bytes once in its time.
    let bytes: u64 = instance.nodes().iter().map(|v| v.output_bytes).sum();
    let speed = (u128::from(bytes) * 1_000_000_000 / u128::from(instance.base_cost())) as u64;
    let speeds = [1, speed / 4, speed, 16 * speed];
    speeds.map(|s| HostLink::new(s.max(1), s.max(1))).into()
}

/// A plan over a slower link, or for less host memory, is also a plan over a faster one, or for
/// more. As a start it is never lost.
#[test]
fn makespans_never_rise_with_bandwidth_budget_or_host_memory() {
    for instance in networks(&[CHAIN, VGG]).iter().chain(&random(2, 33)) {
        let name = instance.name();
        let budget = budgets(instance, 4)[1];
        let links = links(instance);
        let sweep = |links: Vec<HostLink>| {
            let mut starts: Vec<Plan> = Vec::new();
            let mut before = None;
            for link in links {
                let answer = solved(instance, link.clone(), budget, &starts);
                let now = answer.outcome.cost();
                if let (Some(before), now) = (before, now) {
                    assert!(now.is_some_and(|now| now <= before), "{name}, {link:?}");
                }
                before = now;
                starts = answer.plan.into_iter().map(|d| d.plan).collect();
            }
            before
        };
        sweep(links.clone());
        let link = &links[1];
        let all: u64 = instance.nodes().iter().map(|v| v.output_bytes).sum();
        let hosts = [0, all / 8].map(Some);
        let limited = |host_memory_bytes| HostLink {
            host_memory_bytes,
            ..link.clone()
        };
        sweep(hosts.into_iter().chain([None]).map(limited).collect());

        let linked = instance.with_host_link(Some(link.clone())).unwrap();
        let formulation = AnyFormulation::of(&linked, Semantics::Checkmate).unwrap();
        let wanted: Vec<Budget> = budgets(instance, 3)
            .into_iter()
            .map(Budget::Bytes)
            .collect();
        let linked = Linked::new(formulation, CopyPhase::Any).tuning(tuning());
        let frontier = Frontier::of(linked, &wanted).unwrap();
        let points = frontier.settings(settings()).run().unwrap();
        assert_eq!(points.len(), wanted.len());
        for pair in points.windows(2) {
            assert!(pair[1].bound <= pair[0].bound, "{name}");
            if let Some(cost) = pair[0].cost() {
                assert!(pair[1].cost().is_some_and(|more| more <= cost), "{name}");
            }
        }
    }
}

/// Rows of chains beside the known strategies: each plan replays to its reported values, and POFO's
/// row is never above rotor's.
#[test]
fn rows_that_copy_stand_beside_the_known_strategies() {
    let mut copied = 0;
    for instance in networks(&[CHAIN, RESNET]).iter().chain(&random(4, 34)) {
        let link = &links(instance)[2];
        let linked = instance.with_host_link(Some(link.clone())).unwrap();
        for (phase, budget) in [CopyPhase::Any, CopyPhase::Loss]
            .into_iter()
            .flat_map(|phase| budgets(instance, 4).into_iter().map(move |b| (phase, b)))
        {
            let formulation = AnyFormulation::of(&linked, Semantics::Checkmate).unwrap();
            let known = Baselines::of(Linked::new(formulation, phase)).for_sweep();
            let found = known.run(budget);
            let names: Vec<&str> = found.iter().map(|one| one.name).collect();
            assert_eq!(names, known.names());
            let row = |name| {
                found
                    .iter()
                    .find(|one: &&Compared| one.name == name)
                    .unwrap()
            };
            for one in &found {
                let Ok((plan, replay)) = &one.result else {
                    continue;
                };
                if plan.schedule().is_none() {
                    let plan = plan.statements(&linked).unwrap();
                    assert_eq!(&simulate::plan(&linked, &plan).unwrap(), replay);
                    assert!(replay.peak_bytes <= budget && phase.admits(&linked, replay));
                    copied += usize::from(plan.has_copies());
                }
            }
            if row("rotor").fits(budget) == Some(true) {
                let [pofo, rotor] = ["pofo", "rotor"].map(|n| row(n).replay().unwrap().makespan);
                assert!(pofo <= rotor, "{} at {budget}", instance.name());
            }
            let more = known.run_linked(budget);
            let rows = &found[found.len() - more.len()..];
            for (one, other) in rows.iter().zip(&more) {
                let makespan = |one: &Compared| one.replay().map(|r| r.makespan);
                assert_eq!((one.name, makespan(one)), (other.name, makespan(other)));
            }
        }
    }
    assert!(copied > 20, "{copied} rows copy");
}

#[test]
fn continuous_copies_are_bounded_below_pofos_time() {
    let links = [
        HostLink::new(4_000_000_000, 4_000_000_000),
        "pcie3".parse().unwrap(),
    ];
    let (mut compared, mut recomputed) = (0, 0);
    for (instance, link) in networks(&[CHAIN, VGG, RESNET])
        .iter()
        .zip(links.iter().cycle())
    {
        let instance = instance.with_host_link(Some(link.clone())).unwrap();
        let training = extract(&instance).unwrap();
        let chain = LinkedChain::of(training.chain());
        for budget in budgets(&instance, 3) {
            let formulation = AnyFormulation::of(&instance, Semantics::Checkmate).unwrap();
            let offload = Offload::new(formulation, budget).release(Release::Continuous);
            let offload = offload.tuning(tuning()).settings(settings());
            let outcome = offload.run().unwrap().outcome;
            let scope = STAGE_SCHEDULES_WITH_CONTINUOUS_COPIES;
            assert_eq!(outcome.bound_scope, scope);
            assert!(outcome.cost().is_none_or(|cost| outcome.bound <= cost));
            let memory = budget - training.chain().fixed_bytes;
            let rate = Link::of(&instance).unwrap();
            if let Some(found) = ChainSearch::new(&chain, rate, memory).run() {
                // Copies on nodes take whole nanoseconds.
                let rounding = 2.0 * instance.len() as f64;
                assert!(outcome.bound as f64 <= found.makespan + rounding);
                compared += 1;
                recomputed += usize::from(found.makespan > chain.base_time());
            }
        }
    }
    assert!(compared >= 6 && recomputed >= 3, "{compared} {recomputed}");
}
