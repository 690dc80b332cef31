//! The link to host memory: options, words, JSON.

use crate::arguments::SolveArguments;
use crate::failure::Failure;
use remat_formulations::solve::Solution;
use remat_report::transfers;

/// Checks that no schedule is requested: a plan with copies has no schedule.
pub(super) fn check(arguments: &SolveArguments) -> Result<(), Failure> {
    match arguments.options.offload.is_some() && arguments.schedule_out.is_some() {
        false => Ok(()),
        true => Err(Failure::Usage {
            problem:
                "--schedule-out with --offload: a plan that copies to the host has no schedule"
                    .into(),
            remedy: "leave out --schedule-out or --offload".into(),
        }),
    }
}

/// Lines of the summary, each with its name.
pub(super) fn lines(solution: &Solution) -> Vec<String> {
    let (Some(copies), Some(replay)) = (solution.copies(), solution.replay()) else {
        return Vec::new();
    };
    let unit = solution.instance().cost_unit();
    let mut lines = Vec::new();
    if let Some(cost) = copies.without_cost {
        let over = match replay.base_cost {
            0 => 0.0,
            base => (cost as f64 / base as f64 - 1.0) * 100.0,
        };
        let cost = remat_report::cost(cost, unit);
        lines.push(format!(
            "without   {cost}, {over:.2}% over: the best plan found without copies"
        ));
    }
    match transfers::lines(solution.instance(), replay) {
        Some([step, host, link]) => {
            lines.push(format!("step      {step}"));
            lines.push(format!("host      {host}"));
            lines.push(format!("link      {link}"));
        }
        None => lines.push("host      nothing is copied".into()),
    }
    lines
}
