//! Files of `show` for viewers: trace events and CSV. Snapshots are read by the tests in Python.

use crate::common::{object, run_to, text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A lane: process and thread.
type Track = (u64, u64);

/// A trace, read and checked.
struct Trace {
    /// Slices of each lane: begin, end and the event. Times are nanoseconds.
    slices: BTreeMap<Track, Vec<(u64, u64, Value)>>,
    /// Names of the lanes.
    lanes: BTreeMap<Track, String>,
    /// Levels of each counter of each process.
    counters: BTreeMap<(u64, String), Vec<(u64, u64)>>,
    /// Begin and end of each arrow: lane and time.
    arrows: Vec<[(Track, u64); 2]>,
    facts: Value,
}

fn nanoseconds(event: &Value, field: &str) -> u64 {
    (event[field].as_f64().unwrap() * 1000.0).round() as u64
}

impl Trace {
    /// Reads a trace. Slices and levels are in order of time, slices of a lane are apart or nested,
    /// and both ends of every arrow are at slices.
    fn read(path: &Path) -> Self {
        let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut trace = Trace {
            slices: BTreeMap::new(),
            lanes: BTreeMap::new(),
            counters: BTreeMap::new(),
            arrows: Vec::new(),
            facts: file["otherData"].clone(),
        };
        let mut ends: BTreeMap<u64, [Vec<(Track, u64)>; 2]> = BTreeMap::new();
        for event in file["traceEvents"].as_array().unwrap() {
            let process = event["pid"].as_u64().unwrap();
            let track = (process, event["tid"].as_u64().unwrap_or(0));
            let name = event["name"].as_str().unwrap().to_owned();
            match event["ph"].as_str().unwrap() {
                "M" if name == "thread_name" => {
                    let name = event["args"]["name"].as_str().unwrap();
                    trace.lanes.insert(track, name.into());
                }
                "M" | "i" => {}
                "X" => {
                    let begin = nanoseconds(event, "ts");
                    let end = begin + nanoseconds(event, "dur");
                    let lane = trace.slices.entry(track).or_default();
                    lane.push((begin, end, event.clone()));
                }
                "C" => {
                    let level = (nanoseconds(event, "ts"), event["args"]["bytes"].as_u64());
                    let levels = trace.counters.entry((process, name)).or_default();
                    levels.push((level.0, level.1.unwrap()));
                }
                phase @ ("s" | "f") => {
                    let ends = ends.entry(event["id"].as_u64().unwrap()).or_default();
                    let side = &mut ends[usize::from(phase == "f")];
                    side.push((track, nanoseconds(event, "ts")));
                }
                other => panic!("unknown phase {other}"),
            }
        }
        for [from, to] in ends.into_values() {
            assert_eq!((from.len(), to.len()), (1, 1), "an arrow has two ends");
            trace.arrows.push([from[0], to[0]]);
        }
        trace.check();
        trace
    }

    fn check(&self) {
        for (track, slices) in &self.slices {
            assert!(self.lanes.contains_key(track), "{track:?} has no name");
            let mut open: Vec<u64> = Vec::new();
            for pair in slices.windows(2) {
                assert!(pair[0].0 <= pair[1].0, "{track:?} goes back in time");
            }
            for (begin, end, event) in slices {
                while open.pop_if(|open| *open <= *begin).is_some() {}
                assert!(open.iter().all(|open| end <= open), "{event} overlaps");
                open.push(*end);
            }
        }
        for (name, levels) in &self.counters {
            let in_order = levels.windows(2).all(|pair| pair[0].0 <= pair[1].0);
            assert!(in_order, "{name:?} goes back in time");
        }
        for [from, to] in &self.arrows {
            assert!(from.1 <= to.1, "an arrow goes back in time");
            for (track, time) in [from, to] {
                let mut slices = self.slices[track].iter();
                assert!(slices.any(|(begin, _, _)| begin == time), "no slice there");
            }
        }
    }

    fn peak(&self, process: u64, counter: &str) -> u64 {
        let levels = &self.counters[&(process, counter.to_owned())];
        levels.iter().map(|(_, bytes)| *bytes).max().unwrap()
    }

    /// Slices of the lane with a name.
    fn lane(&self, name: &str) -> &[(u64, u64, Value)] {
        let found = self.lanes.iter().find(|(_, lane)| *lane == name);
        found
            .and_then(|(track, _)| self.slices.get(track))
            .map_or(&[], Vec::as_slice)
    }
}

/// The object, the trace and the rows of the CSV file that `show` gives.
fn shown(folder: &Path, arguments: &[&str]) -> (Value, Trace, Vec<Vec<String>>) {
    let [trace, csv] = ["t.json", "m.csv"].map(|name| folder.join(name));
    let files = ["--trace", text(&trace), "--csv", text(&csv), "--json"];
    let (out, _) = run_to(0, &[&["show"], arguments, &files].concat());
    let rows = std::fs::read_to_string(&csv).unwrap();
    let rows = rows
        .lines()
        .map(|line| line.split(',').map(str::to_owned).collect());
    (object(&out), Trace::read(&trace), rows.collect())
}

/// Values of a column of numbers.
fn column(rows: &[Vec<String>], name: &str) -> Vec<u64> {
    let at = rows[0].iter().position(|column| column == name).unwrap();
    rows[1..]
        .iter()
        .map(|row| row[at].parse().unwrap())
        .collect()
}

fn solved(folder: &Path, graph: &str, further: &[&str]) -> PathBuf {
    let plan = folder.join("plan.json");
    let solve = ["solve", graph, "--quiet", "--out", text(&plan)];
    run_to(0, &[&solve[..], further].concat());
    plan
}

#[test]
fn a_plan_has_its_recomputations_arrows_and_peak() {
    let folder = tempfile::tempdir().unwrap();
    for (graph, further) in [
        ("zoo:chain?n=9", &["--budget", "70%"][..]),
        (
            "zoo:unet?batch=1",
            &[
                "--budget",
                "80%",
                "--formulation",
                "monet",
                "--time-limit",
                "1s",
                "--gap",
                "0.5",
            ],
        ),
        ("zoo:chain?n=9", &["--budget", "70%", "--in-flight", "3"]),
    ] {
        let plan = solved(folder.path(), graph, further);
        let (found, trace, rows) = shown(folder.path(), &[graph, text(&plan)]);
        let peak = found["peak_memory_bytes"].as_u64().unwrap();
        assert_eq!(trace.peak(1, "memory"), peak);
        assert_eq!(trace.facts["peak_memory_bytes"], peak);
        assert_eq!(column(&rows, "memory_bytes").into_iter().max(), Some(peak));
        assert_eq!(rows.len() as u64 - 1, found["statements"].as_u64().unwrap());
        let again: u64 = found["recomputed"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["times"].as_u64().unwrap())
            .sum();
        assert!(again > 0);
        assert_eq!(trace.lane("recomputation").len() as u64, again);
        assert_eq!(column(&rows, "recomputation").iter().sum::<u64>(), again);
        // From the first computation, and to the reader.
        assert_eq!(trace.arrows.len() as u64, 2 * again);
        let cost = |lane: &str| {
            trace
                .lane(lane)
                .iter()
                .map(|(begin, end, _)| end - begin)
                .sum::<u64>()
        };
        assert_eq!(
            cost("computation") + cost("recomputation"),
            found["cost"].as_u64().unwrap()
        );
        let classes = trace
            .counters
            .iter()
            .filter(|((_, name), _)| name.starts_with("memory: "));
        assert!(classes.count() >= 3);
    }
}

#[test]
fn copies_have_their_lanes_and_the_host_its_memory() {
    let folder = tempfile::tempdir().unwrap();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/guides/offload.md");
    let page = std::fs::read_to_string(page).unwrap();
    let [graph, plan] = ["three.json", "plan.json"].map(|name| {
        let (_, block) = page
            .split_once(&format!("<!-- file {name} -->\n```json\n"))
            .unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, block.split("```").next().unwrap()).unwrap();
        path
    });
    let (found, trace, rows) = shown(folder.path(), &[text(&graph), text(&plan)]);
    assert_eq!(
        trace.peak(1, "memory"),
        found["peak_memory_bytes"].as_u64().unwrap()
    );
    assert_eq!(trace.peak(1, "host memory"), 6);
    let waits = trace.lane("waiting for copies").iter();
    assert_eq!(waits.map(|(begin, end, _)| end - begin).sum::<u64>(), 12);
    let copies = found["copies"].as_array().unwrap();
    for (lane, to_host) in [
        ("copies to the host", true),
        ("copies from the host", false),
    ] {
        let spans = trace
            .lane(lane)
            .iter()
            .map(|(begin, end, _)| (*begin, *end));
        let wanted = copies.iter().filter(|copy| copy["to_host"] == to_host);
        let wanted = wanted.map(|copy| {
            (
                copy["begin"].as_u64().unwrap(),
                copy["end"].as_u64().unwrap(),
            )
        });
        assert_eq!(spans.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    }
    assert_eq!(column(&rows, "host_bytes").into_iter().max(), Some(6));
}

#[test]
fn pipelines_orders_and_lives_have_lanes_and_peaks() {
    let folder = tempfile::tempdir().unwrap();
    let graph = "zoo:chain?n=8";
    let pipeline = folder.path().join("pipeline.json");
    let further = [
        "--stages",
        "2",
        "--microbatches",
        "4",
        "--budget",
        "60%",
        "--link",
        "1GB/s",
    ];
    run_to(
        0,
        &[
            &["pipeline", graph, "--out", text(&pipeline), "--quiet"],
            &further[..],
        ]
        .concat(),
    );
    let (found, trace, rows) = shown(folder.path(), &[graph, text(&pipeline)]);
    for (device, own) in found["devices"].as_array().unwrap().iter().enumerate() {
        let peak = own["peak_memory_bytes"].as_u64().unwrap();
        assert_eq!(trace.peak(1, &format!("device {device} memory")), peak);
    }
    // A send between both stages in both directions, with an arrow to it and one from it.
    assert_eq!(trace.arrows.len(), 2 * 2 * 4);
    assert_eq!(trace.lane("device 0 sends to the next stage").len(), 4);
    assert_eq!(trace.lane("device 1 sends back").len(), 4);
    assert!(column(&rows, "memory_bytes").into_iter().max() > Some(0));

    let memory = folder.path().join("memory.json");
    run_to(
        0,
        &["plan-memory", graph, "--out", text(&memory), "--quiet"],
    );
    let (found, trace, rows) = shown(folder.path(), &[graph, text(&memory)]);
    let peak = found["peak_memory_bytes"].as_u64().unwrap();
    assert_eq!(trace.peak(1, "memory"), peak);
    assert_eq!(column(&rows, "memory_bytes").into_iter().max(), Some(peak));
    assert_eq!(
        trace.lane("operators").len() as u64,
        found["operators"].as_u64().unwrap()
    );
    let all = trace.slices.values().flatten();
    let lives: Vec<_> = all.filter(|(_, _, event)| event["cat"] == "life").collect();
    assert_eq!(lives.len() as u64, found["buffers"].as_u64().unwrap());
    assert!(
        lives
            .iter()
            .all(|(_, _, event)| event["args"]["offset_bytes"].is_u64())
    );

    let table = folder.path().join("lives.csv");
    std::fs::write(&table, "id,lower,upper,size\nx,0,2,4\ny,1,3,8\nz,2,4,4\n").unwrap();
    let (found, trace, rows) = shown(folder.path(), &[text(&table)]);
    assert_eq!(found["load_bytes"], 12);
    assert_eq!(trace.peak(1, "memory"), 12);
    assert_eq!(column(&rows, "memory_bytes"), [4, 12, 4, 0]);
}

#[test]
fn a_snapshot_is_never_gzipped() {
    let (_, err) = run_to(
        2,
        &["show", "zoo:chain?n=4", "--snapshot", "memory.pickle.gz"],
    );
    assert!(err.contains("name it without .gz"), "{err}");
}

#[test]
fn waiting_micro_batches_count_at_copies() {
    let folder = tempfile::tempdir().unwrap();
    let [graph, plan] = ["graph.json", "plan.json"].map(|name| folder.path().join(name));
    let instance = r#"{"schema": "remat-instance/1", "name": "two", "cost_unit": "ns",
        "host_link": {"to_host_bytes_per_second": 1000000000, "from_host_bytes_per_second": 1000000000},
        "nodes": [{"name": "f", "output_bytes": 4, "cost": 3},
            {"name": "loss", "kind": "loss", "needs": ["f"], "output_bytes": 1, "cost": 2},
            {"name": "b", "kind": "backward", "forward": "f", "needs": ["f", "loss"], "output_bytes": 1, "cost": 5}]}"#;
    // The tensor is on the device twice while it comes back.
    let steps = r#"{"schema": "remat-plan/1", "instance": "two", "semantics": "checkmate", "objective": 16,
        "peak_bytes": 14, "in_flight": 2, "steps": [["allocate", 0, "f"], ["compute", "f", 0], ["offload", 0, 0],
        ["allocate", 1, "loss"], ["compute", "loss", 1], ["wait", 0], ["allocate", 2, "f"], ["prefetch", 0, 2],
        ["deallocate", 0], ["allocate", 3, "b"], ["compute", "b", 3], ["release", 0], ["deallocate", 1],
        ["deallocate", 2], ["deallocate", 3]]}"#;
    std::fs::write(&graph, instance).unwrap();
    std::fs::write(&plan, steps).unwrap();
    let (found, trace, _) = shown(folder.path(), &[text(&graph), text(&plan)]);
    assert_eq!(found["peak_memory_bytes"], 14);
    assert_eq!(found["at_peak"], serde_json::json!(["f", "f", "loss"]));
    assert_eq!(trace.peak(1, "memory"), 14);
    assert_eq!(trace.peak(1, "memory: waiting micro-batches"), 5);
}
