//! `remat-bb check-certificate`

use crate::arguments::CheckArguments;
use crate::failure::{Exit, Failure};
use crate::vipr::{self, Claim, check, model::MpsModel, parse};
use crate::{files, report};
use num_rational::BigRational;
use num_traits::ToPrimitive;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Json<'a> {
    verdict: &'a str,
    claim: &'a str,
    lower: Option<f64>,
    upper: Option<f64>,
    constraints: usize,
    derived: usize,
    nodes: usize,
    solutions: usize,
    model_compared: bool,
}

/// Checks a certificate and reports.
///
/// # Errors
/// [`Failure`] where a file cannot be read, or the certificate does not hold.
pub fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let certificate = parse::parse(&read(&arguments.certificate)?)
        .map_err(|e| refuse(&arguments.certificate, e))?;
    if let Some(path) = &arguments.model {
        let model = MpsModel::parse(&read(path)?).map_err(|e| refuse(path, e))?;
        model
            .compare(&certificate)
            .map_err(|e| refuse(&arguments.certificate, e))?;
    }
    let counts = check::check(&certificate).map_err(|e| refuse(&arguments.certificate, e))?;
    let number = |v: &Option<BigRational>| v.as_ref().and_then(ToPrimitive::to_f64);
    let (claim, lower, upper) = match &certificate.claim {
        Claim::Infeasible => ("infeasible", None, None),
        Claim::Range(low, high) => ("range", number(low), number(high)),
    };
    let json = Json {
        verdict: "accepted",
        claim,
        lower,
        upper,
        constraints: certificate.constraints.len(),
        derived: counts.derived,
        nodes: counts.assumptions,
        solutions: counts.solutions,
        model_compared: arguments.model.is_some(),
    };
    files::print(&if arguments.json {
        report::json(&json)
    } else {
        let what = match &certificate.claim {
            Claim::Infeasible => "no solution exists".to_string(),
            Claim::Range(low, high) => {
                let show =
                    |v: &Option<BigRational>| v.as_ref().map_or("inf".into(), |v| v.to_string());
                format!("the optimum is between {} and {}", show(low), show(high))
            }
        };
        let model = match json.model_compared {
            true => "the same as the model's",
            false => "as the certificate states them (give the model to compare)",
        };
        format!(
            "accepted: {what}\n  constraints  {}, {model}\n  derived      {} lines, {} assumptions\n",
            json.constraints, json.derived, json.nodes
        )
    })?;
    Ok(Exit::Done)
}

fn read(path: &Path) -> Result<String, Failure> {
    vipr::text(path).map_err(|e| Failure::Open {
        file: path.display().to_string(),
        problem: e.to_string(),
        remedy: None,
    })
}

fn refuse(path: &Path, problem: String) -> Failure {
    Failure::Usage {
        problem: format!("{}: {problem}", path.display()),
        remedy: "the certificate proves nothing as it is; write it again with `remat-bb mip --certificate`".into(),
    }
}
