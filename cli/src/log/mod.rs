//! Events of the libraries as lines on standard error: one file a table.
//!
//! Lines that cannot be written (a closed pipe, a full disk) are lost; that is no reason to end
//! the work they tell of.

mod lp;
mod mip;
mod reader;

pub use lp::SimplexLog;
pub use mip::SearchLog;
pub use reader::ReaderLog;

use crate::visible::visible;
use std::fmt::Debug;
use std::io::Write;
use std::sync::{Mutex, PoisonError};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// A table that events of one library are lines of.
pub trait LogTable: Send + 'static {
    /// The target of these events.
    const TARGET: &'static str;

    /// The text for an event, line ends included; empty where it is left out.
    fn text(&mut self, event: &EventFields) -> String;
}

/// Runs `work` and shows its events in a table on standard error, unless `quiet`. Events of other
/// threads than this one are not seen.
pub fn shown<T>(table: impl LogTable, quiet: bool, work: impl FnOnce() -> T) -> T {
    if quiet {
        return work();
    }
    tracing::subscriber::with_default(TableWriter(Mutex::new(table)), work)
}

/// The fields of an event.
pub struct EventFields {
    name: &'static str,
    values: Vec<(&'static str, FieldValue)>,
}

enum FieldValue {
    Count(u64),
    Number(f64),
    Flag(bool),
    Text(String),
}

impl EventFields {
    fn of(event: &Event<'_>) -> EventFields {
        let mut fields = EventFields {
            name: event.metadata().name(),
            values: Vec::new(),
        };
        event.record(&mut fields);
        fields
    }

    fn value(&self, name: &str) -> Option<&FieldValue> {
        let found = self.values.iter().find(|(n, _)| *n == name);
        found.map(|(_, value)| value)
    }

    fn counted(&self, name: &str) -> Option<u64> {
        match self.value(name) {
            Some(FieldValue::Count(count)) => Some(*count),
            _ => None,
        }
    }

    /// A count; 0 where it is missing.
    fn count(&self, name: &str) -> u64 {
        self.counted(name).unwrap_or(0)
    }

    fn number(&self, name: &str) -> Option<f64> {
        match self.value(name) {
            Some(FieldValue::Number(number)) => Some(*number),
            _ => None,
        }
    }

    fn flag(&self, name: &str) -> bool {
        matches!(self.value(name), Some(FieldValue::Flag(true)))
    }

    fn text(&self, name: &str) -> Option<&str> {
        match self.value(name) {
            Some(FieldValue::Text(text)) => Some(text),
            _ => None,
        }
    }
}

impl Visit for EventFields {
    fn record_u64(&mut self, field: &Field, value: u64) {
        self.values.push((field.name(), FieldValue::Count(value)));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.values.push((field.name(), FieldValue::Number(value)));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.values.push((field.name(), FieldValue::Flag(value)));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.values
            .push((field.name(), FieldValue::Text(value.into())));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let text = format!("{value:?}");
        self.values.push((field.name(), FieldValue::Text(text)));
    }
}

/// Writes the lines of one table.
struct TableWriter<T>(Mutex<T>);

impl<T: LogTable> Subscriber for TableWriter<T> {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        // Events, and the question whether one is wanted.
        !metadata.is_span() && metadata.target() == T::TARGET
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = table.text(&EventFields::of(event));
        let _ = std::io::stderr().write_all(visible(&text).as_bytes());
    }

    // Spans are not enabled.
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    /// Keeps what the tables of the tests say, and writes nothing.
    struct Kept<T>(T, Arc<Mutex<String>>);

    impl<T: LogTable> LogTable for Kept<T> {
        const TARGET: &'static str = T::TARGET;

        fn text(&mut self, event: &EventFields) -> String {
            *self.1.lock().unwrap() += &self.0.text(event);
            String::new()
        }
    }

    /// The text that a table has for what `work` emits.
    pub(super) fn text_of(table: impl LogTable, work: impl FnOnce()) -> String {
        let kept = Arc::new(Mutex::new(String::new()));
        shown(Kept(table, kept.clone()), false, work);
        kept.lock().unwrap().clone()
    }
}
