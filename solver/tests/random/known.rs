//! Programs whose answers are known.

use remat_lp::{ModelBuilder, Sense};
use remat_solver::mip::{NodeSelection, Settings, SolveStatus, Solver};

/// Programs that once had a wrong answer, with their optima.
#[test]
fn programs_that_once_went_wrong() {
    let defaults = Settings::default;
    let cases = [
        (
            // Coefficient tightening left 1e-15 of a coefficient, by which a singleton row then
            // divided.
            "Minimize\n c: - 8 x0 - 8 x1 - 7 x2 - x3 - x4\nSubject To\n r0: - 9 x0 + 3 x3 + 7 x4 = -6\n \
         r1: 22 <= 2 x1 - 2 x2 - 8 x4 <= 25\n r2: - 9 x0 - 5 x1 - 5 x3 <= 21\n r3: - 3 x0 + 6 x1 + 3 x3 = 9\n \
         r4: - x0 + 9 x1 - 5 x4 >= -6\nBounds\n -2 <= x0 <= 0\n 1 <= x1 <= 2\n x2 <= 2\n -5 <= x3 <= 1\n \
         -4 <= x4 <= -1\nGeneral\n x0\n x1\n x2\nEnd\n",
            -2.0,
            defaults(),
        ),
        (
            // Entries of 98 cancelled to 4e-9, and a cut of that remainder was wrong by 2e-8 of it.
            "Minimize\n c: 0 x0 + 0 x1 + 0 x2 + 0 x3 + 0 x4 + 0 x5 + 3 x6 + 0 x7 + 0 x8 + 0 x9 + 0 x10 + 0 x11 + 0 x12 \
         + 0 x13\nSubject To\n r0: x0 + x1 = 1\n r1: x2 + x3 = 1\n r2: x4 + x5 = 1\n r3: x6 - x7 >= 0\n \
         r4: x6 - x8 >= 0\n r5: x6 - x9 >= 0\n r6: - 5 x0 - 6 x2 - x4 - x10 + x11 = 0\n r7: - 73 x0 + x7 - x11 >= -73\n \
         r8: - 73 x2 + x8 - x11 >= -73\n r9: - 73 x2 - x7 + x10 >= -73\n r10: - 73 x4 + x9 - x11 >= -73\n \
         r11: - 8 x1 - 7 x3 - 9 x5 - x12 + x13 = 0\n r12: - 98 x1 + x7 - x13 >= -98\n r13: - 98 x3 + x8 - x13 >= -98\n \
         r14: - 98 x3 - x7 + x12 >= -98\n r15: - 98 x5 + x9 - x13 >= -98\n r16: - 98 x5 - x8 + x12 >= -98\nBounds\n \
         x7 <= 12\n x8 <= 42\n x9 <= 51\n x11 <= 56\nBinary\n x0\n x1\n x2\n x3\n x4\n x5\nEnd\n",
            39.0,
            Settings {
                presolve: false,
                probing: false,
                restarts: false,
                propagation: false,
                clauses: false,
                heuristics: false,
                node_selection: NodeSelection::DepthFirst,
                reliability: 6,
                round_width: 4,
                pool_size: 4,
                opportunistic: true,
                seed: 6188117908364288221,
                ..defaults()
            },
        ),
    ];
    for (text, optimum, settings) in cases {
        let model = remat_lp::lp_format::parse(text, "case").unwrap();
        let result = Solver::new(model, settings).run().unwrap();
        assert_eq!(result.status, SolveStatus::Optimal);
        let objective = result.solution.unwrap().objective;
        assert!((objective - optimum).abs() < 1e-6, "{objective}");
    }
}

#[test]
fn unbounded_integers_and_unbounded_programs() {
    // Integers without bounds: the best point is far out, or does not exist.
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
    // The relaxation is unbounded, and the program is infeasible: 2x - 2y = 1.
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
