use super::*;
use crate::compressed::Compressed;
use crate::sparse_vec::SparseVec;

/// A small linear congruential generator, sufficient for these tests.
struct Lcg(u64);
impl Lcg {
    fn next(&mut self) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.0 >> 33
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }
    fn value(&mut self) -> f64 {
        (self.next() % 2001) as f64 / 1000.0 - 1.0 + 1e-3
    }
}

fn random_matrix(rng: &mut Lcg, m: usize, n: usize, per_col: usize) -> Compressed {
    let mut a = Compressed::default();
    for _ in 0..n {
        let mut rows: Vec<u32> = (0..per_col).map(|_| rng.below(m) as u32).collect();
        rows.sort_unstable();
        rows.dedup();
        a.push(
            rows.into_iter()
                .map(|i| (i, rng.value()))
                .collect::<Vec<_>>(),
        );
    }
    a
}

fn column(a: &Compressed, n: usize, var: u32) -> Vec<(usize, f64)> {
    if (var as usize) < n {
        a.iter(var as usize).collect()
    } else {
        vec![(var as usize - n, 1.0)]
    }
}

/// The largest residual of FTRAN and BTRAN on random right sides, sparse and dense.
fn worst_residual(f: &mut Factor, a: &Compressed, n: usize, basic: &[u32], rng: &mut Lcg) -> f64 {
    let m = basic.len();
    let mut worst = 0.0f64;
    for entries in [1, m] {
        for expected in [0.0, 1.0] {
            let mut b = vec![0.0; m];
            let mut v = SparseVec::new(m);
            for _ in 0..entries {
                let i = rng.below(m);
                if b[i] == 0.0 {
                    b[i] = rng.value();
                    v.add(f.position(i), b[i]);
                }
            }
            // The same numbers as costs of positions.
            let costs = v.value.clone();
            let mut y = v.clone();
            f.ftran(&mut v, expected);
            let mut residual = b.clone();
            let mut size = 1.0f64;
            for (r, &var) in basic.iter().enumerate() {
                size = size.max(v.value[r].abs());
                for (i, c) in column(a, n, var) {
                    residual[i] -= c * v.value[r];
                }
            }
            worst = residual.iter().fold(worst, |w, r| w.max(r.abs() / size));
            f.btran(&mut y, expected);
            // The same solve for a few requested entries.
            let mut again = SparseVec::new(m);
            for (i, &x) in b.iter().enumerate().filter(|(_, x)| **x != 0.0) {
                again.add(f.position(i), x);
            }
            let targets: Vec<u32> = (0..m as u32).filter(|_| rng.below(9) == 0).collect();
            let mut some = Vec::new();
            f.ftran_at(&mut again, &targets, &mut 1.0, &mut some);
            for (&t, x) in targets.iter().zip(&some) {
                assert!((x - v.value[t as usize]).abs() <= 1e-9 * (1.0 + x.abs()));
            }
            assert!(again.value.iter().all(|&x| x == 0.0) && again.index.is_empty());
            for listed in [&v, &y] {
                for (i, x) in listed.value.iter().enumerate() {
                    assert!(*x == 0.0 || listed.index.contains(&(i as u32)));
                }
                let mut sorted = listed.index.clone();
                sorted.sort_unstable();
                sorted.dedup();
                assert_eq!(sorted.len(), listed.index.len());
            }
            let size = y.value.iter().fold(1.0f64, |s, v| s.max(v.abs()));
            for (r, &var) in basic.iter().enumerate() {
                let dot: f64 = column(a, n, var)
                    .iter()
                    .map(|&(i, c)| c * y.value[f.position(i)])
                    .sum();
                worst = worst.max((dot - costs[r]).abs() / size);
            }
        }
    }
    worst
}

#[test]
fn factorise_update_and_solve_random_bases() {
    let mut rng = Lcg(7);
    for trial in 0..60 {
        let m = 5 + rng.below(60);
        let n = m + rng.below(m);
        let a = random_matrix(&mut rng, m, n, 1 + trial % 7);
        let mut pool: Vec<u32> = (0..(n + m) as u32).collect();
        for k in 0..m {
            let swap = k + rng.below(n + m - k);
            pool.swap(k, swap);
        }
        let mut basic: Vec<u32> = pool[..m].to_vec();
        let mut f = Factor::new();
        let dependent = f.build(&a, n, &mut basic);
        assert_eq!(f.size(), m);
        for (var, row) in dependent {
            assert!(!basic.contains(&var));
            assert_eq!(basic[f.position(row as usize)], (n + row as usize) as u32);
        }
        assert!(worst_residual(&mut f, &a, n, &basic, &mut rng) < 1e-7);
        // Replace columns by Forrest-Tomlin or in product form; any entry that is not small may be
        // the pivot.
        f.set_product_form(rng.below(2) == 0);
        for _ in 0..40 {
            let q = rng.below(n + m) as u32;
            if basic.contains(&q) {
                continue;
            }
            let mut v = SparseVec::new(m);
            for (i, c) in column(&a, n, q) {
                v.add(f.position(i), c);
            }
            f.ftran_entering(&mut v, 0.0);
            let Some(&p) = v.index.iter().max_by(|&&x, &&y| {
                v.value[x as usize]
                    .abs()
                    .total_cmp(&v.value[y as usize].abs())
            }) else {
                continue;
            };
            let alpha = v.value[p as usize];
            if alpha.abs() < 1e-3 {
                continue;
            }
            let mut rho = SparseVec::new(m);
            f.btran_unit(p as usize, &mut rho, 0.0);
            let UpdateCheck::Accurate(error) = f.update(p as usize, &v) else {
                panic!("unusable")
            };
            assert!(error < 1e-6, "error {error}");
            basic[p as usize] = q;
        }
        assert!(worst_residual(&mut f, &a, n, &basic, &mut rng) < 1e-6);
    }
}

#[test]
fn dependent_columns_are_replaced_by_slacks() {
    // Columns 0 and 1 are parallel, column 2 is zero.
    let mut a = Compressed::default();
    a.push([(0, 1.0), (1, 2.0), (2, 1.0)]);
    a.push([(0, 2.0), (1, 4.0), (2, 2.0)]);
    a.push([]);
    let mut basic = vec![0, 1, 2];
    let mut f = Factor::new();
    let dependent = f.build(&a, 3, &mut basic);
    assert_eq!(dependent.len(), 2);
    assert_eq!(basic.iter().filter(|&&v| v >= 3).count(), 2);
    let mut rng = Lcg(3);
    assert!(worst_residual(&mut f, &a, 3, &basic, &mut rng) < 1e-12);
}
