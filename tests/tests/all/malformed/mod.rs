//! Malformed documents: each error names the file, the place, the value found, and the remedy.

mod replacements;
mod schedules;

use flate2::{Compression, write::GzEncoder};
use miette::{GraphicalReportHandler, GraphicalTheme};
use remat_instances::document::FaultKind;
use remat_instances::{read, read_bytes};
use replacements::{BENCHMARK, GRAPH, NATIVE, replacements};
use std::io::Write;

/// The message for a document, which must be an error.
fn message(text: &[u8]) -> String {
    match read_bytes("file.json", text) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("read without an error:\n{}", String::from_utf8_lossy(text)),
    }
}

#[test]
fn every_base_document_is_valid() {
    for base in [NATIVE, BENCHMARK, GRAPH] {
        read_bytes("base", base.as_bytes()).unwrap();
    }
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
    let error = read(&missing).unwrap_err().to_string();
    assert!(
        error.contains("missing.json: the file cannot be opened"),
        "{error}"
    );
    let error = read(folder.path()).unwrap_err().to_string();
    assert!(error.contains("cannot be"), "{error}");

    let path = folder.path().join("tiny.json.gz");
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(NATIVE.as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    std::fs::write(&path, &bytes).unwrap();
    let plain = read_bytes("", NATIVE.as_bytes()).unwrap();
    assert_eq!(read(&path).unwrap(), plain);
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = read(&path).unwrap_err().to_string();
    assert!(
        error.contains("tiny.json.gz: the gzip data are damaged or cut short"),
        "{error}"
    );
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
        let read = read_bytes("file", text.as_bytes());
        assert_eq!(read.unwrap_err().kind(), *kind, "{text}");
    }
    let cycle = GRAPH.replace("\"y\", \"target\": 7", "\"y\", \"target\": \"x\"");
    let error = read_bytes("file", cycle.as_bytes()).unwrap_err();
    assert_eq!((error.kind(), error.path()), (FaultKind::Order, "links[1]"));
    assert_eq!(error.fault().found, "x -> y -> x");
    assert_eq!(error.position().map(|p| (p.line, p.column)), Some((3, 43)));
}

#[test]
fn the_place_is_shown_under_its_own_line_number() {
    let text = NATIVE.replace("\"cost\": 20", "\"cost\": \"20 ns\"");
    let read = read_bytes("net.json", text.as_bytes());
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
