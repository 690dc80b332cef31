//! Branch, price and cut on random textbook problems, one line each: `cargo run --release -p
//! remat-solver --example price -- stock|triplets|assignment|colouring [SIZE] [SEEDS] [THREADS]`.

#[path = "textbook/assignment.rs"]
mod assignment;
#[path = "textbook/colouring.rs"]
mod colouring;
#[path = "textbook/cutting_stock.rs"]
mod cutting_stock;
#[path = "textbook/random.rs"]
mod random;

use remat_solver::price::{PriceError, Rounding, SolveSettings, solve};
use std::sync::Arc;
use std::time::Instant;

fn run<P: Rounding>(name: &str, program: P, threads: usize) -> Result<(), PriceError> {
    let settings = SolveSettings {
        threads,
        ..SolveSettings::default()
    };
    let clock = Instant::now();
    let solved = solve(Arc::new(program), &settings, Vec::new())?;
    let cost = solved
        .best
        .map_or("none".into(), |(cost, _)| cost.to_string());
    println!(
        "{name:<16} {:?} {cost} bound {} root {} nodes {} pivots {} cuts {} {:.2} s",
        solved.tree.end,
        solved.tree.bound,
        solved.tree.root_bound,
        solved.tree.nodes,
        solved.tree.iterations,
        solved.tree.cuts,
        clock.elapsed().as_secs_f64(),
    );
    Ok(())
}

fn main() -> Result<(), PriceError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |k: usize, default: u64| {
        let given = arguments.get(k).and_then(|a| a.parse().ok());
        given.unwrap_or(default)
    };
    let (size, seeds, threads) = (number(1, 20), number(2, 5), number(3, 1) as usize);
    let kind = arguments.first().map_or("stock", |kind| kind);
    for seed in 0..seeds {
        let name = format!("{kind}-{size}-{seed}");
        match kind {
            "assignment" => run(&name, random::assignment(seed, size.min(64)), threads)?,
            "colouring" => run(&name, random::graph(seed, size.min(16)), threads)?,
            "triplets" => run(&name, random::triplets(seed, size, 300), threads)?,
            _ => run(&name, random::stock(seed, size, 100), threads)?,
        }
    }
    Ok(())
}
