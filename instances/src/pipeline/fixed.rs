//! Fixed memory of devices.

use super::split::Split;
use crate::name::Name;
use std::collections::HashMap;
use std::ops::Range;

/// Fixed memory of any range of positions: the [resident](crate::instance::Resident) memory of its
/// nodes, and on the first stage the inputs of all micro-batches. If the graph states no resident
/// memory, each device holds the fixed memory of the whole graph.
#[derive(Clone, Debug)]
pub struct FixedMemory {
    /// Entries of each position: number of a name, and bytes.
    entries: Vec<Vec<(u32, u64)>>,
    names: usize,
    /// Memory of every device.
    everywhere: u64,
    /// Inputs of all micro-batches.
    inputs: u64,
}

impl FixedMemory {
    /// The fixed memory of a graph for a number of micro-batches.
    pub fn of(split: &Split<'_>, microbatches: u32) -> Self {
        let whole = split.instance();
        let mut numbers: HashMap<&Name, u32> = HashMap::new();
        let mut entries = vec![Vec::new(); split.end() as usize];
        for id in whole.ids() {
            for resident in &whole.node(id).resident {
                let next = numbers.len() as u32;
                let number = *numbers.entry(&resident.name).or_insert(next);
                entries[split.position(id) as usize].push((number, resident.bytes));
            }
        }
        let stated = whole.states_residents();
        let inputs = whole
            .static_bytes()
            .saturating_sub(whole.resident_bytes(whole.ids()));
        FixedMemory {
            names: numbers.len(),
            entries,
            everywhere: if stated { 0 } else { whole.static_bytes() },
            inputs: match stated {
                true => inputs.saturating_mul(u64::from(microbatches)),
                false => 0,
            },
        }
    }

    /// Bytes of every device, whatever its stages are.
    pub fn everywhere(&self) -> u64 {
        self.everywhere
    }

    /// Bytes of a device with stages of these positions.
    pub fn bytes(&self, ranges: &[Range<u32>]) -> u64 {
        let mut seen = vec![false; self.names];
        let mut sum = self.everywhere;
        for range in ranges {
            if range.start == 0 {
                sum += self.inputs;
            }
            sum += range.clone().map(|p| self.add(p, &mut seen)).sum::<u64>();
        }
        sum
    }

    /// Bytes of stages that begin at a position, by their ends: entry `k` is of `begin..begin + k`.
    pub fn from(&self, begin: u32) -> Vec<u64> {
        let mut seen = vec![false; self.names];
        let mut sum = self.everywhere + if begin == 0 { self.inputs } else { 0 };
        let mut list = vec![sum];
        for position in begin..self.entries.len() as u32 {
            sum += self.add(position, &mut seen);
            list.push(sum);
        }
        list
    }

    /// Bytes of names at a position that are new.
    fn add(&self, position: u32, seen: &mut [bool]) -> u64 {
        let entries = self.entries[position as usize].iter();
        let new = entries.filter(|(name, _)| !std::mem::replace(&mut seen[*name as usize], true));
        new.map(|(_, bytes)| *bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zoo;

    #[test]
    fn devices_hold_their_own_parameters_and_tied_ones_once() {
        let tied = "zoo:llama?layers=4&tied=true&optimizer=adamw";
        let instance = zoo::build(&tied.parse().unwrap()).unwrap();
        let split = Split::of(&instance).unwrap();
        let fixed = FixedMemory::of(&split, 1);
        let end = split.end();
        let whole = 0..end;
        assert_eq!(fixed.bytes(&[whole]), instance.static_bytes());
        let cut = split.position_before("layers.2.input_norm").unwrap();
        let (first, last) = (0..cut, cut..end);
        let parts = [&first, &last].map(|range| fixed.bytes(std::slice::from_ref(range)));
        let table = instance.resident_bytes([crate::instance::NodeId(0)]);
        // Both ends read the table of the embeddings.
        assert_eq!(parts[0] + parts[1], instance.static_bytes() + table);
        assert_eq!(
            fixed.bytes(&[first.clone(), last.clone()]),
            instance.static_bytes()
        );
        assert_eq!(fixed.from(cut)[(end - cut) as usize], parts[1]);
        assert_eq!(fixed.from(0)[cut as usize], parts[0]);
        let four = FixedMemory::of(&split, 4);
        assert!(four.bytes(&[first]) > parts[0] && four.bytes(&[last]) == parts[1]);
    }
}
