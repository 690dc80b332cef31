//! `remat-bb check-certificate`

mod schedules;

pub(super) use schedules::ProofJson;

use super::lp::ModelText;
use super::mip;
use crate::arguments::CheckArguments;
use crate::failure::{Exit, Failure};
use crate::{files, source};
use dashu_ratio::RBig;
use remat_check::vipr::{self, Claim, check, model::MpsModel, parse};
use remat_check::{order, place, proof};
use remat_instances::budget::format_bytes;
use remat_instances::place::{BoundCertificate, CERTIFICATE_HEADER};
use remat_lp::mps;
use remat_report::results;
use remat_report::results::VERSION;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// The object of `remat-bb check-certificate --json`, for a certificate of `mip`.
#[derive(Serialize, JsonSchema)]
pub(super) struct CheckJson<'a> {
    /// Always `accepted`: a certificate that is refused is an error.
    verdict: &'a str,
    /// Version of this program.
    version: &'a str,
    /// `range` or `infeasible`.
    claim: &'a str,
    /// Lower end of the range of the optimum; null if it is infinite.
    lower: Option<f64>,
    /// Upper end of the range of the optimum; null if it is infinite.
    upper: Option<f64>,
    /// Number of constraints.
    constraints: usize,
    /// Number of derived lines.
    derived: usize,
    /// Number of assumptions.
    nodes: usize,
    /// Number of solutions.
    solutions: usize,
    /// True if the constraints were compared with a model.
    model_compared: bool,
}

/// Checks a certificate and reports.
///
/// # Errors
/// [`Failure`] if a file cannot be read, or the certificate is refused.
pub fn run(arguments: &CheckArguments) -> Result<Exit, Failure> {
    let text = read(&arguments.certificate)?;
    if text.starts_with(proof::NAME) {
        return schedules::run(arguments, &text);
    }
    if text.starts_with(order::HEADER) {
        return run_order_proof(arguments, &text);
    }
    if text.starts_with(CERTIFICATE_HEADER) {
        return run_placement_bound(arguments, &text);
    }
    let certificate = parse::parse(&text).map_err(|e| refuse(&arguments.certificate, e))?;
    if let Some(path) = &arguments.model {
        let mut differences = Vec::new();
        let mut is_same = false;
        for text in model_texts(path)? {
            let model = MpsModel::parse(&text).map_err(|e| Failure::Usage {
                problem: format!("{}: {e}", files::input_name(path)),
                remedy: "give the model as an MPS file with names without blanks, or as an LP file"
                    .into(),
            })?;
            let compared = model.compare(&certificate);
            is_same = compared.is_ok();
            differences.extend(compared.err());
            if is_same {
                break;
            }
        }
        if !is_same {
            let first = differences.into_iter().next().unwrap_or_default();
            return Err(refuse(&arguments.certificate, first));
        }
    }
    let counts = check::check(&certificate).map_err(|e| refuse(&arguments.certificate, e))?;
    let number = |v: &Option<RBig>| v.as_ref().map(|v| v.to_f64().value());
    let (claim, lower, upper) = match &certificate.claim {
        Claim::Infeasible => ("infeasible", None, None),
        Claim::Range(low, high) => ("range", number(low), number(high)),
    };
    let json = CheckJson {
        verdict: "accepted",
        version: VERSION,
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
        results::json(&json)
    } else {
        let what = match &certificate.claim {
            Claim::Infeasible => "no solution exists".to_string(),
            Claim::Range(low, high) => {
                let show = |v: &Option<RBig>| v.as_ref().map_or("inf".into(), |v| v.to_string());
                match low == high {
                    true => format!("the optimum is {}", show(low)),
                    false => format!("the optimum is between {} and {}", show(low), show(high)),
                }
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

/// The MPS texts of the models that a certificate of this file may be about.
fn model_texts(path: &Path) -> Result<Vec<String>, Failure> {
    // The checker has its own reader for MPS, but not for LP files.
    let given = ModelText::read(path)?;
    let file = given.parse_all()?;
    if !given.is_lp && file.specials.is_empty() {
        return Ok(vec![given.text]);
    }
    let rounded = file.model.rounded();
    let refused = |problem: String| Failure::Open {
        file: files::input_name(path),
        problem,
        remedy: Some("give the model as rows in an MPS file: the checker reads it".into()),
    };
    if let Some(rounded) = rounded.filter(|_| given.is_lp || !file.specials.are_only_quadratic()) {
        return Err(refused(rounded.to_string()));
    }
    if file.specials.is_empty() {
        return Ok(vec![mps::to_string(&file.model)]);
    }
    // The certificate is about the rows and columns that replace ordered sets and implications.
    let mut texts = Vec::new();
    for model in mip::certified(&file)? {
        let is_as_given = !given.is_lp
            && file.specials.are_only_quadratic()
            && model.specials.quadratic.is_some();
        texts.push(match is_as_given {
            true => given.text.clone(),
            false => mps::to_string_all(&model).map_err(|e| refused(e.to_string()))?,
        });
    }
    Ok(texts)
}

/// The object of `remat-bb check-certificate --json`, for a proof of `order` or `place`.
#[derive(Serialize, JsonSchema)]
pub(super) struct MemoryProofJson<'a> {
    /// Always `accepted`: a certificate that is refused is an error.
    verdict: &'a str,
    /// Version of this program.
    version: &'a str,
    /// Always `bound`.
    claim: &'a str,
    /// Proven lower bound in bytes.
    lower: u64,
    /// Name of the graph, or file of the table of lives.
    instance: &'a str,
    /// SHA-256 of the graph; null for a table of lives.
    instance_sha256: Option<String>,
    /// Edges that orders respect: `free` (data), `sound` (also tensors overwritten in place),
    /// `sound+rng` (also random numbers in the program's order) or `ctl` (data and OLLA's control
    /// edges); null for a table of lives.
    variant: Option<&'a str>,
    /// Argument of the proof, in words.
    evidence: String,
}

impl MemoryProofJson<'_> {
    fn print(&self, json: bool, what: &str) -> Result<Exit, Failure> {
        files::print(&match json {
            true => results::json(self),
            false => format!(
                "accepted: {}: {what} needs less than {} ({} bytes)\n  evidence  {}\n",
                self.instance,
                format_bytes(self.lower),
                self.lower,
                self.evidence
            ),
        })?;
        Ok(Exit::Done)
    }
}

/// Checks a proof of a bound on the peak of orders and reports.
fn run_order_proof(arguments: &CheckArguments, text: &str) -> Result<Exit, Failure> {
    let graph = source::order_graph(made_for(arguments)?)?;
    let proven = order::check(&graph, text).map_err(|e| refuse(&arguments.certificate, e))?;
    let variant = proven.variant.as_str();
    MemoryProofJson {
        verdict: "accepted",
        version: VERSION,
        claim: "bound",
        lower: proven.bound_bytes,
        instance: graph.name(),
        instance_sha256: Some(graph.digest()),
        variant: Some(variant),
        evidence: match proven.sets {
            0 => "one step that every order takes".into(),
            sets => format!(
                "{} looked at",
                remat_report::counted(sets as u64, "executed set")
            ),
        },
    }
    .print(
        arguments.json,
        &format!("no order of the variant {variant}"),
    )
}

/// Checks a certificate of a bound on the height of placements and reports.
fn run_placement_bound(arguments: &CheckArguments, text: &str) -> Result<Exit, Failure> {
    let path = &arguments.certificate;
    let table = made_for(arguments)?;
    let lives = source::lives(table)?;
    let certificate = BoundCertificate::parse(&files::input_name(path), text)
        .map_err(|e| refuse(path, e.to_string()))?;
    let evidence = place::bound(&lives, &certificate).map_err(|e| refuse(path, e.to_string()))?;
    MemoryProofJson {
        verdict: "accepted",
        version: VERSION,
        claim: "bound",
        lower: certificate.bound,
        instance: &files::input_name(table),
        instance_sha256: None,
        variant: None,
        evidence: match evidence {
            place::Evidence::Empty => "nothing is in use".into(),
            place::Evidence::Load => "the load of a moment".into(),
            place::Evidence::AlignedLoad => "the load of a moment, sizes rounded up".into(),
            place::Evidence::Fixed => "the end of a fixed buffer".into(),
            place::Evidence::Refutation(nodes) => {
                format!(
                    "a search of {} without a placement",
                    remat_report::counted(nodes, "node")
                )
            }
            place::Evidence::Sum => "no sum of sizes lies between".into(),
        },
    }
    .print(arguments.json, "no placement")
}

/// Path of the instance, graph or table of a proof.
fn made_for(arguments: &CheckArguments) -> Result<&Path, Failure> {
    arguments.model.as_deref().ok_or_else(|| Failure::Usage {
        problem: format!(
            "{}: a proof of a bound needs the instance it is for",
            files::input_name(&arguments.certificate)
        ),
        remedy: "name the instance, graph or table, or zoo:MODEL?..., behind the proof".into(),
    })
}

fn read(path: &Path) -> Result<String, Failure> {
    let input = files::text(path)?;
    vipr::text(&input.bytes).map_err(|e| Failure::Open {
        file: input.name,
        problem: e.to_string(),
        remedy: None,
    })
}

fn refuse(path: &Path, problem: String) -> Failure {
    Failure::Usage {
        problem: format!("{}: {problem}", files::input_name(path)),
        remedy: "the certificate proves nothing as it is; write it again with --certificate".into(),
    }
}
