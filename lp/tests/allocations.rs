//! Tests with a counting allocator that a warm solver does not allocate per pivot.

use remat_lp::{Algorithm, ColId, ModelBuilder, Sense, Settings, Solver};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

struct Counting;

static COUNT: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call is passed unchanged to the system allocator; counting does not touch the
// memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's guarantee is the one that the system allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the caller's guarantee is the one that the system allocator requires.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        COUNT.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's guarantee is the one that the system allocator requires.
        unsafe { System.realloc(ptr, layout, new_size) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

#[test]
fn pivots_do_not_allocate() {
    // A transport problem whose costs alternate, so that every solve takes hundreds of pivots.
    let n = 40;
    let mut b = ModelBuilder::new(Sense::Minimise);
    let cols: Vec<Vec<ColId>> = (0..n)
        .map(|i| {
            (0..n)
                .map(|j| b.add_col(((i * 17 + j * 29) % 53) as f64, 0.0..=40.0))
                .collect()
        })
        .collect();
    for i in 0..n {
        b.add_row(30.0 + (i % 7) as f64.., cols[i].iter().map(|&c| (c, 1.0)));
        b.add_row(
            ..=50.0 + (i % 5) as f64,
            cols.iter().map(|row| (row[i], 1.0)),
        );
    }
    for algorithm in [Algorithm::Dual, Algorithm::Primal] {
        let mut s = Solver::new(
            b.clone().build().unwrap(),
            Settings {
                algorithm,
                ..Default::default()
            },
        );
        let mut worst = 0.0f64;
        for round in 0..8 {
            for (i, row) in cols.iter().enumerate() {
                for (j, &c) in row.iter().enumerate() {
                    s.set_cost(
                        c,
                        ((i * 17 + j * 29 + round % 2 * (i * j % 31)) % 53) as f64,
                    )
                    .unwrap();
                }
            }
            let (pivots, count) = (s.stats().iterations(), COUNT.load(Ordering::Relaxed));
            assert!(s.solve().optimal().is_some());
            let pivots = s.stats().iterations() - pivots;
            let count = COUNT.load(Ordering::Relaxed) - count;
            // The first rounds size the arenas. After that, a solve allocates only for its outcome.
            if round >= 4 {
                assert!(pivots > 60, "{pivots} pivots");
                worst = worst.max(count as f64);
            }
        }
        assert!(
            worst <= 40.0,
            "{worst} allocations in one solve with {algorithm:?}"
        );
    }
}
