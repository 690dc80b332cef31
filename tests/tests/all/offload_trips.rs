//! The interval form with copies, against the optimum of small graphs.

use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::interval::{LinkGraph, LinkRow, ProofLimits, prove, root_bound};
use remat_instances::instance::HostLink;
use remat_solver::price::{Incumbents, Pricing, RootSettings, RootStatus};
use remat_tests::graphs::Numbers;
use remat_tests::linked::LinkedCase;

/// Variable with the number of random graphs; a default number if it is not set.
const GRAPHS_VARIABLE: &str = "REMAT_TRIP_GRAPHS";

fn graphs() -> u64 {
    let asked = std::env::var(GRAPHS_VARIABLE).ok();
    asked.map_or(1200, |text| text.parse().unwrap())
}

/// A random graph with all options, and the time of its copies.
fn case_of(seed: u64) -> (LinkedCase, CopyPhase) {
    let case = LinkedCase {
        recompute: true,
        ..LinkedCase::random(seed, 8)
    };
    let copies = case.copies();
    (case, copies)
}

/// No bound is above the optimum, by the relaxation's duals or by others. The relaxation has the
/// bound's value, although its columns and rows are built independently of the walk that prices
/// them.
#[test]
fn no_bound_is_above_the_optimum() {
    let (mut judged, mut equal, mut above_base, mut windows) = (0, 0, 0, 0);
    for seed in 0..graphs() {
        let (case, copies) = case_of(seed);
        let Some(best) = case.optimum() else {
            continue;
        };
        let link = LinkGraph::new(&case.instance, copies, case.budget_bytes);
        let link = link.unwrap();
        let root = root_bound(
            link.clone(),
            &RootSettings::default(),
            &Incumbents::default(),
        );
        let root = root.unwrap();
        assert_eq!(
            root.status,
            RootStatus::Converged,
            "seed {seed}: {} {} {best}",
            root.lp_value,
            root.safe_bound
        );
        let bound = root.safe_bound;
        assert!(bound <= best, "seed {seed}: {bound} {best}");
        let lag = root.lp_value - bound as f64;
        assert!(lag < 0.01, "seed {seed}: {} {bound}", root.lp_value);
        judged += 1;
        equal += u64::from(bound == best);
        above_base += u64::from(bound > case.instance.base_cost());
        let mut numbers = Numbers::new(seed);
        for _ in 0..4 {
            let mut change = || numbers.below(250) as f64 / 100.0;
            let priced = root
                .proof
                .iter()
                .map(|(row, y)| (row.clone(), y * change()));
            let (rows, duals): (Vec<LinkRow>, Vec<f64>) = priced.unzip();
            let bound = link.lagrangian_bound(&link.no_exclusions(), &rows, &duals);
            assert!(bound <= best, "seed {seed}: {bound} {best}");
        }
        let is_window = |row: &LinkRow| matches!(row, LinkRow::Window { .. });
        windows += root.proof.iter().filter(|(row, _)| is_window(row)).count();
    }
    println!("{judged} graphs: {equal} bounds are the optimum, {above_base} above the costs");
    assert!(
        judged > graphs() / 2 && equal > judged / 4 && above_base > judged / 10 && windows > 20
    );
}

#[test]
fn trees_close_the_gap_of_the_root_and_no_more() {
    let (mut closed, mut better) = (0, 0);
    for seed in 0..graphs() / 2 {
        let (case, copies) = case_of(seed);
        let Some(best) = case.optimum() else {
            continue;
        };
        let link = LinkGraph::new(&case.instance, copies, case.budget_bytes);
        let limits = ProofLimits {
            time: None,
            iterations: [20_000, 40_000],
            nodes: 60,
            gap: 0.0,
            prove: false,
        };
        let known = case.instance.base_cost();
        let proven = prove(link.unwrap(), known, Some(best), &limits, &|| false);
        let proven = proven.unwrap();
        assert!(
            proven.root_bound <= proven.bound && proven.bound <= best,
            "seed {seed}"
        );
        closed += u64::from(proven.bound == best);
        better += u64::from(proven.bound > proven.root_bound);
        if let Some(point) = &proven.point {
            assert!(point.trips.iter().all(|(_, x)| *x > 0.0));
        }
    }
    println!("{closed} closed, {better} bounds above the root's");
    assert!(closed > graphs() / 8 && better > graphs() / 40);
}

/// Without bandwidth the form has no copies, and its bound holds.
#[test]
fn without_bandwidth_nothing_leaves() {
    for seed in 0..graphs() / 4 {
        let (case, _) = case_of(seed);
        let case = LinkedCase {
            by_loss: false,
            ..case.with_link(HostLink::new(0, 0))
        };
        let link = LinkGraph::new(&case.instance, CopyPhase::Any, case.budget_bytes);
        let Some(link) = link else { continue };
        assert!(link.copies.iter().all(Option::is_none));
        let root = root_bound(link, &RootSettings::default(), &Incumbents::default()).unwrap();
        if let Some(best) = case.optimum() {
            assert!(root.safe_bound <= best, "seed {seed}");
            assert!(root.point.trips.iter().all(|(trip, _)| trip.leaves() == 0));
        }
    }
}
