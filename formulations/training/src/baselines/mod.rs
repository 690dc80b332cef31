//! The known ways to get a schedule without an integer program.
//!
//! Every heuristic is a function from an instance and a budget to a [`CheckmateSchedule`], listed
//! with its source in one table; [`strategies`](crate::strategies) also has heuristics by linear
//! programs. A schedule is returned even if it misses the budget (then the one with the least peak
//! among those the heuristic considers): [`remat_instances::simulate`] decides whether it fits.
//!
//! | module | heuristic |
//! |---|---|
//! | [`checkpoint_all`] | no recomputation |
//! | [`chen`] | segments of a chain: square root of the length, or equal memory |
//! | [`revolve`] | optimal binomial checkpointing of a chain with unit costs |
//! | [`articulation`] | Chen's segments with articulation points as the candidates |
//! | [`dtr`] | greedy eviction, stage by stage, on any graph |
//! | [`gaps`] | the cheapest tensors for their bytes, dropped between forward and backward pass |
//! | `idle` | the same between any two uses, on graphs without a backward pass |
//! | [`linearised`] | Chen's segments on the topological order |
//! | [`pytorch`] | the minimum cut and the knapsack of PyTorch's compiler |
//! | [`rotor`] | optimal persistent checkpointing of a chain of blocks |
//! | [`hong`] | the checkpoint set of a chain with the least peak in PyTorch |
//!
//! Shared parts: [`training`] (the shape of a training graph), [`segments`] (checkpoints and
//! segments), [`retention`] (schedules from held tensors), [`remat_memory::max_flow`],
//! [`knapsack`], [`operators`] (operators that are cheap to recompute).

pub mod articulation;
pub mod chain;
pub mod checkpoint_all;
pub mod chen;
pub mod dtr;
pub mod gaps;
pub mod hong;
mod idle;
pub mod knapsack;
pub mod linearised;
pub mod operators;
mod profile;
pub mod pytorch;
pub mod retention;
pub mod revolve;
pub mod rotor;
pub mod segments;
pub mod training;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;

use remat_instances::instance::{Instance, NodeId};
use remat_instances::name::Name;
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate::{self, Replay};

use remat_search::Patience;

/// Reason why a heuristic does not apply to an instance.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotApplicable {
    /// The graph has neither a loss nor a backward node.
    #[error("the graph has no backward pass: it has neither a loss nor a backward node")]
    NoBackwardPass,
    /// The graph has no forward node to keep or drop.
    #[error("the graph has no forward node before its loss")]
    NoForwardPass,
    /// The forward pass is not a chain.
    #[error(
        "not a linear chain: {name} (node {node}) reads {inputs} inputs, or not the one before"
    )]
    NotAChain {
        /// First node that breaks the chain.
        node: NodeId,
        /// Its name.
        name: Name,
        /// Number of tensors it reads.
        inputs: usize,
    },
    /// The forward pass is not a chain of blocks.
    #[error(transparent)]
    NotAChainOfBlocks(chain::NoChain),
    /// The graph is too large: it takes too long.
    #[error("too large: {nodes} nodes; it is run up to {most}")]
    TooLarge {
        /// Nodes of the graph.
        nodes: usize,
        /// Most nodes.
        most: usize,
    },
    /// The time ended before there was a schedule.
    #[error("the time ended before it had a schedule")]
    OutOfTime,
    /// The relaxation was not solved.
    #[error("the relaxation was not solved: {0}")]
    Relaxation(String),
    /// The chain is out of range for rotor's dynamic program.
    #[error(transparent)]
    Rotor(#[from] rotor::Error),
}

impl From<chain::NoChain> for NotApplicable {
    fn from(problem: chain::NoChain) -> Self {
        match problem {
            chain::NoChain::NoBackwardPass => NotApplicable::NoBackwardPass,
            chain::NoChain::NoCut => NotApplicable::NotAChainOfBlocks(problem),
        }
    }
}

/// A heuristic as a function: an instance and a budget in bytes (fixed memory included) to a
/// schedule.
pub type Heuristic = fn(&Instance, u64, Patience<'_>) -> Result<CheckmateSchedule, NotApplicable>;

/// A named heuristic.
#[derive(Clone, Copy, Debug)]
pub struct Baseline {
    /// Name on the command line and in tables, for example `chen-greedy`.
    pub name: &'static str,
    /// One line for users.
    pub description: &'static str,
    /// Publication that it comes from.
    pub source: &'static str,
    /// True if it solves a linear program: that takes seconds, the others milliseconds.
    pub solves_program: bool,
    pub(crate) heuristic: Heuristic,
}

impl Baseline {
    /// The schedule of this heuristic for a budget in bytes, fixed memory included. It replays
    /// without error; its peak may be above the budget if the heuristic finds no better schedule.
    ///
    /// # Errors
    /// [`NotApplicable`] names the missing property of the graph.
    pub fn run(
        &self,
        instance: &Instance,
        budget_bytes: u64,
    ) -> Result<CheckmateSchedule, NotApplicable> {
        self.run_until(instance, budget_bytes, Patience::ENDLESS)
    }

    /// The same within a limit.
    ///
    /// # Errors
    /// As [`Baseline::run`], and [`NotApplicable::OutOfTime`].
    pub fn run_until(
        &self,
        instance: &Instance,
        budget_bytes: u64,
        patience: Patience<'_>,
    ) -> Result<CheckmateSchedule, NotApplicable> {
        match patience.is_over() {
            true => Err(NotApplicable::OutOfTime),
            false => (self.heuristic)(instance, budget_bytes, patience),
        }
    }
}

const CHECKMATE: &str = "Jain et al., Checkmate, MLSys 2020, table 1";
const CHEN: &str = "Chen et al., Training deep nets with sublinear memory cost, 2016";

static ALL: [Baseline; 14] = [
    Baseline {
        name: "checkpoint-all",
        description: "no recomputation: every tensor is kept until its last use",
        source: CHECKMATE,
        solves_program: false,
        heuristic: |instance, budget, _| checkpoint_all::run(instance, budget),
    },
    Baseline {
        name: "dtr",
        description: "evicts what is cheap, large and not needed for long whenever memory runs out",
        source: "Kirisame et al., Dynamic tensor rematerialization, ICLR 2021",
        solves_program: false,
        heuristic: dtr::run,
    },
    Baseline {
        name: "gap-greedy",
        description: "drops what is cheapest for its bytes between its forward and its backward use, or any two uses",
        source: "remat-bb; a knapsack as in torch.compile, with the segments of Chen et al.",
        solves_program: false,
        heuristic: gaps::run,
    },
    Baseline {
        name: "chen-sqrt",
        description: "a chain in segments of sqrt(n) nodes, each recomputed once",
        source: CHEN,
        solves_program: false,
        heuristic: |instance, budget, _| chen::square_root(instance, budget),
    },
    Baseline {
        name: "chen-greedy",
        description: "a chain in segments of equal memory, searched over the segment size",
        source: CHEN,
        solves_program: false,
        heuristic: chen::greedy,
    },
    Baseline {
        name: "revolve",
        description: "binomial checkpointing of a chain with as many slots as fit",
        source: "Griewank and Walther, Algorithm 799: revolve, ACM TOMS 26(1), 2000",
        solves_program: false,
        heuristic: revolve::run,
    },
    Baseline {
        name: "rotor",
        description: "optimal persistent checkpointing of a chain of blocks, by dynamic programming",
        source: "Beaumont et al., Optimal checkpointing for heterogeneous chains, 2019",
        solves_program: false,
        heuristic: |instance, budget, _| rotor::run(instance, budget),
    },
    Baseline {
        name: "hong",
        description: "the checkpoint set of a chain with the least peak in PyTorch; ignores the budget",
        source: "Hong et al., GPU memory usage optimization for backward propagation, Algorithm 6",
        solves_program: false,
        heuristic: |instance, budget, _| hong::run(instance, budget),
    },
    Baseline {
        name: "ap-sqrt",
        description: "chen-sqrt with articulation points as candidates, on any graph",
        source: CHECKMATE,
        solves_program: false,
        heuristic: |instance, budget, _| articulation::square_root(instance, budget),
    },
    Baseline {
        name: "ap-greedy",
        description: "chen-greedy with articulation points as candidates, on any graph",
        source: CHECKMATE,
        solves_program: false,
        heuristic: articulation::greedy,
    },
    Baseline {
        name: "linearised-sqrt",
        description: "chen-sqrt on the topological order, on any graph",
        source: CHECKMATE,
        solves_program: false,
        heuristic: |instance, budget, _| linearised::square_root(instance, budget),
    },
    Baseline {
        name: "linearised-greedy",
        description: "chen-greedy on the topological order, on any graph",
        source: CHECKMATE,
        solves_program: false,
        heuristic: linearised::greedy,
    },
    Baseline {
        name: "pytorch-min-cut",
        description: "torch.compile's minimum cut of saved bytes, all cheap operators recomputed; ignores the budget",
        source: "PyTorch 2, torch/_functorch/partitioners.py, min_cut_rematerialization_partition",
        solves_program: false,
        heuristic: |instance, budget, _| pytorch::minimum_cut(instance, budget),
    },
    Baseline {
        name: "pytorch-budget",
        description: "torch.compile's activation_memory_budget: its default partition, then the cut, then a knapsack",
        source: "PyTorch 2, torch/_functorch/partitioners.py, activation_memory_budget",
        solves_program: false,
        heuristic: |instance, budget, _| pytorch::memory_budget(instance, budget),
    },
];

/// All heuristics, in the order in which they are shown.
pub(crate) fn all() -> &'static [Baseline] {
    &ALL
}

/// A heuristic by its name.
pub(crate) fn by_name(name: &str) -> Option<&'static Baseline> {
    ALL.iter().find(|b| b.name == name)
}

/// The cheapest schedule within the budget or, if no schedule fits, the one with the least peak.
/// The first wins a tie.
///
/// Schedules that do not replay are skipped; heuristics do not make such schedules.
pub(crate) fn best(
    instance: &Instance,
    budget_bytes: u64,
    schedules: impl IntoIterator<Item = CheckmateSchedule>,
) -> Option<CheckmateSchedule> {
    let mut best = Best::new(budget_bytes);
    for schedule in schedules {
        if let Ok(replay) = simulate::checkmate(instance, &schedule) {
            best.take(replay, schedule);
        }
    }
    best.schedule()
}

/// The cheapest schedule within a budget so far or, if no schedule fits, the one with the least
/// peak. The first wins a tie.
pub(crate) struct Best {
    budget_bytes: u64,
    found: Option<(Replay, CheckmateSchedule)>,
}

impl Best {
    pub fn new(budget_bytes: u64) -> Self {
        Best {
            budget_bytes,
            found: None,
        }
    }

    /// Returns whether a schedule fits.
    pub fn fits(&self) -> bool {
        let found = self.found.as_ref();
        found.is_some_and(|(replay, _)| replay.peak_bytes <= self.budget_bytes)
    }

    /// Adds a schedule; returns whether it is better.
    pub fn take(&mut self, replay: Replay, schedule: CheckmateSchedule) -> bool {
        let rank = |r: &Replay| match r.peak_bytes <= self.budget_bytes {
            true => (false, r.cost, r.peak_bytes),
            false => (true, r.peak_bytes, r.cost),
        };
        let found = self.found.as_ref();
        let better = found.is_none_or(|(best, _)| rank(&replay) < rank(best));
        if better {
            self.found = Some((replay, schedule));
        }
        better
    }

    /// The schedule.
    pub fn schedule(self) -> Option<CheckmateSchedule> {
        self.found.map(|(_, schedule)| schedule)
    }
}
