//! The step without recomputation, which percentages are relative to.

use remat_instances::plain::Plain;
use remat_instances::schedule::{MonetSchedule, Schedule};
use remat_instances::{Instance, Semantics, simulate};
use remat_tests::graphs::Numbers;
use remat_tests::monet::{Mode, training};
use remat_tests::{files, monet_optimum, shared_data};

/// Cost of the step, which replays at that cost, as a schedule and as a plan, without a
/// recomputation.
fn cost(instance: &Instance, semantics: Semantics) -> u64 {
    let plain = Plain::of(instance, semantics);
    let schedule = plain.schedule().unwrap();
    assert_eq!(schedule.recomputations(), 0);
    let replay = schedule.replay(instance).unwrap();
    assert_eq!(
        (replay.cost, replay.base_cost),
        (plain.cost(), plain.cost())
    );
    assert_eq!(replay.overhead_percent(), 0.0);
    let plan = schedule.plan(instance).unwrap();
    let replay = simulate::plan(instance, &plan).unwrap();
    assert_eq!(
        (replay.cost, replay.base_cost),
        (plain.cost(), plain.cost())
    );
    plain.cost()
}

#[test]
fn it_costs_no_more_than_first_implementations_and_about_what_the_best_schedule_costs() {
    let mut numbers = Numbers::new(5);
    let (mut best, mut cheaper) = (0, 0);
    for _ in 0..200 {
        let columns = 3 + numbers.below(3) as usize;
        let instance = monet_optimum::random(columns, 1 + numbers.below(3) as usize, &mut numbers);
        let cost = cost(&instance, Semantics::Monet);
        let first = MonetSchedule::checkpoint_all(&instance).unwrap();
        let first = Schedule::Monet(first).replay(&instance).unwrap();
        assert!(cost <= first.cost);
        cheaper += usize::from(cost < first.cost);
        // Recomputation pays only if it makes a node cheaper in place, which is rare.
        let optimum = monet_optimum::optimum(&instance, u64::MAX >> 8).unwrap();
        assert!(optimum <= cost);
        best += usize::from(optimum == cost);
    }
    assert!(cheaper > 100 && best > 100, "{cheaper} {best}");
}

#[test]
fn it_replays_under_both_programs_whatever_the_choices() {
    let mut numbers = Numbers::new(6);
    for mode in Mode::all() {
        for _ in 0..10 {
            let instance = training(2 + numbers.below(6) as usize, mode, &mut numbers);
            cost(&instance, Semantics::Monet);
            let view = instance.seen_by(Semantics::Checkmate);
            assert_eq!(cost(&view, Semantics::Checkmate), view.base_cost());
        }
    }
}

/// On published instances its cost is about the least cost of any schedule: every node except masks
/// once, by its cheapest implementation.
#[test]
fn published_instances_cost_their_cheapest_ways() {
    let Some(folder) = shared_data("zoo/graphs") else {
        return;
    };
    for path in files(&folder, "json") {
        let instance = remat_instances::read(&path).unwrap();
        let plain = cost(&instance, Semantics::Monet);
        let proper = instance.nodes().iter().filter(|v| v.parent().is_none());
        let least = proper.map(|v| {
            let cheapest = v.implementations.iter().map(|way| way.cost).min();
            let saved = v.in_place.as_ref().map_or(0, |option| option.cost_delta);
            cheapest.unwrap().saturating_add_signed(saved.min(0))
        });
        let least: u64 = least.sum();
        println!("{}: {plain} and {least}", instance.name());
        assert!(plain >= least && plain - least <= least / 100);
    }
}
