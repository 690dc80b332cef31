//! The problem read from either end, and executed sets.
//!
//! The first maker of a storage that runs allocates it, and the last of its users frees it. From
//! the beginning of the step, the maker is the producer and the users are the readers. From the
//! end, operators are undone: the makers are the readers and the user is the producer.

use remat_instances::order::OrderProblem;
use std::collections::BTreeMap;

/// A problem from one end.
pub struct Ends {
    /// Direct predecessors and successors of each operator.
    pub before: Vec<Vec<u32>>,
    pub after: Vec<Vec<u32>>,
    /// Storages that each operator makes and uses.
    pub makes: Vec<Vec<usize>>,
    pub uses: Vec<Vec<usize>>,
    /// Operators that make and use each storage.
    pub makers: Vec<Vec<u32>>,
    pub users: Vec<Vec<u32>>,
    /// Sizes of storages in bytes.
    pub bytes: Vec<u64>,
    /// True for storages in memory at this end, and for storages that are never freed.
    pub there: Vec<bool>,
    pub stays: Vec<bool>,
    /// Workspace of each operator in bytes.
    pub workspace: Vec<u64>,
    /// Memory without storages, in bytes.
    pub base_bytes: u64,
    /// Operators, each behind those that run before it.
    pub topological: Vec<u32>,
    /// Storages by their tensors.
    pub by_tensor: BTreeMap<u32, usize>,
}

impl Ends {
    /// The problem from the beginning of the step.
    pub fn forward(problem: &OrderProblem) -> Ends {
        let n = problem.len();
        let storages = problem.storages();
        let mut ends = Ends {
            before: (0..n).map(|v| problem.predecessors(v).to_vec()).collect(),
            after: vec![Vec::new(); n],
            makes: vec![Vec::new(); n],
            uses: vec![Vec::new(); n],
            makers: storages.iter().map(|s| vec![s.producer]).collect(),
            users: storages.iter().map(|s| s.readers.clone()).collect(),
            bytes: storages.iter().map(|s| s.bytes).collect(),
            there: vec![false; storages.len()],
            stays: storages.iter().map(|s| s.kept).collect(),
            workspace: (0..n).map(|v| problem.workspace_bytes(v)).collect(),
            base_bytes: problem.base_bytes(),
            topological: problem.topological_order().to_vec(),
            by_tensor: storages
                .iter()
                .zip(0..)
                .map(|(s, k)| (s.tensor.0, k))
                .collect(),
        };
        for v in 0..n {
            for u in &ends.before[v] {
                ends.after[*u as usize].push(v as u32);
            }
        }
        for t in 0..storages.len() {
            for v in &ends.makers[t] {
                ends.makes[*v as usize].push(t);
            }
            for v in &ends.users[t] {
                ends.uses[*v as usize].push(t);
            }
        }
        ends
    }

    /// The problem from the end of the step.
    pub fn backward(problem: &OrderProblem) -> Ends {
        let ends = Ends::forward(problem);
        Ends {
            before: ends.after,
            after: ends.before,
            makes: ends.uses,
            uses: ends.makes,
            makers: ends.users,
            users: ends.makers,
            there: ends.stays,
            stays: ends.there,
            topological: ends.topological.into_iter().rev().collect(),
            ..ends
        }
    }

    /// Number of operators.
    pub fn len(&self) -> usize {
        self.before.len()
    }

    /// An operator by its number.
    pub fn operator(&self, v: u32) -> Result<u32, String> {
        match (v as usize) < self.len() {
            true => Ok(v),
            false => Err(format!("there is no operator {v}")),
        }
    }

    /// Operators reachable from `v` through `lists`, without `v` itself.
    pub fn led_to(&self, lists: &[Vec<u32>], v: u32) -> Vec<bool> {
        let mut reached = vec![false; self.len()];
        let mut open = vec![v];
        while let Some(at) = open.pop() {
            for next in &lists[at as usize] {
                if !std::mem::replace(&mut reached[*next as usize], true) {
                    open.push(*next);
                }
            }
        }
        reached
    }
}

/// An executed set.
#[derive(Clone)]
pub struct ExecutedSet<'a> {
    pub ends: &'a Ends,
    pub done: Vec<bool>,
}

impl<'a> ExecutedSet<'a> {
    /// The empty set.
    pub fn new(ends: &'a Ends) -> ExecutedSet<'a> {
        let done = vec![false; ends.len()];
        ExecutedSet { ends, done }
    }

    /// Returns whether an operator may run next.
    pub fn is_ready(&self, v: u32) -> bool {
        let mut before = self.ends.before[v as usize].iter();
        !self.done[v as usize] && before.all(|u| self.done[*u as usize])
    }

    /// Returns whether a storage was taken.
    pub fn is_born(&self, t: usize) -> bool {
        let mut makers = self.ends.makers[t].iter();
        self.ends.there[t] || makers.any(|v| self.done[*v as usize])
    }

    /// Returns whether a storage is in memory.
    pub fn is_there(&self, t: usize) -> bool {
        let mut users = self.ends.users[t].iter();
        let is_held = self.ends.stays[t] || users.any(|v| !self.done[*v as usize]);
        is_held && self.is_born(t)
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> u64 {
        let there = (0..self.ends.bytes.len()).filter(|t| self.is_there(*t));
        self.ends.base_bytes + there.map(|t| self.ends.bytes[t]).sum::<u64>()
    }

    /// Bytes that an operator takes beside its workspace.
    pub fn taken(&self, v: u32) -> u64 {
        let makes = self.ends.makes[v as usize].iter();
        makes
            .filter(|t| !self.is_born(**t))
            .map(|t| self.ends.bytes[*t])
            .sum()
    }

    /// Bytes that an operator frees.
    pub fn freed(&self, v: u32) -> u64 {
        let uses = self.ends.uses[v as usize].iter();
        let last = uses.filter(|t| {
            let mut users = self.ends.users[**t].iter();
            !self.ends.stays[**t] && users.all(|u| *u == v || self.done[*u as usize])
        });
        last.map(|t| self.ends.bytes[*t]).sum()
    }

    /// Runs an operator that is ready; memory was `bytes` before. Returns the memory while it ran
    /// and the memory behind it.
    pub fn step(&mut self, v: u32, bytes: u64) -> (u64, u64) {
        let (taken, freed) = (self.taken(v), self.freed(v));
        self.run(v);
        let need = bytes + taken + self.ends.workspace[v as usize];
        (need, bytes + taken - freed)
    }

    /// Runs an operator.
    pub fn run(&mut self, v: u32) {
        self.done[v as usize] = true;
    }

    /// Undoes an operator.
    pub fn undo(&mut self, v: u32) {
        self.done[v as usize] = false;
    }
}
