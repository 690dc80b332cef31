//! Proofs of bounds on schedules, with copies to the host or without.

use super::{made_for, refuse};
use crate::arguments::CheckArguments;
use crate::failure::{Exit, Failure};
use crate::{files, source};
use remat_check::proof::{self, Body, Claim, LinkTerms};
use remat_formulations::offload::nodes::STAGE_SCHEDULES_WITH_COPIES;
use remat_instances::budget::format_bytes;
use remat_instances::instance::HostLink;
use remat_instances::name::visible;
use remat_report::results;
use remat_report::results::OriginJson;
use remat_report::transfers;
use schemars::JsonSchema;
use serde::Serialize;

#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct ProofJson<'a> {
    verdict: &'a str,
    claim: &'a str,
    lower: Option<u64>,
    bound_scope: &'a str,
    formulation: &'a str,
    evidence: &'a str,
    #[serde(flatten)]
    origin: OriginJson<'a>,
    made_for: &'a str,
    budget_bytes: u64,
    link: Option<LinkJson<'a>>,
    rows: usize,
    nodes: usize,
    leaves: usize,
}

/// The link that plans copy over; null for plans without copies.
#[derive(Serialize, JsonSchema)]
struct LinkJson<'a> {
    to_host_bytes_per_second: u64,
    from_host_bytes_per_second: u64,
    latency_ns: u64,
    duplex: &'a str,
    host_memory_bytes: Option<u64>,
    offload_phase: &'a str,
}

impl<'a> LinkJson<'a> {
    fn of(terms: &'a LinkTerms) -> Self {
        let link = &terms.link;
        LinkJson {
            to_host_bytes_per_second: link.to_host_bytes_per_second,
            from_host_bytes_per_second: link.from_host_bytes_per_second,
            latency_ns: link.latency_ns,
            duplex: link.duplex.as_str(),
            host_memory_bytes: link.host_memory_bytes,
            offload_phase: if terms.by_loss { "loss" } else { "any" },
        }
    }
}

/// Checks a proof of a bound on schedules and reports.
pub(super) fn run(arguments: &CheckArguments, text: &str) -> Result<Exit, Failure> {
    let path = &arguments.certificate;
    let instance = made_for(arguments)?;
    let written = proof::parse(text).map_err(|e| refuse(path, e))?;
    let instance = source::instance(instance)?;
    let semantics = written.body.semantics();
    let instance = instance.seen_by(semantics);
    let counts = proof::check(&written, &instance).map_err(|e| refuse(path, e))?;
    let (evidence, holding) = match written.body {
        Body::Trips { .. } => ("trips", "every stage schedule with copies"),
        Body::Envelope(_) => (
            "envelope",
            "every stage schedule without copies in more memory",
        ),
        _ => ("tree", "every stage schedule"),
    };
    let terms = written.body.link();
    let (copies, verb) = match terms {
        Some(_) => (" with copies", "takes"),
        None => ("", "costs"),
    };
    let budget = format_bytes(written.budget_bytes);
    let (claim, lower, words) = match written.claim {
        Claim::Bound(cost) => {
            let cost_text = remat_report::cost(cost, instance.cost_unit());
            let words = format!(
                "every stage schedule{copies} within {budget} {verb} at least {cost_text} ({cost})"
            );
            ("bound", Some(cost), words)
        }
        _ => (
            "infeasible",
            None,
            format!("no stage schedule{copies} fits within {budget}"),
        ),
    };
    // As the proof has it.
    let name = instance.name().to_string();
    let named = name.split_whitespace().collect::<Vec<_>>();
    let mut notes = terms.map_or(String::new(), |terms| {
        let own = instance.host_link();
        format!("  link   {}\n", link_words(terms, own))
    });
    if named.join(" ") != written.instance {
        notes += &format!(
            "  note   the proof was made for {}, and holds for this instance as well\n",
            visible(&written.instance)
        );
    }
    let leaves = match counts.leaves {
        1 => "1 leaf".into(),
        n => format!("{n} leaves"),
    };
    files::print(&if arguments.json {
        results::json(&ProofJson {
            verdict: "accepted",
            claim,
            lower,
            bound_scope: match terms {
                Some(_) => STAGE_SCHEDULES_WITH_COPIES,
                None => "stage-schedules",
            },
            formulation: semantics.as_str(),
            evidence,
            origin: OriginJson::of(&instance),
            made_for: &written.instance,
            budget_bytes: written.budget_bytes,
            link: terms.map(LinkJson::of),
            rows: counts.rows,
            nodes: counts.nodes,
            leaves: counts.leaves,
        })
    } else {
        format!(
            "accepted: {}: {words}\n{notes}  rows   {}, each of which holds at {holding}\n  nodes  {}, {}\n",
            instance.name(),
            counts.rows,
            counts.nodes,
            leaves,
        )
    })?;
    Ok(Exit::Done)
}

/// The link that a proof is about, and whether it is the instance's own.
fn link_words(terms: &LinkTerms, own: Option<&HostLink>) -> String {
    let mut words = transfers::link(&terms.link);
    if let Some(bytes) = terms.link.host_memory_bytes {
        words += &format!(", {} of host memory", format_bytes(bytes));
    }
    if terms.by_loss {
        words += ", to the host before the loss and back behind it";
    }
    if own.is_some_and(|own| *own != terms.link) {
        words += "; the instance's own link is another one";
    }
    words
}
