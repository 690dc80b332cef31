//! Lines of BOUNDS.

use super::fields::number;
use super::{MpsReader, StatedBounds, no_value};
use crate::ids::Bounds;
use crate::text_file::{clip, shown};

impl MpsReader {
    pub(super) fn bound(&mut self, fields: &[&str]) -> Result<(), String> {
        let kind = fields[0].to_ascii_uppercase();
        let needs_value = !matches!(kind.as_str(), "FR" | "MI" | "PL" | "BV");
        let is_column = |k: usize| fields.get(k).is_some_and(|f| self.cols.contains_key(*f));
        let is_semi = matches!(kind.as_str(), "SC" | "SI");
        let (set, name, value) = match (needs_value, fields.len()) {
            // Without a value the upper bound is infinite.
            (true, 2) if is_semi => ("", fields[1], None),
            (true, 3) if is_semi && !is_column(1) && is_column(2) => (fields[1], fields[2], None),
            (true, 4) => (fields[1], fields[2], Some(number(fields[3])?)),
            (true, 3) => ("", fields[1], Some(number(fields[2])?)),
            // An unneeded number may follow.
            (false, 2) => ("", fields[1], None),
            (false, 3) if is_column(1) && !is_column(2) => ("", fields[1], None),
            (false, 3 | 4) => (fields[1], fields[2], None),
            _ => {
                let value = if needs_value { ", value" } else { "" };
                return Err(format!(
                    "a bound of type {} is: type, set name, column{value}",
                    shown(&kind)
                ));
            }
        };
        if !self.is_of_first_set("BOUNDS", set) {
            return Ok(());
        }
        let col = self.col_ref(name)?;
        if let (Some(value), Some(text)) = (value, fields.last()) {
            self.held(text, value, || {
                format!("the bounds of column {}", shown(name))
            });
        }
        let mut b = self.builder.col_bounds(col);
        let v = value.unwrap_or(0.0);
        let stated = self.stated[col.index()];
        if !stated.any && self.builder.is_integer(col) && kind == "LI" {
            b.upper = f64::INFINITY;
        }
        match kind.as_str() {
            "UP" | "UI" => {
                b.upper = v;
                // An upper bound below zero without a stated lower bound: by tradition the lower
                // bound becomes infinite.
                if v < 0.0 && !stated.lower {
                    b.lower = f64::NEG_INFINITY;
                }
            }
            "LO" | "LI" => b.lower = v,
            "FX" => b = Bounds::from(v),
            "FR" => b = Bounds::FREE,
            "MI" => b.lower = f64::NEG_INFINITY,
            "PL" => b.upper = f64::INFINITY,
            "BV" => b = Bounds::new(0.0, 1.0),
            "SC" | "SI" => b.upper = value.unwrap_or(f64::INFINITY),
            other => {
                return Err(format!(
                    "bound type {}: UP, LO, FX, FR, MI, PL, BV, LI, UI, SC or SI expected",
                    shown(other)
                ));
            }
        }
        if matches!(kind.as_str(), "BV" | "LI" | "UI" | "SI") {
            self.builder.set_integer(col, true);
        }
        self.stated[col.index()] = StatedBounds {
            any: true,
            lower: stated.lower || !matches!(kind.as_str(), "UP" | "UI" | "PL" | "SC" | "SI"),
            semi: stated.semi || is_semi,
        };
        let b = Bounds::new(clip(b.lower), clip(b.upper));
        if let Some(problem) = no_value(b) {
            return Err(format!("column {}: {problem}", shown(name)));
        }
        self.builder.set_col_bounds(col, b);
        Ok(())
    }
}
