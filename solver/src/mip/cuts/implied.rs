//! Implied bounds (Hoffman & Padberg 1991): what a binary means for the bound of another column,
//! where the point does not respect it.

use super::sum::Sum;
use super::{Context, Cut};

/// Violated implications.
pub(crate) fn separate(c: &Context<'_>, out: &mut Vec<Cut>) {
    for implication in &c.tables.implications {
        let (entries, rhs) = implication.row();
        if c.efficacy(&entries, rhs) > 1e-3 {
            out.extend(c.finish(entries.to_vec(), Sum::exact(rhs)));
        }
    }
}
