//! A test program that uses every feature of the interface. Each tenant of a building chooses a
//! plan with its use in each period. The capacity of a period is limited, and more can be rented.
//!
//! A column is a tenant's plan. Elastic rows say that every tenant has one plan; separated resource
//! rows say that a period's use fits. Renting is a static column for each period. Cuts are covers
//! of plans. Exclusions are of plans.

use crate::price::*;
use remat_lp::random::SplitMix64;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Cost of a plan, and its use in each period.
#[derive(Clone, Debug)]
pub struct Plan {
    pub cost: u64,
    pub uses: Vec<i64>,
}

#[derive(Clone, Debug)]
pub struct Tenants {
    /// Plans of each tenant.
    pub plans: Vec<Vec<Plan>>,
    /// Capacity of each period.
    pub capacity: Vec<i64>,
    /// Cost of one more unit; `None` if units cannot be rented.
    pub rent: Option<u64>,
    /// A function that panics, and the number of calls before that.
    pub panics: Option<(&'static str, Arc<AtomicU32>)>,
}

/// Tenant, plan.
pub type Choice = (usize, usize);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Row {
    Tenant(usize),
    Period(usize),
    /// Not all of these plans together.
    Cover(Vec<Choice>),
    Branch(Branch<Choice>),
}

impl Tenants {
    /// A random program, from easy to infeasible.
    pub fn random(seed: u64, tenants: usize, plans: usize, periods: usize) -> Self {
        let mut random = SplitMix64::new(seed);
        let mut plan = |_| Plan {
            cost: 1 + random.below(40) as u64,
            uses: (0..periods).map(|_| random.below(10) as i64).collect(),
        };
        let plans: Vec<Vec<Plan>> = (0..tenants)
            .map(|_| (0..plans).map(&mut plan).collect())
            .collect();
        let each = 2 + random.below(3) as i64;
        let rent = (random.below(3) == 0).then(|| 1 + random.below(12) as u64);
        Tenants {
            plans,
            capacity: vec![each * tenants as i64; periods],
            rent,
            panics: None,
        }
    }

    /// Panics if it is this function's turn.
    fn called(&self, function: &str) {
        if let Some((name, left)) = &self.panics
            && *name == function
            && left.fetch_sub(1, Ordering::Relaxed) == 0
        {
            panic!("injected into {function}");
        }
    }

    fn plan(&self, choice: &Choice) -> &Plan {
        &self.plans[choice.0][choice.1]
    }

    pub fn choices(&self) -> impl Iterator<Item = Choice> {
        let tenants = self.plans.iter().enumerate();
        tenants.flat_map(|(t, plans)| (0..plans.len()).map(move |p| (t, p)))
    }

    /// Cost of a plan for each tenant, rent included; `None` if it does not fit.
    pub fn cost_of(&self, chosen: &[usize]) -> Option<u64> {
        let choices = || chosen.iter().copied().enumerate();
        let used = |k: usize| choices().map(|c| self.plan(&c).uses[k]).sum::<i64>();
        let lacking = |k| (used(k) - self.capacity[k]).max(0) as u64;
        let lacking: u64 = (0..self.capacity.len()).map(lacking).sum();
        let cost: u64 = choices().map(|c| self.plan(&c).cost).sum();
        match self.rent {
            Some(rent) => Some(cost + rent * lacking),
            None => (lacking == 0).then_some(cost),
        }
    }

    /// Every combination of plans, with its cost.
    pub fn all_solutions(&self) -> Vec<(u64, Vec<usize>)> {
        let mut all: Vec<Vec<usize>> = vec![Vec::new()];
        for plans in &self.plans {
            let longer = |chosen: &Vec<usize>| -> Vec<Vec<usize>> {
                let with = |p| [chosen.as_slice(), &[p]].concat();
                (0..plans.len()).map(with).collect()
            };
            all = all.iter().flat_map(longer).collect();
        }
        let costed = |chosen: Vec<usize>| Some((self.cost_of(&chosen)?, chosen));
        all.into_iter().filter_map(costed).collect()
    }

    /// Upper bound on the units that a period may lack.
    fn most_rented(&self, period: usize) -> i64 {
        let most = |plans: &Vec<Plan>| plans.iter().map(|p| p.uses[period]).max();
        self.plans.iter().filter_map(most).sum()
    }

    /// Reduced cost of every plan, and the least worth of renting.
    fn reduced<N: Number>(&self, rows: &[Row], y: &[N], one: N) -> (BTreeMap<Choice, N>, N) {
        let cost = |c: Choice| (c, one.times(self.plan(&c).cost as i64));
        let mut reduced: BTreeMap<Choice, N> = self.choices().map(cost).collect();
        let mut renting = N::ZERO;
        for (row, &y) in rows.iter().zip(y) {
            for (choice, cost) in &mut reduced {
                *cost = *cost - y.times(self.coefficient(row, (), choice));
            }
            if let (Row::Period(k), Some(rent)) = (row, self.rent) {
                let worth = one.times(rent as i64) + y;
                if worth < N::ZERO {
                    renting = renting + worth.times(self.most_rented(*k));
                }
            }
        }
        (reduced, renting)
    }

    /// Reduced costs of the permitted plans, the least one of each tenant, and the bound; `None` if
    /// a tenant has no plan left.
    fn bound(
        &self,
        permitted: &[Vec<bool>],
        rows: &[Row],
        duals: &[f64],
    ) -> Option<(BTreeMap<Choice, i128>, Vec<i128>, i128)> {
        let (duals, worth) = fixed_duals(self, rows, duals);
        let (reduced, renting) = self.reduced(rows, &duals, FIXED_ONE);
        let least = |t: usize| {
            let plans = (0..self.plans[t].len()).filter(|&p| permitted[t][p]);
            plans.map(|p| reduced[&(t, p)]).min()
        };
        let least: Vec<i128> = (0..self.plans.len()).map(least).collect::<Option<_>>()?;
        let bound = worth + renting + least.iter().sum::<i128>();
        Some((reduced, least, bound))
    }
}

impl Columns for Tenants {
    type Column = Choice;
    fn blocks(&self) -> usize {
        self.plans.len()
    }
    fn block(choice: &Choice) -> usize {
        choice.0
    }
    fn cost(&self, choice: &Choice) -> u64 {
        self.plan(choice).cost
    }
    fn static_costs(&self) -> Vec<u64> {
        self.rent
            .map_or(Vec::new(), |rent| vec![rent; self.capacity.len()])
    }
    fn base_cost(&self) -> u64 {
        let least = |plans: &Vec<Plan>| plans.iter().map(|p| p.cost).min();
        self.plans.iter().filter_map(least).sum()
    }
    fn cost_upper_bound(&self) -> u64 {
        let most = |plans: &Vec<Plan>| plans.iter().map(|p| p.cost).max();
        let plans: u64 = self.plans.iter().filter_map(most).sum();
        let rented = |k| self.most_rented(k) as u64 * self.rent.unwrap_or(0);
        plans + (0..self.capacity.len()).map(rented).sum::<u64>()
    }
}

impl Rows for Tenants {
    type Row = Row;
    type Part = ();
    fn start(&self) -> (Vec<Row>, Vec<Choice>) {
        self.called("start");
        let tenants = (0..self.plans.len()).map(Row::Tenant);
        (tenants.collect(), vec![(0, 0)])
    }
    fn row_traits(&self, row: &Row) -> RowTraits {
        self.called("row_traits");
        let separated = |sense| RowTraits {
            permanent: false,
            ..RowTraits::always_met(sense)
        };
        match row {
            Row::Tenant(_) => RowTraits::elastic(Sense::Equal),
            Row::Branch(_) => RowTraits::elastic(Sense::AtLeast),
            Row::Period(_) => separated(Sense::AtMost),
            Row::Cover(_) => separated(Sense::AtLeast),
        }
    }
    fn right_side(&self, row: &Row) -> i64 {
        self.called("right_side");
        match row {
            Row::Tenant(_) => 1,
            Row::Period(k) => self.capacity[*k],
            Row::Cover(plans) => 1 - plans.len() as i64,
            Row::Branch(b) => b.right_side(),
        }
    }
    fn parts(&self, _: &Row, note: &mut dyn FnMut(usize, ())) {
        (0..self.plans.len()).for_each(|t| note(t, ()));
    }
    fn coefficient(&self, row: &Row, (): (), choice: &Choice) -> i64 {
        self.called("coefficient");
        match row {
            Row::Tenant(t) => (choice.0 == *t).into(),
            Row::Period(k) => self.plan(choice).uses[*k],
            Row::Cover(plans) => -i64::from(plans.contains(choice)),
            Row::Branch(b) => b.sign() * i64::from(b.quantity == *choice),
        }
    }
    fn static_entries(&self, row: &Row) -> Vec<(u32, i64)> {
        match (row, self.rent) {
            (Row::Period(k), Some(_)) => vec![(*k as u32, -1)],
            _ => Vec::new(),
        }
    }
}

impl Pricing for Tenants {
    /// True for each permitted plan of a tenant.
    type Exclusions = Vec<Vec<bool>>;
    fn no_exclusions(&self) -> Vec<Vec<bool>> {
        let all = self.plans.iter().map(|plans| vec![true; plans.len()]);
        all.collect()
    }
    fn exclude_all_of(&self, exclusions: &mut Vec<Vec<bool>>, other: &Vec<Vec<bool>>) {
        self.called("exclude_all_of");
        let all = exclusions.iter_mut().flatten();
        all.zip(other.iter().flatten()).for_each(|(p, q)| *p &= q);
    }
    fn is_permitted(&self, choice: &Choice, exclusions: &Vec<Vec<bool>>) -> bool {
        self.called("is_permitted");
        exclusions[choice.0][choice.1]
    }
    fn price(
        &self,
        exclusions: &Vec<Vec<bool>>,
        rows: &[Row],
        duals: &[f64],
        per_block: usize,
        tolerance: f64,
    ) -> Priced<Choice> {
        self.called("price");
        let (reduced, renting) = self.reduced(rows, duals, 1.0);
        let mut priced = Priced::new(worth(self, rows, duals) + renting);
        for t in 0..self.plans.len() {
            let plans = reduced.range((t, 0)..(t + 1, 0));
            let plans = plans.filter(|p| self.is_permitted(p.0, exclusions));
            let mut plans: Vec<(f64, Choice)> = plans.map(|(c, v)| (*v, *c)).collect();
            plans.sort_by(|a, b| a.0.total_cmp(&b.0));
            priced.bound += plans.first().map_or(f64::INFINITY, |p| p.0);
            priced.add_below(-tolerance, plans.into_iter().take(per_block));
        }
        priced.sorted()
    }
    fn lagrangian_bound(&self, exclusions: &Vec<Vec<bool>>, rows: &[Row], duals: &[f64]) -> u64 {
        self.called("lagrangian_bound");
        let bound = self.bound(exclusions, rows, duals);
        bound.map_or(u64::MAX, |b| rounded_up(b.2, FIXED_ONE))
    }
    fn exclude(&self, exclusions: &mut Vec<Vec<bool>>, rows: &[Row], duals: &[f64], target: u64) {
        self.called("exclude");
        let Some((reduced, least, bound)) = self.bound(exclusions, rows, duals) else {
            return;
        };
        for ((t, p), cost) in reduced {
            let with = bound - least[t] + cost;
            exclusions[t][p] &= with <= most_below(target, FIXED_ONE);
        }
    }
}

/// Values of plans, and units rented.
type Point = (Vec<(Choice, f64)>, Vec<f64>);

impl Separation for Tenants {
    type Point = Point;
    fn point(&self, columns: &mut dyn Iterator<Item = (Choice, f64)>, statics: &[f64]) -> Point {
        self.called("point");
        (columns.collect(), statics.to_vec())
    }
    fn violated(&self, point: &Point, limits: &RowLimits<'_, Row>) -> Vec<Row> {
        self.called("violated");
        let used = |k: usize| {
            point
                .0
                .iter()
                .map(move |(c, v)| v * self.plan(c).uses[k] as f64)
        };
        let lacks = |&k: &usize| {
            let rented = point.1.get(k).copied().unwrap_or(0.0);
            used(k).sum::<f64>() > self.capacity[k] as f64 + rented + limits.overflow + 1e-6
        };
        let periods = (0..self.capacity.len()).filter(lacks).map(Row::Period);
        periods.filter(|row| !(limits.known)(row)).collect()
    }
    /// For each period the chosen plans with the largest values, until they do not fit together.
    fn cuts(&self, point: &Point, settings: &SeparationSettings) -> Vec<Row> {
        self.called("cuts");
        if self.rent.is_some() {
            return Vec::new();
        }
        let mut plans = point.0.clone();
        plans.sort_by(|a, b| b.1.total_cmp(&a.1));
        let mut cuts = Vec::new();
        for (k, capacity) in self.capacity.iter().enumerate() {
            let (mut used, mut value, mut cover) = (0, 0.0, Vec::<Choice>::new());
            for (choice, v) in &plans {
                if used <= *capacity && cover.iter().all(|c| c.0 != choice.0) {
                    used += self.plan(choice).uses[k];
                    value += v;
                    cover.push(*choice);
                }
            }
            cover.sort_unstable();
            let most = cover.len() as f64 - 1.0;
            if used > *capacity && value > most + settings.violation {
                cuts.push(Row::Cover(cover));
            }
        }
        cuts
    }
}

impl Branching for Tenants {
    type Quantity = Choice;
    fn open(&self, point: &Point, limit: usize) -> Vec<Open<Choice>> {
        self.called("open");
        let open = point.0.iter();
        let open = open.filter_map(|(c, v)| Open::if_fractional(*c, *v, self.cost(c) as f64));
        most_promising(open.collect(), limit)
    }
    fn branch_row(&self, branch: &Branch<Choice>) -> Row {
        self.called("branch_row");
        Row::Branch(*branch)
    }
    fn kind(choice: &Choice) -> (u32, u8) {
        (choice.0 as u32, 0)
    }
}

impl Rounding for Tenants {
    fn round(&self, point: &Point) -> Vec<Vec<Choice>> {
        self.called("round");
        let mut best: BTreeMap<usize, (f64, usize)> = BTreeMap::new();
        for ((t, p), v) in &point.0 {
            let known = best.entry(*t).or_insert((*v, *p));
            *known = if *v > known.0 { (*v, *p) } else { *known };
        }
        vec![best.into_iter().map(|(t, (_, p))| (t, p)).collect()]
    }
    fn cost_if_feasible(&self, choices: &[Choice]) -> Option<u64> {
        self.called("cost_if_feasible");
        let chosen: Vec<usize> = choices.iter().map(|c| c.1).collect();
        let tenants = choices.iter().map(|c| c.0);
        tenants
            .eq(0..self.plans.len())
            .then(|| self.cost_of(&chosen))?
    }
}
