//! Interleaved schedules: several stages on a device.

use crate::case::choices;
use crate::draw::{Draw, training};
use crate::exact;
use remat_formulations::Budget;
use remat_instances::pipeline::arrangement::Arrangement;
use remat_instances::pipeline::schedule::{Schedule, ScheduleKind};
use remat_instances::pipeline::split::Split;
use remat_instances::pipeline::timeline::{SendTimes, formula};
use remat_pipeline::{Devices, Pipeline, PipelineSolution};

/// Pipelines of two stages on each of two devices, with budgets that are shares.
fn solved(split: &Split<'_>, schedule: Schedule, percent: f64) -> Option<PipelineSolution> {
    let devices = Devices::equal(2, Budget::Percent(percent));
    let pipeline = Pipeline::new(split, schedule, &devices).ok()?;
    Some(pipeline.solve(&exact(), &()).expect("an answer"))
}

/// Least objective of all cuts without recomputation.
fn optimum(split: &Split<'_>, schedule: Schedule) -> Option<u64> {
    let devices = Devices::equal(2, Budget::Percent(100.0));
    let pipeline = Pipeline::new(split, schedule, &devices).ok()?;
    let positions: Vec<usize> = pipeline.positions().iter().map(|p| *p as usize).collect();
    let sends = [SendTimes::default(); 3];
    let objective = |cuts: &Vec<usize>| {
        let cuts = cuts.iter().map(|cut| *cut as u32).collect();
        let arrangement = Arrangement::new(split, schedule, cuts);
        let times = (0..4).map(|stage| {
            let graph = arrangement.instance(stage, false).expect("a stage");
            graph.base_cost()
        });
        formula(&schedule, &times.collect::<Vec<u64>>(), &sends)
    };
    choices(&positions, 3).iter().map(objective).min()
}

#[test]
fn bounds_hold_and_devices_keep_their_budgets() {
    let (mut loose, mut equal, mut tight) = (0, 0, 0);
    for seed in 6_000..6_080 {
        let draw = &mut Draw::new(seed);
        let instance = training(draw, 7);
        let Ok(split) = Split::of(&instance) else {
            continue;
        };
        let count = 2 + 2 * draw.below(3) as u32;
        let schedule = Schedule::new(ScheduleKind::Interleaved(2), 2, count).expect("a schedule");
        let Some(best) = optimum(&split, schedule) else {
            continue;
        };
        let plenty = solved(&split, schedule, 1000.0).expect("enough positions");
        let objective = plenty.objective().expect("a pipeline");
        assert!(plenty.bound <= best && best <= objective, "seed {seed}");
        loose += 1;
        equal += usize::from(objective == best);
        let little = solved(&split, schedule, 80.0).expect("enough positions");
        if let Some(found) = &little.best {
            assert!(little.bound <= found.replay.objective && best <= found.replay.objective);
            let pairs = little.devices.iter().zip(&found.replay.peaks);
            assert!(
                pairs
                    .into_iter()
                    .all(|(device, peak)| *peak <= device.budget_bytes)
            );
            tight += 1;
        }
    }
    println!("{equal} of {loose} best without recomputation, {tight} in little memory");
    assert!(loose >= 30 && 4 * equal >= 3 * loose && tight >= 10);
}
