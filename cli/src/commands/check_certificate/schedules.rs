//! Proofs of bounds on schedules, with copies to the host or without.

use super::{made_for, refuse};
use crate::arguments::CheckArguments;
use crate::failure::{Exit, Failure};
use crate::{files, source};
use remat_check::proof::checkmate::Plans;
use remat_check::proof::{self, Body, Claim, LinkTerms};
use remat_formulations::class::class_scope;
use remat_formulations::offload::nodes::STAGE_SCHEDULES_WITH_COPIES;
use remat_instances::budget::format_bytes;
use remat_instances::instance::HostLink;
use remat_instances::name::visible;
use remat_report::results;
use remat_report::results::OriginJson;
use remat_report::transfers;
use remat_search::{ALL_PLANS, PLANS_IN_THIS_ORDER, STAGE_SCHEDULES};
use schemars::JsonSchema;
use serde::Serialize;

/// The object of `remat-bb check-certificate --json`, for a proof of `solve`.
#[derive(Serialize, JsonSchema)]
pub(in crate::commands) struct ProofJson<'a> {
    /// Always `accepted`: a certificate that is refused is an error.
    verdict: &'a str,
    /// `bound` or `infeasible`.
    claim: &'a str,
    /// Proven lower bound on the cost (with copies on the makespan); null if `claim` is
    /// `infeasible`.
    lower: Option<u64>,
    /// Plans that the bound covers: `all-plans`, `plans-in-this-order`, `stage-schedules`,
    /// `stage-schedules-with-copies` or the plans of a class.
    bound_scope: &'a str,
    /// Integer program whose semantics hold: `checkmate` or `monet`.
    formulation: &'a str,
    /// Form of the proof: `tree`, or with copies `trips` or `envelope`.
    evidence: &'a str,
    #[serde(flatten)]
    origin: OriginJson<'a>,
    /// Instance that the proof names; if it is another one, the proof holds for the checked
    /// instance as well.
    made_for: &'a str,
    /// Memory budget in bytes.
    budget_bytes: u64,
    /// Link that plans copy over; null for plans without copies.
    link: Option<LinkJson<'a>>,
    /// Number of rows.
    rows: usize,
    /// Number of nodes.
    nodes: usize,
    /// Number of leaves.
    leaves: usize,
}

/// The link that plans copy over.
#[derive(Serialize, JsonSchema)]
struct LinkJson<'a> {
    /// Speed to the host, in bytes per second.
    to_host_bytes_per_second: u64,
    /// Speed from the host, in bytes per second.
    from_host_bytes_per_second: u64,
    /// Time of every copy beside its bytes, in nanoseconds.
    latency_ns: u64,
    /// `full` (both directions at once) or `half`.
    duplex: &'a str,
    /// Host memory for copies in bytes; null without a limit.
    host_memory_bytes: Option<u64>,
    /// Times of copies: `any`, or `loss` (to the host before the loss, back after it).
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
        Body::Checkmate {
            plans: Plans::InThisOrder | Plans::All,
            ..
        } => ("tree", "every plan in the graph's order"),
        _ => ("tree", "every stage schedule"),
    };
    let terms = written.body.link();
    let (copies, verb) = match terms {
        Some(_) => (" with copies", "takes"),
        None => ("", "costs"),
    };
    let scope = written.body.plans();
    let plans = match scope {
        Some(Plans::Class(class)) => format!("plan of the class {class}"),
        Some(Plans::InThisOrder) => "plan in the graph's order".into(),
        Some(Plans::All) => "plan in any order".into(),
        Some(Plans::StageSchedules) | None => "stage schedule".into(),
    };
    let budget = format_bytes(written.budget_bytes);
    let (claim, lower, words) = match written.claim {
        Claim::Bound(cost) => {
            let cost_text = remat_report::cost(cost, instance.cost_unit());
            let words = format!(
                "every {plans}{copies} within {budget} {verb} at least {cost_text} ({cost})"
            );
            ("bound", Some(cost), words)
        }
        _ => (
            "infeasible",
            None,
            format!("no {plans}{copies} fits within {budget}"),
        ),
    };
    // The proof has the name with single blanks.
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
            bound_scope: match (terms, scope) {
                (Some(_), _) => STAGE_SCHEDULES_WITH_COPIES,
                (None, Some(Plans::Class(class))) => class_scope(class),
                (None, Some(Plans::InThisOrder)) => PLANS_IN_THIS_ORDER,
                (None, Some(Plans::All)) => ALL_PLANS,
                (None, _) => STAGE_SCHEDULES,
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

/// The link of a proof in words, with a note if it is not the instance's own.
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
