//! The page: a document with the style and the script that show it, in one text.

use super::Document;
use sha2::{Digest, Sha256};
use std::fmt::Write;

const FRAME: &str = include_str!("../../assets/report.html");
const STYLE: &str = include_str!("../../assets/report.css");

/// The parts of the script, in order; together they are one function.
const SCRIPT: [&str; 14] = [
    include_str!("../../assets/js/basics.js"),
    include_str!("../../assets/js/model.js"),
    include_str!("../../assets/js/questions.js"),
    include_str!("../../assets/js/view.js"),
    include_str!("../../assets/js/memory.js"),
    include_str!("../../assets/js/lanes.js"),
    include_str!("../../assets/js/lists.js"),
    include_str!("../../assets/js/inspector.js"),
    include_str!("../../assets/js/plans.js"),
    include_str!("../../assets/js/frontier.js"),
    include_str!("../../assets/js/addresses.js"),
    include_str!("../../assets/js/pipeline.js"),
    include_str!("../../assets/js/keys.js"),
    include_str!("../../assets/js/main.js"),
];

/// A report as the text of one HTML file. Its policy forbids all connections and all scripts but its
/// own.
pub fn page(document: &Document) -> String {
    let script = format!("\"use strict\";\n(() => {{\n{}}})();\n", SCRIPT.concat());
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'",
        base64(&Sha256::digest(&script)),
        base64(&Sha256::digest(STYLE)),
    );
    let parts = [
        ("{{policy}}", policy),
        ("{{title}}", text(&document.title)),
        ("{{style}}", STYLE.into()),
        ("{{data}}", data(document)),
        ("{{script}}", script),
    ];
    // Each mark stands in the frame once, in this order; data is never searched for marks.
    let mut rest = FRAME;
    let mut out = String::new();
    for (mark, content) in &parts {
        if let Some((before, after)) = rest.split_once(mark) {
            out += before;
            out += content;
            rest = after;
        }
    }
    out + rest
}

/// The document as JSON that no HTML parser takes for markup.
fn data(document: &Document) -> String {
    // Plain structs with text keys always have a JSON form.
    let json = serde_json::to_string(document).unwrap_or_default();
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            // Writing to a string cannot fail.
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// A text as content of an element.
fn text(raw: &str) -> String {
    let shown = raw.replace('&', "&amp;").replace('<', "&lt;");
    shown.replace('>', "&gt;").replace(char::is_control, " ")
}

/// Bytes in base 64.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let bits = (0..3).fold(0u32, |bits, k| {
            bits << 8 | u32::from(group.get(k).copied().unwrap_or(0))
        });
        for k in 0..4 {
            match k <= group.len() {
                true => out.push(char::from(LETTERS[(bits >> (18 - 6 * k)) as usize & 63])),
                false => out.push('='),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_its_padding() {
        for (bytes, wanted) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foob", "Zm9vYg=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), wanted);
        }
    }

    #[test]
    fn every_part_of_the_script_is_short() {
        for part in SCRIPT {
            assert!(part.lines().count() <= 400);
        }
    }
}
