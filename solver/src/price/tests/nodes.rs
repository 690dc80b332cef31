//! Relaxations of nodes: moves between nodes, warm starts, trials, exclusions, purges.

use super::tenants::{Choice, Tenants};
use crate::price::relaxation::{CutEffort, RelaxEnd, Relaxation, Until};
use crate::price::{Branch, Branching, Columns, Open, Pricing, RootSettings, Tail};
use std::sync::Arc;

/// The converged relaxation of a program; `None` if it is infeasible.
fn converged(program: &Tenants) -> Option<Relaxation<Tenants>> {
    let program = Arc::new(program.clone());
    let mut relax = Relaxation::new(program, RootSettings::default()).unwrap();
    let end = relax.converge(Until::Converged, None).unwrap();
    (end == RelaxEnd::Converged).then_some(relax)
}

/// A program with its converged root, and an open quantity of it.
type Fractional = (Tenants, Relaxation<Tenants>, Open<Choice>);

/// Programs whose root is fractional.
fn fractional() -> Vec<Fractional> {
    let programs = (0..60).map(|seed| Tenants::random(seed, 7, 4, 3));
    let root = |program: Tenants| {
        let relax = converged(&program)?;
        let open = program.open(&relax.point, 1).into_iter().next()?;
        Some((program, relax, open))
    };
    let all: Vec<_> = programs.filter_map(root).collect();
    assert!(all.len() > 10, "{} fractional roots", all.len());
    all
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * b.abs().max(1.0)
}

#[test]
fn a_node_has_the_same_value_whichever_was_solved_before() {
    for (program, mut relax, open) in fractional() {
        let root = relax.value;
        let none = Arc::new(program.no_exclusions());
        let [down, up] = open.branches();
        let at = |relax: &mut Relaxation<_>, branches: &[Branch<_>]| {
            relax.enter(branches, none.clone(), 0).unwrap();
            relax.converge(Until::Converged, None).unwrap();
            relax.value
        };
        let first = at(&mut relax, &[down]);
        let second = at(&mut relax, &[up]);
        assert!(first >= root - 1e-6 && second >= root - 1e-6);
        assert!(close(at(&mut relax, &[]), root));
        let mut fresh = converged(&program).unwrap();
        assert!(close(at(&mut fresh, &[up]), second));
        assert!(close(at(&mut fresh, &[down]), first));
    }
}

#[test]
fn a_warm_start_is_at_the_optimum_it_was_taken_from() {
    let (mut cold, mut warm) = (0, 0);
    for (program, relax, _) in fractional() {
        let settings = RootSettings::default();
        let mut other = Relaxation::new(Arc::new(program), settings).unwrap();
        other.restore(&relax.warm()).unwrap();
        let end = other.converge(Until::Converged, None).unwrap();
        assert_eq!(end, RelaxEnd::Converged);
        assert!(close(other.value, relax.value), "{}", other.value);
        cold += relax.master.work().iterations;
        warm += other.master.work().iterations;
    }
    assert!(2 * warm < cold, "{warm} pivots warm, {cold} cold");
}

#[test]
fn a_trial_foresees_the_master_and_leaves_it_as_it_is() {
    for (_, mut relax, open) in fractional() {
        for branch in open.branches() {
            let (value, _) = relax.master.probe(&branch, 1_000, f64::INFINITY).unwrap();
            let again = relax.master.probe(&branch, 1_000, f64::INFINITY).unwrap().0;
            assert_eq!(value, again);
            assert!(value >= relax.value - 1e-6);
            let most = relax.value - 1.0;
            let cut_off = relax.master.probe(&branch, 1_000, most).unwrap().0;
            assert!(cut_off > most);
        }
        let before = relax.value;
        relax.complete = false;
        relax.resolve();
        assert!(close(relax.value, before));
    }
}

#[test]
fn nothing_that_a_better_solution_does_is_excluded() {
    let mut excluded = 0;
    for (program, mut relax, _) in fractional() {
        let all = program.all_solutions();
        for target in [relax.bound + 1, relax.bound + 5, relax.bound + 20] {
            relax.cutoff = target;
            relax
                .enter(&[], Arc::new(program.no_exclusions()), 0)
                .unwrap();
            relax.converge(Until::Converged, None).unwrap();
            relax.exclude().unwrap();
            let exclusions = relax.master.exclusions().clone();
            excluded += exclusions.iter().flatten().filter(|p| !**p).count();
            for (_, chosen) in all.iter().filter(|s| s.0 < target) {
                let choices = chosen.iter().copied().enumerate();
                assert!(
                    choices
                        .clone()
                        .all(|c| program.is_permitted(&c, &exclusions))
                );
            }
            // Excluded columns leave the master, and return once they are permitted again.
            let kept = |relax: &Relaxation<Tenants>| relax.master.num_columns();
            let before = kept(&relax);
            relax
                .enter(&[], Arc::new(program.no_exclusions()), 0)
                .unwrap();
            assert_eq!(kept(&relax), before);
        }
    }
    assert!(excluded > 100, "{excluded} excluded");
}

#[test]
fn cuts_raise_the_bound_and_purging_lowers_no_value() {
    let mut raised = 0;
    for (program, mut relax, _) in fractional() {
        let effort = CutEffort {
            rounds: 20,
            eager: None,
            inside: false,
            tail: Tail {
                rounds: 2,
                of_value: 0.0,
                of_gain: 0.0,
            },
        };
        let before = relax.value;
        relax.cut_rounds(effort, None).unwrap();
        assert!(relax.value >= before - 1e-6);
        raised += u32::from(relax.value > before + 1e-6);
        let with_all = relax.value;
        relax.settings.purge_age = 1;
        relax.converge(Until::Converged, None).unwrap();
        assert!(relax.value <= with_all + 1e-6 && relax.value >= before - 1e-6);
        assert!(relax.bound as f64 <= program.cost_upper_bound() as f64);
    }
    assert!(raised > 0, "no cut raised a bound");
}
