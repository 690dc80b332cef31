//! Positions at which a training graph may be cut into stages.

use crate::instance::{Instance, NodeId};
use crate::name::Name;

/// Bytes that cross a cut for each micro-batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Crossing {
    /// Activations, sent to the next stage.
    pub forward_bytes: u64,
    /// Gradients, sent to the stage before.
    pub backward_bytes: u64,
}

impl Crossing {
    /// Both directions.
    pub fn bytes(&self) -> u64 {
        self.forward_bytes + self.backward_bytes
    }
}

/// A training graph with its positions of cuts. Position `p` is before the `p`-th node of the
/// forward pass, the loss included.
///
/// A backward node belongs to the stage of its forward node. If the graph names no forward node, it
/// belongs to the earliest stage from which it receives a gradient.
#[derive(Clone, Debug)]
pub struct Split<'a> {
    instance: &'a Instance,
    /// Forward position of every node.
    position: Vec<u32>,
    /// Length of the forward pass.
    forward: u32,
    /// For each position: `None` if a cut there would send a gradient forward or divide a node from
    /// its by-product.
    crossing: Vec<Option<Crossing>>,
}

/// Reason why a graph cannot be cut.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SplitError {
    /// The graph has no backward pass.
    #[error("{0}: the graph has no backward pass, and a pipeline trains")]
    NoBackwardPass(Name),
    /// The graph already stands for several micro-batches.
    #[error(
        "{0}: the instance has {1} micro-batches in flight; the schedule of a pipeline sets them"
    )]
    InFlight(Name, u32),
}

impl<'a> Split<'a> {
    /// The positions of a graph.
    ///
    /// # Errors
    /// [`SplitError`] without a backward pass, and with several micro-batches in flight.
    pub fn of(instance: &'a Instance) -> Result<Self, SplitError> {
        let name = || instance.name().clone();
        let start = instance.backward_start().map_or(0, NodeId::index);
        if start == 0 || start == instance.len() {
            return Err(SplitError::NoBackwardPass(name()));
        }
        if instance.in_flight() > 1 {
            return Err(SplitError::InFlight(name(), instance.in_flight()));
        }
        let position = positions(instance, start);
        let crossing = crossings(instance, start, &position);
        Ok(Split {
            instance,
            position,
            forward: start as u32,
            crossing,
        })
    }

    /// The graph.
    pub fn instance(&self) -> &'a Instance {
        self.instance
    }

    /// Length of the forward pass: the last position.
    pub fn end(&self) -> u32 {
        self.forward
    }

    /// Forward position of a node.
    pub fn position(&self, node: NodeId) -> u32 {
        self.position[node.index()]
    }

    /// Bytes that cross a cut at a position; `None` if there can be no cut.
    pub fn crossing(&self, at: u32) -> Option<Crossing> {
        *self.crossing.get(at as usize)?
    }

    /// The position before a forward node with a name.
    pub fn position_before(&self, name: &str) -> Option<u32> {
        let forward = &self.instance.nodes()[..self.forward as usize];
        let at = forward.iter().position(|node| node.name == *name)?;
        Some(at as u32)
    }

    /// Positions to cut at, ascending, without both ends: those at which no more bytes cross than
    /// right before and behind, at most `limit`. If there are more, the narrowest stay.
    pub fn narrow(&self, limit: usize) -> Vec<u32> {
        let bytes = |p: u32| self.crossing(p).map(|c| c.bytes());
        let inside = 1..self.forward;
        let mut found: Vec<u32> = inside
            .filter(|&p| {
                let own = bytes(p);
                let wider = |other: u32| bytes(other).is_none_or(|b| Some(b) >= own);
                own.is_some() && wider(p - 1) && wider(p + 1)
            })
            .collect();
        if found.len() > limit {
            let width = |&p: &u32| (bytes(p), p);
            found.sort_by_key(width);
            let last = bytes(found[limit - 1]);
            let narrower = found.iter().take_while(|&&p| bytes(p) < last).count();
            let room = limit - narrower;
            // Of equally narrow ones every so many stays.
            let equal = found[narrower..].partition_point(|&p| bytes(p) == last);
            let mut ties = found[narrower..narrower + equal].to_vec();
            ties.sort_unstable();
            found.truncate(narrower);
            found.extend((0..room).map(|k| ties[k * ties.len() / room]));
            found.sort_unstable();
        }
        found
    }
}

/// Forward position of every node.
fn positions(instance: &Instance, start: usize) -> Vec<u32> {
    let mut position: Vec<u32> = (0..start as u32).collect();
    for node in &instance.nodes()[start..] {
        let forward = match node.kind {
            crate::instance::NodeKind::Backward { forward, .. } => forward,
            _ => None,
        };
        let known = forward.filter(|id| id.index() < start).map(|id| id.0);
        let gradients = node.needs().iter().filter(|id| id.index() >= start);
        let earliest = gradients.map(|id| position[id.index()]).min();
        let last = start as u32 - 1;
        position.push(known.or(earliest).unwrap_or(last));
    }
    position
}

/// Bytes that cross each position, from 0 to the length of the forward pass.
fn crossings(instance: &Instance, start: usize, position: &[u32]) -> Vec<Option<Crossing>> {
    // Differences of neighbouring positions.
    let mut forward = vec![0i128; start + 1];
    let mut backward = vec![0i128; start + 1];
    let mut divided = vec![0i128; start + 1];
    // Adds to all positions above `low`, up to `high`.
    let add = |list: &mut Vec<i128>, low: u32, high: u32, amount: i128| {
        list[low as usize + 1] += amount;
        if let Some(behind) = list.get_mut(high as usize + 1) {
            *behind -= amount;
        }
    };
    for id in instance.ids() {
        let own = position[id.index()];
        let bytes = i128::from(instance.node(id).output_bytes);
        let readers = instance.users(id).iter();
        let readers = readers.map(|user| position[user.index()]);
        let (low, high) = readers.fold((own, own), |(low, high), r| (low.min(r), high.max(r)));
        match id.index() < start {
            true => add(&mut forward, own, high, bytes),
            // A gradient that a later stage reads.
            false => add(&mut divided, own, high, 1),
        }
        add(&mut backward, low, own, bytes);
        if let Some(parent) = instance.node(id).parent() {
            let with = position[parent.index()];
            add(&mut divided, with.min(own), with.max(own), 1);
        }
    }
    let (mut ahead, mut back, mut parts) = (0i128, 0i128, 0i128);
    (0..=start)
        .map(|p| {
            ahead += forward[p];
            back += backward[p];
            parts += divided[p];
            let inside = p > 0 && p < start && parts == 0;
            inside.then_some(Crossing {
                forward_bytes: ahead as u64,
                backward_bytes: back as u64,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    #[test]
    fn one_activation_and_its_gradient_cross_between_layers() {
        let instance = zoo::build(&"zoo:llama?layers=3".parse().unwrap()).unwrap();
        let split = Split::of(&instance).unwrap();
        let layer = split.position_before("layers.1.input_norm").unwrap();
        let crossing = split.crossing(layer).unwrap();
        let stream = instance.node(NodeId(layer - 1)).output_bytes;
        assert_eq!(crossing.forward_bytes, stream);
        assert_eq!(crossing.backward_bytes, stream);
        let narrow = split.narrow(100);
        assert!(narrow.contains(&layer));
        let few = split.narrow(5);
        let is_stream = |p: &u32| split.crossing(*p).is_some_and(|c| c.bytes() <= 2 * stream);
        assert!(few.len() == 5 && few.iter().all(is_stream));
        assert_eq!(split.narrow(2).len(), 2);
    }

    #[test]
    fn skips_cross_all_positions_that_they_span() {
        let instance = zoo::build(&"zoo:unet".parse().unwrap()).unwrap();
        let split = Split::of(&instance).unwrap();
        let middle = split.end() / 2;
        let near = split.crossing(1).unwrap().bytes();
        assert!(split.crossing(middle).unwrap().bytes() > near);
    }
}
