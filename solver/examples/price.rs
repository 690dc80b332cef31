//! Branch-price-and-cut on random textbook problems, one line each:
//! `cargo run --release -p remat-solver --example price -- stock|assignment [--size=N] [--roll=W] [--seeds=A..B]
//! [--seconds=60] [--threads=1] [--smoothing=0.5] [--no-heuristics] [--no-pool] [--purge=15] [--log]`.

#[path = "textbook/assignment.rs"]
mod assignment;
#[path = "textbook/cutting_stock.rs"]
mod cutting_stock;

use assignment::Assignment;
use cutting_stock::CuttingStock;
use remat_solver::pricing::{BranchAndPrice, Domain, PriceSettings};
use std::ops::Range;

/// A 64-bit mixer (Steele, Lea & Flood 2014): enough to make instances.
struct Dice(u64);

impl Dice {
    fn range(&mut self, low: u64, high: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        low + (z ^ (z >> 31)) % (high - low + 1)
    }
}

fn stock(seed: u64, size: u64, roll: u64) -> CuttingStock {
    let mut dice = Dice(seed);
    let items: Vec<(u32, u32)> = (0..size)
        .map(|_| {
            let width = dice.range(roll / 20 + 1, roll * 7 / 10);
            (width as u32, dice.range(1, 30) as u32)
        })
        .collect();
    CuttingStock::new(roll as u32, &items)
}

/// Class D of the literature: cost falls as load rises, capacities are tight.
fn assigned(seed: u64, jobs: u64) -> Assignment {
    let mut dice = Dice(seed);
    let agents = (jobs / 5).max(2);
    let load: Vec<Vec<u32>> = (0..agents)
        .map(|_| (0..jobs).map(|_| dice.range(1, 100) as u32).collect())
        .collect();
    let cost = load
        .iter()
        .map(|l| {
            l.iter()
                .map(|&l| 111 - i64::from(l) + dice.range(0, 20) as i64 - 10)
                .collect()
        })
        .collect();
    let capacity = load
        .iter()
        .map(|l| l.iter().sum::<u32>() * 8 / (10 * agents as u32))
        .collect();
    Assignment {
        cost,
        load,
        capacity,
    }
}

fn solve<D: Domain>(name: &str, domain: &D, settings: &PriceSettings) {
    let result = match BranchAndPrice::new(domain, settings.clone()).run() {
        Ok(r) => r,
        Err(e) => {
            println!("{name}: {e}");
            return;
        }
    };
    let i = &result.info;
    let (value, by) = result
        .incumbent
        .as_ref()
        .map_or((f64::INFINITY, "-"), |s| (s.objective, s.found_by));
    println!(
        "{name:<16} {:<10} {value:>8} {by:<17} bound {:>8} root {:>8} nodes {:>5} LP {:>6} it {:>7} pricings {:>6} mis {:>5} \
         farkas {:>4} priced {:>6} pool {:>5} purged {:>6} early {:>4} infeasible {:>4} {:>7.2} s",
        format!("{:?}", result.status),
        result.bound,
        i.root_bound,
        i.nodes,
        i.lp_solves,
        i.lp_iterations,
        i.pricings,
        i.mispricings,
        i.farkas_pricings,
        i.priced_columns,
        i.pool_columns,
        i.purged_columns,
        i.early_prunes,
        i.infeasible_nodes,
        i.seconds,
    );
}

fn range(text: &str) -> Option<Range<u64>> {
    let (a, b) = text.split_once("..")?;
    Some(a.parse().ok()?..b.parse().ok()?)
}

fn main() {
    let mut settings = PriceSettings::default();
    let (mut kind, mut size, mut roll, mut seeds) = (String::new(), 20, 100, 0..5);
    for arg in std::env::args().skip(1) {
        let (name, value) = arg.split_once('=').unwrap_or((&arg, ""));
        match name {
            "--size" => size = value.parse().unwrap_or(size),
            "--roll" => roll = value.parse().unwrap_or(roll),
            "--seeds" => seeds = range(value).unwrap_or(seeds),
            "--seconds" => settings.limits.seconds = value.parse().ok(),
            "--threads" => settings.threads = value.parse().unwrap_or(1),
            "--smoothing" => settings.smoothing = value.parse().unwrap_or(0.5),
            "--strong" => settings.strong_branching = value.parse().unwrap_or(3),
            "--purge" => settings.purge_age = value.parse().unwrap_or(15),
            "--no-heuristics" => settings.heuristics = false,
            "--no-pool" => settings.pool_pricing = false,
            "--log" => settings.log = true,
            _ => kind = arg,
        }
    }
    for seed in seeds {
        let name = format!("{kind}-{size}-{seed}");
        match kind.as_str() {
            "stock" => solve(&name, &stock(seed, size, roll), &settings),
            "assignment" => solve(&name, &assigned(seed, size.min(64)), &settings),
            _ => {
                eprintln!("stock or assignment?");
                std::process::exit(2);
            }
        }
    }
}
