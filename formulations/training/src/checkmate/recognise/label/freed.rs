//! Columns of `FREE`, and inputs that are listed more than once.

use super::super::Duplicate;
use super::super::duplicates::FreedColumns;
use super::{Class, CoverRow, LabelReader, MemoryChains, near};
use std::collections::BTreeMap;

/// For each `FREE` the `R` of its reader, where it is not fixed, and the other columns of its row.
type HazardColumns = BTreeMap<u32, (Option<u32>, Vec<u32>)>;

impl LabelReader<'_> {
    /// Notes stage and reader of each `FREE` as its place, and its input in `covers`. Returns the
    /// duplicate columns of inputs that are listed twice.
    pub(super) fn freed(
        &mut self,
        needs: &[Vec<u32>],
        memory: &MemoryChains,
    ) -> Option<Vec<Duplicate>> {
        let mut users = vec![Vec::new(); self.n];
        for (k, list) in needs.iter().enumerate() {
            list.iter().for_each(|&i| users[i as usize].push(k as u32));
        }
        let mut found = FreedColumns::default();
        let mut last = Vec::new();
        for (f, (reader, rest)) in self.hazard_columns()? {
            let next = rest
                .iter()
                .find(|c| self.class[**c as usize] == Some(Class::Retained));
            let next = next.and_then(|c| self.place[*c as usize]);
            let (t, k) = match (reader, next) {
                (Some(r), _) => self.place[r as usize]?,
                // The node of the stage itself reads.
                (None, Some((later, _))) => (later.checked_sub(1)?, later.checked_sub(1)?),
                (None, None) => return None,
            };
            match next {
                Some((_, i)) => found.add(f, (t, i, k)),
                None => last.push((f, rest, (t, k))),
            }
        }
        // The last stage: any input of k with the same later readers and size will do.
        for (f, rest, (t, k)) in last {
            let size = -memory.linked.get(&f).copied().unwrap_or(0.0);
            let mut later: Vec<u32> = rest
                .iter()
                .filter_map(|c| Some(self.place[*c as usize]?.1))
                .collect();
            later.sort_unstable();
            let fits = |i: &&u32| {
                let behind = users[**i as usize].iter().filter(|j| **j > k);
                found.has_room((t, **i, k))
                    && behind.copied().collect::<Vec<_>>() == later
                    && near(memory.bytes[**i as usize], size)
            };
            let input = *needs[k as usize].iter().find(fits)?;
            found.add(f, (t, input, k));
        }
        for (&(t, input, k), list) in &found.columns {
            if list.len() != found.times(input, k) {
                return None;
            }
            self.place[list[0] as usize] = Some((t, k));
            self.covers.push(CoverRow {
                plus: None,
                cell: (list[0], input),
            });
        }
        Some(found.duplicates())
    }

    /// For each `FREE` the reader's `R`, and the other columns of its upper side.
    fn hazard_columns(&self) -> Option<HazardColumns> {
        let mut found = HazardColumns::new();
        for &r in &self.hazards {
            let row = &self.p.binaries[r];
            let f = row
                .entries
                .iter()
                .find(|e| self.class[e.0 as usize] == Some(Class::Freed))?;
            let others = row.entries.iter().filter(|e| e.0 != f.0);
            let sign = f.1.signum();
            let mut reader = None;
            let mut rest = Vec::new();
            for (c, v) in others {
                if self.class[*c as usize] == Some(Class::Freed) {
                    return None;
                }
                if v * sign < 0.0 {
                    reader = Some(*c);
                } else {
                    rest.push(*c);
                }
            }
            found.insert(f.0, (reader, rest));
        }
        Some(found)
    }
}
