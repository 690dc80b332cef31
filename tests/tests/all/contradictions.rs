//! Certificates of programs that need no search: sides that cross, and equations that no integer
//! point meets.

use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{Control, Settings, SolveStatus, Solver};

/// `a x = side` over integer columns from `-reach` to `reach`.
fn equations(rows: &[(Vec<i64>, i64)], cost: &[i64], reach: f64) -> Model {
    let mut b = ModelBuilder::new(Sense::Minimise);
    let columns: Vec<ColId> = cost
        .iter()
        .map(|&c| {
            let col = b.add_col(c as f64, -reach..=reach);
            b.set_integer(col, true);
            col
        })
        .collect();
    for (a, side) in rows {
        let entries = columns.iter().zip(a).filter(|(_, a)| **a != 0);
        b.add_row(*side as f64, entries.map(|(&c, &a)| (c, a as f64)));
    }
    b.build().unwrap()
}

#[test]
fn unsolvable_equations_and_crossed_sides_have_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.vipr");
    let mut crossed = ModelBuilder::new(Sense::Minimise);
    let x = crossed.add_col(1.0, 2.5..=1.0);
    crossed.add_row(0.0.., [(x, 1.0)]);
    let mut rows = ModelBuilder::new(Sense::Maximise);
    let x = rows.add_col(1.0, 0.0..=9.0);
    rows.add_row(Bounds::new(4.0, 3.0), [(x, 1.0)]);
    let models = [
        equations(&[(vec![2, 4, -6], 3)], &[0, 0, 0], f64::INFINITY),
        equations(
            &[(vec![2, 3, 5], 7), (vec![4, 9, 7], 12)],
            &[1, 0, 0],
            f64::INFINITY,
        ),
        crossed.build().unwrap(),
        rows.build().unwrap(),
    ];
    for model in models {
        let solver = Solver::new(model.clone(), Settings::default()).with_control(Control {
            certificate: Some(path.clone()),
            ..Control::default()
        });
        let result = solver.run().unwrap();
        assert_eq!(result.status, SolveStatus::Infeasible);
        assert_eq!(result.certificate_problem, None);
        let text = std::fs::read_to_string(&path).unwrap();
        let certificate = remat_check::vipr::parse::parse(&text).unwrap();
        remat_check::vipr::check::check(&certificate).unwrap();
        let mps = remat_lp::mps::to_string(&model);
        let stated = remat_check::vipr::model::MpsModel::parse(&mps).unwrap();
        assert_eq!(stated.compare(&certificate), Ok(()));
    }
}
