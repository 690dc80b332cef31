//! Labels by state, so that dominated labels are left out.

use super::label::{Label, MachineState};
use super::set::Set;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Key shared by comparable states: all parts but clocks, copies and the host.
#[derive(PartialEq, Eq, Hash)]
struct StateKey {
    ready: Set,
    coming: Set,
    ran: Set,
    place: u32,
}

impl StateKey {
    fn of(s: &MachineState) -> Self {
        StateKey {
            ready: s.ready,
            coming: s.coming,
            ran: s.ran,
            place: u32::from(s.next) << 16 | u32::from(s.from) << 8 | u32::from(s.is_fetching),
        }
    }
}

/// A multiplicative hash: keys are few words, and not chosen by an adversary.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    fn write_u32(&mut self, word: u32) {
        self.write_u64(u64::from(word));
    }

    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(26) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn write_u128(&mut self, word: u128) {
        self.write_u64(word as u64);
        self.write_u64((word >> 64) as u64);
    }
}

/// Undominated labels of one key and one set of host buffers, by their clocks.
struct LabelGroup {
    host: Set,
    labels: Vec<(u64, u32)>,
}

/// All labels, and the undominated labels of each key.
#[derive(Default)]
pub(super) struct Store {
    pub labels: Vec<Label>,
    /// False for labels that a later one dominates.
    is_open: Vec<bool>,
    kept: HashMap<StateKey, Vec<LabelGroup>, BuildHasherDefault<Mixer>>,
}

impl Store {
    /// Inserts a label unless a stored label dominates it; returns its number.
    ///
    /// A label dominates only labels with no earlier clock and no further host buffers, so these
    /// two tests settle most pairs.
    pub fn insert(&mut self, label: Label) -> Option<u32> {
        let groups = self.kept.entry(StateKey::of(&label.state)).or_default();
        let (host, clock) = (label.state.host, label.state.clock);
        let state = |i: u32| &self.labels[i as usize].state;
        for group in groups.iter().filter(|group| group.host & host == host) {
            let earlier = group.labels.partition_point(|(c, _)| *c <= clock);
            let mut earlier = group.labels[..earlier].iter();
            if earlier.any(|(_, i)| state(*i).dominates(&label.state)) {
                return None;
            }
        }
        let mut own = None;
        for (place, group) in groups.iter_mut().enumerate() {
            if group.host & host != group.host {
                continue;
            }
            if group.host == host {
                own = Some(place);
            }
            let later = group.labels.partition_point(|(c, _)| *c < clock);
            let mut kept = later;
            for k in later..group.labels.len() {
                let (c, i) = group.labels[k];
                match label.state.dominates(state(i)) {
                    true => self.is_open[i as usize] = false,
                    false => {
                        group.labels[kept] = (c, i);
                        kept += 1;
                    }
                }
            }
            group.labels.truncate(kept);
        }
        let number = self.labels.len() as u32;
        let place = own.unwrap_or_else(|| {
            let labels = Vec::new();
            groups.push(LabelGroup { host, labels });
            groups.len() - 1
        });
        let labels = &mut groups[place].labels;
        let at = labels.partition_point(|(c, _)| *c <= clock);
        labels.insert(at, (clock, number));
        self.labels.push(label);
        self.is_open.push(true);
        Some(number)
    }

    /// Returns whether no later label dominates this one.
    pub fn is_open(&self, number: u32) -> bool {
        self.is_open[number as usize]
    }
}
