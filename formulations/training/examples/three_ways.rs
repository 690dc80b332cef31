//! A custom program, solved by [`Solve`]: each tensor of the forward pass stays on the device,
//! waits on the host, or is computed once more.
//!
//! Kept tensors share the room that the budget leaves. Tensors on the host share the bytes that the
//! link carries to it while the forward pass runs. A tensor that is computed once more takes its
//! cost. So the program has two rows and two columns for each tensor: a knapsack in two dimensions.
//! It is a start for another program; `tests/outside` is one with proofs.
//!
//! `cargo run --release -p remat-formulations --example three_ways [MODEL] [BUDGET] [GB/S]`

use remat_formulations::{Budget, Instance, Solve, zoo};
use remat_instances::schedule::BitMatrix;
use remat_instances::simulate::{Moment, Replay, ReplayError, Transfers};
use remat_search::anneal::{Delta, Flip, Found, Landscape, Walk, Xoshiro256};
use remat_search::{Formulation, Problem, SolveError, Start, Watch};
use remat_solver::price::{
    Branch, Branching, Columns, Number, Open, Priced, Pricing, RowTraits, Rows, Sense, Separation,
    most_promising, rounded_up,
};
use std::sync::Arc;

/// Rows of the sets: tensors that stay on the device, and tensors that wait on the host.
const DEVICE: usize = 0;
const HOST: usize = 1;

/// A tensor of the forward pass.
#[derive(Clone, Copy, Debug)]
struct Tensor {
    bytes: u64,
    cost: u64,
}

/// The data of an instance that the program reads.
#[derive(Clone, Debug)]
struct ThreeWays {
    tensors: Vec<Tensor>,
    /// Bytes that are in memory all the time.
    fixed_bytes: u64,
    /// Bytes for kept tensors; set for each budget.
    room_bytes: u64,
    /// Bytes that the link carries to the host in the forward pass.
    link_bytes: u64,
    /// Cost of computing everything once.
    base_cost: u64,
}

/// Bytes on the device, bytes over the link, and the cost.
type Totals = (u64, u64, u64);

impl ThreeWays {
    /// The forward pass of an instance, with a link of so many bytes in a unit of cost.
    fn new(instance: &Instance, bytes_per_cost: f64) -> Option<Self> {
        let forward = &instance.nodes()[..instance.loss()?.index()];
        let (free, inputs): (Vec<_>, Vec<_>) = forward.iter().partition(|n| !n.needs().is_empty());
        let cost: u64 = forward.iter().map(|n| n.cost()).sum();
        let tensors = free.iter().map(|n| Tensor {
            bytes: n.output_bytes,
            cost: n.cost(),
        });
        Some(ThreeWays {
            tensors: tensors.collect(),
            fixed_bytes: instance.static_bytes()
                + inputs.iter().map(|n| n.output_bytes).sum::<u64>(),
            room_bytes: 0,
            link_bytes: (cost as f64 * bytes_per_cost) as u64,
            base_cost: instance.base_cost(),
        })
    }

    /// Sets in which each tensor goes the way that `way` returns: [`DEVICE`], [`HOST`] or `None`.
    fn sets(&self, way: impl Fn(usize) -> Option<usize>) -> BitMatrix {
        let mut sets = BitMatrix::new(2, self.tensors.len());
        for tensor in 0..self.tensors.len() {
            if let Some(row) = way(tensor) {
                sets.set(row, tensor, true);
            }
        }
        sets
    }

    fn totals(&self, sets: &BitMatrix) -> Totals {
        let mut totals = (0, 0, self.base_cost);
        for (k, tensor) in self.tensors.iter().enumerate() {
            match (sets.get(DEVICE, k), sets.get(HOST, k)) {
                (true, _) => totals.0 += tensor.bytes,
                (false, true) => totals.1 += tensor.bytes,
                (false, false) => totals.2 += tensor.cost,
            }
        }
        totals
    }

    fn fits(&self, totals: Totals) -> bool {
        totals.0 <= self.room_bytes && totals.1 <= self.link_bytes
    }

    /// The simulator: memory and cost of a set.
    fn replay(&self, sets: &BitMatrix) -> Replay {
        let (device, _, cost) = self.totals(sets);
        Replay {
            saved_bytes: 0,
            waiting_bytes: 0,
            cost,
            makespan: cost,
            transfers: Transfers::default(),
            base_cost: self.base_cost,
            peak_bytes: self.fixed_bytes + device,
            peak_at: Moment {
                stage: 0,
                node: None,
            },
            computations: 2 * self.tensors.len() - sets.count_ones(),
            timeline: Vec::new(),
        }
    }
}

// ---- From a budget to a problem.

impl Formulation for ThreeWays {
    type Schedule = BitMatrix;
    type Problem<'a> = AtBudget<'a>;

    fn plain(&self) -> Result<Replay, ReplayError> {
        Ok(self.replay(&self.sets(|_| Some(DEVICE))))
    }

    fn problem<'a>(
        &'a self,
        budget_bytes: u64,
        starts: &'a [BitMatrix],
    ) -> Result<Start<AtBudget<'a>>, SolveError> {
        let Some(room_bytes) = budget_bytes.checked_sub(self.fixed_bytes) else {
            let because = format!("{} bytes are always in memory", self.fixed_bytes);
            return Ok(Start::Infeasible {
                because,
                proof: None,
            });
        };
        let program = Arc::new(ThreeWays {
            room_bytes,
            ..self.clone()
        });
        let everything = self.sets(|_| Some(DEVICE));
        let problem = AtBudget {
            program,
            everything,
            starts,
        };
        Ok(Start::Open(problem, self.base_cost))
    }
}

/// The program for a budget.
struct AtBudget<'a> {
    program: Arc<ThreeWays>,
    everything: BitMatrix,
    starts: &'a [BitMatrix],
}

impl Problem for AtBudget<'_> {
    type Landscape = ThreeWays;
    type Program = ThreeWays;
    type Schedule = BitMatrix;

    const THRESHOLDS: &'static [f64] = &[0.5, 1.0 - 1e-6];

    fn landscape(&self) -> &ThreeWays {
        &self.program
    }

    fn program(&self) -> Option<Arc<ThreeWays>> {
        Some(self.program.clone())
    }

    fn everything(&self) -> &BitMatrix {
        &self.everything
    }

    fn known(&self, _: &Watch<'_>) -> Vec<Found> {
        let own = self.program.sets(|_| None);
        let found = self.starts.iter().chain([&own]).filter_map(|sets| {
            let totals = self.program.totals(sets);
            let (cost, retained) = (totals.2, sets.clone());
            self.program
                .fits(totals)
                .then_some(Found { cost, retained })
        });
        found.collect()
    }

    fn near(&self, program: &ThreeWays, point: &Vec<[f64; 2]>, threshold: f64) -> BitMatrix {
        program.sets(|k| (0..2).find(|&row| point[k][row] > threshold))
    }

    fn columns(&self, program: &ThreeWays, found: &Found) -> Vec<u32> {
        let column = |k: usize| match (found.retained.get(DEVICE, k), found.retained.get(HOST, k)) {
            (true, _) => None,
            (false, on_host) => Some(2 * k as u32 + u32::from(on_host)),
        };
        (0..program.tensors.len()).filter_map(column).collect()
    }

    fn judge(&self, found: Found) -> Result<(BitMatrix, Replay), ReplayError> {
        let replay = self.program.replay(&found.retained);
        Ok((found.retained, replay))
    }
}

// ---- The bound: column 2k computes tensor k once more, column 2k + 1 sends it to the host.

/// A row of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Row {
    /// Kept tensors fit into the room.
    Room,
    /// The link carries the tensors on the host.
    Link,
    /// A tensor leaves the device once at most.
    Once(u32),
    /// A branching on a column.
    Branch(Branch<u32>),
}

impl Row {
    /// The price of each unit, which has the sign of the row's sense.
    fn price(&self, dual: f64) -> f64 {
        match self {
            Row::Branch(_) | Row::Once(_) => dual.max(0.0),
            Row::Room | Row::Link => dual.min(0.0),
        }
    }
}

impl ThreeWays {
    /// The least cost of a solution at prices of rows, and the reduced cost of each column.
    fn least<T: Number>(&self, rows: &[Row], prices: &[T], one: T) -> (T, Vec<T>) {
        let mut least = one.times(self.base_cost as i64);
        let columns = 0..2 * self.tensors.len() as u32;
        let mut reduced: Vec<T> = columns.map(|c| one.times(self.cost(&c) as i64)).collect();
        for (row, &price) in rows.iter().zip(prices) {
            least = least + price.times(self.right_side(row));
            self.parts(row, &mut |tensor, ()| {
                for column in [2 * tensor, 2 * tensor + 1] {
                    let pays = price.times(self.coefficient(row, (), &(column as u32)));
                    reduced[column] = reduced[column] - pays;
                }
            });
        }
        for ways in reduced.chunks(2) {
            let way = if ways[1] < ways[0] { ways[1] } else { ways[0] };
            if way < T::ZERO {
                least = least + way;
            }
        }
        (least, reduced)
    }
}

impl Columns for ThreeWays {
    type Column = u32;

    fn blocks(&self) -> usize {
        self.tensors.len()
    }

    fn block(column: &u32) -> usize {
        *column as usize / 2
    }

    fn cost(&self, column: &u32) -> u64 {
        match column % 2 {
            0 => self.tensors[*column as usize / 2].cost,
            _ => 0,
        }
    }

    fn offset(&self) -> u64 {
        self.base_cost
    }

    fn base_cost(&self) -> u64 {
        self.base_cost
    }

    fn cost_upper_bound(&self) -> u64 {
        self.base_cost + self.tensors.iter().map(|t| t.cost).sum::<u64>()
    }
}

impl Rows for ThreeWays {
    type Row = Row;
    type Part = ();

    fn start(&self) -> (Vec<Row>, Vec<u32>) {
        let once = (0..self.tensors.len() as u32).map(Row::Once);
        let rows = [Row::Room, Row::Link].into_iter().chain(once);
        (rows.collect(), (0..2 * self.tensors.len() as u32).collect())
    }

    fn row_traits(&self, row: &Row) -> RowTraits {
        match row {
            Row::Room | Row::Link => RowTraits::always_met(Sense::AtMost),
            Row::Once(_) | Row::Branch(_) => RowTraits::elastic(Sense::AtLeast),
        }
    }

    /// Columns take tensors from the device, so their bytes count on the right.
    fn right_side(&self, row: &Row) -> i64 {
        let all: u64 = self.tensors.iter().map(|t| t.bytes).sum();
        match row {
            Row::Room => self.room_bytes as i64 - all as i64,
            Row::Link => self.link_bytes as i64,
            Row::Once(_) => -1,
            Row::Branch(branch) => branch.right_side(),
        }
    }

    fn parts(&self, row: &Row, note: &mut dyn FnMut(usize, ())) {
        match row {
            Row::Room | Row::Link => (0..self.tensors.len()).for_each(|tensor| note(tensor, ())),
            Row::Once(tensor) => note(*tensor as usize, ()),
            Row::Branch(branch) => note(branch.quantity as usize / 2, ()),
        }
    }

    fn coefficient(&self, row: &Row, (): (), column: &u32) -> i64 {
        let bytes = self.tensors[*column as usize / 2].bytes as i64;
        match row {
            Row::Room => -bytes,
            Row::Link => bytes * i64::from(column % 2),
            Row::Once(tensor) => -i64::from(column / 2 == *tensor),
            Row::Branch(branch) => branch.sign() * i64::from(branch.quantity == *column),
        }
    }

    fn resource_capacity(&self) -> f64 {
        self.room_bytes as f64
    }
}

/// Multipliers of the safe bound are multiples of 2^-40.
const ONE: i128 = 1 << 40;
const LARGEST: f64 = (1u64 << 32) as f64;

impl Pricing for ThreeWays {
    type Exclusions = ();

    fn no_exclusions(&self) {}

    fn price(&self, (): &(), rows: &[Row], duals: &[f64], _: usize, tolerance: f64) -> Priced<u32> {
        let prices = rows.iter().zip(duals).map(|(row, dual)| row.price(*dual));
        let (least, reduced) = self.least(rows, &prices.collect::<Vec<f64>>(), 1.0);
        let mut priced = Priced::new(least);
        priced.add_below(-tolerance, reduced.into_iter().zip(0..));
        priced.sorted()
    }

    fn lagrangian_bound(&self, (): &(), rows: &[Row], duals: &[f64]) -> u64 {
        let fixed = |(row, dual): (&Row, &f64)| {
            (row.price(*dual).clamp(-LARGEST, LARGEST) * ONE as f64) as i128
        };
        let prices: Vec<i128> = rows.iter().zip(duals).map(fixed).collect();
        let (least, _) = self.least(rows, &prices, ONE);
        rounded_up(least, ONE).max(self.base_cost)
    }
}

impl Separation for ThreeWays {
    /// The share of each tensor on the device, and on the host.
    type Point = Vec<[f64; 2]>;

    fn point(&self, columns: &mut dyn Iterator<Item = (u32, f64)>, _: &[f64]) -> Vec<[f64; 2]> {
        let mut point = vec![[1.0, 0.0]; self.tensors.len()];
        columns.for_each(|(column, share)| {
            let shares = &mut point[column as usize / 2];
            shares[DEVICE] -= share;
            shares[HOST] += share * f64::from(column % 2);
        });
        point
    }
}

impl Branching for ThreeWays {
    /// A column.
    type Quantity = u32;

    fn open(&self, point: &Vec<[f64; 2]>, limit: usize) -> Vec<Open<u32>> {
        let open = |(column, tensor): (u32, &Tensor)| {
            let [kept, on_host] = point[column as usize / 2];
            let share = [1.0 - kept - on_host, on_host][column as usize % 2];
            Open::if_fractional(column, share, tensor.cost as f64)
        };
        let tensors = self.tensors.iter().flat_map(|tensor| [tensor, tensor]);
        most_promising((0..).zip(tensors).filter_map(open).collect(), limit)
    }

    fn branch_row(&self, branch: &Branch<u32>) -> Row {
        Row::Branch(*branch)
    }

    fn kind(column: &u32) -> (u32, u8) {
        (column / 2, (column % 2) as u8)
    }
}

// ---- The landscape for annealing: one bit of one set at a time.

impl Landscape for ThreeWays {
    type Sets = BitMatrix;
    type Walk<'g> = SetsWalk<'g>;

    fn nodes(&self) -> usize {
        self.tensors.len()
    }

    fn mean_cost(&self) -> f64 {
        self.base_cost as f64 / self.tensors.len() as f64
    }

    fn byte_price(&self) -> f64 {
        self.base_cost as f64 / self.room_bytes.max(1) as f64
    }

    fn absence_price(&self) -> f64 {
        self.byte_price()
    }

    fn walk<'g>(&'g self, start: &BitMatrix) -> SetsWalk<'g> {
        SetsWalk {
            program: self,
            sets: start.clone(),
            totals: self.totals(start),
        }
    }
}

/// Sets with their totals.
struct SetsWalk<'g> {
    program: &'g ThreeWays,
    sets: BitMatrix,
    totals: Totals,
}

impl SetsWalk<'_> {
    fn over(&self, (device, link, _): Totals) -> f64 {
        let over = device.saturating_sub(self.program.room_bytes);
        (over + link.saturating_sub(self.program.link_bytes)) as f64
    }

    /// Totals after a flip.
    fn after(&self, flip: Flip) -> Totals {
        let k = flip.tensor as usize;
        let tensor = self.program.tensors[k];
        let mut ways = [self.sets.get(DEVICE, k), self.sets.get(HOST, k)];
        let (mut device, mut link, mut cost) = self.totals;
        match ways {
            [true, _] => device -= tensor.bytes,
            [false, true] => link -= tensor.bytes,
            [false, false] => cost -= tensor.cost,
        }
        ways[flip.from as usize] = flip.keep;
        match ways {
            [true, _] => device += tensor.bytes,
            [false, true] => link += tensor.bytes,
            [false, false] => cost += tensor.cost,
        }
        (device, link, cost)
    }
}

impl Walk for SetsWalk<'_> {
    type Sets = BitMatrix;

    fn evaluate(&mut self, flip: Flip) -> Delta {
        let after = self.after(flip);
        Delta {
            cost: after.2 as f64 - self.totals.2 as f64,
            excess: self.over(after) - self.excess(),
        }
    }

    fn apply(&mut self, flip: Flip) {
        self.totals = self.after(flip);
        self.sets
            .set(flip.from as usize, flip.tensor as usize, flip.keep);
    }

    fn excess(&self) -> f64 {
        self.over(self.totals)
    }

    fn cost(&self) -> u64 {
        self.totals.2
    }

    fn retained(&self) -> BitMatrix {
        self.sets.clone()
    }

    fn anywhere(&self, random: &mut Xoshiro256) -> Option<Flip> {
        let tensor = random.below(self.sets.columns() as u32);
        let row = random.below(2);
        let keep = !self.sets.get(row as usize, tensor as usize);
        let (from, to) = (row, row);
        Some(Flip {
            tensor,
            from,
            to,
            keep,
        })
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |k: usize, default: &str| words.get(k).map_or(default.to_owned(), Clone::clone);
    let instance = zoo::build(&word(0, "zoo:unet?batch=8").parse()?)?;
    let budget: Budget = word(1, "50%").parse()?;
    // GB/s are bytes in a nanosecond, the zoo's unit of cost.
    let link: f64 = word(2, "2").parse()?;
    let program = ThreeWays::new(&instance, link).ok_or("the model has no loss")?;
    let (outcome, budget_bytes) = Solve::of(program.clone(), budget).outcome()?;
    println!(
        "{}: {:?} within {budget_bytes} bytes",
        instance.name(),
        outcome.status
    );
    println!("bound {}, {} nodes", outcome.bound, outcome.nodes);
    if let (Some(sets), Some(replay)) = (&outcome.schedule, &outcome.replay) {
        let (device, host, _) = program.totals(sets);
        println!(
            "cost {}, {} without a budget",
            replay.cost, replay.base_cost
        );
        println!("{device} bytes stay on the device, {host} wait on the host");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use remat_search::{Settings, Status};

    /// Tries every way for every tensor: the least cost that fits.
    fn least(program: &ThreeWays) -> u64 {
        let n = program.tensors.len() as u32;
        let way = |code: u32, k: usize| {
            [Some(DEVICE), Some(HOST), None][(code / 3u32.pow(k as u32) % 3) as usize]
        };
        let all = (0..3u32.pow(n)).map(|code| program.totals(&program.sets(|k| way(code, k))));
        let fitting = all.filter(|totals| program.fits(*totals));
        fitting.map(|totals| totals.2).min().unwrap()
    }

    #[test]
    fn answers_are_those_of_all_ways() {
        let mut searched = 0;
        for seed in 1..12u64 {
            let number = |k: u64| 1 + (seed * 7919 + k * 104_729) % 97;
            let tensors = (0..7).map(|k| Tensor {
                bytes: number(2 * k),
                cost: number(2 * k + 1),
            });
            let program = ThreeWays {
                tensors: tensors.collect(),
                fixed_bytes: 10,
                room_bytes: 100 + seed,
                link_bytes: 60 + 3 * seed,
                base_cost: 500,
            };
            let settings = Settings {
                gap: 0.0,
                ..Settings::default()
            };
            let budget = Budget::Bytes(program.fixed_bytes + program.room_bytes);
            let solve = Solve::of(program.clone(), budget).settings(settings);
            let outcome = solve.outcome().unwrap().0;
            assert_eq!(outcome.cost(), Some(least(&program)), "seed {seed}");
            assert_eq!(outcome.status, Status::Optimal, "seed {seed}");
            assert_eq!(Some(outcome.bound), outcome.cost(), "seed {seed}");
            searched += outcome.lp_iterations;
        }
        assert!(searched > 0);
    }
}
