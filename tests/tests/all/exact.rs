//! Answers in rational numbers. A checker that shares no code with the solver accepts the
//! certificate, whose value is the reported one.

use remat_check::vipr::{check::check, model::MpsModel, parse::parse};
use remat_lp::{Bounds, ColId, Model, ModelBuilder, Sense};
use remat_solver::mip::{Control, Settings, SolveStatus, Solver};
use remat_tests::graphs::Numbers;

/// A program with integer and continuous columns, decimals in its rows, and sides that few points
/// satisfy to the last digit.
fn random_model(numbers: &mut Numbers) -> Model {
    let sense = match numbers.below(2) {
        0 => Sense::Minimise,
        _ => Sense::Maximise,
    };
    let mut b = ModelBuilder::new(sense);
    let columns: Vec<ColId> = (0..2 + numbers.below(6))
        .map(|_| {
            let cost = numbers.below(19) as f64 - 9.0;
            let upper = numbers.below(5) as f64 + 0.5;
            let column = b.add_col(cost / 10.0, 0.0..=upper);
            b.set_integer(column, numbers.below(3) > 0);
            column
        })
        .collect();
    for _ in 0..1 + numbers.below(4) {
        let mut entries = Vec::new();
        for &column in &columns {
            if numbers.below(3) > 0 {
                entries.push((column, (numbers.below(79) as f64 - 39.0) / 7.0));
            }
        }
        let side = (numbers.below(41) as f64 - 10.0) / 3.0;
        let above = |side: f64| Bounds::new(side, f64::INFINITY);
        let below = Bounds::new(f64::NEG_INFINITY, side);
        match numbers.below(4) {
            0 => {
                // Two rows: MPS files write ranges as differences, which are rounded.
                b.add_row(above(side - 1e-7), entries.clone());
                b.add_row(below, entries)
            }
            1 => b.add_row(above(side), entries),
            _ => b.add_row(below, entries),
        };
    }
    // A coefficient that is larger than necessary.
    if columns.len() > 4 {
        let entries = [(columns[0], 1.0), (columns[1], -20.0)];
        b.add_row(Bounds::new(f64::NEG_INFINITY, 0.0), entries);
    }
    b.build().unwrap()
}

#[test]
fn certificates_show_what_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proof.vipr");
    let mut counts = [0; 2];
    for seed in 0..300 {
        let model = random_model(&mut Numbers::new(seed));
        let settings = Settings {
            exact: true,
            relative_gap: 0.0,
            absolute_gap: 0.0,
            ..Settings::default()
        };
        let solver = Solver::new(model.clone(), settings).with_control(Control {
            certificate: Some(path.clone()),
            ..Control::default()
        });
        let result = solver.run().unwrap();
        let claim = result.exact.unwrap();
        assert_eq!(claim.problem, None, "seed {seed}: {:?}", result.status);
        assert_eq!(result.certificate_problem, None, "seed {seed}");
        assert_eq!(claim.bound, claim.objective, "seed {seed}");
        let text = std::fs::read_to_string(&path).unwrap();
        let certificate = parse(&text).unwrap();
        check(&certificate).unwrap();
        // Every line except the last is used by a later one.
        let unused = text.lines().filter(|l| l.ends_with("} -1")).count();
        assert_eq!(unused, 1, "seed {seed}");
        let mps = remat_lp::mps::to_string(&model);
        let stated = MpsModel::parse(&mps).unwrap();
        assert_eq!(stated.compare(&certificate), Ok(()), "seed {seed}");
        match claim.objective {
            Some(value) => {
                assert_eq!(result.status, SolveStatus::Optimal);
                let range = format!("RTP range {value} {value}\n");
                assert!(text.contains(&range), "seed {seed}: {value}");
                counts[0] += 1;
            }
            None => {
                assert_eq!(result.status, SolveStatus::Infeasible);
                assert!(text.contains("RTP infeas\n"), "seed {seed}");
                counts[1] += 1;
            }
        }
    }
    assert!(counts[0] >= 100 && counts[1] >= 20, "{counts:?}");
}
