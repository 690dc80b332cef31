//! Warnings of a reader.

use super::{EventFields, LogTable};

/// A line for each thing that a reader leaves out of a file.
pub struct ReaderLog(pub String);

impl LogTable for ReaderLog {
    const TARGET: &'static str = "remat_lp";

    fn text(&mut self, event: &EventFields) -> String {
        let text = |field| event.text(field).unwrap_or_default();
        let [section, set, first] = ["section", "set", "first"].map(text);
        match event.name {
            "set left out" => format!(
                "{}: warning: the {section} set {set:?} is left out: the first one, {first:?}, counts\n",
                self.0
            ),
            _ => String::new(),
        }
    }
}
