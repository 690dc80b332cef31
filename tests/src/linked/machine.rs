//! The machine that runs statements: one stream of computations, a lane to the host and one back.

use super::LinkedCase;
use crate::ends::is_ended_before;
use remat_instances::NodeId;
use remat_instances::instance::{CopyTimes, Duplex, Implementation, Node};

/// Place of a tensor on the device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Place {
    /// It has no memory.
    Nowhere,
    /// It can be read.
    Ready,
    /// It is being copied back until this time, and has not been read since.
    Coming(u64),
}

/// One tensor.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Tensor {
    pub place: Place,
    /// Its host buffer: the time at which the copy into it ends. For a scattered gradient, the time
    /// at which its scatter ends.
    pub buffer: Option<u64>,
    /// It was copied to the host since the last computation, or at any time if copies are bounded
    /// by the loss.
    pub left: bool,
    /// It has come back.
    pub came: bool,
}

/// State of the machine between two statements.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Time at which the last computation ends.
    pub clock: u64,
    /// Times from which the lanes are free; equal at half duplex.
    pub lanes: [u64; 2],
    /// The next first run.
    pub next: usize,
    /// The least node that may run again before it.
    pub from: usize,
    /// Nodes that ran again since the last first run.
    pub ran: u32,
    /// Three sets of nodes: nodes that ran at all, nodes whose last run was a further one, and
    /// nodes whose last run was in place. All 0 except under MONeT's semantics.
    pub last: [u32; 3],
    /// Fixed memory in bytes.
    pub fixed: u64,
    pub tensors: Vec<Tensor>,
}

/// A case in the machine's form.
pub struct Machine<'a> {
    case: &'a LinkedCase,
    times: CopyTimes,
    /// The loss, if copies are bounded by it.
    loss: Option<usize>,
}

impl<'a> Machine<'a> {
    pub fn new(case: &'a LinkedCase) -> Self {
        let instance = &case.instance;
        let times = case.link().times(instance.cost_unit()).expect("a time");
        let loss = instance.loss().filter(|_| case.by_loss);
        Machine {
            case,
            times,
            loss: loss.map(|loss| loss.index()),
        }
    }

    pub fn nodes(&self) -> usize {
        self.case.instance.len()
    }

    fn node(&self, i: usize) -> &Node {
        self.case.instance.node(NodeId::from(i))
    }

    fn bytes(&self, i: usize) -> u64 {
        self.node(i).output_bytes
    }

    /// Least cost of the runs to come: all first runs and, under Checkmate's semantics, one further
    /// run of each tensor that they read and that is lost on device and host.
    pub fn time_left(&self, config: &Config) -> u64 {
        let coming = config.next..self.nodes();
        if self.case.is_monet {
            let proper = coming
                .map(|i| self.node(i))
                .filter(|v| v.parent().is_none());
            let least = |node: &Node| {
                let delta = node.in_place.as_ref().map_or(0, |p| p.cost_delta.min(0));
                let cost = node.implementations.iter().map(|p| p.cost).min();
                cost.unwrap_or(0).saturating_add_signed(delta)
            };
            return proper.map(least).sum();
        }
        let first: u64 = coming.clone().map(|i| self.node(i).cost()).sum();
        let is_lost = |i: &usize| {
            let tensor = &config.tensors[*i];
            let is_read = coming
                .clone()
                .any(|u| self.node(u).needs().contains(&NodeId::from(*i)));
            is_read && tensor.place == Place::Nowhere && tensor.buffer.is_none()
        };
        let lost = (0..config.next).filter(is_lost);
        first + lost.map(|i| self.node(i).run_cost(true)).sum::<u64>()
    }

    pub fn begin(&self) -> Config {
        let tensor = Tensor {
            place: Place::Nowhere,
            buffer: None,
            left: false,
            came: false,
        };
        Config {
            clock: 0,
            lanes: [0; 2],
            next: self.case.instance.gathered(),
            from: 0,
            ran: 0,
            last: [0; 3],
            fixed: match self.case.is_monet {
                true => 0,
                false => self.case.instance.static_bytes(),
            },
            tensors: vec![tensor; self.nodes()],
        }
    }

    /// Returns whether all nodes have run and no copy is outstanding.
    pub fn is_end(&self, config: &Config) -> bool {
        let done = |t: &Tensor| {
            !matches!(t.place, Place::Coming(_)) && t.buffer.is_none_or(|end| end <= config.clock)
        };
        let is_sent = |(i, t): (usize, &Tensor)| t.buffer.is_some() || !self.node(i).is_scattered();
        config.next == self.nodes()
            && config.tensors.iter().all(done)
            && config.tensors.iter().enumerate().all(is_sent)
    }

    /// All configurations that one statement leads to.
    pub fn statements(&self, config: &Config) -> Vec<Config> {
        let mut list = Vec::new();
        for i in 0..self.nodes() {
            list.extend(self.gather(config, i));
            list.extend(self.scatter(config, i));
        }
        if config.next == self.nodes() {
            list.extend((0..self.nodes()).filter_map(|i| self.wait(config, i)));
            return list;
        }
        for k in (config.from..config.next).chain([config.next]) {
            if !self.case.is_monet {
                list.extend(self.compute(config, k, &self.node(k).implementations[0], false));
                continue;
            }
            for way in &self.node(k).implementations {
                list.extend(self.compute(config, k, way, false));
                list.extend(self.compute(config, k, way, true));
            }
        }
        list.extend(self.pass(config));
        for i in 0..self.nodes() {
            list.extend(self.wait(config, i));
            list.extend(self.deallocate(config, i));
            list.extend(self.offload(config, i));
            list.extend(self.prefetch(config, i));
            list.extend(self.release(config, i));
        }
        list
    }

    /// `Some` if device memory and `more` bytes fit the budget.
    fn fits(&self, config: &Config, more: i64) -> Option<()> {
        let held = config.tensors.iter().enumerate();
        let held = held.filter(|(_, t)| t.place != Place::Nowhere);
        let held: u64 = held.map(|(i, _)| self.bytes(i)).sum();
        let all = (held + config.fixed) as i64 + more;
        (all <= self.case.budget_bytes as i64).then_some(())
    }

    /// Skips the first run of a by-product.
    fn pass(&self, config: &Config) -> Option<Config> {
        self.node(config.next)
            .parent()
            .filter(|_| self.case.is_monet)?;
        let mut after = config.clone();
        (after.next, after.from, after.ran) = (config.next + 1, 0, 0);
        Some(after)
    }

    /// Cost and workspace of a run, and whether it is a further one and in place: a by-product
    /// follows its parent.
    fn mode(
        &self,
        config: &Config,
        k: usize,
        way: &Implementation,
        in_place: bool,
    ) -> (u64, i64, bool, bool) {
        let node = self.node(k);
        let bit = |list: usize, i: usize| config.last[list] >> i & 1 != 0;
        let (again, in_place) = match node.parent() {
            Some(p) => (
                bit(1, p.index()),
                bit(2, p.index()) && node.in_place.is_some(),
            ),
            None => (bit(0, k), in_place),
        };
        let (cost, workspace) = match again {
            true => (way.recompute_cost, way.recompute_workspace_bytes),
            false => (way.cost, way.workspace_bytes),
        };
        match &node.in_place {
            Some(option) if in_place => {
                let cost = cost.saturating_add_signed(option.cost_delta);
                (cost, option.workspace_bytes, again, true)
            }
            _ => (cost, workspace, again, false),
        }
    }

    fn compute(
        &self,
        config: &Config,
        k: usize,
        way: &Implementation,
        in_place: bool,
    ) -> Option<Config> {
        let (node, again) = (self.node(k), k != config.next);
        let over = match in_place {
            true if node.parent().is_some() => return None,
            true => Some(node.in_place.as_ref()?.on.index()),
            false => None,
        };
        if again {
            let parent = node.parent().map(|p| p.index());
            let once = node.once || node.is_gathered() || node.is_scattered();
            let once = once
                || parent.is_some_and(|p| self.node(p).once)
                || is_ended_before(&self.case.instance, k, config.next);
            if once || !self.case.recompute || parent.is_some_and(|p| config.ran >> p & 1 == 0) {
                return None;
            }
        }
        if config.tensors[k].place != Place::Nowhere {
            return None;
        }
        let mut after = config.clone();
        for d in way.needs.iter().map(|d| d.index()).chain(over) {
            let tensor = &mut after.tensors[d];
            match tensor.place {
                Place::Nowhere => return None,
                Place::Ready => {}
                Place::Coming(end) => after.clock = after.clock.max(end),
            }
            tensor.place = Place::Ready;
        }
        let leaves = |u: usize| {
            config.tensors[u]
                .buffer
                .is_some_and(|end| end > after.clock)
        };
        if over.is_some_and(leaves) {
            return None;
        }
        let (cost, workspace) = match self.case.is_monet {
            true => {
                let (cost, workspace, again, in_place) = self.mode(config, k, way, in_place);
                if after.last[0] >> k == 0 {
                    after.fixed = node.fixed_bytes;
                }
                for (list, is_so) in after.last.iter_mut().zip([true, again, in_place]) {
                    *list = *list & !(1 << k) | u32::from(is_so) << k;
                }
                (cost, workspace)
            }
            false if again => (way.recompute_cost, way.recompute_workspace_bytes.max(0)),
            false => (way.cost, way.workspace_bytes.max(0)),
        };
        after.tensors[k].place = Place::Ready;
        self.fits(&after, workspace)?;
        if let Some(u) = over {
            after.tensors[u].place = Place::Nowhere;
        }
        if !again && self.loss == Some(k) {
            let tensors = after.tensors.iter().enumerate();
            let copied = tensors.filter(|(i, _)| !self.node(*i).is_scattered());
            let mut ends = copied.filter_map(|(_, t)| t.buffer);
            if ends.any(|end| end > after.clock) {
                return None;
            }
        }
        after.clock += cost;
        match again {
            true => {
                after.ran |= 1 << k;
                after.from = k + 1;
            }
            false => (after.next, after.from, after.ran) = (k + 1, 0, 0),
        }
        if self.loss.is_none() {
            after.tensors.iter_mut().for_each(|t| t.left = false);
        }
        Some(after)
    }

    fn wait(&self, config: &Config, i: usize) -> Option<Config> {
        let end = config.tensors[i].buffer.filter(|end| *end > config.clock)?;
        let mut after = config.clone();
        after.clock = end;
        Some(after)
    }

    fn deallocate(&self, config: &Config, i: usize) -> Option<Config> {
        let tensor = &config.tensors[i];
        let is_gone = match tensor.buffer {
            Some(end) => end <= config.clock,
            None => !self.node(i).is_scattered(),
        };
        let mut after = config.clone();
        after.tensors[i].place = Place::Nowhere;
        (tensor.place == Place::Ready && is_gone).then_some(after)
    }

    /// Puts a copy on its lane, no earlier than `from`; returns its end.
    fn copy(&self, config: &mut Config, lane: usize, from: u64, time: u64) -> u64 {
        let end = config.lanes[lane].max(config.clock).max(from) + time;
        match self.case.link().duplex {
            Duplex::Half => config.lanes = [end; 2],
            Duplex::Full => config.lanes[lane] = end,
        }
        end
    }

    fn gather(&self, config: &Config, i: usize) -> Option<Config> {
        let time = self.times.from_host(self.node(i).gather_bytes?)?;
        if config.tensors[i].place != Place::Nowhere {
            return None;
        }
        let mut after = config.clone();
        let end = self.copy(&mut after, 1, 0, time);
        after.tensors[i].place = Place::Coming(end);
        self.fits(&after, 0)?;
        Some(after)
    }

    fn scatter(&self, config: &Config, i: usize) -> Option<Config> {
        let time = self.times.to_host(self.node(i).scatter_bytes?)?;
        let tensor = &config.tensors[i];
        if tensor.place != Place::Ready || tensor.buffer.is_some() {
            return None;
        }
        let mut after = config.clone();
        let end = self.copy(&mut after, 0, 0, time);
        after.tensors[i].buffer = Some(end);
        Some(after)
    }

    fn offload(&self, config: &Config, i: usize) -> Option<Config> {
        let tensor = &config.tensors[i];
        let too_late = self.loss.is_some_and(|loss| config.next > loss);
        let none = tensor.place != Place::Ready || tensor.buffer.is_some() || tensor.left;
        let is_sharded = self.node(i).is_gathered() || self.node(i).is_scattered();
        if none || too_late || self.node(i).stays || is_sharded {
            return None;
        }
        let time = self.times.to_host(self.bytes(i))?;
        let taken = config.tensors.iter().enumerate();
        let taken = taken.filter(|(i, t)| t.buffer.is_some() && !self.node(*i).is_scattered());
        let taken: u64 = taken.map(|(k, _)| self.bytes(k)).sum();
        let limit = self.case.link().host_memory_bytes;
        if limit.is_some_and(|limit| taken + self.bytes(i) > limit) {
            return None;
        }
        let mut after = config.clone();
        let end = self.copy(&mut after, 0, 0, time);
        after.tensors[i].buffer = Some(end);
        after.tensors[i].left = true;
        Some(after)
    }

    fn prefetch(&self, config: &Config, i: usize) -> Option<Config> {
        let tensor = &config.tensors[i];
        let filled = tensor.buffer?;
        let too_early = self.loss.is_some_and(|loss| config.next <= loss);
        let twice = self.loss.is_some() && tensor.came;
        let never = self.node(i).is_scattered();
        if tensor.place != Place::Nowhere || too_early || twice || never {
            return None;
        }
        let time = self.times.from_host(self.bytes(i))?;
        let mut after = config.clone();
        let end = self.copy(&mut after, 1, filled, time);
        after.tensors[i].place = Place::Coming(end);
        after.tensors[i].came |= self.loss.is_some();
        self.fits(&after, 0)?;
        Some(after)
    }

    /// Frees a filled host buffer. Without a limit of host memory, buffers stay.
    fn release(&self, config: &Config, i: usize) -> Option<Config> {
        self.case.link().host_memory_bytes?;
        let tensor = &config.tensors[i];
        let filled = tensor.buffer.filter(|end| *end <= config.clock);
        let never = self.node(i).is_scattered();
        if filled.is_none() || matches!(tensor.place, Place::Coming(_)) || never {
            return None;
        }
        let mut after = config.clone();
        after.tensors[i].buffer = None;
        Some(after)
    }
}
