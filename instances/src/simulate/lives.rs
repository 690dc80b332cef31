//! Lives of all memory of a plan, for which an arena must have room.

use super::{ReplayError, plan};
use crate::instance::{Instance, NodeId};
use crate::name::Name;
use crate::place::{Buffer, Gap, Lives, LivesError};
use crate::statement::{Plan, Register, Step};
use std::collections::BTreeMap;
use std::fmt;

/// Owner of a piece of memory of a plan. Numbers are positions of statements, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PieceOf {
    /// Fixed memory (parameters, batch, parameter gradients), or the part of it added by the
    /// computation of this statement.
    Fixed(usize),
    /// The tensor for which this statement allocates a register, and all tensors that overwrite it
    /// in place.
    Tensor(usize),
    /// Workspace of the computation of this statement.
    Workspace(usize),
}

impl PieceOf {
    /// The word for the kind: `fixed`, `tensor` or `workspace`.
    pub fn kind(self) -> &'static str {
        match self {
            PieceOf::Fixed(_) => "fixed",
            PieceOf::Tensor(_) => "tensor",
            PieceOf::Workspace(_) => "workspace",
        }
    }

    /// The statement.
    pub fn statement(self) -> usize {
        match self {
            PieceOf::Fixed(at) | PieceOf::Tensor(at) | PieceOf::Workspace(at) => at,
        }
    }
}

impl fmt::Display for PieceOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of statement {}", self.kind(), self.statement())
    }
}

/// A period of a life with constant size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifeStretch {
    /// First moment after it.
    pub end: usize,
    /// Size in bytes, from the start of the piece.
    pub bytes: u64,
}

/// Life of a piece of memory: moments `begin..end`, counted from 0. A moment is a computation, or,
/// in a plan with copies to the host, an `offload`, `wait` or `prefetch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanLife {
    /// Owner of the memory.
    pub of: PieceOf,
    /// The running node, or the first node with its output there; `None` for memory that exists
    /// before any node.
    pub node: Option<NodeId>,
    /// First moment of its life.
    pub begin: usize,
    /// Periods in order of time, at least one; there are more if a tensor of another size was
    /// computed in place.
    pub stretches: Vec<LifeStretch>,
}

impl PlanLife {
    /// First moment after the life.
    pub fn end(&self) -> usize {
        self.stretches.last().map_or(self.begin, |s| s.end)
    }

    /// Largest size in bytes.
    pub fn bytes(&self) -> u64 {
        self.stretches.iter().map(|s| s.bytes).max().unwrap_or(0)
    }

    fn new(of: PieceOf, node: Option<NodeId>, begin: usize) -> Self {
        PlanLife {
            of,
            node,
            begin,
            stretches: Vec::new(),
        }
    }

    /// Adds a period, merged with the previous one if the sizes are equal.
    fn until(&mut self, end: usize, bytes: u64) {
        if end <= self.end() {
            return;
        }
        match self.stretches.last_mut() {
            Some(last) if last.bytes == bytes => last.end = end,
            _ => self.stretches.push(LifeStretch { end, bytes }),
        }
    }
}

/// Lives of all memory of a plan.
///
/// At each computation their sum equals the memory in the plan's replay, fixed memory included. The
/// sum is larger only if a workspace is negative by more than the size of an overwritten tensor,
/// which addresses cannot represent. A computation in place keeps its register's address; the
/// simulator's charge beyond the larger of both tensors becomes workspace.
///
/// ```
/// use remat_instances::plan::Plan;
/// use remat_instances::schedule::CheckmateSchedule;
/// use remat_instances::simulate::{self, PlanLives};
/// use remat_instances::zoo;
///
/// let instance = zoo::build(&"zoo:resnet18?batch=2".parse()?)?;
/// let plan = Plan::from_checkmate(&instance, &CheckmateSchedule::checkpoint_all(&instance))?;
/// let lives = PlanLives::of(&instance, &plan)?;
/// let load = lives.buffers(&instance, 1)?.load().bytes;
/// assert_eq!(load, simulate::plan(&instance, &plan)?.peak_bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanLives {
    lives: Vec<PlanLife>,
    peak_bytes: u64,
}

impl PlanLives {
    /// The lives of a plan: fixed memory, tensors in the order of their statements, workspaces.
    /// Empty pieces are omitted.
    ///
    /// # Errors
    /// The [`ReplayError`] of [`plan`](fn@super::plan) for a plan that cannot be executed.
    pub fn of(instance: &Instance, plan_of: &Plan) -> Result<Self, ReplayError> {
        let replay = plan(instance, plan_of)?;
        let mut walk = PieceWalk {
            fixed: Vec::new(),
            tensors: Vec::new(),
            open: BTreeMap::new(),
            standing: Vec::new(),
            moment: 0,
        };
        let follows_frontier = plan_of.semantics.fixed_memory_follows_frontier();
        if !follows_frontier && replay.computations > 0 {
            walk.fix(0, None, instance.static_bytes());
        }
        let mut newest: Option<NodeId> = None;
        let mut runs = Vec::with_capacity(replay.computations);
        for (at, step) in plan_of.steps.iter().enumerate() {
            match *step {
                Step::Allocate { register, node } => {
                    let life = PlanLife::new(PieceOf::Tensor(at), Some(node), walk.moment);
                    let bytes = instance.node(node).output_bytes;
                    walk.open.insert(register, (walk.tensors.len(), bytes));
                    walk.tensors.push(life);
                }
                Step::Compute { node, register, .. } => {
                    let is_newest = newest.is_none_or(|newest| newest < node);
                    let known = instance.node(node);
                    if is_newest && follows_frontier {
                        newest = Some(node);
                        walk.fix(at, Some(node), known.fixed_bytes);
                    }
                    runs.push((at, node, walk.moment));
                    walk.compute(register, known.output_bytes);
                }
                Step::Deallocate { register } => {
                    let open = walk.open.get(&register);
                    let held = open.and_then(|(k, _)| walk.tensors[*k].node);
                    if held.is_some_and(|node| instance.node(node).is_scattered()) {
                        // It waits for the scatter.
                        walk.moment += 1;
                    }
                    walk.close(register);
                }
                Step::Offload { .. }
                | Step::Wait { .. }
                | Step::Prefetch { .. }
                | Step::Gather { .. }
                | Step::Scatter { .. } => {
                    walk.moment += 1;
                }
                Step::Release { .. } => {}
            }
        }
        Ok(walk.finish(&runs, &replay))
    }

    /// The lives.
    pub fn lives(&self) -> &[PlanLife] {
        &self.lives
    }

    /// Peak of the plan's replay in bytes, a lower bound on the size of any arena.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// The lives as buffers to place, in the same order, with an alignment in bytes.
    ///
    /// # Errors
    /// [`LivesError`] if the sum of sizes exceeds the range of addresses.
    pub fn buffers(&self, instance: &Instance, alignment_bytes: u64) -> Result<Lives, LivesError> {
        let buffer = |(k, life): (usize, &PlanLife)| {
            let bytes = life.bytes();
            let mut gaps = Vec::new();
            let mut lower = life.begin as u64;
            for stretch in &life.stretches {
                let upper = stretch.end as u64;
                if stretch.bytes < bytes {
                    gaps.push(Gap {
                        lower,
                        upper,
                        window: Some((0, stretch.bytes)),
                    });
                }
                lower = upper;
            }
            Buffer {
                alignment: alignment_bytes,
                gaps,
                ..Buffer::new(self.name(instance, k), life.begin as u64, lower, bytes)
            }
        };
        Lives::new(self.lives.iter().enumerate().map(buffer).collect())
    }

    /// Unique name of a piece: its content, and the number of its statement.
    fn name(&self, instance: &Instance, k: usize) -> Name {
        let life = &self.lives[k];
        let node = life.node.map_or("", |node| &instance.node(node).name);
        match life.of {
            PieceOf::Fixed(_) if node.is_empty() => "fixed memory".into(),
            PieceOf::Fixed(at) => format!("fixed memory {k} from {node} ({at})").into(),
            PieceOf::Tensor(at) => format!("{node} ({at})").into(),
            PieceOf::Workspace(at) => format!("workspace of {node} ({at})").into(),
        }
    }

    /// Lower bound on the arena size in bytes if every piece has the given alignment: the largest
    /// load with all sizes rounded up, except for one piece, which may be on top.
    pub fn load_bytes(&self, alignment_bytes: u64) -> u64 {
        let round = |bytes: u64| bytes.next_multiple_of(alignment_bytes.max(1));
        let mut changes = Vec::new();
        for life in &self.lives {
            let mut begin = life.begin;
            for stretch in &life.stretches {
                let waste = round(stretch.bytes) - stretch.bytes;
                changes.push((begin, true, stretch.bytes, waste));
                changes.push((stretch.end, false, stretch.bytes, waste));
                begin = stretch.end;
            }
        }
        changes.sort_unstable();
        let (mut largest, mut sum) = (0, 0u64);
        // Bytes added by rounding to each piece in use, with their multiplicity.
        let mut wastes: BTreeMap<u64, usize> = BTreeMap::new();
        for group in changes.chunk_by(|a, b| a.0 == b.0) {
            for &(_, begins, bytes, waste) in group {
                if begins {
                    sum += bytes + waste;
                    *wastes.entry(waste).or_default() += 1;
                    continue;
                }
                sum -= bytes + waste;
                if let Some(count) = wastes.get_mut(&waste) {
                    *count -= 1;
                    if *count == 0 {
                        wastes.remove(&waste);
                    }
                }
            }
            let top = wastes.last_key_value().map_or(0, |(waste, _)| *waste);
            largest = largest.max(sum - top);
        }
        largest
    }

    /// Suggested alignment in bytes: a power of two up to [`LARGEST_ALIGNMENT`].
    ///
    /// It is the largest alignment that does not raise the load, if that is at least
    /// [`CACHE_LINE`]. Otherwise it is the largest one up to [`CACHE_LINE`] that adds at most a
    /// thousandth to the load and stays within the budget.
    pub fn suggested_alignment(&self, budget_bytes: Option<u64>) -> u64 {
        let powers = |from: u64| std::iter::successors(Some(from), |a| (*a > 1).then_some(a / 2));
        let load = self.load_bytes(1);
        let mut free = powers(LARGEST_ALIGNMENT).take_while(|a| *a >= CACHE_LINE);
        if let Some(free) = free.find(|a| self.load_bytes(*a) == load) {
            return free;
        }
        let allowed = load.saturating_add(load / 1000);
        let budget = budget_bytes.filter(|budget| *budget >= load);
        let allowed = allowed.min(budget.unwrap_or(u64::MAX));
        let fitting = powers(CACHE_LINE).find(|a| self.load_bytes(*a) <= allowed);
        fitting.unwrap_or(1)
    }
}

/// Largest alignment that [`PlanLives::suggested_alignment`] returns, in bytes; GPU allocators
/// round to it.
pub const LARGEST_ALIGNMENT: u64 = 512;
/// Alignment of libtorch's tensors on the CPU, in bytes.
pub const CACHE_LINE: u64 = 64;

/// State of a walk through the statements.
struct PieceWalk {
    fixed: Vec<PlanLife>,
    tensors: Vec<PlanLife>,
    /// Position and size of the tensor in each register.
    open: BTreeMap<Register, (usize, u64)>,
    /// Fixed memory in use: owner, node, begin and bytes, the latest last.
    standing: Vec<(PieceOf, Option<NodeId>, usize, u64)>,
    /// Number of computations and copy statements so far.
    moment: usize,
}

impl PieceWalk {
    /// Sets the fixed memory from the next computation on. The latest additions are freed first.
    fn fix(&mut self, at: usize, node: Option<NodeId>, bytes: u64) {
        let mut held: u64 = self.standing.iter().map(|s| s.3).sum();
        if bytes > held {
            let node = node.filter(|_| held > 0 || self.moment > 0);
            let piece = (PieceOf::Fixed(at), node, self.moment, bytes - held);
            self.standing.push(piece);
        }
        while held > bytes
            && let Some((of, node, begin, size)) = self.standing.pop()
        {
            let gone = size.min(held - bytes);
            held -= gone;
            if gone < size {
                self.standing.push((of, node, begin, size - gone));
            }
            self.end_fixed(of, node, begin, gone);
        }
    }

    fn end_fixed(&mut self, of: PieceOf, node: Option<NodeId>, begin: usize, bytes: u64) {
        let mut life = PlanLife::new(of, node, begin);
        life.until(self.moment, bytes);
        self.fixed.push(life);
    }

    fn compute(&mut self, register: Register, bytes: u64) {
        if let Some((index, held)) = self.open.get_mut(&register) {
            // In place, the larger of both tensors counts while the node runs.
            let life = &mut self.tensors[*index];
            life.until(self.moment, *held);
            life.until(self.moment + 1, bytes.max(*held));
            *held = bytes;
        }
        self.moment += 1;
    }

    fn close(&mut self, register: Register) {
        if let Some((index, bytes)) = self.open.remove(&register) {
            self.tensors[index].until(self.moment, bytes);
        }
    }

    fn finish(mut self, runs: &[(usize, NodeId, usize)], replay: &super::Replay) -> PlanLives {
        for register in self.open.keys().copied().collect::<Vec<_>>() {
            self.close(register);
        }
        while let Some((of, node, begin, bytes)) = self.standing.pop() {
            self.end_fixed(of, node, begin, bytes);
        }
        self.fixed.sort_by_key(|life| (life.of, life.begin));
        let mut lives = self.fixed;
        lives.append(&mut self.tensors);
        // Bytes added and freed at each moment.
        let mut more = vec![0u64; self.moment + 1];
        let mut less = vec![0u64; self.moment + 1];
        for life in &lives {
            let mut begin = life.begin;
            for stretch in &life.stretches {
                more[begin] += stretch.bytes;
                less[stretch.end] += stretch.bytes;
                begin = stretch.end;
            }
        }
        let (mut bytes, mut next) = (0, 0);
        for (&(at, node, moment), point) in runs.iter().zip(&replay.timeline) {
            for passed in next..=moment {
                bytes = bytes + more[passed] - less[passed];
            }
            next = moment + 1;
            let mut life = PlanLife::new(PieceOf::Workspace(at), Some(node), moment);
            life.until(moment + 1, point.bytes.saturating_sub(bytes));
            lives.push(life);
        }
        lives.retain(|life| life.bytes() > 0);
        PlanLives {
            lives,
            peak_bytes: replay.peak_bytes,
        }
    }
}

#[cfg(test)]
mod tests;
