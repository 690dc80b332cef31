//! Roles of columns: a tensor is made, a tensor stays, an operator runs.

use super::rows::{BinaryRow, Reading};

/// No tensor, no operator.
pub(super) const NONE: u32 = u32::MAX;

/// Roles of columns, read from rows alone.
#[derive(Debug)]
pub(super) struct Roles {
    /// Columns of which exactly one is 1: steps at which each tensor may be made.
    pub made: Vec<Vec<u32>>,
    /// Columns of which at least one is 1: steps at which each operator without outputs may run.
    pub runs: Vec<Vec<u32>>,
    /// By column: its tensor; [`NONE`] for others.
    pub tensor_of: Vec<u32>,
    /// By column: true if the tensor is made, false if it stays.
    pub is_made: Vec<bool>,
    /// By column: the operator without outputs whose run it is.
    pub run_of: Vec<u32>,
    /// By column for a tensor that stays: the columns of the tensor of which one is 1 then.
    pub before: Vec<Vec<u32>>,
    /// Pairs of columns for tensors that are made, equal in every point.
    pub equal: Vec<(u32, u32)>,
    /// Pairs `x <= y`: an operator runs, or a tensor is made, and another tensor stays.
    pub reads: Vec<(u32, u32)>,
    /// Pairs of one tensor that are not 1 together.
    pub apart: Vec<(u32, u32)>,
}

impl Roles {
    /// Reads the roles; `None` if a column has two.
    pub fn new(reading: &Reading<'_>) -> Option<Roles> {
        let n = reading.is_binary.len();
        let mut roles = Roles {
            made: Vec::new(),
            runs: Vec::new(),
            tensor_of: vec![NONE; n],
            is_made: vec![false; n],
            run_of: vec![NONE; n],
            before: vec![Vec::new(); n],
            equal: Vec::new(),
            reads: Vec::new(),
            apart: Vec::new(),
        };
        roles.groups(reading)?;
        roles.chains(reading);
        roles.pairs(reading);
        Some(roles)
    }

    /// Reads rows in which one column is 1.
    fn groups(&mut self, reading: &Reading<'_>) -> Option<()> {
        let mut covers: Vec<Vec<u32>> = Vec::new();
        let mut alone: Vec<Vec<u32>> = Vec::new();
        let mut is_fresh = true;
        for row in &reading.rows {
            let columns = || row.entries.iter().map(|e| e.0).collect::<Vec<u32>>();
            reading.each_form(row, &mut |form| match form {
                // A row of its own for one column is like a bound.
                BinaryRow::One([_]) => alone.push(columns()),
                BinaryRow::One(_) => is_fresh &= self.group(columns()),
                BinaryRow::Cover(_) => covers.push(columns()),
                _ => {}
            });
        }
        for column in alone {
            self.group(column);
        }
        for cover in covers {
            let is_of_others =
                |c: &u32| self.tensor_of[*c as usize] == NONE && self.run_of[*c as usize] == NONE;
            if cover.iter().all(is_of_others) {
                let run = self.runs.len() as u32;
                cover.iter().for_each(|c| self.run_of[*c as usize] = run);
                self.runs.push(cover);
            }
        }
        is_fresh.then_some(())
    }

    /// Makes columns the ones that make a tensor, unless one of them makes another one.
    fn group(&mut self, columns: Vec<u32>) -> bool {
        let is_fresh = columns.iter().all(|c| self.tensor_of[*c as usize] == NONE);
        if is_fresh {
            let tensor = self.made.len() as u32;
            for c in columns.iter().map(|c| *c as usize) {
                (self.tensor_of[c], self.is_made[c]) = (tensor, true);
            }
            self.made.push(columns);
        }
        is_fresh
    }

    /// Follows tensors from the columns that make them. A column that is at most the sum of columns
    /// of one tensor stands for its stay.
    fn chains(&mut self, reading: &Reading<'_>) {
        let mut rows: Vec<(u32, Vec<u32>)> = Vec::new();
        for row in &reading.rows {
            reading.each_form(row, &mut |form| {
                let BinaryRow::AtMost(first, entries) = form else {
                    return;
                };
                let others: Vec<u32> = entries
                    .iter()
                    .map(|e| e.0)
                    .filter(|c| *c != first)
                    .collect();
                let is_of_none = |c: u32| self.tensor_of[c as usize] == NONE;
                if is_of_none(first) && self.run_of[first as usize] == NONE && !others.is_empty() {
                    rows.push((first, others));
                }
            });
        }
        // Rows wait for their columns without a known tensor.
        let mut waiting: Vec<Vec<u32>> = vec![Vec::new(); self.tensor_of.len()];
        let mut unknown = vec![0u32; rows.len()];
        let mut ready: Vec<u32> = Vec::new();
        for (r, (_, others)) in rows.iter().enumerate() {
            for c in others
                .iter()
                .filter(|c| self.tensor_of[**c as usize] == NONE)
            {
                waiting[*c as usize].push(r as u32);
                unknown[r] += 1;
            }
            if unknown[r] == 0 {
                ready.push(r as u32);
            }
        }
        while let Some(r) = ready.pop() {
            let (stays, others) = &rows[r as usize];
            let tensor = self.tensor_of[others[0] as usize];
            let of_one = others.iter().all(|c| self.tensor_of[*c as usize] == tensor);
            if !of_one || self.tensor_of[*stays as usize] != NONE {
                continue;
            }
            self.tensor_of[*stays as usize] = tensor;
            self.before[*stays as usize].clone_from(others);
            for w in std::mem::take(&mut waiting[*stays as usize]) {
                unknown[w as usize] -= 1;
                if unknown[w as usize] == 0 {
                    ready.push(w);
                }
            }
        }
    }

    /// Reads pairs: equal columns, reads, and columns that are apart.
    fn pairs(&mut self, reading: &Reading<'_>) {
        for row in &reading.rows {
            reading.each_form(row, &mut |form| match form {
                BinaryRow::Equal(a, b) if self.makes(a) && self.makes(b) => self.equal.push((a, b)),
                BinaryRow::Pack(&[(a, _), (b, _)]) => {
                    let of = |c: u32| self.tensor_of[c as usize];
                    if of(a) != NONE && of(a) == of(b) && self.makes(a) != self.makes(b) {
                        self.apart.push((a, b));
                    }
                }
                BinaryRow::AtMost(first, entries) | BinaryRow::AtMostEach(first, entries) => {
                    let each = matches!(form, BinaryRow::AtMostEach(..));
                    let runs = self.makes(first) || self.run_of[first as usize] != NONE;
                    let others = entries.iter().map(|e| e.0).filter(|c| *c != first);
                    if runs && (each || entries.len() == 2) {
                        let own = self.tensor_of[first as usize];
                        let of_other = |c: &u32| self.tensor_of[*c as usize] != own;
                        let stay = others.filter(|c| self.stays(*c) && of_other(c));
                        let stay: Vec<u32> = stay.collect();
                        self.reads.extend(stay.into_iter().map(|c| (first, c)));
                    }
                }
                _ => {}
            });
        }
    }

    /// Returns whether a column belongs to a tensor or to an operator without outputs.
    pub fn has_role(&self, column: u32) -> bool {
        self.tensor_of[column as usize] != NONE || self.run_of[column as usize] != NONE
    }

    /// Returns whether a column stands for a tensor that is made.
    pub fn makes(&self, column: u32) -> bool {
        self.tensor_of[column as usize] != NONE && self.is_made[column as usize]
    }

    /// Returns whether a column stands for a tensor that stays.
    pub fn stays(&self, column: u32) -> bool {
        self.tensor_of[column as usize] != NONE && !self.is_made[column as usize]
    }
}
