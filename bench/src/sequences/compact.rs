//! The retention-edge form: cold with all memory rows, lazily from "keep everything", and rounds of
//! path cuts.

use super::record::Recorder;
use super::{Failure, Options};
use crate::clock::Stopwatch;
use remat_formulations::checkmate::CheckmateGraph;
use remat_formulations::checkmate::compact::{Compact, MemoryRow, Space};
use remat_formulations::checkmate::path_cuts::{
    SeparationSettings, path_cut_row, point_of, separate,
};
use remat_lp::certificate::safe_bound;
use remat_lp::presolve::PresolveSettings;
use remat_lp::{LpOutcome, NewRow, Settings, Solution, Solver};
use std::collections::BTreeSet;

pub(super) fn run(graph: CheckmateGraph, options: &Options) -> Result<(), Failure> {
    let space = if options.full {
        Space::Full
    } else {
        Space::Rectangular
    };
    let start = Stopwatch::start();
    let form = Compact::new(graph, space);
    println!(
        "{:?} space: {} columns, {} rows, {} memory rows left out; built in {:.2} s",
        form.space(),
        form.model().num_cols(),
        form.model().num_rows(),
        form.memory_rows().count(),
        start.seconds()
    );
    let mut run = Run {
        fresh: !options.warm,
        solver: Solver::new(form.model().clone(), Settings::default()),
        recorder: options.recorder()?,
        inside: BTreeSet::new(),
        seconds: 0.0,
        form: &form,
        verbose: options.verbose,
        rows_per_round: options.rows,
        rows_per_stage: options.stage_rows,
    };
    run.recorder.model(form.model())?;
    if options.all {
        let rows: Vec<NewRow> = form
            .memory_rows()
            .filter_map(|p| form.memory_row(p))
            .collect();
        run.inside.extend(form.memory_rows());
        run.add(&rows)?;
    } else if !options.slack {
        run.solver.set_basis(&form.keep_everything())?;
    }
    let mut solution = run.lazily()?;
    run.report("relaxation", &solution);
    #[cfg(feature = "highs")]
    if options.whole {
        whole(&form, run.seconds);
    }
    let limits = SeparationSettings {
        limit: options.per_round,
        ..Default::default()
    };
    let first = match form.space() {
        Space::Rectangular => form.graph().first_backward.unwrap_or(0) as usize,
        Space::Full => 0,
    };
    for round in 1..=options.cuts {
        let clock = Stopwatch::start();
        let cuts = separate(form.graph(), &point_of(&form, &solution.x), first, &limits);
        let seconds = clock.seconds();
        if cuts.is_empty() {
            break;
        }
        let rows: Vec<NewRow> = cuts.iter().map(|f| path_cut_row(&form, &f.cut)).collect();
        run.add(&rows)?;
        solution = run.lazily_after(rows.len())?;
        run.report(
            &format!(
                "round {round}, {} cuts, separated in {seconds:.3} s",
                rows.len()
            ),
            &solution,
        );
    }
    Ok(())
}

/// HiGHS on the program with all memory rows, by its simplex and by its interior point method with
/// crossover, both with presolve; `ours` are the seconds that we took for the relaxation.
#[cfg(feature = "highs")]
fn whole(form: &Compact, ours: f64) {
    let model = form.with_memory_rows();
    for (name, interior) in [("simplex", false), ("interior point and crossover", true)] {
        let run = crate::highs::solve(
            &model,
            crate::highs::HighsSettings {
                presolve: true,
                time_limit: 1e4,
                interior,
            },
        );
        let seconds = run.time.as_secs_f64();
        println!(
            "HiGHS, all {} rows at once, presolve, {name}: {}, {:.2}, {seconds:.3} s; here {ours:.3} s, ratio {:.3}",
            model.num_rows(),
            run.status,
            run.objective.unwrap_or(f64::NAN),
            ours / seconds
        );
    }
}

/// Cuts of a round from which on it is solved afresh.
const MANY_ROWS: usize = 50;

struct Run<'a> {
    fresh: bool,
    form: &'a Compact,
    solver: Solver,
    recorder: Recorder,
    inside: BTreeSet<MemoryRow>,
    seconds: f64,
    verbose: bool,
    rows_per_round: usize,
    rows_per_stage: usize,
}

impl Run<'_> {
    fn add(&mut self, rows: &[NewRow]) -> Result<(), Failure> {
        self.recorder.rows(rows)?;
        let clock = Stopwatch::start();
        self.solver.add_rows(rows)?;
        self.seconds += clock.seconds();
        Ok(())
    }

    fn lazily(&mut self) -> Result<Solution, Failure> {
        self.lazily_after(0)
    }

    /// Solves with memory rows coming in; afresh at first where many rows have just arrived.
    fn lazily_after(&mut self, new_rows: usize) -> Result<Solution, Failure> {
        let mut afresh = self.fresh && new_rows >= MANY_ROWS;
        loop {
            let before = self.solver.stats().iterations();
            let clock = Stopwatch::start();
            let outcome = if std::mem::take(&mut afresh) {
                self.solver.solve_afresh(&PresolveSettings::default())
            } else {
                self.solver.solve()
            };
            let seconds = clock.seconds();
            self.seconds += seconds;
            let iterations = self.solver.stats().iterations() - before;
            let LpOutcome::Optimal(solution) = outcome else {
                return Err(format!("the relaxation is not solved: {outcome:?}").into());
            };
            self.recorder.solve(
                solution.objective - self.form.model().offset(),
                seconds,
                iterations,
            )?;
            let mut places = Vec::new();
            let mut rows = Vec::new();
            let mut of_stage = vec![0; self.form.graph().len()];
            for (place, _) in self.form.violated_memory(&solution.x, 1e-7) {
                if rows.len() >= self.rows_per_round {
                    break;
                }
                let count = &mut of_stage[place.stage as usize];
                if *count >= self.rows_per_stage || self.inside.contains(&place) {
                    continue;
                }
                if let Some(row) = self.form.memory_row(place) {
                    *count += 1;
                    places.push(place);
                    rows.push(row);
                }
            }
            if self.verbose {
                println!(
                    "    {:.2} after {iterations} pivots, {seconds:.3} s; {} memory rows violated",
                    solution.objective,
                    rows.len()
                );
            }
            if rows.is_empty() {
                return Ok(solution);
            }
            self.inside.extend(places);
            self.add(&rows)?;
        }
    }

    fn report(&self, what: &str, solution: &Solution) {
        let bound = safe_bound(self.solver.model(), &solution.y);
        println!(
            "{:.2} (proven {bound:.2}), LP {:.2} s, {} pivots, {} memory rows: {what}",
            solution.objective,
            self.seconds,
            self.solver.stats().iterations(),
            self.inside.len()
        );
    }
}
