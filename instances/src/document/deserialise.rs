//! Deserialises a document's values with `serde`, so that each error has a place and a remedy.
//!
//! Readers derive `Deserialize`, and the serde name of a field may contain more than its name:
//! `mem|ram: a size in bytes` is a field named `mem` or `ram`, which errors describe as a size in
//! bytes. Structures and newtypes are described by their serde names. A field with value `null`
//! counts as missing. Unknown fields are reported before wrong values.

use super::error::{Failure, FaultKind};
use super::json::{Data, Span, Value};
use crate::nearest::nearest;
use crate::number::LARGEST_VALUE;
use serde::de::value::{
    BorrowedStrDeserializer, MapAccessDeserializer, MapDeserializer, SeqDeserializer,
};
use serde::de::{Deserializer, Error, Expected, IgnoredAny, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use std::fmt::Display;
use std::iter;
use std::ops::Deref;

/// A value with its place in the document.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename = "$spanned")]
pub(crate) struct Spanned<T> {
    pub span: Span,
    pub value: T,
}

/// A value of any kind that is parsed later, with its place.
pub(crate) type Unread = Spanned<IgnoredAny>;

/// Text, or else a value of type `T`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename = "$text_or")]
pub(crate) enum TextOr<'d, T> {
    Text(&'d str),
    Other(T),
}

impl<T> Deref for Spanned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// A value to be written has no place.
impl<T> From<T> for Spanned<T> {
    fn from(value: T) -> Self {
        let span = Span::default();
        Spanned { span, value }
    }
}

impl<T: Serialize> Serialize for Spanned<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<T: Serialize> Serialize for TextOr<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TextOr::Text(text) => serializer.serialize_str(text),
            TextOr::Other(other) => other.serialize(serializer),
        }
    }
}

impl Spanned<u64> {
    /// Converts the number to a position in a list of `count` items, which `what` describes.
    pub(crate) fn index(self, count: usize, what: &str) -> Result<usize, Failure> {
        let index = usize::try_from(*self).ok().filter(|index| *index < count);
        index.ok_or_else(|| {
            let problem = format!("there is no {what} with this number");
            let remedy = match count {
                0 => "there is none at all".into(),
                _ => format!("numbers go from 0 to {}", count - 1),
            };
            FaultKind::Reference.fail(self.span, problem, remedy)
        })
    }
}

/// Reads a field as `None` if its value is not valid; for `deserialize_with`.
pub(crate) fn lenient<'d, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'d>,
    T: Deserialize<'d>,
{
    Ok(T::deserialize(deserializer).ok())
}

impl Error for Failure {
    fn custom<T: Display>(message: T) -> Self {
        FaultKind::Value.fail(Span::default(), message.to_string(), "give another value")
    }

    /// Leaves the problem empty: the deserialiser, which knows the value, fills it in.
    fn invalid_type(_: Unexpected<'_>, expected: &dyn Expected) -> Self {
        FaultKind::Type.fail(Span::default(), "", expected.to_string())
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        let problem = format!("the field {field:?} is unknown");
        let known: Vec<_> = known.iter().flat_map(|field| names(field)).collect();
        let near = nearest(field, known.iter().copied());
        let near = near.map_or(String::new(), |near| format!("did you mean {near:?}? "));
        let remedy = format!("{near}the fields here are {}", known.join(", "));
        let failure = FaultKind::Unknown.fail(Span::default(), problem, remedy);
        failure.found(format!("{field:?}"))
    }
}

/// The names of a field, by its serde name.
fn names(field: &'static str) -> impl Iterator<Item = &'static str> {
    let names = field.split_once(':').map_or(field, |(names, _)| names);
    names.split('|')
}

/// Returns whether a field has this name. Comparing the beginning usually suffices.
fn is_called(field: &'static str, name: &str) -> bool {
    let rest = field.strip_prefix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '|']))
        || field.contains('|') && names(field).any(|other| other == name)
}

/// Place of a requested value; acts as the deserialiser.
#[derive(Clone, Copy)]
pub(super) struct Place<'d> {
    /// The value, or the object that lacks the field.
    value: &'d Value,
    missing: Option<&'static str>,
    /// Description of the value, if the serde name gives one.
    what: Option<&'static str>,
    /// True if the description belongs to the list that has this value as an entry.
    entry: bool,
}

impl<'d> Place<'d> {
    /// The place of an existing value.
    pub(super) fn of(value: &'d Value) -> Self {
        Place {
            value,
            missing: None,
            what: None,
            entry: false,
        }
    }

    /// The place of a field; `null` counts as missing.
    fn field(field: &'static str, object: &'d Value, entries: &'d [(String, Value)]) -> Self {
        let value = names(field).find_map(|name| {
            let (_, value) = entries.iter().find(|(key, _)| key == name)?;
            (value.data != Data::Null).then_some(value)
        });
        Place {
            value: value.unwrap_or(object),
            missing: value.is_none().then_some(field),
            what: field.split_once(':').map(|(_, what)| what.trim_start()),
            entry: false,
        }
    }

    /// The same place with a name for its value, unless it has a description.
    fn named(self, name: &'static str) -> Self {
        let what = self.what.filter(|_| !self.entry).or(Some(name));
        let entry = false;
        Place {
            what,
            entry,
            ..self
        }
    }

    fn fail(self, kind: FaultKind, problem: impl Into<String>, remedy: String) -> Failure {
        kind.fail(self.value.span, problem, remedy)
    }

    /// Returns the description of the value from the serde name, or serde's own.
    fn what(self, expected: &dyn Expected) -> String {
        match (self.what, self.entry) {
            (Some(list), true) => {
                let list = list.split_once(':').map_or(list, |(list, _)| list);
                format!("an entry of {list}")
            }
            (Some(what), false) => what.into(),
            (None, _) => match expected.to_string().as_str() {
                "a sequence" => "a list".into(),
                "a borrowed string" => "a string".into(),
                "a boolean" => "`true` or `false`".into(),
                "u64" | "i64" | "u128" | "f64" => "a number".into(),
                words => words.replace("an array of length", "a list of"),
            },
        }
    }

    /// The value, which must exist.
    fn data(self, expected: &dyn Expected) -> Result<&'d Data, Failure> {
        let Some(field) = self.missing else {
            return Ok(&self.value.data);
        };
        let names: Vec<_> = names(field).collect();
        let mut remedy = format!("add `{}`: {}", names[0], self.what(expected));
        if names.len() > 1 {
            remedy += &format!(" ({} will do)", names.join(", "));
        }
        // The problem is reported at the object that lacks the field.
        let is_null = |name: &&str| self.value.field(name).filter(|v| v.data == Data::Null);
        match names.iter().find_map(is_null) {
            Some(null) => {
                let problem = format!("the field `{}` is null, which counts as missing", names[0]);
                Err(FaultKind::Missing.fail(null.span, problem, remedy))
            }
            None => {
                let problem = format!("the field `{}` is missing", names[0]);
                Err(self.fail(FaultKind::Missing, problem, remedy))
            }
        }
    }

    fn wrong_type(self, expected: &dyn Expected) -> Failure {
        let problem = format!("{} stands here", self.value.kind());
        let remedy = format!("give {}", self.what(expected));
        self.fail(FaultKind::Type, problem, remedy)
    }

    /// An integer between `least` and `largest`.
    fn integer(self, least: i64, largest: i64, expected: &dyn Expected) -> Result<i64, Failure> {
        let integer = match *self.data(expected)? {
            Data::Unsigned(u) => i128::from(u),
            Data::Negative(i) => i128::from(i),
            // 5.0 is an integer in JSON; the conversion saturates.
            Data::Float(f) if f.abs() > LARGEST_VALUE as f64 || f.fract() == 0.0 => f as i128,
            Data::Float(_) => {
                let remedy = format!("give {} as an integer", self.what(expected));
                return Err(self.fail(FaultKind::Value, "the value is not an integer", remedy));
            }
            Data::String(_) => {
                let problem = "a string stands where a number belongs";
                let how = "as a plain integer, without quotes or unit";
                let remedy = format!("give {} {how}", self.what(expected));
                return Err(self.fail(FaultKind::Type, problem, remedy));
            }
            _ => return Err(self.wrong_type(expected)),
        };
        let most = i128::from(largest);
        let power = if largest == i64::MAX { 63 } else { 53 };
        let (problem, how) = match i64::try_from(integer) {
            Ok(integer) if integer >= least && (-most..=most).contains(&integer.into()) => {
                return Ok(integer);
            }
            Ok(integer) if integer < least && i128::from(integer) >= -most => {
                ("the value is negative", ": an integer from 0".into())
            }
            _ => (
                "the value is too large",
                format!(", up to 2^{power} - 1 = {largest}: check the unit"),
            ),
        };
        let remedy = format!("give {}{how}", self.what(expected));
        Err(self.fail(FaultKind::Value, problem, remedy))
    }

    /// The entries of a list, each described as an entry of it.
    fn entries(self, list: &'d [Value]) -> impl ExactSizeIterator<Item = Place<'d>> {
        let entry = Place {
            entry: true,
            ..self
        };
        list.iter().map(move |value| Place { value, ..entry })
    }
}

impl<'d> IntoDeserializer<'d, Failure> for Place<'d> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'d> Deserializer<'d> for Place<'d> {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Failure> {
        let read = match self.data(&visitor)? {
            Data::Null => visitor.visit_unit(),
            Data::Bool(truth) => visitor.visit_bool(*truth),
            Data::Unsigned(number) => visitor.visit_u64(*number),
            Data::Negative(number) => visitor.visit_i64(*number),
            Data::Float(number) => visitor.visit_f64(*number),
            Data::String(text) => visitor.visit_borrowed_str(text),
            Data::Array(list) => visitor.visit_seq(SeqDeserializer::new(self.entries(list))),
            Data::Object(_) => return Err(self.wrong_type(&visitor)),
        };
        read.map_err(|e| match e.fault.problem.as_str() {
            "" => self.wrong_type(&e.fault.remedy.as_str()),
            _ => e,
        })
    }

    fn deserialize_u64<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Failure> {
        let integer = self.integer(0, LARGEST_VALUE as i64, &visitor)?;
        visitor.visit_i64(integer)
    }

    fn deserialize_i64<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Failure> {
        let integer = self.integer(i64::MIN, LARGEST_VALUE as i64, &visitor)?;
        visitor.visit_i64(integer)
    }

    /// A sum, which may be larger than the value of a single node.
    fn deserialize_u128<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Failure> {
        let integer = self.integer(0, i64::MAX, &visitor)?;
        visitor.visit_i64(integer)
    }

    fn deserialize_option<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Failure> {
        match self.missing {
            Some(_) => visitor.visit_none(),
            None => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'d>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Failure> {
        visitor.visit_newtype_struct(self.named(name))
    }

    fn deserialize_tuple<V: Visitor<'d>>(self, n: usize, visitor: V) -> Result<V::Value, Failure> {
        match self.data(&visitor)? {
            Data::Array(list) if list.len() == n => self.deserialize_any(visitor),
            _ => Err(self.wrong_type(&visitor)),
        }
    }

    /// Reads an object: unknown fields are reported first, then the known fields are read,
    /// including missing ones.
    fn deserialize_struct<V: Visitor<'d>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        let object = self.value;
        match name {
            "$spanned" => return visitor.visit_seq(SeqDeserializer::new([self; 2].into_iter())),
            "$span" => {
                let ends = [object.span.start, object.span.end];
                return visitor.visit_seq(SeqDeserializer::new(ends.into_iter()));
            }
            _ => {}
        }
        let place = self.named(name);
        let Data::Object(entries) = place.data(&visitor)? else {
            return Err(place.wrong_type(&visitor));
        };
        let is_known = |key: &str| fields.iter().any(|field| is_called(field, key));
        let mut unknown = entries.iter().filter(|(key, _)| !is_known(key));
        let known = fields
            .iter()
            .map(|f| (*f, Place::field(f, object, entries)));
        let strange = unknown
            .clone()
            .map(|(key, value)| (key.as_str(), Place::of(value)));
        let read = visitor.visit_map(MapDeserializer::new(strange.chain(known)));
        read.map_err(|mut e| {
            if e.span == Span::default() {
                e.span = unknown.next().map_or(object.span, |(_, value)| value.span);
            }
            e
        })
    }

    fn deserialize_enum<V: Visitor<'d>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Failure> {
        if name == "$text_or" {
            let is_text = self.missing.is_none() && matches!(self.value.data, Data::String(_));
            let variant = (variants[usize::from(!is_text)], self);
            let map = MapDeserializer::new(iter::once(variant));
            return visitor.visit_enum(MapAccessDeserializer::new(map));
        }
        let words: Vec<_> = variants.iter().map(|word| format!("{word:?}")).collect();
        let words = match words.split_last() {
            Some((last, before)) => format!("{} or {last}", before.join(", ")),
            None => String::new(),
        };
        let place = Place { what: None, ..self };
        match place.data(&words.as_str())? {
            Data::String(word) if variants.contains(&word.as_str()) => {
                visitor.visit_enum(BorrowedStrDeserializer::new(word))
            }
            Data::String(_) => {
                let problem = format!("the {name} is unknown");
                Err(self.fail(FaultKind::Value, problem, format!("give {words}")))
            }
            _ => Err(place.wrong_type(&words.as_str())),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'d>>(self, visitor: V) -> Result<V::Value, Failure> {
        self.data(&visitor)?;
        visitor.visit_unit()
    }

    serde::forward_to_deserialize_any! { <V: Visitor<'d>>
        bool i8 i16 i32 i128 u8 u16 u32 f32 f64 char str string bytes byte_buf unit unit_struct
        seq tuple_struct map identifier
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields, rename = "a test: an object")]
    struct Test<'d> {
        #[serde(rename = "mem|ram: a size in bytes")]
        size: Spanned<u64>,
        #[serde(borrow, rename = "names: a list of names or numbers")]
        names: Option<Vec<TextOr<'d, i64>>>,
        unit: Option<Unit>,
        pair: Option<[bool; 2]>,
        #[serde(deserialize_with = "lenient")]
        label: Option<&'d str>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename = "unit", rename_all = "lowercase")]
    enum Unit {
        Kib,
        Mib,
    }

    #[test]
    fn fields_have_alternatives_places_and_defaults() {
        let text = r#"{"ram": 5.0, "mem": null, "names": ["a", -1], "unit": "mib", "label": 7}"#;
        let document = Document::parse("test", text.as_bytes()).unwrap();
        let test: Test<'_> = document.read().unwrap();
        assert_eq!((*test.size, test.size.span.start), (5, 8));
        assert_eq!(test.names.unwrap(), [TextOr::Text("a"), TextOr::Other(-1)]);
        assert!(matches!(test.unit, Some(Unit::Mib)) && test.pair.is_none());
        assert_eq!(test.label, None);
    }

    #[test]
    fn errors_say_where_what_was_found_and_what_would_be_right() {
        for (text, wanted) in [
            (
                "7",
                "test:1:1: an integer stands here, found 7; give a test: an object",
            ),
            (
                "{\"unit\": \"kib\"}",
                "test:1:1: the field `mem` is missing, found the fields unit; \
                 add `mem`: a size in bytes (mem, ram will do)",
            ),
            (
                "{\"mem\": -1, \"max\": 1}",
                "test:1:20: max: the field \"max\" is unknown, found \"max\"; \
                 the fields here are mem, ram, names, unit, pair, label",
            ),
            (
                "{\"ram\": -1}",
                "test:1:9: ram: the value is negative, found -1; \
                 give a size in bytes: an integer from 0",
            ),
            (
                "{\"ram\": 1, \"names\": [\"a\", {}]}",
                "test:1:27: names[1]: an object stands here, found an object of 0 fields; \
                 give an entry of a list of names or numbers",
            ),
            (
                "{\"ram\": 1, \"unit\": \"gib\"}",
                "test:1:20: unit: the unit is unknown, found \"gib\"; give \"kib\" or \"mib\"",
            ),
            (
                "{\"ram\": 1, \"pair\": [true]}",
                "test:1:20: pair: a list stands here, found a list of 1; \
                 give a list of 2",
            ),
        ] {
            let document = Document::parse("test", text.as_bytes()).unwrap();
            let failure = document.read::<Test<'_>>().unwrap_err();
            assert_eq!(document.error(failure).to_string(), wanted, "{text}");
        }
    }
}
