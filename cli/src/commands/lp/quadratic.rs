//! Linear models with a quadratic objective.

use super::{KktJson, LpJson, size};
use crate::arguments::{LpArguments, LpMethod, Switch};
use crate::failure::{Exit, Failure};
use crate::files::Files;
use crate::interrupt;
use remat_lp::qp::{QuadraticOutcome, QuadraticSolution};
use remat_lp::solution_file::SolutionFile;
use remat_lp::{ColId, LimitKind, Model, Quadratic, Settings};
use remat_models::LinearSettings;
use remat_models::quadratic::{Continuous, QuadraticError, solve_continuous};
use remat_report::results::{self, VERSION};
use remat_report::{counted, number};
use std::sync::Arc;
use std::time::Instant;

/// Solves a quadratic program and reports. Its answer was checked against the model.
pub(super) fn run(
    arguments: &LpArguments,
    files: Files,
    model: Model,
    quadratic: &Quadratic,
    clock: Instant,
) -> Result<Exit, Failure> {
    refuse_options(arguments)?;
    let model = Arc::new(model);
    let settings = LinearSettings {
        lp: Settings {
            scaling: arguments.scaling == Switch::On,
            ..Settings::default()
        },
        iterations: arguments.iteration_limit,
        time_limit: (arguments.time_limit).map(|limit| limit.saturating_sub(clock.elapsed())),
        ..LinearSettings::default()
    };
    let answer = solve_continuous(&model, quadratic, &settings, &*interrupt::flag());
    let answer = answer.map_err(|error| match error {
        QuadraticError::Solve(error) => super::super::mip::failure(error),
        QuadraticError::NotConvex(error) => Failure::Usage {
            problem: error.at(&model.col_name(ColId(error.col.0))),
            remedy: "minimise a convex or maximise a concave objective; `remat-bb mip FILE` also \
                     takes products with binary or bounded integer columns"
                .into(),
        },
    })?;
    let result = QuadraticResult {
        model: &model,
        quadratic,
        answer: &answer,
        seconds: clock.elapsed().as_secs_f64(),
    };
    let written = match (&arguments.solution, result.solution()) {
        (Some(path), Some(s)) => {
            let file = SolutionFile::new(&model, "optimal", &s.x);
            files.write(path, &file.to_text())
        }
        (Some(path), None) => {
            files.left(path);
            Ok(())
        }
        (None, _) => Ok(()),
    };
    files.print(&match arguments.json {
        true => results::json(&result.json()),
        false => result.summary(),
    })?;
    written?;
    Ok(match answer.solved.outcome {
        QuadraticOutcome::Optimal(_) | QuadraticOutcome::Unbounded(_) => Exit::Done,
        QuadraticOutcome::Infeasible(_) => Exit::Infeasible,
        QuadraticOutcome::Limit(_) => Exit::NoPlan,
    })
}

/// Refuses options of methods that do not solve quadratic programs.
fn refuse_options(arguments: &LpArguments) -> Result<(), Failure> {
    let option = match arguments.algorithm {
        LpMethod::Dual => "--algorithm dual",
        LpMethod::Primal => "--algorithm primal",
        _ if arguments.refine => "--refine",
        _ if arguments.permute.is_some() => "--permute",
        _ => return Ok(()),
    };
    Err(Failure::Usage {
        problem: format!("{option} is for linear programs; the objective of this one is quadratic"),
        remedy: "leave it out: the barrier method solves quadratic programs".into(),
    })
}

struct QuadraticResult<'a> {
    model: &'a Model,
    quadratic: &'a Quadratic,
    answer: &'a Continuous,
    seconds: f64,
}

impl QuadraticResult<'_> {
    fn solution(&self) -> Option<&QuadraticSolution> {
        self.answer.solved.outcome.optimal()
    }

    fn status(&self) -> &'static str {
        match self.answer.solved.outcome {
            QuadraticOutcome::Optimal(_) => "optimal",
            QuadraticOutcome::Infeasible(_) => "infeasible",
            QuadraticOutcome::Unbounded(_) => "unbounded",
            QuadraticOutcome::Limit(LimitKind::Interrupt) if !self.answer.timed_out => {
                "interrupted"
            }
            QuadraticOutcome::Limit(LimitKind::Numerical) => "numeric",
            QuadraticOutcome::Limit(_) => "limit",
        }
    }

    fn json(&self) -> LpJson<'_> {
        let solution = self.solution();
        LpJson {
            status: self.status(),
            version: VERSION,
            objective: solution.map(|s| s.objective),
            bound: solution.map(|s| s.bound).filter(|b| b.is_finite()),
            model: self.model.name(),
            rows: self.model.num_rows(),
            cols: self.model.num_cols(),
            nonzeros: self.model.num_nonzeros(),
            relaxed_integers: super::super::integers(self.model),
            presolved: None,
            lp_iterations: self.answer.solved.lp_iterations,
            barrier_iterations: self.answer.solved.barrier_iterations,
            crossover_pushes: 0,
            factorisations: 0,
            seconds: self.seconds,
            certificate: match self.answer.solved.outcome {
                QuadraticOutcome::Limit(_) => "none",
                _ => "accepted",
            },
            primal_violation: solution.map(|s| s.kkt.primal),
            dual_violation: solution.map(|s| s.kkt.stationarity.max(s.kkt.dual)),
            primal_residual: None,
            dual_residual: None,
            quadratic_products: self.quadratic.num_products(),
            kkt: solution.map(|s| KktJson {
                primal: s.kkt.primal,
                stationarity: s.kkt.stationarity,
                dual: s.kkt.dual,
                complementarity: s.kkt.complementarity,
                gap: s.kkt.gap,
            }),
            permuted: None,
        }
    }

    fn summary(&self) -> String {
        let json = self.json();
        let name = match json.model {
            "" => "model",
            name => name,
        };
        let products = counted(json.quadratic_products as u64, "product");
        let size = size([json.rows, json.cols, json.nonzeros]);
        let mut text = format!("{name}: {size}, {products} in the objective\n");
        if json.relaxed_integers > 0 {
            let relaxed = counted(json.relaxed_integers as u64, "integer column");
            text += &format!("  relaxed      {relaxed}: `mip` keeps them whole\n");
        }
        text += &format!("  status       {}\n", json.status);
        if let Some(objective) = json.objective {
            text += &format!("  objective    {}\n", number(objective));
        }
        if let Some(bound) = json.bound {
            let bound = number(bound);
            text += &format!(
                "  safe bound   {bound}, proven by the dual values in spite of rounding\n"
            );
        }
        text += &format!("  certificate  {}\n", json.certificate);
        if let Some(kkt) = &json.kkt {
            text += &format!(
                "  residuals    {:.1e} primal, {:.1e} stationarity, {:.1e} dual, {:.1e} \
                 complementarity, {:.1e} gap\n",
                kkt.primal, kkt.stationarity, kkt.dual, kkt.complementarity, kkt.gap
            );
        }
        let iterations = counted(json.barrier_iterations, "iteration");
        text += &format!("  barrier      {iterations}, {:.3} s\n", json.seconds);
        text
    }
}
