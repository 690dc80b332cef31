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
Find the order of a training graph's operators in which its peak memory is least, without recomputation, and prove it.

Every order is replayed by a simulator that knows nothing of how it was found; the bound holds for every order of the \
variant. Without a time limit the work is fixed, and the answer is the same on any number of threads.";

pub(super) const PLACE_ABOUT: &str = "\
Find addresses for buffers with given lives, as low as possible or within a capacity, and prove how low any could be.

LIVES is a table as MiniMalloc reads them: id, lower, upper (the life is [lower, upper)), size, and where wanted alignment, \
gaps and offset. With a PLAN (or schedule) it is the plan's instance, and everything that the plan takes is placed: fixed \
memory, every life of a tensor, workspaces.";

pub(super) const PLAN_MEMORY_ABOUT: &str = "\
Find the order of a training graph and an address for everything that it takes: the least arena, proven.

No placement is below the load of its order, and no load below the bound of all orders: an arena that meets that bound is \
optimal among all orders and addresses. Where the best order does not lie that low, others within the same peak are placed, \
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
    /// Edges that orders respect: those of data (free), what is overwritten in place as well
    /// (sound), random numbers in the program's order as well (sound+rng), or data and OLLA's
    /// control edges (ctl), which reproduces OLLA
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

The object that --json prints has the fields status (optimal; feasible: the bound is below; infeasible: no order fits into \
the budget; limit or interrupted), objective (the peak in bytes), bound, gap, bound_scope (orders), seconds, nodes (executed sets), lp_iterations \
(0), peak_memory_bytes, budget_bytes, version, instance (the graph), instance_sha256, variant, operators, base_memory_bytes (resident), \
program_peak_bytes, bound_by, found_by, cuts, settings, threads and seed. What is not known is null.

Exit codes: 0 an order (within the budget, if there is one), 2 bad usage or input, 3 proven: no order fits into the budget, 4 a \
limit came before an order within the budget.")]
pub struct OrderArguments {
    /// Graph and variant
    #[command(flatten)]
    pub graph: GraphOptions,
    /// Memory within which any order will do: bytes, an amount (6GiB), or a share of the program
    /// order's peak (90%)
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
    /// Write the order here, as remat-order-plan/1 JSON
    #[arg(short, long, value_name = "ORDER.json")]
    pub out: Option<PathBuf>,
    /// Write a proof of the bound here, which check-certificate accepts
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

The object that --json prints has the fields status (optimal; feasible: within the capacity, or the bound is below; infeasible: \
nothing fits into the capacity; limit or interrupted), objective (the height in bytes), bound, gap, bound_scope (placements), seconds, nodes, \
lp_iterations (0), peak_memory_bytes (the height), budget_bytes (the capacity), version, lives (the file), buffers, load_bytes, fragmentation_percent, settings, \
threads, seed, and of a plan instance, plan_peak_bytes and alignment_bytes. What is not known is null.

Exit codes: 0 a placement (within the capacity, if there is one), 2 bad usage or input, 3 proven: nothing fits into the capacity, \
4 a limit came before a placement within the capacity.")]
pub struct PlaceArguments {
    /// Table of lives; with a PLAN, its instance: a file, or zoo:MODEL?parameter=value&...
    #[arg(value_name = "LIVES|INSTANCE")]
    pub lives: PathBuf,
    /// Plan or schedule, everything of which is to be placed
    pub plan: Option<PathBuf>,
    /// Bytes within which any placement will do: bytes or an amount (1MiB)
    #[arg(short, long, value_name = "C")]
    pub capacity: Option<String>,
    /// End after this time: seconds, or with a unit (90s, 10m, 2h)
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration)]
    pub time_limit: Option<Duration>,
    /// Threads and seed
    #[command(flatten)]
    pub workers: Options<WORKERS>,
    /// Write the placement here: the table with a column `offset`, or the plan with its addresses
    #[arg(short, long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Number of bytes that the offsets of a plan are multiples of, a power of two [default: as the
    /// sizes suggest: 512 where that costs nothing, less where it would cost more than a thousandth]
    #[arg(long, value_name = "BYTES", value_parser = parse_alignment, requires = "plan")]
    pub alignment: Option<u64>,
    /// Write the lives of the plan here, as a table
    #[arg(long, value_name = "LIVES.csv", requires = "plan")]
    pub lives_out: Option<PathBuf>,
    /// Draw addresses over time here
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Write a certificate of the bound here, which check-certificate accepts (of a table; that of a
    /// plan is written by --lives-out)
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

The object that --json prints has the fields status (optimal or feasible, interrupted), objective (resident memory and arena in \
bytes), bound, gap, bound_scope (orders-and-placements), seconds, nodes (executed sets, and nodes of the search for addresses), lp_iterations (0), \
peak_memory_bytes (the objective), budget_bytes (null), version, instance (the graph), instance_sha256, variant, operators, base_memory_bytes (resident), \
program_peak_bytes, order_peak_bytes, height_bytes (the arena), load_bytes, orders (that were placed), settings, threads and seed. What is not known is null.")]
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
    /// Write order and addresses here, as remat-memory-plan/1 JSON
    #[arg(short, long, value_name = "MEMORY.json")]
    pub out: Option<PathBuf>,
    /// Draw addresses over time here
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Print one JSON object on standard output instead of a summary
    #[arg(long)]
    pub json: bool,
    /// No notes on standard error
    #[arg(short, long)]
    pub quiet: bool,
}
