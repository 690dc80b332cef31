//! Recognition of POET's published program in a model of unknown origin, by its structure and not
//! by names or by the order of rows and columns.
//!
//! Values that single rows force on binary columns are fixed first, as for Checkmate's program. Of
//! the remaining columns, page-outs, page-ins and copies in secondary storage are the binary ones
//! that no row ties to a continuous column (all sizes are above 0). Rows distinguish them:
//!
//! - `m <= s`, with `s` in a row of memory: `m` is a page-out, `s` the tensor in memory.
//! - `d <= m` or `d <= d' + m`: `d` is the copy that the page-out makes, in the next stage.
//! - `q <= d`: `q` is a page-in.
//! - `s' <= s + r + q`: the page-in `q` lets the tensor be retained.
//!
//! Without pages the program is Checkmate's; its recognition
//! ([`checkmate::recognise`](crate::checkmate::recognise())) gives stage and node of each column.
//! Rows of pages must be the program's, one for each stage. Rows of other forms are left out: the
//! program without them is a relaxation, and its optimum is valid if it satisfies them. POET's time
//! limit is such a row.

use super::schedule::of_sets;
use super::{PoetFormulation, PoetInstance};
use crate::bound::check_budget;
use crate::checkmate::original::Decision;
use crate::checkmate::{RecognisedCheckmate, Reduced, recognise_beside, reduce};
use remat_instances::instance::NodeId;
use remat_instances::schedule::{BitMatrix, FreedAgain, PageCosts, PoetSchedule};
use remat_lp::{Model, ModelBuilder, Sense};
use remat_search::SolveError;
use remat_search::recognise::{Objective, Recognised};
use std::collections::BTreeMap;

/// A model that is POET's program.
#[derive(Clone, Debug)]
pub struct RecognisedPoet {
    /// The instance that the model states, all nodes forward and named by their positions; sizes
    /// and costs in the least units that make them integers, or rounded down.
    pub instance: PoetInstance,
    /// The capacity in the same unit as the instance's sizes (there is no fixed memory).
    pub budget_bytes: u64,
    base: RecognisedCheckmate,
    /// Columns of pages.
    pages: Vec<(u32, PageColumn)>,
    objective: Objective,
}

/// A column of pages, of a stage and a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageColumn {
    Out(u32, u32),
    In(u32, u32),
    Copy(u32, u32),
}

impl Recognised for RecognisedPoet {
    type Formulation = PoetFormulation;
    const NAME: &'static str = "poet";
    const IS_RELAXED: bool = true;

    fn formulation(&self) -> Result<PoetFormulation, SolveError> {
        Ok(PoetFormulation::new(self.instance.clone()))
    }

    fn nodes(&self) -> usize {
        self.instance.graph().len()
    }

    fn budget_bytes(&self) -> u64 {
        self.budget_bytes
    }

    fn point(&self, schedule: &PoetSchedule) -> Vec<f64> {
        let mut x = self.base.point(&schedule.schedule);
        self.free_again(&mut x);
        let out = |node: u32| schedule.paged_out[node as usize];
        for (column, role) in &self.pages {
            let is_one = match *role {
                PageColumn::Out(stage, node) => out(node) == Some(stage),
                PageColumn::In(stage, node) => schedule.paged_in.get(stage as usize, node as usize),
                PageColumn::Copy(stage, node) => out(node).is_some_and(|out| out < stage),
            };
            x[*column as usize] = f64::from(u8::from(is_one));
        }
        x
    }

    /// The schedule that retains and pages out the same tensors as a point of the model, with the
    /// cheapest computations.
    fn schedule(&self, point: &[f64]) -> Option<PoetSchedule> {
        self.base.schedule(point)?;
        let n = self.nodes();
        let mut sets = BitMatrix::new(n, n);
        for (column, value) in (0..).zip(point) {
            if let Some(Decision::Retained { stage, node }) = self.base.decision(column) {
                sets.set(stage as usize, node as usize, *value > 0.5);
            }
        }
        for (column, role) in &self.pages {
            if let PageColumn::Out(_, node) = role
                && point[*column as usize] > 0.5
            {
                sets.set(0, *node as usize, true);
            }
        }
        Some(of_sets(&self.instance, &sets))
    }

    fn objective(&self, cost: u64) -> f64 {
        self.objective.of(cost)
    }
}

impl RecognisedPoet {
    /// Lowers the memory of a point by the bytes that inputs listed more than once free in excess.
    fn free_again(&self, x: &mut [f64]) {
        let unit = self.base.unit_bytes();
        let mut again: BTreeMap<(u32, u32, u32), f64> = BTreeMap::new();
        for one in &self.instance.terms().freed_again {
            for (column, value) in (0..).zip(x.iter()) {
                if let Some(Decision::Freed {
                    stage,
                    input,
                    reader,
                }) = self.base.decision(column)
                    && (input, reader) == (one.input.0, one.reader.0)
                    && *value > 0.5
                {
                    // Duplicate columns stand for the same run.
                    again.insert((stage, reader, input), one.bytes as f64 / unit);
                }
            }
        }
        for (column, value) in (0..).zip(x.iter_mut()) {
            if let Some(Decision::Memory { stage, node }) = self.base.decision(column) {
                let before = again.range((stage, 0, 0)..(stage, node, 0));
                *value -= before.map(|freed| freed.1).sum::<f64>();
            }
        }
    }
}

/// Recognises POET's published program in a model, regardless of names, order and scaling, and with
/// further rows beside it. `None` if the model is another program, or if rows are missing.
///
/// ```
/// use remat_lp::{ModelBuilder, Sense};
///
/// let model = ModelBuilder::new(Sense::Minimise).build()?;
/// assert!(remat_formulations::poet::recognise(&model).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn recognise(model: &Model) -> Option<RecognisedPoet> {
    let reduced = reduce(model)?;
    let links = Links::read(&reduced)?;
    let prices: Vec<f64> = links.columns().map(|c| reduced.cost[c as usize]).collect();
    if prices
        .iter()
        .any(|price| !price.is_finite() || *price < 0.0)
    {
        return None;
    }
    let base = without_pages(model, &reduced, &links)?;
    let retained: Vec<u32> = links.ram.values().copied().collect();
    let found = recognise_beside(&base, &prices, &retained)?;
    let base = found.program;
    let roles = links.roles(&base)?;
    let objective = Objective {
        sense: model.sense(),
        ..base.of_costs()
    };
    let n = base.instance.len();
    let whole = |price: f64| {
        let scaled = price * objective.scale;
        let rounded = scaled.round();
        // Values that are whole up to rounding errors are rounded; the others are rounded down.
        match (scaled - rounded).abs() <= 1e-12 * scaled.max(1.0) {
            true => rounded as u64,
            false => scaled as u64,
        }
    };
    let mut costs: Vec<[Option<f64>; 2]> = vec![[None; 2]; n];
    for (column, role) in &roles {
        let price = reduced.cost[*column as usize];
        let (node, which) = match *role {
            PageColumn::Out(_, node) => (node, 0),
            PageColumn::In(_, node) => (node, 1),
            PageColumn::Copy(..) if price == 0.0 => continue,
            PageColumn::Copy(..) => return None,
        };
        let known = costs[node as usize][which].get_or_insert(price);
        if (*known - price).abs() > 1e-12 * known.abs() {
            return None;
        }
        *known = known.min(price);
    }
    let pages = costs.into_iter().map(|costs| match costs {
        [Some(out), Some(back)] => Some(PageCosts {
            out: whole(out),
            back: whole(back),
        }),
        _ => None,
    });
    let mut again: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for (input, reader) in found.freed_again {
        let bytes = base.instance.node(NodeId(input)).output_bytes;
        *again.entry((input, reader)).or_default() += bytes;
    }
    let freed_again = again
        .into_iter()
        .map(|((input, reader), bytes)| FreedAgain {
            input: NodeId(input),
            reader: NodeId(reader),
            bytes,
        });
    let freed_again: Vec<FreedAgain> = freed_again.collect();
    // A node that does not fit alone might fit after a node that frees more than it holds.
    if !freed_again.is_empty() && check_budget(&base.instance, base.budget_bytes).is_err() {
        return None;
    }
    let instance = PoetInstance::new(base.instance.clone(), pages.collect()).ok()?;
    let instance = instance.with_freed_again(freed_again);
    Some(RecognisedPoet {
        instance,
        budget_bytes: base.budget_bytes,
        base,
        pages: roles,
        objective,
    })
}

/// Columns of pages, and the rows between them.
struct Links {
    /// The tensor in memory, by page-out.
    ram: BTreeMap<u32, u32>,
    /// By page-out: the copy in the next stage, and the copy in the page-out's own stage if there
    /// can be one.
    copies: BTreeMap<u32, (u32, Option<u32>)>,
    /// The copy by page-in.
    copy: BTreeMap<u32, u32>,
    /// By page-in: the column of the tensor retained thereafter, and the two other columns that
    /// allow it.
    retained: BTreeMap<u32, (u32, [u32; 2])>,
    /// Page-ins by rows of the last kind, which are indices into the reduced program's rows.
    rows: BTreeMap<usize, u32>,
}

/// The columns of a row `plus <= sum of minus`.
fn cover(row: &crate::checkmate::Inequality) -> Option<(u32, Vec<u32>)> {
    const TOLERANCE: f64 = 1e-7;
    let near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE;
    let with = |value: f64| {
        row.entries
            .iter()
            .filter(move |e| near(e.1, value))
            .map(|e| e.0)
    };
    let minus: Vec<u32> = with(-1.0).collect();
    let mut plus = with(1.0);
    let (Some(one), None) = (plus.next(), plus.next()) else {
        return None;
    };
    (near(row.upper, 0.0) && minus.len() + 1 == row.entries.len()).then_some((one, minus))
}

impl Links {
    fn read(p: &Reduced) -> Option<Links> {
        let mut is_page: Vec<bool> = (0..p.cost.len())
            .map(|j| p.binary[j] && p.fixed[j].is_none())
            .collect();
        let equalities = p.equalities.iter().map(|row| &row.entries);
        for (c, _) in equalities
            .chain(p.mixed.iter().map(|row| &row.entries))
            .flatten()
        {
            is_page[*c as usize] = false;
        }
        let is_page = |c: u32| is_page[c as usize];
        let covers: Vec<(usize, u32, Vec<u32>)> = p
            .binaries
            .iter()
            .enumerate()
            .filter_map(|(r, row)| cover(row).map(|(plus, minus)| (r, plus, minus)))
            .collect();
        let mut links = Links {
            ram: BTreeMap::new(),
            copies: BTreeMap::new(),
            copy: BTreeMap::new(),
            retained: BTreeMap::new(),
            rows: BTreeMap::new(),
        };
        for (_, plus, minus) in &covers {
            if let [ram] = minus[..]
                && is_page(*plus)
                && !is_page(ram)
                && links
                    .ram
                    .insert(*plus, ram)
                    .is_some_and(|other| other != ram)
            {
                return None;
            }
        }
        let mut is_copy = BTreeMap::new();
        for (_, plus, minus) in &covers {
            let out = minus.iter().find(|c| links.ram.contains_key(c));
            let Some(out) = out.filter(|_| is_page(*plus) && !links.ram.contains_key(plus)) else {
                continue;
            };
            let rest: Vec<u32> = minus.iter().copied().filter(|c| c != out).collect();
            let before = match rest[..] {
                [] => None,
                [before] if is_page(before) => Some(before),
                _ => return None,
            };
            is_copy.insert(*plus, ());
            if links.copies.insert(*out, (*plus, before)).is_some() {
                return None;
            }
        }
        for (r, plus, minus) in &covers {
            if let [copy] = minus[..]
                && is_copy.contains_key(&copy)
                && is_page(*plus)
                && !is_copy.contains_key(plus)
                && links.copy.insert(*plus, copy).is_some()
            {
                return None;
            }
            let is_other = |c: &&u32| is_page(**c);
            if let [_, _, _] = minus[..]
                && !is_page(*plus)
                && let Some(page) = minus.iter().find(is_other)
            {
                let rest: Vec<u32> = minus.iter().copied().filter(|c| c != page).collect();
                if let [a, b] = rest[..]
                    && !is_page(a)
                    && !is_page(b)
                {
                    if links.retained.insert(*page, (*plus, [a, b])).is_some() {
                        return None;
                    }
                    links.rows.insert(*r, *page);
                }
            }
        }
        let is_known = |c: u32| {
            links.ram.contains_key(&c) || is_copy.contains_key(&c) || links.copy.contains_key(&c)
        };
        let mut pages = (0..p.cost.len() as u32).filter(|c| is_page(*c)).peekable();
        pages.peek()?;
        pages.all(is_known).then_some(links)
    }

    /// Columns of pages, of all kinds.
    fn columns(&self) -> impl Iterator<Item = u32> {
        let copies = self.copies.values().map(|copies| copies.0);
        self.ram
            .keys()
            .chain(self.copy.keys())
            .copied()
            .chain(copies)
    }

    /// Stage, node and kind of each column of pages. `None` if a row of the program is missing.
    fn roles(&self, base: &RecognisedCheckmate) -> Option<Vec<(u32, PageColumn)>> {
        let n = base.instance.len() as u32;
        let retained = |column: u32| match base.decision(column)? {
            Decision::Retained { stage, node } => Some((stage, node)),
            _ => None,
        };
        let mut roles = Vec::new();
        let mut outs: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut copies: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        for (&out, &ram) in &self.ram {
            let (stage, node) = retained(ram)?;
            if outs.insert((node, stage), out).is_some() {
                return None;
            }
            roles.push((out, PageColumn::Out(stage, node)));
            if let Some((copy, _)) = self.copies.get(&out) {
                if copies.insert(*copy, (stage + 1, node)).is_some() {
                    return None;
                }
                roles.push((*copy, PageColumn::Copy(stage + 1, node)));
            }
        }
        let mut ins: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        for (&page, copy) in &self.copy {
            let (stage, node) = *copies.get(copy)?;
            if ins.insert((node, stage), page).is_some() {
                return None;
            }
            roles.push((page, PageColumn::In(stage, node)));
        }
        if self
            .retained
            .keys()
            .any(|page| !self.copy.contains_key(page))
        {
            return None;
        }
        // A tensor has all of these columns, or no pages.
        for node in 0..n {
            let is_paged = outs.range((node, 0)..=(node, n)).next().is_some()
                || ins.range((node, 0)..=(node, n)).next().is_some();
            if !is_paged {
                continue;
            }
            for stage in node + 1..n - 1 {
                let (copy, before) = self.copies.get(outs.get(&(node, stage))?)?;
                let is_next = copies.get(copy) == Some(&(stage + 1, node));
                let is_first = stage == node + 1;
                let before = before.map(|copy| copies.get(&copy) == Some(&(stage, node)));
                if !is_next || before != (!is_first).then_some(true) {
                    return None;
                }
                if is_first {
                    continue;
                }
                let (later, [a, b]) = self.retained.get(ins.get(&(node, stage))?)?;
                let here = Decision::Retained { stage, node };
                let made = Decision::Computed { stage, node };
                let both = [base.decision(*a)?, base.decision(*b)?];
                let is_cell = both == [here, made] || both == [made, here];
                if retained(*later)? != (stage + 1, node) || !is_cell {
                    return None;
                }
            }
        }
        Some(roles)
    }
}

/// The reduced program without pages, minimised. Rows with columns of pages are left out, except
/// for the rows of retained tensors.
fn without_pages(model: &Model, p: &Reduced, links: &Links) -> Option<Model> {
    let mut is_page = vec![false; p.cost.len()];
    links.columns().for_each(|c| is_page[c as usize] = true);
    let mut lp = ModelBuilder::new(Sense::Minimise);
    lp.set_name(model.name());
    lp.set_offset(match model.sense() {
        Sense::Minimise => model.offset(),
        Sense::Maximise => -model.offset(),
    });
    let columns: Vec<_> = (0..p.cost.len())
        .map(|j| {
            let (lower, upper) = match (p.fixed[j], is_page[j]) {
                (Some(one), _) => [f64::from(u8::from(one)); 2].into(),
                (None, true) => (0.0, 0.0),
                (None, false) => (p.lower[j], p.upper[j]),
            };
            let id = lp.add_col(p.cost[j], lower..=upper);
            lp.set_integer(id, p.binary[j]);
            id
        })
        .collect();
    let named = |entries: &[(u32, f64)]| -> Vec<_> {
        let own = entries.iter().filter(|e| !is_page[e.0 as usize]);
        own.map(|(c, v)| (columns[*c as usize], *v)).collect()
    };
    for (r, row) in p.binaries.iter().enumerate() {
        let has_pages = row.entries.iter().any(|e| is_page[e.0 as usize]);
        if !has_pages || links.rows.contains_key(&r) {
            lp.add_row(..=row.upper, named(&row.entries));
        }
    }
    for row in &p.equalities {
        lp.add_row(row.side, named(&row.entries));
    }
    for row in &p.mixed {
        lp.add_row(..=row.upper, named(&row.entries));
    }
    lp.build().ok()
}
