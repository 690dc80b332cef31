//! Programs in the form in which MIPLIB 2017 took them. Each has a folder with the gzipped MPS
//! file, a description with application and origin, a solution and its value, and the metadata.

use super::catalogue::{Family, LibraryProgram};
use super::index::Entry;
use crate::others::Solver;
use remat_bb::failure::Failure;
use remat_lp::solution_file::SolutionFile;
use remat_lp::{ColId, Model, Sense};
use remat_report::number;
use serde::Serialize;

/// Creator and submitter that the files name.
const CREATOR: &str = "remat-bb project";
const LICENCE: &str = "MIT OR Apache-2.0";

/// Texts of a program's folder, by file name.
pub struct Folder {
    /// `NAME.sol`: the best solution, in MIPLIB's form.
    pub solution: String,
    /// `metadata.toml`
    pub metadata: String,
    /// `description.md`
    pub description: String,
}

#[derive(Serialize)]
struct Metadata<'a> {
    name: &'a str,
    submitter: &'a str,
    creator: &'a str,
    group: &'a str,
    application: &'a str,
    origin: &'a str,
    reference: &'a str,
    licence: &'a str,
    generator: String,
    mps_sha256: &'a str,
    rows: usize,
    columns: usize,
    integers: usize,
    nonzeros: usize,
    sense: &'a str,
    relaxation: Option<f64>,
    objective: f64,
    bound: Option<f64>,
    status: &'a str,
    proven_by: Vec<String>,
}

/// A solution in MIPLIB's form: `=obj=` and the columns that are not 0.
pub fn solution(model: &Model, x: &[f64]) -> String {
    let mut text = format!("=obj= {:?}\n", model.objective(x));
    for (j, value) in x.iter().enumerate().filter(|(_, v)| **v != 0.0) {
        let name = model.col_name(ColId(j as u32));
        text += &format!("{name} {value:?}\n");
    }
    text
}

/// The folder of a program, with a feasible solution.
///
/// # Errors
/// [`Failure::Usage`] for a solution that is worse than the best one in the index.
pub fn folder(
    program: &LibraryProgram,
    family: &Family,
    entry: &Entry,
    model: &Model,
    x: &[f64],
) -> Result<Folder, Failure> {
    let objective = model.objective(x);
    let sign = model.sense().sign();
    let slack = 1e-6 * objective.abs().max(1.0);
    if let Some(best) = entry.best.filter(|b| sign * (objective - b) > slack) {
        return Err(Failure::Usage {
            problem: format!(
                "{}: the solution has the objective {}, the index knows one of {}",
                program.name,
                number(objective),
                number(best)
            ),
            remedy: "keep the best solutions of the runs: library run --solutions DIR".into(),
        });
    }
    let provers = entry.proven_by.split_whitespace().map(|one| {
        let (key, seconds) = one.rsplit_once(':').unwrap_or((one, "?"));
        let name = Solver::of_key(key).map_or(key, |s| s.name());
        format!("{name}, {seconds} s, {}", entry.machine)
    });
    let metadata = Metadata {
        name: &program.name,
        submitter: CREATOR,
        creator: CREATOR,
        group: &family.name,
        application: "memory planning for the training of neural networks",
        origin: "generated from layer tables of published networks; no measured or private data",
        reference: &family.source,
        licence: LICENCE,
        generator: program.command(),
        mps_sha256: &entry.sha256,
        rows: entry.rows,
        columns: entry.columns,
        integers: entry.integers,
        nonzeros: entry.nonzeros,
        sense: match model.sense() {
            Sense::Minimise => "minimise",
            Sense::Maximise => "maximise",
        },
        relaxation: entry.relaxation,
        objective,
        bound: entry.bound,
        status: status(entry),
        proven_by: provers.collect(),
    };
    let toml = toml::to_string(&metadata).map_err(|e| Failure::Usage {
        problem: format!("{}: {e}", program.name),
        remedy: "this is a defect".into(),
    })?;
    Ok(Folder {
        solution: solution(model, x),
        description: description(program, family, entry),
        metadata: toml,
    })
}

/// MIPLIB's status: easy (proven by general solvers), hard (by special methods alone), open.
fn status(entry: &Entry) -> &'static str {
    let special = format!("{}:", Solver::RematBb.key());
    let mut provers = entry.proven_by.split_whitespace();
    match provers.next() {
        None => "open",
        Some(first) if !first.starts_with(&special) || provers.next().is_some() => "easy",
        Some(_) => "hard",
    }
}

fn description(program: &LibraryProgram, family: &Family, entry: &Entry) -> String {
    let known = |v: Option<f64>| v.map_or("unknown".into(), number);
    format!(
        "# {}\n\n{}\n\nApplication: memory planning for the training of neural networks.\n\n\
         Origin: made by `{}` ({CREATOR}, {LICENCE}) from the layer table of a published network.\n\n\
         Source of the program: {}.\n\n\
         {} rows, {} columns ({} integer), {} nonzeros. Relaxation {}, best solution {}, bound {}.\n",
        program.name,
        family.description,
        program.command(),
        family.source,
        entry.rows,
        entry.columns,
        entry.integers,
        entry.nonzeros,
        known(entry.relaxation),
        known(entry.best),
        known(entry.bound)
    )
}

/// The point of a solution file.
///
/// # Errors
/// [`Failure::Usage`] for a missing file, or a file of another model.
pub fn point(model: &Model, path: &std::path::Path) -> Result<Vec<f64>, Failure> {
    let file = SolutionFile::read(path).and_then(|file| file.point(model));
    file.map_err(|e| Failure::Usage {
        problem: format!("{}: {e}", path.display()),
        remedy: "name the folder of `library run --solutions DIR` behind --solutions".into(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::catalogue::Catalogue;
    use super::super::check::{Checked, check};
    use super::*;
    use remat_lp::solution_file::SolutionFile;

    #[test]
    fn a_folder_has_a_solution_that_reads_back_and_metadata() {
        let catalogue = Catalogue::built_in().expect("a catalogue");
        let program = &catalogue.programs[0];
        let family = catalogue.family(program).expect("a family");
        let text = "Minimize\n c: 5 b + x\nSubject To\n need: x >= 2.5\n open: x - 10 b <= 0\nBinary\n b\nEnd\n";
        let model = remat_lp::lp_format::parse(text, "case").expect("a model");
        let mut entry = Entry {
            best: Some(7.5),
            proven_by: "highs:0.1 scip:0.2".into(),
            size: "medium".into(),
            ..Entry::default()
        };
        let made = folder(program, family, &entry, &model, &[1.0, 2.5]).expect("a folder");
        let file = SolutionFile::parse(&made.solution, "a.sol").expect("a solution");
        assert_eq!(file.objective, Some(7.5));
        let x = file.point(&model).expect("a point");
        assert_eq!(check(&model, &x).0, Checked::Feasible(7.5));
        let table: toml::Table = made.metadata.parse().expect("TOML");
        assert_eq!(table["status"].as_str(), Some("easy"));
        assert_eq!(table["creator"].as_str(), Some(CREATOR));
        assert_eq!(table["proven_by"].as_array().map(Vec::len), Some(2));
        assert!(made.description.contains(&program.command()));
        for (by, wanted) in [
            ("", "open"),
            ("remat-bb:0.1", "hard"),
            ("remat-bb-general:0.1", "easy"),
            ("remat-bb:0.1 highs:9", "easy"),
        ] {
            entry.proven_by = by.into();
            assert_eq!(status(&entry), wanted, "{by}");
        }
        entry.best = Some(6.0);
        let worse = folder(program, family, &entry, &model, &[1.0, 2.5]);
        assert!(worse.is_err_and(|e| e.to_string().contains("the index knows one of 6")));
    }
}
