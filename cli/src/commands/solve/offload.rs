//! The link to host memory: options, words, JSON.

use crate::arguments::{OffloadPhase, SolveArguments};
use crate::failure::Failure;
use crate::report;
use crate::transfers;
use remat_formulations::offload::CopyPhase;
use remat_formulations::offload::nodes::Offloaded;
use remat_formulations::solve::AnyFormulation;
use remat_instances::Instance;
use remat_instances::instance::CostUnit;
use remat_instances::simulate::Replay;
use serde::Serialize;

/// Checks that nothing is asked for that a plan with copies does not have.
pub(super) fn check(arguments: &SolveArguments) -> Result<(), Failure> {
    if arguments.offload.link.offload.is_none() {
        return Ok(());
    }
    let asked = [
        ("--reorder", arguments.order.reorder),
        ("--certificate", arguments.certificate.is_some()),
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

/// The formulation of the instance with the link that was asked for; `None` where none was.
pub(super) fn linked(
    arguments: &SolveArguments,
    formulation: &AnyFormulation,
) -> Result<Option<AnyFormulation>, Failure> {
    let linked = arguments.offload.link.applied(formulation.instance())?;
    let semantics = formulation.semantics();
    let of = |instance: Instance| AnyFormulation::of(&instance, semantics);
    linked.map(of).transpose().map_err(Failure::from)
}

/// Times at which copies are made.
pub(super) fn phase(arguments: &SolveArguments) -> CopyPhase {
    match arguments.offload.offload_phase {
        OffloadPhase::Any => CopyPhase::Any,
        OffloadPhase::Loss => CopyPhase::Loss,
    }
}

/// Time and bytes of a plan with copies; absent without a link.
#[derive(Serialize)]
pub(super) struct OffloadJson {
    makespan: Option<u64>,
    compute_cost: Option<u64>,
    idle: Option<u64>,
    to_host_bytes: Option<u64>,
    from_host_bytes: Option<u64>,
    host_peak_bytes: Option<u64>,
    without_copies: Option<u64>,
}

impl OffloadJson {
    pub fn of(answer: &Offloaded) -> Self {
        let replay = answer.outcome.replay.as_ref();
        let of = |value: fn(&Replay) -> u64| replay.map(value);
        OffloadJson {
            makespan: of(|r| r.makespan),
            compute_cost: of(|r| r.cost),
            idle: of(Replay::idle),
            to_host_bytes: of(|r| r.transfers.to_host_bytes),
            from_host_bytes: of(|r| r.transfers.from_host_bytes),
            host_peak_bytes: of(|r| r.transfers.host_peak_bytes),
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
