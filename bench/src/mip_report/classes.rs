//! Classes of programs that users send, drawn by seed.

use crate::random::SplitMix64;
use remat_lp::{ColId, Model, ModelBuilder, ModelError, Sense};

/// A drawn program.
type Drawn = Result<Model, ModelError>;

/// A class: its name, and the function that draws a program.
pub(super) type Class = (&'static str, fn(&mut SplitMix64) -> Drawn);

/// All classes.
pub(super) const CLASSES: [Class; 8] = [
    ("set-partitioning", set_partitioning),
    ("bin-packing", bin_packing),
    ("assignment", generalised_assignment),
    ("facilities", facility_location),
    ("lot-sizing", lot_sizing),
    ("job-shop", job_shop),
    ("fixed-charges", fixed_charge_flow),
    ("min-max-choice", min_max_choice),
];

/// A whole number from `low` to `high`.
fn whole(random: &mut SplitMix64, low: u64, high: u64) -> f64 {
    (low + random.below(high - low + 1)) as f64
}

fn binary(b: &mut ModelBuilder, cost: f64) -> ColId {
    let col = b.add_col(cost, 0.0..=1.0);
    b.set_integer(col, true);
    col
}

/// Columns of 2 to 6 of the elements, over a hidden partition.
fn set_partitioning(random: &mut SplitMix64) -> Drawn {
    let (elements, columns) = (40 + random.below(21) as usize, 300);
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut of: Vec<Vec<ColId>> = vec![Vec::new(); elements];
    let mut add = |b: &mut ModelBuilder, random: &mut SplitMix64, members: &[usize]| {
        let col = binary(b, whole(random, 10, 30) * members.len() as f64);
        for &e in members {
            of[e].push(col);
        }
    };
    let mut order: Vec<usize> = (0..elements).collect();
    for k in (1..elements).rev() {
        order.swap(k, random.below(k as u64 + 1) as usize);
    }
    for members in order.chunks(4) {
        add(&mut b, random, members);
    }
    for _ in 0..columns {
        let size = 2 + random.below(5) as usize;
        let mut members: Vec<usize> = Vec::new();
        while members.len() < size {
            let e = random.below(elements as u64) as usize;
            if !members.contains(&e) {
                members.push(e);
            }
        }
        add(&mut b, random, &members);
    }
    for cols in of {
        b.add_row(1.0..=1.0, cols.into_iter().map(|c| (c, 1.0)));
    }
    b.build()
}

/// Objects of their own sizes in bins of two sizes.
fn bin_packing(random: &mut SplitMix64) -> Drawn {
    let (objects, bins) = (14 + random.below(5) as usize, 8);
    let sizes: Vec<f64> = (0..objects).map(|_| whole(random, 20, 60)).collect();
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut inside: Vec<Vec<ColId>> = vec![Vec::new(); objects];
    for bin in 0..bins {
        let (room, cost) = if bin % 2 == 0 {
            (150.0, 100.0)
        } else {
            (110.0, 76.0)
        };
        let used = binary(&mut b, cost);
        let mut row = vec![(used, -room)];
        for (k, size) in sizes.iter().enumerate() {
            let col = binary(&mut b, 0.0);
            inside[k].push(col);
            row.push((col, *size));
        }
        b.add_row(..=0.0, row);
    }
    for cols in inside {
        b.add_row(1.0..=1.0, cols.into_iter().map(|c| (c, 1.0)));
    }
    b.build()
}

/// Jobs to machines of limited time; costs fall where times rise.
fn generalised_assignment(random: &mut SplitMix64) -> Drawn {
    let (machines, jobs) = (8, 40 + random.below(11) as usize);
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut of_job: Vec<Vec<ColId>> = vec![Vec::new(); jobs];
    for _ in 0..machines {
        let (mut row, mut total) = (Vec::new(), 0.0);
        for choices in &mut of_job {
            let time = whole(random, 10, 50);
            let col = binary(&mut b, 60.0 - time + whole(random, 0, 10));
            choices.push(col);
            row.push((col, time));
            total += time;
        }
        b.add_row(..=(0.8 * total / machines as f64).floor(), row);
    }
    for cols in of_job {
        b.add_row(1.0..=1.0, cols.into_iter().map(|c| (c, 1.0)));
    }
    b.build()
}

/// Sites with a price and a capacity, which serve customers in shares.
fn facility_location(random: &mut SplitMix64) -> Drawn {
    let (sites, customers) = (14, 30 + random.below(11) as usize);
    let demands: Vec<f64> = (0..customers).map(|_| whole(random, 5, 35)).collect();
    let total: f64 = demands.iter().sum();
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut served: Vec<Vec<ColId>> = vec![Vec::new(); customers];
    for _ in 0..sites {
        let open = binary(&mut b, whole(random, 300, 900));
        let mut row = vec![(open, -(total * whole(random, 15, 40) / 100.0).floor())];
        for (k, demand) in demands.iter().enumerate() {
            let share = b.add_col(demand * whole(random, 1, 20), 0.0..=1.0);
            served[k].push(share);
            row.push((share, *demand));
            b.add_row(..=0.0, [(share, 1.0), (open, -1.0)]);
        }
        b.add_row(..=0.0, row);
    }
    for cols in served {
        b.add_row(1.0..=1.0, cols.into_iter().map(|c| (c, 1.0)));
    }
    b.build()
}

/// Products share a machine's time in each period; a run has a set-up, stock has a price.
fn lot_sizing(random: &mut SplitMix64) -> Drawn {
    let (products, periods) = (4 + random.below(2) as usize, 12);
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut time: Vec<Vec<(ColId, f64)>> = vec![Vec::new(); periods];
    let mut total = 0.0;
    for _ in 0..products {
        let (price, setup) = (whole(random, 1, 4), whole(random, 100, 400));
        let mut before: Option<ColId> = None;
        for machine in &mut time {
            let demand = whole(random, 0, 60);
            total += demand;
            let made = b.add_col(0.0, 0.0..=400.0);
            let run = binary(&mut b, setup);
            let stock = b.add_col(price, 0.0..);
            b.add_row(..=0.0, [(made, 1.0), (run, -400.0)]);
            let mut balance = vec![(made, 1.0), (stock, -1.0)];
            balance.extend(before.map(|s| (s, 1.0)));
            b.add_row(demand..=demand, balance);
            machine.extend([(made, 1.0), (run, 15.0)]);
            before = Some(stock);
        }
    }
    let room = (1.2 * total / periods as f64 + 15.0 * products as f64).floor();
    for row in time {
        b.add_row(..=room, row);
    }
    b.build()
}

/// Jobs visit all machines in orders of their own; the last end counts. Disjunctions have a big M.
fn job_shop(random: &mut SplitMix64) -> Drawn {
    let (jobs, machines) = (5 + random.below(2) as usize, 5);
    let mut b = ModelBuilder::new(Sense::Minimise);
    let end = b.add_col(1.0, 0.0..);
    let mut on: Vec<Vec<(ColId, f64)>> = vec![Vec::new(); machines];
    let mut total = 0.0;
    for _ in 0..jobs {
        let mut order: Vec<usize> = (0..machines).collect();
        for k in (1..machines).rev() {
            order.swap(k, random.below(k as u64 + 1) as usize);
        }
        let mut before: Option<(ColId, f64)> = None;
        for machine in order {
            let length = whole(random, 1, 20);
            total += length;
            let start = b.add_col(0.0, 0.0..);
            if let Some((earlier, length)) = before {
                b.add_row(length.., [(start, 1.0), (earlier, -1.0)]);
            }
            on[machine].push((start, length));
            before = Some((start, length));
        }
        if let Some((last, length)) = before {
            b.add_row(length.., [(end, 1.0), (last, -1.0)]);
        }
    }
    for tasks in on {
        for (k, &(one, its)) in tasks.iter().enumerate() {
            for &(other, theirs) in &tasks[..k] {
                let first = binary(&mut b, 0.0);
                b.add_row(its - total.., [(other, 1.0), (one, -1.0), (first, -total)]);
                b.add_row(theirs.., [(one, 1.0), (other, -1.0), (first, total)]);
            }
        }
    }
    b.build()
}

/// Commodities over arcs that must be bought before they carry anything.
fn fixed_charge_flow(random: &mut SplitMix64) -> Drawn {
    let (nodes, commodities) = (9 + random.below(3) as usize, 5);
    let mut b = ModelBuilder::new(Sense::Minimise);
    let mut balance: Vec<Vec<(ColId, f64)>> = vec![Vec::new(); nodes * commodities];
    let wanted: Vec<(usize, usize, f64)> = (0..commodities)
        .map(|_| {
            let from = random.below(nodes as u64) as usize;
            let to = (from + 1 + random.below(nodes as u64 - 1) as usize) % nodes;
            (from, to, whole(random, 5, 20))
        })
        .collect();
    for from in 0..nodes {
        for to in 0..nodes {
            // A ring keeps all demands possible.
            let ring = to == (from + 1) % nodes;
            if from == to || !ring && random.below(100) >= 35 {
                continue;
            }
            let bought = binary(&mut b, whole(random, 50, 250));
            let room = if ring { 100.0 } else { whole(random, 20, 50) };
            let mut row = vec![(bought, -room)];
            for (k, &(_, _, demand)) in wanted.iter().enumerate() {
                let flow = b.add_col(whole(random, 1, 6), 0.0..=demand);
                balance[k * nodes + from].push((flow, 1.0));
                balance[k * nodes + to].push((flow, -1.0));
                row.push((flow, 1.0));
            }
            b.add_row(..=0.0, row);
        }
    }
    for (k, &(from, to, demand)) in wanted.iter().enumerate() {
        for v in 0..nodes {
            let out = demand * (f64::from(v == from) - f64::from(v == to));
            b.add_row(out..=out, std::mem::take(&mut balance[k * nodes + v]));
        }
    }
    b.build()
}

/// One choice in each group; the largest load over the resources is least.
fn min_max_choice(random: &mut SplitMix64) -> Drawn {
    let (groups, choices, resources) = (14 + random.below(5) as usize, 5, 6);
    let mut b = ModelBuilder::new(Sense::Minimise);
    let most = b.add_col(1.0, 0.0..);
    let mut loads: Vec<Vec<(ColId, f64)>> = vec![vec![(most, -1.0)]; resources];
    for _ in 0..groups {
        let group: Vec<ColId> = (0..choices).map(|_| binary(&mut b, 0.0)).collect();
        for &col in &group {
            for load in &mut loads {
                if random.below(2) == 0 {
                    load.push((col, whole(random, 1, 40)));
                }
            }
        }
        b.add_row(1.0..=1.0, group.into_iter().map(|c| (c, 1.0)));
    }
    for load in loads {
        b.add_row(..=0.0, load);
    }
    b.build()
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_solver::mip::{Settings, Solver, check_point};
    use std::sync::Arc;

    #[test]
    fn every_class_has_solutions_and_its_seeds_differ() {
        for (name, draw) in CLASSES {
            let one = Arc::new(draw(&mut SplitMix64(1)).expect(name));
            let other = draw(&mut SplitMix64(2)).expect(name);
            assert!(*one != other, "{name}");
            let mut settings = Settings::default();
            settings.limits.ticks = Some(50_000_000);
            let result = Solver::new(one.clone(), settings).run().expect(name);
            let solution = result.solution.expect(name);
            check_point(&one, &solution.x, 1e-6).expect(name);
        }
    }
}
