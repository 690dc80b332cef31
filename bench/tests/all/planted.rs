//! Planted models that once had wrong answers, or no end.

use remat_bench::planted::{PlantedKind, judge_seeds};
use std::sync::atomic::Ordering;

fn assert_right(kind: PlantedKind, seeds: &[u64]) {
    for &seed in seeds {
        let counts = judge_seeds(kind, seed..seed + 1, 1, false, None).unwrap();
        assert_eq!(counts.wrong.load(Ordering::Relaxed), 0, "{kind:?} {seed}");
    }
}

#[test]
fn long_ways_from_the_root_count_as_work() {
    assert_right(PlantedKind::Mip, &[86, 135, 1059, 1577]);
}

#[test]
fn bounds_of_restricted_programs_at_infinity_leave_nothing() {
    assert_right(PlantedKind::Mip, &[1306]);
}

#[test]
fn a_second_look_has_an_end() {
    assert_right(PlantedKind::General, &[5152]);
}
