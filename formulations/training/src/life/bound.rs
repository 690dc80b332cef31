//! Pricing, Lagrangian bounds in integers, and exclusions by these bounds. A bound is the sum of
//! the right sides, of the cheapest lives of tensors and of the cheapest choices of stages.

use super::{Atom, AtomPrices, Exclusions, Lives, Scratch, Term, Walk, Which};
use remat_solver::price::{Candidate, Number, Priced, Sense, most_below, rounded_up};

/// Passes of exclusion: exclusions raise the cost of lives, which allows further exclusions.
const EXCLUSION_PASSES: usize = 3;
/// Bits that every number of a bound stays below: fixed point does not overflow.
const NUMBER_BITS: f64 = 118.0;
/// The most bits behind the point, and the fewest with which there is a bound.
const FIXED_BITS: [f64; 2] = [60.0, 8.0];

/// A dual with the sign that the sense of its row allows; a wrong sign gives 0.
pub(crate) fn clamped(sense: Sense, y: f64) -> f64 {
    match sense {
        Sense::AtLeast => y.max(0.0),
        Sense::AtMost => y.min(0.0),
        Sense::Equal => y,
    }
}

/// Prices all stretches at duals in units of cost, per byte for memory rows. Returns at most
/// `per_block` columns for each tensor, and those that are never left out ([`Lives::is_free`]).
pub(crate) fn price<P: Lives>(
    program: &P,
    exclusions: &Exclusions,
    rows: &[P::Row],
    duals: &[f64],
    per_block: usize,
    tolerance: f64,
) -> Priced<P::Column> {
    let dual = |(row, y): (_, &f64)| (row, program.pricing_dual(row, *y));
    let priced = rows.iter().zip(duals).map(dual);
    let worth = priced
        .clone()
        .map(|(row, y)| y * program.right_side(row) as f64);
    let mut out = Priced::new(program.offset() as f64 + worth.sum::<f64>());
    let prices = AtomPrices::new(program, 1.0, priced);
    let (mut walk, mut scratch) = (Walk::new(false), Scratch::default());
    let mut own = Vec::new();
    for node in 0..program.blocks() as u32 {
        own.clear();
        let mut found = |reduced_cost: f64, found| {
            if reduced_cost < -tolerance {
                own.push(Candidate {
                    reduced_cost,
                    column: program.column(node, found),
                });
            }
        };
        program.walk(
            &prices,
            exclusions,
            node,
            &mut walk,
            &mut scratch,
            &mut found,
        );
        out.bound += walk.least();
        out.add_best(&mut own, per_block, |c| program.is_free(c));
    }
    let stages = 0..prices.choices.len();
    let best = stages.filter_map(|t| cheapest_choice(program, &prices, exclusions, t));
    out.bound += best.sum::<f64>();
    out.sorted()
}

/// A lower bound on the cost of every schedule that satisfies the rows and respects the exclusions,
/// from any duals (per byte for memory rows).
///
/// Duals are rounded to fixed point, and everything after that is integer arithmetic. The sum has
/// the priced right sides, the cheapest life of each tensor and the cheapest choice of each stage.
/// The lives and choices of a schedule are among those minimised over, and its rows hold, so the
/// sum is at most its cost. Costs are integers, so the sum is rounded up. Equations that hold for
/// every life or choice (first starts, one choice) may have any multiplier, which cancels.
pub(crate) fn lagrangian_bound<P: Lives>(
    program: &P,
    exclusions: &Exclusions,
    rows: &[P::Row],
    duals: &[f64],
) -> u64 {
    let Some(fixed) = FixedPrices::new(program, rows, duals) else {
        return program.base_cost();
    };
    let (total, _) = fixed.total(program, exclusions);
    rounded_up(total, fixed.prices.one).max(program.base_cost())
}

/// Excludes the starts, by their ways, the retentions and the choices that no schedule below
/// `target` has, by the duals of some rows. For each of them, the least price of a life with it
/// replaces the price of the cheapest life. The Lagrangian bound is then valid for the schedules
/// that have it. Recomputations whose inputs cannot be there are excluded as well.
pub(crate) fn exclude<P: Lives>(
    program: &P,
    exclusions: &mut Exclusions,
    rows: &[P::Row],
    duals: &[f64],
    target: u64,
) {
    let Some(fixed) = FixedPrices::new(program, rows, duals) else {
        return;
    };
    let prices = &fixed.prices;
    let most = most_below(target, prices.one);
    let (mut walk, mut scratch) = (Walk::new(true), Scratch::default());
    for _ in 0..EXCLUSION_PASSES {
        let before = exclusions.excluded();
        let (total, least) = fixed.total(program, exclusions);
        for t in 0..prices.choices.len() {
            let Some(best) = cheapest_choice(program, prices, exclusions, t) else {
                continue;
            };
            let all: Vec<_> = choices(program, prices, exclusions, t).collect();
            for (price, way) in all {
                if total - best + price > most {
                    exclusions.exclude_choice(t, way);
                }
            }
        }
        for (node, least) in (0..).zip(&least) {
            program.walk(
                prices,
                exclusions,
                node,
                &mut walk,
                &mut scratch,
                &mut |_, _| {},
            );
            let rest = total - least;
            let is_out = |life: Option<i128>| life.is_none_or(|life| rest + life > most);
            let first = walk.first();
            walk.totals(|stage, started, held, offered| {
                for start in offered {
                    if is_out(started.map(|life| life + start.price)) {
                        exclusions.exclude_start(node, stage, usize::from(start.way));
                    }
                }
                if Some(stage) > first && is_out(held) {
                    exclusions.exclude_hold(node, stage);
                }
            });
        }
        exclude_without_inputs(program, exclusions);
        if exclusions.excluded() == before {
            break;
        }
    }
}

/// Excludes recomputations whose inputs can neither be on the device nor computed in the stage, or
/// without the tensor that they are made with.
fn exclude_without_inputs<P: Lives>(program: &P, exclusions: &mut Exclusions) {
    for node in 0..program.blocks() as u32 {
        // Inputs come before, so their exclusions are known here.
        for stage in program.stages_again(node) {
            let may_start = |input: u32| {
                let mut ways = 0..program.ways(input, stage);
                ways.any(|way| exclusions.may_start(input, stage, way))
            };
            let may_be = |input: &u32| exclusions.may_hold(*input, stage) || may_start(*input);
            let is_possible = program.inputs(node).iter().all(may_be)
                && program.made_with(node).is_none_or(may_start);
            if !is_possible {
                for way in 0..program.ways(node, stage) {
                    exclusions.exclude_start(node, stage, way);
                }
            }
        }
    }
}

/// Prices of the permitted choices of a stage, with their ways.
fn choices<T: Number, P: Lives>(
    program: &P,
    prices: &AtomPrices<T>,
    exclusions: &Exclusions,
    stage: usize,
) -> impl Iterator<Item = (T, usize)> {
    let all = prices.choices[stage].iter().enumerate();
    let open = all.filter(move |(way, _)| exclusions.may_choose(stage, *way));
    open.map(move |(way, paid)| {
        let cost = prices.one.times(program.choice_cost(stage, way) as i64);
        (cost - *paid, way)
    })
}

/// The least price of a choice in a stage with several; `None` in a stage with a single choice.
fn cheapest_choice<T: Number, P: Lives>(
    program: &P,
    prices: &AtomPrices<T>,
    exclusions: &Exclusions,
    stage: usize,
) -> Option<T> {
    if prices.choices[stage].len() < 2 {
        return None;
    }
    let all = choices(program, prices, exclusions, stage).map(|c| c.0);
    let best = all.reduce(|a, b| if b < a { b } else { a });
    Some(best.unwrap_or(T::ZERO))
}

/// Bounds on the numbers of a program, so that fixed point does not overflow.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// Bytes of all tensors together.
    pub bytes: f64,
    /// Workspaces of all tensors together.
    pub workspace: f64,
    /// Times that the atoms of a term count in the lives of all tensors together.
    pub counts: f64,
}

/// Rows priced in integers.
struct FixedPrices {
    /// Fixed cost and right sides.
    worth: i128,
    prices: AtomPrices<i128>,
}

impl FixedPrices {
    /// `None` if numbers would overflow.
    fn new<P: Lives>(program: &P, rows: &[P::Row], duals: &[f64]) -> Option<Self> {
        let (bits, fixed) = multipliers(program, rows, duals)?;
        let one = 1i128 << bits;
        let mut worth = i128::from(program.offset()) * one;
        for (row, y) in rows.iter().zip(&fixed) {
            worth += y * i128::from(program.right_side(row));
        }
        let prices = AtomPrices::new(program, one, rows.iter().zip(fixed));
        Some(FixedPrices { worth, prices })
    }

    /// The bound, and the price of the cheapest life of each tensor.
    fn total<P: Lives>(&self, program: &P, exclusions: &Exclusions) -> (i128, Vec<i128>) {
        let (mut walk, mut scratch) = (Walk::new(false), Scratch::default());
        let mut cheapest = |node: usize| {
            program.walk(
                &self.prices,
                exclusions,
                node as u32,
                &mut walk,
                &mut scratch,
                &mut |_, _| {},
            );
            walk.least()
        };
        let lives: Vec<i128> = (0..program.blocks()).map(&mut cheapest).collect();
        let stages = 0..self.prices.choices.len();
        let best = stages.filter_map(|t| cheapest_choice(program, &self.prices, exclusions, t));
        let total = self.worth + lives.iter().sum::<i128>() + best.sum::<i128>();
        (total, lives)
    }
}

/// Duals in fixed point with so many bits behind the point; wrong signs become 0. `None` if numbers
/// would overflow.
pub(crate) fn multipliers<P: Lives>(
    program: &P,
    rows: &[P::Row],
    duals: &[f64],
) -> Option<(u32, Vec<i128>)> {
    let bits = fixed_bits(program, rows.iter().zip(duals.iter().copied()), 0.0)?;
    let one = (1i128 << bits) as f64;
    let fixed = rows.iter().zip(duals).map(|(row, &y)| {
        // Below 2^118 by the choice of bits.
        (clamped(program.row_traits(row).sense, y) * one) as i128
    });
    Some((bits, fixed.collect()))
}

/// Bits behind the point with which no number of some rows and their duals overflows, nor a sum of
/// these and `beside`; `None` if there are too few.
pub(crate) fn fixed_bits<'a, P: Lives>(
    program: &P,
    rows: impl Iterator<Item = (&'a P::Row, f64)>,
    beside: f64,
) -> Option<u32>
where
    P::Row: 'a,
{
    let sizes = program.sizes();
    let size_of = |term: Term| {
        let coefficient = term.coefficient.unsigned_abs() as f64;
        match term.atom {
            Atom::Bytes { .. } => coefficient * sizes.bytes,
            Atom::Start {
                which: Which::WithWorkspace,
                ..
            } => coefficient + sizes.workspace,
            _ => coefficient,
        }
    };
    // A bound on every number that occurs.
    let mut size = 1.0 + program.cost_upper_bound() as f64 + beside;
    for (row, y) in rows {
        let mut terms = 0.0;
        program.terms(row, |term| terms += size_of(term));
        let right = program.right_side(row).unsigned_abs() as f64;
        size += y.abs() * (terms * sizes.counts + right);
    }
    let [most, least] = FIXED_BITS;
    let bits = (NUMBER_BITS - size.log2()).floor().min(most);
    (bits >= least).then_some(bits as u32)
}
