//! Lifted cover inequalities of knapsack rows (Balas 1975). The items of a minimal cover do not all
//! fit, and a heavy item counts for as many of the heaviest cover items as it weighs. Items that
//! exclude each other form groups (generalised upper bounds: Wolsey 1990; Gu, Nemhauser &
//! Savelsbergh 1998). A cover has at most one item of each group, represented by all items of the
//! group that weigh as much.
//!
//! Validity: at most one item of every group is chosen. Chosen items that count for `h` weigh at
//! least as much as the `h` heaviest of the cover. Sums of the heaviest are subadditive, and an
//! item that represents its group weighs at least as much as the cover's item. A choice that counts
//! for as many items as the cover has therefore weighs as much as the cover, which exceeds the
//! capacity.

use super::sum::Sum;
use super::{Context, Cut};
use crate::mip::cliques::{Literal, literal};
use std::collections::HashMap;

/// Separates both sides of every row, as a knapsack over binaries.
pub(crate) fn separate(c: &Context<'_>, out: &mut Vec<Cut>) {
    for i in 0..c.problem.num_rows() {
        if c.problem.rows.len(i) < 2 {
            continue;
        }
        if c.problem.row_upper[i].is_finite() {
            out.extend(knapsack(c, i, 1.0, c.problem.row_upper[i]));
        }
        if c.problem.row_lower[i].is_finite() {
            out.extend(knapsack(c, i, -1.0, -c.problem.row_lower[i]));
        }
    }
}

struct CoverItem {
    col: u32,
    weight: f64,
    /// Value of the (complemented) binary.
    value: f64,
    complemented: bool,
}

impl CoverItem {
    fn literal(&self) -> Literal {
        literal(self.col, self.complemented)
    }
}

/// Limit on the cliques examined for the groups of a row.
const CLIQUE_LIMIT: usize = 10_000;

fn knapsack(c: &Context<'_>, row: usize, sign: f64, side: f64) -> Option<Cut> {
    let mut items: Vec<CoverItem> = Vec::new();
    let mut capacity = side;
    let x = &c.solution.x;
    let mut fractional = false;
    for (j, a) in c.problem.rows.iter(row) {
        let a = sign * a;
        let (l, u) = (c.lower[j], c.upper[j]);
        if c.problem.integer[j] && l == 0.0 && u == 1.0 {
            fractional |= (x[j] - x[j].round()).abs() > 1e-6;
            if a < 0.0 {
                capacity -= a;
            }
            items.push(CoverItem {
                col: j as u32,
                weight: a.abs(),
                value: if a > 0.0 { x[j] } else { 1.0 - x[j] },
                complemented: a < 0.0,
            });
        } else {
            // Any other column contributes its minimum.
            let least = if a > 0.0 { a * l } else { a * u };
            if !least.is_finite() {
                return None;
            }
            capacity -= least;
        }
    }
    if !fractional || items.len() < 2 || capacity < 0.0 {
        return None;
    }
    let margin = 1e-6 * capacity.abs().max(1.0);
    let groups = groups(c, &items);
    let cover = cover(&items, &groups, capacity + margin)?;
    if cover.len() < 2 {
        return None;
    }
    lifted(c, &items, &cover)
}

/// Groups of items with at most one chosen, heaviest item first. They are taken greedily from the
/// cliques, in the order of their values in the point.
fn groups(c: &Context<'_>, items: &[CoverItem]) -> Vec<Vec<usize>> {
    let table = &c.tables.cliques;
    let mut place: HashMap<Literal, usize> = HashMap::with_capacity(items.len());
    let mut cliques: Vec<u32> = Vec::new();
    for (k, item) in items.iter().enumerate() {
        place.insert(item.literal(), k);
        if item.value > 1e-6 && cliques.len() < CLIQUE_LIMIT {
            cliques.extend(table.of(item.literal()));
        }
    }
    cliques.sort_unstable();
    cliques.dedup();
    let mut members: Vec<Vec<usize>> = cliques
        .iter()
        .map(|&q| {
            let known = table.clique(q as usize).iter();
            known.filter_map(|l| place.get(l).copied()).collect()
        })
        .collect();
    let value = |m: &[usize]| m.iter().map(|&k| items[k].value).sum::<f64>();
    members.retain(|m| m.len() > 1);
    members.sort_by(|a, b| {
        value(b)
            .total_cmp(&value(a))
            .then(b.len().cmp(&a.len()))
            .then(a.cmp(b))
    });
    let mut taken = vec![false; items.len()];
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for mut m in members {
        m.retain(|&k| !taken[k]);
        if m.len() > 1 {
            m.iter().for_each(|&k| taken[k] = true);
            groups.push(m);
        }
    }
    groups.extend((0..items.len()).filter(|&k| !taken[k]).map(|k| vec![k]));
    for g in &mut groups {
        g.sort_by(|&a, &b| items[b].weight.total_cmp(&items[a].weight).then(a.cmp(&b)));
    }
    groups
}

/// Contribution of a group to a cover: some of its heaviest items, of which any counts.
struct CoverPart<'a> {
    items: &'a [usize],
    /// The lightest of the items.
    weight: f64,
    /// The sum of their values.
    value: f64,
}

/// A minimal cover, greedily by the point's shortfall per weight.
fn cover<'a>(
    items: &[CoverItem],
    groups: &'a [Vec<usize>],
    capacity: f64,
) -> Option<Vec<CoverPart<'a>>> {
    let rank = |p: &CoverPart<'_>| (1.0 - p.value).max(0.0) / p.weight.max(1e-9);
    let mut parts: Vec<CoverPart<'a>> = groups
        .iter()
        .filter_map(|g| {
            let mut value = 0.0;
            let parts = g.iter().enumerate().filter_map(|(k, &item)| {
                value += items[item].value;
                (items[item].value > 1e-6).then(|| CoverPart {
                    items: &g[..=k],
                    weight: items[item].weight,
                    value,
                })
            });
            parts.min_by(|a, b| rank(a).total_cmp(&rank(b)))
        })
        .collect();
    parts.sort_by(|a, b| {
        rank(a)
            .total_cmp(&rank(b))
            .then(a.items[0].cmp(&b.items[0]))
    });
    let mut weight = 0.0;
    let mut count = 0;
    while count < parts.len() && weight <= capacity {
        weight += parts[count].weight;
        count += 1;
    }
    if weight <= capacity {
        return None;
    }
    parts.truncate(count);
    // Makes the cover minimal: parts with the smallest values are removed first.
    parts.sort_by(|a, b| {
        a.value
            .total_cmp(&b.value)
            .then(a.items[0].cmp(&b.items[0]))
    });
    parts.retain(|p| {
        let superfluous = weight - p.weight > capacity;
        if superfluous {
            weight -= p.weight;
        }
        !superfluous
    });
    Some(parts)
}

/// The lifted inequality of a cover.
fn lifted(c: &Context<'_>, items: &[CoverItem], cover: &[CoverPart<'_>]) -> Option<Cut> {
    let mut heavy: Vec<f64> = cover.iter().map(|p| p.weight).collect();
    heavy.sort_by(|a, b| b.total_cmp(a));
    let mut sum = 0.0;
    let sums: Vec<f64> = heavy
        .iter()
        .map(|w| {
            sum += w;
            sum
        })
        .collect();
    let mut counts: Vec<usize> = items
        .iter()
        .map(|i| {
            let h = sums.iter().take_while(|s| i.weight >= **s + 1e-9).count();
            h.min(cover.len() - 1)
        })
        .collect();
    for part in cover {
        for &k in part.items {
            counts[k] = counts[k].max(1);
        }
    }
    let mut rhs = (cover.len() - 1) as f64;
    let mut entries = Vec::new();
    for (item, &count) in items.iter().zip(&counts) {
        let coef = count as f64;
        if count == 0 {
            continue;
        }
        if item.complemented {
            entries.push((item.col, -coef));
            rhs -= coef;
        } else {
            entries.push((item.col, coef));
        }
    }
    c.finish(entries, Sum::exact(rhs))
}
