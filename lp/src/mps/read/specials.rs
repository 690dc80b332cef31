//! Lines of SOS and INDICATORS.

use super::fields::{finite, number};
use super::{MpsReader, RowRef};
use crate::ids::RowId;
use crate::model_file::{Implication, OrderedSet};
use crate::text_file::shown;

impl MpsReader {
    /// Reads a set (`S1` or `S2`, then other words) or a member of the last set: a column and its
    /// weight, with or without the set's name before them. A missing weight is the member's
    /// position. `width` is given by sections for sets of one kind, where each set begins with its
    /// name alone.
    pub(super) fn set_line(&mut self, fields: &[&str], width: Option<u8>) -> Result<(), String> {
        let first = fields[0];
        let is_member = match fields {
            [col] => self.cols.contains_key(*col),
            [.., col, weight] => self.cols.contains_key(*col) && number(weight).is_ok(),
            [] => false,
        };
        let stated = match first.to_ascii_uppercase().as_str() {
            "S1" => Some(1),
            "S2" => Some(2),
            _ => width.filter(|_| fields.len() == 1),
        };
        if let Some(width) = stated.filter(|_| !is_member) {
            let members = Vec::new();
            self.specials.sets.push(OrderedSet { width, members });
            return Ok(());
        }
        let (name, weight) = match fields {
            [col] => (*col, None),
            [.., col, weight] if number(weight).is_ok() => (*col, Some(finite(weight)?)),
            _ => {
                let words = fields
                    .iter()
                    .map(|f| shown(f))
                    .collect::<Vec<_>>()
                    .join(" ");
                return Err(format!(
                    "{words}: S1, S2, or a column and its weight expected"
                ));
            }
        };
        let col = self.col_ref(name)?;
        let Some(set) = self.specials.sets.last_mut() else {
            return Err(format!("column {} is before the first set", shown(name)));
        };
        let weight = weight.unwrap_or(set.members.len() as f64 + 1.0);
        set.members.push((col, weight));
        Ok(())
    }

    /// `IF row column value`: the row holds where the column has the value.
    pub(super) fn indicator(&mut self, fields: &[&str]) -> Result<(), String> {
        let [kind, row, col, value] = fields else {
            return Err("an indicator is: IF, row, column, 0 or 1".into());
        };
        if !kind.eq_ignore_ascii_case("IF") {
            return Err(format!("indicator type {}: IF expected", shown(kind)));
        }
        let RowRef::Row(i) = self.row_ref(row)? else {
            return Err(format!(
                "row {} is an N row, which holds always",
                shown(row)
            ));
        };
        let value = match number(value)? {
            0.0 => false,
            1.0 => true,
            _ => return Err(format!("{} is no value of a binary column", shown(value))),
        };
        let col = self.col_ref(col)?;
        if self.indicators.insert(i, (col, value)).is_some() {
            return Err(format!("row {} has an indicator already", shown(row)));
        }
        Ok(())
    }

    /// Moves the rows with an indicator from the model to the implications.
    pub(super) fn take_implications(&mut self) {
        let rows: Vec<RowId> = self.indicators.keys().map(|&i| RowId(i as u32)).collect();
        let taken = self.builder.take_rows(&rows);
        let indicators = std::mem::take(&mut self.indicators).into_values();
        for ((col, value), (name, row)) in indicators.zip(taken) {
            self.specials.implications.push(Implication {
                name,
                col,
                value,
                entries: row.entries,
                sides: row.bounds,
            });
        }
    }
}
