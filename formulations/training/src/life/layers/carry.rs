//! Rows and columns of a few layers, carried over to many.
//!
//! A row or a column is *anchored* at a layer. An anchor in one of the first or last layers goes to
//! that layer; an anchor in the middle goes to every middle layer. Nodes of the row or column near
//! the anchor shift along with it; nodes at the ends stay where they are.

use super::map::{Anchor, LayerMap};
use super::program::Layered;
use remat_solver::price::{RootStart, Sense};
use std::collections::{BTreeMap, BTreeSet};

/// Carries rows and columns from the program of a small network to the program of a large one.
pub(super) struct Carrier<'a, P> {
    pub map: LayerMap<'a>,
    pub small: &'a P,
    pub large: &'a P,
}

impl<P: Layered> Carrier<'_, P> {
    /// Rows with duals; rows of middle layers are taken from one of these layers.
    pub fn rows(&self, proof: &[(P::Row, f64)], middle: u32) -> Vec<(P::Row, f64)> {
        let mut carried: BTreeMap<P::Row, f64> = BTreeMap::new();
        for (row, dual) in proof {
            let anchor = self.map.first_layer(&self.small.anchors_of_row(row));
            for at in self.map.copies(anchor, Some(middle)) {
                let beside = self.map.beside(at, middle);
                if let Some(row) = self.large.carried_row(self.small, row, &beside) {
                    *carried.entry(row).or_insert(0.0) += dual;
                }
            }
        }
        carried.into_iter().collect()
    }

    /// Columns; columns of middle layers are taken from one of these layers, or from all.
    fn columns(&self, list: &[P::Column], middle: Option<u32>) -> Vec<P::Column> {
        let mut carried = Vec::new();
        for c in list {
            let anchor = self.map.first_layer(&self.small.anchors_of_column(c));
            let copies = self.map.copies(anchor, middle).into_iter();
            carried.extend(copies.filter_map(|at| self.column(c, at)));
        }
        carried.sort_unstable();
        carried.dedup();
        carried
    }

    /// Columns of all but middle layers.
    pub fn ends(&self, list: &[P::Column]) -> Vec<P::Column> {
        let mut carried = Vec::new();
        for c in list {
            let at = self.map.layer(P::tensor(c));
            if at.is_none_or(|(stack, layer)| !self.map.middle_layers(stack).contains(&layer)) {
                let copies = self.map.copies(at, None).into_iter();
                carried.extend(copies.filter_map(|at| self.column(c, at)));
            }
        }
        carried
    }

    /// Columns of a middle layer (stack, layer) in another layer of the large network.
    pub fn moved(&self, list: &[P::Column], from: (u32, u32), to: u32) -> Vec<P::Column> {
        let at = Some(Anchor::new(from, to));
        list.iter().filter_map(|c| self.column(c, at)).collect()
    }

    fn column(&self, c: &P::Column, at: Option<Anchor>) -> Option<P::Column> {
        let beside = self.map.beside(at, 0);
        self.large.carried_column(self.small, c, &beside)
    }

    /// The final state of a root of the small network, with the rows and duals that were carried
    /// from one of its middle layers.
    pub fn start(
        &self,
        found: &RootStart<P>,
        proof: Vec<(P::Row, f64)>,
        middle: u32,
    ) -> RootStart<P> {
        // In a network of many layers, as many memory rows would be tight by chance.
        let priced: BTreeSet<&P::Row> = found.proof.iter().map(|p| &p.0).collect();
        let is_memory = |row: &P::Row| self.small.row_traits(row).sense == Sense::AtMost;
        let tight = found.tight.iter();
        let tight = tight.filter(|row| !is_memory(row) || priced.contains(row));
        let tight: Vec<(P::Row, f64)> = tight.map(|row| (row.clone(), 1.0)).collect();
        let tight = self.rows(&tight, middle).into_iter().map(|row| row.0);
        let basic = self.columns(&found.basic, Some(middle));
        // Columns of all middle layers: with columns of a single one the large root does not
        // converge.
        let mut columns = self.columns(&found.columns, None);
        columns.extend(basic.iter().cloned());
        RootStart {
            proof,
            columns,
            tight: tight.collect(),
            basic,
        }
    }
}
