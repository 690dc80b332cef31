//! Irreducible infeasible subsystems: rows, bounds and special constraints that no point satisfies
//! together, and all of which are needed for that.
//!
//! For a linear program, the search begins with the support of its Farkas proof. Then each member
//! is left out in turn, and stays out if the others have no point either (the deletion filter of
//! Chinneck & Dravnieks 1991), with warm starts. For a program with integers, members are left out
//! in blocks first.

use super::{
    Answer, Col, Ending, INFINITE, Kind, Program, ProgramError, ProgramSettings, Row, SpecialId,
    Watcher, solve_compiled,
};
use crate::ModelSettings;
use remat_lp::{ColId, Crossed, Limits, LpOutcome, Model, RowId, Solver};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Nodes of the search that decides about one member; if they do not suffice, the member stays.
const NODES: u64 = 5_000;
/// Work of that search, and simplex iterations of a linear program.
const TICKS: u64 = 2_000_000_000;
const ITERATIONS: u64 = 200_000;
/// Sides of the box in which a point is searched if bounds are missing.
const BOX: f64 = 1e6;
/// Multipliers up to this are 0 in a Farkas proof.
const SUPPORT: f64 = 1e-9;

/// Rows, bounds and special constraints that no point satisfies together. Integrality, and the
/// bounds of semi-continuous columns, hold in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Iis {
    /// Rows.
    pub rows: Vec<Row>,
    /// Columns whose lower bound is in it.
    pub lower: Vec<Col>,
    /// Columns whose upper bound is in it.
    pub upper: Vec<Col>,
    /// Special constraints.
    pub specials: Vec<SpecialId>,
    /// True if it was proven that no member can be left out.
    pub minimal: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Member {
    Row(Row),
    Special(SpecialId),
    Lower(Col),
    Upper(Col),
}

/// Finds an irreducible infeasible subsystem; `None` if the program has a point. Limits and
/// interrupt of the settings hold for the whole search. When they are reached, the result so far is
/// not minimal.
///
/// # Errors
/// [`ProgramError::Undecided`] if the limits do not suffice to prove the program infeasible, and
/// the errors of [`super::solve_program`].
pub fn find_iis(program: &Program, settings: &ModelSettings) -> Result<Option<Iis>, ProgramError> {
    let filter = Filter::new(program, settings);
    let all = filter.members()?;
    if let Some(pair) = crossed(program)? {
        return Ok(Some(made(&pair, true)));
    }
    let linear = !(program.has_integers() || program.has_specials());
    let rows_alone = {
        let mut rows = program.clone();
        let specials: Vec<_> = rows.specials().map(|s| s.0).collect();
        specials
            .iter()
            .try_for_each(|&id| rows.remove_special(id))?;
        rows.clear_parts();
        rows
    };
    let mut minimal = true;
    let mut kept = match Relaxed::new(&rows_alone, &all)? {
        Some(mut relaxed) => relaxed.filter(&filter, &mut minimal),
        None => None,
    };
    // If the simplex proved no infeasibility, the general search decides.
    if linear && let Some(kept) = kept {
        return Ok(Some(made(&kept, minimal)));
    }
    if kept.is_none() {
        match filter.ending(&all)? {
            Some(true) => {}
            Some(false) => return Ok(None),
            None => return Err(ProgramError::Undecided),
        }
    }
    let mut set = kept.take().unwrap_or(all);
    let minimal = filter.shrink(&mut set)?;
    Ok(Some(made(&set, minimal)))
}

fn made(members: &[Member], minimal: bool) -> Iis {
    let mut iis = Iis {
        minimal,
        ..Iis::default()
    };
    for member in members {
        match *member {
            Member::Row(row) => iis.rows.push(row),
            Member::Special(id) => iis.specials.push(id),
            Member::Lower(col) => iis.lower.push(col),
            Member::Upper(col) => iis.upper.push(col),
        }
    }
    iis
}

/// Two bounds, or one row, that contradict each other by themselves.
fn crossed(program: &Program) -> Result<Option<Vec<Member>>, ProgramError> {
    let model = program.compile_rows()?;
    Ok(model.0.crossed().map(|crossed| match crossed {
        Crossed::Col(ColId(j)) => {
            let col = model.1[j as usize];
            vec![Member::Lower(col), Member::Upper(col)]
        }
        Crossed::Row(RowId(i)) => vec![Member::Row(model.2[i as usize])],
    }))
}

/// Decides whether parts of a program have a point.
struct Filter<'a> {
    program: &'a Program,
    settings: ModelSettings,
    clock: Instant,
}

impl<'a> Filter<'a> {
    fn new(program: &'a Program, settings: &ModelSettings) -> Self {
        let mut settings = settings.clone();
        settings.mip.limits.interrupt.get_or_insert_default();
        Filter {
            program,
            settings,
            clock: Instant::now(),
        }
    }

    /// Seconds left; `None` without a limit.
    fn left(&self) -> Option<f64> {
        let limit = self.settings.mip.limits.seconds?;
        Some(limit - self.clock.elapsed().as_secs_f64())
    }

    fn is_over(&self) -> bool {
        let interrupt = self.settings.mip.limits.interrupt.as_ref();
        interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
            || self.left().is_some_and(|left| left <= 0.0)
    }

    /// All members that may be left out: rows, special constraints, bounds.
    fn members(&self) -> Result<Vec<Member>, ProgramError> {
        let program = self.program;
        let mut members = Vec::new();
        for row in program.rows() {
            let (lower, upper) = program.row_bounds(row)?;
            if lower.is_finite() || upper.is_finite() {
                members.push(Member::Row(row));
            }
        }
        members.extend(program.specials().map(|(id, _)| Member::Special(id)));
        for col in program.cols() {
            let (lower, upper) = super::lower::model_bounds(program, col)?;
            if program.kind(col)?.is_semi() {
                continue;
            }
            if lower.is_finite() {
                members.push(Member::Lower(col));
            }
            if upper.is_finite() {
                members.push(Member::Upper(col));
            }
        }
        Ok(members)
    }

    /// The program with some members alone, and no objective.
    fn part(&self, set: &[Member]) -> Result<Program, ProgramError> {
        let mut part = self.program.clone();
        part.clear_parts();
        part.set_offset(0.0)?;
        let mut has = Has::new(self.program);
        set.iter().for_each(|&member| has.add(member));
        let rows: Vec<Row> = part.rows().filter(|r| !has.rows[r.index()]).collect();
        rows.into_iter().try_for_each(|row| part.remove_row(row))?;
        let specials = part.specials().map(|s| s.0);
        let specials: Vec<_> = specials.filter(|s| !has.specials[s.index()]).collect();
        specials
            .into_iter()
            .try_for_each(|id| part.remove_special(id))?;
        let cols: Vec<Col> = part.cols().collect();
        for col in cols {
            part.set_cost(col, 0.0)?;
            let kind = part.kind(col)?;
            if kind.is_semi() {
                continue;
            }
            let (lower, upper) = super::lower::model_bounds(&part, col)?;
            let (low, high) = (has.lower[col.index()], has.upper[col.index()]);
            if low && high {
                continue;
            }
            if kind == Kind::Binary {
                part.set_kind(col, Kind::Integer)?;
            }
            let lower = if low { lower } else { -INFINITE };
            part.set_col_bounds(col, lower, if high { upper } else { INFINITE })?;
        }
        Ok(part)
    }

    /// True if some members together have no point, false if they have one; `None` if the limits do
    /// not suffice.
    fn ending(&self, set: &[Member]) -> Result<Option<bool>, ProgramError> {
        let mut how = ProgramSettings {
            model: self.settings.clone(),
            ..ProgramSettings::default()
        };
        how.model.recognise = false;
        let mip = &mut how.model.mip;
        (mip.cutoff, mip.pool_size) = (None, 1);
        mip.limits.nodes = mip.limits.nodes.or(Some(NODES));
        mip.limits.ticks = mip.limits.ticks.or(Some(TICKS));
        mip.limits.seconds = self.left().map(|left| left.max(0.0));
        let part = self.part(set)?;
        let nobody: Arc<dyn Watcher> = Arc::new(());
        let answer = match part.compile() {
            Ok(compiled) => solve_compiled(&Arc::new(compiled), &how, nobody)?,
            Err(error) if error.is_of_form() => return self.ending_around(part, &how),
            Err(error) => return Err(error),
        };
        Ok(decided(&answer))
    }

    /// As [`Self::ending`], for a part without an exact linear form. It has no point if a wider
    /// model has no point, and it has one if one is found in a box.
    fn ending_around(
        &self,
        mut part: Program,
        how: &ProgramSettings,
    ) -> Result<Option<bool>, ProgramError> {
        let wider = Arc::new(part.compile_relaxed()?);
        let answer = solve_compiled(&wider, how, Arc::new(()))?;
        if decided(&answer) == Some(true) {
            return Ok(Some(true));
        }
        for col in part.cols().collect::<Vec<_>>() {
            let (lower, upper) = part.col_bounds(col)?;
            let lower = if lower.is_finite() {
                lower
            } else {
                upper.min(0.0) - BOX
            };
            let upper = if upper.is_finite() {
                upper
            } else {
                lower.max(0.0) + BOX
            };
            part.set_col_bounds(col, lower, upper)?;
        }
        let narrower = match part.compile() {
            Ok(compiled) => Arc::new(compiled),
            Err(error) if error.is_of_form() => return Ok(None),
            Err(error) => return Err(error),
        };
        let answer = solve_compiled(&narrower, how, Arc::new(()))?;
        Ok(decided(&answer).filter(|infeasible| !infeasible))
    }

    /// Leaves members out: first rows and special constraints, which may need bounds to be
    /// expressed, then bounds. Returns whether it went to the end.
    fn shrink(&self, set: &mut Vec<Member>) -> Result<bool, ProgramError> {
        let is_bound = |m: &Member| matches!(m, Member::Lower(_) | Member::Upper(_));
        let (mut bounds, mut others): (Vec<_>, Vec<_>) = set.iter().partition(|m| is_bound(m));
        let first = self.shrink_beside(&mut others, &bounds)?;
        let second = self.shrink_beside(&mut bounds, &others)?;
        others.extend(bounds);
        *set = others;
        Ok(first && second)
    }

    /// Leaves members out, in blocks that become smaller, while others stay. Returns whether the
    /// result is minimal.
    fn shrink_beside(
        &self,
        set: &mut Vec<Member>,
        others: &[Member],
    ) -> Result<bool, ProgramError> {
        let mut block = set.len().div_ceil(2).max(1);
        loop {
            let mut minimal = true;
            let mut from = 0;
            while from < set.len() {
                if self.is_over() {
                    return Ok(false);
                }
                let to = (from + block).min(set.len());
                let rest: Vec<Member> = set[..from].iter().chain(&set[to..]).copied().collect();
                let all: Vec<Member> = rest.iter().chain(others).copied().collect();
                match self.ending(&all)? {
                    Some(true) => {
                        *set = rest;
                        continue;
                    }
                    Some(false) => {}
                    None => minimal = false,
                }
                from = to;
            }
            if block == 1 {
                return Ok(minimal);
            }
            block = block.div_ceil(4).min(set.len().max(1));
        }
    }
}

/// True if an answer proves that there is no point, false if it has one.
fn decided(answer: &Answer) -> Option<bool> {
    match answer.ending {
        Ending::Infeasible => Some(true),
        _ if !answer.points.is_empty() => Some(false),
        Ending::Unbounded => Some(false),
        _ => None,
    }
}

/// Members by handle.
struct Has {
    rows: Vec<bool>,
    specials: Vec<bool>,
    lower: Vec<bool>,
    upper: Vec<bool>,
}

impl Has {
    fn new(program: &Program) -> Self {
        let specials = program.specials().last().map_or(0, |s| s.0.index() + 1);
        Has {
            rows: vec![false; program.row_handles()],
            specials: vec![false; specials],
            lower: vec![false; program.col_handles()],
            upper: vec![false; program.col_handles()],
        }
    }

    fn add(&mut self, member: Member) {
        match member {
            Member::Row(row) => self.rows[row.index()] = true,
            Member::Special(id) => self.specials[id.index()] = true,
            Member::Lower(col) => self.lower[col.index()] = true,
            Member::Upper(col) => self.upper[col.index()] = true,
        }
    }
}

/// The rows and bounds of a program as a linear program in which some can be left out.
struct Relaxed {
    model: Model,
    cols: Vec<Col>,
    rows: Vec<Row>,
    solver: Solver,
    /// Members in the linear program.
    set: Vec<Member>,
}

impl Relaxed {
    /// The linear program; `None` without rows and bounds.
    fn new(program: &Program, all: &[Member]) -> Result<Option<Self>, ProgramError> {
        let (model, cols, rows) = program.compile_rows()?;
        let mut solver = Solver::new(model.clone(), remat_lp::Settings::default());
        for j in 0..model.num_cols() {
            solver.set_cost(ColId(j as u32), 0.0)?;
        }
        let set = all.iter().filter(|m| !matches!(m, Member::Special(_)));
        let set: Vec<Member> = set.copied().collect();
        Ok((!set.is_empty()).then_some(Relaxed {
            model,
            cols,
            rows,
            solver,
            set,
        }))
    }

    /// Puts a member in, or leaves it out.
    fn put(&mut self, member: Member, is_in: bool) -> Option<()> {
        let (off_low, off_high) = (f64::NEG_INFINITY, f64::INFINITY);
        match member {
            Member::Row(row) => {
                let id = RowId(self.rows.binary_search(&row).ok()? as u32);
                let bounds = self.model.row_bounds(id);
                let (lower, upper) = match is_in {
                    true => (bounds.lower, bounds.upper),
                    false => (off_low, off_high),
                };
                self.solver.set_row_bounds(id, lower..=upper).ok()
            }
            Member::Lower(col) | Member::Upper(col) => {
                let id = ColId(self.cols.binary_search(&col).ok()? as u32);
                let (given, has) = (
                    self.model.col_bounds(id),
                    self.solver.model().col_bounds(id),
                );
                let (mut lower, mut upper) = (has.lower, has.upper);
                match member {
                    Member::Lower(_) => lower = if is_in { given.lower } else { off_low },
                    _ => upper = if is_in { given.upper } else { off_high },
                }
                self.solver.set_col_bounds(id, lower..=upper).ok()
            }
            Member::Special(_) => Some(()),
        }
    }

    /// Members of a Farkas proof.
    fn support(&self, y: &[f64]) -> Vec<Member> {
        let most = y.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let mut sums = vec![0.0; self.cols.len()];
        let mut has = Vec::new();
        for (i, &factor) in y.iter().enumerate() {
            if factor.abs() > SUPPORT * most {
                has.push(Member::Row(self.rows[i]));
                for (j, v) in self.model.row(RowId(i as u32)) {
                    sums[j.index()] += factor * v;
                }
            }
        }
        for (j, &sum) in sums.iter().enumerate() {
            if sum.abs() > SUPPORT * most {
                has.push(match sum > 0.0 {
                    true => Member::Upper(self.cols[j]),
                    false => Member::Lower(self.cols[j]),
                });
            }
        }
        has
    }

    fn solve(&mut self, filter: &Filter<'_>) -> LpOutcome {
        self.solver.set_limits(Limits {
            iterations: Some(ITERATIONS),
            interrupt: filter.settings.mip.limits.interrupt.clone(),
            ..Limits::default()
        });
        self.solver.solve()
    }

    /// Keeps only the members of a proof.
    fn keep(&mut self, support: &[Member]) {
        let out = self.set.iter().copied().filter(|m| !support.contains(m));
        let out: Vec<Member> = out.collect();
        for &member in &out {
            self.put(member, false);
        }
        self.set.retain(|m| !out.contains(m));
    }

    /// An irreducible set, if the rows and bounds have no point; `minimal` becomes false if it may
    /// not be one.
    fn filter(&mut self, filter: &Filter<'_>, minimal: &mut bool) -> Option<Vec<Member>> {
        let LpOutcome::Infeasible(ray) = self.solve(filter) else {
            return None;
        };
        let all = self.set.clone();
        let support = self.support(&ray.y);
        self.keep(&support);
        if !matches!(self.solve(filter), LpOutcome::Infeasible(_)) {
            // The support of the proof was not infeasible by itself.
            for &member in &all {
                self.put(member, true);
            }
            self.set = all;
        }
        let mut k = 0;
        while k < self.set.len() {
            if filter.is_over() {
                *minimal = false;
                break;
            }
            let member = self.set[k];
            self.put(member, false);
            match self.solve(filter) {
                LpOutcome::Infeasible(_) => {
                    self.set.remove(k);
                    continue;
                }
                LpOutcome::Optimal(_) | LpOutcome::Unbounded(_) => {}
                _ => *minimal = false,
            }
            self.put(member, true);
            k += 1;
        }
        Some(self.set.clone())
    }
}
