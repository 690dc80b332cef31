//! Payments of rows, from duals.

use super::rows::{freed_terms, page_terms, sign};
use super::{PoetGraph, PoetRow};
use crate::life::AtomPrices;
use remat_solver::price::Number;

/// Payments to a tensor beside those of rows that know no pages.
#[derive(Clone, Debug)]
pub(super) struct Beside<T> {
    /// For page-ins in stages `first..=last`.
    pub pages: Vec<(u32, u32, T)>,
    /// For a page-in, a computation or a retention in a stage.
    pub once: Vec<(u32, T)>,
    /// For an end in a stage with a reader.
    pub ends: Vec<(u32, u32, T)>,
    /// For a recomputation in a stage.
    pub starts: Vec<(u32, T)>,
    /// For a page-out.
    pub leaves: T,
}

/// Payments to all that a trip does.
#[derive(Clone, Debug)]
pub(super) struct PoetPrices<T> {
    /// Payments of rows that know no pages.
    pub atoms: AtomPrices<T>,
    /// The others by tensor.
    pub beside: Vec<Beside<T>>,
}

impl<T: Number> PoetPrices<T> {
    /// Payments of rows with their duals, which have the signs that the rows allow.
    pub fn new<'a>(
        poet: &PoetGraph,
        one: T,
        rows: impl Iterator<Item = (&'a PoetRow, T)> + Clone,
    ) -> Self {
        let base = rows.clone().filter_map(|(row, y)| match row {
            PoetRow::Base(row) => Some((row, y)),
            _ => None,
        });
        let none = Beside {
            pages: Vec::new(),
            once: Vec::new(),
            ends: Vec::new(),
            starts: Vec::new(),
            leaves: T::ZERO,
        };
        let mut beside = vec![none; poet.len()];
        for (row, y) in rows.filter(|r| r.1 != T::ZERO) {
            match *row {
                PoetRow::Base(ref row) => {
                    page_terms(poet, row, None, |term| {
                        let paid = y.times(term.coefficient);
                        let pages = &mut beside[term.node as usize].pages;
                        pages.push((term.first, term.last, paid));
                    });
                    freed_terms(poet, row, |reader, stage, worth| {
                        let paid = y.times(worth);
                        beside[reader as usize].starts.push((stage, paid));
                    });
                }
                PoetRow::Once { stage, node } => beside[node as usize].once.push((stage, -y)),
                PoetRow::Ends {
                    stage,
                    node,
                    reader,
                } => {
                    beside[node as usize].ends.push((stage, reader, -y));
                    beside[reader as usize].starts.push((stage, y));
                }
                PoetRow::Pages { node, at_least, .. } => {
                    let leaves = &mut beside[node as usize].leaves;
                    *leaves = *leaves + y.times(sign(at_least));
                }
            }
        }
        PoetPrices {
            atoms: AtomPrices::new(&poet.graph, one, base),
            beside,
        }
    }
}
