//! Malformed documents: each error names the file, the place, the value found, and what would be right.

use flate2::{Compression, write::GzEncoder};
use miette::{GraphicalReportHandler, GraphicalTheme};
use remat_formulations::document::FaultKind;
use remat_formulations::instance::{Program, ReadOptions, read_instance, read_instance_bytes};
use remat_formulations::schedule::ScheduleFile;
use std::io::Write;

const NATIVE: &str = r#"{
"schema": "remat-instance/1",
"name": "tiny",
"cost_unit": "ns",
"nodes": [
{"name": "a", "output_bytes": 4, "cost": 10},
{"name": "b", "output_bytes": 8, "cost": 20, "needs": ["a"]},
{"name": "c", "kind": "loss", "output_bytes": 8, "needs": [1], "implementations": [{"name": "fast", "cost": 3}]},
{"name": "d", "kind": "backward", "forward": "b", "output_bytes": 8, "cost": 1, "needs": ["c", "a"]}
]}"#;

const BENCHMARK: &str = r#"{
"schema": "remat-instance/1", "name": "bench", "batch": 2,
"units": {"cost": "0.01 ms", "memory": "KiB"},
"flags": {"conv_choice": true, "inplace": true, "masks": true},
"counts": {"N": 5, "L": 3},
"nodes": [
{"id": 0, "kind": "fwd", "op": "conv", "shape": [-1, 4], "deps": [[]], "local": [], "conv_slot": 0, "bytes": 2048,
 "A": {"mem": 2, "fixed": 0, "cost": [5, -100000, 3], "ws": [0, 0, 7]}, "B": {"mem": 2, "fixed": 0, "cost": 5}},
{"id": 1, "kind": "fwd", "op": "relu", "deps": [[0]], "local": [0], "inplace_on": 0, "masks": [[1, 2]],
 "A": {"mem": 2, "fixed": 0, "cost": [2], "ws": [0], "cost_ip": [1], "ws_ip": [-2]}, "B": {"mem": 2, "fixed": 0, "cost": 2}},
{"id": 2, "kind": "int", "op": "mask", "deps": [[1]], "local": [1], "parent": 1, "impl": 1, "inplace_on": 0,
 "A": {"mem": 1, "fixed": 0, "cost": [1], "ws": [0]}, "B": {"mem": 1, "fixed": 0, "cost": 1}},
{"id": 3, "kind": "loss", "op": "loss", "deps": [[1]], "local": [1],
 "A": {"mem": 1, "fixed": 0, "cost": [0], "ws": [0]}, "B": {"mem": 1, "fixed": 0, "cost": 0}},
{"id": 4, "kind": "bwd", "op": "relu_bwd", "fwd": 1, "grad": "all", "deps": [[1, 3], [2, 3]], "local": [3],
 "A": {"mem": 2, "fixed": 0, "cost": [2, 3], "ws": [0, 0]}, "B": {"mem": 2, "fixed": 0, "cost": 2}}
]}"#;

const GRAPH: &str = r#"{"directed": true, "multigraph": false, "graph": {"name": "g"},
"nodes": [{"id": "x", "cost": 1, "size": 2}, {"id": "y", "cost": 3, "size": 4}, {"id": 7, "cost": 5, "size": 6}],
"links": [{"source": "x", "target": "y"}, {"source": "y", "target": 7}]}"#;

const SCHEDULE: &str = r#"{"schema": "remat-schedule/1", "instance": "bench", "formulation": "A", "budget_gib": 1.5,
"objective": 16,
"R": {"shape": [2, 4], "cols": [[0, 0], [0, 1], [], [0, 0]]},
"S": {"shape": [3, 4], "cols": [[1, 1], [], [], [1, 1]]},
"IP": {"shape": [2, 4], "cols": [[], [], [], []]},
"M": [[0], [0]],
"RF": [[0, 0, 2]]}"#;

/// The message for a document, which must be an error, read for either program.
fn message(text: &[u8]) -> String {
    let read = |program| read_instance_bytes("file.json", text, &ReadOptions { program });
    match (read(Program::Monet), read(Program::Checkmate)) {
        (Err(monet), _) => monet.to_string(),
        (_, Err(checkmate)) => checkmate.to_string(),
        (Ok(_), Ok(_)) => panic!("read without an error:\n{}", String::from_utf8_lossy(text)),
    }
}

/// Documents made from a valid one by one replacement, and what the message must contain.
fn replacements() -> Vec<(&'static str, &'static str, String, Vec<&'static str>)> {
    let mut table: Vec<(&str, &str, String, Vec<&str>)> = Vec::new();
    let mut case = |base, from, to: &str, wanted: &[&'static str]| {
        table.push((base, from, to.to_owned(), wanted.to_vec()));
    };
    // The text itself.
    case(
        NATIVE,
        "\n]}",
        "\n",
        &[
            "file.json:10:1",
            "expected `,` or `]`",
            "end of the file",
            "cut short",
        ],
    );
    case(
        NATIVE,
        "\"cost\": 20",
        "\"cost\": NaN",
        &["file.json:7:42", "not a finite number", "`NaN`"],
    );
    case(
        NATIVE,
        "\"cost\": 20",
        "\"cost\": -Infinity",
        &["not a finite number", "-Infinity"],
    );
    case(
        NATIVE,
        "\"cost\": 20",
        "\"cost\": 1e400",
        &["beyond double precision", "1e400", "2^53 - 1"],
    );
    case(
        NATIVE,
        "\"cost\": 20",
        "\"cost\": 020",
        &["malformed number"],
    );
    case(
        NATIVE,
        "\"cost\": 20",
        "\"cost\": 20, \"cost\": 21",
        &["twice", "\"cost\"", "file.json:7:46"],
    );
    case(
        NATIVE,
        "\"a\", \"output",
        "\"a\\x\", \"output",
        &["malformed string", "invalid escape"],
    );
    case(
        NATIVE,
        "\n]}",
        "\n]} extra",
        &["goes on after its end", "extra"],
    );
    case(
        NATIVE,
        "\"tiny\"",
        "'tiny'",
        &["expected a value", "file.json:3:9"],
    );
    case(
        NATIVE,
        "\"ns\",",
        "\"ns\"",
        &["expected `,` or `}`", "file.json:5:1"],
    );
    // Native.
    case(
        NATIVE,
        "remat-instance/1",
        "remat-instance/2",
        &[
            "schema: the schema is unknown",
            "remat-instance/2",
            "remat-instance/1",
        ],
    );
    case(
        NATIVE,
        "remat-instance/1",
        "remat-schedule/1",
        &["not an instance", "verify"],
    );
    case(
        NATIVE,
        "\"remat-instance/1\"",
        "1",
        &["schema: an integer stands here", "remat-instance/1"],
    );
    case(
        NATIVE,
        "\"schema\": \"remat-instance/1\",",
        "",
        &["format is not recognised", "schema"],
    );
    case(
        NATIVE,
        "\"cost\": 20",
        "\"cost\": -5",
        &["nodes[1].cost: the value is negative", "found -5"],
    );
    case(
        NATIVE,
        "\"output_bytes\": 8, \"cost\": 20",
        "\"output_bytes\": -8, \"cost\": 20",
        &["nodes[1].output_bytes", "negative", "-8"],
    );
    case(
        NATIVE,
        "\"output_bytes\": 4",
        "\"output_bytes\": \"5 GiB\"",
        &[
            "nodes[0].output_bytes",
            "a string stands where a number belongs",
            "\"5 GiB\"",
            "bytes",
        ],
    );
    case(
        NATIVE,
        "\"output_bytes\": 4",
        "\"output_bytes\": 4.5",
        &["nodes[0].output_bytes", "not an integer", "4.5"],
    );
    case(
        NATIVE,
        "\"output_bytes\": 4",
        "\"output_bytes\": 1000000000000000000",
        &[
            "nodes[0].output_bytes",
            "too large",
            "1000000000000000000",
            "2^53 - 1",
        ],
    );
    case(
        NATIVE,
        "\"output_bytes\": 4",
        "\"output_bytes\": 1e30",
        &["too large", "1e30"],
    );
    case(
        NATIVE,
        "\"output_bytes\": 4",
        "\"output_bytes\": [4]",
        &["nodes[0].output_bytes: a list stands here"],
    );
    case(
        NATIVE,
        "\"output_bytes\": 4, ",
        "",
        &[
            "nodes[0]: the field `output_bytes` is missing",
            "name, cost",
        ],
    );
    case(
        NATIVE,
        "\"cost\": 10",
        "\"cost\": 10, \"memory\": 3",
        &[
            "nodes[0].memory: the field \"memory\" is unknown",
            "output_bytes",
        ],
    );
    case(
        NATIVE,
        "\"cost_unit\"",
        "\"cost_units\"",
        &["cost_units", "unknown"],
    );
    case(
        NATIVE,
        "\"ns\"",
        "{\"name\": \"x\", \"nanoseconds\": 0}",
        &["cost_unit.nanoseconds", "positive"],
    );
    case(
        NATIVE,
        "[\"a\"]",
        "[\"z\"]",
        &[
            "nodes[1].needs[0]: there is no node with this name",
            "\"z\"",
        ],
    );
    case(
        NATIVE,
        "[\"a\"]",
        "[99]",
        &[
            "nodes[1].needs[0]: there is no node with this number",
            "99",
            "0 to 3",
        ],
    );
    case(
        NATIVE,
        "[\"a\"]",
        "[\"d\"]",
        &[
            "nodes[1].needs[0]",
            "cycle",
            "\"d\"",
            "every input comes first",
        ],
    );
    case(NATIVE, "[\"a\"]", "[1]", &["nodes[1].needs[0]", "cycle"]);
    case(
        NATIVE,
        "[\"a\"]",
        "[-1]",
        &["nodes[1].needs[0]: the value is negative"],
    );
    case(
        NATIVE,
        "[\"a\"]",
        "\"a\"",
        &["nodes[1].needs: a string stands here", "a list"],
    );
    case(
        NATIVE,
        "\"name\": \"b\"",
        "\"name\": \"a\"",
        &["nodes[1].name: nodes[0] has the same name", "\"a\""],
    );
    case(
        NATIVE,
        "\"loss\"",
        "\"lost\"",
        &["nodes[2].kind", "unknown", "\"lost\"", "\"by_product\""],
    );
    case(
        NATIVE,
        "\"name\": \"b\",",
        "\"name\": \"b\", \"parent\": \"a\",",
        &["nodes[1].parent", "by_product nodes only"],
    );
    case(
        NATIVE,
        "[{\"name\": \"fast\", \"cost\": 3}]",
        "[]",
        &["nodes[2].implementations", "needs an implementation"],
    );
    case(
        NATIVE,
        "[{\"name\": \"fast\", \"cost\": 3}]",
        "[{\"cost\": 3}], \"cost\": 3",
        &["nodes[2].cost", "beside `implementations`"],
    );
    case(
        NATIVE,
        "\"kind\": \"backward\", \"forward\": \"b\",",
        "",
        &["nodes[3]", "forward node comes after the loss"],
    );
    case(
        NATIVE,
        "\"cost\": 20",
        "\"cost\": 20, \"in_place\": {\"on\": 0, \"cost_delta\": -21}",
        &["nodes[1]", "in_place.cost_delta", "-21", "at least -20"],
    );
    // Benchmark.
    case(
        BENCHMARK,
        "\"id\": 1",
        "\"id\": 0",
        &["nodes[1].id", "repeated or misplaced", "found 0"],
    );
    case(
        BENCHMARK,
        "\"memory\": \"KiB\"",
        "\"memory\": \"MiB\"",
        &["units.memory", "\"MiB\"", "\"KiB\""],
    );
    case(
        BENCHMARK,
        "\"cost\": \"0.01 ms\"",
        "\"cost\": \"us\"",
        &["units.cost", "\"us\"", "0.01 ms"],
    );
    case(
        BENCHMARK,
        "\"A\": {\"mem\": 2, \"fixed\": 0, \"cost\": [5",
        "\"A\": {\"mem\": 2048, \"fixed\": 0, \"cost\": [5",
        &["nodes[0].A.mem", "2048 bytes", "KiB: about 2"],
    );
    case(
        BENCHMARK,
        "\"B\": {\"mem\": 2, \"fixed\": 0, \"cost\": 5}",
        "\"B\": {\"mem\": -2, \"fixed\": 0, \"cost\": 5}",
        &["nodes[0].B.mem: the value is negative", "-2", "KiB"],
    );
    case(
        BENCHMARK,
        "\"mem\": 1, \"fixed\": 0, \"cost\": [1]",
        "\"mem\": 9007199254740991, \"fixed\": 0, \"cost\": [1]",
        &["nodes[2].A.mem", "too large", "check the unit"],
    );
    case(
        BENCHMARK,
        "\"B\": {\"mem\": 1, \"fixed\": 0, \"cost\": 0}",
        "\"B\": 3",
        &["nodes[3].B: an integer stands here", "table"],
    );
    case(
        BENCHMARK,
        "[[1, 3], [2, 3]]",
        "[[1, 3], [2, 9]]",
        &["nodes[4].deps[1][1]", "no node with this number", "9"],
    );
    case(
        BENCHMARK,
        "[[1, 3], [2, 3]]",
        "[[1, 3], [2, 4]]",
        &["nodes[4].deps[1][1]", "cycle"],
    );
    case(
        BENCHMARK,
        "[[1, 3], [2, 3]]",
        "[]",
        &["nodes[4].deps", "without an implementation"],
    );
    case(
        BENCHMARK,
        "\"cost\": [2, 3], \"ws\": [0, 0]",
        "\"cost\": [2], \"ws\": [0, 0]",
        &["nodes[4].A", "no entry 1", "1 entries"],
    );
    case(
        BENCHMARK,
        "[5, -100000, 3]",
        "[-1, -100000, -3]",
        &["nodes[0].A.cost", "no algorithm is available"],
    );
    case(
        BENCHMARK,
        "\"N\": 5",
        "\"N\": 6",
        &["counts.N", "found 6", "5 entries"],
    );
    case(
        BENCHMARK,
        "\"kind\": \"int\"",
        "\"kind\": \"mask\"",
        &["nodes[2].kind", "\"mask\"", "\"int\""],
    );
    case(
        BENCHMARK,
        "\"parent\": 1, ",
        "",
        &["nodes[2]", "`parent` is missing"],
    );
    case(
        BENCHMARK,
        "\"inplace\": true",
        "\"inplace\": 1",
        &["flags.inplace: an integer stands here", "`true` or `false`"],
    );
    // Node-link.
    case(
        GRAPH,
        "\"target\": 7",
        "\"target\": 8",
        &["links[1].target", "no node with this id", "found 8"],
    );
    case(
        GRAPH,
        "\"target\": 7}",
        "\"target\": 7}, {\"source\": 7, \"target\": \"x\"}",
        &["the graph has a cycle", "x -> y -> 7"],
    );
    case(
        GRAPH,
        "\"target\": 7",
        "\"target\": \"y\"",
        &["links[1]", "own input"],
    );
    case(
        GRAPH,
        "\"id\": \"y\"",
        "\"id\": \"x\"",
        &["nodes[1].id: nodes[0] has the same id"],
    );
    case(
        GRAPH,
        "\"id\": \"y\"",
        "\"id\": null",
        &["nodes[1]", "`id` is missing"],
    );
    case(
        GRAPH,
        "\"id\": \"y\"",
        "\"id\": [1]",
        &["nodes[1].id: a list stands here"],
    );
    case(
        GRAPH,
        "\"cost\": 3",
        "\"price\": 3",
        &["nodes[1]", "`cost_cpu` is missing", "cost, time"],
    );
    case(
        GRAPH,
        "\"size\": 4",
        "\"size\": -4",
        &["nodes[1].size: the value is negative"],
    );
    case(
        GRAPH,
        "\"directed\": true",
        "\"directed\": false",
        &["directed", "undirected", "DiGraph"],
    );
    case(
        GRAPH,
        "\"links\": [",
        "\"edges\": [], \"links\": [",
        &["`links` and `edges` both"],
    );
    case(
        GRAPH,
        "{\"source\": \"x\", \"target\": \"y\"}",
        "[\"x\", \"y\"]",
        &["links[0]: a list stands here", "source"],
    );
    table
}

#[test]
fn every_base_document_is_valid() {
    for base in [NATIVE, BENCHMARK, GRAPH] {
        for program in [Program::Monet, Program::Checkmate] {
            read_instance_bytes("base", base.as_bytes(), &ReadOptions { program }).unwrap();
        }
    }
    let monet = ReadOptions {
        program: Program::Monet,
    };
    let instance = read_instance_bytes("base", BENCHMARK.as_bytes(), &monet).unwrap();
    let file = ScheduleFile::parse("base", SCHEDULE.as_bytes()).unwrap();
    file.schedule(&instance).unwrap();
}

#[test]
fn replaced_values_are_named_with_place_value_and_remedy() {
    let table = replacements();
    assert!(table.len() >= 60);
    for (base, from, to, wanted) in table {
        assert!(base.contains(from), "{from}");
        let message = message(base.replacen(from, &to, 1).as_bytes());
        assert!(message.starts_with("file.json"), "{message}");
        assert!(message.contains("; "), "no remedy: {message}");
        for part in wanted {
            assert!(
                message.contains(part),
                "{to}: {part:?} is not in\n{message}"
            );
        }
    }
}

#[test]
fn whole_documents_that_are_no_instances() {
    let deep = "[".repeat(500_000);
    let nested = format!(
        "{{\"nodes\": {}1{}, \"links\": []}}",
        "[".repeat(99),
        "]".repeat(99)
    );
    let cut = &NATIVE.as_bytes()[..150];
    let unknown: &[(&[u8], &[&str])] = &[
        (b"", &["file.json: the file is empty"]),
        (b"  \n\t ", &["the file is empty"]),
        (b"\xff\xfe{}", &["not UTF-8", "0xff", "offset 0"]),
        (
            b"{\"nodes\": \"\xc3\x28\"}",
            &["file.json:1:12", "not UTF-8", "0xc3"],
        ),
        (b"hello", &["file.json:1:1", "expected a value", "`hello`"]),
        (b"[]", &["a list stands here", "an object with `nodes`"]),
        (b"{}", &["not recognised"]),
        (b"\"text\"", &["a string stands here"]),
        (
            b"{\"nodes\": [], \"links\": []}",
            &["nodes", "no node", "at least one node"],
        ),
        (
            b"{\"schema\": \"remat-instance/1\", \"nodes\": []}",
            &["nodes", "at least one node"],
        ),
        (
            b"{\"schema\": \"remat-instance/1\"}",
            &["`nodes` is missing"],
        ),
        (b"\x1f\x8b\x08\x00garbage", &["gzip", "damaged"]),
        (cut, &["end of the file", "cut short"]),
        (deep.as_bytes(), &["nested too deeply", "100"]),
        (nested.as_bytes(), &["nodes[0]: a list stands here"]),
    ];
    for (text, wanted) in unknown {
        let message = message(text);
        for part in *wanted {
            assert!(message.contains(part), "{part:?} is not in\n{message}");
        }
    }
}

#[test]
fn sums_beyond_64_bits_and_compressed_bombs_are_refused() {
    let node = |i: usize| {
        format!(
            "{{\"name\": \"n{i}\", \"output_bytes\": 9007199254740991, \"cost\": 9007199254740991}}"
        )
    };
    let nodes: Vec<_> = (0..2000).map(node).collect();
    let text = format!(
        "{{\"schema\": \"remat-instance/1\", \"nodes\": [{}]}}",
        nodes.join(",")
    );
    assert!(message(text.as_bytes()).contains("64-bit"));

    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    let blank = vec![b' '; 1 << 20];
    for _ in 0..300 {
        bomb.write_all(&blank).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(bomb.len() < 4 << 20);
    assert!(message(&bomb).contains("too large"));
}

#[test]
fn files_are_named_and_gzip_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing.json");
    let options = ReadOptions::default();
    let error = read_instance(&missing, &options).unwrap_err().to_string();
    assert!(
        error.contains("missing.json: the file cannot be opened"),
        "{error}"
    );
    let error = read_instance(folder.path(), &options)
        .unwrap_err()
        .to_string();
    assert!(error.contains("cannot be"), "{error}");

    let path = folder.path().join("tiny.json.gz");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(NATIVE.as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let plain = read_instance_bytes("", NATIVE.as_bytes(), &options).unwrap();
    assert_eq!(read_instance(&path, &options).unwrap(), plain);
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = read_instance(&path, &options).unwrap_err().to_string();
    assert!(
        error.contains("tiny.json.gz: the gzip data are damaged or cut short"),
        "{error}"
    );
}

#[test]
fn malformed_schedules() {
    let instance = read_instance_bytes(
        "bench",
        BENCHMARK.as_bytes(),
        &ReadOptions {
            program: Program::Monet,
        },
    )
    .unwrap();
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

#[test]
fn errors_say_what_kind_of_thing_is_wrong() {
    let table: &[(&str, FaultKind)] = &[
        ("", FaultKind::File),
        ("{", FaultKind::Syntax),
        ("{\"a\": 1, \"a\": 2}", FaultKind::Duplicate),
        ("{\"a\": 1}", FaultKind::Format),
        ("7", FaultKind::Type),
        (
            "{\"nodes\": [{\"cost\": 1}], \"links\": []}",
            FaultKind::Missing,
        ),
        (
            "{\"schema\": \"remat-instance/1\", \"node\": []}",
            FaultKind::Unknown,
        ),
        (
            "{\"nodes\": [{\"id\": 1, \"cost\": -1, \"mem\": 1}], \"links\": []}",
            FaultKind::Value,
        ),
        (
            "{\"nodes\": [], \"links\": [{\"source\": 1, \"target\": 2}]}",
            FaultKind::Reference,
        ),
    ];
    for (text, kind) in table {
        let read = read_instance_bytes("file", text.as_bytes(), &ReadOptions::default());
        assert_eq!(read.unwrap_err().kind(), *kind, "{text}");
    }
    let cycle = GRAPH.replace("\"y\", \"target\": 7", "\"y\", \"target\": \"x\"");
    let error = read_instance_bytes("file", cycle.as_bytes(), &ReadOptions::default()).unwrap_err();
    assert_eq!((error.kind(), error.path()), (FaultKind::Order, "links[1]"));
    assert_eq!(error.fault().found, "x -> y -> x");
    assert_eq!(error.position().map(|p| (p.line, p.column)), Some((3, 43)));
}

#[test]
fn the_place_is_shown_under_its_own_line_number() {
    let text = NATIVE.replace("\"cost\": 20", "\"cost\": \"20 ns\"");
    let read = read_instance_bytes("net.json", text.as_bytes(), &ReadOptions::default());
    let mut shown = String::new();
    let handler = GraphicalReportHandler::new_themed(GraphicalTheme::unicode_nocolor());
    handler
        .render_report(&mut shown, &read.unwrap_err())
        .unwrap();
    for part in [
        "net.json:7:42: nodes[1].cost: a string stands where a number belongs",
        "╭─[net.json:7:42]",
        "7 │ {\"name\": \"b\", \"output_bytes\": 8, \"cost\": \"20 ns\"",
    ] {
        assert!(shown.contains(part), "{part:?} is not in\n{shown}");
    }
}
