//! The link to host memory: options, words, JSON.

use crate::arguments::SolveArguments;
use crate::failure::Failure;
use crate::report;
use crate::transfers::{self, TransfersJson};
use remat_formulations::offload::nodes::Offloaded;
use remat_instances::Semantics;
use remat_instances::instance::CostUnit;
use serde::Serialize;

/// Checks that nothing is asked for that a plan with copies does not have.
pub(super) fn check(arguments: &SolveArguments) -> Result<(), Failure> {
    if arguments.offload.link.offload.is_none() {
        return Ok(());
    }
    let asked = [
        ("--reorder", arguments.order.reorder),
        ("--schedule-out", arguments.schedule_out.is_some()),
    ];
    match asked.iter().find(|(_, asked)| *asked) {
        None => Ok(()),
        Some((option, _)) => Err(Failure::Usage {
            problem: format!("{option} with --offload: a plan that copies to the host has none"),
            remedy: format!("leave out {option} or --offload"),
        }),
    }
}

/// Checks that there are proofs of bounds with copies, where one is asked for.
pub(super) fn check_certificate(
    arguments: &SolveArguments,
    semantics: Semantics,
) -> Result<(), Failure> {
    let is_linked = arguments.offload.link.offload.is_some();
    match is_linked && arguments.certificate.is_some() && semantics == Semantics::Monet {
        false => Ok(()),
        true => Err(Failure::Usage {
            problem:
                "--certificate with --offload: bounds of MONeT's program with copies have no proofs"
                    .into(),
            remedy: "leave out one of them, or solve Checkmate's program: --formulation checkmate"
                .into(),
        }),
    }
}

/// Time and bytes of a plan with copies, beside the best one without; absent without a link.
#[derive(Serialize)]
pub(super) struct OffloadJson {
    #[serde(flatten)]
    transfers: TransfersJson,
    without_copies: Option<u64>,
}

impl OffloadJson {
    pub fn of(answer: &Offloaded) -> Self {
        OffloadJson {
            transfers: TransfersJson::of(answer.outcome.replay.as_ref()),
            without_copies: answer.without_cost,
        }
    }
}

/// Lines of the summary, each with its name.
pub(super) fn lines(answer: &Offloaded, unit: &CostUnit) -> Vec<String> {
    let Some(replay) = &answer.outcome.replay else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    if let Some(cost) = answer.without_cost {
        let over = match replay.base_cost {
            0 => 0.0,
            base => (cost as f64 / base as f64 - 1.0) * 100.0,
        };
        let cost = report::cost(cost, unit);
        lines.push(format!(
            "without   {cost}, {over:.2}% over: the best plan found without copies"
        ));
    }
    match transfers::lines(&answer.instance, replay) {
        Some([step, host, link]) => {
            lines.push(format!("step      {step}"));
            lines.push(format!("host      {host}"));
            lines.push(format!("link      {link}"));
        }
        None => lines.push("host      nothing is copied".into()),
    }
    lines
}
