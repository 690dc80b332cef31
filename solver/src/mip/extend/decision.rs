//! Children of a node, as a branching rule defines them.

use remat_lp::{Bounds, ColId};

/// One child of a node: bounds of integer columns and rows that hold in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decision {
    /// New bounds of integer columns (bounds of continuous ones go into `rows`).
    pub bounds: Vec<(ColId, Bounds)>,
    /// Linear expressions and the interval they are restricted to.
    pub rows: Vec<(Vec<(ColId, f64)>, Bounds)>,
}

impl Decision {
    /// `col <= value`.
    pub fn at_most(col: ColId, value: f64) -> Decision {
        Decision {
            bounds: vec![(col, Bounds::new(f64::NEG_INFINITY, value))],
            rows: Vec::new(),
        }
    }

    /// `col >= value`.
    pub fn at_least(col: ColId, value: f64) -> Decision {
        Decision {
            bounds: vec![(col, Bounds::new(value, f64::INFINITY))],
            rows: Vec::new(),
        }
    }

    /// Two children that split an integer-valued linear expression: at most `floor(value)`, or at
    /// least one more.
    pub fn split_expression(entries: &[(ColId, f64)], value: f64) -> Vec<Decision> {
        let row = |b| Decision {
            bounds: Vec::new(),
            rows: vec![(entries.to_vec(), b)],
        };
        vec![
            row(Bounds::new(f64::NEG_INFINITY, value.floor())),
            row(Bounds::new(value.floor() + 1.0, f64::INFINITY)),
        ]
    }
}
