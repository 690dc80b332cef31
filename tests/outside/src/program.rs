//! The program of the bound: a column for each tensor that is recomputed, and a row for the bytes
//! that this must save.

use crate::Knapsack;
use remat_solver::price::{
    Branch, Branching, Columns, Number, Open, Priced, Pricing, RowTraits, Rows, Sense, Separation,
    most_promising, rounded_up,
};

/// A row of the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KnapsackRow {
    /// The kept tensors fit.
    Room,
    /// A tensor is recomputed at most once; a branching may forbid it or require it.
    Limit(Branch<u32>),
}

/// Multipliers are multiples of 2^-40; larger ones count as the largest.
const ONE: i128 = 1 << 40;
const LARGEST: f64 = (1u64 << 32) as f64;

/// A multiplier in fixed point.
pub(crate) fn multiplier(row: &KnapsackRow, dual: f64) -> i128 {
    (row.price(dual).min(LARGEST) * ONE as f64) as i128
}

impl KnapsackRow {
    /// Price of each unit, at least 0.
    fn price(&self, dual: f64) -> f64 {
        let room = matches!(self, KnapsackRow::Room);
        if room { -dual } else { dual }.max(0.0)
    }
}

impl Knapsack {
    /// The least cost of a solution at prices of rows, and the reduced cost of each column.
    fn least<T: Number>(&self, rows: &[KnapsackRow], prices: &[T], one: T) -> (T, Vec<T>) {
        let mut least = one.times(self.once as i64);
        let mut reduced: Vec<T> = self.tensors.iter().map(|t| one.times(t.1 as i64)).collect();
        for (row, &price) in rows.iter().zip(prices) {
            let price = if *row == KnapsackRow::Room {
                -price
            } else {
                price
            };
            least = least + price.times(self.right_side(row));
            self.parts(row, &mut |tensor, ()| {
                let pays = price.times(self.coefficient(row, (), &(tensor as u32)));
                reduced[tensor] = reduced[tensor] - pays;
            });
        }
        let gains = reduced.iter().filter(|cost| **cost < T::ZERO);
        (gains.fold(least, |sum, gain| sum + *gain), reduced)
    }
}

impl Columns for Knapsack {
    type Column = u32;

    fn blocks(&self) -> usize {
        self.tensors.len()
    }

    fn block(tensor: &u32) -> usize {
        *tensor as usize
    }

    fn cost(&self, tensor: &u32) -> u64 {
        self.tensors[*tensor as usize].1
    }

    fn offset(&self) -> u64 {
        self.once
    }

    fn base_cost(&self) -> u64 {
        self.once
    }

    fn cost_upper_bound(&self) -> u64 {
        self.once + self.tensors.iter().map(|t| t.1).sum::<u64>()
    }
}

impl Rows for Knapsack {
    type Row = KnapsackRow;
    type Part = ();

    fn start(&self) -> (Vec<KnapsackRow>, Vec<u32>) {
        let tensors = 0..self.tensors.len() as u32;
        let once = |quantity| {
            KnapsackRow::Limit(Branch {
                quantity,
                at_least: false,
                count: 1,
            })
        };
        let rows = [KnapsackRow::Room]
            .into_iter()
            .chain(tensors.clone().map(once));
        (rows.collect(), tensors.collect())
    }

    fn row_traits(&self, row: &KnapsackRow) -> RowTraits {
        match row {
            KnapsackRow::Room => RowTraits::always_met(Sense::AtMost),
            KnapsackRow::Limit(_) => RowTraits::elastic(Sense::AtLeast),
        }
    }

    /// The bytes of all tensors count on the right.
    fn right_side(&self, row: &KnapsackRow) -> i64 {
        match row {
            KnapsackRow::Room => {
                self.room as i64 - self.tensors.iter().map(|t| t.0 as i64).sum::<i64>()
            }
            KnapsackRow::Limit(branch) => branch.right_side(),
        }
    }

    fn parts(&self, row: &KnapsackRow, note: &mut dyn FnMut(usize, ())) {
        match row {
            KnapsackRow::Room => (0..self.tensors.len()).for_each(|tensor| note(tensor, ())),
            KnapsackRow::Limit(branch) => note(branch.quantity as usize, ()),
        }
    }

    fn coefficient(&self, row: &KnapsackRow, (): (), tensor: &u32) -> i64 {
        match row {
            KnapsackRow::Room => -(self.tensors[*tensor as usize].0 as i64),
            KnapsackRow::Limit(branch) => branch.sign() * i64::from(branch.quantity == *tensor),
        }
    }

    fn resource_capacity(&self) -> f64 {
        self.room as f64
    }
}

impl Pricing for Knapsack {
    type Exclusions = ();

    fn no_exclusions(&self) {}

    fn price(
        &self,
        (): &(),
        rows: &[KnapsackRow],
        duals: &[f64],
        _: usize,
        tolerance: f64,
    ) -> Priced<u32> {
        let prices: Vec<f64> = rows
            .iter()
            .zip(duals)
            .map(|(row, dual)| row.price(*dual))
            .collect();
        let (least, reduced) = self.least(rows, &prices, 1.0);
        let mut priced = Priced::new(least);
        priced.add_below(-tolerance, reduced.into_iter().zip(0..));
        priced.sorted()
    }

    fn lagrangian_bound(&self, (): &(), rows: &[KnapsackRow], duals: &[f64]) -> u64 {
        let prices = rows
            .iter()
            .zip(duals)
            .map(|(row, dual)| multiplier(row, *dual));
        let (least, _) = self.least(rows, &prices.collect::<Vec<_>>(), ONE);
        rounded_up(least, ONE).max(self.once)
    }
}

impl Separation for Knapsack {
    /// The share of each tensor that is kept.
    type Point = Vec<f64>;

    fn point(&self, columns: &mut dyn Iterator<Item = (u32, f64)>, _: &[f64]) -> Vec<f64> {
        let mut kept = vec![1.0; self.tensors.len()];
        columns.for_each(|(tensor, again)| kept[tensor as usize] -= again);
        kept
    }
}

impl Branching for Knapsack {
    /// The computations of a tensor beyond the first.
    type Quantity = u32;

    fn open(&self, kept: &Vec<f64>, limit: usize) -> Vec<Open<u32>> {
        let open = |(kept, tensor): (&f64, u32)| {
            Open::if_fractional(tensor, 1.0 - kept, self.cost(&tensor) as f64)
        };
        most_promising(kept.iter().zip(0..).filter_map(open).collect(), limit)
    }

    fn branch_row(&self, branch: &Branch<u32>) -> KnapsackRow {
        KnapsackRow::Limit(*branch)
    }

    fn kind(tensor: &u32) -> (u32, u8) {
        (*tensor, 0)
    }
}
