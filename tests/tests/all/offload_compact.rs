//! The compact program of plans with copies, against the optimum of small graphs.

use remat_formulations::offload::CopyPhase;
use remat_instances::instance::HostLink;
use remat_lp::{lp_format, mps};
use remat_solver::mip::{Settings, SolveStatus, Solver};
use remat_tests::compact::offload::{OffloadProgram, OffloadProgramError, Pauses};
use remat_tests::linked::LinkedCase;

/// Variables with the number of random graphs, and with the most nodes of each.
const GRAPHS_VARIABLE: &str = "REMAT_COMPACT_GRAPHS";
const NODES_VARIABLE: &str = "REMAT_COMPACT_NODES";

fn number(variable: &str, otherwise: u64) -> u64 {
    let asked = std::env::var(variable).ok();
    asked.map_or(otherwise, |text| text.parse().unwrap())
}

fn case_of(seed: u64, nodes: usize) -> (LinkedCase, CopyPhase) {
    let case = LinkedCase {
        recompute: true,
        ..LinkedCase::random(seed, nodes)
    };
    let copies = case.copies();
    (case, copies)
}

/// The optimum of a program; `None` if it is infeasible.
fn solved(program: &OffloadProgram) -> Option<f64> {
    let solver = Solver::new(program.model().clone(), Settings::default());
    let result = solver.run().unwrap();
    match result.status {
        SolveStatus::Optimal => Some(result.solution.unwrap().objective),
        SolveStatus::Infeasible => None,
        status => panic!("{status:?}"),
    }
}

/// Without memory in pauses the program is at most the optimum; with two pauses it is the optimum.
#[test]
fn two_pauses_are_the_machine() {
    let nodes = number(NODES_VARIABLE, 5) as usize;
    let (mut judged, mut slower, mut infeasible) = (0, 0, 0);
    for seed in 0..number(GRAPHS_VARIABLE, 80) {
        let (case, copies) = case_of(seed, nodes);
        let best = case.optimum();
        let program =
            |pauses| OffloadProgram::new(&case.instance, case.budget_bytes, copies, pauses, 1.0);
        match program(Pauses::Counted(2)) {
            Ok(program) => {
                let found = solved(&program).map(|value| (value * 1e3).round() / 1e3);
                assert_eq!(found, best.map(|best| best as f64), "seed {seed}");
            }
            Err(OffloadProgramError::TooSmall(_)) => assert_eq!(best, None, "seed {seed}"),
            Err(other) => panic!("seed {seed}: {other}"),
        }
        let Some(best) = best else {
            infeasible += 1;
            continue;
        };
        let least = solved(&program(Pauses::Uncounted).unwrap());
        let least = least.expect("a relaxation of what fits");
        assert!(least < best as f64 + 1e-3, "seed {seed}: {least} {best}");
        judged += 1;
        slower += u64::from(best > case.instance.base_cost());
    }
    println!("{judged} graphs, {slower} slower than their costs, {infeasible} infeasible");
    assert!(judged > 2 * infeasible && slower > judged / 16);
}

#[test]
fn programs_go_through_files() {
    let (case, copies) = case_of(3, 6);
    let budget = case.budget_bytes + 20;
    let pauses = Pauses::Counted(1);
    let program = OffloadProgram::new(&case.instance, budget, copies, pauses, 1.0).unwrap();
    let model = program.model();
    let text = mps::to_string(model);
    let back = mps::parse(&text, mps::MpsFormat::Free).unwrap();
    assert!(mps::to_string(&back) == text);
    let back = lp_format::parse(&lp_format::to_string(model), "program.lp").unwrap();
    assert_eq!(back.num_cols(), model.num_cols());
    assert_eq!(back.num_nonzeros(), model.num_nonzeros());
}

#[test]
fn without_a_link_there_is_no_program() {
    let (case, copies) = case_of(3, 6);
    let program = |case: &LinkedCase, copies| {
        let budget = case.budget_bytes;
        OffloadProgram::new(&case.instance, budget, copies, Pauses::Uncounted, 1.0)
    };
    let bare = LinkedCase {
        instance: case.instance.with_host_link(None).unwrap(),
        ..case.clone()
    };
    let refused = program(&bare, copies).unwrap_err();
    assert!(refused.to_string().contains("host_link"), "{refused}");
    // With a link without bandwidth the program is Checkmate's.
    let closed = case.with_link(HostLink::new(0, 0));
    let model = program(&closed, CopyPhase::Any).unwrap();
    let names = mps::to_string(model.model());
    assert!(names.contains("R_0_0") && !names.contains("W_"));
}
