//! Tables with commas, without quotes: cells have no commas.

use remat_bb::failure::Failure;

/// A cell's text; commas, quotes and line breaks are replaced.
pub(super) fn cell(text: &str) -> String {
    let text = text.replace(',', ";");
    text.replace(['\n', '\r', '"'], " ").trim().to_owned()
}

/// A number as a cell; empty for `None`.
pub(super) fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

/// A line of a table.
pub(super) struct CsvLine<'a> {
    file: &'a str,
    /// From 1; the heading is the first.
    number: usize,
    names: &'a [&'a str],
    cells: Vec<&'a str>,
}

/// The lines of a table below its heading, which must have these columns in this order.
///
/// # Errors
/// [`Failure::Usage`] for another heading, and for lines of another length.
pub(super) fn lines<'a>(
    file: &'a str,
    text: &'a str,
    names: &'a [&'a str],
) -> Result<Vec<CsvLine<'a>>, Failure> {
    let mut rows = text.lines().enumerate().map(|(k, line)| (k + 1, line));
    let heading = rows.next().map_or("", |(_, line)| line);
    if heading.split(',').ne(names.iter().copied()) {
        return Err(Failure::Usage {
            problem: format!("{file}, line 1: the columns are {heading:?}"),
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
        assert_eq!(
            said("name,rows\n\nx,y\n"),
            "a.csv, line 3, column rows: \"y\""
        );
        assert_eq!(said("name,rows\nx\n"), "a.csv, line 2: it has 1 cells");
        assert_eq!(said("name\nx\n"), "a.csv, line 1: the columns are \"name\"");
        assert_eq!(cell("a, \"b\"\nc"), "a;  b  c");
    }
}
