//! Planted programs through the front door: one solve, edits, a solve again.

use super::dice::{Dice, Style};
use super::draw::{self, Planted, draw, plant_row, planted_objective};
use super::judge::{Verdict, judge};
use remat_models::program::{
    Answer, BestPoints, Ending, Kind, Objective, Program, ProgramSettings, solve_program,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Ticks after which the search of a small program is given up, and counted as a limit.
const TICKS_LIMIT: u64 = 4_000_000;
/// Seconds after which a search has no end.
const SECONDS_LIMIT: f64 = 20.0;

/// Draws a program, solves it, edits it and solves it again; the worse of the verdicts.
///
/// # Errors
/// The mistake in words.
pub fn run(dice: &mut Dice, with_specials: bool, show: bool) -> Result<Verdict, String> {
    // Programs without special constraints are linear now and then.
    let is_linear = !with_specials && dice.chance(10);
    let mut planted = draw(dice, with_specials, is_linear);
    let mut worst = Verdict::Right;
    let mut before: Option<f64> = None;
    for round in 0..dice.range(1, 3) {
        let is_edited = round > 0 && dice.chance(60);
        if is_edited {
            edit(dice, &mut planted);
            before = None;
        }
        let how = settings(dice, &planted);
        if show {
            eprintln!("{}", described(&planted, &how));
        }
        let answer = solve_program(&planted.program, &how, Arc::new(()))
            .map_err(|e| format!("refused: {e}\n{}", described(&planted, &how)))?;
        let verdict = checked(&planted, &how, &answer)
            .map_err(|e| format!("{e}\n{}", described(&planted, &how)))?;
        if verdict != Verdict::Right {
            worst = verdict;
        }
        let exact_styles = matches!(planted.style, Style::Whole | Style::Decimal);
        let is_comparable = exact_styles && planted.is_bounded && how.objectives.is_empty();
        if answer.ending == Ending::Optimal && is_comparable {
            let now = answer.points[0].objective;
            if let Some(first) = before.filter(|f| (f - now).abs() > 1e-5 * (1.0 + now.abs())) {
                let text = described(&planted, &how);
                return Err(format!("the optima {first} and {now} differ\n{text}"));
            }
            before = Some(now);
        }
    }
    Ok(worst)
}

/// Judges an answer, and the settings' demands beyond the optimum.
fn checked(planted: &Planted, how: &ProgramSettings, answer: &Answer) -> Result<Verdict, String> {
    if answer.ending == Ending::TimeLimit {
        return Err(format!("no end within {SECONDS_LIMIT} s"));
    }
    let sign = planted.program.sense().sign();
    if !how.objectives.is_empty() {
        return levels(planted, how, answer);
    }
    let verdict = judge(planted, answer, true)?;
    let has_start = !how.starts.is_empty() && answer.ending != Ending::Unbounded;
    if let (true, Some(best)) = (has_start, answer.points.first()) {
        let (objective, sizes) = planted_objective(&planted.program, &planted.point);
        if sign * best.objective > sign * objective + 1e-7 * (1.0 + sizes) {
            return Err("the start that was given is better".into());
        }
    }
    if how.best_points.is_some() {
        let program = &planted.program;
        let integers = program
            .cols()
            .filter(|&c| program.kind(c).is_ok_and(Kind::is_integer));
        let integers: Vec<usize> = integers.map(|c| c.index()).collect();
        let key = |x: &[f64]| integers.iter().map(|&k| (x[k] + 0.0).to_bits()).collect();
        let keys: BTreeSet<Vec<u64>> = answer.points.iter().map(|p| key(&p.x)).collect();
        if keys.len() < answer.points.len() {
            let points: Vec<_> = answer.points.iter().map(|p| &p.x).collect();
            return Err(format!(
                "two points of the pool are equal in the integer columns: {points:?}"
            ));
        }
    }
    Ok(verdict)
}

/// Judges an answer to several objectives: the first may not be worse than the planted one.
fn levels(planted: &Planted, how: &ProgramSettings, answer: &Answer) -> Result<Verdict, String> {
    let Some(best) = answer.points.first() else {
        return match answer.ending {
            Ending::Infeasible => Err("infeasible".into()),
            Ending::Unbounded if planted.is_bounded => Err("unbounded".into()),
            Ending::Numeric => Ok(Verdict::Numeric),
            Ending::Optimal => Err("optimal without a point".into()),
            _ => Ok(Verdict::Limit),
        };
    };
    super::judge::feasible(&planted.program, &best.x)?;
    let sign = planted.program.sense().sign();
    let first = how.objectives.iter().max_by_key(|o| o.priority);
    let first = first.ok_or("no objective")?;
    let (own, planted_value) = (first.value(&best.x), first.value(&planted.point));
    let scale: f64 = first
        .entries
        .iter()
        .map(|&(c, v)| (v * planted.point[c.index()]).abs())
        .sum();
    if answer.ending == Ending::Optimal && sign * own > sign * planted_value + 1e-6 * (1.0 + scale)
    {
        return Err(format!(
            "the first objective is {own}, the planted point has {planted_value}"
        ));
    }
    Ok(Verdict::Right)
}

/// Settings drawn at random.
fn settings(dice: &mut Dice, planted: &Planted) -> ProgramSettings {
    let mut how = ProgramSettings::default();
    let mip = &mut how.model.mip;
    (mip.relative_gap, mip.absolute_gap) = (0.0, 1e-9);
    mip.limits.ticks = Some(TICKS_LIMIT);
    mip.limits.seconds = Some(SECONDS_LIMIT);
    mip.seed = dice.range(0, 1 << 20) as u64;
    mip.threads = if dice.chance(5) { 2 } else { 1 };
    for switch in [
        &mut mip.presolve,
        &mut mip.probing,
        &mut mip.cuts,
        &mut mip.heuristics,
        &mut mip.propagation,
        &mut mip.reduced_cost_fixing,
        &mut mip.symmetry,
        &mut mip.restarts,
    ] {
        *switch = dice.chance(80);
    }
    if dice.chance(10) {
        mip.limits.nodes = Some(dice.range(0, 9) as u64);
    }
    how.model.recognise = dice.chance(90);
    let linear = &mut how.model.linear;
    linear.lp.algorithm = dice.algorithm();
    if dice.chance(40) {
        linear.presolve = None;
    }
    match dice.range(0, 9) {
        0 | 1 => {
            let mut start = planted.point.clone();
            if dice.chance(30) {
                start[0] = f64::NAN;
            }
            // A start with gaps is completed within limits, and may be lost.
            if start[0].is_finite() {
                how.starts.push(start);
            }
        }
        2 if planted.program.has_integers() => {
            how.model.mip.pool_size = dice.range(2, 5) as usize;
            how.best_points = Some(BestPoints::default());
        }
        3 => how.objectives = objectives(dice, &planted.program),
        _ => {}
    }
    how
}

/// Two objectives by priority, over columns with bounds.
fn objectives(dice: &mut Dice, program: &Program) -> Vec<Objective> {
    let bounded = program.cols().filter(|&c| {
        let (lower, upper) = program.col_bounds(c).unwrap_or((0.0, f64::INFINITY));
        lower.is_finite() && upper.is_finite()
    });
    let bounded: Vec<_> = bounded.collect();
    if bounded.is_empty() {
        return Vec::new();
    }
    let objective = |dice: &mut Dice, priority| Objective {
        entries: dice
            .some(bounded.len(), 1)
            .into_iter()
            .map(|k| (bounded[k], dice.entry(Style::Whole)))
            .collect(),
        constant: 0.0,
        priority,
        weight: 1.0,
        absolute: 0.0,
        relative: 0.0,
    };
    vec![objective(dice, 2), objective(dice, 1)]
}

/// Edits a program so that the planted point stays feasible.
fn edit(dice: &mut Dice, planted: &mut Planted) {
    let Planted {
        program,
        point,
        style,
        ..
    } = planted;
    for _ in 0..dice.range(1, 3) {
        let rows: Vec<_> = program.rows().collect();
        match dice.range(0, 3) {
            0 => plant_row(dice, program, point, *style),
            1 if !rows.is_empty() => {
                let row = *dice.pick(&rows);
                program.remove_row(row).expect("a row that is there");
            }
            2 if !rows.is_empty() => {
                let row = *dice.pick(&rows);
                let (lower, upper) = program.row_bounds(row).expect("a row that is there");
                let (lower, upper) = match dice.chance(50) {
                    true => (lower, f64::INFINITY),
                    false => (f64::NEG_INFINITY, upper),
                };
                let set = program.set_row_bounds(row, lower, upper);
                set.expect("sides of a row that is there");
            }
            _ => {
                let offset = dice.range(-99, 99) as f64;
                program.set_offset(offset).expect("a finite offset");
            }
        }
    }
}

/// A program and its settings, for a reader.
fn described(planted: &Planted, how: &ProgramSettings) -> String {
    let program = &planted.program;
    let mip = &how.model.mip;
    let text = format!(
        "style {:?}, bounded {}, planted {:?}\nalgorithm {:?}, lp presolve {}, {:?}\n{:?}\n",
        planted.style,
        planted.is_bounded,
        planted.point,
        how.model.linear.lp.algorithm,
        how.model.linear.presolve.is_some(),
        how.objectives,
        serde_json::to_string(mip).unwrap_or_default(),
    );
    text + &draw::described(program)
}
