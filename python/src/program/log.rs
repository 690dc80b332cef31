//! The log of a solve, as the command line shows it.

use super::Program;
use super::answer::{Answer, ProgramProgress};
use pyo3::prelude::*;
use remat_report::search_log::{Ending, Head, SearchTable, Snapshot};
use std::sync::{Mutex, PoisonError};

/// The text of a solve's log: a head, rows of a table, an end.
#[pyclass(frozen, module = "remat_bb")]
#[derive(Default)]
pub struct SearchLog {
    table: Mutex<SearchTable>,
}

#[pymethods]
impl SearchLog {
    #[new]
    fn new() -> Self {
        SearchLog::default()
    }

    /// The version, the size of a program, and the settings that differ from their defaults.
    fn head(&self, program: &Program, settings: Vec<(String, String)>) -> String {
        let program = program.lock();
        let head = Head {
            name: program.name().into(),
            rows: program.num_rows(),
            columns: program.num_cols(),
            integers: program
                .cols()
                .filter(|&col| program.kind(col).is_ok_and(|kind| kind.is_integer()))
                .count(),
            nonzeros: program.num_nonzeros(),
            settings,
        };
        head.text()
    }

    /// The row of a snapshot, marked where its objective is new. A header comes before the first.
    fn row(&self, snapshot: &ProgramProgress) -> String {
        let mut table = self.table.lock().unwrap_or_else(PoisonError::into_inner);
        table.marked_row(&Snapshot {
            nodes: snapshot.nodes,
            open: snapshot.open,
            lp_iterations: Some(snapshot.lp_iterations),
            bound: Some(snapshot.bound),
            objective: snapshot.objective,
            gap: snapshot.gap,
            seconds: snapshot.seconds,
            found_by: None,
        })
    }

    /// The status, objective, bound and gap of an answer, and the work that it took.
    fn ending(&self, answer: &Answer) -> String {
        let answer = &answer.inner;
        let ending = Ending {
            status: answer.ending.words(),
            objective: answer.points.first().map(|point| point.objective),
            bound: Some(answer.bound),
            gap: Some(answer.gap()),
            nodes: answer.info.nodes,
            lp_iterations: answer.info.lp_iterations,
            seconds: answer.info.seconds,
        };
        ending.text()
    }
}
