//! Buffers as the searches see them: in units, over sections.

use remat_instances::place::Lives;

/// A buffer in units of the problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceItem {
    /// Units that it takes of a stack, rounded up to the common alignment.
    pub size: u64,
    /// Divisor of its offset in units.
    pub alignment: u64,
    /// Fixed offset in units, if any.
    pub fixed: Option<u64>,
    /// Bytes by which `size` is more than the buffer's own size.
    pub excess: u64,
    /// Position among the buffers of the lives.
    pub buffer: u32,
}

/// Lists of one kind, one after another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lists<T> {
    starts: Vec<u32>,
    entries: Vec<T>,
}

impl<T> Lists<T> {
    pub fn new() -> Self {
        Lists {
            starts: vec![0],
            entries: Vec::new(),
        }
    }

    /// Adds a list.
    pub fn push(&mut self, list: impl IntoIterator<Item = T>) {
        self.entries.extend(list);
        self.starts.push(self.entries.len() as u32);
    }

    pub fn list(&self, index: usize) -> &[T] {
        &self.entries[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    pub fn list_mut(&mut self, index: usize) -> &mut [T] {
        &mut self.entries[self.starts[index] as usize..self.starts[index + 1] as usize]
    }

    /// The entries of all lists.
    pub fn all(&self) -> &[T] {
        &self.entries
    }

    /// Sum of the lengths of all lists.
    pub fn total(&self) -> usize {
        self.entries.len()
    }
}

/// A stretch of sections `[0, 1)`.
pub(super) type SectionStretch = (u32, u32);

/// Buffers without windows as items over sections.
///
/// Two buffers clash if and only if they share a section, so time is no more than the order of
/// sections. Offsets of some best placement are multiples of the unit.
#[derive(Clone, Debug)]
pub(super) struct PlaceProblem {
    /// Bytes of a unit.
    pub unit: u64,
    pub items: Vec<PlaceItem>,
    /// Sections of each item, in stretches.
    pub stretches: Lists<SectionStretch>,
    /// Number of sections.
    pub sections: usize,
    /// A moment of each section.
    pub moments: Vec<u64>,
}

pub(super) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// Smallest multiple of `alignment` from `offset` on.
pub(super) fn align(offset: u64, alignment: u64) -> u64 {
    if alignment == 1 {
        offset
    } else {
        offset.div_ceil(alignment) * alignment
    }
}

impl PlaceProblem {
    /// The items of some buffers (by position) without windows; empty buffers are left out.
    pub fn new(lives: &Lives, chosen: &[u32]) -> Self {
        let buffers = lives.buffers();
        let is_used = |index: &u32| !buffers[*index as usize].pieces().is_empty();
        let chosen: Vec<u32> = chosen.iter().copied().filter(is_used).collect();
        let of = |field: &dyn Fn(usize) -> u64| {
            chosen
                .iter()
                .fold(0, |divisor, &index| gcd(divisor, field(index as usize)))
        };
        let common = of(&|index| buffers[index].alignment).max(1);
        let rounded = |index: usize| align(buffers[index].size, common);
        let sizes = of(&rounded);
        let fixed = of(&|index| buffers[index].offset.unwrap_or(0));
        let loose = gcd(sizes, fixed);
        // Alignments that divide every size and fixed offset are no restriction.
        let is_loose = |&index: &u32| loose.is_multiple_of(buffers[index as usize].alignment);
        let is_free = chosen.iter().all(is_loose);
        let tight = |index: usize| if is_free { 0 } else { buffers[index].alignment };
        let unit = gcd(loose, of(&tight)).max(1);
        let items = chosen.iter().map(|&buffer| {
            let index = buffer as usize;
            PlaceItem {
                size: rounded(index) / unit,
                alignment: (tight(index) / unit).max(1),
                fixed: buffers[index].offset.map(|offset| offset / unit),
                excess: rounded(index) - buffers[index].size,
                buffer,
            }
        });
        let items: Vec<PlaceItem> = items.collect();
        let (moments, stretches) = stretches(lives, &chosen);
        let sections = moments.len();
        PlaceProblem {
            unit,
            items,
            stretches,
            sections,
            moments,
        }
    }

    /// The latest offset of an item within a height of so many bytes, in units; `None` if its size
    /// exceeds the height.
    pub fn latest(&self, item: usize, height: u64) -> Option<u64> {
        let PlaceItem {
            size,
            alignment,
            excess,
            ..
        } = self.items[item];
        let room = height.checked_sub(size * self.unit - excess)?;
        Some(room / self.unit / alignment * alignment)
    }

    /// Units of all items of each section.
    pub fn loads(&self) -> Vec<u64> {
        let mut changes = vec![0i64; self.sections + 1];
        for (item, of) in self.items.iter().enumerate() {
            for &(from, to) in self.stretches.list(item) {
                changes[from as usize] += of.size as i64;
                changes[to as usize] -= of.size as i64;
            }
        }
        let mut load = 0;
        let sums = changes[..self.sections].iter().map(|change| {
            load += change;
            load as u64
        });
        sums.collect()
    }

    /// The items of each section, ascending.
    pub fn members(&self) -> Lists<u32> {
        let mut members = vec![Vec::new(); self.sections];
        for item in 0..self.items.len() {
            for &(from, to) in self.stretches.list(item) {
                for section in from..to {
                    members[section as usize].push(item as u32);
                }
            }
        }
        let mut lists = Lists::new();
        for list in members {
            lists.push(list);
        }
        lists
    }

    /// Returns whether an item is in a section.
    pub fn is_in(&self, item: usize, section: u32) -> bool {
        let mut stretches = self.stretches.list(item).iter();
        stretches.any(|&(from, to)| from <= section && section < to)
    }

    /// The items that share a section with each, ascending.
    pub fn neighbours(&self, members: &Lists<u32>) -> Lists<u32> {
        let mut seen = vec![u32::MAX; self.items.len()];
        let mut neighbours = Lists::new();
        for item in 0..self.items.len() {
            seen[item] = item as u32;
            let mut list = Vec::new();
            for &(from, to) in self.stretches.list(item) {
                for section in from..to {
                    for &other in members.list(section as usize) {
                        if seen[other as usize] != item as u32 {
                            seen[other as usize] = item as u32;
                            list.push(other);
                        }
                    }
                }
            }
            list.sort_unstable();
            neighbours.push(list);
        }
        neighbours
    }
}

/// A moment of each section of the chosen buffers, which is a largest set of them in use at one
/// moment, and the stretches of each buffer.
fn stretches(lives: &Lives, chosen: &[u32]) -> (Vec<u64>, Lists<SectionStretch>) {
    let mut changes: Vec<(u64, bool, u32)> = Vec::new();
    for (item, &index) in chosen.iter().enumerate() {
        for piece in lives.buffers()[index as usize].pieces() {
            changes.push((piece.lower, true, item as u32));
            changes.push((piece.upper, false, item as u32));
        }
    }
    // Ends come first: lives are half-open.
    changes.sort_unstable();
    let mut stretches: Vec<Vec<SectionStretch>> = vec![Vec::new(); chosen.len()];
    let mut sections: u32 = 0;
    let mut moments = Vec::new();
    let mut grown = None;
    for (time, begins, item) in changes {
        let list = &mut stretches[item as usize];
        if begins {
            match list.last_mut() {
                // A gap without a section of its own is ignored.
                Some(last) if last.1 == sections => last.1 = u32::MAX,
                _ => list.push((sections, u32::MAX)),
            }
        } else {
            if let Some(moment) = grown {
                moments.push(moment);
                sections += 1;
            }
            if let Some(last) = list.last_mut() {
                last.1 = sections;
            }
        }
        grown = begins.then_some(time);
    }
    let mut lists = Lists::new();
    for list in stretches {
        lists.push(list);
    }
    (moments, lists)
}
