//! Solvers on this machine.

use super::{Limits, Solver, SolverRun, Task, process, programs};
use remat_bb::files;
use std::path::{Path, PathBuf};
use std::process::Command;
use thiserror::Error;

/// A solver that was requested and is not installed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{solver} is not installed: {reason}")]
pub struct NotInstalled {
    solver: &'static str,
    reason: String,
}

/// Seconds for a solver to print its version.
const VERSION_SECONDS: f64 = 60.0;

/// A solver on this machine.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The solver.
    pub solver: Solver,
    /// Its version, as it reports it.
    pub version: String,
    /// Commit that it was built from, where it reports one: `remat-bb` alone does.
    pub commit: Option<String>,
    program: PathBuf,
    /// The script that Python runs, if `program` is a Python.
    script: Option<&'static str>,
}

fn on_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders = std::env::split_paths(&path);
    folders.map(|d| d.join(name)).find(|p| p.is_file())
}

/// The program `remat-bb`: one beside this program, or one on the path.
fn own_program() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    // Tests are a folder deeper than programs.
    let beside = this.ancestors().skip(1).take(2);
    let mut beside = beside.map(|folder| folder.join("remat-bb"));
    beside.find(|p| p.is_file()).or_else(|| on_path("remat-bb"))
}

/// The standard output of a short command.
fn said(command: &mut Command) -> Result<String, String> {
    let folder = files::temporary_folder().map_err(|e| e.to_string())?;
    let output = process::output(command, folder.path(), VERSION_SECONDS)?;
    match output.status.success() {
        true => Ok(output.out.trim().to_owned()),
        false => Err(output.complaint()),
    }
}

/// Answer of a Python to a line of code that needs a package.
fn asked(python: &str, package: &str, code: &str) -> Result<String, String> {
    let code = format!("import {package}; print({code})");
    let mut command = Command::new(python);
    let answer = said(command.args(["-c", &code]));
    // Some packages print a greeting first.
    let last = |text: String| text.lines().last().unwrap_or_default().to_owned();
    answer
        .map(last)
        .map_err(|e| match e.contains("ModuleNotFoundError") {
            true => format!("{python} has no package {package}"),
            false => e,
        })
}

/// The number behind `Version:` or `version`, or the text itself.
fn version_in(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let named = words
        .windows(2)
        .find(|w| w[0].trim_end_matches(':').eq_ignore_ascii_case("version"))
        .map(|w| w[1].trim_matches(|c: char| !c.is_ascii_alphanumeric()));
    named.map_or_else(|| text.trim().to_owned(), str::to_owned)
}

impl Solver {
    /// Looks for it: on the path, or among the packages of a Python.
    ///
    /// # Errors
    /// [`NotInstalled`] with the reason.
    pub fn find(self, python: &str) -> Result<Installed, NotInstalled> {
        let found = match self {
            Solver::RematBb | Solver::RematBbGeneral => own(self),
            Solver::Highs => self.of_package(python).or_else(|e| {
                let program = on_path("highs").ok_or(e)?;
                self.program(program, &["--version"])
            }),
            Solver::Scip => match on_path("scip") {
                Some(program) => self.program(program, &["--version"]),
                None => self.of_package(python),
            },
            Solver::Cbc => cbc(python),
            Solver::CpSat | Solver::Ripsolve => self.of_package(python),
        };
        found.map_err(|reason| NotInstalled {
            solver: self.name(),
            reason,
        })
    }

    /// The solver as a program that prints its version.
    fn program(self, program: PathBuf, ask: &[&str]) -> Result<Installed, String> {
        let text = said(Command::new(&program).args(ask))?;
        Ok(Installed {
            solver: self,
            version: version_in(&text),
            commit: None,
            program,
            script: None,
        })
    }

    /// The solver as a package of a Python.
    fn of_package(self, python: &str) -> Result<Installed, String> {
        let by_metadata = "__import__('importlib.metadata').metadata.version('ripsolve')";
        let (package, ask, script) = match self {
            Solver::Scip => (
                "pyscipopt",
                "pyscipopt.Model().version()",
                include_str!("scripts/scip.py"),
            ),
            Solver::CpSat => (
                "ortools",
                "ortools.__version__",
                include_str!("scripts/cp_sat.py"),
            ),
            Solver::Ripsolve => ("ripsolve", by_metadata, include_str!("scripts/ripsolve.py")),
            _ => (
                "highspy",
                "highspy.Highs().version()",
                include_str!("scripts/highs.py"),
            ),
        };
        Ok(Installed {
            solver: self,
            version: asked(python, package, ask)?,
            commit: None,
            program: python.into(),
            script: Some(script),
        })
    }
}

fn own(solver: Solver) -> Result<Installed, String> {
    let program = own_program().ok_or("no program remat-bb beside this one or on the path")?;
    let said = said(Command::new(&program).arg("--version"))?;
    // The name is in front; the commit follows in brackets.
    let mut words = said.split_whitespace().skip(1);
    let version = words.next().unwrap_or("-").to_owned();
    let commit = words.next().map(|w| w.trim_matches(['(', ')']).to_owned());
    Ok(Installed {
        solver,
        version,
        commit,
        program,
        script: None,
    })
}

/// The real CBC: `remat-bb` can stand in for it under its name.
fn cbc(python: &str) -> Result<Installed, String> {
    let is_real = |program: PathBuf| {
        let text = said(Command::new(&program).arg("-quit"))?;
        match text.contains("remat") {
            true => Err(format!("{} is remat-bb", program.display())),
            false => Ok(Installed {
                solver: Solver::Cbc,
                version: version_in(&text),
                commit: None,
                program,
                script: None,
            }),
        }
    };
    let on_path = on_path("cbc").ok_or_else(|| "no program cbc on the path".to_owned());
    on_path.and_then(is_real).or_else(|first| {
        let bundled = asked(python, "pulp", "pulp.PULP_CBC_CMD().path");
        let bundled = bundled.and_then(|path| is_real(path.into()));
        bundled.map_err(|second| format!("{first}, and {second}"))
    })
}

/// Variables that limit the threads of libraries.
const THREAD_VARIABLES: [&str; 3] = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"];

impl Installed {
    /// Solves a model.
    ///
    /// # Errors
    /// The reason in words why there is no answer: the solver refused the model, or was killed.
    pub fn solve(&self, task: &Task<'_>, limits: &Limits) -> Result<SolverRun, String> {
        let folder = files::temporary_folder().map_err(|e| e.to_string())?;
        let mut command = match self.script {
            Some(script) => self.python(script, task, limits),
            None => programs::command(self.solver, &self.program, task, limits, folder.path()),
        };
        for name in THREAD_VARIABLES {
            command.env(name, limits.threads.to_string());
        }
        let most = 2.0 * limits.seconds + 90.0;
        let output = process::output(&mut command, folder.path(), most)?;
        let read = match self.script {
            Some(_) => output
                .out
                .lines()
                .last()
                .and_then(super::ScriptAnswer::read),
            None => programs::read(self.solver, &output.out, task.sense),
        };
        let mut run = read.ok_or_else(|| output.complaint())?;
        run.process_seconds = output.seconds;
        run.cpu_seconds = output.cpu_seconds;
        run.foreign_load = output.foreign_load;
        Ok(run)
    }

    fn python(&self, script: &str, task: &Task<'_>, limits: &Limits) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg("-c")
            .arg(format!("{}{script}", include_str!("scripts/begin.py")))
            .arg(task.program)
            .arg(limits.seconds.to_string())
            .arg(limits.threads.to_string())
            .arg(limits.gap.to_string())
            .arg(limits.seed.to_string())
            .arg(task.solution.unwrap_or(Path::new("")));
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_greetings() {
        let cbc = "Welcome to the CBC MILP Solver \nVersion: 2.10.3 \nBuild Date: Dec 15 2019";
        assert_eq!(version_in(cbc), "2.10.3");
        let scip = "SCIP version 9.2.1 [precision: 8 byte]";
        assert_eq!(version_in(scip), "9.2.1");
        assert_eq!(version_in(" 1.16.0\n"), "1.16.0");
    }

    #[test]
    fn what_is_not_there_is_named() {
        let error = Solver::Ripsolve.find("no-such-python").expect_err("none");
        let text = error.to_string();
        assert!(
            text.starts_with("ripsolve is not installed: no-such-python"),
            "{text}"
        );
    }
}
