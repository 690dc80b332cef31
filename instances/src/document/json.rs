//! A JSON reader that records the place of every value.
//!
//! Errors about a value can then point at it. The path of a value in the document is not stored; it
//! is found from the position if needed. `serde_json` decodes strings and numbers, token by token.
//! This module handles the structure: positions, repeated keys, limits on depth and size, and
//! messages for common mistakes.

use super::error::Failure;
use super::error::FaultKind::{self, Duplicate, Syntax, TooLarge};
use serde::Deserialize;

/// Deepest accepted nesting; no format here needs more than 10.
pub(crate) const DEEPEST: usize = 100;
/// Largest number of values in a document: about a gigabyte in memory, and a thousand times the
/// need of the largest network.
pub(crate) const MOST_VALUES: usize = 20_000_000;

/// The bytes `start..end` of a text; distinct values of a document have distinct spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename = "$span")]
pub(crate) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// Returns whether another span lies in this one.
    pub(super) fn holds(self, other: Span) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

/// A value and its place.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Value {
    pub span: Span,
    pub data: Data,
}

/// Content of a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) enum Data {
    #[default]
    Null,
    Bool(bool),
    /// An integer from 0.
    Unsigned(u64),
    /// An integer below 0.
    Negative(i64),
    /// Any other number.
    Float(f64),
    String(String),
    Array(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    /// A field of an object.
    pub(crate) fn field(&self, name: &str) -> Option<&Value> {
        match &self.data {
            Data::Object(entries) => {
                let mut named = entries.iter().filter(|(key, _)| key == name);
                named.next().map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// The kind of value, in words for the user.
    pub(crate) fn kind(&self) -> &'static str {
        match self.data {
            Data::Null => "null",
            Data::Bool(_) => "a truth value",
            Data::Unsigned(_) | Data::Negative(_) => "an integer",
            Data::Float(_) => "a number",
            Data::String(_) => "a string",
            Data::Array(_) => "a list",
            Data::Object(_) => "an object",
        }
    }

    /// The names of an object's fields, in words.
    pub(super) fn field_names(&self) -> String {
        match &self.data {
            Data::Object(entries) if !entries.is_empty() => {
                let names = entries.iter().map(|(key, _)| key.as_str()).take(12);
                format!("the fields {}", names.collect::<Vec<_>>().join(", "))
            }
            _ => "no field".into(),
        }
    }
}

/// Reads a whole text as one JSON value.
pub(crate) fn parse(text: &str) -> Result<Value, Failure> {
    let mut parser = Parser {
        text,
        bytes: text.as_bytes(),
        at: 0,
        values: 0,
    };
    parser.blank();
    let value = parser.value(0)?;
    parser.blank();
    if parser.at < parser.bytes.len() {
        let found = parser.glimpse(parser.at);
        let problem = "the document goes on after its end";
        let remedy = "one file holds one JSON value; remove what follows";
        return Err(syntax(parser.at, problem, found, remedy));
    }
    Ok(value)
}

/// Creates a failure from the problem at a byte, the text found there, and the remedy.
fn fault(kind: FaultKind, at: usize, problem: &str, found: String, remedy: &str) -> Failure {
    let (start, end) = (at as u32, at as u32 + 1);
    kind.fail(Span { start, end }, problem, remedy).found(found)
}

fn syntax(at: usize, problem: &str, found: String, remedy: &str) -> Failure {
    fault(Syntax, at, problem, found, remedy)
}

/// The offset in a quoted string of half a surrogate pair.
fn half_surrogate(token: &str) -> usize {
    let code = |at: usize| {
        let digits = token.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut at = 0;
    while at < token.len() {
        match (code(at), code(at + 6)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => at += 12,
            (Some(0xd800..=0xdfff), _) => return at,
            _ if token.as_bytes()[at] == b'\\' => at += 2,
            _ => at += 1,
        }
    }
    0
}

struct Parser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    values: usize,
}

impl Parser<'_> {
    fn blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// The token at a position, shortened and quoted for a reader.
    fn glimpse(&self, at: usize) -> String {
        let Some(first) = self.text[at..].chars().next() else {
            return "the end of the file".into();
        };
        let word = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
        let taken: String = if word(first) {
            self.text[at..]
                .chars()
                .take_while(|c| word(*c))
                .take(24)
                .collect()
        } else {
            first.to_string()
        };
        format!("`{}`", taken.escape_debug())
    }

    fn unexpected(&self, wanted: &str) -> Failure {
        let remedy = if self.at >= self.bytes.len() {
            "the file is cut short: write or fetch it again"
        } else {
            "correct the JSON here"
        };
        let problem = format!("not JSON: expected {wanted}");
        syntax(self.at, &problem, self.glimpse(self.at), remedy)
    }

    fn value(&mut self, depth: usize) -> Result<Value, Failure> {
        if depth > DEEPEST {
            let (problem, found) = ("values are nested too deeply", format!("level {depth}"));
            let remedy = format!("nest at most {DEEPEST} levels");
            return Err(fault(TooLarge, self.at, problem, found, &remedy));
        }
        self.values += 1;
        if self.values > MOST_VALUES {
            let (problem, remedy) = ("the document holds too many values", "split or shrink it");
            let found = format!("more than {MOST_VALUES}");
            return Err(fault(TooLarge, self.at, problem, found, remedy));
        }
        let start = self.at;
        let data = match self.bytes.get(self.at) {
            Some(b'{') => self.object(depth)?,
            Some(b'[') => self.array(depth)?,
            Some(b'"') => Data::String(self.string()?),
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(c) if c.is_ascii_alphabetic() => self.word()?,
            _ => return Err(self.unexpected("a value")),
        };
        Ok(Value {
            span: Span {
                start: start as u32,
                end: self.at as u32,
            },
            data,
        })
    }

    fn word(&mut self) -> Result<Data, Failure> {
        for (word, data) in [
            ("true", Data::Bool(true)),
            ("false", Data::Bool(false)),
            ("null", Data::Null),
        ] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(data);
            }
        }
        if self.text[self.at..].starts_with("NaN") || self.text[self.at..].starts_with("Inf") {
            return Err(self.not_a_number(self.at));
        }
        Err(self.unexpected("a value"))
    }

    fn not_a_number(&self, at: usize) -> Failure {
        let problem = "not a finite number, and not JSON";
        syntax(at, problem, self.glimpse(at), "write a finite number")
    }

    fn number(&mut self) -> Result<Data, Failure> {
        let start = self.at;
        let part = |b: &u8| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9');
        while self.bytes.get(self.at).is_some_and(part) {
            self.at += 1;
        }
        let token = &self.text[start..self.at];
        if token == "-" && self.text[self.at..].starts_with("Inf") {
            return Err(self.not_a_number(start));
        }
        match serde_json::from_str::<serde_json::Number>(token) {
            Ok(n) => Ok(match (n.as_u64(), n.as_i64()) {
                (Some(u), _) => Data::Unsigned(u),
                (_, Some(i)) => Data::Negative(i),
                // The standard library rounds correctly and accepts all JSON numbers.
                _ => Data::Float(token.parse().unwrap_or(f64::MAX)),
            }),
            Err(e) => {
                let (problem, remedy) = if e.to_string().starts_with("number out of range") {
                    let remedy = "write a number up to 2^53 - 1";
                    ("the number is beyond double precision", remedy)
                } else {
                    let remedy = "write a number such as 12, -3 or 4.5e6";
                    ("not JSON: a malformed number", remedy)
                };
                Err(syntax(start, problem, self.glimpse(start), remedy))
            }
        }
    }

    fn string(&mut self) -> Result<String, Failure> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at) {
                Some(b'"') => break,
                // A character after a backslash is ASCII in valid JSON; a longer one is rejected
                // below.
                Some(b'\\') => self.at += 2,
                Some(_) => self.at += 1,
                None => {
                    self.at = self.bytes.len();
                    let problem = "not JSON: a string without an end";
                    let remedy = "the file is cut short, or a closing quote is missing";
                    return Err(syntax(start, problem, "the end of the file".into(), remedy));
                }
            }
        }
        self.at += 1;
        let token = &self.bytes[start..self.at];
        serde_json::from_slice(token).map_err(|e| {
            let reason = e.to_string();
            let reason = reason.split(" at line").next().unwrap_or_default();
            if reason.contains("surrogate") {
                // Python writes bytes of names that are not UTF-8 in this form.
                let at = start + half_surrogate(&self.text[start..self.at]);
                let problem = "a string holds half of a surrogate pair, which is no character";
                let half: String = self.text[at..].chars().take(6).collect();
                let found = format!("`{half}` at offset {at}");
                let remedy = "write the character in UTF-8, or both halves";
                return syntax(at, problem, found, remedy);
            }
            let remedy = "escape control characters, quotes and backslashes";
            syntax(start, "not JSON: a malformed string", reason.into(), remedy)
        })
    }

    fn array(&mut self, depth: usize) -> Result<Data, Failure> {
        let mut values = Vec::new();
        self.at += 1;
        self.blank();
        if self.bytes.get(self.at) == Some(&b']') {
            self.at += 1;
            return Ok(Data::Array(values));
        }
        loop {
            self.blank();
            values.push(self.value(depth + 1)?);
            self.blank();
            match self.bytes.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.unexpected("`,` or `]`")),
            }
        }
        self.at += 1;
        values.shrink_to_fit();
        Ok(Data::Array(values))
    }

    fn object(&mut self, depth: usize) -> Result<Data, Failure> {
        let mut entries: Vec<(String, Value)> = Vec::new();
        let mut starts = Vec::new();
        self.at += 1;
        self.blank();
        if self.bytes.get(self.at) == Some(&b'}') {
            self.at += 1;
            return Ok(Data::Object(entries));
        }
        loop {
            self.blank();
            if self.bytes.get(self.at) != Some(&b'"') {
                return Err(self.unexpected("a key in quotes"));
            }
            starts.push(self.at);
            let key = self.string()?;
            self.blank();
            if self.bytes.get(self.at) != Some(&b':') {
                return Err(self.unexpected("`:`"));
            }
            self.at += 1;
            self.blank();
            let value = self.value(depth + 1)?;
            entries.push((key, value));
            self.blank();
            match self.bytes.get(self.at) {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.unexpected("`,` or `}`")),
            }
        }
        self.at += 1;
        if let Some(k) = repeated(&entries) {
            let (problem, remedy) = ("the key stands twice in one object", "keep one of the two");
            let found = format!("{:?}", entries[k].0);
            return Err(fault(Duplicate, starts[k], problem, found, remedy));
        }
        Ok(Data::Object(entries))
    }
}

/// The first entry that repeats an earlier key.
fn repeated(entries: &[(String, Value)]) -> Option<usize> {
    if entries.len() <= 16 {
        return (1..entries.len()).find(|&k| entries[..k].iter().any(|e| e.0 == entries[k].0));
    }
    let mut seen = std::collections::BTreeSet::new();
    entries.iter().position(|e| !seen.insert(e.0.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(value: &Value) -> serde_json::Value {
        match &value.data {
            Data::Null => serde_json::Value::Null,
            Data::Bool(b) => (*b).into(),
            Data::Unsigned(u) => (*u).into(),
            Data::Negative(i) => (*i).into(),
            Data::Float(f) => (*f).into(),
            Data::String(s) => s.clone().into(),
            Data::Array(a) => a.iter().map(plain).collect(),
            Data::Object(o) => o.iter().map(|(k, v)| (k.clone(), plain(v))).collect(),
        }
    }

    fn same(text: &str) {
        let ours = parse(text);
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(theirs) => {
                if let Ok(ours) = ours {
                    assert_eq!(plain(&ours), theirs, "{text}");
                } else {
                    // The only text accepted by serde_json but not by this reader: repeated keys
                    // (and depth, which is not generated here).
                    let fault = ours.err().map(|f| f.fault.problem).unwrap_or_default();
                    assert!(fault.contains("twice"), "{text}: {fault}");
                }
            }
            Err(e) => assert!(ours.is_err(), "{text}: serde_json says {e}"),
        }
    }

    #[test]
    fn agrees_with_serde_json_on_hand_picked_texts() {
        for text in [
            "",
            " ",
            "nul",
            "null",
            "truefalse",
            "[1,2,]",
            "[,1]",
            "{}",
            "{\"a\":1,}",
            "{\"a\" 1}",
            "01",
            "-",
            "-0",
            "1.",
            ".5",
            "1e5",
            "11e91",
            "1e400",
            "-1e400",
            "18446744073709551616",
            "-9223372036854775809",
            "\"\\u00e9\"",
            "\"\\ud800\"",
            "\"\\ud83d\\ude00\"",
            "\"\\",
            "\"\\é\"",
            "\"a\nb\"",
            "[[]]",
            "[1 2]",
            "\u{feff}1",
            "1 1",
            "NaN",
            "-Infinity",
            "{\"a\":{\"b\":[null,true,false,\"x\",-1.5e-7]}}",
        ] {
            same(text);
        }
    }

    #[test]
    fn halves_of_surrogate_pairs_are_named_with_their_offset() {
        let half = parse("{\"name\": \"\\\\ud83d \\ud83d\\ude00 \\udcff\"}").err();
        let half = half.map(|f| (f.span.start, f.fault.found));
        assert_eq!(half, Some((31, "`\\udcff` at offset 31".into())));
    }

    #[test]
    fn depth_and_repeated_keys_are_refused() {
        let deep = "[".repeat(100_000);
        assert!(
            parse(&deep)
                .err()
                .is_some_and(|f| f.fault.problem.contains("deeply"))
        );
        let twice = parse("{\"a\": 1, \"b\": 2, \"a\": 3}")
            .err()
            .map(|f| f.span);
        assert_eq!(twice.map(|span| span.start), Some(17));
    }

    proptest! {
        #[test]
        fn agrees_with_serde_json(tokens in prop::collection::vec(
            prop::sample::select(vec!["{", "}", "[", "]", ",", ":", "\"a\"", "\"b\\n\"", "1", "-2.5", "1e9", "null", "true", " ", "\"", "\\", "é", "0", "e", "."]), 0..12)) {
            same(&tokens.concat());
        }
    }
}
