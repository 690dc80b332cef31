//! HiGHS beside us: the same sequence of additions and solves in the same process, alternating,
//! each on one thread.

use crate::clock::Stopwatch;
use crate::highs::simplex_options;
use highs::{Col, HighsModelStatus, Row};
use remat_lp::{Bounds, Model, NewCol, NewRow};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Relative difference of two objectives above which a solve counts as disagreeing.
const AGREE: f64 = 1e-6;

/// What the worker is told.
enum Event {
    Rows(Vec<NewRow>),
    Cols(Vec<NewCol>),
    Solve(f64, f64, u64),
    Summary,
}

/// HiGHS on a thread of its own (its handle belongs to one thread), told what ours is told. A call
/// to solve waits for it: one of the two works at a time.
pub struct Follower {
    events: Sender<Event>,
    answers: Receiver<String>,
}

impl Follower {
    /// A follower of an empty model, minimising.
    pub fn new() -> Follower {
        let (events, inbox) = channel();
        let (outbox, answers) = channel();
        std::thread::spawn(move || {
            let mut worker = Worker::new();
            while let Ok(event) = inbox.recv() {
                let answer = match event {
                    Event::Rows(rows) => {
                        worker.rows(&rows);
                        continue;
                    }
                    Event::Cols(cols) => {
                        worker.cols(&cols);
                        continue;
                    }
                    Event::Solve(objective, seconds, iterations) => {
                        worker.solve(objective, seconds, iterations);
                        String::new()
                    }
                    Event::Summary => worker.summary(),
                };
                if outbox.send(answer).is_err() {
                    break;
                }
            }
        });
        Follower { events, answers }
    }

    /// Takes over a whole program.
    pub fn model(&self, model: &Model) {
        let cols = (0..model.num_cols()).map(|j| {
            let bounds = Bounds::new(model.col_lower()[j], model.col_upper()[j]);
            NewCol::new(model.costs()[j], bounds, [])
        });
        let rows = (0..model.num_rows()).map(|i| {
            let row = remat_lp::RowId(i as u32);
            NewRow::new(model.row_bounds(row), model.row(row))
        });
        self.tell(Event::Cols(cols.collect()));
        self.tell(Event::Rows(rows.collect()));
    }

    /// Adds rows.
    pub fn rows(&self, rows: &[NewRow]) {
        self.tell(Event::Rows(rows.to_vec()));
    }

    /// Solves what we have just solved to `objective` in `seconds`.
    pub fn solve(&self, objective: f64, seconds: f64, iterations: u64) {
        self.tell(Event::Solve(objective, seconds, iterations));
        let _ = self.answers.recv();
    }

    /// Both times and their ratio, in a line.
    pub fn summary(&self) -> String {
        self.tell(Event::Summary);
        self.answers.recv().unwrap_or_default()
    }

    /// A worker that is gone shows in its summary.
    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }
}

/// A HiGHS model that keeps its basis between solves and counts its own time.
struct Worker {
    model: Option<highs::Model>,
    cols: Vec<Col>,
    rows: Vec<Row>,
    solves: usize,
    disagreements: usize,
    ours: f64,
    theirs: f64,
    /// Pivots, ours and theirs.
    iterations: (u64, u64),
}

impl Worker {
    fn new() -> Worker {
        let mut model = highs::ColProblem::default().optimise(highs::Sense::Minimise);
        simplex_options(&mut model);
        Worker {
            model: Some(model),
            cols: Vec::new(),
            rows: Vec::new(),
            solves: 0,
            disagreements: 0,
            ours: 0.0,
            theirs: 0.0,
            iterations: (0, 0),
        }
    }

    /// Adds rows.
    fn rows(&mut self, rows: &[NewRow]) {
        let Some(model) = &mut self.model else {
            return;
        };
        for row in rows {
            let entries: Vec<(Col, f64)> = row
                .entries
                .iter()
                .map(|&(c, v)| (self.cols[c.index()], v))
                .collect();
            let bounds = row.bounds.lower..=row.bounds.upper;
            self.rows.push(model.add_row(bounds, entries));
        }
    }

    /// Adds columns.
    fn cols(&mut self, cols: &[NewCol]) {
        let Some(model) = &mut self.model else {
            return;
        };
        for col in cols {
            let entries: Vec<(Row, f64)> = col
                .entries
                .iter()
                .map(|&(r, v)| (self.rows[r.index()], v))
                .collect();
            let bounds = col.bounds.lower..=col.bounds.upper;
            self.cols.push(model.add_col(col.cost, bounds, entries));
        }
    }

    /// Solves what we have just solved to `objective` in `seconds`.
    fn solve(&mut self, objective: f64, seconds: f64, iterations: u64) {
        let Some(model) = self.model.take() else {
            return;
        };
        let clock = Stopwatch::start();
        let solved = model.solve();
        self.theirs += clock.seconds();
        self.ours += seconds;
        self.solves += 1;
        self.iterations.0 += iterations;
        self.iterations.1 += solved.simplex_iteration_count().max(0) as u64;
        let found = solved.objective_value();
        let same = solved.status() == HighsModelStatus::Optimal
            && (found - objective).abs() <= AGREE * (1.0 + objective.abs());
        self.disagreements += !same as usize;
        self.model = Some(solved.into());
    }

    /// Both times and their ratio, in a line.
    fn summary(&self) -> String {
        format!(
            "{} solves: here {:.3} s and {} pivots, HiGHS {:.3} s and {} pivots, ratio {:.2}; {} disagree",
            self.solves,
            self.ours,
            self.iterations.0,
            self.theirs,
            self.iterations.1,
            self.ours / self.theirs,
            self.disagreements
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_lp::{ModelBuilder, Sense};

    #[test]
    fn a_follower_hears_of_rows_and_columns() {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x = b.add_col(1.0, 0.0..);
        let r = b.add_row(2.0.., [(x, 1.0)]);
        let f = Follower::new();
        f.model(&b.build().unwrap());
        f.solve(2.0, 1.0, 0);
        f.tell(Event::Cols(vec![NewCol::new(0.25, 0.0.., [(r, 0.5)])]));
        f.solve(1.0, 1.0, 0);
        f.rows(&[NewRow::new(1.0.., [(x, 1.0)])]);
        f.solve(1.5, 1.0, 0);
        let text = f.summary();
        assert!(text.starts_with("3 solves: here 3.000 s"), "{text}");
        assert!(text.ends_with("0 disagree"), "{text}");
        f.solve(7.0, 1.0, 0);
        assert!(f.summary().ends_with("1 disagree"));
    }
}
