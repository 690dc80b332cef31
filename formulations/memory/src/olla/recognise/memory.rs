//! Rows of memory: the tensors in memory at a step count against the peak.

use super::roles::Roles;
use super::rows::Reading;

/// A row `peak >= base + sum of sizes * columns`.
#[derive(Clone, Debug)]
pub(super) struct MemoryRow {
    /// Columns, ascending, with their sizes in units of the peak.
    pub entries: Vec<(u32, f64)>,
    pub base: f64,
}

impl MemoryRow {
    /// Size that a column counts with.
    pub fn size(&self, column: u32) -> f64 {
        let at = self.entries.binary_search_by_key(&column, |e| e.0);
        at.map_or(0.0, |at| self.entries[at].1)
    }
}

/// The rows of memory of a model: all entries but the peak are columns with a role.
pub(super) fn rows(reading: &Reading<'_>, roles: &Roles) -> Vec<MemoryRow> {
    let mut rows = Vec::new();
    for row in &reading.rows {
        let peak = row.entries.iter().find(|e| e.0 == reading.peak);
        let Some(&(_, peak)) = peak else { continue };
        // An equation would bound the peak from above, too: it is no row of the program.
        if peak >= 0.0 || row.is_equation {
            continue;
        }
        let others = row.entries.iter().filter(|e| e.0 != reading.peak);
        if !others.clone().all(|e| roles.has_role(e.0) && e.1 > 0.0) {
            continue;
        }
        let entries = others.map(|e| (e.0, e.1 / -peak)).collect();
        // Adding 0 makes a negative zero positive.
        let base = row.upper / peak + 0.0;
        if base >= 0.0 {
            rows.push(MemoryRow { entries, base });
        }
    }
    rows
}
