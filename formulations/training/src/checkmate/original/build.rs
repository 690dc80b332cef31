//! Columns and rows of the published program.

use super::{CheckmateParts, Stages};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};

pub(super) fn build(parts: &CheckmateParts, stages: Stages, unit_bytes: f64) -> Model {
    let mut lp = ModelBuilder::new(Sense::Minimise);
    lp.set_name(match stages {
        Stages::FrontierAdvancing => "checkmate_original",
        Stages::Unpartitioned => "checkmate_unpartitioned",
    });
    let memory = |bytes: u64| bytes as f64 / unit_bytes;
    columns(&mut lp, parts, memory(parts.capacity));
    match stages {
        Stages::FrontierAdvancing => frontier(&mut lp, parts),
        Stages::Unpartitioned => every_output(&mut lp, parts),
    }
    dependencies(&mut lp, parts);
    freed(&mut lp, parts);
    memory_rows(&mut lp, parts, memory);
    lp.build()
        .expect("finite coefficients, bounds in order, one entry for each row and column")
}

fn columns(lp: &mut ModelBuilder, p: &CheckmateParts, capacity: f64) {
    let n = p.len();
    let mut binary = |cost: f64, name: String| {
        let id = lp.add_col(cost, 0.0..=1.0);
        lp.set_integer(id, true);
        lp.set_col_name(id, name);
    };
    for t in 0..n {
        for i in 0..n {
            binary(p.cost(t, i) as f64, format!("R_{t}_{i}"));
        }
    }
    for t in 0..n {
        for i in 0..n {
            binary(0.0, format!("S_{t}_{i}"));
        }
    }
    for t in 0..n {
        for (i, k) in &p.edges {
            binary(0.0, format!("F_{t}_{i}_{k}"));
        }
    }
    for t in 0..n {
        for k in 0..n {
            let id = lp.add_col(0.0, 0.0..=capacity);
            lp.set_col_name(id, format!("U_{t}_{k}"));
        }
    }
}

/// Rows (1).
fn frontier(lp: &mut ModelBuilder, p: &CheckmateParts) {
    let n = p.len();
    let above = (0..n).flat_map(|t| (t + 1..n).map(move |i| (t, i)));
    lp.add_row(0.0, above.map(|(t, i)| (p.r(t, i), 1.0)));
    let from_diagonal = (0..n).flat_map(|t| (t..n).map(move |i| (t, i)));
    lp.add_row(0.0, from_diagonal.map(|(t, i)| (p.s(t, i), 1.0)));
    lp.add_row(n as f64, (0..n).map(|t| (p.r(t, t), 1.0)));
    for (i, &until) in p
        .again_until
        .iter()
        .enumerate()
        .filter(|(_, u)| **u + 1 < n)
    {
        lp.add_row(0.0, (until + 1..n).map(|t| (p.r(t, i), 1.0)));
    }
}

/// In place of rows (1): memory is empty at first, and every node without readers runs.
fn every_output(lp: &mut ModelBuilder, p: &CheckmateParts) {
    let n = p.len();
    lp.add_row(0.0, (0..n).map(|i| (p.s(0, i), 1.0)));
    for v in (0..n).filter(|&v| p.users[v].is_empty()) {
        lp.add_row(1.0.., (0..n).map(|t| (p.r(t, v), 1.0)));
    }
}

/// Rows (2) and (3).
fn dependencies(lp: &mut ModelBuilder, p: &CheckmateParts) {
    let n = p.len();
    for t in 1..n {
        for i in 0..n {
            let entries = [
                (p.s(t, i), 1.0),
                (p.s(t - 1, i), -1.0),
                (p.r(t - 1, i), -1.0),
            ];
            lp.add_row(..=0.0, entries);
        }
    }
    for &(i, k) in &p.edges {
        for t in 0..n {
            let (i, k) = (i as usize, k as usize);
            let entries = [(p.r(t, k), 1.0), (p.r(t, i), -1.0), (p.s(t, i), -1.0)];
            // A retained copy of the parent does not make its by-product; only a run of the parent
            // does.
            let kept = t <= k || p.parent[k] != Some(i as u32);
            lp.add_row(..=0.0, entries[..2 + usize::from(kept)].iter().copied());
        }
    }
}

/// Rows (4): first all lower sides, then all upper sides.
fn freed(lp: &mut ModelBuilder, p: &CheckmateParts) {
    let n = p.len();
    for upper in [false, true] {
        for (e, &(i, k)) in p.edges.iter().enumerate() {
            let (i, k) = (i as usize, k as usize);
            let later = p.later_users(i, k);
            for t in 0..n {
                // The hazards without their constant 1.
                let mut entries: Vec<(ColId, f64)> = vec![(p.r(t, k), -1.0)];
                if t + 1 < n {
                    entries.push((p.s(t + 1, i), 1.0));
                }
                entries.extend(later.iter().map(|&j| (p.r(t, j as usize), 1.0)));
                let most = entries.len() as f64;
                let (weight, bounds) = if upper {
                    (most, Bounds::from(..=most - 1.0))
                } else {
                    (1.0, Bounds::from(0.0..))
                };
                entries.push((p.f(t, e), weight));
                lp.add_row(bounds, entries);
            }
        }
    }
}

/// Rows (5) to (7).
fn memory_rows(lp: &mut ModelBuilder, p: &CheckmateParts, memory: impl Fn(u64) -> f64) {
    let n = p.len();
    for t in 0..n {
        let mut entries = vec![(p.u(t, 0), 1.0), (p.r(t, 0), -memory(p.bytes[0]))];
        entries.extend((0..n).map(|i| (p.s(t, i), -memory(p.bytes[i]))));
        lp.add_row(0.0, entries);
    }
    let mut freed_after: Vec<Vec<usize>> = vec![Vec::new(); n];
    for (e, &(_, k)) in p.edges.iter().enumerate() {
        freed_after[k as usize].push(e);
    }
    for t in 0..n {
        for (k, freed) in freed_after.iter().enumerate().take(n - 1) {
            let mut entries = vec![
                (p.u(t, k + 1), 1.0),
                (p.u(t, k), -1.0),
                (p.r(t, k + 1), -memory(p.bytes[k + 1])),
            ];
            for &e in freed {
                entries.push((p.f(t, e), memory(p.bytes[p.edges[e].0 as usize])));
            }
            lp.add_row(0.0, entries);
        }
    }
    for k in 0..n {
        for t in (0..n).filter(|&t| p.workspace(t, k) > 0) {
            let entries = [(p.u(t, k), 1.0), (p.r(t, k), memory(p.workspace(t, k)))];
            lp.add_row(..=memory(p.capacity), entries);
        }
    }
}
