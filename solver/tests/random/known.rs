//! Programs whose answers are known.

use remat_lp::{ModelBuilder, Sense};
use remat_solver::mip::{Settings, SolveStatus, Solver};

/// Programs that once had a wrong answer, and their optima.
#[test]
fn programs_that_once_went_wrong() {
    let cases = [(
        // Coefficient tightening left 1e-15 of a coefficient, which a singleton row then divided
        // by.
        "Minimize\n c: - 8 x0 - 8 x1 - 7 x2 - x3 - x4\nSubject To\n r0: - 9 x0 + 3 x3 + 7 x4 = -6\n \
         r1: 22 <= 2 x1 - 2 x2 - 8 x4 <= 25\n r2: - 9 x0 - 5 x1 - 5 x3 <= 21\n r3: - 3 x0 + 6 x1 + 3 x3 = 9\n \
         r4: - x0 + 9 x1 - 5 x4 >= -6\nBounds\n -2 <= x0 <= 0\n 1 <= x1 <= 2\n x2 <= 2\n -5 <= x3 <= 1\n \
         -4 <= x4 <= -1\nGeneral\n x0\n x1\n x2\nEnd\n",
        -2.0,
    )];
    for (text, optimum) in cases {
        let model = remat_lp::lp_format::parse(text, "case").unwrap();
        let result = Solver::new(model, Settings::default()).run().unwrap();
        assert_eq!(result.status, SolveStatus::Optimal);
        let objective = result.solution.unwrap().objective;
        assert!((objective - optimum).abs() < 1e-6, "{objective}");
    }
}

#[test]
fn unbounded_integers_and_unbounded_programs() {
    // Integers without bounds; the best point is far out, or there is none.
    let solve = |f: &dyn Fn(&mut ModelBuilder)| {
        let mut b = ModelBuilder::new(Sense::Minimise);
        f(&mut b);
        Solver::new(b.build().unwrap(), Settings::default())
            .run()
            .unwrap()
    };
    let free = |b: &mut ModelBuilder, cost: f64| {
        let c = b.add_col(cost, ..);
        b.set_integer(c, true);
        c
    };
    let r = solve(&|b| {
        let (x, y) = (free(b, 3.0), free(b, 5.0));
        b.add_row(7.5.., [(x, 2.0), (y, 3.0)]);
        b.add_row(..=4.0, [(x, 1.0), (y, -1.0)]);
        b.add_row(..=1000.0, [(y, 1.0), (x, -1.0)]);
    });
    // 2x + 3y >= 8, x - y <= 4: 12 at (4, 0).
    assert_eq!(r.status, SolveStatus::Optimal);
    assert_eq!(r.solution.unwrap().objective, 12.0);
    let r = solve(&|b| {
        let (x, y) = (free(b, 1.0), free(b, 1.0));
        b.add_row(..=0.0, [(x, 1.0), (y, 2.0)]);
    });
    assert_eq!(r.status, SolveStatus::Unbounded);
    assert!(r.solution.is_some());
    // The relaxation is unbounded, the program has no point: 2x - 2y = 1.
    let mut b = ModelBuilder::new(Sense::Minimise);
    let (x, y) = (free(&mut b, 1.0), free(&mut b, 1.0));
    b.add_row(1.0, [(x, 2.0), (y, -2.0)]);
    b.add_row(-50.0..=50.0, [(x, 1.0)]);
    let z = free(&mut b, -1.0);
    b.add_row(0.0.., [(z, 1.0)]);
    let r = Solver::new(b.build().unwrap(), Settings::default())
        .run()
        .unwrap();
    assert_eq!(r.status, SolveStatus::Infeasible);
}
