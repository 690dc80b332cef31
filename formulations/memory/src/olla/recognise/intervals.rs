//! Moments and live buffers at each, reconstructed from pairs that are live together.
//!
//! Lives are intervals, so their graph is chordal and its cliques are moments in a row. The cliques
//! come from a maximum cardinality search, and their row from the partition refinement of Habib,
//! McConnell, Paul and Viennot (2000). Other graphs get moments too, at which lives have gaps.

use remat_instances::place::{Buffer, Gap};

/// Moments: largest sets that are live together, in a row if lives are intervals.
pub(super) struct Moments {
    pub sets: Vec<Vec<u32>>,
}

impl Moments {
    /// The moments of a graph: each pair of neighbours is in one, and no other pair is.
    pub fn new(neighbours: &[Vec<u32>]) -> Moments {
        let (order, cliques) = cliques(neighbours);
        let sets = match cliques {
            Some(cliques) => in_a_row(neighbours.len(), cliques, &order),
            None => cover(neighbours),
        };
        Moments { sets }
    }

    /// Buffers by the moments at which they are live, with the given sizes.
    pub fn buffers(&self, sizes: &[u64]) -> Vec<Buffer> {
        let mut moments: Vec<Vec<u64>> = vec![Vec::new(); sizes.len()];
        for (t, set) in self.sets.iter().enumerate() {
            set.iter().for_each(|i| moments[*i as usize].push(t as u64));
        }
        let buffer = |(i, at): (usize, &Vec<u64>)| {
            let (first, last) = match (at.first(), at.last()) {
                (Some(first), Some(last)) => (*first, *last + 1),
                // Alone at a moment of its own.
                _ => (
                    (self.sets.len() + i) as u64,
                    (self.sets.len() + i + 1) as u64,
                ),
            };
            let gaps = at.windows(2).filter(|w| w[0] + 1 < w[1]).map(|w| Gap {
                lower: w[0] + 1,
                upper: w[1],
                window: None,
            });
            Buffer {
                gaps: gaps.collect(),
                ..Buffer::new(i.to_string(), first, last, sizes[i])
            }
        };
        moments.iter().enumerate().map(buffer).collect()
    }
}

/// A maximum cardinality search: the order in which vertices are met, and the largest cliques if
/// the graph is chordal.
fn cliques(neighbours: &[Vec<u32>]) -> (Vec<u32>, Option<Vec<Vec<u32>>>) {
    let n = neighbours.len();
    let mut weight = vec![0usize; n];
    let mut buckets: Vec<Vec<u32>> = vec![(0..n as u32).rev().collect()];
    let mut met = vec![usize::MAX; n];
    let mut order = Vec::with_capacity(n);
    let mut top = 0;
    while order.len() < n {
        let Some(v) = buckets[top].pop() else {
            top -= 1;
            continue;
        };
        if met[v as usize] != usize::MAX || weight[v as usize] != top {
            continue;
        }
        met[v as usize] = order.len();
        order.push(v);
        for &w in neighbours[v as usize]
            .iter()
            .filter(|w| met[**w as usize] == usize::MAX)
        {
            weight[w as usize] += 1;
            let bucket = weight[w as usize];
            if buckets.len() <= bucket {
                buckets.push(Vec::new());
            }
            buckets[bucket].push(w);
            top = top.max(bucket);
        }
    }
    let mut sets: Vec<Vec<u32>> = Vec::new();
    let mut last = 0;
    for &v in &order {
        let before = neighbours[v as usize].iter().copied();
        let mut before: Vec<u32> = before
            .filter(|w| met[*w as usize] < met[v as usize])
            .collect();
        // The neighbour that was met last has all others as neighbours, or there is a cycle without
        // a chord.
        let parent = before.iter().copied().max_by_key(|w| met[*w as usize]);
        if let Some(parent) = parent {
            let mut known = neighbours[parent as usize].clone();
            known.sort_unstable();
            let is_known = |w: &u32| *w == parent || known.binary_search(w).is_ok();
            if !before.iter().all(is_known) {
                return (order, None);
            }
        }
        let grows = !sets.is_empty() && before.len() > last;
        last = before.len();
        before.push(v);
        match sets.last_mut().filter(|_| grows) {
            Some(set) => *set = before,
            None => sets.push(before),
        }
    }
    (order, Some(sets))
}

/// Cliques in a row such that each vertex is in consecutive ones, if possible.
fn in_a_row(n: usize, cliques: Vec<Vec<u32>>, order: &[u32]) -> Vec<Vec<u32>> {
    let mut with: Vec<Vec<u32>> = vec![Vec::new(); n];
    for (k, clique) in cliques.iter().enumerate() {
        clique.iter().for_each(|v| with[*v as usize].push(k as u32));
    }
    let mut edges = tree(&cliques, &with, order);
    let mut classes: Vec<Vec<u32>> = vec![(0..cliques.len() as u32).collect()];
    let mut pivots: Vec<u32> = Vec::new();
    let mut is_done = vec![false; n];
    while let Some(at) = classes.iter().rposition(|class| class.len() > 1) {
        let chosen: Vec<u32> = match pivots.pop() {
            None => {
                let last = classes[at].iter().copied().max().unwrap_or(0);
                classes[at].retain(|k| *k != last);
                classes.insert(at + 1, vec![last]);
                vec![last]
            }
            Some(v) if is_done[v as usize] => continue,
            Some(v) => {
                is_done[v as usize] = true;
                let chosen = with[v as usize].clone();
                split(&mut classes, &chosen);
                chosen
            }
        };
        let is_chosen = |k: &u32| chosen.binary_search(k).is_ok();
        edges.retain(|(a, b)| {
            let parts = is_chosen(a) != is_chosen(b);
            if parts {
                let other = &cliques[*b as usize];
                let both = cliques[*a as usize].iter().filter(|v| other.contains(v));
                pivots.extend(both);
            }
            !parts
        });
    }
    let row = classes.into_iter().flatten();
    row.map(|k| cliques[k as usize].clone()).collect()
}

/// Splits the first and the last class that have chosen cliques, which go to the inside.
fn split(classes: &mut Vec<Vec<u32>>, chosen: &[u32]) {
    let has = |class: &Vec<u32>| class.iter().any(|k| chosen.binary_search(k).is_ok());
    let (Some(first), Some(last)) = (classes.iter().position(has), classes.iter().rposition(has))
    else {
        return;
    };
    if first == last {
        return;
    }
    for (at, inside_first) in [(last, true), (first, false)] {
        let class = std::mem::take(&mut classes[at]);
        let (inside, outside): (Vec<u32>, Vec<u32>) = class
            .into_iter()
            .partition(|k| chosen.binary_search(k).is_ok());
        let parts = match inside_first {
            true => [inside, outside],
            false => [outside, inside],
        };
        let parts = parts.into_iter().filter(|part| !part.is_empty());
        classes.splice(at..=at, parts);
    }
}

/// A tree of the cliques: the parent of each has all vertices that it shares with earlier ones.
fn tree(cliques: &[Vec<u32>], with: &[Vec<u32>], order: &[u32]) -> Vec<(u32, u32)> {
    let mut met = vec![0usize; with.len()];
    order
        .iter()
        .enumerate()
        .for_each(|(at, v)| met[*v as usize] = at);
    let mut edges = Vec::new();
    for (k, clique) in cliques.iter().enumerate().skip(1) {
        let k = k as u32;
        let shared = clique.iter().filter(|v| with[**v as usize][0] < k);
        let last = shared.max_by_key(|v| met[**v as usize]);
        let parent = last.and_then(|v| {
            let earlier = with[*v as usize].iter().copied().filter(|o| *o < k);
            let common = |o: &u32| {
                let other = &cliques[*o as usize];
                clique.iter().filter(|v| other.contains(v)).count()
            };
            earlier.max_by_key(common)
        });
        edges.extend(parent.map(|p| (p, k)));
    }
    edges
}

/// Sets of vertices that are all neighbours, every pair in one: greedy.
fn cover(neighbours: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let sorted: Vec<Vec<u32>> = neighbours
        .iter()
        .map(|list| {
            let mut list = list.clone();
            list.sort_unstable();
            list
        })
        .collect();
    let is_pair = |a: u32, b: u32| sorted[a as usize].binary_search(&b).is_ok();
    let mut covered: Vec<Vec<bool>> = sorted.iter().map(|list| vec![false; list.len()]).collect();
    let mut sets = Vec::new();
    for a in 0..sorted.len() as u32 {
        for k in 0..sorted[a as usize].len() {
            if covered[a as usize][k] {
                continue;
            }
            let mut set = vec![a, sorted[a as usize][k]];
            for &c in &sorted[a as usize] {
                if set.iter().all(|s| *s != c && is_pair(*s, c)) {
                    set.push(c);
                }
            }
            for &v in &set {
                for &w in set.iter().filter(|w| **w != v) {
                    if let Ok(at) = sorted[v as usize].binary_search(&w) {
                        covered[v as usize][at] = true;
                    }
                }
            }
            sets.push(set);
        }
    }
    sets
}
