//! Warnings of a reader.

use super::{EventFields, LogTable};

/// A line for each remark of a reader on a file, whose name this is.
pub struct ReaderLog(pub String);

impl LogTable for ReaderLog {
    const TARGET: &'static str = "remat_lp";

    fn text(&mut self, event: &EventFields) -> String {
        if event.name != "file remark" {
            return String::new();
        }
        let (line, text) = (event.count("line"), event.text("text"));
        let text = text.unwrap_or_default();
        format!("{}, line {line}: warning: {text}\n", self.0)
    }
}
