//! Lifted cover inequalities of knapsack rows (Balas 1975): of a minimal cover not all items fit, and a heavy item
//! counts for as many of the heaviest cover items as it weighs.

use super::{Context, Cut};

/// Both sides of every row, as a knapsack over binaries.
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

struct Item {
    col: u32,
    weight: f64,
    /// Value of the (complemented) binary.
    value: f64,
    complemented: bool,
}

fn knapsack(c: &Context<'_>, row: usize, sign: f64, side: f64) -> Option<Cut> {
    let mut items: Vec<Item> = Vec::new();
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
            items.push(Item {
                col: j as u32,
                weight: a.abs(),
                value: if a > 0.0 { x[j] } else { 1.0 - x[j] },
                complemented: a < 0.0,
            });
        } else {
            // Anything else takes the least it can.
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
    // Greedy cover: items the point wants most, per weight.
    let mut order: Vec<usize> = (0..items.len())
        .filter(|&k| items[k].value > 1e-6)
        .collect();
    order.sort_by(|&a, &b| {
        let rank = |k: usize| (1.0 - items[k].value) / items[k].weight.max(1e-9);
        rank(a).total_cmp(&rank(b)).then(a.cmp(&b))
    });
    let mut cover: Vec<usize> = Vec::new();
    let mut weight = 0.0;
    for k in order {
        if weight > capacity + margin {
            break;
        }
        cover.push(k);
        weight += items[k].weight;
    }
    if weight <= capacity + margin {
        return None;
    }
    // Minimal: drop the items the point wants least while it remains a cover.
    cover.sort_by(|&a, &b| items[a].value.total_cmp(&items[b].value).then(a.cmp(&b)));
    let mut kept = Vec::new();
    for &k in &cover {
        if weight - items[k].weight > capacity + margin {
            weight -= items[k].weight;
        } else {
            kept.push(k);
        }
    }
    let cover = kept;
    if cover.len() < 2 {
        return None;
    }
    let mut heavy: Vec<f64> = cover.iter().map(|&k| items[k].weight).collect();
    heavy.sort_by(|a, b| b.total_cmp(a));
    let mut sums = vec![0.0];
    for w in &heavy {
        sums.push(sums[sums.len() - 1] + w);
    }
    let mut in_cover = vec![false; items.len()];
    for &k in &cover {
        in_cover[k] = true;
    }
    let mut rhs = (cover.len() - 1) as f64;
    let mut entries = Vec::new();
    for (k, item) in items.iter().enumerate() {
        let coef = if in_cover[k] {
            1.0
        } else {
            let h = sums
                .iter()
                .skip(1)
                .take_while(|s| item.weight >= **s + 1e-9)
                .count();
            h.min(cover.len() - 1) as f64
        };
        if coef == 0.0 {
            continue;
        }
        if item.complemented {
            entries.push((item.col, -coef));
            rhs -= coef;
        } else {
            entries.push((item.col, coef));
        }
    }
    c.finish(entries, rhs)
}
