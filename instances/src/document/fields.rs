//! Typed access to the values of a document.

use super::{Data, Document, FaultKind, ReadError, Value};
use crate::instance::LARGEST_VALUE;

/// The fields of an object.
#[derive(Clone, Copy)]
pub(crate) struct Fields<'d> {
    /// The document.
    pub document: &'d Document,
    /// The object itself.
    pub value: &'d Value,
    entries: &'d [(String, Value)],
}

impl<'d> Fields<'d> {
    /// A field that may be missing; `null` counts as missing.
    pub(crate) fn get(&self, key: &str) -> Option<&'d Value> {
        let (_, value) = self.entries.iter().find(|(k, _)| k == key)?;
        (value.data != Data::Null).then_some(value)
    }

    /// A field that must be there; `what` says what it holds.
    pub(crate) fn need(&self, key: &str, what: &str) -> Result<&'d Value, ReadError> {
        self.get(key).ok_or_else(|| {
            self.document
                .fail_found(
                    self.value,
                    format!("the field `{key}` is missing"),
                    self.names(),
                    format!("add `{key}`: {what}"),
                )
                .of_kind(FaultKind::Missing)
        })
    }

    /// An error unless every field is one of `known`.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), ReadError> {
        match self
            .entries
            .iter()
            .find(|(k, _)| !known.contains(&k.as_str()))
        {
            None => Ok(()),
            Some((key, value)) => Err(self
                .document
                .fail_found(
                    value,
                    format!("the field {key:?} is unknown"),
                    format!("{key:?}"),
                    format!("the fields here are {}", known.join(", ")),
                )
                .of_kind(FaultKind::Unknown)),
        }
    }

    fn names(&self) -> String {
        let names: Vec<_> = self
            .entries
            .iter()
            .map(|(k, _)| k.as_str())
            .take(12)
            .collect();
        if names.is_empty() {
            "no field".into()
        } else {
            format!("the fields {}", names.join(", "))
        }
    }
}

impl Document {
    /// The fields of an object; `what` says what the value should be.
    pub(crate) fn fields<'d>(
        &'d self,
        value: &'d Value,
        what: &str,
    ) -> Result<Fields<'d>, ReadError> {
        match &value.data {
            Data::Object(entries) => Ok(Fields {
                document: self,
                value,
                entries,
            }),
            _ => Err(self.wrong_type(value, what)),
        }
    }

    /// The elements of a list.
    pub(crate) fn list<'d>(&self, value: &'d Value, what: &str) -> Result<&'d [Value], ReadError> {
        match &value.data {
            Data::Array(list) => Ok(list),
            _ => Err(self.wrong_type(value, what)),
        }
    }

    /// A string.
    pub(crate) fn string<'d>(&self, value: &'d Value, what: &str) -> Result<&'d str, ReadError> {
        match &value.data {
            Data::String(text) => Ok(text),
            _ => Err(self.wrong_type(value, what)),
        }
    }

    /// `true` or `false`.
    pub(crate) fn truth(&self, value: &Value, what: &str) -> Result<bool, ReadError> {
        match value.data {
            Data::Bool(b) => Ok(b),
            _ => Err(self.wrong_type(value, what)),
        }
    }

    /// An integer between 0 and [`LARGEST_VALUE`]; `what` says what it measures and in which unit.
    pub(crate) fn unsigned(&self, value: &Value, what: &str) -> Result<u64, ReadError> {
        let signed = self.signed(value, what)?;
        u64::try_from(signed).map_err(|_| {
            self.fail(
                value,
                "the value is negative",
                format!("give {what}: an integer from 0"),
            )
        })
    }

    /// An integer between -[`LARGEST_VALUE`] and [`LARGEST_VALUE`].
    pub(crate) fn signed(&self, value: &Value, what: &str) -> Result<i64, ReadError> {
        let largest = LARGEST_VALUE as i64;
        let too_large = || {
            self.fail(
                value,
                "the value is too large",
                format!("give {what}, up to 2^53 - 1 = {LARGEST_VALUE}: check the unit"),
            )
        };
        match value.data {
            Data::Unsigned(u) if u <= LARGEST_VALUE => Ok(u as i64),
            Data::Negative(i) if i >= -largest => Ok(i),
            Data::Float(f) if f.abs() > LARGEST_VALUE as f64 => Err(too_large()),
            // 5.0 is an integer in JSON; the conversion is exact in this range.
            Data::Float(f) if f.fract() == 0.0 => Ok(f as i64),
            Data::Float(_) => Err(self.fail(
                value,
                "the value is not an integer",
                format!("give {what} as an integer"),
            )),
            Data::Unsigned(_) | Data::Negative(_) => Err(too_large()),
            Data::String(_) => Err(self
                .fail(
                    value,
                    "a string stands where a number belongs",
                    format!("give {what} as a plain integer, without quotes or unit"),
                )
                .of_kind(FaultKind::Type)),
            _ => Err(self.wrong_type(value, what)),
        }
    }

    /// A finite number.
    pub(crate) fn float(&self, value: &Value, what: &str) -> Result<f64, ReadError> {
        match value.data {
            Data::Unsigned(u) => Ok(u as f64),
            Data::Negative(i) => Ok(i as f64),
            Data::Float(f) => Ok(f),
            _ => Err(self.wrong_type(value, what)),
        }
    }

    /// An index below `count`.
    pub(crate) fn index(
        &self,
        value: &Value,
        count: usize,
        what: &str,
    ) -> Result<usize, ReadError> {
        let index = self.unsigned(value, what)? as usize;
        if index < count {
            return Ok(index);
        }
        Err(self
            .fail(
                value,
                format!("there is no {what} with this number"),
                if count == 0 {
                    "there is none at all".to_owned()
                } else {
                    format!("numbers go from 0 to {}", count - 1)
                },
            )
            .of_kind(FaultKind::Reference))
    }

    /// An error about the type of a value.
    pub(crate) fn wrong_type(&self, value: &Value, what: &str) -> ReadError {
        self.fail(
            value,
            format!("{} stands here", value.kind()),
            format!("give {what}"),
        )
        .of_kind(FaultKind::Type)
    }
}
