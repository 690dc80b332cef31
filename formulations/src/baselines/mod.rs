//! The known ways to get a schedule without an integer program.
//!
//! Every heuristic is a function from an instance and a budget to a [`CheckmateSchedule`], listed
//! with its source in one table: [`all`]. A schedule is returned even where it misses the budget
//! (then the one with the least peak among those the heuristic considers): whether it fits is for
//! [`remat_instances::simulate`] to say.
//!
//! | module | heuristic |
//! |---|---|
//! | [`checkpoint_all`] | no recomputation |
//! | [`chen`] | segments of a chain: square root of the length, or equal memory |
//! | [`revolve`] | optimal binomial checkpointing of a chain with unit costs |
//! | [`articulation`] | Chen's segments with articulation points as the candidates |
//! | [`dtr`] | greedy eviction, stage by stage, on any graph |
//! | [`linearised`] | Chen's segments on the topological order |
//! | [`pytorch`] | the minimum cut and the knapsack of PyTorch's compiler |
//! | [`rotor`] | optimal persistent checkpointing of a chain of blocks |
//! | [`hong`] | the checkpoint set of a chain with the least peak in PyTorch |
//! | [`rounding`] | the linear relaxation of Checkmate's program, rounded |
//!
//! Shared parts: [`training`] (the shape of a training graph), [`segments`] (checkpoints and
//! segments), [`retention`] (schedules from what is held when), [`max_flow`], [`knapsack`],
//! [`operators`] (what is cheap to recompute).

pub mod articulation;
pub mod chain;
pub mod checkpoint_all;
pub mod chen;
pub mod dtr;
pub mod hong;
pub mod knapsack;
pub mod linearised;
pub mod max_flow;
pub mod operators;
pub mod pytorch;
pub mod retention;
pub mod revolve;
pub mod rotor;
pub mod rounding;
pub mod segments;
pub mod training;

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;

use remat_instances::instance::{Instance, NodeId};
use remat_instances::schedule::CheckmateSchedule;
use remat_instances::simulate;

/// Reason why a heuristic has nothing to say about an instance.
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
        name: String,
        /// Number of tensors it reads.
        inputs: usize,
    },
    /// The forward pass is not a chain of blocks.
    #[error(transparent)]
    NotAChainOfBlocks(chain::NoChain),
    /// The relaxation of so large a graph takes too long for a heuristic.
    #[error("too large: {nodes} nodes; the relaxation is solved up to {most}")]
    TooLarge {
        /// Nodes of the graph.
        nodes: usize,
        /// Most nodes.
        most: usize,
    },
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
pub type Heuristic = fn(&Instance, u64) -> Result<CheckmateSchedule, NotApplicable>;

/// A named heuristic.
#[derive(Clone, Copy, Debug)]
pub struct Baseline {
    /// Name on the command line and in tables, for example `chen-greedy`.
    pub name: &'static str,
    /// One line for users.
    pub description: &'static str,
    /// Publication that it comes from.
    pub source: &'static str,
    /// True if it solves a linear program: that takes seconds where the others take milliseconds.
    pub solves_program: bool,
    heuristic: Heuristic,
}

impl Baseline {
    /// The schedule this heuristic makes for a budget in bytes, fixed memory included. It replays
    /// without error; its peak may be above the budget where the heuristic finds nothing better.
    ///
    /// # Errors
    /// [`NotApplicable`] says what the graph lacks.
    pub fn run(
        &self,
        instance: &Instance,
        budget_bytes: u64,
    ) -> Result<CheckmateSchedule, NotApplicable> {
        (self.heuristic)(instance, budget_bytes)
    }
}

const CHECKMATE: &str = "Jain et al., Checkmate, MLSys 2020, table 1";
const CHEN: &str = "Chen et al., Training deep nets with sublinear memory cost, 2016";

static ALL: [Baseline; 15] = [
    Baseline {
        name: "checkpoint-all",
        description: "no recomputation: every tensor is kept until its last use",
        source: CHECKMATE,
        solves_program: false,
        heuristic: checkpoint_all::run,
    },
    Baseline {
        name: "dtr",
        description: "evicts what is cheap, large and not needed for long whenever memory runs out",
        source: "Kirisame et al., Dynamic tensor rematerialization, ICLR 2021",
        solves_program: false,
        heuristic: dtr::run,
    },
    Baseline {
        name: "chen-sqrt",
        description: "a chain in segments of sqrt(n) nodes, each recomputed once",
        source: CHEN,
        solves_program: false,
        heuristic: chen::square_root,
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
        heuristic: rotor::run,
    },
    Baseline {
        name: "hong",
        description: "the checkpoint set of a chain with the least peak in PyTorch; ignores the budget",
        source: "Hong et al., GPU memory usage optimization for backward propagation, Algorithm 6",
        solves_program: false,
        heuristic: hong::run,
    },
    Baseline {
        name: "ap-sqrt",
        description: "chen-sqrt with articulation points as candidates, on any graph",
        source: CHECKMATE,
        solves_program: false,
        heuristic: articulation::square_root,
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
        heuristic: linearised::square_root,
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
        heuristic: pytorch::minimum_cut,
    },
    Baseline {
        name: "pytorch-budget",
        description: "torch.compile's activation_memory_budget: its default partition, then the cut, then a knapsack",
        source: "PyTorch 2, torch/_functorch/partitioners.py, activation_memory_budget",
        solves_program: false,
        heuristic: pytorch::memory_budget,
    },
    Baseline {
        name: "lp-rounding",
        description: "Checkmate's two-phase rounding of the relaxation, with several thresholds and allowances",
        source: "Jain et al., Checkmate, MLSys 2020, section 5",
        solves_program: true,
        heuristic: rounding::two_phase,
    },
    Baseline {
        name: "lp-rounding-random",
        description: "the same with 100 random roundings of each relaxation besides",
        source: "Jain et al., Checkmate, MLSys 2020, section 5",
        solves_program: true,
        heuristic: rounding::randomised_two_phase,
    },
];

/// All heuristics, in the order in which they are shown.
///
/// ```
/// use remat_formulations::baselines;
/// assert!(baselines::all().iter().any(|b| b.name == "revolve"));
/// ```
pub fn all() -> &'static [Baseline] {
    &ALL
}

/// A heuristic by its name.
pub fn by_name(name: &str) -> Option<&'static Baseline> {
    ALL.iter().find(|b| b.name == name)
}

/// The cheapest schedule within the budget, or, where none fits, the one with the least peak. The
/// first wins a tie.
///
/// Schedules that do not replay are skipped; the heuristics make none.
pub(crate) fn best(
    instance: &Instance,
    budget_bytes: u64,
    schedules: impl IntoIterator<Item = CheckmateSchedule>,
) -> Option<CheckmateSchedule> {
    let rank = |schedule: &CheckmateSchedule| {
        let replay = simulate::checkmate(instance, schedule).ok()?;
        Some(if replay.peak_bytes <= budget_bytes {
            (false, replay.cost, replay.peak_bytes)
        } else {
            (true, replay.peak_bytes, replay.cost)
        })
    };
    let mut best = None;
    for schedule in schedules {
        if let Some(found) = rank(&schedule)
            && best.as_ref().is_none_or(|(least, _)| found < *least)
        {
            best = Some((found, schedule));
        }
    }
    best.map(|(_, schedule)| schedule)
}
