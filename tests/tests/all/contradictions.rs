//! Certificates of programs that need no search: sides that cross, and equations that no integer
//! point meets.

use remat_lp::{Bounds, Model, ModelBuilder, Sense, lp_format};
use remat_solver::mip::{Control, Settings, SolveStatus, Solver};

/// A model of free integer columns x, y and z, with rows in LP format.
fn equations(objective: &str, rows: &str) -> Model {
    let free = "bounds\n x free\n y free\n z free\ngeneral\n x y z\nend\n";
    let text = format!("min\n {objective}\nst\n {rows}\n{free}");
    lp_format::parse(&text, "equations.lp").unwrap()
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
        equations("0 x", "2 x + 4 y - 6 z = 3"),
        equations("x", "2 x + 3 y + 5 z = 7\n 4 x + 9 y + 7 z = 12"),
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
