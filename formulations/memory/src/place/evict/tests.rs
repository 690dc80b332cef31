use super::super::search::LaneStop;
use super::*;
use remat_instances::place::{Buffer, Gap, Lives, Placement};
use remat_search::random::SplitMix64;

/// Random lives with gaps, alignments and fixed offsets.
fn lives(seed: u64, count: u64, has_options: bool) -> Lives {
    let mut random = SplitMix64(seed);
    let mut below = |limit: u64| random.next() % limit;
    let buffers = (0..count).map(|k| {
        let (lower, length) = (below(count), 3 + below(count / 4));
        let size = 1 + below(50);
        let mut buffer = Buffer::new(k.to_string(), lower, lower + length, size);
        if has_options && below(3) == 0 {
            buffer.gaps = vec![Gap {
                lower: lower + 1,
                upper: lower + 2,
                window: None,
            }];
        }
        if has_options {
            buffer.alignment = [1, 2, 4, 6][below(4) as usize];
            buffer.offset = (k == 0).then_some(24);
        }
        buffer
    });
    Lives::new(buffers.collect()).unwrap()
}

/// Every round of every lane keeps the placement valid, and its height is the replayed one.
#[test]
fn evictions_lower_placements_and_keep_them_valid() {
    let mut lowered = 0;
    for seed in 0..40 {
        let lives = lives(seed, 60, seed % 2 == 1);
        let all: Vec<u32> = (0..60).collect();
        let problem = PlaceProblem::new(&lives, &all);
        let offsets =
            super::super::forest::first_fit(&problem, 0..60, u64::MAX, &LaneStop::default())
                .unwrap();
        let start = Packing::new(&problem, offsets);
        let mut evictions = Evictions::new(&problem, start.clone(), seed);
        let load = lives.load().bytes;
        for _ in 0..2 {
            evictions.round(load, &LaneStop::default());
            let best = evictions.best();
            let offsets = best.offsets.iter().map(|offset| offset * problem.unit);
            let replayed = Placement::new(offsets.collect()).replay(&lives).unwrap();
            assert_eq!(replayed.height, best.height, "seed {seed}");
            assert!(best.height <= start.height, "seed {seed}");
        }
        lowered += u64::from(evictions.best().height < start.height);
    }
    assert!(lowered > 30, "{lowered}");
}
