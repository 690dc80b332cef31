//! Linear programs with a known end: an optimum with its duals, a contradiction, a ray.

use super::dice::{Dice, Style};
use super::draw::{Planted, described};
use super::exact::{decimal, nearest, size, written};
use super::judge::{Verdict, judge};
use dashu_ratio::RBig;
use remat_lp::Sense;
use remat_models::program::{Answer, Col, Ending, Kind, Program, ProgramSettings, solve_program};
use std::sync::Arc;

/// Tolerance of an equation of duals, multipliers or a ray, as a share of the sum of its terms'
/// sizes.
const SHARE: f64 = 1e-7;

/// The end that a program was drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedEnd {
    /// The planted point is optimal.
    Optimal,
    /// No point exists.
    Infeasible,
    /// The objective has no limit.
    Unbounded,
}

/// Draws a linear program, solves it with a randomly drawn algorithm, and verifies the answer and
/// its proof in fractions.
///
/// # Errors
/// The mistake in words, with the program.
pub fn run(dice: &mut Dice, show: bool) -> Result<Verdict, String> {
    let end = *dice.pick(&[
        PlantedEnd::Optimal,
        PlantedEnd::Optimal,
        PlantedEnd::Infeasible,
        PlantedEnd::Unbounded,
    ]);
    let style = *dice.pick(&[Style::Whole, Style::Decimal, Style::Spread]);
    let planted = match end {
        PlantedEnd::Optimal => optimal(dice, style),
        PlantedEnd::Infeasible => infeasible(dice, style),
        PlantedEnd::Unbounded => unbounded(dice, style),
    };
    let mut how = ProgramSettings::default();
    let linear = &mut how.model.linear;
    linear.lp.algorithm = dice.algorithm();
    linear.lp.seed = dice.range(0, 1 << 20) as u64;
    if dice.chance(40) {
        linear.presolve = None;
    }
    linear.time_limit = Some(std::time::Duration::from_secs(20));
    let text = || {
        format!(
            "{end:?}, {style:?}, {:?}, presolve {}\nplanted {:?}\n{}",
            how.model.linear.lp.algorithm,
            how.model.linear.presolve.is_some(),
            planted.point,
            described(&planted.program)
        )
    };
    if show {
        eprintln!("{}", text());
    }
    let answer = solve_program(&planted.program, &how, Arc::new(()));
    let answer = answer.map_err(|e| format!("refused: {e}"))?;
    verify(&planted, end, &answer).map_err(|e| format!("{e}\n{}", text()))
}

/// Compares an answer with the end that the program was drawn for.
fn verify(planted: &Planted, end: PlantedEnd, answer: &Answer) -> Result<Verdict, String> {
    let program = &planted.program;
    match (end, answer.ending) {
        (_, Ending::Numeric) => Ok(Verdict::Numeric),
        (PlantedEnd::Optimal, _) => {
            let verdict = judge(planted, answer, false)?;
            let best = answer.points.first().ok_or("optimal without a point")?;
            let (objective, sizes) = super::draw::planted_objective(program, &planted.point);
            let allowed = 1e-6 * (1.0 + sizes);
            // A better value than the optimum lies within tolerances of rows: each costs its dual.
            let sign = program.sense().sign();
            if sign * (best.objective - objective) > allowed {
                return Err(format!("optimal {} for {objective}", best.objective));
            }
            dual_bound(program, answer)?;
            Ok(verdict)
        }
        (PlantedEnd::Infeasible, Ending::Infeasible) => match &answer.farkas {
            Some(y) => farkas(program, y).map(|()| Verdict::Right),
            None => Err("infeasible without multipliers".into()),
        },
        (PlantedEnd::Unbounded, Ending::Unbounded) => match &answer.ray {
            Some(ray) => check_ray(program, ray).map(|()| Verdict::Right),
            None => Err("unbounded without a ray".into()),
        },
        (_, found) => Err(format!("{} for {end:?}", found.words())),
    }
}

/// `sum of coefficient times multiplier` of each column, with the sum of the sizes of its terms.
fn columns(program: &Program, y: &[f64]) -> Vec<(RBig, RBig)> {
    let mut sums = vec![(RBig::ZERO, RBig::ZERO); program.col_handles()];
    for row in program.rows() {
        let multiplier = decimal(y[row.index()]);
        for &(col, value) in program.entries(row).unwrap_or_default() {
            let term = decimal(value) * &multiplier;
            let sum = &mut sums[col.index()];
            sum.1 += size(&term);
            sum.0 += term;
        }
    }
    sums
}

/// The least value of `factor * v` with `lower <= v <= upper`; `None` without a limit. If the bound
/// is infinite, a factor that is noise beside its terms counts as 0.
fn least(factor: &RBig, sizes: &RBig, lower: f64, upper: f64) -> Option<RBig> {
    let side = if *factor > RBig::ZERO { lower } else { upper };
    match side.is_finite() {
        true => Some(factor * decimal(side)),
        false if nearest(&size(factor)) <= SHARE * nearest(sizes) => Some(RBig::ZERO),
        false => None,
    }
}

/// A sum of exact parts, and the sum of their sizes.
struct SizedSum {
    value: RBig,
    scale: RBig,
}

impl SizedSum {
    /// Adds the least value of `factor * v` within bounds ([`least`]); false without a limit.
    fn add_least(&mut self, factor: &RBig, sizes: &RBig, (lower, upper): (f64, f64)) -> bool {
        let Some(part) = least(factor, sizes, lower, upper) else {
            return false;
        };
        self.scale += size(&part);
        self.value += part;
        true
    }
}

/// Checks the bound that duals prove against the objective.
fn dual_bound(program: &Program, answer: &Answer) -> Result<(), String> {
    let Some(duals) = &answer.duals else {
        return Err("optimal without duals".into());
    };
    let sign = decimal(program.sense().sign());
    let offset = decimal(program.offset()) * &sign;
    let mut bound = SizedSum {
        scale: size(&offset) + RBig::ONE,
        value: offset,
    };
    for row in program.rows() {
        let y = decimal(duals.rows[row.index()]) * &sign;
        let sides = program.row_bounds(row).map_err(|e| e.to_string())?;
        if !bound.add_least(&y, &RBig::ONE, sides) {
            return Err(format!("the dual of row {} has the wrong sign", row.0));
        }
    }
    let sums = columns(program, &duals.rows);
    for col in program.cols() {
        let cost = decimal(program.cost(col).map_err(|e| e.to_string())?);
        let (sum, sizes) = &sums[col.index()];
        let reduced = (&cost - sum) * &sign;
        let sizes = sizes + size(&cost) + RBig::from(10);
        let bounds = program.col_bounds(col).map_err(|e| e.to_string())?;
        if !bound.add_least(&reduced, &sizes, bounds) {
            return Err(format!(
                "the reduced cost of column {} has the wrong sign",
                col.0
            ));
        }
    }
    let told = decimal(answer.points[0].objective) * &sign;
    let apart = nearest(&size(&(&told - &bound.value)));
    match apart <= 1e-6 * nearest(&bound.scale) {
        true => Ok(()),
        false => Err(format!(
            "the duals prove {}, the objective is {}",
            nearest(&bound.value),
            nearest(&told)
        )),
    }
}

/// Checks Farkas multipliers. A row with a positive multiplier counts by its lower side, and the
/// combination of the rows must require more than the columns can give.
fn farkas(program: &Program, y: &[f64]) -> Result<(), String> {
    let mut need = SizedSum {
        value: RBig::ZERO,
        scale: RBig::ZERO,
    };
    for row in program.rows() {
        let sides = program.row_bounds(row).map_err(|e| e.to_string())?;
        // A multiplier on an infinite side must be exactly 0; it never counts as noise.
        if !need.add_least(&decimal(y[row.index()]), &RBig::ZERO, sides) {
            return Err(format!(
                "the multiplier of row {} has the wrong sign",
                row.0
            ));
        }
    }
    let sums = columns(program, y);
    for col in program.cols() {
        let (sum, sizes) = &sums[col.index()];
        let bounds = program.col_bounds(col).map_err(|e| e.to_string())?;
        if !need.add_least(&-sum, sizes, bounds) {
            return Err(format!("the multipliers leave column {} open", col.0));
        }
    }
    match need.value > RBig::ZERO && nearest(&need.value) > 1e-12 * nearest(&need.scale) {
        true => Ok(()),
        false => Err(format!(
            "the multipliers prove nothing: {} of {}",
            nearest(&need.value),
            nearest(&need.scale)
        )),
    }
}

/// Checks a ray: it improves the objective and stays within all sides.
fn check_ray(program: &Program, ray: &[f64]) -> Result<(), String> {
    let terms = |entries: &mut dyn Iterator<Item = (f64, f64)>| super::exact::activity(entries);
    let leaves = |move_by: f64, sizes: f64, lower: f64, upper: f64| {
        let noise = SHARE * sizes;
        move_by > noise && upper.is_finite() || move_by < -noise && lower.is_finite()
    };
    for col in program.cols() {
        let (lower, upper) = program.col_bounds(col).map_err(|e| e.to_string())?;
        let move_by = ray[col.index()];
        if leaves(move_by, 1e-3, lower, upper) {
            return Err(format!("the ray leaves column {}'s bounds", col.0));
        }
    }
    for row in program.rows() {
        let entries = program.entries(row).map_err(|e| e.to_string())?;
        let (lower, upper) = program.row_bounds(row).map_err(|e| e.to_string())?;
        let (sum, sizes) = terms(&mut entries.iter().map(|&(c, v)| (v, ray[c.index()])));
        if leaves(nearest(&sum), nearest(&sizes), lower, upper) {
            return Err(format!("the ray leaves row {}", row.0));
        }
    }
    let costs = program.cols();
    let costs = costs.map(|c| (program.cost(c).unwrap_or(0.0), ray[c.index()]));
    let (gain, sizes) = terms(&mut { costs });
    let gain = program.sense().sign() * nearest(&gain);
    match gain < -SHARE * nearest(&sizes) {
        true => Ok(()),
        false => Err(format!("the ray changes the objective by {gain}")),
    }
}

/// Position of a planted value between its bounds.
#[derive(Clone, Copy, PartialEq)]
enum At {
    Lower,
    Upper,
    Between,
    Fixed,
}

impl At {
    fn bounds(self, value: f64, dice: &mut Dice) -> (f64, f64) {
        let infinite = f64::INFINITY;
        let mut far = |sign: f64| match dice.chance(50) {
            true => sign * infinite,
            false => (value + sign * dice.range(1, 9) as f64).round(),
        };
        match self {
            At::Lower => (value, far(1.0)),
            At::Upper => (far(-1.0), value),
            At::Between => (far(-1.0), far(1.0)),
            At::Fixed => (value, value),
        }
    }

    /// A multiplier that is optimal there, for minimising.
    fn multiplier(self, dice: &mut Dice) -> i64 {
        match self {
            At::Lower => dice.range(0, 5),
            At::Upper => dice.range(-5, 0),
            At::Between => 0,
            At::Fixed => dice.range(-5, 5),
        }
    }
}

/// Rows with entries, of columns with planted values.
struct Frame {
    program: Program,
    point: Vec<f64>,
    rows: Vec<Vec<(Col, f64)>>,
}

/// Draws columns at planted values, and rows without sides.
fn frame(dice: &mut Dice, style: Style, at: &mut Vec<At>) -> Frame {
    let mut program = Program::default();
    if dice.chance(50) {
        program.set_sense(Sense::Maximise);
    }
    let mut point = Vec::new();
    for _ in 0..dice.range(1, 6) {
        let value = dice.value(style);
        let place = *dice.pick(&[At::Lower, At::Upper, At::Between, At::Between]);
        let (lower, upper) = place.bounds(value, dice);
        let added = program.add_col(lower, upper, 0.0, Kind::Continuous, None);
        added.expect("bounds around a planted value");
        at.push(place);
        point.push(value);
    }
    let cols: Vec<Col> = program.cols().collect();
    let rows = (0..dice.range(1, 6)).map(|_| {
        let of = dice.some(cols.len(), 1);
        of.iter().map(|&k| (cols[k], dice.entry(style))).collect()
    });
    let rows = rows.collect();
    Frame {
        program,
        point,
        rows,
    }
}

fn activity_of(row: &[(Col, f64)], point: &[f64]) -> RBig {
    super::exact::activity(row.iter().map(|&(c, v)| (v, point[c.index()]))).0
}

/// Draws a program with a planted optimum: costs result from multipliers of the rows and columns.
fn optimal(dice: &mut Dice, style: Style) -> Planted {
    let mut at = Vec::new();
    let Frame {
        mut program,
        point,
        rows,
    } = frame(dice, style, &mut at);
    let sign = program.sense().sign();
    let mut costs = vec![RBig::ZERO; point.len()];
    for row in &rows {
        let Some(side) = written(&activity_of(row, &point)) else {
            // The activity is not a double, so the row is not tight.
            let side = nearest(&activity_of(row, &point));
            let slack = 1.0 + side.abs();
            let added = program.add_row(row, side - slack, side + slack, None);
            added.expect("finite sides");
            continue;
        };
        let place = *dice.pick(&[At::Lower, At::Upper, At::Between, At::Fixed]);
        let (lower, upper) = place.bounds(side, dice);
        let added = program.add_row(row, lower.min(side), upper.max(side), None);
        added.expect("sides around a planted value");
        let y = RBig::from(place.multiplier(dice));
        for &(col, value) in row {
            costs[col.index()] += decimal(value) * &y;
        }
    }
    let cols: Vec<Col> = program.cols().collect();
    for (&col, &place) in cols.iter().zip(&at) {
        let k = col.index();
        costs[k] += RBig::from(place.multiplier(dice));
        let cost = match written(&costs[k]) {
            Some(cost) => cost,
            None => {
                // The cost is not a double, so the column is fixed, and any reduced cost is
                // optimal.
                let set = program.set_col_bounds(col, point[k], point[k]);
                set.expect("a planted value");
                nearest(&costs[k])
            }
        };
        program.set_cost(col, sign * cost).expect("a finite cost");
    }
    Planted {
        program,
        point,
        style,
        is_bounded: true,
    }
}

/// Draws a program whose last row contradicts a combination of the others and of bounds.
fn infeasible(dice: &mut Dice, style: Style) -> Planted {
    loop {
        let mut at = Vec::new();
        let Frame {
            mut program,
            point,
            rows,
        } = frame(dice, style, &mut at);
        let mut sum = vec![RBig::ZERO; point.len()];
        let mut need = RBig::ZERO;
        let mut scale = RBig::ONE;
        for row in &rows {
            let y = dice.range(-3, 3);
            let side = dice.range(-20, 20) as f64;
            let (lower, upper) = match y {
                0 => (f64::NEG_INFINITY, side),
                _ if dice.chance(30) => (side, side),
                y if y > 0 => (side, f64::INFINITY),
                _ => (f64::NEG_INFINITY, side),
            };
            program.add_row(row, lower, upper, None).expect("sides");
            need += RBig::from(y) * decimal(side);
            scale += size(&(RBig::from(y) * decimal(side)));
            for &(col, value) in row {
                sum[col.index()] += decimal(value) * RBig::from(y);
            }
        }
        let cols: Vec<Col> = program.cols().collect();
        let last: Option<Vec<(Col, f64)>> = cols
            .iter()
            .map(|&c| written(&-&sum[c.index()]).map(|v| (c, v)))
            .collect();
        let Some(last) = last else { continue };
        let last: Vec<_> = last.into_iter().filter(|e| e.1 != 0.0).collect();
        if last.is_empty() {
            continue;
        }
        // The combination is 0 >= need + side: a contradiction by at least the scale.
        let margin = RBig::from(dice.range(1, 50)) * &scale;
        let side = nearest(&(margin - need)).ceil();
        program
            .add_row(&last, side, f64::INFINITY, None)
            .expect("a side");
        for &col in &cols {
            let cost = dice.range(-5, 5) as f64;
            program.set_cost(col, cost).expect("a finite cost");
        }
        return Planted {
            program,
            point,
            style,
            is_bounded: true,
        };
    }
}

/// Draws a program with a planted point and a ray.
fn unbounded(dice: &mut Dice, style: Style) -> Planted {
    let mut at = Vec::new();
    let Frame {
        mut program,
        point,
        rows,
    } = frame(dice, style, &mut at);
    let sign = program.sense().sign();
    let cols: Vec<Col> = program.cols().collect();
    let mut ray: Vec<f64> = cols.iter().map(|_| dice.range(-3, 3) as f64).collect();
    if ray.iter().all(|&r| r == 0.0) {
        ray[0] = 1.0;
    }
    for (k, &col) in cols.iter().enumerate() {
        let (lower, upper) = program.col_bounds(col).expect("a column that is there");
        let lower = if ray[k] < 0.0 {
            f64::NEG_INFINITY
        } else {
            lower
        };
        let upper = if ray[k] > 0.0 { f64::INFINITY } else { upper };
        program.set_col_bounds(col, lower, upper).expect("bounds");
        // Costs that go with the ray.
        let cost = -sign * ray[k] * dice.range(1, 4) as f64;
        program.set_cost(col, cost).expect("a finite cost");
    }
    for row in &rows {
        let move_by = activity_of(row, &ray);
        let value = nearest(&activity_of(row, &point));
        let slack = 1.0 + 1e-6 * value.abs();
        let (lower, upper) = (value - slack, value + slack);
        let (lower, upper) = match move_by.clone() {
            m if m > RBig::ZERO => (lower, f64::INFINITY),
            m if m < RBig::ZERO => (f64::NEG_INFINITY, upper),
            _ => (lower, upper),
        };
        program.add_row(row, lower, upper, None).expect("sides");
    }
    Planted {
        program,
        point,
        style,
        is_bounded: false,
    }
}
