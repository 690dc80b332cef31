//! Writing of `.sol` files.

use std::fmt::Write as _;

/// The answer to a `.nl` file.
#[derive(Clone, Debug)]
pub struct NlSolution<'a> {
    /// Message for the user.
    pub message: &'a str,
    /// Options of the `.nl` file.
    pub options: &'a [i64],
    /// Number of rows and of columns.
    pub size: (usize, usize),
    /// Dual value of each row, if available.
    pub duals: Option<&'a [f64]>,
    /// Value of each column, if there is a point.
    pub x: Option<&'a [f64]>,
    /// Number of the objective, from 1; 0 for no objective.
    pub objective: usize,
    /// Result code: 0 to 99 solved, 200 infeasible, 300 unbounded, 400 a limit, 500 failure.
    pub result: i32,
}

impl NlSolution<'_> {
    /// The text of a `.sol` file.
    pub fn to_text(&self) -> String {
        // Writing to a String cannot fail.
        let mut out = String::new();
        let mut message = self.message.trim();
        if message.is_empty() {
            message = "remat-bb";
        }
        // An empty line would end the message.
        for line in message.lines().filter(|l| !l.trim().is_empty()) {
            let _ = writeln!(out, "{line}");
        }
        let _ = writeln!(out, "\nOptions\n{}", self.options.len());
        for option in self.options {
            let _ = writeln!(out, "{option}");
        }
        let (rows, cols) = self.size;
        let vectors = [(rows, self.duals), (cols, self.x)];
        for (len, values) in vectors {
            let _ = writeln!(out, "{len}\n{}", values.map_or(0, <[f64]>::len));
        }
        for (_, values) in vectors {
            for value in values.unwrap_or_default() {
                let _ = writeln!(out, "{value}");
            }
        }
        let _ = writeln!(
            out,
            "objno {} {}",
            self.objective.saturating_sub(1),
            self.result
        );
        out
    }
}
