//! Values of programs that are known beforehand, from other projects' files.

use remat_bb::failure::Failure;
use std::collections::BTreeMap;

/// The objective of the best solution known of each program, in its own sense and units.
pub type KnownObjectives = BTreeMap<String, f64>;

/// Columns that name a program, and those that have its best value, in a table.
const NAMES: [&str; 2] = ["name", "program"];
const VALUES: [&str; 3] = ["best", "best_known", "optimum"];

/// Reads known values from a text that errors call `file`. It is MIPLIB's `.solu`, or a table with
/// commas whose heading has a column `name` and one of `best`, `best_known` or `optimum`. Of
/// `.solu` only lines of `=opt=` or `=best=`, a name and a value are read: the others are about
/// programs without a known solution.
///
/// # Errors
/// [`Failure::Usage`] with the line of an invalid value, and for a heading without the columns.
pub fn parse(file: &str, text: &str) -> Result<KnownObjectives, Failure> {
    match text.trim_start().starts_with('=') {
        true => solu(file, text),
        false => table(file, text),
    }
}

fn solu(file: &str, text: &str) -> Result<KnownObjectives, Failure> {
    let mut known = KnownObjectives::new();
    for (k, line) in text.lines().enumerate() {
        let mut words = line.split_whitespace();
        let (Some("=opt=" | "=best="), Some(name)) = (words.next(), words.next()) else {
            continue;
        };
        let cell = words.next().unwrap_or("");
        known.insert(name.to_owned(), value(file, k + 1, cell)?);
    }
    Ok(known)
}

fn table(file: &str, text: &str) -> Result<KnownObjectives, Failure> {
    let mut lines = text.lines().enumerate();
    let heading: Vec<&str> = lines.next().map_or("", |(_, l)| l).split(',').collect();
    let column = |names: &[&str]| heading.iter().position(|h| names.contains(&h.trim()));
    let (Some(name), Some(best)) = (column(&NAMES), column(&VALUES)) else {
        return Err(Failure::Usage {
            problem: format!("{file}, line 1: the columns are {:?}", heading.join(",")),
            remedy: "a table of known values has a column name and one of best, best_known or \
                     optimum; MIPLIB's .solu does as well"
                .into(),
        });
    };
    let mut known = KnownObjectives::new();
    for (k, line) in lines {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let at = |column: usize| cells.get(column).copied().unwrap_or("");
        if !at(best).is_empty() {
            known.insert(at(name).to_owned(), value(file, k + 1, at(best))?);
        }
    }
    Ok(known)
}

fn value(file: &str, line: usize, cell: &str) -> Result<f64, Failure> {
    let value = cell.parse().ok().filter(|v: &f64| v.is_finite());
    value.ok_or_else(|| Failure::Usage {
        problem: format!("{file}, line {line}: the value {cell:?}"),
        remedy: "it should be a finite number".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        match parse("known", text) {
            Ok(known) => format!("{known:?}"),
            Err(e) => e.to_string(),
        }
    }

    #[test]
    fn files_of_miplib_and_tables_are_read() {
        let solu = "=opt=  p 3.5\n=inf=  q\n=unkn= r\n=best= s -2e3\n";
        assert_eq!(said(solu), r#"{"p": 3.5, "s": -2000.0}"#);
        let table = "name,rows,best_known\np,4,3.5\nq,7,\n";
        assert_eq!(said(table), r#"{"p": 3.5}"#);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        assert_eq!(said("=opt= p\n"), "known, line 1: the value \"\"");
        assert_eq!(
            said("name,best\np,1\nq,inf\n"),
            "known, line 3: the value \"inf\""
        );
        assert_eq!(
            said("name,value\n"),
            "known, line 1: the columns are \"name,value\""
        );
    }
}
