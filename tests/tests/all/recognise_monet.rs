//! MONeT's program recognised without names, in any order and scale, and with further rows.

use remat_formulations::monet::original::{LocalBound, Original};
use remat_formulations::monet::{RecognisedMonet, recognise};
use remat_instances::schedule::MonetSchedule;
use remat_instances::{Instance, simulate};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, RowId, Sense};
use remat_models::{Answered, ModelSettings, solve_model};
use remat_search::recognise::Recognised;
use remat_solver::mip::SolveStatus;
use remat_tests::graphs::Numbers;
use remat_tests::models::{shuffled, violation};
use remat_tests::monet::{Mode, schedule, training};
use remat_tests::monet_optimum;
use std::sync::Arc;

/// The program without names, rows and columns shuffled, rows scaled and negated, costs halved and
/// raised by 3.
fn rewritten(model: &Model, numbers: &mut Numbers) -> Model {
    let mut new = vec![None; model.num_cols()];
    let mut b = ModelBuilder::new(Sense::Minimise);
    b.set_offset(3.0);
    for c in shuffled(model.num_cols(), numbers) {
        let c = ColId(c as u32);
        let id = b.add_col(model.costs()[c.index()] * 0.5, model.col_bounds(c));
        b.set_integer(id, true);
        new[c.index()] = Some(id);
    }
    for r in shuffled(model.num_rows(), numbers) {
        let row = RowId(r as u32);
        let scale = [1.0, -1.0, 2.0, -0.25][numbers.below(4) as usize];
        let bounds = model.row_bounds(row);
        let (lower, upper) = (bounds.lower * scale, bounds.upper * scale);
        let bounds = Bounds::new(lower.min(upper), lower.max(upper));
        let entries = model.row(row);
        let entries: Vec<_> = entries
            .filter_map(|(c, v)| Some((new[c.index()]?, v * scale)))
            .collect();
        b.add_row(bounds, entries);
    }
    b.build().unwrap()
}

fn budget(instance: &Instance, numbers: &mut Numbers) -> u64 {
    let plain = MonetSchedule::checkpoint_all(instance).unwrap();
    let peak = simulate::monet(instance, &plain).unwrap().peak_bytes;
    peak * (70 + numbers.below(30)) / 100
}

/// Checks that schedules of the recognised instance are points of the model, at their cost, exactly
/// if they are points of the instance's own program.
fn check(found: &RecognisedMonet, model: &Model, numbers: &mut Numbers, what: &str) -> usize {
    let mut points = 0;
    for _ in 0..12 {
        let schedule = schedule(&found.instance, numbers);
        let x = found.point(&schedule);
        let local = LocalBound::Plain;
        let own =
            Original::check(&found.instance, &schedule, found.budget_bytes, 1.0, local).unwrap();
        let fits = violation(model, &x) < 1e-6;
        assert_eq!(fits, own.violation < 1e-6, "{what}: {own:?}");
        let objective = model.objective(&x);
        let told = found.objective(own.objective as u64);
        assert!(
            (objective - told).abs() < 1e-6,
            "{what}: {objective} {told}"
        );
        // Stored and computed sets are read back.
        let back = found.schedule(&x).unwrap();
        assert_eq!(back.retained, schedule.retained, "{what}");
        assert_eq!(back.computed, schedule.computed, "{what}");
        points += usize::from(fits);
    }
    points
}

#[test]
fn shuffled_nameless_programs_are_recognised_in_all_modes() {
    let mut numbers = Numbers::new(5);
    let (mut recognised, mut optima, mut points, mut tried) = (0, 0, 0, 0);
    for round in 0..96 {
        let mode = Mode::all().nth(round % 16).unwrap();
        let instance = training(3 + round % 3, mode, &mut numbers);
        let budget = budget(&instance, &mut numbers);
        let unit = [1.0, 4.0, 1024.0][round % 3];
        let program = Original::new(&instance, budget, unit).unwrap();
        let model = rewritten(program.model(), &mut numbers);
        tried += 1;
        let Some(found) = recognise(&model) else {
            continue;
        };
        recognised += 1;
        let what = format!("round {round}, {mode:?}");
        assert_eq!(found.instance.len(), instance.len(), "{what}");
        points += check(&found, &model, &mut numbers, &what);
        if instance.len() <= 8 {
            let best = monet_optimum::optimum(&instance, budget);
            let answer = monet_optimum::optimum(&found.instance, found.budget_bytes);
            let best = best.map(|cost| cost as f64 * 0.5 + 3.0);
            assert_eq!(answer.map(|cost| found.objective(cost)), best, "{what}");
            optima += 1;
        }
    }
    println!("{recognised} of {tried} recognised, {points} points, {optima} optima");
    // If every memory row with a tensor is vacuous, the tensor's columns cannot be told apart.
    assert!(recognised * 10 >= tried * 8, "{recognised} of {tried}");
    assert!(optima > 10 && points > 100, "{optima} {points}");
}

/// A copy with one more row.
fn with_row(model: &Model, bounds: Bounds, entries: &[(ColId, f64)]) -> Model {
    changed(model, |b| {
        b.add_row(bounds, entries.iter().copied());
    })
}

fn changed(model: &Model, change: impl FnOnce(&mut ModelBuilder)) -> Model {
    let mut b = ModelBuilder::new(model.sense());
    b.set_offset(model.offset());
    for c in (0..model.num_cols() as u32).map(ColId) {
        let id = b.add_col(model.costs()[c.index()], model.col_bounds(c));
        b.set_integer(id, model.is_integer(c));
    }
    for row in (0..model.num_rows() as u32).map(RowId) {
        b.add_row(model.row_bounds(row), model.row(row));
    }
    change(&mut b);
    b.build().unwrap()
}

fn solved(model: &Model, settings: &ModelSettings) -> (Option<f64>, bool) {
    let answer = solve_model(&Arc::new(model.clone()), settings, Default::default()).unwrap();
    let Answered::Integer { result, recognised } = answer else {
        panic!("columns are integers");
    };
    assert!(matches!(
        result.status,
        SolveStatus::Optimal | SolveStatus::Infeasible
    ));
    let monet = recognised.is_some_and(|r| r.program == "monet");
    (result.solution.map(|s| s.objective), monet)
}

#[test]
fn further_rows_count() {
    let mut numbers = Numbers::new(12);
    let general = ModelSettings {
        recognise: false,
        ..ModelSettings::default()
    };
    let (mut recognised, mut bound) = (0, 0);
    for round in 0..12 {
        let mode = Mode {
            in_place: false,
            multiway: round % 2 == 0,
            by_products: false,
            algorithms: round % 3 == 0,
        };
        let instance = training(3, mode, &mut numbers);
        let budget = budget(&instance, &mut numbers);
        let program = Original::new(&instance, budget, 1.0).unwrap();
        let model = rewritten(program.model(), &mut numbers);
        let (best, _) = solved(&model, &general);
        let Some(best) = best else { continue };
        // A cutoff at twice the optimum does not change the answer.
        let costs = model.costs().iter().enumerate();
        let costs = costs.filter(|c| *c.1 != 0.0);
        let costs: Vec<_> = costs.map(|(c, v)| (ColId(c as u32), *v)).collect();
        let cutoff = with_row(&model, Bounds::new(f64::NEG_INFINITY, best * 2.0), &costs);
        let (answer, monet) = solved(&cutoff, &ModelSettings::default());
        assert!((answer.unwrap() - best).abs() < 1e-6, "round {round}");
        recognised += usize::from(monet);
        // One of two random columns must be 1: the optimum may rise.
        for _ in 0..3 {
            let pair = [0, 1].map(|_| (ColId(numbers.below(model.num_cols() as u64) as u32), 1.0));
            if pair[0].0 == pair[1].0 {
                continue;
            }
            let more = with_row(&model, Bounds::new(1.0, f64::INFINITY), &pair);
            let (wanted, _) = solved(&more, &general);
            let (answer, _) = solved(&more, &ModelSettings::default());
            assert_eq!(answer.is_some(), wanted.is_some(), "round {round}");
            if let (Some(answer), Some(wanted)) = (answer, wanted) {
                assert!((answer - wanted).abs() < 1e-6, "{answer} {wanted}");
                bound += usize::from(wanted > best + 1e-6);
            }
        }
    }
    println!("{recognised} recognised, {bound} dearer");
    assert!(recognised >= 5 && bound >= 2, "{recognised} {bound}");
}

#[test]
fn programs_without_a_row_are_not_recognised() {
    let mut numbers = Numbers::new(3);
    let mode = Mode {
        in_place: false,
        multiway: true,
        by_products: false,
        algorithms: false,
    };
    let instance = training(4, mode, &mut numbers);
    let budget = budget(&instance, &mut numbers);
    let program = Original::new(&instance, budget, 1.0).unwrap();
    let model = program.model();
    assert!(recognise(model).is_some());
    let (mut refused, mut idle) = (0, 0);
    for row in (0..model.num_rows() as u32).map(RowId) {
        let without = changed(model, |b| b.set_row_bounds(row, Bounds::FREE));
        match recognise(&without) {
            None => refused += 1,
            // The row is vacuous, or another row implies it.
            Some(_) => idle += 1,
        }
    }
    println!("{refused} refused, {idle} idle");
    assert!(refused > 50, "{refused} {idle}");
}

/// Changes one thing of a model at random: a coefficient, a side, a bound, a cost, or an entry.
fn disturbed(model: &Model, numbers: &mut Numbers) -> Model {
    changed(model, |b| {
        for _ in 0..1 + numbers.below(3) {
            let row = RowId(numbers.below(model.num_rows() as u64) as u32);
            let column = ColId(numbers.below(model.num_cols() as u64) as u32);
            let value = numbers.below(9) as f64 - 4.0;
            match numbers.below(5) {
                0 => b.set_row_bounds(row, Bounds::new(f64::NEG_INFINITY, value)),
                1 => b.set_col_bounds(column, Bounds::from(f64::from(value > 0.0))),
                2 => b.set_cost(column, value),
                3 => {
                    b.add_row(Bounds::new(value, f64::INFINITY), [(column, 1.0)]);
                }
                _ => {
                    let other = ColId(numbers.below(model.num_cols() as u64) as u32);
                    let entries = [(column, 1.0), (other, -1.0)];
                    if column != other {
                        b.add_row(Bounds::from(0.0), entries);
                    }
                }
            }
        }
    })
}

#[test]
fn what_is_recognised_after_changes_has_the_optimum_of_the_model() {
    let mut numbers = Numbers::new(21);
    let general = ModelSettings {
        recognise: false,
        ..ModelSettings::default()
    };
    let (mut recognised, mut tried) = (0, 0);
    for round in 0..200 {
        let mode = Mode::all().nth(round % 16).unwrap();
        let instance = training(3, mode, &mut numbers);
        let budget = budget(&instance, &mut numbers);
        let program = Original::new(&instance, budget, 1.0).unwrap();
        let model = rewritten(program.model(), &mut numbers);
        let model = disturbed(&model, &mut numbers);
        tried += 1;
        if recognise(&model).is_none() || round % 4 > 0 {
            continue;
        }
        recognised += 1;
        let (wanted, _) = solved(&model, &general);
        let (answer, _) = solved(&model, &ModelSettings::default());
        assert_eq!(answer.is_some(), wanted.is_some(), "round {round}");
        if let (Some(answer), Some(wanted)) = (answer, wanted) {
            assert!(
                (answer - wanted).abs() < 1e-5,
                "round {round}: {answer} {wanted}"
            );
        }
    }
    println!("{recognised} of {tried} recognised");
    assert!(recognised >= 5, "{recognised}");
}
