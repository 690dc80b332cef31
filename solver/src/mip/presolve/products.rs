//! Binaries that are products of literals, and stronger rows for them.
//!
//! `f = l_1 l_2 ... l_m` is usually written as `f + sum of not l_j >= 1` and
//! `m f + sum of not l_j <= m`: the second row has a weak relaxation. Checkmate's `FREE` is defined
//! so (Jain et al. 2020, equation 7), and used only in a recurrence of continuous columns, its `U`.
//! Presolve recognises such columns by their rows alone. Then
//!
//! 1. the weak rows are replaced by cliques: `f` excludes `not l_j`, and products that contradict
//!    each other exclude each other (clique merging, Achterberg et al. 2020, section 4.4);
//! 2. clauses `x <= sum of D` are lifted: the left side becomes a clique of literals, each of which
//!    implies `D`;
//! 3. recurrences are eliminated, see [`super::recurrences`];
//! 4. rows that limit how often a product may be true are redundant if lifted clauses prove them;
//! 5. a product that may always be true then needs no row that forces it, and no branching: it is
//!    restored from its factors.

use super::literals::negated;
use super::recurrences;
use super::{PostsolveStep, WorkingProblem};
use crate::mip::cliques::{Literal, column, is_complement};
use std::collections::BTreeMap;

/// A column that is 1 exactly if all of its factors are.
struct BinaryProduct {
    literal: Literal,
    /// Literals that it excludes: the negated factors, sorted.
    excludes: Vec<Literal>,
    /// The row that forces it to be true.
    clause: usize,
    /// Rows that only state its exclusions.
    weak: Vec<usize>,
}

impl BinaryProduct {
    fn excludes(&self, l: Literal) -> bool {
        self.excludes.binary_search(&l).is_ok()
    }

    fn contradicts(&self, other: &BinaryProduct) -> bool {
        let needs = |l: &Literal| other.excludes(negated(*l));
        self.excludes.iter().any(needs)
    }
}

/// A row `sum of left <= sum of right`, or `<= 1` if there is no right side.
struct Strong {
    left: Vec<Literal>,
    right: Vec<Literal>,
    products: Vec<usize>,
}

/// Recognises products, strengthens their rows, and eliminates the recurrences that use them. One
/// run is enough.
pub(super) fn run(w: &mut WorkingProblem) {
    let products = find(w);
    if products.is_empty() {
        return;
    }
    let mut of_row = vec![false; w.rows.len()];
    for p in &products {
        for &r in p.weak.iter().chain([&p.clause]) {
            of_row[r] = true;
        }
    }
    let (mut strong, proofs) = lift(w, &products, &of_row);
    strong.extend(cliques(&products));
    let first = w.rows.len();
    for row in &strong {
        let side = if row.right.is_empty() { 1.0 } else { 0.0 };
        w.add_literal_row(&row.left, &row.right, side);
    }
    let added = first..w.rows.len();
    for r in products.iter().flat_map(|p| &p.weak) {
        if w.row_alive[*r] {
            w.kill_row(*r);
        }
    }
    let columns: Vec<usize> = products.iter().map(|p| column(p.literal)).collect();
    recurrences::eliminate(w, &columns);
    strong.extend(proofs);
    relax(w, &products, &strong, added.clone());
    let held = held(w, &products, added);
    for (k, p) in products.iter().enumerate() {
        // With its factors fixed, the rows leave the product's value, or any value up to it:
        // branching is unnecessary. As an integer it would take part in covers, which costs more
        // than it gains (docs/inside/decisions/059).
        w.integer[column(p.literal)] = false;
        if held[k] {
            continue;
        }
        w.kill_row(p.clause);
        w.steps.push(PostsolveStep::Product {
            literal: p.literal,
            excluded: p.excludes.clone(),
        });
    }
}

/// Finds products: each column at most once, and no product as a factor of another.
fn find(w: &WorkingProblem) -> Vec<BinaryProduct> {
    let n = w.cost.len();
    let mut excluders: BTreeMap<Literal, Vec<usize>> = BTreeMap::new();
    let mut clauses: Vec<(usize, Vec<Literal>)> = Vec::new();
    for i in 0..w.rows.len() {
        if !w.row_alive[i] || w.rows[i].len() < 2 || w.rows[i].len() > 1000 {
            continue;
        }
        // A row with two sides is more than one clause.
        if w.row_lower[i].is_finite() && w.row_upper[i].is_finite() {
            continue;
        }
        let Some(k) = w.knapsack(i, 1.0).or_else(|| w.knapsack(i, -1.0)) else {
            continue;
        };
        if let Some(c) = k.clause().filter(|c| c.len() >= 3) {
            clauses.push((i, c));
        } else if let Some(f) = k.excluder() {
            excluders.entry(f).or_default().push(i);
        }
    }
    let mut products: Vec<BinaryProduct> = Vec::new();
    let mut taken = vec![false; n];
    for (row, clause) in clauses {
        for &f in &clause {
            let Some(rows) = excluders.get(&f) else {
                continue;
            };
            let mut excludes: Vec<Literal> = clause.iter().copied().filter(|&l| l != f).collect();
            excludes.sort_unstable();
            let mut covered = vec![false; excludes.len()];
            let mut weak = Vec::new();
            for &r in rows {
                let Some(k) = w.knapsack(r, 1.0).or_else(|| w.knapsack(r, -1.0)) else {
                    continue;
                };
                let at: Option<Vec<usize>> = (k.items.iter().map(|e| e.1).filter(|&l| l != f))
                    .map(|l| excludes.binary_search(&l).ok())
                    .collect();
                if let Some(at) = at {
                    at.into_iter().for_each(|k| covered[k] = true);
                    weak.push(r);
                }
            }
            let free = !taken[column(f)]
                && !w.is_needed(column(f))
                && excludes.iter().all(|&l| !taken[column(l)]);
            if free && covered.iter().all(|&c| c) {
                taken[column(f)] = true;
                products.push(BinaryProduct {
                    literal: f,
                    excludes,
                    clause: row,
                    weak,
                });
                break;
            }
        }
    }
    // The test above excludes products with an earlier product as a factor. Products that are
    // factors of later ones are removed here.
    let factors: Vec<bool> = {
        let mut is = vec![false; n];
        for p in &products {
            p.excludes.iter().for_each(|&l| is[column(l)] = true);
        }
        is
    };
    products.retain(|p| !factors[column(p.literal)]);
    products
}

/// Splits products into cliques, greedily.
fn split(products: &[BinaryProduct], of: &[usize]) -> Vec<Vec<usize>> {
    let mut cliques: Vec<Vec<usize>> = Vec::new();
    for &k in of {
        let fits = |c: &&mut Vec<usize>| c.iter().all(|&m| products[k].contradicts(&products[m]));
        match cliques.iter_mut().find(fits) {
            Some(c) => c.push(k),
            None => cliques.push(vec![k]),
        }
    }
    cliques
}

/// Products that exclude each literal.
fn by_excluded(products: &[BinaryProduct]) -> BTreeMap<Literal, Vec<usize>> {
    let mut of: BTreeMap<Literal, Vec<usize>> = BTreeMap::new();
    for (k, p) in products.iter().enumerate() {
        for &l in &p.excludes {
            of.entry(l).or_default().push(k);
        }
    }
    of
}

/// Cliques that together imply the weak rows.
fn cliques(products: &[BinaryProduct]) -> Vec<Strong> {
    let mut out = Vec::new();
    for (l, of) in by_excluded(products) {
        for clique in split(products, &of) {
            let mut left: Vec<Literal> = clique.iter().map(|&k| products[k].literal).collect();
            left.push(l);
            out.push(Strong {
                left,
                right: Vec::new(),
                products: clique,
            });
        }
    }
    out
}

/// Lifts clauses as far as they stay valid, and removes the original ones. Also returns further
/// valid rows, for proofs only.
fn lift(
    w: &mut WorkingProblem,
    products: &[BinaryProduct],
    of_row: &[bool],
) -> (Vec<Strong>, Vec<Strong>) {
    // The literals that imply each set of literals, and the row of each implication.
    let mut implied: BTreeMap<Vec<Literal>, Vec<(Literal, usize)>> = BTreeMap::new();
    for i in 0..of_row.len() {
        let two = w.row_lower[i].is_finite() && w.row_upper[i].is_finite();
        if !w.row_alive[i] || of_row[i] || two || !(2..=8).contains(&w.rows[i].len()) {
            continue;
        }
        let knapsack = w.knapsack(i, 1.0).or_else(|| w.knapsack(i, -1.0));
        let Some(clause) = knapsack.and_then(|k| k.clause()) else {
            continue;
        };
        for &z in &clause {
            let mut rest: Vec<Literal> = clause.iter().copied().filter(|&l| l != z).collect();
            rest.sort_unstable();
            implied.entry(rest).or_default().push((negated(z), i));
        }
    }
    let needing = by_excluded(products);
    let none = Vec::new();
    let (mut out, mut proofs) = (Vec::new(), Vec::new());
    for (right, by) in implied {
        // Products that imply one of the literals, and thereby the right side.
        let mut of: Vec<usize> = (by.iter())
            .flat_map(|&(x, _)| needing.get(&negated(x)).unwrap_or(&none))
            .copied()
            .collect();
        of.sort_unstable();
        of.dedup();
        // A product that occurs in the right side would be counted twice.
        of.retain(|&k| {
            let p = &products[k];
            !right.iter().any(|&l| column(l) == column(p.literal))
        });
        if of.is_empty() {
            continue;
        }
        let mut alone = split(products, &of);
        for &(x, row) in &by {
            let with: Vec<usize> = (of.iter().copied())
                .filter(|&k| products[k].excludes(x))
                .collect();
            // One row replaces the clause: the one with the largest clique.
            let Some(clique) = split(products, &with).into_iter().max_by_key(Vec::len) else {
                continue;
            };
            if !w.row_alive[row] {
                continue;
            }
            w.kill_row(row);
            alone.retain(|a| !a.iter().all(|k| clique.contains(k)));
            let mut left: Vec<Literal> = clique.iter().map(|&k| products[k].literal).collect();
            left.push(x);
            out.push(Strong {
                left,
                right: right.clone(),
                products: clique,
            });
        }
        for clique in alone {
            proofs.push(Strong {
                left: clique.iter().map(|&k| products[k].literal).collect(),
                right: right.clone(),
                products: clique,
            });
        }
    }
    (out, proofs)
}

/// Drops sides of rows that would keep products from being true, if strong rows prove them. The
/// added rows stay.
fn relax(
    w: &mut WorkingProblem,
    products: &[BinaryProduct],
    strong: &[Strong],
    added: std::ops::Range<usize>,
) {
    let mut of_column = vec![usize::MAX; w.cost.len()];
    for (k, p) in products.iter().enumerate() {
        of_column[column(p.literal)] = k;
    }
    let mut with: Vec<Vec<usize>> = vec![Vec::new(); products.len()];
    for (r, row) in strong.iter().enumerate() {
        row.products.iter().for_each(|&k| with[k].push(r));
    }
    // Weight of each literal in the present side.
    let mut weight = vec![0.0f64; 2 * w.cost.len()];
    for i in 0..w.rows.len() {
        if !w.row_alive[i] || added.contains(&i) {
            continue;
        }
        for sign in [1.0, -1.0] {
            let side = if sign > 0.0 {
                w.row_upper[i]
            } else {
                -w.row_lower[i]
            };
            let asked: Vec<(usize, f64)> = (w.rows[i].iter())
                .map(|&(j, a)| (of_column[j as usize], sign * a))
                .filter(|&(k, a)| {
                    k != usize::MAX && (a > 0.0) != is_complement(products[k].literal)
                })
                .map(|(k, a)| (k, a.abs()))
                .collect();
            if !side.is_finite() || asked.is_empty() {
                continue;
            }
            let mut touched: Vec<Literal> = Vec::new();
            for &(j, a) in &w.rows[i] {
                let l = 2 * j;
                weight[l as usize] = sign * a;
                weight[negated(l) as usize] = -sign * a;
                touched.push(l);
            }
            let uses = likest(strong, &with, &asked, &weight);
            let mut side = side;
            let mut add = |l: Literal, m: f64, side: &mut f64| {
                // A complement is 1 minus the column.
                let column = l & !1;
                if is_complement(l) {
                    *side -= m;
                    weight[column as usize] -= m;
                } else {
                    weight[column as usize] += m;
                }
                touched.push(column);
            };
            for (&r, &m) in &uses {
                if strong[r].right.is_empty() {
                    side -= m;
                }
                strong[r].left.iter().for_each(|&l| add(l, -m, &mut side));
                strong[r].right.iter().for_each(|&l| add(l, m, &mut side));
            }
            touched.sort_unstable();
            touched.dedup();
            let (mut most, mut size) = (0.0f64, side.abs());
            for &l in &touched {
                let (j, v) = (column(l), weight[l as usize]);
                let reach = if v > 0.0 { w.upper[j] } else { w.lower[j] };
                if v != 0.0 {
                    most += v * reach;
                    size = size.max((v * reach).abs());
                }
                weight[l as usize] = 0.0;
                weight[negated(l) as usize] = 0.0;
            }
            // Exact up to the rounding of the sums.
            if most <= side + 1e-12 * size * touched.len() as f64 {
                if sign > 0.0 {
                    w.row_upper[i] = f64::INFINITY;
                } else {
                    w.row_lower[i] = f64::NEG_INFINITY;
                }
                w.changes += 1;
            }
        }
    }
}

/// For every product, the strong row most similar to a side with the given weights, with the
/// multiplier that the side requires. `with` lists the strong rows of each product.
fn likest(
    strong: &[Strong],
    with: &[Vec<usize>],
    asked: &[(usize, f64)],
    weight: &[f64],
) -> BTreeMap<usize, f64> {
    let mut uses: BTreeMap<usize, f64> = BTreeMap::new();
    for &(k, a) in asked {
        let likeness = |r: usize| {
            let row = &strong[r];
            let left = row.left.iter().filter(|&&l| weight[l as usize] > 0.0);
            // The literals on the right side must occur in the side.
            let missing = |l: &&Literal| weight[**l as usize] > (1e-9 - 1.0) * a;
            let missing = row.right.iter().filter(missing);
            let right = row.right.len() as i64 - 10 * missing.count() as i64;
            left.count() as i64 + 100 * right
        };
        let best = with[k].iter().copied().max_by_key(|&r| (likeness(r), r));
        if let Some(r) = best {
            let m = uses.entry(r).or_insert(0.0);
            *m = m.max(a);
        }
    }
    uses
}

/// Marks the products that a row or a cost may keep from being true although all their factors are.
fn held(
    w: &WorkingProblem,
    products: &[BinaryProduct],
    strong: std::ops::Range<usize>,
) -> Vec<bool> {
    let mut of_column = vec![usize::MAX; w.cost.len()];
    let mut held = vec![false; products.len()];
    for (k, p) in products.iter().enumerate() {
        let j = column(p.literal);
        of_column[j] = k;
        let cost = if is_complement(p.literal) {
            -w.cost[j]
        } else {
            w.cost[j]
        };
        held[k] = cost > 0.0;
    }
    for i in 0..w.rows.len() {
        if !w.row_alive[i] || strong.contains(&i) {
            continue;
        }
        for &(j, a) in &w.rows[i] {
            let k = of_column[j as usize];
            if k == usize::MAX {
                continue;
            }
            let a = if is_complement(products[k].literal) {
                -a
            } else {
                a
            };
            held[k] |=
                (a > 0.0 && w.row_upper[i].is_finite()) || (a < 0.0 && w.row_lower[i].is_finite());
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mip::problem::Problem;

    /// Two tensors, `b` read by `c` and `d`: computed and freed tensors in the second of two
    /// stages.
    fn program() -> Problem {
        let text = "Minimize\n c: 5 rb + 7 rc + 7 rd + 3 sb\nSubject To\n keep: sb + rb - nb >= 0\n c: sb + rb - rc >= 0\n \
             d: sb + rb - rd >= 0\n need: rc + rd + nb >= 1\n \
             low1: f1 - rc + rd + nb >= 0\n high1: 3 f1 - rc + rd + nb <= 2\n \
             low2: f2 - rd + nb >= 0\n high2: 2 f2 - rd + nb <= 1\n \
             u0: u0 - 4 sb - 4 rb = 1\n u1: u1 - u0 - 2 rc + 4 f1 = 0\n u2: u2 - u1 - 2 rd + 4 f2 = 0\n u3: u3 - u2 - 3 nb = 0\n\
             Bounds\n u0 <= 8\n u1 <= 8\n u2 <= 8\n u3 <= 5\nBinary\n rb\n rc\n rd\n sb\n nb\n f1\n f2\nEnd\n";
        Problem::from_model(&remat_lp::lp_format::parse(text, "case").unwrap())
    }

    #[test]
    fn products_and_their_recurrence_are_found_and_go() {
        let mut w = WorkingProblem::new(&program());
        run(&mut w);
        let steps = |kind: fn(&PostsolveStep) -> bool| w.steps.iter().filter(|s| kind(s)).count();
        assert_eq!(steps(|s| matches!(s, PostsolveStep::Product { .. })), 2);
        assert_eq!(steps(|s| matches!(s, PostsolveStep::Aggregated { .. })), 4);
        // Neither products nor states are left for branching, and no row forces or prevents a
        // product.
        assert_eq!(w.integer.iter().filter(|i| **i).count(), 5);
        let (p, kept) = w.assemble();
        assert_eq!((p.num_cols(), kept.len()), (7, 7));
        for i in 0..p.num_rows() {
            for (j, a) in p.rows.iter(i).filter(|e| !p.integer[e.0]) {
                assert!(
                    a > 0.0 || p.row_lower[i] == f64::NEG_INFINITY,
                    "row {i}, column {j}"
                );
            }
        }
    }

    #[test]
    fn a_product_comes_back_from_its_factors() {
        let mut w = WorkingProblem::new(&program());
        run(&mut w);
        let (p, kept) = w.assemble();
        let post = super::super::Postsolve {
            original: 11,
            width: 11,
            kept,
            steps: w.steps,
        };
        let model = program();
        let holds_in_full = |x: &[f64]| {
            (0..model.num_rows()).all(|i| {
                let a: f64 = model.rows.iter(i).map(|(j, v)| v * x[j]).sum();
                a >= model.row_lower[i] - 1e-9 && a <= model.row_upper[i] + 1e-9
            })
        };
        // Every binary point of the reduced program, with products at 0 if the rows allow it.
        let mut feasible = 0;
        let binaries: Vec<usize> = (0..p.num_cols()).filter(|&j| p.integer[j]).collect();
        for bits in 0..1u32 << binaries.len() {
            for f in 0..4u32 {
                let mut x = vec![0.0; p.num_cols()];
                for (k, &j) in binaries.iter().enumerate() {
                    x[j] = f64::from(bits >> k & 1);
                }
                for (k, j) in (0..p.num_cols()).filter(|&j| !p.integer[j]).enumerate() {
                    x[j] = f64::from(f >> k & 1);
                }
                let holds = (0..p.num_rows()).all(|i| {
                    let a: f64 = p.rows.iter(i).map(|(j, v)| v * x[j]).sum();
                    a >= p.row_lower[i] - 1e-9 && a <= p.row_upper[i] + 1e-9
                });
                if holds {
                    feasible += 1;
                    let y = post.restore(&x);
                    assert!(holds_in_full(&y), "{bits:b} {f:b}: {y:?}");
                }
            }
        }
        assert!(feasible >= 4, "{feasible}");
    }
}
