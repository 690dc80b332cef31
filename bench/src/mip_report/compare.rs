//! Two tables of runs, program by program.

use super::COLUMNS;
use crate::csv;
use crate::library::summary::shifted_mean;
use remat_bb::failure::Failure;
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

/// Shift of the means, in ticks: about a tenth of a second and a second of a core.
const SHIFTS: [f64; 2] = [4e7, 4e8];

/// A difference of work that counts as a difference: less is noise of a tie.
const TIE: f64 = 0.01;

/// One run.
#[derive(Clone, Debug)]
struct Run {
    ended: bool,
    objective: Option<f64>,
    bound: Option<f64>,
    ticks: f64,
    pivots: f64,
    nodes: f64,
}

/// Runs by set, and by name with seed.
type Runs = BTreeMap<String, BTreeMap<(String, u64), Run>>;

/// A program's runs before and after.
type Pair<'a> = (&'a (String, u64), &'a Run, &'a Run);

fn read(path: &Path) -> Result<Runs, Box<dyn Error>> {
    let file = path.display().to_string();
    let text = std::fs::read_to_string(path).map_err(|e| format!("{file}: {e}"))?;
    let mut runs = Runs::new();
    for line in csv::lines(&file, &text, &COLUMNS).map_err(words)? {
        let name = (
            line.text("name").to_owned(),
            line.value("seed").map_err(words)?,
        );
        let run = Run {
            ended: line.text("status") != "limit",
            objective: line.optional("objective").map_err(words)?,
            bound: line.optional("bound").map_err(words)?,
            ticks: line.value("ticks").map_err(words)?,
            pivots: line.value("pivots").map_err(words)?,
            nodes: line.value("nodes").map_err(words)?,
        };
        runs.entry(line.text("set").to_owned())
            .or_default()
            .insert(name, run);
    }
    Ok(runs)
}

fn words(failure: Failure) -> String {
    failure.to_string()
}

/// The comparison of two tables, a line for each set.
///
/// # Errors
/// Files that cannot be read, or that have other columns.
pub(super) fn tables(before: &Path, after: &Path) -> Result<String, Box<dyn Error>> {
    let (before, after) = (read(before)?, read(after)?);
    let mut out = String::from(
        "set        programs  ended           ticks (0.1 s)  ticks (1 s)  pivots  nodes  fewer : more      p  gaps (%)\n",
    );
    let mut wrong = String::new();
    for (set, old) in &before {
        let Some(new) = after.get(set) else { continue };
        let pairs: Vec<_> = (old.iter())
            .filter_map(|(name, old)| Some((name, old, new.get(name)?)))
            .collect();
        for (name, old, new) in &pairs {
            if contradict(old, new) || contradict(new, old) {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    wrong,
                    "WRONG: {set} {} {}: the tables contradict each other",
                    name.0, name.1
                );
            }
        }
        out += &line(set, &pairs);
    }
    Ok(out + &wrong)
}

/// Whether an optimum lies on the wrong side of the other run's bound. The sense shows in the order
/// of objective and bound.
fn contradict(proven: &Run, other: &Run) -> bool {
    let (true, Some(best), Some(bound)) = (proven.ended, proven.objective, other.bound) else {
        return false;
    };
    let tolerance = 1e-5 * best.abs().max(bound.abs());
    match other.objective {
        Some(o) if o > bound + tolerance => best < bound - tolerance,
        Some(o) if o < bound - tolerance => best > bound + tolerance,
        Some(o) if other.ended => (o - best).abs() > tolerance,
        _ => false,
    }
}

fn line(set: &str, pairs: &[Pair<'_>]) -> String {
    let decided: Vec<_> = pairs.iter().filter(|p| p.1.ended || p.2.ended).collect();
    let ratio = |value: fn(&Run) -> f64, shift: f64| {
        let of = |runs: Vec<f64>| shifted_mean(&runs, shift);
        let old = of(decided.iter().map(|p| value(p.1)).collect());
        of(decided.iter().map(|p| value(p.2)).collect()) / old.max(1.0)
    };
    let ended = |run: fn(&Pair<'_>) -> bool| pairs.iter().filter(|p| run(p)).count();
    let better = decided
        .iter()
        .filter(|p| p.2.ticks < (1.0 - TIE) * p.1.ticks)
        .count();
    let worse = decided
        .iter()
        .filter(|p| p.1.ticks < (1.0 - TIE) * p.2.ticks)
        .count();
    let gaps = |of: fn(&Pair<'_>) -> Option<f64>| {
        let open: Vec<f64> = pairs
            .iter()
            .filter(|p| !p.1.ended && !p.2.ended)
            .filter_map(of)
            .collect();
        open.iter().sum::<f64>() / open.len().max(1) as f64
    };
    format!(
        "{set:<10} {:>8}  {:>4} -> {:<4} {:>16.3} {:>12.3} {:>7.3} {:>6.3} {better:>6} : {worse:<4} {:>7.4}  {:.3} -> {:.3}\n",
        pairs.len(),
        ended(|p| p.1.ended),
        ended(|p| p.2.ended),
        ratio(|r| r.ticks, SHIFTS[0]),
        ratio(|r| r.ticks, SHIFTS[1]),
        ratio(|r| r.pivots, 100.0),
        ratio(|r| r.nodes, 10.0),
        sign_test(better, worse),
        gaps(|p| gap(p.1)),
        gaps(|p| gap(p.2)),
    )
}

/// The gap of a run in per cent, at most 100.
fn gap(run: &Run) -> Option<f64> {
    let gap = match (run.objective, run.bound) {
        (Some(o), Some(b)) => 100.0 * (o - b).abs() / o.abs().max(b.abs()).max(1e-9),
        _ => 100.0,
    };
    Some(gap.min(100.0))
}

/// Two-sided p-value: the chance that fair coins divide as unevenly.
fn sign_test(a: usize, b: usize) -> f64 {
    let n = a + b;
    let mut tail = 0.0;
    let mut term = 0.5f64.powi(n.min(1_000) as i32);
    for k in 0..=a.min(b) {
        tail += term;
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fair_coins() {
        assert_eq!(sign_test(0, 0), 1.0);
        assert_eq!(sign_test(1, 1), 1.0);
        assert!((sign_test(0, 5) - 2.0 / 32.0).abs() < 1e-12);
        assert!((sign_test(9, 1) - 22.0 / 1024.0).abs() < 1e-12);
    }

    #[test]
    fn ratios_are_of_programs_that_one_of_the_builds_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let [before, after] = ["a", "b"].map(|n| folder.path().join(n));
        let heading = COLUMNS.join(",");
        let table = |ticks: [u64; 2]| {
            format!(
                "{heading}\nfiles,a,0,optimal,3,3,{},9,9\nfiles,b,0,limit,4,2,{},9,9\n",
                ticks[0], ticks[1]
            )
        };
        std::fs::write(&before, table([360_000_000, 1_000])).expect("written");
        std::fs::write(&after, table([160_000_000, 9_000])).expect("written");
        let text = tables(&before, &after).expect("a table");
        assert!(text.contains("0.444"), "{text}");
        assert!(text.contains("1 -> 1"), "{text}");
        assert!(text.contains("1 : 0"), "{text}");
        std::fs::write(&after, format!("{heading}\nfiles,a,0,optimal,2,2,1,9,9\n"))
            .expect("written");
        assert!(
            tables(&before, &after)
                .expect("a table")
                .contains("WRONG: files a 0")
        );
    }
}
