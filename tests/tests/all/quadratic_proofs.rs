//! Certificates of programs with convex quadratic objectives: a checker that shares no code with
//! the solver accepts them, and changed ones prove no wrong claim.

use remat_check::vipr::{Claim, check::check, model::MpsModel, parse::parse};
use remat_lp::rational::Rational;
use remat_lp::{ColId, Model, ModelBuilder, ModelFile, Quadratic, Sense, mps};
use remat_models::ModelSettings;
use remat_models::quadratic::solve_model;
use remat_solver::mip::{Control, SolveStatus};
use remat_tests::graphs::Numbers;
use std::path::Path;
use std::sync::Arc;

/// A program with a convex objective minimised or a concave one maximised: sums of squares, often
/// fewer than columns. `continuous`: number of columns that are not integer.
fn drawn(numbers: &mut Numbers, continuous: usize) -> (Model, Quadratic) {
    let mut int = |low: i64, high: i64| low as f64 + numbers.below((high - low + 1) as u64) as f64;
    let sign = [1.0, 1.0, -1.0][int(0, 2) as usize];
    let sense = if sign > 0.0 {
        Sense::Minimise
    } else {
        Sense::Maximise
    };
    let mut b = ModelBuilder::new(sense);
    let integers = int(1, 3) as usize;
    let cols: Vec<ColId> = (0..integers + continuous)
        .map(|k| {
            let (low, high) = (int(-3, 0), int(0, 3));
            // Some continuous columns have no bounds.
            let is_free = k >= integers && int(0, 3) == 0.0;
            let (low, high) = if is_free {
                (f64::NEG_INFINITY, f64::INFINITY)
            } else {
                (low, high)
            };
            let col = b.add_col(int(-90, 90) / 10.0, low..=high);
            b.set_integer(col, k < integers);
            col
        })
        .collect();
    for _ in 0..int(0, 3) as usize {
        let entries: Vec<_> = cols.iter().map(|&c| (c, int(-3, 3))).collect();
        let low = int(-6, 3);
        b.add_row(low..=low + int(0, 6), entries);
    }
    let mut products = Vec::new();
    for _ in 0..1 + int(0, 2) as usize {
        let factors: Vec<f64> = cols.iter().map(|_| int(-6, 6) / 2.0).collect();
        for (a, x) in cols.iter().zip(&factors) {
            products.extend(
                cols.iter()
                    .zip(&factors)
                    .map(|(b, y)| (*a, *b, sign * 0.5 * x * y)),
            );
        }
    }
    // Free columns need a curvature, or the objective has no bound.
    products.extend(cols.iter().map(|&c| (c, c, sign * 0.25)));
    let quadratic = Quadratic::of_products(cols.len(), products).unwrap();
    (b.build().unwrap(), quadratic)
}

/// Solves with a certificate. Returns the status, and the certificate's text or why it is missing.
fn proven(
    model: &Model,
    quadratic: &Quadratic,
    path: &Path,
) -> (SolveStatus, Result<String, String>) {
    let control = Control {
        certificate: Some(path.to_path_buf()),
        ..Control::default()
    };
    let model = Arc::new(model.clone());
    let quadratic = Arc::new(quadratic.clone());
    let answered = solve_model(&model, &quadratic, &ModelSettings::default(), control).unwrap();
    let remat_models::Answered::Integer { result, .. } = answered else {
        panic!("not a search: {answered:?}");
    };
    let text = match result.certificate_problem {
        Some(problem) => Err(problem),
        None => Ok(std::fs::read_to_string(path).unwrap()),
    };
    (result.status, text)
}

/// The model as the checker reads it.
fn stated(model: &Model, quadratic: &Quadratic) -> MpsModel {
    let mut file = ModelFile::from(model.clone());
    file.specials.quadratic = Some(quadratic.clone());
    MpsModel::parse(&mps::to_string_all(&file).unwrap()).unwrap()
}

/// The claim of a certificate that the checker accepts for this model.
fn accepted(text: &str, model: &MpsModel) -> Result<Claim, String> {
    let certificate = parse(text)?;
    model.compare(&certificate)?;
    check(&certificate)?;
    Ok(certificate.claim)
}

/// The best objective over all integer points, without the offset; `None` without a point.
fn enumerated(model: &Model, quadratic: &Quadratic) -> Option<f64> {
    let sign = model.sense().sign();
    let mut points = vec![Vec::new()];
    for (low, high) in model.col_lower().iter().zip(model.col_upper()) {
        let longer = points.iter().flat_map(|point: &Vec<f64>| {
            (*low as i64..=*high as i64).map(move |v| [point.as_slice(), &[v as f64]].concat())
        });
        points = longer.collect();
    }
    let holds = |x: &Vec<f64>| {
        (0..model.num_rows()).all(|i| {
            let row = remat_lp::RowId(i as u32);
            let activity: f64 = model.row(row).map(|(j, a)| a * x[j.index()]).sum();
            let sides = model.row_bounds(row);
            sides.lower <= activity && activity <= sides.upper
        })
    };
    let values = points.iter().filter(|x| holds(x));
    let values = values.map(|x| sign * (model.objective(x) + quadratic.value(x)));
    values.min_by(f64::total_cmp).map(|v| sign * v)
}

/// Returns whether a claim agrees with the best objective.
fn is_true(claim: &Claim, best: Option<f64>) -> bool {
    let number = |v: &Rational| v.to_f64().value();
    match (claim, best) {
        (Claim::Infeasible, best) => best.is_none(),
        (Claim::Range(low, high), best) => {
            let reached = |best: f64| {
                low.as_ref().is_none_or(|v| number(v) <= best + 1e-9)
                    && high.as_ref().is_none_or(|v| best <= number(v) + 1e-9)
            };
            best.map_or(low.is_none() || high.is_none(), reached)
        }
    }
}

/// Number of random programs.
const CASES: u64 = 1_000;

#[test]
fn a_checker_accepts_proofs_by_tangents() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.vipr");
    let (mut statuses, mut without) = ([0; 2], 0);
    for seed in 0..CASES {
        let continuous = [0, 0, 1, 2][seed as usize % 4];
        let (model, quadratic) = drawn(&mut Numbers::new(seed), continuous);
        let (status, text) = proven(&model, &quadratic, &path);
        statuses[usize::from(status == SolveStatus::Optimal)] += 1;
        let text = match text {
            Ok(text) => text,
            // The slopes of columns without bounds may not cancel.
            Err(_) if continuous > 0 => {
                without += 1;
                continue;
            }
            Err(problem) => panic!("seed {seed}: {problem}"),
        };
        let claim = accepted(&text, &stated(&model, &quadratic));
        let claim = claim.unwrap_or_else(|e| panic!("seed {seed}: {e}\n{text}"));
        if continuous == 0 {
            let best = enumerated(&model, &quadratic);
            assert!(is_true(&claim, best), "seed {seed}: {claim:?}, {best:?}");
        }
    }
    assert!(statuses.iter().all(|n| *n > CASES / 10), "{statuses:?}");
    assert!(without <= CASES / 200, "{without} without a proof");
}

#[test]
fn changed_proofs_by_tangents_prove_nothing_false() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.vipr");
    let mut counts = [0; 2];
    for seed in 0..30 {
        let numbers = &mut Numbers::new(1_000 + seed);
        let (model, quadratic) = drawn(numbers, 0);
        let text = proven(&model, &quadratic, &path).1.unwrap();
        let (model_stated, best) = (stated(&model, &quadratic), enumerated(&model, &quadratic));
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_number = |k: &usize| words[*k].parse::<f64>().is_ok() || words[*k].contains('/');
        let numeric: Vec<usize> = (0..words.len()).filter(is_number).collect();
        for _ in 0..60 {
            let at = numeric[numbers.below(numeric.len() as u64) as usize];
            let new = ["0", "1", "-1", "3", "1/2", "100", "-100"][numbers.below(7) as usize];
            let mut changed = words.clone();
            changed[at] = new;
            // Every word on a line of its own; the first line is a comment.
            let from = words.iter().position(|w| *w == "VER").unwrap();
            let verdict = accepted(&changed[from..].join("\n"), &model_stated);
            counts[usize::from(verdict.is_ok())] += 1;
            if let Ok(claim) = verdict {
                assert!(
                    is_true(&claim, best),
                    "seed {seed}: {new} for {}",
                    words[at]
                );
            }
        }
    }
    // Most changes are noticed. Last places of use, for example, may change.
    assert!(counts[0] > 3 * counts[1] && counts[1] > 0, "{counts:?}");
}

#[test]
fn tangents_above_the_objective_are_refused() {
    // min x^2 - 2.4 x: the relaxation ends at 1.2, the integers at 1.
    let mut b = ModelBuilder::new(Sense::Minimise);
    let x = b.add_col(-2.4, 0.0..=9.0);
    b.set_integer(x, true);
    let model = b.build().unwrap();
    let quadratic = Quadratic::of_products(1, [(x, x, 1.0)]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.vipr");
    let text = proven(&model, &quadratic, &path).1.unwrap();
    let model_stated = stated(&model, &quadratic);
    assert!(accepted(&text, &model_stated).is_ok());
    // A secant is above the square between integers: no tangent of a continuous column is.
    let secant = text.lines().find(|l| l.starts_with('s')).unwrap();
    assert!(secant.contains(" G "), "{secant}");
    let mut b = ModelBuilder::new(Sense::Minimise);
    let y = b.add_col(-2.4, 0.0..=9.0);
    let continuous = stated(
        &b.build().unwrap(),
        &Quadratic::of_products(1, [(y, y, 1.0)]).unwrap(),
    );
    let relaxed = text.replace("INT 1\n0\n", "INT 0\n\n");
    assert!(
        accepted(&relaxed, &continuous)
            .unwrap_err()
            .contains("need not satisfy")
    );
    // A solution whose column is below the square would be worth too little.
    let best = text.lines().find(|l| l.starts_with("best")).unwrap();
    let lower = text.replace(best, "best 1 0 1");
    assert!(
        accepted(&lower, &model_stated)
            .unwrap_err()
            .contains("is below")
    );
    // A model that is not convex has no tangents below it.
    let bent = stated(&model, &Quadratic::of_products(1, [(x, x, -1.0)]).unwrap());
    assert!(accepted(&text, &bent).unwrap_err().contains("not convex"));
}
