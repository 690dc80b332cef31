//! Tables with commas, without quotes: cells have no commas. Lines with `#` are comments.

use remat_bb::failure::Failure;

/// A cell's text; commas, quotes and line breaks are replaced.
pub(crate) fn cell(text: &str) -> String {
    let text = text.replace(',', ";");
    text.replace(['\n', '\r', '"'], " ").trim().to_owned()
}

/// A number as a cell; empty for `None`.
pub(crate) fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

/// A line of a table.
pub(crate) struct CsvLine<'a> {
    file: &'a str,
    /// Number in the file, from 1.
    number: usize,
    names: &'a [&'a str],
    cells: Vec<&'a str>,
}

/// The lines of a table below its heading, which must have these columns in this order.
///
/// # Errors
/// [`Failure::Usage`] for another heading, and for lines of another length.
pub(crate) fn lines<'a>(
    file: &'a str,
    text: &'a str,
    names: &'a [&'a str],
) -> Result<Vec<CsvLine<'a>>, Failure> {
    let rows = text.lines().enumerate().map(|(k, line)| (k + 1, line));
    let mut rows = rows.filter(|(_, line)| !line.starts_with('#'));
    let (number, heading) = rows.next().unwrap_or((1, ""));
    if heading.split(',').ne(names.iter().copied()) {
        return Err(Failure::Usage {
            problem: format!("{file}, line {number}: the columns are {heading:?}"),
            remedy: format!("they should be {:?}", names.join(",")),
        });
    }
    rows.filter(|(_, line)| !line.trim().is_empty())
        .map(|(number, line)| {
            let cells: Vec<&str> = line.split(',').collect();
            if cells.len() != names.len() {
                return Err(Failure::Usage {
                    problem: format!("{file}, line {number}: it has {} cells", cells.len()),
                    remedy: format!("a line has {}", names.len()),
                });
            }
            Ok(CsvLine {
                file,
                number,
                names,
                cells,
            })
        })
        .collect()
}

impl CsvLine<'_> {
    /// The text of a cell; empty for a column that the table does not have.
    pub fn text(&self, name: &str) -> &str {
        let at = self.names.iter().position(|n| *n == name);
        at.and_then(|k| self.cells.get(k)).copied().unwrap_or("")
    }

    /// The failure for a wrong cell, with its place.
    pub fn wrong(&self, name: &str, remedy: &str) -> Failure {
        Failure::Usage {
            problem: format!(
                "{}, line {}, column {name}: {:?}",
                self.file,
                self.number,
                self.text(name)
            ),
            remedy: remedy.into(),
        }
    }

    /// The value of a cell.
    ///
    /// # Errors
    /// [`Failure::Usage`] if it cannot be parsed.
    pub fn value<T: std::str::FromStr>(&self, name: &str) -> Result<T, Failure> {
        let value = self.text(name).parse();
        value.map_err(|_| self.wrong(name, "it should be a number"))
    }

    /// The value of a cell; `None` for an empty cell.
    ///
    /// # Errors
    /// As [`CsvLine::value`].
    pub fn optional<T: std::str::FromStr>(&self, name: &str) -> Result<Option<T>, Failure> {
        match self.text(name) {
            "" => Ok(None),
            _ => self.value(name).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named_with_their_place() {
        let names = ["name", "rows"];
        let said = |text| match lines("a.csv", text, &names) {
            Err(e) => e.to_string(),
            Ok(lines) => match lines[0].value::<u64>("rows") {
                Err(e) => e.to_string(),
                Ok(rows) => rows.to_string(),
            },
        };
        assert_eq!(said("name,rows\nx,3\n"), "3");
        assert_eq!(said("# a table\nname,rows\n# its row\nx,3\n"), "3");
        assert_eq!(
            said("name,rows\n\nx,y\n"),
            "a.csv, line 3, column rows: \"y\""
        );
        assert_eq!(said("name,rows\nx\n"), "a.csv, line 2: it has 1 cells");
        assert_eq!(said("name\nx\n"), "a.csv, line 1: the columns are \"name\"");
        assert_eq!(cell("a, \"b\"\nc"), "a;  b  c");
    }
}
