//! Random instances of the textbook problems.

use super::assignment::Assignment;
use super::colouring::Colouring;
use super::cutting_stock::CuttingStock;
use remat_lp::random::SplitMix64;

/// A generator of numbers from `least` to `most`.
fn dice(seed: u64) -> impl FnMut(u64, u64) -> u64 {
    let mut random = SplitMix64::new(seed);
    move |least, most| least + random.next_bits() % (most - least + 1)
}

/// Items with widths between a twentieth and seven tenths of the roll.
pub fn stock(seed: u64, items: u64, roll: u64) -> CuttingStock {
    let mut dice = dice(seed);
    let mut item = |_| {
        let width = dice(roll / 20 + 1, roll * 7 / 10);
        (width as usize, dice(1, 30) as u32)
    };
    let items: Vec<(usize, u32)> = (0..items).map(&mut item).collect();
    CuttingStock::new(roll as usize, &items)
}

/// Items that fill `rolls` rolls, three to a roll and without waste (Falkenauer 1996).
pub fn triplets(seed: u64, rolls: u64, roll: u64) -> CuttingStock {
    let mut dice = dice(seed);
    let mut items = Vec::new();
    for _ in 0..rolls {
        let first = dice(roll * 38 / 100, roll * 49 / 100);
        let second = dice(roll / 4 + 1, (roll - first) / 2);
        let widths = [first, second, roll - first - second];
        items.extend(widths.map(|width| (width as usize, 1)));
    }
    CuttingStock::new(roll as usize, &items)
}

/// Class D of the literature: cost falls as load rises, capacities are tight.
pub fn assignment(seed: u64, jobs: u64) -> Assignment {
    let mut dice = dice(seed);
    let agents = (jobs / 5).max(2);
    let mut table = |least, most| -> Vec<Vec<u32>> {
        let mut agent = |_| (0..jobs).map(|_| dice(least, most) as u32).collect();
        (0..agents).map(&mut agent).collect()
    };
    let (load, surplus) = (table(1, 100), table(101, 121));
    let cost = load.iter().zip(&surplus).map(|(load, surplus)| {
        let jobs = load.iter().zip(surplus);
        jobs.map(|(l, s)| u64::from(s - l)).collect()
    });
    let capacity = |load: &Vec<u32>| load.iter().sum::<u32>() * 8 / (10 * agents as u32);
    Assignment {
        cost: cost.collect(),
        capacity: load.iter().map(capacity).collect(),
        load,
    }
}

/// A graph in which between a fifth and seven tenths of all pairs are adjacent.
pub fn graph(seed: u64, vertices: u64) -> Colouring {
    let mut dice = dice(seed);
    let density = dice(20, 70);
    let mut adjacent = vec![0u32; vertices as usize];
    for u in 0..adjacent.len() {
        for v in u + 1..adjacent.len() {
            if dice(0, 99) < density {
                adjacent[u] |= 1 << v;
                adjacent[v] |= 1 << u;
            }
        }
    }
    Colouring::new(adjacent)
}
