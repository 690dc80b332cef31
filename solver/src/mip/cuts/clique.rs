//! Clique inequalities: at most one of several pairwise exclusive literals is true (Padberg 1973).
//! A limited depth-first search finds heavy cliques among the fractional literals. Literals at zero
//! are then added by lifting.

use super::sum::Sum;
use super::{Context, Cut};
use crate::mip::cliques::{Literal, column, is_complement, value};

/// Conflicts of literals as rows of bits.
struct ConflictGraph {
    words: usize,
    bits: Vec<u64>,
}

impl ConflictGraph {
    fn row(&self, k: usize) -> &[u64] {
        &self.bits[k * self.words..(k + 1) * self.words]
    }

    fn connect(&mut self, a: usize, b: usize) {
        self.bits[a * self.words + b / 64] |= 1 << (b % 64);
        self.bits[b * self.words + a / 64] |= 1 << (a % 64);
    }
}

const LITERAL_LIMIT: usize = 2_000;

struct CliqueSearch<'a> {
    graph: &'a ConflictGraph,
    weight: &'a [f64],
    best: Vec<usize>,
    best_weight: f64,
    current: Vec<usize>,
    work: usize,
}

impl CliqueSearch<'_> {
    /// Extends the current clique by the candidates, heaviest first.
    fn extend(&mut self, weight: f64, candidates: &[usize]) {
        if weight > self.best_weight + 1e-9 {
            self.best_weight = weight;
            self.best.clone_from(&self.current);
        }
        let mut rest: f64 = candidates.iter().map(|&k| self.weight[k]).sum();
        for (at, &k) in candidates.iter().enumerate() {
            if weight + rest <= self.best_weight + 1e-9 || self.work == 0 {
                return;
            }
            self.work = self.work.saturating_sub(candidates.len() - at + 1);
            rest -= self.weight[k];
            let row = self.graph.row(k);
            let next: Vec<usize> = candidates[at + 1..]
                .iter()
                .copied()
                .filter(|&o| row[o / 64] >> (o % 64) & 1 == 1)
                .collect();
            self.current.push(k);
            self.extend(weight + self.weight[k], &next);
            self.current.pop();
        }
    }
}

/// Separates violated clique inequalities.
pub(crate) fn separate(c: &Context<'_>, out: &mut Vec<Cut>) {
    let x = &c.solution.x;
    let table = &c.tables.cliques;
    if table.len() < 2 {
        return;
    }
    let mut literals: Vec<Literal> = Vec::new();
    for j in 0..c.problem.num_cols() as u32 {
        for l in [2 * j, 2 * j + 1] {
            let v = value(l, x);
            if v > 1e-3 && v < 1.0 - 1e-6 && !table.of(l).is_empty() {
                literals.push(l);
            }
        }
    }
    literals.sort_by(|&a, &b| value(b, x).total_cmp(&value(a, x)).then(a.cmp(&b)));
    literals.truncate(LITERAL_LIMIT);
    let n = literals.len();
    if n < 3 {
        return;
    }
    let mut place = vec![u32::MAX; 2 * c.problem.num_cols()];
    for (k, &l) in literals.iter().enumerate() {
        place[l as usize] = k as u32;
    }
    let words = n.div_ceil(64);
    let mut graph = ConflictGraph {
        words,
        bits: vec![0; words * n],
    };
    let mut members: Vec<usize> = Vec::new();
    for q in 0..table.len() {
        members.clear();
        members.extend(
            table
                .clique(q)
                .iter()
                .map(|&l| place[l as usize])
                .filter(|&k| k != u32::MAX)
                .map(|k| k as usize),
        );
        for (a, &k) in members.iter().enumerate() {
            for &o in &members[..a] {
                graph.connect(k, o);
            }
        }
    }
    let weight: Vec<f64> = literals.iter().map(|&l| value(l, x)).collect();
    let mut seen: Vec<Vec<usize>> = Vec::new();
    let mut work = 2_000_000usize;
    let mut covered = vec![0u32; n];
    for start in 0..n {
        if work == 0 || out.len() > 2_000 {
            break;
        }
        // Literals that are already in two cuts are skipped.
        if covered[start] >= 2 {
            continue;
        }
        let row = graph.row(start);
        let candidates: Vec<usize> = (0..n)
            .filter(|&o| row[o / 64] >> (o % 64) & 1 == 1)
            .collect();
        work = work.saturating_sub(n / 8 + candidates.len());
        let mut search = CliqueSearch {
            graph: &graph,
            weight: &weight,
            best: Vec::new(),
            best_weight: 1.0 + 1e-4,
            current: vec![start],
            work: 20_000.min(work),
        };
        search.extend(weight[start], &candidates);
        work = work.saturating_sub(20_000 - search.work.min(20_000));
        let mut best = std::mem::take(&mut search.best);
        if best.is_empty() {
            continue;
        }
        best.sort_unstable();
        if seen.contains(&best) {
            continue;
        }
        for &k in &best {
            covered[k] += 1;
        }
        let mut clique: Vec<Literal> = best.iter().map(|&k| literals[k]).collect();
        seen.push(best);
        lift(c, &mut clique);
        out.extend(cut(c, &clique));
    }
}

/// Adds literals that exclude all members of the clique, cheapest first.
fn lift(c: &Context<'_>, clique: &mut Vec<Literal>) {
    let table = &c.tables.cliques;
    // Candidates: neighbours of the member with the fewest neighbours.
    let size = |l: Literal| {
        table
            .of(l)
            .iter()
            .map(|&q| table.clique(q as usize).len())
            .sum::<usize>()
    };
    let Some(&first) = clique.iter().min_by_key(|&&l| (size(l), l)) else {
        return;
    };
    if size(first) > 5_000 {
        return;
    }
    let mut candidates: Vec<Literal> = table
        .of(first)
        .iter()
        .flat_map(|&q| table.clique(q as usize).iter().copied())
        .filter(|l| !clique.contains(l))
        .collect();
    candidates.sort_unstable();
    candidates.dedup();
    let cost = |l: Literal| {
        let d = c.solution.reduced_costs[column(l)];
        if is_complement(l) { -d } else { d }
    };
    candidates.sort_by(|&a, &b| cost(a).total_cmp(&cost(b)).then(a.cmp(&b)));
    let adjacent = |a: Literal, b: Literal| {
        let (few, other) = if table.of(a).len() <= table.of(b).len() {
            (a, b)
        } else {
            (b, a)
        };
        table
            .of(few)
            .iter()
            .any(|q| table.of(other).binary_search(q).is_ok())
    };
    for l in candidates.into_iter().take(500) {
        if clique
            .iter()
            .all(|&m| column(m) != column(l) && adjacent(l, m))
        {
            clique.push(l);
        }
        if clique.len() > 300 {
            break;
        }
    }
}

fn cut(c: &Context<'_>, clique: &[Literal]) -> Option<Cut> {
    let mut rhs = 1.0;
    let entries = clique
        .iter()
        .map(|&l| {
            if is_complement(l) {
                rhs -= 1.0;
                (column(l) as u32, -1.0)
            } else {
                (column(l) as u32, 1.0)
            }
        })
        .collect();
    c.finish(entries, Sum::exact(rhs))
}
