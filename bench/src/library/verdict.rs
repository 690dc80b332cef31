//! Answers that contradict each other, or themselves.

use super::known::KnownObjectives;
use super::results::ResultRow;
use crate::others::{Solver, Status};
use remat_report::number;

/// A wrong answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Wrong {
    /// The program.
    pub program: String,
    /// The solver.
    pub solver: Solver,
    /// The seed of the run.
    pub seed: u32,
    /// Reason, in words.
    pub reason: String,
}

/// Relative tolerance between two objectives, beside the gap that a run was allowed.
const TOLERANCE: f64 = 1e-6;

/// Difference of two objectives that is rounding, or within the gap that a run was allowed.
fn slack(row: &ResultRow, value: f64) -> f64 {
    (TOLERANCE + row.gap) * value.abs().max(1.0)
}

/// The best feasible solution among runs of one program.
fn best<'a>(rows: &[&'a ResultRow]) -> Option<(&'a ResultRow, f64)> {
    let found = rows.iter().filter_map(|r| Some((*r, r.checked?)));
    found.min_by(|(a, v), (_, w)| {
        let sign = a.sense.sign();
        (sign * v).total_cmp(&(sign * w))
    })
}

/// Wrong answers among all runs, in their order; `known` has values of solutions from elsewhere.
///
/// A solution must be feasible when it is read back, and must have the claimed objective. No known
/// solution may be better than a claimed bound or optimum, or exist for a program that was called
/// infeasible.
pub fn wrongs(rows: &[ResultRow], known: &KnownObjectives) -> Vec<Wrong> {
    let mut found = Vec::new();
    for row in rows {
        let same: Vec<&ResultRow> = rows.iter().filter(|r| r.program == row.program).collect();
        let sign = row.sense.sign();
        let found_by = best(&same).map(|(other, v)| (Some(other.solver), v));
        let beforehand = known.get(&row.program).map(|v| (None, *v));
        let all = found_by.into_iter().chain(beforehand);
        let best = all.min_by(|(_, v), (_, w)| (sign * v).total_cmp(&(sign * w)));
        if let Some(reason) = reason(row, best) {
            found.push(Wrong {
                program: row.program.clone(),
                solver: row.solver,
                seed: row.seed,
                reason,
            });
        }
    }
    found
}

/// Reason why a run is wrong, given the best known solution: its solver (`None` if it was known
/// beforehand) and its value.
fn reason(row: &ResultRow, best: Option<(Option<Solver>, f64)>) -> Option<String> {
    let sign = row.sense.sign();
    if row.check.starts_with("refused") {
        return Some(format!("its solution is {}", row.check));
    }
    if row.status == Status::Optimal && row.checked.is_none() {
        return Some("it claims an optimum and has no solution".into());
    }
    if let (Some(claimed), Some(value)) = (row.objective, row.checked)
        && (claimed - value).abs() > TOLERANCE * value.abs().max(1.0)
    {
        let (claimed, value) = (number(claimed), number(value));
        return Some(format!(
            "its solution has the objective {value}, not {claimed}"
        ));
    }
    let (other, value) = best?;
    let by = match other {
        Some(solver) => format!("{} has a solution of {}", solver.name(), number(value)),
        None => format!("a solution of {} is known", number(value)),
    };
    if row.status == Status::Infeasible {
        return Some(format!("it claims that there is no solution; {by}"));
    }
    let bound = row.bound.filter(|b| sign * (b - value) > slack(row, value));
    if let Some(bound) = bound {
        return Some(format!("its bound is {}; {by}", number(bound)));
    }
    let worse = |v: &f64| sign * (v - value) > slack(row, value);
    let claim = row.checked.filter(|_| row.status == Status::Optimal);
    let claim = claim.filter(worse)?;
    Some(format!("it calls {} optimal; {by}", number(claim)))
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::solved;
    use super::*;

    #[test]
    fn every_kind_of_contradiction_is_found() {
        let good = solved("p", Solver::RematBb, 10.0, 1.0);
        let with = |change: &dyn Fn(&mut ResultRow)| {
            let mut row = solved("p", Solver::Highs, 10.0, 1.0);
            change(&mut row);
            let found = wrongs(&[good.clone(), row], &KnownObjectives::new());
            assert!(found.len() <= 1 && found.iter().all(|w| w.solver == Solver::Highs));
            found.into_iter().next().map_or(String::new(), |w| w.reason)
        };
        assert_eq!(with(&|_| ()), "");
        // Another program's solutions do not count.
        assert_eq!(with(&|r| r.program = "q".into()), "");
        assert_eq!(
            with(&|r| r.check = "refused: row 3".into()),
            "its solution is refused: row 3"
        );
        assert_eq!(
            with(&|r| r.objective = Some(9.0)),
            "its solution has the objective 10, not 9"
        );
        assert_eq!(
            with(&|r| (r.checked, r.check) = (None, String::new())),
            "it claims an optimum and has no solution"
        );
        let infeasible = with(&|r| {
            (r.status, r.objective, r.bound) = (Status::Infeasible, None, None);
            (r.checked, r.check) = (None, String::new());
        });
        assert_eq!(
            infeasible,
            "it claims that there is no solution; remat-bb has a solution of 10"
        );
        let bound = with(&|r| (r.status, r.bound) = (Status::Limit, Some(10.1)));
        assert_eq!(bound, "its bound is 10.1; remat-bb has a solution of 10");
        let optimum = with(&|r| {
            (r.objective, r.checked, r.bound) = (Some(11.0), Some(11.0), None);
        });
        assert_eq!(
            optimum,
            "it calls 11 optimal; remat-bb has a solution of 10"
        );
        assert_eq!(with(&|r| r.bound = Some(10.000_001)), "");
    }

    #[test]
    fn what_is_known_counts_as_a_solution() {
        let row = [solved("p", Solver::RematBb, 10.0, 1.0)];
        let found = |value: f64| {
            let known = KnownObjectives::from([("p".to_owned(), value)]);
            let mut found = wrongs(&row, &known).into_iter();
            found.next().map_or(String::new(), |w| w.reason)
        };
        assert_eq!(found(10.0), "");
        // A worse known solution does not contradict the bound.
        assert_eq!(found(11.0), "");
        assert_eq!(found(9.0), "its bound is 10; a solution of 9 is known");
    }
}
