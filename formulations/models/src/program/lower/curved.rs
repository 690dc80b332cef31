//! Products of the objective that stay products, because the objective with them is convex.

use super::Lowering;
use crate::program::Product;
use remat_lp::{ColId, NotConvex, Quadratic};

impl Lowering<'_> {
    /// Marks the products of the objective that stay. If each product has a binary or fixed factor,
    /// its linear form is exact and small, and no product stays. Otherwise all stay if the whole is
    /// convex, or else those without such a factor if these are convex.
    ///
    /// # Errors
    /// [`NotConvex`] with the columns' positions, if neither is convex.
    pub(super) fn kept_products(&self) -> Result<Vec<bool>, NotConvex> {
        let products = self.program.products();
        let place = |p: &Product| (self.at(p.first), self.at(p.second));
        let is_fixed = |j: usize| self.lower[j] == self.upper[j];
        let curved = |p: &Product| {
            let (a, b) = place(p);
            p.factor != 0.0 && !is_fixed(a) && !is_fixed(b)
        };
        let needed = |p: &Product| {
            let (a, b) = place(p);
            curved(p) && !self.is_binary(a) && !self.is_binary(b)
        };
        let none = vec![false; products.len()];
        if !products.iter().any(needed) {
            return Ok(none);
        }
        let all: Vec<bool> = products.iter().map(curved).collect();
        let rest: Vec<bool> = products.iter().map(needed).collect();
        match self.is_convex(&all) {
            Ok(()) => Ok(all),
            Err(first) => match self.is_convex(&rest) {
                Ok(()) => Ok(rest),
                Err(_) => Err(first),
            },
        }
    }

    fn is_convex(&self, kept: &[bool]) -> Result<(), NotConvex> {
        let products = self.program.products().iter().zip(kept);
        let products = products.filter(|p| *p.1).map(|(p, _)| {
            let (a, b) = (self.at(p.first), self.at(p.second));
            (ColId(a as u32), ColId(b as u32), p.factor)
        });
        // Factors of a program are finite; a sum beyond all doubles has no convexity to find.
        match Quadratic::of_products(self.own.len(), products) {
            Ok(quadratic) => quadratic.check_convex(self.program.sense().sign()),
            Err(_) => Ok(()),
        }
    }
}
