//! Valid documents, and the errors after one replacement.

pub const NATIVE: &str = r#"{
"schema": "remat-instance/1",
"name": "tiny",
"cost_unit": "ns",
"nodes": [
{"name": "a", "output_bytes": 4, "cost": 10},
{"name": "b", "output_bytes": 8, "cost": 20, "needs": ["a"]},
{"name": "c", "kind": "loss", "output_bytes": 8, "needs": [1], "implementations": [{"name": "fast", "cost": 3}]},
{"name": "d", "kind": "backward", "forward": "b", "output_bytes": 8, "cost": 1, "needs": ["c", "a"]}
]}"#;

pub const BENCHMARK: &str = r#"{
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

pub const GRAPH: &str = r#"{"directed": true, "multigraph": false, "graph": {"name": "g"},
"nodes": [{"id": "x", "cost": 1, "size": 2}, {"id": "y", "cost": 3, "size": 4}, {"id": 7, "cost": 5, "size": 6}],
"links": [{"source": "x", "target": "y"}, {"source": "y", "target": 7}]}"#;

/// Documents made from a valid one by one replacement, and the texts that the message must contain.
pub fn replacements() -> Vec<(&'static str, &'static str, String, Vec<&'static str>)> {
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
        &["nodes[1]", "`id` is null"],
    );
    case(
        GRAPH,
        "\"id\": \"y\"",
        "\"id\": [{}]",
        &["nodes[1].id[0]: an object stands here"],
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
