//! Programs of files, and files of programs.

use super::compile::quadratic;
use super::{Col, Kind, Product, Program, ProgramError, SosType, Special, lower};
use remat_lp::nl::{NlProblem, Piecewise};
use remat_lp::{Bounds, ColId, Implication, Model, ModelFile, OrderedSet, RowId, Specials};
use std::collections::{BTreeMap, HashSet};

/// Endings of names of compressed files that are not written.
const COMPRESSED: [&str; 8] = ["7z", "bz2", "lz4", "lzma", "xz", "z", "zip", "zst"];

/// Checks that the name of a file does not promise a compression that is not written: gzip is.
///
/// # Errors
/// [`ProgramError::Ending`].
pub fn check_ending(path: &str) -> Result<(), ProgramError> {
    let ending = path.rsplit_once('.').map(|(_, ending)| ending);
    match ending {
        Some(ending) if COMPRESSED.contains(&ending.to_lowercase().as_str()) => {
            Err(ProgramError::Ending {
                ending: ending.into(),
            })
        }
        _ => Ok(()),
    }
}

impl Program {
    /// The program of a model: handles are the model's own indices.
    ///
    /// # Errors
    /// [`ProgramError::NotFinite`] for numbers that a program does not accept.
    pub fn of_model(model: &Model) -> Result<Program, ProgramError> {
        let mut program = Program::default();
        program.rounded = model.rounded().map(ToString::to_string);
        program.set_name(model.name());
        program.set_sense(model.sense());
        program.set_offset(model.offset())?;
        for j in 0..model.num_cols() {
            let id = ColId(j as u32);
            let (lower, upper) = (model.col_lower()[j], model.col_upper()[j]);
            let kind = match model.is_integer(id) {
                true if lower == 0.0 && upper == 1.0 => Kind::Binary,
                true => Kind::Integer,
                false => Kind::Continuous,
            };
            let name = model.col_name(id);
            program.add_col(lower, upper, model.costs()[j], kind, Some(&name))?;
        }
        for i in 0..model.num_rows() {
            let id = RowId(i as u32);
            let entries: Vec<_> = model.row(id).map(|(c, v)| (Col(c.0), v)).collect();
            let name = model.row_name(id);
            let (lower, upper) = (model.row_lower()[i], model.row_upper()[i]);
            program.add_row(&entries, lower, upper, Some(&name))?;
        }
        Ok(program)
    }

    /// The program of a file, with its implications, ordered sets, semi-continuous columns and
    /// products of the objective.
    ///
    /// # Errors
    /// As [`Program::of_model`].
    ///
    /// ```
    /// use remat_models::program::Program;
    /// let text = "Maximize\n x + y\nBounds\n x <= 3\n y <= 2\nSOS\n s: S1 :: x:1 y:2\nEnd\n";
    /// let file = remat_lp::lp_format::parse_all(text, "example")?;
    /// let program = Program::of_file(&file)?;
    /// assert_eq!((program.specials().count(), program.file()?), (1, file));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_file(file: &ModelFile) -> Result<Program, ProgramError> {
        let ModelFile { model, specials } = file;
        let mut program = Program::of_model(model)?;
        let cols = |entries: &[(ColId, f64)]| -> Vec<(Col, f64)> {
            entries.iter().map(|&(j, v)| (Col(j.0), v)).collect()
        };
        for &ColId(j) in &specials.semicontinuous {
            let kind = match program.kind(Col(j))?.is_integer() {
                true => Kind::SemiInteger,
                false => Kind::SemiContinuous,
            };
            program.set_kind(Col(j), kind)?;
        }
        for implication in &specials.implications {
            program.add_special(Special::Indicator {
                col: Col(implication.col.0),
                value: implication.value,
                entries: cols(&implication.entries),
                lower: implication.sides.lower,
                upper: implication.sides.upper,
            })?;
        }
        for set in &specials.sets {
            let kind = match set.width {
                1 => SosType::One,
                _ => SosType::Two,
            };
            let members = cols(&set.members);
            program.add_special(Special::Sos { kind, members })?;
        }
        if let Some(quadratic) = &specials.quadratic {
            let products = quadratic.products().map(|(a, b, factor)| Product {
                first: Col(a.0),
                second: Col(b.0),
                factor,
            });
            program.set_products(products.collect())?;
        }
        Ok(program)
    }

    /// The program of a `.nl` file, with its ordered sets and piecewise terms. A term of the
    /// objective alone becomes a part of it.
    ///
    /// # Errors
    /// As [`Program::of_model`].
    pub fn of_nl(problem: &NlProblem) -> Result<Program, ProgramError> {
        let specials = Specials {
            sets: problem.sets.clone(),
            ..Specials::default()
        };
        let model = problem.model.clone();
        let mut program = Program::of_file(&ModelFile { model, specials })?;
        for Piecewise { x, y, points } in &problem.pieces {
            let (x, y) = (Col(x.0), Col(y.0));
            let cost = program.cost(y)?;
            let in_rows = problem.model.col(ColId(y.0)).next().is_some();
            if in_rows || cost == 0.0 || program.pieces().contains_key(&x) {
                let points = points.clone();
                program.add_special(Special::Pieces { x, y, points })?;
            } else {
                let points = points.iter().map(|&(x, value)| (x, cost * value));
                program.set_pieces(x, points.collect())?;
                program.set_cost(y, 0.0)?;
                program.set_col_bounds(y, 0.0, 0.0)?;
            }
        }
        Ok(program)
    }

    /// The file of the program: implications, ordered sets and semi-continuous columns in their own
    /// form, other special constraints as rows and columns.
    ///
    /// # Errors
    /// As [`Program::compile`], for the other special constraints.
    pub fn file(&self) -> Result<ModelFile, ProgramError> {
        let lowered = lower::beside_file(self)?;
        if let Some(open) = lowered.open.first() {
            return Err(open.missing.clone());
        }
        let products = lowered.products.clone();
        let ((mut builder, own, rows), _) = self.built(lowered)?;
        let mut ids = vec![ColId(u32::MAX); self.col_handles()];
        let mut specials = Specials::default();
        for (j, &col) in own.iter().enumerate() {
            let id = ColId(j as u32);
            ids[col.index()] = id;
            if self.kind(col)?.is_semi() {
                let (lower, upper) = self.col_bounds(col)?;
                builder.set_col_bounds(id, lower..=upper);
                specials.semicontinuous.push(id);
            }
        }
        let rows = rows.iter().map(|&row| self.row_name(row));
        let taken: HashSet<_> = rows.collect::<Result<_, _>>()?;
        let fresh = |k: usize| {
            let names = std::iter::successors(Some(format!("GC{k}")), |n| Some(format!("{n}_")));
            let mut names = names.skip_while(|name| taken.contains(&Some(name.as_str())));
            names.next().unwrap_or_default()
        };
        for (_, special) in self.specials() {
            match special {
                Special::Indicator {
                    col,
                    value,
                    entries,
                    lower,
                    upper,
                } => {
                    let mut sums = BTreeMap::new();
                    for (col, v) in entries {
                        *sums.entry(ids[col.index()]).or_insert(0.0) += v;
                    }
                    sums.retain(|_, v| *v != 0.0);
                    for sides in one_sided(*lower, *upper) {
                        let name = fresh(specials.implications.len());
                        specials.implications.push(Implication {
                            name,
                            col: ids[col.index()],
                            value: *value,
                            entries: sums.iter().map(|(&j, &v)| (j, v)).collect(),
                            sides,
                        });
                    }
                }
                Special::Sos { kind, members } => specials.sets.push(OrderedSet {
                    width: match kind {
                        SosType::One => 1,
                        SosType::Two => 2,
                    },
                    members: members.iter().map(|&(c, w)| (ids[c.index()], w)).collect(),
                }),
                _ => {}
            }
        }
        specials.quadratic = quadratic(&products, builder.num_cols())?;
        let model = builder.build()?;
        Ok(ModelFile { model, specials })
    }
}

/// Sides as one-sided relations: other programs read only such implications.
fn one_sided(lower: f64, upper: f64) -> Vec<Bounds> {
    const INF: f64 = f64::INFINITY;
    match lower.is_finite() && upper.is_finite() && lower != upper {
        true => vec![Bounds::new(lower, INF), Bounds::new(-INF, upper)],
        false => vec![Bounds::new(lower, upper)],
    }
}
