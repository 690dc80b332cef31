//! Small programs in several units have the same answers, with similar work.

use remat_bench::metamorphic::shop::{Placeholders, job_shop};
use remat_bench::metamorphic::variant::{self, Variant};
use remat_bench::metamorphic::{Comparison, MetamorphicRun, SAME_WORK, compare, solve};
use remat_check::vipr::{check::check, model::MpsModel, parse::parse};
use remat_lp::{Bounds, Model, ModelBuilder, Sense};
use remat_solver::mip::{Control, Limits, Settings, SolveStatus, Solver};
use std::sync::Arc;

/// Placeholders close to the makespan of the shops below.
const CLOSE: Placeholders = Placeholders {
    big: 100.0,
    latest: 100.0,
};

/// Ticks of all programs together that do not count as work.
const SPARE_TICKS: u64 = 20_000_000;

fn solved(model: Model) -> MetamorphicRun {
    let limits = Limits {
        ticks: Some(2_000_000_000),
        ..Limits::default()
    };
    solve(&Arc::new(model), limits, 0).unwrap()
}

/// Lot sizing: production with a set-up cost, and stock without a bound.
fn lot_sizing(seed: u64) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut stock = None;
    let number = |k: u64, most: u64| ((seed * 7919 + k) * 104_729 % 9973 % most) as f64;
    for period in 0..14 {
        let made = b.add_col(1.0 + number(period, 5) / 4.0, 0.0..);
        let is_set_up = b.add_col(20.0 + number(period + 50, 40), 0.0..=1.0);
        b.set_integer(is_set_up, true);
        let left = b.add_col(0.5, 0.0..);
        b.add_row(..=0.0, [(made, 1.0), (is_set_up, -60.0)]);
        let demand = 5.0 + number(period + 100, 20);
        let mut balance = vec![(made, 1.0), (left, -1.0)];
        balance.extend(stock.map(|s| (s, 1.0)));
        b.add_row(demand..=demand, balance);
        stock = Some(left);
    }
    b.build().unwrap()
}

/// A knapsack with several rows, which is maximised.
fn knapsack(seed: u64) -> Model {
    let mut b = ModelBuilder::new(Sense::Maximise);
    b.set_offset(3.5);
    let number = |k: u64, most: u64| ((seed * 6151 + k) * 49_157 % 10_007 % most) as f64;
    let items: Vec<_> = (0..24)
        .map(|k| {
            let item = b.add_col(10.0 + number(k, 40) / 4.0, 0.0..=1.0);
            b.set_integer(item, true);
            item
        })
        .collect();
    for row in 0..3 {
        let weights = (0..).map(|k| 5.0 + number(100 * (row + 1) + k, 30));
        let entries = items.iter().copied().zip(weights);
        b.add_row(Bounds::new(f64::NEG_INFINITY, 160.0), entries);
    }
    b.build().unwrap()
}

fn small_models() -> Vec<Model> {
    let shops = (0..3).map(|seed| job_shop(4, 3, seed, CLOSE));
    let lots = (0..4).map(lot_sizing);
    shops.chain(lots).chain((0..4).map(knapsack)).collect()
}

#[test]
fn units_change_neither_answers_nor_work() {
    let models = small_models();
    let plain: Vec<_> = models.iter().map(|m| solved(m.clone())).collect();
    let work: u64 = plain.iter().map(|run| run.ticks).sum();
    for variant in variant::all() {
        // Programs that the variant does not change count with their own work.
        let mut other_work = 0;
        for (k, (model, plain)) in models.iter().zip(&plain).enumerate() {
            assert_eq!(plain.status, SolveStatus::Optimal);
            let best = plain.best.as_ref().map(|b| b.0.as_slice());
            let Some(other) = variant.of(model, best) else {
                other_work += plain.ticks;
                continue;
            };
            let run = solved(other);
            let verdict = compare(plain, &run, variant.factor());
            assert_ne!(
                verdict,
                Comparison::Wrong,
                "{k} {variant}: {plain:?} {run:?}"
            );
            other_work += run.ticks;
        }
        let most = SAME_WORK * work as f64 + SPARE_TICKS as f64;
        assert!(
            other_work as f64 <= most,
            "{variant}: {other_work} against {work} ticks"
        );
    }
}

#[test]
fn placeholders_of_job_shops_do_not_matter() {
    let shops = 0..6;
    let work_with = |numbers: Placeholders| -> (Vec<f64>, u64) {
        let runs: Vec<_> = (shops.clone())
            .map(|seed| solved(job_shop(4, 4, seed, numbers)))
            .collect();
        let best = runs.iter().map(|r| r.best.as_ref().unwrap().1.round());
        (best.collect(), runs.iter().map(|r| r.ticks).sum())
    };
    let (best, work) = work_with(CLOSE);
    for factor in [10.0f64, 1e3, 1e4] {
        for big in [1.0, factor.min(1e3)] {
            let numbers = Placeholders {
                big: big * CLOSE.big,
                latest: factor * CLOSE.latest,
            };
            let (same, other_work) = work_with(numbers);
            assert_eq!(best, same, "{numbers:?}");
            let most = SAME_WORK * work as f64 + SPARE_TICKS as f64;
            assert!(
                other_work as f64 <= most,
                "{numbers:?}: {other_work} against {work} ticks"
            );
        }
    }
}

#[test]
fn proofs_hold_in_every_unit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.vipr");
    for (model, factor) in [
        (knapsack(1), 1e-6),
        (knapsack(2), 1e6),
        (lot_sizing(1), 1e-6),
    ] {
        let model = Variant::Objective(factor).of(&model, None).unwrap();
        let control = Control {
            certificate: Some(path.clone()),
            ..Control::default()
        };
        let solver = Solver::new(model.clone(), Settings::default()).with_control(control);
        let result = solver.run().unwrap();
        assert_eq!(result.status, SolveStatus::Optimal);
        assert_eq!(result.certificate_problem, None, "{factor:e}");
        let certificate = parse(&std::fs::read_to_string(&path).unwrap()).unwrap();
        check(&certificate).unwrap();
        let stated = MpsModel::parse(&remat_lp::mps::to_string(&model)).unwrap();
        assert_eq!(stated.compare(&certificate), Ok(()));
    }
}
