//! Rows by their form.

use super::light::UpperRow;

/// Form of a row whose coefficients are 1 and 2 times the smallest.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// `x <= y`.
    Below { x: u32, y: u32 },
    /// `x <= y + z`.
    Covered { x: u32, cell: (u32, u32) },
    /// `x <= ` the sum of three or more.
    Choice { x: u32, of: Vec<u32> },
    /// `1 <= ` the sum of two or more.
    Cover(Vec<u32>),
    /// `a + b - 1 <= z`.
    Product { a: u32, b: u32, z: u32 },
    /// `r <= p + 2 i`; `1 <= p + 2 i` without `r`.
    Overwritten { p: u32, i: u32 },
    /// `x + 2 i <= 2`.
    Gone,
    /// Anything else: memory, for one.
    Other,
}

impl Shape {
    pub fn of(row: &UpperRow) -> Shape {
        let row = row.normal();
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9;
        let with = |v: f64| -> Vec<u32> {
            let alike = row.entries.iter().filter(|e| near(e.1, v));
            alike.map(|e| e.0).collect()
        };
        let (plus, minus, twice) = (with(1.0), with(-1.0), with(-2.0));
        if let [_, _] = row.entries[..]
            && plus.len() + with(2.0).len() == 2
            && plus.len() == 1
            && near(row.upper, 2.0)
        {
            return Shape::Gone;
        }
        if plus.len() + minus.len() + twice.len() != row.entries.len() {
            return Shape::Other;
        }
        let side = |v: f64| (row.upper - v).abs() <= 1e-6;
        match (&plus[..], &minus[..], &twice[..]) {
            ([x], [y], []) if side(0.0) => Shape::Below { x: *x, y: *y },
            ([x], [y, z], []) if side(0.0) => Shape::Covered {
                x: *x,
                cell: (*y, *z),
            },
            ([x], [_, _, _, ..], []) if side(0.0) => Shape::Choice { x: *x, of: minus },
            ([], [_, _, ..], []) if side(-1.0) => Shape::Cover(minus),
            ([a, b], [z], []) if side(1.0) => Shape::Product {
                a: *a,
                b: *b,
                z: *z,
            },
            ([_], [p], [i]) if side(0.0) => Shape::Overwritten { p: *p, i: *i },
            ([], [p], [i]) if side(-1.0) => Shape::Overwritten { p: *p, i: *i },
            _ => Shape::Other,
        }
    }
}
