//! What a plan copies to the host, in words and as JSON.

use super::{STORIES, Teller, are};
use remat_instances::budget::format_bytes;
use remat_instances::explain::{Departure, Return};
use remat_instances::instance::Duplex;
use remat_instances::name::Name;
use remat_report::counted;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Reverse;
use std::fmt::Write;

impl Teller<'_> {
    /// One sentence about all copies, and one about the link.
    pub(super) fn link(&self, text: &mut String) {
        let (told, replay) = (self.told, &self.told.replay);
        let transfers = &replay.transfers;
        if told.departures.is_empty() {
            return;
        }
        let waiting = match replay.idle() {
            0 => "no computation waits for a copy".into(),
            idle => format!(
                "computations wait {} for copies ({:.2}%)",
                self.cost(idle),
                self.share(idle)
            ),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} copied to the host ({}) and back ({}), at most {} there at a time; {waiting}.",
            are(told.departures.len(), "tensor"),
            format_bytes(transfers.to_host_bytes),
            format_bytes(transfers.from_host_bytes),
            format_bytes(transfers.host_peak_bytes),
        );
        let lane = |name: &str, busy: u64| {
            let share = busy as f64 / replay.makespan.max(1) as f64 * 100.0;
            let idle = replay.makespan.saturating_sub(busy);
            format!(
                "{name} is busy for {} ({share:.1}% of the step) and idle for {}",
                self.cost(busy),
                self.cost(idle)
            )
        };
        let (out, back) = (transfers.busy(true), transfers.busy(false));
        let link = self.instance.host_link();
        let lanes = match link.is_some_and(|link| link.duplex == Duplex::Half) {
            true => lane("The link", out.saturating_add(back)),
            false => {
                let out = lane("The link to the host", out);
                format!("{out}; {}", lane("the link back", back))
            }
        };
        let _ = writeln!(text, "{lanes}.");
    }

    /// Every departure with its returns: first those that computations wait for, then the largest.
    pub(super) fn departures(&self, text: &mut String, hint: Option<&str>) {
        let mut list: Vec<&Departure> = self.told.departures.iter().collect();
        if list.is_empty() {
            return;
        }
        let bytes = |d: &Departure| self.instance.node(d.node).output_bytes;
        list.sort_by_key(|d| (Reverse(d.idle()), Reverse(bytes(d)), d.out.begin));
        let _ = writeln!(
            text,
            "\nTensors that leave for the host, first those that computations wait for, then the largest:"
        );
        let shown = hint.map_or(list.len(), |_| STORIES);
        for departure in list.iter().take(shown) {
            self.departure(text, departure);
        }
        if let Some(hint) = hint.filter(|_| list.len() > shown) {
            let rest: u64 = list[shown..].iter().map(|d| bytes(d)).sum();
            let _ = writeln!(
                text,
                "\n... and {} of {} ({hint}).",
                counted((list.len() - shown) as u64, "more departure"),
                format_bytes(rest)
            );
        }
    }

    fn departure(&self, text: &mut String, departure: &Departure) {
        let node = self.instance.node(departure.node);
        let out = &departure.out;
        let _ = writeln!(
            text,
            "\n  {} ({}): left for the host at {}, there at {}{}",
            node.name,
            format_bytes(node.output_bytes),
            self.cost(out.begin),
            self.cost(out.end),
            self.waits(out.idle)
        );
        if departure.returns.is_empty() {
            let _ = writeln!(text, "    and never came back");
        }
        for back in &departure.returns {
            let _ = writeln!(text, "    {}", self.back(departure, back));
        }
    }

    fn waits(&self, idle: u64) -> String {
        match idle {
            0 => String::new(),
            idle => format!("; computations wait {} for that", self.cost(idle)),
        }
    }

    fn back(&self, departure: &Departure, back: &Return) -> String {
        let reader = self.told.order.get(back.copy.awaited);
        let mut text = format!(
            "back for {} from {} to {}{}",
            reader.map_or("nothing", |id| self.name(*id)),
            self.cost(back.copy.begin),
            self.cost(back.copy.end),
            self.waits(back.copy.idle)
        );
        let bytes = self.instance.node(departure.node).output_bytes;
        let Some((from, after)) = back.freed else {
            return text + "; the device had it all the time";
        };
        let _ = write!(text, "; freed after {}", self.name(after));
        if back.copy.after == from {
            return text + ", and nothing runs in between";
        }
        let _ = write!(
            text,
            ": {} free during {}",
            format_bytes(bytes),
            counted((back.copy.after - from) as u64, "computation"),
        );
        text + &self.fullest(back.fullest, bytes)
    }

    /// The departures as JSON has them.
    pub(super) fn departures_json(&self) -> Vec<JsonDeparture<'_>> {
        let back = |departure: &Departure, back: &Return| {
            let bytes = self.instance.node(departure.node).output_bytes;
            let reader = self.told.order.get(back.copy.awaited);
            let stays = |budget| {
                let fits = |most: u64| most.saturating_add(bytes) <= budget;
                back.fullest.is_none_or(|(_, most)| fits(most))
            };
            JsonReturn {
                begin: back.copy.begin,
                end: back.copy.end,
                idle: back.copy.idle,
                made_for: reader.map(|id| self.name(*id)),
                freed_after: back.freed.map(|(_, after)| self.name(after)),
                computations: back.freed.map_or(0, |(from, _)| back.copy.after - from),
                fullest_bytes: back.fullest.map(|f| f.1),
                fullest_at: back.fullest.map(|f| self.name(self.told.order[f.0])),
                could_have_stayed: self.budget_bytes.map(stays),
            }
        };
        let one = |departure: &Departure| JsonDeparture {
            node: self.name(departure.node),
            bytes: self.instance.node(departure.node).output_bytes,
            begin: departure.out.begin,
            end: departure.out.end,
            idle: departure.out.idle,
            returns: (departure.returns.iter())
                .map(|r| back(departure, r))
                .collect(),
        };
        self.told.departures.iter().map(one).collect()
    }
}

/// A copy to the host.
#[derive(Serialize, JsonSchema)]
pub(super) struct JsonDeparture<'a> {
    /// Node whose output is copied.
    node: &'a str,
    /// Size in bytes.
    bytes: u64,
    /// Begin, in the unit of costs.
    begin: u64,
    /// End, in the unit of costs.
    end: u64,
    /// Time that computations wait for this copy, in the unit of costs.
    idle: u64,
    /// Copies back.
    returns: Vec<JsonReturn<'a>>,
}

/// A copy back.
#[derive(Serialize, JsonSchema)]
struct JsonReturn<'a> {
    /// Begin, in the unit of costs.
    begin: u64,
    /// End, in the unit of costs.
    end: u64,
    /// Time that computations wait for this copy, in the unit of costs.
    idle: u64,
    /// Node that reads the tensor; null if no node reads it.
    #[schemars(with = "Option<String>")]
    made_for: Option<&'a Name>,
    /// Node after which the tensor leaves memory; null if it stays there.
    #[schemars(with = "Option<String>")]
    freed_after: Option<&'a Name>,
    /// Number of computations in between.
    computations: usize,
    /// Largest memory in use during these computations in bytes; null without a computation.
    fullest_bytes: Option<u64>,
    /// Node with this memory; null without a computation.
    #[schemars(with = "Option<String>")]
    fullest_at: Option<&'a Name>,
    /// True if this tensor alone could have stayed within the budget; null without a budget.
    could_have_stayed: Option<bool>,
}
