//! From the number of a job to its values, and from the number of a chain to its jobs: pure
//! functions of the grid.

use crate::axes::Axis;
use crate::grid::Grid;
use remat_instances::Budget;
use remat_instances::budgets::Budgets;
use std::ops::Range;

/// Jobs of a chain that differ in the budget alone, by ascending budget.
pub(crate) type Row = Vec<usize>;

impl Grid {
    /// Values of a job on all axes, and the position of its budget.
    pub(crate) fn values(&self, job: usize) -> (Vec<&str>, usize) {
        let budgets = self.budget_count();
        let mut rest = job / budgets;
        let mut values: Vec<&str> = Vec::with_capacity(self.axes.len());
        for axis in self.axes.iter().rev() {
            values.push(&axis.values[rest % axis.values.len()]);
            rest /= axis.values.len();
        }
        values.reverse();
        (values, job % budgets)
    }

    /// The job's values in words: `model=zoo:vgg16 batch=32 budget=3`.
    pub fn words(&self, job: usize) -> String {
        let (values, budget) = self.values(job);
        let pairs = self.columns().zip(values);
        let mut words: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        words.push(format!("budget {} of {}", budget + 1, self.budget_count()));
        words.join(" ")
    }

    /// Number of chains.
    pub fn chains(&self) -> usize {
        self.groups() * self.group_chains()
    }

    /// Numbers of the jobs of a chain.
    pub fn chain_jobs(&self, chain: usize) -> Vec<usize> {
        self.rows(chain).into_iter().flatten().collect()
    }

    /// The models of a chain, as written.
    pub fn chain_models(&self, chain: usize) -> Vec<&str> {
        let firsts = self
            .rows(chain)
            .into_iter()
            .filter_map(|row| row.first().copied());
        let mut models: Vec<&str> = firsts.map(|job| self.values(job).0[0]).collect();
        models.dedup();
        models
    }

    /// Chains of a shard: every `count`-th chain from `index`, which counts from 0.
    pub fn shard(&self, index: usize, count: usize) -> impl Iterator<Item = usize> + use<> {
        (index..self.chains()).step_by(count.max(1))
    }

    /// Packs of whole chains with at least `least` jobs each, except for the last.
    pub fn packs(&self, chains: impl IntoIterator<Item = usize>, least: usize) -> Vec<Vec<usize>> {
        let mut packs: Vec<Vec<usize>> = Vec::new();
        let mut room = 0;
        for chain in chains {
            if room == 0 {
                packs.push(Vec::new());
                room = least.max(1);
            }
            if let Some(pack) = packs.last_mut() {
                pack.push(chain);
            }
            room = room.saturating_sub(self.chain_jobs(chain).len());
        }
        packs
    }

    /// Axes whose jobs start one another, or the other ones.
    fn some_axes(&self, inner: bool) -> impl Iterator<Item = (usize, &Axis)> {
        let axes = self.axes.iter().enumerate();
        axes.filter(move |(_, axis)| axis.direction().is_some() == inner)
    }

    fn groups(&self) -> usize {
        self.some_axes(false)
            .map(|(_, axis)| axis.values.len())
            .product()
    }

    fn group_rows(&self) -> usize {
        self.some_axes(true)
            .map(|(_, axis)| axis.values.len())
            .product()
    }

    /// Pieces of a row, and rows of a chain; one of them is 1.
    fn cut(&self) -> (usize, usize) {
        let budgets = self.budget_count();
        match budgets >= self.chain {
            true => (budgets.div_ceil(self.chain), 1),
            false => (1, self.chain / budgets),
        }
    }

    fn group_chains(&self) -> usize {
        let (pieces, rows) = self.cut();
        self.group_rows().div_ceil(rows) * pieces
    }

    /// The jobs of a chain, row by row in the direction in which plans stay valid.
    pub(crate) fn rows(&self, chain: usize) -> Vec<Row> {
        let (group, own) = (chain / self.group_chains(), chain % self.group_chains());
        let (pieces, rows) = self.cut();
        let budgets = self.budgets_by_size();
        let piece = own % pieces;
        let cut = |k: usize| budgets.len() * k / pieces;
        let budgets = &budgets[cut(piece)..cut(piece + 1)];
        let first = own / pieces * rows;
        let last = (first + rows).min(self.group_rows());
        let range: Range<usize> = first..last;
        range
            .map(|row| {
                let base = self.base(group, row) * self.budget_count();
                budgets.iter().map(|budget| base + budget).collect()
            })
            .collect()
    }

    /// The number of the combination of all axes, from the group and the row within it.
    fn base(&self, mut group: usize, mut row: usize) -> usize {
        let mut digits = vec![0; self.axes.len()];
        let outer: Vec<_> = self.some_axes(false).collect();
        for (k, axis) in outer.into_iter().rev() {
            digits[k] = group % axis.values.len();
            group /= axis.values.len();
        }
        let inner: Vec<_> = self.some_axes(true).collect();
        for (k, axis) in inner.into_iter().rev() {
            let order = axis.direction().unwrap_or_default();
            digits[k] = order[row % order.len()];
            row /= order.len();
        }
        let sizes = self.axes.iter().map(|axis| axis.values.len());
        digits
            .iter()
            .zip(sizes)
            .fold(0, |number, (digit, size)| number * size + digit)
    }

    /// Positions of the budgets by size as far as it is known without a model: amounts, then shares.
    fn budgets_by_size(&self) -> Vec<usize> {
        let size = |budget: &Budget| match *budget {
            Budget::Bytes(bytes) => (0, bytes as f64),
            Budget::Percent(percent) => (1, percent),
        };
        let sizes = self.budgets.iter().flat_map(|budgets| match budgets {
            Budgets::List(list) => list.iter().map(size).collect::<Vec<_>>(),
            Budgets::Range { from, to, count } => {
                let ((kind, low), (_, high)) = (size(from), size(to));
                let high = if size(to).0 == kind { high } else { low };
                let step = (high - low) / (*count).max(2).saturating_sub(1) as f64;
                (0..*count).map(|k| (kind, low + step * k as f64)).collect()
            }
        });
        let sizes: Vec<(i32, f64)> = sizes.collect();
        let mut order: Vec<usize> = (0..sizes.len()).collect();
        order.sort_by(|a, b| {
            let ((one, low), (other, high)) = (sizes[*a], sizes[*b]);
            one.cmp(&other).then(low.total_cmp(&high))
        });
        order
    }
}

/// The order in which the jobs of a row are solved, as positions: the last, the first, then the
/// middle of each interval, with the interval's ends.
pub(crate) fn visits(count: usize) -> Vec<(usize, Option<(usize, usize)>)> {
    let Some(last) = count.checked_sub(1) else {
        return Vec::new();
    };
    let mut order = vec![(last, None)];
    if last > 0 {
        order.push((0, None));
    }
    let mut open = vec![(0, last)];
    while let Some((low, high)) = open.pop() {
        if high - low < 2 {
            continue;
        }
        let middle = low + (high - low) / 2;
        order.push((middle, Some((low, high))));
        open.push((middle, high));
        open.push((low, middle));
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn grid(text: &str) -> Grid {
        Grid::parse("grid.toml", text, "".as_ref()).unwrap()
    }

    #[test]
    fn chains_hold_every_job_once_and_keep_to_their_length() {
        for chain in [1, 3, 4, 7, 40] {
            let text = format!(
                "models = ['zoo:vgg16', 'zoo:alexnet']\nbatches = [4, 8, 2]\nseeds = [0, 1]\n\
                 offload = ['pcie4', 'off']\nbudgets = ['90%', '50%..80%:3', '1GiB']\nchain = {chain}"
            );
            let grid = grid(&text);
            assert_eq!(grid.jobs(), 2 * 3 * 2 * 2 * 5);
            let mut seen = BTreeSet::new();
            for k in 0..grid.chains() {
                let jobs = grid.chain_jobs(k);
                assert!((1..=chain).contains(&jobs.len()), "{jobs:?}");
                let seeds: BTreeSet<String> =
                    jobs.iter().map(|j| grid.values(*j).0[2].into()).collect();
                assert_eq!(seeds.len(), 1);
                seen.extend(jobs);
            }
            assert_eq!(seen, (0..grid.jobs()).collect());
            let shards = (0..3).flat_map(|k| grid.shard(k, 3));
            assert_eq!(shards.collect::<BTreeSet<_>>().len(), grid.chains());
            let packs = grid.packs(0..grid.chains(), 20);
            assert_eq!(packs.concat(), (0..grid.chains()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn chains_go_where_plans_stay_valid() {
        let grid = grid(
            "models = 'zoo:vgg16'\nbatches = [4, 8]\noffload = ['pcie4', 'off']\n\
             budgets = ['90%', '50%..80%:3', '1GiB']\nchain = 100",
        );
        let rows = grid.rows(0);
        let values: Vec<Vec<&str>> = rows.iter().map(|row| grid.values(row[0]).0).collect();
        let of = |batch, link| vec!["zoo:vgg16", batch, link];
        assert_eq!(
            values,
            [
                of("8", "off"),
                of("8", "pcie4"),
                of("4", "off"),
                of("4", "pcie4")
            ]
        );
        let budgets: Vec<usize> = rows[0].iter().map(|job| grid.values(*job).1).collect();
        assert_eq!(budgets, [4, 1, 2, 3, 0]);
    }

    #[test]
    fn every_job_of_a_row_is_visited_once() {
        for count in 0..20 {
            let mut seen: Vec<usize> = visits(count).iter().map(|visit| visit.0).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }
    }
}
