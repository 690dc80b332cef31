//! `remat-bb mip` on Checkmate's program in another form: the same answer as from the general
//! search, in the file's variables.

use crate::common::{chain, object, run_to, text};
use remat_lp::solution_file::SolutionFile;
use remat_lp::{ColId, Model, ModelBuilder, RowId, lp_format, mps};
use std::path::{Path, PathBuf};

/// The exported program with columns and rows in another order (strides prime to their numbers) and
/// without names.
fn shuffled(folder: &Path, budget: &str) -> (PathBuf, Model) {
    let exported = folder.join("exported.mps");
    let graph = chain(folder, 5);
    let infeasible = budget == "150";
    run_to(
        if infeasible { 3 } else { 0 },
        &[
            "export",
            text(&graph),
            "--budget",
            budget,
            "--formulation",
            "checkmate-original",
            text(&exported),
        ],
    );
    let model = mps::read(&exported).unwrap();
    let order = |len: usize| {
        let stride = [7919, 104_729]
            .into_iter()
            .find(|s| !len.is_multiple_of(*s))
            .unwrap();
        (0..len).map(move |k| k * stride % len)
    };
    let mut builder = ModelBuilder::new(model.sense());
    builder.set_offset(model.offset());
    let mut new = vec![ColId(0); model.num_cols()];
    for j in order(model.num_cols()) {
        let old = ColId(j as u32);
        new[j] = builder.add_col(model.costs()[j], model.col_bounds(old));
        builder.set_integer(new[j], model.is_integer(old));
    }
    for i in order(model.num_rows()) {
        let old = RowId(i as u32);
        let entries: Vec<_> = model.row(old).map(|(c, v)| (new[c.index()], v)).collect();
        builder.add_row(model.row_bounds(old), entries);
    }
    let path = folder.join("shuffled.lp");
    lp_format::write(&builder.build().unwrap(), &path).unwrap();
    let model = lp_format::read(&path).unwrap();
    (path, model)
}

#[test]
fn a_recognised_program_is_answered_in_its_own_variables() {
    let folder = tempfile::tempdir().unwrap();
    let (file, model) = shuffled(folder.path(), "430");
    let solution = folder.path().join("answer.sol");
    let (out, notes) = run_to(
        0,
        &["mip", text(&file), "--json", "--solution", text(&solution)],
    );
    let fast = object(&out);
    assert!(notes.contains("recognised"), "{notes}");
    assert_eq!(fast["status"], "optimal");
    assert_eq!(fast["found_by"], "checkmate");
    let x = SolutionFile::read(&solution)
        .unwrap()
        .point(&model)
        .unwrap();
    let checked = remat_solver::mip::check_point(&model, &x, 1e-6).unwrap();
    let objective = fast["objective"].as_f64().unwrap();
    assert!((checked - objective).abs() <= 1e-6 * objective.abs());
    // The chain needs more than 430 bytes to keep everything.
    assert!(objective > 150.0, "{objective}");

    let general = ["mip", text(&file), "--json", "--no-recognise"];
    let (out, notes) = run_to(0, &general);
    let slow = object(&out);
    assert!(!notes.contains("recognised"), "{notes}");
    assert_eq!(slow["status"], "optimal");
    let other = slow["objective"].as_f64().unwrap();
    assert!(
        (objective - other).abs() <= 1e-6 * other.abs(),
        "{objective} {other}"
    );
}

#[test]
fn a_recognised_program_that_nothing_fits_is_infeasible() {
    let folder = tempfile::tempdir().unwrap();
    let (file, _) = shuffled(folder.path(), "150");
    let (out, notes) = run_to(3, &["mip", text(&file), "--json"]);
    assert!(notes.contains("recognised"), "{notes}");
    let answer = object(&out);
    assert_eq!(answer["status"], "infeasible");
    assert!(answer["objective"].is_null() && answer["bound"].is_null());
}
