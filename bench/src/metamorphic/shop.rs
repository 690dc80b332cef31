//! Job shops by big-M rows (Manne 1960): the factor of the choices and the upper bound of the times
//! are free, as long as both exceed the makespan.

use crate::random::SplitMix64;
use remat_lp::{Bounds, Model, ModelBuilder, Sense};

/// Numbers without a meaning in the shop.
#[derive(Clone, Copy, Debug)]
pub struct Placeholders {
    /// Factor of each choice between two orders.
    pub big: f64,
    /// Upper bound of every time.
    pub latest: f64,
}

/// A shop in which each of `jobs` jobs visits each of `machines` machines once, in its own order.
/// The model minimises the makespan.
///
/// # Panics
/// If a placeholder is not finite.
pub fn job_shop(jobs: usize, machines: usize, seed: u64, numbers: Placeholders) -> Model {
    let mut random = SplitMix64(seed);
    let mut b = ModelBuilder::new(Sense::Minimise);
    let times = Bounds::new(0.0, numbers.latest);
    let makespan = b.add_col(1.0, times);
    let mut on_machine = vec![Vec::new(); machines];
    for _ in 0..jobs {
        let mut left: Vec<usize> = (0..machines).collect();
        let mut before = None;
        while !left.is_empty() {
            let machine = left.remove(random.below(left.len() as u64) as usize);
            let (start, length) = (b.add_col(0.0, times), 1.0 + random.below(9) as f64);
            if let Some((earlier, length)) = before {
                b.add_row(length.., [(start, 1.0), (earlier, -1.0)]);
            }
            before = Some((start, length));
            on_machine[machine].push((start, length));
        }
        if let Some((last, length)) = before {
            b.add_row(length.., [(makespan, 1.0), (last, -1.0)]);
        }
    }
    for tasks in &on_machine {
        for (k, &(first, length)) in tasks.iter().enumerate() {
            for &(second, other_length) in &tasks[k + 1..] {
                let swapped = b.add_col(0.0, 0.0..=1.0);
                b.set_integer(swapped, true);
                let order = [(second, 1.0), (first, -1.0), (swapped, numbers.big)];
                b.add_row(length.., order);
                let order = [(first, 1.0), (second, -1.0), (swapped, -numbers.big)];
                b.add_row(other_length - numbers.big.., order);
            }
        }
    }
    b.build().expect("all numbers are finite")
}
