//! Addresses of plans: against the simulator's memory, the independent checker and enumeration.

use super::graphs::{instance, scheduled};
use super::monet::{monet_instance, monet_schedule};
use proptest::prelude::*;
use remat_check::place::offsets;
use remat_instances::instance::{Instance, InstanceData};
use remat_instances::plan::{Plan, PlanDocument, PlanFile, Step};
use remat_instances::simulate::{self, PieceOf, PlanLives};
use remat_instances::{Semantics, zoo};
use remat_memory::place::{PlaceSettings, PlaceStatus, PlacedPlan, place_plan};
use remat_tests::place::least_height;

fn placed(g: &Instance, plan: &Plan, alignment: Option<u64>) -> PlacedPlan {
    let settings = PlaceSettings {
        threads: 1,
        nodes: Some(20_000),
        ..PlaceSettings::default()
    };
    place_plan(g, plan, alignment, None, &settings).unwrap()
}

/// Properties of every placed plan.
fn check(g: &Instance, plan: &Plan, alignment: u64) -> PlacedPlan {
    let placed = placed(g, plan, Some(alignment));
    let lives = PlanLives::of(g, plan).unwrap();
    let buffers = lives.buffers(g, alignment).unwrap();
    let addresses = &placed.addresses;
    let height = offsets(&buffers, &addresses.placement()).unwrap();
    assert_eq!(height, addresses.arena_bytes);
    let replay = simulate::plan(g, plan).unwrap();
    assert_eq!(placed.peak_bytes, replay.peak_bytes);
    assert!(placed.bound_bytes >= placed.load_bytes && placed.load_bytes >= replay.peak_bytes);
    assert!(height >= placed.bound_bytes);
    assert_eq!(
        height == placed.bound_bytes,
        placed.status == PlaceStatus::Optimal
    );
    // The memory of each moment, piece by piece.
    for (moment, point) in replay.timeline.iter().enumerate() {
        let at = moment as u64;
        let live = buffers.buffers().iter().flat_map(|b| b.pieces());
        let live = live.filter(|p| p.lower <= at && at < p.upper);
        assert_eq!(live.map(|p| p.end - p.start).sum::<u64>(), point.bytes);
    }
    placed
}

/// The plan with registers reserved earlier and freed later, by `moves` steps.
fn loosened(plan: &Plan, moves: &[u8]) -> Plan {
    let mut steps = plan.steps.clone();
    let count = steps.len();
    for (k, amount) in moves
        .iter()
        .enumerate()
        .map(|(k, m)| (k % count, *m as usize % 5))
    {
        // A register has one life in these plans.
        match steps[k] {
            Step::Allocate { .. } => steps[k.saturating_sub(amount)..=k].rotate_right(1),
            Step::Deallocate { .. } => steps[k..(k + amount + 1).min(count)].rotate_left(1),
            _ => {}
        }
    }
    Plan {
        steps,
        ..plan.clone()
    }
}

/// Sizes below 4, so that all offsets can be tried.
fn shrunk(g: &Instance) -> Instance {
    let mut nodes = g.nodes().to_vec();
    for node in &mut nodes {
        node.output_bytes %= 4;
        node.fixed_bytes %= 3;
        node.implementations[0].workspace_bytes %= 2;
    }
    instance(nodes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn addresses_of_random_plans_pass_the_checker(
        (g, s) in scheduled(9),
        moves in prop::collection::vec(any::<u8>(), 0..40),
        power in 0..5u32,
    ) {
        let plan = loosened(&Plan::from_checkmate(&g, &s).unwrap(), &moves);
        check(&g, &plan, 1 << power);
    }

    #[test]
    fn small_arenas_are_those_of_enumeration((g, s) in scheduled(5)) {
        let g = shrunk(&g);
        let plan = Plan::from_checkmate(&g, &s).unwrap();
        let found = check(&g, &plan, 1);
        prop_assert_eq!(found.status, PlaceStatus::Optimal);
        let buffers = PlanLives::of(&g, &plan).unwrap().buffers(&g, 1).unwrap();
        prop_assert_eq!(least_height(&buffers, 60), Some(found.addresses.arena_bytes));
    }
}

/// Masks, implementations, in place, growing fixed memory.
#[test]
fn plans_of_monets_program_get_addresses() {
    let g = monet_instance();
    let plan = Plan::from_monet(&g, &monet_schedule()).unwrap();
    let found = check(&g, &plan, 1);
    assert_eq!(found.addresses.arena_bytes, 1262);
    let tensors = found.addresses.pieces.iter();
    let tensors = tensors.filter(|p| matches!(p.of, PieceOf::Tensor(_)));
    // b has a's address, and the gradient of a has no bytes.
    assert_eq!(tensors.count(), 5);
    let model = "vgg16?batch=2&device=p100&implementations=monet";
    let vgg = zoo::build(&model.parse().unwrap()).unwrap();
    let plain = vgg.without_recomputation(Semantics::Monet).unwrap();
    let plan = plain.plan(&vgg).unwrap();
    let found = check(&vgg, &plan, 64);
    assert_eq!(found.status, PlaceStatus::Optimal);
}

#[test]
fn the_zoo_loses_nothing_to_fragmentation() {
    for model in ["resnet50?batch=2", "gpt2?batch=1&layers=4", "unet?batch=1"] {
        let g = zoo::build(&model.parse().unwrap()).unwrap();
        let plain = g.without_recomputation(Semantics::Checkmate).unwrap();
        let plan = plain.plan(&g).unwrap();
        let found = placed(&g, &plan, None);
        assert_eq!(found.addresses.arena_bytes, found.peak_bytes, "{model}");
        assert!(found.addresses.alignment_bytes >= 64, "{model}");
    }
}

/// A plan file of one node, with addresses, and the errors of changed ones.
#[test]
fn broken_addresses_are_refused_with_their_place() {
    use remat_instances::instance::Node;
    let nodes = vec![Node::forward("a", vec![], 10, 4)];
    let g = Instance::new(InstanceData {
        nodes,
        ..instance(vec![Node::forward("b", vec![], 1, 1)])
            .data()
            .clone()
    })
    .unwrap();
    let read = |text: &str| PlanFile::parse("plan.json", text.as_bytes())?.plan(&g);
    let good = r#"{"schema": "remat-plan/1", "instance": "test", "semantics": "checkmate", "objective": 10, "peak_bytes": 4, "steps": [["allocate", 0, "a"], ["compute", "a", 0], ["deallocate", 0]], "addresses_schema": "remat-addresses/1", "alignment_bytes": 4, "arena_bytes": 4, "addresses": [["tensor", 0, 0, 4]]}"#;
    let document: PlanDocument = read(good).unwrap();
    let addresses = document.addresses.clone().unwrap();
    assert!(addresses.replay(&g, &document.plan).is_ok());
    for (from, to, wanted) in [
        (
            "remat-addresses/1",
            "remat-addresses/2",
            "of another version",
        ),
        (
            "\"addresses_schema\": \"remat-addresses/1\", ",
            "",
            "addresses_schema",
        ),
        ("\"alignment_bytes\": 4, ", "", "alignment_bytes"),
        ("\"arena_bytes\": 4, ", "", "arena_bytes"),
        (
            "[\"tensor\", 0, 0, 4]",
            "[\"tensor\", 0, 0]",
            "addresses[0]",
        ),
        (
            "[\"tensor\", 0, 0, 4]",
            "[\"tensir\", 0, 0, 4]",
            "addresses[0]",
        ),
        (
            "[\"tensor\", 0, 0, 4]",
            "[\"tensor\", 0, -4, 4]",
            "addresses[0][2]",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let error = read(&good.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(wanted), "{to}: {error}");
    }
    for (from, to, wanted) in [
        (
            "0, 0, 4]]",
            "0, 0, 5]]",
            "the plan takes tensor of statement 0 (4 bytes)",
        ),
        (
            "0, 0, 4]]",
            "1, 0, 4]]",
            "the plan takes tensor of statement 0",
        ),
        ("[\"tensor\", 0, 0, 4]", "", "is for nothing"),
        ("0, 0, 4]]", "0, 2, 4]]", "give a multiple of 4"),
        (
            "\"arena_bytes\": 4",
            "\"arena_bytes\": 8",
            "records an arena of 8 bytes",
        ),
    ] {
        let document = read(&good.replacen(from, to, 1)).unwrap();
        let replayed = document.addresses.unwrap().replay(&g, &document.plan);
        let error = replayed.unwrap_err().to_string();
        assert!(error.contains(wanted), "{to}: {error}");
    }
}
