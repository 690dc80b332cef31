//! Replays a recorded sequence of solves with rows added in between: `replay FILE`.
//!
//! Lines: `A cost lower upper k (row value)*` adds a column; `C n` and n lines `lower upper cost`;
//! `R lower upper k (col value)*`; `S objective seconds iterations` solves and compares.

use remat_lp::{ColId, LpOutcome, ModelBuilder, NewCol, NewRow, RowId, Sense, Settings, Solver};

fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    stat.split(' ')
        .next()
        .and_then(|ns| ns.parse::<f64>().ok())
        .unwrap_or(0.0)
        * 1e-9
}

fn flush(s: &mut Solver, rows: &mut Vec<NewRow>, cols: &mut Vec<NewCol>, clock: &mut f64) {
    let start = cpu_seconds();
    s.add_rows(rows).unwrap();
    s.add_cols(cols).unwrap();
    rows.clear();
    cols.clear();
    *clock += cpu_seconds() - start;
}

fn main() {
    let path = std::env::args().nth(1).expect("a file");
    let only: usize = std::env::args()
        .nth(2)
        .and_then(|a| a.parse().ok())
        .unwrap_or(usize::MAX);
    let text = std::fs::read_to_string(path).expect("readable");
    let mut lines = text.lines();
    let mut builder = ModelBuilder::new(Sense::Minimise);
    let mut solver: Option<Solver> = None;
    let mut pending = Vec::new();
    let mut pending_cols = Vec::new();
    let (mut ours, mut theirs, mut solves) = (0.0, 0.0, 0);
    while let Some(line) = lines.next() {
        let f: Vec<&str> = line.split(' ').collect();
        match f[0] {
            "C" => {
                for _ in 0..f[1].parse().unwrap() {
                    let v: Vec<f64> = lines
                        .next()
                        .unwrap()
                        .split(' ')
                        .map(|x| x.parse().unwrap())
                        .collect();
                    builder.add_col(v[2], v[0]..=v[1]);
                }
            }
            "R" => {
                let entries = f[4..]
                    .chunks_exact(2)
                    .map(|p| (ColId(p[0].parse().unwrap()), p[1].parse().unwrap()));
                let (l, u): (f64, f64) = (f[1].parse().unwrap(), f[2].parse().unwrap());
                if let Some(s) = &mut solver {
                    if !pending_cols.is_empty() {
                        flush(s, &mut pending, &mut pending_cols, &mut ours);
                    }
                    pending.push(NewRow::new(l..=u, entries));
                } else {
                    builder.add_row(l..=u, entries);
                }
            }
            "A" => {
                let entries = f[5..]
                    .chunks_exact(2)
                    .map(|p| (RowId(p[0].parse().unwrap()), p[1].parse().unwrap()));
                let v: Vec<f64> = f[1..4].iter().map(|x| x.parse().unwrap()).collect();
                if let Some(s) = &mut solver {
                    if !pending.is_empty() {
                        flush(s, &mut pending, &mut pending_cols, &mut ours);
                    }
                    pending_cols.push(NewCol::new(v[0], v[1]..=v[2], entries));
                } else {
                    let c = builder.add_col(v[0], v[1]..=v[2]);
                    entries.for_each(|(r, a)| builder.add_entry(r, c, a));
                }
            }
            _ => {
                let start = cpu_seconds();
                let s = solver.get_or_insert_with(|| {
                    Solver::new(
                        std::mem::take(&mut builder).build().unwrap(),
                        Settings::default(),
                    )
                });
                let mut none = 0.0;
                flush(s, &mut pending, &mut pending_cols, &mut none);
                let before = s.stats();
                let outcome = s.solve();
                let seconds = cpu_seconds() - start;
                let after = s.stats();
                let (objective, reference): (f64, f64) = (
                    match &outcome {
                        LpOutcome::Optimal(s) => s.objective,
                        other => panic!("{other:?}"),
                    },
                    f[1].parse().unwrap(),
                );
                let their: f64 = f[2].parse().unwrap();
                ours += seconds;
                theirs += their;
                println!(
                    "rows {:>6} cols {:>6}  {objective:>14.6} {:>9.1e}  d1 {} d2 {} p1 {} p2 {} flips {} fact {} ({} pivots)  {seconds:.3} s ({their} s)",
                    s.model().num_rows(),
                    s.model().num_cols(),
                    (objective - reference).abs() / reference.abs().max(1.0),
                    after.dual_phase1 - before.dual_phase1,
                    after.dual_phase2 - before.dual_phase2,
                    after.primal_phase1 - before.primal_phase1,
                    after.primal_phase2 - before.primal_phase2,
                    after.bound_flips - before.bound_flips,
                    after.factorisations - before.factorisations,
                    f[3],
                );
                solves += 1;
                if solves >= only {
                    break;
                }
            }
        }
    }
    println!(
        "{solves} solves, {} Mticks, {} pivots, {ours:.3} s here, {theirs:.3} s recorded",
        solver.as_ref().map_or(0, |s| s.stats().ticks / 1_000_000),
        solver.as_ref().map_or(0, |s| s.stats().iterations())
    );
}
