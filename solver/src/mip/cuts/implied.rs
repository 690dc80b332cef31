//! Implied bounds (Hoffman & Padberg 1991): violated implications from a binary to the bound of
//! another column.

use super::sum::Sum;
use super::{Context, Cut};

/// Separates violated implications.
pub(crate) fn separate(c: &Context<'_>, out: &mut Vec<Cut>) {
    for implication in &c.tables.implications {
        let (entries, rhs) = implication.row();
        if c.efficacy(&entries, rhs) > 1e-3 {
            out.extend(c.finish(entries.to_vec(), Sum::exact(rhs)));
        }
    }
}
