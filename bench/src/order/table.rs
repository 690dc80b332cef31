//! Rows of the comparison of orders, as text, CSV and a picture.

use crate::bars::{self, BarGroup};
use crate::csv;
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

/// Columns of the table; sizes are in bytes.
const COLUMNS: [&str; 15] = [
    "graph",
    "variant",
    "operators",
    "program",
    "lpmf",
    "best_rule",
    "peak",
    "bound",
    "states",
    "seconds",
    "found_by",
    "bound_by",
    "with_addresses",
    "with_addresses_bound",
    "with_addresses_seconds",
];

/// The rows as CSV, sizes in bytes.
pub fn csv(rows: &[OrderRow]) -> String {
    let mut text = COLUMNS.join(",") + "\n";
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

/// The rows of one variant of a table as bars, percent above the bound, as SVG text. Errors call
/// the table `file`.
///
/// # Errors
/// [`Failure::Usage`] with line and column, and a message of the drawing library.
pub fn picture(file: &str, table: &str, variant: Variant) -> Result<String, Failure> {
    let lines = csv::lines(file, table, &COLUMNS)?;
    let rows = lines
        .iter()
        .filter(|l| l.text("variant") == variant.as_str());
    let groups = rows.map(|line| {
        let bound = line.value::<f64>("bound")?.max(1.0);
        let above = |name: &&str| {
            let bytes: Option<f64> = line.optional(name)?;
            Ok(bytes.map(|bytes| 100.0 * (bytes / bound - 1.0)))
        };
        let heights = ["program", "lpmf", "best_rule", "peak", "with_addresses"];
        Ok(BarGroup {
            name: short(line.text("graph")),
            values: heights.iter().map(above).collect::<Result<_, Failure>>()?,
        })
    });
    let groups: Vec<BarGroup> = groups.collect::<Result<_, Failure>>()?;
    let title = format!("Peak memory by order ({})", variant.as_str());
    let explanation = "percent above what is proven that every order needs";
    let names = ["program", "LPMF", "best rule", "search", "with addresses"];
    Ok(bars::draw((&title, explanation), &names, &groups)?)
}

/// The rows of a table as Markdown: of every graph its strictest sound variant. Errors call the
/// table `file`.
///
/// # Errors
/// [`Failure::Usage`] with line and column.
pub fn markdown(file: &str, table: &str) -> Result<String, Failure> {
    let lines = csv::lines(file, table, &COLUMNS)?;
    let mut text = String::from(
        "| graph | variant | operators | program MB | LPMF MB | least peak, bytes | bound \
         | saved | states | s |\n\
         |---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let strict = Variant::SoundRng.as_str();
    for line in &lines {
        let (graph, variant) = (line.text("graph"), line.text("variant"));
        let mut others = lines.iter().filter(|l| l.text("graph") == graph);
        let is_strictest = variant == strict
            || variant == Variant::Sound.as_str() && others.all(|l| l.text("variant") != strict);
        if !is_strictest {
            continue;
        }
        let value = |name| line.value::<f64>(name);
        let megabytes = |name| Ok::<_, Failure>(value(name)? / 1e6);
        let (program, peak) = (value("program")?, value("peak")?);
        let _ = writeln!(
            text,
            "| {} | {variant} | {} | {:.3} | {:.3} | {} | {} | {:.2}% | {} | {:.3} |",
            short(graph),
            line.text("operators"),
            megabytes("program")?,
            megabytes("lpmf")?,
            grouped(line.value("peak")?),
            grouped(line.value("bound")?),
            100.0 * (program - peak) / program,
            line.text("states"),
            value("seconds")?,
        );
    }
    Ok(text)
}

/// A number with a comma after every three digits.
fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The name of a graph for a picture: parameters of a model with spaces, without its batch.
fn short(name: &str) -> String {
    let parts = name.split(['?', '&']);
    let parts = parts.filter(|part| !part.starts_with("batch="));
    parts.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_models_keep_what_tells_them_apart() {
        assert_eq!(short("gpt2?layers=48&batch=1"), "gpt2 layers=48");
        assert_eq!(short("resnet18_b1"), "resnet18_b1");
    }

    #[test]
    fn a_page_shows_the_strictest_sound_variant() {
        let line = |graph: &str, variant: &str| {
            format!("{graph},{variant},7,2000000,1500000,1,1000000,1000000,3,0.0123,a,b,,,\n")
        };
        let rows = [
            line("a", "sound"),
            line("a", "sound+rng"),
            line("b?batch=1", "sound"),
        ];
        let table = COLUMNS.join(",") + "\n" + &rows.concat() + &line("b?batch=1", "free");
        let text = markdown("t.csv", &table).expect("a table");
        let shown: Vec<&str> = text.lines().skip(2).collect();
        let rest = "7 | 2.000 | 1.500 | 1,000,000 | 1,000,000 | 50.00% | 3 | 0.012 |";
        assert_eq!(
            shown,
            [
                format!("| a | sound+rng | {rest}"),
                format!("| b | sound | {rest}")
            ]
        );
    }
}
