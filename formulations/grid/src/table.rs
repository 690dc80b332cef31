//! Tables of merged results.

use crate::merge::{Merged, MergedRow};
use std::fmt::Write;

/// Columns after the axes.
const COLUMNS: &str = "instance,budget_bytes,budget_percent,status,objective,overhead_percent,\
                       peak_memory_bytes,bound,bound_scope,gap,plain_peak_bytes,base_cost,\
                       cost_unit,plan,result";

impl Merged {
    /// The table as CSV. It has no times: any way to the same results gives the same bytes.
    pub fn csv(&self) -> String {
        let mut text = format!("job,{},{COLUMNS}\n", self.columns.join(","));
        for row in &self.rows {
            text += &row.line();
        }
        text
    }

    /// The times as CSV.
    pub fn times(&self) -> String {
        let mut text = "job,result,seconds,settled\n".to_owned();
        for row in &self.rows {
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{},{},{:.3},{}",
                row.job, row.key, row.seconds, row.settled
            );
        }
        text
    }
}

impl MergedRow {
    /// The budget as a share of the peak without recomputation in percent.
    pub fn budget_percent(&self) -> f64 {
        self.budget_bytes as f64 / self.facts.plain_peak_bytes.max(1) as f64 * 100.0
    }

    fn line(&self) -> String {
        let number = |n: Option<u64>| n.map_or_else(String::new, |n| n.to_string());
        let mut cells = vec![self.job.to_string()];
        cells.extend(self.values.iter().map(|value| quoted(value)));
        cells.extend([
            quoted(&self.facts.instance),
            self.budget_bytes.to_string(),
            format!("{:.4}", self.budget_percent()),
            self.status.clone(),
            number(self.objective),
            self.overhead_percent()
                .map_or_else(String::new, |over| format!("{over:.4}")),
            number(self.peak_memory_bytes),
            number(self.bound),
            quoted(&self.bound_scope),
            self.gap.map_or_else(String::new, |gap| format!("{gap:.6}")),
            self.facts.plain_peak_bytes.to_string(),
            self.facts.base_cost.to_string(),
            quoted(&self.facts.cost_unit),
            self.plan.clone().unwrap_or_default(),
            self.key.clone(),
        ]);
        cells.join(",") + "\n"
    }
}

/// A cell, in quotes if it has characters that separate cells.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}
