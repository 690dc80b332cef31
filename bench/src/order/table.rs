//! Rows of the comparison of orders, as text, CSV and a picture.

use crate::bars::{self, BarGroup};
use remat_bb::failure::Failure;
use remat_instances::order::Variant;
use remat_memory::memory_plan::MemoryPlanOutcome;
use remat_memory::order::OrderOutcome;
use std::fmt::Write;

/// One graph under one variant. Bytes are peaks, resident memory included.
pub struct OrderRow {
    /// Name of the graph.
    pub name: String,
    /// Edges that count.
    pub variant: Variant,
    /// Operators.
    pub operators: usize,
    /// Peak of the program's order.
    pub program_bytes: u64,
    /// Peak of LPMF's order.
    pub lpmf_bytes: u64,
    /// Least peak of all rules.
    pub best_rule_bytes: u64,
    /// The search for the order.
    pub outcome: OrderOutcome,
    /// The search for order and addresses.
    pub joint: MemoryPlanOutcome,
}

/// The line above the table.
pub fn header() -> String {
    format!(
        "{:<28} {:<9} {:>5} {:>15} {:>15} {:>15} {:>15} {:>15} {:>7} {:>7} {:>8} {:>8} {:<12} \
         {:<12} {:>15} {:>7} {:>8}",
        "graph",
        "variant",
        "ops",
        "program",
        "lpmf",
        "best rule",
        "peak",
        "bound",
        "gap",
        "saved",
        "states",
        "seconds",
        "found by",
        "bound by",
        "with addresses",
        "gap",
        "seconds"
    )
}

impl OrderRow {
    /// Returns whether the peak is proven least.
    pub fn is_proven(&self) -> bool {
        self.outcome.peak_bytes() == self.outcome.bound_bytes
    }

    /// Percent of a peak above the bound.
    fn above(&self, bytes: u64) -> f64 {
        let bound = self.outcome.bound_bytes.max(1) as f64;
        100.0 * (bytes as f64 / bound - 1.0)
    }

    /// The line of the table.
    pub fn line(&self) -> String {
        let OrderRow {
            outcome: order,
            joint,
            program_bytes: program,
            ..
        } = self;
        let peak = order.peak_bytes();
        let saved = 100.0 * (*program as f64 - peak as f64) / *program as f64;
        format!(
            "{:<28} {:<9} {:>5} {program:>15} {:>15} {:>15} {peak:>15} {:>15} {:>6.2}% \
             {saved:>6.2}% {:>8} {:>8.3} {:<12} {:<12} {:>15} {:>6.2}% {:>8.3}",
            self.name,
            self.variant.as_str(),
            self.operators,
            self.lpmf_bytes,
            self.best_rule_bytes,
            order.bound_bytes,
            100.0 * order.gap(),
            order.states,
            order.seconds,
            order.found_by.as_str(),
            order.bound_by.as_str(),
            joint.total_bytes,
            100.0 * (joint.total_bytes as f64 / joint.bound_bytes.max(1) as f64 - 1.0),
            joint.seconds,
        )
    }
}

/// The rows as CSV, sizes in bytes.
pub fn csv(rows: &[OrderRow]) -> String {
    let mut text = String::from(
        "graph,variant,operators,program,lpmf,best_rule,peak,bound,states,seconds,found_by,\
         bound_by,with_addresses,with_addresses_bound,with_addresses_seconds\n",
    );
    for row in rows {
        let (order, joint) = (&row.outcome, &row.joint);
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{},{},{:.4},{},{},{},{},{:.4}",
            row.name,
            row.variant.as_str(),
            row.operators,
            row.program_bytes,
            row.lpmf_bytes,
            row.best_rule_bytes,
            order.peak_bytes(),
            order.bound_bytes,
            order.states,
            order.seconds,
            order.found_by.as_str(),
            order.bound_by.as_str(),
            joint.total_bytes,
            joint.bound_bytes,
            joint.seconds,
        );
    }
    text
}

/// The rows of one variant as bars, percent above the bound, as SVG text.
///
/// # Errors
/// A message of the drawing library.
pub fn picture(rows: &[OrderRow], variant: Variant) -> Result<String, Failure> {
    let rows = rows.iter().filter(|row| row.variant == variant);
    let groups = rows.map(|row| BarGroup {
        name: row.name.split('?').next().unwrap_or_default().to_owned(),
        values: [
            row.program_bytes,
            row.lpmf_bytes,
            row.best_rule_bytes,
            row.outcome.peak_bytes(),
            row.joint.total_bytes,
        ]
        .map(|bytes| Some(row.above(bytes)))
        .to_vec(),
    });
    let groups: Vec<BarGroup> = groups.collect();
    let title = format!("Peak memory by order ({})", variant.as_str());
    let explanation = "percent above what is proven that every order needs";
    let names = ["program", "LPMF", "best rule", "search", "with addresses"];
    Ok(bars::draw((&title, explanation), &names, &groups)?)
}
