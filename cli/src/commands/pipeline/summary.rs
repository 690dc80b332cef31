//! A pipeline in words.

use remat_instances::budget::format_bytes;
use remat_instances::pipeline::split::Split;
use remat_pipeline::{Arranged, PipelineSolution};
use remat_report::{Table, counted, micro_batches};
use remat_search::Status;
use std::fmt::Write;

/// A table with a line for each finding and for each stage.
pub(super) fn summary(
    split: &Split<'_>,
    solution: &PipelineSolution,
    written: Option<&str>,
) -> String {
    let instance = split.instance();
    let unit = instance.cost_unit();
    let schedule = &solution.schedule;
    let mut out = format!(
        "{}: {}, {} on {}, {}\n",
        instance.name(),
        counted(instance.len() as u64, "node"),
        schedule.kind(),
        counted(schedule.devices() as u64, "device"),
        micro_batches(schedule.microbatches()),
    );
    let verdict = match (solution.status, &solution.infeasible_because) {
        (Status::Infeasible, Some(because)) => because.clone(),
        (Status::Optimal, _) => "proven best within the gap".into(),
        (Status::Limit, _) => "no pipeline was found within the limits; one may exist".into(),
        (Status::Interrupted, _) => "interrupted".into(),
        _ => "a pipeline was found; a faster one may exist".into(),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(out, "  status    {}: {verdict}", solution.status.as_str());
    if let Some(best) = &solution.best {
        let objective = best.replay.objective;
        let _ = writeln!(
            out,
            "  time      {} by the formula, {} in the replay of all events",
            remat_report::cost(objective, unit),
            remat_report::cost(best.replay.timeline.makespan, unit),
        );
    }
    if solution.status != Status::Infeasible {
        let gap = solution
            .gap()
            .map_or(String::new(), |gap| format!(", gap {:.3}%", 100.0 * gap));
        let _ = writeln!(
            out,
            "  bound     {}{gap}: no pipeline in the scope takes less by the formula\n  scope     {}",
            remat_report::cost(solution.bound, unit),
            solution.scope()
        );
    }
    if let Some(best) = &solution.best {
        out += &stages(split, solution, best);
    }
    let _ = writeln!(
        out,
        "  search    {:.1} s, {}, {}, {}",
        solution.elapsed.as_secs_f64(),
        counted(solution.solves as u64, "stage solve"),
        counted(solution.nodes, "node"),
        counted(solution.lp_iterations, "LP iteration"),
    );
    if let Some(line) = written {
        let _ = writeln!(out, "  {line}");
    }
    out
}

/// A table with a line for each stage.
fn stages(split: &Split<'_>, solution: &PipelineSolution, best: &Arranged) -> String {
    let unit = split.instance().cost_unit();
    let schedule = &solution.schedule;
    let mut table = Table::new(&[
        ("stage", true),
        ("device", true),
        ("begins with", false),
        ("nodes", true),
        ("in flight", true),
        ("forward", true),
        ("backward", true),
        ("recomputed", true),
        ("saved each", true),
        ("peak", true),
        ("budget", true),
    ]);
    for (stage, own) in best.stages.iter().enumerate() {
        let begin = stage.checked_sub(1).map_or(0, |before| best.cuts[before]);
        let profile = &best.replay.profiles[stage];
        let device = schedule.device_of(stage);
        let again = best.replay.recomputed[stage].both();
        table.row(vec![
            stage.to_string(),
            device.to_string(),
            split.instance().nodes()[begin as usize].name.to_string(),
            own.instance.len().to_string(),
            schedule.in_flight(stage).to_string(),
            remat_report::cost(profile.forward, unit),
            remat_report::cost(profile.backward, unit),
            format!(
                "{:.2}%",
                100.0 * again as f64 / own.instance.base_cost().max(1) as f64
            ),
            format_bytes(profile.saved_bytes),
            format_bytes(best.replay.peaks[device]),
            format_bytes(solution.devices[device].budget_bytes),
        ]);
    }
    table.render("  ")
}
