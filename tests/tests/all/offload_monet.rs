//! Plans with copies under MONeT's semantics, and their bound, against all runs on small graphs.

use remat_formulations::AnyFormulation;
use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::interval::{LinkGraph, LinkRow, ProofLimits, prove, root_bound};
use remat_formulations::offload::nodes::Offload;
use remat_instances::{Semantics, simulate};
use remat_search::Settings;
use remat_solver::price::{Incumbents, Pricing, RootSettings, RootStatus};
use remat_tests::graphs::Numbers;
use remat_tests::linked::{LinkedCase, is_beaten};

/// Variable with the number of random graphs; a default number if it is not set.
const GRAPHS_VARIABLE: &str = "REMAT_MONET_TRIP_GRAPHS";
/// Configurations that the judge may meet.
const CONFIGURATIONS: usize = 20_000;

fn graphs(some: u64) -> u64 {
    let asked = std::env::var(GRAPHS_VARIABLE).ok();
    asked.map_or(some, |text| text.parse().unwrap())
}

fn case_of(seed: u64) -> (LinkedCase, CopyPhase) {
    let case = LinkedCase::random_monet(seed, 3 + (seed % 3) as usize / 2);
    let copies = case.copies();
    (case, copies)
}

fn graph_of(case: &LinkedCase, copies: CopyPhase) -> Option<LinkGraph> {
    let instance = &case.instance;
    LinkGraph::with_semantics(instance, Semantics::Monet, copies, case.budget_bytes)
}

/// No run of the machine is faster than a bound, by the relaxation's duals or by others. The
/// relaxation has the bound's value, although its columns and rows are built independently of the
/// walk that prices them.
#[test]
fn no_run_is_faster_than_a_bound() {
    let (mut judged, mut above, mut equal, mut ways) = (0, 0, 0, 0);
    for seed in 0..graphs(80) {
        let (case, copies) = case_of(seed);
        let Some(link) = graph_of(&case, copies) else {
            continue;
        };
        let (settings, none) = (RootSettings::default(), Incumbents::default());
        let root = root_bound(link.clone(), &settings, &none).unwrap();
        if root.status != RootStatus::Converged {
            // No plan fits.
            assert!(
                !is_beaten(&case, None, CONFIGURATIONS).unwrap_or(false),
                "seed {seed}: {:?}",
                root.status
            );
            continue;
        }
        let mut bound = root.safe_bound;
        let lag = root.lp_value - bound as f64;
        assert!(lag < 0.01, "seed {seed}: {} {bound}", root.lp_value);
        let mut numbers = Numbers::new(seed);
        for _ in 0..4 {
            let mut change = || numbers.below(250) as f64 / 100.0;
            let priced = root.proof.iter();
            let priced = priced.map(|(row, y)| (row.clone(), y * change()));
            let (rows, duals): (Vec<LinkRow>, Vec<f64>) = priced.unzip();
            let other = link.lagrangian_bound(&link.no_exclusions(), &rows, &duals);
            bound = bound.max(other);
        }
        let limits = ProofLimits {
            time: None,
            iterations: [20_000, 40_000],
            nodes: 30,
            gap: 0.0,
            prove: false,
        };
        let upper = Some(bound * 2 + 100);
        let proven = prove(link.clone(), bound, upper, &limits, &|| false).unwrap();
        bound = bound.max(proven.bound);
        if let Ok(beaten) = is_beaten(&case, Some(bound), CONFIGURATIONS) {
            assert!(!beaten, "seed {seed}: {bound} {}", root.safe_bound);
            judged += 1;
            // A run that ends with the bound.
            equal += u64::from(is_beaten(&case, Some(bound + 1), CONFIGURATIONS) == Ok(true));
            above += u64::from(bound > link.graph.base_cost());
            ways += link.ways.count();
        }
    }
    println!("{judged} judged, {above} above the costs, {equal} met, {ways} ways");
    assert!(judged > graphs(80) / 3 && above > judged / 3 && equal > judged / 8 && ways > 100);
}

/// Plans replay within the budget and cost at least the bound; often they are equal.
#[test]
fn plans_lie_above_bounds_and_often_meet_them() {
    let (mut found, mut met, mut copied, mut best) = (0, 0, 0, 0);
    for seed in 0..graphs(12) {
        let (case, copies) = case_of(seed);
        let formulation = AnyFormulation::of(&case.instance, Semantics::Monet).unwrap();
        let settings = Settings {
            rounds: 2,
            iterations: 40_000,
            threads: 2,
            nodes: 40,
            ..Settings::default()
        };
        let offload = Offload::new(formulation, case.budget_bytes);
        let answer = offload.phase(copies).settings(settings).run().unwrap();
        let Some(document) = &answer.plan else {
            if answer.outcome.infeasible_because.is_some() {
                let runs = is_beaten(&case, None, CONFIGURATIONS);
                assert!(!runs.unwrap_or(false), "seed {seed}");
            }
            continue;
        };
        let replay = simulate::plan(&case.instance, &document.plan).unwrap();
        assert_eq!(Some(replay.makespan), answer.outcome.cost());
        assert!(replay.peak_bytes <= case.budget_bytes);
        assert!(copies.admits(&case.instance, &replay), "seed {seed}");
        let host = case.link().host_memory_bytes;
        assert!(replay.transfers.host_peak_bytes <= host.unwrap_or(u64::MAX));
        let bound = answer.outcome.bound;
        assert!(bound <= replay.makespan, "seed {seed}");
        if let Ok(beaten) = is_beaten(&case, Some(bound), CONFIGURATIONS) {
            assert!(!beaten, "seed {seed}: {bound} of {}", replay.makespan);
        }
        let faster = is_beaten(&case, Some(replay.makespan), CONFIGURATIONS);
        best += u64::from(faster == Ok(false));
        found += 1;
        met += u64::from(bound == replay.makespan);
        copied += u64::from(!replay.transfers.spans.is_empty());
    }
    println!("{found} plans, {copied} with copies, {met} meet their bounds, {best} are the best");
    assert!(2 * found > graphs(12) && met > found / 6 && copied > 0);
}
