//! Writing LP files, with shortest decimal numbers that read back to the same bits.

use super::LpFormatError;
use super::lex::is_safe_name;
use crate::ids::Bounds;
use crate::model::{Model, Sense};
use crate::model_file::{ModelFile, Specials};
use crate::quadratic::Quadratic;
use crate::text_file;
use std::fmt::Write as _;
use std::path::Path;

/// Lines are broken after this many characters; CPLEX reads up to 560.
const WIDTH: usize = 100;

/// Members of an ordered set on a line.
const SET_MEMBERS: usize = 8;

/// Writes a model to a file, gzipped if its name ends in `.gz`.
///
/// # Errors
/// [`LpFormatError::Io`].
pub fn write(model: &Model, path: impl AsRef<Path>) -> Result<(), LpFormatError> {
    write_text(&to_string(model), path.as_ref())
}

/// Writes a model with its special parts, gzipped if the file name ends in `.gz`.
///
/// # Errors
/// [`LpFormatError::Io`].
pub fn write_all(file: &ModelFile, path: impl AsRef<Path>) -> Result<(), LpFormatError> {
    write_text(&to_string_all(file), path.as_ref())
}

fn write_text(text: &str, path: &Path) -> Result<(), LpFormatError> {
    let io = |source| LpFormatError::Io {
        file: path.display().to_string(),
        source,
    };
    text_file::write(path, text).map_err(io)
}

/// The model as the text of an LP file. Reading it gives the same model, with two exceptions. If
/// the format cannot hold a name, all names of that kind are replaced by `x0, x1, ...` or
/// `r0, r1, ...`. A model without columns loses its rows, which the format cannot state. The
/// model's name becomes a comment.
pub fn to_string(model: &Model) -> String {
    text_of(model, &Specials::default())
}

/// A model with its special parts as text, like [`to_string`]. Ordered sets get generated names.
///
/// ```
/// let text = "Minimize\n x\nSubject To\n on: b = 1 -> x >= 2\nBinary\n b\nEnd";
/// let file = remat_lp::lp_format::parse_all(text, "example")?;
/// let again = remat_lp::lp_format::to_string_all(&file);
/// assert_eq!(remat_lp::lp_format::parse_all(&again, "again")?, file);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_string_all(file: &ModelFile) -> String {
    text_of(&file.model, &file.specials)
}

fn text_of(model: &Model, specials: &Specials) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = render(model, specials, &mut out);
    out
}

/// Returns whether the columns keep their order by first appearance if the objective contains only
/// nonzero costs.
fn order_is_kept(model: &Model) -> bool {
    let in_objective = (0..model.num_cols()).filter(|&j| model.cost[j] != 0.0);
    let in_rows =
        (0..model.num_rows()).flat_map(|i| model.row_slices(i).0.iter().map(|&j| j as usize));
    let mut seen = vec![false; model.num_cols()];
    let mut next = 0;
    for j in in_objective.chain(in_rows) {
        if !seen[j] {
            if j != next {
                return false;
            }
            seen[j] = true;
            next += 1;
        }
    }
    next == model.num_cols()
}

/// Writes terms, breaking long lines.
struct TermWriter<'a> {
    out: &'a mut String,
    line_start: usize,
    first: bool,
}

impl<'a> TermWriter<'a> {
    fn new(out: &'a mut String) -> Self {
        let line_start = out.rfind('\n').map_or(0, |k| k + 1);
        TermWriter {
            out,
            line_start,
            first: true,
        }
    }

    fn sign(&mut self, v: f64) -> std::fmt::Result {
        if self.out.len() - self.line_start > WIDTH {
            self.out.push_str("\n  ");
            self.line_start = self.out.len() - 2;
        }
        match (v.is_sign_negative(), self.first) {
            (true, _) => write!(self.out, " -"),
            (false, true) => Ok(()),
            (false, false) => write!(self.out, " +"),
        }?;
        self.first = false;
        Ok(())
    }

    /// Twice each product, and the half of them.
    fn products(&mut self, quadratic: &Quadratic, cols: &[String]) -> std::fmt::Result {
        self.sign(1.0)?;
        self.out.push_str(" [");
        self.first = true;
        for (a, b, factor) in quadratic.products() {
            self.term(2.0 * factor, &cols[a.index()])?;
            match a == b {
                true => self.out.push_str(" ^ 2"),
                false => write!(self.out, " * {}", cols[b.index()])?,
            }
        }
        self.out.push_str(" ] / 2");
        Ok(())
    }

    fn term(&mut self, v: f64, name: &str) -> std::fmt::Result {
        self.sign(v)?;
        if v.abs() == 1.0 {
            write!(self.out, " {name}")
        } else {
            write!(self.out, " {} {name}", number(v.abs()))
        }
    }
}

/// The shorter of decimal and scientific notation.
fn number(v: f64) -> String {
    if v == f64::INFINITY {
        return "inf".into();
    }
    if v == f64::NEG_INFINITY {
        return "-inf".into();
    }
    let (plain, scientific) = (format!("{v}"), format!("{v:e}"));
    if plain.len() <= scientific.len() {
        plain
    } else {
        scientific
    }
}

fn render(model: &Model, specials: &Specials, out: &mut String) -> std::fmt::Result {
    let (cols, rows) = text_file::names(model, is_safe_name);
    if !model.name.is_empty() {
        writeln!(out, "\\ {}", model.name.replace(['\n', '\r'], " "))?;
    }
    writeln!(
        out,
        "{}",
        if model.sense == Sense::Minimise {
            "Minimize"
        } else {
            "Maximize"
        }
    )?;
    write!(out, " obj:")?;
    let all = specials.quadratic.is_some() || !order_is_kept(model);
    let mut terms = TermWriter::new(out);
    for (name, &c) in cols.iter().zip(&model.cost) {
        if all || c != 0.0 {
            terms.term(c, name)?;
        }
    }
    if model.offset != 0.0 {
        terms.sign(model.offset)?;
        write!(terms.out, " {}", number(model.offset.abs()))?;
    }
    if let Some(quadratic) = &specials.quadratic {
        terms.products(quadratic, &cols)?;
    }
    writeln!(out, "\nSubject To")?;
    for (i, name) in rows.iter().enumerate() {
        write!(out, " {name}:")?;
        let sides = Bounds::new(model.row_lower[i], model.row_upper[i]);
        relation(model.row_entries(i), sides, &cols, out)?;
    }
    for implication in &specials.implications {
        if is_safe_name(&implication.name) {
            write!(out, " {}:", implication.name)?;
        }
        let value = u8::from(implication.value);
        write!(out, " {} = {value} ->", cols[implication.col.index()])?;
        let entries = implication.entries.iter().map(|&(j, v)| (j.index(), v));
        relation(entries, implication.sides, &cols, out)?;
    }
    let mut header = "Bounds\n";
    for (j, name) in cols.iter().enumerate() {
        if let Some(line) = bound(
            model.col_lower[j],
            model.col_upper[j],
            is_binary(model, j),
            name,
        ) {
            writeln!(out, "{}{line}", std::mem::take(&mut header))?;
        }
    }
    for (title, binary) in [("General", false), ("Binary", true)] {
        let members =
            || (0..cols.len()).filter(|&j| model.integer[j] && is_binary(model, j) == binary);
        if members().next().is_some() {
            writeln!(out, "{title}")?;
            members().try_for_each(|j| writeln!(out, " {}", cols[j]))?;
        }
    }
    let mut header = "Semi-Continuous\n";
    for col in &specials.semicontinuous {
        writeln!(out, "{} {}", std::mem::take(&mut header), cols[col.index()])?;
    }
    let mut header = "SOS\n";
    for (k, set) in specials.sets.iter().enumerate() {
        write!(
            out,
            "{} s{k}: S{} ::",
            std::mem::take(&mut header),
            set.width
        )?;
        for (n, &(col, weight)) in set.members.iter().enumerate() {
            let space = if n % SET_MEMBERS == SET_MEMBERS - 1 {
                "\n  "
            } else {
                " "
            };
            write!(out, "{space}{}:{}", cols[col.index()], number(weight))?;
        }
        writeln!(out)?;
    }
    writeln!(out, "End")
}

fn is_binary(model: &Model, j: usize) -> bool {
    model.integer[j] && model.col_lower[j] == 0.0 && model.col_upper[j] == 1.0
}

/// Writes terms with the sides of their sum.
fn relation(
    entries: impl Iterator<Item = (usize, f64)>,
    sides: Bounds,
    cols: &[String],
    out: &mut String,
) -> std::fmt::Result {
    let (l, u) = (sides.lower, sides.upper);
    let ranged = l.is_finite() && u.is_finite() && l != u;
    if ranged {
        write!(out, " {} <=", number(l))?;
    }
    let mut terms = TermWriter::new(out);
    for (j, v) in entries {
        terms.term(v, &cols[j])?;
    }
    match cols.first() {
        Some(name) if terms.first => terms.term(0.0, name)?,
        None if ranged => write!(terms.out, " 0")?,
        _ => {}
    }
    match (l.is_finite(), u.is_finite()) {
        (true, true) if l == u => writeln!(out, " = {}", number(l)),
        (_, true) => writeln!(out, " <= {}", number(u)),
        (true, false) => writeln!(out, " >= {}", number(l)),
        (false, false) => writeln!(out, " >= -inf"),
    }
}

/// Entry of the Bounds section for a column, if it needs one.
fn bound(l: f64, u: f64, binary: bool, name: &str) -> Option<String> {
    if binary || (l == 0.0 && u == f64::INFINITY) {
        return None;
    }
    Some(if l == u {
        format!(" {name} = {}", number(l))
    } else if l == f64::NEG_INFINITY && u == f64::INFINITY {
        format!(" {name} free")
    } else if u == f64::INFINITY {
        format!(" {name} >= {}", number(l))
    } else if l == 0.0 {
        format!(" {name} <= {}", number(u))
    } else {
        format!(" {} <= {name} <= {}", number(l), number(u))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{Bounds, ColId, RowId};
    use crate::lp_format::parse;
    use crate::model::ModelBuilder;
    use crate::temporary::Temporary;

    /// A model with every kind of row, bound and marker, and columns that first appear out of
    /// order.
    fn motley(named: bool) -> Model {
        let mut b = ModelBuilder::new(Sense::Maximise);
        b.set_offset(-0.1);
        let inf = f64::INFINITY;
        let bounds = [
            (0.0, inf),
            (-inf, inf),
            (-inf, 3.0),
            (1.0 / 3.0, 1e19),
            (2.0, 2.0),
            (-5.0, inf),
            (0.0, 1.0),
        ];
        let x: Vec<ColId> = bounds
            .iter()
            .enumerate()
            .map(|(k, &(l, u))| b.add_col([0.0, -1e-17, 3.25][k % 3], l..=u))
            .collect();
        b.set_integer(x[3], true);
        b.set_integer(x[6], true);
        b.add_row(-2.0..=5.0, [(x[5], 1.0), (x[0], -1.0)]);
        b.add_row(1e-300.., [(x[5], 123456789.123)]);
        b.add_row(..=7.0, []);
        b.add_row(4.0, [(x[2], -0.5)]);
        b.add_row(Bounds::FREE, (0..6).map(|k| (x[k], 1.0 + k as f64)));
        if named {
            for (k, &c) in x.iter().enumerate() {
                b.set_col_name(c, format!("col[{k}]"));
            }
            for i in 0..5 {
                b.set_row_name(RowId(i), format!("row_{i}"));
            }
        }
        b.build().unwrap()
    }

    #[test]
    fn a_written_model_reads_back_the_same() {
        let m = motley(true);
        let text = to_string(&m);
        assert_eq!(parse(&text, "t").unwrap(), m, "{text}");
    }

    #[test]
    fn names_that_cannot_be_written_are_replaced() {
        let mut m = motley(false);
        m.col_names = ["a", "b c", "", "", "", "", ""].map(String::from).to_vec();
        let back = parse(&to_string(&m), "t").unwrap();
        assert_eq!(back.col_name(ColId(1)), "x1");
        assert_eq!(back.costs(), m.costs());
        assert_eq!(back.rows, m.rows);
    }

    #[test]
    fn long_rows_are_broken() {
        let mut b = ModelBuilder::new(Sense::Minimise);
        let x: Vec<ColId> = (0..500)
            .map(|k| b.add_col(f64::from(k) + 0.5, 0.0..))
            .collect();
        b.add_row(1.0.., x.iter().map(|&c| (c, -1.0 / 3.0)));
        let m = b.build().unwrap();
        let text = to_string(&m);
        assert!(text.lines().all(|l| l.len() < 200));
        let back = parse(&text, "t").unwrap();
        assert_eq!((back.costs(), &back.rows), (m.costs(), &m.rows));
    }

    #[test]
    fn gzipped_files_round_trip() {
        let m = motley(true);
        let folder = Temporary::folder(&std::env::temp_dir(), "remat-lp-format-").unwrap();
        let path = folder.path().join("m.lp.gz");
        write(&m, &path).unwrap();
        assert!(std::fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]));
        assert_eq!(crate::lp_format::read(&path).unwrap(), m);
    }
}
