//! Rows and points that a watcher hands in during the search.
//!
//! The watcher sees points by the program's handles. Its rows are kept: it is not asked again about
//! a point that one of them cuts off.

use super::numbers::{finite, gone, sides};
use super::starts::{check_start, completed};
use super::{Col, Compiled, Program, ProgramError, ProgramSettings, Watcher};
use remat_lp::{Bounds, ColId};
use remat_solver::mip::{CutSink, Heuristic, NodeView, Separator, SolutionSink};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Violation from which a row counts, as in the search.
const VIOLATED: f64 = 1e-6;
/// Distance from an integer that is ignored.
const INTEGRAL: f64 = 1e-6;

/// Parts of a watcher in a search, beyond observation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// True if its rows are part of the program: no point counts before the watcher was asked about
    /// it.
    pub lazy_rows: bool,
    /// True if it is asked about the relaxations of nodes, too.
    pub nodes: bool,
}

/// A row that a watcher hands in: `lower <= entries . x <= upper`, for all points of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Entries by column.
    pub entries: Vec<(Col, f64)>,
    /// Lower side.
    pub lower: f64,
    /// Upper side.
    pub upper: f64,
}

struct ModelRow {
    entries: Vec<(ColId, f64)>,
    lower: f64,
    upper: f64,
}

impl ModelRow {
    fn violation(&self, x: &[f64]) -> f64 {
        let terms = self.entries.iter().map(|&(j, v)| v * x[j.index()]);
        let value: f64 = terms.sum();
        (self.lower - value).max(value - self.upper)
    }

    fn hand_in(&self, sink: &mut CutSink) {
        sink.add(Bounds::new(self.lower, self.upper), self.entries.clone());
    }
}

/// Asks a watcher for rows and points.
pub(super) struct Asking {
    compiled: Arc<Compiled>,
    /// The program, for points with gaps.
    program: Arc<Program>,
    settings: ProgramSettings,
    watcher: Arc<dyn Watcher>,
    role: Role,
    /// Ends the search.
    stop: Arc<AtomicBool>,
    known: Mutex<KnownRows>,
}

#[derive(Default)]
struct KnownRows {
    rows: Vec<ModelRow>,
    /// The latest point to which the watcher did not object.
    approved: Vec<f64>,
    /// The first error in a row or point that the watcher handed in.
    failed: Option<ProgramError>,
}

impl Asking {
    pub fn new(
        compiled: &Arc<Compiled>,
        program: Arc<Program>,
        settings: &ProgramSettings,
        watcher: &Arc<dyn Watcher>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Asking {
            compiled: compiled.clone(),
            program,
            settings: settings.clone(),
            role: watcher.role(),
            watcher: watcher.clone(),
            stop,
            known: Mutex::default(),
        }
    }

    fn known(&self) -> MutexGuard<'_, KnownRows> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first error in a row or point of the watcher: it ended the search.
    pub fn failed(&self) -> Option<ProgramError> {
        self.known().failed.clone()
    }

    /// The row over the model's columns.
    ///
    /// # Errors
    /// [`ProgramError::Gone`] for a column that is not in the program, [`ProgramError::NotFinite`]
    /// for an entry that is not finite or a side that is NaN.
    fn of_model(&self, cut: Cut) -> Result<ModelRow, ProgramError> {
        let mut entries: Vec<(ColId, f64)> = Vec::with_capacity(cut.entries.len());
        for (col, value) in cut.entries {
            let place = self.compiled.cols.binary_search(&col);
            let id = ColId(place.map_err(|_| gone("column", col.index()))? as u32);
            let value = finite(value, || {
                format!("the entry of a new row in column {}", col.index())
            })?;
            match entries.iter_mut().find(|e| e.0 == id) {
                Some(entry) => entry.1 += value,
                None => entries.push((id, value)),
            }
        }
        let (lower, upper) = sides(cut.lower, cut.upper, || "a new row".into())?;
        Ok(ModelRow {
            entries,
            lower,
            upper,
        })
    }

    /// The point by handle; nearly integral values of integer columns are rounded.
    fn by_handle(&self, node: &NodeView<'_>) -> Vec<f64> {
        let values = node.x.iter().zip(node.integer).map(|(&v, &integer)| {
            let whole = integer && (v - v.round()).abs() <= INTEGRAL;
            if whole { v.round() } else { v }
        });
        let values: Vec<f64> = values.collect();
        self.compiled.by_col(&values, f64::NAN)
    }
}

impl Separator for Asking {
    fn separate(&self, node: &NodeView<'_>, sink: &mut CutSink) {
        let mut known = self.known();
        let before = known.rows.iter().filter(|r| r.violation(node.x) > VIOLATED);
        let before: Vec<&ModelRow> = before.collect();
        if !before.is_empty() {
            before.into_iter().for_each(|row| row.hand_in(sink));
            return;
        }
        let pairs = node.x.iter().zip(node.integer);
        let off = |(&v, &integer): (&f64, &bool)| integer && (v - v.round()).abs() > INTEGRAL;
        let integral = !pairs.into_iter().any(off);
        let asked = match integral {
            true => self.role.lazy_rows,
            false => self.role.nodes,
        };
        let x = self.by_handle(node);
        // NaN stands for removed columns, so the bits are compared.
        let same = |a: &[f64]| {
            a.iter()
                .map(|v| v.to_bits())
                .eq(x.iter().map(|v| v.to_bits()))
        };
        if !asked || integral && same(&known.approved) {
            return;
        }
        let rows = self.watcher.separate(&x, integral);
        let rows: Result<Vec<_>, _> = rows.into_iter().map(|cut| self.of_model(cut)).collect();
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => {
                self.stop.store(true, Ordering::Relaxed);
                known.failed.get_or_insert(error);
                return;
            }
        };
        let mut any = false;
        for row in rows {
            if row.violation(node.x) > VIOLATED {
                row.hand_in(sink);
                any = true;
            }
            known.rows.push(row);
        }
        if integral && !any {
            known.approved = x;
        }
    }

    fn is_lazy(&self) -> bool {
        self.role.lazy_rows
    }
}

impl Heuristic for Asking {
    fn name(&self) -> &'static str {
        "watcher"
    }

    fn run(&self, node: &NodeView<'_>, _budget: u64, sink: &mut SolutionSink) -> u64 {
        let points = self.watcher.suggest(&self.by_handle(node));
        for point in &points {
            if let Err(error) = check_start(&self.program, point, "a suggested point") {
                self.stop.store(true, Ordering::Relaxed);
                self.known().failed.get_or_insert(error);
                break;
            }
            let whole = self.compiled.complete(point).or_else(|| {
                let found = [false, true].into_iter();
                let mut found =
                    found.map(|alone| completed(&self.program, point, alone, &self.settings));
                self.compiled.complete(&found.find_map(|p| p)?)
            });
            if let Some(x) = whole {
                sink.add(x);
            }
        }
        (points.len() * node.x.len()) as u64
    }
}
