//! Several objectives, the best points, starts and infeasible subsystems, against enumeration.

use super::*;
use crate::ModelSettings;
use proptest::prelude::*;
use remat_lp::Sense;
use std::sync::Arc;

/// An integer program of rows "not more", small enough to be enumerated.
#[derive(Clone, Debug)]
struct Case {
    /// Lower bound and width of each column.
    cols: Vec<(i8, u8)>,
    rows: Vec<(Vec<i8>, i8)>,
    costs: Vec<Vec<i8>>,
    maximise: bool,
}

fn cases(rows: usize, sides: std::ops::Range<i8>) -> impl Strategy<Value = Case> {
    let row = (prop::collection::vec(-3i8..4, 4), sides);
    (
        prop::collection::vec((-2i8..3, 0u8..4), 4),
        prop::collection::vec(row, 0..rows),
        prop::collection::vec(prop::collection::vec(-4i8..5, 4), 3),
        any::<bool>(),
    )
        .prop_map(|(cols, rows, costs, maximise)| Case {
            cols,
            rows,
            costs,
            maximise,
        })
}

fn built(case: &Case) -> Result<(Program, Vec<Col>), ProgramError> {
    let mut program = Program::default();
    if case.maximise {
        program.set_sense(Sense::Maximise);
    }
    let mut cols = Vec::new();
    for (&(lower, width), &cost) in case.cols.iter().zip(&case.costs[0]) {
        let upper = f64::from(lower) + f64::from(width);
        cols.push(program.add_col(
            f64::from(lower),
            upper,
            f64::from(cost),
            Kind::Integer,
            None,
        )?);
    }
    for (row, side) in &case.rows {
        let entries: Vec<_> = cols
            .iter()
            .copied()
            .zip(row.iter().map(|&v| f64::from(v)))
            .collect();
        program.add_row(&entries, -INFINITE, f64::from(*side), None)?;
    }
    Ok((program, cols))
}

/// All points, in the order of the first objective.
fn points(case: &Case) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::new()];
    for &(lower, width) in &case.cols {
        let longer = all.iter().flat_map(|x: &Vec<f64>| {
            (0..=width).map(move |v| {
                let mut x = x.clone();
                x.push(f64::from(lower) + f64::from(v));
                x
            })
        });
        all = longer.collect();
    }
    let fits = |x: &Vec<f64>| {
        case.rows
            .iter()
            .all(|(row, side)| dot(row, x) <= f64::from(*side))
    };
    all.retain(fits);
    let sign = if case.maximise { -1.0 } else { 1.0 };
    all.sort_by(|a, b| (sign * dot(&case.costs[0], a)).total_cmp(&(sign * dot(&case.costs[0], b))));
    all
}

fn dot(costs: &[i8], x: &[f64]) -> f64 {
    costs.iter().zip(x).map(|(&c, x)| f64::from(c) * x).sum()
}

/// Five columns that only their bounds limit: each point of the pool takes some searches, and the
/// columns may lack bounds.
#[test]
fn a_large_pool_of_unbounded_columns_takes_few_searches_a_point() {
    let mut program = Program::default();
    let cols: Vec<Col> = (0..5)
        .map(|k| {
            let upper = if k == 4 { INFINITE } else { 40.0 };
            let cost = 1.0 + f64::from(k) / 8.0;
            program
                .add_col(0.0, upper, cost, Kind::Integer, None)
                .unwrap()
        })
        .collect();
    let all: Vec<_> = cols.iter().map(|&c| (c, 1.0)).collect();
    program.add_row(&all, 20.0, INFINITE, None).unwrap();
    let nodes = |count: usize| {
        let mut settings = ProgramSettings {
            best_points: Some(BestPoints::default()),
            ..ProgramSettings::default()
        };
        settings.model.mip.pool_size = count;
        let answer = solve_program(&program, &settings, Arc::new(())).unwrap();
        assert_eq!(answer.points.len(), count);
        assert_eq!(answer.points[0].objective, 20.0);
        assert!(
            answer
                .points
                .is_sorted_by(|a, b| a.objective <= b.objective)
        );
        answer.info.lp_iterations
    };
    let (few, many) = (nodes(10), nodes(60));
    assert!(many <= 20 * few.max(50), "{few} iterations, then {many}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..Default::default() })]

    #[test]
    fn objectives_are_solved_by_priority(case in cases(3, -4i8..8), loss in 0u8..3, weight in -2i8..3) {
        let (program, cols) = built(&case).unwrap();
        let objective = |k: usize, priority, weight: i8| Objective {
            entries: cols.iter().copied().zip(case.costs[k].iter().map(|&v| f64::from(v))).collect(),
            constant: k as f64,
            priority,
            weight: f64::from(weight),
            absolute: f64::from(loss),
            relative: 0.25,
        };
        let settings = ProgramSettings {
            // The second and third share a priority below the first.
            objectives: vec![objective(0, 2, 1), objective(1, 1, weight), objective(2, 1, 1)],
            ..ProgramSettings::default()
        };
        let answer = solve_program(&program, &settings, Arc::new(())).unwrap();
        let mut left = points(&case);
        if left.is_empty() {
            prop_assert_eq!(answer.ending, Ending::Infeasible);
            return Ok(());
        }
        prop_assert_eq!(answer.ending, Ending::Optimal);
        let sign = if case.maximise { -1.0 } else { 1.0 };
        let first = |x: &Vec<f64>| sign * dot(&case.costs[0], x);
        let second = |x: &Vec<f64>| {
            sign * (f64::from(weight) * (1.0 + dot(&case.costs[1], x)) + 2.0 + dot(&case.costs[2], x))
        };
        let best = left.iter().map(first).fold(f64::INFINITY, f64::min);
        left.retain(|x| first(x) <= best + f64::from(loss).max(0.25 * best.abs()) + 1e-7);
        let best = left.iter().map(second).fold(f64::INFINITY, f64::min);
        let x = answer.points[0].x.clone();
        prop_assert!(left.contains(&x));
        prop_assert_eq!(second(&x), best);
        prop_assert_eq!(answer.objective_values[1], 1.0 + dot(&case.costs[1], &x));
        prop_assert_eq!(answer.points[0].objective, answer.objective_values[0]);
    }

    #[test]
    fn the_best_points_come_in_order(case in cases(3, -4i8..8), count in 2usize..9, gap in prop::option::of(0u8..5)) {
        let (program, _) = built(&case).unwrap();
        let mut settings = ProgramSettings {
            best_points: Some(BestPoints { gap: None, absolute_gap: gap.map(f64::from) }),
            ..ProgramSettings::default()
        };
        settings.model.mip.pool_size = count;
        let answer = solve_program(&program, &settings, Arc::new(())).unwrap();
        let all = points(&case);
        let value = |x: &Vec<f64>| dot(&case.costs[0], x);
        let expected: Vec<f64> = all.iter().map(value).collect();
        let within = |v: &f64| gap.is_none_or(|gap| (v - expected[0]).abs() <= f64::from(gap));
        let expected: Vec<f64> = expected.iter().copied().filter(within).take(count).collect();
        let found: Vec<f64> = answer.points.iter().map(|p| p.objective).collect();
        prop_assert_eq!(found, expected);
        for (k, point) in answer.points.iter().enumerate() {
            prop_assert!(all.contains(&point.x));
            prop_assert!(answer.points[..k].iter().all(|other| other.x != point.x));
        }
    }

    #[test]
    fn many_best_points_come_in_order(case in cases(2, 0i8..9), wide in 3u8..9, count in 20usize..60) {
        // Wide columns with few values of the objective: ties, and values within bounds.
        let mut case = case;
        (case.cols[2].1, case.cols[3].1) = (wide, 0);
        case.costs[0].iter_mut().for_each(|cost| *cost = cost.signum());
        let (program, _) = built(&case).unwrap();
        let mut settings = ProgramSettings {
            best_points: Some(BestPoints::default()),
            ..ProgramSettings::default()
        };
        settings.model.mip.pool_size = count;
        let answer = solve_program(&program, &settings, Arc::new(())).unwrap();
        let all = points(&case);
        let expected = all.iter().map(|x| dot(&case.costs[0], x)).take(count);
        let found = answer.points.iter().map(|p| p.objective);
        prop_assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        for (k, point) in answer.points.iter().enumerate() {
            prop_assert!(all.contains(&point.x));
            prop_assert!(answer.points[..k].iter().all(|other| other.x != point.x));
        }
    }

    #[test]
    fn starts_with_gaps_are_completed(case in cases(3, -4i8..8), which in 0usize..1000, given in 1usize..16) {
        let (program, cols) = built(&case).unwrap();
        let all = points(&case);
        let Some(point) = all.get(which % all.len().max(1)) else { return Ok(()) };
        let start = (0..4).map(|j| if given >> j & 1 == 1 { point[j] } else { f64::NAN });
        let mut settings = ProgramSettings { starts: vec![start.clone().collect()], ..ProgramSettings::default() };
        settings.hints = Some(vec![f64::NAN; 4]);
        let whole = starts::whole(&program, &program.compile().unwrap(), &settings);
        prop_assert_eq!(whole.len(), 1);
        prop_assert!(all.contains(&whole[0]));
        for (j, value) in start.enumerate() {
            prop_assert!(value.is_nan() || value == whole[0][j], "{cols:?}");
        }
    }

    #[test]
    fn infeasible_subsystems_are_irreducible(case in cases(5, -9i8..2), linear in any::<bool>()) {
        let (mut program, cols) = built(&case).unwrap();
        if linear {
            for &col in &cols {
                program.set_kind(col, Kind::Continuous).unwrap();
            }
        }
        let infeasible = |p: &Program| {
            let mut settings = ProgramSettings::default();
            settings.model.mip.limits.nodes = Some(2000);
            let answer = solve_program(p, &settings, Arc::new(())).unwrap();
            answer.ending == Ending::Infeasible
        };
        let found = find_iis(&program, &ModelSettings::default()).unwrap();
        prop_assert_eq!(found.is_some(), infeasible(&program));
        let Some(iis) = found else { return Ok(()) };
        let keep = |without: usize| {
            let mut part = program.clone();
            for col in part.cols().collect::<Vec<_>>() {
                part.set_cost(col, 0.0).unwrap();
                let (lower, upper) = part.col_bounds(col).unwrap();
                let place = |of: &[Col], from| of.iter().position(|&c| c == col).is_some_and(|k| k + from != without);
                let lower = if place(&iis.lower, 0) { lower } else { -INFINITE };
                let upper = if place(&iis.upper, iis.lower.len()) { upper } else { INFINITE };
                part.set_col_bounds(col, lower, upper).unwrap();
            }
            for row in part.rows().collect::<Vec<_>>() {
                let from = iis.lower.len() + iis.upper.len();
                let place = iis.rows.iter().position(|&r| r == row);
                if place.is_none_or(|k| k + from == without) {
                    part.remove_row(row).unwrap();
                }
            }
            part
        };
        prop_assert!(infeasible(&keep(usize::MAX)));
        if iis.minimal {
            for without in 0..iis.lower.len() + iis.upper.len() + iis.rows.len() {
                prop_assert!(!infeasible(&keep(without)), "{iis:?} without {without}");
            }
        }
    }
}

#[test]
fn a_subsystem_of_special_constraints() {
    let mut program = Program::default();
    let mut free = || {
        program
            .add_col(-9.0, 9.0, 0.0, Kind::Continuous, None)
            .unwrap()
    };
    let (x, y, r) = (free(), free(), free());
    let abs = program
        .add_special(Special::Abs { result: r, of: x })
        .unwrap();
    program
        .add_special(Special::Abs { result: r, of: y })
        .unwrap();
    let low = program.add_row(&[(r, 1.0)], -INFINITE, -1.0, None).unwrap();
    let other = program.add_row(&[(y, 1.0)], 2.0, INFINITE, None).unwrap();
    let iis = find_iis(&program, &ModelSettings::default())
        .unwrap()
        .unwrap();
    assert_eq!((iis.rows.len(), iis.specials.len()), (1, 1), "{iis:?}");
    assert_eq!(iis.rows, [low]);
    program.remove_row(low).unwrap();
    assert_eq!(find_iis(&program, &ModelSettings::default()).unwrap(), None);
    program.remove_special(abs).unwrap();
    program.set_col_bounds(r, 0.0, 1.0).unwrap();
    let iis = find_iis(&program, &ModelSettings::default())
        .unwrap()
        .unwrap();
    assert_eq!(
        (iis.rows.as_slice(), iis.specials.len()),
        ([other].as_slice(), 1),
        "{iis:?}"
    );
    assert!(iis.minimal && iis.upper.contains(&r));
}

/// Forbids two of the first three columns at once, and has a point to offer.
struct Strict {
    asked: std::sync::Mutex<Vec<Vec<f64>>>,
    told: std::sync::Mutex<Vec<Point>>,
    offer: Option<Vec<f64>>,
}

impl Watcher for Strict {
    fn role(&self) -> Role {
        Role {
            lazy_rows: true,
            nodes: self.offer.is_some(),
        }
    }

    fn incumbent(&self, point: &Point) {
        self.told.lock().unwrap().push(point.clone());
    }

    fn separate(&self, x: &[f64], integral: bool) -> Vec<Cut> {
        if !integral {
            return Vec::new();
        }
        self.asked.lock().unwrap().push(x.to_vec());
        let pairs = [(0, 1), (0, 2), (1, 2)].into_iter();
        let violated = pairs.filter(|&(a, b)| x[a] + x[b] > 1.5);
        let rows = violated.map(|(a, b)| Cut {
            entries: vec![(Col(a as u32), 1.0), (Col(b as u32), 1.0)],
            lower: -INFINITE,
            upper: 1.0,
        });
        rows.collect()
    }

    fn suggest(&self, _: &[f64]) -> Vec<Vec<f64>> {
        self.offer.iter().cloned().collect()
    }
}

#[test]
fn rows_of_a_watcher_hold_before_a_point_counts() {
    let mut program = Program::default();
    program.set_sense(Sense::Maximise);
    let costs = [5.0, 4.0, 3.0, 2.0, 2.0, 2.0];
    let mut cols = Vec::new();
    for cost in costs {
        cols.push(program.add_col(0.0, 1.0, cost, Kind::Binary, None).unwrap());
    }
    let weights = [3.0, 2.0, 2.0, 2.0, 2.0, 2.0];
    let row: Vec<_> = cols.iter().copied().zip(weights).collect();
    program.add_row(&row, -INFINITE, 8.0, None).unwrap();
    // A start that the rows cut off does not count either.
    let settings = ProgramSettings {
        starts: vec![vec![1.0, 1.0, 0.0, 0.0, 0.0, 0.0]],
        ..ProgramSettings::default()
    };
    for offer in [None, Some(vec![0.0, 1.0, 0.0, 1.0, f64::NAN, f64::NAN])] {
        let strict = Arc::new(Strict {
            asked: std::sync::Mutex::default(),
            told: std::sync::Mutex::default(),
            offer,
        });
        let answer = solve_program(&program, &settings, strict.clone()).unwrap();
        assert_eq!(
            (answer.ending, answer.points[0].objective),
            (Ending::Optimal, 10.0)
        );
        let told = strict.told.lock().unwrap();
        let asked = strict.asked.lock().unwrap();
        assert!(!told.is_empty());
        for point in told.iter() {
            assert!(point.x[0] + point.x[1] + point.x[2] < 1.5, "{point:?}");
            assert!(asked.contains(&point.x), "{point:?}");
        }
    }
}
