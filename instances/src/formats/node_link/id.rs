//! Ids of nodes in node-link documents, equal if they are equal in Python.
//!
//! NetworkX accepts any hashable object as a node. JSON represents its tuples as nested lists, and
//! keeps text, numbers and truth values.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt::{self, Formatter};

/// A node's id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id<'d> {
    /// `null`, which occurs only in lists.
    Nothing,
    /// A whole number, including `1.0` and `true`: in Python `1 == 1.0 == True`.
    Whole(i128),
    /// Bits of any other number.
    Fraction(u64),
    Text(&'d str),
    List(Vec<Id<'d>>),
}

impl<'de: 'd, 'd> Deserialize<'de> for Id<'d> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(IdVisitor)
    }
}

struct IdVisitor;

impl<'d> Visitor<'d> for IdVisitor {
    type Value = Id<'d>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number, or a list of these")
    }

    fn visit_unit<E: Error>(self) -> Result<Id<'d>, E> {
        Ok(Id::Nothing)
    }

    fn visit_bool<E: Error>(self, truth: bool) -> Result<Id<'d>, E> {
        Ok(Id::Whole(truth.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Id<'d>, E> {
        Ok(Id::Whole(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Id<'d>, E> {
        Ok(Id::Whole(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Id<'d>, E> {
        // The conversion is exact: a whole double below 2^127 is an i128.
        match number.fract() == 0.0 && number.abs() < 2f64.powi(127) {
            true => Ok(Id::Whole(number as i128)),
            false => Ok(Id::Fraction(number.to_bits())),
        }
    }

    fn visit_borrowed_str<E: Error>(self, text: &'d str) -> Result<Id<'d>, E> {
        Ok(Id::Text(text))
    }

    fn visit_seq<A: SeqAccess<'d>>(self, mut entries: A) -> Result<Id<'d>, A::Error> {
        let mut list = Vec::new();
        while let Some(entry) = entries.next_element()? {
            list.push(entry);
        }
        Ok(Id::List(list))
    }
}

/// The id as shown by Python's `str`: bare text, quoted in a list.
///
/// `remat_bb.Instance.from_networkx` names nodes the same way.
impl fmt::Display for Id<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Id::Nothing => f.write_str("None"),
            Id::Whole(number) => number.fmt(f),
            Id::Fraction(bits) => f64::from_bits(*bits).fmt(f),
            Id::Text(text) => f.write_str(text),
            Id::List(list) => {
                f.write_str("(")?;
                for (k, entry) in list.iter().enumerate() {
                    f.write_str(if k > 0 { ", " } else { "" })?;
                    match entry {
                        Id::Text(text) => f.write_str(&quoted(text))?,
                        other => other.fmt(f)?,
                    }
                }
                f.write_str(if list.len() == 1 { ",)" } else { ")" })
            }
        }
    }
}

/// Text in the quotes that Python's `repr` chooses.
fn quoted(text: &str) -> String {
    let quote = match text.contains('\'') && !text.contains('"') {
        true => '"',
        false => '\'',
    };
    let mut out = String::from(quote);
    for c in text.chars() {
        if c == '\\' || c == quote {
            out.push('\\');
        }
        out.push(c);
    }
    out.push(quote);
    out
}

#[cfg(test)]
mod tests {
    use crate::read_bytes;

    /// The names of a chain of three nodes with these ids, or the error.
    fn names(ids: [&str; 3]) -> String {
        let [a, b, c] = ids;
        let node = |id: &str| format!("{{\"id\": {id}, \"cost\": 1, \"size\": 5}}");
        let text = format!(
            "{{\"nodes\": [{}, {}, {}], \"links\": [{{\"source\": {a}, \"target\": {b}}}, \
             {{\"source\": {b}, \"target\": {c}}}]}}",
            node(a),
            node(b),
            node(c)
        );
        let instance = match read_bytes("graph.json", text.as_bytes()) {
            Ok(instance) => instance,
            Err(error) => return error.to_string(),
        };
        let names: Vec<_> = instance.nodes().iter().map(|n| n.name.as_str()).collect();
        names.join(" | ")
    }

    #[test]
    fn tuples_are_ids() {
        assert_eq!(
            names([r#"["a", 0]"#, r#"["a", [1, ["it's"]]]"#, r#"[]"#]),
            r#"('a', 0) | ('a', (1, ("it's",))) | ()"#
        );
        assert_eq!(
            names(["0.5", "true", "[null, -3, 1e3]"]),
            "0.5 | 1 | (None, -3, 1000)"
        );
        assert_eq!(
            names([r#""('a', 0)""#, r#"["a", 0]"#, "7"]),
            r#""('a', 0)" | ('a', 0) | 7"#
        );
    }

    #[test]
    fn equal_ids_and_objects_are_refused() {
        let same = "nodes[1].id: nodes[0] has the same id";
        assert!(names(["[1, true]", "[1.0, 1]", "3"]).contains(same));
        let error = names([r#"["a", {"b": 1}]"#, "1", "2"]);
        assert!(
            error.contains("nodes[0].id[1]: an object stands here"),
            "{error}"
        );
        let error = names([r#"{"b": 1}"#, "1", "2"]);
        let remedy = "give the id of a node: a string, a number, or a list of these";
        assert!(error.contains(remedy), "{error}");
        // An edge without an existing node.
        let text = r#"{"nodes": [{"id": ["a", 0], "cost": 1, "size": 5}],
            "links": [{"source": ["a", 0], "target": ["a", 1]}]}"#;
        let error = read_bytes("graph.json", text.as_bytes()).unwrap_err();
        assert!(error.to_string().contains("links[0].target"), "{error}");
    }
}
