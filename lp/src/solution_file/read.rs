//! Reading solution files: the format of each solver, recognised by its first line.

use super::{SolutionFile, xml};
use std::collections::HashSet;

/// An invalid word and its place.
pub(super) struct Fault<'a> {
    /// Line number, from 1.
    pub line: usize,
    /// The word at fault.
    pub token: &'a str,
    /// Description of the mistake and of a correct form.
    pub message: &'static str,
}

impl<'a> Fault<'a> {
    pub fn new(line: usize, token: &'a str, message: &'static str) -> Self {
        Fault {
            line,
            token,
            message,
        }
    }
}

/// File formats by the program that writes them.
#[derive(Clone, Copy)]
enum Writer {
    /// Headers with `#`, then `name value`: Gurobi, MIPLIB, and this crate.
    Plain,
    /// `objective value: 3`, then `name value (obj:1)`.
    Scip,
    /// `Optimal - objective value 3`, then `index name value dual`; rows may come first.
    Cbc,
    /// Sections that begin with `#`; `# Columns` begins the section of columns.
    Highs,
}

const NO_SOLUTION: &str = "the file says that there is no solution";

/// Reads text in any of the formats.
pub(super) fn parse(text: &str) -> Result<SolutionFile, Fault<'_>> {
    let first = text.lines().find(|l| !l.trim().is_empty()).unwrap_or("");
    let first = first.trim();
    let start = |beginning: &str| first.starts_with(beginning);
    let out = if start("<") {
        xml::parse(text)?
    } else {
        let writer = if start("solution status:") || start("objective value:") {
            Writer::Scip
        } else if first == "Model status" {
            Writer::Highs
        } else if first.contains(" - objective value ") {
            Writer::Cbc
        } else {
            Writer::Plain
        };
        lines(text, writer)?
    };
    Ok(out)
}

/// Reads formats with one value per line.
fn lines(text: &str, writer: Writer) -> Result<SolutionFile, Fault<'_>> {
    let mut reader = LineReader::default();
    for (k, line) in text.lines().enumerate() {
        reader.line = k + 1;
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        match writer {
            Writer::Plain => reader.plain(line),
            Writer::Scip => reader.scip(line),
            Writer::Cbc => reader.cbc(line),
            Writer::Highs => reader.highs(line),
        }?;
    }
    Ok(reader.out)
}

#[derive(Default)]
struct LineReader<'a> {
    out: SolutionFile,
    /// Names with a value so far.
    names: HashSet<&'a str>,
    /// The line being read.
    line: usize,
    /// CBC: the index of the last line.
    index: Option<u64>,
    /// HiGHS: the section.
    section: &'a str,
}

impl<'a> LineReader<'a> {
    fn number(&self, word: &'a str) -> Result<f64, Fault<'a>> {
        number(word).ok_or(Fault::new(self.line, word, "a finite number was expected"))
    }

    /// Reads the line `name value`.
    fn value(&mut self, line: &'a str) -> Result<(), Fault<'a>> {
        let Some((name, value)) = line.rsplit_once(char::is_whitespace) else {
            let message = "a column's name and its value were expected";
            return Err(Fault::new(self.line, line, message));
        };
        let (name, value) = (name.trim(), self.number(value)?);
        if !self.names.insert(name) {
            return Err(Fault::new(
                self.line,
                name,
                "this column has a value already",
            ));
        }
        self.out.values.push((name.to_string(), value));
        Ok(())
    }

    fn objective(&mut self, word: &'a str) -> Result<(), Fault<'a>> {
        self.out.objective = Some(self.number(word.trim())?);
        Ok(())
    }

    fn plain(&mut self, line: &'a str) -> Result<(), Fault<'a>> {
        if let Some(objective) = line.strip_prefix("=obj=") {
            return self.objective(objective);
        }
        if line == "=infeas=" {
            return Err(Fault::new(self.line, line, NO_SOLUTION));
        }
        if line == "Columns" && self.line == 1 {
            let message =
                "this is HiGHS's table for readers; have it write its files in the raw style, 0";
            return Err(Fault::new(self.line, line, message));
        }
        let Some(header) = line.strip_prefix('#') else {
            return self.value(line);
        };
        let header = header.trim();
        if let Some(rest) = header.strip_prefix("Model") {
            self.out.model = rest.trim().to_string();
        } else if let Some(rest) = header.strip_prefix("Status") {
            self.out.status = rest.trim().to_string();
        } else if let Some(rest) = header.strip_prefix("Objective value") {
            return self.objective(rest.trim_start_matches([' ', '=']));
        }
        Ok(())
    }

    fn scip(&mut self, line: &'a str) -> Result<(), Fault<'a>> {
        if let Some(status) = line.strip_prefix("solution status:") {
            self.out.status = status.trim().to_string();
            return Ok(());
        }
        if let Some(objective) = line.strip_prefix("objective value:") {
            return self.objective(objective);
        }
        if line == "no solution available" {
            return Err(Fault::new(self.line, line, NO_SOLUTION));
        }
        // The coefficient in the objective follows the value.
        let end = line.rfind("(obj:").unwrap_or(line.len());
        self.value(line[..end].trim_end())
    }

    fn cbc(&mut self, line: &'a str) -> Result<(), Fault<'a>> {
        if let Some((status, objective)) = line.split_once(" - objective value ") {
            self.out.status = status.to_string();
            return self.objective(objective);
        }
        // Stars mark infeasible values.
        let line = line.trim_start_matches(['*', ' ']);
        let parts = line.split_once(char::is_whitespace);
        let parts = parts.and_then(|(index, rest)| {
            let (rest, _dual) = rest.trim().rsplit_once(char::is_whitespace)?;
            Some((index.parse::<u64>().ok()?, rest.trim()))
        });
        let Some((index, rest)) = parts else {
            let message = "an index, a column's name, its value and its reduced cost were expected";
            return Err(Fault::new(self.line, line, message));
        };
        // When indices start again, columns begin; the lines before were rows.
        if self.index.replace(index).is_some_and(|last| index <= last) {
            self.out.values.clear();
            self.names.clear();
        }
        self.value(rest)
    }

    fn highs(&mut self, line: &'a str) -> Result<(), Fault<'a>> {
        if let Some(section) = line.strip_prefix('#') {
            // The dual values follow the primal ones and have columns of their own.
            if self.section != DUAL {
                self.section = section.trim();
            }
            return Ok(());
        }
        match self.section {
            section if section.starts_with("Columns") => self.value(line),
            PRIMAL if line == "None" => Err(Fault::new(self.line, line, NO_SOLUTION)),
            PRIMAL => match line.strip_prefix("Objective ") {
                Some(objective) => self.objective(objective),
                None => Ok(()),
            },
            "" if line != "Model status" => {
                self.out.status = line.to_string();
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

const PRIMAL: &str = "Primal solution values";
const DUAL: &str = "Dual solution values";

/// Reads a finite number.
pub(super) fn number(word: &str) -> Option<f64> {
    word.parse::<f64>().ok().filter(|v| v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objective, status and values of a file.
    fn read(text: &str) -> (Option<f64>, String, Vec<(String, f64)>) {
        let file = SolutionFile::parse(text, "t.sol").unwrap_or_else(|e| panic!("{e}\n{text}"));
        (file.objective, file.status, file.values)
    }

    #[test]
    fn files_of_many_programs_hold_the_same_solution() {
        let values = [("flow", 9.5), ("open[1]", 1.0), ("loss", -3e-5)];
        let values = values.map(|(n, v)| (n.to_string(), v));
        let files = [
            (
                "# Solution for model m\n# Objective value = 38\nflow 9.5\nopen[1] 1\nloss -3e-05\n",
                "",
            ),
            ("=obj= 38\nflow   9.5\nopen[1]   1\nloss\t-3e-05\n", ""),
            (
                "solution status: optimal solution found\nobjective value:            38\nflow           9.5 \t(obj:3)\n\
                 open[1]      1 \t(obj:0)\nloss    -3e-05 \t(obj:-1)\n",
                "optimal solution found",
            ),
            (
                "Optimal - objective value 38.00000000\n      0 flow       9.5     0\n**    2 open[1]   1   3\n      7 loss  -3e-05  -0\n",
                "Optimal",
            ),
            (
                "Stopped on time - objective value 38\n 0 row 7 1\n 3 row2 8 1\n 0 flow 9.5 0\n 1 open[1] 1 3\n 2 loss -3e-05 0\n",
                "Stopped on time",
            ),
            (
                "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 38\nMIP_rel_gap 0\n# Columns 3\nflow 9.5\n\
                 open[1] 1\nloss -3e-05\n# Rows 1\nflow 7\n\n# Dual solution values\nFeasible\n# Columns 3\nflow 0\n\
                 open[1] 2\nloss 0\n# Rows 1\nflow 0\n\n# Basis\nHiGHS_basis_file v2\nNone\n",
                "Optimal",
            ),
            (
                "<?xml version = \"1.0\" encoding=\"UTF-8\"?>\n<!-- by <hand> -->\n<CPLEXSolution version=\"1.2\">\n <header\n   objectiveValue=\"38\"\n   \
                 solutionStatusString=\"integer optimal\"/>\n <variables>\n  <variable name=\"flow\" index=\"0\" value=\"9.5\"/>\n  \
                 <variable name='open[1]' index=\"1\" value=\"1\"/>\n  <variable name=\"l&#111;ss\" index=\"2\" value=\"-3e-05\"/>\n </variables>\n\
                 </CPLEXSolution>\n",
                "integer optimal",
            ),
        ];
        for (text, status) in files {
            let expected = (Some(38.0), status.to_string(), values.to_vec());
            assert_eq!(read(text), expected, "{text}");
            assert_eq!(read(&text.replace('\n', "\r\n")), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_solution_is_refused_with_line_and_word() {
        let cases = [
            ("x 1\nx 2\n", 2, "x", "already"),
            ("x 1\ny inf\n", 2, "inf", "finite"),
            ("x 1\ny nan\n", 2, "nan", "finite"),
            ("=infeas=\n", 1, "=infeas=", "no solution"),
            (
                "solution status: infeasible\nno solution available\n",
                2,
                "no solution available",
                "no solution",
            ),
            (
                "Model status\nInfeasible\n\n# Primal solution values\nNone\n",
                5,
                "None",
                "no solution",
            ),
            (
                "Optimal - objective value 3\n x 1 0\n",
                2,
                "x 1 0",
                "an index",
            ),
            (
                "Optimal - objective value 3\n 0 x one 0\n",
                2,
                "one",
                "finite",
            ),
            ("Columns\n  Index Status\n", 1, "Columns", "raw style"),
            (
                "x\u{1b}[2J 1\n\u{1b}[2J\n",
                2,
                "\\u{1b}[2J",
                "name and its value",
            ),
            (
                "<CPLEXSolution>\n<variable name=\"x\" value=\"1x\"/>\n",
                2,
                "1x",
                "finite",
            ),
            (
                "<CPLEXSolution>\n<variable\n name=\"x\"/>\n",
                2,
                "variable",
                "`value`",
            ),
            (
                "<CPLEXSolution>\n<variable name=\"x\" value=\"1\"",
                2,
                "variable",
                "ends",
            ),
            ("<html>\n", 1, "html", "CPLEX"),
        ];
        for (text, line, token, part) in cases {
            let error = SolutionFile::parse(text, "t.sol").unwrap_err().to_string();
            let place = format!("t.sol, line {line}, at `{token}`: ");
            assert!(error.starts_with(&place) && error.contains(part), "{error}");
        }
    }

    #[test]
    fn the_first_of_several_cplex_starts_is_read() {
        let one = |x: u32| {
            format!(
                "<CPLEXSolution><header/><variables><variable name=\"a&lt;b&amp;&quot;\" value=\"{x}\"/></variables>\
                 </CPLEXSolution>"
            )
        };
        let text = format!(
            "<CPLEXSolutions version=\"1.2\">{}{}</CPLEXSolutions>",
            one(1),
            one(2)
        );
        assert_eq!(read(&text).2, [("a<b&\"".to_string(), 1.0)]);
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

        /// Any text is either read or rejected.
        #[test]
        fn any_text_is_read_or_refused(words in proptest::collection::vec(proptest::sample::select(WORDS.to_vec()), 0..30)) {
            let text = words.concat();
            if let Ok(file) = SolutionFile::parse(&text, "t") {
                proptest::prop_assert!(file.values.iter().all(|v| v.1.is_finite()));
            }
        }
    }

    const WORDS: [&str; 24] = [
        "x",
        " ",
        "\n",
        "1",
        "1e400",
        "-",
        "#",
        "# Columns 3\n",
        "Model status\n",
        "# Primal solution values\n",
        "objective value: ",
        "Optimal - objective value 3\n",
        "=obj=",
        "<",
        ">",
        "/>",
        "<CPLEXSolution>",
        "<variable ",
        "name=\"x\"",
        " value='1'",
        "&amp;",
        "&#x41;",
        "\"",
        "é",
    ];
}
