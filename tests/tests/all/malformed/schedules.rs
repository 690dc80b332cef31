//! Malformed schedules.

use super::replacements::BENCHMARK;
use remat_instances::schedule::ScheduleFile;
use remat_instances::{Instance, read_bytes};

const SCHEDULE: &str = r#"{"schema": "remat-schedule/1", "instance": "bench", "formulation": "A", "budget_gib": 1.5,
"objective": 16,
"R": {"shape": [2, 4], "cols": [[0, 0], [0, 1], [], [0, 0]]},
"S": {"shape": [3, 4], "cols": [[1, 1], [], [], [1, 1]]},
"IP": {"shape": [2, 4], "cols": [[], [], [], []]},
"M": [[0], [0]],
"RF": [[0, 0, 2]]}"#;

/// The instance of the schedule.
fn benchmark() -> Instance {
    read_bytes("bench", BENCHMARK.as_bytes()).unwrap()
}

#[test]
fn the_base_schedule_is_valid() {
    let file = ScheduleFile::parse("base", SCHEDULE.as_bytes()).unwrap();
    file.schedule(&benchmark()).unwrap();
}

#[test]
fn replaced_values_of_schedules_are_named() {
    let instance = benchmark();
    let table: &[(&str, &str, &[&str])] = &[
        (
            "remat-schedule/1",
            "remat-schedule/9",
            &["schema", "not a schedule", "remat-schedule/1"],
        ),
        ("\"A\"", "\"C\"", &["formulation", "\"C\"", "MONeT"]),
        (
            "\"objective\": 16",
            "\"objective\": \"16\"",
            &["objective", "without quotes"],
        ),
        ("\"objective\": 16,", "", &["`objective` is missing"]),
        (
            "\"objective\"",
            "\"objectives\"",
            &["objectives", "unknown"],
        ),
        ("1.5", "-1.5", &["budget_gib", "out of range"]),
        ("[2, 4]", "[3, 4]", &["R.shape", "[3, 4]", "[2, 4]"]),
        (
            "[3, 4]",
            "[1000000000000, 4]",
            &["S.shape", "1000000000000"],
        ),
        ("[0, 1], []", "[0, 1]", &["R.cols", "as many columns"]),
        ("[0, 1], []", "[0, 1], [0]", &["R.cols[2]", "pairs"]),
        (
            "[0, 1], []",
            "[0, 2], []",
            &["R.cols[1][1]", "no row", "0 to 1"],
        ),
        (
            "[0, 1], []",
            "[1, 0], []",
            &["R.cols[1][0]", "not ascending"],
        ),
        ("[[0], [0]]", "[[0]]", &["M", "2 entries"]),
        (
            "[[0], [0]]",
            "[[0], [0, 1]]",
            &["M[1]", "one implementation"],
        ),
        (
            "[[0], [0]]",
            "[[0], [2]]",
            &["M[1][0]", "no implementation", "0 to 1"],
        ),
        (
            "[0, 0, 2]",
            "[0, 0, 1]",
            &["RF[0][2]", "no such algorithm", "algo0, algo2"],
        ),
        (
            "[0, 0, 2]",
            "[1, 0, 2]",
            &["RF[0]", "does not run in stage 1"],
        ),
        ("[0, 0, 2]", "[0, 1, 2]", &["RF[0][1]", "algorithm choice"]),
        (
            "[[0, 0, 2]]",
            "[]",
            &["RF", "conv#0", "without an algorithm"],
        ),
        (
            "[0, 0, 2]",
            "[0, 0]",
            &["RF[0]", "[stage, slot, algorithm]"],
        ),
    ];
    for (from, to, wanted) in table {
        assert!(SCHEDULE.contains(from));
        let text = SCHEDULE.replacen(from, to, 1);
        let file = ScheduleFile::parse("file.json", text.as_bytes());
        let message = match file.and_then(|file| file.schedule(&instance)) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("read without an error: {to}"),
        };
        for part in *wanted {
            assert!(
                message.contains(part),
                "{to}: {part:?} is not in\n{message}"
            );
        }
    }
}
