//! Names of sections.

use super::LpReader;
use crate::lp_format::lex::WordKind;
use crate::model::Sense;

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum LpSection {
    Objective(Sense),
    Rows,
    Bounds,
    General,
    Binary,
    End,
    /// Columns that are 0 or within their bounds.
    Semicontinuous,
    /// Special ordered sets; the heading may state their width.
    Sets(Option<u8>),
    /// Functions of columns, and implications.
    GeneralConstraints,
    /// An unsupported section, described in words.
    Unsupported(&'static str),
}

impl LpReader<'_> {
    /// The section that starts here and the number of words in its name.
    pub(super) fn section(&self) -> Option<(LpSection, usize)> {
        let t = self.peek();
        if t.kind == WordKind::End {
            return Some((LpSection::End, 0));
        }
        // A label may have any name: `end: x >= 1` is a row.
        if !t.first || t.kind != WordKind::Name || self.is_label() {
            return None;
        }
        let second = self.ahead(1).text.to_ascii_lowercase();
        // CPLEX reads `subject to:` as well.
        let colon = usize::from(self.ahead(2).kind == WordKind::Colon);
        let constraints = matches!(second.as_str(), "constraint" | "constraints" | "cons");
        Some(match t.text.to_ascii_lowercase().as_str() {
            "min" | "minimise" | "minimize" | "minimum" => {
                (LpSection::Objective(Sense::Minimise), 1)
            }
            "max" | "maximise" | "maximize" | "maximum" => {
                (LpSection::Objective(Sense::Maximise), 1)
            }
            "subject" if second == "to" => (LpSection::Rows, 2 + colon),
            "such" if second == "that" => (LpSection::Rows, 2 + colon),
            "st" | "s.t." | "st." => (LpSection::Rows, 1),
            "bound" | "bounds" => (LpSection::Bounds, 1),
            "general" | "gen" if constraints => (LpSection::GeneralConstraints, 2),
            "gencons" | "g.c." => (LpSection::GeneralConstraints, 1),
            "gen" | "general" | "generals" | "int" | "integer" | "integers" => {
                (LpSection::General, 1)
            }
            "bin" | "binary" | "binaries" => (LpSection::Binary, 1),
            "semi" | "semis" | "semi-continuous" => (LpSection::Semicontinuous, 1),
            "sos" => (LpSection::Sets(None), 1),
            "sos1" => (LpSection::Sets(Some(1)), 1),
            "sos2" => (LpSection::Sets(Some(2)), 1),
            "pwlobj" => (LpSection::Unsupported("piecewise linear objectives"), 1),
            "lazy" if constraints => (LpSection::Unsupported("lazy constraints"), 2),
            "user" if second == "cuts" => (LpSection::Unsupported("user cuts"), 2),
            "end" => (LpSection::End, 1),
            _ => return None,
        })
    }
}
