//! No schedule below a target uses an excluded column.

use remat_formulations::checkmate::graph::CheckmateGraph;
use remat_formulations::checkmate::interval::{Interval, root_bound};
use remat_formulations::monet::interval as monet;
use remat_instances::schedule::{Schedule, ScheduleFile};
use remat_instances::{Semantics, simulate};
use remat_search::Settings;
use remat_solver::price::{Incumbents, Pricing, Program, RootSettings};
use remat_tests::graphs::{Numbers, general, random_schedule, training};
use remat_tests::monet::{Mode, schedule as random_monet, training as monet_training};
use remat_tests::{files, shared_data, whole};

/// Exclusions below `target` by some duals and noisy copies of them, one after the other.
fn excluded<P: Program>(
    program: &P,
    proof: &[(P::Row, f64)],
    target: u64,
    noise: &[f64],
    numbers: &mut Numbers,
) -> P::Exclusions {
    let mut exclusions = program.no_exclusions();
    let rows: Vec<P::Row> = proof.iter().map(|p| p.0.clone()).collect();
    for noise in noise {
        let duals: Vec<f64> = proof
            .iter()
            .map(|p| p.1 * (1.0 + noise * (numbers.below(200) as f64 / 100.0 - 1.0)))
            .collect();
        program.exclude(&mut exclusions, &rows, &duals, target);
    }
    exclusions
}

/// Settings that find a good schedule without a tree.
fn quick() -> Settings {
    Settings {
        threads: 1,
        rounds: 1,
        nodes: 0,
        ..Settings::default()
    }
}

#[test]
fn random_schedules_of_checkmate_stay_permitted_below_their_cost() {
    let numbers = &mut Numbers::new(41);
    let (mut fitting, mut excluding) = (0, 0);
    for round in 0..400 {
        let instance = match round % 2 {
            0 => general(4 + round % 5, numbers),
            _ => training(2 + round % 3, numbers),
        };
        let mut schedules: Vec<_> = (0..12)
            .map(|_| random_schedule(&instance, numbers))
            .map(|s| (simulate::checkmate(&instance, &s).unwrap(), s))
            .collect();
        schedules.sort_by_key(|s| s.0.peak_bytes);
        let budget = schedules[3 + round % 6].0.peak_bytes;
        let Ok(graph) = CheckmateGraph::new(&instance, budget) else {
            continue;
        };
        let root = root_bound(&instance, budget, &RootSettings::default()).unwrap();
        let (rows, duals): (Vec<_>, Vec<f64>) = root.proof.iter().cloned().unzip();
        let fits = schedules.iter().filter(|s| s.0.peak_bytes <= budget);
        let best = whole::checkmate(&instance, budget, &[], &quick()).unwrap();
        for schedule in fits.map(|s| &s.1).chain(&best.schedule) {
            let intervals = Interval::of_schedule(&graph, schedule);
            let again = intervals.iter().filter(|c| c.is_recomputed());
            let cost = graph.base_cost()
                + again
                    .map(|c| graph.cost_again[c.node as usize])
                    .sum::<u64>();
            let noise = [0.0, 0.1, 0.5];
            let exclusions = excluded(&graph, &root.proof, cost + 1, &noise, numbers);
            for c in &intervals {
                assert!(graph.is_permitted(c, &exclusions), "round {round}: {c:?}");
            }
            // The bound over permitted columns holds for the schedule, and is at least as high as
            // before.
            let bound = graph.lagrangian_bound(&exclusions, &rows, &duals);
            assert!(bound <= cost, "round {round}");
            assert!(bound >= root.safe_bound, "round {round}");
            fitting += 1;
            excluding += usize::from(exclusions.excluded() > 0);
        }
    }
    println!("{fitting} schedules, {excluding} with exclusions");
    assert!(fitting > 1_000 && excluding > 500);
}

#[test]
fn random_schedules_of_monet_stay_permitted_below_their_cost() {
    let (mut fitting, mut excluding) = (0, 0);
    for round in 0..160 {
        let numbers = &mut Numbers::new(7000 + round);
        let mode = Mode::all().nth(round as usize % 16).unwrap();
        let instance = monet_training(3 + round as usize % 2, mode, numbers);
        let mut schedules: Vec<_> = (0..12)
            .map(|_| random_monet(&instance, numbers))
            .map(|s| (simulate::monet(&instance, &s).unwrap(), s))
            .collect();
        schedules.sort_by_key(|s| s.0.peak_bytes);
        let budget = schedules[3 + round as usize % 6].0.peak_bytes;
        let graph = monet::MonetGraph::new(&instance, budget).unwrap();
        let root = monet::root_bound(
            &instance,
            budget,
            &RootSettings::default(),
            &Incumbents::default(),
        )
        .unwrap();
        let fits = schedules.iter().filter(|s| s.0.peak_bytes <= budget);
        let best = whole::monet(&instance, budget, &[], &quick()).unwrap();
        for schedule in fits.map(|s| &s.1).chain(&best.schedule) {
            let intervals = monet::Interval::of_schedule(&graph, schedule);
            let starts: u64 = intervals.iter().map(|c| c.way(&graph).cost).sum();
            let chosen = schedule.backward_choice.iter().enumerate().skip(1);
            let chosen: Vec<_> = chosen.map(|(t, &w)| (t, graph.choice_of(t, w))).collect();
            let backward: u64 = chosen.iter().map(|&(t, w)| graph.choices[t][w].cost).sum();
            let cost = starts + backward;
            let exclusions = excluded(&graph, &root.proof, cost + 1, &[0.0, 0.1, 0.5], numbers);
            for c in &intervals {
                assert!(graph.is_permitted(c, &exclusions), "round {round}: {c:?}");
            }
            for (t, way) in chosen {
                assert!(exclusions.may_choose(t, way), "round {round}: stage {t}");
            }
            fitting += 1;
            excluding += usize::from(exclusions.excluded() > 0);
        }
    }
    println!("{fitting} schedules, {excluding} with exclusions");
    assert!(fitting > 500 && excluding > 150);
}

#[test]
fn published_schedules_stay_permitted_below_their_cost() {
    let Some(folder) = shared_data("zoo") else {
        return;
    };
    let numbers = &mut Numbers::new(5);
    let (mut count, mut excluding) = (0, 0);
    for path in files(&folder.join("solutions"), "json") {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // Instances whose roots take seconds.
        let small = name.starts_with("vgg") || (name.starts_with("unet") && !name.ends_with("_5"));
        let file = ScheduleFile::open(&path).unwrap();
        if file.semantics() != Semantics::Checkmate || !small {
            continue;
        }
        let graph = format!("graphs/{}.json", file.instance());
        let instance = remat_instances::read(folder.join(graph))
            .unwrap()
            .single_implementation_view();
        let Schedule::Checkmate(published) = file.schedule(&instance).unwrap().schedule else {
            panic!("{name}");
        };
        let replay = simulate::checkmate(&instance, &published).unwrap();
        let graph = CheckmateGraph::new(&instance, replay.peak_bytes).unwrap();
        let settings = RootSettings {
            cut_rounds: 3,
            ..RootSettings::default()
        };
        let root = root_bound(&instance, replay.peak_bytes, &settings).unwrap();
        let exclusions = excluded(
            &graph,
            &root.proof,
            replay.cost + 1,
            &[0.0, 0.01, 0.1],
            numbers,
        );
        for c in Interval::of_schedule(&graph, &published) {
            assert!(graph.is_permitted(&c, &exclusions), "{name}: {c:?}");
        }
        count += 1;
        excluding += exclusions.excluded();
    }
    println!("{count} published schedules, {excluding} exclusions");
    assert!(count > 2 && excluding > 1_000);
}
