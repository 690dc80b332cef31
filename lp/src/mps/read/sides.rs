//! Lines of RHS and RANGES.

use super::fields::{finite, number};
use super::{MpsReader, MpsRow, RowRef};
use crate::text_file::shown;

impl MpsReader {
    /// The (name, value) pairs of an RHS or RANGES line, whose set name may be missing; empty for a
    /// line of an ignored set.
    fn pairs<'a>(
        &mut self,
        section: &'static str,
        fields: &'a [&'a str],
    ) -> Result<&'a [&'a str], String> {
        let (set, pairs) = match fields.len() {
            2 | 4 => ("", fields),
            3 | 5 => (fields[0], &fields[1..]),
            _ => return Err("expected a set name and one or two pairs of row and value".into()),
        };
        let counts = self.is_of_first_set(section, set);
        Ok(if counts { pairs } else { &[] })
    }

    pub(super) fn rhs(&mut self, fields: &[&str]) -> Result<(), String> {
        for pair in self.pairs("RHS", fields)?.chunks_exact(2) {
            let value = number(pair[1])?;
            self.held(pair[1], value, || format!("row {}", shown(pair[0])));
            let earlier = match self.row_ref(pair[0])? {
                RowRef::Objective => self.offset.replace(-finite(pair[1])?),
                RowRef::Dropped => None,
                RowRef::Row(i) => self.at_row(i).rhs.replace(value),
            };
            if earlier.is_some() {
                return Err(format!(
                    "row {} has a right-hand side already",
                    shown(pair[0])
                ));
            }
        }
        Ok(())
    }

    pub(super) fn ranges(&mut self, fields: &[&str]) -> Result<(), String> {
        for pair in self.pairs("RANGES", fields)?.chunks_exact(2) {
            let value = number(pair[1])?;
            self.held(pair[1], value, || format!("row {}", shown(pair[0])));
            let name = shown(pair[0]);
            let earlier = match self.row_ref(pair[0])? {
                RowRef::Row(i) => self.at_row(i).range.replace(value),
                RowRef::Objective | RowRef::Dropped => {
                    self.remark(format!("the range of {name}, an N row, does not count"));
                    None
                }
            };
            if earlier.is_some() {
                return Err(format!("row {name} has a range already"));
            }
        }
        Ok(())
    }

    /// The row that the present line refers to.
    fn at_row(&mut self, i: usize) -> &mut MpsRow {
        let row = &mut self.rows[i];
        row.line = self.line;
        row
    }
}
