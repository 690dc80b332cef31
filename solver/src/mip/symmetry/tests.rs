use super::generators;
use super::permutation::Permutation;
use super::{Symmetry, conjugates};
use crate::mip::domain::Domain;
use crate::mip::problem::Problem;
use remat_lp::random::SplitMix64;
use remat_lp::{ColId, ModelBuilder, Sense};
use std::collections::BTreeSet;

const WORK: u64 = 10_000_000;

/// All permutations of `n` columns that preserve a program, by enumeration.
fn automorphisms(p: &Problem) -> BTreeSet<Vec<u32>> {
    fn extend(p: &Problem, images: &mut Vec<u32>, out: &mut BTreeSet<Vec<u32>>) {
        let n = p.num_cols() as u32;
        if images.len() == n as usize {
            let g = Permutation::new(images.iter().enumerate().map(|(j, &to)| (j as u32, to)));
            if g.keeps(p, &mut 0) {
                out.insert(images.clone());
            }
            return;
        }
        for to in 0..n {
            if !images.contains(&to) {
                images.push(to);
                extend(p, images, out);
                images.pop();
            }
        }
    }
    let mut out = BTreeSet::new();
    extend(p, &mut Vec::new(), &mut out);
    out
}

/// The group that permutations of `n` columns generate.
fn closure(generators: &[Permutation], n: u32) -> BTreeSet<Vec<u32>> {
    let identity: Vec<u32> = (0..n).collect();
    let mut group = BTreeSet::from([identity.clone()]);
    let mut open = vec![identity];
    while let Some(g) = open.pop() {
        for h in generators {
            let product: Vec<u32> = g.iter().map(|&j| h.image(j)).collect();
            if group.insert(product.clone()) {
                open.push(product);
            }
        }
    }
    group
}

/// A random program of few numbers, which makes symmetry likely.
fn small_program(seed: u64) -> Problem {
    let mut random = SplitMix64::new(seed);
    let n = 3 + random.below(4);
    let mut b = ModelBuilder::new(Sense::Minimise);
    let kinds = 1 + random.below(2);
    let cols: Vec<ColId> = (0..n)
        .map(|_| {
            let c = b.add_col(random.below(kinds) as f64, 0.0..=1.0);
            b.set_integer(c, random.below(5) > 0);
            c
        })
        .collect();
    for _ in 0..1 + random.below(3) {
        // A row with its cyclic shifts, or a single row.
        let row: Vec<f64> = (0..n).map(|_| random.below(3) as f64 - 1.0).collect();
        let shifts = if random.below(2) == 0 { n } else { 1 };
        for s in 0..shifts {
            let entries = (0..n).map(|k| (cols[(k + s) % n], row[k]));
            b.add_row(..=2.0, entries.filter(|e| e.1 != 0.0));
        }
    }
    Problem::from_model(&b.build().unwrap())
}

#[test]
fn generators_generate_the_whole_group() {
    let mut orders = BTreeSet::new();
    for seed in 0..150 {
        let p = small_program(seed);
        let n = p.num_cols() as u32;
        let all = automorphisms(&p);
        let found = generators::search(&p, WORK).generators;
        let group = closure(&found, n);
        assert!(group.is_subset(&all), "seed {seed}: no automorphism");
        // Only permutations that move integer columns: the search ignores exchanges of continuous
        // ones alone.
        let moves = |g: &Vec<u32>| (0..n).any(|j| p.integer[j as usize] && g[j as usize] != j);
        if p.integer.iter().all(|&i| i) {
            assert_eq!(group.len(), all.len(), "seed {seed}");
        }
        assert_eq!(
            group.iter().any(moves),
            all.iter().any(moves),
            "seed {seed}"
        );
        orders.insert(group.len());
    }
    assert!(orders.len() > 5, "orders {orders:?}");
}

/// Items of equal size in interchangeable bins: an assignment of items to bins.
fn bins(items: usize, bins: usize) -> Problem {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut cols = vec![Vec::new(); items];
    let used: Vec<ColId> = (0..bins).map(|_| b.add_col(1.0, 0.0..=1.0)).collect();
    for (i, row) in cols.iter_mut().enumerate() {
        for _ in 0..bins {
            row.push(b.add_col(0.0, 0.0..=1.0));
        }
        b.add_row(1.0..=1.0, row.iter().map(|&c| (c, 1.0)));
        assert!(i < items);
    }
    for k in 0..bins {
        let items = cols
            .iter()
            .enumerate()
            .map(|(i, row)| (row[k], 3.0 + i as f64));
        b.add_row(..=0.0, items.chain([(used[k], -12.0)]));
    }
    for c in used.iter().chain(cols.iter().flatten()) {
        b.set_integer(*c, true);
    }
    Problem::from_model(&b.build().unwrap())
}

#[test]
fn conjugates_of_exchanges_are_all_exchanges_of_two_bins() {
    let p = bins(6, 5);
    let found = generators::search(&p, WORK);
    assert_eq!(found.generators.len(), 4);
    let (all, _) = conjugates(&found.generators, 100_000);
    let exchanges = all.iter().filter(|g| g.moved.len() == 2 * 7).count();
    assert_eq!(exchanges, 10);
    let (symmetry, ticks) = Symmetry::find(&p, WORK);
    let symmetry = symmetry.unwrap();
    // The orbits are the bins, and the places of each item.
    assert_eq!((symmetry.generators, symmetry.orbits), (4, 7));
    assert!(ticks > 0 && ticks < WORK);
    assert!(Symmetry::find(&p, 10).0.is_none());
}

#[test]
fn the_first_items_go_to_the_first_bins() {
    let p = bins(4, 4);
    let symmetry = Symmetry::find(&p, WORK).0.unwrap();
    let item = |i: usize, k: usize| 4 + 4 * i + k;
    // Item 0 is in bin 0: item 1 is in bin 0 or any one of the other bins.
    let mut d = Domain::new(&p);
    d.fix(&p, item(0, 0), 1.0);
    d.propagate(&p);
    d.fix(&p, item(1, 2), 0.0);
    let order = [item(0, 0) as u32, item(1, 2) as u32];
    symmetry.reduce(&p, &mut d, &order);
    assert!((1..4).all(|k| d.upper[item(1, k)] == 0.0));
    assert!(d.propagate(&p));
    assert_eq!(d.lower[item(1, 0)], 1.0);
    // If item 0 is not in bin 0, the first by symmetry, it is in no bin.
    let mut d = Domain::new(&p);
    d.fix(&p, item(0, 0), 0.0);
    symmetry.reduce(&p, &mut d, &[item(0, 0) as u32]);
    assert!(!(d.propagate(&p)));
}

/// Reduction at random nodes keeps a point of every orbit: the greatest one in the order of
/// branchings.
#[test]
fn the_greatest_point_of_each_orbit_remains() {
    let mut tightened = 0;
    for seed in 0..300 {
        let p = small_program(seed);
        if !p.integer.iter().all(|&i| i) {
            continue;
        }
        let Some(symmetry) = Symmetry::find(&p, WORK).0 else {
            continue;
        };
        let n = p.num_cols();
        let group = automorphisms(&p);
        let mut random = SplitMix64::new(seed + 1_000);
        let mut order: Vec<u32> = (0..n as u32).collect();
        for k in (1..n).rev() {
            order.swap(k, random.below(k + 1));
        }
        order.truncate(1 + random.below(n));
        let mut d = Domain::new(&p);
        for &j in &order {
            d.fix(&p, j as usize, random.below(2) as f64);
        }
        let (lower, upper) = (d.lower.clone(), d.upper.clone());
        tightened += symmetry.reduce(&p, &mut d, &order);
        for point in 0..1u32 << n {
            let x: Vec<f64> = (0..n).map(|j| f64::from(point >> j & 1)).collect();
            let image = |g: &[u32]| -> Vec<f64> {
                order.iter().map(|&j| x[g[j as usize] as usize]).collect()
            };
            let own: Vec<f64> = order.iter().map(|&j| x[j as usize]).collect();
            let is_greatest = group.iter().all(|g| own >= image(g));
            let inside = |l: &[f64], u: &[f64]| (0..n).all(|j| l[j] <= x[j] && x[j] <= u[j]);
            if is_greatest && inside(&lower, &upper) {
                assert!(
                    !d.infeasible && inside(&d.lower, &d.upper),
                    "seed {seed}: {x:?}"
                );
            }
        }
    }
    assert!(tightened > 20, "{tightened}");
}
