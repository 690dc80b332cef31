//! Arguments of `order`, `place` and `plan-memory`.

use super::{Options, WORKERS};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use remat_formulations::options::{parse_alignment, parse_duration};
use remat_instances::order::Variant;
use remat_memory::order::Rule;
use std::path::PathBuf;
use std::time::Duration;

pub(super) const ORDER_ABOUT: &str = "\
Find the order of a training graph's operators with the least peak memory, without recomputation, and prove it.

A simulator replays every order, and shares no code with the search. The bound holds for every order of the variant. Without \
a time limit the work is fixed, and the answer is the same on any number of threads.";

pub(super) const PLACE_ABOUT: &str = "\
Find addresses for buffers with given lives, as low as possible or within a capacity, and prove a lower bound.

LIVES is a table as MiniMalloc reads them: id, lower, upper (the life is [lower, upper)), size, and optionally alignment, gaps \
and offset. INSTANCE with a PLAN (or schedule) places everything that the plan needs: fixed memory, every life of a tensor, \
workspaces.";

pub(super) const PLAN_MEMORY_ABOUT: &str = "\
Find the order of a training graph and an address for everything that it needs: the least arena, proven.

No placement is below the load of its order, and no load is below the bound of all orders. So an arena that meets this bound \
is optimal among all orders and addresses. If the best order does not lie that low, others within the same peak are placed, \
too.";

/// A variant by its name.
pub(super) fn variant() -> impl TypedValueParser<Value = Variant> {
    PossibleValuesParser::new(Variant::ALL.map(Variant::as_str))
        .try_map(|name| name.parse::<Variant>())
}

fn rule() -> impl TypedValueParser<Value = Rule> {
    PossibleValuesParser::new(Rule::ALL.map(Rule::as_str)).map(|name| {
        let named = |rule: &Rule| rule.as_str() == name;
        Rule::ALL.into_iter().find(named).unwrap_or(Rule::ALL[0])
    })
}

/// A graph whose operators may run in another order.
#[derive(Args, Debug)]
pub struct GraphOptions {
    /// Graph (remat-order/1), instance file, or zoo:MODEL?parameter=value&...
    pub graph: PathBuf,
    /// Edges that orders respect
    ///
    /// free has the edges of data. sound also runs an update in place after all readers of the
    /// overwritten tensor. sound+rng also draws random numbers in the program's order. ctl has the
    /// edges of data and OLLA's control edges, which reproduces OLLA.
    #[arg(long, value_name = "V", default_value = "sound+rng", value_parser = variant())]
    pub variant: Variant,
}

/// `remat-bb order`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb order zoo:googlenet --out order.json
  remat-bb order zoo:googlenet --budget 1.2GiB --json
  remat-bb order zoo:googlenet --baseline lpmf

`remat-bb schema order` describes the object that --json prints.

Exit codes: 0 an order (within the budget, if there is one), 2 bad usage or input, 3 proven: no order fits the budget, 4 a limit \
came before an order within the budget.")]
pub struct OrderArguments {
    /// Graph and variant
    #[command(flatten)]
    pub graph: GraphOptions,
    /// End with any order within this memory: bytes, an amount, or a share (90%)
    ///
    /// A share is of the peak of the program's order.
    #[arg(short, long, value_name = "B")]
    pub budget: Option<String>,
    /// Take the order of this rule instead of searching
    #[arg(long, value_name = "RULE", value_parser = rule(), conflicts_with = "budget")]
    pub baseline: Option<Rule>,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Threads and seed
    #[command(flatten)]
    pub workers: Options<WORKERS>,
    /// Write the order, as remat-order-plan/1 JSON
    #[arg(short, long, value_name = "ORDER.json")]
    pub out: Option<PathBuf>,
    /// Write a proof of the bound, for check-certificate
    #[arg(long, value_name = "FILE", conflicts_with = "baseline")]
    pub certificate: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// `remat-bb place`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb place lives.csv --out placement.csv
  remat-bb place lives.csv --capacity 1MiB --time-limit 10s --json
  remat-bb place zoo:resnet50 plan.json --out placed.json --svg addresses.svg

`remat-bb schema place` describes the object that --json prints.

Exit codes: 0 a placement (within the capacity, if there is one), 2 bad usage or input, 3 proven: no placement fits the \
capacity, 4 a limit came before a placement within the capacity.")]
pub struct PlaceArguments {
    /// Table of lives; with a PLAN its instance, a file or zoo:MODEL
    #[arg(value_name = "LIVES|INSTANCE")]
    pub lives: PathBuf,
    /// Plan or schedule to place
    pub plan: Option<PathBuf>,
    /// End with any placement within this capacity: bytes or an amount (1MiB)
    ///
    /// A share such as 101% is of the load.
    #[arg(short, long, value_name = "C")]
    pub capacity: Option<String>,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Threads and seed
    #[command(flatten)]
    pub workers: Options<WORKERS>,
    /// Write the table with a column `offset`, or the plan with its addresses
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Divisor of all offsets of a plan in bytes, a power of two
    ///
    /// Default: the largest up to 512 that does not raise the peak, else the largest up to 64 that
    /// raises it by at most a thousandth.
    #[arg(long, value_name = "BYTES", value_parser = parse_alignment, requires = "plan")]
    pub alignment: Option<u64>,
    /// Write the lives of the plan as a table
    #[arg(long, value_name = "LIVES.csv", requires = "plan")]
    pub lives_out: Option<PathBuf>,
    /// Draw addresses over time
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a proof of the bound, for check-certificate
    ///
    /// The proof needs a table of lives; --lives-out writes the table of a plan.
    #[arg(long, value_name = "FILE", conflicts_with = "plan")]
    pub certificate: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}

/// `remat-bb plan-memory`
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  remat-bb plan-memory zoo:googlenet --out memory.json --svg memory.svg
  remat-bb plan-memory zoo:googlenet --time-limit 10s --json

`remat-bb schema plan-memory` describes the object that --json prints.")]
pub struct PlanMemoryArguments {
    /// Graph and variant
    #[command(flatten)]
    pub graph: GraphOptions,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Threads and seed
    #[command(flatten)]
    pub workers: Options<WORKERS>,
    /// Write order and addresses, as remat-memory-plan/1 JSON
    #[arg(short, long, value_name = "MEMORY.json")]
    pub out: Option<PathBuf>,
    /// Draw addresses over time
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}
