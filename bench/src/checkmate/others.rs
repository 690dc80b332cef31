//! HiGHS, SCIP and CP-SAT on the published program of an instance, with our limit and our gap.
//! Missing solvers are left out.

use super::{CheckmateConfig, Failure};
use crate::others::{Installed, Limits, Solver, SolverRun, Task};
use remat_formulations::checkmate::original::{Original, Stages};
use remat_instances::Instance;
use remat_lp::{Sense, mps};

/// Solvers that run beside ours.
const SOLVERS: [Solver; 3] = [Solver::Highs, Solver::Scip, Solver::CpSat];

/// Programs with more nonzeros are not given to other solvers: writing and reading them takes
/// longer than the limit.
const MOST_NONZEROS: usize = 20_000_000;

/// Installed solvers, and lines for a table about all solvers, missing ones included.
pub struct Others {
    /// Installed solvers.
    pub solvers: Vec<Installed>,
    /// A line for each solver, with its version or the reason why it is left out.
    pub text: String,
}

impl Others {
    /// Looks for the solvers.
    pub fn find(config: &CheckmateConfig) -> Others {
        let Some(python) = config.python.clone() else {
            return Others {
                solvers: Vec::new(),
                text: "HiGHS, SCIP, CP-SAT: left out\n".into(),
            };
        };
        let mut solvers = Vec::new();
        let mut text = String::new();
        for solver in SOLVERS {
            let name = solver.name();
            text += &match solver.find(&python) {
                Ok(there) => {
                    let (version, seconds) = (there.version.clone(), config.seconds);
                    solvers.push(there);
                    format!("{name} {version} on the published program, {seconds} s each\n")
                }
                Err(reason) => format!("{name}: left out, {reason}\n"),
            };
        }
        Others { solvers, text }
    }

    /// Headings of the solvers' columns: cost, bound, seconds of each.
    pub fn headings(&self) -> Vec<(&'static str, bool)> {
        let each = |s: &Installed| [(s.solver.name(), true), ("bound", true), ("s", true)];
        self.solvers.iter().flat_map(each).collect()
    }

    /// Runs all solvers on an instance.
    pub fn solve(
        &self,
        config: &CheckmateConfig,
        instance: &Instance,
        budget_bytes: u64,
    ) -> Vec<Result<SolverRun, String>> {
        let scaled = Original::unit_for(instance, budget_bytes);
        // CP-SAT takes whole numbers only, and refuses rows that rounding makes infeasible.
        let units = [(scaled, false), (1.0, true)];
        let mut runs = Vec::new();
        for (unit, whole) in units {
            let is_for = |s: &&Installed| (s.solver == Solver::CpSat) == whole;
            let solvers: Vec<&Installed> = self.solvers.iter().filter(is_for).collect();
            let on_unit = self.solve_in(config, instance, budget_bytes, unit, &solvers);
            runs.extend(on_unit.unwrap_or_else(|e| vec![Err(e.to_string()); solvers.len()]));
        }
        runs
    }

    /// Runs some of the solvers on the program with memory in a unit, in bytes.
    fn solve_in(
        &self,
        config: &CheckmateConfig,
        instance: &Instance,
        budget_bytes: u64,
        unit: f64,
        solvers: &[&Installed],
    ) -> Result<Vec<Result<SolverRun, String>>, Failure> {
        if solvers.is_empty() {
            return Ok(Vec::new());
        }
        let program = Original::new(instance, budget_bytes, Stages::FrontierAdvancing, unit)?;
        let nonzeros = program.model().num_nonzeros();
        if nonzeros > MOST_NONZEROS {
            return Err(format!("left out: {nonzeros} nonzeros").into());
        }
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("program.mps");
        mps::write(program.model(), &path)?;
        drop(program);
        let settings = config.settings();
        let limits = Limits {
            seconds: config.seconds,
            threads: match config.threads {
                0 => std::thread::available_parallelism().map_or(1, usize::from),
                n => n,
            },
            gap: settings.gap,
            seed: 0,
        };
        let task = Task {
            program: &path,
            sense: Sense::Minimise,
            solution: None,
        };
        let run = |s: &&Installed| s.solve(&task, &limits);
        Ok(solvers.iter().map(run).collect())
    }
}

/// Cells of the columns of one solver.
pub fn cells(run: &Result<SolverRun, String>) -> [String; 3] {
    match run {
        Err(reason) => [reason.clone(), String::new(), String::new()],
        Ok(run) => [
            run.objective
                .map_or_else(|| run.words.clone(), |cost| format!("{cost:.0}")),
            run.bound.map_or_else(|| "-".into(), |b| format!("{b:.0}")),
            format!("{:.1}", run.seconds),
        ],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_formulations::checkmate::CheckmateFormulation;
    use remat_instances::zoo;
    use remat_search::{Settings, Solvable};
    use std::path::PathBuf;

    fn config(python: Option<&str>) -> CheckmateConfig {
        CheckmateConfig {
            dir: PathBuf::new(),
            seconds: 30.0,
            threads: 1,
            parts: Vec::new(),
            only: Vec::new(),
            points: 2,
            python: python.map(Into::into),
            out: None,
        }
    }

    #[test]
    fn unknown_numbers_stay_unknown() {
        let run = SolverRun {
            words: "time limit reached".into(),
            bound: Some(3.5),
            seconds: 1.25,
            ..SolverRun::default()
        };
        let expected = ["time limit reached", "4", "1.2"];
        assert_eq!(cells(&Ok(run)), expected.map(String::from));
        let none = Others::find(&config(None));
        assert!(none.solvers.is_empty() && none.headings().is_empty());
    }

    #[test]
    fn solvers_that_are_here_agree_with_ours() {
        let config = config(Some("python3"));
        let others = Others::find(&config);
        let spec = "chain?n=6".parse().expect("a model");
        let instance = zoo::build(&spec).expect("a chain");
        let budget = 4 << 20;
        let program = CheckmateFormulation::new(instance.clone());
        let ours = program
            .solve(budget, &[], &Settings::default(), &())
            .expect("solved");
        let optimum = ours.cost().expect("a plan") as f64;
        for (solver, run) in others
            .solvers
            .iter()
            .zip(others.solve(&config, &instance, budget))
        {
            let found = run.expect("a run").objective.expect("a plan");
            let name = solver.solver.name();
            assert!((found - optimum).abs() <= 1e-4 * optimum, "{name}");
        }
        println!("{}", others.text);
    }
}
