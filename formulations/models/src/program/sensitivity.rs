//! Ranges of costs, sides and bounds within which the basis of a linear program stays optimal
//! (Chvatal 1983, chapter 10).
//!
//! Along each nonbasic variable every basic one moves at a rate that the tableau holds. Changes of
//! a basic variable's cost change the reduced costs at those rates. Changes of the bound at which a
//! nonbasic variable is move the basic variables. One pass over the rows of the tableau finds both.

use super::{Duals, Program, ProgramError};
use remat_lp::{Basis, ColId, Model, RowId, Sense, Settings, Solver, VarStatus};

/// Rates up to this are 0.
const ZERO: f64 = 1e-9;

/// A range, of which either end may be infinite.
pub type Range = (f64, f64);

/// Ranges within which the basis of an optimal answer stays optimal, each with all else unchanged.
/// Removed columns and rows have NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Sensitivity {
    /// Costs of columns, by handle.
    pub costs: Vec<Range>,
    /// Lower bounds of columns, by handle.
    pub lower: Vec<Range>,
    /// Upper bounds of columns, by handle.
    pub upper: Vec<Range>,
    /// Sides of rows, by handle; of a row with two sides the upper one.
    pub sides: Vec<Range>,
}

/// Ranges of an unchanged program by the basis in its duals; `None` if the program is not linear,
/// or the basis is not one of the program.
///
/// ```
/// use remat_models::program::{Kind, Program, ProgramSettings, sensitivity, solve_program};
/// // min 2 x + 3 y, x + y >= 4: x does it, unless it costs more than 3.
/// let mut p = Program::default();
/// let x = p.add_col(0.0, f64::INFINITY, 2.0, Kind::Continuous, None)?;
/// let y = p.add_col(0.0, f64::INFINITY, 3.0, Kind::Continuous, None)?;
/// p.add_row(&[(x, 1.0), (y, 1.0)], 4.0, f64::INFINITY, None)?;
/// let answer = solve_program(&p, &ProgramSettings::default(), std::sync::Arc::new(()))?;
/// let ranges = sensitivity(&p, answer.duals.as_ref().ok_or("no duals")?)?.ok_or("no basis")?;
/// assert_eq!(ranges.costs, [(0.0, 3.0), (2.0, f64::INFINITY)]);
/// assert_eq!(ranges.sides, [(0.0, f64::INFINITY)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`ProgramError::Model`].
pub fn sensitivity(program: &Program, duals: &Duals) -> Result<Option<Sensitivity>, ProgramError> {
    if program.has_specials() {
        return Ok(None);
    }
    let compiled = program.compile()?;
    let status = |all: &[Option<VarStatus>], k: usize| all.get(k).copied().flatten();
    let cols = compiled
        .cols
        .iter()
        .map(|c| status(&duals.col_status, c.index()));
    let rows = compiled
        .rows
        .iter()
        .map(|r| status(&duals.row_status, r.index()));
    let (Some(cols), Some(rows)) = (cols.collect(), rows.collect()) else {
        return Ok(None);
    };
    let basis = Basis { cols, rows };
    let Some(found) = Ranges::new(&compiled.model, basis).and_then(Ranges::of_all) else {
        return Ok(None);
    };
    let none = (f64::NAN, f64::NAN);
    Ok(Some(Sensitivity {
        costs: compiled.by_col(&found.costs, none),
        lower: compiled.by_col(&found.lower, none),
        upper: compiled.by_col(&found.upper, none),
        sides: compiled.by_row(&found.sides, none),
    }))
}

/// Variables in one order: columns, then activities of rows.
struct Ranges<'a> {
    model: &'a Model,
    solver: Solver,
    basis: Basis,
    lower: Vec<f64>,
    upper: Vec<f64>,
    value: Vec<f64>,
    /// Change of the objective along each nonbasic variable.
    slope: Vec<f64>,
    /// Changes of each nonbasic variable that the basic ones allow.
    moves: Vec<Range>,
    /// Changes of each cost.
    costs: Vec<Range>,
}

impl<'a> Ranges<'a> {
    fn new(model: &'a Model, basis: Basis) -> Option<Self> {
        let (n, m) = (model.num_cols(), model.num_rows());
        let mut solver = Solver::new(model.clone(), Settings::default());
        solver.set_basis(&basis).ok()?;
        // The basis is optimal already: values and duals belong to it.
        let solution = solver.solve();
        let solution = solution.optimal()?;
        if solver.basis() != basis {
            return None;
        }
        let activities = (0..m).map(|i| {
            let row = model.row(RowId(i as u32));
            row.map(|(j, v)| v * solution.x[j.index()]).sum::<f64>()
        });
        Some(Ranges {
            value: solution.x.iter().copied().chain(activities).collect(),
            slope: solution
                .reduced_costs
                .iter()
                .chain(&solution.y)
                .copied()
                .collect(),
            lower: [model.col_lower(), model.row_lower()].concat(),
            upper: [model.col_upper(), model.row_upper()].concat(),
            moves: vec![(f64::NEG_INFINITY, f64::INFINITY); n + m],
            costs: vec![(f64::NEG_INFINITY, f64::INFINITY); n],
            model,
            solver,
            basis,
        })
    }

    fn status(&self, v: usize) -> VarStatus {
        let n = self.model.num_cols();
        if v < n {
            self.basis.cols[v]
        } else {
            self.basis.rows[v - n]
        }
    }

    /// Rates at which a basic variable moves along the nonbasic ones.
    fn rates(&mut self, v: usize) -> Option<Vec<(usize, f64)>> {
        let n = self.model.num_cols();
        // A column: `x = rho . r - (rho A) x`. An activity: `r = (rho A) x - rho . r`.
        let (rho, sign) = match v < n {
            true => (self.solver.tableau_multipliers(ColId(v as u32))?, -1.0),
            false => {
                let row = RowId((v - n) as u32);
                (self.solver.tableau_multipliers_of_row(row)?, 1.0)
            }
        };
        let mut rates = vec![0.0; n + rho.len()];
        for (i, &factor) in rho.iter().enumerate().filter(|(_, factor)| **factor != 0.0) {
            for (j, value) in self.model.row(RowId(i as u32)) {
                rates[j.index()] += sign * factor * value;
            }
            rates[n + i] = -sign * factor;
        }
        let rates = rates.into_iter().enumerate();
        let moves =
            rates.filter(|&(u, rate)| rate.abs() > ZERO && self.status(u) != VarStatus::Basic);
        Some(moves.collect())
    }

    fn of_all(mut self) -> Option<Sensitivity> {
        let (n, m) = (self.model.num_cols(), self.model.num_rows());
        let sign = self.model.sense().sign();
        for v in (0..n + m)
            .filter(|&v| self.status(v) == VarStatus::Basic)
            .collect::<Vec<_>>()
        {
            for (u, rate) in self.rates(v)? {
                // Room of the basic variable on either side.
                let room = (self.lower[v] - self.value[v], self.upper[v] - self.value[v]);
                let (down, up) = (room.0.min(0.0) / rate, room.1.max(0.0) / rate);
                let (low, high) = if rate > 0.0 { (down, up) } else { (up, down) };
                let moves = &mut self.moves[u];
                *moves = (moves.0.max(low), moves.1.min(high));
                if v < n && self.lower[u] < self.upper[u] {
                    // The slope stays of its sign: `sign * (slope + change * rate)`.
                    let limit = -self.slope[u] / rate;
                    let at = self.status(u);
                    let costs = &mut self.costs[v];
                    match (at, sign * rate > 0.0) {
                        (VarStatus::AtLower, true) | (VarStatus::AtUpper, false) => {
                            costs.0 = costs.0.max(limit.min(0.0));
                        }
                        (VarStatus::AtLower, false) | (VarStatus::AtUpper, true) => {
                            costs.1 = costs.1.min(limit.max(0.0));
                        }
                        _ => *costs = (0.0, 0.0),
                    }
                }
            }
        }
        let all = (f64::NEG_INFINITY, f64::INFINITY);
        let shifted = |by: Range, value: f64| (value + by.0, value + by.1);
        let costs = (0..n).map(|j| {
            let cost = self.model.costs()[j];
            let to_zero = cost - self.slope[j];
            match (self.status(j), self.model.sense()) {
                (VarStatus::Basic, _) => shifted(self.costs[j], cost),
                _ if self.lower[j] == self.upper[j] => all,
                (VarStatus::AtLower, Sense::Minimise) | (VarStatus::AtUpper, Sense::Maximise) => {
                    (to_zero.min(cost), f64::INFINITY)
                }
                (VarStatus::AtUpper, Sense::Minimise) | (VarStatus::AtLower, Sense::Maximise) => {
                    (f64::NEG_INFINITY, to_zero.max(cost))
                }
                (VarStatus::Free, _) => (cost, cost),
            }
        });
        let costs: Vec<Range> = costs.collect();
        // A variable stays within its other bound.
        for v in 0..n + m {
            let room = (self.lower[v] - self.value[v], self.upper[v] - self.value[v]);
            match self.status(v) {
                VarStatus::AtLower if self.lower[v] < self.upper[v] => {
                    self.moves[v].1 = self.moves[v].1.min(room.1);
                }
                VarStatus::AtUpper if self.lower[v] < self.upper[v] => {
                    self.moves[v].0 = self.moves[v].0.max(room.0);
                }
                _ => {}
            }
        }
        // A bound at which the variable is not may move up to its value.
        let bound = |v: usize, at: VarStatus| match self.status(v) == at {
            true => shifted(self.moves[v], self.value[v]),
            false if at == VarStatus::AtLower => (f64::NEG_INFINITY, self.value[v]),
            false => (self.value[v], f64::INFINITY),
        };
        let sides = (n..n + m).map(|v| match (self.upper[v].is_finite(), self.status(v)) {
            _ if self.status(v) != VarStatus::Basic => shifted(self.moves[v], self.value[v]),
            (true, _) if self.lower[v] == self.upper[v] => (self.value[v], self.value[v]),
            (true, _) => (self.value[v], f64::INFINITY),
            (false, _) => (f64::NEG_INFINITY, self.value[v]),
        });
        Some(Sensitivity {
            costs,
            lower: (0..n).map(|v| bound(v, VarStatus::AtLower)).collect(),
            upper: (0..n).map(|v| bound(v, VarStatus::AtUpper)).collect(),
            sides: sides.collect(),
        })
    }
}
