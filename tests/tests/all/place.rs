//! Addresses of buffers: against enumeration, published instances and an independent checker.

use remat_check::place::{BoundFault, Evidence, bound, offsets};
use remat_instances::place::{
    Argument, BoundCertificate, Buffer, Gap, Lives, Placement, PlacementError, read_lives,
    read_lives_bytes, read_placement, write_lives, write_placement,
};
use remat_memory::place::{
    PlaceBaseline, PlaceError, PlaceOutcome, PlaceSettings, PlaceStatus, place,
};
use remat_tests::place::{Random, least_height, small_lives};
use remat_tests::{files, shared_data};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Largest least height of the random buffers: fixed ones lie below 30.
const HEIGHT_LIMIT: u64 = 60;

fn settings(threads: usize) -> PlaceSettings {
    PlaceSettings {
        threads,
        ..PlaceSettings::default()
    }
}

/// Checks placement and bound with the checker. Returns the evidence, or `None` if the certificate
/// does not show the search.
fn checked(lives: &Lives, outcome: &PlaceOutcome) -> Option<Evidence> {
    assert_eq!(offsets(lives, &outcome.placement), Ok(outcome.height));
    let text = outcome.certificate.text();
    let certificate = BoundCertificate::parse("certificate", &text).unwrap();
    assert_eq!(certificate, outcome.certificate);
    assert_eq!(certificate.bound, outcome.bound);
    match bound(lives, &certificate) {
        Ok(evidence) => Some(evidence),
        Err(BoundFault::NotShown) => None,
        Err(fault) => panic!("{fault}: {text}"),
    }
}

/// Places small random buffers with all options, and enumerates. `REMAT_PLACE_INSTANCES` sets
/// their number; `bench/results/place.csv` has a longer run.
#[test]
fn small_buffers_are_placed_as_low_as_enumeration_says() {
    let count = std::env::var("REMAT_PLACE_INSTANCES").map_or(320, |text| text.parse().unwrap());
    let (mut above, mut refuted, mut clashing, mut unwritten) = (0, 0, 0, 0);
    for seed in 0..count {
        let lives = small_lives(seed);
        let outcome = match place(&lives, &settings(1)) {
            Ok(outcome) => outcome,
            Err(PlaceError::Fixed(PlacementError::Clash { .. })) => {
                clashing += 1;
                continue;
            }
            Err(e) => panic!("seed {seed}: {e}"),
        };
        let least = least_height(&lives, HEIGHT_LIMIT).expect("fixed buffers do not clash");
        assert_eq!(outcome.status, PlaceStatus::Optimal, "seed {seed}");
        assert_eq!(
            (outcome.height, outcome.bound),
            (least, least),
            "seed {seed}"
        );
        above += u64::from(least > outcome.load);
        match checked(&lives, &outcome) {
            Some(Evidence::Refutation(_)) => refuted += 1,
            Some(_) => {}
            None => {
                assert!(
                    lives.buffers().iter().any(|buffer| buffer.has_windows()),
                    "seed {seed}"
                );
                unwritten += 1;
            }
        }
        // A certificate of a higher bound is refused.
        let mut wrong = outcome.certificate.clone();
        wrong.bound += 1;
        if let Argument::Refuted { height, .. } = &mut wrong.argument {
            *height += 1;
        }
        assert!(bound(&lives, &wrong).is_err(), "seed {seed}");
    }
    println!("{count} instances: {above} above the load, {refuted} refutations checked");
    println!("{unwritten} searches not written down, {clashing} with fixed buffers that clash");
    assert!(above > count / 20 && refuted > count / 40);
}

/// Buffers that tile a rectangle of times and addresses, except for some that end earlier.
fn tiles(random: &mut Random, times: u64, bytes: u64, count: usize) -> Lives {
    let mut tiles = vec![(0, times, bytes)];
    while tiles.len() < count {
        let k = random.below(tiles.len() as u64) as usize;
        let (lower, upper, size) = tiles[k];
        if random.below(2) == 0 && upper - lower > 1 {
            let middle = lower + 1 + random.below(upper - lower - 1);
            tiles[k] = (lower, middle, size);
            tiles.push((middle, upper, size));
        } else if size > 1 {
            let part = 1 + random.below(size - 1);
            tiles[k] = (lower, upper, part);
            tiles.push((lower, upper, size - part));
        }
    }
    for _ in 0..3 {
        let tile = &mut tiles[random.below(count as u64) as usize];
        tile.1 -= u64::from(tile.1 - tile.0 > 1);
    }
    let buffers = tiles.iter().enumerate();
    let buffers =
        buffers.map(|(k, &(lower, upper, size))| Buffer::new(format!("b{k}"), lower, upper, size));
    Lives::new(buffers.collect()).unwrap()
}

/// Compares runs with one and two threads, and with other seeds, on buffers that need a search.
#[test]
fn threads_change_nothing_and_seeds_no_least_height() {
    let mut searched = 0;
    for seed in 0..12 {
        let lives = tiles(&mut Random::new(seed), 40, 60, 100);
        let [mut one, mut two] = [1, 2].map(|threads| place(&lives, &settings(threads)).unwrap());
        (one.seconds, two.seconds) = (0.0, 0.0);
        assert_eq!(one, two);
        assert_eq!(one.status, PlaceStatus::Optimal);
        searched += one.nodes;
        let other = place(
            &lives,
            &PlaceSettings {
                seed: 7,
                ..settings(2)
            },
        )
        .unwrap();
        assert_eq!((other.height, other.bound), (one.height, one.bound));
        checked(&lives, &one);
    }
    assert!(searched > 0);
}

/// Reads the number before `.csv` in a file's name.
fn named(path: &std::path::Path) -> u64 {
    remat_instances::place::capacity_in_name(&path.display().to_string()).expect("a number")
}

#[test]
fn published_lives_are_placed_at_their_load() {
    let Some(folder) = shared_data("place") else {
        return;
    };
    let mut count = 0;
    for path in files(&folder, "csv")
        .into_iter()
        .chain(files(&folder.join("orders"), "csv"))
    {
        let lives = read_lives(&path).unwrap();
        let outcome = place(&lives, &settings(2)).unwrap();
        assert_eq!(outcome.height, lives.load().bytes, "{}", path.display());
        assert_eq!(outcome.status, PlaceStatus::Optimal, "{}", path.display());
        assert_eq!(
            checked(&lives, &outcome),
            Some(Evidence::Load),
            "{}",
            path.display()
        );
        assert!(outcome.height <= named(&path));
        let capacity = lives.capacity();
        let within = place(
            &lives,
            &PlaceSettings {
                capacity,
                ..settings(2)
            },
        )
        .unwrap();
        assert!(matches!(
            within.status,
            PlaceStatus::Fits | PlaceStatus::Optimal
        ));
        assert!(within.placement.replay_within(&lives).is_ok());
        count += 1;
    }
    assert_eq!(count, 21);
}

#[test]
fn synthetic_lives_have_their_known_least_heights() {
    let Some(folder) = shared_data("place/synthetic") else {
        return;
    };
    let paths = files(&folder, "csv");
    assert_eq!(paths.len(), 29);
    for path in paths {
        let lives = read_lives(&path).unwrap();
        let outcome = place(&lives, &settings(1)).unwrap();
        let least = named(&path);
        assert_eq!(
            (outcome.height, outcome.bound),
            (least, least),
            "{}",
            path.display()
        );
        let evidence = checked(&lives, &outcome).expect("written down");
        let is_above = least > lives.load().bytes;
        assert_eq!(
            is_above,
            matches!(evidence, Evidence::Refutation(_)),
            "{}",
            path.display()
        );
        if !is_above {
            continue;
        }
        let capacity = Some(lives.load().bytes);
        let none = place(
            &lives,
            &PlaceSettings {
                capacity,
                ..settings(1)
            },
        )
        .unwrap();
        assert_eq!(none.status, PlaceStatus::Infeasible, "{}", path.display());
        // With all its steps or the last one missing, a refutation proves no bound.
        let Argument::Refuted { height, steps } = &outcome.certificate.argument else {
            panic!("{}: no refutation", path.display());
        };
        for end in [0, 2, steps.len() - 1] {
            let mut cut = outcome.certificate.clone();
            cut.argument = Argument::Refuted {
                height: *height,
                steps: steps[..end].to_vec(),
            };
            assert!(
                matches!(bound(&lives, &cut), Err(BoundFault::Wrong(_))),
                "{end}"
            );
        }
    }
}

#[test]
fn many_buffers_are_swept() {
    let mut random = Random::new(3);
    let buffers = (0..9_000).map(|k| {
        let lower = random.below(9_000);
        let upper = lower + 1 + random.below(2_000);
        let mut buffer = Buffer::new(format!("b{k}"), lower, upper, 64 + random.below(4_000));
        buffer.alignment = if k % 3 == 0 { 64 } else { 1 };
        buffer.offset = (k == 17).then_some(4_096);
        buffer
    });
    let lives = Lives::new(buffers.collect()).unwrap();
    let limited = PlaceSettings {
        nodes: Some(0),
        time_limit: Some(Duration::from_secs(4)),
        ..settings(2)
    };
    let outcome = place(&lives, &limited).unwrap();
    checked(&lives, &outcome);
    assert!(
        outcome.height < outcome.load / 100 * 106,
        "{} {}",
        outcome.height,
        outcome.load
    );
    let interrupt = Some(Arc::new(AtomicBool::new(true)));
    let stopped = place(
        &lives,
        &PlaceSettings {
            interrupt,
            ..settings(1)
        },
    )
    .unwrap();
    assert_eq!(offsets(&lives, &stopped.placement), Ok(stopped.height));
}

#[test]
fn known_ways_place_soundly() {
    for seed in 0..60 {
        let lives = small_lives(seed);
        let Ok(outcome) = place(&lives, &settings(1)) else {
            continue;
        };
        for baseline in PlaceBaseline::ALL {
            let placement = baseline.place(&lives, seed).unwrap();
            let height = offsets(&lives, &placement).unwrap_or_else(|e| {
                panic!("seed {seed}, {}: {e}", baseline.name());
            });
            assert!(height >= outcome.bound, "seed {seed}, {}", baseline.name());
        }
    }
}

#[test]
fn tables_are_read_back_and_faults_are_named() {
    for seed in 0..40 {
        let lives = small_lives(seed);
        let text = write_lives(&lives);
        assert_eq!(
            read_lives_bytes("x.csv", text.as_bytes()).as_ref(),
            Ok(&lives),
            "{text}"
        );
        let placement = Placement::new((0..lives.buffers().len() as u64).collect());
        let text = write_placement(&lives, &placement);
        assert_eq!(
            read_placement("x.csv", text.as_bytes(), &lives),
            Ok(placement)
        );
    }
    let closed = b"size,end,gaps,buffer_id,begin\r\n8,4,2-2@0:3 3-3,\"x, \"\"y\"\"\",0\r\n\r\n";
    let lives = read_lives_bytes("x.12.csv", closed).unwrap();
    let buffer = &lives.buffers()[0];
    assert_eq!((buffer.id.as_str(), buffer.upper), ("x, \"y\"", 5));
    let gaps = [(2, 3, Some((0, 3))), (3, 4, None)];
    let gaps = gaps.map(|(lower, upper, window)| Gap {
        lower,
        upper,
        window,
    });
    assert_eq!(buffer.gaps, gaps);
    assert_eq!(lives.capacity(), Some(12));
    let faults = [
        ("", "1:1: the table has no header"),
        ("id,lower,upper\nx,0,1\n", "the column size is missing"),
        (
            "id,lower,upper,size,colour\n",
            "1:21: the column is unknown, found \"colour\"",
        ),
        ("id,lower,end,upper,size\n", "1:14: the column stands twice"),
        (
            "id,lower,upper,size\nx,0,1\n",
            "2:5: the record has 3 fields, the header 4",
        ),
        (
            "id,lower,upper,size\nx,0,1,2,3\n",
            "2:9: the record has 5 fields",
        ),
        (
            "id,lower,upper,size\nx,0,1.5,2\n",
            "2:5: upper is no number, found \"1.5\"",
        ),
        ("id,lower,upper,size\nx,0,-1,2\n", "2:5: upper is -1"),
        (
            "id,lower,upper,size,gaps\nx,-9,9,2,-10--8\n",
            "\"-10--8\" is no gap",
        ),
        (
            "id,lower,upper,size,gaps\nx,-9,9,2,-5--6\n",
            "gaps is -5--6",
        ),
        ("id,lower,upper,size\nx,3,1,2\n", "2:5: upper is 1"),
        (
            "id,lower,upper,size\nx,0,1,2\nx,0,1,2\n",
            "3:1: id is \"x\"",
        ),
        (
            "id,lower,upper,size\n\"x,0,1,2\n",
            "2:1: a quoted field has no end",
        ),
        (
            "id,lower,upper,size\n\"x\"y,0,1,2\n",
            "2:4: text stands after a quoted field",
        ),
        ("id,lower,upper,size,gaps\nx,0,9,2,3-\n", "\"3-\" is no gap"),
        (
            "id,lower,upper,size,gaps\nx,0,9,2,3-5:1-4\n",
            "gaps is 3-5:1-4",
        ),
        ("id,lower,upper,size,gaps\nx,0,9,2,3-5 4-6\n", "gaps is 4-6"),
        (
            "id,lower,upper,size,alignment,offset\nx,0,9,2,8,12\n",
            "2:11: offset is 12",
        ),
    ];
    for (text, message) in faults {
        let error = read_lives_bytes("x.csv", text.as_bytes())
            .unwrap_err()
            .to_string();
        assert!(error.contains(message), "{text:?}: {error}");
    }
    let utf = read_lives_bytes("x.csv", b"id,\xff")
        .unwrap_err()
        .to_string();
    assert!(utf.contains("x.csv:1:4: the text is not UTF-8"), "{utf}");
}

#[test]
fn times_may_be_negative_and_an_alignment_of_0_is_none() {
    let text = "id,lower,upper,size,alignment,gaps\na,-5,2,4,0,-3--1\n\
                b,-1,9223372036854775807,4,1,\nc,-9223372036854775807,-5,8,0,\n";
    let lives = read_lives_bytes("x.csv", text.as_bytes()).unwrap();
    let outcome = place(&lives, &settings(1)).unwrap();
    assert_eq!((outcome.status, outcome.height), (PlaceStatus::Optimal, 8));
    checked(&lives, &outcome);
    let written = write_placement(&lives, &outcome.placement);
    assert!(written.contains("a,-5,2,4,-3--1,"), "{written}");
    assert!(
        written.contains("b,-1,9223372036854775807,4,,"),
        "{written}"
    );
    let again = read_lives_bytes("x.csv", write_lives(&lives).as_bytes()).unwrap();
    assert_eq!(again, lives);
    let clash = Placement::new(vec![0, 0, 0]).replay(&lives).unwrap_err();
    assert!(clash.to_string().contains("at time -1"), "{clash}");
    // The last moment of a closed life.
    let text = "id,start,end,size\nx,-9223372036854775807,9223372036854775807,3\n";
    let lives = read_lives_bytes("x.csv", text.as_bytes()).unwrap();
    assert_eq!(lives.time(lives.buffers()[0].upper), 1 << 63);
}

#[test]
fn certificates_that_are_no_such_are_refused() {
    let lives = read_lives_bytes("x.csv", b"id,lower,upper,size\nx,0,2,4\ny,1,3,8\n").unwrap();
    let texts = [
        "remat-place-bound/1\nbound 13\nstack 1\n",
        "remat-place-bound/1\nbound 12\nstack 0\n",
        "remat-place-bound/1\nbound 12\nempty\n",
        "remat-place-bound/1\nbound 12\nfixed 0\n",
        "remat-place-bound/1\nbound 12\nfixed 9\n",
        "remat-place-bound/1\nbound 12\nsearched 11\n",
        "remat-place-bound/1\nbound 12\nbuffers 1 0\nstack 1\n",
        "remat-place-bound/1\nbound 12\nbuffers 5\nstack 1\n",
        "remat-place-bound/1\nbound 13\nrefuted 12\nsteps 1 0\n",
        "remat-place-bound/1\nbound 13\nrefuted 12\nsteps 1 18446744073709551615\n",
        "remat-place-bound/1\nbound 18446744073709551615\nrefuted 18446744073709551615\n",
        "remat-place-bound/1\nbound 13\nsum\nstack 1\n",
    ];
    for text in texts {
        let certificate = BoundCertificate::parse("x", text).unwrap();
        assert!(bound(&lives, &certificate).is_err(), "{text}");
    }
    let sum = "remat-place-bound/1\nbound 12\nsum\nbuffers 0 1\nrefuted 9\n";
    let sum = BoundCertificate::parse("x", sum).unwrap();
    assert_eq!(bound(&lives, &sum), Ok(Evidence::Sum));
    for text in [
        "",
        "other\n",
        "remat-place-bound/1\nstack 1\n",
        "remat-place-bound/1\nsteps 1\n",
    ] {
        assert!(BoundCertificate::parse("x", text).is_err(), "{text:?}");
    }
}

#[test]
fn nothing_to_place_and_nowhere_to_place_it() {
    let none = Lives::new(Vec::new()).unwrap();
    let outcome = place(&none, &settings(1)).unwrap();
    assert_eq!((outcome.status, outcome.height), (PlaceStatus::Optimal, 0));
    assert_eq!(checked(&none, &outcome), Some(Evidence::Empty));
    let mut idle = Buffer::new("idle", 3, 3, 9);
    idle.alignment = 4;
    let empty = Lives::new(vec![idle, Buffer::new("zero", 0, 9, 0)]).unwrap();
    let outcome = place(&empty, &settings(1)).unwrap();
    assert_eq!((outcome.status, outcome.height), (PlaceStatus::Optimal, 0));
    let mut low = Buffer::new("low", 0, 2, 4);
    low.offset = Some(0);
    let mut high = Buffer::new("high", 1, 3, 4);
    high.offset = Some(2);
    let clash = place(&Lives::new(vec![low, high]).unwrap(), &settings(1)).unwrap_err();
    assert!(
        clash.to_string().contains("\"low\" and \"high\""),
        "{clash}"
    );
}
